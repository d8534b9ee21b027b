"""Layers after something was forgotten, after an outage, and after a rebuild: what they then hold."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from threading import Event, Thread
from zlib import crc32

import pytest
import theanine_talk
import topic_talk
from hypothesis import given, settings
from hypothesis import strategies as st

from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, ModelUnavailable
from secom_core.llm.flow import Prompt
from secom_core.models import OpenAIModel
from secom_core.segmenters.lexical import LexicalSegmenter
from secom_core.segmenters.zero_shot import ZeroShotSegmenter
from secom_core.testing import Fault, ScriptedModel, ScriptedRequest, ScriptedServer
from secom_core.timelines import TimelineOptions
from secom_core.timelines.linking import SameTopicRule
from secom_core.topics import SimilarityRule, TopicOptions

ANN = ("acme", "ann")
MAY = datetime(2025, 5, 1, tzinfo=timezone.utc)
THINGS = ("boathouse roof leaks", "violin brother builds", "garden tomatoes ripen", "kayak river paddles")
_EXCHANGE = re.compile(r"^\[Exchange (\d+)\]: (.*)$", re.M)


def answer(request: ScriptedRequest) -> str:
    """By rules: each exchange is an event and a topic; events and topics go together where they share words."""
    if request.purpose == "summary":
        # Never what it said before: that would be refused.
        said = re.findall("[a-z]{4,}", request.text.rpartition("</session>")[0])[-1]
        return f"<memory>\nAnn told {crc32(request.text.encode())} of {said}.\n</memory>"
    if request.purpose == "retention":
        return "none"
    if request.purpose in ("topics", "topic-update"):
        return topic_talk.answer(request)
    if theanine_talk.stage(request) != "events":
        return theanine_talk.answer(request)
    shown = _EXCHANGE.findall(request.text.rsplit("<conversation>", 1)[1])
    lines = [json.dumps({"event": said, "exchanges": [int(number)]}) for number, said in shown]
    return "\n".join(["<events>", *lines, "</events>"])


class Sometimes:
    """The scripted model, or none that answers."""

    def __init__(self) -> None:
        self.scripted, self.is_away = ScriptedModel(answer), False
        self.asked: Counter[str] = Counter()

    def complete(self, prompt: Prompt) -> str:
        self.asked[prompt.purpose] += 1
        if self.is_away:
            raise ModelUnavailable("gone fishing")
        return self.scripted.complete(prompt)


def opened(model: object, path: Path | str = ":memory:", **parts: object) -> MemoryBank:
    topics = TopicOptions(rule=SimilarityRule(least=0.1), recall_without_model=True)
    timelines = TimelineOptions(same_topic=SameTopicRule(least=0.01))
    return MemoryBank.open(path, model=model, **{"topics": topics, "timelines": timelines, "summaries": True} | parts)


def said(number: int, thing: int) -> Message:
    """Something that Ann says about a thing, a day after what she said before."""
    return Message(f"My {THINGS[thing]} ({number}).", "user", "Ann", f"t{number}", MAY + timedelta(number))


def remember_days(bank: MemoryBank, things: Sequence[int], *, without: Iterable[int] = ()) -> None:
    """A session a day, on one thing each."""
    for day, thing in enumerate(things):
        if day not in set(without):
            bank.remember(ANN, [said(day, thing)], session=f"s{day}", close=True)


def timeline(bank: MemoryBank) -> tuple[list[tuple[str, tuple[str, ...]]], list[tuple[str, str, str]]]:
    """Events and links, without the numbers that a store gives them."""
    events = {event.id: event for event in bank.timelines.events(ANN)}
    named = {id_: f"{event.turn_ids} {event.text}" for id_, event in events.items()}
    links = [(named[each.earlier], named[each.later], each.relation.value) for each in bank.timelines.links(ANN)]
    return sorted((event.text, event.turn_ids) for event in events.values()), sorted(links)


def topics(bank: MemoryBank) -> list[tuple[str, tuple[str, ...], list[str]]]:
    """Topics, without the numbers that a store gives them."""
    return sorted(
        (each.speaker, each.turn_ids, [version.text for version in each.versions]) for each in bank.topics.all(ANN)
    )


def all_of(bank: MemoryBank) -> dict[str, object]:
    """All that is derived of the scope, without the numbers that a store gives it."""
    versions = bank.summaries.versions(ANN)
    return {
        "memories": [
            (each.key, [turn.id for turn in each.turns])
            for name in bank.sessions(ANN)
            for each in bank.memories(ANN, name)
        ],
        "timeline": timeline(bank),
        "topics": topics(bank),
        "summaries": [(each.text, each.session, each.session_turn_ids) for each in versions],
    }


# -- forgetting --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("with_model", [False, True])
@pytest.mark.parametrize("gone", [1, 2])
def test_what_led_on_from_a_forgotten_session_is_linked_to_what_came_before_it(with_model, gone):
    """A timeline that loses an event in its middle is one timeline still, as though the event had never been."""
    things = [0, 0, 0, 0]
    model, other = (ScriptedModel(answer), ScriptedModel(answer)) if with_model else (None, None)
    with opened(model, topics=False, summaries=False) as bank, opened(other, topics=False, summaries=False) as never:
        remember_days(bank, things)
        remember_days(never, things, without=[gone])
        before = len(model.requests) if model is not None else 0
        bank.forget(ANN, session=f"s{gone}")
        bank.derive(ANN)
        assert timeline(bank) == timeline(never)
        assert len(timeline(bank)[1]) == 2
        if model is not None:
            purposes = [each.purpose for each in model.requests[before:]]
            assert set(purposes) == {"relation"}, "no event is asked for again"
        assert bank.derive(ANN) == 0


@pytest.mark.slow
def test_what_led_on_from_a_forgotten_turn_is_linked_again_in_another_process_too(tmp_path):
    path = tmp_path / "bank.db"
    parts = {"topics": False, "summaries": False}
    with MemoryBank.open(path, timelines=TimelineOptions(same_topic=SameTopicRule(least=0.01))) as other:
        with MemoryBank.open(path) as plain:
            remember_days(plain, [0] * 4)
            other.derive(ANN)
            whole = timeline(other)
            assert len(whole[1]) == 3
            plain.forget(ANN, turn_ids=["t1"])
        other.derive(ANN)
        with opened(None, **parts) as never:
            remember_days(never, [0] * 4, without=[1])
            assert timeline(other) == timeline(never)


# -- an outage ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["timelines", "topics"])
@pytest.mark.parametrize("purposes", [{"events", "topics"}, {"relation", "topic-update"}], ids=["drafts", "places"])
def test_what_was_guessed_while_the_model_was_away_is_asked_for_again(layer, purposes):
    class Half(Sometimes):
        def complete(self, prompt: Prompt) -> str:
            if self.is_away and prompt.purpose not in purposes:
                return self.scripted.complete(prompt)
            return super().complete(prompt)

    model, parts = Half(), {"topics": False, "timelines": False, "summaries": False} | {layer: True}
    things = [0, 0, 1, 0, 1]
    with opened(model, **parts) as bank, opened(ScriptedModel(answer), **parts) as never:
        remember_days(never, things)
        remember_days(bank, things[:2])
        model.is_away = True
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DegradedWarning)
            bank.remember(ANN, [said(2, 1)], session="s2", close=True)
            bank.remember(ANN, [said(3, 0)], session="s3", close=True)
        assert all("gone fishing" in str(each.message) for each in caught)
        assert bank.layers.behind(ANN, layer) >= 1
        model.is_away = False
        bank.remember(ANN, [said(4, 1)], session="s4", close=True)
        assert bank.layers.behind(ANN, layer) == 0
        assert bank.derive(ANN) == 0
        found, wanted = (topics(each) if layer == "topics" else timeline(each) for each in (bank, never))
        assert found == wanted


@pytest.mark.slow
def test_a_model_that_stays_away_is_not_asked_for_ever_and_what_was_guessed_stays():
    model = Sometimes()
    model.is_away = True
    with opened(model, summaries=False) as bank, warnings.catch_warnings():
        warnings.simplefilter("ignore", DegradedWarning)
        remember_days(bank, [0, 0])
        assert model.asked == {"events": 2, "topics": 2}, "at a close only what is new is asked for"
        guessed = timeline(bank), topics(bank)
        assert any(bank.derive(ANN) == 0 for _ in range(10))
        assert model.asked == {"events": 6, "topics": 6}
        assert (timeline(bank), topics(bank)) == guessed
        model.is_away = False
        bank.rebuild(ANN)
        assert (timeline(bank), topics(bank)) != guessed


@pytest.mark.parametrize("layer", ["timelines", "topics"])
def test_a_check_finds_no_error_in_a_short_session_that_was_guessed_twice(layer):
    model = Sometimes()
    model.is_away = True
    parts = {"summaries": False, "timelines": False, "topics": False} | {layer: True}
    with opened(model, **parts) as bank, warnings.catch_warnings():
        warnings.simplefilter("ignore", DegradedWarning)
        bank.remember(ANN, [("user", "The kayak leaks.")], session="s", close=True)
        bank.derive(ANN)
        assert bank.check() == ()


@pytest.mark.parametrize("layer", ["timelines", "topics"])
def test_of_many_sessions_a_model_that_is_away_is_asked_about_a_few(tmp_path, layer):
    model = Sometimes()
    model.is_away = True
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        remember_days(bank, [0, 1, 2, 3] * 3)
    with MemoryBank.open(tmp_path / "memory.db", model=model, **{layer: True}) as bank:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DegradedWarning)
            assert bank.derive(ANN) == 3
        assert re.search(f"9 more wait .* the layer '{layer}'", str(caught[-1].message))
        assert model.asked.total() == 3
        model.is_away = False
        bank.derive(ANN)
        assert bank.layers.behind(ANN, layer) == 0
        assert model.asked["events"] + model.asked["topics"] == 3 + 12


# -- a model that lets its callers wait --------------------------------------------------------------------------------


class Slow(Sometimes):
    """The same, of which each call takes a while, on a clock that is put forward; each test has its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        super().__init__()
        self.seconds, self._ahead, real = seconds, 0.0, time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: real() + self._ahead)

    def wait(self, seconds: float) -> None:
        self._ahead += seconds

    def complete(self, prompt: Prompt) -> str:
        self.wait(self.seconds)
        return super().complete(prompt)


def closed(bank: MemoryBank, number: int) -> list[str]:
    """End a session; what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DegradedWarning)
        bank.remember(ANN, [said(number, number % 4)], session=f"s{number}", close=True)
    return [str(each.message) for each in caught]


def test_a_server_that_hangs_is_waited_for_twice_by_all_layers_together():
    with ScriptedServer(Fault(delay=math.inf)) as server:
        model = OpenAIModel("any", base_url=server.base_url, timeout=1.05, max_retries=0)
        segmenter = ZeroShotSegmenter(model, fallback=LexicalSegmenter())
        with opened(model, segmenter=segmenter, changes="model") as bank:
            first, second = closed(bank, 0), closed(bank, 1)
            assert len(server.requests) == 2
            assert bank.layers.behind(ANN, "topics") == bank.layers.behind(ANN, "timelines") == 2
    assert all("Request timed out" in each for each in (*first, *second))
    assert len(set(second)) == 1, "what is the same for all layers is said in the same words"
    assert re.search(r"not asked before [\d:]+ UTC", second[0])


def test_a_model_that_let_its_callers_wait_is_asked_again_after_a_while(monkeypatch):
    model, never = Slow(monkeypatch, 30), ScriptedModel(answer)
    model.is_away = True
    with opened(model, summaries=False) as bank, opened(never, summaries=False) as other:
        remember_days(other, [0, 1, 2, 3])
        closed(bank, 0)
        asked = model.asked.total()
        # The clock goes on by itself too: what is done here takes a while where others keep the machine busy.
        model.wait(240)
        closed(bank, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegradedWarning)
            for _ in range(4):
                bank.derive(ANN)
        assert model.asked.total() == asked == 2, "nor does that count as one of three tries"
        model.wait(61)
        closed(bank, 2)
        assert model.asked.total() == 3, "one that still gives no answer is asked once"
        model.wait(301)
        model.is_away = False
        closed(bank, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bank.derive(ANN)
        assert {bank.layers.behind(ANN, layer) for layer in bank.layers} == {0}
        assert timeline(bank)[0] == timeline(other)[0]


def test_a_long_wait_for_one_prompt_does_not_keep_a_model_that_answers_from_others(monkeypatch):
    class Choosy(Slow):
        def complete(self, prompt: Prompt) -> str:
            self.is_away = prompt.purpose == "summary"
            return super().complete(prompt)

    model = Choosy(monkeypatch, 30)
    with opened(model) as bank:
        for number in range(4):
            closed(bank, number)
        assert bank.layers.behind(ANN, "topics") == bank.layers.behind(ANN, "timelines") == 0


# -- layers of an old bank ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_who_ends_a_session_does_not_wait_for_all_older_ones(tmp_path, monkeypatch):
    path, things = tmp_path / "memory.db", [0, 1, 2, 3] * 3
    with MemoryBank.open(path) as bank:
        remember_days(bank, things)
    with opened(ScriptedModel(answer)) as other:
        remember_days(other, [*things, 0, 1])
        wanted = all_of(other)
    model = Slow(monkeypatch, 2)
    with opened(model, path=path) as bank:
        warned = closed(bank, 12)
        assert {bank.layers.behind(ANN, layer) for layer in bank.layers} == {13 - 2}
        assert re.search("11 for topics.*bank.derive.scope. takes in all", warned[-1])
        assert "10 for topics" in closed(bank, 13)[-1]
        assert model.asked["events"] == model.asked["topics"] == 4
        assert {bank.layers.behind(ANN, layer) for layer in bank.layers} == {14 - 4}
        bank.derive(ANN)
        assert all_of(bank) == wanted


def test_after_an_outage_sessions_are_cut_a_few_at_each_end(monkeypatch):
    model = Slow(monkeypatch, 0)
    model.is_away = True
    with MemoryBank.open(segmenter=ZeroShotSegmenter(model, fallback=LexicalSegmenter())) as bank:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegradedWarning)
            for number in range(8):
                bank.remember(ANN, [said(2 * number, 0), said(2 * number + 1, 1)], session=f"old{number}", close=True)
        model.is_away, model.seconds = False, 5
        model.asked.clear()
        assert re.search(r"\(7 for segments\)", closed(bank, 20)[-1])
        assert model.asked["segment"] <= 2 * 2
        bank.derive(ANN)
        assert not closed(bank, 22)


def test_a_bank_that_is_closed_waits_for_one_session_of_many_that_a_writer_takes_in(tmp_path):
    class Held(Sometimes):
        def complete(self, prompt: Prompt) -> str:
            begun.set()
            assert go_on.wait(120)
            return super().complete(prompt)

    begun, go_on, model = Event(), Event(), Held()
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        remember_days(bank, [0, 1, 2, 3] * 2)
    with MemoryBank.open(tmp_path / "memory.db", model=model, topics=True) as bank:
        BackgroundWriter(bank, debounce=0).remember(ANN, [said(8, 0)], session="s8", close=True)
        assert begun.wait(30)
        closing = Thread(target=bank.close)
        closing.start()
        closing.join(0.2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DegradedWarning)
            go_on.set()
            closing.join(30)
    assert "(8 for topics)" in str(caught[-1].message)
    assert model.asked["topics"] == 1
    with MemoryBank.open(tmp_path / "memory.db", model=model, topics=True) as bank:
        assert bank.layers.behind(ANN, "topics") == 8
        assert bank.derive(ANN) == 8


# -- a rebuild ---------------------------------------------------------------------------------------------------------

STEP = st.one_of(
    st.tuples(st.just("say"), st.integers(0, 3), st.integers(0, 3)),
    st.tuples(st.just("close"), st.integers(0, 3)),
    st.tuples(st.just("forget turn"), st.integers(0, 20)),
    st.tuples(st.just("forget session"), st.integers(0, 3)),
    st.tuples(st.just("derive")),
)


@pytest.mark.slow
@pytest.mark.parametrize("with_model", [False, True])
@settings(max_examples=4, deadline=None)
@given(steps=st.lists(STEP, min_size=6, max_size=14))
def test_a_rebuild_is_what_a_bank_makes_that_never_had_the_words(with_model, steps):
    """And what is forgotten is in no layer once the bank has derived, rebuilt or not."""
    with opened(ScriptedModel(answer) if with_model else None) as bank:
        for number, (what, *which) in enumerate(steps):
            ids = [turn.id for name in bank.sessions(ANN) for turn in bank.turns(ANN, name)]
            if what == "say":
                bank.remember(ANN, [said(number, which[1])], session=f"s{which[0]}")
            elif what == "close" and f"s{which[0]}" in bank.sessions(ANN):
                bank.close_session(ANN, f"s{which[0]}")
            elif what == "forget turn" and ids:
                bank.forget(ANN, turn_ids=[ids[which[0] % len(ids)]])
            elif what == "forget session":
                bank.forget(ANN, session=f"s{which[0]}")
            elif what == "derive":
                bank.derive(ANN)
        for name in bank.sessions(ANN):
            bank.close_session(ANN, name)
        bank.derive(ANN)
        assert bank.derive(ANN) == 0, "nothing is made for ever"
        left = {turn.id for name in bank.sessions(ANN) for turn in bank.turns(ANN, name)}
        assert {id_ for event in bank.timelines.events(ANN) for id_ in event.turn_ids} <= left
        assert {id_ for topic in bank.topics.all(ANN) for id_ in topic.turn_ids} <= left
        bank.rebuild(ANN)
        rebuilt = all_of(bank)
        with opened(ScriptedModel(answer) if with_model else None) as never:
            for name in bank.sessions(ANN):
                for turn in bank.turns(ANN, name):
                    never.remember(ANN, turn.messages, session=name)
                never.close_session(ANN, name)
            # How common words are in the scope decides keys and what is similar: until a close, and of all of it now.
            never.rebuild(ANN)
            assert all_of(never) == rebuilt


# -- two writers -------------------------------------------------------------------------------------------------------


def test_two_writers_make_the_events_of_a_session_once_where_the_model_says_only_half(tmp_path):
    """The other one is quicker, and the model says to neither how events are related: they are to be asked again."""

    def without_relations(request: ScriptedRequest) -> str | Fault:
        return Fault(status=500) if request.purpose == "relation" else answer(request)

    def slower(request: ScriptedRequest) -> str | Fault:
        if request.purpose == "relation" and not quick.requests:
            other.derive(ANN)
        return without_relations(request)

    path, parts = tmp_path / "bank.db", {"timelines": True, "topics": False, "summaries": False}
    quick, slow = ScriptedModel(without_relations), ScriptedModel(slower)
    with warnings.catch_warnings(), MemoryBank.open(path) as plain:
        warnings.simplefilter("ignore", DegradedWarning)
        remember_days(plain, [0, 0])
        with opened(quick, path, **parts) as other, opened(slow, path, **parts) as bank:
            bank.derive(ANN)
            assert quick.requests
            assert [each.session for each in bank.timelines.events(ANN)] == ["s0", "s1"]


def test_two_writers_make_the_topics_of_a_session_once_when_the_model_is_back(tmp_path):
    """Both have asked, and both wait for the file to write what they were told."""
    path, parts = tmp_path / "bank.db", {"timelines": False, "summaries": False}
    model = Sometimes()
    model.is_away = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegradedWarning)
        with opened(model, path, **parts) as bank:
            remember_days(bank, [0])
    models = ScriptedModel(answer), ScriptedModel(answer)
    with opened(models[0], path, **parts) as bank, opened(models[1], path, **parts) as other:
        threads = [Thread(target=each.derive, args=(ANN,)) for each in (bank, other)]
        with closing(sqlite3.connect(path, isolation_level=None)) as held:
            held.execute("BEGIN IMMEDIATE")
            for thread in threads:
                thread.start()
            deadline = time.monotonic() + 60
            while not all(each.requests for each in models) and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.3)
            held.execute("COMMIT")
        for thread in threads:
            thread.join()
        with closing(sqlite3.connect(path)) as stored:
            assert stored.execute("SELECT count(*) FROM topic_notes").fetchone() == (1,)
        assert [each.turn_ids for each in bank.topics.all(ANN)] == [("t0",)]
