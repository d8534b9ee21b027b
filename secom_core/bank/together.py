"""Many small scopes that begin alike, searched as one: a search of each by itself takes as long in a small one."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from itertools import groupby
from typing import Final, NamedTuple

from ..chats.heads import last_turns
from ..conversation import Scope, Turn
from ..derived.segments import Derivation, searched_texts
from ..memory import Memory
from ..processes import ForkLock, in_child
from ..ranking import Candidate, ScopeIndex
from ..stores.rows import ScopeRow
from ..stores.sql import SqlStore
from ..text.batches import batches
from .asked import Asked
from .checks import check_moment

_FEW: Final = 8
"""So many scopes are searched one by one: their indexes are kept with the bank."""
_SMALL: Final = 32
"""How many sessions a scope has at most that is searched together with others."""
_HELD: Final = 4
"""Of how many searches, by what their scopes begin with, an index is held."""
_ALL_OF_IT: Final = 10**9
"""A budget that no search fills."""

_IDS: Final = {
    "sqlite": "SELECT value FROM json_each(:ids)",
    "postgresql": "SELECT CAST(json_array_elements_text(CAST(:ids AS JSON)) AS BIGINT)",
}
_SIZES: Final = {
    dialect: f"SELECT scope_id, count(*) FROM sessions WHERE scope_id IN ({ids}) GROUP BY scope_id"  # noqa: S608
    for dialect, ids in _IDS.items()
}
_VERSIONS: Final = {
    dialect: f"SELECT scope_id, id, version FROM sessions WHERE scope_id IN ({ids}) ORDER BY scope_id, id"  # noqa: S608
    for dialect, ids in _IDS.items()
}


class Found(NamedTuple):
    """The last turn of a session that a search has found.

    Args:
        scope: whose.
        session_id: the number of the session.
        turn_id: the id of the turn.
        relevance: how relevant it is, from 0 to 1.
    """

    scope: Scope
    session_id: int
    turn_id: str
    relevance: float


@dataclass(eq=False)
class _Joint:
    """An index of the last turns of sessions, and what it was made from.

    Args:
        index: the index; in it, a session's name is its number.
        scopes: by their ids, the scopes that it has followed, each as it was then; also those that are not small.
        versions: the sessions of the small ones by their ids, with their versions.
        turns: what is in the index of a session.
        lacks_vectors: whether an embedder failed when it was made.
        lock: for whoever reads or changes it.
    """

    index: ScopeIndex
    scopes: dict[int, tuple[Scope, ScopeRow]] = field(default_factory=dict)
    versions: dict[int, dict[int, int]] = field(default_factory=dict)
    turns: dict[int, Turn] = field(default_factory=dict)
    lacks_vectors: bool = False
    lock: ForkLock = field(default_factory=ForkLock)

    def drop(self, scope_ids: Iterable[int]) -> None:
        """Take scopes out."""
        for scope_id in list(scope_ids):
            self.scopes.pop(scope_id, None)
            self.take_out(self.versions.pop(scope_id, ()))

    def take_out(self, session_ids: Iterable[int]) -> None:
        """Take the turns of sessions out of the index."""
        gone = [self.turns.pop(each) for each in session_ids if each in self.turns]
        if gone:
            self.index.remove_turns(gone)


class Together:
    """Searches many small scopes at once, in an index that is held in memory and follows what any process writes.

    Args:
        store: where the scopes are.
        derivation: makes vectors.
        new_index: makes an empty index.
        outdated: is called where another process has forgotten something.
        zone: the time zone of the users.
    """

    def __init__(
        self,
        store: SqlStore,
        derivation: Derivation,
        new_index: Callable[[], ScopeIndex],
        outdated: Callable[[], None],
        zone: tzinfo | None,
    ) -> None:
        self._zone = zone
        self._store, self._derivation, self._new_index, self._outdated = store, derivation, new_index, outdated
        self._lock = ForkLock()
        self.renew()
        in_child(self)

    def renew(self) -> None:
        """Hold nothing, as at first: in a child, what threads of the parent had half followed."""
        self._held: OrderedDict[Scope, _Joint] = OrderedDict()

    def search(
        self,
        within: Scope,
        scopes: Sequence[tuple[Scope, ScopeRow]],
        query: str,
        exclude: Collection[str] = (),
    ) -> tuple[list[Found], list[Scope]]:
        """What a query finds in the small ones of some scopes, best first; and the others, which it leaves alone.

        Args:
            within: what the scopes begin with.
            scopes: all that begin so, as they are now.
            query: what is asked.
            exclude: ids of turns that are not looked for.
        """
        if len(scopes) <= _FEW:
            return [], [scope for scope, _ in scopes]
        asked, now = Asked.of(query), check_moment("now", None, self._zone)
        vector = self._derivation.query_vector(asked.telling, asked.leant_on)
        joint = self._joint(within, retry=vector is not None)
        with joint.lock:
            with ExitStack() as half_followed:
                half_followed.callback(self._held.pop, within, None)
                self._follow(joint, scopes)
                half_followed.pop_all()
            candidates = joint.index.search(
                asked.telling, vector, now=now, context=asked.context, budget=_ALL_OF_IT, exclude=exclude
            )
            found = _found(candidates, {each: number for number, known in joint.versions.items() for each in known})
            others = [scope for scope, row in scopes if row.id not in joint.versions]
            return [Found(joint.scopes[each[0]][0], *each[1:]) for each in found], others

    def forget(self, scope: Scope) -> None:
        """Hold no words of a scope, as some of them were forgotten; what is left is read again."""
        for within, joint in list(self._held.items()):
            # A search that makes the vectors of others holds the lock for as long as that takes.
            if scope[: len(within)] == within:
                with joint.lock:
                    joint.drop([number for number, (name, _) in joint.scopes.items() if name == scope])

    def _joint(self, within: Scope, *, retry: bool) -> _Joint:
        with self._lock:
            joint = self._held.pop(within, None)
            if joint is None or (retry and joint.lacks_vectors):
                joint = _Joint(self._new_index())
            self._held[within] = joint
            while len(self._held) > _HELD:
                self._held.popitem(last=False)
            return joint

    def _follow(self, joint: _Joint, scopes: Sequence[tuple[Scope, ScopeRow]]) -> None:
        """Take in what has come since, and take out what is gone."""
        now = {row.id: (scope, row) for scope, row in scopes}
        changed = {number: each for number, each in now.items() if joint.scopes.get(number) != each}
        if any(number not in now or now[number][1].epoch != row.epoch for number, (_, row) in joint.scopes.items()):
            self._outdated()
        sizes = dict(self._store.glance(_SIZES[self._store.dialect], ids=json.dumps(list(changed))))
        small = [number for number in changed if sizes.get(number, 0) <= _SMALL]
        joint.drop([*(joint.scopes.keys() - now.keys()), *(changed.keys() - small)])
        of_small = self._versions(small)
        for number, versions in of_small.items():
            known = joint.versions.get(number, {})
            joint.take_out([each for each, version in known.items() if versions.get(each) != version])
        new = [each for versions in of_small.values() for each in versions if each not in joint.turns]
        turns = {each: turn for part in batches(new) for each, (turn, _) in last_turns(self._store, part).items()}
        for number, versions in of_small.items():
            self._add(joint, {each: turns[each] for each in versions if each in turns}, now[number][1])
        joint.versions |= of_small
        joint.scopes |= changed

    def _versions(self, scope_ids: Sequence[int]) -> dict[int, dict[int, int]]:
        found: dict[int, dict[int, int]] = {each: {} for each in scope_ids}
        for scope_id, session_id, version in self._store.glance(
            _VERSIONS[self._store.dialect], ids=json.dumps(list(scope_ids))
        ):
            found[scope_id][session_id] = version
        return found

    def _add(self, joint: _Joint, read: Mapping[int, Turn], row: ScopeRow) -> None:
        """Index the last turns of sessions of a scope, by the numbers of the sessions."""
        turns = {each: _alone(each, turn) for each, turn in read.items() if turn.messages[0].says_anything}
        texts = [(each, text) for each, turn in turns.items() for text in searched_texts([turn])]
        keys = [(each, turn.text) for each, turn in turns.items()]
        # An embedder that has failed is not asked again for each scope, which may wait for it each time.
        vectors = self._derivation.vectors_of_sessions(
            [*texts, *keys], epoch=row.epoch, only_stored=joint.lacks_vectors
        )
        joint.lacks_vectors |= vectors is None and bool(texts) and self._derivation.space is not None
        of_turns, of_keys = (None, None) if vectors is None else (vectors[: len(texts)], vectors[len(texts) :])
        joint.index.add_turns(list(turns.values()), of_turns)
        for place, turn in enumerate(turns.values()):
            memory = Memory(f"{turn.session}#0-1", turn.text, (turn,))
            joint.index.set_memories(turn.session, 0, [memory], None if of_keys is None else of_keys[place : place + 1])
        joint.turns |= turns


def _alone(session_id: int, turn: Turn) -> Turn:
    """A turn as it is indexed: without its metadata, and in a session that is told from those of all other scopes."""
    messages = tuple(replace(each, metadata={}) for each in turn.messages)
    return Turn(messages, str(session_id), id=turn.id)


def _found(candidates: Iterable[Candidate], scope_of: Mapping[int, int]) -> list[tuple[int, int, str, float]]:
    """Turns, the most relevant first, by the numbers of their scope and their session; with their relevance.

    Those that rank alike come in the order in which their scopes, and in them their sessions, came.
    """
    best: dict[str, Candidate] = {}
    for each in candidates:
        if each.kind != "standing" and each.relevance > getattr(best.get(each.turn.id), "relevance", -1.0):
            best[each.turn.id] = each
    ranked = sorted(best.values(), key=lambda each: -each.relevance)
    found: list[tuple[int, int, str, float]] = []
    for _, group in groupby(ranked, key=lambda each: each.score):
        alike = list(group)
        places = sorted((scope_of[int(each.turn.session)], int(each.turn.session), each.turn.id) for each in alike)
        found += [(*place, each.relevance) for place, each in zip(places, alike, strict=True)]
    return found
