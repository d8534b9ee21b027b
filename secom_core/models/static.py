"""Static embeddings: a text's vector is the mean of its tokens' vectors in a table, looked up without torch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, MissingExtra, ModelUnavailable, shorten
from ..processes import ForkLock
from ..protocols import Vectors
from ..text.batches import batches
from .fingerprint import fingerprint
from .rows import model_rows, sendable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_WORDLLAMA: Final = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
_MODEL2VEC: Final = ("model.safetensors", "tokenizer.json")
_TABLES: Final = ("embeddings", "embedding.weight")  # as model2vec names the table, and as torch does
_PIECE: Final = 4096  # characters that are tokenized at once: the time of some tokenizers grows faster than the text
_PIECES: Final = 256  # pieces a batch, which bounds what the tokenizer's answers take


class StaticEmbedder:
    """An embedder without a neural network and without torch: about sixty microseconds for a sentence on one core.

    Each text's vector is the mean of the table's rows for its tokens, scaled to length 1; a text without a token that
    the table knows has zeros. The order of words counts for nothing. Reads its files before the first text, keeps the
    table in memory in single precision, and is safe to share between threads.

    Args:
        folder: a model2vec model: a folder with ``model.safetensors`` and ``tokenizer.json``. Where ``None``, the
            English table ``l2_supercat_256`` in the files of the package wordllama, whose code is not run.

    Raises:
        MissingExtra: without the packages tokenizers and safetensors, or without a folder and wordllama's files.
        InvalidInput: for a folder that does not hold the two files.
    """

    def __init__(self, folder: str | PathLike[str] | None = None) -> None:
        if find_spec("tokenizers") is None or find_spec("safetensors") is None:
            raise MissingExtra("StaticEmbedder", "static")
        self._source = None if folder is None else fspath(folder)
        self._files = _packaged_files() if self._source is None else _folder_files(Path(self._source))
        self._table: _Table | None = None
        self._lock = ForkLock()

    def __getstate__(self) -> dict[str, Any]:
        """Its settings: in another process it reads its files again."""
        return {**self.__dict__, "_table": None}

    def __repr__(self) -> str:
        return f"StaticEmbedder({'' if self._source is None else repr(self._source)})"

    @property  # for type checkers, no other fits `Embedder`
    def name(self) -> str:
        """What identifies the model: a digest of the table and the tokenizer, wherever they lie."""
        return self._name

    @cached_property
    def _name(self) -> str:
        # Whole files: of two models with one tokenizer the ends may be the same token weights.
        return f"static/{fingerprint(self._files)}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors of shape ``(len(texts), d)``, each of length 1, or of zeros.

        Raises:
            ModelUnavailable: the files cannot be read, or do not fit each other.
            BadReply: the table holds a number that is not finite.
        """
        if not texts:
            return np.zeros((0, 0), np.float32)
        table = self._loaded()
        sums = np.zeros((len(texts), table.rows.shape[1]))
        pieces = [(place, piece) for place, text in enumerate(texts) for piece in _pieces(sendable(text))]
        for batch in batches(pieces, _PIECES):
            table.add(batch, sums)
        # A mean has the direction of its sum.
        return model_rows(sums, len(texts), self.name)

    def _loaded(self) -> _Table:
        with self._lock:
            if self._table is None:
                try:
                    self._table = _read_table(*self._files.values())
                except MissingExtra:
                    raise
                except Exception as error:  # neither safetensors nor tokenizers raises anything narrower
                    raise ModelUnavailable(f"the table of {self!r} cannot be loaded: {error}") from error
            return self._table


def _packaged_files() -> dict[str, Path]:
    # The spec of a package that stands in no other is found without running any of it.
    spec = find_spec("wordllama")
    for folder in (spec and spec.submodule_search_locations) or ():
        files = {name: Path(folder, name) for name in _WORDLLAMA}
        if all(path.is_file() for path in files.values()):
            return files
    raise MissingExtra("StaticEmbedder without a folder", "static")


def _folder_files(folder: Path) -> dict[str, Path]:
    files = {name: folder / name for name in _MODEL2VEC}
    missing = [name for name, path in files.items() if not path.is_file()]
    if missing:
        raise InvalidInput(
            f"StaticEmbedder reads a folder with {' and '.join(_MODEL2VEC)}, got {str(folder)!r} without {missing}"
        )
    return files


def _pieces(text: str) -> Iterator[str]:
    """The text in pieces that are cut at spaces where it has any; none where nothing is to be seen in it."""
    start = 0
    while len(text) - start > _PIECE:
        space = text.rfind(" ", start + 1, start + _PIECE)
        end = start + _PIECE if space < 0 else space
        yield text[start:end]
        # Tokenizers put a space before a text themselves.
        start = end + (space >= 0)
    if start or text.strip():
        yield text[start:]


@dataclass(frozen=True, slots=True)
class _Table:
    """What the files hold: a vector a row, and for each token's id which row is its own and what that weighs."""

    tokenizer: Tokenizer
    rows: npt.NDArray[np.float32]
    places: npt.NDArray[np.intp]
    weights: npt.NDArray[np.float32]

    def add(self, pieces: Sequence[tuple[int, str]], sums: npt.NDArray[np.float64]) -> None:
        """Add the rows of each piece's tokens to the sum at its place."""
        ids = _token_ids(self.tokenizer, [piece for _, piece in pieces])
        for (place, _), found in zip(pieces, ids, strict=True):
            tokens = np.array(found, np.intp)
            sums[place] += np.dot(self.weights.take(tokens), self.rows.take(self.places.take(tokens), 0))


def _token_ids(tokenizer: Tokenizer, pieces: list[str]) -> list[list[int]]:
    try:
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(pieces, add_special_tokens=False)]
    except Exception as error:  # the library raises nothing narrower
        raise ModelUnavailable(f"the tokenizer cannot read a text: {error}") from error


def _read_table(table: Path, vocabulary: Path) -> _Table:
    try:
        from safetensors import safe_open
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("StaticEmbedder", "static") from error
    text = vocabulary.read_text(encoding="utf-8")
    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with safe_open(table, framework="numpy") as file:
        tensors = {name: file.get_tensor(name) for name in {*_TABLES, "mapping", "weights"} & {*file.keys()}}
        held = sorted(file.keys())
    rows = next((tensors[name] for name in _TABLES if name in tensors), None)
    if rows is None:
        raise ValueError(f"{table.name} has no tensor {' or '.join(map(repr, _TABLES))}, only {shorten(held)}")
    if rows.ndim != 2 or not rows.size:
        raise ValueError(f"the table has a row a token, got a tensor of the shape {rows.shape}")
    places, weights = _per_token(tensors, len(rows))
    _check_ids(tokenizer, len(places))
    unknown = _unknown(tokenizer, json.loads(text)["model"])
    if unknown is not None:
        weights[unknown] = 0
    return _Table(tokenizer, np.asarray(rows, np.float32), places, weights)


def _per_token(tensors: Mapping[str, npt.NDArray[Any]], rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    """For each token's id the row that is its own, and the weight of it."""
    places = tensors.get("mapping", np.arange(rows))
    if places.ndim != 1 or not np.issubdtype(places.dtype, np.integer):
        raise ValueError(f"mapping has a row's number a token, got {places.dtype} of the shape {places.shape}")
    if places.size and not 0 <= places.min() <= places.max() < rows:
        raise ValueError(f"mapping names rows {places.min()} to {places.max()}, and the table has {rows}")
    weights = np.array(tensors.get("weights", np.ones(len(places))), np.float32)
    if weights.shape != places.shape:
        raise ValueError(f"weights are a number for each of {len(places)} tokens, got the shape {weights.shape}")
    return places.astype(np.intp), weights


def _check_ids(tokenizer: Tokenizer, tokens: int) -> None:
    word, last = max(tokenizer.get_vocab().items(), key=lambda item: item[1], default=("", -1))
    if last >= tokens:
        raise ValueError(f"the tokenizer has {word!r} with the id {last}, and the table knows {tokens} tokens")


def _unknown(tokenizer: Tokenizer, model: Mapping[str, Any]) -> int | None:
    """The id of the token that stands for what the tokenizer does not know; Unigram models give it as it is."""
    if model.get("unk_id") is not None:
        return int(model["unk_id"])
    return None if model.get("unk_token") is None else tokenizer.token_to_id(model["unk_token"])
