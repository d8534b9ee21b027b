"""What holds in the end, where what took the place of a turn was replaced, or taken back, in turn."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..conversation import Replacement

LONGEST: Final = 16
"""How many replacements of replacements are followed."""
BY_HAND: Final = frozenset({"corrected", "retracted"})
"""How what was marked by hand came about."""
_ENDED: Final = "ended"

Replaced = Mapping[str, tuple[Replacement, ...]]
"""What holds no more, by the ids of the turns."""


class Chains:
    """Replacements, each followed to what holds in the end.

    What was marked by hand counts before all else. A turn that was taken back takes the place of nothing: what only it
    was said to have replaced holds again, or was replaced by what replaced it. What was corrected by hand was wrong all
    the same where its correction was taken back.

    Args:
        found: what is known, by the ids of the older turns.
    """

    def __init__(self, found: Mapping[str, Sequence[Replacement]]) -> None:
        self._found = found
        self._settled: dict[Replacement, tuple[Replacement, ...]] = {}

    @property
    def replaced(self) -> Replaced:
        """What holds no more, with what holds now, each statement once."""
        made = {older: tuple(_once(self._all(_counting(known), LONGEST))) for older, known in self._found.items()}
        return {older: known for older, known in made.items() if known}

    def _all(self, links: Iterable[Replacement], left: int) -> list[Replacement]:
        return [made for each in links for made in self._followed(each, left)]

    def _followed(self, link: Replacement, left: int) -> tuple[Replacement, ...]:
        """The replacement with what holds in the end; none where it was said by what was taken back."""
        if link not in self._settled:
            # Should they go in a circle, that which leads back ends it.
            self._settled[link] = (link,)
            self._settled[link] = tuple(self._follow(link, left))
        return self._settled[link]

    def _follow(self, link: Replacement, left: int) -> Iterable[Replacement]:
        last = self._last_by_hand(link)
        if last.newer is None and link.newer is not None:
            if link.kind in BY_HAND:
                return [replace(link, newer=None, newer_span=None, kind=last.kind, at=last.at)]
            later = (replace(one, older=link.older, span=link.span) for one in self._after(link, by_hand=False))
            return self._all(later, left - 1) if left else ()
        after = self._all(self._after(last, by_hand=False), left - 1) if left else []
        holding = sorted((each for each in after if each.newer), key=lambda each: (each.at, each.kind != _ENDED))
        if holding:
            last = holding[-1]
        first = link.newer if last.newer != link.newer else None
        return [replace(link, newer=last.newer, newer_span=last.newer_span, first=first)]

    def _last_by_hand(self, link: Replacement) -> Replacement:
        """What became by hand of the newer turn, or the replacement itself."""
        seen = {link.older}
        while link.newer is not None and link.newer not in seen:
            seen.add(link.newer)
            after = list(self._after(link, by_hand=True))
            if not after:
                break
            link = after[-1]
        return link

    def _after(self, link: Replacement, *, by_hand: bool) -> Iterator[Replacement]:
        """What is known of the words that a replacement puts in the place of others."""
        for each in self._found.get(link.newer or "", ()):
            is_same = each.span is None or (link.newer_span is not None and each.touches(*link.newer_span))
            if is_same and (each.kind in BY_HAND) == by_hand:
                yield each


def _counting(found: Sequence[Replacement]) -> Sequence[Replacement]:
    """What counts of what is known of one turn: of the words that are marked by hand, that alone."""
    by_hand = [each for each in found if each.kind in BY_HAND]
    return [*by_hand, *(each for each in found if each.kind not in BY_HAND and not _is_any_about(by_hand, each))]


def _is_any_about(marks: Sequence[Replacement], known: Replacement) -> bool:
    return any(known.span is None or mark.touches(*known.span) for mark in marks)


def _once(found: Sequence[Replacement]) -> Iterator[Replacement]:
    """The same, where several say of the same words by what they were replaced, or that they ended, once."""
    for span in dict.fromkeys(each.span for each in found):
        same = sorted((each for each in found if each.span == span), key=lambda each: each.at)
        ended = next((each for each in same if each.kind == _ENDED), None)
        others = {each.newer: each for each in reversed(same) if each.kind != _ENDED}
        if ended is None or not others:
            yield from reversed(others.values()) if others else [ended] if ended else []
            continue
        for each in reversed(others.values()):
            is_later = ended.at < each.at
            yield replace(each, at=ended.at, kind=_ENDED, first=ended.first or ended.newer) if is_later else each
