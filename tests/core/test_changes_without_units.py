"""A new value that is told without its unit takes the place of the old one; a number of something else does not."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from secom_core import MemoryBank, Message

ANN = ("acme", "ann")
MAY = datetime(2025, 5, 3, 12, tzinfo=timezone.utc)
REPLY = "Boards are cut along the grain, and the saw wants a fence. " * 70


def linked(*texts: str) -> list[tuple[int, int]]:
    """Which of the texts, said a week after the other and answered at length, replaces which: the older first."""
    with MemoryBank.open(changes=True) as bank:
        ids = [
            bank.remember(
                ANN,
                [Message(text, "user", at=MAY + timedelta(weeks=week)), Message(REPLY, "assistant")],
                session=f"week-{week}",
                close=True,
            ).turn_ids[0]
            for week, text in enumerate(texts)
        ]
        return sorted((ids.index(each.older), ids.index(each.newer)) for each in bank.changes(ANN))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I pay 900 euros rent.", "The rent is 950 now."),
        ("My suitcase weighs 14 kilos.", "The suitcase weighs 17 now."),
        ("I go to the gym at 6 pm on Mondays.", "I go to the gym at 7 now."),
        ("My daughter is 110 cm tall.", "My daughter is 118 tall now."),
        ("The laptop budget is 1,500 dollars.", "The laptop budget went up to 1,800."),
        ("Ich zahle 900 Euro Miete.", "Die Miete beträgt jetzt 950."),
        ("Für die Wohnung zahlen wir 1400 Euro.", "Die Wohnung kostet jetzt 1550."),
        ("Mein Arbeitsweg ist 12 Kilometer lang.", "Mein Arbeitsweg ist jetzt 19 lang."),
        ("Mon trajet fait 12 kilomètres.", "Mon trajet fait maintenant 19."),
        ("Le budget de la cuisine est de 8 000 euros.", "Le budget de la cuisine est passé à 9 500."),
        ("Pago 900 euros de alquiler.", "El alquiler ahora es de 950."),
        ("Mi sobrino tiene 7 años.", "Mi sobrino ahora tiene 8."),
        ("我每个月房租900块。", "房租现在950了。"),
        ("我的行李箱重14公斤。", "行李箱现在重17。"),
        ("家賃は月9万円です。", "家賃は今は9万5千です。"),
        ("ヨガ教室は18時に始まります。", "ヨガ教室は今は19に始まります。"),
        ("저는 월세로 90만 원을 내요.", "월세가 이제 95만이에요."),
        ("조카는 7살이고 기차를 좋아해요.", "조카는 이제 8이에요."),
    ],
)
def test_a_value_without_its_unit_replaces_the_one_with_it(older: str, newer: str) -> None:
    assert linked(older, newer) == [(0, 1)]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The book costs 15 euros.", "It costs 20 now."),
        ("I pay 90 euros rent for the garage.", "The rent is 950 now."),
        ("My sister pays 900 euros rent.", "The rent is 950 now."),
        ("I go to the gym at 6 pm.", "The gym is 20 now."),
        ("The film began at 8 pm.", "The film is number 9 now."),
        ("My commute takes 40 minutes for 12 kilometres.", "My commute is 19 now."),
        ("I pay 900 euros rent.", "The rent of the office is 950 now."),
        ("The oven needs 45 minutes.", "The oven is 10 years old now."),
        ("Mein Neffe ist 7 Jahre alt.", "Das Handy ist jetzt 3 Jahre alt."),
        ("房租现在950了。", "我侄子现在8了。"),
        ("家賃は今は95000です。", "電気代は今は11000です。"),
        ("湖まで5キロです。", "椅子は今は8キロです。"),
        ("호수까지 5킬로미터예요.", "의자는 이제 8킬로예요."),
    ],
)
def test_a_number_of_something_else_replaces_nothing(older: str, newer: str) -> None:
    assert linked(older, newer) == []


def test_the_value_of_what_the_number_names_alone_is_replaced() -> None:
    office = "We pay 1,100 euros rent for the office of my firm."
    assert linked("I pay 900 euros rent.", office, "The rent is 950 now.", "The rent is 980 now.") == [(0, 2), (2, 3)]
