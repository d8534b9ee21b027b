"""Whether the search index that is kept with the bank is whole, and of the scope's turns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..conversation import Turn
from ..errors import StaleIndex
from ..indexes.postings import digest_of
from ..memory import passages_of
from ..ranking.block import Block
from ..ranking.merged_columns import Merged
from ..stores.rows import ScopeRow
from ..stores.sql import SqlStore
from .kept_blocks import UNFIT
from .kept_index import FORM, kept_blocks


def flaw(store: SqlStore, scope: ScopeRow) -> str | None:
    """What is wrong with what is kept of a scope's index; nothing where it is whole, and that of the scope's turns."""
    try:
        for space in store.check_index(scope.id):
            blocks = list(kept_blocks(store, scope.id, space).values())
            if not blocks:
                return f"the search index that is kept with the bank for {space!r} is of no embedder's name"
            # One of another form is not read.
            wrong = _disagreement(store, scope, blocks) if blocks[-1].about["stamp"][0] == FORM else None
            if wrong is not None:
                return wrong
    except StaleIndex as error:
        return str(error)
    return None


def _disagreement(store: SqlStore, scope: ScopeRow, blocks: Sequence[Block]) -> str | None:
    last = blocks[-1]
    table = Merged(blocks, "passages")
    rows = np.stack([table[name] for name in ("session", "index", "place", "start", "stop", "digest")], axis=1)
    numbers = {name: number for number, name in enumerate(name for each in blocks for name in each.about["sessions"])}
    not_followed = {each.id for each in store.sessions(scope.id, since=last.about["revision"])}
    not_followed.update(last.arrays["left"].tolist())
    for session in store.sessions(scope.id):
        if session.id not in not_followed:
            ours = rows[rows[:, 0] == numbers.get(session.name, UNFIT)][:, 1:]
            held = sorted(map(tuple, ours.tolist()))
            if held != sorted(_places(store.turns(session))):
                return f"the search index that is kept with the bank is not of the turns of session {session.name!r}"
    return None


def _places(turns: Sequence[Turn]) -> list[tuple[int, ...]]:
    found = ((turn, passage) for turn in turns for passage in passages_of(turn))
    return [(turn.index, each.place, each.start, each.stop, digest_of(turn.id)) for turn, each in found]
