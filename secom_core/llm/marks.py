"""A model's own marks in words that go into a prompt as data, broken by their shape, whichever model it is.

Chat templates and tokenizers each have marks of their own, ``<|im_start|>``, ``[INST]``, ``<start_of_turn>``, and every
model brings new ones. So none is listed here: what opens like one loses its bracket. What a model cannot see goes, as
it may stand inside of a mark or hide an order.
"""

from __future__ import annotations

import re
import unicodedata
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
_BRACKET: Final = f"[{re.escape(_OPEN + _CLOSE)}]"

_HIDDEN: Final = regex(f"[{_CONTROLS}{_UNSEEN}{_JOINERS}]+")
_COMPOSING: Final = regex(f"[{_JOINERS}]{{1,2}}")
_COMPOSED: Final = regex(f"[^\x00-\x7f\ufe50-\ufe6f\uff00-\uffef{re.escape(_OPEN + _CLOSE)}]")
"""What a joiner may follow: nothing of ASCII, nor of its small and full-width forms, nor a bracket of a mark."""

_LT, _GT, _BAR = "<\ufe64\uff1c", ">\ufe65\uff1e", "|\uff5c"
_SAFE: Final = re.escape("=-()\"'`,.;:+*&~^$%#@{}")
"""What comparisons, shifts and arrows go on with."""

_STYLED: Final = (
    "\u02b0-\u02b8\u1d2c-\u1d6a\u2071\u207f\u2090-\u209c\u2100-\u214f\u2160-\u217f\u24b6-\u24e9\uff21-\uff5a"
    "\U0001d400-\U0001d7ff\U0001f130-\U0001f149"
)
"""Letters that may be read as those of ASCII."""

_ANGLE: Final = regex(
    # A run is looked at once, from its beginning, so that a million brackets take no time.
    rf"(?<![{_LT}])[{_LT}]+(?="
    rf"[^\s\d{_SAFE}{_LT}{_GT}]"
    rf"|[\s{_BAR}]*[/\\\uff0f\uff3c]"
    rf"|[\s{_BAR}#]*\w[\w.:=#\u2581-]*[\s{_BAR}]*[{_GT}]"
    # Not past a bracket that was broken already, or what is shown would be broken once more.
    rf"|[{_SAFE}]+\w[^\s{_LT}{_GT}‹›]*[{_GT}]"
    # The block's own delimiter, whatever stands before its name; at the end of a text, the next may go on with it.
    rf"|\W{{0,40}}(?:memories|\w{{0,7}}[{_STYLED}]|\Z))"
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
    r"|(?=.*[A-Z]{2})[a-z]?[A-Z0-9_/:. -]+"
    r"|[a-zA-Z]+_\d+",
)
"""What stands between the square brackets of a mark: a word in capitals, one after a slash, a numbered one.

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


def without_marks(text: str, *, citations: bool = False) -> str:
    """The text with every mark broken that could be a model's own; ``<think>`` becomes ``‹think>``, ``[INST]``
    becomes ``(INST)``.

    Args:
        text: without anything hidden (`without_hidden`).
        citations: whether ``[3]`` and every other citation gets round brackets too.
    """
    if "~" in text or "\uff5e" in text:
        text = _TILDE.sub(lambda found: "(" if found[0] in _OPEN else ")", text)
    if any(bracket in text for bracket in _OPEN):
        text = _SQUARE.sub(lambda found: f"({found[1]})" if _is_mark(found[1], citations) else found[0], text)
        text = _BARRED.sub("(", text)
    # After the square ones, as a round bracket that takes the place of one may be part of a mark.
    if any(bracket in text for bracket in _LT):
        text = _ANGLE.sub(lambda found: ("›" if found[0][0] in _GT else "‹") * len(found[0]), text)
    return NOTHING_CITED.sub(lambda found: found[0].replace("_", " "), text) if citations else text


def _is_mark(inside: str, citations: bool) -> bool:
    word = normal(inside).strip()
    return bool(_WORD.fullmatch(word) or (citations and _CITATION.fullmatch(word)))
