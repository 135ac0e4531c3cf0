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
    files = {f"src/graph/s{i}.cc": "" for i in range(15)}
    files |= {f"src/graph/s{i}.h": "" for i in range(15)}
    files |= {f"src/graph/s{i}_test.cc": "" for i in range(5)} | {"src/graph/testing.h": ""}
    assert not check(files)
    (problem,) = check({"src/graph/one_more.h": ""})
    assert problem.startswith("src/graph:1: has 31 sources")


def test_inner_rooms_of_an_inner_room_pass_one_way_and_fail_in_a_circle(check):
    one_way = {
        "src/whatif/structure/emit.cc": '#include "whatif/structure/plan/sizes.h"\n',
        "src/whatif/structure/plan/sizes.h": '#include "whatif/structure/recorded/cuts.h"\n',
        "src/whatif/structure/recorded/cuts.h": '#include "whatif/change/change.h"\n',
    }
    assert not check(one_way)
    problems = check(
        one_way
        | {"src/whatif/structure/recorded/cuts.h": '#include "whatif/structure/plan/sizes.h"\n'}
    )
    assert len(problems) == 2
    assert "whatif/structure/plan/ includes whatif/structure/recorded/" in problems[0]


def test_a_circle_of_inner_rooms_is_found_through_theirs(check):
    problems = check(
        {
            "src/whatif/structure/plan/a.cc": '#include "whatif/change/b.h"\n',
            "src/whatif/change/b.h": '#include "whatif/structure/recorded/c.h"\n',
        }
    )
    assert len(problems) == 2
    assert "whatif/structure/ includes whatif/change/" in problems[1]


def test_an_inner_room_must_not_include_what_lies_above_it_two_floors_down(check):
    (problem,) = check({"src/live/engine/session/a.cc": '#include "live/engine/all.h"\n'})
    assert "lies directly in src/live/engine/" in problem


@pytest.mark.parametrize(
    ("file", "include"),
    [
        ("src/live/wire/a.h", "base/numeric/mix.h"),
        ("src/live/wire/a.h", "live/engine/session/b.h"),
        ("src/live/standin/clock/a.cc", "live/engine/session/b.h"),
        ("src/live/standin/clock/a.cc", "base/text/format.h"),
        ("src/live/standin/clock/a.cc", "flopcast/base.h"),
        ("src/live/standin/clock/a.cc", "flopcast/live.h"),
        ("src/live/standin/torch/a.cc", "live/standin/values/b.h"),
        ("src/live/standin/torch/a.cc", "live/wire/b.h"),
        ("src/live/engine/session/a.cc", "live/start/launch/b.h"),
        ("src/live/start/launch/a.cc", "live/engine/session/b.h"),
        ("src/live/engine/session/a.cc", "flopcast/live/setup.h"),
    ],
)
def test_a_wall_keeps_in(check, file, include):
    setup = {"src/live/start/setup/b.cc": ""}
    (problem,) = check(setup | {file: f'#include "{include}"\n'})
    assert problem.startswith(f"{file}:1: live/")
    assert f'must not include "{include}"' in problem


@pytest.mark.parametrize(
    ("file", "include"),
    [
        ("src/live/standin/clock/a.cc", "live/wire/b.h"),
        ("src/live/standin/clock/a.cc", "live/standin/link/b.h"),
        ("src/live/standin/clock/a.cc", "base/numeric/mix.h"),
        ("src/live/standin/torch/a.cc", "live/standin/values/plugin.h"),
        ("src/live/engine/session/a.cc", "flopcast/base.h"),
        ("src/live/engine/host/a.cc", "flopcast/live/host.h"),
        ("src/live/live.cc", "live/engine/session/b.h"),
        ("src/live/engine/daemon/a_test.cc", "live/standin/link/b.h"),
    ],
)
def test_a_wall_has_these_doors(check, file, include):
    assert not check({file: f'#include "{include}"\n'})


@pytest.mark.parametrize("file", ["src/live/live.cc", "src/live/engine/session/a.cc"])
def test_nobody_enters_a_closed_wall(check, file):
    problems = check({file: '#include "live/standin/values/plugin.h"\n'})
    assert any('"live/standin/values/plugin.h" is behind the wall' in p for p in problems)


@pytest.mark.parametrize(
    "line",
    [
        'if (level.link.find("pcie") != npos) return true;',
        'return level->link.starts_with("slingshot");',
        'if (chip.name.starts_with("gb") || other) return "nvlink-c2c";',
        'const bool rack = cluster.chip.name == "gb200";',
        'if (links[0].name == "nvlink" && more) add();',
        'if ("eos" == machine.cluster.name) return {};',
        'return to_lower(chip().name).contains("core");',
        'if (device_name.ends_with("-core")) ++n;',
        'bool over_pcie() const { return fabric == "pcie"; }',
        'return gpu.find("B200") != gpu.npos;',
    ],
)
def test_what_a_machine_is_called_decides_nothing(check, line):
    (problem,) = check({"src/cost/a.cc": f"\n{line}\n"})
    assert problem.startswith("src/cost/a.cc:2: `")
    assert "goes by a name" in problem
    assert not check({"src/cost/a.cc": "", "src/hardware/reader.cc": f"{line}\n"})


@pytest.mark.parametrize(
    "line",
    [
        'text += fmt::format("{} on {}", model.name, chip.name);',
        "if (node->chip.name == chip.name) return name;",
        'if (level.link.empty()) return usage_error("link", "is missing");',
        "const auto found = systems.find(chip);",
        'if (task.name == "gemm") ++n;  // chip.name == "x"',
        "edge.link = other.link;",
        "const std::size_t comma = chip.find(',');",
        'if (chip.architecture == "hopper") return 9;',
    ],
)
def test_names_may_be_said_and_compared_with_each_other(check, line):
    assert not check({"src/cost/a.cc": f"{line}\n"})


def test_tests_may_look_into_names(check):
    assert not check({"src/cost/a_test.cc": 'EXPECT_TRUE(chip.name.starts_with("h100"));\n'})


def test_every_reader_of_names_is_there(floors):
    absent = [reader for reader in floors.NAME_READERS if not (ROOT / reader).is_dir()]
    assert absent in ([], ["src/measured"])


def test_every_wall_is_there(floors):
    for folder in [wall.folder for wall in floors.WALLS] + list(floors.NESTED):
        assert (ROOT / "src" / folder).is_dir(), folder


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
