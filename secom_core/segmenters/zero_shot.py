"""Segments found by a language model, in one call a session (SeCom section 2.2)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import accumulate
from typing import Final, cast

from ..conversation import Turn
from ..errors import BadReply, ContextTooLong, CutOff, InvalidInput, ModelError, ModelUnavailable, warn_degraded
from ..llm.flow import AsyncChatModel, ChatModel, Procedure, run
from ..llm.limits import room
from ..llm.retry import asked_twice
from ..llm.windows import MARKER_TOKENS, window_texts
from ..memory import Segment, check_partition, segments_from
from ..protocols import Segmenter
from ..text.terms import count_tokens
from .progress import advancing
from .zero_shot_prompt import joining_prompt, segmentation_prompt
from .zero_shot_reading import read_joining, read_segmentation

_LEAST_TURNS: Final = 2  # in a window; with one there is nothing to ask
_BROKEN_OFF: Final = 3
"""After so many replies in a row that were cut off before anything was whole, a model is not asked about less."""
_UNUSABLE: Final = 3
"""After so many windows in a row about which it says nothing that can be used, a model is not asked about the rest."""


@dataclass(frozen=True, slots=True, eq=False)
class ZeroShotSegmenter:
    """Asks a language model where segments end; a local segmenter takes over where it fails.

    A reply is repaired where it has one reading only, and checked for cover and overlap
    (`secom_core.segmenters.zero_shot_reading`). A bad one is asked for once more, with what was wrong; the good
    beginning of two bad ones, or of one that was cut off, is kept, and asked on from there. Where the prompt is too
    long for the model, or nothing of a cut-off reply is whole, the window is halved, the latter twice at most. After
    that, and where the model gives no answer, ``fallback`` segments and a `DegradedWarning` names the cause. Where
    nothing that was said about three windows in a row can be used, it segments the rest of the session.

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
            raise InvalidInput(f"max_turns must be 2 or more and max_tokens 100 or more, got {given}")

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
        window = _Window(turns, self.max_turns, room(self.model, self.max_tokens))
        broken_off = unusable = 0  # replies in a row, of which nothing is whole; windows in a row
        with advancing(len(turns), "Segmenting", "turn", visible=self.progress) as advance:
            while window.begin_next():
                try:
                    found = yield from self._window(window.texts)
                except (ContextTooLong, CutOff) as error:
                    broken_off = broken_off + 1 if isinstance(error, CutOff) else broken_off
                    if broken_off < _BROKEN_OFF and window.halve():
                        continue
                    found = yield from self._instead(window, error, strict)
                except ModelError as error:
                    later = answered and isinstance(error, ModelUnavailable)
                    unusable += 1
                    if unusable == _UNUSABLE:
                        window.stop = len(turns)
                    found = yield from self._instead(window, error, strict or later)
                else:
                    broken_off = unusable = 0
                advance(window.take(found))
        return segments_from((start - 1 for start in window.starts), len(turns))

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
        """The segments of a window, or its first ones, where the reply goes no further."""
        if len(texts) == 1:
            return [Segment(0, 1)]
        ask = partial(segmentation_prompt, texts, guidance=self.guidance, examples=self.examples)
        try:
            return (yield from asked_twice(ask, partial(read_segmentation, count=len(texts)), in_pieces=True))
        except CutOff as error:
            if not error.kept:
                raise
            return cast("list[Segment]", error.kept)

    def _instead(self, window: _Window, error: ModelError, strict: bool) -> Procedure[list[Segment]]:
        """The segments of a window for which there is no reply that can be used."""
        if strict:
            raise error
        # A model that gives no answer, or repeats itself up to its limit, is not left to do so again for each window.
        if not isinstance(error, BadReply) or isinstance(error, CutOff):
            window.stop = len(window.turns)
        return (yield from self._local(window.turns[window.begin : window.stop], error))

    def _local(self, turns: Sequence[Turn], error: ModelError) -> Procedure[list[Segment]]:
        name = type(self.fallback).__name__
        warn_degraded(f"the language model did not segment {len(turns)} turns, {name} did instead", error)
        return check_partition((yield partial(self.fallback.segment, turns)), len(turns))

    def _sync_model(self) -> ChatModel:
        if isinstance(self.model, ChatModel):
            return self.model
        raise InvalidInput(f"{type(self.model).__name__} has no complete(), which segment() needs")


@dataclass(slots=True)
class _Window:
    """The turns that the model is shown at once, as they move over a session.

    Args:
        turns: the session.
        max_turns: the most turns in a window.
        max_tokens: the most tokens.
        begin: the first turn of the window.
        stop: the turn after its last.
        done: how many turns were in a window before.
        starts: where segments begin, so far.
    """

    turns: Sequence[Turn]
    max_turns: int
    max_tokens: int
    begin: int = 0
    stop: int = 0
    done: int = 0
    starts: set[int] = field(default_factory=lambda: {0})
    _texts: Sequence[str] = field(init=False)
    _totals: Sequence[int] = field(init=False)

    def __post_init__(self) -> None:
        self._texts = window_texts(self.turns, self.max_tokens)
        self._totals = _totals(self._texts)

    @property
    def texts(self) -> Sequence[str]:
        """What is shown."""
        return self._texts[self.begin : self.stop]

    def begin_next(self) -> bool:
        """Move on to the turns that are not done, where there are any: from the segment that is open, if it fits."""
        if self.done == len(self.turns):
            return False
        self.begin = self.done and max(*self.starts, _back(self._totals, self.done, self.max_turns // 2, self._half))
        self.stop = _reach(self._totals, self.begin, self.done + 1, self.max_turns, self.max_tokens)
        return True

    @property
    def _half(self) -> int:
        return self.max_tokens // 2

    def take(self, found: Sequence[Segment]) -> int:
        """Add the segments of the window, or its first ones; how many turns more are done.

        The first segment goes on with what is open, or begins where the window before it said.
        """
        self.starts.update(self.begin + segment.start for segment in found[1:])
        before, self.done = self.done, self.begin + found[-1].stop
        if self.done < self.stop:
            self.starts.add(self.done)
        return self.done - before

    def halve(self) -> bool:
        """Make this window and all later ones half as large; whether there is room to."""
        if self.stop - self.begin <= _LEAST_TURNS:
            return False
        self.max_tokens = max(100, (self._totals[self.stop] - self._totals[self.begin]) // 2)
        self.max_turns = max(_LEAST_TURNS, (self.stop - self.begin) // 2)
        self.__post_init__()
        return True


def _totals(texts: Sequence[str]) -> list[int]:
    """How many tokens stand before each turn in the prompt, and how many there are."""
    return [0, *accumulate(count_tokens(text) + MARKER_TOKENS for text in texts)]


def _reach(totals: Sequence[int], begin: int, least: int, turns: int, tokens: int) -> int:
    """Where a window from ``begin`` ends: inside the limits, but not before ``least``, so that windows advance."""
    return max(least, min(begin + turns, bisect_right(totals, totals[begin] + tokens) - 1))


def _back(totals: Sequence[int], stop: int, turns: int, tokens: int) -> int:
    """Where the longest run inside the limits that ends at ``stop`` begins; it has at least one turn."""
    return min(stop - 1, max(stop - turns, bisect_left(totals, totals[stop] - tokens)))
