"""Spans and metrics of OpenTelemetry, where the application has its SDK; names, counts and times, and no words.

What is asked and shown is in them where ``OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`` is ``true``, the
variable by which OpenTelemetry's instrumentations of language models are told so.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final, TypeVar

from ..errors import attempted
from .work import Work

T = TypeVar("T")

_SDK: Final = "opentelemetry.sdk"
_CONTENTS: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_PREFIX: Final = "secom"


class Span:
    """A span, or what stands for one where nobody follows.

    Args:
        name: of the operation.
        span: OpenTelemetry's; none where its SDK is not loaded.
    """

    def __init__(self, name: str, span: Any = None) -> None:
        self._name, self._span = name, span

    def set(self, **attributes: str | int | float) -> None:
        """Attributes, by their names without ``secom.``."""
        if self._span is not None:
            self._span.set_attributes({f"{_PREFIX}.{name}": value for name, value in attributes.items()})

    def show(self, **texts: str) -> None:
        """As `set`, of what somebody said: only where contents are wanted."""
        if self._span is not None and os.environ.get(_CONTENTS, "").casefold() == "true":
            self.set(**texts)

    def took(self, work: Work) -> None:
        """Say what an operation took, in its span and in the metrics."""
        if self._span is None:
            return
        asked = {"calls": work.calls, "tokens_in": work.tokens_in, "tokens_out": work.tokens_out}
        if work.rerank_calls:
            asked |= {f"rerank_{each}": getattr(work, f"rerank_{each}") for each in ("calls", "texts", "tokens")}
        self.set(**asked)
        instruments, named = _instruments(), {f"{_PREFIX}.operation": self._name}
        instruments["duration"].record(work.milliseconds / 1000, named)
        for name, count in asked.items():
            if count:
                instruments[name].add(count, named)


@contextmanager
def span_of(name: str) -> Iterator[Span]:
    """A span while something is done, below the one that is current; an exception ends it as an error.

    What follows spans may fail, and what is done goes on.
    """
    if _SDK not in sys.modules:
        yield Span(name)
        return
    # Nothing is imported here that the application has not.
    from opentelemetry import trace

    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        # The SDK is loaded, as LangChain's client for traces does, and nobody follows: there may be metrics.
        yield Span(name, trace.INVALID_SPAN)
        return
    tracer = trace.get_tracer(_PREFIX)
    span = _followed(lambda: tracer.start_span(f"{_PREFIX} {name}")) or trace.INVALID_SPAN
    try:
        # What an error says may hold somebody's words.
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield Span(name, span)
    except Exception as error:
        span.set_status(trace.StatusCode.ERROR, type(error).__name__)
        raise
    finally:
        _followed(span.end)


def _followed(make: Callable[[], T]) -> T | None:
    return attempted("a processor of OpenTelemetry's", make, "something was done that is not traced", waits=False)


@lru_cache(maxsize=1)
def _instruments() -> dict[str, Any]:
    from opentelemetry import metrics

    meter = metrics.get_meter(_PREFIX)
    return {
        "duration": meter.create_histogram(f"{_PREFIX}.operation.duration", "s", "How long an operation took"),
        "calls": meter.create_counter(f"{_PREFIX}.model.calls", "{call}", "Prompts asked of language models"),
        "tokens_in": meter.create_counter(f"{_PREFIX}.model.tokens_in", "{token}", "Tokens of prompts"),
        "tokens_out": meter.create_counter(f"{_PREFIX}.model.tokens_out", "{token}", "Tokens of replies"),
        "rerank_calls": meter.create_counter(f"{_PREFIX}.rerank.calls", "{call}", "Calls of rerankers"),
        "rerank_texts": meter.create_counter(f"{_PREFIX}.rerank.texts", "{text}", "Texts that rerankers judged"),
        "rerank_tokens": meter.create_counter(f"{_PREFIX}.rerank.tokens", "{token}", "Their tokens, with the query"),
    }
