"""Brings a running summary up to date with a session: RSum (Wang et al., 2023)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import zip_longest
from typing import Final, TypeAlias

from ..conversation import Turn
from ..errors import ContextTooLong, InvalidInput, ModelError, warn_degraded
from ..llm.flow import AsyncChatModel, ChatModel, Procedure, arun, run
from ..llm.limits import room
from ..llm.windows import packed
from ..protocols import Statistics, TokenCounter
from ..text.terms import count_tokens
from .extraction import extracted
from .prompts import response_prompt, summary_prompt
from .updating import Update

_LEAST: Final = 100
"""How many tokens of conversation a call has room for, at least."""

_AROUND: Final = 200
"""How many tokens of a reply may stand around a summary; without an end, a small model repeats itself for minutes."""

_Piece: TypeAlias = tuple[str, int]
"""Some of what was said, and the place of its turn in the session."""


@dataclass(frozen=True, slots=True)
class Folded:
    """How far a session was taken into a summary.

    Args:
        text: the summary, a line a sentence.
        turns: how many of the session's turns, from the first, are in it.
        error: why the others are not; nothing where all are.
    """

    text: str
    turns: int
    error: ModelError | None = None


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of a session that fits one call.

    Args:
        pieces: what was said, with dates.
        turns: the turns that are in it, wholly or in part.
        done: how many turns of the session end with it or before it.
    """

    pieces: Sequence[_Piece]
    turns: tuple[Turn, ...]
    done: int

    @property
    def text(self) -> str:
        """What was said, a line a piece."""
        return "\n".join(piece for piece, _ in self.pieces)


@dataclass(frozen=True, slots=True, eq=False)
class Summarizer:
    """Brings a summary up to date with a session: by a language model, or by extraction where there is none.

    A reply is checked: it has sentences, at most ``limit`` of them, and shares words with what it was made from. A bad
    one is asked for once more, with what was wrong. One that is too long then is cut to ``limit`` sentences, those on
    the session first and then the most informative, with a `DegradedWarning`. One that was cut off at the model's own
    limit is asked to go on; if it does not, what is whole of it is kept with the rest of the previous summary. ``none``
    is a right answer to a session that tells nothing. A session longer than one call is folded in parts, each on the
    summary that the part before it gave; where one fails, those before it stand. What is too long for the model is
    folded in parts of half the length.

    Each statement of the previous summary that the new one lacks is kept as it was, if there is room beside what the
    model wrote and unless the model shows, in one further question, what took its place. It is asked about nothing
    where none is missing (`secom_core.summaries.retention`) or there is no room. Missing details are the paper's most
    frequent error (section 6.4, Table 6); its own answer is to accept it.

    Without a model, the summary is made of sentences of the session and of the previous summary, word for word: those
    that cover most, with a share for the old and the new and for every speaker (`secom_core.summaries.extraction`),
    within the same limits.

    Args:
        model: the language model, or none; `update` and `respond` need its sync side.
        limit: the most sentences; 20 in the paper (Table 1).
        max_tokens: the most tokens of conversation in one call. The previous summary (at most ``summary_tokens``), the
            examples and about 300 tokens of instructions come on top.
        summary_tokens: the most tokens of a summary.
        retain: keep what an update drops without a reason; without it, the paper's, an update may drop anything.
        examples: updates to learn from, as `secom_core.summaries.prompts.summary_example` writes them.
        response_examples: replies to learn from (Tables 7 and 15), as `response_example` there writes them.
        token_counter: counts the tokens; an estimate unless given.

    Raises:
        InvalidInput: for a limit below 1, or a budget under 100 tokens.
    """

    model: ChatModel | AsyncChatModel | None = None
    _: KW_ONLY
    limit: int = 20
    max_tokens: int = 4_000
    summary_tokens: int = 1_000
    retain: bool = True
    examples: Sequence[str] = ()
    response_examples: Sequence[str] = ()
    token_counter: TokenCounter = count_tokens

    def __post_init__(self) -> None:
        if self.limit < 1 or self.max_tokens < 100 or self.summary_tokens < 100:
            raise InvalidInput(
                f"a summary has at least 1 sentence, a call and a summary 100 tokens; got limit={self.limit}, "
                f"max_tokens={self.max_tokens}, summary_tokens={self.summary_tokens}"
            )

    # -- M_i = LLM(S_i, M_{i-1}) ----------------------------------------------------------------------------------

    def update(self, turns: Sequence[Turn], previous: str = "", *, statistics: Statistics | None = None) -> str:
        """The summary after a session, a line a sentence.

        Args:
            turns: the session.
            previous: the summary before it; empty where there is none.
            statistics: how common terms are in the scope, for the extraction.

        Warns:
            DegradedWarning: where the model failed and sentences of what it did not take in were extracted instead;
                names the cause.
        """
        if self.model is None:
            return self.extracted(turns, previous, statistics)
        return self._finished(run(self.procedure(turns, previous), self.sync_model()), turns, statistics)

    async def aupdate(self, turns: Sequence[Turn], previous: str = "", *, statistics: Statistics | None = None) -> str:
        """As `update`, without blocking the event loop while the model thinks."""
        if self.model is None:
            return await asyncio.to_thread(self.extracted, turns, previous, statistics)
        model = self.model if isinstance(self.model, AsyncChatModel) else self.sync_model()
        folded = await arun(self.procedure(turns, previous), model)
        return await asyncio.to_thread(self._finished, folded, turns, statistics)

    def _finished(self, folded: Folded, turns: Sequence[Turn], statistics: Statistics | None) -> str:
        """What was folded, with sentences of the turns that were not."""
        if folded.error is None:
            return folded.text
        left = turns[folded.turns :]
        degraded(len(left), folded.error)
        return self.extracted(left, folded.text, statistics)

    def procedure(self, turns: Sequence[Turn], previous: str = "") -> Procedure[Folded]:
        """The questions that bring ``previous`` up to date, for `secom_core.llm.flow`; ends where one fails."""
        done, number = 0, 0
        tokens = room(self.model, self.max_tokens)
        parts = list(self._parts(turns, _dated_lines(turns), tokens))
        while number < len(parts):
            part = parts[number]
            place = (number + 1, len(parts)) if len(parts) > 1 else None
            ask = partial(summary_prompt, part.text, previous, limit=self.limit, part=place, examples=self.examples)
            ask = partial(ask, max_tokens=self.summary_tokens + _AROUND)
            update = Update(
                *(ask, part.text, part.turns, previous),
                *(self.limit, self.summary_tokens, self.token_counter, self.retain),
            )
            try:
                previous = "\n".join((yield from update.procedure()))
            except ModelError as error:
                size = self.token_counter(part.text)
                if not isinstance(error, ContextTooLong) or size <= _LEAST:
                    return Folded(previous, done, error)
                left = [piece for each in parts[number:] for piece in each.pieces]
                parts[number:] = self._parts(turns, left, max(_LEAST, size // 2))
                continue
            done, number = part.done, number + 1
        return Folded(previous, len(turns))

    def extracted(self, turns: Sequence[Turn], previous: str = "", statistics: Statistics | None = None) -> str:
        """The summary after a session, of sentences that were said or stood in the previous summary."""
        found = extracted(
            turns,
            previous,
            self.limit,
            tokens=self.summary_tokens,
            statistics=statistics,
            counter=self.token_counter,
        )
        return "\n".join(found)

    def _parts(self, turns: Sequence[Turn], said: Iterable[_Piece], tokens: int) -> Iterator[_Part]:
        """What was said in the session in pieces that fit one call, cut between turns where that is possible."""
        pieces = [(piece, place) for line, place in said for piece in _pieces(line, tokens, self.token_counter)]
        runs = list(packed(pieces, lambda piece: self.token_counter(piece[0]), tokens))
        for part, following in zip_longest(runs, runs[1:]):
            first, last = part[0][1], part[-1][1]
            is_cut = following is not None and following[0][1] == last
            yield _Part(part, tuple(turns[first : last + 1]), last + (not is_cut))

    # -- r_t = LLM(C_t, M_N) --------------------------------------------------------------------------------------

    def response_procedure(
        self, current: str, memory: str, *, speaker: str = "the assistant", retrieved: str = ""
    ) -> Procedure[str]:
        """The question for a reply from the latest summary and the current session, for `secom_core.llm.flow`.

        Args:
            current: the current session so far, with speakers.
            memory: the latest summary; empty where there is none.
            speaker: who replies.
            retrieved: what a search of earlier sessions brought back, such as `Recall.text` (Tables 8 and 14).
        """
        examples = self.response_examples
        reply: str = yield response_prompt(current, memory, speaker=speaker, retrieved=retrieved, examples=examples)
        return reply.strip()

    # -- the model ------------------------------------------------------------------------------------------------

    def sync_model(self) -> ChatModel:
        """The model's sync side.

        Raises:
            InvalidInput: where it has none.
        """
        if isinstance(self.model, ChatModel):
            return self.model
        raise InvalidInput(f"{type(self.model).__name__} has no complete(); use aupdate with it")


def degraded(turns: int, error: ModelError) -> None:
    """Warn that sentences were extracted in place of a model's summary."""
    what = (
        f"the language model did not summarise {turns} turns, the sentences that cover most of them were taken instead"
    )
    warn_degraded(what, error)


def _dated_lines(turns: Sequence[Turn]) -> Iterator[_Piece]:
    """A line a message with the place of its turn, after one with the date where it changes: that says "yesterday"."""
    day = ""
    for place, turn in enumerate(turns):
        said = [message.line for message in turn.messages if message.text.strip()]
        today = f"{turn.at:%Y-%m-%d %a}" if turn.at else day
        if said and today != day:
            day = today
            yield f"({day})", place
        yield from ((line, place) for line in said)


def _pieces(text: str, limit: int, counter: TokenCounter) -> Iterator[str]:
    """The text whole where it fits, else in halves of it that do, cut at white space where there is any."""
    if counter(text) <= limit or len(text) < 2:
        yield text
        return
    middle = text.rfind(" ", len(text) // 4, len(text) // 2 + 1) + 1 or len(text) // 2
    yield from _pieces(text[:middle], limit, counter)
    yield from _pieces(text[middle:], limit, counter)
