"""Calls to tools that write a document, such as the canvas of ChatGPT and the artifacts of Claude.

In the arguments of a call, JSON escapes the ends of lines, and the first word of each line could not be found.
Texts of several lines stand under their call in place of this, word for word.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

_MOVED: Final = "…"
"""What stands in the call for a text under it."""


def laid_out(name: object, arguments: object) -> list[Any] | None:
    """The parts of a message that show a call with its documents; nothing where it has none.

    Args:
        name: what is called.
        arguments: as an object, or as the JSON of one.
    """
    given = _object(arguments)
    texts: list[str] = []
    short = _short(given, texts)
    is_escaped = isinstance(arguments, str) and "\\u" in arguments
    if given is None or not (texts or is_escaped):
        return None
    return [{"type": "tool_use", "name": name, "input": short}, *texts]


def _object(arguments: object) -> Mapping[str, Any] | None:
    if isinstance(arguments, str) and arguments.lstrip()[:1] == "{":
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    return arguments if isinstance(arguments, Mapping) else None


def _short(value: Any, texts: list[str]) -> Any:
    if isinstance(value, str):
        return _moved(value, texts) if "\n" in value.strip() else value
    if isinstance(value, Mapping):
        return {key: _short(each, texts) for key, each in value.items()}
    return [_short(each, texts) for each in value] if isinstance(value, list) else value


def _moved(text: str, texts: list[str]) -> str:
    texts.append(text.strip("\n"))
    return _MOVED
