"""A whole LoCoMo conversation over HTTP: events, links, timelines and summary versions, with and without faults."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from pathlib import Path

import pytest
from theanine_talk import answer, stage

from benchmarks.locomo import read_locomo
from secom_core.bank import MemoryBank
from secom_core.errors import DegradedWarning
from secom_core.testing import Answer, Fault, ScriptedRequest, ScriptedServer
from secom_core.timelines import TimelineOptions

pytest.importorskip("openai", reason="the client speaks HTTP")
FILE = Path(__file__).resolve().parents[3] / "shared" / "data" / "locomo" / "26.json"
pytestmark = pytest.mark.skipif(
    not FILE.exists(), reason="LoCoMo is not part of this repository: ../shared is not here"
)

SCOPE = ("locomo", "26")
QUESTION = "When did Caroline go to the LGBTQ support group?"


def purpose(request: ScriptedRequest) -> str:
    return "summary" if "Write the memory anew" in request.text else stage(request)


def reply(request: ScriptedRequest) -> str:
    """Summaries keep the old lines and take the first words of the session; the rest is `theanine_talk.answer`."""
    if purpose(request) != "summary":
        return answer(request)
    old = request.text.rpartition("<memory>\n")[2].partition("\n</memory>")[0]
    said = " ".join(re.findall(r"\w+", request.text.rpartition("<session")[2].splitlines()[2])[:9]) + "."
    return "<memory>\n" + "\n".join([*([] if old == "none" else old.splitlines()), said][-20:]) + "\n</memory>"


def run(script: object, timeout: float = 5) -> tuple[MemoryBank, ScriptedServer, list[int]]:
    from secom_core.models.openai import OpenAIModel

    history = read_locomo(FILE)
    with ScriptedServer(script) as server:
        model = OpenAIModel("scripted", base_url=server.base_url, timeout=timeout, max_retries=0)
        bank = MemoryBank.open(model=model, timelines=TimelineOptions(concurrency=4), summaries=True)
        calls = []
        for session in history:
            before = bank.layers.cost.calls
            bank.remember(SCOPE, session, close=True)
            calls.append(bank.layers.cost.calls - before)
        recall = bank.recall(SCOPE, QUESTION, token_budget=2000, layers=["summaries", "timelines"])
    for session in history:
        assert [turn.text for turn in bank.turns(SCOPE, session.name)] == [turn.text for turn in session.turns]
    assert recall.tokens <= 2000
    assert recall.items("timelines")
    assert recall.items("summaries") == (bank.summaries.latest(SCOPE),)
    return bank, server, calls


@pytest.mark.slow
def test_without_faults_every_layer_is_made_and_every_call_counted():
    bank, server, calls = run(reply)
    asked = Counter(purpose(request) for request in server.requests)
    sessions = len(bank.sessions(SCOPE))
    assert asked["summary"] == asked["events"] == sessions == 19
    assert sum(asked.values()) == bank.layers.cost.calls == sum(calls) + asked["refine"]
    assert {event.session for event in bank.timelines.events(SCOPE)} == set(bank.sessions(SCOPE))
    assert bank.timelines.links(SCOPE)
    assert [each.version for each in bank.summaries.versions(SCOPE)] == list(range(1, sessions + 1))
    cost = bank.layers.cost
    print(f"\n{sessions} sessions: {dict(asked)}; {cost}; {cost.tokens_in / sessions:.0f} tokens in a session")
    bank.close()


@pytest.mark.slow
def test_with_faults_nothing_is_lost_and_the_warnings_say_what_happened():
    faults = (Fault(status=500), "These people are friends.", Fault(), "Relation: Friendship", "")
    count, hung = iter(range(10_000)), []

    def script(request: ScriptedRequest) -> object:
        place = next(count)
        if purpose(request) == "summary" and not hung:
            hung.append(place)
            return Answer("too late", delay=2.5)
        return faults[place // 3 % len(faults)] if place % 3 == 2 else reply(request)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DegradedWarning)
        bank, _, _ = run(script, timeout=2)
    assert {event.session for event in bank.timelines.events(SCOPE)} == set(bank.sessions(SCOPE))
    assert bank.summaries.versions(SCOPE)[-1].session == bank.sessions(SCOPE)[-1]
    said = " ".join(str(each.message) for each in caught if issubclass(each.category, DegradedWarning))
    assert "gave no relation" in said
    assert "500" in said
    assert "timed out" in said
    bank.close()
