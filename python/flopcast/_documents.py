"""What answers have in common: a JSON document, tables, a data frame, a page."""

from __future__ import annotations

import html
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar, overload

from . import _native
from ._files import PathLike, write_whole

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


def notebook_html(text: str) -> str:
    """Tables as a notebook shows them. Names in them come from files: nothing of them is markup."""
    return f'<pre style="white-space: pre; overflow-x: auto">{html.escape(text)}</pre>'


def shown(text: str, keep: str = "") -> str:
    """A text that may hold names of files, as a terminal may have it: control characters as Python escapes them.

    keep: those that stay, such as line ends of a table
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def write_page(path: PathLike, page: str) -> None:
    """A page as a whole file or none, the day in its foot."""
    write_whole(path, _native.dated_page(page))


class Native(Protocol):
    """An answer of the native module."""

    def json(self) -> str: ...
    def text(self) -> str: ...
    def html(self) -> str: ...


class Lines:
    """JSON lines of a search, as what answers are made of: each function makes a document, a text or a page of them."""

    def __init__(
        self, lines: str, json: Callable[[str], str], text: Callable[[str], str], html: Callable[[str], str]
    ) -> None:
        self.lines = lines
        self._json, self._text, self._html = json, text, html

    def json(self) -> str:
        return self._json(self.lines)

    def text(self) -> str:
        return self._text(self.lines)

    def html(self) -> str:
        return self._html(self.lines)


class Document:
    """One answer and its JSON, which is parsed when it is first asked for."""

    def __init__(self, native: Native) -> None:
        self._native: Native = native

    @cached_property
    def _fields(self) -> dict[str, Any]:
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Everything, with the fields of docs/reference/json.md. Seconds, bytes, fractions."""
        fields: dict[str, Any] = json.loads(self._native.json())
        return fields

    def html(self, path: PathLike) -> None:
        """Writes one self-contained page. Raises OSError if the file cannot be written."""
        write_page(path, self._native.html())

    def __str__(self) -> str:
        return shown(self._native.text(), keep="\n\t")

    def _repr_html_(self) -> str:
        return notebook_html(str(self))


class Part(dict[str, Any]):
    """A part of an answer: its JSON, whose fields are attributes as well."""

    def __repr__(self) -> str:
        plain = [f"{name}={value!r}" for name, value in self.items() if not isinstance(value, (dict, list))]
        return shown(f"<{type(self).__name__} {', '.join(plain[:4])}{', ...' if len(self) > 4 else ''}>")


def list_of(make: Callable[[Any], T]) -> Callable[[Any], list[T]]:
    return lambda values: [make(value) for value in values]


def map_of(make: Callable[[Any], T]) -> Callable[[Any], dict[str, T]]:
    return lambda values: {name: make(value) for name, value in values.items()}


class Field(Generic[T]):
    """A read-only attribute that is a field of an answer's JSON; no attribute where that is absent.

    Args:
        doc: what it is.
        make: makes its value from the JSON's, where that is not the same.
        name: in the JSON, where Python cannot call it so.
    """

    def __init__(self, doc: str, make: Callable[[Any], Any] | None = None, *, name: str = "") -> None:
        self.__doc__ = doc
        self._make = make
        self._name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = self._name or name

    @overload
    def __get__(self, answer: None, owner: type) -> Self: ...
    @overload
    def __get__(self, answer: Document | Part, owner: type) -> T: ...
    def __get__(self, answer: Document | Part | None, owner: type) -> Self | T:
        if answer is None:
            return self
        fields = answer if isinstance(answer, Part) else answer._fields
        if self._name not in fields:
            raise AttributeError(f"this answer has no {self._name}")
        value: Any = fields[self._name]
        made: T = value if value is None or self._make is None else self._make(value)
        return made

    def __set__(self, answer: Document | Part, value: NoReturn) -> NoReturn:
        raise AttributeError(f"{self._name} is read-only")


class Points(Generic[T]):
    """Answers at every point of a sweep, in its order: a sequence."""

    def __init__(self, lines: str, points: list[T]) -> None:
        self._lines = lines
        self._points = points

    def __len__(self) -> int:
        return len(self._points)

    def __getitem__(self, index: int) -> T:
        return self._points[index]

    def __iter__(self) -> Iterator[T]:
        return iter(self._points)

    def to_json(self) -> str:
        """The JSON lines that the command line prints with `--json`."""
        return self._lines


def pandas_module() -> Any:
    """Pandas. Raises ImportError that says what to do where there is none."""
    try:
        import pandas
    except ImportError as missing:
        raise ImportError("a data frame needs pandas: pip install pandas") from missing
    return pandas


def data_frame(csv: str) -> Any:
    """A ``pandas.DataFrame`` of the command line's `--csv`. Raises ImportError where there is no pandas."""
    return pandas_module().read_csv(io.StringIO(csv))


def sweep_texts(sweeps: Mapping[str, Iterable[Any]] | Iterable[str]) -> list[str]:
    """Sweeps as `--sweep` takes them."""
    if isinstance(sweeps, Mapping):
        return [f"{name}={','.join(str(value) for value in values)}" for name, values in sweeps.items()]
    return list(sweeps)
