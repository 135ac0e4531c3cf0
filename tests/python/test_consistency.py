"""What two commands say of the same thing is the same number: random questions, asked of both."""

import random

import pytest

flopcast = pytest.importorskip("flopcast")

QUESTIONS = 8
MODELS = ["gpt-3-1.3b", "llama-3-8b", "llama-3-70b", "mixtral-8x7b", "qwen3-30b-a3b"]
CLUSTERS = ["2 x dgx-h100", "4 x dgx-h100", "8 x dgx-a100", "2 x dgx-b200", "8 x dgx-h200"]
#: Settings of `estimate` that a plan's fields name; the rest is the search's base, which is the default of both.
SETTINGS = ("tp", "pp", "cp", "dp", "ep", "etp", "vpp", "micro_batch", "zero", "recompute", "recompute_layers", "schedule", "context", "tensor")


def question(seed: int) -> dict:
    rng = random.Random(seed)
    return {
        "model": rng.choice(MODELS),
        "on": rng.choice(CLUSTERS),
        "global_batch": rng.choice([32, 64, 128, 256]),
        "seq": rng.choice([1024, 2048, 4096]),
        "memory_share": rng.choice([1.0, 0.9]),
        "constraints": rng.choice([[], ["tp<=4"], ["pp>=2"], ["recompute=none,full"]]),
    }


def settings_of(plan: dict) -> dict:
    given = {name: plan[name] for name in SETTINGS if name in plan}
    given["recompute_layers"] = given["recompute_layers"] or None
    given["etp"] = given["etp"] or None
    return {name: value for name, value in given.items() if value is not None} | {
        "sequence_parallel": plan["sequence_parallel"]
    }


@pytest.mark.parametrize("seed", range(QUESTIONS))
def test_a_plan_is_estimated_as_it_was_found(seed):
    asked = question(seed)
    model, on, share = asked.pop("model"), asked.pop("on"), asked.pop("memory_share")
    # Placements apart: an estimate takes the usual one.
    found = flopcast.plan(model, on, **asked, placements=False, best=2, software="megatron", memory_share=share)
    trained = flopcast.TrainingModel(model, on, software="megatron", memory_share=share)
    for best in found.to_dict()["best"]:
        estimate = trained.estimate(global_batch=asked["global_batch"], seq=asked["seq"], **settings_of(best["plan"]))
        told = estimate.to_dict()
        assert told["plan"] == best["plan"]
        for name in ("time_s", "low_s", "high_s", "mfu", "hfu", "tokens_per_second", "parts_s", "rests_on"):
            assert told[name] == best[name], f"{name} of {best['words']}"
        memory = told["stages"][told["fullest"]]["memory_bytes"]
        assert memory["total"] == best["memory_bytes"]
        assert told["fits"]


@pytest.mark.parametrize("seed", range(QUESTIONS))
def test_parts_of_a_step_add_up_to_it(seed):
    asked = question(100 + seed)
    found = flopcast.plan(asked["model"], asked["on"], global_batch=asked["global_batch"], seq=asked["seq"], best=3)
    for best in found.to_dict()["best"]:
        assert all(part >= 0 for part in best["parts_s"].values())
        assert sum(best["parts_s"].values()) == pytest.approx(best["time_s"], rel=1e-9)
        # What every plan pays is in every plan's account.
        assert best["parts_s"]["host"] > 0
