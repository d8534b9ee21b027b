"""A language model whose replies are written down: no prompt is paid for twice, and the bill has a limit."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from ...errors import BadReply, InvalidInput, ModelError, ModelUnavailable, SchemaTooNew, shorten
from ...llm.flow import Cost, Outcome, Prompt
from ...llm.limits import failure
from ...llm.reply import Reply, cut_off
from ...processes import ForkLock
from ...protocols import TokenCounter

RESERVING: Final = "segment"
"""The purpose of prompts that leave something for the others."""

_FORMAT: Final = "secom-rubric-state"
_VERSION: Final = 1
_MOST_FAILURES: Final = 3  # in a row, before a model is taken to be out of reach
_NOTHING: Final = Cost()
_FIELDS: Final = {"purpose": str, "prompt": str, "tokens_in": int, "tokens_out": int}


class PromptWithheld(ModelUnavailable):
    """A prompt is not asked: a limit is reached, or the model is out of reach."""


@dataclass(eq=False)
class Recorded:
    """Asks a model, sync or async, each prompt once; calls may overlap.

    Each outcome is appended to a file of JSON lines as soon as it is known. What is in the file already is not asked
    again, except where the model gave no answer.

    Args:
        model: who answers; a sync or an async chat model.
        path: the file; without one, replies are kept for the object's life.
        calls: the most calls over all runs that share the file, those that failed included.
        tokens: the most tokens, in and out together, likewise; the replies in flight may go beyond it.
        reserve: what prompts for `RESERVING` leave for the others, at most half of a limit.
        counter: counts tokens; the models' seam does not tell what a provider counted.
        answered: called once for each prompt that has its outcome, asked or known.
        cost: what was asked so far, by all runs.
        stopped: why prompts are kept back, where they are.

    Raises:
        InvalidInput: where the file is not such a file, has a line that cannot be read, or is of another model. The
            file stays as it is.
        SchemaTooNew: where the file was written by a later version.
    """

    model: Any
    path: Path | None
    calls: int | None
    tokens: int | None
    reserve: Cost
    counter: TokenCounter
    answered: Callable[[], object]
    cost: Cost = field(default=_NOTHING, init=False)
    stopped: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._lock = ForkLock()
        self._known: dict[str, Mapping[str, Any]] = {}
        self._failures = 0
        if self.path is not None:
            self._open(self.path)

    def complete(self, prompt: Prompt) -> str:
        """The reply, from the file or from the model; raises what the model raised, or `PromptWithheld`."""
        entry = self._recalled(prompt)
        if entry is None:
            try:
                reply: Outcome = self.model.complete(prompt)
            except ModelError as error:
                reply = error
            entry = self._kept(prompt, reply)
        return _reply_in(entry)

    async def acomplete(self, prompt: Prompt) -> str:
        """As `complete`; the file is written in a thread."""
        entry = self._recalled(prompt)
        if entry is None:
            try:
                reply: Outcome = await self.model.acomplete(prompt)
            except ModelError as error:
                reply = error
            entry = await asyncio.to_thread(self._kept, prompt, reply)
        return _reply_in(entry)

    def _recalled(self, prompt: Prompt) -> Mapping[str, Any] | None:
        """What is known of a prompt; where nothing is, the call is allowed for, or refused."""
        tokens = self._tokens_in(prompt)
        with self._lock:
            known = self._known.get(_key(prompt))
            if known is None:
                reached = self._reached(prompt, tokens)
                self.stopped = reached or self.stopped
                if reached or self._failures >= _MOST_FAILURES:
                    raise PromptWithheld(f"not asked: {self.stopped}")
                self.cost += Cost(1, tokens, 0)
                return None
        self.answered()
        return known

    def _reached(self, prompt: Prompt, tokens: int) -> str | None:
        """Which limit forbids a prompt of ``tokens`` tokens, in words."""
        reserve = self.reserve if prompt.purpose == RESERVING else _NOTHING
        if self.calls is not None and self.cost.calls >= self.calls - min(self.calls // 2, reserve.calls):
            return f"max_calls={self.calls}"
        used = self.cost.tokens_in + self.cost.tokens_out + tokens
        if self.tokens is not None and used > self.tokens - min(self.tokens // 2, reserve.tokens_in):
            return f"max_tokens={self.tokens}"
        return None

    def _kept(self, prompt: Prompt, reply: Outcome) -> Mapping[str, Any]:
        outcome = _outcome(reply)
        tokens_out = self.counter(outcome.get("reply", ""))
        counts = {"tokens_in": self._tokens_in(prompt), "tokens_out": tokens_out}
        entry = {"purpose": prompt.purpose, "prompt": _key(prompt)} | counts | outcome
        with self._lock:
            self.cost += Cost(0, 0, tokens_out)
            self._note(entry)
            if self.path is not None:
                _append(self.path, entry)
        self.answered()
        return entry

    def _note(self, entry: Mapping[str, Any]) -> None:
        if "failed" not in entry:
            self._known[entry["prompt"]] = entry
        self._failures = self._failures + 1 if "failed" in entry else 0
        if self._failures >= _MOST_FAILURES:
            self.stopped = f"the model gave no answer {self._failures} times in a row: {entry['failed']}"

    def _tokens_in(self, prompt: Prompt) -> int:
        return self.counter(prompt.text) + self.counter(prompt.system or "")

    # -- the file

    def _open(self, path: Path) -> None:
        # A byte that is no text becomes an escape that JSON does not know, so that its line counts as damaged.
        text = path.read_bytes().decode("utf-8", "backslashreplace") if path.exists() else ""
        header = {"format": _FORMAT, "version": _VERSION, "model": model_name(self.model)}
        if not text.strip():
            _append(path, header)
            return
        lines = text.split("\n")
        _check_header(path, lines[0], header)
        for number, line in enumerate(lines[1:], 2):
            if line.strip():
                entry = _entry(path, number, line)
                self.cost += Cost(1, entry["tokens_in"], entry["tokens_out"])
                self._note(entry)
        # An outage of an earlier run says nothing about this one.
        self._failures, self.stopped = 0, None
        if not text.endswith("\n"):
            _append(path)


def model_name(model: object) -> str:
    """What the model calls itself, or its type."""
    name = getattr(model, "name", None)
    return name if isinstance(name, str) else type(model).__name__


def _outcome(reply: Outcome) -> dict[str, Any]:
    if isinstance(reply, BadReply):
        return {"bad_reply": reply.reason, "reply": reply.reply}
    if isinstance(reply, ModelError):
        return {"failed": str(reply)}
    return {"reply": str(reply)} | ({"cut_off": True} if cut_off(reply) else {})


def _reply_in(entry: Mapping[str, Any]) -> str:
    if "bad_reply" in entry:
        raise BadReply(entry["bad_reply"], entry["reply"])
    if "failed" in entry:
        raise failure(entry["failed"])(entry["failed"])
    return Reply(entry["reply"], cut_off=entry.get("cut_off") is True)


def _key(prompt: Prompt) -> str:
    content = json.dumps([prompt.system, prompt.text, prompt.max_tokens, prompt.temperature])
    return blake2b(content.encode(), digest_size=16).hexdigest()


def _append(path: Path, entry: Mapping[str, Any] | None = None) -> None:
    """One line in one write, on disk when it returns: a process that is killed leaves whole lines."""
    line = "" if entry is None else json.dumps(entry, ensure_ascii=False)
    with path.open("ab") as file:
        # A lone surrogate becomes its JSON escape.
        file.write(f"{line}\n".encode("utf-8", "backslashreplace"))
        file.flush()
        os.fsync(file.fileno())


def _check_header(path: Path, line: str, ours: Mapping[str, Any]) -> None:
    found = _object(line)
    version = found.get("version")
    if found.get("format") != _FORMAT or not isinstance(version, int):
        raise InvalidInput(f"{path} is no state of a rubric's learning, its first line is {shorten(line)}")
    if version > _VERSION:
        raise SchemaTooNew(f"{path} has version {version}, this package reads up to {_VERSION}")
    if found.get("model") != ours["model"]:
        raise InvalidInput(f"{path} has the replies of model {found.get('model')!r}, got {ours['model']!r}")


def _entry(path: Path, number: int, line: str) -> Mapping[str, Any]:
    found = _object(line)
    outcome = found.get("failed", found.get("reply"))
    if not isinstance(outcome, str) or not all(isinstance(found.get(key), kind) for key, kind in _FIELDS.items()):
        damaged = f"line {number} of {path} is damaged"
        raise InvalidInput(f"{damaged}; mend or delete it, and the others are kept. It is {shorten(line)}")
    return found


def _object(line: str) -> Mapping[str, Any]:
    """The JSON object on a line; an empty one where there is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}
