"""One value in several notations: a fact that is said again in another one has not changed."""

from __future__ import annotations

import pytest

from secom_core.changes import links_of, statements_of
from secom_core.changes.notation import is_same
from secom_core.changes.values import values_of


def value_in(text: str) -> str:
    """The last value of a text that is no name."""
    return [each.value for each in values_of(text) if each.sort != "name"][-1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It is on March 28.", "It is on the 28th of March."),
        ("It is on March 28.", "It is on 28 March."),
        ("It is on 2025-03-28.", "It is on Mar. 28."),
        ("Es ist am 28. März.", "Es ist am 2025-03-28."),
        ("Es el 4 de octubre.", "It is on Oct 4."),
        ("定在3月28日。", "It is on March 28."),
        ("It costs 1,200 euros.", "It costs €1200."),
        ("Es kostet 1.200 €.", "It costs 1,200.00 euros."),
        ("Il coûte 1 200 euros.", "It costs 1200 euro."),
        ("It costs $1.2k.", "It costs 1200 dollars."),
        ("家賃は3万円です。", "家賃は30000円です。"),
        ("It starts at 3pm.", "It starts at 15:00."),
        ("It starts at 3:00 pm.", "Es beginnt um 15 Uhr."),
        ("It starts at 3:30.", "It starts at 15:30."),
        ("3点半开始。", "It starts at 3:30."),
        ("It is 15%.", "It is 15 percent."),
        ("It weighs 5.20 kg.", "Es wiegt 5,2 kg."),
        ("It has 1,200 pages.", "Es hat 1.200 Seiten."),
        ("我有2万8。", "我有28000。"),
    ],
)
def test_the_same_in_another_notation_is_the_same(one: str, other: str) -> None:
    assert is_same(value_in(one), value_in(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It is on March 28.", "It is on March 29."),
        ("It ends on March 28, 2025.", "It ends on March 28, 2026."),
        ("It costs 1,200 euros.", "It costs 1,200 dollars."),
        ("It costs 1,200 euros.", "It costs 1.20 euros."),
        ("It starts at 3 am.", "It starts at 3 pm."),
        ("It starts at 3:30.", "It starts at 15:45."),
        ("It runs on 3.10.", "It runs on 3.12."),
    ],
)
def test_other_values_are_not_the_same(one: str, other: str) -> None:
    assert not is_same(value_in(one), value_in(other))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The app release date is March 28.", "The app release date is now 28 March, confirmed."),
        ("The holiday budget for Lisbon is 1,200 euros.", "The holiday budget for Lisbon is now €1200."),
        ("My rent is 950 euros.", "My rent is now 950,00 euros, in the new contract."),
        ("The team call deadline is 3pm.", "The team call deadline was changed to 15:00 in the calendar."),
        ("Die Miete beträgt 1.200 Euro im Monat.", "Die Miete beträgt jetzt 1200 € im Monat."),
        ("La boda es el 4 de octubre.", "La boda ahora es el 4 octubre."),
    ],
)
def test_what_is_said_again_in_another_notation_is_not_replaced(older: str, newer: str) -> None:
    found = links_of(statements_of(newer), statements_of(older), lambda _: 1.0)
    assert [each.kind for each in found if each.kind != "confirmed"] == []


@pytest.mark.parametrize("text", ["She is in her 30s.", "In my mid-20s.", "Music of the '90s.", "In the early 80s."])
def test_an_age_is_no_duration(text: str) -> None:
    assert [each for each in values_of(text) if each.sort != "name"] == []
