"""A small deterministic embedder for tests: words hashed into a vector, so that shared words mean similar texts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from secom_core.text.terms import terms


class HashingEmbedder:
    """Bag-of-words vectors by signed feature hashing (Weinberger et al. 2009), log-scaled, of length 1."""

    def __init__(self, dimensions: int = 512) -> None:
        self.dimensions = dimensions
        self.name = f"hashing-{dimensions}"
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.calls += 1
        rows = [self._row(text) for text in texts]
        return np.asarray(rows, dtype=np.float32).reshape(len(texts), self.dimensions)

    def _row(self, text: str) -> npt.NDArray[np.float64]:
        row = np.zeros(self.dimensions)
        for term in terms(text) or ["\0"]:
            digest = int.from_bytes(
                hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big"
            )
            row[digest % self.dimensions] += 1.0 if digest >> 63 else -1.0
        row = np.sign(row) * np.log1p(np.abs(row))
        length = np.linalg.norm(row)
        if not length:
            row[0] = length = 1.0
        return row / length
