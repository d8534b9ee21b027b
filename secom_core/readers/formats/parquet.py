"""Tables and chats in Parquet, through `pyarrow`: the extra ``parquet``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, Final

from ...conversation import Session
from ...errors import InvalidTranscript, MissingExtra
from ..files import Export, File
from ..reading import Reading
from .rows import list_in, sessions_of
from .sharegpt import session_of
from .table import of_rows

_ROWS: Final = 1_000


def looks_like(file: File) -> bool:
    """The mark at its beginning."""
    return file.head.startswith(b"PAR1")


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a row where rows hold a list of messages; else as in a table of CSV.

    Raises:
        MissingExtra: `pyarrow` is not installed.
    """
    for file in files:
        rows = _rows(file, reading)
        first = next(rows, None)
        if first is None:
            continue
        rows = chain([first], rows)
        listed = list_in(first)
        if listed and _is_sharegpt(listed, first[listed]):
            yield from _sharegpt(rows, file, reading)
        elif listed:
            yield from sessions_of(rows, reading.session or file.stem, reading)
        else:
            yield from of_rows(rows, file, reading, reading.dates or "day-first")


def _is_sharegpt(name: str, messages: list[Any]) -> bool:
    """Whether messages are pieces with ``from``, as the first one shows; where there is none, their name does."""
    opening = messages[0] if messages else None
    return "from" in opening if isinstance(opening, Mapping) else name == "conversations"


def _sharegpt(rows: Iterator[Mapping[str, Any]], file: File, reading: Reading) -> Iterator[Session]:
    for number, row in enumerate(rows, start=1):
        name = f"{reading.session or file.stem} {number}"
        yield from reading.kept(partial(session_of, name=name), row, f"{file.shown}: row {number}")


def _rows(file: File, reading: Reading) -> Iterator[Mapping[str, Any]]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingExtra("Reading Parquet", "parquet") from error
    try:
        with file.opener() as raw:
            for batch in ParquetFile(raw).iter_batches(_ROWS):
                yield from batch.to_pylist()
    except (ArrowException, OSError) as error:
        raise InvalidTranscript(f"{file.shown}: not Parquet, or damaged: {error}") from error
