"""Chat memory for LlamaIndex's chat engines and agents: the latest messages, and memory recalled from earlier ones."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.bridge.pydantic import Field, PrivateAttr, field_validator
from llama_index.core.llms.llm import LLM
from llama_index.core.memory.memory import InsertMethod
from typing_extensions import Unpack

from secom_core.bank import MemoryBank
from secom_core.bank.checks import check_count, check_part
from secom_core.citations import Citations, read_citations
from secom_core.conversation import check_scope
from secom_core.errors import InvalidInput, StoreLocked
from secom_core.llm.quoting import without_thoughts
from secom_core.memory import Recall, RecallOptions, refuse_citing
from secom_core.protocols import Denoiser, Embedder, Segmenter
from secom_core.text.terms import count_tokens

from .agent_steps import UserHook, check_user_hook, said_by_user
from .answers import is_answer, is_assistant, without_markers
from .arguments import check_session, refuse_unknown
from .banks import bank_of, new_bank
from .cached_recall import CachedRecall
from .chat_log import latest
from .convert import copied, escape_braces, text_of
from .dialogue import QueryHook, check_query_hook, last_user, said_before, searched_for
from .edits import with_kept_markers
from .insertion import Asked, asked_of, insert_recalled, is_query_put
from .memory_options import MemoryOptions, Placement, SessionFields
from .models import as_embedder
from .react_answers import answer_of
from .session_messages import SessionMessages
from .tracing import traced_recall
from .unstored import FAILURES, warn_store_failed
from .window import WindowEntry, fitting

_TOKEN_LIMIT: Final = 8000
_LLM_SHARE: Final = 0.75
_TOKEN_BUDGET: Final = 1500
_ENTRIES: Final = 64


class SecomMemory(SessionMessages):
    """Long-term memory of a scope, and the window of the current session.

    Every message that is put is remembered at once, verbatim, except system messages and an agent's thoughts, and,
    unless you ask for them, tool calls and their results. `get` returns the latest whole exchanges that fit, and before
    the query the memories that are recalled for it, as quoted data. Recalled text is never remembered again.

    Args:
        scope: whose memory it is; always given.
        session: the name of the session; a new one unless given. An existing session is continued.
        bank: where everything is remembered.
        store_path: the bank's file. It is opened if no bank is given, with the ``layers`` named below, and with
            ``citations`` if it is to take them in.
        key: the passphrase of that file, if it is encrypted and not open in this process; it is not serialised.
        busy_timeout: how many seconds a bank that is opened so waits for others who write, as for `MemoryBank.open`.
        token_limit: the length of everything that `get` returns, in tokens; system messages and the last message are
            returned in any case, however long.
        token_budget: the length of the recalled block within it; a quarter of it, at most 1500, unless given.
        k: the largest number of recalled memories.
        layers: the names of layers that take part in recalls, such as ``["summaries"]``.
        only_relevant: recall only memories that answer the query, and leave the rest of the block empty.
        history: also show statements that no longer hold, marked as such.
        where: a filter (`secom_core.filters`), such as ``{"role": "user"}``: nothing else is found or shown.
        also: other scopes that are searched too, such as a team's; the block says whose each memory is.
        query: makes what is searched for out of the messages of the session, the user's last one at the end, such as
            `rewritten_query`; the user's last message as it is unless given. It is not serialised: pass it again to
            ``from_dict``.
        by_user: says which messages with the role of the user are the user's own words; unless given, all but results
            of the code that a ``CodeActAgent`` has run (`agent_steps.said_by_user`). Others count as a tool's results,
            and what the assistant said right before them, in the same `put_messages` or `set`, as the call. It is not
            serialised.
        insert_method: ``"user"`` puts the recalled block before the user's last message, where it keeps the prefix of
            the prompt stable and no agent drops it; ``"system"`` puts it after the system message; ``"off"`` recalls
            nothing, such as for an agent that searches by `memory_tools` alone.
        remember_tools: remember tool calls and results too.
        write: ``"inline"`` makes segments, keys and vectors before `put` returns, ``"background"`` in a thread that all
            memories of a bank share; the messages are on disk at once with both. `flush` waits for the thread.
        on_error: what happens if the store fails during a conversation: ``"warn"`` goes on without recalled memory,
            keeps the messages and stores them with the next ones, with a `DegradedWarning`; ``"raise"`` raises.
        citations: have the bank take in what answers cite, and keep the answers without their markers (RMM section 6).
            `secom_core.citations.prompt.CITE_INSTRUCTION` in the system prompt tells the model to cite.
        trace_contents: whether the `tracing.SecomRecallEvent` of a recall holds the query and the recalled block.
        token_counter: counts tokens; an estimate unless given.

    Raises:
        InvalidScope: the scope is missing, empty, or no tuple of strings.
        InvalidInput: neither a bank nor a store path is given, an option has a value that it does not know, the limits
            do not go together, or the bank was opened without one of the layers, or without ``citations`` if it is to
            take them in.
    """

    token_limit: int = Field(default=_TOKEN_LIMIT, ge=1)
    token_budget: int
    k: int | None = None
    layers: tuple[str, ...] = ()
    only_relevant: bool = False
    history: bool = True
    where: dict[str, Any] | None = None
    also: tuple[tuple[str, ...], ...] = ()
    insert_method: Literal["user", "system", "off"] = "user"
    citations: bool = False
    trace_contents: bool = True
    _count: Callable[[str], int] = PrivateAttr()
    _hook: QueryHook | None = PrivateAttr()
    _cached: CachedRecall | None = PrivateAttr(default=None)
    _citations: Citations | None = PrivateAttr(default=None)
    _injected: int = PrivateAttr(default=0)
    _most_entries: int = PrivateAttr(default=_ENTRIES)

    def __init__(
        self,
        *,
        scope: Sequence[str] | None = None,
        session: str | None = None,
        bank: MemoryBank | None = None,
        store_path: str | None = None,
        key: str | None = None,
        busy_timeout: float | None = None,
        token_limit: int = _TOKEN_LIMIT,
        token_budget: int | None = None,
        k: int | None = None,
        layers: Sequence[str] = (),
        only_relevant: bool = False,
        history: bool = True,
        where: Mapping[str, Any] | None = None,
        also: Sequence[Sequence[str]] = (),
        query: QueryHook | None = None,
        by_user: UserHook = said_by_user,
        insert_method: Placement = "user",
        remember_tools: bool = False,
        write: Literal["inline", "background"] = "inline",
        on_error: Literal["warn", "raise"] = "warn",
        citations: bool = False,
        trace_contents: bool = True,
        token_counter: Callable[[str], int] | None = None,
        **saved: Unpack[SessionFields],
    ) -> None:
        refuse_unknown("SecomMemory", SecomMemory.__init__, saved.keys(), besides=type(self).model_fields)
        checked = check_scope(scope if scope is not None else ())
        check_count("token_limit", token_limit)
        check_session(session, insert_method=insert_method, write=write, on_error=on_error)
        default = max(1, min(_TOKEN_BUDGET, token_limit // 4))
        options = RecallOptions(
            default if token_budget is None else token_budget, k, layers, only_relevant, where, also, history
        )
        refuse_citing(options, cite=citations)
        needed = _needed_layers(options.layers, citations)
        check_part("token_counter", token_counter)
        hook, user_hook = check_query_hook(query), check_user_hook(by_user)
        bank = bank_of(bank, store_path, needed_by="SecomMemory", layers=needed, key=key, busy_timeout=busy_timeout)
        bank.layers.check(needed)
        super().__init__(
            bank,
            user_hook,
            scope=checked,
            session=uuid.uuid4().hex if session is None else session,
            token_limit=token_limit,
            insert_method=insert_method,
            remember_tools=remember_tools,
            write=write,
            on_error=on_error,
            citations=citations,
            trace_contents=trace_contents,
            **options.arguments,
            **saved,
        )
        self._count, self._hook = token_counter or count_tokens, hook  # before super().__init__(), they would be lost
        if self._recalled_room >= self.token_limit:
            raise InvalidInput(f"token_budget {self.token_budget} leaves no room in token_limit {self.token_limit}")

    @field_validator("insert_method", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        return value.value if isinstance(value, InsertMethod) else value

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "SecomMemory"

    @classmethod
    def from_defaults(  # type: ignore[override]  # a misspelt argument is an error here
        cls,
        chat_history: list[ChatMessage] | None = None,
        llm: LLM | None = None,
        *,
        scope: Sequence[str] | None = None,
        embed_model: BaseEmbedding | Embedder | None = None,
        segmenter: Segmenter | None = None,
        denoiser: Denoiser | None = None,
        bank: MemoryBank | None = None,
        store_path: str | None = None,
        key: str | None = None,
        token_limit: int | None = None,
        token_counter: Callable[[str], int] | None = None,
        tokenizer_fn: Callable[[str], Sequence[Any]] | None = None,
        **options: Unpack[MemoryOptions],
    ) -> SecomMemory:
        """Make a memory, and its bank if none is given.

        Args:
            chat_history: messages to begin with; those that the session does not hold yet are remembered.
            llm: sets ``token_limit`` to three quarters of its context window where no limit is given.
            scope: whose memory it is.
            embed_model: a LlamaIndex or core embedder for the bank that is opened.
            segmenter: cuts sessions into segments in the bank that is opened.
            denoiser: makes keys in the bank that is opened.
            bank: a bank that is open already; the three parts above cannot be given with it.
            store_path: the file of the bank to open.
            key: the passphrase of that file, if it is encrypted.
            token_limit: the length of everything that `get` returns.
            token_counter: counts tokens; an estimate unless given.
            tokenizer_fn: cuts a text into tokens, as other memories take it; in place of a ``token_counter``.
            **options: as for the class.

        Raises:
            InvalidInput: as for the class; or the parts do not go together.
        """
        refuse_unknown("SecomMemory", SecomMemory.__init__, options.keys(), besides=MemoryOptions.__annotations__)
        if isinstance(chat_history, str):
            raise InvalidInput(f"chat_history is a list of messages; session={chat_history!r} names a session")
        if tokenizer_fn is not None and token_counter is not None:
            raise InvalidInput("give a token_counter or a tokenizer_fn, not both")
        embedder = embed_model and as_embedder(embed_model)
        parts: dict[str, Any] = {"embedder": embedder, "segmenter": segmenter, "denoiser": denoiser}
        given = {name: part for name, part in parts.items() if part is not None}
        if bank is not None and given:
            raise InvalidInput(f"a bank that is open already takes no {' or '.join(given)}")
        if given and store_path is not None:
            layers = _needed_layers(options.get("layers", ()), options.get("citations", False))
            bank, key = new_bank(store_path, layers, key=key, busy_timeout=options.get("busy_timeout"), **given), None
        if token_limit is None:
            token_limit = int(llm.metadata.context_window * _LLM_SHARE) if llm is not None else _TOKEN_LIMIT
        by_pieces = (lambda text: len(tokenizer_fn(text))) if tokenizer_fn is not None else None
        memory = cls(
            scope=scope,
            bank=bank,
            store_path=store_path,
            key=key,
            token_limit=token_limit,
            token_counter=token_counter or by_pieces,
            **options,
        )
        if chat_history:
            memory.set(chat_history)
        return memory

    @property
    def last_recall(self) -> Recall | None:
        """The recall for the current query, with the numbers that the model saw; nothing where there was none yet."""
        return self._cached.recall if self._cached else None

    @property
    def last_citations(self) -> Citations | None:
        """The citations in the last answer, where the memory reads them."""
        return self._citations

    @property
    def injected_tokens(self) -> int:
        """How many tokens of recalled memory the last `get` put into the messages."""
        return self._injected

    @property
    def given(self) -> tuple[str, ...]:
        """The names of those arguments that cannot be saved and were given."""
        own = {"token_counter": self._count is not count_tokens, "query": self._hook is not None}
        own["by_user"] = self._by_user is not said_by_user
        return tuple(name for name, is_given in own.items() if is_given)

    def tokenizer_fn(self, text: str) -> Sequence[int]:
        """As many items as ``text`` has tokens; chat engines measure their own prompt with it."""
        return range(self._count(text))

    # -- reading --------------------------------------------------------------------------------------------------

    def get(
        self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **kwargs: Any
    ) -> list[ChatMessage]:
        """The latest messages that fit, with the memory recalled for the query.

        Args:
            input: the query; the user's last message unless given.
            initial_token_count: how many tokens of the limit are used already.
            **kwargs: ignored, as other memories do.

        Raises:
            InvalidInput: the limit is used up already.
        """
        if initial_token_count > self.token_limit:
            raise InvalidInput(f"initial_token_count {initial_token_count} is over token_limit {self.token_limit}")
        with self._lock:
            error = self._read()
            if error is not None:
                self._failed("nothing is recalled, and the chat before it is not shown", error)
            epoch = self._drop_forgotten() if error is None else None
            visible = fitting(self.window, self.token_limit - initial_token_count - self._recalled_room, self._count)
            cached = self._recall(asked_of(input, visible), visible, epoch) if error is None else None
            text, self._injected = (cached.text, cached.tokens) if cached is not None else ("", 0)
            place = last_user([entry.seen for entry in visible]) if cached is not None and cached.put else None
            messages = [copied(entry.message) for entry in visible]
        if not text or self.insert_method == "off":
            return messages
        return insert_recalled(messages, text, method=self.insert_method, query=place)

    @property
    def _recalled_room(self) -> int:
        return 0 if self.insert_method == "off" else self.token_budget + self._count("\n")

    def _recall(self, asked: Asked, shown: Sequence[WindowEntry], epoch: tuple[int, int] | None) -> CachedRecall | None:
        if not asked.words.strip() or self.insert_method == "off":
            return None
        # Agents read several times a turn; the recalled block and its numbers stay the same until the next query.
        if self._cached is None or not self._cached.answers(asked.words, epoch):
            put = is_query_put(shown, asked.words) and not (self._cached is not None and self._cached.over)
            recall = self._searched(asked, self._before(put=put), {entry.turn for entry in shown if entry.turn})
            text = escape_braces(recall.text)
            self._cached = CachedRecall(asked.words, recall, text, self._count(text) if text else 0, put, epoch)
        return self._cached

    def _before(self, *, put: bool) -> list[ChatMessage]:
        messages = [entry.seen for entry in self.window]
        return messages[: last_user(messages)] if put else messages

    def _searched(self, asked: Asked, earlier: Sequence[ChatMessage], exclude: set[str]) -> Recall:
        more = self.only_relevant, self.where, self.also, self.history
        options = RecallOptions(self.token_budget, self.k, self.layers, *more)
        about: dict[str, Any] = {"exclude": exclude, "context": said_before(earlier), "now": asked.at}
        try:
            query = searched_for(asked.words, earlier, self._hook, warns=self.on_error == "warn")
            if query:
                about |= {"session": self.session, "contents": self.trace_contents, **options.arguments}
                about["counter"] = lambda text: self._count(escape_braces(text))
                return traced_recall(self._bank, self.scope, query, **about)
        except FAILURES as error:
            self._failed("nothing is recalled", error)
        return Recall(asked.words, (), "", 0)

    @property
    def _last_epoch(self) -> tuple[int, int] | None:
        return self._cached.epoch if self._cached else None

    def _latest(self, entries: list[WindowEntry]) -> list[WindowEntry]:
        # Counted again only when so many more have come.
        if len(entries) < self._most_entries:
            return entries
        shown = latest(entries, self.token_limit, self._count)
        self._most_entries = len(shown) + _ENTRIES
        return shown

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace the window; messages that the session does not hold yet are remembered."""
        with self._lock:
            self._cached = None
            super().set(messages)

    def reset(self) -> None:
        """Begin a new session. What was remembered stays; `MemoryBank.forget` deletes it."""
        with self._lock:
            super().reset()
            self._cached = self._citations = None

    def _received(self, entry: WindowEntry) -> WindowEntry:
        """The entry as it is kept. A new query ends the cached recall; the citations of an answer are taken in."""
        if self.citations and is_assistant(entry.seen) and entry.step is None:
            entry = entry.model_copy(update={"message": self._taken_in(entry.message)})
        self._cached = self._cached.after(entry.seen) if self._cached is not None else None
        return entry

    def _given_again(self, entries: list[WindowEntry], old: Sequence[WindowEntry]) -> list[WindowEntry]:
        return with_kept_markers(entries, old, self._words, self._turns) if self.citations else entries

    def _taken_in(self, answer: ChatMessage) -> ChatMessage:
        recall = self.last_recall
        if recall is None or not recall.numbers:
            return answer
        if is_answer(answer):
            self._citations = read_citations(without_thoughts(answer_of(text_of(answer))), recall.numbers)
            try:
                if recall.impression is not None:
                    self._bank.citations.reward(self.scope, recall.query, recall.impression, self._citations)
            except FAILURES as error:
                # The answer is stored all the same, as soon as it can be.
                told = warn_store_failed if isinstance(error, StoreLocked) else self._failed
                told("the citations of the answer were not taken in", error)
        # For the next query, the same numbers stand for other memories.
        return without_markers(answer, recall.numbers)


def _needed_layers(layers: Sequence[str], citations: bool) -> list[str]:
    """The layers that the bank has to have been opened with."""
    return [*layers, *(["citations"] if citations else [])]
