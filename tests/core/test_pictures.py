"""Strips: what is drawn, and that no text can break out of them."""

from __future__ import annotations

from datetime import datetime, timezone
from xml.etree import ElementTree

import pytest

from secom_core.conversation import Message, Session, Turn, as_turns
from secom_core.errors import InvalidInput
from secom_core.memory import segments_from
from secom_core.pictures import segmentation_strip

TURNS = as_turns(["Hello there", "Hi", "Trains to York?", "At nine", "Thanks", "Bye"])
CUT = segments_from([1, 3], 6)
TRUE = segments_from([1, 2], 6)


def test_a_letter_a_turn_and_a_caption_a_segment() -> None:
    assert segmentation_strip(TURNS, CUT).splitlines() == [
        "AABBCC",
        "A  0-1  Hello there",
        "B  2-3  Trains to York?",
        "C  4-5  Thanks",
    ]


def test_truth_and_marks() -> None:
    lines = segmentation_strip(TURNS, CUT, truth=TRUE).splitlines()
    assert lines[:4] == [
        "predicted AABBCC",
        "truth     AABCCC",
        "           ✓-+",
        "✓ found  - missed  + extra",
    ]


def test_dates_and_speakers() -> None:
    at = datetime(2024, 5, 7, 9, 30, tzinfo=timezone.utc)
    session = Session("s", (Turn((Message("Morning!", speaker="Ann", at=at),), "s"),))
    assert segmentation_strip(session, segments_from([], 1)).splitlines()[1] == "A  0  2024-05-07 09:30  Ann: Morning!"


def test_long_sessions_wrap_and_long_texts_are_clipped() -> None:
    turns = as_turns(["word " * 50] * 70)
    lines = segmentation_strip(turns, segments_from([], 70), width=30).splitlines()
    assert lines[:3] == ["A" * 30, "A" * 30, "A" * 10]
    assert len(lines[3]) == 30
    assert lines[3].endswith("…")


def test_wide_characters_take_two_columns() -> None:
    line = segmentation_strip(as_turns(["你好" * 40]), segments_from([], 1), width=20).splitlines()[1]
    assert line == "A  0  " + "你好" * 3 + "…"


def test_empty_session() -> None:
    assert segmentation_strip([], []) == ""
    assert ElementTree.fromstring(segmentation_strip([], [], format="svg")).tag.endswith("svg")


@pytest.mark.parametrize("text", ["\x1b[31mred\x1b[0m", "a\0b", "\ud800", "\u202eevil", "one\ntwo\r\nthree"])
def test_no_text_controls_the_terminal(text: str) -> None:
    strip = segmentation_strip(as_turns([text]), segments_from([], 1))
    assert len(strip.split("\n")) == 2
    assert not set("\x1b\0\ud800\u202e\r") & set(strip)
    strip.encode("utf-8")


def test_svg_is_well_formed_and_escaped() -> None:
    turns = as_turns(['<script>alert(1)</script> & \x0b "quoted" ]]> \ud800', "ok"])
    picture = ElementTree.fromstring(segmentation_strip(turns, segments_from([0], 2), format="svg", width=300))
    tags = [element.tag.rpartition("}")[2] for element in picture.iter()]
    assert tags.count("rect") == 2
    assert "script" not in tags
    assert "<script>alert(1)</script> &" in next(e.text for e in picture.iter() if e.tag.endswith("title"))


def test_svg_shows_truth_below() -> None:
    picture = ElementTree.fromstring(segmentation_strip(TURNS, CUT, truth=TRUE, format="svg"))
    texts = [element.text for element in picture.iter() if element.tag.endswith("text")]
    assert [text for text in texts if text in ("predicted", "truth")] == ["predicted", "truth"]
    assert [text for text in texts if text in ("✓", "-", "+")] == ["✓", "-", "+"]


def test_wrong_values_are_named() -> None:
    with pytest.raises(InvalidInput, match="segments end at turn 5, the session has 6"):
        segmentation_strip(TURNS, segments_from([], 5))
    with pytest.raises(InvalidInput, match="not 'png'"):
        segmentation_strip(TURNS, CUT, format="png")  # type: ignore[call-overload]
    with pytest.raises(InvalidInput, match="got 3"):
        segmentation_strip(TURNS, CUT, width=3)
