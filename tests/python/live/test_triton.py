"""Kernels that Triton compiles take what PyTorch's own of the same work take, and never less than the chip allows."""

import json
import os
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("triton_script.py")
# Dense, of an H100 SXM.
PEAK_FLOPS, BANDWIDTH = 989.4e12, 3.35e12


@pytest.fixture(scope="module")
def run(live, tmp_path_factory):
    """Lines of the script for some of its parts, and the account of the run."""

    def run_parts(*parts):
        folder = tmp_path_factory.mktemp("triton")
        account = folder / "run.json"
        environment = {"TRITON_CACHE_DIR": str(folder / "cache")}
        done = live.run(
            "--json", account, SCRIPT, *parts, on="1 x dgx-h100", timeout=400, env=os.environ | environment
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return {line["name"]: line for line in lines}, json.loads(account.read_text()), done.stderr

    return run_parts


@pytest.mark.parametrize("part", ["products", "attentions", "rows", "sums"])
def test_kernels_take_what_pytorchs_own_do(run, part):
    lines, account, _ = run(part)
    assert lines
    for name, line in lines.items():
        assert line["triton"] == pytest.approx(line["torch"], rel=0.25), name
        assert line["flops"] / (line["triton"] * 1e-3) <= PEAK_FLOPS, name
    assert account["unknown"] == []
    assert account["unknown_work"] == {"kernels": 0, "unbounded": 0, "bytes": 0, "time_s": 0, "floor_s": 0, "share": 0}


def test_a_binary_without_its_program_is_told_as_unknown(run):
    lines, account, errors = run("without_program")
    [one] = account["unknown"]
    tensors = 3 * 4 * 2**26
    assert one["what"] == "plus" and one["kernels"] == 11
    assert one["bytes"] == 11 * tensors
    assert one["floor_s"] >= 11 * tensors / BANDWIDTH
    assert lines["without"]["triton"] * 1e-3 <= one["floor_s"] / 10
    assert account["unknown_work"]["share"] > 0.01
    assert "11 launches of kernels whose work is unknown" in errors.split("where the time of a GPU goes")[0]
