"""What people say: messages, turns and sessions, as frozen values.

A *message* is one utterance with its role, speaker, time and id. A *turn* is one exchange (a user's message and
everything that answers it), or one utterance where people talk to each other and nobody has a role. A *session* is
a run of turns that belong together in time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from typing import Any, Final, Literal

from .errors import InvalidInput, InvalidScope, shorten
from .text.brief import brief
from .text.written_calls import is_written_call
from .times import on_clocks, untold

Scope = tuple[str, ...]
"""Whose memory it is, such as ``("acme", "alice")``. Nothing crosses from one scope to another."""

ITEMS: Final = "secom:items"
"""The first part of scopes that hold no conversation: each session is an item, a document with a key. No layer takes
them in, and a scope is gone with its last item."""

OF_CORRECTIONS: Final = "/corrections"
"""How the name of a session ends that holds the corrections by hand of another one, whose name stands before it."""

NOTE: Final = "note"
"""The speaker of a fact that a tool remembers, in a message without a role: the words are those of a language model."""

WRITTEN_BY: Final = "secom_written_by"
"""The key of a message's metadata that says who wrote words which stand for somebody else's: ``"assistant"``."""

_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_DEEPEST: Final = 100
"""How deeply metadata may be nested: what can be written must be readable wherever it is read."""

USER_ROLES: Final = frozenset({"user", "human"})
"""The roles of those who talk to an assistant."""

_OPENERS: Final = USER_ROLES | {"system"}
_REPLIES: Final = frozenset({"assistant", "ai", "tool", "function", "developer"})

NO_PEOPLE: Final = _REPLIES | {"system"}
"""The roles of what no person says."""


def check_scope(scope: Sequence[str]) -> Scope:
    """Return ``scope`` as a tuple, or say what is wrong with it.

    Raises:
        InvalidScope: for a bare string, an empty scope, or a part that is empty or not a string.
    """
    if isinstance(scope, str) or not isinstance(scope, Sequence):
        raise InvalidScope(f"a scope is a tuple of strings such as ('acme', 'alice'), not {scope!r}")
    if not scope or not all(isinstance(part, str) and part for part in scope):
        raise InvalidScope(
            f"a scope needs one or more non-empty strings, such as ('acme', 'alice'), got {tuple(scope)!r}"
        )
    return tuple(map(joined, scope))


def joined(text: str) -> str:
    """The text with each pair of surrogates as the character that it stands for, as JSON has it; single ones stay."""
    if text.isascii() or not _PAIR.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@brief("text", "role", "speaker", "id", "at", "metadata")
@dataclass(frozen=True, slots=True)
class Message:
    """One utterance, word for word.

    Args:
        text: the words. May be empty, may hold any character; two surrogates that are one character become it.
        role: ``"user"``, ``"assistant"``, ``"tool"``, ``"system"``, or ``""`` between people without roles.
        speaker: the speaker's name, where there is one.
        id: the caller's id, unique in its scope; the bank gives one where it is ``None`` or empty.
        at: when it was said. A time without a zone is of the bank's ``timezone``, which is UTC unless given.
        metadata: anything JSON can hold, at most 100 levels deep; comes back unchanged, tuples as lists.

    Raises:
        InvalidInput: for a field that is none of these; `MemoryBank.remember` says so of metadata.
    """

    text: str
    role: str = "user"
    speaker: str | None = None
    id: str | None = None
    at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.at is not None and not isinstance(self.at, datetime):
            raise InvalidInput(f"a message's time is a datetime or None, not {shorten(self.at)}")
        speaker, id_ = self.speaker is None or _is_plain(self.speaker), self.id is None or _is_plain(self.id)
        if not (speaker and id_ and _is_plain(self.text) and _is_plain(self.role)):
            self._check_texts()
        if self.id == "":
            object.__setattr__(self, "id", None)
        if self.at is not None and self.at.tzinfo is None:
            object.__setattr__(self, "at", untold(self.at))

    def _check_texts(self) -> None:
        for name, value in (("text", self.text), ("role", self.role), ("speaker", self.speaker), ("id", self.id)):
            optional = name in ("speaker", "id")
            if not isinstance(value, str) and not (optional and value is None):
                expected = "a string or None" if optional else "a string"
                raise InvalidInput(f"a message's {name} is {expected}, not {shorten(value)}")
            if value and not value.isascii():
                object.__setattr__(self, name, joined(value))

    @property
    def label(self) -> str:
        """Who speaks: the speaker's name, else the role, else nothing."""
        return self.speaker or self.role

    @property
    def shown_label(self) -> str:
        """Who speaks, as it is shown: ``"Ann, as corrected by the assistant"`` where a model wrote it for her."""
        label = self.speaker or self.role
        if self.metadata and self.metadata.get(WRITTEN_BY) == "assistant":
            return f"{label or 'said'}, as corrected by the assistant"
        return label

    @property
    def says_anything(self) -> bool:
        """Whether it has words, and they are no call of a tool that a model wrote down in the place of an answer."""
        return bool(self.text.strip()) and not (self.role == "assistant" and is_written_call(self.text))

    @property
    def line(self) -> str:
        """The message as it is shown: ``"Ann: Hello"``."""
        label = self.shown_label
        return f"{label}: {self.text}" if label else self.text


def _is_plain(value: object) -> bool:
    """Whether it is a text that is kept as it is; most are."""
    return type(value) is str and value.isascii()


@brief("id", "session", "index", "messages")
@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange, or one utterance without roles: the smallest unit that is stored and found.

    Args:
        messages: one or more messages, in order.
        session: the name of its session.
        index: its place in the session, from 0.
        id: unique in its scope; the id of its first message unless given.
    """

    messages: tuple[Message, ...]
    session: str = ""
    index: int = 0
    id: str = ""

    def __post_init__(self) -> None:
        if not self.messages:
            raise InvalidInput("a turn needs at least one message, got none")
        if not self.id:
            object.__setattr__(self, "id", self.messages[0].id or f"{self.session}:{self.index}")

    @property
    def text(self) -> str:
        """The words with their speakers, one line for each message."""
        return "\n".join(message.line for message in self.messages)

    @property
    def shown_lines(self) -> list[str]:
        """The messages as they are shown, without those that say nothing, as a reply cut off before its first word."""
        return [message.line for message in self.messages if message.says_anything] or [self.messages[0].line]

    @property
    def content(self) -> str:
        """The words without speakers, one line for each message."""
        return "\n".join(message.text for message in self.messages)

    @property
    def speakers(self) -> tuple[str, ...]:
        """Who speaks in it, each once, in order."""
        return tuple(dict.fromkeys(message.label for message in self.messages if message.label))

    @property
    def at(self) -> datetime | None:
        """When it began, if that is known."""
        return self.messages[0].at


ReplacementKind = Literal["corrected", "retracted", "changed", "ended"]
"""How a turn came to hold no more: it was corrected, or taken back, by hand; what it says has changed, or ended."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """A mark that a turn, or a part of it, no longer holds. The turn itself stays as it is.

    Args:
        older: the id of the turn that holds no more.
        newer: the id of the turn that holds in its place; nothing where none does.
        at: since when.
        kind: how it came about.
        span: the part of the older turn that is meant, as the place of its message and the characters ``(place, start,
            stop)``; all of the turn unless given.
        newer_span: the part of the newer turn that says so, in the same way; all of what was said first in it unless
            given.
        number: the number of the hit that shows what holds in its place; 0 where it is not shown, or in the same hit.
        first: the id of the turn that took its place at that time, where ``newer`` took the place of that one later.
    """

    older: str
    newer: str | None
    at: datetime
    kind: ReplacementKind
    span: tuple[int, int, int] | None = None
    newer_span: tuple[int, int, int] | None = None
    number: int = 0
    first: str | None = None

    def touches(self, place: int, start: int, stop: int) -> bool:
        """Whether it is about any of these characters of a message of the older turn, by its place there."""
        if self.span is None:
            return True
        mine, begin, end = self.span
        return mine == place and begin < stop and start < end

    def is_said_in(self, place: int, start: int, stop: int) -> bool:
        """Whether any of these characters of a message of the newer turn say so, by its place there."""
        if self.newer_span is None:
            return place == 0
        mine, begin, end = self.newer_span
        return mine == place and begin < stop and start < end


@brief("name", "turns")
@dataclass(frozen=True, slots=True)
class Session:
    """A run of turns under one name."""

    name: str
    turns: tuple[Turn, ...]

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, in order."""
        return tuple(message for turn in self.turns for message in turn.messages)

    @property
    def at(self) -> datetime | None:
        """When it began, if that is known."""
        return self.turns[0].at if self.turns else None


def opens_turn(message: Message, before: Message | None) -> bool:
    """Whether ``message`` begins a new turn after ``before``.

    A reply (assistant, tool) joins the turn it answers; everything else begins one. A user who writes twice before
    the answer comes stays in one turn only if the first message was a system message.
    """
    if before is None or message.role not in _REPLIES:
        return not (before is not None and before.role == "system" and message.role in _OPENERS)
    return before.role not in _OPENERS | _REPLIES


def group_messages(messages: Iterable[Message], session: str = "") -> tuple[Turn, ...]:
    """Group messages into turns: an exchange where there are roles, an utterance each where there are none.

    Args:
        messages: in the order in which they were said.
        session: the name that the turns carry.
    """
    groups: list[list[Message]] = []
    for message in messages:
        if not groups or opens_turn(message, groups[-1][-1]):
            groups.append([message])
        else:
            groups[-1].append(message)
    return tuple(Turn(tuple(group), session, place) for place, group in enumerate(groups))


def as_turns(texts: Iterable[str], session: str = "") -> tuple[Turn, ...]:
    """Make each text a turn of its own, without role or speaker."""
    return tuple(Turn((Message(text, role=""),), session, place) for place, text in enumerate(texts))


def stamped(message: Message, at: datetime, zone: tzinfo | None = None) -> Message:
    """The same message with a time, its own where it has one; one in UTC is told by the clocks of a zone."""
    own = on_clocks(message.at, zone) if message.at is not None else at
    return message if own is message.at else replace(message, at=own)


def json_flaw(value: object) -> str:
    """Why JSON cannot hold ``value`` and give it back; nothing where it can."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return str(error)
    level: list[object] = [value]
    for _ in range(_DEEPEST):
        inner: list[object] = []
        for each in level:
            if isinstance(each, Mapping):
                if wrong := [key for key in each if not isinstance(key, str)]:
                    return f"a key is a string, not {wrong[0]!r}"
                inner += each.values()
            elif isinstance(each, (list, tuple)):
                inner += each
        if not inner:
            return ""
        level = inner
    return f"it is nested more than {_DEEPEST} levels deep"
