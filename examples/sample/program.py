"""What a rank's Python runs: passes in the order of its schedule, messages, optimizer; step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Tuple

from . import machine
from .gpu import Task
from .host import Issued
from .layer import Label, Layer, Model
from .operators import Forward
from .recorder import GPUS_OF_A_HOST
from .schedule import Exchange, Message, Pass, program

if TYPE_CHECKING:
    from .world import World

Live = Dict[Tuple[int, int], List[Layer]]  # by chunk and microbatch
STEP_NAMES_FROM = 2  # ProfilerStep#2 is the first: torch.profiler.schedule skips some


class Buckets:
    """Gradients of a backward, in the order in which they are ready; replicas share them in buckets.

    Those of experts have a group of their own: the replicas that hold the same experts."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.in_flight: list[Issued] = []
        self.layers = self.parameters = self.of_experts = 0

    def add(self, label: Label, last: bool) -> None:
        """The gradients of a part of the model are ready."""
        plan = self.program.plan
        self.parameters += self.program.parameters(label)
        if isinstance(label, int):
            self.layers += 1
            self.of_experts += plan.expert_parameters(label)
        if self.layers == plan.bucket or plan.zero == 3 or last:
            self.flush()

    def flush(self) -> None:
        shards = self.program.plan.shards
        name = "ReduceScatter" if shards > 1 else "AllReduce"
        if self.parameters:
            self.put(self.program.start("dp", name, self.parameters, self.parameters // shards))
        if self.of_experts:
            self.put(self.program.start("edp", "AllReduce", self.of_experts))
        self.layers = self.parameters = self.of_experts = 0

    def put(self, issued: Issued | None) -> None:
        self.in_flight += [issued] if issued else []


class Program(Model):
    """The program of a rank."""

    def __init__(self, world: World, rank: int, rows: bool) -> None:
        super().__init__(world, rank, rows)
        self.stage, *self.others = world.place(rank)
        self.step_begins: list[int] = []
        self.step_ends: list[int] = []

    def parameters(self, label: Label) -> int:
        """That all replicas have, of one shard."""
        if isinstance(label, int):
            return self.plan.layer_parameters(label)
        return 0 if label == "loss" else self.plan.edge_parameters

    def unsharded(self, one: Pass, phase: str, labels: list[Label]) -> Iterator[Label]:
        """Parts of the model in order. Where parameters are sharded, those of the next part are gathered
        while this one computes."""
        ahead = self.gather(one, phase, labels[0])
        for i, label in enumerate(labels):
            if ahead:
                self.wait_collective(ahead)
            ahead = self.gather(one, phase, labels[i + 1]) if i + 1 < len(labels) else None
            self.at(one.microbatch, phase, label)
            yield label

    def gather(self, one: Pass, phase: str, label: Label) -> Issued | None:
        parameters = self.parameters(label)
        if self.plan.zero != 3 or phase == "W" or not parameters:
            return None
        self.at(one.microbatch, f"{phase} gather", label)
        return self.start("dp", "AllGather", parameters // self.plan.shards, parameters)

    # A pass: one microbatch through one chunk of this stage.

    def forward(self, one: Pass) -> list[Layer]:
        p = self.plan
        layers = p.layers_of(self.stage, one.chunk)
        part = one.chunk * p.pp + self.stage
        labels: list[Label] = ["embedding"] * (part == 0) + [*layers] + ["head"] * (part == p.pp * p.chunks - 1)
        done: list[Layer] = []
        with self.op("forward_step", category="user_annotation"):
            for label in self.unsharded(one, "F", labels):
                if not isinstance(label, int):
                    done += [self.embedding()] if label == "embedding" else self.head()
                    continue
                with self.module(f"GPTLayer_{label}"):
                    kept = label - layers.start < p.recompute
                    done.append(self.kept(label) if kept else Layer(label, self.layer_forward(label)))
        return done

    def kept(self, layer: int) -> Layer:
        """torch.utils.checkpoint: only the input of the layer is kept."""
        number = next(self.sequence)
        more: dict[str, Any] = {"Sequence number": number, "Fwd thread id": 0}
        with self.op("CheckpointFunction", [self.x], **more) as start:
            self.grad = False
            self.layer_forward(layer)
            self.grad = True
        return Layer(layer, [Forward("CheckpointFunction", number, start, self.thread)], again=True)

    def backward(self, one: Pass, layers: list[Layer], halves: str) -> list[Issued]:
        """The autograd thread goes back through a microbatch while the main thread waits.

        @return gradients in flight: shared bucket by bucket in the last microbatch, those of sharded
        parameters in each."""
        self.at(one.microbatch, one.kind, "begin")
        self.spend(9_000)
        self.thread = self.autograd
        buckets = Buckets(self)
        ready = "W" in halves and (self.plan.zero == 3 or one.microbatch == self.plan.microbatches - 1)
        i = len(layers)
        for label in self.unsharded(one, one.kind, [layer.label for layer in reversed(layers)]):
            i -= 1
            if layers[i].again:
                layers[i] = self.layer_again(one, layers[i])
            if isinstance(label, int):
                self.layer_backward(label, layers[i].ops, halves)
            else:
                self.edge_backward(layers[i], halves)
            if ready:
                buckets.add(label, last=i == 0)
        self.at(one.microbatch, one.kind, "end")
        self.thread = self.main
        self.spend(11_000)
        return buckets.in_flight

    def layer_again(self, one: Pass, layer: Layer) -> Layer:
        """Recomputation, before the layer's backward."""
        (checkpoint,) = layer.ops
        assert isinstance(layer.label, int)
        self.at(one.microbatch, "R", layer.label)
        self.backward_op(checkpoint, [])
        ops = self.layer_forward(layer.label)
        self.at(one.microbatch, one.kind, layer.label)
        return Layer(layer.label, ops)

    # The training step.

    def exchange(self, action: Exchange) -> None:
        """Sends to and receives from a neighbour in one NCCL kernel (batch_isend_irecv)."""
        p = self.plan
        self.at(action.number, "X", min(self.stage, self.stage + action.side))
        group = self.world.pair("pp", self.rank, action.side)
        with self.op("c10d::send", [[p.tokens, p.hidden]]):
            self.wait_collective(self.collective(group, "SendRecv", p.tokens * p.hidden))

    def message(self, action: Message) -> Issued | None:
        """@return a send in flight. None: it stays on this stage, or was received."""
        p, step = self.plan, 1 if action.what == "act" else -1
        sender = self.world.rank(action.part, *self.others)
        receiver = self.world.rank(action.part + step, *self.others)
        self.at(action.microbatch, action.what, action.part)
        group = self.world.pair(action.what, sender, step)
        name, op = ("send", "c10d::send") if action.sent else ("recv", "c10d::recv_")
        with self.op(op, [[p.tokens, p.hidden]]):
            issued = self.collective(group, name, p.tokens * p.hidden,
                                     **{"Src Rank": sender, "Dst Rank": receiver})  # fmt: skip
            if action.sent:
                return issued
            self.wait_collective(issued)
        return None

    def pipeline(self) -> list[Issued]:
        """@return what the optimizer must wait for."""
        p = self.plan
        in_flight: list[Issued] = []
        sends: list[Issued] = []
        live: Live = {}
        both = "B" if p.schedule == "zb-h1" else "BW"
        for action in program(p.schedule, p.pp, self.stage, p.microbatches, p.chunks, p.apart):
            if isinstance(action, Exchange):
                self.exchange(action)
            elif isinstance(action, Message):
                sent = self.message(action)
                sends += [sent] if sent else []
            else:
                in_flight += self.run_pass(action, live, both)
        return sends + in_flight

    def run_pass(self, one: Pass, live: Live, halves: str) -> list[Issued]:
        key = (one.chunk, one.microbatch)
        if one.kind == "F":
            live[key] = self.forward(one)
            return []
        return self.backward(one, live[key], halves if one.kind == "B" else "W")

    def optimizer(self, in_flight: list[Issued]) -> Iterator[list[Task]]:
        p = self.plan
        self.at(0, "O", self.stage)
        for issued in in_flight:
            self.wait_collective(issued)
        parameters = p.parameters_of(self.stage) // p.shards
        memory = machine.BYTES_PER_NS
        with self.op("Optimizer.step#Adam.step", category="user_annotation"):
            with self.op("aten::_foreach_norm", [[parameters]]):
                self.kernel("multi_tensor_apply_kernel<L2NormFunctor>", "optimizer", int(2 * parameters / memory), 320)
            self.all_reduce("mp", 1)
            yield from self.item()
            for _ in range(4):
                with self.op("aten::_fused_adam_", [[parameters // 4]]):
                    self.kernel("multi_tensor_apply_kernel<FusedAdamMathFunctor>", "optimizer",
                                int(14 * parameters / 4 / memory), 320, 512)  # fmt: skip
            if p.zero == 1:
                self.share("dp", "AllGather", parameters, parameters * p.shards)
        with self.op("aten::zero_", [[parameters]]):
            self.put("cudaMemsetAsync", "Memset (Device)", ("copy",), int(2 * parameters / memory),
                     category="gpu_memset", bytes=2 * parameters)  # fmt: skip

    def load_data(self) -> None:
        p = self.plan
        with self.op("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", category="user_annotation"):
            self.spend(p.loader)
        with self.op("aten::copy_", [[p.tokens]]):
            self.put("cudaMemcpyAsync", "Memcpy HtoD (Pinned -> Device)", ("copy",), 2_100,
                     category="gpu_memcpy", bytes=8 * p.tokens)  # fmt: skip

    def steps(self) -> Iterator[list[Task]]:
        begin = self.now
        for self.step in range(self.plan.steps):
            self.at(0, "D", "data")
            self.step_begins.append(self.now)
            with self.op(f"ProfilerStep#{STEP_NAMES_FROM + self.step}", category="user_annotation"):
                self.now += self.hiccup()
                self.load_data()
                in_flight = self.pipeline()
                yield from self.optimizer(in_flight)
            self.step_ends.append(self.now)
        everything = [task for stream in self.gpu.streams for task in self.gpu.event(stream)]
        yield from self.wait_for("cudaDeviceSynchronize", everything)
        self.record.window(begin, self.now)

    def hiccup(self) -> int:
        """Something else had the core."""
        return int(self.plan.hiccups.get((self.rank, self.step), 0) * self.plan.noise)

    def write(self, directory: Path) -> None:
        device = self.rank % GPUS_OF_A_HOST
        for stream in self.gpu.streams.values():
            for task in stream.tasks:
                self.record.gpu_row(device, task)
        threads = {self.main: "python3", self.autograd: f"pt_autograd_{device}"}
        self.record.write(directory / f"sample_rank{self.rank}.json.gz", device, threads,
                          list(self.gpu.streams))  # fmt: skip
