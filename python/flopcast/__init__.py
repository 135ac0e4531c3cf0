"""Forecasts how long large-scale ML training and serving takes.

    import flopcast

    traces = flopcast.read("demo/sample")
    result = flopcast.replay(traces)
    print(result)                   # the tables of `flopcast replay`
    result.to_dict()                # the JSON of `flopcast replay --json`
    result.html("replay.html")      # one self-contained page
    print(flopcast.WhatIf(traces).scale("gemm", 0.8).remove("straggler").run())

    flopcast.Cluster("64 x dgx-h100").collective_time("all_reduce", "1GB")["time_s"]
    flopcast.KernelModel("h200").gemm(8192, 8192, 8192, "bf16").time_s
    print(flopcast.estimate("llama-3-70b", "128 x dgx-h100", tp=8, pp=4, global_batch=1024))
    print(flopcast.plan("llama-3-70b", "128 x dgx-h100", global_batch=1024))
    print(flopcast.serve("llama-3-70b", "2 x dgx-h100", tp=4, users=64, input=1024, output=1024))
    print(flopcast.map("gpt3-175b", "8 x sn10", topology="torus:4x2"))

Units: every field says its own. Times are integers in picoseconds (``_ps``), so that nothing is
rounded; seconds (``_s``) appear only in reports. Errors are ``FlopcastError``.

A *column* is one value per recorded row, a read-only view of memory that the library owns: a
``numpy.ndarray`` where numpy is installed (``pip install flopcast[numpy]``), else a ``memoryview``.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from functools import cached_property
from types import ModuleType
from typing import Any

from . import _native
from ._errors import ErrorCode, FlopcastError
from ._estimates import (
    PLAN_SETTINGS,
    Estimate,
    PlanSettings,
    RunOptions,
    TrainingModel,
    TrainingOptions,
    estimate,
    training_software,
)
from ._executors import RayExecutor
from ._files import PathLike
from ._forecasts import Cluster, KernelModel, KernelTime
from ._mapping import (
    DATAFLOWS,
    SYSTEM_SETTINGS,
    DataflowMapping,
    Exploration,
    MappingOptions,
    explore,
    map,
    map_setup,
)
from ._plans import PlanOptions, PlanSearch, PlanSweep, plan, plan_sweep
from ._serve_plans import SERVE_PLAN_SETTINGS, ServePlan, ServePlans, ServePlanSettings, serve_plan, serve_plans
from ._serving import SERVE_SETTINGS, ServeSettings, Serving, serve
from ._whatif import PartWorth, WhatIf, WhatIfAnswer
from .answers import ReplayFields

__version__: str = _native.version

_numpy: ModuleType | None
try:
    import numpy as _numpy
except ImportError:  # numpy is an extra
    _numpy = None

__all__ = [
    "CATEGORIES",
    "DATAFLOWS",
    "PLAN_SETTINGS",
    "SERVE_PLAN_SETTINGS",
    "SERVE_SETTINGS",
    "SYSTEM_SETTINGS",
    "Anomaly",
    "Cluster",
    "DataflowMapping",
    "ErrorCode",
    "Estimate",
    "Exploration",
    "FlopcastError",
    "KernelModel",
    "KernelTime",
    "MappingOptions",
    "PackedTrace",
    "PartWorth",
    "PlanOptions",
    "PlanSearch",
    "PlanSettings",
    "PlanSweep",
    "RankTrace",
    "RayExecutor",
    "Replay",
    "RunOptions",
    "ServePlan",
    "ServePlanSettings",
    "ServePlans",
    "ServeSettings",
    "Serving",
    "Step",
    "StepComparison",
    "StepMatch",
    "TraceSet",
    "TrainingModel",
    "TrainingOptions",
    "WhatIf",
    "WhatIfAnswer",
    "WorkSensitivity",
    "__version__",
    "compare_steps",
    "estimate",
    "explore",
    "list_runs",
    "map",
    "map_setup",
    "pack_trace",
    "plan",
    "plan_sweep",
    "read",
    "replay",
    "serve",
    "serve_plan",
    "serve_plans",
    "training_software",
]


def __dir__() -> list[str]:
    """What is public: completion shows that and no more."""
    return sorted(__all__)


#: Names of the values in ``RankTrace.category``: ``CATEGORIES[3] == "kernel"``.
CATEGORIES: tuple[str, ...] = tuple(_native.category_names())


@dataclasses.dataclass(frozen=True)
class Anomaly:
    """An oddity of the input: its kind, how often it was met, and the first example."""

    kind: str
    count: int
    first: str


@dataclasses.dataclass(frozen=True)
class Step:
    """A recorded training step (``ProfilerStep#N``), or the whole window of a trace without any."""

    name: str
    start_ps: int  #: on the clock of its rank's ``start_ps`` column
    end_ps: int


@dataclasses.dataclass(frozen=True)
class StepMatch:
    """How alike two steps are. Fractions are the smallest over ranks, 0 to 1."""

    from_step: str
    to_step: str
    matched_from: float  #: of from_step's calls that order anything: how many to_step has too
    matched_to: float  #: the other way round
    same_structure: bool  #: both are at least 0.99
    #: dependency kind -> (dependencies of from_step, how many are dependencies of to_step too)
    transfer: dict[str, tuple[int, int]]


class StepComparison(list[StepMatch]):
    """How alike steps are: ordered pairs of steps, at most 56, among those of the largest groups."""

    #: names of steps with the same host calls in the same order on every rank, the largest group first
    groups: list[list[str]]

    def __init__(self, groups: list[list[str]], matches: Iterable[StepMatch]) -> None:
        super().__init__(matches)
        self.groups = groups


@dataclasses.dataclass(frozen=True)
class WorkSensitivity:
    """What it is worth to have less of one part of the work: the answers of :class:`WhatIf`."""

    part: str  #: "host", "gemm", "attention", "other_kernels", "copies", a collective ("all_reduce"), or "network"
    work_s: float  #: how long it takes in a step, all ranks together
    gpu_step_s: float | None  #: GPU step with a tenth less of it; None if that run cannot finish
    change: float | None  #: of the GPU step then: -0.05 is 5 % less
    limit_s: float | None = None  #: GPU step with none of it


def _column(array: memoryview) -> Any:
    return array if _numpy is None else _numpy.asarray(array)


def _anomalies(rows: Iterable[tuple[str, int, str]]) -> list[Anomaly]:
    return [Anomaly(*row) for row in rows]


class RankTrace:
    """One rank's recording, as columns of equal length N, ordered by start, parents first.

    Columns, all of shape (N,) and read-only:
        start_ps      int64   since the trace's origin, picoseconds
        duration_ps   int64   picoseconds, never negative
        category      uint8   index into ``CATEGORIES``
        name_id       uint32  index into ``TraceSet.names``
        stream        int32   GPU stream; -1 where the row has none
        device        int32   GPU ordinal; -1 on rows of the host
        correlation   int64   joins a launch with its GPU work; -1 where the row has none
    """

    path: str
    rank: int | None  #: None where the file does not say
    world_size: int | None
    origin_ns: int  #: unix time of ``start_ps == 0``
    json_bytes: int  #: size of the unpacked text

    def __init__(self, native: _native.TraceSet, index: int) -> None:
        self._native = native
        self._index = index
        self.path, self.rank, self.world_size, self.origin_ns, self.json_bytes = native.rank_facts(index)
        for name, array in native.columns(index).items():
            setattr(self, name, _column(array))

    start_ps: Any
    duration_ps: Any
    category: Any
    name_id: Any
    stream: Any
    device: Any
    correlation: Any

    @property
    def anomalies(self) -> list[Anomaly]:
        """Rows that were dropped or repaired, by kind."""
        return _anomalies(self._native.rank_anomalies(self._index))

    @property
    def steps(self) -> list[Step]:
        """In time order."""
        return [Step(*row) for row in self._native.steps(self._index)]

    def __len__(self) -> int:
        return len(self.start_ps)

    def __repr__(self) -> str:
        return f"<flopcast.RankTrace rank {self.rank}: {len(self)} rows of {self.path!r}>"


class TraceSet:
    """All ranks of one run. Made by ``read``."""

    def __init__(self, native: _native.TraceSet) -> None:
        self._native = native
        self.label: str = native.label()
        #: by rank
        self.ranks: list[RankTrace] = [RankTrace(native, i) for i in range(native.rank_count())]
        #: files that were named or found but could not be read
        self.unreadable: list[FlopcastError] = [FlopcastError(*d) for d in native.unreadable()]

    @cached_property
    def names(self) -> list[str]:
        """Every string the traces hold, each once; ``name_id`` is an index into it."""
        return self._native.names()

    @property
    def anomalies(self) -> list[Anomaly]:
        """Oddities across files: ranks missing, ranks recorded twice, ..."""
        return _anomalies(self._native.anomalies())

    def __repr__(self) -> str:
        rows = sum(len(rank) for rank in self.ranks)
        return f"<flopcast.TraceSet {self.label!r}: {len(self.ranks)} rank(s), {rows} rows>"


class Replay(ReplayFields):
    """A recorded run, simulated once more. Made by ``replay``. ``print`` shows the tables of `flopcast replay`."""

    _native: _native.Replay

    @property
    def damage(self) -> list[str]:
        """Why the recording cannot be forecast; empty if it can."""
        return self._native.damage()

    @property
    def gpu_step_s(self) -> float | None:
        """GPU step as recorded, the mean over ranks and the usual steps; None where there is none."""
        table = self._native.sensitivity()
        return None if table is None else table[0]

    @property
    def sensitivity(self) -> list[WorkSensitivity]:
        """What would shorten the GPU step, most gain by the limit first: runs of the engine for each part."""
        table = self._native.sensitivity()
        if table is None:
            return []
        now, parts = table
        return [
            WorkSensitivity(part, work, then, None if then is None or now == 0 else then / now - 1, limit)
            for part, work, then, limit in parts
        ]

    @property
    def straggler(self) -> int | None:
        """The rank on whose account most waiting in collectives is; None if there is no such one."""
        found = self._fields["sets"][0]["straggler"]
        return None if found is None else int(found["rank"])

    def write_trace(self, path: PathLike) -> int:
        """Writes the replayed run: Kineto JSON if the name ends in .json or .json.gz, otherwise
        Perfetto protobuf. Returns bytes written; raises FlopcastError."""
        name = os.fspath(path)
        return self._native.write(name, kineto=name.endswith((".json", ".json.gz")))

    def recorded_times(self, index: int) -> tuple[Any, Any]:
        """(start_ps, end_ps) of the rows of ``TraceSet.ranks[index]``, two int64 columns of shape
        (N,), on the run's common clock: ranks and GPUs aligned."""
        return self._times(index, replayed=False)

    def replayed_times(self, index: int) -> tuple[Any, Any]:
        """As ``recorded_times``, in the replayed run."""
        return self._times(index, replayed=True)

    def __repr__(self) -> str:
        native = self._native
        ranks, tasks = native.rank_count(), native.task_count()
        damaged = ", a damaged recording" if self.damage else ""
        return (
            f"<flopcast.Replay {native.label()!r}: {ranks} rank(s), {tasks} tasks, "
            f"lags {native.lags()}, model {native.baseline()}{damaged}>"
        )

    def _times(self, index: int, *, replayed: bool) -> tuple[Any, Any]:
        start, end = self._native.times(index, replayed=replayed)
        return _column(start), _column(end)


def _paths(paths: PathLike | Iterable[PathLike]) -> list[str]:
    if isinstance(paths, (str, os.PathLike)):
        return [os.fspath(paths)]
    return [os.fspath(path) for path in paths]


def read(
    paths: PathLike | Iterable[PathLike], *, prefix: str = "", steps: str | int | None = None, threads: int = 0
) -> TraceSet:
    """Reads one run: Kineto JSON files, plain or gzip, or folders of them, one file per rank; or a pack.

    Args:
        paths: a file, a folder, or several. Ranks come from the files, not from their names.
        prefix: only files whose names start so; needed for a folder that holds several runs
            (``list_runs`` names them).
        steps: these alone, such as ``12`` or ``"12:14"``: what ran between the start of the first and the
            end of the last, with the GPU work launched there. Of a pack nothing else is read.
        threads: 0 means every core. The result does not depend on it.

    Raises:
        FlopcastError: nothing could be read, or a folder holds several runs. Files that could not
            be read beside others that could are in ``TraceSet.unreadable``.
    """
    window = None if steps is None else str(steps)
    return TraceSet(_native.read(_paths(paths), prefix=prefix, steps=window, threads=threads))


@dataclasses.dataclass(frozen=True)
class PackedTrace:
    """What ``pack_trace`` wrote: traces and rows in the pack, bytes of their unpacked JSON and of the pack."""

    files: int
    rows: int
    json_bytes: int
    bytes: int
    #: files that were named or found but are no traces
    unreadable: list[FlopcastError]


def pack_trace(
    paths: PathLike | Iterable[PathLike], to: PathLike, *, prefix: str = "", threads: int = 0
) -> PackedTrace:
    """Writes one run as one small file, which ``read`` takes in place of its traces and which gives the same.

    Rows go through as they come: memory does not grow with the files.

    Args:
        paths, prefix, threads: as of ``read``.
        to: the file, such as ``run.fcpack``.

    Raises:
        FlopcastError: no trace could be read, or the pack could not be written; then there is none.
    """
    packed = _native.pack_trace(_paths(paths), os.fspath(to), prefix=prefix, threads=threads)
    files, rows, json_bytes, size, bad = packed
    return PackedTrace(files, rows, json_bytes, size, [FlopcastError(*failure) for failure in bad])


def list_runs(directory: PathLike) -> dict[str, list[str]]:
    """The runs in a folder: label -> files. Files that share a name up to their rank are one run."""
    return _native.list_runs(os.fspath(directory))


def replay(
    trace_set: TraceSet,
    *,
    lags: str = "typical",
    baseline: str = "full",
    structure_from: str | int | None = None,
    durations_from: str | int | None = None,
    threads: int = 0,
) -> Replay:
    """Builds the execution graph of all ranks and runs it.

    Args:
        trace_set: what ``read`` gave.
        lags: delay from a dependency's end to the task it frees. ``"typical"``: the median of its
            kind and rank. ``"zero"``: none. ``"recorded"``: each as recorded, for differences
            between two replays only; such a replay is exact by construction.
        baseline: ``"full"``, or one of the simpler models ``"single-stream"``,
            ``"no-inter-stream"``, ``"dpro"`` on the same graph.
        structure_from, durations_from: step names such as ``12`` or ``"ProfilerStep#12"``, both or
            neither: one step's dependencies with another step's durations. Judge the step
            ``durations_from`` of the result.
        threads: 0 means every core. The result does not depend on it.

    Raises:
        FlopcastError: an unknown mode or step, or a graph that can never finish.
    """
    structure, durations = (None if step is None else str(step) for step in (structure_from, durations_from))
    return Replay(
        _native.replay(
            trace_set._native,
            lags=lags,
            baseline=baseline,
            structure_from=structure,
            durations_from=durations,
            threads=threads,
        )
    )


def compare_steps(trace_set: TraceSet, *, threads: int = 0) -> StepComparison:
    """How alike the steps are that all ranks have: groups of equal ones, and how the groups differ."""
    groups, rows = _native.compare_steps(trace_set._native, threads=threads)
    return StepComparison(groups, (StepMatch(*row) for row in rows))
