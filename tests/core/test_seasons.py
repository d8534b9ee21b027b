"""Seasons, weekends and days counted back, in questions about what was said then."""

from __future__ import annotations

from datetime import date

import pytest

from secom_core.text.intents import subject
from secom_core.text.periods import days_asked, days_named

FRIDAY = date(2026, 11, 20)
SPANS = {
    ("2026-03-01", "2026-05-31"): """
        What did we talk about last spring?
        Worüber haben wir letzten Frühling gesprochen?
        ¿De qué hablamos la primavera pasada?
        De quoi avons-nous parlé le printemps dernier ?
        今年春天我们聊了什么？
        今年の春に何を話しましたか
        """,
    ("2026-06-01", "2026-08-31"): """
        What did we talk about last summer?
        What did we talk about this summer?
        What did we talk about in the summer?
        What did I do last summer?
        What was I doing last summer?
        How was my summer?
        What was my summer like?
        Wie war mein Sommer?
        Was habe ich letzten Sommer gemacht?
        ¿Qué hice el verano pasado?
        ¿Cómo fue mi verano?
        Qu'est-ce que j'ai fait l'été dernier ?
        Worüber haben wir im Sommer gesprochen?
        ¿De qué hablamos el verano pasado?
        De quoi avons-nous parlé l'été dernier ?
        De quoi avons-nous parlé cet été ?
        上个夏天我们聊了什么？
        """,
    ("2025-06-01", "2025-08-31"): """
        What did we talk about in the summer of 2025?
        What did we discuss in summer 2025?
        Worüber haben wir im Sommer 2025 gesprochen?
        ¿De qué hablamos en el verano de 2025?
        去年夏天我们聊了什么？
        去年の夏に何を話しましたか
        去年の夏に何をしましたか
        去年夏天我做了什么？
        """,
    ("2024-06-01", "2024-08-31"): """
        一昨年の夏に何を話しましたか
        """,
    ("2025-09-01", "2025-11-30"): """
        What did we talk about last autumn?
        What did we talk about last fall?
        """,
    ("2025-12-01", "2026-02-28"): """
        What did we talk about last winter?
        De quoi avons-nous parlé en hiver ?
        """,
    ("2026-11-14", "2026-11-15"): """
        What did we talk about on the weekend?
        What did we talk about at the weekend?
        What did we talk about last weekend?
        How was my weekend?
        Worüber haben wir am Wochenende gesprochen?
        Worüber haben wir letztes Wochenende gesprochen?
        ¿De qué hablamos el fin de semana pasado?
        De quoi avons-nous parlé le week-end dernier ?
        周末我们聊了什么？
        上周末我们聊了什么？
        先週末に何を話しましたか
        """,
    ("2026-11-18", "2026-11-18"): """
        What did we talk about the day before yesterday?
        Worüber haben wir vorgestern gesprochen?
        ¿De qué hablamos anteayer?
        ¿De qué hablamos antes de ayer?
        De quoi avons-nous parlé avant-hier ?
        前天我们聊了什么？
        一昨日何を話しましたか
        水曜日に何を話しましたか
        """,
    ("2026-11-17", "2026-11-17"): """
        大前天我们聊了什么？
        """,
    ("2026-11-11", "2026-11-11"): """
        上周三我们聊了什么？
        先週の水曜日に何を話しましたか
        """,
    ("2026-11-02", "2026-11-08"): """
        What did we talk about the week before last?
        Worüber haben wir vorletzte Woche gesprochen?
        上上周我们聊了什么？
        """,
    ("2026-05-09", "2026-06-08"): """
        What did I say six months ago?
        Was habe ich vor sechs Monaten gesagt?
        ¿De qué hablamos hace seis meses?
        De quoi avons-nous parlé il y a six mois ?
        半年前我们聊了什么？
        六ヶ月前に何を話しましたか
        """,
    ("2026-11-03", "2026-11-09"): """
        What did I say a fortnight ago?
        Worüber haben wir vor vierzehn Tagen gesprochen?
        Worüber haben wir vor zwei Wochen gesprochen?
        ¿De qué hablamos hace dos semanas?
        2週間前に何を話しましたか
        """,
}


def asked(text: str, today: date) -> list[tuple[str, str]]:
    return [
        (str(date.fromordinal(first)), str(date.fromordinal(last))) for first, last in days_asked(text, today, [2026])
    ]


@pytest.mark.parametrize(
    ("text", "span"),
    [(line.strip(), span) for span, lines in SPANS.items() for line in lines.splitlines() if line.strip()],
)
def test_what_it_means(text: str, span: tuple[str, str]) -> None:
    assert asked(text, FRIDAY) == [span]
    assert subject(text) == "days"


@pytest.mark.parametrize(
    ("text", "today", "first"),
    [
        ("What did we say last summer?", date(2026, 7, 1), "2025-06-01"),
        ("What did we say this summer?", date(2026, 7, 1), "2026-06-01"),
        ("What did we say last winter?", date(2026, 1, 10), "2024-12-01"),
        ("What did we say this winter?", date(2026, 1, 10), "2025-12-01"),
        ("What did we say last weekend?", date(2026, 11, 21), "2026-11-14"),
        ("What did we say on the weekend?", date(2026, 11, 21), "2026-11-21"),
        ("What did we say last weekend?", date(2026, 11, 23), "2026-11-21"),
    ],
)
def test_the_last_one_is_over(text: str, today: date, first: str) -> None:
    assert [begin for begin, _ in asked(text, today)] == [first]


@pytest.mark.parametrize(
    "text",
    [
        "What did we say about spring rolls?",
        "Did we talk about the fall of Rome?",
        "What did I say about my summer?",
        "Was war in meinem Fall los?",
        "Il a été malade.",
        "¿De qué hablamos del winter sale?",
        "Was machst du an Wochenenden?",
        "Was hatten wir für diesen Fall besprochen?",
        "Was haben wir im letzten Fall gesagt?",
        "我们下周一聊什么？",
        "下个周末我们聊什么？",
        "来週の金曜日に何を話しますか",
    ],
)
def test_what_is_none(text: str) -> None:
    assert asked(text, FRIDAY) == []


@pytest.mark.parametrize(
    "text", ["十月前我们聊了什么？", "10月之前我们聊了什么？", "十月以前我們聊了什麼？", "十月前に何を話しましたか"]
)
def test_a_month_and_before_is_no_count_of_months(text: str) -> None:
    assert [last for _, last in asked(text, FRIDAY)] == ["2026-09-30"]
    assert days_named(text, FRIDAY, [2026]) == []
    assert subject(text) == "days"


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("今年3月前我们聊了什么？", "2026-02-28"),
        ("去年三月之前我们聊了什么？", "2025-02-28"),
        ("2025年3月前我们聊了什么？", "2025-02-28"),
        ("昨年3月以前に何を話しましたか", "2025-02-28"),
        ("올해 3월 전에 무슨 얘기를 했지?", "2026-02-28"),
        ("작년 3월 전에 무슨 얘기를 했지?", "2025-02-28"),
    ],
)
def test_before_a_month_of_a_year(text: str, last: str) -> None:
    assert asked(text, FRIDAY) == [(str(date.min), last)]
    assert subject(text) == "days"


KOREAN = {
    (
        "2026-11-19",
        "2026-11-19",
    ): "어제 무슨 얘기를 했지? / 어제 우리가 나눈 대화 내용이 뭐였지? / 어젯밤에 뭐라고 했지?",
    ("2026-11-18", "2026-11-18"): "그저께 뭐라고 했지? / 이틀 전에 무슨 얘기를 했나요? / 수요일에 무슨 얘기를 했지?",
    ("2026-11-09", "2026-11-15"): "지난주에 무슨 얘기를 했지? / 저번 주에 무슨 얘기 했어?",
    ("2026-11-02", "2026-11-08"): "지지난주에 무슨 이야기를 나눴지?",
    ("2026-11-14", "2026-11-14"): "지난주 토요일에 우리가 무슨 얘기를 했지?",
    ("2026-11-14", "2026-11-15"): "지난 주말에 무슨 얘기를 했지? / 주말에 무슨 얘기를 했지?",
    ("2026-10-01", "2026-10-31"): "지난달에 무슨 얘기를 했나요?",
    ("2026-03-05", "2026-03-05"): "3월 5일에 무슨 얘기를 했지? / 2026년 3월 5일에 내가 뭐라고 말했지?",
    ("2026-05-01", "2026-05-31"): "5월에 무슨 얘기를 했지? / 올해 5월에 얘기한 내용을 요약해줘",
    ("2025-05-01", "2025-05-31"): "작년 5월에 무슨 얘기를 했지?",
    ("2026-10-07", "2026-10-07"): "지난달 7일에 무슨 얘기를 했지?",
    ("2025-06-01", "2025-08-31"): "작년 여름에 무슨 얘기를 했지?",
    ("2024-01-01", "2024-12-31"): "재작년에 무슨 얘기를 했지?",
    ("2026-05-09", "2026-06-08"): "반년 전에 무슨 얘기를 했지? / 여섯 달 전에 뭐라고 했지? / 6개월 전에 뭐라고 했지?",
    ("2026-11-10", "2026-11-16"): "일주일 전에 뭐라고 했지?",
    ("2026-11-17", "2026-11-20"): "지난 3일 동안 무슨 얘기를 했지? / 최근 사흘 동안 무슨 얘기를 했지?",
    ("2026-11-13", "2026-11-20"): "최근 며칠 동안 무슨 얘기를 했지?",
    ("2026-11-09", "2026-11-20"): "지난주부터 무슨 얘기를 했지?",
    ("2026-05-01", "2026-11-20"): "5월부터 무슨 얘기를 했지? / 5월 이후로 무슨 얘기를 했지?",
    ("2026-05-03", "2026-11-20"): "5월 3일부터 오늘까지 무슨 얘기를 했지?",
    ("2026-04-01", "2026-06-30"): "4월부터 6월까지 무슨 얘기를 했지? / 4월과 6월 사이에 무슨 얘기를 했지?",
}


@pytest.mark.parametrize(
    ("text", "span"), [(line.strip(), span) for span, lines in KOREAN.items() for line in lines.split("/")]
)
def test_what_it_means_in_korean(text: str, span: tuple[str, str]) -> None:
    assert asked(text, FRIDAY) == [span]
    assert subject(text) == "days"


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("지난주에 엄마에 대해 무슨 얘기를 했지?", ""),
        ("어제 뭐 먹었지?", ""),
        ("다음 주 월요일에 무슨 일이 있지?", ""),
        ("지난번에 무슨 얘기를 했지?", "last session"),
    ],
)
def test_what_tells_more_in_korean_is_no_question_about_days(text: str, about: str) -> None:
    assert subject(text) == about


@pytest.mark.parametrize("text", ["十个月前我们聊了什么？", "10個月前我們聊了什麼？", "十か月前に何を話しましたか"])
def test_months_that_are_counted_are_no_month_and_before(text: str) -> None:
    assert asked(text, FRIDAY) == [("2026-01-09", "2026-02-08")]


def test_they_are_no_dates_of_what_is_asked_about_something_else() -> None:
    assert days_named("Where do I go skiing in winter?", FRIDAY, [2026]) == []


@pytest.mark.parametrize("today", [date.min, date.max, date(2024, 2, 29)])
def test_the_edges_of_the_calendar(today: date) -> None:
    for text in (
        "last winter",
        "on the weekend",
        "大前天",
        "vor 999 Jahren",
        "week before last",
        "上周三",
        "999년 전",
        "작년 여름",
        "지난달 31일",
    ):
        asked(text, today)


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("What did we discuss in the last two weeks of June?", ("2024-06-01", "2024-06-30")),
        ("5월 3일 전에 무슨 얘기 했지", ("2024-05-03", "2024-05-03")),
        ("작년 5월부터 무슨 얘기 했지", ("2023-05-01", "2024-07-03")),
        ("재작년 5월부터 무슨 얘기 했지", ("2022-05-01", "2024-07-03")),
        ("올해 5월부터 무슨 얘기 했지", ("2024-05-01", "2024-07-03")),
        ("지지난 주말에 무슨 얘기 했지", ("2024-06-22", "2024-06-23")),
        ("3月前半は何を話した", ("2024-03-01", "2024-03-31")),
        ("昨天起床后我们聊了什么", ("2024-07-02", "2024-07-02")),
    ],
)
def test_words_that_look_like_a_time_until_now_or_before(question: str, days: tuple[str, str]) -> None:
    first, last = (date.fromisoformat(day).toordinal() for day in days)
    assert days_asked(question, date(2024, 7, 3), [2024]) == [(first, last)]
