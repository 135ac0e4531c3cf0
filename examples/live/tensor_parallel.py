"""Transformer blocks split over the GPUs of a node: tensor parallelism with DTensor, data parallelism over nodes.

    torchrun --nproc-per-node 8 tensor_parallel.py         on GPUs
    flopcast run --on dgx-h100 tensor_parallel.py          on none
"""

import argparse
import time

import torch
import torch.distributed as dist
import torch.distributed.tensor.parallel as tp
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard

SPLIT = Shard(1)  # of the sequence, between attention and MLP; each gathers it first
GATHERED = tp.PrepareModuleInput(input_layouts=SPLIT, desired_input_layouts=Replicate())
PLAN = {
    "attention_norm": tp.SequenceParallel(), "mlp_norm": tp.SequenceParallel(),
    "attention": GATHERED, "mlp": GATHERED,
    "attention.q": tp.ColwiseParallel(), "attention.k": tp.ColwiseParallel(), "attention.v": tp.ColwiseParallel(),
    "attention.o": tp.RowwiseParallel(output_layouts=SPLIT),
    "mlp.gate": tp.ColwiseParallel(), "mlp.up": tp.ColwiseParallel(),
    "mlp.down": tp.RowwiseParallel(output_layouts=SPLIT),
}


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x):
        # As many heads of 128 as this GPU has of them.
        q, k, v = (p(x).unflatten(-1, (-1, 128)).transpose(1, 2) for p in (self.q, self.k, self.v))
        return self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2))


class MLP(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate, self.up = nn.Linear(width, 4 * width, bias=False), nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention, self.mlp = Attention(width), MLP(width)

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in {"layers": 4, "width": 8192, "sequence": 4096, "tensor-parallel": 8, "steps": 5}.items():
        parser.add_argument(f"--{name}", type=int, default=usual)
    args = parser.parse_args()

    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    ranks = dist.get_world_size()
    mesh = init_device_mesh("cuda", (ranks // args.tensor_parallel, args.tensor_parallel), mesh_dim_names=("dp", "tp"))
    with torch.device("cuda"):
        model = nn.Sequential(*[Block(args.width) for _ in range(args.layers)]).to(torch.bfloat16)
    for block in model:
        tp.parallelize_module(block, mesh["tp"], PLAN)
        if mesh["dp"].size() > 1:
            fully_shard(block, mesh=mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    x = torch.randn(1, args.sequence // args.tensor_parallel, args.width, device="cuda", dtype=torch.bfloat16)

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
