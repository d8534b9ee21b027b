"""Sentence-transformers models, loaded when they are first asked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import InvalidInput, MissingExtra
from ..protocols import Vectors
from .fingerprint import fingerprint
from .lazy import LazyModel
from .rows import model_rows, sendable

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


_SAMPLE: Final = 1 << 16  # bytes at the end of each file that identify it, so that no gigabytes are read


class SentenceTransformerEmbedder:
    """An embedder on this machine. It loads its model with the first text, and threads can share it.

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
        self._device = device
        self._batch_size = batch_size
        self._lazy = LazyModel(name_or_path, "embedding model", self._load)

    def __repr__(self) -> str:
        return f"SentenceTransformerEmbedder({self._lazy.source!r})"

    @property  # for type checkers, no other fits `Embedder`
    def name(self) -> str:
        """What identifies the model: its name on the hub, or for a folder a digest of its files, wherever it lies."""
        return self._name

    @cached_property
    def _name(self) -> str:
        folder = Path(self._lazy.source)
        if not folder.is_dir():
            return self._lazy.source
        return f"sentence-transformers/{fingerprint(_model_files(folder), _SAMPLE)}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), d)``, each of length 1.

        Raises:
            ModelUnavailable: the model cannot be loaded; the message says what to do without a network.
            BadReply: the model gives no vector for each text.
        """
        return self._encoded(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same for queries, with the prompt that the model has for them, if it has one."""
        return self._encoded(texts, are_queries=True)

    def _encoded(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        if not texts:
            return np.zeros((0, 0), np.float32)
        with self._lazy.lock:
            model = self._lazy.loaded()
            encode: Any = model.encode
            if are_queries and hasattr(model, "encode_query"):
                encode = model.encode_query
            elif are_queries and "query" in model.prompts:
                # Of a release before 5.
                encode = partial(encode, prompt_name="query")
            rows = encode(
                [*map(sendable, texts)], batch_size=self._batch_size, convert_to_numpy=True, show_progress_bar=False
            )
        return model_rows(rows, len(texts), self.name)

    @property
    def _model(self) -> SentenceTransformer | None:
        return self._lazy.held

    def _load(self, source: str, **where: Any) -> SentenceTransformer:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise MissingExtra("SentenceTransformerEmbedder", "dense") from error
        loaded: SentenceTransformer = SentenceTransformer(source, device=self._device, **where)
        return loaded


def _model_files(folder: Path) -> dict[str, Path]:
    # Notes beside the weights change no vector.
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".") and path.suffix not in (".md", ".py", ".pyc")
    }
