#!/usr/bin/env python3
"""Writes docs/validation/serving.md from runs of flopcast: no number in it is typed.

    tools/make_serving_docs.py --flopcast build/release/flopcast --shared ../shared --out FILE [--fit FIT.json]

FIT.json is what `tools/fit_serving.py POINTS --hold-out --json-out` wrote: without it the tables of left-out groups are not there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docs_text import Program, folded, page_parser, table

#: What the best public tool reaches where it answers, and what is aimed at: MAPE, median, p90 in %.
GOALS = {
    "TPOT": ("tpot", "21 / 13 / 39", (0.12, 0.09, 0.25)),
    "TTFT": ("ttft", "45 / 43 / 80", (0.23, 0.16, 0.45)),
}
QUANTITIES = (("TTFT", "ttft"), ("TPOT", "tpot"), ("tokens/s", "throughput"))
COLUMNS = ["", "of", "points", "mean \\|error\\| %", "median %", "p90 %", "factor", "bias %", "in band %"]


def share(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def error_cells(e: dict[str, Any]) -> list[str]:
    factor = "–" if e["factor"] is None else f"{e['factor']:.3f}"
    cells = [str(e["n"]), share(e["mape"]), share(e["median"]), share(e["p90"]), factor, share(e["bias"])]
    return [*cells, share(e.get("band_coverage"))]


def error_rows(name: str, part: dict[str, Any], quantities: tuple[tuple[str, str], ...] = QUANTITIES) -> list[list[str]]:
    return [[name, words, *error_cells(part[key])] for words, key in quantities if part[key]["n"]]


def group_table(groups: dict[str, Any]) -> str:
    rows = [row for name, part in groups.items() for row in error_rows(name, part)]
    return table(COLUMNS, rows)


def goals_table(document: dict[str, Any]) -> str:
    rows = []
    for name, (key, peer, goal) in GOALS.items():
        e = document["summary"][key]
        said = [e["mape"], e["median"], e["p90"]]
        met = all(value is not None and value <= most for value, most in zip(said, goal))
        aimed = " / ".join(f"{100 * value:.0f}" for value in goal)
        rows.append([name, peer, aimed, " / ".join(share(value) for value in said), "yes" if met else "no"])
    one = document["with_one_point"]
    for name, key, goal in (("TPOT, one point measured", "tpot", 0.06), ("TTFT, one point measured", "ttft", 0.15)):
        value = one[key]["mape"]
        rows.append([name, "–", f"{100 * goal:.0f}", share(value), "yes" if value is not None and value <= goal else "no"])
    for name, key, goal in (("offline throughput, dense", "dense", 0.08), ("offline throughput, experts", "experts", 0.15)):
        value = document["offline"][key]["mape"]
        rows.append([name, "–", f"{100 * goal:.0f}", share(value), "yes" if value is not None and value <= goal else "no"])
    value = document["disaggregated"]["tpot"]["median"]
    rows.append(["disaggregated TPOT, median", "30", "10", share(value), "yes" if value is not None and value <= 0.1 else "no"])
    ranks = document["layouts"]
    held = ranks["spearman"] is not None and ranks["spearman"] >= 0.95 and ranks["lost"] <= 0.01
    rank_words = "–" if ranks["spearman"] is None else f"{ranks['spearman']:.3f}; {100 * ranks['lost']:.1f} %"
    rows.append([f"layouts by tokens/s and chip ({ranks['sets']} sets): Spearman; lost", "–", "0.95; 1 %", rank_words, "yes" if held else "no"])
    s = document["summary"]
    answered = f"{s['answered']} of {s['clean']}"
    rows.append(["clean points answered", "71 %", "all", answered, "yes" if s["answered"] == s["clean"] else "no"])
    return table(["MAPE / median / p90, %", "others", "aim", "here", "met"], rows)


def refused_table(document: dict[str, Any]) -> str:
    why: dict[str, int] = {}
    for case in document["cases"]:
        if "refused" in case:
            why[case["refused"]] = why.get(case["refused"], 0) + 1
    return table(["points", "why"], [[str(n), words] for words, n in sorted(why.items())]) if why else "Every clean point is answered.\n"


def timeline_table(program: Program, shared: Path) -> str:
    rows = []
    for path in sorted((shared / "serving").glob("vllm_measured_*.jsonl")):
        document = program.json("validate", "serving-trace", str(path))
        for key, words in (("ttft", "TTFT"), ("tpot", "TPOT"), ("latency", "latency")):
            cells = []
            for column in ("mean", "p50", "p90", "p99"):
                one = document[key][column]
                cells.append(f"{one['measured_s'] * 1e3:.1f} → {one['forecast_s'] * 1e3:.1f} ({100 * one['error']:+.1f})")
            rows.append([path.stem.removeprefix("vllm_measured_"), words, *cells])
    return table(["run", "ms", "mean", "p50", "p90", "p99"], rows)


def offline_table(document: dict[str, Any]) -> str:
    rows = []
    for case in document["offline"]["cases"]:
        said = case.get("tokens_per_s")
        error = "refused" if said is None else f"{100 * (said / case['measured_tokens_per_s'] - 1):+.1f}"
        name = f"{case['model']} {case['precision']}, {case['tp']} x {case['chip']}"
        rows.append([name, f"{case['input']}/{case['output']}", f"{case['measured_tokens_per_s']:.0f}", "–" if said is None else f"{said:.0f}", error])
    return table(["deployment", "lengths", "measured tokens/s", "forecast", "error, %"], rows)


def fit_cells(errors: dict[str, list[float]]) -> list[str]:
    """TPOT and TTFT by tools/fit_serving.py: points, mean, median, 90 % quantile, bias."""
    cells = [str(errors["tpot"][0])]
    for key in ("tpot", "ttft"):
        _, mean, median, p90, bias = errors[key]
        cells += [" / ".join(share(value) for value in (mean, median, p90)), f"{100 * bias:+.1f}"]
    return cells


def left_out(fit: dict[str, Any] | None) -> str:
    if fit is None:
        return "Not made here: `tools/fit_serving.py POINTS --hold-out --json-out FIT.json`, then `--fit FIT.json`.\n"
    columns = ["", "points", "TPOT, mean / median / p90 %", "bias %", "TTFT, mean / median / p90 %", "bias %"]
    rows = [[f"each {name}", *fit_cells(part["all"])] for name, part in fit["held_out"].items()]
    rows += [["nothing: all points fitted", *fit_cells(fit["all"])], ["all: expected constants", *fit_cells(fit["expected"])]]
    text = table(columns, rows) + "\n"
    for name, part in fit["held_out"].items():
        text += folded(f"Each {name}", table(columns, [[group, *fit_cells(e)] for group, e in part["groups"].items()]))
    return text


def page(program: Program, shared: Path, fit: dict[str, Any] | None) -> str:
    document = program.json("validate", "serving", str(shared / "measured/serving.json"))
    summary = document["summary"]
    rules = [[str(e["points"]), f"`{e['rule']}`", e["why"]] for e in document["exclusions"] if e["points"]]
    text = f"""# Serving: forecasts beside what was measured

Made by `tools/make_serving_docs.py` with {program.version()}: no number is typed. `flopcast validate serving FILE.json` prints
the same of any file in the schema of [reference/serving.md](../reference/serving.md).

The points are means over the requests of closed loops (SemiAnalysisAI/InferenceX, as ai-dynamo/aiconfigurator publishes them):
vLLM, SGLang and TensorRT-LLM on H100, H200, B200, B300, GB200 and GB300. {summary["points"]} rows, {summary["clean"]} clean.
{summary["repaired_layouts"]} have a layout whose labels contradict each other; it is read by rule. No constant is fitted to a
model, or to a model on a chip: what is fitted is told in [theory/serving.md](../theory/serving.md).

{goals_table(document)}
"Others" is AIConfigurator 0.12 on the rows it answers. The few constants of all rows (rates, launches, host time by engine) were fitted to
these rows together: errors here are in sample, while the aims are for pairs of chip and model never seen.

## Groups left out of the fit
Constants fitted anew without each group in turn, by `tools/fit_serving.py`, then the product's forecast of that group with them. A
group's file holds its points alone, so the rules that tell defects by other points find fewer: the numbers of points differ a little.
What is expected of each constant was written down by people who knew earlier fits to these points.

{left_out(fit)}
## By engine, chip and model
Clean rows of aggregated serving under the known protocol. Errors are forecast / measured − 1; factor is
exp(mean |ln(forecast / measured)|); in band: measured within the 10–90 % band.

{group_table(document["engines"])}
{group_table(document["chips"])}
{group_table(document["models"])}
{folded("By engine, chip, model and precision", group_table(document["pairs"]))}
## Other rows
With one measured point: the forecast is scaled by the point of the middle load of each deployment, and asked for the others.
Rows of other clients tell nothing of how requests were sent: TPOT alone is held.

{table(COLUMNS, [*error_rows("with one measured point", document["with_one_point"]), *error_rows("other clients", document["other_clients"], QUANTITIES[1:2]), *error_rows("disaggregated, workers told", document["disaggregated"])])}
## Measured timelines
Arrivals of vLLM runs on one GPU, replayed: measured → forecast (error in %).

{timeline_table(program, shared)}
## Maxima of throughput
Every request is there at the start (TensorRT-LLM v1.0, perf-overview.md).

{offline_table(document)}
## What is left out, and why
No rule rests on a forecast.

{table(["points", "rule", "why"], rules)}
{refused_table(document)}"""
    return text


def main() -> None:
    parser = page_parser(__doc__ or "")
    parser.add_argument("--fit", type=Path, help="JSON that tools/fit_serving.py --hold-out --json-out wrote")
    options = parser.parse_args()
    fit = json.loads(options.fit.read_text(encoding="utf-8")) if options.fit else None
    options.out.write_text(page(Program(options.flopcast), options.shared, fit), encoding="utf-8")
    print(options.out)


if __name__ == "__main__":
    main()
