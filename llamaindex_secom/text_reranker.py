"""Any reranker of LlamaIndex, wherever the core takes one."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

from secom_core.errors import BadReply, InvalidInput, shorten
from secom_core.llm.limits import translated
from secom_core.ranking.returned import Returned, scores_of


class LlamaIndexReranker:
    """A node postprocessor that reranks, as the core's `Reranker`.

    It gets one node for each text, without scores. Nodes that it leaves out come last. Many postprocessors return only
    a few nodes by default, so set ``top_n`` to the number that the bank judges
    (`secom_core.ranking.reranking.Reranking.first`).

    Usage::

        postprocessor = SentenceTransformerRerank(model="cross-encoder/ms-marco-MiniLM-L6-v2", top_n=30)
        bank = MemoryBank.open("memory.db", reranker=LlamaIndexReranker(postprocessor))

    Args:
        postprocessor: any `BaseNodePostprocessor` that orders nodes for a query.

    Raises:
        InvalidInput: it is not a `BaseNodePostprocessor`.
    """

    def __init__(self, postprocessor: BaseNodePostprocessor) -> None:
        if not isinstance(postprocessor, BaseNodePostprocessor):
            raise InvalidInput(
                f"expected a LlamaIndex node postprocessor, got {shorten(postprocessor)}; the core takes a function of "
                "a query and texts as it is"
            )
        self.postprocessor = postprocessor

    def __repr__(self) -> str:
        return f"LlamaIndexReranker({type(self.postprocessor).__name__})"

    def __call__(self, query: str, texts: Sequence[str], /) -> list[float]:
        """A score a text, the higher the better: those of the nodes, or where these have none, by their order.

        Raises:
            ModelUnavailable: it raised; its error is chained.
            BadReply: it gave nodes that it was not given.
        """
        if not texts:
            return []
        places = {str(place): place for place in range(len(texts))}
        nodes = [NodeWithScore(node=TextNode(id_=str(place), text=text)) for place, text in enumerate(texts)]
        with translated(self.postprocessor):
            found = self.postprocessor.postprocess_nodes(nodes, query_str=query)
        strange = [each.node.node_id for each in found if each.node.node_id not in places]
        if strange:
            raise BadReply("the postprocessor gave nodes that it was not given", shorten(strange))
        return scores_of([Returned(places[each.node.node_id], each.score) for each in found], len(texts))
