"""A query as it is searched for: cut to what is telling, with what was said before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from ..context.block import without_recalled
from ..conversation import Message
from ..ranking import LEANT_ON, weighted_context
from ..text.small_talk import asks_nothing

_READ: Final = 24
"""How many messages before the query are read at most; the last few that say anything count."""
_PAGE: Final = 2000
"""How many characters at either end of a pasted page are searched for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as it is searched for.

    Args:
        telling: the query, cut to what is telling where it is a page.
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
        said = [_worded(each, cut(without_recalled(each.text))) for each in context[-_READ:]]
        telling = cut(query)
        return cls(telling, tuple(weighted_context(telling, said)), bool(context), tuple(said))

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


def cut(text: str) -> str:
    """A text as it is searched for: of a page its beginning and its end, where what it is about is mostly said."""
    return text if len(text) <= 2 * _PAGE else f"{text[:_PAGE]}\n{text[-_PAGE:]}"


def _worded(message: Message, text: str) -> Message:
    """The message with these words, which are most often its own."""
    return message if message.text == text else replace(message, text=text)
