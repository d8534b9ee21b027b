"""The timelines benchmark measures what it says, on small graphs and a small conversation."""

from __future__ import annotations

import math
from random import Random

import pytest

from benchmarks.locomo import LocomoQuestion
from benchmarks.retrieval import Conversation
from benchmarks.timelines import listed, measure_linking, measure_paths, measure_recall, shown_verbatim, tangled
from secom_core.conversation import Message, Session, group_messages
from secom_core.memory import Recall, Section
from secom_core.timelines import Timeline
from secom_core.timelines.retrieval import paths_through

pytestmark = pytest.mark.slow


def test_the_two_ways_count_the_same_paths():
    pytest.importorskip("networkx", reason="networkx is what timelines are measured beside")
    for row in measure_paths((8, 20, 30), seed=3, limit_s=30):
        assert row["paths"] == row["networkx_paths"]
    assert listed(tangled(400, Random(3)), 200, limit_s=0.05)[0] is None
    assert math.isinf(paths_through(tangled(4_000, Random(3)), 2_000))


def test_linking_is_measured_on_graphs_of_the_size_it_says():
    small, large = measure_linking((50, 500), seed=1)
    assert (small["events"], large["events"]) == (50, 500)
    assert large["links"] > small["links"] > 50


def test_recall_counts_words_that_are_in_the_block():
    said = ["I bought a canoe in Ghent.", "The canoe from Ghent leaks."]
    history = tuple(
        Session(f"s{n}", group_messages([Message(text, "", "Ann", f"t{n}")], f"s{n}")) for n, text in enumerate(said)
    )
    question = LocomoQuestion("Which canoe leaks?", "the one from Ghent", ("t1",), 1)
    result = measure_recall([Conversation("c", history, (question,))], (200,), 0.5)
    assert (result["questions"], result["events"]) == (1, 2)
    assert result["off"]["all"] == result["on"]["multi-hop"] == {"200": 1.0}
    assert shown_verbatim(Recall("q", (), "", 0), {}) == []


def test_an_event_counts_where_it_says_the_whole_turn():
    from benchmarks.timelines import event

    section = Section("timelines", "Timelines", ("event 1\n",), (Timeline((event(1),), ()),), (("t1",),))
    recall = Recall("q", (), section.text, 0, (section,))
    assert shown_verbatim(recall, {"t1": "event 1"}) == ["t1"]
    assert shown_verbatim(recall, {"t1": "event 1 and more"}) == []
