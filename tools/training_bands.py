"""Bands of training forecasts, from the errors of runs that were left out of a fit."""

from __future__ import annotations

import collections

import numpy as np

LEAST = 4  # groups of a software that has a band of its own
OTHERS = 2  # groups that the runs of other software count for in its band


def outer(ratio: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """10 and 90 % quantiles; the forecast itself is between them."""
    order = np.argsort(ratio)
    mass = np.cumsum(weight[order]) / weight.sum()
    low, high = np.interp((0.1, 0.9), mass, ratio[order])
    return min(1.0, float(low)), max(1.0, float(high))


def bands(runs: list[dict], ratio: np.ndarray) -> dict[str, float]:
    """Quantiles of `ratio`, measured over held-out forecast, each group with the same weight: of all runs, and of a
    software's dense ones with all others as so many groups more."""
    out = {}
    software = np.array([run["software"] for run in runs])
    groups = np.array([run["group"] for run in runs])
    experts = np.array([run["experts"] for run in runs])
    counts = collections.Counter(groups)
    weight = np.array([1 / counts[group] for group in groups])

    def tell(table: str, label: str, some: np.ndarray, weight: np.ndarray) -> None:
        some = some & np.isfinite(ratio)
        low, high = outer(ratio[some], weight[some])
        out[f"{table}/band_{label}low"], out[f"{table}/band_{label}high"] = low, high

    dense = ~experts & np.array([run["set"] != "vtrain-single" for run in runs])
    tell("all", "", dense, weight)
    tell("all", "experts_", experts, weight)
    for name in sorted(set(software[~experts])):
        own = ~experts & (software == name)
        others = dense & ~own
        if len(set(groups[own])) >= LEAST:
            share = np.where(own, 1.0, OTHERS / weight[others].sum())
            tell(f"software.{name}", "", own | others, weight * share)
    return out
