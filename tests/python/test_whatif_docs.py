"""tools/make_whatif_docs.py and tools/whatif_cases.py: what a row says, and that cases are what `validate whatif` reads."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import make_whatif_docs as docs  # noqa: E402
import whatif_cases as cases  # noqa: E402

ANSWERED = {"id": "a", "forecast_s": 0.0333, "truth_s": 0.0334, "error": -0.003, "band": {"low_s": 0.033, "high_s": 0.034},
            "in_band": True, "refusals": [], "failure": None}  # fmt: skip
REFUSED = {"id": "b", "forecast_s": None, "truth_s": 0.1, "error": None, "band": None, "in_band": False, "failure": None,
           "refusals": [{"change": "set layers=8", "missing": "no layers"}]}  # fmt: skip


def summary(**fields):
    return {"cases": 2, "n": 2, "refused": 0, "mean_abs_error": 0.01, "max_abs_error": 0.019, "band_coverage": 0.5} | fields


def test_rows_tell_errors_and_refusals():
    assert docs.case_row(ANSWERED) == ["a", "33.400", "33.300", "-0.30 %", "33.000 to 34.000 ✓"]
    assert docs.case_row(REFUSED)[2:] == ["refused", "–", "set layers=8: no layers"]


@pytest.mark.parametrize("fields, met", [({}, "yes"), ({"max_abs_error": 0.021}, "no"), ({"n": 1, "refused": 1}, "no")])
def test_goals_are_met_by_all_cases_or_not_at_all(fields, met):
    group = cases.Group("g", "title", 0.02, "–")
    assert docs.goal_row(group, {"summary": summary(**fields)})[5] == met


def test_changes_are_merged_verb_by_verb():
    first, second = {"set": {"pp": 4}, "remove": ["host"]}, {"set": {"dp": 2}, "remove": ["profiler"], "scale": {"gemm": 0.5}}
    assert cases.merged(first, second) == {"set": {"pp": 4, "dp": 2}, "remove": ["host", "profiler"], "scale": {"gemm": 0.5}}
    assert first == {"set": {"pp": 4}, "remove": ["host"]}


def test_written_cases_are_judged(tmp_path):
    program = os.environ.get("FLOPCAST_CLI")
    if not program:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    make = cases.Generator(tmp_path)
    small = {"layers": 4, "microbatches": 4, "noise": 0, "steps": 2}
    options, changes = cases.KNOBS["network × 2"]
    made = cases.case("network", make.recording(small), changes, truth=make.truth(small | options))
    path = cases.write(cases.Group("small", "small", 0.02, "–", [made]), tmp_path)
    printed = subprocess.run([program, "validate", "whatif", path, "--json"], check=True, capture_output=True, text=True).stdout
    document = json.loads(printed)
    assert document["summary"]["n"] == 1
    assert abs(document["cases"][0]["error"]) < 0.02
    assert "network" in docs.case_table(document)
