"""Where to search on PostgreSQL: in the database, or in this process's index caught up by revision. Both in one run.

    python -m benchmarks.postgres_search [--sizes 1000 10000 50000] [--queries 30] [--json OUT]

One scope of so many turns, and as many turns of other scopes beside it in the same tables.

- *words in the database*: a row a term and turn, with the scope's statistics kept in tables; one query sums BM25.
- *words in the process*: `secom_core.indexes.BM25`, as the bank has it.
- *vectors in the database*: `secom_core.vector_stores.pgvector.PgVectorStore`, exact and by HNSW.
- *vectors in the process*: `secom_core.indexes.VectorIndex`, as the bank has it.

*first* is a query on a new connection, or with the index still to be loaded from the store; *again* is the median of
the queries after it; *add* is one more turn, committed and found. The best 200 are wanted each time. *agrees* is the
share of the process's best ten that the database has among its own; for vectors, of the best 200 by brute force.
Vectors come from a hashing embedder of 384 dimensions, which takes next to no time. A query is of six words.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Engine, text

from benchmarks.adding import utterances
from benchmarks.latency import HashedWords
from benchmarks.places import stores
from benchmarks.retrieval import versions
from secom_core.conversation import Message
from secom_core.indexes import BM25, VectorIndex
from secom_core.indexes.top import best
from secom_core.stores import open_postgres
from secom_core.stores.postgres import postgres_engine
from secom_core.stores.sql import SqlStore
from secom_core.text.terms import terms
from secom_core.vector_stores import PgVectorStore
from secom_core.vectors import DocumentPlace, VectorDocument

BEST = 200
AT = datetime(2024, 5, 3, tzinfo=timezone.utc)
MODEL = "benchmark"
SCOPE, OTHERS = ("benchmark", "mine"), ("benchmark", "others")
SESSION = 1000
TABLES = """
CREATE TABLE bm25_terms (scope int, term text, unit int, tf int, PRIMARY KEY (scope, term, unit));
CREATE TABLE bm25_units (scope int, unit int, length int, PRIMARY KEY (scope, unit));
CREATE TABLE bm25_frequencies (scope int, term text, df int, PRIMARY KEY (scope, term));
CREATE TABLE bm25_scopes (scope int PRIMARY KEY, units int, length bigint);
"""
SEARCH = text("""
SELECT t.unit, sum(ln(1 + (s.units - f.df + 0.5) / (f.df + 0.5)) * t.tf * 2.5
                   / (t.tf + 1.5 * (0.25 + 0.75 * u.length * s.units / s.length))) AS score
FROM bm25_scopes s
JOIN bm25_frequencies f ON f.scope = s.scope AND f.term = ANY(:terms)
JOIN bm25_terms t ON t.scope = s.scope AND t.term = f.term
JOIN bm25_units u ON u.scope = s.scope AND u.unit = t.unit
WHERE s.scope = :scope GROUP BY t.unit ORDER BY score DESC, t.unit LIMIT :best
""")
ADD_TERMS = text("INSERT INTO bm25_terms VALUES (:scope, :term, :unit, :tf)")
ADD_UNIT = text("INSERT INTO bm25_units VALUES (:scope, :unit, :length)")
ADD_FREQUENCY = text(
    "INSERT INTO bm25_frequencies VALUES (:scope, :term, :df)"
    " ON CONFLICT (scope, term) DO UPDATE SET df = bm25_frequencies.df + excluded.df"
)
ADD_SCOPE = text(
    "INSERT INTO bm25_scopes VALUES (:scope, :units, :length) ON CONFLICT (scope) DO UPDATE"
    " SET units = bm25_scopes.units + excluded.units, length = bm25_scopes.length + excluded.length"
)


def add_rows(engine: Engine, scope: int, units: Sequence[tuple[int, str]]) -> None:
    """Keep what the query of `SEARCH` needs, in one transaction."""
    counted = [(unit, Counter(terms(said))) for unit, said in units]
    lengths = [(unit, sum(counts.values())) for unit, counts in counted]
    frequencies = Counter(term for _, counts in counted for term in counts)
    rows = [
        {"scope": scope, "term": term, "unit": unit, "tf": tf}
        for unit, counts in counted
        for term, tf in counts.items()
    ]
    with engine.begin() as connection:
        if rows:
            connection.execute(ADD_TERMS, rows)
            connection.execute(
                ADD_FREQUENCY, [{"scope": scope, "term": term, "df": df} for term, df in sorted(frequencies.items())]
            )
        connection.execute(ADD_UNIT, [{"scope": scope, "unit": unit, "length": length} for unit, length in lengths])
        total = sum(length for _, length in lengths)
        connection.execute(ADD_SCOPE, {"scope": scope, "units": len(units), "length": total})


def timed(act: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = act()
    return (time.perf_counter() - begin) * 1000, found


def median(act: Callable[[Any], Any], over: Sequence[Any]) -> tuple[float, list[Any]]:
    pairs = [timed(lambda each=each: act(each)) for each in over]
    return statistics.median(ms for ms, _ in pairs), [found for _, found in pairs]


def batches(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    iterator = iter(values)
    while batch := list(islice(iterator, size)):
        yield batch


def remembered(store: SqlStore, said: Sequence[str]) -> None:
    """The turns as the bank's store has them, with a vector each."""

    for scope in (SCOPE, OTHERS):
        for number, batch in enumerate(batches(said, SESSION)):
            store.append(scope, f"s{number}", [Message(each, "", "Ann", at=AT) for each in batch])


def overlap(found: Sequence[Sequence[int]], wanted: Sequence[Sequence[int]]) -> float:
    return round(statistics.fmean(len(set(a) & set(b)) / max(1, len(b)) for a, b in zip(found, wanted, strict=True)), 3)


def by_words(url: str, store: SqlStore, said: Sequence[str], queries: Sequence[str]) -> dict[str, dict[str, float]]:
    engine = postgres_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(TABLES)
    for scope in (1, 2):
        for batch in batches(list(enumerate(said)), 2000):
            add_rows(engine, scope, batch)
    with engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").exec_driver_sql("ANALYZE")

    def in_database(query: str) -> list[int]:
        asked = {"terms": sorted(set(terms(query))), "scope": 1, "best": BEST}
        with engine.connect() as connection:
            return [row.unit for row in connection.execute(SEARCH, asked)]

    def loaded() -> BM25:
        index, unit = BM25(), 0
        for row in store.sessions(store.scope(SCOPE).id):
            turns = store.turns(row)
            index.add(range(unit, unit + len(turns)), [turn.content for turn in turns])
            unit += len(turns)
        return index

    engine.dispose()
    first, _ = timed(lambda: in_database(queries[0]))
    again, found = median(in_database, queries)
    new = list(enumerate(queries, start=len(said)))
    added, _ = median(lambda each: add_rows(engine, 1, [each]), new)
    engine.dispose()
    load, index = timed(loaded)

    def in_process(query: str) -> list[int]:
        return [unit for unit, _ in best(*index.scores(query), BEST)]

    warm, wanted = median(in_process, queries)
    grown, _ = median(lambda each: caught_up(store, index, each), new)
    return {
        "words in the database": {
            "first": first, "again": again, "add": added,
            "agrees": overlap(found, [each[:10] for each in wanted]),
        },
        "words in the process": {"first": load + warm, "again": warm, "add": grown, "agrees": 1.0},
    }  # fmt: skip


def caught_up(store: SqlStore, index: BM25, new: tuple[int, str]) -> None:
    """Another process's turn: appended, then read by revision."""
    row = store.scope(SCOPE)
    store.append(SCOPE, "new", [Message(new[1], "", "Ann", at=AT)])
    for session in store.sessions(row.id, since=row.revision):
        for turn in store.turns(session, session.turns - 1):
            index.add([new[0]], [turn.content])


def by_vectors(url: str, store: SqlStore, said: Sequence[str], queries: Sequence[str]) -> dict[str, dict[str, float]]:
    embedder = HashedWords()
    vectors = embedder.embed(said)
    session = store.sessions(store.scope(SCOPE).id)[0]
    for batch in batches(list(enumerate(vectors)), SESSION):
        store.save_vectors(session.id, MODEL, {str(unit): vector for unit, vector in batch})

    def loaded() -> VectorIndex:
        index = VectorIndex()
        held = store.vectors(session.id, MODEL, [str(unit) for unit in range(len(said))])
        index.add([int(unit) for unit in held], np.stack(list(held.values())))
        return index

    load, index = timed(loaded)
    asked = list(embedder.embed(queries))
    warm, exact = median(lambda vector: [unit for unit, _ in index.search(vector, BEST)], asked)
    rows = {}
    dense = PgVectorStore(url, embedder)
    _fill(dense, said, url)
    for name, below in (("exact", 10**9), ("HNSW", 0)):
        dense = PgVectorStore(url, embedder, exact_below=below)
        first, _ = timed(lambda dense=dense: dense.search("mine", queries[0], BEST))
        again, found = median(lambda query, dense=dense: dense.search("mine", query, BEST), queries)
        new = [document("mine", len(said) + place + below % 7 * 1000, each) for place, each in enumerate(queries)]
        added, _ = median(lambda each, dense=dense: dense.upsert([each]), new)
        dense.delete([each.id for each in new])
        units = [[int(each.split("-")[1]) for each in row] for row in found]
        rows[f"vectors in the database, {name}"] = {
            "first": first, "again": again, "add": added, "agrees": overlap(units, exact)
        }  # fmt: skip
        dense.close()

    def caught_up_vector(each: tuple[int, Any]) -> None:
        store.save_vectors(session.id, MODEL, {str(each[0]): each[1]})
        index.add([each[0]], [store.vectors(session.id, MODEL, [str(each[0])])[str(each[0])]])

    grown, _ = median(caught_up_vector, list(enumerate(asked, start=len(said))))
    own = {"first": load + warm, "again": warm, "add": grown, "agrees": 1.0}
    return rows | {"vectors in the process": own}


def document(scope: str, unit: int, said: str) -> VectorDocument:
    return VectorDocument(f"{scope}-{unit}", said, scope, DocumentPlace("turn", "s", unit), str(unit))


def _fill(dense: PgVectorStore, said: Sequence[str], url: str) -> None:
    """As `PgVectorStore.upsert` does; the index over the vectors is made at the end, which is quicker."""
    dense.upsert([document("mine", 0, said[0])])
    engine = postgres_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP INDEX secom_vectors_near")
    for scope in ("mine", "others"):
        for batch in batches(list(enumerate(said)), 1000):
            dense.upsert([document(scope, unit, each) for unit, each in batch])
    with engine.begin() as connection:
        connection.exec_driver_sql("SET LOCAL maintenance_work_mem TO '512MB'")
        connection.exec_driver_sql(
            "CREATE INDEX secom_vectors_near ON secom_vectors USING hnsw (embedding halfvec_cosine_ops)"
        )
        connection.exec_driver_sql("ANALYZE secom_vectors")
    engine.dispose()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 50_000])
    parser.add_argument("--queries", type=int, default=30)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: dict[str, Any] = {}
    print(f"{'ms':<36}{'turns':>8}{'first':>10}{'again':>10}{'add':>10}{'agrees':>8}")
    with tempfile.TemporaryDirectory(prefix="secom-") as folder, stores(["postgres"], Path(folder)) as places:
        for size in options.sizes:
            said = utterances(size + options.queries, 7)
            asked = [" ".join(each.split()[:6]) for each in said[size:]]
            url = places["postgres"](f"search{size}")
            store = open_postgres(url)
            remembered(store, said[:size])
            found = by_words(url, store, said[:size], asked) | by_vectors(url, store, said[:size], asked)
            store.close()
            rows[str(size)] = {name: {key: round(ms, 3) for key, ms in row.items()} for name, row in found.items()}
            for name, row in rows[str(size)].items():
                print(f"{name:<36}{size:>8}" + "".join(f"{row[key]:>10.2f}" for key in ("first", "again", "add"))
                      + f"{row['agrees']:>8.2f}", flush=True)  # fmt: skip
    if options.json:
        settings = {"best": BEST, "queries": options.queries, "versions": versions("psycopg", "pgvector")}
        options.json.write_text(json.dumps({"milliseconds": rows, **settings}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
