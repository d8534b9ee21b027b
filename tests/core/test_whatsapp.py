"""Chats of WhatsApp: what the app writes in many languages, what people send, and dates of other calendars."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from secom_core import MemoryBank
from secom_core.readers import format_of, read
from secom_core.readers.calendars import western

MARK = "\u200e"


def said(tmp_path: Path, text: str, name: str = "_chat.txt", notes: list[str] | None = None) -> list[tuple[str, str]]:
    """Speaker and words of each message."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    told = notes if notes is not None else []
    sessions = read(tmp_path / name, format="whatsapp", note=told.append)
    return [(message.speaker or "", message.text) for session in sessions for message in session.messages]


SENT = {
    "\u200ePOLL:\nWhich day do we meet?\n\u200eOPTION: Monday (\u200e3 votes)\n": (
        "POLL:\nWhich day do we meet?\nOPTION: Monday"
    ),
    "\u200eUMFRAGE:\nWelcher Tag?\n\u200eOPTION: Montag (früh) (\u200e1 Stimme)\n": (
        "UMFRAGE:\nWelcher Tag?\nOPTION: Montag (früh)"
    ),
    "POLL:\nWhich day?\nOPTION: Monday (3 votes)\nOPTION: Room (12 seats) (1 vote)\n": (
        "POLL:\nWhich day?\nOPTION: Monday\nOPTION: Room (12 seats)"
    ),
    "I counted (3 votes)": "I counted (3 votes)",
    "\u200eUMFRAGE:\nWelcher Tag?": "UMFRAGE:\nWelcher Tag?",
    "\u200eLocation: https://maps.google.com/?q=1,2": "Location: https://maps.google.com/?q=1,2",
    "\u200eStandort: https://maps.google.com/?q=1,2": "Standort: https://maps.google.com/?q=1,2",
    "\u200eContract.pdf • \u200e3 pages \u200edocument omitted": "[file: Contract.pdf]",
    "\u200eVertrag.pdf • \u200e3 Seiten \u200eDokument weggelassen": "[file: Vertrag.pdf]",
    "Our garden \u200eimage omitted": "Our garden [image]",
    "Our garden\nin May \u200eimage omitted": "Our garden\nin May [image]",
    "\u200e画像は含まれていません": "[image]",
    "\u200e動画は含まれていません": "[video]",
    "\u200e[图片已省略]": "[image]",
    "\u200e視頻已略去": "[video]",
    "\u200e忽略图片": "[image]",
    "\u200e사진 생략됨": "[image]",
    "\u200e동영상이 생략됨": "[video]",
    "\u200eتم حذف الصورة": "[image]",
    "\u200eafbeelding weggelaten": "[image]",
    "\u200eизображение отсутствует": "[image]",
    "\u200ekuva jätetty pois": "kuva jätetty pois",
    "See you at 9 \u200e<Diese Nachricht wurde bearbeitet.>": "See you at 9",
    "See you at 9 <Diese Nachricht wurde bearbeitet.>": "See you at 9",
    "See you at 9 \u200e<Viesti on muokattu>": "See you at 9",
    "I wrote <b>bold</b> words": "I wrote <b>bold</b> words",
}


@pytest.mark.parametrize("words", SENT)
def test_whatever_somebody_sends_is_kept(tmp_path: Path, words: str) -> None:
    text = f"{MARK}[13.05.24, 21:15:10] Ann: {words}\n[13.05.24, 21:16:10] Bob: hello\n"
    assert said(tmp_path, text) == [("Ann", SENT[words]), ("Bob", "hello")]


NOTICES = [
    "Messages and calls are end-to-end encrypted. No one outside of this chat can read them.",
    "Nachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt.",
    "メッセージと通話はエンドツーエンドで暗号化されています。",
    "Ann hat die Gruppe erstellt",
    "Ann added Bob",
    "Bob left",
    "Missed voice call, \u200eTap to call back",
    "Bob cambió el código de seguridad",
]


@pytest.mark.parametrize("notice", NOTICES)
def test_notices_of_the_app_are_left_out_and_counted(tmp_path: Path, notice: str) -> None:
    notes: list[str] = []
    text = f"[13.05.24, 21:15:10] Choir: {MARK}{notice}\n[13.05.24, 21:16:10] Bob: hello\n"
    assert said(tmp_path, text, notes=notes) == [("Bob", "hello")]
    assert notes[-1].endswith("left out: system lines (1)")


STANDING_IN = [
    ("Missed voice call", "system lines"),
    ("Missed video call, \u200eTap to call back", "system lines"),
    ("Missed group call", "system lines"),
    ("Verpasster Sprachanruf", "system lines"),
    ("Verpasster Videoanruf", "system lines"),
    ("Llamada perdida", "system lines"),
    ("Videollamada perdida", "system lines"),
    ("Appel vocal manqué", "system lines"),
    ("Appel vidéo manqué", "system lines"),
    ("Waiting for this message. This may take a while.", "messages that had not arrived"),
    ("Warten auf diese Nachricht. Dies kann eine Weile dauern.", "messages that had not arrived"),
    ("Esperando este mensaje. Esto puede tomar tiempo.", "messages that had not arrived"),
    ("En attente de ce message. Cela peut prendre un moment.", "messages that had not arrived"),
]


@pytest.mark.parametrize("opening", ["[13.05.24, 21:15:10] Bob: ", "13.05.24, 21:15 - Bob: "])
@pytest.mark.parametrize("mark", [MARK, ""])
@pytest.mark.parametrize(("words", "kind"), STANDING_IN)
def test_what_the_app_writes_in_place_of_calls_and_of_what_had_not_arrived_is_left_out(
    tmp_path: Path, opening: str, mark: str, words: str, kind: str
) -> None:
    notes: list[str] = []
    assert said(tmp_path, f"{opening}{mark}{words}\n{opening}hello\n", notes=notes) == [("Bob", "hello")]
    assert notes[-1].endswith(f"left out: {kind} (1)")


@pytest.mark.parametrize(
    "words",
    [
        "Missed voice call, sorry, I was asleep",
        "Missed your call.",
        "missed video call",
        "I am waiting for this message. This may take a while.",
        "Waiting for this message. Sorry!",
        "Llamada perdida de mi madre",
        "Null",
        "null pointer again",
    ],
)
def test_what_somebody_writes_about_calls_and_waiting_is_kept(tmp_path: Path, words: str) -> None:
    assert said(tmp_path, f"13.05.24, 21:15 - Ann: {words}\n13.05.24, 21:16 - Bob: hello\n")[0] == ("Ann", words)


def test_null_is_no_message_on_android_and_is_counted(tmp_path: Path) -> None:
    notes: list[str] = []
    android = "13.05.24, 21:15 - Ann: null\n13.05.24, 21:16 - Bob: hello\n"
    assert said(tmp_path, android, notes=notes) == [("Bob", "hello")]
    assert notes[-1].endswith("left out: messages exported as null (1)")
    ios = "[13.05.24, 21:15:10] Ann: null\n[13.05.24, 21:16:10] Bob: hello\n"
    assert said(tmp_path, ios) == [("Ann", "null"), ("Bob", "hello")]


def test_a_notice_about_the_one_in_whose_name_it_stands_is_left_out_in_any_language(tmp_path: Path) -> None:
    text = f"[13.05.24, 21:15:10] Aino: {MARK}Aino loi ryhmän\n[13.05.24, 21:16:10] Aino: Aino is my name\n"
    assert said(tmp_path, text) == [("Aino", "Aino is my name")]


STAMPS = {
    "\u200f٣\u200f/٥\u200f/٢٠٢٤، ٩:١٥ م - ": "Egypt",
    "3/5/2024، 9:15 م - ": "Arabic with Western digits",
    "[٣\u200f/٥\u200f/٢٠٢٤، ٩:١٥:٠٠ م] ": "Arabic, iOS",
    "\u200f۱۴۰۳/۲/۱۴،\u200f ۲۱:۱۵ - ": "Iran",
    "۱۴۰۳/۲/۱۴،\u200f ۹:۱۵ ب.ظ. - ": "Iran, 12 hours",
    "3/5/2567 21:15 - ": "Thailand",
    "2024-05-03 21:15 - ": "Sweden",
    "3/5/24, 9:15\u202fμ.μ. - ": "Greece",
    "[3/5/24, 9:15:00\u202fμ.μ.] ": "Greece, iOS",
    "03/05/2024, 9:15 PTG - ": "Malaysia",
    "[2024/5/3 晚上9:15:00] ": "Taiwan, iOS",
    "[2024-05-03, 21 h 15 min 00 s] ": "Quebec, iOS",
    "2024-05-03 21 h 15 - ": "Quebec",
    "3.05.24\u202fг., 21:15 - ": "Bulgaria",
    "3/5/2567 21:15 น. - ": "Thailand, Android",
    "3.5.24, 9:15\u202fm.d. - ": "Albania",
}


@pytest.mark.parametrize("stamp", STAMPS)
def test_dates_of_further_places_are_read(tmp_path: Path, stamp: str) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(f"{stamp}Ann: <Media har utelämnats>\n{stamp}Bob Low: Hello\n", encoding="utf-8")
    assert format_of(path).name == "whatsapp"
    messages = [message for session in read(path) for message in session.messages]
    assert [(each.speaker, each.text) for each in messages] == [("Ann", "[media]"), ("Bob Low", "Hello")]
    assert {f"{each.at:%Y-%m-%d %H:%M}" for each in messages if each.at} == {"2024-05-03 21:15"}


def test_every_time_of_the_day_in_taiwan_is_read(tmp_path: Path) -> None:
    stamps = {
        "上午9:05": 9,
        "中午12:15": 12,
        "下午2:05": 14,
        "晚上11:05": 23,
        "凌晨12:30": 0,
        "清晨5:05": 5,
        "早上8:05": 8,
    }
    text = "".join(f"[2024/5/3 {stamp}:10] Ann: {hour}\n" for stamp, hour in stamps.items())
    (tmp_path / "_chat.txt").write_text(text, encoding="utf-8")
    messages = [message for session in read(tmp_path / "_chat.txt") for message in session.messages]
    assert [(each.text, each.at.hour) for each in messages if each.at] == [(str(h), h) for h in stamps.values()]


def test_a_swedish_chat_is_told_from_a_transcript(tmp_path: Path) -> None:
    line = "2024-05-03 21:15 - Ann: Hej\n"
    first = "2024-05-03 21:14 - Meddelanden och samtal är krypterade från ände till ände. Läs mer.\n"
    for name, text, form in (
        ("a.txt", first + line, "whatsapp"),
        ("WhatsApp-chatt med Ann.txt", line, "whatsapp"),
        ("b.txt", line, "transcript"),
        ("c.txt", line + "2024-05-03 21:16 - took the pill\n", "transcript"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert format_of(tmp_path / name).name == form


YEARS = {
    (1403, 2, 14): date(2024, 5, 3),
    (1403, 1, 1): date(2024, 3, 20),
    (1399, 12, 30): date(2021, 3, 20),
    (1400, 1, 1): date(2021, 3, 21),
    (1403, 12, 30): date(2025, 3, 20),
    (1403, 2, 31): date(2024, 5, 20),
    (2567, 2, 29): date(2024, 2, 29),
    (2024, 2, 29): date(2024, 2, 29),
}


@pytest.mark.parametrize("numbers", YEARS)
def test_days_of_other_calendars_are_those_of_ours(numbers: tuple[int, int, int]) -> None:
    assert date(*western(numbers)) == YEARS[numbers]
    assert western((29, 2, 2567)) == (29, 2, 2024)
    assert western((1403, 13, 40)) == (1403, 13, 40)


def test_a_poll_with_more_votes_in_a_later_export_is_known(tmp_path: Path) -> None:
    path = tmp_path / "_chat.txt"
    poll = f"{MARK}[13.05.24, 21:15:10] Ann: {MARK}POLL:\nWhen?\n{MARK}OPTION: Monday ({MARK}% votes)\n"
    later = "[13.05.24, 21:16:10] Bob: hello\n"
    with MemoryBank.open() as bank:
        path.write_text(poll.replace("%", "3"), encoding="utf-8")
        assert [bank.remember(("alice",), each).new for each in read(path)] == [1]
        path.write_text(poll.replace("%", "5") + later, encoding="utf-8")
        assert [bank.remember(("alice",), each).new for each in read(path)] == [1]
