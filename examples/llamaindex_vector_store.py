"""A bank that searches by vector in a LlamaIndex vector store, here the simple one. Needs the extra "llamaindex"."""

from pathlib import Path
from tempfile import TemporaryDirectory

from llama_index.core.embeddings import MockEmbedding
from llama_index.core.vector_stores import SimpleVectorStore

from llamaindex_secom import LlamaIndexVectorStore
from secom_core import MemoryBank

ALICE = ("acme", "alice")
# Any embedding model of LlamaIndex's; this one gives every text the same vector.
embed_model = MockEmbedding(embed_dim=8)

with TemporaryDirectory() as folder:
    store = SimpleVectorStore()
    vector_store = LlamaIndexVectorStore(store, embed_model=embed_model)
    with MemoryBank.open(Path(folder) / "memory.db", vector_store=vector_store) as bank:
        bank.remember(ALICE, [("user", "I take the green bicycle on Saturday.")], session="monday")
        bank.remember(ALICE, [("user", "Marta teaches me the violin.")], session="tuesday")
        print(f"{len(store.data.embedding_dict)} nodes")

    # This store lives in memory and is empty again. The bank sees that, and sends what is missing.
    store = SimpleVectorStore()
    vector_store = LlamaIndexVectorStore(store, embed_model=embed_model)
    with MemoryBank.open(Path(folder) / "memory.db", vector_store=vector_store) as bank:
        print(bank.recall(ALICE, "Which bicycle do I take?").text)
        print(f"{len(store.data.embedding_dict)} nodes")

        bank.forget(ALICE)
        print(f"{len(store.data.embedding_dict)} nodes")
