"""A bar where one is asked for, and nothing at all where none is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def advancing(total: int, what: str, unit: str, *, visible: bool) -> Iterator[Callable[[int], object]]:
    """A function that is told how much more is done.

    Args:
        total: how much there is to do.
        what: what is being done.
        unit: what is counted.
        visible: whether there is a bar.
    """
    if not visible:
        # A bar makes a lock between processes even where it is not shown, which would hold up an event loop.
        yield lambda done: None
        return
    from tqdm import tqdm

    with tqdm(total=total, desc=what, unit=unit) as bar:
        yield bar.update
