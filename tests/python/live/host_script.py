"""What the host takes: operators with and without launches, the values of which are computed, and Python between them."""

import sys
import time

import torch


def rows() -> int:
    """Rows that PyTorch's profiler writes for the work (its list of events leaves out those within their like)."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiled:
        work()
    return len([e for e in profiled.profiler.kineto_results.events() if not e.name().startswith("[")])


def work() -> None:
    for _ in range(20):
        small = torch.ones(4, 8, device="cuda", requires_grad=True)
        (small.t().reshape(-1) * 2).sum().backward()


def python() -> int:
    return sum(i % 7 for i in range(400_000))


torch.cuda.init()
work()
if sys.argv[1] == "count":
    print(f"rows {rows()}")
elif sys.argv[1] == "operators":
    before = time.perf_counter_ns()
    work()
    print(f"took {time.perf_counter_ns() - before}")
else:
    python()
    before, spent = time.perf_counter_ns(), time.thread_time_ns()
    python()
    print(f"took {time.perf_counter_ns() - before} {time.thread_time_ns() - spent}")
