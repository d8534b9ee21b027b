"""A scope's memories as a LlamaIndex retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from secom_core.bank import MemoryBank
from secom_core.conversation import Scope, check_scope
from secom_core.errors import InvalidInput

from .convert import to_node

__all__ = ["SecomRetriever"]


class SecomRetriever(BaseRetriever):
    """Finds the memories of one scope that answer a query.

    Each node is one memory: its turns word for word, its origin in the metadata (`llamaindex_secom.convert.to_node`).

    Args:
        bank: where the memories are.
        scope: whose memories; always given, and nothing outside it is found.
        k: how many memories at most.
        token_budget: how long the memories may be together, in the bank's token counter.
        order: ``"score"``, best first, or ``"time"``, as they were said.
        empty: the text of the one node that comes back where nothing is found, so that a query engine still asks its
            language model; no node unless given.
        **options: ``callback_manager``, ``objects``, ``object_map`` and ``verbose`` of ``BaseRetriever``.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
    """

    def __init__(
        self,
        bank: MemoryBank,
        scope: Sequence[str],
        *,
        k: int | None = None,
        token_budget: int | None = None,
        order: Literal["score", "time"] = "score",
        empty: str | None = None,
        **options: Any,
    ) -> None:
        if order not in ("score", "time"):
            raise InvalidInput(f"order is 'score' or 'time', not {order!r}")
        self._bank = bank
        self._scope = check_scope(scope)
        self._k = k
        self._token_budget = token_budget
        self._order = order
        self._empty = empty
        super().__init__(**options)

    @property
    def scope(self) -> Scope:
        """Whose memories it finds."""
        return self._scope

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        recall = self._bank.recall(self._scope, query_bundle.query_str, token_budget=self._token_budget, k=self._k)
        hits = recall.hits if self._order == "time" else recall.ranked
        return [to_node(hit, self._scope) for hit in hits] or self._neutral()

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def _neutral(self) -> list[NodeWithScore]:
        return (
            []
            if self._empty is None
            else [NodeWithScore(node=TextNode(id_="secom-nothing-found", text=self._empty), score=0.0)]
        )
