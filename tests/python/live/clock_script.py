"""What a rank sees of time: written by rank 0 as JSON, by name."""

import datetime
import json
import os
import queue
import threading
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

LONG = 10_000


def clocks():
    begin = [time.time(), time.monotonic(), time.perf_counter(), datetime.datetime.now().timestamp()]
    time.sleep(LONG)
    end = [time.time(), time.monotonic(), time.perf_counter(), datetime.datetime.now().timestamp()]
    return [round(b - a, 3) for a, b in zip(begin, end, strict=True)]


def waits():
    begin = time.monotonic()
    event, items = threading.Event(), queue.Queue()
    told = []

    def since():
        told.append(round(time.monotonic() - begin, 3))

    threading.Timer(5, event.set).start()
    event.wait(LONG)
    since()
    threading.Event().wait(20)
    since()
    threading.Timer(30, items.put, (1,)).start()
    items.get()
    since()
    try:
        items.get(timeout=7)
    except queue.Empty:
        since()
    return told


def computes():
    """As a progress bar or a profiler looks: the program waits for nothing."""
    begin = time.monotonic()
    for _ in range(500_000):
        time.perf_counter()
    return 0.1 < time.monotonic() - begin < 1


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        time.sleep(1)
        return torch.full((4,), float(index))


def batches():
    times = []
    for pinned in (False, True):
        begin = time.monotonic()
        loader = DataLoader(Slow(), batch_size=4, num_workers=2, pin_memory=pinned)
        assert [batch[0, 0].item() for batch in loader] == [0, 4, 8]
        times.append(round(time.monotonic() - begin, 3))
    return times


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(4)]).cuda()


def backward_shares_a_line():
    """The host issues forward, backward and step one after the other, whichever thread does."""
    net, x = model(), torch.randn(8, 256, device="cuda")
    moments = []
    x.requires_grad_()
    for _ in range(2):
        before = time.perf_counter()
        loss = net(x).sum()
        middle = time.perf_counter()
        x.register_hook(lambda _: moments.append(time.perf_counter()))
        loss.backward()
        moments += [before, middle, time.perf_counter()]
    inside, before, middle, after = moments[:4]
    return before < middle < inside <= after


def train(rank, ranks):
    net, x = model(), torch.randn(8, 256, device="cuda")
    net = torch.nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3)
    steps = []
    for step in range(6):
        begin = time.perf_counter()
        if step % 3 == 2 and rank == step % ranks:
            time.sleep(LONG)
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        steps.append(round(time.perf_counter() - begin, 6))
    dist.barrier()
    return steps


if __name__ == "__main__":
    began = time.time()
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank)
    told = {"start": began}
    if ranks == 1:
        told |= {
            "clocks": clocks(),
            "waits": waits(),
            "computes": computes(),
            "batches": batches(),
            "backward": backward_shares_a_line(),
        }
    else:
        dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=2 * LONG))
        told["steps"] = train(rank, ranks)
        torch.cuda.synchronize()
        dist.destroy_process_group()
    told["end"] = time.time()
    if rank == 0:
        print(json.dumps(told))
