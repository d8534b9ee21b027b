"""Ours and the peers on the same conversations, budgets and token counter, in one run.

``python -m benchmarks.peers --data ../shared/data/locomo --embedder minilm [--budgets 500 …] [--json OUT]``

Needs the extra ``peers``. Every peer is given each turn as ``speaker: text`` and ranks turns for a question; turns are
added in rank order until the next would pass the budget. Ours is `MemoryBank.recall` under the same budget, which also
pays for its headers, numbers and quoting.

- LangChain: ``EnsembleRetriever`` over ``BM25Retriever`` (lower-cased words) and FAISS.
- LlamaIndex: ``QueryFusionRetriever`` (reciprocal rank) over ``BM25Retriever`` and the vector index.
- mem0 without a language model (``infer=False``): Qdrant in memory, dense and BM25. Its BM25 encoder fetches a list of
  stop words from a hub; where that cannot be reached it is given ours.
- FAISS and bm25s without a framework: two searches and their ranks fused, as one writes it by hand.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.locomo import LocomoQuestion, read_locomo, read_locomo_questions
from benchmarks.retrieval import embedder_named, locomo_files, token_counter, versions
from secom_core.bank import MemoryBank
from secom_core.conversation import Turn
from secom_core.protocols import Embedder
from secom_core.text.stopwords import STOPWORDS

PACKAGES = (
    "mem0ai",
    "qdrant-client",
    "langchain-classic",
    "langchain-community",
    "llama-index-core",
    "llama-index-retrievers-bm25",
    "faiss-cpu",
    "bm25s",
    "rank-bm25",
)

DEEP = 200
"""How many turns each peer is asked to rank: more than fit the largest budget."""

FUSED = 60
"""What reciprocal ranks are smoothed by, as all of them do."""

Search = Callable[[str], list[str]]


def langchain_ensemble(turns: Sequence[Turn], embedder: Embedder) -> Search:
    from langchain_classic.retrievers import EnsembleRetriever
    from langchain_community.retrievers import BM25Retriever
    from langchain_community.vectorstores import FAISS
    from langchain_core.documents import Document

    documents = [Document(turn.text, metadata={"id": turn.id}) for turn in turns]
    words = BM25Retriever.from_documents(documents, k=DEEP, preprocess_func=lambda text: text.lower().split())
    vectors = FAISS.from_documents(documents, langchain_embeddings(embedder))
    both = EnsembleRetriever(
        retrievers=[words, vectors.as_retriever(search_kwargs={"k": DEEP})], weights=[0.5, 0.5], id_key="id"
    )
    return lambda query: [document.metadata["id"] for document in both.invoke(query)]


def langchain_embeddings(embedder: Embedder) -> Any:
    from langchain_core.embeddings import Embeddings

    class Adapted(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return embedder.embed(texts).tolist()

        def embed_query(self, text: str) -> list[float]:
            return embedder.embed([text])[0].tolist()

    return Adapted()


def llamaindex_fusion(turns: Sequence[Turn], embedder: Embedder) -> Search:
    from llama_index.core import VectorStoreIndex
    from llama_index.core.llms import MockLLM
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.core.schema import TextNode
    from llama_index.retrievers.bm25 import BM25Retriever

    nodes = [TextNode(text=turn.text, id_=turn.id) for turn in turns]
    deep = min(DEEP, len(nodes))
    vectors = VectorStoreIndex(nodes, embed_model=llamaindex_embedding(embedder))
    words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=deep)
    both = QueryFusionRetriever(
        [vectors.as_retriever(similarity_top_k=deep), words],
        llm=MockLLM(),
        similarity_top_k=deep,
        num_queries=1,
        mode="reciprocal_rerank",
        use_async=False,
    )
    return lambda query: [found.node.node_id for found in both.retrieve(query)]


def llamaindex_embedding(embedder: Embedder) -> Any:
    from llama_index.core.embeddings import BaseEmbedding

    class Adapted(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return embedder.embed([text])[0].tolist()

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return embedder.embed(texts).tolist()

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    return Adapted(model_name=embedder.name)


def llamaindex_vectors() -> type:
    """LlamaIndex's own store of vectors in memory, which here gives the texts back too."""
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.vector_stores import SimpleVectorStore

    class KeepingTexts(SimpleVectorStore):
        """`VectorMemoryBlock` refuses stores that do not give texts back, as the one that is built in does not."""

        stores_text: bool = True
        _texts: dict[str, Any] = PrivateAttr(default_factory=dict)

        def __repr_args__(self) -> list[Any]:
            # Workflows make the repr of an event's memory several times a turn, and this store's has every vector.
            return []

        def add(self, nodes: Any, **kwargs: Any) -> list[str]:
            self._texts.update((node.node_id, node) for node in nodes)
            return super().add(nodes, **kwargs)

        def query(self, query: Any, **kwargs: Any) -> Any:
            found = super().query(query, **kwargs)
            found.nodes = [self._texts[id_] for id_ in found.ids]
            return found

    return KeepingTexts


def mem0_on(folder: str, embedder: Embedder) -> Any:
    """mem0 without a language model, on Qdrant in a folder, or in memory for ``":memory:"``."""
    os.environ["MEM0_TELEMETRY"] = "False"
    from fastembed.sparse.bm25 import Bm25
    from mem0 import Memory
    from mem0.configs.base import MemoryConfig
    from qdrant_client import QdrantClient

    dimensions = int(embedder.embed(["size"]).shape[1])
    client = QdrantClient(":memory:") if folder == ":memory:" else QdrantClient(path=folder)
    store = {"collection_name": "peers", "embedding_model_dims": dimensions, "client": client}
    config = MemoryConfig(
        vector_store={"provider": "qdrant", "config": store},
        embedder={"provider": "langchain", "config": {"model": langchain_embeddings(embedder)}},
        llm={"provider": "openai", "config": {"api_key": "unused"}},
        history_db_path=":memory:" if folder == ":memory:" else f"{folder}.history.db",
    )
    memory = Memory(config)
    with tempfile.TemporaryDirectory() as words:
        Path(words, "english.txt").write_text("\n".join(sorted(STOPWORDS["english"])))
        memory.vector_store._bm25_encoder = Bm25("Qdrant/bm25", specific_model_path=words)
    return memory


def mem0_hybrid(turns: Sequence[Turn], embedder: Embedder) -> Search:
    memory = mem0_on(":memory:", embedder)
    for turn in turns:
        memory.add([{"role": "user", "content": turn.text}], user_id="u", infer=False, metadata={"turn": turn.id})

    def search(query: str) -> list[str]:
        found = memory.search(query, filters={"user_id": "u"}, top_k=DEEP, threshold=0.0)
        return [each["metadata"]["turn"] for each in found["results"]]

    return search


def bare(turns: Sequence[Turn], embedder: Embedder) -> Search:
    import bm25s
    import faiss

    deep = min(DEEP, len(turns))
    words = bm25s.BM25()
    words.index(bm25s.tokenize([turn.text for turn in turns], show_progress=False), show_progress=False)
    vectors = embedder.embed([turn.text for turn in turns])
    near = faiss.IndexFlatIP(int(vectors.shape[1]))
    near.add(vectors)

    def search(query: str) -> list[str]:
        by_words, _ = words.retrieve(bm25s.tokenize(query, show_progress=False), k=deep, show_progress=False)
        _, by_vector = near.search(embedder.embed([query]), deep)
        scores: dict[int, float] = {}
        for ranked in (by_words[0], by_vector[0]):
            for rank, place in enumerate(ranked.tolist()):
                scores[place] = scores.get(place, 0.0) + 1 / (FUSED + rank)
        return [turns[place].id for place in sorted(scores, key=scores.__getitem__, reverse=True)]

    return search


PEERS: dict[str, Callable[[Sequence[Turn], Embedder], Search]] = {
    "LangChain EnsembleRetriever": langchain_ensemble,
    "LlamaIndex QueryFusionRetriever": llamaindex_fusion,
    "mem0, no LLM, Qdrant hybrid": mem0_hybrid,
    "FAISS and bm25s, bare": bare,
}


def filled(ranked: Sequence[str], lengths: dict[str, int], budget: int) -> set[str]:
    """The turns that fit, in rank order; the first that does not fit ends the fill."""
    kept, used = set(), 0
    for turn_id in ranked:
        used += lengths[turn_id]
        if used > budget:
            break
        kept.add(turn_id)
    return kept


def share(question: LocomoQuestion, turn_ids: set[str]) -> float:
    return len(turn_ids & set(question.evidence)) / len(set(question.evidence))


def run_peer(name: str, conversations: list[Any], embedder: Embedder, budgets: list[int]) -> list[dict[str, Any]]:
    rows, counter = [], token_counter()[0]
    for turns, questions in conversations:
        lengths = {turn.id: counter(turn.text) for turn in turns}
        search = PEERS[name](turns, embedder)
        for question in questions:
            begin = time.perf_counter()
            ranked = [turn_id for turn_id in dict.fromkeys(search(question.question)) if turn_id in lengths]
            seconds = time.perf_counter() - begin
            recall = {budget: share(question, filled(ranked, lengths, budget)) for budget in budgets}
            rows.append({"category": question.category, "seconds": seconds, "recall": recall})
    return rows


def run_ours(files: list[Path], embedder: Embedder | None, budgets: list[int]) -> list[dict[str, Any]]:
    rows = []
    for file in files:
        with MemoryBank.open(embedder=embedder, token_counter=token_counter()[0]) as bank:
            for session in read_locomo(file):
                bank.remember(("peers",), session, close=True)
            for question in scored(read_locomo_questions(file)):
                begin = time.perf_counter()
                found = {
                    budget: {turn.id for turn in bank.recall(("peers",), question.question, token_budget=budget).turns}
                    for budget in budgets
                }
                seconds = (time.perf_counter() - begin) / len(budgets)
                recall = {budget: share(question, ids) for budget, ids in found.items()}
                rows.append({"category": question.category, "seconds": seconds, "recall": recall})
    return rows


def scored(questions: Sequence[LocomoQuestion]) -> list[LocomoQuestion]:
    return [question for question in questions if question.category in (1, 2, 3, 4) and question.evidence]


def summary(rows: list[dict[str, Any]], budgets: list[int]) -> dict[str, Any]:
    smallest = budgets[0]
    return {
        "recall": {str(budget): statistics.fmean(row["recall"][budget] for row in rows) for budget in budgets},
        "by_category": {
            str(category): statistics.fmean(row["recall"][smallest] for row in rows if row["category"] == category)
            for category in sorted({row["category"] for row in rows})
        },
        "questions": len(rows),
        "milliseconds": statistics.median(row["seconds"] for row in rows) * 1000,
    }


def table(results: dict[str, dict[str, Any]], budgets: list[int]) -> str:
    head = "".join(f"{budget:>8}" for budget in budgets)
    lines = [f"{'evidence recall at tokens':<36}{head}   | at {budgets[0]}: multi  temp  open  single |   ms"]
    for name, result in results.items():
        recall = "".join(f"{result['recall'][str(budget)]:>8.3f}" for budget in budgets)
        kinds = "".join(f"{result['by_category'].get(str(category), float('nan')):>7.3f}" for category in (1, 2, 3, 4))
        lines.append(f"{name:<36}{recall}   |{kinds:>34} |{result['milliseconds']:>6.1f}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--budgets", type=int, nargs="+", default=[500, 1000, 2000, 4000])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    embedder = embedder_named(options.embedder)
    if embedder is None:
        parser.error("the peers search by vectors: choose --embedder minilm or a path")
    files = locomo_files(options.data)
    conversations = []
    for file in files:
        turns = [turn for session in read_locomo(file) for turn in session.turns]
        conversations.append((turns, scored(read_locomo_questions(file))))
    results = {
        name: summary(run_peer(name, conversations, embedder, options.budgets), options.budgets) for name in PEERS
    }
    results["ours, no embedder"] = summary(run_ours(files, None, options.budgets), options.budgets)
    results["ours"] = summary(run_ours(files, embedder, options.budgets), options.budgets)
    print(f"tokens: {token_counter()[1]}; embedder: {embedder.name}; conversations: {len(files)}")
    print(table(results, options.budgets))
    if options.json:
        settings = {"seed": None, "embedder": embedder.name, "token_counter": token_counter()[1]}
        kept = {"results": results, **settings, "versions": versions(*PACKAGES)}
        options.json.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
