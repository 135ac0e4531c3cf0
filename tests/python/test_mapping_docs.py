"""flopcast validate mapping, and the pages that tools/make_mapping_docs.py makes of it."""

import csv
import io
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "examples/paper_dfmodel/published.json"
sys.path.insert(0, str(ROOT / "tools"))


@pytest.fixture(scope="module")
def program() -> str:
    name = os.environ.get("FLOPCAST_CLI")
    if not name:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    return name


def run(program, *arguments) -> subprocess.CompletedProcess:
    return subprocess.run([program, "validate", "mapping", *arguments], capture_output=True, text=True)


def test_published_numbers_agree(program):
    document = json.loads(run(program, PUBLISHED, "--json").stdout)
    assert document["summary"]["n"] == 39
    assert document["summary"]["max_rel"] <= 1e-6
    assert all(abs(check["relative"]) < 1e-3 for check in document["checks"])


def test_a_changed_number_shows(program, tmp_path):
    changed = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    changed["fig8_calculon"]["read"]["final_s"] *= 1.01
    file = tmp_path / "changed.json"
    file.write_text(json.dumps({"fig8_calculon": changed["fig8_calculon"]}), encoding="utf-8")
    done = run(program, file)
    assert done.returncode == 0
    assert "differences" in done.stdout and "final_s" in done.stdout


def test_errors_name_file_and_place(program, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text('{"points":\n  [1, }', encoding="utf-8")
    done = run(program, broken)
    assert done.returncode == 3
    assert "broken.json, line 2" in done.stderr
    assert run(program, "--study", "fig99").returncode == 2
    assert run(program).returncode == 2


def test_a_page_shows_its_points_and_what_they_are_compared_with(program):
    import mapping_pages
    from make_mapping_docs import all_checks

    checks = all_checks(json.loads(run(program, PUBLISHED, "--json").stdout))
    study = json.loads(run(program, "--study", "fig07", "--json").stdout)
    page = mapping_pages.Page("fig07", study["title"], study["points"], checks)
    mapping_pages.PAGES["fig07"](page)
    text = page.text()
    assert "| HBD 8 | final_s | 4.96149 | 4.96149 |" in text
    assert len(ElementTree.fromstring(page.pictures["fig07.svg"])) > 10


@pytest.mark.parametrize("committed", sorted((ROOT / "examples/paper_dfmodel").glob("fig*.csv")), ids=lambda path: path.stem)
def test_committed_tables_are_what_the_program_says(program, committed):
    now = list(csv.DictReader(io.StringIO(run(program, "--study", committed.stem, "--csv").stdout)))
    with committed.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows and len(rows) == len(now)
    for row, own in zip(rows, now):
        assert row.keys() == own.keys()
        for name, cell in row.items():
            assert cell == own[name] or float(cell) == pytest.approx(float(own[name]), rel=1e-12), name
