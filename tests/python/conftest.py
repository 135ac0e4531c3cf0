"""What tests of Python share: the command, and a stock PyTorch."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Texts are read as wide as they are; test_width.py folds them.
os.environ["COLUMNS"] = "1000"


@pytest.fixture(scope="session")
def torch_package() -> Path:
    """The folder of a stock torch: the one that FLOPCAST_TORCH names, or that of .torch."""
    named = os.environ.get("FLOPCAST_TORCH")
    found = [Path(named)] if named else sorted((ROOT / ".torch/lib").glob("python3*/site-packages/torch"))
    if not found or not (found[0] / "lib/libtorch_cuda.so").exists():
        pytest.skip("no torch with CUDA in .torch, and FLOPCAST_TORCH names none")
    return found[0]


@pytest.fixture(scope="session")
def program() -> str:
    """The command that FLOPCAST_CLI names."""
    binary = os.environ.get("FLOPCAST_CLI")
    if not binary:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    return str(Path(binary).resolve())
