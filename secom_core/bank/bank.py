"""The memory bank: a conversation goes in, the right turns come back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..conversation import Scope, Session, check_scope, stamped
from ..memory import Recall, RecallOptions
from ..readers import MessageLike, read_messages
from ..stores.opening import open_store
from .checks import check_ids, check_moment, check_name, check_session_name
from .components import Components
from .health import health_of
from .known import know
from .looking import Looking
from .measuring import measured
from .parts import Parts
from .records import Finding, Health, Remembered
from .redaction import redacted_message

if TYPE_CHECKING:
    from ..citations.options import RerankerOptions
    from ..context.packing import Packer
    from ..layers import LayerFactory
    from ..presets import Preset
    from ..protocols import ChatModel, Denoiser, Embedder, Reranker, Segmenter, TokenCounter, VectorStore
    from ..ranking.reranking import Reranking
    from ..stores.sql import SqlStore
    from ..summaries.summarizer import Summarizer
    from ..timelines.options import TimelineOptions
    from ..topics.options import TopicOptions
    from .parts import Granularity
    from .redaction import Redact


class MemoryBank(Looking):
    """Long-term memory of conversations; every call works on one scope.

    `open` makes one. Everything works with nothing but the base install; an embedder, a language model's segmenter or
    LLMLingua-2 make it better and are one argument each. All methods may be called from any thread. Async callers run
    them in a worker thread, as the framework adapters do.

    Args:
        store: where turns live.
        parts: what it is made of.
    """

    def __init__(self, store: SqlStore, parts: Parts | None = None) -> None:
        self._parts = parts or Parts()
        self._store, self._inside = store, Components(store, self._parts)
        self.writers = self._inside.writers
        """The background writers of the bank, which add themselves."""
        know(self)

    @classmethod
    def open(
        cls,
        path: str | Path = ":memory:",
        *,
        preset: Preset | None = None,
        key: str | None = None,
        busy_timeout: float | None = None,
        segmenter: Segmenter | None = None,
        denoiser: Denoiser | None = None,
        embedder: Embedder | None = None,
        vector_store: VectorStore | None = None,
        granularity: Granularity | None = None,
        weights: Mapping[str, float] | None = None,
        reranker: Reranker | Reranking | None = None,
        packer: Packer | None = None,
        token_counter: TokenCounter | None = None,
        model: ChatModel | None = None,
        summaries: bool | Summarizer | None = None,
        timelines: bool | TimelineOptions | None = None,
        topics: bool | TopicOptions | None = None,
        citations: bool | RerankerOptions | None = None,
        changes: bool | Literal["model"] | None = None,
        layers: Sequence[LayerFactory] | None = None,
        idle_after: timedelta | Literal[False] | None = None,
        redact: Redact | None = None,
        max_memory: int | None = None,
        max_scopes: int | None = None,
        progress: bool | None = None,
    ) -> MemoryBank:
        """Open the bank in a file, which is created if it does not exist, or in a PostgreSQL database.

        Args:
            path: the file; ``":memory:"`` keeps nothing; ``"postgresql://user:password@host/database"`` is a database.
            preset: a paper's configuration (see `secom_core.presets`); parts that are given go before its own.
            key: the passphrase of an encrypted file (SQLCipher, extra ``encrypted``).
            busy_timeout: how many seconds a call waits for others who write, then it raises `StoreLocked`: 60 for a
                file and as long as the server says on PostgreSQL unless given.
            segmenter: cuts sessions into segments; unless given, `AdaptiveSegmenter` where there is an embedder that is
                no `StaticEmbedder`, which learns each scope's way of changing the subject, else `LexicalSegmenter`.
            denoiser: makes the keys that are searched; the words themselves unless given.
            embedder: adds search by vector to search by words.
            vector_store: searches by vector in place of vectors in the bank, such as `LangChainVectorStore`,
                `LlamaIndexVectorStore` or `PgVectorStore`. It embeds turns and keys itself; an ``embedder`` beside it
                cuts segments, and serves timelines and topics.
            granularity: the unit of memory: ``"segment"`` unless given, or ``"turn"`` or ``"session"`` for comparison.
            weights: the ranking's weights by signal, such as ``{"segment_lexical": 1}``; the fitted ones unless given.
            reranker: judges the best finds of a recall before they are packed, such as a cross-encoder: a function of
                the query and their texts (`secom_core.protocols.Reranker`), or a `Reranking` that says how many, and
                how far it is followed. Where it fails, the order is the one without it.
            packer: fills the token budget; `PackTurns` unless given.
            token_counter: counts as the model that reads the context does; an estimate unless given.
            model: the language model that makes summaries, events and topics of closed sessions; without one they are
                made by rules, from the words themselves.
            summaries: keep a running summary of the closed sessions (RSum): ``bank.summaries``, and
                ``recall(layers=["summaries"])``; a `Summarizer` brings its own model and limits.
            timelines: make events of the closed sessions and link them (Theanine): ``bank.timelines``, and
                ``recall(layers=["timelines"])``; `TimelineOptions` says how.
            topics: make topics of each speaker of the closed sessions (RMM's prospective reflection):
                ``bank.topics``, and ``recall(layers=["topics"])``; `TopicOptions` says how.
            citations: keep a log of what answers cite: ``bank.citations``. With `RerankerOptions` the paper's reranker
                chooses what is shown, and learns from the log's answers (RMM's retrospective reflection).
            changes: look for what a user says to have changed, by rules in six languages, and mark in recalls what
                holds no more: ``bank.changes``. Off unless given: of what it finds in long chats with assistants, about
                half is of something else. With ``"model"`` the language model is asked too as a session ends, once.
            layers: layers of your own, as `secom_core.layers.register` knows them.
            idle_after: how long a silence ends a session (RMM section 3), 30 minutes unless given: told by the times of
                messages as the next one comes to the scope, and by the clock in `end_idle_sessions`. A session that
                begins ends the others too, but for those that had gone on after another one began. ``False`` leaves it
                to ``close=True`` and `close_session`.
            redact: takes out of every text what must not be kept, such as card numbers, before it is stored and before
                any model sees it: messages, the texts in their metadata, questions of the citation log. The same text
                must give the same, and a redacted one stay as it is. Where it raises, nothing is stored.
            max_memory: how many bytes the scopes' indexes may take in memory together, about, 1 GiB unless given; the
                least recently used is dropped first, and loaded again when asked for.
            max_scopes: how many scopes are held ready in memory at most, whatever they take. Unless given, it is 1000
                for what is small: topics, events.
            progress: show progress bars on long work; off unless given.

        Raises:
            InvalidInput: a part is none of its kind; nothing is opened.
            StoreError: the file cannot be opened, or is no bank.
        """
        parts = Parts.of(
            preset,
            segmenter=segmenter,
            denoiser=denoiser,
            embedder=embedder,
            vector_store=vector_store,
            granularity=granularity,
            weights=weights,
            reranker=reranker,
            packer=packer,
            token_counter=token_counter,
            model=model,
            summaries=summaries,
            timelines=timelines,
            topics=topics,
            citations=citations,
            changes=changes,
            layers=layers,
            idle_after=idle_after,
            redact=redact,
            max_memory=max_memory,
            max_scopes=max_scopes,
            progress=progress,
        )
        return cls(open_store(path, key=key, busy_timeout=busy_timeout), parts)

    @property
    def token_counter(self) -> TokenCounter:
        """The function that counts the tokens of a text."""
        return self._parts.token_counter

    def close(self) -> None:
        """Close the store; any later call raises `StoreError`. All remembered messages are on disk.

        Raises `StoreError` where the store does not take what `BackgroundWriter.keep` has in memory.
        """
        self._inside.close()

    def health(self) -> Health:
        """Report how the bank works in this process. A broken store is reported and raises no error."""
        return health_of(self._store, self._inside, self.writers)

    def __enter__(self) -> MemoryBank:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- remember -------------------------------------------------------------------------------------------------

    @measured("remember")
    def remember(
        self,
        scope: Sequence[str],
        messages: Session | Iterable[MessageLike],
        *,
        session: str | None = None,
        at: datetime | None = None,
        close: bool = False,
        later: bool = False,
        expires: datetime | None = None,
    ) -> Remembered:
        """Store messages. When this returns, they are on disk and can be recalled; if it raises, none is stored.

        Args:
            scope: whose memory it is.
            messages: a `Session`, or messages, role/content dicts or ``(role, text)`` pairs in order.
            session: the session they belong to; a `Session` brings its own name.
            at: when they were said, for those that do not say so; now unless given.
            close: the session ends here.
            later: return as soon as they are on disk; `derive` makes segments, keys and vectors, or else the next
                `recall` does (`BackgroundWriter`).
            expires: from when on the turns are forgotten, with the whole turn where they join one; see `lifetimes`.

        Raises:
            InvalidScope, InvalidInput: for a bad scope, messages that no reader understands, or a missing session.
            DuplicateId: an id belongs to another message already.
            StoreError: the store failed.

        Warns:
            DegradedWarning: the messages are stored, and something that is made of them could not be made; it is made
                at the next occasion.
        """
        scope, ending = self._inside.current(check_scope(scope)), self._inside.lifetimes.ending(expires)
        name = check_session_name(messages, session)
        given = messages.messages if isinstance(messages, Session) else read_messages(messages)
        moment = check_moment("at", at)
        new = [stamped(redacted_message(message, self._parts.redact), moment) for message in given]
        if self._parts.denoiser is not None and not later:
            self._inside.scopes.caught_up(scope)
        appended = self._store.append(scope, name, new, close=close, idle=self._parts.silence, also=ending)
        self._inside.spending.came(appended.turns)
        ended = appended.ended if not close else (*appended.ended, name)
        if not later:
            self._inside.deriving.after_write(scope, appended.session_id, turns=len(appended.turn_ids), ended=ended)
        self._inside.lifetimes.after_write(scope)
        return Remembered(appended.turn_ids, appended.new, ended)

    def close_session(self, scope: Sequence[str], session: str) -> None:
        """End a session, which settles its last segment. A later message opens the session again."""
        scope = check_scope(scope)
        check_name(session)
        row = self._store.close_session(scope, session)
        if row is not None:
            self._inside.deriving.after_write(scope, row.id, turns=0, ended=[session])

    def end_idle_sessions(self, now: datetime | None = None) -> list[tuple[Scope, str]]:
        """End every session that was silent for longer than ``idle_after``, and make its layers.

        Sessions end when the next message comes to their scope; call this from a scheduler, where that may take long.

        Args:
            now: the moment; the present unless given.

        Returns:
            The sessions that ended, by scope and name.
        """
        return self._inside.deriving.end_idle(check_moment("now", now), self._parts.silence)

    @measured("derive")
    def derive(self, scope: Sequence[str], session: str | None = None, *, turns: int = 0, ended: bool = False) -> int:
        """Make what is missing: after ``remember(later=True)``, after `forget`, or after a model failed.

        Args:
            scope: whose memory it is.
            session: only what is missing of this session; one that was forgotten meanwhile is passed over.
            turns: how many turns were left to later, for segmenters that learn from time to time.
            ended: the session has ended, though it may have been opened again since.

        Returns:
            How many times a layer took a session in that had ended; 0 for a single session.
        """
        scope = check_scope(scope)
        if session is None:
            return self._inside.deriving.missing(scope)
        row = self._store.session_named(scope, session)
        if row is not None:
            over = [session] if ended or row.closed else []
            self._inside.deriving.after_write(scope, row.id, turns=turns, ended=over)
        return 0

    def rebuild(self, scope: Sequence[str]) -> None:
        """Make everything derived again from the stored turns, with the parts that the bank has now."""
        self._inside.deriving.rebuild(check_scope(scope))

    def check(self, scope: Sequence[str] | None = None, *, repair: bool = False) -> tuple[Finding, ...]:
        """List the errors in what was derived from the turns, in one scope or in all; ``repair`` mends them.

        What can be made again from the turns is deleted and made; for all else a finding says what to do.
        """
        return self._inside.check(check_scope(scope) if scope is not None else None, repair=repair)

    # -- recall ---------------------------------------------------------------------------------------------------

    @measured("recall")
    def recall(
        self,
        scope: Sequence[str],
        query: str,
        *,
        token_budget: int | None = None,
        k: int | None = None,
        layers: Sequence[str] = (),
        now: datetime | None = None,
        exclude: Collection[str] = (),
        context: Iterable[MessageLike] | None = (),
        only_relevant: bool = False,
        where: Mapping[str, Any] | None = None,
        also: Sequence[Sequence[str]] = (),
        history: bool = True,
    ) -> Recall:
        """Return the memories that answer the query: word for word, in time order, numbered, inside the budget.

        A long turn is shown in excerpts; `turns` gives all of it. Room that is left goes to what stands around the
        finds, then to the latest turns.

        Args:
            scope: whose memory is searched; nothing else is looked at but what ``also`` names.
            query: a question, or what was just said.
            token_budget: the length of the block at most, in the bank's token counter; 2000 where neither it nor
                ``k`` is given.
            k: how many memories at most; of 4,000 tokens together where no ``token_budget`` is given.
            layers: layers that take part: ``"summaries"`` begins the block with the running summary (RSum Table 8),
                in at most half of the budget; ``"timelines"`` ends it with timelines around what the query finds,
                rewritten for it (Theanine Phase II and III); ``"topics"`` searches by topic summaries and shows each
                topic found with its turns (RMM section 4). Timelines and topics need the bank's language model, or
                options that say that they may do without.
            now: when the query is asked, for "last week"; the present unless given.
            exclude: ids of turns of ``scope`` that are in the prompt already and need not come back.
            context: what was said before, oldest first; the last few messages weigh in, and count for much where the
                query cannot be read alone ("And where does she live?").
            only_relevant: bring what answers the query, and leave the rest of the budget empty.
            where: a filter (`secom_core.filters`), such as ``{"role": "user"}``: the recall is that of a bank which
                holds only what passes.
            also: other scopes, such as a team's, that are searched too: ranked together, each hit and the block say
                whose it is. Citations of such a recall are not taken in. Neither it nor ``where`` goes with layers.
            history: also bring what holds no more, marked (``(replaced on 2025-06-01 by [4])``), after what holds in
                its place; else that comes alone.

        Raises:
            InvalidScope, InvalidInput: for a bad scope, or for an argument that cannot be used.
            StoreError: the store failed.
        """
        check_ids("exclude", exclude)
        options = RecallOptions(token_budget, k, layers, only_relevant, where, also, history)
        named, *_ = [self._inside.current(check_scope(each)) for each in (scope, *options.also)]
        said = read_messages(context if context is not None else ())
        return self._inside.recalling.recall(named, query, options, now=now, exclude=exclude, context=said)

    def prepare(self, scope: Sequence[str]) -> None:
        """Do beforehand what the first recall of a scope waits for: after an import, or as a server starts.

        The search index is made of what is new and kept with the bank; the embedder loads its model. A large scope
        without an index takes seconds (docs/operations.md). Where nothing is new, it changes nothing.

        Raises:
            InvalidScope: for a bad scope.
            StoreError: the store failed.
        """
        self._inside.recalling.prepare(self._inside.current(check_scope(scope)))

    # -- forget ---------------------------------------------------------------------------------------------------

    def forget(
        self,
        scope: Sequence[str],
        *,
        session: str | None = None,
        turn_ids: Sequence[str] | None = None,
        before: datetime | None = None,
    ) -> int:
        """Delete turns and everything made from them; without a condition, the whole scope.

        Args:
            scope: whose memory it is.
            session: only turns of this session.
            turn_ids: only these turns; the id of any message of a turn names it.
            before: only turns that began earlier.

        Returns:
            How many turns are gone. Where somebody reads the file, its log still holds the words until a later write: a
            `DegradedWarning` says so.

        Raises:
            StoreError: the store failed; or the vector store did, which may still hold what is gone from the bank until
                this or any `recall` is called again.
        """
        scope = check_scope(scope)
        if session is not None:
            check_name(session)
        if turn_ids is not None:
            check_ids("turn_ids", turn_ids)
        earlier = check_moment("before", before) if before is not None else None
        return self._inside.forget(scope, session, turn_ids, earlier)
