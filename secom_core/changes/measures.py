"""Units that measure the same, such as milliseconds and seconds: amounts in either can be compared."""

from __future__ import annotations

from typing import Final

from .values import Value

_TIMES: Final = {
    0.001: "ms msec millisecond",
    1.0: "s sec second sekunde sekunden segundo seconde",
    60.0: "min minute minuten minuto",
    3600.0: "h hr hour stunde stunden hora heure",
}
_SIZES: Final = {1.0: "kb", 1e3: "mb", 1e6: "gb", 1e9: "tb"}
_MEASURES: Final = {
    f"#{unit}": (measure, factor)
    for measure, units in (("time", _TIMES), ("size", _SIZES))
    for factor, names in units.items()
    for unit in names.split()
}
_AT_MOST: Final = 30.0
"""How many times as much one of two amounts in different units is at most: beyond that they are of different things."""


def measure_alike(old: Value, new: Value) -> bool:
    """Whether two values are amounts of one measure in different units, of about the same size.

    Args:
        old: the one.
        new: the other.
    """
    amounts = _amount(old), _amount(new)
    if old.sort == new.sort or amounts[0] is None or amounts[1] is None or amounts[0][0] != amounts[1][0]:
        return False
    less, more = sorted((amounts[0][1], amounts[1][1]))
    return 0 < less < more <= _AT_MOST * less


def _amount(value: Value) -> tuple[str, float] | None:
    measure = _MEASURES.get(value.sort)
    try:
        return (measure[0], measure[1] * float(value.value.replace(",", "."))) if measure else None
    except ValueError:
        return None
