#!/usr/bin/env python3
"""Writes docs/validation/kernels.md from runs of flopcast: no number in it is typed.

    tools/make_kernel_docs.py --flopcast build/release/flopcast --shared ../shared --out FILE
"""

from __future__ import annotations

import sys
from pathlib import Path

from docs_text import Program, folded, percent, table, write_page

TABLES = "measured/kernels/aiconfigurator"
KINDS = ("gemm", "context_attention", "generation_attention", "moe")
# What is kept out of a fit, for the tables where it means something.
HOLD_OUTS = {
    "gemm": ("rand20", "nkpair", "largest"),
    "context_attention": ("rand20", "nkpair", "largest"),
    "generation_attention": ("rand20",),
    "moe": ("tokens", "models"),
}
HOLD_OUT_TITLES = {
    "rand20": "A fifth of the rows",
    "nkpair": "A fifth of the (n, k) of GEMMs, of the head counts of attention, unseen as a whole",
    "largest": "The tenth with most work: extrapolation",
    "tokens": "A fifth of the token counts of MoE layers",
    "models": "MoE layers, a quarter of them at a time",
}
# Each chip left out: forecast from the nearest of its own generation, and from the nearest of another one.
SIBLINGS = {
    "h100_sxm": "h200", "h200_sxm": "h100", "b200_sxm": "gb200", "gb200": "b200", "b300_sxm": "gb300", "gb300": "b300",
}  # fmt: skip
OTHERS = {"a100_sxm": "h100", "h100_sxm": "a100", "h200_sxm": "a100"} | dict.fromkeys(
    ("b200_sxm", "gb200", "b300_sxm", "gb300"), "h100"
)


def tables_of(shared: Path) -> list[tuple[str, str, Path]]:
    """(chip, kind, file) of every table there is."""
    found = []
    for path in sorted((shared / TABLES).glob("*_perf.csv.gz")):
        name = path.name.removesuffix("_perf.csv.gz")
        kind = next(k for k in sorted(KINDS, key=len, reverse=True) if name.endswith("_" + k))
        found.append((name.removesuffix("_" + kind), kind, path))
    return found


def error_cells(e: dict) -> list[str]:
    return [f"{e['rows']:,}", percent(e["mape"], 1), percent(e["median"], 1), percent(e["p95"], 1), f"{e['bias']:.3f}",
            percent(e["band_coverage"], 0), f"{e['band_width']:.2f}"]  # fmt: skip


ERROR_TITLES = ["rows", "mean", "median", "p95", "median of predicted / measured", "in band", "band ×/÷"]


def errors_table(errors: list[dict]) -> str:
    rows = [[e["chip"], e["operation"], *error_cells(e)] for e in errors if e["size_class"] == "all"]
    return table(["chip", "operation", *ERROR_TITLES], rows)


def size_table(errors: list[dict]) -> str:
    rows = [[e["chip"], e["operation"], e["size_class"], *error_cells(e)] for e in errors if e["size_class"] != "all"]
    return table(["chip", "operation", "measured time", *ERROR_TITLES], rows)


def held_out(program: Program, tables: list[tuple[str, str, Path]]) -> str:
    text = ""
    for hold_out, title in HOLD_OUT_TITLES.items():
        errors: list[dict] = []
        for chip, kind, path in tables:
            if hold_out in HOLD_OUTS[kind]:
                document = program.json("calibrate", "kernels", str(path), "--chip", chip, "--hold-out", hold_out)
                errors += document["errors"]
        text += f"### {title}\n\n`--hold-out {hold_out}`\n\n{errors_table(errors)}\n{folded('By measured time', size_table(errors))}"
    return text


def new_chips(program: Program, tables: list[tuple[str, str, Path]], relatives: dict[str, str]) -> str:
    errors: list[dict] = []
    for chip, _, path in tables:
        if chip in relatives:
            relative = relatives[chip]
            document = program.json("validate", "kernels", str(path), "--chip", chip, "--from", relative)
            errors += [e | {"chip": f"{e['chip']} from {relative}"} for e in document["errors"]]
    return errors_table(errors)


def memory_bound(program: Program, shared: Path) -> str:
    errors: list[dict] = []
    for chip in ("a100", "h100"):
        files = sorted((shared / "measured/kernels/vidur").glob(f"*__{chip}__*_mlp.csv.gz"))
        if files:
            document = program.json("calibrate", "kernels", *map(str, files), "--chip", chip, "--hold-out", "models")
            errors += document["errors"]
    return errors_table(errors) + "\n" + folded("By measured time", size_table(errors))


def shipped(program: Program, tables: list[tuple[str, str, Path]]) -> str:
    errors: list[dict] = []
    for chip, _, path in tables:
        errors += program.json("validate", "kernels", str(path), "--chip", chip)["errors"]
    return folded("All tables", errors_table(errors))


def page(program: Program, shared: Path) -> str:
    tables = tables_of(shared)
    if not tables:
        sys.exit(f"{shared / TABLES}: no tables there")
    return f"""# Validation of kernel times

Written by `./dev docs` ({program.version()}); no number here is typed. Errors are |predicted / measured − 1|
of public measurements (AIConfigurator, Apache-2.0; Vidur, MIT). *In band*: share of the rows inside the
10–90 % band that comes with each answer; *band ×/÷*: its half width. The model is described in
[the theory of kernel times](../theory/kernels.md).

## Kept out of the fit

{held_out(program, tables)}
## Memory-bound operators

Models (widths) that the fit has not seen, a quarter of them at a time.

{memory_bound(program, shared)}
## A chip that nobody measured

Its published rates, and the fits of another chip scaled by them: each chip left out in turn.

### From a chip of its own generation

{new_chips(program, tables, SIBLINGS)}
### From a chip of another generation

{new_chips(program, tables, OTHERS)}
## The fits that ship

On the rows they were fitted to: no forecast, but what the form can express.

{shipped(program, tables)}"""


if __name__ == "__main__":
    write_page(page, __doc__)
