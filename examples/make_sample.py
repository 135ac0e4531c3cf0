#!/usr/bin/env python3
"""Writes Kineto traces of a made-up training run: 8 ranks, pipeline x data x tensor parallel 2x2x2.

    examples/make_sample.py DIR [--steps 3] [--seed 7] [--pp 4 --layers 8 ...] [--times FILE]

For trying Flopcast where no GPU is at hand, and as a truth that its what-ifs are held against: the same
run with other degrees, schedule, layers, shape or speeds is one option away.

The run is simulated, so that its timestamps obey the causality of a real one: kernels start after
their launch and after what runs before them on their stream, a stream waits for the events it was told
to wait for, a collective ends for all ranks after the last one has arrived, and the host stands still
where it asks for a result. Kernel times come from FLOPs and bytes with a little seeded noise; rank 5 is
a straggler, and rank 2 is held up once. The same seed gives the same run.

Without options of the run, noise is drawn in sequence. With any (--noise 1 is one), noise belongs to
what it disturbs: the layer, microbatch and position of a kernel. So two runs that differ in one option
differ in nothing else, and can be compared; rows are nested like PyTorch's, too.

The simulation is in the folder `sample` beside this file and uses nothing of Flopcast.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Any

from sample.plan import SCALES, SCHEDULES, SHAPE, Plan
from sample.times import write_times
from sample.world import World

EXAMPLES = """examples:
  make_sample.py base --noise 1 --straggler none           a run to ask what-ifs of
  make_sample.py --times-only truth --noise 1 --straggler none --pp 4
                                                           what the same run takes with PP 4: truth/times.json
  make_sample.py x --noise 0 --schedule interleaved --chunks 2 --layers 8
  make_sample.py x --shape hidden=6144,ffn=12288,heads=48,sequence=2048 --layers 48 --tp 8 --pp 4
  make_sample.py x --scale gemm=0.8 --scale host=0.5 --profiler 1500,900
"""


def stragglers(text: str) -> dict[int, tuple[float, float]]:
    """RANK[:HOST[:GPU]], separated by commas, or none."""
    found = {}
    for one in [] if text == "none" else text.split(","):
        rank, *factors = one.split(":")
        host, gpu = [*factors, *["1.12", "1.03"][len(factors) :]]
        found[int(rank)] = (float(host), float(gpu))
    return found


def hiccups(text: str) -> dict[tuple[int, int], int]:
    """RANK@STEP:NS, separated by commas, or none."""
    found = {}
    for one in [] if text == "none" else text.split(","):
        rank, step, ns = re.split("[@:]", one)
        found[int(rank), int(step)] = int(ns)
    return found


def profiler(text: str) -> tuple[int, int]:
    """OP,CALL"""
    op, call = text.split(",")
    return int(op), int(call)


def assignments(text: str) -> dict[str, float]:
    """NAME=NUMBER, separated by commas."""
    pairs = (one.split("=") for one in text.split(","))
    return {name: float(value) for name, value in pairs}


def parser() -> argparse.ArgumentParser:
    words = (__doc__ or "").splitlines()
    result = argparse.ArgumentParser(description=words[0], epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    add = result.add_argument
    add("directory", type=Path, help="where sample_rank0.json.gz and so on go")
    add("--steps", type=int, metavar="N", help="default 3")
    add("--seed", type=int, metavar="N", help="of the noise; default 7")
    add("--times", type=Path, metavar="FILE",
        help="also write how long each step took; not into DIR, where all JSON is taken for traces")  # fmt: skip
    add("--times-only", action="store_true", help="write DIR/times.json and no traces: much quicker")
    run = result.add_argument_group("the run")
    add = run.add_argument
    for name, what in (("pp", "pipeline stages"), ("dp", "replicas"), ("tp", "shards of a layer")):
        add(f"--{name}", type=int, metavar="N", help=f"{what}; default 2")
    add("--cp", type=int, metavar="N", help="ranks that share a sequence: they gather its keys and values; default 1")
    add("--ep", type=int, metavar="N", help="replicas that share the experts of a layer; divides dp; default 1")
    add("--zero", type=int, choices=(0, 1, 3), help="replicas share 1: the optimizer's state, 3: parameters, too")
    add("--layers", type=int, metavar="N", help="of the whole model; default 4")
    add("--microbatches", type=int, metavar="N", help="of a step and replica; default 4")
    add("--schedule", choices=SCHEDULES, help="of the pipeline; default 1f1b")
    add("--chunks", type=int, metavar="N", help="parts of the model on each stage, for interleaved")
    add("--apart", action="store_true", default=None, help="1f1b, too, sends without waiting for the receiver")
    add("--recompute", type=int, metavar="N", help="layers of each chunk whose forward runs again; default 0")
    add("--bucket", type=int, metavar="N", help="layers whose gradients are shared in one all-reduce; default 1")
    add("--train-edges", action="store_true", default=None,
        help="embedding and head have gradients to share and to apply, too")  # fmt: skip
    add("--shape", type=assignments, metavar="NAME=N,...", help=f"of the model: {', '.join(SHAPE)}")
    add("--noise", type=float, metavar="F", help="1: as usual; 0: none, and no hiccups")
    add("--straggler", type=stragglers, dest="stragglers", metavar="RANK[:HOST[:GPU]],...",
        help="ranks whose host and kernels take so much longer, or none; default 5:1.12:1.03")  # fmt: skip
    add("--hiccup", type=hiccups, dest="hiccups", metavar="RANK@STEP:NS,...",
        help="ranks whose host is held up at the start of a step (0 first), or none; default 2@1:900000")  # fmt: skip
    add("--loader", type=int, metavar="NS", help="the host waits so long for the data of a step; default 120000")
    add("--gpu", metavar="NAME", help="what the recording calls its GPU; its kernels are made up in any case")
    add("--profiler", type=profiler, metavar="OP,CALL",
        help="recorded with a profiler that costs the host so many ns an operator, and a runtime call")  # fmt: skip
    add("--modules", action="store_true", default=None, help="with a row of each layer's module")
    add("--scale", type=assignments, action="append", metavar="NAME=F",
        help=f"so much more time for {', '.join(SCALES)}; may be given again")  # fmt: skip
    return result


def plan_of(given: dict[str, Any]) -> Plan:
    options = {name: value for name, value in given.items() if value is not None}
    options |= {name: int(value) for name, value in options.pop("shape", {}).items()}
    if "scale" in options:
        options["scale"] = {name: factor for one in options["scale"] for name, factor in one.items()}
    unknown = options.keys() - vars(Plan()).keys()
    if unknown:
        raise ValueError(f"the shape has no {min(unknown)}, only {', '.join(SHAPE)}")
    plan = Plan(**options, plain=not options.keys() - {"steps", "seed"})
    for name in {"stragglers", "hiccups"} - options.keys():
        plan.drop_strangers(name)
    if why := plan.problem():
        raise ValueError(why)
    return plan


def main(arguments: list[str]) -> None:
    options = vars(parser().parse_args(arguments))
    directory, times, times_only = (options.pop(name) for name in ("directory", "times", "times_only"))
    try:
        plan = plan_of(options)
    except ValueError as error:
        parser().error(str(error))
    world = World(plan, rows=not times_only)
    world.run()
    directory.mkdir(parents=True, exist_ok=True)
    if times or times_only:
        write_times(world, times or directory / "times.json")
    if not times_only:
        world.write(directory)
    print(f"{directory}: {plan.world} ranks, {plan.steps} steps, {world.length() / 1e6:.1f} ms")


if __name__ == "__main__":
    main(sys.argv[1:])
