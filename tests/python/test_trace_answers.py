"""What the commands say of one recording: the same number wherever it is said, on lines that fit, the verdict first."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NANOGPT = Path(os.environ.get("FLOPCAST_SHARED", ROOT / "../shared")) / "traces/nanogpt_8xh100"

# Runs that are bound by different things: kernels, hosts, a slow rank, the pipeline, a network.
RUNS = {
    "sample": [],
    "slow host": ["--scale", "host=20", "--straggler", "none"],
    "straggler without a pipeline": ["--pp", "1", "--tp", "1", "--dp", "4", "--straggler", "2:1.5:1.3"],
    "wide": ["--pp", "2", "--tp", "8", "--dp", "1", "--steps", "2"],
    "deep": ["--pp", "4", "--tp", "2", "--dp", "1", "--microbatches", "8"],
}


@pytest.fixture(scope="module")
def program() -> str:
    name = os.environ.get("FLOPCAST_CLI")
    if not name:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    return name


@pytest.fixture(scope="module", params=RUNS)
def run(request, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("answers") / "run"
    make = [sys.executable, ROOT / "examples" / "make_sample.py", folder, *RUNS[request.param]]
    subprocess.run(make, check=True, capture_output=True)
    return folder


def told(program, *words) -> str:
    return subprocess.run([program, *map(str, words)], check=True, capture_output=True, text=True).stdout


def document(program, *words) -> dict:
    return json.loads(told(program, *words, "--json"))


def on_terminal(program, *words, columns=80) -> list[str]:
    """The lines that a terminal of so many columns is given."""
    reader, writer = pty.openpty()
    process = subprocess.Popen([program, *map(str, words)], stdout=writer, stderr=subprocess.DEVNULL,
                               env={**os.environ, "COLUMNS": str(columns)})
    os.close(writer)
    out = b""
    while True:
        try:
            block = os.read(reader, 1 << 16)
        except OSError:
            break
        if not block:
            break
        out += block
    os.close(reader)
    assert process.wait() in (0, 5)
    return out.decode().replace("\r\n", "\n").splitlines()


def plain(part: str) -> str:
    return part.split(":", 1)[1] if part.startswith(("kernel:", "collective:")) else part


def test_replay_and_whatif_agree_on_what_parts_are_worth(program, run):
    replay = document(program, "replay", run)["sets"][0]["sensitivity"]
    whatif = document(program, "whatif", run, "--sensitivity")
    assert replay["gpu_step_s"] == whatif["before_s"]
    rows = {plain(row["part"]): row for row in whatif["sensitivity"]}
    assert {"host", "gemm", "network"} <= {part["part"] for part in replay["parts"]} <= rows.keys()
    for part in replay["parts"]:
        row = rows[part["part"]]
        assert (part["gpu_step_s"], part["limit_s"], part["work_s"]) == (row["less_s"], row["limit_s"], row["work_s"])
    for part, scale in (("network", "network=0.9"), ("host", "host=0.9")):
        answer = document(program, "whatif", run, "--scale", scale)
        assert answer["after_s"] == next(p["gpu_step_s"] for p in replay["parts"] if p["part"] == part)


def test_the_rank_that_is_last_is_worth_what_whatif_says(program, run):
    table = document(program, "replay", run)["sets"][0]["sensitivity"]
    late = table["late"]
    if late is not None and late["gpu_step_s"] is not None:
        assert document(program, "whatif", run, "--remove", f"straggler:{late['rank']}")["after_s"] == late["gpu_step_s"]
    answer = document(program, "whatif", run, "--remove", "straggler")
    if table["straggler"] is None:
        assert answer["after_s"] == answer["before_s"]
    else:
        assert answer["after_s"] == table["straggler"]["gpu_step_s"] < answer["before_s"]


@pytest.mark.parametrize("steps", ["2:3", "3:4"])
def test_some_steps_are_asked_alike(program, run, steps):
    if "wide" in str(run) or len(document(program, "replay", run)["sets"][0]["ranks"][0]["steps"]) < 3:
        pytest.skip("two steps")
    replay = document(program, "replay", run, "--steps", steps)["sets"][0]["sensitivity"]
    whatif = document(program, "whatif", run, "--steps", steps, "--sensitivity")
    assert replay["gpu_step_s"] == whatif["before_s"]
    rows = {plain(row["part"]): row["limit_s"] for row in whatif["sensitivity"]}
    assert all(rows[part["part"]] == part["limit_s"] for part in replay["parts"])


def test_communication_is_split_into_all_of_itself(program, run):
    for rank in document(program, "replay", run)["sets"][0]["ranks"]:
        for parts in rank["window"]["breakdown_s"].values():
            waits = [parts[f"waiting_for_{whom}"] for whom in ("rank", "host", "stage")]
            assert min(waits) >= 0 and sum(waits) == pytest.approx(parts["waiting"], abs=1e-11)
            assert parts["transfer"] + parts["waiting"] == pytest.approx(parts["exposed_communication"], abs=1e-11)
    answer = document(program, "whatif", run, "--scale", "network=0.5")
    parts = {part["part"]: part for part in answer["parts"]}
    assert parts["transfer"]["after_s"] < parts["transfer"]["before_s"]
    assert sum(part["before_s"] for part in answer["parts"]) == pytest.approx(answer["before_s"])


def test_the_page_holds_the_numbers_of_json(program, run, tmp_path):
    replay = document(program, "replay", run)["sets"][0]
    told(program, "replay", run, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    held = json.loads(re.search(r'<script type="application/json" id="report">(.*?)</script>', page, re.DOTALL).group(1))["sets"][0]
    for field in ("verdict", "sensitivity", "straggler", "late", "critical_path"):
        assert held[field] == replay[field], field
    assert [rank["window"] for rank in held["ranks"]] == [rank["window"] for rank in replay["ranks"]]


def test_the_terminal_tells_the_numbers_of_json(program, run):
    replay, text = document(program, "replay", run)["sets"][0], told(program, "replay", run)
    for rank in replay["ranks"][:16]:
        used = rank["window"]["sm_time_used"]["measured"]
        row = re.search(rf"^ +{rank['rank']} +{rank['window']['measured_s'] * 1e3:.3f} .*$", text, re.MULTILINE)
        assert row and (used is None or float(row.group().split()[-1]) == pytest.approx(used * 100, abs=0.051))
    for part in replay["sensitivity"]["parts"]:
        assert re.search(rf"{re.escape(part['title'])} +{part['work_s'] * 1e3:.3f} +{part['gpu_step_s'] * 1e3:.3f} ", text), part
    flat = " ".join(text.split())
    for line in replay["verdict"]:
        assert " ".join(line.split()) in flat


def test_the_verdict_comes_first_and_errors_last(program, run):
    text = told(program, "replay", run)
    order = ["Verdict", "GPU time", "What would shorten", "Critical path", "Kernels by total time", "How near the replay is"]
    places = [text.index(title) for title in order]
    assert places == sorted(places)
    assert "Dependencies" not in text and "Dependencies" in told(program, "replay", run, "--quality")


@pytest.mark.parametrize("words", [("replay",), ("replay", "--quality"), ("replay", "--compare"), ("whatif", "--sensitivity"),
                                   ("whatif", "--scale", "network=0.5", "--remove", "straggler"), ("trace", "info"),
                                   ("trace", "validate"), ("trace", "model")])
def test_lines_fit_the_terminal(program, run, words):
    command, options = (words[:2], words[2:]) if words[0] == "trace" else (words[:1], words[1:])
    lines = on_terminal(program, *command, run, *options)
    assert len(lines) > 3 and max(map(len, lines)) <= 80


def test_folders_and_files_are_the_same_run(program, run):
    files = sorted(run.glob("*.json.gz"), key=lambda file: int(re.search(r"(\d+)\.json", file.name).group(1)))
    assert told(program, "whatif", run, "--sensitivity").splitlines()[2:] == told(program, "whatif", *files, "--sensitivity").splitlines()[2:]
    folder, listed = document(program, "replay", run)["sets"][0], document(program, "replay", *files)["sets"][0]
    assert folder["sensitivity"] == listed["sensitivity"] and folder["verdict"] == listed["verdict"]


def test_what_is_taken_away_makes_no_step_longer_without_a_reason(program, run):
    answer = document(program, "whatif", run, "--sensitivity")
    for row in answer["sensitivity"]:
        longest = max(step for step in (row["less_s"], row["limit_s"]) if step is not None)
        assert longest <= answer["before_s"] * 1.002 or row["caution"], row


@pytest.mark.parametrize("options", [["--tp", "8", "--pp", "4", "--straggler", "none"], ["--tp", "2", "--pp", "4", "--straggler", "none"]])
def test_nobody_is_to_blame_for_a_pipeline(program, tmp_path, options):
    make = [sys.executable, ROOT / "examples" / "make_sample.py", tmp_path / "run", "--hiccup", "none", *options]
    subprocess.run(make, check=True, capture_output=True)
    replay = document(program, "replay", tmp_path / "run")["sets"][0]
    assert replay["straggler"] is None and not any(" is last" in line for line in replay["verdict"])
    waits = [sum(rank["window"]["breakdown_s"]["measured"][key] for rank in replay["ranks"]) for key in ("waiting_for_stage", "waiting_for_host")]
    assert waits[0] > 10 * waits[1]


@pytest.mark.skipif(not NANOGPT.is_dir(), reason="no recorded traces beside the repository")
def test_the_reason_for_a_slow_step_is_on_the_first_screen(program):
    screen = " ".join(" ".join(on_terminal(program, "replay", NANOGPT)[:24]).split())
    assert "bound by the host" in screen and "rank 1 is last" in screen
    assert "-10.58 % with a tenth less of it, -24.17 % with none" in screen  # the numbers of whatif
    assert "CUDA graphs" in screen and "rank 2 is then last" in screen


@pytest.mark.skipif(not NANOGPT.is_dir(), reason="no recorded traces beside the repository")
def test_a_gain_that_is_only_moved_is_none(program):
    assert document(program, "whatif", NANOGPT, "--remove", "straggler:3")["caution"]
    answer = document(program, "whatif", NANOGPT, "--remove", "straggler")
    assert answer["after_s"] == answer["before_s"]
    assert any(note["what"].startswith("no rank is a straggler") for note in answer["notes"])
