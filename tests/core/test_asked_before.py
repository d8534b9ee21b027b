"""A question that is stored already, and one that was asked before, spoil nothing of what answers it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from importlib.util import find_spec
from typing import Any

import pytest

from secom_core.bank import MemoryBank
from secom_core.bank.asked_now import recalled
from secom_core.protocols import Embedder

SCOPE = ("acme", "alice")
AT = datetime(2025, 3, 1, 10, tzinfo=timezone.utc)
GARDEN = {
    "Soil": "Dig in two buckets of compost to the square metre. A clay soil wants a bucket of sharp sand as well.",
    "Carrots": "Sow carrots from the middle of March in rows 25 centimetres apart. Thin them to a finger's width.",
    "Leeks": "Leeks go into holes 15 centimetres deep, which are filled with water and with nothing else.",
    "Slugs": "Against slugs, put out a saucer of wheat beer in the evening, or nematodes in the second week of May.",
    "Beans": "Runner beans climb a wigwam of eight hazel rods. Pick them when they are as long as a hand.",
    "Frost": "Cover the seedlings with fleece on every night that is forecast at two degrees or below.",
    "Tomatoes": "Pinch out the side shoots of cordon tomatoes every Sunday, and feed them with comfrey tea.",
    "Parsley": "Parsley takes a month to come up; pour hot water on the drill before you sow it.",
}
TRIP = {
    "Getting there": "The night train leaves Hamburg at 20:12 and is in Zurich for breakfast. Bicycles need a ticket.",
    "Days 1 to 3": "Walk along the lake to Rapperswil, and take the funicular back from the second viewpoint.",
    "Huts": "The Corno hut sleeps 62 and wants to be booked by telephone before the first of June.",
    "Food": "Fondue with three cheeses is at its best in the cellar beside the parish church of Appenzell.",
    "Money": "Count on 95 francs a day without the train, and on 140 with dinner in a restaurant.",
    "Weather": "Thunder comes after two o'clock in July; be below the tree line by then.",
    "Packing": "Take gloves even in August, a head torch, and blister plasters of two sizes.",
}
QUESTIONS = {
    "What should I do against slugs?": "wheat beer",
    "How deep are the holes for leeks?": "15 centimetres deep",
    "How many people sleep in the Corno hut?": "sleeps 62",
    "When does the night train leave Hamburg?": "20:12",
    "What do I feed the tomatoes with?": "comfrey tea",
    "How many francs a day are to be counted on?": "95 francs",
}


def guide(sections: dict[str, str]) -> str:
    parts = (f"### {title}\n{body} It is worth the trouble, as most readers say.\n" for title, body in sections.items())
    return "Here is the guide you asked for:\n\n" + "\n".join(parts)


def guides(bank: MemoryBank) -> None:
    said = [
        [("user", "Write me a guide to my vegetable garden, please."), ("assistant", guide(GARDEN))],
        [("user", "Plan me a week of hiking in Switzerland."), ("assistant", guide(TRIP))],
        [("user", "My cat Tuna is twelve."), ("assistant", "A fine age!")],
        [("user", "我们周末去爬山吧。"), ("assistant", "好主意！")],
    ]
    for day, messages in enumerate(said):
        bank.remember(SCOPE, messages, session=f"s{day}", at=AT + timedelta(days=day), close=True)


@pytest.fixture(params=["words", "static"])
def embedder(request: pytest.FixtureRequest) -> Embedder | None:
    if request.param == "words":
        return None
    # Not imported: of a package of weights only the weights are read.
    if find_spec("wordllama") is None or find_spec("tokenizers") is None:
        pytest.skip("needs the extra 'static'")
    from secom_core.models import StaticEmbedder

    return StaticEmbedder()


@pytest.mark.slow
@pytest.mark.parametrize("budget", [120, 200, 500])
def test_a_question_that_is_stored_and_left_out_changes_nothing(embedder: Embedder | None, budget: int) -> None:
    """Chat engines put the question before they ask for what answers it."""
    with MemoryBank.open(embedder=embedder) as bank:
        guides(bank)
        for question, told in QUESTIONS.items():
            before = bank.recall(SCOPE, question, token_budget=budget)
            assert told in before.text or budget < 200
            stored = bank.remember(SCOPE, [("user", question)], session="now", at=AT + timedelta(days=9)).turn_ids
            after = bank.recall(SCOPE, question, token_budget=budget, exclude=stored)
            assert after.text == before.text
            bank.forget(SCOPE, session="now")


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 3, 20])
def test_a_question_that_nobody_answered_hides_no_answer(embedder: Embedder | None, times: int) -> None:
    with MemoryBank.open(embedder=embedder) as bank:
        guides(bank)
        for question, told in QUESTIONS.items():
            for number in range(times):
                said = [("user", question), ("assistant", "Sorry, I do not know.")]
                bank.remember(SCOPE, said, session=f"a{number}", at=AT + timedelta(days=9 + number), close=True)
            assert told in bank.recall(SCOPE, question, token_budget=250).text, question
            for number in range(times):
                bank.forget(SCOPE, session=f"a{number}")


@pytest.mark.slow
def test_no_excerpt_is_a_heading_alone(embedder: Embedder | None) -> None:
    with MemoryBank.open(embedder=embedder) as bank:
        guides(bank)
        for budget in range(60, 260, 20):
            for question in QUESTIONS:
                text = bank.recall(SCOPE, question, token_budget=budget).text
                assert not re.search(r"### [\w ]+ (?:\[…\]|…)", text), text


@pytest.mark.slow
@pytest.mark.parametrize("query", ["How do I make sourdough?", "Explain sourdough to me again."])
def test_the_rest_of_a_short_answer_comes_before_what_has_nothing_to_do_with_it(
    embedder: Embedder | None, query: str
) -> None:
    steps = "1. **Feed** it flour and water daily.\n2. **Fold** the dough four times.\n3. **Bake** at 240 °C."
    with MemoryBank.open(embedder=embedder) as bank:
        answer = f"Sourdough is a culture of wild yeast.\n\n{steps}\n\nI can also tell you about rye starters."
        said = [
            [("user", "Can you explain how sourdough works?"), ("assistant", answer)],
            [("user", "My sister Lena lives in Porto."), ("assistant", "Lovely.")],
            [("user", "My boss is called Mr. Falk."), ("assistant", "Noted.")],
            [("user", "My aunt sells clocks in Bruges and never sleeps before one."), ("assistant", "Goodness.")],
        ]
        for day, messages in enumerate(said):
            bank.remember(SCOPE, messages, session=f"s{day}", at=AT + timedelta(days=day), close=True)
        assert "240 °C" in bank.recall(SCOPE, query, token_budget=150).text


@pytest.mark.slow
def test_how_sure_a_recall_is_does_not_hang_on_what_is_left_out() -> None:
    with MemoryBank.open() as bank:
        guides(bank)
        quiet = [("user", f"The harbour was quiet on day {day}, and so was the market.") for day in range(60)]
        bank.remember(SCOPE, quiet, session="quiet", at=AT + timedelta(days=9), close=True)
        query = "Was the Corno hut quiet?"
        all_of_it, relevant = (
            bank.recall(SCOPE, query, only_relevant=only, token_budget=3000) for only in (False, True)
        )
        assert len(relevant.turns) < len(all_of_it.turns)
        assert relevant.confidence == all_of_it.confidence


def test_the_question_that_is_asked_now_ends_its_session() -> None:
    question = "Where do we meet for the lantern walk?"
    with MemoryBank.open() as bank:
        bank.remember(SCOPE, [("Ann", question), ("Bob", "At Joe's, behind the mill.")], session="club", close=True)
        turns = [("user", "What oil does the loom need?"), ("assistant", "Linseed oil.")]
        bank.remember(SCOPE, turns, session="loom", close=True)
        # What followed may be the answer, and is found beside the question.
        assert recalled(bank, SCOPE, question, k=2).text == bank.recall(SCOPE, question, k=2).text
        # It was answered, though the filter does not show with what.
        only_users = {"role": "user"}
        assert turns[0][1] in recalled(bank, SCOPE, turns[0][1], where=only_users, only_relevant=True).text
        for number in range(3):
            bank.remember(SCOPE, [("user", question)], session="friday", later=number > 0)
        again = recalled(bank, SCOPE, question, k=1, asked=[question])
        assert {hit.memory.session for hit in again.hits} == {"club"}


def test_the_question_that_is_asked_now_is_known_by_what_is_stored_of_it() -> None:
    question = "Is 4111-1111 the number of the mill in Bruges?"

    def redact(text: str) -> str:
        if "secret" in text:
            raise ValueError(text)
        return text.replace("4111-1111", "[number]")

    with MemoryBank.open(redact=redact) as bank:
        bank.remember(SCOPE, [("user", "The mill in Bruges has a number.")], session="mill", close=True)
        bank.remember(SCOPE, [("user", question)], session="friday")
        assert "friday" in {hit.memory.session for hit in bank.recall(SCOPE, question).hits}
        assert {hit.memory.session for hit in recalled(bank, SCOPE, question).hits} == {"mill"}
        # What is not stored can be looked for.
        assert recalled(bank, SCOPE, "Is the mill a secret?", k=1).hits


def test_a_question_of_another_scope_is_not_searched_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    question, calls = "Where do we meet for the lantern walk?", list[str]()
    real = MemoryBank.recall

    def counting(*args: Any, **options: Any) -> Any:
        calls.append("recall")
        return real(*args, **options)

    with MemoryBank.open() as bank:
        bank.remember(("team",), [("user", question)], session="monday")
        bank.remember(SCOPE, [("user", "The mill is shut.")], session="friday")
        monkeypatch.setattr(MemoryBank, "recall", counting)
        recalled(bank, SCOPE, question, also=[("team",)])
    assert calls == ["recall"]


@pytest.mark.skipif(find_spec("pydantic") is None, reason="needs Pydantic")
def test_an_agent_elsewhere_does_not_find_the_question_that_it_answers() -> None:
    from secom_core.serve.grants import Grant
    from secom_core.serve.tools import Recall, found

    now, question = datetime.now(timezone.utc), "What did I say about the garden?"

    def searched(query: str) -> str:
        return found(bank, Grant("agent", SCOPE), Recall(query=query))

    with MemoryBank.open() as bank:
        bank.remember(SCOPE, [("user", question)], session="friday")
        assert searched("garden") == "Nothing about this is remembered."
        bank.remember(SCOPE, [("user", "My garden has roses.")], session="monday")
        assert "roses" in searched("the user's garden")
        assert question not in searched("the user's garden")
        bank.remember(SCOPE, [("assistant", "That it has roses.")], session="friday")
        assert question in searched("the user's garden")
        # What was said a while ago, or tells something, is no question that is being answered.
        bank.remember(SCOPE, [("user", "Where do herons nest?")], session="old", at=now - timedelta(hours=1))
        bank.remember(SCOPE, [("user", "My well is dry. Why?")], session="new")
        assert "herons nest" in searched("herons")
        assert "My well is dry" in searched("well")
