"""Memories of a scope as a LangChain retriever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig
from pydantic import StrictBool, StrictInt, model_validator
from typing_extensions import Self

from secom_core.bank.asked_now import recalled
from secom_core.conversation import Scope
from secom_core.memory import Recall
from secom_core.ranking.relevance import likeliest_first

from .convert import section_documents, to_document
from .dialogue import said_before
from .identity import Identity
from .recall_options import recall_options
from .scoped_retriever import ScopedRetriever


class SecomRetriever(ScopedRetriever):
    """Finds the memories of a scope that answer a query; each document is a memory.

    Each document holds the turns of a memory, word for word, or the best excerpts of long turns. Its metadata has the
    session, the speakers and the times. ``score`` is the estimated probability that the memory helps to answer, from 0
    to 1, and ``confidence`` the probability that any of the documents does (see `langchain_secom.convert.to_document`).
    If ``layers`` take part, they add documents, such as the running summary before the memories, or timelines after
    them (see `langchain_secom.convert.section_documents`).

    Setup: ``pip install ".[langchain]"`` in a clone.

    Instantiate::

        retriever = SecomRetriever(bank=MemoryBank.open("memory.db"), scope=("acme", "alice"), k=4)

    Usage::

        retriever.invoke("Where do I live?")
        retriever.invoke("Where do I live?", k=2)

    One retriever for many users takes the scope from each call's configuration, and fails if there is none::

        retriever = SecomRetriever(bank=bank, scope_keys=("tenant_id", "user_id"))
        retriever.invoke(query, {"configurable": {"tenant_id": "acme", "user_id": "alice"}})

    A call may override ``k``, ``token_budget``, ``layers``, ``only_relevant``, ``where``, ``also`` and ``history``,
    and say when it is asked, for "yesterday", with ``now=datetime.now(zone)``.
    The question itself is not found, if it was stored before it was answered and ends its session. With the messages
    before the query, it understands a follow-up::

        retriever.invoke("And where does she live?", context=messages)

    Args:
        bank: where it searches.
        scope: whose memories it finds; from the configuration unless given.
        scope_keys: the parts of the scope by their names in ``config["configurable"]``; all of them are needed, or
            the whole scope as ``"scope"``. Where both are there, they must agree.
        token_budget: the largest length of all together, in the bank's token counter; 2000 if neither it nor ``k``
            is given.
        k: the largest number of memories.
        layers: layers of the bank that take part, such as ``"topics"``; as for `MemoryBank.recall`.
        only_relevant: find only memories that answer the query, without neighbouring and latest turns.
        where: a filter (`secom_core.filters`), such as ``{"role": "user"}``: nothing else is found or shown.
        also: other scopes that are searched too, such as a team's; the block says whose each memory is.
        also_keys: the parts of such scopes by their names in ``config["configurable"]``, as ``(("team_id",),)``; a
            scope is left out if the configuration lacks one of its parts.
        history: also show statements that no longer hold, marked as such, after the ones that replaced them.
        order: ``"score"`` gives the best first, ``"time"`` the oldest.
    """

    token_budget: StrictInt | None = None
    k: StrictInt | None = None
    layers: tuple[str, ...] = ()
    only_relevant: StrictBool = False
    where: dict[str, Any] | None = None
    also: tuple[tuple[str, ...], ...] = ()
    also_keys: tuple[tuple[str, ...], ...] = ()
    history: StrictBool = True

    @model_validator(mode="after")
    def _check_recall(self) -> Self:
        names = ("token_budget", "k", "layers", "only_relevant", "where", "also", "history", "also_keys")
        recall_options(self.bank, **{name: getattr(self, name) for name in names})
        return self

    @property
    def _configurable(self) -> tuple[str, ...]:
        return (*super()._configurable, *chain.from_iterable(self.also_keys))

    def _of_run(self, config: RunnableConfig | None, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        arguments = super()._of_run(config, kwargs)
        if not self.also_keys:
            return arguments
        run = Identity.of(type(self).__name__, self.scope, self.scope_keys, self.also_keys)
        given = self.also if arguments.get("also") is None else arguments["also"]
        return {**arguments, "also": (*given, *run.other_scopes(None, config))}

    def _search(
        self,
        query: str,
        scope: Scope,
        *,
        token_budget: int | None = None,
        k: int | None = None,
        layers: Sequence[str] | None = None,
        only_relevant: bool | None = None,
        where: Mapping[str, Any] | None = None,
        also: Sequence[Sequence[str]] | None = None,
        history: bool | None = None,
        context: Iterable[Any] = (),
        now: datetime | None = None,
    ) -> list[Document]:
        recall = recalled(
            self.bank,
            scope,
            query,
            token_budget=self.token_budget if token_budget is None else token_budget,
            k=self.k if k is None else k,
            layers=self.layers if layers is None else layers,
            only_relevant=self.only_relevant if only_relevant is None else only_relevant,
            where=self.where if where is None else where,
            also=self.also if also is None else also,
            history=self.history if history is None else history,
            context=said_before(context),
            now=now,
        )
        return self._documents(recall, scope)

    def _documents(self, recall: Recall, scope: Scope) -> list[Document]:
        found = recall.hits if self.order == "time" else likeliest_first(recall)
        hits = [_with_confidence(to_document(hit, hit.scope), recall.confidence) for hit in found]
        before = [
            each for section in recall.sections if not section.turn_ids for each in section_documents(section, scope)
        ]
        after = [each for section in recall.sections if section.turn_ids for each in section_documents(section, scope)]
        return [*before, *hits, *after]

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(ls_retriever_name="secom")


def _with_confidence(document: Document, confidence: float) -> Document:
    document.metadata["confidence"] = confidence
    return document
