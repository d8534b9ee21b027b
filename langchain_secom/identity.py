"""The scope and the conversation of an agent's run, from its context or its configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.runnables import RunnableConfig, ensure_config

from secom_core.bank.checks import check_choice
from secom_core.conversation import Scope
from secom_core.errors import InvalidInput, InvalidScope

from .scopes import ScopePart, bound_scope, if_wrapped, scope_of, whole_or_parts

CHECKPOINTER: Final = "__pregel_checkpointer"
"""The key of a run's configuration under which LangGraph keeps its checkpointer."""


def is_checkpointed() -> bool:
    """Whether the current run has a checkpointer: the thread is then known whole, and may be interrupted."""
    return ensure_config().get("configurable", {}).get(CHECKPOINTER) is not None


def check_key(name: str, value: object) -> str:
    """A name under which something is found in the context or the configuration.

    Raises:
        InvalidInput: it is none.
    """
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{name} is a name in the context or the configuration, got {value!r}")
    return value


def check_switches(**given: object) -> None:
    """Refuse what is neither on nor off.

    Raises:
        InvalidInput: with its name and what was given.
    """
    for name, value in given.items():
        check_choice(name, value, (True, False))


def _are_names(keys: object) -> bool:
    return isinstance(keys, Sequence) and not isinstance(keys, str) and all(isinstance(k, str) and k for k in keys)


def checked_also_keys(keys: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """The names of the parts of other scopes.

    Raises:
        InvalidInput: it is no sequence of such, or one of them has no names.
    """
    if isinstance(keys, str) or not isinstance(keys, Sequence) or not all(each and _are_names(each) for each in keys):
        raise InvalidInput(f"also_keys names the parts of scopes, such as [('tenant_id', 'team_id')], got {keys!r}")
    return tuple(map(tuple, keys))


@dataclass(frozen=True)
class Identity:
    """Where the scope of a run comes from; always from the developer's side, never from the model.

    Args:
        caller: the name of the part that was called, for error messages.
        bound: the only scope that is allowed, if there is one.
        keys: the scope's parts by their names, where none is bound; all of them are needed.
        also: the same of other scopes that are searched too, each where the run has all of its parts.

    Raises:
        InvalidScope: the bound scope is not one.
        InvalidInput: none is bound, and there are no keys, or the other scopes have none.
    """

    caller: str
    bound: Scope | None
    keys: tuple[str, ...]
    also: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(
        cls,
        caller: str,
        scope: Sequence[ScopePart] | None,
        keys: Sequence[str],
        also_keys: Sequence[Sequence[str]] = (),
    ) -> Identity:
        """Check the arguments of a part, and keep them."""
        if not _are_names(keys) or (scope is None and not keys):
            raise InvalidInput(f"{caller} needs a scope, or scope_keys as a sequence of names, got {keys!r}")
        bound = None if scope is None else scope_of(scope)
        return cls(caller, bound, tuple(keys), checked_also_keys(also_keys))

    def scope(self, context: Any, config: RunnableConfig | None = None) -> Scope:
        """The scope of a run: its parts, or a whole one as ``"scope"``.

        Args:
            context: the run's context, a mapping or an object with attributes.
            config: the run's configuration; the current one unless given.

        Raises:
            InvalidScope: there is none, the context and the configuration differ, or the whole one and its parts do.
        """
        whole = self.value("scope", context, config)
        if self.bound is not None:
            return bound_scope(whole, self.bound, caller=self.caller)
        named = whole_or_parts(whole, {key: self.value(key, context, config) for key in self.keys})
        if named is None:
            run = ensure_config(config)
            hint = "" if run.get("configurable") else if_wrapped(run)
            raise InvalidScope(
                f"whose memories? Give {self.caller} a scope, or {', '.join(map(repr, self.keys))} in the context "
                f"or in config['configurable']{hint}"
            )
        return scope_of(named)

    def scopes(self, context: Any, config: RunnableConfig | None = None) -> tuple[Scope, tuple[Scope, ...]]:
        """The scope of a run, and the other scopes that it names."""
        return self.scope(context, config), self.other_scopes(context, config)

    def other_scopes(self, context: Any, config: RunnableConfig | None = None) -> tuple[Scope, ...]:
        """The other scopes that the run has all parts of, in the order of their keys.

        Raises:
            InvalidScope: a part is blank, or the context and the configuration differ.
        """
        named = ([self.value(key, context, config) for key in keys] for keys in self.also)
        return tuple(scope_of(each) for each in named if None not in each)

    def value(self, key: str, context: Any, config: RunnableConfig | None = None) -> Any:
        """The value of a name in the context, or else in the configuration.

        Raises:
            InvalidScope: the two differ.
        """
        own = context.get(key) if isinstance(context, Mapping) else getattr(context, key, None)
        configured = ensure_config(config).get("configurable", {}).get(key)
        if own is not None and configured is not None and str(own) != str(configured):
            raise InvalidScope(
                f"the context says {key}={own!r} and the configuration {key}={configured!r}; give the same to both"
            )
        return configured if own is None else own
