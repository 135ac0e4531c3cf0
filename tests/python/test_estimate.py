"""Estimates of training steps from Python."""

import copy
import json
import pickle
from pathlib import Path

import pytest

import flopcast

PLAN = {"tp": 8, "pp": 4, "global_batch": 1024, "seq": 8192}


@pytest.fixture(scope="module")
def llama() -> flopcast.TrainingModel:
    return flopcast.TrainingModel("meta-llama-3-70b", "128 x dgx-h100")


@pytest.fixture(scope="module")
def step(llama) -> flopcast.Estimate:
    return llama.estimate(**PLAN)


@pytest.fixture(scope="module")
def too_big() -> flopcast.Estimate:
    return flopcast.estimate("llama-3-70b", "8 x dgx-h100", tp=8, global_batch=64)


def test_an_estimate_answers_and_adds_up(step):
    assert step.low_s <= step.time_s <= step.high_s
    assert sum(step.parts_s.values()) == pytest.approx(step.time_s)
    assert step.tokens_per_second == pytest.approx(1024 * 8192 / step.time_s)
    assert 0 < step.mfu <= step.hfu < 1
    assert step.fits and step.problem == "" and step.fitting == []
    assert step.plan["dp"] == 32


def test_stages_hold_their_memory(step):
    assert len(step.stages) == 4 and sum(stage.layers for stage in step.stages) == 80
    for stage in step.stages:
        classes = {name: size for name, size in stage.memory_bytes.items() if name != "total"}
        assert sum(classes.values()) == pytest.approx(stage.memory_bytes["total"])
        assert 0 <= stage.start_s <= stage.end_s <= step.time_s
    assert step.memory_bytes["total"] == max(s.memory_bytes["total"] for s in step.stages)


def test_what_is_unpickled_says_the_same(step, too_big):
    for one in (step, too_big):
        again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(one))))
        assert isinstance(again, flopcast.Estimate)
        assert again.to_dict() == one.to_dict() and again.stages == one.stages
        assert str(again) == str(one) and repr(again) == repr(one) and again.problem == one.problem
        assert copy.deepcopy(one).time_s == one.time_s
        for format in ("megatron", "torchtitan", "deepspeed"):
            assert again.plan_as(format) == one.plan_as(format)
        refusals = []
        for asked in (one, again):
            with pytest.raises(flopcast.FlopcastError) as caught:
                asked.plan_as("horovod")
            refusals.append((caught.value.code, str(caught.value)))
        assert refusals[0] == refusals[1]


def test_it_shows_itself_in_notebooks(step):
    assert step._repr_html_().startswith("<pre ") and "where the time goes" in step._repr_html_()


def test_it_prints_as_on_the_command_line(step):
    assert "where the time goes" in str(step)
    assert repr(step).startswith("<flopcast.Estimate llama-3-70b on 128 x dgx-h100: tp 8, pp 4")
    assert "a step, MFU" in repr(step)


def test_the_dictionary_is_the_json_of_the_command_line(step):
    fields = step.to_dict()
    assert fields["time_s"] == step.time_s
    assert fields["chips"] == 1024
    assert json.dumps(fields)


def test_what_does_not_fit_says_what_would(too_big):
    assert not too_big.fits
    assert "memory of pipeline stage 0" in too_big.problem
    nearest = too_big.fitting[0]
    assert nearest["memory_bytes"]["total"] < too_big.memory_bytes["total"]
    assert nearest["change"] in too_big.problem
    assert "does not fit" in repr(too_big)


def test_settings_are_those_of_the_flags(llama, step):
    same = llama.estimate(
        tensor_model_parallel_size=8,
        pipeline_model_parallel_size=4,
        global_batch_size=1024,
        seq_length=8192,
        sequence_parallel=True,
        recompute=None,
    )
    assert same.to_dict() == step.to_dict()
    assert llama.estimate(**PLAN, overlap=["gradients", "weights"]).plan["overlap_pipeline"] is False
    assert llama.estimate(**PLAN, reshard=False).plan["reshard"] is False
    assert {"tp", "pp", "recompute", "zero"} <= set(flopcast.PLAN_SETTINGS)


def test_a_plan_goes_to_a_launcher_and_back(llama, step, tmp_path):
    flags = tmp_path / "flags.sh"
    flags.write_text(step.plan_as("megatron"))
    assert llama.estimate(plan_from=flags).time_s == step.time_s
    with pytest.warns(UserWarning, match="deepspeed cannot run sequence parallelism"):
        assert json.loads(step.plan_as("deepspeed"))["train_batch_size"] == 1024
    with pytest.raises(flopcast.FlopcastError) as caught:
        step.plan_as("yaml")
    assert caught.value.code == 2


def test_a_launch_script_is_read_and_what_it_says_besides_is_told(llama):
    scripts = Path(__file__).resolve().parents[1] / "data" / "launch"
    told = llama.estimate(plan_from=scripts / "offload.sh", tp=8, global_batch=1024, seq=2048)
    assert told.plan["offload"] == 75
    assert told.unmodelled == ["--cpu-offloading: activations stay on the chip"]
    assert told.ignored == ["--cpu-offloading-num-layers"]
    with pytest.raises(flopcast.FlopcastError, match="leaves to its caller"):
        llama.estimate(plan_from=scripts / "caller_decides.sh")


def test_nonsense_is_refused_with_every_reason(llama):
    with pytest.raises(flopcast.FlopcastError) as caught:
        llama.estimate(tp=3, dp=100, global_batch=4)
    assert caught.value.code == flopcast.ErrorCode.USAGE
    assert "heads 64 is not divisible by 3" in str(caught.value)
    assert "global batch 4 is smaller" in str(caught.value)
    with pytest.raises(flopcast.FlopcastError) as caught:
        llama.estimate(**PLAN, tensor_parallel=8)
    assert caught.value.where == "tensor_parallel" and "tp" in caught.value.hint
    with pytest.raises(flopcast.FlopcastError) as caught:
        flopcast.TrainingModel("llama-3-71b", "dgx-h100")
    assert "llama-3-70b" in str(caught.value)


def test_price_memory_and_software():
    model = flopcast.TrainingModel(
        "llama-3-70b", "128 x dgx-h100", usd_per_chip_hour=3.6, memory_share=0.2
    )
    step = model.estimate(**PLAN)
    assert step.to_dict()["cost_usd"] == pytest.approx(step.time_s * 1024 * 1e-3)
    assert not step.fits
    assert model.software == flopcast.training_software()[0]


def test_a_page_is_written_whole(step, tmp_path):
    step.html(tmp_path / "page.html")
    assert "</html>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(OSError):
        step.html(tmp_path / "nowhere" / "page.html")


def test_estimates_become_data_frames(llama, step):
    pandas = pytest.importorskip("pandas")
    row = step.to_pandas()
    assert row.shape[0] == 1 and row["tp"][0] == 8
    assert row["time_s"][0] == pytest.approx(step.time_s)
    assert row["fits"][0]
    sweep = pandas.concat([row, llama.estimate(**{**PLAN, "pp": 8}).to_pandas()], ignore_index=True)
    assert list(sweep["pp"]) == [4, 8]
    stages = step.stages_to_pandas()
    assert stages.shape[0] == 4
    assert stages["total_bytes"].max() == step.memory_bytes["total"]
