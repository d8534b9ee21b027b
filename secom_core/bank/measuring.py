"""A bank's methods as operations that are measured."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from ..memory import Recall
from ..processes import interpreter, ready_openmp
from ..telemetry.spans import Span
from .capabilities import Capabilities
from .records import Remembered

B = TypeVar("B", bound=Capabilities)
P = ParamSpec("P")
T = TypeVar("T")


def measured(name: str) -> Callable[[Callable[Concatenate[B, P], T]], Callable[Concatenate[B, P], T]]:
    """Make a method an operation of its bank; a `Recall` or `Remembered` that it gives says what it took."""

    def decorated(method: Callable[Concatenate[B, P], T]) -> Callable[Concatenate[B, P], T]:
        @wraps(method)
        def timed(bank: B, /, *args: P.args, **kwargs: P.kwargs) -> T:
            inside = bank._inside
            # Its segmenter, embedder or reranker may be a framework's.
            ready_openmp()
            # A server is waited for, mostly.
            baton = interpreter.held(soon=name == "recall") if inside.is_local else nullcontext()
            with inside.operations.measured(name) as (operation, span), baton:
                found: Any = method(bank, *args, **kwargs)
                _describe(span, found)
                if isinstance(found, (Recall, Remembered)):
                    found = replace(found, work=operation.work)
                return cast("T", found)

        return timed

    return decorated


def _describe(span: Span, found: object) -> None:
    if isinstance(found, Recall):
        span.set(hits=len(found.hits), tokens=found.tokens, confidence=found.confidence)
        span.show(query=found.query, block=found.text)
    elif isinstance(found, Remembered):
        span.set(new=found.new)
