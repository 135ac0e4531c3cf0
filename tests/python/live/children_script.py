"""What processes of a rank see of time, and of its GPU: seconds by name, as JSON."""

import ctypes
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor

import torch
from torch.utils.data import DataLoader, Dataset

FORK, SPAWN = (torch.multiprocessing.get_context(name) for name in ("fork", "spawn"))

def since(begin):
    return round(time.monotonic() - begin, 3)


def puts_and_gets(inbox, outbox):
    begin = time.monotonic()
    time.sleep(1)
    outbox.put("early")
    time.sleep(1)
    outbox.put(torch.arange(3.0))
    inbox.get()
    outbox.put(since(begin))


def queues(context):
    inbox, outbox = context.Queue(), context.Queue()
    child = context.Process(target=puts_and_gets, args=(inbox, outbox))
    child.start()
    begin, times = time.monotonic(), []
    assert outbox.get() == "early"
    times.append(since(begin))
    time.sleep(5)
    assert outbox.get().tolist() == [0, 1, 2]  # it has been there for long
    times.append(since(begin))
    time.sleep(0.5)
    inbox.put(None)
    return [*times, outbox.get()]


def answers(connection):
    while (wait := connection.recv()) is not None:
        time.sleep(wait)
        connection.send_bytes(bytes(300_000))  # more than fits


def pipes(context):
    own, other = context.Pipe()
    child = context.Process(target=answers, args=(other,))
    child.start()
    begin, times = time.monotonic(), []
    for wait in (0.25, 0.5):
        own.send(wait)
        times.append(own.poll(0.3))
        assert len(own.recv_bytes()) == 300_000
        times.append(since(begin))
    own.send(3)
    time.sleep(4)  # the other end has no room meanwhile
    assert len(own.recv_bytes()) == 300_000
    own.send(None)
    child.join()
    return [*times, since(begin)]


def shares(tensor, event, lock):
    time.sleep(2)
    with lock:
        tensor.add_(torch.arange(4.0))
        time.sleep(1)
    event.set()
    time.sleep(3)


def shared_memory(context):
    tensor, event, lock = torch.ones(4).share_memory_(), context.Event(), context.Lock()
    begin = time.monotonic()
    child = context.Process(target=shares, args=(tensor, event, lock))
    child.start()
    times = [event.wait(1), since(begin)]
    time.sleep(1.5)
    with lock:
        times.append(since(begin))
    times += [event.wait(9), since(begin), tensor.tolist()]
    child.join(0.5)
    times += [child.exitcode, since(begin)]
    child.join()
    return [*times, child.exitcode, since(begin)]


def naps(seconds):
    time.sleep(seconds)
    return seconds


def pools(context):
    times = []
    begin = time.monotonic()
    with context.Pool(2) as pool:
        assert sum(pool.map(naps, [0.5] * 8, chunksize=1)) == 4
        times.append(since(begin))
    begin = time.monotonic()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        assert sum(pool.map(naps, [0.5] * 8)) == 4
        times.append(since(begin))
    return times


def programs():
    times = []
    begin = time.monotonic()
    subprocess.run([sys.executable, "-c", "import time; time.sleep(4)"], check=True)
    times.append(since(begin))
    line = "import sys, time; time.sleep(3); print(sys.stdin.read(), flush=True); time.sleep(2)"
    child = subprocess.Popen([sys.executable, "-c", line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    child.stdin.write("heard")
    child.stdin.close()
    assert child.stdout.readline() == "heard\n"
    times.append(since(begin))
    assert child.wait() == 0
    times.append(since(begin))
    if (own := os.fork()) == 0:
        os.execlp("sh", "sh", "-c", f"{sys.executable} -c 'import time; time.sleep(1)'; exit 7")
    assert os.waitstatus_to_exitcode(os.waitpid(own, 0)[1]) == 7
    return [*times, since(begin)]


class Slow(Dataset):
    def __len__(self):
        return 16

    def __getitem__(self, index):
        time.sleep(0.01)
        return torch.full((4,), float(index))


def loads(**settings):
    loader = DataLoader(Slow(), batch_size=4, num_workers=2, **settings)
    times = []
    for _ in range(2):
        begin = time.monotonic()
        total = sum(batch.sum().item() for batch in loader)
        assert total == 4 * sum(range(16))
        times.append(since(begin))
    return times


def prefetched():
    """Workers go on while the rank computes, but no further than they may."""
    loader, begin = iter(DataLoader(Slow(), batch_size=4, num_workers=1, prefetch_factor=2)), time.monotonic()
    next(loader)
    first = since(begin)
    time.sleep(1)
    times = []
    for _ in range(3):
        begin = time.monotonic()
        next(loader)
        times.append(since(begin))
    return [first, *times]


def products(outbox=None):
    torch.cuda.set_device(0)
    a = torch.empty(4096, 4096, device="cuda", dtype=torch.bfloat16)
    torch.cuda.synchronize()
    begin = time.monotonic()
    for _ in range(50):
        a @ a
    torch.cuda.synchronize()
    took = since(begin)
    if outbox:
        outbox.put(took)
    return took


def gpus():
    """In a child, also where the parent has asked what GPUs there are, and where another program runs."""
    assert torch.cuda.device_count() == 8
    assert ctypes.CDLL("libnvidia-ml.so.1").nvmlInit_v2() == 0
    outbox, times = FORK.SimpleQueue(), []
    for context in (FORK, SPAWN):
        outbox = context.SimpleQueue()
        child = context.Process(target=products, args=(outbox,))
        child.start()
        times.append(outbox.get())
        child.join()
    return [*times, products()]


def after_use():
    """CUDA's own rule."""
    try:
        torch.zeros(1, device="cuda")
    except RuntimeError as error:
        return os.write(2, str(error).encode()) and os._exit(5)


def fails():
    raise ValueError("a worker's own")


def crashes():
    os.kill(os.getpid(), signal.SIGSEGV)


def ends():
    codes = []
    for target in (fails, crashes, after_use):
        child = FORK.Process(target=target)
        child.start()
        child.join()
        codes.append(child.exitcode)
    child = FORK.Process(target=naps, args=(1000,))
    child.start()
    threading.Timer(2, child.terminate).start()
    begin = time.monotonic()
    child.join()
    return [*codes, child.exitcode, since(begin)]


CASES = {
    "queues": lambda: queues(FORK),
    "pipes": lambda: pipes(FORK),
    "shared": lambda: shared_memory(FORK),
    "pools": lambda: pools(FORK),
    "programs": programs,
    "loaders": lambda: [loads(), loads(persistent_workers=True)],
    "prefetched": prefetched,
    "spawned": lambda: [queues(SPAWN), loads(multiprocessing_context="spawn", persistent_workers=True)],
    "gpus": gpus,
    "pinned": lambda: loads(pin_memory=True),
    "ends": ends,
}

if __name__ == "__main__":
    print(json.dumps({name: CASES[name]() for name in sys.argv[1:]}))
