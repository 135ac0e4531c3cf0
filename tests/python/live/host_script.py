"""What the host takes: operators with and without launches, the values of which are computed, and Python between them."""

import resource
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


def processor_ns() -> int:
    """What this thread has had of the processor of this machine: no clock of the run."""
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return round((usage.ru_utime + usage.ru_stime) * 1e9)


def python() -> int:
    return sum(i % 7 for i in range(400_000))


def operators() -> int:
    before = time.perf_counter_ns()
    work()
    return time.perf_counter_ns() - before


def python_times() -> str:
    python()
    before, spent, used = time.perf_counter_ns(), time.thread_time_ns(), processor_ns()
    python()
    return f"{time.perf_counter_ns() - before} {time.thread_time_ns() - spent} {processor_ns() - used}"


torch.cuda.init()
work()
for what in sys.argv[1:]:
    print(what, {"rows": rows, "operators": operators, "python": python_times}[what]())
