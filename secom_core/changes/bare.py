"""A new value that is told without its unit: "I pay 900 euros rent", and later "The rent is 950 now"."""

from __future__ import annotations

from functools import cache
from typing import Final

from ..text.patterns import regex
from ..text.terms import terms
from .statements import Statement
from .values import Value

_AT_MOST: Final = 3.0
"""How many times as much one of two amounts is at most: beyond that, the one without a unit is of another thing."""
_HOURS: Final = 24
_NUMBER: Final = regex(r"\d+(?:\.\d+)?")
_MEASURING: Final = {
    "english": (
        "pay pays paid cost costs weigh weighs take takes last lasts start starts begin begins earn spend run live"
    ),
    "german": "zahle zahlt zahlen kostet kosten wiegt wiege dauert beginnt fängt verdiene läuft liegt",
    "french": "paie paye payons coûte pèse dure commence gagne fait",
    "spanish": "pago paga pagamos cuesta pesa dura empieza gano",
}
"""What is said of anything that has a number, and names nothing."""
_PAID: Final = ("pay", "paid", "cost", "zahl", "kost", "pai", "cout", "pago", "pagam", "cuest")
"""How words begin that say of whatever has a price that it has one."""


def is_amount(sort: str) -> bool:
    """Whether values of a sort are numbers of something."""
    return sort in ("money", "percent") or sort.startswith("#")


def is_bare_of(older: Statement, newer: Statement, old: Value, new: Value) -> bool:
    """Whether a number without a unit is the new value of what has one: the later statement names nothing else.

    Args:
        older: the earlier statement.
        newer: the later one, which says that something changed.
        old: a value of the earlier one.
        new: a value of the later one.
    """
    if new.sort != "#" or "changed" not in newer.cues or newer.is_added or not _is_only_one(older, old):
        return False
    named, known = ({head for head, weight in each.heads.items() if weight == 1} for each in (newer, older))
    # A Chinese character that stands alone is mostly how something is: a word has two.
    own = {head for head in named if len(head) > 1} or named
    told = {head for head in own if not (old.sort == "money" and head.startswith(_PAID))}
    if not told - _measuring() or not told <= known:
        return False
    if is_amount(old.sort):
        # Of what both speak of and nothing else, such as savings, there may be any number of times as much.
        return _is_near(old, new) or told == known != set()
    return old.sort == "time" and new.is_hour and _is_hour(new.value)


def _is_only_one(statement: Statement, value: Value) -> bool:
    """Whether nothing else that a statement tells could be meant."""
    return all(each == value or not (is_amount(each.sort) or each.sort == "time") for each in statement.values)


def _is_near(old: Value, new: Value) -> bool:
    one, other = (_NUMBER.match(each.value) for each in (old, new))
    if one is None or other is None:
        return False
    less, more = sorted((float(one[0]), float(other[0])))
    return 0 < less < more <= _AT_MOST * less


def _is_hour(value: str) -> bool:
    return value.isdecimal() and int(value) <= _HOURS


@cache
def _measuring() -> frozenset[str]:
    found = (each for language, words in _MEASURING.items() for each in terms(words, language=language))
    return frozenset(each[:6].rstrip("aeiou") for each in found)
