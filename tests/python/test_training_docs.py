"""docs/theory/training.md names every constant; tools/make_training_docs.py makes a page of runs."""

import csv
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OWN = len(json.loads((ROOT / "tests/data/training_tpu.json").read_text(encoding="utf-8"))["cases"])
CSV = """set,gpus,gbs,mbs,hidden,heads,layers,seq,tp,dp,pp,iter_ms
single,8,32,4,1024,16,24,1024,2,2,2,220
single,8,32,2,1024,16,24,1024,2,2,2,260
"""


def test_every_constant_is_documented():
    source = (ROOT / "src/machine/training_constants.cc").read_text(encoding="utf-8")
    names = re.findall(r'Field\{"(\w+)"', source)
    page = (ROOT / "docs/theory/training.md").read_text(encoding="utf-8")
    assert len(names) > 20
    assert not [name for name in names if f"`{name}`" not in page]


def test_every_software_is_documented():
    text = (ROOT / "catalog/training/constants.toml").read_text(encoding="utf-8")
    names = re.findall(r'"([\w-]+)"', re.search(r"softwares = \[([^\]]*)\]", text)[1])
    page = (ROOT / "docs/theory/training.md").read_text(encoding="utf-8")
    assert names and not [name for name in names if f"| `{name}` |" not in page]


def test_the_factor_of_chips_that_no_run_was_on_is_the_catalogues():
    text = (ROOT / "catalog/training/constants.toml").read_text(encoding="utf-8")
    factor = float(re.search(r"\[unseen_chip\]\nvalue = ([\d.]+)", text)[1])
    page = (ROOT / "docs/theory/training.md").read_text(encoding="utf-8")
    assert f"({factor:g}, `[unseen_chip]`" in page


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    program = os.environ.get("FLOPCAST_CLI")
    if not program:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    folder = tmp_path_factory.mktemp("training_docs")
    measured = folder / "shared/measured"
    measured.mkdir(parents=True)
    document = json.loads((ROOT / "examples/training_runs.json").read_text(encoding="utf-8"))
    more = [document["cases"].pop(), {"id": "half-told", "quality": "C", "missing": ["everything"]}]
    more.append(more[0] | {"id": "microbatch-open", "quality": "C", "missing": ["mbs"]})
    more[-1]["batch"] = more[0]["batch"] | {"mbs": None}
    (measured / "training.json").write_text(json.dumps(document), encoding="utf-8")
    (measured / "training_more.json").write_text(json.dumps({"cases": more}), encoding="utf-8")
    (measured / "training_vtrain.csv").write_text(CSV, encoding="utf-8")
    fit = {"held_out": [{"title": "all of them", "n": 7, "mean": 0.056, "bias": -0.01, "p90": 0.123}]}
    (folder / "fit.json").write_text(json.dumps(fit), encoding="utf-8")
    command = [sys.executable, ROOT / "tools/make_training_docs.py", "--flopcast", program, "--shared", folder / "shared",
               "--out", folder / "page.md", "--fit", folder / "fit.json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_page_holds_every_run(made):
    page = (made / "page.md").read_text(encoding="utf-8")
    document = json.loads((made / "shared/measured/training.json").read_text(encoding="utf-8"))
    for case in document["cases"]:
        assert case["id"] in page
    assert "| all of them | 7 | 5.6 | -1.0 | 12.3 |" in page
    assert "its configuration is incomplete: everything" in page
    assert "| microbatch-open |" in page
    assert f"{5 + OWN} of {6 + OWN} runs" in page
    for link in re.findall(r"\]\((page_[^)]+)\)", page):
        assert (made / link).is_file(), link


def test_tables_agree_with_the_runs(made):
    with (made / "page_runs.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 + OWN
    for row in rows:
        assert float(row["error"]) == pytest.approx(float(row["forecast_s"]) / float(row["measured_s"]) - 1, abs=1e-7)
    sizes = [abs(float(row["error"])) for row in rows]
    page = (made / "page.md").read_text(encoding="utf-8")
    assert f"| dense, all | {4 + OWN} | {100 * sum(sizes) / len(sizes):.1f} |" in page


def test_pictures_hold_every_run(made):
    for name in ("page_parity.svg", "page_error.svg"):
        root = ElementTree.parse(made / name).getroot()
        dots = [e for e in root.iter("{http://www.w3.org/2000/svg}circle") if e.get("r") == "2.5"]
        assert len(dots) == 4 + OWN
