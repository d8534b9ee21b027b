"""The store alone: turns verbatim, replies that join, ids, revisions, forgetting, schema."""

from __future__ import annotations

import re
import threading
from datetime import datetime, timedelta, timezone

import pytest
from sqlalchemy import insert

from secom_core.conversation import Message
from secom_core.errors import DuplicateId, InvalidInput, SchemaTooNew, StoreError
from secom_core.stores.derived import SessionIds
from secom_core.stores.migrations import VERSION
from secom_core.stores.opening import open_store
from secom_core.stores.rows import MemoryRow
from secom_core.stores.schema import messages, part_states, schema_versions
from secom_core.stores.sql import SqlStore
from secom_core.stores.sqlite import open_sqlite

ANN = ("acme", "ann")
NOON = datetime(2024, 5, 3, 12, tzinfo=timezone.utc)


def said(text: str, role: str = "user", **more: object) -> Message:
    return Message(text, role=role, at=NOON, **more)  # type: ignore[arg-type]


@pytest.fixture(params=["memory", "file", "postgres"])
def store(request, tmp_path):
    where = {"memory": ":memory:", "file": tmp_path / "bank.db"}.get(request.param)
    opened = open_store(where or request.getfixturevalue("postgres_url"))
    yield opened
    opened.close()


def only_session(store: SqlStore):
    [row] = store.sessions(store.scope(ANN).id)
    return row


NASTY = [
    "",
    "\0",
    "a\0b",
    "\ud800",
    "x\udfffy",
    "\ue000json:[1]",
    "‮abc",
    "<|endoftext|>",
    "𝄞",
    "a" * 1_000_000,
    "'; --",
]


ODD_NAMES = ["s", "a\0b", "\ud800", "\ue000json:[1]", "100% :key 'a' $1", "n" * 5000]


def test_turns_and_keys_are_found_by_places_in_sessions_of_any_name(store):
    for name in ODD_NAMES:
        store.append(ANN, name, [said(f"in {name}"), said(f"again in {name}")])
        row = store.session_named(ANN, name)
        assert row is not None
        assert (row.name, row.turns) == (name, 2)
        assert store.save_memories(row, [MemoryRow(0, 2, f"of {name}", "digest")], settled=0)
    known = SessionIds(store.scope(ANN).id)
    places = [(name, 1) for name in ODD_NAMES]
    assert {place: turn.text for place, turn in store.turns_at(known, [*places, ("s", 2), ("t", 0)]).items()} == {
        (name, 1): f"user: again in {name}" for name in ODD_NAMES
    }
    assert store.keys_at(known, [(name, 0) for name in ODD_NAMES]) == {(name, 0): f"of {name}" for name in ODD_NAMES}
    assert [len(each) for each in store.messages_at(known, places).values()] == [1] * len(places)
    assert {row.name for row in store.sessions(store.scope(ANN).id)} == set(ODD_NAMES)
    assert store.has_rows(messages, known.scope_id)
    assert not store.has_rows(part_states, known.scope_id)


@pytest.mark.slow
@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_any_text_comes_back_as_it_went_in(store, text):
    message = Message(text, "user", text or "s", None, NOON, {"note": text, "deep": {"list": [1, None, True]}})
    store.append((text or "s", "x"), text or "s", [message])
    [row] = store.sessions(store.scope((text or "s", "x")).id)
    [turn] = store.turns(row)
    assert (turn.content, turn.messages[0].speaker, row.name) == (text, text or "s", text or "s")
    assert turn.messages[0].metadata == {"note": text, "deep": {"list": [1, None, True]}}


def test_times_keep_their_zone(store):
    at = datetime(2024, 5, 3, 23, 30, tzinfo=timezone(timedelta(hours=9)))
    store.append(ANN, "s", [Message("late", at=at)])
    [turn] = store.turns(only_session(store))
    assert turn.at == at
    assert turn.at.utcoffset() == timedelta(hours=9)


def test_a_reply_in_a_later_call_joins_the_turn(store):
    first = store.append(ANN, "s", [said("Where is my parcel?", id="q1")])
    second = store.append(ANN, "s", [said("In Lyon.", "assistant"), said("Thanks", id="q2")])
    turns = store.turns(only_session(store))
    assert [turn.content for turn in turns] == ["Where is my parcel?\nIn Lyon.", "Thanks"]
    assert first.turn_ids == ("q1",)
    assert second.turn_ids == ("q1", "q2")


def test_known_messages_are_passed_over_and_new_ones_kept(store):
    store.append(ANN, "s", [said("one", id="1"), said("two", id="2")])
    again = store.append(ANN, "s", [said("one", id="1"), said("two", id="2"), said("three", id="3")])
    assert again.new == 1
    assert again.turn_ids == ("1", "2", "3")


def test_an_id_with_other_words_is_refused_and_nothing_is_written(store):
    store.append(ANN, "s", [said("one", id="1")])
    with pytest.raises(DuplicateId, match="id '1' already belongs"):
        store.append(ANN, "s", [said("fresh"), said("not one", id="1")])
    assert [turn.content for turn in store.turns(only_session(store))] == ["one"]


def test_the_same_id_in_two_scopes_is_two_messages(store):
    store.append(ANN, "s", [said("ann's", id="1")])
    store.append(("acme", "bob"), "s", [said("bob's", id="1")])
    assert [turn.content for turn in store.turns(only_session(store))] == ["ann's"]


@pytest.mark.parametrize(
    ("one", "other"), [(("a.b",), ("a", "b")), (("ab",), ("a", "b")), (("é",), ("e\u0301",)), (('a"',), ("a",))]
)
def test_similar_scopes_stay_apart(store, one, other):
    store.append(one, "s", [said("mine")])
    assert store.scope(other) is None


def test_metadata_that_json_cannot_hold_is_refused_with_its_value(store):
    with pytest.raises(InvalidInput, match="nan"):
        store.append(ANN, "s", [said("x", metadata={"n": float("nan")})])
    assert store.scope(ANN) is None


def test_memories_made_from_an_old_version_are_not_kept(store):
    store.append(ANN, "s", [said("one")])
    stale = only_session(store)
    store.append(ANN, "s", [said("two")])
    assert not store.save_memories(stale, [MemoryRow(0, 1, "one", "d")], settled=0)
    assert store.memories(stale.id) == []


def test_a_late_write_does_not_bring_a_forgotten_scope_back(store):
    store.append(ANN, "s", [said("one")])
    row = only_session(store)
    assert store.forget_scope(ANN) == 1
    assert not store.save_memories(row, [MemoryRow(0, 1, "one", "d")], settled=0)
    store.save_vectors(row.id, "m", {})
    assert store.scope(ANN) is None
    assert store.scopes() == []


def test_a_scope_that_returns_after_forgetting_is_another_row(store):
    store.append(ANN, "s", [said("one")])
    before = store.scope(ANN)
    store.forget_scope(ANN)
    store.append(ANN, "s", [said("two")])
    assert store.scope(ANN).id != before.id


def test_a_newer_schema_is_refused(tmp_path):
    store = open_sqlite(tmp_path / "bank.db")
    with store.transaction() as connection:
        connection.execute(insert(schema_versions).values(version=VERSION + 1))
    store.close()
    with pytest.raises(SchemaTooNew, match="upgrade secom-memory"):
        open_sqlite(tmp_path / "bank.db")


@pytest.mark.parametrize(
    ("holds", "told"),
    [
        (b"Ann has a cat.\n" * 400, "holds text and is no bank; name another file"),
        ("Zoë läuft. 猫".encode()[:-1], "holds text and is no bank; name another file"),
        (
            b"SQLite format 3\0" + b"nothing" * 900,
            "is no database, or its first page is damaged.*secom export --damaged",
        ),
        (bytes(range(256)) * 16, "is encrypted, and no key was given, or it is no file of SQLite"),
    ],
    ids=["text", "a text that is cut off", "a broken file", "chance"],
)
def test_a_file_that_is_no_database_is_one_clear_sentence(tmp_path, holds, told):
    file = tmp_path / "notes.txt"
    file.write_bytes(holds)
    with pytest.raises(StoreError, match=f"{re.escape(str(file))} {told}") as caught:
        open_sqlite(file)
    assert not {"sqlalche.me", "sqlite3", "\n"} & set(re.findall(r"sqlalche\.me|sqlite3|\n", str(caught.value)))
    assert file.read_bytes() == holds


def test_a_database_in_memory_is_not_closed_while_another_thread_is_at_work_with_it():
    store, told = open_store(":memory:"), []
    with store.transaction(write=False):
        closing = threading.Thread(target=lambda: told.append(store.close()))
        closing.start()
        closing.join(0.05)
        assert not told, "its one connection is still needed"
    closing.join(5)
    assert told
