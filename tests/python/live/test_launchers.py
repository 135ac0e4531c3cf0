"""Launch lines of plans, checked by the launchers themselves: torchtitan and Megatron-core as PyPI has them, and
Megatron-LM's arguments where $FLOPCAST_MEGATRON_LM names a checkout."""

import functools
import json
import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("launchers_script.py")

# What is asked of every launcher: models, machines, and constraints that lead to each kind of plan.
QUESTIONS = [
    ("llama-3-70b", "64 x dgx-h100", "--global-batch 1024 --seq 8192"),
    ("llama-3-8b", "2 x dgx-h100", "--global-batch 64 --seq 8192 --must tp=2 --must cp=1"),
    ("llama-3-8b", "2 x dgx-h100", "--global-batch 64 --seq 8192 --must pp=2 --must tp<=4"),
    ("llama-3-8b", "2 x dgx-h100", "--global-batch 64 --seq 8192 --must pp=4 --must schedule=interleaved"),
    ("llama-3-8b", "2 x dgx-h100", "--global-batch 64 --seq 8192 --must cp=2 --must zero=2,3"),
    ("llama-3-8b", "2 x dgx-h100", "--global-batch 64 --seq 8192 --must zero=0"),
    ("llama-3-8b", "2 x dgx-h100", "--global-batch 64 --seq 8192 --must zero=1 --must recompute=full"),
    ("llama-3-8b", "2 x dgx-b200", "--global-batch 64 --seq 8192 --must tp=4 --must recompute=selective"),
    ("gpt-3-1.3b", "2 x dgx-h100", "--global-batch 64 --seq 2048 --must pp=2"),
    ("mixtral-8x7b", "4 x dgx-h100", "--global-batch 64 --seq 4096 --must ep=8"),
]


@functools.cache
def plan_lines(command: str, launcher: str) -> list[dict]:
    """A launch line for each question that the launcher has a plan for."""
    lines = []
    for model, cluster, words in QUESTIONS:
        asked = [command, "plan", model, "--on", cluster, *words.split(), "--launchable", launcher, "--top", "1", "--json"]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            assert done.returncode in (2, 4), done.stderr  # no plan of this kind is the launcher's
            continue
        report = json.loads(done.stdout)
        (launch,) = report["launch"]
        plan = report["best"][0]["plan"]
        layers, stages = report["asked"]["layers"], plan["pp"] * plan["vpp"]
        told = {key: launch[key] for key in ("launcher", "command", "environment", "files")}
        lines.append({**told, "asked": words, "layers": layers, "world": report["asked"]["chips"], "stages": dealt(layers, stages)})
    return lines


def dealt(layers: int, stages: int) -> list[int]:
    """Layers of each stage: evenly, else embedding and loss count as one each and the first stages take what is left."""
    if layers % stages == 0:
        return [layers // stages] * stages
    each, rest = divmod(layers + 2, stages)
    return [each + (i < rest) - (i == 0) - (i == stages - 1) for i in range(stages)]


def verdicts(live, folder: Path, lines: list[dict]) -> list[str | None]:
    path = folder / "lines.json"
    path.write_text(json.dumps(lines))
    done = live.run(SCRIPT, path, timeout=600, expect=None)
    told = [line for line in done.stdout.splitlines() if line.startswith("SAID ")]
    assert told, done.stdout + done.stderr
    return json.loads(told[0].removeprefix("SAID "))


def need(live, package: str):
    """Skips where the package is not there: ./dev installs it with PyTorch (requirements-launchers.txt)."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{package}') is None)"
    if subprocess.run([live.python, "-c", code], check=False).returncode != 0:
        pytest.skip(f"{package} is not installed beside PyTorch")


@pytest.mark.parametrize(("launcher", "package"), [("torchtitan", "torchtitan"), ("megatron", "megatron")])
def test_launchers_take_their_lines(live, tmp_path, launcher, package):
    need(live, package)
    lines = plan_lines(live.command, launcher)
    assert len(lines) >= 6
    said = verdicts(live, tmp_path, lines)
    wrong = [f"{line['asked']}: {what}" for line, what in zip(lines, said, strict=True) if what]
    assert not wrong, "\n".join(wrong)


def test_torchtitan_refuses_what_the_rules_refuse(live, tmp_path):
    need(live, "torchtitan")
    (line, *_) = [one for one in plan_lines(live.command, "torchtitan") if "tp=2" in one["asked"]]

    def changed(old: str, new: str) -> dict:
        (file,) = line["files"]
        assert old in file["text"]
        return {**line, "files": [{**file, "text": file["text"].replace(old, new)}]}

    shards = next(row for row in line["files"][0]["text"].splitlines() if row.startswith("data_parallel_shard_degree"))
    count = shards.split(" = ")[1]
    replicas = next(row for row in line["files"][0]["text"].splitlines() if row.startswith("data_parallel_replicate"))
    replicated = changed(shards, "data_parallel_shard_degree = 1")
    replicated["files"][0]["text"] = replicated["files"][0]["text"].replace(replicas, f"data_parallel_replicate_degree = {count}")
    said = verdicts(
        live,
        tmp_path,
        [line, replicated, changed("seq_len = 8192", "seq_len = 8191"), changed("tensor_parallel_degree = 2", "tensor_parallel_degree = 4")],
    )
    assert said[0] is None
    assert "DDP has not supported > 1D parallelism" in said[1]
    assert "must be divisible" in said[2]
    assert "Invalid parallel dims" in said[3]


def test_megatron_refuses_what_the_rules_refuse(live, tmp_path):
    need(live, "megatron")
    (line, *_) = plan_lines(live.command, "megatron")

    def with_flags(words: str) -> dict:
        return {**line, "command": line["command"] + " " + words}

    said = verdicts(
        live,
        tmp_path,
        [
            line,
            with_flags("--overlap-moe-expert-parallel-comm"),
            with_flags("--recompute-granularity selective --recompute-modules moe_act"),
            with_flags("--tensor-model-parallel-size 1 --sequence-parallel"),
            with_flags("--cuda-graph-impl local --recompute-granularity full --recompute-method uniform --recompute-num-layers 1"),
        ],
    )
    assert said[0] is None
    assert "expert model parallelism" in said[1] or "virtual_pipeline" in said[1]
    assert "moe_act" in said[2]
    assert "sequence parallelism without tensor parallelism" in said[3]
    assert "full recompute" in said[4]


@pytest.mark.skipif("FLOPCAST_MEGATRON_LM" not in os.environ, reason="$FLOPCAST_MEGATRON_LM names no checkout of Megatron-LM")
def test_arguments_of_megatron_lm_are_checked(live, tmp_path):
    need(live, "megatron")
    lines = plan_lines(live.command, "megatron")
    (cut, *_) = [line for line in lines if "tp=2" in line["asked"]]
    (sharded, *_) = [line for line in lines if "zero=2" in line["asked"]]
    said = verdicts(
        live,
        tmp_path,
        [
            {**cut, "environment": []},
            {**sharded, "environment": ["CUDA_DEVICE_MAX_CONNECTIONS=1"]},
            {**sharded, "command": sharded["command"].replace("--ckpt-format fsdp_dtensor", "")},
        ],
    )
    assert "CUDA_DEVICE_MAX_CONNECTIONS" in said[0]
    assert "CUDA_DEVICE_MAX_CONNECTIONS" in said[1]
    assert "fsdp_dtensor" in said[2]
