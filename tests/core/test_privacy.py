"""What is forgotten is gone from the files, what is exported is all there is, and what is redacted was never there."""

from __future__ import annotations

import importlib
import json
import logging
import pickle
import re
import traceback
import warnings
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from embedders import HashingEmbedder

from secom_core import MemoryBank, Message
from secom_core.bank import BackgroundWriter
from secom_core.configuration import read_settings
from secom_core.conversation import Session, group_messages
from secom_core.denoisers import Informativeness
from secom_core.errors import (
    BadReply,
    DegradedWarning,
    DuplicateId,
    InvalidInput,
    MissingExtra,
    ModelUnavailable,
    StoreError,
)
from secom_core.llm.flow import Prompt
from secom_core.llm.rewriting import QueryRewriter
from secom_core.segmenters import FixedSize, ZeroShotSegmenter
from secom_core.stores.sqlite import open_sqlite
from secom_core.summaries import Summarizer
from secom_core.testing import ScriptedModel
from secom_core.text import kept

ANN = ("acme", "ann")
BOB = ("acme", "bob")
NOON = datetime(2024, 5, 3, 12, tzinfo=timezone.utc)
SECRET = ("Zyzzogeton", "Quixotry", "Ombrophobe")
HARMLESS = ("harbour", "violin", "garden", "bicycle", "bakery", "mountain", "library", "winter")


def talk(secret: str, sessions: int = 4) -> list[list[Message]]:
    """Sessions that come back to the same things, so that summaries, events and topics grow out of each other."""
    found = []
    for place in range(sessions):
        at = NOON + timedelta(days=place)
        found.append(
            [
                Message(f"I told my doctor about the {secret} again, and I fear it.", speaker="Ann", at=at),
                Message(f"What did the doctor say about the {secret}?", "assistant", at=at),
                Message(f"That I should walk to the {HARMLESS[place]} every day.", speaker="Ann", at=at),
                Message("That sounds like a good plan.", "assistant", at=at),
            ]
        )
    return found


def opened(path: Path | str, **parts: object) -> MemoryBank:
    return MemoryBank.open(
        path,
        embedder=HashingEmbedder(64),
        denoiser=Informativeness(),
        summaries=True,
        timelines=True,
        topics=True,
        citations=True,
        **parts,
    )


def filled(path: Path | str, *, secret: str = SECRET[0], scope: tuple[str, ...] = ANN, **parts: object) -> MemoryBank:
    bank = opened(path, **parts)
    for place, messages in enumerate(talk(secret)):
        bank.remember(scope, messages, session=f"s{place}", close=True)
    query = f"What about the {secret}?"
    recall = bank.recall(scope, query)
    assert recall.impression is not None
    bank.citations.reward(scope, query, recall.impression, recall.numbers[:1])
    return bank


def raw(path: Path) -> bytes:
    """Every file that SQLite keeps for the store."""
    files = [path.with_name(path.name + tail) for tail in ("", "-wal", "-shm", "-journal")]
    return b"".join(file.read_bytes() for file in files if file.exists())


def holds(path: Path, word: str) -> bool:
    found = raw(path)
    spellings = {word, word.casefold(), word.casefold()[:-2], word.upper()}
    return any(each.encode(code) in found for each in spellings for code in ("utf-8", "utf-16-le"))


def layers_of(bank: MemoryBank, scope: tuple[str, ...]) -> set[str]:
    return {json.loads(line)["kind"] for line in bank.storage.export(scope) if SECRET[0] in line}


# -- forget -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_words_are_in_every_layer_before(tmp_path):
    with filled(tmp_path / "bank.db") as bank:
        assert {"turn", "memory", "citation", "summary", "event", "topic"} <= layers_of(bank, ANN)
    assert holds(tmp_path / "bank.db", SECRET[0])


def forget(bank: MemoryBank, how: str) -> None:
    """All of Ann's that has the secret in it, in one of the four ways."""
    if how == "scope":
        bank.forget(ANN)
    elif how == "sessions":
        for name in bank.sessions(ANN):
            bank.forget(ANN, session=name)
    elif how == "turns":
        named = [turn for name in bank.sessions(ANN) for turn in bank.turns(ANN, name) if SECRET[0] in turn.text]
        bank.forget(ANN, turn_ids=[turn.id for turn in named])
    else:
        bank.forget(ANN, before=NOON + timedelta(days=9))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["scope", "sessions", "turns", "before"])
def test_forgotten_words_are_in_no_file(tmp_path, how):
    path = tmp_path / "bank.db"
    with filled(path) as bank:
        bank.remember(BOB, [Message("I like the lighthouse.", at=NOON)], session="b")
        forget(bank, how)
        bank.storage.compact()
        assert not holds(path, SECRET[0])
        assert b"lighthouse" in raw(path)
        assert bank.recall(BOB, "lighthouse").hits
    assert not holds(path, SECRET[0])


@pytest.mark.parametrize("how", ["scope", "sessions", "turns", "before"])
def test_forgotten_words_are_in_no_dump(postgres, postgres_url, how):
    with filled(postgres_url) as bank:
        bank.remember(BOB, [Message("I like the lighthouse.", at=NOON)], session="b")
        assert SECRET[0] in postgres.dump(postgres_url)
        forget(bank, how)
    left = postgres.dump(postgres_url).casefold()
    assert SECRET[0].casefold()[:-2] not in left
    assert "lighthouse" in left


@pytest.mark.parametrize("how", ["scope", "turns"])
def test_words_that_another_process_forgets_leave_the_memory_of_this_one_with_its_next_recall(tmp_path, how):
    path = tmp_path / "bank.db"
    said = [Message(f"Always call me {SECRET[0]}.", id="u0"), Message("OK.", "assistant", id="a0")]
    with MemoryBank.open(path, changes=True) as bank, MemoryBank.open(path, changes=True) as other:
        bank.remember(ANN, said, session="s")
        bank.remember(ANN, [Message("I like the lighthouse.", id="u1")], session="s")
        bank.turns(ANN, "s", last=8)
        bank.recall(ANN, "What do you call me?")
        inside = bank._inside
        # As in a process of its own, which does not reach what this one holds.
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("secom_core.derived.segments.forget_kept", lambda: None)
            other.forget(ANN, turn_ids=None if how == "scope" else [bank.turns(ANN, "s")[0].id])
        assert any(SECRET[0] in text for text in held_texts())
        bank.recall(ANN, "Where is the lighthouse?")
        assert not any(SECRET[0] in text for text in held_texts())
        assert not any(SECRET[0] in turn.text for known in inside.latest._known.values() for turn in known.turns)
        recent = inside.derivation._store.recent._known.values()
        assert not any(SECRET[0] in turn.text for known in recent for turn in known.turns)


def held_texts() -> list[str]:
    """The texts that are kept with what was made of them."""
    return [text for each in kept._EACH for key in each._made for text in ([key] if isinstance(key, str) else key)]


@pytest.mark.slow
def test_words_that_stay_are_left_when_one_turn_goes(tmp_path):
    path = tmp_path / "bank.db"
    with filled(path) as bank:
        named = [turn for name in bank.sessions(ANN) for turn in bank.turns(ANN, name) if SECRET[0] in turn.text]
        bank.forget(ANN, turn_ids=[turn.id for turn in named])
        bank.storage.compact()
        kept = "".join(bank.storage.export(ANN))
    assert SECRET[0] not in kept
    assert all(word in kept for word in HARMLESS[:4])


@pytest.mark.slow
def test_forgetting_empties_the_log_at_once(tmp_path):
    path = tmp_path / "bank.db"
    with filled(path) as bank:
        assert SECRET[0].encode() in path.with_name("bank.db-wal").read_bytes()
        bank.forget(ANN)
        assert path.with_name("bank.db-wal").read_bytes() == b""


@pytest.mark.slow
def test_a_reader_in_the_way_is_said(tmp_path, monkeypatch):
    path = tmp_path / "bank.db"
    monkeypatch.setattr("secom_core.stores.sqlite.BUSY_TIMEOUT_S", 0.2)
    with filled(path) as bank, opened(path) as other:
        with other._store.transaction(write=False) as connection:
            connection.exec_driver_sql("SELECT count(*) FROM messages").fetchall()
            with pytest.warns(DegradedWarning, match=r"gone from the store at .*bank\.db, but its log still holds"):
                bank.forget(ANN)
            with pytest.raises(StoreError, match=r"in use|locked"):
                bank.storage.compact()
            assert bank.health().forgotten_in_log
        bank.storage.compact()
        assert not holds(path, SECRET[0])


@pytest.mark.slow
def test_what_a_reader_kept_in_the_log_goes_with_the_next_write(tmp_path):
    path = tmp_path / "bank.db"
    with filled(path) as bank, opened(path) as other:
        with other._store.transaction(write=False) as connection:
            connection.exec_driver_sql("SELECT count(*) FROM messages").fetchall()
            with pytest.warns(DegradedWarning, match="its log still holds"):
                bank.forget(ANN)
            assert holds(path, SECRET[0])
        bank.remember(("acme", "bob"), [Message("I like tea.")], session="s")
        assert not holds(path, SECRET[0])
        assert not bank.health().forgotten_in_log


@pytest.mark.slow
def test_long_messages_leave_nothing_on_their_overflow_pages(tmp_path):
    path = tmp_path / "bank.db"
    with MemoryBank.open(path) as bank:
        bank.remember(ANN, [Message(f"{SECRET[1]} " * 4_000)], session="s")
        for place in range(40):
            bank.remember(ANN, [Message(f"{SECRET[2]} {place} " * 30, id=f"m{place}")], session="s")
        bank.forget(ANN, turn_ids=[f"m{place}" for place in range(0, 40, 2)])
        bank.forget(ANN, session="s")
        bank.storage.compact()
    assert not holds(path, SECRET[1])
    assert not holds(path, SECRET[2])


# -- export -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_export_has_every_word_that_the_file_has_of_the_person(tmp_path):
    path = tmp_path / "bank.db"
    with filled(path) as bank:
        bank.remember(BOB, [Message("I like the lighthouse.", at=NOON)], session="b")
        told = "\n".join(bank.storage.export(ANN))
        assert "lighthouse" not in told
        in_tables = []
        with bank._store.transaction(write=False) as connection:
            names = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars().all()
            for name in names:
                for row in connection.exec_driver_sql(f'SELECT * FROM "{name}"'):
                    in_tables += [value for value in row if isinstance(value, str)]
    words = {word for text in in_tables for word in re.findall(r"[A-Za-z]{4,}", text) if word in " ".join(vocabulary())}
    assert {"Zyzzogeton", "doctor", "harbour"} <= words
    assert not {word for word in words if word not in told}


def vocabulary() -> list[str]:
    return [message.text for messages in talk(SECRET[0]) for message in messages]


@pytest.mark.slow
def test_layers_in_an_export_are_read_and_made_again(tmp_path):
    with filled(tmp_path / "one.db") as bank:
        lines = list(bank.storage.export(ANN))
    with opened(tmp_path / "other.db") as other:
        assert other.storage.import_(lines) == 8
        again = [json.loads(line)["kind"] for line in other.storage.export(ANN)]
    assert {"summary", "event", "topic"} <= set(again)


# -- redaction --------------------------------------------------------------------------------------------------------


def without_cards(text: str) -> str:
    return re.sub(r"\d{4}-\d{4}", "[card]", text)


class Overheard:
    """A model that fails, and keeps what it was asked."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def complete(self, prompt: Prompt) -> str:
        self.heard.append(prompt.text)
        raise ModelUnavailable("nobody there")


class OverheardEmbedder(HashingEmbedder):
    def __init__(self, heard: list[str]) -> None:
        super().__init__(64)
        self.heard = heard

    def embed(self, texts):
        self.heard.extend(texts)
        return super().embed(texts)


def test_redacted_words_reach_neither_the_file_nor_a_model(tmp_path):
    path = tmp_path / "bank.db"
    model = Overheard()
    embedder = OverheardEmbedder(model.heard)
    said = Message("My card is 1234-5678.", id="a", at=NOON, metadata={"call": [{"args": "pay 1234-5678"}]})
    parts = {"embedder": embedder, "model": model, "summaries": True, "timelines": True, "topics": True}
    with MemoryBank.open(path, redact=without_cards, citations=True, **parts) as bank, warnings.catch_warnings():
        warnings.simplefilter("ignore", DegradedWarning)
        bank.remember(ANN, [said, {"role": "assistant", "content": "I paid with 1234-5678."}], session="s", close=True)
        recall = bank.recall(ANN, "Which card?")
        bank.citations.reward(ANN, "Is it 1234-5678?", recall.impression, recall.numbers)
        [turn] = bank.turns(ANN, "s")
    assert turn.messages[0].text == "My card is [card]."
    assert turn.messages[0].metadata == {"call": [{"args": "pay [card]"}]}
    assert model.heard
    assert not any("1234" in text for text in model.heard)
    assert b"1234-5678" not in raw(path)


def imported(name, *ids):
    return Session(name, group_messages([Message(f"words of {each}", id=each, at=NOON) for each in ids], name))


def test_the_title_of_an_imported_chat_is_redacted_too(tmp_path):
    path = tmp_path / "bank.db"
    with MemoryBank.open(path, redact=without_cards) as bank:
        for grown in (["a"], ["a", "b"]):
            done = bank.remember(ANN, imported("Card 1234-5678 stolen (68358f0a)", *grown), close=True)
            assert done.session == "Card [card] stolen (68358f0a)"
            assert bank.sessions(ANN) == [done.session]
        assert len(bank.turns(ANN, done.session)) == 2
    assert b"1234-5678" not in raw(path)


def test_titles_that_differ_in_what_is_redacted_are_two_sessions():
    with MemoryBank.open(redact=without_cards) as bank:
        names = [
            bank.remember(ANN, imported(f"{card} 2024-05-03", key)).session
            for card, key in (("1234-5678", "a"), ("8765-4321", "b"), ("1234-5678", "a"))
        ]
        assert bank.sessions(ANN) == names[:2]
        assert names[0] == names[2]
        assert all(name.startswith("[card] 2024-05-03 (") for name in names)


def test_a_name_that_is_given_stays_as_it_is():
    with MemoryBank.open(redact=without_cards) as bank:
        bank.remember(ANN, [Message("Hello", at=NOON)], session="thread 1234-5678")
        bank.remember(ANN, imported("title", "a"), session="thread 1234-5678")
        assert bank.sessions(ANN) == ["thread 1234-5678"]


def test_the_same_message_again_is_known_after_redaction():
    with MemoryBank.open(redact=without_cards) as bank:
        said = [Message("My card is 1234-5678.", id="a", at=NOON)]
        assert [bank.remember(ANN, said, session="s").new for _ in range(2)] == [1, 0]
        with pytest.raises(DuplicateId):
            bank.remember(ANN, [Message("Something else.", id="a", at=NOON)], session="s")


def test_redaction_applies_to_what_is_imported(tmp_path):
    with MemoryBank.open() as bank:
        bank.remember(ANN, [Message("My card is 1234-5678.", at=NOON)], session="s", close=True)
        lines = list(bank.storage.export(ANN))
    with MemoryBank.open(tmp_path / "bank.db", redact=without_cards) as other:
        assert other.storage.import_(lines) == 1
        assert "[card]" in other.recall(ANN, "card").text
    assert b"1234-5678" not in raw(tmp_path / "bank.db")


def test_where_redaction_fails_nothing_is_stored(tmp_path):
    def broken(text: str) -> str:
        if "second" in text:
            raise RuntimeError("no")
        return text

    with MemoryBank.open(tmp_path / "bank.db", redact=broken) as bank:
        with pytest.raises(RuntimeError, match="no"):
            bank.remember(ANN, [Message("the first"), Message("the second")], session="s")
        assert bank.sessions(ANN) == []
    with MemoryBank.open(redact=lambda text: None) as bank, pytest.raises(InvalidInput, match="redact gives back"):  # type: ignore[arg-type, return-value]
        bank.remember(ANN, [Message("x")], session="s")


def test_where_redaction_fails_nothing_of_an_import_is_stored():
    def broken(text: str) -> str:
        if "second" in text:
            raise RuntimeError("no")
        return text

    with MemoryBank.open(citations=True) as bank:
        for number, words in enumerate(("the first", "the last")):
            bank.remember(ANN, [Message(words, at=NOON)], session=f"s{number}", close=True)
        bank.citations.reward(ANN, "Which was the second?", bank.recall(ANN, "first").impression, [1])
        question = list(bank.storage.export(ANN))
        bank.remember(ANN, [Message("the second", at=NOON)], session="s2", close=True)
        message = [line for line in bank.storage.export(ANN) if '"citation"' not in line]
    with MemoryBank.open(redact=broken) as other:
        for lines in (question, message):
            with pytest.raises(RuntimeError, match="no"):
                other.storage.import_(lines)
            assert other.scopes() == []


def test_a_background_writer_redacts_before_the_disk(tmp_path):
    with MemoryBank.open(tmp_path / "bank.db", redact=without_cards) as bank:
        writer = BackgroundWriter(bank)
        writer.remember(ANN, [Message("My card is 1234-5678.")], session="s")
        writer.close()
        assert b"1234-5678" not in raw(tmp_path / "bank.db")
        assert bank.turns(ANN, "s")[0].content == "My card is [card]."


# -- encryption -------------------------------------------------------------------------------------------------------


def test_an_encrypted_file_holds_no_word_and_opens_with_its_key_only(tmp_path):
    pytest.importorskip("sqlcipher3", reason="encryption needs the extra 'encrypted'")
    path = tmp_path / "bank.db"
    with filled(path, key="it's a key") as bank:
        assert not holds(path, SECRET[0])
        assert bank.recall(ANN, SECRET[0]).hits
        lines = list(bank.storage.export(ANN))
    assert not raw(path).startswith(b"SQLite format 3")
    for key in ("another", "it's", None):
        with pytest.raises(StoreError) as caught:
            MemoryBank.open(path, key=key)
        assert "it's a key" not in str(caught.value)
    with opened(path, key="it's a key") as again:
        assert list(again.storage.export(ANN)) == lines
        again.forget(ANN)
        again.storage.compact()


def test_a_key_that_cannot_be_used_is_refused(tmp_path, monkeypatch):
    for key in ("", "a\0b", b"bytes"):
        with pytest.raises(InvalidInput, match="a key is a string"):
            open_sqlite(tmp_path / "x.db", key=key)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="a key encrypts a file"):
        MemoryBank.open("postgresql://localhost/x", key="k")
    monkeypatch.setitem(__import__("sys").modules, "sqlcipher3", None)
    with pytest.raises(MissingExtra, match=r"secom-memory\[encrypted\]"):
        MemoryBank.open(tmp_path / "x.db", key="k")
    assert not (tmp_path / "x.db").exists()


# -- logs and errors --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_logs_hold_no_word_that_was_said(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    # The database's own log of statements is the engine's business, and off unless somebody turns it on.
    caplog.set_level(logging.INFO, logger="sqlalchemy")
    with filled(tmp_path / "bank.db") as bank:
        bank.forget(ANN, session="s0")
        bank.rebuild(ANN)
        lines = list(bank.storage.export(ANN))
        bank.forget(ANN)
        bank.storage.import_(lines)
    assert not [record for record in caplog.records if any(word in record.getMessage() for word in SECRET)]
    assert SECRET[0] not in caplog.text


REPLIES = {
    "prose": f"You told me of the {SECRET[0]}, and I keep it.",
    "broken": f'{{"event": "the {SECRET[0]}", "reference": [1, ',
    "no numbers": f'<events>{{"event": "the {SECRET[0]}", "exchanges": "{SECRET[0]}"}}</events>',
    "no text": f'{{"summary": ["{SECRET[0]}"], "reference": [0], "{SECRET[0]}": 1}}',
    "of nobody": f'{{"event": "{SECRET[0]}", "summary": "{SECRET[0]}", "exchanges": [0], "reference": [0]}}',
    "no note": f"Merge({SECRET[0]}, {SECRET[0]})",
    "long": f"<memory>\n{SECRET[0]} is here.\n" * 40,
    "segments": f'{{"segment_id": 0, "start_exchange_number": "{SECRET[0]}", "end_exchange_number": 1}}',
}


@pytest.mark.parametrize("form", REPLIES)
def test_warnings_hold_no_word_of_what_a_model_replies(form: str) -> None:
    model = ScriptedModel(lambda _: REPLIES[form])
    segmenter = ZeroShotSegmenter(model, fallback=FixedSize(2))
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        parts: dict[str, Any] = {"summaries": Summarizer(model, limit=1), "timelines": True, "topics": True}
        with MemoryBank.open(model=model, segmenter=segmenter, changes=True, **parts) as bank:
            for place, messages in enumerate(talk(SECRET[0], 3)):
                bank.remember(ANN, messages, session=f"s{place}", close=True)
            bank.recall(ANN, "What did the doctor say?", layers=["timelines"])
        QueryRewriter(model).rewrite(talk(SECRET[0], 1)[0])

    told = [str(each.message) for each in raised if each.category is DegradedWarning]
    assert len(told) > 3
    assert [each for each in told if SECRET[0].casefold() in each.casefold()] == []
    assert any(SECRET[0] in str(each.message.__cause__) for each in raised if isinstance(each.message, Warning))


KEY = "AIzaSy-4711-Quixotry-0815"
"""A key as the errors of clients tell it: in the address that was asked, or in what it was asked with."""


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            f"400 for url 'https://host.example/v1:embed?alt=json&key={KEY}'",
            "400 for url 'https://host.example/v1:embed?…'",
        ),
        (f"no route to https://ann:{KEY}@host.example:8000/v1", "no route to https://…@host.example:8000/v1"),
        (f"401 with {{'Authorization': 'Bearer {KEY}'}}", "401 with {'Authorization': 'Bearer …'}"),
        ("is it there? see https://host.example/a, or ask ann@host.example", ""),
    ],
)
@pytest.mark.parametrize("kind", [ModelUnavailable, RuntimeError])
def test_warnings_hold_no_key_that_the_error_of_a_client_tells(kind: type[Exception], error: str, told: str) -> None:
    class Failing(HashingEmbedder):
        def embed(self, texts: Any) -> Any:
            raise kind(error)

    with warnings.catch_warnings(record=True) as raised, MemoryBank.open(embedder=Failing()) as bank:
        warnings.simplefilter("always")
        bank.remember(ANN, talk(SECRET[0], 1)[0], session="s", close=True)
        bank.recall(ANN, "What did the doctor say?")
    messages = [str(each.message) for each in raised if each.category is DegradedWarning]
    assert messages
    assert all((told or error) in message for message in messages)


def test_no_error_of_a_model_nor_what_is_shown_of_it_holds_a_key() -> None:
    pytest.importorskip("openai", reason="needs the extra 'openai'")
    models = importlib.import_module("secom_core.models")
    url = f"http://ann:{KEY}@127.0.0.1:9/v1?key={KEY}"
    model = models.OpenAIModel("any", base_url=url, timeout=0.5, max_retries=0)
    embedder = models.OpenAIEmbedder("any", base_url=url, timeout=0.5, max_retries=0)
    for part, ask in ((model, lambda: model.complete(Prompt("Hello"))), (embedder, lambda: embedder.embed(["a"]))):
        with pytest.raises(ModelUnavailable, match=r"any at http://…@127\.0\.0\.1:9/v1\?… gave no answer") as caught:
            ask()
        assert KEY not in str(caught.value) + repr(part)
        assert KEY not in str(pickle.loads(pickle.dumps(caught.value)))
    assert KEY not in str(BadReply(f"no JSON from {url}", "…"))
    rows = read_settings({"base_url": url, "embedder_base_url": url, "store": f"postgresql://u:{KEY}@host/db"}).rows()
    assert KEY not in str(list(rows))


def test_the_log_of_the_server_holds_no_key(caplog: pytest.LogCaptureFixture) -> None:
    refusals = pytest.importorskip("secom_core.serve.refusals", reason="needs the extra 'serve'")
    for kind in (ModelUnavailable, RuntimeError, StoreError):
        error = kind(f"no answer from https://ann:{KEY}@host.example")
        error.__cause__ = ValueError(f"400 for url 'https://host.example/v1?key={KEY}'")
        assert KEY not in str(refusals.told_of(error))
    assert "no answer from https://…@host.example" in caplog.text
    assert "400 for url 'https://host.example/v1?…'" in caplog.text
    assert KEY not in caplog.text


FAILING = {
    "said twice": ("CREATE TABLE t (x TEXT UNIQUE)", ["INSERT INTO t VALUES (:x)"] * 2),
    "refused": ("CREATE TABLE t (x TEXT CHECK (length(x) < 3))", ["INSERT INTO t VALUES (:x)"]),
    "no number": ("CREATE TABLE t (x INTEGER PRIMARY KEY)", ["INSERT INTO t VALUES (:x)"]),
    "no text": ("CREATE TABLE t (x TEXT NOT NULL, y TEXT)", ["INSERT INTO t (y) VALUES (:x)"]),
    "no column": ("CREATE TABLE t (x TEXT)", ["INSERT INTO t (z) VALUES (:x)"]),
    "cast": ("CREATE TABLE t (x TEXT)", ["INSERT INTO t VALUES (:x)", "SELECT CAST(x AS INTEGER), y FROM t"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", FAILING)
def test_errors_of_the_database_hold_its_reason_alone(place, what):
    table, statements = FAILING[what]

    def fail(bank):
        with bank._store.transaction() as connection:
            connection.execute(sa.text(table))
            for each in statements:
                connection.execute(sa.text(each), {"x": SECRET[0]})

    with MemoryBank.open(place) as bank, pytest.raises(StoreError, match="failed: ") as caught:
        fail(bank)
    assert caught.value.__cause__ is not None
    assert not [told for told in (SECRET[0], "INSERT", "SELECT", "sqlalche.me", "\n") if told in str(caught.value)]
    assert SECRET[0] not in "".join(traceback.format_exception(caught.value))


def test_errors_of_the_database_do_not_tell_what_was_said(tmp_path):
    with MemoryBank.open(tmp_path / "bank.db") as bank:
        with bank._store.transaction() as connection:
            connection.exec_driver_sql("DROP TABLE messages")
        with pytest.raises(StoreError) as caught:
            bank.remember(ANN, [Message(f"I have {SECRET[0]}.", id="a")], session="s")
    assert SECRET[0] not in str(caught.value)
    assert SECRET[0] not in str(caught.value.__cause__)
