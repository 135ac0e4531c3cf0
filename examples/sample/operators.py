"""Operators as PyTorch's profiler shows them, forward and backward, with the kernels that they launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, NamedTuple, Optional

from .gpu import Task
from .host import Host

if TYPE_CHECKING:
    from .world import World

Shapes = List[List[int]]


class Work(NamedTuple):
    """A kernel, and the operator right above its launch."""

    op: str
    shapes: Shapes
    launch: Callable[[], Task]


class Forward(NamedTuple):
    """A forward operator that ran; its backward goes by its sequence number."""

    name: str
    number: int
    start: int
    thread: int


class Operators(Host):
    """`halves` of a backward: "B" the gradients of inputs, "W" those of weights, "BW" both."""

    def __init__(self, world: World, rank: int, rows: bool) -> None:
        super().__init__(world, rank, rows)
        self.tokens, self.hidden = self.plan.tokens, self.plan.hidden
        self.x = [self.tokens, self.hidden]  # the shape of what goes from layer to layer
        self.grad = True  # forward operators are recorded for backward

    # Rows. Without the inner ones of real recordings where the plan is plain.

    def run(self, work: list[Work], **more: Any) -> None:
        for one in work:
            if self.plan.plain:
                one.launch()
                continue
            with self.op(one.op, one.shapes, **more):
                one.launch()

    def forward_op(self, name: str, shapes: Shapes, work: list[Work]) -> Forward:
        number = next(self.sequence) if self.grad else 0
        more: dict[str, Any] = {"Sequence number": number, "Fwd thread id": 0} if self.grad else {}
        with self.op(name, shapes, **more) as start:
            self.run(work, **more)
        return Forward(name, number, start, self.thread)

    def backward_op(self, forward: Forward, work: list[Work], first: bool = True) -> None:
        """`first`: of the two backward operators of a forward one, where they are taken apart."""
        function = forward.name.removeprefix("aten::").title().replace("_", "") + "Backward0"
        thread = 1 if forward.thread == self.main else 2
        more: dict[str, Any] = {"Sequence number": forward.number, "Fwd thread id": thread}
        with self.op(f"autograd::engine::evaluate_function: {function}", [], **more) as began:
            if first:
                pid = self.record.pid
                self.record.flow("fwdbwd", "s", forward.number, pid, forward.thread, forward.start)
                self.record.flow("fwdbwd", "f", forward.number, pid, self.thread, began)
            if self.plan.plain:
                self.run(work)
            else:
                with self.op(function, [], **more):
                    self.run(work)

    # Matrix products: x [m, k] times weights [n, k].

    def mm(self, m: int, n: int, k: int) -> Work:
        return Work("aten::mm", [[m, k], [k, n]], lambda: self.gemm(m, n, k))

    def linear(self, n: int, k: int, m: Optional[int] = None) -> Forward:
        m = m or self.tokens
        return self.forward_op("aten::linear", [[m, k], [n, k]], [self.mm(m, n, k)])

    def linear_back(self, forward: Forward, n: int, k: int, halves: str, m: Optional[int] = None) -> None:
        m = m or self.tokens
        work = {"B": self.mm(m, k, n), "W": self.mm(n, k, m)}
        self.backward_op(forward, [work[half] for half in halves], "B" in halves)

    # What is bound by memory.

    def pointwise(self, op: str, kernel: str, shapes: Shapes, passes: int = 2) -> Work:
        """By the bytes of its first input: `passes` times there or back."""
        elements = shapes[0][0] * shapes[0][1]
        return Work(op, shapes, lambda: self.elementwise(kernel, elements, passes))

    def pointwise_op(self, name: str, inner: str, kernel: str, shapes: Shapes, passes: int = 2) -> Forward:
        return self.forward_op(name, shapes, [self.pointwise(inner, kernel, shapes, passes)])

    def pointwise_back(self, forward: Forward, work: list[Work], halves: str) -> None:
        """It has no weights to speak of: all of it is for its inputs."""
        if "B" in halves:
            self.backward_op(forward, work)

    def norm(self) -> Forward:
        return self.pointwise_op("aten::layer_norm", "aten::native_layer_norm", "layer_norm", [self.x])

    def norm_back(self, forward: Forward, halves: str) -> None:
        name = "aten::native_layer_norm_backward"
        self.pointwise_back(forward, [self.pointwise(name, "layer_norm_backward", [self.x, self.x], 4)], halves)

    def add(self) -> Forward:
        return self.pointwise_op("aten::add", "aten::add_", "add", [self.x, self.x], 3)

    def gelu(self, m: int, ffn: int) -> Forward:
        return self.pointwise_op("aten::gelu", "aten::gelu", "gelu", [[m, ffn]])

    def gelu_back(self, forward: Forward, m: int, ffn: int, halves: str) -> None:
        shapes = [[m, ffn], [m, ffn]]
        self.pointwise_back(forward, [self.pointwise("aten::gelu_backward", "gelu_backward", shapes, 3)], halves)
