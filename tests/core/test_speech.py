"""What services of speech give: what each is taken for, who says what and when, and what is said of one that is broken.

The files are made by hand, after the public descriptions of the services.
"""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from benchmarks import example_exports as examples
from secom_core import MemoryBank
from secom_core.errors import InvalidTranscript
from secom_core.readers import format_of, read

AT = datetime(2026, 5, 12, 10, tzinfo=timezone.utc)
Row = tuple[str, str | None, str, str]


def word(text: str, start: float, **more: Any) -> dict[str, Any]:
    return {"word": text, "start": start, "end": start + 0.3, **more}


def heard(text: str, start: str, kind: str = "pronunciation") -> dict[str, Any]:
    times = {"start_time": start, "end_time": str(float(start) + 0.2)} if start else {}
    return {**times, "type": kind, "alternatives": [{"confidence": "1.0", "content": text}]}


def labelled(start: str, label: str) -> dict[str, Any]:
    return {"start_time": start, "end_time": "9", "speaker_label": label}


WHISPER = {
    "text": " So the launch is on Tuesday. It rains.",
    "segments": [
        {"id": 0, "start": 0.0, "end": 1.5, "text": " So the launch is", "tokens": [1]},
        {"id": 1, "start": 1.5, "end": 3.0, "text": " on Tuesday.", "tokens": [2]},
        {"id": 2, "start": 65.0, "end": 66.0, "text": " It rains.", "tokens": [3]},
    ],
    "language": "en",
}
WHISPERX = {
    "segments": [
        {"start": 0.0, "end": 1.5, "text": " The launch", "words": [], "speaker": "SPEAKER_00"},
        {"start": 1.5, "end": 3.0, "text": " is on Tuesday.", "words": [], "speaker": "SPEAKER_00"},
        {"start": 3.5, "end": 4.0, "text": " Good.", "words": [], "speaker": "SPEAKER_01"},
    ]
}
WHISPER_CPP = {
    "systeminfo": "x",
    "transcription": [
        {"timestamps": {"from": "00:00:00,000"}, "offsets": {"from": 0, "to": 1500}, "text": " The launch"},
        {"timestamps": {"from": "00:01:05,000"}, "offsets": {"from": 65000, "to": 66000}, "text": " is on Tuesday."},
    ],
}
BRACKETED = (
    "\n[00:00:00.000 --> 00:00:01.500]   (speaker 0) The launch\n[00:00:01.500 --> 00:00:03.000]  is on Tuesday.\n"
)
ASSEMBLYAI = {
    "id": "t1",
    "audio_url": "https://example.org/a.mp3",
    "text": "Um hi. Hello.",
    "words": [],
    "utterances": [
        {"speaker": "A", "text": "Um hi.", "start": 100, "end": 900, "words": []},
        {"speaker": "B", "text": "Hello.", "start": 65000, "end": 65500, "words": []},
    ],
}
DEEPGRAM = {
    "metadata": {"created": "2026-05-12T12:00:00Z", "channels": 1},
    "results": {
        "channels": [{"alternatives": [{"transcript": "um hi hello"}]}],
        "utterances": [
            {"start": 0.1, "end": 0.9, "channel": 0, "transcript": "Um hi.", "speaker": 0},
            {"start": 65, "end": 65.5, "channel": 0, "transcript": "Hello.", "speaker": 1},
        ],
    },
}
SENTENCES = [
    {"sentences": [{"text": "Um hi.", "start": 0.1, "end": 0.9}], "speaker": 0, "start": 0.1, "end": 0.9},
    {"sentences": [{"text": "Hello.", "start": 65.0, "end": 65.5}], "speaker": 1, "start": 65.0, "end": 65.5},
]
PARAGRAPHS = {
    "metadata": {},
    "results": {
        "channels": [{"alternatives": [{"transcript": "Um hi. Hello.", "paragraphs": {"paragraphs": SENTENCES}}]}]
    },
}
STEREO = {
    "metadata": {"channels": 2},
    "results": {
        "channels": [
            {"alternatives": [{"transcript": "Hello.", "words": [word("hello", 65.0, punctuated_word="Hello.")]}]},
            {"alternatives": [{"transcript": "Um hi.", "words": [word("um", 0.1), word("hi", 0.5)]}]},
        ]
    },
}
AMAZON = {
    "jobName": "j",
    "results": {
        "transcripts": [{"transcript": "Um, hi. Hello."}],
        "speaker_labels": {
            "speakers": 2,
            "segments": [
                {"items": [labelled("0.1", "spk_0"), labelled("0.5", "spk_0")]},
                {"items": [labelled("65.0", "spk_1")]},
            ],
        },
        "items": [
            heard("Um", "0.1"),
            heard(",", "", "punctuation"),
            heard("hi", "0.5"),
            heard(".", "", "punctuation"),
            heard("Hello", "65.0"),
            heard(".", "", "punctuation"),
        ],
    },
    "status": "COMPLETED",
}
GOOGLE = {
    "results": [
        {"alternatives": [{"transcript": "Um hi.", "words": [{"startTime": "0.100s", "word": "Um"}]}]},
        {"alternatives": [{"transcript": "Hello.", "words": [{"startTime": "65s", "word": "Hello."}]}]},
        {
            "alternatives": [
                {
                    "words": [
                        {"startTime": "0.100s", "endTime": "0.4s", "word": "Um", "speakerTag": 1},
                        {"startTime": "0.500s", "endTime": "0.9s", "word": "hi.", "speakerTag": 1},
                        {"startTime": "65s", "endTime": "65.5s", "word": "Hello.", "speakerTag": 2},
                    ]
                }
            ]
        },
    ]
}
SCRIBE = {
    "language_code": "en",
    "language_probability": 0.9,
    "text": "Um, hi. Hello.",
    "words": [
        {"text": "Um,", "start": 0.1, "end": 0.4, "type": "word", "speaker_id": "speaker_0"},
        {"text": " ", "start": 0.4, "end": 0.5, "type": "spacing", "speaker_id": "speaker_0"},
        {"text": "hi", "start": 0.5, "end": 0.7, "type": "word", "speaker_id": "speaker_0"},
        {"text": ".", "start": 0.7, "end": 0.8, "type": "word", "speaker_id": "speaker_0"},
        {"text": "Hello.", "start": 65, "end": 66, "type": "word", "speaker_id": "speaker_1"},
    ],
}
ELEVENLABS = {
    "agent_id": "a",
    "conversation_id": "conv_1",
    "transcript": [
        {"role": "agent", "message": "Hi.", "tool_calls": [], "time_in_call_secs": 0},
        {"role": "agent", "message": None, "tool_calls": [{"tool_name": "book"}], "time_in_call_secs": 2},
        {"role": "user", "message": "Um book.", "time_in_call_secs": 65},
    ],
    "metadata": {"start_time_unix_secs": 1778580000},
}
RETELL = {
    "call_id": "call_1",
    "start_timestamp": 1778580000000,
    "transcript": "Agent: Hi.\nUser: Um book.\n",
    "transcript_object": [
        {"role": "agent", "content": "Hi.", "words": [{"word": "Hi.", "start": 0.0, "end": 0.4}]},
        {"role": "user", "content": "Um book.", "words": [{"word": "Um", "start": 65.2, "end": 66}]},
        {"role": "transfer_target", "content": "Desk here.", "words": []},
    ],
}
VAPI = {
    "id": "v1",
    "transcript": "AI: Hi.",
    "artifact": {
        "transcript": "AI: Hi.",
        "messages": [
            {"role": "system", "message": "Be kind.", "time": 1778580000000, "secondsFromStart": 0},
            {"role": "bot", "message": "Hi.", "time": 1778580000000, "secondsFromStart": 0},
            {"role": "tool_calls", "toolCalls": [], "message": "", "time": 1778580003000, "secondsFromStart": 3},
            {"role": "user", "message": "Um book.", "time": 1778580065000, "secondsFromStart": 65},
        ],
    },
}
LIVEKIT = {
    "items": [
        {"id": "i1", "type": "message", "role": "user", "content": ["Um book."], "created_at": 1778580000.0},
        {"id": "c", "type": "function_call", "call_id": "c", "name": "book", "arguments": "{}"},
        {"id": "o", "type": "function_call_output", "call_id": "c", "output": "ok", "is_error": False},
        {"id": "h", "type": "agent_handoff", "old_agent_id": "a", "new_agent_id": "b"},
        {"id": "i2", "type": "message", "role": "assistant", "content": [], "interrupted": True},
        {"id": "i3", "type": "message", "role": "assistant", "content": ["Sure, a"], "interrupted": True},
    ]
}


def pair(first: str | None, second: str | None, begins: str = "0:00:00") -> list[Row]:
    return [("", first, begins, "Um hi."), ("", second, "0:01:05", "Hello.")]


CALL: list[Row] = [("assistant", None, "10:00:00", "Hi."), ("user", None, "10:01:05", "Um book.")]
EXPECTED: dict[str, tuple[Any, list[Row]]] = {
    "whisper.json": (
        WHISPER,
        [("", None, "0:00:00", "So the launch is on Tuesday."), ("", None, "0:01:05", "It rains.")],
    ),
    "whisperx.json": (
        WHISPERX,
        [("", "SPEAKER_00", "0:00:00", "The launch is on Tuesday."), ("", "SPEAKER_01", "0:00:03", "Good.")],
    ),
    "cpp.json": (
        WHISPER_CPP,
        [("", None, "0:00:00", "The launch"), ("", None, "0:01:05", "is on Tuesday.")],
    ),
    "cpp.txt": (BRACKETED, [("", "Speaker 0", "0:00:00", "The launch is on Tuesday.")]),
    "short.txt": ("[00:01.000 --> 00:02.000]  Hello.\n", [("", None, "0:00:01", "Hello.")]),
    "text.json": ({"text": "Um hi.", "usage": {"type": "tokens"}}, [("", None, "", "Um hi.")]),
    "long.json": (
        {"text": "very long " * 9000, "segments": [{"start": 1, "end": 2, "text": "Hello."}]},
        [("", None, "0:00:01", "Hello.")],
    ),
    "assemblyai.json": (ASSEMBLYAI, pair("Speaker A", "Speaker B")),
    "seconds.json": (
        {"utterances": [{"speaker": "A", "text": "Hello.", "start": 65.0, "end": 66.0}]},
        [("", "Speaker A", "0:01:05", "Hello.")],
    ),
    "deepgram.json": (DEEPGRAM, pair("Speaker 0", "Speaker 1")),
    "paragraphs.json": (PARAGRAPHS, pair("Speaker 0", "Speaker 1")),
    "stereo.json": (
        STEREO,
        [("", "Channel 1", "0:00:00", "um hi"), ("", "Channel 0", "0:01:05", "Hello.")],
    ),
    "amazon.json": (
        AMAZON,
        [("", "spk_0", "0:00:00", "Um, hi."), ("", "spk_1", "0:01:05", "Hello.")],
    ),
    "google.json": (GOOGLE, pair("Speaker 1", "Speaker 2")),
    "operation.json": ({"name": "1", "response": GOOGLE}, pair("Speaker 1", "Speaker 2")),
    "plain_google.json": (
        {"results": [{"alternatives": [{"transcript": "Um hi."}]}]},
        [("", None, "", "Um hi.")],
    ),
    "scribe.json": (SCRIBE, [("", "speaker_0", "0:00:00", "Um, hi."), ("", "speaker_1", "0:01:05", "Hello.")]),
    "elevenlabs.json": (ELEVENLABS, CALL),
    "sent.json": ({"type": "post_call_transcription", "data": ELEVENLABS}, CALL),
    "retell.json": (RETELL, [*CALL, ("", "transfer_target", "10:00:00", "Desk here.")]),
    "event.json": (
        {"event": "call_ended", "call": RETELL},
        [*CALL, ("", "transfer_target", "10:00:00", "Desk here.")],
    ),
    "vapi.json": (VAPI, CALL),
    "calls.json": ([VAPI], CALL),
    "report.json": ({"message": {"type": "end-of-call-report", **VAPI}}, CALL),
    "livekit.json": (LIVEKIT, [("user", None, "10:00:00", "Um book."), ("assistant", None, "", "Sure, a")]),
}


def said(folder: Path, name: str, content: Any, **options: Any) -> list[Row]:
    """Role, speaker, the time of day or since the beginning, and the words of each message."""
    messages = [
        each for session in read(examples.write(folder, {name: content}) / name, **options) for each in session.messages
    ]
    return [
        (each.role, each.speaker, f"{each.at:%H:%M:%S}" if each.at else each.metadata.get("time", ""), each.text)
        for each in messages
    ]


@pytest.mark.parametrize("name", EXPECTED)
def test_what_a_service_gives_is_recognised_and_read(tmp_path: Path, name: str) -> None:
    content, rows = EXPECTED[name]
    assert said(tmp_path, name, content) == rows
    assert format_of(tmp_path / name).name == "speech"


def test_a_recording_that_began_at_a_known_time_tells_when_each_thing_was_said(tmp_path: Path) -> None:
    rows = said(tmp_path, "deepgram.json", DEEPGRAM, at=AT, me="speaker 1")
    assert rows == [("", "Speaker 0", "10:00:00", "Um hi."), ("user", "Speaker 1", "10:01:05", "Hello.")]


def test_read_once_more_it_is_known_whoever_the_user_is_and_whenever_it_began(tmp_path: Path) -> None:
    for name in ("deepgram.json", "elevenlabs.json", "text.json"):
        path = examples.write(tmp_path, {name: EXPECTED[name][0]}) / name
        ids = [[each.id for session in read(path, at=at) for each in session.messages] for at in (None, AT)]
        assert ids[0] == ids[1]
        assert len(set(ids[0])) == len(ids[0])


def test_calls_are_sessions_by_their_ids_and_what_was_left_out_is_said(tmp_path: Path) -> None:
    notes: list[str] = []
    other = {**deepcopy(VAPI), "id": "v2"}
    path = examples.write(tmp_path, {"calls.json": [VAPI, other]}) / "calls.json"
    with MemoryBank.open() as bank:
        done = [bank.remember(("acme", "ann"), each) for each in read(path, note=notes.append)]
    assert [(each.session, each.new) for each in done] == [("v1", 2), ("v2", 2)]
    assert notes == [f"{path}: left out: calls of tools, their results and instructions (4)"]


def test_several_recordings_in_one_file_are_sessions_of_their_own(tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(each) for each in (WHISPER, WHISPERX))
    path = examples.write(tmp_path, {"week.jsonl": lines}) / "week.jsonl"
    assert [each.name for each in read(path)] == ["week", "week 2"]


def broken(content: Any, *way: Any, value: Any) -> Any:
    content = deepcopy(content)
    inner = content
    for step in way[:-1]:
        inner = inner[step]
    inner[way[-1]] = value
    return content


BROKEN: dict[str, tuple[Any, str]] = {
    "time": (
        broken(WHISPER, "segments", 1, "start", value="soon"),
        "segments[1]: 'start': expected seconds from the beginning, got 'soon'",
    ),
    "infinite": (
        broken(WHISPER, "segments", 1, "end", value=1e300),
        "segments[1]: 'end': expected seconds from the beginning, got 1e+300",
    ),
    "words": (broken(ASSEMBLYAI, "utterances", 0, "text", value=7), "utterances[0]: 'text': expected text, got 7"),
    "speaker": (
        broken(DEEPGRAM, "results", "utterances", 1, "speaker", value=[1]),
        "utterances[1]: a speaker is text or a whole number, not [1]",
    ),
    "missing": (broken(WHISPERX, "segments", 2, "text", value=None), "segments[2]: 'text' is missing in {"),
    "list": (broken(WHISPER, "segments", value={"0": "a"}), "'segments': expected a list, got {'0': 'a'}"),
    "item": (
        broken(AMAZON, "results", "items", 2, "alternatives", value=0),
        "items[2]: 'alternatives': expected a list",
    ),
    "began": (
        broken(ELEVENLABS, "metadata", "start_time_unix_secs", value="noon"),
        "the beginning of the call: no time can be read from 'noon'",
    ),
    "role": (broken(VAPI, "artifact", "messages", 1, "role", value=5), "messages[1]: 'role': expected text, got 5"),
    "turn": (
        broken(RETELL, "transcript_object", 1, value="hi"),
        "transcript_object[1]: expected an object with 'role'",
    ),
    "content": (broken(LIVEKIT, "items", 0, "content", value=3), "items[0]: message 0: content is text or a list"),
    "nothing": (
        [WHISPER, {"status": "error"}],
        "recording 2: no words of a recording or call are in {'status': 'error'}",
    ),
    "number": ([WHISPER, 5], "recording 2: expected an object, got 5"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_named_with_its_place_and_value_or_passed_over(tmp_path: Path, name: str) -> None:
    content, reason = BROKEN[name]
    path = examples.write(tmp_path, {"call.json": content}) / "call.json"
    with pytest.raises(InvalidTranscript) as caught:
        list(read(path, format="speech"))
    assert str(caught.value).startswith(f"{path}: recording ")
    assert reason in str(caught.value)
    notes: list[str] = []
    if name not in ("list", "began"):
        assert list(read(path, format="speech", partial=True, note=notes.append))
        assert any(reason in each for each in notes)


def test_a_chat_with_the_same_words_for_its_fields_is_none(tmp_path: Path) -> None:
    chat = [{"role": "user", "text": "Hi", "language_code": "en", "words": [{"text": "Hi", "speaker_id": "a"}]}]
    assert format_of(examples.write(tmp_path, {"chat.json": chat}) / "chat.json").name == "messages"


def test_a_dictation_is_what_the_user_says_where_it_is_called_one(tmp_path: Path) -> None:
    path = (
        examples.write(tmp_path, {"memo.txt": "um the launch is\non tuesday\n\n \nno wait: wednesday\n"}) / "memo.txt"
    )
    with pytest.raises(InvalidTranscript, match="with --format what else it is, such as dictation for what one person"):
        list(read(path))
    [session] = read(path, format="dictation")
    assert session.name == "memo"
    said = [(each.role, each.text) for each in session.messages]
    assert said == [("user", "um the launch is\non tuesday"), ("user", "no wait: wednesday")]
    [named] = read(path, format="dictation", me="Ann", at=AT)
    assert {(each.role, each.speaker, each.at) for each in named.messages} == {("user", "Ann", AT)}


def test_a_bare_list_of_items_with_a_handoff_is_read_as_messages(tmp_path: Path) -> None:
    notes: list[str] = []
    path = examples.write(tmp_path, {"items.json": LIVEKIT["items"]}) / "items.json"
    [session] = read(path, note=notes.append)
    assert [each.text for each in session.messages] == ["Um book.", "Sure, a"]
    left_out = "calls of tools, their results and reasoning (3), messages without words (1)"
    assert notes == [f"{path}: left out: {left_out}"]
