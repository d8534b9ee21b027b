"""A bank over LlamaIndex's vector stores: the simple one, Qdrant, and PostgreSQL with pgvector."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dense_stores import DictionaryStore
from embedders import HashingEmbedder

pytest.importorskip("llama_index.core", reason="the extra 'llamaindex' is not installed")

from llama_index.core import Settings
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilter,
    VectorStoreQuery,
    VectorStoreQueryResult,
)

from llamaindex_secom import SecomRetriever
from llamaindex_secom.vector_store import LlamaIndexVectorStore
from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, InvalidInput, StoreError
from secom_core.protocols import VectorStore
from secom_core.vector_stores.sync import scope_label
from secom_core.vectors import DocumentPlace, VectorDocument

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")

ALICE, BOB = ("acme", "alice"), ("acme", "bob")
DIMENSIONS = 256


class Hashing(BaseEmbedding):
    """A model of the framework's own, which tells queries from texts."""

    model_name: str = "hashing"
    fails: bool = False

    def _get_text_embedding(self, text: str) -> list[float]:
        if self.fails:
            raise TimeoutError("no answer")
        return HashingEmbedder(DIMENSIONS).embed([text])[0].tolist()  # type: ignore[no-any-return]

    def _get_query_embedding(self, query: str) -> list[float]:
        return HashingEmbedder(DIMENSIONS).embed([query])[0].tolist()  # type: ignore[no-any-return]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def simple(_request: Any) -> BasePydanticVectorStore:
    return SimpleVectorStore()


def qdrant(_request: Any) -> BasePydanticVectorStore:
    stores = pytest.importorskip("llama_index.vector_stores.qdrant", reason="the Qdrant integration is not installed")
    from qdrant_client import QdrantClient

    store: BasePydanticVectorStore = stores.QdrantVectorStore("memory", client=QdrantClient(":memory:"))
    return store


def postgres(request: Any) -> BasePydanticVectorStore:
    stores = pytest.importorskip("llama_index.vector_stores.postgres", reason="the PostgreSQL integration is missing")
    lent = request.getfixturevalue("postgres").database()
    url = lent.__enter__()
    request.addfinalizer(lambda: lent.__exit__(None, None, None))
    urls = [url.replace("postgresql://", f"postgresql+{driver}://") for driver in ("psycopg2", "asyncpg")]
    store: BasePydanticVectorStore = stores.PGVectorStore(
        connection_string=urls[0],
        async_connection_string=urls[1],
        table_name="memory",
        schema_name="public",
        embed_dim=DIMENSIONS,
    )
    return store


@pytest.fixture(params=[simple, qdrant, postgres], ids=lambda make: make.__name__)
def store(request: Any) -> BasePydanticVectorStore:
    made: BasePydanticVectorStore = request.param(request)
    return made


@pytest.fixture
def bank(store: BasePydanticVectorStore) -> Iterator[MemoryBank]:
    with MemoryBank.open(vector_store=over(store)) as opened:
        yield opened


def over(store: BasePydanticVectorStore, **more: Any) -> LlamaIndexVectorStore:
    return LlamaIndexVectorStore(store, embed_model=Hashing(), **more)


def talk(bank: MemoryBank, scope: tuple[str, ...], turns: int = 8) -> None:
    for place in range(turns):
        text = f"{scope[-1]} says number{place} of the bicycle."
        bank.remember(scope, [{"role": "user", "content": text}], session="s")


def there(store: BasePydanticVectorStore) -> list[str]:
    """The ids of everything in the store, as it finds them itself."""
    vector = HashingEmbedder(DIMENSIONS).embed(["bicycle"])[0].tolist()
    return sorted(store.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=1000)).ids or [])


def count(bank: MemoryBank, *scopes: tuple[str, ...]) -> int:
    """How many documents should be there: the same conversations over a store of which the contents are known."""
    exact = DictionaryStore(HashingEmbedder(DIMENSIONS))
    with MemoryBank.open(":memory:", vector_store=exact) as copy:
        for scope in scopes:
            copy.storage.import_(list(bank.storage.export(scope)))
    return len(exact.documents)


def test_it_fits_the_seam(store: BasePydanticVectorStore) -> None:
    assert isinstance(over(store), VectorStore)


@pytest.mark.slow
def test_the_store_holds_what_the_bank_holds(bank: MemoryBank, store: BasePydanticVectorStore) -> None:
    talk(bank, ALICE)
    talk(bank, BOB)
    assert len(there(store)) == count(bank, ALICE, BOB)


@pytest.mark.slow
def test_it_finds_what_an_exact_search_finds(store: BasePydanticVectorStore) -> None:
    weights = {"passage_dense": 1}
    exact = DictionaryStore(HashingEmbedder(DIMENSIONS))
    with (
        MemoryBank.open(vector_store=over(store), weights=weights, granularity="turn") as ours,
        MemoryBank.open(vector_store=exact, weights=weights, granularity="turn") as theirs,
    ):
        for opened in (ours, theirs):
            talk(opened, ALICE, turns=12)
        for number in (0, 5, 11):
            found = [opened.recall(ALICE, f"number{number} says alice", k=1).hits[0].text for opened in (ours, theirs)]
            assert f"number{number} " in found[0]
            assert found[0] == found[1]


@pytest.mark.slow
def test_two_scopes_never_mix(bank: MemoryBank, store: BasePydanticVectorStore) -> None:
    talk(bank, ALICE)
    talk(bank, BOB)
    for scope, other in ((ALICE, "bob"), (BOB, "alice")):
        text = bank.recall(scope, f"{other} says number3 of the bicycle").text
        assert f"{scope[-1]} says number3" in text
        assert f"{other} says" not in text
        assert len(over(store).search(scope_label(scope), "bicycle", 1000)) == count(bank, scope)


@pytest.mark.slow
def test_forgetting_is_complete_in_the_store_itself(bank: MemoryBank, store: BasePydanticVectorStore) -> None:
    talk(bank, ALICE)
    talk(bank, BOB)
    gone = [turn.id for turn in bank.turns(ALICE, "s") if "number3" in turn.text]
    before = set(there(store))
    bank.forget(ALICE, turn_ids=gone)
    assert len(there(store)) == count(bank, ALICE, BOB)
    # The turn, and the key that held it, which is another one now.
    assert len(before - set(there(store))) == 2
    bank.forget(ALICE)
    assert len(there(store)) == count(bank, BOB)
    bank.forget(BOB)
    assert there(store) == []


@pytest.mark.slow
def test_what_the_store_lost_is_sent_again(store: BasePydanticVectorStore, tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db", vector_store=over(store)) as bank:
        talk(bank, ALICE)
    ids = there(store)
    store.delete_nodes(ids[::2])
    assert len(there(store)) < len(ids)
    with MemoryBank.open(tmp_path / "memory.db", vector_store=over(store)) as bank:
        bank.recall(ALICE, "bicycle")
    assert there(store) == ids


def test_a_collection_that_was_dropped_is_made_again(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "memory.db", vector_store=over(qdrant(None))) as bank:
        talk(bank, ALICE)
    empty = qdrant(None)
    with MemoryBank.open(tmp_path / "memory.db", vector_store=over(empty)) as bank:
        assert "number3" in bank.recall(ALICE, "number3").text
        assert len(there(empty)) == count(bank, ALICE)


def test_sending_and_deleting_twice_is_the_same_as_once(store: BasePydanticVectorStore) -> None:
    index = over(store)
    ids = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"]
    documents = [VectorDocument(each, f"text {each}", "aa", DocumentPlace("turn", "s", 0), "t") for each in ids]
    index.upsert(documents[:1])
    index.upsert(documents)
    assert index.existing([*ids, "00000000-0000-4000-8000-000000000003"]) == set(ids)
    assert there(store) == ids
    index.delete([])
    assert there(store) == ids
    index.delete([*ids, "00000000-0000-4000-8000-000000000003"])
    index.delete(ids)
    assert there(store) == []


def test_one_user_of_two_hundred_gets_their_own(store: BasePydanticVectorStore) -> None:
    index = over(store)
    for batch in range(0, 200, 50):
        index.upsert(
            [
                VectorDocument(
                    f"00000000-0000-4000-8000-{user:06d}{place:06d}",
                    "the very same bicycle",
                    f"s{user:032x}",
                    DocumentPlace("turn", "s", place),
                    f"t{place}",
                )
                for user in range(batch, batch + 50)
                for place in range(3)
            ]
        )
    found = index.search(f"s{137:032x}", "the very same bicycle", 3)
    assert sorted(found) == [f"00000000-0000-4000-8000-000137{place:06d}" for place in range(3)]


@pytest.mark.slow
def test_threads_of_many_users_do_not_get_in_each_others_way(bank: MemoryBank, store: BasePydanticVectorStore) -> None:
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
    assert len(there(store)) == count(bank, *users)


async def test_an_async_retriever_searches_it_in_a_worker_thread(bank: MemoryBank) -> None:
    await asyncio.to_thread(talk, bank, ALICE)
    [node, *_] = await SecomRetriever(bank, ALICE, k=2).aretrieve("number3")
    assert "number3" in node.text


def test_conditions_of_ones_own_are_applied_in_the_stores_own_search(
    bank: MemoryBank, store: BasePydanticVectorStore
) -> None:
    talk(bank, ALICE, turns=6)
    turns = MetadataFilter(key="secom_kind", value="turn")
    assert len(over(store, filters=[turns]).search(scope_label(ALICE), "bicycle", 1000)) == 6


def test_the_settings_model_is_looked_up_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    index = LlamaIndexVectorStore(SimpleVectorStore())
    monkeypatch.setattr(Settings, "_embed_model", Hashing())
    with MemoryBank.open(vector_store=index) as bank:
        talk(bank, ALICE)
        assert "number3" in bank.recall(ALICE, "number3").text


# -- what goes wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_store_that_ignores_the_filter_is_refused() -> None:
    """It gives back ids alone, so that only the bank can tell whose they are."""

    class Ignoring(SimpleVectorStore):
        def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
            query.filters = None
            return super().query(query, **kwargs)

    with MemoryBank.open(vector_store=over(Ignoring())) as bank:
        talk(bank, ALICE)
        assert "number3" in bank.recall(ALICE, "number3").text
        talk(bank, BOB)
        with pytest.warns(DegradedWarning, match="it ignores the filter"):
            text = bank.recall(ALICE, "number3").text
    assert "alice says number3" in text
    assert "bob" not in text


def test_an_embedding_model_that_fails_loses_nothing() -> None:
    model, store = Hashing(fails=True), SimpleVectorStore()
    with MemoryBank.open(vector_store=LlamaIndexVectorStore(store, embed_model=model)) as bank:
        with pytest.warns(DegradedWarning, match="TimeoutError: no answer"):
            talk(bank, ALICE, turns=3)
        model.fails = False
        assert bank.recall(ALICE, "number2").turns
        assert len(there(store)) == count(bank, ALICE)


@pytest.mark.parametrize("how", ["does nothing", "raises"])
def test_a_store_that_does_not_delete_is_not_believed(how: str) -> None:
    class Stubborn(SimpleVectorStore):
        def delete_nodes(self, *_: Any, **__: Any) -> None:
            if how == "raises":
                raise NotImplementedError("not here")

    with MemoryBank.open(vector_store=over(Stubborn(), name="kept")) as bank:
        bank.remember(ALICE, [{"role": "user", "content": "The bicycle."}], session="s")
        with pytest.raises(StoreError, match="gone from the bank, but the vector store 'kept' may still hold"):
            bank.forget(ALICE)


def test_a_store_that_deletes_by_document_only_will_do() -> None:
    class Older(BasePydanticVectorStore):
        stores_text: bool = False
        kept: SimpleVectorStore = SimpleVectorStore()

        @property
        def client(self) -> None:
            return None

        def add(self, nodes: Any, **kwargs: Any) -> list[str]:
            return self.kept.add(nodes)

        def delete(self, ref_doc_id: str, **kwargs: Any) -> None:
            self.kept.delete(ref_doc_id)

        def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
            return self.kept.query(query)

    store = Older()
    with MemoryBank.open(vector_store=over(store)) as bank:
        talk(bank, ALICE)
        assert "number3" in bank.recall(ALICE, "number3").text
        bank.forget(ALICE)
    assert there(store) == []


def test_something_else_is_refused() -> None:
    with pytest.raises(InvalidInput, match="expected a LlamaIndex BasePydanticVectorStore"):
        LlamaIndexVectorStore("qdrant")  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_filtered_recall_finds_what_passes_however_much_is_nearer(store: BasePydanticVectorStore) -> None:
    parts: dict[str, Any] = {"granularity": "turn", "weights": {"passage_dense": 1}}
    with MemoryBank.open(vector_store=over(store), **parts) as bank:
        near = [Message(f"bicycle bicycle number{number}", role="", id=f"n{number}") for number in range(300)]
        words = [f"a red bicycle in spring {number}" for number in range(4)]
        far = [Message(said, role="", id=f"f{said[-1]}", metadata={"far": 1}) for said in words]
        bank.remember(ALICE, [*near, *far], session="s")
        recall = bank.recall(ALICE, "bicycle bicycle", where={"metadata.far": 1})
        assert {turn.id for turn in recall.turns} == {"f0", "f1", "f2", "f3"}
        assert {hit.kind for hit in recall.hits} == {"relevant"}


@pytest.mark.filterwarnings("ignore:the embedder .* refuses")  # said again as the bank looks for what was lost
def test_a_text_that_the_model_refuses_keeps_no_other_out() -> None:
    class Choosy(Hashing):
        def _get_text_embedding(self, text: str) -> list[float]:
            if "forbidden" in text:
                raise ValueError("the text is not allowed")
            return super()._get_text_embedding(text)

    store = SimpleVectorStore()
    with MemoryBank.open(vector_store=LlamaIndexVectorStore(store, embed_model=Choosy())) as bank:
        with pytest.warns(DegradedWarning, match="refuses 2 of .* texts"):
            bank.remember(ALICE, [{"role": "user", "content": "This is forbidden."}], session="a", close=True)
        talk(bank, ALICE)
        assert "number3" in bank.recall(ALICE, "number3", token_budget=200).text
        assert there(store)
