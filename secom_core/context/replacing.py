"""What holds no more, as the block says so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any, Final, get_args

from ..conversation import Replacement, ReplacementKind, Turn
from ..memory import CUT, Hit, Passage, Section
from ..ranking import Candidate
from ..ranking.cores import leads
from ..text.parts import line_spans
from .lines import escaped, new_days

IN_THE_PROMPT: Final = "corrections"
"""The name of the section that says what holds no more of what the prompt shows already."""
_HEADING: Final = "Shown elsewhere in this prompt, but no longer so:"
_KINDS: Final = get_args(ReplacementKind)
_LONG: Final = 120
"""How many characters of a statement are quoted there."""


def marked(replacement: Replacement, words: str = "") -> str:
    """The line under a turn that holds no more, such as ``→ (replaced on 2025-06-01 by [4])``.

    It begins as no quoted line does (`secom_core.context.lines`), so that nobody's words can pass for it. Where
    what took its place on that day was itself replaced, it ends with ``; now [4]``.

    Args:
        replacement: what is said of the turn.
        words: those of the turn that it is about, of which a long part is cut; all of the turn unless given.
    """
    what = f'"{escaped(_shortened(words))}" ' if words else ""
    done = {"retracted": "retracted", "ended": "no longer so"}.get(replacement.kind, "replaced")
    since = "since" if replacement.kind == "ended" else "on"
    by = f"{'; now' if replacement.first else ' by'} [{replacement.number}]" if replacement.number else ""
    return f"→ ({what}{done} {since} {replacement.at:%Y-%m-%d}{by})\n"


def marks_of(hit: Hit, turn: Turn) -> str:
    """The lines under a turn of a hit: what of it holds no more."""
    return "".join(marked(each, words_of(turn, each)) for each in hit.replaced.get(turn.id, ()))


def text_with_marks(hit: Hit) -> str:
    """The hit's text, each turn of it that holds no more with its marks below, for what shows hits by themselves.

    A turn of another day than the one before it comes after a line with its day, as in a block. As no block gives
    numbers there, a mark says since when, and not what holds in its place.
    """
    lines = hit.lines_by_turn()
    marks = {turn_id: tuple(replace(each, number=0) for each in found) for turn_id, found in hit.replaced.items()}
    alone = replace(hit, replaced=marks)
    return "\n".join(
        line
        for turn, day in zip(hit.turns, new_days(hit.turns), strict=True)
        for line in [*([day] if day else []), *lines[turn.id], *marks_of(alone, turn).splitlines()]
    )


def replacements_json(hit: Hit) -> list[dict[str, str | None]]:
    """What holds no more of the hit's turns, as JSON holds it.

    Returns:
        For each: ``turn_id``, ``kind``, ``at`` in ISO 8601, the id of the ``newer`` turn where there is one, and the
        ``words`` that are meant, empty where it is all of the turn; and the id of the turn that was ``first`` to take
        its place, where a later one has taken the place of that.
    """
    return [
        {
            "turn_id": turn.id,
            "kind": each.kind,
            "at": each.at.isoformat(),
            "newer": each.newer,
            "words": words_of(turn, each),
            **({"first": each.first} if each.first else {}),
        }
        for turn in hit.turns
        for each in hit.replaced.get(turn.id, ())
    ]


def replacements_of_json(turn: Turn, known: Iterable[Mapping[str, Any]]) -> Iterator[Replacement]:
    """What holds no more of a turn, of what `replacements_json` gave; what is of other turns or no such record is not.

    Args:
        turn: as it is stored.
        known: the records.
    """
    for each in known:
        kind: ReplacementKind | None = next((kind for kind in _KINDS if kind == each.get("kind")), None)
        newer, words, first = (each.get(name) for name in ("newer", "words", "first"))
        if each.get("turn_id") == turn.id and kind is not None and isinstance(words, str):
            with suppress(ValueError):
                at, span = datetime.fromisoformat(str(each.get("at"))), _span(turn, words)
                yield Replacement(turn.id, newer, at, kind, span, first=first)


def _span(turn: Turn, words: str) -> tuple[int, int, int] | None:
    """Where a turn says these words; nothing for no words, which mean all of it."""
    places = ((place, message.text.find(words)) for place, message in enumerate(turn.messages))
    return next(((place, start, start + len(words)) for place, start in places if words and start >= 0), None)


def words_of(turn: Turn, replacement: Replacement) -> str:
    """The words of a turn that a replacement is about; empty where it is about all of it."""
    if replacement.span is None:
        return ""
    place, start, stop = replacement.span
    return turn.messages[place].text[start:stop] if place < len(turn.messages) else ""


def quotable(turn: Turn, replacement: Replacement) -> str:
    """The words of a turn that a replacement is about, or how the turn begins; a long one is cut."""
    return _shortened(words_of(turn, replacement) or turn.messages[0].text)


def _shortened(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= _LONG else f"{words[:_LONG].rsplit(' ', 1)[0]} {CUT}"


def in_the_prompt(known: Sequence[tuple[Replacement, str]], hits: Sequence[Hit] | None) -> Section:
    """The part of the block that says what holds no more of what the prompt shows already, which is in no hit.

    Args:
        known: what holds no more, with its words; the ``items`` of a section that this gave.
        hits: what is shown, with its numbers; nothing where that is not known yet, and may have two digits.
    """
    numbers = {turn.id: hit.number for hit in hits or () for turn in hit.turns}
    items = [
        (replace(each, number=99 if hits is None and each.newer else numbers.get(each.newer or "", 0)), words)
        for each, words in known
    ]
    return Section(IN_THE_PROMPT, _HEADING, tuple(marked(*each) for each in items), tuple(items))


def replacements_of(candidate: Candidate) -> tuple[Replacement, ...]:
    """What holds no more of what a candidate shows."""
    if not candidate.replaced:
        return ()
    found, shown = candidate.replaced.get(candidate.turn.id, ()), candidate.passage
    return tuple(each for each in found if shown is None or each.touches(shown.place, shown.start, shown.stop))


def holding(passage: Passage, gone: Sequence[Replacement]) -> list[Passage]:
    """What of a passage still holds: the sentences of which all does, those that stand together as one.

    A greeting that is left tells nothing, and is none; nor is a reply of which nothing stands that it replies to.

    Args:
        passage: a passage.
        gone: what holds no more of its turn.
    """

    def holds(span: tuple[int, int]) -> bool:
        return not any(each.touches(passage.place, *span) for each in gone)

    if gone and _is_reply_to_none(passage, gone):
        return []
    if all(each.span is not None for each in gone) and holds((passage.start, passage.stop)):
        return [passage]
    spans = line_spans(passage.message.text, passage.start, passage.stop)
    runs = [list(run) for does_hold, run in groupby(spans, holds) if does_hold]
    left = [replace(passage, start=run[0][0], stop=run[-1][1]) for run in runs]
    return [each for each in left if any(map(str.isalnum, each.text)) and not leads(each.text)]


def _is_reply_to_none(passage: Passage, gone: Sequence[Replacement]) -> bool:
    """Whether a passage is of a reply, and nothing is left of what was said before it in its turn."""
    messages = passage.turn.messages
    role = messages[0].role
    if passage.message.role == role:
        return False
    said = [
        Passage(passage.turn, place, 0, len(message.text))
        for place, message in enumerate(messages[: passage.place])
        if message.role == role
    ]
    is_touched = any(each.touches(one.place, one.start, one.stop) for each in gone for one in said)
    return is_touched and not any(holding(one, gone) for one in said)


def replaced_of(
    turns: Sequence[Turn], replaced: Mapping[str, tuple[Replacement, ...]]
) -> dict[str, tuple[Replacement, ...]]:
    """What holds no more of these turns."""
    return {turn.id: replaced[turn.id] for turn in turns if turn.id in replaced} if replaced else {}


def with_numbers(hits: list[Hit]) -> list[Hit]:
    """The hits, each replacement with the number of the hit that shows what holds in its place, where it is another."""
    if not any(hit.replaced for hit in hits):
        return hits
    numbers = {turn.id: hit.number for hit in hits for turn in hit.turns}
    return [replace(hit, replaced=dict(_numbered(hit, numbers))) for hit in hits]


def _numbered(hit: Hit, numbers: Mapping[str, int]) -> Iterator[tuple[str, tuple[Replacement, ...]]]:
    others = {turn_id: number for turn_id, number in numbers.items() if number != hit.number}
    for turn_id, found in hit.replaced.items():
        yield turn_id, tuple(replace(each, number=others.get(each.newer or "", 0)) for each in found)
