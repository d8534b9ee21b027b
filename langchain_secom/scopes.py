"""The scope of a call: the one that a part is bound to, or the one in the call's configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast
from uuid import UUID

from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableFieldSpec, RunnableConfig, ensure_config

from secom_core.conversation import Scope, check_scope
from secom_core.errors import InvalidInput, InvalidScope

ScopePart = str | int | UUID
"""What a part of a scope, or a session, may be given as: ids of users and conversations are often numbers."""


_WRAPPED: Final = (
    ". What wraps it may have kept the configuration to itself: call RunnableLambda(wrapper.invoke) in its place, with "
    ".invoke or .batch"
)
_PASSING: Final = "; a wrapper that passes arguments on also takes scope=(…) with each call"


def scope_of(value: Sequence[ScopePart]) -> Scope:
    """A scope as strings, numbers and UUIDs as they are written: ``(42,)`` and ``("42",)`` are one scope.

    Raises:
        InvalidScope: it is none, or a part of it is blank.
    """
    is_sequence = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    scope = check_scope([written(part) for part in value] if is_sequence else cast("Any", value))
    if any(not part.strip() for part in scope):
        raise InvalidScope(f"a part of a scope is not blank, got {scope!r}")
    return scope


def session_of(value: ScopePart) -> str:
    """The name of a session as a string: ``42`` and ``"42"`` are one session.

    Raises:
        InvalidInput: it is no name.
    """
    name = written(value)
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"session names the conversation, such as 'monday', a whole number or a UUID, got {value!r}")
    return name


def written(part: ScopePart) -> str:
    """A part of a scope, or a session, as a string; what is none of the kinds is left to others to refuse."""
    is_id = isinstance(part, (int, UUID)) and not isinstance(part, bool)
    return str(part) if is_id else cast("str", part)


class ScopeField(ConfigurableFieldSpec):
    """A name that a call gives in ``config["configurable"]``, for schemas; what serves a runnable drops all others.

    It equals every field of its name, as LangChain refuses a chain whose steps describe one field differently, and an
    application may describe the user's as well.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConfigurableFieldSpec) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    @classmethod
    def of(cls, names: Iterable[str]) -> list[ConfigurableFieldSpec]:
        """A field of each name."""
        return [cls(id=name, annotation=str, is_shared=True) for name in dict.fromkeys(names)]


def scope_in(
    config: RunnableConfig | None, bound: Scope | None, keys: Sequence[str], *, caller: str, requested: Any = None
) -> Scope:
    """The scope of a call.

    Args:
        config: the call's configuration; its ``configurable`` may hold a whole scope as ``"scope"``.
        bound: the only scope that is allowed, if there is one.
        keys: the parts of the scope by their names in ``configurable``, where none is bound; all of them are needed.
        caller: the name of the part that was called, for error messages.
        requested: the scope in the call's own arguments; goes before the configuration.

    Raises:
        InvalidScope: there is no scope, another one than the bound one, or a whole one that its parts deny.
    """
    configurable = ensure_config(config).get("configurable", {})
    whole = configurable.get("scope")
    if requested is not None or bound is not None:
        return bound_scope(whole if requested is None else requested, bound, caller=caller)
    named = whole_or_parts(whole, {key: configurable.get(key) for key in keys})
    if named is None:
        wanted = f"whose memories? Give {caller} a scope, or {', '.join(map(repr, keys))} in config['configurable']"
        hint = if_wrapped(config)
        raise InvalidScope(f"{wanted}{hint}{_PASSING if hint else ''}")
    return scope_of(named)


def whole_or_parts(whole: Sequence[ScopePart] | None, parts: Mapping[str, Any]) -> Sequence[ScopePart] | None:
    """The scope that a run gives whole or in parts, or `None` where it gives neither.

    A server may let its clients write a part of the configuration and set the user itself, so neither goes before the
    other.

    Raises:
        InvalidScope: it gives both, and they differ.
    """
    there = {key: value for key, value in parts.items() if value is not None}
    if whole is None:
        return list(parts.values()) if len(there) == len(parts) else None
    if there:
        scope = scope_of(whole)
        of_whole = dict(zip(parts, scope, strict=False))
        if len(scope) != len(parts) or any(of_whole[key] != written(value) for key, value in there.items()):
            told = ", ".join(f"{key}={value!r}" for key, value in there.items())
            raise InvalidScope(f"the run says scope={whole!r} and {told}; give one of the two, or the same in both")
    return whole


def if_wrapped(config: RunnableConfig | None) -> str:
    """What to do if another runnable made the call, which may have kept the configuration to itself; else nothing."""
    return "" if getattr((config or {}).get("callbacks"), "parent_run_id", None) is None else _WRAPPED


def bound_scope(requested: Sequence[ScopePart] | None, bound: Scope | None, *, caller: str) -> Scope:
    """The requested scope, which has to be the bound one if there is one.

    Raises:
        InvalidScope: it is another one, or none.
    """
    if requested is None and bound is None:
        raise InvalidScope(f"whose memories? Give {caller} a scope, such as scope=('acme', 'alice')")
    scope = scope_of(requested if requested is not None else bound or ())
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
