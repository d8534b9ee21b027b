"""Vectors of length 1, which every embedder gives, arrays as JSON has them, and what goes to a vector store outside."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from .errors import InvalidInput, shorten

Vectors: TypeAlias = npt.NDArray[np.float32]
"""An array of shape ``(n, d)``, a row a text, each row of length 1, or of zeros where there is no direction."""


_SCALED: Final = 1e-6
"""How near to 1 the length of a row is that was scaled to it."""

F = TypeVar("F", bound=np.floating[Any])
_products: Final[Any] = getattr(np, "vecdot", partial(np.einsum, "ij,j->i"))  # numpy 1 has no `vecdot`


def row_products(rows: npt.NDArray[F], vector: npt.NDArray[F]) -> npt.NDArray[F]:
    """The products of each row with one vector, in this thread.

    ``rows @ vector`` gives the same, but the linear algebra library hands it to threads of its own from some 10,000
    numbers on. They cost a process whose other threads work more than they save; and of 50,000 rows of 384 numbers,
    which no cache holds, it takes two to three times as long in one thread.

    Args:
        rows: shape ``(n, d)``.
        vector: shape ``(d,)``.

    Returns:
        Shape ``(n,)``.
    """
    products: npt.NDArray[F] = _products(rows, vector)
    return products


def unit_rows(rows: Sequence[Sequence[float]] | npt.NDArray[np.generic], count: int) -> Vectors:
    """Rows scaled to length 1, shape ``(count, d)``; a row of zeros stays as it is, and is similar to nothing.

    Args:
        rows: a vector a text.
        count: how many texts there were.

    Raises:
        InvalidInput: for another number of rows, rows of different lengths, what is no number, or is not finite.
    """
    single = isinstance(rows, np.ndarray) and rows.dtype == np.float32
    try:
        vectors = np.asarray(rows, np.float32 if single else np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"expected {count} vectors of one length, got {shorten(rows)}: {error}") from error
    if not count and not vectors.size:
        vectors = vectors.reshape(0, 0)
    if vectors.ndim != 2 or len(vectors) != count:
        raise InvalidInput(f"expected {count} vectors of one length, got numbers of the shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        row, place = np.argwhere(~np.isfinite(vectors))[0].tolist()
        raise InvalidInput(f"number {place} of vector {row} is not finite: {shorten(float(vectors[row, place]))}")
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    # What has been scaled stays as it is, to the last bit.
    scaled = (norms == 0) | (np.abs(norms - 1) < _SCALED)
    return np.asarray(vectors / np.where(scaled, 1, norms), np.float32)


Precision: TypeAlias = Literal["<f2", "<f4"]
"""How exactly `text_of` keeps numbers: in half or single precision."""


def text_of(array: npt.NDArray[np.floating], precision: Precision) -> str:
    """The numbers of an array as a string for JSON, without its shape."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=precision).tobytes()).decode("ascii")


def array_of(text: str, precision: Precision) -> npt.NDArray[np.floating]:
    """The numbers that `text_of` was given, in one row."""
    return np.frombuffer(base64.b64decode(text), dtype=precision)


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """Which turn or memory a document of a vector store stands for.

    Args:
        kind: a turn's words, or a memory's key.
        session: the session's name.
        index: that of the turn, or of the memory's first turn.
    """

    kind: Literal["turn", "key"]
    session: str
    index: int


@dataclass(frozen=True, slots=True)
class VectorDocument:
    """A turn or a key, as it goes to a vector store (`secom_core.protocols.VectorStore`).

    Args:
        id: a UUID made of the scope, the place and the words: what has the same id is the same.
        text: what is embedded.
        scope: a label that stands for its scope, letters and digits; every search filters by it.
        place: which turn or memory it stands for.
        turn_id: the id of the turn, or of the memory's first.
    """

    id: str
    text: str
    scope: str
    place: DocumentPlace
    turn_id: str

    @property
    def metadata(self) -> dict[str, str]:
        """What is kept beside the text; a search needs ``secom_scope`` only."""
        return {
            "secom_scope": self.scope,
            "secom_kind": self.place.kind,
            "secom_session": self.place.session,
            "secom_turn": self.turn_id,
        }
