"""Time as scripts see it in a live run (docs/theory/live.md, "Clock")."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

START = 1_750_000_000
LONG = 10_000


@pytest.fixture(scope="module")
def run():
    """What rank 0 of clock_script.py tells."""
    cli, torch = os.environ.get("FLOPCAST_CLI"), os.environ.get("FLOPCAST_TORCH")
    if not cli or not torch:
        pytest.skip("FLOPCAST_CLI or FLOPCAST_TORCH names nothing")

    def run_ranks(ranks):
        done = subprocess.run(
            [cli, "run", "--on", "dgx-h100", "--ranks", str(ranks), "--python", sys.executable]
            + ["--start", str(START), str(Path(__file__).with_name("clock_script.py"))],
            env={**os.environ, "PYTHONPATH": str(Path(torch).parent)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_ranks


def test_one_rank_lives_in_virtual_time(run):
    told = json.loads(run(1))
    assert 0 <= told["start"] - START < 1
    assert told["clocks"] == [LONG] * 4
    assert told["waits"] == [5, 25, 55, 62]
    assert told["batches"]  # workers take no time
    assert told["backward"]


def test_a_rank_that_sleeps_for_hours_holds_all_up_and_no_watchdog_fires(run):
    told = json.loads(run(4))
    assert [step > LONG for step in told["steps"]] == [False, False, True, False, False, True]
    assert told["end"] - START == pytest.approx(2 * LONG, abs=1)
    assert json.loads(run(4))["steps"] == told["steps"]
