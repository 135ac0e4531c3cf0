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


def test_kernels_take_what_pytorchs_own_do(run):
    lines, account, _ = run("products", "attentions", "rows", "sums")
    assert len(lines) > 10
    for name, line in lines.items():
        assert line["triton"] == pytest.approx(line["torch"], rel=0.25), name
        assert line["flops"] / (line["triton"] * 1e-3) <= PEAK_FLOPS, name
    assert account["unknown"] == []
    assert account["unknown_work"] == {"kernels": 0, "unbounded": 0, "bytes": 0, "time_s": 0, "floor_s": 0, "share": 0}


def test_kinds_of_programs_compute_what_the_cpu_does(live, tmp_path):
    cache = {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    account = tmp_path / "run.json"
    script = SCRIPT.with_name("triton_values_script.py")
    done = live.run("--json", account, script, timeout=400, env=os.environ | cache)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(lines) == script.read_text().count("_case():")
    for line in lines:
        assert line["differences"] and max(line["differences"]) < 5e-6, line
    assert json.loads(account.read_text())["tainted_reads"] == 0


def test_what_a_kernel_makes_of_tainted_or_large_tensors_is_tainted(live, tmp_path):
    text = (
        "import torch, triton, triton.language as tl\n"
        "@triton.jit\n"
        "def plus(x, o, n, B: tl.constexpr):\n"
        "    at = tl.program_id(0) * B + tl.arange(0, B)\n"
        "    tl.store(o + at, tl.load(x + at, at < n) + 1, at < n)\n"
        "@triton.jit\n"
        "def waits(flag, o):\n"
        "    while tl.atomic_add(flag, 0) == 0:\n"
        "        pass\n"
        "    tl.store(o, 5.0)\n"
        "def made(x, n=None):\n"
        "    n, o = n or x.numel(), torch.zeros(x.numel(), device='cuda')\n"
        "    plus[(triton.cdiv(n, 256),)](x, o, n, 256)\n"
        "    return o[0].item()\n"
        "small, o = torch.ones(1000, device='cuda'), torch.zeros(1, device='cuda')\n"
        "unknown = torch.randn(100000, device='cuda')[:1000]\n"
        "waits[(1,)](torch.zeros(1, dtype=torch.int32, device='cuda'), o)\n"
        "print(made(small), made(unknown), made(torch.ones(20000, device='cuda')), o.item())\n"
    )
    cache = {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    assert live.script(tmp_path, text, timeout=300, env=os.environ | cache).stdout == "2.0 nan nan nan\n"


def test_a_compiled_model_has_the_losses_of_an_eager_one(live, tmp_path):
    """CUDA graphs, too; the first of five steps is compiled, the third is captured."""
    account = tmp_path / "run.json"
    folders = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    script = SCRIPT.with_name("models_script.py")
    modes = ["default", "reduce-overhead"]
    done = live.run("--json", account, script, "compiled", *modes, timeout=400, env=os.environ | folders)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert [list(line) for line in lines] == [[mode] for mode in modes]
    for line in lines:
        for mode, (eager, compiled) in line.items():
            assert compiled == pytest.approx(eager, abs=1e-4), mode
    assert json.loads(account.read_text())["tainted_reads"] == 0


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
