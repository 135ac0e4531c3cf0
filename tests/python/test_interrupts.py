"""Long calls: Ctrl-C ends them, and other Python threads go on meanwhile."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import flopcast

#: Each takes minutes where nobody ends it.
SEARCH = 'flopcast.plan("deepseek-v3", "2048 x dgx-h100", global_batch=16384, seq=4096, threads=1)'
SWEEP = SEARCH.replace("plan(", "plan_sweep(").replace('h100",', 'h100", {"n": [8192, 16384]},')
MAP = 'flopcast.map("gpt3-1t", "1024 x sn10", cycles=True, every_tile=True, split_dimensions=True, unroll=4, threads=1)'
EXPLORE = MAP.replace("map(", "explore(").replace('sn10",', 'sn10", ["sram=1x,2x"],')

HEALTHY = """
import sys
import flopcast

code = 9
try:
    print("started", flush=True)  # whoever sends the signal waits for this
    {call}
except KeyboardInterrupt:
    code = 3
    # The process is as good as before: the same library answers.
    step = flopcast.estimate("gpt-3-1.3b", "dgx-h100", tp=8, global_batch=64)
    assert step.time_s > 0
    print("interrupted", flush=True)
sys.exit(code)
"""


def interrupted(script: str, after_s: float) -> subprocess.CompletedProcess:
    """Runs it and sends SIGINT so long after it said that it has started."""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "started\n"
        time.sleep(after_s)
        assert process.poll() is None, "it was faster than Ctrl-C"
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, errors)


@pytest.mark.parametrize("call", [SEARCH, SWEEP, MAP, EXPLORE], ids=["plan", "plan_sweep", "map", "explore"])
def test_ctrl_c_ends_a_long_call_and_leaves_the_process_healthy(call):
    done = interrupted(HEALTHY.format(call=call), after_s=0.7)
    assert (done.returncode, done.stdout) == (3, "interrupted\n"), done.stderr


def test_ctrl_c_that_nobody_catches_ends_the_process():
    done = interrupted(f"import flopcast\nprint('started', flush=True)\n{MAP}", after_s=0.5)
    assert done.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in done.stderr


def test_work_that_cannot_stop_is_left_behind():
    """A simulation of flows goes on in the background; at exit it is left alone."""
    make_flows = """
    rows = ["id,op,ranks,src,dst,bytes,start,delay,after,limit"]
    rows += [f"{i},,,{i % 512},{(i * i + 7 * i + 1) % 511},{i % 1000 + 1}MB,{i % 997}us,,," for i in range(30000)]
    flopcast.Cluster("64 x dgx-h100").run_flows("\\n".join(rows))
"""
    done = interrupted(HEALTHY.format(call=make_flows.strip()), after_s=2)
    assert (done.returncode, done.stdout) == (3, "interrupted\n"), done.stderr


#: Whatever opens a file: of a pipe whose writer writes nothing each lasts for ever.
READING = {
    "traces": "flopcast.read({pipe})",
    "model": "flopcast.TrainingModel({pipe}, 'dgx-h100')",
    "cluster": "flopcast.Cluster({pipe})",
    "plan": "flopcast.estimate('gpt-3-1.3b', 'dgx-h100', plan_from={pipe})",
}


@pytest.mark.parametrize("name", READING)
def test_ctrl_c_ends_reading(name, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Opened for both ways a pipe has a writer, and opening it waits for nobody.
    writer = os.open(pipe, os.O_RDWR)
    try:
        done = interrupted(HEALTHY.format(call=READING[name].format(pipe=repr(str(pipe)))), after_s=0.3)
    finally:
        os.close(writer)
    assert (done.returncode, done.stdout) == (3, "interrupted\n"), done.stderr


def test_an_error_quotes_what_is_no_text(tmp_path):
    file = tmp_path / "config.json"
    file.write_bytes(b'{"model_type": "\x1b[2J' + b"x" * 1000 + b'"}')
    with pytest.raises(flopcast.FlopcastError) as caught:
        flopcast.TrainingModel(str(file), "dgx-h100")
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    (tmp_path / "train.sh").write_bytes(b"train.py --tensor-model-parallel-size \xff\xfe --seq-length 2048\n")
    with pytest.raises(flopcast.FlopcastError, match=r"\\xff\\xfe"):
        flopcast.estimate("gpt-3-1.3b", "dgx-h100", plan_from=tmp_path / "train.sh")


def test_a_handler_of_the_user_is_called():
    script = """
import signal
import flopcast

class Enough(Exception):
    pass

def handler(*_):
    raise Enough

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.5)
try:
    {call}
except Enough:
    print("enough")
"""
    done = subprocess.run(
        [sys.executable, "-c", script.format(call=MAP)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "enough\n"), done.stderr


def test_other_threads_go_on_during_a_search():
    turns = 0
    searching = threading.Event()
    searching.set()

    def count():
        nonlocal turns
        while searching.is_set():
            turns += 1
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        before = turns
        flopcast.plan("gpt-3-1.3b", "2 x dgx-h100", global_batch=64, seq=2048, threads=1)
        during = turns - before
    finally:
        searching.clear()
        counter.join()
    assert during > 3
