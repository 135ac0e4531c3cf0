"""Kernels written in Triton beside PyTorch's own of the same work: prints the milliseconds that each takes."""

import glob
import json
import os
import sys

import torch
import triton
import triton.language as tl
from torch.nn.attention.flex_attention import BlockMask, flex_attention
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def multiply(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        along = k + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + along[None, :], mask=along[None, :] < K, other=0.0)
        b = tl.load(b_ptr + along[:, None] * N + columns[None, :], mask=along[:, None] < K, other=0.0)
        sums = tl.dot(a, b, sums)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], sums.to(tl.bfloat16))


@triton.jit
def described(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a.load([row, k]), b.load([k, column]), sums)
    c.store([row, column], sums.to(tl.bfloat16))


@triton.jit
def grouped(starts, sizes, c_starts, groups, BM: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr):
    tile = tl.program_id(0)
    end = 0
    for group in range(groups):
        size = tl.load(sizes + group)
        across = tl.cdiv(size, BM)
        while tile >= end and tile < end + across * across:
            a_ptr = tl.load(starts + group).to(tl.pointer_type(tl.bfloat16))
            c_ptr = tl.load(c_starts + group).to(tl.pointer_type(tl.bfloat16))
            rows = ((tile - end) // across) * BM + tl.arange(0, BM)
            columns = ((tile - end) % across) * BM + tl.arange(0, BM)
            sums = tl.zeros((BM, BM), tl.float32)
            for k in range(0, size, BK):
                along = k + tl.arange(0, BK)
                a = tl.load(a_ptr + rows[:, None] * size + along[None, :])
                b = tl.load(a_ptr + along[:, None] * size + columns[None, :])
                sums += tl.dot(a, b)
            tl.store(c_ptr + rows[:, None] * size + columns[None, :], sums.to(tl.bfloat16))
            tile += PROGRAMS
        end += across * across


@triton.jit
def attend(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    first = tl.program_id(0) * BM
    head = tl.program_id(1).to(tl.int64) * T * D
    rows = first + tl.arange(0, BM)
    wide = tl.arange(0, D)
    q = tl.load(q_ptr + head + rows[:, None] * D + wide[None, :])
    out = tl.zeros((BM, D), tl.float32)
    most = tl.zeros((BM,), tl.float32) - float("inf")
    weight = tl.zeros((BM,), tl.float32)
    end = T
    if CAUSAL:
        end = first + BM
    for n in range(0, end, BN):
        keys = n + tl.arange(0, BN)
        scores = tl.dot(q, tl.load(k_ptr + head + keys[None, :] * D + wide[:, None])) * scale
        if CAUSAL:
            scores = tl.where(rows[:, None] >= keys[None, :], scores, -1e6)
        now = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - now[:, None])
        rest = tl.exp2(most - now)
        weight = weight * rest + tl.sum(weights, 1)
        values = tl.load(v_ptr + head + keys[:, None] * D + wide[None, :])
        out = tl.dot(weights.to(tl.bfloat16), values, out * rest[:, None])
        most = now
    tl.store(o_ptr + head + rows[:, None] * D + wide[None, :], (out / weight[:, None]).to(tl.bfloat16))


@triton.jit
def softmax(out, x, C, B: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, B)
    value = tl.load(x + row * C + columns, mask=columns < C, other=-float("inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * C + columns, value / tl.sum(value, axis=0), mask=columns < C)


@triton.jit
def normalize(out, x, w, C, eps, B: tl.constexpr):
    row = tl.program_id(0)
    sums = tl.zeros([B], tl.float32)
    for begin in range(0, C, B):
        columns = begin + tl.arange(0, B)
        sums += tl.load(x + row * C + columns, mask=columns < C, other=0.0).to(tl.float32)
    mean = tl.sum(sums, axis=0) / C
    squares = tl.zeros([B], tl.float32)
    for begin in range(0, C, B):
        columns = begin + tl.arange(0, B)
        value = tl.load(x + row * C + columns, mask=columns < C, other=0.0).to(tl.float32) - mean
        squares += tl.where(columns < C, value * value, 0.0)
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / C + eps)
    for begin in range(0, C, B):
        columns = begin + tl.arange(0, B)
        mask = columns < C
        value = (tl.load(x + row * C + columns, mask=mask).to(tl.float32) - mean) * scale
        tl.store(out + row * C + columns, value * tl.load(w + columns, mask=mask), mask=mask)


@triton.jit
def plus(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


def taken(work, times: int = 10) -> float:
    work()
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(times):
        work()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / times


def empty(*shape, dtype=torch.bfloat16):
    return torch.empty(*shape, device="cuda", dtype=dtype)


def products():
    for m, n, k in ((4096, 4096, 4096), (8192, 8192, 16384), (16384, 2048, 8192)):
        a, b, c = empty(m, k), empty(k, n), empty(m, n)
        own = taken(lambda: torch.mm(a, b, out=c))
        grid = (m // 128, n // 128)
        yield f"product {m} {n} {k}", 2 * m * n * k, taken(lambda: multiply[grid](a, b, c, m, n, k, 128, 128, 64)), own
        blocks = ((a, [128, 64]), (b, [64, 128]), (c, [128, 128]))
        maps = [TensorDescriptor.from_tensor(tensor, block) for tensor, block in blocks]
        yield f"described {m} {n} {k}", 2 * m * n * k, taken(lambda: described[grid](*maps, k, 128, 128, 64)), own
    sizes = (1024, 2048, 4096)
    all_a = [empty(size, size) for size in sizes]
    all_c = [torch.empty_like(a) for a in all_a]
    starts, c_starts = (torch.tensor([t.data_ptr() for t in list_], device="cuda") for list_ in (all_a, all_c))
    counts = torch.tensor(sizes, dtype=torch.int32, device="cuda")
    own = taken(lambda: [torch.mm(a, a, out=c) for a, c in zip(all_a, all_c)])
    mine = taken(lambda: grouped[(132,)](starts, counts, c_starts, len(sizes), 128, 64, 132))
    yield "grouped", sum(2 * size**3 for size in sizes), mine, own


def attentions():
    for batch, heads, tokens, causal in ((1, 32, 8192, True), (2, 16, 8192, False)):
        q = empty(batch, heads, tokens, 128)
        out = torch.empty_like(q)
        own = taken(lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=causal))
        grid = (tokens // 128, batch * heads)
        mine = taken(lambda: attend[grid](q, q, q, out, 0.1, tokens, 128, 128, 64, causal))
        flops = 4 * batch * heads * tokens**2 * 128 // (2 if causal else 1)
        yield f"attention {'causal' if causal else 'whole'}", flops, mine, own


def compiled_attention():
    """PyTorch's own kernel in Triton, which finds the blocks to multiply in memory: those below the diagonal, and on it."""
    tokens, each = 8192, 128
    blocks = torch.arange(tokens // each, dtype=torch.int32, device="cuda")
    one, before = (list_.expand(1, 1, -1) for list_ in (torch.ones_like(blocks), blocks))
    on, below = (list_.expand(1, 1, len(blocks), -1).contiguous() for list_ in (blocks[:, None].repeat(1, len(blocks)), blocks))
    mask = BlockMask.from_kv_blocks(one, on, before, below, each, lambda b, h, i, j: i >= j)
    q = empty(1, 32, tokens, 128)
    compiled = torch.compile(flex_attention)
    with torch.no_grad():
        mine = taken(lambda: compiled(q, q, q, block_mask=mask))
        own = taken(lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True))
    yield "compiled attention", 4 * 32 * tokens**2 * 128 // 2, mine, own


def rows():
    for count, wide in ((16384, 4096), (65536, 1000)):
        x = empty(count, wide, dtype=torch.float32)
        out = torch.empty_like(x)
        block = triton.next_power_of_2(wide)
        own = taken(lambda: torch.softmax(x, 1))
        yield f"softmax {count}", 0, taken(lambda: softmax[(count,)](out, x, wide, block)), own
        y, z, w = empty(count, wide), empty(count, wide), empty(wide)
        own = taken(lambda: torch.nn.functional.layer_norm(y, (wide,), w, w))
        yield f"layer norm {count}", 0, taken(lambda: normalize[(count,)](z, y, w, wide, 1e-5, min(4096, block))), own


def sums():
    n = 1 << 27
    x, y, out = (empty(n, dtype=torch.float32) for _ in range(3))
    own = taken(lambda: torch.add(x, y, out=out))
    yield "plus", 0, taken(lambda: plus[(n // 1024,)](x, y, out, n, 1024)), own


def without_program():
    """The binary alone is left of what the compiler made."""
    n = 1 << 26
    x, y, out = (empty(n, dtype=torch.float32) for _ in range(3))
    plus.warmup(x, y, out, n, 512, grid=(n // 512,))
    for path in glob.glob(os.environ["TRITON_CACHE_DIR"] + "/*/*.ttir"):
        os.remove(path)
    yield "without", 0, taken(lambda: plus[(n // 512,)](x, y, out, n, 512)), 1.0


if __name__ == "__main__":
    for part in sys.argv[1:]:
        for name, flops, mine, own in globals()[part]():
            print(json.dumps({"name": name, "flops": flops, "triton": mine, "torch": own}), flush=True)
