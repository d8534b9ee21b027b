"""A chain that learns from what its answers cite: it recalls, asks, reads the citations, rewards (RMM, section 6)."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, Literal

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, patch_config
from langchain_core.runnables.base import RunnableLike, coerce_to_runnable

from secom_core.bank import MemoryBank
from secom_core.conversation import check_scope
from secom_core.errors import DegradedWarning, InvalidInput, SecomError
from secom_core.prompts.citing import CITE_INSTRUCTION
from secom_core.reflection.citations import Citations

from .answers import Answer, AnswerReader, joined
from .convert import text_of
from .shown import FromBank, FromRetriever, Search, Shown, learning

__all__ = ["CITATIONS_EVENT", "CitationFeedback", "with_citation_feedback"]

CITATIONS_EVENT: Final = "secom_citations"
"""The custom event that tells callback handlers what an answer cited."""


def with_citation_feedback(
    chain: RunnableLike[Any, Any],
    bank: MemoryBank,
    *,
    retriever: Runnable[str, list[Document]] | None = None,
    scope: Sequence[str] | None = None,
    scope_keys: Sequence[str] = ("user_id",),
    question_key: str = "question",
    context_key: str = "context",
    documents_key: str | None = None,
    markers: Literal["keep", "strip"] = "keep",
    instruction: str = CITE_INSTRUCTION,
    **recall: Any,
) -> CitationFeedback:
    """The chain, with memories in its prompt, learning from which of them its answers cite.

    Each call recalls what its question finds, puts it into ``context`` as one numbered block of quoted data with the
    instruction to cite, runs the chain, reads the citations from the answer, and rewards the bank once. Chunks of a
    stream reach the user as they come. An answer that fails, is cut short, calls tools or is not read to its end
    teaches nothing.

    Setup: ``pip install "secom-memory[langchain]"``.

    Instantiate::

        prompt = ChatPromptTemplate.from_messages([("system", "{context}"), ("human", "{question}")])
        bank = MemoryBank.open("memory.db", learning=True)
        chain = with_citation_feedback(prompt | llm, bank, markers="strip", k=5)

    Usage::

        chain.invoke("Where do I live?", {"configurable": {"user_id": "alice"}})

    A message says what it cites in ``response_metadata["secom_citations"]``. Handlers get the custom event
    ``"secom_citations"``, with numbers only; `LangSmithFeedback` is one.

    Args:
        chain: takes a mapping with the question and the context, gives text or an AI message. Parsers that make
            something else of the answer stand behind this runnable, not in it.
        bank: where memories are, and what learns; opened with ``learning``.
        retriever: finds the memories: `SecomRetriever`, or what reorders or cuts its documents, such as
            ``ContextualCompressionRetriever`` with a `CitationReranker`; the bank itself unless given.
        scope: whose memories; from the configuration unless given, or with a retriever from its documents.
        scope_keys: the scope's parts by their names in ``config["configurable"]``, as for `SecomRetriever`.
        question_key: where the question is in the input: text, a message, or messages, of which the last human one
            counts. An input that is text is the question.
        context_key: where the block goes.
        documents_key: where the memories go as documents too, for a prompt that hands these to a provider which cites
            documents by itself; its citation blocks count as markers do.
        markers: whether the user sees them.
        instruction: goes behind the block; with ``""`` the prompt itself says how to cite.
        **recall: for `MemoryBank.recall`, where there is no retriever: ``k``, ``token_budget``, ``summary``,
            ``timelines``, ``topics``.

    Raises:
        InvalidInput: the bank does not learn, or ``recall`` is given with a retriever.
    """
    bound = None if scope is None else check_scope(scope)
    learning(bank, "with_citation_feedback")
    if retriever is not None and recall:
        raise InvalidInput(f"the retriever says how much is recalled; got {recall!r} as well")
    search: Search = (
        FromBank(bank, bound, tuple(scope_keys), recall) if retriever is None else FromRetriever(bank, retriever, bound)
    )
    return CitationFeedback(
        coerce_to_runnable(chain),
        bank,
        search,
        question_key=question_key,
        context_key=context_key,
        documents_key=documents_key,
        markers=markers,
        instruction=instruction,
    )


class CitationFeedback(Runnable[Any, Any]):
    """What `with_citation_feedback` makes; nothing of a call is kept on it.

    Args:
        chain: what answers.
        bank: what learns.
        search: finds what is shown.
        question_key: where the question is in the input.
        context_key: where the block goes.
        documents_key: where the memories go as documents, if anywhere.
        markers: whether the user sees them.
        instruction: goes behind the block.
    """

    def __init__(
        self,
        chain: Runnable[Any, Any],
        bank: MemoryBank,
        search: Search,
        *,
        question_key: str,
        context_key: str,
        documents_key: str | None,
        markers: Literal["keep", "strip"],
        instruction: str,
    ) -> None:
        self.name = "citation_feedback"
        self._chain, self._bank, self._search = chain, bank, search
        self._question_key, self._context_key, self._documents_key = question_key, context_key, documents_key
        self._markers: Literal["keep", "strip"] = markers
        self._instruction = instruction

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Answer:
        """The chain's answer.

        Args:
            input: the question, or a mapping with it and what else the chain needs.
            config: the run's configuration.
            **kwargs: for the chain.

        Raises:
            InvalidScope: nothing says whose memories are meant, or documents of several scopes were found.
            InvalidInput: the input holds no question, or something under the name of the context; or the chain gave
                neither text nor an AI message.
        """
        answer: Answer = self._call_with_config(self._answer, input, config, **kwargs)  # type: ignore[arg-type]
        return answer

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Answer:
        """The chain's answer. As `invoke`; the bank is asked off the event loop."""
        answer: Answer = await self._acall_with_config(self._aanswer, input, config, **kwargs)  # type: ignore[arg-type]
        return answer

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Answer]:
        """The chain's answer, piece by piece. As `invoke`."""
        pieces: Iterator[Answer] = self._transform_stream_with_config(
            iter([input]),
            self._streamed,  # type: ignore[arg-type]
            config,
            **kwargs,
        )
        yield from pieces

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Answer]:
        """The chain's answer, piece by piece. As `ainvoke`."""
        pieces = self._atransform_stream_with_config(
            _only(input),
            self._astreamed,  # type: ignore[arg-type]
            config,
            **kwargs,
        )
        async with aclosing(pieces) as answer:  # type: ignore[type-var]
            async for piece in answer:
                yield piece

    # -- one answer ---------------------------------------------------------------------------------------------------

    def _answer(self, given: Any, config: RunnableConfig, **kwargs: Any) -> Answer:
        question, inputs = self._asked(given)
        shown = self._recalled(question, config)
        reader = self._reader(shown)
        pieces = list(reader.read(self._chain.invoke(self._shown_in(inputs, shown), config, **kwargs)))
        cited = self._settled(question, shown, reader.finish(), config)
        return joined([*pieces, *reader.rest(cited)])

    async def _aanswer(self, given: Any, config: RunnableConfig, **kwargs: Any) -> Answer:
        question, inputs = self._asked(given)
        shown = await self._arecalled(question, config)
        reader = self._reader(shown)
        pieces = list(reader.read(await self._chain.ainvoke(self._shown_in(inputs, shown), config, **kwargs)))
        cited = await self._asettled(question, shown, reader.finish(), config)
        return joined([*pieces, *reader.rest(cited)])

    def _streamed(self, given: Iterator[Any], config: RunnableConfig, **kwargs: Any) -> Iterator[Answer]:
        question, inputs = self._asked(next(given))
        shown = self._recalled(question, config)
        reader = self._reader(shown)
        for chunk in self._chain.stream(self._shown_in(inputs, shown), config, **kwargs):
            yield from reader.read(chunk)
        # Before the last piece goes out: who has that may stop asking for more.
        cited = self._settled(question, shown, reader.finish(), config)
        yield from reader.rest(cited)

    async def _astreamed(
        self, given: AsyncIterator[Any], config: RunnableConfig, **kwargs: Any
    ) -> AsyncIterator[Answer]:
        question, inputs = self._asked(await anext(given))
        shown = await self._arecalled(question, config)
        reader = self._reader(shown)
        async with aclosing(self._chain.astream(self._shown_in(inputs, shown), config, **kwargs)) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                for piece in reader.read(chunk):
                    yield piece
        cited = await self._asettled(question, shown, reader.finish(), config)
        for piece in reader.rest(cited):
            yield piece

    # -- before the chain ---------------------------------------------------------------------------------------------

    def _asked(self, given: Any) -> tuple[str, dict[str, Any]]:
        inputs = {self._question_key: given} if isinstance(given, str) else given
        if not isinstance(inputs, Mapping) or self._question_key not in inputs:
            raise InvalidInput(f"the input is a question, or a mapping with {self._question_key!r}; got {given!r}")
        taken = [key for key in (self._context_key, self._documents_key) if key in inputs]
        if taken:
            raise InvalidInput(f"{taken[0]!r} is for the memories, and the input fills it: {given!r}")
        return _question(inputs[self._question_key]), dict(inputs)

    def _recalled(self, question: str, config: RunnableConfig) -> Shown:
        found: list[Shown] = []

        def recall(question: str, config: RunnableConfig) -> list[Document]:
            found.append(self._search.find(question, config))
            return list(found[0].documents)

        RunnableLambda(recall).invoke(question, _step(config, "recall"))
        return found[0]

    async def _arecalled(self, question: str, config: RunnableConfig) -> Shown:
        found: list[Shown] = []

        async def recall(question: str, config: RunnableConfig) -> list[Document]:
            found.append(await self._search.afind(question, config))
            return list(found[0].documents)

        await RunnableLambda(recall).ainvoke(question, _step(config, "recall"))
        return found[0]

    def _shown_in(self, inputs: Mapping[str, Any], shown: Shown) -> dict[str, Any]:
        told = [shown.block, self._instruction] if shown.block else []
        documents = {self._documents_key: list(shown.documents)} if self._documents_key is not None else {}
        return {**inputs, self._context_key: "\n\n".join(filter(None, told)), **documents}

    def _reader(self, shown: Shown) -> AnswerReader:
        return AnswerReader(tuple(shown.names), shown.documents, markers=self._markers)

    # -- behind it ----------------------------------------------------------------------------------------------------

    def _settled(
        self, question: str, shown: Shown, citations: Citations, config: RunnableConfig
    ) -> list[dict[str, Any]]:
        told, lesson = _told(shown, citations), "nothing"
        if (reward := self._reward(question, shown, citations)) is not None:
            try:
                lesson = RunnableLambda(reward).invoke(told, _step(config, "reward", told))["lesson"]
            except SecomError as error:
                lesson = _failed(error)
        dispatch_custom_event(CITATIONS_EVENT, {**told, "lesson": lesson}, config=config)
        return _cited(shown, citations)

    async def _asettled(
        self, question: str, shown: Shown, citations: Citations, config: RunnableConfig
    ) -> list[dict[str, Any]]:
        told, lesson = _told(shown, citations), "nothing"
        if (reward := self._reward(question, shown, citations)) is not None:
            try:
                # Runs in a worker thread, as there is no async way to do it.
                lesson = (await RunnableLambda(reward).ainvoke(told, _step(config, "reward", told)))["lesson"]
            except SecomError as error:
                lesson = _failed(error)
        await adispatch_custom_event(CITATIONS_EVENT, {**told, "lesson": lesson}, config=config)
        return _cited(shown, citations)

    def _reward(
        self, question: str, shown: Shown, citations: Citations
    ) -> Callable[[Mapping[str, Any]], dict[str, Any]] | None:
        scope, decision = shown.scope, shown.decision
        if scope is None or decision is None or not citations.tell:
            return None
        return lambda _: {"lesson": self._bank.reward(scope, question, decision, citations).kind}


def _question(given: Any) -> str:
    said = given if isinstance(given, list) else [given]
    humans = [each for each in said if isinstance(each, HumanMessage)]
    latest = given if isinstance(given, (str, BaseMessage)) else humans[-1] if humans else None
    if latest is None:
        raise InvalidInput(f"a question is text, a message, or messages with a human one among them; got {given!r}")
    return latest if isinstance(latest, str) else text_of(latest)


def _told(shown: Shown, citations: Citations) -> dict[str, Any]:
    """What runs and handlers are told of an answer: numbers, no ids and no words."""
    count = len(shown.names)
    return {
        "shown": list(shown.names),
        "cited": list(citations.numbers),
        "unknown": list(citations.unknown),
        "none_used": citations.none_used,
        "reward": len(citations.numbers) / count if citations.tell and count else None,
    }


def _cited(shown: Shown, citations: Citations) -> list[dict[str, Any]]:
    return [{"number": number, **shown.names[number]} for number in citations.numbers]


def _step(config: RunnableConfig, name: str, told: Mapping[str, Any] | None = None) -> RunnableConfig:
    """The configuration of a run below the answer's, by which it is found in traces."""
    metadata = {f"secom_{key}": value for key, value in (told or {}).items()}
    tags = [*config.get("tags", ()), "secom"]
    return {
        **patch_config(config, run_name=f"secom_{name}"),
        "tags": tags,
        "metadata": {**config.get("metadata", {}), **metadata},
    }


def _failed(error: SecomError) -> str:
    warnings.warn(f"nothing was learned from an answer: {error}", DegradedWarning, stacklevel=2)
    return "failed"


async def _only(input: Any) -> AsyncIterator[Any]:
    yield input
