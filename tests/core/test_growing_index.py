"""An index that grew message by message finds what one made in one go finds."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from secom_core.bank import MemoryBank
from secom_core.memory import Recall
from secom_core.testing import ScriptedEmbedder

SCOPE = ("acme", "alice")
AT = datetime(2024, 5, 6, tzinfo=timezone.utc)

LONG = "Turn the wheel of the loom once, oil the spindle, and wait until the wood is dry. " * 24
QUESTION, FACT = "What am I allergic to?", "I'm allergic to hazelnuts."


class Step(NamedTuple):
    """A message, or what is taken away."""

    session: str
    role: str
    text: str


TEXTS = {
    "user": [QUESTION, "what am i allergic to", FACT, "I moved to Ghent.", "How do I oil the loom?", "Thanks!",
             LONG[:900]],
    "assistant": ["I don't know what you are allergic to.", "Noted.", LONG, "You are allergic to hazelnuts.", ""],
    "forget": ["first", "last"],
}  # fmt: skip
STEPS = st.lists(
    st.tuples(st.sampled_from(["one", "two"]), st.sampled_from(["user", "user", "assistant", "assistant", "forget"]))
    .flatmap(lambda each: st.builds(Step, st.just(each[0]), st.just(each[1]), st.sampled_from(TEXTS[each[1]]))),
    min_size=1,
    max_size=14,
)  # fmt: skip
QUERIES = [QUESTION, "How is the wheel of the loom oiled?", "What do you know about me?", "Where is Ghent?", "zzz"]


def take(bank: MemoryBank, step: Step, number: int) -> None:
    if step.role == "forget":
        turns = bank.turns(SCOPE, step.session)
        bank.forget(SCOPE, turn_ids=[turns[0 if step.text == "first" else -1].id] if turns else [])
        return
    message = {"role": step.role, "content": step.text}
    bank.remember(SCOPE, [message], session=step.session, at=AT + timedelta(hours=number))


def told(recall: Recall) -> object:
    hits = [
        (hit.turn_ids, hit.excerpts, hit.kind, round(hit.score, 4), round(hit.relevance, 4), hit.repeats)
        for hit in recall.hits
    ]
    return recall.text, hits, round(recall.confidence, 3)


@pytest.mark.long
@pytest.mark.slow
@given(STEPS, st.booleans())
@example([Step("one", "user", FACT), Step("one", "assistant", LONG), Step("two", "assistant", LONG)], True)
@example(
    [Step("one", "user", QUESTION), Step("two", "user", QUESTION), Step("one", "assistant", LONG),
     Step("one", "forget", "first"), Step("one", "user", QUESTION)], False
)  # fmt: skip
@example(
    [Step("two", "user", "what am i allergic to"), Step("one", "user", "How do I oil the loom?"),
     Step("two", "user", FACT)], True
)  # fmt: skip
@example(
    [Step("two", "user", QUESTION), Step("two", "user", FACT), Step("one", "user", "I moved to Ghent."),
     Step("two", "user", QUESTION), Step("two", "forget", "first"), Step("one", "user", QUESTION)], False
)  # fmt: skip
@example(
    [Step("two", "user", QUESTION), Step("two", "user", FACT), Step("two", "user", "I moved to Ghent."),
     Step("one", "user", QUESTION), Step("two", "user", QUESTION), Step("two", "forget", "first"),
     Step("one", "user", QUESTION)], False
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_growing_is_the_same_as_beginning_anew(steps: list[Step], dense: bool) -> None:
    with MemoryBank.open(embedder=ScriptedEmbedder(64) if dense else None) as bank:
        for number, step in enumerate(steps):
            take(bank, step, number)
            bank.recall(SCOPE, QUERIES[number % len(QUERIES)])
        grown = [told(bank.recall(SCOPE, query, token_budget=300)) for query in QUERIES]
        bank._inside.scopes.drop(SCOPE)
        anew = [told(bank.recall(SCOPE, query, token_budget=300)) for query in QUERIES]
    assert grown == anew


def test_a_reply_that_comes_later_makes_a_short_turn_long() -> None:
    with MemoryBank.open() as bank:
        question = Step("one", "user", "How do I oil the loom?")
        take(bank, question, 0)
        first = bank.recall(SCOPE, question.text)
        assert [hit.excerpts for hit in first.hits] == [()]
        take(bank, Step("one", "assistant", LONG), 1)
        second = bank.recall(SCOPE, "How long do I wait until the wood is dry?", token_budget=300)
        assert second.turns[0].id == first.turns[0].id
        assert any(hit.excerpts for hit in second.hits)
        assert "spindle" in second.text
        take(bank, Step("one", "assistant", LONG), 2)
        third = bank.recall(SCOPE, "How long do I wait until the wood is dry?", token_budget=300)
        assert len(third.turns[0].messages) == 3
