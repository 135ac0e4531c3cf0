"""The Python package: read, replay, columns, errors."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

import flopcast

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("api") / "sample"
    make = ROOT / "examples" / "make_sample.py"
    subprocess.run([sys.executable, make, folder], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def traces(sample) -> flopcast.TraceSet:
    return flopcast.read(sample)


@pytest.fixture(scope="module")
def result(traces) -> flopcast.Replay:
    return flopcast.replay(traces)


def rows_of(path) -> list[dict]:
    rows = json.loads(gzip.decompress(Path(path).read_bytes()))["traceEvents"]
    return [row for row in rows if row["ph"] == "X" and row.get("cat") != "Trace"]


# --- reading -----------------------------------------------------------------------------------------


def test_ranks_come_in_order_with_their_files(traces):
    assert [rank.rank for rank in traces.ranks] == list(range(8))
    assert all(rank.world_size == 8 for rank in traces.ranks)
    assert Path(traces.ranks[3].path).name == "sample_rank3.json.gz"
    assert "8 rank(s)" in repr(traces)


def test_columns_hold_the_rows_of_the_file(traces):
    rank = traces.ranks[0]
    kernel = flopcast.CATEGORIES.index("kernel")
    found = sorted(
        (traces.names[name], duration)
        for name, category, duration in zip(rank.name_id, rank.category, rank.duration_ps)
        if category == kernel
    )
    kernels = [row for row in rows_of(rank.path) if row["cat"] == "kernel"]
    expected = sorted((row["name"], round(row["dur"] * 1_000_000)) for row in kernels)
    assert found == expected


def test_columns_are_parallel_read_only_views(traces):
    rank = traces.ranks[0]
    expected = {
        "start_ps": (8, "lq"),
        "duration_ps": (8, "lq"),
        "category": (1, "B"),
        "name_id": (4, "I"),
        "stream": (4, "i"),
        "device": (4, "i"),
        "correlation": (8, "lq"),
    }
    for name, (size, formats) in expected.items():
        view = memoryview(getattr(rank, name))
        assert view.readonly and view.itemsize == size and view.format in formats, name
        assert view.shape == (len(rank),)


def test_columns_outlive_the_set(sample):
    column = flopcast.read(sample / "sample_rank0.json.gz").ranks[0].start_ps
    first = column[0]
    flopcast.read(sample)  # reuses the memory if it had been freed
    assert column[0] == first


def test_columns_are_numpy_arrays_without_a_copy(traces):
    numpy = pytest.importorskip("numpy")
    rank = traces.ranks[0]
    assert rank.start_ps.dtype == numpy.int64 and rank.category.dtype == numpy.uint8
    assert not rank.start_ps.flags.owndata and not rank.start_ps.flags.writeable
    assert (numpy.diff(rank.start_ps) >= 0).all()


def test_without_numpy_columns_are_memoryviews(sample):
    script = f"""
import sys
sys.modules["numpy"] = None
import flopcast
rank = flopcast.read({str(sample / "sample_rank0.json.gz")!r}).ranks[0]
assert isinstance(rank.start_ps, memoryview), type(rank.start_ps)
assert len(rank.start_ps.tolist()) == len(rank)
start, end = flopcast.replay(flopcast.read({str(sample)!r})).replayed_times(0)
assert isinstance(start, memoryview)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_steps_and_anomalies(traces):
    names = [step.name for step in traces.ranks[0].steps]
    assert names == ["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]
    assert all(step.start_ps < step.end_ps for step in traces.ranks[0].steps)
    assert traces.anomalies == [] and traces.unreadable == []


def test_a_bad_file_does_not_lose_the_others(sample, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("no trace")
    found = flopcast.read([sample / "sample_rank0.json.gz", bad])
    assert len(found.ranks) == 1
    (error,) = found.unreadable
    assert error.code == flopcast.ErrorCode.BAD_INPUT and "bad.json" in error.where


def test_a_pack_holds_what_its_traces_hold(sample, tmp_path, result):
    (tmp_path / "bad.json").write_text("[1, 2]")
    packed = flopcast.pack_trace([sample, tmp_path / "bad.json"], tmp_path / "run.fcpack")
    assert packed.files == 8
    assert [Path(bad.where).name for bad in packed.unreadable] == ["bad.json"]
    assert packed.bytes == (tmp_path / "run.fcpack").stat().st_size < packed.json_bytes / 10
    again = flopcast.read(tmp_path / "run.fcpack")
    assert packed.rows == sum(len(rank.start_ps) for rank in again.ranks)
    assert flopcast.replay(again).gpu_step_s == result.gpu_step_s


@pytest.mark.parametrize("steps, names", [(3, ["3"]), ("2:3", ["2", "3"])])
def test_steps_alone(sample, steps, names):
    some = flopcast.read(sample, steps=steps)
    assert [step.name.split("#")[1] for step in some.ranks[0].steps] == names


def test_runs_of_a_folder(sample):
    ((label, files),) = flopcast.list_runs(sample).items()
    assert "sample" in label and len(files) == 8


# --- replaying ---------------------------------------------------------------------------------------


def test_the_dictionary_is_the_json_of_the_command_line(result):
    (entry,) = result.to_dict()["sets"]
    assert entry["mode"] == "typical" and entry["forecast"]
    assert len(entry["ranks"]) == 8
    assert entry["summary"]["mean_abs_error"] < 0.01
    assert result.damage == []
    assert "Steps: measured against replayed" in str(result)


def test_modes_change_the_result(traces, result):
    zero = flopcast.replay(traces, lags="zero").to_dict()["sets"][0]
    alone = flopcast.replay(traces, baseline="no-inter-stream").to_dict()["sets"][0]
    full = result.to_dict()["sets"][0]
    assert (zero["mode"], alone["baseline"]) == ("zero", "no-inter-stream")
    errors = [entry["summary"]["mean_abs_gpu_step_error"] for entry in (full, zero, alone)]
    assert errors[0] < errors[1] < errors[2]


def test_the_number_of_threads_does_not_matter(sample, result):
    alone = flopcast.replay(flopcast.read(sample, threads=1), threads=1)
    assert alone.to_dict() == result.to_dict()


def test_one_step_with_the_durations_of_another(traces):
    moved = flopcast.replay(traces, structure_from=2, durations_from="ProfilerStep#3")
    assert moved.to_dict()["sets"][0]["summary"]["max_abs_gpu_step_error"] < 0.03


def test_times_of_rows(traces, result):
    numpy = pytest.importorskip("numpy")
    for index, rank in enumerate(traces.ranks):
        recorded_start, recorded_end = result.recorded_times(index)
        start, end = result.replayed_times(index)
        assert len(start) == len(end) == len(rank)
        assert (end >= start).all()
        assert (recorded_end - recorded_start == rank.duration_ps).all()
        assert numpy.abs(start - recorded_start).max() < 5e9  # 5 ms of 134
    with pytest.raises(IndexError):
        result.replayed_times(8)


def test_files_written(result, tmp_path):
    result.html(tmp_path / "page.html")
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")
    for name in ("out.json", "out.json.gz", "out.perfetto-trace"):
        size = result.write_trace(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 0 and size > 0
    again = flopcast.read(tmp_path / "out.json.gz")
    assert [rank.rank for rank in again.ranks] == list(range(8))
    with pytest.raises(OSError):
        result.html(tmp_path / "nowhere" / "page.html")
    with pytest.raises(flopcast.FlopcastError):
        result.write_trace(tmp_path / "nowhere" / "out.json")
    assert not list(tmp_path.glob(".flopcast-*"))


def test_a_replay_says_what_it_is(result):
    assert repr(result).startswith("<flopcast.Replay 'sample': 8 rank(s), ")
    assert repr(result).endswith(" tasks, lags typical, model full>")


def test_a_replay_shows_itself_in_notebooks(tmp_path):
    kernel = {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": 5, "dur": 9}
    kernel |= {"name": "<script>alert(1)</script>", "args": {"correlation": 1, "stream": 7, "device": 0}}
    (tmp_path / "rank0.json").write_text(json.dumps({"traceEvents": [kernel]}))
    shown = flopcast.replay(flopcast.read(tmp_path / "rank0.json"))._repr_html_()
    assert shown.startswith("<pre ") and "&lt;script&gt;" in shown and "<script" not in shown


def test_sensitivity_and_straggler(result):
    step = result.gpu_step_s
    assert step > 0
    parts = {row.part: row for row in result.sensitivity}
    assert {"host", "gemm", "attention", "other_kernels", "all_reduce"} <= parts.keys()
    for row in parts.values():
        assert row.work_s > 0 and row.change == pytest.approx(row.gpu_step_s / step - 1)
    assert [row.gpu_step_s for row in result.sensitivity] == sorted(row.gpu_step_s for row in parts.values())
    assert -0.1 <= parts["gemm"].change < -0.05
    assert result.straggler == result.to_dict()["sets"][0]["straggler"]["rank"] == 5


def test_steps_compared(traces):
    matches = flopcast.compare_steps(traces)
    assert matches.groups == [["ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"]]
    assert len(matches) == 2
    for match in matches:
        assert match.same_structure and match.matched_from == match.matched_to == 1.0
        edges, kept = match.transfer["event"]
        assert edges > 0 and kept == edges


# --- errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, where",
    [
        ({"lags": "none"}, "lags"),
        ({"baseline": "half"}, "baseline"),
        ({"structure_from": 2}, "replay"),
    ],
)
def test_unknown_modes_are_usage_errors(traces, arguments, where):
    with pytest.raises(flopcast.FlopcastError) as caught:
        flopcast.replay(traces, **arguments)
    assert caught.value.code == 2 and caught.value.where == where and caught.value.hint


def test_an_unknown_step_names_those_there_are(traces):
    with pytest.raises(flopcast.FlopcastError) as caught:
        flopcast.replay(traces, structure_from=2, durations_from=99)
    assert caught.value.code == flopcast.ErrorCode.USAGE
    assert "ProfilerStep#3" in caught.value.hint


def test_errors_tell_file_and_reason(tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text('{"traceEvents": [')
    with pytest.raises(flopcast.FlopcastError) as caught:
        flopcast.read(bad)
    error = caught.value
    assert int(error.code) == 3 and "bad.json" in error.where and error.what
    assert str(error).startswith(error.where)


def test_errors_survive_pickling():
    import pickle

    error = flopcast.FlopcastError(3, "file", "what", "hint")
    again = pickle.loads(pickle.dumps(error))
    assert (again.code, again.where, again.what, again.hint) == (3, "file", "what", "hint")


# --- clusters, collectives, flows, kernels ------------------------------------------------------------


def test_a_cluster_forecasts_collectives():
    cluster = flopcast.Cluster("2 x dgx-h100")
    assert (cluster.chips, cluster.nodes) == (16, 2)
    small, large = (cluster.collective_time("all_reduce", size) for size in ("1MB", 1e9))
    assert 0 < small["time_s"] < large["time_s"]
    assert large["low_s"] <= large["time_s"] <= large["high_s"]
    assert large["bytes"] == 1e9
    assert large["source"]
    alone = cluster.collective_time("all_gather", "64MB", ranks=range(8))
    assert alone["ranks"] == 8


def test_flows_share_a_cluster():
    flows = (ROOT / "examples" / "flows.csv").read_text()
    result = flopcast.Cluster("2 x dgx-h100").run_flows(flows)
    assert [flow["id"] for flow in result["flows"]][:2] == ["tp0", "tp1"]
    assert result["end_s"] == max(flow["end_s"] for flow in result["flows"])
    assert all(max(link["used"]) <= 1.000001 for link in result["links"])


def test_a_wrong_cluster_says_how_to_mend_it():
    with pytest.raises(flopcast.FlopcastError) as caught:
        flopcast.Cluster("2 x dgx-h1000")
    assert "dgx-h100" in str(caught.value)
    assert caught.value.hint


def test_kernels_have_a_time_a_band_and_a_source():
    h200 = flopcast.KernelModel("h200")
    gemm = h200.gemm(8192, 8192, 8192, "bf16")
    assert gemm.roofline_s <= gemm.time_s
    assert gemm.low_s <= gemm.time_s <= gemm.high_s
    assert gemm.basis == "fitted"
    assert "h200" in gemm.source
    assert h200.attention(batch=1, query_length=4096, kv_length=4096, heads=32, kv_heads=8).time_s > 0
    assert h200.moe(tokens=4096, hidden=7168, intermediate=2048, top_k=8, experts=256).time_s > 0
    assert h200.memory("layer_norm", 4096, 8192).time_s > 0
    with pytest.raises(flopcast.FlopcastError):
        h200.gemm(1, 1, 1, "bf17")
    with pytest.raises(flopcast.FlopcastError):
        flopcast.KernelModel("h2000")
