"""What is shown of a passage where there is no room for more: its most telling sentence, or the item asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import fsum
from operator import itemgetter
from typing import Final

from ..memory import Passage
from ..text.list_items import item_span
from ..text.parts import line_spans, rows_only
from ..text.patterns import regex
from ..text.terms import terms
from .candidate import Candidate

_LEADS: Final = regex(
    r"\W*|\W*\w{1,3}[.)、:]\W*|#{1,6}\s[^\n]*|[-*+•\s]*\*\*[^*\n]+\*\*:?|[^\n]{1,80}[:：]"
    r"|(?:```+|~~~+)[^`\n]*"
)
"""What tells nothing alone: a heading, the number of an item, what ends with a colon, the fence before code."""
# A letter or a vowel sign of a script with spaces between words: a Chinese or Thai sentence is no word. Each character
# is read in one way only, as a long word of Malayalam would else be read in as many ways as there are parts of it.
_IN_WORD: Final = (
    r"(?:(?![\d_\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7a3])"
    r"[\w'’\u0300-\u036f\u064b-\u0652\u0900-\u0963\u0971-\u0dff])+"
)
_GREETING: Final = regex(
    rf"¡?{_IN_WORD}(?:[,،]? {_IN_WORD})?[\s!.…।]*"
    r"|(?:你好|您好|谢谢|好的|こんにちは|ありがとうございます|안녕하세요|감사합니다|สวัสดี(?:ค่ะ|ครับ)?)[\s!！.。]*",
)
"""One or two words, as before the first thing that somebody says."""


def with_narrower(candidate: Candidate, passage: Passage, worth: Mapping[str, float], item: int = 0) -> Candidate:
    """The candidate with what may be shown of it where there is no room for all.

    Args:
        candidate: what was found.
        passage: the passage that it was found by.
        worth: what each term of the query weighs.
        item: the place of the item of a list that the query asks for.
    """
    whole = () if candidate.passage is not None or len(candidate.turn.messages) == 1 else (passage,)
    sentence = (_item(passage, item) if item else None) or _narrower(passage, worth)
    return replace(candidate, narrower=whole if sentence is None else (*whole, sentence))


def _item(passage: Passage, place: int) -> Passage | None:
    """The item of a list by its place, where one begins in the passage and does not fill it."""
    span = item_span(passage.message.text, place, passage.start, passage.stop)
    if span is None or span == (passage.start, passage.stop):
        return None
    return replace(passage, start=span[0], stop=span[1])


def _narrower(passage: Passage, worth: Mapping[str, float]) -> Passage | None:
    """The sentence, or line, of the passage that holds the most of the query; nothing where it is of one sentence."""
    text = passage.message.text
    spans = _telling(text, rows_only(text, line_spans(text, passage.start, passage.stop)))
    if len(spans) < 2:
        return None
    # Exact, as a set has another order in each process: of two that hold as much it is always the first.
    held = (fsum(worth.get(term, 0.0) for term in set(terms(text[slice(*span)], in_parts=True))) for span in spans)
    (start, stop), _ = max(zip(spans, held, strict=True), key=itemgetter(1))
    return replace(passage, start=start, stop=stop)


def leads(words: str) -> bool:
    """Whether words tell nothing alone, and only lead to what comes after them."""
    words = words.strip()
    return _LEADS.fullmatch(words) is not None or _GREETING.fullmatch(words) is not None


def _telling(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans, with what only leads to the next (a heading, the number of an item, a greeting) before that."""
    found: list[tuple[int, int]] = []
    is_led = False
    for start, stop in spans:
        if is_led:
            found[-1] = found[-1][0], stop
        else:
            found.append((start, stop))
        is_led = leads(text[start:stop])
    # The last one leads nowhere.
    return found[:-1] if is_led and len(found) > 1 else found
