"""A run on several machines: network namespaces that the tests make, with cables to a switch. What it says is what one
machine says, and whatever ends one of them ends all."""

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TOKEN = "a secret of the tests"
# Of a summary: what it took here, and what of that no virtual time counts.
REAL_TIME = re.compile(r"[0-9.]+ m?s of real time|\n\nwork of the host that takes no.*?counts it\)", re.DOTALL)


def ip(*words) -> None:
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True, text=True, timeout=20)


class Machines:
    """Three machines, 10.83.0.1 to 10.83.0.3, and what they are plugged into."""

    def __init__(self, live):
        self.command, self.python = live.command, live.python
        self.names = [f"flopcast-{os.getpid()}-{n}" for n in range(3)]
        self.switch = f"flopcast-{os.getpid()}-switch"
        self.ports = itertools.count(29400)
        self.running: list[subprocess.Popen] = []

    def set_up(self) -> None:
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "switch", "type", "bridge")
        ip("-n", self.switch, "link", "set", "switch", "up")
        for number, name in enumerate(self.names):
            plug = f"plug{number}"
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
            peer = ["peer", "name", plug, "netns", self.switch]
            ip("link", "add", "name", "cable", "netns", name, "type", "veth", *peer)
            ip("-n", self.switch, "link", "set", plug, "master", "switch", "up")
            ip("-n", name, "addr", "add", f"10.83.0.{number + 1}/24", "dev", "cable")
            ip("-n", name, "link", "set", "cable", "up")

    def plug(self, number: int, up: bool = True) -> None:
        ip("-n", self.switch, "link", "set", f"plug{number}", "up" if up else "down")

    def tear_down(self) -> None:
        for name in (*self.names, self.switch):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def start(self, number: int, *words, env=None) -> subprocess.Popen:
        environment = {**os.environ, "FLOPCAST_TOKEN": TOKEN, "FLOPCAST_LIVE_SILENCE": "4", **(env or {})}
        line = ["ip", "netns", "exec", self.names[number], self.command, *map(str, words)]
        machine = subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment
        )
        self.running.append(machine)
        return machine

    def start_all(self, *words, ranks=2, own=((), (), ())) -> list[subprocess.Popen]:
        """As many as there are own words for."""
        count, place = len(own), f"10.83.0.1:{next(self.ports)}"
        all_of_them = ["run", "--on", f"{count} x dgx-h100", "--ranks", ranks, "--hosts", count, "--meet", place]
        all_of_them += ["--start", 1700000000, "--python", self.python]
        return [self.start(n, *all_of_them, "--host-number", n, *own[n], *words) for n in range(count)]

    def start_both(self, *words, ranks=2, own=((), ())) -> list[subprocess.Popen]:
        return self.start_all(*words, ranks=ranks, own=own)

    def end(self) -> None:
        for machine in self.running:
            if machine.poll() is None:
                machine.kill()
                machine.communicate()
        self.running = []


def ends_of(machines: list[subprocess.Popen], within_s: float = 60) -> list[tuple[int, str, str]]:
    until = time.monotonic() + within_s
    ends = []
    for machine in machines:
        out, err = machine.communicate(timeout=max(until - time.monotonic(), 1))
        ends.append((machine.returncode, out, err))
    return ends


def left_of(mark: str) -> list[str]:
    """Processes with this in their words, or a moment later."""
    for _ in range(50):
        left = []
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if mark in words and entry.parent.name != str(os.getpid()):
                left.append(words)
        if not left:
            break
        time.sleep(0.1)
    return left


@pytest.fixture(scope="module")
def cabled(live):
    if not shutil.which("ip"):
        pytest.skip("no `ip` here to make network namespaces with")
    machines = Machines(live)
    try:
        machines.set_up()
    except subprocess.CalledProcessError as refused:
        machines.tear_down()
        pytest.skip(f"network namespaces cannot be made here: {refused.stderr.strip()}")
    yield machines
    machines.tear_down()


@pytest.fixture
def machines(cabled):
    yield cabled
    cabled.end()


def script_of(folder: Path, text: str) -> Path:
    path = folder / "script.py"
    path.write_text(text)
    return path


def rank_lines(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if line.startswith("rank "))


# --- the same as on one machine --------------------------------------------------------------------


@pytest.mark.parametrize(("launcher", "ranks"), [(False, 4), (True, 2)], ids=["ranks", "torchrun"])
def test_two_machines_say_what_one_says(machines, live, tmp_path, launcher, ranks):
    script = HERE / "hosts_script.py"
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    torchrun = live.python.parent / "torchrun"
    words = ["--", torchrun, script] if launcher else [script]
    nodes, capture = ["--nodes-as", 2], ["--capture", tmp_path / "run.fccap"]
    alone = live.run(*nodes, "--start", 1700000000, "--json", one, *words, on="2 x dgx-h100", ranks=ranks)
    started = machines.start_both(*nodes, *words, ranks=ranks, own=(("--json", two, *capture), ()))
    (first, out, err), (second, other_out, other_err) = ends_of(started, 120)
    assert (first, second) == (0, 0), err + other_err
    assert two.read_bytes() == one.read_bytes()
    # Each rank got the same values, and those of the other machine's ranks are shown there.
    assert len(rank_lines(alone.stdout)) == ranks
    assert sorted(rank_lines(out) + rank_lines(other_out)) == rank_lines(alone.stdout)
    there = [line.split(":")[0] for line in rank_lines(other_out)]
    assert there == [f"rank {rank}" for rank in range(ranks // 2, ranks)]
    summaries = [text[text.index(" ranks on ") : text.index("\nresults")] for text in (alone.stderr, err)]
    without_time = [re.sub(REAL_TIME, "", summary) for summary in summaries]
    assert without_time[1] == without_time[0]
    assert " ranks on " not in other_err
    # What is kept of it is timed again as ever.
    resolved = live.resolve(tmp_path, "2 x dgx-h100")
    assert resolved["ranks"] == json.loads(two.read_text())["ranks"]


def test_waits_sleeps_and_children_are_those_of_one_machine(machines, live, tmp_path):
    """Ranks without PyTorch, of which one sleeps for an hour and one starts a process that hands it something."""
    script = script_of(
        tmp_path,
        "import multiprocessing as mp, os, time\n"
        "def work(q):\n"
        "    time.sleep(2)\n"
        "    q.put('done')\n"
        "begin = time.time()\n"
        "if os.environ['RANK'] == '1':\n"
        "    q = mp.Queue()\n"
        "    p = mp.Process(target=work, args=(q,))\n"
        "    p.start()\n"
        "    assert q.get() == 'done'\n"
        "    p.join()\n"
        "else:\n"
        "    time.sleep(3600)\n"
        "print(f\"rank {os.environ['RANK']}: {time.time() - begin:.6f}\")\n",
    )
    alone = live.run("--start", 1700000000, "--nodes-as", 2, script, on="2 x dgx-h100", ranks=2)
    started = machines.start_both("--nodes-as", 2, script)
    (first, out, err), (second, other_out, other_err) = ends_of(started)
    assert (first, second) == (0, 0), err + other_err
    assert rank_lines(out + other_out) == rank_lines(alone.stdout)
    assert rank_lines(out) == ["rank 0: 3600.000000"]


def test_what_has_one_name_on_two_machines_is_two_things(machines, live, tmp_path):
    """Connections between the same ports, and memory of GPUs at the same place of each machine's file."""
    script = script_of(
        tmp_path,
        "import os, socket, time, torch, torch.distributed as dist\n"
        "import torch.distributed._symmetric_memory as symmetric\n"
        "rank, local = int(os.environ['RANK']), int(os.environ['LOCAL_RANK'])\n"
        "torch.cuda.set_device(local)\n"
        "dist.init_process_group('nccl')\n"
        "dist.barrier()\n"
        "torch.cuda.synchronize()\n"
        "begin = time.time()\n"
        "if local == 0:\n"
        "    server = socket.create_server(('127.0.0.1', 7000))\n"
        "    if os.fork() == 0:\n"
        "        client = socket.create_connection(('127.0.0.1', 7000), source_address=('127.0.0.1', 7001))\n"
        "        for _ in range(5):\n"
        "            time.sleep(1 + rank)\n"
        "            client.send(b'x')\n"
        "        os._exit(0)\n"
        "    connection, _ = server.accept()\n"
        "    times = []\n"
        "    while connection.recv(1):\n"
        "        times.append(round(time.time() - begin, 1))\n"
        "    print(f'rank {rank}: {times}', flush=True)\n"
        "    os.wait()\n"
        "group, _ = dist.new_subgroups(2)\n"
        "handle = symmetric.rendezvous(symmetric.empty(16, device='cuda'), group)\n"
        "dist.barrier()\n"
        "torch.cuda.synchronize()\n"
        "begin = time.perf_counter()\n"
        "if local == 1:\n"
        "    time.sleep(0.1 * rank)\n"
        "handle.barrier()\n"
        "torch.cuda.synchronize()\n"
        "print(f'rank {rank}: {time.perf_counter() - begin:.2f}', flush=True)\n"
        "dist.destroy_process_group()\n",
    )
    started = machines.start_both("--nodes-as", 2, script, ranks=4)
    (first, out, err), (second, other_out, other_err) = ends_of(started, 120)
    assert (first, second) == (0, 0), err + other_err
    assert rank_lines(out) == ["rank 0: 0.10", "rank 0: [1.0, 2.0, 3.0, 4.0, 5.0]", "rank 1: 0.10"]
    assert rank_lines(other_out) == ["rank 2: 0.30", "rank 2: [3.0, 6.0, 9.0, 12.0, 15.0]", "rank 3: 0.30"]


def test_letters_of_one_machine_reach_all_others(machines, live, tmp_path):
    """Small values of the second machine's ranks are known to the third's, by way of the first."""
    script = script_of(
        tmp_path,
        "import os, torch, torch.distributed as dist\n"
        "rank, ranks = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])\n"
        "torch.cuda.set_device(0)\n"
        "dist.init_process_group('nccl')\n"
        "told = []\n"
        "for turn in range(2000):\n"
        "    x = torch.full((4,), float(rank + turn), device='cuda')\n"
        "    dist.all_reduce(x)\n"
        "    if turn % 500 == 499:\n"
        "        told.append(x[0].item())\n"
        "for source in range(ranks):\n"
        "    x = torch.tensor([10.0 * rank], device='cuda')\n"
        "    dist.broadcast(x, source)\n"
        "    told.append(x.item())\n"
        "seen = [None] * ranks\n"
        "dist.all_gather_object(seen, 'r' * rank)\n"
        "print(f'rank {rank}: {told} {seen}', flush=True)\n"
        "dist.destroy_process_group()\n",
    )
    started = machines.start_all("--nodes-as", 3, script, ranks=3)
    ends = ends_of(started, 120)
    assert [code for code, _, _ in ends] == [0, 0, 0], ends
    sums = [3.0 * turn + 3 for turn in (499, 999, 1499, 1999)]
    told = f"{[*sums, 0.0, 10.0, 20.0]} {['', 'r', 'rr']}"
    assert [rank_lines(out) for _, out, _ in ends] == [[f"rank {rank}: {told}"] for rank in range(3)]


# --- what is not carried is said -------------------------------------------------------------------


def test_a_connection_that_a_program_accepts_itself_is_refused(machines, live, tmp_path):
    script = script_of(
        tmp_path,
        "import os, socket, time\n"
        "if os.environ['RANK'] == '0':\n"
        "    s = socket.create_server(('10.83.0.1', 7777))\n"
        "    c, _ = s.accept()\n"
        "    print('accepted')\n"
        "else:\n"
        "    while True:\n"
        "        try:\n"
        "            socket.create_connection(('10.83.0.1', 7777)).recv(1)\n"
        "            break\n"
        "        except ConnectionRefusedError:\n"
        "            time.sleep(0.1)\n",
    )
    started = machines.start_both("--nodes-as", 2, script)
    (first, out, err), (second, _, other_err) = ends_of(started)
    assert first == 3 and second != 0
    assert "a connection that the program itself accepts is not carried between machines" in err
    assert "accepted" not in out
    assert "the run has ended: rank 0 has failed" in other_err


def test_memory_of_a_gpu_of_another_machine_is_refused(machines, live, tmp_path):
    script = script_of(
        tmp_path,
        "import os, torch, torch.distributed as dist\n"
        "rank = int(os.environ['RANK'])\n"
        "torch.cuda.set_device(0)\n"
        "dist.init_process_group('nccl')\n"
        "x = torch.ones(4, device='cuda')\n"
        "handles = [None, None]\n"
        "dist.all_gather_object(handles, x.untyped_storage()._share_cuda_() if rank == 0 else None)\n"
        "if rank == 1:\n"
        "    torch.UntypedStorage._new_shared_cuda(*handles[0])\n"
        "    print('mapped')\n"
        "dist.barrier()\n",
    )
    started = machines.start_both("--nodes-as", 2, script)
    (first, out, err), (second, other_out, other_err) = ends_of(started)
    assert first == 3 and second != 0
    assert "memory of a GPU is not carried between machines" in other_err
    assert "mapped" not in out + other_out


FIRST = ["--hosts", 2, "--host-number", 0, "--meet", "127.0.0.1:9"]


@pytest.mark.parametrize(
    ("words", "env", "says"),
    [
        (["--hosts", 2], {}, "--host-number: says which of the machines this is, and is not there"),
        (["--hosts", 2, "--host-number", 0], {}, "--meet: says where the machines find the first one"),
        (["--hosts", 2, "--host-number", 0, "--meet", "here"], {}, "--meet: 'here' is no place to meet"),
        (["--hosts", 2, "--host-number", 2, "--meet", "127.0.0.1:9"], {}, "--host-number: is '2', and there are 2"),
        (["--hosts", 2, "--host-number", 1, "--meet", "127.0.0.1:9"], {}, "FLOPCAST_TOKEN: lets this machine in"),
        (FIRST, {"FLOPCAST_TOKEN": "short"}, "FLOPCAST_TOKEN: is 5"),
        (["--hosts", 2, "--meet", "127.0.0.1:9"], {"NODE_RANK": "seven"}, "NODE_RANK: is 'seven'"),
        (["--meet", "127.0.0.1:9"], {}, "--meet: is for runs on several machines"),
        (["--hosts", 3, *FIRST[2:]], {}, "--hosts: 3 machines, and the ranks are of 2 nodes"),
        ([*FIRST[:-1], "192.0.2.1:9"], {"FLOPCAST_TOKEN": TOKEN}, "--meet: 192.0.2.1:9: "),
        (
            ["--hosts", 2, "--meet", "127.0.0.1:9"],
            {"SLURM_PROCID": "3", "SLURM_NTASKS": "16", "SLURM_STEP_NUM_TASKS": "16"},
            "--hosts: are 2, and a launcher has started this command 16 times (SLURM_PROCID=3)",
        ),
        ([*FIRST, "--fold", "auto"], {"FLOPCAST_TOKEN": TOKEN}, "--fold: is not carried between machines"),
    ],
)
def test_what_machines_are_not_told_is_asked_for(live, tmp_path, words, env, says):
    script = script_of(tmp_path, "import torch\n")
    done = live.run("--nodes-as", 2, *words, script, on="2 x dgx-h100", ranks=2, expect=2, env=env)
    assert says in done.stderr


@pytest.mark.parametrize(
    "variables",
    [
        {"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_STEP_NUM_TASKS": "2"},
        {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"},
        {"PMI_RANK": "1", "PMI_SIZE": "2"},
        {"RANK": "1", "WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "x"},
        {"NODE_RANK": "1"},
    ],
    ids=["slurm", "open mpi", "mpich", "torchrun", "by hand"],
)
def test_launchers_number_the_machines(live, tmp_path, variables):
    """Without the launcher: the second machine asks for what lets it in, the first would make it."""
    script = script_of(tmp_path, "pass\n")
    words = ["--hosts", 2, "--meet", "127.0.0.1:9", "--nodes-as", 2]
    done = live.run(*words, script, on="2 x dgx-h100", ranks=2, expect=2, env=variables)
    assert "FLOPCAST_TOKEN: lets this machine in" in done.stderr


def test_only_the_same_run_is_let_in(machines, live, tmp_path):
    script = script_of(tmp_path, "import os\nprint('rank', os.environ['RANK'], 'ran')\n")
    place = f"10.83.0.1:{next(machines.ports)}"
    words = ["run", "--on", "2 x dgx-h100", "--ranks", 2, "--nodes-as", 2, "--hosts", 2, "--meet", place]
    words += ["--python", live.python]
    first = machines.start(0, *words, "--host-number", 0, script)
    for env, more, says in (
        ({"FLOPCAST_TOKEN": "another secret"}, [], "another token"),
        ({}, ["--values", "tainted:zero"], "other words"),
    ):
        other = machines.start(1, *words, "--host-number", 1, *more, script, env=env)
        code, _, err = ends_of([other])[0]
        assert code != 0 and "does not take this one" in err and says in err
    # What is no machine at all changes nothing.
    noise = (
        "import os, socket\n"
        f"for bytes in (b'GET / HTTP/1.1\\r\\n\\r\\n', os.urandom(5000), b'\\xff' * 100, b'\\x05\\x00\\x00\\x00'):\n"
        f"    s = socket.create_connection({tuple(place.split(':'))!r})\n"
        "    s.sendall(bytes)\n"
        "    s.close()\n"
    )
    subprocess.run(["ip", "netns", "exec", machines.names[1], live.python, "-c", noise], check=True, timeout=20)
    second = machines.start(1, *words, "--host-number", 1, script)
    (code, out, err), (other_code, other_out, other_err) = ends_of([first, second])
    assert (code, other_code) == (0, 0), err + other_err
    assert "rank 0 ran" in out and "rank 1 ran" in other_out
    assert err.count("was sent away") == 6, err


# --- ends --------------------------------------------------------------------------------------------

@pytest.fixture
def endless(machines, live, tmp_path):
    """Two machines whose ranks have begun, and will not end."""
    script = tmp_path / f"endless_{os.getpid()}_{time.monotonic_ns()}.py"
    folder = tmp_path
    script.write_text(
        "import os\n"
        f"open(os.path.join({str(folder)!r}, 'there' + os.environ['RANK']), 'w').close()\n"
        "while True:\n"
        "    pass\n"
    )
    started = machines.start_both("--nodes-as", 2, script)
    for _ in range(200):
        if all((folder / f"there{rank}").exists() for rank in (0, 1)):
            break
        time.sleep(0.1)
    yield started, str(script)
    machines.plug(1)


def kill(machine: subprocess.Popen, how: int) -> None:
    machine.send_signal(how)  # `ip netns exec` becomes the command


@pytest.mark.parametrize("number", [0, 1])
def test_a_machine_that_is_killed_ends_the_run(endless, number):
    started, mark = endless
    kill(started[number], signal.SIGKILL)
    ends = ends_of(started, 20)
    code, _, err = ends[1 - number]
    assert code != 0
    assert ("machine 1 (" if number == 1 else "the first machine is lost") in err and "is lost" in err
    assert left_of(mark) == []


def test_a_machine_that_is_cut_off_ends_the_run(endless, machines):
    started, mark = endless
    machines.plug(1, up=False)
    ends = ends_of(started, 40)
    assert ends[0][0] != 0 and "machine 1 (" in ends[0][2] and "10.83.0.2): is lost" in ends[0][2]
    assert ends[1][0] != 0 and "the first machine is lost" in ends[1][2]
    assert left_of(mark) == []


@pytest.mark.parametrize("number", [0, 1])
def test_an_interrupt_on_one_machine_ends_all(endless, number):
    started, mark = endless
    kill(started[number], signal.SIGINT)
    ends = ends_of(started, 20)
    assert ends[number][0] == 130 and ends[1 - number][0] == 5
    said = "the run has ended: stopped" if number == 0 else "was told to end the run"
    assert said in ends[1 - number][2]
    assert left_of(mark) == []


def test_a_rank_that_fails_on_another_machine_is_named(machines, live, tmp_path):
    script = script_of(
        tmp_path,
        "import os, sys, time\n"
        "if os.environ['RANK'] == '1':\n"
        "    sys.exit('rank 1 does not like it')\n"
        "while True:\n"
        "    pass\n",
    )
    started = machines.start_both("--nodes-as", 2, script)
    (code, _, err), (other, _, other_err) = ends_of(started)
    assert code == 1 and other != 0
    assert "rank 1" in err and "rank 1 does not like it" in err
    assert "rank 1 has failed" in other_err


def test_a_rank_that_waits_on_another_machine_is_named(endless):
    started, _ = endless
    time.sleep(6)
    kill(started[0], signal.SIGINT)
    (_, _, err), _ = ends_of(started, 20)
    line = next(line for line in err.splitlines() if line.startswith("rank 1"))
    assert "computes" in line and "endless" in line and "<module>" in line, err
