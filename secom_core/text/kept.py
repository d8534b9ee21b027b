"""What was made of texts, for those that come again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar, cast

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")

KEPT: Final = 4_000_000
"""Of how many characters the texts are whose words are kept: the last turns of about a hundred conversations."""


_MISSING: Final = object()
_EACH: Final = list["Kept[Any, Any]"]()


def forget_kept() -> None:
    """Let go of every text and of all that was made of them: of what is forgotten no word is to stay."""
    for each in _EACH:
        each.clear()


class Kept(Generic[K, T]):
    """Makes something of a text, once as long as it is among those asked for last. Any thread may ask.

    Args:
        make: makes it; what is made is not to be changed.
        characters: how long the texts may be together; of a text that is longer, it is kept until the next one.
        length: how long what is asked for is, where it is more than a text.
    """

    def __init__(self, make: Callable[[K], T], *, characters: int, length: Callable[[Any], int] = len) -> None:
        self._make, self._room, self._length = make, characters, length
        self._made: OrderedDict[K, T] = OrderedDict()
        self._lock = threading.Lock()
        _EACH.append(self)

    def clear(self) -> None:
        """Keep nothing of what was asked for so far."""
        with self._lock:
            self._room += sum(map(self._length, self._made))
            self._made.clear()

    def __call__(self, text: K) -> T:
        """What is made of ``text``."""
        with self._lock:
            known = self._made.get(text, _MISSING)
            if known is not _MISSING:
                self._made.move_to_end(text)
                return cast("T", known)
        made = self._make(text)
        with self._lock:
            if text not in self._made:
                self._made[text] = made
                self._room -= self._length(text)
            # One text longer than all the room is kept alone: a recall asks for it again with each of its passages.
            while self._room < 0 and len(self._made) > 1:
                gone, _ = self._made.popitem(last=False)
                self._room += self._length(gone)
        return made
