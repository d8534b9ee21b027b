"""What is in a file of a data set: JSON, JSON lines, or plain text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from secom_core.errors import InvalidTranscript


def contents(path: Path) -> Any:
    """The JSON value of a file; a list of JSON lines as a list; else its text.

    Raises:
        InvalidTranscript: for a file that begins as JSON and is none, or cannot be read as text.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidTranscript(f"{path} cannot be read as text: {error}") from error
    if text.lstrip()[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except json.JSONDecodeError as whole:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except json.JSONDecodeError:
            raise InvalidTranscript(f"{path} begins as JSON and is none: {whole}") from whole


def rows_of(found: Any) -> list[Any]:
    """The records of a file: those of its list, or the one that it is."""
    return found if isinstance(found, list) else [found]


def has(found: Any, *keys: str) -> bool:
    """Whether the first record of a file has these keys."""
    first = next(iter(rows_of(found)), None)
    return isinstance(first, dict) and first.keys() >= set(keys)
