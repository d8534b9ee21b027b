"""A chain whose answers cite memories, and whose bank takes in the citations (RMM, section 6)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, Literal

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.documents import Document
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda, RunnableSequence, patch_config
from langchain_core.runnables.base import RunnableLike, coerce_to_runnable

from secom_core.bank import MemoryBank
from secom_core.bank.answers import ANSWER_WAITS_S
from secom_core.bank.checks import check_choice, check_text
from secom_core.citations import Citations
from secom_core.citations.prompt import CITE_INSTRUCTION
from secom_core.errors import InvalidInput, SecomError, shorten, warn_degraded
from secom_core.memory import RecallOptions
from secom_core.stores.database import waiting_at_most

from .answers import Answer, AnswerReader, joined
from .dialogue import Dialogue
from .history import messages_shown
from .impressions import (
    BankSearch,
    PromptMemories,
    RetrieverSearch,
    Search,
    citation_counts,
    cited_references,
    citing_bank,
)
from .recall_options import recall_options
from .scopes import ScopePart, scope_of

CITATIONS_EVENT: Final = "secom_citations"
"""The name of the custom event with the numbers that an answer cites."""


def with_citation_feedback(
    chain: RunnableLike[Any, Any],
    bank: MemoryBank,
    *,
    retriever: Runnable[str, list[Document]] | None = None,
    scope: Sequence[ScopePart] | None = None,
    scope_keys: Sequence[str] = ("user_id",),
    question_key: str = "question",
    context_key: str = "context",
    documents_key: str | None = None,
    markers: Literal["keep", "strip"] = "keep",
    instruction: str = CITE_INSTRUCTION,
    token_budget: int | None = None,
    k: int | None = None,
    layers: Sequence[str] = (),
    only_relevant: bool = False,
    where: Mapping[str, Any] | None = None,
    also: Sequence[Sequence[str]] = (),
    history: bool = True,
) -> CitationFeedback:
    """Give a chain memories to cite, and record the citations of its answers in the bank.

    Each call recalls memories for its question, puts them into ``context`` as one numbered block of quoted data with
    the instruction to cite, runs the chain, reads the citations from the answer, and records them in the bank once.
    Inside a `RunnableWithMessageHistory` over a `SecomChatMessageHistory`, what the history shows is not recalled.
    Chunks of a stream reach the user as they come. An answer that fails, is cut short, calls tools or is not read to
    its end is not recorded.

    Setup: ``pip install ".[langchain]"`` in a clone.

    Instantiate::

        prompt = ChatPromptTemplate.from_messages([("system", "{context}"), ("human", "{question}")])
        bank = MemoryBank.open("memory.db", citations=True)
        chain = with_citation_feedback(prompt | llm, bank, markers="strip", k=5)

    Usage::

        chain.invoke("Where do I live?", {"configurable": {"user_id": "alice"}})

    The citations of a message are in its ``response_metadata["secom_citations"]``. Callback handlers get the custom
    event ``"secom_citations"``, with numbers only; `LangSmithFeedback` is one.

    Args:
        chain: takes a mapping with the question and the context, gives text or an AI message. Parsers that make
            something else of the answer must come after this runnable, not inside it.
        bank: where memories are, and the citations go; opened with ``citations``.
        retriever: finds the memories: `SecomRetriever`, or what reorders or cuts its documents, such as
            ``ContextualCompressionRetriever`` with a `CitationReranker`; the bank itself unless given.
        scope: whose memories they are; from the configuration unless given, or with a retriever from its documents.
        scope_keys: the scope's parts by their names in ``config["configurable"]``, as for `SecomRetriever`.
        question_key: where the question is in the input: text, a message, or messages, of which the last human one
            counts. An input that is text is the question.
        context_key: where the block goes.
        documents_key: where the memories go as documents too, for a prompt that hands these to a provider which cites
            documents by itself; its citation blocks count as markers do.
        markers: whether the user sees them.
        instruction: goes behind the block; with ``""`` the prompt itself says how to cite.
        token_budget: the largest length of the block, in the bank's token counter; 2000 if neither it nor ``k`` is
            given. It, ``k``, ``layers`` and ``only_relevant`` are for recalls without a retriever.
        k: the largest number of memories.
        layers: layers of the bank that take part, such as ``"summaries"``; as for `MemoryBank.recall`.
        only_relevant: recall only memories that answer the question, and leave the rest of the budget empty.
        where: a filter (`secom_core.filters`), such as ``{"role": "user"}``: nothing else is found or shown.
        also: other scopes that are searched too, such as a team's; the block says whose each memory is.
        history: also show statements that no longer hold, marked as such, after the ones that replaced them.

    Raises:
        InvalidInput: the bank takes in no citations, or cannot recall so; or options of a recall are given with a
            retriever; or the chain begins with a prompt that has no place for the memories.
    """
    if isinstance(scope_keys, str) or not isinstance(scope_keys, Sequence):
        raise InvalidInput(f"scope_keys is a sequence of names, such as ('user_id',), got {shorten(scope_keys)}")
    check_text("question_key", question_key, such_as="question")
    check_text("context_key", context_key, such_as="context")
    if documents_key is not None:
        check_text("documents_key", documents_key, such_as="documents")
    check_text("instruction", instruction, empty=True)
    answering: Runnable[Any, Any] = coerce_to_runnable(chain)
    _check_prompt(answering, [key for key in (context_key, documents_key) if key])
    bound = None if scope is None else scope_of(scope)
    citing_bank(bank, "with_citation_feedback")
    options = recall_options(bank, token_budget, k, layers, only_relevant, where, also, history, cite=True)
    plain = RecallOptions().arguments
    given = {name: value for name, value in options.arguments.items() if value != plain[name]}
    if retriever is not None and given:
        raise InvalidInput(f"retriever= decides how much is recalled; leave out {given!r}, or set it on the retriever")
    search: Search = (
        BankSearch(bank, bound, tuple(scope_keys), options)
        if retriever is None
        else RetrieverSearch(bank, retriever, bound)
    )
    return CitationFeedback(
        answering,
        bank,
        search,
        question_key=question_key,
        context_key=context_key,
        documents_key=documents_key,
        markers=markers,
        instruction=instruction,
    )


def _check_prompt(chain: Runnable[Any, Any], keys: Sequence[str]) -> None:
    """Refuse a prompt that shows no memories: the model would cite what it cannot see, and the bank learn from it."""
    first = chain.first if isinstance(chain, RunnableSequence) else chain
    if not isinstance(first, BasePromptTemplate):
        return
    names = [*first.input_variables, *first.optional_variables]
    if not set(keys) & set(names):
        raise InvalidInput(
            f"the prompt has no variable {' or '.join(map(repr, keys))} for the memories, only {names}; add it, or "
            "give its name as context_key"
        )


class CitationFeedback(Runnable[Any, Any]):
    """The runnable that `with_citation_feedback` makes; it keeps nothing of a call.

    Args:
        chain: what answers.
        bank: where the citations go.
        search: finds the memories.
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
        check_choice("markers", markers, ("keep", "strip"))
        self._markers: Literal["keep", "strip"] = markers
        self._instruction = instruction

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Answer:
        """The chain's answer.

        Args:
            input: the question, or a mapping with it and what else the chain needs.
            config: the run's configuration.
            **kwargs: for the chain.

        Raises:
            InvalidScope: there is no scope, or documents of several scopes were found.
            InvalidInput: the input holds no question, or something under the name of the context; or the chain gave
                neither text nor an AI message.
        """
        answer: Answer = self._call_with_config(self._answer, input, config, **kwargs)  # type: ignore[arg-type]
        return answer

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Answer:
        """The chain's answer. As `invoke`; the bank is asked without blocking the event loop."""
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

    def _answer(self, input: Any, config: RunnableConfig, **kwargs: Any) -> Answer:
        dialogue, inputs = self._parsed(input)
        question, memories = dialogue.question, self._find(dialogue, inputs, config)
        reader = self._reader(memories)
        pieces = list(reader.read(self._chain.invoke(self._with_memories(inputs, memories), config, **kwargs)))
        cited = self._reward(question, memories, reader.finish(), config)
        return joined([*pieces, *reader.rest(cited)])

    async def _aanswer(self, input: Any, config: RunnableConfig, **kwargs: Any) -> Answer:
        dialogue, inputs = self._parsed(input)
        question, memories = dialogue.question, await self._afind(dialogue, inputs, config)
        reader = self._reader(memories)
        pieces = list(reader.read(await self._chain.ainvoke(self._with_memories(inputs, memories), config, **kwargs)))
        cited = await self._areward(question, memories, reader.finish(), config)
        return joined([*pieces, *reader.rest(cited)])

    def _streamed(self, input: Iterator[Any], config: RunnableConfig, **kwargs: Any) -> Iterator[Answer]:
        dialogue, inputs = self._parsed(next(input))
        question, memories = dialogue.question, self._find(dialogue, inputs, config)
        reader = self._reader(memories)
        for chunk in self._chain.stream(self._with_memories(inputs, memories), config, **kwargs):
            yield from reader.read(chunk)
        # Before the last piece goes out: who has that may stop asking for more.
        cited = self._reward(question, memories, reader.finish(), config)
        yield from reader.rest(cited)

    async def _astreamed(
        self, input: AsyncIterator[Any], config: RunnableConfig, **kwargs: Any
    ) -> AsyncIterator[Answer]:
        dialogue, inputs = self._parsed(await anext(input))
        question, memories = dialogue.question, await self._afind(dialogue, inputs, config)
        reader = self._reader(memories)
        async with aclosing(self._chain.astream(self._with_memories(inputs, memories), config, **kwargs)) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                for piece in reader.read(chunk):
                    yield piece
        cited = await self._areward(question, memories, reader.finish(), config)
        for piece in reader.rest(cited):
            yield piece

    # -- before the chain ---------------------------------------------------------------------------------------------

    def _parsed(self, input: Any) -> tuple[Dialogue, dict[str, Any]]:
        """The question of an input with what stands before it, and the input as a mapping."""
        inputs = {self._question_key: input} if isinstance(input, str) else input
        if not isinstance(inputs, Mapping) or self._question_key not in inputs:
            raise InvalidInput(f"the input is a question, or a mapping with {self._question_key!r}; got {input!r}")
        taken = [key for key in (self._context_key, self._documents_key) if key in inputs]
        if taken:
            raise InvalidInput(f"the memories go into {taken[0]!r}; leave it out of the input, got {input!r}")
        return Dialogue.asked(inputs[self._question_key]), dict(inputs)

    def _find(self, dialogue: Dialogue, inputs: Mapping[str, Any], config: RunnableConfig) -> PromptMemories:
        found, shown = list[PromptMemories](), messages_shown(inputs, self._question_key)

        def recall(question: str, config: RunnableConfig) -> list[Document]:
            found.append(self._search.find(question, config, dialogue, shown))
            return list(found[0].documents)

        RunnableLambda(recall).invoke(dialogue.question, _step(config, "recall"))
        return found[0]

    async def _afind(self, dialogue: Dialogue, inputs: Mapping[str, Any], config: RunnableConfig) -> PromptMemories:
        found, shown = list[PromptMemories](), messages_shown(inputs, self._question_key)

        async def recall(question: str, config: RunnableConfig) -> list[Document]:
            found.append(await self._search.afind(question, config, dialogue, shown))
            return list(found[0].documents)

        await RunnableLambda(recall).ainvoke(dialogue.question, _step(config, "recall"))
        return found[0]

    def _with_memories(self, inputs: Mapping[str, Any], memories: PromptMemories) -> dict[str, Any]:
        parts = [memories.block, self._instruction] if memories.block else []
        documents = {self._documents_key: list(memories.documents)} if self._documents_key is not None else {}
        return {**inputs, self._context_key: "\n\n".join(filter(None, parts)), **documents}

    def _reader(self, memories: PromptMemories) -> AnswerReader:
        return AnswerReader(tuple(memories.references), memories.documents, markers=self._markers)

    # -- after the chain ----------------------------------------------------------------------------------------------

    def _reward(
        self, question: str, memories: PromptMemories, citations: Citations, config: RunnableConfig
    ) -> list[dict[str, Any]]:
        counts, lesson = citation_counts(citations, memories.references), "nothing"
        if (learn := self._lesson(question, memories, citations)) is not None:
            try:
                lesson = RunnableLambda(learn).invoke(counts, _step(config, "reward", counts))["lesson"]
            except SecomError as error:
                lesson = _failed(error)
        dispatch_custom_event(CITATIONS_EVENT, {**counts, "lesson": lesson}, config=config)
        return cited_references(citations, memories.references)

    async def _areward(
        self, question: str, memories: PromptMemories, citations: Citations, config: RunnableConfig
    ) -> list[dict[str, Any]]:
        counts, lesson = citation_counts(citations, memories.references), "nothing"
        if (learn := self._lesson(question, memories, citations)) is not None:
            try:
                # Runs in a worker thread, as there is no async way to do it.
                lesson = (await RunnableLambda(learn).ainvoke(counts, _step(config, "reward", counts)))["lesson"]
            except SecomError as error:
                lesson = _failed(error)
        await adispatch_custom_event(CITATIONS_EVENT, {**counts, "lesson": lesson}, config=config)
        return cited_references(citations, memories.references)

    def _lesson(
        self, question: str, memories: PromptMemories, citations: Citations
    ) -> Callable[[Mapping[str, Any]], dict[str, Any]] | None:
        """What rewards the bank; nothing where the answer says nothing of what was shown."""
        scope, impression = memories.scope, memories.impression
        if scope is None or impression is None or not citations.is_feedback:
            return None

        def learn(_: Mapping[str, Any]) -> dict[str, Any]:
            with waiting_at_most(ANSWER_WAITS_S):
                return {"lesson": self._bank.citations.reward(scope, question, impression, citations).kind}

        return learn


def _step(config: RunnableConfig, name: str, counts: Mapping[str, Any] | None = None) -> RunnableConfig:
    """The configuration of a run below the answer's, by which it is found in traces."""
    metadata = {f"secom_{key}": value for key, value in (counts or {}).items()}
    tags = [*config.get("tags", ()), "secom"]
    return {
        **patch_config(config, run_name=f"secom_{name}"),
        "tags": tags,
        "metadata": {**config.get("metadata", {}), **metadata},
    }


def _failed(error: SecomError) -> str:
    warn_degraded("the citations of an answer were not taken in", error)
    return "failed"


async def _only(input: Any) -> AsyncIterator[Any]:
    yield input
