"""Between search and packing: a reranker is asked for the first candidates of a recall, once, and its word weighed in.

It may take long, so no lock is held while it is waited for, and the scopes are searched anew by what they hold then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from ..conversation import Scope
from ..errors import BadReply, ModelUnavailable, attempted, shorten
from ..processes.timed_calls import LateAnswer, NotAsked, TimedCalls
from ..ranking import Candidate
from ..ranking.reranking import Reranking
from ..telemetry import count_reranking, staged
from ..text.terms import count_tokens

Found = Sequence[tuple[Scope, Sequence[Candidate]]]
"""What was found, by scope, best first."""

SIGNAL: Final = "reranker"
"""Under which name the reranker's own score stands among the signals of what it has judged."""

_LEAST: Final = 1e-6
_NUMBERS: Final = "biuf"
"""The kinds of numpy's types that are real numbers; yes and no are."""

_Key = tuple[Scope, str, int, int, int]


class _Place(NamedTuple):
    """A candidate that is judged, and where it stands: in which scope's list, and at which place of it."""

    scope: int
    place: int
    candidate: Candidate
    key: _Key


class Judge:
    """Asks the reranker of one bank.

    Args:
        options: who judges, and how far it is followed.
    """

    def __init__(self, options: Reranking) -> None:
        self.options = options
        self._calls = TimedCalls("secom-rerank")

    @staged("rerank")
    def scores(self, query: str, texts: Sequence[str]) -> list[float] | None:
        """A score a text; nothing, with a warning, where the reranker raises, is late, or gives no such scores."""
        return attempted(
            "the reranker", lambda: self._asked(query, texts), "reranking failed, so the order is the one without it"
        )

    def _asked(self, query: str, texts: Sequence[str]) -> list[float]:
        is_asked = True
        try:
            given = self._calls.call(self.options.reranker, query, list(texts), timeout=self.options.timeout)
        except LateAnswer as error:
            is_asked = not isinstance(error, NotAsked)
            raise ModelUnavailable(f"the reranker {error}") from error
        finally:
            if is_asked:
                tokens = len(texts) * count_tokens(query) + sum(map(count_tokens, texts))
                count_reranking(len(texts), tokens)
        return checked_scores(given, len(texts))


def checked_scores(given: Any, count: int) -> list[float]:
    """The scores as floats.

    Raises:
        BadReply: they are not one finite number a text, with what was given.
    """
    wanted = f"the reranker is to give {count} numbers, one a text, and gave"
    column = np.asarray(given if hasattr(given, "__len__") else list(given))
    if column.shape != (count,):
        raise BadReply(f"{wanted} the shape {column.shape}", shorten(given))
    if column.dtype.kind not in _NUMBERS:
        raise BadReply(f"{wanted} what is no number", shorten(given))
    if not np.isfinite(column).all():
        raise BadReply(f"{wanted} what is not finite", shorten(given))
    return [float(score) for score in column]


class Verdict:
    """What the reranker says in one recall, however often the scopes are searched for it.

    Args:
        judge: asks it.
        query: the query, with what it cannot be read without.
    """

    def __init__(self, judge: Judge, query: str) -> None:
        self._judge, self._query = judge, query
        self._scores: dict[_Key, float] | None = None

    def ask(self, found: Found) -> bool:
        """Ask it of the first candidates, unless it was asked already; whether it was now."""
        if self._scores is not None:
            return False
        self._scores = {}
        first = self._first(found)
        # One alone is the first whatever is said of it.
        if len(first) < 2:
            return False
        scores = self._judge.scores(self._query, [_shown(each.candidate) for each in first])
        if scores is not None:
            self._scores = {each.key: score for each, score in zip(first, scores, strict=True)}
        return True

    def applied(self, found: Found) -> list[list[Candidate]]:
        """What was found, by scope, with those that were judged in the places that they have come to."""
        lists, scores = [list(candidates) for _, candidates in found], self._scores or {}
        judged = [each for each in self._first(found) if each.key in scores]
        own = [each.candidate.score if len(found) == 1 else _logit(each.candidate) for each in judged]
        order = self._judge.options.order(own, [scores[each.key] for each in judged]) if judged else []
        by_place = sorted(judged, key=lambda each: each.place)
        places = {number: iter([each for each in by_place if each.scope == number]) for number in range(len(lists))}
        # The chance counts among all scopes, the score within its own.
        for new, old in zip(order, judged, strict=True):
            each = judged[new]
            place = next(places[each.scope])
            lists[each.scope][place.place] = replace(
                each.candidate,
                score=place.candidate.score,
                relevance=old.candidate.relevance,
                signals={**each.candidate.signals, SIGNAL: scores[each.key]},
            )
        return lists

    def _first(self, found: Found) -> list[_Place]:
        """Those that are judged, best first: what was found for the query, and not what holds whatever is asked."""
        places = [
            _Place(number, place, each, _key(scope, each))
            for number, (scope, candidates) in enumerate(found)
            for place, each in enumerate(candidates)
            if each.kind == "relevant"
        ]
        if len(found) > 1:
            # A score says nothing beyond its scope.
            places.sort(key=lambda each: -each.candidate.relevance)
        return places[: self._judge.options.first]


def _key(scope: Scope, candidate: Candidate) -> _Key:
    """What tells a candidate from all others, in another search too."""
    passage = candidate.passage
    part = (passage.place, passage.start, passage.stop) if passage is not None else (-1, -1, -1)
    return scope, candidate.turn.id, *part


def _shown(candidate: Candidate) -> str:
    """The words that are shown of it, with who speaks."""
    passage = candidate.passage
    if passage is None:
        return candidate.turn.text
    label = passage.message.label
    return f"{label}: {passage.text}" if label else passage.text


def _logit(candidate: Candidate) -> float:
    chance = min(max(candidate.relevance, _LEAST), 1 - _LEAST)
    return math.log(chance / (1 - chance))
