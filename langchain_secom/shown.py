"""What an answer may cite: memories on their way into a prompt, numbered, with a note of why they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableConfig, run_in_executor

from secom_core.bank import MemoryBank
from secom_core.context import render
from secom_core.conversation import Scope
from secom_core.errors import InvalidInput
from secom_core.memory import Hit, Recall, Timeline
from secom_core.reflection.citations import MARKER
from secom_core.reflection.policy import Decision

from .convert import is_of_bank, to_document, to_hits
from .scopes import bound_scope, common_scope, scope_in

__all__ = ["FromBank", "FromRetriever", "Search", "Shown", "learning", "numbered"]


@dataclass(frozen=True)
class Shown:
    """What one question has found.

    Args:
        block: the memories, quoted and numbered; empty where nothing was found.
        documents: the same, a document a memory, in the order of the block, and like there without markers in its text.
        names: for every number in the block, what it stands for: ids, no words.
        scope: whose memories they are, where there are any.
        decision: what the bank learns from; nothing where there is nothing to learn from.
    """

    block: str = ""
    documents: tuple[Document, ...] = ()
    names: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    scope: Scope | None = None
    decision: Decision | None = None


class Search(Protocol):
    """Finds what is shown for a question."""

    def find(self, question: str, config: RunnableConfig) -> Shown:
        """What is shown, in a run with this configuration."""
        ...

    async def afind(self, question: str, config: RunnableConfig) -> Shown:
        """The same, off the event loop."""
        ...


@dataclass(frozen=True)
class FromBank:
    """Recalls from the bank, inside the budget.

    Args:
        bank: where it looks.
        scope: whose memories, where it is always the same.
        scope_keys: the scope's parts in ``config["configurable"]``, where it is not.
        options: for `MemoryBank.recall`.
    """

    bank: MemoryBank
    scope: Scope | None
    scope_keys: tuple[str, ...]
    options: Mapping[str, Any]

    def find(self, question: str, config: RunnableConfig) -> Shown:
        """What the bank recalls."""
        return self._recalled(question, self._scope(config))

    async def afind(self, question: str, config: RunnableConfig) -> Shown:
        """The same, off the event loop."""
        return await run_in_executor(None, self._recalled, question, self._scope(config))

    def _scope(self, config: RunnableConfig) -> Scope:
        return scope_in(config, self.scope, self.scope_keys, who="with_citation_feedback")

    def _recalled(self, question: str, scope: Scope) -> Shown:
        recall: Recall = self.bank.recall(scope, question, **self.options)
        return Shown(
            recall.text, _documents(recall.hits, scope), _names(recall.hits, recall.timelines), scope, recall.shown
        )


@dataclass(frozen=True)
class FromRetriever:
    """Shows what a retriever over the bank finds, in its order.

    Args:
        bank: where the retriever looks.
        retriever: `SecomRetriever`, or what reorders or cuts its documents.
        scope: whose documents it may find; anyone's, of one scope at a time, unless given.
    """

    bank: MemoryBank
    retriever: Runnable[str, list[Document]]
    scope: Scope | None

    def find(self, question: str, config: RunnableConfig) -> Shown:
        """What the retriever finds.

        Raises:
            InvalidInput: a document that is none of the bank's.
            InvalidScope: documents of several scopes, or of another one than is asked for.
        """
        return self._shown(question, self.retriever.invoke(question, config))

    async def afind(self, question: str, config: RunnableConfig) -> Shown:
        """The same, off the event loop."""
        documents = await self.retriever.ainvoke(question, config)
        return await run_in_executor(None, self._shown, question, documents)

    def _shown(self, question: str, documents: Sequence[Document]) -> Shown:
        scope = common_scope(document for document in documents if is_of_bank(document))
        hits = numbered(to_hits(documents, self.bank))
        if scope is None or not hits:
            return Shown()
        scope = bound_scope(scope, self.scope, who="with_citation_feedback")
        decision = self.bank.shown(scope, question, hits)
        return Shown(render(hits), _documents(hits, scope), _names(hits), scope, decision)


def numbered(hits: Iterable[Hit]) -> list[Hit]:
    """The hits with numbers from 1 in their order; a memory that comes twice is one hit, with the turns of both."""
    each: dict[str, Hit] = {}
    for hit in hits:
        held = each.setdefault(hit.memory.id, hit)
        if held is not hit:
            turns = {turn.id: turn for turn in (*held.turns, *hit.turns)}
            kept = tuple(sorted(turns.values(), key=lambda turn: turn.index))
            each[hit.memory.id] = replace(held, turns=kept, memory=replace(held.memory, turns=kept))
    return [replace(hit, number=number) for number, hit in enumerate(each.values(), start=1)]


def learning(bank: MemoryBank, who: str) -> MemoryBank:
    """The bank, if it learns.

    Raises:
        InvalidInput: it does not.
    """
    if not isinstance(bank, MemoryBank) or not bank.learns:
        raise InvalidInput(f"{who} needs a bank that learns: MemoryBank(..., learning=True), got {bank!r}")
    return bank


def _documents(hits: Iterable[Hit], scope: Scope) -> tuple[Document, ...]:
    documents = [to_document(hit, scope) for hit in hits]
    for document in documents:
        # An answer that repeats a memory word for word must not cite by it what the memory's words name.
        document.page_content = MARKER.sub(lambda found: f"({found[0][1:-1]})", document.page_content)
    return tuple(documents)


def _names(hits: Iterable[Hit], timelines: Iterable[Timeline] = ()) -> dict[int, dict[str, Any]]:
    named = {hit.number: {"memory_id": hit.memory.id, "turn_ids": list(hit.turn_ids)} for hit in hits}
    return {**named, **{each.number: {"turn_ids": list(each.turn_ids)} for each in timelines}}
