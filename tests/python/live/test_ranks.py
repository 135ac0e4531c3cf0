"""Several ranks in a live run: what PyTorch's parallelism computes is what one processor computes, and a script whose ranks
wait for each other ends with words."""

import json
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def run(live):
    """Runs a script on so many ranks and returns how it went."""

    def run_script(script, ranks, *options, on="dgx-h100"):
        return live.run("--start", 1700000000, *options, script, on=on, ranks=ranks, timeout=300, expect=None)

    return run_script


def checks() -> list[str]:
    text = (HERE / "ranks_script.py").read_text().splitlines()
    return [text[i + 1].split()[1].split("(")[0] for i, line in enumerate(text) if line == "@check"]


@pytest.fixture(scope="module", params=[2, 4])
def held(run, request):
    done = run(HERE / "ranks_script.py", request.param)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", checks())
def test_values_are_those_of_one_processor(held, name):
    assert held[name]["errors"] == []


def test_eight_ranks_on_two_nodes(run):
    done = run(HERE / "ranks_script.py", 8, "--nodes-as", "2", on="2 x dgx-h100")
    assert done.returncode == 0, done.stderr
    assert {name: one["errors"] for name, one in json.loads(done.stdout).items()} == {name: [] for name in checks()}


def test_a_collective_that_a_rank_never_calls_is_told(run, tmp_path):
    script = tmp_path / "hang.py"
    script.write_text(
        "import os, torch, torch.distributed as dist\n"
        "rank = int(os.environ['RANK'])\n"
        "torch.cuda.set_device(rank)\n"
        "dist.init_process_group('nccl')\n"
        "x = torch.ones(4, device='cuda')\n"
        "if rank == 1:\n"
        "    dist.broadcast(x, 0)\n"
        "    torch.cuda.synchronize()\n"
        "else:\n"
        "    dist.all_reduce(x)\n"
        "    dist.broadcast(x, 0)\n"
        "    torch.cuda.synchronize()\n"
    )
    done = run(script, 2)
    assert done.returncode != 0
    assert "rank 0 calls all_reduce (fp32 sum, 16 bytes)" in done.stderr
    assert "rank 1 calls broadcast (fp32, root 0, 16 bytes)" in done.stderr


def test_a_rank_that_waits_alone_is_told(run, tmp_path):
    script = tmp_path / "alone.py"
    script.write_text(
        "import os, torch, torch.distributed as dist\n"
        "rank = int(os.environ['RANK'])\n"
        "torch.cuda.set_device(rank)\n"
        "dist.init_process_group('nccl')\n"
        "pair, other = dist.new_group([0, 1]), dist.new_group([0, 1])\n"
        "x = torch.ones(4, device='cuda')\n"
        "for group in (pair, other) if rank == 0 else (other, pair):\n"
        "    dist.all_reduce(x, group=group)\n"
        "    torch.cuda.synchronize()\n"
    )
    done = run(script, 2)
    assert done.returncode != 0
    assert "never called it" in done.stderr, done.stderr
    assert "all_reduce (fp32 sum, 16 bytes)" in done.stderr


def test_parts_of_pytorch_that_a_script_names_are_loaded_once(run, tmp_path):
    script = tmp_path / "parts.py"
    script.write_text(
        "import os, sys\n"
        "loaded = [name in sys.modules for name in ('torch._dynamo', 'torch.distributed.fsdp', 'torch.nothing')]\n"
        "def later():\n"
        "    from torch.distributed.fsdp import fully_shard\n"
        "    import torch.nothing\n"
        "print(*loaded, 'torch.cuda' in sys.modules and sys.modules['torch.cuda'].is_initialized())\n"
    )
    done = run(script, 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["True True False False"] * 2
    assert "leaked" not in done.stderr


def test_what_a_program_takes_from_a_set_comes_in_the_same_order_in_every_run(live, tmp_path):
    """By texts, and by where objects lie, where the machine lets a program have the same addresses again."""
    text = (
        "import ctypes, torch\n"
        "same = ctypes.CDLL(None).personality(0xffffffff) & 0x0040000\n"
        "print(list({str(i) for i in range(20)}), same and id(torch.nn.Linear))\n"
    )
    first, second = (live.script(tmp_path, text).stdout for _ in range(2))
    assert first == second != live.script(tmp_path, text, env={"PYTHONHASHSEED": "3"}).stdout
