"""Families of models: the page that lists them, and counts of transformers made anew where it is installed."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/transformers_counts.py"
DATA = json.loads((ROOT / "tests/data/model_families.json").read_text())


def run(*words) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, TOOL, *words], capture_output=True, text=True, check=False)


def test_page_says_what_the_program_makes_of_every_family(program):
    made = run("table", program, "--check")
    assert made.returncode == 0, "docs/reference/models.md is not what tools/transformers_counts.py table makes"


def test_nineteen_of_twenty_decoders_are_exact(program):
    page = (ROOT / "docs/reference/models.md").read_text()
    exact, of = page.split("## Decoders\n\n")[1].split(" counts are exact")[0].split(" of ")
    assert int(of) == sum(family["kind"] == "decoder" for family in DATA["families"].values())
    assert int(exact) >= 0.95 * int(of)


@pytest.fixture
def transformers_of_the_counts() -> None:
    if importlib.util.find_spec("transformers") is None or importlib.util.find_spec("torch") is None:
        pytest.skip("wants transformers and torch")
    import transformers

    if transformers.__version__ != DATA["transformers"]:
        pytest.skip(f"counted with transformers {DATA['transformers']}, not {transformers.__version__}")


@pytest.mark.usefixtures("transformers_of_the_counts")
def test_counts_are_those_of_transformers(tmp_path):
    made = run("count", "--to", str(tmp_path / "families.json"))
    assert made.returncode == 0, made.stderr
    again = json.loads((tmp_path / "families.json").read_text())
    assert again["families"] == DATA["families"]


# A field that is read wrongly, or not at all, shows where it is changed.
@pytest.mark.usefixtures("transformers_of_the_counts")
def test_one_field_changed_changes_the_count_alike(program):
    made = run("variants", program)
    assert made.returncode == 0, made.stdout
