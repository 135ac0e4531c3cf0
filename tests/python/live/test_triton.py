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

    def run_parts(*parts, segments=False):
        folder = tmp_path_factory.mktemp("triton")
        account = folder / "run.json"
        expandable = {"PYTORCH_CUDA_ALLOC_CONF": f"expandable_segments:{segments}"}
        inductor = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        environment = {"TRITON_CACHE_DIR": str(folder / "cache"), **expandable, **inductor}
        done = live.run(
            "--json", account, SCRIPT, *parts, on="1 x dgx-h100", timeout=400, env=os.environ | environment
        )
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return {line["name"]: line for line in lines}, json.loads(account.read_text()), done.stderr

    return run_parts


# What is mapped piece by piece is one piece to kernels.
@pytest.mark.parametrize(
    "parts,segments,least", [(("products", "attentions", "rows", "compiled_attention"), False, 12), (("sums",), True, 1)]
)
def test_kernels_take_what_pytorchs_own_do(run, parts, segments, least):
    lines, account, _ = run(*parts, segments=segments)
    assert len(lines) >= least
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


def test_ranks_compile_a_kernel_once(live, tmp_path):
    script = tmp_path / "once.py"
    script.write_text(
        "import json, os, sys, torch, triton, triton.language as tl\n"
        "compiled, found = [], []\n"
        "def note(src, metadata, metadata_group, times, cache_hit):\n"
        "    (found if cache_hit else compiled).append(src.name)\n"
        "triton.knobs.compilation.listener = note\n"
        "@triton.jit\n"
        "def twice(x, o, B: tl.constexpr):\n"
        "    at = tl.arange(0, B)\n"
        "    tl.store(o + at, 2 * tl.load(x + at))\n"
        "@triton.jit\n"
        "def fails(x, B: tl.constexpr):\n"
        "    tl.static_assert(B < 0)\n"
        "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
        "x, o = torch.ones(64, device='cuda'), torch.zeros(64, device='cuda')\n"
        "failed = []\n"
        "try:\n"
        "    fails[(1,)](x, 64)\n"
        "except triton.CompilationError as error:\n"
        "    failed.append(error)\n"
        "twice[(1,)](x, o, 64)\n"
        "print(json.dumps([compiled, found, o.tolist() == [2] * 64, len(failed)]))\n"
    )
    cache = {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = live.run(script, on="dgx-h100", ranks=4, timeout=300, env=os.environ | cache)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[[")]
    assert sorted(len(compiled) for compiled, *_ in told) == [0, 0, 0, 1]
    assert sorted(len(found) for _, found, *_ in told) == [0, 1, 1, 1]
    assert all(right and failed == 1 for *_, right, failed in told)


def test_ranks_measure_a_kernel_by_a_few_launches(live, tmp_path):
    text = (
        "import os, time, torch\n"
        "from triton.testing import do_bench\n"
        "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
        "a, launches = torch.empty(4096, 4096, device='cuda', dtype=torch.bfloat16), []\n"
        "begin = time.monotonic()\n"
        "few = do_bench(lambda: launches.append(torch.mm(a, a)))\n"
        "took = time.monotonic() - begin\n"
        "print(len(launches), took, few, do_bench(lambda: torch.mm(a, a), return_mode='all')[-1])\n"
    )
    for line in live.script(tmp_path, text, ranks=2).stdout.splitlines():
        launches, took, few, each = map(float, line.split())
        assert launches < 20
        assert took == pytest.approx(0.125, rel=0.1)
        assert few == pytest.approx(each, rel=1e-3)


def test_work_is_that_of_what_memory_holds_now(live, tmp_path):
    script = tmp_path / "ends.py"
    script.write_text(
        "import json, torch, triton, triton.language as tl\n"
        "@triton.jit\n"
        "def reads(x, o, ends, B: tl.constexpr):\n"
        "    sum = tl.zeros([B], tl.float32)\n"
        "    for i in range(tl.load(ends)):\n"
        "        sum += tl.load(x + i * B + tl.arange(0, B))\n"
        "    tl.store(o + tl.arange(0, B), sum)\n"
        "x, o = torch.empty(1 << 28, device='cuda'), torch.empty(1024, device='cuda')\n"
        "ends = torch.zeros(1, dtype=torch.int32, device='cuda')\n"
        "def milliseconds(turns):\n"
        "    ends.fill_(turns)\n"
        "    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)\n"
        "    torch.cuda.synchronize()\n"
        "    begin.record()\n"
        "    reads[(1,)](x, o, ends, 1024)\n"
        "    end.record()\n"
        "    torch.cuda.synchronize()\n"
        "    return begin.elapsed_time(end)\n"
        "milliseconds(1)\n"
        "print(json.dumps([milliseconds(turns) for turns in (100000, 200000, 100000, 200000, 50000)]))\n"
    )
    cache = {"TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = live.run(script, on="1 x dgx-h100", timeout=300, env=os.environ | cache)
    first, second, *again, half = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("[")))
    assert second == pytest.approx(2 * first, rel=0.05) and half == pytest.approx(first / 2, rel=0.1)
    assert again == [first, second]


def test_ranks_keep_no_kernels_in_compiled_graphs(live, tmp_path):
    """From there they would go back into the one folder of all ranks at once, at which PyTorch 2.6 fails."""
    script = tmp_path / "kept.py"
    script.write_text("import torch._inductor.config as c\nprint('kept', c.bundle_triton_into_fx_graph_cache)\n")
    name = "TORCHINDUCTOR_BUNDLE_TRITON_INTO_FX_GRAPH_CACHE"
    own = {key: value for key, value in os.environ.items() if key != name}
    assert "kept False" in live.run(script, env=own).stdout
    assert "kept True" in live.run(script, env=own | {name: "1"}).stdout
