"""Answers of an agent's model: their citations read and taken out, and a note of the memory in their prompts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool

from secom_core.errors import MissingExtra

from .agent_turn import MEMORY_USE, OWNERS, REMEMBERED, AgentTurn, owner_of
from .answers import AnswerReader, joined
from .convert import DIRECT, STRUCTURED
from .impressions import cited_references, references
from .streaming import SHOWN

try:
    from langchain.agents.middleware import ModelResponse
except ImportError as error:
    raise MissingExtra("SecomMiddleware", "langchain") from error


def read_response(
    turn: AgentTurn, response: ModelResponse[Any], use: Mapping[str, int], markers: Literal["keep", "strip"]
) -> tuple[AgentTurn, ModelResponse[Any]]:
    """The response as the user gets it, and the turn with the citations in it.

    Args:
        turn: the current turn; citations are read if it is to cite.
        response: of the model.
        use: how much memory the prompt held; each answer gets it as metadata.
        markers: whether the user sees the citations.
    """
    result: list[BaseMessage] = []
    for message in response.result:
        if isinstance(message, AIMessage) and turn.cites:
            turn, message = _read(turn, message, markers)
        result.append(_counted(message, use) if isinstance(message, AIMessage) else message)
    return turn, replace(response, result=result)


def with_answer_noted(response: ModelResponse[Any], tools: Iterable[Any]) -> ModelResponse[Any]:
    """The response, whose calls say so where they are the answer, or their results will be.

    Args:
        response: of the model.
        tools: those that it may call.
    """
    if not any(isinstance(each, AIMessage) and each.tool_calls for each in response.result):
        return response
    direct = {tool.name: tool.return_direct for tool in tools if isinstance(tool, BaseTool)}
    is_structured = response.structured_response is not None
    return replace(response, result=[_noted(each, direct, is_structured) for each in response.result])


def _noted(message: BaseMessage, direct: Mapping[str, bool], is_structured: bool) -> BaseMessage:
    calls = getattr(message, "tool_calls", ())
    named = [direct[call["name"]] for call in calls if call["name"] in direct]
    mark = STRUCTURED if is_structured and calls else DIRECT if named and all(named) else None
    if mark is None:
        return message
    return message.model_copy(update={"response_metadata": {**message.response_metadata, mark: True}})


def with_owner(turn: AgentTurn, response: ModelResponse[Any]) -> ModelResponse[Any]:
    """The response, whose answers say whose turn they are of, and who remembers it, where no state of the agent can."""
    if not turn.inner:
        return response
    result = [_owned(each, turn) if isinstance(each, AIMessage) else each for each in response.result]
    return replace(response, result=result)


def _owned(message: AIMessage, turn: AgentTurn) -> AIMessage:
    metadata = dict(message.response_metadata)
    metadata[OWNERS] = sorted({*metadata.get(OWNERS, ()), owner_of(turn.scope)})
    if turn.writes:
        metadata[REMEMBERED] = {**metadata.get(REMEMBERED, {}), turn.remembered_as: turn.epoch and list(turn.epoch)}
    return message.model_copy(update={"response_metadata": metadata})


def _read(turn: AgentTurn, message: AIMessage, markers: Literal["keep", "strip"]) -> tuple[AgentTurn, AIMessage]:
    known = references(turn.recall) if turn.recall is not None else {}
    reader = AnswerReader(tuple(known), markers=markers)
    pieces = list(reader.read(message))
    citations = reader.finish()
    whole = cast("AIMessage", joined([*pieces, *reader.rest(cited_references(citations, known))]))
    if markers == "keep":
        metadata = {**whole.response_metadata, SHOWN: list(known)}
        whole = whole.model_copy(update={"response_metadata": metadata})
    return replace(turn, citations=citations), whole


def _counted(message: AIMessage, use: Mapping[str, int]) -> AIMessage:
    metadata = {**message.response_metadata, MEMORY_USE: dict(use)}
    return message.model_copy(update={"response_metadata": metadata})
