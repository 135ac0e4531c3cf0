"""No row for people is longer than 80 columns, on a terminal and in a pipe: what commands print on standard output at
COLUMNS=80 is measured. Those of the documents are run in a pipe by test_docs.py."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from width import COLUMNS, too_long

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from doc_commands import ROOT, blocks_of, make_sample, prepare  # noqa: E402

# Stands in for flopcast: runs it, on a terminal where it is told so, and notes what it printed.
WRAPPER = """#!{python}
import json, os, pty, subprocess, sys

environment = dict(os.environ, COLUMNS="{columns}")
command = [{binary!r}, *sys.argv[1:]]
if {terminal}:
    ours, theirs = pty.openpty()
    child = subprocess.Popen(command, env=environment, stdout=theirs)
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    out, code = b"".join(parts).replace(b"\\r\\n", b"\\n"), child.wait()
else:
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE)
    out, code = done.stdout, done.returncode
with open({log!r}, "a", encoding="utf-8") as log:
    log.write(json.dumps([sys.argv[1:], out.decode("utf-8", "replace")]) + "\\n")
sys.stdout.buffer.write(out)
sys.stdout.buffer.flush()
sys.exit(code if code >= 0 else 128 - code)
"""


@pytest.fixture
def binary() -> str:
    named = os.environ.get("FLOPCAST_CLI")
    if not named:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    return str(Path(named).resolve())


def measure(commands: list[list[str]], folder: Path, tmp_path: Path, binary: str, terminal: bool) -> list[str]:
    programs, log = tmp_path / "programs", tmp_path / "log"
    programs.mkdir()
    program = programs / "flopcast"
    program.write_text(
        WRAPPER.format(python=sys.executable, binary=binary, terminal=terminal, columns=COLUMNS, log=str(log))
    )
    program.chmod(0o755)
    environment = dict(os.environ, PATH=f"{programs}{os.pathsep}{os.environ['PATH']}", FLOPCAST=str(program))
    for command in commands:
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=600)
    rows = []
    for line in log.read_text(encoding="utf-8").splitlines():
        arguments, printed = json.loads(line)
        rows += [f"flopcast {' '.join(arguments)}: {len(row)} columns: {row}" for row in too_long(arguments, printed)]
    return rows


def test_rows_of_documented_commands_keep_to_the_width_on_a_terminal(tmp_path, binary):
    """Text is folded the same way there as in a pipe: the page that has every command is enough to see it."""
    commands = [
        ["bash", "-euo", "pipefail", "-c", body]
        for kind, body, skipped in blocks_of(ROOT / "docs" / "reference" / "cli.md")
        if kind == "sh" and not skipped
    ]
    folder = prepare(tmp_path / "folder", make_sample(tmp_path / "sample"))
    rows = measure(commands, folder, tmp_path, binary, terminal=True)
    assert not rows, "\n".join(rows[:20])


def test_rows_of_the_demonstration_keep_to_the_width(tmp_path, binary):
    demo = ["bash", str(ROOT / "examples" / "demo.sh"), str(tmp_path / "demo")]
    rows = measure([demo], tmp_path, tmp_path, binary, terminal=False)
    assert not rows, "\n".join(rows[:20])


HARDWARE = ["a100", "dgx-h100", "64 x dgx-h100, rail NDR", "perlmutter", "ndr", "hbm", "nvlink", "tpu-v4-pod"]


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize(
    "arguments",
    [["doctor"], ["hw", "list"], ["models", "list"], ["models", "show", "deepseek-v3"], ["run", "--doctor"]]
    + [["hw", "show", name] for name in HARDWARE]
    + [["hw", "template", kind] for kind in ("chip", "node", "cluster", "link")]
    + [["map", "template", kind] for kind in ("graph", "system")],
    ids=" ".join,
)
def test_rows_of_other_commands_keep_to_the_width(arguments, terminal, tmp_path, binary):
    rows = measure([["flopcast", *arguments]], tmp_path, tmp_path, binary, terminal)
    assert not rows, "\n".join(rows[:20])


def test_a_long_row_is_found():
    """What holds rows to the width would tell one that does not keep to it."""
    words = " ".join(["word"] * 30)
    assert too_long(["net", "time"], f"short\n{words}\n") == [words]
    assert not too_long(["net", "time", "--json"], words)
    assert not too_long(["net", "time"], "/a" * 60)
    assert not too_long(["net", "export"], words)
