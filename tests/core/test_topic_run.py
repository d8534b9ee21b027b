"""Topics of whole conversations, with a language model over HTTP: the calls counted, with and without faults."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from histories import remember_all
from theanine_talk import sessions
from topic_talk import answer, check, shape, stage

from benchmarks.locomo import read_locomo
from secom_core.bank import MemoryBank
from secom_core.conversation import Session
from secom_core.errors import DegradedWarning
from secom_core.testing import Answer, Fault, ScriptedRequest, ScriptedServer
from secom_core.topics import TopicOptions

pytest.importorskip("openai", reason="the client speaks HTTP")
LOCOMO = Path(__file__).resolve().parents[3] / "shared" / "data" / "locomo" / "26.json"
SCOPE = ("whole", "run")
FAULTS = {
    "status 500": Fault(status=500),
    "prose": "These people get on well.",
    "dropped": Fault(),
    "outside": '{"summary": "Somebody did something.", "reference": [999]}',
    "bad index": "Merge(99, somebody did something)",
    "empty": Answer(""),
}


def run(
    script: object,
    history: Sequence[Session],
    path: Path | str = ":memory:",
    *,
    concurrency: int = 4,
    timeout: float = 5,
) -> tuple[MemoryBank, ScriptedServer, list[str]]:
    """The bank after all sessions, the server as it was asked, and what the warnings said; no turn is lost."""
    from secom_core.models.openai import OpenAIModel

    with ScriptedServer(script) as server, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DegradedWarning)
        model = OpenAIModel("scripted", base_url=server.base_url, timeout=timeout, max_retries=0)
        bank = MemoryBank.open(path, model=model, topics=TopicOptions(concurrency=concurrency))
        remember_all(bank, SCOPE, history)
    for session in history:
        assert [turn.text for turn in bank.turns(SCOPE, session.name)] == [turn.text for turn in session.turns]
    check(bank, SCOPE, Path(path) if path != ":memory:" else None)
    assert bank.layers.cost.calls == len(server.requests)
    return bank, server, [str(each.message) for each in caught if issubclass(each.category, DegradedWarning)]


def every_third() -> tuple[object, Counter[str]]:
    """A script in which every third reply goes wrong, each in the next way; and how often each did."""
    place, happened = iter(range(1_000_000)), Counter[str]()

    def script(request: ScriptedRequest) -> object:
        number = next(place)
        if number % 3 != 2:
            return answer(request)
        name = list(FAULTS)[number // 3 % len(FAULTS)]
        happened[name] += 1
        return FAULTS[name]

    return script, happened


@pytest.mark.slow
def test_a_shipped_conversation_with_every_call_counted(tmp_path):
    history = sessions()
    bank, server, warned = run(answer, history, tmp_path / "bank.db")
    asked = Counter(stage(request) for request in server.requests)
    assert warned == []
    assert asked["topics"] == len(history), "once for the user; the assistant tells nothing about itself"
    notes = sum(len(topic.versions) for topic in bank.topics.all(SCOPE))
    assert notes - len(bank.topics.all(SCOPE)) <= asked["update"] < notes, "the first has nothing to be compared with"
    merged = [topic for topic in bank.topics.all(SCOPE) if len(topic.sessions) > 1]
    assert len(merged) >= 3
    for topic in merged:
        first, *later = topic.versions
        assert set(first.turn_ids) <= set(topic.turn_ids)
        assert all(set(version.turn_ids) <= set(topic.turn_ids) for version in later)
        assert all(version.previous is before for before, version in zip(topic.versions, later, strict=False))
    texts = shape(bank, SCOPE)
    bank.close()
    with MemoryBank.open(tmp_path / "bank.db", topics=True) as again:
        assert shape(again, SCOPE) == texts
        assert again.derive(SCOPE) == 0


@pytest.mark.slow
def test_a_shipped_conversation_with_every_third_reply_at_fault():
    script, happened = every_third()
    history = sessions()
    bank, server, warned = run(script, history, concurrency=1)
    assert set(happened) == set(FAULTS)
    assert sum(happened.values()) == len(server.requests) // 3
    assert {session for topic in bank.topics.all(SCOPE) for session in topic.sessions} == {
        each.name for each in history
    }
    said = " ".join(warned)
    assert "500" in said
    assert "did not say where" in said or "found no topics" in said
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegradedWarning)
        assert any(bank.derive(SCOPE) == 0 for _ in range(20)), "what was guessed is asked again, and not for ever"
    bank.close()


@pytest.mark.slow
@pytest.mark.parametrize("fault", list(FAULTS))
@pytest.mark.parametrize("broken", ["topics", "update"])
def test_each_fault_costs_what_it_costs(broken, fault):
    history = sessions()[:3]

    def script(request: ScriptedRequest) -> object:
        return FAULTS[fault] if stage(request) == broken else answer(request)

    bank, server, warned = run(script, history)
    asked = Counter(stage(request) for request in server.requests)
    answers = fault not in ("status 500", "dropped")
    if broken == "topics":
        assert asked["topics"] == len(history) * (1 + answers), "a reply that cannot be used is asked for once more"
        assert all("found no topics of user" in each for each in warned)
        assert len(warned) == len(history)
        held = {turn_id for topic in bank.topics.all(SCOPE) for turn_id in topic.turn_ids}
        assert held == {turn.id for each in history for turn in each.turns}
    else:
        assert asked["topics"] == len(history)
        notes = sum(len(topic.versions) for topic in bank.topics.all(SCOPE))
        assert asked["update"] % (1 + answers) == 0
        assert 0 < asked["update"] // (1 + answers) < notes
        assert all("did not say where" in each for each in warned)
        assert 0 < len(warned) <= len(history), "one warning a session"
    cause = {"status 500": "500", "outside": "999", "bad index": "99", "empty": "empty"}
    if (fault, broken) not in {("outside", "update"), ("bad index", "topics")}:
        assert all(cause.get(fault, "") in each for each in warned)
    bank.close()


locomo = pytest.mark.skipif(not LOCOMO.exists(), reason="LoCoMo is not part of this repository: ../shared is not here")


@pytest.mark.slow
@locomo
def test_a_locomo_conversation_has_topics_of_both_speakers():
    history = read_locomo(LOCOMO)
    bank, server, warned = run(answer, history)
    asked = Counter(stage(request) for request in server.requests)
    assert warned == []
    assert asked["topics"] == 2 * len(history) == 38
    topics = bank.topics.all(SCOPE)
    assert {topic.speaker for topic in topics} == {"Caroline", "Melanie"}
    turns = {turn.id: turn for session in history for turn in session.turns}
    for topic in topics:
        assert {turns[turn_id].speakers for turn_id in topic.turn_ids} == {(topic.speaker,)}
    assert sum(len(topic.sessions) > 1 for topic in topics) >= 10
    for topic in (min(topics, key=lambda each: len(each.turn_ids)), max(topics, key=lambda each: len(each.turn_ids))):
        recall = bank.recall(SCOPE, topic.summary, token_budget=1000, layers=["topics"])
        assert recall.tokens <= 1000
        assert recall.ranked[0].memory.summary == topic.summary
    bank.close()


@pytest.mark.slow
@locomo
def test_a_locomo_conversation_with_every_third_reply_at_fault():
    script, happened = every_third()
    history = read_locomo(LOCOMO)[:8]
    bank, server, warned = run(script, history, concurrency=1)
    assert sum(happened.values()) == len(server.requests) // 3 >= 12
    said = " ".join(warned)
    for cause in ("500", "found no topics", "did not say where"):
        assert cause in said
    recall = bank.recall(
        SCOPE, "When did Caroline go to the LGBTQ support group?", token_budget=1000, layers=["topics"]
    )
    assert recall.hits
    bank.close()
