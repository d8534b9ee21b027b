"""Conversations of several sessions whose last one is to be carried on: MSC, CareCall, Conversation Chronicles.

Each session to be carried on is a `Chat` with the sessions before it; each reply of its second speaker is a question
whose gold text is the reply that was given, and whose context is the session so far.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, Final

from benchmarks.chats import Chat, Question
from secom_core.conversation import Message, Session, group_messages

Said = tuple[str, str]
"""Who says what."""

SINCE: Final = 3
"""The first session that is carried on: before it there is nothing to bring up to date (Theanine section 3.3)."""

_NOW: Final = datetime(2022, 1, 1, tzinfo=timezone.utc)
_BACK: Final = re.compile(r"(\d+)\s*(hour|day|week|month|year)")
_HOURS: Final = {"hour": 1, "day": 24, "week": 168, "month": 730, "year": 8760}
_ORDER: Final = ("first", "second", "third", "fourth", "fifth")


def read_msc(rows: Sequence[Mapping[str, Any]], name: str) -> Iterator[Chat]:
    """Multi-Session Chat (Xu et al. 2022), a file of ``session_N``: earlier sessions are in ``previous_dialogs``.

    The speakers take turns. The replies of the second one are asked for, as RSum has it. What is known of them are the
    personas.
    """
    for place, row in enumerate(rows):
        earlier = [_pairs(each["dialog"]) for each in row["previous_dialogs"]]
        times = [_back(each) for each in row["previous_dialogs"]]
        own = (row.get("metadata") or {}).get("initial_data_id") or f"{name} {place + 1}"
        known = "\n".join(
            f"Speaker {number}: {line}" for number, lines in enumerate(row.get("personas") or (), 1) for line in lines
        )
        yield _chat(str(own), earlier, _pairs(row["dialog"]), times=times, known=known)


def _pairs(dialog: Sequence[Mapping[str, Any]]) -> list[Said]:
    return [(each.get("id") or f"Speaker {place % 2 + 1}", each["text"]) for place, each in enumerate(dialog)]


def _back(dialog: Mapping[str, Any]) -> datetime | None:
    """When a session was, counted back from the one that is carried on."""
    found = _BACK.findall(str(dialog.get("time_back") or ""))
    return _NOW - timedelta(hours=sum(int(count) * _HOURS[unit] for count, unit in found)) if found else None


def read_carecall(episodes: Sequence[Sequence[Mapping[str, Any]]], name: str) -> Iterator[Chat]:
    """CareCall with memories (Bae et al. 2022): lists of sessions, each of ``dialogue``, ``memory`` and ``summary``.

    Asked for are the system's utterances after the third of a session, as RSum's authors do: those before are
    greetings. What is known is the memory before the session.
    """
    for place, episode in enumerate(episodes):
        said = [[(turn["role"], turn["text"]) for turn in each["dialogue"]] for each in episode]
        for number in range(SINCE - 1, len(episode)):
            known = "\n".join(episode[number].get("memory") or ())
            first = f"{name} {place + 1}, session {number + 1}"
            yield _chat(first, said[:number], said[number], known=known, replies="system", after=2)


def read_chronicles(rows: Sequence[Mapping[str, Any]], name: str) -> Iterator[Chat]:
    """Conversation Chronicles (Jang et al. 2023): five sessions of speakers who stand in a relation to each other."""
    for row in rows:
        said = [
            list(zip(row[f"{each}_session_speakers"], row[f"{each}_session_dialogue"], strict=True))
            for each in _ORDER
            if row.get(f"{each}_session_dialogue")
        ]
        for number in range(SINCE - 1, len(said)):
            known = f"They are {row['relationship']}." if row.get("relationship") else ""
            yield _chat(f"{row['dataID']}, session {number + 1}", said[:number], said[number], known=known)


def _chat(
    name: str,
    earlier: Sequence[Sequence[Said]],
    current: Sequence[Said],
    *,
    times: Sequence[datetime | None] = (),
    known: str = "",
    replies: str = "",
    after: int = 0,
) -> Chat:
    sessions = [
        _session(f"session {number}", said, times[number - 1] if times else None)
        for number, said in enumerate(earlier, 1)
    ]
    kind = f"session {len(earlier) + 1}"
    second = replies or next((who for who, _ in current[1:2]), "")
    places = [place for place, (who, _) in enumerate(current) if place > after and who == second]
    questions = [
        Question(
            kind,
            current[place - 1][1],
            current[place][1],
            (),
            tuple(Message(text, role="", speaker=who) for who, text in current[:place]),
            _NOW if any(times) else None,
            speaker=second,
            known=known,
        )
        for place in places
    ]
    return Chat(name, tuple(sessions), tuple(questions))


def _session(name: str, said: Sequence[Said], at: datetime | None) -> Session:
    messages = [
        Message(text, role="", speaker=who, id=f"{name}:{place}", at=at) for place, (who, text) in enumerate(said, 1)
    ]
    return Session(name, group_messages(messages, name))
