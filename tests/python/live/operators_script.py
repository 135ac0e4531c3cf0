"""Operators of extensions as torch.library registers them, under the names and schemas of real ones. What each launches is a kernel
that is known by its name alone, as those of compressed fat binaries are. Prints a line of JSON for each part."""

import ctypes
import json
import sys

import torch
from torch.nn.attention.varlen import varlen_attn
from torch.nn.functional import ScalingType, scaled_dot_product_attention, scaled_grouped_mm, scaled_mm

cuda = ctypes.CDLL(None)
kernels = {}


class Size(ctypes.Structure):
    _fields_ = [(axis, ctypes.c_uint) for axis in "xyz"]


def launch(name, blocks=132, threads=128):
    if name not in kernels:
        kernels[name] = ctypes.create_string_buffer(name.encode())
        text = kernels[name]
        cuda.__getattr__("__cudaRegisterFunction")(None, text, None, text, -1, None, None, None, None, None)
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    launched = cuda.cudaLaunchKernel(
        kernels[name], Size(blocks, 1, 1), Size(threads, 1, 1), None, ctypes.c_size_t(0), stream
    )
    assert launched == 0, launched


def milliseconds(function, times=5):
    function()
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(True), torch.cuda.Event(True)
    start.record()
    for _ in range(times):
        function()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / times


def say(name, **values):
    print(json.dumps({"name": name} | values), flush=True)


FLASH = torch.library.Library("_vllm_fa3_C", "DEF")
FLASH.define(
    "fwd(Tensor! q, Tensor k, Tensor v, Tensor!? out, Tensor? cu_seqlens_q, Tensor? cu_seqlens_k, Tensor? seqused_k, "
    "int? max_seqlen_q, int? max_seqlen_k, Tensor? page_table, float softmax_scale, bool is_causal, "
    "int window_size_left, int window_size_right) -> Tensor[]"
)


def flash(q, k, v, out, *_):
    made = torch.empty_like(q) if out is None else out
    launch("_ZN7cutlass13device_kernelIN5flash11enable_sm90INS1_16FlashAttnFwdSm90EEEvv", threads=384)
    return [made]


FLASH.impl("fwd", flash, "CUDA")


def prefill():
    tokens, sequences = 8192, 4
    q = torch.empty(sequences * tokens, 32, 128, device="cuda", dtype=torch.bfloat16)
    starts = torch.arange(0, sequences * tokens + 1, tokens, device="cuda", dtype=torch.int32)

    def extension(lengths):
        torch.ops._vllm_fa3_C.fwd(q, q, q, None, lengths, lengths, None, tokens, tokens, None, 0.1, True, -1, 0)

    say("prefill", ms=milliseconds(lambda: extension(starts)))
    # Half of the tokens are one sequence's.
    uneven = torch.tensor([0, 2 * tokens, 3 * tokens, 4 * tokens, 4 * tokens], device="cuda", dtype=torch.int32)
    say("uneven", ms=milliseconds(lambda: extension(uneven)))


def decode():
    requests, pages = 64, 20000
    q = torch.empty(requests, 32, 128, device="cuda", dtype=torch.bfloat16)
    cache = torch.empty(2, pages, 16, 8, 128, device="cuda", dtype=torch.bfloat16)
    starts = torch.arange(requests + 1, device="cuda", dtype=torch.int32)
    lengths = torch.full((requests,), 1024, device="cuda", dtype=torch.int32)
    table = torch.zeros(requests, 512, device="cuda", dtype=torch.int32)
    out = torch.empty_like(q)

    def step():
        torch.ops._vllm_fa3_C.fwd(
            q, cache[0], cache[1], out, starts, None, lengths, 1, 8192, table, 0.1, True, -1, 0
        )

    say("short", ms=milliseconds(step))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    # The graph's launches see what the lengths are then.
    lengths.add_(7168)
    say("long", ms=milliseconds(step), graph=milliseconds(graph.replay))
    lengths.sub_(7168)
    say("short again", graph=milliseconds(graph.replay))


def products():
    """Of eight bits: those of libraries, and those that PyTorch brings along (scales by rows, experts)."""
    size, experts = 8192, 8
    a, b = (torch.empty(size, size, device="cuda", dtype=torch.float8_e4m3fn) for _ in range(2))
    weights = torch.empty(experts, size, size, device="cuda", dtype=torch.float8_e4m3fn).transpose(1, 2)
    one, rows, columns = (torch.ones(shape, device="cuda") for shape in ((), (size, 1), (1, size)))
    ends = torch.arange(1, experts + 1, device="cuda", dtype=torch.int32) * (size // experts)
    by_expert = torch.ones(experts, size, device="cuda")
    whole = torch.empty(size, size, device="cuda", dtype=torch.int8)
    rows_of_16_bits = torch.empty(size, size, device="cuda", dtype=torch.bfloat16)
    kind, out = ScalingType.RowWise, {"output_dtype": torch.bfloat16}
    kinds = {
        "whole": lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16),
        "rows": lambda: torch._scaled_mm(a, b.t(), rows, columns, out_dtype=torch.bfloat16),
        "rows anew": lambda: scaled_mm(a, b.t(), rows, kind, columns, kind, **out),
        "experts": lambda: scaled_grouped_mm(a, weights, rows[:, 0], kind, by_expert, kind, offs=ends, **out),
        "int8": lambda: torch._int_mm(whole, whole.t()),
        "weights of int8": lambda: torch._weight_int8pack_mm(rows_of_16_bits, whole, rows_of_16_bits[0]),
    }
    say("products", **{name: milliseconds(function) for name, function in kinds.items()})


def packed():
    """PyTorch's attention of sequences behind each other, which it gives to cuDNN here, and that of one sequence."""
    tokens, heads, size = 16384, 16, 128
    q = torch.empty(tokens, heads, size, device="cuda", dtype=torch.bfloat16)

    def varlen(lengths):
        ends = torch.tensor([0, *lengths]).cumsum(0).int().cuda()
        return milliseconds(lambda: varlen_attn(q, q, q, ends, ends, tokens, tokens, window_size=(-1, 0)))

    whole = q.transpose(0, 1).unsqueeze(0)
    alone = milliseconds(lambda: scaled_dot_product_attention(whole, whole, whole, is_causal=True))
    say("packed", alone=alone, one=varlen([tokens]), half=varlen([tokens // 2] * 2))
    say("packed unevenly", ms=varlen([tokens * 3 // 4] + [tokens // 64] * 16))
    # Pieces 0 and 3 of four: the last rows of a square, not the first.
    queries, keys = (torch.tensor([0, 4096, end]).int().cuda() for end in (8192, 20480))
    k = torch.empty(20480, heads, size, device="cuda", dtype=torch.bfloat16)
    say("pieces", ms=milliseconds(lambda: varlen_attn(q[:8192], k, k, queries, keys, 4096, 16384, window_size=(-1, 0))))


MINE = torch.library.Library("mine", "FRAGMENT")
MINE.define("product(Tensor a, Tensor b) -> Tensor")
MINE.define("mystery(Tensor x) -> Tensor")


def product(a, b):
    return torch.ops.mine.product(a, b)


def mystery(x):
    return torch.ops.mine.mystery(x)


def launch_product(a, b):
    made = a.new_empty(a.shape[0], b.shape[1])
    launch("my_product")
    return made


def launch_mystery(x):
    made = torch.empty_like(x)
    launch("mystery_kernel")
    return made


MINE.impl("product", launch_product, "CUDA")
MINE.impl("mystery", launch_mystery, "CUDA")


@torch.library.custom_op("mine::python", mutates_args=())
def python(x: torch.Tensor) -> torch.Tensor:
    """PyTorch may call it past the dispatcher's callbacks."""
    made = torch.empty_like(x)
    launch("python_kernel")
    return made


@torch.library.custom_op("mine::composed", mutates_args=())
def composed(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1


def own():
    a = torch.empty(8192, 8192, device="cuda", dtype=torch.bfloat16)
    say("product", ms=milliseconds(lambda: product(a, a)), library=milliseconds(lambda: torch.mm(a, a)))
    say("mystery", ms=milliseconds(lambda: mystery(a)))
    say("python", ms=milliseconds(lambda: python(a)))
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        torch.add(a, a, out=a)
    say("captured", ms=milliseconds(captured.replay), eager=milliseconds(lambda: torch.add(a, a, out=a)))


def values():
    small = torch.arange(4.0, device="cuda")
    # PyTorch's own operators within have computed values; what an unknown kernel wrote nobody knows.
    say("values", composed=composed(small).tolist(), mystery=mystery(small + 1).tolist())


for part in sys.argv[1:]:
    globals()[part]()
