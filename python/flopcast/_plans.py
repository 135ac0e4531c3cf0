"""The best of all plans: the Python face of `flopcast plan`, on this machine or on many."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, TypedDict

from . import _native
from ._documents import Lines, Points, data_frame, notebook_html, shown, sweep_texts, write_page
from ._estimates import PlanSettings, RunOptions, TrainingOptions, run_settings, setting_texts
from ._files import PathLike, plain
from ._machines import with_fits
from .answers import PlanPointFields

if TYPE_CHECKING:
    from typing_extensions import TypeAlias, Unpack


class PlanSearch(PlanPointFields):
    """What one search found. ``print`` shows the tables of `flopcast plan`."""

    def __init__(self, line: str) -> None:
        super().__init__(Lines(line, _native.plan_json, _native.plans_text, _native.plans_html))
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

    @property
    def fastest(self) -> PlanSearch | None:
        """Of the points; None where nothing fits at any."""
        return self._at(_native.compare_plans(self._lines)[0])

    @property
    def equal(self) -> list[PlanSearch]:
        """As fast as the fastest as far as anybody knows: the times of both are in the bands of both."""
        return [self[i] for i in _native.compare_plans(self._lines)[1]]

    @property
    def cheapest(self) -> PlanSearch | None:
        """Of ``equal``; None where one of them has no price."""
        return self._at(_native.compare_plans(self._lines)[2])

    def _at(self, place: int) -> PlanSearch | None:
        return self[place] if place >= 0 else None

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
    progress: Callable[[int, int], None] | None


class PlanOptions(PlanSettings, TrainingOptions, RunOptions, _AskedOptions, _RunOptions, total=False):
    """What ``plan`` and ``plan_sweep`` take: see ``plan``."""


class _Point(TypedDict):
    """One question, in plain values that can be sent to other processes."""

    asked: dict[str, Any]
    training: dict[str, Any]
    run: dict[str, Any]


def _question(point: _Point) -> _native.PlanQuestion:
    training = dict(point["training"])
    question = _native.PlanQuestion(**point["asked"], software=training.pop("software", ""))
    question.train(**training)
    question.run(run_settings(point["run"]))
    return question


#: a point, threads, which shard of how many
_Task: TypeAlias = tuple[_Point, int, int, int]
#: of one task, in the numbers of ``progress``
_SHARE = 1000


def _search(task: _Task) -> str:
    """One shard as a JSON line; called in the executor's processes."""
    point, threads, shard, shards = task
    return _question(point).search(threads=threads, shard=shard, shards=shards)


def _watched(tasks: list[_Task], progress: Callable[[int, int], None] | None) -> Iterable[str]:
    """Shards one after the other. What each has done counts as its share of all."""
    for i, (point, threads, shard, shards) in enumerate(tasks):

        def tell(done: int, parts: int, i: int = i) -> None:
            assert progress is not None
            progress(i * _SHARE + done * _SHARE // max(parts, 1), len(tasks) * _SHARE)

        watch = None if progress is None else tell
        yield _question(point).search(threads=threads, shard=shard, shards=shards, progress=watch)


def _workers(executor: Executor) -> int:
    for name in ("num_workers", "_max_workers"):  # mpi4py's and ours; the standard library's
        workers: int | None = getattr(executor, name, None)
        if workers:
            return workers
    return os.cpu_count() or 1


def _run(
    points: list[_Point],
    *,
    executor: Executor | None = None,
    shards: int = 0,
    threads: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> str:
    """JSON lines of all points, each searched whole or in shards."""
    if executor is None:
        shards = max(shards, 1)
        tasks = [(point, threads, i, shards) for point in points for i in range(shards)]
        return _native.merge_plans("".join(_watched(tasks, progress)))
    # Small parts keep every worker busy to the end.
    count = shards or max(1, -(-4 * _workers(executor) // len(points)))
    tasks = [(point, threads or 1, i, count) for point in points for i in range(count)]
    lines = []
    for line in executor.map(_search, tasks):
        lines.append(line)
        if progress is not None:
            progress(len(lines), len(tasks))
    return _native.merge_plans("".join(lines))


def _taken(options: dict[str, Any], kind: type) -> dict[str, Any]:
    """Takes the options of a kind out of all of them."""
    return plain({name: options.pop(name) for name in kind.__annotations__ if name in options})


def _points(
    model: PathLike, cluster: PathLike, sweeps: Iterable[str], options: dict[str, Any]
) -> list[_Point]:
    """The questions of a sweep. Takes from the options all but those of how to run."""
    machine = with_fits(cluster, options.pop("fit", ()))
    training = _taken(options, TrainingOptions)
    run = _taken(options, RunOptions)
    asked = _taken(options, _AskedOptions)
    asked["constraints"] = list(asked.get("constraints", ()))
    settings = setting_texts({name: options.pop(name) for name in options.keys() - _RunOptions.__annotations__.keys()})
    asked.update(model=os.fspath(model), cluster=machine, settings=settings)
    return [
        {"asked": {**asked, "changes": changes}, "training": training, "run": run}
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
        software, fit, usd_per_chip_hour, memory_share, fit_odds: as for ``TrainingModel``.
        tokens, steps, chip_mtbf, checkpoint_time, restart_time, co2, pue: ask for the whole run, too
            (``RunOptions``): ``tokens=15e12`` or ``tokens="15T"``.
        progress: called with what is done and of how much, now and then and at the end, in this thread; what it
            raises ends the search.
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
    cluster: PathLike | Sequence[PathLike],
    sweeps: Iterable[str] | Mapping[str, Iterable[Any]] = (),
    *,
    prices: Sequence[float] | None = None,
    **options: Unpack[PlanOptions],
) -> PlanSweep:
    """``plan`` at every point of one or more sweeps, on one cluster or on several beside each other.

    Args:
        cluster: one, or a list of those to compare.
        sweeps: as `flopcast plan --sweep` takes them, ``["n=64..1024", "chip=h100,h200"]``, or a
            dictionary: ``{"n": [64, 128], "hbm-bandwidth": ["1x", "2x"]}``; the last one varies fastest.
        prices: USD a chip and hour, one for each cluster, in place of ``usd_per_chip_hour``.
        Others as for ``plan``. Points where nothing fits have no ``best``.

    Raises:
        FlopcastError: the question makes no sense.
        ValueError: not as many prices as clusters.
    """
    clusters = [cluster] if isinstance(cluster, (str, os.PathLike)) else list(cluster)
    if prices is not None and len(prices) != len(clusters):
        raise ValueError(f"{len(prices)} prices for {len(clusters)} clusters")
    points: list[_Point] = []
    given: dict[str, Any] = {}
    for i, one in enumerate(clusters):
        given = {**options}
        if prices is not None:
            given["usd_per_chip_hour"] = prices[i]
        points += _points(model, one, sweep_texts(sweeps), given)
    return PlanSweep(_run(points, **given))
