"""What ranks on several machines do with each other, each of which says what it got: replicas, shards, small values, objects."""

import gc
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
cuda = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
torch.manual_seed(7)
told = []
# When garbage is collected hangs on how often ranks have looked for each other, and it may hold events.
gc.disable()


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4)).to(cuda)


def train(net: nn.Module) -> None:
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(4):
        made = torch.Generator().manual_seed(100 * step + rank)
        loss = net(torch.randn(6, 8, generator=made).to(cuda)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        mean = loss.detach().clone()
        dist.all_reduce(mean, dist.ReduceOp.AVG)
        told.append(mean.item())


train(nn.parallel.DistributedDataParallel(model(), device_ids=[cuda.index]))
sharded = model()
fully_shard(sharded)
train(sharded)

seen = [None] * ranks
dist.all_gather_object(seen, {"rank": rank, "name": "x" * rank})
told.append(seen)
numbers = torch.arange(4, device=cuda) * (rank + 1)
dist.broadcast(numbers, ranks - 1)
told.append(numbers.tolist())
# Around the ring, so that each machine sends to the other and receives from it.
right, left = (rank + 1) % ranks, (rank - 1) % ranks
got = torch.empty(3, device=cuda)
for work in dist.batch_isend_irecv(
    [dist.P2POp(dist.isend, torch.full((3,), float(rank), device=cuda), right), dist.P2POp(dist.irecv, got, left)]
):
    work.wait()
told.append(got.tolist())
pairs = dist.new_group(list(range(rank % 2, ranks, 2)), use_local_synchronization=True)
twos = torch.ones(2, device=cuda)
dist.all_reduce(twos, group=pairs)
told.append(twos.tolist())
print(f"rank {rank}: {told}", flush=True)
dist.barrier()
dist.destroy_process_group()
