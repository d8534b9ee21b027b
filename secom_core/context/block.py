"""Hits, and what layers add to them, as one numbered, dated block.

The token budget of a recall is that of the whole block: quoting, dates, numbers and all.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from typing import Final

from ..conversation import Turn
from ..llm.marks import without_citations
from ..memory import GAP, Hit, Section
from ..protocols import TokenCounter
from .lines import CLOSE, OPEN, day_of, first_day, new_days, owner, quoted_lines, quoted_turn, shown_summary
from .replacing import marks_of

_BLANKS: Final = re.compile(r"\s*")
_OPEN_WRITTEN: Final = repr(OPEN)[1:-1]


def render(hits: Sequence[Hit], sections: Sequence[Section] = ()) -> str:
    """The hits as one block: a line a day, each hit after its number, ``…`` where turns between are left out.

    Within a hit too, a turn of another day than the one before it comes after a line with its day. A topic begins
    with its summary, unless its turns say the same. Sections whose entries can be cited come after the hits, each
    entry after its number, the others before them.

    What is quoted cannot close the block, and cannot pass for a number, a date line or a heading: a delimiter loses
    its bracket, as does what is shaped like a model's own mark (``<|im_start|>``, ``[INST]``), a line that begins with
    ``[3]`` gets round brackets, further lines of a message are indented, and what cannot be seen is left out
    (`secom_core.llm.marks`). Where the citations of an answer are read, `citable` is what it may see. The hits
    themselves stay verbatim.

    Args:
        hits: in the order in which they are shown, numbered.
        sections: what layers add, their numbers after those of the hits; their words are quoted already.

    Returns:
        The block; empty where there is nothing to show.
    """
    before = "".join(each.text for each in sections if not each.turn_ids)
    after = "".join(each.text for each in sections if each.turn_ids)
    body = f"{before}{''.join(_dated_hits(hits))}{after}"
    return f"{OPEN}{body}{CLOSE}" if body else ""


def citable(block: str) -> str:
    """The block for an answer whose citations are read: ``[3]`` and every other form of a citation in its words gets
    round brackets, so that an answer that repeats them cites nothing by it. What is so already stays as it is.
    """
    return without_citations(block) if block else block


def shown_with(layers: Container[str], block: str) -> str:
    """The block as a bank with these layers shows it: citable where it takes in what answers cite."""
    return citable(block) if "citations" in layers else block


def counter_with(layers: Container[str], counter: TokenCounter) -> TokenCounter:
    """What counts a block as a bank with these layers shows it."""
    return (lambda text: counter(citable(text))) if "citations" in layers else counter


def _dated_hits(hits: Sequence[Hit]) -> Iterator[str]:
    day = ""
    for hit in hits:
        first = first_day(hit)
        if first not in (day, ""):
            yield f"{first}\n"
        yield _entry(hit)
        # Its turns may end on another day than they began: a thread goes on for weeks, a topic has several sessions.
        day = next(filter(None, map(day_of, reversed(hit.turns))), "")


def _entry(hit: Hit) -> str:
    whose = owner(hit.scope) if hit.is_named else ""
    told = shown_summary(hit)
    summary = f"{quoted_lines(told)}\n" if told else ""
    return f"[{hit.number}] {whose}{summary}" + "".join(_dated(hit))


def _dated(hit: Hit) -> Iterator[str]:
    """The turns of a hit, the day before each that is of another one than the turn before it."""
    before = hit.turns[0]
    for turn, day, shown in zip(hit.turns, new_days(hit.turns), shown_turns(hit), strict=True):
        if day:
            yield f"{day}\n"
        elif turn is not before and is_gap(before, turn):
            yield f"{GAP} "
        yield shown
        before = turn


def is_gap(before: Turn, turn: Turn) -> bool:
    """Whether something was said between two turns of a hit."""
    return turn.session != before.session or turn.index > before.index + 1


def shown_turns(hit: Hit) -> list[str]:
    """What is shown of each turn of a hit, quoted; how often it was said, and what of it holds no more."""
    if not (hit.excerpts or hit.repeats or hit.replaced):
        return list(map(quoted_turn, hit.turns))
    lines = hit.lines_by_turn()
    return [
        quoted_turn(turn, lines[turn.id]) + how_often(hit.repeats.get(turn.id, 1)) + marks_of(hit, turn)
        for turn in hit.turns
    ]


def how_often(said: int) -> str:
    """The line that says how often something was said; empty where it was once."""
    return f"  (said {said} times; this is the last)\n" if said > 1 else ""


def without_recalled(text: str) -> str:
    """The text without the blocks that `render` made: what was recalled is never remembered again.

    Also where a program wrote down the object that held one, as LlamaIndex does with what a tool of MCP gives.
    """
    return _without(_without(text, OPEN), _OPEN_WRITTEN)


def _without(text: str, opening: str) -> str:
    kept, place = "", 0
    while (start := text.find(opening, place)) >= 0 and (stop := text.find(CLOSE, start)) >= 0:
        kept += text[place:start]
        after = _BLANKS.match(text, stop + len(CLOSE))
        place = after.end() if after else len(text)
    return kept + text[place:]
