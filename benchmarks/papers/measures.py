"""The measures of answers, by the names of the papers' columns; those of texts in percent, as the papers have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import fmean
from typing import Any, Final

from benchmarks.answering import whole
from benchmarks.chats import Chat, Question
from benchmarks.evaluation import paper_judges
from benchmarks.evaluation.generation import bert_score, bleu, meteor, rouge, token_f1
from benchmarks.evaluation.segmentation import half_interval
from secom_core.errors import BadReply
from secom_core.llm.flow import ChatModel, Procedure, run

Figures = dict[str, float | None]
_HISTORY: Final = 8_000
"""How many tokens of a conversation a judge is shown where no evidence is named."""

JUDGED: Final = frozenset(
    {"GPT4Score", "judged right", *paper_judges.ASPECTS, "entails", "neutral", "contradicts"},
)


@dataclass(frozen=True)
class Answer:
    """An answer with its question, and the conversation that it is about."""

    line: Mapping[str, Any]
    question: Question
    chat: Chat

    @property
    def text(self) -> str:
        return str(self.line["answer"])

    @property
    def history(self) -> str:
        """What a judge is shown of the conversation: the evidence, or else as much of its end as fits."""
        return "\n".join(self.question.evidence) or whole(self.chat.sessions, _HISTORY)

    @property
    def said(self) -> str:
        """The session that a reply carries on."""
        return "\n".join(message.line for message in self.question.context)


def answers_in(lines: Sequence[Mapping[str, Any]], chats: Sequence[Chat]) -> list[Answer]:
    """The answers of a run of `benchmarks.answering`, each with its question."""
    by_name = {chat.name: chat for chat in chats}
    return [
        Answer(line, by_name[line["conversation"]].questions[line["number"]], by_name[line["conversation"]])
        for line in lines
        if "question" in line and line["conversation"] in by_name
    ]


def text_figures(answers: Sequence[Answer], wanted: Sequence[str], bert: str | None) -> Figures:
    """What needs no judge: the text measures that are wanted, with intervals, and tokens.

    Answers whose question has no reference are left out. Without ``bert``, a folder with an encoder, BERTScore is None,
    and Mauve always is.
    """
    pairs = [(each.text, each.question.gold) for each in answers if each.question.gold]
    found: Figures = {}
    for name in wanted:
        if name in _EACH:
            found |= within(name, [_EACH[name](mine, yours) for mine, yours in pairs], 100)
        elif name in _ORDERS:
            found |= _bleu(name, pairs) if pairs else {name: None}
        elif name in _TEXT:
            ours, theirs = [mine for mine, _ in pairs], [yours for _, yours in pairs]
            given = name == "BERTScore" and bert is not None and pairs
            found[name] = 100 * bert_score(ours, theirs, model=bert) if given and bert else None
    return found | {name: fmean(each.line[key] for each in answers) for name, key in _COUNTED.items() if name in wanted}


_TEXT: Final = ("BERTScore", "Mauve")
_ORDERS: Final = {"BLEU": 4, "BLEU-1": 1, "BLEU-2": 2}
_COUNTED: Final = {"tokens": "context_tokens"}
_RESAMPLES: Final = 200


def _rouge(kind: str, mine: str, yours: str) -> float:
    return rouge([mine], [yours], kinds=(kind,))[kind]


_EACH: Final[Mapping[str, Callable[[str, str], float]]] = {
    "F1": token_f1,
    "METEOR": lambda mine, yours: meteor([mine], [yours]),
    **{name: partial(_rouge, name.replace("R", "r", 1)) for name in ("Rouge1", "Rouge2", "RougeL")},
}
"""The measures of one answer."""


def _bleu(name: str, pairs: Sequence[tuple[str, str]]) -> Figures:
    """BLEU of all, and half of its 95 per cent interval, by answers drawn again (Efron's bootstrap, percentiles)."""

    def of(drawn: Sequence[tuple[str, str]]) -> float:
        return 100 * bleu([mine for mine, _ in drawn], [yours for _, yours in drawn], order=_ORDERS[name])

    draw = Random(0)
    if len(pairs) < 2:
        return {name: of(pairs), f"{name} ±": None}
    found = sorted(of(draw.choices(pairs, k=len(pairs))) for _ in range(_RESAMPLES))
    low, high = found[round(0.025 * _RESAMPLES)], found[round(0.975 * _RESAMPLES) - 1]
    return {name: of(pairs), f"{name} ±": (high - low) / 2}


def judged_figures(answers: Sequence[Answer], wanted: Sequence[str], judge: ChatModel) -> Figures:
    """What a model judges, of the measures that are wanted, and how many judgements could not be read."""
    found: Figures = {}
    unread = 0
    if "GPT4Score" in wanted:
        scores = [
            read(paper_judges.faithfulness(each.question.question, each.text, each.history), judge) for each in answers
        ]
        found |= within("GPT4Score", scores)
        unread += scores.count(None)
    if "judged right" in wanted:
        right = [
            read(paper_judges.complete(each.question.question, each.question.gold, each.text), judge)
            for each in answers
            if each.question.gold
        ]
        found |= within("judged right", right, 100)
        unread += right.count(None)
    if set(wanted) & set(paper_judges.ASPECTS):
        rated = [
            read(paper_judges.aspects(each.text, context=each.said, known=each.question.known), judge)
            for each in answers
        ]
        for name in paper_judges.ASPECTS:
            found |= within(name, [each and each[name] for each in rated])
        unread += rated.count(None)
    if "entails" in wanted:
        kinds = Counter(read(paper_judges.entailment(each.text, each.history), judge) for each in answers)
        known = sum(kinds.values()) - kinds[None]
        found |= {name: 100 * kinds[name] / known if known else None for name in ("entails", "neutral", "contradicts")}
        unread += kinds[None]
    return found | {"unread": unread}


def shares(winners: Sequence[int | None]) -> Figures:
    """How often the first won, neither, and the second, in percent of what could be read."""
    counted = Counter(winners)
    known = len(winners) - counted[None]
    named = {"win": 1, "tie": 0, "lose": 2}
    found: Figures = {name: 100 * counted[each] / known if known else None for name, each in named.items()}
    return found | {"unread": counted[None]}


def read(procedure: Procedure[Any], judge: ChatModel) -> Any:
    """A judgement; None where it could not be read twice."""
    try:
        return run(procedure, judge)
    except BadReply:
        return None


def mean(values: Sequence[Any], times: float = 1) -> float | None:
    """The mean of what is there."""
    there = [float(each) * times for each in values if each is not None]
    return fmean(there) if there else None


def within(name: str, values: Sequence[Any], times: float = 1) -> Figures:
    """The mean of what is there under its name, and half of its 95 per cent interval under ``name ±``.

    The interval takes the questions as drawn one by one, 1.96 standard errors to each side; those of one conversation
    are more alike than that, so it is rather too narrow.
    """
    there = [float(each) * times for each in values if each is not None]
    return {name: mean(there), f"{name} ±": half_interval(there)}
