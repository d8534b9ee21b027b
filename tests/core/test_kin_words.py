"""What is told in other words than a question asks for it: refusals, subscriptions that ended, weddings."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.kin_words import kin_words

SCOPE = ("acme", "alice")
NOW = datetime(2026, 5, 20, 12, tzinfo=timezone.utc)

WITH = """
    Which companies rejected me?
    Who has turned me down so far?
    Welche Firmen haben mich abgelehnt?
    What have I cancelled?
    Was habe ich alles gekündigt?
    Which of my friends have kids?
    What has been stolen from me?
    When is our wedding anniversary?
    How long have we been married?
    When did we move?
    Seit wann sind wir verheiratet? Wann war die Hochzeit?
    """
WITHOUT = """
    How do I cancel a subscription?
    What do kids like to eat?
    I moved house, what do I have to register?
    Which wedding dress suits a short woman?
    What is my dog called?
    When does the train leave?
    """

TOLD = (
    ("Bosch turned me down after the third round.", "Which companies rejected me?"),
    ("I've given notice at the gym on paper.", "What have I cancelled?"),
    ("Jonas brought his little boy along, he ate nothing but corn.", "Which of my friends have kids?"),
    ("We tied the knot on the beach, barefoot.", "When is our wedding anniversary?"),
)


@pytest.mark.parametrize("query", [line.strip() for line in WITH.strip().splitlines()])
def test_questions_that_are_answered_in_other_words(query: str) -> None:
    assert kin_words(query)


@pytest.mark.parametrize("query", [line.strip() for line in WITHOUT.strip().splitlines()])
def test_other_questions_have_no_other_words(query: str) -> None:
    assert kin_words(query) == []


@pytest.mark.parametrize(("said", "query"), TOLD)
def test_what_is_told_in_other_words_is_found(said: str, query: str) -> None:
    with MemoryBank.open() as bank:
        for number in range(40):
            at = NOW - timedelta(days=300 - 7 * number)
            text = said if number == 20 else f"Paint number {number} dried on the fence today, and the sky was grey."
            reply = " ".join(f"Coat {number * place} dries in a day or two." for place in range(60))
            messages = [{"role": "user", "content": text, "at": at}, {"role": "assistant", "content": reply, "at": at}]
            bank.remember(SCOPE, messages, session=str(number), close=True)
        assert said in bank.recall(SCOPE, query, token_budget=150, now=NOW).text
