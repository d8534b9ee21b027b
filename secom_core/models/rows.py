"""Text that can be sent to a model, and the vectors that it gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import BadReply, InvalidInput
from ..vectors import Vectors, unit_rows


def sendable(text: str) -> str:
    """``text`` as UTF-8 can hold it: halves of surrogate pairs joined, lone ones replaced by U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def model_rows(rows: Sequence[Sequence[float]] | npt.NDArray[np.generic], count: int, model: str) -> Vectors:
    """The vectors of a model, shape ``(count, d)``, each of length 1 (`secom_core.vectors.unit_rows`).

    Args:
        rows: a vector a text.
        count: how many texts there were.
        model: the model's name, for the error.

    Raises:
        BadReply: for another number of vectors, vectors of different lengths or of none, or a number that is not
            finite.
    """
    try:
        vectors = unit_rows(rows, count)
    except InvalidInput as error:
        raise BadReply(f"{model} gave no vector for each of {count} texts: {error}", "") from error
    if count and not vectors.shape[1]:
        raise BadReply(f"{model} gave empty vectors for {count} texts", "")
    return vectors
