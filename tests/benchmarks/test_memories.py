"""Each memory of `benchmarks.memories` against its paper by a worked example, and the command that measures them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from benchmarks.evaluation.coverage import drift, pairs_of, precision
from benchmarks.memories import frameworks, registry
from benchmarks.memories.__main__ import main
from benchmarks.memories.bank import SCOPE, whole_units
from benchmarks.memories.comedy import Comedy
from benchmarks.memories.condition_mem import ConditionMem
from benchmarks.memories.histories import FullHistory, LastTurns, Nothing
from benchmarks.memories.ld_agent import LDAgent, decay, topical
from benchmarks.memories.memo_chat import Memo, MemoChat
from benchmarks.memories.memory import Block, Memory, Tools, filled
from benchmarks.memories.memory_bank import MemoryBankMemory, retention
from benchmarks.memories.memory_update import MemoryUpdate, updated
from benchmarks.memories.sum_mem import SumMem
from secom_core.conversation import Message, Session, Turn
from secom_core.errors import InvalidInput
from secom_core.llm.flow import Prompt, run
from secom_core.testing import ScriptedModel

MONDAY = datetime(2024, 3, 11, 9, tzinfo=timezone.utc)
ASK_NOBODY = ScriptedModel({})


def session(name: str, *lines: str, day: int = 0) -> Session:
    """Utterances such as ``"Ann: I sail."``, each a turn with the id ``name:place``."""
    at = MONDAY + timedelta(days=day)
    said = [line.partition(": ") for line in lines]
    return Session(
        name,
        tuple(
            Turn((Message(text, speaker=speaker, id=f"{name}:{place}", at=at),), name, place)
            for place, (speaker, _, text) in enumerate(said)
        ),
    )


BOAT = session("boat", "Ann: I bought the boat Petrel.", "Bob: Where is it moored?", "Ann: In Cork harbour.")
CHEESE = session("cheese", "Bob: I make goat cheese now.", "Ann: Lovely.", day=7)


class Replies:
    """A model that gives replies by the purpose of the prompt, and keeps what it was asked."""

    def __init__(self, **replies: str | Sequence[str] | Callable[[str], str]) -> None:
        self.asked: list[Prompt] = []
        self._replies = {purpose: iter(each) if isinstance(each, list) else each for purpose, each in replies.items()}

    def complete(self, prompt: Prompt) -> str:
        self.asked.append(prompt)
        reply = self._replies[prompt.purpose.replace("-", "_")]
        if callable(reply):
            return reply(prompt.text)
        return reply if isinstance(reply, str) else next(reply)  # type: ignore[call-overload]


def after(memory: Memory, model: Replies | ScriptedModel, *sessions: Session) -> Memory:
    for each in sessions:
        run(memory.add(each), model)
    return memory


def block(memory: Memory, query: str, model: Replies | ScriptedModel = ASK_NOBODY, budget: int = 200) -> Block:
    return run(memory.block(query, budget), model)


# -- histories --------------------------------------------------------------------------------------------------------


def test_the_full_history_is_all_the_last_turns_are_what_fits_and_nothing_is_nothing() -> None:
    everything = "Ann: I bought the boat Petrel.\nBob: Where is it moored?\nAnn: In Cork harbour."
    tools = Tools(counter=lambda text: len(text.split()))
    assert block(after(FullHistory(tools), ASK_NOBODY, BOAT), "boat?", budget=1).text == everything
    last = block(after(LastTurns(tools), ASK_NOBODY, BOAT), "boat?", budget=10)
    assert last == Block("Bob: Where is it moored?\nAnn: In Cork harbour.", ("boat:1", "boat:2"))
    assert block(after(LastTurns(tools), ASK_NOBODY, BOAT), "boat?", budget=3) == Block()
    assert block(after(Nothing(), ASK_NOBODY, BOAT), "boat?") == Block()


# -- SumMem -----------------------------------------------------------------------------------------------------------


def test_summem_summarises_each_session_for_the_question() -> None:
    model = Replies(summary=lambda text: f"<summary>{'The boat lies in Cork.' if 'Cork' in text else 'none'}</summary>")
    memory = after(SumMem(Tools()), model, BOAT, CHEESE)
    assert not model.asked, "nothing is made before there is a question"
    assert block(memory, "Where is the boat?", model).text == "The boat lies in Cork."
    assert len(model.asked) == 2
    assert all("Where is the boat?" in prompt.text for prompt in model.asked)


# -- ConditionMem -----------------------------------------------------------------------------------------------------


def test_conditionmem_records_turns_under_their_condition_and_shows_summary_knowledge_and_turn() -> None:
    def record(text: str) -> str:
        if "<turn>\nAnn: In Cork harbour." in text:
            assert "Bob: Where is it moored?" in text, "the condition says what the turn answers"
            return "<summary>Ann's boat is moored in Cork harbour.</summary><knowledge>Ann lives near Cork.</knowledge>"
        return "<summary>none</summary>"

    model = Replies(record=record)
    memory = ConditionMem(Tools())
    after(memory, model, BOAT)
    assert len(model.asked) == 3, "a call a turn"
    assert [(each.summary, each.knowledge, each.turn.id) for each in memory.records] == [
        ("Ann's boat is moored in Cork harbour.", "Ann lives near Cork.", "boat:2")
    ], "a turn that is not worth keeping makes no record"
    shown = "Summary: Ann's boat is moored in Cork harbour.\nKnowledge: Ann lives near Cork.\nAnn: In Cork harbour."
    assert block(memory, "Where is the boat?") == Block(shown, ("boat:2",))


# -- MemoChat ---------------------------------------------------------------------------------------------------------

MEMO = """<memo>[{"topic": "A new boat", "summary": "Ann bought a boat.", "start": 1, "end": 1},
{"topic": "Mooring", "summary": "The boat lies in Cork.", "start": 2, "end": 3},
{"topic": "Invented", "summary": "Lines that are not there.", "start": 3, "end": 9}]</memo>"""


def test_memochat_keeps_topic_summary_and_lines_and_has_the_model_choose() -> None:
    model = Replies(memo=MEMO, memo_retrieval=["2#3", "3", "nothing"])
    memory = MemoChat(Tools())
    after(memory, model, BOAT)
    assert "(line 3) Ann: In Cork harbour." in model.asked[0].text
    lines = ("Bob: Where is it moored?", "Ann: In Cork harbour.")
    assert memory.memos == [
        Memo("A new boat", "Ann bought a boat.", ("Ann: I bought the boat Petrel.",), ("boat:0",)),
        Memo("Mooring", "The boat lies in Cork.", lines, ("boat:1", "boat:2")),
    ]
    shown = "Topic: Mooring\nSummary: The boat lies in Cork.\nBob: Where is it moored?\nAnn: In Cork harbour."
    assert block(memory, "Where?", model) == Block(shown, ("boat:1", "boat:2"))
    assert "(2) Mooring. The boat lies in Cork.\n(3) None of the others." in model.asked[1].text
    assert block(memory, "Who?", model) == Block(), "the option that none of the others helps"
    assert block(memory, "Why?", model) == Block(), "a reply without a number"


# -- COMEDY -----------------------------------------------------------------------------------------------------------


def test_comedy_compresses_all_notes_into_one_memory() -> None:
    first = "<events>Ann bought a boat.</events><portrait>Ann sails.</portrait><relation>none</relation>"
    second = (
        "<events>Ann bought a boat. Bob makes cheese.</events>"
        "<portrait>Ann sails.</portrait><relation>They are friends.</relation>"
    )
    notes = ["<notes>Ann bought a boat.</notes>", "<notes>Bob makes cheese.</notes>"]
    model = Replies(notes=notes, compression=[first, second])
    memory = Comedy(Tools())
    after(memory, model, BOAT)
    assert block(memory, "anything").text == "Events:\nAnn bought a boat.\n\nPortrait:\nAnn sails."
    after(memory, model, CHEESE)
    assert memory.notes == ["Ann bought a boat.", "Bob makes cheese."]
    assert "Session 1:\nAnn bought a boat.\n\nSession 2:\nBob makes cheese." in model.asked[-1].text
    assert memory.memory == {
        "events": "Ann bought a boat. Bob makes cheese.",
        "portrait": "Ann sails.",
        "relation": "They are friends.",
    }, "one memory, made anew from all notes"
    assert block(memory, "one question") == block(memory, "another"), "nothing is retrieved"


# -- MemoryBank -------------------------------------------------------------------------------------------------------


def test_the_forgetting_curve_is_that_of_the_paper() -> None:
    assert retention(0, 1) == 1.0
    assert retention(1, 1) == pytest.approx(1 / math.e)
    assert retention(1, 2) == pytest.approx(0.60653, abs=1e-5)
    assert retention(2, 1) == pytest.approx(0.13534, abs=1e-5)
    assert retention(6, 3) == retention(2, 1), "what is recalled twice lasts three times as long"


def test_the_share_that_is_left_is_the_curves_however_often_it_is_looked_at() -> None:
    memory = MemoryBankMemory(Tools(), summarised=False, seed=1)
    after(memory, ASK_NOBODY, session("many", *(f"Ann: word{n}" for n in range(2000))))
    for days in (0.5, 1, 2):
        kept = [len(memory.kept(MONDAY + timedelta(days=days))) / 2000 for _ in range(3)]
        assert kept[0] == pytest.approx(retention(days, 1), abs=0.03)
        assert len(set(kept)) == 1


def test_memorybank_recalling_strengthens_and_begins_anew() -> None:
    memory = MemoryBankMemory(Tools(), summarised=False)
    after(memory, ASK_NOBODY, BOAT)
    assert [(item.strength, item.since) for item in memory.items] == [(1, MONDAY)] * 3
    for item in memory.items:
        item.draw = 0.0001  # kept for nine days
    after(memory, ASK_NOBODY, CHEESE)
    later = MONDAY + timedelta(days=7)
    assert {item.since for item in memory.items} == {later}, "three items are fewer than are recalled"
    assert memory.items[0].strength == 1 + len(CHEESE.turns), "each turn of the chat recalls"
    assert memory.items[-1].strength == 1


def test_memorybank_shows_what_is_kept_and_its_summaries() -> None:
    model = Replies(
        day=lambda text: "<summary>Ann has a boat.</summary>" if "Summarise" in text else "<portrait>Bold.</portrait>",
        joined=lambda text: f"<memory>{'All: a boat.' if 'overview' in text else 'Ann is bold.'}</memory>",
    )
    memory = after(MemoryBankMemory(Tools(), summarised=True, forgetting=False), model, BOAT)
    found = block(memory, "boat").text
    assert found.startswith("All: a boat.\n\nAnn is bold.\n\n")
    assert "2024-03-11: Ann has a boat." in found
    assert "Ann: I bought the boat Petrel." in found
    assert len(model.asked) == 4
    forgetful = MemoryBankMemory(Tools(), summarised=False)
    after(forgetful, ASK_NOBODY, BOAT)
    a_year_on = run(forgetful.block("boat", 200, MONDAY + timedelta(days=365)), ASK_NOBODY)
    assert a_year_on == Block()


# -- LD-Agent ---------------------------------------------------------------------------------------------------------


def test_ld_agent_scores_by_topics_and_age() -> None:
    assert topical({"boat", "cork"}, {"boat", "cork", "bob", "moor"}) == pytest.approx(0.5 * 2 / 2 + 0.5 * 2 / 4)
    assert topical({"boat"}, {"cheese"}) == 0
    assert decay(1e7) == pytest.approx(1 / math.e)
    memory = LDAgent(Tools(), events=False)
    after(memory, ASK_NOBODY, session("old", "Ann: The boat."), session("new", "Ann: The boat.", day=100))
    old, new = memory.scores("boat")
    assert old / new == pytest.approx(decay(100 * 86400)), "of two that say the same, the later one"


def test_ld_agent_writes_events_and_traits() -> None:
    model = Replies(
        event="<event>Ann told of her boat in Cork.</event>",
        trait=lambda text: f"<trait>{'owns a boat' if 'bought' in text else 'none'}</trait>",
    )
    memory = LDAgent(Tools(), events=True)
    after(memory, model, BOAT)
    assert memory.traits == {"Ann": ["owns a boat"]}
    assert block(memory, "boat").text == "Ann: owns a boat\n\nAnn told of her boat in Cork."
    assert len(model.asked) == 1 + 3, "one event, and a trait of each message"


# -- memory update ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("relation", "left"),
    [
        ("PASS", ["old"]),
        ("REPLACE", ["new"]),
        ("CHANGE", ["new"]),
        ("APPEND", ["old", "new"]),
        ("DELETE", []),
    ],
)
def test_the_operations_of_bae_et_al(relation: str, left: list[str]) -> None:
    assert updated(["old"], ["new"], {("old", "new"): relation}) == left


def test_a_sentence_is_kept_if_no_pair_drops_it() -> None:
    relations = {("sick", "well"): "DELETE", ("sails", "well"): "APPEND", ("sails", "races"): "REPLACE"}
    assert updated(["sick", "sails"], ["well", "races"], relations) == ["races"]


def test_memory_update_asks_for_each_pair_and_keeps_what_is_left() -> None:
    def relation(text: str) -> str:
        if "sore throat" in text and "recovered" in text:
            return "The throat is well again, so there is no need to APPEND.\nDELETE"
        return "Both hold.\nAPPEND" if "boat" in text else "I cannot tell."

    sentences = [
        "<sentences>\n- Ann has a boat.\n- Ann has a sore throat.\n</sentences>",
        "<sentences>Ann has recovered.\nBob makes cheese.</sentences>",
    ]
    model = Replies(sentences=sentences, relation=relation)
    memory = MemoryUpdate(Tools())
    after(memory, model, BOAT)
    assert memory.sentences == ["Ann has a boat.", "Ann has a sore throat."]
    after(memory, model, CHEESE)
    assert memory.sentences == ["Ann has a boat.", "Bob makes cheese."]
    assert len(model.asked) == 2 + 2 * 2
    assert block(memory, "cheese").text.startswith("Bob makes cheese.")
    sentences = ["<sentences>Ann has a boat.</sentences>", "<sentences>Ann sold it.</sentences>"]
    kept = MemoryUpdate(Tools(), updating=False)
    after(kept, Replies(sentences=sentences), BOAT, CHEESE)
    assert kept.sentences == ["Ann has a boat.", "Ann sold it."]


# -- whole units ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("granularity", "units"), [("turn", 5), ("session", 2)])
def test_units_are_shown_whole_or_not_at_all(granularity: str, units: int) -> None:
    memory = whole_units(granularity, Tools())
    after(memory, ASK_NOBODY, BOAT, CHEESE)
    assert memory.bank.stats(SCOPE).memories == units
    found = block(memory, "Where is the boat moored?", budget=60)
    if granularity == "session":
        assert set(found.turns) == {"boat:0", "boat:1", "boat:2"}, "the session that answers, all of it"
    assert block(memory, "Where is the boat moored?", budget=20).turns == (), "no part of one that is too long"
    everything = block(memory, "Where is the boat moored?", budget=500)
    assert everything.text.index("Petrel") < everything.text.index("Cork"), "in order of time"


def test_units_are_ranked_by_their_own_text_alone() -> None:
    memory = whole_units("turn", Tools())
    after(memory, ASK_NOBODY, session("rules", "Ann: Always answer me in French."), BOAT)
    found = block(memory, "Where is the boat moored?", budget=500)
    assert found.turns[0] == "boat:1"
    assert found.turns[-1] == "rules:0", "what shares no word comes last; the bank's rules put instructions before it"


def test_what_does_not_fit_is_passed_over() -> None:
    from benchmarks.memories.memory import Entry

    entries = [Entry("one two three four", turns=("a",)), Entry("five", turns=("b",)), Entry("six", turns=("c",))]
    assert filled(entries, 2, lambda text: len(text.split())) == Block("five\n\nsix", ("b", "c"))


# -- measures ---------------------------------------------------------------------------------------------------------


def test_precision_is_the_evidences_share_of_the_words() -> None:
    assert precision("In Cork harbour. And so on for ever.", ["In Cork harbour."]) == pytest.approx(3 / 8)
    assert precision("In Cork harbour. In Cork harbour.", ["In Cork harbour."]) == pytest.approx(3 / 6)
    assert precision("", ["In Cork harbour."]) == 0.0


def test_drift_is_the_share_of_pairs_that_nobody_said() -> None:
    said = frozenset(pairs_of("Ann: I bought the boat Petrel."))
    assert drift("I bought the boat", said) == 0.0
    assert drift("I sold the boat", said) == pytest.approx(2 / 3)
    assert drift("", said) == 0.0


# -- Theanine without one of its parts -------------------------------------------------------------------------------

# Each session is on one subject; the second tells what the first led to.
CANOE = session("canoe", "Ann: I bought a canoe in Ghent.")
LEAK = session("leak", "Ann: The canoe from Ghent leaks badly.", day=7)
RICE = session("rice", "Ann: Rice with saffron for dinner.", day=8)
DAYS = {"canoe": "(2024-03-11)", "leak": "(2024-03-18)", "rice": "(2024-03-19)"}


def ablated(name: str, *sessions: Session) -> Memory:
    return after(registry.make(name, registry.Means()), ASK_NOBODY, *sessions)


def test_a_timeline_brings_what_an_event_led_from_and_alone_it_does_not() -> None:
    linked = ablated("theanine-timelines", CANOE, LEAK, RICE)
    assert block(linked, "What leaks badly?").turns[:2] == ("canoe:0", "leak:0"), "oldest first, as one timeline"
    alone = ablated("theanine-without-links", CANOE, LEAK, RICE)
    assert block(alone, "What leaks badly?").turns[:1] == ("leak:0",)
    assert len(linked.bank.timelines.links(SCOPE)) == 1  # type: ignore[attr-defined]
    assert alone.bank.timelines.links(SCOPE) == []  # type: ignore[attr-defined]


def test_without_relations_whatever_is_most_alike_is_linked() -> None:
    memory = ablated("theanine-without-relations", CANOE, LEAK, RICE)
    assert len(memory.bank.timelines.links(SCOPE)) == 2, "rice too, which is about something else"  # type: ignore[attr-defined]


def test_shuffled_the_same_events_come_one_by_one() -> None:
    whole = block(ablated("theanine-unrefined", CANOE, LEAK, RICE), "Which canoe leaks?")
    shuffled = block(ablated("theanine-shuffled", CANOE, LEAK, RICE), "Which canoe leaks?")
    assert sorted(shuffled.turns) == sorted(whole.turns)
    assert shuffled.text.count("\n\n") == len(shuffled.turns) - 1


def test_relations_are_not_asked_for_where_they_are_left_out() -> None:
    def model(kind: str) -> tuple[Replies, Memory]:
        def events(text: str) -> str:
            said = "The canoe from Ghent leaks." if "leak" in text else "Ann bought a canoe in Ghent."
            return f'<events>{{"event": "{said}", "exchanges": [0]}}</events>'

        asked = Replies(events=events, relation="[[Cause]]", refine="x")
        memory = registry.make(kind, registry.Means(model=asked))
        return asked, after(memory, asked, CANOE, LEAK)

    with_relations, _ = model("theanine-unrefined")
    without, _ = model("theanine-without-relations")
    assert {prompt.purpose for prompt in with_relations.asked} >= {"relation"}
    assert {prompt.purpose for prompt in without.asked} == {"events"}


# -- the command ------------------------------------------------------------------------------------------------------

LOCOMO = {
    "session_1": [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "I bought the boat Petrel."},
        {"speaker": "Bob", "dia_id": "D1:2", "text": "Where is it moored?"},
        {"speaker": "Ann", "dia_id": "D1:3", "text": "In Cork harbour."},
    ],
    "session_1_date_time": "1:00 pm on 1 May, 2023",
    "session_2": [{"speaker": "Bob", "dia_id": "D2:1", "text": "I make goat cheese now."}],
    "session_2_date_time": "1:00 pm on 9 May, 2023",
    "qa": [
        {"question": "Where is the boat?", "answer": "Cork harbour", "evidence": ["D1:3"], "category": 4},
        {"question": "What does Bob make?", "answer": "goat cheese", "evidence": ["D2:1"], "category": 4},
    ],
}

MEETING = {
    "meeting_transcripts": [
        {"speaker": "Chair", "content": "Welcome."},
        {"speaker": "Chair", "content": " "},
        {"speaker": "Finance", "content": "The budget is 40,000."},
    ],
    "general_query_list": [{"query": "Summarise the meeting.", "answer": "A budget."}],
    "specific_query_list": [
        {"query": "What is the budget?", "answer": "40,000", "relevant_text_span": [["1", "2"]]},
        {"query": "Who is absent?", "answer": "nobody", "relevant_text_span": []},
    ],
}


def written(folder: Path, name: str, content: object) -> Path:
    file = folder / f"{name}.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_every_memory_that_needs_nothing_is_measured_in_one_run(tmp_path, capsys) -> None:
    written(tmp_path, "talk", LOCOMO)
    written(tmp_path, "meeting", MEETING)
    out = tmp_path / "out" / "found.json"
    out.parent.mkdir()
    main(["--data", str(tmp_path / "talk.json"), "--data", str(tmp_path / "meeting.json"), "--budgets", "20", "200",
          "--quiet", "--json", str(out)])  # fmt: skip
    found = json.loads(out.read_text(encoding="utf-8"))
    talk = found["results"]["talk"]
    nothing_needed = {name for name, kind in registry.MEMORIES.items() if not kind.needs and not kind.ablation}
    assert set(talk) | set(found["left_out"]) == nothing_needed
    assert set(talk) == set(found["results"]["meeting"])
    for name, row in talk.items():
        for budget in ("20", "200"):
            assert registry.MEMORIES[name].unbounded or row["tokens"][budget] <= int(budget), name
    assert talk["full"]["coverage"]["20"] == 1.0
    assert talk["full"]["recall"]["200"] == 1.0
    assert talk["ours"]["coverage"]["200"] == 1.0
    assert talk["none"]["coverage"]["200"] == talk["none"]["precision"]["200"] == 0.0
    assert talk["session"]["recall"]["20"] < talk["session"]["recall"]["200"] == 1.0
    assert "coverage; recall of turns" in capsys.readouterr().out


def test_a_memory_that_needs_a_model_is_refused_without_one(tmp_path) -> None:
    written(tmp_path, "talk", LOCOMO)
    with pytest.raises(SystemExit, match="'comedy' asks a language model: give --model NAME and --base-url URL"):
        main(["--data", str(tmp_path), "--memory", "comedy", "--quiet"])
    with pytest.raises(InvalidInput, match="searches by vectors: give --embedder"):
        registry.make("langmem", registry.Means())
    with pytest.raises(InvalidInput, match="no memory is called 'nobody'; there are ours, turn"):
        registry.make("nobody", registry.Means())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["langchain-buffer", "langchain-window", "langchain-vectors"])
def test_memories_of_langchain_are_asked_for_the_conversation(name) -> None:
    pytest.importorskip("langchain_classic")
    assert "Petrel" in _framework(name).text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llamaindex-memory", "llamaindex-vectors"])
def test_memories_of_llamaindex_are_asked_for_the_conversation(name) -> None:
    pytest.importorskip("llama_index.core")
    assert "Petrel" in _framework(name).text


@pytest.mark.slow
def test_langmem_is_asked_for_the_conversation() -> None:
    pytest.importorskip("langmem")
    assert "Ann: I bought the boat Petrel." in _framework("langmem").text


@pytest.mark.slow
def test_langchains_summary_asks_the_model() -> None:
    pytest.importorskip("langchain_classic")
    model = ScriptedModel({"": "Ann has the boat Petrel."})
    memory = frameworks.langchain_summary(model)
    after(memory, model, BOAT)
    assert block(memory, "boat?").text == "Ann has the boat Petrel."
    assert len(model.requests) == len(BOAT.turns)


def _framework(name: str) -> Block:
    from secom_core.testing import ScriptedEmbedder

    means = registry.Means(Tools(embedder=ScriptedEmbedder()))
    memory = registry.make(name, means)
    after(memory, ASK_NOBODY, BOAT)
    return block(memory, "Where is the boat?")
