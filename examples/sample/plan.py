"""What run is asked for: degrees, schedule, shape, and how quick its parts are."""

from __future__ import annotations

from dataclasses import dataclass, field

SCHEDULES = ("1f1b", "gpipe", "interleaved", "zb-h1")
SIZES = ("hidden", "ffn", "heads", "head_dim", "sequence", "vocabulary", "microbatch_size", "moe_every")
SHAPE = (*SIZES, "experts")
TOP = 2  # experts that each token goes to
KERNEL_CLASSES = ("gemm", "attention", "elementwise", "optimizer", "copy")
SCALES = (*KERNEL_CLASSES, "kernels", "host", "network", "tp", "dp", "pp", "mp", "cp", "ep")


@dataclass
class Plan:
    """The defaults are the sample's. `layers` are of the whole model; chunks are of each stage."""

    pp: int = 2
    dp: int = 2
    tp: int = 2
    cp: int = 1  # ranks that share a sequence
    ep: int = 1  # replicas that share the experts of a layer; divides dp
    zero: int = 0  # replicas share 1: the optimizer's state; 3: parameters and gradients, too
    layers: int = 4
    microbatches: int = 4
    schedule: str = "1f1b"
    chunks: int = 1
    apart: bool = False  # 1f1b, too, sends without waiting
    recompute: int = 0  # layers of each chunk whose forward runs again before their backward

    bucket: int = 1  # layers whose gradients replicas share in one all-reduce
    train_edges: bool = False  # embedding and head have gradients to share and to apply, too

    hidden: int = 4096
    ffn: int = 16384
    heads: int = 32
    head_dim: int = 128
    sequence: int = 2048
    vocabulary: int = 32768
    experts: int = 0  # of a layer; 0: one dense FFN
    moe_every: int = 1  # of so many layers, the last has experts
    microbatch_size: int = 1

    steps: int = 3
    seed: int = 7
    noise: float = 1.0
    stragglers: dict[int, tuple[float, float]] = field(default_factory=lambda: {5: (1.12, 1.03)})
    hiccups: dict[tuple[int, int], int] = field(default_factory=lambda: {(2, 1): 900_000})
    loader: int = 120_000  # ns that the host waits for each step's data
    gpu: str = "Made-up GPU 80GB"  # as the recording names it: its kernels are made up in any case
    profiler: tuple[int, int] = (0, 0)  # ns of the host for each operator, and for each call
    scale: dict[str, float] = field(default_factory=dict)
    modules: bool = False  # recorded with_modules: a row of each layer's forward
    plain: bool = False  # the sample as it always was: noise drawn in sequence, fewer rows

    @property
    def world(self) -> int:
        return self.pp * self.dp * self.cp * self.tp

    @property
    def tokens(self) -> int:
        """Of a microbatch, on one rank."""
        return self.microbatch_size * self.sequence // self.cp

    @property
    def attention_width(self) -> int:
        """Of one shard: all its heads together."""
        return self.heads * self.head_dim // self.tp

    def has_experts(self, layer: int) -> bool:
        return self.experts > 0 and layer % self.moe_every == self.moe_every - 1

    def layer_parameters(self, layer: int) -> int:
        """Of one shard: query, key, value and projection, and both halves of the FFN, or the router."""
        h = self.hidden
        feed_forward = h * self.experts * self.tp if self.has_experts(layer) else 2 * h * self.ffn
        return (4 * h * self.heads * self.head_dim + feed_forward) // self.tp

    def expert_parameters(self, layer: int) -> int:
        """Of one shard: its experts."""
        return 2 * self.hidden * self.ffn // self.tp * self.local_experts if self.has_experts(layer) else 0

    @property
    def local_experts(self) -> int:
        return self.experts // self.ep

    @property
    def edge_parameters(self) -> int:
        """Of one shard: the embedding, or the head."""
        return self.vocabulary * self.hidden // self.tp if self.train_edges else 0

    def parameters_of(self, stage: int) -> int:
        """Of one shard of a stage."""
        layers = [layer for chunk in range(self.chunks) for layer in self.layers_of(stage, chunk)]
        edges = (stage == 0) + (stage == self.pp - 1)
        own = sum(self.layer_parameters(layer) + self.expert_parameters(layer) for layer in layers)
        return own + edges * self.edge_parameters

    @property
    def shards(self) -> int:
        """Ranks among which ZeRO deals what is the same on all replicas."""
        return self.dp * self.cp if self.zero else 1

    def times(self, *names: str) -> float:
        """What the named parts take, as a multiple of what they would."""
        factor = 1.0
        for name in names:
            factor *= self.scale.get(name, 1.0)
        return factor

    def layers_of(self, stage: int, chunk: int) -> range:
        """Dealt evenly to pp * chunks parts in order; the first parts take what is left over."""
        parts, part = self.pp * self.chunks, chunk * self.pp + stage
        each, more = divmod(self.layers, parts)
        begin = part * each + min(part, more)
        return range(begin, begin + each + (part < more))

    def drop_strangers(self, name: str) -> None:
        """Forgets default stragglers or hiccups of ranks that are not there."""
        if name == "stragglers":
            self.stragglers = {rank: slow for rank, slow in self.stragglers.items() if rank < self.world}
        else:
            self.hiccups = {at: ns for at, ns in self.hiccups.items() if at[0] < self.world}

    def problem(self) -> str | None:
        """Why there is no such run."""
        for name in ("pp", "dp", "tp", "cp", "ep", "layers", "microbatches", "chunks", "bucket", "steps", *SIZES):
            if getattr(self, name) < 1:
                return f"{name} must be at least 1"
        if self.schedule not in SCHEDULES:
            return f"schedule must be one of {', '.join(SCHEDULES)}"
        if (self.chunks > 1) != (self.schedule == "interleaved"):
            return "interleaved takes 2 or more chunks, other schedules one"
        if self.schedule == "interleaved" and (self.pp < 2 or self.microbatches % self.pp):
            return "interleaved needs 2 or more stages, and microbatches that are a multiple of them"
        if self.layers < self.pp * self.chunks:
            return f"{self.pp * self.chunks} stages need as many layers, not {self.layers}"
        for name in ("hidden", "ffn", "heads", "vocabulary"):
            if getattr(self, name) % self.tp:
                return f"{name} must be a multiple of tp"
        if self.zero not in (0, 1, 3):
            return "zero must be 0, 1 or 3"
        if self.sequence % self.cp:
            return "sequence must be a multiple of cp"
        if self.dp % self.ep or self.experts % self.ep or (self.ep > 1 and not self.experts):
            return "ep must divide dp and the experts"
        if self.experts and (self.zero or self.experts < TOP):
            return f"experts are {TOP} or more, and their gradients are shared whole (zero 0)"
        if self.tokens < 128:
            return "a microbatch must have 128 tokens or more"
        for rank in [*self.stragglers, *(rank for rank, _ in self.hiccups)]:
            if not 0 <= rank < self.world:
                return f"there is no rank {rank} of {self.world}"
        if min([self.noise, self.loader, *self.profiler, *self.scale.values()]) < 0:
            return "noise, overheads and scales must not be negative"
        unknown = [name for name in self.scale if name not in SCALES]
        return f"cannot scale {unknown[0]}: it is none of {', '.join(SCALES)}" if unknown else None
