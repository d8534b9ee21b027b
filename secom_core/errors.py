"""Every exception and warning of the package.

SecomError
├── InvalidInput (ValueError)      the caller's value cannot be used; the message carries it
│   ├── InvalidScope               a scope that is not a non-empty tuple of non-empty strings
│   ├── InvalidTranscript          text or a file that no reader understands
│   └── DuplicateId                an id that already belongs to another message of the scope
├── MissingExtra (ImportError)     an optional dependency is absent; carries the pip line
├── ModelError                     something went wrong while asking a model
│   ├── ModelUnavailable           no answer: network, time-out, refusal by the server
│   │   ├── ContextTooLong         the prompt is longer than the model's context
│   │   └── ModelPaused            it has kept callers waiting for nothing, and is left alone for a while
│   └── BadReply                   an answer that cannot be used; carries the reply
│       └── CutOff                 an answer that was cut off at its limit
└── StoreError                     the store cannot be read or written
    ├── SchemaTooNew               written by a later version of the package
    ├── StaleIndex                 an index kept with the bank that is not of its turns; made again
    └── StoreUnwritable            nothing can be written for now, as where the disk is full; nothing was
        └── StoreLocked            somebody else writes for longer than the caller would wait; nothing was written

DegradedWarning (UserWarning)      a better part failed and a local one took over; names the cause
"""

from __future__ import annotations

import inspect
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from typing import Final, TypeVar

from .processes import interpreter

T = TypeVar("T")
EXTRA_PYTHONS: Final[Mapping[str, tuple[int, int]]] = {"pydantic-ai": (3, 11)}
"""The extras that install nothing on a Python before this one."""
EXTRA_PACKAGES: Final[Mapping[str, tuple[str, tuple[int, int]]]] = {"serve": ("mcp", (2, 3))}
"""The extras whose package others hold back, as langchain-mcp-adapters does, and its earliest version that serves."""
_SHOWN = 200
_VALUE_SHOWN = 120
_COMES_AS: Final = re.compile(r"://[^\s/?#'\"]+@")
_QUERY: Final = re.compile(r"(?<=://)([^\s?'\"]{1,2000})\?[^\s'\"<>]+")
_BEARER: Final = re.compile(r"(\bbearer\s+)[\w.~+/=-]{16,}", re.I)
_OURS = {"secom_core", "langchain_secom", "llamaindex_secom", "openai_agents_secom", "pydantic_ai_secom"}
_BETWEEN = {
    *("langchain", "langchain_classic", "langchain_core", "langgraph", "langsmith", "llama_index"),
    *("llama_index_instrumentation", "agents", "pydantic_ai", "pydantic_graph", "anyio"),
    *("asyncio", "concurrent", "contextlib", "pydantic", "threading"),
}
"""Packages that call ours on behalf of somebody, at whose line a warning is to point."""


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


def shorten(value: object) -> str:
    """``value`` as an error shows it."""
    try:
        shown = repr(value)
    except RecursionError:
        shown = f"a {type(value).__name__} that is nested too deeply to be shown"
    except ValueError:
        # Python writes no whole number of more than 4,300 digits.
        shown = f"a {type(value).__name__} that is too long to be shown"
    return shown if len(shown) <= _VALUE_SHOWN else f"{shown[:_VALUE_SHOWN]}…"


def too_old_for(extra: str) -> str | None:
    """Why an extra cannot be used with this Python, or with a package that is installed; none if it can."""
    needed = EXTRA_PYTHONS.get(extra)
    if needed is not None and sys.version_info < needed:
        return f"needs Python {_dotted(needed)} or later, and this is Python {_dotted(sys.version_info[:3])}"
    package, least = EXTRA_PACKAGES.get(extra, ("", (0, 0)))
    found = _version_of(package) if package else None
    if found is None or found >= least:
        return None
    return (
        f"needs {package} {_dotted(least)} or later, and {package} {_dotted(found)} is installed, which another "
        f'package may need; run it in an environment of its own, with: pip install "secom-memory[{extra}]"'
    )


def _dotted(numbers: Iterable[int]) -> str:
    return ".".join(map(str, numbers))


def _version_of(package: str) -> tuple[int, ...] | None:
    # It takes longer to import than all of this module.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return tuple(map(int, re.findall(r"\d+", version(package))[:2]))
    except PackageNotFoundError:
        return None


class SecomError(Exception):
    """Base of every error that this package raises on purpose."""


class InvalidInput(SecomError, ValueError):
    """A value from the caller cannot be used. The message carries the value."""


class InvalidScope(InvalidInput):
    """A scope is not a non-empty tuple of non-empty strings."""


class InvalidTranscript(InvalidInput):
    """A transcript, dict or file that no reader understands."""


class DuplicateId(InvalidInput):
    """An id already belongs to a different message of the same scope."""


class MissingExtra(SecomError, ImportError):
    """An optional dependency is not installed.

    Args:
        what: the part that was asked for, such as ``"SentenceTransformerEmbedder"``.
        extra: the extra that brings the dependency, such as ``"dense"``.
    """

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        self.command = f'pip install "secom-memory[{extra}]"'
        why = too_old_for(extra) or f"needs an optional dependency. Install it with: {self.command}"
        super().__init__(f"{what} {why}")


class ModelError(SecomError):
    """A language model or embedder could not be used. The message holds no key that a client's error tells."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(without_keys(each) if isinstance(each, str) else each for each in args))


class ModelUnavailable(ModelError):
    """The model gave no answer: connection refused, time-out, or an error status."""


class ContextTooLong(ModelUnavailable):
    """The prompt is longer than the model's context; a shorter one may be answered."""


class ModelPaused(ModelUnavailable):
    """The model was not asked: it has kept callers waiting for nothing, and is left alone for a while.

    The message says until when, and what the last of them got.
    """


class BadReply(ModelError):
    """The model answered with something that cannot be used.

    Args:
        reason: what is wrong with the reply, in words that can be shown to the model; what it quotes of the reply or
            the conversation stands at its end, after a colon or "got".
        reply: the reply itself, whole; the message shows at most 200 characters of it.
        kept: what of it can be used all the same, where there is no better reply; ``None`` where nothing can.
    """

    def __init__(self, reason: str, reply: str, kept: object = None) -> None:
        self.reason = reason
        self.reply = reply
        self.kept = kept
        super().__init__(f"{reason}; the reply was: {_shorten(reply)!r}")

    @property
    def told(self) -> str:
        """What is wrong with the reply, and no word of it: warnings end in logs, and replies tell of users."""
        return re.split(r", got\b|: ", self.reason, maxsplit=1)[0] if self.reply else self.reason


class CutOff(BadReply):
    """The model was stopped at its limit before its answer was whole."""


class StoreError(SecomError):
    """The store cannot be read or written."""


class SchemaTooNew(StoreError):
    """The file was written by a later version of this package."""


class StaleIndex(StoreError):
    """An index that is kept with the bank, or a part of it, is not that of its turns; it is thrown away and made again.

    Args:
        reason: what does not fit.
        damaged: whether its bytes are; another process may have written a newer one otherwise.
    """

    def __init__(self, reason: str, *, damaged: bool = True) -> None:
        self.damaged = damaged
        super().__init__(reason)


class StoreUnwritable(StoreError):
    """Nothing can be written for now, as where the disk is full; nothing was. What is stored can be read."""


class StoreLocked(StoreUnwritable):
    """Somebody else held the store's lock for longer than was to be waited. Nothing was written; try again."""


class DegradedWarning(UserWarning):
    """A better part failed and a local one took over. The message names the cause.

    It holds no word of a model's reply, as warnings end in logs: who catches the warning finds that in its
    ``__cause__``, a `BadReply`. Nor does it hold what may be a key: of an address, who comes there and what stands
    behind its ``?`` is shown as ``…``.
    """


def warn_degraded(what: str, error: BaseException | None = None) -> None:
    """Warn that something went on without a better part, at the caller's line: outside these packages and frameworks.

    Args:
        what: what failed, and what takes over. A `ModelPaused` says so for all that fails in one pause, in the same
            words, so that Python shows it once.
        error: the cause, where the words do not name it yet. Of a `BadReply`, what is wrong, and nothing of the reply.
    """
    if error is not None:
        cause = error.told if isinstance(error, BadReply) else error
        what = str(error) if isinstance(error, ModelPaused) else f"{what}: {cause}"
    frame, roots = inspect.currentframe(), list[str]()
    while frame is not None:
        roots.append(frame.f_globals.get("__name__", "").partition(".")[0])
        frame = frame.f_back
    outside = [level for level, root in enumerate(roots, start=1) if root not in _OURS]
    callers = [level for level in outside if roots[level - 1] not in _BETWEEN] or outside or [1]
    warning = DegradedWarning(without_keys(what))
    warning.__cause__ = error
    warnings.warn(warning, stacklevel=callers[0])


def without_keys(text: str) -> str:
    """A text without what lets somebody in, which errors of clients hold: keys stand in addresses and headers."""
    return _QUERY.sub(r"\1?…", _BEARER.sub(r"\1…", _COMES_AS.sub("://…@", text)))


def traced(error: BaseException) -> str:
    """An error with where it was raised and its causes, as a log may hold it: without keys."""
    return without_keys("".join(traceback.format_exception(error)).rstrip())


def attempted(part: str, make: Callable[[], T], what: str, *, waits: bool = True) -> T | None:
    """What ``make`` gives; nothing where it raises anything, with a `DegradedWarning` that names the cause.

    Args:
        part: somebody else's part that is called, such as ``"the embedder"``.
        make: calls it.
        what: what failed, and what takes over.
        waits: whether it may wait for anything, while other threads get on.
    """
    try:
        with interpreter.put_down() if waits else nullcontext():
            return make()
    except Exception as error:  # noqa: BLE001 - anybody's part may raise anything
        if isinstance(error, ModelError):
            warn_degraded(what, error)
        else:
            warn_degraded(f"{what}: {part} raised {type(error).__name__}: {error}")
        return None
