"""Cross-encoders of sentence-transformers as rerankers, loaded when they are first asked."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import BadReply, InvalidInput, MissingExtra, shorten
from .lazy import LazyModel
from .rows import sendable

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder


class SentenceTransformerReranker:
    """A cross-encoder on this machine, which reads the query with each text.

    Loads nothing before the first text, and is safe to share between threads. It goes to
    ``MemoryBank.open(reranker=…)``; most cross-encoders for search are English.

    Args:
        name_or_path: a model's name on the hub, such as ``"cross-encoder/ms-marco-MiniLM-L6-v2"``, or the folder that
            holds one; it has one label, which is how well a text answers.
        device: such as ``"cpu"`` or ``"cuda"``; chosen by the library where ``None``.
        batch_size: texts a forward pass; the library sorts them by length.

    Raises:
        MissingExtra: without the sentence-transformers package.
        InvalidInput: for a batch size below 1.
    """

    def __init__(self, name_or_path: str | PathLike[str], *, device: str | None = None, batch_size: int = 32) -> None:
        if find_spec("sentence_transformers") is None:
            raise MissingExtra("SentenceTransformerReranker", "dense")
        if batch_size < 1:
            raise InvalidInput(f"batch_size is at least 1, got {batch_size}")
        self._device, self._batch_size = device, batch_size
        self._lazy = LazyModel(name_or_path, "cross-encoder", self._load)

    def __repr__(self) -> str:
        return f"SentenceTransformerReranker({self._lazy.source!r})"

    def __call__(self, query: str, texts: Sequence[str], /) -> list[float]:
        """A score a text, the higher the better.

        Raises:
            ModelUnavailable: the model cannot be loaded; the message says what to do without a network.
            BadReply: the model has several labels.
        """
        if not texts:
            return []
        pairs = [(sendable(query), sendable(text)) for text in texts]
        with self._lazy.lock:
            model: Any = self._lazy.loaded()
            scores = np.asarray(model.predict(pairs, batch_size=self._batch_size, show_progress_bar=False))
        if scores.shape != (len(texts),):
            raise BadReply(
                f"{self!r} gives scores of shape {scores.shape} for {len(texts)} texts; take a cross-encoder with one "
                "label",
                shorten(scores),
            )
        return [float(score) for score in scores]

    def _load(self, source: str, **where: Any) -> CrossEncoder:
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise MissingExtra("SentenceTransformerReranker", "dense") from error
        loaded: CrossEncoder = CrossEncoder(source, device=self._device, **where)
        return loaded
