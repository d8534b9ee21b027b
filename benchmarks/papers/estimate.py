"""What a table will cost in calls and tokens, told before it is run.

An estimate: how often a memory asks a model follows from its procedure, how much it writes does not. The replies are
taken to have `REPLY` tokens, or fewer where the setting bounds them, and a prompt `PROMPT` beside what it quotes. What
is asked again is not counted, and pairs of sentences of memory update, whose number grows with what the model writes,
are taken at a guess.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from benchmarks import teafarm
from benchmarks.chats import Chat
from benchmarks.datasets.cut import read_rows
from benchmarks.evaluation import paper_judges
from benchmarks.evaluation.agreement import labelled_cases
from secom_core.llm.flow import Cost
from secom_core.text.terms import count_tokens

from .runs import Setting
from .table import Table

REPLY: Final = 150
PROMPT: Final = 300


@dataclass(frozen=True)
class Asks:
    """How often a memory asks a model.

    Args:
        session: calls for each session, each of which reads it.
        turn: calls for each turn, each of which reads it and the one before.
        small: calls for each session that read a few sentences, such as for a relation.
        question: calls for each question, each of which reads about what the memory shows.
        reading: calls for each question and session, each of which reads the session.
    """

    session: float = 0
    turn: float = 0
    small: float = 0
    question: float = 0
    reading: float = 0


ASKS: Final = {
    "secom": Asks(session=1),
    "secom-raw-keys": Asks(session=1),
    "summary": Asks(session=2),
    "rsum": Asks(session=2),
    "theanine": Asks(session=1, small=15, question=3),
    "theanine-timelines": Asks(session=1, small=15, question=3),
    "theanine-without-relations": Asks(session=1, question=3),
    "theanine-without-links": Asks(session=1, question=3),
    "theanine-unrefined": Asks(session=1, small=15),
    "theanine-shuffled": Asks(session=1, small=15),
    "theanine-events": Asks(session=1),
    "rmm": Asks(session=2, small=10),
    "summem": Asks(reading=1),
    "conditionmem": Asks(turn=1),
    "memochat": Asks(session=1, question=1),
    "comedy": Asks(session=1, small=1),
    "memorybank": Asks(session=2, small=2),
    "ld-agent": Asks(session=1, turn=1),
    "memory-update": Asks(session=1, small=40),
    "memory-retrieval": Asks(session=1),
    "langchain-summary": Asks(turn=1),
}
"""By the memory's name; the others ask nothing."""

IN_BOTH_ORDERS: Final = ("faithful_choice", "helpfulness", "comparison")
ANSWERING: Final = ("answers", "versus", "teafarm")
CITABLE: Final = 10
"""How many memories an answer can cite, about, each of which is judged."""

JUDGEMENTS: Final = {"GPT4Score": 1, "judged right": 1, **dict.fromkeys(paper_judges.ASPECTS, 1), "entails": 1}
"""How many judgements a column takes for each answer."""


@dataclass(frozen=True)
class Size:
    """How much there is to take in and to ask."""

    sessions: int
    turns: int
    tokens: int
    questions: int
    read: int  # tokens of the sessions that are there when a question is asked, summed over questions
    pairs: int  # questions times sessions


def size_of(chats: Sequence[Chat], questions: int | None) -> Size:
    """The size of a sample: at most so many questions of each conversation."""
    sessions = turns = tokens = asked = read = pairs = 0
    for chat in chats:
        held = sum(count_tokens(turn.text) for turn in chat.turns)
        count = len(chat.questions[:questions])
        sessions, turns, tokens = sessions + len(chat.sessions), turns + len(chat.turns), tokens + held
        asked, read, pairs = asked + count, read + held * count, pairs + len(chat.sessions) * count
    return Size(sessions, turns, tokens, asked, read, pairs)


def remembering(kind: str, size: Size, budget: int) -> Cost:
    """What a memory asks to take in the sample and to be asked about it."""
    asks = ASKS.get(kind.partition(" ")[0], Asks())
    calls = {
        "session": asks.session * size.sessions,
        "turn": asks.turn * size.turns,
        "small": asks.small * size.sessions,
        "question": asks.question * size.questions,
        "reading": asks.reading * size.pairs,
    }
    quoted = (
        asks.session * size.tokens
        + asks.turn * 2 * size.tokens
        + calls["small"] * 2 * REPLY
        + calls["question"] * budget
        + asks.reading * size.read
    )
    total = round(sum(calls.values()))
    return Cost(total, round(quoted) + total * PROMPT, total * REPLY)


def answering(kind: str, size: Size, budget: int) -> Cost:
    """What it takes to answer each question once."""
    shown = {"full": size.read, "langchain-buffer": size.read, "none": 0}.get(kind, budget * size.questions)
    return Cost(size.questions, shown + size.questions * PROMPT, size.questions * REPLY)


def calling(calls: int, quoted: int = 1_000) -> Cost:
    """So many calls, each of which quotes so many tokens."""
    return Cost(calls, calls * (quoted + PROMPT), calls * REPLY)


def expected(table: Table, rows: Mapping[str, str], setting: Setting) -> Cost:
    """What the rows of a table will take."""
    cost = _expected(table, rows, setting) if rows else Cost()
    return replace(cost, tokens_out=cost.calls * min(REPLY, setting.longest or REPLY))


def _expected(table: Table, rows: Mapping[str, str], setting: Setting) -> Cost:
    if table.runner == "judges":
        return calling(sum(2 if case.judge in IN_BOTH_ORDERS else 1 for case in labelled_cases()), PROMPT)
    if not setting.model or table.runner == "denoising":
        return Cost()
    if table.runner == "segmentation":
        return _cutting(rows, setting)
    size = size_of(setting.chats, setting.samples)
    if table.runner == "citations":
        judged = calling(CITABLE * size.questions) if setting.judge else Cost()
        return answering("ours", size, setting.tokens) + judged
    total = Cost()
    if table.runner == "teafarm":
        # Two counterfactual questions of each conversation, made once; each answer is judged.
        asked = min(2, setting.samples or 2) * len(setting.chats)
        if setting.episodes:
            episodes = teafarm.given(setting.episodes, setting.chats)
            names = {each.name for each in episodes}
            size = size_of([chat for chat in setting.chats if chat.name in names], 0)
            asked = sum(len(each.follow_ups[: setting.samples]) for each in episodes)
        else:
            total += calling(size.sessions + 3 * len(setting.chats), size.tokens // max(size.sessions, 1))
        size = replace(size, questions=asked, read=asked * size.tokens, pairs=asked * size.sessions)
    for kind in dict.fromkeys([*rows.values(), *([table.versus] if table.versus else [])]):
        total += remembering(kind, size, setting.tokens)
        total += answering(kind, size, setting.tokens) if table.runner in ANSWERING else Cost()
    return total + calling(len(rows) * size.questions * _judgements(table, setting))


def _judgements(table: Table, setting: Setting) -> int:
    """How many judgements an answer takes."""
    if table.runner == "teafarm":
        return 1
    if not setting.judge or table.runner == "shown":
        return 0
    return 2 if table.versus else sum(JUDGEMENTS.get(column, 0) for column in table.columns)


def _cutting(rows: Mapping[str, str], setting: Setting) -> Cost:
    asked = [name for name in rows.values() if name in ("zero-shot", "rubric")]
    dialogues = read_rows(setting.data)[: setting.samples]
    quoted = sum(count_tokens("\n".join(each["turns"])) for each in dialogues) // max(len(dialogues), 1)
    learning = calling(setting.samples or 100, quoted) + calling(30) if "rubric" in asked else Cost()
    return calling(len(asked) * len(dialogues), quoted) + learning
