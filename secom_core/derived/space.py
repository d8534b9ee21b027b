"""The space that an embedder's vectors are compared in: what it gives is checked, and what was stored of it too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from ..errors import ModelError, attempted, warn_degraded
from ..models.rows import model_rows
from ..protocols import Embedder, QueryEmbedder, Vectors
from ..stores.sql import SqlStore

_NEAR: Final = 1e-2
"""How far the square of a stored vector's length may be from 1."""


def has_direction(row: Vectors) -> bool:
    """Whether a vector is of length 1, as all that are stored are, or of zeros."""
    square = float(np.einsum("i,i->", row, row, dtype=np.float64))
    return abs(square - 1) < _NEAR or square == 0


class EmbeddingSpace:
    """An embedder's name, and how many dimensions its vectors have: only what agrees in both is compared.

    How many these are is settled once, by what the embedder gives first. Where the store holds others under its name,
    or a query alone has spoken, one more text tells a wrong answer from another model.

    Args:
        store: where its vectors are kept.
        embedder: makes them.
    """

    def __init__(self, store: SqlStore, embedder: Embedder) -> None:
        self._store, self._embedder = store, embedder
        self._dimensions: int | None = None
        self._failed = self._told = False

    @property
    def name(self) -> str:
        """The embedder's."""
        return self._embedder.name

    def of_texts(self, texts: Sequence[str]) -> Vectors | None:
        """Vectors of shape ``(len(texts), d)``, each of length 1; nothing, with a warning, where the embedder fails."""
        what = "the embedder failed, what was said is found by words until it answers again"
        return self._attempted(self._embedder.embed, texts, what)

    def of_queries(self, texts: Sequence[str]) -> Vectors | None:
        """The same for queries, as the embedder's own ``embed_queries`` makes them where it has one."""
        embed = self._embedder.embed_queries if isinstance(self._embedder, QueryEmbedder) else self._embedder.embed
        return self._attempted(embed, texts, "the embedder failed, this search is by words only")

    def is_settled(self, text: str) -> bool:
        """Whether it is known how many dimensions there are; where nobody has asked yet, this text is embedded."""
        if self._dimensions is None and not self._failed:
            self.of_texts([text])
        return self._dimensions is not None

    @property
    def dimensions(self) -> int | None:
        """How many dimensions the vectors have; nothing where the embedder does not answer."""
        return self._dimensions if self.is_settled(self.name) else None

    def fitting(self, stored: Mapping[str, Vectors]) -> dict[str, Vectors]:
        """The stored vectors that can be compared; others are set aside, with one warning a bank."""
        fit = {key: row for key, row in stored.items() if len(row) == self._dimensions and has_direction(row)}
        unfit = next((row for key, row in stored.items() if key not in fit), None)
        if unfit is not None and not self._told:
            self._told = True
            warn_degraded(
                f"stored vectors of the embedder {self.name!r} are set aside and made again: {self._unfitness(unfit)}"
            )
        return fit

    def _unfitness(self, row: Vectors) -> str:
        if len(row) and len(row) != self._dimensions:
            return (
                f"they have {len(row)} dimensions, and it now gives {self._dimensions}; give each model, and each "
                "number of dimensions, a name of its own"
            )
        return "they are no finite numbers, not of length 1, or cut off"

    def _attempted(self, embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str], what: str) -> Vectors | None:
        stored = self._store.vector_bytes(self.name) if self._dimensions is None else None
        made = attempted(f"the embedder {self.name!r}", partial(self._checked, embed, texts, stored), what)
        self._failed = made is None
        return made

    def _checked(self, embed: Callable[[Sequence[str]], Any], texts: Sequence[str], stored: int | None) -> Vectors:
        rows = model_rows(embed(texts), len(texts), self.name)
        dimensions = rows.shape[1]
        if self._dimensions is None:
            by_text = embed == self._embedder.embed
            agreed = stored == dimensions * rows.itemsize or (stored is None and by_text)
            self._dimensions = dimensions if agreed else self._shown_by(texts[0])
        if dimensions != self._dimensions:
            raise ModelError(
                f"{self.name} gave vectors of {dimensions} dimensions, where its others have {self._dimensions}; open "
                "the bank again if its model is another now"
            )
        return rows

    def _shown_by(self, text: str) -> int:
        return int(model_rows(self._embedder.embed([text]), 1, self.name).shape[1])
