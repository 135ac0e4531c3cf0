"""What `./dev test` says: which tests a pattern means, what failed in a check of many cases, how long all took."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def picked(pattern: str) -> dict[str, set[str]]:
    done = subprocess.run(
        [sys.executable, ROOT / "tools/pick_tests.py", pattern], capture_output=True, text=True, check=True
    )
    lines = (line.split("\t") for line in done.stdout.splitlines())
    return {room: {name for name in names.split(":") if not name.startswith("*/")} for room, names in lines}


def test_a_room_is_all_its_folders():
    room = picked("network")
    folder = picked("src/network/flow")
    assert set(room) == set(folder) == {"network"}
    assert folder["network"] < room["network"]
    assert "FlowSimulator.*" in folder["network"] and "ClosedForm.*" not in folder["network"]


@pytest.mark.parametrize("pattern", ["src/base/text/csv_table.cc", "base/text/csv_table_test.cc", "base/text/csv_table.h"])
def test_a_file_is_the_test_of_its_name(pattern):
    file = (ROOT / "src/base/text/csv_table_test.cc").read_text()
    names = picked(pattern)["base"]
    assert names and all(f"({name.removesuffix('.*')}," in file for name in names)


def test_a_file_without_a_test_of_its_own_has_those_of_its_folder():
    (file,) = [path for path in [ROOT / "src/base/text/toml_library.cc"] if path.exists()]
    assert picked(str(file.relative_to(ROOT))) == picked("src/base/text")


def test_suites_and_cases_are_found_in_their_rooms():
    assert picked("PlanSpace.Holds*") == {"analytic": {"PlanSpace.HoldsEveryPlanOnce"}}
    threads = picked("*Threads")
    assert {"analytic", "live", "replay", "whole"} & set(threads) >= {"analytic", "live", "whole"}
    assert all(name.endswith("Threads.*") for names in threads.values() for name in names)


def test_files_of_python_tests_are_pytests():
    assert picked("test_cli.py") == {"python": {"tests/python/test_cli.py"}}


@pytest.mark.parametrize("pattern", ["NoSuchSuite", "no/such/folder", "test_of_nothing.py"])
def test_what_means_no_test_is_refused(pattern):
    done = subprocess.run([sys.executable, ROOT / "tools/pick_tests.py", pattern], capture_output=True, text=True)
    assert done.returncode == 1 and not done.stdout


CASES = """[==========] Running 5 tests from 2 test suites.
[----------] 3 tests from Sums
[ RUN      ] Sums.AddUp
[       OK ] Sums.AddUp (1500 ms)
[ RUN      ] Sums.AreKept
sums_test.cc:7: Failure
what was said
[  FAILED  ] Sums.AreKept (2 ms)
[ RUN      ] Sums.AreThere
no sums here
[  SKIPPED ] Sums.AreThere (0 ms)
[ RUN      ] Kinds/Sums.OfKinds/0
[  FAILED  ] Kinds/Sums.OfKinds/0, where GetParam() = 7 (30 ms)
"""
CRASHED = "[ RUN      ] Sums.AreSafe\nalmost there\n"


def failed(tmp_path: Path, text: str) -> list[str]:
    log = tmp_path / "log"
    log.write_text(text)
    command = ["awk", "-f", ROOT / "tools/failed_cases.awk", log]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_failed_cases_are_told_with_what_they_said(tmp_path):
    assert failed(tmp_path, CASES + "[  PASSED  ] 1 test.\n==1==ERROR: LeakSanitizer: leaks\n") == [
        "[ RUN      ] Sums.AreKept",
        "sums_test.cc:7: Failure",
        "what was said",
        "[  FAILED  ] Sums.AreKept (2 ms)",
        "[ RUN      ] Kinds/Sums.OfKinds/0",
        "[  FAILED  ] Kinds/Sums.OfKinds/0, where GetParam() = 7 (30 ms)",
        "[  PASSED  ] 1 test.",
        "==1==ERROR: LeakSanitizer: leaks",
    ]


def test_the_case_in_which_a_process_ended_is_named(tmp_path):
    assert failed(tmp_path, CASES + CRASHED)[-3:] == [
        "[ RUN      ] Sums.AreSafe",
        "almost there",
        "[  FAILED  ] Sums.AreSafe: the process ended",
    ]


def test_times_are_listed_slowest_first(tmp_path):
    cases = tmp_path / "cases"
    cases.mkdir()
    (cases / "unit.1_of_1.log").write_text(CASES)
    (cases / "python.xml").write_text(
        '<testsuites><testsuite><testcase classname="tests.python.test_cli" name="test_help[a]" time="1.75"/>'
        '<testcase classname="tests.python.test_cli" name="test_none" time="0.5"><skipped/></testcase>'
        "</testsuite></testsuites>"
    )
    (tmp_path / "processor.tsv").write_text("building release\t300\t590.5\nunit.1_of_1\t2\t1.9\n")
    (tmp_path / "ctest.xml").write_text(
        '<testsuite><testcase name="unit.1_of_1" time="2.1" status="run"/>'
        '<testcase name="live" time="0.1" status="notrun"/></testsuite>'
    )
    told = subprocess.run(
        [sys.executable, ROOT / "tools/test_times.py", tmp_path], capture_output=True, text=True, check=True
    ).stdout
    lines = [line.strip() for line in (tmp_path / "times.txt").read_text().splitlines() if line]
    assert lines == [
        "checks, slowest first",
        "300.00 s  building release  (590.50 s of processors)",
        "2.10 s  unit.1_of_1  (1.90 s of processors)",
        "0.10 s  live",
        "cases, slowest first",
        "1.75 s  python  test_cli::test_help[a]",
        "1.50 s  unit.1_of_1  Sums.AddUp",
        "0.50 s  python  test_cli::test_none",
        "0.03 s  unit.1_of_1  Kinds/Sums.OfKinds/0",
        "0.00 s  unit.1_of_1  Sums.AreKept",
        "0.00 s  unit.1_of_1  Sums.AreThere",
    ]
    assert "3 skipped" in told and "python  test_cli::test_none" in told and "Sums.AreThere" in told
