"""Serving from outside: the command's exit codes and files, and the Python face."""

import csv
import gzip
import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ASKED = ("llama-3-8b", "--on", "dgx-h100", "--replicas", "2", "--users", "8", "--input", "256", "--output", "64")
SAME = dict(replicas=2, users=8, input=256, output=64)  # fmt: skip


@pytest.fixture(scope="module")
def serve():
    program = os.environ.get("FLOPCAST_CLI")
    if not program:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")

    def run(*words, asked=ASKED) -> subprocess.CompletedProcess:
        return subprocess.run([program, "serve", *asked, *words], capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture(scope="module")
def flopcast():
    return pytest.importorskip("flopcast")


def test_the_answer_comes_first_and_alone(serve):
    done = serve()
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout.startswith("TTFT ") and "output tokens/s" in done.stdout.splitlines()[0]
    for title in ("What clients see", "What it delivers", "An iteration", "What the next chips would bring", "What this rests on"):
        assert title in done.stdout


def test_the_same_question_has_the_same_bytes(serve):
    assert serve("--json").stdout == serve("--json").stdout


def test_files_tell_what_the_answer_says(serve, tmp_path):
    page, requests, trace = tmp_path / "a.html", tmp_path / "r.csv", tmp_path / "t.json.gz"
    done = serve("--json", "--html", page, "--requests-out", requests, "--trace-out", trace)
    answer = json.loads(done.stdout)
    assert done.returncode == 0 and str(page) in done.stderr
    rows = list(csv.DictReader(requests.open()))
    assert len(rows) == answer["answered"] == 80
    ttft = sorted(float(row["first_token_s"]) - float(row["sent_s"]) for row in rows)
    assert sum(ttft) / len(ttft) == pytest.approx(answer["ttft_s"]["mean"])
    assert ttft[round(0.99 * len(ttft)) - 1] == pytest.approx(answer["ttft_s"]["p99"], rel=0.2)
    tokens = sum(int(row["output"]) for row in rows)
    span = max(float(row["done_s"]) for row in rows) - min(float(row["sent_s"]) for row in rows)
    assert tokens / span == pytest.approx(answer["output_tokens_per_s"], rel=1e-6)
    with gzip.open(trace) as file:
        names = [event.get("name", "") for event in json.load(file)["traceEvents"]]
    assert sum(name.startswith("request ") for name in names) == 80
    assert len(answer["curve"]) > 3  # a page has it


def test_a_question_is_asked_again_from_its_answer(serve, tmp_path):
    file = tmp_path / "answer.json"
    first = serve("--json", "--quick", "--set", "block=32", "--no-prefix-cache")
    file.write_text(first.stdout)
    again = serve("--from", file, "--json", "--quick", asked=())
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout
    other = json.loads(serve("--from", file, "--json", "--quick", "--users", "4", asked=()).stdout)
    assert other["question"]["users"] == "4" and other["answered"] == 40


def test_traces_are_served(serve, tmp_path):
    trace = tmp_path / "own.csv"
    trace.write_text("arrival_s,input,output\n" + "".join(f"{i * 0.25},200,{10 + i % 5}\n" for i in range(100)))
    asked = ("llama-3-8b", "--on", "dgx-h100", "--replicas", "1", "--quick", "--json", "--trace", trace)
    answer, faster = json.loads(serve(asked=asked).stdout), json.loads(serve("--rate-scale", "2", asked=asked).stdout)
    assert answer["answered"] == faster["answered"] == 100
    assert faster["requests_per_s"] == pytest.approx(2 * answer["requests_per_s"], rel=0.1)
    trace.write_text("arrival_s,input,output\n0,1,1\nzero,one,two\n")
    left_out = json.loads(serve(asked=asked).stdout)
    assert left_out["anomalies"][0]["count"] == 1 and "3" in left_out["anomalies"][0]["first"]
    trace.write_text("arrival_s,input,output\nzero,one,two\n")
    assert serve(asked=asked).returncode == 3


def test_pools_apart_faults_and_drafts_answer(serve):
    apart = json.loads(serve("--disaggregated", "1:2", "--quick", "--json", asked=ASKED[:3] + ASKED[5:]).stdout)
    assert [pool["role"] for pool in apart["pools"]] == ["prefill", "decode"]
    faulty = json.loads(serve("--fault", "0@0.2s", "--quick", "--json").stdout)
    assert faulty["answered"] + faulty["lost"] + faulty["unanswered"] == 80
    drafted = json.loads(serve("--drafts", "1", "--accepted", "1.8", "--quick", "--json").stdout)
    plain = json.loads(serve("--quick", "--json").stdout)
    assert drafted["tpot_s"]["mean"] < plain["tpot_s"]["mean"]


def test_the_largest_rate_is_what_the_rate_itself_holds(serve, flopcast, tmp_path):
    asked = ("llama-3-8b", "--on", "dgx-h100", "--input", "256", "--output", "32", "--requests", "200", "--quick")
    slo = ("--slo", "ttft.p99<200ms,tpot.p99<10ms")
    found = json.loads(serve("--max-rate", *slo, "--json", asked=asked).stdout)
    largest = found["largest"]
    assert 0 < largest["slow_load"] <= largest["load"] <= largest["fast_load"]
    told = json.loads(serve("--rate", str(largest["load"]), *slo, "--json", asked=asked).stdout)
    assert told["meets"] and told["ttft_s"] == found["ttft_s"] and told["slow"] == found["slow"]
    page = tmp_path / "largest.html"
    text = serve("--max-rate", *slo, "--html", page, asked=asked)
    assert text.stdout.startswith(f"{largest['load']:g} requests/s: the most that hold"), text.stdout
    assert max(len(line) for line in text.stdout.splitlines()) <= 80
    settings = dict(input=256, output=32, requests=200, slo=slo[1], max_rate=True)
    same = flopcast.serve("llama-3-8b", "dgx-h100", quick=True, **settings)
    assert same.largest["load"] == largest["load"] and same.holds == found["holds"]
    file = tmp_path / "asked.json"
    file.write_text(json.dumps(found))
    again = json.loads(serve("--from", file, "--quick", "--json", asked=()).stdout)
    assert again["largest"] == largest
    none = serve("--max-rate", "--slo", "tpot.p99<1us", asked=asked)
    assert none.returncode == 5 and "no load holds" in none.stderr


def test_limits_judge(serve):
    met = json.loads(serve("--slo", "ttft.p99<100s", "--quick", "--json", "--price", "2").stdout)
    missed = json.loads(serve("--slo", "ttft.p99<1us", "--quick", "--json").stdout)
    assert met["meets"] and met["within"] == 1 and met["usd_per_million_tokens"] > 0
    assert not missed["meets"] and missed["within"] == 0 and missed["goodput_requests_per_s"] == 0
    assert missed["usd_per_million_tokens"] is None


@pytest.mark.parametrize(
    "words, code, said",
    [
        (["--user", "3"], 2, "--user"),
        (["--tp", "3"], 2, "3"),
        (["--slo", "soon"], 2, "--slo"),
        (["--rate", "3"], 2, "only one"),
        (["--replicas", "99"], 2, "99 chips, the cluster has 8"),
        (["--set", "blocks=3"], 2, "block"),
        (["--trace-out", "/no/folder/x.json"], 3, "/no/folder"),
        (["--json", "--csv"], 2, "--json"),
    ],
)
def test_what_is_no_question_is_told(serve, words, code, said):
    done = serve(*words)
    assert done.returncode == code and done.stdout == "" and said in done.stderr, done.stderr


def test_what_does_not_fit_ends_with_four_and_names_what_does(serve):
    done = serve("--tp", "1", asked=("llama-3-70b", *ASKED[1:]))
    assert done.returncode == 4 and done.stdout == ""
    assert "weights" in done.stderr or "fit" in done.stderr
    assert "(" in done.stderr  # a hint


# --- Python -------------------------------------------------------------------------------------------


def test_python_says_what_the_command_says(flopcast, serve):
    answer = flopcast.serve("llama-3-8b", "dgx-h100", quick=True, **SAME)
    assert answer.to_dict() == json.loads(serve("--quick", "--json").stdout)
    assert str(answer) == serve("--quick").stdout
    assert answer.ttft_s.p50 <= answer.ttft_s.p99 <= answer.ttft_s.max
    assert sum(answer.parts_s().values()) == pytest.approx(answer.to_dict()["pools"][0]["iteration"]["time_s"], rel=1e-6)
    assert "llama-3-8b" in repr(answer)


def test_frames(flopcast):
    pytest.importorskip("pandas")
    answer = flopcast.serve("llama-3-8b", "dgx-h100", curve=True, slo="ttft.p99<1s", set={"block": 32}, **SAME)
    row = answer.to_pandas()
    assert len(row) == 1 and row.ttft_p99_s[0] == pytest.approx(answer.ttft_s.p99)
    requests = answer.requests_to_pandas()
    assert len(requests) == 80 and (requests.done_s > requests.first_token_s).all()
    assert {"load", "ttft_p99_s", "output_tokens_per_s"} <= set(answer.curve_to_pandas().columns)
    assert len(answer.sensitivity_to_pandas()) == 10 and "change" in answer.next_to_pandas()
    assert answer.windows_to_pandas().sent.sum() == 80
    timeline = answer.timeline_to_pandas()
    assert timeline.kv.between(0, 1).all() and timeline.decodes.max() < 12


def test_errors_are_exceptions(flopcast):
    with pytest.raises(flopcast.FlopcastError) as none:
        flopcast.serve("llama-3-8b", "dgx-h100", tp=1)
    assert none.value.code == flopcast.ErrorCode.USAGE
    with pytest.raises(flopcast.FlopcastError) as big:
        flopcast.serve("llama-3-70b", "dgx-h100", **SAME)
    assert big.value.code == flopcast.ErrorCode.TOO_LARGE


def test_every_setting_is_an_argument(flopcast):
    assert list(flopcast.ServeSettings.__annotations__) == list(flopcast.SERVE_SETTINGS)


def test_every_setting_is_told(flopcast):
    text = (ROOT / "docs/reference/serve-files.md").read_text()
    missing = [name for name in flopcast.SERVE_SETTINGS if f"`{name}`" not in text]
    pools = [name for name in missing if not name.startswith(("prefill_", "decode_"))]
    assert not pools
