"""The window of a session: its latest messages, in whole exchanges, as far as they fit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import BaseModel

from secom_core.bank import MemoryBank
from secom_core.conversation import Scope

SYSTEM: Final = frozenset({MessageRole.SYSTEM, MessageRole.DEVELOPER})
TOOL: Final = frozenset({MessageRole.TOOL, MessageRole.FUNCTION})


class WindowEntry(BaseModel):
    """A message of the session, and the turn of the bank that holds it; no turn where it is not remembered."""

    message: ChatMessage
    turn: str | None = None


def fitting(entries: Sequence[WindowEntry], room: int, tokens: Callable[[WindowEntry], int]) -> list[WindowEntry]:
    """The system messages, and the latest whole exchanges that fit beside them.

    Of an exchange that is too long by itself, the user's message and the latest steps are kept.

    Args:
        entries: the window.
        room: how many tokens there is room for.
        tokens: counts the tokens of an entry.
    """
    pinned = [entry for entry in entries if entry.message.role in SYSTEM]
    whole = list(exchanges([entry for entry in entries if entry.message.role not in SYSTEM]))
    room -= sum(map(tokens, pinned))
    kept: list[WindowEntry] = []
    for exchange in reversed(whole):
        size = sum(map(tokens, exchange))
        if size > room:
            break
        kept, room = [*exchange, *kept], room - size
    if not kept and whole:
        kept = _shortened(whole[-1], room, tokens)
    chosen = {id(entry) for entry in (*pinned, *kept)}
    return [entry for entry in entries if id(entry) in chosen]


def exchanges(entries: Iterable[WindowEntry]) -> Iterator[list[WindowEntry]]:
    """The entries in runs that begin with a user's message; the first run may begin otherwise."""
    return _runs(entries, lambda entry: entry.message.role == MessageRole.USER)


def _shortened(exchange: list[WindowEntry], room: int, tokens: Callable[[WindowEntry], int]) -> list[WindowEntry]:
    """The user's message and the latest steps that fit, the last one always; a tool call keeps its results."""
    opening = exchange[:1] if exchange[0].message.role == MessageRole.USER else []
    steps = list(_runs(exchange[len(opening) :], lambda entry: entry.message.role not in TOOL))
    kept: list[WindowEntry] = []
    room -= sum(map(tokens, opening))
    for step in reversed(steps):
        size = sum(map(tokens, step))
        if kept and size > room:
            break
        kept, room = [*step, *kept], room - size
    return [*opening, *kept]


def _runs(entries: Iterable[WindowEntry], begins: Callable[[WindowEntry], bool]) -> Iterator[list[WindowEntry]]:
    run: list[WindowEntry] = []
    for entry in entries:
        if run and begins(entry):
            yield run
            run = []
        run.append(entry)
    if run:
        yield run


def forgotten_turns(
    bank: MemoryBank, scope: Scope, entries: Sequence[WindowEntry], *, session: str, waiting: Collection[str | None]
) -> set[str]:
    """The turns of the window that the bank no longer holds.

    Args:
        bank: where the turns are.
        scope: whose memory it is.
        entries: the window.
        session: the session of the window.
        waiting: the ids of messages that are still to be stored.

    Raises:
        StoreError: the store failed.
    """
    missing = {entry.turn for entry in entries if entry.turn and entry.turn not in waiting}
    # A message with an id of its own may have been known from another session.
    for name in (session, *bank.sessions(scope)):
        if not missing:
            break
        missing -= {turn.id for turn in bank.turns(scope, name)}
    return missing


def without_forgotten(entries: Sequence[WindowEntry], forgotten: Collection[str]) -> list[WindowEntry]:
    """The window without the exchanges of which a turn is forgotten; the last one, which is being answered, stays."""
    *before, last = list(exchanges(entries)) or [[]]
    kept = [
        entry
        for exchange in before
        for entry in exchange
        if entry.message.role in SYSTEM or not any(each.turn in forgotten for each in exchange)
    ]
    return [*kept, *last]
