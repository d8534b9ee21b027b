"""Times until now, seasons and weekends in questions that ask for what was, of anything."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.past_questions import clauses_of_the_past
from secom_core.text.periods import days_named

TODAY = date(2026, 5, 20)  # a Wednesday
NOW = datetime(2026, 5, 20, 12, tzinfo=timezone.utc)
SCOPE = ("acme", "alice")

ASKED = {
    ("2026-02-19", "2026-05-20"): """
        What health things came up in the last three months?
        In the last three months, what did I buy?
        Was haben wir in den letzten drei Monaten gekauft?
        ¿Qué compré en los últimos tres meses?
        Qu'est-ce que j'ai acheté ces trois derniers mois ?
        最近三个月我买了什么？
        この3か月で何を買いましたか？
        최근 3개월 동안 뭘 샀어요?
        지난 석 달 동안 얼마나 썼지?
        """,
    ("2026-05-06", "2026-05-20"): "Have I joined anything in the past two weeks?",
    ("2026-03-21", "2026-05-20"): """
        What did I buy recently?
        what have i signed up for lately
        Was habe ich mir in letzter Zeit angeschafft?
        ¿Qué compré últimamente?
        Qu'ai-je acheté récemment ?
        最近我买了什么？
        最近何を買いましたか？
        요즘 뭘 샀어요?
        最近いくら使った？
        最近何を読んだ？
        최근에 왜 피곤했지?
        """,
    ("2026-04-19", "2026-05-20"): "What did I buy over the past month?",
    ("2026-04-08", "2026-05-20"): "Was habe ich in den letzten Wochen gekauft?",
    ("2025-06-01", "2025-08-31"): """
        Who visited us last summer?
        Wo waren wir im letzten Sommer?
        ¿Dónde estuvimos el verano pasado?
        Où sommes-nous allés l'été dernier ?
        去年夏天我们去了哪里？
        我去年夏天为什么去医院？
        去年の夏、なぜ引っ越したの？
        지난여름에 왜 병원에 갔지?
        ¿Dónde estaba el verano pasado?
        ¿Por qué tuve que ir al médico el verano pasado?
        Où étais-je l'été dernier ?
        """,
    ("2026-05-16", "2026-05-17"): """
        What did I eat on the weekend?
        Was habe ich am Wochenende gemacht?
        ¿Qué comí el fin de semana?
        ¿Qué hice el fin de semana pasado?
        """,
    ("2026-03-01", "2026-03-31"): "三月份我在家装修了什么？",
}


@pytest.mark.parametrize(
    ("text", "span"), [(line.strip(), span) for span, lines in ASKED.items() for line in lines.strip().splitlines()]
)
def test_a_time_of_what_is_asked_for(text: str, span: tuple[str, str]) -> None:
    found = [tuple(str(date.fromordinal(day)) for day in each) for each in days_named(text, TODAY, (2025, 2026))]
    assert found == [span]


@pytest.mark.parametrize(
    "text",
    [
        "I've been sleeping badly for the last three weeks, what can I do?",
        "I've been tired lately. What did the doctor say?",
        "My back hurts recently. Which exercises did I like?",
        "What should I cook on the weekend?",
        "Where did I buy my summer tyres?",
        "Where did I put my winter coat?",
        "How has inflation developed in the last three months?",
        "Ich schlafe in letzter Zeit schlecht, was kann ich tun?",
        "¿Qué puedo hacer el fin de semana?",
        "最近睡不好，怎么办？",
        "最近的超市在哪里？",
    ],
)
def test_a_time_of_what_is_told_or_planned_is_none(text: str) -> None:
    assert days_named(text, TODAY, (2025, 2026)) == []


def test_the_clauses_that_ask_for_what_was() -> None:
    def asking(text: str) -> list[str]:
        return [text[begin:end] for begin, end in clauses_of_the_past(text)]

    assert asking("I moved in May. What broke since then? Any idea?") == [" What broke since then"]
    assert asking("In the last week, who called me?") == ["In the last week, who called me"]
    assert asking("Nach dem Umzug, was ging kaputt?") == ["Nach dem Umzug, was ging kaputt"]
    assert asking("After the exam, what should I do?") == []


def test_of_a_long_time_what_users_say_is_found_by_the_time_alone() -> None:
    def long(back: int) -> str:
        return " ".join(f"Sentence {back * number} of an answer that goes on about it." for number in range(80))

    with MemoryBank.open() as bank:
        for back in range(56):
            at = NOW - timedelta(days=back + 1)
            said = "Dropped the phone into the canal." if back == 30 else f"Bought a thing today, number {back + 200}."
            messages = [
                {"role": "user", "content": said, "at": at},
                {"role": "assistant", "content": long(back), "at": at},
            ]
            bank.remember(SCOPE, messages, session=str(back), close=True)
        found = bank.recall(SCOPE, "What accidents happened in the last two months?", token_budget=1000, now=NOW)
    assert [hit.kind for hit in found.hits if "canal" in hit.turns[0].text] == ["relevant"]
