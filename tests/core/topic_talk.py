"""A language model that answers the questions of prospective reflection by simple rules, and what must always hold."""

from __future__ import annotations

import json
import re
from pathlib import Path

from secom_core.bank import MemoryBank
from secom_core.conversation import Scope
from secom_core.testing import ScriptedRequest

_EXCHANGE = re.compile(r"^\[Exchange (\d+)\]: (.*)$", re.M)
_ABOUT = re.compile(r"shows about (.*?):")
_NOTE = re.compile(r"^\[(\d+)\] (.*)$", re.M)
_WORD = re.compile(r"[a-z]{4,}")
_NAME = re.compile(r"\b\w+:")
_COMMON = {"that", "this", "with", "have", "your", "been", "from", "what", "really", "just", "like"}


def stage(request: ScriptedRequest) -> str:
    """What is asked for: "topics" or "update"."""
    return "update" if "Merge(number, text)" in request.text else "topics"


def answer(request: ScriptedRequest, *, shared: int = 2) -> str:
    """Every other thing that a speaker says is a summary; it is merged into the note with which it shares most."""
    return _update(request.text, shared) if stage(request) == "update" else _topics(request.text)


def _topics(text: str) -> str:
    speaker = _ABOUT.search(text)[1]
    shown = text.rsplit("<conversation>", 1)[1]
    said = [(int(number), line) for number, line in _EXCHANGE.findall(shown) if line.startswith(f"{speaker}: ")]
    rows = [{"summary": " ".join(line.split()[:24]), "reference": [number]} for number, line in said[::2]]
    return json.dumps({"extracted_memories": rows}) if rows else "NO_TRAIT"


def _update(text: str, shared: int) -> str:
    notes = _NOTE.findall(text.rsplit("<notes>", 1)[1].split("</notes>")[0])
    new = text.rsplit("<new>", 1)[1].split("</new>")[0]
    common = [len(words(note) & words(new)) for _, note in notes]
    best = max(range(len(notes)), key=common.__getitem__)
    if common[best] < shared:
        return "Add()"
    return f"Merge({best}, {' '.join(f'{notes[best][1]} {new}'.split()[-80:])})"


def words(text: str) -> set[str]:
    """The longer words, without names of speakers."""
    return set(_WORD.findall(_NAME.sub("", text).lower())) - _COMMON


def check(bank: MemoryBank, scope: Scope, path: Path | None = None) -> None:
    """What is stored never names a turn, a note or a version that is not there."""
    turns = {turn.id: turn for name in bank.sessions(scope) for turn in bank.turns(scope, name)}
    topics = bank.topics.all(scope)
    assert len({topic.id for topic in topics}) == len(topics)
    for topic in topics:
        assert topic.summary
        assert topic.turn_ids
        resting = [turn_id for version in topic.versions for turn_id in version.turn_ids]
        assert set(resting) == set(topic.turn_ids)
        assert len(set(topic.turn_ids)) == len(topic.turn_ids)
        assert [turns[each].at for each in topic.turn_ids] == sorted(turns[each].at for each in topic.turn_ids)
        assert [version.number for version in topic.versions] == list(range(1, len(topic.versions) + 1))
        assert topic.versions[0].text == topic.versions[0].note
        for version in topic.versions:
            assert version.turn_ids
            assert {turns[each].session for each in version.turn_ids} == {version.session}
    if path is not None:
        with bank._store.transaction(write=False) as connection:
            if connection.dialect.name == "sqlite":
                assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
            for question in (
                "select n.id from topic_notes n where not exists "
                "(select 1 from topic_note_turns t where t.note_id = n.id)",
                "select t.note_id from topic_note_turns t join topic_notes n on n.id = t.note_id where not exists "
                "(select 1 from messages m where m.session_id = n.session_id and m.turn = t.turn)",
                "select v.id from topic_versions v where not exists "
                "(select 1 from topic_versions r where r.id = v.topic)",
                "select v.id from topic_versions v where (v.previous is null) != (v.topic = v.id)",
            ):
                assert connection.exec_driver_sql(question).all() == [], question


def shape(bank: MemoryBank, scope: Scope) -> list[tuple[object, ...]]:
    """The topics without their ids."""
    return [
        (topic.speaker, topic.turn_ids, [(each.text, each.note, each.turn_ids) for each in topic.versions])
        for topic in bank.topics.all(scope)
    ]
