"""Exports of what people use, in the shape that each product gives them: what they are taken for, and what is read."""

from __future__ import annotations

import gc
import io
import json
import shutil
import sys
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from copy import deepcopy
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from benchmarks import example_exports as examples
from secom_core import MemoryBank, Message
from secom_core.conversation import Session, group_messages
from secom_core.errors import InvalidInput, InvalidTranscript, MissingExtra
from secom_core.readers import FORMATS, format_of, read
from secom_core.readers.files import export_at

ALICE = ("acme", "alice")
Row = tuple[str, str | None, str, str]


def rows(sessions: Iterable[Session]) -> dict[str, list[Row]]:
    """By session: role, speaker, the time in UTC, and the words of each message."""
    found: dict[str, list[Row]] = {}
    for session in sessions:
        said = [(each.role, each.speaker, utc(each.at), each.text) for each in session.messages]
        found.setdefault(session.name, []).extend(said)
    return found


def utc(at: datetime | None) -> str:
    return f"{at.astimezone(timezone.utc):%Y-%m-%d %H:%M:%S}" if at else ""


def of(tmp_path: Path, name: str, content: Any, **options: Any) -> dict[str, list[Row]]:
    return rows(read(examples.write(tmp_path, {name: content}) / name, **options))


# -- what each format gives -------------------------------------------------------------------------------------------

EXPECTED: dict[str, tuple[str, dict[str, list[Row]]]] = {
    "conversations.json": (
        "chatgpt",
        {
            "Garden in May (6634e7a0)": [
                (
                    "user",
                    None,
                    "2024-05-03 12:01:40",
                    "[image]\nWhen do I plant tomatoes in Ghent?\n[file: bed.jpg]",
                ),
                ("assistant", None, "2024-05-03 12:01:40", "[calls web.run(search('Ghent'))]"),
                ("tool", "web.run", "2024-05-03 12:01:40", "Last frost: 12 May"),
                ("assistant", None, "2024-05-03 12:02:00", "After 15 May."),
            ],
            "Rent (665a6f00)": [
                ("user", None, "2024-06-01 00:00:01", "My rent is 850 € now. 🏠"),
                ("assistant", None, "2024-06-01 00:00:02", "Noted."),
            ],
        },
    ),
    "claude.json": (
        "claude",
        {
            "Choir trip (11111111)": [
                (
                    "user",
                    None,
                    "2024-06-01 08:00:01",
                    "Which train to Bruges?\n[file: plan.txt]\nChoir: 15 June\n[file: map.png]",
                ),
                (
                    "assistant",
                    None,
                    "2024-06-01 08:00:05",
                    '[calls trains({"to": "Bruges"})]\n9:04, 10:04\nThe 9:04.',
                ),
            ]
        },
    ),
    "deepseek.json": (
        "deepseek",
        {
            "Derivatives (5b1e0000)": [
                ("user", None, "2025-02-01 02:00:01", "What is the derivative of x^3?"),
                ("assistant", None, "2025-02-01 02:00:09", "It is 3x^2."),
            ]
        },
    ),
    "open-webui.json": (
        "open-webui",
        {
            "🌳 Trees (7f0e0000)": [
                ("user", None, "2025-05-27 10:00:00", "Which trees like clay?\n[file: bed.pdf]"),
                ("assistant", None, "2025-05-27 10:00:05", "Alder and willow."),
            ]
        },
    ),
    "librechat.json": (
        "librechat",
        {
            "Pans (4a86c40e)": [
                ("user", None, "2024-05-01 16:35:11", "Which pan?\n[file: stove.jpg]"),
                (
                    "assistant",
                    None,
                    "2024-05-01 16:35:20",
                    'I look.\n[calls stock({"size": 28})]\ntwo left\nTake the 28 cm pan.',
                ),
                ("user", None, "2024-05-01 16:35:40", "And a lid?"),
            ]
        },
    ),
    "prod-grok-backend.json": (
        "grok",
        {
            "Markets (8c1f0000)": [
                ("user", None, "2025-03-01 09:00:00", "Which markets are there?\n[file]"),
                ("assistant", None, "2025-03-01 09:01:00", "Ghent has three. The nearest is the Friday market."),
                ("user", None, "2025-03-01 09:01:40", "Draw it."),
                ("assistant", None, "2025-03-01 09:01:50", "[image]"),
            ]
        },
    ),
    "rollout-2026-04-22.jsonl": (
        "codex",
        {
            "shop (f4bd0ec8)": [
                ("user", None, "2026-04-22 19:00:01", "Why does the login fail?"),
                ("assistant", None, "2026-04-22 19:00:03", "I look."),
                ("assistant", None, "2026-04-22 19:00:04", '[calls exec_command({"cmd": "make"})]'),
                (
                    "assistant",
                    None,
                    "2026-04-22 19:00:06",
                    f'[calls apply_patch({{"input": "…"}})]\n{examples.PATCH}',
                ),
                ("assistant", None, "2026-04-22 19:00:07", "It waited too briefly."),
            ]
        },
    ),
    "KakaoTalkChats.txt": (
        "kakaotalk",
        {
            "독서 모임 2024-05-03": [
                ("", "지민", "2024-05-03 00:05:00", "다음 책은 뭐예요? : )\n두 권 중에서"),
                ("", "민호", "2024-05-03 15:21:00", "[image]"),
            ],
            "독서 모임 2024-05-04": [("", "민호", "2024-05-04 12:01:00", "소년이 온다")],
        },
    ),
    "5d1e2b3c.jsonl": (
        "claude-code",
        {
            "shop (5d1e2b3c)": [
                ("user", None, "2025-10-01 10:00:01", "Why does the login fail?"),
                (
                    "assistant",
                    None,
                    "2025-10-01 10:00:02",
                    'I look.\n[calls Write({"file_path": "a.md", "content": "…"})]\n# Login\nIt waits.',
                ),
            ]
        },
    ),
    "chat.json": (
        "copilot",
        {
            "chat (8c1d2e3f)": [
                ("user", None, "2025-05-27 10:00:00", "How do I sort a dict by value?"),
                ("assistant", None, "2025-05-27 10:00:00", "Use `sorted` in prices.py."),
            ]
        },
    ),
    "MyActivity.json": (
        "gemini",
        {
            "Gemini 2024-07-02": [
                ("user", None, "2024-07-02 09:00:00", "How do I get to Damme?"),
                ("assistant", None, "2024-07-02 09:00:00", "Walk along the canal & turn left."),
                ("user", None, "2024-07-02 09:01:00", "And by bus?"),
                ("assistant", None, "2024-07-02 09:01:00", "Take the 44.\n- runs hourly"),
            ]
        },
    ),
    "MyActivity.html": (
        "gemini",
        {
            "Gemini 2024-07-02": [
                ("user", None, "2024-07-02 09:00:00", "How do I get to Damme?"),
                ("assistant", None, "2024-07-02 09:00:00", "Walk along the canal."),
            ]
        },
    ),
    "WhatsApp Chat with Choir.txt": (
        "whatsapp",
        {
            "Choir 2024-05-03": [
                ("", "Ann", "2024-05-03 14:06:00", "We sing in Bruges.\nBring:\n- a scarf"),
                ("", "Bob", "2024-05-03 14:07:00", "[media]"),
            ],
            "Choir 2024-05-25": [
                ("", "Bob", "2024-05-25 09:10:00", "[file: IMG-20240525-WA0001.jpg]\nthe church"),
                ("", "+32 470 12 34 56", "2024-05-25 09:12:00", "Who is coming: all of us?"),
            ],
        },
    ),
    "_chat.txt": (
        "whatsapp",
        {
            "WhatsApp 2024-05-03": [
                ("", "Ann", "2024-05-03 14:06:00", "We sing in Bruges."),
                ("", "Bob", "2024-05-03 14:07:00", "[image]"),
                ("", "Bob", "2024-05-03 14:08:00", "[file: 00000012-PHOTO-2024-05-03.jpg]"),
                ("", "Ann", "2024-05-03 14:09:00", "See you at 8!"),
            ]
        },
    ),
    "[LINE] 山田太郎とのトーク.txt": (
        "line",
        {
            "山田太郎 2024-05-03": [
                ("", "山田太郎", "2024-05-03 10:15:00", "おはよう"),
                ("", "山田太郎", "2024-05-03 10:17:00", "[sticker]"),
                ("", "花子", "2024-05-03 10:20:00", '駅前の喫茶店で\n11時に"待ち合わせ"ね'),
            ],
            "山田太郎 2024-05-04": [("", "花子", "2024-05-04 21:00:00", "昨日はありがとう")],
        },
    ),
    "微信.txt": (
        "wechat",
        {
            "微信 2024-05-03": [
                ("", "王小明", "2024-05-03 10:15:20", "早安"),
                ("", "陳大文", "2024-05-03 22:16:01", "今天几点出发？\n我在楼下。"),
            ]
        },
    ),
    "result.json": (
        "telegram",
        {
            "Bob 2024-05-03": [("user", "Ann", "2024-05-03 12:05:00", "See https://bruges.example!")],
            "Bob 2024-05-04": [("", "Bob", "2024-05-04 07:00:00", "Lovely\n[image]")],
            "Saved Messages 2024-05-05": [("user", "Ann", "2024-05-05 07:00:00", "Buy a scarf")],
        },
    ),
    "telegram-chat.json": (
        "telegram",
        {
            "Bob 2024-05-03": [("", "Ann", "2024-05-03 12:05:00", "See https://bruges.example!")],
            "Bob 2024-05-04": [("", "Bob", "2024-05-04 07:00:00", "Lovely\n[image]")],
        },
    ),
    "data.json": (
        "signal",
        {
            "data 2024-05-03": [
                ("user", "Me", "2024-05-03 14:05:00", "Hi Bob"),
                ("", "Bob", "2024-05-03 14:06:00", "[file: cat.jpg]"),
            ]
        },
    ),
    "main.jsonl": (
        "signal",
        {
            "Bob Low 2024-05-03": [
                ("user", "Me", "2024-05-03 12:05:00", "Hi Bob"),
                ("", "Bob Low", "2024-05-03 12:06:00", "Hello!"),
            ]
        },
    ),
    "signal-desktop.json": (
        "signal",
        {
            "signal-desktop 2024-05-03": [
                ("", "+32470123456", "2024-05-03 12:05:00", "Hi Ann"),
                ("user", "Me", "2024-05-03 12:06:00", "Hi Bob"),
            ]
        },
    ),
    "message_1.json": (
        "messenger",
        {
            "Zoë 2024-05-03": [
                ("", "Zoë", "2024-05-03 14:05:00", "Café at 8? 😀"),
                ("", "Ann Lee", "2024-05-03 14:06:00", "[image]"),
                ("", "Ann Lee", "2024-05-03 14:07:00", "https://x.org/choir"),
            ]
        },
    ),
    "discord.json": (
        "discord",
        {
            "Choir #trips 2024-05-03": [
                ("", "Bob", "2024-05-03 12:05:00", "When do we leave?"),
                ("", "Ann", "2024-05-03 12:06:00", "At nine\n[file: tickets.pdf]"),
            ]
        },
    ),
    "teams.json": (
        "teams",
        {
            "Bob 2024-05-03": [
                ("user", None, "2024-05-03 14:05:00", "Are you free?"),
                ("", "Bob", "2024-05-03 14:06:00", "Yes, Friday"),
            ]
        },
    ),
    "graph.json": ("teams", {"graph 2024-05-03": [("", "Bob", "2024-05-03 14:06:00", "Is Friday fine?")]}),
    "sharegpt.json": (
        "sharegpt",
        {
            "conv-1": [("system", None, "", "Be brief."), ("user", None, "", "Hi"), ("assistant", None, "", "Hello.")],
            "sharegpt 2": [("user", None, "", "Bye"), ("assistant", None, "", "Goodbye.")],
        },
    ),
    "tuning.jsonl": (
        "messages",
        {
            f"tuning {number}": [
                ("system", None, "", "Be brief."),
                ("user", None, "", said),
                ("assistant", None, "", "Fine."),
            ]
            for number, said in ((1, "Hi"), (2, "Ho"))
        },
    ),
    "mem0.json": ("mem0", {"memories of mem0 ann": [("", "mem0", "2024-05-03 21:05:00", "Ann moved to Ghent")]}),
    "zep.json": (
        "zep",
        {
            "zep": [
                ("user", "Ann", "2024-05-03 14:05:00", "I moved to Ghent."),
                ("assistant", "bot", "2024-05-03 14:05:02", "Nice."),
            ]
        },
    ),
    "facts.json": ("zep", {"facts of Zep": [("", "zep", "2024-05-03 14:05:00", "Ann sails")]}),
    "table.csv": (
        "csv",
        {
            "table 2024-05-03": [("", "Ann", "2024-05-03 14:05:00", "Hi, all")],
            "table 2024-05-25": [("", "Bob", "2024-05-25 09:00:00", "Two\nlines")],
        },
    ),
    "box.mbox": (
        "mail",
        {
            "Trip to Bruges 2024-05-03": [
                ("", "Ann Lee", "2024-05-03 12:05:00", "We leave at nine. Café first?\nFrom there we walk."),
                ("", "Bob", "2024-05-04 07:00:00", "Yes!\n[file: ticket.pdf]"),
            ]
        },
    ),
    "deepgram.json": (
        "speech",
        {"deepgram": [("", "Speaker 0", "", "My cat is called Miso."), ("", "Speaker 1", "", "Hello.")]},
    ),
    "weekly.vtt": ("captions", {"weekly": [("", "Ann", "", "My cat is called Miso."), ("", "Bob", "", "Hello Miso.")]}),
    "chat.txt": (
        "transcript",
        {"chat": [("", "Ann", "2024-05-03 14:05:00", "Hi"), ("", "Bob", "2024-05-03 14:06:00", "Hello\n  there")]},
    ),
    "rows.json": ("messages", {"rows": [("user", None, "", "I moved."), ("assistant", None, "", "Where to?")]}),
}
SLACK_ROWS: dict[str, list[Row]] = {
    "Ann, Bob Low 2024-05-04": [("", "Bob Low", "2024-05-04 07:01:40", "Hi Ann")],
    "#general 2024-05-03": [("", "Ann", "2024-05-03 12:05:50", "Lunch in #general?\n[file: menu.pdf]")],
    "#general 2024-05-03, thread of 12:05:00": [
        ("", "Ann", "2024-05-03 12:05:00", "@Bob Low see the plan (https://x.example) & say yes"),
        ("", "Bob Low", "2024-05-04 07:00:00", "yes"),
    ],
}
PACKAGE_ROWS: dict[str, list[Row]] = {
    "trips in Choir 2024-05-03": [
        ("user", None, "2024-05-03 14:05:00", "[file: tickets.pdf]"),
        ("user", None, "2024-05-03 14:06:00", "At nine"),
    ]
}
SEVERAL = {
    "slack": ("slack", examples.SLACK, SLACK_ROWS),
    "package": ("discord-package", examples.DISCORD_PACKAGE, PACKAGE_ROWS),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_an_export_is_recognised_and_its_messages_dates_and_roles_are_right(tmp_path: Path, name: str) -> None:
    form, expected = EXPECTED[name]
    path = examples.write(tmp_path, {name: examples.FILES[name]}) / name
    assert (format_of(path).name, rows(read(path))) == (form, expected)


def test_every_example_has_its_row() -> None:
    assert set(EXPECTED) == set(examples.FILES)
    assert {form for form, _ in EXPECTED.values()} | {"slack", "discord-package", "parquet", "openai", "dictation"} == {
        each.name for each in FORMATS
    }


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize("name", SEVERAL)
def test_exports_of_many_files_are_read_from_a_folder_and_a_zip(tmp_path: Path, name: str, form: str) -> None:
    wanted, files, expected = SEVERAL[name]
    make: Callable[[Path, Any], Path] = examples.write if form == "folder" else examples.zipped
    path = make(tmp_path / f"{name}{'.zip' if form == 'zip' else ''}", files)
    assert (format_of(path).name, rows(read(path))) == (wanted, expected)


def test_a_package_with_messages_in_csv_is_read_however_long_one_is_and_an_error_names_the_line(tmp_path: Path) -> None:
    files = {name: held for name, held in examples.DISCORD_PACKAGE.items() if not name.endswith("messages.json")}
    long, head = "word " * 40_000, "ID,Timestamp,Contents,Attachments\n"
    table = f'{head}12,2024-05-03 14:06:00,"{long}",\n'
    path = examples.write(tmp_path / "package", {**files, "Messages/c99/messages.csv": table})
    [message] = [each for session in read(path) for each in session.messages]
    assert message.text == long
    spoilt = f'{table}11,2024-05-03 14:07:00,"{"x" * 50_000_001}",\n'
    path = examples.write(tmp_path / "spoilt", {**files, "Messages/c99/messages.csv": spoilt})
    with pytest.raises(InvalidTranscript, match=r"messages\.csv: line 3: not CSV"):
        rows(read(path))


@pytest.mark.parametrize("name", ["conversations.json", "claude.json", "_chat.txt", "result.json", "MyActivity.json"])
def test_a_single_file_is_found_in_the_zip_of_its_product(tmp_path: Path, name: str) -> None:
    others = {
        "chat.html": "<html></html>",
        "user.json": {"id": "u"},
        "photo.jpg": b"\xff\xd8\xff\0",
        "file-1.dat": b"\0\1",
    }
    path = examples.zipped(tmp_path / "export.zip", {**others, f"Takeout/My files/{name}": examples.FILES[name]})
    form, expected = EXPECTED[name]
    named = {key.replace("WhatsApp", "My files"): said for key, said in expected.items()}
    assert (format_of(path).name, rows(read(path))) == (form, named)


@pytest.mark.parametrize("name", ["whole.zip", "whole.tar", "cut.zip", "cut.tar", "unknown.zip"])
def test_an_archive_is_closed_when_it_has_been_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = examples.FILES["conversations.json"] if name.startswith("whole") else {"a": 1}
    examples.zipped(path, {"conversations.json": content})
    if path.suffix == ".tar":
        examples.write(tmp_path, {"conversations.json": content})
        with tarfile.open(path, "w") as archive:
            archive.add(tmp_path / "conversations.json", "conversations.json")
    if name.startswith("cut"):
        path.write_bytes(path.read_bytes()[: 600 if path.suffix == ".tar" else 60])
    with warnings.catch_warnings(record=True) as left_open:
        warnings.simplefilter("always", ResourceWarning)
        with nullcontext() if name.startswith("whole") else pytest.raises(InvalidTranscript) as refused:
            assert rows(read(path)) == EXPECTED["conversations.json"][1]
        del refused
        gc.collect()
    # Other tests' objects are collected here too.
    assert [str(each.message) for each in left_open if path.name in str(each.message)] == []


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_member_of_an_archive_is_read_when_nothing_else_holds_the_archive(tmp_path: Path, kind: str) -> None:
    path, text = tmp_path / f"export.{kind}", "word " * 100_000
    (tmp_path / "notes.txt").write_text(text)
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(tmp_path / "notes.txt", "notes.txt")
    else:
        with tarfile.open(path, "w") as archive:
            archive.add(tmp_path / "notes.txt", "notes.txt")
    stream = export_at(path.name, path).files[0].opener()
    gc.collect()
    assert stream.read() == text.encode()


def test_a_stream_is_read_like_a_file() -> None:
    raw = json.dumps(examples.CHATGPT).encode()
    assert rows(read(io.BytesIO(raw))) == EXPECTED["conversations.json"][1]
    with pytest.raises(InvalidInput, match="is binary"):
        list(read(io.StringIO("x")))  # type: ignore[arg-type]


# -- branches and what is hidden --------------------------------------------------------------------------------------


def test_branches_that_were_left_hidden_messages_and_reasoning_are_counted(tmp_path: Path) -> None:
    said: list[str] = []
    of(tmp_path, "conversations.json", examples.CHATGPT, note=said.append)
    [told] = said
    assert told.endswith("left out: hidden messages (1), messages on other branches (2), reasoning (1)")


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("deepseek.json", "messages on other branches (1), reasoning (1)"),
        ("open-webui.json", "messages on other branches (1), reasoning (1)"),
        ("librechat.json", "messages on other branches (1), reasoning (1)"),
        ("prod-grok-backend.json", "messages on other branches (1), reasoning (1)"),
        ("rollout-2026-04-22.jsonl", "hidden messages (2), reasoning (1), results of tools (1)"),
        ("chat.json", "reasoning (1)"),
        ("5d1e2b3c.jsonl", "hidden messages (2), messages of subagents (1), reasoning (1), results of tools (1)"),
    ],
)
def test_what_is_left_out_of_a_chat_is_counted(tmp_path: Path, name: str, left_out: str) -> None:
    said: list[str] = []
    of(tmp_path, name, examples.FILES[name], note=said.append)
    [told] = said
    assert told.endswith(f"left out: {left_out}")


def test_what_lies_beside_the_conversations_of_claude_is_named(tmp_path: Path) -> None:
    files = {"conversations.json": examples.CLAUDE, "users.json": [{"uuid": "u"}], "projects.json": [{"uuid": "p"}]}
    said: list[str] = []
    list(read(examples.zipped(tmp_path / "claude.zip", files), note=said.append))
    assert any(each.endswith("not read, as nobody said it in a chat: projects.json") for each in said)


def test_a_session_of_claude_code_that_was_taken_up_again_is_not_there_twice(tmp_path: Path) -> None:
    more = {"type": "user", "uuid": "g", "parentUuid": "b", "message": {"role": "user", "content": "And now?"}}
    files = {"5d1e2b3c.jsonl": examples.CLAUDE_CODE, "9a9a9a9a.jsonl": f"{examples.CLAUDE_CODE}{json.dumps(more)}\n"}
    with MemoryBank.open() as bank:
        done = [bank.remember(ALICE, each) for each in read(examples.write(tmp_path, files))]
    assert [(each.session, each.new) for each in done] == [("shop (5d1e2b3c)", 2), ("shop (5d1e2b3c)", 1)]


def test_of_claude_code_what_the_program_says_in_the_name_of_others_is_left_out(tmp_path: Path) -> None:
    def row(key: str, role: str, content: object, **more: str) -> str:
        ids = {"sessionId": "s", "uuid": key, "parentUuid": None, "cwd": "/shop"}
        return json.dumps({**ids, "type": role, "message": {"role": role, "content": content, **more}}) + "\n"

    def text(words: str) -> dict[str, str]:
        return {"type": "text", "text": words}

    opened = text("<ide_opened_file>The user opened a.py in the IDE.</ide_opened_file>")
    rows = [
        row("a", "user", [opened, text("Why does it fail?")]),
        row("b", "assistant", [text("<bash-input> is a tag.")], model="m"),
        row("c", "user", [text("[Request interrupted by user]")]),
        row("d", "user", [text("[Request interrupted by user for tool use]")]),
        row("e", "assistant", [text("No response requested.")], model="<synthetic>"),
        row("f", "user", "It said [Request interrupted by user] again."),
    ]
    notes: list[str] = []
    [session] = read(examples.write(tmp_path, {"s.jsonl": "".join(rows)}), note=notes.append)
    said = ["Why does it fail?", "<bash-input> is a tag.", "It said [Request interrupted by user] again."]
    assert [message.text for message in session.messages] == said
    assert any(each.endswith("left out: hidden messages (4)") for each in notes)


def test_without_a_current_node_the_newest_branch_stands(tmp_path: Path) -> None:
    garden = {key: value for key, value in examples.GARDEN.items() if key != "current_node"}
    assert of(tmp_path, "one.json", garden) == {
        key: value for key, value in EXPECTED["conversations.json"][1].items() if "Garden" in key
    }


def test_a_circle_of_parents_ends(tmp_path: Path) -> None:
    rent = deepcopy(examples.RENT)
    rent["mapping"]["u"]["parent"] = "v"
    assert [row[3] for row in of(tmp_path, "one.json", rent)["Rent (665a6f00)"]] == [
        "My rent is 850 € now. 🏠",
        "Noted.",
    ]


def test_of_claude_the_branch_of_the_latest_message_stands_where_the_export_says_which(tmp_path: Path) -> None:
    def message(key: str, parent: str, sender: str) -> dict[str, Any]:
        return {"uuid": key, "parent_message_uuid": parent, "sender": sender, "text": key, "created_at": None}

    said = [message("a", "root", "human"), message("b", "a", "assistant"), message("c", "root", "human")]
    chat = {"uuid": "u", "name": "N", "chat_messages": [*said, message("d", "c", "assistant")]}
    assert [row[3] for row in of(tmp_path, "x.json", [chat])["N (u)"]] == ["c", "d"]
    chat["current_leaf_message_uuid"] = "b"
    assert [row[3] for row in of(tmp_path, "x.json", [chat])["N (u)"]] == ["a", "b"]


# -- once more --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_the_same_export_once_more_is_known(tmp_path: Path, name: str) -> None:
    path = examples.write(tmp_path, {name: examples.FILES[name]}) / name
    with MemoryBank.open() as bank:
        first = [bank.remember(ALICE, session) for session in read(path)]
        again = [bank.remember(ALICE, session) for session in read(path)]
        assert sum(each.new for each in first) == sum(len(said) for said in EXPECTED[name][1].values())
        assert sum(each.new for each in again) == 0
        assert [each.turn_ids for each in again] == [each.turn_ids for each in first]


def test_a_later_export_that_holds_more_brings_what_is_new(tmp_path: Path) -> None:
    later = deepcopy(examples.CHATGPT)
    rent = later[1]
    rent["mapping"]["v"]["children"] = ["w"]
    rent["mapping"]["w"] = examples.node("w", "v", examples.chatgpt_message("w", "user", "It rises.", at=1717300000.0))
    rent["current_node"] = "w"
    fresh = {**deepcopy(examples.RENT), "id": "77777777", "title": "Rent"}
    with MemoryBank.open() as bank:
        for export, new in ((examples.CHATGPT, 6), ([fresh, *later], 3), ([fresh, *later], 0)):
            path = examples.write(tmp_path, {"conversations.json": export}) / "conversations.json"
            assert sum(bank.remember(ALICE, session).new for session in read(path)) == new
        assert [turn.content for turn in bank.turns(ALICE, "Rent (665a6f00)")][-1] == "It rises."


def test_a_chat_that_was_renamed_goes_on_in_its_session(tmp_path: Path) -> None:
    later = deepcopy(examples.RENT)
    later["title"] = "Rent and heating"
    later["mapping"]["w"] = examples.node("w", "v", examples.chatgpt_message("w", "user", "It rises.", at=1717300000.0))
    later["current_node"] = "w"
    other = {**deepcopy(later), "id": "77777777"}
    with MemoryBank.open() as bank:
        for export in ([examples.RENT], [later, other]):
            path = examples.write(tmp_path, {"conversations.json": export}) / "conversations.json"
            names = [bank.remember(ALICE, session).session for session in read(path)]
        assert names == ["Rent (665a6f00)", "Rent and heating (77777777)"]
        assert [turn.content for turn in bank.turns(ALICE, names[0])][-1] == "It rises."


def test_chats_that_begin_with_the_same_system_prompt_are_two_sessions() -> None:
    prompt = Message("You are kind.", "system", id="prompt")
    with MemoryBank.open() as bank:
        for name in ("a", "b"):
            said = [prompt, Message(f"Hello from {name}", id=name)]
            assert bank.remember(ALICE, Session(name, group_messages(said, name))).session == name


def test_a_message_that_was_edited_since_is_new_and_the_old_one_stays(tmp_path: Path) -> None:
    later = deepcopy(examples.TELEGRAM_CHAT)
    later["messages"][2]["text"] = "Lovely, really"
    with MemoryBank.open() as bank:
        for export in (examples.TELEGRAM_CHAT, later):
            path = examples.write(tmp_path, {"result.json": export}) / "result.json"
            new = sum(bank.remember(ALICE, session).new for session in read(path))
        assert new == 1
        assert [turn.content for turn in bank.turns(ALICE, "Bob 2024-05-04")] == [
            "Lovely\n[image]",
            "Lovely, really\n[image]",
        ]


def test_a_chat_of_whatsapp_is_known_under_the_name_of_a_second_download(tmp_path: Path) -> None:
    more = examples.ANDROID + "26/05/24, 10:00 - Ann: Thanks\n26/05/24, 10:00 - Ann: Thanks\n"
    with MemoryBank.open() as bank:
        for name, text, new in (
            ("WhatsApp Chat with Choir.txt", examples.ANDROID, 4),
            ("WhatsApp Chat with Choir (1).txt", more, 2),
            ("WhatsApp Chat with Choir (2).txt", more, 0),
        ):
            path = examples.write(tmp_path, {name: text}) / name
            assert sum(bank.remember(ALICE, session).new for session in read(path)) == new


# -- encodings, zones, names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["conversations.json", "WhatsApp Chat with Choir.txt", "table.csv", "chat.txt"])
def test_the_encoding_is_told_from_the_bytes(tmp_path: Path, name: str, codec: str) -> None:
    content = examples.FILES[name]
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    said: list[str] = []
    _, expected = EXPECTED[name]
    found = of(tmp_path, name, text.encode(codec), note=said.append)
    assert (found, [each for each in said if "UTF-8" in each]) == (expected, [])


def test_what_is_not_utf8_is_read_as_windows_1252_and_that_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    text = "03/05/24, 14:05 - Zoë: Café – 5 €\n" * 2
    [found] = of(tmp_path, "chat.txt", text.encode("cp1252"), note=said.append).values()
    assert found[0][1:] == ("Zoë", "2024-05-03 14:05:00", "Café – 5 €")
    assert any("is not UTF-8: byte 20 is 0xeb; it is read as Windows-1252" in each for each in said)


def test_one_bad_byte_in_utf8_costs_one_character(tmp_path: Path) -> None:
    said: list[str] = []
    raw = "03/05/24, 14:05 - Zoë: Café and tea\n".encode().replace(b"tea", b"t\xffa")
    [found] = of(tmp_path, "chat.txt", raw, note=said.append).values()
    assert found[0][3] == "Café and t\ufffda"
    assert any("0xff" in each for each in said)


def test_times_without_a_zone_are_in_the_one_that_is_named(tmp_path: Path) -> None:
    said: list[str] = []
    found = of(tmp_path, "chat.txt", examples.ANDROID, timezone="Europe/Brussels", note=said.append)
    assert found["chat 2024-05-03"][0][2] == "2024-05-03 12:06:00"
    assert not [each for each in said if "--timezone" in each]
    of(tmp_path, "chat.txt", examples.ANDROID, note=said.append)
    hint = "its times carry no time zone and are read as UTC; say which one it is with --timezone"
    assert any(each.endswith(hint) for each in said)
    with pytest.raises(InvalidInput, match="a time zone is called by its place"):
        read(tmp_path / "chat.txt", timezone="Brussels time")
    with pytest.raises(InvalidInput, match=r"did you mean Europe/Brussels\?"):
        read(tmp_path / "chat.txt", timezone="Europe/Brussel")


RESPONSES = [
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"role": "user", "content": "Does it rain in Ghent?"},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "rain"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It rains."}]},
]


LANGCHAIN: list[dict[str, Any]] = [
    {"type": "human", "data": {"content": "My bike is a red Gazelle.", "type": "human", "name": None, "id": None}},
    {
        "type": "ai",
        "data": {"content": "", "type": "ai", "id": "run-1", "tool_calls": [{"name": "shop", "args": {"q": "bell"}}]},
    },
    {"type": "tool", "data": {"content": "5 euros", "type": "tool", "name": "shop", "tool_call_id": "c1"}},
    {"type": "AIMessageChunk", "data": {"content": [{"type": "text", "text": "A bell costs 5."}]}},
    {"type": "chat", "data": {"content": "Ring it.", "type": "chat", "role": "Ann"}},
]
"""As `FileChatMessageHistory` and `messages_to_dict` write them."""


@pytest.mark.parametrize("form", ["list", "lines"])
def test_messages_that_langchain_has_stored_are_read(tmp_path: Path, form: str) -> None:
    text = json.dumps(LANGCHAIN) if form == "list" else "\n".join(map(json.dumps, LANGCHAIN))
    assert of(tmp_path, "history.json" if form == "list" else "history.jsonl", text)["history"] == [
        ("user", None, "", "My bike is a red Gazelle."),
        ("assistant", None, "", '[calls shop({"q": "bell"})]'),
        ("tool", "shop", "", "5 euros"),
        ("assistant", None, "", "A bell costs 5."),
        ("", "Ann", "", "Ring it."),
    ]
    with pytest.raises(InvalidTranscript, match="needs a 'role'"):
        of(tmp_path, "events.json", '[{"type": "click", "data": {"text": "x"}}]')


def test_a_chat_store_of_llamaindex_is_a_session_for_each_key(tmp_path: Path) -> None:
    blocks = [
        {"block_type": "text", "text": "My dog is Rex."},
        {"block_type": "image", "image": None, "url": "http://x/y.png"},
    ]
    monday = [{"role": "user", "additional_kwargs": {}, "blocks": blocks}]
    store = {"monday": monday, "tuesday": [{"role": "assistant", "content": "Rex!", "additional_kwargs": {}}]}
    assert of(tmp_path, "chat_store.json", json.dumps({"store": store, "class_name": "SimpleChatStore"})) == {
        "monday": [("user", None, "", "My dog is Rex.\n[image]")],
        "tuesday": [("assistant", None, "", "Rex!")],
    }


@pytest.mark.parametrize(
    "record",
    [
        {"messages": [{"role": "user", "content": "Hi"}], "store": {"name": "Corner Shop"}},
        {"messages": [{"role": "user", "content": "Hi"}], "store": {}},
        {"role": "user", "content": "Hi", "store": {"name": "Corner Shop"}},
        {"role": "user", "content": "Hi", "type": "human", "data": {"page": 3}},
    ],
)
def test_what_else_is_called_as_frameworks_call_it_is_no_matter(tmp_path: Path, record: dict[str, object]) -> None:
    assert of(tmp_path, "chat.json", json.dumps(record)) == {"chat": [("user", None, "", "Hi")]}


@pytest.mark.parametrize("form", ["lines", "list", "session"])
def test_items_of_the_responses_api_that_are_no_messages_are_left_out_and_counted(tmp_path: Path, form: str) -> None:
    lines = "\n".join(map(json.dumps, RESPONSES))
    content = {"lines": lines, "list": json.dumps(RESPONSES), "session": json.dumps({"messages": RESPONSES})}[form]
    (tmp_path / "log.jsonl").write_text(content)
    notes: list[str] = []
    [session] = read(tmp_path / "log.jsonl", note=notes.append)
    assert [message.text for message in session.messages] == ["Does it rain in Ghent?", "It rains."]
    assert notes[0].endswith("left out: calls of tools, their results and reasoning (4)")


NAMED = ["WhatsApp Chat with Choir.txt", "telegram-chat.json", "discord.json", "table.csv", "weekly.vtt", "chat.txt"]


@pytest.mark.parametrize("name", NAMED)
def test_what_the_user_says_has_the_users_role_where_the_user_is_named(tmp_path: Path, name: str) -> None:
    said = [row for part in of(tmp_path, name, examples.FILES[name], me="ann").values() for row in part]
    assert {row[1] for row in said if row[0] == "user"} == {"Ann"}
    assert {row[0] for row in said if row[1] != "Ann"} == {""}


def test_a_mail_is_the_users_by_name_or_address(tmp_path: Path) -> None:
    for me in ("Ann Lee", "ann@example.org"):
        [found] = of(tmp_path, "box.mbox", examples.MBOX, me=me).values()
        assert [row[0] for row in found] == ["user", ""]


def test_a_mail_without_an_id_is_a_thread_of_its_own(tmp_path: Path) -> None:
    mail = "From {0}@example.org\nFrom: {0}@example.org\nTo: choir@example.org\nSubject: Hello {0}\n\nI am {0}.\n\n"
    box = "".join(map(mail.format, range(3000)))
    assert [len(each) for each in of(tmp_path, "box.mbox", box).values()] == [1] * 3000


def test_a_reply_that_comes_before_its_mail_is_in_the_same_thread(tmp_path: Path) -> None:
    mail = (
        "From ann@example.org\nFrom: Ann\nSubject: Tea\nMessage-ID: <{0}>\n{1}"
        "Date: Fri, 3 May 2024 14:0{0}:00 +0200\n\n{0}\n\n"
    )
    rows = [("3", "In-Reply-To: <2>\n"), ("2", "In-Reply-To: <1>\n")]
    [found] = of(tmp_path, "box.mbox", "".join(mail.format(*row) for row in rows)).values()
    assert [row[3] for row in found] == ["2", "3"]


def test_a_user_whom_nobody_knows_is_refused_with_those_who_speak(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"chat\.txt: nobody is called 'Anne' in it; those who speak are: Bob, Ann"):
        of(tmp_path, "chat.txt", examples.ANDROID, me="Anne")
    assert of(tmp_path, "conversations.json", examples.CHATGPT, me="Anne") == EXPECTED["conversations.json"][1]


@pytest.mark.parametrize("name", NAMED)
def test_ids_are_the_same_whoever_the_user_is_said_to_be(tmp_path: Path, name: str) -> None:
    path = examples.write(tmp_path, {name: examples.FILES[name]}) / name
    first, other = ([each.id for session in read(path, me=me) for each in session.messages] for me in (None, "Ann"))
    assert first == other


def test_the_owner_of_an_export_keeps_the_role_under_any_name(tmp_path: Path) -> None:
    found = of(tmp_path, "data.json", examples.SIGNAL, me="Ann")
    assert [row[0] for row in found["data 2024-05-03"]] == ["user", ""]


# -- dates of WhatsApp ------------------------------------------------------------------------------------------------

STAMPS = {
    "03/05/24, 14:05 - ": "day-first, Android",
    "03/05/2024 14:05 - ": "Brazil",
    "03.05.24, 14:05 - ": "Germany",
    "3.5.2024 klo 14.05 - ": "Finland",
    "03-05-2024 14:05 - ": "Netherlands",
    "2024-05-03, 2:05 p.m. - ": "Canada",
    "2024/05/03, 14:05 - ": "South Africa",
    "2024. 05. 03. 14:05 - ": "Hungary",
    "3/5/24, 2:05 pm - ": "India",
    "3/5/24 14:05 - ": "Spain",
    "3/5/24, 2:05 p. m. - ": "Mexico",
    "03/05/2024, 14:05 - ": "Great Britain",
    "03/05/2024 à 14:05 - ": "France",
    "2024/5/3 下午2:05 - ": "Taiwan",
    "2024年5月3日 14:05 - ": "Japan",
    "2024년 5월 3일 오후 2:05, ": "Korea",
    "[03/05/24, 14:05:00] ": "iOS",
    "[03.05.24, 14:05:00] ": "iOS, Germany",
    "[5/3/24, 2:05:00\u202fPM] ": "iOS, narrow space",
    "[2024-05-03, 2:05:00 PM] ": "iOS, Canada",
    "[3.5.2024 klo 14.05.00] ": "iOS, Finland",
    "\u200e[03/05/2024, 14:05:00] ": "iOS, with a mark",
}


@pytest.mark.parametrize("stamp", STAMPS)
def test_dates_of_many_places_are_read(tmp_path: Path, stamp: str) -> None:
    found = of(tmp_path, "chat.txt", f"{stamp}Ann: Hi: you\n{stamp}Bob Low: Hello\n", format="whatsapp")
    assert found == {
        "chat 2024-05-03": [
            ("", "Ann", "2024-05-03 14:05:00", "Hi: you"),
            ("", "Bob Low", "2024-05-03 14:05:00", "Hello"),
        ]
    }


DAYS = {
    "a month of 13 and more, late in the file": (["03/05/24", "04/05/24", "05/13/24"], "2024-03-05", False),
    "a day of 13 and more": (["03/05/24", "04/05/24", "13/05/24"], "2024-05-03", False),
    "time that would run backwards": (["02/28/24", "03/01/24", "04/01/24"], "2024-02-28", False),
    "only forwards if the month is first": (["01/02/24", "01/03/24", "02/01/24"], "2024-01-02", False),
    "only forwards if the day is first": (["01/02/24", "02/02/24", "01/03/24"], "2024-02-01", False),
    "nothing that tells": (["03/05/24", "04/06/24"], "2024-05-03", True),
    "the same either way": (["05/05/24"], "2024-05-05", False),
}


@pytest.mark.parametrize("case", DAYS)
def test_which_number_is_the_day_is_told_from_the_whole_file(tmp_path: Path, case: str) -> None:
    days, first, is_unsure = DAYS[case]
    said: list[str] = []
    text = "".join(f"{day}, 2:05 PM - Ann: Hi {day}\n" for day in days)
    found = of(tmp_path, "chat.txt", text, note=said.append)
    assert next(iter(found)) == f"chat {first}"
    assert any("begins with the day or the month cannot be told" in each for each in said) is is_unsure


COUNTRIES = {
    "United States, Android": ("5/3/24, 9:15 PM - Ann: Hi\n6/4/24, 12:05 AM - Ann: Bye\n", "2024-05-03 21:15"),
    "United States, iOS": (
        "[5/3/24, 9:15:10\u202fPM] Ann: Hi\n[6/4/24, 9:15:10\u202fAM] Ann: Bye\n",
        "2024-05-03 21:15",
    ),
    "India": ("03/05/24, 9:15 pm - Ann: Hi\n04/06/24, 9:15 pm - Ann: Bye\n", "2024-05-03 21:15"),
    "India, an older telephone": (
        "03/05/2024, 9:15 PM - Ann: Hi\n04/06/2024, 9:15 PM - Ann: Bye\n",
        "2024-05-03 21:15",
    ),
    "Australia": ("3/5/24, 9:15\u202fpm - Ann: Hi\n4/6/24, 9:15\u202fpm - Ann: Bye\n", "2024-05-03 21:15"),
    "Hong Kong": ("3/5/2024, 9:15 PM - Ann: Hi\n4/6/2024, 9:15 PM - Ann: Bye\n", "2024-05-03 21:15"),
    "Mexico": ("3/5/24, 9:15 p. m. - Ann: Hi\n4/6/24, 9:15 p. m. - Ann: Bye\n", "2024-05-03 21:15"),
    "United Kingdom": ("03/05/2024, 21:15 - Ann: Hi\n04/06/2024, 21:15 - Ann: Bye\n", "2024-05-03 21:15"),
}
"""What nothing but the way of writing tells."""


@pytest.mark.parametrize("country", COUNTRIES)
def test_where_nothing_else_tells_the_way_of_writing_does_and_that_is_said(tmp_path: Path, country: str) -> None:
    text, at = COUNTRIES[country]
    said: list[str] = []
    [message, _] = [each for day in of(tmp_path, "chat.txt", text, note=said.append).values() for each in day]
    assert message[2].startswith(at)
    [doubt] = [each for each in said if "cannot be told for sure" in each]
    other = "day-first" if country.startswith("United States") else "month-first"
    assert doubt.endswith(f"say the other with --dates {other}")


def test_the_american_way_of_writing_gives_way_to_what_tells_more(tmp_path: Path) -> None:
    late = "".join(f"{day}, 9:15 PM - Ann: Hi\n" for day in ("5/3/24", "13/3/24"))
    backwards = "".join(f"{day}, 9:15 PM - Ann: Hi\n" for day in ("1/2/24", "2/2/24", "1/3/24"))
    mixed = "5/3/24, 9:15 PM - Ann: Hi\n06/4/24, 9:15 PM - Ann: Hi\n"
    firsts = [next(iter(of(tmp_path, "chat.txt", text))) for text in (late, backwards, mixed)]
    assert firsts == ["chat 2024-03-05", "chat 2024-02-01", "chat 2024-03-05"]
    path = examples.write(tmp_path, {"c.txt": "5/3/24, 9:15 PM - Ann: Hi\n"}) / "c.txt"
    assert next(read(path, dates="day-first")).name == "c 2024-03-05"


def test_which_number_is_the_day_can_be_said_and_changes_no_id(tmp_path: Path) -> None:
    path = examples.write(tmp_path, {"c.txt": "03/05/24, 14:05 - Ann: Hi\n"}) / "c.txt"
    day, month = (next(read(path, dates=dates)) for dates in ("day-first", "month-first"))  # type: ignore[arg-type]
    assert (day.name, month.name) == ("c 2024-05-03", "c 2024-03-05")
    assert day.messages[0].id == month.messages[0].id
    path.write_text("31/12/24, 14:05 - Ann: Hi\n")
    with pytest.raises(InvalidTranscript, match=r"line 1: no date is '31/12/24.*say --dates day-first"):
        list(read(path, dates="month-first"))


MEDIA = {
    "<Medien ausgeschlossen>": "[media]",
    "<Multimedia omitido>": "[media]",
    "\u200eBild weggelassen": "[image]",
    "\u200esticker omitted": "[sticker]",
    "\u200e<angehängt: 00000003-AUDIO-2024-05-03.opus>": "[file: 00000003-AUDIO-2024-05-03.opus]",
    "report.pdf (Datei angehängt)": "[file: report.pdf]",
    "I like <html> and (this)": "I like <html> and (this)",
    "the image was omitted from the paper": "the image was omitted from the paper",
}


@pytest.mark.parametrize("line", MEDIA)
def test_what_stands_for_media_is_named_and_words_are_left_alone(tmp_path: Path, line: str) -> None:
    [found] = of(tmp_path, "chat.txt", f"03/05/24, 14:05 - Ann: {line}\n").values()
    assert found[0][3] == MEDIA[line]


# -- tables -----------------------------------------------------------------------------------------------------------


def test_columns_with_humps_in_their_names_are_known(tmp_path: Path) -> None:
    head = "senderName,text,messageId,createdAt,conversationId\n"
    table = f'{head}Ann,Which pan?,m1,2024-05-01T16:35:11.530Z,c1\nBob,"The 28 cm, one.",m2,2024-05-01T16:35:20Z,c2\n'
    assert of(tmp_path, "pans.csv", table) == {
        "c1": [("", "Ann", "2024-05-01 16:35:11", "Which pan?")],
        "c2": [("", "Bob", "2024-05-01 16:35:20", "The 28 cm, one.")],
    }
    [found] = of(tmp_path, "pans.csv", "timeStamp,Text\n2024-05-01 16:35,Which pan?\n").values()
    assert found[0][2:] == ("2024-05-01 16:35:00", "Which pan?")


@pytest.mark.parametrize(
    ("head", "first"),
    [
        ("Datum;Absender;Nachricht", "03.05.2024 14:05;Jörg;Grüße; bis später"),
        ("Nachricht;Von;Datum/Uhrzeit", "Grüße; bis später;Jörg;03.05.2024, 14:05 Uhr"),
        ("Uhrzeit;Datum;Absender;Inhalt", "14:05;03.05.2024;Jörg;Grüße; bis später"),
        ("Date;Heure;Auteur;Message", "03/05/2024;14:05;Jörg;Grüße; bis später"),
        ("Fecha;Hora;Remitente;Mensaje", "03/05/2024;14:05;Jörg;Grüße; bis später"),
        ("Data;Hora;Remetente;Mensagem", "03/05/2024;14:05;Jörg;Grüße; bis später"),
        ("Data;Ora;Mittente;Testo", "03/05/2024;14:05;Jörg;Grüße; bis später"),
        ("Zeitpunkt;Absender;Nachricht", "3. Mai 2024 um 14:05 Uhr;Jörg;Grüße; bis später"),
    ],
)
def test_columns_are_known_by_their_names_in_other_languages(tmp_path: Path, head: str, first: str) -> None:
    # As Excel in such a country saves it: with semicolons, and in Windows-1252.
    row = first.replace("Grüße; bis später", '"Grüße; bis später"')
    [found] = of(tmp_path, "chat.csv", f"{head}\r\n{row}\r\n".encode("cp1252")).values()
    assert found == [("", "Jörg", "2024-05-03 14:05:00", "Grüße; bis später")]


def test_which_columns_are_not_read_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    of(tmp_path, "t.csv", "sent at noon,words,from,Type\nx,Hi,Ann,sent\n", note=said.append)
    hint = "are read as text=words, speaker=from, and these are not read: 'sent at noon'; say otherwise with --columns"
    assert any(hint in each for each in said)


def test_a_column_with_the_time_of_day_is_said_to_be_read(tmp_path: Path) -> None:
    said: list[str] = []
    of(tmp_path, "t.csv", "Datum;Uhrzeit;Absender;Nachricht\n03.05.2024;14:05;Ann;Hallo\n", note=said.append)
    hint = "text=Nachricht, speaker=Absender, at=Datum with the time of day in Uhrzeit; say otherwise with --columns"
    assert any(hint in each for each in said)


def test_columns_are_guessed_and_that_is_said_or_named(tmp_path: Path) -> None:
    said: list[str] = []
    text = (
        "when,who,note,thread\n2024-05-03 14:05,Ann,Hi,a\n1714737960,user,Ho,a\n2024-05-04T09:00:00+02:00,Bob,Bye,b\n"
    )
    with pytest.raises(InvalidTranscript, match="which column holds the words"):
        of(tmp_path, "t.csv", text)
    columns = {"text": "note", "at": "when"}
    assert of(tmp_path, "t.csv", text, columns=columns, note=said.append) == {
        "a": [("", "Ann", "2024-05-03 14:05:00", "Hi"), ("user", None, "2024-05-03 12:06:00", "Ho")],
        "b": [("", "Bob", "2024-05-04 07:00:00", "Bye")],
    }
    assert any("text=note, at=when, speaker=who, session=thread; say otherwise with --columns" in each for each in said)
    with pytest.raises(InvalidTranscript, match=r"'notes' for text; there are 'when', 'who', 'note'.*mean text=note"):
        of(tmp_path, "t.csv", text, columns={"text": "notes"})
    with pytest.raises(InvalidTranscript, match="a table has no 'words': name text, "):
        of(tmp_path, "t.csv", text, columns={"words": "note"})
    said.clear()
    full = {**columns, "speaker": "who", "session": "thread"}
    assert of(tmp_path, "t.csv", text, columns=full, note=said.append)
    assert not any("its columns are read" in each for each in said), "what was said is not told again"


def test_a_question_and_an_answer_in_a_row_are_a_turn(tmp_path: Path) -> None:
    assert of(tmp_path, "t.tsv", "Prompt\tResponse\nHi\tHello.\n") == {
        "t": [("user", None, "", "Hi"), ("assistant", None, "", "Hello.")]
    }


@pytest.mark.parametrize("form", ["table", "messages", "conversations"])
def test_parquet_is_read_by_its_columns(tmp_path: Path, form: str) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    at = datetime(2024, 5, 3, 14, 5, tzinfo=timezone.utc)
    data: dict[str, list[Any]] = {
        "table": {"speaker": ["Ann", "Bob"], "text": ["Hi", "Ho"], "timestamp": [at, at]},
        "messages": {"messages": [[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]]},
        "conversations": {"id": ["t 2024-05-03"], "conversations": [[{"from": "human", "value": "Hi"}]]},
    }[form]
    parquet.write_table(arrow.table(data), tmp_path / "t.parquet")
    assert format_of(tmp_path / "t.parquet").name == "parquet"
    when = "2024-05-03 14:05:00"
    assert (
        rows(read(tmp_path / "t.parquet"))
        == {
            "table": {"t 2024-05-03": [("", "Ann", when, "Hi"), ("", "Bob", when, "Ho")]},
            "messages": {"t": [("user", None, "", "Hi"), ("assistant", None, "", "Ho")]},
            "conversations": {"t 2024-05-03": [("user", None, "", "Hi")]},
        }[form]
    )


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1....PAR1")
    with pytest.raises(MissingExtra, match=r'pip install "secom-memory\[parquet\]"'):
        list(read(tmp_path / "t.parquet"))


# -- the seam ---------------------------------------------------------------------------------------------------------


def test_a_format_that_is_named_is_read_as_it_and_what_it_looks_like_is_said(tmp_path: Path) -> None:
    path = examples.write(tmp_path, {"x.json": examples.CHATGPT}) / "x.json"
    assert rows(read(path, format="chatgpt")) == EXPECTED["conversations.json"][1]
    with pytest.raises(
        InvalidTranscript, match=r"x\.json does not look like an export of Telegram; it looks like an export of ChatGPT"
    ):
        read(path, format="telegram")
    with pytest.raises(
        InvalidInput,
        match=r"no format is called 'chatgtp'; did you mean chatgpt[?] there are deepseek, chatgpt, claude",
    ):
        read(path, format="chatgtp")


def test_no_example_is_taken_for_another_format(tmp_path: Path) -> None:
    for name, content in examples.FILES.items():
        path = examples.write(tmp_path, {name: content}) / name
        shutil.copy(path, tmp_path / "renamed.data")
        if name not in ("table.csv", "tuning.jsonl"):
            assert format_of(tmp_path / "renamed.data").name == EXPECTED[name][0], name


def test_a_name_that_the_sessions_do_not_take_is_said(tmp_path: Path) -> None:
    said: list[str] = []
    of(tmp_path, "conversations.json", examples.CHATGPT, session="mine", note=said.append)
    assert any("have names of their own" in each for each in said)
    assert set(of(tmp_path, "chat.txt", examples.ANDROID, session="Choir")) == {"Choir 2024-05-03", "Choir 2024-05-25"}


def test_messages_without_a_time_are_counted_unless_their_time_is_given(tmp_path: Path) -> None:
    said: list[str] = []
    of(tmp_path, "sharegpt.json", examples.SHAREGPT, note=said.append)
    assert [each.partition(": ")[2] for each in said] == [
        "messages without a time that can be read: 5; they are remembered as said now, or --at"
    ]
    at = datetime(2024, 5, 3, tzinfo=timezone.utc)
    found = of(tmp_path, "sharegpt.json", examples.SHAREGPT, note=said.append, at=at)
    assert (len(said), {row[2] for part in found.values() for row in part}) == (1, {"2024-05-03 00:00:00"})
