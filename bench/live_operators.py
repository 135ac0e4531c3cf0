#!/usr/bin/env python3
"""What an operator of PyTorch costs the processor in a live run, beside what it costs on tensors of the CPU.

    .venv/bin/python bench/live_operators.py [--flopcast build/release/flopcast] [--python .torch/bin/python3] [--json FILE]

Processor time of the calling thread, for a call; the quickest of several bursts, because other programs slow
the rest. "executed" is an operator of which the CPU computes the values, "launched" one that is too large for that.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Runs as a rank: its clocks are virtual, so the kernel itself is asked (SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID).
SCRIPT = """
import ctypes, json
import torch

syscall, now = ctypes.CDLL(None).syscall, (ctypes.c_long * 2)()

def thread_ns():
    syscall(228, 3, now)
    return now[0] * 1_000_000_000 + now[1]

def cost_ns(call, bursts=9, calls=400):
    call()
    costs = []
    for _ in range(bursts):
        begin = thread_ns()
        for _ in range(calls):
            call()
        costs.append((thread_ns() - begin) / calls)
        torch.cuda.synchronize()
    return min(costs)

def added(size, device):
    tensor = torch.zeros(size, device=device)
    return cost_ns(lambda: tensor.add_(1.0))

def viewed(device):
    tensor = torch.zeros(8, 4, device=device)
    return cost_ns(tensor.t)

print(json.dumps({
    "add_, cpu": added(64, "cpu"),
    "add_, executed": added(64, "cuda"),
    "add_, launched": added(1 << 20, "cuda"),
    "t, cpu": viewed("cpu"),
    "t, gpu": viewed("cuda"),
}))
"""


def measured(flopcast: str, python: Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(SCRIPT)
        command = [flopcast, "run", "--on", "dgx-h100", "--ranks", "1", "--python", str(python), str(script)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flopcast", default="build/release/flopcast")
    parser.add_argument("--python", type=Path, default=ROOT / ".torch/bin/python3", help="one with a stock PyTorch")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    options = parser.parse_args()
    if not options.python.exists():
        print(f"left out: {options.python} is not there (./dev test makes it)")
        return
    costs = measured(options.flopcast, options.python)
    for name, ns in costs.items():
        print(f"{name:16} {ns / 1000:8.2f} us")
    if options.json:
        options.json.write_text(json.dumps(costs, indent=1) + "\n")


if __name__ == "__main__":
    main()
