"""The running summary in a bank: versions, faults, forgetting, the block within the budget (RSum, Algorithm 1)."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from secom_core import presets
from secom_core.bank import MemoryBank
from secom_core.context import citable
from secom_core.conversation import Message, Session, as_turns, group_messages
from secom_core.errors import ContextTooLong, DegradedWarning, InvalidInput
from secom_core.llm.flow import Prompt
from secom_core.summaries import Summarizer
from secom_core.testing import Answer, Fault, ScriptedModel, ScriptedRequest, ScriptedServer
from secom_core.text.terms import count_tokens

ANN = ("acme", "ann")
SAID = {
    "s1": ["I keep a tortoise called Herodotus.", "It sleeps under the stove."],
    "s2": ["I play the bassoon in an orchestra.", "We rehearse on Mondays."],
    "s3": ["My brother opened a bakery in Trieste.", "His panettone is famous."],
}


def told(request: ScriptedRequest) -> str:
    """A model that keeps the old memory and adds what the session says first, and last."""
    old = request.text.split("<memory>\n")[-1].split("\n</memory>")[0]
    said = request.text.split("<session>\n")[-1].split("\n</session>")[0].splitlines()
    new = dict.fromkeys(line.removeprefix("Ann: ") for line in (said[1], said[-1]))
    lines = [*([] if old == "none" else old.splitlines()), *new]
    return "<memory>\n" + "\n".join(lines) + "\n</memory>"


def talk(name: str) -> Session:
    return Session(name, group_messages([Message(t, "", "Ann", f"{name}-{n}") for n, t in enumerate(SAID[name])], name))


def fill(bank: MemoryBank, *names: str) -> None:
    for name in names or SAID:
        bank.remember(ANN, talk(name), close=True)


def words_in(path: Path, word: str) -> list[str]:
    """The tables of the file that hold the word, and the file itself."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = [
            table
            for table in tables
            if any(word.lower() in str(row).lower() for row in connection.execute(f"SELECT * FROM '{table}'"))
        ]
    connection.close()
    raw = path.read_bytes().lower()
    return [*found, *(["file"] if word.lower().encode() in raw else [])]


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(told)


@pytest.fixture
def bank(tmp_path: Path, model: ScriptedModel) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "m.db", model=model, summaries=True) as opened:
        yield opened


# -- versions ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("each_store")
def test_each_session_makes_a_version_from_the_one_before_it(bank, model) -> None:
    assert bank.summaries.latest(ANN) is None
    fill(bank)
    first, second, third = bank.summaries.versions(ANN)
    assert bank.summaries.latest(ANN) == third
    assert [each.session for each in (first, second, third)] == ["s1", "s2", "s3"]
    assert [each.version for each in (first, second, third)] == [1, 2, 3]
    assert third.previous == second
    assert third.sentences == tuple(text for lines in SAID.values() for text in lines)
    assert third.session_turn_ids == ("s3-0", "s3-1")
    assert third.turn_ids == ("s1-0", "s1-1", "s2-0", "s2-1", "s3-0", "s3-1")
    assert len(model.requests) == 3, "one call a session"
    assert bank.derive(ANN) == 0, "nothing is missing"
    assert len(model.requests) == 3


def test_an_open_session_is_not_in_it_and_nothing_is_asked(bank, model) -> None:
    bank.remember(ANN, talk("s1"))
    assert bank.summaries.latest(ANN) is None
    bank.close_session(ANN, "s1")
    assert bank.summaries.latest(ANN).session == "s1"
    bank.close_session(ANN, "s1")
    assert len(model.requests) == 1


@pytest.mark.usefixtures("each_store")
def test_a_session_that_goes_on_is_taken_up_where_it_was_and_those_after_it_again(bank, model) -> None:
    fill(bank)
    bank.remember(ANN, [Message("Herodotus ate a dandelion.", "", "Ann", "s1-2")], session="s1")
    assert bank.summaries.latest(ANN).turn_ids[:2] == ("s1-0", "s1-1"), "what is still said is in no version"
    bank.close_session(ANN, "s1")
    assert [each.session for each in bank.summaries.versions(ANN)] == ["s1", "s2", "s3"]
    latest = bank.summaries.latest(ANN)
    assert latest.sentences == (*SAID["s1"], "Herodotus ate a dandelion.", *SAID["s2"], *SAID["s3"])
    assert "stove" not in model.requests[3].text.rpartition("<session>")[2], "what is taken in is not asked about again"
    assert latest.turn_ids[:3] == ("s1-0", "s1-1", "s1-2")
    assert len(model.requests) == 6


@pytest.mark.usefixtures("each_store")
def test_scopes_do_not_meet(bank) -> None:
    fill(bank, "s1")
    bank.remember(("acme", "bob"), as_turns_session("s1", "I collect stamps."), close=True)
    assert "stamps" not in bank.summaries.latest(ANN).text
    assert bank.summaries.latest(("acme", "bob")).text.splitlines()[0] == "I collect stamps."
    assert bank.summaries.latest(("acme", "nobody")) is None


def as_turns_session(name: str, *texts: str) -> Session:
    return Session(name, as_turns(texts, name))


def test_a_bank_without_a_summary_says_so() -> None:
    with MemoryBank.open() as bank:
        fill(bank, "s1")
        for ask in (
            lambda: bank.summaries.latest(ANN),
            lambda: bank.summaries.versions(ANN),
            lambda: bank.recall(ANN, "x", layers=["summaries"]),
        ):
            with pytest.raises(InvalidInput, match=r"opened without 'summaries' .*; open it with summaries=True"):
                ask()


@pytest.mark.usefixtures("each_store")
def test_what_was_said_without_the_layer_is_taken_in_later(tmp_path, model) -> None:
    with MemoryBank.open(tmp_path / "m.db") as bank:
        fill(bank, "s1", "s2")
    with MemoryBank.open(tmp_path / "m.db", model=model, summaries=True) as bank:
        assert bank.derive(ANN) == 2
        assert [each.session for each in bank.summaries.versions(ANN)] == ["s1", "s2"]


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
def test_an_import_is_taken_in_and_a_rebuild_makes_it_again(bank, model) -> None:
    fill(bank)
    with MemoryBank.open(model=model, summaries=True) as other:
        other.storage.import_(list(bank.storage.export(ANN)))
        assert other.summaries.latest(ANN).text == bank.summaries.latest(ANN).text
    asked = len(model.requests)
    bank.rebuild(ANN)
    assert len(model.requests) == asked + 3
    assert len(bank.summaries.versions(ANN)) == 3


# -- forgetting -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("with_model", [True, False])
@pytest.mark.parametrize("name", list(SAID))
def test_what_is_forgotten_is_in_no_table_and_never_comes_back(tmp_path, name, with_model) -> None:
    path = tmp_path / "m.db"
    word = {"s1": "Herodotus", "s2": "bassoon", "s3": "Trieste"}[name]
    asked: list[str] = []

    def watched(request: ScriptedRequest) -> str:
        asked.append(request.text)
        return told(request)

    with MemoryBank.open(path, model=ScriptedModel(watched) if with_model else None, summaries=True) as bank:
        fill(bank)
        assert word in bank.summaries.latest(ANN).text
        assert "summaries" in words_in(path, word)
        asked.clear()
        assert bank.forget(ANN, turn_ids=[f"{name}-0"]) == 1
        assert words_in(path, word) == []
        left = bank.summaries.latest(ANN)
        assert left is None or word not in left.text
        bank.derive(ANN)
        assert words_in(path, word) == []
        assert not any(word in text for text in asked), "made of raw turns, not of a summary that held it"
        latest = bank.summaries.latest(ANN)
        assert f"{name}-0" not in latest.turn_ids
        kept = [text for lines in SAID.values() for text in lines if text != SAID[name][0]]
        assert [text for text in kept if text in latest.text] == kept, "what is left is all there"
        assert len(asked) == (4 - int(name[1]) if with_model else 0), "versions before it stand"


def test_a_whole_session_or_scope_can_go(bank) -> None:
    path = Path(str(bank.storage.path))
    fill(bank)
    bank.forget(ANN, session="s2")
    bank.derive(ANN)
    assert [each.session for each in bank.summaries.versions(ANN)] == ["s1", "s3"]
    bank.forget(ANN)
    assert bank.summaries.latest(ANN) is None
    for word in ("Herodotus", "bassoon", "Trieste"):
        assert words_in(path, word) == []


@pytest.mark.usefixtures("each_store")
def test_a_version_that_is_made_while_its_session_is_forgotten_is_not_kept(tmp_path) -> None:
    path = tmp_path / "m.db"

    def slow(request: ScriptedRequest) -> str:
        with MemoryBank.open(path) as other:
            other.forget(ANN, session="s1")
        return told(request)

    with MemoryBank.open(path, model=ScriptedModel(slow), summaries=True) as bank:
        fill(bank, "s1")
        assert bank.summaries.latest(ANN) is None
        assert words_in(path, "Herodotus") == []


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
def test_a_version_whose_previous_one_is_forgotten_meanwhile_is_made_anew(tmp_path) -> None:
    path = tmp_path / "m.db"

    def slow(request: ScriptedRequest) -> str:
        if "bassoon" in request.text:
            with MemoryBank.open(path) as other:
                other.forget(ANN, session="s1")
        return told(request)

    with MemoryBank.open(path, model=ScriptedModel(slow), summaries=True) as bank:
        fill(bank, "s1", "s2")
        (only,) = bank.summaries.versions(ANN)
        assert (only.session, only.previous) == ("s2", None)
        assert words_in(path, "Herodotus") == []


@pytest.mark.usefixtures("each_store")
def test_two_processes_make_one_chain(tmp_path) -> None:
    path = tmp_path / "m.db"
    calls: list[int] = []

    def interrupted(request: ScriptedRequest) -> str:
        calls.append(1)
        if len(calls) == 1:
            with MemoryBank.open(path, model=ScriptedModel(told), summaries=True) as other:
                other.remember(ANN, talk("s2"), close=True)
        return told(request)

    with MemoryBank.open(path, model=ScriptedModel(interrupted), summaries=True) as bank:
        fill(bank, "s1")
        versions = bank.summaries.versions(ANN)
        assert sorted(each.session for each in versions) == ["s1", "s2"]
        assert [each.previous for each in versions] == [None, versions[0]]
        assert set(versions[-1].sentences) == {*SAID["s1"], *SAID["s2"]}


# -- a model that fails -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Fault(status=500), Fault(), ["Sure!", "Sure!"], [Answer(""), Answer("")]])
def test_a_failure_degrades_to_extraction_and_the_next_close_tries_again(fault) -> None:
    faults = fault if isinstance(fault, list) else [fault]
    replies = iter(faults)

    def reply(request: ScriptedRequest):
        return next(replies, None) or told(request)

    model = ScriptedModel(reply)
    with MemoryBank.open(model=model, summaries=True) as bank:
        with pytest.warns(DegradedWarning, match="did not summarise 2 turns, the sentences that cover most"):
            fill(bank, "s1")
        latest = bank.summaries.latest(ANN)
        assert latest.provisional
        assert all(text in latest.text for text in SAID["s1"]), "nothing is lost meanwhile"
        fill(bank, "s2")
        assert [each.provisional for each in bank.summaries.versions(ANN)] == [False, False]
        assert bank.summaries.latest(ANN).sentences == (*SAID["s1"], *SAID["s2"]), "both by the model"


def test_a_model_that_is_down_is_asked_once_a_close() -> None:
    model = ScriptedModel(Fault(status=503))
    with MemoryBank.open(model=model, summaries=True) as bank:
        for number, name in enumerate(SAID, start=1):
            with pytest.warns(DegradedWarning, match="503"):
                fill(bank, name)
            assert len(model.requests) == number
            assert len(bank.summaries.versions(ANN)) == number
        assert all(each.provisional for each in bank.summaries.versions(ANN))
        assert all(text in bank.summaries.latest(ANN).text for lines in SAID.values() for text in lines)


def test_one_session_that_the_model_never_gets_right_does_not_hold_up_the_others() -> None:
    def reply(request: ScriptedRequest) -> str:
        session = request.text.split("<session>\n")[-1]
        return "I cannot talk about tortoises." if "tortoise" in session else told(request)

    model = ScriptedModel(reply)
    with MemoryBank.open(model=model, summaries=True) as bank:
        with pytest.warns(DegradedWarning, match="no <memory> in the reply"):
            fill(bank, "s1")
        with pytest.warns(DegradedWarning, match="no <memory> in the reply"):
            fill(bank, "s2")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fill(bank, "s3")
        assert [each.provisional for each in bank.summaries.versions(ANN)] == [False] * 3
        assert "tortoise" in bank.summaries.versions(ANN)[0].text
        assert len(model.requests) == 6, "two for each attempt at the first, one for each of the others"


def test_an_empty_memory_is_right_for_a_session_that_tells_nothing_and_wrong_for_another() -> None:
    model = ScriptedModel({"boat": "<memory>\nAnn has a boat.\n</memory>", "": "<memory>\n\n</memory>"})
    with MemoryBank.open(model=model, summaries=True) as bank:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for name, text in {"s0": "  ", "s1": "Hello!", "s2": "I have a boat.", "s3": "Good evening!"}.items():
                bank.remember(ANN, [Message(text, "user")], session=name, close=True)
        assert [each.session for each in bank.summaries.versions(ANN)] == ["s2", "s3"]
        assert bank.summaries.latest(ANN).sentences == ("Ann has a boat.",)
        assert len(model.requests) == 3, "none about a session without words"
        with pytest.warns(DegradedWarning, match="but the session has news$"):
            bank.remember(ANN, [Message(SAID["s3"][0], "user")], session="s4", close=True)
        assert len(model.requests) == 5


def test_a_summary_that_leaves_no_room_for_a_session_does_not_hold_up_the_others() -> None:
    class Full:
        """A model that takes in short memories of short sessions, and nothing of a tortoise."""

        def complete(self, prompt: Prompt) -> str:
            if "tortoise" in prompt.text.split("<session>\n")[-1]:
                raise ContextTooLong("the prompt is too long")
            return told(ScriptedRequest({"messages": [{"role": "user", "content": prompt.text}]}))

    with MemoryBank.open(model=Full(), summaries=True) as bank:
        for name in ("s1", "s2"):
            with pytest.warns(DegradedWarning, match="too long"):
                fill(bank, name)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fill(bank, "s3")
        assert [each.provisional for each in bank.summaries.versions(ANN)] == [False] * 3
        assert "tortoise" in bank.summaries.versions(ANN)[0].text


def test_without_the_model_the_next_time_extracts_stand(tmp_path) -> None:
    path = tmp_path / "m.db"
    with MemoryBank.open(path, model=ScriptedModel(Fault(status=503)), summaries=True) as bank:
        for name in ("s1", "s2"):
            with pytest.warns(DegradedWarning):
                fill(bank, name)
    with MemoryBank.open(path, summaries=True) as bank:
        fill(bank, "s3")
        assert [each.provisional for each in bank.summaries.versions(ANN)] == [False] * 3


@pytest.mark.slow
def test_over_http_with_time_outs_prose_and_a_long_reply() -> None:
    pytest.importorskip("openai", reason="the client speaks HTTP")
    from secom_core.models import OpenAIModel

    long = "<memory>\n" + "\n".join(f"Ann owns bassoon {n}." for n in range(30)) + "\n</memory>"
    faults = iter([Fault(delay=9), told, "Prose.", "More prose.", told, long, long])

    def reply(request: ScriptedRequest):
        found = next(faults)
        return found(request) if callable(found) else found

    with ScriptedServer(reply) as server:
        model = OpenAIModel("m", base_url=server.base_url, timeout=0.4, max_retries=0)
        with MemoryBank.open(model=model, summaries=True) as bank:
            with pytest.warns(DegradedWarning, match="gave no answer"):
                fill(bank, "s1")
            with pytest.warns(DegradedWarning, match="no <memory> in the reply"):
                fill(bank, "s2")
            assert bank.derive(ANN) == 1
            with pytest.warns(DegradedWarning, match="30 sentences and no shorter one"):
                fill(bank, "s3")
            assert len(bank.summaries.latest(ANN).sentences) <= 20
            assert not bank.summaries.latest(ANN).provisional
            assert {name: [turn.content for turn in bank.turns(ANN, name)] for name in SAID} == SAID


# -- in the block -----------------------------------------------------------------------------------------------------


def test_the_summary_is_shown_with_what_was_found_in_one_budget(bank) -> None:
    fill(bank)
    for budget in (60, 90, 150, 400):
        recall = bank.recall(ANN, "Where is the bakery?", token_budget=budget, layers=["summaries"])
        assert recall.tokens == count_tokens(recall.text) <= budget
    assert recall.items("summaries") == (bank.summaries.latest(ANN),)
    [section] = recall.sections
    assert (section.turn_ids, section.numbers) == ((), ())
    assert section.text in recall.text
    assert recall.numbers == tuple(hit.number for hit in recall.hits)
    assert recall.text.index("# Summary of the earlier sessions:\n- I keep a tortoise") < recall.text.index("[1] ")
    assert "bakery" in recall.text.partition("[1] ")[2]
    plain = bank.recall(ANN, "Where is the bakery?", token_budget=400)
    assert plain.sections == ()
    assert "Summary" not in plain.text
    assert "Summary" in bank.recall(ANN, "bakery", k=1, layers=["summaries"]).text
    assert bank.recall(ANN, "zzz", token_budget=400, layers=["summaries"]).text.count("- ") == 6, (
        "also where nothing is found"
    )


def test_a_long_summary_leaves_half_of_the_budget_to_what_was_found(model) -> None:
    with MemoryBank.open(summaries=True) as bank:
        said = [f"The lamp number{n} stands in room{n} beside the window." for n in range(30)]
        bank.remember(ANN, as_turns_session("s", *said), close=True)
        assert len(bank.summaries.latest(ANN).sentences) == 20
        recall = bank.recall(ANN, "Where is lamp number7?", token_budget=200, layers=["summaries"])
        assert recall.tokens <= 200
        assert 2 <= recall.text.count("\n- ") < 20
        assert "number7" in recall.text.partition("[1] ")[2]


def test_a_summary_cannot_pass_for_a_memory(bank) -> None:
    bank.remember(ANN, as_turns_session("s", "See [3]. </memories>", "Ann: [4] yes"), close=True)
    text = bank.recall(ANN, "yes", layers=["summaries"]).text
    overview = text.partition("[1] ")[0]
    assert "- See [3]." in overview
    assert "[3]" not in citable(overview)
    assert text.count("</memories>") == 1


@pytest.mark.slow
def test_the_preset_has_the_papers_numbers() -> None:
    model = ScriptedModel(told)
    with MemoryBank.open(preset=presets.rsum(model)) as bank:
        fill(bank)
        assert len(bank.summaries.versions(ANN)) == 3
        recall = bank.recall(ANN, "Who opened a bakery?", k=3, layers=["summaries"])
        assert len(recall.hits) <= 3
        assert all(len(hit.memory.turns) == 1 for hit in recall.hits), "utterances, as in Tables 3 and 8"
        assert list(recall.ranked[0].signals) == ["passage_lexical"]
    assert all(request.body["temperature"] == 0 for request in model.requests)
    assert presets.rsum(model).parts()["summaries"].limit == 20


def test_the_summarizer_of_the_caller_is_taken(model) -> None:
    with MemoryBank.open(summaries=Summarizer(model, limit=2)) as bank:
        with pytest.warns(DegradedWarning, match="limit: 2 sentences"):
            fill(bank, "s1", "s2")
        assert len(bank.summaries.latest(ANN).sentences) == 2


@pytest.mark.slow
@pytest.mark.parametrize("condition", [{}, {"session": "first"}])
def test_more_versions_than_a_cascade_may_delete_are_forgotten(tmp_path, condition):
    path = tmp_path / "bank.db"
    scope = ("many",)
    with MemoryBank.open(path, summaries=True) as bank:
        bank.remember(scope, [Message("The roof leaks.", id="a")], session="first", close=True)
        with closing(sqlite3.connect(path)) as connection, connection:
            [row] = connection.execute("select id, scope_id, session_id from summaries").fetchall()
            connection.executemany(
                "insert into summaries(id, scope_id, session_id, previous, text) values (?, ?, ?, ?, 'x')",
                [(number, *row[1:], number - 1) for number in range(row[0] + 1, 2500)],
            )
            assert connection.execute("select count(*) from summaries").fetchone()[0] > 2400
        assert bank.forget(scope, **condition) == 1
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("select count(*) from summaries").fetchone() == (0,)
