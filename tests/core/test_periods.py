"""Ranges of days, seasons, weekends and the like in questions about what was said then."""

from __future__ import annotations

from datetime import date, datetime

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.intents import subject
from secom_core.text.periods import days_asked, days_named, without_periods

TODAY = date(2026, 11, 20)  # a Friday
SPRING_OF_THE_YEAR = "2026-04-01", "2026-06-30"
EARLY_MAY = "2026-05-03", "2026-05-10"


def asked(text: str, today: date = TODAY, years=(2026,)) -> list[tuple[str, str]]:
    return [_written(span) for span in days_asked(text, today, years)]


def named(text: str, today: date | None = TODAY, years=(2026,)) -> list[tuple[str, str]]:
    return [_written(span) for span in days_named(text, today, years)]


def _written(span: tuple[int, int]) -> tuple[str, str]:
    first, last = (str(date.fromordinal(day)) for day in span)
    return first, last


RANGES = {
    SPRING_OF_THE_YEAR: """
        What did we talk about between April and June?
        What did we talk about from April to June?
        what did we talk about between april and june
        What did we discuss from April until June 2026?
        Worüber haben wir zwischen April und Juni gesprochen?
        Worüber haben wir von April bis Juni gesprochen?
        ¿De qué hablamos entre abril y junio?
        ¿De qué hablamos de abril a junio?
        De quoi avons-nous parlé entre avril et juin ?
        De quoi avons-nous parlé d'avril à juin ?
        4月到6月我们聊了什么？
        四月到六月我们聊了什么？
        4月から6月まで何を話しましたか
        """,
    EARLY_MAY: """
        What did we talk about between 3 May and 10 May?
        What did we talk about between May 3 and 10?
        What did we talk about from the 3rd to the 10th of May?
        What did we talk about on May 3-10?
        What did we discuss between 2026-05-03 and 2026-05-10?
        Worüber haben wir vom 3. bis 10. Mai gesprochen?
        Worüber haben wir vom 3. Mai bis zum 10. Mai gesprochen?
        ¿De qué hablamos del 3 al 10 de mayo?
        ¿De qué hablamos entre el 3 de mayo y el 10 de mayo?
        De quoi avons-nous parlé du 3 au 10 mai ?
        5月3日到5月10日我们聊了什么？
        5月3日到10日之间我们聊了什么？
        5月3日から10日までに何を話しましたか
        """,
}


@pytest.mark.parametrize(
    ("text", "span"),
    [(line.strip(), span) for span, lines in RANGES.items() for line in lines.splitlines() if line.strip()],
)
def test_a_range_is_all_that_lies_between_its_ends(text: str, span: tuple[str, str]) -> None:
    assert asked(text) == [span]
    assert named(text) == [span]
    assert subject(text) == "days"


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What did we say from November 2025 to January?", "2025-11-01", "2026-01-31"),
        ("What did we say from November to January 2026?", "2025-11-01", "2026-01-31"),
        ("What did we say between 2024 and 2025?", "2024-01-01", "2025-12-31"),
        ("What did we say from Monday to Wednesday?", "2026-11-16", "2026-11-18"),
        ("Was haben wir zwischen Montag und Mittwoch gesagt?", "2026-11-16", "2026-11-18"),
        ("What have we talked about since April?", "2026-04-01", "2026-11-20"),
        ("Worüber haben wir seit Dezember gesprochen?", "2025-12-01", "2026-11-20"),
        ("4月以来我们聊了什么？", "2026-04-01", "2026-11-20"),
    ],
)
def test_ends_that_tell_no_year(text: str, first: str, last: str) -> None:
    assert asked(text) == [(first, last)]


UNTIL_NOW = {
    "2026-11-09": """
        What have I told you since last week?
        What did we talk about from last week to today?
        Worüber haben wir seit letzter Woche gesprochen?
        Worüber haben wir seit der letzten Woche gesprochen?
        ¿De qué hablamos desde la semana pasada?
        De quoi avons-nous parlé depuis la semaine dernière ?
        上周以来我们聊了什么？
        从上周到现在我们聊了什么？
        """,
    "2026-05-01": """
        What have I told you since May?
        What have I told you since the beginning of May?
        Was habe ich seit Mai erzählt?
        """,
    "2026-05-03": """
        What did we talk about from 3 May to today?
        What did we talk about from May 3 until now?
        What did we talk about since May 3?
        Worüber haben wir vom 3. Mai bis heute gesprochen?
        ¿De qué hablamos desde el 3 de mayo hasta hoy?
        De quoi avons-nous parlé du 3 mai à aujourd'hui ?
        从5月3日到今天我们聊了什么？
        5月3日から今日まで何を話しましたか
        """,
    "2026-11-17": """
        What did we talk about in the last three days?
        What did we discuss over the past 3 days?
        Worüber haben wir in den letzten drei Tagen gesprochen?
        ¿De qué hablamos en los últimos tres días?
        De quoi avons-nous parlé ces trois derniers jours ?
        De quoi avons-nous parlé ces 3 derniers jours ?
        """,
    "2026-11-13": """
        What did we talk about in the last few days?
        What did we talk about since last Friday?
        Worüber haben wir in den letzten paar Tagen gesprochen?
        """,
    "2026-11-19": """
        What did we talk about since yesterday?
        Was habe ich dir seit gestern erzählt?
        """,
    "2026-10-01": """
        What have I told you since last month?
        Was habe ich seit letztem Monat gesagt?
        """,
    "2026-11-06": """
        Worüber haben wir seit zwei Wochen gesprochen?
        """,
}


@pytest.mark.parametrize(
    ("text", "first"),
    [(line.strip(), first) for first, lines in UNTIL_NOW.items() for line in lines.splitlines() if line.strip()],
)
def test_the_time_until_now(text: str, first: str) -> None:
    assert asked(text) == [(first, str(TODAY))]
    assert subject(text) == "days"


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("What did I buy from 3 May to today?", [("2026-05-03", "2026-11-20")]),
        ("Was kaufte ich vom 3. Mai bis heute?", [("2026-05-03", "2026-11-20")]),
        ("Am I free from now on?", []),
    ],
)
def test_a_range_to_the_present_day_is_one_in_any_question(text: str, span: list[tuple[str, str]]) -> None:
    assert named(text) == span


def test_a_range_without_a_year_may_be_in_any_year_given() -> None:
    text = "What did we say between April and June?"
    assert asked(text, years=(2025, 2026)) == [("2025-04-01", "2025-06-30"), ("2026-04-01", "2026-06-30")]


@pytest.mark.parametrize(
    "text",
    [
        *("Is it between 3 and 10?", "from Tom to Anna", "open from 9:00 to 17:00", "zwischen 3 und 10 Grad"),
        *("between May 30 and 40", "My hours are from Monday to Friday.", "vom 3. bis zum 10. Stock"),
    ],
)
def test_what_is_no_range(text: str) -> None:
    assert named(text) in ([], [("2026-05-30", "2026-05-30")])


@pytest.mark.parametrize("today", [date.min, date.max, date(2024, 2, 29)])
def test_the_edges_of_the_calendar(today: date) -> None:
    for text in ("from November to January", "from Monday to Sunday", "since Monday", "since May", "in May 9999"):
        days_asked(text, today, [1, 9999])


def test_the_text_without_them() -> None:
    assert (
        without_periods("What did we say about tea from 3 to 10 May?").split() == "What did we say about tea ?".split()
    )


def test_a_recall_finds_what_was_said_within_the_range() -> None:
    said = {"2026-03-10": "I sold my bike.", "2026-05-12": "I adopted a cat.", "2026-09-02": "We talked about April."}
    with MemoryBank.open() as bank:
        for day, text in said.items():
            bank.remember(
                ("a",), [("user", text)], session=day, at=datetime.fromisoformat(f"{day}T10:00+00:00"), close=True
            )
        now = datetime.fromisoformat("2026-11-20T10:00+00:00")
        recall = bank.recall(("a",), "What did we talk about between April and June?", k=1, now=now)
    assert [hit.turns[0].messages[0].text for hit in recall.hits] == ["I adopted a cat."]


def _said_on(said: dict[str, str], query: str, **options: object) -> list[tuple[str, str]]:
    now = datetime.fromisoformat("2026-11-20T10:00+00:00")
    with MemoryBank.open() as bank:
        for day, text in said.items():
            at = datetime.fromisoformat(f"{day}T10:00+00:00")
            bank.remember(("a",), [("user", text)], session=day, at=at, close=True)
        recall = bank.recall(("a",), query, now=now, **options)
    return [(hit.turns[0].messages[0].text, hit.kind) for hit in recall.hits]


FAR_AND_NEAR = {
    "2025-01-05": "I said that six months of rent are due.",
    "2026-04-30": "I adopted a cat.",
    "2026-06-20": "I sold my bike.",
    "2026-10-02": "Six people said no.",
}


def test_where_nothing_was_said_then_the_nearest_days_come_as_such() -> None:
    found = _said_on(FAR_AND_NEAR, "What did I say six months ago?", k=2)
    assert found == [("I adopted a cat.", "surrounding"), ("I sold my bike.", "surrounding")]


def test_the_nearest_days_are_not_relevant() -> None:
    found = _said_on(FAR_AND_NEAR, "What did I say six months ago?", only_relevant=True)
    assert not {"I adopted a cat.", "I sold my bike."} & {text for text, _ in found}


def test_days_before_anything_was_said() -> None:
    assert _said_on({"2026-04-30": "I adopted a cat."}, "What did I say in 2020?", k=1) == [
        ("I adopted a cat.", "surrounding")
    ]
