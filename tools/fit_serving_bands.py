#!/usr/bin/env python3
"""Writes catalog/serving/bands.toml: 10-90 % bands of forecasts of deployments, from measured points.

    build/release/flopcast validate serving ../shared/measured/serving.json --alone --csv > build/serving.csv
    build/release/flopcast validate serving-trace ../shared/serving/vllm_measured_RTX4090_Llama-3.1-8B.jsonl --json > build/timeline.json
    tools/fit_serving_bands.py build/serving.csv --timelines build/timeline.json ... --out catalog/serving/bands.toml

A band is the 10 and 90 % quantiles of measured over forecast, by engine, apart for aggregated and disaggregated serving. Points of
one deployment are no independent draws, so each (chip, model, precision, layout, lengths) has one vote in all. Points tell means;
by how much percentiles are off beyond those is that of measured timelines (each percentile has a vote).
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from pathlib import Path

HEADER = """# 10-90 % bands of forecasts of deployments, as factors of the forecast: measured over forecast on the public points of
# docs/validation/serving.md, by engine. Written by tools/fit_serving_bands.py.
"""
PERCENTILES = """
# By how much percentiles (p50 to p99) were off beyond their mean: measured over forecast, by that of the mean, on the
# measured timelines of docs/validation/serving.md.
[percentiles]
"""
LEAST = 8  # points of a group


def quantile(pairs: list[tuple[float, float]], q: float) -> float:
    """Of (value, weight)."""
    pairs = sorted(pairs)
    whole = sum(weight for _, weight in pairs)
    passed = 0.0
    for value, weight in pairs:
        passed += weight
        if passed >= q * whole:
            return value
    return pairs[-1][0]


def deployment(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[key] for key in ("chip", "model", "precision", "layout", "input", "output"))


def band(rows: list[dict[str, str]], key: str) -> str:
    used = [row for row in rows if float(row[f"{key}_ms"]) > 0 and not row["refused"]]
    votes = Counter(deployment(row) for row in used)
    pairs = [(float(row[f"{key}_ms"]) / float(row[f"{key}_forecast_ms"]), 1 / votes[deployment(row)]) for row in used]
    if len(pairs) < LEAST:
        return f"{key} = {{ low = 0.6, high = 1.8 }}\n"
    return f"{key} = {{ low = {min(1.0, quantile(pairs, 0.1)):.3f}, high = {max(1.0, quantile(pairs, 0.9)):.3f} }}\n"


def percentile_band(timelines: list[dict], key: str) -> str:
    def ratio(value: dict[str, float]) -> float:
        return value["measured_s"] / value["forecast_s"]

    pairs = [(ratio(t[key][p]) / ratio(t[key]["mean"]), 1.0) for t in timelines for p in ("p50", "p90", "p95", "p99")]
    return f"{key} = {{ low = {min(1.0, quantile(pairs, 0.1)):.3f}, high = {max(1.0, quantile(pairs, 0.9)):.3f} }}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("csv", type=Path)
    parser.add_argument("--timelines", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    with options.csv.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    text = HEADER
    for mode, name in (("agg", "aggregated"), ("disagg", "disaggregated")):
        for engine in ("vllm", "sglang", "trtllm"):
            some = [row for row in rows if row["mode"] == mode and row["engine"] == engine]
            timed = [row for row in some if row["known"] == "1"]
            text += f"\n[{name}.{engine}]\n{band(timed, 'ttft')}{band(timed, 'tpot')}"
    timelines = [json.loads(path.read_text(encoding="utf-8")) for path in options.timelines]
    text += PERCENTILES + percentile_band(timelines, "ttft") + percentile_band(timelines, "tpot")
    options.out.write_text(text, encoding="utf-8")
    print(options.out)


if __name__ == "__main__":
    main()
