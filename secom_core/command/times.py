"""Times on the command line, and in which zone they are read."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from datetime import datetime
from typing import Final

from ..times import in_zone, on_clocks, zone_of

_OPTIONS: Final = ("at", "now", "before")


def moment(text: str) -> datetime:
    """The time that an option gives; without a zone, where none is written.

    Raises:
        ArgumentTypeError: it is none.
    """
    from ..readers.moments import read_moment

    read = read_moment(text.strip())
    at = read.on(None) if read else None
    if read is None or at is None:
        raise ArgumentTypeError(f"a date such as 2024-05-07 or 2024-05-07T14:05Z (UTC), not {text!r}")
    return at if read.clock and read.clock.tzinfo else at.replace(tzinfo=None)


def read_in_zone(args: Namespace, named: str | None) -> None:
    """Give the times of a command the configured zone where they carry none, and show it those in UTC.

    Args:
        args: the options.
        named: the zone; UTC unless given.
    """
    zone = zone_of(named)
    for name in _OPTIONS:
        given = getattr(args, name, None)
        if isinstance(given, datetime):
            setattr(args, name, on_clocks(in_zone(given, zone), zone))
    if hasattr(args, "timezone"):
        args.timezone = named
