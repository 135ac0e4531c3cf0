"""tools/fit_serving.py leaves groups out of a fit; tools/make_serving_docs.py makes a page of it and of runs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
POINTS = ROOT / "examples/serving_points.json"


def tool(name: str, *arguments: object) -> str:
    program = os.environ.get("FLOPCAST_CLI")
    if not program:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    command = [sys.executable, ROOT / "tools" / name, *arguments, "--flopcast", program]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def fit(tmp_path_factory) -> Path:
    pytest.importorskip("scipy")
    file = tmp_path_factory.mktemp("fit") / "fit.json"
    tool("fit_serving.py", POINTS, "--every", 1, "--steps", 1, "--hold-out", "--json-out", file)
    return file


def test_what_is_left_out_is_forecast_worse(fit):
    found = json.loads(fit.read_text(encoding="utf-8"))
    assert set(found["held_out"]) == {"(chip, model)", "engine", "model", "half-year"}
    mean = 1  # after the number of points
    for part in found["held_out"].values():
        points = part["all"]["tpot"][0]
        assert points == sum(errors["tpot"][0] for errors in part["groups"].values()) > 0
    # Of one half-year nothing is left to fit: what is expected, as it is.
    assert found["held_out"]["half-year"]["all"] == found["expected"]
    assert found["all"]["tpot"][mean] < found["held_out"]["engine"]["all"]["tpot"][mean]


def test_page_has_what_the_fit_left(fit, tmp_path):
    (tmp_path / "measured").mkdir()
    shutil.copy(POINTS, tmp_path / "measured/serving.json")
    page = tmp_path / "serving.md"
    tool("make_serving_docs.py", "--shared", tmp_path, "--out", page, "--fit", fit)
    text = page.read_text(encoding="utf-8")
    mean = json.loads(fit.read_text(encoding="utf-8"))["held_out"]["engine"]["all"]["tpot"][1]
    assert f"| each engine | 7 | {100 * mean:.1f} / " in text
    tool("make_serving_docs.py", "--shared", tmp_path, "--out", page)
    assert "Not made here" in page.read_text(encoding="utf-8")
