"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import Any, Union

PathLike = Union[str, "os.PathLike[str]"]


def plain(options: Mapping[str, object]) -> dict[str, Any]:
    """The same with paths as text, as the native module takes them."""
    return {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in options.items()}


def write_whole(path: PathLike, text: str) -> None:
    """A whole file or none."""
    path = os.fspath(path)
    folder = os.path.dirname(path) or "."
    handle, scratch = tempfile.mkstemp(prefix=".flopcast-", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(scratch, 0o666 & ~umask)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise
