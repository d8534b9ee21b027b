"""Every way in which a retriever is asked."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

each_way = pytest.mark.parametrize("how", ["invoke", "ainvoke", "batch", "abatch", "stream", "astream"])


async def found(how: str, retriever: BaseRetriever, query: str, config: Any = None, **kwargs: Any) -> list[Document]:
    if how == "invoke":
        return retriever.invoke(query, config, **kwargs)
    if how == "ainvoke":
        return await retriever.ainvoke(query, config, **kwargs)
    if how == "batch":
        return retriever.batch([query], config, **kwargs)[0]
    if how == "abatch":
        return (await retriever.abatch([query], config, **kwargs))[0]
    if how == "stream":
        return [document for part in retriever.stream(query, config, **kwargs) for document in part]
    return [document async for part in retriever.astream(query, config, **kwargs) for document in part]
