"""The scripts of examples/live run as they are and say the same folded; what is captured of them has, solved again, the run's own times,
and a replay of what is recorded of them by dependencies that it was told."""

import json
import re

import pytest

# Ranks and arguments of each; those that ran of the folded one.
EXAMPLES = {
    "ddp_resnet.py": (4, 3, ["--batch", 8, "--size", 64]),
    "fsdp2_llama.py": (4, 3, ["--size", "1b", "--layers", 2, "--sequence", 512]),
    "llama_3d.py": (8, 6, ["--layers", 2, "--microbatches", 2, "--context", 2]),
    "tensor_parallel.py": (8, 6, ["--tensor-parallel", 2, "--layers", 1, "--width", 1024, "--sequence", 512]),
    "pipeline_1f1b.py": (4, 4, ["--layers", 1, "--width", 1024, "--sequence", 512, "--microbatches", 4]),
    "mixture_of_experts.py": (4, 3, ["--layers", 1, "--width", 256, "--hidden", 512, "--tokens", 1024]),
}
REPLAYED = ["ddp_resnet.py", "fsdp2_llama.py", "pipeline_1f1b.py"]
PRINTED = re.compile(r"^step (\d+): ([\d.,]+) m?s, [\d.,]+ (?:images|tokens)/s\b.*$", re.MULTILINE)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_says_the_same_folded_and_solved_again(live, tmp_path, name):
    ranks, there, arguments = EXAMPLES[name]
    script, folder = [f"examples/live/{name}", *arguments, "--steps", 3], tmp_path / "run"
    printed, whole = kept(live, tmp_path, "--recording", folder, *script, ranks=ranks)
    steps = PRINTED.findall(printed)
    assert [int(number) for number, _ in steps] == [0, 1, 2]
    assert all(float(ms.replace(",", "")) > 0 for _, ms in steps)
    assert len(whole["ranks"]) == ranks
    assert sorted(path.name for path in folder.iterdir()) == [f"rank{i}.json.gz" for i in range(ranks)]
    if name in REPLAYED:
        replay_has_the_times_of_the_run(live.replay(folder), whole)
    printed_folded, folded = kept(live, tmp_path, "--fold", "auto", *script, ranks=ranks)
    assert printed_folded == printed
    assert len(folded["ranks"]) == there
    assert (folded["other_lengths"] > 0) == ("--context" in arguments)
    by_rank = {rank["rank"]: told_of(rank) for rank in whole["ranks"]}
    assert [told_of(rank) for rank in folded["ranks"]] == [by_rank[rank["rank"]] for rank in folded["ranks"]]


def told_of(rank):
    """A folded run's first step begins sooner where a group would have waited for a rank that is not there."""
    return rank["kernels"], rank["peak_memory_bytes"], [round(end - start, 9) for start, end in rank["steps"][1:]]


def kept(live, folder, *words, ranks):
    """What a run prints and says, which is also what is said of its capture."""
    printed = live.run("--capture", folder / "run.fccap", "--json", folder / "run.json", *words, ranks=ranks).stdout
    run = json.loads((folder / "run.json").read_text())
    again = live.resolve(folder, "dgx-h100")
    told = again.pop("resolved")
    assert told["cluster"] == "dgx-h100" and told["differs"] == 0 and told["assumed"] == []
    assert {**again, "resolved": None} == run
    return printed, run


def replay_has_the_times_of_the_run(found, run):
    assert len(found["ranks"]) == len(run["ranks"])
    for rank, told in zip(found["ranks"], run["ranks"], strict=True):
        assert len(rank["steps"]) == len(told["steps"]) >= 2
        for step in rank["steps"]:
            # Median lags stand for each one's own, which differ where nothing waits for them.
            assert abs(step["error"]) < 1e-4 and abs(step["gpu_step_error"]) < 1e-4, step
    # Nothing is guessed, and nothing that was told contradicts the times.
    assert found["edges"]["event"]["count"] > 0
    assert found["edges"]["event_inferred"]["count"] == 0
    assert [kind for kind, edges in found["edges"].items() if edges["contradicted"]] == []
    assert found["anomalies"] == []
    assert found["late_starts"]["count"] == 0
