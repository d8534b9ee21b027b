"""Conversations with questions: LoCoMo, LongMemEval, chats such as BEAM's, RealMem, QMSum, MemDaily, (Long-)MT-Bench+.

Each becomes a `benchmarks.chats.Chat`. A question's evidence is empty where the data names none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from benchmarks.chats import Chat, Question
from benchmarks.retrieval import CATEGORIES, Conversation, read_conversation
from secom_core.conversation import Message, Session, Turn, group_messages

_PIECES: Final = re.compile(r"\[(human|user|bot|chatbot|assistant)\]:\s*", re.I)
_DATE: Final = re.compile(r"(\d{4})[/-](\d\d?)[/-](\d\d?)(?:\D+(\d\d?):(\d\d))?")
_ROLES: Final = {"human": "user", "user": "user"}


def read_locomo_chat(file: Path) -> Chat:
    """LoCoMo (Maharana et al. 2024): categories 1 to 4."""
    return chat_of(read_conversation(file))


def chat_of(conversation: Conversation) -> Chat:
    """A conversation of `benchmarks.retrieval` with those of its questions that have evidence."""
    turns = {turn.id: turn for session in conversation.sessions for turn in session.turns}
    return Chat(
        conversation.name,
        conversation.sessions,
        tuple(
            _question(CATEGORIES.get(each.category, "shipped"), each.question, each.answer or "", shown)
            for each in conversation.questions
            if (shown := [turns[id] for id in each.evidence if id in turns])
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


def read_longmemeval(rows: Sequence[Mapping[str, Any]]) -> Iterator[Chat]:
    """LongMemEval (Wu et al. 2024): a question with a history of its own; evidence are the messages ``has_answer``.

    A question whose id ends with ``_abs`` has no answer in the history: its kind is ``abstention``.
    """
    for row in rows:
        sessions, evidence = [], []
        dated = zip(row["haystack_session_ids"], row["haystack_dates"], row["haystack_sessions"], strict=True)
        for number, (own, date, said) in enumerate(dated, 1):
            at = _moment(date)
            kept = [(place, each) for place, each in enumerate(said) if each["content"].strip()]
            # The same session may stand in a history twice.
            ids = {place: f"{number}:{own}:{place}" for place, _ in kept}
            messages = [Message(each["content"], each["role"], id=ids[place], at=at) for place, each in kept]
            sessions.append(Session(f"{number}:{own}", group_messages(messages, f"{number}:{own}")))
            evidence += [ids[place] for place, each in kept if each.get("has_answer")]
        kind = "abstention" if row["question_id"].endswith("_abs") else row["question_type"]
        shown = [] if kind == "abstention" else evidence
        asked = _about(sessions, shown, kind, row["question"], str(row["answer"]), at=_moment(row.get("question_date")))
        yield Chat(row["question_id"], tuple(sessions), (asked,))


def read_realmem(found: Mapping[str, Any], name: str) -> Iterator[Chat]:
    """RealMem (2026): what an assistant said to a query, from the sessions before it.

    Each session with queries is a chat of its own, as the later ones hold the answers. The data names sessions as
    evidence and not turns, so these questions have none here.
    """
    sessions: list[Session] = []
    for row in found["dialogues"]:
        at = _moment(str(row.get("current_time") or "").partition(" ")[0])
        own, turns = str(row["session_identifier"]), row["dialogue_turns"]
        messages = [
            Message(each["content"], _role(each["speaker"]), id=f"{own}:{place}", at=at)
            for place, each in enumerate(turns)
        ]
        questions = tuple(
            Question(
                each.get("category_name") or "query",
                each["content"],
                turns[place + 1]["content"],
                (),
                tuple(messages[:place]),
                at,
            )
            for place, each in enumerate(turns[:-1])
            if each.get("is_query")
        )
        if questions:
            yield Chat(f"{name}, {own}", tuple(sessions), questions)
        sessions.append(Session(own, group_messages(messages, own)))


def read_memdaily(found: Any, name: str) -> Iterator[Chat]:
    """MemDaily (Zhang et al. 2024): messages of a user, a question with choices, and the places of what answers it.

    The trajectories lie at any depth, under the kind of their question.
    """
    for path, row in _trajectories(found, ()):
        asked, said = row["QA"], row["message_list"]
        texts = [
            each if isinstance(each, str) else str(each.get("message") or each.get("user_message")) for each in said
        ]
        own = f"{name} {'/'.join(path)}"
        messages = [Message(text, "user", id=str(place)) for place, text in enumerate(texts)]
        session = Session(own, group_messages(messages, own))
        places = asked["target_step_id"]
        steps = [str(each) for each in (places if isinstance(places, list) else [places])]
        choices = "".join(f"\n{key}. {text}" for key, text in (asked.get("choices") or {}).items())
        question = _about([session], steps, path[0] if path else "", asked["question"] + choices, str(asked["answer"]))
        yield Chat(own, (session,), (question,))


def _trajectories(found: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    if isinstance(found, Mapping) and "message_list" in found and "QA" in found:
        yield path, found
    elif isinstance(found, (Mapping, list)):
        for key, each in found.items() if isinstance(found, Mapping) else enumerate(found):
            yield from _trajectories(each, (*path, str(key)))


def read_long_mtbench(rows: Sequence[Mapping[str, Any]], name: str) -> Iterator[Chat]:
    """Long-MT-Bench+ (SeCom, appendix A.7): sessions of exchanges, questions and answers; no evidence is named."""
    for place, row in enumerate(rows):
        own = str(row.get("conversation_id", f"{name} {place + 1}"))
        sessions = tuple(
            _exchanges(f"{own}, session {number}", session) for number, session in enumerate(row["sessions"], 1)
        )
        asked = zip(row["questions"], row["answers"], strict=True)
        yield Chat(own, sessions, tuple(Question("", question, gold, (), (), None) for question, gold in asked))


def _exchanges(name: str, exchanges: Sequence[str]) -> Session:
    messages: list[Message] = []
    for text in exchanges:
        before, *pieces = _PIECES.split(text)
        said = list(zip(pieces[::2], pieces[1::2], strict=True)) if pieces else [("user", before)]
        messages += [
            Message(words.strip(), _role(who), id=f"{name}:{len(messages) + place}")
            for place, (who, words) in enumerate(said)
            if words.strip()
        ]
    return Session(name, group_messages(messages, name))


def read_mtbench_plus(rows: Sequence[Mapping[str, Any]]) -> Iterator[Chat]:
    """MT-Bench+ (Lu et al. 2023): the last thing that a person says is the question; no reference answer is given.

    ``turn-info`` tells of which talks the question is: their messages are its evidence. The chatbot's are empty in the
    published file and are left out.
    """
    for row in rows:
        spoken = [each for each in row["conversations"] if each["value"].strip()]
        last = max(place for place, each in enumerate(spoken) if _role(each["from"]) == "user")
        messages = [
            Message(each["value"], _role(each["from"]), id=str(place)) for place, each in enumerate(spoken[:last])
        ]
        session = Session(row["id"], group_messages(messages, row["id"]))
        of = spoken[last].get("turn-info", "").removesuffix("-Q")
        shown = [str(n) for n, each in enumerate(spoken[:last]) if _talk(each) and _talk(each) in of]
        yield Chat(row["id"], (session,), (_about([session], shown, row.get("type", ""), spoken[last]["value"], ""),))


def _talk(message: Mapping[str, Any]) -> str:
    """``roleplay-95`` of ``roleplay-95-0``."""
    return str(message.get("turn-info", "")).rpartition("-")[0]


def _role(who: str) -> str:
    return _ROLES.get(who.lower(), "assistant")


def _moment(date: str | None) -> datetime | None:
    """The moment of ``2023/05/20 (Sat) 02:21`` or ``2024-01-05``, taken as UTC; None of anything else."""
    found = _DATE.match(date or "")
    if found is None:
        return None
    year, month, day, hour, minute = (int(each or 0) for each in found.groups())
    return datetime(year, month, day, hour, minute, tzinfo=timezone.utc)


def _about(
    sessions: Sequence[Session], ids: Sequence[str], kind: str, question: str, gold: str, at: datetime | None = None
) -> Question:
    """A question whose evidence are the messages with these ids."""
    wanted = frozenset(ids)
    found = [
        (turn.id, message.text)
        for session in sessions
        for turn in session.turns
        for message in turn.messages
        if message.id in wanted
    ]
    turns = tuple(dict.fromkeys(turn for turn, _ in found))
    return Question(kind, question, gold, tuple(text for _, text in found), (), at, turns)


def _question(kind: str, question: str, gold: str, evidence: Sequence[Turn]) -> Question:
    texts = tuple(turn.content for turn in evidence)
    return Question(kind, question, gold, texts, (), None, tuple(turn.id for turn in evidence))
