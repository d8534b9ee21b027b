"""LlamaIndex vector stores as the vector store of a bank."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import numpy as np
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

from secom_core.errors import InvalidInput, StoreError
from secom_core.models.refusals import vectors_of
from secom_core.processes import ForkLock
from secom_core.protocols import Embedder, Vectors
from secom_core.vector_stores.sync import store_errors
from secom_core.vectors import VectorDocument

from .models import LlamaIndexEmbedder, as_embedder

_KEY: Final = "secom_scope"


class LlamaIndexVectorStore:
    """Searches turns by vector in any LlamaIndex vector store.

    Only the order of the results counts, so the store may score by similarity or by distance, and it need not keep the
    text. Each search carries a `MetadataFilters` for the scope; if the store returns nodes of another scope all the
    same, the search fails, and the bank searches by words with a warning.

    The bank adds and deletes nodes by itself; use a collection for one bank only::

        store = LlamaIndexVectorStore(vector_store, embed_model=embed_model)
        bank = MemoryBank.open("memory.db", vector_store=store)

    Args:
        vector_store: the vector store; it can filter by metadata and delete.
        embed_model: makes the vectors; ``Settings.embed_model`` at the first use unless given.
        filters: further conditions, all of which must hold; the store applies them together with the scope's.
        name: identifies the collection, for a bank that moves; the name of the class unless given.
        concurrent: whether the store may be called from several threads at once, as one on a server may.

    Raises:
        InvalidInput: ``vector_store`` is no vector store.
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
        self._lock: AbstractContextManager[Any] = nullcontext() if concurrent else ForkLock()
        self.name = name or vector_store.class_name()

    def upsert(self, documents: Sequence[VectorDocument]) -> None:
        """Add the documents that the store does not hold yet.

        Raises:
            StoreError: the store raised; its error is chained.
            ModelError: the embedding model failed.
        """
        texts = [each.text for each in documents]
        vectors = vectors_of(self._embedder, self._embedder.embed, texts)
        # A vector of zeros is near to nothing, and some stores divide by its length.
        nodes = [_node(each, vector) for each, vector in zip(documents, vectors, strict=True) if vector.any()]
        with self._lock, store_errors(self.name, "add"):
            present = self.existing([each.id for each in documents]) if self._has_lookup else set()
            new = [node for node in nodes if node.node_id not in present]
            if new:
                self._store.add(new)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents; unknown ids are ignored.

        Raises:
            StoreError: the store raised, or did not delete them.
        """
        with self._lock, store_errors(self.name, "delete"):
            present = sorted(self.existing(ids))
            # Without ids some stores would delete everything.
            if present and type(self._store).delete_nodes is not BasePydanticVectorStore.delete_nodes:
                self._store.delete_nodes(node_ids=present)
            else:
                for each in present:
                    self._store.delete(each)
            if self._has_lookup and self.existing(present):
                raise StoreError(f"{self.name} did not delete {len(present)} nodes, such as {present[0]!r}")

    def existing(self, ids: Sequence[str]) -> set[str]:
        """Those of the ids that the store holds; all of them if it cannot look ids up.

        Raises:
            StoreError: the store raised.
        """
        if isinstance(self._store, SimpleVectorStore):
            return set(ids) & set(self._store.data.embedding_dict)
        if not self._has_lookup or not ids:
            return set(ids)
        with self._lock, store_errors(self.name, "look up"):
            return {node.node_id for node in self._store.get_nodes(node_ids=list(ids))} if self._exists else set()

    def search(self, scope: str, query: str, k: int) -> list[str]:
        """The ids of the nodes nearest to the query, best first.

        Raises:
            StoreError: the store raised, or found nodes of another scope.
            ModelError: the embedding model failed.
        """
        request = VectorStoreQuery(query_str=query, similarity_top_k=k, filters=self._filters_for(scope))
        if self._store.is_embedding_query:
            request.query_embedding = self._query_vector(query).tolist()
        with self._lock, store_errors(self.name, "search"):
            result = self._store.query(request) if self._exists else VectorStoreQueryResult(ids=[])
        if any(node.metadata.get(_KEY) != scope for node in result.nodes or ()):
            raise StoreError(f"{self.name} found nodes that are not of the scope: it ignores the filter")
        return list(result.ids or [node.node_id for node in result.nodes or ()])

    def _query_vector(self, query: str) -> Vectors:
        embed = getattr(self._embedder, "embed_queries", self._embedder.embed)
        return np.asarray(vectors_of(self._embedder, embed, [query])[0])

    def _filters_for(self, scope: str) -> MetadataFilters:
        return MetadataFilters(filters=[MetadataFilter(key=_KEY, value=scope), *self._filters])

    @property
    def _has_lookup(self) -> bool:
        """Whether the store can look nodes up by id."""
        kind = type(self._store)
        return isinstance(self._store, SimpleVectorStore) or kind.get_nodes is not BasePydanticVectorStore.get_nodes

    @property
    def _exists(self) -> bool:
        """Whether the collection exists: Qdrant creates it with the first addition."""
        exists = getattr(self._store.client, "collection_exists", None)
        return exists is None or bool(exists(getattr(self._store, "collection_name", None)))


def _node(document: VectorDocument, vector: Vectors) -> TextNode:
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
