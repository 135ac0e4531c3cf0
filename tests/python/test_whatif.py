"""What-ifs from Python, and the files of cases."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import flopcast

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    path = tmp_path_factory.mktemp("sample")
    subprocess.run([sys.executable, ROOT / "examples/make_sample.py", path], check=True, capture_output=True)
    return path


@pytest.fixture(scope="module")
def program():
    binary = os.environ.get("FLOPCAST_CLI")
    if not binary:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    return str(Path(binary).resolve())


@pytest.fixture(scope="module")
def run(sample):
    return flopcast.WhatIf(sample)


def test_questions_are_put_together_and_leave_each_other_alone(run):
    faster = run.scale("gemm", 0.5)
    both = faster.remove("straggler")
    first, second = faster.run(), both.run()
    assert first.before_s == second.before_s == run.run().after_s
    assert second.after_s < first.after_s < first.before_s
    assert first.to_dict()["changes"] == ["scale gemm=0.5"]
    assert [cause["change"] for cause in second.to_dict()["causes"]] == ["remove straggler", "scale gemm=0.5"]
    low, high = first.band_s
    assert low <= first.after_s <= high
    assert sum(after for _, after in first.parts_s.values()) == pytest.approx(first.after_s)


def test_the_same_traces_may_be_asked(run, sample):
    assert flopcast.WhatIf(flopcast.read(sample)).scale("host", 1).run().after_s == run.run().before_s


def missing_of(totals) -> dict[str, str]:
    return {one.total: one.why for one in totals.missing}


def test_what_is_missing_is_told(run):
    answer = run.scale("kernel:no_such_kernel", 2).run()
    assert [refusal.change for refusal in answer.refused] == ["scale kernel:no_such_kernel=2"]
    assert "no_such_kernel" in answer.refused[0].missing
    assert "refused" in repr(answer)
    with pytest.raises(flopcast.FlopcastError, match="straggler") as error:
        run.remove("stragler").run()
    assert error.value.code == flopcast.ErrorCode.USAGE


def test_steps_can_be_chosen(run):
    steps = run.run().to_dict()["steps"]
    last = steps[-1]["name"]
    assert run.steps(last).run().before_s == steps[-1]["gpu_before_s"]


def test_parts_are_sorted_by_what_they_are_worth(run):
    rows = run.sensitivity()
    assert [row.limit_s for row in rows] == sorted(row.limit_s for row in rows)
    assert {"kernel:gemm", "host", "network"} <= {row.part for row in rows}


def test_pages_are_written(run, tmp_path):
    run.scale("gemm", 0.5).run().html(tmp_path / "page.html")
    assert "<html" in (tmp_path / "page.html").read_text()


def test_cases_are_validated(program, sample, tmp_path):
    cases = [
        {"id": "same", "recording": str(sample), "changes": {"scale": {"host": 1}}, "truth": {"recording": str(sample)}},
        {"id": "double", "recording": str(sample), "changes": {"scale": {"host": 2}}, "truth": {"step_s": 1}},
        {"id": "lost", "recording": "nowhere", "truth": {"step_s": 1}},
        {"id": "refused", "recording": str(sample), "changes": {"scale": {"kernel:x_y": 1}}, "truth": {"step_s": 1}},
    ]
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"cases": cases}))
    done = subprocess.run([program, "validate", "whatif", path, "--json"], capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    by_id = {case["id"]: case for case in document["cases"]}
    assert by_id["same"]["error"] == 0 and by_id["same"]["in_band"]
    assert by_id["double"]["forecast_s"] > by_id["same"]["forecast_s"]
    assert "nowhere" in by_id["lost"]["failure"]
    assert by_id["refused"]["refusals"][0]["change"] == "scale kernel:x_y=1"
    assert {key: document["summary"][key] for key in ("cases", "n", "refused", "failed")} == {
        "cases": 4, "n": 2, "refused": 1, "failed": 1,
    }
    assert document["summary"]["max_abs_error"] == pytest.approx(abs(by_id["double"]["error"]))
    table = subprocess.run([program, "validate", "whatif", path], capture_output=True, text=True, check=True).stdout
    assert "2 of 4 forecast" in table and "lost" in table


def test_several_questions_are_put_to_one_recording(program, sample, tmp_path):
    path = tmp_path / "questions.json"
    path.write_text(json.dumps([{"id": "half", "changes": {"scale": {"gemm": 0.5}}}, {"id": "odd", "changes": 3}]))
    done = subprocess.run([program, "whatif", sample, "--questions", path, "--json"], capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["id"] for line in lines] == ["half", "odd"]
    assert lines[0]["after_s"] < lines[0]["before_s"] and "failure" in lines[1]
    assert done.returncode == flopcast.ErrorCode.BAD_INPUT
    table = subprocess.run([program, "whatif", sample, "--questions", path], capture_output=True, text=True).stdout
    assert "half" in table and "2 questions" in table
    both = subprocess.run([program, "whatif", sample, "--questions", path, "--chip", "h100"], capture_output=True)
    assert both.returncode == flopcast.ErrorCode.USAGE


MODEL = {"arch": "gpt", "layers": 4, "hidden": 4096, "ffn": 16384, "heads": 32, "kv_heads": 32, "head_dim": 128,
         "vocab": 32768, "gated": False, "seq_len": 2048}  # fmt: skip
TOKENS, PEAK, POWER = 4 * 4 * 2048, 989.4e12, 700  # of 4 replicas of 4 microbatches; an H100


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    """The generator's usual model on a GPU of the catalogue: one stage, 4 replicas of 4 microbatches."""
    path = tmp_path_factory.mktemp("known")
    options = ["--pp", "1", "--dp", "4", "--tp", "1", "--noise", "0", "--gpu", "NVIDIA H100 80GB HBM3"]
    command = [sys.executable, ROOT / "examples/make_sample.py", path / "run", "--straggler", "none", *options]
    subprocess.run(command, check=True, capture_output=True)
    (path / "model.json").write_text(json.dumps(MODEL))
    return path


def test_totals_are_those_counted_by_hand(known):
    m = MODEL
    of_token = 8 * m["hidden"] ** 2 + 4 * m["hidden"] * m["ffn"]
    pairs = 4 * m["seq_len"] * m["hidden"]  # with every token of the sequence
    layers, head = m["layers"] * (of_token + pairs), 2 * m["hidden"] * m["vocab"]
    answer = flopcast.WhatIf(known / "run", price=3.6).set(layers=8).run()
    for totals, step, flops in (
        (answer.totals_before, answer.before_s, layers + head),
        (answer.totals, answer.after_s, 2 * layers + head),
    ):
        assert totals.tokens_per_step == TOKENS
        assert totals.tokens_per_s == pytest.approx(TOKENS / step)
        assert totals.mfu == pytest.approx(3 * TOKENS * flops / (4 * PEAK * step))
        assert totals.energy_j == pytest.approx(4 * POWER * step)
        assert totals.cost_usd == pytest.approx(4e-3 * step)
        assert totals.usd_per_million_tokens == pytest.approx(4e3 * step / TOKENS)
        assert totals.memory_bytes is None
        assert "--model" in missing_of(totals)["memory_bytes"]


def test_a_model_tells_memory_and_causal_attention(known, program):
    run = flopcast.WhatIf(known / "run", model=known / "model.json")
    answer = run.set(dp=8).run()
    m = MODEL
    of_token = m["layers"] * (8 * m["hidden"] ** 2 + 4 * m["hidden"] * m["ffn"] + 2 * m["seq_len"] * m["hidden"])
    flops = 3 * (of_token + 2 * m["hidden"] * m["vocab"])
    assert answer.totals.tokens_per_step == 2 * TOKENS
    assert answer.totals.mfu == pytest.approx(flops * 2 * TOKENS / (8 * PEAK * answer.after_s), rel=1e-3)
    plan = ["--on", "8 gpus of h100-sxm", "--dp", "8", "--global-batch", "32", "--seq", "2048", "--zero", "0", "--json"]
    estimate = subprocess.run([program, "estimate", known / "model.json", *plan], capture_output=True, text=True)
    (stage,) = json.loads(estimate.stdout)["stages"]
    assert answer.totals.memory_bytes == pytest.approx(stage["memory_bytes"]["total"])
    assert not {"mfu", "memory_bytes"} & missing_of(answer.totals).keys()


def test_a_model_of_other_depth_is_not_taken(known):
    totals = flopcast.WhatIf(known / "run", model="llama-3-8b").run().totals
    assert totals.mfu is None
    assert "32 layers" in missing_of(totals)["mfu"]
    with pytest.raises(flopcast.FlopcastError, match="no-such-model"):
        flopcast.WhatIf(known / "run", model="no-such-model")


def test_facts_are_told_on_the_command_line(known, program):
    facts = ["--tokens-per-step", "1000", "--price", "3.6"]
    done = subprocess.run([program, "whatif", known / "run", "--scale", "gemm=0.5", *facts, "--json"],
                          capture_output=True, text=True)  # fmt: skip
    answer = json.loads(done.stdout)
    assert answer["totals_before"]["tokens_per_s"] == pytest.approx(1000 / answer["before_s"])
    assert answer["totals"]["usd_per_million_tokens"] == pytest.approx(4 * 1e-3 * answer["after_s"] / 1000 * 1e6)
    wrong = subprocess.run([program, "whatif", known / "run", "--scale", "gemm=0.5", "--price", "-1"],
                           capture_output=True, text=True)  # fmt: skip
    assert wrong.returncode == 2
