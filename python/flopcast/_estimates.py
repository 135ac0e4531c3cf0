"""Training steps: the Python face of `flopcast estimate`."""

from __future__ import annotations

import dataclasses
import json
import os
from functools import cached_property
from typing import Any, Union

from . import _native
from ._files import write_whole

PathLike = Union[str, "os.PathLike[str]"]

#: Names of a plan's settings, as ``TrainingModel.estimate`` takes them.
PLAN_SETTINGS: tuple[str, ...] = tuple(_native.plan_settings())


@dataclasses.dataclass(frozen=True)
class StageEstimate:
    """One pipeline stage. Times in seconds, sizes in bytes, of one chip."""

    layers: int
    forward_s: float  #: of one microbatch
    backward_s: float
    busy_s: float  #: of all microbatches
    start_s: float  #: first forward, since the step began
    end_s: float  #: last backward
    in_flight: int  #: microbatches whose activations are kept at once
    memory_bytes: dict[str, float]  #: by class, and their ``"total"``


class Estimate:
    """How long one step of a plan takes, and what it keeps in memory.

    ``print`` shows the tables of `flopcast estimate`.
    """

    def __init__(self, native: Any) -> None:
        self._native = native

    @cached_property
    def _fields(self) -> dict[str, Any]:
        return json.loads(self._native.json())

    @property
    def time_s(self) -> float:
        """One step."""
        return self._fields["time_s"]

    @property
    def low_s(self) -> float:
        """10 % of measured steps like it are faster than this."""
        return self._fields["low_s"]

    @property
    def high_s(self) -> float:
        """10 % are slower than this."""
        return self._fields["high_s"]

    @property
    def tokens_per_second(self) -> float:
        """Of all chips."""
        return self._fields["tokens_per_second"]

    @property
    def mfu(self) -> float:
        """Model FLOPs over the chips' dense peak, 0 to 1."""
        return self._fields["mfu"]

    @property
    def hfu(self) -> float:
        """The same with recomputed FLOPs, 0 to 1."""
        return self._fields["hfu"]

    @property
    def fits(self) -> bool:
        """Whether the fullest stage fits into the memory that may be used."""
        return self._fields["fits"]

    @property
    def problem(self) -> str:
        """Which stage and class of memory is too big, and the nearest plan that fits; empty if none."""
        return self._native.problem()

    @property
    def memory_bytes(self) -> dict[str, float]:
        """Of one chip of the fullest stage, by class, and ``"total"``."""
        return self.stages[self._fields["fullest"]].memory_bytes

    @property
    def parts_s(self) -> dict[str, float]:
        """Where the time of the step goes; the values sum to ``time_s``."""
        return self._fields["parts_s"]

    @property
    def plan(self) -> dict[str, Any]:
        """Every field of the plan (docs/reference/json.md)."""
        return self._fields["plan"]

    @property
    def fitting(self) -> list[dict[str, Any]]:
        """Where the plan does not fit: plans that do, fastest first (``change``, ``time_s``, ...)."""
        return self._fields["fitting"]

    @property
    def assumed(self) -> list[str]:
        """In words, what nobody told and nothing measured."""
        return self._fields["assumed"]

    @cached_property
    def stages(self) -> list[StageEstimate]:
        """Pipeline stages, first to last."""
        names = [field.name for field in dataclasses.fields(StageEstimate)]
        return [StageEstimate(**{name: stage[name] for name in names}) for stage in self._fields["stages"]]

    def plan_as(self, format: str) -> str:
        """The plan as ``"megatron"`` flags, ``"torchtitan"`` TOML or ``"deepspeed"`` JSON.

        Raises:
            FlopcastError: no such format.
        """
        return self._native.plan_as(format)[0]

    def to_dict(self) -> dict[str, Any]:
        """Everything, with the fields of `flopcast estimate --json` (docs/reference/json.md)."""
        return json.loads(self._native.json())

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` of one row, with the columns of `flopcast estimate --csv`.

        ``pandas.concat([e.to_pandas() for e in estimates], ignore_index=True)`` is a sweep.
        """
        import io

        import pandas

        return pandas.read_csv(io.StringIO(self._native.csv()))

    def stages_to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with a row per pipeline stage; memory in columns ``weights_bytes`` ... ``total_bytes``."""
        import pandas

        rows = []
        for stage in self.stages:
            row = dataclasses.asdict(stage)
            memory = row.pop("memory_bytes")
            row.update({f"{name}_bytes": size for name, size in memory.items()})
            rows.append(row)
        return pandas.DataFrame(rows)

    def html(self, path: PathLike) -> None:
        """Writes one self-contained page. Raises OSError if the file cannot be written."""
        write_whole(os.fspath(path), self._native.html())

    def __str__(self) -> str:
        """The tables that `flopcast estimate` prints."""
        return self._native.text()

    def __repr__(self) -> str:
        fields = self._fields
        fits = "fits" if self.fits else "does not fit"
        return (
            f"<flopcast.Estimate {fields['model']} on {fields['cluster']}: {fields['words']}: "
            f"{self.time_s:.4g} s a step, MFU {self.mfu:.1%}, {fits}>"
        )


def _setting(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set)):
        return ",".join(str(one) for one in value)
    return str(value)


class TrainingModel:
    """Forecasts of one model on one cluster.

    Args:
        model: a built-in model, a Hugging Face ``config.json``, or the folder that holds one.
        cluster: what ``flopcast.Cluster`` takes: ``"128 x dgx-h100"``.
        software: a profile of how the training's software behaves; ``""``: the first of
            ``training_software()``.
        constants: a TOML file whose constants replace the catalogue's.
        usd_per_chip_hour: 0: no cost.
        memory_share: of a chip's memory that a plan may use, 0 to 1.

    Raises:
        FlopcastError: no such model or cluster; says where and how to mend it.
    """

    def __init__(
        self,
        model: str | PathLike,
        cluster: str | PathLike,
        software: str = "",
        constants: str | PathLike = "",
        usd_per_chip_hour: float = 0.0,
        memory_share: float = 1.0,
    ) -> None:
        self.model: str = os.fspath(model)
        self.cluster: str = os.fspath(cluster)
        self._native = _native.TrainingModel(
            self.model, self.cluster, software, os.fspath(constants), usd_per_chip_hour, memory_share
        )
        self.software: str = self._native.software()
        self.chips: int = self._native.chips()

    def estimate(self, plan_from: PathLike = "", **plan: Any) -> Estimate:
        """One step of a plan. A plan that does not fit is estimated all the same.

        Args:
            plan_from: Megatron-LM flags, a torchtitan TOML or a DeepSpeed JSON to start from.
            **plan: settings by the names of ``PLAN_SETTINGS``, the flags of `flopcast estimate`:
                ``tp=8, pp=4, global_batch=1024, seq=8192, recompute="full"``. ``dp`` takes what
                the other degrees leave. None counts as not given.

        Raises:
            FlopcastError: an unknown setting, or every reason why the model cannot run so.
        """
        settings = {name: _setting(value) for name, value in plan.items() if value is not None}
        return Estimate(self._native.estimate(settings, os.fspath(plan_from)))

    def __repr__(self) -> str:
        return f"<flopcast.TrainingModel {self.model!r} on {self.cluster!r}: {self.software}>"


def estimate(model: str | PathLike, cluster: str | PathLike, **plan: Any) -> Estimate:
    """One step of a plan: ``TrainingModel(model, cluster).estimate(**plan)``."""
    return TrainingModel(model, cluster).estimate(**plan)


def training_software() -> list[str]:
    """Profiles of how training software behaves, the default first."""
    return _native.training_software()
