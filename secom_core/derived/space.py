"""The space that an embedder's vectors are compared in: what it gives is checked, and what was stored of it too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from ..errors import ModelError, attempted, warn_degraded
from ..models.refusals import vectors_of
from ..processes import ready_openmp
from ..protocols import Embedder, QueryEmbedder, Vectors
from ..stores.schema import dimensions_of, space_of
from ..stores.sql import SqlStore
from ..telemetry import staged

_NEAR: Final = 1e-2
"""How far the square of a stored vector's length may be from 1."""


def has_direction(row: Vectors) -> bool:
    """Whether a vector is of length 1, as all that are stored are, or of zeros."""
    square = float(np.einsum("i,i->", row, row, dtype=np.float64))
    return abs(square - 1) < _NEAR or square == 0


class EmbeddingSpace:
    """An embedder's name, and how many dimensions its vectors have: only what agrees in both is compared.

    How many these are is settled once, by what the embedder gives first. Where the store holds only others under its
    name, or a query alone has spoken, one more text tells a wrong answer from another model. What others have made
    under the same name with other dimensions is another space, and stays as it is.

    Args:
        store: where its vectors are kept.
        embedder: makes them.
    """

    def __init__(self, store: SqlStore, embedder: Embedder) -> None:
        self._store, self._embedder = store, embedder
        self._dimensions: int | None = None
        self._failed = self._told = False

    @property
    def model(self) -> str:
        """The embedder's name."""
        return self._embedder.name

    @property
    def known_name(self) -> str | None:
        """The space's name in the store. While it is not settled, that of any space there of the embedder's name."""
        return self._store.any_space(self.model) if self._dimensions is None else self._named(self._dimensions)

    @property
    def name(self) -> str | None:
        """The space's name in the store; the embedder is asked where nobody has. Nothing where it does not answer."""
        return self.known_name if self.is_settled(self.model) else None

    def _named(self, dimensions: int) -> str:
        return space_of(self.model, dimensions)

    @staged("embed")
    def of_texts(self, texts: Sequence[str]) -> Vectors | None:
        """Vectors of shape ``(len(texts), d)``, each of length 1; nothing, with a warning, where the embedder fails."""
        what = "the embedder failed, what was said is found by words until it answers again"
        return self._attempted(self._embedder.embed, texts, what)

    @staged("embed")
    def of_queries(self, texts: Sequence[str]) -> Vectors | None:
        """The same for queries, as the embedder's own ``embed_queries`` makes them where it has one."""
        embed = self._embedder.embed_queries if isinstance(self._embedder, QueryEmbedder) else self._embedder.embed
        return self._attempted(embed, texts, "the embedder failed, this search is by words only")

    def is_settled(self, text: str) -> bool:
        """Whether it is known how many dimensions there are; where nobody has asked yet, this text is embedded."""
        if self._dimensions is None and not self._failed:
            self.of_texts([text])
        return self._dimensions is not None

    def fitting(self, stored: Mapping[str, Vectors]) -> dict[str, Vectors]:
        """The stored vectors that can be compared; others are set aside, with one warning a bank."""
        fit = {key: row for key, row in stored.items() if len(row) == self._dimensions and has_direction(row)}
        if len(fit) < len(stored) and not self._told:
            self._told = True
            warn_degraded(
                f"stored vectors of the embedder {self.model!r} are set aside and made again: they are no "
                f"{self._dimensions} finite numbers, or not of length 1"
            )
        return fit

    def _attempted(self, embed: Callable[[Sequence[str]], Vectors], texts: Sequence[str], what: str) -> Vectors | None:
        part = f"the embedder {self.model!r}"
        made = attempted(part, partial(self._checked, embed, texts), what)
        self._failed = made is None
        return made

    def _checked(self, embed: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> Vectors:
        rows = self._rows(embed, texts)
        dimensions = rows.shape[1]
        if self._dimensions is None:
            self._dimensions = self._settled(dimensions, texts[0], by_text=embed == self._embedder.embed)
        if dimensions != self._dimensions:
            raise ModelError(
                f"{self.model} gave vectors of {dimensions} dimensions, where its others have "
                f"{self._dimensions}; open the bank again if its model is another now"
            )
        return rows

    def _rows(self, embed: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> Vectors:
        ready_openmp()
        return vectors_of(self._embedder, embed, texts)

    def _settled(self, dimensions: int, text: str, *, by_text: bool) -> int:
        if self._store.has_vectors(self._named(dimensions)):
            return dimensions
        other = dimensions_of(self._store.any_space(self.model))
        if other is None and by_text:
            return dimensions
        dimensions = self._rows(self._embedder.embed, [text]).shape[1]
        if other is not None and not self._store.has_vectors(self._named(dimensions)):
            warn_degraded(
                f"the stored vectors of the embedder {self.model!r} have {other} dimensions, and it now gives "
                f"{dimensions}: these are made beside those, which stay for whoever made them; give each model, and "
                "each number of dimensions, a name of its own"
            )
        return dimensions
