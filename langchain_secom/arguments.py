"""What is said of an argument of LangChain's own classes that a class of ours does not take."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

Hints = Mapping[str, tuple[str, str]]
"""For arguments of theirs, the argument of ours that they stand for, and what it is."""


def foreign(made: str, given: Iterable[str], names: Collection[str], hints: Hints) -> str:
    """What is said of the first argument that only a class of theirs takes; nothing if there is none.

    Args:
        made: the class or function that is called.
        given: the names of the arguments that it gets.
        names: those that it takes.
        hints: what is said of others.
    """
    others = ((each, *hints[each]) for each in given if each in hints and each not in names)
    return next((f"{made} takes no {each}: {hint}" for each, ours, hint in others if ours in names), "")
