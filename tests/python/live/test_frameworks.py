"""Frameworks as PyPI has them, unchanged, on small models: they end, and their losses are the CPU's. What the Python of these tests
lacks is skipped; `FLOPCAST_FRAMEWORKS` names a folder of virtual environments (`./dev validate-live` makes build/frameworks)."""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest

SCRIPTS = Path("examples/live/frameworks")
SMALL_LLAMA = ["--width", 16, "--layers", 2, "--vocabulary", 100, "--sequence", 8, "--batch", 2, "--fp32", "--steps", 3]
SMALL_ENGINE = ["--width", 16, "--layers", 2, "--fp32", "--steps", 3]
SMALL_GPT = ["--width", 64, "--vocabulary", 128, "--sequence", 16, "--batch", 1, "--steps", 2]

# Of each script: its environment, what it imports, ranks, and what it is called with, on the GPU and on the CPU alike.
SAME_AS_CPU = {
    "huggingface_trainer.py": ("transformers", ["transformers", "accelerate"], 2, SMALL_LLAMA),
    "accelerate_loop.py": ("transformers", ["transformers", "accelerate"], 2, [*SMALL_LLAMA, "--accumulate", 2]),
    "trl_sft.py": ("trl", ["trl", "peft"], 2, ["--width", 8, "--layers", 1, "--sequence", 12, "--batch", 1, "--fp32", "--steps", 3]),
    "lightning_fit.py": ("lightning", ["lightning"], 1,
                         ["--width", 32, "--layers", 1, "--tokens", 8, "--batch", 2, "--precision", "32-true", "--steps", 3]),
    "torchvision_resnet.py": ("torchvision", ["torchvision"], 2,
                              ["--model", "mobilenet_v3_small", "--batch", 2, "--size", 32, "--classes", 10, "--fp32", "--steps", 2]),
    "diffusers_unet.py": ("diffusers", ["diffusers"], 1, ["--width", 8, "--size", 8, "--batch", 2, "--fp32", "--steps", 2]),
    "pyg_gat.py": ("torch_geometric", ["torch_geometric"], 1, ["--nodes", 30, "--edges", 60, "--features", 16, "--steps", 3]),
}  # fmt: skip
# Weights of torchvision's models are larger than what is computed by default.
FLAGS = {"torchvision_resnet.py": ["--values", "execute:1000000"]}


class Frameworks:
    def __init__(self, live) -> None:
        self.live = live
        self.folder = Path(os.environ["FLOPCAST_FRAMEWORKS"]).absolute() if "FLOPCAST_FRAMEWORKS" in os.environ else None

    def python(self, environment: str, modules: list[str]) -> Path:
        own = self.folder / environment / "bin/python" if self.folder else self.live.python
        python = own if own.exists() else self.live.python
        code = f"import importlib.util, sys; sys.exit(any(importlib.util.find_spec(m) is None for m in {modules}))"
        if subprocess.run([python, "-c", code], check=False).returncode != 0:
            pytest.skip(f"{python} has no {' or '.join(modules)}")
        return python

    def run(self, environment: str, modules: list[str], ranks: int, script: str, *words, flags=(), timeout: float = 300):
        """What it prints and the run's account."""
        python = self.python(environment, modules)
        return self.call(python, ["--ranks", ranks, *flags, SCRIPTS / script, *words], timeout)

    def call(self, python: Path, words: list, timeout: float = 300):
        environment = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"}
        with tempfile.TemporaryDirectory() as folder:
            account = Path(folder) / "run.json"
            line = [self.live.command, "run", "--on", "dgx-h100", "--python", python, "--json", account, *words]
            done = subprocess.run(
                list(map(str, line)), capture_output=True, text=True, timeout=timeout, cwd=Path(__file__).parents[3], env=environment
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout, json.loads(account.read_text())


@pytest.fixture(scope="session")
def frameworks(live) -> Frameworks:
    return Frameworks(live)


def losses(printed: str) -> list[float]:
    """As Trainers print them, or as the scripts do."""
    return [float(value) for value in re.findall(r"^(?:\{'loss': '?|step \d+: loss )([\d.]+)", printed, re.MULTILINE)]


def expect_all_known(account: dict) -> None:
    assert account["status"] == 0
    assert account["ranks"] and all(rank["kernels"] > 0 for rank in account["ranks"])
    assert account["unknown_work"]["share"] < 0.01, account["unknown"]
    assert account["unsupported"] == []


@pytest.mark.parametrize("script", SAME_AS_CPU)
def test_losses_are_the_cpus(frameworks, script):
    environment, modules, ranks, words = SAME_AS_CPU[script]
    flags = FLAGS.get(script, [])
    printed, account = frameworks.run(environment, modules, ranks, script, *words, flags=flags)
    expect_all_known(account)
    assert account["tainted_reads"] == 0
    on_cpu, _ = frameworks.run(environment, modules, ranks, script, *words, "--cpu", flags=flags)
    assert len(losses(on_cpu)) >= 2
    assert losses(printed) == pytest.approx(losses(on_cpu), abs=2e-4)


@pytest.mark.parametrize("script", ["huggingface_trainer.py", "accelerate_loop.py"])
def test_shards_learn_what_replicas_learn(frameworks, script):
    environment, modules, ranks, words = SAME_AS_CPU[script]
    whole, _ = frameworks.run(environment, modules, ranks, script, *words)
    sharded, account = frameworks.run(environment, modules, ranks, script, *words, "--fsdp")
    expect_all_known(account)
    assert losses(sharded) == pytest.approx(losses(whole), abs=2e-4)


def test_every_stage_of_deepspeed_learns_the_same(frameworks):
    modules, told = ["deepspeed"], []
    for stage in range(4):
        printed, account = frameworks.run("deepspeed", modules, 2, "deepspeed_zero.py", *SMALL_ENGINE, "--stage", stage)
        expect_all_known(account)
        told.append(losses(printed))
    assert len(told[0]) == 3 and told[0][0] > 0
    assert all(one == pytest.approx(told[0], abs=2e-4) for one in told)


def test_the_deepspeed_command_starts_the_ranks(frameworks):
    python = frameworks.python("deepspeed", ["deepspeed"])
    script = [SCRIPTS / "deepspeed_zero.py", *SMALL_ENGINE, "--stage", 1]
    printed, account = frameworks.call(python, ["--", python.parent / "deepspeed", "--num_gpus", 2, *script])
    direct, _ = frameworks.run("deepspeed", ["deepspeed"], 2, "deepspeed_zero.py", *SMALL_ENGINE, "--stage", 1)
    assert len(account["ranks"]) == 2
    assert losses(printed) == losses(direct)


def test_a_pipeline_of_deepspeed_learns_what_one_stage_learns(frameworks):
    words = ["--width", 16, "--layers", 3, "--steps", 2]
    told = []
    for ranks in (1, 2):
        printed, account = frameworks.run("deepspeed", ["deepspeed"], ranks, "deepspeed_pipeline.py", *words, "--stages", ranks)
        expect_all_known(account)
        told.append(losses(printed))
    assert len(told[0]) == 2
    assert told[1] == pytest.approx(told[0], abs=2e-4)


# One plan where Megatron-core is there for the checks of launch lines alone: time is short there.
PLANS = [["--pp", 2, "--chunks", 2], ["--tp", 2], ["--pp", 2], ["--experts", 4, "--ep", 2]]


@pytest.mark.parametrize("plan", PLANS if "FLOPCAST_FRAMEWORKS" in os.environ else PLANS[:1], ids=lambda plan: "".join(map(str, plan)))
def test_megatron_trains_in_every_plan(frameworks, plan):
    printed, account = frameworks.run("megatron-core", ["megatron.core"], 2, "megatron_gpt.py", *SMALL_GPT, *plan)
    expect_all_known(account)
    assert len(re.findall(r"^step \d+: loss ", printed, re.MULTILINE)) == 2
    assert len(account["ranks"]) == 2


@pytest.fixture
def sglang(frameworks, monkeypatch):
    """What pip brought of CUDA's compiler, which SGLang asks for."""
    (site,) = frameworks.python("sglang", ["sglang"]).parents[1].glob("lib/python3*/site-packages")
    monkeypatch.setenv("CUDA_HOME", str(site / "nvidia/cu13"))
    return frameworks


def test_sglang_answers_offline(sglang):
    """As installed: norms in CUTLASS's DSL, kernels that it compiles when they are first needed, CUDA graphs."""
    printed, account = sglang.run("sglang", ["sglang"], 1, "sglang_offline.py", timeout=900)
    told = re.search(r"^8 requests, 128 output tokens, ([\d.]+) s, ", printed, re.MULTILINE)
    assert told, printed
    # A prefill and 15 steps behind it, each of some hundreds of operators that take the host microseconds.
    assert 16 * 0.2e-3 < float(told[1]) < 16 * 10e-3
    assert account["ranks"][0]["peak_memory_bytes"] > 60 * 2**30
    assert "kernel_cutlass_" in "".join(kernel["what"] for kernel in account["kernels"])


def test_sglang_serves_its_own_client(sglang):
    printed, _ = sglang.run("sglang", ["sglang"], 1, "sglang_serve.py", timeout=900)
    assert re.search(r"^Successful requests: +8$", printed, re.MULTILINE), printed
    first, each = (float(re.search(rf"^Median {what} \(ms\): +([\d.]+)", printed, re.MULTILINE)[1]) for what in ("TTFT", "TPOT"))
    assert 0.5 < first < 100
    assert 0.2 < each < 10
