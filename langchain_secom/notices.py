"""Messages in a thread that LangChain and packages on it write themselves: neither the model nor a tool said them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

_IN_PLACE_OF_AN_ANSWER: Final = re.compile(
    r"Model call limits exceeded: "
    r"|(Tool|'[^']+' tool) call limit reached: "
    r"|Model call failed after \d+ attempts? with "
    r"|Agent stopped due to (max iterations|iteration limit or time limit)\.\Z"
    r"|Sorry, need more steps to process this request\.\Z"
)
_IN_PLACE_OF_A_RESULT: Final = re.compile(
    r"Returning structured response: "
    r"|Tool call limit exceeded\. Do not "
    r"|Execution stopped before this tool call could run "
    r"|User rejected the tool call for `[^`]*` with id "
    r"|Tool call \S+ with id \S+ (could not be executed|did not complete) - "
    r"|Error: .*\n Please fix your mistakes\.\Z"
    r"|Error (invoking|executing) tool '[^']+' with kwargs .*\n Please fix the error and try again\.\Z"
    r"|The tool call `[^`]*` was blocked because it was classified as risky \(probability: "
    r"|Error: The `write_todos` tool should never be called multiple times in parallel\. "
    r"|Error: \S+ is not a valid tool, try one of \[[^\]]*\]\.\Z"
    r"|Tool '[^']+' failed after \d+ attempts? with .*\. Please try again\.\Z",
    re.S,
)
_REVIEWED: Final = re.compile(r"User rejected the tool call for `[^`]*` with reason: (?P<reason>.+)", re.S)
_EDITED: Final = re.compile(
    r"Note: a human reviewer replaced this tool call before it ran\..* Executed instead: (?P<name>\S+) with arguments "
    r"(?P<args>\{.*?\})\.(\n\nTool response:\n?(?P<result>.*))?",
    re.S,
)

_HANDED_OVER: Final = re.compile(r"Successfully transferred (?P<back>back )?to (?P<agent>.+)")
_HANDED_BACK: Final = "__is_handoff_back"
_HANDED_TO: Final = "__handoff_destination"
_FRAMES: Final = "read_file_media_result"
"""Marks the message by which a tool of deepagents shows the model what a video holds."""

REVIEWER: Final = "reviewer"
"""The speaker of what a person says who refuses a call of a tool, or answers in its place."""


def is_notice(message: BaseMessage) -> bool:
    """Whether a framework wrote the message, as its words tell: a limit that is reached, a call that was not made.

    What a model says is never taken for one: its answers name the model, or the tokens that they took.
    """
    if message.response_metadata.get(_HANDED_BACK):
        return True
    if isinstance(message, HumanMessage):
        return bool(message.additional_kwargs.get(_FRAMES))
    if isinstance(message, ToolMessage):
        return is_handoff(message) or _IN_PLACE_OF_A_RESULT.match(str(message.text)) is not None
    if not isinstance(message, AIMessage) or message.tool_calls or _of_a_model(message):
        return False
    text = message.content if isinstance(message.content, str) else str(message.text)
    return _IN_PLACE_OF_AN_ANSWER.match(text) is not None


def is_handoff(result: ToolMessage) -> bool:
    """Whether a result only says that one agent hands over to another (langgraph-supervisor, langgraph-swarm)."""
    found = _HANDED_OVER.fullmatch(str(result.text))
    if found is None:
        return False
    agent = "_".join(found["agent"].split()).lower()
    named = f"transfer_{'back_' if found['back'] else ''}to_{agent}"
    return result.name == named or not result.response_metadata.keys().isdisjoint((_HANDED_TO, _HANDED_BACK))


def _of_a_model(message: AIMessage) -> bool:
    """Whether a provider says something of the message; what the memory notes of it begins with its own name."""
    return bool(message.usage_metadata) or any(not key.startswith("secom_") for key in message.response_metadata)


def reviewers_words(result: BaseMessage, text: str) -> str | None:
    """What a person said who refused a call of a tool, or answered in its place; nothing in any other result.

    Args:
        result: of the tool; LangChain notes in it what was decided.
        text: its words.
    """
    decided = result.additional_kwargs.get("lc_data")
    if isinstance(decided, Mapping) and decided.get("decision") == "respond":
        return text
    found = _REVIEWED.fullmatch(text)
    return found["reason"] if found else None


def edited_call(result: str) -> tuple[dict[str, Any], str] | None:
    """The call that a person put in the place of the model's, and what it gave; nothing of any other result."""
    found = _EDITED.fullmatch(result)
    if found is None:
        return None
    try:
        return {"name": found["name"], "args": json.loads(found["args"])}, found["result"] or ""
    except ValueError:
        return None
