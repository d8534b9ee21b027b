"""What is taken out of messages at the edge of the bank, before they are stored and before any model sees them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..conversation import Message
from ..errors import InvalidInput, shorten
from ..processes import interpreter
from ..text.inline_data import without_inline_data

Redact = Callable[[str], str]
"""Gives a text without what must not be kept. It is called with every text, more than once with some."""


def redacted_text(text: str, redact: Redact | None) -> str:
    """The text as ``redact`` leaves it.

    Raises:
        InvalidInput: it gave something else than text. What it raises itself goes to the caller.
    """
    if redact is None:
        return text
    kept = redact(text)
    if not isinstance(kept, str):
        raise InvalidInput(f"redact gives back text, not {shorten(kept)}")
    return kept


def redacted_message(message: Message, redact: Redact | None) -> Message:
    """The message with its text, and every text in its metadata, redacted; names, roles and ids stay as they are.

    The data of pictures and other files that stand in the text itself is taken out first.
    """
    text = without_inline_data(message.text)
    if redact is None:
        return message if text == message.text else replace(message, text=text)
    with interpreter.put_down():
        about = _inside(message.metadata, redact)
        return replace(message, text=redacted_text(text, redact), metadata=about)


def _inside(value: Any, redact: Redact) -> Any:
    if isinstance(value, str):
        return redacted_text(value, redact)
    if isinstance(value, Mapping):
        return {key: _inside(each, redact) for key, each in value.items()}
    return [_inside(each, redact) for each in value] if isinstance(value, (list, tuple)) else value
