"""Waits of threads for what takes real time, beside waits for a time: written by every rank, as lines."""

import argparse
import datetime
import faulthandler
import subprocess
import sys
import threading
import time

import torch
import torch.distributed as dist

LONG = 10_000
BUSY = "import time\nend = time.monotonic() + 1.5\nwhile time.monotonic() < end: pass\nprint('computed')"


def groups(backend):
    """All ranks meet over sockets, in groups made by threads in real time; one of them sleeps for hours."""
    dist.init_process_group(backend, timeout=datetime.timedelta(seconds=3 * LONG))
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(rank)
    yield "begin", time.monotonic() > 100_000_000 + 60
    numbers = torch.full((1000,), float(rank))
    if "nccl" in backend and rank < 2:  # the others wait over sockets meanwhile
        on_gpu = torch.full((4,), float(rank), device="cuda")
        dist.send(on_gpu, 1) if rank == 0 else dist.recv(on_gpu, 0)
        assert on_gpu[0].item() == 0
    dist.all_reduce(numbers)
    yield "sum", numbers[0].item() == ranks * (ranks - 1) / 2
    everybody = [None] * ranks
    dist.all_gather_object(everybody, {"rank": rank})
    yield "objects", [one["rank"] for one in everybody] == list(range(ranks))
    part = dist.new_group(backend="gloo", timeout=datetime.timedelta(seconds=3 * LONG))
    dist.monitored_barrier(part, timeout=datetime.timedelta(seconds=30))
    begin = time.monotonic()
    for step in range(4):
        if "nccl" in backend:
            on_gpu = torch.ones(4, device="cuda")
            dist.all_reduce(on_gpu)
            torch.cuda.synchronize()
        if rank == step % ranks:
            time.sleep(LONG / 4)
        dist.all_reduce(numbers, group=part)
    dist.barrier(group=part)
    yield "took", round(time.monotonic() - begin, 2)
    dist.destroy_process_group()


def timers():
    """A time-out that only comes where its time has passed: not while a child computes, and when the run goes on."""
    begin = time.monotonic()
    fired = threading.Event()
    threading.Timer(LONG, fired.set).start()
    faulthandler.dump_traceback_later(600)
    yield subprocess.run([sys.executable, "-c", BUSY], capture_output=True, text=True, check=True).stdout.strip()
    time.sleep(1)
    yield "child", round(time.monotonic() - begin, 2), fired.is_set()
    faulthandler.cancel_dump_traceback_later()
    time.sleep(LONG)
    yield "timer", round(time.monotonic() - begin, 2), fired.is_set()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what")
    what = parser.parse_args().what
    for line in timers() if what == "timers" else groups(what):
        print(*line if isinstance(line, tuple) else (line,), flush=True)
