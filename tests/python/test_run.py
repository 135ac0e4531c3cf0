"""flopcast run: scripts on clusters that are not there, and everything that may end one.

Most scripts here are small clients of the runtime by ctypes, so that nothing has to be imported; those marked so
want PyTorch."""

import concurrent.futures
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import answers
import pytest

LIMIT_S = 30  # it takes well below five seconds where nothing else runs
# Lines are written whole.
os.environ.pop("PYTHONUNBUFFERED", None)

#: What all clients begin with: a GPU, work for it, and a communicator that waits for the other ranks.
CLIENT = """
import atexit, ctypes, os, signal, sys, time
cuda = ctypes.CDLL(None)
rank, ranks = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]
def stay():
    "Waits in real time, where time.sleep() would wait in virtual time."
    os.read(os.pipe()[0], 1)
def malloc(size):
    at = ctypes.c_void_p()
    status = cuda.cudaMalloc(ctypes.byref(at), ctypes.c_size_t(size))
    return at if status == 0 else None
def work(at, size=1 << 20):
    assert cuda.cudaMemsetAsync(at, 0, ctypes.c_size_t(size), None) == 0
def wait():
    assert cuda.cudaDeviceSynchronize() == 0
def join(name=b"all"):
    comm = ctypes.c_void_p()
    assert cuda.ncclCommInitRank(ctypes.byref(comm), ranks, Id(name), rank) == 0
    return comm
def all_reduce(comm, at, count):
    assert cuda.ncclAllReduce(at, at, ctypes.c_size_t(count), 7, 0, comm, None) == 0
"""


@pytest.fixture(scope="module")
def program() -> Path:
    binary = os.environ.get("FLOPCAST_CLI")
    if not binary or not (Path(binary).resolve().parent / "live" / "cuda13").exists():
        pytest.skip("no live/ beside the flopcast binary that FLOPCAST_CLI names")
    return Path(binary).resolve()


@pytest.fixture(scope="module")
def torch_path(torch_package) -> str:
    return str(torch_package.parent)


def script(folder: Path, body: str, name: str = "client.py") -> Path:
    path = folder / name
    path.write_text(CLIENT + body)
    return path


def flopcast(program: Path, *words, on: str = "dgx-h100", timeout: float = 60, **more) -> subprocess.CompletedProcess:
    command = [str(program), "run", "--on", on, "--python", sys.executable, *(str(word) for word in words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, **more)


def errors_of(done: subprocess.CompletedProcess) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("flopcast: error:")]


# --- What a script sees ----------------------------------------------------------------------------

SEES = CLIENT + """
n = ctypes.c_int()
cuda.cudaGetDeviceCount(ctypes.byref(n))
names = ["RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR"]
print(*(os.environ.get(name) for name in names), n.value, sys.argv[1:], __name__, os.path.basename(sys.path[0]))
"""


@pytest.mark.parametrize("how", [[], ["--no-fork-server"]], ids=["forked", "alone"])
def test_ranks_have_torchruns_environment_and_their_arguments(program, tmp_path, how):
    path = script(tmp_path, SEES.removeprefix(CLIENT))
    done = flopcast(program, *how, path, "--lr", "3", "--", "x", on="2 x dgx-h100")
    assert done.returncode == 0, done.stderr
    expected = [
        f"{r} {r % 8} 16 8 {r // 8} 127.0.0.1 8 ['--lr', '3', '--', 'x'] __main__ {tmp_path.name}" for r in range(16)
    ]
    assert sorted(done.stdout.splitlines()) == sorted(expected)


def test_the_machine_poses_as_nodes(program, tmp_path):
    path = script(tmp_path, SEES.removeprefix(CLIENT))
    done = flopcast(program, "--nodes-as", 1, path, on="2 x dgx-h100")
    assert "15 15 16 16 0 127.0.0.1 16 [] __main__" in done.stdout, done.stderr
    done = flopcast(program, "--ranks", 4, "--nodes-as", 2, path)
    assert "3 1 4 2 1 127.0.0.1 2 [] __main__" in done.stdout, done.stderr


def test_a_launcher_is_told_of_its_node_and_starts_the_ranks(program, tmp_path):
    client = script(tmp_path, "at = malloc(1 << 20)\nwork(at)\nwait()\ncomm = join()\nprint(f'rank {rank}')")
    launcher = tmp_path / "launch.py"
    launcher.write_text(
        """
import os, subprocess, sys
node, local = int(os.environ["PET_NODE_RANK"]), int(os.environ["PET_NPROC_PER_NODE"])
world = local * int(os.environ["PET_NNODES"])
def rank(i):
    name = {"RANK": str(node * local + i), "WORLD_SIZE": str(world)}
    return subprocess.Popen([sys.executable, sys.argv[1]], env=dict(os.environ, **name))
sys.exit(max(p.wait() for p in [rank(i) for i in range(local)]))
"""
    )
    for nodes in ([], ["--nodes-as", "2"]):
        done = flopcast(program, "--ranks", 4, *nodes, "--", sys.executable, launcher, client)
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.split()) == sorted("rank 0 rank 1 rank 2 rank 3".split())
        assert "4 ranks on dgx-h100" in done.stderr


def test_processes_without_a_rank_are_ranks_by_the_gpu_they_use(program, tmp_path):
    # A parent that only asks what there is, as torch.multiprocessing.spawn has it, holds nobody up.
    client = script(
        tmp_path,
        """
n = ctypes.c_int()
cuda.cudaGetDeviceCount(ctypes.byref(n))
if len(sys.argv) == 1:
    import subprocess
    children = [subprocess.Popen([sys.executable, sys.argv[0], str(i)]) for i in range(2)]
    sys.exit(max(child.wait() for child in children))
cuda.cudaSetDevice(int(sys.argv[1]))
rank, ranks = int(sys.argv[1]), 2
at = malloc(1 << 20)
comm = join()
all_reduce(comm, at, 1024)
wait()
print(f"process of GPU {rank}")
""",
    )
    done = flopcast(program, "--", sys.executable, client)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["process of GPU 0", "process of GPU 1"]
    assert "2 ranks on dgx-h100" in done.stderr


def test_a_child_that_was_forked_is_silent_and_one_that_execs_is_a_guest(program, tmp_path):
    client = script(
        tmp_path,
        """
at = malloc(1 << 20)
work(at)
if os.fork() == 0:
    work(at)
    wait()
    os._exit(0)
os.wait()
os.system(f"{sys.executable} -c 'import ctypes; n = ctypes.c_int(); "
          "ctypes.CDLL(None).cudaGetDeviceCount(ctypes.byref(n)); print(n.value)'")
wait()
""",
    )
    done = flopcast(program, "--ranks", 2, client)
    assert (done.returncode, done.stdout) == (0, "8\n8\n"), done.stderr


def test_standard_input_is_the_callers(program, tmp_path):
    client = script(tmp_path, "print(sys.stdin.read())")
    done = flopcast(program, "--ranks", 1, client, input="some words")
    assert done.stdout == "some words\n"


# --- What is passed on, and what is said at the end ------------------------------------------------

LOOP = """
at = malloc(256 << 20)
comm = join()
for step in range(5):
    for part in range(3):
        work(at, 1 << (20 + part))
    all_reduce(comm, at, 1 << 20)
    wait()
print(f"a line of rank {rank}")
print(f"an error of rank {rank}", file=sys.stderr)
"""


def test_the_summary_and_every_file_tell_of_the_run(program, tmp_path):
    client = script(tmp_path, LOOP)
    files = {name: tmp_path / name for name in ("run.json", "page.html", "run.pftrace", "kineto.json")}
    done = flopcast(
        program, "--ranks", 2, "--json", files["run.json"], "--html", files["page.html"],
        "--trace-out", files["run.pftrace"], "--trace-out", files["kineto.json"], client,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["a line of rank 0", "a line of rank 1"]
    for words in ("2 ranks on dgx-h100", "exposed communication", "peak memory of a GPU: ", "5 steps of"):
        assert words in done.stderr
    document = json.loads(files["run.json"].read_text())
    assert document["status"] == 0 and document["failure"] is None and document["virtual_s"] > 0
    for rank in document["ranks"]:
        assert len(rank["steps"]) == 5
        assert 256 << 20 <= rank["peak_memory_bytes"] < 2 << 30  # a context takes some besides
        assert abs(sum(rank["breakdown_s"].values()) - rank["window_s"]) < 1e-12
        assert rank["breakdown_s"]["exposed_communication"] > 0
    assert all(path.stat().st_size > 1000 for path in files.values())
    assert not answers.problems(str(program), "LiveRun", document)
    # The timeline is a recording like any other.
    replayed = subprocess.run([program, "replay", files["kineto.json"]], capture_output=True, text=True, timeout=60)
    assert replayed.returncode == 0, replayed.stderr
    assert "allreduce" in replayed.stdout and "ProfilerStep#5" in replayed.stdout


def test_ten_runs_say_the_same_forked_or_not(program, tmp_path):
    client = script(tmp_path, LOOP)
    seen = set()
    for i in range(10):
        how = ["--no-fork-server"] if i % 2 else []
        flopcast(program, "--ranks", 4, *how, "--json", tmp_path / "j", "--trace-out", tmp_path / "t.json", client)
        seen.add((tmp_path / "j").read_bytes() + (tmp_path / "t.json").read_bytes())
    assert len(seen) == 1


def test_virtual_time_is_not_the_machines(program, tmp_path):
    client = script(tmp_path, "at = malloc(1 << 30)\nfor i in range(2000): work(at, 1 << 30)\nwait()")
    done = flopcast(program, "--ranks", 1, "--json", tmp_path / "j", client)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "j").read_text())["virtual_s"] > 0.5


def on_a_terminal(command: list[str], size: int = 1 << 20) -> tuple[int, str]:
    """Runs it with a terminal as standard output and error. @return exit status, and what the terminal got"""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    text = b""
    end = time.monotonic() + 30
    while time.monotonic() < end and len(text) < size:
        if ours in select.select([ours], [], [], 0.1)[0]:
            try:
                text += os.read(ours, 65536)
            except OSError:
                break
        elif process.poll() is not None:
            break
    os.close(ours)
    return process.wait(10), text.decode()


def test_a_wait_for_centuries_ends_when_it_is_woken(program, tmp_path):
    body = """
import threading
work(malloc(1 << 20)); wait()
event, begin = threading.Event(), time.time()
def wake():
    time.sleep(1e4)
    event.set()
waker = threading.Thread(target=wake)
waker.start()
print(event.wait(threading.TIMEOUT_MAX), round(time.time() - begin))
waker.join(threading.TIMEOUT_MAX)
"""
    done = flopcast(program, "--ranks", 1, script(tmp_path, body))
    assert done.stdout == "True 10000\n", done.stderr


def test_the_mean_of_long_times_is_their_mean(program, tmp_path):
    # Together the ranks take longer than 64 bits of picoseconds.
    done = flopcast(program, script(tmp_path, "work(malloc(1 << 20)); wait()\ntime.sleep(6e5)\n" * 3 + "wait()"))
    assert re.search(r"^  waiting for the host +1200000\.\d\d s +100\.0 %", done.stdout + done.stderr, re.MULTILINE), done.stderr


def test_the_end_of_virtual_time_is_told(program, tmp_path):
    client = script(tmp_path, "work(malloc(1 << 20)); wait()\ntime.sleep(1e8)\nprint('awake')")
    done = flopcast(program, "--ranks", 2, client)
    assert done.returncode == 4 and not done.stdout
    assert errors_of(done)[0].endswith("a run has 90 days, a sleep 8 (sleep for less, or run fewer steps)"), done.stderr


def test_on_a_terminal_ranks_have_terminals_and_the_status_line_is_apart(program, tmp_path):
    client = script(
        tmp_path,
        """
print("terminals:", sys.stdout.isatty(), sys.stderr.isatty())
for i in range(3):
    sys.stdout.write(f"half {i}"); sys.stdout.flush(); os.system("sleep 0.3"); print(" and half", flush=True)
    os.system("sleep 0.3")
""",
    )
    status, text = on_a_terminal([str(program), "run", "--on", "dgx-h100", "--ranks", "1", str(client)])
    assert status == 0, text
    assert "terminals: True True" in text
    assert "flopcast: " in text and "of virtual time" in text  # the status line was there
    # With every line of its own taken away by its own erasure, the script's text is whole.
    for i in range(3):
        assert f"half {i} and half\r\n" in text


# --- Errors ----------------------------------------------------------------------------------------


def fake_python(folder: Path, torch: str | None, cuda: str | None) -> Path:
    """A Python whose torch says this of itself."""
    site = folder / "site"
    if torch is not None:
        (site / "torch").mkdir(parents=True)
        (site / "torch" / "__init__.py").write_text("raise ImportError('not to be imported')")
        (site / "torch" / "version.py").write_text(
            f"__version__ = '{torch}'\ncuda: Optional[str] = {cuda!r}\nhip: Optional[str] = None\n"
        )
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{site}" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    return python


@pytest.mark.parametrize(
    "torch, cuda, message",
    [
        (None, None, "has no PyTorch, and the script imports it (pip install torch"),
        ("2.15.0+cpu", None, "has PyTorch 2.15.0+cpu, which was built without CUDA (install one with CUDA"),
        ("2.5.0+cu118", "11.8", "CUDA 11: nothing stands in for its libraries, only for those of CUDA 12, 13"),
    ],
    ids=["none", "cpu", "old"],
)
def test_a_torch_that_cannot_do_is_told_before_the_start(program, tmp_path, torch, cuda, message):
    path = tmp_path / "train.py"
    path.write_text("import torch\n")
    command = [program, "run", "--on", "dgx-h100", "--python", fake_python(tmp_path, torch, cuda), path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode in (2, 3)
    assert len(done.stderr.splitlines()) == 1 and message in done.stderr, done.stderr


@pytest.mark.parametrize(
    "words, message",
    [
        (["--on", "dgx-h100", "absent.py"], "absent.py: is not there (name a script of Python"),
        (["--on", "dgx-h100", "."], "is no file that Python could run"),
        (["--on", "dgx-h100"], "has nothing to run"),
        (["client.py"], "--on: says what cluster to run on, and is not there"),
        (["--on", "dgx-h1oo", "client.py"], "dgx-h100"),
        (["--on", "dgx-h100", "--ranks", "9", "client.py"], "are 9, and dgx-h100 has 8 chips"),
        (["--on", "dgx-h100", "--nodes-as", "3", "client.py"], "8 ranks do not fill 3 nodes evenly"),
        (["--onn", "dgx-h100", "client.py"], "there is no option '--onn' (did you mean '--on'?)"),
        (["--on", "dgx-h100", "--host", "fast", "client.py"], "expected modelled, measured:FACTOR or a FILE.toml"),
        (["--on", "dgx-h100", "--start", "noon", "client.py"], "'noon' is no time"),
        (["--on", "dgx-h100", "--python", "absent", "client.py"], "absent: cannot be started"),
        (["--on", "dgx-h100", "--cuda", "9", "client.py"], "CUDA 9: nothing stands in"),
        (["--on", "dgx-h100", "--", "absent-launcher"], "absent-launcher: cannot be started"),
        (["--on", "dgx-h100", "--json", "absent/x", "client.py"], "its folder 'absent' is not there"),
        (["--on", "4096 x dgx-h100", "client.py"], "32,768 ranks need about"),
    ],
)
def test_errors_are_one_line_with_a_remedy(program, tmp_path, words, message):
    script(tmp_path, "print('started')")
    done = subprocess.run([program, "run", *words], capture_output=True, text=True, timeout=30, cwd=tmp_path)
    assert done.returncode in (2, 3, 4), done.stderr
    assert message in done.stderr and "started" not in done.stdout
    assert len(done.stderr.splitlines()) == 1 and done.stderr.rstrip().endswith(")"), done.stderr


def test_too_many_ranks_of_a_launcher_are_told(program, tmp_path):
    client = script(tmp_path, "malloc(1)\nwork(malloc(1 << 20))\nwait()")
    environment = dict(os.environ, RANK="8", WORLD_SIZE="9")
    done = flopcast(program, "--", sys.executable, client, env=environment)
    assert "the program starts 9 ranks, and the cluster has 8 chips" in done.stderr


def test_the_first_rank_that_fails_is_named_with_its_last_line(program, tmp_path):
    client = script(tmp_path, "at = malloc(1)\nif rank == 2: raise ValueError('of rank 2')\nstay()")
    done = flopcast(program, "--ranks", 4, client)
    assert done.returncode == 1
    assert errors_of(done) == ["flopcast: error: rank 2 ended with status 1: ValueError: of rank 2"]
    # The trace is the script's own, as if it had been started alone.
    trace = done.stderr.partition("Traceback (most recent call last):\n")[2]
    assert trace.startswith(f'  File "{client}", line'), done.stderr


def test_a_folder_of_stand_ins_can_be_named(program, tmp_path):
    client = script(tmp_path, "print('ran')")
    empty = dict(os.environ, FLOPCAST_LIVE_LIBRARIES=str(tmp_path))
    done = flopcast(program, client, env=empty)
    assert done.returncode == 3 and "the libraries that stand in for NVIDIA's are not there" in done.stderr
    shutil.copytree(program.parent / "live", tmp_path / "live", symlinks=True)
    there = dict(os.environ, FLOPCAST_LIVE_LIBRARIES=str(tmp_path / "live"))
    assert flopcast(program, "--ranks", 1, client, env=there).stdout == "ran\n"


def test_a_symbol_that_nothing_stands_in_for_leads_to_the_doctor(program, tmp_path):
    client = script(tmp_path, "raise ImportError('extension.so: undefined symbol: ncclTimeTravel')")
    done = flopcast(program, "--ranks", 1, client)
    assert done.returncode == 1
    assert errors_of(done)[0].endswith(
        "undefined symbol: ncclTimeTravel (flopcast run --doctor lists what nothing stands in for)"
    ), done.stderr


def test_little_shared_memory_is_told_before_the_start(program, tmp_path):
    small = "mount -t tmpfs -o size=4k none /dev/shm && exec "
    if subprocess.run(["unshare", "-rm", "sh", "-c", small + "true"], capture_output=True).returncode != 0:
        pytest.skip("this user may not mount")
    client = script(tmp_path, "print('ran')")
    words = f"{program} run --on dgx-h100 --ranks 1 --python {sys.executable} {client}"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", small + words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout == "ran\n", done.stderr
    assert "flopcast: warning: /dev/shm has 4.1 kB free: DataLoader workers need it" in done.stderr


@pytest.mark.parametrize(
    "folder",
    [
        "lib/flopcast/live",
        "lib64/flopcast/live",
        "lib/x86_64-linux-gnu/flopcast/live",
        "lib/python3.11/site-packages/flopcast/live",
        "lib/python3.11/dist-packages/flopcast/live",
        "flopcast/live",
    ],
)
def test_an_installed_program_finds_its_stand_ins(program, tmp_path, folder):
    (tmp_path / "bin").mkdir()
    installed = shutil.copy(program, tmp_path / "bin")
    client = script(tmp_path, "malloc(1)\nprint('ran')")
    done = flopcast(installed, client)
    assert done.returncode == 3 and errors_of(done)[0].startswith(
        f"flopcast: error: {installed}: the libraries that stand in for NVIDIA's are neither beside it nor under its prefix"
    ), done.stderr
    (tmp_path / folder).parent.mkdir(parents=True)
    (tmp_path / folder).symlink_to(program.parent / "live")
    (tmp_path / "link").symlink_to(installed)
    done = flopcast(tmp_path / "link", "--ranks", 2, client)
    assert done.returncode == 0 and done.stdout == "ran\nran\n", done.stderr


def test_doctor_says_what_there_is(program):
    done = subprocess.run([program, "run", "--doctor"], capture_output=True, text=True, timeout=60)
    for word in ("python", "torch", "stand-ins", "shared memory", "memory", "compiler"):
        assert re.search(rf"^{word} ", done.stdout, re.MULTILINE), done.stdout


def test_doctor_names_symbols_that_are_lacking(program, tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    python = fake_python(tmp_path, "9.9.9+cu130", "13.0")
    library = tmp_path / "site" / "torch" / "lib"
    library.mkdir()
    (tmp_path / "a.c").write_text("int ncclTimeTravel(void); int ncclSend(void);\nint f(void) { return ncclTimeTravel() + ncclSend(); }")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library / "libtorch_cuda.so", tmp_path / "a.c"], check=True)
    done = subprocess.run([program, "run", "--doctor", "--python", python], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "1 symbol lacking" in done.stdout and "ncclTimeTravel of libtorch_cuda.so" in done.stdout
    assert "PyTorch 9.9.9+cu130: wants ncclTimeTravel, for which nothing stands in" in done.stderr
    assert "ncclSend" not in done.stdout


# --- Faults ----------------------------------------------------------------------------------------

#: Where a rank is when something happens to it.
MOMENTS = {
    "before": "",
    "working": "while True: work(at)",
    "waiting": "join() if rank == 0 else stay()",
    "asleep": "work(at); wait(); stay()",
    "leaving": "atexit.register(stay); sys.exit(0)",
}
FAULTY = """
folder, moment = sys.argv[1:]
if moment != "before":
    at = malloc(1 << 20)
    work(at)
    wait()
def tell():
    with open(f"{folder}/{rank}.part", "w") as file:
        file.write(f"{os.getpid()} {os.getppid()}")
    os.rename(f"{folder}/{rank}.part", f"{folder}/{rank}.here")
tell()
if rank == 1 and FAULT: exec(FAULT)
if moment == "before": stay()
exec(MOMENTS[moment])
stay()
"""


def processes_of(token: str) -> dict[int, str]:
    """Processes that this run started, by what it put into their environment."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if token.encode() in (entry / "environ").read_bytes() and (entry / "stat").read_text().split()[2] != "Z":
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except (OSError, IndexError):
            continue
    return found


class Faulty:
    """A run of two ranks that are where they should be; what happens then is the test's."""

    def __init__(self, program: Path, folder: Path, moment: str, fault: str = "", how=(), launcher: bool = False):
        folder.mkdir()
        body = f"MOMENTS = {MOMENTS!r}\nFAULT = {fault!r}\n" + FAULTY
        client = script(folder, body)
        self.token = uuid.uuid4().hex
        words = [client, folder, moment]
        if launcher:
            shell = f"RANK=0 {sys.executable} $0 $@ & RANK=1 {sys.executable} $0 $@ & wait -n; kill $(jobs -p); exit 1"
            words = ["--", "bash", "-c", shell, *words]
        command = [program, "run", "--on", "dgx-h100", "--ranks", 2, "--python", sys.executable, *how, *words]
        self.process = subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, FLOPCAST_TEST_TOKEN=self.token, WORLD_SIZE="2"), start_new_session=True,
        )  # fmt: skip
        self.pids, self.parents = {}, {}
        end = time.monotonic() + 30
        while len(self.pids) < 2 and time.monotonic() < end and (fault == "" or self.process.poll() is None):
            for rank in (0, 1):
                here = folder / f"{rank}.here"
                if rank not in self.pids and here.exists():
                    self.pids[rank], self.parents[rank] = map(int, here.read_text().split())
            time.sleep(0.01)
        assert fault or len(self.pids) == 2, self.process.poll()
        time.sleep(0.05)  # into what comes after

    def guardian(self) -> int:
        for pid in processes_of(self.token):
            status = Path(f"/proc/{pid}/status").read_text()
            if f"PPid:\t{self.process.pid}\n" in status and Path(f"/proc/{pid}/exe").resolve() == Path(
                f"/proc/{self.process.pid}/exe"
            ).resolve():
                return pid
        raise AssertionError("no guardian")

    def end(self) -> tuple[int, str]:
        """All that is left of the run after LIMIT_S: nothing. @return exit status, standard error"""
        begin = time.monotonic()
        try:
            _, errors = self.process.communicate(timeout=LIMIT_S)
            while processes_of(self.token) and time.monotonic() - begin < LIMIT_S:
                time.sleep(0.05)
            left = processes_of(self.token)
            assert not left, left
            return self.process.returncode, errors
        finally:
            for pid in processes_of(self.token):
                os.kill(pid, signal.SIGKILL)


def shared_memory() -> set[str]:
    """What lies in shared memory, but of what other tests put there meanwhile."""
    others = ("torch_", "sem.", "psm_", "pymp-", "org.chromium", ".org.chromium")
    return {name for name in os.listdir("/dev/shm") if not name.startswith(others)}


def to_rank(number: int, *ranks: int):
    return lambda run: [os.kill(run.pids[rank], number) for rank in ranks]


def to_engine(number: int):
    return lambda run: os.kill(run.process.pid, number)


def to_parent(number: int):
    return lambda run: os.kill(run.parents[0], number)


def stopped_then_killed(run):
    os.kill(run.pids[0], signal.SIGSTOP)
    os.kill(run.process.pid, signal.SIGKILL)


def guardian_then_engine(run):
    os.kill(run.guardian(), signal.SIGKILL)
    os.kill(run.process.pid, signal.SIGKILL)


#: name: (what happens from outside, what rank 1 does itself, how it is run, exit status, what the error says)
KINDS = {
    "rank 0 killed": (to_rank(signal.SIGKILL, 0), "", [], 137, "rank 0 was ended by signal 9"),
    "rank 1 killed": (to_rank(signal.SIGKILL, 1), "", [], 137, "rank 1 was ended by signal 9"),
    "both killed": (to_rank(signal.SIGKILL, 1, 0), "", [], 137, "was ended by signal 9"),
    "rank killed alone": (to_rank(signal.SIGKILL, 1), "", ["--no-fork-server"], 137, "rank 1 was ended by signal 9"),
    "rank segfaults": (to_rank(signal.SIGSEGV, 1), "", [], 139, "rank 1 was ended by signal 11"),
    "rank segfaults alone": (to_rank(signal.SIGSEGV, 0), "", ["--no-fork-server"], 139, "rank 0 was ended by signal 11"),
    "rank told to end": (to_rank(signal.SIGTERM, 1), "", [], 143, "rank 1 was ended by signal 15"),
    "rank aborts": (None, "os.abort()", [], 134, "rank 1 was ended by signal 6"),
    "rank reads nowhere": (None, "ctypes.string_at(0)", [], 139, "rank 1 was ended by signal 11"),
    "rank raises": (None, "raise RuntimeError('no')", [], 1, "rank 1 ended with status 1: RuntimeError: no"),
    "rank leaves": (None, "sys.exit(7)", [], 7, "rank 1 ended with status 7"),
    "rank leaves at once": (None, "os._exit(9)", [], 9, "rank 1 ended with status 9"),
    "rank becomes another": (None, "os.execvp('false', ['false'])", [], 1, "rank 1 ended with status 1"),
    "rank leaves a child": (
        None, "os.fork() or (os.setpgid(0, 0), stay()); os._exit(4)", [], 4, "rank 1 ended with status 4",
    ),
    "fork server killed": (to_parent(signal.SIGKILL), "", [], 137, "rank 0 was ended by signal 9"),
    "engine killed": (to_engine(signal.SIGKILL), "", [], -9, None),
    "engine killed, ranks alone": (to_engine(signal.SIGKILL), "", ["--no-fork-server"], -9, None),
    "engine segfaults": (to_engine(signal.SIGSEGV), "", [], -11, None),
    "engine told to end": (to_engine(signal.SIGTERM), "", [], 143, None),
    "interrupted": (to_engine(signal.SIGINT), "", [], 130, None),
    "hung up": (to_engine(signal.SIGHUP), "", [], 129, None),
    "stopped rank, killed engine": (stopped_then_killed, "", [], -9, None),
    "guardian, then engine": (guardian_then_engine, "", [], -9, None),
    "rank of a launcher": (to_rank(signal.SIGKILL, 0), "", "launcher", 1, "the launcher ended with status 1"),
    "launcher": (to_parent(signal.SIGKILL), "", "launcher", 137, "the launcher was ended by signal 9"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_ends_a_run_ends_all_of_it(program, tmp_path, kind):
    happens, fault, how, status, says = KINDS[kind]
    launcher = how == "launcher"
    shared_before = shared_memory()

    def one(moment: str):
        run = Faulty(program, tmp_path / moment, moment, fault, () if launcher else how, launcher)
        if happens:
            happens(run)
        return moment, *run.end()

    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        results = list(pool.map(one, MOMENTS))
    for moment, code, errors in results:
        assert code == status, (moment, errors)
        lines = [line for line in errors.splitlines() if line.startswith("flopcast: error:")]
        assert len(lines) == (1 if says else 0), (moment, errors)
        assert not says or says in lines[0], (moment, lines)
    assert not shared_memory() - shared_before


def test_a_rank_that_leaves_while_others_wait_for_it_is_told(program, tmp_path):
    client = script(tmp_path, "malloc(1)\nif rank == 1: sys.exit(0)\njoin()")
    done = flopcast(program, "--ranks", 2, client, timeout=20)
    assert done.returncode == 5
    assert "all wait, and nobody can go on" in done.stderr


#: What ends with a rank's objects, in one that the server forks too: the interpreter is not taken down there.
ENDS = """
import ctypes, signal, threading, weakref
class Noted:
    def __init__(self, name):
        self.name, self.self = name, self
    def __del__(self):
        print("gone", self.name, rank)
noted = Noted("global")
weakref.finalize(noted, print, "finalized")
def rest():
    try:
        yield
    finally:
        print("closed")
open_one = rest()
next(open_one)
atexit.register(lambda: print("at exit", noted.name))
threading.Thread(target=lambda: (threading.main_thread().join(), print("thread"))).start()
ctypes.CDLL(None).printf(b"buffered in C\\n")
malloc(1)
"""


@pytest.mark.parametrize("last", ["", "sys.exit(3)", "sys.exit('said')", "raise OSError('no')", "raise KeyboardInterrupt"])
def test_a_forked_rank_ends_as_one_that_is_alone(program, tmp_path, last):
    client = script(tmp_path, ENDS + last)
    told = []
    for how in ([], ["--no-fork-server"]):
        done = flopcast(program, "--ranks", 1, *how, client)
        assert all(line in done.stdout for line in ("gone global 0", "finalized", "closed", "at exit", "thread", "in C"))
        errors = re.sub(r"[\d.]+ m?s of real time", "", done.stderr)
        told.append((done.returncode, sorted(done.stdout.splitlines()), errors))
    assert told[0] == told[1]


# --- With PyTorch ----------------------------------------------------------------------------------

TRAIN = """
import torch, torch.distributed as dist, os
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
x = torch.randn(256, 256, device="cuda")
for step in range(5):
    y = x @ x
    torch.cuda.synchronize()
if __name__ == "__main__":
    # One write: what several processes write at once goes between others' writes, not into them.
    line = f"rank {os.environ['RANK']} {torch.cuda.get_device_name()} {torch.cuda.device_count()}\\n"
    os.write(1, line.encode())
"""


def test_torch_is_imported_once_and_says_the_same(program, tmp_path, torch_path):
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    environment = dict(os.environ, PYTHONPATH=torch_path)
    documents = []
    for how in ([], ["--no-fork-server"]):
        done = flopcast(program, "--ranks", 2, *how, "--json", tmp_path / "j", path, env=environment, timeout=120)
        assert done.returncode == 0, done.stderr
        assert sorted(done.stdout.splitlines()) == [f"rank {r} NVIDIA H100 80GB HBM3 8" for r in range(2)]
        documents.append(json.loads((tmp_path / "j").read_text()))
    # What a program does before its first call of a GPU takes no virtual time in a rank that is forked after it.
    forked, alone = (
        [(rank["kernels"], rank["window_s"], rank["breakdown_s"], [round(end - begin, 12) for begin, end in rank["steps"]])
         for rank in document["ranks"]]
        for document in documents
    )  # fmt: skip
    assert forked == alone
    assert documents[0]["coverage"] == documents[1]["coverage"]
    assert len(forked[0][3]) >= 4


def test_torchrun_is_wrapped(program, tmp_path, torch_path):
    path = tmp_path / "train.py"
    path.write_text(TRAIN)
    done = flopcast(
        program, "--ranks", 2, "--", sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", 2, path,
        env=dict(os.environ, PYTHONPATH=torch_path), timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"rank {r} NVIDIA H100 80GB HBM3 2" for r in range(2)]


SPAWNS = """
import os, torch, torch.distributed as dist, torch.multiprocessing as processes
def train(rank, world, how):
    dist.init_process_group("nccl", rank=rank, world_size=world, init_method=f"file://{os.environ['STORES']}/{how}")
    torch.cuda.set_device(rank)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8).cuda(), device_ids=[rank])
    model(torch.ones(4, 8, device="cuda")).sum().backward()
    print(f"{how}: rank {rank} of {world}: {model.module.bias.grad.sum().item():g}", flush=True)
    dist.destroy_process_group()
if __name__ == "__main__":
    world = torch.cuda.device_count()
    for how in ("spawn", "fork"):  # the latter is right, too: who only counts GPUs uses none
        processes.start_processes(train, args=(world, how), nprocs=world, start_method=how)
"""


def test_a_script_that_spawns_its_ranks_is_wrapped(program, tmp_path, torch_path):
    path = tmp_path / "train.py"
    path.write_text(SPAWNS)
    environment = dict(os.environ, PYTHONPATH=torch_path, STORES=str(tmp_path))
    done = flopcast(program, "--ranks", 2, "--", sys.executable, path, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"{how}: rank {r} of 2: 32" for how in ("fork", "spawn") for r in range(2)]
    assert "2 ranks on dgx-h100" in done.stderr


def test_forked_ranks_share_what_they_import(program, tmp_path, torch_path):
    path = tmp_path / "train.py"
    path.write_text(
        TRAIN
        + """
private = sum(int(line.split()[1]) for line in open("/proc/self/smaps_rollup") if line.startswith("Private"))
print("private MiB", private // 1024)
"""
    )
    done = flopcast(program, "--ranks", 2, path, env=dict(os.environ, PYTHONPATH=torch_path), timeout=120)
    private = [int(line.split()[-1]) for line in done.stdout.splitlines() if line.startswith("private")]
    assert len(private) == 2 and max(private) <= 140, done.stdout + done.stderr
