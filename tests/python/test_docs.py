"""The documents are true: commands and snippets in them run, excerpts look so, and links lead somewhere.

What is run, and where: tools/doc_commands.py. A ```text block is an excerpt of what the ```sh block before it printed:
each of its lines is in the output, with other numbers perhaps; "..." stands for lines left out. A
block under `<!-- the text of FILE -->` is that file's text."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from answers import calls_in, problems_of, watched
from width import COLUMNS, too_long

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from doc_commands import DOCUMENTS, HELP, ROOT, blocks_of, example_of, make_sample, name_of, prepare  # noqa: E402


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Path:
    return make_sample(tmp_path_factory.mktemp("docs") / "sample")


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> str:
    """A folder that holds `flopcast` and `python3`, to be first in the PATH."""
    binary = os.environ.get("FLOPCAST_CLI")
    if not binary:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    folder = tmp_path_factory.mktemp("bin")
    watched(folder / "flopcast", Path(binary).resolve(), folder / "calls")
    # A link to the interpreter would not find the packages of a virtual environment.
    (folder / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (folder / "python3").chmod(0o755)
    return str(folder)


@pytest.fixture
def folder(tmp_path, sample) -> Path:
    return prepare(tmp_path, sample)


def shape(line: str) -> str:
    """A line without its numbers and spacing: excerpts need not be renewed with every digit."""
    line = re.sub(r"[-+]?\d[\d,.]*", "#", line)
    return re.sub(r"\s+", " ", line).strip()


def run(command: list[str], folder: Path, programs: str, **more: str) -> str:
    environment = dict(os.environ, PATH=programs + os.pathsep + os.environ["PATH"], **more)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_commands_run(path, folder, programs):
    if not any(kind in {"sh", "python"} and not skipped for kind, _, skipped in blocks_of(path)):
        pytest.skip("nothing to run here")
    output = ""
    for kind, body, skipped in blocks_of(path):
        if skipped:
            output = None
        elif kind == "sh":
            output = run(["bash", "-euo", "pipefail", "-c", body], folder, programs, COLUMNS=str(COLUMNS))
        elif kind == "python":
            pytest.importorskip("flopcast")
            if "numpy" in body:
                pytest.importorskip("numpy")
            output = run([sys.executable, "-c", body], folder, programs)
        elif kind == "text" and output:
            printed = {shape(line) for line in output.splitlines()}
            for line in body.splitlines():
                if line.strip() not in {"", "..."}:
                    assert shape(line) in printed, f"{name_of(path)}: the output has no line like {line!r}"
    wrong, long = problems_of(os.environ["FLOPCAST_CLI"], Path(programs) / "calls"), []
    for call in calls_in(Path(programs) / "calls"):
        long += [f"flopcast {' '.join(call.arguments)}: {row}" for row in too_long(call.arguments, call.said)]
    shutil.rmtree(Path(programs) / "calls")
    (Path(programs) / "calls").mkdir()
    assert not wrong, "\n".join(wrong)
    assert not long, "\n".join(long[:20])


def test_readme_tells_where_the_program_is(programs):
    """After a build, its line for the PATH finds the program."""
    line = re.search(r'^export PATH="\$PWD/(\S+):\$PATH"', (ROOT / "README.md").read_text(), re.MULTILINE)
    assert line and Path(os.environ["FLOPCAST_CLI"]).resolve().is_relative_to(ROOT / line[1])
    script = f"{line[0]}; flopcast --version"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0 and "flopcast" in done.stdout


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_pip_installs_into_a_virtual_environment(path):
    """Debian's own Python is managed by Debian: pip refuses to install there."""
    for kind, body, _ in blocks_of(path):
        if kind == "sh" and "pip install" in body:
            made, _, _ = body.partition("pip install")
            assert "python3 -m venv" in made and "/bin/activate" in made, body


def links_of(path: Path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if "://" not in target and not target.startswith("#"):
            yield target.split("#")[0]


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(path):
    missing = [target for target in links_of(path) if not (path.parent / target).exists()]
    assert not missing


SHOWN = re.compile(r"<!-- the text of (\S+) -->\n+```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_files_shown_are_the_files(path):
    for name, body in SHOWN.findall(path.read_text(encoding="utf-8")):
        assert body == (ROOT / name).read_text(encoding="utf-8"), name


NAMED = re.compile(r"`((?:src|include|tests|tools|bench|examples|docs|python|cmake)/[\w./-]+)`")


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_files_named_exist(path):
    named = NAMED.findall(path.read_text(encoding="utf-8"))
    assert not [name for name in named if not (ROOT / name).exists()]


# `a_test.cc`, or that and `Names...` of its tests, and `test_names` of those in Python.
TEST_FILE = re.compile(r"`(?:[\w./]+/)?(\w+_test\.cc)`")
TEST_NAME = re.compile(r"`([A-Z][A-Za-z0-9]{8,})(\.\.\.)?`|`(test_[a-z0-9_]+)`")


def missing_tests(line: str, tests: dict[str, str], python: str) -> list[str]:
    files = TEST_FILE.findall(line)
    missing = [name for name in files if name not in tests and name != "x_test.cc"]
    text = "".join(tests.values())
    for name, begins, function in TEST_NAME.findall(line) if line.startswith("|") else []:
        if function and not re.search(rf"^def {function}\(", python, re.MULTILINE):
            missing.append(function)
        end = "" if begins else r"\b"  # a suite, or a test of one
        if name and files and not re.search(rf"[(,]\s*{name}{end}", text):
            missing.append(name)
    return missing


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_tests_named_exist(path):
    tests = {}
    for folder in ("src", "tests"):
        for file in (ROOT / folder).rglob("*_test.cc"):
            tests[file.name] = tests.get(file.name, "") + file.read_text(encoding="utf-8")
    python = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests/python").rglob("test_*.py"))
    lines = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL).splitlines()
    assert not [name for line in lines for name in missing_tests(line, tests, python)]


def test_every_command_help_gives_an_example():
    """That the examples run is for test_help_examples_run."""
    binary = os.environ.get("FLOPCAST_CLI")
    if not binary:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    for command in HELP:
        text = subprocess.run([binary, *command, "--help"], capture_output=True, text=True).stdout
        assert "Example:\n  flopcast " in text, command


@pytest.mark.parametrize("command", HELP, ids=lambda command: " ".join(command) or "flopcast")
def test_help_examples_run(command, folder, programs):
    text = run(["flopcast", *command, "--help"], folder, programs)
    run(["bash", "-euo", "pipefail", "-c", example_of(text)], folder, programs)
