"""Times of a question that asks for what was: "the last two months", "recently", "last summer", "on the weekend".

In English, German, Spanish, French, Chinese, Japanese and Korean. They are read there only: what tells of such a time
("I've slept badly for the last two weeks, what can I do?") asks for nothing that was said then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

from .dates import Days, Span
from .korean import SIGNS as KOREAN
from .korean import korean_periods
from .past_questions import clauses_of_the_past
from .patterns import regex
from .seasons import SIGNS as OF_PERIODS
from .seasons import TIMES_OF_THE_PAST, days_read
from .wording import folded_case, is_signed, signs, wording

_RECENT: Final = 60
"""How many days ago is recently."""

_LATELY: Final = wording(
    r"""
    recently|lately|(?:of|as of) late|these days|(?:in|over|during) recent times|not long ago
    neulich|kürzlich|in (?:der )?letzte[rn] zeit|vor kurzem|unlängst|jüngst
    recientemente|últimamente|hace poco|en los últimos tiempos
    récemment|dernièrement|ces derniers temps|il y a peu
    """,
    anywhere=r"最近(?!\s?的?[\d一二两三四五六七八九十几])(?!的(?!时候))|近来|近頃|ここのところ|최근(?!\s?\d)|요즘|요새",
)
_LENGTHS: Final = {
    **dict.fromkeys(("day", "tag", "día", "jour"), 10),
    **dict.fromkeys(("week", "woche", "semana", "semaine"), 42),
    **dict.fromkeys(("month", "monat", "mes", "mois"), 122),
    **dict.fromkeys(("year", "jahr", "año", "année", "an"), 3 * 365),
}
"""How many days "the last weeks" are, of which nobody tells how many."""

_UNCOUNTED: Final = regex(
    r"\b(?:in|over|during|within|for)\s(?:the\s|these\s)?(?:last|past|recent)\s(?P<of>day|week|month|year)s\b"
    r"|\b(?:in|während)\s(?:den|der)\s(?:letzten|vergangenen)\s(?P<of_de>tag|woche|monat|jahr)e?n\b"
    r"|\ben\sl[oa]s\súltim[oa]s\s(?P<of_es>día|semana|mes|año)(?:es|s)\b"
    r"|\b(?:ces|les)\sderni(?:er|ère)s\s(?P<of_fr>jour|semaine|mois|année)s?\b",
    re.I,
)
_ONE: Final = {"day": 1, "week": 7, "month": 31, "year": 365}
_LAST_ONE: Final = regex(r"\b(?:in|over|during|within)\sthe\s(?:last|past)\s(?P<of>day|week|month|year)\b", re.I)
_SIGNS: Final = (
    *OF_PERIODS,
    *KOREAN,
    *signs(
        "recent|lately|of late|these days|long ago|neulich|kürzlich|letzte|vor kurzem|unlängst|jüngst|reciente|últim"
        "|hace poco|récemment|dernière|derniers|il y a peu|最近|近来|近頃|ここのところ|최근|요즘|요새|지난|the last"
        "|the past"
    ),
)


def past_times(text: str, today: date) -> tuple[list[Span], str]:
    """The spans of days that such times mean, and the text without them.

    Args:
        text: what the user says.
        today: the day on which it is said.
    """
    if not is_signed(folded_case(text), _SIGNS):
        return [], text
    found: list[Span] = []
    for begin, end in reversed(clauses_of_the_past(text)):
        days, clause = days_read(text[begin:end], today, (*LATELY, *TIMES_OF_THE_PAST))
        korean, clause = korean_periods(clause, today)
        found += [*days, *korean]
        text = f"{text[:begin]}{clause}{text[end:]}"
    return found, text


def _lately(match: re.Match[str], today: date) -> Iterator[Days]:
    yield today - timedelta(_RECENT), today


def _uncounted(match: re.Match[str], today: date) -> Iterator[Days]:
    unit = next(part for part in match.groups() if part)
    yield today - timedelta(_LENGTHS[unit.lower()]), today


def _last_one(match: re.Match[str], today: date) -> Iterator[Days]:
    yield today - timedelta(_ONE[match["of"].lower()]), today


LATELY: Final = ((_UNCOUNTED, _uncounted), (_LAST_ONE, _last_one), (_LATELY, _lately))
"""Recently, and the last weeks, or the last year, of which nobody tells how many."""
