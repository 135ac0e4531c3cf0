"""A GPT of one stage a GPU: pipeline parallelism in the order 1F1B.

    torchrun --nproc-per-node 8 pipeline_1f1b.py           on GPUs
    flopcast run --on dgx-h100 pipeline_1f1b.py            on none
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

VOCABULARY = 32000


class Stage(nn.Module):
    """Some layers; the first also has the embedding, the last the head."""

    def __init__(self, width, layers, first, last):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width) if first else None
        make = dict(nhead=width // 128, dim_feedforward=4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, **make) for _ in range(layers))
        self.head = nn.Linear(width, VOCABULARY, bias=False) if last else None

    def forward(self, x):
        if self.embedding is not None:
            x = self.embedding(x)
        for layer in self.layers:
            x = layer(x)
        return x if self.head is None else self.head(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4, help="of a stage")
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--sequence", type=int, default=2048)
    parser.add_argument("--microbatches", type=int, default=16)
    parser.add_argument("--steps", type=int, default=4)
    args = parser.parse_args()

    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    with device:
        model = Stage(args.width, args.layers, rank == 0, rank == ranks - 1).to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    stage = PipelineStage(model, rank, ranks, device)

    def loss_of(logits, tokens):
        return F.cross_entropy(logits.flatten(0, 1).float(), tokens.flatten())

    schedule = Schedule1F1B(stage, args.microbatches, loss_fn=loss_of)
    tokens = torch.randint(VOCABULARY, (args.microbatches, args.sequence), device=device)

    for step in range(args.steps):
        dist.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        if rank == 0:
            schedule.step(tokens)
        elif rank == ranks - 1:
            schedule.step(target=tokens)
        else:
            schedule.step()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        took = time.perf_counter() - start
        if rank == ranks - 1:
            print(f"step {step}: {1e3 * took:.1f} ms, {tokens.numel() / took:,.0f} tokens/s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
