"""Marks in a request that say where a prefix ends that the provider of the model is to keep.

Anthropic's models keep a prompt up to marks, four at most, and find it again only where a mark stood. Memories stand
behind the user's words and change with every turn, so that the mark of a caching middleware, behind the last message,
is never found again: one at the user's own words is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool

from secom_core.errors import MissingExtra

try:
    from langchain.agents.middleware import ModelRequest
except ImportError as error:
    raise MissingExtra("SecomMiddleware", "langchain") from error


MARK: Final = "cache_control"
_MOST_MARKS: Final = 4
"""How many marks Anthropic takes in a request; it refuses one with more."""
_DEEP_AGENTS_FILES: Final = "memory_contents"
"""The state of the middleware of deepagents that puts one more mark into the system message."""


def mark_for(request: ModelRequest[Any]) -> Mapping[str, str] | None:
    """The mark for the user's own words; nothing where prompts are not kept, or the request has no room for one more.

    Where a caching middleware comes after the memory, its marks are not in the request yet: that it is there is read
    from the usage that the thread's latest answer reports.
    """
    if given := request.model_settings.get(MARK):
        return dict(given) if _marks(request) < _MOST_MARKS else None
    if getattr(request.model, "_llm_type", None) != "anthropic-chat" or _DEEP_AGENTS_FILES in request.state:
        return None
    kept = _kept_before(request)
    return kept if kept and _marks(request, to_come=True) < _MOST_MARKS else None


def _kept_before(request: ModelRequest[Any]) -> Mapping[str, str] | None:
    """The mark with which the prompt of the thread's latest answer was kept."""
    answers = (message for message in reversed(request.messages) if isinstance(message, AIMessage))
    usage: Any = next((answer.usage_metadata for answer in answers if answer.usage_metadata), {})
    details = usage.get("input_token_details") or {}
    if details.get("ephemeral_1h_input_tokens"):
        return {"type": "ephemeral", "ttl": "1h"}
    written = details.get("cache_creation") or details.get("ephemeral_5m_input_tokens")
    return {"type": "ephemeral"} if written else None


def _marks(request: ModelRequest[Any], *, to_come: bool = False) -> int:
    """How many marks the request has, or will have: on the last system block, on the last tool and in its settings."""
    system = _content(request.system_message)
    tools = [each.extras or {} if isinstance(each, BaseTool) else each for each in request.tools]
    if to_come:
        system, tools = system[:-1], tools[:-1]
    blocks = [*system, *tools, *(block for message in request.messages for block in _content(message))]
    marked = sum(isinstance(block, dict) and MARK in block for block in blocks)
    return marked + (3 if to_come else MARK in request.model_settings)


def _content(message: Any) -> list[Any]:
    return list(message.content) if message is not None and isinstance(message.content, list) else []
