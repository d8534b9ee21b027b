"""What others keep on disk, by one interface, for `benchmarks.reliability`; ours too, with the same vectors.

Each is used as its documentation shows, and saves after each turn where it does not do so itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Protocol

from benchmarks.latency import HashedWords
from benchmarks.peers import langchain_embeddings, llamaindex_embedding
from secom_core import MemoryBank

__all__ = ["PEERS", "Peer"]

_USER: Final = "ann"


class Peer(Protocol):
    """A memory on disk."""

    def add(self, identity: str, text: str) -> None:
        """Take in one turn; on disk when this returns."""
        ...

    def ids(self) -> list[str]:
        """What it holds."""
        ...


class Ours:
    """`MemoryBank`."""

    def __init__(self, folder: Path) -> None:
        self._bank = MemoryBank.open(folder / "bank.db", embedder=HashedWords())

    def add(self, identity: str, text: str) -> None:
        self._bank.remember((_USER,), [{"role": "user", "content": text, "id": identity}], session="one")

    def ids(self) -> list[str]:
        return [turn.id for turn in self._bank.turns((_USER,), "one")] if self._bank.sessions((_USER,)) else []


class LangChainFaiss:
    """FAISS, saved after each turn."""

    def __init__(self, folder: Path) -> None:
        from langchain_community.vectorstores import FAISS

        self._folder, embeddings = str(folder / "faiss"), langchain_embeddings(HashedWords())
        if Path(self._folder).exists():
            self._store = FAISS.load_local(self._folder, embeddings, allow_dangerous_deserialization=True)
        else:
            self._store = FAISS.from_texts(["begin"], embeddings, ids=["begin"])

    def add(self, identity: str, text: str) -> None:
        self._store.add_texts([text], ids=[identity])
        self._store.save_local(self._folder)

    def ids(self) -> list[str]:
        return [each for each in self._store.index_to_docstore_id.values() if each != "begin"]


class LlamaIndexSimple:
    """VectorStoreIndex on SimpleVectorStore, persisted after each turn."""

    def __init__(self, folder: Path) -> None:
        from llama_index.core import StorageContext, VectorStoreIndex, load_index_from_storage

        self._folder, model = str(folder / "index"), llamaindex_embedding(HashedWords())
        if Path(self._folder).exists():
            context = StorageContext.from_defaults(persist_dir=self._folder)
            self._index: Any = load_index_from_storage(context, embed_model=model)
        else:
            self._index = VectorStoreIndex([], embed_model=model)

    def add(self, identity: str, text: str) -> None:
        from llama_index.core.schema import TextNode

        self._index.insert_nodes([TextNode(id_=identity, text=text)])
        self._index.storage_context.persist(self._folder)

    def ids(self) -> list[str]:
        return list(self._index.docstore.docs)


class Mem0Faiss:
    """mem0 without a language model, on FAISS."""

    def __init__(self, folder: Path) -> None:
        os.environ["MEM0_TELEMETRY"] = "False"
        from mem0 import Memory
        from mem0.configs.base import MemoryConfig

        store = {"collection_name": "peers", "path": str(folder / "mem0"), "embedding_model_dims": 384}
        config = MemoryConfig(
            vector_store={"provider": "faiss", "config": store},
            embedder={"provider": "langchain", "config": {"model": langchain_embeddings(HashedWords())}},
            llm={"provider": "openai", "config": {"api_key": "unused"}},
            history_db_path=str(folder / "history.db"),
        )
        self._memory = Memory(config)

    def add(self, identity: str, text: str) -> None:
        said = [{"role": "user", "content": text}]
        self._memory.add(said, user_id=_USER, infer=False, metadata={"turn": identity})

    def ids(self) -> list[str]:
        found = self._memory.get_all(filters={"user_id": _USER}, top_k=100_000)
        return [each["metadata"]["turn"] for each in found["results"]]


PEERS: Final[dict[str, Callable[[Path], Peer]]] = {
    "ours": Ours,
    "LangChain FAISS": LangChainFaiss,
    "LlamaIndex SimpleVectorStore": LlamaIndexSimple,
    "mem0 on FAISS": Mem0Faiss,
}
