"""A question that was asked over and over does not bury what answers it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

import pytest

from secom_core.bank import MemoryBank
from secom_core.bank.said_again import forget_said
from secom_core.conversation import NOTE, Message, Turn
from secom_core.memory import Memory, Recall
from secom_core.ranking import ScopeIndex
from secom_core.ranking.repeats import Repeats, said
from secom_core.text.terms import count_tokens

SCOPE = ("acme", "alice")
AT = datetime(2024, 1, 1, 9, tzinfo=timezone.utc)


class Case(NamedTuple):
    fact: str
    query: str
    day: str
    non_answer: str
    answer: str
    wordings: tuple[str, ...]
    told: str


CASES = {
    "english": Case(
        "I'm allergic to hazelnuts, so please mind that.",
        "What am I allergic to?",
        "Day {number}: what am I allergic to?",
        "I'm sorry, I don't know what you are allergic to.",
        "You are allergic to hazelnuts.",
        (
            "What am I allergic to?", "what is it that I am allergic to?", "Do you know what I am allergic to?",
            "What am I allergic to again?", "Tell me, what am I allergic to?", "And what am I allergic to?",
            "What exactly am I allergic to?", "Can you say what I am allergic to?", "What am I allergic to, please?",
            "Hey, what am I allergic to?", "So what am I allergic to now?", "What foods am I allergic to?",
        ),
        "hazelnuts",
    ),
    "german": Case(
        "Ich bin allergisch gegen Haselnüsse, bitte denk daran.",
        "Wogegen bin ich allergisch?",
        "Tag {number}: wogegen bin ich allergisch?",
        "Das weiß ich leider nicht, wogegen du allergisch bist.",
        "Du bist gegen Haselnüsse allergisch.",
        (
            "Wogegen bin ich allergisch?", "Weißt du, wogegen ich allergisch bin?",
            "Wogegen bin ich nochmal allergisch?", "Sag mir, wogegen bin ich allergisch?",
            "Und wogegen bin ich allergisch?", "Wogegen bin ich denn allergisch?",
            "Kannst du sagen, wogegen ich allergisch bin?", "Bitte, wogegen bin ich allergisch?",
        ),
        "Haselnüsse",
    ),
    "chinese": Case(
        "我对榛子过敏，请记住。",
        "我对什么过敏？",
        "第{number}天：我对什么过敏？",
        "抱歉，我不知道你对什么过敏。",
        "你对榛子过敏。",
        (
            "我对什么过敏？", "你知道我对什么过敏吗？", "我到底对什么过敏？",
            "请问我对什么过敏？", "那我对什么过敏呢？",
            "告诉我，我对什么过敏？", "我对什么东西过敏？", "能说说我对什么过敏吗？",
        ),
        "榛子",
    ),
}  # fmt: skip


def repeats(case: Case, kind: str, times: int) -> Iterator[list[dict[str, str]]]:
    """The exchanges in which the question comes again."""
    for number in range(times):
        question = case.query
        if kind == "day":
            question = case.day.format(number=number + 2)
        if kind == "wording":
            question = case.wordings[number % len(case.wordings)]
        answer = {"non-answer": case.non_answer, "answer": case.answer}.get(kind)
        if kind in ("day", "wording"):
            answer = case.non_answer if number % 2 else None
        yield [{"role": "user", "content": question}, *([{"role": "assistant", "content": answer}] if answer else [])]


def remembered(bank: MemoryBank, exchanges: list[list[dict[str, str]]], *, first: int, size: int = 40) -> None:
    for place in range(0, len(exchanges), size):
        said: list[Any] = [message for each in exchanges[place : place + size] for message in each]
        number = first + place // size
        bank.remember(SCOPE, said, session=f"s{number}", at=AT + timedelta(days=number), close=True)


OTHERS = [
    [{"role": "user", "content": f"Where can I buy {thing} for the {place}?"},
     {"role": "assistant", "content": f"There is a good shop for {thing} two streets from the {place}."}]
    for thing in ("paint", "rope", "lamps", "tiles", "seeds") for place in ("kitchen", "boat", "garden")
]  # fmt: skip


def echoed(case: Case, kind: str, times: int) -> MemoryBank:
    """A bank in which the fact is said once, among other things, and the question asked so many times after it."""
    bank = MemoryBank.open()
    said = [{"role": "user", "content": case.fact}, {"role": "assistant", "content": "Noted." if kind else ""}]
    remembered(bank, [*OTHERS[:7], said, *OTHERS[7:]], first=0)
    remembered(bank, list(repeats(case, kind, times)), first=10)
    return bank


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["none", "non-answer", "answer", "day", "wording"])
@pytest.mark.parametrize(
    ("language", "times"),
    [*((language, times) for language in CASES for times in (1, 8, 33, 200)), ("english", 1000)],
)
def test_a_question_asked_again_and_again_does_not_bury_the_fact(language: str, times: int, kind: str) -> None:
    case = CASES[language]
    with echoed(case, kind, times) as bank:
        for budget in (200, 1000):
            recall = bank.recall(SCOPE, case.query, token_budget=budget)
            assert case.told in recall.text, budget
            assert recall.tokens <= budget


def questions_shown(recall: Recall, query: str) -> int:
    return sum(message.text == query for turn in recall.turns for message in turn.messages)


def test_what_was_asked_again_is_shown_once_the_last_time_with_how_often() -> None:
    case = CASES["english"]
    with echoed(case, "none", 8) as bank:
        recall = bank.recall(SCOPE, case.query, token_budget=1000)
        [hit] = [each for each in recall.hits if each.repeats]
        [(turn_id, times)] = hit.repeats.items()
        last = bank.turns(SCOPE, "s10")[-1]
    assert (turn_id, times) == (last.id, 8)
    assert recall.text.count("said 8 times") == questions_shown(recall, case.query) == 1


def test_people_who_say_the_same_say_it_on_two_days() -> None:
    with MemoryBank.open() as bank:
        for day in range(3):
            said = [{"role": "", "name": "Ann", "content": "I fed the cat this morning."}]
            bank.remember(SCOPE, said, session=f"d{day}", at=AT + timedelta(days=day), close=True)
        recall = bank.recall(SCOPE, "When did Ann feed the cat?")
    assert len(recall.turns) == 3
    assert not any(hit.repeats for hit in recall.hits)


def test_an_answer_does_not_repeat_a_question_and_numbers_count() -> None:
    same = Repeats(lambda row: -1 if row == 2 else row)

    def add(row: int, text: str, kind: int) -> list[int]:
        return list(same.add(row, said(text, kind))[0])

    assert add(0, "My locker is 12.", 1) == [0]
    assert add(1, "My locker is 14.", 1) == [1]
    assert add(2, "my LOCKER is 12", 1) == [0, 2]
    assert same.latest(2) == 0, "it came later, and was said before"
    assert add(3, "My locker is 12.", 2) == [3]
    assert add(4, "Day 3: which locker?", 1) == [4]
    assert add(5, "day 77, which locker", 1) == [5]
    assert add(6, "?!", 1) == [6]
    assert add(7, "…", 1) == [7]
    assert same.remove(0) == [2]
    assert same.latest(2) == 2
    assert same.remove(2) == []
    assert add(8, "My locker is 12.", 1) == [8]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I program in C++.", "I program in C#."),
        ("It weighs 7.5 kg.", "It weighs 75 kg."),
        ("It was -5 degrees.", "It was 5 degrees."),
        ("Wake me at 1:30.", "Wake me at 13:0."),
        ("ฉันชอบเสือ", "ฉันชอบเสื้อ"),
    ],
)
def test_signs_within_words_tell_statements_apart(one: str, other: str) -> None:
    with MemoryBank.open() as bank:
        for day, text in enumerate((one, other)):
            said = [("user", text), ("assistant", "Noted.")]
            bank.remember(SCOPE, said, session=f"d{day}", at=AT + timedelta(days=day), close=True)
        recall = bank.recall(SCOPE, one)
        assert one in recall.text
        assert other in recall.text
        assert not any(hit.repeats for hit in recall.hits)


def test_a_turn_that_grows_or_shrinks_leaves_those_that_say_the_same_to_be_found() -> None:
    def turn(index: int, *texts: str) -> Turn:
        messages = tuple(Message(text, role="user", id=f"{index}-{place}") for place, text in enumerate(texts))
        return Turn(messages, session="s", index=index, id=f"t{index}")

    index = ScopeIndex(dense=False, counter=count_tokens)
    turns = [turn(0, "buy oranges please", "buy oranges please"), turn(1, "buy oranges please")]
    for shorter in ("hello there zebra", "buy oranges please", "zebra"):
        for first in (turns[0], turn(0, shorter)):
            index.add_turns([first, turns[1]], None)
            index.set_memories("s", 0, [Memory("a", "a", (first,)), Memory("b", "b", (turns[1],))], None)
            assert "t1" in {each.turn.id for each in index.search("oranges")}
            zebra = index.search("zebra")
            assert ("zebra" in first.text) is (bool(zebra) and "zebra" in zebra[0].turn.text)


def test_a_fact_said_twice_is_found_where_it_was_said_last_and_again_when_that_is_forgotten() -> None:
    with MemoryBank.open() as bank:
        for day in range(2):
            said = [{"role": "user", "content": "My locker at the pool is number 318."}]
            bank.remember(SCOPE, said, session=f"d{day}", at=AT + timedelta(days=day), close=True)
        query = "Which locker do I have at the pool?"
        first = bank.recall(SCOPE, query, only_relevant=True)
        assert [turn.session for turn in first.turns] == ["d1"]
        bank.forget(SCOPE, turn_ids=[first.turns[0].id])
        second = bank.recall(SCOPE, query, only_relevant=True)
        assert [turn.session for turn in second.turns] == ["d0"]
        assert "318" in second.text
        assert not second.hits[0].repeats


def test_a_fact_that_a_tool_noted_again_and_again_is_shown_once() -> None:
    with MemoryBank.open() as bank:
        for day in range(3):
            at = AT + timedelta(days=day)
            bank.remember(SCOPE, [Message("The cabin's code is 4711.", "", NOTE, at=at)], session="notes")
        recall = bank.recall(SCOPE, "What is the code of the cabin?")
    assert recall.text.count("4711") == 1
    assert "(said 3 times; this is the last)" in recall.text
    assert [hit.turns[0].at for hit in recall.hits] == [AT + timedelta(days=2)]


def test_what_people_say_to_each_other_on_several_days_stays_apart() -> None:
    with MemoryBank.open() as bank:
        for day in range(3):
            at = AT + timedelta(days=day)
            bank.remember(SCOPE, [Message("The cabin's code is 4711.", "", "Ann", at=at)], session="chat")
        assert bank.recall(SCOPE, "What is the code of the cabin?").text.count("4711") == 3


def noted(text: str, id: str) -> Message:
    return Message(text, role="", speaker=NOTE, id=id)


def test_what_is_noted_again_is_forgotten_with_the_note_that_is_shown() -> None:
    with MemoryBank.open() as bank:
        told = [
            "I'm allergic to hazelnuts.",
            "I have a dog.",
            "I'm allergic to hazelnuts",
            "i'm allergic to  hazelnuts!",
        ]
        for number, text in enumerate(told):
            bank.remember(SCOPE, [noted(text, f"n{number}")], session=f"s{number % 2}")
        bank.remember(("acme", "bob"), [noted(told[0], "bob")], session="s0")
        gone = forget_said(bank, SCOPE, ["n3"])
        assert (gone.turns, gone.notes, gone.left) == (1, 2, ())
        assert gone.more == " With it went 2 more that noted the same."
        assert [turn.id for turn in bank.turns(SCOPE)] == ["n1"]
        assert [turn.id for turn in bank.turns(("acme", "bob"))] == ["bob"]
        assert forget_said(bank, SCOPE, ["n0"]).turns == 0


def test_what_the_user_says_again_stays_and_is_named() -> None:
    with MemoryBank.open() as bank:
        for number, answer in enumerate(("Noted.", "I shall mind that.", "Your flight goes at nine.")):
            said_ = [Message("I'm allergic to hazelnuts.", id=f"u{number}"), Message(answer, role="assistant")]
            bank.remember(SCOPE, said_, session=f"s{number}")
        more = [
            noted("I'm allergic to hazelnuts.", "note"),
            Message("Noted.", id="other"),
            Message("I'm allergic to hazelnuts. And to bees.", id="both"),
        ]
        bank.remember(SCOPE, more, session="s9")
        gone = forget_said(bank, SCOPE, ["u2"])
        assert (gone.turns, gone.notes, set(gone.left)) == (1, 0, {"u0", "u1"})
        assert "u0" in gone.more
        assert len(bank.turns(SCOPE)) == 5
        assert forget_said(bank, SCOPE, ["both", "note", "u0", "u1"]).more == ""


def test_of_many_turns_that_say_the_same_a_few_are_named() -> None:
    with MemoryBank.open() as bank:
        for number in range(9):
            bank.remember(SCOPE, [Message("Thank you!", id=f"u{number}")], session=f"s{number}")
        gone = forget_said(bank, SCOPE, ["u8"])
        assert len(gone.left) == 8
        assert "and 3 more, still remembered" in gone.more
