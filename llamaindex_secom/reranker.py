"""Nodes ranked by what their scope has learned from citations (RMM, section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.callbacks import CBEventType, EventPayload
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from secom_core.bank import MemoryBank
from secom_core.errors import InvalidInput

from .shown import decisions_of, learning_bank, located, scores_of

__all__ = ["CitationReranker"]

_MODEL: Final = "secom"

_dispatcher = get_dispatcher(__name__)


class CitationReranker(BaseNodePostprocessor):
    """Ranks the nodes of a bank, whatever found them, by the weights that their scope has learned.

    The scope is read from the nodes. Each node comes back under its own id, with the score of its memory; the nodes
    given are not changed. Nodes of another origin come after the others, in the order in which they came. What was
    forgotten since it was retrieved is left out.

    Args:
        bank: where the memories are; one that learns.
        top_n: how many nodes come back at most; all unless given.
        store_path: the bank's file, opened where no bank is given.

    Raises:
        InvalidInput: neither a bank nor a store path is given, the bank does not learn, or ``top_n`` is below 1.
    """

    model_config = ConfigDict(extra="forbid")

    top_n: int | None = Field(default=None, description="How many nodes come back at most.")
    store_path: str | None = Field(default=None, description="The bank's file.")
    _bank: MemoryBank = PrivateAttr()

    def __init__(
        self,
        bank: MemoryBank | None = None,
        *,
        top_n: int | None = None,
        store_path: str | None = None,
        **data: Any,
    ) -> None:
        if top_n is not None and top_n < 1:
            raise InvalidInput(f"top_n is a whole number from 1 on, got {top_n!r}")
        found = learning_bank("CitationReranker", bank, store_path)
        if not found.learns:
            raise InvalidInput("this bank does not learn; open it with learning=True")
        data.pop("class_name", None)  # dumps have it
        super().__init__(**{**data, "top_n": top_n, "store_path": found.path})
        self._bank = found  # set before super().__init__(), it would be lost

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "CitationReranker"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise InvalidInput("CitationReranker ranks for a query; pass query_str or query_bundle")
        top_n = self.top_n or len(nodes)
        _dispatcher.event(ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=top_n, model_name=_MODEL))
        payload: dict[str, Any] = {
            EventPayload.NODES: nodes,
            EventPayload.MODEL_NAME: _MODEL,
            EventPayload.QUERY_STR: query_bundle.query_str,
            EventPayload.TOP_K: top_n,
        }
        with self.callback_manager.event(CBEventType.RERANKING, payload=payload) as event:
            done = self._ranked(nodes, query_bundle.query_str)[:top_n]
            event.on_end(payload={EventPayload.NODES: done})
        _dispatcher.event(ReRankEndEvent(nodes=done))
        return done

    def _ranked(self, nodes: Sequence[NodeWithScore], query: str) -> list[NodeWithScore]:
        given = list(enumerate(located(self._bank, nodes)))
        scores: dict[int, float] = {}
        for shown in decisions_of(self._bank, query, given).values():
            scores.update(zip(shown.numbers, scores_of(shown), strict=True))
        best = sorted(scores, key=lambda place: -scores[place])
        others = [each.node for place, each in given if place not in scores]
        return [NodeWithScore(node=given[place][1].node.node, score=scores[place]) for place in best] + others
