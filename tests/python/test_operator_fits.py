"""tools/fit_operators.py: what two recordings of one program say of two chips."""

import gzip
import importlib.util
import json
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLASSES = tomllib.loads((ROOT / "catalog/operators/classes.toml").read_text(encoding="utf-8"))["class"]
BF16 = ["c10::BFloat16", "c10::BFloat16"]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("fit_operators", ROOT / "tools/fit_operators.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def recording(path, kernels):
    """Operators one after another, each with one kernel: (operator, sizes, kernel, microseconds)."""
    events = []
    for i, (name, sizes, kernel, microseconds) in enumerate(kernels):
        arguments = {"External id": i + 1, "Input Dims": sizes, "Input type": BF16}
        events += [
            {"ph": "X", "cat": "cpu_op", "name": name, "tid": 1, "ts": 10 * i, "dur": 9, "args": arguments},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "tid": 1, "ts": 10 * i + 1, "dur": 1,
             "args": {"correlation": i + 1}},
            {"ph": "X", "cat": "kernel", "name": kernel, "ts": 100 * i, "dur": microseconds, "args": {"correlation": i + 1}},
        ]  # fmt: skip
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    return path


def test_operators_are_paired_in_order_with_their_class_and_work(tool, tmp_path):
    sizes = [[64, 512], [512, 128]]
    first = recording(tmp_path / "a.gz", [("aten::mm", sizes, "gemm", 20), ("aten::relu", sizes[:1], "vectorized_elementwise_kernel", 5)])
    second = recording(tmp_path / "b.gz", [("aten::relu", sizes[:1], "vectorized_elementwise_kernel", 4), ("aten::mm", sizes, "Cijk", 30)])
    paired = tool.pair_up("m", tool.operators_of(first), tool.operators_of(second), CLASSES)
    assert len(paired) == 1  # the two lists have one operator in the same order
    same = tool.pair_up("m", tool.operators_of(first), tool.operators_of(first), CLASSES)
    assert {(one.kind, one.work, one.first_us) for one in same} == {
        ("gemm", 2.0 * 64 * 512 * 128, 20),
        ("contiguous", 2.0 * 2 * 64 * 512, 5),
    }


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [
        ([[96, 3136, 64], [96, 64, 3136]], "gemm"),
        ([[96, 3137, 64], [96, 64, 3137]], "odd gemm"),
        ([[9600, 8, 64], [9600, 64, 64]], "thin gemm"),
        ([[9600, 8, 64], [9600, 64, 8]], "tiny gemm"),
    ],
)
def test_products_are_told_apart_as_the_program_does(tool, sizes, kind):
    operator = tool.Recorded("bmm", sizes, BF16, [{"name": "gemm", "dur": 1, "cat": "kernel"}])
    assert tool.class_of(operator, CLASSES)["name"] == kind


def test_a_planted_floor_and_ratio_are_found(tool):
    def operators(kind, rate, floors, ratio):
        times = [floors[0] * 1.2, 20, 50, 200, 1000]
        return [
            tool.Operator(model, kind, rate, 0, t, floors[1] + ratio * (t - floors[0])) for model in ("bert", "qwen") for t in times
        ]

    some = operators("contiguous", "bandwidth", (1.5, 3), 0.7) + operators("gemm", "matrix", (5, 4), 1.4)
    some += operators("attention", "matrix", (5, 20), 1.3)
    found = tool.fit(some, tool.Form(floors=True, pull=0.05, weight=0.75))
    for family, kind, floors, ratio in (("memory", "contiguous", (1.5, 3), 0.7), ("product", "gemm", (5, 4), 1.4)):
        for t in (20, 50, 200, 1000):
            assert found[family].second(kind, t) == pytest.approx(floors[1] + ratio * (t - floors[0]), rel=0.05)
        assert found[family].of(kind) == pytest.approx(ratio, rel=0.05)
    assert found["attention"].second("attention", 100) == pytest.approx(20 + 1.3 * 95, rel=0.03)


def test_there_and_back_is_the_same(tool):
    relation = tool.Relation(1.5, 3.0, {"": 0.6, "gemm": 1.4})
    for microseconds in (1.5, 7, 900):
        assert relation.first("gemm", relation.second("gemm", microseconds)) == pytest.approx(microseconds)


def test_the_catalogue_has_every_class_of_every_chip():
    names = [one["name"] for one in CLASSES]
    for chip in ("h100-sxm", "mi300x"):
        table = tomllib.loads((ROOT / f"catalog/operators/{chip}.toml").read_text(encoding="utf-8"))
        assert table["chip"] == chip
        assert "MIT" in table["source"]
        assert [one["name"] for one in table["class"]] == names
