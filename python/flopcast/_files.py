"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Mapping
from typing import Any, Union

PathLike = Union[str, "os.PathLike[str]"]


def plain(options: Mapping[str, object]) -> dict[str, Any]:
    """The same with paths as text, as the native module takes them."""
    return {name: os.fspath(value) if isinstance(value, os.PathLike) else value for name, value in options.items()}


def _mode_of(path: str) -> int:
    """Of the file that is there, or of a new one."""
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        umask = os.umask(0)
        os.umask(umask)
        return 0o666 & ~umask
    if not mode & 0o222 or not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "is there and read-only", path)
    return mode


def write_whole(path: PathLike, text: str) -> None:
    """A whole file or none, with the mode of the one it replaces; one that is read-only stays as it is."""
    path = os.path.realpath(path)
    mode = _mode_of(path)
    folder = os.path.dirname(path) or "."
    handle, scratch = tempfile.mkstemp(prefix=".flopcast-", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(scratch, mode)
        os.replace(scratch, path)
    except BaseException:
        os.unlink(scratch)
        raise
