"""What tests of live runs share: the command, and the Python that has a stock PyTorch."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# Who is waited for is named after ten seconds, in tests after so many.
SILENCE_S = 4


class Live:
    """Runs scripts on clusters that are not there."""

    def __init__(self, command: str, python: Path):
        self.command = command
        self.python = python

    def run(self, *words, on: str = "dgx-h100", ranks: int = 1, timeout: float = 120, expect: int | None = 0, env=None, **more):
        """The finished process. Words: flags of the command, the script, its arguments. Any exit code will do where
        none is expected. Variables are set besides those of the tests."""
        line = [self.command, "run", "--on", on, "--ranks", str(ranks), "--python", str(self.python), *map(str, words)]
        environment = {**os.environ, "FLOPCAST_LIVE_SILENCE": str(SILENCE_S), **(env or {})}
        done = subprocess.run(line, capture_output=True, text=True, timeout=timeout, cwd=ROOT, env=environment, **more)
        assert expect is None or done.returncode == expect, done.stdout + done.stderr
        return done

    def asked(self, *words) -> str:
        """What another command prints."""
        done = subprocess.run([self.command, *map(str, words)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def replay(self, folder: Path):
        """What `flopcast replay --json` says of the only run in a folder."""
        return json.loads(self.asked("replay", folder, "--json"))["sets"][0]

    def resolve(self, folder: Path, on: str):
        """What `flopcast resolve --json` says of the captured run in a folder."""
        self.asked("resolve", folder / "run.fccap", "--on", on, "--json", folder / "resolved.json")
        return json.loads((folder / "resolved.json").read_text())

    def script(self, folder: Path, text: str, *words, **more):
        """The same for a script of these lines."""
        path = folder / "script.py"
        path.write_text(text)
        return self.run(path, *words, **more)


@pytest.fixture(scope="session")
def live(torch_package) -> Live:
    command = os.environ.get("FLOPCAST_CLI")
    if not command:
        pytest.skip("FLOPCAST_CLI names no flopcast binary")
    return Live(command, torch_package.parents[3] / "bin/python")


@pytest.fixture(scope="session")
def stand_ins(torch_package) -> Path:
    """The folder of the libraries that stand in for those of this torch."""
    major = re.search(r"^cuda\b.*= '(\d+)\.", (torch_package / "version.py").read_text(), re.MULTILINE).group(1)
    return Path(os.environ["FLOPCAST_CLI"]).resolve().parent / f"live/cuda{major}"
