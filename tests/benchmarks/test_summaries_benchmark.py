"""The benchmark of summaries: few facts are lost to models that misbehave, and no owner of one."""

from __future__ import annotations

import pytest

from benchmarks.summaries import FACTS, SESSIONS, measured


def test_every_fact_is_said_once_and_in_order() -> None:
    said = [message for messages in SESSIONS for message in messages if message.text in {fact.said for fact in FACTS}]
    assert [(message.role, message.text) for message in said] == [(fact.who, fact.said) for fact in FACTS]
    assert len(SESSIONS) == 12


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "least"), [("cut off for good", 17), ("headings", 17), ("no model", 15)])
def test_little_is_lost_to(kind: str, least: int) -> None:
    found = measured(kind)
    assert found["kept"] >= least
    assert found["without an owner"] == 0
