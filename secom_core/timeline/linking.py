"""Links from a new event to what it follows from (Theanine section 2.1, Phase I; Algorithm 1)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from ..asking import all_asked_twice
from ..errors import DegradedWarning, ModelError
from ..flow import Procedure, Prompt
from ..memory import Event, Link, Relation
from ..prompts.linking import read_relation, relation_prompt

__all__ = ["Associate", "SameTopicRule", "link_by_model", "link_by_rule", "links_of"]


@dataclass(frozen=True, slots=True)
class Associate:
    """An event of the graph that is similar to a new one (``M_a``, the top ``j``).

    Args:
        event: the event.
        similarity: how similar, from 0 to 1.
        component: a number that two associates share if they are connected in the graph before the session (``G^t``).
        by_vector: whether the similarity is that of vectors, not of words.
    """

    event: Event
    similarity: float
    component: int
    by_vector: bool = False


@dataclass(frozen=True, slots=True)
class SameTopicRule:
    """The relation without a language model: `Relation.SAME_TOPIC` where two events are similar and near in time.

    It never says what caused or changed what; words and dates alone do not show that.

    Args:
        least: the similarity by words from which on two events are about the same topic.
        least_by_vector: the same for the cosine of vectors.
        within: how far apart in time they may be.
    """

    least: float = 0.12
    least_by_vector: float = 0.6
    within: timedelta = timedelta(days=180)

    def __call__(self, new: Event, associate: Associate) -> Relation | None:
        """The relation of the two, or nothing."""
        least = self.least_by_vector if associate.by_vector else self.least
        apart = abs(new.at - associate.event.at)
        return Relation.SAME_TOPIC if associate.similarity >= least and apart <= self.within else None


def links_of(new: Event, related: Sequence[tuple[Associate, Relation]]) -> list[Link]:
    """Link a new event to the most recent related event of each connected component (eq. 7 and 8; lines 7 to 9).

    Args:
        new: the event.
        related: its associates that have a relation (``M_a*``).
    """
    latest: dict[int, tuple[Event, Relation]] = {}
    for associate, relation in related:
        before = latest.get(associate.component)
        if before is None or associate.event.order > before[0].order:
            latest[associate.component] = associate.event, relation
    return [_link(event, new, relation) for event, relation in latest.values()]


def link_by_rule(new: Sequence[tuple[Event, Sequence[Associate]]], rule: SameTopicRule) -> list[Link]:
    """Link the events of a session without a language model; see `SameTopicRule`."""
    links: list[Link] = []
    for event, associates in new:
        found = [(each, rule(event, each)) for each in associates]
        links += links_of(event, [(each, relation) for each, relation in found if relation is not None])
    return links


def link_by_model(
    new: Sequence[tuple[Event, Sequence[Associate]]], *, dialogue: Callable[[Event], str], rule: SameTopicRule
) -> Procedure[list[Link]]:
    """Link the events of a session; all questions of the session are asked together (Algorithm 1).

    Events of one session are not linked to each other, as the paper compares with the graph before the session. A
    reply that names no relation is asked for once more; a pair without an answer goes by ``rule``, and one
    `DegradedWarning` names how many there were and the cause of the first. Links are only ever added.

    Args:
        new: the new events, each with its associates.
        dialogue: the conversation that an event is from, as it is to be shown.
        rule: what takes over.
    """
    pairs = [(event, each) for event, associates in new for each in associates]
    asks = [partial(_ask, event, each.event, dialogue) for event, each in pairs]
    found = yield from all_asked_twice(asks, [read_relation] * len(pairs))
    _warn([each for each in found if isinstance(each, ModelError)], len(pairs))
    related: dict[int, list[tuple[Associate, Relation]]] = {}
    for (event, associate), said in zip(pairs, found, strict=True):
        relation = rule(event, associate) if isinstance(said, ModelError) else said
        if relation is not None:
            related.setdefault(event.id, []).append((associate, relation))
    return [link for event, _ in new for link in links_of(event, related.get(event.id, ()))]


def _ask(new: Event, old: Event, dialogue: Callable[[Event], str], *, complaint: str | None) -> Prompt:
    first, second = sorted((new, old), key=lambda event: event.order)
    return relation_prompt(
        first.text, second.text, dialogue_a=dialogue(first), dialogue_b=dialogue(second), complaint=complaint
    )


def _link(old: Event, new: Event, relation: Relation) -> Link:
    first, second = sorted((new, old), key=lambda event: event.order)
    return Link(first.id, second.id, relation)


def _warn(errors: Sequence[ModelError], asked: int) -> None:
    if errors:
        warnings.warn(
            f"the language model gave no relation for {len(errors)} of {asked} pairs of events, similarity and time "
            f"decided: {errors[0]}",
            DegradedWarning,
            stacklevel=2,
        )
