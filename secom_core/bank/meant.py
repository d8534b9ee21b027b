"""Which words of a turn a correction by hand is about; whatever else was said in the turn holds on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from ..changes.bare import is_amount
from ..changes.linking import UNITS
from ..changes.statements import heads_of
from ..changes.values import values_of
from ..conversation import NO_PEOPLE, Turn
from ..corrections.records import MarkedSpan
from ..errors import InvalidInput
from ..memory import Hit
from ..ranking.cores import leads
from ..text.parts import line_spans
from ..text.patterns import regex
from ..text.speech import asks

_REPEATED: Final = 8
"""In how many sentences of a reply at most what was corrected is repeated; beyond that, all of it rests on that."""
_DAYS: Final = frozenset({"day", "weekday"})
_NUMBER: Final = regex(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class _Told:
    """A sentence that tells something.

    Args:
        span: where it stands in the turn.
        heads: its head words.
        values: its values, each with its sort.
    """

    span: MarkedSpan
    heads: frozenset[str]
    values: frozenset[tuple[str, str]]

    @property
    def kinds(self) -> set[str]:
        """What its values may be put in the place of; a name may be anything's."""
        kind = {sort: "amount" if is_amount(sort) else "day" if sort in _DAYS else sort for sort, _ in self.values}
        return {each for each in kind.values() if each != "name"}

    def nearness(self, new: _Told) -> float:
        """How much it has in common with what corrects it: the values that this names, and a share of the words."""
        return len(self.values & new.values) + len(self.heads & new.heads) / max(1, len(self.heads | new.heads))

    def repeats(self, gone: _Told, new: Sequence[_Told]) -> bool:
        """Whether it tells a value of what was corrected; beside a name, it is to tell the same of it."""
        told = (self.values & gone.values).difference(*(each.values for each in new))
        if any(sort != "name" for sort, _ in told) or (told and len(self.heads & gone.heads) > len(told)):
            return True
        said = gone.numbers.keys() - frozenset[str]().union(*(each.numbers for each in new))
        return any(_is_of_one_thing(gone.numbers[each], self.numbers[each]) for each in said & self.numbers.keys())

    @property
    def numbers(self) -> dict[str, str]:
        """The numbers of its amounts, without their units, each with its sort."""
        amounts = ((_NUMBER.match(value), sort) for sort, value in self.values if is_amount(sort))
        return {number[0]: sort for number, sort in amounts if number is not None}


def _is_of_one_thing(sort: str, repeated: str) -> bool:
    """Whether an amount may repeat another of the same number: a unit is left out, or one of the two is money.

    "100 mg" may repeat "losartan 100", and "100 steps" does not.
    """
    return "money" in (sort, repeated) or repeated == "#" or (sort == "#" and repeated[1:] in UNITS)


def part_named(turn: Turn, words: str) -> MarkedSpan | None:
    """Where words stand in a turn; nothing where they are all of its first message, as then all of the turn is meant.

    Raises:
        InvalidInput: they stand nowhere in it, or more than once.
    """
    words = words.strip()
    if words == turn.messages[0].text.strip():
        return None
    found = [
        (place, start, start + len(words))
        for place, message in enumerate(turn.messages)
        for start in range(len(message.text))
        if words and message.text.startswith(words, start)
    ]
    if len(found) != 1:
        raise InvalidInput(
            f"the part {words!r} stands {len(found)} times in the turn {turn.id!r}; pass words that stand there once"
        )
    return found[0]


def parts_meant(turn: Turn, text: str, hit: Hit | None = None) -> Sequence[MarkedSpan | None]:
    """The sentences of a turn that a correction is about, and those of its replies that repeat what these tell.

    Args:
        turn: the turn.
        text: what is so.
        hit: shows the turn, or only a part of it, which is meant then.

    Returns:
        One ``None`` where it is all of the turn: it tells one thing only, or nothing says which of them is meant.
    """
    own, replies = _told_in(turn)
    shown = [(each.place, each.start, each.stop) for each in hit.excerpts if each.turn.id == turn.id] if hit else []
    new = list(_told(text, 0))
    meant = _nearest(_within(own, shown), new) or _nearest(_within(replies, shown), new)
    if not meant:
        return [*shown] or [None]
    if meant.issuperset(own):
        return [None]
    repeated = {each.span for each in replies if any(each.repeats(gone, new) for gone in meant)}
    return sorted(_merged(turn, repeated | {each.span for each in meant}))


def _told_in(turn: Turn) -> tuple[list[_Told], list[_Told]]:
    """What a turn tells in the words of whoever it is of, and in the replies to them."""
    own, replies = list[_Told](), list[_Told]()
    for place, message in enumerate(turn.messages):
        (replies if place and message.role in NO_PEOPLE else own).extend(_told(message.text, place))
    return own, replies


def _told(text: str, place: int) -> Iterator[_Told]:
    for start, stop in line_spans(text, 0, len(text)):
        words = text[start:stop]
        if not asks(words) and not leads(words):
            heads, values = frozenset(heads_of(words)), frozenset(each[:2] for each in values_of(words))
            if heads or values:
                yield _Told((place, start, start + len(words.rstrip())), heads, values)


def _within(told: Sequence[_Told], shown: Sequence[MarkedSpan]) -> list[_Told]:
    return [each for each in told if not shown or any(_meet(each.span, one) for one in shown)]


def _meet(one: MarkedSpan, other: MarkedSpan) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]


def _nearest(told: Sequence[_Told], new: Sequence[_Told]) -> set[_Told]:
    """Of each sentence of a correction those that have most in common with it; an amount corrects an amount."""
    found = set[_Told]()
    for each in new:
        alike = [one for one in told if one.kinds & each.kinds]
        most = max((one.nearness(each) for one in alike or told), default=0.0)
        if most or len(alike) == 1:
            found |= {one for one in alike or told if one.nearness(each) == most}
    return found


def _merged(turn: Turn, spans: Collection[MarkedSpan]) -> Iterator[MarkedSpan]:
    """The spans; all of a message of which many are meant."""
    for place in sorted({each[0] for each in spans}):
        mine = [each for each in spans if each[0] == place]
        yield from mine if len(mine) <= _REPEATED else [(place, 0, len(turn.messages[place].text))]
