"""The memory bank: a conversation goes in, the right turns come back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..conversation import Scope, Session, check_scope, stamped
from ..memory import Recall, RecallOptions
from ..readers import MessageLike, read_messages
from ..stores.opening import open_store
from .checks import check_ids, check_moment, check_name
from .components import Components
from .health import health_of
from .known import know
from .looking import Looking
from .measuring import measured
from .parts import Parts
from .records import Finding, Health, Remembered
from .redaction import redacted_message
from .session_names import session_name

if TYPE_CHECKING:
    from ..chats import ChatRecord
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

    Use `open` to make one. The base install is enough; an embedder, a segmenter with a language model, or LLMLingua-2
    improve the results, and each is one argument. All methods may be called from any thread. Asynchronous callers run
    them in a worker thread, as the framework adapters do, or use `AsyncMemoryBank`.

    Args:
        store: the store of the turns.
        parts: the parts of the bank.
    """

    def __init__(self, store: SqlStore, parts: Parts | None = None) -> None:
        self._parts = parts or Parts()
        self._store, self._inside = store, Components(store, self._parts)
        self.writers = self._inside.writers
        """The background writers of the bank. Each adds itself."""
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
        rules: bool | None = None,
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
        timezone: str | tzinfo | None = None,
        progress: bool | None = None,
    ) -> MemoryBank:
        """Open the bank in a file, which is created if it does not exist, or in a PostgreSQL database.

        Args:
            path: the file; ``":memory:"`` keeps nothing; ``"postgresql://user:password@host/database"`` is a database.
            preset: a paper's configuration (see `secom_core.presets`); other arguments replace its parts.
            key: the passphrase of an encrypted file (SQLCipher, extra ``encrypted``).
            busy_timeout: how many seconds a call waits for other writers before it raises `StoreLocked`; unless given,
                60 for a file, and the limit of the server for PostgreSQL.
            segmenter: cuts sessions into segments. Unless given, it is `AdaptiveSegmenter`, which learns how people
                change the subject, with any embedder except `StaticEmbedder`, and otherwise `LexicalSegmenter`.
            denoiser: makes the search keys; unless given, the keys are the full text.
            embedder: adds search by vector to search by words.
            vector_store: an external vector store for the search by vector, such as `LangChainVectorStore`,
                `LlamaIndexVectorStore` or `PgVectorStore`. It embeds turns and keys itself. If there is also an
                ``embedder``, that is used for segments, timelines and topics.
            granularity: the unit of memory: ``"segment"`` unless given, or ``"turn"`` or ``"session"`` for comparison.
            weights: the ranking's weights by signal, such as ``{"segment_lexical": 1}``; the fitted ones unless given.
            rules: whether the bank's own rules take part in recalls (`Preset` says which); they do unless given.
            reranker: judges the best hits of a recall before they are packed, for example a cross-encoder. It is a
                function of the query and the texts (`secom_core.protocols.Reranker`), or a `Reranking` that also sets
                how many hits it judges and how much it counts. If it fails, the order stays as it was.
            packer: fills the token budget; `PackTurns` unless given.
            token_counter: counts tokens as the model that reads the block does; unless given, tokens are estimated.
            model: the language model that makes summaries, events and topics from closed sessions; else rules do.
            summaries: keep a running summary of the closed sessions (RSum), for ``bank.summaries`` and
                ``recall(layers=["summaries"])``; a `Summarizer` has its own model and limits.
            timelines: make events from the closed sessions and link them (Theanine), for ``bank.timelines`` and
                ``recall(layers=["timelines"])``; `TimelineOptions` sets the details.
            topics: make topics of each speaker from the closed sessions (RMM's prospective reflection), for
                ``bank.topics`` and ``recall(layers=["topics"])``; `TopicOptions` sets the details.
            citations: keep a log of the citations of answers, in ``bank.citations``. With `RerankerOptions`, the
                paper's reranker chooses the memories that are shown, and learns from the citations (RMM's
                retrospective reflection).
            changes: detect statements that change an earlier one, by rules in seven languages, and mark the earlier
                ones in recalls: ``bank.changes``. Off unless given, as in long chats with assistants about half of the
                links are wrong. With ``"model"``, the language model is also asked, once a session that ends.
            layers: your own layers, registered with `secom_core.layers.register`.
            idle_after: the silence that ends a session (RMM section 3), 30 minutes unless given: by the times of the
                messages when the next one comes to the scope, and by the clock in `end_idle_sessions`. A session also
                ends when another begins, unless it has gone on since. With ``False``, it ends only when you close it.
            redact: a function that removes text that must not be stored, such as card numbers, before anything is
                stored and before any model sees it. It is applied to messages, the texts in their metadata, the name
                that a `Session` brings, and logged questions; not to names that you give. It must always return the
                same result for the same text, and leave redacted text unchanged. If it raises, nothing is stored.
            max_memory: about how many bytes all indexes may take, 1 GiB unless given; the least used go first.
            max_scopes: the largest number of scopes that are kept in memory; unless given, 1000 for topics and events.
            timezone: the time zone of the users, such as ``"Europe/Brussels"`` or a ``tzinfo``; UTC unless given. It
                says which day "yesterday" is in a query, and of which zone times without an offset, or in UTC, are.
            progress: show progress bars during long work; off unless given.

        Raises:
            InvalidInput: a part is of the wrong kind; nothing is opened.
            StoreError: the file cannot be opened, or is not a bank.
        """
        parts = Parts.of(
            preset,
            segmenter=segmenter,
            denoiser=denoiser,
            embedder=embedder,
            vector_store=vector_store,
            granularity=granularity,
            weights=weights,
            rules=rules,
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
            timezone=timezone,
            progress=progress,
        )
        return cls(open_store(path, key=key, busy_timeout=busy_timeout), parts)

    def close(self) -> None:
        """Close the store; any later call raises `StoreError`. All remembered messages are on disk.

        Raises `StoreError` if the store does not accept the messages that `BackgroundWriter.keep` holds in memory.
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
        chat: Sequence[ChatRecord] = (),
        answers: str | None = None,
    ) -> Remembered:
        """Store messages. When this returns, they are on disk and can be recalled; if it raises, none is stored.

        Args:
            scope: whose memory it is.
            messages: a `Session`, or messages, role/content dicts or ``(role, text)`` pairs in order.
            session: the session they belong to; a `Session` brings its own name.
            at: the time of messages that have none; now unless given.
            close: whether the session ends here.
            later: return as soon as the messages are on disk; `derive`, or else the next `recall`, makes segments, keys
                and vectors (`BackgroundWriter`).
            expires: when the turns expire and are forgotten; if messages join an existing turn, this whole turn expires
                then. See `lifetimes`.
            chat: messages in the framework's own form (`chats`), which are added to the chat of the session in the same
                transaction. Their ``turn_id`` may be the id of any message of the turn, also of a new one.
            answers: the id of the turn that replies at the beginning join; the last unless given, or if there is none.

        Raises:
            InvalidScope, InvalidInput: for a bad scope, messages that no reader understands, or a missing session.
            DuplicateId: an id belongs to another message already.
            StoreError: the store failed.

        Warns:
            DegradedWarning: the messages are stored, but something is not derived from them yet; it is tried again.
        """
        scope, moment, lifetimes = check_scope(scope), check_moment("at", at, self.timezone), self._inside.lifetimes
        may_end = lifetimes.before_write(scope) or expires is not None
        also = [*lifetimes.ending(expires), *(self._inside.chats.beside(chat) if chat else ())]
        name = session_name(self._store, scope, messages, session, self._parts.redact)
        given = messages.messages if isinstance(messages, Session) else read_messages(messages, timezone=self.timezone)
        new = [stamped(redacted_message(message, self._parts.redact), moment, self.timezone) for message in given]
        if self._parts.denoiser is not None and not later:
            self._inside.statistics(scope)
        done = self._inside.append(scope, name, new, close=close, also=also, answers=answers)
        self._inside.spending.came(done.turns)
        ended = done.ended if not close else (*done.ended, name)
        if not later:
            self._inside.deriving.after_write(scope, done.session_id, turns=len(done.turn_ids), ended=ended)
        lifetimes.after_write(scope, may_end=may_end)
        return Remembered(done.turn_ids, done.new, ended, name)

    def close_session(self, scope: Sequence[str], session: str) -> None:
        """End a session, which settles its last segment. A later message opens the session again."""
        check_name(session)
        scope = self._inside.current(check_scope(scope))
        row = self._store.close_session(scope, session)
        if row is not None:
            self._inside.deriving.after_write(scope, row.id, turns=0, ended=[session])

    def end_idle_sessions(self, now: datetime | None = None) -> list[tuple[Scope, str]]:
        """End every session that was silent for longer than ``idle_after``, and make its layers.

        Call this from a scheduler: otherwise a session ends only when the next message comes to its scope.

        Args:
            now: the moment; the present unless given.

        Returns:
            The sessions that ended, by scope and name.
        """
        moment = check_moment("now", now, self.timezone)
        return self._inside.deriving.end_idle(moment, self._parts.silence, self._inside.current)

    @measured("derive")
    def derive(
        self, scope: Sequence[str], session: str | Sequence[str] | None = None, *, turns: int = 0, ended: bool = False
    ) -> int:
        """Make what is missing: after ``remember(later=True)``, after `forget`, or after a model failed.

        Args:
            scope: whose memory it is.
            session: only what is missing of this session, or of these; what was forgotten meanwhile is passed over.
            turns: how many turns were left to later, for segmenters that learn from time to time.
            ended: the session has ended, though it may have been opened again since.

        Returns:
            How many times a layer processed a session that had ended; 0 for named sessions.
        """
        scope = self._inside.current(check_scope(scope))
        if session is None:
            return self._inside.deriving.missing(scope)
        self._inside.deriving.named(scope, [session] if isinstance(session, str) else session, turns, ended=ended)
        return 0

    def rebuild(self, scope: Sequence[str]) -> None:
        """Make everything derived again from the stored turns, with the parts that the bank has now."""
        self._inside.deriving.rebuild(self._inside.current(check_scope(scope)))

    def check(self, scope: Sequence[str] | None = None, *, repair: bool = False) -> tuple[Finding, ...]:
        """List the errors in data that was derived from the turns, in one scope or in all; ``repair`` repairs them.

        Data that can be derived again from the turns is made again. For other errors, the finding says what to do.
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

        A long turn is shown in excerpts; `turns` returns all of it, and word for word what a model could take for a
        mark of its own (docs/recall.md). The rest of the budget goes to turns next to the hits, then to the latest.

        Args:
            scope: whose memory is searched. Only the scopes in ``also`` are searched too.
            query: a question, or what was just said.
            token_budget: the largest length of the block, in the bank's token counter; 2000 without it and ``k``.
            k: the largest number of memories, half of them at most pinned or standing instructions; they share 4,000
                tokens if no ``token_budget`` is given.
            layers: layers that take part: ``"summaries"`` begins the block with the running summary (RSum Table 8),
                in at most half of the budget; ``"timelines"`` ends it with timelines around what the query finds,
                rewritten for it (Theanine Phase II and III); ``"topics"`` searches by topic summaries and shows each
                topic found with its turns (RMM section 4). Timelines and topics need the bank's language model, or
                options that allow them without one.
            now: when the query is asked, for "last week"; the present, in the bank's ``timezone``, unless given.
            exclude: ids of turns of ``scope`` that are in the prompt already, so that they are not recalled. The block
                says which of them no longer hold.
            context: the messages before the query, oldest first. The last few count, and count for much if the query
                cannot be understood alone ("And where does she live?").
            only_relevant: return only memories that answer the query, and leave the rest of the budget empty.
            where: a filter (`secom_core.filters`), such as ``{"role": "user"}``. The recall returns the same as a bank
                that contains only the messages that match.
            also: other scopes that are searched too, such as a team's. All memories are ranked together, and each hit
                and the block name the scope. Citations of such a recall are not recorded. Neither ``also`` nor
                ``where`` can be combined with layers.
            history: also show statements that no longer hold, after the ones that replaced them, with a mark such as
                ``(replaced on 2025-06-01 by [4])``. With ``False``, they are left out.

        Raises:
            InvalidScope, InvalidInput: for a bad scope, or for an argument that cannot be used.
            StoreError: the store failed.
        """
        check_ids("exclude", exclude)
        options = RecallOptions(token_budget, k, layers, only_relevant, where, also, history)
        said = read_messages(context if context is not None else ())
        return self._inside.recalling.recall(check_scope(scope), query, options, now=now, exclude=exclude, context=said)

    def prepare(self, scope: Sequence[str]) -> None:
        """Do beforehand what the first recall of a scope waits for: after an import, or as a server starts.

        The search index is made of what is new and kept with the bank; the embedder loads its model. A large scope
        without an index takes seconds (docs/operations.md). Where nothing is new, it changes nothing.

        Raises:
            InvalidScope, StoreError: for a bad scope; the store failed.
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
        """Delete turns and everything made from them; without a condition, the whole scope; see `Storage.compact`.

        Args:
            scope: whose memory it is.
            session: only turns of this session.
            turn_ids: only these turns; the id of any message of a turn names it.
            before: only turns that began earlier.

        Returns:
            How many turns were deleted, those of a hundred sessions at once. If somebody else is reading the file, its
            log holds the text until a later write, and a `DegradedWarning` says so.

        Raises:
            StoreError: the store failed, or the vector store did. The vector store may then hold the deleted turns
                until this method, or any `recall`, is called again.
        """
        if session is not None:
            check_name(session)
        check_ids("turn_ids", turn_ids or ())
        earlier = check_moment("before", before, self.timezone) if before is not None else None
        return self._inside.forget(check_scope(scope), session, turn_ids, earlier)
