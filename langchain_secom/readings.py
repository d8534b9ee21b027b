"""What was made of a thread's messages, which an agent's memory reads several times a turn."""

from __future__ import annotations

from langchain_core.messages import BaseMessage

from secom_core.conversation import Message

from .convert import is_plain, to_message
from .messages import stable_id


class Readings:
    """Converts the messages of one turn's thread, and names them, each once.

    A message is known by the object that it is. What has other words by now is read again.
    """

    def __init__(self) -> None:
        # What is known is held, so that no other object gets its number.
        self._read: dict[int, tuple[BaseMessage, object, str | None, str | None, Message]] = {}
        self._named: dict[int, tuple[Message, str, str]] = {}

    def message(self, message: BaseMessage) -> Message:
        """As `to_message`."""
        if not is_plain(message):
            return to_message(message)
        known = self._read.get(id(message))
        if known is not None:
            read, words, number, name, made = known
            if read is message and words is message.content and (number, name) == (message.id, message.name):
                return made
        made = to_message(message)
        self._read[id(message)] = message, message.content, message.id, message.name, made
        return made

    def stable_id(self, session: str, message: Message) -> str:
        """As `langchain_secom.messages.stable_id`."""
        known = self._named.get(id(message))
        if known is None or known[0] is not message or known[1] != session:
            known = self._named[id(message)] = message, session, stable_id(session, message)
        return known[2]
