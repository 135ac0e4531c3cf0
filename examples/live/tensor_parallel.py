"""Transformer blocks split over the GPUs of a node: tensor parallelism with DTensor, data parallelism over nodes.

    torchrun --nproc-per-node 8 tensor_parallel.py         on GPUs
    flopcast run --on dgx-h100 tensor_parallel.py          on none
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Block(nn.Module):
    def __init__(self, width, head_width):
        super().__init__()
        self.head_width = head_width
        self.attention_norm, self.mlp_norm = nn.RMSNorm(width), nn.RMSNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = nn.Linear(width, 4 * width, bias=False), nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        h = self.attention_norm(x)
        # As many heads as this GPU has of them.
        q, k, v = (p(h).unflatten(-1, (-1, self.head_width)).transpose(1, 2) for p in (self.q, self.k, self.v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(attended.transpose(1, 2).flatten(-2))
        h = self.mlp_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=8192)
    parser.add_argument("--sequence", type=int, default=4096)
    parser.add_argument("--tensor-parallel", type=int, default=8)
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()

    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    ranks = dist.get_world_size()
    mesh = init_device_mesh("cuda", (ranks // args.tensor_parallel, args.tensor_parallel), mesh_dim_names=("dp", "tp"))
    with device:
        model = nn.Sequential(*[Block(args.width, 128) for _ in range(args.layers)]).to(torch.bfloat16)
    columns, rows = ("q", "k", "v", "gate", "up"), ("o", "down")
    plan = {name: ColwiseParallel() for name in columns} | {name: RowwiseParallel() for name in rows}
    for block in model:
        parallelize_module(block, mesh["tp"], plan)
        if mesh["dp"].size() > 1:
            fully_shard(block, mesh=mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    x = torch.randn(1, args.sequence, args.width, device=device, dtype=torch.bfloat16)

    for step in range(args.steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        model(x).float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        took = time.perf_counter() - start
        if dist.get_rank() == 0:
            rate = args.sequence * mesh["dp"].size() / took
            print(f"step {step}: {1e3 * took:.1f} ms, {rate:,.0f} tokens/s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
