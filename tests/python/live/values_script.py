"""Run by test_values.py on a simulated GPU: prints, as JSON, which checks hold. A check compares what a small operator
computes there with what the CPU computes, or looks at what is assumed of values that nobody computed."""

import io
import json
import math
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
ORDER = torch.randperm(64)
ODD = torch.tensor([1, float("nan"), float("inf")])


LENGTHS = torch.tensor([3, 0, 9, 5])


def square(x):
    return x @ x.mT + torch.eye(17, device=x.device)


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
    "put_into_empty": (lambda x, i: torch.empty_like(x).index_put_((i,), x), V, ORDER),
    "copied_into_empty": (lambda x, i: torch.empty_like(x, dtype=torch.bfloat16).index_copy_(0, i, x.bfloat16()), V, ORDER),
    "scattered_into_empty": (lambda i: torch.empty_like(i).scatter_(0, i, torch.arange(64, device=i.device)), ORDER),
    "unique": (lambda i: torch.unique(i, return_inverse=True, return_counts=True), INDEX),
    "unique_rows": (lambda i: torch.unique(i, dim=0), torch.randint(0, 2, (10, 2))),
    "unique_consecutive": (lambda i: torch.unique_consecutive(i.sort()[0], return_counts=True), INDEX),
    "sort": (torch.sort, V),
    "sort_integers": (lambda i: torch.sort(i, descending=True, stable=True), INDEX),
    "topk": (lambda x: torch.topk(x, 3, dim=0), X),
    "repeat_interleave": (lambda x, n: torch.repeat_interleave(x, n, dim=0), X, torch.arange(17)),
    "bincount": (lambda i: torch.bincount(i, minlength=30), INDEX),
    "histogram_of_integers": (
        lambda i: torch.histc(i if i.is_cuda else i.double(), bins=30, min=0, max=30).long(), INDEX
    ),
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
    "in_complex_numbers": (lambda x: [torch.view_as_real(z := torch.complex(x, x * 2)), z.abs(), z.angle(), (z @ z.mT).real], X),
    "conjugates": (lambda x: [(torch.complex(x, x) * torch.complex(x, -x).conj()).imag, torch.complex(x, x).mH.real], X),
    "fourier": (lambda x: [torch.fft.rfft(x).real, torch.fft.irfft(torch.fft.rfft(x)), torch.fft.fft2(x).imag], X),
    "fourier_along": (lambda x: [torch.fft.fft(x, dim=0).abs(), torch.stft(x.flatten(), 32, return_complex=True).abs()], X),
    "factorisations": (lambda x: [torch.linalg.cholesky(square(x)), torch.linalg.det(square(x)), torch.linalg.inv(square(x))], X),
    "eigenvalues": (lambda x: [torch.linalg.eigvalsh(square(x)), torch.linalg.svdvals(x), torch.linalg.eigvals(square(x)).abs().sort()[0]], X),
    "qr_and_lstsq": (lambda x: [torch.linalg.qr(x)[1].abs(), torch.linalg.lstsq(x, x[:, :2]).solution, torch.linalg.pinv(x)], X),
    "norms_of_matrices": (lambda x: [torch.linalg.matrix_norm(x), torch.linalg.matrix_exp(x[:13] / 9), torch.linalg.slogdet(square(x))[1]], X),
    "scatters": (lambda x, i: [x.scatter_reduce(0, i, x[:5], r) for r in ("sum", "mean", "amax", "amin", "prod")], X, ROWS),
    "index_reduce": (lambda x, i: [x.index_reduce(0, i, x[i], "mean"), x.index_copy(0, i[:1], x[:1]), x.index_fill(0, i, 2.0)], X, INDEX),
    "puts": (lambda x, i: [x.index_put((i,), x[i], accumulate=True), x.gather(0, i[:13].expand(17, 13)), x.take(i)], X, INDEX),
    "segments": (lambda x: [torch.segment_reduce(x, r, lengths=LENGTHS.to(x.device)) for r in ("sum", "mean", "max", "min")], X),
    "bags": (lambda x, i: [F.embedding_bag(i.reshape(8, 5), x, mode=m) for m in ("sum", "mean", "max")], X, INDEX),
    "sparse_products": (lambda x: [torch.sparse.mm(x.to_sparse(), x.mT), x.to_sparse_csr() @ x.mT, x.to_sparse_csr() @ x[0]], X),
    "sparse_sums": (lambda x: [torch.sparse.sum(x.to_sparse(), 0).to_dense(), (x.to_sparse() + x.to_sparse()).to_dense(), x + x.to_sparse()], X),
    "sparse_sparse": (lambda x: [torch.sparse.mm(x.to_sparse(), x.mT.to_sparse()).to_dense(), (x.to_sparse() * 2).to_dense()], X * MASK),
    "coalesced": (lambda i: (c := torch.sparse_coo_tensor(torch.stack([i, i]), i.float(), (17, 17)).coalesce(), [c.indices(), c.values(), c.to_dense()])[1], INDEX),
    "sparse_softmax": (lambda x: torch.sparse.softmax(x.to_sparse(), 1).to_dense(), X),
    "csr_parts": (lambda x: [(c := x.to_sparse_csr()).crow_indices(), c.col_indices(), c.values(), c.to_dense()], X * MASK),
    "csr_addmm": (lambda x: [torch.addmm(x @ x.mT, x.to_sparse_csr(), x.mT), torch.addmm(x @ x.mT, x.to_sparse(), x.mT)], X),
    "solve": (lambda x: torch.linalg.solve(x @ x.t() + torch.eye(17, device=x.device), x[:, 0]), X),
}


def trained(make, data, optimizer, steps=3):
    """Losses and what is left of a model's parameters on the CPU and on the GPU."""
    results = []
    for device in ("cpu", GPU):
        torch.manual_seed(5)
        model, inputs = make().to(device), [one.to(device) for one in data]
        losses, steps_of = [], optimizer(model.parameters())
        for _ in range(steps):
            loss = model(*inputs).square().mean()
            loss.backward()
            steps_of.step()
            steps_of.zero_grad()
            losses.append(loss.detach().cpu())
        results.append([*losses, *[p.detach().cpu() for p in model.parameters()]])
    return close(*results, tolerance=2e-5)


class Last(nn.Module):
    def __init__(self, layer, packs=False):
        super().__init__()
        self.layer, self.packs = layer, packs

    def forward(self, x):
        if self.packs:
            x = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([7, 5, 4, 1]), batch_first=True)
            return self.layer(x)[0].data
        out, state = self.layer(x)
        return out.mean() + sum(part.mean() for part in (state if isinstance(state, tuple) else (state,)))


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.gru, self.rnn = nn.LSTMCell(6, 9), nn.GRUCell(9, 9), nn.RNNCell(9, 9)

    def forward(self, x):
        hidden, cell = self.lstm(x[:, 0])
        hidden, cell = self.lstm(x[:, 1], (hidden, cell))
        return self.rnn(self.gru(hidden, cell))


SEQUENCES = torch.randn(4, 7, 6)
SGD = lambda parameters: torch.optim.SGD(parameters, 0.1)


@check
def recurrent_layers_learn_what_they_learn_on_the_cpu():
    kinds = (nn.LSTM, nn.GRU, nn.RNN, lambda *a, **k: nn.RNN(*a, nonlinearity="relu", **k))
    shapes = ({}, {"num_layers": 2, "bidirectional": True}, {"bias": False}, {"batch_first": False})
    for kind in kinds:
        for shape in shapes:
            if not trained(lambda: Last(kind(6, 9, **({"batch_first": True} | shape))), [SEQUENCES], SGD):
                return False
        if not trained(lambda: Last(kind(6, 9, 2, batch_first=True, bidirectional=True), packs=True), [SEQUENCES], SGD):
            return False
    return trained(lambda: Last(nn.LSTM(6, 9, proj_size=3)), [SEQUENCES], SGD) and trained(Cells, [SEQUENCES], SGD)


@check
def dropout_between_recurrent_layers_drops():
    layer = nn.LSTM(6, 9, 2, dropout=0.5).to(GPU)
    x = SEQUENCES.to(GPU).requires_grad_()
    one, other = layer(x)[0], layer(x)[0]
    one.sum().backward()
    layer.eval()
    return bool((one != other).any()) and bool(x.grad.abs().sum() > 0) and close(layer(x)[0], layer(x)[0])


@check
def optimizers_fused_and_by_lists():
    linear = lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    of = {name: getattr(torch.optim, name) for name in ("SGD", "Adam", "AdamW", "Adagrad", "RMSprop", "NAdam", "Adadelta")}
    for name, kind in of.items():
        ways = [{}, {"foreach": True}]
        ways += [{"fused": True}] if name in ("SGD", "Adam", "AdamW", "Adagrad") else []
        ways += [{"capturable": True}] if name in ("Adam", "AdamW", "RMSprop", "NAdam", "Adadelta") else []
        for way in ways:
            extra = {"momentum": 0.9} if name == "SGD" else {}

            def made(parameters, kind=kind, way=way, extra=extra):
                parameters = list(parameters)
                on_gpu = parameters[0].is_cuda
                return kind(parameters, lr=0.01, **extra, **(way if on_gpu else {}))

            if not trained(linear, [SEQUENCES], made):
                print("differs:", name, way, file=sys.stderr)
                return False
    return True


@check
def gradients_of_sparse_embeddings():
    for kind in (SGD, lambda p: torch.optim.SparseAdam(list(p), 0.1), lambda p: torch.optim.Adagrad(p, 0.1)):
        if not trained(lambda: nn.Embedding(17, 5, sparse=True), [INDEX], kind):
            return False
    return trained(lambda: nn.EmbeddingBag(17, 5, sparse=True, mode="sum"), [INDEX.reshape(8, 5)], SGD)


@check
def masks_of_chosen_places_hold_however_many():
    scores = torch.randn(5000, 8, device=GPU)
    mask = torch.zeros_like(scores).int().scatter(1, scores.topk(2)[1], 1).bool()
    places = torch.arange(5000, device=GPU).expand(8, -1).masked_select(mask.T)
    return mask.sum(0).sum().item() == 10000 == len(places) == len(scores.T.masked_select(mask.T))


@check
def a_graph_keeps_conjugates_and_what_it_read_before_its_memory_was_used_again():
    x = torch.complex(X, X * 2).to(GPU)
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph, stream=stream):
        kept = x * 3
        first = kept.conj() * x
        del kept
        second = torch.zeros_like(x) + first.imag
    graph.replay()
    expected = (X.square() * 5 * 3).cpu()
    return close(first.real.clone(), expected, 1e-4) and close(second.real.clone(), first.imag.clone(), 1e-4)


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
def a_single_tainted_number_is_none_and_others_are_zero():
    one, narrow = LARGE.sum().item(), LARGE.half().mean().cpu()
    integer, truth = LARGE.sum().long().item(), bool(LARGE.sum() > 3)
    return str([one, narrow.item(), integer, truth]) == "[nan, nan, 0, False]" and not LARGE[:100].cpu().any()


def mask_nan_or_inf(total):
    return total


@check
def who_looks_for_nan_reads_zero():
    def ends_over_nan():
        loss = [value.item() for value in (LARGE.sum(), LARGE.mean())]
        return all(map(math.isfinite, loss))

    def compares():
        loss = float(LARGE.sum())
        return loss == loss

    def has_it_looked_for():
        total = float(LARGE.sum())
        return mask_nan_or_inf(total) == 0

    logged = []

    def hands_on():
        with torch.no_grad():
            total = LARGE.sum()
            return float(total.item()), 1

    def hands_on_a_name():
        largest = hands_on()[0]
        return largest

    def caller_looks():
        return math.isfinite(hands_on_a_name())

    def only_logs():
        largest = LARGE.sum().item()
        logged.append(str(largest))
        return 1.0

    def caller_of_what_only_logs():
        return math.isfinite(only_logs())

    def nobody_looks():
        logged.append(str(hands_on_a_name()))

    nobody_looks()
    return ends_over_nan() and compares() and has_it_looked_for() and caller_looks() and caller_of_what_only_logs() and logged == ["nan"] * 2


@check
def the_first_read_of_memory_that_is_multiplied_by_zero_decides_nothing():
    product = torch.addmm(torch.empty(17, 17, device=GPU), X.to(GPU), X.mT.to(GPU), beta=0)
    return close(product, X @ X.mT) and close(torch.mv(X.to(GPU), X[0].to(GPU)), X @ X[0])


@check
def tainted_values_are_finite():
    some = LARGE[:10]
    return bool(
        torch.isfinite(LARGE).all() and torch.isfinite(some).all() and not some.isnan().any() and not some.isinf().any()
    )


@check
def of_empty_memory_what_was_put_there_is_known_and_nothing_else():
    put = [
        lambda x, i: x.index_put_((i,), x.new_ones(3)),
        lambda x, i: x.index_fill_(0, i, 1.0),
        lambda x, i: x.scatter_(0, i, 1.0),
        lambda x, i: x.masked_fill_(F.one_hot(i, 8).sum(0) > 0, 1.0),
        lambda x, i: x.masked_scatter_(F.one_hot(i, 8).sum(0) > 0, x.new_ones(3)),
    ]
    numbers = [write(torch.empty(8, device=GPU), torch.tensor([5, 1, 2], device=GPU)) for write in put]
    added = torch.empty(8, device=GPU).index_put_((torch.tensor([5, 1, 2], device=GPU),), torch.ones(3, device=GPU), True)
    rows = torch.empty(8, 8, device=GPU).t()
    rows[torch.tensor([5, 1, 2], device=GPU)] = 1.0
    told = {"1.0": "put", "0.0": "zero"}
    known = [[told.get(str(x[i].item()), "unknown") == "put" for i in range(8)] for x in numbers]
    unknown = [told.get(str(x[0].item()), "unknown") for x in (*numbers, rows.sum(0), added[1:])]
    return known == [[i in (1, 2, 5) for i in range(8)]] * 5 and unknown == ["unknown"] * 7


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
