"""Events from a closed session (Theanine section 2.1): by a language model, or its segments as they are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import Final

from ..asking import all_asked_twice
from ..conversation import Turn
from ..errors import DegradedWarning, ModelError, ModelUnavailable
from ..flow import Procedure, Prompt
from ..informative import informative_lines
from ..memory import Memory
from ..prompts.events import events_prompt, read_events
from ..windows import day_of, shown, windows, within

__all__ = ["Draft", "Extraction", "extract", "segment_events"]

_UNDATED: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Draft:
    """An event that has no id yet.

    Args:
        text: what happened.
        turns: the turns that it rests on, in order; never none.
    """

    text: str
    turns: tuple[Turn, ...]

    @property
    def at(self) -> datetime:
        """When its first turn was said."""
        return self.turns[0].at or _UNDATED


@dataclass(frozen=True, slots=True)
class Extraction:
    """The events of a session, and whether a language model answered at all."""

    drafts: tuple[Draft, ...]
    answered: bool


def extract(
    turns: Sequence[Turn],
    memories: Sequence[Memory],
    *,
    max_tokens: int = 8_000,
) -> Procedure[Extraction]:
    """Ask for the events of a session, all its windows together.

    A reply is repaired where it has one reading only; a bad one is asked for once more. A window for which there is
    none gets its segments for events, and a `DegradedWarning` names the cause.

    Args:
        turns: the session's turns, in order.
        memories: its segments, which take over.
        max_tokens: the most tokens of conversation in one question, estimated.
    """
    parts = list(windows(turns, max_tokens))
    asks = [partial(_ask, part, max_tokens) for part in parts]
    found = yield from all_asked_twice(asks, [partial(read_events, count=len(part)) for part in parts])
    drafts: list[Draft] = []
    for window, events in zip(parts, found, strict=True):
        if isinstance(events, ModelError):
            _degraded(window, events)
            drafts += segment_events(within(memories, window))
        else:
            drafts += [Draft(text, tuple(window[number] for number in numbers)) for text, numbers in events]
    answered = not any(isinstance(events, ModelUnavailable) for events in found)
    return Extraction(tuple(_ordered(drafts, turns)), answered)


def segment_events(memories: Sequence[Memory]) -> list[Draft]:
    """Each segment as an event: its most informative sentence, as it was said, with all its turns.

    Args:
        memories: the segments of a session, in order.
    """
    chosen = zip(informative_lines(memories), memories, strict=True)
    return [Draft(line.text, memory.turns) for line, memory in chosen if line.text]


def _ask(window: Sequence[Turn], max_tokens: int, *, complaint: str | None) -> Prompt:
    speaker = next((name for turn in window for name in turn.speakers), "Ann")
    return events_prompt(shown(window, max_tokens), speaker=speaker, date=day_of(window), complaint=complaint)


def _ordered(drafts: Sequence[Draft], turns: Sequence[Turn]) -> list[Draft]:
    """By the first turn, then as they came; what two windows say in the same words is kept apart by its turns."""
    place = {turn.id: number for number, turn in enumerate(turns)}
    return sorted(drafts, key=lambda draft: place[draft.turns[0].id])


def _degraded(window: Sequence[Turn], error: ModelError) -> None:
    warnings.warn(
        f"the language model found no events in {len(window)} turns, their segments are the events: {error}",
        DegradedWarning,
        stacklevel=2,
    )
