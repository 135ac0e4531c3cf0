"""tools/fit_live_rates.py: what a recording says of the kernels in it."""

import gzip
import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BANDWIDTH, CACHE = 1e12, 1e6


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("fit_live_rates", ROOT / "tools/fit_live_rates.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def operator(number, name, sizes, kinds):
    arguments = {"External id": number, "Input Dims": sizes, "Input type": kinds}
    return {"cat": "cpu_op", "name": name, "args": arguments}


def kernel(number, name, microseconds, cat="kernel", **arguments):
    return {"cat": cat, "name": name, "dur": microseconds, "args": {"External id": number, **arguments}}


@pytest.fixture
def recording(tmp_path):
    add = operator(1, "aten::add", [[1000, 1000], [1000, 1000], []], ["float", "float", "Scalar"])
    small = operator(2, "aten::add", [[10], [10], []], ["float", "float", "Scalar"])
    copy = operator(3, "aten::copy_", [[1000, 1000], [1000, 1000], []], ["float", "c10::BFloat16", "Scalar"])
    events = [
        add,
        small,
        copy,
        kernel(1, "void at::native::vectorized_elementwise_kernel<4>", 16),
        kernel(1, "void at::native::vectorized_elementwise_kernel<4>", 15),
        kernel(1, "void at::native::vectorized_elementwise_kernel<4>", 99),
        kernel(2, "void at::native::vectorized_elementwise_kernel<4>", 2),
        kernel(3, "void at::native::elementwise_kernel<128, 4>", 30),
        kernel(0, "Memset (Device)", 10, "gpu_memset", bytes=8_000_000),
        kernel(1, "gemm", 5),
    ]
    path = tmp_path / "recording.json.gz"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    return path


def test_shares_are_bytes_over_the_median_time(tool, recording):
    points = tool.points_of(recording, "h100-sxm", BANDWIDTH, CACHE)
    shares = {kind: [point.rate for point in some] for kind, some in points.items()}
    # Two tensors of 4 MB read and one written in 16 us; a million elements in 30 us, by cycles of all cores; 8 MB written in
    # 10 us. The small one is left out.
    assert shares == {
        "contiguous": [pytest.approx(12e6 / 16e-6 / BANDWIDTH)],
        "strided": [pytest.approx(1e6 / 30e-6 / (132 * 1.98e9))],
        "fill": [pytest.approx(8e6 / 10e-6 / BANDWIDTH)],
    }


def test_a_file_has_each_class_with_its_spread(tool, recording):
    text = tool.memory_text(tool.points_of(recording, "h100-sxm", BANDWIDTH, CACHE))
    assert 'name = "contiguous"' in text and "share = 0.750" in text and 'chips = ["h100-sxm"]' in text
    assert 'name = "batch_norm"' not in text
    assert 'like = "contiguous"' in text


def test_the_catalogue_has_every_class(tool):
    text = (ROOT / "catalog/live/rates.toml").read_text(encoding="utf-8")
    for kind, *_ in (*tool.CLASSES, *tool.ALIKE):
        assert f'name = "{kind}"' in text
    assert tool.attention_text().strip() in text
