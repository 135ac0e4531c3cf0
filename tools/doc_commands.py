"""The commands of README.md and docs/: what tests run (tests/python/test_docs.py) and tools/golden.py compares.

Every ```sh and ```python block is run, in order, in one folder per document that holds the sample as demo/sample. A
block under `<!-- not run: reason -->`, or a snippet that starts with `# not run: reason`, is not run."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Written by others than people: checked where it is made.
GENERATED = {"docs/validation"}
DOCUMENTS = [ROOT / "README.md"] + sorted(
    path
    for path in (ROOT / "docs").rglob("*.md")
    if not any(str(path.relative_to(ROOT)).startswith(folder) for folder in GENERATED)
)
BLOCK = re.compile(
    r"(?P<note><!-- not run:[^\n]*-->\n+)?^(?P<indent> *)```(?P<kind>\w+)\n(?P<body>.*?)^ *```",
    re.MULTILINE | re.DOTALL,
)
# Commands whose help ends with an example that runs.
HELP = [
    [],
    ["replay"],
    ["whatif"],
    ["trace"],
    ["trace", "info"],
    ["trace", "validate"],
    ["trace", "slice"],
    ["validate"],
    ["validate", "replay"],
    ["map"],
    ["explore"],
    ["doctor"],
]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks_of(path: Path) -> Iterator[tuple[str, str, bool]]:
    """Of each block: its language, its text, and whether it is not to be run."""
    for match in BLOCK.finditer(path.read_text(encoding="utf-8")):
        body = match["body"]
        skipped = match["note"] is not None or body.startswith("# not run:")
        yield match["kind"], body, skipped


def example_of(help_text: str) -> str:
    """The command that a help ends with."""
    return help_text.split("Example:\n", 1)[1].strip()


def make_sample(folder: Path) -> Path:
    """The made-up recording that documents call demo/sample."""
    script = ROOT / "examples" / "make_sample.py"
    subprocess.run([sys.executable, script, folder], check=True, capture_output=True)
    return folder


def prepare(folder: Path, sample: Path) -> Path:
    """A folder in which a document's commands run."""
    (folder / "demo").mkdir(parents=True)
    (folder / "demo" / "sample").symlink_to(sample)
    (folder / "examples").symlink_to(ROOT / "examples")
    return folder
