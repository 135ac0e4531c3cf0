"""Bands of training forecasts, from the errors of runs that were left out of a fit."""

from __future__ import annotations

import collections

import numpy as np

LEAST = 4  # groups of a software that has a band of its own
OTHERS = 6  # groups that the runs of other software count for in its band
MOST = 50  # groups that a set counts for


def outer(ratio: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """10 and 90 % quantiles; the forecast itself is between them."""
    told = np.isfinite(ratio) & (weight > 0)
    ratio, weight = ratio[told], weight[told]
    order = np.argsort(ratio)
    mass = np.cumsum(weight[order]) / weight.sum()
    low, high = np.interp((0.1, 0.9), mass, ratio[order])
    return min(1.0, float(low)), max(1.0, float(high))


def bands(runs: list[dict], without: dict[str, np.ndarray]) -> dict[str, float]:
    """Quantiles of measured over forecast, each group of near-duplicates with the same weight, a set with that of 50
    groups at most.

    A software's dense runs are those of sources that no fit has seen, with those of other software as so many groups
    more. Software without runs of its own has the band of software that was left out, each with the same weight; models
    with experts that of model families that were, both sides as wide as the wider: they are few groups (eight in 2026),
    which say little of the side that they miss less.
    """
    software = np.array([run["software"] for run in runs])
    groups = np.array([run["group"] for run in runs])
    experts = np.array([run["experts"] for run in runs])
    sets = np.array([run["set"] for run in runs])
    counts = collections.Counter(groups)
    weight = np.array([1 / counts[group] for group in groups])
    for name in set(sets):
        weight[sets == name] *= min(1.0, MOST / weight[sets == name].sum())
    out = {}

    def tell(table: str, label: str, ratio: np.ndarray, weight: np.ndarray) -> None:
        out[f"{table}/band_{label}low"], out[f"{table}/band_{label}high"] = outer(ratio, weight)

    dense = ~experts
    each = {name: weight[dense & (software == name)].sum() for name in set(software[dense])}
    alike = np.array([w / each[name] if d else 0 for w, name, d in zip(weight, software, dense)])
    tell("all", "", without["software"], alike)
    low, high = outer(without["model family"], np.where(experts, weight, 0))
    out["all/band_experts_low"], out["all/band_experts_high"] = min(low, 1 / high), max(high, 1 / low)
    for name in sorted(each):
        own = dense & (software == name)
        others = dense & ~own
        if len(set(groups[own])) >= LEAST:
            share = np.where(own, 1.0, np.where(others, OTHERS / weight[others].sum(), 0))
            tell(f"software.{name}", "", without["source"], weight * share)
    return out
