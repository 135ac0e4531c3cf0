"""flopcast whatif as people call it: exit codes, what goes where, files."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("whatif") / "sample"
    make = [sys.executable, ROOT / "examples" / "make_sample.py", folder, "--steps", "2"]
    subprocess.run(make, check=True, capture_output=True)
    return folder


@pytest.fixture
def ask(sample):
    program = os.environ.get("FLOPCAST_CLI")
    if not program:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")

    def run(*words) -> subprocess.CompletedProcess:
        return subprocess.run([program, "whatif", sample, *words], capture_output=True, text=True)

    return run


def test_the_answer_comes_first_and_alone(ask):
    done = ask("--scale", "network=0.5")
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("GPU step: ") and " -> " in done.stdout.splitlines()[0]


def test_a_question_without_an_answer_ends_with_five_and_says_why(ask):
    done = ask("--remove", "straggler:99")
    assert done.returncode == 5
    assert done.stdout.startswith("No answer") and "rank 99" in done.stdout and "rank 99" in done.stderr
    assert json.loads(ask("--remove", "straggler:99", "--json").stdout)["refused"][0]["change"] == "remove straggler:99"


@pytest.mark.parametrize(
    "words, said",
    [
        ([], "nothing is asked"),
        (["--set", "layer=8"], "did you mean 'layers'"),
        (["--set", "dp"], "expected WHAT=VALUE"),
        (["--scale", "gemm=half"], "'half' is no factor"),
        (["--scale-only"], "scale"),
        (["--questions", "q.json", "--scale", "gemm=2"], "--questions"),
        (["--questions", "q.json", "--html", "x.html"], "--questions"),
    ],
)
def test_what_is_no_question_is_told(ask, words, said):
    done = ask(*words)
    assert done.returncode == 2 and done.stdout == "" and said in done.stderr


def test_questions_are_lines(ask, tmp_path):
    file = tmp_path / "q.json"
    asked = [{"id": "a", "changes": {"scale": {"gemm": 0.5}}}, {"id": "b", "changes": {"remove": ["straggler:99"]}},
             {"id": "c", "changes": {"set": {"layer": 1}}}]  # fmt: skip
    file.write_text(json.dumps({"cases": asked}))
    done = ask("--questions", file, "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 5 and [line["id"] for line in lines] == ["a", "b", "c"]
    assert lines[0]["after_s"] < lines[0]["before_s"] and lines[1]["refused"] and "layer" in lines[2]["failure"]
    one = json.loads(ask("--scale", "gemm=0.5", "--json").stdout)
    assert one["after_s"] == lines[0]["after_s"]


def test_the_run_after_is_a_recording(ask, tmp_path):
    after = tmp_path / "after.json.gz"
    done = ask("--scale", "gemm=0.5", "--trace-out", after, "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and "timeline" in done.stderr
    with gzip.open(after) as file:
        assert json.load(file)["traceEvents"]
    program = os.environ["FLOPCAST_CLI"]
    printed = subprocess.run([program, "replay", after, "--lags", "recorded", "--json"], check=True, capture_output=True).stdout
    steps = [s for rank in json.loads(printed)["sets"][0]["ranks"] for s in rank["steps"] if s["name"] == answer["steps"][-1]["name"]]
    mean = sum(step["gpu_measured_s"] for step in steps) / len(steps)
    assert mean == pytest.approx(answer["steps"][-1]["gpu_after_s"], rel=1e-3)
