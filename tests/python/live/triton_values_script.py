"""Kernels written in Triton on small tensors of a simulated GPU: prints, as JSON, how far each result is from what PyTorch
computes on the CPU. A kind of program is a function whose name ends in _case; it yields (got, expected)."""

import json
import sys

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.tools.tensor_descriptor import TensorDescriptor

torch.manual_seed(0)


def gpu(tensor):
    return tensor.to("cuda")


def out(*shape, dtype=torch.float32):
    return torch.empty(*shape, device="cuda", dtype=dtype)


@triton.jit
def chain(x, y, o, n, scale, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.load(x + at, at < n, other=1.0)
    b = tl.load(y + at, at < n, other=2.0)
    c = tl.where(a > b, a / b, tl.exp(a) * scale) - tl.sqrt(tl.abs(b)) + tl.sigmoid(a)
    c = tl.maximum(c, -1.0) + tl.minimum(b, 0.5) + tl.cos(a) * tl.sin(b) + tl.log(tl.abs(a) + 1)
    c += tl.floor(a) - tl.ceil(b) + tl.fma(a, b, 0.25) + tl.exp2(b) + tl.log2(tl.abs(b) + 1) + tl.rsqrt(tl.abs(a) + 1)
    tl.store(o + at, c + tl.erf(a) + tl.clamp(a, -0.5, 0.5), at < n)


def elementwise_case():
    x, y = torch.randn(1000), torch.randn(1000)
    o = out(1000)
    chain[(4,)](gpu(x), gpu(y), o, 1000, 0.5, 256)
    expected = torch.where(x > y, x / y, x.exp() * 0.5) - y.abs().sqrt() + x.sigmoid()
    expected = expected.clamp(min=-1) + y.clamp(max=0.5) + x.cos() * y.sin() + (x.abs() + 1).log()
    expected += x.floor() - y.ceil() + x * y + 0.25 + y.exp2() + (y.abs() + 1).log2() + (x.abs() + 1).rsqrt()
    yield o, expected + x.erf() + x.clamp(-0.5, 0.5)


@triton.jit
def reductions(x, o, best, R, C: tl.constexpr):
    row = tl.program_id(0)
    value = tl.load(x + row * C + tl.arange(0, C))
    tl.store(o + row, tl.sum(value))
    tl.store(o + R + row, tl.max(value))
    tl.store(o + 2 * R + row, tl.min(value))
    tl.store(o + 3 * R + row, tl.xor_sum(tl.arange(0, C) * 3 + row))
    tl.store(best + row, tl.argmax(value, 0))
    tl.store(best + R + row, tl.argmin(value, 0))


@triton.jit
def _multiply(a, b):
    return a * b


@triton.jit
def along_both(x, o, p, R: tl.constexpr, C: tl.constexpr):
    value = tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    tl.store(o + tl.arange(0, R), tl.sum(value, 1))
    tl.store(p + tl.arange(0, C), tl.reduce(value, 0, _multiply))


def reduction_case():
    x = torch.randn(8, 128)
    o, best = out(4, 8), out(2, 8, dtype=torch.int32)
    reductions[(8,)](gpu(x), o, best, 8, 128)
    xors = torch.tensor([0] * 8)
    for row in range(8):
        for i in range(128):
            xors[row] ^= i * 3 + row
    yield o, torch.stack([x.sum(1), x.max(1)[0], x.min(1)[0], xors.float()])
    yield best, torch.stack([x.argmax(1), x.argmin(1)]).int()
    o, p = out(8), out(128)
    along_both[(1,)](gpu(x), o, p, 8, 128)
    yield o, x.sum(1)
    yield p, x.prod(0)


@triton.jit
def softmax(o, x, C, B: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, B)
    value = tl.load(x + row * C + columns, mask=columns < C, other=-float("inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(o + row * C + columns, value / tl.sum(value, axis=0), mask=columns < C)


def softmax_case():
    x = torch.randn(9, 100)
    o = out(9, 100)
    softmax[(9,)](o, gpu(x), 100, 128)
    yield o, x.softmax(1)


@triton.jit
def normalize(o, x, w, C, eps, B: tl.constexpr):
    row = tl.program_id(0)
    sums = tl.zeros([B], tl.float32)
    squares = tl.zeros([B], tl.float32)
    for begin in range(0, C, B):
        columns = begin + tl.arange(0, B)
        value = tl.load(x + row * C + columns, mask=columns < C, other=0.0).to(tl.float32)
        sums += value
        squares += value * value
    mean = tl.sum(sums, axis=0) / C
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / C - mean * mean + eps)
    for begin in range(0, C, B):
        columns = begin + tl.arange(0, B)
        mask = columns < C
        value = (tl.load(x + row * C + columns, mask=mask).to(tl.float32) - mean) * scale
        tl.store(o + row * C + columns, value * tl.load(w + columns, mask=mask), mask=mask)


def layer_norm_case():
    for dtype in (torch.float32, torch.bfloat16):
        x, w = torch.randn(5, 100).to(dtype), torch.randn(100).to(dtype)
        o = out(5, 100, dtype=dtype)
        normalize[(5,)](o, gpu(x), gpu(w), 100, 1e-5, 32)
        yield o, torch.nn.functional.layer_norm(x, (100,), w)


@triton.jit
def multiply(a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        along = k * BK + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * K + along[None, :], mask=(rows[:, None] < M) & (along[None, :] < K), other=0)
        b = tl.load(
            b_ptr + along[:, None] * N + columns[None, :], mask=(along[:, None] < K) & (columns[None, :] < N), other=0
        )
        sums = tl.dot(a, b, sums, input_precision="ieee")
    places = c_ptr + rows[:, None] * N + columns[None, :]
    tl.store(places, sums.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def described(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a.load([row, k]), b.load([k, column]), sums)
    c.store([row, column], sums.to(tl.bfloat16))


@triton.jit
def described_here(x, o, M, N, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [B, B])
    target = tl.make_tensor_descriptor(o, [M, N], [N, 1], [B, B])
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    target.store([row, column], source.load([row, column]) * 2)


def product_case():
    a, b = torch.randn(40, 50), torch.randn(50, 33)
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        x, y = a.to(dtype), b.to(dtype)
        c = out(40, 33, dtype=dtype)
        multiply[(3, 3)](gpu(x), gpu(y), c, 40, 33, 50, 16, 16, 16)
        yield c, (x.float() @ y.float()).to(dtype)
    x, y = torch.randint(-9, 9, (32, 32)).to(torch.int8), torch.randint(-9, 9, (32, 32)).to(torch.int8)
    c = out(32, 32, dtype=torch.int32)
    whole_product[(1,)](gpu(x), gpu(y), c, 32)
    yield c, x.int() @ y.int()


@triton.jit
def whole_product(a_ptr, b_ptr, c_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(c_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))


def descriptor_case():
    a, b = torch.randn(64, 64).bfloat16(), torch.randn(64, 32).bfloat16()
    c = out(64, 32, dtype=torch.bfloat16)
    blocks = ((gpu(a), [32, 32]), (gpu(b), [32, 32]), (c, [32, 32]))
    described[(2, 1)](*[TensorDescriptor.from_tensor(t, block) for t, block in blocks], 64, 32, 32, 32)
    yield c, (a.float() @ b.float()).bfloat16()
    x = torch.randn(20, 36)
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    o = out(20, 36)
    described_here[(2, 3)](gpu(x), o, 20, 36, 16)
    yield o, x * 2


@triton.jit
def attend(q_ptr, k_ptr, v_ptr, o_ptr, scale, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    first = tl.program_id(0) * BM
    head = tl.program_id(1).to(tl.int64) * T * D
    rows = first + tl.arange(0, BM)
    wide = tl.arange(0, D)
    q = tl.load(q_ptr + head + rows[:, None] * D + wide[None, :])
    result = tl.zeros((BM, D), tl.float32)
    most = tl.zeros((BM,), tl.float32) - float("inf")
    weight = tl.zeros((BM,), tl.float32)
    for n in range(0, first + BM, BN):
        keys = n + tl.arange(0, BN)
        scores = tl.dot(q, tl.load(k_ptr + head + keys[None, :] * D + wide[:, None])) * scale * 1.44269504
        scores = tl.where(rows[:, None] >= keys[None, :], scores, -1e6)
        now = tl.maximum(most, tl.max(scores, 1))
        weights = tl.exp2(scores - now[:, None])
        rest = tl.exp2(most - now)
        weight = weight * rest + tl.sum(weights, 1)
        values = tl.load(v_ptr + head + keys[:, None] * D + wide[None, :])
        result = tl.dot(weights, values, result * rest[:, None])
        most = now
    tl.store(o_ptr + head + rows[:, None] * D + wide[None, :], result / weight[:, None])


def attention_case():
    q, k, v = (torch.randn(1, 2, 64, 16) for _ in range(3))
    o = out(1, 2, 64, 16)
    attend[(2, 2)](gpu(q), gpu(k), gpu(v), o, 0.25, 64, 16, 32, 32)
    yield o, torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.25)


@triton.jit
def atomics(x, bins, counts, highest, first, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + at, at < n, other=0)
    tl.atomic_add(bins + value, value.to(tl.float32), mask=at < n)
    tl.atomic_add(counts + value, 1, mask=at < n)
    tl.atomic_max(highest, tl.max(value))
    tl.atomic_cas(first, -1, tl.program_id(0))


def atomic_case():
    x = torch.randint(0, 16, (500,))
    bins = torch.zeros(16, device="cuda")
    counts = torch.zeros(16, dtype=torch.int32, device="cuda")
    highest, first = torch.zeros(1, dtype=torch.int64, device="cuda"), torch.full((1,), -1, device="cuda")
    atomics[(4,)](gpu(x), bins, counts, highest, first.int(), 500, 128)
    yield bins, torch.zeros(16).index_add(0, x, x.float())
    yield counts, torch.bincount(x, minlength=16).int()
    yield highest, x.max().reshape(1)


@triton.jit
def _last_valid(a_value, a_count, b_value, b_count):
    return tl.where(b_count > 0, b_value, a_value), a_count + b_count


@triton.jit
def scans(x, o, p, q, r, C: tl.constexpr):
    row = tl.program_id(0)
    at = row * C + tl.arange(0, C)
    value = tl.load(x + at)
    tl.store(o + at, tl.cumsum(value, 0))
    tl.store(p + at, tl.cumsum(value, 0, reverse=True))
    tl.store(q + at, tl.cumprod(value, 0))
    seen, counts = tl.associative_scan((value, (value > 0).to(tl.int32)), 0, _last_valid)
    tl.store(r + at, counts + tl.where(counts > 0, seen, 0.0))


def scan_case():
    x = torch.randn(3, 64)
    o, p, q, r = (out(3, 64) for _ in range(4))
    scans[(3,)](gpu(x), o, p, q, r, 64)
    yield o, x.cumsum(1)
    yield p, x.flip(1).cumsum(1).flip(1)
    yield q, x.cumprod(1)
    expected = torch.zeros(3, 64)
    for row in range(3):
        last, count = 0.0, 0
        for i in range(64):
            if x[row, i] > 0:
                last, count = x[row, i], count + 1
            expected[row, i] = count + last
    yield r, expected


@triton.jit
def collatz(x, o, B: tl.constexpr):
    i = tl.program_id(0)
    value = tl.load(x + i)
    steps = 0
    while value != 1:
        if value % 2 == 0:
            value = value // 2
        else:
            value = 3 * value + 1
        steps += 1
    if steps > 100:
        tl.store(o + i, -steps)
    else:
        tl.store(o + i, steps)


def while_case():
    x = torch.arange(1, 40, dtype=torch.int64)
    o = out(39, dtype=torch.int32)
    collatz[(39,)](gpu(x), o, 1)
    expected = []
    for value in x.tolist():
        steps = 0
        while value != 1:
            value, steps = (value // 2 if value % 2 == 0 else 3 * value + 1), steps + 1
        expected.append(-steps if steps > 100 else steps)
    yield o, torch.tensor(expected, dtype=torch.int32)


@triton.jit
def indirect(table, rows, o, C: tl.constexpr, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    row = tl.load(rows + at)
    columns = tl.arange(0, C)
    tl.store(o + at[:, None] * C + columns[None, :], tl.load(table + row[:, None] * C + columns[None, :]))


@triton.jit
def by_table_of_pointers(pointers, o, n: tl.constexpr):
    source = tl.load(pointers + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(o + tl.program_id(0) * n + tl.arange(0, n), tl.load(source + tl.arange(0, n)))


def indirect_case():
    table, rows = torch.randn(10, 16), torch.randint(0, 10, (32,))
    o = out(32, 16)
    indirect[(4,)](gpu(table), gpu(rows), o, 16, 8)
    yield o, table[rows]
    parts = [gpu(torch.randn(16)) for _ in range(3)]
    o = out(3, 16)
    by_table_of_pointers[(3,)](gpu(torch.tensor([part.data_ptr() for part in parts])), o, 16)
    yield o, torch.stack(parts).cpu()


@triton.jit
def draw(o, normal, whole, seed, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + at, tl.rand(seed, at))
    tl.store(normal + at, tl.randn(seed, at))
    tl.store(whole + at, tl.randint(seed, at))


def philox(seed, counter):
    """Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", ten rounds of four words."""
    keys, words = [seed & 0xFFFFFFFF, seed >> 32], [counter, 0, 0, 0]
    for _ in range(10):
        high = [0xD2511F53 * words[0] >> 32, 0xCD9E8D57 * words[2] >> 32]
        low = [0xD2511F53 * words[0] & 0xFFFFFFFF, 0xCD9E8D57 * words[2] & 0xFFFFFFFF]
        words = [high[1] ^ words[1] ^ keys[0], low[1], high[0] ^ words[3] ^ keys[1], low[0]]
        keys = [(keys[0] + 0x9E3779B9) & 0xFFFFFFFF, (keys[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return words


def random_case():
    o, normal, whole = out(4096), out(4096), out(4096, dtype=torch.int32)
    draw[(4,)](o, normal, whole, 1234, 1024)
    words = [philox(1234, i)[0] for i in range(4096)]
    yield whole, torch.tensor(words, dtype=torch.int64).to(torch.int32)
    signed = torch.tensor(words, dtype=torch.int64).to(torch.int32)
    yield o, torch.where(signed < 0, -signed - 1, signed).float() * 4.6566127342e-10
    o, normal = o.cpu(), normal.cpu()
    looks = 0 <= o.min() and o.max() < 1 and abs(o.mean() - 0.5) < 0.02
    yield torch.tensor(float(looks and abs(normal.mean()) < 0.06 and abs(normal.std() - 1) < 0.06)), torch.tensor(1.0)


@triton.jit
def cast(x, o, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(o + at, tl.load(x + at).to(o.dtype.element_ty))


@triton.jit
def bits(x, o, B: tl.constexpr):
    at = tl.arange(0, B)
    word = tl.load(x + at).to(tl.uint32, bitcast=True)
    tl.store(o + at, ((word >> 3) ^ (word << 7) | 1) & 0x7FFFFFFF)


def cast_case():
    x = torch.cat([torch.randn(62) * 20, torch.tensor([0.0, -1.5])])
    floats = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
    for dtype in (*floats, torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8, torch.bool):
        source = x.abs() if dtype == torch.uint8 else x
        o = out(64, dtype=dtype)
        cast[(1,)](gpu(source), o, 64)
        yield o, source.to(dtype)
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        o = out(64, dtype=dtype)
        cast[(1,)](gpu(x), o, 64)
        yield o.float(), x.to(dtype).float()
        back = out(64)
        cast[(1,)](o, back, 64)
        yield back, x.to(dtype).float()
    for dtype in (torch.int8, torch.int32, torch.int64, torch.uint8, torch.bool):
        source = torch.randint(0, 2 if dtype == torch.bool else 100, (64,)).to(dtype)
        o = out(64)
        cast[(1,)](gpu(source), o, 64)
        yield o, source.float()
    o = out(64, dtype=torch.int32)
    bits[(1,)](gpu(x), o, 64)
    word = x.view(torch.int32).long() & 0xFFFFFFFF
    yield o, (((word >> 3) ^ (word << 7) & 0xFFFFFFFF | 1) & 0x7FFFFFFF).int()


@triton.jit
def integers(x, y, o, n, B: tl.constexpr):
    at = tl.arange(0, B)
    a, b = tl.load(x + at), tl.load(y + at)
    tl.store(o + at, a // b)
    tl.store(o + n + at, a % b)
    tl.store(o + 2 * n + at, tl.where((a > b) & (b > -4), a, tl.minimum(a, b)) << 2)
    tl.store(o + 3 * n + at, ~a | (b ^ 5))
    tl.store(o + 4 * n + at, tl.cdiv(tl.abs(a), tl.abs(b)))
    tl.store(o + 5 * n + at, (a.to(tl.uint32, bitcast=True) // 3).to(tl.int32, bitcast=True))


def integer_case():
    x = torch.randint(-100, 100, (64,), dtype=torch.int32)
    y = torch.randint(1, 9, (64,), dtype=torch.int32) * (torch.randint(0, 2, (64,), dtype=torch.int32) * 2 - 1)
    o = out(6, 64, dtype=torch.int32)
    integers[(1,)](gpu(x), gpu(y), o, 64, 64)
    quotient = torch.div(x, y, rounding_mode="trunc")
    chosen = torch.where((x > y) & (y > -4), x, torch.minimum(x, y)) << 2
    parts = [quotient, x - quotient * y, chosen, ~x | (y ^ 5), -(-x.abs() // y.abs())]
    yield o, torch.stack([*parts, ((x.long() & 0xFFFFFFFF) // 3).to(torch.int32)])


@triton.jit
def shaped(x, o, p, q, r, N: tl.constexpr):
    at = tl.arange(0, N)
    block = tl.load(x + at[:, None] * N + at[None, :])
    tl.store(o + at[:, None] * N + at[None, :], tl.trans(block))
    flat = tl.reshape(tl.permute(tl.reshape(block, (N, 2, N // 2)), (1, 0, 2)), (N * N,))
    tl.store(p + tl.arange(0, N * N), flat)
    even, odd = tl.split(tl.reshape(block, (N, N // 2, 2)))
    joined = tl.reshape(tl.join(odd, even), (N, N))
    tl.store(q + at[:, None] * N + at[None, :], joined)
    order = (at[:, None] * 3 + at[None, :]) % N
    gathered = tl.gather(block, order, 1) + tl.flip(block, 1)
    tl.store(r + at[:, None] * N + at[None, :], gathered)


@triton.jit
def sorts(x, o, h, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    tl.store(o + at, tl.sort(value))
    tl.store(h + tl.arange(0, 16), tl.histogram(value, 16))


def shape_case():
    x = torch.randn(16, 16)
    o, p, q, r = (out(16, 16) for _ in range(4))
    shaped[(1,)](gpu(x), o, p, q, r, 16)
    yield o, x.t()
    yield p, x.reshape(16, 2, 8).permute(1, 0, 2).reshape(16, 16)
    yield q, x.reshape(16, 8, 2).flip(2).reshape(16, 16)
    i = torch.arange(16)
    yield r, x.gather(1, (i[:, None] * 3 + i) % 16) + x.flip(1)
    x = torch.randint(0, 16, (64,), dtype=torch.int32)
    o, h = out(64, dtype=torch.int32), out(16, dtype=torch.int32)
    sorts[(1,)](gpu(x), o, h, 64)
    yield o, x.sort()[0]
    yield h, torch.bincount(x, minlength=16).int()


@triton.jit
def of_device(x, o, n, B: tl.constexpr):
    at = tl.arange(0, B)
    a = tl.load(x + at)
    b = tl.abs(a) + 0.5
    tl.store(o + at, libdevice.tanh(a))
    tl.store(o + n + at, libdevice.pow(b, a))
    tl.store(o + 2 * n + at, libdevice.expm1(a) + libdevice.log1p(b))
    tl.store(o + 3 * n + at, libdevice.atan2(a, b) + libdevice.asin(tl.sin(a)))
    tl.store(o + 4 * n + at, libdevice.rint(a) + libdevice.trunc(a * 3) + libdevice.round(a * 7))
    tl.store(o + 5 * n + at, libdevice.lgamma(b) + libdevice.erfc(a) + libdevice.hypot(a, b))
    tl.store(o + 6 * n + at, libdevice.isnan(a / (a - a)).to(tl.float32) + libdevice.signbit(a).to(tl.float32))
    tl.store(o + 7 * n + at, libdevice.fmod(a, b) + libdevice.copysign(b, a) + libdevice.erfinv(tl.sin(a) * 0.9))


def libdevice_case():
    x = torch.randn(64)
    o = out(8, 64)
    of_device[(1,)](gpu(x), o, 64, 64)
    b = x.abs() + 0.5
    yield o, torch.stack(
        [
            x.tanh(),
            b.pow(x),
            x.expm1() + b.log1p(),
            torch.atan2(x, b) + x.sin().asin(),
            x.round() + (x * 3).trunc() + torch.where(x > 0, (x * 7 + 0.5).floor(), (x * 7 - 0.5).ceil()),
            b.lgamma() + x.erfc() + torch.hypot(x, b),
            (x < 0).float(),
            x.fmod(b) + b.copysign(x) + (x.sin() * 0.9).erfinv(),
        ]
    )


def difference(got, expected):
    """The largest, as a share of the numbers' size; infinite where they cannot be compared."""
    got = got.detach().cpu()
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return float("inf")
    got, expected = got.double(), expected.double()
    return ((got - expected).abs() / (1 + expected.abs())).max().nan_to_num(nan=float("inf")).item()


if __name__ == "__main__":
    wanted = sys.argv[1:] or [name for name in globals() if name.endswith("_case")]
    for name in wanted:
        results = [difference(got, expected) for got, expected in globals()[name]()]
        print(json.dumps({"name": name, "differences": results}), flush=True)
