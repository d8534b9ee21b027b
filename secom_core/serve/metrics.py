"""What a server counts, for Prometheus: calls, how long they took, and how the bank is. Nobody's words or names."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from ..bank import Health

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._calls = Counter("secom_calls", "Calls answered.", ("path", "status"), registry=self._registry)
        self._took = Histogram(
            "secom_call_seconds", "How long calls took.", ("path",), buckets=_SECONDS, registry=self._registry
        )
        self.running = Gauge("secom_calls_running", "Calls that run or wait now.", registry=self._registry)
        self._bank = {
            name: Gauge(f"secom_bank_{name}", says, registry=self._registry)
            for name, says in {
                "writable": "1 where the store can be written to.",
                "queued_sessions": "Sessions that wait for the background writer.",
                "underived_sessions": "Sessions of the store that wait to be derived.",
                "scopes_loaded": "Scopes whose index is in memory.",
                "bytes_loaded": "How much memory these indexes take, about.",
                "turns_taken_in": "Turns taken in since the start.",
                "model_calls": "Calls of language models since the start.",
            }.items()
        }

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count a call by the route that it took, never by its own path, of which there are any number."""
        self._calls.labels(path, str(status)).inc()
        self._took.labels(path).observe(seconds)

    def text(self, health: Health) -> bytes:
        """Everything as Prometheus reads it."""
        values = {
            "writable": int(health.writable),
            "queued_sessions": health.queued,
            "underived_sessions": health.underived or 0,
            "scopes_loaded": health.scopes_loaded,
            "bytes_loaded": health.bytes_loaded,
            "turns_taken_in": health.turns,
            "model_calls": health.cost.calls,
        }
        for name, value in values.items():
            self._bank[name].set(value)
        return generate_latest(self._registry)
