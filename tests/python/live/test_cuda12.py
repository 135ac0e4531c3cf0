"""A stock PyTorch of CUDA 12, where FLOPCAST_TORCH_CUDA12 names the folder of one (.../site-packages/torch): what the other tests
hold for PyTorch of CUDA 13 is true of it as well. With 2.6 the first test holds; the others ask for what later ones have.

    python3 -m venv T && T/bin/pip install --no-deps torch==2.9.1 && T/bin/pip install -r requirements-torch.txt without torch
    FLOPCAST_TORCH_CUDA12=T/lib/python3.11/site-packages/torch
"""

import json
import os
import re
from pathlib import Path

import pytest
from conftest import Live
from test_ladder import SHAPES
from test_profiler import profiled

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def older(live) -> Live:
    named = os.environ.get("FLOPCAST_TORCH_CUDA12")
    if not named:
        pytest.skip("FLOPCAST_TORCH_CUDA12 names no PyTorch of CUDA 12")
    package = Path(named).absolute()
    version = (package / "version.py").read_text()
    assert re.search(r"^cuda\b.*= '12\.", version, re.MULTILINE), version
    return Live(live.command, package.parents[3] / "bin/python3")


def test_one_gpu_offers_what_it_offers_with_cuda_13(older):
    done = older.run(HERE / "ladder_script.py", timeout=300)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [line for line in lines if "failed" in line] == []
    got = {line["step"]: line["got"] for line in lines}
    assert {step: got[step] for step in SHAPES} == SHAPES


def test_values_are_those_of_the_cpu(older):
    held = json.loads(older.run(HERE / "values_script.py", timeout=300).stdout)
    assert held and [name for name, right in held.items() if not right] == []


@pytest.mark.parametrize("ranks", [2, 4])
def test_parallel_training_is_that_of_one_processor(older, ranks):
    held = json.loads(older.run(HERE / "ranks_script.py", ranks=ranks, timeout=300).stdout)
    assert {name: one["errors"] for name, one in held.items()} == {name: [] for name in held}


def test_a_profile_has_simulated_times(older, tmp_path):
    profiled(older, tmp_path / "trace.json")
