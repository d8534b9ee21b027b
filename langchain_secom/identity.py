"""Whose memory an agent means, and in which of his conversations: from the run's context or its configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig, ensure_config

from secom_core.conversation import Scope, check_scope
from secom_core.errors import InvalidInput, InvalidScope

from .scopes import bound_scope

__all__ = ["Identity"]


@dataclass(frozen=True)
class Identity:
    """Where the scope of a run comes from; always from the developer's side, never from the model.

    Args:
        who: who asks, for messages.
        bound: the scope that no other may take the place of.
        keys: the scope's parts by their names, where nothing is bound; all of them are needed.

    Raises:
        InvalidScope: the bound scope is none.
        InvalidInput: nothing is bound, and there are no keys.
    """

    who: str
    bound: Scope | None
    keys: tuple[str, ...]

    @classmethod
    def of(cls, who: str, scope: Sequence[str] | None, keys: Sequence[str]) -> Identity:
        """Checks what a user gave."""
        if isinstance(keys, str) or (scope is None and not keys):
            raise InvalidInput(f"{who} needs a scope, or scope_keys as a sequence of names, got {keys!r}")
        return cls(who, None if scope is None else check_scope(scope), tuple(keys))

    def scope(self, context: Any, config: RunnableConfig | None = None) -> Scope:
        """The scope of a run. A whole one, as ``"scope"``, goes before its parts.

        Args:
            context: the run's context, a mapping or an object with attributes.
            config: the run's configuration; the current one unless given.

        Raises:
            InvalidScope: nothing says whose memories are meant, or two things say different.
        """
        named = self.value("scope", context, config)
        if named is None and self.bound is None:
            named = [self.value(key, context, config) for key in self.keys]
            if None in named:
                raise InvalidScope(
                    f"whose memories? Give {self.who} a scope, or {', '.join(map(repr, self.keys))} in the context or "
                    "in config['configurable']"
                )
        return bound_scope(named, self.bound, who=self.who)

    def value(self, key: str, context: Any, config: RunnableConfig | None = None) -> Any:
        """What the context, or else the configuration, has under a name.

        Raises:
            InvalidScope: they have different values.
        """
        own = context.get(key) if isinstance(context, Mapping) else getattr(context, key, None)
        configured = ensure_config(config).get("configurable", {}).get(key)
        if own is not None and configured is not None and own != configured:
            raise InvalidScope(f"the context says {key}={own!r} and the configuration {key}={configured!r}")
        return configured if own is None else own
