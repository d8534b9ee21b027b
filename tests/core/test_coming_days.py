"""Days to come, in what is said and in questions: "next Friday" is found when that week has come."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.text.coming_days import coming_days
from secom_core.text.periods import days_named

SATURDAY = date(2025, 11, 15)
INES = ("ines",)


def _written(text: str) -> list[tuple[str, str]]:
    return [(str(date.fromordinal(a)), str(date.fromordinal(b))) for a, b in coming_days(text, SATURDAY)]


TIMES = {
    ("2025-11-16", "2025-11-16"): """
        I fly to Porto tomorrow.
        Morgen fliege ich nach Porto.
        Ich fliege morgen nach Porto.
        Mañana vuelo a Oporto.
        Demain je vais à Porto.
        我明天飞波尔图。
        明日ポルトに行きます。
        """,
    ("2025-11-17", "2025-11-17"): """
        I fly the day after tomorrow.
        Übermorgen fliege ich.
        Vuelo pasado mañana.
        Je pars après-demain.
        我后天飞。
        """,
    ("2025-11-17", "2025-11-23"): """
        Next week I see a flat.
        Nächste Woche sehe ich eine Wohnung.
        La próxima semana veo un piso.
        Je visite un appartement la semaine prochaine.
        我下周看房。
        来週アパートを見ます。
        """,
    ("2025-11-18", "2025-11-18"): """
        On Tuesday I meet Ana.
        On Tuesday I'm meeting Ana, I'm so excited!
        I will meet Ana on Tuesday.
        We were ill. My sister arrives on Tuesday!
        We fly to Rome on Tuesday.
        I'm getting married on Tuesday.
        My exam is on Tuesday.
        What do I have on Tuesday?
        Is Ana coming on Tuesday?
        """,
    ("2025-11-21", "2025-11-28"): """
        Next Friday I have an interview.
        Nächsten Freitag habe ich ein Gespräch.
        Tengo una entrevista el viernes que viene.
        J'ai un entretien vendredi prochain.
        """,
    ("2025-11-21", "2025-11-21"): """
        我下周五有面试。
        来週の金曜日に面接があります。
        """,
    ("2025-12-01", "2025-12-31"): """
        Next month we fly to the Azores.
        Nächsten Monat fliegen wir auf die Azoren.
        Le mois prochain, nous partons.
        我们下个月去旅行。
        """,
    ("2025-11-26", "2025-12-02"): """
        We move in two weeks.
        Wir ziehen in zwei Wochen um.
        Nos mudamos dentro de dos semanas.
        Nous déménageons dans deux semaines.
        我们两周后搬家。
        """,
}


@pytest.mark.parametrize(
    ("text", "span"), [(line.strip(), span) for span, lines in TIMES.items() for line in lines.strip().splitlines()]
)
def test_a_time_to_come_is_counted_from_its_own_day(text: str, span: tuple[str, str]) -> None:
    assert _written(text) == [span]


@pytest.mark.parametrize(
    "text",
    [
        "Heute Morgen war ich müde.",
        "Guten Morgen!",
        "Por la mañana corro.",
        "The next day we left.",
        "Next door is loud.",
    ],
)
def test_what_only_sounds_like_one(text: str) -> None:
    assert _written(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "On Tuesday I met Ana.",
        "On Tuesday we had soup.",
        "What did I do on Tuesday?",
        "I've started a class on Tuesday.",
        "I'm still sore from the run on Tuesday.",
        "I'll tell you about the crash on Tuesday.",
        "I'm thinking of what she said on Tuesday.",
        "Every week I meet Ana on Tuesday.",
        "On Tuesday",
    ],
)
def test_what_tells_no_plan_is_of_the_last_such_day(text: str) -> None:
    assert _written(text) == []
    assert days_named(text, SATURDAY) == [(date(2025, 11, 11).toordinal(),) * 2]


def test_a_question_may_name_one_too() -> None:
    assert days_named("What have I planned for next week?", SATURDAY) == coming_days("next week", SATURDAY)
    assert days_named("What do I plan for next week?", None) == []
    assert coming_days("next month", date(1, 1, 1)) == coming_days("tomorrow", date.max) == []


@pytest.mark.parametrize(
    ("query", "now"),
    [
        ("What did I plan for this week?", datetime(2025, 11, 18)),
        ("What have I got planned for next week?", datetime(2025, 11, 15, 18)),
        ("What was I to do in the third week of November?", datetime(2026, 3, 1)),
    ],
)
def test_a_plan_is_found_in_the_week_that_it_is_for(query: str, now: datetime) -> None:
    with MemoryBank.open(timezone="Europe/Brussels") as bank:
        for month in range(1, 12):
            said = [f"In {month} pots I planted beans.", f"My plan was a cake with {month} eggs."]
            for day, text in enumerate(said, 3):
                bank.remember(INES, [Message(text, at=datetime(2025, month, day))], session=f"{month} {day}")
        florist = Message("Next Friday I have an interview with a florist.", at=datetime(2025, 11, 15, 16))
        bank.remember(INES, [florist], session="florist")
        bank.remember(INES, [Message("I bought a lamp.", at=datetime(2025, 11, 15, 17))], session="lamp")
        assert "florist" in bank.recall(INES, query, token_budget=60, now=now).text


@pytest.mark.parametrize(
    ("query", "now", "who"),
    [
        ("Whom did I meet on 11 November?", datetime(2025, 12, 1), "baker"),
        ("What did I do yesterday?", datetime(2025, 11, 12), "baker"),
        ("Whom do I meet on Tuesday?", datetime(2025, 11, 15, 18), "florist"),
    ],
)
def test_a_weekday_of_a_plan_is_the_coming_one(query: str, now: datetime, who: str) -> None:
    with MemoryBank.open(timezone="Europe/Brussels") as bank:
        for day, each in ((1, "barber"), (8, "baker"), (15, "florist")):
            plan = Message(f"On Tuesday I meet a {each}.", at=datetime(2025, 11, day, 16))
            bank.remember(INES, [plan], session=each)
        [hit] = bank.recall(INES, query, k=1, now=now, only_relevant=True).hits
        assert hit.turns[0].content == f"On Tuesday I meet a {who}."
