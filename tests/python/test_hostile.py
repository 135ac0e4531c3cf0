"""tools/hostile.py finds what it looks for: programs that do one thing wrong, each."""

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
