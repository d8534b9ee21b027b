"""Questions that are answered by many turns: what the user told comes before what was asked, and before replies."""

from __future__ import annotations

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.totals import asks_in_all, tells_of_nobody

SCOPE = ("acme", "alice")

IN_ALL = """
    How many books have I finished this year?
    How often did I go swimming in May?
    How much have I spent on the bike in all?
    How much did the yoga cost me?
    What has the cat cost us at the vet?
    Which restaurants have I told you about?
    What accessories did I buy for my bike?
    List all my race times.
    Who has helped me with the move?
    Which companies rejected me?
    Which of my friends have kids?
    What have I cancelled?
    What has been stolen from me?
    Where have we been on holiday?
    Who owes me money?
    Wie viele Filme habe ich gesehen?
    Wie oft waren wir im Kino?
    Welche Städte habe ich besucht?
    Welche Firmen haben mich abgelehnt?
    Welche meiner Freunde haben Kinder?
    Was habe ich alles gekündigt?
    Wo waren wir schon überall?
    我今年读完了几本书？
    我在健身上一共花了多少钱？
    我去过哪些地方旅游？
    """
OTHERS = """
    What is my dentist called?
    What have I got to bring?
    What has my doctor said?
    What have you recommended?
    Which glasses help me see?
    Was ist alles möglich?
    Which address do I have?
    How many cups are in a litre?
    How much time do I have between the sprint and the release?
    How many days passed until I got the parcel?
    How long had I been learning Spanish?
    Which books have you recommended to me?
    How many books did you tell me to read?
    How many times have I asked you about taxes?
    Which questions have I put to you?
    How do I oil a chain?
    Wie heißt meine Zahnärztin?
    Wie viele Tage habe ich zwischen den Prüfungen?
    我的牙医叫什么？
    我问过你多少次？
    """
OF_NOBODY = (
    "How much does a bike weigh?",
    "How do I oil a chain?",
    "Should I oil it?",
    "Was kostet ein Rad?",
    "书贵吗？",
)
OF_ONESELF = (
    "How do I get my kid to read more?",
    "I paid 79 for a lock. Where do I put it?",
    "Is 79 too much for the lock that I bought?",
    "Wie putze ich mein Rad?",
    "我的书怎么收纳？",
)

SPENT = (
    "A D-lock for 79 pounds came today. Where on the frame does it go?",
    "The shop charged me 110 for a full service. Was that a rip-off?",
    "I cracked my helmet, a new one set me back 62. Can one sue over potholes?",
    "Got mudguards, 27 quid. They rattle. Any fix?",
)
ASKED = (
    "How much does a bike weigh on average?",
    "How much does it cost to rent a bike?",
    "What's the difference between disc and rim brakes on a bike?",
    "How often should I oil the chain of a bike?",
    "How much should one spend on a bike for a child?",
    "Is a bike lane compulsory?",
    "How much air does a bike's tyre need?",
    "Which bike is good for the mountains?",
)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("text", lines(IN_ALL))
def test_what_was_told_in_many_turns_is_asked_for(text: str) -> None:
    assert asks_in_all(text)


@pytest.mark.parametrize("text", lines(OTHERS))
def test_another_thing_is_asked_for(text: str) -> None:
    assert not asks_in_all(text)


def test_a_long_text_is_no_such_question() -> None:
    assert not asks_in_all(f"How many books have I read? {'a word ' * 50}")


@pytest.mark.parametrize(("texts", "expected"), [(OF_NOBODY, True), (OF_ONESELF, False)])
def test_a_question_tells_of_the_user_or_not(texts: tuple[str, ...], expected: bool) -> None:
    assert [tells_of_nobody(each) for each in texts] == [expected] * len(texts)


def test_a_sum_is_found_before_questions_about_the_same_things() -> None:
    with MemoryBank.open() as bank:
        for place, said in enumerate([*ASKED[:4], *SPENT, *ASKED[4:]]):
            reply = "A bike rider can spend much. " + "A bike wants some care. " * 60
            bank.remember(SCOPE, [("user", said), ("assistant", reply)], session=f"s{place}")
        block = bank.recall(SCOPE, "How much have I spent on the bike in all?", token_budget=210).text
    assert [said for said in SPENT if said not in block] == []
