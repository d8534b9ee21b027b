"""Written times: ISO 8601 text, and seconds since 1970, read alike on every Python."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from typing import Final

from .errors import InvalidInput, shorten

LONGEST_TIME: Final = 100
"""How many characters a written time may have."""

_LAST_SECOND: Final = 1e11

_WRONG: Final = "a timestamp is a datetime, ISO 8601 text, or seconds or milliseconds since 1970, not "

if sys.version_info >= (3, 11):
    _from_iso = datetime.fromisoformat
else:
    from backports.datetime_fromisoformat import datetime_fromisoformat

    def _from_iso(text: str) -> datetime:
        at = datetime_fromisoformat(text)
        offset = at.utcoffset()
        return at if offset is None else at.replace(tzinfo=timezone(offset))


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
        ValueError, OverflowError, OSError: it is out of range.
    """
    return datetime.fromtimestamp(number / 1000 if abs(number) > _LAST_SECOND else number, timezone.utc)


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
    except (OSError, OverflowError, ValueError) as error:
        raise InvalidInput(_WRONG + shorten(value)) from error
    raise InvalidInput(_WRONG + shorten(value))
