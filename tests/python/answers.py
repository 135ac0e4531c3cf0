"""Holds what commands answer against its description (`flopcast schema`).

`watched` makes a `flopcast` that keeps what each call said; `problems_of` says what of its documents is not as described."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema

SHIM = """#!/bin/bash
n=0
until mkdir "{log}/$(printf %05d $n)" 2> /dev/null; do n=$((n + 1)); done
call="{log}/$(printf %05d $n)"
printf '%s\\0' "$@" > "$call/arguments"
pwd > "$call/folder"
set -o pipefail
"{program}" "$@" | tee "$call/stdout"
exit "${{PIPESTATUS[0]}}"
"""


def watched(place: Path, program: Path, log: Path) -> None:
    """A program at `place` that does what `program` does."""
    log.mkdir(exist_ok=True)
    place.write_text(SHIM.format(program=program, log=log))
    place.chmod(0o755)


@functools.cache
def described(program: str) -> dict[str, Any]:
    said = subprocess.run([program, "schema", "--json"], capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def answer_of(program: str, arguments: list[str]) -> dict[str, Any] | None:
    """The answer that a line asks for: the one whose command says most of it."""
    best, most = None, 0
    for answer in described(program)["answers"]:
        for command in answer["commands"]:
            words = [word for word in command.split() if not word.isupper()]
            if arguments[:1] != words[:1] or not all(arguments.count(word) >= words.count(word) for word in words):
                continue
            if len(words) > most:
                best, most = answer, len(words)
    return best


def problems(program: str, root: str, document: Any) -> list[str]:
    """How a document is not what is described as `root`."""
    schema = {"$defs": described(program)["$defs"], "$ref": f"#/$defs/{root}"}
    errors = jsonschema.Draft202012Validator(schema).iter_errors(document)
    return [f"{error.json_path}: {error.message[:200]}" for error in errors]


def documents_in(text: str) -> list[Any]:
    """One document, or one on each line."""
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines() if line]


def page_problems(program: str, answer: dict[str, Any], page: str) -> list[str]:
    """Its answer is its last document that is neither its origin nor rows of a timeline."""
    found = dict(re.findall(r'<script type="application/json" id="(\w+)">(.*?)</script>', page, re.DOTALL))
    wrong = problems(program, "PageOrigin", json.loads(found.pop("origin")))
    if not answer["pages"]:
        return [*wrong, "no page is described"]
    if "rows" in found:
        wrong += problems(program, "RowsDocument", json.loads(found.pop("rows")))
    return wrong + problems(program, answer["pages"][0], json.loads(list(found.values())[-1]))


def csv_problems(program: str, row: str, text: str, arguments: list[str]) -> list[str]:
    """Titles that are no column of `row`; those of a sweep's values are its names, those of a whole run its fields."""
    objects = described(program)["$defs"]
    known = set(objects[row]["properties"])
    if {"--tokens", "--steps"} & set(arguments):
        known |= {f"run_{name}" for name in objects["WholeRun"]["properties"]}
    swept = {value.partition("=")[0] for flag, value in zip(arguments, arguments[1:]) if flag == "--sweep"}
    known |= swept | {f"sweep_{name}" for name in swept}
    titles = next(csv.reader(io.StringIO(text)), [])
    return [f"column '{title}' is not described" for title in titles if title not in known]


class Call(NamedTuple):
    arguments: list[str]
    folder: Path
    said: str  #: on standard output


def calls_in(log: Path) -> Iterator[Call]:
    for call in sorted(log.iterdir()):
        arguments = (call / "arguments").read_text().split("\0")[:-1]
        yield Call(arguments, Path((call / "folder").read_text().strip()), (call / "stdout").read_text(errors="replace"))


def problems_of(program: str, log: Path) -> list[str]:
    """What of the documents of all calls in `log` is not as described, and which of these calls nothing describes."""
    found = []
    for arguments, folder, said in calls_in(log):
        if not {"--json", "--csv", "--html"} & set(arguments):
            continue
        answer = answer_of(program, arguments)
        if answer is None:
            found.append(f"{' '.join(arguments)}: no answer is described")
            continue
        wrong = []
        if "--json" in arguments and said:
            for document in documents_in(said):
                wrong += problems(program, answer["root"], document)
        if "--csv" in arguments and said:
            wrong += csv_problems(program, answer["row"], said, arguments) if answer["row"] else ["no CSV is described"]
        if "--html" in arguments and (page := folder / arguments[arguments.index("--html") + 1]).exists():
            wrong += page_problems(program, answer, page.read_text())
        found += [f"flopcast {' '.join(arguments)}: {one}" for one in wrong[:5]]
    return found
