"""The chat of a session as it is kept in the bank, whole, beside the turns that are made of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, pairwise, takewhile
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import TypeAdapter, ValidationError

from secom_core.bank import MemoryBank
from secom_core.bank.answers import keeper_of, turns_of_session
from secom_core.chats import ChatRecord
from secom_core.chats.records import are_held
from secom_core.conversation import Message, Scope, Turn, json_flaw

from .convert import from_message, readable, to_messages
from .message_tokens import MessageTokens
from .window import SYSTEM, WindowEntry, exchanges

_ANY: Final = TypeAdapter[Any](Any)
_GIVEN: Final = frozenset({"id", "timestamp"})
"""What every message has that is remembered."""
_SPOKEN: Final = frozenset({MessageRole.USER, MessageRole.ASSISTANT})


# -- out and in -------------------------------------------------------------------------------------------------------


def records(entries: Sequence[WindowEntry], turn: str | None) -> list[ChatRecord]:
    """The entries as they are kept; calls of tools and their results go with the turn that they stand in.

    Args:
        entries: in order.
        turn: the turn before them.
    """
    kept = []
    for entry in entries:
        turn = entry.turn or turn
        of_session = entry.message.role in SYSTEM
        kept.append(ChatRecord(None if of_session else turn, entry.name, _body(entry)))
    return kept


def found_records(entries: Sequence[WindowEntry]) -> list[ChatRecord]:
    """What others have remembered as it is kept: its words are not stored again, but who is named beside them is."""
    kept = zip(records(entries, None), entries, strict=True)
    return [
        record if entry.message.additional_kwargs.keys() - _GIVEN else replace(record, body=None)
        for record, entry in kept
    ]


def still_unlisted(bank: MemoryBank, scope: Scope, session: str, found: Sequence[WindowEntry]) -> list[WindowEntry]:
    """What others have remembered, where no other memory has kept it since, or a history that leaves it out.

    Raises:
        StoreError: the store failed.
    """
    names = {each.name for each in bank.chats.read(scope, session)}
    return list(takewhile(lambda entry: entry.name not in names, reversed(found)))[::-1]


def _body(entry: WindowEntry) -> dict[str, Any] | None:
    """The entry as JSON; nothing where the message that is remembered of it says it all."""
    spoken = to_messages([entry.message]) if entry.name and entry.message.role in _SPOKEN else []
    plain = ChatMessage(role=entry.message.role, content=spoken[0].text) if len(spoken) == 1 else None
    return None if plain == entry.message and entry.step is None else dumped(entry)


def dumped(entry: WindowEntry) -> dict[str, Any]:
    """The entry as JSON holds it, without its place in the bank."""
    try:
        return entry.model_dump(mode="json", exclude={"turn", "name"}, exclude_none=True)
    except ValueError:
        # An object that JSON cannot hold, which somebody has put beside the words, or bytes such as a signature.
        kept = {key: each for key, each in entry.message.additional_kwargs.items() if not json_flaw(each)}
        message = entry.message.model_copy(update={"additional_kwargs": kept})
        plain = entry.model_copy(update={"message": message})
        return dict(_held_by_json(plain.model_dump(exclude={"turn", "name"}, exclude_none=True)))


def _held_by_json(value: object) -> Any:
    """What JSON can hold of the value."""
    if isinstance(value, Mapping):
        held = ((key, _held_by_json(each)) for key, each in value.items() if isinstance(key, str))
        return {key: each for key, each in held if each is not None}
    if isinstance(value, (list, tuple, set)):
        return [held for each in value if (held := _held_by_json(each)) is not None]
    with suppress(ValueError):
        return _ANY.dump_python(value, mode="json")
    return None


def chat_of(
    bank: MemoryBank, scope: Scope, session: str, waiting: Sequence[WindowEntry] = ()
) -> tuple[list[WindowEntry], list[WindowEntry]]:
    """The chat of a session as it was left, with what was remembered after it by others; and the latter by itself.

    What the background writer keeps of it, because the store is locked, stands there as it will once it is written.

    Args:
        bank: where it is.
        scope: whose it is.
        session: its name.
        waiting: what follows it and is not kept yet; what is remembered of that stands there once.

    Raises:
        StoreError: the store failed.
    """
    # What waits is read first: what is written meanwhile is then among what is stored.
    unwritten = [each for each in keeper_of(bank, scope).keeps(scope) if each.session == session and each.chat]
    turns = turns_of_session(bank, scope, session)
    said = {message.id: (message, turn) for turn in turns for message in turn.messages}
    kept = bank.chats.read(scope, session)
    kept = _by_turns(_with_those_to_come(kept, [bank.chats.kept(each.chat) for each in unwritten], said))
    shown = [(each, entry) for each in kept if (entry := _entry(each, said.get(each.name))) is not None]
    names = {each.name for each in kept}
    unkept = _after(names, [message for message, _ in said.values()])
    entries = _with_late_answers(_each_once(shown), turns, {*names, *(message.id for message in unkept)})
    entries += _spoken([said[message.id] for message in unkept])
    again = {each.name for each in waiting if each.name}
    entries = [each for each in entries if each.name not in again]
    return [*entries, *waiting], [each for each in entries if each.name and each.name not in names]


def _with_those_to_come(
    kept: Sequence[ChatRecord],
    batches: Sequence[Sequence[ChatRecord]],
    said: Mapping[str | None, tuple[Message, Turn]],
) -> list[ChatRecord]:
    """What is kept, and what is added to it batch by batch, with the ids of turns in the place of those of messages."""
    turns = {None: None, **{name: turn.id for name, (_, turn) in said.items()}}
    new = [[replace(each, turn_id=turns[each.turn_id]) for each in some if each.turn_id in turns] for some in batches]
    whole, held = list(kept), _rows(kept)
    # The first ones may have been written since they were read.
    ends = (end for end in range(len(new), 0, -1) if are_held(_rows(chain(*new[:end])), held))
    for some in new[next(ends, 0) :]:
        if not are_held(rows := _rows(some), held):
            whole += some
            held += rows
    return whole


def _rows(kept: Iterable[ChatRecord]) -> list[tuple[object, ...]]:
    return [(each.turn_id, each.name, each.body) for each in kept]


def _each_once(shown: Sequence[tuple[ChatRecord, WindowEntry]]) -> list[tuple[str | None, WindowEntry]]:
    # What waited for a lock is kept by the memory that it was put into, behind its calls of tools and with all that
    # its message holds, and by one that has found it since.
    by_body = sorted(enumerate(shown), key=lambda row: row[1][0].body is not None)
    best = {record.name: place for place, (record, _) in by_body}
    return [
        (record.turn_id, entry)
        for place, (record, entry) in enumerate(shown)
        if record.name is None or best[record.name] == place
    ]


def _after(names: Collection[str | None], messages: Sequence[Message]) -> list[Message]:
    """The messages after the last one with one of these names."""
    return list(takewhile(lambda each: each.id not in names, reversed(messages)))[::-1]


def _with_late_answers(
    shown: Sequence[tuple[str | None, WindowEntry]], turns: Sequence[Turn], names: Collection[str | None]
) -> list[WindowEntry]:
    """The entries, with the answers that others have remembered behind what is kept of an earlier turn.

    Such an answer was said after the next turn had begun; others that are not kept are no part of the chat any more.

    Args:
        shown: what is kept, with the turns that it goes with.
        turns: those of the session.
        names: the ids of what is kept, and of what is no part of the chat or was remembered after all of it.
    """
    late: dict[str | None, list[WindowEntry]] = {
        turn.id: _spoken((each, turn) for each in _after(names, turn.messages) if _is_later(each, after))
        for turn, after in pairwise(turns)
    }
    last = {turn: place for place, (turn, _) in enumerate(shown)}
    return [
        each
        for place, (turn, entry) in enumerate(shown)
        for each in (entry, *(late.get(turn, ()) if last[turn] == place else ()))
    ]


def _is_later(message: Message, turn: Turn) -> bool:
    return message.at is not None and turn.at is not None and message.at > turn.at


def _spoken(said: Iterable[tuple[Message, Turn]]) -> list[WindowEntry]:
    # A tool's result without the call that it answers is refused by models.
    spoken = [(message, turn) for message, turn in said if message.role != "tool"]
    return [WindowEntry(message=from_message(each), turn=turn.id, name=each.id) for each, turn in spoken]


def last_turn(entries: Sequence[WindowEntry]) -> str | None:
    """The turn of the last entry that has one."""
    return next((entry.turn for entry in reversed(entries) if entry.turn), None)


def _by_turns(kept: Sequence[ChatRecord]) -> list[ChatRecord]:
    """The records, those of a turn together: memories that are used at the same time write them in between."""
    turns, places = dict[str | None, int](), list[int]()
    for each in kept:
        # What goes with the session stays behind what it came after.
        places.append(turns.setdefault(each.turn_id, len(turns)) if each.turn_id else places[-1] if places else -1)
    return [kept[nth] for nth in sorted(range(len(kept)), key=places.__getitem__)]


def _entry(record: ChatRecord, said: tuple[Message, Turn] | None) -> WindowEntry | None:
    """The entry that was kept; nothing where the message that is remembered of it is gone, or it cannot be read."""
    if record.name is not None and said is None:
        return None
    place: dict[str, Any] = {"turn": said[1].id if said is not None else None, "name": record.name}
    if record.body is None:
        plain = ChatMessage(role=said[0].role, content=said[0].text) if said is not None else None
        return WindowEntry(message=plain, **place) if plain is not None else None
    try:
        return WindowEntry(**{**record.body, **place})
    except ValidationError:
        return _without_lost(record.body, place)


def _without_lost(body: Mapping[str, Any], place: Mapping[str, Any]) -> WindowEntry | None:
    """The entry with a mark in place of each picture whose file is gone; nothing where it cannot be read even so."""
    with suppress(AttributeError, KeyError, TypeError, ValidationError):
        message = {**body["message"], "blocks": list(map(readable, body["message"]["blocks"]))}
        return WindowEntry(**{**body, "message": message, **place})
    return None


def left_out(bank: MemoryBank, scope: Scope, session: str, kept: Sequence[ChatRecord]) -> list[ChatRecord]:
    """What a chat that is kept anew begins with: what was remembered until now is no part of it but for these records.

    Raises:
        StoreError: the store failed.
    """
    last = bank.turns(scope, session, last=1)
    name = last[-1].messages[-1].id if last else None
    # It has no message: `chat_of` reads its name, and shows nothing of it.
    return [ChatRecord(None, name, {})] if name and all(each.name != name for each in kept) else []


def next_name(session: str, names: Sequence[str]) -> str:
    """The name of the session that follows: ``today~2`` after ``today``."""
    base, mark, number = session.rpartition("~")
    stem, count = (base, int(number)) if mark and number.isdecimal() else (session, 1)
    while (name := f"{stem}~{count + 1}") in names:
        count += 1
    return name


# -- the window -------------------------------------------------------------------------------------------------------


def latest(entries: Sequence[WindowEntry], room: int, counter: Callable[[str], int]) -> list[WindowEntry]:
    """The system messages, and the latest exchanges up to the one that makes them longer than the room.

    Args:
        entries: the window.
        room: how many tokens can be shown.
        counter: counts the tokens of a text.
    """
    count = MessageTokens(counter)
    shown = {id(entry) for entry in entries if entry.message.role in SYSTEM}
    for exchange in reversed(list(exchanges([entry for entry in entries if id(entry) not in shown]))):
        if room < 0:
            break
        shown |= set(map(id, exchange))
        room -= sum(count(entry.message) for entry in exchange)
    return [entry for entry in entries if id(entry) in shown]
