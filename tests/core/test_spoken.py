"""What speech recognition writes: sounds between the words, no capitals, no punctuation, numbers in words."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.hesitations import without_hesitations

SCOPE = ("acme", "katrin")
AT = datetime(2026, 5, 4, 9, tzinfo=timezone.utc)
ERRANDS = (
    "what's the weather like tomorrow",
    "um can you set a timer for ten minutes",
    "play some jazz please",
    "remind me to water the plants",
    "turn the lights off in the hall",
    "is it going to rain on sunday",
)


def _told(*said: str) -> MemoryBank:
    """A bank in which each was said in a session of its own, seven hours apart, and then some errands."""
    bank = MemoryBank.open(":memory:")
    for place, words in enumerate((*said, *ERRANDS)):
        turn = [{"role": "user", "content": words, "at": AT + timedelta(hours=7 * place)}, ("assistant", "Okay, done.")]
        bank.remember(SCOPE, turn, session=f"s{place}", close=True)
    return bank


@pytest.mark.parametrize(
    ("typed", "spoken"),
    [
        ("so what's my name?", "so, uh, what's my name? Um..."),
        ("what did we talk about last time", "um what did we you know talk about uh last time"),
        ("wie heiße ich", "äh wie heiße ähm ich"),
        ("où est-ce que j'habite", "euh où est-ce que j'habite"),
        ("我叫什么名字", "嗯那个我叫那个什么名字"),
        ("私の名前は何", "えーと、私の名前は何"),
    ],
)
def test_sounds_between_words_go(typed: str, spoken: str) -> None:
    assert without_hesitations(spoken) == typed


@pytest.mark.parametrize(
    "text",
    [
        "um wie viel uhr ist das treffen",
        "o que eu disse há um mês",
        "comprei um carro",
        "do you know my name",
        "what does UH stand for",
        "uh-huh",
        "um",
        "那个人是谁",
        "呃逆怎么治",
        "def eh(x): return x",
    ],
)
def test_words_that_only_look_like_sounds_stay(text: str) -> None:
    assert without_hesitations(text) == text


@pytest.mark.parametrize(
    ("said", "spoken"),
    [
        ("we moved to ghent", "hey so uh where do i um live now"),
        ("i don't eat cheese", "uh what am i you know allergic to"),
        ("wir sind nach gent gezogen", "äh wo wohne ich denn"),
        ("nos mudamos a gante", "eh pues dónde vivo"),
        ("我们搬到根特了", "嗯那个我住在那个哪里"),
    ],
)
def test_a_spoken_question_about_oneself_finds_what_was_told(said: str, spoken: str) -> None:
    with _told(said) as bank:
        found = bank.recall(SCOPE, spoken, k=1)
    assert said in found.text


@pytest.mark.parametrize(
    "spoken",
    [
        "um so what did we uh talk about last time",
        "ähm worüber haben wir äh letztes mal gesprochen",
        "eh pues de qué hablamos la última vez",
        "嗯我们上次那个聊了什么来着",
    ],
)
def test_a_spoken_question_about_the_last_time_finds_it(spoken: str) -> None:
    with _told("my sister catherine gave me a cutting of a fig tree") as bank:
        found = bank.recall(SCOPE, spoken, k=1)
    assert ERRANDS[-1] in found.text
