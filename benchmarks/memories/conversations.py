"""Conversations of several data sets in one form: `benchmarks.chats.Chat`, whose questions name turns and texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.chats import Chat, Question, chat_files, read_chat
from benchmarks.retrieval import CATEGORIES, read_conversation
from secom_core.conversation import Message, Session, Turn
from secom_core.errors import InvalidTranscript


def read(file: Path) -> Chat:
    """A conversation with the questions that have evidence; whether LoCoMo, QMSum or a chat is told by its fields.

    Raises:
        InvalidTranscript: if it is none of them.
    """
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise InvalidTranscript(f"{file} is no JSON: {error}; give files of LoCoMo, QMSum or BEAM") from error
    if isinstance(found, Mapping) and "meeting_transcripts" in found:
        return read_qmsum(file.stem, found)
    if isinstance(found, Mapping) and isinstance(found.get("sessions"), list):
        chat = read_chat(file)
        return Chat(chat.name, chat.sessions, tuple(each for each in chat.questions if each.evidence))
    return read_locomo_chat(file)


def read_all(data: Sequence[Path], most: int | None = None) -> dict[str, list[Chat]]:
    """The conversations of each folder or file, by its name; of each, at most so many."""
    return {path.stem: [read(file) for file in chat_files([path])[:most]] for path in data}


def read_locomo_chat(file: Path) -> Chat:
    """LoCoMo (Maharana et al. 2024): categories 1 to 4."""
    conversation = read_conversation(file)
    turns = {turn.id: turn for session in conversation.sessions for turn in session.turns}
    return Chat(
        conversation.name,
        conversation.sessions,
        tuple(
            _question(CATEGORIES[each.category], each.question, each.answer or "", [turns[id] for id in known])
            for each in conversation.questions
            if (known := [id for id in each.evidence if id in turns])
        ),
    )


def read_qmsum(name: str, found: Mapping[str, Any]) -> Chat:
    """QMSum (Zhong et al. 2021): a meeting is a session, each utterance a turn; its specific queries have evidence."""
    # An utterance of no words keeps its place, as the spans of the evidence count it.
    said = [(place, each) for place, each in enumerate(found["meeting_transcripts"]) if each["content"].strip()]
    messages = [Message(each["content"], speaker=each["speaker"], id=str(place)) for place, each in said]
    turns = tuple(Turn((message,), name, place) for place, message in enumerate(messages))
    return Chat(
        name,
        (Session(name, turns),),
        tuple(
            _question("specific", each["query"], each["answer"], shown)
            for each in found["specific_query_list"]
            if (shown := _spans(each["relevant_text_span"], turns))
        ),
    )


def _spans(spans: Sequence[Sequence[str]], turns: Sequence[Turn]) -> list[Turn]:
    places = {str(place) for start, end in spans for place in range(int(start), int(end) + 1)}
    return [turn for turn in turns if turn.id in places]


def _question(kind: str, question: str, gold: str, evidence: Sequence[Turn]) -> Question:
    texts = tuple(turn.content for turn in evidence)
    return Question(kind, question, gold, texts, (), None, tuple(turn.id for turn in evidence))
