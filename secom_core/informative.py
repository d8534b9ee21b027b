"""The utterance that says most of what a segment is about: its words where no language model finds better ones."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from .analysis import count_tokens, sentences, terms
from .conversation import Message
from .memory import Memory
from .prompts.quoting import shortened

__all__ = ["Line", "informative_lines"]

_LONGEST: Final = 60
"""Up to how many tokens an utterance is taken as a whole."""
_QUESTION: Final = 0.5
"""What a question is worth beside a statement: it asks for what the answer tells."""
_ASKING: Final = frozenset({"user", "human"})


@dataclass(frozen=True, slots=True)
class Line:
    """Somebody's words; empty where nothing was said."""

    speaker: str
    words: str

    @property
    def text(self) -> str:
        """The words after the speaker's name, where there is one."""
        return f"{self.speaker}: {self.words}" if self.speaker and self.words else self.words


def informative_lines(memories: Sequence[Memory], *, of_main_speaker: bool = False) -> list[Line]:
    """For each segment the utterance that says most of what it is about; its best sentence where it is long.

    Args:
        memories: the segments of a session, in order.
        of_main_speaker: choose among the utterances of whoever says most in the segment, and among those of the user
            where there is one: it is the user's topic, not the assistant's.
    """
    units = [set(terms(memory.value)) for memory in memories]
    here = Counter(term for unit in units for term in unit)

    def rarity(term: str) -> float:
        return math.log1p(len(units) / (1 + here[term]))

    return [_best(memory, _told(memory, rarity, of_main_speaker), rarity) for memory in memories]


def _told(memory: Memory, rarity: Callable[[str], float], of_main_speaker: bool) -> list[Message]:
    """The messages to choose from."""
    said = [message for turn in memory.turns for message in turn.messages if message.text.strip()]
    if not of_main_speaker or not said:
        return said
    said = [message for message in said if message.role in _ASKING] or said
    told: dict[str, float] = {}
    for message in said:
        told[message.label] = told.get(message.label, 0.0) + sum(map(rarity, set(terms(message.text))))
    main = max(told, key=lambda label: told[label])
    return [message for message in said if message.label == main]


def _best(memory: Memory, said: Sequence[Message], rarity: Callable[[str], float]) -> Line:
    about = Counter(terms(memory.value))

    def worth(text: str) -> float:
        held = set(terms(text))
        told = sum(rarity(term) * (1.5 if about[term] > 1 else 1.0) for term in held)
        return told / math.sqrt(max(len(held), 4)) * (_QUESTION if text.rstrip().endswith(("?", "？")) else 1.0)

    parts = [(message, part) for message in said for part in _parts(message.text)]
    if not parts:
        return Line("", "")
    message, text = max(parts, key=lambda each: worth(each[1]))
    return Line(message.label, text)


def _parts(text: str) -> list[str]:
    whole = " ".join(text.split())
    if count_tokens(whole) <= _LONGEST:
        return [whole]
    return [shortened(" ".join(part.split()), _LONGEST) for part in sentences(text) or [whole]]
