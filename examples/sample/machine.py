"""What work takes on the made-up machine, in ns: rooflines of FLOPs and bytes, links of a latency and a
bandwidth. Nothing here comes from Flopcast, so that its forecasts can be held against it."""

from __future__ import annotations

import math

SMS = 132
FLOPS_PER_NS = 520e3  # of a GEMM in bf16
BYTES_PER_NS = 2.6e3  # of memory
LINK_BYTES_PER_NS = {"tp": 310.0, "dp": 180.0, "pp": 90.0, "mp": 180.0, "cp": 240.0, "ep": 150.0}
COLLECTIVE_LATENCY = {"tp": 9_000, "dp": 14_000, "pp": 12_000, "mp": 15_000, "cp": 10_000, "ep": 16_000}
LATENCY_AT = {"mp": 4}  # ranks for which the latency holds; 2 for the others
HOP_SHARE = 0.4  # of the latency that comes with each doubling of the ranks

LAUNCH_LATENCY = 6_200  # from the start of a launch call to the start of its kernel on an idle GPU
SYNC_LATENCY = 4_800  # from the end of a kernel to the return of the call that waits for it


def gemm(m: int, n: int, k: int) -> int:
    compute = 2 * m * n * k / FLOPS_PER_NS
    memory = 2 * (m * n + n * k + m * k) / BYTES_PER_NS
    return int(max(compute, memory)) + 2_000


def attention_forward(batch: int, queries: int, keys: int, width: int) -> int:
    return int(4 * batch * queries * keys * width / FLOPS_PER_NS * 1.6)


def attention_backward(batch: int, queries: int, keys: int, width: int) -> int:
    return int(10 * batch * queries * keys * width / FLOPS_PER_NS * 1.8)


def elementwise(elements: int, passes: int) -> int:
    return int(2 * elements * passes / BYTES_PER_NS) + 1_500


def transfer(kind: str, name: str, ranks: int, size: int) -> int:
    """A collective of this group, once everyone is there. `size`: bytes of the larger of in and out."""
    rounds = {"AllReduce": 2, "AllGather": 1, "ReduceScatter": 1, "AllToAll": 1}.get(name)
    factor = rounds * (ranks - 1) / ranks if rounds else 1  # a ring; else a message
    doublings = math.log2(ranks / LATENCY_AT.get(kind, 2))
    latency = COLLECTIVE_LATENCY[kind] * (1 + HOP_SHARE * doublings)
    return int(latency) + int(size * factor / LINK_BYTES_PER_NS[kind])
