"""Waits for a time beside waits for other ranks over sockets (docs/theory/live.md, "Clock")."""

from collections import Counter
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("waits_script.py")


@pytest.mark.parametrize("backend", ["gloo", "cpu:gloo,cuda:nccl"])
def test_ranks_meet_over_sockets_before_anybodys_time_is_up(live, backend):
    done = live.run("--start", 1_750_000_000, SCRIPT, backend, ranks=4)
    lines = ["begin False", "sum True", "objects True", "took 10000.0"]
    assert Counter(done.stdout.splitlines()) == dict.fromkeys(lines, 4)


def test_a_time_out_comes_when_its_time_has_passed_and_not_while_a_child_computes(live):
    done = live.run(SCRIPT, "timers")
    assert done.stdout.splitlines() == ["computed", "child 2.5 False", "timer 10002.5 True"]
    assert "Timeout" not in done.stderr


COMPILES = """
import operator, threading, time
from torch._inductor.compile_worker.subproc_pool import SubprocPool
if __name__ == "__main__":
    begin = time.monotonic()
    pool = SubprocPool(1)
    print(pool.submit(operator.add, 1, 2).result(), time.monotonic() - begin)
    waits = threading.Event().wait(100)
    print(waits, time.monotonic() - begin)
    pool.shutdown()
"""


def test_who_waits_for_inductors_processes_waits_no_virtual_time(live, tmp_path):
    """They take real time to start, in which Inductor looks once a second whether they live."""
    assert live.script(tmp_path, COMPILES).stdout.splitlines() == ["3 0.0", "False 100.0"]


KEEPS_THE_LOCK = """
import ctypes, os, threading, time, torch, torch.distributed as dist
rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl")
x = torch.zeros(8, device="cuda")
dist.all_reduce(x)
torch.cuda.synchronize()
cuda = ctypes.PyDLL(f"libcudart.so.{torch.version.cuda.split('.')[0]}")
begin = time.monotonic()
others = [threading.Thread(target=lambda: [time.sleep(0.01) for _ in range(5)]) for _ in range(12)]
for one in others:
    one.start()
if rank == 0:
    time.sleep(1)
dist.all_reduce(x)
cuda.cudaDeviceSynchronize()  # for the other rank, with the interpreter's lock, which twelve threads want meanwhile
print(round(time.monotonic() - begin, 2))
for one in others:
    one.join()
"""


def test_who_waits_for_another_rank_with_the_interpreters_lock_is_waited_for(live, tmp_path):
    """As PyTorch does where ranks exchange the handles of symmetric memory."""
    assert live.script(tmp_path, KEEPS_THE_LOCK, ranks=2).stdout.splitlines() == ["1.0", "1.0"]
