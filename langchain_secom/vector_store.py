"""Any LangChain vector store as the vector store of a bank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore

from secom_core.errors import InvalidInput, StoreError
from secom_core.models.refusals import PROBE, sent, takes
from secom_core.processes import ForkLock
from secom_core.vector_stores.sync import store_errors
from secom_core.vectors import VectorDocument

FilterBuilder = Callable[[str], Any]
"""Makes the store's own filter from a scope's label: only documents whose ``secom_scope`` is the label pass."""

_KEY: Final = "secom_scope"


def metadata_filter(scope: str) -> dict[str, str]:
    """The filter of stores that take a dictionary: FAISS, PGVector, Chroma and many more."""
    return {_KEY: scope}


def document_filter(scope: str) -> Callable[[Document], bool]:
    """The filter of stores that take a function of the document: InMemoryVectorStore."""
    return lambda document: document.metadata.get(_KEY) == scope


def qdrant_filter(scope: str) -> Any:
    """The filter of QdrantVectorStore, where the metadata is kept under its usual name."""
    from qdrant_client import models

    match = models.MatchValue(value=scope)
    return models.Filter(must=[models.FieldCondition(key=f"metadata.{_KEY}", match=match)])


_FILTERS: Final[Mapping[str, FilterBuilder]] = {
    "InMemoryVectorStore": document_filter,
    "Qdrant": qdrant_filter,
    "QdrantVectorStore": qdrant_filter,
}


class LangChainVectorStore:
    """Finds turns by meaning in a LangChain vector store, which embeds them with its own embeddings.

    Only the order of the results counts, so the store may score by similarity or by distance. Each search has a filter
    for the scope. If the store nevertheless returns a document of another scope, the search fails, and the bank
    searches by words, with a warning.

    The bank adds and deletes documents by itself; use a collection for one bank only. FAISS filters after the search,
    so the time of a search or a deletion grows with the documents of all users. For many users, choose a store that
    filters during the search.

    Setup: ``pip install ".[langchain]"`` in a clone, and the store's own package.

    Instantiate::

        bank = MemoryBank.open("memory.db", vector_store=LangChainVectorStore(store))

    Args:
        store: the vector store; it can delete by ids.
        filter_builder: makes the store's filter from a scope's label; found by the store's class unless given, and a
            dictionary if the class is not known. Conditions of your own go in there too, so that the store applies
            them before it counts to ``k``.
        name: tells the collection from others, for a bank that moves; the name of the class unless given.
        concurrent: whether the store may be called from several threads at once, as one on a server may.
        **search_kwargs: for every search, such as ``ef`` or ``nprobe``.

    Raises:
        InvalidInput: it is no vector store, or it cannot delete.
    """

    def __init__(
        self,
        store: VectorStore,
        filter_builder: FilterBuilder | None = None,
        *,
        name: str | None = None,
        concurrent: bool = False,
        **search_kwargs: Any,
    ) -> None:
        if not isinstance(store, VectorStore):
            raise InvalidInput(f"expected a LangChain VectorStore, got {store!r}")
        if type(store).delete is VectorStore.delete:
            raise InvalidInput(f"{type(store).__name__} cannot delete documents, so nothing could be forgotten")
        self._store, self._options = store, search_kwargs
        self._classes = [each.__name__ for each in type(store).__mro__]
        known = (_FILTERS[each] for each in self._classes if each in _FILTERS)
        self._filter = filter_builder or next(known, metadata_filter)
        self._can_look_up = type(store).get_by_ids is not VectorStore.get_by_ids
        self._lock: AbstractContextManager[Any] = nullcontext() if concurrent else ForkLock()
        self.name = name or type(store).__name__

    def upsert(self, documents: Sequence[VectorDocument]) -> None:
        """Add what is not there yet.

        Raises:
            StoreError: the store, or its embeddings, raised; the error is chained.

        Warns:
            DegradedWarning: its embeddings refuse texts; these are left out.
        """
        with self._lock, store_errors(self.name, "add"):
            there = self.existing([each.id for each in documents]) if self._can_look_up else set()
            new = [each for each in documents if each.id not in there]
            if new:
                self._add(new)

    def _add(self, documents: Sequence[VectorDocument]) -> None:
        texts = [each.text for each in documents]

        def send(run: Sequence[tuple[int, str]]) -> list[str]:
            ids = [documents[place].id for place, _ in run]
            made = [Document(text, id=documents[at].id, metadata=_metadata(documents[at])) for at, text in run]
            self._store.add_documents(made, ids=ids)
            return ids

        sent(self, f"the vector store {self.name!r}", send, lambda: _refuse(self._store.embeddings, texts), texts)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents; unknown ids are passed over.

        Raises:
            StoreError: the store raised, or they are there still.
        """
        with self._lock, store_errors(self.name, "delete"):
            # Some stores refuse to delete what is not there.
            there = sorted(self.existing(ids))
            if there and (self._store.delete(ids=there) is False or (self._can_look_up and self.existing(there))):
                raise StoreError(f"{self.name} did not delete {len(there)} documents, such as {there[0]!r}")

    def existing(self, ids: Sequence[str]) -> set[str]:
        """Those of ``ids`` that are there; all of them if the store cannot tell.

        Raises:
            StoreError: the store raised.
        """
        if not self._can_look_up:
            return set(ids)
        with self._lock, store_errors(self.name, "look up"):
            return {str(each.metadata.get("secom_id")) for each in self._store.get_by_ids(list(ids))}

    def search(self, scope: str, query: str, k: int) -> list[str]:
        """The ids of the documents nearest to the query, best first.

        Raises:
            StoreError: the store raised, or found documents of another scope.
        """
        with self._lock, store_errors(self.name, "search"):
            options = {"filter": self._filter(scope), **self._beyond(k), **self._options}
            found = self._store.similarity_search(query, k=k, **options)
        foreign = [each for each in found if each.metadata.get(_KEY) != scope]
        if foreign:
            raise StoreError(
                f"{self.name} found {len(foreign)} documents that are not of the scope: it ignores the filter "
                f"{options['filter']!r}; give a filter_builder that it understands"
            )
        return [str(each.metadata["secom_id"]) for each in found]

    def _beyond(self, k: int) -> dict[str, int]:
        """FAISS filters what it has found: it has to find everything, or another user's documents leave no room."""
        if "FAISS" not in self._classes:
            return {}
        return {"fetch_k": max(k, int(self._store.index.ntotal))}  # type: ignore[attr-defined]


def _refuse(embeddings: Embeddings | None, texts: list[str]) -> bool:
    """Whether a store's embeddings answer, but do not take the texts; else it is the store that has failed."""
    if embeddings is None:
        return False
    return takes(lambda: embeddings.embed_query(PROBE)) and not takes(lambda: embeddings.embed_documents(texts))


def _metadata(document: VectorDocument) -> dict[str, str]:
    return {**document.metadata, "secom_id": document.id}
