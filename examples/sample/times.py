"""How long the steps of a run took, as it knows itself: what forecasts of it are held against."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

from .program import STEP_NAMES_FROM, Program
from .world import World


def gpu_ends(host: Program) -> list[int]:
    """Of each step, the last end of the GPU work that was launched in it."""
    ends = [0] * host.plan.steps
    for stream in host.gpu.streams.values():
        for task in stream.tasks:
            ends[task.step] = max(ends[task.step], task.end or 0)
    return ends


def usual(steps: list[float]) -> float:
    """The mean of the steps within a quarter of their median: not of one that something held up.

    Nor of the first, before which there was nothing to wait for."""
    steps = steps[1:] or steps
    median = statistics.median(steps)
    return statistics.mean(step for step in steps if abs(step - median) <= median / 4)


def step_times(world: World) -> dict[str, Any]:
    """In seconds. `host_s` is a step's annotation; `gpu_s` goes from the last end of GPU work launched
    in the step before (the first: from the annotation's start) to the last end of that of this one.
    The run's own `host_step_s` and `gpu_step_s`: means over ranks, and over its usual steps."""
    ends = {host.rank: gpu_ends(host) for host in world.hosts}
    steps: list[dict[str, Any]] = []
    for i in range(world.plan.steps):
        host_s, gpu_s = [], []
        for host in world.hosts:
            begin = ends[host.rank][i - 1] if i else host.step_begins[0]
            host_s.append((host.step_ends[i] - host.step_begins[i]) / 1e9)
            gpu_s.append((ends[host.rank][i] - begin) / 1e9)
        steps.append({"name": f"ProfilerStep#{STEP_NAMES_FROM + i}", "host_s": host_s, "gpu_s": gpu_s})
    return {
        "ranks": world.plan.world,
        "host_step_s": usual([statistics.mean(step["host_s"]) for step in steps]),
        "gpu_step_s": usual([statistics.mean(step["gpu_s"]) for step in steps]),
        "steps": steps,
    }


def write_times(world: World, path: Path) -> None:
    path.write_text(json.dumps(step_times(world), indent=1) + "\n")
