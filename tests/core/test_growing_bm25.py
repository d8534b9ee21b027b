"""A unit that goes on is found as one that was added whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secom_core.indexes.bm25 import BM25
from secom_core.indexes.growing_bm25 import GrowingBM25
from secom_core.indexes.growing_postings import GrowingPostings

LINES = [
    "user: Where does the loom stand?",
    "It stands in the loom room, it's oiled.",
    "Das ist der Webstuhl, und ich habe ihn geölt.",
    "call frameChecksum(loom) before you weave",
    "the frameCounter is of the loomFrame",
    "织布机在房间里",
    "ΟΔΟΣ e\u0301te\u0301",
    "",
]
STEPS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(LINES)), min_size=1, max_size=12)


def found(index: BM25) -> object:
    units = {unit: int(index.lengths_of([unit])[0]) for unit in range(3) if unit in index._slot_of}
    scores = {query: [(unit, round(score, 9)) for unit, score in index.search(query, 3)] for query in LINES}
    return units, scores, index.length, len(index), sorted(index.kept_languages.items())


@given(STEPS)
@settings(max_examples=200, deadline=None)
def test_growth_and_the_whole_are_the_same(steps: list[tuple[int, str]]) -> None:
    growing, texts = GrowingBM25(), dict[int, str]()
    for unit, line in steps:
        before = {unit: texts[unit]} if unit in texts else {}
        texts[unit] = f"{texts[unit]}\n{line}" if unit in texts else line
        growing.put([unit], [texts[unit]], before)
    whole = BM25()
    whole.add(list(texts), list(texts.values()))
    assert found(growing) == found(whole)


def test_a_unit_stays_in_its_slot_unless_that_is_kept_or_its_language_changes() -> None:
    index = GrowingBM25()
    index.put([7], ["the loom"], {})
    index.put([7], ["the loom\nand the wheel"], {7: "the loom"})
    assert index.used == 1
    index.put([7], ["the loom\nand the wheel\nagain"], {7: "the loom\nand the wheel"}, since=1)
    assert (index.used, index.gone) == (2, {0})
    german = "the loom\nand the wheel\nagain\nund ich habe der die das und ich nicht"
    index.put([7], [german], {7: "the loom\nand the wheel\nagain"})
    assert (index.used, len(index)) == (3, 1)


@pytest.mark.parametrize("slot", [2, 5, 8, 9])
def test_a_posting_is_added_in_its_place(slot: int) -> None:
    postings = GrowingPostings()
    for held in (2, 5, 8):
        postings.append("loom", held, 1)
    postings.add("loom", slot, 3)
    slots, counts = postings.of("loom")
    assert slots.tolist() == sorted({2, 5, 8, slot})
    assert counts[np.flatnonzero(slots == slot)].tolist() == [4 if slot < 9 else 3]
