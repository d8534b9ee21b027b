"""Dense search inside PostgreSQL: the contract of `VectorStore`, exact and by HNSW, and a bank over it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest
from embedders import HashingEmbedder

from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning, InvalidInput, StoreError
from secom_core.protocols import VectorStore
from secom_core.stores.database import waiting_at_most
from secom_core.vector_stores import PgVectorStore
from secom_core.vectors import DocumentPlace, VectorDocument

pytest.importorskip("pgvector", reason="the extra 'postgres' is not installed")

ANN, BOB = ("acme", "ann"), ("acme", "bob")


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder(64)


@pytest.fixture
def index(postgres, embedder) -> Iterator[PgVectorStore]:
    with postgres.database() as url:
        made = PgVectorStore(url, embedder)
        yield made
        made.close()


def documents(scope: str, texts: list[str]) -> list[VectorDocument]:
    return [
        VectorDocument(f"{scope}-{place}", text, scope, DocumentPlace("turn", "s", place), f"t{place}")
        for place, text in enumerate(texts)
    ]


def nearest(embedder: HashingEmbedder, made: list[VectorDocument], query: str, k: int) -> list[str]:
    cosines = embedder.embed([each.text for each in made]) @ embedder.embed([query])[0]
    order = sorted(range(len(made)), key=lambda place: (-round(float(cosines[place]), 3), made[place].id))
    return [made[place].id for place in order[:k]]


def similarity(embedder: HashingEmbedder, made: list[VectorDocument], query: str, ids: list[str]) -> float:
    texts = {each.id: each.text for each in made}
    return float((embedder.embed([texts[each] for each in ids]) @ embedder.embed([query])[0]).sum())


def spoken(count: int, seed: int) -> list[str]:
    generator = np.random.default_rng(seed)
    words = [f"word{number}" for number in range(300)]
    return [" ".join(generator.choice(words, 8)) for _ in range(count)]


def test_it_is_a_dense_store_and_knows_nothing_before_anything_is_there(index):
    assert isinstance(index, VectorStore)
    assert (index.search("a", "anything", 5), index.existing(["x"])) == ([], set())
    index.delete(["x"])
    index.upsert([])


def test_it_finds_what_brute_force_finds_and_only_in_its_scope(index, embedder):
    mine, others = documents("a", spoken(200, 1)), documents("b", spoken(200, 2))
    index.upsert(mine)
    index.upsert(others)
    index.upsert(mine[:3])
    for query in spoken(5, 3):
        found = index.search("a", query, 10)
        assert len(set(found) & set(nearest(embedder, mine, query, 10))) >= 9
        assert all(each.startswith("a-") for each in found)
    assert index.existing(["a-0", "b-1", "c"]) == {"a-0", "b-1"}
    index.delete(["a-0", "c"])
    assert index.existing(["a-0", "a-1"]) == {"a-1"}


def test_a_scope_among_many_others_is_not_starved_by_the_index(postgres, embedder):
    with postgres.database() as url:
        index = PgVectorStore(url, embedder, exact_below=20)
        index.upsert(documents("others", spoken(1500, 4)))
        mine = documents("mine", spoken(60, 5))
        index.upsert(mine)
        for query in spoken(5, 6):
            found = index.search("mine", query, 30)
            best = nearest(embedder, mine, query, 30)
            assert len(set(found)) == 30
            assert similarity(embedder, mine, query, found) >= 0.95 * similarity(embedder, mine, query, best)
        index.close()


def test_vectors_of_two_lengths_do_not_share_a_table(index, postgres):
    index.upsert(documents("a", ["one"]))
    other = PgVectorStore(index._engine.url.render_as_string(hide_password=False), HashingEmbedder(32))
    with pytest.raises(StoreError, match=r"vectors of 64 numbers.*hashing-32"):
        other.upsert(documents("a", ["two"]))
    with pytest.raises(StoreError, match=r"vectors of 64 numbers.*hashing-32"):
        other.search("a", "one", 1)
    other.close()


class Spoilt(HashingEmbedder):
    """Gives the first of its vectors twice, and no numbers."""

    def embed(self, texts):
        rows = super().embed(texts)
        return np.vstack([rows[:1] * np.nan, rows])


def test_bad_vectors_cost_a_search_by_words_and_no_exception(postgres, embedder):
    with postgres.database() as url:
        index = PgVectorStore(url, embedder)
        with MemoryBank.open(vector_store=index) as bank:
            bank.remember(ANN, [{"role": "user", "content": "I moved to Ghent."}], session="s")
            index._embedder = Spoilt(64)
            with pytest.warns(DegradedWarning, match=r"hashing-64 gave no vector for each of 1 texts: .* \(2, 64\)"):
                assert "Ghent" in bank.recall(ANN, "Where did I move?").text
            with pytest.warns(DegradedWarning, match="what it lacks is found by words"):
                bank.remember(ANN, [{"role": "user", "content": "My cat hates the stairs."}], session="t")
            index._embedder = embedder
            bank.recall(ANN, "cat")
            assert bank.recall(ANN, "Where did I move?").hits
        index.close()


def test_a_server_that_is_not_there_is_a_store_error(embedder):
    index = PgVectorStore("postgresql://ann:pa55word@127.0.0.1:1/bank", embedder)
    with pytest.raises(StoreError, match=r"pgvector at .*127\.0\.0\.1") as failed:
        index.search("a", "x", 3)
    assert "pa55word" not in str(failed.value)


@pytest.mark.parametrize("name", ["", "Has-Dash", "x; DROP TABLE scopes", "a" * 41])
def test_a_table_has_a_plain_name(embedder, name):
    with pytest.raises(InvalidInput, match="a table's name"):
        PgVectorStore("postgresql://host/bank", embedder, table=name)


def test_a_bank_searches_in_the_database_that_it_lives_in(postgres, embedder):
    with postgres.database() as url:
        dense = PgVectorStore(url, embedder)
        with MemoryBank.open(url, vector_store=dense) as bank, MemoryBank.open(embedder=embedder) as local:
            for each in (bank, local):
                for scope in (ANN, BOB):
                    for place, text in enumerate(spoken(30, len(scope[1]) + ord(scope[1][0]))):
                        each.remember(scope, [{"role": "user", "content": text, "id": str(place)}], session="s")
            query = spoken(1, 9)[0]
            found = {turn.id for turn in bank.recall(ANN, query, k=5).turns}
            assert found
            assert found & {turn.id for turn in local.recall(ANN, query, k=5).turns}
            bank.forget(ANN)
            assert bank.recall(ANN, query).hits == ()
            with dense._engine.connect() as connection:
                left = connection.exec_driver_sql("SELECT count(DISTINCT scope) FROM secom_vectors").scalar()
            assert left == 1
        dense.close()


@pytest.mark.slow
def test_while_the_table_of_vectors_is_taken_a_recall_for_an_answer_searches_by_words(postgres, embedder):
    with postgres.database() as url, MemoryBank.open(url, vector_store=PgVectorStore(url, embedder)) as bank:
        bank.remember(ANN, [Message("I moved to Ghent.")], session="s")
        assert bank.recall(ANN, "Ghent").hits
        with postgres.tables_taken(url, "secom_vectors"):
            began = time.monotonic()
            with waiting_at_most(0.2), pytest.warns(DegradedWarning, match="lock timeout"):
                assert "Ghent" in bank.recall(ANN, "Where is Ghent?").text
            assert time.monotonic() - began < 20


@pytest.mark.slow
def test_a_filtered_recall_finds_what_passes_however_much_is_nearer(index):
    with MemoryBank.open(vector_store=index, granularity="turn", weights={"passage_dense": 1}) as bank:
        near = [Message(f"bicycle bicycle number{number}", role="", id=f"n{number}") for number in range(300)]
        words = [f"a red bicycle in spring {number}" for number in range(4)]
        far = [Message(said, role="", id=f"f{said[-1]}", metadata={"far": 1}) for said in words]
        bank.remember(ANN, [*near, *far], session="s")
        recall = bank.recall(ANN, "bicycle bicycle", where={"metadata.far": 1})
        assert {turn.id for turn in recall.turns} == {"f0", "f1", "f2", "f3"}
        assert {hit.kind for hit in recall.hits} == {"relevant"}
