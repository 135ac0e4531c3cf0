"""A mixture of experts, some of them on each GPU: tokens go to their experts and back by all-to-all.

    torchrun --nproc-per-node 8 mixture_of_experts.py      on GPUs
    flopcast run --on dgx-h100 mixture_of_experts.py       on none
"""

import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.nn.functional import all_to_all_single


class Experts(nn.Module):
    """Each token is sent to the two experts that its scores favour."""

    def __init__(self, width, hidden, experts, chosen=2):
        super().__init__()
        self.ranks, self.chosen = dist.get_world_size(), chosen
        self.local = experts // self.ranks
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(self.local, width, hidden) / width**0.5)
        self.down = nn.Parameter(torch.randn(self.local, hidden, width) / hidden**0.5)

    def forward(self, x):
        weights, experts = self.router(x).softmax(-1).topk(self.chosen)
        order = experts.flatten().argsort(stable=True)  # by expert, so also by rank
        tokens = x[order // self.chosen]
        counts = torch.bincount(experts.flatten(), minlength=self.ranks * self.local)
        theirs = torch.empty_like(counts)
        dist.all_to_all_single(theirs, counts)
        send = counts.view(self.ranks, -1).sum(1).tolist()
        receive = theirs.view(self.ranks, -1).sum(1).tolist()
        arrived = all_to_all_single(tokens.new_empty(sum(receive), x.shape[1]), tokens, receive, send)
        # From ordered by rank, then expert, to ordered by expert.
        owner = torch.arange(self.local, device=x.device).repeat(self.ranks).repeat_interleave(theirs)
        by_expert = owner.argsort(stable=True)
        ends = theirs.view(self.ranks, -1).sum(0).cumsum(0).to(torch.int32)
        hidden = F.silu(torch._grouped_mm(arrived[by_expert], self.up, offs=ends))
        done = torch._grouped_mm(hidden, self.down, offs=ends)
        back = torch.empty_like(done).index_copy(0, by_expert, done)
        returned = all_to_all_single(torch.empty_like(tokens), back, send, receive)
        mixed = torch.empty_like(tokens).index_copy(0, order, returned).view(-1, self.chosen, x.shape[1])
        return x + (mixed * weights.unsqueeze(-1)).sum(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--hidden", type=int, default=4096)
    parser.add_argument("--experts", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=16384, help="of a GPU")
    parser.add_argument("--steps", type=int, default=4)
    args = parser.parse_args()

    dist.init_process_group("nccl")
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.manual_seed(dist.get_rank())
    with device:
        layers = [Experts(args.width, args.hidden, args.experts) for _ in range(args.layers)]
        model = nn.Sequential(*layers).to(torch.bfloat16)
        x = torch.randn(args.tokens, args.width, dtype=torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    for step in range(args.steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        model(x).float().square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        took = time.perf_counter() - start
        if dist.get_rank() == 0:
            rate = args.tokens * dist.get_world_size() / took
            print(f"step {step}: {1e3 * took:.1f} ms, {rate:,.0f} tokens/s", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
