"""What speech recognition writes: sounds between the words, no capitals, no punctuation, numbers in words."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest

from secom_core.bank import MemoryBank
from secom_core.readers import read_transcript
from secom_core.segmenters.passages import passages
from secom_core.text.attributes import Attribute, tells_attribute
from secom_core.text.hesitations import without_hesitations
from secom_core.text.periods import days_named
from secom_core.text.speech import Standing, stands
from secom_core.text.spoken_days import days_in_digits

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


def _read(text: str) -> list[tuple[str | None, str, object]]:
    return [
        (each.speaker, each.text, each.at.strftime("%H:%M") if each.at else each.metadata.get("time"))
        for session in read_transcript(text)
        for each in session.messages
    ]


@pytest.mark.parametrize("label", ["Ann Lee   0:03", "Ann Lee\t0:03", "[Ann Lee] 0:03", "[Ann Lee] 00:03:00"])
def test_a_meeting_with_the_speaker_on_a_line_above_is_read(label: str) -> None:
    text = f"{label}\num so hi\n\nTom  0:09\nnote: the launch is\non tuesday at 10:30\n\n{label}\nokay\n"
    clock = "00:03"
    found = _read(text.replace("Tom  0:09", label.replace("Ann Lee", "Tom")))
    assert found == [
        ("Ann Lee", "um so hi", clock),
        ("Tom", "note: the launch is\non tuesday at 10:30", clock),
        ("Ann Lee", "okay", clock),
    ]
    # Its day may stand above.
    assert _read(f"# 2026-05-12\n\n{text}")[0] == ("Ann Lee", "um so hi", clock)


def test_a_line_that_ends_with_a_time_names_nobody_in_another_transcript() -> None:
    assert _read("Ann: the plan\nLunch   12:30\nBob: ok\n")[0][:2] == ("Ann", "the plan\nLunch   12:30")


def test_boxed_speakers_are_read_and_splitters_cut_between_them() -> None:
    text = "[SPEAKER_00]: um so hi\n[SPEAKER_01]: yeah\n[SPEAKER_00]: okay great\n[music] [SPEAKER_00] sings\n"
    said = [
        ("SPEAKER_00", "um so hi"),
        ("SPEAKER_01", "yeah"),
        ("SPEAKER_00", "okay great\n[music] [SPEAKER_00] sings"),
    ]
    assert [found[:2] for found in _read(text)] == said
    assert [each.turn.messages[0].speaker for each in passages(text)] == [name for name, _ in said]


@pytest.mark.parametrize(
    ("asked", "day"),
    [
        ("what did i say on the twelfth of may", date(2026, 5, 12)),
        ("what did i say on may the twenty third", date(2026, 5, 23)),
        ("what happened june thirtieth", date(2026, 6, 30)),
        ("on the twelfth of may 2025", date(2025, 5, 12)),
        ("was habe ich am zwölften mai gesagt", date(2026, 5, 12)),
        ("was war am einunddreissigsten dezember", date(2026, 12, 31)),
        ("was habe ich am 12. mai gesagt", date(2026, 5, 12)),
        ("qué dije el veintiuno de mayo", date(2026, 5, 21)),
        ("qu'est-ce que j'ai dit le vingt et un mai", date(2026, 5, 21)),
    ],
)
def test_a_day_in_words_is_asked_for(asked: str, day: date) -> None:
    assert days_named(asked, date(2026, 6, 20)) == [(day.toordinal(), day.toordinal())]


@pytest.mark.parametrize("text", ["you may first call", "we march second", "hay dos mayos", "vers la fin mars"])
def test_what_is_no_day_in_words_stays(text: str) -> None:
    assert days_in_digits(text) == text


@pytest.mark.parametrize("asked", ["um what did i uh say on the fifth of may", "was habe ich am fünften mai gesagt"])
def test_what_was_said_on_a_day_in_words_is_found(asked: str) -> None:
    with _told("my sister catherine gave me a cutting of a fig tree") as bank:
        found = bank.recall(SCOPE, asked, k=3)
    assert {hit.turns[0].at.date() for hit in found.hits if hit.turns[0].at} == {date(2026, 5, 5)}


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("hi um i'm katrin by the way", "what's my name"),
        ("i'm katrin btw", "do u know my name lol"),
        ("im katrin, btw i like your voice", "what's my name again haha"),
        ("you can call me katy", "what is my name"),
        ("everyone calls me katy btw", "whats my name tho"),
        ("hey there this is tom baker calling about the roof", "what's my name"),
        ("äh hallo ich bin die katrin", "wie heiße ich"),
        ("hola eh soy katrin", "cómo me llamo"),
        ("嗯你好我是小林", "我叫什么名字"),
        ("i turned thirty four last week", "um how old am i"),
        ("ich bin letzte woche vierunddreißig geworden", "wie alt bin ich"),
        ("cumplí treinta y cuatro la semana pasada", "cuántos años tengo"),
        ("我上个星期满三十四岁了", "我多大了"),
    ],
)
def test_a_name_and_an_age_told_aloud_are_found(said: str, asked: str) -> None:
    others = ("my husband's name is um tom", "mein mann heißt tom", "mi marido se llama tomás", "我老公叫汤姆")
    with _told(said, *others) as bank:
        found = bank.recall(SCOPE, asked, k=1)
    assert said in found.text


@pytest.mark.parametrize(
    ("attribute", "said"),
    [
        ("name", "hi i'm sorry"),
        ("name", "hi i'm looking for a hotel"),
        ("name", "i'm german by the way"),
        ("name", "hi this is important"),
        ("name", "i'm tired btw"),
        ("name", "you can call me tomorrow"),
        ("name", "people call me crazy"),
        ("name", "this is great by the way"),
        ("name", "hallo ich bin müde"),
        ("name", "hallo ich bin der meinung"),
        ("name", "hola soy alérgica"),
        ("name", "你好我是一个护士"),
        ("age", "i'm thirty minutes late"),
        ("age", "ich bin fünfzig kilometer entfernt"),
        ("age", "tengo treinta euros"),
        ("age", "我女儿三岁了"),
    ],
)
def test_what_is_said_alike_tells_no_name_and_no_age(attribute: Attribute, said: str) -> None:
    assert not tells_attribute(said, attribute)


@pytest.mark.parametrize(
    ("said", "attribute", "kind"),
    [
        ("i live um in ghent", "home", "fact"),
        ("my um name is katrin", "name", "fact"),
        ("i work uh as a nurse", "job", "fact"),
        ("i don't uh eat cheese", "diet", "preference"),
        ("ich äh wohne in gent", "home", "fact"),
        ("vivo eh en gante", "home", "fact"),
        ("我呃住在根特", "home", "fact"),
    ],
)
def test_sounds_do_not_hide_what_is_told_of_oneself(said: str, attribute: Attribute, kind: Standing) -> None:
    assert tells_attribute(said, attribute)
    assert stands(said) == kind


def test_a_spoken_instruction_is_one() -> None:
    assert stands("please uh always um keep your answers short") == "instruction"
