"""Searches for fleets from Python and from the command line."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

import flopcast

ASKED = {
    "engine": "vllm",
    "precision": ["bf16", "fp8"],
    "batch_tokens": 2048,
    "chips": 4,
    "pp": 1,
    "rate": 20,
    "input": 1024,
    "output": 64,
    "requests": 60,
    "slo": "ttft.p99<300ms,tpot.p99<14ms",
}


@pytest.fixture(scope="module")
def found():
    return flopcast.serve_plan("llama-3-8b", "dgx-h100", **ASKED)


def test_the_smallest_fleet_and_how_it_is_started(found):
    assert found.chips == found.best[0]["chips"] <= 4
    assert all(one["limit_ratio"] < 1 for one in found.best)
    assert found.best[0]["ttft"]["p99_s"] < 0.3
    assert found.launch[0]["command"].startswith("vllm serve $MODEL --tensor-parallel-size")
    assert "configurations" in str(found)
    frame = found.to_pandas()
    assert len(frame) == len(found.best)
    assert list(frame["chips"]) == [one["chips"] for one in found.best]


def test_every_setting_is_an_argument():
    assert list(flopcast.ServePlanSettings.__annotations__) == list(flopcast.SERVE_PLAN_SETTINGS)


def test_shards_and_executors_change_nothing(found):
    whole = found.to_json()
    assert flopcast.serve_plan("llama-3-8b", "dgx-h100", shards=3, **ASKED).to_json() == whole
    with ThreadPoolExecutor(2) as pool:
        assert flopcast.serve_plan("llama-3-8b", "dgx-h100", executor=pool, **ASKED).to_json() == whole


def test_refusals():
    with pytest.raises(flopcast.FlopcastError, match="a request that is alone exceeds them"):
        flopcast.serve_plan("llama-3-8b", "dgx-h100", **{**ASKED, "slo": "tpot.p50<100us"})
    with pytest.raises(flopcast.FlopcastError, match="can run") as refused:
        flopcast.serve_plan("llama-3-70b", "dgx-h100", **{**ASKED, "chips": 1, "precision": "bf16"})
    assert refused.value.code == flopcast.ErrorCode.TOO_LARGE
    with pytest.raises(flopcast.FlopcastError, match="did you mean 'engine'"):
        flopcast.serve_plan("llama-3-8b", "dgx-h100", **ASKED, engin="vllm")


@pytest.fixture(scope="module")
def cli() -> str:
    binary = os.environ.get("FLOPCAST_CLI")
    if not binary:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    return binary


def flags(**others: str) -> list[str]:
    asked = {**ASKED, **others}
    texts = {name: ",".join(v) if isinstance(v, list) else str(v) for name, v in asked.items()}
    return [word for name, text in texts.items() for word in ("--" + name.replace("_", "-"), text)]


def run(cli, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run([cli, "serve-plan", *words], capture_output=True, text=True)


def test_the_command_says_the_same(cli, found):
    done = run(cli, "llama-3-8b", "--on", "dgx-h100", *flags(), "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["best"] == found.best
    assert "simulated" in done.stderr


def test_the_command_resumes_and_merges(cli, tmp_path, found):
    asked = ("llama-3-8b", "--on", "dgx-h100", *flags())
    whole = run(cli, *asked, "--json").stdout
    files = [str(tmp_path / f"{i}.jsonl") for i in range(2)]
    for i, file in enumerate(files):
        assert run(cli, *asked, "--shard", f"{i}/2", "--out", file).returncode == 0
    again = run(cli, *asked, "--shard", "0/2", "--out", files[0])
    assert again.returncode == 0
    assert "Searched" not in again.stderr
    merged = run(cli, "--merge", *files, "--json")
    assert merged.returncode == 0, merged.stderr
    assert merged.stdout == whole


def test_exit_codes(cli):
    none = run(cli, "llama-3-8b", "--on", "dgx-h100", *flags(slo="tpot.p50<100us"))
    assert none.returncode == 5
    assert "a request that is alone exceeds them" in none.stderr
    large = run(cli, "llama-3-70b", "--on", "dgx-h100", *flags(chips="1", precision="bf16"))
    assert large.returncode == 4
    assert run(cli, "llama-3-8b", "--on", "dgx-h100", *flags(slo="fast")).returncode == 2
