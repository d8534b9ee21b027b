"""The memory bank: a conversation goes in, the right turns come back."""

from __future__ import annotations

import hashlib
import threading
import warnings
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal

import numpy as np
from tqdm import tqdm

from . import transfer
from .analysis import count_tokens
from .context import Packer, PackTurns, render
from .conversation import Message, Scope, Session, Turn, check_scope, stamped
from .errors import DegradedWarning, InvalidInput, ModelError
from .memory import Memory, Recall, Segment, check_partition
from .presets import Preset
from .protocols import Denoiser, Embedder, Segmenter, TokenCounter, Vectors
from .ranking import ScopeIndex
from .readers import read_messages
from .segmenters.fixed import EachTurn, WholeSession
from .segmenters.lexical import LexicalSegmenter
from .stores.sql import MemoryRow, ScopeRow, SessionRow, SqlStore
from .stores.sqlite import open_sqlite

__all__ = ["MemoryBank", "Remembered", "Stats"]

Granularity = Literal["segment", "turn", "session"]

_TAIL: Final = 48
"""How many turns at the end of an open session may still be cut anew: bounds the cost of one more turn."""

_DEFAULT_BUDGET: Final = 2000


@dataclass(frozen=True, slots=True)
class Remembered:
    """What `MemoryBank.remember` took in.

    Args:
        turn_ids: the turns that hold the messages given, new or known, in order.
        new: how many messages were new.
    """

    turn_ids: tuple[str, ...]
    new: int


@dataclass(frozen=True, slots=True)
class Stats:
    """How much a scope holds."""

    sessions: int
    turns: int
    messages: int
    memories: int
    vectors: int


@dataclass
class _Loaded:
    """A scope's index in this process, and how far it has followed the store."""

    index: ScopeIndex
    row: ScopeRow
    lock: threading.RLock = field(default_factory=threading.RLock)
    known: dict[int, tuple[int, int]] = field(default_factory=dict)
    lacks_vectors: bool = False


class MemoryBank:
    """Long-term memory of conversations, a scope at a time.

    Everything works with nothing but the base install; an embedder, a language model's segmenter or LLMLingua-2 make
    it better and are one argument each. All methods may be called from any thread. Async callers run them in a worker
    thread, as the framework adapters do.

    Args:
        store: where turns live; see `MemoryBank.open` for a file.
        segmenter: cuts sessions into topics; `LexicalSegmenter` unless given.
        denoiser: makes the keys that are searched; the words themselves unless given.
        embedder: adds dense search to lexical search.
        granularity: the unit of memory: ``"segment"``, or ``"turn"`` or ``"session"`` for comparison.
        weights: the ranking's weights by signal, such as ``{"segment_lexical": 1}``; the fitted ones unless given.
        packer: fills the token budget; `PackTurns` unless given.
        token_counter: counts as the model that reads the context does; an estimate unless given.
        max_scopes: how many scopes are held ready in memory; the least recently used is dropped first.
        progress: show progress bars on long work.
    """

    def __init__(
        self,
        store: SqlStore,
        *,
        segmenter: Segmenter | None = None,
        denoiser: Denoiser | None = None,
        embedder: Embedder | None = None,
        granularity: Granularity = "segment",
        weights: Mapping[str, float] | None = None,
        packer: Packer | None = None,
        token_counter: TokenCounter | None = None,
        max_scopes: int = 1000,
        progress: bool = False,
    ) -> None:
        self._store = store
        self._segmenter = _segmenter_for(granularity, segmenter)
        self._denoiser = denoiser
        self._embedder = embedder
        self._tail = None if granularity == "session" else _TAIL
        self._weights = weights
        self._packer = packer or PackTurns()
        self._counter = token_counter or count_tokens
        self._max_scopes = max_scopes
        self._progress = progress
        self._loaded: OrderedDict[Scope, _Loaded] = OrderedDict()
        self._lock = threading.RLock()

    @classmethod
    def open(cls, path: str | Path = ":memory:", *, preset: Preset | None = None, **parts: Any) -> MemoryBank:
        """Open the bank in one file, made if it is not there.

        Args:
            path: the file; ``":memory:"`` keeps nothing.
            preset: a paper's configuration (see `secom_core.presets`).
            **parts: as for `MemoryBank`; they go before the preset's.

        Raises:
            StoreError: the file cannot be opened, or is no bank.
        """
        return cls(open_sqlite(path), **{**(preset.parts() if preset else {}), **parts})

    def __enter__(self) -> MemoryBank:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the store. Nothing needs saving: what `remember` returned for is on disk."""
        self._store.close()

    # -- remember -------------------------------------------------------------------------------------------------

    def remember(
        self,
        scope: Sequence[str],
        messages: Session | Iterable[Message | Mapping[str, Any]],
        *,
        session: str | None = None,
        at: datetime | None = None,
        close: bool = False,
    ) -> Remembered:
        """Take in messages. When this returns, they are on disk and can be recalled.

        Args:
            scope: whose memory it is.
            messages: a `Session`, or messages or role/content dicts in order.
            session: the session they belong to; a `Session` brings its own name.
            at: when they were said, for those that do not say so; now unless given.
            close: the session ends here.

        Raises:
            InvalidScope: for a scope that is not a non-empty tuple of non-empty strings.
            InvalidInput: for messages that no reader understands, or a missing session.
            DuplicateId: an id belongs to another message already; nothing is taken in.
            StoreError: the store failed; nothing is taken in.
        """
        scope = check_scope(scope)
        name = _session_name(messages, session)
        said = messages.messages if isinstance(messages, Session) else read_messages(messages)
        moment = at or datetime.now(timezone.utc)
        if self._denoiser is not None:
            self._caught_up(scope, retry_vectors=False)  # its keys rest on the scope's statistics
        appended = self._store.append(scope, name, [stamped(message, _aware(moment)) for message in said])
        if close:
            self._store.close_session(scope, name)
        self._derive(appended.session_id, scope)
        return Remembered(appended.turn_ids, appended.new)

    def remember_sessions(self, scope: Sequence[str], history: Sequence[Session]) -> Remembered:
        """Take in whole sessions, each closed at its end, with a progress bar where the bank shows them."""
        done = [self.remember(scope, each, close=True) for each in self._bar(history, "remembering", "session")]
        return Remembered(tuple(id_ for each in done for id_ in each.turn_ids), sum(each.new for each in done))

    def close_session(self, scope: Sequence[str], session: str) -> None:
        """Say that the session is over: its last topic settles. Remembering more opens it again."""
        row = self._store.close_session(check_scope(scope), session)
        if row is not None:
            self._derive(row.id, check_scope(scope))

    # -- recall ---------------------------------------------------------------------------------------------------

    def recall(
        self,
        scope: Sequence[str],
        query: str,
        *,
        token_budget: int | None = None,
        k: int | None = None,
        now: datetime | None = None,
        exclude: Collection[str] = (),
    ) -> Recall:
        """Bring back what answers the query: verbatim, in time order, numbered, inside the budget.

        Args:
            scope: whose memory is searched; nothing else is looked at.
            query: a question, or what was just said.
            token_budget: the length of the block at most, in the bank's token counter; 2000 where neither it nor
                ``k`` is given.
            k: how many memories at most.
            now: when the query is asked, for "last week"; the present unless given.
            exclude: ids of turns that are in the prompt already and need not come back.

        Raises:
            InvalidScope, InvalidInput: for a bad scope, or a query, budget or ``k`` that cannot be used.
            StoreError: the store failed.
        """
        scope = check_scope(scope)
        _check_request(query, token_budget, k)
        budget = _DEFAULT_BUDGET if token_budget is None and k is None else token_budget
        vector = self._query_vector(query)
        loaded = self._caught_up(scope, retry_vectors=vector is not None)
        if loaded is None:
            return Recall(query, (), "", 0)
        with loaded.lock:
            candidates = loaded.index.search(query, vector, now=_aware(now or datetime.now(timezone.utc)))
            if exclude:
                candidates = [each for each in candidates if each.turn.id not in exclude]
            hits = self._packer.pack(candidates, token_budget=budget, k=k, counter=self._counter)
        text = render(hits)
        return Recall(query, tuple(hits), text, self._counter(text))

    # -- look -----------------------------------------------------------------------------------------------------

    def scopes(self) -> list[Scope]:
        """Every scope that holds anything."""
        return self._store.scopes()

    def sessions(self, scope: Sequence[str]) -> list[str]:
        """The names of the scope's sessions, in the order in which they came."""
        return [row.name for row in self._sessions(check_scope(scope))]

    def turns(self, scope: Sequence[str], session: str) -> list[Turn]:
        """The session's turns, verbatim, in order; none where it is unknown."""
        return [turn for row in self._sessions(check_scope(scope), session) for turn in self._store.turns(row)]

    def memories(self, scope: Sequence[str], session: str) -> list[Memory]:
        """The session's memories, in order; those at the end of an open session may still change."""
        found = []
        for row in self._sessions(check_scope(scope), session):
            current = self._derive(row.id, check_scope(scope)) or row
            found += _memories(current, self._store.memories(current.id), self._store.turns(current))
        return found

    def segments(self, scope: Sequence[str], session: str) -> list[Segment]:
        """The session's segments as positions in `turns`; they cover it with no gap and no overlap."""
        stops = np.cumsum([len(memory.turns) for memory in self.memories(scope, session)], dtype=int).tolist()
        return [Segment(start, stop) for start, stop in pairwise([0, *stops])]

    def stats(self, scope: Sequence[str]) -> Stats:
        """How much the scope holds."""
        row = self._store.scope(check_scope(scope))
        return Stats(**self._store.counts(row.id)) if row else Stats(0, 0, 0, 0, 0)

    # -- forget ---------------------------------------------------------------------------------------------------

    def forget(
        self,
        scope: Sequence[str],
        *,
        session: str | None = None,
        turn_ids: Sequence[str] | None = None,
        before: datetime | None = None,
    ) -> int:
        """Delete turns and all that was made from them; the whole scope where no condition is given.

        Args:
            scope: whose memory it is.
            session: only turns of this session.
            turn_ids: only these turns; the id of any message of a turn names it.
            before: only turns that began earlier.

        Returns:
            How many turns are gone.
        """
        scope = check_scope(scope)
        if isinstance(turn_ids, str):
            raise InvalidInput(f"turn_ids is a sequence of ids, not the string {turn_ids!r}")
        with self._lock:
            self._loaded.pop(scope, None)
        if session is None and turn_ids is None and before is None:
            return self._store.forget_scope(scope)
        row = self._store.scope(scope)
        if row is None:
            return 0
        doomed = self._store.matching_turns(
            row.id, session=session, turn_ids=list(turn_ids) if turn_ids is not None else None, before=before
        )
        return sum(self._forget_turns(scope, session_id, turns) for session_id, turns in doomed.items())

    def _forget_turns(self, scope: Scope, session_id: int, doomed: set[int]) -> int:
        while (row := self._store.session(session_id)) is not None:
            turns = self._store.turns(row)
            gone = [turn for turn in turns if turn.index in doomed]
            kept = [turn for turn in turns if turn.index not in doomed]
            old = self._store.memories(row.id)
            rows = self._shrunk(scope, old, kept, doomed)
            remaining = {_digest(text) for text in [*(t.text for t in kept), *(r.key for r in rows)]}
            if self._store.forget_turns(row, doomed, rows, remaining):
                return len(gone)
        return 0

    def _shrunk(
        self, scope: Scope, old: Sequence[MemoryRow], kept: Sequence[Turn], doomed: set[int]
    ) -> list[MemoryRow]:
        """The memories without the doomed turns: same cuts, and keys made again where a turn is missing."""
        rows = []
        for memory in old:
            turns = [turn for turn in kept if memory.start <= turn.index < memory.stop]
            if turns and not doomed.isdisjoint(range(memory.start, memory.stop)):
                rows += self._rows([turns], [(memory.start, memory.stop)], (), scope)
            elif turns:
                rows.append(memory)
        return rows

    # -- move and mend ----------------------------------------------------------------------------------------------

    def export(self, scope: Sequence[str]) -> Iterator[str]:
        """The scope as JSON lines: every turn verbatim, and the memories made from them."""
        scope = check_scope(scope)
        yield transfer.header(scope)
        for row in self._sessions(scope):
            current = self._derive(row.id, scope) or row
            yield from transfer.session_lines(current, self._store.turns(current), self._store.memories(current.id))

    def import_(self, lines: Iterable[str], *, scope: Sequence[str] | None = None) -> int:
        """Take in what `export` gave; turns that are there already are passed over.

        Args:
            lines: the lines of an export.
            scope: where it goes; the scope that was exported unless given.

        Returns:
            How many turns came in.

        Raises:
            InvalidInput: a line that is not what `export` writes, by its number; nothing is taken in.
            DuplicateId: an id belongs to another message; sessions before it are in.
        """
        exported, history = transfer.read(lines)
        target = check_scope(scope) if scope is not None else exported
        came = 0
        for each in self._bar(history, "importing", "session"):
            known = {turn.id for turn in self.turns(target, each.name)}
            appended = self._store.append(target, each.name, each.messages, turns=None if known else each.places)
            if each.closed:
                self._store.close_session(target, each.name)
            row = self._store.session(appended.session_id)
            if row is not None and not known and each.is_partitioned:
                self._store.save_memories(row, each.memories, settled=each.settled)
            self._derive(appended.session_id, target)
            came += len(set(appended.turn_ids) - known)
        return came

    def rebuild(self, scope: Sequence[str]) -> None:
        """Make everything derived again from the raw turns, with the parts the bank has now."""
        scope = check_scope(scope)
        for row in self._bar(self._sessions(scope), "rebuilding", "session"):
            self._derive(row.id, scope, afresh=True)

    # -- deriving -------------------------------------------------------------------------------------------------

    def _derive(self, session_id: int, scope: Scope, *, afresh: bool = False) -> SessionRow | None:
        """Bring the session's memories up to its messages; costs what its unsettled end costs."""
        while (row := self._store.session(session_id)) is not None and (afresh or not row.is_derived):
            since = 0 if afresh else row.settled
            tail = self._store.turns(row, since)
            old = [] if afresh else self._store.memories(row.id, since)
            segments = self._segment(tail, old)
            ranges = _ranges(tail, segments, row.turns)
            groups = [tail[segment.start : segment.stop] for segment in segments]
            rows = self._rows(groups, ranges, old, scope)
            settled = row.turns if row.closed else self._settled(ranges, since, row.turns)
            if self._store.save_memories(row, rows, settled=settled, since=since):
                afresh = False
                self._drop_stale_vectors(row, old, rows)
                self._embed_missing(row.id, [*(r.key for r in rows), *(turn.text for turn in tail)])
        return row

    def _segment(self, tail: Sequence[Turn], old: Sequence[MemoryRow]) -> list[Segment]:
        """Cut the unsettled turns; where the segmenter can be asked about one turn at a time, ask only for new ones."""
        joins = getattr(self._segmenter, "joins", None)
        covered = [turn for turn in tail if old and turn.index < old[-1].stop]
        if joins is None or not covered or not 0 < len(tail) - len(covered) <= 4:
            return check_partition(self._segmenter.segment(tail), len(tail))
        stops = [sum(turn.index < memory.stop for turn in covered) for memory in old]
        for place in range(len(covered), len(tail)):
            start = stops[-2] if len(stops) > 1 else 0
            if joins(tail[start:place], tail[place]):
                stops[-1] = place + 1
            else:
                stops.append(place + 1)
        return [Segment(start, stop) for start, stop in pairwise([0, *stops])]

    def _settled(self, ranges: Sequence[tuple[int, int]], since: int, turns: int) -> int:
        """The turn from which on memories may still change: as late as keeps the tail short, never in a memory."""
        if self._tail is None:
            return since
        for start, stop in ranges:
            if turns - start <= self._tail:
                return start
            since = stop
        return since

    def _rows(
        self,
        groups: Sequence[Sequence[Turn]],
        ranges: Sequence[tuple[int, int]],
        old: Sequence[MemoryRow],
        scope: Scope,
    ) -> list[MemoryRow]:
        values = ["\n".join(turn.text for turn in group) for group in groups]
        digests = [_digest(value) for value in values]
        known = {row.digest: row.key for row in old}
        fresh = {d: v for d, v in zip(digests, values, strict=True) if d not in known}
        keys = dict(zip(fresh, self._keys(list(fresh.values()), scope), strict=True))
        return [
            MemoryRow(start, stop, known.get(digest) or keys[digest], digest)
            for (start, stop), digest in zip(ranges, digests, strict=True)
        ]

    def _keys(self, values: list[str], scope: Scope) -> list[str]:
        if self._denoiser is None or not values:
            return values
        loaded = self._loaded.get(scope)
        try:
            return self._denoiser.denoise(values, loaded.index.statistics if loaded else None)
        except ModelError as error:
            _degraded("the denoiser failed, keys are the words themselves", error)
            return values

    # -- vectors --------------------------------------------------------------------------------------------------

    def _query_vector(self, query: str) -> Vectors | None:
        if self._embedder is None or not query.strip():
            return None
        try:
            vector: Vectors = self._embedder.embed([query])[0]
        except ModelError as error:
            _degraded("the embedder failed, this search is by words only", error)
            return None
        return vector

    def _embed_missing(self, session_id: int, texts: Sequence[str]) -> dict[str, Vectors] | None:
        """Vectors of the texts by digest, stored or made now; nothing where they cannot be made."""
        if self._embedder is None:
            return {}
        by_digest = {_digest(text): text for text in texts}
        found = self._store.vectors(session_id, self._embedder.name, list(by_digest))
        missing = [digest for digest in by_digest if digest not in found]
        try:
            made = self._embedder.embed([by_digest[digest] for digest in missing]) if missing else ()
        except ModelError as error:
            _degraded("the embedder failed, what was said is found by words until it answers again", error)
            return None
        new = dict(zip(missing, made, strict=True))
        if new:
            self._store.save_vectors(session_id, self._embedder.name, new)
        return {**found, **new}

    def _drop_stale_vectors(self, row: SessionRow, old: Sequence[MemoryRow], new: Sequence[MemoryRow]) -> None:
        if self._embedder is not None:
            stale = {_digest(r.key) for r in old} - {_digest(r.key) for r in new}
            if stale:
                self._store.drop_vectors(row.id, sorted(stale))

    # -- the index in this process ----------------------------------------------------------------------------------

    def _caught_up(self, scope: Scope, *, retry_vectors: bool) -> _Loaded | None:
        """The scope's index with everything that any process has written."""
        row = self._store.scope(scope)
        with self._lock:
            loaded = self._loaded.pop(scope, None)
            if row is None:
                return None
            outdated = loaded is not None and (loaded.row.id, loaded.row.epoch) != (row.id, row.epoch)
            if loaded is None or outdated or (loaded.lacks_vectors and retry_vectors):
                loaded = _Loaded(self._new_index(), ScopeRow(row.id, -1, row.epoch))
            self._loaded[scope] = loaded
            while len(self._loaded) > self._max_scopes:
                self._loaded.popitem(last=False)
        with loaded.lock:
            if loaded.row.revision < row.revision:
                self._follow(scope, loaded)
                loaded.row = row
        return loaded

    def _new_index(self) -> ScopeIndex:
        return ScopeIndex(dense=self._embedder is not None, weights=self._weights, counter=self._counter)

    def _follow(self, scope: Scope, loaded: _Loaded) -> None:
        for row in self._store.sessions(loaded.row.id, since=loaded.row.revision):
            current = self._derive(row.id, scope)
            if current is not None:
                self._follow_session(loaded, current)

    def _follow_session(self, loaded: _Loaded, row: SessionRow) -> None:
        last_turn, settled = loaded.known.get(row.id, (0, 0))
        turns = self._store.turns(row, min(last_turn, settled))
        memories = _memories(row, self._store.memories(row.id, settled), turns)
        # What another writer adds between these reads has no memory yet; the next call sees it.
        end = memories[-1].turns[-1].index if memories else -1
        new = [turn for turn in turns if last_turn <= turn.index <= end]
        texts = [*(turn.text for turn in new), *(memory.key for memory in memories)]
        vectors = self._embed_missing(row.id, texts)
        loaded.lacks_vectors |= vectors is None
        loaded.index.add_turns(new, self._stack(vectors, [turn.text for turn in new]))
        loaded.index.set_memories(row.name, settled, memories, self._stack(vectors, [m.key for m in memories]))
        loaded.known[row.id] = (new[-1].index if new else last_turn, row.settled)

    def _stack(self, vectors: dict[str, Vectors] | None, texts: Sequence[str]) -> Vectors | None:
        if self._embedder is None or not vectors or not texts:
            return None
        return np.stack([vectors[_digest(text)] for text in texts])

    def _sessions(self, scope: Scope, name: str | None = None) -> list[SessionRow]:
        row = self._store.scope(scope)
        rows = self._store.sessions(row.id) if row is not None else []
        return rows if name is None else [each for each in rows if each.name == name]

    def _bar(self, items: Sequence[Any], what: str, unit: str) -> Iterable[Any]:
        bar: Iterable[Any] = tqdm(items, desc=what, unit=unit, disable=not self._progress)
        return bar


def _segmenter_for(granularity: str, segmenter: Segmenter | None) -> Segmenter:
    if granularity == "segment":
        return segmenter or LexicalSegmenter()
    if granularity not in ("turn", "session"):
        raise InvalidInput(f"granularity is 'segment', 'turn' or 'session', not {granularity!r}")
    if segmenter is not None:
        raise InvalidInput(f"granularity {granularity!r} takes no segmenter, got {segmenter!r}")
    return EachTurn() if granularity == "turn" else WholeSession()


def _session_name(messages: Any, session: str | None) -> str:
    name = messages.name if isinstance(messages, Session) and session is None else session
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"remember needs the name of the session as a non-empty string, got {name!r}")
    return name


def _check_request(query: str, token_budget: int | None, k: int | None) -> None:
    if not isinstance(query, str):
        raise InvalidInput(f"a query is a string, not {query!r}")
    for name, value in (("token_budget", token_budget), ("k", k)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise InvalidInput(f"{name} is a whole number from 1 on, got {value!r}")


def _aware(at: datetime) -> datetime:
    return at if at.tzinfo is not None else at.replace(tzinfo=timezone.utc)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _ranges(turns: Sequence[Turn], segments: Sequence[Segment], end: int) -> list[tuple[int, int]]:
    """Segments of a list of turns as ranges of turn indices, which have gaps where turns were forgotten."""
    starts = [turns[segment.start].index for segment in segments]
    return list(pairwise([*starts, end])) if starts else []


def _memories(row: SessionRow, rows: Sequence[MemoryRow], turns: Sequence[Turn]) -> list[Memory]:
    by_index = {turn.index: turn for turn in turns}
    found = []
    for each in rows:
        held = tuple(by_index[index] for index in range(each.start, each.stop) if index in by_index)
        if held:
            found.append(Memory(f"{row.name}#{each.start}-{each.stop}", each.key, held))
    return found


def _degraded(what: str, error: ModelError) -> None:
    warnings.warn(f"{what}: {error}", DegradedWarning, stacklevel=4)
