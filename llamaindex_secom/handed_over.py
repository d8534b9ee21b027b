"""What LlamaIndex's ``Memory`` hands over to its blocks: messages that no longer fit in its window."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import Memory
from llama_index.core.storage.chat_store.base_db import MessageStatus

from secom_core.conversation import Message
from secom_core.errors import InvalidInput

from .convert import to_messages

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
