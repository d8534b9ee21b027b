from __future__ import annotations

from datetime import date

import pytest

from secom_core.text.dates import spans, without_days

TODAY = date(2023, 5, 8)  # a Monday


def days(text: str, today: date | None = TODAY, years=()) -> list[tuple[str, str]]:
    return [(str(date.fromordinal(first)), str(date.fromordinal(last))) for first, last in spans(text, today, years)]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What happened on May 3, 2023?", "2023-05-03", "2023-05-03"),
        ("the 3rd of June, 2022", "2022-06-03", "2022-06-03"),
        ("3 Sept 2022", "2022-09-03", "2022-09-03"),
        ("the 26th of april", "2023-04-26", "2023-04-26"),
        ("on may 3, 2022", "2022-05-03", "2022-05-03"),
        ("2023-02-28T10:00", "2023-02-28", "2023-02-28"),
        ("in January 2022", "2022-01-01", "2022-01-31"),
        ("since February", "2023-02-01", "2023-02-28"),
        ("in 2021", "2021-01-01", "2021-12-31"),
        ("yesterday", "2023-05-07", "2023-05-07"),
        ("the day before yesterday", "2023-05-06", "2023-05-06"),
        ("last week", "2023-05-01", "2023-05-07"),
        ("last month", "2023-04-01", "2023-04-30"),
        ("last year", "2022-01-01", "2022-12-31"),
        ("last Friday", "2023-05-05", "2023-05-05"),
        ("last Monday", "2023-05-01", "2023-05-01"),
        ("ten days ago", "2023-04-28", "2023-04-28"),
        ("2 weeks ago", "2023-04-21", "2023-04-27"),
        ("2023年5月3日", "2023-05-03", "2023-05-03"),
        ("2022年10月", "2022-10-01", "2022-10-31"),
        ("3月8号", "2023-03-08", "2023-03-08"),
        ("昨天我们去了", "2023-05-07", "2023-05-07"),
        ("上周", "2023-05-01", "2023-05-07"),
        ("上个月", "2023-04-01", "2023-04-30"),
        ("去年", "2022-01-01", "2022-12-31"),
        ("十天前", "2023-04-28", "2023-04-28"),
        ("am 3. Mai 2022", "2022-05-03", "2022-05-03"),
        ("im Januar 2022", "2022-01-01", "2022-01-31"),
        ("gestern", "2023-05-07", "2023-05-07"),
        ("vorgestern", "2023-05-06", "2023-05-06"),
        ("letzte Woche", "2023-05-01", "2023-05-07"),
        ("am Freitag", "2023-05-05", "2023-05-05"),
        ("el 3 de mayo de 2022", "2022-05-03", "2022-05-03"),
        ("en enero", "2023-01-01", "2023-01-31"),
        ("ayer", "2023-05-07", "2023-05-07"),
        ("la semana pasada", "2023-05-01", "2023-05-07"),
        ("el lunes", "2023-05-01", "2023-05-01"),
        ("le 1er mai 2022", "2022-05-01", "2022-05-01"),
        ("De quoi avons-nous parlé hier ?", "2023-05-07", "2023-05-07"),
        ("De quoi avons-nous parlé avant-hier ?", "2023-05-06", "2023-05-06"),
        ("lundi dernier", "2023-05-01", "2023-05-01"),
        ("De quoi on a parlé hier ?", "2023-05-07", "2023-05-07"),
        ("Qu'est-ce que je t'ai demandé hier ?", "2023-05-07", "2023-05-07"),
        ("hier soir", "2023-05-07", "2023-05-07"),
        ("el lunes pasado", "2023-05-01", "2023-05-01"),
        ("il 3 maggio 2022", "2022-05-03", "2022-05-03"),
        ("ad aprile", "2023-04-01", "2023-04-30"),
        ("ieri", "2023-05-07", "2023-05-07"),
        ("la settimana scorsa", "2023-05-01", "2023-05-07"),
        ("il mese scorso", "2023-04-01", "2023-04-30"),
        ("lunedì scorso", "2023-05-01", "2023-05-01"),
        ("3 de maio de 2022", "2022-05-03", "2022-05-03"),
        ("em janeiro", "2023-01-01", "2023-01-31"),
        ("ontem", "2023-05-07", "2023-05-07"),
        ("na semana passada", "2023-05-01", "2023-05-07"),
        ("na segunda-feira passada", "2023-05-01", "2023-05-01"),
        ("昨日", "2023-05-07", "2023-05-07"),
        ("一昨日", "2023-05-06", "2023-05-06"),
        ("先週", "2023-05-01", "2023-05-07"),
        ("2022년 5월 3일에", "2022-05-03", "2022-05-03"),
        ("지난주", "2023-05-01", "2023-05-07"),
    ],
)
def test_what_is_written(text: str, first: str, last: str) -> None:
    assert days(text) == [(first, last)]


@pytest.mark.parametrize(
    "text",
    [
        *("", "You may march on.", "May I ask?", "at 10:30", "for 3 days", "31 February 2023", "99月", "0000-00-00"),
        *("Ich wohne hier.", "3. April: sow the peas\n4. Mai: water them", "el martillo", "en marcha"),
    ],
)
def test_what_is_no_date(text: str) -> None:
    assert days(text) == []


def test_a_date_without_a_year_may_be_of_any_year_given() -> None:
    assert days("on June 2", None, range(2021, 2023)) == [("2021-06-02", "2021-06-02"), ("2022-06-02", "2022-06-02")]
    assert days("on June 2", None) == []


def test_nothing_is_counted_from_an_unknown_day() -> None:
    assert days("yesterday, last week and two months ago", None) == []


def test_several_dates() -> None:
    assert days("between August 11 and August 15 2022") == [("2023-08-11", "2023-08-11"), ("2022-08-15", "2022-08-15")]


@pytest.mark.parametrize("today", [date.min, date.max, date(2024, 2, 29)])
def test_the_edges_of_the_calendar(today: date) -> None:
    spans("yesterday, last week, last month, last year, 999 years ago, 100 weeks ago, this week", today)


@pytest.mark.parametrize(
    "said", ["yesterday", "laſt week", "LAST MONTH", "th\u0130s year", "two weeks bac\u212a", "th\u0131s week"]
)
def test_letters_that_are_another_case_of_a_sign_are_found(said: str) -> None:
    """What a pattern finds in any case must not be refused for want of its sign."""
    plain = said.translate({0x17F: "s", 0x130: "i", 0x131: "i", 0x212A: "k"}).lower()
    assert days(said) == days(plain) != []


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("What did we say on May 3, 2023 about tea?", "What did we say on about tea?"),
        ("Was war vorgestern los?", "Was war los?"),
        ("5月3日に何を話した？", "に何を話した？"),
        ("No day at all.", "No day at all."),
    ],
)
def test_a_text_without_its_days(text: str, rest: str) -> None:
    assert " ".join(without_days(text).split()) == rest
