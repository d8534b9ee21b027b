"""Which of the memories shown an answer says it used: read whole, or while it streams.

A marker is ``[1]``, ``[1][3]``, ``[0, 2]``, ``[m12]`` or ``[NO_CITE]`` (RMM, appendix D.2). Ranges are none: ``[1-3]``
may be a score or a span of pages. What stands in code, between backticks or behind a fence, is none either, nor what a
reasoning model thinks between tags before it answers. Of well-formed markers only numbers that were really shown count,
and each counts once. `secom_core.context.render` has taken the markers out of what it quotes, so an answer that repeats
a memory word for word cites nothing by it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["MARKER", "CitationStream", "Citations", "read_citations"]

_NUMBER: Final = r"[mM]?\d{1,9}"
_BLANK: Final = r"[ \t]*"
_NONE: Final = r"NO[_ ]CIT(?:E[DS]?|ATIONS?)"
MARKER: Final = re.compile(rf"\[{_BLANK}(?:{_NUMBER}(?:{_BLANK}[,;]{_BLANK}{_NUMBER})*|{_NONE}){_BLANK}\]", re.I)
"""A marker, wherever it stands."""

_BEGUN: Final = re.compile(r"\[[\w ,;\t]*")
_DIGITS: Final = re.compile(r"\d+")
_RUN: Final = re.compile(r"`+|~+")
_MATTERS: Final = re.compile(r"[`~\[<]")
_THOUGHT: Final = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)>", re.I)
_THOUGHT_BEGUN: Final = re.compile(r"</?[a-z]{0,9}", re.I)
_LONGEST: Final = 120
"""A marker is no longer than this; a bracket that stays open for longer is text."""


@dataclass(frozen=True, slots=True)
class Citations:
    """What an answer cited.

    Args:
        text: the answer as it is shown.
        numbers: the numbers cited that were shown, each once, in the order in which they first came.
        unknown: the numbers cited that were not shown; they teach nothing.
        none_used: whether the answer says that no memory was of use.
        finished: whether the answer came to its end; one that did not teaches nothing.
    """

    text: str
    numbers: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()
    none_used: bool = False
    finished: bool = True

    @property
    def tell(self) -> bool:
        """Whether something can be learned: the answer is whole, and cites what was shown or says that nothing helped.

        An answer without any marker may come from a model that does not cite; it is no complaint about the memories.
        """
        return self.finished and bool(self.numbers or self.none_used)


def read_citations(answer: str, shown: Collection[int], *, markers: Literal["keep", "strip"] = "keep") -> Citations:
    """Read a whole answer.

    Args:
        answer: what the model wrote.
        shown: the numbers that memories were shown under.
        markers: whether the text keeps its markers or goes without, for the user to see.
    """
    stream = CitationStream(shown, markers=markers)
    text = stream.feed(answer)
    done = stream.finish()
    return Citations(text + done.text, done.numbers, done.unknown, done.none_used)


class CitationStream:
    """Reads an answer piece by piece; a marker may be split anywhere.

    Text is given back as soon as it cannot be part of a marker any more. Citations come with `finish`, and only then:
    an answer that breaks off is ended with `abandon`, or not at all, and teaches nothing.

    Args:
        shown: the numbers that memories were shown under.
        markers: whether the text keeps its markers or goes without.
    """

    def __init__(self, shown: Collection[int], *, markers: Literal["keep", "strip"] = "keep") -> None:
        self._shown, self._strip = frozenset(shown), markers == "strip"
        self._held = ""
        self._code = _Code()
        self._found: list[str] = []
        self._spaces = 0
        self._begun = False
        self._silent = True
        self._thinking = False

    def feed(self, chunk: str) -> str:
        """Take the next piece; what may be shown of the answer so far and was not yet."""
        self._held += chunk
        return self._read(last=False)

    def finish(self) -> Citations:
        """The answer has come to its end: the rest of its text, and what it cited."""
        rest = self._read(last=True) + " " * self._spaces
        self._spaces = 0
        markers = [*self._found, *self._code.taken_back(), *self._code.doubtful] if not self._thinking else []
        # A dict, because each counts once and the first place is its own.
        numbers = dict.fromkeys(int(digits) for marker in markers for digits in _DIGITS.findall(marker))
        known = tuple(number for number in numbers if number in self._shown)
        unknown = tuple(number for number in numbers if number not in self._shown)
        return Citations(rest, known, unknown, not all(map(_DIGITS.search, markers)))

    def abandon(self) -> Citations:
        """The answer broke off: the rest of its text, and no citations, whatever was read."""
        return Citations(self.finish().text, finished=False)

    def _read(self, *, last: bool) -> str:
        shown = []
        place = 0
        while place < len(self._held):
            length, marker = self._next(self._held, place, last)
            if not length:
                break
            piece = self._held[place : place + length]
            shown.append(self._as_shown(piece, marker))
            self._silent = self._silent and not piece.strip()
            place += length
        self._held = self._held[place:]
        return "".join(shown)

    def _next(self, held: str, place: int, last: bool) -> tuple[int, bool]:
        """How much from ``place`` on is decided, and whether it is a marker; 0 where more must come first."""
        if held[place] in "`~":
            run = _RUN.match(held, place)
            length = len(run[0]) if run else 1
            return (
                (0, False) if place + length == len(held) and not last else (self._code.run(held, place, length), False)
            )
        if held[place] == "[" and not self._code.fenced:
            return self._bracket(held, place, last)
        if held[place] == "<":
            return self._tag(held, place, last), False
        return self._code.text(held, place), False

    def _bracket(self, held: str, place: int, last: bool) -> tuple[int, bool]:
        found = MARKER.match(held, place, place + _LONGEST)
        end = found.end() if found else place
        begun = found or _BEGUN.fullmatch(held, place, place + _LONGEST)
        if begun and begun.end() == len(held) and len(held) - place < _LONGEST and not last:
            return 0, False
        # ``[1](http://…)`` is a link.
        if not found or held[end : end + 1] == "(":
            self._code.pass_over("[")
            return 1, False
        self._code.pass_over(found[0])
        if self._code.inside:
            self._code.doubtful.append(found[0])
            return end - place, False
        self._found += [*self._code.taken_back(), found[0]]
        return end - place, True

    def _tag(self, held: str, place: int, last: bool) -> int:
        """Take a tag or what may become one: what a reasoning model thinks before it answers cites nothing."""
        found, begun = _THOUGHT.match(held, place), _THOUGHT_BEGUN.match(held, place)
        if not found:
            waits = begun is not None and begun.end() == len(held) and not last
            return 0 if waits else self._code.text(held, place)
        if found[1]:
            # Some templates leave the opening tag out.
            self._found, self._code, self._thinking = [], _Code(), False
        elif self._silent:
            self._thinking = True
        return found.end() - place

    def _as_shown(self, piece: str, marker: bool) -> str:
        """The piece, without markers where they are stripped; a blank before a marker goes with it."""
        if not self._strip:
            return piece
        if marker:
            self._spaces = 0
            return ""
        piece = piece if self._begun else piece.lstrip(" ")
        bare = piece.rstrip(" ")
        before = " " * self._spaces if bare else ""
        self._spaces = len(piece) - len(bare) + (0 if bare else self._spaces)
        self._begun = self._begun or bool(bare)
        return before + bare


class _Code:
    """Whether the text is inside code: between equal runs of backticks, or behind a fence at a line's start.

    A run of backticks that nothing closes before its paragraph ends opened no code; markers behind it, ``doubtful``
    until then, count.
    """

    def __init__(self) -> None:
        self.fenced = False
        self.doubtful: list[str] = []
        self._opened = ""
        self._blank_line = True
        self._confirmed: list[str] = []

    @property
    def inside(self) -> bool:
        return bool(self._opened)

    def taken_back(self) -> list[str]:
        """The markers that turned out to stand in no code, since they were last asked for."""
        confirmed, self._confirmed = self._confirmed, []
        return confirmed

    def run(self, held: str, place: int, length: int) -> int:
        """Take a run of backticks or tildes."""
        run = held[place : place + length]
        fence = length >= 3 and self._blank_line
        if self.fenced:
            if fence and run[0] == self._opened[0] and length >= len(self._opened):
                self.fenced, self._opened = False, ""
        elif fence:
            self._settle()
            self.fenced, self._opened = True, run
        elif run == self._opened:
            self._opened, self.doubtful = "", []
        elif not self._opened and run[0] == "`":
            self._opened = run
        self._blank_line = False
        return length

    def text(self, held: str, place: int) -> int:
        """Take what goes before anything that could matter, at least one character; how many."""
        found = _MATTERS.search(held, place + 1)
        end = found.start() if found else len(held)
        self.pass_over(held[place:end])
        return end - place

    def pass_over(self, text: str) -> None:
        """Note where lines and paragraphs end."""
        for place, line in enumerate(text.split("\n")):
            if place:
                if self._blank_line and not self.fenced:
                    self._settle()
                self._blank_line = True
            self._blank_line = self._blank_line and not line.strip()

    def _settle(self) -> None:
        self._confirmed += self.doubtful
        self._opened, self.doubtful = "", []
