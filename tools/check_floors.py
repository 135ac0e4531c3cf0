#!/usr/bin/env python3
"""Checks that the rooms of the source tree include each other downwards, and by their doors.

Rooms are the folders of src/ with the headers of include/flopcast/ (<room>.h and <room>/<subject>.h),
and the folder python/. A room may have inner rooms, folders of its own: src/<room>/<inner>/; those
that NESTED names have inner rooms themselves. The rules:

- A room includes rooms on lower floors, and rooms on its own floor as long as those includes form no
  circle. FLOORS is the table.
- Other rooms are entered by their public headers alone. base/, the ground floor, is open to all.
- Inner rooms of one folder form no circle either, and files that lie directly in a folder are above
  all inner rooms of it. A public header <room>/<inner>.h belongs to the inner room of its name.
- WALLS holds what some inner rooms may include at most, and which of them nobody enters.
- Tests, fuzz targets and benches may include any header of their own room, and tests/support/.
- A folder has at most MOST_SOURCES sources and headers, its tests, fuzz targets and benches not counted.
- What a machine is like is told by facts of the catalogue, never by what a chip, a link or a cluster
  is called: no source looks into such a name, but for those that read names (NAME_READERS).
- The table names every room there is, and none that is not. A header that says "// Floor N" in its
  first line says the right one.

Third-party headers go in <angle brackets>, so every quoted include with a folder names a room.

    tools/check_floors.py [ROOT]        prints FILE:LINE for each offence; exit code 1 if any
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

FLOORS = (
    ("base",),
    ("hardware", "trace"),
    ("cost", "network", "workload", "parallel"),
    ("graph", "machine"),
    ("engine",),
    ("replay", "analytic", "mapping", "live", "serving"),
    ("published", "whatif", "measured"),
    ("question",),
    ("report",),
    ("cli", "python"),
)
OPEN_TO_ALL = "base"
MOST_SOURCES = 30
# Inner rooms that have inner rooms.
NESTED = ("live/engine", "live/standin", "live/start", "whatif/structure")


@dataclass(frozen=True)
class Wall:
    """What the sources of a folder may include besides the folder's own, where that is less than
    floors allow: of their own room, and of others. None: all."""

    folder: str
    own: tuple[str, ...] | None = None
    others: tuple[str, ...] | None = None
    closed: bool = False
    """Sources outside include nothing of it."""


WALLS = (
    # Shared by both sides of a live run, each compiled by itself.
    Wall("live/wire", own=(), others=()),
    # Loaded into programs of others: it needs nothing that the library is made of.
    Wall("live/standin", own=("live/wire",), others=("base/numeric/mix.h",), closed=True),
    # Compiled on the user's machine from copies of itself and of these.
    Wall(
        "live/standin/torch",
        own=("live/standin/operators/operator.h", "live/standin/values/plugin.h"),
        others=(),
        closed=True,
    ),
    Wall("live/engine", own=("live/wire",)),
    Wall("live/start", own=("live/wire",)),
)

# Sources that may ask what a chip, a link or a cluster is called, and why.
NAME_READERS = {
    "src/hardware": "finds entries of the catalogue by name, and reads files of topologies",
    "src/trace": "tells devices by what profilers call them",
    "src/parallel/launchers": "reads what launchers write",
    "src/published": "numbers of papers go by the papers' names of systems",
    "src/cli/published": "makes such names",
}
# Headers of include/flopcast/ that belong to a room of another name; the build writes them.
HEADER_ROOM = {"version": "base"}

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
# testing.h is what the tests of a folder share.
TEST_FILE = re.compile(r"(_(test|fuzz|bench)\.cc|^testing\.h)$")
FLOOR = re.compile(r"// Floor (\d+)\b")
SUFFIXES = {".h", ".cc", ".hpp", ".inc"}


@dataclass(frozen=True)
class Place:
    """Where a file lies: its room, and the inner rooms that it is in, outermost first."""

    room: str
    inner: tuple[str, ...] = ()
    public: bool = False

    @property
    def folder(self) -> str:
        return "/".join((self.room, *self.inner))


@dataclass(frozen=True)
class Include:
    file: str
    line: int
    text: str
    by: Place
    of: Place
    in_test: bool

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


class Floors:
    """A table of rooms: each on a floor."""

    def __init__(self, floors: Iterable[Iterable[str]]) -> None:
        self.of = {room: floor for floor, rooms in enumerate(floors) for room in rooms}

    def find_upward(self, includes: list[Include]) -> list[str]:
        return [
            f"{i.where}: {i.by.room}/ (floor {self.of[i.by.room]}) must not include {i.of.room}/ "
            f"(floor {self.of[i.of.room]}), which is above it"
            for i in includes
            if self.of[i.of.room] > self.of[i.by.room]
        ]

    def find_circles(self, includes: list[Include]) -> list[str]:
        """Every include between two rooms of one floor that each reach the other."""
        level = [
            i
            for i in includes
            if i.by.room != i.of.room and self.of[i.of.room] == self.of[i.by.room]
        ]
        return [
            f"{i.where}: {i.by.room}/ includes {i.of.room}/ on its own floor, "
            f"and {i.of.room}/ leads back to {i.by.room}/"
            for i in in_circles(level, lambda i: (i.by.room, i.of.room))
        ]


def in_circles(
    includes: list[Include], ends: Callable[[Include], tuple[str, str]]
) -> list[Include]:
    """The includes whose target leads back to where they come from."""
    edges: dict[str, set[str]] = {}
    for i in includes:
        start, end = ends(i)
        edges.setdefault(start, set()).add(end)

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

    return [i for i in includes if reaches(ends(i)[1], ends(i)[0])]


def room_of_header(name: str) -> str:
    """The room of include/flopcast/NAME.h or include/flopcast/NAME/."""
    return HEADER_ROOM.get(name, name)


def place_of_header(root: Path, parts: tuple[str, ...]) -> Place:
    """Where include/flopcast/PARTS lies."""
    if len(parts) == 1:
        return Place(room_of_header(parts[0].removesuffix(".h")), public=True)
    room, subject = parts[0], parts[1].removesuffix(".h")
    nested = [tuple(folder.split("/")[1:]) for folder in NESTED if folder.startswith(f"{room}/")]
    for around in ((), *nested):
        if root.joinpath("src", room, *around, subject).is_dir():
            return Place(room, (*around, subject), public=True)
    return Place(room, public=True)


def place_of_file(root: Path, path: Path) -> Place | None:
    """Where a path relative to the root lies; None for a file outside every room."""
    parts = path.parts
    if parts[:2] == ("include", "flopcast") and 3 <= len(parts) <= 4:
        return place_of_header(root, parts[2:])
    if parts[0] == "src" and (3 <= len(parts) <= 4 or "/".join(parts[1:-2]) in NESTED):
        return Place(parts[1], parts[2:-1])
    if parts[0] == "python" and len(parts) == 2:
        return Place("python")
    return None


def place_of_include(root: Path, text: str) -> Place | None:
    """Where an included header lies; None for a sibling or a generated one."""
    parts = tuple(text.split("/"))
    if len(parts) == 1:
        return None
    if parts[0] == "flopcast":
        return place_of_header(root, parts[1:])
    return Place(parts[0], parts[1:-1])


def sources(root: Path) -> Iterable[Path]:
    """Headers and sources of all rooms, relative to the root."""
    for top in ("include", "src", "python"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path.relative_to(root)


def read_includes(root: Path, rooms: Iterable[str]) -> tuple[list[Include], list[str]]:
    includes: list[Include] = []
    problems: list[str] = []
    for relative in sources(root):
        place = place_of_file(root, relative)
        if place is None or place.room not in rooms:
            problems.append(f"{relative}:1: lies in no known room (rooms: tools/check_floors.py)")
            continue
        in_test = TEST_FILE.search(relative.name) is not None
        lines = (root / relative).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            match = INCLUDE.match(line)
            target = place_of_include(root, match.group(1)) if match else None
            if target is None or (in_test and target.room == "support"):
                continue
            if target.room not in rooms:
                problems.append(
                    f'{relative}:{number}: "{match.group(1)}" names no known room; '
                    "third-party headers go in <angle brackets>"
                )
                continue
            includes.append(
                Include(str(relative), number, match.group(1), place, target, in_test)
            )
    return includes, problems


def find_private(includes: list[Include]) -> list[str]:
    """Includes of another room's headers that are not in include/."""
    return [
        f'{i.where}: "{i.text}" is private to {i.of.room}/; '
        f"include a header of include/flopcast/{i.of.room}/"
        for i in includes
        if not i.of.public and i.by.room != i.of.room and i.of.room != OPEN_TO_ALL
    ]


def apart(i: Include) -> tuple[str, str]:
    """The two folders, side by side in one room, that an include goes from and to; or a folder and
    "" for what lies around it."""
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(i.by.inner, i.of.inner))))
    start = "/".join((i.by.room, *i.by.inner[: shared + 1]))
    if len(i.of.inner) == shared:
        return start, ""
    return start, "/".join((i.of.room, *i.of.inner[: shared + 1]))


def find_inner_circles(includes: list[Include]) -> list[str]:
    """Between inner rooms of one folder; and from an inner room up to what is above them all."""
    inside = [
        i
        for i in includes
        if i.by.room == i.of.room
        and not i.in_test
        and i.by.inner != i.of.inner[: len(i.by.inner)]
    ]
    upward = [
        f'{i.where}: "{i.text}" lies directly in src/{i.of.folder}/, above its inner rooms'
        for i in inside
        if not apart(i)[1] and not i.of.public
    ]
    between = [i for i in inside if apart(i)[1]]
    return upward + [
        f"{i.where}: {apart(i)[0]}/ includes {apart(i)[1]}/, which leads back to it"
        for i in in_circles(between, apart)
    ]


def lies_in(place: str, folders: Iterable[str]) -> bool:
    return any(place == folder or place.startswith(f"{folder}/") for folder in folders)


def find_walled(includes: list[Include], walls: Iterable[Wall] = WALLS) -> list[str]:
    """Includes through a wall, out of its folder or into it."""
    problems = []
    for i in includes:
        if i.in_test:
            continue
        # A public header that is of no inner room has no folder to lie in.
        of = i.text if not i.of.public else i.of.folder if i.of.inner else ""
        for wall in walls:
            inside, into = lies_in(i.by.folder, [wall.folder]), lies_in(of, [wall.folder])
            if inside and not into:
                allowed = wall.own if i.of.room == i.by.room and of else wall.others
                if allowed is not None and not lies_in(of, allowed):
                    problems.append(
                        f'{i.where}: {wall.folder}/ must not include "{i.text}" '
                        "(walls: tools/check_floors.py)"
                    )
            if wall.closed and into and not inside:
                problems.append(
                    f'{i.where}: "{i.text}" is behind the wall of {wall.folder}/ '
                    "(walls: tools/check_floors.py)"
                )
    return problems


# What a chip, a link or a cluster is called: chip.name, links[0].name, level.link, device_name, fabric.
THING = r"(?:chip|link|cluster|node|machine|device|gpu|system|fabric|level)s?"
CALLED = (
    rf"(?:\b\w*{THING}_?(?:\[[^\]]*\]|\(\))?(?:\.|->)name|(?:\.|->)link"
    rf"|\b(?:\w+_)?{THING}_name)\b(?:\(\))?"
)
TEXT = r'(?:"(?:[^"\\]|\\.)*"|' + r"'[^']*')"
LOOKS_INTO = r"(?:\.|->)(?:r?find\w*|starts_with|ends_with|contains|compare|substr)\("
NAME_TEST = re.compile(
    rf"{CALLED}\)?\s*(?:[!=]=\s*{TEXT}|{LOOKS_INTO})"
    rf"|{TEXT}\s*[!=]=\s*[\w.\->\[\]()]*?{CALLED}(?!\.)"
    rf"|\b{THING}_?(?:\s*[!=]=\s*|{LOOKS_INTO})\"[^\"]*[A-Za-z]"
)


def find_name_tests(root: Path, readers: Iterable[str] = tuple(NAME_READERS)) -> list[str]:
    """String tests on names of chips, links and clusters."""
    problems = []
    for relative in sources(root):
        if TEST_FILE.search(relative.name) or lies_in(str(relative), readers):
            continue
        lines = (root / relative).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            if match := NAME_TEST.search(line.partition("//")[0]):
                problems.append(
                    f"{relative}:{number}: `{match.group(0)}` goes by a name; a fact of the catalogue "
                    "says what a machine is like (readers of names: tools/check_floors.py)"
                )
    return problems


def find_crowded(root: Path) -> list[str]:
    """Folders with more sources than one can keep in mind."""
    counts: dict[Path, int] = {}
    for path in sources(root):
        if not TEST_FILE.search(path.name):
            counts[path.parent] = counts.get(path.parent, 0) + 1
    return [
        f"{folder}:1: has {count} sources; at most {MOST_SOURCES} lie in one folder"
        for folder, count in counts.items()
        if count > MOST_SOURCES
    ]


def find_misplaced(root: Path, table: Floors) -> list[str]:
    """Files whose first line says another floor than the table."""
    problems = []
    for relative in sources(root):
        place = place_of_file(root, relative)
        if place is None or place.room not in table.of:
            continue
        with open(root / relative, encoding="utf-8") as file:
            said = FLOOR.match(file.readline())
        if said and int(said.group(1)) != table.of[place.room]:
            problems.append(
                f"{relative}:1: {place.room}/ is on floor {table.of[place.room]}, "
                f"not {said.group(1)}"
            )
    return problems


def find_absent(root: Path, rooms: Iterable[str]) -> list[str]:
    """Rooms of the table that have no file."""
    there = {place.room for path in sources(root) if (place := place_of_file(root, path))}
    return [
        f"tools/check_floors.py:1: {room}/ is in the table, and not in the tree"
        for room in rooms
        if room not in there
    ]


def check(root: Path, floors: Iterable[Iterable[str]] = FLOORS) -> list[str]:
    table = Floors(floors)
    includes, problems = read_includes(root, table.of)
    return [
        *problems,
        *find_absent(root, table.of),
        *find_misplaced(root, table),
        *table.find_upward(includes),
        *table.find_circles(includes),
        *find_private(includes),
        *find_inner_circles(includes),
        *find_walled(includes),
        *find_name_tests(root),
        *find_crowded(root),
    ]


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
