"""Folded runs: ranks that are alike stand for each other, and what is said of those that are there does not change."""

import json
from pathlib import Path

SCRIPT = Path(__file__).with_name("folding_script.py")
TWO_NODES = ("--nodes-as", 2, "--start", 1_750_000_000)


def of_ranks(live, folder, ranks, *words):
    path = folder / "run.json"
    done = live.run("--json", path, *TWO_NODES, *words, ranks=ranks)
    report = json.loads(path.read_text())
    return done, report, {rank["rank"]: rank for rank in report["ranks"]}


def agree(live, folder, ranks, *script):
    """What a folded run says of each rank that ran is what the whole run says. @return the folded run"""
    done, folded, some = of_ranks(live, folder, ranks, "--fold", "auto", SCRIPT, *script)
    whole_done, _, every = of_ranks(live, folder, ranks, SCRIPT, *script)
    assert set(every) == set(range(ranks))
    for number, rank in some.items():
        for field in ("steps", "kernels", "peak_memory_bytes"):
            assert rank.get(field) == every[number].get(field), (number, field)
    assert done.stdout == whole_done.stdout
    return done, folded, some


def test_replicas_stand_for_each_other(live, tmp_path):
    done, folded, ranks = agree(live, tmp_path, 4, "ddp", 1, -1)
    assert set(ranks) == {0, 2, 3}
    assert folded["folded"] == [{"ranks": "0-3", "there": "0,2,3"}]
    assert "step 2 4.0" in done.stdout
    assert "True {'rank of 4'}" in done.stdout
    assert "3 ranks of them ran" in done.stderr


def test_stages_of_a_pipeline_do_not(live, tmp_path):
    _, folded, ranks = agree(live, tmp_path, 8, "fsdp", 2, -1)
    assert [one["ranks"] for one in folded["folded"]] == ["0-3", "4-7"]
    assert len(ranks) < 8


def test_a_rank_that_comes_to_differ_ends_the_run_by_name(live):
    done = live.run("--fold", "auto", *TWO_NODES, SCRIPT, "ddp", 1, 3, ranks=4, expect=5)
    assert "ranks 2 and 3 stand for others that are like both, and they are not alike" in done.stderr
    assert "77" in done.stderr  # the product's shape
    assert "--fold off" in done.stderr


TRAINS_NOTHING = """
import torch.distributed as dist

dist.init_process_group("nccl")
print(dist.get_rank())
"""


def test_where_the_first_rank_shows_too_little_all_run(live, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(TRAINS_NOTHING)
    done = live.run("--fold", "auto", path, ranks=2)
    assert "no optimizer's step when it ran alone, so all ranks run" in done.stderr
    assert {"0", "1"} <= set(done.stdout.splitlines())


def test_a_folded_run_is_not_captured(live, tmp_path):
    done = live.run("--fold", "auto", "--capture", tmp_path / "run.fccap", SCRIPT, "ddp", 1, -1, ranks=8, expect=2)
    assert "--capture" in done.stderr and "--fold" in done.stderr


def test_stages_whose_pairs_have_communicators_of_their_own_fold(live):
    example = Path(__file__).parents[3] / "examples/live/llama_3d.py"
    done = live.run("--fold", "auto", *TWO_NODES, example, "--layers", 2, "--steps", 1, "--microbatches", 2, ranks=8)
    assert "6 ranks of them ran" in done.stderr
    assert "step 0: " in done.stdout
