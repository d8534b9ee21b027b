"""Text that can be sent, and vectors that can be compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import BadReply
from ..protocols import Vectors

__all__ = ["sendable", "unit_rows"]


def sendable(text: str) -> str:
    """``text`` as UTF-8 can hold it: halves of surrogate pairs joined, lone ones replaced by U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def unit_rows(rows: Sequence[Sequence[float]] | npt.NDArray[np.floating], expected: int, model: str) -> Vectors:
    """Rows of length 1, shape ``(expected, d)``.

    Raises:
        BadReply: for another number of rows, rows of different lengths, NaN, infinity, or a row of zeros.
    """
    if len(rows) != expected or len({len(row) for row in rows}) > 1:
        raise BadReply(
            f"{model} gave {len(rows)} vectors of {sorted({len(row) for row in rows})} for {expected} texts", ""
        )
    vectors = np.asarray(rows, np.float64).reshape(expected, -1)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        place = int(np.argmin(np.isfinite(lengths) & (lengths > 0)))
        raise BadReply(f"{model} gave a vector without direction for text {place}", str(vectors[place, :8].tolist()))
    return np.asarray(vectors / lengths, np.float32)
