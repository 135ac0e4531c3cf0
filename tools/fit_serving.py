#!/usr/bin/env python3
"""Fits catalog/serving/constants.toml to measured deployments, and says how far it is off where it has not been fitted.

    tools/fit_serving.py ../shared/measured/serving.json --flopcast build/release/flopcast --json-out build/fit_serving.json

Needs numpy and scipy. Every constant is physical, starts at what is expected of it and is held there by a prior, within limits
(src/serving/iteration/constants.cc). Slopes are those of the product's own forecasts (`validate serving --constants`) on every
few rows; a fit is a robust least squares on them, and what it finds is forecast by the product itself. --hold-out fits without
each (chip, model), engine, model and half-year in turn, and forecasts what was left out.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import subprocess
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

CONSTANTS = Path(__file__).resolve().parent.parent / "catalog/serving/constants.toml"
STEP = 0.05  # of a constant's logarithm, for slopes
#: What a good forecast is off by: TPOT, TTFT.
SCALES = {"tpot": 0.06, "ttft": 0.15}
WIDE = 0.5  # of the logarithm of a time: nobody knows launches of other people's programs
NARROW = 0.1  # of a share of a peak: microbenchmarks tell
# table/constant: (expected, standard deviation of its logarithm, largest)
PARAMETERS = {
    "all/flop_share": (0.7, NARROW, 1),
    "all/byte_share": (0.85, NARROW, 1),
    "all/four_bit_share": (0.8, NARROW, 1),
    "all/weight_only_share": (0.8, NARROW, 1),
    "all/expert_byte_share": (0.7, NARROW, 1),
    "all/attention_byte_share": (0.8, NARROW, 1),
    "all/attention_flop_share": (0.6, NARROW, 1),
    "all/hidden_passes": (14, 0.2, 40),
    "all/copy_passes": (4, 0.2, 8),
    "all/routing_spread": (1, 0.3, 2),
    "all/collective_s": (1e-5, WIDE, 5e-5),
    "all/host_serial_s": (5e-4, WIDE, 1e-2),
    "all/host_serial_request_s": (1e-5, WIDE, 1e-4),
    "all/host_request_s": (5e-6, WIDE, 1e-4),
    "architecture.blackwell/floor_factor": (1.3, 0.2, 3),
    "architecture.blackwell/collective_s": (6e-6, WIDE, 5e-5),
    "architecture.blackwell-ultra/floor_factor": (1.3, 0.2, 3),
    "architecture.blackwell-ultra/collective_s": (6e-6, WIDE, 5e-5),
    "engine.vllm/kernel_floor_s": (2.5e-6, 0.3, 2e-5),
    "engine.sglang/kernel_floor_s": (2.5e-6, 0.3, 2e-5),
    "engine.trtllm/kernel_floor_s": (2e-6, 0.3, 2e-5),
    "engine.vllm/front_s": (0.04, WIDE, 1),
    "engine.sglang/front_s": (0.04, WIDE, 1),
    "engine.trtllm/front_s": (0.04, WIDE, 1),
    "pair.hopper+trtllm/expert_layer_s": (4e-5, WIDE, 1e-4),
}
#: Constants that an engine has for itself, as hypotheses: --own fits with them, without them all engines share one.
OWN = {"engine.trtllm/hidden_passes": (8, 0.2, 40), "engine.trtllm/host_serial_request_s": (5e-6, WIDE, 1e-4)}


def toml_of(values: dict[str, float]) -> str:
    """The catalogue's file with these values."""
    tables = tomllib.loads(CONSTANTS.read_text(encoding="utf-8"))
    for name in OWN:
        head, _, key = name.partition("/")[0].partition(".")
        tables[head][key].pop(name.partition("/")[2], None)
    for name, value in values.items():
        where, _, constant = name.partition("/")
        head, _, key = where.partition(".")
        (tables[head][key] if key else tables[head])[constant] = value
    text = ""
    for head, table in tables.items():
        parts = {f"[{head}]": table} if head in ("all", "sources") else {f'[{head}."{k}"]': t for k, t in table.items()}
        for title, values_of in parts.items():
            text += title + "\n"
            for constant, value in values_of.items():
                number = value["value"] if isinstance(value, dict) else value
                if not isinstance(value, dict):
                    text += f"{constant} = {json.dumps(value)}\n"
                else:
                    text += f'{constant} = {{ value = {number}, source = "{value["source"]}" }}\n'
    return text


class Fit:
    def __init__(self, program: str, points: Path, every: int, own: bool, threads: int) -> None:
        self.program, self.points, self.threads = program, points, threads
        self.parameters = {**PARAMETERS, **(OWN if own else {})}
        self.names = list(self.parameters)
        self.expected = np.log([value for value, _, _ in self.parameters.values()])
        self.spread = np.array([spread for _, spread, _ in self.parameters.values()])
        self.most = np.log([most for _, _, most in self.parameters.values()])
        self.rows = clean(self.run(self.values(self.start())))
        kept = [row["id"] for row in sorted(self.rows, key=lambda row: (group_pair(row), row["id"]))[::every]]
        self.sample = self.part(set(kept))

    def start(self) -> np.ndarray:
        return np.minimum(self.expected, self.most)

    def values(self, x: np.ndarray) -> dict[str, float]:
        return {name: float(f"{value:.4g}") for name, value in zip(self.names, np.exp(x))}

    def part(self, ids: set[str]) -> Path:
        """A file of these points alone."""
        document = json.loads(self.points.read_text(encoding="utf-8"))
        document["points"] = [point for point in document["points"] if point["id"] in ids]
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
            json.dump(document, file)
        return Path(file.name)

    def run(self, values: dict[str, float], points: Path | None = None) -> list[dict[str, str]]:
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(toml_of(values))
            file.flush()
            command = [self.program, "validate", "serving", str(points or self.points), "--csv", "--constants", file.name]
            done = subprocess.run([*command, "--threads", str(self.threads)], capture_output=True, text=True)
        if not done.stdout:
            raise SystemExit(done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def slopes(self, at: np.ndarray) -> None:
        """Logarithms of forecast / measured of the sample at these constants, and how they move with each."""
        base = clean(self.run(self.values(at), self.sample))
        self.at, self.base = at, base
        self.off = offsets(base)
        self.moves = np.zeros((len(self.off), len(at)))
        ids = {row["id"]: i for i, row in enumerate(base)}

        def column(k: int) -> np.ndarray:
            moved = at.copy()
            moved[k] += STEP if at[k] + STEP <= self.most[k] else -STEP
            rows = sorted((r for r in self.run(self.values(moved), self.sample) if r["id"] in ids), key=lambda r: ids[r["id"]])
            return (offsets(rows) - self.off) / (moved[k] - at[k])

        with ThreadPoolExecutor(2) as pool:
            for k, found in enumerate(pool.map(column, range(len(at)))):
                self.moves[:, k] = found

    def fit(self, use: np.ndarray) -> np.ndarray:
        """Of the sample's rows that are used."""
        some = np.tile(use, 2)
        votes: dict[str, int] = {}
        for row in self.base:
            votes[group_pair(row)] = votes.get(group_pair(row), 0) + 1
        weight = np.tile([votes[group_pair(row)] ** -0.25 for row in self.base], 2)
        weight *= np.repeat([1 / SCALES["tpot"], 1 / SCALES["ttft"]], len(self.base))

        def objective(x: np.ndarray) -> np.ndarray:
            off = (self.off + self.moves @ (x - self.at)) * weight
            return np.concatenate([off[some], (x - self.expected) / self.spread])

        return least_squares(objective, np.minimum(self.at, self.most - 1e-6), bounds=(-np.inf, self.most), loss="soft_l1").x

    def held_out(self, group) -> list[dict[str, str]]:
        """Every row, forecast by a fit without its group."""
        found = []
        for name in sorted({group(row) for row in self.rows}):
            x = self.fit(np.array([group(row) != name for row in self.base]))
            part = self.part({row["id"] for row in self.rows if group(row) == name})
            found += [{**row, "group": name} for row in clean(self.run(self.values(x), part))]
            part.unlink()
        return found


def clean(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Aggregated serving under the known protocol."""
    return [row for row in rows if row["known"] == "1" and row["mode"] == "agg" and not row["refused"]]


def offsets(rows: list[dict[str, str]]) -> np.ndarray:
    """ln(forecast / measured) of every row's TPOT, then of every row's TTFT."""
    return np.log([float(row[f"{q}_forecast_ms"]) / float(row[f"{q}_ms"]) for q in SCALES for row in rows])


def group_pair(row: dict[str, str]) -> str:
    return f"{row['chip']}, {row['model'].split('/')[-1]}"


GROUPS = {
    "(chip, model)": group_pair,
    "engine": lambda row: row["engine"],
    "model": lambda row: row["model"].split("/")[-1],
    "half-year": lambda row: f"{row['date'][:4]}, {'first' if row['date'][5:7] < '07' else 'second'} half",
}


def errors(rows: list[dict[str, str]]) -> dict[str, list[float]]:
    """Mean, median, 90 % quantile and bias of |forecast / measured - 1|, with the number of rows."""
    found = {}
    for i, q in enumerate(SCALES):
        error = np.exp(offsets(rows)[i * len(rows) : (i + 1) * len(rows)]) - 1
        size = np.abs(error)
        found[q] = [len(rows), float(size.mean()), float(np.median(size)), float(np.quantile(size, 0.9)), float(error.mean())]
    return found


def show(title: str, found: dict[str, list[float]]) -> None:
    words = [f"{q} {100 * e[1]:.1f} / {100 * e[2]:.1f} / {100 * e[3]:.1f} % bias {100 * e[4]:+.1f}" for q, e in found.items()]
    print(f"{title:44s} n {found['tpot'][0]:4d}  " + "   ".join(words), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("points", type=Path)
    parser.add_argument("--flopcast", default="build/release/flopcast")
    parser.add_argument("--every", type=int, default=4, help="rows of which one takes part in slopes")
    parser.add_argument("--steps", type=int, default=2, help="times slopes are taken anew")
    parser.add_argument("--threads", type=int, default=1, help="of each of two runs at once")
    parser.add_argument("--own", action="store_true", help="TensorRT-LLM has passes and host time of its own")
    parser.add_argument("--hold-out", action="store_true")
    parser.add_argument("--json-out", type=Path, help="write what was printed, for tools/make_serving_docs.py")
    options = parser.parse_args()
    fit = Fit(options.flopcast, options.points, options.every, options.own, options.threads)
    show("expected constants, nothing fitted", errors(fit.rows))
    x = fit.start()
    for _ in range(options.steps):
        fit.slopes(x)
        x = fit.fit(np.ones(len(fit.base), bool))
    every = clean(fit.run(fit.values(x)))
    show("all rows in the fit", errors(every))
    out = {"constants": fit.values(x), "expected": errors(fit.rows), "all": errors(every), "held_out": {}}
    for name, value in fit.values(x).items():
        print(f"  {name} = {value:.4g}")
    for title, group in GROUPS.items() if options.hold_out else ():
        rows = fit.held_out(group)
        show(f"without each {title}", errors(rows))
        groups = {name: errors([row for row in rows if row["group"] == name]) for name in sorted({row["group"] for row in rows})}
        for name, found in groups.items():
            show(f"  {name}", found)
        out["held_out"][title] = {"all": errors(rows), "groups": groups}
    fit.sample.unlink()
    if options.json_out:
        options.json_out.write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
