"""Written times, read alike on every Python that the package runs on (3.10's own parser takes few forms)."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from secom_core import InvalidInput, MemoryBank, Message
from secom_core.readers import read_messages
from secom_core.times import iso_time, written_time

UTC = timezone.utc
TEXTS = {
    "2025-06-01T14:05Z": datetime(2025, 6, 1, 14, 5, tzinfo=UTC),
    "2025-06-01t14:05:00z": datetime(2025, 6, 1, 14, 5, tzinfo=UTC),
    "2025-06-01T14:05:00.1Z": datetime(2025, 6, 1, 14, 5, 0, 100_000, UTC),
    "2025-06-01T14:05:00.123456789Z": datetime(2025, 6, 1, 14, 5, 0, 123_456, UTC),
    "20250601T140500Z": datetime(2025, 6, 1, 14, 5, tzinfo=UTC),
    "2025-06-01 14:05:00+0200": datetime(2025, 6, 1, 14, 5, tzinfo=timezone(timedelta(hours=2))),
    "2025-W22-7T14": datetime(2025, 6, 1, 14),
    " 2025-06-01 ": datetime(2025, 6, 1),
}


@pytest.mark.parametrize("text", TEXTS)
def test_iso_text_means_the_same_everywhere(text: str) -> None:
    assert iso_time(text) == written_time(text) == TEXTS[text]
    assert iso_time(text).tzinfo == TEXTS[text].tzinfo


def test_numbers_are_seconds_and_from_1973_on_milliseconds() -> None:
    at = datetime(2025, 6, 1, 14, 5, tzinfo=UTC)
    assert written_time(at.timestamp()) == written_time(int(at.timestamp() * 1000)) == written_time(at) == at
    assert written_time(None) is None


@pytest.mark.parametrize("value", ["yesterday", "", "2025-06-31", "1" * 5000, True, float("nan"), 10**400, [2025]])
def test_what_is_no_time_is_refused_with_its_value(value: object) -> None:
    with pytest.raises(InvalidInput, match=r"a timestamp is a datetime.* not "):
        written_time(value)


@pytest.mark.parametrize("text", [each for each in TEXTS if each.endswith("Z")])
def test_messages_and_filters_read_them(text: str) -> None:
    (message,) = read_messages([{"role": "user", "content": "The boiler was repaired.", "timestamp": text}])
    assert message.at == TEXTS[text]
    with MemoryBank.open(":memory:") as bank:
        bank.remember(("a",), [message], session="s")
        bank.remember(("a",), [Message("The boiler broke.", "user", at=TEXTS[text] - timedelta(days=1))], session="r")
        found = bank.recall(("a",), "boiler", where={"at": {"ge": text}})
        assert [turn.text for hit in found.hits for turn in hit.turns] == ["user: The boiler was repaired."]


@pytest.mark.parametrize("day", ["2025-06-01", "20250601", "2025-W22-7"])
def test_a_filter_by_a_day_holds_all_of_it(day: str) -> None:
    with MemoryBank.open(":memory:") as bank:
        bank.remember(("a",), [Message("The boiler broke.", "user", at=TEXTS["2025-06-01T14:05Z"])], session="s")
        assert bank.recall(("a",), "boiler", where={"at": {"eq": day}}).hits
