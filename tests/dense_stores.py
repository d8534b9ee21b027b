"""A vector store in a dictionary: the contract of `VectorStore` in a few lines, with faults on request."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from secom_core.errors import StoreError
from secom_core.protocols import Embedder, Vectors
from secom_core.vectors import VectorDocument


class DictionaryStore:
    """Exact search by an embedder.

    Args:
        embedder: makes the vectors.
        name: the collection's.
    """

    def __init__(self, embedder: Embedder, name: str = "dictionary") -> None:
        self.name, self.embedder = name, embedder
        self.documents: dict[str, VectorDocument] = {}
        self.vectors: dict[str, Vectors] = {}
        self.failing: set[str] = set()
        self.filters = True
        self.sent = 0
        self.asked: list[tuple[str, str, int]] = []

    def upsert(self, documents: Sequence[VectorDocument]) -> None:
        self._fail("upsert")
        self.sent += len(documents)
        vectors = self.embedder.embed([each.text for each in documents])
        self.documents.update({each.id: each for each in documents})
        self.vectors.update({each.id: vector for each, vector in zip(documents, vectors, strict=True)})

    def delete(self, ids: Sequence[str]) -> None:
        self._fail("delete")
        for each in ids:
            self.documents.pop(each, None)
            self.vectors.pop(each, None)

    def existing(self, ids: Sequence[str]) -> set[str]:
        self._fail("held")
        return {each for each in ids if each in self.documents}

    def search(self, scope: str, query: str, k: int) -> list[str]:
        self._fail("search")
        self.asked.append((scope, query, k))
        if "\0" in query or any("\ud800" <= letter <= "\udfff" for letter in query):
            raise StoreError("a server refuses this")
        found = [id_ for id_, each in self.documents.items() if each.scope == scope or not self.filters]
        if not found:
            return []
        cosines = np.stack([self.vectors[each] for each in found]) @ self.embedder.embed([query])[0]
        return [found[place] for place in np.argsort(-cosines, kind="stable")[:k]]

    def texts(self) -> str:
        return "\n".join(each.text for each in self.documents.values())

    def called(self, what: str) -> None:
        """For who counts the calls."""

    def _fail(self, what: str) -> None:
        self.called(what)
        if what in self.failing:
            raise StoreError(f"{what} is broken")
