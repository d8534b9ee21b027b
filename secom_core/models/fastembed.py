"""Models of FastEmbed, which work without torch; loaded when they are first asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..errors import InvalidInput, MissingExtra
from ..processes import before_fork
from ..protocols import Vectors
from .fingerprint import fingerprint
from .lazy import LazyModel
from .rows import model_rows, sendable

if TYPE_CHECKING:
    from fastembed import TextEmbedding

_SAMPLE: Final = 1 << 16  # bytes at the end of each file that identify it
_CACHE: Final = "FASTEMBED_CACHE_PATH"


class FastEmbedEmbedder:
    """An embedder on this machine that needs no torch: models as ONNX files, in many languages. Threads can share it.

    Downloads its model when it is first asked, and keeps it in ``~/.cache/fastembed``, or where the variable
    ``FASTEMBED_CACHE_PATH`` says. A text's vector is the same whatever it is embedded with.

    Args:
        name: one of ``fastembed.TextEmbedding.list_supported_models()``, such as
            ``"sentence-transformers/all-MiniLM-L6-v2"`` or, for fifty languages,
            ``"sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"``.
        folder: where the model's files lie already, so that nothing is downloaded.
        threads: how many it works with; as many as there are processors unless given.

    Raises:
        MissingExtra: without the fastembed package.
        InvalidInput: there is no such folder, or fewer threads than 1.
    """

    def __init__(self, name: str, *, folder: str | PathLike[str] | None = None, threads: int | None = None) -> None:
        if find_spec("fastembed") is None:
            raise MissingExtra("FastEmbedEmbedder", "fastembed")
        if folder is not None and not Path(folder).is_dir():
            raise InvalidInput(f"there is no folder {str(folder)!r} with the files of {name!r}")
        if threads is not None and threads < 1:
            raise InvalidInput(f"threads is at least 1, got {threads}")
        self._model_name, self._folder, self._threads = name, folder, threads
        self._lazy = LazyModel(name if folder is None else folder, "embedding model", self._load)

    def __repr__(self) -> str:
        where = "" if self._folder is None else f", folder={str(self._folder)!r}"
        return f"FastEmbedEmbedder({self._model_name!r}{where})"

    @property  # for type checkers, no other fits `Embedder`
    def name(self) -> str:
        """What identifies the model: its name, and for a folder a digest of its files, wherever it lies."""
        return self._name

    @cached_property
    def _name(self) -> str:
        if self._folder is None:
            return f"fastembed/{self._model_name}"
        files = {path.name: path for path in sorted(Path(self._folder).iterdir()) if path.suffix in (".onnx", ".json")}
        return f"fastembed/{self._model_name}/{fingerprint(files, _SAMPLE)}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), d)``, each of length 1.

        Raises:
            ModelUnavailable: the model cannot be loaded; the message says what to do without a network.
            BadReply: the model gives no vector for each text.
        """
        return self._rows(texts, lambda model, given: model.passage_embed(given, batch_size=1))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """The same for queries, with what the model has before them, if it has anything."""
        return self._rows(texts, lambda model, given: model.query_embed(given, batch_size=1))

    def _rows(self, texts: Sequence[str], ask: Callable[[TextEmbedding, list[str]], Iterable[Any]]) -> Vectors:
        if not texts:
            return np.zeros((0, 0), np.float32)
        with self._lazy.lock:
            # One at a time: in a batch a text is filled up to the longest, which takes as long, and of a model of
            # 8 bits changes its vector.
            rows = list(ask(self._lazy.loaded(), [*map(sendable, texts)]))
        return model_rows(np.array(rows), len(texts), self.name)

    def _load(self, source: str, *, local_files_only: bool = False) -> TextEmbedding:
        try:
            from fastembed import TextEmbedding
        except ImportError as error:
            raise MissingExtra("FastEmbedEmbedder", "fastembed") from error
        # Its threads stay in the parent, and a child that lets it go waits for them, one in ten for ever.
        before_fork(self._lazy)
        where: dict[str, Any] = {"local_files_only": local_files_only}
        if self._folder is not None:
            where["specific_model_path"] = source
        elif _CACHE not in os.environ:
            # Its own is in the folder for temporary files, from which a model is gone with the next start.
            where["cache_dir"] = str(Path.home() / ".cache" / "fastembed")
        with _quiet() if local_files_only else nullcontext():
            try:
                return TextEmbedding(self._model_name, threads=self._threads, **where)
            except Exception as error:  # the errors of onnxruntime have no class in common
                raise RuntimeError(str(error)) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the word that a model is not on this machine, where it is looked for first."""
    from loguru import logger

    logger.disable("fastembed")
    try:
        yield
    finally:
        logger.enable("fastembed")
