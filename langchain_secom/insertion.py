"""Memories put into a request to an agent's model."""

from __future__ import annotations

from typing import Any, Literal, cast

from langchain_core.messages import HumanMessage, SystemMessage

from secom_core.errors import MissingExtra

from .messages import latest_question

try:
    from langchain.agents.middleware import ModelRequest
except ImportError as error:
    raise MissingExtra("SecomMiddleware", "langchain") from error


def inserted(request: ModelRequest[Any], block: str, place: Literal["system", "human"]) -> ModelRequest[Any]:
    """The request with a block of memories; as it is where the block is empty.

    Args:
        request: to the model.
        block: the memories.
        place: at the end of the system message, or before the user's latest message.
    """
    if not block:
        return request
    question = latest_question(request.messages)
    # Where another middleware has cut the user's message away, there is only the system message.
    if place == "system" or question is None:
        return request.override(system_message=_appended(request.system_message, block))
    messages = [_prepended(message, block) if message is question else message for message in request.messages]
    return request.override(messages=cast("Any", messages))


def _appended(system: SystemMessage | None, block: str) -> SystemMessage:
    """The system message as it was, to the byte, and the block behind it: the prefix stays in prompt caches."""
    added = {"type": "text", "text": block}
    if system is None or not system.content:
        return SystemMessage(content=[added])
    return system.model_copy(update={"content": [*_blocks(system.content), added]})


def _prepended(message: HumanMessage, block: str) -> HumanMessage:
    return message.model_copy(update={"content": [{"type": "text", "text": block}, *_blocks(message.content)]})


def _blocks(content: str | list[Any]) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
