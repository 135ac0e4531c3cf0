"""A captured run on other clusters, and as a recording (docs/theory/live.md, "Captures"). Needs no PyTorch."""

import json
import subprocess
from pathlib import Path

import jsonschema
import pytest

CAPTURE = Path(__file__).resolve().parents[1] / "data/live/two_ranks.fccap"


FOLDED = CAPTURE.with_name("folded.fccap")


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


@pytest.mark.parametrize("capture", [CAPTURE, FOLDED])
@pytest.mark.parametrize("words", [["replay"], ["whatif", "--scale", "gemm=0.5"]])
def test_it_is_read_as_a_recording(program, words, capture):
    assert json.loads(run(program, words[0], capture, *words[1:], "--json").stdout)


def test_a_folded_run_has_all_its_ranks_on_another_cluster(program, tmp_path):
    run(program, "resolve", FOLDED, "--on", "4 x dgx-h100, node.size 4", "--json", tmp_path / "own.json")
    own = json.loads((tmp_path / "own.json").read_text())
    assert own["folded"] == [{"ranks": "0-15", "there": "0,3,12"}]
    assert [rank["rank"] for rank in own["ranks"]] == [0, 3, 12]
    assert own["resolved"]["assumed"] == ["the program saw 8 chips a node, and would see 4 here"]


def test_a_folded_run_is_refused_where_alike_ranks_are_not(program, tmp_path):
    said = run(program, "resolve", FOLDED, "--on", "3 x dgx-h100, node.size 6", code=5).stderr
    assert "ranks 0-12/4 and 2-14/4 do not lie alike on parts of 6 chips" in said
    assert "the run has 16 ranks" in run(program, "resolve", FOLDED, "--on", "dgx-h100", code=2).stderr
    run(program, "resolve", FOLDED, "--on", "2 x dgx-h200", "--on", "3 x dgx-h100, node.size 6", "--json", tmp_path / "all.json")
    fits, other = json.loads((tmp_path / "all.json").read_text())["clusters"]
    assert fits["run"]["virtual_s"] > 0 and other["run"] is None and "do not lie alike" in other["problem"]


def test_what_cannot_be_timed_again_is_refused(program):
    assert "has 1 chips" in run(program, "resolve", CAPTURE, "--on", "1 x h100-sxm", code=2).stderr
    assert "name the cluster" in run(program, "resolve", CAPTURE, "--fit", "own.toml", code=2).stderr
    assert "one whole" in run(program, "replay", CAPTURE, "--steps", "1", code=2).stderr
