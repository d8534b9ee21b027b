"""A language model whose replies are written down: no prompt is paid for twice, and the bill has a limit."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from ..analysis import count_tokens
from ..errors import BadReply, InvalidInput, ModelError, ModelUnavailable, SchemaTooNew
from ..flow import AsyncChatModel, ChatModel, Cost, Prompt
from ..protocols import TokenCounter

__all__ = ["Limits", "NotAsked", "Recorded"]

_FORMAT: Final = "secom-rubric-state"
_VERSION: Final = 1
_MOST_FAILURES: Final = 3  # in a row, before a model is taken to be out of reach
_NOTHING: Final = Cost()
_OUTCOMES: Final = ("reply", "bad_reply", "failed")


class NotAsked(ModelUnavailable):
    """A prompt was kept back: a limit is reached, or the model is out of reach."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What asking may cost, over all runs that share a file.

    Args:
        calls: the most calls, those that failed included.
        tokens: the most tokens, in and out together; the replies in flight may go beyond it.
        kept_back: what prompts with `held_purpose` leave for the others, at most half of a limit.
        held_purpose: the purpose of prompts that have to leave something.
    """

    calls: int | None = None
    tokens: int | None = None
    kept_back: Cost = _NOTHING
    held_purpose: str = ""

    def reached(self, spent: Cost, prompt: Prompt, tokens: int) -> str | None:
        """Which limit forbids a prompt of ``tokens`` tokens, in words."""
        held = self.kept_back if prompt.purpose == self.held_purpose else _NOTHING
        if self.calls is not None and spent.calls >= self.calls - min(self.calls // 2, held.calls):
            return f"max_calls={self.calls}"
        used = spent.tokens_in + spent.tokens_out + tokens
        if self.tokens is not None and used > self.tokens - min(self.tokens // 2, held.tokens_in):
            return f"max_tokens={self.tokens}"
        return None


class Recorded:
    """Asks a model, sync or async, each prompt once; calls may overlap.

    Each outcome is appended to a file of JSON lines as soon as it is known. What is in the file already is not asked
    again, except where the model gave no answer.

    Args:
        model: who answers.
        path: the file; without one, replies are kept for the object's life.
        limits: what it may cost.
        counter: counts tokens; the models' seam does not tell what a provider counted.
        answered: called once for each prompt that has its outcome, asked or known.

    Raises:
        InvalidInput: where the file is not such a file, has a line that cannot be read, or is of another model. The
            file stays as it is.
        SchemaTooNew: where the file was written by a later version.
    """

    def __init__(
        self,
        model: ChatModel | AsyncChatModel,
        path: str | os.PathLike[str] | None = None,
        *,
        limits: Limits | None = None,
        counter: TokenCounter = count_tokens,
        answered: Callable[[], object] = lambda: None,
    ) -> None:
        self._model: Any = model
        self._path = None if path is None else Path(path)
        self._limits = limits or Limits()
        self._counter = counter
        self._answered = answered
        self._lock = threading.Lock()
        self._known: dict[str, Mapping[str, Any]] = {}
        self._failures = 0
        self.cost = _NOTHING
        self.stopped: str | None = None
        if self._path is not None:
            self._open(self._path)

    def complete(self, prompt: Prompt) -> str:
        """The reply, from the file or from the model; raises what the model raised, or `NotAsked`."""
        if (known := self._recalled(prompt)) is None:
            try:
                known = self._kept(prompt, reply=self._model.complete(prompt))
            except ModelError as error:
                known = self._kept(prompt, error=error)
        return _told(known)

    async def acomplete(self, prompt: Prompt) -> str:
        """As `complete`; the file is written in a thread."""
        if (known := self._recalled(prompt)) is None:
            try:
                reply = await self._model.acomplete(prompt)
            except ModelError as error:
                known = await asyncio.to_thread(self._kept, prompt, error=error)
            else:
                known = await asyncio.to_thread(self._kept, prompt, reply=reply)
        return _told(known)

    def _recalled(self, prompt: Prompt) -> Mapping[str, Any] | None:
        """What is known of a prompt; where nothing is, the call is allowed for, or refused."""
        tokens = self._tokens_in(prompt)
        with self._lock:
            if (known := self._known.get(_key(prompt))) is None:
                reason = self._limits.reached(self.cost, prompt, tokens)
                self.stopped = self.stopped if reason is None else reason
                if reason is not None or self._failures >= _MOST_FAILURES:
                    raise NotAsked(f"not asked: {self.stopped}")
                self.cost += Cost(1, tokens, 0)
                return None
        self._answered()
        return known

    def _kept(self, prompt: Prompt, *, reply: str = "", error: ModelError | None = None) -> Mapping[str, Any]:
        said = error.reply if isinstance(error, BadReply) else reply
        entry: dict[str, Any] = {"purpose": prompt.purpose, "prompt": _key(prompt)}
        entry |= {"tokens_in": self._tokens_in(prompt), "tokens_out": self._counter(said)}
        entry |= _outcome(said, error)
        with self._lock:
            self.cost += Cost(0, 0, entry["tokens_out"])
            self._note(entry)
            if self._path is not None:
                _append(self._path, entry)
        self._answered()
        return entry

    def _note(self, entry: Mapping[str, Any]) -> None:
        if "failed" not in entry:
            self._known[entry["prompt"]] = entry
        self._failures = self._failures + 1 if "failed" in entry else 0
        if self._failures >= _MOST_FAILURES:
            self.stopped = f"the model gave no answer {self._failures} times in a row: {entry['failed']}"

    def _tokens_in(self, prompt: Prompt) -> int:
        return self._counter(prompt.text) + self._counter(prompt.system or "")

    # -- the file

    def _open(self, path: Path) -> None:
        written = _read(path)
        header = {"format": _FORMAT, "version": _VERSION, "model": _name(self._model)}
        if not written.strip():
            _append(path, header)
            return
        lines = written.split("\n")
        _check_header(path, lines[0], header)
        for number, line in enumerate(lines[1:], 2):
            if line.strip():
                entry = _entry(path, number, line)
                self.cost += Cost(1, entry["tokens_in"], entry["tokens_out"])
                self._note(entry)
        # An outage of an earlier run says nothing about this one.
        self._failures, self.stopped = 0, None
        if not written.endswith("\n"):
            _append(path, None)


def _told(entry: Mapping[str, Any]) -> str:
    if "bad_reply" in entry:
        raise BadReply(entry["bad_reply"], entry["reply"])
    if "failed" in entry:
        raise ModelUnavailable(entry["failed"])
    reply: str = entry["reply"]
    return reply


def _outcome(said: str, error: ModelError | None) -> dict[str, str]:
    if error is None:
        return {"reply": said}
    if isinstance(error, BadReply):
        return {"bad_reply": error.reason, "reply": said}
    return {"failed": str(error)}


def _key(prompt: Prompt) -> str:
    asked = json.dumps([prompt.system, prompt.text, prompt.max_tokens, prompt.temperature])
    return blake2b(asked.encode(), digest_size=16).hexdigest()


def _name(model: object) -> str:
    name = getattr(model, "name", None)
    return name if isinstance(name, str) else type(model).__name__


def _append(path: Path, entry: Mapping[str, Any] | None) -> None:
    """One line in one write, on disk when it returns: a process that is killed leaves whole lines."""
    line = "" if entry is None else json.dumps(entry, ensure_ascii=False)
    # A lone surrogate becomes its JSON escape.
    data = f"{line}\n".encode("utf-8", "backslashreplace")
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is no state of a rubric's learning: {error}") from error


def _check_header(path: Path, line: str, ours: Mapping[str, Any]) -> None:
    found = _object(line)
    if found is None or found.get("format") != _FORMAT:
        raise InvalidInput(f"{path} is no state of a rubric's learning, its first line is {_short(line)}")
    version = found.get("version")
    if isinstance(version, int) and version > _VERSION:
        raise SchemaTooNew(f"{path} has version {version}, this package reads up to {_VERSION}")
    if version != _VERSION:
        raise InvalidInput(f"{path} has version {version!r}, this package reads {_VERSION}")
    if found.get("model") != ours["model"]:
        raise InvalidInput(f"{path} has the replies of model {found.get('model')!r}, got {ours['model']!r}")


def _entry(path: Path, number: int, line: str) -> Mapping[str, Any]:
    found = _object(line)
    if found is None or not _complete(found):
        raise InvalidInput(
            f"line {number} of {path} is damaged; mend or delete it, and the others are kept. It is {_short(line)}"
        )
    return found


def _complete(found: Mapping[str, Any]) -> bool:
    outcomes = [found[name] for name in _OUTCOMES if name in found]
    texts = [found.get("purpose"), found.get("prompt"), *outcomes]
    counts = [found.get("tokens_in"), found.get("tokens_out")]
    return (
        bool(outcomes)
        and all(isinstance(text, str) for text in texts)
        and all(isinstance(count, int) and count >= 0 for count in counts)
        and ("reply" in found) != ("failed" in found)
    )


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _short(line: str) -> str:
    return repr(line if len(line) <= 200 else f"{line[:200]}… ({len(line)} characters)")
