"""What is kept and what is found: segments, memories, hits, and what a recall brings back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import accumulate, groupby, pairwise
from typing import Any, Final, Literal

from .conversation import Message, Replacement, Scope, Turn, check_scope
from .errors import InvalidInput
from .filters import checked_filter
from .telemetry import Work
from .text.brief import brief
from .text.parts import followed, parts_of
from .text.passages import passage_spans

CUT: Final = "[…]"
"""Stands in an excerpt where words of the message are left out."""
GAP: Final = "…"
"""Stands where messages, or turns, between two that are shown are left out."""


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """A half-open range of turns ``[start, stop)`` in one session (SeCom eq. 1, with ``q_k = stop - 1``)."""

    start: int
    stop: int

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.stop:
            raise InvalidInput(f"a segment needs 0 <= start < stop, got [{self.start}, {self.stop})")

    def __len__(self) -> int:
        return self.stop - self.start


def check_partition(segments: Sequence[Segment], turns: int) -> list[Segment]:
    """Return ``segments`` as a list if they cover ``turns`` turns in order with no gap and no overlap.

    Raises:
        InvalidInput: naming the first place where they do not.
    """
    expected = 0
    for segment in segments:
        if segment.start != expected:
            raise InvalidInput(f"a segment should start at turn {expected}, got [{segment.start}, {segment.stop})")
        expected = segment.stop
    if expected != turns:
        raise InvalidInput(f"segments end at turn {expected}, the session has {turns}")
    return list(segments)


def segments_from(boundaries: Iterable[int], turns: int) -> list[Segment]:
    """Segments from the turns after which one ends; ``turns`` is the session's length.

    Args:
        boundaries: indices ``i`` such that a segment ends after turn ``i``; the last turn may be left out.
        turns: how many turns there are; none give no segments.
    """
    if turns <= 0:
        return []
    stops = sorted({int(b) + 1 for b in boundaries if 0 <= b < turns - 1} | {turns})
    return [Segment(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def boundaries_of(segments: Sequence[Segment]) -> list[int]:
    """One 0 or 1 a turn: 1 where a segment ends after it; the last is always 0 (the data sets' convention)."""
    turns = segments[-1].stop if segments else 0
    ends = {segment.stop - 1 for segment in segments[:-1]}
    return [int(turn in ends) for turn in range(turns)]


def segments_of(memories: Sequence[Memory]) -> list[Segment]:
    """The segments that a session's memories stand for, as positions among its turns; they cover it."""
    stops = [0, *accumulate(len(memory.turns) for memory in memories)]
    return [Segment(start, stop) for start, stop in pairwise(stops)]


@brief("id", "key", "turns", "summary")
@dataclass(frozen=True, slots=True)
class Memory:
    """A unit of the bank: a key that is searched and the verbatim turns that reach the prompt.

    Args:
        id: unique in its scope and stable while its turns are; ``"session#start-stop"``.
        key: what is searched (denoised).
        turns: the raw turns it points to, in order; those of a topic may be of several sessions.
        summary: what is shown before the turns, where the memory is a topic.
    """

    id: str
    key: str
    turns: tuple[Turn, ...]
    summary: str = ""

    @property
    def session(self) -> str:
        """The session its turns belong to."""
        return self.turns[0].session

    @property
    def value(self) -> str:
        """The verbatim turns with their speakers."""
        return "\n".join(turn.text for turn in self.turns)


@brief("turn.id", "place", "start", "stop", "text")
@dataclass(frozen=True, slots=True)
class Passage:
    """A message, or a piece of a long one: what is searched, ranked and shown.

    Args:
        turn: the turn it belongs to.
        place: which message of the turn, from 0.
        start: where it begins in the message's text, in characters.
        stop: where it ends.
    """

    turn: Turn
    place: int
    start: int
    stop: int

    @property
    def message(self) -> Message:
        """The message that it is of."""
        return self.turn.messages[self.place]

    @property
    def text(self) -> str:
        """Its words, verbatim."""
        return self.message.text[self.start : self.stop]

    @property
    def searched(self) -> str:
        """What is indexed of it: its words, after the name of who speaks, where there is one."""
        speaker = self.message.speaker
        return f"{speaker}: {self.text}" if speaker else self.text


def passages_of(turn: Turn) -> list[Passage]:
    """The passages of a turn, in order; they cover its messages, and a message that is not long is one."""
    return [
        Passage(turn, place, start, stop)
        for place, message in enumerate(turn.messages)
        for start, stop in passage_spans(message.text)
    ]


def excerpt(passages: Sequence[Passage]) -> str:
    """What is shown of one message, by its passages in order, with ``[…]`` where words are left out.

    Code that is cut stays between its fences, and rows of a table below its head (`secom_core.text.parts`).
    """
    return parts_of(passages[0].message.text, [(each.start, each.stop) for each in passages], CUT)


HitKind = Literal["relevant", "surrounding", "standing", "recent"]
"""Why a hit is shown: it answers the query; it stands beside what does, or is of the day nearest to those that were
asked about, on which nothing was said; it holds of the user whatever is asked, such as an instruction; or it was said
last."""


@brief("number", "score", "relevance", "kind", "scope", "memory.id", "turn_ids", "text")
@dataclass(frozen=True, slots=True)
class Hit:
    """A memory that a recall returns, with the part of it that is shown.

    Args:
        memory: the whole memory.
        turns: the turns of it that are shown, whole or in part, in order.
        score: higher is better; comparable within one recall.
        number: the number it is cited by, from 1, in time order.
        signals: what the score is made of, by name.
        excerpts: what is shown of turns that are too long to be shown whole, in order; a turn that has none here is
            shown whole.
        kind: why it is shown.
        relevance: the chance that it helps to answer the query, from 0 to 1; comparable between queries.
        repeats: how often each turn was said before in nearly the same words, by its id, where it was.
        replaced: what holds no more of its turns, and what holds in its place, by the ids of the turns.
        scope: whose memory it is.
        is_named: whether the block says whose it is, as several scopes were asked.
    """

    memory: Memory
    turns: tuple[Turn, ...]
    score: float
    number: int = 0
    signals: Mapping[str, float] = field(default_factory=dict, hash=False)
    excerpts: tuple[Passage, ...] = ()
    kind: HitKind = "relevant"
    relevance: float = 0.0
    repeats: Mapping[str, int] = field(default_factory=dict, hash=False)
    replaced: Mapping[str, tuple[Replacement, ...]] = field(default_factory=dict, hash=False)
    scope: Scope = ()
    is_named: bool = False

    @property
    def unit(self) -> tuple[Scope, str]:
        """What tells its memory from all others, of other scopes too."""
        return self.scope, self.memory.id

    @property
    def text(self) -> str:
        """The text that is shown, word for word, with the speakers."""
        return "\n".join(line for lines in self.lines_by_turn().values() for line in lines)

    @property
    def turn_ids(self) -> tuple[str, ...]:
        """The ids of the shown turns."""
        return tuple(turn.id for turn in self.turns)

    @property
    def passages(self) -> tuple[Passage, ...]:
        """All that is shown, by message and character: the excerpts, and the messages shown whole."""
        cut = {each.turn.id for each in self.excerpts}
        places = ((turn, place) for turn in self.turns if turn.id not in cut for place in range(len(turn.messages)))
        rest = [Passage(turn, place, 0, len(turn.messages[place].text)) for turn, place in places]
        order = {turn.id: number for number, turn in enumerate(self.turns)}
        return tuple(sorted([*self.excerpts, *rest], key=lambda each: order[each.turn.id]))

    def lines_by_turn(self) -> dict[str, list[str]]:
        """What is shown of each of its turns, by its id: a string a message with its speaker, ``…`` before a gap."""
        cut = {turn: list(each) for turn, each in groupby(self.excerpts, key=lambda each: each.turn.id)}
        return {
            turn.id: _excerpt_lines(turn, cut[turn.id]) if turn.id in cut else turn.shown_lines for turn in self.turns
        }


def _excerpt_lines(turn: Turn, excerpts: Sequence[Passage]) -> list[str]:
    by_message = {place: list(each) for place, each in groupby(excerpts, key=lambda each: each.place)}
    lines = []
    for place, after in pairwise([*by_message, len(turn.messages)]):
        label, text = turn.messages[place].shown_label, excerpt(by_message[place])
        line = f"{label}: {text}" if label else text
        lines.append(followed(line, GAP) if after > place + 1 and not line.endswith(CUT) else line)
    return lines


@brief("layer", "heading", "entries", "numbers")
@dataclass(frozen=True, slots=True)
class Section:
    """What a layer adds to the block of a recall, beside the hits.

    Args:
        layer: the layer's name.
        heading: the line above it, without a line feed.
        entries: its parts, quoted (`secom_core.context.lines`), each ending with a line feed.
        items: the records that the entries stand for, such as timelines or a version of the summary.
        turn_ids: for each entry that an answer may cite, the turns that it rests on; without them the section comes
            before the hits, with them after.
        numbers: what the entries are cited by, after the numbers of the hits; given by the bank.
    """

    layer: str
    heading: str
    entries: tuple[str, ...]
    items: tuple[Any, ...] = ()
    turn_ids: tuple[tuple[str, ...], ...] = ()
    numbers: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The section as it stands in the block; before it has numbers, with numbers of two digits."""
        numbers = self.numbers or (99,) * len(self.turn_ids)
        marks = [f"[{number}] " for number in numbers] or [""] * len(self.entries)
        entries = [mark + entry for mark, entry in zip(marks, self.entries, strict=True)]
        return "".join([f"# {self.heading}\n", *entries]) if entries else ""

    def numbered(self, after: int) -> Section:
        """The section with the numbers that follow ``after``, where its entries can be cited."""
        return replace(self, numbers=tuple(range(after + 1, after + 1 + len(self.turn_ids))))


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """The options of a recall, the same for the bank and for every class of a framework that recalls.

    Args:
        token_budget: the length of the block at most, in the bank's token counter; 2000 where neither it nor ``k`` is
            given.
        k: how many memories at most.
        layers: the names of layers that take part, such as ``"summaries"``, ``"timelines"`` or ``"topics"``; the bank
            has to be opened with them.
        only_relevant: leave the rest of the budget empty, where not all of it is needed for what answers the query.
        history: also bring what holds no more, marked as such; else what holds comes in its place.
        where: a filter (`secom_core.filters`): what does not pass is neither found nor shown.
        also: other scopes that are searched too, such as a team's.

    Raises:
        InvalidInput: for a number below 1, layers that are no names or go with a filter or other scopes, no filter.
        InvalidScope: for another scope that is none.
    """

    token_budget: int | None = None
    k: int | None = None
    layers: Sequence[str] = ()
    only_relevant: bool = False
    where: Mapping[str, Any] | None = field(default=None, hash=False)
    also: Sequence[Sequence[str]] = ()
    history: bool = True

    def __post_init__(self) -> None:
        for name, value in (("token_budget", self.token_budget), ("k", self.k)):
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise InvalidInput(f"{name} is a whole number from 1 on, got {value!r}")
        is_sequence = isinstance(self.layers, Sequence) and not isinstance(self.layers, str)
        if not is_sequence or not all(isinstance(name, str) for name in self.layers):
            raise InvalidInput(f"layers is a sequence of names such as ('summaries',), got {self.layers!r}")
        for name, value in (("only_relevant", self.only_relevant), ("history", self.history)):
            if not isinstance(value, bool):
                raise InvalidInput(f"{name} is True or False, got {value!r}")
        object.__setattr__(self, "layers", tuple(dict.fromkeys(self.layers)))
        object.__setattr__(self, "where", checked_filter(self.where))
        if not isinstance(self.also, Sequence) or isinstance(self.also, str):
            raise InvalidInput(f"also is a sequence of scopes such as [('acme', 'team')], got {self.also!r}")
        object.__setattr__(self, "also", tuple(dict.fromkeys(map(check_scope, self.also))))
        if self.layers and (self.where is not None or self.also):
            raise InvalidInput(
                f"layers={self.layers!r} cannot be combined with where= or also=, because a layer is made of one whole "
                "scope; leave out the one or the other"
            )

    @property
    def arguments(self) -> dict[str, Any]:
        """The keyword arguments of `MemoryBank.recall`."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def refuse_citing(options: RecallOptions, *, cite: bool) -> None:
    """Refuse to have answers cite a recall of several scopes: what they cite would be taken in for none of them.

    Raises:
        InvalidInput: they are to, with the other scopes.
    """
    if cite and options.also:
        raise InvalidInput(
            f"citations are recorded for one scope; leave out also={options.also!r}, or do not ask for citations"
        )


@brief("query", "tokens", "confidence", "hits", "sections")
@dataclass(frozen=True, slots=True)
class Recall:
    """The result of a recall.

    Args:
        query: the query as asked.
        hits: in time order, numbered from 1.
        text: hits and sections as one numbered, dated block that quotes them as data; empty where there are none.
        tokens: the length of ``text`` in the bank's token counter.
        sections: what layers added, numbered after the hits.
        impression: what is shown and how it was ranked, for ``bank.citations.reward``; nothing where the bank was
            opened without ``citations``.
        confidence: the chance that anything that was found answers the query, from 0 to 1: where it is low, an agent
            had better say that it does not know.
        work: what it took: milliseconds by stage, calls of language models.
    """

    query: str
    hits: tuple[Hit, ...]
    text: str
    tokens: int
    sections: tuple[Section, ...] = ()
    impression: Any = None
    confidence: float = 0.0
    work: Work = field(default=Work(), compare=False)

    @property
    def numbers(self) -> tuple[int, ...]:
        """Every number that an answer may cite."""
        return (*(hit.number for hit in self.hits), *(each for section in self.sections for each in section.numbers))

    @property
    def cited_turns(self) -> dict[int, tuple[str, ...]]:
        """The ids of the turns that each of `numbers` stands for."""
        of_hits = {hit.number: hit.turn_ids for hit in self.hits}
        pairs = (zip(each.numbers, each.turn_ids, strict=True) for each in self.sections)
        return of_hits | {number: turn_ids for pair in pairs for number, turn_ids in pair}

    def turns_in(self, scope: Scope) -> dict[int, tuple[str, ...]]:
        """Those of `cited_turns` that belong to one scope."""
        others = {hit.number for hit in self.hits if hit.scope not in (scope, ())}
        return {number: turn_ids for number, turn_ids in self.cited_turns.items() if number not in others}

    @property
    def ranked(self) -> tuple[Hit, ...]:
        """The hits, best first."""
        return tuple(sorted(self.hits, key=lambda hit: (-hit.score, hit.number)))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every turn shown, in time order, each once."""
        return tuple({(hit.scope, turn.id): turn for hit in self.hits for turn in hit.turns}.values())

    def items(self, layer: str) -> tuple[Any, ...]:
        """The records that a layer added, such as timelines; empty if it added nothing."""
        return next((each.items for each in self.sections if each.layer == layer), ())
