"""What a rank starts is of the run: its time, its GPU work, and what it hands over (docs/theory/live.md, "Children")."""

import json
import subprocess
from pathlib import Path

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
