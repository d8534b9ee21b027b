"""What a bank shows of itself: what stands, what would be forgotten, and what a score is made of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from secom_core import MemoryBank

SCOPE = ("acme", "mara")
SAID = [
    ("user", "Please always answer in metres."),
    ("assistant", "I will."),
    ("user", "I am allergic to walnuts."),
    ("assistant", "Noted."),
    ("user", "The oak worktop comes on Thursday."),
    ("assistant", "Oil it twice a year."),
]


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(str(tmp_path / "memory.db")) as bank:
        at = datetime(2025, 1, 12, tzinfo=timezone.utc)
        bank.remember(SCOPE, SAID, session="one", at=at, close=True)
        bank.remember(SCOPE, [("user", "Terrazzo instead of oak.")], session="two", at=at.replace(month=3))
        yield bank


def test_what_stands_is_told_by_its_kind(bank: MemoryBank) -> None:
    found = {each.kind: each.passage.text for each in bank.standing(SCOPE)}
    assert found == {"instruction": "Please always answer in metres.", "preference": "I am allergic to walnuts."}
    assert bank.standing(("acme", "other")) == []


def test_what_was_corrected_or_forgotten_stands_no_more(bank: MemoryBank) -> None:
    turns = bank.turns(SCOPE, "one")
    bank.correct(SCOPE, turns[0].id, None)
    assert [each.kind for each in bank.standing(SCOPE)] == ["preference"]
    bank.forget(SCOPE, turn_ids=[turns[1].id])
    assert bank.standing(SCOPE) == []


@pytest.mark.parametrize(
    "what",
    [{}, {"session": "one"}, {"before": datetime(2025, 2, 1, tzinfo=timezone.utc)}, {"session": "none"}, "turn"],
    ids=str,
)
def test_what_would_be_forgotten_is_what_is_forgotten(bank: MemoryBank, what: dict[str, Any] | str) -> None:
    named = {"turn_ids": [bank.turns(SCOPE, "one")[1].id]} if isinstance(what, str) else what
    before = bank.turns(SCOPE)
    doomed = bank.would_forget(SCOPE, **named)
    assert bank.turns(SCOPE) == before
    assert bank.forget(SCOPE, **named) == len(doomed)
    left = {turn.id for turn in bank.turns(SCOPE)}
    assert {turn.id for turn in before} - left == {turn.id for turn in doomed}
    assert bank.would_forget(("acme", "other")) == []


def test_weights_add_up_to_the_score(bank: MemoryBank) -> None:
    for hit in bank.recall(SCOPE, "Which worktop comes on Thursday?").hits:
        weights = bank.weights_of(hit)
        assert weights.keys() == hit.signals.keys()
        if hit.kind == "relevant" and hit.signals:
            assert sum(weights[name] * value for name, value in hit.signals.items()) == pytest.approx(
                hit.score, abs=1e-4
            )


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Vivo en Valencia.", "Nos hemos mudado: ahora vivimos en Zaragoza."),
        ("Llámame Lu.", "Llámame Luci."),
        ("J'habite à Nantes.", "On habite maintenant à Rennes."),
        ("Je travaille chez BNP.", "Je travaille maintenant dans une clinique."),
        ("Vivo a Torino.", "Ci siamo trasferiti: ora viviamo a Genova."),
        ("Lavoro in banca.", "Adesso lavoro in una clinica."),
        ("Moro em Curitiba.", "Agora moramos em Recife."),
        ("名古屋に住んでいます。", "今は仙台に住んでいます。"),
        ("대전에 살아요.", "지금은 인천에 살아요."),
    ],
)
def test_a_newer_home_job_or_name_takes_the_place_of_the_older_in_any_language(older: str, newer: str) -> None:
    assert standing_of(older, newer) == [newer]


@pytest.mark.parametrize(
    ("own", "of_another"),
    [
        ("名古屋に住んでいます。", "妹の結衣は福岡に住んでいます。"),
        ("대전에 살아요.", "제 동생은 광주에 살아요."),
        ("Vivo en Valencia.", "Mi hermana vive en Bilbao."),
        ("J'habite à Nantes.", "Ma sœur habite à Bordeaux."),
        ("Vivo a Torino.", "Mia sorella abita a Bologna."),
    ],
)
def test_the_home_of_another_takes_the_place_of_none(own: str, of_another: str) -> None:
    assert standing_of(own, of_another) == [of_another, own]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My name is Mara and I live in Bonn.", "I moved to Ghent."),
        ("Me llamo Lucía y vivo en Valencia.", "Ahora vivimos en Zaragoza."),
    ],
)
def test_a_name_is_not_lost_with_the_old_home_beside_it(older: str, newer: str) -> None:
    assert standing_of(older, newer) == [newer, older]


def standing_of(*said: str) -> list[str]:
    with MemoryBank.open() as bank:
        for number, text in enumerate(said):
            bank.remember(SCOPE, [("user", text), ("assistant", "ok")], session=str(number), close=True)
        return [each.passage.text for each in bank.standing(SCOPE)]
