"""Segments found by a language model, in one call a session (SeCom section 2.2)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import accumulate

from ..conversation import Turn
from ..errors import BadReply, InvalidInput, ModelError, ModelUnavailable, warn_degraded
from ..llm.flow import AsyncChatModel, ChatModel, Procedure, run
from ..llm.retry import asked_twice
from ..llm.windows import MARKER_TOKENS, window_texts
from ..memory import Segment, check_partition, segments_from
from ..protocols import Segmenter
from ..text.terms import count_tokens
from .progress import advancing
from .zero_shot_prompt import joining_prompt, read_joining, read_segmentation, segmentation_prompt


@dataclass(frozen=True, slots=True, eq=False)
class ZeroShotSegmenter:
    """Asks a language model where segments end; a local segmenter takes over where it fails.

    A reply is repaired where it has one reading only, and checked for cover, overlap and count. A bad one is asked
    for once more, with what was wrong. After that, and where the model gives no answer, ``fallback`` segments and a
    `DegradedWarning` names the cause.

    A session longer than one call is read in windows. Each window begins again with the segment that the one before
    it left open, so that no boundary is due to a window's edge.

    Args:
        model: the language model; `segment` and `joins` need its sync side.
        fallback: the segmenter that takes over.
        max_turns: the most turns in one call, at least 2.
        max_tokens: the most tokens of conversation in one call, estimated; a turn of more than a quarter of it is
            shown to the model without its middle.
        guidance: rules to segment by, learned or written (SeCom Figure 7).
        examples: divided conversations, as `secom_core.segmenters.zero_shot_prompt.segmentation_example` writes them.
        progress: show a bar of the turns done.

    Raises:
        InvalidInput: for a window that cannot hold two turns.
    """

    model: ChatModel | AsyncChatModel
    _: KW_ONLY
    fallback: Segmenter
    max_turns: int = 200
    max_tokens: int = 16_000
    guidance: str | None = None
    examples: Sequence[str] = ()
    progress: bool = False

    def __post_init__(self) -> None:
        if self.max_turns < 2 or self.max_tokens < 100:
            given = f"max_turns={self.max_turns} and max_tokens={self.max_tokens}"
            raise InvalidInput(f"a call holds at least 2 turns and 100 tokens, got {given}")

    def segment(self, turns: Sequence[Turn]) -> list[Segment]:
        """Ranges that cover ``turns``; none where there are none."""
        return run(self.procedure(turns), self._sync_model())

    def segment_ended(self, turns: Sequence[Turn]) -> list[Segment]:
        """As `segment`; raises `ModelUnavailable` where the model gives no answer, so that it can be asked later."""
        return run(self.procedure(turns, answered=True), self._sync_model())

    def joins(self, tail: Sequence[Turn], turn: Turn) -> bool:
        """Whether ``turn`` goes on with the open segment ``tail``; an empty one goes on with nothing."""
        return run(self.join_procedure(tail, turn), self._sync_model())

    def procedure(
        self, turns: Sequence[Turn], *, strict: bool = False, answered: bool = False
    ) -> Procedure[list[Segment]]:
        """The questions that segment ``turns``, for `secom_core.llm.flow`.

        Args:
            turns: the session.
            strict: raise the `ModelError` instead of falling back.
            answered: raise the `ModelError` where the model gives no answer; fall back where it gives bad ones.
        """
        texts = window_texts(turns, self.max_tokens)
        totals = _totals(texts)
        starts, begin, stop = {0}, 0, 0
        with advancing(len(turns), "Segmenting", "turn", visible=self.progress) as advance:
            while stop < len(turns):
                done, stop = stop, _reach(totals, begin, stop + 1, self.max_turns, self.max_tokens)
                try:
                    found = yield from self._window(texts[begin:stop])
                except ModelError as error:
                    if strict or (answered and isinstance(error, ModelUnavailable)):
                        raise
                    # A model that gives no answer is not left to time out again for each window.
                    stop = stop if isinstance(error, BadReply) else len(turns)
                    found = yield from self._local(turns[begin:stop], error)
                # The first one goes on with what is open, or begins where the window before it said.
                starts.update(begin + segment.start for segment in found[1:])
                begin = max(*starts, _back(totals, stop, self.max_turns // 2, self.max_tokens // 2))
                advance(stop - done)
        return segments_from((start - 1 for start in starts), len(turns))

    def join_procedure(self, tail: Sequence[Turn], turn: Turn) -> Procedure[bool]:
        """The question that `joins` asks, for `secom_core.llm.flow`."""
        if not tail:
            return False
        texts = window_texts((*tail, turn), self.max_tokens)
        begin = _back(_totals(texts), len(tail), max(1, self.max_turns // 4), self.max_tokens // 4)
        ask = partial(joining_prompt, texts[begin:-1], texts[-1], guidance=self.guidance)
        try:
            return (yield from asked_twice(ask, read_joining))
        except ModelError as error:
            found = yield from self._local((*tail, turn), error)
            return found[-1].start < len(tail)

    def _window(self, texts: Sequence[str]) -> Procedure[list[Segment]]:
        if len(texts) == 1:
            return [Segment(0, 1)]
        ask = partial(segmentation_prompt, texts, guidance=self.guidance, examples=self.examples)
        return (yield from asked_twice(ask, partial(read_segmentation, count=len(texts))))

    def _local(self, turns: Sequence[Turn], error: ModelError) -> Procedure[list[Segment]]:
        name = type(self.fallback).__name__
        cause = f"the language model did not segment {len(turns)} turns, {name} did instead: {error}"
        warn_degraded(cause)
        return check_partition((yield partial(self.fallback.segment, turns)), len(turns))

    def _sync_model(self) -> ChatModel:
        if isinstance(self.model, ChatModel):
            return self.model
        raise InvalidInput(f"{type(self.model).__name__} has no complete(), which segment() needs")


def _totals(texts: Sequence[str]) -> list[int]:
    """How many tokens stand before each turn in the prompt, and how many there are."""
    return [0, *accumulate(count_tokens(text) + MARKER_TOKENS for text in texts)]


def _reach(totals: Sequence[int], begin: int, least: int, turns: int, tokens: int) -> int:
    """Where a window from ``begin`` ends: inside the limits, but not before ``least``, so that windows advance."""
    return max(least, min(begin + turns, bisect_right(totals, totals[begin] + tokens) - 1))


def _back(totals: Sequence[int], stop: int, turns: int, tokens: int) -> int:
    """Where the longest run inside the limits that ends at ``stop`` begins; it has at least one turn."""
    return min(stop - 1, max(stop - turns, bisect_left(totals, totals[stop] - tokens)))
