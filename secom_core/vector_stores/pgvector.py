"""Dense search inside PostgreSQL: vectors in a table, an HNSW index over it, a scope at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sqlalchemy import Column, Connection, Index, MetaData, Table, Text, delete, func, select, text
from sqlalchemy.exc import SQLAlchemyError

from ..errors import InvalidInput, MissingExtra, StoreError
from ..models.refusals import vectors_of
from ..processes import ForkLock, in_child
from ..protocols import Embedder, QueryEmbedder, Vectors
from ..stores.database import leave_connections, seconds_to_wait
from ..stores.postgres import postgres_engine
from ..stores.reasons import reason_of
from ..stores.transactions import lock_timeout
from ..vectors import VectorDocument

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
_EXACT_BELOW: Final = 50_000
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended('secom-memory vectors', 1936024429))"


class PgVectorStore:
    """A `secom_core.protocols.VectorStore` on pgvector: half-precision vectors, cosine, filtered by scope.

    A small scope is searched exactly. In a large one the HNSW index (Malkov and Yashunin 2018) is walked on until
    enough of the scope is found (pgvector's iterative scan), so that other scopes' vectors do not starve the search.

    Args:
        url: a PostgreSQL with the extension ``vector``; it may be the bank's own.
        embedder: makes the vectors.
        table: the name of the table; one bank and one embedder have a table of their own.
        exact_below: a scope with fewer documents is searched exactly.

    Raises:
        StoreError: from every method, when the database fails or lacks the extension, or vectors do not fit the table.
        BadReply: the embedder did not give one finite vector of the same length for each text.
        MissingExtra: psycopg or pgvector is not installed.
    """

    def __init__(
        self, url: str, embedder: Embedder, *, table: str = "secom_vectors", exact_below: int = _EXACT_BELOW
    ) -> None:
        if not _NAME.fullmatch(table):
            raise InvalidInput(f"a table's name is lower-case letters, digits and _, at most 40, not {table!r}")
        self._engine = postgres_engine(url)
        self._embedder, self._table_name, self._exact_below = embedder, table, exact_below
        self._table: Table | None = None
        self._lock = ForkLock()
        in_child(self)

    @property
    def name(self) -> str:
        """What tells the collection from others."""
        return f"pgvector/{self._table_name}/{self._embedder.name}"

    def close(self) -> None:
        """Close every connection."""
        self._engine.dispose()

    def renew(self) -> None:
        """Leave the parent's connections to it, in a child."""
        leave_connections(self._engine)

    def upsert(self, documents: Sequence[VectorDocument]) -> None:
        """Add documents. One whose id is there already is the same."""
        if not documents:
            return
        from sqlalchemy.dialects.postgresql import insert

        texts = [each.text for each in documents]
        vectors = vectors_of(self._embedder, self._embedder.embed, texts)
        table = self._table_for(vectors.shape[1])
        rows = [
            {"id": each.id, "scope": each.scope, "embedding": vector}
            for each, vector in zip(documents, vectors, strict=True)
        ]
        with self._transaction() as connection:
            connection.execute(insert(table).on_conflict_do_nothing(), rows)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete documents; unknown ids are passed over."""
        table = self._known_table()
        if table is not None and ids:
            with self._transaction() as connection:
                connection.execute(delete(table).where(table.c.id.in_(ids)))

    def existing(self, ids: Sequence[str]) -> set[str]:
        """Those of ``ids`` that are there."""
        table = self._known_table()
        if table is None or not ids:
            return set()
        with self._transaction() as connection:
            return set(connection.scalars(select(table.c.id).where(table.c.id.in_(ids))))

    def search(self, scope: str, query: str, k: int) -> list[str]:
        """The ids of the ``k`` documents nearest to the query among those with this label, best first."""
        table = self._known_table()
        if table is None:
            return []
        embed = self._embedder.embed_queries if isinstance(self._embedder, QueryEmbedder) else self._embedder.embed
        [vector] = vectors_of(self._embedder, embed, [query])
        self._check_dimensions(table, len(vector))
        with self._transaction() as connection:
            return self._nearest(connection, table, scope, vector, k)

    def _nearest(self, connection: Connection, table: Table, scope: str, vector: Vectors, k: int) -> list[str]:
        of_scope = select(table.c.id).where(table.c.scope == scope)
        some = of_scope.limit(self._exact_below + 1).subquery()
        count = connection.scalar(select(func.count()).select_from(some)) or 0
        if count > self._exact_below:
            connection.execute(_SETTINGS, {"ef": str(min(1000, max(2 * k, 100)))})
            near = of_scope.order_by(table.c.embedding.cosine_distance(vector)).limit(k)
            found = list(connection.scalars(near))
            if len(found) >= min(k, count):
                return found
        return list(connection.scalars(_exactly(table, scope, vector, k)))

    # -- the table --------------------------------------------------------------------------------------------------

    def _known_table(self) -> Table | None:
        """The table, where anything was ever put into it."""
        if self._table is None:
            with self._transaction() as connection:
                found = connection.scalar(_DIMENSIONS, {"name": self._table_name})
            if found is None:
                return None
            self._table = self._described(int(found))
        return self._table

    def _table_for(self, dimensions: int) -> Table:
        with self._lock:
            table = self._known_table()
            if table is None:
                table = self._described(dimensions)
                with self._transaction() as connection:
                    connection.exec_driver_sql(_LOCK)
                    connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS vector")
                    table.metadata.create_all(connection)
                self._table = table
        self._check_dimensions(table, dimensions)
        return table

    def _check_dimensions(self, table: Table, dimensions: int) -> None:
        if (stored := table.info["dimensions"]) != dimensions:
            raise StoreError(
                f"the table {self._table_name!r} holds vectors of {stored} numbers, the embedder "
                f"{self._embedder.name!r} gives {dimensions}; give each embedder a table of its own"
            )

    def _described(self, dimensions: int) -> Table:
        try:
            from pgvector.sqlalchemy import HALFVEC
        except ImportError as missing:
            raise MissingExtra("PgVectorStore", "postgres") from missing
        cosine = {"embedding": "halfvec_cosine_ops"}
        return Table(
            self._table_name,
            MetaData(),
            Column("id", Text, primary_key=True),
            Column("scope", Text, nullable=False),
            Column("embedding", HALFVEC(dimensions), nullable=False),
            Index(f"{self._table_name}_of_scope", "scope"),
            Index(f"{self._table_name}_near", "embedding", postgresql_using="hnsw", postgresql_ops=cosine),
            info={"dimensions": dimensions},
        )

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                if (wait := seconds_to_wait()) is not None:
                    # Such as for a REINDEX, for which a search waits too.
                    connection.execute(_WAIT, {"ms": str(lock_timeout(wait))})
                yield connection
        except SQLAlchemyError as error:
            raise StoreError(f"pgvector at {self._engine.url.set(query={})} failed: {reason_of(error)}") from error


_WAIT: Final = text("SELECT set_config('lock_timeout', :ms, true)")
_DIMENSIONS: Final = text(
    "SELECT atttypmod FROM pg_attribute WHERE attrelid = to_regclass(:name) AND attname = 'embedding'"
)
# strict_order: the best first; the scan goes on until the limit is met, however little of the index is the scope's.
_SETTINGS: Final = text(
    "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', :ef, true),"
    " set_config('hnsw.max_scan_tuples', '200000', true)"
)


def _exactly(table: Table, scope: str, vector: Vectors, k: int) -> Any:
    distance = table.c.embedding.cosine_distance(vector).label("distance")
    # Materialised: the index over all scopes is not asked.
    near = select(table.c.id, distance).where(table.c.scope == scope).cte("near").prefix_with("MATERIALIZED")
    return select(near.c.id).order_by(near.c.distance, near.c.id).limit(k)
