"""Mappings of dataflow graphs: the Python face of `flopcast map` and `flopcast explore`."""

from __future__ import annotations

import dataclasses
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Union

from . import _native
from ._files import write_whole

PathLike = Union[str, "os.PathLike[str]"]

#: Names of the workloads that ``map`` knows by heart, besides models with ``":forward"`` and the like.
DATAFLOWS: tuple[str, ...] = tuple(_native.dataflow_names())
#: What ``changes`` of ``map`` sets: ``"sram"``, ``"memory-bandwidth"``, ...
SYSTEM_SETTINGS: tuple[str, ...] = tuple(_native.system_settings())


@dataclasses.dataclass(frozen=True)
class MappedPartition:
    """Kernels that are on the chip together. Of one microbatch through one layer, on one chip."""

    kernels: list[str]
    #: ``"forward"`` or ``"backward"``
    pass_: str
    time_s: float
    compute_s: float
    memory_s: float
    network_s: float
    limit: str  #: ``"compute"``, ``"memory"`` or ``"network"``
    work_flop: float
    sram_bytes: float
    dram_bytes: float  #: moved to and from DRAM
    wire_bytes: float  #: sent to other chips


class DataflowMapping:
    """The fastest mapping of a workload onto a system. ``print`` shows the tables of `flopcast map`."""

    def __init__(self, native: Any) -> None:
        self._native = native

    @cached_property
    def _fields(self) -> dict[str, Any]:
        return json.loads(self._native.json())

    @property
    def step_s(self) -> float:
        """One step, seconds."""
        return self._fields["step_s"]

    @property
    def bound_s(self) -> float:
        """No mapping is faster than this; ``step_s`` where the search was exact."""
        return self._fields["bound_s"]

    @property
    def exact(self) -> bool:
        """Whether ``step_s`` is proven to be the optimum."""
        return self._fields["exact"]

    @property
    def gap(self) -> float:
        """How far ``bound_s`` is below ``step_s``, relative to ``step_s``."""
        return self._fields["gap"]

    @property
    def utilisation(self) -> float:
        """Model FLOP over the chips' peak, 0 to 1."""
        return self._fields["utilisation"]

    @property
    def samples_per_second(self) -> float:
        return self._fields["samples_per_second"]

    @property
    def price_usd(self) -> float:
        """Of the whole system; 0: not known."""
        return self._fields["price_usd"]

    @property
    def power_w(self) -> float:
        """Of the whole system; 0: not known."""
        return self._fields["power_w"]

    @property
    def shape(self) -> dict[str, int]:
        """``tp``, ``pp``, ``dp``, ``microbatch``, ``microbatches``, ``tile``, ``layers_per_stage``."""
        return self._fields["shape"]

    @property
    def memory_bytes(self) -> dict[str, float]:
        """Of the fullest chip, by class, and ``"total"``."""
        return self._fields["memory_bytes"]

    @property
    def roofline(self) -> dict[str, float]:
        """Where a chip stands: rates in FLOP/s and B/s, intensities in FLOP per byte."""
        return self._fields["roofline"]

    @cached_property
    def partitions(self) -> list[MappedPartition]:
        """In the order in which they run."""
        names = [field.name for field in dataclasses.fields(MappedPartition)]
        return [
            MappedPartition(**{name: row[name.rstrip("_")] for name in names})
            for row in self._fields["partitions"]
        ]

    @property
    def sharding(self) -> dict[str, str]:
        """How each kernel is divided among the chips of a tensor-parallel group."""
        return {kernel["name"]: kernel["sharding"] for kernel in self._fields["kernels"]}

    def to_json(self) -> str:
        """The document of `flopcast map --json`."""
        return self._native.json()

    def to_dict(self) -> dict[str, Any]:
        """``to_json``, parsed (docs/reference/json.md)."""
        return json.loads(self._native.json())

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, a row for each partition: the columns of `flopcast map --csv`."""
        import pandas

        return pandas.read_csv(io.StringIO(self._native.csv()))

    def to_toml(self) -> str:
        """The workload's graph as `flopcast map` reads it (docs/reference/dataflow.md)."""
        return self._native.toml()

    def to_svg(self) -> str:
        """The graph as SVG, kernels coloured by partition."""
        return self._native.svg()

    def to_mps(self, partitions: int) -> str:
        """The fusion of one layer as a mixed-integer program in free MPS, for any solver.

        Args:
            partitions: at most so many in each pass.

        Raises:
            FlopcastError: the cycle model, which is not linear.
        """
        return self._native.mps(partitions)

    def html(self, path: PathLike) -> None:
        """Writes one self-contained page. Raises OSError if the file cannot be written."""
        write_whole(os.fspath(path), self._native.html())

    def __str__(self) -> str:
        return self._native.text()

    def __repr__(self) -> str:
        fields = self._fields
        proof = "optimal" if self.exact else f"gap {self.gap:.2%}"
        return (
            f"<flopcast.DataflowMapping {fields['workload']['name']} on {fields['system']['name']}: "
            f"{self.step_s:.4g} s a step, {proof}>"
        )


def _pins(pins: Mapping[str, int | Iterable[int]]) -> list[str]:
    def partitions(value: int | Iterable[int]) -> str:
        return str(value) if isinstance(value, int) else ",".join(str(one) for one in value)

    return [f"{kernel}={partitions(value)}" for kernel, value in pins.items()]


def _changes(changes: Mapping[str, Any] | Iterable[str]) -> list[str]:
    if isinstance(changes, Mapping):
        return [f"{name}={value}" for name, value in changes.items()]
    return list(changes)


def _question(
    workload: str | PathLike,
    on: str,
    topology: str = "",
    memory: str = "",
    link: str = "",
    changes: Mapping[str, Any] | Iterable[str] = (),
    precision: str = "bf16",
    mode: str = "full",
    overlap: str = "",
    utilisation: float | None = None,
    cycles: bool = False,
    tp: int = 0,
    pp: int = 0,
    dp: int = 0,
    microbatch: int = 0,
    tile: int = 0,
    every_tile: bool = False,
    partitions: int = 0,
    global_batch: int = 0,
    sequence: int = 0,
    unroll: int = 1,
    pins: Mapping[str, int] = {},
    forbid: Mapping[str, int | Iterable[int]] = {},
    shardings: Mapping[str, str] = {},
    mix_passes: bool = False,
    split_dimensions: bool = False,
    gap: float = 0.0,
    threads: int = 0,
) -> Any:
    question = _native.MappingQuestion(os.fspath(workload), on)
    question.workload(sequence, global_batch, unroll)
    question.system(topology, memory, link, _changes(changes), precision)
    question.model(mode, overlap, 0.0 if cycles else -1.0 if utilisation is None else utilisation)
    question.search([tp, pp, dp], microbatch, tile, every_tile, partitions, mix_passes, split_dimensions, gap, threads)
    question.pins(_pins(pins), _pins(forbid), _changes(shardings))
    return question


def map(workload: str | PathLike, on: str, **options: Any) -> DataflowMapping:
    """The fastest mapping of a dataflow graph onto a system, with a proof.

    Args:
        workload: a name of ``DATAFLOWS``, a model with ``":forward"``, ``":training"``,
            ``":prefill"`` or ``":decode"``, or a graph as a ``.toml`` file.
        on: ``"8 x sn10"``, any chip of the catalogue, or a cluster.
        topology: ``"torus:4x2"``, ``"ring:8"``, ``"dragonfly:8x128"``, ``"dgx-1:8x128"``, ...
        memory: ``"ddr"``, ``"hbm"``, ``"3d"`` or a bandwidth; ``""``: the chip's.
        link: ``"pcie"``, ``"nvlink"`` or bandwidths, one for each dimension.
        changes: what of ``SYSTEM_SETTINGS`` is otherwise: ``{"sram": "640MB"}``.
        precision: whose peak rate counts.
        mode: ``"full"``, or ``"paper"``: DFModel as published.
        overlap: ``"perfect"``, ``"compute-memory"`` or ``"none"``; ``""``: the mode's.
        utilisation: share of the peak that kernels reach; None: the mode's.
        cycles: count cycles of the chip's systolic tiles instead.
        tp, pp, dp: degrees; 0: every one.
        microbatch, tile: samples and tokens; 0: every divisor.
        every_tile: tiles need not divide the tokens.
        partitions: at most so many of a pass; 0: any number.
        global_batch, sequence, unroll: samples a step, tokens of a sample, layers in the graph;
            0: the workload's own.
        pins: kernel -> its partition, counted from 0 in its pass.
        forbid: kernel -> a partition or several that it must not be in.
        shardings: kernel -> how it is divided among tensor-parallel chips: ``"none"``, ``"outer"``,
            ``"m"``, ``"n"``, ``"k"``, ``"k->m"``, ``"k->n"``.
        mix_passes: forward and backward kernels may share a partition.
        split_dimensions: a dimension of the network may be shared by several parallelisms.
        gap: relative gap at which a search that cannot be exact stops.
        threads: 0: every core. The result does not depend on it.

    Raises:
        FlopcastError: it fits no memory (``code`` is ``TOO_LARGE``: what is short, and by how
            much), the graph has a cycle, or the question makes no sense.
    """
    return DataflowMapping(_question(workload, on, **options).answer())


def map_setup(path: PathLike) -> DataflowMapping:
    """The mapping that a ``setup.txt`` of DFModel asks for, under the published assumptions.

    Raises:
        FlopcastError: what ``map`` raises, or the file does not hold a setup.
        OSError: it cannot be read.
    """
    with open(path, encoding="utf-8", errors="replace") as file:
        return DataflowMapping(_native.map_setup(file.read(), os.fspath(path)))


class Exploration:
    """The best mapping at every point of a sweep, in its order: a sequence of dictionaries.

    The fields of a point are those of `flopcast explore --json` (docs/reference/json.md).
    ``print`` shows the tables of `flopcast explore`.
    """

    def __init__(self, lines: str, title: str) -> None:
        self._lines = lines
        self._title = title
        self._points: list[dict[str, Any]] = [json.loads(line) for line in lines.splitlines()]

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self._points[index]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._points)

    @cached_property
    def front(self) -> list[dict[str, Any]]:
        """Points that no other is faster, cheaper and leaner in power than at once."""
        return [point for point, on in zip(self._points, _native.explore_front(self._lines)) if on]

    def to_json(self) -> str:
        """The JSON lines of `flopcast explore --json`."""
        return self._lines

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, a row for each point: the columns of `flopcast explore --csv`."""
        import pandas

        return pandas.read_csv(io.StringIO(_native.explore_csv(self._lines)))

    def html(self, path: PathLike) -> None:
        """Writes one self-contained page of heat maps. Raises OSError if it cannot be written."""
        write_whole(os.fspath(path), _native.explore_html(self._lines, self._title))

    def __str__(self) -> str:
        return _native.explore_text(self._lines)

    def __repr__(self) -> str:
        return f"<flopcast.Exploration of {self._title}: {len(self)} points>"


def explore(
    workload: str | PathLike,
    on: str,
    sweeps: Mapping[str, Iterable[Any]] | Iterable[str],
    *,
    explain: bool = False,
    held: str = "",
    progress: Callable[[dict[str, Any]], None] | None = None,
    **options: Any,
) -> Exploration:
    """The best mapping at every combination of the sweeps; the last one varies fastest.

    Args:
        workload, on, **options: as for ``map``: what the sweeps do not change.
        sweeps: as `flopcast explore --sweep` takes them, ``["sram=1x,2x", "chip=sn10,sn30"]``, or a
            dictionary: ``{"sram": ["1x", "2x"], "tp": [4, 8]}``.
        explain: map every point again with twice of each resource: ``gains`` of a point.
        held: JSON lines of an earlier run of the same sweep: these points are not mapped again.
        progress: called with every new point, in order.

    Points that do not fit are in the answer: ``fits`` is False, and ``problem`` says what is short.

    Raises:
        FlopcastError: the question makes no sense, or ``held`` is of another sweep.
    """
    if isinstance(sweeps, Mapping):
        sweeps = [f"{name}={','.join(str(value) for value in values)}" for name, values in sweeps.items()]

    def take(line: str) -> None:
        if progress is not None:
            progress(json.loads(line))

    lines = _question(workload, on, **options).explore(list(sweeps), explain, held, take)
    return Exploration(lines, f"{os.fspath(workload)} on {on}")
