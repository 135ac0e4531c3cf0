"""Device memory that processes of a run share keeps what is known of its bytes."""

import json
import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("processes_script.py")
SEEN = {
    "there": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    "large": ["cuda:0", [1 << 24], [0.0, 0.0, 0.0]],
    "changed": [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0],
    "made": [0.0, 1.0, 2.0, 3.0, 4.0],
    "status": 0,
}


@pytest.mark.parametrize("segments", ["False", "True"])
def test_tensors_go_from_process_to_process_and_back(live, segments):
    settings = {**os.environ, "PYTORCH_CUDA_ALLOC_CONF": f"expandable_segments:{segments}"}
    done = live.run(SCRIPT, env=settings)
    assert json.loads(done.stdout) == SEEN, done.stderr


def test_a_script_that_closes_every_descriptor_goes_on_or_ends(live, tmp_path):
    """What it holds of the engine's is not its to close. Sockets of its own are gone: what PyTorch says of these is its
    matter, but the run ends."""
    done = live.script(
        tmp_path,
        "import os, torch\n"
        "import torch.distributed as dist\n"
        "dist.init_process_group('nccl')\n"
        "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
        "x = torch.ones(1024, 1024, device='cuda')\n"
        "def reduce():\n"
        "    dist.all_reduce(x)\n"
        "    torch.cuda.synchronize()\n"
        "reduce()\n"
        "os.closerange(3, 10000)\n"
        "reduce()\n"
        "print('still here', flush=True)\n"
        "os._exit(0)\n",
        ranks=2,
        timeout=60,
        expect=None,
    )
    assert done.stdout.count("still here") == 2, done.stderr


def test_numbers_of_a_launcher_that_started_the_command_are_not_its_ranks(live, tmp_path):
    """In a step of Slurm's the command is one of its tasks; the two processes that the program starts are ranks by their GPUs."""
    script = tmp_path / "spawn.py"
    script.write_text(
        "import torch, torch.multiprocessing as mp\n"
        "def main(rank):\n"
        "    torch.cuda.set_device(rank)\n"
        "    torch.ones(1000, 1000, device='cuda').sum()\n"
        "    torch.cuda.synchronize()\n"
        "if __name__ == '__main__':\n"
        "    mp.spawn(main, nprocs=2)\n"
    )
    outer = {"SLURM_PROCID": "1", "SLURM_NTASKS": "64", "SLURM_STEP_NUM_TASKS": "64"}
    line = [live.command, "run", "--on", "dgx-h100", "--python", live.python, "--json", tmp_path / "run.json"]
    done = subprocess.run(
        [*map(str, line), "--", str(live.python), str(script)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **outer},
    )
    assert done.returncode == 0, done.stderr
    assert [rank["rank"] for rank in json.loads((tmp_path / "run.json").read_text())["ranks"]] == [0, 1]
    assert "has started this command 64 times (SLURM_PROCID=1)" in " ".join(done.stderr.split())
