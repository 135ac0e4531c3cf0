"""The flopcast program as people call it, on the sample that examples/make_sample.py makes."""

import gzip
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKE_SAMPLE = ROOT / "examples" / "make_sample.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder that holds examples and demo/sample, as after `./dev demo`, and a captured run."""
    path = tmp_path_factory.mktemp("cli")
    (path / "examples").symlink_to(ROOT / "examples")
    (path / "run.fccap").symlink_to(ROOT / "tests/data/live/two_ranks.fccap")
    subprocess.run([sys.executable, MAKE_SAMPLE, path / "demo/sample"], check=True, capture_output=True)
    return path


def run(program: str, *arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    return subprocess.run([program, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120)


def commands(program: str, path: tuple = ()):
    """Every command and the text of its --help."""
    text = run(program, *path, "--help").stdout
    yield path, text
    below = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.MULTILINE)
    for line in below.group(1).splitlines() if below else []:
        if re.match(r"  \w", line):
            yield from commands(program, (*path, line.split()[0]))


def examples(text: str) -> list:
    return re.findall(r"^  (flopcast .*)$", text.partition("Example:")[2], re.MULTILINE)


# --- Help and examples -----------------------------------------------------------------------------


def test_every_help_has_an_example_that_runs(program, folder):
    seen = 0
    for path, text in commands(program):
        lines = examples(text)
        assert lines, f"flopcast {' '.join(path)} --help has no example"
        for line in lines:
            done = run(program, *shlex.split(line)[1:], cwd=folder)
            assert done.returncode == 0, f"{line}: {done.stderr}"
            assert done.stdout
            seen += 1
    assert seen >= 9


def test_help_names_the_whole_command(program):
    assert "Usage: flopcast trace slice" in run(program, "trace", "slice", "--help").stdout


# --- Talk and results --------------------------------------------------------------------------------


def test_result_on_stdout_and_talk_on_stderr(program, folder):
    done = run(program, "replay", "demo/sample", "--json", "--html", "demo/page.html", cwd=folder)
    assert json.loads(done.stdout)["sets"][0]["name"] == "sample"
    assert "demo/page.html" in done.stderr


@pytest.mark.parametrize("arguments", [["validate", "replay"], ["replay"]])
def test_full_disk_is_an_error_and_leaves_nothing(program, folder, arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run([program, *arguments, "demo/sample"], cwd=folder, stdout=full,
                              stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert done.returncode == 3
    assert "stdout" in done.stderr


def test_interrupt_removes_what_was_being_written(program, tmp_path):
    os.mkfifo(tmp_path / "rank0.json")  # reading it waits until somebody writes
    process = subprocess.Popen([program, "replay", "rank0.json", "--trace-out", "out.json"],
                               cwd=tmp_path, stderr=subprocess.PIPE)  # fmt: skip
    half = tmp_path / f"out.json.{process.pid}-0.part"
    other = tmp_path / "out.json.1-0.part"
    half.write_text("half")
    other.write_text("not ours")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT
    assert not half.exists()
    assert other.exists()


# --- The sample ------------------------------------------------------------------------------------


def rows_of(path: Path) -> list:
    with gzip.open(path, "rt") as file:
        return json.load(file)["traceEvents"]


def test_sample_is_the_same_every_time(folder, tmp_path):
    subprocess.run([sys.executable, MAKE_SAMPLE, tmp_path], check=True, capture_output=True)
    for path in sorted((folder / "demo/sample").iterdir()):
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


def test_sample_obeys_causality(folder):
    collectives = defaultdict(list)
    for path in sorted((folder / "demo/sample").iterdir()):
        rows = [row for row in rows_of(path) if row["ph"] == "X"]
        launch = {r["args"]["correlation"]: r for r in rows if r["cat"] == "cuda_runtime"}
        ends = {}
        for row in sorted((r for r in rows if "stream" in r.get("args", {})), key=lambda r: r["ts"]):
            args = row["args"]
            assert row["ts"] >= launch[args["correlation"]]["ts"] + 5
            assert row["ts"] >= ends.get(args["stream"], 0)
            ends[args["stream"]] = row["ts"] + row["dur"]
            if "Seq" in args:
                collectives[args["Process Group Name"], args["Seq"]].append(row)
    assert len(collectives) > 100
    for members in collectives.values():
        assert len(members) == members[0]["args"]["Group size"]
        last = max(row["ts"] for row in members)
        assert max(r["ts"] + r["dur"] for r in members) - min(r["ts"] + r["dur"] for r in members) < 0.01
        assert all(row["ts"] + row["dur"] > last for row in members)


@pytest.mark.parametrize("lags, mean, worst", [("typical", 0.005, 0.03), ("zero", 0.01, 0.04)])
def test_replay_of_the_sample_is_near(program, folder, lags, mean, worst):
    done = run(program, "validate", "replay", "demo/sample", "--lags", lags, "--json", cwd=folder)
    summary = json.loads(done.stdout)["summary"]
    assert summary["mean_abs_error"] <= mean and summary["mean_abs_gpu_step_error"] <= mean
    assert summary["max_abs_error"] <= worst and summary["max_abs_gpu_step_error"] <= worst


def test_replay_finds_the_latencies_the_sample_was_made_with(program, folder):
    document = json.loads(run(program, "replay", "demo/sample", "--json", cwd=folder).stdout)
    typical = defaultdict(set)
    for lag in document["sets"][0]["lags"]:
        typical[lag["edge"]].add(lag["typical_s"])
    assert 1.1e-6 in typical["stream"]  # STREAM_GAP
    assert 1.9e-6 in typical["event"]  # EVENT_LATENCY
    assert 4.8e-6 in typical["sync"]  # SYNC_LATENCY


def test_no_inter_stream_is_worse_on_the_sample(program, folder):
    done = run(program, "replay", "demo/sample", "--compare", "--json", cwd=folder)
    by_model = {s["baseline"]: s["summary"] for s in json.loads(done.stdout)["sets"]}
    assert set(by_model) == {"full", "single-stream", "no-inter-stream", "dpro"}
    for field in ("mean_abs_gpu_step_error", "start_error_median_of_window"):
        assert by_model["no-inter-stream"][field] > 3 * by_model["full"][field]


@pytest.mark.parametrize(
    "command",
    ["replay", "validate replay", "trace info", "trace validate", "trace model", "whatif --scale=kernel:gemm=0.8"],
)
def test_steps_of_a_pack_are_those_of_its_traces(program, folder, command):
    run(program, "trace", "pack", "demo/sample", "--out", "demo/sample.fcpack", cwd=folder)
    texts = []
    for recording in ("demo/sample", "demo/sample.fcpack"):
        done = run(program, *command.split(), recording, "--steps", "2:3", cwd=folder)
        assert done.returncode == 0, done.stderr
        texts.append(done.stdout.replace("sample.fcpack", "sample"))
    assert texts[0] == texts[1]
    assert "ProfilerStep#4" not in texts[0]
    none = run(program, *command.split(), "demo/sample", "--steps", "99", cwd=folder)
    assert none.returncode == 2
    assert "ProfilerStep#2" in none.stderr


def test_written_timeline_replays_to_the_same_steps(program, folder):
    first = run(program, "replay", "demo/sample", "--json", "--trace-out", "demo/again.json.gz", cwd=folder)
    again = run(program, "replay", "demo/again.json.gz", "--json", cwd=folder)
    assert again.returncode == 0, again.stderr
    measured = json.loads(again.stdout)["sets"][0]["ranks"]
    for before, after in zip(json.loads(first.stdout)["sets"][0]["ranks"], measured):
        for a, b in zip(before["steps"], after["steps"]):
            assert b["measured_s"] == pytest.approx(a["replayed_s"], abs=2e-9)


# --- The validation page -----------------------------------------------------------------------------


def test_validation_page_of_own_recordings(program, folder):
    make = ROOT / "tools" / "make_replay_docs.py"
    page = folder / "page.md"
    subprocess.run([sys.executable, make, "--flopcast", program, "--sets", folder / "demo/sample",
                    "--out", page], check=True, capture_output=True)  # fmt: skip
    text = page.read_text()
    assert "| sample | 8 |" in text
    assert "no-inter-stream" in text
    assert text.count("ProfilerStep#3") >= 8
    widths = [line.count("|") - line.count("\\|") for line in text.splitlines() if line.startswith("|")]
    assert min(widths) >= 3
