"""What a script asks of its machine, and what is said of its steps and of calls that do not meet."""

import json
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("machine_script.py")


@pytest.fixture(scope="module")
def said(live):
    lines = live.run(SCRIPT).stdout.splitlines()
    return dict(line.partition(" ")[::2] if not line.startswith("unknown") else line.split("(", 1) for line in lines)


def test_a_kernel_that_waits_takes_its_cycles(said):
    assert said["slept"] == "1.0"


def test_use_and_power_are_those_of_the_last_second(said):
    busy, half, idle = ([int(word) for word in said[moment].split()] for moment in ("busy", "half", "idle"))
    assert busy[0] in (99, 100) and half[0] == 50 and idle[0] == 0
    assert busy[1] > 690_000 and half[1] == pytest.approx(392_000, rel=0.01) and idle[1] == 84_000
    assert busy[2] > half[2] > idle[2]
    # 1 s at 700 W, then half a second and one at 84 W
    assert idle[3] - busy[3] == pytest.approx(84 * 1500, rel=0.01)
    assert said["smi"].startswith("(0, '50, 39")


def test_memory_is_that_of_the_device(said):
    assert said["used"] == str(256 + 4 * 132)  # the context is in it
    assert said["smi"].endswith(f"{256 + 4 * 132}')")
    assert said["apps"] == f"(0, 'used_memory [MiB]\\n{256 + 4 * 132} MiB')"


def test_facts_are_the_chips_and_what_is_not_known_is_not_supported(said):
    assert said["clock"] == "1980 status 3"  # of memory it is not published
    assert said["cores"] == "16896"
    assert said["links"] == "[1, 1, 'status 2'] 6"
    assert said["ancestor"] == "50" and said["p2p"] == "[0, 0]"
    assert said["fan"].startswith("status 3")
    assert said["limit"] == "700000 0"


def test_nvidia_smi_prints_what_it_knows_and_refuses_the_rest(said):
    assert said["list"].startswith("GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-")
    assert said["topology"].split() == ["GPU0", "X"] + 7 * ["NV18"]
    assert said["table"] == "True 91"
    assert said["unknown field "].startswith("2, 'Field \"colour\" is not a valid field")
    assert said["unknown word "].startswith("2, \"nvidia-smi: error: '--gpu-reset' is not known")


MISMATCH = """
import sys
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
x = torch.ones(8, device=rank)
dist.all_reduce(x)
if rank == 0:
    dist.all_reduce(x)
elif sys.argv[1] == "differ":
    dist.all_gather_into_tensor(torch.empty(16, device=rank), x)
torch.cuda.synchronize()
print(x[0].item())
"""


@pytest.mark.parametrize(
    "how, code, words",
    [
        ("differ", 3, ["rank 0 calls all_reduce", "(script.py:11)", "rank 1 calls all_gather", "(script.py:13)"]),
        ("skip", 5, ["rank 0 waits in it (script.py:11)", "rank 1 never called it"]),
    ],
)
def test_calls_that_do_not_meet_are_told_with_their_lines(live, tmp_path, how, code, words):
    done = live.script(tmp_path, MISMATCH, how, ranks=2, expect=code)
    told = " ".join(done.stderr.split())
    assert all(word in told for word in words), done.stderr


STEPS = """
import os
import sys
import torch

torch.manual_seed(0)
kind = sys.argv[1:][int(os.environ["RANK"])]
torch.cuda.set_device(int(os.environ["RANK"]))
model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 8)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cuda", enabled=kind == "scaler")
x = torch.randn(128, 64, device="cuda")
if kind == "inference":
    with torch.no_grad():
        for step in range(9):
            model(x).sum().item()
elif kind == "one":
    model(x).square().mean().backward()
    optimizer.step()
else:
    for step in range(6):
        for batch in range(4 if kind == "accumulate" else 1):
            with torch.autocast("cuda", enabled=kind == "scaler", dtype=torch.float16):
                loss = model(x).square().mean()
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        if kind == "evaluate" and step % 2 == 1:
            with torch.no_grad():
                for batch in range(20):
                    model(x).sum().item()
            torch.cuda._sleep(20_000_000)
            torch.cuda.synchronize()
torch.cuda.synchronize()
"""


# How steps are found, how many, and milliseconds that they take at least and at most.
KINDS_OF_STEPS = {
    "one": ("optimizer", 0, 0, 0),
    "plain": ("optimizer", 6, 0.2, 3),
    "accumulate": ("optimizer", 6, 0.6, 9),
    "scaler": ("optimizer", 5, 0.2, 5),  # the first makes the scale
    "evaluate": ("optimizer", 6, 0.2, 3),
    "inference": ("repetition", 9, 0.01, 1),
}


def test_steps_are_those_of_the_optimizer(live, tmp_path):
    """Ranks that do not meet, of a kind each."""
    out = tmp_path / "run.json"
    (tmp_path / "script.py").write_text(STEPS)
    done = live.run("--json", out, tmp_path / "script.py", *KINDS_OF_STEPS, ranks=len(KINDS_OF_STEPS))
    ranks = json.loads(out.read_text())["ranks"]
    for rank, (kind, (by, steps, least_ms, most_ms)) in zip(ranks, KINDS_OF_STEPS.items(), strict=True):
        assert rank["steps_by"] == by, kind
        lengths = [1e3 * (end - start) for start, end in rank["steps"]]
        assert len(lengths) == steps, (kind, done.stderr)
        assert all(least_ms <= length <= most_ms for length in lengths), (kind, lengths)


def test_the_doctor_finds_nothing_wrong_with_a_torch_that_works(live):
    done = live.run("--doctor", SCRIPT)
    assert "all that this PyTorch wants of NVIDIA's libraries are there" in " ".join(done.stdout.split())
