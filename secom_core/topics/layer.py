"""Topics in a bank: made when a session closes, merged with what was there, and searched by their summaries.

RMM's prospective reflection (section 5) over its memory of pairs of topic summary and raw dialogue (section 4).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, ClassVar, Final

from sqlalchemy import Connection

from ..context.packing import PackTopics
from ..conversation import Scope
from ..derived.progress import pending
from ..drafts.extraction import Draft
from ..drafts.layer import DraftLayer
from ..errors import InvalidInput
from ..layers import ClosedSession, LayerContext, Listing, Request, Units, register
from ..llm.limits import room
from ..memory import Memory
from ..pictures.report.html import Page
from ..protocols import Vectors
from ..ranking import Candidate
from ..stores.rows import ScopeRow, SessionRow
from ..stores.sql import SqlStore
from . import look
from .index import ScopeTopics
from .notes import extract_notes
from .options import TopicOptions
from .placing import Decided, PlacedTopics, place
from .records import Topic
from .search import TopicUnits
from .store import LAYER, NOTES, TABLES, Placed, TopicStore, VersionRow, drop_notes

_TRIES: Final = 30
"""How often it is decided anew because another writer has added topics; each time, that writer got on."""
_MOST: Final = 400
"""How many topics and segments a search brings at most."""


@register
class TopicLayer(DraftLayer[ScopeTopics]):
    """Makes topics of closed sessions and finds what is said by them; ``bank.topics``.

    Args:
        context: what the bank lends; without a language model segments are the notes, and similarity merges them.
        options: how.
    """

    name: ClassVar[str] = LAYER
    tables: ClassVar = TABLES
    progress_names: ClassVar = (LAYER, NOTES)
    listings: ClassVar[Mapping[str, str]] = {LAYER: "topics: whose, what, and the sessions that they rest on"}
    cost_without_model: ClassVar[str] = "0.629 of LoCoMo's evidence inside 500 tokens, 0.793 without them"

    def __init__(self, context: LayerContext, options: TopicOptions | None = None) -> None:
        self.options = options or TopicOptions()
        super().__init__(context, ScopeTopics, self.options.concurrency, self.options.recall_without_model)
        self._rows = TopicStore(context.store)
        self._key = self.options.key or ("summary" if self._model is not None else "words")

    # -- look -----------------------------------------------------------------------------------------------------

    def all(self, scope: Sequence[str], *, speaker: str | None = None) -> list[Topic]:
        """The topics of the scope's closed sessions, those of one speaker where given, the oldest first."""
        with self._state(self.context.current(scope)) as state:
            topics = state.topics
            return [topics.topic(each) for each in sorted(topics.latest) if speaker in (None, topics.speaker(each))]

    def undo_merge(self, scope: Sequence[str], topic_id: int) -> Topic:
        """Take the last merge of a topic back; what was merged in becomes a topic of its own again.

        Returns:
            The topic as it was before.

        Raises:
            InvalidInput: there is no such topic, or nothing was merged into it.
        """
        row = self._store.scope(scope := self.context.current(scope))
        undone = self._rows.undo(row.id, topic_id) if row is not None else None
        with self._state(scope) as state:
            if topic_id not in state.topics.latest:
                raise InvalidInput(f"this scope has no topic {topic_id!r}")
            if undone is None:
                raise InvalidInput(f"nothing was merged into topic {topic_id}, so there is nothing to take back")
            self._derivation.drop_vectors(undone[0], [undone[1]])
            return state.topics.topic(topic_id)

    # -- the seam of layers ---------------------------------------------------------------------------------------

    @classmethod
    def forget_turns(cls, connection: Connection, session: SessionRow, turns: Collection[int]) -> None:
        """Delete the session's notes, and each version of a topic that rests on one or was made from such a version."""
        drop_notes(connection, session.scope_id, session.id)

    def units(self, request: Request, candidates: Sequence[Candidate]) -> Units:
        """Topics, and what they leave of segments, each with its turns, or the best of them where there is no room.

        Those that the query finds come first, then the latest, as a question may share no word with what answers it.
        """
        packer = PackTopics({each.turn.id: each.score for each in candidates})
        return Units(self._found(request), packer, partial(self._key_vectors, request.scope))

    def _found(self, request: Request) -> list[Candidate]:
        if not request.query.strip():
            return []
        with self._state(request.scope, retry_vectors=request.vector is not None) as state:
            units = self._units(request.scope, state)
            found = units.search(request.whole or request.query, request.vector, _MOST)
            if not request.only_relevant:
                found += islice(units.latest(found), _MOST - len(found))
        return [left for each in found if (left := _without(each, request.exclude)) is not None]

    def _key_vectors(self, scope: Scope, memories: Sequence[Memory]) -> Vectors | None:
        with self._state(scope) as state:
            return self._units(scope, state).vectors_of(memories)

    def _units(self, scope: Scope, state: ScopeTopics) -> TopicUnits:
        """The scope's units, caught up; the caller holds the state's lock."""
        if state.units is None:
            state.units = TopicUnits(self._store, self._derivation, self._key)
            state.renewed = set(state.topics.latest)
        if state.units_revision < state.row.revision or state.units.unsaved:
            changed = (row.id for row in self._store.sessions(state.row.id, since=state.units_revision))
            for session_id in dict.fromkeys([*state.units.unsaved, *changed]):
                covered = state.topics.covered(session_id)
                state.lacks_vectors |= state.units.follow_session(scope, session_id, covered)
            state.units_revision = state.row.revision
        for topic in sorted(state.renewed):
            state.units.renew(topic, state.topics)
        state.renewed.clear()
        return state.units

    def listing(self, scope: Scope, name: str, *, last: int | None = None) -> Listing:
        """Each topic with its versions."""
        return look.listing(self.all(scope)[-last:] if last else self.all(scope))

    def report(self, scope: Scope, page: Page) -> Iterator[str]:
        """The topics, by speaker."""
        return look.report(self.all(scope), page)

    @classmethod
    def export(cls, store: SqlStore, scope_id: int) -> Iterator[Mapping[str, Any]]:
        """A line a version of a topic, with the note that it took in."""
        for each in TopicStore(store).changes(scope_id, -1).versions:
            about = {"speaker": each.note.speaker, "session": each.note.session, "text": each.text}
            turn_ids = [turn.id for turn in each.note.turns]
            yield {"kind": "topic", "topic": each.topic, **about, "note": each.note.text, "turn_ids": turn_ids}

    # -- make -----------------------------------------------------------------------------------------------------

    def begin_again(self, scope_id: int) -> None:
        """Drop every topic of the scope, and the notes they were made of."""
        self._rows.drop(scope_id)

    def make(self, session: ClosedSession) -> bool:
        """Note what the session says about each speaker, and let the topics take it in (Algorithm 1, 8 to 12)."""
        answered = self._noted(session)
        return answered is not None and self._placed(session, ask=answered)

    def _noted(self, session: ClosedSession) -> bool | None:
        """Save the notes on the session; whether there is a model that answers, or nothing if they were refused."""
        behind = pending(self._store, session.row.scope_id, NOTES, session=session.row.id)
        if not behind and not session.guesses:
            return self._model is not None
        taken = behind[0][1] if behind else session.row.messages
        session = replace(session, taken=0 if session.guesses else taken)
        tokens = room(self._model, self.options.extract_tokens)
        ask = partial(extract_notes, max_tokens=tokens, assistants=self.options.assistants)
        extracted = self._extracted(session, ask, by_speaker=True)
        if not extracted.answered and not behind:
            # The model is still away: what was guessed is as good as what would be guessed now.
            return False
        with self._state(session.scope) as state:
            stored = {row.id: row.identity for row in state.topics.notes_of(session.row.id)}
        # Where notes were guessed to belong is asked again, of those too that are the same.
        drafts = list(extracted.drafts), list(stored)
        new, stale = drafts if session.guesses else self._changes(session, extracted.drafts, stored)
        return extracted.answered if self._rows.save_notes(session.row, taken, new, stale) else None

    def _placed(self, session: ClosedSession, *, ask: bool) -> bool:
        """Decide where the notes go that are in no topic; anew where another writer has changed the topics."""
        model = self._model if ask else None
        decided: Decided = {}
        probe = partial(self._probe, session.memories)
        statistics = partial(self.context.statistics, session.scope)
        for _ in range(_TRIES):
            with self._state(session.scope) as state:
                topics = PlacedTopics(state, session, self._derivation, self.options.similar, probe, statistics)
            answered = place(
                topics, rule=self.options.rule, model=model, concurrency=self._concurrency, decided=decided
            )
            is_guess = self._model is not None and not (ask and answered)
            guesses = session.guesses + 1 if is_guess else 0
            placed = self._rows.place(session.row, session.taken, topics.last, topics.made, guesses=guesses)
            if placed is not Placed.SAVED:
                self._derivation.drop_vectors(session.row.id, [each.text for each in topics.made])
            if placed is not Placed.OUTDATED:
                return placed is Placed.SAVED
        return False

    def _probe(self, memories: Sequence[Memory], note: Draft) -> str:
        """What a note is compared by: its words, or the segment that it stands for where nobody wrote it."""
        if self._model is not None:
            return note.text
        segment = next((memory.key for memory in memories if memory.turns == note.turns), None)
        return segment or "\n".join(turn.text for turn in note.turns)

    # -- follow the store -----------------------------------------------------------------------------------------

    def _follow(self, state: ScopeTopics, row: ScopeRow) -> ScopeRow:
        changes = self._rows.changes(row.id, state.row.revision)
        renewed = state.topics.follow(changes)
        state.renewed.update(renewed)
        state.last = changes.last
        self._add_vectors(state, [state.topics.latest[topic] for topic in renewed if topic in state.topics.latest])
        return row

    def _add_vectors(self, state: ScopeTopics, latest: Sequence[VersionRow]) -> None:
        vectors = self._derivation.vectors_of_sessions([(each.note.session_id, each.text) for each in latest])
        state.lacks_vectors |= bool(latest) and vectors is None
        if vectors is not None:
            for version, vector in zip(latest, vectors, strict=True):
                state.topics.texts[version.note.speaker].add_vectors([version.topic], vector[None])


def _without(candidate: Candidate, exclude: Collection[str]) -> Candidate | None:
    """The candidate with the turns that are wanted, if there are any."""
    memory = candidate.memory
    turns = tuple(turn for turn in memory.turns if turn.id not in exclude)
    return replace(candidate, turn=turns[0], memory=replace(memory, turns=turns)) if turns else None
