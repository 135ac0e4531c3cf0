"""What PyTorch does with several ranks, checked by the values that come out: each check is done by all ranks, and rank 0
prints for how many of them it held."""

import contextlib
import copy
import json
import os
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric
from torch import nn
from torch.distributed import pipelining
from torch.distributed.nn.functional import all_to_all_single as exchanged
from torch.distributed.pipelining import PipelineStage
from torch.nn import functional as F

rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
cuda = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def small_model() -> nn.Module:
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))


def batch_of(step: int, of_rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    made = torch.Generator().manual_seed(1000 * step + of_rank)
    return torch.randn(6, 8, generator=made), torch.randn(6, 4, generator=made)


def trained_on_cpu(steps: int) -> nn.Module:
    """With the batches of all ranks, on one processor."""
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        batches = [batch_of(step, each) for each in range(ranks)]
        (sum(F.mse_loss(model(x), y) for x, y in batches) / ranks).backward()
        optimizer.step()
        optimizer.zero_grad()
    return model


def train(model: nn.Module, steps: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        x, y = (part.to(cuda) for part in batch_of(step, rank))
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()


def close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.allclose(a.detach().cpu(), b.detach().cpu(), rtol=1e-5, atol=1e-6)


def same_parameters(one: nn.Module, other: nn.Module) -> bool:
    def full(parameter):
        return parameter.full_tensor() if hasattr(parameter, "full_tensor") else parameter

    return all(close(full(a), b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


@check
def all_reduce():
    total = ranks * (ranks + 1) // 2
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.int32, torch.uint8):
        x = torch.full((5,), rank + 1, dtype=dtype, device=cuda)
        dist.all_reduce(x)
        assert x.tolist() == [total] * 5, dtype
    flag = torch.tensor([rank == ranks - 1], device=cuda)
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    assert flag.item()
    mean = torch.tensor([float(rank)], device=cuda)
    dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    assert abs(mean.item() - (ranks - 1) / 2) < 1e-6


@check
def chained_reductions_without_a_look():
    x = torch.ones(3, device=cuda)
    for _ in range(4):
        dist.all_reduce(x)
        x /= ranks
        x += 1
    assert x.tolist() == [5.0] * 3


@check
def gathers_and_scatters():
    x = torch.arange(3.0, device=cuda) + 10 * rank
    out = torch.empty(3 * ranks, device=cuda)
    dist.all_gather_into_tensor(out, x)
    assert out.tolist() == [10.0 * r + i for r in range(ranks) for i in range(3)]
    listed = [torch.empty(3, device=cuda) for _ in range(ranks)]
    dist.all_gather(listed, x)
    assert torch.cat(listed).tolist() == out.tolist()
    part = torch.empty(2, device=cuda)
    dist.reduce_scatter_tensor(part, torch.arange(2.0 * ranks, device=cuda))
    assert part.tolist() == [ranks * (2.0 * rank + i) for i in range(2)]
    if rank == 0:
        dist.gather(x, listed)
        assert torch.cat(listed).tolist() == out.tolist()
        dist.scatter(part, [torch.full((2,), float(r), device=cuda) for r in range(ranks)])
    else:
        dist.gather(x)
        dist.scatter(part)
    assert part.tolist() == [float(rank)] * 2


@check
def all_to_all():
    out = torch.empty(2 * ranks, device=cuda)
    dist.all_to_all_single(out, torch.arange(2.0 * ranks, device=cuda) + 100 * rank)
    assert out.tolist() == [100.0 * r + 2 * rank + i for r in range(ranks) for i in range(2)]
    # Of unequal parts: r + 1 elements to rank r.
    sizes = [r + 1 for r in range(ranks)]
    out = torch.empty(ranks * (rank + 1), device=cuda)
    dist.all_to_all_single(out, torch.full((sum(sizes),), float(rank), device=cuda), [rank + 1] * ranks, sizes)
    assert out.tolist() == [float(r) for r in range(ranks) for _ in range(rank + 1)]


@check
def sends_and_receives():
    x, got = torch.full((4,), float(rank), device=cuda), torch.empty(4, device=cuda)
    operations = [dist.P2POp(dist.isend, x, (rank + 1) % ranks), dist.P2POp(dist.irecv, got, (rank - 1) % ranks)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert got.tolist() == [float((rank - 1) % ranks)] * 4
    if rank == 0:
        dist.send(torch.full((4,), 7.0, device=cuda), 1)
    elif rank == 1:
        dist.recv(got, 0)
        assert got.tolist() == [7.0] * 4


@check
def objects():
    everybody = [None] * ranks
    dist.all_gather_object(everybody, {"rank": rank, "text": "x" * 3000 * rank})
    assert [len(one["text"]) for one in everybody] == [3000 * r for r in range(ranks)]
    told = [{"settings": [1, 2, 3]}] if rank == 0 else [None]
    dist.broadcast_object_list(told, 0)
    assert told == [{"settings": [1, 2, 3]}]


@check
def groups():
    pair = dist.new_group([0, 1])
    x = torch.ones(1, device=cuda)
    if rank < 2:
        dist.all_reduce(x, group=pair)
        assert x.item() == 2


@check
def barriers_of_symmetric_memory():
    group, _ = dist.new_subgroups(int(os.environ["LOCAL_WORLD_SIZE"]))
    handle = symmetric.rendezvous(symmetric.empty(16, device=cuda), group)
    for channel in (0, 1, 0):
        dist.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        if handle.rank == 1:
            time.sleep(0.05)
        handle.barrier(channel=channel)
        torch.cuda.synchronize()
        assert 0.0499 < time.perf_counter() - begin < 0.051


@check
def ddp():
    model = nn.parallel.DistributedDataParallel(small_model().to(cuda), device_ids=[cuda.index])
    train(model, 3)
    assert same_parameters(model.module, trained_on_cpu(3))


@check
def ddp_that_gathers_the_gradients_of_three_batches():
    """Only the last reduces them."""
    model = nn.parallel.DistributedDataParallel(small_model().to(cuda), device_ids=[cuda.index])
    for batch in range(3):
        x, y = (part.to(cuda) for part in batch_of(batch, rank))
        with contextlib.nullcontext() if batch == 2 else model.no_sync():
            F.mse_loss(model(x), y).backward()
    whole = small_model()
    (sum(F.mse_loss(whole(x), y) for x, y in (batch_of(b, r) for b in range(3) for r in range(ranks))) / ranks).backward()
    assert all(close(a.grad, b.grad) for a, b in zip(model.parameters(), whole.parameters(), strict=True))


@check
def fsdp1():
    from torch.distributed.fsdp import FullyShardedDataParallel

    model = FullyShardedDataParallel(small_model().to(cuda), device_id=cuda)
    train(model, 3)
    with FullyShardedDataParallel.summon_full_params(model):
        assert same_parameters(model, trained_on_cpu(3))


@check
def fsdp2():
    from torch.distributed.fsdp import fully_shard

    model = small_model().to(cuda)
    for layer in (model[0], model[2]):
        fully_shard(layer)
    fully_shard(model)
    train(model, 3)
    assert same_parameters(model, trained_on_cpu(3))


@check
def tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    mesh = init_device_mesh("cuda", (ranks // 2, 2), mesh_dim_names=("data", "tensor"))
    model = parallelize_module(small_model().to(cuda), mesh["tensor"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    if ranks > 2:
        fully_shard(model, mesh=mesh["data"])
    x, _ = batch_of(0, 0)
    assert close(model(x.to(cuda)), small_model()(x))
    model(x.to(cuda)).sum().backward()


def piped(kind, numbers, microbatches):
    """A schedule of PyTorch's, with the stages of these numbers on this rank: losses and gradients are one processor's."""

    def stage_of(each):
        torch.manual_seed(each)
        return nn.Linear(8, 8)

    def loss_of(y, target):
        return F.mse_loss(y, target)

    whole = nn.Sequential(*(stage_of(each) for each in range(ranks * len(numbers))))
    rows = 2 * microbatches
    x, target = torch.randn(rows, 8, generator=torch.Generator().manual_seed(1)), torch.zeros(rows, 8)
    stages = [PipelineStage(copy.deepcopy(whole[each]).to(cuda), each, len(whole), cuda) for each in numbers]
    schedule = kind(stages if len(stages) > 1 else stages[0], n_microbatches=microbatches, loss_fn=loss_of)
    losses, is_last = [], len(whole) - 1 in numbers
    told = {"target": target.to(cuda), "losses": losses} if is_last else {}
    schedule.step(*([x.to(cuda)] if 0 in numbers else []), **told)
    expected = [loss_of(whole(part), torch.zeros(2, 8)) for part in x.chunk(microbatches)]
    if is_last:
        assert close(torch.stack(losses), torch.stack(expected))
    (sum(expected) / microbatches).backward()
    for stage, each in zip(stages, numbers, strict=True):
        assert close(stage.submod.weight.grad, whole[each].weight.grad), each


@check
def pipeline():
    piped(pipelining.Schedule1F1B, [rank], ranks)


@check
def pipelines_of_two_stages_a_rank():
    """One after the other, and there and back, without bubbles."""
    piped(pipelining.ScheduleInterleaved1F1B, [rank, rank + ranks], 2 * ranks)
    piped(pipelining.ScheduleZBVZeroBubble, [rank, 2 * ranks - 1 - rank], 2 * ranks)


@check
def experts_by_all_to_all():
    """Tokens go to the ranks of their two best experts and back, as many as the router chooses; gradients as well."""
    torch.manual_seed(9)
    router, experts = nn.Linear(8, ranks), [nn.Linear(8, 8) for _ in range(ranks)]
    own_router, own, tokens = copy.deepcopy(router).to(cuda), copy.deepcopy(experts[rank]).to(cuda), batch_of(0, rank)[0].to(cuda)
    weights, best = own_router(tokens).softmax(-1).topk(2)
    order, counts = best.flatten().argsort(stable=True), torch.bincount(best.flatten(), minlength=ranks)
    others = torch.empty_like(counts)
    dist.all_to_all_single(others, counts)
    sent, got = counts.tolist(), others.tolist()
    arrived = exchanged(torch.empty(sum(got), 8, device=cuda), tokens[order // 2], got, sent)
    back = exchanged(torch.empty(len(order), 8, device=cuda), own(arrived), sent, got)
    out = torch.zeros_like(tokens).index_add(0, order // 2, back * weights.flatten()[order, None])
    out.square().sum().backward()

    def on_cpu(x):
        weights, best = router(x).softmax(-1).topk(2)
        return torch.stack([sum(w * experts[e](row) for w, e in zip(*two, strict=True)) for row, *two in zip(x, weights, best, strict=True)])

    expected = [on_cpu(batch_of(0, each)[0]) for each in range(ranks)]
    assert close(out, expected[rank])
    expected[rank].square().sum().backward(retain_graph=True)
    assert close(own_router.weight.grad, router.weight.grad)
    sum(each.square().sum() for i, each in enumerate(expected) if i != rank).backward()
    assert close(own.weight.grad, experts[rank].weight.grad)


@check
def synchronized_batch_norm():
    torch.manual_seed(3)
    own = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(4 * 36, 2))
    whole = copy.deepcopy(own)
    own = nn.SyncBatchNorm.convert_sync_batchnorm(own).to(cuda)
    model = nn.parallel.DistributedDataParallel(own, device_ids=[cuda.index])
    parts = [torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(each)) for each in range(ranks)]
    out = model(parts[rank].to(cuda))
    out.square().mean().backward()
    expected = whole(torch.cat(parts))
    expected.square().mean().backward()
    assert close(out, expected.chunk(ranks)[rank])
    assert close(own[1].running_mean, whole[1].running_mean) and close(own[1].running_var, whole[1].running_var)
    assert all(close(a.grad, b.grad) for a, b in zip(own.parameters(), whole.parameters(), strict=True))


@check
def checkpoint():
    import torch.distributed.checkpoint as dcp
    from torch.distributed.fsdp import fully_shard

    folder = [tempfile.mkdtemp()] if rank == 0 else [None]
    dist.broadcast_object_list(folder, 0)
    model = small_model().to(cuda)
    fully_shard(model)
    dcp.save({"model": model.state_dict()}, checkpoint_id=folder[0])
    other = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4)).to(cuda)
    fully_shard(other)
    state = other.state_dict()
    dcp.load({"model": state}, checkpoint_id=folder[0])
    other.load_state_dict(state)
    assert same_parameters(other, small_model())


def main() -> None:
    held = {}
    for one in CHECKS:
        begin = time.perf_counter()
        try:
            one()
            error = None
        except AssertionError as wrong:
            error = f"rank {rank}: {wrong!r}"
        torch.cuda.synchronize()
        errors = [None] * ranks
        dist.all_gather_object(errors, error)
        seconds = time.perf_counter() - begin
        held[one.__name__] = {"errors": [each for each in errors if each], "seconds": seconds}
    if rank == 0:
        json.dump(held, sys.stdout)
    dist.barrier()
    dist.destroy_process_group()


main()
