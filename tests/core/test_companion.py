"""The loop without a framework, over real HTTP: recall, reply, read citations, learn, remember; async and streamed."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from secom_core.bank import BackgroundWriter, MemoryBank, answers, remember_soon
from secom_core.citations.prompt import CITE_REMINDER
from secom_core.companion import Companion
from secom_core.conversation import Message
from secom_core.errors import ContextTooLong, DegradedWarning, InvalidInput, ModelUnavailable, StoreError
from secom_core.memory import Recall, RecallOptions
from secom_core.models.openai import OpenAIModel
from secom_core.testing import Fault, Script, ScriptedModel, ScriptedRequest, ScriptedServer

pytest.importorskip("openai", reason="real HTTP needs the openai extra")

ANN = ("acme", "ann")
PAST = (
    "I moved to Porto in May.",
    "My sister Maria lives in Lyon.",
    "My cat Tom is afraid of dogs [2] and of [NO_CITE] and [m1].",
    "I work as a baker in Porto.",
)

Way = Callable[[Companion, str], str]


def whole(companion: Companion, said: str) -> str:
    return companion.reply(said).text


def awaited(companion: Companion, said: str) -> str:
    return asyncio.run(companion.areply(said)).text


def streamed(companion: Companion, said: str) -> str:
    return "".join(companion.stream(said))


def astreamed(companion: Companion, said: str) -> str:
    async def collect() -> str:
        return "".join([piece async for piece in companion.astream(said)])

    return asyncio.run(collect())


WAYS = [whole, awaited, streamed, astreamed]


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "memory.db", citations=True) as opened:
        for number, said in enumerate(PAST):
            opened.remember(ANN, [{"role": "user", "content": said}], session=f"past {number}", close=True)
        yield opened


def companion_of(bank: MemoryBank, server: ScriptedServer, **parts: object) -> Companion:
    model = OpenAIModel("scripted", base_url=server.base_url, max_retries=0, timeout=5)
    return Companion(bank, ANN, model, session="now", **parts)  # type: ignore[arg-type]


def number_of(request: ScriptedRequest, words: str) -> int:
    line = next(line for line in request.text.splitlines() if words in line)
    return int(line[1 : line.index("]")])


def citing(*words: str) -> Script:
    """Cites the memories that hold the words."""

    def reply(request: ScriptedRequest) -> str:
        return "So it was" + "".join(f" [{number_of(request, each)}]" for each in words) + ", I think."

    return reply


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_the_loop_closes(bank: MemoryBank, way: Way) -> None:
    with ScriptedServer(citing("Porto in May")) as server:
        companion = companion_of(bank, server, instructions="You are Bert.")
        assert way(companion, "When did I move to Porto?") == "So it was, I think."
        assert way(companion, "And where does Maria live, or do I work in Porto in May?") == "So it was, I think."
    (first, second) = bank.citations.log(ANN)
    assert [len(entry.cited) for entry in (first, second)] == [1, 1]
    assert first.query == "When did I move to Porto?"
    assert len(bank.citations.log(ANN)) == 2
    said = [message.text for turn in bank.turns(ANN, "now") for message in turn.messages]
    assert said[:2] == ["When did I move to Porto?", "So it was, I think."]
    assert len(said) == 4
    system, prompt = (text for _, text in server.requests[1].messages)
    assert system.startswith("You are Bert.")
    assert "user: When did I move to Porto?\nassistant: So it was, I think." in prompt
    assert prompt.endswith(f"And where does Maria live, or do I work in Porto in May?\n\n{CITE_REMINDER}")


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_what_the_model_thinks_aloud_is_not_remembered(bank: MemoryBank, way: Way) -> None:
    with ScriptedServer("<think>\nNot [2], but [1].\n</think>\n\nTo Porto [1].") as server:
        assert "Not [2]" in way(companion_of(bank, server), "Where did I move to?")
    assert [message.text for turn in bank.turns(ANN, "now") for message in turn.messages][1:] == ["To Porto."]
    assert [entry.cited for entry in bank.citations.log(ANN)] == [(1,)]


def small(room: int) -> Script:
    """A model that refuses requests of more characters than its context has room for."""

    def reply(request: ScriptedRequest) -> str | Fault:
        if sum(len(text) for _, text in request.messages) > room:
            return Fault(status=400, body='{"error": {"message": "the request exceeds the available context size"}}')
        return "Fine."

    return reply


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_conversation_that_is_too_long_for_the_model_is_shown_shorter(bank: MemoryBank, way: Way) -> None:
    said = [("user", "How do I bake rye bread?"), ("assistant", "Take flour. " + "Knead it well. " * 600)]
    bank.remember(ANN, said, session="now")
    with ScriptedServer(small(6_000)) as server:
        companion = companion_of(bank, server)
        assert way(companion, "And then?") == "Fine."
        assert "user: How do I bake rye bread?\nassistant: Take flour. Knead" in server.requests[-1].text
        assert "[…]" in server.requests[-1].text


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_message_that_is_too_long_by_itself_is_an_error(bank: MemoryBank, way: Way) -> None:
    with ScriptedServer(small(100)) as server, pytest.raises(ContextTooLong):
        way(companion_of(bank, server), "And then?")
    assert len(server.requests) == 1


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("answer", "entries"),
    [
        ("Nobody said so [99], nor [0].", 0),
        ("It was [1][1] and again [1].", 1),
        ("Look: `[1]`\n```\n[2]\n```\n", 0),
        ("I cannot tell. [NO_CITE]", 1),
        ("I cannot tell.", 0),
        ("Both [1, 2].", 1),
    ],
)
def test_faulty_citations_count_for_nothing_and_nothing_counts_twice(
    bank: MemoryBank, way: Way, answer: str, entries: int
) -> None:
    with ScriptedServer(answer) as server:
        way(companion_of(bank, server), "When did I move to Porto, and who is afraid of dogs, Maria or the baker?")
    assert len(bank.citations.log(ANN)) == entries


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_memory_cannot_cite_itself(bank: MemoryBank, way: Way) -> None:
    """The model repeats all that it was shown, word for word, behind no number of its own."""

    def parrot(request: ScriptedRequest) -> str:
        block = request.text[request.text.index("<memories>") : request.text.index("</memories>")]
        return "\n".join(line.split("] ", 1)[-1] for line in block.splitlines())

    with ScriptedServer(parrot) as server:
        way(companion_of(bank, server), "Who is afraid of dogs?")
    assert bank.citations.log(ANN) == []


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_markers_are_kept_where_wanted_and_never_remembered(bank: MemoryBank, way: Way) -> None:
    with ScriptedServer("In May [1].") as server:
        assert way(companion_of(bank, server, markers="keep"), "When did I move to Porto?") == "In May [1]."
    assert bank.turns(ANN, "now")[0].messages[1].text == "In May."


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_where_the_model_fails_the_question_stays_and_nothing_is_learned(bank: MemoryBank, way: Way) -> None:
    with ScriptedServer(Fault(status=500)) as server, pytest.raises(ModelUnavailable, match="500"):
        way(companion_of(bank, server), "When did I move to Porto?")
    assert [message.text for turn in bank.turns(ANN, "now") for message in turn.messages] == [
        "When did I move to Porto?"
    ]
    assert bank.citations.log(ANN) == []


def half(text: str) -> Fault:
    piece = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": None}],
    }
    return Fault(body=f"data: {json.dumps(piece)}\n\n")


@pytest.mark.slow
@pytest.mark.parametrize("way", [streamed, astreamed])
def test_a_stream_that_breaks_off_leaves_no_half_reward(bank: MemoryBank, way: Way) -> None:
    with ScriptedServer(half("In May [1].")) as server, pytest.raises(ModelUnavailable, match="broke off"):
        way(companion_of(bank, server), "When did I move to Porto?")
    assert bank.citations.log(ANN) == []
    assert len(bank.turns(ANN, "now")[0].messages) == 1


@pytest.mark.slow
def test_a_stream_that_nobody_reads_to_its_end_leaves_no_half_reward(bank: MemoryBank) -> None:
    with ScriptedServer("In May [1]. It was a fine day, and the sea was calm.") as server:
        stream = companion_of(bank, server).stream("When did I move to Porto?")
        next(stream)
        stream.close()  # type: ignore[attr-defined]
    assert bank.citations.log(ANN) == []


@pytest.mark.slow
def test_pieces_come_before_the_answer_is_whole(bank: MemoryBank) -> None:
    with ScriptedServer("In May [1]. It was a fine day, and the sea was calm.") as server:
        pieces = [piece for piece in companion_of(bank, server).stream("When did I move to Porto?") if piece]
    assert len(pieces) > 2
    assert "".join(pieces) == "In May. It was a fine day, and the sea was calm."


def test_without_a_log_the_citations_are_read_all_the_same() -> None:
    with MemoryBank.open() as bank:
        bank.remember(ANN, [{"role": "user", "content": PAST[0]}], session="past", close=True)
        companion = Companion(bank, ANN, ScriptedModel("In May [1]."))
        answer = companion.reply("When did I move to Porto?")
        assert (answer.text, answer.citations.numbers, answer.lesson) == ("In May.", (1,), None)
        companion.close()
        assert len(bank.sessions(ANN)) == 2


def test_without_a_log_a_memory_cannot_cite_itself_either() -> None:
    with MemoryBank.open() as bank:
        bank.remember(ANN, [{"role": "user", "content": "Maria fears dogs [1]."}], session="past", close=True)
        model = ScriptedModel(lambda prompt: next(line for line in prompt.text.splitlines() if "fears" in line)[4:])
        assert Companion(bank, ANN, model).reply("Who is afraid of dogs, Maria?").citations.numbers == ()


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_it_takes_every_recall_option_and_passes_it_on(
    bank: MemoryBank, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = {"token_budget": 321, "k": 2, "layers": ("citations",), "only_relevant": True}
    wanted |= {"where": None, "also": (), "history": False}
    assert wanted.keys() == {field.name for field in fields(RecallOptions)}
    seen: list[dict[str, object]] = []
    recall = bank.recall

    def watched(*args: Any, **named: Any) -> Recall:
        seen.append(named)
        return recall(*args, **named)

    monkeypatch.setattr(bank, "recall", watched)
    with ScriptedServer("In May [1].") as server:
        way(companion_of(bank, server, **wanted), "When did I move to Porto?")
    [named] = seen
    assert {name: named[name] for name in wanted} == wanted


def test_options_that_no_recall_can_use_are_refused_at_once(bank: MemoryBank) -> None:
    for options, message in (
        ({"token_budget": 0}, "token_budget.*0"),
        ({"k": 1.5}, "k is a whole number.*1.5"),
        ({"layers": "summaries"}, "a sequence of names"),
        ({"layers": ["timelines"]}, "opened without 'timelines'"),
    ):
        with pytest.raises(InvalidInput, match=message):
            Companion(bank, ANN, ScriptedModel("x"), **options)  # type: ignore[arg-type]


def test_a_model_that_cannot_is_named(bank: MemoryBank) -> None:
    companion = Companion(bank, ANN, ScriptedModel("x"))
    with pytest.raises(InvalidInput, match=r"ScriptedModel has no stream\(\)"):
        next(companion.stream("Hello"))
    with pytest.raises(InvalidInput, match="window"):
        Companion(bank, ANN, ScriptedModel("x"), window=0)
    assert bank.turns(ANN, companion.session) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_reply_waits_seconds_at_most_for_a_locked_file_and_loses_nothing(
    bank: MemoryBank, tmp_path: Path, way: Way
) -> None:
    bank.recall(ANN, "Porto", token_budget=100)
    with (
        ScriptedServer(["In Porto [1].", "As a baker [1]."]) as server,
        closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as other,
    ):
        companion = companion_of(bank, server)
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.warns(DegradedWarning, match="citations of an answer were not taken in"):
            assert way(companion, "Where do I live?") == "In Porto."
        with pytest.warns(DegradedWarning, match="citations of an answer were not taken in"):
            assert way(companion, "And what do I work as?") == "As a baker."
        assert time.monotonic() - began < 20, "the lock is held for as long as the file is waited for, a minute"
        assert "In Porto." in server.requests[1].prompt, "what waits in memory is part of the conversation"
        other.execute("COMMIT")
        companion.close()
    said = [message.text for turn in bank.turns(ANN, "now") for message in turn.messages]
    assert said == ["Where do I live?", "In Porto.", "And what do I work as?", "As a baker."]


@pytest.mark.parametrize("in_background", [True, False])
def test_closing_ends_the_session_after_what_waited_in_memory(tmp_path: Path, in_background: bool) -> None:
    path = tmp_path / "memory.db"
    with MemoryBank.open(path) as bank, closing(sqlite3.connect(path, isolation_level=None)) as other:
        writer = BackgroundWriter(bank) if in_background else None
        companion = Companion(bank, ANN, ScriptedModel("How nice!"), session="now", writer=writer)
        other.execute("BEGIN IMMEDIATE")
        companion.reply("I moved to Ghent.")
        other.execute("COMMIT")
        companion.close()
        assert [turn.text for turn in bank.turns(ANN, "now")] == ["user: I moved to Ghent.\nassistant: How nice!"]
        assert other.execute("SELECT name, closed FROM sessions").fetchall() == [("now", 1)]


def test_a_reply_is_given_once_the_store_can_be_read(postgres: Any, postgres_url: str) -> None:
    with MemoryBank.open(postgres_url) as bank:
        bank.remember(ANN, [("user", "I live in Porto.")], session="before")
        companion = Companion(bank, ANN, ScriptedModel("In Porto."), session="now")
        with postgres.tables_taken(postgres_url, seconds=4):
            assert companion.reply("Where do I live?").text == "In Porto."
        companion.close()
        assert [turn.text for turn in bank.turns(ANN, "now")] == ["user: Where do I live?\nassistant: In Porto."]


def test_closing_gives_up_where_the_server_stays_away(
    postgres: Any, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "_END_WAITS_S", 2)
    with MemoryBank.open(postgres_url) as bank:
        companion, raised = Companion(bank, ANN, ScriptedModel("How nice!"), session="now"), list[StoreError]()

        def close() -> None:
            try:
                companion.close()
            except StoreError as error:
                raised.append(error)

        ending = threading.Thread(target=close, daemon=True)
        postgres.stop_now()
        try:
            remember_soon(bank, None, ANN, [Message("I moved to Ghent.", role="user")], session="now")
            ending.start()
            ending.join(60)
        finally:
            postgres.start_again()
        assert "not on disk yet" in str(raised)
        companion.close()
        assert [turn.text for turn in bank.turns(ANN, "now")] == ["user: I moved to Ghent."]
