"""Chats exported from LINE, WeChat, QQ and WhatsApp, and transcripts, in Chinese, Japanese and English."""

from __future__ import annotations

from pathlib import Path

import pytest

from secom_core.errors import InvalidTranscript
from secom_core.readers import format_of, read, read_transcript


def said(tmp_path: Path, text: str, form: str, name: str = "chat.txt", **options: object) -> list[tuple[str, str, str]]:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert format_of(tmp_path / name).name == form
    sessions = read(tmp_path / name, **options)
    return [(str(each.at)[:16], each.speaker or "", each.text) for session in sessions for each in session.messages]


@pytest.mark.parametrize(
    ("title", "day", "stamp", "at"),
    [
        (
            "[LINE] 與王小明的聊天記錄\n儲存日期：2026/05/20 21:15\n",
            "2026/05/03（日）",
            "下午02:20\t王小明\t",
            "05-03 14:20",
        ),
        ("[LINE] 与王小明的聊天记录\n", "2026.05.03 星期日", "10:15 王小明 ", "05-03 10:15"),
        (
            "[LINE] Chat history with 王小明\nSaved on: 05/20/2026\n",
            "Sun, 05/03/2026",
            "10:15 PM\t王小明\t",
            "05-03 22:15",
        ),
        ("[LINE] Chat history with 王小明\n", "Tue, 03/05/2026", "10:15\t王小明\t", "03-05 10:15"),
        ("[LINE] Chat history with 王小明\n", "Sun, 03/05/2026", "10:15\t王小明\t", "05-03 10:15"),
        ("[LINE] 왕소명님과의 대화\n", "2026. 5. 3. 일요일", "오후 2:20\t王小明\t", "05-03 14:20"),
        ("", "2026/05/03(日)", "10:15\t王小明\t", "05-03 10:15"),
    ],
)
def test_line_in_several_languages(tmp_path: Path, title: str, day: str, stamp: str, at: str) -> None:
    text = f"{title}\n{day}\n{stamp}早安: 你好 世界\n"
    assert said(tmp_path, text, "line") == [(f"2026-{at}", "王小明", "早安: 你好 世界")]


def test_a_later_export_of_line_has_the_same_ids(tmp_path: Path) -> None:
    chat = "[LINE] 山田とのトーク履歴\n\n2026/05/03(日)\n10:15\t山田\tはい\n10:15\t山田\tはい\n"
    ids = []
    for name, text in (("a.txt", chat), ("b.txt", f"{chat}10:16\t花子\tうん\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        ids.append([each.id for session in read(tmp_path / name) for each in session.messages])
    assert ids[0] == ids[1][:2]
    assert len(set(ids[1])) == 3


def test_a_time_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidTranscript, match=r"line 4: there is no time 25:15"):
        said(tmp_path, "[LINE] 山田とのトーク履歴\n\n2026/05/03(日)\n25:15\t山田\tはい\n", "line")


@pytest.mark.parametrize(
    "text",
    [
        "王小明 2026-05-03 10:15:20\n早安\n\n陳大文 2026-05-03 10:16:01\n走吧\n",
        "2026-05-03 10:15:20 王小明(123456)\n早安\n\n2026-05-03 10:16:01 陳大文\n走吧\n",
        "王小明 2026年5月3日 上午10:15\n早安\n陳大文 2026年5月3日 上午10:16\n走吧\n",
        "消息记录（此消息记录为文本格式，不支持重新导入）\n=======\n消息分组:好友\n=======\n消息对象:王小明\n=======\n\n"
        "2026-05-03 10:15:20 王小明\n早安\n\n2026-05-03 10:16:01 陳大文\n走吧\n",
    ],
)
def test_wechat_and_qq(tmp_path: Path, text: str) -> None:
    assert said(tmp_path, text, "wechat") == [
        ("2026-05-03 10:15", "王小明", "早安"),
        ("2026-05-03 10:16", "陳大文", "走吧"),
    ]


@pytest.mark.parametrize(
    "deleted",
    ["此訊息已刪除", "您已刪除此訊息", "你刪除了此訊息。", "此消息已被删除", "このメッセージは削除されました"],
)
def test_deleted_messages_of_whatsapp(tmp_path: Path, deleted: str) -> None:
    text = f"2026/5/3 下午2:16 - 陳大文: 今天幾點？\n2026/5/3 下午2:17 - 陳大文: {deleted}\n"
    assert said(tmp_path, text, "whatsapp") == [("2026-05-03 14:16", "陳大文", "今天幾點？")]


@pytest.mark.parametrize("names", ["用戶 助手", "使用者 助理", "ユーザー アシスタント", "사용자 어시스턴트"])
def test_roles_of_a_transcript(names: str) -> None:
    user, assistant = names.split()
    [session] = read_transcript(f"{user}：好。\n{assistant}：嗯。\n")
    assert [each.role for each in session.messages] == ["user", "assistant"]


@pytest.mark.parametrize(
    "header", ["2026年5月3日（日）", "2026年5月3日 星期日", "2026/5/3（週日）", "2026-05-03 日曜日"]
)
@pytest.mark.parametrize("opening", ["田中（14:16）：", "【下午2:16】田中：", "（14:16）田中：", "[午後2:16] 田中："])
def test_days_and_times_of_a_transcript(header: str, opening: str) -> None:
    [session] = read_transcript(f"{header}\n\n{opening}おはよう\n")
    [message] = session.messages
    assert (str(message.at)[:16], message.speaker, message.text) == ("2026-05-03 14:16", "田中", "おはよう")


@pytest.mark.parametrize(
    ("codec", "title", "words"),
    [
        ("gb18030", "GB 18030", "房租涨到两千八百元了，好贵"),
        ("big5", "Big5", "房租漲到兩千八百元了，好貴"),
        ("cp932", "Shift-JIS", "家賃が八万円に上がりました。高いですね"),
        ("cp949", "EUC-KR", "월세가 팔십만 원으로 올랐어요, 너무 비싸요"),
    ],
)
def test_older_encodings(tmp_path: Path, codec: str, title: str, words: str) -> None:
    cue = "1\n00:00:01,000 --> 00:00:03,000\n"
    (tmp_path / "a.srt").write_bytes((cue + words).encode(codec))
    notes: list[str] = []
    [session] = read(tmp_path / "a.srt", note=notes.append)
    assert [each.text for each in session.messages] == [words]
    assert f"it is read as {title}." in notes[0]


@pytest.mark.parametrize(
    "words",
    ["Grüße aus Köln, schöne Füße für süße Mädchen über Äpfel", "Où êtes-vous, mon chéri préféré à la fenêtre ?"],
)
def test_letters_of_western_europe_are_no_chinese(tmp_path: Path, words: str) -> None:
    (tmp_path / "a.txt").write_bytes(f"Ann: {words}\nBob: Ja.".encode("cp1252"))
    [session] = read(tmp_path / "a.txt")
    assert session.messages[0].text == words
