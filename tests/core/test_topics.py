"""Topics in a bank: made when a session closes, merged, found, taken back, forgotten; whatever others do."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
import threading
import warnings
from collections import Counter
from contextlib import closing
from datetime import datetime, timedelta, timezone
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from histories import remember_all
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from theanine_talk import DATA, sessions
from topic_talk import answer, check, shape, stage

from secom_core.bank import MemoryBank
from secom_core.citations import RerankerOptions
from secom_core.context import render
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, InvalidInput, ModelUnavailable
from secom_core.llm.flow import Cost, Prompt
from secom_core.memory import Hit, Memory, segments_of
from secom_core.testing import ScriptedEmbedder, ScriptedModel
from secom_core.text.terms import count_tokens
from secom_core.topics import SimilarityRule, TopicOptions

MARA = ("acme", "mara")
CLUB = ("club",)
NEW_YEAR = datetime(2025, 1, 1, 12, tzinfo=timezone.utc)
ALONE = TopicOptions(recall_without_model=True)


@pytest.fixture(scope="module")
def talk():
    return sessions()


def said(speaker: str, text: str, day: int, minute: int = 0) -> Message:
    at = NEW_YEAR + timedelta(days=day, minutes=minute)
    return Message(text, "", speaker, id=f"{day}-{minute}-{speaker}", at=at)


def keep(bank: MemoryBank, day: int, *lines: tuple[str, str], close: bool = True) -> None:
    messages = [said(speaker, text, day, minute) for minute, (speaker, text) in enumerate(lines)]
    bank.remember(CLUB, messages, session=f"day {day}", close=close)


ROOF = [
    (("Ida", "The boathouse roof leaks above the oars."), ("Tom", "My brother Jonas builds violins in Lund.")),
    (("Tom", "My brother Jonas sold two violins."), ("Ida", "A roofer looked at the boathouse roof today.")),
    (("Ida", "The boathouse roof is dry, with sheets of zinc."),),
]


def club(path: Path | str = ":memory:", model: object = None, **parts: object) -> MemoryBank:
    return MemoryBank.open(path, model=model or ScriptedModel(answer), topics=True, **parts)


# -- no language model ------------------------------------------------------------------------------------------------


@pytest.mark.sqlite_only("the grouping is the same on both")
@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
def test_without_a_model_segments_are_grouped_across_sessions(talk, tmp_path):
    path = tmp_path / "bank.db"
    with MemoryBank.open(path, topics=True) as bank:
        remember_all(bank, MARA, talk)
        check(bank, MARA, path)
        topics = bank.topics.all(MARA)
        held = Counter(turn_id for topic in topics for turn_id in topic.turn_ids)
        assert held == Counter(turn.id for each in talk for turn in each.turns), "every turn is in one topic"
        assert {topic.speaker for topic in topics} == {"user"}
        assert bank.topics.all(MARA, speaker="user") == topics
        assert bank.topics.all(MARA, speaker="assistant") == []
        spread = [topic for topic in topics if len(topic.sessions) > 1]
        assert len(spread) >= 4
        # Each is of one matter, as the conversation's own labels have it.
        rows = map(json.loads, (DATA / "mara.jsonl").read_text("utf-8").splitlines())
        matter = {row["id"]: row["topic"] for row in rows}
        for topic in spread:
            [(_, most)] = Counter(matter[each] for each in topic.turn_ids).most_common(1)
            assert 4 * most >= 3 * len(topic.turn_ids)
        assert len(topics) < sum(len(segments_of(bank.memories(MARA, each.name))) for each in talk)
        words = {turn.id: " ".join(turn.text.split()) for each in talk for turn in each.turns}
        for topic in topics:
            for version in topic.versions:
                line = version.note.removeprefix("user: ").split(" […] ")[0]
                assert any(line in words[turn_id] for turn_id in version.turn_ids)
                assert version.note in version.text.splitlines() or version.number > 6
        assert bank.layers.cost == Cost()


@pytest.mark.parametrize("model", [None, ScriptedModel("There is nothing to note.")])
def test_what_shares_only_the_name_of_its_speaker_is_no_topic_of_its_own_and_nothing_is_shown_twice(model):
    lines = "I moved to Ghent last week with my dog Bruno.", "What is a good bread recipe?"
    with MemoryBank.open(model=model, topics=ALONE) as bank:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            for day, line in enumerate(lines):
                keep(bank, day, ("user", line), ("Ida", "How nice."))
        assert bool(told) == bool(model)
        assert [topic.summary for topic in bank.topics.all(CLUB, speaker="user")] == [f"user: {line}" for line in lines]
        for line in lines:
            assert bank.recall(CLUB, line, k=5).text.count(line) == 1
        # A line of a turn that is not shown says what it is about.
        turns = bank.turns(CLUB, "day 0")
        hit = Hit(Memory("", "", tuple(turns), summary=f"user: {lines[0]}\nuser: {lines[1]}"), tuple(turns), 1.0, 1)
        assert render([hit]).count(lines[0]) == render([hit]).count(lines[1]) == 1


@pytest.mark.slow
def test_the_rule_says_what_is_merged(talk):
    def topics(**rule: float) -> int:
        with MemoryBank.open(topics=TopicOptions(rule=SimilarityRule(**rule))) as bank:
            remember_all(bank, MARA, talk[:4])
            check(bank, MARA)
            return len(bank.topics.all(MARA))

    assert topics(least=0.05) < topics(least=0.15) < topics(least=1.1)
    assert topics(least=0.0, most_turns=1) == topics(least=1.1)


@pytest.mark.slow
def test_vectors_decide_where_there_are_vectors_and_their_failure_is_survived(talk):
    class Shaky(ScriptedEmbedder):
        down = False

        def embed(self, texts):
            if self.down:
                raise ModelUnavailable("the embedder is away")
            return super().embed(texts)

    embedder = Shaky(256)
    with MemoryBank.open(topics=ALONE, embedder=embedder) as bank:
        remember_all(bank, MARA, talk[:3])
        hits = bank.recall(MARA, "worktop", k=3, layers=["topics"]).hits
        assert {name for hit in hits for name in hit.signals} == {"topic_dense", "topic_lexical"}
        embedder.down = True
        with pytest.warns(DegradedWarning, match="the embedder is away"):
            bank.remember(MARA, talk[3], close=True)
        with pytest.warns(DegradedWarning, match="by words"):
            hits = bank.recall(MARA, "worktop", k=3, layers=["topics"]).hits
        assert {name for hit in hits for name in hit.signals} == {"topic_lexical"}
        embedder.down = False
        hits = bank.recall(MARA, "worktop", k=3, layers=["topics"]).hits
        assert {name for hit in hits for name in hit.signals} == {"topic_dense", "topic_lexical"}
        check(bank, MARA)
        assert {session for topic in bank.topics.all(MARA) for session in topic.sessions} == {t.name for t in talk[:4]}


# -- with one ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("each_store")
def test_topics_of_each_speaker_grow_by_merges_that_keep_both_origins():
    model = ScriptedModel(answer)
    with club(model=model) as bank:
        for day, lines in enumerate(ROOF):
            keep(bank, day, *lines)
        check(bank, CLUB)
        [roof], [violins] = bank.topics.all(CLUB, speaker="Ida"), bank.topics.all(CLUB, speaker="Tom")
        assert roof.turn_ids == ("0-0-Ida", "1-1-Ida", "2-0-Ida")
        assert roof.sessions == ("day 0", "day 1", "day 2")
        assert [version.turn_ids for version in roof.versions] == [("0-0-Ida",), ("1-1-Ida",), ("2-0-Ida",)]
        assert roof.versions[0].text == "Ida: The boathouse roof leaks above the oars."
        assert roof.version.previous is roof.versions[1]
        assert "leaks" in roof.summary
        assert "zinc" in roof.summary
        assert violins.turn_ids == ("0-1-Tom", "1-0-Tom")
        asked = Counter(stage(request) for request in model.requests)
        assert asked == {"topics": 5, "update": 3}, "once for each speaker of a session; nothing to merge at first"
        assert bank.layers.cost.calls == 8


def test_no_trait_makes_no_topic_and_no_turn_is_lost():
    with club(model=ScriptedModel({"Collect what": "NO_TRAIT"})) as bank:
        keep(bank, 0, *ROOF[0])
        assert bank.topics.all(CLUB) == []
        assert bank.derive(CLUB) == 0, "it is not asked again"
        assert "oars" in bank.recall(CLUB, "oars", layers=["topics"]).text


@pytest.mark.usefixtures("each_store")
def test_one_note_may_go_into_several_topics():
    notes = [
        '[{"summary": "Ida rows", "reference": [0]}, {"summary": "Tom swims", "reference": [1]}]',
        '[{"summary": "Ida rows and Tom swims in the relay", "reference": [0]}]',
    ]
    both = "Merge(0, Tom swims in the relay)\nMerge(1, Ida rows in the relay)"
    model = ScriptedModel({"Collect what": notes, "Merge(number, text)": [both]})
    with club(model=model) as bank:
        keep(bank, 0, ("Ida", "I row."), ("Ida", "Tom swims."))
        keep(bank, 1, ("Ida", "I row and Tom swims in the relay."))
        check(bank, CLUB)
        first, second = bank.topics.all(CLUB)
        assert {first.summary, second.summary} == {"Ida rows in the relay", "Tom swims in the relay"}
        assert first.turn_ids == ("0-0-Ida", "1-0-Ida")
        assert second.turn_ids == ("0-1-Ida", "1-0-Ida")


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
def test_notes_of_one_session_go_into_each_other():
    two = '[{"summary": "Ida rows fast", "reference": [0]}, {"summary": "Ida rows often", "reference": [1]}]'
    model = ScriptedModel({"Collect what": two, "Merge(number, text)": "Merge(0, Ida rows fast and often)"})
    with club(model=model) as bank:
        keep(bank, 0, ("Ida", "I row fast."), ("Ida", "I row often."))
        [topic] = bank.topics.all(CLUB)
        assert topic.summary == "Ida rows fast and often"
        assert topic.turn_ids == ("0-0-Ida", "0-1-Ida")
        assert topic.sessions == ("day 0",)
        check(bank, CLUB)


@pytest.mark.usefixtures("each_store")
def test_a_merge_that_tells_only_the_new_note_takes_nothing_from_the_old_one():
    # What a model of 1.5 billion parameters sent: the two have nothing in common but whom they are about.
    moved, flour = "user moved from Lyon to Ghent for a job at the port.", "user needs bread flour for a baguette."
    notes = [json.dumps([{"summary": moved, "reference": [0]}, {"summary": flour, "reference": [1]}])]
    model = ScriptedModel({"Collect what": notes, "Merge(number, text)": f"Merge(0, {flour})"})
    with club(model=model) as bank:
        with pytest.warns(DegradedWarning, match="does not tell what the note and the new"):
            keep(bank, 0, ("user", "I moved from Lyon to Ghent for a job at the port."), ("user", "Which bread flour?"))
        assert {topic.summary for topic in bank.topics.all(CLUB)} == {moved, flour}


def test_with_a_model_the_summary_alone_is_compared_by_its_vector():
    with club(embedder=ScriptedEmbedder()) as bank:
        for day, lines in enumerate(ROOF):
            keep(bank, day, *lines)
        hits = bank.recall(CLUB, "boathouse roof", k=2, layers=["topics"]).ranked
        roof = bank.topics.all(CLUB, speaker="Ida")[0]
        vector, query = ScriptedEmbedder().embed([roof.summary, "boathouse roof"])
        assert hits[0].memory.summary == roof.summary
        assert hits[0].signals == {"topic_dense": pytest.approx(float(vector @ query), abs=1e-6)}
        kept = bank.topics._key_vectors(CLUB, [hit.memory for hit in hits])
        assert kept is not None
        assert kept[0] == pytest.approx(vector, abs=1e-6)


def test_assistants_are_asked_about_only_where_wanted(talk):
    def about(**options: object) -> set[str]:
        model = ScriptedModel("NO_TRAIT")
        with MemoryBank.open(model=model, topics=TopicOptions(**options)) as bank:
            bank.remember(MARA, talk[0], close=True)
        return {re.search("shows about (.*?):", request.text)[1] for request in model.requests}

    assert about() == {"user"}
    assert about(assistants=True) == {"user", "assistant"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "reply", "said"),
    [
        ("topics", "prose", "found no topics of user"),
        ("topics", '[{"summary": "x", "reference": [99]}]', "no exchange 99"),
        ("update", "prose", "did not say where"),
        ("update", "Merge(77, x)", "no note 77"),
    ],
)
def test_a_lying_model_degrades_to_the_local_path_and_is_named(talk, broken, reply, said):
    model = ScriptedModel(lambda request: reply if stage(request) == broken else answer(request))
    with MemoryBank.open(model=model, topics=True) as bank:
        with pytest.warns(DegradedWarning, match=said):
            remember_all(bank, MARA, talk[:3])
        check(bank, MARA)
        assert {session for topic in bank.topics.all(MARA) for session in topic.sessions} == {"s1", "s2", "s3"}
        assert bank.derive(MARA) == 0
        if broken == "topics":
            held = {turn_id for topic in bank.topics.all(MARA) for turn_id in topic.turn_ids}
            assert held == {turn.id for each in talk[:3] for turn in each.turns}, "its segments take over whole"


@pytest.mark.slow
def test_a_model_that_is_away_is_not_asked_where_its_notes_belong(talk):
    class Away:
        asked = 0

        def complete(self, prompt: Prompt) -> str:
            self.asked += 1
            raise ModelUnavailable("gone fishing")

    away = Away()
    with MemoryBank.open(model=away, topics=True) as bank:
        with pytest.warns(DegradedWarning, match="gone fishing"):
            remember_all(bank, MARA, talk[:3])
        assert away.asked == 3
        check(bank, MARA)


# -- recall -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("each_store")
def test_the_summary_is_the_key_and_the_turns_are_the_value():
    with club() as bank:
        for day, lines in enumerate(ROOF):
            keep(bank, day, *lines)
        keep(bank, 9, ("Ida", "Tomorrow I buy a kayak."), close=False)
        recall = bank.recall(CLUB, "How is the boathouse roof?", k=1, layers=["topics"])
        [hit] = recall.hits
        assert hit.turn_ids == ("0-0-Ida", "1-1-Ida", "2-0-Ida")
        assert set(hit.signals) == {"topic_lexical"}
        assert hit.memory.key == hit.memory.summary == bank.topics.all(CLUB, speaker="Ida")[0].summary
        assert recall.text.splitlines()[2:] == [
            "2025-01-01 Wed",
            f"[1] {hit.memory.summary}",
            "Ida: The boathouse roof leaks above the oars.",
            "2025-01-02 Thu",
            "Ida: A roofer looked at the boathouse roof today.",
            "2025-01-03 Fri",
            "Ida: The boathouse roof is dry, with sheets of zinc.",
            "</memories>",
        ]
        assert "kayak" in bank.recall(CLUB, "kayak", layers=["topics"]).text, "turns of an open session are found"
        both = bank.recall(CLUB, "boathouse roof kayak", layers=["topics"], only_relevant=True)
        assert len(both.hits) == 2
        found = partial(bank.recall, CLUB, layers=["topics"], only_relevant=True)
        left = found("boathouse roof", exclude={"0-0-Ida", "2-0-Ida"})
        assert [hit.turn_ids for hit in left.hits] == [("1-1-Ida",)]
        assert not found("boathouse", exclude={"0-0-Ida", "1-1-Ida", "2-0-Ida"}).hits


@pytest.mark.parametrize("embedder", [None, ScriptedEmbedder()])
def test_what_does_not_answer_is_left_out_where_only_what_answers_is_wanted(embedder):
    with club(embedder=embedder) as bank:
        for day, lines in enumerate(ROOF):
            keep(bank, day, *lines)
        keep(bank, 3, ("Ida", "Thanks, good idea! A chess club meets there."))
        found = partial(bank.recall, CLUB, layers=["topics"], token_budget=500)
        assert len(found("Thanks!").hits) == len(found("Where is the boathouse roof?").hits) == 3
        assert found("Thanks!", only_relevant=True).text == ""
        [hit] = found("Where is the boathouse roof?", only_relevant=True).hits
        assert hit.turn_ids == ("0-0-Ida", "1-1-Ida", "2-0-Ida")


@pytest.mark.parametrize("merging", [True, False])
@pytest.mark.parametrize("room", [{"k": 5}, {"token_budget": 400}])
@pytest.mark.parametrize("history", [True, False])
def test_what_holds_now_comes_with_its_topic_and_not_once_more_alone(history, room, merging):
    model = ScriptedModel(lambda request: answer(request, shared=1 if merging else 99))
    with club(model=model, changes=True) as bank:
        keep(bank, 0, ("Ida", "I live in Ghent, in a flat near the station."))
        keep(bank, 1, ("Ida", "My flat in Ghent has a leaking roof."))
        keep(bank, 2, ("Ida", "I moved: I now live in Bruges, no longer in Ghent."))
        recall = bank.recall(CLUB, "Does Ida live in Ghent?", layers=["topics"], history=history, **room)
        assert len(recall.hits) == (1 if merging else 3 if history else 2)
        shown = [turn_id for hit in recall.hits for turn_id in hit.turn_ids]
        assert sorted(shown) == (["0-0-Ida"] if history else []) + ["1-0-Ida", "2-0-Ida"]
        assert all(hit.memory.summary for hit in recall.hits), "a topic each"
        assert ("replaced on 2025-01-03" in recall.text) == history


@pytest.mark.usefixtures("each_store")
def test_where_no_word_is_shared_the_latest_topics_are_shown(tmp_path):
    path = tmp_path / "bank.db"
    with club(path) as bank:
        for day, lines in enumerate(ROOF):
            keep(bank, day, *lines)
        keep(bank, 9, ("Ida", "Tomorrow I buy a kayak."), close=False)
        nothing = "Where do I live?"
        assert not bank.recall(CLUB, nothing, layers=["topics"], only_relevant=True).hits
        recall = bank.recall(CLUB, nothing, layers=["topics"])
        assert {hit.kind for hit in recall.hits} == {"recent"}
        assert {turn.id for turn in recall.turns} == {"0-0-Ida", "0-1-Tom", "1-0-Tom", "1-1-Ida", "2-0-Ida", "9-0-Ida"}
        [latest] = bank.recall(CLUB, nothing, layers=["topics"], k=1).hits
        assert latest.turn_ids == ("9-0-Ida",)
        kinds = [(hit.kind, hit.turn_ids) for hit in bank.recall(CLUB, "boathouse roof", k=2, layers=["topics"]).hits]
        assert kinds == [("relevant", ("0-0-Ida", "1-1-Ida", "2-0-Ida")), ("recent", ("9-0-Ida",))]
    with club(path) as bank:
        assert bank.recall(CLUB, nothing, layers=["topics"]).text == recall.text, "the same after a restart"


@pytest.mark.parametrize("budget", [100, 300, 1000])
def test_of_a_topic_whose_reply_is_longer_than_the_budget_its_best_passages_are_shown(budget):
    noted = '{"extracted_memories": [{"summary": "The user keeps 14 beehives in Tartu.", "reference": [0]}]}'
    reply = " ".join(f"Step {number}: look at frame {number} in the morning." for number in range(300))
    said = [("user", "I keep 14 beehives in Tartu."), ("assistant", f"{reply} In Tartu beehives freeze in March.")]
    model = ScriptedModel({"Thank you.": '{"extracted_memories": []}', "extracted_memories": noted, "": "Add()"})
    with MemoryBank.open(topics=True, model=model) as bank:
        bank.remember(("ann",), said, session="a", close=True)
        bank.remember(("ann",), [("user", "Thank you."), ("assistant", "Gladly.")], session="b", close=True)
        recall = bank.recall(("ann",), "Where are my beehives?", token_budget=budget, layers=["topics"])
    assert "[1] The user keeps 14 beehives in Tartu.\nuser: I keep 14 beehives in Tartu.\n" in recall.text
    assert "In Tartu beehives freeze in March." in recall.text
    assert recall.tokens == count_tokens(recall.text) <= budget
    assert all(each.turn.id in recall.hits[0].turn_ids for each in recall.hits[0].excerpts)


@pytest.mark.slow
@pytest.mark.parametrize("model", [None, ScriptedModel(answer)])
def test_the_block_keeps_its_budget(talk, model):
    questions = "Which worktop did I choose?", "How is Biscuit?", "Azores"
    with MemoryBank.open(topics=ALONE, model=model) as bank:
        remember_all(bank, MARA, talk)
        for question, budget in product(questions, [40, 150, 400, 1200]):
            recall = bank.recall(MARA, question, token_budget=budget, layers=["topics"])
            assert recall.tokens == count_tokens(recall.text) <= budget
            assert [hit.number for hit in recall.hits] == list(range(1, len(recall.hits) + 1))
            assert all(set(hit.turn_ids) <= {turn.id for turn in hit.memory.turns} for hit in recall.hits)
            assert recall.tokens > 0.7 * budget or budget < 400 or model is not None
            if budget == 1200:
                assert recall.hits


@pytest.mark.slow
@pytest.mark.parametrize("model", [None, ScriptedModel(answer)])
@pytest.mark.parametrize("key", ["summary", "words"])
def test_no_turn_is_ever_lost(talk, model, key):
    options = TopicOptions(key=key, recall_without_model=True)
    with MemoryBank.open(topics=options, model=model, embedder=ScriptedEmbedder()) as bank:
        for number, session in enumerate(talk[:5]):
            half = len(session.messages) // 2
            bank.remember(MARA, session.messages[:half], session=session.name, close=True)
            bank.remember(MARA, session.messages[half:], session=session.name, close=number != 4)
            shown = bank.recall(MARA, "anything", token_budget=10**6, layers=["topics"]).turns
            assert {turn.id for turn in shown} == {turn.id for each in talk[: number + 1] for turn in each.turns}
            units = Counter(turn.id for turn in shown)
            assert set(units.values()) == {1}
        bank.forget(MARA, turn_ids=[talk[1].turns[3].id, talk[3].turns[0].id])
        for _ in range(2):
            shown = bank.recall(MARA, "anything", token_budget=10**6, layers=["topics"]).turns
            held = {turn.id for each in bank.sessions(MARA) for turn in bank.turns(MARA, each)}
            assert {turn.id for turn in shown} == held
            bank.derive(MARA)


def test_a_bank_without_topics_says_so(talk):
    with MemoryBank.open() as bank:
        bank.remember(MARA, talk[0], close=True)
        for ask in (
            lambda: bank.topics.all(MARA),
            lambda: bank.topics.undo_merge(MARA, 1),
            lambda: bank.recall(MARA, "x", layers=["topics"]),
            lambda: bank.layers.check(["topics"]),
        ):
            with pytest.raises(InvalidInput, match="topics=True"):
                ask()
        with pytest.raises(InvalidInput, match="topics=True"):
            bank.recall(("nobody",), "x", layers=["topics"])
    with MemoryBank.open(topics=ALONE) as bank:
        assert bank.layers.check(["topics"]) == [bank.topics]
        assert bank.topics.all(MARA) == []
        assert bank.recall(MARA, "x", layers=["topics"]).hits == ()
        assert bank.recall(MARA, " ", layers=["topics"]).hits == ()
    for bad in ({"similar": 0}, {"concurrency": 0}, {"extract_tokens": 0}, {"key": "title"}):
        with pytest.raises(InvalidInput, match=r"1 or more|'title'"):
            TopicOptions(**bad)


@pytest.mark.slow
def test_without_a_model_they_take_part_in_a_recall_only_where_the_options_say_so(talk):
    with MemoryBank.open(topics=True) as bank:
        remember_all(bank, MARA, talk[:2])
        for ask in (
            lambda: bank.recall(MARA, "worktop", layers=["topics"]),
            lambda: bank.recall(("nobody",), "worktop", layers=["topics"]),
            lambda: bank.layers.check(["topics"]),
        ):
            with pytest.raises(InvalidInput, match=r"0\.629 of LoCoMo's evidence .* recall_without_model=True"):
                ask()
        assert bank.topics.all(MARA), "they are made all the same"
    with club() as bank:
        keep(bank, 0, *ROOF[0])
        assert "oars" in bank.recall(CLUB, "oars", layers=["topics"]).text


# -- undo -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
def test_a_merge_can_be_undone(tmp_path):
    path = tmp_path / "bank.db"
    with club(path) as bank:
        for day, lines in enumerate(ROOF):
            keep(bank, day, *lines)
        [roof] = bank.topics.all(CLUB, speaker="Ida")
        before = bank.topics.undo_merge(CLUB, roof.id)
        assert before.id == roof.id
        assert before.version == roof.versions[1]
        assert before.turn_ids == roof.turn_ids[:2]
        again, free = bank.topics.all(CLUB, speaker="Ida")
        assert again == before
        assert free.summary == roof.version.note
        assert free.turn_ids == ("2-0-Ida",)
        assert free.version.number == 1
        check(bank, CLUB, path)
        assert bank.derive(CLUB) == 0, "it stays undone"
        assert bank.topics.undo_merge(CLUB, roof.id).version == roof.versions[0]
        with pytest.raises(InvalidInput, match="nothing was merged"):
            bank.topics.undo_merge(CLUB, roof.id)
        with pytest.raises(InvalidInput, match="no topic 999"):
            bank.topics.undo_merge(CLUB, 999)
        with pytest.raises(InvalidInput, match="no topic"):
            bank.topics.undo_merge(("other",), roof.id)
        texts = shape(bank, CLUB)
    with club(path) as bank:
        assert shape(bank, CLUB) == texts, "the same after a restart"
        recall = bank.recall(CLUB, "boathouse roof", layers=["topics"], only_relevant=True)
        assert len(recall.hits) == 3


@pytest.mark.slow
def test_an_undone_merge_leaves_no_vector_of_its_words(tmp_path):
    path = tmp_path / "bank.db"
    with club(path, embedder=ScriptedEmbedder()) as bank:
        for day, lines in enumerate(ROOF):
            keep(bank, day, *lines)
        bank.recall(CLUB, "roof", layers=["topics"])
        before = bank.stats(CLUB).vectors
        [roof] = bank.topics.all(CLUB, speaker="Ida")
        bank.topics.undo_merge(CLUB, roof.id)
        assert bank.stats(CLUB).vectors <= before


# -- forget -----------------------------------------------------------------------------------------------------------


def dump(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return "\n".join(connection.iterdump())


@pytest.mark.slow
def test_what_rested_on_a_forgotten_turn_is_gone_and_the_rest_is_made_again(tmp_path):
    path = tmp_path / "bank.db"
    with club(path, embedder=ScriptedEmbedder()) as bank:
        for day, lines in enumerate(ROOF):
            keep(bank, day, *lines)
        bank.recall(CLUB, "roof", layers=["topics"])
        bank.forget(CLUB, turn_ids=["1-1-Ida"])
        check(bank, CLUB, path)
        assert "looked" not in dump(path)
        [roof] = bank.topics.all(CLUB, speaker="Ida")
        assert roof.turn_ids == ("0-0-Ida",)
        assert "zinc" in bank.recall(CLUB, "zinc", layers=["topics"]).text, "it is found before it is in a topic again"
        asked = bank.layers.cost.calls
        assert bank.derive(CLUB) == 2
        check(bank, CLUB, path)
        [roof] = bank.topics.all(CLUB, speaker="Ida")
        assert roof.turn_ids == ("0-0-Ida", "2-0-Ida")
        assert "looked" not in roof.summary
        [violins] = bank.topics.all(CLUB, speaker="Tom")
        assert violins.turn_ids == ("0-1-Tom", "1-0-Tom")
        assert bank.layers.cost.calls - asked == 3, (
            "Tom is asked about again, and where two notes belong: day 2 has its notes"
        )
        bank.forget(CLUB, session="day 0")
        bank.derive(CLUB)
        check(bank, CLUB, path)
        assert "leaks" not in dump(path)
        assert {topic.turn_ids for topic in bank.topics.all(CLUB)} == {("1-0-Tom",), ("2-0-Ida",)}
        bank.forget(CLUB)
        assert bank.topics.all(CLUB) == []
        assert "zinc" not in dump(path)
        with closing(sqlite3.connect(path)) as connection:
            for table in ("topic_notes", "topic_note_turns", "topic_versions", "layer_progress", "vectors"):
                assert connection.execute(f"select count(*) from {table}").fetchone() == (0,)


@pytest.mark.slow
def test_vectors_of_a_merged_summary_go_with_either_origin(tmp_path):
    path = tmp_path / "bank.db"
    with club(path, embedder=ScriptedEmbedder()) as bank:
        keep(bank, 0, *ROOF[0])
        bank.recall(CLUB, "x", layers=["topics"])
        alone = bank.stats(CLUB).vectors
        keep(bank, 2, *ROOF[2])
        bank.recall(CLUB, "x", layers=["topics"])
        bank.forget(CLUB, session="day 0")
        kept = bank.stats(CLUB).vectors
        assert kept <= 2, f"the turn and its note; {alone} before"


@pytest.mark.slow
def test_a_topic_of_very_many_sessions_is_forgotten_too(tmp_path):
    path = tmp_path / "bank.db"
    with MemoryBank.open(path, topics=TopicOptions(rule=SimilarityRule(least=0.0, most_turns=10**6))) as bank:
        keep(bank, 0, ("Ida", "The boathouse roof leaks."))
        with closing(sqlite3.connect(path)) as connection, connection:
            [(note, scope)] = connection.execute("select note_id, scope_id from topic_versions").fetchall()
            connection.executemany(
                "insert into topic_versions(id, scope_id, topic, note_id, previous, text) values (?, ?, 1, ?, ?, 'x')",
                [(number, scope, note, number - 1) for number in range(2, 3000)],
            )
            connection.execute("update scopes set epoch = epoch + 1, revision = revision + 1")
        assert len(bank.topics.all(CLUB)[0].versions) == 2999
        bank.forget(CLUB, turn_ids=["0-0-Ida"])
        assert bank.topics.all(CLUB) == []
        check(bank, CLUB, path)


# -- what comes late, again, or from elsewhere ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
@pytest.mark.parametrize("model", [None, ScriptedModel(answer)])
def test_sessions_closed_without_the_layer_are_caught_up(tmp_path, talk, model):
    path = tmp_path / "bank.db"
    with MemoryBank.open(path) as plain:
        remember_all(plain, MARA, talk[:3])
    with MemoryBank.open(path, topics=True, model=model) as bank:
        assert bank.topics.all(MARA) == []
        assert bank.derive(MARA) == 3
        assert bank.derive(MARA) == 0
        caught_up = shape(bank, MARA)
        check(bank, MARA, path)
    with MemoryBank.open(topics=True, model=model) as straight:
        remember_all(straight, MARA, talk[:3])
        assert shape(straight, MARA) == caught_up
    with MemoryBank.open(path, topics=True, model=model) as again:
        assert shape(again, MARA) == caught_up, "the same after a restart"
        again.rebuild(MARA)
        check(again, MARA, path)
        assert shape(again, MARA) == caught_up


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
def test_a_session_that_goes_on_is_read_on_from_where_it_was():
    model = ScriptedModel(answer)
    with club(model=model) as bank:
        keep(bank, 0, *ROOF[0])
        before = shape(bank, CLUB)
        bank.remember(CLUB, [said("Ida", "The boathouse roof needs zinc.", 0, 50)], session="day 0", close=True)
        assert "oars" not in [each for each in model.requests if stage(each) == "topics"][-1].text
        [roof] = bank.topics.all(CLUB, speaker="Ida")
        assert roof.turn_ids == ("0-0-Ida", "0-50-Ida")
        assert roof.versions[0].text == before[0][2][0][0]
        check(bank, CLUB)


@pytest.mark.slow
def test_without_a_model_a_session_that_goes_on_takes_its_segments_anew(tmp_path, talk):
    path = tmp_path / "bank.db"
    with MemoryBank.open(path, topics=True) as bank:
        remember_all(bank, MARA, talk[:4])
        bank.remember(MARA, talk[5].messages, session=talk[1].name, close=True)
        bank.derive(MARA)
        check(bank, MARA, path)
        held = Counter(turn_id for topic in bank.topics.all(MARA) for turn_id in topic.turn_ids)
        assert held == Counter(turn.id for name in bank.sessions(MARA) for turn in bank.turns(MARA, name))


class Meeting:
    """A model whose first questions about where a note belongs wait for each other."""

    def __init__(self, parties: int) -> None:
        self._barrier = threading.Barrier(parties)
        self._met = threading.local()
        self._plain = ScriptedModel(answer)
        self.asked: list[str] = []

    def complete(self, prompt: Prompt) -> str:
        self.asked.append(prompt.purpose)
        reply = self._plain.complete(prompt)
        if prompt.purpose == "topic-update" and not getattr(self._met, "once", False):
            self._met.once = True
            self._barrier.wait(timeout=20)
        return reply


@pytest.mark.slow
@pytest.mark.usefixtures("each_store")
def test_two_sessions_that_close_at_once_make_no_duplicates(tmp_path):
    path = tmp_path / "bank.db"
    model = Meeting(2)
    options = TopicOptions(concurrency=1)
    with (
        MemoryBank.open(path, topics=options, model=model) as first,
        MemoryBank.open(path, topics=options, model=model) as second,
    ):
        first.remember(CLUB, [said("Ida", "The boathouse has a ladder.", 0)], session="day 0", close=True)
        lines = ("The boathouse ladder and its roof are broken.", "The boathouse ladder and its roof are mended.")
        closings = [
            threading.Thread(target=bank.remember, args=(CLUB, [said("Ida", line, day)]), kwargs=session)
            for bank, line, day, session in zip(
                (first, second),
                lines,
                (1, 2),
                ({"session": "a", "close": True}, {"session": "b", "close": True}),
                strict=True,
            )
        ]
        for each in closings:
            each.start()
        for each in closings:
            each.join(30)
        check(first, CLUB, path)
        assert shape(first, CLUB) == shape(second, CLUB)
        [topic] = first.topics.all(CLUB)
        assert set(topic.turn_ids) == {"0-0-Ida", "1-0-Ida", "2-0-Ida"}
        assert "broken" in topic.summary
        assert "mended" in topic.summary
        asked = Counter(model.asked)
        assert asked["topic-update"] >= 3, "who was late has decided again"


@pytest.mark.usefixtures("each_store")
def test_a_new_topic_of_two_sessions_at_once_is_one_topic(tmp_path):
    """Both find nothing to merge with; whoever is late has to see the other's."""
    path = tmp_path / "bank.db"
    barrier = threading.Barrier(2)
    plain = ScriptedModel(answer)

    class Together:
        def complete(self, prompt: Prompt) -> str:
            if prompt.purpose == "topics":
                barrier.wait(timeout=20)
            return plain.complete(prompt)

    with MemoryBank.open(path, topics=True, model=Together()) as bank:
        threads = [
            threading.Thread(
                target=bank.remember,
                args=(CLUB, [said("Ida", f"The boathouse roof leaks, part {day}.", day)]),
                kwargs={"session": f"day {day}", "close": True},
            )
            for day in range(2)
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join(30)
        [topic] = bank.topics.all(CLUB)
        assert len(topic.turn_ids) == 2
        check(bank, CLUB, path)


WORKER = """
import sys
sys.path.insert(0, sys.argv[1])
from datetime import datetime, timedelta, timezone
from topic_talk import answer
from secom_core.bank.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.testing import ScriptedModel

number = int(sys.argv[3])
with MemoryBank.open(sys.argv[2], topics=True, model=ScriptedModel(answer)) as bank:
    print("ready", flush=True)
    sys.stdin.readline()
    for day in range(number, 24, 3):
        at = datetime(2025, 1, 1, tzinfo=timezone.utc) + timedelta(days=day)
        message = Message(f"The boathouse roof leaks at place {day}.", "", "Ida", id=f"m{day}", at=at)
        bank.remember(("club",), [message], session=f"day {day}", close=True)
"""


@pytest.mark.slow
def test_processes_that_close_sessions_at_once_make_one_topic(tmp_path):
    path = tmp_path / "bank.db"
    MemoryBank.open(path).close()
    command = [sys.executable, "-c", WORKER, str(Path(__file__).parent), str(path)]
    workers = [
        subprocess.Popen([*command, str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(3)
    ]
    for each in workers:
        assert each.stdout.readline() == "ready\n"
    for each in workers:
        each.stdin.write("go\n")
        each.stdin.flush()
    for each in workers:
        each.communicate(timeout=60)
        assert each.returncode == 0
    with club(path) as bank:
        bank.derive(CLUB)
        [topic] = bank.topics.all(CLUB)
        assert topic.turn_ids == tuple(f"m{day}" for day in range(24)), "in time order, whoever came first"
        assert len(topic.versions) == 24
        check(bank, CLUB, path)


def test_one_more_turn_of_an_open_session_reads_no_topic_again(tmp_path):
    with MemoryBank.open(tmp_path / "bank.db", topics=ALONE) as bank:
        for day, lines in enumerate(ROOF):
            keep(bank, day, *lines)
        bank.recall(CLUB, "roof", layers=["topics"])
        read: list[str] = []
        store = bank._store

        def listen(connection, cursor, statement, parameters, context, many):
            if "topic_notes.text" in statement:
                read.append(str(parameters))

        from sqlalchemy import event

        event.listen(store._engine, "before_cursor_execute", listen)
        keep(bank, 9, ("Ida", "A kayak came."), close=False)
        assert "kayak" in bank.recall(CLUB, "kayak", layers=["topics"]).text
        assert len(read) == 1, "of the session that changed only"
        assert len(bank.topics.all(CLUB)) >= 2


# -- whatever happens in whatever order -------------------------------------------------------------------------------

TOPICS = ("boathouse roof leaks", "violin brother builds", "garden tomatoes ripen", "kayak river paddles")
STEP = st.one_of(
    st.tuples(st.just("say"), st.integers(0, 4), st.lists(st.integers(0, 3), min_size=1, max_size=4), st.booleans()),
    st.tuples(st.just("forget turn"), st.integers(0, 30)),
    st.tuples(st.just("forget session"), st.integers(0, 4)),
    st.tuples(st.just("undo"), st.integers(0, 10)),
    st.tuples(st.sampled_from(["reflect", "rebuild", "restart"])),
)


@pytest.mark.slow
@pytest.mark.parametrize("with_model", [False, True])
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEP, min_size=3, max_size=14))
def test_the_contract_holds_whatever_happens(tmp_path_factory, with_model, steps):
    path = tmp_path_factory.mktemp("bank") / "bank.db"
    model = ScriptedModel(answer) if with_model else None

    def opened() -> MemoryBank:
        return MemoryBank.open(path, topics=ALONE, model=model, embedder=ScriptedEmbedder())

    bank, said_so_far = opened(), 0
    for step in steps:
        ids = [turn.id for name in bank.sessions(CLUB) for turn in bank.turns(CLUB, name)]
        if step[0] == "say":
            lines = [
                said("Ida" if each % 2 else "Tom", f"{TOPICS[each]} {said_so_far}", said_so_far, each)
                for each in step[2]
            ]
            lines = list({line.id: line for line in lines}.values())
            said_so_far += 1
            bank.remember(CLUB, lines, session=f"s{step[1]}", close=step[3])
        elif step[0] == "forget turn" and ids:
            bank.forget(CLUB, turn_ids=[ids[step[1] % len(ids)]])
        elif step[0] == "forget session":
            bank.forget(CLUB, session=f"s{step[1]}")
        elif step[0] == "undo" and (merged := [each for each in bank.topics.all(CLUB) if each.version.previous]):
            bank.topics.undo_merge(CLUB, merged[step[1] % len(merged)].id)
        elif step[0] == "reflect":
            bank.derive(CLUB)
        elif step[0] == "rebuild":
            bank.rebuild(CLUB)
        elif step[0] == "restart":
            bank.close()
            bank = opened()
        check(bank, CLUB, path)
        shown = {turn.id for turn in bank.recall(CLUB, "anything", k=10_000, layers=["topics"]).turns}
        assert shown == {turn.id for name in bank.sessions(CLUB) for turn in bank.turns(CLUB, name)}
    texts = shape(bank, CLUB)
    bank.close()
    with opened() as bank:
        assert shape(bank, CLUB) == texts


# -- with what the bank learns ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("embedder", [None, ScriptedEmbedder()])
@pytest.mark.parametrize("reranker", [None, RerankerOptions(explore=False)])
def test_topics_that_answers_cite_are_taken_in(talk, embedder, reranker):
    with MemoryBank.open(topics=ALONE, citations=reranker or True, embedder=embedder) as bank:
        remember_all(bank, MARA, talk)
        question = "Which worktop did I choose?"
        recall = bank.recall(MARA, question, token_budget=800, layers=["topics"])
        assert recall.hits
        assert recall.impression is not None
        with MemoryBank.open(topics=ALONE, embedder=embedder) as plain:
            remember_all(plain, MARA, talk)
            if reranker is None:
                same = plain.recall(MARA, question, token_budget=800, layers=["topics"])
                assert [hit.turn_ids for hit in same.hits] == [hit.turn_ids for hit in recall.hits]
        lesson = bank.citations.reward(MARA, question, recall.impression, [1])
        teaches = reranker is not None and embedder is not None
        assert lesson.kind == ("taught" if teaches else "recorded")
        assert bank.recall(MARA, question, token_budget=800, layers=["topics"]).hits


def test_a_follow_up_without_a_word_of_a_topic_finds_what_the_dialogue_is_about():
    with club() as bank:
        for day, lines in enumerate(ROOF):
            keep(bank, day, *lines)
        context = [Message("How is the boathouse roof?", "user"), Message("It leaked.", "assistant")]
        with_context = bank.recall(CLUB, "And now?", context=context, k=1, layers=["topics"], only_relevant=True)
        assert "boathouse" in with_context.hits[0].memory.value
        assert bank.recall(CLUB, "And now?", k=1, layers=["topics"], only_relevant=True).hits == ()
