"""Rules about wording, written such that they can be read."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import Final, cast

from .han import all_ways
from .patterns import Later, regex

_BETWEEN: Final = re.compile(r"\W+")
_BEGINS: Final = 3
"""How many characters of a sign are looked at first."""


def wording(phrases: str = "", *, anywhere: str = "", signed: str = "") -> re.Pattern[str]:
    """A rule that finds any of several wordings, in any case.

    Regular expressions, an alternative a line, in which a space is any white space (``?`` behind it: or none), and
    ``'`` either apostrophe.

    Args:
        phrases: what begins and ends where words do.
        anywhere: what may stand within a word, as in scripts without spaces.
        signed: words or parts of words, in small letters with ``|`` between, one of which stands in whatever the rule
            finds, so that it is neither looked for nor compiled where none does. A blank at an end, as any sign, is an
            edge of a word.
    """
    words = _alternatives(phrases)
    # One edge for all of them: a rule is tried at every character, and most begin no word.
    bounded = [rf"\b(?:{'|'.join(words)})\b"] if words else []
    rule = "|".join([*bounded, *_alternatives(anywhere)])
    return cast("re.Pattern[str]", Signed(rule, signed)) if signed else regex(rule, re.I)


def signs(listed: str) -> tuple[str, ...]:
    """Words or parts of words as `is_signed` looks for them, from a list with ``|`` between."""
    return tuple(way for each in listed.split("|") for way in all_ways(each.strip().casefold()))


def is_signed(folded: str, listed: tuple[str, ...]) -> bool:
    """Whether one of the signs stands in a casefolded text; far faster than a rule."""
    return any(map(folded.__contains__, listed))


class Signs:
    """The signs of many rules, looked for at once by how they begin: far faster than `is_signed` for each rule.

    Args:
        listed: the signs of each rule.
    """

    def __init__(self, listed: Iterable[tuple[str, ...]]) -> None:
        self._by_begin: dict[str, list[tuple[str, int]]] = {}
        for rule, signs_of_it in enumerate(listed):
            for sign in signs_of_it:
                self._by_begin.setdefault(sign[:_BEGINS], []).append((sign, rule))
        self._short = [begin for begin in self._by_begin if len(begin) < _BEGINS]

    def found_in(self, folded: str) -> set[int]:
        """The places of the rules of which a sign stands in a casefolded text."""
        begins = {folded[at : at + _BEGINS] for at in range(len(folded))} & self._by_begin.keys()
        begins.update(each for each in self._short if each in folded)
        return {rule for begin in begins for sign, rule in self._by_begin[begin] if sign in folded}


class Signed(Later):
    """A rule that looks for its signs first."""

    def __init__(self, source: str, listed: str) -> None:
        super().__init__(source, re.I)
        self.signs = tuple(_as_words(way) for each in listed.split("|") for way in all_ways(each))

    def is_in(self, text: str) -> bool:
        """Whether a sign of the rule stands in a text."""
        return is_signed(_as_words(f" {text} "), self.signs)

    def search(self, text: str, start: int = 0, stop: int = sys.maxsize) -> re.Match[str] | None:
        """The first that the rule finds, as `re.Pattern.search` gives it."""
        return self.compiled.search(text, start, stop) if self.is_in(text[start:stop]) else None

    def sub(self, put: Callable[[re.Match[str]], str], text: str) -> str:
        """The text with something else for what the rule finds, as `re.Pattern.sub` gives it."""
        return self.compiled.sub(put, text) if self.is_in(text) else text


def _as_words(text: str) -> str:
    """A text in small letters, with one blank for all that stands between two words."""
    # First the blanks: what is of no word may be of one in another case, or nothing.
    return folded_case(_BETWEEN.sub(" ", text))


def folded_case(text: str) -> str:
    """The text such that `is_signed` finds whatever a regular expression takes for the sign in another case."""
    if text.isascii():
        return text.lower()
    return text.casefold().replace("ı", "i").replace("\u0307", "")


def _alternatives(lines: str) -> list[str]:
    read = (line.strip() for line in lines.splitlines())
    return [line.replace("'", "['’]").replace(" ?", r"\s*").replace(" ", r"\s+") for line in read if line]
