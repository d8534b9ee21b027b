"""What retrievers of a scope share: the scope of each call, and searching without blocking the event loop."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, Final, Literal

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableFieldSpec, RunnableConfig, run_in_executor
from pydantic import ConfigDict, Field, field_validator, model_validator

from secom_core.bank import MemoryBank
from secom_core.conversation import Scope
from secom_core.errors import InvalidInput

from .arguments import Hints, foreign
from .scopes import ScopeField, ScopePart, bound_scope, scope_in, scope_of

_FOREIGN: Final[Hints] = {
    "search_kwargs": ("k", "k and token_budget say how much comes back, and where filters it"),
    "search_type": ("only_relevant", "there is one way to search; only_relevant leaves out what does not answer"),
    "score_threshold": ("only_relevant", "only_relevant leaves out what does not answer"),
    "similarity_top_k": ("k", "k says how many documents come back at most"),
    "top_k": ("k", "k says how many documents come back at most"),
    "filter": ("where", "where filters, and langchain_secom.filters.where_of makes it of a vector store's filter"),
    "session_id": ("where", 'where={"session": …} searches one session'),
    "user_id": ("scope", 'scope says whose memory it is, such as ("acme", "alice")'),
}
"""For arguments of vector stores' retrievers."""


class ScopedRetriever(BaseRetriever):
    """A retriever of one scope, which is its own or comes with the call.

    Args:
        bank: where it searches.
        scope: whose memory it searches; from the configuration unless given.
        scope_keys: the parts of the scope by their names in ``config["configurable"]``; all of them are needed, or
            the whole scope as ``"scope"``. Where both are there, they must agree.
        order: ``"score"`` gives the best first, ``"time"`` the oldest.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    bank: MemoryBank = Field(exclude=True)
    scope: tuple[str, ...] | None = None
    scope_keys: tuple[str, ...] = Field(default=("user_id",), min_length=1)
    order: Literal["score", "time"] = "score"

    @model_validator(mode="before")
    @classmethod
    def _refuse_foreign(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and (said := foreign(cls.__name__, data, cls.model_fields, _FOREIGN)):
            raise InvalidInput(said)
        return data

    @field_validator("scope", mode="before")
    @classmethod
    def _check_scope(cls, value: Any) -> Scope | None:
        return None if value is None else scope_of(value)

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """The names that it reads in ``config["configurable"]``: schemas list them, and servers pass them on."""
        return ScopeField.of(self._configurable)

    @property
    def _configurable(self) -> tuple[str, ...]:
        return self.scope_keys if self.scope is None else ()

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Find documents for a query.

        Args:
            input: the query.
            config: the run's configuration.
            **kwargs: for this call, ``scope`` and whatever a retriever lets a call override.

        Raises:
            InvalidScope: there is no scope, neither bound nor in the call, or another one than the bound one.
        """
        # The base class does not pass the configuration on to the methods that search.
        return super().invoke(input, config, **self._of_run(config, kwargs))

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """As `invoke`, without blocking the event loop."""
        return await super().ainvoke(input, config, **self._of_run(config, kwargs))

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        scope: Sequence[ScopePart] | None = None,
        **overrides: Any,
    ) -> list[Document]:
        return self._search(query, self._bound(scope), **overrides)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        scope: Sequence[ScopePart] | None = None,
        **overrides: Any,
    ) -> list[Document]:
        bound = self._bound(scope)
        return await run_in_executor(None, lambda: self._search(query, bound, **overrides))

    @abstractmethod
    def _search(self, query: str, scope: Scope, *args: Any, **overrides: Any) -> list[Document]:
        """The documents for a query; what a call overrides comes by name."""

    def _of_run(self, config: RunnableConfig | None, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call, with what its configuration says."""
        if kwargs and (said := foreign(type(self).__name__, kwargs, signature(self._search).parameters, _FOREIGN)):
            raise TypeError(said)
        return {**kwargs, "scope": self._scope_of(config, kwargs)}

    def _scope_of(self, config: RunnableConfig | None, kwargs: Mapping[str, Any]) -> Scope:
        requested = kwargs.get("scope")
        return scope_in(config, self.scope, self.scope_keys, caller=type(self).__name__, requested=requested)

    def _bound(self, requested: Sequence[ScopePart] | None) -> Scope:
        return bound_scope(requested, self.scope, caller=type(self).__name__)
