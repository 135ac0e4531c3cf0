"""What-ifs of a made-up run, held against that run made up again with the knob turned.

The truths are of examples/make_sample.py, which simulates runs with no code of Flopcast's; the noise of
each kernel is the same in both runs. What they prove: schedule, bookkeeping, host, streams, waiting.
What they do not: the times of real kernels and collectives at other sizes.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

from sample.plan import Plan  # noqa: E402
from sample.times import step_times  # noqa: E402
from sample.world import World  # noqa: E402

# Small shapes make the host the bottleneck.
SMALL = {"hidden": 512, "ffn": 2048, "heads": 4, "sequence": 512}
BASES = {
    "tensor": {"tp": 2, "dp": 1, "layers": 8},
    "data": {"tp": 1, "dp": 2, "layers": 8, "noise": 0},
    "one stage": {"tp": 1, "dp": 2, "pp": 1, "layers": 4},
    "four stages": {"tp": 1, "dp": 1, "pp": 4, "layers": 8, "microbatches": 8, "noise": 0},
    "apart": {"tp": 1, "dp": 1, "pp": 4, "layers": 8, "apart": True},
    "interleaved": {"tp": 1, "dp": 1, "layers": 8, "schedule": "interleaved", "chunks": 2, "noise": 0},
    "weights apart": {"tp": 1, "dp": 2, "layers": 8, "schedule": "zb-h1", "noise": 0},
    "recomputed": {"tp": 1, "dp": 1, "recompute": 2},
    "straggler": {"tp": 1, "dp": 2, "stragglers": {3: (1.2, 1.2)}},
    "straggler of the first of four stages": {"tp": 4, "dp": 1, "pp": 4, "stragglers": {2: (1.12, 1.03)}},
    "host": {"tp": 2, "dp": 1, "layers": 8, "noise": 0, **SMALL},
    "profiled": {"tp": 1, "dp": 2, "layers": 8, "profiler": (1500, 900)},
    "loading": {"tp": 1, "dp": 2, "layers": 8, "loader": 8_000_000},
}
# Base, question, the plan with the knob turned. One knob: within 2 %; two: within 3 %.
CASES = [
    ("tensor", "--set dp=2", {"dp": 2}),
    ("tensor", "--set pp=4", {"pp": 4}),
    ("tensor", "--set pp=8", {"pp": 8}),
    ("tensor", "--set pp=1", {"pp": 1}),
    ("tensor", "--set layers=16", {"layers": 16}),
    ("tensor", "--set layers=4", {"layers": 4}),
    ("tensor", "--set microbatches=8", {"microbatches": 8}),
    ("tensor", "--set schedule=gpipe", {"schedule": "gpipe"}),
    ("tensor", "--set schedule=interleaved --set chunks=2", {"schedule": "interleaved", "chunks": 2}),
    ("tensor", "--set pp=4 --set microbatches=8", {"pp": 4, "microbatches": 8}),
    ("tensor", "--scale kernel:gemm=0.7", {"scale": {"gemm": 0.7}}),
    ("tensor", "--scale kernel:attention=2", {"scale": {"attention": 2}}),
    ("tensor", "--scale network=0.5", {"scale": {"network": 0.5}}),
    ("data", "--set dp=4", {"dp": 4}),
    ("data", "--set dp=1", {"dp": 1}),
    ("data", "--set microbatches=2", {"microbatches": 2}),
    ("data", "--set pp=4 --set dp=4", {"pp": 4, "dp": 4}),
    ("data", "--set layers=16 --set dp=4", {"layers": 16, "dp": 4}),
    ("one stage", "--set layers=8", {"layers": 8}),
    ("four stages", "--set pp=2", {"pp": 2}),
    ("four stages", "--set pp=8", {"pp": 8}),
    ("four stages", "--set microbatches=16", {"microbatches": 16}),
    ("tensor", "--set tp=4", {"tp": 4}),
    ("tensor", "--set hidden=6144", {"hidden": 6144}),
    ("tensor", "--set sequence=4096", {"sequence": 4096}),
    ("tensor", "--set ffn=8192 --set layers=4", {"ffn": 8192, "layers": 4}),
    ("tensor", "--set schedule=zb-h1", {"schedule": "zb-h1"}),
    ("tensor", "--add recompute", {"recompute": 4}),
    ("recomputed", "--remove recompute", {"recompute": 0}),
    ("recomputed", "--set microbatches=8", {"microbatches": 8}),
    ("apart", "--set pp=8", {"pp": 8}),
    ("apart", "--set microbatches=8", {"microbatches": 8}),
    ("interleaved", "--set microbatches=8", {"microbatches": 8}),
    ("interleaved", "--set chunks=4", {"chunks": 4}),
    ("interleaved", "--set schedule=1f1b", {"schedule": "1f1b", "chunks": 1}),
    ("weights apart", "--set dp=4", {"dp": 4}),
    ("weights apart", "--set layers=16", {"layers": 16}),
    ("straggler", "--remove straggler", {"stragglers": {}}),
    ("host", "--remove host", {"scale": {"host": 0}}),
    ("host", "--scale host=0.5", {"scale": {"host": 0.5}}),
    ("host", "--scale host=0.1", {"scale": {"host": 0.1}}),
    ("host", "--set pp=4", {"pp": 4}),
    ("host", "--set microbatches=8", {"microbatches": 8}),
    ("host", "--set layers=16", {"layers": 16}),
    ("profiled", "--remove profiler", {"profiler": (0, 0)}),
    ("loading", "--remove data-loading", {"loader": 0}),
    ("data", "--set tokens=2", {"microbatch_size": 2}),
    ("tensor", "--set tokens=4", {"microbatch_size": 4}),
]


def made(options: dict, rows: bool) -> World:
    plan = Plan(**{"stragglers": {}, "hiccups": {}, **options})
    assert plan.problem() is None
    world = World(plan, rows)
    world.run()
    return world


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    """The folder of a base; written when first asked for."""
    folder, written = tmp_path_factory.mktemp("bases"), {}

    def of(name: str) -> Path:
        if name not in written:
            written[name] = folder / name.replace(" ", "_")
            made(BASES[name], True).write(written[name])
        return written[name]

    return of


def run(recording: Path, question: str) -> subprocess.CompletedProcess:
    binary = os.environ.get("FLOPCAST_CLI")
    if not binary:
        pytest.skip("FLOPCAST_CLI does not name the flopcast binary")
    return subprocess.run([binary, "whatif", recording, *question.split(), "--json"], capture_output=True, text=True)


def ask(recording: Path, question: str) -> dict:
    done = run(recording, question)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("base, question, knobs", CASES, ids=[f"{base}: {question}" for base, question, _ in CASES])
def test_the_forecast_is_the_run_itself(recordings, base, question, knobs):
    answer = ask(recordings(base), question)
    assert not answer["refused"]
    truth = step_times(made({**BASES[base], **knobs}, False))
    limit = 0.03 if question.count("--set") > 1 and "chunks" not in question else 0.02
    assert answer["after_s"] == pytest.approx(truth["gpu_step_s"], rel=limit)


def test_the_slow_rank_is_found_behind_the_waits_of_a_pipeline(recordings):
    """Later stages come last to collectives because they wait: what is removed is the rank that is slow."""
    base = "straggler of the first of four stages"
    answer = ask(recordings(base), "--remove straggler")
    assert any(note["what"].startswith("rank 2 is the straggler") for note in answer["notes"])
    truth = step_times(made({**BASES[base], "stragglers": {}}, False))["gpu_step_s"]
    assert answer["band"]["low_s"] <= truth <= answer["band"]["high_s"]
    assert answer["after_s"] <= answer["before_s"]


@pytest.mark.parametrize("base, question, missing", [
    ("one stage", "--set pp=2", "no message between stages was recorded"),
])  # fmt: skip
def test_what_was_never_recorded_is_refused(recordings, base, question, missing):
    done = run(recordings(base), question)
    assert done.returncode != 0
    (refused,) = json.loads(done.stdout)["refused"]
    assert refused["missing"].startswith(missing)


@pytest.mark.parametrize("base", BASES)
def test_nothing_changed_is_the_recording(recordings, base):
    truth = step_times(made(BASES[base], False))
    assert ask(recordings(base), "--scale host=1")["after_s"] == pytest.approx(truth["gpu_step_s"], abs=2e-9)
