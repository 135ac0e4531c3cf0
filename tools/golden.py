#!/usr/bin/env python3
"""Golden comparison: every command of the documents with two programs, and what they answer differently.

    tools/golden.py --old /path/to/flopcast --new build/release/flopcast > changes.md
    tools/golden.py --old A --new B --document plan-a-training-run.md --document cli.md
    tools/golden.py --old A --new B --least 1e-3      leaves out numbers that move by less than 0.1 %

Runs the ```sh blocks of README.md and docs/ (tools/doc_commands.py), the examples that helps end with and
examples/demo.sh, each once with either program, and pairs the calls in the order in which they were made. Of numbers
it tells how many differ and by how much, of text what was and what is. What does not run here is listed with its
reason. Exit code 1 where something differs, so that a change that should change nothing can say so.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import difflib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from doc_commands import DOCUMENTS, HELP, ROOT, blocks_of, example_of, make_sample, name_of, prepare

MOST_SECONDS = 600
#: Lines of a call's differences that are shown.
MOST_SHOWN = 40
NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
#: What a clock says, not an answer.
CLOCK = re.compile(
    r"^.*\b(?:searched in|evaluated in|took|wall|plans/s|per second of)\b.*$"
    r'|"[a-z_]*(?:wall|elapsed|search|run)_s": *[-\d.e+]+,?',
    re.MULTILINE,
)
SHIM = """#!/bin/bash
# {label}: keeps what each call said.
n=0
until mkdir "{log}/$(printf %05d $n)" 2> /dev/null; do n=$((n + 1)); done
call="{log}/$(printf %05d $n)"
printf '%s\\0' "$@" > "$call/arguments"
set -o pipefail
"{program}" "$@" 2> >(tee "$call/stderr" >&2) | tee "$call/stdout"
code=${{PIPESTATUS[0]}}
echo "$code" > "$call/code"
exit "$code"
"""


@dataclass
class Script:
    """Something to run in a folder of its own, block after block."""

    name: str
    blocks: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # the first line of each


@dataclass
class Call:
    arguments: list[str]
    code: str
    stdout: str
    stderr: str


@dataclass
class Difference:
    command: str
    numbers: list[tuple[str, float]] = field(default_factory=list)  # the line, and the change of a number in it
    text: list[str] = field(default_factory=list)  # lines of a unified diff

    def largest(self) -> float:
        return max((abs(change) for _, change in self.numbers), default=0.0)


# --- What is run --------------------------------------------------------------------------------


def scripts_of(program: str) -> Iterator[Script]:
    for path in DOCUMENTS:
        script = Script(name_of(path))
        for kind, body, skipped in blocks_of(path):
            if kind not in {"sh", "python"}:
                continue
            if skipped or kind == "python":
                script.skipped.append(f"{kind}: {body.splitlines()[0]}")
            else:
                script.blocks.append(body)
        yield script
    helps = Script("helps")
    for command in HELP:
        text = subprocess.run([program, *command, "--help"], capture_output=True, text=True).stdout
        if "Example:\n" in text:
            helps.blocks.append(example_of(text))
    yield helps
    yield Script("examples/demo.sh", [f"FLOPCAST=flopcast bash {ROOT / 'examples/demo.sh'} $PWD/demo/out"])


def run_script(script: Script, program: str, label: str, sample: Path, folder: Path) -> list[Call]:
    """What each call of the program said, in order."""
    work, log, tools = folder / "work", folder / "log", folder / "bin"
    log.mkdir(parents=True)
    tools.mkdir()
    prepare(work, sample)
    shim = tools / "flopcast"
    shim.write_text(SHIM.format(label=label, log=log, program=program))
    shim.chmod(0o755)
    python = tools / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    environment = dict(os.environ, PATH=f"{tools}{os.pathsep}{os.environ['PATH']}", COLUMNS="200")
    for block in script.blocks:
        # Not -e: what one program refuses, the other may answer.
        command = ["bash", "-uo", "pipefail", "-c", block]
        try:
            subprocess.run(command, cwd=work, env=environment, capture_output=True, timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            print(f"golden: {label}: {script.name} took more than {MOST_SECONDS} s", file=sys.stderr)
    return [read_call(call, str(work), str(folder)) for call in sorted(log.iterdir())]


def read_call(call: Path, *places: str) -> Call:
    def text(name: str) -> str:
        file = call / name
        said = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
        for place in places:
            said = said.replace(place, "$WORK")
        return CLOCK.sub("(a clock)", said)

    arguments = text("arguments").split("\0")[:-1]
    return Call(arguments, text("code").strip() or "killed", text("stdout"), text("stderr"))


# --- What differs -------------------------------------------------------------------------------


def shape(line: str) -> str:
    return re.sub(r"[\s─-▟]+", " ", NUMBER.sub("#", line)).strip()


def value(number: str) -> float:
    return float(number.replace(",", ""))


def changes(old: str, new: str) -> list[float]:
    """Relative changes of the numbers in two lines of one shape."""
    pairs = zip(map(value, NUMBER.findall(old)), map(value, NUMBER.findall(new)), strict=True)
    return [(b - a) / abs(a) if a else float("inf") for a, b in pairs if a != b]


def compare_text(old: str, new: str, least: float) -> tuple[list[tuple[str, float]], list[str]]:
    before, after = old.splitlines(), new.splitlines()
    matcher = difflib.SequenceMatcher(None, [shape(x) for x in before], [shape(x) for x in after], autojunk=False)
    numbers: list[tuple[str, float]] = []
    text: list[str] = []
    for what, i, j, k, m in matcher.get_opcodes():
        if what != "equal":
            text += [f"- {line}" for line in before[i:j]] + [f"+ {line}" for line in after[k:m]]
            continue
        for a, b in zip(before[i:j], after[k:m], strict=True):
            moved = [change for change in changes(a, b) if abs(change) >= least]
            if moved:
                numbers.append((f"{a.strip()} → {b.strip()}", max(moved, key=abs)))
    return numbers, text


def compare_calls(old: Call | None, new: Call | None, least: float) -> Difference | None:
    call = old or new
    assert call is not None
    difference = Difference("flopcast " + shlex.join(call.arguments))
    if old is None or new is None:
        difference.text = [f"{'+' if old is None else '-'} the call itself: only one of the two was made"]
        return difference
    if old.code != new.code:
        difference.text += [f"- exit code {old.code}", f"+ exit code {new.code}"]
    for a, b in ((old.stdout, new.stdout), (old.stderr, new.stderr)):
        if a == b:
            continue
        if a.startswith("{") and b.startswith("{"):
            a, b = spread(a), spread(b)
        numbers, text = compare_text(a, b, least)
        difference.numbers += numbers
        difference.text += text
    return difference if difference.numbers or difference.text else None


def spread(text: str) -> str:
    """A JSON document with a value a line."""
    try:
        return json.dumps(json.loads(text), indent=1, ensure_ascii=False)
    except ValueError:
        return text


# --- What is told -------------------------------------------------------------------------------


def percent(change: float) -> str:
    return "from 0" if change == float("inf") else f"{change:+.3%}"


def short(command: str) -> str:
    return command if len(command) < 110 else command[:107] + "..."


def tell(script: Script, calls: int, differences: list[Difference]) -> None:
    print(f"\n## {script.name}: {calls} calls, {len(differences)} differ\n")
    for line in script.skipped:
        print(f"- not run: `{line[:100]}`")
    if differences:
        print("| command | numbers that differ | the largest by | lines of text |\n|---|---:|---:|---:|")
    for d in differences:
        largest = max((change for _, change in d.numbers), key=abs, default=0.0)
        moved = percent(largest) if d.numbers else "–"
        print(f"| `{short(d.command).replace('|', chr(92) + '|')}` | {len(d.numbers)} | {moved} | {len(d.text)} |")
    for d in differences:
        print(f"\n`{d.command}`\n\n```diff")
        for line, change in sorted(d.numbers, key=lambda x: -abs(x[1]))[:MOST_SHOWN]:
            print(f"! {percent(change)}  {line[:300]}")
        for line in d.text[:MOST_SHOWN]:
            print(line[:300])
        left = max(len(d.numbers) - MOST_SHOWN, 0) + max(len(d.text) - MOST_SHOWN, 0)
        print(f"... {left} more\n```" if left else "```")


def main() -> int:
    parser = argparse.ArgumentParser(description="What two programs answer differently to the documents' commands.")
    parser.add_argument("--old", required=True, type=Path, help="the program before")
    parser.add_argument("--new", required=True, type=Path, help="the program after")
    parser.add_argument("--document", action="append", default=[], help="only documents whose name ends so")
    parser.add_argument("--least", type=float, default=0.0, help="relative changes of numbers below this are not told")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    old, new = (str(path.resolve()) for path in (asked.old, asked.new))
    differ = 0
    with tempfile.TemporaryDirectory(prefix="golden.") as place:
        root = Path(place)
        sample = make_sample(root / "sample")
        scripts = [
            script
            for script in scripts_of(old)
            if not asked.document or any(script.name.endswith(name) for name in asked.document)
        ]

        def compare(number: int) -> tuple[int, list[Difference]]:
            script, folder = scripts[number], root / f"{number:03d}"
            a = run_script(script, old, "old", sample, folder / "old")
            b = run_script(script, new, "new", sample, folder / "new")
            pairs = [
                (a[i] if i < len(a) else None, b[i] if i < len(b) else None) for i in range(max(len(a), len(b)))
            ]
            found = [compare_calls(x, y, asked.least) for x, y in pairs]
            return len(pairs), [difference for difference in found if difference is not None]

        print("# What changed\n\nNumbers are told by their relative change; a clock's are left out.")
        with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
            for script, (calls, differences) in zip(scripts, pool.map(compare, range(len(scripts))), strict=True):
                if calls or script.skipped:
                    tell(script, calls, differences)
                differ += len(differences)
    print(f"\n{differ} calls differ.")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
