"""Texts that an embedder refuses: the others of their request get vectors all the same, and long ones are cut."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np

from ..errors import BadReply, ContextTooLong, ModelPaused, ModelUnavailable, warn_degraded
from ..llm.limits import note_too_long, room, says_too_long
from ..llm.pauses import EMBEDDER, check_pause, note_answer, note_wait
from ..protocols import Embedder, Vectors
from ..text.patterns import regex
from ..text.terms import count_tokens
from .rows import model_rows

R = TypeVar("R")
Send: TypeAlias = "Callable[[Sequence[tuple[int, str]]], Sequence[R]]"
"""Gives one result for each text; the texts come with their places."""

PROBE: Final = "a"
"""A text that is never at fault."""
_SHORT: Final = 200  # characters; a text that is refused at this length is not refused for its length
_MOST: Final = 16
"""How many texts of a request may be refused whatever their length, where that is more than half of them, before the
whole of it has failed."""
_HURRIED: Final = regex(r"rate[ _-]?limit|too many requests|throttl|quota|resource[ _]exhausted|overloaded", re.I)
"""As services say that they are asked for too much at once; where their error has no status, that tells it."""
_OF_TEXTS: Final = (400, 413, 422, 500)
"""The statuses that may be due to what was sent. Servers that stumble over one text send 500."""
_UNLIMITED: Final = 1 << 40


def vectors_of(embedder: Embedder, embed: Callable[[Sequence[str]], Any], texts: Sequence[str]) -> Vectors:
    """The vectors of texts, shape ``(len(texts), d)``, as `model_rows` gives them.

    A text that is refused for its length is embedded by its beginning. One that is refused altogether, while others are
    taken, gets zeros, which are similar to nothing. After two failures in a row that each took a second or more, the
    embedder is not asked for a while.

    Args:
        embedder: whose method ``embed`` is.
        embed: makes the vectors.
        texts: what is embedded.

    Raises:
        ModelPaused: it was not asked.
        Exception: what the embedder raises, or `BadReply`, where it is not the texts that are at fault.

    Warns:
        DegradedWarning: texts were refused.
    """
    if not texts or getattr(embedder, "handles_refusals", False):
        return model_rows(embed(texts), len(texts), embedder.name)
    check_pause(embedder)
    began = time.monotonic()

    def send(run: Sequence[tuple[int, str]]) -> list[Vectors]:
        return list(model_rows(embed([text for _, text in run]), len(run), embedder.name))

    try:
        rows = sent(embedder, f"the embedder {embedder.name!r}", send, lambda: takes(lambda: send([(0, PROBE)])), texts)
    except Exception as error:
        note_wait(embedder, time.monotonic() - began, error, kind=EMBEDDER)
        raise
    note_answer(embedder)
    made = [row for row in rows if row is not None] or send([(0, PROBE)])
    if len(widths := {len(row) for row in made}) > 1:
        raise BadReply(f"{embedder.name} gave vectors of {len(widths)} lengths", "")
    nothing = np.zeros_like(made[0])
    return np.stack([nothing if row is None else row for row in rows])


def sent(
    service: object, name: str, send: Send[R], at_fault: Callable[[], bool], texts: Sequence[str]
) -> list[R | None]:
    """What a service makes of each text: of its beginning where it is too long, and nothing where it is refused.

    Args:
        service: what remembers how long a text may be.
        name: what a warning calls it.
        send: sends some of the texts.
        at_fault: tells whether the texts are, once they were refused, and the service would take others.
        texts: all of them, which go together unless they are refused.

    Raises:
        Exception: what ``send`` raises, where it is not the texts that are at fault.

    Warns:
        DegradedWarning: texts were refused.
    """
    return _Sending(service, name, send).all(texts, at_fault)


def takes(ask: Callable[[], object]) -> bool:
    """Whether a service answers."""
    try:
        ask()
    except Exception:  # noqa: BLE001 - anybody's part may raise anything
        return False
    return True


class _Sending(Generic[R]):
    def __init__(self, service: object, name: str, send: Send[R]) -> None:
        self._service, self._name, self._send = service, name, send
        self._refused, self._most = 0, _MOST
        self._is_doubtful = False
        self._cut: Exception | None = None

    def all(self, texts: Sequence[str], at_fault: Callable[[], bool]) -> list[R | None]:
        run = list(enumerate(texts))
        try:
            return [*self._send(self._fitting(run))]
        except Exception as error:
            if not (_may_be_of_texts(error) and at_fault()):
                raise
            # One that failed by chance is taken now.
            self._most = max(_MOST, len(texts) // 2)
            made = self._some(run) if len(run) == 1 and not says_too_long(str(error)) else self._parts(run, error)
            if self._is_doubtful and not at_fault():
                raise  # it has failed meanwhile
            if self._cut is not None:
                warn_degraded(f"{self._name} gets no more than the beginning of long texts", self._cut)
            if self._refused:
                what = f"{self._name} refuses {self._refused} of {len(texts)} texts"
                warn_degraded(f"{what}, which are found by words alone until `rebuild` sends them again", error)
            return made

    def _some(self, run: Sequence[tuple[int, str]]) -> list[R | None]:
        try:
            return [*self._send(self._fitting(run))]
        except Exception as error:
            if not _may_be_of_texts(error):
                raise
            return self._parts(run, error)

    def _parts(self, run: Sequence[tuple[int, str]], error: Exception) -> list[R | None]:
        half = len(run) // 2
        return [*self._some(run[:half]), *self._some(run[half:])] if half else [self._beginning(*run[0], error)]

    def _beginning(self, place: int, text: str, error: Exception) -> R | None:
        longer = text
        while len(longer) > _SHORT:
            [(_, longer)] = self._fitting([(place, text)])
            text = longer[: max(len(longer) // 2, _SHORT)]
            try:
                [made] = self._send([(place, text)])
            except Exception as another:
                if not _may_be_of_texts(another):
                    raise
                error, longer = another, text
                continue
            if says_too_long(str(error)):
                note_too_long(self._service, count_tokens(longer))
            else:
                self._is_doubtful = True
            self._cut = error
            return made
        self._refused += 1
        self._is_doubtful = True
        if self._refused > self._most:
            raise error
        return None

    def _fitting(self, run: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
        """The texts, cut where longer ones were refused."""
        most = room(self._service, _UNLIMITED)
        return [(place, _cut(text, most)) for place, text in run] if most < _UNLIMITED else list(run)


def _cut(text: str, most: int) -> str:
    tokens = count_tokens(text)
    return text if tokens <= most else text[: len(text) * most // tokens]


def _may_be_of_texts(error: BaseException) -> bool:
    """Whether what was sent may be at fault, and not the network, the key, or how much was asked."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (OSError, ModelPaused)):
            return False
        status = _status(cause)
        if status not in _OF_TEXTS if status is not None else _HURRIED.search(str(cause)):
            return False
        earlier = cause.__cause__ or cause.__context__
        if earlier is None and isinstance(cause, ModelUnavailable) and not isinstance(cause, ContextTooLong):
            return False
        cause = earlier
    return True


def _status(error: BaseException) -> int | None:
    """The HTTP status that an error of a service carries."""
    answer = getattr(error, "response", None)
    told = [getattr(error, name, None) for name in ("status_code", "http_status", "code")]
    told.append(getattr(answer, "status_code", None))
    if isinstance(answer, Mapping) and isinstance(about := answer.get("ResponseMetadata"), Mapping):  # of boto3
        told.append(about.get("HTTPStatusCode"))
    return next((int(each) for each in told if isinstance(each, int) and 100 <= each < 600), None)
