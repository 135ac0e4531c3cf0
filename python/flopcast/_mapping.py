"""Mappings of dataflow graphs: the Python face of `flopcast map` and `flopcast explore`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

from . import _native
from ._documents import Points, data_frame, notebook_html, shown, sweep_texts, write_page
from ._files import PathLike
from .answers import ExplorePoint, MappingFields

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Names of the workloads that ``map`` knows by heart, besides models with ``":forward"`` and the like.
DATAFLOWS: tuple[str, ...] = tuple(_native.dataflow_names())
#: What ``changes`` of ``map`` sets: ``"sram"``, ``"memory-bandwidth"``, ...
SYSTEM_SETTINGS: tuple[str, ...] = tuple(_native.system_settings())


class DataflowMapping(MappingFields):
    """The fastest mapping of a workload onto a system. ``print`` shows the tables of `flopcast map`."""

    _native: _native.MappingReport

    @property
    def sharding(self) -> dict[str, str]:
        """How each kernel is divided among the chips of a tensor-parallel group."""
        return {kernel["name"]: kernel["sharding"] for kernel in self._fields["kernels"]}

    def to_json(self) -> str:
        """The document of `flopcast map --json`."""
        return self._native.json()

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, a row for each partition: the columns of `flopcast map --csv`."""
        return data_frame(self._native.csv())

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

    def __repr__(self) -> str:
        fields = self._fields
        proof = "optimal" if self.exact else f"gap {self.gap:.2%}"
        return shown(
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


class MappingOptions(TypedDict, total=False):
    """What ``map`` and ``explore`` take: see ``map``."""

    topology: str
    memory: str
    link: str
    changes: Mapping[str, Any] | Iterable[str]
    precision: str
    mode: str
    overlap: str
    utilisation: float | None
    cycles: bool
    tp: int
    pp: int
    dp: int
    microbatch: int
    tile: int
    every_tile: bool
    partitions: int
    global_batch: int
    sequence: int
    unroll: int
    pins: Mapping[str, int]
    forbid: Mapping[str, int | Iterable[int]]
    shardings: Mapping[str, str]
    mix_passes: bool
    split_dimensions: bool
    gap: float
    threads: int


_TEXTS: dict[str, Callable[[Any], list[str]]] = {
    "changes": _changes,
    "pins": _pins,
    "forbid": _pins,
    "shardings": _changes,
}


def _question(workload: PathLike, on: str, options: MappingOptions) -> _native.MappingQuestion:
    question = _native.MappingQuestion(os.fspath(workload), on)
    for name, value in options.items():
        if name not in MappingOptions.__annotations__:
            raise TypeError(f"a mapping has no option {name!r}")
        if value is not None and name != "cycles":
            setattr(question, name, _TEXTS[name](value) if name in _TEXTS else value)
    if options.get("cycles"):
        question.utilisation = 0.0  # which stands for the cycle model
    return question


def map(workload: PathLike, on: str, **options: Unpack[MappingOptions]) -> DataflowMapping:
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
    return DataflowMapping(_question(workload, on, options).answer())


def map_setup(path: PathLike) -> DataflowMapping:
    """The mapping that a ``setup.txt`` of DFModel asks for, under the published assumptions.

    Raises:
        FlopcastError: what ``map`` raises, or the file does not hold a setup.
        OSError: it cannot be read.
    """
    with open(path, encoding="utf-8", errors="replace") as file:
        return DataflowMapping(_native.map_setup(file.read(), os.fspath(path)))


class Exploration(Points[ExplorePoint]):
    """The best mapping at every point of a sweep, in its order: a sequence.

    ``print`` shows the tables of `flopcast explore`.
    """

    def __init__(self, lines: str, title: str) -> None:
        super().__init__(lines, [ExplorePoint(json.loads(line)) for line in lines.splitlines()])
        self._title = title

    @cached_property
    def front(self) -> list[ExplorePoint]:
        """Points that no other is faster, cheaper and leaner in power than at once."""
        return [point for point, on in zip(self._points, _native.explore_front(self._lines)) if on]

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, a row for each point: the columns of `flopcast explore --csv`."""
        return data_frame(_native.explore_csv(self._lines))

    def html(self, path: PathLike) -> None:
        """Writes one self-contained page of heat maps. Raises OSError if it cannot be written."""
        write_page(path, _native.explore_html(self._lines, self._title))

    def __str__(self) -> str:
        return shown(_native.explore_text(self._lines), keep="\n\t")

    def _repr_html_(self) -> str:
        return notebook_html(str(self))

    def __repr__(self) -> str:
        return shown(f"<flopcast.Exploration of {self._title}: {len(self)} points>")


def explore(
    workload: PathLike,
    on: str,
    sweeps: Mapping[str, Iterable[Any]] | Iterable[str],
    *,
    explain: bool = False,
    held: str = "",
    progress: Callable[[dict[str, Any]], None] | None = None,
    **options: Unpack[MappingOptions],
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

    def take(line: str) -> None:
        if progress is not None:
            progress(json.loads(line))

    question = _question(workload, on, options)
    lines = question.explore(sweep_texts(sweeps), explain=explain, held=held, take=take)
    return Exploration(lines, f"{os.fspath(workload)} on {on}")
