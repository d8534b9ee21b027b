"""What a memory is here, and what several of them share: searching entries, and filling a budget with whole ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

import numpy as np

from secom_core.conversation import Session, Turn
from secom_core.indexes import BM25
from secom_core.llm.flow import Procedure
from secom_core.llm.prompt_texts import PromptTexts
from secom_core.llm.quoting import quoted
from secom_core.llm.records import blocks_of
from secom_core.protocols import Embedder, TokenCounter
from secom_core.text.terms import count_tokens

T = TypeVar("T")
TEXTS = PromptTexts(__package__, "prompts.txt")


@dataclass(frozen=True)
class Block:
    """What a memory puts before a question.

    Args:
        text: the block; empty where the memory has nothing to say.
        turns: the ids of the turns that are shown word for word, best first.
    """

    text: str = ""
    turns: tuple[str, ...] = ()


class Memory(Protocol):
    """A memory of one conversation. Both methods are procedures (`secom_core.llm.flow`): they yield what they ask."""

    def add(self, session: Session) -> Procedure[None]:
        """Take in a session that has ended."""

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        """What to show before ``query``, in at most ``budget`` tokens; ``now`` is when it is asked, where known."""


@dataclass(frozen=True)
class Tools:
    """What memories are built with.

    Args:
        counter: counts tokens.
        embedder: for the memories that search by vectors; without one, they search by words.
    """

    counter: TokenCounter = count_tokens
    embedder: Embedder | None = None


def settled(value: T) -> Procedure[T]:
    """A procedure that asks nothing: the answer is known."""
    yield from ()
    return value


@dataclass(frozen=True)
class Entry:
    """One unit of a memory.

    Args:
        text: what is shown.
        key: what is searched; the text unless given.
        at: when it was said.
        turns: the ids of the turns that ``text`` shows word for word.
    """

    text: str
    key: str = ""
    at: datetime | None = None
    turns: tuple[str, ...] = ()


def turn_entry(turn: Turn) -> Entry:
    return Entry(turn.text, at=turn.at, turns=(turn.id,))


class Shelf:
    """Entries, and how like a query each is: the cosine where there is an embedder, else BM25."""

    def __init__(self, embedder: Embedder | None, entries: Iterable[Entry] = ()) -> None:
        self.entries: list[Entry] = []
        self._embedder = embedder
        self._words = BM25()
        self.add(entries)

    def add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._words.add([len(self.entries)], [entry.key or entry.text])
            self.entries.append(entry)

    def likeness(self, query: str) -> list[float]:
        """One number an entry, in order."""
        if not self.entries:
            return []
        if self._embedder is not None:
            # The embedder remembers what it has embedded.
            vectors = self._embedder.embed([entry.key or entry.text for entry in self.entries])
            return [float(each) for each in vectors @ self._embedder.embed([query])[0]]
        scores = np.zeros(len(self.entries))
        ids, found = self._words.scores(query)
        scores[np.asarray(ids, dtype=int)] = found
        return [float(each) for each in scores]

    def ranked(self, query: str) -> list[Entry]:
        """The entries, best first; what is as like as another, in order."""
        return by_score(self.entries, self.likeness(query))


def by_score(entries: Sequence[Entry], scores: Sequence[float]) -> list[Entry]:
    """The entries, best first."""
    order = sorted(range(len(entries)), key=lambda place: -scores[place])
    return [entries[place] for place in order]


def filled(ranked: Iterable[Entry], budget: int, counter: TokenCounter) -> Block:
    """Whole entries, best first, while they fit: one that does not fit is passed over."""
    kept: list[Entry] = []
    for entry in dict.fromkeys(ranked):
        tokens = counter(entry.text + "\n\n")
        if tokens <= budget:
            kept.append(entry)
            budget -= tokens
    return Block("\n\n".join(entry.text for entry in kept), tuple(turn for entry in kept for turn in entry.turns))


def said(session: Session) -> str:
    """A session as it stands in a prompt."""
    return quoted("\n".join(turn.text for turn in session.turns))


def answer_in(reply: str, tag: str) -> str:
    """What stands between the tags of a reply; the whole reply where there are none. Empty where it says none."""
    found = blocks_of(reply, tag)[0].strip()
    return "" if found.rstrip(".").lower() == "none" else found


def lines_in(reply: str, tag: str) -> list[str]:
    """The lines between the tags of a reply, without the marks of a list."""
    return [line.lstrip("-*• ").strip() for line in answer_in(reply, tag).splitlines() if line.strip()]
