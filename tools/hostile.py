#!/usr/bin/env python3
"""Hostile inputs: every reader of the command line x every kind of damage.

A reader is a row of READERS: a command, and a good file that it reads. A kind of damage is a function of
DAMAGES: it makes another file of the good one, or something that is no file. Each case runs the command on
it in a folder of its own and holds what must be true whatever the input:

- it ends in time, by itself, within a bound of memory, with an exit code that the documentation knows,
  and without a word of "please report this";
- what it says is bounded and UTF-8 without control characters; an input that cannot be read is named;
- inputs, and files it was not told to write, are as before; nothing is left behind;
- a file that it continues keeps every complete line; a page keeps its mode, and one that is read-only is left;
- no text of the input becomes an element of a page;
- whatever a flag says, no answer is negative, infinite or no number (QUESTIONS).

    tools/hostile.py --flopcast build/release/flopcast            every case, once
    tools/hostile.py --flopcast ... --short                       one damage in so many, for a test
    tools/hostile.py --flopcast ... --seconds 60 --seed 7         and random damage until the time is up
    tools/hostile.py --flopcast ... --reader plan.out --damage torn  some cases alone
    --keep DIR      inputs of cases that failed, and what was said of them

Exit code 1 where a case failed.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import functools
import gzip
import html.parser
import itertools
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

CODES = {0, 2, 3, 4, 5}
#: Of computing; what waits is given longer, for other programs may keep the machine busy.
MOST_SECONDS, MOST_WAITING = 20, 180.0
MOST_MEMORY = 3 << 30
MOST_MEMORY_OF_QUESTIONS = 2 << 30
#: --short: one case in so many.
ONE_IN, ONE_QUESTION_IN = 17, 11
MOST_SAID = {"stdout": 4 << 20, "stderr": 64 << 10}
#: What would run if it came through: as a tag, and out of an attribute or a string of a script.
INJECTION = "</script><script>pwned()</script><img src=x onerror=pwned()>\"'`"

# --- Readers ------------------------------------------------------------------------------------

ESTIMATE = ("--on", "dgx-h100", "--tp", "2", "--global-batch", "64", "--seq", "2048")
SERVE = ("serve", "llama-3-8b", "--on", "dgx-h100", "--replicas", "1", "--quick")
MAP_ON = ("--on", "8 x sn10", "--topology", "torus:4x2", "--threads", "1")
PLAN = ("plan", "gpt-3-1.3b", "--on", "dgx-h100", "--global-batch", "8", "--seq", "2048", "--must", "tp=1", "--must", "pp=1",
        "--top", "1", "--no-placements", "--threads", "1")  # fmt: skip
EXPLORE = ("explore", "fft", *MAP_ON, "--sweep", "sram=1x,2x", "--tp", "8", "--pp", "1", "--dp", "1")
#: A step of one rank: a launch, its kernel, and a collective.
TRACE = b"""{"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1, "backend": "nccl"}, "traceEvents": [
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":0.5,"dur":100,"args":{}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":20,"args":{"External id": 3}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":15,"dur":5,"args":{"correlation":7}},
{"ph":"X","cat":"kernel","name":"gemm<float>","pid":0,"tid":7,"ts":30,"dur":50,"args":{"correlation":7,"stream":7,"device":0}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":32,"dur":5,"args":{"correlation":8}},
{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_bf16_RING_LL","pid":0,"tid":9,"ts":82,"dur":9,"args":{"correlation":8,
 "stream":9,"device":0,"Collective name":"allreduce","In msg nelems":1024,"dtype":"BFloat16","Group size":1}},
{"ph":"M","name":"process_name","pid":0,"args":{"name":"python"}}
]}
"""
#: What-ifs: two questions to one recording, which is not there.
CASES = b"""{"cases": [{"id": "a", "recording": "none.json", "changes": {"scale": {"host": 0.5, "gemm": 2}},
  "truth": {"step_s": 0.04}},
 {"id": "b", "recording": "none.json", "changes": {"scale": {"host": 2}}, "steps": [], "judge": "host_step"}]}
"""
#: Flags of Megatron-LM as launch scripts have them.
LAUNCH = b"""#!/bin/bash
ARGS="--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --num-layers 24 --hidden-size 2048"
torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py \\
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel \\
  --micro-batch-size 1 --global-batch-size 64 --seq-length 2048 --bf16 --use-distributed-optimizer \\
  --recompute-granularity selective  # and so on
"""

#: What operators and kernels of one's own do.
OPERATORS = b"""[[operator]]
name = "mine::product"
source = "mine 1.0"
[[operator.product]]
m = "a[0]"
n = "b[1]"
k = "a[-1]"
type = "a"

[[operator]]
name = ["mine::attend*", "mine::look{n}"]
[operator.attention]
queries = ["max(steps(starts), 1) % 7", "q[0]"]
keys = ["steps(starts)", 4096]
heads = "q[1]"
dim = "q[2]"
causal = true
type = "q"

[[operator]]
name = "aten::_softmax"
as = "softmax"
read = "2 * inputs.bytes + (1.5 - 3) * 2"

[[kernel]]
name = "*my_product*"
read = "16 * threads"
"""


@dataclass(frozen=True)
class Reader:
    """A command that reads one file: {file} in it; {page} is a page and {out} a folder that it writes."""

    name: str
    command: tuple[str, ...]
    #: The good file: a path in the repository, or its bytes. None: what the command itself makes of no file.
    seed: str | bytes | None
    suffix: str
    #: Where {file} is continued, an output too: what each of our lines in it begins with.
    continues: bytes = b""


READERS = (
    Reader("trace.info", ("trace", "info", "{file}"), TRACE, ".json"),
    Reader("trace.validate", ("trace", "validate", "{file}"), TRACE, ".json"),
    Reader("trace.slice", ("trace", "slice", "{file}", "--step", "1", "--out", "{out}"), TRACE, ".json"),
    Reader("trace.packed", ("trace", "info", "{file}"), "src/trace/pack/corpus/step.fcpack", ".fcpack"),
    Reader("resolve", ("resolve", "{file}"), "tests/data/live/two_ranks.fccap", ".fccap"),
    Reader("operators", ("resolve", "{good:tests/data/live/two_ranks.fccap}", "--operators", "{file}"), OPERATORS, ".toml"),
    Reader("replay.packed", ("replay", "{file}", "--steps", "1", "--json"), "src/trace/pack/corpus/step.fcpack", ".fcpack"),
    Reader("replay", ("replay", "{file}", "--html", "{page}"), TRACE, ".json"),
    Reader("replay.gz", ("replay", "{file}", "--json"), gzip.compress(TRACE, mtime=0), ".json.gz"),
    Reader("whatif", ("whatif", "{file}", "--scale", "gemm=0.5", "--remove", "host", "--html", "{page}"), TRACE, ".json"),
    Reader("whatif.sensitivity", ("whatif", "{file}", "--sensitivity", "--json"), TRACE, ".json"),
    Reader("whatif.gz", ("whatif", "{file}", "--remove", "profiler", "--json"), gzip.compress(TRACE, mtime=0), ".json.gz"),
    Reader("whatif.questions", ("whatif", "{good:src/trace/kineto/corpus/kineto/base_time_last.json}", "--questions", "{file}", "--json"), CASES, ".json"),
    Reader("validate.whatif", ("validate", "whatif", "{file}", "--json"), CASES, ".json"),
    Reader("validate.serving", ("validate", "serving", "{file}", "--json"), "examples/serving_points.json", ".json"),
    Reader("validate.serving_trace", ("validate", "serving-trace", "{file}", "--meta", "{good:examples/serving_timeline.meta.json}"),
           "examples/serving_timeline.jsonl", ".jsonl"),
    Reader("calibrate.serving", ("calibrate", "serving", "{file}"), "examples/serving_points.csv", ".csv"),
    Reader("validate.replay", ("validate", "replay", "{file}", "--csv"), TRACE, ".json"),
    Reader("model", ("estimate", "{file}", *ESTIMATE, "--html", "{page}"), "src/workload/model/corpus/model/llama.json", ".json"),
    Reader("model.moe", ("estimate", "{file}", *ESTIMATE), "src/workload/model/corpus/model/deepseek.json", ".json"),
    Reader("model.map", ("map", "{file}", *MAP_ON, "--tp", "8", "--pp", "1", "--dp", "1"),
           "src/workload/model/corpus/model/llama.json", ".json"),
    Reader("models.show", ("models", "show", "{file}", "--json"), "src/workload/model/corpus/model/gemma3.json", ".json"),
    Reader("models.dataflow", ("models", "show", "{file}"), "src/workload/dataflow/corpus/dataflow/reference.toml", ".toml"),
    Reader("launch.megatron", ("estimate", "gpt-3-1.3b", "--on", "2 x dgx-h100", "--plan-from", "{file}"),
           LAUNCH, ".sh"),
    Reader("launch.torchtitan", ("estimate", "llama-3-8b", "--on", "2 x dgx-h100", "--plan-from", "{file}"),
           "src/parallel/plan/corpus/plan/torchtitan.toml", ".toml"),
    Reader("launch.deepspeed", ("plan", "gpt-3-1.3b", "--on", "dgx-h100", "--max-tp", "1", "--max-pp", "1", "--seq", "2048",
                                "--plan-from", "{file}"), "src/parallel/plan/corpus/plan/deepspeed.json", ".json"),
    Reader("constants", ("estimate", "gpt-3-1.3b", *ESTIMATE, "--constants", "{file}"), "catalog/training/constants.toml", ".toml"),
    Reader("serve.from", ("serve", "--from", "{file}", "--quick", "--json"), "src/question/serve/corpus/question.toml", ".toml"),
    Reader("serve.again", ("serve", "--from", "{file}", "--quick", "--html", "{page}"), "src/question/serve/corpus/question.json", ".json"),
    Reader("serve.script", ("serve", "--from", "{file}", "--on", "dgx-h100", "--users", "2", "--input", "32", "--output", "8", "--quick", "--json"),
           "tests/data/serve/sglang_launch.sh", ".sh"),
    Reader("serve.deployment", ("serve", "--from", "{file}", "--on", "2 x dgx-h200", "--users", "2", "--input", "32", "--output", "8", "--quick", "--json"),
           "tests/data/serve/kubernetes_script.yaml", ".yaml"),
    Reader("serve.options", ("serve", "--from", "{file}", "--on", "dgx-h100", "--users", "2", "--input", "32", "--output", "8", "--quick", "--strict"),
           "tests/data/serve/trtllm_options.yaml", ".yaml"),
    Reader("serve.trace", (*SERVE, "--trace", "{file}"), b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n", ".csv"),
    Reader("serve_plan.merge", ("serve-plan", "--merge", "{file}"), "src/question/serve_plan/corpus/serve_plan/shard.jsonl", ".jsonl"),
    Reader("serve_plan.out", ("serve-plan", "llama-3-8b", "--on", "dgx-h100", "--chips", "1", "--engine", "vllm", "--precision", "bf16",
                              "--batch-tokens", "2048", "--slo", "ttft.p99<1s", "--users", "2", "--input", "64", "--output", "8",
                              "--out", "{file}"), None, ".jsonl", continues=b'{"asked": {"model": "'),
    Reader("serve_plan.trace", ("serve-plan", "llama-3-8b", "--on", "dgx-h100", "--chips", "1", "--engine", "vllm", "--precision", "bf16",
                                "--batch-tokens", "2048", "--slo", "ttft.p99<1s", "--trace", "{file}"),
           b"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n", ".csv"),
    Reader("serve.prefixes", (*SERVE, "--trace", "{file}"), b'{"timestamp": 0, "input_length": 1300, "output_length": 5, "hash_ids": [0, 1, 2]}\n{"timestamp": 27, "input_length": 1024, "output_length": 7, "hash_ids": [0, 3]}\n', ".jsonl"),
    Reader("serve.point", (*SERVE, "--users", "2", "--input", "64", "--output", "8", "--point", "{file}"),
           b"""[[deployment]]
engine = "vllm"
model = "llama-3-8b"
chip = "h100"
precision = "bf16"
tp = 1
dp = 1
ep = 1
pp = 1
input = 64
output = 8
users = [2]
decode = 1.1
prefill = 0.9
front = 1.0
host = 1.0
""", ".toml"),
    Reader("cluster.toml", ("hw", "show", "{file}"), "src/hardware/cluster/corpus/cluster_toml/levels.toml", ".toml"),
    Reader("cluster.graph", ("net", "time", "all_reduce", "--size", "1MB", "--on", "{file}", "--html", "{page}"),
           "src/hardware/cluster/corpus/cluster_toml/graph.toml", ".toml"),
    Reader("cluster.export", ("net", "export", "--on", "{file}"), "src/hardware/cluster/corpus/cluster_toml/graph.toml", ".toml"),
    Reader("cluster.overrides", ("hw", "show", "{file}", "--json"),
           "src/hardware/cluster/corpus/cluster_toml/overrides.toml", ".toml"),
    Reader("cluster.nccl", ("hw", "show", "{file}", "--json"), "src/hardware/cluster/corpus/nccl_topology/nvswitch.xml", ".xml"),
    Reader("cluster.smi", ("hw", "show", "{file}", "--json"), "src/hardware/cluster/corpus/smi_topology/pair.txt", ".txt"),
    Reader("cluster.astra", ("hw", "show", "{file}"), "src/hardware/cluster/corpus/astra_network/two_dimensions.yml", ".yml"),
    Reader("cluster.simai", ("hw", "show", "{file}"), "src/hardware/cluster/corpus/simai_topology/rails", ".txt"),
    Reader("traffic", ("net", "run", "{file}", "--on", "2 x dgx-h100", "--html", "{page}"), "examples/flows.csv", ".csv"),
    Reader("traffic.csv", ("net", "run", "{file}", "--on", "2 x dgx-h100", "--csv"), "examples/flows.csv", ".csv"),
    Reader("host", ("calibrate", "host", "{file}", "--json"), TRACE, ".json"),
    Reader("collectives", ("calibrate", "network", "{file}"), "examples/collectives.csv", ".csv"),
    Reader("collectives.held", ("calibrate", "network", "{file}", "--hold-out", "sizes"), "examples/collectives.csv", ".csv"),
    Reader("collectives.log", ("calibrate", "network", "{file}"), "src/network/fit/corpus/nccl_tests/launcher.txt", ".txt"),
    Reader("collectives.errors", ("validate", "collectives", "{file}"), "examples/collectives.csv", ".csv"),
    Reader("collectives.fit", ("validate", "collectives", "{good:examples/collectives.csv}", "--fit", "{file}"),
           "src/network/fit/corpus/fit/perlmutter.toml", ".toml"),
    Reader("kernels", ("calibrate", "kernels", "{file}", "--chip", "a100"), "src/cost/fit/corpus/kernel_samples/gemm.csv", ".csv"),
    Reader("kernels.moe", ("calibrate", "kernels", "{file}", "--chip", "h100"), "src/cost/fit/corpus/kernel_samples/moe.csv", ".csv"),
    Reader("kernels.decode", ("validate", "kernels", "{file}", "--chip", "h200"),
           "src/cost/fit/corpus/kernel_samples/decode.csv", ".csv"),
    Reader("kernels.fit", ("cost", "memory", "softmax", "4096x4096", "bf16", "--on", "h100", "--fit", "{file}"),
           "src/cost/model/corpus/fits/small.toml", ".toml"),
    Reader("runs.json", ("validate", "training", "{file}", "--threads", "1"), "src/measured/training/corpus/runs/list.json", ".json"),
    Reader("runs.network", ("validate", "training", "{file}", "--json", "--threads", "1"),
           "src/measured/training/corpus/runs/network.json", ".json"),
    Reader("dataflow", ("map", "{file}", *MAP_ON, "--html", "{page}"), "src/workload/dataflow/corpus/dataflow/reference.toml", ".toml"),
    Reader("dataflow.svg", ("map", "{file}", "--svg", "{page}"), "src/workload/dataflow/corpus/dataflow/training.toml", ".toml"),
    Reader("dfmodel", ("map", "--dfmodel", "{file}", "--threads", "1"), "src/workload/dataflow/corpus/setup/small.txt", ".txt"),
    Reader("published.model", ("validate", "transformer-model", "{file}", "--threads", "1"),
           "src/published/subramanian/corpus/cases/config.json", ".json"),
    Reader("published.mapping", ("validate", "mapping", "{file}", "--threads", "1"),
           "src/published/dfmodel/corpus/published/accelerators.json", ".json"),
    Reader("merge", ("merge", "{file}", "{good:examples/plan_shard1.jsonl}", "--text", "--html", "{page}"),
           "examples/plan_shard0.jsonl", ".jsonl"),
    Reader("plan.out", (*PLAN, "--out", "{file}", "--html", "{page}"), None, ".jsonl", continues=b'{"asked": {"model": "'),
    Reader("explore.resume", (*EXPLORE, "--resume", "{file}", "--html", "{page}"), None, ".jsonl", continues=b'{"asked": "'),
)  # fmt: skip

# --- Questions ----------------------------------------------------------------------------------

STEP = ("--global-batch", "16", "--seq", "2048")
LENGTHS = ("--input", "64", "--output", "8")
GOOD_TRACE = "{good:src/trace/kineto/corpus/kineto/base_time_last.json}"
#: Numbers that a flag may be given; most are none, or more than anything has.
NUMBERS = ("nan", "inf", "-inf", "-1", "-0", "0", "1e-300", "1e12", "1e18", "1e30", "1e300", "1e400", "9223372036854775807",
           "9223372036854775808", "99999999999999999999", "010", "0x10", "1_0", "+1", " 1", "1 ", "", "7" * 400)  # fmt: skip
FACTORS = tuple(f"{number}" for number in ("nan", "inf", "-1", "0", "1e-300", "1e9", "1e12", "1e15", "1e18", "1e30", "1e300"))
PATTERNS = ("(.*)*x", "(a*)*b", "((((a+)+)+)+)c", "a{99999}", "(?=x)", "(a)\\1", "[", "(" * 5000, "x{1000}{1000}", "." * 50_000)


@dataclass(frozen=True)
class Question:
    """A command, where {word} is each of the words in turn."""

    name: str
    command: tuple[str, ...]
    words: tuple[str, ...]


QUESTIONS = (
    Question("whatif.scale.gemm", ("whatif", GOOD_TRACE, "--scale", "gemm={word}"), FACTORS),
    Question("whatif.scale.kernel", ("whatif", GOOD_TRACE, "--scale", "kernel:/./={word}"), FACTORS),
    Question("whatif.scale.host", ("whatif", GOOD_TRACE, "--scale", "host={word}"), FACTORS),
    Question("whatif.scale.rank", ("whatif", GOOD_TRACE, "--scale", "rank:0={word}"), FACTORS),
    Question("whatif.set.tokens", ("whatif", GOOD_TRACE, "--set", "tokens={word}"), FACTORS),
    Question("whatif.set.dp", ("whatif", GOOD_TRACE, "--set", "dp={word}"), ("0", "100000", "4294967295", "010", "1e5")),
    Question("whatif.pattern", ("whatif", GOOD_TRACE, "--scale", "kernel:/{word}/=0.5"), PATTERNS),
    Question("whatif.fuse", ("whatif", GOOD_TRACE, "--add", "fuse:{word}"), PATTERNS),
    Question("net.time", ("net", "time", "all_reduce", "--on", "2 x dgx-h100", "--size", "{word}"), NUMBERS),
    Question("estimate.bandwidth", ("estimate", "llama-3-8b", "--on", "2 x dgx-h100, fabric.bandwidth {word}", "--tp", "8", *STEP), NUMBERS),
    Question("estimate.latency", ("estimate", "llama-3-8b", "--on", "2 x dgx-h100, fabric.latency {word}", "--tp", "8", *STEP), NUMBERS),
    Question("estimate.cp", ("estimate", "llama-3-8b", "--on", "2 x dgx-h100", "--tp", "8", *STEP, "--cp", "{word}"), NUMBERS),
    Question("estimate.batch", ("estimate", "llama-3-8b", "--on", "2 x dgx-h100", "--tp", "8", "--seq", "2048", "--global-batch", "{word}"), NUMBERS),
    Question("estimate.price", ("estimate", "llama-3-8b", "--on", "2 x dgx-h100", "--tp", "8", *STEP, "--price", "{word}"), NUMBERS),
    Question("estimate.odds", ("estimate", "llama-3-8b", "--on", "2 x dgx-h100", "--tp", "8", *STEP, "--fit-odds", "{word}"), NUMBERS),
    Question("estimate.tokens", ("estimate", "llama-3-8b", "--on", "2 x dgx-h100", "--tp", "8", *STEP, "--tokens", "{word}"), NUMBERS),
    Question("serve.bandwidth", ("serve", "llama-3-8b", "--on", "dgx-h100, chip.hbm_bandwidth {word}", "--replicas", "1", "--quick", *LENGTHS, "--users", "2"), NUMBERS),
    Question("serve.rate", (*SERVE, *LENGTHS, "--requests", "20", "--rate", "{word}"), NUMBERS),
    Question("serve.users", (*SERVE, *LENGTHS, "--requests", "20", "--users", "{word}"), NUMBERS),
    Question("map.microbatch", ("map", "fft", *MAP_ON, "--tp", "8", "--pp", "1", "--dp", "1", "--microbatch", "{word}"), NUMBERS),
    Question("map.utilisation", ("map", "fft", *MAP_ON, "--tp", "8", "--pp", "1", "--dp", "1", "--utilisation", "{word}"), NUMBERS),
    Question("map.batch", ("map", "gpt3-175b", *MAP_ON, "--tp", "8", "--pp", "1", "--dp", "1", "--global-batch", "{word}"), NUMBERS),
    Question("explore.sram", ("explore", "fft", *MAP_ON, "--tp", "8", "--pp", "1", "--dp", "1", "--sweep", "sram=1B..{word}"),
             ("1e300B", "nan", "inf", "1e400B", "0", "-1B")),
    Question("plan.top", ("plan", "gpt-3-1.3b", "--on", "dgx-h100", "--global-batch", "8", "--must", "tp=1", "--threads", "1", "--json", "--top", "{word}"), NUMBERS),
    Question("plan.mtbf", ("plan", "gpt-3-1.3b", "--on", "dgx-h100", "--global-batch", "8", "--must", "tp=1", "--threads", "1", "--json",
                           "--tokens", "1T", "--checkpoint-time", "30s", "--chip-mtbf", "{word}"), NUMBERS),
    Question("slice.from", ("trace", "slice", GOOD_TRACE, "--from-s", "{word}", "--out", "{out}"), NUMBERS),
)  # fmt: skip

# --- Damage -------------------------------------------------------------------------------------

Damage = Callable[[bytes, random.Random], bytes]


def cut(share: float) -> Damage:
    return lambda good, _: good[: int(len(good) * share)]


def flip(count: int) -> Damage:
    def damage(good: bytes, chance: random.Random) -> bytes:
        bad = bytearray(good)
        for _ in range(min(count, len(bad))):
            bad[chance.randrange(len(bad))] ^= 1 << chance.randrange(8)
        return bytes(bad)

    return damage


def replaced(pattern: bytes, new: bytes, some: float = 1.0) -> Damage:
    """Every place, or some of them, where the pattern is."""

    def damage(good: bytes, chance: random.Random) -> bytes:
        return re.sub(pattern, lambda m: m.expand(new) if chance.random() < some else m.group(0), good)

    return damage


NUMBER = rb"(?<![\w.\"'])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.\"'])"
STRING = rb'"[^"\n\\]*"'
WORD = rb"(?<![\w\"])[A-Za-z][A-Za-z_]{2,}"


def quoted(text: str) -> bytes:
    """As a replacement that keeps the string a string of JSON and TOML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return ('"' + escaped + '"').replace("\\", "\\\\").encode()


#: Every control character, as JSON and TOML escape them; as a replacement.
CONTROLS = "".join(
    rf"\\u{point:04x}" for point in (*range(1, 0x20), 0x7F, 0x80, 0x85, 0x9F, 0x61C, 0x200F, 0x2028, 0x202E, 0x2066, 0xFEFF, 0xFFFE, 0xFFFF)
).encode()  # fmt: skip


def dropped_lines(good: bytes, chance: random.Random) -> bytes:
    return b"".join(line for line in good.splitlines(keepends=True) if chance.random() < 0.8)


def shuffled_lines(good: bytes, chance: random.Random) -> bytes:
    lines = good.splitlines(keepends=True)
    chance.shuffle(lines)
    return b"".join(lines)


def dropped_fields(good: bytes, chance: random.Random) -> bytes:
    """Of lists, tables and rows: a comma's worth of text here and there."""
    return b",".join(part for part in good.split(b",") if chance.random() < 0.85)


def spliced(good: bytes, chance: random.Random) -> bytes:
    """A piece of the file again, somewhere else."""
    if len(good) < 2:
        return good
    a, b, at = sorted(chance.randrange(len(good)) for _ in range(3))
    return good[:at] + good[a:b] + good[at:]


@functools.cache
def packed_rows() -> bytes:
    """Twenty million rows in a few hundred kilobytes: members of a gzip, each the same."""
    row = b'{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1},\n'
    rows = gzip.compress(row * 1_000_000, mtime=0)
    return gzip.compress(b'{"traceEvents":[\n', mtime=0) + rows * 20


#: Kinds of damage that make other bytes.
DAMAGES: dict[str, Damage] = {
    "none": lambda good, _: good,
    "empty": lambda *_: b"",
    "blank": lambda *_: b" \n\t\r\n",
    "one-byte": lambda good, _: good[:1],
    "quarter": cut(0.25),
    "half": cut(0.5),
    "most": cut(0.97),
    "torn": lambda good, _: good.rstrip(b"\n")[:-1],
    "no-last-line-end": lambda good, _: good.rstrip(b"\n"),
    "flip-1": flip(1),
    "flip-8": flip(8),
    "flip-many": flip(200),
    "dropped-lines": dropped_lines,
    "shuffled-lines": shuffled_lines,
    "dropped-fields": dropped_fields,
    "spliced": spliced,
    "twice": lambda good, _: good + good,
    "lines-twice": lambda good, _: b"".join(line * 2 for line in good.splitlines(keepends=True)),
    "keys-twice": replaced(rb'("[\w ]+"\s*:\s*)([^,{}\[\]\n]+)', rb"\1\2, \1\2"),
    "crlf": lambda good, _: good.replace(b"\n", b"\r\n"),
    "cr": lambda good, _: good.replace(b"\n", b"\r"),
    "mark": lambda good, _: b"\xef\xbb\xbf" + good,
    "utf-16": lambda good, _: good.decode("latin-1").encode("utf-16"),
    "binary": lambda good, chance: chance.randbytes(4096),
    "zeros": lambda good, _: bytes(len(good)),
    "ones": lambda good, _: b"\xff" * len(good),
    "nul": lambda good, chance: good[: len(good) // 2] + b"\0" + good[len(good) // 2 :],
    "packed": lambda good, _: gzip.compress(good, mtime=0),
    "packed-torn": lambda good, _: gzip.compress(good, mtime=0)[:-9],
    "packed-bomb": lambda *_: gzip.compress(bytes(64 << 20), 1, mtime=0),
    "packed-rows-bomb": lambda *_: packed_rows(),
    "numbers-huge": replaced(NUMBER, b"99999999999999999999"),
    "numbers-1e308": replaced(NUMBER, b"1e308"),
    "numbers-400-digits": replaced(NUMBER, b"7" * 400, 0.3),
    "numbers-zero": replaced(NUMBER, b"0"),
    "numbers-negative": replaced(NUMBER, b"-1"),
    "numbers-large": replaced(NUMBER, b"2147483647", 0.3),
    "numbers-nan": replaced(NUMBER, b"nan", 0.3),
    "numbers-are-text": replaced(NUMBER, b'"seven"', 0.5),
    "numbers-are-lists": replaced(NUMBER, b"[[]]", 0.5),
    "numbers-are-objects": replaced(NUMBER, b"{}", 0.3),
    "texts-are-numbers": replaced(STRING, b"17", 0.3),
    "texts-are-null": replaced(STRING, b"null", 0.3),
    "texts-long": replaced(STRING, b'"' + b"x" * 100_000 + b'"', 0.2),
    "texts-escape": replaced(rb'(?<=: )' + STRING, quoted("\x1b]0;pwned\x07\x1b[2J").replace(b"\x1b", rb"\\u001b").replace(b"\x07", rb"\\u0007"), 0.5),
    "texts-controls": replaced(rb'(?<=[:=] )' + STRING, b'"a' + CONTROLS + b'z"', 0.5),
    "texts-raw-escape": replaced(STRING, b'"\x1b]0;pwned\x07\x1b[31m\xc2\x9b2J"', 0.5),
    "texts-not-utf-8": replaced(STRING, b'"\xff\xfe\xc0\xaf"', 0.5),
    "texts-inject": replaced(STRING, quoted(INJECTION), 0.5),
    "words-escape": replaced(WORD, b"\x1b]0;pwned\x07", 0.1),
    "words-inject": replaced(WORD, INJECTION.encode().replace(b"\\", rb"\\"), 0.05),
    "words-long": replaced(WORD, b"y" * 50_000, 0.02),
    "long-line": lambda good, _: b"x" * (20 << 20),
    "long-line-inside": lambda good, _: good[: len(good) // 2] + b"," * (2 << 20) + good[len(good) // 2 :],
    "many-lines": lambda good, _: good + b"\n" * (1 << 20),
    "many-quotes": lambda *_: b" 'x" * (1 << 20),
    "deep-lists": lambda *_: b"[" * 200_000,
    "deep-objects": lambda *_: b'{"a":' * 200_000,
    "deep-inside": replaced(NUMBER, b"[" * 20_000 + b"]" * 20_000, 0.1),
    "deep-elements": lambda *_: b"<a>" * 100_000,
    "html": lambda *_: b"<!DOCTYPE html><html><body>404</body></html>\n",
    "of-others": lambda *_: b'{"runs":[1,2,3]}',
    "notes": lambda *_: b"my notes\nof last week",
}  # fmt: skip


def no_file(path: Path) -> None:
    """Nothing is there."""


def fifo(path: Path) -> None:
    os.mkfifo(path)


def unreadable(path: Path) -> None:
    path.write_bytes(b"{}")
    path.chmod(0)


#: Kinds of damage that are no bytes; a command must refuse each by name.
PLACES: dict[str, Callable[[Path], None]] = {
    "absent": no_file,
    "folder": lambda path: path.mkdir(),
    "pipe-without-writer": fifo,
    "device-without-end": lambda path: path.symlink_to("/dev/zero"),
    "link-to-itself": lambda path: path.symlink_to(path),
    "link-to-nothing": lambda path: path.symlink_to("nowhere"),
    "unreadable": unreadable,
}


def endless(path: Path) -> None:
    """A pipe whose writer goes on as long as anybody reads."""
    os.mkfifo(path)

    def write() -> None:
        chunk = b"x" * (1 << 16)
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_WRONLY)
            try:
                while True:
                    os.write(descriptor, chunk)
            finally:
                os.close(descriptor)

    threading.Thread(target=write, daemon=True).start()


PLACES["pipe-without-end"] = endless

#: What is where a page is to be written, the file being good: its mode.
PAGES = {"page-read-only": 0o444, "page-of-few": 0o640}

# --- One case -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    reader: Reader
    damage: str
    seed: int

    def __str__(self) -> str:
        return f"{self.reader.name} x {self.damage} (seed {self.seed})"


@dataclass(frozen=True)
class Asked:
    question: Question
    word: str

    def __str__(self) -> str:
        word = self.word if len(self.word) <= 40 else f"{self.word[:30]}... of {len(self.word)}"
        return f"{self.question.name} x {word!r}"


@dataclass
class Outcome:
    code: int
    out: bytes
    err: bytes
    seconds: float
    memory: int
    problems: list[str] = field(default_factory=list)


class Elements(html.parser.HTMLParser):
    """Counts what a page's text must never make."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.pwned = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        self.pwned += any("pwned" in (value or "") and name.startswith("on") for name, value in attrs)


def limits() -> None:
    # A runaway must not take the machine; the bound that is held is MOST_MEMORY, of what was touched.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def execute(command: list[str], folder: Path) -> Outcome:
    begin = time.monotonic()
    with (folder / ".stdout").open("w+b") as out, (folder / ".stderr").open("w+b") as err:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=limits, start_new_session=True
        )  # fmt: skip
        overdue = threading.Timer(MOST_WAITING, process.kill)
        overdue.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            overdue.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read(64 << 20))
    for name in (".stdout", ".stderr"):
        (folder / name).unlink()
    return Outcome(process.returncode, *texts, seconds, usage.ru_maxrss << 10)


def state(folder: Path) -> dict[str, tuple]:
    """Every entry: what it is, and what is in it."""
    entries = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            entries[name] = ("link", os.readlink(path))
        elif path.is_file() and os.access(path, os.R_OK):
            entries[name] = ("file", path.read_bytes())
        else:
            entries[name] = ("other", path.stat().st_mode)
    return entries


#: What neither a terminal nor a page may be given.
CONTROL = re.compile(r"[^\n\t\x20-\x7e\xa0-\U0010ffff]|[\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]")


def said_problems(outcome: Outcome) -> Iterator[str]:
    for stream, text in (("stdout", outcome.out), ("stderr", outcome.err)):
        if len(text) > MOST_SAID[stream]:
            yield f"{len(text):,} bytes on {stream}"
        try:
            decoded = text.decode()
        except UnicodeDecodeError as error:
            yield f"{stream} is no UTF-8: {error}"
            continue
        controls = CONTROL.findall(decoded)
        if controls:
            yield f"control characters on {stream}: {sorted(set(controls))!r}"


def ending_problems(outcome: Outcome, most_memory: int = MOST_MEMORY) -> Iterator[str]:
    if outcome.code == -signal.SIGXCPU:
        yield f"computed for more than {MOST_SECONDS} s"
    elif outcome.seconds >= MOST_WAITING:
        yield f"did not end in {MOST_WAITING:.0f} s"
    elif outcome.code < 0:
        yield f"died of signal {-outcome.code}"
    elif outcome.code not in CODES:
        yield f"exit code {outcome.code}"
    if outcome.memory > most_memory:
        yield f"{outcome.memory / 1e9:.1f} GB of memory"
    if b"please report this" in outcome.err:
        yield "an exception came through"
    if outcome.code and not outcome.err.strip():
        yield "no word of why"


def page_problems(page: Path, scripts: int | None) -> Iterator[str]:
    if not page.exists():
        return
    text = page.read_text(errors="replace")
    if control := CONTROL.search(text):
        yield f"{control[0]!r} stands raw in the page"
    if text.startswith("<svg"):
        try:
            xml.etree.ElementTree.fromstring(text)
        except xml.etree.ElementTree.ParseError as error:
            yield f"the drawing is no XML: {error}"
    elements = Elements()
    elements.feed(text)
    if elements.pwned or (scripts is not None and elements.scripts != scripts):
        yield "text of the input became an element of the page"


def mode_problems(case: Case, page: Path, outcome: Outcome) -> Iterator[str]:
    """Of a page that was there before."""
    mode = page.stat().st_mode & 0o7777
    if mode != PAGES[case.damage]:
        yield f"the page's mode was {PAGES[case.damage]:o} and is {mode:o}"
    if mode & 0o222 == 0 and (outcome.code == 0 or page.read_bytes() != b"old"):
        yield "a read-only page was replaced"


#: "-3.20 s", "nan ms", and numbers that nobody can read.
IMPOSSIBLE = re.compile(r"(?<![\w.(])-\d[\d,.]*(?:e\+?\d+)? ?(?:s|ms|us|ns|ps)\b|(?<![\w/'-])(?:nan|inf)(?![\w'=])|\d{40}")


def answer_problems(word: str, outcome: Outcome) -> Iterator[str]:
    """Of an answer to a question; of errors nothing but that they quote little."""
    if outcome.code == 0 and (found := IMPOSSIBLE.search(outcome.out.decode(errors="replace").replace(word, ""))):
        yield f"says {found[0]!r}"
    if re.search(rb"(?!7{40})\d{40}", outcome.err):
        yield "quotes a number of more than 40 digits"


def file_problems(case: Case, before: dict, after: dict) -> Iterator[str]:
    name = f"input{case.reader.suffix}"
    allowed = {"page.html", "out"}
    if case.reader.continues and case.damage == "link-to-nothing":
        allowed.add("nowhere")  # what the link names is what is to be made
    for entry in sorted(before.keys() | after.keys()):
        if entry in allowed or entry.startswith("out/"):
            continue
        old, new = before.get(entry), after.get(entry)
        if old == new:
            continue
        if entry == name and case.reader.continues:
            yield from continued_problems(case.reader.continues, old, new)
        else:
            yield f"{entry} was " + ("made" if old is None else "removed" if new is None else "changed")


def continued_problems(head: bytes, old: tuple | None, new: tuple | None) -> Iterator[str]:
    """A file that is continued may lose a torn line of its own, and nothing else."""
    if old is None or old[0] != "file" or new is None:
        return
    whole, torn = old[1][: old[1].rfind(b"\n") + 1], old[1][old[1].rfind(b"\n") + 1 :]
    ours = torn.startswith(head) or bool(whole and head.startswith(torn))
    if not new[1].startswith(whole if ours else old[1]):
        yield "lines were lost"


class Round:
    """All cases with one program."""

    def __init__(self, program: Path, readers: list[Reader], keep: Path | None) -> None:
        self.program = program.resolve()
        self.keep = keep
        self.goods = {reader.name: self.good_of(reader) for reader in readers}
        self.scripts = {reader.name: self.scripts_of(reader) for reader in readers}

    def command(self, reader: Reader, file: str, folder: Path) -> list[str]:
        words = []
        for word in reader.command:
            if word.startswith("{good:"):
                shutil.copy(ROOT / word[6:-1], folder / "good")
                word = "good"
            words.append(word.replace("{file}", file).replace("{page}", "page.html").replace("{out}", "out"))
        return [str(self.program), *words]

    def good_of(self, reader: Reader) -> bytes:
        if isinstance(reader.seed, bytes):
            return reader.seed
        if reader.seed is not None:
            return (ROOT / reader.seed).read_bytes()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"made{reader.suffix}"
            execute(self.command(reader, file.name, Path(folder)), Path(folder))
            return file.read_bytes()

    def scripts_of(self, reader: Reader) -> int | None:
        """Of the page of the good file."""
        if "{page}" not in reader.command:
            return None
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / f"input{reader.suffix}").write_bytes(self.goods[reader.name])
            outcome = execute(self.command(reader, f"input{reader.suffix}", folder), folder)
            page = folder / "page.html"
            if not page.exists():
                raise SystemExit(f"hostile: {reader.name}: no page of a good file: {outcome.err.decode(errors='replace')}")
            elements = Elements()
            elements.feed(page.read_text())
            return elements.scripts

    def ask(self, asked: Asked) -> Outcome:
        with tempfile.TemporaryDirectory(prefix="hostile-") as name:
            folder = Path(name)
            command = []
            for word in asked.question.command:
                if word.startswith("{good:"):
                    shutil.copy(ROOT / word[6:-1], folder / "good.json")
                    word = "good.json"
                command.append(word.replace("{word}", asked.word).replace("{out}", "out"))
            outcome = execute([str(self.program), *command], folder)
            outcome.problems = [
                *ending_problems(outcome, MOST_MEMORY_OF_QUESTIONS),
                *said_problems(outcome),
                *answer_problems(asked.word, outcome),
            ]
            return outcome

    def run(self, case: Case | Asked) -> Outcome:
        if isinstance(case, Asked):
            return self.ask(case)
        with tempfile.TemporaryDirectory(prefix="hostile-") as name:
            folder = Path(name)
            file = folder / f"input{case.reader.suffix}"
            self.prepare(case, file)
            command = self.command(case.reader, file.name, folder)
            before = state(folder)
            outcome = execute(command, folder)
            outcome.problems = [
                *ending_problems(outcome),
                *said_problems(outcome),
                *file_problems(case, before, state(folder)),
                # Where it could not be written, the page is the old one.
                *(() if case.damage in PAGES and outcome.code else page_problems(folder / "page.html", self.scripts[case.reader.name])),
                *self.refusal_problems(case, outcome, file.name),
                *(mode_problems(case, folder / "page.html", outcome) if case.damage in PAGES else ()),
            ]
            if outcome.problems and self.keep:
                self.keep_case(case, outcome, file, command)
            return outcome

    def prepare(self, case: Case, file: Path) -> None:
        (file.parent / "bystander").write_bytes(b"of somebody else\n")
        (file.parent / "out").mkdir()
        if case.damage in PLACES:
            PLACES[case.damage](file)
        elif case.damage in PAGES:
            file.write_bytes(self.goods[case.reader.name])
            page = file.parent / "page.html"
            page.write_bytes(b"old")
            page.chmod(PAGES[case.damage])
        else:
            file.write_bytes(DAMAGES[case.damage](self.goods[case.reader.name], random.Random(f"{case}")))

    @staticmethod
    def refusal_problems(case: Case, outcome: Outcome, name: str) -> Iterator[str]:
        at_fault = "page.html" if case.damage in PAGES else name
        if outcome.code == 3 and at_fault.encode() not in outcome.err:
            yield "the error does not name the file"
        if case.damage == "none" and outcome.code not in {0, 4}:
            yield f"a good file ends with {outcome.code}"
        # The superuser reads everything; what a command writes may be made where nothing is.
        taken = {"unreadable"} if os.geteuid() == 0 else set()
        if case.reader.continues:
            taken |= {"absent", "link-to-nothing", "pipe-without-writer", "device-without-end", "pipe-without-end"}
        if case.damage in PLACES and case.damage not in taken and outcome.code not in {2, 3, 4}:
            yield f"{case.damage}: exit code {outcome.code}"

    def keep_case(self, case: Case, outcome: Outcome, file: Path, command: list[str]) -> None:
        kept = self.keep / re.sub(r"\W+", "_", str(case))
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        if file.is_file() and not file.is_symlink():
            shutil.copy(file, kept)
        said = outcome.err[:10_000].decode(errors="replace")
        (kept / "report.txt").write_text("\n".join([" ".join(command), *outcome.problems, "", said]))


# --- All cases ----------------------------------------------------------------------------------


def all_cases(readers: list[Reader], damages: list[str], seed: int) -> list[Case]:
    return [
        Case(reader, damage, seed)
        for reader in readers
        for damage in damages
        if damage not in PAGES or "{page}" in reader.command
    ]


def all_questions(questions: list[Question]) -> list[Asked]:
    return [Asked(question, word) for question in questions for word in question.words]


def few_of(table: list[Any], row: Callable[[Any], str], column: Callable[[Any], str], one_in: int) -> list[Any]:
    """Every column with some rows, and every row with some columns: a diagonal through the table."""
    rows, columns = ({name: i for i, name in enumerate(dict.fromkeys(map(of, table)))} for of in (row, column))
    return [case for case in table if (columns[column(case)] + rows[row(case)] * 5) % one_in == 0]


def random_cases(readers: list[Reader], damages: list[str], seed: int, seconds: float) -> Iterator[Case]:
    end = time.monotonic() + seconds
    chance = random.Random(seed)
    number = seed
    while time.monotonic() < end:
        number += 1
        yield Case(chance.choice(readers), chance.choice(damages), number)


def chosen(names: list[str], known: list[str], what: str) -> list[str]:
    for name in names:
        if name not in known:
            raise SystemExit(f"hostile: no {what} '{name}'; known are {', '.join(known)}")
    return names or known


def as_they_end(hostile: Round, cases: Iterable[Case | Asked], jobs: int) -> Iterator[tuple[Case | Asked, Outcome]]:
    """Runs cases side by side; an endless list is taken as workers come free."""
    source = iter(cases)
    pending: dict[concurrent.futures.Future, Case | Asked] = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        while True:
            while len(pending) < 2 * jobs and (case := next(source, None)) is not None:
                pending[pool.submit(hostile.run, case)] = case
            if not pending:
                return
            done, _ = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in done:
                yield pending.pop(future), future.result()


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flopcast", type=Path, required=True, help="the program")
    parser.add_argument("--short", action="store_true", help="few cases")
    parser.add_argument("--seconds", type=float, default=0, help="random cases for so long after the others")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reader", action="append", default=[], help="this one; may be given again")
    parser.add_argument("--damage", action="append", default=[], help="this one; may be given again")
    parser.add_argument("--keep", type=Path, help="folder for what failed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--verbose", action="store_true", help="a line for every case")
    return parser.parse_args()


def main() -> int:
    options = parsed()
    by_name = {reader.name: reader for reader in READERS}
    asked_of = {question.name: question for question in QUESTIONS}
    names = chosen(options.reader, [*by_name, *asked_of], "reader")
    readers = [by_name[name] for name in names if name in by_name]
    # Kinds of damage are of files: who names one does not ask.
    questions = [asked_of[name] for name in names if name in asked_of and not options.damage]
    damages = chosen(options.damage, [*DAMAGES, *PLACES, *PAGES], "damage")
    files, asked = all_cases(readers, damages, options.seed), all_questions(questions)
    if options.short:
        files = few_of(files, lambda case: case.reader.name, lambda case: case.damage, ONE_IN)
        asked = few_of(asked, lambda case: case.question.name, lambda case: case.word, ONE_QUESTION_IN)
    cases: Iterable[Case | Asked] = [*files, *asked]
    if options.seconds and readers:
        random_damages = [damage for damage in damages if damage in DAMAGES]
        cases = itertools.chain(cases, random_cases(readers, random_damages, options.seed, options.seconds))
    codes: collections.Counter[int] = collections.Counter()
    failed = 0
    for case, outcome in as_they_end(Round(options.flopcast, readers, options.keep), cases, options.jobs):
        codes[outcome.code] += 1
        failed += bool(outcome.problems)
        if options.verbose:
            print(f"{case}: exit code {outcome.code}, {outcome.seconds:.2f} s, {outcome.memory >> 20} MiB")
        for problem in outcome.problems:
            print(f"{case}: {problem}", flush=True)
    by_code = ", ".join(f"{count} with {code}" for code, count in sorted(codes.items()))
    print(
        f"{codes.total()} cases of {len(readers)} readers, {len(damages)} kinds of damage and {len(questions)} questions "
        f"ended: {by_code}; {failed} failed"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
