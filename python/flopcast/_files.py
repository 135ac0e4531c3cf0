"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile


def write_whole(path: str, text: str) -> None:
    """A whole file or none."""
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
