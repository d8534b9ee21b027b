"""Which of the older encodings of China, Taiwan, Hong Kong, Japan and Korea bytes are likely in."""

from __future__ import annotations

import codecs
from typing import Final, NamedTuple


class _Guess(NamedTuple):
    codec: str
    title: str
    basic: str
    """A codec whose first bytes tell the common characters."""
    common: tuple[tuple[int, int], ...]
    """Between which first bytes these lie."""


_GUESSES: Final = (
    # Korean bytes would be common Chinese characters too, so that they are tried first.
    _Guess("cp949", "EUC-KR", "euc_kr", ((0xA1, 0xA3), (0xB0, 0xC8))),
    _Guess("gb18030", "GB 18030", "gb2312", ((0xA1, 0xA3), (0xB0, 0xD7))),
    _Guess("big5hkscs", "Big5", "big5", ((0xA1, 0xA3), (0xA4, 0xC6))),
    _Guess("cp932", "Shift-JIS", "euc_jp", ((0xA1, 0xA5), (0xB0, 0xCF))),
)
_LEAST: Final = 6
"""How many characters beyond ASCII there are at least."""
_SHARE: Final = 0.9
"""The share of them that is common at least; letters of western Europe make rare ones."""


def eastern_encoding(head: bytes) -> tuple[str, str] | None:
    """The codec that the first bytes of a file are likely in, and what people call it; nothing where none fits."""
    rated = [(_common(head, each), -place) for place, each in enumerate(_GUESSES)]
    share, place = max(rated)
    return _GUESSES[-place][:2] if share >= _SHARE else None


def _common(head: bytes, guess: _Guess) -> float:
    """The share of characters beyond ASCII that are common; 0 where the bytes are none of it, or few."""
    try:
        text = codecs.getincrementaldecoder(guess.codec)().decode(head)
    except UnicodeDecodeError:
        return 0.0
    beyond = [letter for letter in text if not letter.isascii()]
    return sum(_is_common(letter, guess) for letter in beyond) / len(beyond) if len(beyond) >= _LEAST else 0.0


def _is_common(letter: str, guess: _Guess) -> bool:
    code = letter.encode(guess.basic, "ignore")
    return len(code) == 2 and any(first <= code[0] <= last for first, last in guess.common)
