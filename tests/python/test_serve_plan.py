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


def test_without_a_load_the_largest_is_found(cli):
    asked = {name: value for name, value in ASKED.items() if name != "rate"}
    found = flopcast.serve_plan("llama-3-8b", "dgx-h100", **{**asked, "precision": "bf16"})
    loads = [one["largest_load"] for one in found.best]
    assert loads == sorted(loads, reverse=True) and loads[0] > 0
    best = found.best[0]
    assert best["chips"] == 4 and best["slow_largest_load"] <= loads[0] <= best["fast_largest_load"]
    fleet = dict(tp=best["pool"]["tp"], pp=best["pool"]["pp"], replicas=best["pool"]["replicas"])
    load = dict(input=1024, output=64, requests=60, slo=ASKED["slo"], max_rate=True, batch_tokens=2048)
    same = flopcast.serve("llama-3-8b", "dgx-h100", quick=True, precision="bf16", **fleet, **load)
    assert same.largest["load"] == loads[0] and same.ttft_s.p99 == best["ttft"]["p99_s"]
    words = flags(precision="bf16")
    at = words.index("--rate")
    done = run(cli, "llama-3-8b", "--on", "dgx-h100", *words[:at], *words[at + 2 :])
    assert max(map(len, done.stdout.splitlines())) <= 80


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


def test_several_clusters(cli, tmp_path):
    asked = {**ASKED, "slo": "ttft.p99<1s,tpot.p99<14ms"}
    both = flopcast.serve_plans("llama-3-8b", ["dgx-h100", "dgx-b200"], prices=[2, 3], **asked)
    alone = flopcast.serve_plan("llama-3-8b", "dgx-b200", **asked, price=3)
    assert both.plans[1].to_json() == alone.to_json()
    rents = [plan.chips * price for plan, price in zip(both.plans, (2, 3))]
    assert both.cheapest is both.plans[rents.index(min(rents))]
    assert both.fewest_chips.chips == min(plan.chips for plan in both.plans)
    both.html(tmp_path / "both.html")
    flags_of = ("--on", "dgx-h100", "--on", "dgx-b200", *flags(slo=asked["slo"]), "--price", "2,3")
    done = run(cli, "llama-3-8b", *flags_of, "--json", "--html", str(tmp_path / "cli.html"))
    assert done.returncode == 0, done.stderr
    told = [plan["best"] for plan in json.loads(done.stdout)["clusters"]]
    assert told == [plan.best for plan in both.plans]
    lines = tmp_path / "lines.jsonl"
    assert run(cli, "llama-3-8b", *flags_of, "--out", str(lines)).returncode == 0
    assert run(cli, "--merge", str(lines), "--json").stdout == done.stdout
    with pytest.raises(ValueError, match="3 prices for 2 clusters"):
        flopcast.serve_plans("llama-3-8b", ["dgx-h100", "dgx-b200"], prices=[1, 2, 3], **asked)


def test_serve_search_is_the_same_command(cli, found):
    words = ["serve", "llama-3-8b", "--search", "--on", "dgx-h100", *flags(), "--json"]
    done = subprocess.run([cli, *words], capture_output=True, text=True)
    assert json.loads(done.stdout)["best"] == found.best, done.stderr
