"""Words that an export holds in an unusual place are read, and a damaged record costs no other one."""

from __future__ import annotations

import html
import json
import re
import time
from datetime import timezone
from pathlib import Path
from typing import Any

import pytest

from benchmarks import example_exports as examples
from secom_core import MemoryBank
from secom_core.errors import InvalidTranscript
from secom_core.readers import format_of, read


def said(path: Path, notes: list[str] | None = None, **options: Any) -> list[tuple[str, str]]:
    """Speaker, or else role, and words of each message."""
    told = notes if notes is not None else []
    sessions = read(path, note=told.append, **options)
    return [(message.speaker or message.role, message.text) for each in sessions for message in each.messages]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# -- damaged role/content messages ------------------------------------------------------------------------------------

HELLO = [{"role": "user", "content": f"hello {number}"} for number in range(20)]
LINES = [json.dumps(each) for each in HELLO]
TUNING = [json.dumps({"messages": [each]}) for each in HELLO]
DAMAGED = {
    "a line that is cut.jsonl": ("\n".join(LINES)[:-9], 19, "line 20 is not JSON.* breaks off here"),
    "a bad line in the middle.jsonl": ("\n".join([*LINES[:3], "{oops", *LINES[3:]]), 20, "line 4 is not JSON"),
    "a bad first line.jsonl": ("\n".join(["{oops", *LINES]), 20, "line 1 is not JSON"),
    "a line that is no message.jsonl": ("\n".join([*LINES[:3], '{"a": 1}', *LINES[3:]]), 20, "message 3: needs"),
    "a line of fine-tuning.jsonl": ("\n".join(TUNING)[:-9], 19, "line 20 is not JSON"),
    "a row without messages.jsonl": ("\n".join([*TUNING[:3], '{"a": 1}', *TUNING[3:]]), 20, "row 4: expected an obj"),
    "a bad message in a row.jsonl": (
        "\n".join([*TUNING, '{"messages": [{"role": 5}, {"role": "user", "content": "x"}]}']),
        21,
        "message 0: needs",
    ),
    "a list that is cut.json": (json.dumps(HELLO)[:-9], 19, "not JSON.* breaks off here"),
    "a list with a bad item.json": (json.dumps([*HELLO, 5]), 20, "message 20: expected"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_with_partial_all_that_can_be_read_is_given(tmp_path: Path, name: str) -> None:
    text, count, reason = DAMAGED[name]
    path, notes = written(tmp_path / name, text), list[str]()
    with pytest.raises(InvalidTranscript, match=reason):
        said(path)
    assert len(said(path, notes, partial=True)) == count
    assert any("passed over" in each and re.search(reason, each) for each in notes)


def test_an_empty_conversation_of_chatgpt_is_counted(tmp_path: Path) -> None:
    empty: dict[str, Any] = {"title": "New chat", "id": "9", "current_node": None, "mapping": {}}
    rooted: dict[str, Any] = {
        **empty,
        "mapping": {"root": {"id": "root", "message": None, "parent": None, "children": []}},
    }
    path = examples.write(tmp_path, {"c.json": [examples.RENT, empty, rooted, examples.GARDEN]}) / "c.json"
    notes: list[str] = []
    assert [words for _, words in said(path, notes)][:2] == ["My rent is 850 € now. 🏠", "Noted."]
    assert "empty conversations (2)" in notes[-1]


# -- Slack and Discord ------------------------------------------------------------------------------------------------


def _rich(*elements: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": list(elements)}]}]


BLOCKS = _rich(
    {"type": "text", "text": "the port is <8443> "},
    {"type": "user", "user_id": "U1"},
    {"type": "text", "text": ", see "},
    {"type": "link", "url": "https://x.example", "text": "the plan"},
    {"type": "emoji", "name": "smile"},
)
ITEMS = [{"type": "rich_text_section", "elements": [{"type": "text", "text": text}]} for text in ("one", "two")]
BUILD = [
    {"type": "header", "text": {"type": "plain_text", "text": "CI"}},
    {"type": "section", "text": {"type": "mrkdwn", "text": "*Build 58* &amp; tests"}, "fields": [{"text": "on main"}]},
    {"type": "context", "elements": [{"type": "mrkdwn", "text": "by Ann"}, {"type": "image", "alt_text": "x"}]},
    {"type": "divider"},
]
DISK = {"title": "OPS-7", "text": "Disk full on db2", "fields": [{"title": "Priority", "value": "High"}]}
SLACK: dict[str, tuple[dict[str, Any], str]] = {
    "rich text": ({"blocks": BLOCKS}, "the port is <8443> @Ann, see the plan (https://x.example):smile:"),
    "a list": (
        {"blocks": [{"type": "rich_text", "elements": [{"type": "rich_text_list", "elements": ITEMS}]}]},
        "one\ntwo",
    ),
    "sections": ({"blocks": BUILD}, "CI\n*Build 58* & tests\non main\nby Ann"),
    "an attachment without fallback": ({"attachments": [DISK]}, "OPS-7\nDisk full on db2\nPriority: High"),
    "an attachment with fallback alone": ({"attachments": [{"fallback": "A picture"}]}, "A picture"),
    "an attachment of blocks": ({"attachments": [{"blocks": BUILD}]}, "CI\n*Build 58* & tests\non main\nby Ann"),
    "a forwarded message": (
        {"text": "FWD", "attachments": [{"is_share": True, "author_name": "Bob", "text": "The code is 4711"}]},
        "FWD\nBob\nThe code is 4711",
    ),
    "a preview of a link": ({"text": "see <https://x.example>", "attachments": [DISK]}, "see https://x.example"),
    "a deleted file": ({"text": "gone", "files": [{"id": "F", "mode": "tombstone"}]}, "gone"),
    "text beside its blocks": ({"text": "the port", "blocks": BLOCKS}, "the port"),
}


@pytest.mark.parametrize("case", SLACK)
def test_whatever_a_message_of_slack_shows_is_read(tmp_path: Path, case: str) -> None:
    given, words = SLACK[case]
    message = {"type": "message", "user": "U1", "text": "", "ts": "1714763951.000100", **given}
    users = [{"id": "U1", "profile": {"display_name": "Ann"}}]
    path = examples.write(tmp_path / "export", {"users.json": users, "ops/2024-05-03.json": [message]})
    assert said(path) == [("Ann", words)]


DISCORD: dict[str, tuple[dict[str, Any], str]] = {
    "an answer to a command": ({"type": "20", "content": "The raid is on Friday"}, "The raid is on Friday"),
    "an answer to a menu": ({"type": "23", "content": "Done"}, "Done"),
    "by its name": ({"type": "ChatInputCommand", "content": "Done"}, "Done"),
    "a forwarded message": (
        {"forwardedMessage": {"content": "the key is under the pot", "attachments": [{"fileName": "pot.jpg"}]}},
        "the key is under the pot\n[file: pot.jpg]",
    ),
    "an embed": (
        {"embeds": [{"title": "Deploy 58", "description": "Finished", "fields": [{"name": "Env", "value": "prod"}]}]},
        "Deploy 58\nFinished\nEnv: prod",
    ),
}


@pytest.mark.parametrize("case", DISCORD)
def test_whatever_a_message_of_discord_shows_is_read(tmp_path: Path, case: str) -> None:
    given, words = DISCORD[case]
    message = {"id": "9", "type": "Default", "timestamp": "2024-05-03T21:14:00+00:00", "author": {"name": "ann"}}
    joined = {**message, "id": "8", "type": "GuildMemberJoin", "content": "Joined."}
    export = {"guild": {"id": "1"}, "channel": {"name": "general"}, "messages": [joined, {**message, **given}]}
    assert said(written(tmp_path / "x.json", json.dumps(export))) == [("ann", words)]


# -- chats between people ---------------------------------------------------------------------------------------------


def telegram_chat(number: int, *texts: str) -> dict[str, Any]:
    said = [
        {"id": n, "type": "message", "date_unixtime": str(1714745100 + n), "from": "Ann", "from_id": "user1", "text": t}
        for n, t in enumerate(texts)
    ]
    return {"name": "Family", "type": "private_group", "id": number, "messages": said}


def teams_chat(key: str, text: str) -> dict[str, Any]:
    said = {"id": "1", "displayName": "Bob", "from": "8:bob", "messagetype": "Text", "content": text}
    return {"id": key, "MessageList": [{**said, "originalarrivaltime": "2024-05-03T14:05:00Z"}]}


def discord_chat(channel: str, text: str) -> dict[str, Any]:
    said = {"id": channel, "type": "Default", "timestamp": "2024-05-03T14:05:00Z", "author": {"name": "Bob"}}
    about = {"guild": {"id": "0"}, "channel": {"id": channel, "type": "DirectTextChat", "name": "Bob"}}
    return {**about, "messages": [{**said, "content": text}]}


def signal_chat(*given: str) -> list[dict[str, Any]]:
    pairs = list(zip(given[::2], given[1::2], strict=True))
    people = [{"recipient": {"id": key, "contact": {"profileGivenName": "Bob"}}} for key, _ in pairs]
    chats = [{"chat": {"id": key, "recipientId": key}} for key, _ in pairs]
    sent = {"dateSent": "1714745100000"}
    said = [{**sent, "chatId": k, "authorId": k, "standardMessage": {"text": {"body": text}}} for k, text in pairs]
    return [*people, *chats, *({"chatItem": item} for item in said)]


NAMESAKES: dict[str, dict[str, Any]] = {
    "telegram": {
        "result.json": {"about": "", "chats": {"list": [telegram_chat(11, "a"), telegram_chat(12, "b")]}},
    },
    "teams": {
        "messages.json": {"userId": "8:ann", "conversations": [teams_chat("19:one", "a"), teams_chat("19:two", "b")]}
    },
    "discord": {"bob [1].json": discord_chat("1", "a"), "bob [2].json": discord_chat("2", "b")},
    "signal": {"main.jsonl": "\n".join(map(json.dumps, [{"backupTimeMs": "1"}, *signal_chat("3", "a", "4", "b")]))},
}


@pytest.mark.parametrize("form", NAMESAKES)
def test_two_chats_of_one_name_are_two_sessions(tmp_path: Path, form: str) -> None:
    path = examples.write(tmp_path / "export", NAMESAKES[form])
    assert format_of(path).name == form
    first, second = read(path)
    assert [[message.text for message in each.messages] for each in (first, second)] == [["a"], ["b"]]
    assert first.name != second.name
    assert [each.name for each in read(path)] == [first.name, second.name]


def test_the_address_behind_a_word_of_telegram_is_kept(tmp_path: Path) -> None:
    chat = telegram_chat(1, "x")
    chat["messages"][0]["text"] = ["my ", {"type": "text_link", "text": "recipe", "href": "https://x.example/1"}, "!"]
    path = examples.write(tmp_path, {"result.json": chat}) / "result.json"
    assert said(path) == [("Ann", "my recipe (https://x.example/1)!")]


ANSWERS = [{"text": "Saturday", "voters": 3}, {"text": ["Sun", {"type": "bold", "text": "day"}], "voters": 0}]
TELEGRAM: dict[str, tuple[dict[str, Any], str]] = {
    "a poll": ({"poll": {"question": "When?", "answers": ANSWERS}}, "[poll: When?]\n- Saturday\n- Sunday"),
    "a poll without answers": ({"poll": {"question": "When?"}}, "[poll: When?]"),
    "a list": ({"todo_list": {"title": "Pack", "items": [{"id": 1, "text": "tent"}]}}, "[to do: Pack]\n- tent"),
    "a place": (
        {"location_information": {"latitude": 51}, "place_name": "Café Rose", "address": "Kouter 1"},
        "[location: Café Rose, Kouter 1]",
    ),
    "a point": ({"location_information": {"latitude": 51}}, "[location]"),
}


@pytest.mark.parametrize("case", TELEGRAM)
def test_whatever_a_message_of_telegram_shows_is_read(tmp_path: Path, case: str) -> None:
    given, words = TELEGRAM[case]
    chat = telegram_chat(1, "")
    chat["messages"][0].update(given)
    assert said(written(tmp_path / "result.json", json.dumps(chat))) == [("Ann", words)]


def test_what_somebody_says_twice_in_a_second_is_there_twice(tmp_path: Path) -> None:
    row = json.dumps({"date": "2024-05-03 14:05:00", "sender": "Bob", "body": "Ha!", "attachments": []})
    path = examples.write(tmp_path / "export", {"Bob/data.json": f"{row}\n{row}\n"})
    with MemoryBank.open() as bank:
        assert [bank.remember(("alice",), session).new for session in [*read(path), *read(path)]] == [2, 0]


PAGES = {
    "<p>Prices:</p><table><tr><th>month</th><th>euro</th></tr><tr><td>May</td><td>86</td></tr></table>": (
        "Prices:\nmonth\teuro\nMay\t86"
    ),
    "<pre><code>def f():\n    return 1\n</code></pre><p>So.</p>": "def f():\n    return 1\nSo.",
    '<blockquote itemtype="Reply"><strong>Bob</strong><p>Where?</p></blockquote><p>In Graz.</p>': (
        "> Bob\n> Where?\nIn Graz."
    ),
    "<quote><legacyquote>[17] Bob: </legacyquote>Where?<legacyquote>\n\n&lt;&lt;&lt; </legacyquote></quote>In Graz.": (
        "> Where?\nIn Graz."
    ),
    '<p>Great <emoji id="smile" alt="😀"></emoji> <img src="https://x.org/1" alt="image"></p>': "Great 😀  [image]",
    "<ul><li>one</li><li>two&nbsp;</li></ul><style>p {}</style>": "- one\n- two",
}


@pytest.mark.parametrize("page", PAGES)
def test_tables_code_and_quotes_of_a_page_stay_what_they_are(tmp_path: Path, page: str) -> None:
    chat = teams_chat("19:one", page)
    chat["MessageList"][0]["messagetype"] = "RichText/Html"
    path = examples.write(tmp_path, {"messages.json": {"userId": "8:ann", "conversations": [chat]}}) / "messages.json"
    assert said(path) == [("Bob", PAGES[page])]


SENT_IN_TEAMS = {
    "RichText/UriObject": (
        '<URIObject uri="x" type="Picture.1"><OriginalName v="cat.png"></OriginalName>',
        "[image: cat.png]",
    ),
    "RichText/Media_GenericFile": (
        '<URIObject type="File.1" uri="x"><OriginalName v="a&amp;b.pdf"/>',
        "[file: a&b.pdf]",
    ),
    "RichText/Media_AudioMsg": ('<URIObject type="Audio.1" uri="x">', "[audio]"),
}


@pytest.mark.parametrize("kind", SENT_IN_TEAMS)
def test_files_and_pictures_that_were_sent_in_teams_are_messages(tmp_path: Path, kind: str) -> None:
    content, words = SENT_IN_TEAMS[kind]
    chat = teams_chat("19:one", content)
    chat["MessageList"][0]["messagetype"] = kind
    path = examples.write(tmp_path, {"messages.json": {"userId": "8:ann", "conversations": [chat]}}) / "messages.json"
    assert said(path) == [("Bob", words)]


def test_a_message_of_microsoft_graph_that_is_a_file_or_a_picture_is_told(tmp_path: Path) -> None:
    def message(page: str, *attachments: dict[str, str]) -> dict[str, Any]:
        about = {"id": page, "messageType": "message", "createdDateTime": "2026-05-03T14:05:00Z", "chatId": "19:x"}
        body = {"contentType": "html", "content": page}
        return {**about, "from": {"user": {"displayName": "Ann"}}, "body": body, "attachments": list(attachments)}

    sent = [
        message('<attachment id="a"></attachment>', {"id": "a", "contentType": "reference", "name": "a.docx"}),
        message('<p><img src="x" alt="image"></p>'),
        message('<attachment id="b"></attachment>', {"id": "b", "contentType": "application/vnd.microsoft.card.hero"}),
    ]
    path, notes = written(tmp_path / "graph.json", json.dumps({"value": sent})), list[str]()
    assert said(path, notes) == [("Ann", "[file: a.docx]"), ("Ann", "[image]")]
    assert any("empty messages (1)" in each for each in notes)


# -- mails and tables -------------------------------------------------------------------------------------------------


def test_a_mail_of_three_headers_is_a_mail(tmp_path: Path) -> None:
    text = "From: Bob <bob@x.org>\nDate: Fri, 03 May 2024 21:16:00 +0200\nContent-Type: text/plain\n\nOK for Monday.\n"
    path = written(tmp_path / "x.eml", text)
    assert format_of(path).name == "mail"
    assert said(path) == [("Bob", "OK for Monday.")]


QUOTES = {
    "below the quote": "On Thu, May 2, 2024 at 9:00 AM Ann <ann@x.org> wrote:\n> Where?\n> Linz?\n\nIn Graz.\n",
    "between the quotes": "Ann <ann@x.org> schrieb:\n\n> Where?\nIn Graz.\n> Since when?\n",
    "a long address": "In Graz.\n\nOn Thu, May 2, 2024 at 9:00 AM Ann <\nann.long@x.org> wrote:\n\n> Where?\n",
    "a long name": "In Graz.\nOn Thu, May 2, 2024 at 9:00 AM Ann Longname\n<ann@x.org> wrote:\n\n> Where?\n",
    "Japanese": "In Graz.\n\n2024年5月2日(木) 9:00 Ann <ann@x.org>:\n> Where?\n",
    "Chinese": "In Graz.\n\nAnn <ann@x.org> 于2024年5月2日周四 09:00写道：\n> Where?\n",
    "Outlook": "In Graz.\n\n________________\nFrom: Ann\nSent: Thursday\nTo: Bob\nSubject: Move\n\nWhere?\n",
    "German Outlook": "In Graz.\n\nVon: Ann\nGesendet: Donnerstag\nAn: Bob\nCc: Cid\nBetreff: Move\n\nWhere?\n",
    "French Outlook": "In Graz.\n\nDe : Ann\nEnvoyé : jeudi\nÀ : Bob\nObjet : Move\n\nWhere?\n",
    "without marks": "In Graz.\n\nOn May 2, 2024, at 9:00, Ann wrote:\n\nWhere?\n",
}


@pytest.mark.parametrize("case", QUOTES)
def test_the_answer_in_a_mail_is_kept_and_the_mail_that_it_answers_is_not(tmp_path: Path, case: str) -> None:
    head = "From: Bob <bob@x.org>\nTo: ann@x.org\nDate: Fri, 03 May 2024 21:16:00 +0200\n"
    path = written(tmp_path / "x.eml", f"{head}Content-Type: text/plain; charset=utf-8\n\n{QUOTES[case]}")
    assert said(path) == [("Bob", "In Graz.")]


def test_a_mail_in_an_unknown_encoding_stops_no_mailbox(tmp_path: Path) -> None:
    head = "From 1@x Fri May 03 12:05:00 2024\nFrom: Bob <bob@x.org>\nDate: Fri, 03 May 2024 21:16:00 +0200\n"
    kinds = ("utf-8", "x-user-defined")
    mails = "".join(f"{head}Content-Type: text/plain; charset={kind}\n\nHello\n\n" for kind in kinds)
    notes: list[str] = []
    assert said(written(tmp_path / "x.mbox", mails), notes) == [("Bob", "Hello")] * 2
    assert "its encoding is 'x-user-defined'" in notes[0]


def test_a_mail_that_is_a_page_is_kept_without_what_it_quotes(tmp_path: Path) -> None:
    head = "From: Bob <bob@x.org>\nDate: Fri, 03 May 2024 21:16:00 +0200\nContent-Type: text/html\n\n"
    page = "<p>Ann &lt;ann@x.org&gt; wrote:</p><blockquote><p>Where?</p></blockquote><p>In Graz.</p>"
    assert said(written(tmp_path / "x.eml", f"{head}{page}\n")) == [("Bob", "In Graz.")]


SIGNATURES = {
    "Gmail": '<div><div>-- <br></div><div dir="ltr" class="gmail_signature">Bob Baker<br>Baker & Sons</div></div>',
    "Gmail, with a prefix": '<span class="gmail_signature_prefix">-- </span><br><div>Bob Baker</div>',
    "Thunderbird": '<pre class="moz-signature" cols="72">-- \nBob Baker</pre>',
}


@pytest.mark.parametrize("program", SIGNATURES)
def test_the_signature_of_a_mail_that_is_a_page_is_left_out(tmp_path: Path, program: str) -> None:
    head = "From: Bob <bob@x.org>\nDate: Fri, 03 May 2024 21:16:00 +0200\nContent-Type: text/html\n\n"
    page = f"<p>At nine?</p><p>--</p><p>Or at ten.</p>{SIGNATURES[program]}"
    assert said(written(tmp_path / "x.eml", f"{head}{page}\n")) == [("Bob", "At nine?\n--\nOr at ten.")]


@pytest.mark.parametrize("words", ["On Friday she wrote to me:\ncome!", "From: Graz\nDate: 3 May\nTo: Linz\nby train"])
def test_words_that_only_look_like_a_repeated_mail_are_kept(tmp_path: Path, words: str) -> None:
    head = "From: Bob <bob@x.org>\nDate: Fri, 03 May 2024 21:16:00 +0200\nContent-Type: text/plain\n"
    assert said(written(tmp_path / "x.eml", f"{head}\n{words}\n")) == [("Bob", words)]


def test_a_table_of_a_telephones_messages_has_its_speakers_and_dates(tmp_path: Path) -> None:
    path = written(
        tmp_path / "m.csv",
        "Chat Session,Message Date,Service,Type,Sender ID,Sender Name,Subject,Text,Attachment\n"
        'Bob,2024-05-03 21:15:00,iMessage,Incoming,+1555,Bob,,"Home, at 8?",\n'
        "Bob,2024-05-03 21:16:00,iMessage,Outgoing,,,,Yes,key.jpg\n",
    )
    [session] = read(path)
    assert session.name == "Bob"
    told = [(each.role, each.speaker, f"{each.at:%H:%M}" if each.at else "", each.text) for each in session.messages]
    assert told == [("", "Bob", "21:15", "Home, at 8?"), ("user", "Me", "21:16", "Yes\n[file: key.jpg]")]


# -- what an assistant writes outside its answers ---------------------------------------------------------------------


def chatgpt(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    names = [None, *(each["id"] for each in messages)]
    nodes = {each["id"]: examples.node(each["id"], parent, each) for each, parent in zip(messages, names, strict=False)}
    return [{"title": "T", "id": "1234", "mapping": nodes, "current_node": names[-1]}]


MARKED = {
    'Call \ue200entity\ue202["company","SIBS","a company"]\ue201 first.': "Call SIBS first.",
    "See \ue200url\ue202the page of the bank\ue202turn0search1\ue201.": "See the page of the bank.",
    "Frost ends in May.\ue200cite\ue202turn0search3\ue202turn0news1\ue201": "Frost ends in May.",
    "Here:\ue200i\ue202turn0image1\ue202turn0image2\ue201 a heron": "Here: a heron",
    "Go \ue200entity\ue202[no json\ue201on": "Go on",
    "Go \ue200url\ue202turn0search1\ue201on": "Go on",
}


@pytest.mark.parametrize("words", MARKED)
def test_a_name_or_a_link_in_a_mark_of_chatgpt_is_read(tmp_path: Path, words: str) -> None:
    path = written(tmp_path / "x.json", json.dumps(chatgpt(examples.chatgpt_message("a", "assistant", words))))
    assert said(path) == [("assistant", MARKED[words])]


POEM = 'Dear Odette,\nred as the "Café".'
UNDER = '"content": "…"})]\nDear Odette,\nred as the "Café".'
ARGUMENTS = {
    json.dumps({"name": "Poem", "content": POEM}): f'[calls canmore.create({{"name": "Poem", {UNDER}',
    json.dumps({"updates": [{"to": "a\nb"}]}): '[calls canmore.create({"updates": [{"to": "…"}]})]\na\nb',
    '{"q":"a day"}': '[calls canmore.create({"q":"a day"})]',
    json.dumps({"q": "Käthe"}): '[calls canmore.create({"q": "Käthe"})]',
    'print("a\\nb")': '[calls canmore.create(print("a\\nb"))]',
}


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_a_document_that_chatgpt_writes_by_a_call_stands_line_by_line(tmp_path: Path, arguments: str) -> None:
    call = examples.chatgpt_message("a", "assistant", arguments, kind="code", recipient="canmore.create")
    assert said(written(tmp_path / "x.json", json.dumps(chatgpt(call)))) == [("assistant", ARGUMENTS[arguments])]


def test_a_document_that_claude_writes_by_a_call_is_found_by_the_words_of_any_line(tmp_path: Path) -> None:
    made = {"type": "tool_use", "name": "artifacts", "input": {"id": "plan", "content": "# Plan\nLarch for Käthe."}}
    message = {"uuid": "a", "sender": "assistant", "text": "", "content": [made, {"type": "text", "text": "Done."}]}
    path = written(tmp_path / "x.json", json.dumps([{"uuid": "u", "name": "N", "chat_messages": [message]}]))
    call = '[calls artifacts({"id": "plan", "content": "…"})]'
    assert said(path) == [("assistant", f"{call}\n# Plan\nLarch for Käthe.\nDone.")]


NOTICES = {
    "GPT-4o returned 1 images. From now on, do not say or show ANYTHING. Please end this turn now.": True,
    "DALL·E displayed 2 images. The images are already plainly visible, so don't repeat the descriptions.": True,
    "The search returned 3 images of herons": False,
    "The warehouse returned 2 boxes.": False,
}


@pytest.mark.parametrize("notice", NOTICES)
def test_what_a_tool_of_chatgpt_tells_the_model_about_pictures_is_left_out(tmp_path: Path, notice: str) -> None:
    asked = examples.chatgpt_message("a", "user", "Draw a heron.")
    told = examples.chatgpt_message("b", "tool", notice, called="image")
    path, notes = written(tmp_path / "x.json", json.dumps(chatgpt(asked, told))), list[str]()
    assert (said(path, notes) == [("user", "Draw a heron.")]) is NOTICES[notice]
    assert any("hidden messages (1)" in each for each in notes) is NOTICES[notice]


# -- Gemini in other languages -----------------------------------------------------------------------------------------

ACTIVITIES = {
    "Gemini-Apps": ("Eingegebener Prompt: Wo wohne ich?", "Gemini-Apps wurde verwendet"),
    "Applications\xa0Gemini": ("Prompt\xa0: Wo wohne ich?", "Vous avez utilisé Applications\xa0Gemini"),
    "Apps de Gemini": ("Has dicho: Wo wohne ich?", "Has utilizado Apps de Gemini"),
    "Gemini アプリ": ("送信したメッセージ: Wo wohne ich?", "Gemini アプリ を使用しました"),
}


@pytest.mark.parametrize("header", ACTIVITIES)
def test_what_gemini_notes_in_another_language_is_not_told_as_the_users_words(tmp_path: Path, header: str) -> None:
    prompt, used = ACTIVITIES[header]
    about = {"header": header, "products": [header]}
    answered = {**about, "title": prompt, "time": "2026-09-02T09:00:00Z", "safeHtmlItem": [{"html": "<p>Gent.</p>"}]}
    rows = [answered, {**about, "title": used, "time": "2026-09-02T08:00:00Z"}]
    path, notes = written(tmp_path / "MyActivity.json", json.dumps(rows, ensure_ascii=False)), list[str]()
    assert said(path, notes) == [("user", "Wo wohne ich?"), ("assistant", "Gent.")]
    assert any("no prompt (1)" in each for each in notes)


def test_a_file_for_gemini_stands_in_its_prompt_by_the_name_that_the_user_gave_it(tmp_path: Path) -> None:
    row = {
        "header": "Gemini Apps",
        "title": "Prompted ",
        "time": "2026-09-02T09:00:00Z",
        "subtitles": [{"name": "Attached 1 file."}, {"name": "-\xa0 cat.png", "url": "cat-9a1.png"}],
        "attachedFiles": ["cat-9a1.png"],
        "safeHtmlItem": [{"html": "<p>A cat.</p>"}],
    }
    path = written(tmp_path / "MyActivity.json", json.dumps([row]))
    assert said(path) == [("user", "[file: cat.png]"), ("assistant", "A cat.")]


def test_a_prompt_of_gemini_that_was_stored_without_its_file_does_not_stop_a_later_import(tmp_path: Path) -> None:
    about = {"header": "Gemini Apps", "time": "2026-09-02T09:00:00Z", "safeHtmlItem": [{"html": "<p>A cat.</p>"}]}
    rows = [{**about, "title": "Prompted What is this?", "attachedFiles": files} for files in ([], ["cat.png"])]
    with MemoryBank.open() as bank:
        for row in rows:
            for session in read(written(tmp_path / "MyActivity.json", json.dumps([row]))):
                bank.remember(("ann",), session)
        texts = [message.text for turn in bank.turns(("ann",)) for message in turn.messages]
    assert texts == ["What is this?", "A cat.", "What is this?\n[file: cat.png]"]


def gemini_page(product: str, asked: str, stamp: str, products: str) -> str:
    return (
        '<html><body><div class="outer-cell mdl-cell"><div class="mdl-grid"><div class="header-cell mdl-cell">'
        f'<p class="mdl-typography--title">{product}<br></p></div><div class="content-cell mdl-typography--body-1">'
        f'{asked}<br>{stamp}<br><p>Gent.</p></div><div class="content-cell mdl-typography--caption"><b>{products}</b>'
        f"<br>&emsp;{product}<br></div></div></div></body></html>"
    )


GEMINI_PAGES = {
    "de": ("Gemini-Apps", "Eingegebener Prompt:\xa0Wo wohne ich?", "18.04.2026, 17:38:51 UTC", "Produkte:"),
    "fr": ("Applications\xa0Gemini", "Prompt\xa0:\xa0Wo wohne ich?", "18 avr. 2026, 17:38:51 UTC", "Produits\xa0:"),
    "ja": ("Gemini アプリ", "送信したメッセージ:\xa0Wo wohne ich?", "2026/04/18 17:38:51 UTC", "プロダクト:"),
    "gb": ("Gemini Apps", "Prompted\xa0Wo wohne ich?", "18 Apr 2026, 17:38:51 UTC", "Products:"),
    "in": ("Gemini Apps", "Prompted\xa0Wo wohne ich?", "18 Apr 2026, 23:08:51 GMT+05:30", "Products:"),
}


@pytest.mark.parametrize("language", GEMINI_PAGES)
def test_the_page_of_gemini_is_read_with_the_dates_of_its_language(tmp_path: Path, language: str) -> None:
    path = written(tmp_path / "MyActivity.html", gemini_page(*GEMINI_PAGES[language]))
    [session] = read(path)
    assert [(each.role, each.text) for each in session.messages] == [("user", "Wo wohne ich?"), ("assistant", "Gent.")]
    at = session.messages[0].at
    assert at is not None
    assert at.astimezone(timezone.utc).isoformat() == "2026-04-18T17:38:51+00:00"


def test_the_page_of_gemini_is_recognised_behind_its_styles(tmp_path: Path) -> None:
    styles = f"<head><style>{'.mdl-cell{margin:8px}' * 7_000}</style></head><body>"
    page = gemini_page(*GEMINI_PAGES["gb"]).replace("<body>", styles)
    path = written(tmp_path / "MyActivity.html", page)
    assert format_of(path).name == "gemini"
    assert said(path) == [("user", "Wo wohne ich?"), ("assistant", "Gent.")]


def test_the_lines_of_a_prompt_on_geminis_page_and_its_files_stay_apart(tmp_path: Path) -> None:
    asked = 'Prompted\xa0Look:<br>- one<br>- two.<br>Attached 1 file.<br>-\xa0 <a href="cat-9a1.png">cat.png</a>'
    page = gemini_page("Gemini Apps", asked, "Apr 18, 2026, 5:38:51\u202fPM UTC", "Products:")
    path = written(tmp_path / "MyActivity.html", page)
    assert said(path) == [("user", "Look:\n- one\n- two.\n[file: cat.png]"), ("assistant", "Gent.")]


def test_files_that_the_user_lists_in_a_prompt_on_geminis_page_stay_its_words(tmp_path: Path) -> None:
    asked = "Prompted\xa0Compare these 2 files:<br>- a.csv<br>- b.csv"
    page = gemini_page("Gemini Apps", asked, "Apr 18, 2026, 5:38:51\u202fPM UTC", "Products:")
    told = said(written(tmp_path / "MyActivity.html", page))
    assert told == [("user", "Compare these 2 files:\n- a.csv\n- b.csv"), ("assistant", "Gent.")]


def test_dates_of_geminis_page_that_cannot_be_read_are_refused_with_a_way_on(tmp_path: Path) -> None:
    page = gemini_page("Aplikácie Gemini", "Výzva: Kde bývam?", "18. 4. 2026 o 17:38:51 SELČ", "Produkty:")
    with pytest.raises(InvalidTranscript, match="its dates are written in a way that is not read; choose JSON"):
        said(written(tmp_path / "MyActivity.html", page))


# -- data sets -------------------------------------------------------------------------------------------------------

ASKED_AT = "2023-04-09T00:02:53+00:00"
WILDCHAT = {
    "conversation_hash": "cf1267ca",
    "timestamp": "2023-04-09T00:05:00+00:00",
    "conversation": [
        {"role": "user", "content": "Where is Damme?", "timestamp": None, "country": "BE"},
        {"role": "assistant", "content": "Near Bruges.", "timestamp": ASKED_AT, "country": None},
    ],
}


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_data_set_with_a_list_of_messages_called_conversation_is_read(tmp_path: Path, kind: str) -> None:
    rows = [WILDCHAT, {**WILDCHAT, "conversation_hash": "b2"}]
    path = tmp_path / f"train.{kind}"
    if kind == "parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.Table.from_pylist(rows), path)
    else:
        written(path, "\n".join(map(json.dumps, rows)))
    sessions = list(read(path))
    assert [each.name for each in sessions] == ["cf1267ca", "b2"]
    asked, answered = sessions[0].messages
    assert (asked.role, asked.text, answered.text) == ("user", "Where is Damme?", "Near Bruges.")
    assert [str(each.at and each.at.isoformat()) for each in (asked, answered)] == [ASKED_AT, ASKED_AT]


def test_a_parquet_file_of_sharegpt_may_begin_with_a_conversation_that_is_empty(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, pieces = tmp_path / "train.parquet", [{"from": "human", "value": "Where is Damme?"}]
    parquet.write_table(arrow.Table.from_pylist([{"conversations": []}, {"conversations": pieces}]), path)
    assert said(path) == [("user", "Where is Damme?")]


def test_role_content_messages_may_be_called_conversations(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", json.dumps({"conversations": WILDCHAT["conversation"]}))
    assert said(path) == [("user", "Where is Damme?"), ("assistant", "Near Bruges.")]


def test_the_trees_of_open_assistant_are_sessions_of_a_user_and_an_assistant(tmp_path: Path) -> None:
    lines = "message_id,parent_id,created_date,text,role,message_tree_id\n"
    lines += "a,,2023-02-05T14:23:50+00:00,What is a monopsony?,prompter,a\n"
    lines += "b,a,2023-02-06T13:50:44+00:00,One buyer.,assistant,a\n"
    [session] = read(written(tmp_path / "oasst.csv", lines), note=print)
    assert session.name == "a"
    assert [(each.role, each.speaker) for each in session.messages] == [("user", None), ("assistant", None)]
    assert all(each.at and each.at.year == 2023 for each in session.messages)


def test_the_instruction_of_a_row_is_not_lost_where_its_input_has_a_column(tmp_path: Path) -> None:
    table = "instruction,input,output\nTranslate to French,Good morning,Bonjour\nName a cat,,Miso\n"
    assert said(written(tmp_path / "alpaca.csv", table)) == [
        ("user", "Translate to French\nGood morning"),
        ("assistant", "Bonjour"),
        ("user", "Name a cat"),
        ("assistant", "Miso"),
    ]


def test_tools_of_open_webui_are_told_as_calls_and_not_as_marks(tmp_path: Path) -> None:
    def escaped(value: object) -> str:
        return html.escape(json.dumps(value))

    city, weather = escaped(json.dumps({"city": "A > B"})), escaped("18 °C\nsunny")
    call = (
        f'<details type="tool_calls" done="true" id="c1" name="weather" arguments="{city}" result="{weather}">\n'
        "<summary>Tool Executed</summary>\n</details>\n"
    )
    printed = escaped({"stdout": "2", "stderr": "", "result": ""})
    code = (
        f'<details type="code_interpreter" done="true" output="{printed}">\n<summary>Analyzed</summary>\n'
        "```python\nprint(1 + 1)\n```\n</details>\n"
    )
    newer = (
        '<details type="tool_calls" done="true" name="look">\n<summary>Done</summary>\n&quot;found&quot;\n</details>\n'
    )
    said_all = f"Let me look.\n{call}It is warm.\n{code}{newer}Two."
    nodes = {
        "a": {"id": "a", "parentId": None, "role": "user", "content": "Weather?", "timestamp": 1746268000},
        "b": {"id": "b", "parentId": "a", "role": "assistant", "content": said_all, "timestamp": 1746268001},
    }
    chat = {"id": "w1", "title": "Chat", "chat": {"history": {"messages": nodes, "currentId": "b"}}}
    path = written(tmp_path / "chat.json", json.dumps([chat]))
    assert said(path)[1][1] == (
        'Let me look.\n[calls weather({"city": "A > B"})]\n18 °C\nsunny\nIt is warm.\n'
        "```python\nprint(1 + 1)\n```\n2\n[calls look()]\nfound\nTwo."
    )


def test_a_call_in_open_webui_whose_mark_is_full_of_letters_is_read_at_once(tmp_path: Path) -> None:
    words = f'<details type="tool_calls" {"a" * 30_000}>\n</details>'
    nodes = {"a": {"id": "a", "parentId": None, "role": "assistant", "content": f"{words}Hi"}}
    chat = {"id": "w1", "title": "Chat", "chat": {"history": {"messages": nodes, "currentId": "a"}}}
    path, began = written(tmp_path / "chat.json", json.dumps([chat])), time.perf_counter()
    assert said(path) == [("assistant", "Hi")]
    assert time.perf_counter() - began < 2


# -- Messenger and Instagram -------------------------------------------------------------------------------------------


def messenger_file(*messages: dict[str, Any], thread: str = "bob_1", title: str = "Bob") -> dict[str, Any]:
    about = {"title": title, "thread_path": f"inbox/{thread}", "participants": [{"name": "Bob"}]}
    return {"messages": [{"sender_name": "Bob", **each} for each in messages], **about}


def test_the_parts_of_a_chat_of_messenger_are_one_chat_and_a_later_export_adds_what_is_new(tmp_path: Path) -> None:
    day = 1714745100000
    texts = [{"timestamp_ms": day + 1000 * number, "content": f"message {number}"} for number in range(25)]
    latest_first = texts[::-1]

    def exported(name: str, *parts: list[dict[str, Any]]) -> Path:
        folder = "your_facebook_activity/messages/inbox/bob_1/message_"
        files = {f"{folder}{number}.json": messenger_file(*part) for number, part in enumerate(parts, start=1)}
        other = messenger_file({"timestamp_ms": day, "content": "another Bob"}, thread="bob_2")
        return examples.zipped(tmp_path / name, {**files, "messages/inbox/bob_2/message_1.json": other})

    # 12 parts, so that message_10.json is not taken for an earlier one than message_2.json.
    before = exported("before.zip", *(latest_first[at : at + 2] for at in range(1, 25, 2)))
    after = exported("after.zip", *(latest_first[at : at + 2] for at in range(0, 25, 2)))
    [one, other] = sorted(read(before), key=lambda session: -len(session.messages))
    assert [each.text for each in one.messages] == [f"message {number}" for number in range(24)]
    assert one.name != other.name
    with MemoryBank.open() as bank:
        for path in (before, after):
            news = [bank.remember(("alice",), session).new for session in read(path)]
        assert sum(news) == 1


def test_an_encrypted_chat_of_messenger_is_read_without_what_was_deleted(tmp_path: Path) -> None:
    said_first = {"senderName": "Jana", "timestamp": 1714745100000, "text": "hospoda v pět", "type": "text"}
    photo = {"senderName": "Ann", "timestamp": 1714745160000, "text": "", "media": [{"uri": "./media/a.jpeg"}]}
    gone = {"senderName": "Ann", "timestamp": 1714745220000, "text": "Ann unsent a message", "isUnsent": True}
    chat = {"participants": ["Ann", "Jana"], "threadName": "Jana_7", "messages": [said_first, photo, gone]}
    path, notes = written(tmp_path / "Jana_7.json", json.dumps(chat)), list[str]()
    assert said(path, notes, me="Ann") == [("Jana", "hospoda v pět"), ("Ann", "[image]")]
    assert next(read(path)).name == "Jana 2024-05-03"
    assert any("deleted messages (1)" in each for each in notes)


def test_reactions_and_shared_words_of_instagram(tmp_path: Path) -> None:
    share = {
        "link": "https://instagram.com/p/1",
        "share_text": "Soup caf\u00c3\u00a9",
        "original_content_owner": "cook",
    }
    rows = [
        {"timestamp_ms": 1714745220000, "content": "Reacted \u00e2\u009d\u00a4 to your message "},
        {"timestamp_ms": 1714745160000, "content": "Look", "share": share},
    ]
    path = written(tmp_path / "message_1.json", json.dumps(messenger_file(*rows)))
    assert said(path) == [("Bob", "Look\nSoup café\nhttps://instagram.com/p/1")]


def test_role_content_messages_without_words_are_counted_and_not_stored(tmp_path: Path) -> None:
    rows, notes = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "parts": 1}], list[str]()
    assert said(written(tmp_path / "chat.json", json.dumps(rows)), notes) == [("user", "Hi")]
    assert any("messages without words (1)" in each for each in notes)


# -- tables and mails as people have them ------------------------------------------------------------------------------


def test_a_table_whose_date_and_time_have_a_column_each(tmp_path: Path) -> None:
    table = "Date,Time,From,Message\n03/05/2026,2:05 PM,Ann,Hi\n13/05/2026,,Bob,Yo\n"
    sessions = list(read(written(tmp_path / "chat.csv", table), note=print))
    told = [str(message.at) for session in sessions for message in session.messages]
    assert told == ["2026-05-03 14:05:00+00:00", "2026-05-13 00:00:00+00:00"]


@pytest.mark.parametrize(
    ("day", "clock"),
    [
        ("2026-05-03", "2026-05-03T14:05:00Z"),
        ("2026-05-03", "1777817100"),
        ("03/05/2026", "03/05/2026 14:05"),
        ("May 3, 2026", "May 3, 2026 2:05 PM"),
        ("2026-05-03 14:05:00", "14:05:00"),
        ("2026-05-03", "14:05:00.000000000"),
    ],
)
def test_a_table_with_a_date_beside_times_that_hold_theirs_is_read(tmp_path: Path, day: str, clock: str) -> None:
    table = f'date,time,sender,text\n"{day}","{clock}",Ann,Hi\n'
    [session] = read(written(tmp_path / "chat.csv", table), dates="day-first", note=print)
    assert [str(message.at) for message in session.messages] == ["2026-05-03 14:05:00+00:00"]


def test_the_line_by_which_excel_names_the_separator_is_no_row(tmp_path: Path) -> None:
    table = "sep=;\r\nDate;Sender;Message\r\n2026-05-03 14:05;Ann;Hi, you\r\n"
    assert said(written(tmp_path / "chat.csv", table)) == [("Ann", "Hi, you")]
    with pytest.raises(InvalidTranscript, match="line 4: no time can be read from 'soon'"):
        said(written(tmp_path / "chat.csv", f"{table}soon;Bob;Yo\r\n"))


def test_words_that_a_comma_without_quotes_moves_behind_the_last_column_are_counted(tmp_path: Path) -> None:
    notes: list[str] = []
    table = "timestamp,author,text\n2026-05-03T14:05:00Z,Ann,Hi, there,\n"
    assert said(written(tmp_path / "chat.csv", table), notes) == [("Ann", "Hi")]
    assert any("cells behind the last column (1)" in each for each in notes)


FORWARDED = """\
---------- Forwarded message ---------
From: Ann <ann@x.org>
Date: Sun, May 3, 2026 at 2:05 PM
Subject: Pump
To: <bob@x.org>

The code is 4711."""


@pytest.mark.parametrize("subject", ["Fwd: Pump", "WG: Pump"])
def test_what_a_mail_forwards_is_kept(tmp_path: Path, subject: str) -> None:
    head = f"From: Bob <bob@x.org>\nSubject: {subject}\nDate: Sun, 3 May 2026 18:05:00 +0200\nMessage-ID: <5@x>\n\n"
    assert said(written(tmp_path / "a.eml", f"{head}For you.\n\n{FORWARDED}\n")) == [
        ("Bob", f"For you.\n\n{FORWARDED}")
    ]
    assert said(written(tmp_path / "b.eml", f"{head}{FORWARDED}\n")) == [("Bob", FORWARDED)]
    answer = head.replace(subject, f"Re: {subject}")
    assert said(written(tmp_path / "c.eml", f"{answer}Thanks.\n\n{FORWARDED}\n")) == [("Bob", "Thanks.")]
