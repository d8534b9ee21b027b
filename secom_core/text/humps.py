"""Names of code written in one with capitals inside, such as ``useDebouncedSearch``, and the words that they are of."""

from __future__ import annotations

import re
from typing import Final

from .patterns import regex

_LONGEST: Final = 50
"""How many letters and digits a name has at most; what is longer is a key, or data."""
_MEAN: Final = 3
"""How many letters and digits the parts of a name have at least in the mean; those of random letters have fewer."""
_OF_CASE: Final = bytes(97 if 97 <= code <= 122 else 65 if 65 <= code <= 90 else 32 for code in range(256))
"""Small letters, capitals, and all else, each as one character."""
# A capital is found quickly; what it stands between is looked at there only.
_HUMP: Final = re.compile(b"A(?:(?<=aA)|Aa)")
# Each can end in one place only, or a long run of capitals would be read in all ways of dividing it.
_PART: Final = "(?:[A-Z][a-z]+|[A-Z]+(?=[A-Z][a-z])|[A-Z]+(?![A-Za-z]))[0-9]*"
_WORD: Final = "(?:[A-Z][a-z]{2,}|[A-Z]{3,}(?=[A-Z][a-z])|[A-Z]{3,}(?![A-Za-z]))[0-9]*"
_NAME: Final = regex(
    # Of most words, it is seen at once that no capital follows.
    rf"(?<![A-Za-z0-9])(?=[a-z]*[0-9]*[A-Z])(?:[a-z]{{2,}}[0-9]*(?:{_PART})+|(?:{_WORD}){{3,}}"
    # Two words in one are a name of anything: "YouTube", "MacBook". Signs around it tell that it is one of code.
    rf"|(?:(?<=[`.<])|(?<=\bclass )|(?<=\bstruct )|(?<=\bfunc ))(?:{_PART}){{2,}}"
    rf"|(?:{_PART}){{2,}}(?=[`(<{{;]|::|\.[A-Za-z]))(?![A-Za-z0-9])"
)
_PARTS: Final = regex(rf"[a-z]{{2,}}[0-9]*|{_PART}")


def with_parts(text: str) -> str:
    """The text, and behind it each word once that names of code in it are made of: "frameChecksum frame checksum".

    Two words in one, such as "YouTube", are a name of code where they stand as one does.
    """
    parts = words_of_names(text)
    return " ".join([text, *parts]) if parts else text


def words_of_names(text: str) -> list[str]:
    """The words that the names of code in a text are of, each once, in the order in which they come."""
    return list(dict.fromkeys(" ".join(parts_of_names(text).values()).lower().split()))


def parts_of_names(text: str) -> dict[str, str]:
    """The names of code in a text that `with_parts` takes to pieces, each with its words."""
    if _HUMP.search(text.encode("utf-8", "replace").translate(_OF_CASE)) is None:
        return {}
    return {name: " ".join(parts) for name in _NAME.findall(text) if (parts := _parts(name))}


def _parts(name: str) -> list[str]:
    parts: list[str] = _PARTS.findall(name)
    return parts if len(name) <= _LONGEST and len(name) >= _MEAN * len(parts) else []
