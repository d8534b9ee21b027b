"""The sentences that say most of what a text says: a summary by extraction, without a model."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ..protocols import Statistics, TokenCounter
from ..text.terms import count_tokens, latin_language_of, terms

# Below this many turns a document frequency says more about chance than about the word.
_ENOUGH_TURNS: Final = 20
# So few terms make no statement, "I did!"; being shorter still is no merit.
_USUAL_TERMS: Final = 6


def covering(
    sentences: Sequence[str],
    limit: int,
    *,
    tokens: int | None = None,
    statistics: Statistics | None = None,
    counter: TokenCounter = count_tokens,
) -> list[int]:
    """The places of the sentences that together cover most, in order.

    Greedy maximum coverage of terms. A term is worth the more the rarer it is in the scope, and the more of the
    sentences it stands in. A sentence is chosen by what it adds for its length: its gain over the square root of its
    terms. Where all terms are covered and there is room left, the others are chosen in the same way, as if anew.

    Args:
        sentences: what may be chosen.
        limit: how many sentences at most.
        tokens: how many tokens they may have together.
        statistics: how common terms are in the scope; under 20 turns they are not used.
        counter: counts the tokens.
    """
    language = latin_language_of("\n".join(sentences[:200]))
    terms_of = [terms(sentence, language=language) for sentence in sentences]
    worth = _worth(terms_of, statistics)
    left = math.inf if tokens is None else tokens
    chosen: list[int] = []

    def take(place: int) -> bool:
        nonlocal left
        if len(chosen) >= limit or (size := counter(sentences[place])) > left:
            return False
        left -= size
        chosen.append(place)
        return True

    places = list(range(len(sentences)))
    before = -1
    while len(chosen) < limit and before < len(chosen):
        before = len(chosen)
        _cover(places, terms_of, worth, take)
        places = sorted(set(places) - set(chosen))
    return sorted(chosen)


def _cover(
    places: Sequence[int], terms_of: Sequence[Sequence[str]], worth: Mapping[str, float], take: Callable[[int], bool]
) -> None:
    """Offer each place when it is the one that adds most to those taken, until none adds anything.

    A gain only shrinks as others are taken, so that a heap of old gains finds the best without counting all anew.
    """
    covered: set[str] = set()

    def gain(place: int) -> float:
        new = set(terms_of[place]) - covered
        return math.fsum(worth[term] for term in new) / math.sqrt(max(_USUAL_TERMS, len(terms_of[place])))

    heap = [(-gain(place), place) for place in places]
    heapq.heapify(heap)
    while heap:
        _, place = heapq.heappop(heap)
        now = gain(place)
        if heap and now < -heap[0][0]:
            heapq.heappush(heap, (-now, place))
        elif now > 0 and take(place):
            covered.update(terms_of[place])


def _worth(terms_of: Sequence[Sequence[str]], statistics: Statistics | None) -> dict[str, float]:
    spread = Counter(term for each in terms_of for term in set(each))
    if statistics is None or statistics.total < _ENOUGH_TURNS:
        return {term: math.log1p(count) for term, count in spread.items()}
    total = statistics.total
    return {
        term: math.log1p(count) * math.log((total + 1) / (min(statistics.frequency(term), total) + 1))
        for term, count in spread.items()
    }
