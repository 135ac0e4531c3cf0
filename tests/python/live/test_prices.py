"""What a live run of a transformer knows of its kernels, and when it is out of memory."""

import json
import re
from pathlib import Path

import pytest

LLAMA = Path(__file__).resolve().parents[3] / "examples/live/fsdp2_llama.py"
SMALL = ["--size", "1b", "--layers", "2", "--sequence", "1024", "--steps", "2"]


@pytest.fixture(scope="module")
def run(live):
    """How the Llama of the examples went on one GPU of a cluster, and its account."""

    def run_llama(cluster, account, *arguments):
        done = live.run("--json", account, LLAMA, *arguments, on=cluster, timeout=300, expect=None)
        return done, json.loads(account.read_text())

    return run_llama


@pytest.fixture(scope="module")
def transformer(run, tmp_path_factory):
    return run("h100", tmp_path_factory.mktemp("live") / "run.json", *SMALL)


def test_nearly_all_gpu_time_is_of_known_kernels(transformer):
    done, account = transformer
    assert done.returncode == 0, done.stderr
    times = {one["what"]: one["time_s"] for one in account["coverage"]}
    assert set(times) <= {"measured", "fitted", "roofline", "assumed", "unknown"}
    assert times.get("unknown", 0) <= 0.05 * sum(times.values())


def test_kernels_have_the_names_of_their_operators(transformer):
    _, account = transformer
    kernels = {one["what"]: one["time_s"] for one in account["kernels"]}
    assert sum(kernels.values()) == pytest.approx(sum(one["time_s"] for one in account["coverage"]))
    # Which of its attentions PyTorch takes is its own choice, by chip and version.
    for name in ("cublas", "aten::_fused_adamw_", "attention"):
        assert any(name in kernel.lower() for kernel in kernels), (name, sorted(kernels))


def test_a_card_is_out_of_memory_in_the_words_of_pytorch(run, tmp_path):
    large = ["--size", "1b", "--batch", "4", "--sequence", "1024", "--steps", "2"]
    done, account = run("rtx-3090", tmp_path / "run.json", *large)
    assert done.returncode != 0
    assert account["status"] != 0
    assert re.search(
        r"torch\.OutOfMemoryError: CUDA out of memory\. Tried to allocate [\d.]+ [MG]iB\. "
        r"GPU 0 has a total capacity of 23\.70 GiB of which [\d.]+ [MG]iB is free\.",
        done.stderr,
    )
