"""examples/make_sample.py: the run it makes up is right, so that what-ifs can be held against it.

Its pipelines are checked by the closed forms of the schedules' papers, worked out here by hand from FLOPs
and bytes; its files by what is true of every recording.
"""

import ast
import gzip
import hashlib
import itertools
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAKE_SAMPLE = ROOT / "examples" / "make_sample.py"
sys.path.insert(0, str(MAKE_SAMPLE.parent))

from sample.plan import Plan  # noqa: E402
from sample.schedule import Exchange, Message, Pass, passes, program  # noqa: E402
from sample.times import step_times  # noqa: E402
from sample.world import World  # noqa: E402

QUIET = {"stragglers": {}, "hiccups": {}}


def world_of(rows: bool = False, **options) -> World:
    plan = Plan(**options)
    assert plan.problem() is None
    world = World(plan, rows)
    world.run()
    return world


def gpu_step_ms(**options) -> float:
    return step_times(world_of(**{**QUIET, "noise": 0, **options}))["gpu_step_s"] * 1e3


def make(folder: Path, *options: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, MAKE_SAMPLE, folder, *options], capture_output=True, text=True)


# --- Closed forms --------------------------------------------------------------------------------

GAP = 1.1e-3  # ms between two kernels of a stream
TOKENS, HIDDEN, FFN = 2048, 4096, 16384
# Only matrix products and attention take time, so that all stages are alike. The head's vocabulary is
# one word.
EVEN = {"tp": 1, "dp": 1, "layers": 8, "vocabulary": 1, "steps": 2,
        "scale": {"elementwise": 0, "optimizer": 0, "copy": 0, "network": 0}}  # fmt: skip


def products_ms() -> float:
    """The four matrix products of a layer: queries, keys and values; projection; up and down."""
    weights = HIDDEN * (3 * HIDDEN) + HIDDEN * HIDDEN + 2 * HIDDEN * FFN
    return 2 * TOKENS * weights / 520e12 * 1e3 + 4 * 2e-3


def layer_ms() -> tuple:
    """Forward, and backward to inputs and weights, of one layer: so many kernels with a gap after each."""
    attention = 4 * TOKENS * TOKENS * HIDDEN / 520e12 * 1e3
    forward = products_ms() + 1.6 * attention + 10 * GAP
    inputs = products_ms() + 1.8 * 2.5 * attention + 8 * GAP
    return forward, inputs, products_ms() + 4 * GAP


def closed_form_ms(schedule: str, p: int, m: int, chunks: int) -> float:
    f, b, w = (8 / p * time for time in layer_ms())
    if schedule == "zb-h1":  # arXiv:2401.10241, table 2
        return m * (f + b + w) + (p - 1) * (f + b - w)
    if schedule == "interleaved":  # arXiv:2104.04473, section 2.2
        return (m + (p - 1) / chunks) * (f + b + w)
    return (m + p - 1) * (f + b + w)


@pytest.mark.parametrize("schedule, chunks", [("1f1b", 1), ("gpipe", 1), ("interleaved", 2), ("zb-h1", 1)])
def test_steps_follow_the_closed_form(schedule, chunks):
    left = {}
    for p in (1, 2, 4, 8):
        if schedule == "interleaved" and p not in (2, 4):
            continue
        step = gpu_step_ms(**EVEN, pp=p, microbatches=8, schedule=schedule, chunks=chunks)
        left[p] = step - closed_form_ms(schedule, p, 8, chunks)
        if schedule == "1f1b":  # even stages do not mind waiting for their receivers
            assert gpu_step_ms(**EVEN, pp=p, microbatches=8, apart=True) == pytest.approx(step, rel=0.002)
        assert 0.2 < left[p] < 0.6  # data, loss, optimizer, item(): the same for any number of stages
    assert max(left.values()) - min(left.values()) < 0.08  # and some us for each hop
    more = gpu_step_ms(**EVEN, pp=2, microbatches=12, schedule=schedule, chunks=chunks)
    assert more - closed_form_ms(schedule, 2, 12, chunks) == pytest.approx(left[2], abs=0.2)


def test_a_message_costs_its_time_on_every_hop():
    """16.8 MB at 90 GB/s. With m = 1 there are p - 1 hops forward and p - 1 back, all on the critical path."""
    even = {**EVEN, "scale": {**EVEN["scale"], "network": 1}}
    for p in (2, 4):
        slow = gpu_step_ms(**even, pp=p, microbatches=1)
        quick = gpu_step_ms(**EVEN, pp=p, microbatches=1)
        message = 0.012 + TOKENS * HIDDEN * 2 / 90e9 * 1e3
        all_reduce = 0.015 * (1 + 0.4 * {2: -1, 4: 0}[p])  # of the gradients' norm: 2 bytes
        assert slow - quick == pytest.approx(2 * (p - 1) * message + all_reduce, abs=1e-3)


def test_recomputation_costs_the_forward_again():
    without = gpu_step_ms(**EVEN, pp=2)
    forward, _, _ = layer_ms()
    for layers in (1, 4):
        more = gpu_step_ms(**EVEN, pp=2, recompute=layers) - without
        assert more == pytest.approx((4 + 2 - 1) * layers * forward, rel=0.002)


# --- Schedules -----------------------------------------------------------------------------------


def test_every_pass_runs_once_and_messages_meet():
    for schedule, p, m in itertools.product(("1f1b", "gpipe", "zb-h1", "interleaved"), (1, 2, 3, 4), (1, 2, 4, 6, 12)):
        chunks = 3 if schedule == "interleaved" else 1
        if schedule == "interleaved" and (p == 1 or m % p):
            continue
        kinds = "FBW" if schedule == "zb-h1" else "FB"
        wanted = Counter(Pass(k, c, i) for k in kinds for c in range(chunks) for i in range(m))
        for stage in range(p):
            assert Counter(passes(schedule, p, stage, m, chunks)) == wanted
        assert mates(schedule, p, m, chunks)
        plan = {"pp": p, "dp": 1, "tp": 1, "layers": p * chunks, "microbatches": m, "steps": 1, "hidden": 64}
        if m <= 4 and p in (2, 4):
            gpu_step_ms(**plan, schedule=schedule, chunks=chunks)  # nobody waits for ever


def mates(schedule: str, p: int, m: int, chunks: int) -> bool:
    """Each sent message is received, in the same order; each exchange has another side."""
    sent, received, exchanges = defaultdict(list), defaultdict(list), Counter()
    for stage in range(p):
        for action in program(schedule, p, stage, m, chunks):
            if isinstance(action, Message):
                (sent if action.sent else received)[action.what, action.part % p].append(action[2:])
            elif isinstance(action, Exchange):
                exchanges[min(stage, stage + action.side), action.number] += 1
    return sent == received and all(sides == 2 for sides in exchanges.values())


def test_no_stage_of_zb_h1_holds_more_than_with_1f1b():
    def most(schedule: str, stage: int, last: str) -> int:
        live = [1 if one.kind == "F" else -1 if one.kind == last else 0 for one in passes(schedule, 4, stage, 12, 1)]
        return max(itertools.accumulate(live))

    assert [most("1f1b", stage, "B") for stage in range(4)] == [4, 3, 2, 1]
    assert [most("zb-h1", stage, "W") for stage in range(4)] == [4, 4, 4, 4]


# --- Noise belongs to what it disturbs ------------------------------------------------------------


def transfers(world: World) -> Counter:
    return Counter(joined.transfer for (group, _), joined in world.collectives.items() if group.kind in ("tp", "dp"))


def kernels(world: World) -> Counter:
    return Counter(
        (task.name, task.duration)
        for host in world.hosts
        for stream in host.gpu.streams.values()
        for task in stream.tasks
        if task.collective is None and "multi_tensor" not in task.name and task.category == "kernel"
    )


SMALL = {**QUIET, "dp": 1, "hidden": 512, "ffn": 2048, "heads": 4, "sequence": 256, "steps": 1}


def test_the_same_work_has_the_same_noise():
    base = kernels(world := world_of(**SMALL))
    assert len(base) > 200  # there is noise
    assert transfers(world) == transfers(world_of(**SMALL, pp=4))
    for other in ({"pp": 4}, {"pp": 1}, {"schedule": "gpipe"}, {"pp": 4, "schedule": "gpipe"}, {"scale": {"host": 2}}):
        assert kernels(world_of(**SMALL, **other)) == base
    for more in ({"dp": 2}, {"layers": 6}, {"microbatches": 5}, {"steps": 2}, {"recompute": 1}):
        assert not base - kernels(world_of(**{**SMALL, **more}))
    assert kernels(world_of(**SMALL, seed=8)) != base


def test_knobs_turn_what_they_name():
    def total(part: str, **options) -> int:
        found = kernels(world_of(**SMALL, noise=0, **options))
        return sum(duration * n for (name, duration), n in found.items() if part in name)

    for name, part in (("gemm", "nvjet"), ("attention", "flash"), ("elementwise", "vectorized")):
        assert total(part, scale={name: 0.5}) == pytest.approx(total(part) / 2, rel=1e-3)
        assert total(part, scale={"kernels": 2}) == pytest.approx(total(part) * 2, rel=1e-3)
    small = {**SMALL, "noise": 0}
    base = step_times(world_of(**small))["host_step_s"]
    assert step_times(world_of(**small, scale={"host": 2}))["host_step_s"] > 1.7 * base  # host-bound
    assert step_times(world_of(**small, profiler=(1500, 900)))["host_step_s"] > 1.2 * base
    late = step_times(world_of(**{**small, "stragglers": {1: (1.5, 1.5)}}))["host_step_s"]
    assert late > 1.2 * base


def test_a_profiler_costs_the_host_so_much_a_row():
    """Only the wait of item() hides some of it: the second half of its launch's, and the first of its own."""
    one = {**SMALL, "pp": 1, "tp": 1, "noise": 0, "steps": 2, "scale": {"kernels": 0, "copy": 0}}
    without = world_of(rows=True, **one)
    (host,) = without.hosts
    rows = Counter(r["cat"] for r in host.record.rows if r["ph"] == "X" and ns(r["ts"]) >= host.step_begins[1])
    calls = rows["cuda_runtime"] - 2  # less cudaDeviceSynchronize after the step, and item()
    ops = rows["cpu_op"] + rows["user_annotation"]
    for op, call in ((1500, 0), (0, 900), (1500, 900)):
        (slow,) = world_of(**one, profiler=(op, call)).hosts
        more = [w.step_ends[1] - w.step_begins[1] for w in (slow, host)]
        assert more[0] - more[1] == ops * op + calls * call


@pytest.mark.parametrize("options", [
    {}, {"bucket": 2}, {"train_edges": True, "bucket": 3}, {"schedule": "zb-h1"}, {"zero": 1}, {"zero": 3},
    {"dp": 4, "ep": 2, "experts": 4}, {"dp": 4, "ep": 2, "experts": 4, "moe_every": 2, "bucket": 5},
])  # fmt: skip
def test_buckets_carry_every_parameter_once(options):
    world = world_of(**{**SMALL, "dp": 2, "layers": 10, "tp": 1, **options})
    for host in world.hosts:
        tasks = [task for stream in host.gpu.streams.values() for task in stream.tasks]
        about = [task.arguments for task in tasks if "DP_" in task.arguments.get("Process Group Description", "")]
        shared = [each for each in about if each["Collective name"] != "_allgather_base"]
        times = world.plan.microbatches if world.plan.zero == 3 else 1
        assert sum(each["In msg nelems"] for each in shared) == world.plan.parameters_of(host.stage) * times
        dense = [each for each in shared if each["Process Group Description"] == "DP_GROUP"]
        assert len(dense) == -(-5 // options.get("bucket", 1)) * times
        gathered = [each["Out msg nelems"] for each in about if each["Collective name"] == "_allgather_base"]
        passes_of_weights = {0: 0, 1: 1, 3: 2 * times}[world.plan.zero]
        assert sum(gathered) == world.plan.parameters_of(host.stage) * passes_of_weights


def test_work_is_shared_not_lost():
    """The same attention on one rank or on several; each expert's tokens on the replica that holds it."""

    def total(part: str, **options) -> int:
        found = kernels(world_of(**{**SMALL, "tp": 1, "noise": 0, **options}))
        return sum(duration * n for (name, duration), n in found.items() if part in name)

    assert total("flash") == pytest.approx(total("flash", cp=2), rel=1e-3)
    assert total("flash") == pytest.approx(total("flash", tp=2), rel=1e-3)
    one = total("nvjet", dp=4, experts=8, ep=1)
    assert total("nvjet", dp=4, experts=8, ep=4) < one  # fewer, larger products
    assert total("gelu", dp=4, experts=8, ep=4) == total("gelu", dp=4, experts=8)


# --- Files ---------------------------------------------------------------------------------------

PLANS = {
    "1f1b": ["--noise", "1", "--dp", "1"],
    "pp1": ["--pp", "1", "--tp", "1"],
    "interleaved": ["--schedule", "interleaved", "--chunks", "2", "--dp", "1"],
    "zero bubble": ["--schedule", "zb-h1", "--pp", "4", "--recompute", "1", "--dp", "1"],
    "experts and context": ["--pp", "1", "--cp", "2", "--ep", "2", "--tp", "1", "--shape", "experts=4,moe_every=2"],
    "zero": ["--zero", "3", "--pp", "1", "--tp", "1", "--dp", "3", "--train-edges"],
    "apart": ["--pp", "4", "--tp", "1", "--dp", "1", "--apart", "--modules", "--train-edges"],
}


def times_of(folder: Path) -> Path:
    """Not among the traces: every .json there is taken for one."""
    return folder.with_suffix(".times.json")


@pytest.fixture(scope="module", params=PLANS)
def made(request, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("generator") / request.param.replace(" ", "_")
    done = make(folder, *PLANS[request.param], "--steps", "2", "--times", str(times_of(folder)))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def ranks(made) -> dict:
    """The rows of each rank."""
    paths = sorted(made.glob("*.json.gz"))
    return {i: json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] for i, path in enumerate(paths)}


def ns(us: float) -> int:
    return round(us * 1000)


def end(row: dict) -> int:
    return ns(row["ts"]) + ns(row["dur"])


def test_files_are_those_of_a_run(ranks):
    together = defaultdict(list)
    for rows in ranks.values():
        spans = [row for row in rows if row["ph"] == "X" and row["cat"] != "Trace"]
        calls = {r["args"]["correlation"]: r for r in spans if r["cat"] == "cuda_runtime"}
        gpu = [row for row in spans if "stream" in row["args"]]
        assert len({row["args"]["correlation"] for row in gpu}) == len(gpu)
        for row in gpu:
            assert ns(calls[row["args"]["correlation"]]["ts"]) < ns(row["ts"])  # launched before
            if "Collective name" in row["args"]:
                together[row["args"]["Process Group Name"], row["args"]["Seq"]].append(row)
        in_order(gpu, calls)
        nested([row for row in spans if "stream" not in row["args"]])
        flows_meet(rows)
    for rows in together.values():
        meets(rows, ranks)


def in_order(gpu: list, calls: dict) -> None:
    """Each stream runs one thing at a time, as launched."""
    for _, tasks in itertools.groupby(sorted(gpu, key=lambda r: r["tid"]), key=lambda r: r["tid"]):
        by_launch = sorted(tasks, key=lambda r: ns(calls[r["args"]["correlation"]]["ts"]))
        assert all(end(a) <= ns(b["ts"]) for a, b in zip(by_launch, by_launch[1:]))


def nested(host: list) -> None:
    """Rows of a thread are within each other or apart, and begin where what they belong to is open."""
    for _, rows in itertools.groupby(sorted(host, key=lambda r: r["tid"]), key=lambda r: r["tid"]):
        stack: list = []
        for row in sorted(rows, key=lambda r: (ns(r["ts"]), -end(r))):
            while stack and end(stack[-1]) <= ns(row["ts"]):
                stack.pop()
            assert not stack or end(row) <= end(stack[-1])
            stack.append(row)


def flows_meet(rows: list) -> None:
    for kind in ("ac2g", "fwdbwd"):
        ends = {phase: Counter(r["id"] for r in rows if r["ph"] == phase and r["cat"] == kind) for phase in "sf"}
        assert ends["s"] == ends["f"] and set(ends["s"].values()) <= {1}


def meets(rows: list, ranks: dict) -> None:
    """A collective has all its members, each once; they end together, and say the same of it."""
    group = ast.literal_eval(rows[0]["args"]["Process Group Ranks"])
    assert sorted(row["args"]["Rank"] for row in rows) == group and max(group) < len(ranks)
    assert len({end(row) for row in rows}) == 1
    for what in ("In msg nelems", "Process Group Ranks", "Group size", "dtype"):
        assert len({str(row["args"][what]) for row in rows}) == 1
    names = {row["args"]["Collective name"] for row in rows}
    assert len(names) == 1 or names == {"send", "recv"}


def test_shapes_and_sequence_numbers_fit(ranks):
    for rows in ranks.values():
        ops = [row for row in rows if row.get("cat") == "cpu_op"]
        forward = {r["args"]["Sequence number"]: r["args"]["Input Dims"] for r in ops
                   if r["args"].get("Fwd thread id") == 0 and r["name"] == "aten::linear"}  # fmt: skip
        products = Counter()
        for row in ops:
            args = row["args"]
            if row["name"] == "aten::linear":
                x, weights = args["Input Dims"]
                assert x[1] == weights[1]
            if row["name"] == "aten::mm":
                (_, inner), (also, _) = args["Input Dims"]
                assert inner == also
            if row["name"].endswith(": LinearBackward0"):
                assert args["Sequence number"] in forward
                products[args["Sequence number"]] += 1
        assert products and set(products.values()) <= {1, 2}  # 2: to inputs and to weights


def test_replay_of_the_files_is_the_run(made):
    binary = os.environ.get("FLOPCAST_CLI")
    if not binary:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    command = [binary, "replay", "--lags", "recorded", "--json", made]
    (found,) = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["sets"]
    times = json.loads(times_of(made).read_text())
    for rank in found["ranks"]:
        for step, truth in zip(rank["steps"], times["steps"]):
            host, gpu = truth["host_s"][rank["rank"]], truth["gpu_s"][rank["rank"]]
            assert step["measured_s"] == pytest.approx(host, abs=2e-9)
            assert step["gpu_measured_s"] == pytest.approx(gpu, abs=2e-9)
            assert step["replayed_s"] == pytest.approx(host, abs=2e-9)
            assert step["gpu_replayed_s"] == pytest.approx(gpu, abs=2e-9)


# --- The command ---------------------------------------------------------------------------------


def test_the_default_run_stays_as_the_documentation_quotes_it(tmp_path):
    done = make(tmp_path)
    assert done.stdout == f"{tmp_path}: 8 ranks, 3 steps, 134.1 ms\n"
    digest = hashlib.sha256()
    for path in sorted(tmp_path.glob("*.json.gz")):
        digest.update(gzip.decompress(path.read_bytes()))
    assert digest.hexdigest() == "45db21885d75977414dc14502908d6d967c28d762f86a74a9a006dc0cfc8259f"


def test_times_alone_are_those_of_the_files(made):
    options = PLANS[made.name.replace("_", " ")]
    assert make(made.with_suffix(".alone"), *options, "--steps", "2", "--times-only").returncode == 0
    assert (made.with_suffix(".alone") / "times.json").read_text() == times_of(made).read_text()
    assert not list((made.with_suffix(".alone")).glob("*.gz"))


@pytest.mark.parametrize("options, said", [
    (["--pp", "8"], "8 stages need as many layers, not 4"),
    (["--schedule", "interleaved"], "2 or more chunks"),
    (["--schedule", "interleaved", "--chunks", "2", "--microbatches", "3"], "a multiple"),
    (["--straggler", "8"], "no rank 8 of 8"),
    (["--shape", "hiden=4"], "the shape has no hiden"),
    (["--scale", "gem=2"], "cannot scale gem"),
    (["--tp", "3"], "multiple of tp"),
    (["--noise", "-1"], "must not be negative"),
    (["--ep", "2"], "ep must divide dp and the experts"),
    (["--zero", "1", "--shape", "experts=4"], "shared whole"),
])  # fmt: skip
def test_impossible_runs_are_refused(tmp_path, options, said):
    done = make(tmp_path, *options)
    assert done.returncode == 2 and said in done.stderr
