"""The words of a piece of HTML, as a chat shows them."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Final

_BREAKS: Final = frozenset("br p div li tr h1 h2 h3 h4 h5 h6 blockquote pre ul ol table".split())
_SILENT: Final = frozenset({"script", "style", "head"})
_LONGEST: Final = 5_000_000


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent += tag in _SILENT
        if tag in _BREAKS:
            self.pieces.append("\n- " if tag == "li" else "\n")

    def handle_endtag(self, tag: str) -> None:
        self._silent = max(0, self._silent - (tag in _SILENT))
        if tag in _BREAKS - {"br", "li"}:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces.append(data)


def words_of(html: str) -> str:
    """The words, a line a paragraph; marks, scripts and styles are left out. At most 5 million characters are read."""
    reader = _Words()
    reader.feed(html[:_LONGEST])
    reader.close()
    lines = (" ".join(line.replace("\xa0", " ").split(" ")).strip() for line in "".join(reader.pieces).split("\n"))
    return "\n".join(filter(None, lines))
