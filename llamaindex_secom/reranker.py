"""A reranker that has nodes ranked by the bank that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.callbacks import CBEventType, EventPayload
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from typing_extensions import Unpack

from secom_core.bank import MemoryBank
from secom_core.bank.checks import check_count
from secom_core.errors import InvalidInput
from secom_core.ranking.relevance import chance

from .arguments import PostprocessorFields, refuse_unknown
from .banks import bank_of
from .impressions import impressions_of
from .node_origins import locate
from .pickling import by_saved_form

_MODEL: Final = "secom"

_dispatcher = get_dispatcher(__name__)


class CitationReranker(BaseNodePostprocessor):
    """Ranks nodes that hold a bank's memories as the bank ranks them now: by the paper's reranker, if it has one.

    The reranker learns from what answers cite (RMM, section 6); a bank that only records citations ranks by its own
    scores.

    Any retriever may have found the nodes; the scope is read from their metadata. Each node keeps its id and gets the
    score of its memory, which the logistic function maps to values between 0 and 1. The score only orders nodes; it is
    not a probability. The nodes given are not changed. Nodes of another origin come after the others, in the order in
    which they were given. Nodes whose turns were forgotten since they were retrieved are left out.

    Args:
        bank: where the memories are, opened with ``citations``.
        top_n: how many nodes come back at most; all unless given.
        store_path: the bank's file, opened with ``citations`` if no bank is given.
        key: the passphrase of that file, if it is encrypted and not open in this process; it is not serialised.

    Raises:
        InvalidInput: neither a bank nor a store path is given, the bank was opened without ``citations``, or ``top_n``
            is below 1.
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
        key: str | None = None,
        **fields: Unpack[PostprocessorFields],
    ) -> None:
        refuse_unknown("CitationReranker", CitationReranker.__init__, fields.keys(), besides=type(self).model_fields)
        if top_n is not None:
            check_count("top_n", top_n)
        bank = bank_of(bank, store_path, needed_by="CitationReranker", layers=["citations"], key=key)
        bank.layers.check(["citations"])
        fields.pop("class_name", None)  # dumps have it
        values: dict[str, Any] = {"top_n": top_n, "store_path": bank.storage.path, **fields}
        super().__init__(**values)
        self._bank = bank  # set before super().__init__(), it would be lost

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "CitationReranker"

    def __reduce__(self) -> tuple[Any, ...]:
        return by_saved_form(self)

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
            ranked = self._ranked(nodes, query_bundle.query_str)[:top_n]
            event.on_end(payload={EventPayload.NODES: ranked})
        _dispatcher.event(ReRankEndEvent(nodes=ranked))
        return ranked

    def _ranked(self, nodes: Sequence[NodeWithScore], query: str) -> list[NodeWithScore]:
        located = list(enumerate(locate(self._bank, nodes)))
        scores: dict[int, float] = {}
        for impression in impressions_of(self._bank, query, located).values():
            scores.update(zip(impression.numbers, chance(np.array(impression.scores)).tolist(), strict=True))
        best = sorted(scores, key=lambda place: -scores[place])
        others = [each.node for place, each in located if place not in scores]
        return [NodeWithScore(node=located[place][1].node.node, score=scores[place]) for place in best] + others
