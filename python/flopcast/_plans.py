"""The best of all plans: the Python face of `flopcast plan`, on this machine or on many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, TypedDict

from . import _native
from ._documents import Points, data_frame, notebook_html, shown, sweep_texts, write_page
from ._estimates import PlanSettings, TrainingOptions, setting_texts
from ._files import PathLike, plain
from ._machines import with_fits
from .answers import PlanPointFields

if TYPE_CHECKING:
    from typing_extensions import Unpack


class _Searched:
    """The JSON line of a search, as what answers are made of."""

    def __init__(self, line: str) -> None:
        self.line = line

    def json(self) -> str:
        return _native.plan_json(self.line)

    def text(self) -> str:
        return _native.plans_text(self.line)

    def html(self) -> str:
        return _native.plans_html(self.line)


class PlanSearch(PlanPointFields):
    """What one search found. ``print`` shows the tables of `flopcast plan`."""

    def __init__(self, line: str) -> None:
        super().__init__(_Searched(line))
        self._line = line

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, a row for each of the best plans."""
        return data_frame(_native.plans_csv(self._line))

    @property
    def sensitivities(self) -> dict[str, float]:
        """Relative change of the best plan's step for +10 % of each hardware number."""
        return {row["number"]: row["change"] for row in self._fields["sensitivities"]}

    @property
    def megatron(self) -> str:
        """The best plan as flags of Megatron-LM; empty where nothing fits."""
        return str(self._fields["best"][0]["megatron"]) if self.best else ""

    @property
    def launches(self) -> dict[str, dict[str, Any]]:
        """Each launcher's best plan and how it is started, by its name; empty of points of a sweep."""
        return {row["launcher"]: row for row in self._fields["launch"]}

    def to_json(self) -> str:
        """The document of `flopcast plan --json`: the same bytes however the search was run."""
        return self._native.json()

    def __repr__(self) -> str:
        asked = self.asked
        found = f"{self.best[0].words}: {self.best[0].time_s:.4g} s" if self.best else "nothing fits"
        return shown(f"<flopcast.PlanSearch {asked.model} on {asked.cluster}: {found}>")


class PlanSweep(Points[PlanSearch]):
    """Searches at every point of a sweep, in its order: a sequence of ``PlanSearch``."""

    def __init__(self, lines: str) -> None:
        super().__init__(lines, [PlanSearch(line) for line in lines.splitlines(keepends=True)])

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, a row for each of the best plans (of each point of a sweep)."""
        return data_frame(_native.plans_csv(self._lines))

    def html(self, path: PathLike) -> None:
        """Writes one self-contained page. Raises OSError if the file cannot be written."""
        write_page(path, _native.plans_html(self._lines))

    def __str__(self) -> str:
        return shown(_native.plans_text(self._lines), keep="\n\t")

    def _repr_html_(self) -> str:
        return notebook_html(str(self))

    def __repr__(self) -> str:
        return f"<flopcast.PlanSweep of {len(self)} searches>"


class _AskedOptions(TypedDict, total=False):
    constraints: Iterable[str]
    plan_from: PathLike
    launchable: str
    chips: int
    best: int
    placements: bool


class _RunOptions(TypedDict, total=False):
    executor: Executor | None
    shards: int
    threads: int


class PlanOptions(PlanSettings, TrainingOptions, _AskedOptions, _RunOptions, total=False):
    """What ``plan`` and ``plan_sweep`` take: see ``plan``."""


class _Point(TypedDict):
    """One question, in plain values that can be sent to other processes."""

    asked: dict[str, Any]
    training: dict[str, Any]


def _question(point: _Point) -> _native.PlanQuestion:
    training = dict(point["training"])
    question = _native.PlanQuestion(**point["asked"], software=training.pop("software", ""))
    question.train(**training)
    return question


def _search(task: tuple[_Point, int, int, int]) -> str:
    """One shard as a JSON line; called in the executor's processes."""
    point, threads, shard, shards = task
    return _question(point).search(threads=threads, shard=shard, shards=shards)


def _workers(executor: Executor) -> int:
    for name in ("num_workers", "_max_workers"):  # mpi4py's and ours; the standard library's
        workers: int | None = getattr(executor, name, None)
        if workers:
            return workers
    return os.cpu_count() or 1


def _run(
    points: list[_Point], *, executor: Executor | None = None, shards: int = 0, threads: int = 0
) -> str:
    """JSON lines of all points, each searched whole or in shards."""
    if executor is None:
        shards = max(shards, 1)
        tasks = [(point, threads, i, shards) for point in points for i in range(shards)]
        return _native.merge_plans("".join(map(_search, tasks)))
    # Small parts keep every worker busy to the end.
    count = shards or max(1, -(-4 * _workers(executor) // len(points)))
    tasks = [(point, threads or 1, i, count) for point in points for i in range(count)]
    return _native.merge_plans("".join(executor.map(_search, tasks)))


def _taken(options: dict[str, Any], kind: type) -> dict[str, Any]:
    """Takes the options of a kind out of all of them."""
    return plain({name: options.pop(name) for name in kind.__annotations__ if name in options})


def _points(
    model: PathLike, cluster: PathLike, sweeps: Iterable[str], options: dict[str, Any]
) -> list[_Point]:
    """The questions of a sweep. Takes from the options all but those of how to run."""
    machine = with_fits(cluster, options.pop("fit", ()))
    training = _taken(options, TrainingOptions)
    asked = _taken(options, _AskedOptions)
    asked["constraints"] = list(asked.get("constraints", ()))
    settings = setting_texts({name: options.pop(name) for name in options.keys() - _RunOptions.__annotations__.keys()})
    asked.update(model=os.fspath(model), cluster=machine, settings=settings)
    return [
        {"asked": {**asked, "changes": changes}, "training": training}
        for changes in _native.sweep_points(list(sweeps))
    ]


def plan(model: PathLike, cluster: PathLike, **options: Unpack[PlanOptions]) -> PlanSearch:
    """The best of all plans of a model on a cluster. Exact: nothing better exists in the space.

    Args:
        model, cluster: as for ``TrainingModel``.
        constraints: what plans must keep to: ``["tp<=8", "pp=4", "recompute=none,full"]``.
        plan_from: a launch configuration whose choices every plan has.
        launchable: only plans that this launcher can run: megatron, torchtitan or deepspeed.
        chips: to use; 0, the default: all of the cluster.
        best: plans to return; 10 if not given.
        placements: True, the default: all placements of groups on the network; False: only the
            usual one.
        software, fit, usd_per_chip_hour, memory_share: as for ``TrainingModel``.
        executor: any ``concurrent.futures`` executor: the search is cut into parts that run on
            it. ``RayExecutor`` and mpi4py's take it to a cluster
            (docs/how-to/search-on-many-machines.md).
        shards: how many parts; 0, the default: four per worker of the executor, else one.
        threads: of each part; 0, the default: every core without an executor, else one.
        others: ``global_batch`` and what else ``PLAN_SETTINGS`` names: a degree given is a
            constraint (``tp=8``), a choice holds for every plan (``precision="fp8"``).

    The result does not depend on executor, shards and threads.

    Raises:
        FlopcastError: nothing fits (``code`` is ``DOES_NOT_FIT``; the hint has the nearest plan
            that does), or the question makes no sense.
    """
    given: dict[str, Any] = {**options}
    points = _points(model, cluster, (), given)
    found = PlanSearch(_run(points, **given))
    if not found.fits:
        _question(points[0]).refuse(found._line)
    return found


def plan_sweep(
    model: PathLike,
    cluster: PathLike,
    sweeps: Iterable[str] | Mapping[str, Iterable[Any]],
    **options: Unpack[PlanOptions],
) -> PlanSweep:
    """``plan`` at every point of one or more sweeps; the last one varies fastest.

    Args:
        sweeps: as `flopcast plan --sweep` takes them, ``["n=64..1024", "chip=h100,h200"]``, or a
            dictionary: ``{"n": [64, 128], "hbm-bandwidth": ["1x", "2x"]}``.
        Others as for ``plan``. Points where nothing fits have no ``best``.

    Raises:
        FlopcastError: the question makes no sense.
    """
    given: dict[str, Any] = {**options}
    points = _points(model, cluster, sweep_texts(sweeps), given)
    return PlanSweep(_run(points, **given))
