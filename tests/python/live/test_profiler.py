"""torch.profiler on a cluster that is not there: its times are the simulated ones, those of the host as well."""

import json
import subprocess
from pathlib import Path

import pytest

PRODUCTS = 9  # aten::mm of three steps: two for the weights of layers, one for what goes back


def profiled(live, trace: Path) -> list[float]:
    """Microseconds of steps in what a run of the script leaves, checked: kernels are in their steps, after their launches."""
    done = live.run(Path(__file__).with_name("profiler_script.py"), trace)
    events = json.loads(trace.read_text())["traceEvents"]
    steps = [e for e in events if e.get("cat") == "user_annotation" and e["name"].startswith("ProfilerStep")]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    launches = {e["args"]["correlation"]: e for e in events if e.get("cat") == "cuda_runtime"}
    assert len(steps) == 3 and len(kernels) > 60
    for kernel in kernels:
        end = kernel["ts"] + kernel["dur"]
        assert any(step["ts"] <= kernel["ts"] and end <= step["ts"] + step["dur"] + 0.01 for step in steps), kernel
        assert launches[kernel["args"]["correlation"]]["ts"] <= kernel["ts"]
    measured = [float(line.split()[1]) * 1e6 for line in done.stdout.splitlines() if line.startswith("step")]
    # What the script measured by its own clock; the profiler's steps hold the printing as well.
    for step, seen in zip(steps, measured[2:5], strict=True):
        assert step["dur"] == pytest.approx(seen, rel=0.01), (step["name"], seen)
    own = {e["args"]["External id"] for e in events if e.get("cat") == "cpu_op" and e["name"] == "aten::mm"}
    products = [e for e in kernels if e["args"].get("External id") in own]
    assert len(products) == PRODUCTS
    told = next(float(line) for line in done.stdout.splitlines() if not line.startswith("step"))
    assert told == pytest.approx(sum(e["dur"] for e in products), rel=0.01)
    return [step["dur"] for step in steps]


def test_kernels_are_in_their_steps_as_long_as_simulated_and_replay_reads_them(live, tmp_path):
    steps = profiled(live, tmp_path / "trace.json")
    line = [live.command, "replay", tmp_path / "trace.json", "--json"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout)["sets"][0]
    assert told["unreadable"] == []
    (rank,) = told["ranks"]
    assert [step["measured_s"] * 1e6 for step in rank["steps"]] == pytest.approx(steps, rel=0.05)
    assert told["summary"]["mean_abs_error"] < 0.02
