"""A session in pieces that fit one question to a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from .analysis import count_tokens
from .conversation import Turn
from .memory import Memory
from .prompts.quoting import quoted, shortened

__all__ = ["day_of", "shown", "windows", "within"]

_MARKER_TOKENS: Final = 6


def windows(turns: Sequence[Turn], max_tokens: int) -> Iterator[tuple[Turn, ...]]:
    """The turns in order, in runs of at most ``max_tokens`` estimated tokens as `shown` shows them."""
    window: list[Turn] = []
    used = 0
    for turn in turns:
        size = min(count_tokens(turn.text), max_tokens // 4) + _MARKER_TOKENS
        if window and used + size > max_tokens:
            yield tuple(window)
            window, used = [], 0
        window.append(turn)
        used += size
    if window:
        yield tuple(window)


def shown(window: Sequence[Turn], max_tokens: int) -> list[str]:
    """Each turn's text, quoted; a very long one without its middle."""
    return [shortened(quoted(turn.text), max_tokens // 4) for turn in window]


def day_of(window: Sequence[Turn]) -> str:
    """The day of the first turn in words, for "yesterday" and "next week"; empty where it has no time."""
    at = window[0].at
    return f"{at:%A, %d %B %Y}" if at else ""


def within(memories: Sequence[Memory], window: Sequence[Turn]) -> list[Memory]:
    """The part of each segment that the window holds."""
    held = {turn.id for turn in window}
    parts = ((memory, tuple(turn for turn in memory.turns if turn.id in held)) for memory in memories)
    return [replace(memory, turns=turns) for memory, turns in parts if turns]
