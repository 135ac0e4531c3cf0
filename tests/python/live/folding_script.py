"""Data-parallel ranks, in two pipeline stages if there is a second argument of 2. Arguments: the kind of data parallelism
("ddp", "fsdp"), stages, the rank that computes something of its own from the second step on."""

import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

kind, stages, odd = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl" if stages > 1 else "cpu:gloo,cuda:nccl")
rank, ranks = dist.get_rank(), dist.get_world_size()
mesh = init_device_mesh("cuda", (stages, ranks // stages), mesh_dim_names=("pp", "dp"))
torch.manual_seed(0)
net = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(4))).to(device)
if kind == "fsdp":
    for layer in net:
        fully_shard(layer, mesh=mesh["dp"])
    fully_shard(net, mesh=mesh["dp"])
else:
    net = torch.nn.parallel.DistributedDataParallel(net, device_ids=[device.index])
if stages > 1:
    place = mesh["pp"].get_local_rank()
    stage = PipelineStage(net, place, stages, device, group=mesh["pp"].get_group())
    schedule = Schedule1F1B(stage, 4, loss_fn=torch.nn.functional.mse_loss)
optimizer = torch.optim.AdamW(net.parameters())
for step in range(3):
    x = torch.randn(64, 1024, device=device)
    if stages > 1:
        schedule.step(*([x] if place == 0 else []), **({} if place == 0 else {"target": x}))
    else:
        net(x).pow(2).mean().backward()
    if step > 0 and rank == odd:
        torch.ones(77, 77, device=device) @ torch.ones(77, 77, device=device)
    optimizer.step()
    optimizer.zero_grad()
    total = torch.tensor([1.0], device=device)
    dist.all_reduce(total)
    torch.cuda.synchronize()
    if rank == 0:
        print("step", step, total.item())
if stages == 1:
    here = torch.tensor([1.0 + rank])
    dist.all_reduce(here)  # on the CPU
    names = [None] * ranks
    dist.all_gather_object(names, f"rank of {ranks}")
    if rank == 0:
        print(here.item() > ranks, set(names))
dist.destroy_process_group()
