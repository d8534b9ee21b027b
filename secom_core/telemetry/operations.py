"""Operations of a bank, measured: stages and calls of models note themselves with the one that is under way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Final, ParamSpec, TypeVar

from ..processes import ForkLock
from .spans import Span, span_of
from .work import Work

P = ParamSpec("P")
T = TypeVar("T")

OTHER: Final = "other"


class Measured:
    """An operation that is under way.

    Args:
        name: what is done.
    """

    def __init__(self, name: str) -> None:
        self.name, self._thread = name, threading.get_ident()
        self._stages: dict[str, float] = {}
        self._under_way = [OTHER]
        self._since = time.perf_counter()
        self._asked, self._reranked = (0, 0, 0), (0, 0, 0)
        self._lock = threading.Lock()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time what is done within, and stop the clock of the stage around it."""
        # The threads that help an operation work while it waits for them.
        if threading.get_ident() != self._thread:
            yield
            return
        self._note()
        self._under_way.append(name)
        try:
            with span_of(f"{self.name} {name}"):
                yield
        finally:
            self._note()
            self._under_way.pop()

    def _note(self) -> None:
        now = time.perf_counter()
        name = self._under_way[-1]
        self._stages[name] = self._stages.get(name, 0.0) + (now - self._since) * 1000
        self._since = now

    def asked(self, tokens_in: int, tokens_out: int) -> None:
        """Count a call of a language model; from any thread."""
        with self._lock:
            calls, before_in, before_out = self._asked
            self._asked = calls + 1, before_in + tokens_in, before_out + tokens_out

    def reranked(self, texts: int, tokens: int) -> None:
        """Count a call of a reranker; from any thread."""
        with self._lock:
            calls, before_texts, before_tokens = self._reranked
            self._reranked = calls + 1, before_texts + texts, before_tokens + tokens

    @property
    def work(self) -> Work:
        """What it took so far."""
        self._note()
        return Work(1, *self._asked, dict(self._stages), *self._reranked)


_under_way: ContextVar[Measured | None] = ContextVar("_under_way", default=None)


def staged(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function a stage of the operation that calls it, where one does."""

    def decorated(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def timed(*args: P.args, **kwargs: P.kwargs) -> T:
            measured = _under_way.get()
            if measured is None:
                return function(*args, **kwargs)
            with measured.stage(name):
                return function(*args, **kwargs)

        return timed

    return decorated


def count_model_call(tokens_in: int, tokens_out: int) -> None:
    """Count a call of a language model for the operation that makes it."""
    measured = _under_way.get()
    if measured is not None:
        measured.asked(tokens_in, tokens_out)


def count_reranking(texts: int, tokens: int) -> None:
    """Count a call of a reranker for the operation that makes it."""
    measured = _under_way.get()
    if measured is not None:
        measured.reranked(texts, tokens)


class Operations:
    """What the operations of a bank took in this process, by their names."""

    def __init__(self) -> None:
        self._sums: dict[str, Work] = {}
        self._lock = ForkLock()

    @property
    def sums(self) -> dict[str, Work]:
        """What they took, those that failed included."""
        with self._lock:
            return dict(self._sums)

    @contextmanager
    def measured(self, name: str) -> Iterator[tuple[Measured, Span]]:
        """Measure what is done within. Of one within another, the time counts for both and the calls for it alone."""
        measured = Measured(name)
        token = _under_way.set(measured)
        try:
            with span_of(name) as span:
                try:
                    yield measured, span
                finally:
                    span.took(measured.work)
        finally:
            _under_way.reset(token)
            self._add(name, measured.work)

    def _add(self, name: str, work: Work) -> None:
        with self._lock:
            self._sums[name] = self._sums.get(name, Work()) + work
