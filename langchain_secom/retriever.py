"""What a scope remembers, as a LangChain retriever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig, run_in_executor
from pydantic import ConfigDict, Field, field_validator

from secom_core.bank import MemoryBank
from secom_core.conversation import Scope, check_scope

from .convert import to_document
from .scopes import bound_scope, scope_in

__all__ = ["SecomRetriever"]


class SecomRetriever(BaseRetriever):
    """Finds what a scope remembers of a query, a document a memory.

    Each document holds the turns that answer, word for word; its metadata says from which session, by whom and when
    (see `langchain_secom.convert.to_document`).

    Setup: ``pip install "secom-memory[langchain]"``.

    Instantiate::

        retriever = SecomRetriever(bank=MemoryBank.open("memory.db"), scope=("acme", "alice"), k=4)

    Usage::

        retriever.invoke("Where do I live?")
        retriever.invoke("Where do I live?", k=2)

    One retriever for many users takes the scope from each call's configuration, and fails where it says none::

        retriever = SecomRetriever(bank=bank, scope_keys=("tenant_id", "user_id"))
        retriever.invoke(query, {"configurable": {"tenant_id": "acme", "user_id": "alice"}})

    Args:
        bank: where it looks.
        scope: whose memories it finds; from the configuration unless given.
        scope_keys: the parts of the scope by their names in ``config["configurable"]``; all of them are needed. A whole
            scope in there as ``"scope"`` goes first.
        k: how many memories at most.
        token_budget: how long they may be together, in the bank's token counter; 2000 where neither is given.
        order: ``"score"`` gives the best first, ``"time"`` the oldest.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    bank: MemoryBank = Field(exclude=True)
    scope: tuple[str, ...] | None = None
    scope_keys: tuple[str, ...] = Field(default=("user_id",), min_length=1)
    k: int | None = Field(default=None, ge=1)
    token_budget: int | None = Field(default=None, ge=1)
    order: Literal["score", "time"] = "score"

    @field_validator("scope", mode="before")
    @classmethod
    def _check_scope(cls, value: Any) -> Scope | None:
        return None if value is None else check_scope(value)

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The memories that answer.

        Args:
            input: the query.
            config: the run's configuration.
            **kwargs: ``k``, ``token_budget`` or ``scope`` for this call.

        Raises:
            InvalidScope: neither the retriever nor the configuration says whose memories are meant, or they disagree.
        """
        # The base class does not pass the configuration on to the methods that search.
        return super().invoke(input, config, **{**kwargs, "scope": self._scope_of(config, kwargs)})

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The memories that answer, found off the event loop. As `invoke`."""
        return await super().ainvoke(input, config, **{**kwargs, "scope": self._scope_of(config, kwargs)})

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        scope: Sequence[str] | None = None,
        k: int | None = None,
        token_budget: int | None = None,
    ) -> list[Document]:
        return self._found(query, self._bound(scope), k, token_budget)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        scope: Sequence[str] | None = None,
        k: int | None = None,
        token_budget: int | None = None,
    ) -> list[Document]:
        return await run_in_executor(None, self._found, query, self._bound(scope), k, token_budget)

    def _found(self, query: str, scope: Scope, k: int | None, token_budget: int | None) -> list[Document]:
        recall = self.bank.recall(
            scope,
            query,
            k=self.k if k is None else k,
            token_budget=self.token_budget if token_budget is None else token_budget,
        )
        return [to_document(hit, scope) for hit in (recall.hits if self.order == "time" else recall.ranked)]

    def _scope_of(self, config: RunnableConfig | None, kwargs: Mapping[str, Any]) -> Scope:
        return scope_in(config, self.scope, self.scope_keys, who=type(self).__name__, asked=kwargs.get("scope"))

    def _bound(self, asked: Sequence[str] | None) -> Scope:
        return bound_scope(asked, self.scope, who=type(self).__name__)

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(ls_retriever_name="secom")
