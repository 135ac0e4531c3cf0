"""A Llama as torchtitan trained it in December 2024: norms and rotary embedding written out in fp32, keys and values
repeated for the heads that share them, every second product kept for backward, moments updated by lists.

    flopcast run --on dgx-h100 tools/torchtitan_2024.py
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

WIDTH, HEADS, KV_HEADS, INNER, WORDS = 4096, 32, 8, 14336, 128256
KEPT = {
    torch.ops.aten._scaled_dot_product_flash_attention.default,
    torch.ops.aten._scaled_dot_product_efficient_attention.default,
    torch.ops.aten._scaled_dot_product_cudnn_attention.default,
}


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(WIDTH))

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return wide.type_as(x) * self.weight


def turned(x, turns):
    pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * turns).flatten(3).type_as(x)


def repeated(x):
    sequences, tokens, heads, size = x.shape
    wide = x[:, :, :, None, :].expand(sequences, tokens, heads, HEADS // heads, size)
    return wide.reshape(sequences, tokens, HEADS, size)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        size = WIDTH // HEADS
        self.attention_norm, self.mlp_norm = Norm(), Norm()
        widths = {"q": WIDTH, "k": KV_HEADS * size, "v": KV_HEADS * size, "o": WIDTH}
        for name, outs in widths.items():
            setattr(self, name, nn.Linear(WIDTH, outs, bias=False))
        self.gate, self.up = (nn.Linear(WIDTH, INNER, bias=False) for _ in range(2))
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x, turns):
        h = self.attention_norm(x)
        q, k, v = (p(h).unflatten(-1, (-1, WIDTH // HEADS)) for p in (self.q, self.k, self.v))
        q, k = turned(q, turns), turned(k, turns)
        q, k, v = (t.transpose(1, 2) for t in (q, repeated(k), repeated(v)))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = x + self.o(attended.transpose(1, 2).contiguous().flatten(-2))
        m = self.mlp_norm(h)
        return h + self.down(F.silu(self.gate(m)) * self.up(m))


class Llama(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.output = Norm(), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens, turns, keep_all):
        x = self.embedding(tokens)
        for block in self.blocks:
            if keep_all:
                x = block(x, turns)
            else:
                x = checkpoint(block, x, turns, use_reentrant=False, context_fn=kept_contexts)
        return self.output(self.norm(x))


def kept_contexts():
    products = {False: 0, True: 0}

    def policy(context, operator, *args, **kwargs):
        if operator == torch.ops.aten.mm.default:
            products[context.is_recompute] += 1
            kept = products[context.is_recompute] % 2 == 1
        else:
            kept = operator in KEPT
        return CheckpointPolicy.MUST_SAVE if kept else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in {"layers": 32, "batch": 2, "sequence": 8192, "steps": 3}.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--keep-all", action="store_true", help="recompute nothing")
    args = parser.parse_args()

    torch.backends.cuda.enable_cudnn_sdp(False)  # PyTorch took FlashAttention 2 then
    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    with torch.device("meta"):
        model = Llama(args.layers)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in model.blocks:
        fully_shard(block, mp_policy=policy, reshard_after_forward=block is not model.blocks[-1])
    fully_shard(model, mp_policy=policy)
    model.to_empty(device=device)
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.02)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, foreach=True)
    tokens = torch.randint(WORDS, (args.batch, args.sequence + 1), device=device)
    size = WIDTH // HEADS
    rates = 500000 ** -(torch.arange(0, size, 2, device=device) / size)
    angles = torch.outer(torch.arange(args.sequence, device=device), rates)
    turns = torch.polar(torch.ones_like(angles), angles)[:, None, :]

    for step in range(args.steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        logits = model(tokens[:, :-1], turns, args.keep_all)
        F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten()).backward()
        del logits
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
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
