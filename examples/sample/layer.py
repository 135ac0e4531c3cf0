"""A GPT's parts, forward and backward: layers with a dense FFN or experts; embedding and head."""

from __future__ import annotations

from typing import TYPE_CHECKING, List, NamedTuple, Union

from . import machine
from .operators import Forward, Operators, Shapes, Work
from .plan import TOP

if TYPE_CHECKING:
    from .world import World

Label = Union[int, str]  # a layer of the model by its number, or what is before and after them


class Layer(NamedTuple):
    """What ran forward."""

    label: Label
    ops: List[Forward]
    again: bool = False  # recomputed before its backward


class Model(Operators):
    """A rank that knows its part of the model. Experts get equal numbers of tokens."""

    def __init__(self, world: World, rank: int, rows: bool) -> None:
        super().__init__(world, rank, rows)
        p = self.plan
        self.ffn, self.heads = p.ffn // p.tp, p.heads // p.tp
        self.wide, self.words = p.attention_width, p.vocabulary // p.tp
        self.routed = self.tokens * TOP  # what a rank sends to experts, and what its own experts get

    def layer_forward(self, layer: int) -> list[Forward]:
        experts = self.plan.has_experts(layer)
        return self.attention() + (self.experts() if experts else self.feed_forward()) + [self.add()]

    def layer_backward(self, layer: int, ops: list[Forward], halves: str) -> None:
        feed_forward_back = self.experts_back if self.plan.has_experts(layer) else self.feed_forward_back
        self.pointwise_back(ops[-1], [], halves)
        feed_forward_back(ops[5:-1], halves)
        self.attention_back(ops[:5], halves)

    def reduce_input(self, halves: str = "B") -> None:
        """Shards have part sums of what each of them needs whole."""
        if "B" in halves:
            self.all_reduce("tp", self.tokens * self.hidden)

    # Attention, and what is around it.

    def attention(self) -> list[Forward]:
        h, wide = self.hidden, self.wide
        ops = [self.norm(), self.linear(3 * wide, h)]
        self.gather_keys()
        name = "aten::_flash_attention_forward" if self.plan.plain else "aten::scaled_dot_product_attention"
        ops += [self.forward_op(name, self.attention_shapes(), [self.flash_forward()])]
        ops += [self.linear(h, wide)]
        self.reduce_input()
        return [*ops, self.add()]

    def attention_back(self, ops: list[Forward], halves: str) -> None:
        h, wide = self.hidden, self.wide
        norm, qkv, attend, proj, add = ops
        self.pointwise_back(add, [], halves)
        self.linear_back(proj, h, wide, halves)
        if "B" in halves:
            self.gather_keys()
        self.pointwise_back(attend, [self.flash_backward()], halves)
        if "B" in halves:
            mine = 2 * self.tokens * wide
            self.share("cp", "ReduceScatter", mine * self.plan.cp, mine)
        self.linear_back(qkv, 3 * wide, h, halves)
        self.reduce_input(halves)
        self.norm_back(norm, halves)

    def gather_keys(self) -> None:
        """Keys and values of the whole sequence, from the ranks that share it."""
        mine = 2 * self.tokens * self.wide
        self.share("cp", "AllGather", mine, mine * self.plan.cp)

    def attention_shapes(self) -> Shapes:
        """Of query, key and value."""
        p = self.plan
        if p.plain:
            return [[p.tokens, self.heads, p.head_dim]]
        keys = [p.microbatch_size, p.sequence, self.heads, p.head_dim]
        return [[p.microbatch_size, p.sequence // p.cp, self.heads, p.head_dim], keys, keys]

    def flash_forward(self) -> Work:
        p = self.plan
        time = machine.attention_forward(p.microbatch_size, p.sequence // p.cp, p.sequence, self.wide)
        name = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64>>(Params)"
        blocks = max(1, p.tokens // 128) * self.heads
        return Work("aten::_flash_attention_forward", self.attention_shapes(),
                    lambda: self.kernel(name, "attention", time, blocks, 128))  # fmt: skip

    def flash_backward(self) -> Work:
        p = self.plan
        time = machine.attention_backward(p.microbatch_size, p.sequence // p.cp, p.sequence, self.wide)
        name = "void flash_bwd_kernel<Flash_bwd_kernel_traits<128, 64, 128>>(Params)"
        blocks = max(1, p.tokens // 128) * self.heads
        shapes = self.attention_shapes()
        return Work("aten::_flash_attention_backward", shapes[:1] + shapes,
                    lambda: self.kernel(name, "attention", time, blocks, 256))  # fmt: skip

    # A dense FFN.

    def feed_forward(self) -> list[Forward]:
        h, ffn = self.hidden, self.ffn
        ops = [self.norm(), self.linear(ffn, h), self.gelu(self.tokens, ffn), self.linear(h, ffn)]
        self.reduce_input()
        return ops

    def feed_forward_back(self, ops: list[Forward], halves: str) -> None:
        h, ffn = self.hidden, self.ffn
        norm, up, gelu, down = ops
        self.linear_back(down, h, ffn, halves)
        self.gelu_back(gelu, self.tokens, ffn, halves)
        self.linear_back(up, ffn, h, halves)
        self.reduce_input(halves)
        self.norm_back(norm, halves)

    # Experts: each token goes to TOP of them, on the replicas that hold them, and back.

    def experts(self) -> list[Forward]:
        p, h, ffn = self.plan, self.hidden, self.ffn
        local, scores, rows = p.local_experts, [self.tokens, p.experts], [self.routed, h]
        ops = [self.norm(), self.linear(p.experts, h)]
        ops += [self.pointwise_op("aten::softmax", "aten::_softmax", "softmax", [scores])]
        ops += [self.pointwise_op("aten::index", "aten::index", "index", [rows])]
        self.exchange_tokens()
        ops += [self.linear(ffn, h, self.routed // local) for _ in range(local)]
        ops += [self.gelu(self.routed, ffn)]
        ops += [self.linear(h, ffn, self.routed // local) for _ in range(local)]
        self.exchange_tokens()
        ops += [self.pointwise_op("aten::index_add", "aten::index_add", "index_add", [rows], 3)]
        self.reduce_input()
        return ops

    def experts_back(self, ops: list[Forward], halves: str) -> None:
        p, h, ffn = self.plan, self.hidden, self.ffn
        local, scores, rows = p.local_experts, [self.tokens, p.experts], [self.routed, h]
        norm, router, softmax, permute, *inner, unpermute = ops
        ups, gelu, downs = inner[:local], inner[local], inner[local + 1 :]
        self.pointwise_back(unpermute, [self.pointwise("aten::index", "index", [rows])], halves)
        self.exchange_tokens(halves)
        for down in reversed(downs):
            self.linear_back(down, h, ffn, halves, self.routed // local)
        self.gelu_back(gelu, self.routed, ffn, halves)
        for up in reversed(ups):
            self.linear_back(up, ffn, h, halves, self.routed // local)
        self.exchange_tokens(halves)
        self.pointwise_back(permute, [self.pointwise("aten::index_add", "index_add", [rows], 3)], halves)
        softmax_back = self.pointwise("aten::_softmax_backward_data", "softmax_backward", [scores, scores], 3)
        self.pointwise_back(softmax, [softmax_back], halves)
        self.linear_back(router, p.experts, h, halves)
        self.reduce_input(halves)
        self.norm_back(norm, halves)

    def exchange_tokens(self, halves: str = "B") -> None:
        if "B" in halves:
            self.share("ep", "AllToAll", self.routed * self.hidden)

    # What is before and after the layers.

    def embedding(self) -> Layer:
        table = [self.words, self.hidden]
        work = Work("aten::index_select", [table, [self.tokens]],
                    lambda: self.elementwise("index_select", self.tokens * self.hidden))  # fmt: skip
        shapes = [table] if self.plan.plain else [table, [self.tokens]]
        return Layer("embedding", [self.forward_op("aten::embedding", shapes, [work])])

    def head(self) -> list[Layer]:
        linear = self.linear(self.words, self.hidden)
        scores = [self.tokens, self.words]
        loss = self.pointwise_op("aten::cross_entropy_loss", "aten::_log_softmax", "log_softmax", [scores])
        return [Layer("head", [linear]), Layer("loss", [loss])]

    def edge_backward(self, layer: Layer, halves: str) -> None:
        (forward,) = layer.ops
        if layer.label == "head":
            self.linear_back(forward, self.words, self.hidden, halves)
        elif ("W" if layer.label == "embedding" else "B") in halves:
            op = {"embedding": "aten::embedding_dense_backward", "loss": "aten::_log_softmax_backward_data"}
            work = self.pointwise(op[str(layer.label)], "backward", [self.x], 3)
            self.backward_op(forward, [work])
