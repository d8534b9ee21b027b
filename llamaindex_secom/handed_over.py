"""What LlamaIndex's ``Memory`` hands over to its blocks: messages that no longer fit in its window."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final, TypeAlias

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus

from secom_core.conversation import Message
from secom_core.errors import InvalidInput

from .convert import to_messages
from .known_messages import words_of

SESSION_KEY: Final = "session_id"
"""The key under which ``Memory`` names the session of a message, in its ``additional_kwargs``."""

UNNAMED_SESSION: Final = "chat"
"""The session of messages that come without one."""


def messages_by_session(chats: Iterable[ChatMessage], *, tools: bool) -> dict[str, list[Message]]:
    """The messages worth remembering, by the session that ``Memory`` marked them with; the marks are taken off.

    Args:
        chats: the messages; they are changed, so hand over copies.
        tools: keep tool calls and results.
    """
    by_session: dict[str, list[Message]] = {}
    for chat in chats:
        session = str(chat.additional_kwargs.pop(SESSION_KEY, None) or UNNAMED_SESSION)
        by_session.setdefault(session, []).extend(_messages(chat, tools=tools))
    return {session: messages for session, messages in by_session.items() if messages}


def _messages(chat: ChatMessage, *, tools: bool) -> list[Message]:
    try:
        return to_messages([chat], tools=tools)
    except InvalidInput:
        # A timestamp that is no time: the words are worth more than when they were said.
        return to_messages([chat.model_copy(update={"additional_kwargs": {}})], tools=tools)


async def hand_over(memory: Memory) -> None:
    """Give all blocks of a ``Memory`` what its window still holds, and archive it in the chat store, as on overflow.

    Args:
        memory: whose session ends.
    """
    messages = await memory.aget_all(status=MessageStatus.ACTIVE)
    if not messages:
        return
    session = memory.session_id
    blocks = memory.memory_blocks
    await asyncio.gather(*(each.aput(messages, from_short_term_memory=True, session_id=session) for each in blocks))
    await memory.sql_store.archive_oldest_messages(session, n=len(messages))


# -- a history that is handed over again ------------------------------------------------------------------------------

_Key: TypeAlias = tuple[str, str | None, str | None]
_Exchange: TypeAlias = Sequence[_Key]

_IN_A_ROW: Final = 3
"""So many exchanges, each with the same answer, are not said again by chance."""


def new_of(given: Sequence[Message], held: Sequence[Message]) -> list[int]:
    """The places of the messages that are new: all but those of a history that is handed over again.

    A history is known by its exchanges, and an exchange by the user's message and the last answer: front ends hand over
    what was said, without what an agent said beside its calls of tools. It comes again where all exchanges are held in
    a row, where the first ones are those with which the session ends or begins, or where two are held that follow one
    another. Then what is held is not new, in whatever order. What is said again in any other way is new, and so is a
    user's message that comes alone. An id, where a message has one, counts for more than the words.

    Args:
        given: messages in order, redacted as the bank does.
        held: those of the session, in order; one that is there twice, stored and waiting, counts once.
    """
    held = list({each.id or place: each for place, each in enumerate(held)}.values())
    ids = {message.id for message in given if message.id}
    new, old = _exchanges(given, ids), _exchanges(held, ids)
    found = _in_order(new, old)
    begun = _begun(new, old, found)
    if not (begun or _is_history(new, old, found)):
        return list(range(len(given)))
    known = {*found, *_elsewhere(new, old, found)}
    again = [place in known or nth < begun.get(place, 0) for place, each in enumerate(new) for nth in range(len(each))]
    return [place for place, is_known in enumerate(again) if not is_known]


def _exchanges(messages: Sequence[Message], ids: Collection[str]) -> list[_Exchange]:
    """The messages as what they are known by, in runs that begin with a user's; the first may begin otherwise."""
    runs: list[list[_Key]] = []
    for each in messages:
        role, words = words_of(each)
        if not runs or role == "user":
            runs.append([])
        runs[-1].append((role, each.id, None) if each.id in ids else (role, None, words))
    return list(runs)


def _ends(exchanges: Sequence[_Exchange]) -> list[tuple[_Key, _Key]]:
    return [(each[0], each[-1]) for each in exchanges]


def _is_asked(exchange: _Exchange) -> bool:
    return exchange[0][0] == "user"


def _in_order(new: Sequence[_Exchange], old: Sequence[_Exchange]) -> dict[int, int]:
    """By the place of each exchange that is held, its place there; also where the question or the answer is cut off."""
    blocks = SequenceMatcher(None, _ends(old), _ends(new), autojunk=False).get_matching_blocks()
    found = {block.b + step: block.a + step for block in blocks for step in range(block.size)}
    if new and old and 0 not in found and not _is_asked(new[0]):
        place = found.get(1, len(old)) - 1
        if place >= 0 and old[place][-len(new[0]) :] == new[0]:
            found[0] = place
    last = len(new) - 1
    if last not in found and last - 1 in found and len(new[last]) == 1:
        place = found[last - 1] + 1
        if place < len(old) and old[place][0] == new[last][0]:
            found[last] = place
    return found


def _begun(new: Sequence[_Exchange], old: Sequence[_Exchange], found: Mapping[int, int]) -> dict[int, int]:
    """The exchange that goes on where the session ends, and how many of its messages are held."""
    place = max(found, default=-1) + 1
    follows = bool(old) and (place == 0 or found[place - 1] == len(old) - 2)
    goes_on = follows and place < len(new) and new[place][: len(old[-1])] == old[-1] and _is_asked(old[-1])
    return {place: len(old[-1])} if goes_on and len(new[place]) > len(old[-1]) else {}


def _is_history(new: Sequence[_Exchange], old: Sequence[_Exchange], found: Mapping[int, int]) -> bool:
    row = [place for place in range(len(new)) if 0 in found and found.get(place) == found[0] + place]
    row = [place for nth, place in enumerate(row) if nth == place]
    size, ends = sum(len(new[place]) for place in row), bool(row) and found[row[-1]] == len(old) - 1
    if (ends or len(row) == len(new)) and (size > 1 or (size and ends and new[0][0][0] == "assistant")):
        return True
    begins = found.get(0) == 0 and (len(new) > 1 or len(new[0]) > 1)
    whole = {place: found[place] for place in found if _is_asked(new[place]) and len(new[place]) > 1}
    return begins or any(
        all(whole.get(place + step) == whole[place] + step for step in range(_IN_A_ROW)) for place in whole
    )


def _elsewhere(new: Sequence[_Exchange], old: Sequence[_Exchange], found: Mapping[int, int]) -> set[int]:
    """The places of exchanges that are held, too, though not in this order: what was forgotten and remembered again."""
    left = Counter(ends for place, ends in enumerate(_ends(old)) if place not in found.values())
    known = set()
    for place, ends in enumerate(_ends(new)):
        if place not in found and left[ends]:
            known.add(place)
            left[ends] -= 1
    return known
