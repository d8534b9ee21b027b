"""Forgetting what was said more than once: a block shows it once, with the id of the last turn that says it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from ..conversation import NOTE, Scope, Turn
from ..ranking.repeats import ALONE, said
from ..ranking.speaking import NOTED, SAID_BY_USER
from .bank import MemoryBank

_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Gone:
    """What was forgotten.

    Args:
        turns: how many of the turns that were named.
        notes: how many others, which noted the same.
        left: the ids of turns in which the user said the same; they are still remembered.
    """

    turns: int
    notes: int
    left: tuple[str, ...]

    @property
    def more(self) -> str:
        """What a model has to know beside the number, in sentences that begin with a space; empty where nothing."""
        notes = f" With it went {self.notes} more that noted the same." if self.notes else ""
        if not self.left:
            return notes
        others = f" and {len(self.left) - _NAMED} more" if len(self.left) > _NAMED else ""
        named = ", ".join(self.left[:_NAMED]) + others
        return f"{notes} The user said the same in {named}, still remembered: forget that too if it is to be gone."


def forget_said(bank: MemoryBank, scope: Scope, turn_ids: Sequence[str]) -> Gone:
    """Forget turns, and of what a tool has noted every other note in the same words.

    A turn in which the user says the same holds more, such as the answer to it, and stays; it is named.

    Args:
        bank: where they are.
        scope: whose they are.
        turn_ids: which ones.

    Raises:
        StoreError: the store failed.
    """
    named = bank.turns(scope, turn_ids=turn_ids)
    same = _that_say(bank, scope, {_words(turn) for turn in named} - {ALONE}, {turn.id for turn in named})
    notes = [turn.id for turn in same if _is_note(turn)]
    gone = bank.forget(scope, turn_ids=[*turn_ids, *notes])
    return Gone(gone - len(notes), len(notes), tuple(turn.id for turn in same if not _is_note(turn)))


def _that_say(bank: MemoryBank, scope: Scope, words: Collection[int], known: Collection[str]) -> list[Turn]:
    inside = bank._inside
    turns = inside.recalling.saying(inside.current(scope), words) if words else []
    return [turn for turn in turns if _words(turn) in words and turn.id not in known]


def _words(turn: Turn) -> int:
    """A number that is the same for turns that begin with the same words of the same kind of speaker."""
    first = turn.messages[0]
    return said(first.text, NOTED if _is_note(turn) else SAID_BY_USER if first.role == "user" else 0)


def _is_note(turn: Turn) -> bool:
    [first, *rest] = turn.messages
    return first.role == "" and first.speaker == NOTE and not rest
