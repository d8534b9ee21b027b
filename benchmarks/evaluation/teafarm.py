"""TeaFarm: is an agent that remembers fooled by questions that assume what never was? Theanine section 5.

From the sessions of two people, `farmed` makes an `Episode`: a summary a session, two counterfactual questions with
their answers, and for each a follow-up session that leads to it (section 5.1, steps 1 to 5). `questioned` puts the
questions to an agent under test and has the answers judged (step 6). Any callable is an agent::

    def agent(asked: FollowUp) -> str:
        return my_chain.invoke({"history": asked.text, ...})
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from statistics import fmean
from typing import Any, TypeAlias

from secom_core.conversation import Session
from secom_core.errors import InvalidInput
from secom_core.llm.flow import Procedure
from secom_core.llm.quoting import shortened
from secom_core.llm.retry import all_asked_twice, asked_twice

from .judge import correctness, unless_failed
from .teafarm_prompt import (
    digest_prompt,
    follow_up_prompt,
    questions_prompt,
    read_digest,
    read_follow_up,
    read_questions,
)

__all__ = ["Agent", "Episode", "FollowUp", "Verdict", "farmed", "questioned", "speakers_of", "success_rate"]


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A session that leads to a counterfactual question.

    Args:
        speaker: who asks it; the agent under test is the other one.
        question: the last utterance.
        answer: what one who remembers everything says.
        dialogue: who says what, in order, the question included.
    """

    speaker: str
    question: str
    answer: str
    dialogue: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The session up to the question and with it, a line an utterance."""
        return "\n".join(f"{name}: {said}" for name, said in self.dialogue)


Agent: TypeAlias = Callable[[FollowUp], str]
"""What is tested: it is given the session up to the question, and answers in the other speaker's place."""


@dataclass(frozen=True, slots=True)
class Episode:
    """A conversation made into a test, as TeaBag holds it (Theanine appendix D).

    Args:
        name: which conversation.
        speakers: the two names.
        summaries: of its sessions, in order.
        follow_ups: two, one by each speaker.
    """

    name: str
    speakers: tuple[str, str]
    summaries: tuple[str, ...]
    follow_ups: tuple[FollowUp, ...]

    def as_json(self) -> dict[str, Any]:
        """What JSON can hold; `from_json` reads it."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Episode:
        """The episode that `as_json` gave.

        Raises:
            InvalidInput: for anything else.
        """
        try:
            follow_ups = tuple(
                FollowUp(
                    str(each["speaker"]),
                    str(each["question"]),
                    str(each["answer"]),
                    tuple((str(name), str(said)) for name, said in each["dialogue"]),
                )
                for each in found["follow_ups"]
            )
            first, second = map(str, found["speakers"])
            return cls(str(found["name"]), (first, second), tuple(map(str, found["summaries"])), follow_ups)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(f"no TeaFarm episode: {error!r} in {found!r:.200}") from error


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an agent answered.

    Args:
        question: the counterfactual question.
        reference: the right answer.
        response: what the agent said.
        correct: whether the judge found it right; None where its judgement cannot be read.
    """

    question: str
    reference: str
    response: str
    correct: bool | None


def speakers_of(sessions: Sequence[Session]) -> tuple[str, str]:
    """The two who talk.

    Raises:
        InvalidInput: where there are not two, with names or roles.
    """
    names = dict.fromkeys(name for session in sessions for turn in session.turns for name in turn.speakers)
    if len(names) != 2:
        raise InvalidInput(f"TeaFarm needs a conversation of two speakers with names, got {list(names)[:5]}")
    first, second = names
    return first, second


def farmed(name: str, sessions: Sequence[Session], *, max_tokens: int = 8_000) -> Procedure[Episode]:
    """The test that a conversation makes: one call a session, one for the questions, one for each follow-up session.

    Args:
        name: which conversation.
        sessions: all of it, in order.
        max_tokens: the most tokens of a session that are shown; a longer one loses its middle.

    Raises:
        InvalidInput: where there are no sessions, or not two speakers.
        ModelError: no answer, or two that cannot be used; nothing is made up in its place.
    """
    speakers = speakers_of(sessions)
    texts = [shortened("\n".join(turn.text for turn in session.turns), max_tokens) for session in sessions]
    summaries = yield from _digests(texts)
    asked = yield from asked_twice(
        partial(questions_prompt, summaries, speakers),
        partial(read_questions, speakers=speakers),
    )
    follow_ups = []
    for speaker, question, answer in asked:
        dialogue = yield from _follow_up(texts[-1], speakers, speaker, question)
        follow_ups.append(FollowUp(speaker, question, answer, tuple(dialogue)))
    return Episode(name, speakers, tuple(summaries), tuple(follow_ups))


def _follow_up(
    session: str, speakers: tuple[str, str], speaker: str, question: str
) -> Procedure[list[tuple[str, str]]]:
    return (
        yield from asked_twice(
            partial(follow_up_prompt, session, speakers, speaker, question),
            lambda reply: read_follow_up(reply, speakers, speaker, question),
        )
    )


def _digests(texts: Sequence[str]) -> Procedure[list[str]]:
    """All sessions' summaries, asked together; what cannot be used is asked for once more."""
    asks = [partial(digest_prompt, text) for text in texts]
    return unless_failed((yield from all_asked_twice(asks, [read_digest] * len(texts))))


def questioned(follow_up: FollowUp, response: str) -> Procedure[Verdict]:
    """Whether an agent's answer is right, in one call (Theanine Figure 29).

    Args:
        follow_up: what the agent was given.
        response: what it said.

    Raises:
        ModelError: no answer, or two judgements that cannot be read.
    """
    correct = yield from correctness(follow_up.text, follow_up.answer, response)
    return Verdict(follow_up.question, follow_up.answer, response, correct)


def success_rate(verdicts: Iterable[Verdict]) -> float:
    """The share of the judged questions that did not fool the agent (Theanine Table 4).

    Raises:
        InvalidInput: where there is none.
    """
    counted = [verdict.correct for verdict in verdicts if verdict.correct is not None]
    if not counted:
        raise InvalidInput("there is no verdict to count")
    return fmean(counted)
