"""The window of a session: its latest exchanges as far as they fit, the last of them that does not fit shortened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import BaseModel

from secom_core.bank import MemoryBank
from secom_core.bank.answers import epoch_soon
from secom_core.conversation import Scope

from .agent_steps import Step, UserHook, as_step, steps_of
from .answers import is_answer
from .arguments import check_list
from .convert import all_without_recalled, text_of
from .cutting import without_middle
from .message_tokens import MessageTokens
from .unstored import FAILURES, ids_that_wait

SYSTEM: Final = frozenset({MessageRole.SYSTEM, MessageRole.DEVELOPER})
TOOL: Final = frozenset({MessageRole.TOOL, MessageRole.FUNCTION})

_LEAST: Final = 20
"""How many tokens of a message are shown at least."""


class WindowEntry(BaseModel):
    """A message of the session, and the turn of the bank that holds it; no turn where it is not remembered.

    ``name`` is the id of the message that is remembered of it. ``step`` says which step of an agent the message is,
    where its role does not say so.
    """

    message: ChatMessage
    turn: str | None = None
    name: str | None = None
    step: Step | None = None

    @property
    def seen(self) -> ChatMessage:
        """The message as the memory understands it: a step of an agent as a tool's call or result."""
        return self.message if self.step is None else as_step(self.message, self.step)


def entries_of(messages: Sequence[ChatMessage], by_user: UserHook) -> list[WindowEntry]:
    """The entries of messages that are put or handed over, without recalled memory.

    Args:
        messages: in order.
        by_user: says which words are the user's own.

    Raises:
        InvalidInput: one of them is no message.
    """
    cleaned = all_without_recalled(check_list(messages))
    steps = steps_of(cleaned, by_user)
    return [WindowEntry(message=chat, step=step) for chat, step in zip(cleaned, steps, strict=True)]


def fitting(entries: Sequence[WindowEntry], room: int, counter: Callable[[str], int]) -> list[WindowEntry]:
    """The system messages, and the latest exchanges that fit beside them.

    An exchange that is too long for what is left is shown shortened: the user's words, and the beginning and the end of
    the answer. Of one that is not answered yet, the user's message and the latest steps are kept, the last one always.

    Args:
        entries: the window.
        room: how many tokens there is room for.
        counter: counts the tokens of a text.

    Returns:
        The entries in their order. Those of a turn that is not all there name no turn: the rest of it can be recalled.
    """
    tokens = _EntryTokens(counter)
    pinned = [entry for entry in entries if entry.seen.role in SYSTEM]
    whole = list(exchanges([entry for entry in entries if entry.seen.role not in SYSTEM]))
    room -= sum(map(tokens, pinned))
    shown: dict[int, WindowEntry] = {id(entry): entry for entry in pinned}
    for exchange in reversed(whole):
        part = _fitting_part(exchange, room, tokens)
        if part is None and exchange is whole[-1]:
            part = _latest_steps(exchange, room, tokens)
        if part is None:
            break
        shown |= part
        room -= sum(map(tokens, part.values()))
    return [shown[id(entry)] for entry in entries if id(entry) in shown]


class _EntryTokens:
    """Counts the tokens of an entry, once.

    Args:
        counter: counts the tokens of a text.
    """

    def __init__(self, counter: Callable[[str], int]) -> None:
        self.counter = counter
        self._count = MessageTokens(counter)
        self._counted: dict[int, tuple[WindowEntry, int]] = {}

    def __call__(self, entry: WindowEntry) -> int:
        # What is counted is held, so that no other entry gets its id.
        known = self._counted.get(id(entry))
        if known is None:
            known = self._counted[id(entry)] = entry, self._count(entry.message)
        return known[1]


def exchanges(entries: Iterable[WindowEntry]) -> Iterator[list[WindowEntry]]:
    """The entries in runs that begin with a user's message; the first run may begin otherwise."""
    return _runs(entries, lambda entry: entry.seen.role == MessageRole.USER)


def _fitting_part(exchange: list[WindowEntry], room: int, tokens: _EntryTokens) -> dict[int, WindowEntry] | None:
    """What is shown of the exchange, by the id of the entry it is of; nothing if it does not fit."""
    if sum(map(tokens, exchange)) <= room:
        return {id(entry): entry for entry in exchange}
    first, last = exchange[0], exchange[-1]
    is_answered = is_answer(last.seen) and "function_call" not in last.message.additional_kwargs
    if first.seen.role != MessageRole.USER or not is_answered:
        return None
    return _shown_in_part(exchange, room, tokens)


def _shown_in_part(exchange: list[WindowEntry], room: int, tokens: _EntryTokens) -> dict[int, WindowEntry] | None:
    """The user's words, the answer, and of the steps between them the latest that fit; nothing where there is no room.

    Where the answer is too long, its beginning and end are shown, without the steps; the user's words are cut only
    where they leave next to no room for that.
    """
    first, *between, last = exchange
    answer = tokens(last)
    asked = _cut(first, room - min(answer, max(_LEAST, room // 8)), tokens)
    replied = _cut(last, room - tokens(asked), tokens) if asked is not None else None
    if asked is None or replied is None:
        return None
    steps: list[WindowEntry] = []
    if replied is last and asked is first:
        room -= tokens(asked) + answer
        for step in reversed(list(_runs(between, lambda entry: entry.seen.role not in TOOL))):
            size = sum(map(tokens, step))
            if size > room:
                break
            steps, room = [*step, *steps], room - size
    shown = {id(entry): each for entry, each in zip([first, *steps, last], [asked, *steps, replied], strict=True)}
    is_whole = replied is last and asked is first and not any(each.turn for each in between if id(each) not in shown)
    return shown if is_whole else {key: each.model_copy(update={"turn": None}) for key, each in shown.items()}


def _cut(entry: WindowEntry, room: int, tokens: _EntryTokens) -> WindowEntry | None:
    """The entry, its words without their middle where they do not fit; nothing where there is room for none of them."""
    if tokens(entry) <= room:
        return entry
    short = without_middle(text_of(entry.message), room, tokens.counter) if room >= _LEAST else None
    if short is None:
        return None
    message = entry.message.model_copy(update={"blocks": [TextBlock(text=short)]})
    return WindowEntry(message=message, turn=entry.turn)


def _latest_steps(exchange: list[WindowEntry], room: int, tokens: _EntryTokens) -> dict[int, WindowEntry]:
    """The user's message and the latest steps that fit, the last one always; a tool call keeps its results."""
    opening = exchange[:1] if exchange[0].seen.role == MessageRole.USER else []
    steps = list(_runs(exchange[len(opening) :], lambda entry: entry.seen.role not in TOOL))
    kept: list[WindowEntry] = []
    room -= sum(map(tokens, opening))
    for step in reversed(steps):
        size = sum(map(tokens, step))
        if kept and size > room:
            break
        kept, room = [*step, *kept], room - size
    return {id(entry): entry for entry in (*opening, *kept)}


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
    """The window without the exchanges of which a turn is forgotten; the last one stays while it is being answered."""
    whole = list(exchanges(entries))
    complete = whole if whole and is_answered(whole[-1]) else whole[:-1]
    gone = [exchange for exchange in complete if any(each.turn in forgotten for each in exchange)]
    left_out = {id(entry) for exchange in gone for entry in exchange if entry.seen.role not in SYSTEM}
    return [entry for entry in entries if id(entry) not in left_out]


def is_answered(entries: Sequence[WindowEntry]) -> bool:
    """Whether an answer comes last, but for system messages."""
    said = [entry for entry in entries if entry.seen.role not in SYSTEM]
    return bool(said) and is_answer(said[-1].seen) and said[-1].step is None


def said_anew(
    bank: MemoryBank, scope: Scope, session: str, window: Sequence[WindowEntry], entries: list[WindowEntry]
) -> list[WindowEntry]:
    """The entries that are put, without a first one that says again, word for word, what failed to get an answer.

    Agents that had handed over to each other before the failure have left their steps behind it. What the bank does not
    hold any more, or does not hold yet, is said anew.

    Args:
        bank: where the turns are.
        scope: whose memory it is.
        session: the session of the window.
        window: the window.
        entries: what is put.
    """
    *_, last = list(exchanges(window)) or [[]]
    if not (entries and last and _is_same(entries[0], last[0])) or is_answered(last):
        return entries
    try:
        return entries if forgotten_turns(bank, scope, last[:1], session=session, waiting=()) else entries[1:]
    except FAILURES:
        return entries


def _is_same(entry: WindowEntry, asked: WindowEntry) -> bool:
    return asked.turn is not None and asked.seen.role == MessageRole.USER and entry.message == asked.message


def answers_to_forgotten(
    bank: MemoryBank,
    scope: Scope,
    session: str,
    window: Sequence[WindowEntry],
    entries: Sequence[WindowEntry],
    epoch: tuple[int, int] | None,
) -> dict[int, str]:
    """By the places of those entries that answer what was forgotten meanwhile, its turn.

    Args:
        bank: where the turns are.
        scope: whose memory it is.
        session: the session of the window.
        window: the window.
        entries: what is put.
        epoch: an epoch of the scope in which the bank held the turns of the window.
    """
    asked = [entry for entry in window if entry.seen.role == MessageRole.USER][-1:]
    answers = list(takewhile(lambda each: entries[each].seen.role != MessageRole.USER, range(len(entries))))
    try:
        if not (asked and answers) or epoch_soon(bank, scope) == epoch:
            return {}
        gone = forgotten_turns(bank, scope, asked, session=session, waiting=ids_that_wait(bank, scope))
    except FAILURES:
        return {}
    return {place: turn for turn in gone for place in answers if entries[place].seen.role not in SYSTEM}
