"""How much of an earlier summary a later one still holds, by words: a cheap check on what an update drops.

RSum counts missing details as the most frequent error of a recursive summary (section 6.4, Table 6). A sentence counts
as held where the later text has enough of its words. Words cannot tell a change from a loss ("moved to Ghent" after
"lives in Bruges" drops a word on purpose), so the share is a warning light, not a grade.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

from ..errors import InvalidInput
from ..text.terms import latin_language_of, sentences, terms

_ENOUGH: Final = 0.5


def retention(earlier: str, later: str, *, enough: float = _ENOUGH) -> float:
    """The share of the earlier text's sentences that the later text still holds; 1 where there are none.

    Args:
        earlier: the summary before the update.
        later: the summary after it.
        enough: the share of a sentence's words, rare ones counting more, that must be there; above 0, at most 1.
    """
    before = sentences(earlier)
    return 1 - len(lost_sentences(earlier, later, enough=enough)) / len(before) if before else 1.0


def lost_sentences(earlier: str, later: str, *, enough: float = _ENOUGH) -> list[str]:
    """The earlier text's sentences that the later text does not hold any more, in order.

    Args:
        earlier: the summary before the update.
        later: the summary after it.
        enough: as for `retention`.

    Raises:
        InvalidInput: for a share out of range.
    """
    if not 0 < enough <= 1:
        raise InvalidInput(f"enough is a share of words, above 0 and at most 1, got {enough}")
    language = latin_language_of(f"{earlier}\n{later}")
    before = [(sentence, set(terms(sentence, language=language))) for sentence in sentences(earlier)]
    spread = Counter(term for _, words in before for term in words)
    # A name that stands in every sentence says nothing about any of them.
    worth = {term: math.log(1 + len(before) / count) for term, count in spread.items()}
    kept = set(terms(later, language=language))
    return [sentence for sentence, words in before if _share(words, kept, worth) < enough]


def _share(words: set[str], kept: set[str], worth: dict[str, float]) -> float:
    total = sum(worth[term] for term in words)
    return sum(worth[term] for term in words & kept) / total if total else 1.0
