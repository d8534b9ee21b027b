"""What a new history says was edited away, and what is forgotten for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import dropwhile, takewhile
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from secom_core.bank import MemoryBank
from secom_core.conversation import Message, Scope, Turn
from secom_core.errors import DuplicateId, shorten

from .convert import text_of


def edited_away(old: Sequence[ChatMessage], new: Sequence[ChatMessage]) -> range:
    """Which messages of a chat were edited away, regenerated or taken back, by their places in ``old``.

    That is what a new history says by beginning as the old one did, with something of the user in it, and going on
    otherwise: with nothing, or with another message of the same role. In the middle, as many messages of the same roles
    have taken the place of others. A message with an id, such as ``additional_kwargs["id"]``, is edited where its text
    is another one. A history that begins otherwise was cut short, and nothing is edited away.

    Args:
        old: the chat as it is.
        new: the chat as it is handed over.
    """
    before = _alike(old, new)
    after = _alike(old[before:][::-1], new[before:][::-1])
    gone, come = range(before, len(old) - after), new[before : len(new) - after]
    roles = [old[place].role for place in gone]
    if after:
        edited = roles == [each.role for each in come]
    else:
        same_id = bool(gone and come) and _id(come[0]) is not None and _id(come[0]) == _id(old[before])
        begins_alike = any(each.role == MessageRole.USER for each in old[:before]) or same_id
        edited = begins_alike and (not come or roles[:1] == [come[0].role])
    return gone if edited else range(0)


def _alike(one: Sequence[ChatMessage], other: Sequence[ChatMessage]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: _said(pair[0]) == _said(pair[1]), pairs))


def _said(message: ChatMessage) -> tuple[str, str]:
    return message.role.value, text_of(message, tools=True).strip()


def _id(message: ChatMessage) -> Any:
    return message.additional_kwargs.get("id")


# -- what is forgotten ------------------------------------------------------------------------------------------------


def turns_from(bank: MemoryBank, scope: Scope, session: str, names: Collection[str]) -> list[Turn]:
    """The turns of a session from the first one on that holds one of these messages; none where no turn does.

    Raises:
        StoreError: the store failed.
    """
    turns = bank.turns(scope, session)
    return list(dropwhile(lambda turn: set(names).isdisjoint(each.id for each in turn.messages), turns))


def check_ids(bank: MemoryBank, scope: Scope, given: Sequence[Message], *, gone: Collection[str]) -> None:
    """Refuse messages with the id of another one of the scope, but for those that are to be forgotten.

    Args:
        bank: where the others are.
        scope: whose memory it is.
        given: the messages, redacted as the bank does.
        gone: the ids of those that are to be forgotten.

    Raises:
        DuplicateId: with the id and what the other message says.
        StoreError: the store failed.
    """
    said = {message.id: (message.role, message.text) for message in given if message.id is not None}
    for turn in bank.turns(scope) if said else ():
        for each in turn.messages:
            if each.id in said and each.id not in gone and said[each.id] != (each.role, each.text):
                raise DuplicateId(
                    f"id {each.id!r} already belongs to another message of this scope, which says "
                    f"{shorten(each.text)}; give the new one an id of its own, or none"
                )
