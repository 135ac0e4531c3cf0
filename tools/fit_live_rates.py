#!/usr/bin/env python3
"""Writes catalog/live/rates.toml: what kernels that PyTorch brings along reach of a chip, from public recordings.

    tools/fit_live_rates.py --shared ../shared --out catalog/live/rates.toml

A class is told by the names of its kernels. What a kernel moves follows from the tensors that the recording says its
operator was given; kernels whose bytes would fit into the chip's cache are left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
from collections import defaultdict
from dataclasses import dataclass
from math import prod
from pathlib import Path

CORES = {"h100-sxm": 132, "v100-sxm2-32g": 80}
HERTZ = {"h100-sxm": 1.98e9, "v100-sxm2-32g": 1.53e9}
# Recording, chip of the catalogue, its bytes a second, what its cache holds.
RECORDINGS = (
    ("nanogpt_8xh100/rank0.json.gz", "h100-sxm", 3.35e12, 50e6),
    ("gpu_pairs_h100_mi300/h100_facebook_timesformer-base-finetuned-k400__1016002.json.gz", "h100-sxm", 3.35e12, 50e6),
    ("single_gpu_h100_mi300/h100_Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", "h100-sxm", 3.35e12, 50e6),
    ("resnet50_1xv100/num_workers_4.json.gz", "v100-sxm2-32g", 0.9e12, 6e6),
    ("torchrec_dlrm_4xv100/sst_long_a2a_optimizer_2.run2.rank0.json.gz", "v100-sxm2-32g", 0.9e12, 6e6),
)
# The first whose words a kernel's name has; a word that begins with "!" must be missing.
CLASSES = (
    ("contiguous", ("vectorized_elementwise_kernel",), "element by element, 16 bytes at a time"),
    ("strided", ("elementwise_kernel",), "element by element, with an address worked out for each"),
    ("cat", ("CatArrayBatchedCopy", "!vectorized"), "tensors put behind each other, element by element"),
    ("batch_norm", ("cudnn", "bn_"), "statistics of channels, then the result: two readings"),
    ("pool", ("max_pool_forward",), "largest of windows"),
    ("pool_backward", ("max_pool_backward",), "its gradient"),
    ("fill", ("Memset",), "cudaMemset"),
    ("copy", ("Memcpy DtoD",), "cudaMemcpy within the chip"),
)
# Bound by instructions: as many elements a cycle whatever their bytes are. No slower than this is a launch.
BY_ELEMENTS = {"strided", "cat"}
SHORTEST_S = 20e-6
# Of which no recording has one whose data does not fit the cache; they load and store as another class does.
ALIKE = (
    ("list", ("multi_tensor_apply",), "contiguous", "lists of tensors, chunk by chunk"),
    ("counted", ("counted ",), "contiguous", "what compilers made, whose loads and stores were counted"),
    ("split", ("split_with_sizes_copy_out",), "contiguous", "what FSDP gathered, taken apart"),
    ("chunks", ("chunk_cat_cuda_kernel",), "contiguous", "what FSDP scatters, put together"),
    ("wide cat", ("CatArrayBatchedCopy", "vectorized"), "contiguous", "tensors put behind each other, 16 bytes at a time"),
    ("reduction", ("reduce_kernel",), "contiguous", "sums, means, norms of tensors"),
    ("long rows", ("cunn_SoftMax",), "contiguous", "softmax of rows too long to be kept"),
    ("native batch_norm", ("batch_norm_",), "batch_norm", "PyTorch's own"),
)
# Attention of 16,384 tokens, 2,048 wide, heads of 128, in TFLOP/s at 4,096 and 8,192 tokens a sequence, as the figures 5
# and 6 of FlashAttention-3 (Shah et al. 2024, arXiv:2407.08608) have it for an H100 SXM5. What is causal backward was not
# measured: it is taken to lose what it loses forward.
FLASH_2 = {"forward": (319, 333), "full": (368, 370), "backward": (310, 318)}
FLASH_3 = {"forward": (579, 602), "full": (638, 646), "backward": (542, 559)}
ATTENTION = {
    "pytorch_flash": FLASH_2,
    "cudnn attention": {"forward": (518, 529), "full": (609, 600), "backward": (499, 518)},
    "flash_fwd": FLASH_2,  # of flash-attn and its copies
    "flash_bwd": FLASH_2,
    "FlashAttnFwdSm90": FLASH_3,
    "FlashAttnBwdSm90": FLASH_3,
}
BYTES = {"float": 4, "c10::BFloat16": 2, "c10::Half": 2, "long int": 8, "int": 4, "bool": 1, "double": 8}
LIST_BYTES = 2  # of lists recordings do not tell the type: those that have any were made in bf16
INDEX_BYTES = 8
SUM_OF_ALL = {"copy_", "clamp_min"}  # the output is among what they were given


@dataclass(frozen=True)
class Point:
    chip: str
    rate: float  # share of the bandwidth, or elements a cycle of a core


def tensors(operator: dict) -> list[int]:
    """Bytes of each that the operator was given."""
    arguments = operator["args"]
    sizes = arguments.get("Input Dims") or []
    types = arguments.get("Input type") or []
    found = []
    for size, kind in zip(sizes, types):
        if kind == "TensorList":
            found += [prod(one) * LIST_BYTES for one in size]
        elif kind in BYTES and size:
            found.append(prod(size) * BYTES[kind])
    return found


def moved(kind: str, operator: dict) -> float:
    given = tensors(operator)
    name = operator["name"].removeprefix("aten::")
    if not given:
        return 0
    if kind == "cat":
        return 2 * sum(given)
    if kind == "batch_norm":
        large = sum(one for one in given if one == max(given))
        return 2 * large + max(given)
    if kind == "pool":
        windows = given[0] / 4  # every second place of two directions
        return given[0] + windows + windows / BYTES["float"] * INDEX_BYTES
    if kind == "pool_backward":
        return given[0] + given[0] / BYTES["float"] * INDEX_BYTES + given[1]
    if name == "fill_":
        return given[0]
    return sum(given) if name in SUM_OF_ALL else sum(given) + max(given)


def elements(kind: str, operator: dict) -> int:
    """Those that are written."""
    sizes = [size for size in operator["args"].get("Input Dims") or [] if size]
    if kind == "cat":
        return sum(prod(one) for one in sizes[0])
    return max((prod(size) for size in sizes), default=0)


def class_of(name: str) -> str | None:
    for kind, words, _ in CLASSES:
        if all((word[1:] not in name) if word[0] == "!" else (word in name) for word in words):
            return kind
    return None


def events_of(path: Path) -> list[dict]:
    with gzip.open(path) as file:
        document = json.load(file)
    return document["traceEvents"] if isinstance(document, dict) else document


def operator_of(event: dict) -> int | None:
    arguments = event.get("args") or {}
    return arguments.get("External id", arguments.get("external id"))


def points_of(path: Path, chip: str, bandwidth: float, cache: float) -> dict[str, list[Point]]:
    """One for each kernel and shape: its median."""
    events = events_of(path)
    operators = {operator_of(e): e for e in events if e.get("cat", "").lower() in ("cpu_op", "operator")}
    times: dict[tuple, list[float]] = defaultdict(list)
    for event in events:
        if event.get("cat", "").lower() not in ("kernel", "gpu_memset", "gpu_memcpy"):
            continue
        kind, operator = class_of(event["name"]), operators.get(operator_of(event))
        if kind in BY_ELEMENTS and operator:
            amount = elements(kind, operator) if event["dur"] * 1e-6 > SHORTEST_S else 0
        elif kind in ("fill", "copy"):
            amount = event["args"].get("bytes", 0) * (1 if kind == "fill" else 2)
        elif kind and operator:
            amount = moved(kind, operator)
        else:
            continue
        if amount > (0 if kind in BY_ELEMENTS else 1.4 * cache):
            shape = str(operator["args"].get("Input Dims")) if operator else ""
            times[kind, event["name"], shape, amount].append(event["dur"] * 1e-6)
    found: dict[str, list[Point]] = defaultdict(list)
    for (kind, *_, amount), seconds in times.items():
        most = CORES[chip] * HERTZ[chip] if kind in BY_ELEMENTS else bandwidth
        found[kind].append(Point(chip, amount / statistics.median(seconds) / most))
    return found


def spread(rates: list[float], middle: float) -> float:
    return statistics.mean(abs(middle / rate - 1) for rate in rates)


def rate_text(kind: str, middle: float) -> str:
    return f'like = "contiguous"\nelements = {middle:.3g}\n' if kind in BY_ELEMENTS else f"share = {middle:.3f}\n"


def memory_text(points: dict[str, list[Point]]) -> str:
    text = ""
    for kind, words, meaning in CLASSES:
        rates = [point.rate for point in points.get(kind, [])]
        if not rates:
            continue
        middle = statistics.median(rates)
        chips = sorted({point.chip for point in points[kind]})
        text += (
            f"\n[[memory]]  # {meaning}\nname = {json.dumps(kind)}\nkernels = {json.dumps(list(words))}\n"
            f"{rate_text(kind, middle)}points = {len(rates)}\nerror = {spread(rates, middle):.3f}\n"
            f"chips = {json.dumps(chips)}\n"
        )
    for kind, words, other, meaning in ALIKE:
        text += (
            f"\n[[memory]]  # {meaning}\nname = {json.dumps(kind)}\nkernels = {json.dumps(list(words))}\n"
            f"like = {json.dumps(other)}\n"
        )
    return text


def attention_text() -> str:
    text = ""
    for kind, rates in ATTENTION.items():
        forward = statistics.mean(rates["forward"])
        lost = forward / statistics.mean(rates["full"])
        backward = statistics.mean(rates["backward"]) * lost
        text += (
            f'\n[[attention]]\nkernel = "{kind}"\nchip = "h100-sxm"\nforward_flops = {forward * 1e12:.4g}\n'
            f'backward_flops = {backward * 1e12:.4g}\nsource = "arXiv:2407.08608, figures 5 and 6"\n'
        )
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=Path("../shared"))
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    points: dict[str, list[Point]] = defaultdict(list)
    for name, chip, bandwidth, cache in RECORDINGS:
        for kind, some in points_of(options.shared / "traces" / name, chip, bandwidth, cache).items():
            points[kind] += some
    head = (
        "# What kernels that PyTorch and its libraries bring along reach of a chip, by tools/fit_live_rates.py.\n"
        "# memory: share of the bandwidth, where the data does not fit the cache; elements: written a cycle by a core;\n"
        "# kernels: words of their names, \"!\" before one that must be missing; the first class counts. attention: FLOP/s of 4,096 to 8,192 tokens, causal, heads of 128.\n"
    )
    options.out.write_text(head + memory_text(points) + attention_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
