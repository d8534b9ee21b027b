"""Guidance for segmentation, learned by a language model from its own mistakes (SeCom section 2.2, A.1, Figure 8)."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Final, cast

from ...conversation import Turn
from ...errors import InvalidInput, ModelError, warn_degraded
from ...llm.flow import AsyncChatModel, ChatModel, Cost, Outcome, Procedure, Prompt, arun, run
from ...llm.retry import asked_twice
from ...memory import Segment, check_partition
from ...protocols import TokenCounter
from ...text.batches import batches
from ...text.terms import count_tokens
from ..fixed import WholeSession
from ..progress import advancing
from ..zero_shot import ZeroShotSegmenter
from ..zero_shot_prompt import segmentation_example
from .file import Rubric
from .prompt import HardExample, Reflection, read_reflection, reflection_prompt
from .recorded import RESERVING, PromptWithheld, Recorded, model_name

Labelled = tuple[Sequence[Turn], Sequence[Segment]]
"""A session and the segments that people marked in it."""

_EMPTY: Final = Rubric()
_SIDE_BY_SIDE: Final = 32  # sessions whose prompts are handed over together


@dataclass(frozen=True, slots=True, eq=False)
class RubricLearner:
    """Learns a rubric for `ZeroShotSegmenter` from annotated sessions.

    The model segments the sessions zero-shot. The ``top_k`` with the largest WindowDiff are dealt, hardest first, into
    as many mini-batches as there are rules to learn. For each mini-batch the model is shown what it predicted, what
    people marked and the rules so far, and gives one new rule and the most representative session, which becomes a
    few-shot example with its prediction, ground truth and reflection. Earlier rules may be put in other words.

    A bad reply is asked for once more, with what was wrong; after that the session or mini-batch is left out, and a
    `DegradedWarning` names the cause. Where a limit is reached or the model stays away, what was learned so far is the
    result, with a `DegradedWarning`.

    With ``state``, every reply is written down as it comes in. Running again with the same file asks nothing that was
    answered before: so an interrupted run goes on, also with a larger limit.

    What the paper leaves open: sessions without error are never among the hardest; the mini-batches follow the order
    of difficulty; fewer hard sessions than rules make fewer mini-batches.

    Args:
        model: the language model; `learn` needs its sync side.
        items: how many rules, at most; so many mini-batches (10 in SeCom A.1).
        top_k: how many of the hardest sessions are reflected on (100 in SeCom A.1).
        batch: how many of the sessions are segmented, drawn at random with ``seed``; all of them (the training set)
            unless given.
        start: a rubric to go on from; its guidance is used where the paper segments zero-shot, as it is empty there.
        state: the file that makes it resumable.
        max_calls: the most calls to the model, over all runs with the same ``state``. Segmenting leaves a call for
            each rule, but takes at least half.
        max_tokens: the most tokens in and out, likewise; estimated, and a last reply may go beyond it.
        window_turns: the most turns of a session in one call.
        window_tokens: the most tokens of conversation in one call, estimated.
        example_tokens: the most tokens of conversation in one example, estimated; long exchanges lose their middle.
        limit: how many calls are in flight at once; 1 in `learn` and 8 in `alearn` unless given. Above 1, `learn` asks
            from several threads.
        seed: draws the batch.
        token_counter: counts the cost.
        progress: show a bar of the calls.

    Raises:
        InvalidInput: for a number below 1, or a start with no room for another rule.
    """

    model: ChatModel | AsyncChatModel
    _: KW_ONLY
    items: int = 10
    top_k: int = 100
    batch: int | None = None
    start: Rubric = _EMPTY
    state: str | os.PathLike[str] | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    window_turns: int = 200
    window_tokens: int = 16_000
    example_tokens: int = 1_000
    limit: int | None = None
    seed: int = 0
    token_counter: TokenCounter = count_tokens
    progress: bool = False

    def __post_init__(self) -> None:
        for name in ("items", "top_k", "batch", "max_calls", "max_tokens", "example_tokens", "limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidInput(f"{name} is at least 1, got {value}")
        if len(self.start.items) >= self.items:
            raise InvalidInput(f"start has {len(self.start.items)} rules, which leaves none to learn of {self.items}")
        self._segmenter(self.start)

    def learn(self, sessions: Sequence[Labelled], *, held_out: Sequence[Labelled] = ()) -> Rubric:
        """The rubric that the model learns from ``sessions``.

        Args:
            sessions: each with the segments that people marked, which cover it; those of one turn are passed over.
            held_out: not in the paper, and off unless given: sessions that are segmented again after each rule; a rule
                that makes their mean WindowDiff larger is dropped. Costs a call for each session and rule.

        Raises:
            InvalidInput: where there is no session of two turns or more, segments do not cover their session, the
                model has no sync side, or the state file is not one, is damaged or of another model.
            SchemaTooNew: where the state file was written by a later version.
        """
        if not isinstance(self.model, ChatModel):
            raise InvalidInput(f"{type(self.model).__name__} has no complete(); use alearn with it")
        with self._advancing(len(sessions), len(held_out)) as advance:
            recorded = self._recorded(advance)
            rubric = run(self.procedure(sessions, held_out), recorded, limit=self.limit or 1)
        return self._finished(rubric, recorded)

    async def alearn(self, sessions: Sequence[Labelled], *, held_out: Sequence[Labelled] = ()) -> Rubric:
        """As `learn`, without blocking the event loop while the model thinks."""
        if not isinstance(self.model, AsyncChatModel):
            return await asyncio.to_thread(partial(self.learn, sessions, held_out=held_out))
        with self._advancing(len(sessions), len(held_out)) as advance:
            recorded = await asyncio.to_thread(self._recorded, advance)
            rubric = await arun(self.procedure(sessions, held_out), recorded, limit=self.limit or 8)
        return self._finished(rubric, recorded)

    def procedure(self, sessions: Sequence[Labelled], held_out: Sequence[Labelled] = ()) -> Procedure[Rubric]:
        """The questions that `learn` asks, for `secom_core.llm.flow`; without state, limits or cost."""
        labelled = self._drawn(_checked(sessions))
        if not labelled:
            raise InvalidInput(f"learning needs a session of two turns or more, got none in {len(sessions)}")
        hard, segmented = yield from self._hardest(labelled)
        about = f"Learned with {model_name(self.model)} from the {len(hard)} hardest of {segmented} sessions."
        rubric = replace(self.start, note=about, cost=Cost())
        dropped = 0
        marked = _checked(held_out)
        best = yield from self._segmented(rubric, marked, "check")
        for number, examples in enumerate(_dealt(hard, self.items - len(rubric.items)), 1):
            try:
                learned = yield from self._reflected(rubric, examples)
            except PromptWithheld:
                break
            except ModelError as error:
                warn_degraded(f"the language model gave no rule for mini-batch {number}, which is left out", error)
                continue
            found = yield from self._segmented(learned, marked, "check")
            if _worse(best, found):
                dropped += 1
                continue
            rubric, best = learned, found
        return replace(rubric, note=f"{about} {dropped} rules made held-out sessions worse.") if dropped else rubric

    def _hardest(self, labelled: Sequence[Labelled]) -> Procedure[tuple[list[HardExample], int]]:
        """The sessions with the largest WindowDiff, largest first, and of how many (SeCom A.1)."""
        found = yield from self._segmented(self.start, labelled, RESERVING)
        failed = [each for each in found if isinstance(each, ModelError) and not isinstance(each, PromptWithheld)]
        if failed:
            left_out = f"{len(failed)} of {len(labelled)} sessions, which are left out"
            warn_degraded(f"the language model did not segment {left_out}", failed[0])
        examples = [each for each in found if isinstance(each, HardExample)]
        wrong = sorted((each for each in examples if each.error > 0), key=lambda each: -each.error)
        return wrong[: self.top_k], len(examples)

    def _reflected(self, rubric: Rubric, examples: Sequence[HardExample]) -> Procedure[Rubric]:
        ask = partial(reflection_prompt, examples, rubric.items, tokens=self.window_tokens)
        read = partial(read_reflection, count=len(examples), rules=rubric.items)
        found: Reflection = yield from asked_twice(ask, read)
        kept = [found.revised.get(place, item) for place, item in enumerate(rubric.items)]
        example = examples[found.example]
        divisions = {"segments": example.true, "predicted": example.predicted}
        text = segmentation_example(example.turns, note=found.note, tokens=self.example_tokens, **divisions)
        return replace(rubric, items=(*kept, found.item), examples=(*rubric.examples, text))

    def _segmented(
        self, rubric: Rubric, labelled: Sequence[Labelled], purpose: str
    ) -> Procedure[list[HardExample | ModelError]]:
        """Each session as it is segmented with a rubric, or why it is not."""
        segmenter = self._segmenter(rubric)
        asking = [segmenter.procedure(turns, strict=True) for turns, _ in labelled]
        found = yield from _side_by_side(asking, purpose)
        return [
            each if isinstance(each, ModelError) else HardExample(turns, each, true)
            for (turns, true), each in zip(labelled, found, strict=True)
        ]

    def _segmenter(self, rubric: Rubric) -> ZeroShotSegmenter:
        return ZeroShotSegmenter(
            self.model,
            fallback=WholeSession(),
            max_turns=self.window_turns,
            max_tokens=self.window_tokens,
            guidance=rubric.guidance,
            examples=rubric.examples,
        )

    def _drawn(self, labelled: list[Labelled]) -> list[Labelled]:
        if self.batch is None or self.batch >= len(labelled):
            return labelled
        return random.Random(self.seed).sample(labelled, self.batch)

    def _advancing(self, sessions: int, held_out: int) -> AbstractContextManager[Callable[[int], object]]:
        rules = self.items - len(self.start.items)
        calls = min(sessions, self.batch or sessions) + rules + held_out * (rules + 1)
        return advancing(calls, "Learning a rubric", "call", visible=self.progress)

    def _recorded(self, advance: Callable[[int], object]) -> Recorded:
        rules = self.items - len(self.start.items)
        reserve = Cost(rules, rules * self.window_tokens)
        path = None if self.state is None else Path(self.state)
        limits = self.max_calls, self.max_tokens, reserve
        return Recorded(self.model, path, *limits, self.token_counter, partial(advance, 1))

    def _finished(self, rubric: Rubric, recorded: Recorded) -> Rubric:
        if recorded.stopped is not None:
            more = " Running again with the same state goes on from here." if self.state is not None else ""
            learned = len(rubric.items) - len(self.start.items)
            warn_degraded(f"learning was cut short at {learned} new rules: {recorded.stopped}. {rubric.note}{more}")
        return replace(rubric, cost=recorded.cost)


def _checked(sessions: Sequence[Labelled]) -> list[Labelled]:
    for turns, segments in sessions:
        check_partition(segments, len(turns))
    return [session for session in sessions if len(session[0]) > 1]


def _dealt(examples: Sequence[HardExample], batches: int) -> Iterator[Sequence[HardExample]]:
    """Mini-batches in order, as even as can be; none is empty."""
    count = min(batches, len(examples))
    edges = [place * len(examples) // count for place in range(count + 1)] if count else []
    return (examples[start:stop] for start, stop in pairwise(edges))


def _worse(before: Sequence[HardExample | ModelError], after: Sequence[HardExample | ModelError]) -> bool:
    """Whether the mean error is larger, over the sessions that were segmented both times."""
    pairs = [
        (old.error, new.error)
        for old, new in zip(before, after, strict=True)
        if isinstance(old, HardExample) and isinstance(new, HardExample)
    ]
    return bool(pairs) and fmean(new for _, new in pairs) > fmean(old for old, _ in pairs)


def _side_by_side(
    procedures: Sequence[Procedure[list[Segment]]], purpose: str
) -> Procedure[list[list[Segment] | ModelError]]:
    """The results of procedures that each yield one prompt at a time, their prompts asked together.

    A few dozen run at a time, so that not all prompts are in memory. Where prompts are kept back, no more are begun.
    """
    results: list[list[Segment] | ModelError] = []
    for batch in batches(procedures, _SIDE_BY_SIDE):
        steps = [_step(procedure, None) for procedure in batch]
        while prompts := [replace(step, purpose=purpose) for step in steps if isinstance(step, Prompt)]:
            replies = iter((yield prompts))
            pairs = zip(batch, steps, strict=True)
            steps = [_step(each, next(replies)) if isinstance(step, Prompt) else step for each, step in pairs]
        results += [step for step in steps if not isinstance(step, Prompt)]
        if any(isinstance(step, PromptWithheld) for step in steps):
            break
    return results + [PromptWithheld("not asked")] * (len(procedures) - len(results))


def _step(procedure: Procedure[list[Segment]], reply: Outcome | None) -> Prompt | list[Segment] | ModelError:
    """What a procedure asks next, or its result, or the error that ended it."""
    try:
        prompt = procedure.throw(reply) if isinstance(reply, ModelError) else procedure.send(reply)
        return cast("Prompt", prompt)
    except StopIteration as done:
        return cast("list[Segment]", done.value)
    except ModelError as error:
        return error
