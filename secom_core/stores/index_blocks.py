"""The search index of a scope as it is kept with the bank: blocks in parts, the parts in pieces of bounded size."""

from __future__ import annotations

import json
import secrets
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter
from typing import Any, Final
from zlib import crc32

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from ..errors import StaleIndex
from ..text.batches import batches
from .database import Database, retry_if_contended
from .glances import BLOCKS, INDEX_SPACES, PIECES
from .reasons import Damaged
from .schema import escaped, index_blocks, scopes, unescaped
from .statements import delete_among, insert_row

OPENED: Final = "opened"
"""The part of a block that is read whenever the index is opened; all other parts are read as they are needed."""

_OPENED_PIECE, PIECE = 1 << 15, 1 << 13
"""How many bytes a piece has at most: of the part that is read whole, and of the others, of which little is read."""

_CHECK: Final = struct.Struct("<I")
_ROWS: Final = 500
_NUMBER_BITS: Final = 40
_BEGUN: Final = 100_000
"""Of how many scopes it is known at most that this process began them."""


class IndexBlocks(Database):
    """The blocks of scopes' indexes, in one database. A space is the embedder's name, or nothing without vectors.

    Raises:
        StoreError: from every method, when the database fails; the cause is chained.
        StaleIndex: from those that read, where bytes are damaged, or another process has written others.
    """

    @cached_property
    def begun(self) -> set[int]:
        """The ids of the scopes that this process began: what is missing of their indexes is what it said itself."""
        return set()

    def begin_scope(self, connection: Connection, key: str) -> int:
        """Add a scope; its id."""
        made = insert_row(connection, scopes, key=key)
        if len(self.begun) >= _BEGUN:
            # Whichever: a large one would be made in steps.
            self.begun.pop()
        self.begun.add(made)
        return made

    def index_blocks(self, scope_id: int, space: str) -> dict[int, bytearray]:
        """What is read of each block whenever the index is opened, by its number, in the order in which they go."""
        return self.glanced(
            BLOCKS, partial(_joined, scope_id, space), scope=scope_id, space=escaped(space), part=OPENED
        )

    def check_index(self, scope_id: int) -> list[str]:
        """The spaces that an index of the scope is kept for; `StaleIndex` where a piece of one is damaged or missing.

        What is missing at the end of a part is not seen: `index_blocks` reads one that says how long the others are.
        """
        found = self.index_spaces(scope_id)
        for space in found:
            here = (index_blocks.c.scope_id == scope_id, index_blocks.c.space == space)
            with self.transaction(write=False) as connection:
                for (block, part), rows in groupby(_rows_of(connection, *here), key=lambda row: row[:2]):
                    for place, (*_, piece, data) in enumerate(rows):
                        _checked(data, scope_id, space, block, part, piece, place)
        return found

    def index_spaces(self, scope_id: int) -> list[str]:
        """The spaces that an index of the scope is kept for, whether it is whole or not."""
        return sorted(str(unescaped(str(space))) for (space,) in self.glance(INDEX_SPACES, scope=scope_id))

    def index_pieces(
        self, scope_id: int, space: str, block: int, part: str, numbers: Sequence[int]
    ) -> dict[int, bytes]:
        """Pieces of a part that is not read whole, by their numbers, of `PIECE` bytes but for the last of the part."""
        here = {"scope": scope_id, "space": escaped(space), "block": block, "part": part}
        try:
            rows = self.glance(PIECES[self.dialect], **here, pieces=json.dumps(list(numbers)))
        except Damaged as error:
            raise StaleIndex(str(error)) from error
        found = {piece: bytes(_checked(data, scope_id, space, block, part, piece, piece)) for piece, data in rows}
        if len(found) < len(numbers):
            raise StaleIndex("another process has written the index anew, or a piece of it is missing", damaged=False)
        return found

    def index_parts(self, scope_id: int, space: str, block: int) -> dict[str, bytearray]:
        """All parts of a block, whole."""
        here = (index_blocks.c.scope_id == scope_id, index_blocks.c.space == space, index_blocks.c.block == block)
        with self.transaction(write=False) as connection:
            return {
                part: bytearray().join(
                    _checked(data, scope_id, space, block, part, piece, place)
                    for place, (*_, piece, data) in enumerate(rows)
                )
                for part, rows in groupby(_rows_of(connection, *here), key=itemgetter(1))
            }

    @retry_if_contended
    def save_index_blocks(
        self,
        scope_id: int,
        space: str,
        epoch: int,
        blocks: Sequence[Mapping[str, bytes]],
        *,
        staying: Sequence[int],
        going: Sequence[int] = (),
    ) -> list[int] | None:
        """Keep blocks in the place of others, or beside them.

        Args:
            scope_id: the scope.
            space: the space.
            epoch: the scope's epoch as of which they were made.
            blocks: the bytes of each part of each.
            staying: the numbers of the blocks that stay.
            going: the numbers of those that go.

        Returns:
            The numbers of the new ones; nothing where they were not kept, as the scope has lost something since, or as
            other blocks are there than these.
        """
        here = (index_blocks.c.scope_id == scope_id, index_blocks.c.space == space)
        with self.transaction(durable=False, scope=scope_id) as connection:
            if connection.scalar(select(scopes.c.epoch).where(scopes.c.id == scope_id)) != epoch:
                return None
            there = connection.scalars(select(index_blocks.c.block).where(*here).distinct()).all()
            if sorted(there) != sorted([*staying, *going]):
                return None
            # No number comes twice: whoever still reads an older block is not to find another under its number.
            first = max(there) + 1 if there else secrets.randbits(_NUMBER_BITS) << _NUMBER_BITS // 2
            delete_among(connection, index_blocks.c.block, set(going), *here)
            for number, parts in enumerate(blocks, start=first):
                for rows in batches(list(_rows(scope_id, space, number, parts)), _ROWS):
                    connection.execute(insert(index_blocks), rows)
        return [first + place for place in range(len(blocks))]

    @retry_if_contended
    def drop_index(self, scope_id: int) -> None:
        """Delete what is kept of the scope's index; it is made again."""
        with self.transaction(durable=False, scope=scope_id) as connection:
            delete_index(connection, scope_id)


def _joined(scope_id: int, space: str, rows: Iterable[Sequence[Any]]) -> dict[int, bytearray]:
    """The first parts of blocks by their numbers, of their pieces in any order; each piece is let go once it is read.

    SQLite would sort the bytes of the pieces with their numbers.
    """
    found: dict[int, bytearray] = {}
    pieces: dict[int, int] = {}
    for block, piece, data in rows:
        if not (isinstance(block, int) and isinstance(piece, int)):
            raise _damaged()
        whole = found.setdefault(block, bytearray())
        body, start = _checked(data, scope_id, space, block, OPENED, piece, piece), piece * _OPENED_PIECE
        if start > len(whole):
            whole.extend(bytes(start - len(whole)))
        whole[start : start + len(body)] = body
        pieces[block] = pieces.get(block, 0) + 1
    if any(-(-len(whole) // _OPENED_PIECE) != pieces[block] for block, whole in found.items()):
        raise _damaged()
    return dict(sorted(found.items()))


def _rows_of(connection: Connection, *conditions: ColumnElement[bool]) -> Iterator[Any]:
    order = (index_blocks.c.block, index_blocks.c.part, index_blocks.c.piece)
    yield from connection.execute(select(*order, index_blocks.c.data).where(*conditions).order_by(*order)).all()


@dataclass(frozen=True)
class WithoutThem:
    """Blocks of a scope's index that hold nothing of what is about to be forgotten.

    Args:
        space: the space that they are of.
        numbers: all blocks of that space.
    """

    space: str
    numbers: frozenset[int]


def delete_index(connection: Connection, scope_id: int, besides: WithoutThem | None = None) -> None:
    """Delete what is kept of a scope's index, besides blocks which are known to be as they should."""
    of_scope = index_blocks.c.scope_id == scope_id
    if besides is not None:
        others = index_blocks.c.space != besides.space
        blocks = select(index_blocks.c.block).where(of_scope, ~others).distinct()
        if set(connection.scalars(blocks)) == besides.numbers:
            connection.execute(delete(index_blocks).where(of_scope, others))
            return
    connection.execute(delete(index_blocks).where(of_scope))


def _rows(scope_id: int, space: str, block: int, parts: Mapping[str, bytes]) -> Iterator[dict[str, Any]]:
    for part, data in parts.items():
        size = _OPENED_PIECE if part == OPENED else PIECE
        for piece, start in enumerate(range(0, len(data), size)):
            place = {"scope_id": scope_id, "space": space, "block": block, "part": part, "piece": piece}
            body = data[start : start + size]
            yield {**place, "data": _CHECK.pack(_check(body, scope_id, space, block, part, piece)) + body}


def _damaged() -> StaleIndex:
    return StaleIndex("a piece of the index that is kept with the bank is damaged or missing")


def _check(body: bytes | memoryview, *place: object) -> int:
    """A number that changes with the bytes and with where they belong."""
    return crc32(body, crc32(repr(place).encode()))


def _checked(
    data: object, scope_id: int, space: object, block: object, part: object, piece: object, expected: int
) -> memoryview:
    whole = memoryview(data if isinstance(data, (bytes, memoryview)) else b"")
    body = whole[_CHECK.size :]
    right = _CHECK.pack(_check(body, scope_id, space, block, part, piece))
    if piece != expected or whole[: _CHECK.size] != right:
        raise _damaged()
    return body
