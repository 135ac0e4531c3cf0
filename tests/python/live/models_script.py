"""A few training steps of small models of several kinds: prints, as JSON, losses on the CPU and on the simulated GPU. With
two ranks, of models that are trained together: losses of both."""

import functools
import json
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

WIDE, TOKENS, BATCH = 16, 8, 4


class Encoder(nn.Module):
    def __init__(self, blocks=2):
        super().__init__()
        self.words = nn.Embedding(32, WIDE)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDE, 4, 32, 0.0, batch_first=True), blocks)
        self.head = nn.Linear(WIDE, 32)

    def forward(self, x):
        return self.head(self.layers(self.words(x)))


class LlamaBlock(nn.Module):
    """Grouped queries, rotations, RMS norm, gated MLP."""

    def __init__(self):
        super().__init__()
        self.norm, self.second = nn.RMSNorm(WIDE), nn.RMSNorm(WIDE)
        self.qkv, self.out = nn.Linear(WIDE, 8 * 4, bias=False), nn.Linear(WIDE, WIDE, bias=False)
        self.gate, self.up, self.down = nn.Linear(WIDE, 40), nn.Linear(WIDE, 40), nn.Linear(40, WIDE)

    def rotated(self, x):
        angles = torch.arange(x.shape[2], device=x.device)[:, None] / torch.tensor([1.0, 100.0], device=x.device)
        turns = torch.polar(torch.ones_like(angles), angles)
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], 2, 2))
        return torch.view_as_real(pairs * turns).flatten(3).type_as(x)

    def forward(self, x):
        heads = self.qkv(self.norm(x)).unflatten(-1, (8, 4)).transpose(1, 2)
        q, k, v = heads.split((4, 2, 2), 1)
        q, k = self.rotated(q), self.rotated(k)
        k, v = (part.repeat_interleave(2, 1) for part in (k, v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, blocks=2):
        super().__init__()
        self.words, self.head = nn.Embedding(32, WIDE), nn.Linear(WIDE, 32, bias=False)
        self.blocks = nn.ModuleList(LlamaBlock() for _ in range(blocks))

    def forward(self, x):
        x = self.words(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(32, WIDE), nn.Linear(2 * WIDE, 32)
        self.lstm = nn.LSTM(WIDE, WIDE, 2, batch_first=True, bidirectional=True)

    def forward(self, x):
        return self.head(self.lstm(self.words(x))[0])


class Experts(nn.Module):
    """The two best of four experts for every token, gathered and put back by index."""

    def __init__(self):
        super().__init__()
        self.words, self.router, self.head = nn.Embedding(32, WIDE), nn.Linear(WIDE, 4), nn.Linear(WIDE, 32)
        self.experts = nn.ModuleList(nn.Linear(WIDE, WIDE) for _ in range(4))

    def forward(self, x):
        x = self.words(x)
        flat = x.flatten(0, 1)
        weights, chosen = self.router(flat).softmax(-1).topk(2)
        out = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            token, place = torch.where(chosen == number)
            out.index_add_(0, token, expert(flat[token]) * weights[token, place, None])
        return self.head(out.view_as(x))


class Graph(nn.Module):
    """Attention over the edges of a graph of words: softmax and sums by scatter."""

    def __init__(self):
        super().__init__()
        self.words, self.score, self.head = nn.Embedding(32, WIDE), nn.Linear(2 * WIDE, 1), nn.Linear(WIDE, 32)

    def forward(self, x):
        nodes = self.words(x).flatten(0, 1)
        count = nodes.shape[0]
        source = torch.arange(3 * count, device=x.device) * 7 % count
        target = torch.arange(3 * count, device=x.device) % count
        score = F.leaky_relu(self.score(torch.cat([nodes[source], nodes[target]], 1))).squeeze(1)
        highest = torch.full((count,), -1e9, device=x.device).scatter_reduce(0, target, score.detach(), "amax")
        weight = (score - highest[target]).exp()
        total = torch.zeros(count, device=x.device).scatter_add(0, target, weight)
        sums = torch.zeros_like(nodes).index_add(0, target, nodes[source] * (weight / total[target])[:, None])
        return self.head(F.elu(sums)).view(*x.shape, 32)


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(32, 64)
        self.layers = nn.Sequential(
            nn.Conv2d(TOKENS, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, stride=2, groups=2), nn.GroupNorm(2, 8), nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(8, TOKENS * 32),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(self.words(x).view(-1, TOKENS, 8, 8)).view(-1, TOKENS, 32)


def perceptron():
    return nn.Sequential(nn.Embedding(32, WIDE), nn.Linear(WIDE, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 32))


MODELS = {
    "perceptron": perceptron, "encoder": Encoder, "llama": Llama, "images": Images, "recurrent": Recurrent,
    "experts": Experts, "graph": Graph,
}  # fmt: skip


def losses(model, device, dtype=None, scaled=False, steps=3):
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    scaler = torch.amp.GradScaler(device, enabled=scaled)
    for step in range(steps):
        torch.manual_seed(step)
        x = torch.randint(0, 32, (BATCH, TOKENS)).to(device)
        with torch.autocast(device, dtype=dtype, enabled=dtype is not None):
            loss = F.cross_entropy(model(x).flatten(0, 1), (x * 3 % 32).flatten())
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        yield loss.item()


def made(kind, device):
    torch.manual_seed(11)
    return kind().to(device)


def alone():
    for name, kind in MODELS.items():
        print(json.dumps({name: [list(losses(made(kind, device), device)) for device in ("cpu", "cuda")]}))
    for name, dtype in (("fp16", torch.float16), ("bf16", torch.bfloat16)):
        plain = list(losses(made(Encoder, "cpu"), "cpu"))
        print(json.dumps({name: [plain, list(losses(made(Encoder, "cuda"), "cuda", dtype, name == "fp16"))]}))


def compiled():
    small = functools.partial(Llama, blocks=1)  # compiling takes all the time
    for mode in sys.argv[2:]:
        model = torch.compile(made(small, "cuda"), mode=mode)
        eager = list(losses(made(small, "cuda"), "cuda", steps=5))
        print(json.dumps({mode: [eager, list(losses(model, "cuda", steps=5))]}), flush=True)


def together():
    from torch.distributed.fsdp import fully_shard

    torch.distributed.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    deep = functools.partial(Encoder, blocks=10)  # its gradients lie in one buffer of 22,000 elements
    for depth, kind in (("", Encoder), ("deep_", deep)):
        plain = list(losses(made(kind, "cpu"), "cpu"))
        shared = nn.parallel.DistributedDataParallel(made(kind, "cuda"))
        sharded = made(kind, "cuda")
        for layer in () if kind is deep else sharded.layers.layers:
            fully_shard(layer)
        fully_shard(sharded)
        for name, model in (("shared", shared), ("sharded", sharded)):
            print(json.dumps({depth + name: [plain, list(losses(model, "cuda"))]}), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    {"alone": alone, "together": together, "compiled": compiled}[sys.argv[1]]()
