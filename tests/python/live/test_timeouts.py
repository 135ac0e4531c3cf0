"""Time-outs of collectives, as PyTorch's watchdog tells them, and what is told of a run that does not move."""

import re
from pathlib import Path

from conftest import SILENCE_S

SCRIPT = Path(__file__).with_name("timeout_script.py")
START = 1_750_000_000  # Sunday, 15:06:40


def test_a_rank_that_is_late_but_in_time_is_waited_for(live):
    done = live.run(SCRIPT, "--timeout", 30, "--late", 29, 0, 28, ranks=2)
    assert sorted(done.stdout.split("\n")) == sorted(
        ["", "slept", "0 29.0", "1 29.0", "slept", "0 0.0", "1 0.0", "slept", "0 28.0", "1 28.0"]
    )


def test_a_call_that_a_rank_joins_too_late_times_out_at_its_virtual_time(live):
    done = live.run("--start", START, SCRIPT, "--timeout", 30, "--late", 29, 45, ranks=2, expect=134)
    assert done.stdout.count("slept") == 1  # what is later than the time-out does not happen
    assert "timed out after 30600 ms" in done.stderr
    assert "15:07:39.6" in done.stderr  # 29 s, 30 s, and what a watchdog takes to see it
    assert "rank 0 was ended by signal 6 (Aborted)" in done.stderr


def test_pytorchs_ten_minutes_hold_too(live):
    done = live.run(SCRIPT, "--late", 650, ranks=2, expect=134)
    assert "slept" not in done.stdout and "timed out after 6" in done.stderr


COMPUTES = """
import sys
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
numbers = torch.ones(4, device=rank)
dist.all_reduce(numbers)
torch.cuda.synchronize()
machine_s = lambda: float(open("/proc/uptime").read().split()[0])
end = machine_s() + float(sys.argv[1])
while rank == 1 and machine_s() < end:
    pass
dist.all_reduce(numbers)
print(numbers[0].item())
"""


def test_a_rank_that_computes_for_long_is_named(live, tmp_path):
    done = live.script(tmp_path, COMPUTES, 2 * SILENCE_S, ranks=2)
    assert done.stdout.splitlines() == ["4.0", "4.0"]
    assert "of real time, and 1 of 2 ranks wait" in done.stderr
    named = [line for line in done.stderr.splitlines() if line.startswith("rank 1, thread MainThread (0): holds the run")]
    assert any(re.search(r"computes: .*/script\.py:1[1-4] in (<module>|<lambda>)$", line) for line in named), done.stderr
