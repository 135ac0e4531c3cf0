"""examples/paper_lumos runs end to end: two rows of it, with few layers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "examples" / "paper_lumos" / "table.py"


@pytest.fixture
def program() -> str:
    named = os.environ.get("FLOPCAST_CLI")
    if not named:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    return named


def test_rows_are_forecast_near_the_generator(program, tmp_path):
    out = tmp_path / "page.md"
    few = ["--layers", "8", "--steps", "2", "--work", tmp_path / "work", "--out", out]
    wanted = ["--row", "DP 4 → 8", "--row", "PP 2 → 4"]
    subprocess.run([sys.executable, TABLE, "--flopcast", program, *few, *wanted], check=True, capture_output=True)
    errors = re.findall(r"^\| 7[ab] \|.*\| ([-+][\d.]+) % \|$", out.read_text(), re.MULTILINE)
    assert len(errors) == 2
    assert all(abs(float(error)) < 3 for error in errors), errors


def test_the_page_is_of_all_rows():
    text = (TABLE.parent / "README.md").read_text()
    sys.path.insert(0, str(TABLE.parent))
    import table

    for row in table.rows():
        assert f"| {row.figure} | {row.name} |" in text
