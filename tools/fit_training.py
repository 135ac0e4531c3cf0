#!/usr/bin/env python3
"""Fits catalog/training/constants.toml to measured training runs.

    tools/fit_training.py ../shared/measured/training{,_more}.json ../shared/measured/training_vtrain.csv
    tools/fit_training.py FILES... --hold-out      errors on runs that were left out of the fit
    tools/fit_training.py FILES... --leave-out     the same by source, chip, model family and year; what was found out about
                                                   launches in runs that are left out is left out, too
    tools/fit_training.py FILES... --ablation      errors with each term of the model switched off

Needs numpy and scipy, and the flopcast package of this tree on PYTHONPATH (build/release/python).

Every constant has a physical meaning and limits (src/machine/training_constants.cc); the fit starts
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
import tomllib
import zlib
from pathlib import Path

import numpy as np
from scipy.optimize import lsq_linear
from scipy.stats import spearmanr

from flopcast import _native
from training_bands import bands, coverage
from training_constants import ASSUMED, PARAMETERS, SIBLINGS, SOFTWARES, VARIANTS
from training_groups import FAMILIES, LATER, SHARED, generation

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "catalog/training/constants.toml"
SCALE = 0.06  # of a residual: what a good forecast is off by
STEP = 0.02  # of a constant's logarithm, for slopes: wider than the steps of the schedules

# Weight of a set whose runs are many and alike, as if it had so many.
AS_MANY = {"vtrain-single": 60, "vtrain-multi": 50}
SAMPLED, EVERY = "vtrain-single", 4  # a set of which a fit takes one run of so many, and forecasts all
EXPERT_WEIGHT = 0.6  # few groups, release noise of tens of per cent

# What the ablation switches off: constants at the value where the term vanishes.
TERMS = {
    "rates under load": {n: 1.0 for n in PARAMETERS if n.startswith(("chip.", "pair.")) and "attention" not in n},
    "attention of the software": {n: 1.0 for n in PARAMETERS if "attention_share" in n},
    "unfused traffic": {n: 1.0 for n in PARAMETERS if "unfused" in n},
    "host and fixed costs": {
        n: 0.0 for n in {**PARAMETERS, **ASSUMED} if "launch" in n or n.endswith(("microbatch_s", "step_s"))
    },
    "gradients added up apart": {n: 0.0 for n in ASSUMED if n.endswith("adds_apart")},
    "contention": {"all/contention": 0.0},
    "stragglers": {"all/straggler": 0.0},
    "all overlap of gradients": {"all/gradient_overlap": 0.0},
    "all overlap of tensor transfers": {"all/tensor_overlap": 0.0, "all/async_overlap": 0.0},
}
EXPERT_TERMS = {
    "rates of experts' products": {"all/expert_share": 1.0, "all/expert_kernel_s": 0.0},
    "sorting of rows": {n: 0.0 for n in PARAMETERS if n.endswith("expert_traffic")},
    "launches of experts": {n: 0.0 for n in PARAMETERS if n.endswith("expert_host_s")},
    "rows sent once": {n: 0.0 for n in ASSUMED if n.endswith("expert_once")},
    "passes by kernels apart": {n: 0.0 for n in ASSUMED if n.endswith("expert_eager")},
    "overlap of experts' transfers": {"all/expert_overlap": 0.0},
    "activations apart": {n: 0.0 for n in ASSUMED if n.endswith("apart_activations")},
    "windows in 8 bits": {n: 0.0 for n in ASSUMED if n.endswith("whole_windows")},
}
FOLDS = 5

UNTOLD = 1e-6  # slopes below which a run says nothing of a constant
LEAST = 4  # runs of a group that is shown apart
RANKING = "BLOOM, rank correlation"


def depends(run: dict, name: str) -> bool:
    """Whether a run's chip and software are those of a constant's table."""
    head, _, key = name.split("/")[0].partition(".")
    chip, _, software = key.partition("+") if head == "pair" else (key, "", key)
    names = [run["software"]]
    while names[-1] in VARIANTS:
        names.append(VARIANTS[names[-1]])
    on_chip = generation(run) == chip or chip in run["cluster"] or (chip.startswith("cdna") and "mi3" in run["cluster"])
    return {"all": True, "chip": on_chip, "software": software in names}.get(head, on_chip and software in names)


class Fit:
    def __init__(self, files: list[str]):
        self.files = files
        self.native = _native.TrainingRuns(files)
        self.runs = self.native.complete()
        self.measured = np.array([run["measured_s"] for run in self.runs])
        self.experts = np.array([run["experts"] for run in self.runs])
        self.sets = np.array([run["set"] for run in self.runs])
        self.quality = np.array([run["quality"] for run in self.runs])
        sampled = [zlib.crc32(run["id"].encode()) % EVERY == 0 for run in self.runs]
        self.fitted = np.array(sampled) | (self.sets != SAMPLED)
        self.weight = self._weights()
        limits = {c["name"]: (c["low"], c["high"]) for c in _native.training_constants()}
        self.bounds = limits
        self.names = list(PARAMETERS)
        self.expected = np.log([PARAMETERS[n][0] for n in self.names])
        self.spread = np.array([PARAMETERS[n][1] for n in self.names])
        self.limits = {n: limits[n.split("/")[1]] for n in self.names}
        factor = (0.2, 5.0)
        bounds = [factor if n in SIBLINGS else self.limits[n] for n in self.names]
        self.low = np.log([max(low, 1e-7) for low, _ in bounds])
        self.high = np.log([high for _, high in bounds])
        self.fixed: dict[str, float] = {}  # constants at other values than the fit's, while a term is off
        self.full: tuple[np.ndarray, np.ndarray] | None = None  # fit of all runs, and slopes there
        self.left_out: dict[str, np.ndarray] = {}  # forecasts without what runs share, by its name

    def _weights(self) -> np.ndarray:
        groups = collections.Counter(run["group"] for run in self.runs)
        weight = np.array([groups[run["group"]] ** -0.25 for run in self.runs])
        for name, many in AS_MANY.items():
            members = (self.sets == name) & self.fitted
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
        return {**values, **self.fixed}

    def forecast(self, values: dict[str, float], some: np.ndarray | None = None, native: object = None) -> np.ndarray:
        """Of all runs, or of some by their places among those that `native` reads: by default with all that is known."""
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(toml_of(values))
            file.flush()
            return np.array((native or self.native).forecast(file.name, [] if some is None else some.tolist()))

    def residuals(self, x: np.ndarray, some: np.ndarray) -> np.ndarray:
        """Weighted residuals of some runs, then those of the prior."""
        step = self.forecast(self.values(x), some)
        off = np.where(np.isfinite(step), np.log(step / self.measured[some]), 0)
        return np.concatenate([off * self.weight[some] / SCALE, (x - self.expected) / self.spread])

    def slopes(self, x: np.ndarray, some: np.ndarray) -> np.ndarray:
        """Of the residuals of some runs; zero in the rows of others."""
        out = np.zeros((len(self.runs) + len(x), len(x)))
        base = np.zeros(len(self.runs))
        base[some] = self.residuals(x, some)[: len(some)]
        for k, name in enumerate(self.names):
            moved = x.copy()
            moved[k] += STEP if x[k] + STEP <= self.high[k] else -STEP
            told = some[self.told_by(name)[some]]
            if len(told) > 0:
                there = self.residuals(moved, told)[: len(told)]
                out[told, k] = (there - base[told]) / (moved[k] - x[k])
            out[len(self.runs) + k, k] = 1 / self.spread[k]
        return out

    def told_by(self, name: str) -> np.ndarray:
        """Runs that may depend on a constant: of its chip and software, and of those that take it from there."""
        takers = [name]
        for one in takers:
            takers += [taker for taker, sibling in SIBLINGS.items() if sibling == one]
        return np.array([any(depends(run, taker) for taker in takers) for run in self.runs])

    def descend(self, x: np.ndarray, slopes: np.ndarray, some: np.ndarray, rounds: int) -> np.ndarray:
        """Gauss-Newton steps within the limits under a soft-L1 loss, the slopes held."""
        slopes = slopes[np.concatenate([some, len(self.runs) + np.arange(len(x))])]
        loss = lambda r: float(np.sum(np.sqrt(1 + r**2) - 1))  # noqa: E731
        # What no run of these tells is what is expected, whatever the fit it starts from made of it.
        untold = np.abs(slopes[: len(some)]).max(axis=0) < UNTOLD
        x = np.clip(np.where(untold, self.expected, x), self.low, self.high)
        off = self.residuals(x, some)
        for _ in range(rounds):
            before = loss(off)
            for damping in (0.0, 0.1, 1.0, 10.0):
                moved = self.step(x, off, slopes, damping)
                there = self.residuals(moved, some)
                if loss(there) < before:
                    x, off = moved, there
                    break
            if before - loss(off) < 1e-3 * before:
                break
        return x

    def step(self, x: np.ndarray, off: np.ndarray, slopes: np.ndarray, damping: float) -> np.ndarray:
        """One damped step (Levenberg-Marquardt) within the limits."""
        weight = (1 + off**2) ** -0.25
        slopes = slopes * weight[:, None]
        held = np.diag(math.sqrt(damping) * np.linalg.norm(slopes, axis=0))
        limits = (self.low - x - 1e-9, self.high - x + 1e-9)
        found = lsq_linear(np.vstack([slopes, held]), np.concatenate([-off * weight, np.zeros(len(x))]), limits)
        return np.clip(x + found.x, self.low, self.high)

    def start(self) -> np.ndarray:
        """The catalogue's values, so that a fit of a few more runs takes a few rounds."""
        now = tomllib.loads(OUT.read_text())
        held = {f"{table}/{name}": value for table, values in flat(now).items() for name, value in values.items()}
        x = self.expected.copy()
        for i, name in enumerate(self.names):
            if held.get(name, 0) > 0:
                x[i] = math.log(held[name] / held.get(SIBLINGS.get(name, ""), 1.0))
        return np.clip(x, self.low, self.high)

    def fit_all(self) -> np.ndarray:
        """The fit of all runs. Its slopes serve every fit that leaves some out."""
        self.full = self.fit_anew(self.start(), self.fitted)
        return self.full[0]

    def fit_anew(self, x: np.ndarray, use: np.ndarray, rounds: int = 2) -> tuple[np.ndarray, np.ndarray]:
        """A fit of some runs by slopes of its own, and those."""
        some = np.flatnonzero(use & self.fitted)
        slopes = np.zeros(0)
        for _ in range(rounds):
            slopes = self.slopes(x, some)
            x = self.descend(x, slopes, some, 4)
        return x, slopes

    def fit(self, use: np.ndarray) -> np.ndarray:
        """A fit of some runs, from that of all."""
        if self.full is None:
            self.fit_all()
        x, slopes = self.full
        return self.descend(x, slopes, np.flatnonzero(use & self.fitted), 4)

    def held_out_with(self, fixed: dict[str, float], keys: np.ndarray) -> np.ndarray:
        """Forecasts of every run with some constants fixed and one step of the others, from the fit of all, on the
        runs that do not share its key."""
        x, slopes = self.full
        held = np.array([name in fixed for name in self.names])
        self.fixed = {name: self.within(name, value) for name, value in fixed.items()}
        step = np.zeros(len(self.runs))
        for key in sorted(set(keys)):
            some = keys == key
            there = self.descend(x, np.where(held, 0, slopes), np.flatnonzero(~some & self.fitted), 1)
            step[some] = self.forecast(self.values(there), np.flatnonzero(some))
        self.fixed = {}
        return step

    def within(self, name: str, value: float) -> float:
        """The value nearest to one at which a term vanishes that the constant's limits allow."""
        low, high = self.bounds[name.split("/")[1]]
        return min(max(value, low), high)

    def forecast_without(self, some: np.ndarray) -> np.ndarray:
        """Forecasts of some runs with constants fitted to all others, and read without the rules on publishers' launches
        (catalog/training/launches.toml) that nothing but these runs tells of."""
        return self.forecast_unseen(self.values(self.fit(~some)), some)

    def forecast_unseen(self, values: dict[str, float], some: np.ndarray) -> np.ndarray:
        """Forecasts of some runs as those whose sets nobody has seen are read."""
        gone = sorted(name for name in set(self.sets[some]) if some[self.sets == name].all())
        if not gone:
            return self.forecast(values, np.flatnonzero(some))
        unseen = _native.TrainingRuns(self.files, unseen=gone)
        at = {(run["set"], run["id"]): i for i, run in enumerate(unseen.complete())}
        places = np.array([at.get((self.runs[i]["set"], self.runs[i]["id"]), -1) for i in np.flatnonzero(some)])
        step = np.full(len(places), math.nan)
        if (read := places >= 0).any():
            step[read] = self.forecast(values, places[read], unseen)
        return step

    def folds(self, count: int) -> np.ndarray:
        return np.array([zlib.crc32(run["group"].encode()) % count for run in self.runs])

    def held_out(self, keys: np.ndarray) -> np.ndarray:
        """Forecasts of every run with constants fitted without all that share its key."""
        step = np.zeros(len(self.runs))
        for key in sorted(set(keys)):
            step[keys == key] = self.forecast_without(keys == key)
        return step

    def without(self, what: str) -> np.ndarray:
        """Forecasts of every run by a fit without those of its fold, its software, or what SHARED calls so."""
        keys = {**SHARED, "software": lambda run: run["software"]}
        if what not in self.left_out:
            of_runs = self.folds(FOLDS) if what == "fold" else np.array([keys[what](run) for run in self.runs])
            self.left_out[what] = self.held_out(of_runs)
        return self.left_out[what]

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
        return float(np.median(found)) if found else math.nan

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
        if "known" in s:
            numbers = f"n {s['n']:4d}  source known {100 * s['known']:5.1f} %  unseen {100 * s['unseen']:5.1f} %"
        elif "rank" in s:
            numbers = f"n {s['n']:4d}  median {s['rank']:.2f}"
        elif s["n"] > 0:
            numbers = (
                f"n {s['n']:4d}  mean {100 * s['mean']:5.1f} %  bias {100 * s['bias']:+5.1f} %  "
                f"p90 {100 * s['p90']:5.1f} %"
            )
        print(f"{s['title']:32s} {numbers}", flush=True)
    return scores


def flat(document: dict) -> dict[str, dict[str, float]]:
    """Tables by their whole names: all, chip.hopper, software.fsdp."""
    tables = {"all": document["all"]}
    for head in ("chip", "software", "pair"):
        tables |= {f"{head}.{key}": values for key, values in document.get(head, {}).items()}
    return tables


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


def missed(fit: Fit) -> dict[str, np.ndarray]:
    """Measured over forecast by fits that leave out what bands ask for."""
    return {what: fit.measured / fit.without(what) for what in ("fold", "source", "model family", "software")}


def kept_of(text: str) -> str:
    """What a file of constants holds that no fit of this program finds, from its rule on."""
    _, rule, kept = text.partition("\n# --- not of single chips and softwares")
    return rule + kept


def write(fit: Fit, x: np.ndarray) -> None:
    names = ", ".join(f'"{name}"' for name in SOFTWARES)
    variants = ", ".join(f'"{name}" = "{base}"' for name, base in VARIANTS.items())
    values = {**fit.values(x), **bands(fit.runs, missed(fit))}
    step = fit.without("fold")
    dense = next(s for s in fit.scores(step) if s["title"] == "dense, quality A")
    OUT.write_text(
        "# What training adds to kernels and collectives measured alone. Written by\n"
        "# tools/fit_training.py from public measured runs (docs/validation/training.md); the meaning\n"
        "# and the limits of each constant are in src/machine/training_constants.cc.\n"
        f"# {dense['n']} dense runs of quality A, each forecast by a fit without its group: mean error\n"
        f"# {100 * dense['mean']:.1f} %, bias {100 * dense['bias']:+.1f} %, p90 {100 * dense['p90']:.1f} %.\n"
        f"softwares = [{names}]\nvariants = {{ {variants} }}\n\n" + toml_of(values).rstrip() + "\n"
        + kept_of(OUT.read_text())
    )


def families(fit: Fit) -> list[dict]:
    found = []
    for title, takes in FAMILIES.items():
        some = np.array([takes(run) for run in fit.runs])
        step = np.full(len(fit.runs), np.nan)
        if some.any():
            step[some] = fit.forecast_without(some)
        found.append(fit.score(title, step, some))
        if title == "BLOOM" and some.any():
            found.append({"title": RANKING, "n": int(some.sum()), "rank": fit.ranking(step, some)})
    return found


def later(fit: Fit) -> list[dict]:
    """The sets that were collected last, left out as a whole of a fit with slopes of its own."""
    some = np.isin(fit.sets, LATER)
    if not some.any():
        return []
    x, _ = fit.fit_anew(fit.expected.copy(), ~some, 3)
    step = np.full(len(fit.runs), np.nan)
    step[some] = fit.forecast_unseen(fit.values(x), some)
    found = [fit.score(title, step, some & kind) for title, kind in (("dense", ~fit.experts), ("experts", fit.experts))]
    return found + [row for row in fit.scores(step) if row["n"] > 0 and row["title"].split()[0] in LATER]


def leave_out(fit: Fit) -> list[dict]:
    """Runs forecast by fits without those they share something with, dense ones and those with experts."""
    found = []
    dense = ~fit.experts & (fit.sets != "vtrain-single")
    for what, key_of in SHARED.items():
        keys = np.array([key_of(run) for run in fit.runs])
        step = fit.without(what)
        for title, some in ((what, dense), (f"{what}, experts", fit.experts)):
            found.append(fit.score(f"{title}: all", step, some))
            groups = [fit.score(f"{title}: {key}", step, some & (keys == key)) for key in sorted(set(keys))]
            found += [group for group in groups if group["n"] >= LEAST]
    return found


def ablation(fit: Fit) -> list[dict]:
    """What each term buys on groups left out of the fit: dense runs of quality A, then those with experts."""
    vtrain = np.char.startswith(fit.sets.astype(str), "vtrain")
    dense = ~fit.experts & ~vtrain & (fit.quality == "A")
    keys = fit.folds(FOLDS)
    found = []
    for what, some, terms in (("dense", dense, TERMS), ("experts", fit.experts, EXPERT_TERMS)):
        for title, changes in {"nothing": {}, **terms}.items():
            found.append(fit.score(f"{what}: {title}", fit.held_out_with(changes, keys), some))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--hold-out", action="store_true")
    parser.add_argument("--leave-out", action="store_true")
    parser.add_argument("--families", action="store_true")
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--write", action="store_true", help=f"write {OUT.relative_to(ROOT)}")
    parser.add_argument("--json-out", type=Path, help="write what was printed, for the docs")
    options = parser.parse_args()
    fit = Fit(options.files)
    x = fit.fit_all()
    found = {"all": show("all runs in the fit", fit.scores(fit.forecast(fit.values(x))))}
    if options.hold_out or options.write:
        step = fit.without("fold")
        title = f"each group forecast by a fit without it ({FOLDS} folds)"
        found["held_out"] = show(title, fit.scores(step))
        if options.write:
            write(fit, x)
    if options.leave_out:
        found["leave_out"] = show("forecast by a fit without all that share this", leave_out(fit))
        found["later"] = show("the sets collected last, forecast by a fit without them", later(fit))
        found["coverage"] = show("inside the band", coverage(fit.runs, missed(fit)))
    if options.families:
        found["families"] = show("each family forecast by a fit without it", families(fit))
    if options.ablation:
        found["ablation"] = show("without one term, each group forecast by a fit without it", ablation(fit))
    if options.json_out:
        options.json_out.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
