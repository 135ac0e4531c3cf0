#!/usr/bin/env python3
"""What the last run of `./dev test` took, slowest first: build trees, checks, and the cases inside of checks.

    tools/test_times.py build/release/Testing        writes times.txt there, and prints the ten slowest of each kind

It reads what the run left there: `processor.tsv` (name, seconds by the clock, processor seconds), `ctest.xml` (ctest
--output-junit), and in `cases/` a check's output by GoogleTest (`CHECK.log`) or pytest (`CHECK.xml`)."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

TOLD = 10
GTEST_CASE = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] ([^ ,]+)(?:,.*)? \((\d+) ms\)$", re.MULTILINE)


class Took(NamedTuple):
    seconds: float
    what: str
    skipped: bool = False
    processor_seconds: float | None = None

    def line(self) -> str:
        processor = "" if self.processor_seconds is None else f"  ({self.processor_seconds:.2f} s of processors)"
        return f"{self.seconds:9.2f} s  {self.what}{processor}"


def builds_and_checks(folder: Path) -> Iterator[Took]:
    processor: dict[str, float] = {}
    for line in (folder / "processor.tsv").read_text().splitlines():
        name, seconds, of_processors = line.split("\t")
        processor[name] = float(of_processors)
        if name.startswith("building "):
            yield Took(float(seconds), name, processor_seconds=processor[name])
    for case in ElementTree.parse(folder / "ctest.xml").iter("testcase"):
        name = case.get("name", "")
        yield Took(float(case.get("time", "0")), name, case.get("status") == "notrun", processor.get(name))


def cases(folder: Path) -> Iterator[Took]:
    for log in sorted((folder / "cases").glob("*.log")):
        for outcome, name, milliseconds in GTEST_CASE.findall(log.read_text(errors="replace")):
            yield Took(int(milliseconds) / 1000, f"{log.stem}  {name}", outcome == "SKIPPED")
    for report in sorted((folder / "cases").glob("*.xml")):
        for case in ElementTree.parse(report).iter("testcase"):
            name = f"{report.stem}  {case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
            yield Took(float(case.get("time", "0")), name, case.find("skipped") is not None)


def listed(took: list[Took]) -> list[str]:
    return [one.line() for one in sorted(took, key=lambda one: (-one.seconds, one.what))]


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    kinds = {"checks": list(builds_and_checks(folder)), "cases": list(cases(folder))}
    with open(folder / "times.txt", "w") as file:
        for kind, took in kinds.items():
            file.write("\n".join([f"{kind}, slowest first", *listed(took), "", ""]))
    for kind, took in kinds.items():
        print("\n".join([f"the slowest {kind}", *listed(took)[:TOLD]]))
    skipped = [one.what for took in kinds.values() for one in took if one.skipped]
    if skipped:
        print("\n".join([f"{len(skipped)} skipped", *(f"             {what}" for what in skipped)]))
    print(f"all of them: {folder / 'times.txt'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
