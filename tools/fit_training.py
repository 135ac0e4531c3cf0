#!/usr/bin/env python3
"""Fits catalog/training/constants.toml to measured training runs.

    tools/fit_training.py ../shared/measured/training.json ../shared/measured/training_vtrain.csv
    tools/fit_training.py FILES... --hold-out      errors on runs that were left out of the fit
    tools/fit_training.py FILES... --ablation      errors with each term of the model switched off

Needs numpy and scipy, and the flopcast package of this tree on PYTHONPATH (build/release/python).

Every constant has a physical meaning and limits (src/analytic/step/constants.cc); the fit starts
at what is expected and is held there by a prior, so that few runs move a constant little. Residuals
are log(forecast / measured) in units of 6 %, under a soft-L1 loss, because releases and labels
scatter. Runs of one group (near-duplicates) share one group's weight.
"""

from __future__ import annotations

import argparse
import collections
import json
import math
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import spearmanr

from flopcast import _native

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "catalog/training/constants.toml"
SCALE = 0.06  # of a residual: what a good forecast is off by
STEP = 0.02  # of a constant's logarithm, for slopes: wider than the steps of the schedules

# table/constant: (expected, standard deviation of its logarithm)
SHARE, KERNEL = 0.1, 0.3
PARAMETERS = {
    "chip.ampere/matrix_share": (1.0, SHARE),
    "chip.ampere/attention_share": (1.0, KERNEL),
    "chip.ampere/memory_share": (0.95, SHARE),
    "chip.hopper/matrix_share": (1.0, SHARE),
    "chip.hopper/narrow_share": (1.0, SHARE),
    "chip.hopper/attention_share": (1.0, KERNEL),
    "chip.hopper/memory_share": (0.95, SHARE),
    "chip.blackwell/matrix_share": (1.0, SHARE),
    "chip.blackwell/narrow_share": (1.0, SHARE),
    "chip.blackwell/block_share": (0.9, SHARE),
    "chip.blackwell/fp4_share": (1.0, SHARE),
    "chip.blackwell/attention_share": (1.0, KERNEL),
    "chip.blackwell/memory_share": (0.95, SHARE),
    "chip.blackwell-ultra/narrow_share": (1.0, SHARE),
    "chip.blackwell-ultra/block_share": (1.0, SHARE),
    "chip.blackwell-ultra/fp4_share": (1.0, KERNEL),
    "chip.blackwell-ultra/attention_share": (1.0, KERNEL),
    # The table's rates are other chips' scaled by peaks, which these reach less of.
    "chip.mi300x/narrow_share": (0.65, KERNEL),
    "chip.mi325x/narrow_share": (0.65, KERNEL),
    "chip.cdna4/narrow_share": (1.0, KERNEL),
    "pair.hopper+fsdp/attention_share": (0.6, KERNEL),
    "pair.hopper+fsdp-compiled/attention_share": (0.6, KERNEL),
    "pair.hopper+megatron-2024/narrow_share": (1.0, SHARE),
    "software.fsdp-compiled/block_share": (0.75, KERNEL),
    "software.megatron/unfused": (1.1, 0.2),
    "software.megatron-2024/unfused": (1.2, 0.2),
    "software.megatron-2021/unfused": (1.3, KERNEL),
    "software.megatron-deepspeed/unfused": (1.0, KERNEL),
    "software.deepspeed-2022/unfused": (1.3, KERNEL),
    "software.fsdp/unfused": (1.5, KERNEL),
    "software.fsdp-compiled/unfused": (1.1, KERNEL),
    "software.deepspeed-2022/launch_s": (4.5e-5, 0.7),
    "software.deepspeed-2022/launch_transfer_s": (2e-4, 0.7),
    "software.deepspeed-2022/microbatch_s": (1e-3, 1.0),
    "software.megatron-2021/microbatch_s": (5e-4, 1.0),
    "software.megatron/microbatch_s": (1e-4, 1.0),
    "all/unaligned": (2.0, 0.5),
    "all/step_s": (5e-3, 1.0),
    "software.fsdp/step_s": (2e-2, 1.0),
    "software.megatron-2024/step_s": (1e-2, 1.0),
    "software.deepspeed-2022/step_s": (1e-2, 1.0),
    "all/straggler": (4e-3, 0.7),
    "all/contention": (0.1, 0.5),
    "all/tensor_overlap": (0.7, 0.2),
    "all/gradient_overlap": (0.8, 0.2),
    "all/collective_share": (0.9, 0.1),
    "software.fsdp/collective_share": (0.8, KERNEL),
    "software.fsdp-compiled/collective_share": (0.8, KERNEL),
    "software.megatron-deepspeed/collective_share": (0.8, KERNEL),
    "software.deepspeed-2021/collective_share": (0.2, 0.5),
    # Products of experts against those of dense layers; what one expert's costs beside; passes over all
    # copies of a token.
    # Tables of experts' kernels reach 0.9 of dense products in 16 bits, 0.7 in 8 (balanced, all experts on a chip).
    "all/expert_share": (0.8, 0.05),
    "all/expert_kernel_s": (3e-6, 0.7),
    "all/expert_traffic": (0.8, KERNEL),
    "all/expert_overlap": (0.5, KERNEL),
    "software.megatron-2025/expert_kernel_s": (3.0, 0.7),
    "software.megatron-2025/expert_traffic": (2.0, KERNEL),
    "software.megatron-2024/expert_kernel_s": (1.0, SHARE),
    "software.megatron-2024/expert_traffic": (1.0, SHARE),
}
# Constants that are expected to be those of a sibling times a factor: a chip or a software with few
# runs, or none, takes what its sibling's runs say. (Then PARAMETERS holds the factor.)
SIBLINGS = {
    "chip.blackwell-ultra/narrow_share": "chip.blackwell/narrow_share",
    "chip.blackwell-ultra/block_share": "chip.blackwell/block_share",
    "chip.blackwell-ultra/fp4_share": "chip.blackwell/fp4_share",
    "chip.blackwell-ultra/attention_share": "chip.blackwell/attention_share",
    "software.megatron-deepspeed/unfused": "software.megatron-2021/unfused",
    "software.megatron-2025/expert_traffic": "all/expert_traffic",
    "software.megatron-2025/expert_kernel_s": "all/expert_kernel_s",
    "software.megatron-2024/expert_traffic": "software.megatron-2025/expert_traffic",
    "software.megatron-2024/expert_kernel_s": "software.megatron-2025/expert_kernel_s",
}
# Host times of software whose public runs do not wait for the host: written down, not fitted.
ASSUMED = {
    "all/launch_s": 3e-6,
    "software.fsdp/launch_s": 5e-6,
    "all/async_overlap": 0.9,
    "all/weight_overlap": 0.9,
    "all/workspace_bytes": 1.5e9,
    "all/allocator": 0.03,
    # Memory: bytes a logit of eager and compiled losses, what is kept beside gradients and stages'
    # inputs, and (BLOOM, read off nvidia-smi) buffers of the framework.
    "software.fsdp/logit_bytes": 14,
    "software.fsdp/boundary_copies": 2,
    "software.fsdp/allocator": 0.13,
    "software.fsdp-compiled/logit_bytes": 4,
    "software.fsdp-compiled/boundary_copies": 2,
    "software.fsdp-compiled-2024/logit_bytes": 14,
    # FSDP around Transformer Engine's kernels: those of Megatron, but for what FSDP keeps.
    "software.fsdp-te/unfused": 1.1,
    "software.fsdp-te/launch_s": 5e-6,
    "software.fsdp-te/logit_bytes": 14,
    "software.fsdp-te/boundary_copies": 2,
    "software.fsdp-te/allocator": 0.13,
    # Rows go once to each place that needs them: DeepEP and its like.
    "software.megatron/expert_once": 1,
    "software.fsdp-te/expert_once": 1,
    "software.megatron-deepspeed/workspace_bytes": 1.1e10,
    "software.megatron-deepspeed/gradient_copies": 2,
    "software.megatron-deepspeed/boundary_copies": 1,
    # What DeepSpeed's pipeline loses around every microbatch: read off how the runs of the BLOOM sweep
    # order by microbatch, which residuals of single runs hardly see. Its cause is not known.
    "software.megatron-deepspeed/microbatch_s": 0.05,
    "software.megatron-2021/launch_s": 4.5e-5,
    "software.megatron-deepspeed/launch_s": 4.5e-5,
}
SOFTWARES = [
    "megatron", "megatron-2025", "megatron-2024", "megatron-2021", "fsdp", "fsdp-compiled",
    "fsdp-compiled-2024", "fsdp-te", "deepspeed-2022", "megatron-deepspeed", "deepspeed-2021",
]  # fmt: skip
# Variants have the constants of a software unless they have their own.
VARIANTS = {"megatron-2025": "megatron", "fsdp-compiled-2024": "fsdp-compiled"}
# Weight of a set whose runs are many and alike, as if it had so many.
AS_MANY = {"vtrain-single": 60, "vtrain-multi": 50}
EXPERT_WEIGHT = 0.6  # few groups, release noise of tens of per cent

# What the ablation switches off: constants at the value where the term vanishes.
TERMS = {
    "rates under load": {n: 1.0 for n in PARAMETERS if n.startswith("chip.") and "attention" not in n},
    "attention of the software": {n: 1.0 for n in PARAMETERS if "attention_share" in n},
    "unfused traffic": {n: 1.0 for n in PARAMETERS if "unfused" in n},
    "host and fixed costs": {
        n: 0.0 for n in {**PARAMETERS, **ASSUMED} if "launch" in n or n.endswith(("microbatch_s", "step_s"))
    },
    "contention": {"all/contention": 0.0},
    "stragglers": {"all/straggler": 0.0},
    "all overlap of gradients": {"all/gradient_overlap": 0.0},
    "all overlap of tensor transfers": {"all/tensor_overlap": 0.0, "all/async_overlap": 0.0},
}

RANKING = "BLOOM, rank correlation"
# Families that a forecast has never seen: left out of the fit, then forecast.
FAMILIES = {
    "GB300, dense": lambda r: "gb300" in r["cluster"] and not r["experts"],
    "more than 2,000 GPUs": lambda r: r["chips"] > 2000,
    "vTrain, many nodes": lambda r: r["set"] == "vtrain-multi",
    "vTrain, one node": lambda r: r["set"] == "vtrain-single",
    "BLOOM": lambda r: r["set"] == "bloom",
    "experts": lambda r: r["experts"],
}


class Fit:
    def __init__(self, files: list[str]):
        self.native = _native.TrainingRuns(files)
        self.runs = self.native.complete()
        self.measured = np.array([run["measured_s"] for run in self.runs])
        self.experts = np.array([run["experts"] for run in self.runs])
        self.sets = np.array([run["set"] for run in self.runs])
        self.quality = np.array([run["quality"] for run in self.runs])
        self.weight = self._weights()
        limits = {c["name"]: (c["low"], c["high"]) for c in _native.training_constants()}
        self.names = list(PARAMETERS)
        self.expected = np.log([PARAMETERS[n][0] for n in self.names])
        self.spread = np.array([PARAMETERS[n][1] for n in self.names])
        self.limits = {n: limits[n.split("/")[1]] for n in self.names}
        factor = (0.2, 5.0)
        bounds = [factor if n in SIBLINGS else self.limits[n] for n in self.names]
        self.low = np.log([max(low, 1e-7) for low, _ in bounds])
        self.high = np.log([high for _, high in bounds])
        self.affected = self._affected()

    def _weights(self) -> np.ndarray:
        groups = collections.Counter(run["group"] for run in self.runs)
        weight = np.array([groups[run["group"]] ** -0.25 for run in self.runs])
        for name, many in AS_MANY.items():
            members = self.sets == name
            if members.sum() > many:
                weight[members] *= math.sqrt(many / members.sum())
        weight[self.experts] *= EXPERT_WEIGHT
        return weight

    def values(self, x: np.ndarray) -> dict[str, float]:
        values = {**ASSUMED, **dict(zip(self.names, np.exp(x)))}
        for name, sibling in SIBLINGS.items():
            low, high = self.limits[name]
            values[name] = min(max(values[name] * values[sibling], low), high)
        for name in list(values):
            if name.endswith("attention_share"):
                values[name.replace("attention", "attention_backward")] = values[name]
        return values

    def forecast(self, values: dict[str, float], some: np.ndarray | None = None) -> np.ndarray:
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(toml_of(values))
            file.flush()
            return np.array(self.native.forecast(file.name, [] if some is None else some.tolist()))

    def _affected(self) -> list[np.ndarray]:
        """Places of the runs whose forecast each constant changes."""
        at = np.clip(self.expected, self.low, self.high)
        base, affected = self.forecast(self.values(at)), []
        for k in range(len(at)):
            changed = np.zeros(len(base), bool)
            for limit in (self.low[k], self.high[k]):
                moved = at.copy()
                moved[k] = limit
                changed |= self.forecast(self.values(moved)) != base
            affected.append(np.flatnonzero(changed & np.isfinite(base)))
        return affected

    def residuals(self, x: np.ndarray, some: np.ndarray) -> np.ndarray:
        """Weighted residuals of some runs."""
        if len(some) == 0:
            return np.zeros(0)
        step = self.forecast(self.values(x), some)
        off = np.where(np.isfinite(step), np.log(step / self.measured[some]), 0)
        return off * self.weight[some] / SCALE

    def fit(self, use: np.ndarray, start: np.ndarray | None = None, rounds: int = 12) -> np.ndarray:
        runs = np.flatnonzero(use)
        place = {run: i for i, run in enumerate(runs)}
        touched = [np.intersect1d(a, runs) for a in self.affected]

        def objective(x: np.ndarray) -> np.ndarray:
            return np.concatenate([self.residuals(x, runs), (x - self.expected) / self.spread])

        def slopes(x: np.ndarray) -> np.ndarray:
            base = objective(x)
            out = np.zeros((len(base), len(x)))
            for k, some in enumerate(touched):
                moved = x.copy()
                moved[k] += STEP if x[k] + STEP <= self.high[k] else -STEP
                rows = [place[run] for run in some]
                out[rows, k] = (self.residuals(moved, some) - base[rows]) / (moved[k] - x[k])
                out[len(runs) + k, k] = 1 / self.spread[k]
            return out

        inside = np.clip(self.expected, self.low + 1e-6, self.high - 1e-6)
        found = least_squares(
            objective, inside if start is None else start, jac=slopes,
            bounds=(self.low, self.high), loss="soft_l1", max_nfev=rounds,
        )  # fmt: skip
        return found.x

    def folds(self, count: int) -> np.ndarray:
        return np.array([zlib.crc32(run["group"].encode()) % count for run in self.runs])

    def held_out(self, start: np.ndarray, folds: int = 5) -> np.ndarray:
        """Forecasts of every run with constants fitted without its group."""
        step, fold = np.zeros(len(self.runs)), self.folds(folds)
        for k in range(folds):
            x = self.fit(fold != k, start, 4)
            step[fold == k] = self.forecast(self.values(x))[fold == k]
        return step

    def score(self, title: str, step: np.ndarray, some: np.ndarray) -> dict:
        some = some & np.isfinite(step)
        if not some.any():
            return {"title": title, "n": 0}
        error = step[some] / self.measured[some] - 1
        size = np.abs(error)
        return {
            "title": title, "n": int(some.sum()), "mean": float(size.mean()),
            "bias": float(error.mean()), "p90": float(np.quantile(size, 0.9)),
        }  # fmt: skip

    def ranking(self, step: np.ndarray, some: np.ndarray) -> float:
        """Median over model shapes of 4 runs and more of the rank correlation of time per sample."""
        shapes = collections.defaultdict(list)
        for i in np.flatnonzero(some):
            shapes[(self.runs[i]["layers"], self.runs[i]["hidden"])].append(i)
        work = np.array([run["chips"] / run["global_batch"] for run in self.runs])
        found = [
            float(spearmanr(step[at] * work[at], self.measured[at] * work[at]).statistic)
            for at in shapes.values() if len(at) >= 4
        ]  # fmt: skip
        return float(np.median(found))

    def scores(self, step: np.ndarray) -> list[dict]:
        """Of every set, and of all dense and all expert runs."""
        vtrain = np.char.startswith(self.sets.astype(str), "vtrain")
        found = []
        for name in sorted(set(self.sets)):
            for experts in (False, True):
                some = (self.sets == name) & (self.experts == experts)
                if some.any():
                    found.append(self.score(name + (" (experts)" if experts else ""), step, some))
        dense = ~self.experts & ~vtrain
        found.append(self.score("dense, quality A", step, dense & (self.quality == "A")))
        found.append(self.score("dense, quality A and B", step, dense))
        found.append(self.score("experts", step, self.experts))
        return found


def show(title: str, scores: list[dict]) -> list[dict]:
    print(f"\n{title}")
    for s in scores:
        numbers = "no run"
        if "rank" in s:
            numbers = f"n {s['n']:4d}  median {s['rank']:.2f}"
        elif s["n"] > 0:
            numbers = (
                f"n {s['n']:4d}  mean {100 * s['mean']:5.1f} %  bias {100 * s['bias']:+5.1f} %  "
                f"p90 {100 * s['p90']:5.1f} %"
            )
        print(f"{s['title']:32s} {numbers}", flush=True)
    return scores


def toml_of(values: dict[str, float]) -> str:
    tables: dict[str, dict[str, float]] = collections.defaultdict(dict)
    for name, value in values.items():
        table, constant = name.split("/")
        tables[table][constant] = value
    text = ""
    for table in sorted(tables):
        head, _, key = table.partition(".")
        text += f'[{head}."{key}"]\n' if key else f"[{head}]\n"
        for constant in sorted(tables[table]):
            text += f"{constant} = {tables[table][constant]:.4g}\n"
        text += "\n"
    return text


def band(fit: Fit, step: np.ndarray) -> dict[str, float]:
    """10 and 90 % quantiles of measured over held-out forecast, each group with the same weight."""
    out = {}
    vtrain = np.char.startswith(fit.sets.astype(str), "vtrain-single")
    for label, some in (("", ~fit.experts & ~vtrain), ("experts_", fit.experts)):
        ratio, weight = fit.measured[some] / step[some], fit.weight[some] ** 4
        order = np.argsort(ratio)
        mass = np.cumsum(weight[order]) / weight.sum()
        out[f"all/band_{label}low"] = min(1.0, float(np.interp(0.1, mass, ratio[order])))
        out[f"all/band_{label}high"] = max(1.0, float(np.interp(0.9, mass, ratio[order])))
    return out


def write(fit: Fit, x: np.ndarray, step: np.ndarray) -> None:
    names = ", ".join(f'"{name}"' for name in SOFTWARES)
    variants = ", ".join(f'"{name}" = "{base}"' for name, base in VARIANTS.items())
    values = {**fit.values(x), **band(fit, step)}
    dense = next(s for s in fit.scores(step) if s["title"] == "dense, quality A")
    OUT.write_text(
        "# What training adds to kernels and collectives measured alone. Written by\n"
        "# tools/fit_training.py from public measured runs (docs/validation/training.md); the meaning\n"
        "# and the limits of each constant are in src/analytic/step/constants.cc.\n"
        f"# {dense['n']} dense runs of quality A, each forecast by a fit without its group: mean error\n"
        f"# {100 * dense['mean']:.1f} %, bias {100 * dense['bias']:+.1f} %, p90 {100 * dense['p90']:.1f} %.\n"
        f"softwares = [{names}]\nvariants = {{ {variants} }}\n\n" + toml_of(values).rstrip() + "\n"
    )


def families(fit: Fit) -> list[dict]:
    found = []
    for title, takes in FAMILIES.items():
        some = np.array([takes(run) for run in fit.runs])
        left = fit.fit(~some)
        step = fit.forecast(fit.values(left))
        found.append(fit.score(title, step, some))
        if title == "BLOOM":
            found.append({"title": RANKING, "n": int(some.sum()), "rank": fit.ranking(step, some)})
    return found


def ablation(fit: Fit, x: np.ndarray) -> list[dict]:
    vtrain = np.char.startswith(fit.sets.astype(str), "vtrain")
    dense = ~fit.experts & ~vtrain & (fit.quality == "A")
    steps = {
        title: fit.forecast({**fit.values(x), **changes}) for title, changes in TERMS.items()
    }
    return [fit.score(title, step, dense) for title, step in steps.items()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--hold-out", action="store_true")
    parser.add_argument("--families", action="store_true")
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--write", action="store_true", help=f"write {OUT.relative_to(ROOT)}")
    parser.add_argument("--json-out", type=Path, help="write what was printed, for the docs")
    options = parser.parse_args()
    fit = Fit(options.files)
    x = fit.fit(np.ones(len(fit.runs), bool))
    found = {"all": show("all runs in the fit", fit.scores(fit.forecast(fit.values(x))))}
    if options.hold_out or options.write:
        step = fit.held_out(x)
        title = "each group forecast by a fit without it (5 folds)"
        found["held_out"] = show(title, fit.scores(step))
        if options.write:
            write(fit, x, step)
    if options.families:
        found["families"] = show("each family forecast by a fit without it", families(fit))
    if options.ablation:
        title = "without one term, nothing refitted: dense, quality A"
        found["ablation"] = show(title, ablation(fit, x))
    if options.json_out:
        options.json_out.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
