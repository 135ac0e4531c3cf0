"""A captured run on other clusters, and as a recording (docs/theory/live.md, "Captures"). Needs no PyTorch."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest

CAPTURE = Path(__file__).resolve().parents[1] / "data/live/two_ranks.fccap"


def run(program, *words, code=0):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done


def schema_of(program, *answer):
    return json.loads(run(program, "schema", *answer).stdout)


def test_one_cluster_has_the_document_of_a_run(program, tmp_path):
    run(program, "resolve", CAPTURE, "--json", tmp_path / "own.json")
    own = json.loads((tmp_path / "own.json").read_text())
    jsonschema.validate(own, schema_of(program, "run"))
    assert own["resolved"]["differs"] == 0 and own["resolved"]["assumed"] == []
    assert [rank["kernels"] for rank in own["ranks"]] == [3, 3]


def test_several_clusters_are_a_row_each(program, tmp_path):
    clusters = "dgx-h100", "dgx-h100, node.bandwidth 100GB/s", "2 x rtx-3090, chip.hbm_capacity 600MB"
    words = [word for cluster in clusters for word in ("--on", cluster)]
    text = run(program, "resolve", CAPTURE, *words, "--json", tmp_path / "all.json").stdout
    told = json.loads((tmp_path / "all.json").read_text())
    jsonschema.validate(told, schema_of(program, "resolve-clusters"))
    first, slower, small = told["clusters"]
    assert slower["run"]["virtual_s"] > first["run"]["virtual_s"]
    assert small["run"] is None and "of its GPU's memory" in small["problem"] and small["problem"] in " ".join(text.split())


@pytest.mark.parametrize("words", [["replay"], ["whatif", "--scale", "gemm=0.5"]])
def test_it_is_read_as_a_recording(program, words):
    assert json.loads(run(program, words[0], CAPTURE, *words[1:], "--json").stdout)


def test_what_cannot_be_timed_again_is_refused(program):
    assert "has 1 chips" in run(program, "resolve", CAPTURE, "--on", "1 x h100-sxm", code=2).stderr
    assert "name the cluster" in run(program, "resolve", CAPTURE, "--fit", "own.toml", code=2).stderr
    assert "one whole" in run(program, "replay", CAPTURE, "--steps", "1", code=2).stderr
