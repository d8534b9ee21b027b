"""Exports in the shape that each product gives them, written here by hand: small, and with what is odd in real ones."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def node(name: str, parent: str | None, message: dict[str, Any] | None, *children: str) -> dict[str, Any]:
    return {"id": name, "parent": parent, "children": list(children), "message": message}


def chatgpt_message(
    name: str, role: str, *parts: Any, at: float | None = None, kind: str = "text", **more: Any
) -> dict[str, Any]:
    content: dict[str, Any] = {"content_type": kind, "parts": list(parts)}
    if kind in ("code", "execution_output"):
        content = {"content_type": kind, "language": "python", "text": parts[0]}
    if kind == "thoughts":
        content = {"content_type": kind, "thoughts": [{"summary": "", "content": parts[0]}]}
    if kind == "user_editable_context":
        content = {"content_type": kind, "user_profile": parts[0], "user_instructions": ""}
    return {
        "id": name,
        "author": {"role": role, "name": more.pop("called", None), "metadata": {}},
        "create_time": at,
        "update_time": None,
        "content": content,
        "status": "finished_successfully",
        "end_turn": True,
        "weight": more.pop("weight", 1.0),
        "metadata": more.pop("metadata", {}),
        "recipient": more.pop("recipient", "all"),
        "channel": None,
    }


HIDDEN = {"is_visually_hidden_from_conversation": True}
GARDEN = {
    "title": "Garden in May",
    "create_time": 1714737600.0,
    "update_time": 1714741200.0,
    "mapping": {
        "root": node("root", None, None, "s"),
        "s": node("s", "root", chatgpt_message("s", "system", "", weight=0.0, metadata=HIDDEN), "c"),
        "c": node(
            "c",
            "s",
            chatgpt_message(
                "c", "user", "I am Ann, answer shortly.", kind="user_editable_context", weight=0.0, metadata=HIDDEN
            ),
            "q0",
            "q1",
        ),
        # The question was edited: q0 and its answer stand on a branch that was left.
        "q0": node("q0", "c", chatgpt_message("q0", "user", "When do I plant tomatos?", at=1714737605.5), "a0"),
        "a0": node("a0", "q0", chatgpt_message("a0", "assistant", "In spring.", at=1714737610.0)),
        "q1": node(
            "q1",
            "c",
            chatgpt_message(
                "q1",
                "user",
                {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "width": 10},
                "When do I plant tomatoes in Ghent?",
                at=1714737700.25,
                kind="multimodal_text",
                metadata={"attachments": [{"name": "bed.jpg", "mime_type": "image/jpeg"}]},
            ),
            "t1",
        ),
        "t1": node(
            "t1", "q1", chatgpt_message("t1", "assistant", "Ghent: frost?", kind="thoughts", at=1714737701.0), "k1"
        ),
        "k1": node(
            "k1", "t1", chatgpt_message("k1", "assistant", "search('Ghent')", kind="code", recipient="web.run"), "r1"
        ),
        "r1": node(
            "r1",
            "k1",
            chatgpt_message("r1", "tool", "Last frost: 12 May", kind="execution_output", called="web.run"),
            "a1",
        ),
        "a1": node(
            "a1",
            "r1",
            chatgpt_message("a1", "assistant", "After 15 May.\ue200cite\ue202turn0search0\ue201", at=1714737720.0),
        ),
    },
    "moderation_results": [],
    "current_node": "a1",
    "conversation_id": "6634e7a0-1111-4a2b-8c3d-000000000001",
    "id": "6634e7a0-1111-4a2b-8c3d-000000000001",
    "is_archived": False,
    "default_model_slug": "gpt-4o",
}
RENT = {
    "title": "Rent",
    "create_time": 1717200000.0,
    "mapping": {
        "r": node("r", None, None, "u"),
        "u": node("u", "r", chatgpt_message("u", "user", "My rent is 850 € now. 🏠", at=1717200001.0), "v"),
        "v": node("v", "u", chatgpt_message("v", "assistant", "Noted.", at=1717200002.0)),
    },
    "current_node": "v",
    "id": "665a6f00-2222-4a2b-8c3d-000000000002",
}
CHATGPT = [GARDEN, RENT]

CLAUDE = [
    {
        "uuid": "11111111-aaaa-4aaa-8aaa-000000000001",
        "name": "Choir trip",
        "summary": "",
        "created_at": "2024-06-01T08:00:00.123456Z",
        "updated_at": "2024-06-01T08:05:00Z",
        "account": {"uuid": "acc"},
        "chat_messages": [
            {
                "uuid": "m1",
                "text": "Which train to Bruges?",
                "content": [{"type": "text", "text": "Which train to Bruges?", "citations": []}],
                "sender": "human",
                "created_at": "2024-06-01T08:00:01.5Z",
                "attachments": [{"file_name": "plan.txt", "file_size": 9, "extracted_content": "Choir: 15 June"}],
                "files": [{"file_name": "map.png"}],
            },
            {
                "uuid": "m2",
                "text": "The 9:04.",
                "content": [
                    {"type": "thinking", "thinking": "They sing on the 15th."},
                    {"type": "tool_use", "name": "trains", "input": {"to": "Bruges"}},
                    {"type": "tool_result", "content": [{"type": "text", "text": "9:04, 10:04"}]},
                    {"type": "text", "text": "The 9:04."},
                ],
                "sender": "assistant",
                "created_at": "2024-06-01T08:00:05Z",
                "attachments": [],
                "files": [],
            },
        ],
    },
    {"uuid": "22222222-bbbb", "name": "", "created_at": "2024-06-02T08:00:00Z", "chat_messages": []},
]


def deepseek_node(name: str, parent: str, second: int, children: list[str], *said: tuple[str, str]) -> dict[str, Any]:
    fragments = [{"type": kind, "content": text} for kind, text in said]
    at = f"2025-02-01T10:00:{second:02}.000000+08:00"
    message = {"files": [], "model": "deepseek-reasoner", "inserted_at": at, "fragments": fragments}
    return {"id": name, "parent": parent, "children": children, "message": message}


DEEPSEEK = [
    {
        "id": "5b1e0000-1111-4aaa-8aaa-000000000001",
        "title": "Derivatives",
        "inserted_at": "2025-02-01T10:00:00.000000+08:00",
        "updated_at": "2025-02-01T10:00:09.000000+08:00",
        "mapping": {
            "root": {"id": "root", "parent": None, "children": ["1"], "message": None},
            "1": deepseek_node("1", "root", 1, ["2", "3"], ("REQUEST", "What is the derivative of x^3?")),
            "2": deepseek_node("2", "1", 5, [], ("RESPONSE", "Three x squared.")),
            "3": deepseek_node("3", "1", 9, [], ("THINK", "The power rule."), ("RESPONSE", "It is 3x^2.")),
        },
    }
]


def webui_message(name: str, parent: str | None, role: str, content: str, at: int, **more: Any) -> dict[str, Any]:
    return {"id": name, "parentId": parent, "role": role, "content": content, "timestamp": at, **more}


THOUGHT = (
    '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n> hm\n</details>\n'
)
OPEN_WEBUI = [
    {
        "id": "7f0e0000-1111-4aaa-8aaa-000000000001",
        "user_id": "u",
        "title": "🌳 Trees",
        "chat": {
            "id": "",
            "title": "🌳 Trees",
            "models": ["llama3.2:latest"],
            "history": {
                "messages": {
                    "a": webui_message(
                        "a",
                        None,
                        "user",
                        "Which trees like clay?",
                        1748340000,
                        files=[{"type": "file", "name": "bed.pdf"}],
                    ),
                    "b": webui_message("b", "a", "assistant", f"{THOUGHT}Alder and willow.", 1748340005),
                    "c": webui_message("c", "a", "assistant", "Oak.", 1748340003),
                },
                "currentId": "b",
            },
            "messages": [],
        },
        "updated_at": 1748340065,
        "created_at": 1748340000,
    }
]

_CODE_ROWS: list[dict[str, Any]] = [
    {"type": "summary", "summary": "Login", "leafUuid": "d"},
    {
        "type": "user",
        "uuid": "a",
        "parentUuid": None,
        "message": {"role": "user", "content": "Why does the login fail?"},
    },
    {
        "type": "assistant",
        "uuid": "b",
        "parentUuid": "a",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "name": "Write", "input": {"file_path": "a.md", "content": "# Login\nIt waits."}},
            ],
        },
    },
    {
        "type": "user",
        "uuid": "c",
        "parentUuid": "b",
        "message": {"role": "user", "content": [{"type": "tool_result", "content": "written"}]},
    },
    {"type": "user", "uuid": "d", "parentUuid": "c", "isMeta": True, "message": {"role": "user", "content": "Caveat"}},
    {
        "type": "user",
        "uuid": "e",
        "parentUuid": "d",
        "message": {"role": "user", "content": "<command-name>/cost</command-name>"},
    },
    {
        "type": "assistant",
        "uuid": "f",
        "parentUuid": "e",
        "isSidechain": True,
        "message": {"role": "assistant", "content": [{"type": "text", "text": "of a subagent"}]},
    },
]
CLAUDE_CODE = "".join(
    json.dumps({**row, "sessionId": "5d1e2b3c", "cwd": "/home/a/shop", "timestamp": f"2025-10-01T10:00:0{second}.5Z"})
    + "\n"
    for second, row in enumerate(_CODE_ROWS)
)

_COPILOT_ANSWER: list[dict[str, Any]] = [
    {"kind": "thinking", "value": "A dict keeps its order."},
    {"value": "Use `sorted` in ", "supportThemeIcons": False},
    {"kind": "inlineReference", "inlineReference": {"scheme": "file", "path": "/home/a/shop/prices.py"}},
    {"kind": "markdownContent", "content": {"value": "."}},
    {"kind": "toolInvocationSerialized", "toolId": "copilot_readFile"},
]
COPILOT = {
    "requesterUsername": "ann",
    "responderUsername": "GitHub Copilot",
    "initialLocation": "panel",
    "requests": [
        {
            "requestId": "request_8c1d2e3f-1111-4aaa-8aaa-000000000001",
            "message": {"text": "How do I sort a dict by value?", "parts": []},
            "response": _COPILOT_ANSWER,
            "timestamp": 1748340000000,
        }
    ],
}

GEMINI = [
    {
        "header": "Gemini Apps",
        "title": "Used an Assistant feature",
        "time": "2024-07-03T10:00:00.000Z",
        "products": ["Gemini Apps"],
    },
    {
        "header": "Gemini Apps",
        "title": "Prompted And by bus?",
        "time": "2024-07-02T09:01:00.500Z",
        "products": ["Gemini Apps"],
        "activityControls": ["Gemini Apps Activity"],
        "safeHtmlItem": [{"html": "<p>Take the <b>44</b>.</p><ul><li>runs hourly</li></ul>"}],
    },
    {
        "header": "Gemini Apps",
        "title": "Prompted How do I get to Damme?",
        "time": "2024-07-02T09:00:00Z",
        "products": ["Gemini Apps"],
        "safeHtmlItem": [{"html": "<p>Walk along the canal &amp; turn left.</p>"}],
    },
    {"header": "Search", "title": "Searched for Damme", "time": "2024-07-01T09:00:00Z", "products": ["Search"]},
]
GEMINI_PAGE = (
    "<html><head><title>My Activity History</title><style>p{}</style></head><body><div class='mdl-grid'>"
    '<div class="outer-cell mdl-cell"><div class="header-cell"><p>Gemini Apps<br></p></div>'
    '<div class="content-cell mdl-typography--body-1">Prompted\xa0How do I get to Damme?<br>'
    "Jul 2, 2024, 9:00:00\u202fAM UTC<br><p>Walk along the canal.</p></div>"
    '<div class="content-cell"><b>Products:</b><br>Gemini Apps<br></div></div></div></body></html>'
)

ANDROID = """\
03/05/24, 14:05 - Messages and calls are end-to-end encrypted. No one outside of this chat can read them.
03/05/24, 14:05 - Ann created group "Choir: the altos"
03/05/24, 14:06 - Ann: We sing in Bruges.
Bring:
- a scarf
03/05/24, 14:07 - Bob: <Media omitted>
25/05/24, 09:10 - Bob: IMG-20240525-WA0001.jpg (file attached)
the church
25/05/24, 09:11 - Ann: This message was deleted
25/05/24, 09:12 - +32 470 12 34 56: Who is coming: all of us?
"""
IOS = """\
\u200e[03.05.24, 14:05:10] Choir: \u200eMessages and calls are end-to-end encrypted.
[03.05.24, 14:06:00] Ann: We sing in Bruges.
\u200e[03.05.24, 14:07:00] Bob: \u200eimage omitted
\u200e[03.05.24, 14:08:00] Bob: \u200e<attached: 00000012-PHOTO-2024-05-03.jpg>
[03.05.24, 14:09:00] Ann: See you at 8! \u200e<This message was edited>
"""
TELEGRAM_CHAT = {
    "name": "Bob",
    "type": "personal_chat",
    "id": 42,
    "messages": [
        {"id": 1, "type": "service", "date": "2024-05-03T14:00:00", "actor": "Ann", "action": "phone_call", "text": ""},
        {
            "id": 2,
            "type": "message",
            "date": "2024-05-03T14:05:00",
            "date_unixtime": "1714737900",
            "from": "Ann",
            "from_id": "user7",
            "text": ["See ", {"type": "link", "text": "https://bruges.example"}, "!"],
            "text_entities": [{"type": "plain", "text": "See "}, {"type": "link", "text": "https://bruges.example"}],
        },
        {
            "id": 3,
            "type": "message",
            "date": "2024-05-04T09:00:00",
            "date_unixtime": "1714806000",
            "from": "Bob",
            "from_id": "user8",
            "reply_to_message_id": 2,
            "photo": "(File not included. Change data exporting settings to download.)",
            "text": "Lovely",
        },
    ],
}
TELEGRAM = {
    "about": "Here is the data you requested.",
    "personal_information": {"user_id": 7, "first_name": "Ann", "last_name": ""},
    "contacts": {"about": "", "list": [{"first_name": "Bob"}]},
    "chats": {
        "about": "",
        "list": [
            TELEGRAM_CHAT,
            {
                "type": "saved_messages",
                "id": 7,
                "messages": [
                    {
                        "id": 9,
                        "type": "message",
                        "date": "2024-05-05T09:00:00",
                        "date_unixtime": "1714892400",
                        "from": "Ann",
                        "from_id": "user7",
                        "text": "Buy a scarf",
                    }
                ],
            },
        ],
    },
}
SIGNAL = "\n".join(
    json.dumps(row)
    for row in (
        {
            "date": "2024-05-03T14:05:00",
            "sender": "Me",
            "body": "Hi Bob",
            "quote": "",
            "sticker": None,
            "reactions": [],
            "attachments": [],
        },
        {
            "date": "2024-05-03T14:06:00",
            "sender": "Bob",
            "body": "",
            "quote": "",
            "sticker": None,
            "reactions": [],
            "attachments": [{"name": "cat.jpg", "path": "media/cat.jpg"}],
        },
    )
)
SIGNAL_BACKUP = "\n".join(
    json.dumps(row)
    for row in (
        {"version": "1", "backupTimeMs": "1714737900000"},
        {"recipient": {"id": "1", "self": {}}},
        {"recipient": {"id": "2", "contact": {"profileGivenName": "Bob", "profileFamilyName": "Low"}}},
        {"chat": {"id": "1", "recipientId": "2"}},
        {
            "chatItem": {
                "chatId": "1",
                "authorId": "1",
                "dateSent": "1714737900000",
                "outgoing": {},
                "standardMessage": {"text": {"body": "Hi Bob"}},
            }
        },
        {
            "chatItem": {
                "chatId": "1",
                "authorId": "2",
                "dateSent": "1714737960000",
                "incoming": {},
                "standardMessage": {"text": {"body": "Hello!"}},
            }
        },
        {"chatItem": {"chatId": "1", "authorId": "2", "dateSent": "1714737970000", "updateMessage": {}}},
    )
)
SLACK: Mapping[str, Any] = {
    "users.json": [
        {"id": "U1", "name": "ann", "profile": {"display_name": "Ann", "real_name": "Ann Lee"}},
        {"id": "U2", "name": "bob", "profile": {"display_name": "", "real_name": "Bob Low"}},
    ],
    "channels.json": [{"id": "C1", "name": "general", "members": ["U1", "U2"]}],
    "dms.json": [{"id": "D1", "members": ["U1", "U2"]}],
    "integration_logs.json": [],
    "general/2024-05-03.json": [
        {
            "type": "message",
            "subtype": "channel_join",
            "user": "U2",
            "text": "<@U2> has joined",
            "ts": "1714737800.000100",
        },
        {
            "type": "message",
            "user": "U1",
            "text": "<@U2> see <https://x.example|the plan> &amp; say yes",
            "ts": "1714737900.000200",
            "thread_ts": "1714737900.000200",
            "reply_count": 1,
        },
        {
            "type": "message",
            "user": "U1",
            "text": "Lunch in <#C1|general>?",
            "ts": "1714737950.000000",
            "files": [{"name": "menu.pdf"}],
        },
    ],
    "general/2024-05-04.json": [
        {"type": "message", "user": "U2", "text": "yes", "ts": "1714806000.000100", "thread_ts": "1714737900.000200"},
    ],
    "D1/2024-05-04.json": [{"type": "message", "user": "U2", "text": "Hi Ann", "ts": "1714806100.000100"}],
}
DISCORD = {
    "guild": {"id": "1", "name": "Choir", "iconUrl": ""},
    "channel": {
        "id": "2",
        "type": "GuildTextChat",
        "categoryId": "3",
        "category": "Text",
        "name": "trips",
        "topic": None,
    },
    "dateRange": {"after": None, "before": None},
    "exportedAt": "2024-06-01T00:00:00+00:00",
    "messages": [
        {
            "id": "10",
            "type": "GuildMemberJoin",
            "timestamp": "2024-05-03T14:00:00+02:00",
            "content": "Joined.",
            "author": {"id": "5", "name": "bob", "nickname": "Bob", "isBot": False},
            "attachments": [],
        },
        {
            "id": "11",
            "type": "Default",
            "timestamp": "2024-05-03T14:05:00.123+02:00",
            "content": "When do we leave?",
            "author": {"id": "5", "name": "bob", "nickname": "Bob", "isBot": False},
            "attachments": [],
            "embeds": [],
        },
        {
            "id": "12",
            "type": "Reply",
            "timestamp": "2024-05-03T14:06:00+02:00",
            "content": "At nine",
            "author": {"id": "6", "name": "ann99", "nickname": "Ann", "isBot": False},
            "attachments": [{"id": "1", "url": "x", "fileName": "tickets.pdf", "fileSizeBytes": 3}],
            "embeds": [],
            "reference": {"messageId": "11", "channelId": "2", "guildId": "1"},
        },
    ],
    "messageCount": 3,
}
DISCORD_PACKAGE = {
    "Messages/index.json": {"99": "trips in Choir"},
    "Messages/c99/channel.json": {"id": "99", "type": 0, "name": "trips"},
    "Messages/c99/messages.json": [
        {"ID": 12, "Timestamp": "2024-05-03 14:06:00", "Contents": "At nine", "Attachments": ""},
        {
            "ID": 11,
            "Timestamp": "2024-05-03 14:05:00",
            "Contents": "",
            "Attachments": "https://cdn.example/a/tickets.pdf?ex=1",
        },
    ],
}
TEAMS = {
    "userId": "8:live:ann",
    "exportDate": "2024-06-01T00:00",
    "conversations": [
        {
            "id": "19:x@thread.v2",
            "displayName": None,
            "MessageList": [
                {
                    "id": "3",
                    "displayName": "Bob",
                    "originalarrivaltime": "2024-05-03T14:06:00Z",
                    "messagetype": "RichText/Html",
                    "content": "<p>Yes, <b>Friday</b></p>",
                    "from": "8:live:bob",
                },
                {
                    "id": "2",
                    "displayName": None,
                    "originalarrivaltime": "2024-05-03T14:05:00.5Z",
                    "messagetype": "Text",
                    "content": "Are you free?",
                    "from": "8:live:ann",
                },
                {
                    "id": "1",
                    "displayName": None,
                    "originalarrivaltime": "2024-05-03T14:00:00Z",
                    "messagetype": "ThreadActivity/AddMember",
                    "content": "<addmember/>",
                    "from": "19:x",
                },
            ],
        }
    ],
}
SHAREGPT = [
    {
        "id": "conv-1",
        "conversations": [
            {"from": "system", "value": "Be brief."},
            {"from": "human", "value": "Hi"},
            {"from": "gpt", "value": "Hello."},
        ],
    },
    {"conversations": [{"from": "human", "value": "Bye"}, {"from": "gpt", "value": "Goodbye."}]},
]
OPENAI = "\n".join(
    json.dumps(
        {
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": said},
                {"role": "assistant", "content": "Fine."},
            ]
        }
    )
    for said in ("Hi", "Ho")
)
MEM0 = {
    "results": [
        {
            "id": "x1",
            "memory": "Ann moved to Ghent",
            "hash": "ab",
            "metadata": None,
            "created_at": "2024-05-03T14:05:00-07:00",
            "updated_at": None,
            "user_id": "ann",
        }
    ]
}
ZEP = {
    "messages": [
        {
            "uuid": "z1",
            "role": "Ann",
            "role_type": "user",
            "content": "I moved to Ghent.",
            "created_at": "2024-05-03T14:05:00Z",
        },
        {
            "uuid": "z2",
            "role": "bot",
            "role_type": "assistant",
            "content": "Nice.",
            "created_at": "2024-05-03T14:05:02Z",
        },
    ],
    "row_count": 2,
}
CSV = 'Date;Sender;Message;Message ID\n03/05/2024 14:05;Ann;Hi, all;1\n25/05/2024 09:00;Bob;"Two\nlines";2\n'
MBOX = b"""\
From ann@example.org Fri May  3 14:05:00 2024
From: Ann Lee <ann@example.org>
To: bob@example.org
Subject: Trip to Bruges
Date: Fri, 3 May 2024 14:05:00 +0200
Message-ID: <1@example.org>
MIME-Version: 1.0
Content-Type: text/plain; charset="utf-8"
Content-Transfer-Encoding: quoted-printable

We leave at nine. Caf=C3=A9 first?
>From there we walk.
--\x20
Ann

From bob@example.org Sat May  4 09:00:00 2024
From: Bob <bob@example.org>
To: ann@example.org
Subject: Re: Trip to Bruges
Date: Sat, 4 May 2024 09:00:00 +0200
Message-ID: <2@example.org>
In-Reply-To: <1@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="b"

--b
Content-Type: text/html; charset="utf-8"

<p>Yes!</p>
--b
Content-Type: application/pdf; name="ticket.pdf"
Content-Disposition: attachment; filename="ticket.pdf"

xx
--b--
"""
VTT = (
    "WEBVTT\n\n00:01.000 --> 00:04.000\n<v Ann>My cat is called Miso.\n\n00:09.000 --> 00:10.000\n<v Bob>Hello Miso.\n"
)


GRAPH = [
    {
        "id": "1",
        "messageType": "message",
        "createdDateTime": "2024-05-03T14:06:00Z",
        "chatId": "c",
        "from": {"user": {"displayName": "Bob"}},
        "body": {"contentType": "html", "content": "<p>Is <b>Friday</b> fine?</p>"},
    }
]
SIGNAL_DESKTOP = [
    {"conversationId": "c", "sent_at": 1714737900000, "type": "incoming", "body": "Hi Ann", "source": "+32470123456"},
    {"conversationId": "c", "sent_at": 1714737960000, "type": "outgoing", "body": "Hi Bob"},
]
ZEP_FACTS = [{"uuid": "f", "fact": "Ann sails", "valid_at": "2024-05-03T14:05:00Z", "invalid_at": None}]
TRANSCRIPT = "[2024-05-03 14:05] Ann: Hi\nBob (14:06): Hello\n  there\n"
ROWS = [{"role": "user", "content": "I moved.", "id": "a"}, {"role": "assistant", "content": "Where to?"}]


SPEECH = {
    "metadata": {"channels": 1},
    "results": {
        "channels": [{"alternatives": [{"transcript": "My cat is called Miso. Hello."}]}],
        "utterances": [
            {"start": 0.1, "end": 2.5, "channel": 0, "transcript": "My cat is called Miso.", "speaker": 0},
            {"start": 65, "end": 65.5, "channel": 0, "transcript": "Hello.", "speaker": 1},
        ],
    },
}
SPEECH_CALL = {
    "conversation_id": "conv_1",
    "transcript": [
        {"role": "agent", "message": "Hi.", "time_in_call_secs": 0},
        {"role": "user", "message": "My cat is called Miso.", "time_in_call_secs": 65},
    ],
    "metadata": {"start_time_unix_secs": 1714737900},
}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else json.dumps(content)


LINE = (
    "[LINE] 山田太郎とのトーク履歴\n保存日時：2024/05/20 21:15\n\n"
    "2024/05/03(金)\n10:15\t山田太郎\tおはよう\n10:17\t山田太郎\t[スタンプ]\n"
    '10:20\t花子\t"駅前の喫茶店で\n11時に""待ち合わせ""ね"\n10:25\t☎ 通話時間 1:23\n\n'
    "2024/05/04(土)\n午後09:00\t花子\t昨日はありがとう\n"
)
WECHAT = "王小明 2024-05-03 10:15:20\n早安\n\n陳大文 2024-05-03 22:16:01\n今天几点出发？\n我在楼下。\n"
MESSENGER = {
    "participants": [{"name": "Zo\u00c3\u00ab"}, {"name": "Ann Lee"}],
    "messages": [
        {
            "sender_name": "Ann Lee",
            "timestamp_ms": 1714745220000,
            "content": "Ann sent an attachment.",
            "share": {"link": "https://x.org/choir"},
        },
        {"sender_name": "Ann Lee", "timestamp_ms": 1714745170000, "call_duration": 62},
        {"sender_name": "Ann Lee", "timestamp_ms": 1714745160000, "photos": [{"uri": "photos/1.jpg"}]},
        {
            "sender_name": "Zo\u00c3\u00ab",
            "timestamp_ms": 1714745100000,
            "content": "Caf\u00c3\u00a9 at 8? \u00f0\u009f\u0098\u0080",
            "reactions": [{"reaction": "\u00e2\u009d\u00a4", "actor": "Ann Lee"}],
            "is_geoblocked_for_viewer": False,
        },
    ],
    "title": "Zo\u00c3\u00ab",
    "is_still_participant": True,
    "thread_path": "inbox/zoe_123",
}
KAKAOTALK = (
    "독서 모임 12 카카오톡 대화\n저장한 날짜 : 2024년 5월 4일 오후 7:17\n\n\n"
    "2024년 5월 3일 오전 12:05\n2024년 5월 3일 오전 12:05, 지민 : 다음 책은 뭐예요? : )\n두 권 중에서\n"
    "2024년 5월 3일 오후 3:20, 수아님이 나갔습니다.\n2024년 5월 3일 오후 3:21, 민호 : 사진\n\n"
    "2024년 5월 4일 오후 12:01\n2024년 5월 4일 오후 12:01, 민호 : 소년이 온다\n"
)


def grok_response(own: str, parent: str | None, sender: str, words: str, at: int, **more: Any) -> dict[str, Any]:
    response = {
        "_id": own,
        "conversation_id": "8c1f0000-1",
        "message": words,
        "sender": sender,
        "create_time": {"$date": {"$numberLong": str(at * 1000)}},
        "parent_response_id": parent,
        "model": "grok-4",
        **more,
    }
    return {"response": {key: value for key, value in response.items() if value is not None}, "share_link": None}


CITED = (
    'Ghent has three.<grok:render card_id="5e3c81" card_type="citation_card" type="render_inline_citation">\n'
    '<argument name="citation_id">20</argument>\n</grok:render> The nearest is the Friday market.'
)
GROK: dict[str, Any] = {
    "conversations": [
        {
            "conversation": {
                "id": "8c1f0000-1",
                "create_time": "2025-03-01T09:00:00.000000Z",
                "modify_time": "2025-03-01T09:01:00.000000Z",
                "title": "Markets",
                "leaf_response_id": None,
            },
            "responses": [
                grok_response("r1", None, "human", "Which markets are there?", 1740819600, file_attachments=["a-1"]),
                grok_response("r2", "r1", "ASSISTANT", "In which city?", 1740819605),
                grok_response("r3", "r1", "assistant", CITED, 1740819660, thinking_trace="Ghent, I guess."),
                grok_response("r4", "r3", "human", "Draw it.", 1740819700),
                grok_response("r5", "r4", "grok-3", "", 1740819710, generated_image_urls=["x/1.jpg"]),
            ],
        }
    ],
    "projects": [],
    "tasks": [],
    "media_posts": [],
}


def librechat_message(own: str, parent: str, mine: bool, text: str, second: int, **more: Any) -> dict[str, Any]:
    return {
        "_id": f"66326f3f{own}",
        "messageId": own,
        "conversationId": "4a86c40e-1",
        "createdAt": f"2024-05-01T16:35:{second:02}.530Z",
        "error": False,
        "isCreatedByUser": mine,
        "parentMessageId": parent,
        "sender": "User" if mine else "GPT-4",
        "text": text,
        "unfinished": False,
        **more,
    }


NO_PARENT = "00000000-0000-0000-0000-000000000000"
CONTENT = [
    {"type": "think", "think": "A pan."},
    {"type": "text", "text": "I look.", "tool_call_ids": ["c1"]},
    {
        "type": "tool_call",
        "tool_call": {
            "id": "c1",
            "type": "tool_call",
            "name": "stock",
            "args": '{"size": 28}',
            "output": "two left",
        },
    },
    {"type": "text", "text": {"value": "Take the 28 cm pan."}},
]
LIBRECHAT: dict[str, Any] = {
    "conversationId": "4a86c40e-1",
    "endpoint": "agents",
    "title": "Pans",
    "exportAt": "13:18:04 GMT-0400 (Eastern Daylight Time)",
    "branches": True,
    "recursive": True,
    "options": {"model": "gpt-4", "promptPrefix": "You sell pans."},
    "messages": [
        {
            **librechat_message("m1", NO_PARENT, True, "Which pan?", 11, files=[{"filename": "stove.jpg"}]),
            "children": [
                {**librechat_message("m2", "m1", False, "Any.", 12), "children": []},
                {
                    **librechat_message("m3", "m1", False, "", 20, content=CONTENT),
                    "children": [{**librechat_message("m4", "m3", True, "And a lid?", 40), "children": []}],
                },
            ],
        }
    ],
}


def codex_line(kind: str, payload: Mapping[str, Any], second: int = 0) -> str:
    return json.dumps({"timestamp": f"2026-04-22T19:00:{second:02}.068Z", "type": kind, "payload": payload}) + "\n"


CODEX_META = {
    "id": "019cb655-7826-7080-b375-f4bd0ec83d54",
    "timestamp": "2026-04-22T19:00:00.060Z",
    "cwd": "/home/ann/shop",
    "originator": "codex_cli_rs",
    "cli_version": "0.128.0",
    "source": "cli",
    "base_instructions": {"text": "You are Codex."},
}


def codex_said(role: str, text: str, second: int = 0) -> str:
    kind = "output_text" if role == "assistant" else "input_text"
    return codex_line(
        "response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}, second
    )


def codex_prompt(text: str, second: int = 0) -> str:
    event = {"type": "user_message", "message": text, "images": [], "local_images": []}
    return codex_said("user", text, second) + codex_line("event_msg", event, second)


PATCH = "*** Begin Patch\n*** Update File: login.py\n+timeout = 30\n*** End Patch"
CODEX = "".join(
    [
        codex_line("session_meta", CODEX_META),
        codex_said("developer", "<permissions instructions>…"),
        codex_said("user", "# AGENTS.md instructions for /home/ann/shop"),
        codex_prompt("Why does the login fail?", 1),
        codex_line("response_item", {"type": "reasoning", "summary": [], "encrypted_content": "x"}, 2),
        codex_said("assistant", "I look.", 3),
        codex_line("event_msg", {"type": "agent_message", "message": "I look."}, 3),
        codex_line(
            "response_item",
            {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "make"}', "call_id": "c"},
            4,
        ),
        codex_line("response_item", {"type": "function_call_output", "call_id": "c", "output": "FAIL"}, 5),
        codex_line(
            "response_item", {"type": "custom_tool_call", "name": "apply_patch", "input": PATCH, "call_id": "d"}, 6
        ),
        codex_said("assistant", "It waited too briefly.", 7),
    ]
)
TEXTS: Mapping[str, tuple[str, ...]] = {
    name: tuple(content.decode() if isinstance(content, bytes) else _text(content) for content in contents)
    for name, contents in {
        "chatgpt": (CHATGPT, RENT),
        "claude": (CLAUDE,),
        "deepseek": (DEEPSEEK,),
        "open-webui": (OPEN_WEBUI,),
        "librechat": (LIBRECHAT,),
        "grok": (GROK,),
        "claude-code": (CLAUDE_CODE,),
        "codex": (CODEX,),
        "copilot": (COPILOT,),
        "gemini": (GEMINI, GEMINI_PAGE),
        "telegram": (TELEGRAM, TELEGRAM_CHAT),
        "messenger": (MESSENGER,),
        "discord": (DISCORD,),
        "discord-package": (DISCORD_PACKAGE["Messages/c99/messages.json"],),
        "slack": (SLACK["general/2024-05-03.json"],),
        "teams": (TEAMS, GRAPH),
        "signal": (SIGNAL, SIGNAL_BACKUP, SIGNAL_DESKTOP),
        "whatsapp": (ANDROID, IOS),
        "kakaotalk": (KAKAOTALK,),
        "line": (LINE,),
        "wechat": (WECHAT,),
        "sharegpt": (SHAREGPT,),
        "mem0": (MEM0,),
        "zep": (ZEP, ZEP_FACTS),
        "speech": (SPEECH, SPEECH_CALL),
        "captions": (VTT,),
        "mail": (MBOX,),
        "parquet": ("PAR1",),
        "csv": (CSV, "prompt,response\nHi,Hello.\n"),
        "openai": (OPENAI,),
        "messages": (ROWS,),
        "dictation": ("My cat is called Miso.\n",),
        "transcript": (TRANSCRIPT,),
    }.items()
}
"""Files of each format that are text, by its name; Parquet is none."""


FILES: Mapping[str, Any] = {
    "conversations.json": CHATGPT,
    "claude.json": CLAUDE,
    "deepseek.json": DEEPSEEK,
    "open-webui.json": OPEN_WEBUI,
    "librechat.json": LIBRECHAT,
    "prod-grok-backend.json": GROK,
    "5d1e2b3c.jsonl": CLAUDE_CODE,
    "rollout-2026-04-22.jsonl": CODEX,
    "chat.json": COPILOT,
    "MyActivity.json": GEMINI,
    "MyActivity.html": GEMINI_PAGE,
    "WhatsApp Chat with Choir.txt": ANDROID,
    "_chat.txt": IOS,
    "KakaoTalkChats.txt": KAKAOTALK,
    "[LINE] 山田太郎とのトーク.txt": LINE,
    "微信.txt": WECHAT,
    "result.json": TELEGRAM,
    "telegram-chat.json": TELEGRAM_CHAT,
    "data.json": SIGNAL,
    "main.jsonl": SIGNAL_BACKUP,
    "signal-desktop.json": SIGNAL_DESKTOP,
    "message_1.json": MESSENGER,
    "discord.json": DISCORD,
    "teams.json": TEAMS,
    "graph.json": GRAPH,
    "sharegpt.json": SHAREGPT,
    "tuning.jsonl": OPENAI,
    "mem0.json": MEM0,
    "zep.json": ZEP,
    "facts.json": ZEP_FACTS,
    "table.csv": CSV,
    "box.mbox": MBOX,
    "deepgram.json": SPEECH,
    "weekly.vtt": VTT,
    "chat.txt": TRANSCRIPT,
    "rows.json": ROWS,
}
"""A file of each product, by the name that it usually has."""


def write(folder: Path, files: Mapping[str, Any]) -> Path:
    """Files below a folder: bytes and text as they are, all else as JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded(content))
    return folder


def zipped(path: Path, files: Mapping[str, Any]) -> Path:
    """The same in a zip."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, encoded(content))
    return path


def encoded(content: Any) -> bytes:
    if isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content)).encode()
