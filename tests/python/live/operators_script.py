"""Operators of extensions as torch.library registers them, under the names and schemas of real ones. What each launches is a kernel
that is known by its name alone, as those of compressed fat binaries are. Prints a line of JSON for each part."""

import ctypes
import json
import sys

import torch

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
    launch("_ZN7cutlass13device_kernelIN5flash11enable_sm90INS1_16FlashAttnFwdSm90EEEvv", threads=384)
    return [torch.empty_like(q) if out is None else out]


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


@torch.library.custom_op("mine::product", mutates_args=())
def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    launch("my_product")
    return a.new_empty(a.shape[0], b.shape[1])


@torch.library.custom_op("mine::mystery", mutates_args=())
def mystery(x: torch.Tensor) -> torch.Tensor:
    launch("mystery_kernel")
    return torch.empty_like(x)


@torch.library.custom_op("mine::composed", mutates_args=())
def composed(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1


def own():
    a = torch.empty(8192, 8192, device="cuda", dtype=torch.bfloat16)
    say("product", ms=milliseconds(lambda: product(a, a)), library=milliseconds(lambda: torch.mm(a, a)))
    say("mystery", ms=milliseconds(lambda: mystery(a)))
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
