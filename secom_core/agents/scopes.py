"""Whose memory it is: given by the application, or read from a run's context. A language model has no say in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ..conversation import Scope, check_scope
from ..errors import InvalidScope, shorten

ScopeOf: TypeAlias = Sequence[str] | Callable[[Any], Sequence[str]]
"""A scope, or a function that gives the scope of a run from the run's context."""


def check_scope_of(scope: ScopeOf, caller: str) -> ScopeOf:
    """The scope, or the function that gives it.

    Raises:
        InvalidScope: it is neither.
    """
    if callable(scope):
        return scope
    try:
        return check_scope(scope)
    except InvalidScope as error:
        raise InvalidScope(f"{caller}: {error}; or give a function of the run's context that returns one") from error


def scope_in(scope: ScopeOf, context: object, caller: str) -> Scope:
    """The scope of a run.

    Args:
        scope: as `check_scope_of` returned it.
        context: the context of the run, as the application gave it.
        caller: who asks, for error messages.

    Raises:
        InvalidScope: the function gave none, or the context has not what the function reads from it.
    """
    if not callable(scope):
        return check_scope(scope)
    try:
        return check_scope(scope(context))
    except (AttributeError, LookupError, TypeError, InvalidScope) as error:
        raise InvalidScope(
            f"{caller} finds no scope in the run's context {shorten(context)}: {type(error).__name__}: {error}"
        ) from error
