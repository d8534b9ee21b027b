"""Conversations with branches: which messages stand, where an answer was asked for again or a question was edited."""

from __future__ import annotations

from collections.abc import Mapping


def standing(parents: Mapping[str, str | None], leaf: str) -> list[str]:
    """The messages from the first one to ``leaf``, each by its id.

    Args:
        parents: the id of the message before each one, by its own; an id that is not among them ends the way.
        leaf: the last message of the branch that stands.
    """
    way: dict[str, None] = {}
    at: str | None = leaf
    while at is not None and at in parents and at not in way:
        way[at] = None
        at = parents[at]
    return list(reversed(way))
