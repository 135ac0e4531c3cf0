"""A rank's Python as far as the model is not concerned: operators, calls, launches, collectives, waits."""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple

from . import machine
from .gpu import Collective, Gpu, Task
from .recorder import Recorder

if TYPE_CHECKING:
    from .world import Group, World

COMPUTE = 7  # stream numbers
STREAM_OF = {"tp": 20, "dp": 24, "mp": 32, "cp": 36, "ep": 40, "edp": 44}
FIRST_PIPELINE_STREAM = 28
COLLECTIVE_NAMES = {"AllReduce": "allreduce", "AllGather": "_allgather_base", "ReduceScatter": "_reduce_scatter_base",
                    "AllToAll": "all_to_allv", "SendRecv": "coalesced"}  # fmt: skip
OPERATORS = {"AllReduce": "c10d::allreduce_", "AllGather": "c10d::_allgather_base_",
             "ReduceScatter": "c10d::_reduce_scatter_base_", "AllToAll": "c10d::alltoall_base_"}  # fmt: skip
KERNELS = {"AllReduce": "AllReduce_Sum_bf16_RING_LL", "AllGather": "AllGather_RING_LL",
           "ReduceScatter": "ReduceScatter_Sum_bf16_RING_LL"}  # fmt: skip


class Issued(NamedTuple):
    """A collective in flight: its end as an event, and what its rows say."""

    event: List[Task]
    number: int
    about: Dict[str, Any]


class Host:
    """`now` is its clock, in ns since the run's start; `thread` is the one that runs.

    Methods that may wait for the GPU are generators: they yield the tasks whose end they need.
    """

    def __init__(self, world: World, rank: int, rows: bool) -> None:
        self.world, self.plan, self.rank = world, world.plan, rank
        host, gpu = self.plan.stragglers.get(rank, (1.0, 1.0))
        self.host_factor, self.gpu_factor = host * self.plan.times("host"), gpu
        self.noise = world.noise(rank)
        self.gpu, self.record = Gpu(world.clockwork), Recorder(rank, self.plan.world, self.plan.gpu, rows)
        self.now = 50_000 + self.noise.start()
        self.main, self.autograd = self.record.pid, self.record.pid + 100
        self.thread = self.main
        self.correlation = itertools.count(1000)
        self.external = itertools.count(1)
        self.sequence = itertools.count(1)
        self.python_ids = itertools.count(1)
        self.open_ops: list[int] = []
        self.step = 0
        self.place: tuple[object, ...] = ()
        self.collectives_here = 0
        self.pipeline_streams: dict[Group, int] = {}

    def at(self, microbatch: int, phase: str, layer: int | str) -> None:
        """What the program is about: noise belongs to it."""
        self.place = (self.step, microbatch, phase, layer)
        self.noise.at(*self.place)
        self.collectives_here = 0

    def spend(self, typical: float) -> None:
        self.now += int(typical * self.host_factor * (1 + self.noise.host()))

    def overhead(self, ns: int) -> None:
        """Of the profiler."""
        self.now += int(ns * self.host_factor)

    # Rows of the host.

    @contextlib.contextmanager
    def op(self, name: str, shapes: list[list[int]] | None = None, category: str = "cpu_op",
           **more: Any) -> Iterator[int]:  # fmt: skip
        """The profiler's work at the start is in the row, that at the end after it."""
        start, external = self.now, next(self.external)
        cost = self.plan.profiler[0]
        self.open_ops.append(external)
        self.overhead(cost // 2)
        self.spend(1_500)
        yield start
        self.spend(900)
        self.open_ops.pop()
        args = {"External id": external, "Record function id": 0, **more}
        if shapes is not None:
            args |= {"Input Dims": shapes, "Input type": ["c10::BFloat16"] * len(shapes)}
        self.record.span(category, name, self.thread, start, self.now, args)
        self.overhead(cost - cost // 2)

    @contextlib.contextmanager
    def module(self, name: str) -> Iterator[None]:
        """The row of a module's forward, where modules are recorded. It costs nothing."""
        start = self.now
        yield
        if self.plan.modules:
            number = next(self.python_ids)
            args = {"Python id": number, "Python parent id": None, "Python module id": number, "Ev Idx": number}
            self.record.span("python_function", f"nn.Module: {name}", self.thread, start, self.now, args)

    def call(self, name: str, typical: int) -> tuple[int, int]:
        """A call into the CUDA runtime. @return its start and its correlation."""
        self.overhead(self.plan.profiler[1] // 2)
        start, correlation = self.now, next(self.correlation)
        self.spend(typical)
        self.end_call(name, start, correlation)
        return start, correlation

    def end_call(self, name: str, start: int, correlation: int) -> None:
        args = {"External id": self.open_ops[-1] if self.open_ops else 0, "correlation": correlation}
        self.record.span("cuda_runtime", name, self.thread, start, self.now, args)
        cost = self.plan.profiler[1]
        self.overhead(cost - cost // 2)

    # Work for the GPU.

    def put(self, call: str, name: str, kinds: tuple[str, ...], duration: int, stream: int = COMPUTE,
            category: str = "kernel", collective: Collective | None = None, **arguments: Any) -> Task:  # fmt: skip
        start, correlation = self.call(call, 4_200)
        self.record.flow("ac2g", "s", correlation, self.record.pid, self.thread, start)
        noise, latency = self.noise.collective() if collective else self.noise.kernel()
        factor = self.gpu_factor * self.plan.times(*kinds)
        task = Task(name, category, stream, start + machine.LAUNCH_LATENCY + latency,
                    int(duration * factor * (1 + noise)), correlation,
                    self.open_ops[-1] if self.open_ops else 0, arguments, self.step,
                    collective=collective)  # fmt: skip
        self.gpu.put(task)
        return task

    def kernel(self, name: str, kind: str, duration: int, blocks: int, threads: int = 256) -> Task:
        shape: dict[str, Any] = {"grid": [blocks, 1, 1], "block": [threads, 1, 1],
                 "blocks per SM": round(blocks / machine.SMS, 6)}  # fmt: skip
        return self.put("cudaLaunchKernel", name, (kind, "kernels"), duration, **shape)

    def gemm(self, m: int, n: int, k: int) -> Task:
        tiles = max(1, m // 128) * max(1, n // 256)
        return self.kernel("nvjet_hsh_256x128_64x4_2x1_v_bz_TNT", "gemm", machine.gemm(m, n, k),
                           min(tiles, machine.SMS), 384)  # fmt: skip

    def elementwise(self, what: str, elements: int, passes: int = 2) -> Task:
        name = f"void at::native::vectorized_elementwise_kernel<4, at::native::{what}>(int)"
        blocks = max(1, elements // 1024)
        return self.kernel(name, "elementwise", machine.elementwise(elements, passes), blocks)

    # Streams that wait for one another, and collectives.

    def record_event(self, stream: int) -> list[Task]:
        self.call("cudaEventRecordWithFlags", 1_100)
        return self.gpu.event(stream)

    def wait_event(self, stream: int, event: list[Task]) -> None:
        self.call("cudaStreamWaitEvent", 900)
        self.gpu.wait(stream, event)

    def stream_of(self, group: Group) -> int:
        """Each pair of ranks has a communicator, so a stream, of its own."""
        if group.kind in STREAM_OF:
            return STREAM_OF[group.kind]
        used = self.pipeline_streams
        return used.setdefault(group, FIRST_PIPELINE_STREAM + len(used))

    def collective(self, group: Group, name: str, given: int, taken: int | None = None, **more: Any) -> Issued:
        """Issues a collective, as ProcessGroupNCCL does: after all work so far of the compute stream.

        `given` and `taken`: elements in and out; the same where only one is told."""
        taken = given if taken is None else taken
        self.collectives_here += 1
        identity = (*self.place, self.collectives_here)
        number, shared = self.world.join(group, self.rank, name, 2 * max(given, taken), identity)
        about: dict[str, Any] = {
            "Collective name": COLLECTIVE_NAMES.get(name, name),
            "dtype": "BFloat16", "In msg nelems": given, "Out msg nelems": taken,
            "Group size": len(group.ranks), "Process Group Name": group.name,
            "Process Group Description": group.description,
            "Process Group Ranks": str(list(group.ranks)), "Rank": self.rank, "Seq": number, **more,
        }  # fmt: skip
        stream = self.stream_of(group)
        kernel = KERNELS.get(name, "SendRecv")
        with self.op("record_param_comms", [[given]], **about):
            self.wait_event(stream, self.record_event(COMPUTE))
            self.put("cudaLaunchKernelExC", f"ncclDevKernel_{kernel}(ncclDevKernelArgsStorage<4096ul>)",
                     (), 0, stream, collective=shared,
                     grid=[24, 1, 1], block=[544, 1, 1], **about)  # fmt: skip
            event = self.record_event(stream)
        return Issued(event, number, about)

    def wait_collective(self, issued: Issued) -> None:
        about = {**issued.about, "Collective name": "wait", "Group size": 1, "Process Group Ranks": "[]",
                 "In msg nelems": 0, "Out msg nelems": 0, "Seq": issued.number}  # fmt: skip
        with self.op("record_param_comms", [], **about):
            self.wait_event(COMPUTE, issued.event)

    def start(self, kind: str, name: str, given: int, taken: int | None = None) -> Issued | None:
        """A collective of this rank's group. None: it has nobody to share with."""
        group = self.world.group(kind, self.rank)
        if len(group.ranks) == 1:
            return None
        with self.op(OPERATORS[name], [[given]]):
            return self.collective(group, name, given, taken)

    def share(self, kind: str, name: str, given: int, taken: int | None = None) -> None:
        """The same, and the compute stream waits for it."""
        group = self.world.group(kind, self.rank)
        if len(group.ranks) > 1:
            with self.op(OPERATORS[name], [[given]]):
                self.wait_collective(self.collective(group, name, given, taken))

    def all_reduce(self, kind: str, elements: int) -> None:
        self.share(kind, "AllReduce", elements)

    # Waiting for the GPU.

    def wait_for(self, name: str, tasks: list[Task]) -> Iterator[list[Task]]:
        self.overhead(self.plan.profiler[1] // 2)
        start, correlation = self.now, next(self.correlation)
        self.spend(1_800)
        yield tasks
        self.now = max([self.now] + [task.end + machine.SYNC_LATENCY for task in tasks])
        self.end_call(name, start, correlation)

    def item(self) -> Iterator[list[Task]]:
        """tensor.item(): a copy to the host and a wait for it."""
        with self.op("aten::item", [[]]), self.op("aten::_local_scalar_dense", [[]]):
            copy = self.put("cudaMemcpyAsync", "Memcpy DtoH (Device -> Pageable)", ("copy",), 1_400,
                            category="gpu_memcpy", bytes=4)  # fmt: skip
            yield from self.wait_for("cudaStreamSynchronize", [copy])
