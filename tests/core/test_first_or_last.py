"""The first and the last time of what was told several times."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.first_or_last import end_asked

SCOPE = ("acme", "alice")
NOW = datetime(2026, 5, 20, 12, tzinfo=timezone.utc)
TELLING = (
    "Was at the dentist today, no drama at all.",
    "The dentist looked at my molar this morning and hummed.",
    "Dentist again, and the dentist was late.",
    "Saw the dentist after lunch, forty minutes in all, and I'm sixty poorer.",
)
SMALL = 120

ENDS = {
    "last": """
        When did I last see a dentist?
        When was Biscuit last at the vet?
        When was my last haircut?
        How long has it been since I called my mother?
        Wann war ich zuletzt beim Zahnarzt?
        Wann war ich das letzte Mal schwimmen?
        ¿Cuándo fui al dentista por última vez?
        Quand suis-je allé chez le dentiste pour la dernière fois ?
        我上次看牙医是什么时候？
        最後に歯医者に行ったのはいつ？
        마지막으로 치과에 간 게 언제예요?
        """,
    "first": """
        When did I first go climbing?
        When did I go climbing for the first time?
        Wann war ich zum ersten Mal klettern?
        我第一次爬山是什么时候？
        初めて山に登ったのはいつ？
        """,
    "": """
        What did I buy last week?
        When did I see Tom last week?
        When did we meet last summer?
        What is my last name?
        How long did it last?
        What did we do first?
        """,
}


@pytest.mark.parametrize(
    ("query", "end"), [(line.strip(), end) for end, lines in ENDS.items() for line in lines.strip().splitlines()]
)
def test_which_of_several_times_is_asked_for(query: str, end: str) -> None:
    assert end_asked(query) == end


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("When did I last see a dentist?", 11),
        ("When was I last at the dentist?", 11),
        ("When was I at the dentist for the first time?", 0),
    ],
)
def test_a_small_block_shows_it(query: str, number: int) -> None:
    with MemoryBank.open() as bank:
        for each in range(12):
            at = NOW - timedelta(days=60 * (12 - each))
            said = f"{TELLING[each % len(TELLING)]} It was visit {each + 1}."
            reply = " ".join(f"Advice {each * place} about teeth and gums." for place in range(60))
            messages = [{"role": "user", "content": said, "at": at}, {"role": "assistant", "content": reply, "at": at}]
            bank.remember(SCOPE, messages, session=str(each), close=True)
        asked = {"role": "user", "content": "Is there a dentist near here?", "at": NOW - timedelta(days=1)}
        bank.remember(SCOPE, [asked], session="asked", close=True)
        found = bank.recall(SCOPE, query, token_budget=SMALL, now=NOW)
    assert f"It was visit {number + 1}." in found.text
