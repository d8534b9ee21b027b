"""What is shown where little is found, and where the conversation itself is asked about."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secom_core.bank import MemoryBank
from secom_core.memory import Recall
from secom_core.ranking import Candidate, ScopeIndex, surroundings
from secom_core.ranking.passage_table import PassageTable, Rows
from secom_core.ranking.tool_results import working
from secom_core.text.terms import count_tokens

SCOPE = ("acme", "alice")
AT = datetime(2024, 5, 6, 9, tzinfo=timezone.utc)

DAYS = [
    [("I'm repainting the kitchen.", "What colour did you choose?"), ("A warm grey.", "That will look calm.")],
    [("Which train goes to Ghent on Sunday?", "The one at nine is direct."), ("I'll take that.", "Have a good trip.")],
    [("The cat Ponti will not eat.", "Since when is that?"), ("Since Tuesday.", "Then better ask a vet.")],
    [("Help me plan a birthday party for Tom.", "How many guests?"), ("About twenty.", "Then book the barn.")],
    [("The bike makes a grinding noise.", "It may be the bearings."), ("In front, I think.", "Check the hub first.")],
    [("I want to learn the cello.", "Rent one for a start."), ("How much is that?", "About forty euros a month.")],
]  # fmt: skip


def said(day: int) -> list[dict[str, str]]:
    roles = ("user", "assistant")
    return [{"role": role, "content": text} for each in DAYS[day] for role, text in zip(roles, each, strict=True)]


def told(bank: MemoryBank, *texts: str, session: str, day: int = 0) -> tuple[str, ...]:
    messages = [{"role": "user", "content": text} for text in texts]
    return bank.remember(SCOPE, messages, session=session, at=AT + timedelta(days=day), close=True).turn_ids


@pytest.fixture
def week() -> Any:
    """Six sessions on six days, each about something else."""
    with MemoryBank.open() as bank:
        for day in range(6):
            bank.remember(SCOPE, said(day), session=f"day {day}", at=AT + timedelta(days=day), close=True)
        yield bank


def sessions_of(recall: Recall, kind: str | None = None) -> set[str]:
    return {hit.memory.session for hit in recall.hits if kind in (None, hit.kind)}


# -- never empty ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", " ", "?!…", "zzz qqq", "The quarterly turnover of the shipyard", "🙂", "、。"])
@pytest.mark.parametrize("budget", [60, 100, 300, 2000])
def test_something_is_shown_whatever_is_asked(week: MemoryBank, query: str, budget: int) -> None:
    recall = week.recall(SCOPE, query, token_budget=budget)
    assert recall.hits
    assert recall.tokens == count_tokens(recall.text) <= budget
    assert {hit.kind for hit in recall.hits} <= {"recent", "surrounding", "relevant"}
    assert "day 5" in sessions_of(recall), "the latest first"
    assert not week.recall(SCOPE, query, token_budget=budget, only_relevant=True).hits or query.startswith("The q")


def test_what_fills_the_room_is_what_was_said_last(week: MemoryBank) -> None:
    recall = week.recall(SCOPE, "zzz", token_budget=120)
    assert {hit.kind for hit in recall.hits} == {"recent"}
    assert sessions_of(recall) <= {"day 4", "day 5"}
    assert recall.confidence == 0.0


PANTRY = "My sourdough starter lives in the pantry."
JARS = "honey rice oats beans lentils flour sugar salt tea cocoa raisins almonds walnuts barley millet pepper".split()
ADVICE = " ".join(f"Put the {one} above the {other}, away from the stove." for one in JARS for other in JARS[:6])


@pytest.mark.parametrize("before", ["I own a red bike.", "Tell me about the moon."])
def test_long_replies_leave_room_for_what_the_user_said_before(before: str) -> None:
    with MemoryBank.open() as bank:
        for day, text in enumerate([PANTRY, before, "Help me tidy a shelf."]):
            talk = [("user", text), ("assistant", f"On day {day}: {ADVICE}")]
            bank.remember(SCOPE, talk, session=f"day {day}", at=AT + timedelta(days=day), close=True)
        for budget in range(100, 1500, 10):
            recall = bank.recall(SCOPE, "Do I own a zeppelin?", token_budget=budget)
            assert PANTRY in recall.text, budget
            assert before in recall.text, budget
            # The room that is left is for the replies, the latest first.
            assert "On day 2" in recall.text or budget < 250
            assert "On day 1" in recall.text or budget < 450
            assert budget / 2 < recall.tokens <= budget or budget < 250


def test_a_question_is_not_shown_before_what_was_told_where_its_answer_is_not() -> None:
    asked, unanswered, short = "Which knots hold a hammock?", "What time is it in Tokyo?", "How old is the moon?"
    with MemoryBank.open() as bank:
        told(bank, PANTRY, session="one", day=0)
        replies = [(asked, ADVICE), (short, "Billions of years.")]
        talk = [each for question, reply in replies for each in (("user", question), ("assistant", reply))]
        bank.remember(SCOPE, talk, session="two", at=AT + timedelta(days=1), close=True)
        told(bank, unanswered, session="three", day=2)
        small, large = (bank.recall(SCOPE, "zzz", token_budget=budget).text for budget in (80, 300))
    assert PANTRY in small
    assert f"{short}\nassistant: Billions" in small
    assert asked not in small
    assert unanswered not in small
    assert f"{asked}\nassistant: Put the" in large
    assert unanswered in large


def test_a_pasted_page_leaves_room_for_what_was_said_before_it() -> None:
    with MemoryBank.open() as bank:
        told(bank, PANTRY, session="one", day=0)
        told(bank, f"Read this. {ADVICE}", session="two", day=1)
        for budget in range(200, 1000, 10):
            recall = bank.recall(SCOPE, "Do I own a zeppelin?", token_budget=budget)
            assert PANTRY in recall.text, budget
            assert "Read this." in recall.text, budget


def test_everything_is_excluded_but_one_turn(week: MemoryBank) -> None:
    ids = [turn.id for name in week.sessions(SCOPE) for turn in week.turns(SCOPE, name)]
    for left in (ids[0], ids[5], ids[-1]):
        recall = week.recall(SCOPE, "What noise does the bike make?", exclude=set(ids) - {left})
        assert [turn.id for turn in recall.turns] == [left]
    assert week.recall(SCOPE, "What noise does the bike make?", exclude=ids).hits == ()


def test_an_empty_scope_stays_empty(week: MemoryBank) -> None:
    assert week.recall(("acme", "bob"), "anything").hits == ()


def test_only_what_is_relevant_is_less_and_the_same(week: MemoryBank) -> None:
    query = "What is wrong with my cat?"
    full, only = (week.recall(SCOPE, query, only_relevant=flag) for flag in (False, True))
    assert {turn.id for turn in only.turns} < {turn.id for turn in full.turns}
    assert {hit.kind for hit in only.hits} == {"relevant"}
    assert only.tokens < full.tokens
    assert "Ponti" in only.text


def test_each_hit_says_why_it_is_shown(week: MemoryBank) -> None:
    recall = week.recall(SCOPE, "What is the matter with Ponti?", token_budget=2000)
    kinds = {hit.memory.session: hit.kind for hit in recall.hits}
    assert kinds["day 2"] == "relevant"
    assert {kinds[f"day {day}"] for day in (0, 1, 3, 4, 5)} <= {"surrounding", "recent"}
    best = max(recall.hits, key=lambda hit: hit.relevance)
    assert best.memory.session == "day 2"
    assert all(hit.relevance == 0.0 for hit in recall.hits if hit.kind in ("surrounding", "recent"))


@pytest.mark.slow
@given(st.text(max_size=40), st.integers(60, 400))
@settings(max_examples=40, deadline=None)
def test_any_query_gets_something_that_fits(query: str, budget: int) -> None:
    with MemoryBank.open() as bank:
        bank.remember(SCOPE, said(0), session="s", at=AT)
        recall = bank.recall(SCOPE, query, token_budget=budget)
        assert recall.hits
        assert count_tokens(recall.text) <= budget


def test_a_pasted_page_is_cut_before_it_is_embedded() -> None:
    from embedders import HashingEmbedder

    class Measured(HashingEmbedder):
        longest = 0

        def embed(self, texts: Any) -> Any:
            self.longest = max(self.longest, *map(len, texts))
            return super().embed(texts)

    embedder = Measured()
    with MemoryBank.open(embedder=embedder) as bank:
        bank.remember(SCOPE, said(2), session="cat", at=AT, close=True)
        bank.remember(SCOPE, said(3), session="party", at=AT, close=True)
        embedder.longest = 0
        page = "What is wrong with my cat Ponti? " + "lorem ipsum dolor " * 12_000
        assert len(page) > 210_000
        recall = bank.recall(SCOPE, page, context=[{"role": "user", "content": page}])
    assert 0 < embedder.longest <= 4_001
    assert "Ponti" in recall.text
    assert recall.query == page


# -- the first and the last session ------------------------------------------------------------------------------------

LAST_TIME = ["What did we talk about last time?", "Worüber haben wir letztes Mal gesprochen?", "我们上次聊了什么？"]


@pytest.mark.parametrize("query", LAST_TIME)
def test_last_time_is_the_last_session(week: MemoryBank, query: str) -> None:
    recall = week.recall(SCOPE, query, token_budget=120)
    assert "cello" in recall.text
    assert sessions_of(recall, "recent") >= {"day 5"}
    assert recall.confidence > 0.5
    assert week.recall(SCOPE, query, token_budget=120, only_relevant=True).hits


@pytest.mark.parametrize("query", LAST_TIME)
def test_a_session_that_stands_in_the_prompt_is_not_the_last_one(week: MemoryBank, query: str) -> None:
    present = week.turns(SCOPE, "day 5")[0].id
    recall = week.recall(SCOPE, query, token_budget=120, exclude=[present])
    assert "grinding noise" in recall.text
    every = [turn.id for turn in week.turns(SCOPE, "day 5")]
    recall = week.recall(SCOPE, query, token_budget=120, exclude=every)
    assert "grinding noise" in recall.text
    assert "cello" not in recall.text


def test_a_long_last_session_is_shown_by_what_the_user_said_on_each_subject(week: MemoryBank) -> None:
    reply = "First tighten every screw of the frame, then oil the chain and wait for an hour. " * 60
    exchanges = [("How do I service the loom?", reply), ("And what about the shuttle?", reply.replace("frame", "box"))]
    messages = [
        {"role": role, "content": text}
        for each in exchanges
        for role, text in zip(("user", "assistant"), each, strict=True)
    ]
    week.remember(SCOPE, messages, session="loom", at=AT + timedelta(days=9), close=True)
    recall = week.recall(SCOPE, "What did we talk about last time?", token_budget=200)
    assert "How do I service the loom?" in recall.text
    assert "what about the shuttle?" in recall.text
    assert recall.tokens <= 200


def test_a_session_that_a_wrong_clock_has_dated_is_not_the_last_one_for_ever(week: MemoryBank) -> None:
    ahead = datetime(2099, 1, 1, tzinfo=timezone.utc)
    week.remember(SCOPE, [("user", "The shed has a red door.")], session="wrong", at=ahead, close=True)
    query = "What did we talk about last time?"
    assert "red door" in week.recall(SCOPE, query, token_budget=60, only_relevant=True).text
    said = "I carved an owl for the mantelpiece."
    week.remember(SCOPE, [("user", said)], session="right", at=AT + timedelta(days=9), close=True)
    last = week.recall(SCOPE, query, token_budget=60, only_relevant=True).text
    assert "owl" in last
    assert "red door" not in last
    first = week.recall(SCOPE, "What did we talk about the first time?", token_budget=60, only_relevant=True).text
    assert "red door" not in first


BEFORE_LAST = ["What did we talk about the time before last?", "上上次我们聊了什么？"]


@pytest.mark.parametrize("query", BEFORE_LAST)
def test_the_time_before_last_is_the_session_before_the_last_one(week: MemoryBank, query: str) -> None:
    recall = week.recall(SCOPE, query, token_budget=60)
    assert "grinding noise" in recall.text
    assert "cello" not in recall.text
    assert recall.confidence > 0.5
    present = week.turns(SCOPE, "day 5")[0].id
    assert "birthday party" in week.recall(SCOPE, query, token_budget=60, exclude=[present]).text


def test_where_there_is_one_session_it_is_the_one_before_the_last_too() -> None:
    with MemoryBank.open() as bank:
        assert not bank.recall(SCOPE, BEFORE_LAST[0]).hits
        told(bank, "The bike squeaks.", session="only")
        assert "squeaks" in bank.recall(SCOPE, BEFORE_LAST[0]).text


FIRST = [
    "What did we talk about the first time?",
    "Worüber haben wir im ersten Gespräch geredet?",
    "我们第一次聊了什么？",
]


@pytest.mark.parametrize("query", FIRST)
def test_the_first_time_is_the_first_session(week: MemoryBank, query: str) -> None:
    recall = week.recall(SCOPE, query, token_budget=120)
    assert "repainting the kitchen" in recall.text
    assert "A warm grey" in recall.text
    assert recall.confidence > 0.5


DIARY = {
    "english": [
        "Our cat went to the vet.",
        "I want to book a train to Trieste.",
        "We talked about tiles for the kitchen.",
    ],
    "german": [
        "Die Katze war beim Tierarzt.",
        "Ich will einen Zug nach Triest buchen.",
        "Wir haben über Fliesen gesprochen.",
    ],
    "chinese": ["我们家的猫去看了医生。", "想订一张去成都的火车票。", "我们谈了装修的事，厨房要换瓷砖。"],
}
ON_THE_THIRD = [
    ("english", "What did we talk about on May 3?"),
    ("english", "What did I say on 2026-05-03?"),
    ("english", "What did we talk about the day before yesterday?"),
    ("german", "Worüber haben wir am 3. Mai gesprochen?"),
    ("german", "Was habe ich dir vorgestern erzählt?"),
    ("chinese", "2026年5月3日我们谈了什么？"),
    ("chinese", "前天我们聊了什么？"),
]


@pytest.mark.parametrize(("language", "query"), ON_THE_THIRD)
def test_what_was_said_on_a_day_is_what_was_said_on_that_day(tmp_path: Path, language: str, query: str) -> None:
    said = DIARY[language]
    with MemoryBank.open(tmp_path / "diary.db") as bank:
        for day, text in zip((1, 3, 4), said, strict=True):
            at = datetime(2026, 5, day, 9, tzinfo=timezone.utc)
            bank.remember(SCOPE, [{"role": "user", "content": text}], session=f"May {day}", at=at, close=True)
    with MemoryBank.open(tmp_path / "diary.db") as bank:
        recall = bank.recall(SCOPE, query, token_budget=60, now=datetime(2026, 5, 5, tzinfo=timezone.utc))
    assert [hit.text.removeprefix("user: ") for hit in recall.hits if hit.relevance > 0.5] == [said[1]]
    assert recall.confidence > 0.5


def test_of_a_day_with_long_replies_each_thing_that_the_user_said_is_shown() -> None:
    reply = "First tighten every screw of the frame, then oil the chain and wait for an hour. " * 60
    asked = ["How do I service the loom?", "And what about the shuttle?", "Which oil is best?"]
    with MemoryBank.open() as bank:
        for day in (3, 4):
            said = [
                {"role": role, "content": f"{text} {day}" if role == "user" else text}
                for each in asked
                for role, text in (("user", each), ("assistant", reply))
            ]
            bank.remember(SCOPE, said, session=f"{day}", at=datetime(2026, 5, day, tzinfo=timezone.utc), close=True)
        recall = bank.recall(SCOPE, "What did we talk about on May 3?", token_budget=200)
    assert all(f"{each} 3" in recall.text for each in asked)
    assert recall.tokens <= 200


def test_a_whole_year_is_not_read_for_a_question_about_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryBank.open(tmp_path / "year.db") as bank:
        for month in range(1, 13):
            at = datetime(2025, month, 5, tzinfo=timezone.utc)
            talk = [{"role": "user", "content": f"Note {place} of month {month}."} for place in range(100)]
            bank.remember(SCOPE, talk, session=f"{month}", at=at, close=True)
    read: list[int] = []

    def counted(table: PassageTable, rows: Iterable[int]) -> None:
        wanted = list(rows)
        read.append(len(wanted))
        taken(table, wanted)

    taken = PassageTable.read
    with MemoryBank.open(tmp_path / "year.db") as bank:
        bank.recall(SCOPE, "hello")
        monkeypatch.setattr(PassageTable, "read", counted)
        recall = bank.recall(SCOPE, "What did we talk about last year?", now=datetime(2026, 2, 1, tzinfo=timezone.utc))
    assert {hit.turns[0].at.month for hit in recall.hits if hit.turns[0].at} == set(range(1, 13))
    assert max(read) <= 500


def test_what_a_question_is_about_goes_before_when_it_was_said(week: MemoryBank) -> None:
    recall = week.recall(SCOPE, "What did we say about the kitchen colour last time?", token_budget=100)
    assert "warm grey" in recall.text


# -- what holds of the user -------------------------------------------------------------------------------------------

USERS = {
    "english": (
        ["My name is Bea.", "I'm allergic to hazelnuts.", "Always answer in metric units, please."],
        ["Bea", "hazelnuts", "metric"],
        "Who am I?",
    ),
    "german": (
        ["Ich heiße Bea.", "Ich bin allergisch gegen Haselnüsse.", "Antworte bitte immer in Gramm und Metern."],
        ["Bea", "Haselnüsse", "Gramm"],
        "Was weißt du über mich?",
    ),
    "chinese": (
        ["我叫小林。", "我对榛子过敏。", "以后请用公制单位回答我。"],
        ["小林", "榛子", "公制"],
        "你知道我是谁吗？",
    ),
}


@pytest.mark.parametrize("language", USERS)
def test_who_somebody_is_comes_from_what_they_said_of_themselves(week: MemoryBank, language: str) -> None:
    texts, wanted, query = USERS[language]
    for number, text in enumerate(texts):
        told(week, text, session=f"own {number}", day=-10 + number)
    recall = week.recall(SCOPE, query, token_budget=200)
    assert [word for word in wanted if word not in recall.text] == []
    standing = [hit for hit in recall.hits if hit.kind == "standing"]
    assert len(standing) >= 3
    assert "What is my" not in recall.text


@pytest.mark.parametrize(
    ("before", "after", "old", "new"),
    [
        ("I live in Bergen.", "I moved to Porto last week.", "Bergen", "Porto"),
        ("Call me Bea.", "Please call me Beatrice from now on.", "Bea.", "Beatrice"),
        ("I work as a nurse.", "I now work for a bookshop.", "nurse", "bookshop"),
        ("Ich wohne in Kassel.", "Ich bin nach Ulm gezogen.", "Kassel", "Ulm"),
        ("我住在杭州。", "我搬到成都了。", "杭州", "成都"),
    ],
)
def test_what_was_said_anew_stands_in_the_place_of_the_old(before: str, after: str, old: str, new: str) -> None:
    with MemoryBank.open() as bank:
        told(bank, before, session="one", day=0)
        told(bank, after, session="two", day=30)
        recall = bank.recall(SCOPE, "What do you know about me?", only_relevant=True)
        standing = "\n".join(hit.text for hit in recall.hits if hit.kind == "standing")
        assert new in standing
        assert old not in standing
        # It is still there for who asks for it.
        assert old in bank.recall(SCOPE, f"When did I say: {before}").text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("My name is Ada Lovelace.", "From now on, never put my name into emails."),
        ("I live in Berlin.", "I love that we moved the meeting to Friday."),
        ("I work as a nurse in Kiel.", "I really love how my job lets me sleep late."),
        ("我叫李雷。", "以后不要再叫我小李。"),
    ],
)
def test_what_speaks_of_something_else_takes_no_place(before: str, after: str) -> None:
    with MemoryBank.open() as bank:
        told(bank, before, session="one", day=0)
        told(bank, after, session="two", day=30)
        recall = bank.recall(SCOPE, "Who am I?", only_relevant=True)
        assert before in "\n".join(hit.text for hit in recall.hits if hit.kind == "standing")


@pytest.mark.parametrize("budget", [100, 150, 300, 500, 600])
def test_what_is_found_twice_is_shown_whole(budget: int) -> None:
    with MemoryBank.open() as bank:
        told(bank, "My name is Ada Lovelace. I live in Berlin with two cats.", session="one", day=0)
        told(bank, "How tall is Everest?", session="two", day=1)
        assert (
            "Ada Lovelace. I live in Berlin with two cats." in bank.recall(SCOPE, "Who am I?", token_budget=budget).text
        )


def test_people_who_talk_to_each_other_are_not_the_user() -> None:
    with MemoryBank.open() as bank:
        talk = [{"role": "", "name": "Ann", "content": "I'm allergic to hazelnuts."}]
        bank.remember(SCOPE, talk, session="s", at=AT, close=True)
        assert not [hit for hit in bank.recall(SCOPE, "Who am I?").hits if hit.kind == "standing"]


def test_an_instruction_is_found_whatever_is_asked() -> None:
    with MemoryBank.open() as bank:
        told(bank, "Always answer in metric units.", session="rule")
        for day in range(6):
            bank.remember(SCOPE, said(day), session=f"day {day}", at=AT + timedelta(days=day + 1), close=True)
        recall = bank.recall(SCOPE, "What is wrong with my cat Ponti?", token_budget=150)
    assert "Ponti" in recall.text
    kinds = {hit.memory.session: hit.kind for hit in recall.hits}
    assert kinds.get("rule", "standing") == "standing"


@pytest.mark.parametrize("budget", [600, 1500])
def test_what_the_user_said_next_comes_before_what_hardly_has_to_do_with_it(budget: int) -> None:
    asides = ["Compare two databases.", "Write a haiku about rain.", "How do I get wine stains out?", "My knee hurts."]
    like = (
        "Readers like this chapter as it is. Numbers behave like objects here, and {} looks like {} to most of them. "
    )
    with MemoryBank.open() as bank:
        said: list[tuple[str, str]] = [("My mother Greet turns 60 on 14 October.", "How nice for her.")]
        said += [("She loves orchids and hates surprises.", "Noted.")]
        said += [(f"{asides[n % 4]} Part {n}.", like.format(f"point {n}", f"note {n}") * 20) for n in range(24)]
        exchanges = [pair for user, reply in said for pair in (("user", user), ("assistant", reply))]
        bank.remember(SCOPE, exchanges, session="s", at=AT, close=True)
        assert "orchids" in bank.recall(SCOPE, "What does my mother like?", token_budget=budget).text


def test_the_answer_to_a_question_asked_before_comes_before_what_hardly_has_to_do_with_it() -> None:
    asked = "Which header carries the tenant id?"
    things = "route quota client policy cookie grant proxy session".split()
    answer = "`X-Acme-Tenant`, set at the edge. " + " ".join(
        f"The {one} {at} is as before." for at in range(9) for one in things
    )
    with MemoryBank.open() as bank:
        for day, thing in enumerate(things):
            said = f"How should the header and the {thing} be coupled?" if day % 2 else f"Tidy up the tenant {thing}."
            reply = " ".join(f"Part {at} of the {thing} goes into a module." for at in range(60))
            messages = [{"role": "user", "content": said}, {"role": "assistant", "content": reply}]
            bank.remember(SCOPE, messages * 3, session=f"day {day}", at=AT + timedelta(days=day), close=True)
        messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]
        bank.remember(SCOPE, messages, session="gateway", at=AT + timedelta(days=3), close=True)
        assert "X-Acme-Tenant" in bank.recall(SCOPE, asked, token_budget=400).text


def test_what_holds_is_looked_for_once_until_something_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []
    real = surroundings.standing_rows

    def counting(table: PassageTable, rows: list[int]) -> list[int]:
        looked.append(len(rows))
        return real(table, rows)

    monkeypatch.setattr(surroundings, "standing_rows", counting)
    with MemoryBank.open() as bank:
        told(bank, "Always answer in French.", "I live in Ghent.", session="one")
        shown = [bank.recall(SCOPE, query, token_budget=300).text for query in ("The shipyard?", "A warm grey?")]
        assert all("in French" in each for each in shown)
        before = len(looked)
        bank.recall(SCOPE, "Which train?", token_budget=300)
        assert len(looked) == before
        new = told(bank, "Always answer in rhymes.", session="two", day=1)
        assert "in rhymes" in bank.recall(SCOPE, "Which train?", token_budget=300).text
        assert len(looked) > before
        bank.forget(SCOPE, turn_ids=new)
        assert "in rhymes" not in bank.recall(SCOPE, "Which train?", token_budget=300).text


def test_what_stands_around_the_finds_is_made_together(week: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    real = ScopeIndex._made

    def counting(index: ScopeIndex, rows: Rows, *given: Any) -> list[Candidate]:
        made.append(len(rows))
        return real(index, rows, *given)

    monkeypatch.setattr(ScopeIndex, "_made", counting)
    assert len(week.recall(SCOPE, "The cello?", token_budget=2000).hits) > 6
    assert sum(made) > 12
    assert len(made) < 6


# -- tools ------------------------------------------------------------------------------------------------------------

ROWS = "\n".join(
    f'  {{"flight": "XY{1000 + row}", "from": "HAM", "to": "LIS", "seats": {row}, "price": {200 + 7 * row}.50}},'
    for row in range(9)
)
SEEN = "market bridge museum castle harbour garden library tower theatre square church bakery tram lift".split()


def looked_up(bank: MemoryBank, asked: str, answer: str) -> None:
    """A turn in which a tool is called, between other turns."""
    for day, seen in enumerate(SEEN):
        told(bank, f"My cousin tells that the {seen} in Lisbon was closed. {ADVICE}", session=f"day {day}", day=day)
    messages = [
        {"role": "user", "content": asked},
        {"role": "assistant", "content": '[calls search_flights({"from": "HAM", "to": "LIS"})]'},
        {"role": "tool", "content": f"[\n{ROWS}\n]"},
        *([{"role": "assistant", "content": answer}] if answer else []),
    ]
    bank.remember(SCOPE, messages, session="flights", at=AT + timedelta(days=20), close=True)
    told(bank, "Now the bike is clean.", session="later", day=21)


@pytest.mark.parametrize(
    ("asked", "query"),
    [
        ("My flight to Lisbon was cancelled by the airline.", "Why was my flight to Lisbon cancelled?"),
        ("Anything from HAM?", "Which seats are there on a flight from HAM to LIS, and at which price?"),
    ],
    ids=["the user's words are found", "the result is found"],
)
@pytest.mark.parametrize("budget", [150, 200, 300])
def test_what_came_of_a_tool_is_shown_before_what_the_tool_gave(asked: str, query: str, budget: int) -> None:
    answer = "The pilots are on strike until Monday, so the Saturday one at noon is the best for you and Jonas."
    with MemoryBank.open() as bank:
        looked_up(bank, asked, answer)
        assert answer in bank.recall(SCOPE, query, token_budget=budget).text


def test_a_result_that_ends_a_turn_is_its_answer() -> None:
    for answer, place in (("", 2), ("The one at noon.", 3)):
        with MemoryBank.open() as bank:
            looked_up(bank, "Which flights are there to Lisbon?", answer)
            [turn] = bank.turns(SCOPE, "flights")
            assert working(turn) == set(range(1, place)), "what the user says is none"
