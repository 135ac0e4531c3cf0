#!/usr/bin/env python3
"""The cases that what-ifs are judged by, as files for `flopcast validate whatif`.

    tools/whatif_cases.py --flopcast build/release/flopcast --shared ../shared --out build/whatif_cases

writes one file a group into --out, and beside them the recordings of made-up runs that the cases are about: those of
examples/make_sample.py, and step graphs of `flopcast estimate --engine graph`. A case is a recording, what changes,
and what was measured (or what the generator says) of the run so changed: docs/reference/what-if-files.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
Changes = dict[str, Any]


@dataclass
class Group:
    """Cases of one row of the table of targets."""

    name: str  # of its file
    title: str
    target: float  # largest absolute error wanted, a ratio
    others: str  # what others say of theirs
    cases: list[dict[str, Any]] = field(default_factory=list)


def case(name: str, recording: Path, changes: Changes, *, truth: Path | float, judge: str = "gpu_step",
         steps: list[str] | None = None) -> dict[str, Any]:  # fmt: skip
    told = {"step_s": truth} if isinstance(truth, float) else {"recording": str(truth.resolve())}
    found = {"id": name, "recording": str(recording.resolve()), "changes": changes, "truth": told, "judge": judge}
    return found | ({"steps": steps} if steps else {})


# --- Recordings of others ------------------------------------------------------------------------


def nanogpt(shared: Path) -> list[Group]:
    recording = shared / "traces" / "nanogpt_8xh100"
    measured = json.loads((shared / "measured" / "whatif_nanogpt.json").read_text())
    # The first recorded step starts cold.
    steps = [f"ProfilerStep#{n}" for n in (11, 12, 13)]
    single = Group("nanogpt", "`nanogpt_8xh100`, without profiler", 0.02, "Lumos 3.3 % for mere replay")
    twice = Group("nanogpt_tokens", "the same, twice the tokens", 0.05, "–")
    for run, runs in (("base", "10 runs"), ("next", "14 runs of the next commit")):
        truth = mean(measured["tokens_16384_per_gpu"][f"{run}_ms"]) * 1e-3
        single.cases.append(case(f"without profiler, {runs}", recording, {"remove": ["profiler"]}, truth=truth, steps=steps))
        truth = mean(measured["tokens_32768_per_gpu"][f"{run}_ms"]) * 1e-3
        changes = {"remove": ["profiler"], "set": {"tokens": 2.0}}
        twice.cases.append(case(f"twice the tokens, {runs}", recording, changes, truth=truth, steps=steps))
    return [single, twice]


def loader(shared: Path) -> list[Group]:
    folder = shared / "traces" / "resnet50_1xv100"
    found = case("loader workers 0 → 4", folder / "num_workers_0.json.gz", {"remove": ["data-loading"]},
                 truth=folder / "num_workers_4.json.gz")  # fmt: skip
    return [Group("loader", "loader workers 0 → 4 (`resnet50_1xv100`)", 0.06, "subtraction −16 %", [found])]


def swapped_kernels(shared: Path) -> list[Group]:
    folder = shared / "traces" / "decode_kernels_8xh200"
    cases = [case(f"{name} with the kernels of run4", folder / name, {"kernels_from": str((folder / "run4").resolve())},
                  truth=folder / "run4") for name in ("run1", "run2")]  # fmt: skip
    cases += [case(f"run4 with the kernels of {name}", folder / "run4", {"kernels_from": str((folder / name).resolve())},
                   truth=folder / name) for name in ("run1", "run2")]  # fmt: skip
    return [Group("kernels", "kernels swapped (`decode_kernels_8xh200`)", 0.005, "–", cases)]


def gpu_pairs(shared: Path) -> list[Group]:
    cases = []
    for folder in ("single_gpu_h100_mi300", "gpu_pairs_h100_mi300"):
        for first in sorted((shared / "traces" / folder).glob("h100_*.json.gz")):
            second = first.with_name(first.name.replace("h100_", "mi300_", 1))
            model = first.name.removeprefix("h100_").split("__")[0].split("_", 1)[1]
            cases.append(case(f"{model}: H100 → MI300X", first, {"chip": "mi300x"}, truth=second))
            cases.append(case(f"{model}: MI300X → H100", second, {"chip": "h100"}, truth=first))
    return [Group("gpus", "another GPU (four pairs, both ways)", 0.15, "peak ratios −27…−48 %", cases)]


# --- The generator -------------------------------------------------------------------------------

#: What every run of the matrix has, unless a knob says otherwise.
BASE = {"layers": 8, "microbatches": 8, "straggler": "none", "hiccup": "none"}
#: Options of the generator, and the what-if that they are the truth of.
KNOBS: dict[str, tuple[dict[str, Any], Changes]] = {
    "pp 2 → 4": ({"pp": 4}, {"set": {"pp": 4}}),
    "pp 2 → 8": ({"pp": 8}, {"set": {"pp": 8}}),
    "dp 2 → 4": ({"dp": 4}, {"set": {"dp": 4}}),
    "dp 2 → 8": ({"dp": 8}, {"set": {"dp": 8}}),
    "layers 8 → 16": ({"layers": 16}, {"set": {"layers": 16}}),
    "layers 8 → 4": ({"layers": 4}, {"set": {"layers": 4}}),
    "microbatches 8 → 16": ({"microbatches": 16}, {"set": {"microbatches": 16}}),
    "microbatches 8 → 4": ({"microbatches": 4}, {"set": {"microbatches": 4}}),
    "gpipe": ({"schedule": "gpipe"}, {"set": {"schedule": "gpipe"}}),
    "interleaved, 2 chunks": ({"schedule": "interleaved", "chunks": 2}, {"set": {"schedule": "interleaved", "chunks": 2}}),
    "recompute": ({"recompute": 4}, {"add": ["recompute"]}),
    "matrix products × 0.8": ({"scale": "gemm=0.8"}, {"scale": {"kernel:gemm": 0.8}}),
    "attention × 0.5": ({"scale": "attention=0.5"}, {"scale": {"kernel:attention": 0.5}}),
    "host × 3": ({"scale": "host=3"}, {"scale": {"host": 3.0}}),
    "network × 2": ({"scale": "network=2"}, {"scale": {"network": 2.0}}),
}
PAIRS = [
    ("pp 2 → 4", "microbatches 8 → 16"),
    ("pp 2 → 4", "dp 2 → 4"),
    ("pp 2 → 8", "microbatches 8 → 16"),
    ("dp 2 → 4", "layers 8 → 16"),
    ("layers 8 → 16", "microbatches 8 → 16"),
    ("gpipe", "microbatches 8 → 16"),
    ("matrix products × 0.8", "host × 3"),
    ("pp 2 → 4", "matrix products × 0.8"),
]
#: Runs that are recorded otherwise than they are meant to run: the recording's options, the truth's, the what-if.
RECORDED: dict[str, tuple[dict[str, Any], dict[str, Any], Changes]] = {
    # The other way needs gradients of weights that were recorded apart.
    "zb-h1 → 1f1b": ({"schedule": "zb-h1"}, {}, {"set": {"schedule": "1f1b"}}),
    "straggler off": ({"straggler": "5:1.12:1.03"}, {}, {"remove": ["straggler:5"]}),
    "profiler off": ({"profiler": "9000,6000", "scale": "host=2"}, {"scale": "host=2"}, {"remove": ["profiler"]}),
    "loader off": ({"loader": 20_000_000}, {"loader": 0}, {"remove": ["data-loading"]}),
}
#: Knobs of size go by kernels' shapes: the generator's kernels are its own rooflines, not those of a chip.
SIZES: dict[str, tuple[dict[str, Any], Changes]] = {
    "tp 2 → 4": ({"tp": 4}, {"set": {"tp": 4}}),
    "hidden 4096 → 6144": ({"shape": "hidden=6144"}, {"set": {"hidden": 6144}}),
    "ffn 16384 → 8192": ({"shape": "ffn=8192"}, {"set": {"ffn": 8192}}),
    "sequence 2048 → 4096": ({"shape": "sequence=4096"}, {"set": {"sequence": 4096}}),
    "microbatch size 1 → 2": ({"shape": "microbatch_size=2"}, {"set": {"microbatch_size": 2}}),
}


class Generator:
    """Runs of examples/make_sample.py in a folder, each made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _make(self, options: dict[str, Any], *more: str) -> Path:
        words = [f"--{name}={value}" for name, value in sorted((BASE | options).items())]
        place = self.folder / ("_".join(words).replace("--", "").replace("=", "-").replace(":", "-") + ("-times" if more else ""))
        if not place.exists():
            subprocess.run([sys.executable, ROOT / "examples" / "make_sample.py", place, *words, *more], check=True, capture_output=True)
        return place

    def recording(self, options: dict[str, Any]) -> Path:
        return self._make(options)

    def truth(self, options: dict[str, Any]) -> float:
        return json.loads((self._make(options, "--times-only") / "times.json").read_text())["gpu_step_s"]


def merged(*changes: Changes) -> Changes:
    """Several what-ifs as one."""
    result: Changes = {}
    for one in changes:
        for verb, what in one.items():
            result[verb] = result.get(verb, type(what)()) + what if isinstance(what, list) else result.get(verb, {}) | what
    return result


def generated(folder: Path) -> list[Group]:
    make = Generator(folder)
    one = Group("generator", "generator: any one knob", 0.02, "Lumos 4.2 %")
    two = Group("generator_pairs", "generator: any two", 0.03, "Lumos 4.2 %")
    sizes = Group("generator_sizes", "generator: shapes (its kernels are rooflines of its own)", 0.15, "–")
    for noise in (0, 1):
        told, level = f", noise {noise}", {"noise": noise}
        base = make.recording(level)
        for name, (options, changes) in KNOBS.items():
            one.cases.append(case(name + told, base, changes, truth=make.truth(level | options)))
        for name, (recorded, meant, changes) in RECORDED.items():
            one.cases.append(case(name + told, make.recording(level | recorded), changes, truth=make.truth(level | meant)))
        for first, second in PAIRS:
            options = level | KNOBS[first][0] | KNOBS[second][0]
            if {"scale"} <= KNOBS[first][0].keys() & KNOBS[second][0].keys():
                options["scale"] = ",".join(KNOBS[name][0]["scale"] for name in (first, second))
            changes = merged(KNOBS[first][1], KNOBS[second][1])
            two.cases.append(case(f"{first}, {second}{told}", base, changes, truth=make.truth(options)))
    for name, (options, changes) in SIZES.items():
        sizes.cases.append(case(name, make.recording({"noise": 0}), changes, truth=make.truth({"noise": 0} | options)))
    return [one, two, sizes]


# --- Step graphs of estimates --------------------------------------------------------------------


def estimated(folder: Path, flopcast: str) -> list[Group]:
    """Llama 3 70B on 1,024 H100: other plans than the recorded one."""

    def step(pp: int, batch: int, *more: str, nodes: int = 128) -> Path:
        words = "_".join(("", *more)).replace("--", "")
        place = folder / f"estimate_pp{pp}_batch{batch}_nodes{nodes}{words}.json.gz"
        if not place.exists():
            subprocess.run([flopcast, "estimate", "meta-llama-3-70b", "--on", f"{nodes} x dgx-h100", "--tp", "8", "--pp", str(pp),
                            "--global-batch", str(batch), "--seq", "8192", *more, "--engine", "graph", "--trace-out", place],
                           check=True, capture_output=True)  # fmt: skip
        return place

    base = step(4, 1024)
    on = {"on": "128 x dgx-h100"}
    cases = [case(f"pp 4 → {pp}", base, {"set": {"pp": pp}} | on, truth=step(pp, 1024)) for pp in (1, 2, 8, 16, 32)]
    # dp is 32: 1,024 sequences are 32 microbatches.
    cases.append(case("twice the batch", base, {"set": {"microbatches": 64}}, truth=step(4, 2048)))
    cases.append(case("twice the replicas", base, {"set": {"dp": 64}, "on": "256 x dgx-h100"}, truth=step(4, 2048, nodes=256)))
    interleaved = {"set": {"schedule": "interleaved", "chunks": 2}}
    cases.append(case("interleaved, 2 chunks", base, interleaved, truth=step(4, 1024, "--schedule", "interleaved", "--vpp", "2")))
    cases.append(case("zb-h1", base, {"set": {"schedule": "zb-h1"}}, truth=step(4, 1024, "--schedule", "zb-h1")))
    cases.append(case("recompute", base, {"add": ["recompute"]}, truth=step(4, 1024, "--recompute", "full")))
    return [Group("estimates", "step graphs written by `estimate --engine graph`", 0.01, "0.5–3 %, collectives given", cases)]


# --- All of them ---------------------------------------------------------------------------------


def groups(shared: Path, made: Path, flopcast: str) -> list[Group]:
    made.mkdir(parents=True, exist_ok=True)
    recorded = []
    if (shared / "traces").is_dir():
        for find in (nanogpt, loader, swapped_kernels, gpu_pairs):
            recorded += find(shared)
    return recorded + generated(made) + estimated(made, flopcast)


def write(group: Group, folder: Path) -> Path:
    path = folder / f"{group.name}.json"
    path.write_text(json.dumps({"cases": group.cases}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flopcast", default="flopcast")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    for group in groups(options.shared, options.out, options.flopcast):
        print(write(group, options.out), f"{len(group.cases)} cases")


if __name__ == "__main__":
    main()
