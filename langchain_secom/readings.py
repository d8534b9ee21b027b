"""What was made of a thread's messages, which an agent's memory reads several times a turn."""

from __future__ import annotations

from langchain_core.messages import BaseMessage

from secom_core.conversation import Message

from .convert import is_plain, to_message
from .messages import stable_id


class Readings:
    """Converts the messages of one turn's thread, and names them, each once.

    A message is known by what is read of it: hooks and other middlewares may copy it, or give it other words.
    """

    def __init__(self) -> None:
        self._read: dict[tuple[object, ...], Message] = {}
        self._named: dict[tuple[object, ...], str] = {}

    def message(self, message: BaseMessage) -> Message:
        """As `to_message`."""
        if not is_plain(message):
            return to_message(message)
        key = type(message), message.content, message.id, message.name
        known = self._read.get(key)
        if known is None:
            known = self._read[key] = to_message(message)
        return known

    def stable_id(self, session: str, message: Message) -> str:
        """As `langchain_secom.messages.stable_id`."""
        key = session, message.id, message.role, message.text
        known = self._named.get(key)
        if known is None:
            known = self._named[key] = stable_id(session, message)
        return known
