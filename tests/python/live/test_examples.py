"""The scripts of examples/live run as they are, and say the same each time."""

import re

import pytest

EXAMPLES = {
    "ddp_resnet.py": ["--batch", 8, "--size", 64, "--steps", 3],
    "fsdp2_llama.py": ["--size", "1b", "--layers", 2, "--sequence", 512, "--steps", 3],
    "tensor_parallel.py": ["--tensor-parallel", 2, "--layers", 1, "--width", 1024, "--sequence", 512, "--steps", 3],
    "pipeline_1f1b.py": ["--layers", 1, "--width", 512, "--sequence", 256, "--microbatches", 4, "--steps", 3],
    "mixture_of_experts.py": ["--layers", 1, "--width", 256, "--hidden", 512, "--tokens", 1024, "--steps", 3],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_says_the_same_twice(live, name):
    printed = live.run(f"examples/live/{name}", *EXAMPLES[name], ranks=2).stdout
    steps = re.findall(r"^step (\d+): ([\d.,]+) ms, ([\d.,]+) (?:images|tokens)/s\b.*$", printed, re.MULTILINE)
    assert [int(number) for number, _, _ in steps] == [0, 1, 2]
    assert all(float(ms.replace(",", "")) > 0 for _, ms, _ in steps)
    assert live.run(f"examples/live/{name}", *EXAMPLES[name], ranks=2).stdout == printed
