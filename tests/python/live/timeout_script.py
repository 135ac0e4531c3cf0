"""A rank that comes late to a collective, first in time, then too late for the group's time-out."""

import argparse
import datetime
import time

import torch
import torch.distributed as dist

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--late", type=float, nargs="+")
    told = parser.parse_args()
    dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=told.timeout))
    rank = dist.get_rank()
    torch.cuda.set_device(rank)
    numbers = torch.ones(1000, device="cuda")
    for late in told.late:
        begin = time.monotonic()
        if rank == 1:
            time.sleep(late)
            print("slept", flush=True)
        dist.all_reduce(numbers)
        torch.cuda.synchronize()
        print(rank, round(time.monotonic() - begin, 2), flush=True)
    dist.destroy_process_group()
