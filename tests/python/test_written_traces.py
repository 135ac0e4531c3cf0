"""Do the trace files that Flopcast writes open in the tools of others?

The files come from the WrittenSamples suite of the unit tests. Kineto files are opened with Python's json
module and with HolisticTraceAnalysis, and must say what the recording says.

Perfetto's own trace processor is a native binary that its Python package downloads at run time, so it is
not part of this test: NO PERFETTO PROGRAM HAS READ THESE FILES HERE. They are decoded with the protobuf
descriptors that package ships (the format's definition), and the rules of track events are checked one by
one: known fields only, interning, sequence flags, order of time, balance and nesting of slices, arrows
with two ends, and every slice of the recording present with its exact times.
"""

import gzip
import json
import os
import re
import subprocess
from collections import Counter, defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("FLOPCAST_SHARED", ROOT / "../shared")) / "traces"
RECORDED = {
    "megatron_rank0": "megatron_tp8_a100/kineto_rank0.json.gz",
    "megatron_rank1": "megatron_tp8_a100/kineto_rank1.json.gz",
    "nanogpt_rank3": "nanogpt_8xh100/rank3.json.gz",
    "alexnet": "cuda_sync_small/alexnet_a100.json.gz",
    "graph_decode": "graph_decode_8xh200/rank0.json.gz",
    "mi300": "single_gpu_h100_mi300/mi300_gaunernst_bert-small-uncased__1016001.json.gz",
}
NANOGPT_RANKS = [f"nanogpt_8xh100/rank{rank}.json.gz" for rank in range(3)]
SAMPLE_RANKS = [f"sample_rank{rank}" for rank in range(3)]  # of examples/make_sample.py
SINGLE = ["small_rank0", "small_rank1", *SAMPLE_RANKS, *RECORDED]
MERGED = ["small_merged", "sample_merged", "nanogpt_merged"]
GPU_WORK = {"kernel", "gpu_memcpy", "gpu_memset"}
KNOWN = GPU_WORK | {
    "cpu_op",
    "cuda_runtime",
    "cuda_driver",
    "cuda_sync",
    "user_annotation",
    "gpu_user_annotation",
    "python_function",
    "overhead",
}


def test_binary() -> Path:
    named = os.environ.get("FLOPCAST_CLI")
    folder = Path(named).parent if named else ROOT / "build/release"
    return folder / "flopcast_tests"


test_binary.__test__ = False


@pytest.fixture(scope="module")
def samples(tmp_path_factory) -> Path:
    binary = test_binary()
    if not binary.exists():
        pytest.skip(f"{binary} has not been built")
    folder = tmp_path_factory.mktemp("written")
    subprocess.run(
        [binary, "--gtest_filter=WrittenSamples.*", "--gtest_brief=1"],
        env={**os.environ, "FLOPCAST_SAMPLES_DIR": str(folder)},
        cwd=ROOT,
        check=True,
        timeout=300,
    )
    return folder


def load(path: Path) -> dict:
    opened = gzip.open(path) if path.suffix == ".gz" else open(path, "rb")
    with opened as file:
        return json.loads(file.read().decode("utf-8"), parse_float=Decimal)


def inputs_of(name: str, samples: Path) -> list[Path]:
    """The traces that the sample was written from, by rank."""
    if name == "small_merged":
        return [samples / f"small_rank{rank}.in.json" for rank in range(2)]
    if name.startswith("small"):
        return [samples / f"{name}.in.json"]
    if name.startswith("sample"):
        return [samples / f"{rank}.in.json.gz" for rank in (SAMPLE_RANKS if name == "sample_merged" else [name])]
    files = NANOGPT_RANKS if name == "nanogpt_merged" else [RECORDED[name]]
    paths = [SHARED / file for file in files]
    if not all(path.exists() for path in paths):
        pytest.skip("more of the same on recorded traces, which are not here")
    return paths


def is_call(row) -> bool:
    return row.category in {"cuda_runtime", "cuda_driver"} and "correlation" in row.args


def ns(us) -> int:
    return int(Decimal(us) * 1000)


class Row:
    """A row of a Kineto file with its times in nanoseconds since 1970."""

    def __init__(self, row: dict, base_ns: int):
        self.category = row["cat"] if row["cat"] in KNOWN else "other"
        self.name, self.pid, self.tid = row["name"], row["pid"], row["tid"]
        self.start, self.duration = base_ns + ns(row["ts"]), ns(row["dur"])
        self.args = row.get("args") or {}

    def key(self, with_pid=True) -> tuple:
        stream = self.args.get("stream") if self.category != "gpu_user_annotation" else None
        if stream == 2**32 - 1:  # "no stream" in an unsigned field
            stream = -1
        correlation = self.args.get("correlation_raw", self.args.get("correlation"))
        rest = (stream, correlation, self.args.get("External id"))
        place = (str(self.pid) if with_pid else "", str(self.tid))
        return (self.category, self.name, *place, self.start, self.duration, *map(str, rest))


def rows_of(path: Path) -> list[Row]:
    file = load(path)
    base = file.get("baseTimeNanoseconds", 0)
    return [Row(row, base) for row in file["traceEvents"] if row["ph"] == "X"]


# --- Kineto ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SINGLE)
def test_kineto_holds_every_row(name, samples):
    recorded = rows_of(inputs_of(name, samples)[0])
    written = rows_of(samples / f"{name}.json.gz")
    assert Counter(row.key() for row in written) == Counter(row.key() for row in recorded)


@pytest.mark.parametrize("name", MERGED)
def test_merged_kineto_holds_every_row_of_every_rank(name, samples):
    inputs = inputs_of(name, samples)
    written = rows_of(samples / f"{name}.json.gz")
    assert {row.args["rank"] for row in written} == set(range(len(inputs)))
    for rank, path in enumerate(inputs):
        of_rank = [row for row in written if row.args["rank"] == rank]
        expected = Counter(row.key(with_pid=False) for row in rows_of(path))
        assert Counter(row.key(with_pid=False) for row in of_rank) == expected
        for row in of_rank:
            if isinstance(row.pid, int) and row.pid >= 0:
                assert row.pid // 100_000_000 == rank


@pytest.mark.parametrize("name", SINGLE + MERGED)
def test_kineto_arrows_have_both_ends(name, samples):
    inputs_of(name, samples)
    ends = defaultdict(list)
    for row in load(samples / f"{name}.json.gz")["traceEvents"]:
        if row.get("cat") == "ac2g":
            ends[row["id"]].append(row["ph"])
    assert all(phases.count("s") == 1 and "f" in phases for phases in ends.values())


def hta():
    return pytest.importorskip("hta.trace_analysis").TraceAnalysis


def rank_in_hta(name: str) -> int:
    match = re.search(r"rank(\d+)$", name)
    return int(match.group(1)) if match else 0


def hta_numbers(analysis) -> dict:
    """What HTA finds, rounded to 0.01 us: it computes in doubles, from other bases."""
    breakdown = analysis.get_temporal_breakdown(visualize=False)
    overlap = analysis.get_comm_comp_overlap(visualize=False)
    kinds, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1000)
    return {
        "breakdown": breakdown.to_dict("list"),
        "overlap": overlap.to_dict("list"),
        "kinds": dict(zip(kinds["kernel_type"], kinds["sum"])),
        "kernels": dict(zip(kernels["name"], kernels["sum (us)"])),
        "gpu_rows": {rank: int((df["stream"] >= 0).sum()) for rank, df in analysis.t.traces.items()},
    }


def assert_close(written, recorded, tolerance: float):
    assert type(written) is type(recorded)
    if isinstance(written, dict):
        assert written.keys() == recorded.keys()
        for key in written:
            assert_close(written[key], recorded[key], tolerance)
    elif isinstance(written, list):
        assert len(written) == len(recorded)
        for a, b in zip(written, recorded):
            assert_close(a, b, tolerance)
    else:
        assert written == pytest.approx(recorded, abs=tolerance, nan_ok=True)


@pytest.mark.parametrize(
    "name",
    [
        *("sample_rank0", "sample_rank2", "megatron_rank0", "megatron_rank1"),
        *("nanogpt_rank3", "graph_decode"),
    ],
)
def test_hta_finds_the_same(name, samples, monkeypatch):
    analysis = hta()
    # HTA's default rounding shortens every kernel by up to 2 us.
    monkeypatch.setenv("HTA_DISABLE_NS_ROUNDING", "1")
    recorded = inputs_of(name, samples)[0]
    rank = rank_in_hta(name)
    before = hta_numbers(analysis(trace_files={rank: str(recorded)}))
    after = hta_numbers(analysis(trace_files={rank: str(samples / f"{name}.json.gz")}))
    assert sum(before["gpu_rows"].values()) > 0
    # Sums of kinds are truncated to whole us by HTA.
    assert_close(after.pop("kinds"), before.pop("kinds"), 1.5)
    assert_close(after, before, 0.01)


def test_hta_finds_the_ranks_of_a_list(samples, monkeypatch):
    analysis, ranks = hta(), ("sample_rank0", "sample_rank2")
    monkeypatch.setenv("HTA_DISABLE_NS_ROUNDING", "1")
    recorded = [str(inputs_of(name, samples)[0]) for name in ranks]
    written = [str(samples / f"{name}.json.gz") for name in ranks]
    # The recorded files are named with their ranks: a made-up one does not tell its own where HTA looks.
    numbers = [rank_in_hta(name) for name in ranks]
    before = hta_numbers(analysis(trace_files=dict(zip(numbers, recorded))))
    after = hta_numbers(analysis(trace_files=written))
    assert set(after["gpu_rows"]) == {rank_in_hta(name) for name in ranks}
    assert_close(after["breakdown"], before["breakdown"], 0.01)
    assert_close(after["overlap"], before["overlap"], 0.01)


def test_hta_opens_a_merged_file(samples, monkeypatch):
    """HTA takes a merged file for one rank, so only sums over all ranks can be compared.

    That the sums agree needs unique correlations: HTA joins rows by them."""
    analysis, name = hta(), "sample_merged"
    monkeypatch.setenv("HTA_DISABLE_NS_ROUNDING", "1")
    recorded = inputs_of(name, samples)
    merged = analysis(
        trace_files={0: str(samples / f"{name}.json.gz")}, include_last_profiler_step=True
    )
    frame = merged.t.traces[0]
    streams = frame[frame["stream"] >= 0]
    symbols = merged.t.symbol_table.get_sym_table()
    found = Counter(symbols[cat] for cat in streams["cat"])
    expected = Counter()
    for path in recorded:
        rows = rows_of(path)
        calls = {row.args["correlation"] for row in rows if is_call(row)}
        # HTA keeps only work whose launch was recorded too.
        expected.update(row.category for row in rows if row.args.get("correlation") in calls)
    for category in sorted(GPU_WORK):
        assert found[category] == expected[category]


# --- Perfetto ----------------------------------------------------------------------------------------


class Slice:
    def __init__(self, category, name, start, track):
        self.category, self.name, self.start, self.track = category, name, start, track
        self.end = None
        self.annotations = {}


class PerfettoTrace:
    """Reads a trace by the rules of track events and asserts each of them on the way."""

    BEGIN, END = 1, 2

    def __init__(self, path: Path):
        schema = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        trace = schema.Trace()
        trace.ParseFromString(path.read_bytes())
        self.slices: list[Slice] = []
        self.tracks: dict[int, object] = {}
        self.interned: dict[tuple, str] = {}
        self.sequences: set[int] = set()
        self.last_time: dict[int, int] = {}
        self.open = defaultdict(list)
        self.flow_starts: dict[int, Slice] = {}
        self.flow_ends: dict[int, Slice] = {}
        for packet in trace.packet:
            self.read_packet(packet)
        assert not any(self.open.values()), "a slice was never closed"
        assert self.flow_starts.keys() == self.flow_ends.keys()

    def read_packet(self, packet):
        assert_no_unknown_fields(packet)
        sequence = packet.trusted_packet_sequence_id
        assert sequence > 0
        # Bit 1 clears the interning state, bit 2 says that the packet needs it.
        assert packet.sequence_flags == (2 if sequence in self.sequences else 1)
        self.sequences.add(sequence)
        self.intern(sequence, packet.interned_data)
        if packet.HasField("track_descriptor"):
            self.read_descriptor(packet.track_descriptor)
        if packet.HasField("track_event"):
            self.read_event(sequence, packet)

    def intern(self, sequence, data):
        lists = {
            "category": data.event_categories,
            "name": data.event_names,
            "annotation": data.debug_annotation_names,
        }
        for kind, entries in lists.items():
            for entry in entries:
                self.define((sequence, kind, entry.iid), entry.name)
        for entry in data.debug_annotation_string_values:
            self.define((sequence, "value", entry.iid), entry.str.decode("utf-8"))

    def define(self, key, text):
        assert key[2] > 0, "0 is no interning id"
        assert key not in self.interned, "defined twice"
        self.interned[key] = text

    def read_descriptor(self, track):
        assert track.uuid > 0 and track.uuid not in self.tracks
        if track.HasField("process"):
            assert track.process.process_name
        else:
            assert track.parent_uuid in self.tracks and track.name
        names = [(other.parent_uuid, other.name) for other in self.tracks.values()]
        assert track.HasField("process") or (track.parent_uuid, track.name) not in names
        self.tracks[track.uuid] = track

    def read_event(self, sequence, packet):
        event = packet.track_event
        assert packet.timestamp >= self.last_time.get(sequence, 0), "time runs backwards"
        self.last_time[sequence] = packet.timestamp
        assert event.track_uuid in self.tracks
        stack = self.open[event.track_uuid]
        if event.type == self.END:
            stack.pop().end = packet.timestamp
            return
        assert event.type == self.BEGIN
        (category,) = event.category_iids
        new = Slice(
            self.interned[sequence, "category", category],
            self.interned[sequence, "name", event.name_iid],
            packet.timestamp,
            event.track_uuid,
        )
        for note in event.debug_annotations:
            value = (
                self.interned[sequence, "value", note.string_value_iid]
                if note.HasField("string_value_iid")
                else note.int_value
            )
            new.annotations[self.interned[sequence, "annotation", note.name_iid]] = value
        stack.append(new)
        self.slices.append(new)
        self.read_flows(event, new)

    def read_flows(self, event, new):
        for flow in event.flow_ids:
            assert flow not in self.flow_starts and flow not in self.flow_ends
            self.flow_starts[flow] = new
        for flow in event.terminating_flow_ids:
            assert flow in self.flow_starts, "an arrow ends before it begins"
            assert flow not in self.flow_ends
            self.flow_ends[flow] = new

    def track_name(self, piece: Slice) -> str:
        """Without the number of an overflow track."""
        return re.sub(r" \(\d+\)$", "", self.tracks[piece.track].name)

    def process_of(self, piece: Slice) -> int:
        return self.tracks[self.tracks[piece.track].parent_uuid].process.pid


def assert_no_unknown_fields(message):
    from google.protobuf.unknown_fields import UnknownFieldSet

    assert len(UnknownFieldSet(message)) == 0
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        is_list = not hasattr(value, "ListFields")
        for child in value if is_list else [value]:
            assert_no_unknown_fields(child)


@pytest.fixture(scope="module")
def perfetto(samples):
    cache = {}

    def read(name) -> PerfettoTrace:
        if name not in cache:
            cache.clear()  # a trace is large, and the tests come trace by trace
            cache[name] = PerfettoTrace(samples / f"{name}.pftrace")
        return cache[name]

    return read


@pytest.mark.parametrize("name", SINGLE + MERGED)
def test_perfetto_holds_every_row(name, samples, perfetto):
    inputs = inputs_of(name, samples)
    trace = perfetto(name)
    recorded = [rows_of(path) for path in inputs]
    origin = min(row.start for rows in recorded for row in rows)
    first = min(piece.start for piece in trace.slices)
    assert first == 0  # times count from the run's first row
    for index, rows in enumerate(recorded):
        expected = Counter((r.category, r.name, r.start - origin, r.duration) for r in rows)
        found = Counter(
            (p.category, p.name, p.start, p.end - p.start)
            for p in trace.slices
            if trace.process_of(p) == index + 1
        )
        assert found == expected


@pytest.mark.parametrize("name", SINGLE)
def test_perfetto_streams_hold_their_work(name, samples, perfetto):
    recorded = inputs_of(name, samples)[0]
    trace = perfetto(name)
    expected, found = Counter(), Counter()
    for row in rows_of(recorded):
        if row.category in GPU_WORK:
            stream = row.args.get("stream", row.tid)
            expected[f"stream {stream}", "rows"] += 1
            expected[f"stream {stream}", "ns"] += row.duration
    for piece in trace.slices:
        if piece.category in GPU_WORK:
            found[trace.track_name(piece), "rows"] += 1
            found[trace.track_name(piece), "ns"] += piece.end - piece.start
    assert found == expected


@pytest.mark.parametrize("name", SINGLE)
def test_perfetto_arrows_join_launches_and_work(name, samples, perfetto):
    rows = rows_of(inputs_of(name, samples)[0])
    trace = perfetto(name)
    for flow, source in trace.flow_starts.items():
        target = trace.flow_ends[flow]
        assert source.category in {"cuda_runtime", "cuda_driver"}
        assert target.category in GPU_WORK
        assert source.annotations["correlation"] == target.annotations["correlation"]
        assert source.start <= target.start
    calls = {
        row.args["correlation"]: row.start
        for row in reversed(rows)
        if is_call(row)
    }
    work = [row for row in rows if row.category in GPU_WORK]
    expected = sum(calls.get(row.args.get("correlation"), row.start + 1) <= row.start for row in work)
    assert len(trace.flow_starts) == expected


def test_perfetto_overlapping_kernels_get_a_track_of_their_own(samples, perfetto):
    trace = perfetto("small_rank0")
    tracks = {p.name: trace.tracks[p.track].name for p in trace.slices}
    assert tracks["gemm<\"\u00e9\", 'x'>"] == "stream 7"
    assert tracks["early"] == "stream 7 (2)"
    notes = {p.name: p.annotations for p in trace.slices}
    assert notes["Memcpy HtoD (Pinned -> Device)"] == {"correlation": 24, "bytes": 4096}
    nccl = notes["ncclDevKernel_AllReduce_Sum_f16_RING_LL"]
    assert nccl == {"correlation": 23, "collective": "allreduce"}
