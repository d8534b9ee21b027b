"""Which number of a date such as 03/05/2024 is the day, told from all the dates of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from typing import Final

from .reading import DateOrder

Numbers = tuple[int, int, int]
"""The three numbers of a date, as they are written."""

_ORDERS: Final[tuple[DateOrder, ...]] = ("day-first", "month-first")


def order_of(
    dates: Iterable[tuple[Numbers, bool]], usual: Callable[[], DateOrder] = lambda: "day-first"
) -> tuple[DateOrder, str]:
    """The order, and why it is not sure, with what to do; nothing where it is.

    A number above 12 is a day. Where there is none, the order in which time runs backwards less often is taken; where
    both run alike, the usual one.

    Args:
        dates: in the order of the file; whether each is written with dots or dashes, where the day always comes first.
        usual: asked when all dates are seen, for the order that is likelier where nothing tells.
    """
    steps = dict.fromkeys(_ORDERS, 0)
    before: dict[DateOrder, date] = {}
    example: Numbers | None = None
    for numbers, dotted in dates:
        first, second, _ = numbers
        if first > 31:
            continue
        if dotted or first > 12:
            return "day-first", ""
        if second > 12:
            return "month-first", ""
        example = example or (numbers if first != second else None)
        for order in _ORDERS:
            now = day_of(numbers, order)
            steps[order] += before.get(order, date.min) > now
            before[order] = now
    day, month = steps["day-first"], steps["month-first"]
    if example is None or day != month:
        return ("day-first" if day <= month else "month-first"), ""
    shown = "/".join(f"{number:02}" for number in example)
    read, other = _ORDERS if usual() == "day-first" else _ORDERS[::-1]
    cannot = f"whether {shown} begins with the day or the month cannot be told for sure"
    return read, f"{cannot}; it is read {read.replace('-', ' ')}; say the other with --dates {other}"


def day_of(numbers: Numbers, order: DateOrder) -> date:
    """The date that three numbers are; the year comes first where the first has four digits, else last.

    Raises:
        ValueError: there is no such day.
    """
    first, second, third = numbers
    if first > 31:
        return date(first, second, third)
    year = third + 2000 if third < 100 else third
    return date(year, second, first) if order == "day-first" else date(year, first, second)
