"""flopcast trace model: finds the plan of made-up runs whose plan is known, whatever it is."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKE_SAMPLE = ROOT / "examples" / "make_sample.py"

# What options are left out is one: the generator's own defaults are given, too.
PLANS = [
    "--pp 2 --dp 2 --tp 2 --layers 4 --microbatches 4",
    "--pp 1 --dp 1 --tp 1 --layers 2 --microbatches 1",
    "--pp 1 --dp 2 --tp 2 --layers 3 --microbatches 2",
    "--pp 1 --dp 4 --tp 1 --layers 5 --microbatches 4 --schedule gpipe",
    "--pp 2 --dp 1 --tp 1 --layers 2 --microbatches 2",
    "--pp 4 --dp 1 --tp 1 --layers 4 --microbatches 4",
    "--pp 4 --dp 1 --tp 2 --layers 8 --microbatches 4 --schedule gpipe",
    "--pp 3 --dp 1 --tp 1 --layers 7 --microbatches 6",
    "--pp 8 --dp 1 --tp 1 --layers 8 --microbatches 8",
    "--pp 2 --dp 1 --tp 2 --layers 8 --microbatches 4 --schedule interleaved --chunks 2",
    "--pp 2 --dp 2 --tp 1 --layers 12 --microbatches 8 --schedule interleaved --chunks 3",
    "--pp 4 --dp 1 --tp 1 --layers 9 --microbatches 4 --schedule interleaved --chunks 2",
    "--pp 4 --dp 1 --tp 1 --layers 8 --microbatches 8 --schedule zb-h1",
    "--pp 2 --dp 2 --tp 1 --layers 2 --microbatches 4 --schedule zb-h1",
    # Recomputation, of some layers and of all; the last stage has head, loss and buckets with it.
    "--pp 2 --dp 2 --tp 1 --layers 6 --microbatches 4 --recompute 3",
    "--pp 3 --dp 2 --tp 1 --layers 7 --microbatches 6 --recompute 1",
    "--pp 1 --dp 2 --tp 1 --layers 4 --microbatches 2 --recompute 4",
    "--pp 4 --dp 2 --tp 1 --layers 4 --microbatches 4 --recompute 1 --schedule gpipe",
    "--pp 2 --dp 1 --tp 2 --layers 8 --microbatches 4 --recompute 1 --schedule interleaved --chunks 2",
    "--pp 2 --dp 1 --tp 1 --layers 4 --microbatches 4 --apart",
    "--pp 2 --dp 4 --tp 1 --layers 6 --microbatches 4 --bucket 2",
    "--pp 2 --dp 2 --tp 1 --layers 6 --microbatches 4 --bucket 5 --train-edges",
    "--pp 1 --dp 4 --tp 1 --layers 4 --microbatches 2 --zero 1",
    "--pp 2 --dp 2 --tp 2 --layers 4 --microbatches 4 --zero 3",
    "--pp 1 --dp 1 --tp 1 --cp 4 --layers 4 --microbatches 2",
    "--pp 2 --dp 1 --tp 2 --cp 2 --layers 4 --microbatches 4",
    "--pp 1 --dp 4 --tp 1 --ep 4 --layers 4 --microbatches 2 --shape moe_every=1,experts=8",
    # Layers of two kinds in turn.
    "--pp 1 --dp 4 --tp 1 --ep 2 --layers 4 --microbatches 2 --shape moe_every=2,experts=8",
    "--pp 2 --dp 4 --tp 1 --ep 4 --layers 8 --microbatches 4 --shape moe_every=2,experts=8 --modules",
    "--pp 2 --dp 1 --tp 1 --layers 4 --microbatches 4 --noise 0",
    "--pp 2 --dp 1 --tp 1 --layers 4 --microbatches 4 --profiler 2000,1000",
]


@pytest.fixture(scope="module")
def flopcast() -> str:
    binary = os.environ.get("FLOPCAST_CLI")
    if not binary:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    return binary


def make(folder: Path, plan: str) -> Path:
    command = [sys.executable, MAKE_SAMPLE, folder, "--steps", "2", *plan.split()]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def model_of(flopcast: str, folder: Path) -> dict:
    run = subprocess.run([flopcast, "trace", "model", folder, "--json"], capture_output=True, check=True)
    (model,) = json.loads(run.stdout)["sets"]
    return model


def options_of(plan: str) -> dict:
    words = plan.split()
    return {a.removeprefix("--"): b for a, b in itertools.pairwise(words) if a.startswith("--")}


@pytest.mark.parametrize("plan", PLANS)
def test_plan_is_found(flopcast, tmp_path, plan):
    options = options_of(plan)
    model = model_of(flopcast, make(tmp_path / "run", plan))
    names = ("pp", "dp", "tp", "cp", "ep", "layers", "microbatches", "chunks")
    expected = {name: int(options.get(name, 1)) for name in names}
    expected["schedule"] = options.get("schedule", "1f1b") if expected["pp"] > 1 else ""
    expected["recompute"] = "recompute" in options
    expected["zero"] = "zero" in options
    found = {name: model[name] for name in expected}
    assert found == expected, (model["layer_evidence"], model["schedule_evidence"])
    stages = {rank["stage"]: rank["layers"] for rank in model["ranks"]}
    assert sum(stages.values()) == expected["layers"]
    for rank in model["ranks"]:
        check_passes(rank, expected)


def check_passes(rank: dict, expected: dict) -> None:
    """Every layer of every microbatch of every step is in its forward and its backward once."""
    assert not [unit["name"] for unit in rank["units"] if unit["part"] == "whole"]
    passes = ["forward", "backward"] + ["weights"] * (expected["schedule"] == "zb-h1")
    for name in passes:
        copies = [u["copies"] for u in rank["units"] if u["part"] == "layer" and u["pass"] == name]
        assert sum(copies) == rank["steps"] * expected["microbatches"] * rank["layers"], name


def test_times_at_positions_are_the_medians_of_the_kernels(flopcast, tmp_path):
    """Without noise every copy takes the same: what the generator's own formula says."""
    model = model_of(flopcast, make(tmp_path / "run", "--pp 1 --dp 1 --tp 1 --layers 2 --noise 0"))
    (rank,) = model["ranks"]
    (layer,) = [u for u in rank["units"] if u["name"] == "forward layer"]
    tokens, hidden = 2048, 4096
    query = layer["kernels"][1]
    assert query["shapes"] == f"[[{tokens},{hidden}],[{hidden},{3 * hidden}]]"
    assert query["gpu_s"] == pytest.approx(2 * tokens * hidden * 3 * hidden / 520e12 + 2e-6, rel=1e-3)
    assert {k["spread"] for u in rank["units"] if u["part"] == "layer" for k in u["kernels"]} == {0}


def test_bucket_tells_the_layers_whose_gradients_it_holds(flopcast, tmp_path):
    plan = "--pp 1 --dp 2 --tp 1 --layers 4 --microbatches 2 --bucket 2"
    model = model_of(flopcast, make(tmp_path / "run", plan))
    buckets = [b for b in model["ranks"][0]["buckets"] if b["step"] == 0]
    assert [(b["first_layer"], b["last_layer"]) for b in buckets] == [(2, 3), (0, 1)]
    parameters = 12 * 4096 * 4096
    assert [b["bytes"] for b in buckets] == [2 * 2 * parameters] * 2
    assert {model["groups"][b["group"]]["use"] for b in buckets} == {"dp"}


def test_stages_of_which_some_are_missing_are_told(flopcast, tmp_path):
    folder = make(tmp_path / "run", "--pp 4 --dp 1 --tp 1 --layers 4 --microbatches 4")
    (folder / "sample_rank2.json.gz").unlink()
    model = model_of(flopcast, folder)
    assert model["layers"] == 0
    assert "not recorded: 2" in model["layer_evidence"]


def test_one_layer_is_refused(flopcast, tmp_path):
    """Nothing repeats: which of the kernels are the layer is not told."""
    model = model_of(flopcast, make(tmp_path / "run", "--pp 1 --dp 1 --tp 1 --layers 1 --microbatches 1"))
    assert model["layers"] == 0
    assert model["layer_evidence"].startswith("no repeat of kernels")
