"""The scope of a call: the one that a part is bound to, or the one in the call's configuration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig, ensure_config

from secom_core.conversation import Scope, check_scope
from secom_core.errors import InvalidScope


def scope_in(
    config: RunnableConfig | None, bound: Scope | None, keys: Sequence[str], *, caller: str, requested: Any = None
) -> Scope:
    """The scope of a call.

    Args:
        config: the call's configuration; a whole scope in its ``configurable`` as ``"scope"`` goes first.
        bound: the only scope that is allowed, where there is one.
        keys: the parts of the scope by their names in ``configurable``, where none is bound; all of them are needed.
        caller: the name of the part that was called, for error messages.
        requested: the scope in the call's own arguments; goes before the configuration.

    Raises:
        InvalidScope: there is no scope, or another one than the bound one.
    """
    configurable = ensure_config(config).get("configurable", {})
    named = requested if requested is not None else configurable.get("scope")
    if named is None and bound is None:
        named = [configurable.get(key) for key in keys]
        if None in named:
            raise InvalidScope(
                f"whose memories? Give {caller} a scope, or {', '.join(map(repr, keys))} in config['configurable']"
            )
    return bound_scope(named, bound, caller=caller)


def bound_scope(requested: Sequence[str] | None, bound: Scope | None, *, caller: str) -> Scope:
    """The requested scope, which has to be the bound one where there is one.

    Raises:
        InvalidScope: it is another one, or none.
    """
    scope = check_scope(requested if requested is not None else bound or ())
    if bound is not None and scope != bound:
        raise InvalidScope(f"{caller} is bound to {bound!r} and was asked for {scope!r}")
    return scope


def common_scope(documents: Iterable[Document]) -> Scope | None:
    """The scope that all these documents of the bank come from; nothing where there are none.

    Raises:
        InvalidScope: they come from several: one person's words must not be ranked or quoted beside another's.
    """
    scopes = sorted({check_scope(document.metadata["scope"]) for document in documents})
    if len(scopes) > 1:
        raise InvalidScope(f"documents of several scopes cannot be used together, got {scopes!r}")
    return scopes[0] if scopes else None
