"""What run is asked for: degrees, schedule, shape, and how quick its parts are."""

from __future__ import annotations

from dataclasses import dataclass, field

SCHEDULES = ("1f1b", "gpipe", "interleaved", "zb-h1")
SHAPE = ("hidden", "ffn", "heads", "head_dim", "sequence", "vocabulary", "microbatch_size")
KERNEL_CLASSES = ("gemm", "attention", "elementwise", "optimizer", "copy")
SCALES = (*KERNEL_CLASSES, "kernels", "host", "network", "tp", "dp", "pp", "mp")


@dataclass
class Plan:
    """The defaults are the sample's. `layers` are of the whole model; chunks are of each stage."""

    pp: int = 2
    dp: int = 2
    tp: int = 2
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
    microbatch_size: int = 1

    steps: int = 3
    seed: int = 7
    noise: float = 1.0
    stragglers: dict[int, tuple[float, float]] = field(default_factory=lambda: {5: (1.12, 1.03)})
    hiccups: dict[tuple[int, int], int] = field(default_factory=lambda: {(2, 1): 900_000})
    profiler: tuple[int, int] = (0, 0)  # ns of the host for each operator, and for each call
    scale: dict[str, float] = field(default_factory=dict)
    modules: bool = False  # recorded with_modules: a row of each layer's forward
    plain: bool = False  # the sample as it always was: noise drawn in sequence, fewer rows

    @property
    def world(self) -> int:
        return self.pp * self.dp * self.tp

    @property
    def tokens(self) -> int:
        return self.microbatch_size * self.sequence

    @property
    def attention_width(self) -> int:
        """Of one shard: all its heads together."""
        return self.heads * self.head_dim // self.tp

    @property
    def layer_parameters(self) -> int:
        """Of one shard: query, key, value and projection, and both halves of the FFN."""
        h = self.hidden
        return (4 * h * self.heads * self.head_dim + 2 * h * self.ffn) // self.tp

    @property
    def edge_parameters(self) -> int:
        """Of one shard: the embedding, or the head."""
        return self.vocabulary * self.hidden // self.tp if self.train_edges else 0

    def parameters_of(self, stage: int) -> int:
        """Of one shard of a stage."""
        layers = sum(len(self.layers_of(stage, chunk)) for chunk in range(self.chunks))
        edges = (stage == 0) + (stage == self.pp - 1)
        return layers * self.layer_parameters + edges * self.edge_parameters

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
        for name in ("pp", "dp", "tp", "layers", "microbatches", "chunks", "bucket", "steps", *SHAPE):
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
        if self.sequence * self.microbatch_size < 128:
            return "a microbatch must have 128 tokens or more"
        for rank in [*self.stragglers, *(rank for rank, _ in self.hiccups)]:
            if not 0 <= rank < self.world:
                return f"there is no rank {rank} of {self.world}"
        if min([self.noise, *self.profiler, *self.scale.values()]) < 0:
            return "noise, overheads and scales must not be negative"
        unknown = [name for name in self.scale if name not in SCALES]
        return f"cannot scale {unknown[0]}: it is none of {', '.join(SCALES)}" if unknown else None
