"""What stands in a message's text for what is attached to it."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from typing import Any, Final

_MEDIA: Final = frozenset({"image", "audio", "video", "file"})


def words_of(block: Mapping[str, Any]) -> Iterator[str]:
    """The mark of a medium, with its name or its address where it has one, and the words of plain text."""
    kind, about = block["type"], ChainMap(dict(block), block.get("extras") or {})
    names = (about.get(key) for key in ("filename", "title", "name", "url"))
    name = next((" ".join(each.split()) for each in names if isinstance(each, str) and each.strip()), "")
    name = "" if name.startswith("data:") else name
    words = about.get("text") if kind == "text-plain" else None
    if kind in _MEDIA or (kind == "text-plain" and (name or not words)):
        kind = "file" if kind == "text-plain" else kind
        yield f"[{kind}: {name}]" if name else f"[{kind}]"
    if isinstance(words, str):
        yield words
