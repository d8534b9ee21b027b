"""Captions of recordings: who says what, when, and where in the file."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secom_core.errors import InvalidTranscript
from secom_core.readers import read_captions
from secom_core.segmenters.fixed import EachTurn
from secom_core.segmenters.passages import segment_spans
from secom_core.text.captions import captions

MEETING = """WEBVTT - Weekly meeting

STYLE
::cue { color: white }

NOTE The first minute is missing.

1 - intro
00:01.000 --> 00:04.000 align:start position:10%
<v Ann Lee>Good morning &amp; <b>welcome</b>,

2
00:04.200 --> 00:06.000
<v Ann Lee>everybody.</v>
<v.loud Bob>Morning!</v>

00:00:09.500 --> 01:00:11.000
<v Bob>The roof <00:00:10.000><c.yellow>leaks</c>.
"""
FILM = """1
00:00:01,000 --> 00:00:02,500
{\\an8}<i>It was a dark night,</i>

2
00:00:02,600 --> 00:00:04,000
and it rained.

3
00:01:00,000 --> 00:01:02,000
Who is there?
"""
AUTOMATIC = """WEBVTT
Kind: captions

00:00:00.000 --> 00:00:02.000
so today we talk

00:00:02.000 --> 00:00:02.010
so today we talk

00:00:02.010 --> 00:00:04.000
so today we talk
about<00:00:02.500><c> dogs</c>
"""


def said(text: str) -> list[tuple[str | None, str]]:
    return [(turn.messages[0].speaker, turn.content) for turn in read_captions(text).turns]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_voices_speak_and_marks_are_left_out(newline: str) -> None:
    assert said(MEETING.replace("\n", newline)) == [
        ("Ann Lee", "Good morning & welcome, everybody."),
        ("Bob", "Morning!"),
        ("Bob", "The roof leaks."),
    ]


def test_cues_without_a_name_are_put_together_up_to_a_pause() -> None:
    assert said("\ufeff" + FILM) == [(None, "It was a dark night, and it rained."), (None, "Who is there?")]


def test_what_automatic_captions_repeat_counts_once() -> None:
    assert said(AUTOMATIC) == [(None, "so today we talk about dogs")]


def test_a_name_before_a_colon_speaks_where_it_comes_again() -> None:
    lines = ["Ann: We need", "a new roof.", "Note: a bell rings.", "BOB: Yes.", "Ann: Soon.", "BOB: In May."]
    cues = [f"00:0{at}.000 --> 00:0{at}.900\n{line}\n" for at, line in enumerate(lines)]
    text = "WEBVTT\n\n" + "\n".join(cues)
    assert said(text) == [
        ("Ann", "We need a new roof. Note: a bell rings."),
        ("BOB", "Yes."),
        ("Ann", "Soon."),
        ("BOB", "In May."),
    ]


ONCE = ["Ann Smith: Welcome.", "Bob Jones: Thanks.", "Ann Smith: The budget.", "Carl van Dam: No.", "Ann Smith: Noted."]


def _cues(lines: list[str]) -> str:
    return "WEBVTT\n\n" + "\n".join(f"00:{at:02}.000 --> 00:{at:02}.900\n{line}\n" for at, line in enumerate(lines))


@pytest.mark.parametrize("aside", ["Note: it rains.", "Question 3: why?", "Question: why?", "The thing is: it rains."])
def test_where_each_speaker_is_written_who_speaks_once_is_one_and_an_aside_is_none(aside: str) -> None:
    found = said(_cues([*ONCE, aside, "Dana Levi: Bye."]))
    names = ["Ann Smith", "Bob Jones", "Ann Smith", "Carl van Dam", "Ann Smith", "Dana Levi"]
    assert [name for name, _ in found] == names
    assert found[4][1] == f"Noted. {aside}"


@pytest.mark.parametrize("label", ["[SPEAKER_{}]: ", "SPEAKER_{}: ", "speaker_{}: ", "katrin{}: "])
def test_speakers_as_recognisers_of_speech_write_them_are_read(label: str) -> None:
    lines = [(0, "um so the launch is"), (0, "on tuesday no wait"), (1, "note: wednesday"), (0, "yeah"), (1, "okay")]
    names = [label.strip("[]: ").format(number) for number, _ in lines]
    assert said(_cues([label.format(number) + words for number, words in lines])) == [
        (names[0], "um so the launch is on tuesday no wait"),
        (names[2], "note: wednesday"),
        (names[3], "yeah"),
        (names[4], "okay"),
    ]


def test_small_words_before_colons_are_no_names_where_most_cues_have_none() -> None:
    lines = ["the rule is simple", "note: it leaks", "we know", "note: it rains", "and that is all"]
    assert said(_cues(lines)) == [(None, " ".join(lines))]


def test_in_a_talk_without_names_a_word_before_a_colon_is_none() -> None:
    lines = ["We begin.", "Remember This: it rains.", "Bob Jones: is a name.", "We end."]
    assert said(_cues(lines)) == [(None, " ".join(lines))]


def test_a_message_has_its_time_where_the_recording_has_one() -> None:
    at = datetime(2024, 5, 3, 14, tzinfo=timezone.utc)
    first, *_, last = read_captions(MEETING, at=at, session="weekly").messages
    assert (first.at, last.at) == (at + timedelta(seconds=1), at + timedelta(seconds=9.5))
    assert first.metadata == {"time": "0:00:01"}
    assert read_captions(MEETING).messages[0].at is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Ann: Hello", "begin with WEBVTT.*Ann: Hello"),
        ("WEBVTT\n\n00:01 --> soon\nHi\n", "line 3: expected.*00:01 --> soon"),
        (FILM.replace("00:01:00,000", "00:61:00,000"), "line 10.*00:61"),
    ],
)
def test_what_is_no_cue_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(InvalidTranscript, match=reason):
        read_captions(text)


@pytest.mark.parametrize("text", [MEETING, FILM, AUTOMATIC])
def test_splitters_cut_between_cues_and_lose_nothing(text: str) -> None:
    spans = segment_spans(text, EachTurn())
    assert "".join(text[start:stop] for start, stop in spans) == text
    pieces = [text[start:stop] for start, stop in spans]
    assert all(piece.count("-->") >= 1 for piece in pieces)
    assert pieces[-1].startswith(("00:00:09", "3\n", "WEBVTT"))


@given(st.lists(st.sampled_from([*MEETING.splitlines(), *FILM.splitlines(), "-->", "\x85", "<v >"]), max_size=12))
@settings(max_examples=100, deadline=None)
def test_any_captions_are_covered(lines: list[str]) -> None:
    text = "\n".join(["WEBVTT", *lines])
    found = captions(text)
    assert not found or (found[0].start, found[-1].stop) == (0, len(text))
    assert all(left.stop == right.start and left.words for left, right in pairwise(found))


@pytest.mark.slow
def test_long_and_odd_captions_are_read_in_no_time() -> None:
    cues = (f"{n}\n00:00:{n % 60:02},000 --> 00:00:{n % 60:02},900\nAnn: word {n}.\n" for n in range(20_000))
    odd = ["\n".join(cues), "WEBVTT\n" + " " * 100_000, "WEBVTT\n\n00:01.000 --> 00:02.000\n" + "<v " * 50_000]
    began = time.thread_time()
    for text in odd:
        captions(text)
    assert time.thread_time() - began < 3


def test_an_hour_without_a_pause_or_the_end_of_a_sentence_is_read_at_once() -> None:
    clocks = [f"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}" for at in range(20_001)]
    cues = (f"{begin}.000 --> {end}.000\nand word {begin}\n" for begin, end in pairwise(clocks))
    text = "WEBVTT\n\n" + "\n".join(cues)
    began = time.thread_time()
    [turn] = read_captions(text).turns
    assert time.thread_time() - began < 5
    assert turn.content.startswith("and word 00:00:00 and word 00:00:01 ")
