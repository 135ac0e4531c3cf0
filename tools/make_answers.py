#!/usr/bin/env python3
"""Writes what follows from the description of answers (catalog/answers, `flopcast schema`).

    tools/make_answers.py [build/release/flopcast]             rewrites the files that differ
    tools/make_answers.py --check [build/release/flopcast]     names them, and exit code 1 if there are any

docs/reference/json.md behind its mark, web/data.d.ts, and python/flopcast/answers.py.
"""

from __future__ import annotations

import argparse
import json
import keyword
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MARK = "<!-- From here on by tools/make_answers.py. -->\n"
#: Answers of the Python package: those that are documents, and those that are handed out as they are.
DOCUMENTS = ("estimate", "map", "plan", "replay", "serve", "serve-plan", "serve-plans", "whatif")
PLAIN = ("explore", "net-run", "net-time")
#: Fields that a class of the package gives another shape.
OWN = {"PlanPoint": {"sensitivities"}, "ComparedFleets": {"cheapest", "clusters", "fewest_chips"}}
SCALARS = {"string": "text", "boolean": "flag", "integer": "count", "number": "number"}
IN_TYPESCRIPT = {"string": "string", "boolean": "boolean", "integer": "number", "number": "number"}
PYTHON_TYPES = {"string": "str", "boolean": "bool", "integer": "int", "number": "float"}

Schema = dict[str, Any]


class Type:
    """The type of a field, from its JSON Schema."""

    def __init__(self, schema: Schema) -> None:
        kinds = schema.get("type")
        self.nullable = isinstance(kinds, list) or "oneOf" in schema
        self.kind: str = kinds[0] if isinstance(kinds, list) else kinds or "any"
        reference = schema.get("$ref") or next((one["$ref"] for one in schema.get("oneOf", []) if "$ref" in one), "")
        self.object: str = reference.rpartition("/")[2]
        inner = schema.get("items") or schema.get("additionalProperties")
        self.item = Type(inner) if isinstance(inner, dict) else None

    def objects(self) -> Iterator[str]:
        if self.object:
            yield self.object
        if self.item:
            yield from self.item.objects()

    def words(self) -> str:
        if self.object:
            return f"[{self.object}](#{self.object.lower()})"
        if self.item:
            return f"list of {self.item.words()}" if self.kind == "array" else f"map to {self.item.words()}"
        return SCALARS.get(self.kind, "any")

    def typescript(self) -> str:
        if self.object:
            name = self.object
        elif self.item:
            inner = self.item.typescript()
            listed = f"({inner})[]" if " " in inner else f"{inner}[]"
            name = listed if self.kind == "array" else f"Record<string, {inner}>"
        else:
            name = IN_TYPESCRIPT.get(self.kind, "any")
        # What may be null in a list or a map is a number that is not finite, which pages have nowhere.
        return name

    def python(self) -> str:
        if self.object:
            return self.object
        if self.item:
            inner = self.item.python()
            return f"list[{inner}]" if self.kind == "array" else f"dict[str, {inner}]"
        return PYTHON_TYPES.get(self.kind, "Any")

    def maker(self) -> str:
        """Python: what makes the value of that type from parsed JSON; empty where that is it already."""
        if self.object:
            return self.object
        if self.item and self.item.maker():
            return f"{'list_of' if self.kind == 'array' else 'map_of'}({self.item.maker()})"
        return ""


class Field:
    def __init__(self, name: str, schema: Schema, required: bool) -> None:
        self.name, self.meaning, self.optional = name, schema["description"], not required
        self.unit: str = schema.get("x-unit", "")
        self.type = Type(schema)

    def type_words(self) -> str:
        words = "ratio" if self.unit == "1" else self.type.words()
        if self.unit == "1" and self.type.item:
            words = self.type.words().replace("number", "ratio")
        return (
            words
            + (f", {self.unit}" if self.unit not in ("", "1") else "")
            + (" or null" if self.type.nullable else "")
            + (" or absent" if self.optional else "")
        )


class Answers:
    """All that `flopcast schema --json` says."""

    def __init__(self, document: Schema) -> None:
        self.answers: list[Schema] = document["answers"]
        self.fields = {
            name: [Field(key, one, key in schema["required"]) for key, one in schema["properties"].items()]
            for name, schema in document["$defs"].items()
        }
        self.extends = {one["name"]: one["extends"] for answer in self.answers for one in answer["objects"]}

    def own_fields(self, name: str) -> list[Field]:
        inherited = {field.name for field in self.fields[self.extends[name]]} if self.extends[name] else set()
        return [field for field in self.fields[name] if field.name not in inherited]

    def reached(self, roots: list[str]) -> list[str]:
        """These objects and all that they hold, each behind those that it needs."""
        order: list[str] = []
        open_: set[str] = set()

        def visit(name: str) -> None:
            if not name or name in order or name in open_:
                return
            open_.add(name)
            visit(self.extends[name])
            for field in self.fields[name]:
                for inner in field.type.objects():
                    visit(inner)
            order.append(name)

        for root in roots:
            visit(root)
        return order


# --- docs/reference/json.md -----------------------------------------------------------------------


def table(answers: Answers, name: str) -> str:
    rows = [f"| `{f.name}` | {f.type_words()} | {f.meaning} |" for f in answers.own_fields(name)]
    base = answers.extends[name]
    lead = f"The fields of [{base}](#{base.lower()}), and:\n\n" if base and rows else ""
    if base and not rows:
        return f"The fields of [{base}](#{base.lower()}).\n"
    return lead + "\n".join(["| field | type | what it is |", "|---|---|---|", *rows]) + "\n"


def section(answers: Answers, answer: Schema) -> str:
    commands = ", ".join(f"`{command}`" for command in answer["commands"])
    parts = [f"## {answer['title']}" + (f": {commands}" if commands else "")]
    if answer["about"]:
        parts.append(answer["about"].strip())
    for label, name in (("", answer["root"]), ("With `--csv` a line is ", answer["row"])):
        if name and label:
            parts.append(f"{label}[{name}](#{name.lower()}).")
    pages = set(answers.reached(answer["pages"])) - set(answers.reached([answer["root"], answer["row"]]))
    for one in answer["objects"]:
        if one["name"] not in pages:
            parts.append(f"### {one['name']}\n\n{table(answers, one['name']).rstrip()}")
    return "\n\n".join(parts) + "\n"


def reference(answers: Answers) -> str:
    text = (ROOT / "docs/reference/json.md").read_text(encoding="utf-8")
    head = text.partition(MARK)[0].rstrip() + "\n\n"
    ordered = sorted(answers.answers, key=lambda answer: (not answer["commands"], answer["title"]))
    return head + MARK + "\n" + "\n".join(section(answers, answer) for answer in ordered)


# --- web/data.d.ts --------------------------------------------------------------------------------


def typescript(answers: Answers) -> str:
    blocks = [
        "// By tools/make_answers.py from catalog/answers: the documents that the program writes into the pages.\n"
    ]
    for name in answers.reached([page for answer in answers.answers for page in answer["pages"]]):
        base = answers.extends[name]
        lines = [f"interface {name}{f' extends {base}' if base else ''} {{"]
        # Where all fields are alike, scripts go through them by name.
        alike = {f.type.typescript() + (" | null" if f.type.nullable else "") for f in answers.fields[name]}
        if len(alike) == 1 and len(answers.fields[name]) > 1 and not base and alike <= {"number", "string"}:
            lines.append(f"  [name: string]: {alike.pop()};")
        for f in answers.own_fields(name):
            null = " | null" if f.type.nullable else ""
            unit = f" ({f.unit})" if f.unit not in ("", "1") else ""
            name = f.name if f.name.isidentifier() else json.dumps(f.name)
            absent = ", or absent" if f.optional else ""
            lines.append(f"  /** {f.meaning.replace('*/', '* /')}{unit}{absent} */")
            lines.append(f"  {name}: {f.type.typescript()}{null};")
        blocks.append("\n".join([*lines, "}\n"]))
    return "\n".join(blocks)


# --- python/flopcast/answers.py ------------------------------------------------------------------


def python_field(field: Field) -> str:
    name = re.sub(r"\W+", "_", field.name)
    # A word of Python's, or what a dict has by that name.
    name += "_" if keyword.iskeyword(name) or hasattr(dict, name) else ""
    kind = f"Optional[{field.type.python()}]" if field.type.nullable else field.type.python()
    meaning = field.meaning + (f" ({field.unit})" if field.unit not in ("", "1") else "")
    named = "" if name == field.name else f"name={json.dumps(field.name)}"
    arguments = ", ".join(filter(None, [json.dumps(meaning, ensure_ascii=False), field.type.maker(), named]))
    line = f"    {name}: Field[{kind}] = Field({arguments})"
    return line if len(line) <= 120 else f"    {name}: Field[{kind}] = Field(\n        {arguments}\n    )"


def python_class(name: str, base: str, doc: str, fields: list[Field]) -> str:
    lines = [f"class {name}({base}):", f'    """{doc}"""', "", *map(python_field, fields)]
    return "\n" + "\n".join(lines).rstrip() + "\n"


def python(answers: Answers) -> str:
    documents = [answer["root"] for answer in answers.answers if answer["name"] in DOCUMENTS]
    plain = [answer["root"] for answer in answers.answers if answer["name"] in PLAIN]
    titles = {answer["root"]: answer for answer in answers.answers}
    blocks = [
        textwrap.dedent('''\
        """What answers hold. By tools/make_answers.py from catalog/answers: change those."""

        from __future__ import annotations

        from typing import Any, Optional

        from ._documents import Document, Field, Part, list_of, map_of
        ''')
    ]
    order = answers.reached(documents + plain)
    nested = {inner for name in order for field in answers.fields[name] for inner in field.type.objects()}
    nested |= {answers.extends[name] for name in order} | set(plain)
    for name in order:
        if name in nested:
            base = answers.extends[name]
            blocks.append(python_class(name, base or "Part", f"{name} of docs/reference/json.md.", answers.own_fields(name)))
        if name in documents:
            commands = ", ".join(f"`flopcast {one} --json`" for one in titles[name]["commands"])
            fields = [field for field in answers.fields[name] if field.name not in OWN.get(name, ())]
            blocks.append(python_class(f"{name}Fields", "Document", f"{titles[name]['title']}: {commands}.", fields))
    return "\n".join(blocks)


# --------------------------------------------------------------------------------------------------

FILES = {"docs/reference/json.md": reference, "web/data.d.ts": typescript, "python/flopcast/answers.py": python}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default=str(ROOT / "build/release/flopcast"))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    said = subprocess.run([options.program, "schema", "--json"], capture_output=True, text=True, check=True)
    answers = Answers(json.loads(said.stdout))
    stale = []
    for name, made in FILES.items():
        path, text = ROOT / name, made(answers)
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not options.check:
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{name} {'is stale: run tools/make_answers.py' if options.check else 'written'}", file=sys.stderr)
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
