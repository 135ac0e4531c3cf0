#!/usr/bin/env python3
"""Writes Kineto traces of a made-up training run: 8 ranks, pipeline x data x tensor parallel 2x2x2.

    examples/make_sample.py DIR [--steps 3] [--seed 7]

For trying Flopcast where no GPU is at hand. The run is simulated, so that its timestamps obey the
causality of a real one: kernels start after their launch and after what runs before them on their
stream, a stream waits for the events it was told to wait for, a collective ends for all ranks after the
last one has arrived, and the host stands still where it asks for a result. Kernel times come from
FLOPs and bytes with a little seeded noise; rank 5 is a straggler. The same seed gives the same run.

The files look like those of torch.profiler (PyTorch 2.6, CUDA, NCCL): see `Recorder`.

Read in this order: `World` (the run), `Host` (what a rank's Python does), `Gpu` and `Collective` (time).
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import itertools
import json
import random
from dataclasses import dataclass, field
from pathlib import Path

# --- The plan ------------------------------------------------------------------------------------

PIPELINE, DATA, TENSOR = 2, 2, 2
WORLD = PIPELINE * DATA * TENSOR
MICROBATCHES = 4
LAYERS_PER_STAGE = 2
HIDDEN, SEQUENCE, HEADS, VOCABULARY = 4096, 2048, 32, 32768

# --- The machine: times in ns ---------------------------------------------------------------------

SMS = 132
FLOPS_PER_NS = 520e3  # of a GEMM in bf16
BYTES_PER_NS = 2.6e3  # of memory
LINK_BYTES_PER_NS = {"tp": 310.0, "dp": 180.0, "pp": 90.0, "mp": 180.0}
COLLECTIVE_LATENCY = {"tp": 9_000, "dp": 14_000, "pp": 12_000, "mp": 15_000}
LAUNCH_LATENCY = 6_200  # from the start of a launch call to the start of its kernel on an idle GPU
STREAM_GAP = 1_100  # between two kernels of a stream
EVENT_LATENCY = 1_900  # from the end of a kernel to the start of one that waits for its event
SYNC_LATENCY = 4_800  # from the end of a kernel to the return of the call that waits for it
SLOW_RANK, SLOW_HOST, SLOW_GPU = 5, 1.12, 1.03
HICCUP = {(2, 1): 900_000}  # (rank, step): something else had the core

COMPUTE = 7  # stream numbers
STREAM_OF = {"tp": 20, "dp": 24, "pp": 28, "mp": 32}
BASE_NS = 1_751_410_836_000_000_000
STEP_NAMES_FROM = 2  # ProfilerStep#2 is the first: torch.profiler.schedule skips some


# --- GPU -----------------------------------------------------------------------------------------


@dataclass
class Task:
    """A kernel, copy or set on a stream. `start` and `end` are unknown until it can run."""

    name: str
    category: str
    stream: int
    earliest: int
    duration: int
    correlation: int
    external_id: int
    arguments: dict
    after: list["Task"]
    collective: "Collective | None" = None
    start: int | None = None
    end: int | None = None


@dataclass
class Collective:
    """Ends for every member `transfer` after the last has arrived."""

    size: int
    transfer: int
    arrivals: list[int] = field(default_factory=list)

    def end(self) -> int | None:
        return max(self.arrivals) + self.transfer if len(self.arrivals) == self.size else None


class Gpu:
    """Streams run their tasks in order; events order them across streams."""

    def __init__(self) -> None:
        self.streams: dict[int, list[Task]] = {}
        self.settled: dict[int, int] = {}
        self.waits: dict[int, list[Task]] = {}

    def put(self, task: Task) -> None:
        task.after += self.waits.pop(task.stream, [])
        self.streams.setdefault(task.stream, []).append(task)

    def last(self, stream: int) -> Task | None:
        tasks = self.streams.get(stream)
        return tasks[-1] if tasks else None

    def wait(self, stream: int, event: Task | None) -> None:
        if event is not None:
            self.waits.setdefault(stream, []).append(event)

    def settle(self) -> bool:
        """Gives times to every task that can have one. True if any was found."""
        found = False
        for stream, tasks in self.streams.items():
            while (at := self.settled.get(stream, 0)) < len(tasks):
                if not self.settle_one(tasks[at], tasks[at - 1] if at else None):
                    break
                self.settled[stream] = at + 1
                found = True
        return found

    def settle_one(self, task: Task, before: Task | None) -> bool:
        if task.start is None:
            if any(t.end is None for t in task.after):
                return False
            ready = [task.earliest] + [t.end + EVENT_LATENCY for t in task.after]
            if before is not None:
                ready.append(before.end + STREAM_GAP)
            task.start = max(ready)
            if task.collective is not None:
                task.collective.arrivals.append(task.start)
        task.end = task.collective.end() if task.collective else task.start + task.duration
        return task.end is not None


# --- What torch.profiler would have written -------------------------------------------------------


class Recorder:
    """Rows of one rank, in the form of Kineto's JSON."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.rows: list[dict] = []
        self.pid = 4000 + rank

    def span(self, category: str, name: str, tid: int, start: int, end: int, args: dict) -> None:
        self.rows.append(
            {"ph": "X", "cat": category, "name": name, "pid": self.pid, "tid": tid,
             "ts": start / 1000, "dur": (end - start) / 1000, "args": args}
        )  # fmt: skip

    def flow(self, kind: str, phase: str, number: int, pid: int, tid: int, at: int) -> None:
        row = {"ph": phase, "id": number, "pid": pid, "tid": tid, "ts": at / 1000,
               "cat": kind, "name": kind}  # fmt: skip
        if phase == "f":
            row["bp"] = "e"
        self.rows.append(row)

    def gpu_row(self, device: int, task: Task) -> None:
        args = {"External id": task.external_id, "device": device, "context": 1,
                "stream": task.stream, "correlation": task.correlation, **task.arguments}  # fmt: skip
        self.rows.append(
            {"ph": "X", "cat": task.category, "name": task.name, "pid": device, "tid": task.stream,
             "ts": task.start / 1000, "dur": (task.end - task.start) / 1000, "args": args}
        )  # fmt: skip
        self.flow("ac2g", "f", task.correlation, device, task.stream, task.start)

    def write(self, path: Path, device: int, threads: dict[int, str], streams: list[int]) -> None:
        rows = self.metadata(device, threads, streams)
        rows += sorted(self.rows, key=lambda row: (row["ts"], -row.get("dur", 0)))
        document = {
            "schemaVersion": 1,
            "deviceProperties": [
                {"id": i, "name": "Made-up GPU 80GB", "totalGlobalMem": 85_000_000_000,
                 "numSms": SMS} for i in range(WORLD)
            ],
            "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": WORLD},
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": BASE_NS,
        }  # fmt: skip
        head = json.dumps(document, separators=(",", ":"))[:-1]
        lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
        text = f'{head},"traceEvents":[\n{lines}\n]}}\n'
        # No name and no time in the gzip header: the same run gives the same bytes.
        with path.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            packed.write(text.encode())

    def metadata(self, device: int, threads: dict[int, str], streams: list[int]) -> list[dict]:
        def meta(what: str, pid: int, tid: int, value: str) -> dict:
            return {"ph": "M", "name": what, "pid": pid, "tid": tid, "ts": 0, "args": {"name": value}}

        rows = [meta("process_name", self.pid, 0, "python3"), meta("process_name", device, 0, "python3")]
        rows += [meta("thread_name", self.pid, tid, name) for tid, name in threads.items()]
        rows += [meta("thread_name", device, s, f"stream {s}") for s in sorted(streams)]
        return rows


# --- Host ----------------------------------------------------------------------------------------


class Host:
    """A rank's Python: operators, launches, waits. `now` is its clock, in ns since the run's start.

    Methods that may wait for the GPU are generators: they yield the tasks whose end they need.
    """

    def __init__(self, world: "World", rank: int) -> None:
        self.world, self.rank = world, rank
        self.random = random.Random(f"{world.seed}/{rank}")
        self.host_factor = SLOW_HOST if rank == SLOW_RANK else 1.0
        self.gpu_factor = SLOW_GPU if rank == SLOW_RANK else 1.0
        self.gpu, self.record = Gpu(), Recorder(rank)
        self.now = 50_000 + self.random.randrange(40_000)
        self.main, self.autograd = self.record.pid, self.record.pid + 100
        self.thread = self.main
        self.correlation = itertools.count(1000)
        self.external = itertools.count(1)
        self.sequence = itertools.count(1)
        self.open_ops: list[int] = []

    def spend(self, typical: int) -> None:
        """Host time: never less than typical, now and then a good deal more."""
        noise = 0.12 * self.random.random() + (1.5 if self.random.random() < 0.01 else 0)
        self.now += int(typical * self.host_factor * (1 + noise))

    # Rows of the host.

    @contextlib.contextmanager
    def op(self, name: str, shapes: list | None = None, category: str = "cpu_op", **more):
        start, external = self.now, next(self.external)
        self.open_ops.append(external)
        self.spend(1_500)
        yield start
        self.spend(900)
        self.open_ops.pop()
        args = {"External id": external, "Record function id": 0, **more}
        if shapes is not None:
            args |= {"Input Dims": shapes, "Input type": ["c10::BFloat16"] * len(shapes)}
        self.record.span(category, name, self.thread, start, self.now, args)

    def call(self, name: str, typical: int) -> tuple[int, int]:
        """A call into the CUDA runtime. @return its start and its correlation."""
        start, correlation = self.now, next(self.correlation)
        self.spend(typical)
        self.end_call(name, start, correlation)
        return start, correlation

    def end_call(self, name: str, start: int, correlation: int) -> None:
        args = {"External id": self.open_ops[-1] if self.open_ops else 0, "correlation": correlation}
        self.record.span("cuda_runtime", name, self.thread, start, self.now, args)

    # Work for the GPU.

    def put(self, call: str, name: str, duration: int, stream: int = COMPUTE, category: str = "kernel",
            collective: Collective | None = None, **arguments) -> Task:  # fmt: skip
        start, correlation = self.call(call, 4_200)
        self.record.flow("ac2g", "s", correlation, self.record.pid, self.thread, start)
        noise = 1 + 0.02 * self.random.random()
        latency = LAUNCH_LATENCY + self.random.randrange(500)
        task = Task(name, category, stream, start + latency, int(duration * self.gpu_factor * noise),
                    correlation, self.open_ops[-1] if self.open_ops else 0, arguments, [], collective)  # fmt: skip
        self.gpu.put(task)
        return task

    def kernel(self, name: str, duration: int, blocks: int, threads: int = 256) -> Task:
        shape = {"grid": [blocks, 1, 1], "block": [threads, 1, 1],
                 "blocks per SM": round(blocks / SMS, 6)}  # fmt: skip
        return self.put("cudaLaunchKernel", name, duration, **shape)

    def gemm(self, m: int, n: int, k: int) -> Task:
        tiles = max(1, m // 128) * max(1, n // 256)
        return self.kernel("nvjet_hsh_256x128_64x4_2x1_v_bz_TNT",
                           int(2 * m * n * k / FLOPS_PER_NS) + 2_000, min(tiles, SMS), 384)  # fmt: skip

    def elementwise(self, what: str, elements: int, passes: int = 2) -> Task:
        name = f"void at::native::vectorized_elementwise_kernel<4, at::native::{what}>(int)"
        return self.kernel(name, int(2 * elements * passes / BYTES_PER_NS) + 1_500, elements // 1024)

    # Streams that wait for one another, and collectives.

    def record_event(self, stream: int) -> Task | None:
        self.call("cudaEventRecordWithFlags", 1_100)
        return self.gpu.last(stream)

    def wait_event(self, stream: int, event: Task | None) -> None:
        self.call("cudaStreamWaitEvent", 900)
        self.gpu.wait(stream, event)

    def collective(self, kind: str, name: str, elements: int) -> tuple[Task | None, int, dict]:
        """Issues a collective of this rank's group, as ProcessGroupNCCL does. @return its end event."""
        group = self.world.group(kind, self.rank)
        number, shared = self.world.join(kind, self.rank, 2 * elements)
        kernel = {"SendRecv": "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"}.get(
            name, f"ncclDevKernel_{name}_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)")  # fmt: skip
        about = {
            "Collective name": {"AllReduce": "allreduce", "SendRecv": "coalesced"}[name],
            "dtype": "BFloat16", "In msg nelems": elements, "Out msg nelems": elements,
            "Group size": len(group), "Process Group Name": self.world.group_number(kind, self.rank),
            "Process Group Description": f"{kind.upper()}_GROUP",
            "Process Group Ranks": str(group), "Rank": self.rank, "Seq": number,
        }  # fmt: skip
        stream = STREAM_OF[kind]
        with self.op("record_param_comms", [[elements]], **about):
            self.wait_event(stream, self.record_event(COMPUTE))
            self.put("cudaLaunchKernelExC", kernel, 0, stream, collective=shared,
                     grid=[24, 1, 1], block=[544, 1, 1], **about)  # fmt: skip
            event = self.record_event(stream)
        return event, number, about

    def wait_collective(self, issued: tuple[Task | None, int, dict]) -> None:
        event, number, about = issued
        about = {**about, "Collective name": "wait", "Group size": 1, "Process Group Ranks": "[]",
                 "In msg nelems": 0, "Out msg nelems": 0, "Seq": number}  # fmt: skip
        with self.op("record_param_comms", [], **about):
            self.wait_event(COMPUTE, event)

    def all_reduce(self, kind: str, elements: int) -> None:
        with self.op("c10d::allreduce_", [[elements]]):
            self.wait_collective(self.collective(kind, "AllReduce", elements))

    # Waiting for the GPU.

    def wait_for(self, name: str, tasks: list[Task]):
        start, correlation = self.now, next(self.correlation)
        self.spend(1_800)
        yield [task for task in tasks if task is not None]
        ends = [task.end + SYNC_LATENCY for task in tasks if task is not None]
        self.now = max([self.now] + ends)
        self.end_call(name, start, correlation)

    def item(self):
        """tensor.item(): a copy to the host and a wait for it."""
        with self.op("aten::item", [[]]), self.op("aten::_local_scalar_dense", [[]]):
            copy = self.put("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)", 1_400,
                            category="gpu_memcpy", bytes=4)  # fmt: skip
            yield from self.wait_for("cudaStreamSynchronize", [copy])

    # The model. Forward operators remember their sequence number for their backward.

    def forward_op(self, name: str, shapes: list, kernels) -> tuple[str, int, int, int]:
        number = next(self.sequence)
        with self.op(name, shapes, **{"Sequence number": number, "Fwd thread id": 0}) as start:
            for kernel in kernels:
                kernel()
        return name, number, start, self.thread

    def backward_op(self, forward: tuple[str, int, int, int], kernels) -> None:
        name, number, start, thread = forward
        grad = name.removeprefix("aten::").title().replace("_", "") + "Backward0"
        more = {"Sequence number": number, "Fwd thread id": 1}
        with self.op(f"autograd::engine::evaluate_function: {grad}", [], **more) as began:
            self.record.flow("fwdbwd", "s", number, self.record.pid, thread, start)
            self.record.flow("fwdbwd", "f", number, self.record.pid, self.thread, began)
            for kernel in kernels:
                kernel()

    def layer_forward(self) -> list:
        t, h = SEQUENCE, HIDDEN
        x, part = [t, h], h // TENSOR
        ops = [self.forward_op("aten::layer_norm", [x], [lambda: self.elementwise("layer_norm", t * h)])]
        ops += [self.forward_op("aten::linear", [x, [3 * part, h]], [lambda: self.gemm(t, 3 * part, h)])]
        attention = int(4 * t * t * part / FLOPS_PER_NS * 1.6)
        ops += [self.forward_op("aten::_flash_attention_forward", [[t, HEADS // TENSOR, h // HEADS]], [
            lambda: self.kernel("void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64>>(Params)",
                                attention, t // 128 * HEADS // TENSOR, 128)])]  # fmt: skip
        ops += [self.forward_op("aten::linear", [[t, part], [h, part]], [lambda: self.gemm(t, h, part)])]
        self.all_reduce("tp", t * h)
        ops += [self.forward_op("aten::add", [x, x], [lambda: self.elementwise("add", t * h, 3)])]
        ops += [self.forward_op("aten::layer_norm", [x], [lambda: self.elementwise("layer_norm", t * h)])]
        ops += [self.forward_op("aten::linear", [x, [4 * part, h]], [lambda: self.gemm(t, 4 * part, h)])]
        ops += [self.forward_op("aten::gelu", [[t, 4 * part]], [lambda: self.elementwise("gelu", 4 * t * part)])]
        ops += [self.forward_op("aten::linear", [[t, 4 * part], [h, 4 * part]], [lambda: self.gemm(t, h, 4 * part)])]
        self.all_reduce("tp", t * h)
        ops += [self.forward_op("aten::add", [x, x], [lambda: self.elementwise("add", t * h, 3)])]
        return ops

    def layer_backward(self, ops: list) -> None:
        t, h, part = SEQUENCE, HIDDEN, HIDDEN // TENSOR
        norm1, qkv, attend, proj, add1, norm2, up, gelu, down, add2 = ops
        self.backward_op(add2, [])
        self.backward_op(down, [lambda: self.gemm(t, 4 * part, h), lambda: self.gemm(4 * part, h, t)])
        self.backward_op(gelu, [lambda: self.elementwise("gelu_backward", 4 * t * part, 3)])
        self.backward_op(up, [lambda: self.gemm(t, h, 4 * part), lambda: self.gemm(h, 4 * part, t)])
        self.all_reduce("tp", t * h)
        self.backward_op(norm2, [lambda: self.elementwise("layer_norm_backward", t * h, 4)])
        self.backward_op(add1, [])
        self.backward_op(proj, [lambda: self.gemm(t, part, h), lambda: self.gemm(part, h, t)])
        attention = int(10 * t * t * part / FLOPS_PER_NS * 1.8)
        self.backward_op(attend, [lambda: self.kernel(
            "void flash_bwd_kernel<Flash_bwd_kernel_traits<128, 64, 128>>(Params)",
            attention, t // 128 * HEADS // TENSOR, 256)])  # fmt: skip
        self.backward_op(qkv, [lambda: self.gemm(t, h, 3 * part), lambda: self.gemm(h, 3 * part, t)])
        self.all_reduce("tp", t * h)
        self.backward_op(norm1, [lambda: self.elementwise("layer_norm_backward", t * h, 4)])

    def forward(self) -> list:
        """One microbatch through this stage."""
        layers = []
        with self.op("forward_step", category="user_annotation"):
            if self.world.stage(self.rank) == 0:
                layers.append([self.forward_op("aten::embedding", [[VOCABULARY // TENSOR, HIDDEN]], [
                    lambda: self.elementwise("index_select", SEQUENCE * HIDDEN)])])  # fmt: skip
            for _ in range(LAYERS_PER_STAGE):
                layers.append(self.layer_forward())
            if self.world.stage(self.rank) == PIPELINE - 1:
                layers.append([self.forward_op("aten::linear", [[SEQUENCE, HIDDEN], [VOCABULARY // TENSOR, HIDDEN]], [
                    lambda: self.gemm(SEQUENCE, VOCABULARY // TENSOR, HIDDEN)])])  # fmt: skip
                layers.append([self.forward_op("aten::cross_entropy_loss", [[SEQUENCE, VOCABULARY // TENSOR]], [
                    lambda: self.elementwise("log_softmax", SEQUENCE * VOCABULARY // TENSOR)])])  # fmt: skip
        return layers

    def backward(self, layers: list, is_last: bool) -> list:
        """The autograd thread goes back through a microbatch while the main thread waits.

        @return gradient all-reduces in flight, issued layer by layer in the last microbatch."""
        self.spend(9_000)
        self.thread = self.autograd
        in_flight = []
        for ops in reversed(layers):
            if len(ops) > 1:
                self.layer_backward(ops)
                if is_last:
                    parameters = 12 * HIDDEN * HIDDEN // TENSOR
                    with self.op("c10d::allreduce_", [[parameters]]):
                        in_flight.append(self.collective("dp", "AllReduce", parameters))
            elif ops[0][0] == "aten::linear":
                self.backward_op(ops[0], [lambda: self.gemm(SEQUENCE, HIDDEN, VOCABULARY // TENSOR),
                                          lambda: self.gemm(HIDDEN, VOCABULARY // TENSOR, SEQUENCE)])  # fmt: skip
            else:
                self.backward_op(ops[0], [lambda: self.elementwise("backward", SEQUENCE * HIDDEN, 3)])
        self.thread = self.main
        self.spend(11_000)
        return in_flight

    # The training step: one forward, one backward in turn (1F1B).

    def exchange(self) -> None:
        """Sends to and receives from the other stage in one NCCL kernel (batch_isend_irecv)."""
        with self.op("c10d::send", [[SEQUENCE, HIDDEN]]):
            self.wait_collective(self.collective("pp", "SendRecv", SEQUENCE * HIDDEN))

    def pipeline(self) -> list:
        first = self.world.stage(self.rank) == 0
        in_flight: list = []
        waiting: list = []
        for i in range(MICROBATCHES):
            if not first and i == 0:
                self.exchange()
            waiting.append(self.forward())
            if first and i == 0:
                self.exchange()
                continue
            if first:
                self.exchange()
                in_flight += self.backward(waiting.pop(0), False)
            else:
                in_flight += self.backward(waiting.pop(0), i == MICROBATCHES - 1)
                self.exchange()
        if first:
            self.exchange()
            in_flight += self.backward(waiting.pop(0), True)
        return in_flight

    def optimizer(self, in_flight: list):
        for issued in in_flight:
            self.wait_collective(issued)
        parameters = 12 * LAYERS_PER_STAGE * HIDDEN * HIDDEN // TENSOR
        with self.op("Optimizer.step#Adam.step", category="user_annotation"):
            with self.op("aten::_foreach_norm", [[parameters]]):
                self.kernel("multi_tensor_apply_kernel<L2NormFunctor>", int(2 * parameters / BYTES_PER_NS), 320)
            self.all_reduce("mp", 1)
            yield from self.item()
            for _ in range(4):
                with self.op("aten::_fused_adam_", [[parameters // 4]]):
                    self.kernel("multi_tensor_apply_kernel<FusedAdamMathFunctor>",
                                int(14 * parameters / 4 / BYTES_PER_NS), 320, 512)  # fmt: skip
        with self.op("aten::zero_", [[parameters]]):
            self.put("cudaMemsetAsync", "Memset (Device)", int(2 * parameters / BYTES_PER_NS),
                     category="gpu_memset", bytes=2 * parameters)  # fmt: skip

    def load_data(self) -> None:
        with self.op("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", category="user_annotation"):
            self.spend(120_000)
        with self.op("aten::copy_", [[SEQUENCE]]):
            self.put("cudaMemcpyAsync", "Memcpy HtoD (Pinned -> Device)", 2_100,
                     category="gpu_memcpy", bytes=8 * SEQUENCE)  # fmt: skip

    def run(self, steps: int):
        begin = self.now
        for step in range(steps):
            with self.op(f"ProfilerStep#{STEP_NAMES_FROM + step}", category="user_annotation"):
                self.now += HICCUP.get((self.rank, step), 0)
                self.load_data()
                in_flight = self.pipeline()
                yield from self.optimizer(in_flight)
        yield from self.wait_for("cudaDeviceSynchronize", [self.gpu.last(s) for s in self.gpu.streams])
        self.record.rows.append(
            {"ph": "X", "cat": "Trace", "ts": begin / 1000, "dur": (self.now - begin) / 1000,
             "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)",
             "args": {"Op count": 0}})  # fmt: skip
        self.record.rows.append(
            {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "",
             "ts": self.now / 1000})  # fmt: skip

    def write(self, directory: Path) -> None:
        for tasks in self.gpu.streams.values():
            for task in tasks:
                self.record.gpu_row(self.rank, task)
        threads = {self.main: "python3", self.autograd: f"pt_autograd_{self.rank}"}
        self.record.write(directory / f"sample_rank{self.rank}.json.gz", self.rank, threads,
                          list(self.gpu.streams))  # fmt: skip


# --- The run -------------------------------------------------------------------------------------


class World:
    """All ranks; rank = (stage * DATA + replica) * TENSOR + shard, as Megatron numbers them."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.collectives: dict[tuple[str, tuple[int, ...], int], Collective] = {}
        self.joined: dict[tuple[str, int], int] = {}
        self.hosts = [Host(self, rank) for rank in range(WORLD)]

    def stage(self, rank: int) -> int:
        return rank // (DATA * TENSOR)

    def group(self, kind: str, rank: int) -> list[int]:
        stage, replica, shard = self.stage(rank), rank // TENSOR % DATA, rank % TENSOR

        def same(other: int) -> bool:
            place = self.stage(other), other // TENSOR % DATA, other % TENSOR
            return {
                "tp": place[:2] == (stage, replica),
                "dp": (place[0], place[2]) == (stage, shard),
                "pp": place[1:] == (replica, shard),
                "mp": place[1] == replica,
            }[kind]

        return [other for other in range(WORLD) if same(other)]

    def group_number(self, kind: str, rank: int) -> str:
        order = ["tp", "dp", "pp", "mp"].index(kind)
        return str(1 + order * WORLD + min(self.group(kind, rank)))

    def join(self, kind: str, rank: int, size: int) -> tuple[int, Collective]:
        """The next collective of this rank's group: the n-th of one rank is the n-th of all."""
        number = self.joined[kind, rank] = self.joined.get((kind, rank), 0) + 1
        group = tuple(self.group(kind, rank))
        key = (kind, group, number)
        if key not in self.collectives:
            factor = 2 * (len(group) - 1) / len(group) if kind != "pp" else 1
            transfer = COLLECTIVE_LATENCY[kind] + int(size * factor / LINK_BYTES_PER_NS[kind])
            transfer = int(transfer * (1 + 0.06 * self.random.random()))
            self.collectives[key] = Collective(len(group), transfer)
        return number, self.collectives[key]

    def run(self, steps: int) -> None:
        """Lets every host run until it needs the GPU, then the GPUs, in turns."""
        programs = {host: host.run(steps) for host in self.hosts}
        needs = {host: next(program) for host, program in programs.items()}
        while needs:
            moved = False
            while any([host.gpu.settle() for host in self.hosts]):
                moved = True
            for host in [h for h, tasks in needs.items() if all(t.end is not None for t in tasks)]:
                moved = True
                try:
                    needs[host] = next(programs[host])
                except StopIteration:
                    del needs[host]
            if not moved:
                raise RuntimeError(f"ranks wait for each other: {[h.rank for h in needs]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    world = World(options.seed)
    world.run(options.steps)
    options.directory.mkdir(parents=True, exist_ok=True)
    for host in world.hosts:
        host.write(options.directory)
    length = max(host.now for host in world.hosts) / 1e6
    print(f"{options.directory}: {WORLD} ranks, {options.steps} steps, {length:.1f} ms")


if __name__ == "__main__":
    main()
