"""Brings a running summary up to date with a session: RSum (Wang et al., 2023)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Final

from ..conversation import Turn
from ..derived.coverage import covering
from ..errors import BadReply, InvalidInput, ModelError, warn_degraded
from ..llm.flow import AsyncChatModel, ChatModel, Procedure, arun, run
from ..llm.retry import Ask, asked_twice
from ..llm.windows import packed
from ..protocols import Statistics, TokenCounter
from ..text.terms import count_tokens, sentences, terms
from .prompts import read_summary, response_prompt, summary_prompt
from .retention import lost_sentences

_ASKING: Final = frozenset({"user", "human"})

_LOST_NAMED: Final = 5  # how many dropped sentences a complaint names


@dataclass(frozen=True, slots=True, eq=False)
class Summarizer:
    """Brings a summary up to date with a session: by a language model, or by extraction where there is none.

    A reply is checked: it has sentences, at most ``limit`` of them, shares words with what it was made from, and drops
    no more than ``keep`` allows. A bad one is asked for once more, with what was wrong. One that is too long then is
    cut to the most informative ``limit`` sentences, with a `DegradedWarning`. A session longer than one call is folded
    in parts, each on the summary that the part before it gave.

    Without a model, the summary is made of sentences of the session and of the previous summary, word for word: those
    that cover most (`secom_core.derived.coverage`), within the same limits.

    Args:
        model: the language model, or none; `update` and `respond` need its sync side.
        limit: the most sentences; 20 in the paper (Table 1).
        max_tokens: the most tokens of conversation in one call. The previous summary (at most ``summary_tokens``), the
            examples and about 300 tokens of instructions come on top.
        summary_tokens: the most tokens of a summary.
        keep: the share of the previous summary's sentences that an update has to keep, by words
            (`secom_core.summaries.retention`); 0, the paper's, lets it drop any.
        examples: updates to learn from, as `secom_core.summaries.prompts.summary_example` writes them.
        response_examples: replies to learn from (Tables 7 and 15), as `response_example` there writes them.
        token_counter: counts the tokens; an estimate unless given.

    Raises:
        InvalidInput: for a limit below 1, a budget under 100 tokens, or a share out of range.
    """

    model: ChatModel | AsyncChatModel | None = None
    _: KW_ONLY
    limit: int = 20
    max_tokens: int = 4_000
    summary_tokens: int = 1_000
    keep: float = 0.0
    examples: Sequence[str] = ()
    response_examples: Sequence[str] = ()
    token_counter: TokenCounter = count_tokens

    def __post_init__(self) -> None:
        if self.limit < 1 or self.max_tokens < 100 or self.summary_tokens < 100 or not 0 <= self.keep <= 1:
            raise InvalidInput(
                "a summary has at least 1 sentence, a call and a summary 100 tokens, and keep is a share; got "
                f"limit={self.limit}, max_tokens={self.max_tokens}, summary_tokens={self.summary_tokens}, "
                f"keep={self.keep}"
            )

    # -- M_i = LLM(S_i, M_{i-1}) ----------------------------------------------------------------------------------

    def update(self, turns: Sequence[Turn], previous: str = "", *, statistics: Statistics | None = None) -> str:
        """The summary after a session, a line a sentence.

        Args:
            turns: the session.
            previous: the summary before it; empty where there is none.
            statistics: how common terms are in the scope, for the extraction.

        Warns:
            DegradedWarning: where the model failed and the sentences were extracted instead; names the cause.
        """
        if self.model is None:
            return self.extracted(turns, previous, statistics)
        try:
            return run(self.procedure(turns, previous), self.sync_model())
        except ModelError as error:
            degraded(len(turns), error)
            return self.extracted(turns, previous, statistics)

    async def aupdate(self, turns: Sequence[Turn], previous: str = "", *, statistics: Statistics | None = None) -> str:
        """As `update`, without blocking the event loop while the model thinks."""
        if self.model is None:
            return await asyncio.to_thread(self.extracted, turns, previous, statistics)
        model = self.model if isinstance(self.model, AsyncChatModel) else self.sync_model()
        try:
            return await arun(self.procedure(turns, previous), model)
        except ModelError as error:
            degraded(len(turns), error)
            return await asyncio.to_thread(self.extracted, turns, previous, statistics)

    def procedure(self, turns: Sequence[Turn], previous: str = "") -> Procedure[str]:
        """The questions that bring ``previous`` up to date, for `secom_core.llm.flow`; raises `ModelError`."""
        parts = list(self._parts(turns))
        for number, part in enumerate(parts, start=1):
            place = (number, len(parts)) if len(parts) > 1 else None
            ask = partial(summary_prompt, part, previous, limit=self.limit, part=place, examples=self.examples)
            previous = "\n".join((yield from self._folded(ask, part, previous)))
        return previous

    def extracted(self, turns: Sequence[Turn], previous: str = "", statistics: Statistics | None = None) -> str:
        """The summary after a session, of sentences that were said or stood in the previous summary."""
        stated = [sentence for turn in turns for sentence in _stated(turn)]
        found = list(dict.fromkeys([*sentences(previous), *stated]))
        return "\n".join(self._most_informative(found, statistics))

    def _folded(self, ask: Ask, part: str, previous: str) -> Procedure[list[str]]:
        """Ask, and once more where the reply cannot be used; one that is only too long is better than none."""
        too_long: list[list[str]] = []

        def read(reply: str) -> list[str]:
            found = read_summary(reply)
            self._check(found, part, previous)
            if complaint := self._too_long(found):
                too_long.append(found)
                raise BadReply(complaint, reply)
            return found

        try:
            return (yield from asked_twice(ask, read))
        except ModelError:
            if not too_long:
                raise
        return self._cut(too_long[-1])

    def _check(self, found: Sequence[str], part: str, previous: str) -> None:
        text = "\n".join(found)
        sources, stated = {*terms(part), *terms(previous)}, set(terms(text))
        if sources and stated and sources.isdisjoint(stated):
            raise BadReply("the memory has not one word in common with the old memory and the session", text)
        lost = lost_sentences(previous, text) if self.keep else []
        if lost and 1 - len(lost) / len(sentences(previous)) < self.keep:
            named = " | ".join(lost[:_LOST_NAMED])
            reason = f"the memory drops {len(lost)} sentences of the old memory that may still hold: {named}"
            raise BadReply(reason, text)

    def _too_long(self, found: Sequence[str]) -> str:
        if len(found) > self.limit:
            return f"the memory has {len(found)} sentences, at most {self.limit} are wanted"
        size = self.token_counter("\n".join(found))
        over = size > self.summary_tokens
        return f"the memory has about {size} tokens, at most {self.summary_tokens} fit" if over else ""

    def _cut(self, found: Sequence[str]) -> list[str]:
        kept = self._most_informative(found, None)
        if not kept:
            raise BadReply(f"no sentence of the memory fits into {self.summary_tokens} tokens", "\n".join(found))
        warn_degraded(
            f"the language model wrote a summary of {len(found)} sentences and no shorter one when asked; the "
            f"{len(kept)} most informative of them were kept (limit: {self.limit} sentences, "
            f"{self.summary_tokens} tokens)"
        )
        return kept

    def _most_informative(self, found: Sequence[str], statistics: Statistics | None) -> list[str]:
        places = covering(
            found, self.limit, tokens=self.summary_tokens, statistics=statistics, counter=self.token_counter
        )
        return [found[place] for place in places]

    def _parts(self, turns: Sequence[Turn]) -> Iterator[str]:
        """The session's text in pieces that fit one call, cut between turns where that is possible."""
        lines = _dated_lines(turns)
        pieces = [piece for line in lines for piece in _pieces(line, self.max_tokens, self.token_counter)]
        return map("\n".join, packed(pieces, self.token_counter, self.max_tokens))

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


def _dated_lines(turns: Sequence[Turn]) -> Iterator[str]:
    """What was said, a line a message, after a line with the date where it changes: it explains "yesterday"."""
    day = ""
    for turn in turns:
        today = f"{turn.at:%Y-%m-%d %a}" if turn.at else day
        if today != day:
            day = today
            yield f"({day})"
        yield from (message.line for message in turn.messages)


def _stated(turn: Turn) -> Iterator[str]:
    """The turn's sentences, each with its speaker and date, to be understood by itself.

    Questions are left out, and what an assistant answers to a user: it is the user that the memory is about.
    """
    day = f"{turn.at:%Y-%m-%d}" if turn.at else ""
    of_user = [message for message in turn.messages if message.role in _ASKING]
    for message in of_user or turn.messages:
        head = " ".join(filter(None, (day, message.label)))
        for sentence in sentences(message.text):
            if not sentence.rstrip("\"'”’)]」』 ").endswith(("?", "？", "؟")):
                yield f"{head}: {sentence}" if head else sentence


def _pieces(text: str, limit: int, counter: TokenCounter) -> Iterator[str]:
    """The text whole where it fits, else in halves of it that do, cut at white space where there is any."""
    if counter(text) <= limit or len(text) < 2:
        yield text
        return
    middle = text.rfind(" ", len(text) // 4, len(text) // 2 + 1) + 1 or len(text) // 2
    yield from _pieces(text[:middle], limit, counter)
    yield from _pieces(text[middle:], limit, counter)
