"""Machines with measurements of one's own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Union

from . import _native
from ._files import PathLike

Fits = Union[PathLike, Iterable[PathLike]]  #: files of `flopcast calibrate`: one, or several


def with_fits(machine: PathLike, fit: Fits = ()) -> str:
    """The line of a machine with the fits in it, where everything else finds them."""
    files = [fit] if isinstance(fit, (str, os.PathLike)) else fit
    return _native.with_fits(os.fspath(machine), [os.fspath(file) for file in files])
