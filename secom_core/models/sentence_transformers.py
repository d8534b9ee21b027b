"""Sentence-transformers models, loaded when they are first asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import InvalidInput, MissingExtra, ModelUnavailable
from ..processes import ForkLock
from ..protocols import Vectors
from .fingerprint import fingerprint
from .rows import model_rows, sendable

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


_SAMPLE: Final = 1 << 16  # bytes at the end of each file that identify it, so that no gigabytes are read
_RETRY_AFTER: Final = 300.0  # seconds before a model that could not be loaded is tried again
_OFFLINE: Final = (
    "Without a network, pass the folder of a model that was downloaded before, or run once with a network so that it "
    "is cached (HF_HOME says where)."
)


class SentenceTransformerEmbedder:
    """An embedder on this machine. Loads nothing before the first text, and is safe to share between threads.

    Args:
        name_or_path: a model's name on the hub, or the folder that holds one.
        device: such as ``"cpu"`` or ``"cuda"``; chosen by the library where ``None``.
        batch_size: texts a forward pass; the library sorts them by length.

    Raises:
        MissingExtra: without the sentence-transformers package.
        InvalidInput: for a batch size below 1.
    """

    def __init__(self, name_or_path: str | PathLike[str], *, device: str | None = None, batch_size: int = 32) -> None:
        if find_spec("sentence_transformers") is None:
            raise MissingExtra("SentenceTransformerEmbedder", "dense")
        if batch_size < 1:
            raise InvalidInput(f"batch_size is at least 1, got {batch_size}")
        self._source = fspath(name_or_path)
        self._device = device
        self._batch_size = batch_size
        self._model: SentenceTransformer | None = None
        self._failure: Exception | None = None
        self._retry_at = 0.0
        # One lock for loading and encoding: the fast tokenizers refuse two threads at once.
        self._lock = ForkLock()

    def __repr__(self) -> str:
        return f"SentenceTransformerEmbedder({self._source!r})"

    @cached_property
    def name(self) -> str:
        """What identifies the model: its name on the hub, or for a folder a digest of its files, wherever it lies."""
        folder = Path(self._source)
        if not folder.is_dir():
            return self._source
        return f"sentence-transformers/{fingerprint(_model_files(folder), _SAMPLE)}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), d)``, each of length 1.

        Raises:
            ModelUnavailable: the model cannot be loaded; the message says what to do without a network.
            BadReply: the model gives no vector for each text.
        """
        return self._encoded(texts, "encode")

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same for queries, with the prompt that the model has for them, if it has one."""
        return self._encoded(texts, "encode_query")

    def _encoded(self, texts: Sequence[str], how: str) -> Vectors:
        if not texts:
            return np.zeros((0, 0), np.float32)
        with self._lock:
            model = self._loaded()
            # Releases before 5 have no `encode_query`.
            encode: Any = getattr(model, how, model.encode)
            rows = encode(
                [*map(sendable, texts)], batch_size=self._batch_size, convert_to_numpy=True, show_progress_bar=False
            )
        return model_rows(rows, len(texts), self.name)

    def _loaded(self) -> SentenceTransformer:
        if self._model is None and (self._failure is None or monotonic() >= self._retry_at):
            try:
                self._model, self._failure = self._load(), None
            except (OSError, ValueError, RuntimeError) as error:
                self._failure, self._retry_at = error, monotonic() + _RETRY_AFTER
        if self._model is None:
            message = f"the embedding model {self._source!r} cannot be loaded: {self._failure}\n{_OFFLINE}"
            raise ModelUnavailable(message) from self._failure
        return self._model

    def _load(self) -> SentenceTransformer:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtra("SentenceTransformerEmbedder", "dense") from error
        # First what is on this machine: without a network, requests to the hub are repeated for over a minute.
        try:
            return SentenceTransformer(self._source, device=self._device, local_files_only=True)
        except (OSError, ValueError, RuntimeError):
            if Path(self._source).exists() or Path(self._source).is_absolute():
                raise
        return SentenceTransformer(self._source, device=self._device)


def _model_files(folder: Path) -> dict[str, Path]:
    # Notes beside the weights change no vector.
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".") and path.suffix not in (".md", ".py", ".pyc")
    }
