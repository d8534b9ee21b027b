"""Arabic words as the stemmer takes them: without what is written together with them, and it leaves there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .patterns import regex

_LETTERS: Final = str.maketrans("\u06a9\u06cc\u06c1", "\u0643\u064a\u0647")
"""Letters of Persian and Urdu as Arabic writes them, and many a keyboard: of these the stemmer knows the endings."""
_ARTICLE: Final = "\u0627\u0644"
"""The article, which the stemmer leaves at short words."""
_SHORT: Final = 4  # letters, with the article: a shorter word may only begin so
_AND: Final = regex("^(?!والد(?:[يهك]|ت[يهكن]|نا))[وف](?=(?:[بك]?ال|لل)[^ ]{3})")
"""An "and" before an article, but not the beginning of "my mother"."""
_ENDINGS: Final = regex("(?<=[^ ]{3})(?:ا[تة]$|ا?ت(?:ي|نا|ك|كم|كن|ه|ها|هم|هن|هما)$)")
"""The feminine, which is written otherwise before the ending that says whose something is, and its plural."""
_FEMININE: Final = "\u0629"
_BEFORE_ENDINGS: Final = "\u062a"
_JOINED: Final = "\u0648\u0641\u0628\u0643\u0644"
"""Letters that are written together with the word behind them: and, so, in, as, for."""
_LEAST: Final = 3  # letters of a word behind such a letter


def with_joined(word: str) -> tuple[str, ...]:
    """A word of a question in small letters, and the same with and without what is written together with it."""
    bare = word[1:] if word[:1] in _JOINED and len(word) > _LEAST else word
    return tuple(dict.fromkeys((word, bare, *(letter + bare for letter in _JOINED))))


def arabic_stem(word: str, stem: Callable[[str], str]) -> str:
    """The stem of a word in small letters, which is the same for "car", "cars", "my car" and "and the car"."""
    word = _AND.sub("", word.translate(_LETTERS))
    if len(word) > _SHORT:
        word = word.removeprefix(_ARTICLE)
    stemmed = stem(_ENDINGS.sub(_FEMININE, word))
    # The stemmer leaves the ending at short words.
    return stemmed[:-1] + _BEFORE_ENDINGS if stemmed.endswith(_FEMININE) else stemmed
