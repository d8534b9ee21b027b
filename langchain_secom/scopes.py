"""Whose memory a call means: the scope that a part is bound to, or the one in the call's configuration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig, ensure_config

from secom_core.conversation import Scope, check_scope
from secom_core.errors import InvalidScope

__all__ = ["bound_scope", "common_scope", "scope_in"]


def scope_in(
    config: RunnableConfig | None, bound: Scope | None, keys: Sequence[str], *, who: str, asked: Any = None
) -> Scope:
    """The scope of a call.

    Args:
        config: the call's configuration; a whole scope in its ``configurable`` as ``"scope"`` goes first.
        bound: the scope that no other may take the place of.
        keys: the parts of the scope by their names in ``configurable``, where nothing is bound; all of them are needed.
        who: who asks, for the message.
        asked: the scope that the call itself names; goes before the configuration.

    Raises:
        InvalidScope: nothing says whose memories are meant, or another scope is asked for than the bound one.
    """
    configurable = ensure_config(config).get("configurable", {})
    named = asked if asked is not None else configurable.get("scope")
    if named is None and bound is None:
        named = [configurable.get(key) for key in keys]
        if None in named:
            raise InvalidScope(
                f"whose memories? Give {who} a scope, or {', '.join(map(repr, keys))} in config['configurable']"
            )
    return bound_scope(named, bound, who=who)


def bound_scope(asked: Sequence[str] | None, bound: Scope | None, *, who: str) -> Scope:
    """The scope that is asked for, which is the bound one where there is one.

    Raises:
        InvalidScope: it is another one, or none.
    """
    scope = check_scope(asked if asked is not None else bound or ())
    if bound is not None and scope != bound:
        raise InvalidScope(f"{who} is bound to {bound!r} and was asked for {scope!r}")
    return scope


def common_scope(documents: Iterable[Document]) -> Scope | None:
    """The scope that all these documents of ours come from; nothing where there are none.

    Raises:
        InvalidScope: they come from several: what one has said must not be ranked or quoted beside another's.
    """
    scopes = sorted({check_scope(document.metadata["scope"]) for document in documents})
    if len(scopes) > 1:
        raise InvalidScope(f"documents of several scopes cannot be used together, got {scopes!r}")
    return scopes[0] if scopes else None
