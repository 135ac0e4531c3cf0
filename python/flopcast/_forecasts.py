"""Clusters, collectives, flows and kernels: the Python face of `flopcast net` and `flopcast cost`."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

from . import _native
from ._documents import shown
from ._files import PathLike
from ._machines import Fits, with_fits
from .answers import Collective, Traffic


class Cluster:
    """A described machine.

    Args:
        description: what `--on` takes: ``"64 x dgx-h100"``, ``"8 nodes of dgx-h100, rail NDR"``, a
            name of the catalogue, or a file.
        fit: files of `flopcast calibrate`, one or several: what was measured on this machine comes before the
            catalogue's.

    Raises:
        FlopcastError: the description is wrong; says where and how to mend it.
    """

    def __init__(self, description: PathLike, *, fit: Fits = ()) -> None:
        self._native = _native.Cluster(with_fits(description, fit))
        self.name: str = self._native.name()
        self.chip: str = self._native.chip()  #: name of the chip
        self.chips: int = self._native.chips()
        self.nodes: int = self._native.nodes()

    def collective_time(
        self,
        op: str,
        size: str | float,
        *,
        ranks: Iterable[int] = (),
        algorithm: str = "auto",
        protocol: str = "auto",
        source: str = "best",
    ) -> Collective:
        """How long a collective takes when it has the network to itself.

        Args:
            op: ``"all_reduce"``, ``"all_gather"``, ...
            size: bytes as nccl-tests count them: a number, or text such as ``"1GB"``.
            ranks: chips that take part; none named: all.
            algorithm, protocol, source: as the options of `flopcast net time`.

        Returns:
            What `flopcast net time --json` prints: its fields as attributes, and by name.
        """
        given = _native.bytes_of(size) if isinstance(size, str) else float(size)
        answer = self._native.collective_time(
            op, given, ranks=list(ranks), algorithm=algorithm, protocol=protocol, source=source
        )
        return Collective(json.loads(answer))

    def run_flows(self, csv: str, *, ecmp: bool = False) -> Traffic:
        """Simulates flows and collectives that share the network.

        Args:
            csv: the text of a flow file (`flopcast net run --help` names the columns).
            ecmp: hash flows over equal paths instead of routing by destination.

        Returns:
            What `flopcast net run --json` prints: its fields as attributes, and by name.
        """
        return Traffic(json.loads(self._native.run_flows(csv, ecmp=ecmp)))

    def __repr__(self) -> str:
        return shown(f"<flopcast.Cluster {self.name!r}: {self.chips} x {self.chip}>")


@dataclasses.dataclass(frozen=True)
class KernelTime:
    """How long one kernel takes. All times in seconds."""

    time_s: float
    low_s: float  #: 10 % of measured kernels like it are faster than this
    high_s: float  #: 10 % are slower than this
    roofline_s: float  #: no kernel can be faster than this
    basis: str  #: measured, table, fitted, roofline or assumed
    source: str  #: in words


class KernelModel:
    """Kernel times on one chip, such as ``"h200"``. Dimensions are elements. ``fit``: files of `flopcast calibrate
    kernels`, one or several, that come before the catalogue's.

    Raises:
        FlopcastError: no chip of the catalogue has that name.
    """

    def __init__(self, chip: str, *, fit: Fits = ()) -> None:
        self._native = _native.KernelModel(with_fits(chip, fit))

    def gemm(self, m: int, n: int, k: int, type: str = "bf16", *, batch: int = 1) -> KernelTime:
        """C[m, n] = A[m, k] B[k, n], ``batch`` times."""
        return KernelTime(*self._native.gemm(m=m, n=n, k=k, batch=batch, type=type))

    def attention(
        self,
        *,
        batch: int,
        query_length: int,
        kv_length: int,
        heads: int,
        kv_heads: int,
        head_dim: int = 128,
        window: int = 0,
        causal: bool = True,
        backward: bool = False,
        type: str = "bf16",
        kv_cache: str = "bf16",
    ) -> KernelTime:
        """Flash attention; decode where ``query_length`` is 1. ``window`` 0: none."""
        return KernelTime(
            *self._native.attention(
                batch=batch, query_length=query_length, kv_length=kv_length, heads=heads, kv_heads=kv_heads,
                head_dim=head_dim, window=window, causal=causal, backward=backward, type=type, kv_cache=kv_cache,
            )
        )  # fmt: skip

    def moe(
        self,
        *,
        tokens: int,
        hidden: int,
        intermediate: int,
        top_k: int,
        experts: int,
        tensor_parallel: int = 1,
        expert_parallel: int = 1,
        type: str = "bf16",
        skew: float = 0.0,
    ) -> KernelTime:
        """The expert GEMMs of one chip. ``skew``: exponent of the expert loads, 0 is balanced."""
        return KernelTime(
            *self._native.moe(
                tokens=tokens, hidden=hidden, intermediate=intermediate, top_k=top_k, experts=experts,
                tensor_parallel=tensor_parallel, expert_parallel=expert_parallel, type=type, skew=skew,
            )
        )  # fmt: skip

    def memory(
        self, op: str, rows: int, columns: int, *, type: str = "bf16", backward: bool = False
    ) -> KernelTime:
        """A memory-bound operator: ``"layer_norm"``, ``"softmax"``, ``"add"``, ..."""
        return KernelTime(*self._native.memory(op=op, rows=rows, columns=columns, type=type, backward=backward))
