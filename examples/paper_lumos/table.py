#!/usr/bin/env python3
"""Lumos's experiments with changed runs, end to end on made-up recordings: README.md beside this file.

    examples/paper_lumos/table.py --flopcast build/release/flopcast [--work build/paper_lumos] [--row "DP 4 → 8" ...]

The base run is recorded (examples/make_sample.py), every row of the paper's figures 7 and 8 is asked of that recording
(flopcast whatif), and the generator makes that row's run, too: the truth that the forecast has not seen. The whole
table takes some ten minutes, most of them the generator's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MAKE = HERE.parent / "make_sample.py"

#: GPT-3 15B of the paper's table 1; TP x PP x DP = 2 x 2 x 4 is the base of its section 4.3. Of a step it tells the
#: microbatches (figure 4: as many as TP times PP) and the schedule (1F1B). The rest is ours.
BASE: dict[str, Any] = {"tp": 2, "pp": 2, "dp": 4, "layers": 48, "microbatches": 4}
SHAPE = {"hidden": 6144, "ffn": 12288, "heads": 48, "head_dim": 128, "sequence": 2048}
OTHERS = ["--straggler", "none", "--hiccup", "none", "--noise", "1"]


@dataclass
class Row:
    """A run of the paper, as what changes of the base."""

    figure: str
    name: str
    plan: dict[str, int] = field(default_factory=dict)  # dp, pp, microbatches, layers
    shape: dict[str, int] = field(default_factory=dict)  # hidden, ffn

    def knobs(self) -> dict[str, int]:
        return self.plan | self.shape


def rows() -> list[Row]:
    deeper = [Row("7b", f"PP 2 → {pp}", {"pp": pp, "microbatches": 2 * pp}) for pp in (4, 8, 16)]
    both = [Row("7c", f"PP → {pp}, DP → {dp}", {"pp": pp, "dp": dp, "microbatches": 2 * pp}) for pp, dp in ((4, 8), (8, 8), (4, 16))]
    wider = [Row("7a", f"DP 4 → {dp}", {"dp": dp}) for dp in (8, 16, 32)]
    models = [
        Row("8", "V1: 64 layers", {"layers": 64}),
        Row("8", "V2: 96 layers", {"layers": 96}),
        Row("8", "V3: hidden 9216, FFN 18432", {}, {"hidden": 9216, "ffn": 18432}),
        Row("8", "V4: hidden 12288, FFN 24576", {}, {"hidden": 12288, "ffn": 24576}),
    ]
    return wider + deeper + both + models


class Bench:
    """Runs of the generator in a folder, each made once, and questions to the base."""

    def __init__(self, flopcast: str, work: Path, base: dict[str, Any], shape: dict[str, int], steps: int) -> None:
        self.flopcast, self.work, self.base, self.shape, self.steps = flopcast, work, base, shape, steps

    def make(self, plan: dict[str, int], shape: dict[str, int], *more: str) -> Path:
        options = self.base | plan
        sizes = ",".join(f"{name}={value}" for name, value in (self.shape | shape).items())
        place = self.work / ("-".join(f"{name}{value}" for name, value in sorted((options | shape).items())) + ("-times" if more else ""))
        if not place.exists():
            words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
            command = [sys.executable, MAKE, place, *words, "--shape", sizes, "--steps", str(self.steps), *OTHERS, *more]
            subprocess.run(command, check=True, capture_output=True)
        return place

    def truth(self, row: Row) -> dict[str, Any]:
        return json.loads((self.make(row.plan, row.shape, "--times-only") / "times.json").read_text())

    def forecast(self, row: Row) -> dict[str, Any]:
        words = [word for knob, value in row.knobs().items() for word in ("--set", f"{knob}={value}")]
        command = [self.flopcast, "whatif", self.make({}, {}), *words, "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        if not done.stdout:
            sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
        return json.loads(done.stdout)


@dataclass
class Result:
    row: Row
    ranks: int
    truth_s: float
    forecast_s: float | None
    why_not: str

    @property
    def error(self) -> float | None:
        return None if self.forecast_s is None else self.forecast_s / self.truth_s - 1


def run(bench: Bench, wanted: list[Row]) -> list[Result]:
    results = []
    for row in wanted:
        answer, truth = bench.forecast(row), bench.truth(row)
        why = "; ".join(f"{one['change']}: {one['missing']}" for one in answer["refused"])
        results.append(Result(row, truth["ranks"], truth["gpu_step_s"], None if why else answer["after_s"], why))
        print(f"{row.name}: {'refused' if why else percent(results[-1].error or 0, '+.2f')}", file=sys.stderr)
    return results


def percent(ratio: float, form: str = ".2f") -> str:
    return f"{ratio * 100:{form}} %"


def table(results: list[Result]) -> str:
    lines = ["| figure | run | ranks | generator, ms | forecast, ms | error |", "|---|---|---|---|---|---|"]
    for r in results:
        told = ("refused", r.why_not) if r.forecast_s is None else (f"{r.forecast_s * 1e3:.1f}", percent(r.error or 0, "+.2f"))
        lines.append(f"| {r.row.figure} | {r.row.name} | {r.ranks} | {r.truth_s * 1e3:.1f} | {told[0]} | {told[1]} |")
    return "\n".join(lines) + "\n"


def summary(results: list[Result]) -> str:
    lines = []
    for figure, what in (("7a", "DP"), ("7b", "PP"), ("7c", "DP and PP together (the paper: 4.2 % in the mean)"), ("8", "model variants")):
        errors = [abs(r.error) for r in results if r.row.figure == figure and r.error is not None]
        if errors:
            lines.append(f"- {what}: {percent(sum(errors) / len(errors))} in the mean, {percent(max(errors))} at most.")
    return "\n".join(lines) + "\n"


def page(bench: Bench, results: list[Result]) -> str:
    version = subprocess.run([bench.flopcast, "--version"], capture_output=True, text=True).stdout.strip()
    return f"""# Lumos's changed runs

Written by `examples/paper_lumos/table.py` ({version}); no number of the table is typed.

Liang et al., *Lumos: Efficient Performance Modeling and Estimation for Large-scale LLM Training*, MLSys 2025
([arXiv 2504.09307](https://arxiv.org/abs/2504.09307)) record GPT-3 15B (48 layers, hidden 6144, FFN 12288, 48 heads of 128; table 1) on
16 GPUs, TP × PP × DP = 2 × 2 × 4, and forecast from that recording runs with more replicas (figure 7a), more stages (7b), both (7c), and
the model variants V1 to V4 (table 2, figure 8). Their recordings are not public. Here every row is run end to end on recordings of the
same shapes that `examples/make_sample.py` makes up: the base is recorded, `flopcast whatif` forecasts the row from it, and the generator,
which shares no code with it, tells what that row's run takes.

{table(results)}
{summary(results)}
The numbers judge the manipulation of the recording: schedules, stages, layers, collectives' ranks, waiting. They do not judge
kernels and networks: the generator's kernels are rooflines and its collectives a ring's closed form, each with the noise of a real run, which is
kinder than a cluster to models of the same kind.

## What the paper leaves open

| | the paper | here |
|---|---|---|
| microbatches | figure 4 assumes as many as TP × PP; so the batch grows with PP | the same: `--set microbatches=` beside `--set pp=` |
| where embedding and head go when layers are dealt anew | not said | with the first and the last stage |
| gradient buckets of a stage with fewer layers | not said | cut anew from its parameters |
| host work of a new stage | not said | as recorded, of the layers it has |
| collectives over more ranks | an in-house model of kernels from a fleet's traces | [the network's model](../../docs/theory/network.md), as a ratio to the recorded transfer |
| the last of more ranks comes later | not said | arrivals are drawn anew from those recorded |
| hidden and FFN | matrix products and communication are re-timed, nothing else | every class of kernel by its shape |
| attention's width in V3 and V4 | parameter counts of table 2 (28 and 44 billion) fit 48 heads of 128 throughout | heads stay 48 of 128 |
| sequence, vocabulary, size of a microbatch | defaults of MLPerf's GPT-3, not repeated | sequences of {SHAPE["sequence"]}, one a microbatch; the vocabulary is the generator's |
| memory, utilisation, energy | future work | `totals` of the answer, where the model behind the recording is known |

Errors of figures 7a, 7b and 8 are shown there as bars, without numbers.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flopcast", default="flopcast")
    parser.add_argument("--work", type=Path, default=Path("build/paper_lumos"), help="where runs are kept")
    parser.add_argument("--row", action="append", help="only this row; may be given again")
    parser.add_argument("--layers", type=int, default=BASE["layers"], help="of the base: fewer for a quick look")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--out", type=Path, default=HERE / "README.md")
    options = parser.parse_args()
    wanted = [row for row in rows() if not options.row or row.name in options.row]
    if not wanted:
        sys.exit("no such row; there are: " + ", ".join(row.name for row in rows()))
    options.work.mkdir(parents=True, exist_ok=True)
    bench = Bench(options.flopcast, options.work, BASE | {"layers": options.layers}, SHAPE, options.steps)
    options.out.write_text(page(bench, run(bench, wanted)), encoding="utf-8")
    print(options.out)


if __name__ == "__main__":
    main()
