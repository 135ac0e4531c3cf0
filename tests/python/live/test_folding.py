"""Folded runs: ranks that are alike stand for each other, and what is said of those that are there does not change."""

import gzip
import json
import os
from pathlib import Path
from random import Random

import pytest

SCRIPT = Path(__file__).with_name("folding_script.py")
TWO_NODES = ("--nodes-as", 2, "--start", 1_750_000_000)


def of_ranks(live, folder, ranks, *words):
    path = folder / "run.json"
    done = live.run("--json", path, *TWO_NODES, *words, ranks=ranks)
    report = json.loads(path.read_text())
    return done, report, {rank["rank"]: rank for rank in report["ranks"]}


def are_as_in(every, some):
    """What a folded run says of each rank that ran is what the whole run says."""
    for number, rank in some.items():
        for field in ("steps", "kernels", "peak_memory_bytes"):
            assert rank.get(field) == every[number].get(field), (number, field)


def agree(live, folder, ranks, *script):
    """@return the folded run"""
    done, folded, some = of_ranks(live, folder, ranks, "--fold", "auto", *script)
    whole_done, _, every = of_ranks(live, folder, ranks, *script)
    assert set(every) == set(range(ranks))
    are_as_in(every, some)
    assert done.stdout == whole_done.stdout
    return done, folded, some


def test_replicas_stand_for_each_other(live, tmp_path):
    done, folded, ranks = agree(live, tmp_path, 4, SCRIPT, "ddp", 1, -1)
    assert set(ranks) == {0, 2, 3}
    assert folded["folded"] == [{"ranks": "0-3", "there": "0,2,3"}]
    assert "step 2 4.0" in done.stdout
    assert "True {'rank of 4'}" in done.stdout
    assert "3 ranks of them ran" in done.stderr


def test_stages_of_a_pipeline_do_not(live, tmp_path):
    _, folded, ranks = agree(live, tmp_path, 8, SCRIPT, "fsdp", 2, -1)
    assert [one["ranks"] for one in folded["folded"]] == ["0-3", "4-7"]
    assert len(ranks) < 8


def test_a_rank_that_comes_to_differ_ends_the_run_by_name(live):
    done = live.run("--fold", "auto", *TWO_NODES, SCRIPT, "ddp", 1, 3, ranks=4, expect=5)
    assert "ranks 2 and 3 stand for others that are like both, and they are not alike" in done.stderr
    assert "77" in done.stderr  # the product's shape
    assert "--fold off" in done.stderr


TENSORS = """
import os, torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl")
mesh = init_device_mesh("cuda", (dist.get_world_size() // 2, 2), mesh_dim_names=("dp", "tp"))
layer = torch.nn.Linear(512, 512, device=device)
optimizer = torch.optim.SGD(layer.parameters())
for step in range(3):
    y = layer(torch.randn(64, 512, device=device))
    dist.all_reduce(y.detach(), group=mesh["tp"].get_group())
    y.sum().backward()
    for parameter in layer.parameters():
        dist.all_reduce(parameter.grad, group=mesh["dp"].get_group())
    optimizer.step()
torch.cuda.synchronize()
"""


def test_data_alone_is_folded_where_that_is_asked_for(live, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(TENSORS)
    _, _, every = of_ranks(live, tmp_path, 8, script)
    _, folded, ranks = of_ranks(live, tmp_path, 8, "--fold", "auto", script)
    assert [one["ranks"] for one in folded["folded"]] == ["0-7"]
    are_as_in(every, ranks)
    _, folded, ranks = of_ranks(live, tmp_path, 8, "--fold", "dp", script)
    assert [one["ranks"] for one in folded["folded"]] == ["0-6/2", "1-7/2"]
    assert len(ranks) < 8
    are_as_in(every, ranks)


GATHERING = """
import os, torch, torch.distributed as dist
rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(local)
dist.init_process_group("nccl")
layer = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64, device="cuda"))
optimizer = torch.optim.SGD(layer.parameters())
for step in range(3):
    layer(torch.randn(64, 64, device="cuda")).sum().backward()
    optimizer.step()
    if step == 1:
        everybody = [None] * dist.get_world_size() if rank == 0 else None
        dist.gather_object({"of": "rank", "text": "y" * 300}, everybody)
        parts = [torch.zeros(4, dtype=torch.int32, device="cuda") for _ in everybody or []] or None
        dist.gather(torch.full((4,), 7, dtype=torch.int32, device="cuda"), parts)
        if rank == 0:
            print(len(everybody), {len(one["text"]) for one in everybody}, torch.stack(parts).unique().tolist())
torch.cuda.synchronize()
"""


def test_the_first_rank_gathers_what_absent_ones_would_send(live, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(GATHERING)
    done, folded, ranks = agree(live, tmp_path, 8, script)
    assert [one["ranks"] for one in folded["folded"]] == ["0-7"] and len(ranks) < 8
    assert done.stdout == "8 {300} [7]\n"


TALKING = """
import os, torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
mesh = init_device_mesh("cuda", (dist.get_world_size() // 2, 2), mesh_dim_names=("dp", "pp"))
stages, data = mesh["pp"].get_group(), mesh["dp"].get_group()
stage, first = dist.get_rank(stages), dist.get_rank() // 2 * 2
layer = torch.nn.Linear(64, 64, device="cuda")
optimizer = torch.optim.SGD(layer.parameters())
said = [None]
for sender in (0, 1):  # what stages say to each other before they begin
    if stage == sender:
        dist.send_object_list([[64, 64]], first + 1 - sender, group=stages)
    else:
        dist.recv_object_list(said, first + sender, group=stages)
for step in range(3):
    x = torch.randn(said[0], device="cuda")
    dist.send(layer(x), first + 1, group=stages) if stage == 0 else dist.recv(x, first, group=stages)
    layer(x).sum().backward()
    for parameter in layer.parameters():
        dist.all_reduce(parameter.grad, group=data)
    optimizer.step()
torch.cuda.synchronize()
"""


def test_stages_that_tell_each_other_what_they_send_fold(live, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(TALKING)
    _, folded, ranks = agree(live, tmp_path, 8, script)
    assert [one["ranks"] for one in folded["folded"]] == ["0-6/2", "1-7/2"] and len(ranks) < 8


KILLED = """
import os, signal, sys, torch, torch.distributed as dist
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl")
layer = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64, device=device))
optimizer = torch.optim.SGD(layer.parameters())
for step in range(3):
    layer(torch.randn(64, 64, device=device)).sum().backward()
    optimizer.step()
    if step == 1 and dist.get_rank() == 3:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_rank_that_stands_for_others_and_is_killed_ends_the_run(live, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(KILLED)
    done = live.run("--fold", "auto", *TWO_NODES, script, ranks=4, expect=137)
    assert "rank 3 was ended by signal 9" in done.stderr
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(script) in read(path)]
    assert left == []


def read(path):
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""  # has ended


KILLED_ANYWHERE = f"""
import os, runpy, signal, sys
import torch
victim, left = int(sys.argv.pop(1)), int(sys.argv.pop(1))
def kill():
    os.kill(os.getpid(), signal.SIGKILL)
def count(frame, event, argument):
    global left
    left -= event == "call"
    if left == 0:
        kill()
is_victim = int(os.environ["RANK"]) == victim and os.environ["FLOPCAST_LIVE_FOLD"] != "alone"
if is_victim:
    sys.setprofile(count)
runpy.run_path({str(SCRIPT)!r}, run_name="__main__")
if is_victim:
    kill()
"""


def left_in_shared_memory(before):
    """What is new there and nobody has open."""
    used = "".join(read(path) for path in Path("/proc").glob("[0-9]*/maps"))
    return [path.name for path in Path("/dev/shm").iterdir() if path.name not in before and path.name not in used]


def test_a_rank_that_is_killed_at_any_moment_ends_the_run_and_leaves_nothing(live, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(KILLED_ANYWHERE)
    random = Random(39)
    for moment in (3.0, 4.5):
        victim, calls = random.choice((0, 2, 3)), int(10 ** random.uniform(0, moment))
        before = {path.name for path in Path("/dev/shm").iterdir()}
        mark = f"killed-{os.getpid()}-{victim}-{calls}"
        done = live.run("--fold", "auto", *TWO_NODES, script, victim, calls, "ddp", 1, -1, ranks=4, expect=137, env={"FLOPCAST_TEST_MARK": mark})
        assert f"rank {victim} was ended by signal 9" in done.stderr, (victim, calls)
        left = [path for path in Path("/proc").glob("[0-9]*/environ") if mark in read(path)]
        assert left == [], (victim, calls)
        assert left_in_shared_memory(before) == [], (victim, calls)


TRAINS_NOTHING = """
import torch.distributed as dist

dist.init_process_group("nccl")
print(dist.get_rank())
"""


def test_where_the_first_rank_shows_too_little_all_run(live, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(TRAINS_NOTHING)
    done = live.run("--fold", "auto", path, ranks=2)
    assert "no optimizer's step when it ran alone, so all ranks run" in done.stderr
    assert {"0", "1"} <= set(done.stdout.splitlines())


LOADS = """
import os, sys, time, torch, torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

class Items(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        time.sleep(0.01)
        return torch.full((8,), float(i))

device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl")
layer = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8, device=device))
optimizer = torch.optim.SGD(layer.parameters())
for items in DataLoader(Items(), batch_size=2, num_workers=1):
    layer(items.to(device)).sum().backward()
    optimizer.step()
torch.cuda.synchronize()
"""


def test_ranks_whose_data_others_load_stand_for_each_other(live, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(LOADS)
    _, _, every = of_ranks(live, tmp_path, 4, script)
    _, _, some = of_ranks(live, tmp_path, 4, "--fold", "auto", script)
    assert set(some) == {0, 2, 3}
    are_as_in(every, some)


FAILS = """
import torch

torch.zeros(4, device="cuda")
raise RuntimeError("no data")
"""


def test_with_what_the_first_rank_ended_is_told(live, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(FAILS)
    done = live.run("--fold", "auto", path, ranks=2, expect=1)
    assert "no optimizer's step when it ran alone (it ended with status 1: RuntimeError: no data), so all ranks run" in done.stderr


def test_a_folded_run_is_kept_and_timed_on_other_clusters(live, tmp_path):
    """To the bit on its own; c10d asks whether collectives are done, once more or less often on a slower network."""
    kept = tmp_path / "run.fccap"
    words = ("--fold", "auto", SCRIPT, "fsdp", 2, -1)
    _, folded, ranks = of_ranks(live, tmp_path, 8, "--capture", kept, *words)
    here = live.resolve(tmp_path, "dgx-h100")
    told = here.pop("resolved")
    assert told["differs"] == 0 and told["assumed"] == []
    assert {**here, "resolved": None} == folded
    live.asked("resolve", kept, "--recording", tmp_path / "run")
    worlds = {}
    for path in (tmp_path / "run").glob("rank*.json.gz"):
        info = json.loads(gzip.decompress(path.read_bytes()))["distributedInfo"]
        worlds[info["rank"]] = info["world_size"]
    assert worlds == dict.fromkeys(ranks, 8)
    slower = "dgx-h100, node.bandwidth 100GB/s"
    live.run("--json", tmp_path / "there.json", *TWO_NODES, *words, ranks=8, on=slower)
    there = json.loads((tmp_path / "there.json").read_text())
    again = live.resolve(tmp_path, slower)
    assert again["folded"] == there["folded"] == folded["folded"]
    assert again["virtual_s"] == pytest.approx(there["virtual_s"], rel=2e-3)
    assert again["virtual_s"] > here["virtual_s"]


def test_stages_whose_pairs_have_communicators_of_their_own_fold(live):
    example = Path(__file__).parents[3] / "examples/live/llama_3d.py"
    done = live.run("--fold", "auto", *TWO_NODES, example, "--layers", 2, "--steps", 1, "--microbatches", 2, ranks=8)
    assert "6 ranks of them ran" in done.stderr
    assert "step 0: " in done.stdout
