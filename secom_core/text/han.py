"""Chinese characters that are written in several ways: 台灣 and 台湾, 髙橋 and 高橋, 気 and 氣.

Two texts are compared by the first of the ways that the table lists, which is the simplified one of China. Rules that
are written in one way find the others too.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Final

_HAN: Final = re.compile("[\u4e00-\u9fff]")


@cache
def _groups() -> tuple[str, ...]:
    """The ways to write a character, the one that stands for all of them first."""
    return tuple(files(__package__).joinpath("han_variants.txt").read_text(encoding="utf-8").split())


@cache
def _firsts() -> dict[int, str]:
    return {ord(other): group[0] for group in _groups() for other in group[1:]}


@cache
def _ways() -> dict[str, str]:
    return {letter: group for group in _groups() for letter in group}


_NUMBERS: Final = {sign: number for number, sign in enumerate("一二三四五六七八九十", 1)}

HAN_NUMBER: Final = "[一二三四五六七八九十]{1,3}"
"""What `han_number` reads, as a regular expression."""


def han_number(text: str) -> int:
    """A number up to 99 in digits or in Chinese characters; 0 where it is none."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    return (_NUMBERS.get(tens, 0 if tens else 1) * 10 if ten else 0) + _NUMBERS.get(ones, 0)


def one_way(text: str) -> str:
    """The text with each character in the first of the ways in which it may be written; as long as it was."""
    return text if text.isascii() else text.translate(_firsts())


def all_ways(words: str) -> list[str]:
    """The words in all ways in which their characters may be written."""
    if not _HAN.search(words):
        return [words]
    return ["".join(letters) for letters in product(*(_ways().get(letter, letter) for letter in words))]


def finding_all_ways(source: str) -> str:
    """A regular expression that finds what another one finds, in all ways in which its characters may be written."""
    if not _HAN.search(source):
        return source
    parts: list[str] = []
    in_set, escaped = False, False
    for place, letter in enumerate(source):
        ways = _ways().get(letter)
        if ways and not (in_set and "-" in (source[place - 1], source[place + 1])):
            parts.append(ways if in_set else f"[{ways}]")
        else:
            parts.append(letter)
        in_set = in_set if escaped else letter != "]" if in_set else letter == "["
        escaped = letter == "\\" and not escaped
    return "".join(parts)
