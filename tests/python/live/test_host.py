"""What the host takes: modelled by operators, by a table of one's own, or measured."""

import re
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("host_script.py")
CATALOG = Path(__file__).resolve().parents[3] / "catalog/live/host.toml"


def numbers(live, *words) -> dict[str, list[int]]:
    """The numbers behind each word of the script's output."""
    lines = [line.split() for line in live.run(*words).stdout.splitlines()]
    return {word: [int(number) for number in rest] for word, *rest in lines}


def table(folder: Path, operator_ns: int) -> Path:
    """That of the catalogue with another cost of operators."""
    path = folder / f"operator_{operator_ns}.toml"
    path.write_text(re.sub(r"^operator = \d+", f"operator = {operator_ns}", CATALOG.read_text(), flags=re.MULTILINE))
    return path


def test_operators_that_take_time_are_the_rows_of_a_profiler(live, tmp_path):
    free = numbers(live, "--host", table(tmp_path, 0), SCRIPT, "operators", "rows")
    costly = numbers(live, "--host", table(tmp_path, 1000), SCRIPT, "operators")
    assert free["rows"][0] > 500
    assert costly["operators"][0] - free["operators"][0] == 1000 * free["rows"][0]


@pytest.mark.parametrize("host, factor", [("measured", 1), ("measured:2", 2)])
def test_measured_time_passes_and_goes_by_its_factor(live, host, factor):
    took, spent, used = numbers(live, "--host", host, SCRIPT, "python")["python"]
    # Nothing waits here: the time of the thread passes with that of the program.
    assert took > 0 and spent == pytest.approx(took, rel=0.2)
    assert took == pytest.approx(factor * used, rel=0.2)


PROGRAM_BY_VFORK = """
import subprocess, time
sum(range(1_000_000))
begin = time.perf_counter()
subprocess.run(["true"], check=True)
sum(range(1_000_000))
print(time.perf_counter() - begin)
"""


def test_a_child_by_vfork_does_not_measure_by_its_own_clock(live, tmp_path):
    """It has its maker's memory until it is another program, and has used no processor yet."""
    path = tmp_path / "script.py"
    path.write_text(PROGRAM_BY_VFORK)
    took = float(live.run("--host", "measured", path).stdout)
    assert 0 < took < 5


def test_python_alone_takes_no_modelled_time(live):
    assert numbers(live, SCRIPT, "python")["python"][:2] == [0, 0]


OPTIMIZER_ON_THE_HOST = """
import torch
x = torch.ones(64, 64, device="cuda")
for step in range(8):
    torch.relu(x @ x).sum()
    torch.cuda.synchronize()
    sum(range({count}))
"""


@pytest.mark.parametrize("count, told", [(3_000_000, True), (1000, False)])
def test_steps_in_which_the_host_computes_for_long_are_told(live, tmp_path, count, told):
    summary = live.script(tmp_path, OPTIMIZER_ON_THE_HOST.format(count=count)).stderr
    assert re.search(r"^[5-8] steps of", summary, re.MULTILINE)
    found = re.search(r"within its steps rank 0 computed\n  (\d+) times for 10 ms or more", summary)
    assert bool(found) == told, summary
    assert not told or 5 <= int(found[1]) <= 10


def test_a_table_that_is_none_is_refused_with_its_place(live, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('[host]\nlaunch = "fast"\n')
    assert f"{path}:2" in live.run("--host", path, SCRIPT, "rows", expect=3).stderr
    missing = tmp_path / "none.toml"
    assert str(missing) in live.run("--host", missing, SCRIPT, "rows", expect=3).stderr
