"""An embedder that caches the vectors of another."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput
from ..processes import ForkLock
from ..protocols import Embedder, QueryEmbedder, Vectors
from .refusals import vectors_of


class CachedEmbedder:
    """Asks another embedder once for each text; keeps the vectors of the texts that were used last.

    Args:
        embedder: makes the vectors; the cache has its name.
        size: how many vectors are kept.

    Raises:
        InvalidInput: for a size below 1.
    """

    handles_refusals: Final = True
    """It asks by `vectors_of` for what it lacks, and gives what it has while its embedder is left alone."""

    def __init__(self, embedder: Embedder, *, size: int = 4096) -> None:
        if size < 1:
            raise InvalidInput(f"a cache holds at least one vector, got size={size}")
        self.embedder = embedder
        self._size = size
        self._rows: OrderedDict[bytes, npt.NDArray[np.float32]] = OrderedDict()
        self._lock = ForkLock()

    @property
    def name(self) -> str:
        """What identifies the model."""
        return self.embedder.name

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), d)``, each of length 1.

        Raises:
            BadReply: the embedder did not give one finite vector of the same length for each text; none is kept.
            Exception: whatever else the embedder raises.
        """
        return self._vectors(texts, self.embedder.embed, "")

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same for queries, as the embedder's own ``embed_queries`` makes them where it has one."""
        if isinstance(self.embedder, QueryEmbedder):
            return self._vectors(texts, self.embedder.embed_queries, "query")
        return self.embed(texts)

    def _vectors(self, texts: Sequence[str], ask: Callable[[Sequence[str]], Vectors], kind: str) -> Vectors:
        if not texts:
            return ask(texts)
        keys = [_digest(text, kind) for text in texts]
        with self._lock:
            found = {key: self._rows[key] for key in keys if key in self._rows}
            for key in found:
                self._rows.move_to_end(key)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            # Outside the lock, so that cached texts are served meanwhile.
            rows = vectors_of(self.embedder, ask, list(missing.values()))
            if any(len(row) != rows.shape[1] for row in found.values()):
                # Another model by now, or a wrong answer: what is cached does not go with it.
                self._clear()
                return self._vectors(texts, ask, kind)
            # A copy of each row, so that none holds the whole batch in memory.
            made = {key: row.copy() for key, row in zip(missing, rows, strict=True)}
            found |= made
            with self._lock:
                # What was refused is asked for again.
                self._rows |= {key: row for key, row in made.items() if row.any()}
                while len(self._rows) > self._size:
                    self._rows.popitem(last=False)
        return np.stack([found[key] for key in keys])

    def _clear(self) -> None:
        with self._lock:
            self._rows.clear()


def _digest(text: str, kind: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=kind.encode()).digest()
