"""What-ifs: a recording, changed and run again."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from . import _native
from ._files import PathLike
from ._machines import Fits, with_fits
from .answers import WhatIfFields

if TYPE_CHECKING:
    from . import TraceSet

#: What is asked, as the native module takes it.
_NOTHING: Mapping[str, Any] = MappingProxyType(
    {
        "set": [],
        "scale": [],
        "remove": [],
        "add": [],
        "kernels_from": "",
        "chip": "",
        "on": "",
        "scale_only": False,
        "steps": [],
    }
)


@dataclasses.dataclass(frozen=True)
class PartWorth:
    """What a part of a run is worth. Times of the GPU step, in seconds."""

    part: str  #: "kernel:gemm", "collective:all_reduce", "network", "host", "rank:3"
    work_s: float  #: of it in a step, summed over ranks
    less_s: float | None  #: the step with 10 % less of it; None if that run cannot finish
    limit_s: float | None  #: the step if it cost nothing


class WhatIfAnswer(WhatIfFields):
    """What becomes of the run. Made by ``WhatIf.run``; ``print`` shows the tables of `flopcast whatif`.

    Where the recording lacks evidence, ``refused`` says which, and there are no times.
    """

    _native: _native.WhatIfAnswer

    @property
    def band_s(self) -> tuple[float, float]:
        """The 10 % and the 90 % point of ``after_s``."""
        band = self._fields["band"]
        return float(band["low_s"]), float(band["high_s"])

    @property
    def parts_s(self) -> dict[str, tuple[float, float]]:
        """Where the time of the GPU step goes, before and after: both add up to it."""
        return {part["part"]: (part["before_s"], part["after_s"]) for part in self._fields["parts"]}

    def __repr__(self) -> str:
        if self.refused:
            return f"<flopcast.WhatIfAnswer: refused, {len(self.refused)} reason(s)>"
        return f"<flopcast.WhatIfAnswer: GPU step {self.before_s:.6g} s -> {self.after_s:.6g} s>"


class WhatIf:
    """A recording to which questions are put; it is read, and made a graph, once.

        run = flopcast.WhatIf("demo/sample")
        print(run.scale("gemm", 0.8).remove("straggler").run())
        run.set(dp=64).on("8 x dgx-h100").run().after_s

    Every change gives a new question on the same recording and leaves this one as it is.

    Args:
        recording: what ``flopcast.read`` takes, or has given.
        prefix: of a folder that holds several runs, as of ``flopcast.read``.
        threads: 0 means every core. Answers do not depend on it.
        model: that ran, by name or ``config.json``: for memory and MFU. No time depends on it.
        tokens_per_step: of a recorded step, all ranks, where shapes do not tell.
        sequence: tokens of a recorded sequence, where shapes do not tell.
        price: of an hour of one GPU, in USD.

    Raises:
        FlopcastError: nothing could be read, or nothing in it could be run; there is no such model.
    """

    def __init__(
        self,
        recording: PathLike | list[PathLike] | TraceSet,
        *,
        prefix: str = "",
        threads: int = 0,
        model: PathLike = "",
        tokens_per_step: float | None = None,
        sequence: int | None = None,
        price: float = 0.0,
    ) -> None:
        from . import TraceSet, read

        traces = recording if isinstance(recording, TraceSet) else read(recording, prefix=prefix, threads=threads)
        self._native = _native.what_if(
            traces._native,
            threads=threads,
            model=os.fspath(model),
            tokens_per_step=tokens_per_step,
            sequence=sequence,
            price=price,
        )
        self._asked: dict[str, Any] = dict(_NOTHING)

    @property
    def damage(self) -> list[str]:
        """Why nothing can be forecast from the recording; empty if it can."""
        return self._native.damage()

    def _with(self, **asked: Any) -> WhatIf:
        other = object.__new__(WhatIf)
        other._native = self._native
        other._asked = {**self._asked, **asked}
        return other

    def set(self, *, scale_only: bool = False, **knobs: int | float | str) -> WhatIf:
        """Another size of the run: ``dp``, ``pp``, ``tp``, ``cp``, ``ep``, ``microbatches``,
        ``microbatch_size``, ``schedule``, ``chunks``, ``layers``, ``hidden``, ``ffn``, ``heads``,
        ``sequence``, ``tokens`` (a factor).

        Args:
            scale_only: of ``dp`` only the collectives are replaced, nothing else changes.
        """
        pairs = [(name, str(value)) for name, value in knobs.items()]
        return self._with(set=self._asked["set"] + pairs, scale_only=scale_only or self._asked["scale_only"])

    def scale(self, what: str, factor: float | str) -> WhatIf:
        """So many times as long, or in words (``"2x faster"``): ``"gemm"``, ``"kernel:/regex/"``,
        ``"collective:all_reduce"``, ``"network"``, ``"host"``, ``"rank:3"``."""
        said = _native.time_factor(factor) if isinstance(factor, str) else (float(factor), "")
        return self._with(scale=[*self._asked["scale"], (what, *said)])

    def remove(self, *what: str) -> WhatIf:
        """Without ``"profiler"``, ``"straggler"`` (``"straggler:2"``), ``"data-loading"``, ``"host"``,
        ``"launches"``, ``"overlap"``, ``"recompute"``."""
        return self._with(remove=[*self._asked["remove"], *what])

    def add(self, *what: str) -> WhatIf:
        """With ``"overlap"``, ``"recompute"`` (``"recompute:4"``), ``"fuse:REGEX"``."""
        return self._with(add=[*self._asked["add"], *what])

    def kernels_from(self, recording: PathLike) -> WhatIf:
        """Kernels as long as their equals in this other recording."""
        return self._with(kernels_from=os.fspath(recording))

    def chip(self, name: str) -> WhatIf:
        """Kernels on this chip of the catalogue."""
        return self._with(chip=name)

    def on(self, cluster: str, *, fit: Fits = ()) -> WhatIf:
        """Collectives on this cluster, such as ``"64 x dgx-h100"``. ``fit``: files of `flopcast calibrate network`."""
        return self._with(on=with_fits(cluster, fit))

    def steps(self, *names: int | str) -> WhatIf:
        """Judges these steps alone, such as ``12`` or ``"ProfilerStep#12"``."""
        return self._with(steps=[*self._asked["steps"], *(str(name) for name in names)])

    def run(self) -> WhatIfAnswer:
        """The answer.

        Raises:
            FlopcastError: a change that does not exist or is written wrongly. What the recording
                gives no evidence for is in ``WhatIfAnswer.refused``.
        """
        return WhatIfAnswer(self._native.ask(**self._asked))

    def sensitivity(self) -> list[PartWorth]:
        """Every part of the recorded run with 10 % less of it, and with none; most gain first."""
        return [PartWorth(*row) for row in self._native.sensitivity()]

    def __repr__(self) -> str:
        return f"<flopcast.WhatIf {self._native.label()!r}>"
