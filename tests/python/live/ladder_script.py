"""What PyTorch offers on one GPU, a step after the other in one process: each says what it got, or why it failed.

Values are not asked for here: shapes, times, names, memory, and that nothing is refused."""

import json
import sys

import torch
import torch.nn.functional as functional
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

GPU = "cuda"
STEPS = {}


def step(function):
    STEPS[function.__name__] = function
    return function


def queries():
    return torch.randn(2, 8, 512, 64, device=GPU, dtype=torch.bfloat16, requires_grad=True)


@step
def transformer():
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).to(GPU, torch.bfloat16)
    model(torch.randn(4, 512, 512, device=GPU, dtype=torch.bfloat16)).sum().backward()
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    optimizer.step()
    return len(optimizer.state)


@step
def attention():
    backends = [
        SDPBackend.MATH,
        SDPBackend.FLASH_ATTENTION,
        SDPBackend.EFFICIENT_ATTENTION,
        SDPBackend.CUDNN_ATTENTION,
    ]
    for backend in backends:
        with sdpa_kernel(backend):
            functional.scaled_dot_product_attention(queries(), queries(), queries(), is_causal=True).sum().backward()
    return len(backends)


@step
def convolution():
    model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.BatchNorm2d(64), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1))
    out = model.to(GPU)(torch.randn(8, 3, 224, 224, device=GPU))
    out.sum().backward()
    return list(out.shape)


@step
def recurrent():
    out, (hidden, _) = nn.LSTM(32, 64, 2, bidirectional=True).to(GPU)(torch.randn(5, 3, 32, device=GPU))
    out.sum().backward()
    gru = nn.GRU(32, 64).to(GPU)(torch.randn(5, 3, 32, device=GPU))[0]
    return [list(out.shape), list(hidden.shape), list(gru.shape)]


def milliseconds(work):
    """Of what a graph holds, so that nothing waits for the host."""
    work()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        work()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    captured.replay()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end)


@step
def steps_of_a_recurrent_layer():
    """One after the other, beside the products that they are."""
    layer = nn.LSTM(1024, 1024).to(GPU, torch.float16)
    x = torch.empty(100, 64, 1024, device=GPU, dtype=torch.float16)

    def products():
        x.flatten(0, 1) @ layer.weight_ih_l0.t()
        for each in x:
            each @ layer.weight_hh_l0.t()

    with torch.no_grad():
        return [milliseconds(lambda: layer(x)), milliseconds(products)]


@step
def algebra():
    eye = torch.eye(8, device=GPU)
    results = [
        torch.linalg.inv(eye),
        torch.linalg.qr(eye)[0],
        torch.linalg.svdvals(eye),
        torch.linalg.cholesky(eye),
        torch.fft.rfft(torch.randn(64, 64, device=GPU)),
        torch.mm(torch.randn(4, 5, device=GPU, dtype=torch.complex64), torch.randn(5, 6, device=GPU, dtype=torch.complex64)),
    ]
    return [list(result.shape) for result in results]


@step
def compiled_at_run_time():
    square = torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x) { return x * x; }")
    results = [square(torch.ones(4, device=GPU)), torch.special.airy_ai(torch.ones(5, device=GPU))]
    return [list(result.shape) for result in results]


@step
def eight_bits():
    a = torch.empty(64, 64, device=GPU, dtype=torch.float8_e4m3fn)
    row, column = torch.ones(64, 1, device=GPU), torch.ones(1, 64, device=GPU)
    out = torch._scaled_mm(a, a.t(), scale_a=row, scale_b=column, out_dtype=torch.bfloat16)
    return list(out.shape)


@step
def graph():
    x = torch.zeros(2048, 2048, device=GPU)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        for _ in range(8):
            x @ x
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    captured.replay()
    end.record()
    torch.cuda.synchronize()
    replayed = begin.elapsed_time(end)
    begin.record()
    for _ in range(8):
        x @ x
    end.record()
    torch.cuda.synchronize()
    return [replayed, begin.elapsed_time(end)]


@step
def graphed_callables():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).to(GPU)
    graphed = torch.cuda.make_graphed_callables(model, (torch.randn(8, 64, device=GPU),))
    out = graphed(torch.randn(8, 64, device=GPU))
    out.sum().backward()
    return list(out.shape)


@step
def out_of_memory():
    total = torch.cuda.get_device_properties(0).total_memory
    try:
        torch.empty(total, dtype=torch.uint8, device=GPU)
    except torch.OutOfMemoryError as error:
        return [total / 2**30, str(error)]
    return [total / 2**30, ""]


@step
def less_memory():
    """As scripts do that look for the largest batch."""
    total = torch.cuda.get_device_properties(0).total_memory
    size, before = 2 * total, torch.cuda.memory_stats()["num_ooms"]
    while True:
        try:
            fits = torch.empty(size, dtype=torch.uint8, device=GPU)
            break
        except torch.OutOfMemoryError:
            size //= 2
            torch.cuda.empty_cache()
    failed = torch.cuda.memory_stats()["num_ooms"] - before
    free, _ = torch.cuda.mem_get_info()
    segments = [segment for segment in torch.cuda.memory_snapshot() if segment["allocated_size"] >= size]
    return [size / total, failed, 0.49 < free / total < 0.5, len(segments), fits.numel() == size]


def main():
    for name, function in STEPS.items():
        try:
            print(json.dumps({"step": name, "got": function()}), flush=True)
        except Exception as error:
            print(json.dumps({"step": name, "failed": f"{type(error).__name__}: {error}"}), flush=True)
    sys.exit(0)


if __name__ == "__main__":
    main()
