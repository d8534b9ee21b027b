"""A chat of GitHub Copilot in VS Code, as its command "Chat: Export Chat" writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...conversation import Message, Session
from ...errors import InvalidTranscript
from ..files import Export, File
from ..reading import Reading, grouped, seconds, titled

_WORDS: Final = frozenset({None, "markdownContent", "markdownVuln"})
_REASONING: Final = "thinking"


def looks_like(file: File) -> bool:
    """An object with the name of who answers, and requests."""
    return {"responderUsername", "requests"} <= file.shape


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a file, called by its name and the beginning of the id of its first request: the chat has neither."""
    for file in files:
        said = list[Message]()
        stream = reading.stream(file)
        for name in stream.members():
            value = stream.value()
            for request in value if name == "requests" and isinstance(value, list) else ():
                said += _turn(request, file, reading)
        first = str(said[0].metadata["message"]) if said else ""
        yield grouped(titled(reading.session or file.stem, first.removeprefix("request_")), said)


def _turn(request: Any, file: File, reading: Reading) -> Iterator[Message]:
    asked = request.get("message") if isinstance(request, Mapping) else None
    if not isinstance(asked, Mapping):
        reading.bad(InvalidTranscript(f"{file.shown}: a request has no message"))
        return
    key, at = str(request.get("requestId") or ""), seconds(request.get("timestamp"))
    answer = "".join(_answered(part, reading) for part in request.get("response") or ())
    for role, text in (("user", str(asked.get("text") or "")), ("assistant", answer)):
        if words := text.strip():
            kept = {"source": "copilot", "message": key}
            yield Message(words, role, None, reading.stable(key, at, role, words), at, kept)


def _answered(part: Any, reading: Reading) -> str:
    """The words of a part of an answer; of a file or a symbol that it names, the name."""
    if not isinstance(part, Mapping):
        return ""
    kind = part.get("kind")
    reading.left_out["reasoning"] += kind == _REASONING
    if kind == "inlineReference":
        return _name(part)
    content = part.get("content") if kind else part
    value = content.get("value") if kind in _WORDS and isinstance(content, Mapping) else ""
    return value if isinstance(value, str) else ""


def _name(part: Mapping[str, Any]) -> str:
    """What a reference shows: its own name, that of the symbol, or the last part of the path of the file."""
    about = _inner(part, "inlineReference")
    place = _inner(about, "location") or about
    path = (_inner(place, "uri") or place).get("path")
    return str(part.get("name") or about.get("name") or str(path or "").rpartition("/")[2])


def _inner(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = record.get(name)
    return found if isinstance(found, Mapping) else {}
