"""A follow-up rewritten as a question that stands alone, to search by: "And where does she live?" names the sister."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..conversation import USER_ROLES, Message
from ..errors import BadReply, InvalidInput, ModelError, warn_degraded
from ..text.non_answers import is_refusal
from .flow import AsyncChatModel, ChatModel, Procedure, Prompt, arun, run
from .prompt_texts import PromptTexts
from .quoting import fitted, quoted, shortened, unquoted, without_thoughts
from .records import records_in
from .reply import cut_off

_TEXTS: Final = PromptTexts(__package__, "rewriting_prompt.txt")
_LONGEST: Final = 300
"""How many characters a question has at most; a reply that is longer answers, or explains."""

_CHAT_TOKENS: Final = 1200
_MESSAGE_TOKENS: Final = 400
_REPLY_TOKENS: Final = 200
_OPEN: Final = re.compile(r"<\s*question\s*>", re.I)
_CLOSE: Final = re.compile(r"<\s*/\s*question\s*>", re.I)
_TAG: Final = re.compile(r"<\s*/?\s*(?:question|message|chat)\s*>", re.I)
_LABELLED: Final = re.compile(r"^[^\w\n]*(?:[\w-]+ ){0,2}question\W{0,4}:[^\w\n]*([^\n]+[?？؟])[^\w\n]*$", re.I | re.M)
_END: Final = re.compile(r"[.?!…。？！؟][\"'”’»」』)\]]*\Z")
_REPLIES: Final = frozenset({"assistant", "ai"})
_SPEAKING: Final = USER_ROLES | {""}


class QueryRewriter:
    """Makes the last message of a dialogue a question that stands alone; one call of a language model.

    Where the model fails, or its reply cannot be used, the message itself is what is searched for, with one
    `DegradedWarning`. The first message of a dialogue is never rewritten, and asks no model.

    Args:
        model: the language model; `rewrite` needs its sync side.
        messages: how many messages before the last one the model sees at most.

    Raises:
        InvalidInput: for what is no chat model, or a number of messages below 1.
    """

    def __init__(self, model: ChatModel | AsyncChatModel, *, messages: int = 6) -> None:
        if not isinstance(model, (ChatModel, AsyncChatModel)):
            raise InvalidInput(f"a rewriter asks a chat model (secom_core.llm.flow.ChatModel), got {model!r}")
        if not isinstance(messages, int) or isinstance(messages, bool) or messages < 1:
            raise InvalidInput(f"messages is a whole number from 1 on, got {messages!r}")
        self._model, self._messages = model, messages

    def rewrite(self, messages: Sequence[Message]) -> str:
        """What the user's last message asks, in words that stand alone.

        Args:
            messages: the dialogue, oldest first; what follows the user's last message is passed over.

        Returns:
            The question; empty where the user has said nothing.

        Raises:
            InvalidInput: the model has no sync side.
        """
        if not isinstance(self._model, ChatModel):
            raise InvalidInput(
                f"{self._model!r} has no complete(), so it cannot be called here; await arewrite instead"
            )
        return run(self.procedure(messages), self._model)

    async def arewrite(self, messages: Sequence[Message]) -> str:
        """As `rewrite`, without blocking the event loop while the model thinks."""
        return await arun(self.procedure(messages), self._model)

    def procedure(self, messages: Sequence[Message]) -> Procedure[str]:
        """The question to the model, for `secom_core.llm.flow`; no `ModelError` leaves it."""
        before, question = _split(messages)
        if not before or not question:
            return question
        try:
            return read_question((yield rewriting_prompt(before[-self._messages :], question)))
        except ModelError as error:
            warn_degraded("the language model did not rewrite the question, which is searched for as it is", error)
            return question


def rewriting_prompt(before: Sequence[Message], question: str) -> Prompt:
    """Ask for a message in words that stand alone.

    Args:
        before: what was said before it, oldest first; long messages lose their middles.
        question: the user's message.
    """
    lines = fitted([quoted(message.line) for message in before], _CHAT_TOKENS)
    text = _TEXTS.part("task", before="\n".join(lines), question=shortened(quoted(question), _MESSAGE_TOKENS))
    return Prompt(text, _TEXTS.part("system"), "rewrite", _REPLY_TOKENS)


def read_question(reply: str) -> str:
    """The question in a reply, on one line.

    It stands between the tags, in a JSON object under ``question``, or behind a label. A reply without any of these is
    taken where it is one line that ends as a sentence does.

    Raises:
        BadReply: where there are no words, or it is a refusal, cut off, or too long for a question.
    """
    answer = without_thoughts(reply).strip()
    blocks = [block for part in _CLOSE.split(answer)[:-1] if (block := _OPEN.split(part)[-1]).strip()]
    blocks = blocks or [
        each for record in records_in(answer, bool).records if isinstance(each := record.get("question"), str)
    ]
    blocks = blocks or ([] if cut_off(reply) else _LABELLED.findall(answer))
    text = " ".join(unquoted(_TAG.sub(" ", blocks[-1] if blocks else answer)).split()).strip('*"')
    if not any(character.isalnum() for character in text):
        raise BadReply("there are no words in the reply", reply)
    if is_refusal(text):
        raise BadReply("the model refused", reply)
    if len(text) > _LONGEST:
        raise BadReply(f"the reply has {len(text)} characters, a question at most {_LONGEST}", reply)
    if not blocks and ("\n" in answer or not _END.search(text) or cut_off(reply)):
        raise BadReply("the reply has no end", reply)
    return text


def _split(messages: Sequence[Message]) -> tuple[list[Message], str]:
    """What user and assistant said before the user's last message, and that message's words."""
    spoken = [message for message in messages if message.text.strip() and message.role in _REPLIES | _SPEAKING]
    while spoken and spoken[-1].role in _REPLIES:
        spoken.pop()
    return (spoken[:-1], spoken[-1].text.strip()) if spoken else ([], "")
