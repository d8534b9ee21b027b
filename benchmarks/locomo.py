"""Reads LoCoMo, the conversations with questions that several benchmarks use, into sessions and questions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from secom_core.conversation import Message, Session, group_messages
from secom_core.errors import InvalidTranscript, shorten
from secom_core.readers.moments import read_moment

_EVIDENCE: Final = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class LocomoQuestion:
    """A question of LoCoMo with the turns that answer it.

    Args:
        question: as asked.
        answer: the reference answer; None for most adversarial questions.
        evidence: the ids of the turns that hold the answer, each once; may be empty.
        category: 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial.
    """

    question: str
    answer: str | None
    evidence: tuple[str, ...]
    category: int


def read_locomo(path: str | Path, *, sample: str | None = None) -> tuple[Session, ...]:
    """The sessions of one LoCoMo conversation (Maharana et al., ACL 2024), each utterance a turn.

    Reads the authors' file (a list of samples), one sample of it, or a file with the sessions at the top level. Turn
    ids are the ``dia_id``. A shared photo's caption follows the words as ``[shares a photo: …]`` and is kept as
    ``blip_caption`` in the metadata.

    Args:
        path: a JSON file.
        sample: which sample, by its ``sample_id``; needed where the file holds several.

    Raises:
        InvalidTranscript: if the file is no LoCoMo file, or ``sample`` is needed or unknown.
    """
    found = _sample(path, sample)
    conversation = found.get("conversation", found)
    if not isinstance(conversation, Mapping):
        raise InvalidTranscript(f"{path}: expected a conversation by sessions, got {shorten(conversation)}")
    names = sorted((key for key in conversation if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:]))
    if not names:
        raise InvalidTranscript(f"{path}: no 'session_1' in it, only {shorten(list(conversation)[:8])}")
    return tuple(_locomo_session(conversation, name, path) for name in names if conversation[name])


def read_locomo_questions(path: str | Path, *, sample: str | None = None) -> tuple[LocomoQuestion, ...]:
    """The questions that belong to `read_locomo` of the same arguments, in the file's order.

    Raises:
        InvalidTranscript: as `read_locomo` does.
    """
    rows = _sample(path, sample).get("qa", [])
    try:
        return tuple(_locomo_question(row) for row in rows)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidTranscript(f"{path}: a question cannot be read: {error!r}") from error


def _sample(path: str | Path, wanted: str | None) -> Mapping[str, Any]:
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidTranscript(f"{path}: not JSON: {error}") from error
    samples = data if isinstance(data, list) else [data]
    if not samples or not all(isinstance(each, Mapping) for each in samples):
        raise InvalidTranscript(f"{path}: expected a LoCoMo sample or a list of them, got {shorten(data)}")
    ids = [str(each.get("sample_id", place)) for place, each in enumerate(samples)]
    if wanted is None and len(samples) == 1:
        return dict(samples[0])
    if wanted not in ids:
        raise InvalidTranscript(f"{path}: choose one of its samples {ids}, got sample={wanted!r}")
    return dict(samples[ids.index(wanted)])


def _locomo_session(conversation: Mapping[str, Any], name: str, path: str | Path) -> Session:
    written = conversation.get(f"{name}_date_time")
    moment = read_moment(written) if isinstance(written, str) else None
    if written is not None and moment is None:
        raise InvalidTranscript(f"{path}: {name}_date_time is no date: {shorten(written)}")
    at = moment.on(None) if moment else None
    try:
        messages = [_locomo_message(row, at) for row in conversation[name]]
    except (KeyError, TypeError) as error:
        raise InvalidTranscript(f"{path}: a turn of {name} cannot be read: {error!r}") from error
    return Session(name, group_messages(messages, name))


def _locomo_message(row: Any, at: datetime | None) -> Message:
    if not isinstance(row, Mapping):
        raise TypeError(f"expected a turn, got {shorten(row)}")
    caption = row.get("blip_caption")
    words = f"{row['text']} [shares a photo: {caption}]" if caption else row["text"]
    kept = {"blip_caption": caption} if caption else {}
    return Message(words, role="", speaker=row["speaker"], id=row["dia_id"], at=at, metadata=kept)


def _locomo_question(row: Mapping[str, Any]) -> LocomoQuestion:
    ids = [f"D{int(session)}:{int(turn)}" for text in row["evidence"] for session, turn in _EVIDENCE.findall(text)]
    answer = row.get("answer")
    return LocomoQuestion(
        row["question"], None if answer is None else str(answer), tuple(dict.fromkeys(ids)), int(row["category"])
    )
