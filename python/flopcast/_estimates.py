"""Training steps: the Python face of `flopcast estimate`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from . import _native
from ._documents import data_frame, pandas_module, shown
from ._errors import ErrorCode, FlopcastError
from ._files import PathLike, plain
from ._machines import Fits, with_fits
from .answers import EstimateFields

if TYPE_CHECKING:
    from typing_extensions import TypeAlias, Unpack

#: Names of a plan's settings, as ``TrainingModel.estimate`` takes them.
PLAN_SETTINGS: tuple[str, ...] = tuple(_native.plan_settings())


#: For each launcher, the plan as it takes it, and what it cannot run of it.
_WrittenPlans: TypeAlias = dict[str, tuple[str, list[str]]]


class _WrittenEstimate:
    """An estimate that came from another process: what it had to say, already in words."""

    def __init__(self, texts: dict[str, str], plans: _WrittenPlans) -> None:
        self._texts = texts
        self._plans = plans

    def json(self) -> str:
        return self._texts["json"]

    def text(self) -> str:
        return self._texts["text"]

    def html(self) -> str:
        return self._texts["html"]

    def csv(self) -> str:
        return self._texts["csv"]

    def problem(self) -> str:
        return self._texts["problem"]

    def plan_as(self, format: str) -> str:
        if format not in self._plans:
            hint = "one of " + ", ".join(self._plans)
            raise FlopcastError(ErrorCode.USAGE, "format", f"unknown name '{format}'", hint)
        return self._plans[format][0]

    def plan_lacks(self, format: str) -> list[str]:
        return self._plans[format][1] if format in self._plans else []


def _unpickled(texts: dict[str, str], plans: _WrittenPlans) -> Estimate:
    return Estimate(_WrittenEstimate(texts, plans))


class Estimate(EstimateFields):
    """How long one step of a plan takes, and what it keeps in memory.

    ``print`` shows the tables of `flopcast estimate`. It can be pickled: what is unpickled elsewhere
    says the same, without the files it was made from.
    """

    _native: _native.Estimate | _WrittenEstimate

    @property
    def problem(self) -> str:
        """Which stage and class of memory is too big, and the nearest plan that fits; empty if none."""
        return self._native.problem()

    @property
    def memory_bytes(self) -> dict[str, float]:
        """Of one chip of the fullest stage, by class, and ``"total"``."""
        return self.stages[int(self._fields["fullest"])].memory_bytes

    def plan_as(self, format: str) -> str:
        """The plan as ``"megatron"`` flags, ``"torchtitan"`` TOML or ``"deepspeed"`` JSON.

        Warns of what the launcher cannot run: then the text is another plan.

        Raises:
            FlopcastError: no such format.
        """
        text = self._native.plan_as(format)
        for lost in self._native.plan_lacks(format):
            warnings.warn(f"{format} cannot run {lost}", stacklevel=2)
        return text

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` of one row, with the columns of `flopcast estimate --csv`.

        ``pandas.concat([e.to_pandas() for e in estimates], ignore_index=True)`` is a sweep.
        """
        return data_frame(self._native.csv())

    def stages_to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per pipeline stage; memory in columns ``weights_bytes`` ... ``total_bytes``."""
        pandas = pandas_module()
        rows = []
        for stage in self.stages:
            row = dict(stage)
            memory = row.pop("memory_bytes")
            row.update({f"{name}_bytes": size for name, size in memory.items()})
            rows.append(row)
        return pandas.DataFrame(rows)

    def __reduce__(self) -> tuple[Callable[..., Estimate], tuple[dict[str, str], _WrittenPlans]]:
        native = self._native
        texts = {
            "json": native.json(),
            "text": native.text(),
            "html": native.html(),
            "csv": native.csv(),
            "problem": native.problem(),
        }
        plans = {name: (native.plan_as(name), native.plan_lacks(name)) for name in _native.plan_formats()}
        return _unpickled, (texts, plans)

    def __repr__(self) -> str:
        fields = self._fields
        fits = "fits" if self.fits else "does not fit"
        return shown(
            f"<flopcast.Estimate {fields['model']} on {fields['cluster']}: {fields['words']}: "
            f"{self.time_s:.4g} s a step, MFU {self.mfu:.1%}, {fits}>"
        )


class PlanSettings(TypedDict, total=False):
    """Settings of a plan: ``PLAN_SETTINGS``, the flags of `flopcast estimate`. None: not given."""

    global_batch: int | str | None
    seq: int | str | None
    tp: int | str | None
    pp: int | str | None
    cp: int | str | None
    dp: int | str | None
    ep: int | str | None
    etp: int | str | None
    vpp: int | str | None
    micro_batch: int | str | None
    schedule: str | None
    layout: str | None
    recompute: str | None
    recompute_modules: str | Iterable[str] | None
    recompute_layers: int | str | None
    zero: int | str | None
    shard: int | str | None
    sequence_parallel: bool | str | None
    tp2: int | str | None
    panels: int | str | None
    tensor: str | None
    context: str | None
    precision: str | None
    optimizer: str | None
    fp32_gradients: bool | str | None
    gradient_type: str | None
    split_master: bool | str | None
    moment_bytes: int | str | None
    offload: int | str | None
    fp8_gather: bool | str | None
    overlap: str | Iterable[str] | None
    dispatcher: str | None
    cuda_graph: bool | str | None
    lora_rank: int | str | None
    lora_mlp: bool | str | None
    mtp_layers: int | str | None
    flash_attention: bool | str | None
    reshard: bool | str | None


def setting_texts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings that are given, as flags take them."""
    return {name: _setting_text(value) for name, value in settings.items() if value is not None}


def _setting_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set)):
        return ",".join(str(one) for one in value)
    return str(value)


class TrainingOptions(TypedDict, total=False):
    """What ``TrainingModel`` takes besides model and cluster."""

    software: str
    fit: Fits
    usd_per_chip_hour: float
    memory_share: float
    fit_odds: float


class RunOptions(TypedDict, total=False):
    """What is asked of the whole run: the flags of `flopcast estimate`. Numbers, or texts as flags take them."""

    tokens: float | str
    steps: float | str
    chip_mtbf: str
    checkpoint_time: str
    restart_time: str
    co2: float
    pue: float


def run_settings(options: Mapping[str, Any]) -> _native.RunSettings:
    """Of ``RunOptions`` that are given."""
    numbers = ("co2", "pue")
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    given |= {name: _count_text(value) for name, value in given.items() if name not in numbers}
    return _native.RunSettings(**given)


def _count_text(value: Any) -> str:
    return f"{value:.17g}" if isinstance(value, float) else str(value)


class TrainingModel:
    """Forecasts of one model on one cluster.

    Args:
        model: a built-in model, a Hugging Face ``config.json``, or the folder that holds one.
        cluster: what ``flopcast.Cluster`` takes: ``"128 x dgx-h100"``.
        software: a profile of how the training's software behaves; if not given, the first of
            ``training_software()``.
        fit: files of `flopcast calibrate network` or `kernels`, or of constants, one or several: what was measured on
            this machine comes before the catalogue's.
        usd_per_chip_hour: if not given, no cost.
        memory_share: of a chip's memory that a plan may use, 0 to 1; 1 if not given.
        fit_odds: how likely a plan has to fit into that, 0 to 1; 0.9 if not given.

    Raises:
        FlopcastError: no such model or cluster; says where and how to mend it.
    """

    def __init__(self, model: PathLike, cluster: PathLike, **options: Unpack[TrainingOptions]) -> None:
        self.model: str = os.fspath(model)
        self.cluster: str = with_fits(cluster, options.pop("fit", ()))
        self._native = _native.TrainingModel(self.model, self.cluster, **plain(options))
        self.software: str = self._native.software()
        self.chips: int = self._native.chips()

    def estimate(
        self, *, plan_from: PathLike = "", run: RunOptions | None = None, **plan: Unpack[PlanSettings]
    ) -> Estimate:
        """One step of a plan. A plan that does not fit is estimated all the same.

        Args:
            plan_from: the file that a training is launched with, to start from.
            run: asks for the whole run, too: ``{"tokens": 15e12, "chip_mtbf": "50000h",
                "checkpoint_time": "30s"}`` (``RunOptions``).
            **plan: settings by the names of ``PLAN_SETTINGS``, the flags of `flopcast estimate`:
                ``tp=8, pp=4, global_batch=1024, seq=8192, recompute="full"``. ``dp`` takes what
                the other degrees leave. None counts as not given.

        Raises:
            FlopcastError: an unknown setting, or every reason why the model cannot run so.
        """
        asked = run_settings(run or {})
        return Estimate(self._native.estimate(setting_texts(plan), plan_from=os.fspath(plan_from), run=asked))

    def __repr__(self) -> str:
        return shown(f"<flopcast.TrainingModel {self.model!r} on {self.cluster!r}: {self.software}>")


def estimate(
    model: PathLike,
    cluster: PathLike,
    *,
    plan_from: PathLike = "",
    run: RunOptions | None = None,
    **plan: Unpack[PlanSettings],
) -> Estimate:
    """One step of a plan: ``TrainingModel(model, cluster).estimate(**plan)``."""
    return TrainingModel(model, cluster).estimate(plan_from=plan_from, run=run, **plan)


def training_software() -> list[str]:
    """Profiles of how training software behaves, the default first."""
    return _native.training_software()
