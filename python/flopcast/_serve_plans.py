"""The fewest chips that serve a load: the Python face of `flopcast serve-plan`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, TypedDict, Union

from . import _native
from ._documents import Lines, data_frame, shown
from ._files import PathLike
from ._machines import Fits, with_fits
from .answers import ComparedFleetsFields, FleetsDocumentFields

if TYPE_CHECKING:
    from typing_extensions import Unpack

Names = Union[str, Iterable[str]]
Numbers = Union[int, str, Iterable[int]]

#: Names of all settings that ``serve_plan`` takes beside those in its signature.
SERVE_PLAN_SETTINGS: tuple[str, ...] = tuple(_native.serve_plan_settings())


class ServePlanSettings(TypedDict, total=False):
    """Settings of a search for a fleet: ``SERVE_PLAN_SETTINGS``, the flags of `flopcast serve-plan`."""

    engine: Names
    tp: Numbers
    dp: Numbers
    ep: Numbers
    pp: Numbers
    precision: Names
    pools: str
    chips: int
    batch_tokens: Numbers
    max_requests: Numbers
    router: str
    slo: str
    price: float
    front: bool
    best: int
    users: int
    rate: float
    trace: PathLike
    rate_scale: float
    max_rate: bool
    max_users: bool
    input: int
    output: int
    spread: float
    requests: int
    warm_up: int
    burstiness: float
    shared_prefix: float
    sessions: int
    seed: int


class ServePlan(FleetsDocumentFields):
    """What a search for a fleet found. ``print`` shows the tables of `flopcast serve-plan`."""

    def __init__(self, line: str) -> None:
        super().__init__(Lines(line, _native.serve_plan_json, _native.serve_plan_text, _native.serve_plan_html))
        self._line = line

    @property
    def chips(self) -> int:
        """Of the best fleet."""
        return self.best[0].chips

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, a row for each of the fleets found."""
        return data_frame(_native.serve_plans_csv(self._line))

    def to_json(self) -> str:
        """The document of `flopcast serve-plan --json`: the same bytes however the search was run."""
        return self._native.json()

    def __repr__(self) -> str:
        return shown(f"<flopcast.ServePlan {self.asked.model} on {self.asked.cluster}: {self.best[0].words}>")


class ServePlans(ComparedFleetsFields):
    """The same search on several clusters. ``print`` shows them side by side, then the winner."""

    def __init__(self, lines: str) -> None:
        super().__init__(Lines(lines, _native.serve_plans_json, _native.serve_plans_text, _native.serve_plans_html))
        self._lines = lines
        #: a ``ServePlan`` for each cluster, in the order asked
        self.plans: list[ServePlan] = [ServePlan(line) for line in lines.splitlines(keepends=True)]

    @property
    def fewest_chips(self) -> ServePlan:
        """The plan whose best fleet has the fewest chips."""
        return self.plans[int(self._fields["fewest_chips"])]

    @property
    def cheapest(self) -> ServePlan | None:
        """The plan whose best fleet costs least; None without a price of each cluster."""
        place = self._fields["cheapest"]
        return None if place is None else self.plans[int(place)]

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``, a row for each fleet found on any cluster."""
        return data_frame(_native.serve_plans_csv(self._lines))

    def to_json(self) -> str:
        """The document of `flopcast serve-plan --json` with several ``--on``."""
        return self._native.json()

    def __repr__(self) -> str:
        return f"<flopcast.ServePlans of {len(self.plans)} clusters>"


def _setting_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, os.PathLike)):
        return str(os.fspath(value))
    if isinstance(value, Iterable):
        return ",".join(map(str, value))
    return str(value)


def _search(task: tuple[str, str, list[tuple[str, str]], int, int, int]) -> str:
    """One shard as a JSON line; called in the executor's processes."""
    model, cluster, settings, threads, shard, shards = task
    return _native.serve_plan_search(model, cluster, settings, threads=threads, shard=shard, shards=shards)


def serve_plan(
    model: PathLike,
    cluster: PathLike,
    *,
    fit: Fits = (),
    executor: Executor | None = None,
    shards: int = 0,
    threads: int = 0,
    **settings: Unpack[ServePlanSettings],
) -> ServePlan:
    """The fewest chips of a cluster that serve a load under limits. Exact: fleets of fewer chips miss them.

    Args:
        model, cluster: as for ``plan``.
        fit: files of `flopcast calibrate network` or `kernels`, or of an engine's constants, one or several: what was
            measured on this cluster comes before the catalogue's.
        executor: any ``concurrent.futures`` executor: the search is cut into parts that run on it.
        shards: how many parts; 0, the default: eight with an executor, else one.
        threads: of each part; 0, the default: every core without an executor, else one.
        settings: ``SERVE_PLAN_SETTINGS`` names them: the load (``rate``, ``users`` or ``trace``; ``input``,
            ``output``), the limits (``slo="ttft.p99<1s,tpot.p99<50ms"``), what is searched
            (``engine=["vllm", "sglang"]``, ``tp=[1, 2, 4]``, ``precision="fp8"``, ``pools="both"``), ``front=True``
            for every fleet that none surpasses in cost, TTFT and TPOT. Without a load: the fleets of all chips that
            hold the largest rate (``max_users``: most users) within the limits.

    The result does not depend on executor, shards and threads.

    Raises:
        FlopcastError: no fleet meets the limits (``code`` is ``NO_ANSWER``; the text names the nearest), nothing
            fits into memory (``DOES_NOT_FIT``), or the question makes no sense.
    """
    lines = _searched(model, with_fits(cluster, fit), executor, shards, threads, settings)
    found = ServePlan(lines)
    if not found.best:
        _native.refuse_serve_plan(lines)
    return found


def serve_plans(
    model: PathLike,
    clusters: Iterable[PathLike],
    *,
    fit: Fits = (),
    prices: Iterable[float] | None = None,
    executor: Executor | None = None,
    shards: int = 0,
    threads: int = 0,
    **settings: Unpack[ServePlanSettings],
) -> ServePlans:
    """``serve_plan`` on each of several clusters, and which of them is cheapest.

    Args:
        model, fit, executor, shards, threads, settings: as for ``serve_plan``.
        clusters: each as for ``serve_plan``; ``fit`` is of all of them, of one it is written behind its name:
            ``"8 x a100, fit a100.toml"``.
        prices: USD an hour of one chip, for each cluster in order; without them ``price`` holds for all.

    Raises:
        FlopcastError: as ``serve_plan``, where no fleet of any cluster meets the limits.
        ValueError: not as many prices as clusters.
    """
    names = list(clusters)
    costs = [None] * len(names) if prices is None else list(prices)
    if len(costs) != len(names):
        raise ValueError(f"{len(costs)} prices for {len(names)} clusters: give one for each, in order")
    lines = ""
    for cluster, cost in zip(names, costs):
        own: dict[str, Any] = {**settings, **({} if cost is None else {"price": cost})}
        lines += _searched(model, with_fits(cluster, fit), executor, shards, threads, own)
    found = ServePlans(lines)
    if not any(plan.best for plan in found.plans):
        _native.refuse_serve_plan(lines)
    return found


def _searched(
    model: PathLike, cluster: PathLike, executor: Executor | None, shards: int, threads: int, settings: Any
) -> str:
    """One search as a JSON line, whatever it found."""
    texts = [(name, _setting_text(value)) for name, value in settings.items()]
    count = shards or (8 if executor else 1)
    each = threads or (1 if executor else 0)
    tasks = [(os.fspath(model), os.fspath(cluster), texts, each, i, count) for i in range(count)]
    lines: Iterable[str] = map(_search, tasks) if executor is None else executor.map(_search, tasks)
    return _native.merge_serve_plans("".join(lines))
