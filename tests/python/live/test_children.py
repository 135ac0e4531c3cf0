"""What a rank starts is of the run: its time, its GPU work, and what it hands over (docs/theory/live.md, "Children")."""

import json
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("children_script.py")
QUEUES = [1, 6, 6.5]  # the second message waits for its reader, the child for the parent's
EVERYTHING = {
    "queues": QUEUES,
    "pipes": [True, 0.25, False, 0.75, 4.75],
    "shared": [False, 1, 3, True, 3, [1, 2, 3, 4], None, 3.5, 0, 6],
    "pools": [2, 2],
    "programs": [4, 7, 9, 10],
    "loaders": [[0.08, 0.08], [0.08, 0.08]],
    "prefetched": [0.04, 0, 0, 0.04],
    "spawned": [QUEUES, [0.08, 0.08]],
    "gpus": [0.01, 0.01, 0.01],
    "pinned": [0.08, 0.08],
    "ends": [1, -11, 5, -15, 2],
}


def test_children_take_their_time_and_use_their_gpu(live, tmp_path):
    capture = tmp_path / "run.fccap"
    done = live.run("--json", tmp_path / "run.json", "--capture", capture, SCRIPT, *EVERYTHING, timeout=300)
    assert json.loads(done.stdout) == EVERYTHING
    assert "a worker's own" in done.stderr  # what a child raises is seen
    assert "Cannot re-initialize CUDA in forked subprocess" in done.stderr  # PyTorch's own rule
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["virtual_s"] < 100  # not the 1,000 s that a child was to sleep when it was ended
    # 50 products in the rank itself, and in each of two children
    assert run["kernels"][0]["kernels"] == 150
    again = subprocess.run([live.command, "resolve", capture, "--on", "dgx-h200"], capture_output=True, text=True)
    assert again.returncode == 5
    assert "processes of their own" in again.stderr


def test_runs_with_workers_are_alike(live, tmp_path):
    """Ranks of which each has workers, and that wait for each other."""
    script = tmp_path / "train.py"
    script.write_text(
        "import os, time, torch\n"
        "import torch.distributed as dist\n"
        "from torch.utils.data import DataLoader, Dataset\n"
        "class Slow(Dataset):\n"
        "    def __len__(self): return 24\n"
        "    def __getitem__(self, index):\n"
        "        time.sleep(.001 * (1 + index % 3 + int(os.environ['RANK'])))\n"
        "        return torch.full((64,), float(index))\n"
        "dist.init_process_group('nccl')\n"
        "torch.cuda.set_device(dist.get_rank())\n"
        "total, begin = torch.zeros(64, device='cuda'), time.perf_counter()\n"
        "for batch in DataLoader(Slow(), batch_size=4, num_workers=2, pin_memory=True):\n"
        "    x = batch.cuda(non_blocking=True).sum(0)\n"
        "    dist.all_reduce(x)\n"
        "    total += x\n"
        "    if dist.get_rank() == 0: print(f'{time.perf_counter() - begin:.9f}', total[0].item(), flush=True)\n"
        "dist.destroy_process_group()\n"
    )
    seen = set()
    for _ in range(2):
        done = live.run(script, ranks=2, timeout=300)
        seen.add((done.stdout, done.stderr.partition(" of virtual time")[0].rpartition(" ")[2]))
    assert len(seen) == 1
    # Items of the slower rank take 2, 3 and 4 ms: two workers make six batches of four in 36 ms.
    last = seen.pop()[0].splitlines()[-1].split()
    assert float(last[0]) == pytest.approx(0.036, rel=0.05)
    assert float(last[1]) == 2 * sum(range(24))
