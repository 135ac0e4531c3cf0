#!/usr/bin/env python3
"""Runs frameworks as PyPI has them, live, and writes the section "Frameworks" of docs/validation/live.md: no number in it is typed.

    tools/validate_live.py --flopcast build/release/flopcast --shared ../shared --python .torch/bin/python [NAME..]

NAME is a file tools/live_frameworks/NAME.toml; without any, all of them run. Rows of the others stay as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "live_frameworks"))

import beside_serve
import venvs
from docs_text import Program, percent, signed, table

TABLES = Path("tools/live_frameworks")
PAGE = Path("docs/validation/live.md")
TITLE = "## Frameworks"
ABOUT = """\
Written by `./dev validate-live`: frameworks as PyPI has them, torchtitan of 2024 and 2025 as its repository (what a script of ours sets beside is in its row), each on the PyTorch of `.torch` or one that it pins. A step's time is what the framework
itself prints, else the median step of the run's account (*). Memory is what the framework says, else the peak of a GPU. Unknown: the share that
kernels of unknown work might have of the step, moving what they can reach once. Real time is this machine's; host memory is by how much less of it was
available (`MemAvailable`, looked at every half second) than before.
"""
TITLES = ["framework", "configuration", "on", "ranks", "ends", "step or rate", "against", "error", "memory, GiB", "error", "unknown", "real, s", "host memory, GB"]
SECONDS = {"ms": 1e-3, "s": 1.0}


@dataclass(frozen=True)
class Measured:
    """A case of FLOPCAST_SHARED/measured/FILE, and what of `measured` is this row's."""

    file: str
    id: str
    key: str
    memory: str = ""


@dataclass(frozen=True)
class Published:
    """A number that is in no file of FLOPCAST_SHARED, in the row's unit, and who says so."""

    value: float
    source: str


@dataclass(frozen=True)
class Row:
    """What a [[run]] says; what [every] says holds for all of a file that say nothing else, and their commands begin with its."""

    what: str
    on: str
    command: list[str]
    ranks: int = 0
    environment: dict[str, str] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    limit_s: int = 600
    says: str = ""
    unit: str = "ms"
    memory: str = ""
    ends: str = ""
    measured: Measured | None = None
    published: Published | None = None
    compare: list[str] = field(default_factory=list)
    compare_key: str = ""

    def serves(self) -> bool:
        """Whether it is held against `flopcast serve`."""
        return self.compare[:1] == ["serve"]


@dataclass(frozen=True)
class Framework:
    name: str
    packages: list[str]
    rows: list[Row]
    torch: str = ""  # a version of its own, where .torch's will not do
    sources: list[str] = field(default_factory=list)  # compiled against the packages


@dataclass(frozen=True)
class Outcome:
    """A run: its exit status, all that it printed, its own account, its real time, and the memory of this machine that it took; its terms
    beside those of `flopcast serve`."""

    status: int
    output: str
    account: dict
    real_s: float
    host_gb: float
    terms: list[dict[str, float]] = field(default_factory=list)


# --- The table ----------------------------------------------------------------------------------------


def parsed(kind: type, told: dict, place: str) -> object:
    """A dataclass of these keys, or what is wrong with them."""
    fields = kind.__dataclass_fields__
    unknown = ", ".join(key for key in told if key not in fields)
    if unknown:
        sys.exit(f"{place}: {unknown}: unknown; there are {', '.join(fields)}")
    try:
        return kind(**told)
    except TypeError as error:
        sys.exit(f"{place}: {error}")


def read(path: Path) -> Framework:
    document = tomllib.loads(path.read_text())
    every, rows = document.pop("every", {}), []
    for number, own in enumerate(document.pop("run", []), 1):
        place = f"{path}: run {number}"
        told = {**every, **own}
        if "command" in every and "command" in own:
            told["command"] = every["command"] + own["command"]
        for key, kind in (("measured", Measured), ("published", Published)):
            if key in told:
                told[key] = parsed(kind, told[key], f"{place}: {key}")
        rows.append(parsed(Row, told, place))
    return parsed(Framework, {"name": path.stem, "rows": rows, **document}, str(path))


# --- Runs ---------------------------------------------------------------------------------------------


class HostMemory:
    """How much less memory was available, at worst, than when it began. What others take meanwhile counts as well."""

    def __enter__(self) -> HostMemory:
        self.before = self.least = self.available()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def look(self) -> None:
        while not self.over.wait(0.5):
            self.least = min(self.least, self.available())

    def taken_gb(self) -> float:
        return (self.before - self.least) / 1e9

    @staticmethod
    def available() -> int:
        return 1024 * int(re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text())[1])


def placed(word: str, places: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: places.get(found[1], found[0]), word)


def run(program: Program, python: Path, row: Row) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        account = Path(folder) / "run.json"
        places = {"venv": str(python.parents[1]), "site": str(venvs.site_packages(python).absolute()), "folder": folder}
        timeline = Path(folder) / "timeline.json"
        words = [program.path, "run", "--on", row.on, "--python", str(python), "--json", str(account), *row.flags]
        words += ["--ranks", str(row.ranks)] if row.ranks else []
        words += ["--trace-out", str(timeline)] if row.serves() else []
        words += [placed(word, places) for word in row.command]
        environment = {name: placed(value, places) for name, value in row.environment.items()}
        path = f"{python.parent.absolute()}:{os.environ['PATH']}"
        begun = time.monotonic()
        with HostMemory() as memory:
            done = subprocess.run(
                ["timeout", "--kill-after", "20", str(row.limit_s), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                errors="replace", env={**os.environ, "PATH": path, **environment},
            )  # fmt: skip
        real_s = time.monotonic() - begun
        told = json.loads(account.read_text()) if account.exists() else {}
        outcome = Outcome(done.returncode, done.stdout, told, real_s, memory.taken_gb())
        if not row.serves() or not ended(row, outcome):
            return outcome
        rate = last_number(row.says, done.stdout) or 0.0
        return replace(outcome, terms=beside_serve.compared(row.compare, rate, timeline, program.json(*row.compare)))


def last_number(pattern: str, output: str) -> float | None:
    found = re.findall(pattern, output, re.MULTILINE) if pattern else []
    return float(found[-1].replace(",", "")) if found else None


def median_step_s(account: dict) -> float | None:
    steps = sorted(end - start for rank in account.get("ranks", [])[:1] for start, end in rank["steps"])
    return steps[len(steps) // 2] if steps else None


def said(row: Row, outcome: Outcome) -> float | None:
    if row.says:
        return last_number(row.says, outcome.output)
    step = median_step_s(outcome.account)
    return None if step is None else step / SECONDS[row.unit]


def ended(row: Row, outcome: Outcome) -> bool:
    """To its end, with what it was to say."""
    if outcome.status != 0 or outcome.account.get("status") != 0 or not outcome.account.get("ranks"):
        return False
    return (not row.ends or re.search(row.ends, outcome.output, re.MULTILINE) is not None) and said(row, outcome) is not None


def why(outcome: Outcome) -> str:
    """What a row that did not end ended with."""
    if outcome.status in (124, 137):
        return "no, time-out"
    lines = [line for line in outcome.output.splitlines() if re.search(r"(Error|error|Exception)\b.*: ", line)]
    return f"no, {lines[-1].strip()[:80]}" if lines else f"no, exit code {outcome.status}"


# --- What is compared -----------------------------------------------------------------------------------


def case_of(shared: Path, measured: Measured) -> dict:
    path = shared / "measured" / measured.file
    cases = [case["measured"] for case in json.loads(path.read_text())["cases"] if case["id"] == measured.id]
    if len(cases) != 1:
        sys.exit(f"{path}: {len(cases)} cases are called {measured.id}; expected one")
    return cases[0]


def expected(row: Row, shared: Path, program: Program) -> float | None:
    """What the row's number is held against, in its unit."""
    if row.measured:
        value = case_of(shared, row.measured)[row.measured.key]
        return value / SECONDS[row.unit] if row.measured.key.endswith("_s") and row.unit in SECONDS else value
    if row.published:
        return row.published.value
    if row.compare:
        value = program.json(*row.compare)
        for key in row.compare_key.split("."):
            value = value[key]
        return value / SECONDS[row.unit] if row.compare_key.endswith("_s") and row.unit in SECONDS else value
    return None


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def ranks_of(account: dict) -> str:
    """How many a run had; of a folded one, how many of them ran."""
    there = len(account.get("ranks", []))
    if not account.get("folded"):
        return str(there or "–")
    alike = ",".join(part["ranks"] for part in account["folded"])
    spans = [re.fullmatch(r"(\d+)(?:-(\d+))?(?:/(\d+))?", span).groups() for span in alike.split(",")]
    all_of = sum(1 if last is None else (int(last) - int(first)) // int(step or 1) + 1 for first, last, step in spans)
    return f"{all_of:,} ({there} ran)"


def cells(framework: str, row: Row, outcome: Outcome, shared: Path, program: Program) -> list[str]:
    account, good = outcome.account, ended(row, outcome)
    value, other = said(row, outcome) if good else None, expected(row, shared, program)
    peak = last_number(row.memory, outcome.output)
    if peak is None and account.get("ranks"):
        peak = max(rank["peak_memory_bytes"] for rank in account["ranks"]) / 2**30
    memory = case_of(shared, row.measured)[row.measured.memory] if row.measured and row.measured.memory else None
    source = "measured" if row.measured else row.published.source if row.published else f"`flopcast {row.compare[0]}`" if row.compare else ""
    against = "–" if other is None else f"{number(other)} ({source})"
    return [
        framework, row.what, f"`{row.on}`", ranks_of(account), "yes" if good else why(outcome),
        "–" if value is None else f"{number(value)} {row.unit}{'' if row.says else ' *'}", against,
        signed(value / other - 1) if value is not None and other else "–",
        "–" if peak is None else f"{peak:.2f}", signed(peak / memory - 1) if good and peak is not None and memory else "–",
        percent(account["unknown_work"]["share"], 1) if "unknown_work" in account else "–", f"{outcome.real_s:.0f}", f"{outcome.host_gb:.1f}",
    ]  # fmt: skip


# --- The page -----------------------------------------------------------------------------------------


def section(page: str, title: str = TITLE) -> str:
    """The section as it stands in a page; empty where there is none."""
    found = re.search(rf"^{title}\n.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return found[0].rstrip("\n") + "\n" if found else ""


def with_section(page: str, text: str, title: str = TITLE) -> str:
    old = section(page, title)
    if old:
        return page.replace(old.rstrip("\n"), text.rstrip("\n"))
    return page.rstrip("\n") + "\n\n" + text


def rows_by_framework(text: str) -> dict[str, list[str]]:
    rows: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith(f"| {TITLES[0]} |"):
            rows.setdefault(line.split()[1], []).append(line)
    return rows


def write_beside(name: str, rows: list[list[str]], sections: Path) -> None:
    """The same of a framework's terms beside those of `flopcast serve`, in a section of their own."""
    page = sections.read_text(encoding="utf-8")
    titles = ["framework", "configuration", "ms", "run", "`flopcast serve`"]
    known = rows_by_framework(section(page, beside_serve.TITLE))
    known[name] = table([], rows).splitlines()[2:]
    lines = [line for _, of_one in sorted(known.items()) for line in of_one]
    text = f"{beside_serve.TITLE}\n\n{beside_serve.ABOUT}\n{table(titles, [])}" + "\n".join(lines) + "\n"
    sections.write_text(with_section(page, text, beside_serve.TITLE), encoding="utf-8")


def write(name: str, rows: list[list[str]], sections: Path) -> None:
    """Puts a framework's rows into the page, in place of those that it had."""
    page = sections.read_text(encoding="utf-8")
    known = rows_by_framework(section(page))
    known[name] = table([], rows).splitlines()[2:]
    lines = [line for _, of_one in sorted(known.items(), key=lambda one: one[0].lower()) for line in of_one]
    text = f"{TITLE}\n\n{ABOUT}\n{table(TITLES, [])}" + "\n".join(lines) + "\n"
    sections.write_text(with_section(page, text), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--flopcast", default="flopcast")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--python", type=Path, required=True, help="one that has PyTorch")
    parser.add_argument("--venvs", type=Path, default=Path("build/frameworks"))
    parser.add_argument("--out", type=Path, default=PAGE)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    tables = {path.stem: path for path in sorted(TABLES.glob("*.toml"))}
    for name in options.names:
        if name not in tables:
            parser.error(f"{name}: no framework; there are {', '.join(tables)}")
    program = Program(options.flopcast)
    failed = 0
    for name in options.names or tables:
        framework = read(tables[name])
        python = venvs.make(options.venvs, name, framework.packages, options.python, framework.torch, framework.sources)
        version = venvs.version(python, re.split(r"[\[=<>~ ]", framework.packages[0])[0])
        rows, beside = [], []
        for row in framework.rows:
            outcome = run(program, python, row)
            if not ended(row, outcome):
                failed += 1
                print(outcome.output[-3000:], file=sys.stderr)
            rows.append(cells(f"{name} {version}", row, outcome, options.shared, program))
            print(" | ".join(rows[-1]), flush=True)
            if outcome.terms:
                beside += [[rows[-1][0], *line] for line in beside_serve.cells(row.what, outcome.terms)]
        write(name, rows, options.out)
        if beside:
            write_beside(name, beside, options.out)
    sys.exit(f"{failed} of the runs did not end as they should" if failed else 0)


if __name__ == "__main__":
    main()
