#!/usr/bin/env python3
"""Writes catalog/operators/CHIP.toml: how fast two chips are at each class of operators, from models recorded on both.

    tools/fit_operators.py --shared ../shared --out catalog/operators

Both recordings of a pair list the same operators in the same order, so every operator has a true ratio. Several forms of
the relation are fitted; each is judged by leaving whole models out and forecasting their operators from the others, either
way. The form whose worst left-out model is best is written, with the spread that its left-out operators had.
"""

from __future__ import annotations

import argparse
import difflib
import gzip
import json
import math
import statistics
import tomllib
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path

FIRST, SECOND = "h100-sxm", "mi300x"
LANES = 128  # of a core of either: what does two FLOP of fp32 a cycle
PEAKS = {  # of the catalogue: bytes a second, FLOP/s of bf16; cycles a second of all cores, out of FLOP/s of fp32
    FIRST: {"bandwidth": 3350e9, "matrix": 989.4e12, "cores": 66.9e12 / (2 * LANES)},
    SECOND: {"bandwidth": 5300e9, "matrix": 1307.4e12, "cores": 163.4e12 / (2 * LANES)},
}
# Model, and its recordings on either chip.
PAIRS = {
    "bert": "single_gpu_h100_mi300/{}_gaunernst_bert-small-uncased__1016001.json.gz",
    "qwen": "single_gpu_h100_mi300/{}_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
    "vit": "gpu_pairs_h100_mi300/{}_Falconsai_nsfw_image_detection__1016002.json.gz",
    "timesformer": "gpu_pairs_h100_mi300/{}_facebook_timesformer-base-finetuned-k400__1016002.json.gz",
}
SOURCE = "AMD-AGI/TraceLens (MIT): bert-small, Qwen1.5-0.5B, ViT, TimeSformer on H100 and MI300X, PyTorch, bf16"
BYTES = {"c10::BFloat16": 2, "c10::Half": 2, "float": 4, "long int": 8, "int": 4, "bool": 1, "double": 8}
ALIGNED = 16  # bytes: what the fast kernels load at a time
TINY = 16  # rows or columns: no tile is smaller
SHORT_US = 10.0
KEPT = 0.85  # share of left-out operators within the spread
NEVER_LESS = {True: 1.3, False: 1.15}  # spread of the best known class, of short kernels and of long ones
NEVER_MEASURED = 2.0  # spread of a class of which neither chip was measured


@dataclass(frozen=True)
class Operator:
    model: str
    kind: str
    rate: str
    work: float  # bytes, FLOP or elements; 0: not known
    first_us: float
    second_us: float
    times: int = 1


@dataclass
class Recorded:
    """An operator that launches work itself, with what it launched."""

    name: str
    dims: list
    types: list
    kernels: list[dict] = field(default_factory=list)

    def sizes(self) -> list[tuple[list[int], int]]:
        found = []
        for dims, kind in zip(self.dims or [], self.types or []):
            if dims and isinstance(dims[0], list):
                found += [(one, 2) for one in dims]
            elif kind in BYTES and dims:
                found.append((dims, BYTES[kind]))
        return found

    def time_us(self) -> float:
        return sum(kernel["dur"] for kernel in self.kernels if not split_k_flag(kernel))


def split_k_flag(kernel: dict) -> bool:
    """cuBLAS clears a few bytes before products that it splits: part of no other library's work."""
    return kernel["cat"] == "gpu_memset" and kernel["args"].get("bytes", 0) <= 4096


def operators_of(path: Path) -> list[Recorded]:
    """In the order in which they were called."""
    with gzip.open(path) as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    rows = sorted((e for e in events if e.get("cat") == "cpu_op"), key=lambda e: (e["ts"], -e["dur"]))
    calls = {}
    for event in events:
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event["args"]:
            calls.setdefault(event["args"]["correlation"], event)
    inner = innermost(rows, calls)
    found: dict[int, Recorded] = {}
    work = [e for e in events if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    for event in sorted(work, key=lambda e: e["ts"]):
        row = inner.get(event["args"].get("correlation"))
        if row is None:
            continue
        arguments = row["args"]
        key = arguments["External id"]
        if key not in found:
            found[key] = Recorded(
                row["name"].removeprefix("aten::"), arguments.get("Input Dims"), arguments.get("Input type")
            )
        found[key].kernels.append(event)
    return list(found.values())


def innermost(rows: list[dict], calls: dict[int, dict]) -> dict[int, dict]:
    """The operator around each call, by correlation."""
    inner: dict[int, dict] = {}
    for thread in {row["tid"] for row in rows}:
        own = [row for row in rows if row["tid"] == thread]
        stack: list[dict] = []
        at = 0
        for correlation, call in sorted(calls.items(), key=lambda one: one[1]["ts"]):
            if call["tid"] != thread:
                continue
            while at < len(own) and own[at]["ts"] <= call["ts"]:
                while stack and stack[-1]["ts"] + stack[-1]["dur"] <= own[at]["ts"]:
                    stack.pop()
                stack.append(own[at])
                at += 1
            while stack and stack[-1]["ts"] + stack[-1]["dur"] <= call["ts"]:
                stack.pop()
            if stack:
                inner[correlation] = stack[-1]
    return inner


def class_of(operator: Recorded, classes: list[dict]) -> dict | None:
    main = max(operator.kernels, key=lambda kernel: kernel["dur"])
    name = main["name"].lower()
    if "htod" in name or "dtoh" in name:
        return None
    by_operator = next((one for one in classes if operator.name in one["operators"]), None)
    if by_operator and by_operator["rate"] == "matrix":
        return gemm_class(operator, by_operator, classes)
    by_name = next((one for one in classes if any(word in name for word in one["kernels"])), None)
    return by_name or by_operator


def gemm_class(operator: Recorded, plain: dict, classes: list[dict]) -> dict:
    if plain["name"] == "convolution":
        channels, width = operator.sizes()[0][0][1], operator.sizes()[0][1]
        kind = "odd convolution" if channels * width % ALIGNED else "convolution"
        return next(one for one in classes if one["name"] == kind)
    if plain["name"] != "gemm":
        return plain
    batch, m, n, k, width = gemm_shape(operator)
    kind = "gemm"
    if batch > 1 and max(m, n) <= TINY:
        kind = "tiny gemm"
    elif batch > 1 and min(m, n) <= TINY:
        kind = "thin gemm"
    elif n * width % ALIGNED or k * width % ALIGNED:
        kind = "odd gemm"
    return next(one for one in classes if one["name"] == kind)


def gemm_shape(operator: Recorded) -> tuple[int, int, int, int, int]:
    matrices = [(dims, width) for dims, width in operator.sizes() if len(dims) >= 2]
    (a, width), (b, _) = matrices[-2], matrices[-1]
    return (a[0] if len(a) == 3 else 1), a[-2], b[-1], a[-1], width


def work_of(operator: Recorded, kind: dict) -> float:
    given = operator.sizes()
    if not given or kind["name"] == "gather":
        return 0
    if kind["name"] == "attention":
        batch, queries, heads, width = given[0][0]
        return 4.0 * batch * queries * given[1][0][1] * heads * width
    if "convolution" in kind["name"]:
        image, filters = given[0][0], given[1][0]
        places = prod(image[2:]) / prod(filters[2:])  # of patches beside each other
        return 2.0 * image[0] * places * prod(filters)
    if kind["rate"] == "matrix":
        batch, m, n, k, _ = gemm_shape(operator)
        return 2.0 * batch * m * n * k
    largest = max(prod(dims) for dims, _ in given)
    if kind["rate"] == "cores":
        return sum(prod(dims) for dims, _ in given) if kind["name"] == "cat" else largest
    read = sum(prod(dims) * width for dims, width in given)
    if kind["name"] == "reduction" or operator.name == "copy_":
        return read
    return read + largest * max(width for dims, width in given if prod(dims) == largest)


def pair_up(model: str, first: list[Recorded], second: list[Recorded], classes: list[dict]) -> list[Operator]:
    """One entry for each kind of operator and shape: medians."""
    alike = difflib.SequenceMatcher(None, [o.name for o in first], [o.name for o in second], autojunk=False)
    times: dict[tuple, list[tuple[float, float]]] = defaultdict(list)
    known: dict[tuple, tuple[dict, float]] = {}
    for block in alike.get_matching_blocks():
        for i in range(block.size):
            a, b = first[block.a + i], second[block.b + i]
            # Convolutions have another name on either chip, and another list of arguments.
            if sorted(d for d, _ in a.sizes()) != sorted(d for d, _ in b.sizes()):
                continue
            kind = class_of(a, classes)
            if kind is None:
                continue
            key = (kind["name"], a.name, json.dumps(a.dims), max(a.kernels, key=lambda k: k["dur"])["name"])
            times[key].append((a.time_us(), b.time_us()))
            known[key] = kind, work_of(a, kind)
    for a, b in convolutions(first, second):
        kind = class_of(a, classes)
        assert kind is not None
        key = (kind["name"], a.name, json.dumps(a.dims), "")
        times[key].append((a.time_us(), b.time_us()))
        known[key] = kind, work_of(a, kind)
    return [
        Operator(
            model,
            known[key][0]["name"],
            known[key][0]["rate"],
            known[key][1],
            statistics.median(t[0] for t in some),
            statistics.median(t[1] for t in some),
            len(some),
        )
        for key, some in times.items()
    ]


def convolutions(first: list[Recorded], second: list[Recorded]) -> list[tuple[Recorded, Recorded]]:
    return list(zip([o for o in first if "convolution" in o.name], [o for o in second if "convolution" in o.name]))


# --- Forms -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Form:
    """second = second floor + ratio (first - first floor); floors of a family of classes, ratios of a class.

    A class's ratio is drawn to its family's by `pull`: what few operators say of it counts less. With `floors` False
    there are none.
    """

    floors: bool
    pull: float
    weight: float  # operators count by the time they take, to this power

    def __str__(self) -> str:
        what = "floor and ratio" if self.floors else "ratio alone"
        return f"{what}, pull {self.pull:g}, weight time^{self.weight:g}"


FORMS = [Form(floors, pull, weight) for floors in (False, True) for pull in (0.05, 0.15, 0.4) for weight in (0.5, 0.75, 1.0)]
PULL_OF_SHORT = 10.0  # where no operator of a class is long enough to tell its ratio from its floor
RATIOS = [math.exp(-2 + i / 24) for i in range(145)]
FLOORS = {  # microseconds tried, of the first chip and of the second
    "memory": ((1.0, 1.5), (2.0, 2.5, 3.0, 3.5, 4.0, 5.0)),
    "product": ((3.0, 4.0, 5.0), (2.0, 3.0, 4.0, 5.0)),
    "attention": ((3.0, 5.0, 7.0), (5.0, 10.0, 15.0, 20.0)),
}


def family_of(kind: str, rate: str) -> str:
    if kind == "attention":
        return "attention"
    return "product" if rate == "matrix" else "memory"


@dataclass(frozen=True)
class Relation:
    """Of the classes of one family; `""` is the family's own ratio."""

    first_us: float
    second_us: float
    ratio: dict[str, float]

    def of(self, kind: str) -> float:
        """Of products that were never seen, that of ordinary ones."""
        return self.ratio.get(kind, self.ratio.get("gemm", self.ratio[""]))

    def second(self, kind: str, first_us: float) -> float:
        """A kernel shorter than the floor takes the floor; what is shorter than half of it is no launch as others are."""
        floor = self.second_us * min(2 * first_us / self.first_us, 1) if self.first_us else self.second_us
        return max(floor + self.of(kind) * max(first_us - self.first_us, 0), 0.01)

    def first(self, kind: str, second_us: float) -> float:
        floor = self.first_us * min(2 * second_us / self.second_us, 1) if self.second_us else self.first_us
        return max(floor + max(second_us - self.second_us, 0) / self.of(kind), 0.01)

    def error(self, operator: Operator) -> float:
        there = math.log(self.second(operator.kind, operator.first_us) / operator.second_us)
        back = math.log(self.first(operator.kind, operator.second_us) / operator.first_us)
        return (abs(there) + abs(back)) / 2


def weights_of(operators: list[Operator], power: float) -> dict[Operator, float]:
    """Models count alike, however many operators they have."""
    total: dict[str, float] = defaultdict(float)
    for one in operators:
        total[one.model] += (one.first_us * one.times) ** power
    return {one: (one.first_us * one.times) ** power / total[one.model] for one in operators}


def best_ratio(operators: list[Operator], weights: dict[Operator, float], first: float, second: float,
               prior: float, pull: float) -> tuple[float, float]:
    """Ratio and its loss."""
    best = (0.0, math.inf)
    total = sum(weights[one] for one in operators)
    for ratio in RATIOS:
        relation = Relation(first, second, {"": ratio})
        loss = sum(weights[one] * relation.error(one) for one in operators)
        loss += total * pull * abs(math.log(ratio / prior))
        if loss < best[1]:
            best = (ratio, loss)
    return best


def pull_of(operators: list[Operator], form: Form) -> float:
    return form.pull if any(one.first_us > 1.5 * SHORT_US for one in operators) else PULL_OF_SHORT


def fit_family(operators: list[Operator], weights: dict[Operator, float], family: str, form: Form,
               prior: float) -> Relation:
    tried = FLOORS[family] if form.floors else ((0.0,), (0.0,))
    best: tuple[float, Relation | None] = (math.inf, None)
    kinds = sorted({one.kind for one in operators})
    for first, second in product(*tried):
        own, loss = best_ratio(operators, weights, first, second, prior, pull_of(operators, form))
        ratios = {"": own}
        loss = 0.0
        for kind in kinds:
            some = [one for one in operators if one.kind == kind]
            ratios[kind], one_loss = best_ratio(some, weights, first, second, own, pull_of(some, form))
            loss += one_loss
        if loss < best[0]:
            best = (loss, Relation(first, second, ratios))
    if best[1] is None:
        raise SystemExit(f"no operators of family {family}")
    return best[1]


def fit(operators: list[Operator], form: Form) -> dict[str, Relation]:
    weights = weights_of(operators, form.weight)
    relations: dict[str, Relation] = {}
    for family in FLOORS:
        some = [one for one in operators if family_of(one.kind, one.rate) == family]
        # Attention is made of products.
        prior = relations["product"].of("gemm") if family == "attention" else 1.0
        relations[family] = fit_family(some, weights, family, form, prior)
    return relations


def relation_of(relations: dict[str, Relation], one: Operator) -> Relation:
    return relations[family_of(one.kind, one.rate)]


@dataclass(frozen=True)
class LeftOut:
    model: str
    there: float  # error of the GPU time, first to second chip
    back: float
    errors: tuple[tuple[Operator, float, float], ...]  # log(true / forecast) there and back


def leave_out(operators: list[Operator], form: Form) -> list[LeftOut]:
    results = []
    for model in PAIRS:
        relations = fit([one for one in operators if one.model != model], form)
        some = [one for one in operators if one.model == model]
        errors, sums = [], [0.0, 0.0, 0.0, 0.0]
        for one in some:
            relation = relation_of(relations, one)
            second, first = relation.second(one.kind, one.first_us), relation.first(one.kind, one.second_us)
            errors.append((one, math.log(one.second_us / second), math.log(one.first_us / first)))
            for i, value in enumerate((second, one.second_us, first, one.first_us)):
                sums[i] += value * one.times
        results.append(LeftOut(model, sums[0] / sums[1] - 1, sums[2] / sums[3] - 1, tuple(errors)))
    return results


def wrong(result: LeftOut) -> float:
    """Mean error of the operators by the time they take: what is too much here does not make up for too little there."""
    there = sum(abs(error) * one.first_us * one.times for one, error, _ in result.errors)
    back = sum(abs(error) * one.second_us * one.times for one, _, error in result.errors)
    return max(
        there / sum(one.first_us * one.times for one, _, _ in result.errors),
        back / sum(one.second_us * one.times for one, _, _ in result.errors),
    )


def worst(results: list[LeftOut]) -> float:
    return max(wrong(one) for one in results)


# --- What is written ---------------------------------------------------------------------------------


def weighted_quantile(values: list[tuple[float, float]], share: float) -> float:
    total, reached = sum(weight for _, weight in values), 0.0
    for value, weight in sorted(values):
        reached += weight
        if reached >= share * total:
            return value
    return max(value for value, _ in values)


def spread(results: list[LeftOut], chosen: list[str], short: bool) -> float | None:
    """Factor either way that holds KEPT of the left-out operators of these classes; models count alike."""
    values = []
    for result in results:
        own = [(one, there, back) for one, there, back in result.errors
               if one.kind in chosen and (one.first_us < SHORT_US) == short]
        total = sum(one.times for one, _, _ in own)
        values += [(abs(error), one.times / total) for one, there, back in own for error in (there, back)]
    return math.exp(weighted_quantile(values, KEPT)) if values else None


def share_of(operators: list[Operator], floor_us: float, rate: str) -> float:
    """What the first chip reaches of its rate, where the floor is little."""
    some = [one.work / ((one.first_us - floor_us) * 1e-6) / PEAKS[FIRST][rate]
            for one in operators if one.work > 0 and one.first_us > SHORT_US + floor_us]
    return statistics.median(some) if some else 0.0


def number(value: float) -> str:
    return f"{value:.3g}"


def chip_text(chip: str, operators: list[Operator], relations: dict[str, Relation], results: list[LeftOut],
              form: Form, classes: list[dict]) -> str:
    text = (
        f"# How fast {chip} is at classes of operators (classes.toml), by tools/fit_operators.py. Do not edit: fit again.\n"
        f"# A kernel takes floor_s and its work at `share` of the rate that bounds its class: of the bandwidth, of the matrix\n"
        f"# rate, or elements a cycle and core. spread: factor either way that held {KEPT:.0%} of the operators of models that\n"
        f"# were left out of the fit, [below {SHORT_US:g} us, above].\n"
        f"# Form: {form}.\n"
        f'format = 1\nchip = "{chip}"\nsource = "{SOURCE}"\n'
        f"# GPU time of models left out, forecast to {SECOND} and to {FIRST}:\n"
    )
    for one in results:
        text += f"#   {one.model}: {one.there:+.1%}, {one.back:+.1%}\n"
    for kind in classes:
        text += class_text(chip, kind, operators, relations, results)
    return text


def class_text(chip: str, kind: dict, operators: list[Operator], relations: dict[str, Relation],
               results: list[LeftOut]) -> str:
    name, rate = kind["name"], kind["rate"]
    some = [one for one in operators if one.kind == name]
    family = family_of(name, rate)
    relation = relations[family]
    alike = [one for one in operators if family_of(one.kind, one.rate) == family and one.rate == rate]
    share = share_of(some, relation.first_us, rate) or share_of(alike, relation.first_us, rate)
    floor = relation.first_us
    if chip == SECOND:
        share *= PEAKS[FIRST][rate] / PEAKS[SECOND][rate] / relation.of(name)
        floor = relation.second_us
    family_kinds = ["gemm"] if family == "product" else [one.kind for one in alike]
    models = sorted({one.model for one in some})
    spreads = []
    for short in (True, False):
        own, whole = spread(results, [name], short), spread(results, family_kinds, short)
        if len(models) == 1 and own:
            # Left out, its only model was forecast from other classes: how wrong those are of it, up to a limit.
            own = min(own, NEVER_MEASURED)
        # What one or two models say of a class says little of the next: the family's is the least then.
        known = [value for value in (own, whole if len(models) < 3 or own is None else None) if value]
        spreads.append(max([NEVER_LESS[short] if some else NEVER_MEASURED, *known]))
    return (
        f"\n[[class]]\nname = {json.dumps(name)}\nfloor_s = {number(floor * 1e-6)}\nshare = {number(share)}\n"
        f"spread = [{number(spreads[0])}, {number(spreads[1])}]\n"
        f"operators = {sum(one.times for one in some)}\nmodels = {len(models)}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--out", type=Path, required=True, help="folder that holds classes.toml")
    options = parser.parse_args()
    classes = tomllib.loads((options.out / "classes.toml").read_text(encoding="utf-8"))["class"]
    operators: list[Operator] = []
    for model, path in PAIRS.items():
        files = [options.shared / "traces" / path.format(chip) for chip in ("h100", "mi300")]
        operators += pair_up(model, operators_of(files[0]), operators_of(files[1]), classes)
    judged = []
    for form in FORMS:
        results = leave_out(operators, form)
        judged.append((worst(results), form, results))
        told = ", ".join(f"{one.model} {wrong(one):.3f}: {one.there:+.1%} {one.back:+.1%}" for one in results)
        print(f"{form}: worst {worst(results):.3f} ({told})")
    _, form, results = min(judged, key=lambda one: one[0])
    relations = fit(operators, form)
    print(f"chosen: {form}")
    for chip in (FIRST, SECOND):
        text = chip_text(chip, operators, relations, results, form, classes)
        (options.out / f"{chip}.toml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
