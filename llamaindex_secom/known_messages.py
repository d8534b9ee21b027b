"""Matching of messages with those that a session holds already: agents hand over their whole history every time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from llama_index.core.base.llms.types import ChatMessage

from secom_core.conversation import Message, Turn

from .convert import to_messages

Words = Sequence[tuple[int, Message]]
"""What the messages of a chat say, each with its place, as the bank keeps it."""


def memorable_by_place(chats: Iterable[ChatMessage], *, tools: bool) -> list[tuple[int, Message]]:
    """The messages worth remembering, each with its place among the chat messages."""
    return [(place, message) for place, chat in enumerate(chats) for message in to_messages([chat], tools=tools)]


@dataclass(frozen=True, slots=True)
class Held:
    """A message that a session holds.

    Args:
        message: what it says, redacted.
        name: its id.
        turn: the turn that it stands in; nothing where it was forgotten to be remembered anew.
    """

    message: Message
    name: str
    turn: str | None


def held_of(turns: Sequence[Turn], again: Mapping[str, Message]) -> list[Held]:
    """The messages of a session, in order.

    Args:
        turns: its turns.
        again: by id, what was forgotten of it and is to be remembered anew.
    """
    said = [Held(message, str(message.id), turn.id) for turn in turns for message in turn.messages]
    names = {each.name for each in said}
    return [*said, *(Held(message, name, None) for name, message in again.items() if name not in names)]


def match_messages(given: Words, window: Sequence[Held], session: Callable[[], Sequence[Held]]) -> dict[int, Held]:
    """For the place of each message that the session holds, what it holds; no message of it is found twice.

    Messages are matched by id and words, and otherwise by words in the order of the conversation. What follows the last
    message that is found may have been said before: it is matched only with what follows that message, or as the
    answer to a question that is found.

    Args:
        given: messages in order with their places, redacted as the bank does.
        window: the messages of the window.
        session: gives all messages of the session, in order; called only where the window does not hold all.
    """
    found = _by_id(given, window)
    found |= _by_words(_besides(given, found), _besides_names(window, found))
    if len(found) == len(given):
        return found
    held = list(session())
    found |= _by_id(_besides(given, found), _besides_names(held, found))
    _extend(found, given, held)
    _extend(found, given[::-1], held[::-1])
    last, numbers = max(found, default=-1), {each.name: number for number, each in enumerate(held)}
    end = max((numbers.get(each.name, -1) for each in found.values()), default=-1)
    before = [(place, message) for place, message in _besides(given, found) if place < last]
    found |= _by_words(before, _besides_names(held, found))
    after = [each for each in given if each[0] > last]
    found |= _by_words(after, _besides_names(held[end + 1 :], found))
    return found | _late_answers(_besides(given, found), held, found)


def _extend(found: dict[int, Held], given: Words, held: Sequence[Held]) -> None:
    """Find messages that follow one that is found, in a row, as they do in the session."""
    numbers, taken = {each.name: number for number, each in enumerate(held)}, {each.name for each in found.values()}
    number: int | None = None
    for place, message in given:
        if place in found:
            number = numbers.get(found[place].name)
            continue
        number = number + 1 if number is not None and number + 1 < len(held) else None
        if number is None or held[number].name in taken or words_of(held[number].message) != words_of(message):
            number = None
        else:
            found[place] = held[number]
            taken.add(held[number].name)


def _late_answers(given: Words, held: Sequence[Held], found: Mapping[int, Held]) -> dict[int, Held]:
    """Answers that are given as they came, behind the next question, and that the session holds with their own."""
    turns, late = {each.turn for each in found.values() if each.turn}, dict[int, Held]()
    left = {words_of(each.message): each for each in _besides_names(held, found) if each.turn in turns}
    for place, message in given:
        if message.role == "assistant" and (answer := left.pop(words_of(message), None)) is not None:
            late[place] = answer
    return late


def _by_id(given: Words, held: Sequence[Held]) -> dict[int, Held]:
    by_id = {(each.message.id, *words_of(each.message)): each for each in held if each.message.id}
    return {place: each for place, said in given if (each := by_id.get((said.id or "", *words_of(said)))) is not None}


def _by_words(given: Words, held: Sequence[Held]) -> dict[int, Held]:
    old, new = [words_of(each.message) for each in held], [words_of(message) for _, message in given]
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return {given[each.b + step][0]: held[each.a + step] for each in blocks for step in range(each.size)}


def _besides(given: Words, found: Mapping[int, Held]) -> Words:
    return [each for each in given if each[0] not in found]


def _besides_names(held: Sequence[Held], found: Mapping[int, Held]) -> list[Held]:
    names = {each.name for each in found.values()}
    return [each for each in held if each.name not in names]


def words_of(message: Message) -> tuple[str, str]:
    """What a message is known by: front ends and chat engines cut spaces off its ends."""
    return message.role, message.text.strip()
