"""An answer without its citations, while it streams: with a citation goes what only held it in its place."""

from __future__ import annotations

from typing import Final

from ..text.patterns import regex

_MOST: Final = 64
"""So many blanks and ends of lines wait for a citation at most."""

_JOINS: Final = regex(r"[ \t]{0,8}(?:[,;\uff0c\u3001][ \t]{0,8})?(?:a|an|and|u|un|und|[\u548c\u4e0e])?[ \t]{0,8}")
"""What stands between two citations and joins them, or the beginning of it."""


class Stripper:
    """Gives the text that is shown, piece by piece.

    Blanks before a citation go with it, and what joins it to the next one; a line that begins with one begins with its
    words; lines that hold nothing else go at the end of the answer. An answer of citations alone, as small models give
    it, is shown as it is: nothing would be left of it.
    """

    def __init__(self) -> None:
        self._blanks = ""
        """What waits before a citation."""
        self._joining = ""
        """What waits behind one."""
        self._stripped = False
        self._margin = False
        self._begun = False
        self._alone = ""
        """The citations of an answer that has no words yet."""

    def words(self, text: str) -> str:
        """Take words; what is shown next."""
        if not self._stripped:
            return self._shown(text)
        self._joining += text
        if self._margin:
            self._joining = self._joining.lstrip(" \t")
        if _JOINS.fullmatch(self._joining):
            return ""
        return self._shown(self._released())

    def citation(self, mark: str) -> None:
        """Take a citation that is not shown."""
        if not self._begun and len(self._alone) < _MOST and any(map(str.isdigit, mark)):
            self._alone += mark
        if not self._stripped:
            self._blanks = self._blanks.rstrip(" \t")
            self._margin = self._blanks.endswith("\n") or not (self._begun or self._blanks)
        self._stripped, self._joining = True, ""

    def finish(self) -> str:
        """The answer has ended: what is shown last."""
        alone = self._stripped and self._margin and not self._joining.strip()
        rest = self._shown(self._released())
        if not self._begun and self._alone:
            return self._alone
        return rest if alone else rest + self._blanks

    def _released(self) -> str:
        text, self._joining, self._stripped = self._joining, "", False
        return text

    def _shown(self, text: str) -> str:
        body = text.rstrip(" \t\n")
        if body:
            shown, self._blanks, self._begun = self._blanks + body, text[len(body) :], True
        else:
            shown, self._blanks = "", self._blanks + text
        released, self._blanks = self._blanks[:-_MOST], self._blanks[-_MOST:]
        return shown + released
