"""How timelines are made."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import InvalidInput
from .linking import SameTopicRule


@dataclass(frozen=True, slots=True)
class TimelineOptions:
    """How events are linked and timelines drawn; the defaults but the temperature are Theanine's where it has one.

    Args:
        associates: with how many similar events a new one is compared (``j``).
        hits: how many events a query finds (``k``).
        per_hit: how many timelines are drawn for each (``n``).
        refined: have the language model rewrite timelines for the query, where there is one.
        share: how much of a token budget timelines may take, at most.
        same_topic: the relation where no language model gives one.
        dialogue_tokens: how much of an event's conversation is shown where its relation is asked for, and of what was
            said before a query where a timeline is rewritten for it.
        extract_tokens: how much of a session is shown where its events are asked for, and of a timeline where it is
            rewritten.
        temperature: of all replies; ``None`` leaves it at 0. The paper's is 0.75.
        recall_without_model: take part in recalls without a language model too, although they then cost more than
            they bring.
        concurrency: how many questions to the language model are in flight at once.

    Raises:
        InvalidInput: for a number out of range.
    """

    associates: int = 3
    hits: int = 3
    per_hit: int = 1
    refined: bool = True
    share: float = 0.3
    same_topic: SameTopicRule = field(default_factory=SameTopicRule)
    dialogue_tokens: int = 800
    extract_tokens: int = 8_000
    temperature: float | None = None
    recall_without_model: bool = False
    concurrency: int = 8

    def __post_init__(self) -> None:
        counts = (self.associates, self.hits, self.per_hit, self.dialogue_tokens, self.extract_tokens, self.concurrency)
        if min(counts) < 1 or not 0 < self.share <= 1:
            raise InvalidInput(f"timelines need counts of 1 or more and a share above 0 and up to 1, got {self}")
