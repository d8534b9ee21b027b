"""What a scripted model replies: replies, and scripts that choose one for each request.

A *script* is one of

- one reply, given to every request;
- a list of replies, given in the order in which requests arrive;
- rules: a mapping from a substring or a compiled pattern to a script; the first that is found in the request's text
  answers, and the substring ``""`` is found in all;
- a callable that takes the `ScriptedRequest` and returns a reply.

A *reply* is a string, an `Answer` (text, calls to tools, a delay) or a `Fault` (an HTTP status, a dropped connection,
a body that is no JSON, a server that hangs).
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import InvalidInput


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call to a tool, as a part of an `Answer`: ``ToolCall("look_up", {"query": "Ghent"})``.

    Args:
        name: the tool's name.
        arguments: a mapping, or text that need not be JSON.
        id: the id of the call; one is made unless given.
    """

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict, hash=False)
    id: str = ""

    @property
    def arguments_text(self) -> str:
        """The arguments as they are sent."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply that arrives: ``Answer("Paris", delay=0.5)`` or ``Answer(None, (ToolCall("look_up", {"query": "x"}),))``.

    Args:
        text: the model's words; ``None`` is sent as ``null``.
        tool_calls: the tools that the model calls.
        delay: seconds before the reply starts.
        finish_reason: such as ``"length"`` for a reply that is cut off; ``"stop"``, or ``"tool_calls"`` where there are
            any, unless given.
    """

    text: str | None = ""
    tool_calls: tuple[ToolCall, ...] = ()
    delay: float = 0.0
    finish_reason: str = ""

    @property
    def finish(self) -> str:
        """Why the reply ends, as the protocol names it."""
        return self.finish_reason or ("tool_calls" if self.tool_calls else "stop")


@dataclass(frozen=True, slots=True)
class Fault:
    """A reply that goes wrong: ``Fault(status=429, retry_after=1)``, or ``Fault()`` for a dropped connection.

    Args:
        status: an HTTP status to answer with, such as 429 or 500.
        retry_after: seconds, sent as the ``Retry-After`` header.
        body: sent as it is, with status 200 unless another is given.
        delay: seconds before anything happens; ``math.inf`` hangs until the client or the server gives up.
    """

    status: int | None = None
    retry_after: float | None = None
    body: str | None = None
    delay: float = 0.0

    def __str__(self) -> str:
        if self.status is not None:
            return f"scripted HTTP status {self.status}"
        return "scripted dropped connection" if self.body is None else f"scripted body {self.body[:80]!r}"


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """A request, as it arrived.

    Args:
        body: the JSON body.
        path: the path of the endpoint; empty where there is no server.
        headers: by lower-case name; empty where there is no server.
        purpose: the prompt's purpose, such as ``"segment"``; empty where there is a server.
    """

    body: Mapping[str, Any] = field(hash=False)
    path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)
    purpose: str = ""

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """Role and text of every message, in order."""
        return tuple((str(each.get("role", "")), _text(each.get("content"))) for each in self.body.get("messages", ()))

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The texts of a request for embeddings; a list of token numbers stands for one text."""
        value = self.body.get("input", ())
        return (value,) if isinstance(value, str) or (value and isinstance(value[0], int)) else tuple(value)

    @property
    def text(self) -> str:
        """The last message's text; for embeddings, the texts, a line each."""
        if "messages" not in self.body:
            return "\n".join(map(str, self.inputs))
        return self.messages[-1][1] if self.messages else ""

    @property
    def prompt(self) -> str:
        """The text of all messages, a line each; rules look for their patterns in it."""
        return "\n".join(text for _, text in self.messages) if "messages" in self.body else self.text

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that are offered."""
        return tuple(tool.get("function", {}).get("name", "") for tool in self.body.get("tools") or ())


ScriptedReply: TypeAlias = str | Answer | Fault
Script: TypeAlias = (
    ScriptedReply | Sequence[ScriptedReply] | Mapping[Any, Any] | Callable[[ScriptedRequest], ScriptedReply]
)
"""One reply, replies in order, rules (a substring or compiled pattern to a script), or a callable."""


class ScriptPlayer:
    """Keeps the requests, and gives each its reply by a script.

    Raises:
        InvalidInput: for what is no script.
    """

    def __init__(self, script: Script) -> None:
        self._lock = threading.Lock()
        self._requests: list[ScriptedRequest] = []
        self._script = _playable(script)

    @property
    def requests(self) -> tuple[ScriptedRequest, ...]:
        """The requests so far, in the order of their arrival."""
        return tuple(self._requests)

    def reply(self, request: ScriptedRequest) -> Answer | Fault:
        """The reply to ``request``.

        Raises:
            InvalidInput: where the script has none, or something that is no reply.
        """
        with self._lock:
            self._requests.append(request)
            reply = _chosen(self._script, request)
        # A callable runs outside the lock, so that slow ones answer side by side.
        if callable(reply):
            reply = reply(request)
        if not isinstance(reply, str | Answer | Fault):
            raise InvalidInput(f"a scripted reply is a str, an Answer or a Fault, not {reply!r}")
        return Answer(reply) if isinstance(reply, str) else reply


def _playable(script: Any) -> Any:
    """The script with an iterator in place of each list, so that each reply is given once."""
    if isinstance(script, str | Answer | Fault) or callable(script):
        return script
    if isinstance(script, Mapping):
        return {pattern: _playable(inner) for pattern, inner in script.items()}
    if isinstance(script, Sequence):
        return iter(tuple(script))
    raise InvalidInput(f"a script is a reply, a list of replies, rules or a callable, not {script!r}")


def _chosen(script: Any, request: ScriptedRequest) -> Any:
    if isinstance(script, Mapping):
        prompt = request.prompt
        for pattern, inner in script.items():
            if pattern.search(prompt) if isinstance(pattern, re.Pattern) else pattern in prompt:
                return _chosen(inner, request)
        raise InvalidInput(f"the script has no rule for {request.text!r}")
    if not isinstance(script, Iterator):
        return script
    for reply in script:
        return reply
    raise InvalidInput(f"the script has no reply left for {request.text!r}")


def _text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
