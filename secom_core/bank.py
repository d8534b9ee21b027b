"""The memory bank: a conversation goes in, the right turns come back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal

import numpy as np
from tqdm import tqdm

from . import transfer
from .analysis import count_tokens
from .context import Packer, PackTopics, PackTurns, fitted_timelines, numbered_after, render, summary_within
from .conversation import Message, Scope, Session, Turn, check_scope, stamped
from .dense_layer import DenseLayer, forgotten_elsewhere
from .derivation import TAIL, Derivation, memories_of
from .errors import InvalidInput
from .flow import Cost, Metered
from .learning import CitationEntry, CitationLearning, Learned, LearningOptions, Prior, Ranking
from .memory import Decision, DocumentPlace, Event, Hit, Link, Memory, Recall, Segment, Summary, Timeline, Topic
from .models.cached import CachedEmbedder
from .moving import Moved, back_up, move
from .presets import Preset
from .protocols import ChatModel, Denoiser, DenseStore, Embedder, Segmenter, Statistics, TokenCounter, Vectors
from .ranking import Candidate, ScopeIndex
from .ranking.weights import LEARNED
from .readers import read_messages
from .redaction import Redact, redacted_import, redacted_message, redacted_text
from .reflection.citations import Citations
from .reflection.policy import Explanation, Lesson
from .reflection_layers import Layer, ReflectionLayers
from .scope_cache import LoadedScope, ScopeCache
from .scope_segmenters import ScopeSegmenters
from .segmenters.adaptive import AdaptiveSegmenter
from .segmenters.fixed import EachTurn, WholeSession
from .segmenters.lexical import LexicalSegmenter
from .stores.citations import restore, rows
from .stores.opening import open_store
from .stores.sql import ScopeRow, SessionRow, SqlStore
from .summary import Summarizer, SummaryLayer
from .timelines import EventLayer, TimelineOptions
from .topics import TOPIC_WEIGHTS, TopicLayer, TopicOptions

__all__ = ["MemoryBank", "Remembered", "Stats"]

Granularity = Literal["segment", "turn", "session"]

_DEFAULT_BUDGET: Final = 2000
_HELD: Final = 1000


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


class MemoryBank:
    """Long-term memory of conversations, a scope at a time.

    Everything works with nothing but the base install; an embedder, a language model's segmenter or LLMLingua-2 make
    it better and are one argument each. All methods may be called from any thread. Async callers run them in a worker
    thread, as the framework adapters do.

    Args:
        store: where turns live; see `MemoryBank.open` for a file.
        segmenter: cuts sessions into topics; unless given, `AdaptiveSegmenter` where there is an embedder, which
            learns each scope's own way of changing topics, else `LexicalSegmenter`.
        denoiser: makes the keys that are searched; the words themselves unless given.
        embedder: adds dense search to lexical search.
        dense: a vector store that does the dense search in place of vectors in the bank, such as `VectorStoreIndex` of
            `langchain_secom` or `llamaindex_secom`. It embeds turns and keys itself; an ``embedder`` beside it cuts
            topics, and serves timelines and topics.
        granularity: the unit of memory: ``"segment"``, or ``"turn"`` or ``"session"`` for comparison.
        weights: the ranking's weights by signal, such as ``{"segment_lexical": 1}``; the fitted ones unless given.
        packer: fills the token budget; `PackTurns` unless given.
        token_counter: counts as the model that reads the context does; an estimate unless given.
        model: the language model of what is made from closed sessions; none works without.
        summary: keep a running summary of the closed sessions, in `summary` and `summaries` (RSum); a `Summarizer`
            brings its own model and limits.
        timelines: make events of the closed sessions and link them, for `timelines` and ``recall(timelines=True)``
            (Theanine); `TimelineOptions` says how.
        learning: learn from what answers cite, by `reward` (RMM); `LearningOptions` says how.
        topics: make topics of the closed sessions, for `topics` and ``recall(topics=True)`` (RMM's prospective
            reflection); `TopicOptions` says how.
        redact: takes out of every text what must not be kept, such as card numbers, before it is stored and before
            any model sees it: messages, the texts in their metadata, and the questions of the citation log. The same
            text must give the same, and a redacted one stay as it is. What it raises goes to the caller, and nothing
            is stored.
        max_memory: how many bytes the scopes' indexes may take in memory together, about; the least recently used is
            dropped first, and loaded again when asked for.
        max_scopes: how many scopes are held ready in memory at most, whatever they take. Unless given, it is 1000 for
            what is small: topics, events, weights.
        progress: show progress bars on long work.
    """

    def __init__(
        self,
        store: SqlStore,
        *,
        segmenter: Segmenter | None = None,
        denoiser: Denoiser | None = None,
        embedder: Embedder | None = None,
        dense: DenseStore | None = None,
        granularity: Granularity = "segment",
        weights: Mapping[str, float] | None = None,
        packer: Packer | None = None,
        token_counter: TokenCounter | None = None,
        model: ChatModel | None = None,
        summary: bool | Summarizer = False,
        timelines: bool | TimelineOptions = False,
        topics: bool | TopicOptions = False,
        learning: bool | LearningOptions = False,
        redact: Redact | None = None,
        max_memory: int = 2**30,
        max_scopes: int | None = None,
        progress: bool = False,
    ) -> None:
        self._store = store
        self._redact = redact
        self._packer = packer or PackTurns()
        self._counter = token_counter or count_tokens
        self._progress = progress
        self._wants_statistics = denoiser is not None

        def new_index() -> ScopeIndex:
            learned = LEARNED if learning else ()
            by_vector = embedder is not None or dense is not None
            return ScopeIndex(dense=by_vector, weights=weights, counter=self._counter, learned=learned)

        held = max_scopes or _HELD
        self._dense = DenseLayer(store, dense, size=held) if dense is not None else None
        self._scopes = ScopeCache(store, new_index, size=max_scopes, nbytes=max_memory, vectors=dense is None)
        self._segmenters = ScopeSegmenters(store, _segmenter_for(granularity, segmenter, embedder), size=held)
        self._derivation = Derivation(
            store,
            self._segmenters,
            denoiser,
            embedder,
            tail=None if granularity == "session" else TAIL,
            statistics=self._scopes.statistics,
            vectors=dense is None,
        )
        self._model = Metered(model) if model is not None else None
        asked = _summarizer_for(summary, self._model)
        self._summary = SummaryLayer(store, asked, self._statistics) if summary else None
        self._timeline_options = timelines if isinstance(timelines, TimelineOptions) else TimelineOptions()
        layer = EventLayer(store, self._derivation, self._model, options=self._timeline_options, size=held)
        self._events = layer if timelines else None
        self._topics = self._topic_layer_for(topics, held) if topics else None
        options = learning if isinstance(learning, LearningOptions) else LearningOptions()
        if options.reranker is not None and dense is not None:
            raise InvalidInput(
                "the paper's reranker learns from vectors in the bank; open it with embedder=, not dense="
            )
        bases = [*new_index().weights, *(TOPIC_WEIGHTS if topics else ())]
        self._learning = CitationLearning(store, options, bases=bases, size=held) if learning else None
        self._layers = ReflectionLayers(store, self._made_of_sessions(), self._derivation.derive)
        if self._dense is not None:
            self._dense.drain()

    def _made_of_sessions(self) -> list[Layer]:
        return [layer for layer in (self._events, self._summary, self._topics) if layer is not None]

    def _topic_layer_for(self, topics: bool | TopicOptions, size: int) -> TopicLayer:
        options = topics if isinstance(topics, TopicOptions) else None
        return TopicLayer(
            self._store, self._derivation, self._model, options=options, statistics=self._statistics, size=size
        )

    def _statistics(self, scope: Scope) -> Statistics | None:
        loaded = self._scopes.caught_up(scope, self._derivation)
        return loaded.index.statistics if loaded is not None else None

    @classmethod
    def open(
        cls, path: str | Path = ":memory:", *, preset: Preset | None = None, key: str | None = None, **parts: Any
    ) -> MemoryBank:
        """Open the bank in one file, made if it is not there, or in a PostgreSQL database.

        Args:
            path: the file; ``":memory:"`` keeps nothing; ``"postgresql://user:password@host/database"`` is a database.
            preset: a paper's configuration (see `secom_core.presets`).
            key: the passphrase of an encrypted file (SQLCipher, extra ``encrypted``).
            **parts: as for `MemoryBank`; they go before the preset's.

        Raises:
            StoreError: the file cannot be opened, or is no bank.
        """
        return cls(open_store(path, key=key), **{**(preset.parts() if preset else {}), **parts})

    def __enter__(self) -> MemoryBank:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def path(self) -> str | None:
        """The bank's file, or its URL without the password; nothing where it lives in memory."""
        return self._store.path

    def check_keeps(self, *, summary: bool = False, timelines: bool = False, topics: bool = False) -> None:
        """Say what is missing where what is asked for is not kept.

        Raises:
            InvalidInput: the bank was opened without it.
        """
        if summary:
            _ = self._summary_layer
        if timelines:
            _ = self._event_layer
        if topics:
            _ = self._topic_layer

    @property
    def token_counter(self) -> TokenCounter:
        """What budgets are counted with."""
        return self._counter

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
        later: bool = False,
    ) -> Remembered:
        """Take in messages. When this returns, they are on disk and can be recalled.

        Args:
            scope: whose memory it is.
            messages: a `Session`, or messages or role/content dicts in order.
            session: the session they belong to; a `Session` brings its own name.
            at: when they were said, for those that do not say so; now unless given.
            close: the session ends here.
            later: return as soon as they are on disk; `derive` makes topics, keys and vectors, or else the next
                `recall` does (`secom_core.writer.BackgroundWriter`).

        Raises:
            InvalidScope: for a scope that is not a non-empty tuple of non-empty strings.
            InvalidInput: for messages that no reader understands, or a missing session.
            DuplicateId: an id belongs to another message already; nothing is taken in.
            StoreError: the store failed; nothing is taken in.
        """
        scope = check_scope(scope)
        name = _session_name(messages, session)
        said = messages.messages if isinstance(messages, Session) else read_messages(messages)
        said = tuple(redacted_message(message, self._redact) for message in said)
        moment = at or datetime.now(timezone.utc)
        if self._wants_statistics and not later:
            self._scopes.caught_up(scope, self._derivation)
        appended = self._store.append(scope, name, [stamped(message, _aware(moment)) for message in said])
        if close:
            self._store.close_session(scope, name)
        if not later:
            self._derive(scope, appended.session_id, turns=len(appended.turn_ids), closed=close)
        return Remembered(appended.turn_ids, appended.new)

    def derive(self, scope: Sequence[str], session: str, *, turns: int = 0) -> None:
        """Make what ``remember(later=True)`` left to later.

        Args:
            scope: whose memory it is.
            session: the session; one that was forgotten meanwhile is passed over.
            turns: how many turns were left, for segmenters that learn from time to time.
        """
        scope = check_scope(scope)
        row = self._store.session_named(scope, session)
        if row is not None:
            self._derive(scope, row.id, turns=turns, closed=row.closed)

    def _derive(self, scope: Scope, session_id: int, *, turns: int, closed: bool) -> None:
        self._derivation.derive(session_id, scope)
        if self._dense is not None:
            self._dense.follow_session(scope, session_id)
        self._segmenters.came(scope, turns)
        if closed:
            self._layers.catch_up(scope)

    def remember_sessions(self, scope: Sequence[str], history: Sequence[Session]) -> Remembered:
        """Take in whole sessions, each closed at its end, with a progress bar where the bank shows them."""
        done = [self.remember(scope, each, close=True) for each in self._bar(history, "remembering", "session")]
        return Remembered(tuple(id_ for each in done for id_ in each.turn_ids), sum(each.new for each in done))

    def close_session(self, scope: Sequence[str], session: str) -> None:
        """Say that the session is over: its last topic settles. Remembering more opens it again."""
        scope = check_scope(scope)
        row = self._store.close_session(scope, session)
        if row is not None:
            self._derivation.derive(row.id, scope)
            if self._dense is not None:
                self._dense.follow_session(scope, row.id)
            self._layers.catch_up(scope)

    def reflect(self, scope: Sequence[str]) -> int:
        """Make what is made of closed sessions, where it is missing: after `forget`, or where a model had failed.

        Returns:
            How many times a session was taken in.
        """
        return self._layers.catch_up(check_scope(scope))

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
        summary: bool = False,
        timelines: bool = False,
        topics: bool = False,
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
            summary: begin the block with the running summary (RSum Table 8), in at most half of the budget.
            timelines: end the block with timelines around what the query finds, rewritten for it where the bank has a
                language model (Theanine Phase II and III); they take their share of the budget from the turns.
            topics: search by topic summaries, and show each topic found with all its turns, or with the best of them
                where the budget has no room for all (RMM section 4); what no topic refers to is found by segments.

        Raises:
            InvalidScope, InvalidInput: for a bad scope, or a query, budget or ``k`` that cannot be used; or where a
                summary, timelines or topics are asked for and the bank keeps none.
            StoreError: the store failed.
        """
        scope = check_scope(scope)
        _check_request(query, token_budget=token_budget, k=k)
        budget = _DEFAULT_BUDGET if token_budget is None and k is None else token_budget
        vector = self._query_vector(query, also=timelines or topics)
        retry = vector is not None
        loaded = self._scopes.caught_up(scope, self._derivation, retry_vectors=retry, besides=exclude)
        nearest = self._nearest(scope, query, loaded)
        self.check_keeps(topics=topics)
        latest = self.summary(scope) if summary else None
        drawn = self._drawn(scope, query, vector) if timelines else []
        if loaded is None:
            return Recall(query, (), "", 0)
        # The packer counts the block before it is rendered here.
        counter = cache(self._counter)
        sentences, left = summary_within(latest.sentences if latest else (), budget, counter)
        lines, left = fitted_timelines(drawn, left if budget else None, self._timeline_options.share, counter)
        with loaded.lock:
            candidates = self._search(loaded, query, vector, nearest, now)
            candidates = [each for each in candidates if each.turn.id not in exclude]
            packer = PackTopics({each.turn.id: each.score for each in candidates}) if topics else self._packer
            if topics:
                candidates = self._topic_layer.candidates(scope, query, vector, exclude=exclude)
            ranking = self._ranking(loaded, candidates, vector, of_topics=scope if topics else None)
            candidates = ranking.candidates if ranking is not None else candidates
            hits = packer.pack(candidates, token_budget=left if budget else None, k=k, counter=counter)
        shown = numbered_after(hits, lines)
        text = render(hits, shown, summary=sentences)
        return Recall(
            query,
            tuple(hits),
            text,
            counter(text),
            timelines=tuple(shown),
            summary=latest if sentences else None,
            shown=ranking.decision(hits) if ranking is not None and hits else None,
        )

    def _query_vector(self, query: str, *, also: bool = False) -> Vectors | None:
        """The query's vector where the bank itself compares vectors, or something ``also`` does."""
        return self._derivation.query_vector(query) if self._dense is None or also else None

    def _nearest(self, scope: Scope, query: str, loaded: LoadedScope | None) -> list[DocumentPlace] | None:
        """What the vector store finds, once it holds what any process has written."""
        if self._dense is None:
            return None
        self._dense.follow(scope)
        return self._dense.nearest(scope, query) if loaded is not None else None

    def _search(
        self,
        loaded: LoadedScope,
        query: str,
        vector: Vectors | None,
        nearest: Sequence[DocumentPlace] | None,
        now: datetime | None,
    ) -> list[Candidate]:
        """The turns that may answer, scored by what the scope has learned."""
        weights = loaded.index.usable_weights(vector, nearest)
        if self._learning is not None:
            weights = self._learning.weights(loaded.row, weights)
        moment = _aware(now or datetime.now(timezone.utc))
        return loaded.index.search(query, vector, nearest=nearest, now=moment, weights=weights)

    def _ranking(
        self,
        loaded: LoadedScope,
        candidates: Sequence[Candidate],
        vector: Vectors | None,
        *,
        of_topics: Scope | None = None,
    ) -> Ranking | None:
        """The candidates in the order that the scope has learned; nothing where the bank does not learn."""
        if self._learning is None:
            return None
        vectors_of = loaded.index.key_vectors
        if of_topics is not None:
            vectors_of = partial(self._topic_layer.key_vectors, of_topics)
        return self._learning.ranking(loaded.row, candidates, vector, vectors_of, scored=of_topics is None)

    def _drawn(self, scope: Scope, query: str, vector: Vectors | None) -> list[Timeline]:
        return self._event_layer.find(scope, query, vector, refined=self._timeline_options.refined)

    def timelines(
        self,
        scope: Sequence[str],
        query: str,
        *,
        k: int | None = None,
        n: int | None = None,
        seed: int = 0,
        refined: bool = False,
    ) -> list[Timeline]:
        """How what the query asks about came about: timelines around the events that it finds, the best first.

        Args:
            scope: whose memory is searched.
            query: a question, or what was just said.
            k: how many events are found, 3 unless the options say otherwise.
            n: how many timelines are drawn for each, at most; 1 unless the options say otherwise.
            seed: what the draw depends on; the same seed gives the same timelines.
            refined: have the language model rewrite them for the query, where the bank has one.

        Raises:
            InvalidInput: where the bank keeps no timelines, or for a number below 1.
        """
        scope = check_scope(scope)
        _check_request(query, n=n, k=k)
        vector = self._derivation.query_vector(query)
        return self._event_layer.find(scope, query, vector, k=k, n=n, seed=seed, refined=refined)

    def events(self, scope: Sequence[str]) -> list[Event]:
        """The events of the scope's closed sessions, oldest first.

        Raises:
            InvalidInput: where the bank keeps no timelines.
        """
        return self._event_layer.events(check_scope(scope))

    def links(self, scope: Sequence[str]) -> list[Link]:
        """The links between the scope's events, by the later one.

        Raises:
            InvalidInput: where the bank keeps no timelines.
        """
        return self._event_layer.links(check_scope(scope))

    def topics(self, scope: Sequence[str], *, speaker: str | None = None) -> list[Topic]:
        """The topics of the scope's closed sessions, those of one speaker where given, the oldest first.

        Raises:
            InvalidInput: where the bank keeps no topics.
        """
        return self._topic_layer.topics(check_scope(scope), speaker)

    def undo_merge(self, scope: Sequence[str], topic_id: int) -> Topic:
        """Take the last merge of a topic back; what was merged in becomes a topic of its own again.

        Returns:
            The topic as it was before.

        Raises:
            InvalidInput: there is no such topic, nothing was merged into it, or the bank keeps no topics.
        """
        return self._topic_layer.undo(check_scope(scope), topic_id)

    @property
    def cost(self) -> Cost:
        """What asking the bank's own ``model`` came to so far: calls and estimated tokens."""
        return self._model.cost if self._model is not None else Cost()

    @property
    def _event_layer(self) -> EventLayer:
        if self._events is None:
            raise InvalidInput("this bank keeps no timelines; open it with timelines=True")
        return self._events

    @property
    def _topic_layer(self) -> TopicLayer:
        if self._topics is None:
            raise InvalidInput("this bank keeps no topics; open it with topics=True")
        return self._topics

    @property
    def _summary_layer(self) -> SummaryLayer:
        if self._summary is None:
            raise InvalidInput("this bank keeps no summary; open it with summary=True, or with a Summarizer")
        return self._summary

    # -- learn ----------------------------------------------------------------------------------------------------

    @property
    def learns(self) -> bool:
        """Whether the bank learns from what answers cite."""
        return self._learning is not None

    def shown(self, scope: Sequence[str], query: str, hits: Sequence[Hit], *, now: datetime | None = None) -> Decision:
        """Note what is shown, where a framework has chosen among hits, reordered or renumbered them.

        Args:
            scope: whose memory it is.
            query: what they were found for.
            hits: in the order in which they stand in the prompt, each with the number that it has there.
            now: when the query was asked; the present unless given.

        Returns:
            What `reward` wants; nothing is learned by this alone.

        Raises:
            InvalidInput: where the bank does not learn, or nothing is remembered in the scope.
        """
        learning, scope = self._citation_learning, check_scope(scope)
        _check_request(query)
        vector = self._query_vector(query)
        loaded = self._scopes.caught_up(scope, self._derivation)
        if loaded is None:
            raise InvalidInput(f"nothing is remembered in the scope {scope!r}")
        nearest = self._nearest(scope, query, loaded)
        with loaded.lock:
            found = self._search(loaded, query, vector, nearest, now)
            ranking = learning.ranking(loaded.row, found, vector, loaded.index.key_vectors, scored=True, explore=False)
        return ranking.decision(hits)

    def reward(
        self, scope: Sequence[str], query: str, shown: Decision, citations: Citations | Collection[int]
    ) -> Lesson:
        """Take in which of the memories that it was shown an answer cited. The same answer counts once.

        Args:
            scope: whose memory it is.
            query: what was asked; it is kept in the log until something of the scope is forgotten.
            shown: from `Recall.shown`, or `shown`.
            citations: from `secom_core.reflection.read_citations`, or the numbers cited. Half an answer and one
                without any marker teach nothing.

        Returns:
            What came of it.

        Raises:
            InvalidInput: where the bank does not learn.
            StoreError: the store failed; nothing was learned.
        """
        learning = self._citation_learning
        _check_request(query)
        query = redacted_text(query, self._redact)
        row = self._store.scope(check_scope(scope))
        return learning.reward(row, query, shown, citations) if row is not None else Lesson("nothing")

    def citation_log(
        self, scope: Sequence[str], *, turn_id: str | None = None, last: int | None = None
    ) -> list[CitationEntry]:
        """What answers cited of what they were shown, the oldest first.

        Args:
            scope: whose memory it is.
            turn_id: only answers that were shown this turn.
            last: only the latest so many.

        Raises:
            InvalidInput: where the bank does not learn.
        """
        learning, row = self._citation_learning, self._store.scope(check_scope(scope))
        return learning.log(row, turn=turn_id, last=last) if row is not None else []

    def learned(self, scope: Sequence[str]) -> Learned:
        """What the scope has learned from citations.

        Raises:
            InvalidInput: where the bank does not learn, or nothing is remembered in the scope.
        """
        return self._citation_learning.learned(self._known(scope))

    def explain(self, scope: Sequence[str], query: str, *, k: int = 5) -> list[tuple[Hit, list[Explanation]]]:
        """Why memories are found: for each, the best first, what every signal adds to its score, the most first.

        Raises:
            InvalidInput: where the bank does not learn, or nothing is remembered in the scope.
        """
        learning, row = self._citation_learning, self._known(scope)
        hits = self.recall(scope, query, k=k).ranked
        return [(hit, learning.explain(row, hit)) for hit in hits]

    def freeze_learning(self, scope: Sequence[str], frozen: bool = True) -> None:
        """Keep the scope's weights as they are, until it is called with ``False``. Answers are logged all the same.

        Raises:
            InvalidInput: where the bank does not learn, or nothing is remembered in the scope.
        """
        self._citation_learning.set_frozen(self._known(scope), frozen)

    def reset_learning(self, scope: Sequence[str]) -> None:
        """Forget what the scope has learned, and the log that it was learned from.

        Raises:
            InvalidInput: where the bank does not learn, or nothing is remembered in the scope.
        """
        self._citation_learning.reset(self._known(scope))

    def shared_prior(self, scopes: Iterable[Sequence[str]], *, worth: float = 100.0) -> Prior:
        """What scopes have learned, as numbers without words, for `LearningOptions.prior`: new scopes begin with it.

        A scope is a wall, so nothing is shared unless someone calls this.

        Args:
            scopes: those that agree to share.
            worth: how many of a new scope's own answers it all counts for, at most.

        Raises:
            InvalidInput: where the bank does not learn, or nothing is remembered in a scope.
        """
        return self._citation_learning.shared([self._known(scope) for scope in scopes], worth=worth)

    def _known(self, scope: Sequence[str]) -> ScopeRow:
        row = self._store.scope(check_scope(scope))
        if row is None:
            raise InvalidInput(f"nothing is remembered in the scope {tuple(scope)!r}")
        return row

    @property
    def _citation_learning(self) -> CitationLearning:
        if self._learning is None:
            raise InvalidInput("this bank does not learn from citations; open it with learning=True")
        return self._learning

    # -- look -----------------------------------------------------------------------------------------------------

    def scopes(self) -> list[Scope]:
        """Every scope that holds anything."""
        return self._store.scopes()

    def sessions(self, scope: Sequence[str]) -> list[str]:
        """The names of the scope's sessions, in the order in which they came."""
        return [row.name for row in self._sessions(check_scope(scope))]

    def turns(self, scope: Sequence[str], session: str, *, last: int | None = None) -> list[Turn]:
        """The session's turns, verbatim, in order; only the ``last`` so many where that is given."""
        row = self._store.session_named(check_scope(scope), session)
        return self._store.turns(row, last=last) if row is not None else []

    def memories(self, scope: Sequence[str], session: str) -> list[Memory]:
        """The session's memories, in order; those at the end of an open session may still change."""
        scope = check_scope(scope)
        row = self._store.session_named(scope, session)
        current = self._derivation.derive(row.id, scope) if row is not None else None
        if current is None:
            return []
        return memories_of(session, self._store.memories(current.id), self._store.turns(current))

    def segments(self, scope: Sequence[str], session: str) -> list[Segment]:
        """The session's segments as positions in `turns`; they cover it with no gap and no overlap."""
        stops = np.cumsum([len(memory.turns) for memory in self.memories(scope, session)], dtype=int).tolist()
        return [Segment(start, stop) for start, stop in pairwise([0, *stops])]

    def summary(self, scope: Sequence[str]) -> Summary | None:
        """The latest version of the running summary; nothing where no session was closed yet.

        Raises:
            InvalidInput: where the bank keeps none.
        """
        return next(iter(self.summaries(scope)[-1:]), None)

    def summaries(self, scope: Sequence[str]) -> list[Summary]:
        """All versions of the running summary, the oldest first, each with the turns that it rests on.

        Raises:
            InvalidInput: where the bank keeps none.
        """
        layer, row = self._summary_layer, self._store.scope(check_scope(scope))
        return list(layer.versions(row.id)) if row is not None else []

    def epoch(self, scope: Sequence[str]) -> tuple[int, int] | None:
        """Another one wherever something of the scope was forgotten, so that what was recalled before may be gone.

        It may also change when nothing was forgotten. Nothing where nothing is remembered.
        """
        row = self._store.scope(check_scope(scope))
        return (row.id, row.epoch) if row is not None else None

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

        Raises:
            StoreError: the store failed; or the vector store did, which may still hold what is gone from the bank until
                this or any `recall` is called again.
        """
        scope = check_scope(scope)
        if isinstance(turn_ids, str):
            raise InvalidInput(f"turn_ids is a sequence of ids, not the string {turn_ids!r}")
        self._scopes.drop(scope)
        if self._events is not None:
            self._events.drop(scope)
        if self._topics is not None:
            self._topics.drop(scope)
        gone = self._forget(scope, session, turn_ids, before)
        if self._dense is not None:
            self._dense.forget(scope)
        if gone:
            forgotten_elsewhere(self._store, scope, here=self._dense.name if self._dense is not None else None)
        return gone

    def _forget(
        self, scope: Scope, session: str | None, turn_ids: Sequence[str] | None, before: datetime | None
    ) -> int:
        if session is None and turn_ids is None and before is None:
            gone = self._store.forget_scope(scope)
            self._store.empty_log()
            return gone
        row = self._store.scope(scope)
        if row is None:
            return 0
        doomed = self._store.matching_turns(
            row.id, session=session, turn_ids=list(turn_ids) if turn_ids is not None else None, before=before
        )
        gone = sum(self._forget_turns(scope, session_id, turns) for session_id, turns in doomed.items())
        self._store.empty_log()
        return gone

    def _forget_turns(self, scope: Scope, session_id: int, doomed: set[int]) -> int:
        while (row := self._store.session(session_id)) is not None:
            turns = self._store.turns(row)
            kept = [turn for turn in turns if turn.index not in doomed]
            rows = self._derivation.shrunk(self._store.memories(row.id), kept, doomed, scope)
            if self._store.forget_turns(row, doomed, rows, self._derivation.digests(kept, rows)):
                return len(turns) - len(kept)
        return 0

    def compact(self) -> None:
        """Leave no trace of what was forgotten in the bank's files, and give its room back to the disk.

        `forget` overwrites what it deletes; a reader may have kept it from emptying the write-ahead log, and pages that
        were moved before may hold copies. Nobody can write meanwhile. On PostgreSQL, vacuuming is the server's work.

        Raises:
            StoreError: another process holds the file, or the disk is full.
        """
        self._store.compact()

    # -- move and mend ----------------------------------------------------------------------------------------------

    def export(self, scope: Sequence[str]) -> Iterator[str]:
        """The scope as JSON lines: every turn verbatim, the memories made from them, and what answers cited.

        Summaries, events and topics come last, for people to read; `import_` passes over them, as a bank that keeps
        them makes them again.
        """
        scope = check_scope(scope)
        yield transfer.header(scope)
        for row in self._sessions(scope):
            current = self._derivation.derive(row.id, scope) or row
            yield from transfer.session_lines(current, self._store.turns(current), self._store.memories(current.id))
        held = self._store.scope(scope)
        if held is not None:
            yield from map(transfer.citation_line, rows(self._store, held.id))
            yield from transfer.layer_lines(self._store, held.id)

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
        read = redacted_import(transfer.read(lines), self._redact)
        target = check_scope(scope) if scope is not None else read.scope
        came = 0
        for each in self._bar(read.sessions, "importing", "session"):
            known = {turn.id for turn in self.turns(target, each.name)}
            appended = self._store.append(target, each.name, each.messages, turns=None if known else each.places)
            if each.closed:
                self._store.close_session(target, each.name)
            row = self._store.session(appended.session_id)
            if row is not None and not known and each.is_partitioned:
                self._store.save_memories(row, each.memories, settled=each.settled)
            self._derivation.derive(appended.session_id, target)
            if self._dense is not None:
                self._dense.follow_session(target, appended.session_id)
            came += len(set(appended.turn_ids) - known)
        self._segmenters.came(target, came)
        held = self._store.scope(target)
        if read.citations and held is not None:
            restore(self._store, held.id, read.citations)
        self._layers.catch_up(target)
        return came

    def rebuild(self, scope: Sequence[str]) -> None:
        """Make everything derived again from the raw turns, with the parts the bank has now."""
        scope = check_scope(scope)
        self._segmenters.learn(scope)
        for row in self._bar(self._sessions(scope), "rebuilding", "session"):
            self._derivation.derive(row.id, scope, afresh=True)
            if self._dense is not None:
                self._dense.follow_session(scope, row.id)
        self._layers.begin_again(scope)

    def move_to(self, other: MemoryBank) -> Moved:
        """Copy every scope with all its layers into another bank, on SQLite or PostgreSQL, and compare both sides.

        One that was cut short is called again: it passes over what is there already. This bank stays as it is. A
        vector store outside (``dense=``) is filled by the other bank's own searches.

        Raises:
            StoreError: a scope is there with something else in it, or did not arrive whole; the error names it.
        """
        return move(self._store, other._store, progress=self._progress)

    def backup(self, path: str | Path) -> Path:
        """Copy the bank's SQLite file as it is at one moment, while others go on writing.

        Args:
            path: the file; one that is there is replaced, once the copy is whole.

        Raises:
            InvalidInput: the bank is on PostgreSQL, where ``pg_dump`` does this, or ``path`` is its own file.
            StoreError: the bank's file is damaged, or the copy could not be made.
        """
        return back_up(self._store, path)

    def _sessions(self, scope: Scope) -> list[SessionRow]:
        row = self._store.scope(scope)
        return self._store.sessions(row.id) if row is not None else []

    def _bar(self, items: Sequence[Any], what: str, unit: str) -> Iterable[Any]:
        bar: Iterable[Any] = tqdm(items, desc=what, unit=unit, disable=not self._progress)
        return bar


def _segmenter_for(granularity: str, segmenter: Segmenter | None, embedder: Embedder | None) -> Segmenter:
    if granularity == "segment" and segmenter is None:
        # The end of an open session is cut again with every turn, and most of its turns are known by then.
        return LexicalSegmenter() if embedder is None else AdaptiveSegmenter(CachedEmbedder(embedder))
    if granularity == "segment" and segmenter is not None:
        return segmenter
    if granularity not in ("turn", "session"):
        raise InvalidInput(f"granularity is 'segment', 'turn' or 'session', not {granularity!r}")
    if segmenter is not None:
        raise InvalidInput(f"granularity {granularity!r} takes no segmenter, got {segmenter!r}")
    return EachTurn() if granularity == "turn" else WholeSession()


def _summarizer_for(summary: bool | Summarizer, model: ChatModel | None) -> Summarizer:
    return summary if isinstance(summary, Summarizer) else Summarizer(model)


def _session_name(messages: Any, session: str | None) -> str:
    name = messages.name if isinstance(messages, Session) and session is None else session
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"remember needs the name of the session as a non-empty string, got {name!r}")
    return name


def _check_request(query: str, **limits: int | None) -> None:
    if not isinstance(query, str):
        raise InvalidInput(f"a query is a string, not {query!r}")
    for name, value in limits.items():
        if value is not None and (not isinstance(value, int) or value < 1):
            raise InvalidInput(f"{name} is a whole number from 1 on, got {value!r}")


def _aware(at: datetime) -> datetime:
    return at if at.tzinfo is not None else at.replace(tzinfo=timezone.utc)
