"""What users met with little room, few memories, repeats and long replies."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from secom_core.bank import MemoryBank
from secom_core.context import MOST_TOKENS
from secom_core.text.terms import count_tokens

SCOPE = ("acme", "alice")
PASSPORT = (
    "My passport number is X1234567 and it expires in March 2031. I keep it in the blue drawer in the study, under the "
    "old atlas, together with the vaccination cards, the birth certificates, the spare keys, the insurance letters and "
    "the receipts of the last three years."
)


def remember(bank: MemoryBank, *sessions: list[Any]) -> None:
    for number, said in enumerate(sessions):
        bank.remember(SCOPE, said, session=f"s{number}", close=True)


@pytest.mark.parametrize("budget", [60, 80, 100, 150, 400])
def test_where_a_message_does_not_fit_its_most_telling_sentence_is_shown(budget: int) -> None:
    with MemoryBank.open() as bank:
        remember(bank, [("user", PASSPORT)], [("user", "I like cycling.")])
        recall = bank.recall(SCOPE, "What is my passport number?", token_budget=budget)
        assert "X1234567" in recall.text
        assert recall.tokens <= budget
        [passage] = recall.ranked[0].passages
        assert passage.text == PASSPORT[passage.start : passage.stop]
        assert ("[…]" in recall.text) == (len(passage.text) < len(PASSPORT))


@pytest.mark.parametrize("budget", [70, 90, 120, 150, 180, 300])
def test_of_a_long_reply_the_sentence_that_answers_is_shown_however_little_room_there_is(budget: int) -> None:
    sentences = [f"A mulch of bark holds water and stops weeds, as note {place} says." for place in range(60)]
    sentences[31] = "The variety for your north wall is Madame Alfred Carriere."
    with MemoryBank.open() as bank:
        remember(bank, [("user", "How do I look after roses?"), ("assistant", " ".join(sentences))])
        recall = bank.recall(SCOPE, "Which rose for the north wall?", token_budget=budget)
        assert "Madame Alfred Carriere" in recall.text
        assert recall.tokens <= budget


def test_an_exchange_is_shown_whole_where_there_is_room() -> None:
    reply = "Then take the early ferry, which is never full, and sit upstairs on the left for the view of the castle."
    said = [
        ("user", "On Sunday we cross to the island with the children, the dog and the big tent."),
        ("assistant", reply),
    ]
    with MemoryBank.open() as bank:
        remember(bank, said)
        whole = bank.recall(SCOPE, "When do we cross to the island?")
        assert whole.hits[0].excerpts == ()
        assert reply in whole.text
        little = bank.recall(SCOPE, "When do we cross to the island?", token_budget=65)
        assert "On Sunday" in little.text
        assert reply not in little.text
        assert "tent. …" in little.text, "that the reply is left out is to be seen"


@pytest.mark.slow
def test_long_memories_share_the_room_where_only_their_number_is_given() -> None:
    subjects = ("sourdough", "garden", "cycling")
    with MemoryBank.open() as bank:
        for subject in subjects:
            point = "Of {0} one should know the point number {1}, which is about {0} and more."
            reply = " ".join(point.format(subject, place) for place in range(250))
            bank.remember(
                SCOPE, [("user", f"Explain {subject} to me."), ("assistant", reply)], session=subject, close=True
            )
        recall = bank.recall(SCOPE, "sourdough garden cycling", k=3)
        assert recall.tokens <= MOST_TOKENS
        sizes = {
            subject: sum(count_tokens(hit.text) for hit in recall.hits if subject in hit.text) for subject in subjects
        }
        assert min(sizes.values()) > MOST_TOKENS / 5


def test_a_question_of_other_numbers_or_with_another_answer_is_no_repeat() -> None:
    chapters = {3: "Pip meets Estella.", 5: "The convicts are caught.", 12: "Joe gets his indentures."}
    with MemoryBank.open() as bank:
        remember(
            bank, *([("user", f"What happens in chapter {n}?"), ("assistant", told)] for n, told in chapters.items())
        )
        assert "said" not in bank.recall(SCOPE, "What happens in chapter 3?").text
    with MemoryBank.open() as bank:
        dinners = ("Lentil soup.", "Shakshuka.", "Fried rice.")
        remember(bank, *([("user", "What should I cook tonight?"), ("assistant", dinner)] for dinner in dinners))
        recall = bank.recall(SCOPE, "Which dinners did you suggest to me tonight?")
        assert "(said" not in recall.text
        assert all(dinner in recall.text for dinner in dinners)


@pytest.mark.slow
def test_hundreds_of_repeats_take_no_place_among_what_is_ranked() -> None:
    with MemoryBank.open() as bank:
        remember(bank, [("user", "My violin teacher is called Marta.")])
        for place in range(250):
            said = [("user", "Who teaches me the violin?"), ("assistant", "I do not know.")]
            bank.remember(SCOPE, said, session=f"q{place}")
        best = bank.recall(SCOPE, "Who teaches me the violin?", k=1).hits[0]
        assert "Marta" in best.text
        assert best.kind == "relevant"


@pytest.mark.parametrize("query", ["What is the capital of Peru?", "asdf?!", ""])
def test_what_nothing_of_the_query_speaks_for_is_not_called_relevant(query: str) -> None:
    with MemoryBank.open() as bank:
        remember(bank, [("user", "My cat Miso is eleven years old.")], [("user", "I got a job as a vet in Ghent.")])
        recall = bank.recall(SCOPE, query)
        assert len(recall.hits) == 2
        assert max(hit.relevance for hit in recall.hits) < 0.1
        assert recall.confidence < 0.1
        assert not bank.recall(SCOPE, query, only_relevant=True).hits


@pytest.mark.slow
@pytest.mark.parametrize("query", ["Continue", "Go on.", "Mach weiter", "继续"])
def test_going_on_is_about_what_was_just_said_where_there_is_anything(query: str) -> None:
    with MemoryBank.open() as bank:
        remember(
            bank,
            [("user", "My colleague Priya lives in Utrecht.")],
            [("user", "How do I prune?"), ("assistant", "Go on cutting until spring, please.")],
        )
        thread = [("user", "Tell me about Priya."), ("assistant", "Priya is your colleague.")]
        assert "Utrecht" in bank.recall(SCOPE, query, k=1, context=thread).hits[0].text
        assert "prune" in bank.recall(SCOPE, query, k=1).hits[0].text


@pytest.mark.slow
def test_a_sentence_and_its_passage_are_never_both_shown() -> None:
    sentences = ["No.", "Yes.", *(f"The tide at harbour {place} turns at nine." for place in range(20)), "Tide!"]
    with MemoryBank.open() as bank:
        remember(bank, [("user", " ".join(sentences))], [("user", "The harbour is closed."), ("assistant", PASSPORT)])
        for budget in range(45, 260, 3):
            for hit in bank.recall(SCOPE, "When does the tide turn?", token_budget=budget).hits:
                spans = sorted((each.turn.id, each.place, each.start, each.stop) for each in hit.passages)
                for before, after in pairwise(spans):
                    assert before[:2] != after[:2] or before[3] <= after[2]


@pytest.mark.slow
def test_the_budget_is_used_up_where_parts_count_for_more_than_the_whole() -> None:
    with MemoryBank.open(token_counter=lambda text: -(-len(text) // 6)) as bank:
        for first in range(0, 900, 30):
            said = [("user", f"The boat at mooring {place} is painted blue.") for place in range(first, first + 30)]
            bank.remember(SCOPE, said, session=f"day {first}", close=True)
        for budget in (200, 1000, 2000):
            recall = bank.recall(SCOPE, "Which boat is painted blue?", token_budget=budget)
            assert 0.94 * budget - 12 < recall.tokens <= budget


@pytest.mark.parametrize("greeting", ["Hi!", "Good morning!", "Thanks, Anna!", "OK.", "Hallo!"])
@pytest.mark.parametrize("query", ["What did we talk about last time?", "What's for dinner?"])
def test_no_greeting_stands_for_what_was_said_after_it(greeting: str, query: str) -> None:
    reply = "Here is an overview. " + " ".join(f"Point {n}: measure the wall before you order." for n in range(70))
    houses = ["a small house in Leipzig with my husband Jonas", "two children, Mia and Leo, who go to school in Ghent"]
    with MemoryBank.open() as bank:
        for each in houses:
            remember(bank, [("user", f"{greeting} I have {each}, and a dog."), ("assistant", reply)])
        blocks = [bank.recall(SCOPE, query, token_budget=budget).text for budget in range(60, 300, 10)]
        assert not [block for block in blocks if f"{greeting} […]" in block]
