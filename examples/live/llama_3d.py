"""A Llama on a mesh of data (FSDP2), stages (interleaved 1F1B), parts of a sequence and tensors (sequence parallel), with stock PyTorch.

    flopcast run --on "1024 x dgx-h100" --fold auto llama_3d.py --layers 126 --width 16384 --heads 128 --kv-heads 8 \
        --hidden 53248 --vocabulary 128256 --sequence 8192 --pipeline 16 --virtual 8 --tensor 8 --microbatches 32 --steps 1"""

import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.parallel import loss_parallel

# Tensors are (sequence, batch, ...). Ranks that share a product have a part of the sequence each outside of it.


def gather(part, group, async_op=False):
    whole = part.new_empty(part.size(0) * group.size(), *part.shape[1:])
    return whole, dist.all_gather_into_tensor(whole, part.contiguous(), group, async_op)


def scatter(whole, group, async_op=False):
    """The sum of what all ranks have, a part each."""
    part = whole.new_empty(whole.size(0) // group.size(), *whole.shape[1:])
    return part, dist.reduce_scatter_tensor(part, whole.contiguous(), group=group, async_op=async_op)


class Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return gather(x, group)[0]

    @staticmethod
    def backward(ctx, gradient):
        return scatter(gradient, ctx.group)[0], None


class Scattered(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return scatter(x, group)[0]

    @staticmethod
    def backward(ctx, gradient):
        return gather(gradient, ctx.group)[0], None


def normed(x, scale):
    return F.rms_norm(x, scale.shape, scale)


class NormedLinear(torch.autograd.Function):
    """The norm of all parts times weights. Backward does it again rather than keep it, and transfers beside products."""

    @staticmethod
    def forward(ctx, x, scale, weight, group):
        ctx.save_for_backward(x, scale, weight)
        ctx.group = group
        return F.linear(gather(normed(x, scale), group)[0], weight)

    @staticmethod
    def backward(ctx, gradient):
        x, scale, weight = (one.detach().requires_grad_() for one in ctx.saved_tensors)
        with torch.enable_grad():
            part = normed(x, scale)
        whole, gathered = gather(part.detach(), ctx.group, async_op=True)
        of_part, scattered = scatter(gradient @ weight.detach(), ctx.group, async_op=True)
        gathered.wait()
        of_weight = gradient.flatten(0, 1).t() @ whole.flatten(0, 1)
        scattered.wait()
        return *torch.autograd.grad(part, (x, scale), of_part), of_weight, None


class SwigluLinear(torch.autograd.Function):
    """silu(gate) * up times weights. Of the four tensors that backward needs it keeps two."""

    @staticmethod
    def forward(ctx, both, weight):
        ctx.save_for_backward(both, weight)
        gate, up = both.chunk(2, -1)
        return F.linear(F.silu(gate) * up, weight)

    @staticmethod
    def backward(ctx, gradient):
        both, weight = ctx.saved_tensors
        gate, up = both.chunk(2, -1)
        active, of_x = F.silu(gate), gradient @ weight
        of_weight = gradient.flatten(0, 1).t() @ (active * up).flatten(0, 1)
        of_gate = torch.ops.aten.silu_backward(of_x * up, gate)
        return torch.cat((of_gate, of_x * active), -1), of_weight


class Pieces(torch.autograd.Function):
    """One softmax over the keys before each piece of the queries, which lie behind each other, and over the piece itself. By cuDNN, which
    wants Hopper or newer."""

    @staticmethod
    def forward(ctx, q, k, v, before_k, before_v, layout):
        ctx.layout = layout
        ctx.parts = (k, v, layout.query_ends, layout.piece, True), (before_k, before_v, layout.key_ends, layout.sequence, False)
        done = [
            torch.ops.aten._cudnn_attention_forward(
                q, k, v, None, layout.query_ends, ends, layout.piece, longest, True, is_causal=causal
            )
            for k, v, ends, longest, causal in ctx.parts
        ]  # fmt: skip
        lse = torch.logaddexp(*(one[1] for one in done))
        shares = [(one[1] - lse).exp().t().unsqueeze(-1).to(q.dtype) for one in done]
        y = done[0][0] * shares[0] + done[1][0].nan_to_num() * shares[1]  # the first piece has none before it
        ctx.save_for_backward(q, y, lse, *(done[0][i] for i in (6, 7)))
        return y

    @staticmethod
    def backward(ctx, gradient):
        (q, y, lse, *seed), layout = ctx.saved_tensors, ctx.layout
        of_own, of_before = (
            torch.ops.aten._cudnn_attention_backward(
                gradient, q, k, v, y, lse, *seed, None, layout.query_ends, ends, layout.piece, longest, 0.0, causal
            )
            for k, v, ends, longest, causal in ctx.parts
        )  # fmt: skip
        return of_own[0] + of_before[0], *of_own[1:], *of_before[1:], None


class Layout:
    """Where this rank is. Of 2 N pieces of a sequence rank i of N has pieces i and 2 N - 1 - i: all have as much attention. The keys
    before the two are 2 N - 1 pieces together, whichever rank it is: laid behind each other, all ranks call the same."""

    def __init__(self, args, mesh, device):
        self.tensor, self.context = mesh["tp"].get_group(), mesh["cp"].get_group()
        self.place, self.ranks = self.tensor.rank(), self.tensor.size()
        parts = self.context.size()
        folds = [(i, 2 * parts - 1 - i) for i in range(parts)] if parts > 1 else [(0,)]
        pieces, order = folds[self.context.rank()], [i for fold in folds for i in fold]
        tokens = torch.arange(args.sequence).chunk(len(order))
        self.tokens = torch.cat([tokens[i] for i in pieces]).to(device)
        gathered = torch.cat([tokens[i] for i in order]).argsort()  # where a token is when all parts are
        self.sequence, self.piece = args.sequence, len(tokens[0])
        before = [i * self.piece for i in pieces]
        self.keys = torch.cat([gathered[:keys] for keys in before]).to(device)
        lengths = torch.tensor([[0, 0], *([self.piece, keys] for keys in before)])
        self.query_ends, self.key_ends = lengths.cumsum(0).int().t().contiguous().to(device)
        dim = args.width // args.heads
        turns = self.tokens.unsqueeze(-1) * 500000.0 ** -(torch.arange(0, dim, 2, device=device) / dim)
        self.turns = [f(turns).to(torch.bfloat16)[:, None, None] for f in (torch.cos, torch.sin)]


class Attention(nn.Module):
    def __init__(self, args, layout):
        super().__init__()
        self.layout, self.dim = layout, args.width // args.heads
        self.heads = [n // layout.ranks for n in (args.heads, args.kv_heads, args.kv_heads)]
        self.norm = nn.RMSNorm(args.width)
        self.qkv = nn.Linear(args.width, sum(self.heads) * self.dim, bias=False)
        self.out = nn.Linear(self.heads[0] * self.dim, args.width, bias=False)

    def forward(self, x):
        group = self.layout.tensor
        qkv = NormedLinear.apply(x, self.norm.weight, self.qkv.weight, group)
        q, k, v = qkv.unflatten(-1, (-1, self.dim)).split(self.heads, dim=-2)
        attend = self.attend if self.layout.context.size() == 1 else self.attend_all
        y = attend(self.rotate(q), self.rotate(k), v.contiguous())
        return x + Scattered.apply(F.linear(y.flatten(-2), self.out.weight), group)

    def rotate(self, x):
        (a, b), (cos, sin) = x.chunk(2, -1), self.layout.turns
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)

    def attend(self, q, k, v):
        q, k, v = (x.permute(1, 2, 0, 3) for x in (q, k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).permute(2, 0, 1, 3)

    def attend_all(self, q, k, v):
        """Keys and values of the whole sequence."""
        layout = self.layout
        before = (Gathered.apply(x, layout.context).index_select(0, layout.keys) for x in (k, v))
        return Pieces.apply(*(x.flatten(1, 2) for x in (q, k, v, *before)), layout).view_as(q)


class FeedForward(nn.Module):
    def __init__(self, args, layout):
        super().__init__()
        self.group, hidden = layout.tensor, args.hidden // layout.ranks
        self.norm = nn.RMSNorm(args.width)
        self.gate_up = nn.Linear(args.width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, args.width, bias=False)

    def forward(self, x):
        both = NormedLinear.apply(x, self.norm.weight, self.gate_up.weight, self.group)
        return x + Scattered.apply(SwigluLinear.apply(both, self.down.weight), self.group)


class Embedding(nn.Module):
    """Of a part of the vocabulary; tokens of other parts are zero in the sum of all."""

    def __init__(self, args, layout):
        super().__init__()
        self.layout = layout
        self.weight = nn.Parameter(torch.empty(args.vocabulary // layout.ranks, args.width))

    def forward(self, tokens):
        rows = len(self.weight)
        tokens = tokens.t()[self.layout.tokens] - self.layout.place * rows
        there = ((tokens >= 0) & (tokens < rows)).unsqueeze(-1)
        x = F.embedding(tokens.clamp(0, rows - 1), self.weight) * there
        return Scattered.apply(x, self.layout.tensor)


class Head(nn.Module):
    def __init__(self, args, layout):
        super().__init__()
        self.group = layout.tensor
        self.norm = nn.RMSNorm(args.width)
        self.out = nn.Linear(args.width, args.vocabulary // layout.ranks, bias=False)

    def forward(self, x):
        return NormedLinear.apply(x, self.norm.weight, self.out.weight, self.group)


def chunk_of(args, layout, number):
    """One of all stages: embedding and head count as a layer each."""
    stages = args.pipeline * args.virtual
    first, end = (i * (args.layers + 2) // stages for i in (number, number + 1))
    parts = []
    for i in range(first, end):
        if i in (0, args.layers + 1):
            parts.append((Head if i else Embedding)(args, layout))
        else:
            parts += [Attention(args, layout), FeedForward(args, layout)]
    return nn.Sequential(*parts)


def stage_of(args, layout, mesh, number, device):
    """Its memory on the device alone."""
    with torch.device("meta"):
        chunk = chunk_of(args, layout, number)
    precision = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    fully_shard(
        chunk, mesh=mesh, mp_policy=precision, reshard_after_forward=False,
        shard_placement_fn=lambda p: Shard(1) if p.size(0) % mesh.size() else None,  # as much for each
    )  # fmt: skip
    chunk.to_empty(device=device)
    for parameter in chunk.parameters():
        local = parameter.to_local()
        nn.init.normal_(local, std=0.02) if parameter.dim() > 1 else nn.init.ones_(local)
    return chunk


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (
        ("layers", 6), ("width", 1024), ("heads", 8), ("kv-heads", 8), ("hidden", 2048), ("vocabulary", 32000),
        ("sequence", 1024), ("batch", 1), ("microbatches", 4), ("pipeline", 2), ("virtual", 2), ("context", 1),
        ("tensor", 2), ("steps", 3),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    torch.manual_seed(0)
    dist.init_process_group("nccl")
    data = dist.get_world_size() // (args.pipeline * args.context * args.tensor)
    shape, names = (data, args.pipeline, args.context, args.tensor), ("dp", "pp", "cp", "tp")
    # Sends to one stage do not wait for those to another: communicators of two, made when they are needed.
    mesh = init_device_mesh("cuda", shape, mesh_dim_names=names, backend_override={"pp": "nccl-lazy"})
    replicas = mesh["dp"] if args.context == 1 else mesh["dp", "cp"]._flatten("dp_cp")
    layout, place = Layout(args, mesh, device), mesh["pp"].get_local_rank()
    rows = (len(layout.tokens) // args.tensor, args.batch, args.width)
    stages, norms = [], []
    for number in range(place, args.pipeline * args.virtual, args.pipeline):
        chunk = stage_of(args, layout, replicas, number, device)
        norms += [p for p in chunk.parameters() if p.dim() == 1]
        first, last = number == 0, number == args.pipeline * args.virtual - 1
        logits = (len(layout.tokens), args.batch, args.vocabulary // args.tensor)
        x = torch.empty(rows, dtype=torch.bfloat16, device="meta")
        tokens = torch.empty(args.batch, args.sequence, dtype=torch.int64, device="meta")
        stages.append(PipelineStage(
            chunk, number, args.pipeline * args.virtual, device, group=mesh["pp"].get_group(),
            input_args=tokens if first else x.requires_grad_(),
            output_args=(x.new_empty(logits) if last else x.clone()).requires_grad_(),
        ))  # fmt: skip

    def loss_of(logits, tokens):
        logits = DTensor.from_local(logits.flatten(0, 1).float(), mesh["tp"], [Shard(-1)])
        return F.cross_entropy(logits, tokens.t()[layout.tokens].flatten())

    schedule = ScheduleInterleaved1F1B(stages, args.microbatches, loss_of, max_active_stages=args.virtual)
    optimizer = torch.optim.AdamW([p for s in stages for p in s.submod.parameters()], lr=3e-4, fused=True)
    size = (args.batch * args.microbatches, args.sequence)
    weights = args.width * args.vocabulary + args.layers * args.width * (
        2 * args.width + 2 * args.width * args.kv_heads // args.heads + 3 * args.hidden
    )
    for step in range(args.steps):
        begin = time.perf_counter()
        tokens = torch.randint(0, args.vocabulary, size, device=device)
        target = {"target": tokens} if stages[-1].is_last else {}
        with loss_parallel():
            schedule.step(*([tokens] if stages[0].is_first else []), **target, return_outputs=False)
        for norm in norms:  # each rank has seen its part of the sequence
            dist.all_reduce(norm.grad.to_local(), group=layout.tensor)
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()
        if dist.get_rank() == 0:
            seconds = time.perf_counter() - begin
            rate = args.batch * args.microbatches * args.sequence * data / seconds
            # Products with weights, and attention to the half of the sequence that is before a token.
            flop = 6 * (weights + args.layers * args.width * args.sequence) * rate / dist.get_world_size()
            print(f"step {step}: {seconds:.3f} s, {rate:,.0f} tokens/s, {flop / 1e12:.1f} TFLOP/s a GPU", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
