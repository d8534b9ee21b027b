"""A recall as a retriever's run of its own in traces, LangSmith and event streams, with its texts or without."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig, ensure_config, run_in_executor
from langchain_core.runnables.config import get_callback_manager_for_config
from pydantic import ConfigDict, Field, PrivateAttr

from secom_core.bank.answers import ANSWER_WAITS_S
from secom_core.conversation import Scope
from secom_core.memory import Recall
from secom_core.stores.database import waiting_at_most

from .convert import to_document

_RUN: Final = "secom_recall"


@dataclass(frozen=True)
class RecallRun:
    """One recall. Handlers see a retriever's run ``secom_recall``, tagged ``secom``, below the run that it is part of.

    Args:
        search: asks the bank; asynchronous callers have it done in a worker thread.
        query: what is searched for.
        scope: whose memory it is.
        contents: whether handlers see the query and the memories; without, they see ids, sessions, numbers and scores.
    """

    search: Callable[[], Recall]
    query: str
    scope: Scope
    contents: bool = True

    def recall(self, config: RunnableConfig | None = None) -> Recall:
        """Search, as part of a run; of the current one unless ``config`` is given."""
        if not _is_watched(config):
            return self._found()
        run = self._run()
        run.invoke(self._visible_query, {**(config or {}), "run_name": _RUN})
        return run.found

    async def arecall(self, config: RunnableConfig | None = None) -> Recall:
        """As `recall`, without blocking the event loop."""
        if not _is_watched(config):
            return await run_in_executor(None, self._found)
        run = self._run()
        await run.ainvoke(self._visible_query, {**(config or {}), "run_name": _RUN})
        return run.found

    def _found(self) -> Recall:
        # Somebody waits for the answer that the recall is for.
        with waiting_at_most(ANSWER_WAITS_S):
            return self.search()

    def _run(self) -> _Run:
        return _Run(search=self._found, scope=self.scope, contents=self.contents)

    @property
    def _visible_query(self) -> str:
        return self.query if self.contents else ""


def _is_watched(config: RunnableConfig | None) -> bool:
    """Whether anybody follows runs: without handlers, making one costs and tells nobody."""
    return bool(get_callback_manager_for_config(ensure_config(config)).handlers)


class _Run(BaseRetriever):
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    search: Callable[[], Recall]
    scope: Scope
    contents: bool
    tags: list[str] | None = Field(default=["secom"])
    _found: Recall = PrivateAttr()

    @property
    def found(self) -> Recall:
        return self._found

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return self._documents()

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return await run_in_executor(None, self._documents)

    def _documents(self) -> list[Document]:
        self._found = self.search()
        documents = [to_document(hit, self.scope) for hit in self._found.hits]
        return documents if self.contents else list(map(_without_text, documents))

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(ls_retriever_name="secom")


def _without_text(document: Document) -> Document:
    metadata = {name: document.metadata[name] for name in ("secom_memory_id", "session", "number", "score")}
    return Document("", id=document.id, metadata=metadata)
