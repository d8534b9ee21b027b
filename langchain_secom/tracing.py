"""A recall as a run of its own in traces, LangSmith and event streams: a retriever's, with the words or without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig, run_in_executor
from pydantic import ConfigDict, Field, PrivateAttr

from secom_core.conversation import Scope
from secom_core.memory import Recall

from .convert import to_document

__all__ = ["RecallRun"]

_RUN: Final = "secom_recall"


class RecallRun(BaseRetriever):
    """One recall. Handlers see a retriever's run ``secom_recall``, tagged ``secom``, below the run that it is part of.

    Args:
        search: what is done; asynchronous callers have it done in a worker thread.
        query: what is asked.
        scope: whose memory it is.
        contents: whether handlers see the query and the memories; without, they see ids, sessions, numbers and scores.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    search: Callable[[], Recall]
    query: str
    scope: Scope
    contents: bool = True
    tags: list[str] | None = Field(default=["secom"])
    _found: Recall = PrivateAttr()

    def recall(self, config: RunnableConfig | None = None) -> Recall:
        """Search, as part of a run; of the current one unless given."""
        self.invoke(self._told, {**(config or {}), "run_name": _RUN})
        return self._found

    async def arecall(self, config: RunnableConfig | None = None) -> Recall:
        """As `recall`, off the event loop."""
        await self.ainvoke(self._told, {**(config or {}), "run_name": _RUN})
        return self._found

    @property
    def _told(self) -> str:
        return self.query if self.contents else ""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return self._documents()

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return await run_in_executor(None, self._documents)

    def _documents(self) -> list[Document]:
        self._found = self.search()
        shown = [to_document(hit, self.scope) for hit in self._found.hits]
        return shown if self.contents else list(map(_wordless, shown))

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(ls_retriever_name="secom")


def _wordless(document: Document) -> Document:
    about = {name: document.metadata[name] for name in ("secom_memory_id", "session", "number", "score")}
    return Document("", id=document.id, metadata=about)
