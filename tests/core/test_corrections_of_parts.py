"""A correction by hand of one thing that a turn tells: whatever else was said in the turn holds on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

import pytest

from secom_core import MemoryBank, Message
from secom_core.corrections import Mark
from secom_core.errors import InvalidInput

ANN = ("acme", "ann")
MAY = datetime(2025, 5, 3, 12, tzinfo=timezone.utc)
JUNE, JULY = MAY.replace(month=6), MAY.replace(month=7)
DOG, RENT, CITY = "My dog is called Bello.", "I pay 900 euros rent.", "We live in Ghent."
TOLD = f"{DOG} {RENT} {CITY}"
REPLY = "Nice to meet Bello! 900 euros is fair. There are many parks."
QUERY = "What is the rent, and what is the dog called?"


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with MemoryBank.open() as opened:
        yield opened


def said(bank: MemoryBank, text: str = TOLD, reply: str = REPLY) -> str:
    messages = [Message(text, "user", at=MAY), Message(reply, "assistant", at=MAY)]
    return bank.remember(ANN, messages, session="may").turn_ids[0]


def words(bank: MemoryBank, marks: Sequence[Mark] | None = None) -> list[str]:
    """The words that the marks of the scope are about; "" for a whole turn."""
    found = []
    for mark in bank.corrections.marks(ANN) if marks is None else marks:
        [turn] = bank.turns(ANN, turn_ids=[mark.turn_id])
        place, start, stop = mark.span or (0, 0, 0)
        found.append(turn.messages[place].text[start:stop])
    return found


def test_only_what_a_correction_is_about_is_replaced(bank: MemoryBank) -> None:
    bank.correct(ANN, said(bank), "The rent is 890 euros.", at=JUNE)
    text = bank.recall(ANN, QUERY, token_budget=300).text
    assert f'→ ("{RENT}" replaced on 2025-06-03 by [2])' in text.splitlines()
    assert '→ ("900 euros is fair." replaced on 2025-06-03 by [2])' in text.splitlines()
    now = bank.recall(ANN, QUERY, token_budget=300, history=False).text
    assert all(each in now for each in (DOG, CITY, "890", "Nice to meet Bello!", "There are many parks."))
    assert "900" not in now


def test_a_reply_to_what_no_longer_stands_goes_with_it() -> None:
    told = "My dentist appointment is on May 12"
    with MemoryBank.open() as bank:
        talk = [
            Message(f"{told}.", id="m0", at=MAY),
            Message("Noted, May 12 it is. Anything else?", "assistant", at=MAY),
        ]
        bank.remember(ANN, talk, session="may", close=True)
        bank.correct(ANN, "m0", "My dentist appointment is on May 19.", part=told, at=JUNE)
        now = bank.recall(ANN, "When is my dentist appointment?", history=False)
        assert "May 19" in now.text
        assert "assistant" not in now.text
        assert [hit.number for hit in now.hits] == [1]
        assert "May 12 it is" in bank.recall(ANN, "When is my dentist appointment?").text


@pytest.mark.parametrize(
    ("text", "reply", "correction", "meant"),
    [
        (f"Hi! {RENT}", "ok", "The rent is 890 euros.", [""]),
        (TOLD, "ok", "That was all a joke.", [""]),
        ("My name is Ann. We live in Ghent.", "ok", "My name is Anna. We live in Gent.", [""]),
        ("Our flat is lovely. I pay 900 euros.", "ok", "The flat costs 890 euros.", ["I pay 900 euros."]),
        ("I live in Ghent. My brother lives in Bruges.", "ok", "I live in Antwerp.", ["I live in Ghent."]),
        (
            "I'm planning a trip. Which city is the capital of Australia?",
            "The capital of Australia is Sydney. It is large.",
            "The capital of Australia is Canberra.",
            ["The capital of Australia is Sydney."],
        ),
        (
            "Ich zahle 900 Euro Miete. Am Dienstag fliege ich nach Rom.",
            "Viel Spaß!",
            "Ich fliege am Donnerstag nach Rom.",
            ["Am Dienstag fliege ich nach Rom."],
        ),
        (
            "Je vis à Lyon. Mon chien s'appelle Rex.",
            "ok",
            "Mon chien s'appelle Max.",
            ["Mon chien s'appelle Rex."],
        ),
        (
            "Vivo en Lugo. Mi perro se llama Rex.",
            "ok",
            "Mi perro se llama Max.",
            ["Mi perro se llama Rex."],
        ),
        # A reply that repeats the amount with a unit that was left out, or without the one that was told.
        (
            "I'm a foreman from May. 3,900 before tax.",
            "3,900 euros is a good salary! Put 390 aside.",
            "I'm a foreman with 4,100 euros before tax.",
            ["3,900 before tax.", "3,900 euros is a good salary!"],
        ),
        (
            "I'm at losartan 100 now. My GP is Dr Ray.",
            "100 mg is a usual dose. Walk 100 steps.",
            "I'm at losartan 75 now.",
            ["I'm at losartan 100 now.", "100 mg is a usual dose."],
        ),
        (f"I weigh 82 kilos. {CITY}", "82 is good.", "I weigh 80 kilos.", ["I weigh 82 kilos.", "82 is good."]),
        (f"We have 3 cats. {RENT}", "Here are 3 tips.", "We have 4 cats.", ["We have 3 cats."]),
        ("我的月薪2万8。我住在杭州。", "28000元不错。", "我的月薪是3万。", ["我的月薪2万8。", "28000元不错。"]),
        ("我每个月房租900块。我的狗叫贝洛。", "好的", "我的狗叫巴鲁。", ["我的狗叫贝洛。"]),
        ("家賃は月9万円です。犬の名前はポチです。", "はい", "犬の名前はコロです。", ["犬の名前はポチです。"]),
        (
            "월세는 90만 원이에요. 강아지 이름은 초코예요.",
            "네",
            "강아지 이름은 보리예요.",
            ["강아지 이름은 초코예요."],
        ),
    ],
)
def test_the_sentences_that_a_correction_is_about(bank: MemoryBank, text, reply, correction, meant) -> None:
    bank.correct(ANN, said(bank, text, reply), correction)
    assert words(bank) == meant


def test_parts_are_corrected_one_after_the_other_and_again(bank: MemoryBank) -> None:
    turn = said(bank, reply="ok")
    first = bank.correct(ANN, turn, "The rent is 890 euros.", at=JUNE)
    second = bank.correct(ANN, turn, "My dog is called Balu.", at=JUNE)
    third = bank.correct(ANN, turn, "The rent is 880 euros.", at=JULY)
    marks = [(mark.turn_id, mark.newer) for mark in bank.corrections.marks(ANN)]
    assert marks == [(turn, first), (turn, second), (first, third)]
    now = bank.recall(ANN, f"{QUERY} Where do we live?", token_budget=300, history=False).text
    assert all(each in now for each in (CITY, "Balu", "880"))
    assert not any(each in now for each in ("900", "890", "Bello"))


def test_what_is_undone_holds_again_with_all_its_parts(bank: MemoryBank) -> None:
    turn = said(bank, reply="ok")
    bank.correct(ANN, turn, "The rent is 890 euros.")
    bank.correct(ANN, turn, "My dog is called Balu.")
    bank.corrections.undo(ANN, turn)
    now = bank.recall(ANN, QUERY, token_budget=300, history=False).text
    assert TOLD in now
    assert "890" not in now
    assert "Balu" not in now


def test_all_of_a_turn_is_taken_back_with_what_corrects_parts_of_it(bank: MemoryBank) -> None:
    turn = said(bank)
    bank.correct(ANN, turn, "The rent is 890 euros.")
    bank.corrections.retract(ANN, turn)
    assert not bank.recall(ANN, QUERY, token_budget=300, history=False).hits


def test_a_part_is_named_by_its_words(bank: MemoryBank) -> None:
    turn = said(bank)
    bank.correct(ANN, turn, "It was all cheaper.", part="900 euros rent")
    bank.correct(ANN, turn, None, part="There are many parks.")
    assert words(bank) == ["900 euros rent", "There are many parks."]
    assert "many parks" not in bank.recall(ANN, QUERY, token_budget=300, history=False).text
    bank.correct(ANN, turn, "The rent is 890 euros.", part=TOLD)
    assert words(bank, [mark for mark in bank.corrections.marks(ANN) if mark.turn_id == turn]) == [""]


@pytest.mark.parametrize(("part", "times"), [("900 dollars", 0), ("", 0), ("Bello", 2)])
def test_a_part_that_is_not_there_once_is_refused(bank: MemoryBank, part: str, times: int) -> None:
    turn = said(bank)
    with pytest.raises(InvalidInput, match=f"the part '{part}' stands {times} times in the turn"):
        bank.correct(ANN, turn, "The rent is 890 euros.", part=part)
    assert not bank.corrections.marks(ANN)


def test_a_hit_that_shows_a_part_of_a_turn_means_that_part(bank: MemoryBank) -> None:
    turn = said(bank, " ".join([RENT, *["Boards are cut along the grain, and the saw wants a fence."] * 80]))
    [hit] = bank.recall(ANN, "How much rent do I pay?", token_budget=60).hits
    bank.correct(ANN, hit, "That is none of your business.")
    spans = [mark.span for mark in bank.corrections.marks(ANN) if mark.turn_id == turn]
    assert spans == [(each.place, each.start, each.stop) for each in hit.excerpts]
    assert spans


def test_parts_go_where_words_go(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "bank.db") as bank:
        bank.correct(ANN, said(bank), "The rent is 890 euros.", at=JUNE)
        known = bank.corrections.marks(ANN)
        bank.rebuild(ANN)
        lines = list(bank.storage.export(ANN))
    with MemoryBank.open(tmp_path / "bank.db") as again, MemoryBank.open() as other:
        other.storage.import_(lines)
        assert again.corrections.marks(ANN) == other.corrections.marks(ANN) == known
        assert again.recall(ANN, QUERY, token_budget=300).text == other.recall(ANN, QUERY, token_budget=300).text
        newer = known[0].newer
        assert newer is not None
        other.forget(ANN, turn_ids=[newer])
        assert [(mark.kind, mark.span) for mark in other.corrections.marks(ANN)] == [
            ("retracted", mark.span) for mark in known
        ]


@pytest.mark.parametrize("span", [[0, 5, 5], [0, -1, 3], [0, "1", 3], [0, 1], "all"])
def test_an_import_with_a_part_that_is_none_is_refused(bank: MemoryBank, span: object) -> None:
    bank.corrections.retract(ANN, said(bank), part=RENT)
    lines = [json.loads(line) for line in bank.storage.export(ANN)]
    [mark] = [each for each in lines if "span" in each]
    mark["span"] = span
    with MemoryBank.open() as other, pytest.raises(InvalidInput):
        other.storage.import_(json.dumps(each) for each in lines)


@pytest.mark.parametrize("corrected", ["Lena works as a doctor.", "Lena lives in Turin, and works as a doctor."])
def test_words_of_what_was_corrected_are_retracted_where_they_are_said_again(bank: MemoryBank, corrected: str) -> None:
    turn = said(bank, "My sister Lena lives in Turin and works as a vet. She has a cat.", "Nice.")
    newer = bank.correct(ANN, turn, corrected, at=JUNE)
    assert newer is not None
    if "Turin" in corrected:
        bank.correct(ANN, turn, None, part="lives in Turin", at=JULY)
        assert [mark.turn_id for mark in bank.corrections.marks(ANN) if mark.kind == "retracted"] == [newer]
        assert words(bank)[-1] == "lives in Turin"
    else:
        with pytest.raises(InvalidInput, match=f"'lives in Turin' stands 0 times in the turn '{newer}'"):
            bank.correct(ANN, turn, None, part="lives in Turin", at=JULY)
    assert "doctor" in bank.recall(ANN, "What does Lena do?", token_budget=300).text
