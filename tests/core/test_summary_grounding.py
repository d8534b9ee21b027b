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
    assert len(said) == 1
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
