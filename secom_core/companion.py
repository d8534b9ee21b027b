"""A conversation that remembers, without a framework: recall, reply, read the citations, learn (RMM, Algorithm 1)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .bank import MemoryBank
from .conversation import Message, check_scope
from .errors import InvalidInput
from .flow import AsyncChatModel, AsyncStreamingModel, ChatModel, Prompt, StreamingModel
from .memory import Recall
from .prompts.reply import reply_prompt
from .reflection.citations import Citations, CitationStream, read_citations
from .reflection.policy import Lesson

__all__ = ["Answer", "Companion"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply with what it rests on.

    Args:
        text: as it is shown.
        citations: what it cites of ``recall``.
        recall: what was recalled for it.
        lesson: what came of the citations; nothing where the bank does not learn, or nothing was recalled.
    """

    text: str
    citations: Citations
    recall: Recall
    lesson: Lesson | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question on its way."""

    prompt: Prompt
    recall: Recall
    reader: CitationStream


class Companion:
    """Replies with the help of a scope's memory, and learns from what its replies cite.

    What is said is remembered before the model is asked, so that nothing is lost where it fails; a reply that never
    came, or broke off, is not remembered and teaches nothing. One companion is one session: its calls must not overlap.

    Args:
        bank: where everything is remembered; with ``learning=True`` citations teach it.
        scope: whose memory it is; always given.
        model: the language model that replies.
        session: the name of the session; a new one unless given. An existing one is taken up where it ended.
        instructions: who replies, and how; begins the system prompt.
        token_budget: how long the recalled block may be.
        k: how many memories are recalled at most.
        window: how many of the session's latest turns the model is shown.
        markers: whether replies keep their markers or go without; what is remembered goes without.
        summary: recall with the running summary.
        timelines: recall with timelines.
        topics: recall by topics.
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
        summary: bool = False,
        timelines: bool = False,
        topics: bool = False,
    ) -> None:
        if window < 1:
            raise InvalidInput(f"window is a number of turns from 1 on, got {window}")
        bank.check_keeps(summary=summary, timelines=timelines, topics=topics)
        self.scope = check_scope(scope)
        self.session = session or uuid.uuid4().hex
        self._bank, self._model = bank, model
        self._instructions, self._window, self._markers = instructions, window, markers
        self._budget, self._k = token_budget, k
        self._summary, self._timelines, self._topics = summary, timelines, topics

    def reply(self, said: str) -> Answer:
        """The reply to what was said.

        Raises:
            InvalidInput: the model has no sync side.
            ModelError: the model gave none; what was said is remembered.
        """
        if not isinstance(self._model, ChatModel):
            raise InvalidInput(f"{type(self._model).__name__} has no complete(); use areply")
        asked = self._ask(said)
        return self._answered(said, asked, asked.reader.feed(self._model.complete(asked.prompt)))

    async def areply(self, said: str) -> Answer:
        """As `reply`, without blocking the event loop."""
        asked = await asyncio.to_thread(self._ask, said)
        if isinstance(self._model, AsyncChatModel):
            text = await self._model.acomplete(asked.prompt)
        else:
            text = await asyncio.to_thread(self._model.complete, asked.prompt)
        return await asyncio.to_thread(self._answered, said, asked, asked.reader.feed(text))

    def stream(self, said: str) -> Iterator[str]:
        """The reply, piece by piece; it counts, and is remembered, once the last piece was taken.

        Raises:
            InvalidInput: the model cannot stream.
            ModelError: the model broke off; what was said is remembered, the half reply is not.
        """
        if not isinstance(self._model, StreamingModel):
            raise InvalidInput(f"{type(self._model).__name__} has no stream(); use reply")
        asked = self._ask(said)
        shown = []
        for chunk in self._model.stream(asked.prompt):
            shown.append(asked.reader.feed(chunk))
            yield shown[-1]
        yield self._answered(said, asked, "".join(shown)).text[len("".join(shown)) :]

    async def astream(self, said: str) -> AsyncIterator[str]:
        """As `stream`, without blocking the event loop."""
        if not isinstance(self._model, AsyncStreamingModel):
            raise InvalidInput(f"{type(self._model).__name__} has no astream(); use areply")
        asked = await asyncio.to_thread(self._ask, said)
        shown = []
        async for chunk in self._model.astream(asked.prompt):
            shown.append(asked.reader.feed(chunk))
            yield shown[-1]
        done = await asyncio.to_thread(self._answered, said, asked, "".join(shown))
        yield done.text[len("".join(shown)) :]

    def close(self) -> None:
        """End the session: its topics settle, and what is made of closed sessions is made."""
        self._bank.close_session(self.scope, self.session)

    def _ask(self, said: str) -> _Asked:
        latest = self._bank.turns(self.scope, self.session, last=self._window)
        recall = self._bank.recall(
            self.scope,
            said,
            token_budget=self._budget,
            k=self._k,
            exclude=[turn.id for turn in latest],
            summary=self._summary,
            timelines=self._timelines,
            topics=self._topics,
        )
        self._bank.remember(self.scope, [Message(said, role="user")], session=self.session)
        lines = [message.line for turn in latest for message in turn.messages]
        prompt = reply_prompt(said, lines, recall.text, instructions=self._instructions)
        return _Asked(prompt, recall, CitationStream(recall.numbers, markers=self._markers))

    def _answered(self, said: str, asked: _Asked, text: str) -> Answer:
        found = asked.reader.finish()
        citations = Citations(text + found.text, found.numbers, found.unknown, found.none_used)
        plain = read_citations(citations.text, asked.recall.numbers, markers="strip").text
        if plain.strip():
            self._bank.remember(self.scope, [Message(plain, role="assistant")], session=self.session)
        lesson = None
        if asked.recall.shown is not None:
            lesson = self._bank.reward(self.scope, said, asked.recall.shown, citations)
        return Answer(citations.text, citations, asked.recall, lesson)
