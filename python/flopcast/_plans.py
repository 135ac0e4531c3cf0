"""The best of all plans: the Python face of `flopcast plan`, on this machine or on many."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor
from typing import Any, Union

from . import _native
from ._estimates import _setting
from ._files import write_whole

PathLike = Union[str, "os.PathLike[str]"]


class PlanOption:
    """One plan that a search found.

    Attributes:
        time_s: of one step, seconds.
        memory_bytes: of the fullest chip.
        plan: every field of the plan, by its name as a setting.
        words: the plan in one line.
    """

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields
        self.words: str = fields["words"]
        self.time_s: float = fields["time_s"]
        self.memory_bytes: float = fields["memory_bytes"]
        self.plan: dict[str, Any] = fields["plan"]

    def to_dict(self) -> dict[str, Any]:
        """Everything known of it, with the fields of docs/reference/json.md."""
        return self._fields

    def __repr__(self) -> str:
        return f"<{self.words}: {self.time_s:.4g} s, {self.memory_bytes / 1e9:.1f} GB>"


class PlanSearch:
    """What one search found. ``print`` shows the tables of `flopcast plan`."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._fields: dict[str, Any] = json.loads(line)
        #: fastest first; as many as were asked for
        self.best = [PlanOption(fields) for fields in self._fields["best"]]
        #: plans that no other is both faster and leaner than, fastest first
        self.pareto = [PlanOption(fields) for fields in self._fields["pareto"]]

    @property
    def asked(self) -> dict[str, Any]:
        """The question: model, cluster, chips, constraints, ..."""
        return self._fields["asked"]

    @property
    def fits(self) -> bool:
        """Whether any plan fits into memory."""
        return self._fields["fits"]

    @property
    def sensitivities(self) -> dict[str, float]:
        """Relative change of the best plan's step for +10 % of each hardware number."""
        return {row["number"]: row["change"] for row in self._fields["sensitivities"]}

    @property
    def megatron(self) -> str:
        """The best plan as flags of Megatron-LM; empty where nothing fits."""
        return self._fields["best"][0]["megatron"] if self.best else ""

    def to_json(self) -> str:
        """The document of `flopcast plan --json`: the same bytes however the search was run."""
        return _native.plan_json(self._line)

    def to_dict(self) -> dict[str, Any]:
        """``to_json``, parsed."""
        return self._fields

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, a row for each of the best plans: the columns of `--csv`."""
        return _data_frame(self._line)

    def html(self, path: PathLike) -> None:
        """Writes one self-contained page. Raises OSError if the file cannot be written."""
        write_whole(os.fspath(path), _native.plans_html(self._line))

    def __str__(self) -> str:
        return _native.plans_text(self._line)

    def __repr__(self) -> str:
        asked = self.asked
        found = self.best[0] if self.best else "nothing fits"
        return f"<flopcast.PlanSearch {asked['model']} on {asked['cluster']}: {found}>"


class PlanSweep:
    """Searches at every point of a sweep, in its order: a sequence of ``PlanSearch``."""

    def __init__(self, lines: str) -> None:
        self._lines = lines
        self._searches = [PlanSearch(line) for line in lines.splitlines(keepends=True)]

    def __len__(self) -> int:
        return len(self._searches)

    def __getitem__(self, index: int) -> PlanSearch:
        return self._searches[index]

    def __iter__(self) -> Iterator[PlanSearch]:
        return iter(self._searches)

    def to_json(self) -> str:
        """The JSON lines of `flopcast plan --sweep --json`."""
        return self._lines

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, a row for each of the best plans of each point."""
        return _data_frame(self._lines)

    def html(self, path: PathLike) -> None:
        """Writes one self-contained page. Raises OSError if the file cannot be written."""
        write_whole(os.fspath(path), _native.plans_html(self._lines))

    def __str__(self) -> str:
        return _native.plans_text(self._lines)

    def __repr__(self) -> str:
        return f"<flopcast.PlanSweep of {len(self)} searches>"


def _data_frame(lines: str) -> Any:
    import pandas

    return pandas.read_csv(io.StringIO(_native.plans_csv(lines)))


def _question(arguments: dict[str, Any]) -> Any:
    question = _native.PlanQuestion(*arguments["asked"])
    question.train(*arguments["training"])
    return question


def _search(task: tuple[dict[str, Any], int, int, int]) -> str:
    """One shard as a JSON line; called in the executor's processes."""
    arguments, threads, shard, shards = task
    return _question(arguments).search(threads, shard, shards)


def _workers(executor: Executor) -> int:
    for name in ("num_workers", "_max_workers"):  # mpi4py's and ours; the standard library's
        workers = getattr(executor, name, None)
        if workers:
            return workers
    return os.cpu_count() or 1


def _run(points: list[dict[str, Any]], executor: Executor | None, shards: int, threads: int) -> str:
    """JSON lines of all points, each searched whole or in shards."""
    if executor is None:
        parts = [_search((point, threads, i, max(shards, 1))) for point in points for i in range(max(shards, 1))]
        return _native.merge_plans("".join(parts))
    # Small parts keep every worker busy to the end.
    count = shards or max(1, -(-4 * _workers(executor) // len(points)))
    tasks = [(point, threads or 1, i, count) for point in points for i in range(count)]
    return _native.merge_plans("".join(executor.map(_search, tasks)))


def _points(
    model: str | PathLike,
    cluster: str | PathLike,
    sweeps: Iterable[str] | Mapping[str, Iterable[Any]],
    constraints: Iterable[str],
    plan_from: PathLike,
    chips: int,
    best: int,
    placements: bool,
    memory_share: float,
    software: str,
    constants: PathLike,
    usd_per_chip_hour: float,
    settings: dict[str, Any],
) -> list[dict[str, Any]]:
    if isinstance(sweeps, Mapping):
        sweeps = [f"{name}={','.join(str(value) for value in values)}" for name, values in sweeps.items()]
    given = {name: _setting(value) for name, value in settings.items() if value is not None}
    training = (software, os.fspath(constants), usd_per_chip_hour, memory_share)
    return [
        {
            "asked": (
                os.fspath(model), os.fspath(cluster), chips, list(constraints), changes, given,
                os.fspath(plan_from), placements, best,
            ),
            "training": training,
        }
        for changes in _native.sweep_points(list(sweeps))
    ]  # fmt: skip


def plan(
    model: str | PathLike,
    cluster: str | PathLike,
    *,
    constraints: Iterable[str] = (),
    plan_from: PathLike = "",
    chips: int = 0,
    best: int = 10,
    placements: bool = True,
    memory_share: float = 1.0,
    software: str = "",
    constants: PathLike = "",
    usd_per_chip_hour: float = 0.0,
    executor: Executor | None = None,
    shards: int = 0,
    threads: int = 0,
    **settings: Any,
) -> PlanSearch:
    """The best of all plans of a model on a cluster. Exact: nothing better exists in the space.

    Args:
        model, cluster: as for ``TrainingModel``.
        constraints: what plans must keep to: ``["tp<=8", "pp=4", "recompute=none,full"]``.
        plan_from: a launch configuration whose choices every plan has.
        chips: to use; 0: all of the cluster.
        best: plans to return.
        placements: all placements of groups on the network; False: only the usual one.
        memory_share: of a chip's memory that a plan may need, 0 to 1.
        software, constants, usd_per_chip_hour: as for ``TrainingModel``.
        executor: any ``concurrent.futures`` executor: the search is cut into parts that run on
            it. ``RayExecutor`` and mpi4py's take it to a cluster
            (docs/how-to/search-on-many-machines.md).
        shards: how many parts; 0: four per worker of the executor, else one.
        threads: of each part; 0: every core without an executor, else one.
        **settings: ``global_batch`` and what else ``PLAN_SETTINGS`` names: a degree given is a
            constraint (``tp=8``), a choice holds for every plan (``precision="fp8"``).

    The result does not depend on executor, shards and threads.

    Raises:
        FlopcastError: nothing fits (``code`` is ``DOES_NOT_FIT``; the hint has the nearest plan
            that does), or the question makes no sense.
    """
    points = _points(
        model, cluster, (), constraints, plan_from, chips, best, placements, memory_share, software,
        constants, usd_per_chip_hour, settings,
    )  # fmt: skip
    found = PlanSearch(_run(points, executor, shards, threads))
    if not found.fits:
        _question(points[0]).refuse(found._line)
    return found


def plan_sweep(
    model: str | PathLike,
    cluster: str | PathLike,
    sweeps: Iterable[str] | Mapping[str, Iterable[Any]],
    *,
    constraints: Iterable[str] = (),
    plan_from: PathLike = "",
    chips: int = 0,
    best: int = 10,
    placements: bool = True,
    memory_share: float = 1.0,
    software: str = "",
    constants: PathLike = "",
    usd_per_chip_hour: float = 0.0,
    executor: Executor | None = None,
    shards: int = 0,
    threads: int = 0,
    **settings: Any,
) -> PlanSweep:
    """``plan`` at every point of one or more sweeps; the last one varies fastest.

    Args:
        sweeps: as `flopcast plan --sweep` takes them, ``["n=64..1024", "chip=h100,h200"]``, or a
            dictionary: ``{"n": [64, 128], "hbm-bandwidth": ["1x", "2x"]}``.
        Others as for ``plan``. Points where nothing fits have no ``best``.

    Raises:
        FlopcastError: the question makes no sense.
    """
    points = _points(
        model, cluster, sweeps, constraints, plan_from, chips, best, placements, memory_share,
        software, constants, usd_per_chip_hour, settings,
    )  # fmt: skip
    return PlanSweep(_run(points, executor, shards, threads))
