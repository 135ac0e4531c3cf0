"""The scripts of examples/live run as they are, say the same each time, and a replay of what is recorded of them has the run's own
times, by dependencies that it was told."""

import json
import re

import pytest

# Ranks and arguments of each.
EXAMPLES = {
    "ddp_resnet.py": (2, ["--batch", 8, "--size", 64]),
    "fsdp2_llama.py": (2, ["--size", "1b", "--layers", 2, "--sequence", 512]),
    "tensor_parallel.py": (2, ["--tensor-parallel", 2, "--layers", 1, "--width", 1024, "--sequence", 512]),
    "pipeline_1f1b.py": (4, ["--layers", 1, "--width", 1024, "--sequence", 512, "--microbatches", 4]),
    "mixture_of_experts.py": (2, ["--layers", 1, "--width", 256, "--hidden", 512, "--tokens", 1024]),
}
REPLAYED = ["ddp_resnet.py", "fsdp2_llama.py", "pipeline_1f1b.py"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_says_the_same_twice(live, tmp_path, name):
    ranks, arguments = EXAMPLES[name]
    script, folder = [f"examples/live/{name}", *arguments, "--steps", 4], tmp_path / "run"
    kept = ["--recording", folder, "--json", tmp_path / "run.json", "--capture", tmp_path / "run.fccap"]
    printed = live.run(*kept, *script, ranks=ranks).stdout
    steps = re.findall(r"^step (\d+): ([\d.,]+) ms, ([\d.,]+) (?:images|tokens)/s\b.*$", printed, re.MULTILINE)
    assert [int(number) for number, _, _ in steps] == [0, 1, 2, 3]
    assert all(float(ms.replace(",", "")) > 0 for _, ms, _ in steps)
    assert live.run(*script, ranks=ranks).stdout == printed
    if name in REPLAYED:
        replay_has_the_times_of_the_run(live, tmp_path, folder, ranks)


def replay_has_the_times_of_the_run(live, tmp_path, folder, ranks):
    run = json.loads((tmp_path / "run.json").read_text())
    again = live.resolve(tmp_path, "dgx-h100")
    told = again.pop("resolved")
    assert told["cluster"] == "dgx-h100" and told["differs"] == 0 and told["assumed"] == []
    assert {**again, "resolved": None} == run
    assert sorted(path.name for path in folder.iterdir()) == [f"rank{i}.json.gz" for i in range(ranks)]
    found = live.replay(folder)
    assert len(found["ranks"]) == ranks
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
