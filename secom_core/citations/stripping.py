"""An answer without its citations, while it streams: with a citation goes what only held it in its place."""

from __future__ import annotations

from typing import Final

from ..text.patterns import regex

_MOST: Final = 64
"""So many blanks and ends of lines wait for a citation at most."""

_JOINS: Final = regex(
    r"[ \t]{0,8}(?:[,;\uff0c\u3001][ \t]{0,8})?(?:a|an|and|u|un|und|[\u548c\u4e0e]|[-\u2010-\u2015\u2212])?[ \t]{0,8}"
)
"""What stands between two citations and joins them, or the beginning of it."""
_PAIRING: Final = ("with", "to", "against", "versus", "vs", "vs.", "mit", "gegen", "avec", "con")
"""What a sentence says between two citations that it compares: ``[1] with [2]``."""

_NO_WORDS: Final = regex(r"[\s.,:;!?\u2026\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f]*")
"""What says nothing by itself: ``[1].`` is an answer of citations alone."""
_STOPPED_TWICE: Final = regex(r"[.!?\u3002\uff01\uff1f][.\u3002]")
"""A sentence that ends before a citation, and again behind it."""

_BEGUN: Final = {word[:length] for word in _PAIRING for length in range(len(word) + 1)}


class Stripper:
    """Gives the text that is shown, piece by piece.

    Blanks before a citation go with it, and what joins it to the next one; a line that begins with one begins with its
    words; lines that hold nothing else go at the end of the answer. Where a sentence ends before a citation, the stop
    behind it goes too: ``She moved. [1].`` A citation that is compared with one that stays, as
    a word of its sentence, stays with it. An answer of citations alone, as small models give
    it, is shown as it is: nothing would be left of it.
    """

    def __init__(self) -> None:
        self._blanks = ""
        """What waits before a citation."""
        self._joining = ""
        """What waits behind one."""
        self._taken = ""
        """The citations that it stands behind, as they were written."""
        self._stripped = False
        self._margin = False
        self._begun = False
        self._alone = ""
        """The citations of an answer that has no words yet, with what stands between them."""
        self._held = ""
        """What stands behind them and is no word."""
        self._end = ""
        """The last character that was shown and is no blank."""

    def words(self, text: str) -> str:
        """Take words; what is shown next."""
        if not self._stripped:
            return self._shown(text)
        self._joining += text
        if _JOINS.fullmatch(self._joining) or self._may_pair:
            return ""
        return self._shown(self._released())

    def word(self, mark: str) -> str:
        """Take a citation that is shown, as a word of its sentence; what is shown next."""
        if not (self._stripped and self._taken and self._joining.strip() in _PAIRING):
            return self.words(mark)
        self._margin = False
        return self._shown(self._taken + self._released() + mark)

    @property
    def _may_pair(self) -> bool:
        """Whether what stands behind the citations is all of a word that compares, or its beginning."""
        blank, word = self._joining[:1], self._joining.strip(" \t")
        return len(self._joining) < _MOST and blank in " \t" and word in _BEGUN

    def citation(self, mark: str) -> None:
        """Take a citation that is not shown."""
        if not self._begun and len(self._alone) < _MOST and any(map(str.isdigit, mark)):
            self._alone += self._held + self._joining + mark
            self._held = ""
        if self._stripped:
            # Of a long row, which nobody compares with anything, no more is kept.
            self._taken = self._taken and (self._taken + self._joining + mark)[: _MOST + 1]
            self._taken = self._taken if len(self._taken) <= _MOST else ""
        else:
            kept = self._blanks.rstrip(" \t")
            self._taken, self._blanks = self._blanks[len(kept) :] + mark, kept
            self._margin = self._blanks.endswith("\n") or not (self._begun or self._blanks)
        self._stripped, self._joining = True, ""

    def finish(self) -> str:
        """The answer has ended: what is shown last."""
        alone = self._stripped and self._margin and not self._joining.strip()
        rest = self._shown(self._released())
        if not self._begun and self._alone:
            return self._alone + self._held
        return rest if alone else rest + self._blanks

    def _released(self) -> str:
        text, self._joining, self._stripped = self._joining, "", False
        text = text[1:] if _STOPPED_TWICE.match(self._end + text[:1]) else text
        return text.lstrip(" \t") if self._margin else text

    def _shown(self, text: str) -> str:
        if self._alone and not self._begun:
            text, self._held = self._held + text, ""
            if len(text) < _MOST and _NO_WORDS.fullmatch(text):
                self._held = text
                return ""
        body = text.rstrip(" \t\n")
        if body:
            shown, self._blanks, self._begun = self._blanks + body, text[len(body) :], True
            self._end = body[-1]
        else:
            shown, self._blanks = "", self._blanks + text
        released, self._blanks = self._blanks[:-_MOST], self._blanks[-_MOST:]
        return shown + released
