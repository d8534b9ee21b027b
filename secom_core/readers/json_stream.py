"""A JSON text read piece by piece, so that a file of any size takes the memory of one of its records.

The pieces are decoded by `json` itself. `ijson`, the usual library for this, gives ``?`` for half of a pair of
surrogates, and takes memory that grows with the square of how deep a record is nested, so that a file of 200 KB ends
the process.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, TextIO

from ..errors import InvalidTranscript
from ..text.patterns import regex

LARGEST_RECORD: Final = 256_000_000
"""How many characters one record may have."""

_PIECE: Final = 2**18
_NEAR: Final = 16
"""How near to the end of what was read an error may come of what was not read yet."""
_BLANK: Final = regex(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


class JsonStream:
    """A text of JSON values, one after another: `value` decodes the next one whole, `items` and `members` go into it.

    What a caller of `items` or `members` does not read of an item is passed over.

    Args:
        text: where it is read from.
        name: what errors call it.
    """

    def __init__(self, text: TextIO, name: str = "") -> None:
        self._named = f"{name}: " if name else ""
        self._text = text
        self._buffer = ""
        self._at = 0
        self._passed = 0
        self._lines = 1
        self._ended = False

    @property
    def line(self) -> int:
        """The line that is read, from 1."""
        return self._lines + self._buffer.count("\n", 0, self._at)

    def peek(self) -> str:
        """The first character of what comes next; empty at the end."""
        while True:
            self._at = _BLANK.match(self._buffer, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._buffer) or self._ended:
                return self._buffer[self._at : self._at + 1]
            self._fill()

    def value(self) -> Any:
        """The next value, whole.

        Raises:
            InvalidTranscript: it is no JSON, breaks off, is nested too deeply or longer than `LARGEST_RECORD`.
        """
        self.peek()
        while True:
            try:
                found, end = _DECODER.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                unsure = error.msg.startswith("Unterminated") or error.pos > len(self._buffer) - _NEAR
                if self._ended or not unsure:
                    raise self._wrong(error.msg, error.pos) from error
            except (RecursionError, ValueError) as error:
                what = "is nested too deeply" if isinstance(error, RecursionError) else str(error)
                raise InvalidTranscript(f"{self._named}line {self.line}: the record {what}") from error
            else:
                # "1" may go on with ".5": of a number, what follows has to be there too.
                room = _NEAR if isinstance(found, (int, float)) else 0
                if end + room < len(self._buffer) or self._ended:
                    self._at = end
                    return found
            self._fill()

    def values(self) -> Iterator[Any]:
        """Every value that is left, such as the lines of JSON lines."""
        while self.peek():
            yield self.value()

    def items(self) -> Iterator[None]:
        """Goes to each item of the list that comes next, in order."""
        self._take("[")
        if self.peek() == "]":
            self._at += 1
            return
        while True:
            place = self._place
            yield
            if self._place == place:
                self.value()
            if self._take(",]") == "]":
                return

    def members(self) -> Iterator[str]:
        """Goes to the value of each member of the object that comes next, and gives its name."""
        self._take("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            name = self.value()
            self._take(":")
            self.peek()
            place = self._place
            yield name
            if self._place == place:
                self.value()
            if self._take(",}") == "}":
                return

    @property
    def _place(self) -> int:
        return self._passed + self._at

    def _take(self, wanted: str) -> str:
        found = self.peek()
        if not found or found not in wanted:
            raise self._wrong(f"Expecting {' or '.join(map(repr, wanted))}", self._at)
        self._at += 1
        return found

    def _fill(self) -> None:
        """Read on: at least as much again as is there, so that no record is decoded more than about twice."""
        self._lines += self._buffer.count("\n", 0, self._at)
        self._passed += self._at
        self._buffer, self._at = self._buffer[self._at :], 0
        if len(self._buffer) > LARGEST_RECORD:
            raise InvalidTranscript(
                f"{self._named}line {self._lines}: a record of more than {LARGEST_RECORD:,} characters"
            )
        piece = self._text.read(max(_PIECE, len(self._buffer)))
        self._ended = not piece
        self._buffer += piece

    def _wrong(self, reason: str, at: int) -> InvalidTranscript:
        line = self._lines + self._buffer.count("\n", 0, at)
        if at >= len(self._buffer.rstrip()) or reason.startswith("Unterminated"):
            return InvalidTranscript(f"{self._named}line {line}: the file breaks off here; get it once more")
        return InvalidTranscript(f"{self._named}line {line}: not JSON: {reason}, got {self._buffer[at : at + 40]!r}")
