"""Run by test_values.py on a simulated GPU: prints, as JSON, which checks hold. A check compares what a small operator
computes there with what the CPU computes, or looks at what is assumed of values that nobody computed."""

import io
import json
import sys

import torch
import torch.nn.functional as F
from torch import nn

GPU = "cuda"
CHECKS = {}


def check(function):
    CHECKS[function.__name__] = function
    return function


def close(a, b, tolerance=1e-5):
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(close(x, y, tolerance) for x, y in zip(a, b))
    if not isinstance(a, torch.Tensor):
        return a == b
    a, b = a.detach().cpu(), b.detach().cpu()
    return a.shape == b.shape and a.dtype == b.dtype and torch.allclose(
        a.double(), b.double(), atol=tolerance, rtol=tolerance, equal_nan=True
    )


def alike(function, *tensors):
    return close(function(*tensors), function(*(t.to(GPU) for t in tensors)))


torch.manual_seed(0)
X = torch.randn(17, 13)
V = torch.randn(64)
MASK = X > 0
INDEX = torch.randint(0, 17, (40,))
IMAGE = torch.randn(2, 3, 8, 8)
ROWS = torch.randint(0, 17, (5, 13))
ODD = torch.tensor([1, float("nan"), float("inf")])


def out_of(function, dtype, *tensors):
    return function(*tensors, out=torch.empty(0, dtype=dtype, device=tensors[0].device))


def written(tensor, write):
    copy = tensor.clone()
    write(copy)
    return copy


ALIKE = {
    "nonzero": (torch.nonzero, MASK),
    "nonzero_into": (lambda m: out_of(torch.nonzero, torch.long, m), MASK),
    "masked_select": (torch.masked_select, X, MASK),
    "index_by_mask": (lambda x, m: x[m], X, MASK),
    "write_by_mask": (lambda x, m: written(x, lambda y: y.__setitem__(m, 1.5)), X, MASK),
    "unique": (lambda i: torch.unique(i, return_inverse=True, return_counts=True), INDEX),
    "unique_rows": (lambda i: torch.unique(i, dim=0), torch.randint(0, 2, (10, 2))),
    "unique_consecutive": (lambda i: torch.unique_consecutive(i.sort()[0], return_counts=True), INDEX),
    "sort": (torch.sort, V),
    "sort_integers": (lambda i: torch.sort(i, descending=True, stable=True), INDEX),
    "topk": (lambda x: torch.topk(x, 3, dim=0), X),
    "repeat_interleave": (lambda x, n: torch.repeat_interleave(x, n, dim=0), X, torch.arange(17)),
    "bincount": (lambda i: torch.bincount(i, minlength=30), INDEX),
    "scatter_add": (lambda x, i: x.scatter_add(0, i, x[:5]), X, ROWS),
    "index_add": (lambda x, i: x.index_add(0, i, x[i]), X, INDEX),
    "cumsum": (lambda x: x.cumsum(0), X),
    "median": (torch.median, V),
    "isfinite": (torch.isfinite, ODD),
    "allclose": (lambda x: [torch.allclose(x, x), torch.equal(x, x + 1)], X),
    "products": (lambda x: [x @ x.t(), torch.addmm(x[:, 0], x, x.t()), x.dot(x) if x.dim() == 1 else x.sum()], X),
    "product_in_bf16": (lambda x: x.bfloat16() @ x.bfloat16().t(), X),
    "convolution": (lambda x: F.conv2d(x, torch.ones(4, 3, 3, 3, device=x.device) / 9), IMAGE),
    "pooling": (lambda x: F.max_pool2d(x, 2, return_indices=True), IMAGE),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), IMAGE),
    "norms": (lambda x: [F.layer_norm(x, (13,)), F.rms_norm(x, (13,)), torch.linalg.vector_norm(x)], X),
    "transposed": (lambda x: x.t()[::2] + 1, X),
    "strided_in_place": (lambda x: written(x, lambda y: y[:, ::2].add_(5)), X),
    "sum_into": (lambda x: out_of(torch.add, torch.float32, x, x), X),
    "to_double": (lambda x: x.double(), X),
    "expanded": (lambda x: x[:1].expand(5, 13).clone(), X),
    "ranges": (lambda x: [torch.arange(9, device=x.device), torch.linspace(0, 1, 7, device=x.device)], X),
    "of_lists": (lambda x: torch._foreach_lerp([x, x], [x * 2, x * 3], 0.5), X),
    "solve": (lambda x: torch.linalg.solve(x @ x.t() + torch.eye(17, device=x.device), x[:, 0]), X),
}


@check
def print_a_tensor():
    return repr(X.to(GPU)).replace(", device='cuda:0'", "") == repr(X)


@check
def save_and_load():
    file = io.BytesIO()
    torch.save(X.to(GPU), file)
    file.seek(0)
    return torch.equal(torch.load(file).cpu(), X)


@check
def randperm_is_a_permutation():
    return sorted(torch.randperm(50, device=GPU).tolist()) == list(range(50))


@check
def random_numbers_follow_the_seed():
    draws = []
    for seed in (3, 3, 4):
        torch.cuda.manual_seed(seed)
        draws.append((torch.randn(100, device=GPU).tolist(), F.dropout(torch.ones(100, device=GPU)).tolist()))
    return draws[0] == draws[1] != draws[2]


@check
def random_numbers_look_like_chance():
    draws = torch.randn(10000, device=GPU)
    return abs(draws.mean().item()) < 0.05 and abs(draws.std().item() - 1) < 0.05


@check
def random_numbers_of_the_cpu_are_its_own():
    torch.manual_seed(1)
    first = torch.rand(3)
    torch.manual_seed(1)
    F.dropout(torch.ones(10, device=GPU))
    return torch.equal(first, torch.rand(3))


@check
def multinomial_takes_what_is_likely():
    return torch.multinomial(torch.tensor([0.0, 0, 1, 0], device=GPU), 5, replacement=True).tolist() == [2] * 5


@check
def large_integers_are_computed():
    return torch.arange(1000000).to(GPU).sum().item() == 499999500000


@check
def errors_of_pytorch_are_its_own():
    said = []
    for wrong in (lambda: X.to(GPU) + X, lambda: X.to(GPU) @ X.to(GPU)):
        try:
            wrong()
        except RuntimeError as error:
            said.append(str(error))
    return len(said) == 2 and "same device" in said[0] and "shapes cannot be multiplied" in said[1]


def encoder(dtype):
    """Outputs and gradients of a small layer, on the CPU and on the GPU."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0).to(dtype)
    x = torch.randn(2, 8, 32).to(dtype)
    found = []
    for device in ("cpu", GPU):
        layer.to(device)
        layer.zero_grad()
        y = layer(x.to(device))
        (y.float() * torch.linspace(-1, 1, 32, device=device)).sum().backward()
        found.append([y.float().cpu(), *(p.grad.float().cpu().clone() for p in layer.parameters())])
    return max(((a - b).norm() / (a.norm() + 1e-2)).item() for a, b in zip(*found))


@check
def a_layer_in_fp32():
    return encoder(torch.float32) < 1e-5


@check
def a_layer_in_bf16():
    return encoder(torch.bfloat16) < 0.03


@check
def dropout_comes_back_in_a_checkpoint():
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 1)).to(GPU)
    x = torch.randn(4, 8, device=GPU)
    gradients = []
    for run in (lambda: net(x), lambda: checkpoint(net, x, use_reentrant=False)):
        torch.cuda.manual_seed(3)
        net.zero_grad()
        run().sum().backward()
        gradients.append([p.grad.cpu() for p in net.parameters()])
    return close(*gradients)


@check
def a_graph_computes_at_each_launch():
    x, count = torch.zeros(4, 4, device=GPU), torch.zeros(1, device=GPU)
    weights = torch.arange(16.0, device=GPU).reshape(4, 4)
    (x @ weights).relu()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = (x @ weights).relu() + 1
        count.add_(1)
    held = [count.item() == 0]
    for k in range(1, 4):
        x.copy_(torch.eye(4) * k)
        graph.replay()
        held.append(torch.equal(y, weights * k + 1) and count.item() == k)
    return all(held)


# --- values that nobody computed ------------------------------------------------------------------

LARGE = torch.randn(4096, 4096, device=GPU)


@check
def tainted_values_are_read_as_zero():
    return LARGE.sum().item() == 0 and not LARGE[:100].cpu().any()


@check
def tainted_values_are_finite():
    some = LARGE[:10]
    return bool(
        torch.isfinite(LARGE).all() and torch.isfinite(some).all() and not some.isnan().any() and not some.isinf().any()
    )


@check
def half_of_a_tainted_mask_is_set():
    return (LARGE > 0).nonzero().shape[0] == LARGE[LARGE > 0].shape[0] == LARGE.numel() // 2


@check
def routing_by_tainted_scores_is_even():
    scores = (torch.randn(256, 1024, device=GPU) @ torch.randn(1024, 8, device=GPU)).softmax(-1)
    experts = scores.topk(2, -1)[1]
    return torch.bincount(experts.flatten(), minlength=8).tolist() == [
        (experts == e).nonzero().shape[0] for e in range(8)
    ] == [64] * 8


@check
def the_best_of_tainted_scores_is_even():
    best = (torch.randn(4096, 1024, device=GPU) @ torch.randn(1024, 16, device=GPU)).argmax(-1)
    return F.one_hot(best, 16).sum(0).tolist() == [256] * 16


@check
def a_tainted_sort_moves_nothing():
    return torch.randn(20000, device=GPU).sort()[1].tolist() == list(range(20000))


@check
def gradients_that_are_tainted_do_not_overflow():
    net = nn.Linear(512, 512).to(GPU)
    scaler, optimizer = torch.amp.GradScaler("cuda"), torch.optim.SGD(net.parameters(), 0.1)
    for _ in range(3):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = net(torch.randn(64, 512, device=GPU)).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)
        scaler.step(optimizer)
        scaler.update()
    return scaler.get_scale() == 65536


@check
def memory_that_was_another_tensors_is_tainted():
    first = torch.arange(100.0, device=GPU)
    del first
    return not torch.empty(100, device=GPU).cpu().any()


def main():
    held = {name: bool(alike(*what)) for name, what in ALIKE.items()}
    for name, function in CHECKS.items():
        held[name] = bool(function())
    json.dump(held, sys.stdout)


if __name__ == "__main__":
    main()
