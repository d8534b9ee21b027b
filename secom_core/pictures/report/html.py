"""Pieces of the page of a report: anybody's words as HTML, and links to the turns that are on the page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from importlib.resources import files
from typing import Final

from ...conversation import Turn
from ..svg import COLOURS
from ..words import clip, tame

STYLE: Final = files(__package__).joinpath("style.css").read_text(encoding="utf-8") + "\n".join(
    f".c{place} {{ background: {colour} }}\n.s{place} {{ border-left-color: {colour} }}"
    for place, colour in enumerate(COLOURS)
)

_CHARACTERS: Final = 6000
_REFERENCES: Final = 12
_LISTED: Final = 400
# What HTML cannot hold or a reader should not obey: control characters, halves of characters, and overrides of the
# writing direction, which would turn the page around them.
_UNFIT: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def line(text: str) -> str:
    """Anybody's words on one line."""
    return escape(_UNFIT.sub("\ufffd", " ".join(text.split())))


def words(text: str) -> str:
    """Anybody's words with their lines, cut where they are endless."""
    clean = _UNFIT.sub("\ufffd", text.replace("\r\n", "\n"))
    if len(clean) <= _CHARACTERS:
        return escape(clean)
    return f"{escape(clean[:_CHARACTERS])}<em> … {len(clean) - _CHARACTERS:,} more characters are not shown</em>"


def counted(number: int, what: str) -> str:
    """``1 turn``, ``2 turns``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def note(text: str) -> str:
    """A remark of the page's own."""
    return f'<p class="note">{text}</p>'


def when(at: datetime | None, *, clock: bool = True) -> str:
    """A moment, without the time of day where there is none."""
    if at is None:
        return ""
    moment = at.strftime("%Y-%m-%d %H:%M") if clock and (at.hour or at.minute) else at.strftime("%Y-%m-%d")
    return f"<time>{moment}</time>"


@dataclass(frozen=True)
class Page:
    """The page that a section stands on.

    Args:
        turns: every turn of the scope, by its id.
        numbers: the numbers under which turns stand on the page; of those that are left out there is none.
        marks: what is said beside turns, by their ids, such as that they were corrected.
    """

    turns: Mapping[str, Turn] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    marks: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def references(self, turn_ids: Sequence[str]) -> str:
        """The turns that something rests on, by their ids, as links to those that are on the page."""
        rows = [self._reference(id_) for id_ in turn_ids[:_REFERENCES]]
        if len(turn_ids) > _REFERENCES:
            rows.append(f"<li>and {counted(len(turn_ids) - _REFERENCES, 'more turn')}</li>")
        return f'<ul class="rests">{"".join(rows)}</ul>'

    def _reference(self, turn_id: str) -> str:
        turn = self.turns.get(turn_id)
        if turn is None:
            return "<li>a turn that is gone</li>"
        text = f'{when(turn.at)} <span dir="auto">{line(clip(tame(turn.text), 110))}</span>'
        number = self.numbers.get(turn_id)
        return f'<li><a href="#t{number}">{text}</a></li>' if number else f"<li>{text}</li>"

    def listed(self, lines: Sequence[str]) -> str:
        """Lines of text as a list, the latest."""
        rows = "".join(f'<li dir="auto">{words(each)}</li>' for each in lines[-_LISTED:])
        more = note(f"{counted(len(lines) - _LISTED, 'earlier line')} left out.") if len(lines) > _LISTED else ""
        return f"<ul>{rows}</ul>{more}" if rows else note("Nothing is kept.")
