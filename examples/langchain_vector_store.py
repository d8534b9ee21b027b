"""A bank whose dense search is a LangChain vector store: here Qdrant in a folder. Needs langchain-qdrant."""

from pathlib import Path
from tempfile import TemporaryDirectory

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, VectorParams

from langchain_secom import LangChainVectorStore
from secom_core import MemoryBank

with TemporaryDirectory() as folder:
    client = QdrantClient(path=str(Path(folder) / "qdrant"))
    client.create_collection("memory", vectors_config=VectorParams(size=64, distance=Distance.COSINE))
    # Any vector store and any embeddings of LangChain's; these embeddings are random numbers.
    store = QdrantVectorStore(client, "memory", DeterministicFakeEmbedding(size=64))

    with MemoryBank.open(Path(folder) / "memory.db", vector_store=LangChainVectorStore(store)) as bank:
        for user, colour in (("alice", "green"), ("bob", "blue")):
            bank.remember(("acme", user), [("user", f"I take the {colour} bicycle on Saturday.")], session="monday")
        print(f"{client.count('memory').count} documents for {len(bank.scopes())} users")

        print(bank.recall(("acme", "alice"), "Which bicycle do I take?").text)

        bank.forget(("acme", "alice"))
        left, _ = client.scroll("memory")
        print("left in Qdrant:", *sorted({point.payload["page_content"] for point in left}), sep="\n  ")
    client.close()
