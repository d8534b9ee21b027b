"""Mails: a mailbox (mbox), or single mails (.eml), a session a thread.

The words of every mail are held in memory until all are read, as threads lie scattered; attachments are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timezone
from email import message_from_bytes, policy
from email.errors import MessageError
from email.message import EmailMessage, MIMEPart
from email.utils import getaddresses, parsedate_to_datetime
from functools import partial
from typing import Final

from ...conversation import Message, Session
from ...errors import shorten
from ...text.patterns import regex
from ..files import Export, File
from ..html_text import words_of
from ..mail_quotes import own_words
from ..reading import Reading, grouped

_HEADER: Final = re.compile(
    rb"(?:From|To|Cc|Date|Subject|Message-ID|MIME-Version|Content-Type|Content-Transfer-Encoding|Reply-To|In-Reply-To|"
    rb"References|Sender|Received|Return-Path|Delivered-To|X-[\w-]+): ",
    re.I,
)
_REPLY: Final = regex(r"(?:re|aw|sv|antw|fw|fwd|wg|rv|tr)\s*(?:\[\d+\])?:\s*", re.I)
_FORWARD: Final = regex(r"(?:fw|fwd|wg|rv|tr)\s*:", re.I)
_IDS: Final = regex(r"<[^<>\s]{1,300}>")
_LARGEST: Final = 100_000_000
_PIECE: Final = 2**20


def looks_like(file: File) -> bool:
    """The line that begins a mail in a mailbox, or three headers of a mail."""
    lines = file.head[:8_000].lstrip(b"\xef\xbb\xbf\r\n").splitlines()
    if not lines or b"\0" in file.head[:200]:
        return False
    begins = lines[0].startswith(b"From ") and any(_HEADER.match(line) for line in lines[1:30])
    return begins or (
        _HEADER.match(lines[0]) is not None and sum(bool(_HEADER.match(line)) for line in lines[:30]) >= 3
    )


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """A session a thread, called by its subject and first day; its mails by their dates, without what they quote."""
    threads: dict[str, list[tuple[str, Message]]] = {}
    roots: dict[str, str] = {}
    for file in files:
        for number, raw in enumerate(filter(None, _mails(file, reading)), start=1):
            for root, subject, message in reading.kept(
                partial(_read, roots=roots), raw, f"{file.shown}: mail {number}"
            ):
                if message is not None:
                    threads.setdefault(root, []).append((subject, message))
    for mails in threads.values():
        mails.sort(key=lambda each: each[1].at or datetime.min.replace(tzinfo=timezone.utc))
        day = f" {mails[0][1].at:%Y-%m-%d}" if mails[0][1].at else ""
        yield grouped(f"{mails[0][0]}{day}", [message for _, message in mails])


def _read(raw: bytes, reading: Reading, *, roots: dict[str, str]) -> tuple[str, str, Message | None]:
    """The first mail of its thread, its subject, and the mail as a message; nothing for one without words."""
    try:
        mail = message_from_bytes(raw, policy=policy.default)
        return _thread(mail, roots), _subject(mail), _message(mail, reading)
    except (MessageError, LookupError, RecursionError) as error:
        raise ValueError(f"it cannot be read: {error}") from error


def _mails(file: File, reading: Reading) -> Iterator[bytes]:
    lines: list[bytes] = []
    size, blank = 0, True
    is_box = file.head.lstrip(b"\xef\xbb\xbf\r\n").startswith(b"From ")
    with file.opened(reading.seen) as raw:
        while line := raw.readline(_PIECE):
            if is_box and blank and line.startswith(b"From "):
                yield b"".join(lines)
                lines, size, blank = [], 0, False
                continue
            blank, size = not line.strip(), size + len(line)
            if size <= _LARGEST:
                lines.append(line[1:] if is_box and line.startswith(b">From ") else line)
    yield b"".join(lines)


def _thread(mail: EmailMessage, roots: dict[str, str]) -> str:
    """The first mail of the thread, by its id; a mail without one is a thread of its own."""
    own = str(mail.get("Message-ID") or "").strip() or f"without an id, after {len(roots)}"
    earlier = _IDS.findall(f"{mail.get('References') or ''} {mail.get('In-Reply-To') or ''}")
    known = [*earlier, own]
    root = next((roots[each] for each in known if each in roots), known[0])
    roots.update(dict.fromkeys(known, root))
    return root


def _subject(mail: EmailMessage) -> str:
    subject = " ".join(str(mail.get("Subject") or "").split())
    while found := _REPLY.match(subject):
        subject = subject[found.end() :]
    return subject or "(no subject)"


def _message(mail: EmailMessage, reading: Reading) -> Message | None:
    text, files = _body(mail, reading)
    # What is forwarded stands nowhere else in the mailbox, as a rule.
    words = text.replace("\r\n", "\n").strip() if _FORWARD.match(str(mail.get("Subject") or "")) else own_words(text)
    text = "\n".join(filter(None, [words, *(f"[file: {name}]" for name in files)]))
    if not text:
        reading.left_out["empty mails"] += 1
        return None
    [(name, address), *_] = [*getaddresses([str(mail.get("From") or "")]), ("", "")]
    mine = reading.me is not None and reading.me.casefold() in (name.casefold(), address.casefold())
    own = str(mail.get("Message-ID") or "").strip()
    key = reading.stable(own, text) if own else None
    kept = {"source": "mail"}
    return reading.person(name or address, text, mine=mine, id=key, at=_date(mail), metadata=kept)


def _date(mail: EmailMessage) -> datetime | None:
    try:
        return parsedate_to_datetime(str(mail.get("Date") or ""))
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _body(mail: EmailMessage, reading: Reading) -> tuple[str, list[str]]:
    part = mail.get_body(("plain", "html"))
    files = [name for each in mail.iter_attachments() if (name := each.get_filename())] if mail.is_multipart() else []
    if part is None:
        return "", files
    text = _content(part, reading)
    return (words_of(text) if part.get_content_subtype() == "html" else text), files


def _content(part: MIMEPart, reading: Reading) -> str:
    try:
        content = part.get_content()
    except LookupError:
        name = shorten(part.get_content_charset())
        reading.once(f"a mail says that its encoding is {name}, which nobody knows; it is read as Windows-1252")
        content = bytes(part.get_payload(decode=True) or b"").decode("cp1252", "replace")
    return content if isinstance(content, str) else ""
