"""A scope's memories as a LlamaIndex retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores.types import MetadataFilters
from typing_extensions import Unpack

from secom_core.bank import MemoryBank, check_bank
from secom_core.bank.checks import check_text
from secom_core.conversation import Scope, check_scope
from secom_core.errors import InvalidInput, shorten
from secom_core.memory import Recall, RecallOptions
from secom_core.ranking.relevance import likeliest_first

from .agent_steps import as_steps
from .arguments import RetrieverFields, refuse_unknown
from .convert import section_nodes, to_node
from .dialogue import QueryHook, asked_at, before, check_query_hook, said_before, searched_for
from .filters import where_of
from .tracing import traced_recall


class SecomRetriever(BaseRetriever):
    """Retrieves the memories of one scope that answer a query.

    Each memory is a node with its turns verbatim and its origin in the metadata (`llamaindex_secom.convert.to_node`).
    Layers add nodes too (`llamaindex_secom.convert.section_nodes`): a summary before the memories, and timelines after
    them, with the score of the memory next to them. A score is the estimated probability that the memory helps to
    answer, from 0 to 1. It means the same for every query, so you can use
    ``SimilarityPostprocessor(similarity_cutoff=0.5)``.

    Args:
        bank: where the memories are.
        scope: whose memories; always given, and nothing outside it is found.
        token_budget: the length of the memories together, in the bank's token counter; 2000 if neither it nor ``k``
            is given.
        k: the largest number of memories.
        layers: the names of layers that take part, such as ``["summaries"]``.
        only_relevant: find only memories that answer the query, without neighbouring and latest turns.
        where: a filter (`secom_core.filters`), such as ``{"role": "user"}``: nothing else is found or shown.
        filters: the same in LlamaIndex's form (`llamaindex_secom.filters`).
        also: other scopes that are searched too, such as a team's; the block says whose each memory is.
        history: also show statements that no longer hold, marked as such, after the ones that replaced them.
        context: a function that returns the messages before the query, such as ``memory.get_all`` of a chat engine's
            memory. With them, "And where does she live?" finds the person in question.
        query: makes what is searched for out of these messages, the query at the end, such as `rewritten_query`; the
            query as it is unless given.
        order: ``"score"``, best first, or ``"time"``, oldest first.
        empty: the text of the single node that comes back if nothing is found, so that a query engine still asks its
            language model; no node unless given.
        trace_contents: whether the `tracing.SecomRecallEvent` of a recall holds the query and the recalled block.
        **options: ``callback_manager``, ``objects``, ``object_map`` and ``verbose`` of ``BaseRetriever``.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: ``token_budget`` or ``k`` is below 1, or the bank cannot recall with one of the layers.
    """

    def __init__(
        self,
        bank: MemoryBank,
        scope: Sequence[str],
        *,
        token_budget: int | None = None,
        k: int | None = None,
        layers: Sequence[str] = (),
        only_relevant: bool = False,
        where: Mapping[str, Any] | None = None,
        filters: MetadataFilters | None = None,
        also: Sequence[Sequence[str]] = (),
        history: bool = True,
        context: Callable[[], Sequence[ChatMessage]] | None = None,
        query: QueryHook | None = None,
        order: Literal["score", "time"] = "score",
        empty: str | None = None,
        trace_contents: bool = True,
        **options: Unpack[RetrieverFields],
    ) -> None:
        takes = type(self).__init__
        refuse_unknown(type(self).__name__, takes, options.keys(), besides=RetrieverFields.__annotations__)
        if order not in ("score", "time"):
            raise InvalidInput(f"order is 'score' or 'time', not {order!r}")
        if where is not None and filters is not None:
            raise InvalidInput("give where, or filters, not both")
        wanted = where_of(filters) if filters is not None else where
        self._recall_options = RecallOptions(token_budget, k, layers, only_relevant, wanted, also, history)
        if context is not None and not callable(context):
            raise InvalidInput(f"context is a function that gives chat messages, got {shorten(context)}")
        self._context, self._hook = context, check_query_hook(query)
        self._bank = check_bank(bank, type(self).__name__)
        bank.layers.check(self._recall_options.layers)
        self._scope = check_scope(scope)
        self._order = order
        self._empty = empty if empty is None else check_text("empty", empty, empty=True)
        self._trace_contents = trace_contents
        super().__init__(**options)

    @property
    def scope(self) -> Scope:
        """Whose memories it finds."""
        return self._scope

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        asked = query_bundle.query_str
        dialogue = as_steps(self._context()) if self._context is not None else []
        earlier = before(dialogue, asked)
        query, options = searched_for(asked, earlier, self._hook), self._recall_options.arguments
        if self._hook is not None and not query:
            return self._neutral()
        options |= {"context": said_before(earlier), "now": asked_at(dialogue, asked)}
        about = {**options, "contents": self._trace_contents}
        recall = traced_recall(self._bank, self._scope, query, **about)
        return self._nodes(recall) or self._neutral()

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)

    def _nodes(self, recall: Recall) -> list[NodeWithScore]:
        """The memories between what layers add, in the order of the recalled block."""
        hits = recall.hits if self._order == "time" else likeliest_first(recall)
        scores = [hit.relevance for hit in hits] or [0.0]
        before = [each for each in recall.sections if not each.turn_ids]
        after = [each for each in recall.sections if each.turn_ids]
        return [
            *(node for section in before for node in section_nodes(section, self._scope, max(scores))),
            *(to_node(hit, hit.scope) for hit in hits),
            *(node for section in after for node in section_nodes(section, self._scope, min(scores))),
        ]

    def _neutral(self) -> list[NodeWithScore]:
        if self._empty is None:
            return []
        return [NodeWithScore(node=TextNode(id_="secom-nothing-found", text=self._empty), score=0.0)]
