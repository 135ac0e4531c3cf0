#!/usr/bin/env python3
"""Writes Kineto traces of a made-up training run: 8 ranks, pipeline x data x tensor parallel 2x2x2.

    examples/make_sample.py DIR [--steps 3] [--seed 7]

For trying Flopcast where no GPU is at hand, and as a truth that its what-ifs are held against: the same
run with other degrees, schedule, layers, shape or speeds is one option away.

The run is simulated, so that its timestamps obey the causality of a real one: kernels start after
their launch and after what runs before them on their stream, a stream waits for the events it was told
to wait for, a collective ends for all ranks after the last one has arrived, and the host stands still
where it asks for a result. Kernel times come from FLOPs and bytes with a little seeded noise; rank 5 is
a straggler. The same seed gives the same run.

Noise belongs to what it disturbs (the layer, microbatch and position of a kernel), so that two runs
with different options can be compared. Only the run without options draws its noise in sequence: as a
partner for comparisons, write it with --noise 1.

The simulation is in the folder `sample` beside this file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from sample.plan import SCALES, SCHEDULES, Plan
from sample.world import World


def straggler(text: str) -> dict[int, tuple[float, float]]:
    """RANK[:HOST[:GPU]], comma-separated, or none."""
    found = {}
    for one in [] if text == "none" else text.split(","):
        rank, host, gpu = (one.split(":") + ["1.12", "1.03"][max(0, one.count(":")):])[:3]
        found[int(rank)] = (float(host), float(gpu))
    return found


def hiccup(text: str) -> dict[tuple[int, int], int]:
    """RANK@STEP:NS, comma-separated, or none."""
    found = {}
    for one in [] if text == "none" else text.split(","):
        where, ns = one.split(":")
        rank, step = where.split("@")
        found[int(rank), int(step)] = int(ns)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    plan, options = Plan(), {}
    for name in ("pp", "dp", "tp", "layers", "microbatches", "chunks"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--schedule", choices=SCHEDULES)
    parser.add_argument("--recompute", type=int)
    parser.add_argument("--noise", type=float)
    parser.add_argument("--straggler", type=straggler, dest="stragglers")
    parser.add_argument("--hiccup", type=hiccup, dest="hiccups")
    parser.add_argument("--profiler")
    parser.add_argument("--shape", default="")
    parser.add_argument("--scale", action="append", default=[])
    parser.add_argument("--times-only", action="store_true")
    given = parser.parse_args()
    options = {n: v for n, v in vars(given).items() if hasattr(plan, n) and v is not None and v != []}
    for part in filter(None, given.shape.split(",")):
        name, value = part.split("=")
        options[name] = int(value)
    if given.profiler:
        op, call = given.profiler.split(",")
        options["profiler"] = (int(op), int(call))
    if given.scale:
        options["scale"] = {name: float(value) for name, value in (s.split("=") for s in given.scale)}
    plan = Plan(**options, drawn=not options.keys() - {"steps", "seed"})
    plan.stragglers = {rank: slow for rank, slow in plan.stragglers.items() if rank < plan.world}
    plan.hiccups = {at: ns for at, ns in plan.hiccups.items() if at[0] < plan.world}
    if why := plan.problem():
        parser.error(why)
    world = World(plan, rows=not given.times_only)
    world.run()
    if not given.times_only:
        world.write(given.directory)
    print(f"{given.directory}: {plan.world} ranks, {plan.steps} steps, {world.length() / 1e6:.1f} ms")


if __name__ == "__main__":
    main()
