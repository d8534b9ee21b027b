"""When a message was said."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Final

from langchain_core.messages import BaseMessage

from secom_core.errors import InvalidInput

_LAST_SECOND: Final = 1e11


def time_of(message: BaseMessage) -> datetime | None:
    """When it was said, as its ``additional_kwargs["timestamp"]`` says.

    Raises:
        InvalidInput: that is no time.
    """
    return _time(message.additional_kwargs.get("timestamp"))


def _time(value: Any) -> datetime | None:
    if value is None or isinstance(value, datetime):
        return value
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            # JavaScript counts in milliseconds.
            return datetime.fromtimestamp(value / 1000 if value > _LAST_SECOND else value, timezone.utc)
        return datetime.fromisoformat(value.replace("Z", "+00:00"))
    except (AttributeError, OSError, OverflowError, TypeError, ValueError) as error:
        raise InvalidInput(f"a timestamp is a datetime, ISO 8601 text or seconds since 1970, not {value!r}") from error
