"""Why a hit was found: what it is compared by in plain words, and what each comparison adds to its score."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from typing_extensions import TypedDict

from ...memory import Hit, HitKind
from ...ranking.weights import HINTS, USERS
from ...text.matching import matching_spans

LABELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "passage_lexical": "words in common with the query",
        "passage_coverage": "the share of the query that its words cover",
        "window_lexical": "words in common with the query, in it and its neighbours",
        "window_coverage": "the share of the query that it covers together with its neighbours",
        "turn_lexical": "words in common with the query in its whole turn",
        "segment_lexical": "words in common with the query in its whole segment",
        "session_lexical": "words in common with the query in its whole session",
        "passage_dense": "how similar its meaning is to the query",
        "window_dense": "how similar its meaning and that of its neighbours are to the query",
        "segment_dense": "how similar the meaning of its whole segment is to the query",
        "speaker": "the query names who says it",
        "date": "it has the date that the query names",
        "recency": "how recently it was said",
        "length": "how long it is",
        "depth": "how far into the user's message it begins",
        "asks": "it ends with a question",
        "answers": "it answers a question",
        "user": "the user says it, not the assistant",
        "instruction": "it is an instruction for later answers",
        "preference": "it says what the user likes or must avoid",
        "fact": "it says who the user is",
        "non_answer": "it says that the answer is not known",
        "item": "it is the item of the list that the query asks for",
        "user_passage_lexical": "words in common with the query, said by the user",
        "user_passage_dense": "how similar its meaning is to the query, said by the user",
        "user_session_lexical": "words in common with the query in its whole session, said by the user",
        "user_window_dense": "how similar the meaning of its neighbours is to the query, said by the user",
        "user_segment_dense": "how similar the meaning of its whole segment is to the query, said by the user",
        "user_length": "how long the user's words in it are",
    }
)
"""Every signal in plain words."""

KINDS: Final[Mapping[HitKind, str]] = MappingProxyType(
    {
        "relevant": "The search found it for this query.",
        "surrounding": "It is next to a turn that the search found, or to the days that were asked about.",
        "standing": "It applies to every question: an instruction, a preference, a fact about the user, or a pin.",
        "recent": "It is one of the latest turns, and the budget had room for it.",
    }
)
"""Why a hit is shown, in a sentence."""


class Reason(TypedDict):
    """What a hit is compared by.

    ``value`` is in standard deviations above the average of everything that the search looked at; of what holds or does
    not (``yes_or_no``), it is above 0 where it holds. ``adds`` is the value times the weight.
    """

    signal: str
    says: str
    value: float
    weight: float
    adds: float
    yes_or_no: bool


class MatchAnswer(TypedDict):
    """Where words of the query stand in a message of a turn, as pairs of the first character and the one after."""

    turn_id: str
    message: int
    spans: list[tuple[int, int]]


class WhyAnswer(TypedDict):
    """Why a hit was found: in a sentence, by numbers that add up to its score, and by the words of the query in it."""

    says: str
    reasons: list[Reason]
    matches: list[MatchAnswer]


def why(hit: Hit, weights: Mapping[str, float], wanted: Collection[str]) -> WhyAnswer:
    """Why a hit was found.

    Args:
        hit: what was found.
        weights: what each of its signals counts for (`secom_core.MemoryBank.weights_of`).
        wanted: the terms of the query (`secom_core.text.matching.query_terms`).
    """
    reasons = [_reason(name, hit.signals[name], weight) for name, weight in weights.items() if hit.signals[name]]
    reasons.sort(key=lambda each: (-abs(each["adds"]), each["signal"]))
    return WhyAnswer(says=KINDS[hit.kind], reasons=reasons, matches=_matches(hit, wanted))


def _reason(name: str, value: float, weight: float) -> Reason:
    return Reason(
        signal=name,
        says=LABELS[name],
        value=round(float(value), 3),
        weight=weight,
        adds=round(float(value) * weight, 3),
        yes_or_no=name.removeprefix(USERS) in HINTS,
    )


def _matches(hit: Hit, wanted: Collection[str]) -> list[MatchAnswer]:
    found = (
        MatchAnswer(turn_id=turn.id, message=place, spans=matching_spans(message.text, wanted))
        for turn in hit.turns
        for place, message in enumerate(turn.messages)
    )
    return [each for each in found if each["spans"]]
