"""One call's worth of a session taken into a summary: asked for, read, checked, and compared with what it replaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias

from ..conversation import Turn
from ..derived.coverage import covering
from ..errors import BadReply, ModelError, warn_degraded
from ..llm.flow import Procedure, Prompt
from ..llm.quoting import shortened
from ..llm.retry import Ask
from ..protocols import TokenCounter
from ..text.non_answers import is_refusal
from .extraction import balanced, prose, stated
from .grounding import Sources
from .prompts import continued_prompt, retention_prompt
from .reading import WrittenMemory, read_summary, read_superseded
from .retention import lost_sentences, rewritten_sentences
from .statements import marks, tells

_CONTINUED: Final = 4  # how often a reply that was cut off is asked to go on
_FORGOTTEN: Final = 0.5  # more of a summary than this is not condensed by a reply that lacks it, but lost
_NAMED: Final = 5  # how many sentences a complaint names
_NAMED_TOKENS: Final = 40  # how much of each a complaint names

_Usable: TypeAlias = tuple[WrittenMemory, Sequence[str]]
"""What can be kept of a reply, and the statements that were left out."""


@dataclass(frozen=True)
class Update:
    """Brings a summary up to date with a part of a session.

    Args:
        ask: writes the question for the new memory.
        session: what was said, as it is asked about.
        turns: whose words these are.
        previous: the summary before it.
        limit: the most sentences.
        tokens: the most tokens.
        counter: counts them.
        retain: whether what the new memory lacks of the previous one is asked about and kept.
    """

    ask: Ask
    session: str
    turns: Sequence[Turn]
    previous: str
    limit: int
    tokens: int
    counter: TokenCounter
    retain: bool

    def procedure(self) -> Procedure[list[str]]:
        """The statements of the new summary, in order; raises `ModelError`."""
        memory = yield from self._written()
        if not memory.statements:
            return self.previous.splitlines()
        old = yield from self._retained(memory)
        new = [*memory.statements, *([] if memory.whole else self._unwritten(memory))]
        return self._fitted(old, new, memory)

    # -- what the model writes ------------------------------------------------------------------------------------

    def _written(self) -> Procedure[WrittenMemory]:
        """Ask, and once more where the reply cannot be used as it is; what can be kept of one is better than none."""
        usable: list[_Usable] = []
        try:
            return (yield from self._attempt(None, usable))
        except BadReply as error:
            complaint = error.reason
        try:
            return (yield from self._attempt(complaint, usable))
        except ModelError:
            if not usable:
                raise
        memory, strange = usable[-1]
        if strange:
            count = f"{len(strange)} statement{'s' * (len(strange) > 1)}"
            warn_degraded(f"{count} that neither the session nor the former summary says were left out")
        return memory

    def _attempt(self, complaint: str | None, usable: list[_Usable]) -> Procedure[WrittenMemory]:
        written = yield from _whole(self.ask(complaint=complaint))
        told = tuple(self._sources.told(written.statements))
        if written.statements and not told:
            raise BadReply("the memory in the reply tells nothing", "\n".join(written.statements))
        self._check(replace(written, statements=told), text := "\n".join(told))
        strange = self._sources.strange(told)
        memory = replace(written, statements=tuple(each for each in told if each not in strange))
        if told and not memory.statements:
            raise BadReply("the memory says nothing that the old memory or the session says", text)
        reasons = [self._too_long(memory.statements)]
        reasons += [f"neither the old memory nor the session says: {_named(strange)}"] if strange else []
        if reason := "; ".join(filter(None, reasons)):
            usable.append((memory, strange))
            raise BadReply(reason, text)
        return memory

    @cached_property
    def _sources(self) -> Sources:
        return Sources(self.turns, self.session, self.previous, self.ask(complaint=None).text)

    def _check(self, memory: WrittenMemory, text: str) -> None:
        is_old = set(memory.statements) <= set(self.previous.splitlines())
        if is_old and memory.whole and (news := self._news()):
            reason = f"the memory in the reply is empty or unchanged, but the session has news: {_named(news)}"
            raise BadReply(reason, text or "none")
        if memory.statements and is_refusal(memory.statements[0]):
            raise BadReply("the memory in the reply is a refusal; write down what the session says", text)
        if not self._sources.shares_words(text):
            raise BadReply("the memory has not one word in common with the old memory and the session", text)

    def _too_long(self, found: Sequence[str]) -> str:
        if len(found) > self.limit:
            return f"the memory has {len(found)} sentences, at most {self.limit} are wanted"
        size = self.counter("\n".join(found))
        over = size > self.tokens
        return f"the memory has about {size} tokens, at most {self.tokens} fit" if over else ""

    # -- what it leaves out ---------------------------------------------------------------------------------------

    @cached_property
    def _speakers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for turn in self.turns for name in turn.speakers))

    def _news(self) -> list[str]:
        """What the session tells, as far as can be told locally, and the previous summary does not hold."""
        known = {*marks(self.previous), *(part for name in self._speakers for part in name.casefold().split())}
        told = "\n".join(each for each in stated(self.turns, prose) if tells(each, known))
        return lost_sentences(told, self.previous, speakers=self._speakers)

    def _unwritten(self, memory: WrittenMemory) -> list[str]:
        """What the session tells and a memory that was cut off does not hold."""
        return lost_sentences("\n".join(self._news()), "\n".join(memory.statements), speakers=self._speakers)

    def _retained(self, memory: WrittenMemory) -> Procedure[list[str]]:
        """The statements of the previous summary that the new one lacks, and that still hold."""
        text = "\n".join(memory.statements)
        is_sound = memory.whole and not self._too_long(memory.statements)
        wanted = self.retain or not memory.whole
        gone = rewritten_sentences(self.previous, text, self.session) if wanted else []
        lost = lost_sentences(self.previous, text, speakers=self._speakers) if wanted else []
        lost = [each for each in lost if each not in gone]
        has_room = len(memory.statements) < self.limit or self._forgets(lost)
        if not lost or not is_sound or not has_room:
            return lost
        try:
            reply = yield retention_prompt(lost, text, self.session)
        except ModelError as error:
            warn_degraded(f"it is not known which of {len(lost)} old statements still hold, all were kept", error)
            return lost
        superseded = read_superseded(reply, lost, f"{self.session}\n{text}")
        return [each for place, each in enumerate(lost) if place not in superseded]

    def _fitted(self, old: list[str], new: list[str], memory: WrittenMemory) -> list[str]:
        found = [*old, *new]
        kept = found
        if self._too_long(found):
            is_sound = memory.whole and not self._too_long(new) and not self._forgets(old)
            kept = self._with_room_left(old, new) if is_sound else self._balanced(old, new, memory)
        if not kept:
            raise BadReply(f"no sentence of the memory fits into {self.tokens} tokens", "\n".join(found))
        if not memory.whole or len(kept) < len(found):
            warn_degraded(self._told(memory, found, kept))
        return kept

    def _forgets(self, lost: Sequence[str]) -> bool:
        """Whether so much of the previous summary is missing that the model has summed up the session alone."""
        return len(lost) > _FORGOTTEN * len(self.previous.splitlines())

    def _with_room_left(self, old: list[str], new: list[str]) -> list[str]:
        """The whole memory as the model wrote it, and as much of what it left out as there is room for."""
        room, left = self.limit - len(new), self.tokens - self.counter("\n".join(new))
        return [*(old[place] for place in covering(old, room, tokens=left, counter=self.counter)), *new]

    def _balanced(self, old: list[str], new: list[str], memory: WrittenMemory) -> list[str]:
        """What covers most, and what the model wrote of this session first."""
        written = (each for each in memory.statements if lost_sentences(each, self.previous, speakers=self._speakers))
        first = ((frozenset(written).__contains__, 1.0),)
        return balanced(old, new, self.limit, tokens=self.tokens, counter=self.counter, first=first)

    def _told(self, memory: WrittenMemory, found: list[str], kept: list[str]) -> str:
        """What a user should know of a summary that is not all that was wanted."""
        count = len(memory.statements)
        limits = f"(limit: {self.limit} sentences, {self.tokens} tokens)"
        if not memory.whole:
            return (
                f"the language model's summary was cut off after {count} sentences and did not go on; they were kept "
                f"with the rest of the former summary, {len(kept)} sentences in all {limits}"
            )
        if self._too_long(memory.statements):
            return (
                f"the language model wrote a summary of {count} sentences and no shorter one when asked; the "
                f"{len(kept)} most informative of them and of the former summary were kept {limits}"
            )
        left_out = [each for each in found if each not in set(kept)]
        return f"the summary has no room for {len(left_out)} statements of the former one {limits}"


def _named(sentences: Sequence[str]) -> str:
    """The first of some sentences, for a complaint."""
    return " | ".join(shortened(each, _NAMED_TOKENS) for each in sentences[:_NAMED])


def _whole(prompt: Prompt) -> Procedure[WrittenMemory]:
    """The memory in the reply; one that was cut off is asked to go on, as long as more comes."""
    memory = read_summary((yield prompt))
    for _ in range(_CONTINUED):
        if memory.whole:
            break
        try:
            more = read_summary((yield continued_prompt(prompt, memory.statements)), tagged=False)
        except ModelError:
            break
        added = [each for each in more.statements if each not in memory.statements]
        memory = WrittenMemory((*memory.statements, *added), more.whole)
        if not added:
            break
    return memory
