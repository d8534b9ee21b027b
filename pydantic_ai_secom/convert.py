"""Messages of Pydantic AI: how they are kept, what is remembered of them, and where memories stand among them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolReturn,
    ToolReturnPart,
    UserPromptPart,
)

from secom_core.agents import LogEntry
from secom_core.context import without_recalled
from secom_core.conversation import Message


class ToolContents:
    """What tools give the model to read beside their results: Pydantic AI sends it in the name of the user."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def note(self, result: object) -> None:
        """Take in what a tool has returned."""
        if isinstance(result, ToolReturn) and result.content:
            self._seen.add(hash(_text(UserPromptPart(result.content))))

    def note_kept(self, message: ModelMessage, remembered: str) -> None:
        """Take in a message that another object has kept: what it did not remember is what a tool gave."""
        texts = map(_text, self.prompts(message) if _answers_tools(message) else ())
        self._seen |= {hash(text) for text in texts if not text or text not in remembered}

    def prompts(self, message: ModelMessage) -> list[UserPromptPart]:
        """What the user says in a message."""
        prompts = [part for part in message.parts if isinstance(part, UserPromptPart)]
        if not prompts or not _answers_tools(message):
            return prompts
        return [part for part in prompts if hash(_text(part)) not in self._seen]


def _answers_tools(message: ModelMessage) -> bool:
    return any(isinstance(part, ToolReturnPart) for part in message.parts)


def as_entries(messages: Sequence[ModelMessage], contents: ToolContents) -> list[LogEntry]:
    """Messages as they are kept: the words of users and models are remembered, and every message is kept whole.

    An answer that Pydantic AI sent back to the model, as a validator of the output had it, is not remembered.
    """
    following = [*messages[1:], None]
    return [
        LogEntry(_body(message), said(message, contents) if after is None or not _sends_back(after) else None)
        for message, after in zip(messages, following, strict=True)
    ]


def _sends_back(message: ModelMessage) -> bool:
    kinds = {part.part_kind: part for part in message.parts}
    of_answer = getattr(kinds.get("retry-prompt"), "tool_name", "") is None
    return isinstance(message, ModelRequest) and ("retry-feedback" in kinds or of_answer)


def _body(message: ModelMessage) -> Mapping[str, Any]:
    [body] = json.loads(ModelMessagesTypeAdapter.dump_json([message]))
    return dict(body)


def as_messages(bodies: Sequence[Mapping[str, Any]]) -> list[ModelMessage]:
    """The messages that `as_entries` keeps, whole again."""
    return ModelMessagesTypeAdapter.validate_json(json.dumps(bodies))


def as_body(message: Message) -> Mapping[str, Any]:
    """A message that says what is remembered; what else Pydantic AI keeps of an answer is not known."""
    if message.role == "assistant":
        answer = ModelResponse([TextPart(message.text)])
        return _body(replace(answer, timestamp=message.at) if message.at else answer)
    prompt = UserPromptPart(message.text)
    return _body(ModelRequest([replace(prompt, timestamp=message.at) if message.at else prompt]))


def said(message: ModelMessage, contents: ToolContents) -> Message | None:
    """What a message says; nothing of calls of tools, their results and contents, thoughts and instructions."""
    if isinstance(message, ModelResponse):
        texts, role, at = [part.content for part in message.parts if isinstance(part, TextPart)], "assistant", None
    else:
        prompts = contents.prompts(message)
        texts, role = [_text(part) for part in prompts], "user"
        at = prompts[0].timestamp if prompts else None
    text = without_recalled("\n".join(texts))
    return Message(text, role=role, at=at or message.timestamp) if text.strip() else None


def _text(prompt: UserPromptPart) -> str:
    if isinstance(prompt.content, str):
        return prompt.content
    words = [each.content if isinstance(each, TextContent) else each for each in prompt.content]
    return "\n".join(word for word in words if isinstance(word, str))


def dialogue_of(messages: Sequence[ModelMessage], contents: ToolContents) -> list[Message]:
    """What users and models say, in order, up to the user's last message; nothing if that message has no words."""
    place = last_prompt(messages, contents)
    if place is None or said(messages[place], contents) is None:
        return []
    return [message for each in messages[: place + 1] if (message := said(each, contents)) is not None]


def with_block(messages: Sequence[ModelMessage], block: str, contents: ToolContents) -> list[ModelMessage]:
    """New messages with the recalled memories before the user's last prompt; those that are given stay as they are."""
    place = last_prompt(messages, contents)
    request = messages[place] if place is not None else None
    if place is None or not isinstance(request, ModelRequest):
        return list(messages)
    prompt = contents.prompts(request)[0]
    first = next(number for number, part in enumerate(request.parts) if part is prompt)
    parts = [*request.parts[:first], UserPromptPart(block), *request.parts[first:]]
    return [*messages[:place], replace(request, parts=parts), *messages[place + 1 :]]


def as_of(history: Sequence[ModelMessage], run: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The history with the dynamic system prompts of a run in the place of earlier ones, as Pydantic AI does it.

    Prompts that are appended where they change are left as they are (`after`).
    """
    dynamic = [part for part in _system_prompts(run) if part.dynamic_ref and part.context_id is None]
    prompts = {str(part.dynamic_ref): part for part in dynamic}
    return [_with_prompts(message, prompts) for message in history]


def after(history: Sequence[ModelMessage], messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages of a run after the history: its system prompt stands at the beginning of the history already.

    Of the system prompts of the run, those stay that are appended and differ from what the history says last.
    """
    if not history:
        return list(messages)
    latest = {part.dynamic_ref: part.content for part in _system_prompts(history) if part.context_id is not None}
    for message in messages:
        if isinstance(message, ModelRequest):
            message.parts = [part for part in message.parts if not _is_said_before(part, latest)]
    return [*history, *messages]


def _system_prompts(messages: Sequence[ModelMessage]) -> list[SystemPromptPart]:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    return [part for request in requests for part in request.parts if isinstance(part, SystemPromptPart)]


def _is_said_before(part: ModelRequestPart, latest: Mapping[str | None, str]) -> bool:
    return isinstance(part, SystemPromptPart) and latest.get(part.dynamic_ref, part.content) == part.content


def _with_prompts(message: ModelMessage, prompts: Mapping[str, SystemPromptPart]) -> ModelMessage:
    if not isinstance(message, ModelRequest) or not prompts:
        return message
    parts = [
        prompts.get(part.dynamic_ref or "", part) if isinstance(part, SystemPromptPart) else part
        for part in message.parts
    ]
    return replace(message, parts=parts)


def last_prompt(messages: Sequence[ModelMessage], contents: ToolContents) -> int | None:
    """The place of the request with the user's last prompt; nothing if there is none."""
    for place in range(len(messages) - 1, -1, -1):
        if isinstance(messages[place], ModelRequest) and contents.prompts(messages[place]):
            return place
    return None
