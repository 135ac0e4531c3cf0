#!/usr/bin/env python3
"""Writes docs/validation/training.md, its pictures and a table of every run, from runs of flopcast.

    tools/make_training_docs.py --flopcast build/release/flopcast --shared ../shared --out FILE
                                [--fit FIT.json]

FIT.json is what `tools/fit_training.py FILES... --hold-out --leave-out --families --ablation --json-out
FIT.json` writes; without it those tables are left out. No number in the page is typed.
"""

from __future__ import annotations

import collections
import csv
import json
import statistics
import sys
import tomllib
from pathlib import Path

import training_pictures
from docs_text import Program, folded, mean, page_parser, table

FILES = ("measured/training.json", "measured/training_more.json", "measured/training_vtrain.csv")
OWN = (Path(__file__).parents[1] / "tests/data/training_tpu.json",)  # runs whose configurations stand elsewhere
FIT_COMMAND = "tools/fit_training.py FILES... --hold-out --leave-out --families --ablation --json-out FIT.json"
LAUNCHES = Path(__file__).parents[1] / "catalog/training/launches.toml"
BIG_SET = 200  # runs of a set beyond which the page sums them up by model

Case = dict

# --- Errors ----------------------------------------------------------------------------------------


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def share_text(value: float) -> str:
    return f"{100 * value:.1f}"


def signed_text(value: float) -> str:
    return f"{100 * value:+.1f}"


ERROR_TITLES = ["runs", "mean abs. error %", "bias %", "p90 %", "worst %", "in band %"]


def error_cells(cases: list[Case]) -> list[str]:
    errors = [c["error"] for c in cases]
    sizes = [abs(e) for e in errors]
    in_band = mean([1.0 if c["in_band"] else 0.0 for c in cases])
    return [f"{len(cases):,}", share_text(mean(sizes)), signed_text(mean(errors)), share_text(quantile(sizes, 0.9)),
            share_text(max(sizes)), share_text(in_band)]  # fmt: skip


def mean_size(cases: list[Case]) -> float:
    return mean([abs(c["error"]) for c in cases])


def ranks(values: list[float]) -> list[float]:
    return [sum(o < v for o in values) + (sum(o == v for o in values) - 1) / 2 for v in values]


def spearman(a: list[float], b: list[float]) -> float | None:
    x, y = ranks(a), ranks(b)
    if len(set(x)) < 2 or len(set(y)) < 2:
        return None
    return statistics.correlation(x, y)


# --- The comparison: a constant utilisation --------------------------------------------------------


def chip_of(case: Case) -> str:
    return case["cluster"].split(" x ")[-1].split(",")[0]


def bits_of(case: Case) -> str:
    return {"fp32": "32", "tf32": "32", "bf16": "16", "fp16": "16", "nvfp4": "4"}.get(case["precision"], "8")


def best_constant(reached: list[float]) -> float:
    """The c for which forecasts reached / c are off by least on average: one of the values themselves."""
    return min(sorted(set(reached)), key=lambda c: sum(abs(r / c - 1) for r in reached))


def constant_utilisation(cases: list[Case]) -> list[Case]:
    """The same runs forecast by one hardware utilisation per chip and width of the data type, each the
    best for these very runs."""
    groups = collections.defaultdict(list)
    for case in cases:
        groups[chip_of(case), bits_of(case)].append(case)
    out = []
    for members in groups.values():
        # hfu of the forecast x forecast / measured is what the run reached.
        reached = [c["hfu"] * c["forecast_s"] / c["measured_s"] for c in members]
        constant = best_constant(reached)
        out += [{**c, "error": r / constant - 1, "in_band": False} for c, r in zip(members, reached)]
    return out


def comparison(titled: list[tuple[str, list[Case]]]) -> str:
    rows = []
    for title, some in titled:
        if some:
            ours, theirs = error_cells(some), error_cells(constant_utilisation(some))
            least = mean_size(constant_utilisation(some))
            # Alone of its chip and type, a run is met by its own constant.
            ratio = f"{mean_size(some) / least:.2f}" if least > 0 else "–"
            rows.append([title, ours[0], ours[1], *theirs[1:4], ratio])
    titles = ["", "runs", "forecast: mean %", "constant: mean %", "bias %", "p90 %", "forecast / constant"]
    return table(titles, rows)


# --- Ranking, memory, what was assumed -------------------------------------------------------------


def ranking(cases: list[Case]) -> str:
    """Rank correlation within groups of runs of one model."""
    groups = collections.defaultdict(list)
    for case in cases:
        if case["set"] == "bloom":
            groups[case["group"]].append(case)
    rows, found = [], []
    for group, members in sorted(groups.items()):
        if len(members) < 4:
            continue
        rho = spearman([c["throughput"] for c in members], [c["forecast_throughput"] for c in members])
        if rho is None:
            continue
        found.append(rho)
        rows.append([" / ".join(group.split("|")[1:]), str(len(members)), f"{rho:.2f}"])
    if not found:
        return "No group of four runs of one model.\n"
    rows.append(["median", "", f"{statistics.median(found):.2f}"])
    return table(["layers / hidden", "runs", "rank correlation"], rows)


MEMORY = ["weights", "gradients", "optimizer", "activations", "working", "buffers", "allocator"]


def memory(cases: list[Case]) -> str:
    some = [c for c in cases if "measured_memory_bytes" in c]
    if not some:
        return "No run reports its peak memory.\n"
    gib = lambda value: f"{value / 2**30:.1f}"  # noqa: E731
    by_set = collections.defaultdict(list)
    rows = []
    for case in some:
        error = case["memory_bytes"] / case["measured_memory_bytes"] - 1
        by_set[case["set"]].append(error)
        classes = case["memory_by_class_bytes"]
        rows.append([case["id"], gib(case["measured_memory_bytes"]), gib(case["memory_bytes"]), signed_text(error),
                     *[gib(classes[name]) for name in MEMORY]])  # fmt: skip
    by_set["all"] = [error for errors in by_set.values() for error in errors]
    sums = []
    for name, errors in by_set.items():
        sizes = [abs(e) for e in errors]
        sums.append([name, str(len(sizes)), share_text(mean(sizes)), signed_text(mean(errors)), share_text(max(sizes))])
    return table(["set", "runs", "mean abs. error %", "bias %", "worst %"], sums) + "\n" + folded(
        "Every run, GiB", table(["run", "measured", "forecast", "error %", *MEMORY], rows))  # fmt: skip


# --- Launches of sets that nobody has seen ------------------------------------------------------------


def rule_sets() -> list[str]:
    """Sets of runs in which rules on publishers' launches were found."""
    rules = tomllib.loads(LAUNCHES.read_text(encoding="utf-8"))
    lists = [rule.get("found_in", []) for key in ("compiled", "software", "layout", "launch") for rule in rules[key]]
    return sorted({name for found in lists for name in found})


def unseen_launches(program: Program, paths: list[Path], cases: list[Case]) -> str:
    """Errors of each such set as it is read, and without the rules that it alone tells of; those that do not differ are
    left out."""
    rows = []
    for name in rule_sets():
        seen = [c for c in cases if c["set"] == name]
        if not seen:
            continue
        found = program.json("validate", "training", *map(str, paths), "--set", name, "--unseen", name)["cases"]
        unseen = [c for c in found if "failure" not in c and c["quality"] != "C"]
        for experts, label in ((False, ""), (True, " (experts)")):
            both = [[c["error"] for c in some if c["experts"] == experts] for some in (seen, unseen)]
            if not all(both) or both[0] == both[1]:
                continue
            cells = [text for errors in both for text in (share_text(mean([abs(e) for e in errors])), signed_text(mean(errors)))]
            rows.append([name + label, f"{len(both[0]):,}", *cells])
    return table(["set", "runs", "mean abs. error %", "bias %", "without: mean abs. error %", "bias %"], rows)


# --- Cases -----------------------------------------------------------------------------------------


def case_rows(cases: list[Case]) -> str:
    titles = ["run", "plan", "software", "measured s", "forecast s", "band s", "error %", "assumed"]
    rows = [[c["id"], c["plan"], c["software"], f"{c['measured_s']:.4g}", f"{c['forecast_s']:.4g}",
             f"{c['low_s']:.4g}–{c['high_s']:.4g}", signed_text(c["error"]), "; ".join(c["assumed"])] for c in cases]  # fmt: skip
    return table(titles, rows)


def summed_rows(cases: list[Case]) -> str:
    groups = collections.defaultdict(list)
    for case in cases:
        groups[case["group"]].append(case)
    rows = [[group.replace("|", " / "), *error_cells(members)] for group, members in sorted(groups.items())]
    return table(["set / hidden / chips", *ERROR_TITLES], rows)


def all_cases(sets: dict[str, list[Case]], csv_name: str) -> str:
    text = f"Every run is in [{csv_name}]({csv_name}); sets of more than {BIG_SET} runs are summed up here.\n\n"
    for name, cases in sets.items():
        body = summed_rows(cases) if len(cases) > BIG_SET else case_rows(cases)
        text += folded(f"{name}: {len(cases)} runs, mean {error_cells(cases)[1]} %", body)
    return text


CSV_FIELDS = ["set", "id", "group", "quality", "experts", "cluster", "chips", "software", "precision", "plan", "measured_s",
              "forecast_s", "low_s", "high_s", "error", "in_band"]  # fmt: skip


def write_csv(path: Path, cases: list[Case]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, CSV_FIELDS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(cases)


# --- What the fit wrote ----------------------------------------------------------------------------


def fit_table(fit: dict | None, key: str) -> str:
    if fit is None or not fit.get(key):
        return f"Not in this copy of the page: made by `{FIT_COMMAND}`.\n"
    titles = ["", "runs", "mean abs. error %", "bias %", "p90 %"]
    number = lambda value, text: "–" if value is None else text(value)  # noqa: E731
    rows = [[e["title"], f"{e['n']:,}", f"median {e['rank']:.2f}", "", ""] if "rank" in e else
            [e["title"], f"{e['n']:,}", number(e.get("mean"), share_text),
             number(e.get("bias"), signed_text), number(e.get("p90"), share_text)]
            for e in fit[key]]  # fmt: skip
    return table(titles, rows)


def coverage_table(fit: dict | None) -> str:
    if fit is None or not fit.get("coverage"):
        return f"Not in this copy of the page: made by `{FIT_COMMAND}`.\n"
    rows = [[e["title"], f"{e['n']:,}", share_text(e["known"]), share_text(e["unseen"])] for e in fit["coverage"]]
    return table(["set", "runs", "source known, in band %", "source unseen, in band %"], rows)


# --- Reading ---------------------------------------------------------------------------------------


def files(shared: Path) -> list[Path]:
    return [*(shared / name for name in FILES), *OWN]


def sequences_per_step(shared: Path) -> dict[str, float]:
    paths = [path for path in files(shared) if path.suffix == ".json"]
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    cases = [c for document in documents for c in document["cases"]]
    return {c["id"]: c["batch"]["gbs"] for c in cases if c.get("batch", {}).get("gbs")}


def forecasts(program: Program, shared: Path) -> dict:
    documents = []
    for path in files(shared):
        if not path.is_file():
            sys.exit(f"{path}: not there")
        documents.append(program.json("validate", "training", str(path)))
    batches = sequences_per_step(shared)
    cases = [c for d in documents for c in d["cases"]]
    for case in cases:
        case["id"] = case["id"].split("/")[-1]  # rows of a CSV are named by its path
        work = batches.get(case["id"], 1.0) / case["chips"]
        if "failure" not in case:
            case["throughput"] = work / case["measured_s"]
            case["forecast_throughput"] = work / case["forecast_s"]
    answered = {c["id"] for c in cases}
    return {
        "cases": [c for c in cases if "failure" not in c and c["quality"] != "C"],
        "open": [c for c in cases if "failure" not in c and c["quality"] == "C"],
        "failed": [c for c in cases if "failure" in c],
        "incomplete": [c for d in documents for c in d["incomplete"] if c["id"] not in answered],
        "assumed": [a for d in documents for a in d["assumed"]],
        "unseen": unseen_launches(program, files(shared), [c for c in cases if "failure" not in c and c["quality"] != "C"]),
    }


def sets_of(cases: list[Case]) -> dict[str, list[Case]]:
    dense = {c["set"] for c in cases if not c["experts"]}
    sets = collections.defaultdict(list)
    for case in cases:
        sets[case["set"] + (" (experts)" if case["experts"] and case["set"] in dense else "")].append(case)
    return dict(sorted(sets.items()))


def open_plans(cases: list[Case]) -> str:
    if not cases:
        return "None.\n"
    rows = [[name, *error_cells(some)] for name, some in sets_of(cases).items()]
    return table(["set", *ERROR_TITLES], rows) + "\n" + folded("Every run", case_rows(cases))


def answered(found: dict) -> str:
    yes = len(found["cases"]) + len(found["open"])
    every = yes + len(found["failed"]) + len(found["incomplete"])
    return (
        f"{yes:,} of {every:,} runs ({100 * yes / every:.1f} %) are answered. The others leave out what nothing can fill in, "
        "contradict themselves, or cannot run as published."
    )


def left_out(found: dict) -> str:
    reasons = collections.Counter(c["why"] for c in found["incomplete"])
    reasons.update(c["failure"] for c in found["failed"])
    names = collections.defaultdict(list)
    for case in found["incomplete"]:
        names[case["why"]].append(case["id"])
    for case in found["failed"]:
        names[case["failure"]].append(case["id"])
    rows = []
    for why, count in reasons.most_common():
        rows.append([str(count), why, ", ".join(names[why][:3]) + (" …" if count > 3 else "")])
    return table(["runs", "why", "such as"], rows)


def assumed(found: dict) -> str:
    rows = [[str(a["runs"]), a["what"]] for a in sorted(found["assumed"], key=lambda a: -a["runs"])]
    return table(["runs", "what was taken"], rows) if rows else "Nothing.\n"


# --- The page --------------------------------------------------------------------------------------


def summary(cases: list[Case]) -> tuple[str, list[tuple[str, list[Case]]]]:
    vtrain = lambda c: c["set"].startswith("vtrain")  # noqa: E731
    dense = [c for c in cases if not c["experts"]]
    titled = [
        ("dense, quality A, without vTrain", [c for c in dense if c["quality"] == "A" and not vtrain(c)]),
        ("dense, quality A and B, without vTrain", [c for c in dense if not vtrain(c)]),
        ("dense, all", dense),
        ("experts", [c for c in cases if c["experts"]]),
    ]
    rows = [[title, *error_cells(some)] for title, some in titled if some]
    return table(["", *ERROR_TITLES], rows), titled


def page(program: Program, found: dict, fit: dict | None, stem: str) -> str:
    cases = found["cases"]
    sets = sets_of(cases)
    totals, titled = summary(cases)
    by_set = table(["set", *ERROR_TITLES], [[name, *error_cells(some)] for name, some in sets.items()])
    dense = [(title, some) for title, some in titled if title != "experts"]
    return f"""# Validation of training steps

Written by `./dev docs training` ({program.version()}); no number here is typed. Errors are
forecast / measured − 1: the mean of their sizes, their mean (*bias*), the 90 % quantile of their sizes;
*in band*: measured between the forecast's 10 % and 90 % quantiles. Runs are public ones: MLPerf logs, NVIDIA's
tables for NeMo and Megatron-Bridge, papers (Narayanan et al. 2021, Korthikanti et al. 2022), torchtitan,
llm-foundry, NVIDIA's DGX Cloud benchmarks, NeMo AutoModel, AMD's Primus, Google's MaxText on TPU v5e, the BLOOM sweep, vTrain. The model is described in [its theory](../theory/training.md).

Quality A: the whole configuration is published; B: one thing is missing and was assumed. Constants are fitted
to these runs, so the first tables say how well the model can follow them; what a run that no fit has seen
meets is under [held out](#held-out). The sets dgxc, automodel and primus entered the fit last; what one without
all three says of them is [there](#the-sets-collected-last), too. Of maxtext, one constant was read off (how fast TPUs
multiply under load), and none fitted.

## Errors

{totals}
![Forecast against measured]({stem}_parity.svg)

![Error by number of chips]({stem}_error.svg)

### Per set

{by_set}
## Held out

Each group of near-duplicate runs forecast by a fit without it (five folds):

{fit_table(fit, "held_out")}
Runs forecast by a fit that has seen none of the same source, chip generation, model family or year of software,
dense ones and those with experts (groups of four runs and more; vTrain's single nodes are left to the next table). Such a fit descends from
that of all runs by the slopes found there; what its runs say nothing of goes back to what is expected:

{fit_table(fit, "leave_out")}
Each family forecast by a fit that has seen none of it:

{fit_table(fit, "families")}
### Without what their launches told

What publishers started where runs do not tell is a rule of `catalog/training/launches.toml`, with the sets of runs that it was
found in. A set whose fit has never seen it is read without the rules that only it tells of; so are the sources, chips,
families and years above. What these rules are worth: errors under the catalogue's constants, with them and without:

{found["unseen"]}
### The sets collected last

Forecast by a fit of all the others, which started from what was expected of every constant. So no constant was fitted to
these runs; terms of the model were found by looking at them:

{fit_table(fit, "later")}
### Inside the band

Runs between the 10 % and 90 % quantiles of a forecast: by a fit without their group, which knows their source, under the
catalogue's bands; and by a fit without their source, under bands that rest on the other sources alone:

{coverage_table(fit)}
## What each term buys

Without one term, each group of near-duplicate runs forecast by a fit of all other constants (one Gauss-Newton step)
without that group: dense runs of quality A, then runs with experts.

{fit_table(fit, "ablation")}
## Against a constant utilisation

The forecast people make without a model: FLOPs, recompute included, over a constant share of the chip's peak, one
share per chip and width of the data type (32, 16, 8, 4 bits), each refitted to the very runs of the row so that
their mean absolute error is least. The model's constants are those of the catalogue.

{comparison(dense)}
## Ranking

Spearman's rank correlation of throughput per chip, forecast against measured, within sizes of the BLOOM
sweep with four runs or more (single iterations; repeated ones scatter by about 3 %):

{ranking(cases)}
## Peak memory

{memory(cases)}
## Open plans

Runs that leave their layout or their microbatch open (quality C). It is filled in as whoever ran them would have chosen: the
fastest that fits. Their errors say how good that guess is, too; they are in no table above, and no constant is fitted to them.

{open_plans(found["open"])}
## Left out

{answered(found)}

{left_out(found)}
## Assumed

What runs do not tell, and how it was taken:

{assumed(found)}
## Known defects of the data

- Identical dense configurations from different submitters and releases differ by 3 % (90 %: 11 %), identical
  configurations with experts by 7 % (90 %: 28 %): container releases change them by 1.3–1.7x.
- Some MLPerf v5.1 runs labelled fp8 take the time of nvfp4 ones (llama31_8b on 8 B200 by Oracle, Lenovo, Dell;
  llama2_70b_lora by Nebius on B300).
- Bridge 26.06.01 gpt-oss-120b on 64 GB200 and GB300 is 1.6x slower than the releases before and after.
- The BLOOM sweep gives single iterations, memory as `nvidia-smi` showed it, and one misprint (13824x84, tp 8, pp 6,
  microbatch 2: 65 GB, where microbatch 4 needs 56).
- vTrain's small models wait for the host; the profile's expected launch time was chosen with these runs in view.

## Every run

{all_cases(sets, stem + "_runs.csv")}"""


# Few enough groups of sets to tell colours apart.
PICTURED = {"sc21": "Megatron papers", "korth": "Megatron papers", "mlm": "Megatron papers", "lit": "other papers"}


def picture_groups(sets: dict[str, list[Case]]) -> dict[str, list[Case]]:
    groups = collections.defaultdict(list)
    for name, cases in sets.items():
        label = "experts" if cases[0]["experts"] else name.split("-")[0]
        groups[PICTURED.get(label, label)] += cases
    return dict(sorted(groups.items()))


def main() -> None:
    parser = page_parser(__doc__ or "")
    parser.add_argument("--fit", type=Path, help="JSON that tools/fit_training.py --json-out wrote")
    options = parser.parse_args()
    fit = json.loads(options.fit.read_text(encoding="utf-8")) if options.fit else None
    program = Program(options.flopcast)
    found = forecasts(program, options.shared)
    if not found["cases"]:
        sys.exit("no run could be forecast")
    stem = options.out.stem
    options.out.write_text(page(program, found, fit, stem), encoding="utf-8")
    write_csv(options.out.with_name(f"{stem}_runs.csv"), found["cases"])
    groups = picture_groups(sets_of(found["cases"]))
    parity = {n: [(c["measured_s"], c["forecast_s"]) for c in some] for n, some in groups.items()}
    errors = {n: [(float(c["chips"]), c["error"]) for c in some] for n, some in groups.items()}
    options.out.with_name(f"{stem}_parity.svg").write_text(training_pictures.parity(parity), encoding="utf-8")
    options.out.with_name(f"{stem}_error.svg").write_text(training_pictures.error_by_chips(errors), encoding="utf-8")
    print(options.out)


if __name__ == "__main__":
    main()
