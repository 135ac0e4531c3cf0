"""tools/hostile.py finds what it looks for: programs that do one thing wrong, each."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: A program as `flopcast hw show FILE`, and what is wrong with it.
PROGRAMS = {
    "died of signal 11": "kill -SEGV $$",
    "exit code 1": "echo no >&2; exit 1",
    "control characters on stdout": r"printf 'a\033[2Jb'",
    "control characters on stderr": r"printf '\302\233' >&2",
    "stdout is no UTF-8": r"printf '\377'",
    "bytes on stderr": "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 3",
    "the error does not name the file": "echo 'something is wrong' >&2; exit 3",
    "no word of why": "exit 3",
    "an exception came through": "echo \"$3: please report this\" >&2; exit 3",
    "changed": "echo more >>$3",
    "removed": "rm bystander",
    "was made": "touch left.part",
    "a good file ends with 3": "echo $3 >&2; exit 3",
}


def hostile(tmp_path: Path, script: str, *options: str) -> subprocess.CompletedProcess:
    program = tmp_path / "flopcast"
    program.write_text(f"#!/bin/bash\n{script}\n")
    program.chmod(0o755)
    return subprocess.run(
        [sys.executable, ROOT / "tools/hostile.py", "--flopcast", program, "--reader", "cluster.toml", *options],
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("problem", PROGRAMS)
def test_finds(problem, tmp_path):
    done = hostile(tmp_path, PROGRAMS[problem], "--damage", "none")
    assert done.returncode == 1, done.stderr
    assert problem in done.stdout


def test_keeps_what_failed_and_passes_what_did_not(tmp_path):
    kept = tmp_path / "kept"
    refused = hostile(tmp_path, "echo $3: no >&2; exit 3", "--damage", "half", "--damage", "absent", "--keep", str(kept))
    assert refused.returncode == 0, refused.stdout
    assert "2 cases" in refused.stdout
    accepted = hostile(tmp_path, "exit 0", "--damage", "half", "--damage", "absent", "--keep", str(kept))
    assert accepted.returncode == 1
    assert "absent: exit code 0" in accepted.stdout  # what is not there was taken for good
    assert [path.name for path in kept.glob("*/report.txt")] == ["report.txt"]


def test_names_are_checked(tmp_path):
    done = hostile(tmp_path, "exit 0", "--damage", "unheard-of")
    assert done.returncode == 1
    assert "no damage 'unheard-of'" in done.stderr


#: What a program says of `net time --size WORD`, and what is wrong with it.
ANSWERS = {
    "says '-9223372.04 s'": "echo 'all_reduce: -9223372.04 s'",
    "says 'nan'": "echo 'time nan'",
    "says 'inf'": "echo '  reached  inf B/s'",
    "quotes a number of more than 40 digits": "echo \"not in range 0 to 1$(printf '7%.0s' {1..60})9\" >&2; exit 2",
    "died of signal 6": "kill -ABRT $$",
}


@pytest.mark.parametrize("problem", ANSWERS)
def test_finds_impossible_answers(problem, tmp_path):
    program = tmp_path / "flopcast"
    program.write_text(f"#!/bin/bash\n{ANSWERS[problem]}\n")
    program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, ROOT / "tools/hostile.py", "--flopcast", program, "--reader", "net.time"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    assert problem in done.stdout


@pytest.mark.parametrize("damage", ["page-read-only", "page-of-few"])
def test_finds_pages_that_lost_their_mode(damage, tmp_path):
    write = "rm -f page.html; echo '<html>' >page.html"
    program = tmp_path / "flopcast"
    program.write_text(f"#!/bin/bash\n{write}\n")
    program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, ROOT / "tools/hostile.py", "--flopcast", program, "--reader", "cluster.graph", "--damage", damage],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    assert "the page's mode was" in done.stdout


#: Every control character, turns of direction, and no character.
CONTROLS = "".join(map(chr, (*range(1, 0x20), 0x7F, 0x85, 0x9F, 0x200F, 0x2028, 0x202E, 0x2066, 0xFEFF, 0xFFFE)))


def test_python_shows_no_control_character_of_a_name(tmp_path):
    flopcast = pytest.importorskip("flopcast")
    escaped = "".join(f"\\u{ord(c):04x}" for c in CONTROLS)
    graph = (ROOT / "src/workload/dataflow/corpus/dataflow/reference.toml").read_text()
    file = tmp_path / "graph.toml"
    file.write_text(re.sub(r'(?m)^name = "(\w+)', rf'name = "\1{escaped}'.replace("\\u", r"\\u"), graph, count=1))
    mapping = flopcast.map(file, "8 x sn10", topology="torus:4x2", tp=8, pp=1, dp=1)
    for text in (repr(mapping), str(mapping), mapping._repr_html_()):
        assert not set(text) & (set(CONTROLS) - set("\n\t")), ascii(text)
    assert "\\x1b" in repr(mapping)


def test_python_keeps_the_mode_of_a_page_and_leaves_one_that_is_read_only(tmp_path):
    flopcast = pytest.importorskip("flopcast")
    step = flopcast.estimate("gpt-3-1.3b", "dgx-h100", tp=8, global_batch=64)
    page = tmp_path / "page.html"
    page.write_text("old")
    page.chmod(0o640)
    step.html(page)
    assert page.stat().st_mode & 0o7777 == 0o640
    assert page.read_text() != "old"
    page.write_text("old")
    page.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        step.html(page)
    assert page.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -1.0])
def test_python_takes_no_number_that_is_none(number):
    flopcast = pytest.importorskip("flopcast")
    with pytest.raises(flopcast.FlopcastError):
        flopcast.map("fft", "8 x sn10", topology="torus:4x2", tp=8, pp=1, dp=1, gap=number)
    with pytest.raises(flopcast.FlopcastError):
        flopcast.TrainingModel("llama-3-8b", "dgx-h100", usd_per_chip_hour=number)
