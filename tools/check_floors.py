#!/usr/bin/env python3
"""Checks that no room of the source tree includes a room above it, or its own floor in a circle.

Rooms are the folders of src/ and the headers of include/flopcast/ (<room>.h and <room>/). A room
may include rooms on lower floors, and rooms on its own floor as long as those includes form no
circle. Third-party headers go in <angle brackets>, so every quoted include with a folder names a
room.

    tools/check_floors.py [ROOT]        prints FILE:LINE for each offence; exit code 1 if any
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

FLOORS = (
    ("base",),
    ("hardware", "trace"),
    ("cost", "network", "workload", "parallel"),
    ("graph",),
    ("engine",),
    ("replay", "analytic", "mapping"),
    ("published",),
    ("question",),
    ("report",),
    ("cli", "python", "web"),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# Headers of include/flopcast/ that belong to a room of another name.
HEADER_ROOM = {"version": "base", "flopcast": "cli"}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
TEST_FILE = re.compile(r"_(test|fuzz|bench)\.cc$")
SUFFIXES = {".h", ".cc", ".hpp", ".inc"}


@dataclass(frozen=True)
class Include:
    file: str
    line: int
    room: str
    target: str


def room_of_header(name: str) -> str:
    """The room of include/flopcast/NAME.h or include/flopcast/NAME/."""
    return HEADER_ROOM.get(name, name)


def room_of_file(path: Path) -> str | None:
    """The room that a path relative to the root lies in; None for a file outside every room."""
    parts = path.parts
    if parts[:2] == ("include", "flopcast") and len(parts) > 2:
        return room_of_header(path.stem if len(parts) == 3 else parts[2])
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    return None


def room_of_include(text: str, is_test: bool) -> str | None:
    """The room an include names; None for a sibling header, a generated one or test support."""
    parts = text.split("/")
    if len(parts) == 1:
        return None
    if parts[0] == "flopcast":
        return room_of_header(parts[1].rsplit(".", 1)[0])
    if is_test and parts[0] == "support":
        return None
    return parts[0]


def read_includes(root: Path) -> tuple[list[Include], list[str]]:
    includes: list[Include] = []
    problems: list[str] = []
    for top in ("include", "src"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            relative = path.relative_to(root)
            room = room_of_file(relative)
            if room not in FLOOR_OF:
                problems.append(f"{relative}:1: lies in no known room (rooms: tools/check_floors.py)")
                continue
            is_test = TEST_FILE.search(path.name) is not None
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                target = room_of_include(match.group(1), is_test)
                if target is None or target == room:
                    continue
                if target not in FLOOR_OF:
                    problems.append(
                        f'{relative}:{number}: "{match.group(1)}" names no known room; '
                        "third-party headers go in <angle brackets>"
                    )
                    continue
                includes.append(Include(str(relative), number, room, target))
    return includes, problems


def find_upward(includes: list[Include]) -> list[str]:
    return [
        f"{i.file}:{i.line}: {i.room}/ (floor {FLOOR_OF[i.room]}) must not include {i.target}/ "
        f"(floor {FLOOR_OF[i.target]}), which is above it"
        for i in includes
        if FLOOR_OF[i.target] > FLOOR_OF[i.room]
    ]


def find_circles(includes: list[Include]) -> list[str]:
    """Every include between two rooms of one floor that each reach the other."""
    level = [i for i in includes if FLOOR_OF[i.target] == FLOOR_OF[i.room]]
    edges: dict[str, set[str]] = {}
    for i in level:
        edges.setdefault(i.room, set()).add(i.target)

    def reaches(start: str, goal: str) -> bool:
        seen: set[str] = set()
        stack = [start]
        while stack:
            room = stack.pop()
            if room == goal:
                return True
            if room not in seen:
                seen.add(room)
                stack.extend(edges.get(room, ()))
        return False

    return [
        f"{i.file}:{i.line}: {i.room}/ includes {i.target}/ on its own floor, "
        f"and {i.target}/ leads back to {i.room}/"
        for i in level
        if reaches(i.target, i.room)
    ]


def check(root: Path) -> list[str]:
    includes, problems = read_includes(root)
    return problems + find_upward(includes) + find_circles(includes)


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    problems = check(root)
    for problem in problems:
        print(problem)
    if problems:
        print(f"{len(problems)} problem(s) with the floors", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
