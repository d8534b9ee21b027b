"""Readers: what a person would read out of the same text, and errors that carry the line."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone

import pytest

from secom_core.conversation import Message
from secom_core.errors import InvalidTranscript
from secom_core.readers import read_messages, read_transcript


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[misc,arg-type]


def said(text: str, **options: object) -> list[tuple[str, str]]:
    """Who says what, over all sessions."""
    sessions = read_transcript(text, **options)  # type: ignore[arg-type]
    return [(message.label, message.text) for session in sessions for message in session.messages]


# role/content dicts


def test_dicts_pairs_and_messages_mix() -> None:
    own = Message("kept as it is", id="m1")
    first, second, third = read_messages([own, {"role": "assistant", "content": "Sure."}, ("user", "And now?")])
    assert first is own
    assert (second.role, second.text, second.speaker) == ("assistant", "Sure.", None)
    assert (third.role, third.text) == ("user", "And now?")


@pytest.mark.parametrize(
    ("written", "role"),
    [("human", "user"), ("Human", "user"), ("ai", "assistant"), ("developer", "system"), ("function", "tool")],
)
def test_role_names_of_other_apis(written: str, role: str) -> None:
    (message,) = read_messages([{"role": written, "content": "x"}])
    assert (message.role, message.speaker) == (role, None)


def test_an_unknown_role_is_a_person() -> None:
    first, second = read_messages([("Ann", "Hi"), {"speaker": "Bob", "text": "Hello"}])
    assert (first.role, first.speaker, second.role, second.speaker) == ("", "Ann", "", "Bob")


def test_parts_keep_the_text_and_leave_placeholders() -> None:
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "input_audio", "input_audio": {"data": "BBBB"}},
        {"type": "file", "file": {"filename": "plan.pdf", "file_data": "CCCC"}},
        {"type": "thinking", "thinking": "hidden"},
        "and a bare string",
    ]
    (message,) = read_messages([{"role": "user", "content": parts}])
    assert message.text == "What is this?\n[image]\n[audio]\n[file: plan.pdf]\nand a bare string"


def test_tool_calls_and_results() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}]
    call, result = read_messages(
        [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": "c1", "name": "weather", "content": "31 degrees"},
        ]
    )
    assert call.text == '[calls weather({"city": "Rome"})]'
    assert call.metadata["tool_calls"] == calls
    assert (result.role, result.speaker, result.metadata["tool_call_id"]) == ("tool", "weather", "c1")


def test_anthropic_blocks() -> None:
    call, result = read_messages(
        [
            {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {"größe": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "done"}]}]},
        ]
    )
    assert call.text == '[calls f({"größe": 1})]'
    assert result.text == "done"


def test_what_a_model_thinks_aloud_is_left_out_and_what_a_user_writes_is_not() -> None:
    text = "<think>\nIs it Porto?\n</think>\n\nTo Porto."
    read = read_messages([{"role": "assistant", "content": text}, {"role": "user", "content": text}])
    assert [message.text for message in read] == ["To Porto.", text]


def test_an_empty_answer_is_an_empty_message_and_a_refusal_is_words() -> None:
    empty, refused = read_messages(
        [{"role": "assistant", "content": None}, {"role": "assistant", "content": None, "refusal": "I can't."}]
    )
    assert (empty.text, refused.text) == ("", "I can't.")


@pytest.mark.parametrize(
    "written",
    [
        "2024-05-03T14:05:00Z",
        "2024-05-03 14:05",
        utc(2024, 5, 3, 14, 5),
        1714745100,
        1714745100000,
        "2:05 pm on 3 May, 2024",
    ],
)
@pytest.mark.parametrize("key", ["at", "timestamp", "created_at", "createdAt", "sent_at", "datetime"])
def test_times(written: object, key: str) -> None:
    (message,) = read_messages([{"role": "user", "content": "x", key: written, "id": 7}])
    assert message.at == utc(2024, 5, 3, 14, 5)
    assert message.id == "7"


def test_metadata_comes_through() -> None:
    (message,) = read_messages([{"role": "user", "content": "x", "metadata": {"channel": "mail"}}])
    assert dict(message.metadata) == {"channel": "mail"}


def test_objects_that_dump_to_a_dict() -> None:
    class Reply:
        def model_dump(self) -> dict[str, object]:
            return {"role": "assistant", "content": "Hello", "audio": None, "tool_calls": None}

    (message,) = read_messages([Reply()])
    assert (message.role, message.text, dict(message.metadata)) == ("assistant", "Hello", {})


@pytest.mark.parametrize(
    ("items", "carried"),
    [
        ("just text", "just text"),
        ({"role": "user", "content": "x"}, "list"),
        ([{"content": "no role"}], "message 0.*no role"),
        ([("user", "fine"), {"role": "user"}], "message 1.*needs a 'content'"),
        ([{"role": "user", "content": 5}], "content is text or a list of parts, not 5"),
        ([{"role": "user", "content": [5]}], "a content part is text or a dict, not 5"),
        ([{"role": 3, "content": "x"}], "needs a 'role'"),
        (["a bare string"], "a bare string"),
        ([42], "42"),
        ([{"role": "user", "content": "x", "at": "yesterday"}], "no time.*yesterday"),
        ([{"role": "user", "content": "x", "at": "2024-06-31"}], "no time.*2024-06-31"),
        ([Message("user", "I moved to Ghent.")], r"message 0.*are swapped.*Message\(text, role='user'\)"),
    ],
)
def test_what_cannot_be_read_is_named(items: object, carried: str) -> None:
    with pytest.raises(InvalidTranscript, match=carried):
        read_messages(items)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "message", [Message("user"), Message("AI", ""), Message("human", "assistant"), Message("x", "Ann")]
)
def test_words_that_are_the_name_of_a_role_are_words(message: Message) -> None:
    assert read_messages([message]) == (message,)


# transcripts


def test_the_shortest_transcript() -> None:
    (session,) = read_transcript("Ann: hi\nBob: hello")
    assert [turn.text for turn in session.turns] == ["Ann: hi", "Bob: hello"]
    assert {message.role for message in session.messages} == {""}


def test_blank_text_gives_no_session() -> None:
    assert read_transcript(" \n\n") == ()


def test_an_utterance_goes_on_over_lines_and_paragraphs() -> None:
    text = "User: first line\nsecond line\n\nnew paragraph\n\nAssistant:\nbelow the name\n"
    assert said(text) == [("user", "first line\nsecond line\n\nnew paragraph"), ("assistant", "below the name")]


def test_roles_make_exchanges() -> None:
    (session,) = read_transcript("Human: one\nAI: two\nHuman: three\nAI: four")
    assert [len(turn.messages) for turn in session.turns] == [2, 2]
    assert session.turns[0].text == "Human: one\nAI: two"


ASIDES = """\
Ann: I wrote it all down.
Note: bring the blue folder
see https://example.org/a:b and C:\\temp
at 10:30 we leave
10:30 sharp: no excuses
The thing is: I forget.
Note: and the key
Bob: Which train?
Ann: Shopping first.
Milk: two litres
Bob: Fine.
"""


def test_asides_links_clock_times_and_lists_are_words() -> None:
    told = said(ASIDES)
    assert [who for who, _ in told] == ["Ann", "Bob", "Ann", "Bob"]
    assert told[0][1].count("\n") == 6
    assert told[2][1] == "Shopping first.\nMilk: two litres"


def test_no_word_is_lost_whatever_the_speakers() -> None:
    kept = "\n".join(f"{who}: {words}" for who, words in said(ASIDES))
    assert kept == ASIDES.strip()


LINES = ["Ann: hi", "Bob: oh", "Note: that", "10:30 we go", "14:05 Ann: now", "", "(laughs) no", "x: y: z", "Milk: 1"]


@pytest.mark.slow
def test_no_word_is_lost_from_any_mixture_of_lines() -> None:
    hypothesis = pytest.importorskip("hypothesis")
    some = hypothesis.strategies.lists(hypothesis.strategies.sampled_from(LINES), max_size=12)

    @hypothesis.settings(max_examples=200, deadline=None)
    @hypothesis.given(some)
    def check(lines: list[str]) -> None:
        (session,) = read_transcript("\n".join(["Ann: begins", *lines]))
        heard = " ".join(" ".join([message.metadata.get("time", ""), message.line]) for message in session.messages)
        assert heard.split() == " ".join(["Ann: begins", *lines]).split()

    check()


def test_long_lines_are_read_in_time_that_grows_with_them() -> None:
    text = "Ann: hi\n# " + "a " * 50_000 + "\n" + "(" * 50_000 + "\n" + "Bob" * 50_000 + ":\n-- " + " " * 50_000
    began = time.perf_counter()
    (session,) = read_transcript(text)
    assert time.perf_counter() - began < 2
    assert len(session.messages) == 1


def test_somebody_who_speaks_once_is_known_by_being_named() -> None:
    text = "Ann: Carl, are you in?\nBob: He should be.\nAnn: Carl?\nCarl: I am.\nBob: Good.\nDora: Me too."
    assert [who for who, _ in said(text)] == ["Ann", "Bob", "Ann", "Carl", "Bob"]
    assert "Dora: Me too." in said(text)[-1][1]


@pytest.mark.parametrize("name", ["🐈 Cat Lady 🐈", "🐈 cat", "+32 470 12 34 56", "@ann_92", "user#1234", "Ann 🌸"])
def test_names_with_pictures_numbers_and_accounts_are_speakers(name: str) -> None:
    text = f"Bob: yes\n{name}: hi there\nBob: two\n{name}: bye"
    assert said(text) == [("Bob", "yes"), (name, "hi there"), ("Bob", "two"), (name, "bye")]
    first = f"{name}: meow\nBob: hi"
    assert said(first) == [(name, "meow"), ("Bob", "hi")]


def test_an_account_with_a_number_speaks_once_too() -> None:
    text = "Bob: yes\nann: hi\nBob: two\nann: bye\nuser#1234: x"
    assert [who for who, _ in said(text)] == ["Bob", "ann", "Bob", "ann", "user#1234"]


def test_whom_somebody_speaks_to_is_no_speaker() -> None:
    text = "Ann: hello\n@Bob: are you in?\nBob: yes\n@ann: I am\nAnn: good\n@Bob: fine\n📌 Note: a\n📌 Note: b"
    assert [who for who, _ in said(text)] == ["Ann", "Bob", "Ann"]


def test_labels_in_an_assistants_list_are_no_speakers() -> None:
    text = "User: Compare them.\nAssistant: A\nPrice: 10\nSize: 3\nB\nPrice: 12\nSize: 4\nUser: Thanks."
    assert [who for who, _ in said(text)] == ["user", "assistant", "user"]


def test_named_speakers_decide() -> None:
    text = "Ann: list\nMilk: 1\nMilk: 2\nBob: ok"
    assert [who for who, _ in said(text)] == ["Ann", "Milk", "Milk", "Bob"]
    assert [who for who, _ in said(text, speakers=["ann", "Bob"])] == ["Ann", "Bob"]


@pytest.mark.parametrize(
    "line",
    [
        "[2024-05-03 14:05] Ann: hi",
        "[2024-05-03T14:05:00] Ann: hi",
        "2024-05-03T14:05:00Z Ann: hi",
        "2024-05-03T16:05:00+02:00 Ann: hi",
        "2024-05-03 14:05 - Ann: hi",
        "(3 May 2024, 2:05 pm) Ann: hi",
        "[May 3rd, 2024 at 2:05 PM] Ann: hi",
        "[2024年5月3日 14:05] Ann: hi",
        "Ann (2024-05-03 14:05): hi",
        "**Ann** [2024-05-03 14:05]: hi",
    ],
)
def test_stamps(line: str) -> None:
    ((session),) = read_transcript(line)
    (message,) = session.messages
    assert (message.speaker, message.text, message.at) == ("Ann", "hi", utc(2024, 5, 3, 14, 5))


def test_in_a_stamped_transcript_a_name_needs_no_second_line() -> None:
    text = "[2024-05-03 14:05] Ann: a\nMilk: 1\n[2024-05-03 14:06] Bob: b\n[2024-05-03 14:07] Carl Lee: c"
    assert said(text) == [("Ann", "a\nMilk: 1"), ("Bob", "b"), ("Carl Lee", "c")]


def test_a_clock_falls_on_the_sessions_day_and_past_midnight_on_the_next() -> None:
    (session,) = read_transcript("--- 3 May 2024 ---\n23:50 Ann: late\nAnn: very\n0:10 Ann: later")
    assert [message.at for message in session.messages] == [
        utc(2024, 5, 3, 23, 50),
        utc(2024, 5, 3, 23, 50),
        utc(2024, 5, 4, 0, 10),
    ]


def test_a_clock_without_a_day_is_kept_aside() -> None:
    (session,) = read_transcript("14:05 Ann: hi\n14:06 Bob: ho")
    assert [message.at for message in session.messages] == [None, None]
    assert [message.metadata["time"] for message in session.messages] == ["14:05", "14:06"]
    (dated,) = read_transcript("14:05 Ann: hi\n14:06 Bob: ho", at=utc(2024, 5, 3, 9))
    assert [message.at for message in dated.messages] == [utc(2024, 5, 3, 14, 5), utc(2024, 5, 3, 14, 6)]


@pytest.mark.parametrize("kind", ["poem", "text", "callout", None])
def test_an_item_without_a_role_that_is_no_step_of_a_model_is_refused(kind: str | None) -> None:
    with pytest.raises(InvalidTranscript, match="message 1: needs a 'role'"):
        read_messages([{"type": "reasoning"}, {"type": kind, "text": "Roses are red."}])


def test_times_and_days_without_a_zone_are_of_the_one_that_is_named() -> None:
    [session] = read_transcript("--- 3 May 2024 ---\n23:30 Ann: hi\n00:10 Bob: ho", timezone="America/New_York")
    assert [str(each.at) for each in session.messages] == ["2024-05-03 23:30:00-04:00", "2024-05-04 00:10:00-04:00"]
    given = ["2024-05-03", "2024-05-03T09:00:00+02:00", datetime(2024, 5, 3), 1714737900]
    read = read_messages([{"role": "user", "content": "hi", "at": at} for at in given], timezone="America/New_York")
    assert [str(each.at) for each in read] == [
        "2024-05-03 00:00:00-04:00",
        "2024-05-03 09:00:00+02:00",
        "2024-05-03 00:00:00-04:00",
        "2024-05-03 12:05:00+00:00",
    ]


def test_zones_are_kept() -> None:
    (session,) = read_transcript("[2024-05-03 14:05-05:30] Ann: hi")
    assert session.at is not None
    assert session.at.utcoffset() == -timedelta(hours=5, minutes=30)


@pytest.mark.parametrize(
    ("header", "at"),
    [
        ("--- 3 May 2024 ---", utc(2024, 5, 3)),
        ("# 2024-05-03", utc(2024, 5, 3)),
        ("=== Session 2: May 3, 2024, 2:05 pm ===", utc(2024, 5, 3, 14, 5)),
        ("## Session 2", None),
        ("Session 2 (2024-05-03)", utc(2024, 5, 3)),
        ("Friday, 3 May 2024", utc(2024, 5, 3)),
        ("**** 2024年5月3日 ****", utc(2024, 5, 3)),
        ("--- 3. März 2024 ---", utc(2024, 3, 3)),
        ("Freitag, den 3. Mai 2024", utc(2024, 5, 3)),
        ("--- 03.05.2024, 14:05 ---", utc(2024, 5, 3, 14, 5)),
        ("--- 1er août 2024 ---", utc(2024, 8, 1)),
        ("--- vendredi 3 mai 2024 ---", utc(2024, 5, 3)),
        ("--- 3 de enero de 2024 ---", utc(2024, 1, 3)),
        ("## 3 dicembre 2024", utc(2024, 12, 3)),
        ("## 3 de dezembro de 2024", utc(2024, 12, 3)),
    ],
)
def test_headers(header: str, at: datetime | None) -> None:
    first, second = read_transcript(f"Ann: one\nBob: two\n\n{header}\n\nAnn: three")
    assert [turn.text for turn in first.turns] == ["Ann: one", "Bob: two"]
    assert second.at == at
    assert second.turns[0].session == second.name != first.name


@pytest.mark.parametrize("line", ["# Plan", "### Day 1", "2024-05-03", "---", "- 3 May 2024", "--- the end ---"])
def test_what_is_no_header_stays_words(line: str) -> None:
    assert said(f"Ann: one\n{line}\nBob: two") == [("Ann", f"one\n{line}"), ("Bob", "two")]


@pytest.mark.parametrize("header", ["--- 3/5/2024 ---", "# 3 mei 2024"])
def test_a_header_whose_day_is_not_read_is_refused_with_what_is_read(header: str) -> None:
    with pytest.raises(InvalidTranscript, match=r"line 1: expected a day such as 2024-05-03 or 3 May 2024, .*, got"):
        read_transcript(f"{header}\nAnn: one\nBob: two")


def test_two_sessions_of_one_day_have_two_names() -> None:
    first, second = read_transcript("# 2024-05-03\nAnn: a\nBob: b\n# 2024-05-03\nAnn: c\nBob: d")
    assert (first.name, second.name) == ("2024-05-03", "2024-05-03 (2)")


def test_at_dates_the_first_session_only() -> None:
    first, second = read_transcript("Ann: a\nBob: b\n## Session 2\nAnn: c\nBob: d", at=utc(2024, 5, 3))
    assert (first.at, second.at) == (utc(2024, 5, 3), None)


def test_chinese_names_and_colons() -> None:
    text = "小林：你好\n阿芳：好的，注意：12:30 见\n注意：带伞\n小林:走吧"
    assert said(text) == [("小林", "你好"), ("阿芳", "好的，注意：12:30 见\n注意：带伞"), ("小林", "走吧")]


def test_a_stage_direction_stays_with_the_words() -> None:
    assert said("Ann (laughing): no\nBob: yes\nAnn: well") == [
        ("Ann", "(laughing) no"),
        ("Bob", "yes"),
        ("Ann", "well"),
    ]


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("Once upon a time\nAnn: hi", "line 1.*Once upon a time"),
        ("\n\nhttps://example.org", "line 3.*https"),
        ("Ann: a\nBob: b\n# 2024-05-03\nthey laughed\nAnn: c", "line 4.*they laughed"),
    ],
)
def test_words_of_nobody_are_named(text: str, carried: str) -> None:
    with pytest.raises(InvalidTranscript, match=carried):
        read_transcript(text)


@pytest.mark.parametrize(
    ("said", "private"),
    [
        (
            "14:05:10\t From  Ann Lee : Hi: all\n",
            "14:06:10\t From  bob  to  Ann Lee(Direct Message) : From me to you\n",
        ),
        (
            "14:05:10 From Ann Lee to Everyone : Hi: all\n",
            "14:06:10 From bob to Ann Lee (Privately) : From me to you\n",
        ),
        ("14:05:10\t From Ann Lee to Everyone:\n\tHi: all\n", "14:06:10\t From bob To Ann Lee:\n\tFrom me to you\n"),
    ],
)
def test_the_chat_that_zoom_saves_names_who_speaks_and_not_to_whom(said: str, private: str) -> None:
    [session] = read_transcript(said + private + said)
    found = [(message.speaker, message.text, message.metadata["time"]) for message in session.messages]
    first = ("Ann Lee", "Hi: all", "14:05")
    assert found == [first, ("bob", "From me to you", "14:06"), first]


MEETING = "Weekly sync\nMay 12, 2026, 10:00AM\n\nKatrin Vogel   0:03\nThe launch is on\nTuesday.\n\nTom   {}\nGood.\n"


@pytest.mark.parametrize(("clock", "at"), [("75:10", "11:15:10"), ("1:02:03", "11:02:03")])
def test_a_title_and_a_day_above_the_first_name_name_the_session_and_say_when_it_began(clock: str, at: str) -> None:
    [session] = read_transcript(MEETING.format(clock))
    assert session.name == "Weekly sync, May 12, 2026, 10:00AM"
    said = [(each.speaker, each.text, f"{each.at:%m-%d %H:%M:%S}") for each in session.messages]
    assert said == [("Katrin Vogel", "The launch is on\nTuesday.", "05-12 10:00:03"), ("Tom", "Good.", f"05-12 {at}")]


def test_a_time_of_day_above_the_words_stays_one_below_a_title() -> None:
    [session] = read_transcript("Weekly sync\n2026-05-12 10:00\n\nAnn Lee   9:58\nHi\n\nBob Ray   10:01\nHello\n")
    assert [f"{each.at:%H:%M}" for each in session.messages] == ["09:58", "10:01"]


def test_a_time_that_no_calendar_has_after_the_beginning_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidTranscript, match=r"line 4: no time comes 1:02:03 after 9999-12-31 23:59:00"):
        read_transcript("Sync\n9999-12-31 23:59\n\nAnn Lee   1:02:03\nHi\n")


def test_prose_above_a_single_name_and_time_is_no_title() -> None:
    with pytest.raises(InvalidTranscript, match="line 1: expected 'Name: words', got 'The plan of the day'"):
        read_transcript("The plan of the day\n\nLunch  12:30\nBob: ok\n")
