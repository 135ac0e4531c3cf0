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


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_downward_includes_pass(floors, tmp_path):
    root = tree(
        tmp_path,
        {
            "src/engine/run.cc": '#include <fmt/core.h>\n#include "flopcast/graph.h"\n#include "base/pool.h"\n',
            "src/report/html.cc": '#include "web_assets.h"\n#include "flopcast/version.h"\n',
            "src/trace/x_test.cc": '#include "support/data.h"\n#include "trace/x.h"\n',
        },
    )
    assert floors.check(root) == []


def test_upward_include_names_file_and_line(floors, tmp_path):
    root = tree(tmp_path, {"src/trace/x.cc": '#include "trace/x.h"\n#include "flopcast/graph.h"\n'})
    (problem,) = floors.check(root)
    assert problem.startswith("src/trace/x.cc:2: trace/ (floor 1) must not include graph/")


def test_public_header_belongs_to_its_room(floors, tmp_path):
    root = tree(tmp_path, {"include/flopcast/base.h": '\n#include "flopcast/engine.h"\n'})
    (problem,) = floors.check(root)
    assert problem.startswith("include/flopcast/base.h:2: base/ (floor 0)")


def test_second_public_header_belongs_to_the_same_room(floors, tmp_path):
    root = tree(tmp_path, {"include/flopcast/trace/io.h": '#include "flopcast/graph.h"\n'})
    (problem,) = floors.check(root)
    assert "trace/ (floor 1) must not include graph/" in problem


def test_same_floor_passes_one_way_and_fails_in_a_circle(floors, tmp_path):
    one_way = {
        "src/cost/a.h": '#include "network/b.h"\n',
        "src/network/b.h": '#include "workload/c.h"\n',
    }
    root = tree(tmp_path, one_way)
    assert floors.check(root) == []
    tree(root, {"src/workload/c.h": '#include "flopcast/cost.h"\n'})
    assert len(floors.check(root)) == 3


def test_third_party_header_in_quotes_fails(floors, tmp_path):
    root = tree(tmp_path, {"src/base/a.cc": '#include "fmt/core.h"\n'})
    (problem,) = floors.check(root)
    assert "angle brackets" in problem


def test_unknown_room_fails(floors, tmp_path):
    root = tree(tmp_path, {"src/attic/a.cc": "\n"})
    (problem,) = floors.check(root)
    assert problem.startswith("src/attic/a.cc:1: lies in no known room")


def test_this_repository_passes(floors):
    assert floors.check(ROOT) == []
