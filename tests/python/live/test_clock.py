"""Time as scripts see it in a live run (docs/theory/live.md, "Clock")."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

START = 1_750_000_000
LONG = 10_000


@pytest.fixture(scope="module")
def run(live):
    """What rank 0 of clock_script.py tells."""

    def run_ranks(ranks):
        script = Path(__file__).with_name("clock_script.py")
        return live.run("--start", START, script, ranks=ranks, timeout=300).stdout

    return run_ranks


def test_one_rank_lives_in_virtual_time(run):
    told = json.loads(run(1))
    assert 0 <= told["start"] - START < 1
    assert told["clocks"] == [LONG] * 4
    assert told["waits"] == [5, 25, 55, 62]
    assert told["computes"]
    assert told["batches"] == [8, 8]  # of three batches of 4 s one of two workers makes two
    assert told["backward"]


def test_a_rank_that_sleeps_for_hours_holds_all_up_and_no_watchdog_fires(run):
    told = json.loads(run(4))
    assert [step > LONG for step in told["steps"]] == [False, False, True, False, False, True]
    assert told["end"] - START == pytest.approx(2 * LONG, abs=1)
    assert json.loads(run(4))["steps"] == told["steps"]


def test_a_thread_at_work_when_the_script_ends_ends_with_it(live, tmp_path):
    script = tmp_path / "busy.py"
    script.write_text(
        "import threading, time, torch\n"
        "x = torch.ones(64, 64, device='cuda')\n"
        "def work():\n"
        "    while True:\n"
        "        (x @ x).sum().item()\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "time.sleep(0.01)\n"
        "print('done')\n"
    )
    done = live.run(script)
    assert done.stdout == "done\n"
    assert "terminate" not in done.stderr


@pytest.mark.parametrize("last", ["pass", "time.sleep(7)"])
def test_a_sleep_that_the_end_of_the_script_cuts_short_is_no_time(live, tmp_path, last):
    script = tmp_path / "watches.py"
    script.write_text(
        "import ctypes, threading, time\n"
        "cuda = ctypes.CDLL('libcuda.so.1')\n"
        "cuda.cuInit(0)\n"
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
        "time.sleep(2)\n"
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
        f"{last}\n"
    )
    live.run("--json", tmp_path / "run.json", script)
    told = json.loads((tmp_path / "run.json").read_text())
    assert told["virtual_s"] == pytest.approx(2 if last == "pass" else 9, abs=0.01)


def test_a_seed_that_nobody_gave_is_the_ranks_own_in_every_run(live, tmp_path):
    """PyTorch seeds a GPU's generator by std::random_device, and DTensor compares the ranks' states."""
    script = tmp_path / "seeds.py"
    script.write_text(
        "import sys\nimport torch\nimport torch.distributed as dist\ndist.init_process_group('nccl')\n"
        "torch.cuda.set_device(dist.get_rank())\n"
        "open(f'{sys.argv[1]}/{dist.get_rank()}', 'w').write(str(torch.cuda.initial_seed()))\n"
        "dist.destroy_process_group()\n"
    )
    seen = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        live.run(script, tmp_path / name, ranks=2)
        seen.append([(tmp_path / name / str(rank)).read_text() for rank in range(2)])
    assert seen[0] == seen[1]
    assert seen[0][0] != seen[0][1]


# One looks each second whether it is to end, as PyTorch's heartbeat monitor does; the other is the same thread of a program's.
MONITORS = """
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

int looks[2];
template <int I> void look() {
  std::mutex lock;
  std::condition_variable end;
  std::unique_lock guard(lock);
  for (;; ++looks[I]) end.wait_for(guard, std::chrono::seconds(1));
}
namespace c10d {
struct Monitor { void loop() { look<0>(); } };
}
struct Own { void loop() { look<1>(); } };
extern "C" void start() {
  static c10d::Monitor monitor;
  static Own own;
  std::thread(&c10d::Monitor::loop, &monitor).detach();
  std::thread(&Own::loop, &own).detach();
}
extern "C" int looked(int which) { return looks[which]; }
"""


def test_helpers_are_known_where_pytorch_brings_the_start_of_threads_itself(live, tmp_path):
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("there is no c++")
    (tmp_path / "monitors.cc").write_text(MONITORS)
    # PyTorch 2.6 has a copy of libstdc++'s in libtorch.so.
    flags = ["-std=c++17", "-shared", "-fPIC", "-pthread", "-static-libstdc++", "-Wl,--exclude-libs,ALL", "-Wl,-Bsymbolic"]
    subprocess.run([compiler, *flags, "-o", tmp_path / "libtorch.so", tmp_path / "monitors.cc"], check=True)
    script = "import ctypes, sys, time\nlibrary = ctypes.CDLL(sys.argv[1])\nlibrary.start()\ntime.sleep(1000)\n"
    done = live.script(tmp_path, script + "print(library.looked(0), library.looked(1))\n", tmp_path / "libtorch.so")
    helper, own = map(int, done.stdout.split())
    assert helper < 100
    assert own == pytest.approx(1000, abs=1)
