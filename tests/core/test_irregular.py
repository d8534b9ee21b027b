"""Irregular forms of English words: "bought" answers a question of one or two words that says "buy"."""

from __future__ import annotations

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.irregular import irregular_forms

SCOPE = ("acme", "alice")
TOLD = (
    ("I bought a kayak.", "What did I buy?"),
    ("We flew over the Alps.", "Where did we fly?"),
    ("I ate snails in Lyon.", "What have I eaten?"),
    ("The mice got into the flour.", "Was there a mouse?"),
)


@pytest.mark.parametrize(("said", "query"), TOLD)
def test_a_short_question_finds_the_other_forms_of_its_words(said: str, query: str) -> None:
    with MemoryBank.open() as bank:
        for number in range(30):
            text = said if number == 12 else f"The weather on day {number} was grey and wet in town."
            bank.remember(SCOPE, [("user", text), ("assistant", "I see.")], session=str(number), close=True)
        [hit] = bank.recall(SCOPE, query, k=1).hits
        assert (hit.kind, hit.turns[0].messages[0].text) == ("relevant", said)


@pytest.mark.parametrize(
    "query",
    [
        "What did I paint?",
        "Which turn on the left?",
        "Where did I buy the wooden rowing boat for my cousin?",
        "Was habe ich gegessen, wer hat es gemacht?",
        "",
    ],
)
def test_other_questions_have_none(query: str) -> None:
    assert irregular_forms(query) == []
