"""A session in pieces that fit one question to a language model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from ..conversation import Turn
from ..memory import Memory
from ..text.terms import count_tokens
from .quoting import quoted, shortened

T = TypeVar("T")

MARKER_TOKENS: Final = 6  # of the "[Exchange 12]: " before each turn, and the blank line after it


def windows(turns: Sequence[Turn], max_tokens: int) -> Iterator[tuple[Turn, ...]]:
    """The turns in order, in runs of at most ``max_tokens`` estimated tokens as `window_texts` quotes them."""
    longest = max_tokens // 4
    runs = packed(turns, lambda turn: min(count_tokens(turn.text), longest) + MARKER_TOKENS, max_tokens)
    return map(tuple, runs)


def packed(items: Iterable[T], size: Callable[[T], int], limit: int) -> Iterator[list[T]]:
    """The items in order, in runs whose sizes add up to ``limit`` at most; a larger item is a run of its own."""
    run: list[T] = []
    used = 0
    for item in items:
        needed = size(item)
        if run and used + needed > limit:
            yield run
            run, used = [], 0
        run.append(item)
        used += needed
    if run:
        yield run


def window_texts(window: Sequence[Turn], max_tokens: int) -> list[str]:
    """Each turn's text, quoted; a turn of more than a quarter of ``max_tokens`` loses its middle."""
    return [shortened(quoted(turn.text), max_tokens // 4) for turn in window]


def numbered(texts: Sequence[str], days: Sequence[str] = ()) -> str:
    """The texts of turns as exchanges with their numbers, from 0; a model names them by these.

    Args:
        texts: those of the turns.
        days: the days that begin with them, as `days_of` gives them; each stands above its first exchange.
    """
    above = [f"({day})\n" if day else "" for day in days] or [""] * len(texts)
    rows = enumerate(zip(above, texts, strict=True))
    return "\n\n".join(f"{day}[Exchange {number}]: {text or '(nothing)'}" for number, (day, text) in rows)


def days_of(window: Sequence[Turn]) -> list[str]:
    """For each turn, its day in words where one begins with it, else nothing; for "yesterday" and "next week"."""
    days, day = list[str](), ""
    for turn in window:
        before, day = day, f"{turn.at:%A, %d %B %Y}" if turn.at else day
        days.append(day if day != before else "")
    return days


def dated(texts: Sequence[str], days: Sequence[str]) -> tuple[str, str]:
    """What a question says of when a conversation took place, and its exchanges as `numbered` writes them.

    Args:
        texts: those of its turns.
        days: the days that begin with them, as `days_of` gives them.
    """
    told = [day for day in days if day]
    if not told:
        return "", numbered(texts)
    is_one = told == list(days[:1])
    when = f"It took place on {told[0]}" if is_one else "Where a day begins, a line says which"
    return f" {when}; write dates out instead of saying “yesterday”.", numbered(texts, () if is_one else days)


def within(memories: Sequence[Memory], window: Sequence[Turn]) -> list[Memory]:
    """The part of each segment that the window holds."""
    ids = {turn.id for turn in window}
    parts = ((memory, tuple(turn for turn in memory.turns if turn.id in ids)) for memory in memories)
    return [replace(memory, turns=turns) for memory, turns in parts if turns]
