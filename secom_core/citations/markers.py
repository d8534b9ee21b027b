"""Which of the memories shown an answer says it used: read whole, or while it streams.

A citation is ``[1]``, ``[1][3]``, ``[0, 2]``, ``[1-3]``, ``[1]-[3]``, ``[m12]``, ``[Memory 1]``, ``[^1]``, ``【1】``,
``［1］``, or ``[NO_CITE]`` with or without its brackets (RMM, appendix D.2). What stands in code, between backticks or
behind a fence, or in a formula is none, nor what a reasoning model thinks between tags before it answers, nor an index,
a link or a list of numbers (`secom_core.citations.placing`). Only numbers that were really shown count, and each counts
once.
`secom_core.context.block.citable` has taken the citations out of what a block quotes, so an answer that repeats a
memory word for word cites nothing by it; nor does a line of the block that is copied with its number and role.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, Final, Literal

from .pieces import Kind, Piece, piece_at
from .placing import BEFORE, RANGE, Role, role_of
from .spelling import cited_numbers, spelling
from .stripping import Stripper

_RUNS: Final = ("`", "~")
"""What runs of are code or a fence."""

_CLOSING: Final = {"$$": "$$", "\\[": "\\]", "\\(": "\\)"}
"""What closes a formula, by what opens it."""


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


def read_citations(
    answer: str,
    numbers: Collection[int],
    *,
    markers: Literal["keep", "strip"] = "keep",
    parentheses: bool = False,
) -> Citations:
    """Read a whole answer.

    Args:
        answer: what the model wrote.
        numbers: the numbers of the memories in its prompt; where there is none, nothing is read as a citation.
        markers: whether the text keeps its markers or goes without, for the user to see.
        parentheses: whether ``(1)`` is a marker, for prompts that ask for it.
    """
    stream = CitationStream(numbers, markers=markers, parentheses=parentheses)
    text = stream.feed(answer)
    done = stream.finish()
    return Citations(text + done.text, done.numbers, done.unknown, done.none_used)


class CitationStream:
    """Reads an answer piece by piece; a marker may be split anywhere.

    Text is given back as soon as it cannot be part of a marker any more: no more than some 200 characters wait.
    Citations come with `finish`, and only then: an answer that breaks off is ended with `abandon`, or not at all, and
    teaches nothing.

    Code stands between equal runs of backticks, or behind a fence at a line's start; a formula between ``$``, ``$$`` or
    their LaTeX forms. What nothing closes before its paragraph ends opened none: markers behind it count, and stay in
    the text. So does a marker with a number that was not shown, and one that is a word of its sentence.

    Args:
        numbers: the numbers of the memories in the prompt.
        markers: whether the text keeps its markers or goes without.
        parentheses: whether ``(1)`` is a marker.
    """

    def __init__(
        self, numbers: Collection[int], *, markers: Literal["keep", "strip"] = "keep", parentheses: bool = False
    ) -> None:
        self._numbers, self._spelling = frozenset(numbers), spelling(parentheses=parentheses)
        self._stripper = Stripper() if markers == "strip" else None
        self._unread: list[str] = []
        self._run = ""
        self._silent = True
        self._forget()

    def _forget(self) -> None:
        """Begin the answer, behind what a reasoning model thought before it."""
        self._thinking = False
        self._cited: list[list[int]] = []
        self._code = ""
        self._before_code = 0
        self._fenced = False
        self._blank_line = True
        self._before = ""
        self._last = Role.MARK
        self._since = BEFORE + 1

    def feed(self, chunk: str) -> str:
        """Take the next piece; what may be shown of the answer so far and was not yet."""
        if not self._numbers:
            return chunk
        self._unread.append(chunk)
        # A run of backticks may go on for as long as the answer, and is looked at once, when it ends.
        if not chunk or (self._run and not chunk.strip(self._run)):
            return ""
        return self._read(ended=False)

    def finish(self) -> Citations:
        """The answer has come to its end: the rest of its text, and what it cited."""
        rest = self._read(ended=True) + (self._stripper.finish() if self._stripper else "")
        markers = self._cited if not self._thinking else []
        # A dict, because each counts once and the first place is its own.
        cited = dict.fromkeys(chain.from_iterable(markers))
        known = tuple(number for number in cited if number in self._numbers)
        unknown = tuple(number for number in cited if number not in self._numbers)
        return Citations(rest, known, unknown, not known and not all(markers))

    def abandon(self) -> Citations:
        """The answer broke off: the rest of its text, and no citations, whatever was read."""
        return Citations(self.finish().text, finished=False)

    def _read(self, *, ended: bool) -> str:
        """Read what has come, as far as it is decided; the rest waits."""
        text, place, shown = "".join(self._unread), 0, []
        while place < len(text) and (piece := piece_at(text, place, self._spelling, ended=ended)) is not None:
            shown.append(self._visible(piece))
            place += len(piece.text)
        rest = text[place:]
        self._unread, self._run = [rest], rest[0] if rest.startswith(_RUNS) else ""
        return "".join(shown)

    def _visible(self, piece: Piece) -> str:
        """Take a piece; what is shown next."""
        stripped = self._take(piece)
        self._silent = self._silent and not piece.text.strip()
        if self._stripper is None:
            return piece.text
        if stripped:
            self._stripper.citation(piece.text)
            return ""
        is_word = piece.kind is Kind.CITATION and self._last is Role.WORD
        return self._stripper.word(piece.text) if is_word else self._stripper.words(piece.text)

    def _take(self, piece: Piece) -> bool:
        """Take a piece; whether it is a marker that the text goes without."""
        self._TAKE[piece.kind](self, piece.text)
        stripped = piece.kind is Kind.CITATION and not self._fenced and self._take_citation(piece)
        self._before = (self._before + piece.text[-BEFORE:])[-BEFORE:]
        self._since = 0 if piece.kind is Kind.CITATION else self._since + len(piece.text)
        return stripped

    def _take_citation(self, piece: Piece) -> bool:
        """Note what a marker cites; whether the text goes without it."""
        cited = cited_numbers(piece.text, self._numbers)
        between = self._before[len(self._before) - self._since :] if self._since <= len(self._before) else None
        count = len(cited) if cited is not None else 0
        self._last = role_of(piece.text, count, self._before, piece.after, self._last, between)
        if cited is None or self._last not in (Role.MARK, Role.WORD):
            return False
        self._cited.append([*self._spanned(cited, between), *cited])
        whole = not (self._code or self._thinking)
        return whole and self._last is Role.MARK and self._numbers.issuperset(cited)

    def _spanned(self, cited: list[int], between: str | None) -> range:
        """The numbers between two citations that are the ends of a range: ``[1]-[3]``."""
        if between is None or not RANGE.fullmatch(between) or len(cited) != 1 or not self._cited:
            return range(0)
        before = self._cited[-1]
        numbers = range(before[0] + 1, cited[0]) if len(before) == 1 else range(0)
        return numbers if self._numbers.issuperset(numbers) else range(0)

    def _take_tag(self, tag: str) -> None:
        name = tag.strip("</>").lower()
        if name in ("code", "pre"):
            self._take_bounds(tag.lower(), closing="" if tag[1] == "/" else f"</{name}>")
        elif tag[1] == "/":
            # What a reasoning model thinks before it answers cites nothing; some templates leave the opening tag out.
            self._forget()
        elif self._silent:
            self._thinking = True

    def _take_formula(self, bound: str) -> None:
        self._take_bounds(bound, closing=_CLOSING.get(bound, ""))

    def _take_bounds(self, bound: str, *, closing: str) -> None:
        """Open or close a formula, or code between tags."""
        self._blank_line = False
        if self._fenced:
            return
        if bound == self._code:
            self._close()
        elif closing and not self._code:
            self._open(closing)

    def _open(self, closing: str) -> None:
        self._code, self._before_code = closing, len(self._cited)

    def _close(self) -> None:
        del self._cited[self._before_code :]
        self._code = ""

    def _take_run(self, run: str) -> None:
        """Open or close code or a fence, or neither."""
        fence = len(run) >= 3 and self._blank_line
        if self._fenced:
            if fence and run.startswith(self._code):
                self._code, self._fenced = "", False
        elif fence:
            self._code, self._fenced = run, True
        elif run == self._code:
            self._close()
        elif not self._code and run[0] == "`":
            self._open(run)
        self._blank_line = False

    def _take_lines(self, text: str) -> None:
        """Note where lines end, and paragraphs, which end code that nothing has closed."""
        for place, line in enumerate(text.split("\n")):
            if place:
                self._code = self._code if self._fenced or not self._blank_line else ""
                self._blank_line = True
            self._blank_line = self._blank_line and not line.strip()

    _TAKE: ClassVar[Mapping[Kind, Callable[[CitationStream, str], None]]] = {
        Kind.WORDS: _take_lines,
        Kind.CITATION: _take_lines,
        Kind.RUN: _take_run,
        Kind.TAG: _take_tag,
        Kind.FORMULA: _take_formula,
    }
