"""A query as it is searched for: cut to what is telling, with what was said before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..context.block import without_recalled
from ..conversation import Message
from ..ranking import LEANT_ON, weighted_context
from ..text.hesitations import without_hesitations
from ..text.kept import KEPT, Kept
from ..text.patterns import regex
from ..text.small_talk import asks_nothing
from ..text.speech import asks

_READ: Final = 24
"""How many messages before the query are read at most; the last few that say anything count."""
_PAGE: Final = 2000
"""How many characters at either end of a pasted page are searched for."""

_LONG: Final = 1000
"""From how many characters on a text may hold something that was pasted."""
_OWN: Final = 300
"""How many characters a paragraph has at most in which a user asks something about what is pasted beside it."""
_PARAGRAPHS: Final = regex(r"\n[ \t]*\n")


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as it is searched for.

    Args:
        telling: the query without sounds such as "um", cut to what is telling where it is a page.
        context: what was said before it, each with what its words weigh beside the query's.
        follows: whether anything was said before it.
        before: the messages before it, oldest first.
    """

    telling: str
    context: tuple[tuple[str, float], ...] = ()
    follows: bool = False
    before: tuple[Message, ...] = ()

    @classmethod
    def of(cls, query: str, context: Sequence[Message] = ()) -> Asked:
        """The query after these messages."""
        said = [_worded(each, _fluent(cut(without_recalled(each.text)))) for each in context[-_READ:]]
        own, pasted = parted(query)
        telling = _fluent(cut(own))
        weighted = weighted_context(telling, said)
        if pasted:
            # What is pasted is read as if it had been said before, where the question cannot be read alone.
            beside = weighted_context(telling, [*said, Message(cut(pasted))])
            weighted = beside if beside and beside[0][1] >= LEANT_ON else weighted
        return cls(telling, tuple(weighted), bool(context), tuple(said))

    @property
    def asks(self) -> bool:
        """Whether the query asks anything of the memory, and is not but thanks or a greeting."""
        return not asks_nothing(self.telling)

    @property
    def whole(self) -> str:
        """The query as one text, with what it cannot be read without."""
        return "\n".join([self.telling, *(text for text, _ in self.leant_on)])

    @property
    def leant_on(self) -> tuple[tuple[str, float], ...]:
        """What the query cannot be read without."""
        return tuple(each for each in self.context if each[1] >= LEANT_ON)


def parted(query: str) -> tuple[str, str]:
    """A query without what is pasted into it, and that: beside a long text, its first or its last paragraph asks."""
    if len(query) < _LONG or not query.strip():
        return query, ""
    paragraphs = _paragraphs(query)
    ends = [place for place in {0, len(paragraphs) - 1} if _asks(paragraphs[place])]
    own = [paragraphs[place] for place in sorted(ends)]
    pasted = [each for place, each in enumerate(paragraphs) if place not in ends]
    return ("\n".join(own), "\n".join(pasted)) if own and pasted else (query, "")


def _paragraphs(query: str) -> list[str]:
    """The paragraphs of a text; of a long one at either end, its line there is one of its own."""
    first, *rest = [each for each in _PARAGRAPHS.split(query.strip()) if each.strip()]
    above, _, below = first.partition("\n") if len(first) > _OWN else (first, "", "")
    *middle, last = [each for each in (above, below, *rest) if each.strip()]
    if len(last) <= _OWN or "\n" not in last:
        return [*middle, last]
    over, _, end = last.rstrip().rpartition("\n")
    return [*middle, over, end]


def _asks(paragraph: str) -> bool:
    return len(paragraph) <= _OWN and asks(paragraph)


def cut(text: str) -> str:
    """A text as it is searched for: of a page its beginning and its end, where what it is about is mostly said."""
    return text if len(text) <= 2 * _PAGE else f"{text[:_PAGE]}\n{text[-_PAGE:]}"


def _worded(message: Message, text: str) -> Message:
    """The message with these words, which are most often its own."""
    return message if message.text == text else replace(message, text=text)


# What was said before one query was said before the next few.
_fluent: Final[Kept[str, str]] = Kept(without_hesitations, characters=KEPT)
