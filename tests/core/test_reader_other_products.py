"""What Codex, Grok, KakaoTalk and LibreChat write in their other versions, with odd and damaged files of each."""

from __future__ import annotations

import asyncio
import json
import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from benchmarks import example_exports as examples
from secom_core import MemoryBank
from secom_core.errors import InvalidTranscript
from secom_core.readers import format_of, read

ALICE = ("acme", "alice")


def said(tmp_path: Path, name: str, content: Any, notes: list[str] | None = None, **options: Any) -> list[Any]:
    """Role or speaker, time, and words of each message; what the reading says goes to ``notes``."""
    path = examples.write(tmp_path, {name: content}) / name
    told: list[str] = [] if notes is None else notes
    sessions = list(read(path, note=told.append, **options))
    return [(m.role or m.speaker, f"{m.at:%m-%d %H:%M}" if m.at else "", m.text) for s in sessions for m in s.messages]


# -- KakaoTalk --------------------------------------------------------------------------------------------------------

WINDOWS = (
    "독서 모임 12 님과 카카오톡 대화\n저장한 날짜 : 2024-05-04 15:20:41\n\n"
    "--------------- 2024년 5월 3일 금요일 ---------------\n지민님이 민호님을 초대하였습니다.\n"
    "[지민] [오전 12:05] 안녕 [x] 모두\n\n2024년 5월 9일 목요일\n끝\n수아님이 나갔습니다.\n[] [15:21] 알림\n"
    "[민호] [15:22] 파일: 계획.pdf\n[민호] [오후 3:23] 사진 3장\n[민호] [오후 3:24] 삭제된 메시지입니다.\n"
    "--------------- 2024년 5월 4일 토요일 ---------------\n[지민] [오후 12:00] 내일 : 반납\n"
)
KAKAO: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "Windows": (
        WINDOWS,
        [
            ("지민", "05-03 00:05", "안녕 [x] 모두\n\n2024년 5월 9일 목요일\n끝"),
            ("민호", "05-03 15:22", "[file: 계획.pdf]"),
            ("민호", "05-03 15:23", "[image]"),
            ("지민", "05-04 12:00", "내일 : 반납"),
        ],
    ),
    "Windows in English": (
        "Ann Lee with KakaoTalk Chats\nDate Saved: 2024-05-04 15:20:41\n\n"
        "--------------- Friday, May 3, 2024 ---------------\n[Ann Lee] [12:05 AM] Hi\n[Bob] [3:20 PM] Emoticons\n",
        [("Ann Lee", "05-03 00:05", "Hi"), ("Bob", "05-03 15:20", "[sticker]")],
    ),
    "Windows in English, with the dates of a Korean Windows": (
        "Choir with KakaoTalk Chats\nDate Saved : 2024-05-04 15:20:41\n\n"
        "--------------- 2024년 5월 3일 금요일 ---------------\n[Ann] [AM 12:05] Hi\n[Bob] [PM 3:20] Photo\n",
        [("Ann", "05-03 00:05", "Hi"), ("Bob", "05-03 15:20", "[image]")],
    ),
    "Android": (
        "독서 카카오톡 대화\n저장한 날짜 : 2024년 5월 4일 오후 7:17\n\n\n2024년 5월 3일 오전 8:36\n"
        "2024년 5월 3일 오전 8:36, 지민 : 여기서 타요\n오후 3:20, 지하철 : 2호선\n[민호] [오후 3:20] 라고 했어\n"
        "2024년 5월 3일 오후 3:21,  : 알림\n",
        [("지민", "05-03 08:36", "여기서 타요\n오후 3:20, 지하철 : 2호선\n[민호] [오후 3:20] 라고 했어")],
    ),
    "Android in English": (
        "KakaoTalk Chats with Ann\nDate Saved : January 16, 2018, 3:25 PM\n\nJanuary 15, 2018, 3:20 PM\n"
        "January 15, 2018, 3:20 PM, Ann : hi\nJanuary 15, 2018 at 3:21\u202fp.m., Ann : later\n",
        [("Ann", "01-15 15:20", "hi"), ("Ann", "01-15 15:21", "later")],
    ),
    "iOS": (
        "지민 님과 카카오톡 대화\n저장한 날짜 : 2024. 5. 4. 오후 11:01\n\n\n2024년 5월 3일 금요일\n"
        "2024. 5. 3. 오후 1:01, 지민 : 안녕\n2024년 5월 9일 목요일\n이 날은?\n2024. 5. 3. 오후 1:02: 초대했습니다.\n",
        [("지민", "05-03 13:01", "안녕\n2024년 5월 9일 목요일\n이 날은?")],
    ),
    "iOS with the day above": (
        "지민 님과 카카오톡 대화\n저장한 날짜 : 2024년 5월 4일 오후 7:17\n\n\n2024년 5월 3일 금요일\n"
        "오후 8:36, 지민 : 안녕\n오후 8:38, 지민님이 나갔습니다.\n\n2024년 5월 4일 토요일\n\n오전 12:00, 지민 : 네\n",
        [("지민", "05-03 20:36", "안녕"), ("지민", "05-04 00:00", "네")],
    ),
    "iOS in English": (
        "Talk_2026.4.25 10:20-1.txt\nDate Saved : Apr 25, 2026 at 10:38\n\n\nWednesday, December 31, 2014\n"
        "Dec 31, 2014 at 19:12: Ann invited iPad .\nDec 31, 2014 at 19:12, Ann : Day 1 : see\nmore\n"
        "Dec 31, 2014 at 19:13, iPad : Photo\n",
        [("Ann", "12-31 19:12", "Day 1 : see\nmore"), ("iPad", "12-31 19:13", "[image]")],
    ),
}


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "cp949"])
@pytest.mark.parametrize("version", KAKAO)
def test_a_chat_of_kakaotalk_is_read_as_each_version_writes_it(
    tmp_path: Path, version: str, codec: str, ends: str
) -> None:
    text, expected = KAKAO[version]
    if codec == "cp949":
        text = text.replace("\u202f", " ")
    assert said(tmp_path, "talk.txt", text.replace("\n", ends).encode(codec)) == expected
    assert format_of(tmp_path / "talk.txt").name == "kakaotalk"


def test_a_group_of_kakaotalk_is_the_same_one_when_somebody_joins_and_without_a_title_it_is_named_by_the_user(
    tmp_path: Path,
) -> None:
    grown = examples.KAKAOTALK.replace("모임 12 ", "모임 13 ") + "2024년 5월 4일 오후 12:01, 민호 : 소년이 온다\n"
    with MemoryBank.open() as bank:
        for number, (text, new) in enumerate([(examples.KAKAOTALK, 3), (grown, 1), (grown, 0)]):
            path = examples.write(tmp_path, {f"{number}.txt": text}) / f"{number}.txt"
            assert sum(bank.remember(ALICE, session).new for session in read(path)) == new
    notes: list[str] = []
    said(tmp_path, "Talk_1.txt", KAKAO["iOS in English"][0], notes)
    assert any("its chat has no name in the file and is called KakaoTalk; say another" in each for each in notes)
    [session] = read(tmp_path / "Talk_1.txt", session="Choir")
    assert session.name == "Choir 2014-12-31"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("2024년 13월 3일 오후 3:20, Ann : Hi", "talk.txt: line 8: no time can be read from '2024년 13월 3일"),
        ("2024년 5월 3일 오후 13:80, Ann : Hi", "talk.txt: line 8: no time can be read"),
    ],
)
def test_a_time_of_kakaotalk_that_no_calendar_has_is_named_or_passed_over(
    tmp_path: Path, line: str, message: str
) -> None:
    lines = examples.KAKAOTALK.split("\n")
    text = "\n".join([*lines[:7], line, *lines[7:]])
    with pytest.raises(InvalidTranscript, match=message.replace("(", r"\(")):
        said(tmp_path, "talk.txt", text)
    assert len(said(tmp_path, "talk.txt", text, partial=True)) == 3


# -- LibreChat --------------------------------------------------------------------------------------------------------

FLAT = {
    **{key: value for key, value in examples.LIBRECHAT.items() if key != "messages"},
    "recursive": False,
    "messages": [
        examples.librechat_message("a", examples.NO_PARENT, True, "tell me a story", 1),
        examples.librechat_message("b", "a", False, "Once", 2),
        examples.librechat_message("c", "a", False, ":::thinking\nLong?\n:::\nTwice", 3),
        examples.librechat_message("d", examples.NO_PARENT, True, "tell me a long story", 4),
        {key: v for key, v in examples.librechat_message("e", "d", False, "Thrice", 5).items() if key != "createdAt"},
        examples.librechat_message("f", "e", False, '{"type": "token_balance"}', 6, error=True),
    ],
}


def test_of_librechat_the_branch_that_it_opens_with_stands_in_each_form_of_the_export(tmp_path: Path) -> None:
    notes: list[str] = []
    expected = [("user", "05-01 16:35", "tell me a long story"), ("assistant", "05-01 16:35", "Thrice")]
    assert said(tmp_path, "chat.json", FLAT, notes) == expected
    assert notes[-1].endswith("left out: errors (1), messages on other branches (3)")
    messages = FLAT["messages"]
    assert isinstance(messages, list)
    one = {**FLAT, "branches": False, "messages": [messages[0], messages[2]]}
    assert [row[2] for row in said(tmp_path, "chat.json", one)] == ["tell me a story", "Twice"]
    tree = {key: value for key, value in examples.LIBRECHAT.items() if key != "messages"}
    tree["messagesTree"] = examples.LIBRECHAT["messages"]
    assert said(tmp_path, "chat.json", tree) == said(tmp_path, "chat.json", examples.LIBRECHAT)


def test_a_conversation_of_librechat_may_be_nested_as_deep_as_it_is_long(tmp_path: Path) -> None:
    text = json.dumps({**examples.LIBRECHAT, "messages": []})[:-2]
    count = 3000
    for number in range(count):
        mine = number % 2 == 0
        message = examples.librechat_message(f"m{number}", f"m{number - 1}", mine, f"word {number}", 1)
        text += f'{json.dumps(message)[:-1]}, "children": ['
    text += "]}" * count + "]}"
    found = said(tmp_path, "long.json", text)
    assert [row[2] for row in found] == [f"word {number}" for number in range(count)]


# -- Grok -------------------------------------------------------------------------------------------------------------


def test_of_grok_the_leaf_that_the_export_names_stands_and_all_where_answers_name_no_question(tmp_path: Path) -> None:
    export = deepcopy(examples.GROK)
    export["conversations"][0]["conversation"]["leaf_response_id"] = "r2"
    assert [row[2] for row in said(tmp_path, "x.json", export)] == [
        "Which markets are there?\n[file]",
        "In which city?",
    ]
    for each in export["conversations"][0]["responses"]:
        each["response"].pop("parent_response_id", None)
    assert len(said(tmp_path, "x.json", export)) == 5


def test_the_time_of_an_answer_of_grok_may_be_text_or_only_that_of_the_conversation(tmp_path: Path) -> None:
    export = deepcopy(examples.GROK)
    responses = export["conversations"][0]["responses"]
    responses[0]["response"]["create_time"] = "2025-03-02T10:00:00.000Z"
    del responses[2]["response"]["create_time"]
    assert [row[1] for row in said(tmp_path, "x.json", export)][:2] == ["03-02 10:00", "03-01 09:00"]


def test_the_export_of_grok_is_found_in_its_archive(tmp_path: Path) -> None:
    files = {
        "ttl/30d/export_data/84b6/prod-grok-backend.json": examples.GROK,
        "ttl/30d/export_data/84b6/prod-mc-auth-mgmt-api.json": {"user": {"email": "a@b.c"}, "sessions": []},
        "ttl/30d/export_data/84b6/prod-mc-billing.json": {"balance": {}},
        "ttl/30d/export_data/84b6/prod-mc-asset-server/a-1/content": b"\x89PNG\0",
    }
    path = examples.zipped(tmp_path / "grok.zip", files)
    assert format_of(path).name == "grok"
    assert len([message for session in read(path) for message in session.messages]) == 4


# -- Codex ------------------------------------------------------------------------------------------------------------

PROMPT = examples.codex_prompt


def test_of_codex_what_was_typed_is_told_from_what_the_editor_adds_and_pictures_are_shown(tmp_path: Path) -> None:
    asked = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nWhat is this?\n"
    event = {"type": "user_message", "message": asked, "images": None, "local_images": ["/tmp/shot.png"]}
    log = examples.codex_line("session_meta", examples.CODEX_META) + examples.codex_said("user", asked)
    log += examples.codex_line("event_msg", event) + examples.codex_said("assistant", "A login.")
    assert [row[2] for row in said(tmp_path, "x.jsonl", log)] == ["What is this?\n[image]", "A login."]


def test_of_codex_the_prompts_of_a_paginated_log_are_read(tmp_path: Path) -> None:
    content = [{"type": "local_image", "path": "shot.png"}, {"type": "text", "text": "What is this?\n"}]
    item = {"type": "item_completed", "item": {"type": "UserMessage", "id": "1", "content": content}}
    meta = {**examples.CODEX_META, "history_mode": "paginated"}
    log = examples.codex_line("session_meta", meta) + examples.codex_said("user", "<skill>x</skill>")
    log += examples.codex_line("event_msg", item) + examples.codex_said("assistant", "A login.")
    assert [row[2] for row in said(tmp_path, "x.jsonl", log)] == ["[image]\nWhat is this?", "A login."]


def test_a_log_of_codex_from_before_its_lines_had_times_is_read_with_the_time_of_its_session(tmp_path: Path) -> None:
    head = {"id": "cccc-1", "timestamp": "2025-08-18T01:16:13.522Z", "instructions": None, "git": {"branch": "main"}}
    context = {"type": "input_text", "text": "<environment_context>\n  <cwd>/shop</cwd>\n</environment_context>"}
    rows: list[dict[str, Any]] = [
        head,
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [context]},
        {"type": "message", "id": None, "role": "user", "content": [{"type": "input_text", "text": "hello codex"}]},
        {"type": "reasoning", "summary": []},
        {"type": "local_shell_call", "status": "completed", "action": {"type": "exec", "command": ["ls"]}},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]},
    ]
    found = said(tmp_path, "rollout.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert found == [
        ("user", "08-18 01:16", "hello codex"),
        ("assistant", "08-18 01:16", '[calls shell({"type": "exec", "command": ["ls"]})]'),
        ("assistant", "08-18 01:16", "Hello."),
    ]


def test_of_codex_prompts_that_were_taken_back_are_left_out_with_their_answers(tmp_path: Path) -> None:
    log = examples.codex_line("session_meta", examples.CODEX_META) + PROMPT("one", 1)
    log += examples.codex_said("assistant", "1", 2) + PROMPT("two", 3) + examples.codex_said("assistant", "2", 4)
    log += PROMPT("three", 5) + examples.codex_line("event_msg", {"type": "thread_rolled_back", "num_turns": 2}, 6)
    notes: list[str] = []
    found = said(tmp_path, "x.jsonl", log + PROMPT("four", 7), notes)
    assert [row[2] for row in found] == ["one", "1", "four"]
    assert notes[-1].endswith("left out: messages on other branches (3)")


def test_of_codex_thousands_of_prompts_that_were_taken_back_one_by_one_take_no_longer(tmp_path: Path) -> None:
    count = 8000
    back = examples.codex_line("event_msg", {"type": "thread_rolled_back", "num_turns": 1})
    prompts = "".join(PROMPT(f"prompt {number}") for number in range(count))
    log = examples.codex_line("session_meta", examples.CODEX_META) + prompts
    began = time.monotonic()
    assert len(said(tmp_path, "x.jsonl", log)) == count
    once = time.monotonic() - began
    began = time.monotonic()
    assert [row[2] for row in said(tmp_path, "x.jsonl", log + back * (count - 1))] == ["prompt 0"]
    assert time.monotonic() - began < 4 * once + 1


def test_of_codex_what_it_wrote_itself_as_a_prompt_is_left_out(tmp_path: Path) -> None:
    own = "<environment_context>\n  <cwd>/shop</cwd>\n</environment_context>"
    log = examples.codex_line("session_meta", examples.CODEX_META) + PROMPT(own)
    notes: list[str] = []
    assert [row[2] for row in said(tmp_path, "x.jsonl", log + PROMPT("hello"), notes)] == ["hello"]
    assert notes[-1].endswith("left out: hidden messages (1)")


def test_a_session_of_codex_that_was_forked_or_goes_on_is_not_there_twice_and_subagents_are_left_out(
    tmp_path: Path,
) -> None:
    meta = {**examples.CODEX_META, "id": "9a9a-2", "forked_from_id": examples.CODEX_META["id"]}
    later = examples.CODEX.replace("2026-04-22T19", "2026-04-23T08")
    agent = {**examples.CODEX_META, "id": "9a9a-3", "source": {"subagent": {"thread_spawn": {"depth": 1}}}}
    files = {
        "2026/04/22/rollout-1.jsonl": examples.CODEX,
        "2026/04/23/rollout-2.jsonl": examples.codex_line("session_meta", meta) + later + PROMPT("And now?"),
        "2026/04/24/rollout-3.jsonl": examples.codex_line("session_meta", agent) + PROMPT("Look."),
    }
    notes: list[str] = []
    with MemoryBank.open() as bank:
        sessions = read(examples.write(tmp_path / "sessions", files), note=notes.append)
        done = [bank.remember(ALICE, each) for each in sessions]
        assert [(each.session, each.new) for each in done] == [("shop (f4bd0ec8)", 5), ("shop (f4bd0ec8)", 1)]
        files["2026/04/22/rollout-1.jsonl"] += PROMPT("Thanks!", 9)
        sessions = read(examples.write(tmp_path / "sessions", files))
        assert sum(bank.remember(ALICE, each).new for each in sessions) == 1
    assert any("messages of subagents (1)" in each for each in notes)


# -- what is damaged --------------------------------------------------------------------------------------------------

NAMES = ("librechat.json", "prod-grok-backend.json", "rollout-2026-04-22.jsonl")
WRONG = {
    "librechat.json": [
        ("messages", 5),
        ("messages", [5]),
        ("messages", [{"messageId": "a", "isCreatedByUser": "yes", "text": "x"}]),
        ("messages", [{"messageId": "a", "isCreatedByUser": True, "text": ["x"]}]),
        ("messages", [{"isCreatedByUser": True, "text": "x"}]),
    ],
    "prod-grok-backend.json": [
        ("conversations", [{"conversation": 5, "responses": []}]),
        ("conversations", [{"conversation": {"id": "c"}, "responses": 5}]),
        ("conversations", [{"conversation": {"id": "c"}, "responses": [5]}]),
        ("conversations", [{"conversation": {"id": "c"}, "responses": [{"response": [5]}]}]),
    ],
}


@pytest.mark.parametrize(("name", "place"), [(name, place) for name in WRONG for place in range(len(WRONG[name]))])
def test_a_value_of_the_wrong_kind_is_an_error_that_names_the_file(tmp_path: Path, name: str, place: int) -> None:
    field, value = WRONG[name][place]
    content = {**examples.FILES[name], field: value}
    with pytest.raises(InvalidTranscript, match=name):
        said(tmp_path, name, content)


@pytest.mark.parametrize(
    "payload",
    [5, {"type": "message", "role": "user", "content": 5}, {"type": "function_call", "name": "x"}],
    ids=["a number", "content", "arguments"],
)
def test_a_bad_line_of_codex_is_named_or_passed_over(tmp_path: Path, payload: Any) -> None:
    log = examples.CODEX + examples.codex_line("response_item", payload)
    with pytest.raises(InvalidTranscript, match=r"x\.jsonl"):
        said(tmp_path, "x.jsonl", log)
    assert len(said(tmp_path, "x.jsonl", log, partial=True)) == 5


@pytest.mark.parametrize("name", NAMES)
def test_of_a_file_that_breaks_off_what_comes_before_is_read_with_partial(tmp_path: Path, name: str) -> None:
    whole = examples.encoded(examples.FILES[name])
    if name == "prod-grok-backend.json":
        export = deepcopy(examples.GROK)
        export["conversations"] *= 2
        whole = examples.encoded(export)
    for cut in range(len(whole) - 400, len(whole) - 2, 37):
        if name != "rollout-2026-04-22.jsonl" or whole[cut : cut + 1] != b"\n":
            with pytest.raises(InvalidTranscript, match=name):
                said(tmp_path, name, whole[:cut])
    assert said(tmp_path, name, whole[: len(whole) - 400], partial=True)


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_export_holds_no_message(tmp_path: Path, name: str) -> None:
    empty = {
        "librechat.json": {**examples.LIBRECHAT, "messages": []},
        "prod-grok-backend.json": {"conversations": [{"conversation": {"id": "c"}, "responses": []}]},
        "rollout-2026-04-22.jsonl": examples.codex_line("session_meta", examples.CODEX_META),
    }[name]
    with pytest.raises(InvalidTranscript, match=f"{name} holds no message"):
        said(tmp_path, name, empty)


@pytest.mark.parametrize("name", NAMES)
def test_a_mark_of_the_byte_order_and_the_lines_of_windows_change_nothing(tmp_path: Path, name: str) -> None:
    raw = examples.encoded(examples.FILES[name])
    marked = b"\xef\xbb\xbf" + raw.replace(b"\n", b"\r\n")
    assert said(tmp_path, name, marked) == said(tmp_path, name, raw)


# -- found again ------------------------------------------------------------------------------------------------------

ASKED = {
    "librechat.json": ("Which pan did you recommend?", "28 cm"),
    "prod-grok-backend.json": ("Which market is the nearest?", "Friday market"),
    "rollout-2026-04-22.jsonl": ("Why did the login fail?", "waited too briefly"),
    "KakaoTalkChats.txt": ("소년이 온다는 누가 말했어?", "소년이 온다"),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_was_imported_is_recalled_through_langchain_and_llamaindex(tmp_path: Path, name: str) -> None:
    pytest.importorskip("langchain")
    pytest.importorskip("llama_index.core")
    from langchain_secom import SecomRetriever
    from llamaindex_secom import SecomMemory

    path = examples.write(tmp_path, {name: examples.FILES[name]}) / name
    store = tmp_path / "memory.db"
    with MemoryBank.open(store) as bank:
        for session in read(path):
            bank.remember(ALICE, session, close=True)
    question, words = ASKED[name]
    with MemoryBank.open(store) as bank:
        found = SecomRetriever(bank=bank, scope=ALICE).invoke(question)
        assert any(words in each.page_content for each in found)
    memory = SecomMemory(scope=ALICE, store_path=str(store))
    messages = asyncio.run(memory.aget(question))
    assert any(words in (each.content or "") for each in messages)
