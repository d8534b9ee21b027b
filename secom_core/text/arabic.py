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
_TAKEN_OFF: Final = "\u0648\u0628\u0643\u0644"
"""Those with which a word of a question may begin: "so" begins none, and an idea is no ball."""
_I_HAVE: Final = frozenset({"\u0644\u062f\u064a", "\u0644\u062f\u0649", "\u0644\u062f\u064a\u0646\u0627"})
"""What stands in any text, and seems to be left of "my country" and "my son"."""
_LEAST: Final = 3
"""Letters of a word with which such a letter is joined: of shorter ones it makes others, "only" of a cat."""


def with_joined(word: str) -> tuple[str, ...]:
    """A word of a question in small letters, and the same with and without what is written together with it."""
    if len(word) < _LEAST:
        return (word,)
    bare = word[1:] if word[0] in _TAKEN_OFF and len(word) > _LEAST and word[1:] not in _I_HAVE else word
    return tuple(dict.fromkeys((word, bare, *(letter + word for letter in _JOINED))))


def arabic_stem(word: str, stem: Callable[[str], str]) -> str:
    """The stem of a word in small letters, which is the same for "car", "cars", "my car" and "and the car"."""
    word = _AND.sub("", word.translate(_LETTERS))
    if len(word) > _SHORT:
        word = word.removeprefix(_ARTICLE)
    stemmed = stem(_ENDINGS.sub(_FEMININE, word))
    # The stemmer leaves the ending at short words.
    return stemmed[:-1] + _BEFORE_ENDINGS if stemmed.endswith(_FEMININE) else stemmed
