"""A summary of sentences that were said, where there is no language model, or it failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from ..conversation import Message, Turn
from ..derived.coverage import covering
from ..protocols import Statistics, TokenCounter
from ..text.speech import asks
from ..text.terms import sentences
from .statements import about, lines_of, tells

_ASKING: Final = frozenset({"user", "human"})


def stated(turns: Sequence[Turn]) -> list[str]:
    """The sentences of the turns, each with its speaker and date, to be understood by itself.

    Questions are left out. Of what an assistant answers to a user, only what `tells` something is taken.
    """
    return list(dict.fromkeys(each for turn in turns for each in _stated(turn)))


def _stated(turn: Turn) -> Iterator[str]:
    day = f"{turn.at:%Y-%m-%d}" if turn.at else ""
    asked = any(message.role in _ASKING for message in turn.messages)
    for message in turn.messages:
        for sentence in labelled(message, day):
            if not asks(sentence) and (not asked or message.role in _ASKING or _answers(message, sentence)):
                yield sentence


def labelled(message: Message, day: str = "") -> Iterator[str]:
    """The sentences of a message, each behind the date and who says it."""
    head = " ".join(filter(None, (day, message.label)))
    return (f"{head}: {sentence}" if head else sentence for sentence in sentences(message.text))


def _answers(message: Message, sentence: str) -> bool:
    return message.role == "assistant" and tells(sentence)


def balanced(
    old: Sequence[str],
    new: Sequence[str],
    limit: int,
    *,
    tokens: int,
    statistics: Statistics | None = None,
    counter: TokenCounter,
) -> list[str]:
    """At most ``limit`` of the sentences, in order: those that cover most, with a share for everybody.

    The old and the new ones, each of every speaker, get an equal share of half of the limit first, so that neither a
    long session nor a long memory, nor one who says much, leaves nothing of the others.

    Args:
        old: the sentences of the earlier summary.
        new: those of the session.
        limit: how many at most.
        tokens: how many tokens they may have together.
        statistics: how common terms are in the scope.
        counter: counts the tokens.
    """
    found = list(dict.fromkeys([*old, *new]))
    groups = defaultdict[tuple[bool, str], list[int]](list)
    for place, sentence in enumerate(found):
        groups[place < len(dict.fromkeys(old)), about(sentence) or _label(sentence)].append(place)
    chosen: list[int] = []

    def choose(places: Sequence[int], most: int) -> None:
        texts = [found[place] for place in places]
        left = tokens - sum(counter(found[place]) for place in chosen)
        taken = covering(texts, most, tokens=left, statistics=statistics, counter=counter)
        chosen.extend(places[each] for each in taken)

    share = max(1, limit // (2 * len(groups))) if 1 < len(groups) <= limit else 0
    for places in groups.values() if share else ():
        choose(places, share)
    choose([place for place in range(len(found)) if place not in set(chosen)], limit - len(chosen))
    return [found[place] for place in sorted(chosen)]


def extracted(
    turns: Sequence[Turn],
    previous: str,
    limit: int,
    *,
    tokens: int,
    statistics: Statistics | None = None,
    counter: TokenCounter,
) -> list[str]:
    """The summary after a session, of sentences that were said or stood in the previous summary.

    What the session tells (`tells`) and the previous summary are `balanced`; what else was said fills the room left.

    Args:
        turns: the session.
        previous: the summary before it.
        limit: as for `balanced`, with what follows.
        tokens: how many tokens they may have together.
        statistics: how common terms are in the scope.
        counter: counts the tokens.
    """
    choose = partial(balanced, statistics=statistics, counter=counter)
    old, said = lines_of(previous), stated(turns)
    chosen = choose(old, [each for each in said if tells(each)], limit, tokens=tokens)
    left, room = tokens - sum(map(counter, chosen)), limit - len(chosen)
    rest = [each for each in said if not tells(each)]
    added = choose((), rest, room, tokens=left) if room else []
    return [each for each in dict.fromkeys([*old, *said]) if each in {*chosen, *added}]


def _label(sentence: str) -> str:
    """Who speaks, where `_stated` wrote it before the sentence."""
    head, colon, _ = sentence.partition(": ")
    return head.split(" ")[-1].casefold() if colon and len(head) < 60 else ""
