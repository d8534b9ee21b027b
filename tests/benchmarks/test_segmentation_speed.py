"""`python -m benchmarks.segmentation_speed`: what is timed, on a tiny run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import segmentation_speed as speed
from secom_core.conversation import Turn, as_turns

sys.path.insert(0, str(Path(__file__).parents[1]))
from embedders import HashingEmbedder

pytestmark = pytest.mark.slow

SAID = ["a cat", "my cat sleeps", "a train", "the train is late"]


def test_all_of_ours_are_timed_on_the_same_dialogues() -> None:
    cuts = speed.ours(HashingEmbedder(32), [as_turns(SAID)])
    rates = speed.unseen(cuts, [as_turns(SAID)] * 3, repeats=2)
    assert list(rates) == ["lexical", "embedding", "adaptive"]
    assert min(min(both) for both in rates.values()) > 0


def test_the_whole_is_given_to_those_who_have_no_other_form() -> None:
    given: dict[str, list[int]] = {"ours": [], "peer": []}

    def cut(name: str, said: Sequence[Sequence[Turn]]) -> None:
        given[name].append(len(said[0]))

    cuts = {"ours": lambda said: cut("ours", said), "peer": lambda said: cut("peer", said)}
    speed.one_more(cuts, {"peer"}, SAID, 100, 2)
    assert given == {"ours": [speed.TAIL] * 3, "peer": [100, 101, 102]}


def test_ratios_are_to_every_peer() -> None:
    found = speed.ratios({"adaptive": 6.0, "a peer": 2.0, "another": 3.0}, ["adaptive"])
    assert found == {"adaptive": {"a peer": 3.0, "another": 2.0}}


def test_an_embedder_is_needed(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="segmenters that embed"):
        speed.main(["--data", str(tmp_path / "none.jsonl"), "--embedder", "none"])
