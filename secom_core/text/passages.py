"""A long text in passages: what is searched and shown of it where the whole is too long."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .patterns import regex
from .terms import count_tokens, sentence_spans

Span = tuple[int, int]
"""Where a piece of a text begins and ends, in characters."""

LEAST: Final = 60
"""How many tokens a passage has at least, where the text goes on: one sentence says little of what it is about."""

MOST: Final = 120
"""How many tokens a passage has at most."""

_TOKEN_CHARACTERS: Final = 5
"""Characters of a token in a run without a space, such as a link or base64, which is cut anywhere."""

_LINE: Final = regex(r"[^\n]*\n?")
FENCES: Final = ("```", "~~~")
_ITEM: Final = regex(
    r"[-*+•·]\s|[・●○■◆①-⑳]|[(（]?\d{1,3}[.．)）、]\s?|(?:[一二三四五六七八九十]{1,3}、|[(（][一二三四五六七八九十]{1,3}[)）])"
)
_HEADING: Final = regex(r"#{1,6}\s|\*\*[^*\n]+\*\*:?\s*$")
_WORD: Final = regex(r"\S+\s*")
_JOINER: Final = "\u200d"
_JOINED: Final = regex(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0e31\u0e33-\u0e3a"
    "\u0e47-\u0e4e\u200d\u20d0-\u20f0\u3099\u309a\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
)
"""What is drawn with the character before it: accents, vowel signs, colours of skin."""
_FLAG_HALF: Final = regex("[\U0001f1e6-\U0001f1ff]")
_FLAG_HALVES: Final = regex("[\U0001f1e6-\U0001f1ff]+$")
_CLUSTER: Final = 32
"""How many characters are drawn as one at most."""


def passage_spans(text: str) -> list[Span]:
    """Cut a text into passages of about 60 to 120 tokens (`secom_core.text.terms.count_tokens`).

    Sentences are gathered; a list, a table or a block of code stays whole where it fits. What is longer than a passage
    is cut between its lines, then between words, then anywhere.

    Returns:
        Half-open ranges that cover the text with no gap and no overlap; a text that fits is one, an empty one too.
    """
    if len(text) <= MOST or count_tokens(text) <= MOST:
        return [(0, len(text))]
    spans: list[Span] = []
    size = heading = 0
    for start, stop, opens, is_heading in _atoms(text):
        tokens = count_tokens(text[start:stop])
        if spans and not tokens:
            # Blank lines say nothing: they go with what stands before them.
            spans[-1] = (spans[-1][0], stop)
            continue
        if not spans or size + tokens > MOST or (size >= LEAST and opens):
            # A heading at the end goes with what stands below it.
            if spans and spans[-1][0] < heading and count_tokens(text[heading:stop]) <= MOST:
                spans[-1] = (spans[-1][0], heading)
                tokens += count_tokens(text[heading:start])
                start = heading
            spans.append((start, stop))
            size = tokens
        else:
            spans[-1] = (spans[-1][0], stop)
            size += tokens
        heading = 0 if not is_heading else heading or start
    return spans


def _atoms(text: str) -> Iterator[tuple[int, int, bool, bool]]:
    """Pieces that are not cut again, whether a new thought begins with each, and whether it is a heading."""
    for start, stop, kind in blocks(text):
        if kind == "heading" or (kind != "prose" and count_tokens(text[start:stop]) <= MOST):
            yield start, stop, True, kind == "heading"
            continue
        opens = True
        for first, last in _parts(text, start, stop, kind):
            for piece in _short(text, first, last):
                yield *piece, opens, False
                opens = False


def blocks(text: str) -> Iterator[tuple[int, int, str]]:
    """Runs of lines of one kind, which cover the text: prose (a line each), a heading, a list, a table, code.

    Each block of code between fences is one; its fences count to it.
    """
    begin, kind, fence = 0, "", ""
    for line in _LINE.finditer(text):
        if not line[0]:
            continue
        found, after = _kind(line[0], kind, fence)
        if kind and (found != kind or kind in ("prose", "heading") or (after and not fence)):
            yield begin, line.start(), kind
            begin = line.start()
        kind, fence = found, after
    yield begin, len(text), kind


def _kind(line: str, before: str, fence: str) -> tuple[str, str]:
    """The kind of a line after one of the kind ``before``, and the fence of the code that goes on after it.

    Args:
        line: the line.
        before: the kind of the line before it.
        fence: what has opened the code that it stands in; only as many of the same signs, or more, close it.
    """
    words = line.strip()
    if fence:
        return "code", "" if words.startswith(fence) and not words.strip(fence[0]) else fence
    if words.startswith(FENCES):
        signs = words[: len(words) - len(words.lstrip(words[0]))]
        # A fence that is opened and closed on its line is none.
        return "code", "" if signs in words[len(signs) :] else signs
    if not words:
        # A blank line goes with what stands before it.
        return before or "prose", ""
    if words[0] == "|":
        return "table", ""
    if words[0] in "#*" and _HEADING.match(words):
        return "heading", ""
    if _ITEM.match(line.lstrip()) or (before == "list" and line[0] in " \t"):
        return "list", ""
    return "prose", ""


def _parts(text: str, start: int, stop: int, kind: str) -> Iterator[Span]:
    """The sentences of prose, the lines of anything else."""
    if kind == "prose":
        yield from sentence_spans(text, start, stop)
        return
    for line in _LINE.finditer(text, start, stop):
        if line[0]:
            yield line.span()


def _short(text: str, start: int, stop: int) -> Iterator[Span]:
    """The part whole where it fits, else cut between words, and words too long anywhere."""
    if stop - start <= MOST or count_tokens(text[start:stop]) <= MOST:
        yield start, stop
        return
    begin, size = start, 0
    for word in _WORD.finditer(text, start, stop):
        tokens = count_tokens(word[0])
        if tokens > MOST:
            step = MOST * _TOKEN_CHARACTERS if word[0].isascii() and word[0].isalnum() else MOST
            if begin < word.start():
                yield begin, word.start()
            yield from _cut(text, *word.span(), step)
            begin, size = word.end(), 0
        elif size + tokens > MOST:
            yield begin, word.start()
            begin, size = word.start(), tokens
        else:
            size += tokens
    if begin < stop:
        yield begin, stop


def _cut(text: str, start: int, stop: int, step: int) -> Iterator[Span]:
    """Pieces of so many characters at most."""
    while start < stop:
        end = min(start + step, stop)
        end = _drawn(text, end) if end < stop else end
        yield start, end
        start = end


def _drawn(text: str, place: int) -> int:
    """The place, or one shortly before it that parts no characters which are drawn as one: "é", a flag, a family."""
    for _ in range(_CLUSTER):
        if text[place - 1] != _JOINER and not _JOINED.match(text, place) and not _is_in_flag(text, place):
            break
        place -= 1
    return place


def _is_in_flag(text: str, place: int) -> bool:
    """Whether the two letters stand around a place that are drawn as a flag."""
    before = _FLAG_HALVES.search(text, max(0, place - _CLUSTER), place) if _FLAG_HALF.match(text, place) else None
    return before is not None and len(before[0]) % 2 == 1
