"""Text into terms: what the lexical parts count, in any script.

Words of languages with spaces are lower-cased, stripped of function words and stemmed (Snowball). Text of scripts
written without spaces (Chinese, Japanese, Thai, …) and Korean becomes character unigrams and bigrams, which need no
dictionary. One text may mix them.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

import Stemmer

from .stopwords import STOPWORDS

__all__ = ["count_tokens", "is_stopword", "language_of", "terms", "words"]

# Scripts without spaces between words, and Hangul, whose particles stick to the nouns.
_NGRAM: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\u1100-\u11ff\u3005\u3007\uf900-\ufaff\U00020000-\U000323af"
)
_PIECE: Final = re.compile(rf"[{_NGRAM}]+|[^\W_{_NGRAM}]+(?:['’ʼ][^\W\d_{_NGRAM}]+)*")
_NGRAM_RUN: Final = re.compile(rf"[{_NGRAM}]")
_TOKEN: Final = re.compile(rf"[{_NGRAM}]|[^\W_{_NGRAM}]+|[^\w\s]|_")
_SCRIPTS: Final[tuple[tuple[str, str], ...]] = (
    ("CYRILLIC", "russian"),
    ("GREEK", "greek"),
    ("ARABIC", "arabic"),
    ("ARMENIAN", "armenian"),
    ("DEVANAGARI", "hindi"),
    ("TAMIL", "tamil"),
)
_local = threading.local()


def words(text: str) -> list[str]:
    """The words of ``text``, as written, in order; a run of Chinese, Japanese, Thai or Korean counts as one."""
    return _PIECE.findall(text)


def _stem(word: str, language: str) -> str:
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__.setdefault("stemmers", {})
    if language not in stemmers:
        stemmers[language] = Stemmer.Stemmer(language)
    stem: str = stemmers[language].stemWord(word)
    return stem


@lru_cache(maxsize=4096)
def _script_language(first: str) -> str | None:
    name = unicodedata.name(first, "")
    return next((language for script, language in _SCRIPTS if name.startswith(script)), None)


def _latin_language(pieces: Iterable[str]) -> str:
    seen = Counter(pieces)
    scores = {
        language: sum(count for piece, count in seen.items() if piece in stop) for language, stop in STOPWORDS.items()
    }
    best = max(scores.values(), default=0)
    return "english" if scores["english"] == best else max(scores, key=scores.__getitem__)


def language_of(text: str) -> str:
    """The Snowball language whose function words occur most in ``text``; English where none do."""
    return _latin_language(_fold(text))


def is_stopword(word: str, language: str = "english") -> bool:
    """Whether ``word`` is a function word of ``language``."""
    return word.casefold().replace("’", "'") in STOPWORDS.get(language, frozenset())


def _fold(text: str) -> list[str]:
    return _PIECE.findall(unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("ʼ", "'"))


def _ngrams(run: str) -> list[str]:
    return [*run, *(run[place : place + 2] for place in range(len(run) - 1))]


def terms(text: str, *, language: str | None = None, keep_stopwords: bool = False) -> list[str]:
    """The terms of ``text`` in order, with repetitions.

    Args:
        text: any text.
        language: the Snowball language of its Latin words; found from its function words where ``None``.
        keep_stopwords: keep function words too.
    """
    pieces = _fold(text)
    latin = language or _latin_language(pieces)
    found: list[str] = []
    for piece in pieces:
        if _NGRAM_RUN.match(piece):
            found.extend(_ngrams(piece))
            continue
        spoken = _script_language(piece[0]) or latin
        if keep_stopwords or piece not in STOPWORDS.get(spoken, ()):
            found.append(_stem(piece, spoken))
    return found


def count_tokens(text: str) -> int:
    """An estimate of a model's token count that needs no vocabulary.

    One a Chinese, Japanese or Korean character, one a punctuation mark, one for each begun six letters of a word.
    On English dialogue it counts about a tenth more than WordPiece, so a budget is kept rather than broken; pass the model's own where the
    budget must be exact.
    """
    return sum(max(1, -(-len(token) // 6)) for token in _TOKEN.findall(text))
