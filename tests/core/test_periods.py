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
        ("What did we say between October and October?", "2026-10-01", "2026-10-31"),
        ("What did we say from Monday to Wednesday?", "2026-11-16", "2026-11-18"),
        ("Was haben wir zwischen Montag und Mittwoch gesagt?", "2026-11-16", "2026-11-18"),
        ("What have we talked about since April?", "2026-04-01", "2026-11-20"),
        ("Worüber haben wir seit Dezember gesprochen?", "2025-12-01", "2026-11-20"),
        ("4月以来我们聊了什么？", "2026-04-01", "2026-11-20"),
    ],
)
def test_ends_that_tell_no_year(text: str, first: str, last: str) -> None:
    assert asked(text) == [(first, last)]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Which books have I read since April?", "2026-04-01"),
        ("How much weight have I lost since 3 March?", "2026-03-03"),
        ("Which films did I see since last week?", "2026-11-09"),
        ("What have I bought since Monday?", "2026-11-16"),
        ("Welche Bücher habe ich seit Dezember gelesen?", "2025-12-01"),
        ("¿Qué libros he leído desde enero?", "2026-01-01"),
        ("Quels livres ai-je lus depuis mars ?", "2026-03-01"),
        ("4月以来我读了哪些书？", "2026-04-01"),
    ],
)
def test_the_time_since_a_day_is_all_of_it_in_any_question(text: str, first: str) -> None:
    assert named(text) == [(first, "2026-11-20")]


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
    told = "on the 31st", "mid-May last year", "since late May", "since Christmas", "on 5/6/2026", "今年3月前"
    for text in (*told, "from Christmas to now", "from last winter until today"):
        days_asked(text, today, [1, 9999])
        days_named(text, today, [])


def test_the_text_without_them() -> None:
    assert (
        without_periods("What did we say about tea from 3 to 10 May?").split() == "What did we say about tea ?".split()
    )


IN_DIGITS = {
    ("2026-05-18",): """
        What did I say on 18.05.2026?
        18.05.2026: was haben wir besprochen?
        Was habe ich am 18.05.2026 gesagt?
        Was habe ich am 18.05.26 gesagt?
        Was habe ich am 18.5. erzählt?
        Was habe ich am 18.5 gesagt?
        What did I say on 5/18?
        5/18: what did I say?
        What did I say on Monday 5/18?
        What did I say on Monday, 5/18/2026?
        Was habe ich am Montag, dem 18.5., gesagt?
        What did I say on 5/18/2026?
        What did I say on 5/18/26?
        What did I say on 18/05/2026?
        What did I say on 18/5?
        ¿Qué te dije el 18/05/2026?
        Qu'est-ce que j'ai dit le 18/05/2026 ?
        Qu'est-ce que j'ai dit le 18/5 ?
        2026/5/18、何を話しましたか？
        5/18に何を話しましたか？
        我们5/18聊了什么？
        """,
    ("2026-06-05",): """
        ¿Qué te dije el 5/6?
        De quoi avons-nous parlé le 5/6/2026 ?
        Was habe ich am 5.6.2026 gesagt?
        """,
    ("2026-05-06", "2026-06-05"): """
        What did I say on 5/6/2026?
        What did I say on 5/6?
        """,
}


@pytest.mark.parametrize(
    ("text", "found"),
    [(line.strip(), found) for found, lines in IN_DIGITS.items() for line in lines.splitlines() if line.strip()],
)
def test_a_date_in_digits_alone(text: str, found: tuple[str, ...]) -> None:
    assert asked(text) == [(day, day) for day in found]
    assert subject(text) == "days"


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("What did we discuss from 5/3 to 5/10?", *EARLY_MAY),
        ("What did we discuss between 5/3/2026 and 5/10/2026?", *EARLY_MAY),
        ("What did we discuss from 20/4 to 5/6?", "2026-04-20", "2026-06-05"),
        ("Was haben wir vom 3.5. bis zum 10.5. gesagt?", *EARLY_MAY),
        ("5/3から5/10まで何を話しましたか", *EARLY_MAY),
        ("What have I told you since 5/18?", "2026-05-18", str(TODAY)),
        ("Was habe ich seit dem 18.5. gesagt?", "2026-05-18", str(TODAY)),
    ],
)
def test_dates_in_digits_are_ends_of_ranges(text: str, first: str, last: str) -> None:
    assert asked(text) == [(first, last)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Where was I on 18.05.2026?", ["2026-05-18"]),
        ("Where was I on 5/18?", ["2026-05-18"]),
        ("Où étais-je le 18/05 ?", ["2026-05-18"]),
        ("Which paint did I buy, was it 5/18?", []),
    ],
)
def test_a_date_in_digits_in_any_question(text: str, found: list[str]) -> None:
    assert named(text) == [(day, day) for day in found]


@pytest.mark.parametrize(
    "text",
    [
        *("What did we say about the 5/8 inch screws?", "Did we say 1/2 cup or 3/4 cup?", "What did I say about 5/8?"),
        *("Did I spend it on 3/4 of the rooms?", "What did I give on 4/5 stars?", "What did I say on version 1.10.2?"),
        *("What did I say on 192.168.1.20?", "Is it on 10.12.24.5?", "Call me at 555/12/34", "What did I say on 5/40?"),
        *("Was habe ich um 18.30 Uhr gesagt?", "Did I pay 18.05 euros on it?", "I am 18.5, what did I say?"),
        *("Was habe ich am 3.5 Liter Motor gemacht?", "Did it depend on 18.05 euros?", "Is 24/7 or 9/11 a day?"),
        *("Did I live there in my 20s?", "What did she do in her 30s?", "on 5/18/" * 60),
    ],
)
def test_digits_that_are_no_date(text: str) -> None:
    assert asked(text) == named(text) == []


PARTS = {
    ("2026-06-01", "2026-06-15"): """
        What did we discuss in early June?
        What did we discuss at the beginning of June?
        Was haben wir Anfang Juni besprochen?
        ¿De qué hablamos a principios de junio?
        De quoi avons-nous parlé début juin ?
        6月初我们聊了什么？
        """,
    ("2026-06-09", "2026-06-22"): """
        What did we discuss in mid-June?
        What did we discuss in mid June?
        what did we discuss mid june?
        What did we discuss in the middle of June?
        Was haben wir Mitte Juni besprochen?
        ¿De qué hablamos a mediados de junio?
        De quoi avons-nous parlé à la mi-juin ?
        """,
    ("2026-06-16", "2026-06-30"): """
        What did we discuss in late June?
        """,
    ("2026-06-21", "2026-06-30"): """
        What did we discuss at the end of June?
        Was haben wir Ende Juni besprochen?
        ¿De qué hablamos a finales de junio?
        De quoi avons-nous parlé fin juin ?
        今年6月下旬我们聊了什么？
        6月末に何を話しましたか
        6월 말에 무슨 얘기를 했지?
        """,
    ("2026-06-01", "2026-06-10"): "6月上旬に何を話しましたか",
    ("2026-06-11", "2026-06-20"): """
        六月中旬我们聊了什么？
        6월 중순에 무슨 얘기를 했지?
        """,
    ("2025-06-09", "2025-06-22"): """
        What did we discuss in mid-June 2025?
        What did we discuss in mid-June last year?
        """,
}


@pytest.mark.parametrize(
    ("text", "span"),
    [(line.strip(), span) for span, lines in PARTS.items() for line in lines.splitlines() if line.strip()],
)
def test_a_part_of_a_month(text: str, span: tuple[str, str]) -> None:
    assert asked(text) == [span]
    assert subject(text) == "days"


def test_where_something_else_is_asked_the_part_of_a_month_is_the_month() -> None:
    june = [("2026-06-01", "2026-06-30")]
    assert named("Where was I in mid-June?") == named("Wo war ich Ende Juni?") == june
    assert named("Where was I in mid-June?", today=None) == june


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("What did I say in May last year?", ("2025-05-01", "2025-05-31")),
        ("What did I say last year in May?", ("2025-05-01", "2025-05-31")),
        ("What did I say in May this year?", ("2026-05-01", "2026-05-31")),
        ("Was habe ich letztes Jahr im Mai gesagt?", ("2025-05-01", "2025-05-31")),
        ("Worüber haben wir im Mai letzten Jahres gesprochen?", ("2025-05-01", "2025-05-31")),
        ("¿De qué hablamos en mayo del año pasado?", ("2025-05-01", "2025-05-31")),
        ("De quoi avons-nous parlé en mai de l'année dernière ?", ("2025-05-01", "2025-05-31")),
        ("What did we say in the summer last year?", ("2025-06-01", "2025-08-31")),
    ],
)
def test_a_month_of_last_year(text: str, span: tuple[str, str]) -> None:
    assert asked(text) == [span]
    assert subject(text) == "days"


SINCE = {
    "2026-05-21": """
        What have I told you since the end of May?
        Was habe ich seit Ende Mai gesagt?
        ¿De qué hablamos desde finales de mayo?
        De quoi avons-nous parlé depuis fin mai ?
        5月底以来我们聊了什么？
        5월 말부터 무슨 얘기를 했지?
        """,
    "2026-05-09": "What have I told you since mid-May?",
    "2026-06-01": """
        What have I told you since last summer?
        What have I told you since the summer?
        Was habe ich seit letztem Sommer gesagt?
        De quoi avons-nous parlé depuis l'été dernier ?
        """,
    "2025-05-01": "What have I told you since May last year?",
    "2026-11-15": """
        What have I told you since the 15th?
        Was habe ich seit dem 15. gesagt?
        ¿De qué hablamos desde el 15?
        """,
    "2025-06-01": "去年夏天以来我们聊了什么？",
    "2026-11-14": "What have I told you since last weekend?",
    "2025-12-24": """
        What have I told you since Christmas?
        Worüber haben wir seit Weihnachten gesprochen?
        """,
}


@pytest.mark.parametrize(
    ("text", "first"),
    [(line.strip(), first) for first, lines in SINCE.items() for line in lines.splitlines() if line.strip()],
)
def test_the_time_since_then(text: str, first: str) -> None:
    assert asked(text) == [(first, str(TODAY))]
    assert subject(text) == "days"


def test_christmas_is_a_time_only_where_something_was_said_then() -> None:
    assert asked("What did we talk about at Christmas?") == [("2025-12-24", "2025-12-26")]
    assert asked("What did we say about Christmas?") == []


@pytest.mark.parametrize(
    ("text", "today", "found"),
    [
        ("What did I say on the 15th?", TODAY, "2026-11-15"),
        ("What did I say on the 20th?", TODAY, "2026-11-20"),
        ("On the 25th, what did I say?", TODAY, "2026-10-25"),
        ("What did I say on the 31st?", TODAY, "2026-10-31"),
        ("What did I say on the 15th of last month?", TODAY, "2026-10-15"),
        ("What did I say on the 25th of this month?", date(2026, 11, 27), "2026-11-25"),
        ("Was habe ich am 15. gesagt?", TODAY, "2026-11-15"),
        ("¿Qué dije el 15?", TODAY, "2026-11-15"),
        ("Qu'est-ce que j'ai dit le 15 ?", TODAY, "2026-11-15"),
        ("What did I say on the 30th?", date(2026, 3, 2), "2026-01-30"),
    ],
)
def test_a_day_of_the_last_month_that_has_it(text: str, today: date, found: str) -> None:
    assert asked(text, today) == [(found, found)]
    assert subject(text) == "days"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "What did we say on the 25th chapter?",
            "What did I say on the 25th anniversary?",
            "¿Qué dije el 25 por ciento?",
        ),
        *("Was habe ich am 3. Stock gesagt?", "What did I say on the 45th?", "What did I say in the end?"),
        *("What have we read since the 3rd chapter?", "Was habe ich seit dem 3. Kapitel gesagt?"),
    ],
)
def test_a_number_that_is_no_day_of_a_month(text: str) -> None:
    assert asked(text) == named(text) == []


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


NAMED = {
    ("2025-11-20", "2025-11-20"): """
        What did I say exactly one year ago?
        What did we talk about a year ago today?
        What did I tell you on this day last year?
        Was habe ich heute vor einem Jahr erzählt?
        ¿Qué dije hoy hace un año?
        Qu'est-ce que j'ai dit il y a un an jour pour jour ?
        去年的今天我说了什么？
        一年前的今天我说了什么？
        ちょうど一年前に何を話しましたか？
        去年の今日、何を話しましたか？
        """,
    ("2024-07-01", "2024-07-31"): """
        What did I say in July two years ago?
        What did I say two years ago in July?
        Was habe ich vor zwei Jahren im Juli gesagt?
        ¿Qué dije en julio de hace dos años?
        Qu'est-ce que j'ai dit en juillet il y a deux ans ?
        两年前的7月我说了什么？
        2年前の7月に何を話しましたか？
        令和6年7月に何を話しましたか？
        """,
    ("2025-06-01", "2025-08-31"): """
        What did we talk about two summers ago?
        What did we talk about the summer before last?
        Worüber haben wir im vorletzten Sommer gesprochen?
        De quoi avons-nous parlé il y a deux étés ?
        ¿De qué hablamos hace dos veranos?
        """,
    ("2025-11-01", "2025-11-30"): """
        What did I say last November?
        Was habe ich letzten November gesagt?
        Qu'est-ce que j'ai dit en novembre dernier ?
        """,
    ("2024-01-01", "2024-12-31"): """
        What did we talk about the year before last?
        Worüber haben wir im vorletzten Jahr gesprochen?
        """,
    ("2025-08-04", "2025-08-10"): """
        What did I tell you in week 32 of 2025?
        What did I say in calendar week 32 last year?
        What did I say in 2025-W32?
        Was habe ich in KW 32 letztes Jahr gesagt?
        Qu'est-ce que j'ai dit en semaine 32 de l'année dernière ?
        """,
    ("2020-12-28", "2021-01-03"): "What did I say in week 53 of 2020?",
    ("2024-07-01", "2024-09-30"): """
        What did we discuss in Q3 2024?
        What did we discuss in the third quarter of 2024?
        Worüber haben wir im dritten Quartal 2024 gesprochen?
        ¿De qué hablamos en el tercer trimestre de 2024?
        2024年第三季度我们聊了什么？
        """,
    ("2025-07-01", "2025-12-31"): """
        What did we discuss in the second half of last year?
        去年下半年我们聊了什么？
        """,
    ("2024-12-31", "2024-12-31"): """
        What did I say on New Year's Eve 2024?
        Was habe ich zu Silvester 2024 gesagt?
        """,
    ("2026-04-03", "2026-04-06"): """
        What did I say at Easter?
        Was habe ich an Ostern gesagt?
        """,
    ("2026-04-05", "2026-06-30"): """
        What did we talk about between Easter and June?
        Worüber haben wir zwischen Ostern und Juni gesprochen?
        ¿De qué hablamos entre Semana Santa y junio?
        """,
    ("2026-04-05", "2026-11-20"): "What have we talked about since Easter?",
    ("2024-02-29", "2024-02-29"): "What did I say on leap day?",
    ("2025-11-05", "2025-12-05"): """
        What was I doing this time last year?
        What did I do around the same time a year ago?
        Was habe ich letztes Jahr um diese Zeit gemacht?
        ¿Qué hice el año pasado por estas fechas?
        去年这个时候我做了什么？
        去年の今頃、何をしていましたか？
        """,
    ("2025-12-18", "2025-12-24"): """
        What did I do the week before Christmas?
        What happened in the week before Christmas last year?
        Was habe ich in der Woche vor Weihnachten gemacht?
        ¿Qué hice la semana antes de Navidad?
        Qu'est-ce que j'ai fait la semaine avant Noël ?
        圣诞节前一周我做了什么？
        去年のクリスマスの前の週に何をしましたか？
        """,
    ("2024-12-24", "2024-12-26"): """
        What did I do at Christmas two years ago?
        Was habe ich vor zwei Jahren an Weihnachten gemacht?
        前年のクリスマスに何をしましたか？
        """,
    ("2025-12-20", "2025-12-21"): "What did I do on the weekend before Christmas?",
    ("2024-12-27", "2024-12-27"): "What did I do the day after Christmas 2024?",
    ("2025-09-01", "2025-12-31"): "What did I do late last year?",
    ("2025-10-01", "2025-12-31"): """
        What did I do at the end of last year?
        Was habe ich Ende letzten Jahres gemacht?
        ¿Qué hice a finales de 2025?
        Qu'est-ce que j'ai fait fin 2025 ?
        去年年底我做了什么？
        去年の年末に何をしましたか？
        """,
    ("2024-01-01", "2024-04-30"): "What did I do in early 2024?",
    ("2024-05-01", "2024-08-31"): "What did I do in mid-2024?",
    ("2026-01-01", "2026-11-20"): "What did I do earlier this year?",
    ("2024-03-01", "2024-03-07"): """
        What did I do in the first week of March 2024?
        Was habe ich in der ersten Märzwoche 2024 gemacht?
        """,
    ("2026-08-25", "2026-08-31"): "What did I do in the last week of August?",
    ("2026-11-10", "2026-11-10"): """
        What did I do last week on Tuesday?
        What did I do on Tuesday of last week?
        Was habe ich letzte Woche Dienstag gemacht?
        """,
    ("2026-11-06", "2026-11-06"): """
        What did I do two Fridays ago?
        Was habe ich am vorletzten Freitag gemacht?
        """,
    ("2026-11-07", "2026-11-08"): "What did I do two weekends ago?",
    ("2026-07-01", "2026-09-30"): "What did I do last quarter?",
    ("2023-06-01", "2023-08-31"): "What did I do in the summer of '23?",
    ("2024-03-01", "2024-03-31"): "2024年三月我做了什么？",
    ("2026-05-01", "2026-05-31"): """
        what did i do last may?
        what happened in may 2026?
        was habe ich im mai 2026 gemacht?
        ¿Qué hice en Mayo?
        ¿Qué hice el pasado mes de mayo?
        Was habe ich im vergangenen Mai gemacht?
        """,
    ("2024-03-09", "2024-03-09"): "What did I do on the weekend of 9 March 2024?",
    ("2025-11-20", "2026-11-20"): "What did I do in the past year?",
    ("2026-11-19", "2026-11-19"): "¿Qué hice anoche?",
}


@pytest.mark.parametrize(
    ("text", "span"), [(line.strip(), span) for span, lines in NAMED.items() for line in lines.strip().splitlines()]
)
def test_a_time_that_has_a_name(text: str, span: tuple[str, str]) -> None:
    assert subject(text) == "days"
    assert asked(text) == [span]


@pytest.mark.parametrize(
    "text",
    [
        "Where was I exactly one year ago?",
        "Where did we go last summer?",
        "Wo war ich letzten Sommer?",
        "¿Dónde estuve hace un año?",
        "Où étais-je en mai 2024 ?",
        "去年夏天我去了哪里？",
        "去年の秋、どこに行きましたか？",
    ],
)
def test_where_one_was_then_is_asked_of_all_that_was_said_then(text: str) -> None:
    assert subject(text) == "days"


def test_where_one_went_for_something_is_asked_of_that() -> None:
    assert subject("Where did I go on holiday in 2023?") == subject("Where did I put the keys yesterday?") == ""
    with MemoryBank.open() as bank:
        said = {"We flew to the Azores.": date(2025, 7, 3), "Where were we? Summer tyres.": date(2026, 7, 2)}
        for text, day in said.items():
            at = datetime(day.year, day.month, day.day)
            bank.remember(("ann",), [{"role": "user", "content": text, "at": at}], session=text)
        asked = "Where did we go the summer before last?"
        [hit, *_] = bank.recall(("ann",), asked, k=1, now=datetime(2026, 11, 20)).hits
        assert "Azores" in hit.text


@pytest.mark.parametrize("text", ["What did I do at New Year two years ago?", "前年のお正月に何をしましたか？"])
def test_a_new_year_that_is_counted_back_is_either_turn_of_that_year(text: str) -> None:
    assert asked(text) == [("2023-12-31", "2024-01-02"), ("2024-12-31", "2025-01-02")]
    assert asked("What did I do at New Year 2024?") == [("2023-12-31", "2024-01-02")]


def test_a_year_ago_on_a_leap_day_is_the_last_of_february() -> None:
    assert asked("What did I say exactly one year ago?", date(2024, 2, 29)) == [("2023-02-28", "2023-02-28")]


@pytest.mark.parametrize(("year", "day"), [(1961, "04-02"), (2000, "04-23"), (2025, "04-20"), (2038, "04-25")])
def test_easter_is_computed(year: int, day: str) -> None:
    assert asked(f"What have we talked about since Easter {year}?", date(2040, 1, 1))[0][0] == f"{year}-{day}"


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("what did the plumber cost in may?", ("2026-05-01", "2026-05-31")),
        ("What did I cook at Christmas two years ago?", ("2024-12-24", "2024-12-26")),
        ("Who visited us the week after Easter?", ("2026-04-06", "2026-04-12")),
        ("Which tyres did I buy around this time last year?", ("2025-11-05", "2025-12-05")),
        ("Which tyres did I buy late in 2025?", ("2025-09-01", "2025-12-31")),
    ],
)
def test_such_a_time_counts_where_something_else_is_asked_of_it(text: str, span: tuple[str, str]) -> None:
    assert subject(text) == ""
    assert named(text) == [span]


@pytest.mark.parametrize(
    "text",
    [
        "Which eggs did I paint for Easter?",
        "What was my New Year's resolution?",
        "What did I do in week 3 of my training?",
        "Was the last march we went on long?",
        "What should I cook at Christmas?",
        "What should I wear the day before Christmas?",
        "I slept badly the other day, what helps?",
        "This may take until the sales end, what do you think?",
        "Who came first in the second half of the match?",
    ],
)
def test_what_only_sounds_like_such_a_time(text: str) -> None:
    assert subject(text) == ""
    assert named(text) == []
