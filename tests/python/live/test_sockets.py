"""What processes of a run hand each other by eventfd, epoll and connections has its time (docs/theory/live.md, "Channels")."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import SILENCE_S

SCRIPT = Path(__file__).with_name("sockets_script.py")
CONVERSATION = [[5, 0.5, 10, 1.5], [20, 2.0], 7.5]
EVERYTHING = {
    "counters": [[], 4.0, True, 10.0, 3, 1, 10.0, 4, 20.0, 1, 20.0, 1, 30.0],
    "unix": CONVERSATION,
    "tcp": CONVERSATION,
    "selected": [
        ["accepted", 1.0], [2, 1.0], ["accepted", 2.0], [3, 2.0], ["accepted", 3.0], [1, 3.0],
        [12, 11.0], [13, 12.0], [11, 13.0], ["closed", 13.0], ["closed", 14.0], ["closed", 15.0],
    ],
    "threads": [3.25, 3.25, 5.25, 5.25],
    "full": [20_000_000, 50.0, 0],
    "spins": [1, 1.0, 4.0, 9.0],
}  # fmt: skip


def test_each_message_has_its_time_in_every_run(live):
    for _ in range(2):
        done = live.run(SCRIPT, *EVERYTHING)
        assert json.loads(done.stdout) == EVERYTHING


def test_zeromq_hands_time_over(live):
    with_zmq = [live.python]
    if folder := os.environ.get("FLOPCAST_FRAMEWORKS"):
        with_zmq += [Path(folder, "vllm/bin/python").absolute()]
    has = "import importlib.util, sys; sys.exit(importlib.util.find_spec('zmq') is None)"
    for python in with_zmq:
        if python.exists() and subprocess.run([python, "-c", has], check=False).returncode == 0:
            break
    else:
        pytest.skip("no Python here has pyzmq")
    line = [live.command, "run", "--on", "dgx-h100", "--ranks", "1", "--python", python, SCRIPT, "zmq"]
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, timeout=120, check=True)
    # Nothing for 3 s; half a second and two for the first answers; then one and three, of which the client sleeps two.
    assert json.loads(done.stdout) == {"zmq": [0, 3.0, 5, 3.5, 20, 5.5, 10, 7.5, 30, 9.5]}


def test_processes_that_wait_for_each_other_are_named(live):
    words = [live.command, "run", "--on", "dgx-h100", "--ranks", "1", "--python", str(live.python), str(SCRIPT), "stuck"]
    environment = os.environ | {"FLOPCAST_LIVE_SILENCE": str(SILENCE_S)}
    run = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        said = [run.stderr.readline() for _ in range(6)]
    finally:
        run.terminate()
        run.wait()
    named = [line for line in said if "waits for another process of the run" in line]
    assert len(named) == 2, said
    assert all("in stuck" in line or "in <lambda>" in line for line in named), said
