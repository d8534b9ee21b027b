"""Files of any format into sessions: what the format is, what is read of it, and what is said where that fails."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any, BinaryIO, Final

from ..conversation import Session
from ..errors import InvalidInput, InvalidTranscript, shorten
from ..times import zone_of
from .files import Export, File, export_at, export_of
from .reading import DateOrder, Reading, identified
from .registry import Format, files_of, format_called, left_in, recognised
from .strangers import stranger

_GUESSED: Final = frozenset({"messages", "transcript"})
"""What is left for a file that looks like nothing else."""

_LOG: Final = logging.getLogger(__name__)


def read(
    source: str | Path | BinaryIO,
    *,
    format: str | None = None,
    me: str | None = None,
    timezone: str | tzinfo | None = None,
    session: str | None = None,
    at: datetime | None = None,
    dates: DateOrder | None = None,
    columns: Mapping[str, str] | None = None,
    partial: bool = False,
    progress: bool = False,
    note: Callable[[str], object] | None = None,
) -> Iterator[Session]:
    """The conversations in a file, a folder or an archive, one session after another, in bounded memory.

    Every message has an id that is the same the next time, in this export and in later ones, so that a bank passes
    over what it knows. Which conversations are one session is said for each format in `docs/imports.md`.

    Args:
        source: a path, or a binary stream such as ``sys.stdin.buffer``, which is read whole.
        format: the name of the format, one of `FORMATS`; recognised unless given.
        me: the user's own name in a chat between people: this person's messages have the role ``"user"``, and the
            other people's have none. Chats with an assistant have their roles anyway.
        timezone: the zone of times that carry none, such as ``"Europe/Brussels"``; UTC unless given.
        session: what to call a session that has no name of its own; the file's name unless given.
        at: when what carries no time was said.
        dates: whether the first number of a date such as 03/05/2024 is the day or the month; told from the whole file
            unless given.
        columns: for tables: the column of ``"text"``, and where there are any those of ``"speaker"``, ``"role"``,
            ``"at"``, ``"session"`` and ``"id"``; guessed from their names unless given.
        partial: give what can be read of a damaged file, and say the rest; else the first damage raises, after the
            sessions before it.
        progress: show a progress bar on standard error.
        note: is told, a sentence at a time, what was guessed, left out or passed over; a warning of the logger
            ``secom_core.readers.exports`` unless given.

    Returns:
        The sessions; the format is known, and errors of the path and of the options have come, when this returns.

    Raises:
        InvalidTranscript: the file is of no format that is known, or damaged; with its name, the place, what it looks
            like and what to do.
        InvalidInput: an option cannot be used; or, at the end, nobody is called ``me`` among those who speak.
        OSError: the path cannot be read.
    """
    export = _export(source)
    form, files = _chosen(export, format)
    zone = zone_of(timezone)
    reading = Reading(
        form.name,
        session=session,
        me=me,
        zone=zone or Reading.zone,
        zone_given=zone is not None,
        dates=dates,
        columns=columns or {},
        at=at,
        partial=partial,
        note=lambda text: (note or _LOG.warning)(_with_name(export, text)),
    )
    if format is None and not export.is_single and (others := left_in(export, files)):
        reading.note(f"read as {form.title}; give by themselves what else it holds: {', '.join(others)}")
    found = _sessions(export, form, files, reading, at, progress)
    return found if format is not None or form.name not in _GUESSED else _with_hint(found, form)


def _with_hint(sessions: Iterator[Session], form: Format) -> Iterator[Session]:
    """The sessions of a file that may be something else: an error says what it was taken for."""
    try:
        yield from sessions
    except InvalidTranscript as error:
        told = f"{error}. It was read as {form.title}; say with --format what else it is"
        more = ", such as dictation for what one person says"
        if form.name == "messages":
            more = ', or write each message as {"role": "user", "content": "…", "at": "2024-05-03T14:05"}'
        raise InvalidTranscript(told + more) from error


def format_of(source: str | Path | BinaryIO) -> Format:
    """The format of a file, a folder or an archive.

    Raises:
        InvalidTranscript: it is none that is known.
        OSError: the path cannot be read.
    """
    return _chosen(_export(source), None)[0]


def _export(source: str | Path | BinaryIO) -> Export:
    if isinstance(source, (str, Path)):
        return export_at(str(source), Path(source).expanduser())
    raw = source.read()
    if not isinstance(raw, bytes):
        raise InvalidInput(f"a stream to read from is binary, such as open(path, 'rb'), got {shorten(source)}")
    name = getattr(source, "name", None)
    return export_of("standard input" if name in (None, "<stdin>", 0) else str(name), raw)


def _chosen(export: Export, name: str | None) -> tuple[Format, list[File]]:
    if name is None:
        if (found := recognised(export)) is None:
            raise InvalidTranscript(stranger(export))
        return found
    form = format_called(name)
    if files := files_of(form, export):
        return form, files
    if (found := recognised(export)) is not None and not found[0].alone:
        raise InvalidTranscript(
            f"{export.name} does not look like {form.title}; it looks like {found[0].title}: give --format "
            f"{found[0].name}, or leave it out"
        )
    if not export.is_single:
        raise InvalidTranscript(f"{export.name} holds no file that looks like {form.title}")
    return form, list(export.files)


def _sessions(
    export: Export, form: Format, files: list[File], reading: Reading, at: datetime | None, progress: bool
) -> Iterator[Session]:
    count = undated = 0
    with _bar(export, files) if progress else nullcontext() as bar:
        reading.seen = bar.update if bar is not None else None
        try:
            for session in form.reader.read(export, files, reading):
                if session.turns:
                    count += 1
                    undated += sum(message.at is None for message in session.messages)
                    if count == 1 and reading.session and not session.name.startswith(reading.session):
                        reading.note("its sessions have names of their own, so that the name given is not used")
                    yield identified(session, reading, at, export.name)
        except InvalidInput as error:
            if not (reading.partial and count):
                raise InvalidTranscript(_with_count(_with_name(export, str(error)), count)) from error
            reason = str(error).removeprefix(f"{export.name}: ")
            reading.note(f"not all of it could be read: {reason}")
        except RecursionError as error:
            raise InvalidTranscript(f"{export.name}: it is nested too deeply to be read") from error
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            # A record has a list where an object stands in every true export, and the like.
            raise InvalidTranscript(f"{export.name} is damaged, or not {form.title}: {error}") from error
    if not count:
        raise InvalidTranscript(f"{export.name} holds no message")
    if undated and at is None and not form.alone:
        reading.note(f"messages without a time that can be read: {undated:,}; they are remembered as said now, or --at")
    try:
        reading.end()
    except InvalidInput as error:
        raise InvalidInput(_with_name(export, str(error))) from error


def _with_name(export: Export, text: str) -> str:
    return text if text.startswith(export.name) else f"{export.name}: {text}"


def _with_count(reason: str, count: int) -> str:
    """The reason, with what can be read all the same."""
    before = "the session" if count == 1 else f"the {count:,} sessions"
    return f"{reason} ({before} before it can be read, with --partial)" if count else reason


def _bar(export: Export, files: list[File]) -> Any:
    from tqdm import tqdm

    total = sum(file.size for file in files)
    return tqdm(desc=f"reading {export.name}", total=total, unit="B", unit_scale=True, file=sys.stderr, leave=False)
