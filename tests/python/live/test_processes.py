"""Device memory that processes of a run share keeps what is known of its bytes."""

import json
import os
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
