"""vLLM as PyPI has it, offline, on a small model. Skipped where the Python of these tests has none and `FLOPCAST_FRAMEWORKS`,
a folder of virtual environments, has no `vllm`."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path("examples/live/frameworks/vllm_offline.py")


@pytest.fixture(scope="module")
def python(live) -> Path:
    own = Path(os.environ.get("FLOPCAST_FRAMEWORKS", "no-such-folder"), "vllm/bin/python").absolute()
    found = own if own.exists() else live.python
    asks = "import importlib.util, sys; sys.exit(importlib.util.find_spec('vllm') is None)"
    if subprocess.run([found, "-c", asks], check=False).returncode != 0:
        pytest.skip(f"{found} has no vllm")
    return found


def run(live, python, *words, **environment):
    line = [live.command, "run", "--on", "dgx-h100", "--ranks", "1", "--python", python, *words]
    environment |= {
        **os.environ,
        "PATH": f"{python.parent}:{os.environ['PATH']}",
        "VLLM_USE_FLASHINFER_SAMPLER": "0",  # as on a machine with GPUs and no CUDA toolkit
    }
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("processes", [0, 1])
def test_offline_throughput(live, python, tmp_path, processes):
    """With vLLM's engine in the process of the script, and in one of its own, which it asks by ZeroMQ."""
    account = tmp_path / "run.json"
    words = ["--json", account, SCRIPT, "--eager"]
    done = run(live, python, *words, VLLM_ENABLE_V1_MULTIPROCESSING=str(processes))
    told = re.search(r"^8 requests, 128 output tokens, ([\d.]+) s, ([\d.]+) tokens/s$", done.stdout, re.MULTILINE)
    assert told, done.stdout
    # A prefill and 15 steps behind it, each of some dozens of operators that take the host microseconds.
    assert 16 * 0.2e-3 < float(told[1]) < 16 * 10e-3
    said = json.loads(account.read_text())
    assert said["virtual_s"] < 5
    # It takes 92 % of a GPU's memory, which is 79.1 GiB.
    assert said["ranks"][0]["peak_memory_bytes"] == pytest.approx(0.92 * 79.1 * 2**30, rel=0.02)


def test_a_server_and_its_clients(live, python):
    done = run(live, python, SCRIPT.with_name("vllm_serve.py"), "--", "--enforce-eager")
    told = re.search(r"^8 requests, 128 pieces, ([\d.]+) s, first token ([\d.]+) ms, each further ([\d.]+) ms$", done.stdout, re.MULTILINE)
    assert told, done.stdout
    total, first, each = map(float, told.groups())
    # The last request comes after 70 ms; a step is some dozens of operators that take the host microseconds.
    assert 0.2 < each < 10
    assert 0.2 < first < 30
    assert 0.07 + 16 * 0.2e-3 < total < 0.07 + 16 * 10e-3


def test_a_server_and_vllms_own_client(live, python):
    done = run(live, python, SCRIPT.with_name("vllm_serve.py"), "--bench", "--", "--enforce-eager")
    assert re.search(r"^Successful requests: +8 *$", done.stdout, re.MULTILINE), done.stdout
    first = float(re.search(r"^Median TTFT \(ms\): +([\d.]+)", done.stdout, re.MULTILINE)[1])
    assert 0.2 < first < 50
