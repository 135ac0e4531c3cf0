#!/usr/bin/env python3
"""Bands of training forecasts, from the errors of runs that were left out of a fit; and of forecasts whose software nobody
told, from those of runs that are forecast as if nobody had; how well memory is known; and which plans forecasts do not tell
apart:

    tools/training_bands.py ../shared/measured/training{,_more}.json ../shared/measured/training_vtrain.csv tests/data/training_tpu.json
        --also ../shared/measured/training_third.json

writes catalog/training/bands.toml, and says which share of each set lies inside. Needs numpy, and flopcast (--flopcast).
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import subprocess
import tomllib
from pathlib import Path

import numpy as np
from training_constants import VARIANTS

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "catalog/training/bands.toml"

LEAST = 4  # groups of a software that has a band of its own
OTHERS = 6  # groups that the runs of other software count for in its band
MOST = 50  # groups that a set counts for
KNOWN = 0.5  # share of runs that are foretold whose source the fit knows
NEAR = 0.1  # logarithm of how far the times of plans that are compared may be apart: few are nearer
TURNED = 1 / 3  # of pairs that tie, how many are measured the other way round at least


def outer(ratio: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """10 and 90 % quantiles; the forecast itself is between them."""
    told = np.isfinite(ratio) & (weight > 0)
    ratio, weight = ratio[told], weight[told]
    order = np.argsort(ratio)
    mass = (np.cumsum(weight[order]) - weight[order] / 2) / weight.sum()
    low, high = np.interp((0.1, 0.9), mass, ratio[order])
    return min(1.0, float(low)), max(1.0, float(high))


def mixed(known: np.ndarray, weight: np.ndarray, unseen: list[np.ndarray], each: np.ndarray) -> tuple[float, float]:
    """Quantiles where half of the runs are of sources that the fit knows and half are not. How far a fit without a
    source misses it tells how far the next one may be off, but not which way: its errors count on both sides."""
    ratios, weights = [known], [weight / weight.sum() * KNOWN]
    share = each / each.sum() * (1 - KNOWN) / (2 * len(unseen))
    for ratio in unseen:
        ratios += [ratio, 1 / ratio]
        weights += [share, share]
    return outer(np.concatenate(ratios), np.concatenate(weights))


def weights(runs: list[dict]) -> tuple[np.ndarray, np.ndarray]:
    """Of runs: each group counts once, a set as 50 groups at most; and each source about once, dense runs and others apart:
    of n groups, n / (n + 1), since one group scatters about as much as sources differ."""
    groups = np.array([run["group"] for run in runs])
    experts = np.array([run["experts"] for run in runs])
    sets = np.array([run["set"] for run in runs])
    counts = collections.Counter(groups)
    weight = np.array([1 / counts[group] for group in groups])
    for name in set(sets):
        weight[sets == name] *= min(1.0, MOST / weight[sets == name].sum())
    source = weight.copy()
    for name in set(sets):
        for kind in (experts, ~experts):
            if (members := (sets == name) & kind).any():
                source[members] /= 1 + source[members].sum()
    return weight, source


def bands(runs: list[dict], without: dict[str, np.ndarray]) -> dict[str, float]:
    """Quantiles of measured over forecast.

    @param without measured over forecast by fits that have not seen what runs share: their group of near-duplicates
                   ("fold"), their "source", their "model family", their "software".

    A run whose source the fit knows is off by what runs are whose group alone was left out, each group with the same
    weight, a set with that of 50 groups at most. One of a source that it does not know is off by what runs are whose
    source was left out, each source with the same weight (of n groups, n / (n + 1): one group scatters about as much as
    sources differ, and a source of one says little of either). A software's dense runs have a band of their own, in
    which those of other software count for so many groups, and for a source, more.
    Software without runs of its own has that of software that was left out; models with experts that of sources and
    model families that were, and each source has the same weight throughout: they differ more than runs of one do.
    """
    software = np.array([run["software"] for run in runs])
    groups = np.array([run["group"] for run in runs])
    experts = np.array([run["experts"] for run in runs])
    weight, source = weights(runs)
    out = {}

    def tell(table: str, label: str, found: tuple[float, float]) -> None:
        out[f"{table}/band_{label}low"], out[f"{table}/band_{label}high"] = found

    dense = ~experts
    each = {name: weight[dense & (software == name)].sum() for name in set(software[dense])}
    alike = np.array([w / each[name] if d else 0 for w, name, d in zip(weight, software, dense)])
    ratio = without["software"]
    tell("all", "", outer(np.concatenate([ratio, 1 / ratio]), np.concatenate([alike, alike])))
    if experts.any():
        unseen = [without["source"], without["model family"]]
        each_source = np.where(experts, source, 0)
        found = mixed(without["fold"], each_source, unseen, each_source)
        tell("all", "experts_", found)
    for name in sorted(each):
        own = dense & (software == name)
        others = dense & ~own
        if len(set(groups[own])) < LEAST:
            continue
        runs_of, sources = np.where(own, weight, 0), np.where(own, source, 0)
        if others.any():
            runs_of[others] = weight[others] * OTHERS / weight[others].sum()
            sources[others] = source[others] / source[others].sum()
        tell(f"software.{name}", "", mixed(without["fold"], runs_of, [without["source"]], sources))
    return out


def unstated(runs: list[dict], ratio: np.ndarray) -> dict[str, tuple[float, float]]:
    """Quantiles of measured over forecast where nobody tells the software: each source has the same weight, so the band
    spans what softwares differ by and not what one of them scatters by."""
    experts = np.array([run["experts"] for run in runs])
    _, source = weights(runs)
    kinds = {"dense": ~experts, "experts": experts}
    return {name: outer(ratio, np.where(kind, source, 0)) for name, kind in kinds.items() if kind.any()}


def unstated_coverage(runs: list[dict], ratio: np.ndarray) -> list[dict]:
    """Share of the runs of each set inside the band; and inside that of all other sets, which never saw it."""
    kinds = [(run["set"], "experts" if run["experts"] else "dense") for run in runs]
    of_all, rows = unstated(runs, ratio), []
    for name, kind in sorted(set(kinds)):
        some = [i for i, other in enumerate(kinds) if other == (name, kind)]
        others = [i for i, run in enumerate(runs) if run["set"] != name]
        left = unstated([runs[i] for i in others], ratio[others])
        inside = [
            float(np.mean([low <= ratio[i] <= high for i in some])) for low, high in (of_all[kind], left.get(kind, (1, 1)))
        ]
        rows.append({"set": name, "kind": kind, "n": len(some), "known": inside[0], "unseen": inside[1]})
    return rows


def memory_band(runs: list[dict], ratio: np.ndarray) -> tuple[float, float]:
    """Quantiles of measured over forecast memory. No constant of memory is refitted, so that what a run is off by is the
    same whether a fit knew its source or not; how likely the next source is off as those are is asked all the same."""
    weight, source = weights(runs)
    return mixed(ratio, weight, [ratio], source)


def memory_coverage(runs: list[dict], ratio: np.ndarray) -> list[dict]:
    """Share of the runs of each source inside the band; and inside that of all other sources, which never saw it."""
    known, rows = memory_band(runs, ratio), []
    for name in sorted({run["set"] for run in runs}):
        some = np.array([run["set"] == name for run in runs])
        left = memory_band([run for run in runs if run["set"] != name], ratio[~some])
        inside = [float(np.mean((low <= ratio[some]) & (ratio[some] <= high))) for low, high in (known, left)]
        rows.append({"set": name, "n": int(some.sum()), "known": inside[0], "unseen": inside[1]})
    return rows


def turned(runs: list[dict], measured: np.ndarray, forecast: np.ndarray, nearest: float) -> tuple[float, int, int]:
    """How much two plans of one problem have to differ for their order to be known: the factor between forecasts up to
    which a third of the pairs or more are measured the other way round, if what pairs are off by is as likely one way as the
    other. Each problem counts the same, each source about the same.

    @param nearest logarithm of how far the forecasts of a pair may be apart
    @return the factor, and how many pairs of how many problems it rests on
    """
    problems: dict[str, list[int]] = collections.defaultdict(list)
    for i, run in enumerate(runs):
        problems[run["set"] + run["problem"]].append(i)
    off, weight = [], []
    sources = collections.Counter()
    pairs = {}
    for name, members in problems.items():
        near = [
            (i, j)
            for i, j in itertools.combinations(members, 2)
            if runs[i]["plan"] != runs[j]["plan"] and abs(np.log(forecast[i] / forecast[j])) <= nearest
        ]
        if near:
            pairs[name] = near
            sources[runs[members[0]]["set"]] += 1
    for near in pairs.values():
        for i, j in near:
            off.append(abs(np.log(measured[i] / measured[j]) - np.log(forecast[i] / forecast[j])))
            weight.append(1 / len(near) / (1 + sources[runs[i]["set"]]))
    order = np.argsort(off)
    weight = np.array(weight)[order]
    mass = (np.cumsum(weight) - weight / 2) / weight.sum()
    # Of pairs off by more than their forecasts differ, half are off the way that turns them round.
    return float(np.exp(np.interp(1 - 2 * TURNED, mass, np.array(off)[order]))), len(off), len(pairs)


def band_of(found: dict[str, float], run: dict) -> tuple[float, float]:
    """The band of a run's forecast, as the catalogue gives it."""
    if run["experts"]:
        return found["all/band_experts_low"], found["all/band_experts_high"]
    names = [run["software"]]
    while names[-1] in VARIANTS:
        names.append(VARIANTS[names[-1]])
    table = next((f"software.{name}" for name in names if f"software.{name}/band_low" in found), "all")
    return found[f"{table}/band_low"], found[f"{table}/band_high"]


def coverage(runs: list[dict], without: dict[str, np.ndarray]) -> list[dict]:
    """Share of the runs of each set that lie in their bands: forecast by a fit without their group, under the bands of
    all runs; and by one without their source, under the bands of the others, which never saw it either."""
    sets = np.array([run["set"] for run in runs])
    all_bands = bands(runs, without)

    def within(ratio: np.ndarray, found: dict[str, float], at: int) -> bool:
        low, high = band_of(found, runs[at])
        return bool(low <= ratio[at] <= high)

    rows = []
    for name in sorted(set(sets)):
        others = np.flatnonzero(sets != name)
        unseen = bands([runs[i] for i in others], {key: ratio[others] for key, ratio in without.items()})
        for experts in (False, True):
            some = [i for i in np.flatnonzero(sets == name) if runs[i]["experts"] == experts]
            if some:
                known = float(np.mean([within(without["fold"], all_bands, i) for i in some]))
                left = float(np.mean([within(without["source"], unseen, i) for i in some]))
                title = name + (" (experts)" if experts else "")
                rows.append({"title": title, "n": len(some), "experts": experts, "known": known, "unseen": left})
    for title, experts in (("dense, mean of sets", False), ("experts, mean of sets", True)):
        some = [row for row in rows if row["experts"] == experts and row["n"] >= LEAST]
        if some:
            means = {key: float(np.mean([row[key] for row in some])) for key in ("known", "unseen")}
            rows.append({"title": title, "n": sum(row["n"] for row in some), "experts": experts, **means})
    return rows


def forecasts(program: Path, files: list[Path], *flags: str) -> list[dict]:
    """Runs of quality A and B; with --no-software as if nobody had told their software."""
    found = []
    for file in files:
        command = [program, "validate", "training", file, *flags, "--json", "--cases"]
        document = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        found += [case for case in document["cases"] if "failure" not in case and case["quality"] != "C"]
    return found


def architecture_of(chips: dict[str, dict], name: str) -> str:
    """Its own, or that of the chip it is like."""
    while "architecture" not in chips[name]:
        name = chips[name]["like"]
    return chips[name]["architecture"]


def architectures(runs: list[dict]) -> list[str]:
    """Of the chips that runs were on, as the catalogue has them."""
    tables: dict[str, dict] = {"chip": {}, "node": {}}
    for path in sorted((ROOT / "catalog").glob("*.toml")):
        file = tomllib.loads(path.read_text(encoding="utf-8"))
        for kind in tables:
            tables[kind] |= file.get(kind, {})
    names = {run["cluster"].split(",")[0].split(" x ")[-1] for run in runs}
    chips = {tables["node"][name]["chip"] if name in tables["node"] else name for name in names}
    return sorted({architecture_of(tables["chip"], chip) for chip in chips if chip in tables["chip"]})


def toml_of_memory(runs: list[dict]) -> str:
    """How well memory is known, of runs that tell theirs."""
    told = [run for run in runs if "measured_memory_bytes" in run]
    low, high = memory_band(told, np.array([run["measured_memory_bytes"] / run["memory_bytes"] for run in told]))
    sets = len({run["set"] for run in told})
    return (
        "\n# What a chip needs: 10 and 90 % quantiles of measured / forecast, each group of runs the same, and for half of the\n"
        "# band each source the same, either way.\n"
        f'[memory]\nsource = "runs"\nbasis = "fitted"\nruns = "{len(told)} runs of {sets} sets"\n'
        f"low = {low:.4g}\nhigh = {high:.4g}\n"
    )


def toml_of_ties(runs: list[dict]) -> str:
    """Which plans forecasts do not tell apart."""
    told = [run for run in runs if "measured_memory_bytes" in run]
    time, *of_time = turned(runs, *(np.array([run[key] for run in runs]) for key in ("measured_s", "forecast_s")), NEAR)
    keys = ("measured_memory_bytes", "memory_bytes")
    memory, *of_memory = turned(told, *(np.array([run[key] for run in told]) for key in keys), np.inf)
    return (
        "\n# Two plans of one model on one machine whose forecasts differ by less than this factor are measured the other way\n"
        "# round in a third of the pairs or more.\n"
        '[ties]\nsource = "runs"\nbasis = "fitted"\n'
        f'pairs = "time: {of_time[0]} of {of_time[1]} problems; memory: {of_memory[0]} of {of_memory[1]}"\n'
        f"time = {time:.4g}\nmemory = {memory:.4g}\n"
    )


def toml_of_unstated(runs: list[dict], ratio: np.ndarray) -> str:
    text = (
        "# Bands of steps whose software nobody told: 10 and 90 % quantiles of measured / forecast over runs of whatever software\n"
        "# there is, forecast with the first of constants.toml. Written by tools/training_bands.py.\n\n[sources]\n"
        'runs = "public measured runs (docs/validation/training.md), each source with the same weight"\n'
    )
    for name, (low, high) in unstated(runs, ratio).items():
        some = [run for run in runs if run["experts"] == (name == "experts")]
        sets = len({run["set"] for run in some})
        text += f'\n[unstated.{name}]\nsource = "runs"\nbasis = "fitted"\nruns = "{len(some)} runs of {sets} sets"\n'
        text += f"low = {low:.4g}\nhigh = {high:.4g}\n"
    listed = ", ".join(f'"{name}"' for name in architectures(runs))
    text += "\n# On chips of an architecture that none of the runs was on, wider by the factor of constants.toml, [unseen_chip].\n"
    text += f'[seen_chips]\nsource = "runs"\narchitectures = [{listed}]\n'
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--also", nargs="*", type=Path, default=[], help="runs of which memory and ties are asked alone")
    parser.add_argument("--flopcast", type=Path, default=ROOT / "build/release/flopcast")
    parser.add_argument("--dry-run", action="store_true", help="say the shares, and write nothing")
    options = parser.parse_args()
    told = forecasts(options.flopcast, options.files + options.also)
    runs = forecasts(options.flopcast, options.files, "--no-software")
    ratio = np.array([run["measured_s"] / run["forecast_s"] for run in runs])
    rows = unstated_coverage(runs, ratio)
    for row in rows:
        print(f"{row['set']:26} {row['kind']:8} {row['n']:5} {100 * row['known']:5.0f} % {100 * row['unseen']:5.0f} %")
    for kind in ("dense", "experts"):
        some = [row for row in rows if row["kind"] == kind and row["n"] >= LEAST]
        means = [100 * float(np.mean([row[key] for row in some])) for key in ("known", "unseen")]
        print(f"{'mean of sets':26} {kind:8} {sum(row['n'] for row in some):5} {means[0]:5.0f} % {means[1]:5.0f} %")
    of_memory = [run for run in told if "measured_memory_bytes" in run]
    for row in memory_coverage(of_memory, np.array([run["measured_memory_bytes"] / run["memory_bytes"] for run in of_memory])):
        print(f"memory: {row['set']:18} {row['n']:5} {100 * row['known']:5.0f} % {100 * row['unseen']:5.0f} %")
    if not options.dry_run:
        OUT.write_text(toml_of_unstated(runs, ratio) + toml_of_memory(told) + toml_of_ties(told), encoding="utf-8")
        print(OUT)


if __name__ == "__main__":
    main()
