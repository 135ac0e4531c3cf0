"""Inference fleets: the Python face of `flopcast serve`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from . import _native
from ._documents import data_frame, pandas_module, shown
from ._files import PathLike, write_whole
from ._machines import Fits, with_fits
from .answers import ServingFields

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Names of a question's settings, as ``serve`` takes them.
SERVE_SETTINGS: tuple[str, ...] = tuple(_native.serve_settings())

#: Columns of a summary that are percentiles, in seconds.
_PERCENTILES = ("ttft_s", "tpot_s", "inter_token_s", "latency_s")


def _flat(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A summary with a column for each percentile: ``ttft_p99_s``."""
    row: dict[str, Any] = {}
    for name, value in fields.items():
        if name in _PERCENTILES:
            for point in ("mean", "p50", "p90", "p95", "p99"):
                row[f"{name[:-2]}_{point}_s"] = value[point]
        else:
            row[name] = value
    return row


def _frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    pandas = pandas_module()
    return pandas.DataFrame([_flat(row) for row in rows])


class Serving(ServingFields):
    """What the clients of a fleet see. Made by ``serve``; ``print`` shows the tables of `flopcast serve`."""

    _native: _native.Serving

    def parts_s(self, pool: int = 0, *, prompts: bool = False) -> dict[str, float]:
        """Where the time of an iteration at the operating point goes.

        Args:
            pool: 0; 1 is the pool that makes answers where prompts are computed elsewhere.
            prompts: of an iteration that computes prompts too.
        """
        iteration = self._fields["pools"][pool]["prompt_iteration" if prompts else "iteration"]
        return {part["name"]: part["time_s"] for part in iteration["parts"]} if iteration else {}

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` of one row, with the columns of `flopcast serve --csv`.

        ``pandas.concat([s.to_pandas() for s in answers], ignore_index=True)`` is a sweep.
        """
        return data_frame(self._native.csv())

    def requests_to_pandas(self) -> Any:
        """A row for each request: sent, scheduled, first token, done, in seconds; NaN: never."""
        return data_frame(self._native.requests_csv())

    def windows_to_pandas(self) -> Any:
        """A row for each window of the run: percentiles of the requests that were sent in it."""
        return _frame(self._fields["windows"])

    def curve_to_pandas(self) -> Any:
        """A row for each load of the curve; empty unless ``serve`` was asked for it."""
        return _frame(self._fields["curve"])

    def next_to_pandas(self) -> Any:
        """A row for each fleet with the next chips."""
        return _frame(self._fields["next"])

    def sensitivity_to_pandas(self) -> Any:
        """A row for each number of the machine that was a tenth more or less."""
        return _frame(self._fields["sensitivity"])

    def timeline_to_pandas(self) -> Any:
        """A row for each of equal intervals: answers being made, requests waiting, prompt tokens/s, room used."""
        pandas = pandas_module()
        timeline = self._fields["timeline"]
        columns = {name: timeline[name] for name in ("decodes", "waiting", "prompt_tokens_per_s", "kv")}
        frame = pandas.DataFrame(columns)
        frame.insert(0, "at_s", [(i + 0.5) * timeline["interval_s"] for i in range(len(frame))])
        return frame

    def requests_csv(self, path: PathLike) -> None:
        """Writes a line of CSV for each request. Raises OSError if the file cannot be written."""
        write_whole(path, self._native.requests_csv())

    def __repr__(self) -> str:
        fields = self._fields
        return shown(
            f"<flopcast.Serving {fields['question']['model']} on {fields['question']['on']}: TTFT p99 "
            f"{self.ttft_s.p99:.4g} s, TPOT p99 {self.tpot_s.p99:.4g} s, {self.output_tokens_per_s:.4g} tokens/s>"
        )


class ServeSettings(TypedDict, total=False):
    """Settings of a question: ``SERVE_SETTINGS``, the flags of `flopcast serve`. None: not given."""

    engine: str | None
    tp: int | str | None
    dp: int | str | None
    ep: int | str | None
    pp: int | str | None
    precision: str | None
    kv_cache: str | None
    replicas: int | str | None
    disaggregated: str | None
    prefill_tp: int | str | None
    prefill_dp: int | str | None
    prefill_ep: int | str | None
    prefill_pp: int | str | None
    decode_tp: int | str | None
    decode_dp: int | str | None
    decode_ep: int | str | None
    decode_pp: int | str | None
    users: int | str | None
    rate: float | str | None
    trace: PathLike | None
    rate_scale: float | str | None
    input: int | str | None
    output: int | str | None
    spread: float | str | None
    requests: int | str | None
    warm_up: int | str | None
    burstiness: float | str | None
    shared_prefix: float | str | None
    sessions: int | str | None
    seed: int | str | None
    batch_tokens: int | str | None
    max_requests: int | str | None
    chunked_prefill: bool | str | None
    prefix_cache: bool | str | None
    max_length: int | str | None
    drafts: int | str | None
    accepted: float | str | None
    draft_kind: str | None
    set: Mapping[str, Any] | list[str] | str | None
    router: str | None
    autoscale: str | None
    fault: list[str] | str | None
    slo: str | None
    price: float | str | None
    point: PathLike | None


def _setting_texts(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Settings that are given, as flags take them; ``set`` may be a mapping, what repeats a list."""
    pairs: list[tuple[str, str]] = []
    for name, value in settings.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            value = [f"{key}={_text(one)}" for key, one in value.items()]
        for one in value if isinstance(value, (list, tuple)) else [value]:
            pairs.append((name, _text(one)))
    return pairs


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(str(one) for one in value)
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def serve(
    model: PathLike = "",
    cluster: str = "",
    *,
    fit: Fits = (),
    from_: PathLike = "",
    quick: bool = False,
    curve: bool = False,
    threads: int = 0,
    **settings: Unpack[ServeSettings],
) -> Serving:
    """What the clients of an inference fleet see, where its time goes, what would change that.

        answer = flopcast.serve("llama-3-70b", "2 x dgx-h100", engine="vllm", tp=4, users=64, input=1024, output=1024)
        answer.ttft_s.p99, answer.output_tokens_per_s, answer.requests_to_pandas()

    Args:
        model: a built-in model, a Hugging Face ``config.json``, or the folder that holds one.
        cluster: what ``flopcast.Cluster`` takes: ``"2 x dgx-h100"``.
        fit: files of `flopcast calibrate network`, `kernels` or `serving`, or of an engine's constants, one or several:
            what was measured on this cluster comes before the catalogue's.
        from_: a file with a question (TOML, or JSON of an answer), or what servers are started with; what is given here
            stands before it.
        quick: the answer alone, without the next chips and the sensitivity.
        curve: the same fleet under other loads too.
        threads: 0 means every core. Answers do not depend on it.
        **settings: by the names of ``SERVE_SETTINGS``, the flags of `flopcast serve`. ``set`` may be a dict.

    Raises:
        FlopcastError: what is no question; ``code`` is ``TOO_LARGE`` where the weights do not fit.
    """
    return Serving(
        _native.serve(
            os.fspath(model), with_fits(cluster, fit), _setting_texts(settings), from_=os.fspath(from_), quick=quick, curve=curve,
            threads=threads,
        )
    )  # fmt: skip
