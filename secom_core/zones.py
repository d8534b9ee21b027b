"""Time zones by the names of their places."""

from __future__ import annotations

from datetime import datetime, timezone, tzinfo
from difflib import get_close_matches

from .errors import InvalidInput, shorten


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


def on_clocks(at: datetime, zone: tzinfo | None) -> datetime:
    """A moment that is told in UTC as the clocks of a zone show it; with another offset, or no zone, it stays as it is.

    Args:
        at: the moment, with its offset.
        zone: the time zone.
    """
    if zone is None or at.tzinfo is None or at.utcoffset():
        return at
    try:
        return at.astimezone(zone)
    except OverflowError:  # on the first or the last day that there is
        return at


def present(zone: tzinfo | None) -> datetime:
    """This moment as the clocks of a zone show it; in UTC where none is given."""
    return datetime.now(zone or timezone.utc)
