"""Who is waited for is named; who stands still holds nobody up; ranks fail and start again (docs/theory/live.md, "Waits that
do not end", "Ranks that start again")."""

import json
import re
from pathlib import Path

import pytest
from conftest import SILENCE_S

SCRIPT = Path(__file__).with_name("holdups_script.py")


def test_who_holds_the_run_is_named_with_where_it_is(live, tmp_path):
    done = live.run(SCRIPT, "named", tmp_path, 2 * SILENCE_S, ranks=4, timeout=240)
    assert done.stdout.splitlines() == ["met 16"] * 4
    assert f"nothing has gone on for {SILENCE_S} s of real time" in done.stderr
    lines = done.stderr.splitlines()

    def one(pattern):
        found = [i for i, line in enumerate(lines) if re.search(pattern, line)]
        assert found, f"{pattern}\n{done.stderr}"
        return found[0]

    at = one(rf"^rank 0, thread the_loader \(\d+\): holds the run at .* since {SILENCE_S} s, computes: ")
    calls = "\n".join(lines[at : at + 7])
    assert re.search(r"holdups_script\.py:\d+ in (real_s|spin_until)", calls), calls
    one(rf"^rank 1, thread \S+ \(0\): holds the run at .* since {SILENCE_S} s, .*computes")  # its child, when nobody holds it any more
    one(r"^rank 2, thread \S+ \(\d+\): holds the run at .*, waits.*: pause \(libc")


def test_a_call_that_nobody_watches_does_not_hold_up_the_run(live, tmp_path):
    done = live.run(SCRIPT, "lock", tmp_path, ranks=2)
    assert done.stdout.splitlines() == ["took 1000"] * 2


def test_ranks_begin_again_when_one_failed(live, tmp_path):
    report = tmp_path / "run.json"
    words = ["--json", report, "--", str(live.python), "-m", "torch.distributed.run", "--nproc-per-node", "2"]
    done = live.run(*words, "--max-restarts", "2", SCRIPT, "restarted", tmp_path, ranks=2, timeout=240)
    assert done.stdout.splitlines() == ["attempt 1 took 3.0"]
    run = json.loads(report.read_text())
    assert [restart["rank"] for restart in run["restarts"]] == [1]
    assert run["restarts"][0]["at_s"] == pytest.approx(3, rel=0.05)
    assert run["virtual_s"] == pytest.approx(6, rel=0.05)
    assert "when rank 1 had failed" in done.stderr


def test_process_groups_are_left_and_made_again(live, tmp_path):
    done = live.run(SCRIPT, "again", tmp_path, ranks=4)
    assert done.stdout.splitlines() == ["sums 16 2 8"] * 4
