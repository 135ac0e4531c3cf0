"""What others wait for: ranks that compute, wait for a child, stand in a call that nobody watches; ranks that leave and come
again. Arguments: which of them, a folder, and where ranks compute, for how many seconds."""

import ctypes
import fcntl
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist

RANK = int(os.environ["RANK"])
FOLDER = Path(sys.argv[2])


def real_s():
    """The machine's own clock, which no run changes."""
    return float(Path("/proc/uptime").read_text().split()[0])


def begin():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    meet()


def meet():
    one = torch.ones(4, device="cuda")
    dist.all_reduce(one)
    return int(one.sum().item())


def spin_until(end):
    while real_s() < end:
        pass


def named():
    """Every rank does something else for so long that it is asked after."""
    begin()
    seconds = float(sys.argv[3])
    end = real_s() + seconds
    if RANK == 0:
        thread = threading.Thread(target=spin_until, args=(end,), name="the_loader")
        thread.start()
        thread.join()
    elif RANK == 1:
        later = end + seconds
        subprocess.run([sys.executable, "-c", f"while float(open('/proc/uptime').read().split()[0]) < {later}: pass"])
    elif RANK == 2:
        libc = ctypes.CDLL(None)
        thread = ctypes.c_ulong()
        libc.pthread_create(ctypes.byref(thread), None, libc.pause, None)  # stays there: no Python, and no time
        spin_until(end)
    else:
        spin_until(end)
    print("met", meet(), flush=True)
    os._exit(0)  # a thread still stands in pause()


def lock():
    """Rank 1 waits in a call that nobody watches, for what rank 0 lets go of after a long sleep."""
    begin()
    with open(FOLDER / "lock", "w") as file:
        if RANK == 0:
            fcntl.flock(file, fcntl.LOCK_EX)
        meet()
        start = time.time()
        if RANK == 0:
            time.sleep(1000)
            fcntl.flock(file, fcntl.LOCK_UN)
        else:
            fcntl.flock(file, fcntl.LOCK_EX)
        meet()
        print("took", round(time.time() - start), flush=True)
    dist.destroy_process_group()


def restarted():
    """Rank 1 fails after three steps of a second; its peer would go on. All begin again after those."""
    begin()
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    start = time.time()
    if attempt == 0:
        for step in range(100):
            time.sleep(1)
            if RANK == 1 and step == 2:
                os._exit(7)
        raise AssertionError("nobody ended this rank")
    for _ in range(3):
        time.sleep(1)
        meet()
    if RANK == 0:
        print("attempt", attempt, "took", round(time.time() - start, 2), flush=True)
    dist.destroy_process_group()


def init_again(name, rank, ranks):
    """By a file: the store of the group before may still be about to go with the rank that kept it."""
    store = dist.FileStore(str(FOLDER / name), ranks)
    dist.init_process_group("nccl", store=store, rank=rank, world_size=ranks)


def again():
    """Process groups are left, aborted, and made again, of all ranks and of some."""
    begin()
    dist.destroy_process_group()
    init_again("all", RANK, 4)
    sums = [meet()]
    half = [dist.new_group([0, 1]), dist.new_group([2, 3])][RANK // 2]
    one = torch.ones(1, device="cuda")
    dist.all_reduce(one, group=half)
    sums.append(int(one.item()))
    dist.distributed_c10d._abort_process_group()
    init_again(f"half{RANK // 2}", RANK % 2, 2)
    sums.append(meet())
    print("sums", *sums, flush=True)
    dist.destroy_process_group()


{"named": named, "lock": lock, "restarted": restarted, "again": again}[sys.argv[1]]()
