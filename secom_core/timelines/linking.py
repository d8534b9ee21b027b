"""Links from a new event to what it follows from (Theanine section 2.1, Phase I; Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from typing import Final

from ..conversation import Turn
from ..errors import ContextTooLong, ModelError, ModelUnavailable, warn_degraded
from ..layers import ClosedSession
from ..llm.flow import Procedure, Prompt
from ..llm.quoting import shortened
from ..llm.retry import all_asked_twice
from ..stores.sql import SqlStore
from ..text.terms import count_tokens
from .linking_prompt import read_relation, relation_prompt
from .records import Event, Link, Relation

_LEAST: Final = 100  # how many tokens of an event's conversation are shown, at least


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
class Linked:
    """The links of a session's events, and whether the language model answered about all of them."""

    links: list[Link]
    answered: bool


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


def links_of(new: Event, related: Iterable[tuple[Associate, Relation | None]]) -> list[Link]:
    """Link a new event to the most recent related event of each connected component (eq. 7 and 8; lines 7 to 9).

    Args:
        new: the event.
        related: its associates, each with its relation; those that have one are ``M_a*``.
    """
    latest: dict[int, tuple[Event, Relation]] = {}
    for associate, relation in sorted(related, key=lambda each: each[0].event.order):
        if relation is not None:
            latest[associate.component] = associate.event, relation
    return [_link(event, new, relation) for event, relation in latest.values()]


def link_by_rule(new: Sequence[tuple[Event, Sequence[Associate]]], rule: SameTopicRule) -> list[Link]:
    """Link the events of a session without a language model; see `SameTopicRule`."""
    related = [(event, [(each, rule(event, each)) for each in associates]) for event, associates in new]
    return [link for event, each in related for link in links_of(event, each)]


def link_by_model(
    new: Sequence[tuple[Event, Sequence[Associate]]],
    *,
    dialogue: Callable[[Event, int], str],
    rule: SameTopicRule,
    tokens: int = 800,
) -> Procedure[Linked]:
    """Link the events of a session; all questions of the session are asked together (Algorithm 1).

    Events of one session are not linked to each other, as the paper compares with the graph before the session. A
    reply that names no relation is asked for once more, and what is too long for the model with half of the
    conversations; a pair without an answer goes by ``rule``, and one `DegradedWarning` names how many there were and
    the cause of the first. Links are only ever added.

    Args:
        new: the new events, each with its associates.
        dialogue: the conversation that an event is from, as it is to be shown in so many tokens.
        rule: what takes over.
        tokens: how many these are.
    """
    pairs = [(event, each) for event, associates in new for each in associates]
    found: list[Relation | ModelError | None] = [None] * len(pairs)
    places = list(range(len(pairs)))
    while places:
        asks = [partial(_ask, pairs[place][0], pairs[place][1].event, dialogue, tokens) for place in places]
        for place, answer in zip(places, (yield from all_asked_twice(asks, [read_relation] * len(asks))), strict=True):
            found[place] = answer
        places = [place for place in places if isinstance(found[place], ContextTooLong)] if tokens > _LEAST else []
        tokens //= 2
    errors = [each for each in found if isinstance(each, ModelError)]
    if errors:
        failed = f"{len(errors)} of {len(pairs)} pairs of events"
        warn_degraded(f"the language model gave no relation for {failed}, similarity and time decided", errors[0])
    related: dict[int, list[tuple[Associate, Relation | None]]] = {event.id: [] for event, _ in new}
    for (event, associate), answer in zip(pairs, found, strict=True):
        relation = rule(event, associate) if isinstance(answer, ModelError) else answer
        related[event.id].append((associate, relation))
    links = [link for event, _ in new for link in links_of(event, related[event.id])]
    return Linked(links, not any(isinstance(each, ModelUnavailable) for each in errors))


def _ask(
    new: Event, old: Event, dialogue: Callable[[Event, int], str], tokens: int, *, complaint: str | None
) -> Prompt:
    first, second = sorted((new, old), key=lambda event: event.order)
    said = {"dialogue_a": dialogue(first, tokens), "dialogue_b": dialogue(second, tokens)}
    return relation_prompt(first.text, second.text, **said, complaint=complaint)


def _link(old: Event, new: Event, relation: Relation) -> Link:
    first, second = sorted((new, old), key=lambda event: event.order)
    return Link(first.id, second.id, relation)


# -- the conversation that an event is from ----------------------------------------------------------------------------


def dialogues(store: SqlStore, session: ClosedSession) -> Callable[[Event, int], str]:
    """What gives an event's conversation: its turns with as many around them as there is room for.

    Args:
        store: where the turns of other sessions are.
        session: a session that is at hand.
    """

    @cache
    def turns_of(name: str) -> Sequence[Turn]:
        row = store.session_named(session.scope, name)
        return store.turns(row) if row is not None else ()

    def dialogue(event: Event, tokens: int) -> str:
        turns = session.turns if event.session == session.row.name else turns_of(event.session)
        resting = [place for place, turn in enumerate(turns) if turn.id in event.turn_ids]
        return "\n".join(_around(turns, resting, tokens)) if resting else event.text

    return dialogue


def _around(turns: Sequence[Turn], resting: Sequence[int], tokens: int) -> list[str]:
    """The turns in order, nearest to those that the event rests on first, until the tokens are spent."""
    nearest = sorted(range(len(turns)), key=lambda place: (min(abs(place - each) for each in resting), place))
    texts: dict[int, str] = {}
    most = tokens // 2
    for place in nearest:
        text = shortened(turns[place].text, most)
        tokens -= count_tokens(text)
        if texts and tokens < 0:
            break
        texts[place] = text
    return [texts[place] for place in sorted(texts)]
