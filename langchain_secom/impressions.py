"""Numbered memories on their way into a prompt, and what an answer cites of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, run_in_executor

from secom_core.bank import MemoryBank
from secom_core.bank.answers import ANSWER_WAITS_S
from secom_core.citations import Citations, Impression
from secom_core.context import citable, render
from secom_core.context.lines import escaped
from secom_core.conversation import Scope
from secom_core.errors import InvalidInput
from secom_core.memory import Hit, Recall, RecallOptions
from secom_core.stores.database import waiting_at_most

from .convert import to_document
from .dialogue import Dialogue, latest_said
from .history import history_around
from .hits import is_of_bank, numbered, to_hits
from .retriever import SecomRetriever
from .scopes import bound_scope, common_scope, scope_in

References = Mapping[int, Mapping[str, Any]]
"""For every number in a block, the ids of the memory and turns that it stands for."""
Shown = Sequence[BaseMessage] | None
"""The history in a chain's input; nothing where none is."""


@dataclass(frozen=True)
class PromptMemories:
    """The memories that a prompt gets for one question.

    Args:
        block: the memories, quoted and numbered; empty where nothing was found.
        documents: the same memories as documents, in the order of the block, and like there without markers in their
            text.
        references: for every number in the block, the ids that it stands for.
        scope: whose memories they are, where there are any.
        impression: what the bank is told of it once an answer cites some; nothing where nothing was found.
    """

    block: str = ""
    documents: tuple[Document, ...] = ()
    references: References = field(default_factory=dict)
    scope: Scope | None = None
    impression: Impression | None = None


def _said(dialogue: Dialogue) -> dict[str, Any]:
    """What a recall is told of the question beside its words."""
    return {"now": dialogue.at, **({"context": dialogue.context} if dialogue.before else {})}


class Search(Protocol):
    """Finds the memories for a question."""

    def find(self, question: str, config: RunnableConfig, dialogue: Dialogue, shown: Shown) -> PromptMemories:
        """Find the memories, in a run with this configuration, after what was said before the question.

        Args:
            question: what is searched for.
            config: of the run.
            dialogue: the question, and what was said before it.
            shown: the history in the chain's input, where there is one.
        """
        ...

    async def afind(self, question: str, config: RunnableConfig, dialogue: Dialogue, shown: Shown) -> PromptMemories:
        """As `find`, without blocking the event loop."""
        ...


@dataclass(frozen=True)
class BankSearch:
    """Recalls from the bank.

    Args:
        bank: where it searches.
        scope: whose memories, where it is always the same.
        scope_keys: the scope's parts in ``config["configurable"]``, where it is not.
        options: of the recalls.
    """

    bank: MemoryBank
    scope: Scope | None
    scope_keys: tuple[str, ...]
    options: RecallOptions

    def find(self, question: str, config: RunnableConfig, dialogue: Dialogue, shown: Shown) -> PromptMemories:
        """Recall from the bank; what the history around the run shows is left out, and was said before the question."""
        scope, history, about = self._scope(config), history_around(config), _said(dialogue)
        if history is not None and history.scope == scope:
            about = {"context": latest_said(history.said_last), "exclude": history.ids_shown(shown), **about}
        with waiting_at_most(ANSWER_WAITS_S):
            recall = self.bank.recall(scope, question, **about, **self.options.arguments)
        return PromptMemories(recall.text, _documents(recall.hits, scope), references(recall), scope, recall.impression)

    async def afind(self, question: str, config: RunnableConfig, dialogue: Dialogue, shown: Shown) -> PromptMemories:
        """As `find`, without blocking the event loop."""
        return await run_in_executor(None, self.find, question, config, dialogue, shown)

    def _scope(self, config: RunnableConfig) -> Scope:
        return scope_in(config, self.scope, self.scope_keys, caller="with_citation_feedback")


@dataclass(frozen=True)
class RetrieverSearch:
    """Takes the documents of a retriever over the bank, in its order.

    Args:
        bank: where the retriever searches.
        retriever: `SecomRetriever`, or what reorders or cuts its documents.
        scope: whose documents it may find; anyone's, of one scope at a time, unless given.
    """

    bank: MemoryBank
    retriever: Runnable[str, list[Document]]
    scope: Scope | None

    def find(self, question: str, config: RunnableConfig, dialogue: Dialogue, shown: Shown) -> PromptMemories:
        """Invoke the retriever; what was said before the question weighs in where it takes it.

        Raises:
            InvalidInput: it found a document that `SecomRetriever` did not make of a memory.
            InvalidScope: it found documents of several scopes, or of another one than is asked for.
        """
        return self._memories(question, self.retriever.invoke(question, config, **self._said(dialogue)))

    async def afind(self, question: str, config: RunnableConfig, dialogue: Dialogue, shown: Shown) -> PromptMemories:
        """As `find`, without blocking the event loop."""
        documents = await self.retriever.ainvoke(question, config, **self._said(dialogue))
        return await run_in_executor(None, self._memories, question, documents)

    def _said(self, dialogue: Dialogue) -> dict[str, Any]:
        return _said(dialogue) if isinstance(self.retriever, SecomRetriever) else {}

    def _memories(self, question: str, documents: Sequence[Document]) -> PromptMemories:
        scope = common_scope(document for document in documents if is_of_bank(document))
        hits = numbered(to_hits(documents, self.bank))
        if scope is None or not hits:
            return PromptMemories()
        scope = bound_scope(scope, self.scope, caller="with_citation_feedback")
        with waiting_at_most(ANSWER_WAITS_S):
            impression = self.bank.citations.impression(scope, question, hits)
        return PromptMemories(citable(render(hits)), _documents(hits, scope), _hit_references(hits), scope, impression)


def citing_bank(bank: MemoryBank, caller: str) -> MemoryBank:
    """Return the bank, if it takes in citations.

    Raises:
        InvalidInput: it does not.
    """
    if not isinstance(bank, MemoryBank) or "citations" not in bank.layers:
        raise InvalidInput(
            f"{caller} needs a bank that takes in citations: MemoryBank.open(..., citations=True), got {bank!r}"
        )
    return bank


def _documents(hits: Iterable[Hit], scope: Scope) -> tuple[Document, ...]:
    documents = [to_document(hit, scope) for hit in hits]
    for document in documents:
        # An answer that repeats a memory word for word must not cite by it what the memory's words name.
        document.page_content = escaped(document.page_content)
    return tuple(documents)


def references(recall: Recall) -> dict[int, dict[str, Any]]:
    """The ids that each number in the block of a recall stands for: of turns, and for a hit of its memory."""
    turns = {number: {"turn_ids": list(turn_ids)} for number, turn_ids in recall.cited_turns.items()}
    return turns | _hit_references(recall.hits)


def _hit_references(hits: Iterable[Hit]) -> dict[int, dict[str, Any]]:
    return {hit.number: {"memory_id": hit.memory.id, "turn_ids": list(hit.turn_ids)} for hit in hits}


def cited_references(citations: Citations, known: References) -> list[dict[str, Any]]:
    """What an answer cites, as its message's metadata names it: each number with its ids."""
    return [{"number": number, **known[number]} for number in citations.numbers]


def citation_counts(citations: Citations, numbers: Iterable[int]) -> dict[str, Any]:
    """What runs and callback handlers get of an answer: numbers, no ids and no text.

    Args:
        citations: what the answer cites.
        numbers: the numbers in its prompt.
    """
    listed = list(numbers)
    return {
        "numbers": listed,
        "cited": list(citations.numbers),
        "unknown": list(citations.unknown),
        "none_used": citations.none_used,
        "reward": len(citations.numbers) / len(listed) if citations.is_feedback and listed else None,
    }
