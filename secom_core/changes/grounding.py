"""What a language model says of two lines, checked against their words; what they do not bear out is left out."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..text.speech import asks
from ..text.terms import latin_language_of, sentence_spans, terms
from .asking import Told
from .records import KINDS, UNRELATED
from .showing import Line
from .statements import speaks_of_speaker, statements_of

_LONGEST: Final = 120
"""How many characters a value has at most."""
_NAMES_BOTH: Final = frozenset({"changed", "corrected"})
"""The kinds of which both lines name a value, and not the same."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Grounded:
    """What a model says of two lines, as far as they bear it out.

    Args:
        older: the earlier line.
        newer: the later one.
        older_span: the sentence of the earlier one that says it, in characters.
        newer_span: that of the later one.
        kind: what became of it.
        words: what else is kept with it, in words of the two; by the names of `Change`.
    """

    older: Line
    newer: Line
    older_span: Span
    newer_span: Span
    kind: str
    words: Mapping[str, Any]


def grounded(
    told: Sequence[Told], lines: Sequence[Line], first: int, linked: Sequence[tuple[int, int]]
) -> list[Grounded]:
    """The records that the lines bear out, in order; of two about the same pair of turns the first.

    Both lines are there, the later one is new, and was said after the earlier one, in another turn, by the same person,
    or by another one about neither of the two; neither is about somebody else. It asks nothing. The old value stands in
    the earlier one, and the new value in the later one; where it has changed or was corrected, they are not the same.
    The two sentences share a word, with those beside them. That a pair is unrelated is taken in only of one that the
    rules have linked.

    Args:
        told: what the model said.
        lines: those that it was shown, numbered from 1.
        first: how many of them are earlier ones.
        linked: the numbers of a later and an earlier line that the rules have linked.
    """
    found: dict[tuple[Any, ...], Grounded] = {}
    for each in told:
        if not (first < each.new <= len(lines) and 1 <= each.old < each.new):
            continue
        older = _that_says(each.old_value, lines[each.old - 1], lines[: each.new - 1])
        newer = _that_says(each.new_value, lines[each.new - 1], lines[first:])
        pair = (older.session_id, older.turn, newer.session_id, newer.turn)
        record = _grounded(each, older, newer, is_linked=(each.new, each.old) in linked)
        if record is not None:
            found.setdefault(pair, record)
    return list(found.values())


def _that_says(value: str, named: Line, lines: Sequence[Line]) -> Line:
    """The line that is named; where it does not have the value and one other line alone has, that one.

    Small models copy the words rightly, and then write the number of the line beside.
    """
    if not _folded(value) or _saying(named.text, value, set()) is not None:
        return named
    others = [line for line in lines if _saying(line.text, value, set()) is not None]
    return others[0] if len(others) == 1 else named


def _grounded(told: Told, older: Line, newer: Line, *, is_linked: bool) -> Grounded | None:
    if (older.session_id, older.turn) == (newer.session_id, newer.turn) or not _comes_after(newer, older):
        return None
    if told.kind == UNRELATED:
        whole = (0, len(older.text)), (0, len(newer.text))
        return Grounded(older, newer, *whole, UNRELATED, _words(told, older, newer)) if is_linked else None
    if told.kind not in KINDS:
        return None
    hints = {*terms(told.about), *terms(told.old_value), *terms(told.new_value)}
    old = _saying(older.text, told.old_value, hints)
    new = _saying(newer.text, told.new_value, hints) if told.new_value else _nearest(newer.text, hints)
    if told.kind in _NAMES_BOTH and (not told.new_value or _folded(told.old_value) == _folded(told.new_value)):
        return None
    if old is None or new is None or asks(newer.text[slice(*new)]):
        return None
    if not _share_a_word(older.text, old, newer.text, new):
        return None
    is_own = _are_of_one(older, old, newer, new)
    return Grounded(older, newer, old, new, told.kind, _words(told, older, newer)) if is_own else None


def _share_a_word(older: str, old: Span, newer: str, new: Span) -> bool:
    """Whether two sentences have a word in common, with those beside them."""
    return not set(terms(_with_neighbours(older, old))).isdisjoint(terms(_with_neighbours(newer, new)))


def _with_neighbours(text: str, span: Span) -> str:
    spans = sentence_spans(text)
    place = spans.index(span)
    near = spans[max(place - 1, 0) : place + 2]
    return text[near[0][0] : near[-1][1]]


def _are_of_one(older: Line, old: Span, newer: Line, new: Span) -> bool:
    """Whether two sentences may be of one person: nobody speaks of oneself and is followed by another.

    Nor does one speak of, say, "my sister", and the other of oneself or of "my cousin".
    """
    both = (older.text[slice(*old)], newer.text[slice(*new)])
    if older.who != newer.who and any(map(speaks_of_speaker, both)):
        return False
    of, after = ({each.owner for each in statements_of(text)} for text in both)
    if not of or not after or of & after:
        return True
    # "She moved" goes on about a sister.
    return after == {""} and not speaks_of_speaker(both[1])


def _comes_after(newer: Line, older: Line) -> bool:
    if newer.at is None or older.at is None:
        return True
    return newer.at >= older.at


def _saying(text: str, value: str, hints: set[str]) -> Span | None:
    """The sentence that has a value's words, of several the one that has most of the other words; none where none."""
    folded, wanted = _folded(value), _terms_of(value, text)
    if not folded or len(value) > _LONGEST:
        return None
    spans = [(start, stop) for start, stop in sentence_spans(text) if _holds(text[start:stop], folded, wanted, text)]
    return max(spans, key=lambda span: len(hints.intersection(terms(text[slice(*span)]))), default=None)


def _holds(sentence: str, folded: str, wanted: set[str], text: str) -> bool:
    """Whether a sentence of a text has the words of a value: as they are, or each of them in some form."""
    return folded in _folded(sentence) or (bool(wanted) and wanted.issubset(_terms_of(sentence, text)))


def _terms_of(words: str, text: str) -> set[str]:
    """The terms of words in the language of a text."""
    return set(terms(words, language=latin_language_of(text)))


def _nearest(text: str, hints: set[str]) -> Span | None:
    """The sentence that has most of some words."""
    return max(sentence_spans(text), key=lambda span: len(hints.intersection(terms(text[slice(*span)]))), default=None)


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(" .,;:!?\"'“”„«»。，、")


def _words(told: Told, older: Line, newer: Line) -> Mapping[str, str]:
    """What is kept beside the kind: nothing that the two lines do not say, so that it is forgotten with them."""
    words = {
        "attribute": told.about,
        "old_value": told.old_value,
        "new_value": told.new_value,
        "valid_from": told.valid_from,
        "valid_until": told.valid_until,
    }
    return {
        name: value if _is_said(value, _where(name, older.text, newer.text)) else "" for name, value in words.items()
    }


def said_by_both(words: Mapping[str, str], older: str, newer: str) -> bool:
    """Whether two messages say what is kept of them, by the names of `Change`; what is empty says nothing."""
    return all(not value or _is_said(value, _where(name, older, newer)) for name, value in words.items())


def _where(name: str, older: str, newer: str) -> str:
    """The text that is to hold what is kept under a name."""
    return {"attribute": f"{older}\n{newer}", "old_value": older}.get(name, newer)


def _is_said(value: str, text: str) -> bool:
    return (
        bool(_folded(value)) and len(value) <= _LONGEST and _holds(text, _folded(value), _terms_of(value, text), text)
    )
