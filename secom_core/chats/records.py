"""A message of a chat, as it is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_NAMES: Final = frozenset(
    {"id", "role", "block_type", "tool_name", "format", "session", "turn", "step", "created_at", "at"}
)
_ENDS: Final = ("_id", "mimetype", "timestamp")
_DATA: Final = frozenset({"image", "audio", "video", "data"})
_MEDIA: Final = frozenset({"block_type", "media_type", "format"})
"""What stands beside the bytes of a picture, a recording or a file."""

_GIVEN: Final = frozenset({"args", "arguments", "tool_kwargs", "input", "metadata"})
"""Where the names are those of a tool or of an application, and not the framework's."""


@dataclass(frozen=True, slots=True)
class ChatRecord:
    """A message of a chat.

    Args:
        turn_id: the turn that it goes with, and is forgotten with; nothing where it goes with the session.
        name: the id of the message that is remembered of it; nothing where none is.
        body: all of it as the framework writes it, which JSON can hold; nothing where the remembered message is all
            of it.
    """

    turn_id: str | None
    name: str | None
    body: Mapping[str, Any] | None

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> ChatRecord:
        """The record of a line of an export.

        Raises:
            ValueError: it is none.
        """
        turn_id, name, body = record["turn_id"], record["name"], record["body"]
        if not (_is_text(turn_id) and _is_text(name) and (body is None or isinstance(body, Mapping))):
            raise ValueError("a message of a chat has a turn_id, a name and a body, or null in their place")
        return cls(turn_id, name, body)


def _is_text(value: object) -> bool:
    return value is None or isinstance(value, str)


def are_held(new: Sequence[tuple[object, ...]], held: Sequence[tuple[object, ...]]) -> bool:
    """Whether a chat has these messages: at its end, or anywhere where it has those of them that are remembered.

    A tool that is called again may be called as before, by the same id: many servers give its name for one.

    Args:
        new: of each message its turn, its name and its body.
        held: the same of those that the chat has, in order.
    """
    is_named = any(name is not None for _, name, _ in new)
    return list(held[len(held) - len(new) :]) == list(new) or (is_named and all(each in held for each in new))


def body_of(text: str | None) -> Mapping[str, Any] | None:
    """The body that a row holds.

    Raises:
        ValueError: it holds none.
    """
    body = json.loads(text) if text is not None else None
    if body is not None and not isinstance(body, dict):
        raise ValueError("the body of a message of a chat is a JSON object")
    return body


def redacted(value: Any, redact: Callable[[str], str], *, is_given: bool = False) -> Any:
    """A value that JSON can hold, with every text in it redacted but ids, roles, times, names of tools, and pictures.

    What a tool is called with and what it answers is redacted whole, whatever the names in it are, but for pictures.

    Args:
        value: such as the body of a message.
        redact: gives a text without what must not be kept.
        is_given: whether it is what a tool is called with or answers.
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {
            key: each
            if isinstance(each, str) and _is_kept(key, value, is_given)
            else redacted(each, redact, is_given=is_given or _is_given(key, value))
            for key, each in value.items()
        }
    return [redacted(each, redact, is_given=is_given) for each in value] if isinstance(value, (list, tuple)) else value


def _is_kept(key: str, beside: Mapping[str, Any], is_given: bool) -> bool:
    """Whether a text under a name stays as it is."""
    if key in _DATA:
        return beside.get("kind") == "binary" if is_given else any(map(_is_of_media, beside))
    return not is_given and (key in _NAMES or key.endswith(_ENDS))


def _is_of_media(key: str) -> bool:
    return key in _MEDIA or key.endswith("mimetype")


def _is_given(key: str, beside: Mapping[str, Any]) -> bool:
    return key in _GIVEN or (key == "content" and str(beside.get("part_kind")).endswith("tool-return"))
