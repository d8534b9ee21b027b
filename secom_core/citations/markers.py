"""Which of the memories shown an answer says it used: read whole, or while it streams.

A marker is ``[1]``, ``[1][3]``, ``[0, 2]``, ``[m12]`` or ``[NO_CITE]`` (RMM, appendix D.2). Ranges are none: ``[1-3]``
may be a score or a span of pages. What stands in code, between backticks or behind a fence, is none either, nor what a
reasoning model thinks between tags before it answers. Of well-formed markers only numbers that were really shown count,
and each counts once. `secom_core.context.block.render` has taken the markers out of what it quotes, so an answer that
repeats a memory word for word cites nothing by it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal

from ..llm.quoting import CITATION_MARKER

_DIGITS: Final = re.compile(r"\d+")
_MARKER: Final = CITATION_MARKER.pattern
_LONGEST: Final = 120
"""A marker is no longer than this; a bracket that stays open for longer is text."""

_RUNS: Final = ("`", "~")
"""What runs of are code or a fence."""

# ``[1](http://…)`` is a link.
_PIECE: Final = re.compile(
    rf"(?P<run>`+|~+)|(?P<marker>{_MARKER})(?!\()|(?P<tag></?(?:think|thinking|thought|reasoning)>)|[^`~\[<]+|.",
    re.IGNORECASE | re.DOTALL,
)
_UNDECIDED: Final = re.compile(rf"(?:{_MARKER}|\[[\w ,;\t]{{0,{_LONGEST - 2}}}|</?[a-z]{{0,9}})\Z", re.IGNORECASE)
"""The end of a text that may go on as another piece; it is no longer than a marker."""


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
    def is_feedback(self) -> bool:
        """Whether something can be learned: the answer is whole, and cites what was shown or says that nothing helped.

        An answer without any marker may come from a model that does not cite; it is no complaint about the memories.
        """
        return self.finished and bool(self.numbers or self.none_used)


def read_citations(answer: str, numbers: Collection[int], *, markers: Literal["keep", "strip"] = "keep") -> Citations:
    """Read a whole answer.

    Args:
        answer: what the model wrote.
        numbers: the numbers of the memories in its prompt.
        markers: whether the text keeps its markers or goes without, for the user to see.
    """
    stream = CitationStream(numbers, markers=markers)
    text = stream.feed(answer)
    done = stream.finish()
    return Citations(text + done.text, done.numbers, done.unknown, done.none_used)


class CitationStream:
    """Reads an answer piece by piece; a marker may be split anywhere.

    Text is given back as soon as it cannot be part of a marker any more. Citations come with `finish`, and only then:
    an answer that breaks off is ended with `abandon`, or not at all, and teaches nothing.

    Code stands between equal runs of backticks, or behind a fence at a line's start. A run of backticks that nothing
    closes before its paragraph ends opened no code; markers behind it count.

    Args:
        numbers: the numbers of the memories in the prompt.
        markers: whether the text keeps its markers or goes without.
    """

    def __init__(self, numbers: Collection[int], *, markers: Literal["keep", "strip"] = "keep") -> None:
        self._numbers, self._strip = frozenset(numbers), markers == "strip"
        self._unread: list[str] = []
        self._run = ""
        self._blanks = 0
        self._begun = False
        self._silent = True
        self._forget()

    def _forget(self) -> None:
        self._thinking = False
        self._markers: list[str] = []
        self._code = ""
        self._before_code = 0
        self._fenced = False
        self._blank_line = True

    def feed(self, chunk: str) -> str:
        """Take the next piece; what may be shown of the answer so far and was not yet."""
        self._unread.append(chunk)
        # A run of backticks may go on for as long as the answer, and is looked at once, when it ends.
        if not chunk or (self._run and not chunk.strip(self._run)):
            return ""
        text = "".join(self._unread)
        return self._read(text, _decided(text))

    def finish(self) -> Citations:
        """The answer has come to its end: the rest of its text, and what it cited."""
        text = "".join(self._unread)
        rest = self._read(text, len(text)) + " " * self._blanks
        self._blanks = 0
        markers = self._markers if not self._thinking else []
        # A dict, because each counts once and the first place is its own.
        cited = dict.fromkeys(int(digits) for marker in markers for digits in _DIGITS.findall(marker))
        known = tuple(number for number in cited if number in self._numbers)
        unknown = tuple(number for number in cited if number not in self._numbers)
        return Citations(rest, known, unknown, not all(map(_DIGITS.search, markers)))

    def abandon(self) -> Citations:
        """The answer broke off: the rest of its text, and no citations, whatever was read."""
        return Citations(self.finish().text, finished=False)

    def _read(self, text: str, stop: int) -> str:
        """Read the text up to a place; the rest waits."""
        rest = text[stop:]
        self._unread, self._run = [rest], rest[0] if rest.startswith(_RUNS) else ""
        return "".join(map(self._visible, _PIECE.finditer(text, 0, stop)))

    def _visible(self, piece: re.Match[str]) -> str:
        """Take a piece; what is shown of it, a blank before a marker going with the marker."""
        is_marker = self._take(piece)
        self._silent = self._silent and not piece[0].strip()
        if not self._strip:
            return piece[0]
        if is_marker:
            self._blanks = 0
            return ""
        text = piece[0] if self._begun else piece[0].lstrip(" ")
        visible = text.rstrip(" ")
        before, after = self._blanks, len(text) - len(visible)
        self._blanks = after if visible else before + after
        self._begun = self._begun or bool(visible)
        return " " * before + visible if visible else ""

    def _take(self, piece: re.Match[str]) -> bool:
        """Take a piece; whether it is a marker outside code."""
        text, tag = piece[0], piece["tag"]
        if piece["run"]:
            self._take_run(text)
        elif not tag:
            self._take_lines(text)
        elif tag[1] == "/":
            # What a reasoning model thinks before it answers cites nothing; some templates leave the opening tag out.
            self._forget()
        elif self._silent:
            self._thinking = True
        if not piece["marker"] or len(text) > _LONGEST or self._fenced:
            return False
        self._markers.append(text)
        return not self._code

    def _take_run(self, run: str) -> None:
        """Open or close code or a fence, or neither."""
        fence = len(run) >= 3 and self._blank_line
        if self._fenced:
            if fence and run.startswith(self._code):
                self._code, self._fenced = "", False
        elif fence:
            self._code, self._fenced = run, True
        elif run == self._code:
            del self._markers[self._before_code :]
            self._code = ""
        elif not self._code and run[0] == "`":
            self._code, self._before_code = run, len(self._markers)
        self._blank_line = False

    def _take_lines(self, text: str) -> None:
        """Note where lines end, and paragraphs, which end code that nothing has closed."""
        for place, line in enumerate(text.split("\n")):
            if place:
                self._code = self._code if self._fenced or not self._blank_line else ""
                self._blank_line = True
            self._blank_line = self._blank_line and not line.strip()


def _decided(text: str) -> int:
    """Up to which place what the text says cannot change by what follows."""
    if text.endswith(_RUNS):
        return len(text.rstrip(text[-1]))
    undecided = _UNDECIDED.search(text, max(len(text) - _LONGEST, 0))
    return undecided.start() if undecided else len(text)
