"""Memories put into a request to an agent's model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import BaseTool

from secom_core.errors import MissingExtra, warn_degraded

from .messages import latest_question
from .prompt_caching import MARK, mark_for

try:
    from langchain.agents.middleware import ModelRequest
except ImportError as error:
    raise MissingExtra("SecomMiddleware", "langchain") from error


def inserted(
    request: ModelRequest[Any], block: str, place: Literal["human", "system"], own: Sequence[BaseTool] = ()
) -> ModelRequest[Any]:
    """The request with a block of memories; as it is where the block is empty.

    Args:
        request: to the model.
        block: the memories.
        place: behind the user's latest message, or at the end of the system message.
        own: the memory's tools, of which the agent has others in their place where these have the same names.

    Warns:
        DegradedWarning: it has.
    """
    mine = {each.name: _function_of(each) for each in own}
    given = (each for each in request.tools if isinstance(each, BaseTool))
    # Other middleware may copy a tool, but what it calls stays the same.
    others = [each.name for each in given if each.name in mine and _function_of(each) is not mine[each.name]]
    if others:
        warn_degraded(
            f"the agent has another tool in the place of the memory's {', '.join(others)}, as of two tools with one "
            "name it keeps one; give tools=False, and the memory's tools other names: "
            "create_search_memory_tool(bank, name='search_conversations')"
        )
    if not block:
        return request
    question = latest_question(request.messages)
    # Where another middleware has cut the user's message away, there is only the system message.
    if place == "system" or question is None:
        return request.override(system_message=_with_system_block(request.system_message, block))
    asked = _with_block(question, block, mark_for(request))
    messages = [asked if message is question else message for message in request.messages]
    return request.override(messages=cast("Any", messages))


def _function_of(tool: BaseTool) -> Any:
    return getattr(tool, "func", None)


def _with_system_block(system: SystemMessage | None, block: str) -> SystemMessage:
    """The system message as it was, to the byte, and the block behind it."""
    blocks = _blocks(system.content) if system is not None and system.content else []
    content: Any = [*blocks, _text(f"\n\n{block}" if blocks else block)]
    return SystemMessage(content) if system is None else system.model_copy(update={"content": content})


def _with_block(question: HumanMessage, block: str, mark: Mapping[str, str] | None) -> HumanMessage:
    """The user's message with the block behind it: what stands before, the next request has again, word for word."""
    own = _blocks(question.content)
    if mark and own and isinstance(own[-1], dict):
        own[-1] = {**own[-1], MARK: mark}
    # Models and middleware that join the parts of a message put nothing between them.
    return question.model_copy(update={"content": [*own, _text(f"\n\n{block}")]})


def _blocks(content: str | list[Any]) -> list[Any]:
    return [_text(content)] if isinstance(content, str) else list(content)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
