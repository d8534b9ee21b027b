"""Years of the Buddhist and the Persian calendar, in which telephones of Thailand and Iran write dates."""

from __future__ import annotations

from datetime import date
from typing import Final

from .date_order import Numbers

_BUDDHIST: Final = range(2400, 2700)
_PERSIAN: Final = range(1380, 1430)
"""The years 2001 to 2050: earlier ones are of no chat."""
_BEFORE: Final = date(622, 3, 21).toordinal() - 1


def western(numbers: Numbers) -> Numbers:
    """The numbers of the same day in the Gregorian calendar; of any other year the numbers themselves."""
    first, second, third = numbers
    if first in _PERSIAN:
        return _persian(first, second, third)
    if third in _PERSIAN:
        return _persian(third, second, first)
    return _of_buddhist(first), second, _of_buddhist(third)


def _of_buddhist(number: int) -> int:
    return number - 543 if number in _BUDDHIST else number


def _persian(year: int, month: int, day: int) -> Numbers:
    """By the cycle of 33 years, 8 of which have a leap day."""
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return year, month, day  # no day: the error names it as it is written
    cycles, rest = divmod(year - 1, 33)
    leaps = 8 * cycles + sum(1 for each in range(1, rest + 1) if each % 33 in (1, 5, 9, 13, 17, 22, 26, 30))
    months = 31 * (month - 1) if month < 8 else 186 + 30 * (month - 7)
    found = date.fromordinal(_BEFORE + 365 * (year - 1) + leaps + months + day)
    return found.year, found.month, found.day
