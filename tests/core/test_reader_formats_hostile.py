"""Exports that are damaged, wrong or meant to harm: one clear error, nothing lost, and memory that is bounded."""

from __future__ import annotations

import contextlib
import io
import json
import random
import resource
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import example_exports as examples
from benchmarks import reading as benchmark
from secom_core import MemoryBank
from secom_core.command import main
from secom_core.errors import InvalidTranscript, SecomError
from secom_core.readers import json_stream, read
from secom_core.readers.files import LARGEST_RATIO
from secom_core.readers.json_shape import shape

# -- what is wrong with a file, in one sentence -----------------------------------------------------------------------

CUT = json.dumps(examples.CHATGPT)
WRONG: dict[str, tuple[bytes, str]] = {
    "cut.json": (
        CUT[: CUT.index('"Rent"') + 500].encode(),
        "cut.json: line 1: the file breaks off here; get it once more",
    ),
    "bad.json": (CUT.replace('"title": "Rent",', '"title" "Rent",').encode(), "bad.json: line 1: not JSON: Expecting"),
    "nodeless.json": (
        json.dumps([examples.GARDEN, {"title": "x", "mapping": 5}]).encode(),
        "nodeless.json: conversation 2: ",
    ),
    "other.json": (
        b'{"participants": [{"name": "a"}], "messages": [{"sender_name": "a", "content": "x"}]}',
        "other.json: message 0: needs a 'role' (or a 'speaker'), got {'sender_name': 'a', 'content': 'x'}. It was read "
        "as role/content messages, JSON or JSON lines; say with --format what else it is, or write each message as {",
    ),
    "sms.xml": (
        b'\xef\xbb\xbf<?xml version="1.0"?>\n<smses count="1"><sms body="Hi"/></smses>',
        "sms.xml looks like XML; of a backup of text messages, make a table (CSV)",
    ),
    "note.rtf": (
        b"{\\rtf1\\ansi Ann: Hi\\par}",
        "note.rtf looks like a document in RTF; save the conversation as plain",
    ),
    "photo.jpg": (b"\xff\xd8\xff\xe0\0\x10JFIF", "photo.jpg looks like a picture; pictures hold no text that is read"),
    "talk.pdf": (b"%PDF-1.7\n", "talk.pdf looks like a PDF document; save the conversation as text"),
    "store.db": (b"SQLite format 3\0\x10\0", "store.db looks like a database of SQLite; a store of secom is named"),
    "voice.m4a": (b"\0\0\0\x20ftypM4A ", "voice.m4a looks like a recording; transcribe it first"),
    "chat.html": (b"<!DOCTYPE html><html><body>Hi</body></html>", "chat.html is a web page, and which words"),
    "packed.gz": (b"\x1f\x8b\x08\0\0\0", "packed.gz looks like a file packed by gzip; unpack it first"),
    "packed.xz": (b"\xfd7zXZ\0", "packed.xz looks like a file packed by xz; unpack it first, with unxz"),
    "hollow.zip": (b"PK\x05\x06" + b"\0" * 18, "hollow.zip is empty; get the export once more"),
    "hollow.json": (b"\n", "hollow.json holds no message"),
    "noise.bin": (bytes(range(256)) * 10, "noise.bin is no text; say what it is with --format"),
    "nothing.txt": (b"", "nothing.txt holds no message"),
    "half.zip": (b"PK\x03\x04" + b"\0" * 40, "half.zip is a zip archive that is damaged or not whole"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_cannot_be_read_is_one_sentence_with_its_name_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    raw, message = WRONG[name]
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(raw)
    with pytest.raises(InvalidTranscript) as caught:
        list(read(name))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_workbook_of_excel_is_told_from_other_archives(tmp_path: Path) -> None:
    path = examples.zipped(tmp_path / "chat.xlsx", {"[Content_Types].xml": "<x/>", "xl/workbook.xml": "<x/>"})
    with pytest.raises(
        InvalidTranscript, match="looks like a workbook of Excel; save the table with the messages as CSV"
    ):
        list(read(path))


def test_of_a_damaged_file_nothing_is_remembered_and_with_partial_what_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cut.json").write_bytes(WRONG["cut.json"][0])
    words = ["remember", "cut.json", "--scope", "ann"]
    assert main(words) == 1
    assert "the file breaks off here" in capsys.readouterr().err
    assert not Path("memory.db").exists()
    assert main([*words, "--partial"]) == 0
    told = capsys.readouterr()
    assert told.out == "4 messages remembered, in 1 session\n"
    assert "not all of it could be read: line 1: the file breaks off here" in told.err
    Path("cut.json").write_text(CUT)
    assert main(words) == 0
    assert capsys.readouterr().out == "2 messages remembered, 4 known already, in 2 sessions\n"


def test_a_bad_conversation_among_good_ones_is_named_or_passed_over(tmp_path: Path) -> None:
    broken = {"title": "Broken", "mapping": {"a": {"message": {"content": [], "author": 5}}}, "current_node": "a"}
    path = examples.write(tmp_path, {"c.json": [examples.GARDEN, broken, examples.RENT]}) / "c.json"
    with pytest.raises(InvalidTranscript, match="conversation 2"):
        list(read(path))
    said: list[str] = []
    assert len(list(read(path, partial=True, note=said.append))) == 2
    assert any("passed over" in each and "conversation 2" in each for each in said)


def test_what_came_before_the_damage_is_given_before_the_error(tmp_path: Path) -> None:
    path = examples.write(tmp_path, {"c.json": WRONG["cut.json"][0]}) / "c.json"
    found = read(path)
    assert next(found).name.startswith("Garden")
    with pytest.raises(InvalidTranscript):
        next(found)


# -- archives ---------------------------------------------------------------------------------------------------------


def test_names_that_climb_lead_nowhere(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    path = examples.zipped(
        inside / "x.zip", {"../../conversations.json": examples.CHATGPT, "/etc/passwd": "x", "..\\y.txt": "y"}
    )
    before = sorted(tmp_path.rglob("*"))
    assert len(list(read(path))) == 2
    assert sorted(tmp_path.rglob("*")) == before


def test_links_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    secret = examples.write(tmp_path / "elsewhere", {"conversations.json": examples.CHATGPT})
    given = tmp_path / "export"
    given.mkdir()
    (given / "conversations.json").symlink_to(secret / "conversations.json")
    (given / "more").symlink_to(secret)
    with pytest.raises(InvalidTranscript, match="is empty"):
        list(read(given))


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("conversations.json", "w") as out:
        for _ in range(110):
            out.write(b"[" * 1_000_000)
    with pytest.raises(InvalidTranscript, match=rf"conversations.json grows [\d,]+ times .* at most {LARGEST_RATIO}"):
        list(read(path))


def test_an_archive_in_an_archive_is_named(tmp_path: Path) -> None:
    inner = examples.zipped(tmp_path / "inner.zip", {"conversations.json": examples.CHATGPT})
    path = examples.zipped(tmp_path / "outer.zip", {"inner.zip": inner.read_bytes()})
    with pytest.raises(InvalidTranscript, match=r"holds another archive, inner\.zip; unpack"):
        list(read(path))


def test_an_archive_in_a_folder_is_to_be_given_itself(tmp_path: Path) -> None:
    examples.zipped(tmp_path / "inner.zip", {"conversations.json": examples.CHATGPT})
    with pytest.raises(InvalidTranscript, match=r"holds another archive, inner\.zip; give inner\.zip"):
        list(read(tmp_path))


def test_what_else_lies_in_a_folder_is_named(tmp_path: Path) -> None:
    names, notes = ("conversations.json", "result.json", "WhatsApp Chat with Choir.txt"), list[str]()
    examples.write(tmp_path, {name: examples.FILES[name] for name in names})
    examples.zipped(tmp_path / "inner.zip", {"conversations.json": examples.CHATGPT})
    assert len(list(read(tmp_path, note=notes.append))) == 2
    told = (
        "read as an export of ChatGPT; give by themselves what else it holds: an export of Telegram (--format telegram"
    )
    assert told in notes[0]
    assert "(--format whatsapp: WhatsApp Chat with Choir.txt), archives (inner.zip)" in notes[0]


@pytest.mark.parametrize(
    ("first", "then", "hint"), [(["--me", "Ann"], [], "give the same --me"), ([], ["--me", "Ann"], "leave --me out")]
)
def test_a_chat_whose_owner_was_named_only_once_is_refused_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], first: list[str], then: list[str], hint: str
) -> None:
    chat = examples.write(tmp_path, {"WhatsApp Chat with Choir.txt": examples.ANDROID}) / "WhatsApp Chat with Choir.txt"
    words = ["remember", str(chat), "--scope", "ann", "--store", str(tmp_path / "memory.db")]
    assert main([*words, *first]) == 0
    assert main([*words, *then]) == 1
    assert hint in capsys.readouterr().err


def test_a_locked_archive_says_so(tmp_path: Path) -> None:
    path = examples.zipped(tmp_path / "x.zip", {"conversations.json": examples.CHATGPT})
    raw = bytearray(path.read_bytes())
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        raw[raw.index(mark) + place] |= 1
    path.write_bytes(raw)
    with pytest.raises(InvalidTranscript, match="is locked with a password; unpack it with yours"):
        list(read(path))


@pytest.mark.slow
def test_a_damaged_archive_gives_sessions_or_an_error_of_the_project(tmp_path: Path) -> None:
    whole = examples.zipped(tmp_path / "x.zip", examples.SLACK).read_bytes()
    draw = random.Random(3)
    for _ in range(300):
        raw = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            start = draw.randrange(len(raw))
            raw[start : start + draw.choice((0, 1, 1, 8))] = draw.randbytes(draw.choice((0, 1, 1, 8)))
        with contextlib.suppress(SecomError):
            list(read(io.BytesIO(bytes(raw)), note=len))


# -- JSON, piece by piece ---------------------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=80, deadline=None)
@given(st.lists(VALUES, max_size=6), st.integers(1, 9), st.booleans(), st.integers(0, 3))
def test_a_list_read_in_small_pieces_is_what_json_reads(
    values: list[Any], piece: int, is_ascii: bool, indent: int
) -> None:
    text = json.dumps(values, ensure_ascii=is_ascii, indent=indent or None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_PIECE", piece)
        stream = json_stream.JsonStream(io.StringIO(text))
        assert [stream.value() for _ in stream.items()] == values
        assert stream.peek() == ""
        passed = json_stream.JsonStream(io.StringIO(f"{text}7"))
        assert sum(1 for _ in passed.items()) == len(values)
        assert passed.value() == 7


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.text(max_size=6), VALUES, max_size=5), st.integers(1, 9), st.integers(0, 400))
def test_an_object_read_in_small_pieces_is_what_json_reads_and_a_cut_one_is_refused(
    values: dict[str, Any], piece: int, cut: int
) -> None:
    text = json.dumps(values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "_PIECE", piece)
        stream = json_stream.JsonStream(io.StringIO(text))
        assert {name: stream.value() for name in stream.members()} == values
        broken = json_stream.JsonStream(io.StringIO(text[: min(cut, len(text) - 1)]))
        with pytest.raises(InvalidTranscript):
            dict.fromkeys(broken.members())


def test_half_of_a_pair_of_surrogates_stays_as_it_is() -> None:
    stream = json_stream.JsonStream(io.StringIO('["\\ud83d x", "\\ud83d\\ude00"]'))
    assert [stream.value() for _ in stream.items()] == ["\ud83d x", "😀"]


def test_the_shape_of_a_text_is_that_of_its_beginning() -> None:
    whole = shape('{"a": {"b": [{"c": 1}, {"d": "} ]"}]}, "e": [[1, {"f": 2}]], "g": "{\\"h\\": 1}"}')
    assert whole == {"a", "a.b", "a.b[].c", "a.b[].d", "e", "e[][].f", "g"}
    assert shape('{"messages": [{"role": "user"}, {"con') == {"messages", "messages[].role"}
    assert shape("Ann: {}") == frozenset()


# -- memory -----------------------------------------------------------------------------------------------------------


def _large(folder: Path, name: str, pieces: Iterator[str]) -> Path:
    path = folder / name
    with path.open("w", encoding="utf-8") as out:
        out.writelines(pieces)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("product", "form"), [("chatgpt", "zip"), ("whatsapp", "plain")])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, product: str, form: str) -> None:
    """The file is several times as large as what the process may take on top of what it has at its beginning."""
    make, name = {"chatgpt": (benchmark.chatgpt, "conversations.json"), "whatsapp": (benchmark.whatsapp, "c.txt")}[
        product
    ]
    megabytes = 50 if product == "chatgpt" else 20
    path = _large(tmp_path, name, make(megabytes))
    if form == "zip":
        with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.write(path, name)
        path = tmp_path / "x.zip"
    command = [sys.executable, "-m", "benchmarks.reading", "--one", str(path)]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert told["messages"] > 10_000
    assert told["peak"] - told["before"] < 16


def test_the_peak_that_is_measured_is_in_megabytes() -> None:
    assert 5 < resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3) < 1e5


@pytest.mark.slow
def test_a_record_that_is_too_long_is_refused_without_being_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "LARGEST_RECORD", 1_000_000)
    text = '[{"mapping": {"a": {"parent": null, "message": "' + "x" * 3_000_000
    with pytest.raises(InvalidTranscript, match="a record of more than 1,000,000 characters"):
        list(read(io.BytesIO(text.encode())))


# -- the command ------------------------------------------------------------------------------------------------------


def test_the_command_takes_the_format_the_name_the_zone_and_the_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    examples.write(tmp_path, {"chat.txt": examples.ANDROID, "t.csv": "who,note\nAnn,Hi\n", "slack": "x"})
    words = ["--scope", "ann", "--me", "Ann"]
    given = ["--format", "whatsapp", "--timezone", "Europe/Brussels", "--dates", "day-first"]
    assert main(["remember", "chat.txt", *given, *words]) == 0
    assert main(["remember", "t.csv", "--columns", "text=note", "speaker=who", *words]) == 0
    with MemoryBank.open("memory.db") as bank:
        said = [message for turn in bank.turns(("ann",)) for message in turn.messages]
    assert [(each.speaker, each.role) for each in said if each.speaker == "Ann"] == [("Ann", "user")] * 2
    assert str(said[0].at) == "2024-05-03 14:06:00+02:00"
    capsys.readouterr()
    assert main(["remember", "chat.txt", "--format", "slack", *words]) == 1
    told = capsys.readouterr().err
    assert told.startswith("secom: chat.txt does not look like an export of Slack; it looks like a chat exported from")
    with pytest.raises(SystemExit):
        main(["remember", "t.csv", "--columns", "note", *words])
    assert "a column is given as text=body" in capsys.readouterr().err


def test_standard_input_may_be_an_archive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = examples.zipped(tmp_path / "x.zip", {"conversations.json": examples.CHATGPT}).read_bytes()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    assert main(["remember", "-", "--scope", "ann"]) == 0
    assert capsys.readouterr().out == "6 messages remembered, in 2 sessions\n"


def test_the_same_words_twice_in_a_minute_are_two_messages(tmp_path: Path) -> None:
    text = "03/05/24, 14:05 - Ann: Hi\n03/05/24, 14:05 - Ann: Hi\n"
    path = examples.write(tmp_path, {"c.txt": text}) / "c.txt"
    [session] = read(path)
    assert len({message.id for message in session.messages}) == 2
    later = deepcopy(text) + "03/05/24, 14:06 - Ann: Hi\n"
    path.write_text(later)
    [grown] = read(path)
    assert [each.id for each in grown.messages][:2] == [each.id for each in session.messages]


def test_an_error_names_the_file_within_a_folder_or_an_archive(tmp_path: Path) -> None:
    whole = json.dumps([{"uuid": "1", "name": "a", "chat_messages": [{"sender": "human", "text": "Hi"}]}])
    examples.write(tmp_path, {"export/a.json": whole, "export/b.json": whole[:-9]})
    with pytest.raises(InvalidTranscript, match=r"export.*b\.json: line 1: the file breaks off here"):
        list(read(tmp_path / "export"))


def test_a_long_message_of_quotes_at_the_beginning_is_read_at_once(tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": '{"a":1},' * 9_000 + "\\" * 9}]))
    began = time.thread_time()
    [session] = read(path)
    assert time.thread_time() - began < 2
    assert session.messages[0].text.startswith('{"a":1}')
