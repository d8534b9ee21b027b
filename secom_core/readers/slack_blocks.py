"""The words of Slack's blocks, of which a message may consist in place of a text."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, Final

_MEDIA: Final = frozenset({"image", "video", "file"})


def blocks_text(blocks: Any) -> str:
    """The text of blocks, each on lines of its own; mentions and links as they stand in the text of a message.

    Args:
        blocks: a list of blocks; anything else has no text.
    """
    return "\n".join(filter(None, map(_block, _records(blocks))))


def _records(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _block(block: Mapping[str, Any]) -> str:
    kind = str(block.get("type") or "")
    if kind in _MEDIA:
        return f"[{kind}]"
    fields = [_text(each) for each in _records(block.get("fields"))]
    elements = _records(block.get("elements"))
    if kind == "rich_text":
        inner = "\n".join(map(_rich, elements))
    else:
        inner = " ".join(filter(None, (_text(each) for each in elements if kind == "context")))
    return "\n".join(filter(None, [_text(block), *fields, inner]))


def _text(part: Any) -> str:
    """The ``text`` of a block, which is text or an object that holds it."""
    text = part.get("text")
    return str(text.get("text") or "") if isinstance(text, Mapping) else text if isinstance(text, str) else ""


def _rich(part: Mapping[str, Any]) -> str:
    """A section, a list, a quotation or a piece of code of a rich text; or what stands in one, escaped as texts are."""
    kind = str(part.get("type") or "")
    if "elements" in part:
        return ("\n" if kind == "rich_text_list" else "").join(map(_rich, _records(part["elements"])))
    if kind == "user":
        return f"<@{part.get('user_id')}>"
    if kind == "channel":
        return f"<#{part.get('channel_id')}>"
    if kind == "broadcast":
        return f"<!{part.get('range')}>"
    if kind == "link":
        return f"<{part.get('url')}|{escape(_text(part), quote=False)}>"
    return f":{part.get('name')}:" if kind == "emoji" else escape(_text(part), quote=False)
