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
