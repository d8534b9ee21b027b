"""When a message was said."""

from __future__ import annotations

from datetime import datetime

from langchain_core.messages import BaseMessage

from secom_core.times import written_time


def time_of(message: BaseMessage) -> datetime | None:
    """When it was said, as its ``additional_kwargs["timestamp"]`` says.

    Raises:
        InvalidInput: that is no time.
    """
    return written_time(message.additional_kwargs.get("timestamp"))
