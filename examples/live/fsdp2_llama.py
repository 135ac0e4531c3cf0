"""A Llama trained with FSDP2: parameters, gradients and moments in fp32 split over the GPUs, computation in bf16.

    torchrun --nproc-per-node 8 fsdp2_llama.py         on GPUs
    flopcast run --on dgx-h100 fsdp2_llama.py          on none
"""

import argparse
import time
from functools import partial

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

# layers, width, heads, heads of keys and values, width of the MLP, words, whether the output shares the embedding
SIZES = {"8b": (32, 4096, 32, 8, 14336, 128256, False), "1b": (16, 2048, 32, 8, 8192, 128256, True)}
linear = partial(nn.Linear, bias=False)


class Block(nn.Module):
    def __init__(self, width, heads, kv_heads, inner):
        super().__init__()
        self.size = width // heads
        self.attention_norm, self.mlp_norm = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.o = linear(width, width), linear(width, width)
        self.k, self.v = (linear(width, kv_heads * self.size) for _ in range(2))
        self.gate, self.up, self.down = linear(width, inner), linear(width, inner), linear(inner, width)

    def turned(self, x, cos, sin):
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    def forward(self, x, turns):
        h = self.attention_norm(x)
        q, k, v = (p(h).unflatten(-1, (-1, self.size)).transpose(1, 2) for p in (self.q, self.k, self.v))
        q, k = self.turned(q, *turns), self.turned(k, *turns)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.o(attended.transpose(1, 2).flatten(-2))
        h = self.mlp_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Llama(nn.Module):
    def __init__(self, layers, width, heads, kv_heads, inner, words, tied):
        super().__init__()
        self.size = width // heads
        self.embedding = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width, heads, kv_heads, inner) for _ in range(layers))
        self.norm, self.output = nn.RMSNorm(width), linear(width, words)
        if tied:
            self.output.weight = self.embedding.weight

    def forward(self, tokens):
        x = self.embedding(tokens)
        rates = 500000 ** -(torch.arange(0, self.size, 2, device=x.device) / self.size)
        angles = torch.outer(torch.arange(tokens.shape[1], device=x.device), rates)
        turns = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for block in self.blocks:
            x = block(x, turns)
        return self.output(self.norm(x))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="8b")
    for name, usual in {"layers": None, "batch": 1, "sequence": 4096, "steps": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    args = parser.parse_args()

    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    layers, *shape = SIZES[args.size]
    with torch.device("meta"):
        model = Llama(args.layers or layers, *shape)
    for module in (*model.blocks, model):
        fully_shard(module, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    model.to_empty(device="cuda")
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.02)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(shape[4], (args.batch, args.sequence + 1), device="cuda")

    for step in range(args.steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1).float(), tokens[:, 1:].flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        took = time.perf_counter() - start
        if dist.get_rank() == 0:
            rate, peak = args.batch * args.sequence / took, torch.cuda.max_memory_reserved() / 2**30
            print(f"step {step}: {1e3 * took:.1f} ms, {rate:,.0f} tokens/s/GPU, {peak:.2f} GiB", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
