"""A bank over LangChain's vector stores: FAISS, Qdrant, PostgreSQL with pgvector, and the one in memory."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dense_stores import DictionaryStore
from embedders import HashingEmbedder

pytest.importorskip("langchain_core", reason="the extra 'langchain' is not installed")

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_secom import SecomRetriever
from langchain_secom.vector_store import LangChainVectorStore, metadata_filter, qdrant_filter
from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, InvalidInput, StoreError
from secom_core.memory import passages_of
from secom_core.protocols import VectorStore as CoreVectorStore
from secom_core.vector_stores.sync import scope_label
from secom_core.vectors import DocumentPlace, VectorDocument

ALICE, BOB = ("acme", "alice"), ("acme", "bob")
DIMENSIONS = 256


class Hashing(Embeddings):
    def __init__(self) -> None:
        self.embedder = HashingEmbedder(DIMENSIONS)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.embedder.embed(texts).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        return self.embedder.embed([text])[0].tolist()  # type: ignore[no-any-return]


def in_memory(_request: Any) -> VectorStore:
    return InMemoryVectorStore(Hashing())


def faiss(_request: Any) -> VectorStore:
    faiss = pytest.importorskip("faiss", reason="the extra 'dense' is not installed")
    pytest.importorskip("langchain_community", reason="langchain-community is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from langchain_community.docstore.in_memory import InMemoryDocstore
        from langchain_community.vectorstores import FAISS

    # By squared distance: the lower the score, the better.
    return FAISS(Hashing(), faiss.IndexFlatL2(DIMENSIONS), InMemoryDocstore(), {})


def qdrant(_request: Any, path: Path | None = None) -> VectorStore:
    langchain_qdrant = pytest.importorskip("langchain_qdrant", reason="langchain-qdrant is not installed")
    from qdrant_client import QdrantClient, models

    client = QdrantClient(":memory:") if path is None else QdrantClient(path=str(path))
    if not client.collection_exists("memory"):
        size = models.VectorParams(size=DIMENSIONS, distance=models.Distance.COSINE)
        client.create_collection("memory", vectors_config=size)
    store: VectorStore = langchain_qdrant.QdrantVectorStore(client, "memory", Hashing())
    return store


def postgres(request: Any) -> VectorStore:
    langchain_postgres = pytest.importorskip("langchain_postgres", reason="langchain-postgres is not installed")
    lent = request.getfixturevalue("postgres").database()
    url = lent.__enter__()
    request.addfinalizer(lambda: lent.__exit__(None, None, None))
    store: VectorStore = langchain_postgres.PGVector(
        Hashing(), connection=url.replace("postgresql://", "postgresql+psycopg://"), embedding_length=DIMENSIONS
    )
    return store


STORES = [in_memory, faiss, qdrant, postgres]


@pytest.fixture(params=STORES, ids=lambda make: make.__name__)
def store(request: Any) -> VectorStore:
    made: VectorStore = request.param(request)
    return made


@pytest.fixture
def bank(store: VectorStore) -> Iterator[MemoryBank]:
    with MemoryBank.open(vector_store=LangChainVectorStore(store)) as opened:
        yield opened


def talk(bank: MemoryBank, scope: tuple[str, ...], turns: int = 8, session: str = "s") -> None:
    for place in range(turns):
        text = f"{scope[-1]} says number{place} of the bicycle."
        bank.remember(scope, [{"role": "user", "content": text}], session=session)


def there(store: VectorStore) -> list[str]:
    """All texts in the store, as it finds them itself."""
    return sorted(document.page_content for document in store.similarity_search("bicycle", k=1000, **everything(store)))


def everything(store: VectorStore) -> dict[str, Any]:
    return {"fetch_k": 1000} if type(store).__name__ == "FAISS" else {}


def expected(bank: MemoryBank, *scopes: tuple[str, ...]) -> list[str]:
    names = [(scope, name) for scope in scopes for name in bank.sessions(scope)]
    turns = [turn for scope, name in names for turn in bank.turns(scope, name)]
    passages = [passage.searched for turn in turns for passage in passages_of(turn)]
    return sorted(passages + [memory.key for scope, name in names for memory in bank.memories(scope, name)])


def test_it_fits_the_seam(store: VectorStore) -> None:
    assert isinstance(LangChainVectorStore(store), CoreVectorStore)


@pytest.mark.slow
def test_the_store_holds_what_the_bank_holds(bank: MemoryBank, store: VectorStore) -> None:
    talk(bank, ALICE)
    talk(bank, BOB)
    bank.remember(BOB, [{"role": "assistant", "content": "Noted, number99."}], session="s")
    assert there(store) == expected(bank, ALICE, BOB)


@pytest.mark.slow
def test_it_finds_what_an_exact_search_finds_whatever_its_scores_mean(store: VectorStore) -> None:
    weights = {"passage_dense": 1}
    exact = DictionaryStore(HashingEmbedder(DIMENSIONS))
    with (
        MemoryBank.open(vector_store=LangChainVectorStore(store), weights=weights, granularity="turn") as ours,
        MemoryBank.open(vector_store=exact, weights=weights, granularity="turn") as theirs,
    ):
        for opened in (ours, theirs):
            talk(opened, ALICE, turns=12)
        for number in (0, 5, 11):
            query = f"number{number} says alice"
            found = [opened.recall(ALICE, query, k=1).hits[0].text for opened in (ours, theirs)]
            assert f"number{number} " in found[0]
            assert found[0] == found[1]


@pytest.mark.slow
def test_two_scopes_never_mix(bank: MemoryBank, store: VectorStore) -> None:
    talk(bank, ALICE)
    talk(bank, BOB)
    for scope, other in ((ALICE, "bob"), (BOB, "alice")):
        text = bank.recall(scope, f"{other} says number3 of the bicycle").text
        assert f"{scope[-1]} says number3" in text
        assert f"{other} says" not in text
        ids = LangChainVectorStore(store).search(scope_label(scope), "bicycle", 1000)
        assert len(ids) == len(expected(bank, scope))


@pytest.mark.slow
def test_forgetting_is_complete_in_the_store_itself(bank: MemoryBank, store: VectorStore) -> None:
    talk(bank, ALICE)
    talk(bank, BOB)
    gone = [turn.id for turn in bank.turns(ALICE, "s") if "number3" in turn.text]
    bank.forget(ALICE, turn_ids=gone)
    assert not [text for text in there(store) if "alice says number3" in text]
    assert there(store) == expected(bank, ALICE, BOB)
    bank.forget(ALICE)
    assert there(store) == expected(bank, BOB)
    assert bank.forget(ALICE) == 0


@pytest.mark.slow
def test_what_the_store_lost_is_sent_again(store: VectorStore, tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db", vector_store=LangChainVectorStore(store)) as bank:
        talk(bank, ALICE)
        ids = LangChainVectorStore(store).search(scope_label(ALICE), "bicycle", 1000)
    store.delete(ids=ids[::2])
    with MemoryBank.open(tmp_path / "memory.db", vector_store=LangChainVectorStore(store)) as bank:
        bank.recall(ALICE, "bicycle")
        assert there(store) == expected(bank, ALICE)


def test_sending_and_deleting_twice_is_the_same_as_once(store: VectorStore) -> None:
    index = LangChainVectorStore(store)
    ids = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"]
    documents = [VectorDocument(each, f"text {each}", "aa", DocumentPlace("turn", "s", 0), "t") for each in ids]
    index.upsert(documents[:1])
    index.upsert(documents)
    assert index.existing([*ids, "00000000-0000-4000-8000-000000000003"]) == set(ids)
    assert len(there(store)) == 2
    index.delete([*ids, "00000000-0000-4000-8000-000000000003"])
    index.delete(ids)
    assert there(store) == []


def test_one_user_of_two_hundred_gets_their_own(store: VectorStore) -> None:
    """FAISS filters what it has found: with its own ``fetch_k`` of 20 the others would leave nothing of hers."""
    index = LangChainVectorStore(store)
    for user in range(200):
        index.upsert(
            [
                VectorDocument(
                    f"00000000-0000-4000-8000-{user:06d}{place:06d}",
                    f"the very same bicycle {place}",
                    f"s{user:032x}",
                    DocumentPlace("turn", "s", place),
                    f"t{place}",
                )
                for place in range(5)
            ]
        )
    found = index.search(f"s{137:032x}", "the very same bicycle", 4)
    assert len(found) == 4
    assert all(each.startswith("00000000-0000-4000-8000-000137") for each in found)


@pytest.mark.slow
def test_threads_of_many_users_do_not_get_in_each_others_way(bank: MemoryBank, store: VectorStore) -> None:
    users = [("acme", f"user{number}") for number in range(6)]
    found: dict[tuple[str, ...], str] = {}

    def live(user: tuple[str, ...]) -> None:
        talk(bank, user, turns=5)
        found[user] = bank.recall(user, "number3 of the bicycle").text

    threads = [threading.Thread(target=live, args=(user,)) for user in users]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)
    for user in users:
        assert f"{user[-1]} says number3" in found[user]
        assert not [other for other in users if other != user and f"{other[-1]} says" in found[user]]
    assert there(store) == expected(bank, *users)


async def test_an_async_retriever_searches_it_in_a_worker_thread(bank: MemoryBank) -> None:
    await asyncio.to_thread(talk, bank, ALICE)
    retriever = SecomRetriever(bank=bank, scope=ALICE, k=2)
    [document, *_] = await retriever.ainvoke("number3")
    assert "number3" in document.page_content


# -- what goes wrong ---------------------------------------------------------------------------------------------------


class Ignoring(InMemoryVectorStore):
    """Takes any filter and applies none."""

    def similarity_search(self, query: str, k: int = 4, **_: Any) -> list[Document]:
        return super().similarity_search(query, k)


@pytest.mark.slow
def test_a_store_that_ignores_the_filter_is_refused() -> None:
    with MemoryBank.open(vector_store=LangChainVectorStore(Ignoring(Hashing()))) as bank:
        talk(bank, ALICE)
        assert "number3" in bank.recall(ALICE, "number3").text
        talk(bank, BOB)
        with pytest.warns(DegradedWarning, match="Ignoring found 9 documents that are not of the scope"):
            text = bank.recall(ALICE, "number3").text
    assert "alice says number3" in text
    assert "bob" not in text


@pytest.mark.slow
@pytest.mark.parametrize("builder", [lambda scope: None, lambda scope: lambda document: True])
def test_a_filter_builder_that_lets_others_through_is_refused(builder: Callable[[str], Any]) -> None:
    index = LangChainVectorStore(InMemoryVectorStore(Hashing()), builder)
    with MemoryBank.open(vector_store=index) as bank:
        talk(bank, ALICE)
        talk(bank, BOB)
        with pytest.warns(DegradedWarning, match="give a filter_builder that it understands"):
            assert "bob" not in bank.recall(ALICE, "number3").text


def test_a_filter_that_the_store_does_not_know_degrades_to_words() -> None:
    with MemoryBank.open(vector_store=LangChainVectorStore(qdrant(None), metadata_filter)) as bank:
        talk(bank, ALICE)
        with pytest.warns(DegradedWarning, match="this search is by words only: QdrantVectorStore failed to search"):
            assert "number3" in bank.recall(ALICE, "number3").text


def test_conditions_of_ones_own_are_applied_in_the_stores_own_search() -> None:
    pytest.importorskip("langchain_qdrant", reason="langchain-qdrant is not installed")
    from qdrant_client import models

    def turns_only(scope: str) -> Any:
        both = qdrant_filter(scope)
        kind = models.FieldCondition(key="metadata.secom_kind", match=models.MatchValue(value="turn"))
        return models.Filter(must=[*both.must, kind])

    store = qdrant(None)
    with MemoryBank.open(vector_store=LangChainVectorStore(store)) as bank:
        talk(bank, ALICE, turns=6)
    assert len(LangChainVectorStore(store, turns_only).search(scope_label(ALICE), "bicycle", 1000)) == 6


def test_an_embedding_model_that_fails_loses_nothing() -> None:
    class Moody(Hashing):
        fails = True

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if self.fails:
                raise TimeoutError("no answer")
            return super().embed_documents(texts)

    moody = Moody()
    store = InMemoryVectorStore(moody)
    with MemoryBank.open(vector_store=LangChainVectorStore(store)) as bank:
        with pytest.warns(DegradedWarning, match="TimeoutError: no answer"):
            talk(bank, ALICE, turns=3)
        moody.fails = False
        assert bank.recall(ALICE, "number2").turns
        assert there(store) == expected(bank, ALICE)


@pytest.mark.parametrize("how", ["says no", "does nothing", "raises"])
def test_a_store_that_does_not_delete_is_not_believed(how: str) -> None:
    class Stubborn(InMemoryVectorStore):
        def delete(self, ids: Any = None, **_: Any) -> Any:
            if how == "raises":
                raise OSError("read-only")
            return False if how == "says no" else None

    store = Stubborn(Hashing())
    with MemoryBank.open(vector_store=LangChainVectorStore(store, name="kept")) as bank:
        bank.remember(ALICE, [{"role": "user", "content": "The bicycle."}], session="s")
        with pytest.raises(StoreError, match="gone from the bank, but the vector store 'kept' may still hold"):
            bank.forget(ALICE)


def test_a_store_that_cannot_delete_is_refused_at_once() -> None:
    class Eternal(VectorStore):
        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            return []

        @classmethod
        def from_texts(cls, texts: Any, embedding: Any, metadatas: Any = None, **kwargs: Any) -> Eternal:
            return cls()

    with pytest.raises(InvalidInput, match="Eternal cannot delete documents"):
        LangChainVectorStore(Eternal())


def test_something_else_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected a LangChain VectorStore"):
        LangChainVectorStore("qdrant")  # type: ignore[arg-type]


def test_a_qdrant_on_disk_goes_on_where_it_was(tmp_path: Path) -> None:
    for turns in (3, 6):
        store = qdrant(None, tmp_path / "qdrant")
        with MemoryBank.open(tmp_path / "memory.db", vector_store=LangChainVectorStore(store)) as bank:
            talk(bank, ALICE, turns=turns - len(bank.turns(ALICE, "s")))
            assert bank.recall(ALICE, "bicycle").turns
            assert there(store) == expected(bank, ALICE)
        store.client.close()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_filtered_recall_finds_what_passes_however_much_is_nearer(store: VectorStore) -> None:
    parts: dict[str, Any] = {"granularity": "turn", "weights": {"passage_dense": 1}}
    with MemoryBank.open(vector_store=LangChainVectorStore(store), **parts) as bank:
        near = [Message(f"bicycle bicycle number{number}", role="", id=f"n{number}") for number in range(300)]
        words = [f"a red bicycle in spring {number}" for number in range(4)]
        far = [Message(said, role="", id=f"f{said[-1]}", metadata={"far": 1}) for said in words]
        bank.remember(ALICE, [*near, *far], session="s")
        recall = bank.recall(ALICE, "bicycle bicycle", where={"metadata.far": 1})
        assert {turn.id for turn in recall.turns} == {"f0", "f1", "f2", "f3"}
        assert {hit.kind for hit in recall.hits} == {"relevant"}


def test_a_text_that_the_embeddings_refuse_keeps_no_other_out() -> None:
    class Choosy(Hashing):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if any(len(text) > 2_000 for text in texts):
                raise ValueError("This model's maximum context length is 512 tokens")
            return super().embed_documents(texts)

    store = InMemoryVectorStore(Choosy())
    with MemoryBank.open(vector_store=LangChainVectorStore(store)) as bank:
        with pytest.warns(DegradedWarning, match="gets no more than the beginning of long texts"):
            bank.remember(
                ALICE,
                [{"role": "user", "content": " ".join(f"word{place}" for place in range(800))}],
                session="a",
                close=True,
            )
        talk(bank, ALICE)
        assert len(there(store)) == len(expected(bank, ALICE))
        assert "number3" in bank.recall(ALICE, "number3", token_budget=200).text
