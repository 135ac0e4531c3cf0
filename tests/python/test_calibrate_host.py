"""`flopcast calibrate host` from a recording to the table that a run takes."""

import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def rows() -> list[dict]:
    """A small profile: twenty products with a view each, as PyTorch's profiler writes them; microseconds."""
    made = []

    def row(category: str, name: str, at: float, lasts: float, **args) -> None:
        thread = {"pid": 0, "tid": 7} if category == "kernel" else {"pid": 4242, "tid": 4242}
        made.append({"ph": "X", "cat": category, "name": name, "ts": at, "dur": lasts, "args": args} | thread)

    for i in range(20):
        at = 1000 + 25 * i
        row("cpu_op", "aten::linear", at, 18)
        row("cpu_op", "aten::t", at + 1, 4)
        row("cpu_op", "aten::as_strided", at + 2.5, 0.5)
        row("cpu_op", "aten::addmm", at + 6, 11)
        row("cuda_runtime", "cudaLaunchKernel", at + 9, 6, correlation=i + 1)
        row("kernel", "ampere_sgemm_128x64_tn", at + 17, 9, correlation=i + 1, stream=7, device=0)
    return made


def write(path: Path, events: list[dict]) -> Path:
    data = json.dumps({"schemaVersion": 1, "traceEvents": events}).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def calibrate():
    command = os.environ.get("FLOPCAST_CLI")
    if not command:
        pytest.skip("FLOPCAST_CLI names no flopcast binary")

    def run(*words) -> subprocess.CompletedProcess:
        line = [command, "calibrate", "host", *map(str, words)]
        return subprocess.run(line, capture_output=True, text=True, cwd=ROOT, timeout=60)

    return run


def costs_of(done: subprocess.CompletedProcess) -> dict:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_recording_becomes_a_table(calibrate, tmp_path):
    profile = write(tmp_path / "mine.json.gz", rows())
    told = costs_of(calibrate(profile, "--json", "-o", tmp_path / "host.toml", "--source", "mine"))
    assert told["ns"]["launch"] == 6000
    assert told["ns"]["launch_latency"] == 8000
    # Of 493 us without calls, 80 rows; each took the profiler 4 us less what a view and its maker take.
    assert told["ns"]["operator"] == pytest.approx((493 - 20 * 6) / 80 * 1000 - 3500, rel=0.003)
    (error,) = told["errors"]
    assert error["recording"] == "mine.json.gz" and error["operators"] == 80
    assert error["profiler_s"] == pytest.approx(80 * 3.5e-6)
    text = (tmp_path / "host.toml").read_text()
    assert 'source = "mine"' in text and "launch = 6000 " in text


def test_a_recording_without_host_rows_is_refused(calibrate, tmp_path):
    only_kernels = write(tmp_path / "kernels.json", [row for row in rows() if row["cat"] == "kernel"])
    done = calibrate(only_kernels, "-o", tmp_path / "host.toml")
    assert done.returncode == 3 and not (tmp_path / "host.toml").exists()
    assert "kernels.json: has no calls that launch kernels" in done.stderr and "ProfilerActivity.CPU" in done.stderr


def test_one_without_beside_one_with_is_left_alone(calibrate, tmp_path):
    profile = write(tmp_path / "mine.json", rows())
    none = write(tmp_path / "kernels.json", [row for row in rows() if row["cat"] == "kernel"])
    alone, both = costs_of(calibrate(profile, "--json")), costs_of(calibrate(profile, none, "--json"))
    assert both["ns"] == alone["ns"]
    assert [error["operators"] for error in both["errors"]] == [80, 0]
