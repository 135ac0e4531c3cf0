"""A run of an inference engine beside `flopcast serve` of the same load, term by term of an iteration without prompts."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

TITLE = "## Inference engines beside `flopcast serve`"
ABOUT = """\
Written by `./dev validate-live`: rows of the table above whose load `flopcast serve` forecasts as well; ms. Of the run the mean of its later iterations, and its kernels
by their names; of `serve` the mean batch without prompts. A run does not count the scheduler's Python, nor an offline one what comes before the scheduler.
"""
WHOLE, ITERATION, WAITS, REST = "the whole load", "an iteration without prompts", "the GPU waits for the host", "all else: prompts, the way in"
PRODUCTS, ATTENTION, OTHERS = "products", "attention", "norms, copies, choice of tokens"
TERMS = [WHOLE, REST, ITERATION, PRODUCTS, ATTENTION, OTHERS, WAITS]
KINDS = [(PRODUCTS, re.compile(r"gemm|matmul", re.IGNORECASE)), (ATTENTION, re.compile(r"::fwd$|attention", re.IGNORECASE))]
OF_PARTS = {
    "projections": PRODUCTS, "feed-forward": PRODUCTS, "experts": PRODUCTS, "head": PRODUCTS, "attention decode": ATTENTION,
    "norms and copies": OTHERS, "launches": WAITS, "host": WAITS,
}  # fmt: skip


def kind_of(kernel: str) -> str:
    return next((kind for kind, pattern in KINDS if pattern.search(kernel)), OTHERS)


def of_run(timeline: Path, output: int) -> dict[str, float]:
    """Seconds by term, of the later half of the iterations. `timeline` is what --trace-out wrote; an iteration begins with the kernel of which there are
    as many as tokens of an answer, or hardly more."""
    rows = [row for row in json.loads(timeline.read_text())["traceEvents"] if row.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    counts = Counter(row["name"] for row in rows)
    first = min((name for name in counts if counts[name] >= output), key=lambda name: (counts[name], name))
    begins = sorted(row["ts"] for row in rows if row["name"] == first)[-output:]
    begin, end, count = begins[output // 2], begins[-1], output - 1 - output // 2
    terms = {ITERATION: (end - begin) / count / 1e6, PRODUCTS: 0.0, ATTENTION: 0.0, OTHERS: 0.0}
    for row in rows:
        if begin <= row["ts"] < end:
            terms[kind_of(row["name"])] += row["dur"] / count / 1e6
    terms[WAITS] = terms[ITERATION] - terms[PRODUCTS] - terms[ATTENTION] - terms[OTHERS]
    return terms


def of_serve(forecast: dict) -> dict[str, float]:
    iteration = forecast["pools"][0]["iteration"]
    terms = dict.fromkeys([PRODUCTS, ATTENTION, OTHERS, WAITS], 0.0) | {ITERATION: iteration["time_s"]}
    for part in iteration["parts"]:
        terms[OF_PARTS[part["name"]]] += part["time_s"]
    return terms


def compared(words: list[str], rate: float, timeline: Path, forecast: dict) -> list[dict[str, float]]:
    """The terms of both. @param words  what the forecast was asked by; @param rate  the run's tokens a second"""
    requests, output = (int(words[words.index(flag) + 1]) for flag in ("--requests", "--output"))
    sides = []
    for terms, tokens_per_s in ((of_run(timeline, output), rate), (of_serve(forecast), forecast["output_tokens_per_s"])):
        whole = requests * output / tokens_per_s
        sides.append(terms | {WHOLE: whole, REST: whole - (output - 1) * terms[ITERATION]})
    return sides


def cells(what: str, sides: list[dict[str, float]]) -> list[list[str]]:
    def ms(seconds: float) -> str:
        return f"{round(1e3 * seconds, 2) + 0.0:.2f}"  # no "-0.00"

    return [[what if term == WHOLE else "", term, *(ms(side[term]) for side in sides)] for term in TERMS]
