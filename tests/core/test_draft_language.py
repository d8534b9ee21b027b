"""In which language a model is told to write of a conversation that is not in English, and that it is told so."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from secom_core.bank import MemoryBank
from secom_core.conversation import Message, group_messages
from secom_core.drafts.language import language_of_turns, language_told
from secom_core.testing import ScriptedModel
from secom_core.timelines import Event, Timeline, response_prompt
from secom_core.timelines.refinement import refinement_prompt
from secom_core.topics.prompts import update_prompt

GERMAN = "Ich habe einen Stand auf dem Fischmarkt gemietet und verkaufe dort ab Mai geräucherten Aal."
ENGLISH = "I have rented a stall at the fish market and I will sell smoked eel there from May on."
ABOVE = "the language of the text above"
ANN = ("acme", "ann")


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        "",
        "12 34",
        "ok, thx",
        "SELECT * FROM users WHERE id = 3",
        "Wow 😍 so cute",
        "Which café in Zürich was it?",
        "How do I say 你好 to her?",
        "The choir sings “Für Elise” and “Ode an die Freude” in the old church.",
    ],
)
def test_of_english_nothing_is_told(text):
    assert language_told([text]) == ""


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (GERMAN, "German"),
        ("J'ai loué un stand au marché aux poissons et je vends de l'anguille fumée.", "French"),
        ("Alquilé un puesto en el mercado de pescado y vendo anguila ahumada allí.", "Spanish"),
        ("我在鱼市场租了一个摊位，从五月开始卖烟熏鳗鱼。", "Chinese"),
        ("我想用 Python 的 pandas 做 data analysis", "Chinese"),
        ("魚市場で屋台を借りました。五月から燻製のうなぎを売ります。", "Japanese"),
        ("수산시장에 가판대를 빌렸어요.", "Korean"),
        ("Mein Hund heißt Bello.", ABOVE),
        ("Jeg har lejet en bod på fiskemarkedet og sælger røget ål der fra maj.", ABOVE),
        ("Wynająłem stoisko na targu rybnym i od maja sprzedaję tam wędzonego węgorza.", ABOVE),
        ("Я орендував прилавок на рибному ринку і буду продавати там копченого вугра.", ABOVE),
    ],
)
def test_a_language_is_named_where_it_is_sure(text, language):
    assert language_told([text]) == language


@pytest.mark.parametrize(
    ("said", "language"),
    [
        ([("user", GERMAN), ("assistant", ENGLISH * 9)], "German"),
        ([("user", GERMAN), ("user", "Übersetze das für mich: " + ENGLISH * 20), *[("user", GERMAN)] * 2], "German"),
        ([("user", ENGLISH), ("assistant", GERMAN)], ""),
        ([("", ENGLISH), ("", ENGLISH), ("", GERMAN)], ""),
        ([("assistant", GERMAN)], "German"),
        ([("user", "Danke!"), ("user", "Termin morgen bitte absagen"), ("user", GERMAN)], "German"),
        ([("user", "Gnocchi alla Romana"), ("user", "Die Hard tonight"), ("user", ENGLISH)], ""),
    ],
)
def test_what_the_users_say_decides(said, language):
    assert language_of_turns(group_messages(Message(text, role=role) for role, text in said)) == language


@pytest.mark.parametrize(("text", "wanted"), [(GERMAN, " in German, "), (ENGLISH, None)])
def test_events_and_topics_are_asked_for_in_the_language_of_the_session(text, wanted):
    model = ScriptedModel({"": "<events></events> NO_TRAIT"})
    with MemoryBank.open(model=model, timelines=True, topics=True) as bank:
        bank.remember(ANN, [{"role": "user", "content": text}], session="s", close=True)
    asked = [request.text for request in model.requests]
    assert {request.purpose for request in model.requests} == {"events", "topics"}
    assert all(
        "Write" not in each.rpartition("</conversation>")[2] if wanted is None else wanted in each for each in asked
    )


@pytest.mark.parametrize("text", [GERMAN, ENGLISH])
def test_what_is_made_of_them_is_asked_for_in_their_language(text):
    timeline = Timeline((Event(1, text, datetime(2024, 5, 3, tzinfo=timezone.utc), "s", ("a",)),), (), (1,))
    prompts = [
        update_prompt([ENGLISH], text, speaker="Ann", language=language_told([text])),
        refinement_prompt(timeline, "What does Ann sell?"),
        response_prompt(f"Ann: {text}", ""),
    ]
    assert [" in German" in prompt.text for prompt in prompts] == [text == GERMAN] * 3
