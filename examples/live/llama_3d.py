"""A Llama on a mesh of three dimensions: pipeline stages (1F1B), data (FSDP2) and tensors, with stock PyTorch.

    flopcast run --on "128 x dgx-h100" --fold auto llama_3d.py --layers 80 --width 8192 --heads 64 --kv-heads 8 \
        --hidden 28672 --vocabulary 128256 --sequence 8192 --pipeline 8 --tensor 8 --microbatches 16"""

import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)


class Block(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.head = args.width // args.heads
        self.norm1, self.norm2 = nn.RMSNorm(args.width), nn.RMSNorm(args.width)
        self.query = nn.Linear(args.width, args.heads * self.head, bias=False)
        self.key = nn.Linear(args.width, args.kv_heads * self.head, bias=False)
        self.value = nn.Linear(args.width, args.kv_heads * self.head, bias=False)
        self.out = nn.Linear(args.heads * self.head, args.width, bias=False)
        self.gate = nn.Linear(args.width, args.hidden, bias=False)
        self.up = nn.Linear(args.width, args.hidden, bias=False)
        self.down = nn.Linear(args.hidden, args.width, bias=False)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (
            one(y).unflatten(-1, (-1, self.head)).transpose(1, 2)
            for one in (self.query, self.key, self.value)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).flatten(-2))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


#: How a block's parts lie on the ranks that share its tensors.
PARTS = dict.fromkeys(("query", "key", "value", "gate", "up"), ColwiseParallel)
PARTS |= dict.fromkeys(("out", "down"), RowwiseParallel)


class Stage(nn.Module):
    def __init__(self, args, stage):
        super().__init__()
        first, last = stage == 0, stage == args.pipeline - 1
        self.embedding = nn.Embedding(args.vocabulary, args.width) if first else None
        self.blocks = nn.ModuleList(Block(args) for _ in range(args.layers // args.pipeline))
        self.norm = nn.RMSNorm(args.width) if last else None
        self.head = nn.Linear(args.width, args.vocabulary, bias=False) if last else None

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
        for block in self.blocks:
            x = block(x)
        return x if self.head is None else self.head(self.norm(x))


def build(args, mesh, device):
    """This rank's stage, its memory on the device alone."""
    with torch.device("meta"):
        model = Stage(args, mesh["pp"].get_local_rank())
    for block in model.blocks:
        parallelize_module(block, mesh["tp"], {name: kind() for name, kind in PARTS.items()})
    precision = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    options = {"mesh": mesh["dp"], "mp_policy": precision, "reshard_after_forward": False}
    for block in model.blocks:
        fully_shard(block, **options)
    fully_shard(model, **options)
    model.to_empty(device=device)
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.02)
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (
        ("layers", 4), ("width", 1024), ("heads", 8), ("kv-heads", 8), ("hidden", 2048),
        ("vocabulary", 32000), ("sequence", 1024), ("batch", 1), ("microbatches", 4),
        ("pipeline", 2), ("tensor", 2), ("steps", 3),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    dist.init_process_group("nccl")
    data = dist.get_world_size() // (args.pipeline * args.tensor)
    shape = (args.pipeline, data, args.tensor)
    mesh = init_device_mesh("cuda", shape, mesh_dim_names=("pp", "dp", "tp"))
    model = build(args, mesh, device)
    stage = PipelineStage(
        model, mesh["pp"].get_local_rank(), args.pipeline, device, group=mesh["pp"].get_group()
    )

    def loss_of(logits, tokens):
        return F.cross_entropy(logits.flatten(0, 1).float(), tokens.flatten())

    schedule = Schedule1F1B(stage, args.microbatches, loss_fn=loss_of)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
    size = (args.batch * args.microbatches, args.sequence)
    for step in range(args.steps):
        begin = time.perf_counter()
        tokens = torch.randint(0, args.vocabulary, size, device=device)
        first, last = stage.is_first, stage.is_last
        target = {"target": tokens} if last else {}
        schedule.step(*([tokens] if first else []), **target, return_outputs=False)
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        if dist.get_rank() == 0:
            tokens_s = args.batch * args.microbatches * args.sequence * data
            seconds = time.perf_counter() - begin
            print(f"step {step}: {seconds:.3f} s, {tokens_s / seconds:,.0f} tokens/s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
