#!/usr/bin/env python3
"""Which tests a pattern means, for `./dev test PATTERN`.

    network                          all of a room
    src/network/flow, network/flow   those of a folder; of a file, with its name
    'Kineto*', 'Kineto*.Reads*'      suites or cases, as --gtest_filter has them
    tests/python/test_cli.py         a file of Python tests, or one of its cases (::NAME)

Prints a line for each program of tests: its room and a filter, or "python" and what pytest is given. Nothing is
found: exit code 1."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

CASE = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(\s*(\w+),\s*(\w+)", re.MULTILINE)
#: The room of tests/*_test.cc, which span rooms (cmake/tests.cmake).
SPANNING = "whole"


class Case(NamedTuple):
    room: str
    path: str  #: of its file, below src/ or in tests/
    suite: str
    name: str


def all_cases(root: Path) -> Iterator[Case]:
    for base, files in (("src", (root / "src").rglob("*_test.cc")), ("tests", (root / "tests").glob("*_test.cc"))):
        for file in sorted(files):
            path = file.relative_to(root / "src") if base == "src" else file.relative_to(root)
            room = path.parts[0] if base == "src" else SPANNING
            for suite, name in CASE.findall(file.read_text()):
                yield Case(room, str(path), suite, name)


def chosen(cases: list[Case], pattern: str) -> list[Case]:
    """The cases that lie there, or else those of that name."""
    place = pattern.removeprefix("src/").rstrip("/").removesuffix(".cc").removesuffix(".h")
    inside = [
        case
        for case in cases
        if case.room == place or case.path.startswith(place + "/") or case.path.removesuffix("_test.cc") == place.removesuffix("_test")
    ]
    if inside or "/" in pattern:
        return inside or nearest(cases, place)
    suite, _, name = pattern.partition(".")
    return [case for case in cases if fnmatchcase(case.suite, suite) and fnmatchcase(case.name, name or "*")]


def nearest(cases: list[Case], place: str) -> list[Case]:
    """A source that has no test of its own name is tested by those of its folder, or of the one above."""
    while "/" in place:
        place = place.rpartition("/")[0]
        if near := [case for case in cases if case.path.startswith(place + "/")]:
            return near
    return []


def filters(cases: list[Case], pattern: str) -> dict[str, str]:
    """By room. Parametrised suites have words before and behind."""
    whole = "." not in pattern or "/" in pattern
    parts: dict[str, set[str]] = {}
    for case in cases:
        name = f"{case.suite}.{'*' if whole else case.name}"
        parts.setdefault(case.room, set()).update({name, f"*/{name}" + ("" if whole else "/*")})
    return {room: ":".join(sorted(names)) for room, names in parts.items()}


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    pattern = sys.argv[1]
    root = Path(__file__).resolve().parents[1]
    if re.match(r"(tests/python/|test_\w+\.py)", pattern):
        path = pattern if pattern.startswith("tests/") else f"tests/python/{pattern}"
        if not (root / path.partition("::")[0]).exists():
            return 1
        print(f"python\t{path}")
        return 0
    found = filters(chosen(list(all_cases(root)), pattern), pattern)
    for room, names in found.items():
        print(f"{room}\t{names}")
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
