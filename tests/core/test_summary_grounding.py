"""A running summary holds what was said, by whom it was said: replies that a small model sent, and inventions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from secom_core.conversation import Message, Turn, group_messages
from secom_core.errors import DegradedWarning
from secom_core.summaries import Summarizer
from secom_core.testing import ScriptedModel


def by_sync(model: ScriptedModel, turns: Sequence[Turn], previous: str = "") -> list[str]:
    return Summarizer(model).update(turns, previous).splitlines()


def by_async(model: ScriptedModel, turns: Sequence[Turn], previous: str = "") -> list[str]:
    return asyncio.run(Summarizer(model).aupdate(turns, previous)).splitlines()


both = pytest.mark.parametrize("update", [by_sync, by_async])


# -- pieces of what Qwen2.5-Coder-1.5B-Instruct replied, word for word ------------------------------------------------

TAX = group_messages(
    [
        Message("My tax return is late again.", speaker="Joris"),
        Message("When was it due?", role="assistant"),
        Message("At the end of April.", speaker="Joris"),
        Message("Ask for the extension until September.", role="assistant"),
        Message("I did the same last year, at the office in Ghent.", speaker="Joris"),
        Message("Then you know the form.", role="assistant"),
    ]
)
COPIED = """<memory>
Joris: My tax return is late again.
Joris: When was it due?
Joris: At the end of April.
Joris: Ask for the extension until September.
Joris: I did the same last year, at the office in Ghent.
Joris: Then you know the form.
</memory>"""

MOVED = group_messages(
    [
        Message("Hi! I'm Ann. I moved to Ghent last week, into a flat above a bakery, and I want to grow something."),
        Message("Congratulations on the move! A balcony gets soft morning sun.", role="assistant"),
        Message("My cat Miso eats everything. I start at the harbour office on the 5th of May, as a dispatcher."),
    ]
)
HEADED = """<memory>
**Who the speakers are**
- Ann: the new resident of Ghent
- Miso: Ann's cat

**What they like**
- Miso likes to eat everything

**Plan**
- Ann will start at the harbour office on the 5th of May

**What has changed**
- Ann moved to Ghent
</memory>"""


@both
def test_what_the_assistant_said_is_not_remembered_as_the_users_words(update) -> None:
    model = ScriptedModel([COPIED])
    assert update(model, TAX) == [
        "Joris: My tax return is late again.",
        "Joris: At the end of April.",
        "assistant: Ask for the extension until September.",
        "Joris: I did the same last year, at the office in Ghent.",
        "assistant: Then you know the form.",
    ]


@both
def test_headings_of_the_prompt_are_not_part_of_a_memory(update) -> None:
    assert update(ScriptedModel([HEADED]), MOVED) == [
        "Ann: the new resident of Ghent",
        "Miso: Ann's cat",
        "Miso likes to eat everything",
        "Plan: Ann will start at the harbour office on the 5th of May",
        "Ann moved to Ghent",
    ]


# -- what nobody said -------------------------------------------------------------------------------------------------

INVENTED = ["The user has two children, Tom and Eva.", "The user works as a pilot.", "Keep what still holds."]


@both
def test_what_nobody_said_is_complained_of_once_and_then_left_out_with_a_warning(update) -> None:
    good = "The user moved to Ghent with the cat Miso."
    model = ScriptedModel("<memory>\n" + "\n".join([good, *INVENTED, "</session>"]) + "\n</memory>")
    with pytest.warns(DegradedWarning, match="3 statements that neither the session nor the former") as said:
        assert update(model, MOVED) == [good]
    assert sum(each.category is DegradedWarning for each in said) == 1
    assert "neither the old memory nor the session says: " + " | ".join(INVENTED) in model.requests[1].text
    assert len(model.requests) == 2

    mended = ScriptedModel([f"<memory>\n{good}\n{INVENTED[0]}\n</memory>", f"<memory>\n{good}\n</memory>"])
    assert update(mended, MOVED) == [good]


def test_a_memory_in_another_language_than_the_session_is_believed() -> None:
    german = "Die Benutzerin wohnt jetzt mit ihrer Katze Miso in Gent und hat eine Schwester, die malt."
    assert by_sync(ScriptedModel(f"<memory>\n{german}\n</memory>"), MOVED) == [german]
    older = "The user plays the cello in an orchestra."
    kept = ScriptedModel([f"<memory>\n{older}\nThe user moved to Ghent.\n</memory>"])
    assert by_sync(kept, MOVED, older) == [older, "The user moved to Ghent."]


# -- what is said in the place of something else ----------------------------------------------------------------------

CALLED = group_messages(
    [
        Message("The harbour office called: I don't start on the 5th of May any more but on the 19th."),
        Message("Good to know, so you have two more weeks.", role="assistant"),
        Message("My sister Greet is a nurse in Bruges and will water when I'm away. She's allergic to strawberries."),
    ]
)
BEFORE = """Ann: the new resident of Ghent
Miso likes to eat everything
Plan: Ann will start at the harbour office on the 5th of May
Plan: Ann will work as a dispatcher
What has changed: Ann started at the harbour office on the 5th of May"""
AFTER = """Ann: the new resident of Ghent
Miso likes to eat everything
Plan: Ann will start at the harbour office on the 19th
Plan: Ann will work as a dispatcher
What has changed: Ann started at the harbour office on the 19th
What has changed: Greet is a nurse in Bruges and will water when Ann is away
What has changed: Greet is allergic to strawberries"""


@both
def test_a_date_that_was_written_in_the_place_of_another_is_what_holds(update) -> None:
    # Asked which old sentences no longer hold, the model said "1: none", and both dates stood in the summary.
    model = ScriptedModel([f"<memory>\n{AFTER}\n</memory>", "1: none"])
    found = update(model, CALLED, BEFORE)
    assert not any("5th of May" in each for each in found)
    assert "Plan: Ann will start at the harbour office on the 19th" in found
    assert len(found) == 7
    assert len(model.requests) == 1, "nothing is lost, so nothing is asked"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ann has 2 hives.", "Ann has 4 hives."),  # which the session does not say
        ("Ann pays 80 francs of rent.", "Ann pays 19th francs for a net."),  # other words
    ],
)
def test_what_was_not_written_in_its_place_is_asked_about_and_kept(old: str, new: str) -> None:
    model = ScriptedModel([f"<memory>\n{new}\nGreet is a nurse in Bruges.\n</memory>", "none"])
    assert old in by_sync(model, CALLED, old)
    assert [request.purpose for request in model.requests] == ["summary", "retention"]


def test_of_a_list_of_numbers_none_takes_the_place_of_its_neighbour() -> None:
    turns = group_messages([Message("I bought violin 4 today.")])
    old = [f"The user owns violin {n}." for n in range(4)]
    model = ScriptedModel(["<memory>\n" + "\n".join([*old[1:], "The user owns violin 4."]) + "\n</memory>", "none"])
    assert old[0] in by_sync(model, turns, "\n".join(old))
