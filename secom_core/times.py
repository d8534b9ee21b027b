"""Written times, read alike on every Python, and time zones by the names of their places."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta, timezone, tzinfo
from difflib import get_close_matches
from typing import Final

from .errors import InvalidInput, shorten

EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)
"""From when on moments are stored as numbers."""

MICROSECOND: Final = timedelta(microseconds=1)
"""The unit of these numbers."""

LONGEST_TIME: Final = 100
"""How many characters a written time may have."""

_UNTOLD: Final = timezone(timedelta(0), "UTC, as none is told")
"""The zone of a message whose time has none, until a bank knows it."""

_LAST_SECOND: Final = 1e11

_WRONG: Final = "a timestamp is a datetime, ISO 8601 text, or seconds or milliseconds since 1970, not "

if sys.version_info >= (3, 11):
    _from_iso = datetime.fromisoformat
else:
    from backports.datetime_fromisoformat import datetime_fromisoformat

    def _from_iso(text: str) -> datetime:
        at: datetime = datetime_fromisoformat(text)
        offset = at.utcoffset()
        return at if offset is None else at.replace(tzinfo=timezone(offset))


def iso_text(at: datetime | None) -> str | None:
    """A time as JSON has it."""
    return at.isoformat() if at is not None else None


def iso_time(text: str) -> datetime:
    """The time of ISO 8601 text such as ``2024-05-03T14:05:00.123456789Z``, without a zone where it names none.

    Raises:
        ValueError: it is none, or longer than `LONGEST_TIME`.
    """
    text = text.strip()
    if len(text) > LONGEST_TIME:
        raise ValueError(f"a written time has at most {LONGEST_TIME} characters, got {len(text)}")
    return _from_iso(f"{text[:-1]}Z" if text.endswith("z") else text)


def counted_time(number: float) -> datetime:
    """The time of seconds since 1970, or of milliseconds, as JavaScript counts, from 10**11 on.

    Raises:
        ValueError, OverflowError: it is out of range.
    """
    # `datetime.fromtimestamp` takes nothing before 1970 on Windows.
    return EPOCH + timedelta(seconds=number / 1000 if abs(number) > _LAST_SECOND else number)


def written_time(value: object) -> datetime | None:
    """The time that a ``timestamp`` of a framework's message stands for; nothing for nothing.

    Args:
        value: a datetime, ISO 8601 text, or a number as `counted_time` takes it.

    Raises:
        InvalidInput: it is none of these.
    """
    if value is None or isinstance(value, datetime):
        return value
    try:
        if isinstance(value, str):
            return iso_time(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return counted_time(value)
    except (OverflowError, ValueError) as error:
        raise InvalidInput(_WRONG + shorten(value)) from error
    raise InvalidInput(_WRONG + shorten(value))


def zone_of(given: str | tzinfo | None) -> tzinfo | None:
    """The time zone that is meant, such as by ``"Europe/Brussels"``; nothing where none is given.

    Raises:
        InvalidInput: there is no such zone; with the one that is meant, as far as can be told.
    """
    if given is None or isinstance(given, tzinfo):
        return given
    if isinstance(given, str):
        return _named(given)
    raise InvalidInput(
        f"a time zone is called by its place, such as Europe/Brussels, or is a tzinfo, got {shorten(given)}"
    )


def zone_or_utc(given: str | tzinfo | None) -> tzinfo:
    """The time zone that is meant; UTC where none is given.

    Raises:
        InvalidInput: there is no such zone.
    """
    return zone_of(given) or timezone.utc


def _named(name: str) -> tzinfo:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        wanted = "a time zone is called by its place, such as Europe/Brussels or UTC"
        names = available_timezones()
        close = get_close_matches(name, names, 1)
        meant = f"; did you mean {close[0]}?" if close else ""
        meant = meant if names else "; this machine has no names of time zones, which come with: pip install tzdata"
        raise InvalidInput(f"{wanted}, got {shorten(name)}{meant}") from error


def in_zone(at: datetime, zone: tzinfo | None) -> datetime:
    """A moment without an offset as one of a zone, UTC where none is given; any other stays as it is."""
    return at if at.tzinfo is not None else at.replace(tzinfo=zone or timezone.utc)


def untold(at: datetime) -> datetime:
    """A moment without an offset as one in UTC, of which `on_clocks` knows that no zone was told."""
    return at.replace(tzinfo=_UNTOLD)


def on_clocks(at: datetime, zone: tzinfo | None) -> datetime:
    """A moment that is told in UTC as the clocks of a zone show it; with another offset, or no zone, it stays as it is.

    One that `untold` made is of this zone: its clocks show just that.

    Args:
        at: the moment, with its offset.
        zone: the time zone.
    """
    if zone is None or at.tzinfo is None or at.utcoffset():
        return at
    if at.tzname() == _UNTOLD.tzname(None):  # a copy of it, from another process
        return at.replace(tzinfo=zone)
    try:
        return at.astimezone(zone)
    except OverflowError:  # on the first or the last day that there is
        return at


def present(zone: tzinfo | None) -> datetime:
    """This moment as the clocks of a zone show it; in UTC where none is given."""
    return datetime.now(zone or timezone.utc)
