"""Paper mode (Subramanian et al.) as people call it: every expected value through the commands."""

import csv
import io
import json
import os
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXPECTED = ROOT / "tests/data/transformer_model.json"
CASES = ROOT / "examples/paper_subramanian/cases.json"
MODES = {"published": "expected", "repaired": "expected_fixed"}
MODELS = {"gpt3_1T", "gpt3_175B", "vit_era5"}
STRATEGIES = {"1D": "1d", "2D": "2d", "2D-SUMMA": "summa"}
GIGA = 1e9
TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def cases() -> list:
    return json.loads(EXPECTED.read_text(encoding="utf-8"))["cases"]


def run(program: str, *arguments) -> subprocess.CompletedProcess:
    command = [program, *(str(argument) for argument in arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def bare_system(case: dict) -> str:
    return case["input"]["system_name"].split("-NVS")[0]


def flags_of(case: dict) -> list:
    given = case["input"]
    return [
        *(given["model_name"], "--model-of", "subramanian"),
        *("--system", f"{bare_system(case)}-NVS{given['system']['nvlink_size']}"),
        *("--strategy", STRATEGIES[given["strategy"]], "--global-batch", given["global_batch"]),
    ]


def rates(case: dict) -> str:
    system = dict(case["input"]["system"], nvlink_size=0)
    return json.dumps(system, sort_keys=True)


def named(cases: list, kind: str) -> list:
    """Cases whose model and system have names on the command line: a system's commonest rates."""
    of_system = defaultdict(Counter)
    chosen = [case for case in cases if case["kind"] == kind and case["input"]["model_name"] in MODELS]
    for case in chosen:
        of_system[bare_system(case)][rates(case)] += 1
    return [case for case in chosen if of_system[bare_system(case)].most_common(1)[0][0] == rates(case)]


def expected_of(case: dict, mode: str) -> dict:
    return case.get(MODES[mode]) or case["expected"]


def check_estimate(found: dict, expected: dict, what: str):
    parts, memory = found["parts_s"], found["memory"]
    values = {
        "t": found["iteration_time_s"],
        "t_comp": parts["compute"],
        "t_mem": parts["exposed_memory"],
        "t_tp_comm": parts["tensor_communication"],
        "t_pp_comm": parts["pipeline_communication"],
        "t_dp_comm": parts["data_communication"],
        "t_bubble": parts["bubble"],
        "mem": found["memory_bytes"] / GIGA,
        "wts_mem": memory["weights_bytes"] / GIGA,
        "wts_grad_mem": memory["gradients_bytes"] / GIGA,
        "wts_optimizer_states_mem": memory["optimizer_bytes"] / GIGA,
        "acts_mem": memory["activations_bytes"] / GIGA,
        "flops_per_gpu": found["flops_per_gpu"] / 1e12,
    }
    compared = set(values) & set(expected)
    assert {"t", "mem"} <= compared
    for key in compared:
        scale = found["iteration_time_s"] if key.startswith("t") else values[key]
        assert values[key] == pytest.approx(
            expected[key], rel=TOLERANCE, abs=TOLERANCE * 1e-3 * scale
        ), f"{what} {key}"


@pytest.mark.parametrize("mode", MODES)
def test_estimates_are_the_expected_ones(program, cases, mode):
    chosen = named(cases, "config")
    assert len(chosen) > 20
    for case in chosen:
        size, domain = case["input"]["parallel"], case["input"]["nvs_assignment"]
        done = run(
            *(program, "estimate", *flags_of(case), "--defects", mode, "--json"),
            *("--tp", size["n1"], "--tp2", size["n2"], "--pp", size["np"], "--dp", size["nd"]),
            *("--micro-batch", size["bm"], "--panels", size.get("nb", 1)),
            *("--domain-tp", domain["nvs_1"], "--domain-tp2", domain["nvs_2"]),
            *("--domain-pp", domain["nvs_p"], "--domain-dp", domain["nvs_d"]),
        )
        found = json.loads(done.stdout)
        assert done.returncode == (0 if found["fits"] else 4), done.stderr
        check_estimate(found, expected_of(case, mode), case["id"])
        if mode == "published":
            assert found["fits"] == case["feasible"]


@pytest.mark.parametrize("mode", MODES)
def test_searches_choose_the_expected_plans(program, cases, mode):
    chosen = named(cases, "search")
    assert len(chosen) > 15
    for case in chosen:
        chips = case["input"]["n_gpus"]
        done = run(program, "plan", *flags_of(case), "--defects", mode, "--chips", chips, "--json")
        (found,) = json.loads(done.stdout)["searches"]
        expected = expected_of(case, mode)
        assert found["feasible"] == expected["feasible"], case["id"]
        if "t" not in expected:
            assert not found["best"] and done.returncode == 4
            continue
        check_estimate(found["best"][0], expected, case["id"])
        times = [plan["iteration_time_s"] for plan in found["best"]]
        assert times == pytest.approx(expected["top10_t"], rel=TOLERANCE), case["id"]
        size, plan = expected["parallel"], found["best"][0]["plan"]
        tied = len(times) > 1 and times[1] <= times[0] * (1 + 1e-12)
        if not tied:
            keys = ("n1", "tp"), ("n2", "tp2"), ("np", "pp"), ("nd", "dp"), ("bm", "microbatch")
            assert [size[a] for a, _ in keys] == [plan[b] for _, b in keys], case["id"]


def test_validate_says_how_near_with_and_without_defects(program):
    document = json.loads(run(program, "validate", "transformer-model", CASES, "--json").stdout)
    summary = document["summary"]
    assert summary["n"] == len(json.loads(CASES.read_text())["cases"])
    assert summary["max_rel"] <= TOLERANCE and summary["mismatches"] == summary["failures"] == 0
    assert summary["published"]["n"] == summary["repaired"]["n"] == summary["n"]


def test_validate_fails_on_a_file_without_cases(program, tmp_path):
    other = tmp_path / "other.json"
    other.write_text('{"cases": [{"id": "x", "kind": "config", "input": {}}]}')
    done = run(program, "validate", "transformer-model", other)
    assert done.returncode == 3 and "case x" in done.stdout


def test_figures_script_writes_the_tables(program, tmp_path):
    script = ROOT / "examples/paper_subramanian/figures.sh"
    environment = dict(os.environ, FLOPCAST=program)
    subprocess.run(
        ["bash", script, tmp_path, "published", "1", "4a"], env=environment, check=True, capture_output=True
    )
    rows = list(csv.DictReader(io.StringIO((tmp_path / "figure4a.csv").read_text())))
    assert [int(row["gpus"]) for row in rows] == [2**i for i in range(2, 15)]
    assert float(rows[-1]["iteration_time_s"]) == pytest.approx(3.233344402918901, rel=1e-12)
    assert (tmp_path / "figure1.csv").exists()
