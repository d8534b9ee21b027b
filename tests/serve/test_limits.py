"""What one token may ask for, and that no other token pays for it."""

from __future__ import annotations

import threading
from pathlib import Path

import httpx
import pytest
from callers import called

from benchmarks.served import serving
from secom_core.serve.usage import TooMany, Usage


def test_calls_in_a_minute_are_counted_by_token_and_come_back_evenly() -> None:
    now = 0.0
    usage = Usage(60, 10, clock=lambda: now)
    for _ in range(60):
        with usage.one("alice"):
            pass
    with pytest.raises(TooMany, match="60 calls in a minute; wait 1 s") as raised, usage.one("alice"):
        pass
    assert raised.value.retry_after == 1
    with usage.one("bob"):
        pass
    now = 1.0
    with usage.one("alice"):
        pass
    with pytest.raises(TooMany), usage.one("alice"):
        pass


def test_calls_at_once_are_counted_and_given_back_whatever_happens() -> None:
    usage = Usage(1_000, 2)
    with usage.one("alice"), usage.one("alice"):
        with pytest.raises(TooMany, match="2 calls of this token run already"), usage.one("alice"):
            pass
        with usage.one("bob"):
            pass
    with pytest.raises(ZeroDivisionError), usage.one("alice"):
        _ = 1 / 0
    with usage.one("alice"), usage.one("alice"):
        pass


def test_any_number_of_names_takes_no_more_than_so_much_memory() -> None:
    usage = Usage(60, 1)
    for number in range(20_000):
        with usage.one(str(number)):
            pass
    assert len(usage._used) <= 10_000


@pytest.mark.slow
def test_a_token_that_asks_too_often_is_told_to_wait_and_others_are_not(place: Path) -> None:
    environ = {"SECOM_SERVE_MAX_PER_MINUTE": "5"}
    with (
        serving(place, "--tokens-file", "tokens.jsonl", environ=environ) as served,
        called(served, ("acme", "alice")) as eager,
        called(served, ("acme", "bob")) as other,
    ):
        answers = [eager.get("/v1/stats") for _ in range(8)]
        assert [each.status_code for each in answers] == [200] * 5 + [429] * 3
        assert int(answers[-1].headers["retry-after"]) >= 1
        other.ok(other.get("/v1/stats"))


@pytest.mark.slow
def test_a_token_that_asks_for_too_much_at_once_is_told_so(place: Path) -> None:
    environ = {"SECOM_SERVE_MAX_CONCURRENT": "1"}
    statuses: list[int] = []
    with (
        serving(place, "--tokens-file", "tokens.jsonl", environ=environ) as served,
        called(served, ("acme", "alice")) as eager,
    ):
        eager.remember(*(f"I was in town number {number}." for number in range(300)))

        def ask() -> None:
            headers = {"authorization": f"Bearer {eager.token}"}
            found = httpx.post(f"{served.url}/v1/recall", json={"query": "town"}, headers=headers, timeout=30)
            statuses.append(found.status_code)

        threads = [threading.Thread(target=ask) for _ in range(12)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert set(statuses) == {200, 429}
        eager.ok(eager.get("/v1/stats"))
