#!/usr/bin/env python3
"""Writes docs/validation/build_times.md: what `./dev test` takes, before and after a change of how things are built.

    tools/make_build_times.py --before BEFORE --after AFTER --before-is "version 1a2b3c4" --out docs/validation/build_times.md

BEFORE and AFTER are tables of lines "NAME<tab>SECONDS BY THE CLOCK<tab>PROCESSOR SECONDS", as a run leaves them in
build/release/Testing/processor.tsv; an empty field is not known. Parts of a check (unit.3_of_8, live.values) are added up."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

HEAD = """# What `./dev test` takes

In a fresh clone, without a compiler's cache, on two cores of one machine on one day: seconds of processors, user and system together,
which depend less than the clock on what else the machine does. Before: {before}. {clock}
Made by `tools/make_build_times.py` from what two runs left in `build/release/Testing/processor.tsv`.

| what | before | after | saved |
|---|---:|---:|---:|
"""
BUILD = "building "
PART = re.compile(r"\.\d+_of_\d+$|(?<=^live)\..*$")


def read(table: Path) -> dict[str, tuple[float, float]]:
    """Seconds by the clock and of processors, by name."""
    taken: dict[str, tuple[float, float]] = {}
    for line in table.read_text().splitlines():
        name, clock, processor = line.split("\t")
        name = PART.sub("", name)
        old = taken.get(name, (0.0, 0.0))
        taken[name] = (old[0] + float(clock or 0), old[1] + float(processor or 0))
    return taken


def cell(seconds: float | None) -> str:
    return "–" if not seconds else f"{seconds:,.0f}"


def row(name: str, before: float | None, after: float | None) -> str:
    saved = f"{(1 - after / before) * 100:.0f} %" if before and after else "–"
    return f"| {name} | {cell(before)} | {cell(after)} | {saved} |"


def page(before: dict[str, tuple[float, float]], after: dict[str, tuple[float, float]], told_before: str) -> str:
    names = sorted(before.keys() | after.keys(), key=lambda name: -max(one.get(name, (0, 0))[1] for one in (before, after)))
    rows = [row(name, *(one[name][1] if name in one else None for one in (before, after))) for name in names]
    # What is built in other trees than before is still one build.
    builds = [{name: taken for name, taken in one.items() if name.startswith(BUILD)} for one in (before, after)]
    checks = [name for name in names if name in before and name in after and not name.startswith(BUILD)]
    rows.append(row("**all builds**", *(sum(taken[1] for taken in one.values()) for one in builds)))
    rows.append(row("**checks that both have**", *(sum(one[name][1] for name in checks) for one in (before, after))))
    clock = sum(taken[0] for taken in builds[1].values())
    told = f"Builds took {clock / 60:.0f} minutes by the clock in the later run." if clock else ""
    return HEAD.format(clock=told, before=told_before).replace(" \n", "\n") + "\n".join(rows) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("before", "after", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--before-is", metavar="TEXT", required=True, help="what of the earlier version was run, and which it is")
    options = parser.parse_args()
    options.out.write_text(page(read(options.before), read(options.after), options.before_is))


if __name__ == "__main__":
    main()
