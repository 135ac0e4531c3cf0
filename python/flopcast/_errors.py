"""What goes wrong, as one exception."""

from __future__ import annotations

import enum


class ErrorCode(enum.IntEnum):
    """The same numbers are the exit codes of the command line."""

    USAGE = 2  #: the caller asked for something that does not exist
    BAD_INPUT = 3  #: a file cannot be read or does not hold what it should
    TOO_LARGE = 4  #: does not fit in memory
    NO_ANSWER = 5  #: no result within the limit, or none exists (a deadlock)


class FlopcastError(Exception):
    """One problem: where it is, what was expected and found, what to do about it.

    Attributes:
        code: an ``ErrorCode``; ``sys.exit(error.code)`` gives the command line's exit code.
        where: file, and byte offset or row where known.
        what: what was expected and what was found.
        hint: what to do; may be empty.
    """

    def __init__(self, code: int, where: str, what: str, hint: str = "") -> None:
        super().__init__(code, where, what, hint)
        self.code = ErrorCode(code)
        self.where = where
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{place}{self.what}" + (f" ({self.hint})" if self.hint else "")
