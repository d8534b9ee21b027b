"""What every segmenter promises, whatever the turns hold."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secom_core.conversation import Message, Turn, as_turns, group_messages
from secom_core.memory import check_partition
from secom_core.protocols import Segmenter
from secom_core.segmenters import (
    AdaptiveSegmenter,
    EachTurn,
    EmbeddingSegmenter,
    FixedSize,
    LexicalSegmenter,
    WholeSession,
    ZeroShotSegmenter,
)
from secom_core.segmenters.zero_shot_prompt import as_jsonl
from secom_core.testing import ScriptedModel, ScriptedRequest

sys.path.insert(0, str(Path(__file__).parents[1]))
from embedders import HashingEmbedder


def every_third(request: ScriptedRequest) -> str:
    """A language model that begins a segment at every third exchange that its prompt shows."""
    shown = re.search(r"has (\d+) exchanges", request.text)
    segments = FixedSize(3).segment(as_turns([""] * int(shown[1]) if shown else []))
    return f"<segmentation>\n{as_jsonl(segments)}\n</segmentation>"


def zero_shot(**options: int) -> ZeroShotSegmenter:
    return ZeroShotSegmenter(ScriptedModel(every_third), fallback=WholeSession(), **options)


MAKERS: dict[str, Callable[[], Segmenter]] = {
    "each-turn": EachTurn,
    "fixed": lambda: FixedSize(3),
    "whole-session": WholeSession,
    "adaptive": AdaptiveSegmenter,
    "adaptive-vectors": lambda: AdaptiveSegmenter(HashingEmbedder(64)),
    "lexical": LexicalSegmenter,
    "lexical-short": lambda: LexicalSegmenter(max_length=5),
    "embedding": lambda: EmbeddingSegmenter(HashingEmbedder(64)),
    "zero-shot": zero_shot,
    "zero-shot-windows": lambda: zero_shot(max_turns=4),
    "embedding-short": lambda: EmbeddingSegmenter(HashingEmbedder(64), max_length=5),
}

WEIGHING = {name: make for name, make in MAKERS.items() if name.startswith(("adaptive", "lexical", "embedding"))}

every_segmenter = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())

anything = st.one_of(
    st.text(alphabet=st.characters(), max_size=40),
    st.sampled_from(
        [
            "",
            " ",
            "\0",
            "\ud800",
            "?",
            "。",
            "你好，今天天气怎么样？",
            "ありがとう",
            "안녕하세요",
            "สวัสดี",
            "مرحبا",
            "<|endoftext|>",
        ]
    ),
    st.sampled_from(["I love cats.", "My cat sleeps all day.", "Book a table for two, please.", "Is the train late?"]),
)
moments = st.one_of(
    st.none(),
    st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(timezone.utc)),
)
messages = st.builds(
    Message,
    text=anything,
    role=st.sampled_from(["user", "assistant", "tool", "system", ""]),
    speaker=st.one_of(st.none(), st.sampled_from(["Ann", "Bo", "客户"])),
    at=moments,
)
sessions = st.lists(messages, max_size=30).map(group_messages)


@pytest.mark.slow
@every_segmenter
@settings(max_examples=40, deadline=None)
@given(turns=sessions)
def test_any_session_is_partitioned_the_same_way_twice(make: Callable[[], Segmenter], turns: Sequence[Turn]) -> None:
    segments = make().segment(turns)
    assert check_partition(segments, len(turns)) == make().segment(list(turns))


@pytest.mark.slow
@pytest.mark.parametrize("make", WEIGHING.values(), ids=WEIGHING.keys())
@settings(max_examples=20, deadline=None)
@given(turns=sessions)
def test_one_chance_a_gap(make: Callable[[], Segmenter], turns: Sequence[Turn]) -> None:
    chances = make().chances(turns)  # type: ignore[attr-defined]
    assert chances.shape == (max(len(turns) - 1, 0),)
    assert ((chances >= 0) & (chances <= 1)).all()


@every_segmenter
def test_no_turns_give_no_segments(make: Callable[[], Segmenter]) -> None:
    assert make().segment([]) == []


@every_segmenter
def test_fits_the_protocol(make: Callable[[], Segmenter]) -> None:
    assert isinstance(make(), Segmenter)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lexical-short", "embedding-short"])
@settings(max_examples=40, deadline=None)
@given(turns=sessions)
def test_no_segment_is_longer_than_asked(name: str, turns: Sequence[Turn]) -> None:
    assert all(len(segment) <= 5 for segment in MAKERS[name]().segment(turns))


@pytest.mark.parametrize("name", ["lexical", "embedding"])
def test_equal_turns_are_not_torn_apart_at_random(name: str) -> None:
    turns = as_turns(["The same words again and again."] * 12)
    assert len(MAKERS[name]().segment(turns)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lexical", "embedding"])
def test_ten_thousand_turns_in_seconds(name: str) -> None:
    themes = ["cats and dogs", "trains to London", "roast potatoes", "football scores", "a holiday in Spain"]
    begin = datetime(2024, 1, 1, tzinfo=timezone.utc)
    turns = tuple(
        Turn((Message(f"{themes[n // 6 % 5]} number {n % 97}", at=begin + timedelta(minutes=n)),), "s", n)
        for n in range(10_000)
    )
    start = time.perf_counter()
    check_partition(MAKERS[name]().segment(turns), len(turns))
    assert time.perf_counter() - start < 20
