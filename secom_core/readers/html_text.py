"""The words of a piece of HTML, as a chat shows them."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Final

_BREAKS: Final = frozenset("br p div li tr h1 h2 h3 h4 h5 h6 blockquote quote pre ul ol table".split())
_CELLS: Final = frozenset({"td", "th"})
_SILENT: Final = frozenset({"script", "style", "head", "legacyquote"})
_QUOTES: Final = frozenset({"blockquote", "quote"})
_SIGNATURE: Final = "-- "
"""The line above the signature of a mail; the space tells it from any other line."""
_LONGEST: Final = 5_000_000


class _Words(HTMLParser):
    """Gathers the lines: quoted ones with a mark, and those of code with their indentation."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[str] = []
        self._line: list[str] = []
        self._silent = self._quoted = self._pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BREAKS:
            self.end_line()
        self._silent += tag in _SILENT
        self._quoted += tag in _QUOTES
        self._pre += tag == "pre"
        if tag == "emoji":
            self._line.append(dict(attrs).get("alt") or "")
        if tag == "li" or tag in _CELLS:
            self._line.append("- " if tag == "li" else "\t")

    def handle_endtag(self, tag: str) -> None:
        if tag in _BREAKS - {"br", "li"}:
            self.end_line()
        self._silent = max(0, self._silent - (tag in _SILENT))
        self._quoted = max(0, self._quoted - (tag in _QUOTES))
        self._pre = max(0, self._pre - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if self._silent:
            return
        *lines, last = data.replace("\xa0", " ").split("\n")
        for line in lines:
            self._line.append(line)
            self.end_line()
        self._line.append(last)

    def end_line(self) -> None:
        """Keep the line that has been read, if there is anything in it, and begin the next."""
        text = "".join(self._line)
        line = text if text == _SIGNATURE else text.rstrip() if self._pre else text.strip()
        if line:
            self.lines.append(f"> {line}" if self._quoted else line)
        self._line.clear()


def words_of(html: str) -> str:
    """The words, a line a paragraph; marks, scripts and styles are left out. At most 5 million characters are read.

    The cells of a table are set apart by tabs, a quoted line begins with ``>``, and code keeps its indentation.
    """
    reader = _Words()
    reader.feed(html[:_LONGEST])
    reader.close()
    reader.end_line()
    return "\n".join(reader.lines)
