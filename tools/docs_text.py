"""What the tools/make_*_docs.py share: running flopcast, numbers as text, tables."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


class Program:
    def __init__(self, path: str) -> None:
        self.path = path

    def json(self, *arguments: str) -> dict:
        done = subprocess.run([self.path, *arguments, "--json"], capture_output=True, text=True)
        if not done.stdout:
            sys.exit(f"{' '.join(done.args)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def version(self) -> str:
        return subprocess.run([self.path, "--version"], capture_output=True, text=True).stdout.strip()


def percent(ratio: float | None, digits: int = 2) -> str:
    return "–" if ratio is None else f"{ratio * 100:.{digits}f} %"


def signed(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio * 100:+.2f} %"


def milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds * 1e3:.3f}"


def table(titles: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def folded(title: str, body: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{body}\n</details>\n\n"


def page_parser(description: str) -> argparse.ArgumentParser:
    """What every page asks."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--flopcast", default="flopcast")
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--out", type=Path, required=True)
    return parser


def write_page(page: Callable[[Program, Path], str], description: str) -> None:
    """The command line of a page that is made from --shared alone."""
    options = page_parser(description).parse_args()
    options.out.write_text(page(Program(options.flopcast), options.shared), encoding="utf-8")
    print(options.out)
