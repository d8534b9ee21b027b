"""An agent's own steps where they come as plain messages: code that it wrote, and what came of running it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock

from secom_core.errors import InvalidInput, shorten

from .answers import is_answer
from .convert import text_of

UserHook = Callable[[ChatMessage], bool]
"""Tells whether a message with the role of the user has the user's own words. Async code calls it in a thread."""

Step = Literal["call", "result"]
"""What a message of an agent really is: a call of a tool, or its result."""

_TOOL: Final = "execute"
_RESULT: Final = "Result of executing the code given:"
_CODE: Final = re.compile(r"<execute>(.*?)</execute>", re.S)


def said_by_user(message: ChatMessage) -> bool:
    """Whether a message has the role of the user and is no result of a tool.

    Results with this role are those of the code that a ``CodeActAgent`` has run, and those that name their call, as
    LlamaIndex's router for AG-UI hands them over.
    """
    is_result = "tool_call_id" in message.additional_kwargs or text_of(message).lstrip().startswith(_RESULT)
    return message.role == MessageRole.USER and not is_result


def check_user_hook(hook: UserHook) -> UserHook:
    """Refuse a hook that cannot be called.

    Raises:
        InvalidInput: with what was given.
    """
    if not callable(hook):
        raise InvalidInput(f"by_user is a function from a chat message to True or False, got {shorten(hook)}")
    return hook


def steps_of(messages: Sequence[ChatMessage], by_user: UserHook = said_by_user) -> list[Step | None]:
    """For each message, which step of an agent it is where its role does not say so; nothing for all others.

    A message with the role of the user that ``by_user`` denies is a result. A message of the assistant is a call where
    it holds code between ``<execute>`` and ``</execute>``, as a ``CodeActAgent`` writes it, or where a result follows.

    Args:
        messages: in order, without recalled memory.
        by_user: says which words are the user's own.
    """
    results = [message.role == MessageRole.USER and not by_user(message) for message in messages]
    return [
        "result" if result else "call" if _is_call(message, followed=next_) else None
        for message, result, next_ in zip(messages, results, [*results[1:], False], strict=False)
    ]


def _is_call(message: ChatMessage, *, followed: bool) -> bool:
    return is_answer(message) and (followed or _CODE.search(text_of(message)) is not None)


def as_step(message: ChatMessage, step: Step | None) -> ChatMessage:
    """The message in the form that a framework's own calls and results have: code is no text, a result is a tool's.

    Args:
        message: the message; it is not changed.
        step: which step it is.
    """
    if step is None:
        return message
    if step == "result":
        return message.model_copy(update={"role": MessageRole.TOOL})
    text = text_of(message)
    code = "\n\n".join(each.strip() for each in _CODE.findall(text))
    said = _CODE.sub("", text).strip() if code else ""
    call = ToolCallBlock(tool_name=_TOOL, tool_kwargs={"code": code or text})
    return message.model_copy(update={"blocks": [*([TextBlock(text=said)] if said else []), call]})


def as_steps(messages: Sequence[ChatMessage], by_user: UserHook = said_by_user) -> list[ChatMessage]:
    """The messages, each in the form that `as_step` gives it."""
    return list(map(as_step, messages, steps_of(messages, by_user)))
