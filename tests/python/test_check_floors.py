import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def floors():
    spec = importlib.util.spec_from_file_location("check_floors", ROOT / "tools/check_floors.py")
    module = importlib.util.module_from_spec(spec)
    # dataclasses look their module up while the class is being made.
    sys.modules["check_floors"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def check(floors, tmp_path):
    """Problems of a tree of these files; that rooms of the table are absent is none."""

    def check(files: dict[str, str]) -> list[str]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        problems = floors.check(tmp_path)
        return [p for p in problems if "is in the table, and not in the tree" not in p]

    return check


def test_downward_includes_pass(check):
    assert not check(
        {
            "src/engine/run.cc": '#include <fmt/core.h>\n#include "flopcast/graph.h"\n#include "base/pool.h"\n',
            "src/report/html.cc": '#include "web_assets.h"\n#include "flopcast/version.h"\n',
            "src/trace/x_test.cc": '#include "support/data.h"\n#include "trace/x.h"\n',
            "python/module.cc": '#include "errors.h"\n#include "flopcast/report/plan.h"\n',
        }
    )


def test_upward_include_names_file_and_line(check):
    (problem,) = check({"src/trace/x.cc": '#include "trace/x.h"\n#include "flopcast/graph.h"\n'})
    assert problem.startswith("src/trace/x.cc:2: trace/ (floor 1) must not include graph/")


def test_public_header_belongs_to_its_room(check):
    (problem,) = check({"include/flopcast/base.h": '\n#include "flopcast/engine.h"\n'})
    assert problem.startswith("include/flopcast/base.h:2: base/ (floor 0)")


def test_second_public_header_belongs_to_the_same_room(check):
    (problem,) = check({"include/flopcast/trace/io.h": '#include "flopcast/graph.h"\n'})
    assert "trace/ (floor 1) must not include graph/" in problem


def test_same_floor_passes_one_way_and_fails_in_a_circle(check):
    one_way = {
        "src/cost/a.h": '#include "flopcast/network.h"\n',
        "src/network/b.h": '#include "flopcast/workload.h"\n',
    }
    assert not check(one_way)
    assert len(check(one_way | {"src/workload/c.h": '#include "flopcast/cost.h"\n'})) == 3


@pytest.mark.parametrize("file", ["src/cost/a.cc", "src/cost/a_test.cc", "python/cost.cc"])
def test_private_header_of_another_room_fails(check, file):
    (problem,) = check({file: '#include "hardware/cluster/levels.h"\n'})
    assert problem.startswith(f'{file}:1: "hardware/cluster/levels.h" is private to hardware/')


def test_the_ground_floor_is_open_to_all(check):
    assert not check({"src/cost/a.cc": '#include "base/text/format.h"\n'})


def test_inner_rooms_pass_one_way_and_fail_in_a_circle(check):
    one_way = {
        "src/network/fit/a.cc": '#include "network/flow/b.h"\n',
        "src/network/flow/b.h": '#include "network/flow/c.h"\n#include "network/topology/d.h"\n',
        "src/network/all.cc": '#include "network/fit/a.h"\n#include "flopcast/network.h"\n',
    }
    assert not check(one_way)
    problems = check(one_way | {"src/network/topology/d.h": '#include "network/fit/a.h"\n'})
    assert len(problems) == 3
    assert "src/network/fit/a.cc:1: network/fit/ includes network/flow/" in problems[0]


def test_public_header_of_an_inner_rooms_name_is_its_own(check):
    problems = check(
        {
            "src/network/fit/a.cc": '#include "network/flow/b.h"\n',
            "src/network/flow/b.cc": '#include "flopcast/network/fit.h"\n',
        }
    )
    assert len(problems) == 2
    assert "src/network/flow/b.cc:1: network/flow/ includes network/fit/" in problems[1]


def test_public_header_of_no_inner_rooms_name_is_open_to_all_of_them(check):
    assert not check(
        {
            "src/network/fit/a.cc": '#include "flopcast/network/flows.h"\n',
            "include/flopcast/network/flows.h": '#include "flopcast/network/fit.h"\n',
        }
    )


def test_inner_room_must_not_include_what_lies_above_it(check):
    (problem,) = check({"src/cli/plan/plan.cc": '#include "cli/app.h"\n'})
    assert problem.startswith('src/cli/plan/plan.cc:1: "cli/app.h" lies directly in src/cli/')


@pytest.mark.parametrize("name", ["d_test.cc", "d_fuzz.cc", "d_bench.cc", "testing.h"])
def test_tests_may_include_all_of_their_room(check, name):
    assert not check(
        {
            "src/network/fit/a.cc": '#include "network/flow/b.h"\n',
            f"src/network/flow/{name}": '#include "network/fit/a.h"\n#include "network/all.h"\n',
        }
    )


def test_folder_of_many_sources_fails_and_tests_do_not_count(check):
    files = {f"src/graph/s{i}.cc": "" for i in range(30)}
    files |= {f"src/graph/s{i}_test.cc": "" for i in range(5)}
    assert not check(files)
    (problem,) = check({"src/graph/one_more.cc": ""})
    assert problem.startswith("src/graph:1: has 31 sources")


def test_third_party_header_in_quotes_fails(check):
    (problem,) = check({"src/base/a.cc": '#include "fmt/core.h"\n'})
    assert "angle brackets" in problem


@pytest.mark.parametrize(
    "file", ["src/attic/a.cc", "src/cost/model/form/a.cc", "include/flopcast/cost/fit/a.h"]
)
def test_unknown_place_fails(check, file):
    (problem,) = check({file: "\n"})
    assert problem.startswith(f"{file}:1: lies in no known room")


def test_room_of_the_table_without_files_fails(floors, tmp_path):
    (tmp_path / "src/base").mkdir(parents=True)
    (tmp_path / "src/base/a.cc").write_text("\n")
    (problem,) = floors.check(tmp_path, (("base",), ("attic",)))
    assert problem == "tools/check_floors.py:1: attic/ is in the table, and not in the tree"


def test_header_that_says_another_floor_fails(check):
    assert not check({"include/flopcast/trace.h": "// Floor 1: traces.\n"})
    (problem,) = check({"include/flopcast/graph.h": "// Floor 1: graphs.\n"})
    assert problem == "include/flopcast/graph.h:1: graph/ is on floor 3, not 1"


def test_this_repository_passes(floors):
    assert floors.check(ROOT) == []
