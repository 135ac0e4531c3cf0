"""Types of the package: mypy agrees with it, and tells its users what is wrong."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import flopcast

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(flopcast.__file__).parent

RIGHT = """
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import flopcast

traces = flopcast.read(Path("sample"), threads=2)
damage: list[str] = flopcast.replay(traces, lags="zero", structure_from=2, durations_from="3").damage
step = flopcast.TrainingModel("gpt-3-1.3b", "dgx-h100", memory_share=0.9).estimate(tp=8, global_batch=64)
seconds: float = step.time_s
parts: dict[str, float] = step.parts_s
with ThreadPoolExecutor(2) as threads:
    found = flopcast.plan("gpt-3-1.3b", "dgx-h100", global_batch=64, constraints=["tp<=8"], executor=threads)
best: float = found.best[0].time_s
searches = flopcast.plan_sweep("gpt-3-1.3b", "dgx-h100", {"n": [1, 2]}, global_batch=64, best=3)
fits: list[bool] = [search.fits for search in searches]
mapping = flopcast.map("gpt3-175b", "8 x sn10", topology="torus:4x2", tp=8, changes={"sram": "1GB"})
degrees: dict[str, int] = mapping.shape
points = flopcast.explore("gpt3-175b", "8 x sn10", ["sram=1x,2x"], topology="torus:4x2", progress=print)
run = flopcast.WhatIf(traces).set(dp=64, tokens=2.0).scale("gemm", 0.8).remove("profiler", "straggler")
after: float = run.on("8 x dgx-h100").run().after_s
worth: list[str] = [part.part for part in run.sensitivity()]
serving = flopcast.serve("llama-3-8b", "dgx-h100", tp=2, users=8, input=256, output=64, set={"block": 32})
first: float = serving.ttft_s.p99
gemm: float = flopcast.KernelModel("h200").gemm(8192, 8192, 8192, "bf16").time_s
"""

WRONG = {
    'flopcast.read("a", "b")': "Too many positional arguments",
    'flopcast.map("a", "b", tp="eight")': 'incompatible type "str"; expected "int"',
    'flopcast.map("a", "b", topologie="ring:8")': "Unexpected keyword argument",
    'flopcast.plan("a", "b", global_bath=64)': "Unexpected keyword argument",
    'flopcast.plan_sweep("a", "b", {"n": [1]}, best="few")': 'incompatible type "str"; expected "int"',
    'flopcast.estimate("a", "b", overlap=3)': 'incompatible type "int"',
    'flopcast.estimate("a", "b", tp=8).time_s.upper()': '"float" has no attribute "upper"',
    'flopcast.estimate("a", "b", tp=8).time_s = 3.0': "Incompatible types in assignment",
    'flopcast.serve("a", "b", usrs=8)': "Unexpected keyword argument",
    'flopcast.WhatIf("a").scale("gemm", "half")': 'incompatible type "str"; expected "float"',
    'flopcast.Cluster("a").collective_time("all_reduce", 1, [1, 2])': "Too many positional arguments",
}


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    pytest.importorskip("mypy")
    cache = tmp_path_factory.mktemp("mypy")

    def run(*arguments):
        config = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(cache)]
        return subprocess.run(
            [sys.executable, "-m", "mypy", *config, *arguments],
            capture_output=True, text=True, cwd=cache, env={**os.environ, "MYPYPATH": str(PACKAGE.parent)},
        )  # fmt: skip

    return run


def test_the_package_and_its_stub_are_typed(mypy):
    done = mypy("-p", "flopcast")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Success: no issues found")


def test_the_stub_says_all_it_can():
    stub = (PACKAGE / "_native.pyi").read_text()
    for vague in ("Any", "->object", ": object", "*args", "**kwargs", "arg0"):
        assert vague not in stub.replace("-> object", "->object"), vague
    assert (PACKAGE / "py.typed").exists()


def test_a_right_script_passes(mypy, tmp_path):
    (tmp_path / "script.py").write_text(RIGHT)
    done = mypy(str(tmp_path / "script.py"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_wrong_arguments_are_told(mypy, tmp_path):
    (tmp_path / "script.py").write_text("\n".join(["import flopcast", *WRONG]))
    done = mypy(str(tmp_path / "script.py"))
    assert done.returncode == 1, done.stdout + done.stderr
    errors = [line for line in done.stdout.splitlines() if " error: " in line]
    assert len(errors) == len(WRONG), done.stdout
    for number, (error, (line, expected)) in enumerate(zip(errors, WRONG.items()), 2):
        assert error.startswith(f"{tmp_path / 'script.py'}:{number}: ") and expected in error, (line, error)


def test_every_setting_of_a_plan_is_an_argument():
    assert list(flopcast.PlanSettings.__annotations__) == list(flopcast.PLAN_SETTINGS)


def test_all_but_the_obvious_arguments_have_names():
    obvious = {
        "Cluster.collective_time": 2,
        "KernelModel.gemm": 4,
        "KernelModel.memory": 3,
        "explore": 3,
        "plan_sweep": 3,
    }
    records = {
        "Anomaly",
        "FlopcastError",
        "KernelTime",
        "PackedTrace",
        "PartWorth",
        "Step",
        "StepMatch",
        "WorkSensitivity",
    }
    functions = {}
    for name in set(flopcast.__all__) - records:
        thing = getattr(flopcast, name)
        if inspect.isfunction(thing):
            functions[name] = thing
        elif inspect.isclass(thing) and thing.__module__.startswith("flopcast"):
            members = inspect.getmembers(thing, inspect.isfunction)
            functions.update({f"{name}.{member}": call for member, call in members if not member.startswith("_")})
            functions[name] = thing.__init__
    assert len(functions) > 40
    for name, function in functions.items():
        kinds = [p.kind for p in inspect.signature(function).parameters.values() if p.name != "self"]
        positional = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)
        assert positional <= obvious.get(name, 2), name
