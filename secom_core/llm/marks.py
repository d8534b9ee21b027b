"""A model's own marks in words that go into a prompt as data, broken by their shape, whichever model it is.

Chat templates and tokenizers each have marks of their own, ``<|im_start|>``, ``[INST]``, ``<start_of_turn>``, and every
model brings new ones. So none is listed here: what opens like one loses its bracket. What a model cannot see goes, as
it may stand inside of a mark or hide an order.
"""

from __future__ import annotations

import re
import unicodedata
from enum import Enum
from functools import lru_cache
from typing import Final

from ..text.patterns import regex

_CONTROLS: Final = "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"
"""Control characters but for the tab and the ends of lines."""

_NO_CONTROLS: Final = dict.fromkeys([*range(9), *range(14, 28), 31, 127])
"""The same in ASCII, for `str.translate`."""

_UNSEEN: Final = (
    "\u00ad\u061c\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
"""What is there without being seen: soft hyphens, blanks of no width, the writing direction, tag characters."""

_JOINERS: Final = "\u034f\u115f\u1160\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f\U000e0100-\U000e01ef"
"""What is not seen either, yet composes emoji and the words of many scripts."""

PLAIN: Final = re.compile(
    r"[ -;=?-Z\\^`a-{}\u00c0-\u024f\u0386-\u045f\u05d0-\u05ea\u0621-\u064a\u0904-\u0939\u2013-\u2014\u2018-\u201d"
    r"\u2026\u3001-\u3002\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]*"
)
"""What most is made of: letters, digits and signs of which no mark consists, all of which are seen."""

_HALF: Final = regex("[\ud800-\udfff]")
"""Half of a character that was cut in two: no request to a model can hold it."""

_OPEN, _CLOSE = "[\ufe47\uff3b\u3010", "]\ufe48\uff3d\u3011"
_SQUARES: Final = re.escape(_OPEN + _CLOSE)
_BRACKET: Final = f"[{_SQUARES}]"

_HIDDEN: Final = regex(f"[{_CONTROLS}{_UNSEEN}{_JOINERS}]+")
_COMPOSING: Final = regex(f"[{_JOINERS}]{{1,2}}")
_COMPOSED: Final = regex(f"[^\x00-\x7f\ufe50-\ufe6f\uff00-\uffef{re.escape(_OPEN + _CLOSE)}]")
"""What a joiner may follow: nothing of ASCII, nor of its small and full-width forms, nor a bracket of a mark."""

_LT, _GT, _BAR = "<\ufe64\uff1c", ">\ufe65\uff1e", "|\uff5c"
_SAFE: Final = re.escape("=-()\"'`,.;:+*&~^$%#@{}")
"""What comparisons, shifts and arrows go on with."""

_FAR: Final = 200
"""A mark has no more characters than this."""

_STYLED: Final = (
    "\u02b0-\u02b8\u1d2c-\u1d6a\u2071\u207f\u2090-\u209c\u2100-\u214f\u2160-\u217f\u24b6-\u24e9\uff21-\uff5a"
    "\U0001d400-\U0001d7ff\U0001f130-\U0001f149"
)
"""Letters that may be read as those of ASCII."""

_NAME_OF_SOMETHING: Final = (
    r"(?!memories|[^\s<>]*no_cite)(?:[a-z][a-z\d+.-]{1,15}://[^\s<>]*|(?:mailto:)?[\w.+%-]{1,100}@[a-z\d-]{1,100}(?:\.[a-z\d-]{1,100})+"
    r"|[a-z_][\w/+-]{0,100}(?:\.[\w+-]{1,100}){0,8}\.[a-z]\w{0,4})>"
)
"""An address or the name of a file, in ASCII, which may stand between angle brackets: ``ann@sol.be``, ``stdio.h``."""

_OF_A_WORD: Final = rf"[^\x00-/:-@\[-^`{{-\x7f\s{_LT}{_GT}{_BAR}‹›]"
_ON_A_LINE: Final = rf"[^\n{_LT}{_GT}‹›]"
_WITHIN: Final = rf"{_ON_A_LINE}{{0,{_FAR}}}"
_END: Final = f"(?<![=-])[{_GT}]"
_INNER: Final = f"[{_LT}]{_WITHIN}{_END}"
_NESTED: Final = f"[{_LT}]{_WITHIN}(?:{_INNER}{_WITHIN}){{0,8}}{_END}"
"""What stands between the brackets of a type within another: ``List<int>`` in ``Map<String, List<int>>``."""
_ANGLE: Final = regex(
    # A run is looked at once, from its beginning, so that a million brackets take no time.
    rf"(?<![{_LT}])[{_LT}]+(?![{_LT}])(?!(?<=<)(?a:{_NAME_OF_SOMETHING}))(?="
    # What opens a mark whatever follows.
    rf"[{_BAR}\\\ufe68!?{_SQUARES}]|[\s{_BAR}]*[/\\\uff0f\uff3c]"
    # A word that something closes on its line, but for an arrow or a comparison; blanks may stand inside.
    rf"|[^\s\d{_SAFE}{_LT}{_GT}]{_WITHIN}{_END}(?![=\uff1d])"
    # A type with others within: its bracket is broken as theirs are.
    rf"|(?<=\w[{_LT}])[^\s\d=~+*;{_LT}{_GT}-]{_WITHIN}(?:{_NESTED}{_WITHIN}){{1,8}}{_END}"
    # What stands alone between blanks, but for a number by which something is shifted.
    rf"|(?!(?<=<<)(?a:[ \t]+\d\w*[ \t]+>>))[\s{_BAR}#]*{_OF_A_WORD}(?:[.:=#-]|{_OF_A_WORD})*(?<!-)[\s{_BAR}]*[{_GT}]"
    # A word with an attribute or a value, closed or not.
    r"|[^\W\d][\w.:-]*(?:[ \t]+[\w:-]+[ \t]*[=\uff1d]|=[^\s=])"
    # Not past a bracket that was broken already, or what is shown would be broken once more.
    rf"|[{_SAFE}{_SQUARES}]+\w[^\s{_LT}{_GT}‹›]*[{_GT}]"
    # The block's own delimiter, whatever stands before its name; at the end of a text, the next may go on with it.
    rf"|\W{{0,40}}(?:memories|\w{{0,7}}(?-i:[{_STYLED}])|\Z))"
    rf"|[{_GT}]{{2}}(?=[A-Z\uff21-\uff3a]+[{_LT}]{{2}})",
    re.IGNORECASE,
)
_SQUARE: Final = regex(rf"[{re.escape(_OPEN)}]([^{re.escape(_OPEN + _CLOSE)}]*)[{re.escape(_CLOSE)}]")
_BARRED: Final = regex(rf"[{re.escape(_OPEN)}](?=[{_BAR}])")
"""``[|``, which opens a mark whether anything closes it or not."""

_TILDE: Final = regex(rf"{_BRACKET}(?=[\w!\uff01]{{0,2}}[~\uff5e][\w!\uff01]{{0,2}}{_BRACKET})")
"""``[e~[`` and the like: marks that open what they close."""

_WORD: Final = regex(
    r"[|][^()]*|[^()]*[|]"
    r"|/\s*\w[\w-]*"
    r"|(?=.*[A-Z]{2})(?!\w+\s*[/:-]\s*\d+\Z|\d+\s*[/:-]|\w+\s+[/:-]\s)[a-z]?[A-Z0-9_](?:[A-Z0-9_/:. -]*[A-Z0-9_])?"
    r"|[a-zA-Z]+_\d+",
)
"""What stands between the square brackets of a mark: a word in capitals, one after a slash, a numbered one. An
expression is none: ``MAX-1``, ``:END``.

With a round bracket it is none: that may be one which was broken already.
"""

_BLANK: Final = r"[ \t\u3000]{0,4}"
_DASH: Final = "[-~\u2010-\u2015\u2212\u301c\u2e3a\u2e3b\ufe58\ufe63\uff0d\uff5e]"
_NAME: Final = (
    r"(?:memor(?:y|ies)|mem|m|sources?|cit(?:ation|e)s?|erinnerung(?:en)?|quellen?"
    "|\u8bb0\u5fc6|\u8a18\u61b6|\u6765\u6e90|\u4f86\u6e90)"
    r"[ \t_:.\uff1a-]{0,3}(?:#|n[or]\.)?[ \t]?"
)
_LABEL: Final = rf"(?:\^|{_NAME})?"
_AND: Final = rf"{_BLANK}(?:[,;&\uff0c\uff1b\u3001\u548c]|\band\b|\bund\b){_BLANK}"
_NONE: Final = r"NO[_ -]?CIT(?:E[DS]?|ATIONS?)"

CITED_SPAN: Final = rf"(\d{{1,9}})(?:{_BLANK}{_DASH}{_BLANK}{_LABEL}(\d{{1,9}}))?"
"""A number that is cited, or a range of them: ``1``, ``1-3``; the groups are its ends."""

_SPAN: Final = _LABEL + CITED_SPAN.replace("(\\d", "(?:\\d")
_DETAIL: Final = r"(?:\u2020[\w .,:#-]{0,60})?"
CITED: Final = rf"{_BLANK}(?:(?:\d{{1,9}}:(?=\d+\u2020))?{_SPAN}(?:{_AND}{_SPAN})*{_DETAIL}|{_NONE}){_BLANK}"
"""What stands between the brackets of a citation, in letters of any case: ``1``, ``1, 2``, ``Memory 1``, ``^1``."""

NOTHING_CITED: Final = regex(r"\bNO_CITE[DS]?\b")
"""That nothing is cited, without brackets."""

_LINE_ENDS: Final = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
_REFERENCE: Final = regex(r":[ \t]+(?:<?[a-z][a-z\d+.-]{1,15}:|<?[/#]|\.{1,2}/)", re.IGNORECASE)
"""How the definition of a link goes on after its number, as in ``[1]: https://example.org``."""

_BLANK_SIGN: Final = regex(r"[^\S\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|\u2800")
"""A blank on a line, or what looks like one."""

_CITATION: Final = regex(rf"{CITED}|\d+(?:(?::\d+)?\u2020[^()]*)?", re.IGNORECASE)
"""The same, and any number at all, as the block's own lines begin with one."""


def without_hidden(text: str) -> str:
    """The text without what is not seen: controls, the writing direction, tag characters, blanks of no width.

    Joiners stay inside of composed emoji and of words in scripts that need them. Half a character becomes U+FFFD.
    """
    if text.isascii():
        return text.translate(_NO_CONTROLS)
    return _HALF.sub("\ufffd", _HIDDEN.sub(_composing, text))


def _composing(found: re.Match[str]) -> str:
    before = found.string[found.start() - 1 : found.start()]
    return found[0] if _COMPOSING.fullmatch(found[0]) and _COMPOSED.match(before) else ""


def normal(text: str) -> str:
    """The text as whoever normalises it reads it: in the usual form of each character, and nothing hidden."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _HIDDEN.sub("", text)


def without_marks(text: str, *, heads: bool = False, citations: bool = False) -> str:
    """The text with every mark broken that could be a model's own; ``<think>`` becomes ``‹think>``, ``[INST]``
    becomes ``(INST)``.

    Args:
        text: without anything hidden (`without_hidden`).
        heads: whether a line that begins with ``[3]``, as an entry of a block does, gets round brackets.
        citations: whether ``[3]`` and every other citation gets them anywhere.
    """
    if "~" in text or "\uff5e" in text:
        text = _TILDE.sub(lambda found: "(" if found[0] in _OPEN else ")", text)
    if any(bracket in text for bracket in _OPEN):

        def shown(found: re.Match[str]) -> str:
            kind = _kind(found[1])
            is_broken = kind is _Kind.MARK or (citations and kind is not _Kind.OTHER)
            if is_broken or (heads and kind is _Kind.NUMBER and _is_head(text, *found.span())):
                return f"({found[1]})"
            return found[0]

        text = _SQUARE.sub(shown, text)
        text = _BARRED.sub("(", text)
    text = _without_none(text) if citations else text
    # After the square ones, as a round bracket that takes the place of one may be part of a mark.
    if any(bracket in text for bracket in _LT):
        text = _ANGLE.sub(lambda found: ("›" if found[0][0] in _GT else "‹") * len(found[0]), text)
    return text


class _Kind(Enum):
    """What stands between square brackets."""

    MARK = "mark"
    NUMBER = "number"
    CITATION = "citation"
    OTHER = "other"


def _kind(inside: str) -> _Kind:
    return _kind_of_short(inside) if len(inside) <= _SHORT else _kind_of(inside)


def _kind_of(inside: str) -> _Kind:
    word = normal(inside).strip()
    if _WORD.fullmatch(word):
        return _Kind.MARK
    if word.isdigit():
        return _Kind.NUMBER
    return _Kind.CITATION if _CITATION.fullmatch(word) else _Kind.OTHER


_SHORT: Final = 12
_kind_of_short: Final = lru_cache(maxsize=2048)(_kind_of)
"""Code has the same few indexes again and again."""


def _is_head(text: str, start: int, stop: int) -> bool:
    """Whether what stands there begins its line, but for blanks; an element of a list, before a comma, is no head, and
    neither is the number of a link, before its address.
    """
    if text.startswith((",", "]"), stop) or _REFERENCE.match(text, stop):
        return False
    while start and _BLANK_SIGN.match(text, start - 1):
        start -= 1
    return not start or text[start - 1] in _LINE_ENDS


def without_citations(block: str) -> str:
    """A block, whose words have no marks, without anything in them that could be read as a citation: ``[3]`` becomes
    ``(3)``. The block's own numbers stay: those at the edge before its entries, and at the end of a line of its own.
    """

    def shown(found: re.Match[str]) -> str:
        if _kind(found[1]) is _Kind.OTHER or _is_own(block, found):
            return found[0]
        return f"({found[1]})"

    return _without_none(_SQUARE.sub(shown, block) if any(bracket in block for bracket in _OPEN) else block)


def _is_own(block: str, found: re.Match[str]) -> bool:
    """Whether a number is the block's own."""
    start, stop = found.span()
    if not (found[1].isdigit() and found[0].isascii()):
        return False
    if block.startswith(" ", stop) and (not start or block[start - 1] == "\n"):
        return True
    return block.startswith(")\n", stop) and block.startswith("→", block.rfind("\n", 0, start) + 1)


def _without_none(text: str) -> str:
    return NOTHING_CITED.sub(lambda found: found[0].replace("_", " "), text) if "NO_CITE" in text else text
