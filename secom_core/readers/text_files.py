"""Which encoding the bytes of a text file are in, found without reading the file into memory."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Final

from .eastern_encodings import eastern_encoding

_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PIECE: Final = 2**20


@dataclass(frozen=True, slots=True)
class Encoding:
    """How bytes are text.

    Args:
        name: the codec.
        errors: what becomes of bytes that are none of it: ``"strict"`` or ``"replace"``.
        note: what was guessed, as a sentence; empty where nothing was.
        is_binary: whether the bytes are no text.
    """

    name: str
    errors: str = "strict"
    note: str = ""
    is_binary: bool = False

    def beginning(self, head: bytes) -> str:
        """The text of the first bytes of a file, which may end inside a character."""
        if self.is_binary:
            return ""
        return codecs.getincrementaldecoder(self.name)("replace").decode(head).lstrip("\ufeff")


def encoding_of(head: bytes, opened: Callable[[], BinaryIO], shown: str) -> Encoding:
    """How a file's bytes are text: by a mark of the byte order, else UTF-8, else what is likely, with a note.

    Bytes that are not UTF-8 are read as the older encoding of eastern Asia that makes common characters of them, or
    else as Windows-1252 (cp1252), which programs for Windows write in western Europe; in a file that holds characters
    beyond ASCII as UTF-8 elsewhere, they become U+FFFD.

    Args:
        head: the file's first bytes.
        opened: opens the file.
        shown: how the note names it.
    """
    for mark, name in _MARKS:
        if head.startswith(mark):
            return Encoding(name, "replace")
    if b"\0" in head:
        return _without_mark(head)
    with opened() as raw:
        return _scanned(raw, head, shown)


def _without_mark(head: bytes) -> Encoding:
    """UTF-16 without a mark has a zero in every second byte where most letters are Latin; all else is binary."""
    odd, even = head[1::2].count(0), head[::2].count(0)
    half = len(head) // 2
    if odd > 0.7 * half and even < 0.1 * half:
        return Encoding("utf-16-le", "replace")
    if even > 0.7 * half and odd < 0.1 * half:
        return Encoding("utf-16-be", "replace")
    return Encoding("latin-1", is_binary=True)


def _scanned(raw: BinaryIO, head: bytes, shown: str) -> Encoding:
    decoder, at, wide = codecs.getincrementaldecoder("utf-8")(), 0, False
    while piece := raw.read(_PIECE):
        try:
            wide = not decoder.decode(piece).isascii() or wide
        except UnicodeDecodeError as error:
            wide = wide or not error.object[: error.start].isascii()
            kept = len(error.object) - len(piece)
            return _not_utf8(at - kept + error.start, error.object[error.start], wide, head, shown)
        at += len(piece)
    if (rest := decoder.getstate()[0]) and not wide:
        return _not_utf8(at - len(rest), rest[0], wide, head, shown)
    return Encoding("utf-8", "replace" if rest else "strict")


def _not_utf8(at: int, byte: int, wide: bool, head: bytes, shown: str) -> Encoding:
    found = f"{shown} is not UTF-8: byte {at:,} is {byte:#04x}"
    if wide:
        return Encoding("utf-8", "replace", f"{found}; whatever cannot be read becomes \N{REPLACEMENT CHARACTER}")
    codec, title = eastern_encoding(head) or ("cp1252", "Windows-1252")
    note = f"{found}; it is read as {title}. If letters look wrong, save it as UTF-8 and remember it again"
    return Encoding(codec, "replace", note)
