"""Any LlamaIndex vector store as the dense index of a bank."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)

from secom_core.errors import InvalidInput, ModelError, StoreError
from secom_core.memory import DenseDocument
from secom_core.protocols import Embedder, Vectors

from .models import LlamaIndexEmbedder, as_embedder

__all__ = ["VectorStoreIndex"]

_KEY: Final = "secom_scope"


class VectorStoreIndex:
    """Finds turns by meaning in a LlamaIndex vector store.

    Only the order of what the store finds counts, so it may score by similarity or by distance, and it need not keep
    the text. Each search carries a `MetadataFilters` for the scope; where the store finds nodes of another scope all
    the same, the search fails, and the bank goes on by words with a warning.

    The bank writes and deletes what it needs; a collection serves one bank::

        bank = MemoryBank.open("memory.db", dense=VectorStoreIndex(vector_store, embed_model=embed_model))

    Args:
        vector_store: the vector store; it can filter by metadata and delete.
        embed_model: makes the vectors; ``Settings.embed_model`` at the first use unless given.
        filters: conditions of your own, all of which must hold; the store applies them together with the scope's.
        name: tells the collection from others, for a bank that moves; the name of the class unless given.
        concurrent: whether the store may be called from several threads at once, as one on a server may.

    Raises:
        InvalidInput: it is no vector store.
    """

    def __init__(
        self,
        vector_store: BasePydanticVectorStore,
        *,
        embed_model: BaseEmbedding | Embedder | None = None,
        filters: Sequence[MetadataFilter] = (),
        name: str | None = None,
        concurrent: bool = False,
    ) -> None:
        if not isinstance(vector_store, BasePydanticVectorStore):
            raise InvalidInput(f"expected a LlamaIndex BasePydanticVectorStore, got {vector_store!r}")
        self._store, self._filters = vector_store, tuple(filters)
        self._embedder = as_embedder(embed_model) if embed_model is not None else LlamaIndexEmbedder()
        self._lock = None if concurrent else threading.RLock()
        self.name = name or vector_store.class_name()

    def upsert(self, documents: Sequence[DenseDocument]) -> None:
        """Add what is not there yet.

        Raises:
            StoreError: the store raised; its error is chained.
            ModelError: the embedding model failed.
        """
        vectors = self._embedder.embed([each.text for each in documents])
        nodes = [_node(each, vector) for each, vector in zip(documents, vectors, strict=True)]
        with self._asked("add"):
            there = self.held([each.id for each in documents]) if self._tells else set()
            new = [node for node in nodes if node.node_id not in there]
            if new:
                self._store.add(new)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents; unknown ids are passed over.

        Raises:
            StoreError: the store raised, or they are there still.
        """
        with self._asked("delete"):
            there = sorted(self.held(ids))
            # Without ids some stores would delete everything.
            if there and type(self._store).delete_nodes is not BasePydanticVectorStore.delete_nodes:
                self._store.delete_nodes(node_ids=there)
            else:
                for each in there:
                    self._store.delete(each)
            if self._tells and self.held(there):
                raise StoreError(f"{self.name} did not delete {len(there)} nodes, such as {there[0]!r}")

    def held(self, ids: Sequence[str]) -> set[str]:
        """Those of ``ids`` that are there; all of them where the store cannot tell.

        Raises:
            StoreError: the store raised.
        """
        if isinstance(self._store, SimpleVectorStore):
            return set(ids) & set(self._store.data.embedding_dict)
        if not self._tells or not ids:
            return set(ids)
        with self._asked("look up"):
            return {node.node_id for node in self._store.get_nodes(node_ids=list(ids))} if self._exists else set()

    def search(self, scope: str, query: str, k: int) -> list[str]:
        """The ids of the nodes nearest to the query, best first.

        Raises:
            StoreError: the store raised, or found nodes of another scope.
            ModelError: the embedding model failed.
        """
        asked = VectorStoreQuery(query_str=query, similarity_top_k=k, filters=self._filters_for(scope))
        if self._store.is_embedding_query:
            asked.query_embedding = self._query_vector(query).tolist()
        with self._asked("search"):
            found = self._store.query(asked) if self._exists else VectorStoreQueryResult(ids=[])
        if any(node.metadata.get(_KEY) != scope for node in found.nodes or ()):
            raise StoreError(f"{self.name} found nodes that are not of the scope: it ignores the filter")
        return list(found.ids or [node.node_id for node in found.nodes or ()])

    def _query_vector(self, query: str) -> Vectors:
        embed = getattr(self._embedder, "embed_queries", self._embedder.embed)
        vector: Vectors = embed([query])[0]
        return vector

    def _filters_for(self, scope: str) -> MetadataFilters:
        return MetadataFilters(filters=[MetadataFilter(key=_KEY, value=scope), *self._filters])

    @property
    def _tells(self) -> bool:
        """Whether the store can say what it holds."""
        kind = type(self._store)
        return isinstance(self._store, SimpleVectorStore) or kind.get_nodes is not BasePydanticVectorStore.get_nodes

    @property
    def _exists(self) -> bool:
        """Whether the collection is there: Qdrant's is made by the first addition."""
        exists = getattr(self._store.client, "collection_exists", None)
        return exists is None or bool(exists(getattr(self._store, "collection_name", None)))

    @contextmanager
    def _asked(self, what: str) -> Iterator[None]:
        if self._lock is not None:
            self._lock.acquire()
        try:
            yield
        except (StoreError, ModelError):
            raise
        except Exception as error:  # an integration may raise anything, and there is no common base
            raise StoreError(f"{self.name} failed to {what}: {type(error).__name__}: {error}") from error
        finally:
            if self._lock is not None:
                self._lock.release()


def _node(document: DenseDocument, vector: Vectors) -> TextNode:
    metadata = document.metadata
    # Its own source, so that stores which delete by document find it too.
    source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document.id)}
    return TextNode(
        id_=document.id,
        text=document.text,
        embedding=vector.tolist(),
        metadata=metadata,
        excluded_embed_metadata_keys=list(metadata),
        excluded_llm_metadata_keys=list(metadata),
        relationships=source,
    )
