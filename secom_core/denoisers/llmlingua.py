"""LLMLingua-2 as a denoiser: a token classifier says which words carry the message, the rest goes."""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import string
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import InvalidInput, MissingExtra, ModelUnavailable, warn_degraded
from ..processes import ForkLock, ready_openmp
from ..processes.local_first import local_first
from ..protocols import Statistics, TokenCounter
from ..text.batches import batches

_PUBLISHED: Final = "microsoft/llmlingua-2-xlm-roberta-large-meetingbank"
_MAX_TOKENS: Final = 512
_CHUNK_ENDS: Final = (".", "\n")
_ADDED_TOKENS: Final = 100
_PACKAGE_SEED: Final = 42
_RETRY_AFTER: Final = 60.0  # seconds before a model that could not be loaded is tried again


class _Words:
    """Puts tokens together to words.

    Args:
        tokenizer: a tokenizer of transformers that marks the starts of words, or their continuations.
        forced: strings that always stay.
        stand_ins: those of them that the tokenizer would split, each with the one token that stands for it.
    """

    def __init__(self, tokenizer: Any, forced: Sequence[str], stand_ins: Mapping[str, str]) -> None:
        self._tokenizer = tokenizer
        # Up to transformers 4, those that were added are a list among them.
        self._special = frozenset(each for each in tokenizer.special_tokens_map.values() if isinstance(each, str))
        self._forced = frozenset(forced) | frozenset(stand_ins.values())
        self._originals = {stand_in: original for original, stand_in in stand_ins.items()}
        self._marks_starts = _marks_starts(tokenizer)

    def of(self, ids: Sequence[int], scores: Sequence[float]) -> tuple[list[str], list[list[float]]]:
        """The words that the tokens make, and for each the scores of its tokens; special tokens are no part of it."""
        words: list[str] = []
        scored: list[list[float]] = []
        for token, score in zip(self._tokenizer.convert_ids_to_tokens(ids), scores, strict=True):
            if token in self._special:
                continue
            bare = token.lstrip("▁" if self._marks_starts else "##")
            if self._starts(token, bare) or not words:
                words.append(self._originals.get(token, token))
                scored.append([1.0 if bare in self._forced else score])
            else:
                words[-1] += bare
                scored[-1].append(score)
        return words, scored

    def _starts(self, token: str, bare: str) -> bool:
        if not self._marks_starts:
            return bare in self._forced or not token.startswith("##")
        return token in string.punctuation or token in self._forced or token.startswith("▁")


class LLMLingua2:
    """Denoises by LLMLingua-2 (Pan et al., ACL Findings 2024), as SeCom does (section 2.3; rate 0.75, section 3).

    It keeps the same words as ``compress_prompt`` of the package ``llmlingua`` (0.2.2), one text a call, but loads
    the model at first use, runs all texts in one pass of batches sorted by length, and leaves the random generators
    alone. Words are weighed by their tokens in GPT-3.5's vocabulary, as there; where tiktoken cannot fetch that, by
    the model's own tokens, with a `DegradedWarning`.

    Args:
        model: name or folder of a token-classification model; the published XLM-RoBERTa large one where ``None``.
        rate: the share of tokens that stays, more than 0 and at most 1.
        force_tokens: strings that always stay; at most 100. SeCom names none; here line and sentence ends stay.
        device: a torch device such as ``"cuda"``; the GPU where there is one unless given.
        batch_size: chunks of up to 512 tokens that go through the model together.
        cache_size: how many results are kept, by their text; 0 for none.
        token_count: counts the tokens of a word instead of GPT-3.5's vocabulary; then nothing is fetched for it.

    Raises:
        MissingExtra: where torch or transformers is not installed.
        InvalidInput: for a value out of range.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        rate: float = 0.75,
        force_tokens: Sequence[str] = ("\n", ".", "!", "?"),
        device: str | None = None,
        batch_size: int = 32,
        cache_size: int = 10_000,
        token_count: TokenCounter | None = None,
    ) -> None:
        if not all(importlib.util.find_spec(needed) for needed in ("torch", "transformers")):
            raise MissingExtra("LLMLingua2", "llmlingua")
        if not 0 < rate <= 1:
            raise InvalidInput(f"rate is the share of tokens that stays, more than 0 and at most 1, got {rate}")
        if len(force_tokens) > _ADDED_TOKENS:
            raise InvalidInput(f"at most {_ADDED_TOKENS} force_tokens can be kept, got {len(force_tokens)}")
        if batch_size < 1 or cache_size < 0:
            raise InvalidInput(f"batch_size is 1 or more and cache_size 0 or more, got {batch_size} and {cache_size}")
        self.model = str(model or _PUBLISHED)
        self.rate = rate
        self.force_tokens = tuple(force_tokens)
        self._device = device
        self._batch_size = batch_size
        self._cache_size = cache_size
        self._token_count = token_count
        self._cache: OrderedDict[bytes, str] = OrderedDict()
        self._loaded: _Compressor | None = None
        self._failure: ModelUnavailable | None = None
        self._failed_at = 0.0
        self._lock = ForkLock()

    def __getstate__(self) -> dict[str, Any]:
        """Its settings: in another process it loads its model again."""
        return {**self.__dict__, "_cache": OrderedDict(), "_loaded": None, "_failure": None}

    def denoise(self, texts: Sequence[str], statistics: Statistics | None = None) -> list[str]:
        """The words of each text that the model keeps; a text of which nothing would be left stays whole.

        Args:
            texts: any texts.
            statistics: not used; the model knows what is common.

        Raises:
            ModelUnavailable: where the model cannot be loaded.
        """
        if self.rate >= 1:
            return list(texts)
        with self._lock:
            keys = {text: _digest(text) for text in texts if text.strip()}
            fresh = [text for text, key in keys.items() if key not in self._cache]
            found = {text: self._cache[key] for text, key in keys.items() if key in self._cache}
            if fresh:
                found.update(zip(fresh, self._compressor().compress(fresh, self._batch_size), strict=True))
            for text, key in keys.items():
                self._remember(key, found[text])
        return [found.get(text, text) for text in texts]

    def _remember(self, key: bytes, denoised: str) -> None:
        self._cache[key] = denoised
        self._cache.move_to_end(key)
        while len(self._cache) > self._cache_size:
            self._cache.popitem(last=False)

    def _compressor(self) -> _Compressor:
        ready_openmp()
        if self._loaded is None:
            tokenizer, model = self._load()
            count = _gpt_token_count() if self._token_count is None else self._token_count
            self._loaded = _Compressor(tokenizer, model, self.rate, self.force_tokens, count)
        return self._loaded

    def _load(self) -> tuple[Any, Any]:
        # Without a network each attempt takes seconds, and a bank may ask at every message.
        if self._failure is not None and time.monotonic() - self._failed_at < _RETRY_AFTER:
            raise ModelUnavailable(str(self._failure)) from self._failure
        try:
            return _load(self.model, self._device)
        except ModelUnavailable as failure:
            self._failure, self._failed_at = failure, time.monotonic()
            raise


class _Compressor:
    """A loaded model with its tokenizer.

    Args:
        tokenizer: a tokenizer of transformers that marks the starts of words, or their continuations.
        model: a token classifier with two labels, the second for tokens that stay.
        rate: the share of tokens that stays.
        force_tokens: strings that always stay.
        count: weighs words; by the model's own tokens where ``None``.
    """

    def __init__(
        self, tokenizer: Any, model: Any, rate: float, force_tokens: Sequence[str], count: TokenCounter | None
    ) -> None:
        self._tokenizer, self._model = tokenizer, model
        self._percent = int(100 * max(0, 1 - rate) + 1)
        self._count: Callable[[str], int] | None = lru_cache(maxsize=1 << 16)(count) if count else None
        self._stand_ins = self._add_stand_ins(force_tokens)
        self._words = _Words(tokenizer, force_tokens, self._stand_ins)
        self._ends = frozenset(_CHUNK_ENDS) | {self._stand_ins.get(end, end) for end in _CHUNK_ENDS}
        # The package frames its chunks with these two whatever the tokenizer; XLM-RoBERTa's reads both as unknown,
        # and other ids would give other words.
        self._first, self._last = tokenizer.convert_tokens_to_ids(["[CLS]", "[SEP]"])

    def compress(self, texts: Sequence[str], batch_size: int) -> list[str]:
        """What is left of each text; the text itself where that would be nothing."""
        chunks = [list(self._chunks(own)) for own in self._tokens([self._hidden(text) for text in texts])]
        left = self._compress_chunks([chunk for own in chunks for chunk in own], batch_size)
        joined = ["".join(next(left) for _ in own) for own in chunks]
        return [new if new.strip() else text for text, new in zip(texts, joined, strict=True)]

    def _add_stand_ins(self, force_tokens: Sequence[str]) -> dict[str, str]:
        tokenize = self._tokenizer.tokenize
        names = [f"[NEW{place}]" for place in range(_ADDED_TOKENS)]
        split = {text: name for text, name in zip(force_tokens, names, strict=False) if len(tokenize(text)) != 1}
        if split:
            self._tokenizer.add_special_tokens({"additional_special_tokens": names})
            _resize_as_the_package_does(self._model, len(self._tokenizer))
        return split

    def _hidden(self, text: str) -> str:
        # A lone surrogate cannot be tokenized.
        text = text.encode("utf-8", "replace").decode()
        for forced, stand_in in self._stand_ins.items():
            text = text.replace(forced, stand_in)
        return text

    def _tokens(self, texts: Sequence[str]) -> list[list[str]]:
        if not self._tokenizer.is_fast:
            return [self._tokenizer.tokenize(text) for text in texts]
        found = self._tokenizer(list(texts), add_special_tokens=False, verbose=False).encodings
        return [encoding.tokens for encoding in found]

    def _chunks(self, tokens: Sequence[str]) -> Iterator[str]:
        """Text of up to 511 tokens each, cut after a sentence or line where there is one."""
        start = 0
        while start < len(tokens):
            stop = start + _MAX_TOKENS - 2
            if stop <= len(tokens) - 1:
                stop = next((place for place in range(stop, start, -1) if tokens[place] in self._ends), stop)
            yield self._tokenizer.convert_tokens_to_string(list(tokens[start : stop + 1]))
            start = stop + 1

    def _compress_chunks(self, chunks: list[str], batch_size: int) -> Iterator[str]:
        found = self._tokenizer(chunks, add_special_tokens=False, verbose=False)["input_ids"] if chunks else []
        ids = [[self._first, *own, self._last][:_MAX_TOKENS] for own in found]
        for own, scores in zip(ids, self._scores(ids, batch_size), strict=True):
            words, scored = self._words.of(own, list(scores))
            yield self._tokenizer.convert_tokens_to_string(self._kept(words, scored)) if words else ""

    def _kept(self, words: Sequence[str], scored: Sequence[Sequence[float]]) -> list[str]:
        """The words above the percentile of scores, each score counted once a token of its word."""
        means = np.array([sum(own) / len(own) for own in scored])
        weights = list(map(self._count, words) if self._count else map(len, scored))
        cut = np.percentile(np.repeat(means, weights) if any(weights) else means, self._percent)
        kept = (means > cut) | ((means == cut) & (cut == 1.0))
        return list(itertools.compress(words, kept))

    def _scores(self, ids: Sequence[Sequence[int]], batch_size: int) -> list[npt.NDArray[np.float32]]:
        """For each chunk the probability that each of its tokens stays."""
        found: list[npt.NDArray[np.float32]] = [np.zeros(0, dtype=np.float32)] * len(ids)
        order = sorted(range(len(ids)), key=lambda place: -len(ids[place]))
        for batch in batches(order, batch_size):
            for place, scores in zip(batch, self._run([ids[place] for place in batch]), strict=True):
                found[place] = scores[: len(ids[place])]
        return found

    def _run(self, batch: Sequence[Sequence[int]]) -> npt.NDArray[np.float32]:
        import torch

        width = max(map(len, batch))
        pad = self._tokenizer.pad_token_id or 0
        ids = torch.tensor([[*own, *[pad] * (width - len(own))] for own in batch])
        lengths = torch.tensor([len(own) for own in batch])
        mask = torch.arange(width)[None, :] < lengths[:, None]
        with torch.inference_mode():
            device = self._model.device
            logits = self._model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits
            scores: npt.NDArray[np.float32] = torch.softmax(logits, dim=-1)[..., 1].float().cpu().numpy()
        return scores


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _marks_starts(tokenizer: Any) -> bool:
    """Whether the tokenizer marks the starts of words (SentencePiece) or their continuations (WordPiece)."""
    if tokenizer.convert_tokens_to_string(["▁a", "b", "▁c"]).strip() == "ab c":
        return True
    if tokenizer.convert_tokens_to_string(["a", "##b", "c"]).strip() == "ab c":
        return False
    kind = type(tokenizer).__name__
    raise InvalidInput(f"LLMLingua2 joins the tokens of SentencePiece and WordPiece tokenizers; {kind} is neither")


def _resize_as_the_package_does(model: Any, size: int) -> None:
    """Give the stand-ins the embeddings that ``llmlingua`` draws for them, and the generators their state back."""
    import torch

    devices = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(_PACKAGE_SEED)
        model.resize_token_embeddings(size)


def _load(name: str, device: str | None) -> tuple[Any, Any]:
    import torch
    from transformers import AutoConfig, AutoModelForTokenClassification, AutoTokenizer

    def parts(name: str, **where: Any) -> tuple[Any, Any]:
        # Of a tokenizer that is not here, an empty one is made; weights that are not here are an error.
        tokenizer = AutoTokenizer.from_pretrained(name, **where)
        return tokenizer, AutoModelForTokenClassification.from_pretrained(name, config=config, **where)

    place = device or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        config = local_first(AutoConfig.from_pretrained, name)
        if not any("ForTokenClassification" in kind for kind in config.architectures or ()):
            raise InvalidInput(f"{name!r} is no token-classification model; its config names {config.architectures}")
        tokenizer, model = local_first(parts, name)
    except InvalidInput:
        raise
    except (OSError, ValueError) as cause:
        raise ModelUnavailable(_how_to_get(name, cause)) from cause
    # Half precision is slower than single on most processors, and the package does not use it there either.
    return tokenizer, (model.float() if place == "cpu" else model).to(place).eval()


def _how_to_get(name: str, cause: Exception) -> str:
    first_line = str(cause).strip().partition("\n")[0]
    return (
        f"the LLMLingua-2 model {name!r} could not be loaded ({first_line}). It is downloaded at the first use. "
        f"Without a network, download it elsewhere (`hf download {name} --local-dir FOLDER`) and pass the folder as "
        "model=, or fill the Hugging Face cache beforehand and set HF_HUB_OFFLINE=1; "
        "secom_core.denoisers.Informativeness needs no model"
    )


def _gpt_token_count() -> TokenCounter | None:
    """Counts tokens of GPT-3.5's vocabulary; ``None``, with a warning, where it cannot be had."""
    try:
        import tiktoken

        encoding = tiktoken.encoding_for_model("gpt-3.5-turbo")
    except (ImportError, OSError) as cause:
        warn_degraded(
            f"GPT-3.5's vocabulary could not be fetched ({type(cause).__name__}: {cause}); LLMLingua2 weighs words by "
            "its model's own tokens instead. Pass token_count= to choose a counter"
        )
        return None
    encode = getattr(encoding, "encode_ordinary", encoding.encode)
    return lambda text: len(encode(text))
