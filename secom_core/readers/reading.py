"""What goes through the reading of one export: what the caller asked for, and what is said of it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone, tzinfo
from itertools import groupby
from typing import Any, Literal, TypeVar

from ..conversation import Message, Session, group_messages
from ..errors import InvalidInput, InvalidTranscript
from ..times import counted_time, iso_time
from .fields import LONGEST_LINE, LONGEST_TEXT
from .files import File
from .json_stream import JsonStream

Made = TypeVar("Made")

DateOrder = Literal["day-first", "month-first"]
"""Which number of ``03/05/2024`` is the day."""


@dataclass(eq=False)
class Reading:
    """The reading of one export.

    Args:
        format: the name of the format.
        session: what to call a session that has no name of its own; the file's name unless given.
        me: the user's own name in a chat between people: what this person says has the role ``"user"``.
        zone: the time zone of times that carry none.
        zone_given: whether the caller named it.
        dates: which number of a date such as 03/05/2024 is the day; told from the whole file unless given.
        columns: what a table's columns are: ``{"text": "body"}``; told from their names unless given.
        at: when what carries no time was said, and when a recording began.
        partial: pass over what is damaged, with a note, in place of raising.
        note: is told each thing that was guessed, left out or passed over, as a sentence.
        seen: is told how many bytes were read, each time.
    """

    format: str
    session: str | None = None
    me: str | None = None
    zone: tzinfo = timezone.utc
    zone_given: bool = False
    dates: DateOrder | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    at: datetime | None = None
    partial: bool = False
    note: Callable[[str], object] = lambda text: None
    seen: Callable[[int], object] | None = None
    left_out: Counter[str] = field(default_factory=Counter)
    """How many of what were left out, such as ``"system lines"``; said once the export is read."""
    speakers: Counter[str] = field(default_factory=Counter)
    found_me: bool = False
    """Whether anything was said by the user, in a chat between people."""
    _said: set[str] = field(default_factory=set)
    _chats: dict[str, str] = field(default_factory=dict)

    def once(self, text: str) -> None:
        """Say something, once however often it comes."""
        if text not in self._said:
            self._said.add(text)
            self.note(text)

    def stream(self, file: File) -> JsonStream:
        """The JSON of a file, piece by piece."""
        return JsonStream(self.opened(file), file.shown)

    def opened(self, file: File) -> Any:
        """The text of a file; what was guessed of its encoding is said."""
        if file.encoding.note:
            self.once(file.encoding.note)
        return file.text(self.seen)

    def lines(self, file: File) -> Iterator[str]:
        """The lines of a file, without their ends.

        Raises:
            InvalidTranscript: a line is longer than `LONGEST_TEXT`.
        """
        with self.opened(file) as text:
            while line := text.readline(LONGEST_TEXT + 1):
                if len(line) > LONGEST_TEXT:
                    raise InvalidTranscript(f"{file.shown}: a line of more than {LONGEST_TEXT:,} characters")
                yield line.rstrip("\n")

    def rows(self, file: File) -> Iterator[Mapping[str, Any]]:
        """The objects of JSON lines; other values are passed over.

        Raises:
            InvalidTranscript: a line is no JSON; with its number.
        """
        for number, line in enumerate(self.lines(file), start=1):
            try:
                row = json.loads(line) if line.strip() else None
            except (ValueError, RecursionError) as error:
                self.bad(InvalidTranscript(f"{file.shown}: line {number} is not JSON: {error}"))
                continue
            if isinstance(row, Mapping):
                yield row

    def whole(self, file: File) -> str:
        """The text of a file that is read whole.

        Raises:
            InvalidTranscript: it is longer than `LONGEST_LINE`.
        """
        with self.opened(file) as text:
            found: str = text.read(LONGEST_LINE + 1)
        if len(found) > LONGEST_LINE:
            raise InvalidTranscript(f"{file.shown}: more than {LONGEST_LINE:,} characters; divide it")
        return found

    def stable(self, *parts: object) -> str:
        """An id made of what does not change from one export to the next."""
        return digest([self.format, *parts])

    def local(self, at: datetime) -> datetime:
        """A time with a zone: the one that was asked for, where it brings none."""
        if at.tzinfo is not None:
            return at
        if not self.zone_given:
            self.once("its times carry no time zone and are read as UTC; say which one it is with --timezone")
        return at.replace(tzinfo=self.zone)

    def person(self, name: str, text: str, *, mine: bool = False, **given: Any) -> Message:
        """What a person says in a chat between people.

        Args:
            name: who speaks.
            text: the words.
            mine: whether the export says that it is its owner who speaks.
            given: further fields of the message.
        """
        self.speakers[name] += 1
        is_me = mine or self.is_me(name)
        self.found_me |= is_me
        return Message(text, role="user" if is_me else "", speaker=name or None, **given)

    def chat(self, name: str, key: str) -> str:
        """The name of a chat; of a second chat with the same name also some characters that tell them apart.

        Args:
            name: how the product shows it.
            key: its id, the same in every export.
        """
        return name if self._chats.setdefault(name, key) == key else f"{name} ({digest([key])[:6]})"

    def is_me(self, name: str) -> bool:
        """Whether this is the name that the user gave as the own one."""
        return self.me is not None and name.casefold() == self.me.casefold()

    def kept(self, make: Callable[[Any, Reading], Made], record: Any, place: str) -> Iterator[Made]:
        """What is made of a record; nothing where it cannot be read and is to be passed over.

        Args:
            make: makes it, of the record and this reading.
            record: what was read.
            place: where it stands, for the error.

        Raises:
            InvalidTranscript: the record cannot be read; with its place.
        """
        try:
            yield make(record, self)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            self.bad(InvalidTranscript(f"{place}: {error}"))

    def each_kept(self, make: Callable[[Any, Reading], Made], files: Iterable[File]) -> Iterator[Made]:
        """What is made of each conversation of JSON files that hold a list of them, or one alone.

        Args:
            make: makes it, of the record and this reading.
            files: the files, one after another.

        Raises:
            InvalidTranscript: a record cannot be read; with its file and its number.
        """
        for file in files:
            stream = self.stream(file)
            records = [None] if stream.peek() != "[" else stream.items()
            for number, _ in enumerate(records, start=1):
                yield from self.kept(make, stream.value(), f"{file.shown}: conversation {number}")

    def bad(self, error: InvalidInput) -> None:
        """Pass over what cannot be read, with a note, where that was asked for.

        Raises:
            InvalidInput: the same, where it was not.
        """
        if not self.partial:
            raise error
        self.note(f"passed over: {error}")

    def end(self) -> None:
        """Say what was left out.

        Raises:
            InvalidInput: nobody has the name that was given as the user's own; with those who speak.
        """
        counts = [f"{what} ({count:,})" for what, count in sorted(self.left_out.items()) if count]
        if counts:
            self.note(f"left out: {', '.join(counts)}")
        if self.me is not None and self.speakers and not self.found_me:
            names = ", ".join(name for name, _ in self.speakers.most_common(8))
            raise InvalidInput(f"nobody is called {self.me!r} in it; those who speak are: {names}")


def digest(parts: Iterable[object]) -> str:
    """A short id made of texts and numbers, each with its length, so that no two lists of them look alike."""
    told = "".join(f"{len(text)}:{text}" for text in map(str, parts))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def seconds(value: object) -> datetime | None:
    """The time of seconds, or milliseconds, since 1970, as a number or as text; nothing where it is none.

    Raises:
        InvalidTranscript: the number is out of range.
    """
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    try:
        return counted_time(number)
    except (OverflowError, ValueError) as error:
        raise InvalidTranscript(f"no time can be read from {value!r}") from error


def iso(value: object) -> datetime | None:
    """The time of ISO text such as ``2024-05-03T14:05:00.123456Z``, with as many digits as there are; else nothing."""
    try:
        return iso_time(value) if isinstance(value, str) else None
    except ValueError:
        return None


def grouped(name: str, messages: Iterable[Message]) -> Session:
    """The messages as a session of turns."""
    return Session(name, group_messages(messages, name))


def titled(title: object, key: str) -> str:
    """The name of a session: the title of a conversation, and the beginning of its id where it has one."""
    name = " ".join(str(title or "Untitled").split())
    return f"{name} ({key[:8]})" if key else name


def by_day(chat: str, messages: Iterable[Message]) -> Iterator[Session]:
    """A chat that goes on for years as a session a day, ``Ann 2024-05-03``; no more than a day is held in memory."""
    for day, said in groupby(messages, lambda message: message.at.date() if message.at is not None else ""):
        yield grouped(f"{chat} {day}".strip(), said)


def identified(session: Session, reading: Reading, at: datetime | None, shown: str) -> Session:
    """The session with an id on every message, its own or one made of its words, and a time where one is given.

    Args:
        session: as it was read.
        reading: the reading that it is of. Ids are the same whoever the user is said to be.
        at: the time of messages that have none.
        shown: how an error names the export.

    Raises:
        InvalidTranscript: a message is longer than `LONGEST_TEXT`.
    """
    for message in session.messages:
        if len(message.text) > LONGEST_TEXT:
            size = f"a message of {len(message.text):,} characters, at most {LONGEST_TEXT:,} are kept"
            raise InvalidTranscript(f"{shown}: {size}; it begins with {message.text[:80]!r}")
    if all(message.id is not None and (at is None or message.at is not None) for message in session.messages):
        return session
    times: Counter[str] = Counter()
    given = (_with_id(each, session.name, reading.is_me(each.speaker or ""), times) for each in session.messages)
    return grouped(session.name, [replace(each, at=each.at or at) for each in given])


def _with_id(message: Message, session: str, is_me: bool, times: Counter[str]) -> Message:
    if message.id is not None:
        return message
    at = message.at.isoformat() if message.at else None
    content = json.dumps([session, "" if is_me else message.role, message.speaker, message.text, at])
    times[content] += 1
    key = hashlib.sha256(f"{content}{times[content]}".encode()).hexdigest()[:16]
    return replace(message, id=key)
