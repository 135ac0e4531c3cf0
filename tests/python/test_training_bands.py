"""tools/training_bands.py: bands cover what they say, of sources that a fit knows and of others."""

import os
import sys
from pathlib import Path

import pytest

numpy = pytest.importorskip("numpy")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from training_bands import (  # noqa: E402
    band_of,
    bands,
    coverage,
    forecasts,
    memory_band,
    memory_coverage,
    outer,
    toml_of_memory,
    toml_of_ties,
    turned,
    unstated,
    unstated_coverage,
)

SPREAD, BETWEEN = 0.05, 0.09  # of the logarithms of runs in a source, and of sources


def draw(sources, groups, seed, software=("megatron",)):
    """Runs, and measured over forecast by fits without their group and without their source: a fit that knows a source
    follows what it is off by."""
    random = numpy.random.default_rng(seed)
    runs, known, unseen = [], [], []
    for source in range(sources):
        bias = random.normal(0, BETWEEN)
        for group in range(groups):
            off = random.normal(0, SPREAD)
            for _ in range(1 + int(random.integers(4))):
                runs.append({"set": f"s{source}", "group": f"s{source}|{group}", "experts": source % 3 == 0,
                             "software": software[source % len(software)]})  # fmt: skip
                known.append(off)
                unseen.append(bias + off)
    known, unseen = numpy.exp(known), numpy.exp(unseen)
    return runs, {"fold": known, "source": unseen, "model family": unseen, "software": unseen}


@pytest.mark.parametrize("experts", [False, True])
def test_bands_cover_four_of_five_runs_half_of_them_of_unseen_sources(experts):
    found = bands(*draw(900, 6, seed=1))
    low, high = band_of(found, {"software": "megatron", "experts": experts})
    _, fresh = draw(900, 6, seed=2)
    inside = [numpy.mean((ratio >= low) & (ratio <= high)) for ratio in (fresh["fold"], fresh["source"])]
    assert numpy.mean(inside) == pytest.approx(0.8, abs=0.03)
    assert inside[0] > 0.85 and inside[1] < 0.75


def test_a_source_that_was_missed_on_one_side_widens_both():
    runs, without = draw(6, 10, seed=3)
    without["source"] = numpy.full(len(runs), 1.3)
    low, high = band_of(bands(runs, without), runs[-1])
    assert low < 1 / 1.29 and high > 1.29


def test_near_duplicates_and_large_sources_count_once():
    runs, without = draw(8, 6, seed=4)
    twice = numpy.tile(numpy.arange(len(runs)), 2)
    again = bands([runs[i] for i in twice], {key: ratio[twice] for key, ratio in without.items()})
    # Steps of the quantiles halve: what lies between two runs moves a little.
    assert again == pytest.approx(bands(runs, without), rel=0.01)


def test_sources_of_experts_count_the_same_whatever_they_hold():
    runs = [{"set": name, "group": f"{name}|{i}", "experts": experts, "software": "megatron"}
            for name, many, experts in (("large", 45, True), ("small", 5, True), ("dense", 5, False))
            for i in range(many)]  # fmt: skip
    right = numpy.ones(len(runs))
    known = numpy.where([run["set"] == "small" for run in runs], 0.7, 1.0)
    found = bands(runs, {"fold": known, "source": right, "model family": right, "software": right})
    # Half of the sources that are known are off, though a tenth of their runs.
    assert band_of(found, runs[0])[0] == pytest.approx(0.7, abs=0.01)


def test_software_without_runs_has_the_band_of_all():
    runs, without = draw(12, 6, seed=5, software=("fsdp", "megatron"))
    found = bands(runs, without)
    assert band_of(found, {"software": "xla", "experts": False}) == (found["all/band_low"], found["all/band_high"])
    own = {key for key in found if key.startswith("software.")}
    assert own == {f"software.{name}/band_{side}" for name in ("fsdp", "megatron") for side in ("low", "high")}
    assert band_of(found, {"software": "megatron-2025-flex", "experts": False})[0] == found["software.megatron/band_low"]


def test_coverage_is_that_of_the_bands():
    runs, without = draw(60, 8, seed=6)
    rows = {row["title"]: row for row in coverage(runs, without)}
    assert rows["dense, mean of sets"]["known"] > 0.85
    assert 0.55 < rows["dense, mean of sets"]["unseen"] < 0.8
    assert sum(row["n"] for title, row in rows.items() if title.startswith("s")) == len(runs)


def test_quantiles_hold_the_forecast_itself():
    assert outer(numpy.array([1.2, 1.3]), numpy.array([1.0, 1.0])) == (1.0, pytest.approx(1.3))
    assert outer(numpy.array([0.9, numpy.nan]), numpy.array([1.0, 5.0])) == (0.9, 1.0)


def test_the_band_of_an_unstated_software_spans_softwares_not_runs():
    off = {"fsdp": 1.5, "megatron": 1.0, "megatron-2021": 0.7}
    runs = [{"set": f"{name}{source}", "group": f"{name}{source}|{i}", "experts": False, "software": name}
            for name, many in (("fsdp", 3), ("megatron", 40), ("megatron-2021", 3))
            for source in range(4) for i in range(many)]  # fmt: skip
    ratio = numpy.array([off[run["software"]] for run in runs])
    low, high = unstated(runs, ratio)["dense"]
    # Whatever most runs are of: each source counts about once.
    assert low == pytest.approx(0.7, abs=0.01) and high == pytest.approx(1.5, abs=0.01)
    assert set(unstated(runs, ratio)) == {"dense"}
    rows = {row["set"]: row for row in unstated_coverage(runs, ratio)}
    assert rows["megatron0"]["known"] == 1 and rows["fsdp0"]["unseen"] == 1
    alone = [run for run in runs if run["software"] != "fsdp" or run["set"] == "fsdp0"]
    lonely = {row["set"]: row for row in unstated_coverage(alone, numpy.array([off[run["software"]] for run in alone]))}
    assert lonely["fsdp0"]["unseen"] == 0  # no other source tells of it


def test_memory_of_sources_that_are_off_one_way_widens_both_sides_by_half():
    runs = [{"set": name, "group": f"{name}|{i}", "experts": False} for name, many in (("large", 30), ("small", 4)) for i in range(many)]
    ratio = numpy.array([1.0 if run["set"] == "large" else 1.2 for run in runs])
    low, high = memory_band(runs, ratio)
    assert high == pytest.approx(1.2, abs=0.01) and low == pytest.approx(1 / 1.2, abs=0.01)
    rows = {row["set"]: row for row in memory_coverage(runs, ratio)}
    assert rows["small"]["known"] == 1 and rows["small"]["unseen"] == 0


def pairs_of(off, seed, sources=6, problems=40, plans=3):
    """Problems of a few plans each, whose measured times are off the forecasts by so much."""
    random = numpy.random.default_rng(seed)
    runs, measured, forecast = [], [], []
    for source in range(sources):
        for problem in range(problems):
            shared = random.normal(0, 0.5)  # what all plans of one problem are off by
            for plan in range(plans):
                runs.append({"set": f"s{source}", "problem": f"p{problem}", "plan": str(plan)})
                forecast.append(numpy.exp(random.uniform(0, 0.1)))
                measured.append(forecast[-1] * numpy.exp(shared + random.normal(0, off)))
    return runs, numpy.array(measured), numpy.array(forecast)


def test_a_tie_is_what_a_third_of_the_pairs_turn_round():
    runs, measured, forecast = pairs_of(off=0.05, seed=7)
    factor, pairs, problems = turned(runs, measured, forecast, nearest=1)
    assert pairs == 6 * 40 * 3 and problems == 6 * 40
    # Pairs that are apart by the factor: how many come out the other way round.
    tie, close = numpy.log(factor), 0.004
    fresh, measured, forecast = pairs_of(off=0.05, seed=8, problems=4000)
    apart = numpy.log(forecast[0::3] / forecast[1::3])
    some = numpy.abs(numpy.abs(apart) - tie) < close
    round_ = numpy.sign(numpy.log(measured[0::3] / measured[1::3])) != numpy.sign(apart)
    assert some.sum() > 500 and numpy.mean(round_[some]) == pytest.approx(1 / 3, abs=0.03)
    # What all plans of a problem are off by tells nothing of them.
    assert tie < 0.05
    assert turned(*pairs_of(off=0.0, seed=9), nearest=1)[0] == pytest.approx(1, abs=1e-9)
    same, *numbers = pairs_of(off=0.05, seed=10)
    for run in same:
        run["plan"] = "the same"
    with pytest.raises(ValueError):
        turned(same, *numbers, nearest=1)


@pytest.fixture(scope="module")
def program():
    program = os.environ.get("FLOPCAST_CLI")
    if not program:
        pytest.skip("FLOPCAST_CLI names no command")
    return Path(program)


@pytest.fixture(scope="module")
def catalogue():
    return (ROOT / "catalog/training/bands.toml").read_text(encoding="utf-8")


def test_the_catalogues_band_of_memory_is_that_of_the_measured_runs(program, catalogue):
    told = forecasts(program, [ROOT / "tests/data/training.json", ROOT / "tests/data/training_memory.json"])
    assert toml_of_memory(told) in catalogue


def test_the_catalogues_ties_are_those_of_the_measured_pairs(program, catalogue):
    shared = Path(os.environ.get("FLOPCAST_SHARED", ROOT.parent / "shared")) / "measured"
    names = ("training.json", "training_more.json", "training_vtrain.csv", "training_third.json")
    if not all((shared / name).exists() for name in names):
        pytest.skip("not all measured runs are here")
    assert toml_of_ties(forecasts(program, [shared / name for name in names])) in catalogue
