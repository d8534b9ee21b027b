"""The papers' other judges, each with a prompt of our own, as procedures for `secom_core.llm.flow`.

`benchmarks.evaluation.judge` has RSum's score and comparison and TeaFarm's check; here are SeCom's GPT4Score and its
choice of two answers (Figure 12), RSum's aspects one by one (Table 4), Theanine's G-Eval of what was retrieved (Figure
26) and its entailment (Figure 6), RMM's judge of answers (appendix D.3) and of citations (section 8.3).

A judgement that cannot be read is asked for once more; a second one raises `BadReply`: a measure is never made up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Literal, TypeAlias, TypeVar

from secom_core.errors import BadReply
from secom_core.llm.flow import Procedure, Prompt
from secom_core.llm.prompt_texts import PromptTexts
from secom_core.llm.quoting import quoted
from secom_core.llm.retry import all_asked_twice, asked_twice

from .judge import Comparison, unless_failed
from .judge_prompt import read_score, verdict

__all__ = [
    "ASPECTS",
    "Entailment",
    "aspects",
    "complete",
    "entailment",
    "faithful_choice",
    "faithfulness",
    "helpfulness",
    "usefulness",
]

T = TypeVar("T")
Entailment: TypeAlias = Literal["entails", "neutral", "contradicts"]
ASPECTS: Final = ("engagingness", "coherence", "consistency")
_NOTHING: Final = "(nothing)"
_TEXTS: Final = PromptTexts(__package__, "judge_prompts.txt")
_CHOICES: Final = {"a": 1.0, "b": -1.0, "none": 0.0}
_NOTES: Final = {"1": 1.0, "2": -1.0, "tie": 0.0}
_YES: Final = {"yes": True, "no": False}
_ENTAILMENTS: Final[Mapping[str, Entailment]] = {
    "entails": "entails",
    "neutral": "neutral",
    "contradicts": "contradicts",
}


def faithfulness(question: str, answer: str, history: str) -> Procedure[int]:
    """How faithful an answer is to a conversation, from 1 to 100, in one call (SeCom's GPT4Score, Figure 12).

    Args:
        question: what was asked.
        answer: what is judged.
        history: the part of the conversation that answers it.

    Raises:
        ModelError: no answer, or two judgements that cannot be read.
    """
    return (yield from _judged("faithfulness", read_score, question=question, answer=answer, history=history))


def faithful_choice(question: str, first: str, second: str, history: str) -> Procedure[Comparison]:
    """Which of two answers is more faithful, or neither, asked in both orders together (SeCom, Figure 12).

    Args:
        question: what was asked.
        first: an answer.
        second: another answer.
        history: the part of the conversation that answers it.

    Raises:
        ModelError: no answer, or two judgements of one order that cannot be read.
    """
    return (yield from _in_both_orders("faithful_choice", _CHOICES, first, second, question=question, history=history))


def aspects(reply: str, *, context: str = "", known: str = "") -> Procedure[dict[str, int]]:
    """A score from 1 to 100 for each of `ASPECTS`, a call each (RSum section 5.2, Table 4).

    The paper's prompt (Table 16) names the three and asks for one number; its table has three.

    Args:
        reply: what is judged.
        context: the conversation that it ends.
        known: what is known about the speakers.

    Raises:
        ModelError: no answer, or two judgements of one aspect that cannot be read.
    """
    shown = {"reply": reply, "context": context, "known": known}
    asks = [partial(_prompt, "aspect", _TEXTS.part(each), **shown) for each in ASPECTS]
    found = unless_failed((yield from all_asked_twice(asks, [read_score] * len(asks))))
    return dict(zip(ASPECTS, found, strict=True))


def helpfulness(context: str, first: str, second: str, *, speaker: str = "the assistant") -> Procedure[Comparison]:
    """Which of two memories helps more to go on, or neither, asked in both orders (Theanine section 4, Figure 26).

    Args:
        context: the conversation so far.
        first: what one memory brought back.
        second: what another one did.
        speaker: who speaks next.

    Raises:
        ModelError: no answer, or two judgements of one order that cannot be read.
    """
    return (yield from _in_both_orders("helpfulness", _NOTES, first, second, context=context, speaker=speaker))


def entailment(reply: str, history: str) -> Procedure[Entailment]:
    """Whether a reply entails the past, contradicts it, or neither, in one call (Theanine, Figure 6).

    Args:
        reply: what is judged.
        history: what was said in earlier sessions.

    Raises:
        ModelError: no answer, or two judgements that cannot be read.
    """
    return (yield from _judged("entailment", partial(_read, _ENTAILMENTS), reply=reply, history=history))


def complete(question: str, reference: str, response: str) -> Procedure[bool]:
    """Whether a response answers a question in full; a part of the answer does not do (RMM, appendix D.3).

    Args:
        question: what was asked.
        reference: the right answer.
        response: what is judged.

    Raises:
        ModelError: no answer, or two judgements that cannot be read.
    """
    shown = {"question": question, "reference": reference, "response": response}
    return (yield from _judged("complete", partial(_read, _YES), **shown))


def usefulness(query: str, memory: str, response: str) -> Procedure[bool]:
    """Whether a memory was of use for a response, to check citations with (RMM, section 8.3).

    Args:
        query: what was asked.
        memory: one memory that was shown.
        response: what was answered, without its citations.

    Raises:
        ModelError: no answer, or two judgements that cannot be read.
    """
    shown = {"query": query, "memory": memory, "response": response}
    return (yield from _judged("usefulness", partial(_read, _YES), **shown))


def _judged(part: str, read: Callable[[str], T], **shown: str) -> Procedure[T]:
    return (yield from asked_twice(partial(_prompt, part, None, **shown), read))


def _in_both_orders(
    part: str, values: Mapping[str, float], first: str, second: str, **shown: str
) -> Procedure[Comparison]:
    orders = ({"first": first, "second": second}, {"first": second, "second": first})
    asks = [partial(_prompt, part, None, **order, **shown) for order in orders]
    one, other = unless_failed((yield from all_asked_twice(asks, [partial(_read, values)] * 2)))
    return Comparison(one, -other)


def _prompt(part: str, aspect: str | None, *, complaint: str | None, **shown: str) -> Prompt:
    values = {name: quoted(text) or _NOTHING for name, text in shown.items()}
    named = {} if aspect is None else {"aspect": aspect}
    return _TEXTS.prompt(_TEXTS.part(part, **values, **named), "judge", complaint=complaint)


def _read(values: Mapping[str, T], judgement: str) -> T:
    said = verdict(judgement).casefold().strip(". ")
    if said not in values:
        raise BadReply(f"the judgement is none of {', '.join(f'[[{each}]]' for each in values)}", judgement)
    return values[said]
