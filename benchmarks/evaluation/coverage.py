"""How much of the evidence a block of text shows, for anything that turns a question and a budget into one block.

A question's telling words for an evidence message are the words of its gold text that the message holds and the
question lacks; where there is none, the message's own words. A sentence of the message is shown when its words stand in
the block one after the other: words only, so that quoting, Markdown and punctuation do not count. A message is covered
by the share of its telling words in its shown sentences, so a whole message counts 1 and an excerpt what it tells.

Words are lower-cased and function words left out. Chinese and Japanese have no spaces: their words are the pairs of
neighbouring characters, and their sentences are compared character by character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from statistics import fmean

from secom_core.errors import InvalidInput
from secom_core.text.stopwords import STOPWORDS
from secom_core.text.terms import latin_language_of

__all__ = ["coverage", "drift", "pairs_of", "precision", "telling_words"]

_CHARACTERS = "\u3005\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W_{_CHARACTERS}]"
# A word, or one Chinese or Japanese character.
_UNIT = re.compile(rf"[{_CHARACTERS}]|{_LETTER}+(?:'{_LETTER}+)*")
_RUN = re.compile(rf"[{_CHARACTERS}]+|{_LETTER}+(?:'{_LETTER}+)*")
_UNSPACED = re.compile(rf"[{_CHARACTERS}]")
_END = re.compile(r"(?<=[.!?…])[\"'”’)\]*_`]*\s+|(?<=[。！？])|\s*[\r\n]+\s*")


def telling_words(question: str, gold: str, message: str) -> frozenset[str]:
    """The words by which one sees that what answers a question was shown.

    Args:
        question: the question as asked.
        gold: its answer.
        message: one message of its evidence.

    Returns:
        Words of the gold text that the message holds and the question lacks; the message's own where none is left.
    """
    stopwords = STOPWORDS["german" if latin_language_of(f"{question} {gold}") == "german" else "english"]
    held = _words(message)
    return (_words(gold) & held) - _words(question) - stopwords or held - stopwords or held


def coverage(block: str, question: str, gold: str, messages: Sequence[str]) -> tuple[float, float]:
    """How much of a question's evidence a block shows.

    Args:
        block: what reaches the prompt.
        question: the question as asked.
        gold: its answer.
        messages: the texts of the messages of its evidence.

    Returns:
        The mean coverage of the messages, and the share of them that is covered wholly.

    Raises:
        InvalidInput: where there is no evidence to show.
    """
    if not messages:
        raise InvalidInput("a question without evidence cannot be measured")
    shown = _in_a_row(block)
    shares = [_share(shown, telling_words(question, gold, message), message) for message in messages]
    return fmean(shares), fmean(share == 1 for share in shares)


def precision(block: str, messages: Sequence[str]) -> float:
    """The share of the block's words that stand in sentences of the evidence, each sentence counted once.

    Args:
        block: what reaches the prompt; an empty one has a precision of 0.
        messages: the texts of the messages of a question's evidence.
    """
    shown = _in_a_row(block)
    sentences = {units for message in messages for units, _ in _sentences(message) if units in shown}
    return min(1.0, sum(len(units.split()) for units in sentences) / max(1, len(shown.split())))


@lru_cache(maxsize=64)
def drift(block: str, said: frozenset[tuple[str, str]]) -> float:
    """The share of the block's pairs of neighbouring words that nobody said: 0 of a block that only quotes.

    A model's own words count, and so do dates, numbers and marks around what is quoted.

    Args:
        block: what reaches the prompt; an empty one has no drift.
        said: the pairs of all that was said, by `pairs_of`.
    """
    pairs = [pair for line in block.splitlines() for pair in pairs_of(line)]
    return sum(pair not in said for pair in pairs) / len(pairs) if pairs else 0.0


def pairs_of(text: str) -> list[tuple[str, str]]:
    """The pairs of neighbouring words of a text, in order."""
    return list(pairwise(_in_a_row(text).split()))


def _share(shown: str, telling: frozenset[str], message: str) -> float:
    read = [words for units, words in _sentences(message) if units in shown]
    return len(telling & frozenset().union(*read)) / len(telling) if telling else 0.0


@lru_cache(maxsize=4096)
def _sentences(message: str) -> list[tuple[str, frozenset[str]]]:
    """Each sentence as it stands in `_in_a_row` of a text that holds it, and its words."""
    return [(_in_a_row(part), _words(part)) for part in _END.split(_folded(message)) if _UNIT.search(part)]


@lru_cache(maxsize=64)
def _in_a_row(text: str) -> str:
    """The words one after the other, each between blanks, so that `in` never finds a part of one."""
    return f" {' '.join(_UNIT.findall(_folded(text)))} "


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(word for run in _RUN.findall(_folded(text)) for word in _words_of(run))


def _words_of(run: str) -> list[str]:
    if len(run) == 1 or not _UNSPACED.match(run):
        return [run]
    return [run[place : place + 2] for place in range(len(run) - 1)]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower().replace("’", "'")
