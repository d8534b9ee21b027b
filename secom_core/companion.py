"""A conversation that remembers, without a framework: recall, reply, take in what it cites (RMM, Algorithm 1)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Literal

from .bank import BackgroundWriter, MemoryBank, check_writer, remember_soon
from .bank.answers import ANSWER_WAITS_S, keeper_of, turns_of_session, wait_until_written
from .citations.markers import Citations, CitationStream, read_citations
from .citations.prompt import CITE_INSTRUCTION, CITE_REMINDER
from .citations.records import Lesson
from .context import citable
from .conversation import Message, check_scope
from .errors import ContextTooLong, InvalidInput, StoreError, StoreLocked, warn_degraded
from .llm.flow import AsyncChatModel, AsyncStreamingModel, ChatModel, Procedure, Prompt, StreamingModel, arun, run
from .llm.limits import room
from .llm.quoting import fitted, quoted, spoken
from .memory import Recall, RecallOptions
from .stores.database import waiting_at_most
from .text.terms import count_tokens

_TASK: Final = (
    "You take part in a conversation. What was said in it so far stands between <conversation> and </conversation>; "
    "reply to what stands after it, in the same language, and write nothing but the reply."
)
_SHARES: Final = (1, 2, 4)
"""By what the conversation so far is divided, a try after the other, where it is too long for the model."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with the memories that it was based on.

    Args:
        text: as it is shown.
        citations: what it cites of ``recall``.
        recall: what was recalled for it.
        lesson: what came of the citations; nothing where the bank was opened without ``citations``, nothing was
            recalled, or the store could not be written (`DegradedWarning`).
    """

    text: str
    citations: Citations
    recall: Recall
    lesson: Lesson | None = None


class Companion:
    """Replies with the help of a scope's memory, and records what its replies cite.

    What is said is remembered before the model is asked, so that nothing is lost if it fails; a reply that never
    came, or broke off, is neither remembered nor taken in. What a model thinks aloud before it replies is shown, and
    not remembered. No reply waits to write into a locked store longer than a few seconds: what was said waits in
    memory then, and is written as soon as it can be (`remember_soon`). One companion is one session: its calls must not
    overlap.

    Args:
        bank: where everything is remembered; opened with ``citations``, it keeps what replies cite.
        scope: whose memory it is; always given.
        model: the language model that replies.
        session: the name of the session; a new one unless given. An existing one is taken up where it ended.
        instructions: who replies, and how; begins the system prompt.
        token_budget: how long the recalled block may be.
        k: the largest number of recalled memories.
        window: how many of the session's latest turns the model is shown; the longest of them lose their middles where
            they are too long for it.
        markers: whether replies keep their markers or go without; what is remembered goes without.
        layers: the layers that take part in recalls, as in `MemoryBank.recall`.
        only_relevant: recall what answers alone, and leave the rest of the budget empty.
        where: a filter (`secom_core.filters`), such as ``{"role": "user"}``: nothing else is found or shown.
        also: other scopes that are searched too, such as a team's; the block says whose each memory is.
        history: also show statements that no longer hold, marked as such, after the ones that replaced them.
        writer: does in the background what follows remembering, the end of the session before this one included; done
            before a reply is given unless given.
    """

    def __init__(
        self,
        bank: MemoryBank,
        scope: Sequence[str],
        model: ChatModel | AsyncChatModel,
        *,
        session: str | None = None,
        instructions: str = "",
        token_budget: int = 1000,
        k: int | None = None,
        window: int = 6,
        markers: Literal["keep", "strip"] = "strip",
        layers: Sequence[str] = (),
        only_relevant: bool = False,
        where: Mapping[str, Any] | None = None,
        also: Sequence[Sequence[str]] = (),
        history: bool = True,
        writer: BackgroundWriter | None = None,
    ) -> None:
        if window < 1:
            raise InvalidInput(f"window is a number of turns from 1 on, got {window}")
        self._writer = check_writer(writer, bank, type(self).__name__)
        self._recall = RecallOptions(token_budget, k, layers, only_relevant, where, also, history)
        bank.layers.check(self._recall.layers)
        self.scope = check_scope(scope)
        self.session = session or uuid.uuid4().hex
        self._bank, self._model = bank, model
        self._instructions, self._window, self._markers = instructions, window, markers

    def reply(self, text: str) -> Answer:
        """Reply to a message.

        Raises:
            InvalidInput: the model has no sync side.
            ModelError: the model gave none; what was said is remembered.
        """
        if not isinstance(self._model, ChatModel):
            raise InvalidInput(f"{type(self._model).__name__} has no complete(); use areply")
        return run(self._procedure(text), self._model)

    async def areply(self, text: str) -> Answer:
        """As `reply`, without blocking the event loop."""
        return await arun(self._procedure(text), self._model)

    def stream(self, text: str) -> Iterator[str]:
        """Reply piece by piece; the reply is remembered, and its citations recorded, after the last piece.

        Raises:
            InvalidInput: the model cannot stream.
            ModelError: the model broke off; what was said is remembered, the half reply is not.
        """
        if not isinstance(self._model, StreamingModel):
            raise InvalidInput(f"{type(self._model).__name__} has no stream(); use reply")
        prompts, recall, reader = self._begin(text)
        pieces = []
        for attempt in _attempts(prompts):
            with attempt:
                for chunk in self._model.stream(attempt.prompt):
                    attempt.begun = True
                    pieces.append(reader.feed(chunk))
                    yield pieces[-1]
        visible = "".join(pieces)
        yield self._finish(text, recall, reader, visible).text[len(visible) :]

    async def astream(self, text: str) -> AsyncIterator[str]:
        """As `stream`, without blocking the event loop."""
        if not isinstance(self._model, AsyncStreamingModel):
            raise InvalidInput(f"{type(self._model).__name__} has no astream(); use areply")
        prompts, recall, reader = await asyncio.to_thread(self._begin, text)
        pieces = []
        for attempt in _attempts(prompts):
            with attempt:
                async for chunk in self._model.astream(attempt.prompt):
                    attempt.begun = True
                    pieces.append(reader.feed(chunk))
                    yield pieces[-1]
        visible = "".join(pieces)
        answer = await asyncio.to_thread(self._finish, text, recall, reader, visible)
        yield answer.text[len(visible) :]

    def close(self) -> None:
        """End the session, which settles its last segment and makes its layers; what waits in memory is written first.

        Raises:
            StoreError: the store failed, or was locked for longer than the bank waits; the session goes on.
        """
        wait_until_written(keeper_of(self._bank, self.scope, self._writer), self.scope)
        (self._writer or self._bank).close_session(self.scope, self.session)

    def _procedure(self, text: str) -> Procedure[Answer]:
        """The steps of one reply, for `secom_core.llm.flow`."""
        prompts, recall, reader = yield partial(self._begin, text)
        reply = ""
        for attempt in _attempts(prompts):
            with attempt:
                reply = yield attempt.prompt
        answer: Answer = yield partial(self._finish, text, recall, reader, reader.feed(reply))
        return answer

    def _begin(self, text: str) -> tuple[Iterator[Prompt], Recall, CitationStream]:
        """What is asked, and what instead where that is too long; what it rests on, and what reads the reply."""
        try:
            with waiting_at_most(ANSWER_WAITS_S):
                recall, said = self._found(text)
        except StoreLocked:
            # Nothing can be read either, as where PostgreSQL's tables are taken, or something has just expired.
            recall, said = self._found(text)
        self._remember(Message(text, role="user"))
        prompts = self._prompts(text, [message.line for message in said], citable(recall.text))
        return prompts, recall, CitationStream(recall.numbers, markers=self._markers)

    def _found(self, text: str) -> tuple[Recall, Sequence[Message]]:
        """What is recalled for a message, and what was said in the session before it."""
        latest = turns_of_session(self._bank, self.scope, self.session, last=self._window, writer=self._writer)
        said = [message for turn in latest for message in turn.messages]
        shown = [turn.id for turn in latest]
        return self._bank.recall(self.scope, text, exclude=shown, context=said, **self._recall.arguments), said

    def _prompts(self, text: str, lines: Sequence[str], shown: str) -> Iterator[Prompt]:
        """The prompt, and shorter ones for a model to which it is too long: the longest messages lose their middles."""
        tokens = room(self._model, sum(map(count_tokens, lines)))
        for share in _SHARES if lines else _SHARES[:1]:
            yield _reply_prompt(text, fitted(lines, tokens // share), shown, instructions=self._instructions)

    def _finish(self, text: str, recall: Recall, reader: CitationStream, reply: str) -> Answer:
        rest = reader.finish()
        citations = replace(rest, text=reply + rest.text)
        plain = citations.text
        if self._markers == "keep":
            plain = read_citations(plain, recall.numbers, markers="strip").text
        plain = spoken(plain)
        if plain.strip():
            self._remember(Message(plain, role="assistant"))
        return Answer(citations.text, citations, recall, self._lesson(text, recall, citations))

    def _remember(self, message: Message) -> None:
        remember_soon(self._bank, self._writer, self.scope, [message], session=self.session)

    def _lesson(self, text: str, recall: Recall, citations: Citations) -> Lesson | None:
        if recall.impression is None:
            return None
        try:
            with waiting_at_most(ANSWER_WAITS_S):
                return self._bank.citations.reward(self.scope, text, recall.impression, citations)
        except StoreError as error:
            warn_degraded("the citations of an answer were not taken in", error)
            return None


@dataclass(slots=True)
class _Attempt:
    """A prompt that may be too long for the model, which is no error unless the answer has ``begun``."""

    prompt: Prompt
    begun: bool = False
    too_long: ContextTooLong | None = None

    def __enter__(self) -> _Attempt:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, ContextTooLong) and not self.begun:
            self.too_long = error
        return self.too_long is not None


def _attempts(prompts: Iterator[Prompt]) -> Iterator[_Attempt]:
    """One prompt after the other until one is not too long for the model; raises what it says of the last."""
    too_long: ContextTooLong | None = None
    for prompt in prompts:
        attempt = _Attempt(prompt)
        yield attempt
        if (too_long := attempt.too_long) is None:
            return
    if too_long is not None:
        raise too_long


def _reply_prompt(text: str, conversation: Sequence[str], recalled: str, *, instructions: str = "") -> Prompt:
    """Ask for a reply that cites.

    Args:
        text: what was just said.
        conversation: the lines of the session so far, with speakers.
        recalled: the block of `secom_core.context.block.render`; empty where nothing was found.
        instructions: who replies, and how.
    """
    so_far = "\n".join(map(quoted, conversation))
    talk = f"<conversation>\n{so_far}\n</conversation>" if so_far else ""
    parts = [recalled.strip(), talk, text, CITE_REMINDER if recalled else ""]
    system = "\n\n".join(part for part in (instructions, _TASK, CITE_INSTRUCTION if recalled else "") if part)
    return Prompt("\n\n".join(part for part in parts if part), system=system, purpose="reply")
