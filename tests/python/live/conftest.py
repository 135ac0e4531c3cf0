"""What tests of live runs share: the command, and the Python that has a stock PyTorch."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


class Live:
    """Runs scripts on clusters that are not there."""

    def __init__(self, command: str, python: Path):
        self.command = command
        self.python = python

    def run(self, *words, on: str = "dgx-h100", ranks: int = 1, timeout: float = 120, expect: int = 0, **more):
        """The finished process. Words: flags of the command, the script, its arguments."""
        line = [self.command, "run", "--on", on, "--ranks", str(ranks), "--python", str(self.python), *map(str, words)]
        done = subprocess.run(line, capture_output=True, text=True, timeout=timeout, cwd=ROOT, **more)
        assert done.returncode == expect, done.stdout + done.stderr
        return done

    def script(self, folder: Path, text: str, *words, **more):
        """The same for a script of these lines."""
        path = folder / "script.py"
        path.write_text(text)
        return self.run(path, *words, **more)


@pytest.fixture(scope="session")
def torch_package() -> Path:
    """The folder of a stock torch: the one that FLOPCAST_TORCH names, or that of .torch."""
    named = os.environ.get("FLOPCAST_TORCH")
    found = [Path(named)] if named else sorted((ROOT / ".torch/lib").glob("python3*/site-packages/torch"))
    if not found or not (found[0] / "lib/libtorch_cuda.so").exists():
        pytest.skip("no torch with CUDA in .torch, and FLOPCAST_TORCH names none")
    return found[0]


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
