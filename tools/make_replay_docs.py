#!/usr/bin/env python3
"""Writes docs/validation/replay.md from runs of flopcast: no number in it is typed.

    tools/make_replay_docs.py --flopcast build/release/flopcast --shared ../shared --out FILE
    tools/make_replay_docs.py --flopcast flopcast --sets MY_TRACES... --out FILE

The second form makes the same page for recordings of your own. What each number means is in
docs/reference/json.md.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from docs_text import Program, folded, mean, milliseconds, page_parser, percent, signed, table

# Folders of ../shared/traces that are judged; what is left is listed without being judged.
UNJUDGED = ("odd_derived", "odd_real", "cuda_sync_small")
UNLISTED = ("odd_derived",)  # damaged on purpose; the tests hold them
BASELINES = ("single-stream", "no-inter-stream", "dpro")
PARTS = ("exposed_compute", "exposed_communication", "overlapped", "idle")
LATE_SHOWN = 5


# --- Running -------------------------------------------------------------------------------------


def validate(program: Program, folders: list[Path], *options: str) -> list[dict]:
    return program.json("validate", "replay", *map(str, folders), *options)["sets"]


def step_pairs(program: Program, folders: list[Path]) -> list[dict]:
    """Every pair of steps of the same structure, one with the other's durations."""
    pairs = []
    for folder in folders:
        for steps in program.json("trace", "validate", str(folder))["sets"]:
            prefix = steps["name"].partition("/")[2]
            choice = ["--prefix", prefix] if prefix else []
            for match in steps["step_pairs"]:
                if match["same_structure"]:
                    pairs.append(run_pair(program, folder, choice, steps["name"], match))
    return pairs


def run_pair(program: Program, folder: Path, choice: list[str], name: str, match: dict) -> dict:
    document = program.json("replay", str(folder), *choice, "--structure-from", match["from"],
                            "--durations-from", match["to"])  # fmt: skip
    mine = [s for s in document["sets"] if s["name"] == name] or document["sets"]
    return {"set": name, "match": match, "result": mine[0]}


# --- Text ----------------------------------------------------------------------------------------


def is_judged(result: dict) -> bool:
    return "failure" not in result and result["forecast"]


def share(window: dict, run: str, part: str) -> float:
    length = window[f"{run}_s"]
    return window["breakdown_s"][run][part] / length if length else 0.0


def quality(results: list[dict]) -> dict:
    """Means of the sets' means and the worst of any, as flopcast's own summary."""
    sums = [r["summary"] for r in results if is_judged(r)]
    host = [s for s in sums if s["steps"]]
    gpu = [s for s in sums if s["gpu_steps"]]
    return {
        "sets": len(sums),
        "mean": mean([s["mean_abs_error"] for s in host]),
        "worst": max((s["max_abs_error"] for s in host), default=None),
        "gpu_mean": mean([s["mean_abs_gpu_step_error"] for s in gpu]),
        "gpu_worst": max((s["max_abs_gpu_step_error"] for s in gpu), default=None),
        "start": max((s["start_error_median_of_window"] for s in gpu), default=None),
        "parts": {p: max((s["max_share_difference"][p] for s in sums), default=None) for p in PARTS},
    }


# --- Sections ------------------------------------------------------------------------------------


def goals(typical: list[dict], zero: list[dict], pairs: list[dict]) -> str:
    t, z = quality(typical), quality(zero)
    late = max((r["late_starts"]["share_of_windows"] for r in typical if is_judged(r)), default=None)
    answered = [p["result"]["summary"] for p in pairs if "failure" not in p["result"]]
    worst_pair = max((s["max_abs_gpu_step_error"] for s in answered), default=None)
    pair_count = f"{len(answered)} pairs" + (f", {len(pairs) - len(answered)} without answer" if len(pairs) > len(answered) else "")
    rows = [
        ["host step, typical lags, mean of sets' means", "≤ 0.5 %", percent(t["mean"])],
        ["host step, typical lags, worst rank and step", "≤ 3 %", percent(t["worst"])],
        ["GPU step, typical lags, mean of sets' means", "≤ 0.5 %", percent(t["gpu_mean"])],
        ["GPU step, typical lags, worst rank and step", "≤ 3 %", percent(t["gpu_worst"])],
        ["host step, zero lags, mean · worst", "≤ 1 % · ≤ 4 %", f"{percent(z['mean'])} · {percent(z['worst'])}"],
        ["GPU step, zero lags, mean · worst", "≤ 1 % · ≤ 4 %", f"{percent(z['gpu_mean'])} · {percent(z['gpu_worst'])}"],
        ["start of GPU tasks, median off, share of the window, worst set", "≤ 0.3 %", percent(t["start"], 3)],
    ]
    rows += [[f"{p.replace('_', ' ')}, share of the window, worst rank", "≤ 2 points",
              f"{t['parts'][p] * 100:.2f} points"] for p in PARTS]  # fmt: skip
    rows += [
        ["late starts nobody explains, share of the windows, worst set", "≤ 0.5 %", percent(late)],
        [f"one step's structure, another's durations: GPU step, worst of {pair_count}", "≤ 3 %", percent(worst_pair)],
    ]
    return table(["what", "goal", "now"], rows)


def set_rows(typical: list[dict], zero: list[dict]) -> str:
    rows = []
    for t, z in zip(typical, zero):
        if "failure" in t:
            continue
        s, d = t["summary"], t["summary"]["max_share_difference"]
        gpu = bool(s["gpu_steps"])
        rows.append([
            t["name"] + ("" if t["forecast"] else " (damaged)"), len(t["ranks"]),
            f"{percent(s['mean_abs_error'])} · {percent(s['max_abs_error'])}",
            f"{percent(s['mean_abs_gpu_step_error'])} · {percent(s['max_abs_gpu_step_error'])}" if gpu else "–",
            f"{percent(z['summary']['mean_abs_error'])} · {percent(z['summary']['max_abs_error'])}" if "failure" not in z else "–",
            f"{percent(z['summary']['mean_abs_gpu_step_error'])} · {percent(z['summary']['max_abs_gpu_step_error'])}"
            if gpu and "failure" not in z else "–",
            percent(s["start_error_median_of_window"], 3),
            " · ".join(f"{d[p] * 100:.1f}" for p in PARTS),
            percent(t["late_starts"]["share_of_windows"]),
        ])  # fmt: skip
    return table(["set", "ranks", "host step, typical", "GPU step, typical", "host step, zero", "GPU step, zero",
                  "starts off", "exp. compute · exp. comm. · overlap · idle", "late"], rows)  # fmt: skip


def steps_of(result: dict) -> dict:
    return {(rank["rank"], i): step for rank in result["ranks"] for i, step in enumerate(rank["steps"])}


def step_rows(typical: list[dict], zero: list[dict]) -> str:
    text = ""
    for t, z in zip(typical, zero):
        if "failure" in t:
            continue
        others = steps_of(z) if "failure" not in z else {}
        rows = []
        for (rank, i), s in steps_of(t).items():
            o = others.get((rank, i), {})
            rows.append([rank, s["name"], milliseconds(s["measured_s"]), signed(s["error"]), signed(o.get("error")),
                         milliseconds(s["gpu_measured_s"]), signed(s["gpu_step_error"]), signed(o.get("gpu_step_error")),
                         f"{s['start_error_median_s'] * 1e6:.1f}"])  # fmt: skip
        titles = ["rank", "step", "host ms", "typical", "zero", "GPU ms", "typical", "zero", "GPU starts off, µs"]
        text += folded(t["name"], table(titles, rows))
    return text


def breakdown_rows(typical: list[dict]) -> str:
    text = ""
    for t in typical:
        if "failure" in t:
            continue
        rows = [[rank["rank"], milliseconds(rank["window"]["measured_s"])]
                + [f"{share(rank['window'], 'measured', p) * 100:.1f} › {share(rank['window'], 'replayed', p) * 100:.1f}"
                   for p in PARTS] for rank in t["ranks"]]  # fmt: skip
        text += folded(t["name"], table(["rank", "window ms"] + [p.replace("_", " ") for p in PARTS], rows))
    return text


def edge_rows(typical: list[dict]) -> str:
    results = [t for t in typical if "failure" not in t]
    if not results:
        return "None.\n"
    kinds = [k for k in results[0]["edges"] if any(sum(r["edges"][k][f] for f in ("count", "contradicted")) for r in results)]
    rows = [[r["name"]] + [f"{r['edges'][k]['count']:,}" + (f" ({r['edges'][k]['contradicted']:,})"
             if r["edges"][k]["contradicted"] else "") for k in kinds] for r in results]  # fmt: skip
    return table(["set"] + [k.replace("_", " ") for k in kinds], rows)


def late_rows(typical: list[dict]) -> str:
    rows = []
    for t in typical:
        if "failure" in t or not t["late_starts"]["count"]:
            continue
        late = t["late_starts"]
        worst = "; ".join(f"rank {x['rank']} {x['late_s'] * 1e6:.0f} µs {x['name'][:40]}" for x in late["tasks"][:LATE_SHOWN])
        rows.append([t["name"], late["count"], f"{late['total_s'] * 1e3:.3f}", percent(late["share_of_windows"]), f"`{worst}`"])
    return table(["set", "tasks", "ms together", "of the windows", "the latest"], rows) if rows else "None.\n"


def pin_rows(typical: list[dict]) -> str:
    rows = [[t["name"], p["what"], p["tasks"], f"{p['late_s'] * 1e3:.3f}"] for t in typical if "failure" not in t for p in t["pinned"]]
    return table(["set", "taken from the recording", "tasks", "late by, ms together"], rows) if rows else "Nothing.\n"


def overlap_of(result: dict) -> str:
    windows = [rank["window"] for rank in result["ranks"]]
    return " › ".join(f"{mean([share(w, run, 'overlapped') for w in windows]) * 100:.1f}" for run in ("measured", "replayed"))


def signed_gpu(result: dict) -> float | None:
    return mean([s["gpu_step_error"] for s in steps_of(result).values() if s["gpu_step_error"] is not None])


def model_cell(result: dict) -> str:
    if "failure" in result:
        return "no answer"
    s = result["summary"]
    return f"{signed(signed_gpu(result))} · {overlap_of(result)} · {percent(s['start_error_median_of_window'], 2)}"


def model_rows(models: dict[str, list[dict]]) -> str:
    rows = []
    for place, full in enumerate(models["full"]):
        if is_judged(full) and full["summary"]["gpu_steps"]:
            rows.append([full["name"]] + [model_cell(results[place]) for results in models.values()])
    return table(["set"] + list(models), rows)


def transfer_text(match: dict) -> str:
    return ", ".join(f"{k.replace('_', ' ')} {v['kept']}/{v['edges']}" for k, v in match["transfer"].items() if v["edges"])


def pair_rows(pairs: list[dict]) -> str:
    rows = []
    for pair in pairs:
        match = pair["match"]
        if "failure" in pair["result"]:
            rows.append([pair["set"], match["from"], match["to"], "no answer", "–", "–", transfer_text(match)])
            continue
        summary = pair["result"]["summary"]
        rows.append([pair["set"], match["from"], match["to"], percent(summary["max_abs_gpu_step_error"]),
                     percent(summary["max_abs_error"]), percent(summary["start_error_median_of_window"], 3),
                     transfer_text(match)])  # fmt: skip
    return table(["set", "structure of", "durations of", "GPU step, worst rank", "host step, worst rank", "starts off",
                  "dependencies that carry over"], rows) if rows else "No set has two steps of the same structure.\n"  # fmt: skip


def transfer_rows(pairs: list[dict]) -> str:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for pair in pairs:
        for kind, t in pair["match"]["transfer"].items():
            sums[kind][0] += t["kept"]
            sums[kind][1] += t["edges"]
    rows = [[k.replace("_", " "), f"{kept:,} of {all_:,}", percent(kept / all_, 1)] for k, (kept, all_) in sums.items() if all_]
    return table(["dependency", "carry over", "share"], rows) if rows else ""


def trouble_rows(results: list[dict]) -> str:
    lines = [f"- **{r['name']}**: not replayed: {r['failure']['what']}" for r in results if "failure" in r]
    lines += [f"- **{r['name']}**: damaged: {why}" for r in results if "failure" not in r for why in r["damage"]]
    return "\n".join(lines) + "\n" if lines else "None.\n"


# --- The page ------------------------------------------------------------------------------------


def page(program: Program, judged: list[Path], others: list[Path]) -> str:
    typical, zero = validate(program, judged), validate(program, judged, "--lags", "zero")
    models = {"full": typical} | {b: validate(program, judged, "--baseline", b) for b in BASELINES}
    pairs = step_pairs(program, judged)
    rest = validate(program, others) if others else []
    rest_zero = validate(program, others, "--lags", "zero") if others else []
    unlisted = f"""## Other recordings

Small, odd or without a training step: replayed, but in no mean above.

{set_rows(rest, rest_zero)}""" if rest else ""
    return f"""# Validation of replay

Written by `./dev docs` ({program.version()}); no number here is typed. Every set is a recording made by
others; each is replayed from its own trace and compared with it. How to read the numbers, and why a
replay can be exact and yet worthless, is in [the theory of replay](../theory/replay.md).

**Mode.** *typical*: the delay after a dependency is the median of its kind on that rank; *zero*: there
is none. Both keep durations of kernels, self times and gaps of the host, and the transfer time of
collectives; waiting, in synchronisations and in collectives, is computed. What else was taken from the
recording is listed under [What is pinned](#what-is-pinned). A *host step* is `ProfilerStep#N`; a *GPU
step* runs from the last end of GPU work of one step to that of the next. Where a trace marks no step,
its whole window is the step.

## Goals

{goals(typical, zero, pairs)}
## Sets

Absolute errors, mean · worst over ranks and steps; differences of shares in points, worst rank.

{set_rows(typical, zero)}
## Steps

Measured, and the signed error in both modes.

{step_rows(typical, zero)}
## Breakdown

Share of each rank's window in percent, measured › replayed with typical lags.

{breakdown_rows(typical)}
## Dependencies

Edges kept; in brackets candidates that the recording contradicts (the source ends after the target
starts), all of them dropped.

{edge_rows(typical)}
## Late starts

GPU tasks that start more than 15 µs later than anything in the graph explains.

{late_rows(typical)}
## What is pinned

{pin_rows(typical)}
## Other models on the same graphs

Mean signed error of the GPU step · share of the window that is overlapped, measured › replayed, mean over
ranks · median start error as a share of the window. Typical lags. *single-stream*: all compute in one stream
and all communication in one other; *no-inter-stream*: no dependency between streams; *dpro*: GPU tasks
only, in one compute and one communication queue.

{model_rows(models)}
## One step's structure, another's durations

Pairs of steps of which at least 99 % of the calls match both ways. Host time comes from the step whose
durations are used, so the GPU step carries the information.

{pair_rows(pairs)}
Do dependencies carry over? Over all pairs above:

{transfer_rows(pairs)}
{unlisted}
## Not forecast

{trouble_rows(typical + rest)}"""


def trace_folders(shared: Path) -> tuple[list[Path], list[Path]]:
    # A set of several runs has a folder for each.
    tops = sorted(path for path in (shared / "traces").glob("*") if path.is_dir())
    folders = [f for top in tops for f in ([top] if any(top.glob("*.json*")) else sorted(top.glob("*/")))]
    if not folders:
        sys.exit(f"{shared}/traces: no folders of traces there; name your own with --sets")
    judged = [f for f in folders if f.name not in UNJUDGED]
    return judged, [f for f in folders if f.name in UNJUDGED and f.name not in UNLISTED]


def main() -> None:
    parser = page_parser(__doc__ or "")
    parser.add_argument("--sets", type=Path, nargs="+", help="folders of your own instead of --shared")
    options = parser.parse_args()
    judged, others = (options.sets, []) if options.sets else trace_folders(options.shared)
    text = page(Program(options.flopcast), judged, others)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(text, encoding="utf-8")
    print(options.out)


if __name__ == "__main__":
    main()
