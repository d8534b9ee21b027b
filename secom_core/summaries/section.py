"""The running summary as a section of a block, and as a block of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..context.block import render
from ..context.lines import quoted_lines
from ..derived.coverage import covering
from ..memory import Section
from ..protocols import TokenCounter
from .records import Summary
from .store import LAYER

_HEADING: Final = "Summary of the earlier sessions:"


def summary_section(
    sentences: Sequence[str], token_budget: int | None, counter: TokenCounter, *, version: Summary | None = None
) -> Section | None:
    """The sentences that fit, those that cover most where not all do; nothing where none fits.

    Args:
        sentences: of the summary, in order.
        token_budget: how long the section may be; all are shown unless given.
        counter: what the budget is counted with.
        version: the version of the summary that they are of.
    """
    chosen = list(sentences)
    while token_budget is not None and chosen and (size := counter(_section(chosen, version).text)) > token_budget:
        most = min(len(chosen) - 1, len(chosen) * token_budget // size)
        chosen = [sentences[place] for place in covering(sentences, most)]
    return _section(chosen, version) if chosen else None


def summary_block(sentences: Sequence[str], token_budget: int | None, counter: TokenCounter) -> str:
    """The sentences that fit as a block of their own, as `summary_section` chooses them; empty where none fits."""
    smallest = _section(["x"])
    frame = counter(render((), [smallest])) - counter(smallest.text)
    section = summary_section(sentences, token_budget - frame if token_budget is not None else None, counter)
    return render((), [section]) if section is not None else ""


def _section(sentences: Sequence[str], version: Summary | None = None) -> Section:
    return Section(LAYER, _HEADING, tuple(f"- {quoted_lines(each)}\n" for each in sentences), (version,))
