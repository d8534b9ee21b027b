"""In which language a model is told to write, where a conversation is not in English: small models write English.

What is told goes into a prompt for such a conversation alone; the prompts for one in English stay as they are.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from ..conversation import USER_ROLES, Turn
from ..text.stopwords import STOPWORDS
from ..text.terms import latin_language_of, word_spans

_EACH: Final = 200
"""By how many characters of a message its language is told: what is pasted into it may be in another one."""
_ALL: Final = 6_000
_ENGLISH: Final = 0.15
"""The share of function words from which on a text with words of other letters is English all the same."""
_OTHER: Final = 0.05
"""The share of words with other letters from which on a text with few English function words is not English."""
_SURE: Final = 0.2
"""The share of function words, and how many more than of any other language, from which on a language is named."""
_MARGIN: Final = 1.2
_LEAST: Final = 3
"""How many function words that takes at least."""
_NAMES: Final = {
    "CJK": "Chinese",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
    "THAI": "Thai",
    "GREEK": "Greek",
    "HEBREW": "Hebrew",
}
"""By the script that the name of a character begins with; others are those of several languages."""
_SEVERAL: Final = frozenset({"russian"})
"""Languages that share their script, and most of their function words, with some that have no list."""
_JAPANESE: Final = frozenset({"HIRAGANA", "KATAKANA"})
_UNNAMED: Final = "the language of the text above"


def language_of_turns(turns: Sequence[Turn]) -> str:
    """As `language_told`, of what the users mostly write in; of all that is said where there are none."""
    messages = [message for turn in turns for message in turn.messages]
    users = [message for message in messages if message.role in USER_ROLES and message.text.strip()]
    heads = [message.text[:_EACH] for message in users or messages]
    others = list(filter(_is_told, heads))
    english = [head for head in heads if _share(_words(head), "english") and head not in others]
    return language_told(others) if len("".join(others)) > len("".join(english)) else ""


@lru_cache(maxsize=512)
def _is_told(text: str) -> bool:
    return language_told([text]) != ""


def language_told(texts: Iterable[str]) -> str:
    """The language of the texts as a prompt names it at its end; empty for English, or where nothing tells.

    ``"German"`` where that is sure; else, as of few words or a language that is not known, ``"the language of the text
    above"``, which is right in any case.
    """
    text = "\n".join(texts)[:_ALL]
    words = _words(text)
    others = [word for word in words if not word.isascii()]
    language = latin_language_of(text)
    if language == "english" and not _is_other(words, others):
        return ""
    return _of_script(others) or _of_words(words) or _UNNAMED


def _words(text: str) -> list[str]:
    return [text[start:stop].casefold().replace("’", "'") for start, stop in word_spans(text)]


def _is_other(words: Sequence[str], others: Sequence[str]) -> bool:
    return _size(others) > _OTHER * _size(words) and _share(words, "english") < _ENGLISH


def _size(words: Iterable[str]) -> float:
    """How many words there are; a run of a script without spaces has one for two characters."""
    return sum(1.0 if _script(word) not in _NAMES else max(len(word) / 2, 1.0) for word in words)


def _share(words: Sequence[str], language: str) -> float:
    return sum(map(STOPWORDS[language].__contains__, words)) / max(_size(words), _LEAST / _SURE)


def _script(word: str) -> str:
    return "LATIN" if word[0].isascii() else unicodedata.name(word[0], "").partition(" ")[0]


def _of_script(others: Sequence[str]) -> str:
    """The language that a script tells, if most words that are not of ASCII's letters are in it."""
    letters = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in chain.from_iterable(others))
    script = max(letters, key=lambda each: letters[each], default="")
    if script == "CJK" and sum(letters[each] for each in _JAPANESE) > _OTHER * letters[script]:
        return "Japanese"
    return _NAMES.get(script, "")


def _of_words(words: Sequence[str]) -> str:
    """The language that function words tell, where no other one is as likely."""
    shares = {language: _share(words, language) for language in STOPWORDS if language not in _SEVERAL}
    first, second = sorted(shares, key=lambda language: -shares[language])[:2]
    sure = shares[first] >= max(_SURE, _MARGIN * shares[second])
    return first.title() if sure else ""
