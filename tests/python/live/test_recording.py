"""A recording of a live run holds its graph: a replay finds the run's own times, by dependencies that it was told."""

import gzip
import json

import pytest

def test_a_recording_says_what_kernels_compute_and_what_collectives_carry(live, tmp_path):
    text = """
import os, torch, torch.distributed as dist
dist.init_process_group("nccl")
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
a = torch.randn(4096, 512, device=device, dtype=torch.bfloat16)
b = torch.empty(8192, 512, device=device, dtype=torch.bfloat16)
side = torch.cuda.Stream()
for step in range(3):
    c = a @ a.T
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        c.mul_(2)
    torch.cuda.current_stream().wait_stream(side)
    dist.all_gather_into_tensor(b, a)
torch.cuda.synchronize()
dist.destroy_process_group()
"""
    path = tmp_path / "script.py"
    path.write_text(text)
    live.run("--recording", tmp_path / "run", path, ranks=2)
    for rank in range(2):
        document = json.loads(gzip.decompress((tmp_path / f"run/rank{rank}.json.gz").read_bytes()))
        assert document["distributedInfo"] == {"backend": "nccl", "rank": rank, "world_size": 2}
        rows = [row for row in document["traceEvents"] if row["ph"] == "X"]
        kernels = [row for row in rows if row["cat"] == "kernel"]
        products = [row for row in rows if row["cat"] == "cpu_op" and "4096 4096 512" in str(row["args"])]
        assert len(products) == 3, [row["args"] for row in rows if row["cat"] == "cpu_op"]
        gathers = [row["args"] for row in kernels if "AllGather" in row["name"] and row["args"]["dtype"] == "BFloat16"]
        assert [args["In msg nelems"] for args in gathers] == 3 * [4096 * 512]
        assert [args["Out msg nelems"] for args in gathers] == 3 * [8192 * 512]
        assert {(args["Process Group Ranks"], args["Group size"]) for args in gathers} == {("[0,1]", 2)}
        numbers = [args["Seq"] for args in gathers]
        assert numbers == list(range(numbers[0], numbers[0] + 3))
        # A wait names the record that it is for, on the stream that it is for.
        calls = {row["args"]["correlation"]: row for row in rows if row["cat"] == "cuda_runtime"}
        waits = [row["args"] for row in rows if row["name"] == "Stream Wait Event"]
        assert sum(args["wait_on_stream"] != args["stream"] for args in waits) >= 6
        for args in waits:
            assert calls[args["correlation"]]["name"] == "cudaStreamWaitEvent"
            assert calls[args["wait_on_cuda_event_record_corr_id"]]["name"] == "cudaEventRecord"
    assert live.replay(tmp_path / "run")["edges"]["event"]["count"] >= 12


def test_runs_of_eight_ranks_leave_the_same_bytes(live, tmp_path):
    """Console, summary, and every row of every rank. docs/theory/live.md tells of ten runs."""
    arguments = ["--size", "1b", "--layers", 2, "--sequence", 256, "--steps", 3]
    seen = set()
    for i in range(2):
        folder, summary = tmp_path / f"run{i}", tmp_path / f"run{i}.json"
        files = ["--recording", folder, "--json", summary]
        done = live.run("--start", 1700000000, *files, "examples/live/fsdp2_llama.py", *arguments, ranks=8)
        rows = [gzip.decompress((folder / f"rank{rank}.json.gz").read_bytes()) for rank in range(8)]
        seen.add((done.stdout, summary.read_bytes(), *rows))
    assert len(seen) == 1


def test_a_folder_that_holds_something_is_refused_before_the_run(live, tmp_path):
    (tmp_path / "old.json").write_text("{}")
    done = live.run("--recording", tmp_path, "examples/live/ddp_resnet.py", expect=3)
    assert "is not empty" in done.stderr and "--recording" in done.stderr


def test_a_run_that_failed_is_not_resolved_as_a_whole_one(live, tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import os\nos._exit(7)\n")
    done = live.run("--capture", tmp_path / "run.fccap", path, expect=7)
    assert "rank 0 ended with status 7" in done.stderr
    told = live.resolve(tmp_path, "dgx-h100")
    assert told["resolved"]["assumed"] == ["the run failed: its rank 0 ended with status 7"]
    assert told["failure"]["status"] == 7


def test_a_captured_run_is_a_run_on_another_cluster(live, tmp_path):
    """To the bit where the script asks nothing of time, as one GPU's does until its last line; c10d asks whether
    collectives are done, and asks once more or less often on a slower network."""
    text = """
import os, sys, torch, torch.distributed as dist
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
model = torch.nn.Linear(4096, 4096, device=device)
if len(sys.argv) > 1:
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(model)
begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
begin.record()
for step in range(3):
    model(torch.randn(512, 4096, device=device)).sum().backward()
end.record()
torch.cuda.synchronize()
begin.elapsed_time(end)
"""
    slower = "dgx-h100, chip.hbm_bandwidth 1500GB/s, node.bandwidth 100GB/s"
    script = tmp_path / "script.py"
    script.write_text(text)
    for ranks, arguments in (1, []), (2, ["ddp"]):
        kept = live.run("--capture", tmp_path / "run.fccap", "--sweep", slower, script, *arguments, ranks=ranks)
        assert "exposed transfers" in kept.stderr and kept.stderr.count("node.bandwidth") >= 1  # a row of the sweep
        live.run("--json", tmp_path / "there.json", script, *arguments, ranks=ranks, on=slower)
        there = json.loads((tmp_path / "there.json").read_text())
        here = live.resolve(tmp_path, slower)
        told = here.pop("resolved")
        if ranks == 1:
            assert {**here, "resolved": None} == there
            assert told["differs"] == 1 and told["first"] == "rank 0 asked how long its GPU took"
        else:
            assert told["differs"] > ranks
            assert here["virtual_s"] == pytest.approx(there["virtual_s"], rel=2e-3)
