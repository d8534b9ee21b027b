"""Times that a question tells by an event: "after the wedding", "the week before my exam", "since we moved"."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.event_times import EventTime, event_times
from secom_core.text.life_events import life_event

SCOPE = ("acme", "alice")
NOW = datetime(2026, 5, 20, 12, tzinfo=timezone.utc)

TOLD = [
    ("How did I feel the week before my exam?", EventTime("before", "my exam", days=7)),
    ("Was habe ich zwei Wochen vor der Prüfung gemacht?", EventTime("before", "der Prüfung", days=14)),
    ("Who called me two days after the operation?", EventTime("after", "the operation", days=2)),
    ("What was stolen while I was in Lisbon?", EventTime("during", "I was in Lisbon")),
    ("What has broken since we moved?", EventTime("since", "we moved")),
    ("After the wedding, where did we go?", EventTime("after", "the wedding")),
    ("What happened between the interview and the offer?", EventTime("between", "the interview", "the offer")),
    ("Wer hat sich nach dem Umzug beschwert?", EventTime("after", "dem Umzug")),
    ("Was ging kaputt, nachdem wir umgezogen sind?", EventTime("after", "wir umgezogen sind")),
    ("¿Qué compré antes de mudarme?", EventTime("before", "mudarme")),
    ("¿Qué pasó después de la boda?", EventTime("after", "la boda")),
    ("Qu'est-ce qu'on a fait après le mariage?", EventTime("after", "le mariage")),
    ("搬家之后我认识了哪个邻居？", EventTime("after", "搬家")),
    ("結婚してから何を買いましたか？", EventTime("since", "結婚")),
    ("이사 후에 누구를 만났어요?", EventTime("after", "이사")),
]
NONE = [
    "What should I do after the exam?",
    "After the wedding we need to rest. Where should we go?",
    "Since I moved, I can't sleep. What helps?",
    "What did I eat after work?",
    "When did I get the offer?",
    "Wer hat vor der Tür gewartet?",
    "Was war besser als die alte Wohnung?",
    "What do I need before the interview?",
    "Which version did I say I used when I first described my setup?",
    "What was my budget when I told you about the kitchen?",
    "Welche Version hatte ich, als ich dir meinen Aufbau beschrieb?",
    "我第一次提到预算的时候说了多少？",
]

CHAT = {
    "2024-10-03": "Sold the old sofa to a student.",
    "2025-05-12": "I can't sleep and eat only toast.",
    "2025-05-20": "Just came out of the B2 exam, the listening part was brutal.",
    "2025-08-15": "The florist cancelled on us, eight days before the big day.",
    "2025-08-23": "We got married today, in the rain!",
    "2025-08-27": "Half of the parcels are vases, seven of them.",
    "2025-10-14": "The interview at Meridia lasted an hour and a half.",
    "2025-10-22": "They want a case study about spare parts by Friday.",
    "2025-11-06": "Meridia made me an offer, 54 thousand.",
    "2026-01-10": "Bought a yellow lamp for the hall.",
    "2026-02-02": "Flew to Lisbon yesterday, five flights of stairs to the flat.",
    "2026-02-06": "Somebody took my purse on tram 28.",
    "2026-04-18": "A pigeon nests in the gutter.",
}


@pytest.mark.parametrize(("text", "time"), TOLD)
def test_a_time_that_is_told_by_an_event(text: str, time: EventTime) -> None:
    assert event_times(text) == [time]


@pytest.mark.parametrize("text", NONE)
def test_what_tells_no_time_by_an_event(text: str) -> None:
    assert event_times(text) == []


@pytest.mark.parametrize(
    ("asked", "told", "other"),
    [
        ("the wedding", "We got married today", "Which dress for a guest?"),
        ("I moved", "First night in the new flat", "They did not move forward with me"),
        ("we moved in", "We got the keys to the farmhouse this morning", "I lost the keys"),
        ("our wedding", "Tied the knot on the beach", "Tied a knot into the rope"),
        ("dem Umzug", "Seit heute wohnen wir in der Lindenallee", "Der Kühlschrank passt nicht"),
        ("la boda", "Hoy nos casamos", "Hoy compré flores"),
        ("搬家", "昨天搬进了新家", "昨天买了花"),
        ("結婚した", "今日、入籍しました", "国籍を調べました"),
    ],
)
def test_events_of_a_life_are_told_in_other_words(asked: str, told: str, other: str) -> None:
    event = life_event(asked)
    assert event is not None
    assert event.told.search(told)
    assert not event.told.search(other)


@pytest.fixture(scope="module")
def bank():
    with MemoryBank.open() as opened:
        for day, text in CHAT.items():
            at = datetime.fromisoformat(f"{day}T10:00:00+00:00")
            opened.remember(SCOPE, [{"role": "user", "content": text, "at": at}], session=day, close=True)
        yield opened


@pytest.mark.parametrize(
    ("query", "day"),
    [
        ("How did I feel the week before my exam?", "2025-05-12"),
        ("What went wrong before the wedding?", "2025-08-15"),
        ("What did people give us after the wedding?", "2025-08-27"),
        ("What did they ask of me between the interview and the offer?", "2025-10-22"),
        ("What was stolen while I was in Lisbon?", "2026-02-06"),
    ],
)
def test_what_was_said_then_is_found(bank: MemoryBank, query: str, day: str) -> None:
    hits = bank.recall(SCOPE, query, token_budget=1000, now=NOW).hits
    on_day = next(hit for hit in hits if str(hit.turns[0].at)[:10] == day)
    assert on_day.kind == "relevant"
    assert on_day.signals["date"] == max(hit.signals["date"] for hit in hits if "date" in hit.signals)
    assert sum(hit.score >= on_day.score for hit in hits) <= 3


def test_an_event_of_a_life_that_is_told_in_the_words_of_the_question_too() -> None:
    with MemoryBank.open() as bank:
        for day, text in {
            "2025-03-01": "Is it hard to move abroad?",
            "2025-06-02": "A fox lives under the shed.",
            "2025-09-03": "The lighthouse move took a day.",
            "2025-09-09": "The pump failed.",
        }.items():
            at = datetime.fromisoformat(f"{day}T10:00:00+00:00")
            bank.remember(SCOPE, [{"role": "user", "content": text, "at": at}], session=day, close=True)
        found = bank.recall(SCOPE, "What failed after we moved into the lighthouse?", token_budget=500, now=NOW)
    date = {str(hit.turns[0].at)[:10]: hit.signals["date"] for hit in found.hits if "date" in hit.signals}
    assert date["2025-09-09"] == date["2025-09-03"] > date["2025-03-01"]


def test_an_event_that_nobody_told_of_changes_nothing(bank: MemoryBank) -> None:
    asked = bank.recall(SCOPE, "What did I buy before the eclipse?", token_budget=1000, now=NOW)
    assert {hit.signals.get("date", 0) for hit in asked.hits} == {0}


def test_what_shares_one_of_two_words_is_another_event() -> None:
    with MemoryBank.open() as bank:
        said = [
            (
                "2025-09-07",
                "I am to begin a master's in October. Which computer would you take?",
                "The grey Lumen, 899.",
            ),
            ("2025-10-02", "A fox lives under the shed. I started to feed it.", "Foxes like eggs."),
            ("2025-11-20", "Bronwen of the course lent me her notes.", "That is kind of her."),
        ]
        for day, asked, answer in said:
            bank.remember(SCOPE, _turn(day, asked, answer), session=day, close=True)
        recall = bank.recall(SCOPE, "Which computer did you lean towards when I started the course?", now=NOW)
        assert {hit.signals.get("date", 0) for hit in recall.hits} == {0}


def _turn(day: str, asked: str, answer: str) -> list[dict[str, str]]:
    said = zip(("user", "assistant"), (asked, answer), strict=True)
    return [{"role": role, "content": text, "timestamp": day} for role, text in said]
