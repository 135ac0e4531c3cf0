"""Searches for plans: the Python package, executors, and the commands `flopcast plan` and `merge`."""

import importlib.util
import json
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
QUESTION = ["gpt-3-1.3b", "--on", "2 x dgx-h100", "--global-batch", "64", "--seq", "2048", "--top", "4"]


def run(program, *arguments, code=0, cwd=None) -> subprocess.CompletedProcess:
    done = subprocess.run([program, *arguments], capture_output=True, cwd=cwd, timeout=300)
    assert done.returncode == code, done.stderr.decode()
    return done


def search(program, *more, code=0, cwd=None) -> bytes:
    return run(program, "plan", *QUESTION, *more, code=code, cwd=cwd).stdout


@pytest.fixture(scope="module")
def whole(program) -> bytes:
    return search(program, "--json")


# --- The command -------------------------------------------------------------------------------------


def test_text_json_csv_and_page_agree(program, whole, tmp_path):
    found = json.loads(whole)
    best = found["best"][0]
    text = search(program, "--html", str(tmp_path / "page.html")).decode()
    assert f"Best  {best['words']}\n" in text
    rows = search(program, "--csv").decode().splitlines()
    assert len(rows) == 1 + len(found["best"]) == 5
    assert float(rows[1].split(",")[rows[0].split(",").index("time_s")]) == best["time_s"]
    page = (tmp_path / "page.html").read_text()
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["points"] == [found]


def test_answers_say_nothing_of_how_they_were_made(program, whole):
    assert search(program, "--json", "--threads", "1") == whole
    assert search(program, "--json", "--threads", "3") == whole
    once, again = (run(program, "plan", *QUESTION, "--threads", threads) for threads in "13")
    assert once.stdout == again.stdout
    assert b"Searched in" in once.stderr


def test_constraints_hold(program):
    found = json.loads(search(program, "--json", "--max-tp", "2", "--must", "pp=2", "--constraint", "dp>=2",
                              "--recompute", "full", "--memory", "50%"))  # fmt: skip
    assert found["asked"]["constraints"] == ["pp=2", "dp>=2", "tp<=2", "recompute=full"]
    assert found["best"]
    for option in found["best"] + found["pareto"]:
        plan = option["plan"]
        assert plan["tp"] <= 2 and plan["pp"] == 2 and plan["dp"] >= 2 and plan["recompute"] == "full"
        assert option["memory_bytes"] <= 0.5 * found["asked"]["capacity_bytes"]


def test_best_is_what_estimate_says(program, whole):
    best = json.loads(whole)["best"][0]
    flags = [word for line in best["megatron"].splitlines() for word in line.split()]
    assert "--global-batch-size" in flags
    flopcast = pytest.importorskip("flopcast")
    names = ["tp", "cp", "pp", "vpp", "micro_batch", "schedule", "zero", "recompute", "sequence_parallel"]
    plan = {name: best["plan"][name] for name in names}
    estimate = flopcast.estimate("gpt-3-1.3b", "2 x dgx-h100", global_batch=64, seq=2048, **plan)
    # The best placement is never slower than the usual one.
    assert best["time_s"] <= estimate.time_s * (1 + 1e-12)
    assert estimate.memory_bytes["total"] == pytest.approx(best["memory_bytes"], rel=1e-12)


@pytest.mark.parametrize(
    "more, code, words",
    [
        (["--must", "pp=5"], 4, ["no plan is possible under pp=5", "without 'pp=5': tp "]),
        (["--memory", "1%"], 4, ["none of", "the leanest needs", "with all of the memory: tp "]),
        (["--must", "warp=9"], 2, ["unknown name 'warp'"]),
        (["--sweep", "speed=1,2"], 2, ["expected a sweep of n, node-size"]),
        (["--chips", "0"], 2, ["--chips"]),
        (["--shard", "2/2"], 2, ["expected I/N with I from 0 to N-1"]),
        (["--shard", "x/2"], 2, ["expected I/N with I from 0 to N-1"]),
        (["--top", "0"], 2, ["--top"]),
        (["--tp", "eight"], 2, ["tp"]),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(program, more, code, words):
    message = run(program, "plan", *QUESTION, *more, code=code).stderr.decode()
    for word in words:
        assert word in message


def test_a_batch_smaller_than_the_replicas_is_refused(program):
    done = run(program, "plan", "gpt-3-1.3b", "--on", "2 x dgx-h100", "--global-batch", "2", "--must", "dp=16",
               code=4)  # fmt: skip
    assert "without 'dp=16'" in done.stderr.decode()


# --- Shards ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
def test_shards_merge_to_the_bytes_of_the_whole(program, whole, tmp_path, shards):
    files = []
    for shard in range(shards):
        files.insert(0, str(tmp_path / f"shard{shard}.jsonl"))
        search(program, "--shard", f"{shard}/{shards}", "--out", files[0])
    assert run(program, "merge", *files).stdout == whole
    text = run(program, "merge", *files, "--text").stdout
    assert search(program).startswith(text)
    assert run(program, "merge", *files, "--csv").stdout == search(program, "--csv")


def test_shards_of_a_sweep_on_stdout(program, tmp_path):
    sweep = ["--sweep", "n=8,16", "--sweep", "hbm-bandwidth=1x,2x"]
    for shard in range(2):
        (tmp_path / f"{shard}").write_bytes(search(program, *sweep, "--shard", f"{shard}/2"))
    merged = run(program, "merge", "0", "1", cwd=tmp_path).stdout
    assert merged == search(program, *sweep, "--json")
    assert merged.count(b"\n") == 4


def test_missing_and_foreign_shards_are_named(program, tmp_path):
    for shard in range(2):
        (tmp_path / f"{shard}").write_bytes(search(program, "--shard", f"{shard}/3"))
    assert "shard 2/3 is missing" in run(program, "merge", "1", "0", cwd=tmp_path, code=3).stderr.decode()
    (tmp_path / "notes").write_text("milk\n")
    assert "notes:1" in run(program, "merge", "notes", "0", cwd=tmp_path, code=3).stderr.decode()
    run(program, "merge", "nowhere", cwd=tmp_path, code=3)


# --- Results in a file -------------------------------------------------------------------------------

SWEEP = ["--chips", "1..16", "--sweep", "chip=h100,a100"]


def test_a_sweep_resumes_where_it_was_torn(program, tmp_path):
    whole, torn = tmp_path / "whole.jsonl", tmp_path / "torn.jsonl"
    search(program, *SWEEP, "--out", str(whole))
    lines = whole.read_bytes().splitlines(keepends=True)
    assert len(lines) == 10
    torn.write_bytes(b"".join(lines[:3]) + lines[3][:1000])
    done = run(program, "plan", *QUESTION, *SWEEP, "--out", str(torn))
    assert "3 points in" in done.stderr.decode()
    assert torn.read_bytes() == whole.read_bytes()
    # All there: nothing is searched, and the same is shown.
    again = search(program, *SWEEP, "--json", "--out", str(torn))
    assert again == whole.read_bytes() == search(program, *SWEEP, "--json")


def test_interrupt_loses_only_the_point_in_work(program, tmp_path):
    out, whole = tmp_path / "out.jsonl", tmp_path / "whole.jsonl"
    process = subprocess.Popen([program, "plan", *QUESTION, *SWEEP, "--out", str(out)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    while process.poll() is None and not (out.exists() and out.stat().st_size > 0):
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGINT, 0)  # 0: it was faster than we
    search(program, *SWEEP, "--out", str(out))
    search(program, *SWEEP, "--out", str(whole))
    assert out.read_bytes() == whole.read_bytes()


def test_full_disk_is_an_error(program):
    for option in ("--out", "--html"):
        assert "/dev/full" in run(program, "plan", *QUESTION, option, "/dev/full", code=3).stderr.decode()


def test_a_file_of_something_else_is_left_alone(program, tmp_path):
    notes = tmp_path / "notes.txt"
    notes.write_text("milk\nbread")
    run(program, "plan", *QUESTION, "--out", str(notes), code=3)
    assert notes.read_text() == "milk\nbread"


# --- Python ------------------------------------------------------------------------------------------

ASKED = {"global_batch": 64, "seq": 2048, "best": 4}


@pytest.fixture(scope="module")
def flopcast():
    return pytest.importorskip("flopcast")


@pytest.fixture(scope="module")
def found(flopcast):
    return flopcast.plan("gpt-3-1.3b", "2 x dgx-h100", **ASKED)


def test_python_gives_the_bytes_of_the_command(found, whole):
    assert found.to_json().encode() == whole


def test_results_read_well(found, flopcast, tmp_path):
    best = found.best[0]
    assert str(found).startswith("gpt-3-1.3b on 2 x dgx-h100")
    assert repr(best).startswith("<BestPlan words='tp ") and "memory_bytes=" in repr(best)
    assert "gpt-3-1.3b" in repr(found)
    assert found._repr_html_().startswith("<pre ") and "gpt-3-1.3b" in found._repr_html_()
    fastest = min(option.time_s for option in found.best + found.pareto)
    assert best.tie and 0.9 <= best.fit_odds <= 1
    assert best.memory_bytes <= 1.02 * min(option.memory_bytes for option in found.best if option.tie)
    assert fastest <= best.time_s <= 1.03 * fastest
    assert found.fits and found.megatron.startswith("--")
    assert found.asked["chips"] == 16
    assert found.sensitivities["matrix rate"] < 0
    found.html(tmp_path / "page.html")
    assert best.words in (tmp_path / "page.html").read_text()


def test_results_are_data_frames(found):
    pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert list(frame["time_s"]) == [option.time_s for option in found.best]
    assert list(frame["tp"]) == [option.plan["tp"] for option in found.best]


def test_executors_give_the_same_bytes(flopcast, found):
    with ThreadPoolExecutor(2) as threads:
        assert flopcast.plan("gpt-3-1.3b", "2 x dgx-h100", executor=threads, **ASKED).to_json() == found.to_json()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        again = flopcast.plan("gpt-3-1.3b", "2 x dgx-h100", executor=processes, shards=5, **ASKED)
    assert again.to_json() == found.to_json()


def test_ray_gives_the_same_bytes(flopcast, found):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        with flopcast.RayExecutor() as executor:
            assert executor.num_workers == 2
            again = flopcast.plan("gpt-3-1.3b", "2 x dgx-h100", executor=executor, **ASKED)
    finally:
        ray.shutdown()
    assert again.to_json() == found.to_json()


def test_mpi_gives_the_same_bytes(flopcast, found, tmp_path):
    if not (importlib.util.find_spec("mpi4py") and shutil.which("mpirun")):
        pytest.skip("no mpi4py, or no mpirun")
    script = tmp_path / "search.py"
    script.write_text(
        "import sys, flopcast\n"
        "from mpi4py.futures import MPIPoolExecutor\n"
        "if __name__ == '__main__':\n"
        "    with MPIPoolExecutor() as executor:\n"
        f"        found = flopcast.plan('gpt-3-1.3b', '2 x dgx-h100', executor=executor, **{ASKED!r})\n"
        "    sys.stdout.write(found.to_json())\n"
    )
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", sys.executable, "-m", "mpi4py.futures"]
    done = subprocess.run([*command, str(script)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == found.to_json()


def test_launches_are_of_every_launcher(flopcast):
    search = flopcast.plan("gpt-3-1.3b", "2 x dgx-h100", **ASKED)
    assert list(search.launches) == ["megatron", "torchtitan", "deepspeed"]
    assert "torchrun --nnodes 2 --nproc-per-node 8" in search.launches["torchtitan"]["command"]
    only = flopcast.plan("gpt-3-1.3b", "2 x dgx-h100", launchable="deepspeed", **ASKED)
    assert list(only.launches) == ["deepspeed"]
    assert only.asked["software"] == only.launches["deepspeed"]["software"] == "deepspeed-2022"


def test_sweeps_are_sequences(flopcast, program):
    sweep = flopcast.plan_sweep("gpt-3-1.3b", "2 x dgx-h100", {"n": [8, 16], "chip": ["h100", "a100"]}, **ASKED)
    assert len(sweep) == 4
    assert [search.asked["sweep"] for search in sweep][1] == {"n": "8", "chip": "a100"}
    assert sweep.to_json().encode() == search_lines(program, "--sweep", "n=8,16", "--sweep", "chip=h100,a100")
    assert "n 16, chip h100" in str(sweep)
    with ThreadPoolExecutor(2) as threads:
        again = flopcast.plan_sweep("gpt-3-1.3b", "2 x dgx-h100", ["n=8,16", "chip=h100,a100"],
                                    executor=threads, **ASKED)  # fmt: skip
    assert again.to_json() == sweep.to_json()


def test_clusters_are_compared_with_what_the_whole_run_takes_and_costs(flopcast, program):
    clusters = ["2 x dgx-h100", "2 x dgx-h100, fabric.latency 9us", "1 x dgx-a100"]
    told = {"tokens": "1T", "chip_mtbf": "50000h", "checkpoint_time": "30s", "restart_time": "10min", "co2": 0.4}
    found = flopcast.plan_sweep("gpt-3-1.3b", clusters, prices=[3, 2, 1], **told, **ASKED)
    assert [one.asked["on"] for one in found] == clusters
    for one, price in zip(found, (3, 2, 1)):
        run = one.best[0].run
        assert run["cost_usd"] == pytest.approx(price * run["chip_hours"]) and run["failures"] > 0 and run["co2_kg"] > 0
        assert run["time_s"] > run["work_s"] == pytest.approx(one.best[0].time_s * run["steps"])
    assert found.fastest is not None and found.fastest in found.equal
    assert [one.asked["on"] for one in found.equal] == clusters[:2]
    assert found.cheapest is found[1]
    flags = [word for name, value in told.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    more = [word for on in clusters[1:] for word in ("--on", on)]
    assert found.to_json().encode() == search_lines(program, *more, "--price", "3,2,1", *flags)
    text = search(program, *more, "--price", "3,2,1", *flags).decode()
    assert str(found) == text.rstrip("\n") or str(found) == text
    assert max(len(line) for line in text.splitlines()) <= 80
    assert flopcast.plan("gpt-3-1.3b", clusters[0], **ASKED).best[0].run is None
    for wrong in ({"tokens": "many"}, {"co2": 0.4}, {"tokens": 1e12, "restart_time": "1s"}, {"fit_odds": 1.0}):
        with pytest.raises(flopcast.FlopcastError):
            flopcast.plan("gpt-3-1.3b", clusters[0], **wrong, **ASKED)
    with pytest.raises(ValueError):
        flopcast.plan_sweep("gpt-3-1.3b", clusters, prices=[1, 2], **ASKED)


def test_estimates_tell_of_the_whole_run(flopcast):
    model = flopcast.TrainingModel("gpt-3-1.3b", "2 x dgx-h100", usd_per_chip_hour=2)
    estimate = model.estimate(global_batch=64, seq=2048, run={"tokens": 1e12})
    assert estimate.run["cost_usd"] == pytest.approx(2 * estimate.run["chip_hours"])
    assert estimate.memory_low_bytes < estimate.memory_bytes["total"] < estimate.memory_high_bytes
    assert estimate.fits and estimate.fit_odds > 0.9
    assert model.estimate(global_batch=64, seq=2048).run is None


def test_progress_is_told_and_may_end_a_search(flopcast, found):
    calls = []
    watched = flopcast.plan("gpt-3-1.3b", "2 x dgx-h100", shards=3, progress=lambda done, of: calls.append((done, of)), **ASKED)
    assert watched.to_json() == found.to_json()
    assert calls and calls[-1][0] == calls[-1][1]
    assert all(0 <= a[0] <= b[0] <= b[1] for a, b in zip(calls, calls[1:]))
    parts = []
    with ThreadPoolExecutor(2) as threads:
        flopcast.plan("gpt-3-1.3b", "2 x dgx-h100", executor=threads, shards=4,
                      progress=lambda done, of: parts.append((done, of)), **ASKED)  # fmt: skip
    assert parts == [(1, 4), (2, 4), (3, 4), (4, 4)]

    def stop(done, of):
        raise KeyError("enough")

    with pytest.raises(KeyError):
        flopcast.plan("gpt-3-1.3b", "2 x dgx-h100", progress=stop, **ASKED)


def test_a_batch_that_divides_badly_is_told(flopcast, program):
    odd = flopcast.plan("gpt-3-1.3b", "1 x dgx-h100", pp=1, seq=2048, global_batch=2047, best=1)
    assert "2,048 sequences of 2,048 tokens would" in odd.hint
    assert "Hint" in str(odd)
    assert flopcast.plan("gpt-3-1.3b", "1 x dgx-h100", pp=1, seq=2048, global_batch=2048, best=1).hint == ""
    halves = flopcast.plan("gpt-3-1.3b", "1 x dgx-h100", pp=1, seq=2048, global_batch=2047, best=1, shards=2)
    assert halves.to_json() == odd.to_json()


def search_lines(program, *more) -> bytes:
    return search(program, *more, "--json")


def test_errors_are_those_of_the_command(flopcast):
    with pytest.raises(flopcast.FlopcastError) as caught:
        flopcast.plan("gpt-3-1.3b", "2 x dgx-h100", pp=5, **ASKED)
    assert caught.value.code == 4
    assert "without 'pp=5'" in caught.value.hint
    assert pickle.loads(pickle.dumps(caught.value)).hint == caught.value.hint  # from other processes
    for wrong in ({"warp": 9}, {"constraints": ["warp=9"]}, {"memory_share": 2.0}, {"plan_from": "nowhere"}):
        with pytest.raises(flopcast.FlopcastError):
            flopcast.plan("gpt-3-1.3b", "2 x dgx-h100", **{**ASKED, **wrong})
    with pytest.raises(flopcast.FlopcastError):
        flopcast.plan_sweep("gpt-3-1.3b", "2 x dgx-h100", ["n=0"], **ASKED)
