"""A running summary of all sessions, brought up to date when one ends: RSum (Wang et al., 2023).

``M_i = LLM(S_i, M_{i-1})`` (equation 2, Algorithm 1) is `Summarizer.procedure`; ``r_t = LLM(C_t, M_N)`` (equation 3)
is `Summarizer.response_procedure`. `SummaryLayer` keeps the versions in a bank.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Final, TypeVar

from .analysis import count_tokens, sentences, terms
from .conversation import Scope, Turn
from .coverage import covering
from .errors import BadReply, DegradedWarning, InvalidInput, ModelError
from .evaluation.retention import lost_sentences
from .flow import AsyncChatModel, ChatModel, Procedure, Prompt, arun, run
from .memory import Summary
from .prompts.summary import read_summary, response_prompt, summary_prompt
from .protocols import Statistics, TokenCounter
from .reflection_layers import ClosedSession
from .stores.sql import SqlStore
from .stores.summaries import LAYER, VersionRow, drop, mark, save, state, text_of, versions, with_turns

__all__ = ["Summarizer", "SummaryLayer"]

T = TypeVar("T")

_ASKING: Final = frozenset({"user", "human"})
_HELD: Final = 200
"""How many other scopes' versions are held ready."""
_SHOWN_LOST: Final = 5
"""How many dropped sentences a complaint names."""


@dataclass(frozen=True, slots=True, eq=False)
class Summarizer:
    """Brings a summary up to date with a session: by a language model, or by extraction where there is none.

    A reply is checked: it has sentences, at most ``limit`` of them, shares words with what it was made from, and drops
    no more than ``keep`` allows. A bad one is asked for once more, with what was wrong. One that is too long then is
    cut to the most informative ``limit`` sentences, with a `DegradedWarning`. A session longer than one call is folded
    in parts, each on the summary that the part before it gave.

    Without a model, the summary is made of sentences of the session and of the previous summary, word for word: those
    that cover most (`secom_core.coverage`), within the same limits.

    Args:
        model: the language model, or none; `update` and `respond` need its sync side.
        limit: the most sentences; 20 in the paper (Table 1).
        max_tokens: the most tokens of conversation in one call. The previous summary (at most ``summary_tokens``), the
            examples and about 300 tokens of instructions come on top.
        summary_tokens: the most tokens of a summary.
        keep: the share of the previous summary's sentences that an update has to keep, by words
            (`secom_core.evaluation.retention`); 0, the paper's, lets it drop any.
        examples: updates to learn from, as `secom_core.prompts.summary.summary_example` writes them.
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
            _degraded(len(turns), error)
            return self.extracted(turns, previous, statistics)

    async def aupdate(self, turns: Sequence[Turn], previous: str = "", *, statistics: Statistics | None = None) -> str:
        """As `update`, without blocking the event loop while the model thinks."""
        if self.model is None:
            return await asyncio.to_thread(self.extracted, turns, previous, statistics)
        try:
            return await self._drive(self.procedure(turns, previous))
        except ModelError as error:
            _degraded(len(turns), error)
            return await asyncio.to_thread(self.extracted, turns, previous, statistics)

    def procedure(self, turns: Sequence[Turn], previous: str = "") -> Procedure[str]:
        """The questions that bring ``previous`` up to date, for `secom_core.flow`; raises `ModelError` if they fail."""
        parts = list(self._parts(turns))
        for number, part in enumerate(parts, start=1):
            place = (number, len(parts)) if len(parts) > 1 else None
            ask = partial(summary_prompt, part, previous, limit=self.limit, part=place, examples=self.examples)
            previous = "\n".join((yield from self._asked(ask, part, previous)))
        return previous

    def extracted(self, turns: Sequence[Turn], previous: str = "", statistics: Statistics | None = None) -> str:
        """The summary after a session, of sentences that were said or stood in the previous summary."""
        said = [line for turn in turns for line in _stated(turn)]
        found = list(dict.fromkeys([*sentences(previous), *said]))
        return "\n".join(self._most_informative(found, statistics))

    def _asked(self, ask: Callable[..., Prompt], part: str, previous: str) -> Procedure[list[str]]:
        """Ask, and once more where the reply cannot be used; one that is only too long is better than none."""
        try:
            found = yield from self._told(ask(complaint=None), part, previous)
        except BadReply as error:
            found = yield from self._told(ask(complaint=error.reason), part, previous)
            return self._cut(found) if self._too_long(found) else found
        if not (complaint := self._too_long(found)):
            return found
        try:
            shorter = yield from self._told(ask(complaint=complaint), part, previous)
        except ModelError:
            shorter = found
        return self._cut(shorter) if self._too_long(shorter) else shorter

    def _told(self, prompt: Prompt, part: str, previous: str) -> Procedure[list[str]]:
        found = read_summary((yield prompt))
        self._check(found, part, previous)
        return found

    def _check(self, found: Sequence[str], part: str, previous: str) -> None:
        text = "\n".join(found)
        known, said = {*terms(part), *terms(previous)}, set(terms(text))
        if known and said and known.isdisjoint(said):
            raise BadReply("the memory has not one word in common with the old memory and the session", text)
        lost = lost_sentences(previous, text) if self.keep else []
        if lost and 1 - len(lost) / len(sentences(previous)) < self.keep:
            named = " | ".join(lost[:_SHOWN_LOST])
            raise BadReply(
                f"the memory drops {len(lost)} sentences of the old memory that may still hold: {named}", text
            )

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
        warnings.warn(
            f"the language model wrote a summary of {len(found)} sentences and no shorter one when asked; the "
            f"{len(kept)} most informative of them were kept (limit: {self.limit} sentences, "
            f"{self.summary_tokens} tokens)",
            DegradedWarning,
            stacklevel=2,
        )
        return kept

    def _most_informative(self, found: Sequence[str], statistics: Statistics | None) -> list[str]:
        places = covering(
            found, self.limit, tokens=self.summary_tokens, statistics=statistics, counter=self.token_counter
        )
        return [found[place] for place in places]

    def _parts(self, turns: Sequence[Turn]) -> Iterator[str]:
        """The session's text in pieces that fit one call, cut between turns where that is possible."""
        held: list[str] = []
        room = self.max_tokens
        for line in _dated_lines(turns):
            for piece in _pieces(line, self.max_tokens, self.token_counter):
                size = self.token_counter(piece)
                if held and size > room:
                    yield "\n".join(held)
                    held, room = [], self.max_tokens
                held.append(piece)
                room -= size
        if held:
            yield "\n".join(held)

    # -- r_t = LLM(C_t, M_N) --------------------------------------------------------------------------------------

    def response_procedure(
        self, current: str, memory: str, *, speaker: str = "the assistant", retrieved: str = ""
    ) -> Procedure[str]:
        """The question for a reply from the latest summary and the current session, for `secom_core.flow`.

        Args:
            current: the current session so far, with speakers.
            memory: the latest summary; empty where there is none.
            speaker: who replies.
            retrieved: what a search of earlier sessions brought back, such as `Recall.text` (Tables 8 and 14).
        """
        reply: str = yield response_prompt(
            current, memory, speaker=speaker, retrieved=retrieved, examples=self.response_examples
        )
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

    async def _drive(self, procedure: Procedure[T]) -> T:
        if isinstance(self.model, AsyncChatModel):
            return await arun(procedure, self.model)
        return await asyncio.to_thread(run, procedure, self.sync_model())


def _degraded(turns: int, error: ModelError) -> None:
    warnings.warn(
        f"the language model did not summarise {turns} turns, the sentences that cover most of them were taken "
        f"instead: {error}",
        DegradedWarning,
        stacklevel=3,
    )


def _dated_lines(turns: Sequence[Turn]) -> Iterator[str]:
    """What was said, a line a message, after a line with the date where it changes: it explains "yesterday"."""
    day = ""
    for turn in turns:
        said = f"{turn.at:%Y-%m-%d %a}" if turn.at else ""
        if said and said != day:
            day = said
            yield f"({day})"
        yield from (message.line for message in turn.messages)


def _stated(turn: Turn) -> Iterator[str]:
    """The turn's sentences, each with its speaker and date, to be understood by itself.

    Questions are left out, and what an assistant answers to a user: it is the user that the memory is about.
    """
    day = f"{turn.at:%Y-%m-%d}" if turn.at else ""
    asked = any(message.role in _ASKING for message in turn.messages)
    for message in turn.messages:
        if asked and message.role not in _ASKING:
            continue
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


# -- in a bank ------------------------------------------------------------------------------------------------------


class SummaryLayer:
    """Keeps a scope's summary, a version a closed session, each made from the one before it.

    A session that goes on after it was taken in is taken in again, and so are those after it: no version may rest on
    what is not there any more. Where the model gives no answer, or twice an unusable one, the version is extracted and
    provisional: what was said is there at once, and the model is asked again when the next session closes. Sessions
    that close meanwhile are extracted without asking. A session whose second attempt ends in another unusable reply
    keeps its extract, so that one session cannot hold up the others for good.

    Args:
        store: where the versions are.
        summarizer: makes them.
        statistics: the term statistics of a scope, where they are at hand.
    """

    def __init__(
        self, store: SqlStore, summarizer: Summarizer, statistics: Callable[[Scope], Statistics | None]
    ) -> None:
        self._store = store
        self._summarizer = summarizer
        self._statistics = statistics
        self._held: dict[int, tuple[tuple[int, ...], tuple[Summary, ...]]] = {}

    @property
    def name(self) -> str:
        """``"summary"``."""
        return LAYER

    def reflect(self, session: ClosedSession) -> bool:
        """Make the version of the session and save it; whether it was saved."""
        chain = versions(self._store, session.row.scope_id, texts=False)
        place = next((place for place, row in enumerate(chain) if row.session_id == session.row.id), len(chain))
        before, replaces = chain[:place], chain[place:]
        awaited = any(row.taken == 0 for row in before)
        if self._summarizer.model is None or awaited:
            # A model that has just failed is not left to time out again for each session.
            if awaited and replaces:
                return True
            return self._extract(session, before, replaces, final=not awaited)
        return self._ask(session, before, replaces)

    def begin_again(self, scope_id: int) -> None:
        """Drop every version of the scope."""
        drop(self._store, scope_id)

    def versions(self, scope_id: int) -> tuple[Summary, ...]:
        """All versions, the oldest first."""
        now = state(self._store, scope_id)
        held, found = self._held.get(scope_id, ((), ()))
        if held != now:
            found = self._read(scope_id)
            # A recall wants them with every turn, and they change with a session.
            self._held = {**dict(list(self._held.items())[-_HELD:]), scope_id: (now, found)}
        return found

    def _read(self, scope_id: int) -> tuple[Summary, ...]:
        found: list[Summary] = []
        for row, turn_ids in with_turns(self._store, versions(self._store, scope_id)):
            previous = found[-1] if found else None
            found.append(Summary(len(found) + 1, row.text, row.session, turn_ids, previous, not row.taken))
        return tuple(found)

    def _text(self, before: Sequence[VersionRow]) -> str:
        return (text_of(self._store, before[-1].id) or "") if before else ""

    def _ask(self, session: ClosedSession, before: Sequence[VersionRow], replaces: Sequence[VersionRow]) -> bool:
        procedure = self._summarizer.procedure(session.turns, self._text(before))
        try:
            text = run(procedure, self._summarizer.sync_model())
        except ModelError as error:
            _degraded(len(session.turns), error)
            if not (replaces and replaces[0].taken == 0):
                return self._extract(session, before, replaces, final=False)
            return mark(self._store, session.row, session.taken) if isinstance(error, BadReply) else True
        return self._save(session, text, before, replaces, final=True)

    def _extract(
        self, session: ClosedSession, before: Sequence[VersionRow], replaces: Sequence[VersionRow], *, final: bool
    ) -> bool:
        text = self._summarizer.extracted(session.turns, self._text(before), self._statistics(session.scope))
        return self._save(session, text, before, replaces, final=final)

    def _save(
        self,
        session: ClosedSession,
        text: str,
        before: Sequence[VersionRow],
        replaces: Sequence[VersionRow],
        *,
        final: bool,
    ) -> bool:
        previous = before[-1].id if before else None
        return save(self._store, session.row, session.taken, text, previous=previous, replaces=replaces, final=final)
