"""What a stock PyTorch does on one GPU, against the stand-ins for NVIDIA's libraries."""

import json
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def ladder(live):
    done = live.run(Path(__file__).with_name("ladder_script.py"), timeout=300)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["step"]: line for line in lines}


SHAPES = {
    "transformer": 24,  # parameters of two layers
    "attention": 4,
    "convolution": [8, 64, 112, 112],
    "recurrent": [[5, 3, 128], [4, 3, 64], [5, 3, 64]],
    "algebra": [[8, 8], [8, 8], [8], [8, 8], [64, 33], [4, 6]],
    "compiled_at_run_time": [[4], [5]],
    "eight_bits": [64, 64],
    "graphed_callables": [8, 64],
    "less_memory": [0.5, 2, True, 1, True],
}


@pytest.mark.parametrize("step", SHAPES)
def test_step_gives_what_it_gives_on_a_gpu(ladder, step):
    assert ladder[step] == {"step": step, "got": SHAPES[step]}


def test_graph_takes_as_long_as_its_kernels(ladder):
    replayed, launched = ladder["graph"]["got"]
    # The same products; launches one by one may only add waiting for the host.
    assert 0 < replayed <= launched * 1.01


def test_a_recurrent_layer_takes_as_long_as_its_products(ladder):
    layer, products = ladder["steps_of_a_recurrent_layer"]["got"]
    assert products <= layer <= 1.25 * products


def test_memory_runs_out_in_pytorchs_words(ladder):
    total, text = ladder["out_of_memory"]["got"]
    assert total == pytest.approx(79, abs=0.2)  # of 80: the rest is the driver's
    assert f"GPU 0 has a total capacity of {total:.2f} GiB" in text
    assert "this process has" in text
