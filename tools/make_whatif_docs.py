#!/usr/bin/env python3
"""Writes docs/validation/whatif.md from runs of flopcast: no number in it is typed.

    tools/make_whatif_docs.py --flopcast build/release/flopcast --shared ../shared --out FILE

The cases are those of tools/whatif_cases.py; made-up recordings are kept in build/whatif_cases. Timings are of the machine
that runs this, when nothing else does.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import whatif_cases
from docs_text import Program, folded, milliseconds, page_parser, percent, signed, table

#: What is known of the layers of recordings by others, where anything is: docs say from what.
LAYERS = {
    "megatron_tp8_a100": ("40, forward only", 40),
    "single_gpu_h100_mi300/h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz": ("24 decoder layers", 24),
    "single_gpu_h100_mi300/mi300_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz": ("24 decoder layers", 24),
    "single_gpu_h100_mi300/h100_gaunernst_bert-small-uncased__1016001.json.gz": ("4 encoder layers", 4),
    "single_gpu_h100_mi300/mi300_gaunernst_bert-small-uncased__1016001.json.gz": ("4 encoder layers", 4),
    "graph_decode_8xh200": ("3 dense and 58 with experts", 61),
    "resnet50_1xv100/num_workers_0.json.gz": ("16 blocks in stages of 3, 4, 6, 3; the first of each differs", None),
    "nanogpt_8xh100": ("12, compiled: no two alike", None),
    "torchrec_dlrm_4xv100": ("none", None),
    "dlrm_8xv100_kineto_et": ("none", None),
}
LAG_MODES = ("recorded", "typical", "zero")
UNASKED = ("odd_derived",)  # damaged on purpose; the tests hold them
QUESTION = ["--scale", "kernel:gemm=0.8"]
SCALE_UP = ["--set", "dp=128"]


def known_runs(program: Program, shared: Path) -> list[tuple[str, list[str]]]:
    """Every run of ../shared/traces: its name, and the words that choose it."""
    runs = []
    folders = sorted({path.parent for path in (shared / "traces").rglob("*.json*")})
    for folder in (path for path in folders if not set(path.parts) & set(UNASKED)):
        for found in program.json("trace", "info", str(folder))["sets"]:
            prefix = found["name"].partition("/")[2]
            name = str(folder.relative_to(shared / "traces")) + (f"/{prefix}" if prefix else "")
            runs.append((name, [str(folder)] + (["--prefix", prefix] if prefix else [])))
    return runs


# --- Cases ---------------------------------------------------------------------------------------


def case_row(case: dict[str, Any]) -> list[str]:
    if case["forecast_s"] is None:
        why = case["failure"] or "; ".join(f"{one['change']}: {one['missing']}" for one in case["refusals"])
        return [case["id"], milliseconds(case["truth_s"]), "failed" if case["failure"] else "refused", "–", why]
    band = f"{case['band']['low_s'] * 1e3:.3f} to {case['band']['high_s'] * 1e3:.3f}"
    held = " ✓" if case["in_band"] else ""
    return [case["id"], milliseconds(case["truth_s"]), milliseconds(case["forecast_s"]), signed(case["error"]), band + held]


def case_table(document: dict[str, Any]) -> str:
    return table(["case", "truth, ms", "forecast, ms", "error", "band, ms (✓: holds the truth)"], [case_row(c) for c in document["cases"]])


def worst_of(document: dict[str, Any]) -> str:
    worst = document["summary"]["max_abs_error"]
    return percent(worst) if worst is not None else "–"


def goal_row(group: whatif_cases.Group, document: dict[str, Any]) -> list[str]:
    s = document["summary"]
    met = s["n"] == s["cases"] and s["max_abs_error"] is not None and s["max_abs_error"] <= group.target
    return [group.title, f"≤ {percent(group.target, 1)}", f"{worst_of(document)} (mean {percent(s['mean_abs_error'])})",
            f"{s['n']} of {s['cases']}", percent(s["band_coverage"], 0), "yes" if met else "no", group.others]  # fmt: skip


# --- Layers --------------------------------------------------------------------------------------


def layer_rows(program: Program, shared: Path) -> str:
    rows = []
    for name, (known, layers) in LAYERS.items():
        path = shared / "traces" / name
        if not path.exists():
            continue
        model = program.json("trace", "model", str(path))["sets"][0]
        found = model["layers"]
        right = "right" if layers and found == layers else "refused" if found == 0 else "wrong" if layers else "found"
        rows.append([name.split("__")[0], known, str(found) if found else "none", right, model["layer_evidence"]])
    return table(["recording", "known", "found", "", "evidence"], rows)


# --- Nothing changed -----------------------------------------------------------------------------


def replayed_steps(program: Program, words: list[str], lags: str) -> tuple[str, str]:
    """Error of host and GPU steps of a replay: how far from the recording."""
    document = program.json("replay", *words, "--lags", lags)["sets"][0]
    if "failure" in document:
        return "–", "–"
    s = document["summary"]
    return percent(s["max_abs_error"], 4), percent(s["max_abs_gpu_step_error"], 4) if s["gpu_steps"] else "–"


def unchanged(program: Program, words: list[str]) -> str:
    """Whether multiplying by one gives the replay back, to the last digit."""
    document = exact_json(program, "whatif", *words, "--scale", "host=1")
    if document["refused"]:
        return "refused: " + document["refused"][0]["missing"]
    replay = exact_json(program, "replay", *words, "--lags", "recorded")["sets"][0]
    steps: dict[str, list[Decimal]] = {}
    for rank in replay["ranks"]:
        for step in rank["steps"]:
            if step["gpu_replayed_s"] is not None:
                steps.setdefault(step["name"], []).append(step["gpu_replayed_s"])
    same = document["before_s"] == document["after_s"] and document["host_before_s"] == document["host_after_s"]
    for step in document["steps"]:
        times = steps.get(step["name"])
        # Means over ranks are whole picoseconds on one side.
        same = same and (not times or abs(step["gpu_after_s"] - sum(times) / len(times)) < Decimal("1e-12"))
        same = same and step["gpu_before_s"] == step["gpu_after_s"]
    return "equal" if same else "DIFFERS"


def exact_json(program: Program, *words: str) -> Any:
    done = subprocess.run([program.path, *words, "--json"], capture_output=True, text=True)
    return json.loads(done.stdout, parse_float=Decimal)


def identity_rows(program: Program, shared: Path) -> str:
    rows = []
    for name, words in known_runs(program, shared):
        replays = [" · ".join(replayed_steps(program, words, mode)) for mode in LAG_MODES]
        rows.append([name, unchanged(program, words), *replays])
    return table(["run", "×1 against the replay", *(f"replay, {mode} lags" for mode in LAG_MODES)], rows)


# --- Time and memory -----------------------------------------------------------------------------


def seconds_of(program: Program, *words: str) -> tuple[float, float]:
    """Wall time and peak memory in bytes of a command."""
    before = time.perf_counter()
    child = subprocess.Popen([program.path, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, used = os.wait4(child.pid, 0)
    child.returncode = 0  # waited for already
    return time.perf_counter() - before, used.ru_maxrss * 1024


def questions_file(folder: Path, count: int) -> Path:
    path = folder / f"questions{count}.json"
    cases = [{"id": str(i), "changes": {"scale": {"kernel:gemm": 0.5 + 0.01 * i}}} for i in range(count)]
    path.write_text(json.dumps({"cases": cases}))
    return path


def timing_rows(program: Program, shared: Path, made: Path) -> str:
    recording = shared / "traces" / "nanogpt_8xh100"
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        few, many = (questions_file(Path(folder), count) for count in (1, 41))
        tries = [[seconds_of(program, "whatif", str(recording), "--questions", str(f))[0] for f in (few, many)] for _ in range(3)]
        one = statistics.median((late - soon) / 40 for soon, late in tries)
    rows.append(["one what-if of `nanogpt_8xh100` after it is read", "≤ 50 ms", f"{one * 1e3:.0f} ms"])
    plain = statistics.median(seconds_of(program, "whatif", str(recording), *QUESTION)[0] for _ in range(3))
    with_all = statistics.median(seconds_of(program, "whatif", str(recording), *QUESTION, "--sensitivity")[0] for _ in range(3))
    parts = len(program.json("whatif", str(recording), "--sensitivity")["sensitivity"])
    rows.append([f"its sensitivity, {parts} rows", "≤ 1 s for 20", f"{with_all - plain:.2f} s"])
    base = whatif_cases.Generator(made).recording({"noise": 1, "layers": 4, "microbatches": 4})
    wall, memory = seconds_of(program, "whatif", str(base), *SCALE_UP)
    ranks = program.json("whatif", str(base), *SCALE_UP)["ranks_after"]
    rows.append([f"{ranks} ranks from an 8-rank recording", "≤ 10 s, ≤ 4 GB", f"{wall:.1f} s, {memory / 1e9:.1f} GB at most"])
    return table(["what", "target", "now"], rows)


# --- The page ------------------------------------------------------------------------------------


def answers(program: Program, shared: Path) -> str:
    """Every run of ../shared/traces is asked, and answers or names what is missing."""
    rows = []
    for name, words in known_runs(program, shared):
        cells = [name]
        for asked in (["--scale", "gemm=0.8"], ["--remove", "host"], ["--set", "dp=16"], ["--set", "layers=8"]):
            document = program.json("whatif", *words, *asked)
            refused = document.get("refused") or []
            step = "before_s" if document.get("before_s") else "host_before_s"
            if refused:
                cells.append(refused[0]["missing"])
            else:
                cells.append(signed(document[step.replace("before", "after")] / document[step] - 1 if document[step] else None))
        rows.append(cells)
    return table(["run", "matrix products × 0.8", "without host", "DP 16", "8 layers"], rows)


def page(program: Program, shared: Path, made: Path) -> str:
    groups = whatif_cases.groups(shared, made, program.path)
    documents = [program.json("validate", "whatif", str(whatif_cases.write(group, made))) for group in groups]
    goals = [goal_row(group, document) for group, document in zip(groups, documents)]
    details = "".join(f"### {group.title}\n\n{case_table(document)}\n" for group, document in zip(groups, documents))
    return f"""# Validation of what-ifs

Written by `./dev docs whatif` ({program.version()}); no number here is typed. A case is a recording, a change, and what was
measured of the run so changed, which the forecast has not seen. Recordings and measurements of others, and made-up runs of
`examples/make_sample.py`, which shares no code with what is judged here. How each change is made is in
[the theory of what-ifs](../theory/whatif.md); your own pairs are judged by `flopcast validate whatif`.

## Goals

Largest absolute error of the step over the cases of a row, and how many of them the band holds.

{table(["what", "target", "now", "answered", "in band", "met", "others"], goals)}
## Case by case

{details}
## What the emitted traces do and do not prove

Step graphs written by `estimate` are this program's own model of a step, told as a trace: one task a microbatch and pass, one
chip a stage, no launches, no kernels; what passes are made of and how long hidden transfers are is told in annotations, and both sides
ask the same model of the network. That a what-if of one gives another proves that schedules, stages, messages and what is sent once
a step are kept straight, and nothing of kernels, host, overlap or waiting. The generator's runs are at the level of
a profiler's recording: threads, launches, streams, events, collectives that wait for the last rank, buckets, noise that
belongs to what it disturbs. What they do not have is whatever its author did not think of; for that there are the recordings of others.

## Layers

Found by repeats of kernels and operators; a wrong count would be worse than none.

{layer_rows(program, shared)}
## Nothing changed

Every duration times one: the step must be that of the replay with recorded lags, to the picosecond. Beside it, how far replays in each
mode are from the recording (worst host step · worst GPU step).

{folded("every run", identity_rows(program, shared))}
## Every recording answers, or says what is missing

Change of the step, or the evidence that is missing.

{folded("every run", answers(program, shared))}
## Time and memory

{timing_rows(program, shared, made)}"""


def main() -> None:
    parser = page_parser(__doc__ or "")
    parser.add_argument("--made", type=Path, default=Path("build/whatif_cases"), help="where made-up recordings are kept")
    options = parser.parse_args()
    options.out.write_text(page(Program(options.flopcast), options.shared, options.made), encoding="utf-8")
    print(options.out)


if __name__ == "__main__":
    main()
