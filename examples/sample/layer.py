"""The operators of a GPT's parts, forward and backward, with the kernels that they launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, List, NamedTuple, Union

from . import machine
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


class Layer(NamedTuple):
    """What ran forward: a layer of the model by its number, or what is before and after them."""

    label: Union[int, str]
    ops: List[Forward]
    again: bool = False  # recomputed before its backward


class Model(Host):
    """A rank that knows its part of the model."""

    def __init__(self, world: World, rank: int, rows: bool) -> None:
        super().__init__(world, rank, rows)
        p = self.plan
        self.tokens, self.hidden, self.ffn = p.tokens, p.hidden, p.ffn // p.tp
        self.heads, self.wide, self.words = p.heads // p.tp, p.attention_width, p.vocabulary // p.tp
        self.x = [self.tokens, self.hidden]  # the shape of what goes from layer to layer
        self.grad = True  # forward operators are recorded for backward

    # Operators. Without the inner rows of real recordings where the plan is plain.

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

    # Kernels with their operators.

    def mm(self, m: int, n: int, k: int) -> Work:
        return Work("aten::mm", [[m, k], [k, n]], lambda: self.gemm(m, n, k))

    def pointwise(self, op: str, kernel: str, shapes: Shapes, passes: int = 2) -> Work:
        """By the bytes of its first input: `passes` times there or back."""
        elements = shapes[0][0] * shapes[0][1]
        return Work(op, shapes, lambda: self.elementwise(kernel, elements, passes))

    def norm_work(self) -> Work:
        return self.pointwise("aten::native_layer_norm", "layer_norm", [self.x])

    def norm_back(self) -> Work:
        return self.pointwise("aten::native_layer_norm_backward", "layer_norm_backward", [self.x, self.x], 4)

    def attention_shapes(self) -> Shapes:
        """Of query, key and value."""
        p = self.plan
        if p.plain:
            return [[p.tokens, self.heads, p.head_dim]]
        return [[p.microbatch_size, p.sequence, self.heads, p.head_dim]] * 3

    def attention_work(self) -> Work:
        p = self.plan
        time = machine.attention_forward(p.microbatch_size, p.sequence, self.wide)
        name = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64>>(Params)"
        blocks = max(1, p.tokens // 128) * self.heads
        return Work("aten::_flash_attention_forward", self.attention_shapes(),
                    lambda: self.kernel(name, "attention", time, blocks, 128))  # fmt: skip

    def attention_back(self) -> Work:
        p = self.plan
        time = machine.attention_backward(p.microbatch_size, p.sequence, self.wide)
        name = "void flash_bwd_kernel<Flash_bwd_kernel_traits<128, 64, 128>>(Params)"
        blocks = max(1, p.tokens // 128) * self.heads
        shapes = self.attention_shapes()
        return Work("aten::_flash_attention_backward", shapes[:1] + shapes,
                    lambda: self.kernel(name, "attention", time, blocks, 256))  # fmt: skip

    # Forward.

    def linear(self, n: int, k: int) -> Forward:
        t = self.tokens
        return self.forward_op("aten::linear", [[t, k], [n, k]], [self.mm(t, n, k)])

    def norm(self) -> Forward:
        return self.forward_op("aten::layer_norm", [self.x], [self.norm_work()])

    def add(self) -> Forward:
        name = "aten::add"
        work = [self.pointwise("aten::add_", "add", [self.x, self.x], 3)]
        return self.forward_op(name, [self.x, self.x], work)

    def layer_forward(self) -> list[Forward]:
        t, h, wide, ffn = self.tokens, self.hidden, self.wide, self.ffn
        ops = [self.norm(), self.linear(3 * wide, h)]
        name = "aten::_flash_attention_forward" if self.plan.plain else "aten::scaled_dot_product_attention"
        ops += [self.forward_op(name, self.attention_shapes(), [self.attention_work()])]
        ops += [self.linear(h, wide)]
        self.all_reduce("tp", t * h)
        ops += [self.add(), self.norm(), self.linear(ffn, h)]
        gelu = [t, ffn]
        ops += [self.forward_op("aten::gelu", [gelu], [self.pointwise("aten::gelu", "gelu", [gelu])])]
        ops += [self.linear(h, ffn)]
        self.all_reduce("tp", t * h)
        return [*ops, self.add()]

    def embedding(self) -> Layer:
        table = [self.words, self.hidden]
        work = Work("aten::index_select", [table, [self.tokens]],
                    lambda: self.elementwise("index_select", self.tokens * self.hidden))  # fmt: skip
        shapes = [table] if self.plan.plain else [table, [self.tokens]]
        return Layer("embedding", [self.forward_op("aten::embedding", shapes, [work])])

    def head(self) -> list[Layer]:
        scores = [self.tokens, self.words]
        linear = self.linear(self.words, self.hidden)
        work = [self.pointwise("aten::_log_softmax", "log_softmax", [scores])]
        return [Layer("head", [linear]),
                Layer("loss", [self.forward_op("aten::cross_entropy_loss", [scores], work)])]  # fmt: skip

    # Backward. `halves`: "B" the gradients of inputs, "W" those of weights, "BW" both.

    def linear_back(self, forward: Forward, n: int, k: int, halves: str) -> None:
        t = self.tokens
        work = {"B": self.mm(t, k, n), "W": self.mm(n, k, t)}
        self.backward_op(forward, [work[half] for half in halves], "B" in halves)

    def layer_backward(self, ops: list[Forward], halves: str) -> None:
        t, h, wide, ffn = self.tokens, self.hidden, self.wide, self.ffn
        norm1, qkv, attend, proj, add1, norm2, up, gelu, down, add2 = ops

        def inputs_only(forward: Forward, work: list[Work]) -> None:
            if "B" in halves:
                self.backward_op(forward, work)

        def all_reduce() -> None:
            if "B" in halves:
                self.all_reduce("tp", t * h)

        inputs_only(add2, [])
        self.linear_back(down, h, ffn, halves)
        wide_x = [[t, ffn], [t, ffn]]
        inputs_only(gelu, [self.pointwise("aten::gelu_backward", "gelu_backward", wide_x, 3)])
        self.linear_back(up, ffn, h, halves)
        all_reduce()
        inputs_only(norm2, [self.norm_back()])
        inputs_only(add1, [])
        self.linear_back(proj, h, wide, halves)
        inputs_only(attend, [self.attention_back()])
        self.linear_back(qkv, 3 * wide, h, halves)
        all_reduce()
        inputs_only(norm1, [self.norm_back()])

    def edge_backward(self, layer: Layer, halves: str) -> None:
        """Of what is before and after the layers."""
        (forward,) = layer.ops
        if layer.label == "head":
            self.linear_back(forward, self.words, self.hidden, halves)
        elif ("W" if layer.label == "embedding" else "B") in halves:
            op = {"embedding": "aten::embedding_dense_backward", "loss": "aten::_log_softmax_backward_data"}
            work = self.pointwise(op[str(layer.label)], "backward", [self.x], 3)
            self.backward_op(forward, [work])
