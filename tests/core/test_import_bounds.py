"""What people's files say of themselves is bounded by stated limits, and work by the bytes that they have."""

from __future__ import annotations

import json
import time
from contextlib import closing
from datetime import datetime, timezone
from typing import Any

import pytest

from secom_core.archive import export as transfer
from secom_core.archive import salvage as salvaging
from secom_core.bank import MemoryBank
from secom_core.command import main
from secom_core.conversation import Message
from secom_core.derived.segments import memories_of
from secom_core.errors import InvalidInput, InvalidTranscript, shorten
from secom_core.readers import messages as reading
from secom_core.readers import read_messages, read_transcript
from secom_core.readers import transcript as transcripts
from secom_core.readers.fields import LARGEST_COUNT
from secom_core.stores.rows import MemoryRow

ANN = ("ann",)
NOON = datetime(2024, 5, 3, 12, tzinfo=timezone.utc)
Record = dict[str, Any]


def exported() -> list[Record]:
    """A header, a session, three turns, and a memory or more."""
    said = ["The parcel is on the shelf.", "The parcel is red.", "Grandma baked a cake."]
    with MemoryBank.open() as bank:
        bank.remember(ANN, [Message(text, id=str(place), at=NOON) for place, text in enumerate(said)], session="s")
        bank.close_session(ANN, "s")
        return [json.loads(line) for line in bank.storage.export(ANN)]


def place_of(lines: list[Record], kind: str) -> int:
    return next(place for place, line in enumerate(lines) if line.get("kind") == kind)


def taken_in(lines: list[Record]) -> tuple[int, list[str]]:
    """How many turns come in, and what is found of them; in time, and forgotten in time."""
    began = time.monotonic()
    with MemoryBank.open() as bank:
        came = bank.storage.import_(map(json.dumps, lines))
        found = [turn.id for hit in bank.recall(ANN, "Where is the parcel?").hits for turn in hit.memory.turns]
        bank.remember(ANN, [Message("A second parcel is here.", id="later", at=NOON)], session="s")
        assert "A second parcel" in bank.recall(ANN, "second parcel").text
        assert bank.forget(ANN, turn_ids=["0"]) == 1
    assert time.monotonic() - began < 10
    return came, found


# -- numbers ----------------------------------------------------------------------------------------------------------

NO_COUNT = [LARGEST_COUNT + 1, 10**12, 2**63 - 2, 10**30, -1, True, 1.0, float("nan"), 1e300, "1", None, [1]]
COUNTS = [("session", "settled"), ("turn", "index"), ("memory", "start"), ("memory", "stop")]


@pytest.mark.parametrize("value", NO_COUNT, ids=str)
@pytest.mark.parametrize(("kind", "name"), COUNTS)
def test_a_number_that_counts_nothing_is_refused_with_line_field_value_and_limit(kind, name, value):
    lines = exported()
    place = place_of(lines, kind)
    lines[place][name] = value
    expected = (
        f"line {place + 1} of the import cannot be used: '{name}': expected a whole number from 0 to 2,147,483,647"
    )
    with MemoryBank.open() as bank:
        with pytest.raises(InvalidInput) as refused:
            bank.storage.import_(map(json.dumps, lines))
        assert str(refused.value).startswith(f"{expected}, got {value!r}; it reads ")
        assert bank.scopes() == []


@pytest.mark.parametrize("stop", [4, 10**6, LARGEST_COUNT])
def test_a_memory_costs_what_its_turns_cost_and_not_what_it_claims(stop):
    lines = exported()
    first = place_of(lines, "memory")
    lines = [*lines[:first], {**lines[first], "start": 0, "stop": stop}]
    lines[place_of(lines, "session")]["settled"] = stop
    assert taken_in(lines) == (3, ["0", "1", "2"])
    [session] = transfer.read(map(json.dumps, lines)).sessions
    assert (session.memories[0].stop, session.settled, session.is_partitioned) == (3, 3, True)


def test_turns_far_apart_cost_no_more_than_turns_side_by_side():
    lines = exported()
    last = place_of(lines, "memory") - 1
    lines[last]["index"] = LARGEST_COUNT - 1
    del lines[last + 1 :]
    assert taken_in(lines)[0] == 3


def test_stored_memories_hold_what_is_there_whatever_their_range(tmp_path):
    with MemoryBank.open() as bank:
        bank.remember(ANN, [Message("one", id="1", at=NOON), Message("two", id="2", at=NOON)], session="s")
        turns = bank.turns(ANN, "s")
    rows = [MemoryRow(0, 1, "", ""), MemoryRow(1, 2**62, "", ""), MemoryRow(2**62, 2**63 - 1, "", "")]
    assert [[turn.id for turn in each.turns] for each in memories_of("s", rows, turns)] == [["1"], ["2"]]


@pytest.mark.parametrize(
    ("start", "stop", "partitioned"),
    [((0, 1), (1, 3), True), ((0, 2), (1, 3), False), ((0, 1), (2, 3), False), ((1, 2), (2, 3), False)],
)
def test_memories_cover_every_turn_or_are_made_again(start, stop, partitioned):
    lines = exported()
    one = lines[place_of(lines, "memory")]
    lines = [each for each in lines if each["kind"] != "memory"]
    lines += [{**one, "start": first, "stop": end} for first, end in (start, stop)]
    [session] = transfer.read(map(json.dumps, lines)).sessions
    assert session.is_partitioned is partitioned
    assert taken_in(lines)[0] == 3


# -- other fields -----------------------------------------------------------------------------------------------------

WRONG = [
    ("session", {"name": ""}, "'name': a session has a name"),
    ("session", {"closed": "false"}, "'closed': expected true or false, got 'false'"),
    ("session", {"closed": 1}, "'closed': expected true or false, got 1"),
    ("turn", {"messages": []}, "'messages': a turn has one message or more"),
    ("turn", {"messages": {"a": 1}}, "'messages': expected a list"),
    ("turn", {"messages": ["x"]}, "expected an object with 'text', got 'x'"),
    ("memory", {"start": 5, "stop": 5}, "'stop': expected a number above the start, 5, got 5"),
    ("memory", {"key": 1}, "'key': expected text, got 1"),
    ("memory", {"kind": "dream"}, "'kind': expected session, turn or memory, got 'dream'"),
    ("memory", {"kind": ["memory"]}, "'kind': expected session, turn or memory"),
    ("header", {"version": 10**30}, "reads version 2 of the format, not 1000"),
]


@pytest.mark.parametrize(("kind", "change", "reason"), WRONG, ids=[f"{kind} {change}" for kind, change, _ in WRONG])
def test_a_field_of_another_kind_is_named(kind, change, reason):
    lines = exported()
    place = place_of(lines, kind)
    lines[place] = {**lines[place], **change}
    with pytest.raises(InvalidInput) as refused:
        transfer.read(map(json.dumps, lines))
    assert str(refused.value).startswith(f"line {place + 1} of the import cannot be used: ")
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("at", 1e300), ("at", float("nan")), ("at", "1" * 5000), ("at", True), ("text", None), ("metadata", {"a": 1e999})],
    ids=str,
)
def test_a_field_of_a_message_is_named(name, value):
    lines = exported()
    lines[2]["messages"][0][name] = value
    with pytest.raises(InvalidInput, match=f"line 3 of the import cannot be used: .*{name}"):
        transfer.read(map(json.dumps, lines))


@pytest.mark.parametrize("line", ["[" * 100_000, "null", "[]", "7", '"x"', "1" * 5000, '{"kind": "turn"}', None, 7])
def test_a_line_of_another_kind_is_named(line):
    with pytest.raises(InvalidInput, match=r"^line 2 of the import cannot be used: ") as refused:
        transfer.read([json.dumps(exported()[0]), line])
    assert len(str(refused.value)) < 600


def test_an_import_is_not_one_text():
    with pytest.raises(InvalidInput, match="needs lines"):
        transfer.read("\n".join(map(json.dumps, exported())))


def test_lines_and_messages_may_be_as_long_as_is_stated(monkeypatch):
    lines = [json.dumps(each) for each in exported()]
    longest = max(map(len, lines))
    monkeypatch.setattr(transfer, "LONGEST_LINE", longest)
    assert transfer.read(lines)
    monkeypatch.setattr(transfer, "LONGEST_LINE", longest - 1)
    with pytest.raises(InvalidInput, match=rf"a line has at most {longest - 1} characters, this one {longest}"):
        transfer.read(lines)
    for reader in (reading, transcripts):
        monkeypatch.setattr(reader, "LONGEST_TEXT", 5)
    for said in (Message("sixsix"), {"role": "user", "content": "sixsix"}):
        with pytest.raises(InvalidTranscript, match="message 1: 6 characters, at most 5 are kept; divide it"):
            read_messages([Message("five5"), said])
    with pytest.raises(InvalidTranscript, match="line 2: 6 characters, at most 5 are kept"):
        read_transcript("Ann: five5\nBob: sixsix")


def test_an_id_that_stands_for_two_messages_is_refused_before_anything_is_taken_in():
    lines = exported()
    again = {**lines[2]["messages"][0], "speaker": "Bob"}
    with pytest.raises(InvalidInput, match=r"line 6 .*'id': '0' belongs to another message"):
        transfer.read(map(json.dumps, [*lines[:5], {"kind": "turn", "index": 9, "messages": [again]}]))
    same = {"kind": "turn", "index": 9, "messages": lines[2]["messages"]}
    assert transfer.read(map(json.dumps, [*lines[:5], same]))


def test_what_a_layer_has_exported_is_checked_likewise():
    shown = {"id": "i", "numbers": [1], "memory_ids": ["m"], "turn_ids": [["t"]]}
    shown = {**shown, "scores": [1.0], "at": NOON.isoformat(), "epoch": 0}
    record = {"layer": "citations", "kind": "citation", "query": "q", "shown": shown, "cited": [1]}
    record = {**record, "at": NOON.isoformat()}
    head = exported()[0]
    assert transfer.read(map(json.dumps, [head, record])).layers
    changes = {"epoch": 10**30, "numbers": [True], "scores": [1e300], "turn_ids": ["t"], "at": 7}
    for name, value in changes.items():
        with pytest.raises(InvalidInput, match=f"line 2 of the import cannot be used: '{name}': expected"):
            transfer.read(map(json.dumps, [head, {**record, "shown": {**shown, name: value}}]))


# -- conversations ----------------------------------------------------------------------------------------------------


def nested(depth: int) -> Record:
    part: Record = {"type": "text", "text": "x"}
    for _ in range(depth):
        part = {"type": "tool_result", "content": [part]}
    return part


NO_MESSAGE = [
    ({"metadata": [1]}, "metadata is an object"),
    ({"tool_calls": 5}, "tool_calls is a list"),
    ({"tool_calls": "call"}, "tool_calls is a list"),
    ({"tool_calls": [{"name": "f", "arguments": {(1,): 1}}]}, "are no JSON"),
    ({"id": {"a": 1}}, "an id is text or a whole number"),
    ({"id": True}, "an id is text or a whole number"),
    ({"id": 1.5}, "an id is text or a whole number"),
    ({"id": 10**5000}, "too long to be shown"),
    ({"at": True}, "no time can be read from True"),
    ({"at": float("nan")}, "no time can be read from nan"),
    ({"at": 10**400}, "no time can be read from"),
    ({"at": "1" * 5000}, "no time can be read from"),
    ({"content": [nested(600)]}, "nested too deeply"),
    ({"speaker": 5}, "speaker is a string"),
]


@pytest.mark.parametrize(("change", "reason"), NO_MESSAGE, ids=[reason for _, reason in NO_MESSAGE])
def test_a_dict_that_is_no_message_is_named(change, reason):
    with pytest.raises(InvalidTranscript, match=f"message 1: .*{reason}"):
        read_messages([("user", "Hello"), {"role": "user", "content": "x", **change}])


def test_no_day_comes_after_the_last():
    with pytest.raises(InvalidTranscript, match="line 2: no day comes after 9999-12-31"):
        read_transcript("[9999-12-31 23:00] Ann: x\n[01:00] Ann: y")


@pytest.mark.parametrize("name", [True, 1.5, {"a": 1}, ["s"]], ids=repr)
def test_a_session_is_not_named_by_anything(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    for row in ({"session": name, "role": "user", "content": "x"}, {"session": name, "messages": []}):
        (tmp_path / "chat.json").write_text(json.dumps([row]))
        assert main(["remember", "chat.json", "--scope", "ann", "--store", "memory.db"]) == 1
        assert "a session is named by text or a whole number" in capsys.readouterr().err


def test_a_number_of_any_length_can_be_shown():
    assert shorten(10**5000) == "a int that is too long to be shown"


# -- what is left of a damaged store ----------------------------------------------------------------------------------


@pytest.mark.parametrize("turn", [-5, 2**62])
def test_a_damaged_number_of_a_turn_loses_no_turn(tmp_path, turn):
    pytest.importorskip("dissect.database", reason="the extra 'salvage' is not installed")
    path = tmp_path / "memory.db"
    with MemoryBank.open(path) as bank:
        said = [Message(text, id=text, at=NOON) for text in ("one", "two", "three")]
        bank.remember(ANN, said, session="s", close=True)
        with bank._store.transaction() as connection:
            connection.exec_driver_sql(f"UPDATE messages SET turn = {turn} WHERE text = 'two'")
    with closing(MemoryBank.open()) as other:
        assert other.storage.import_(salvaging.salvage(path).exports[ANN]) == 3
        assert {turn.id for turn in other.turns(ANN, "s")} == {"one", "two", "three"}
