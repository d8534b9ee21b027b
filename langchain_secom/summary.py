"""The running summary of all sessions (RSum) in LangChain: for classic chains, and for agents with long threads."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import replace
from typing import Any, ClassVar, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig, run_in_executor
from pydantic import Field, PrivateAttr, StrictInt, model_validator
from typing_extensions import Self

from secom_core.bank import MemoryBank
from secom_core.bank.answers import keeper_of, wait_until_written
from secom_core.context.block import counter_with, shown_with
from secom_core.conversation import Turn, group_messages
from secom_core.errors import InvalidInput, StoreError, warn_degraded
from secom_core.llm.flow import AsyncChatModel, ChatModel
from secom_core.memory import Recall, RecallOptions
from secom_core.processes import ForkWorker
from secom_core.summaries import Summarizer, Summary
from secom_core.summaries.extraction import labelled
from secom_core.summaries.prompts import response_prompt
from secom_core.summaries.section import summary_block
from secom_core.text.terms import count_tokens

from .arguments import Hints
from .convert import text_of, to_messages
from .dialogue import Dialogue, QueryHook
from .memory import SecomMemory
from .models import LangChainChatModel

_SUMMARIES: Final = "summaries"
_LOOKED_AT: Final = 400
"""How many of the session's last turns are looked at for those that wait; a model that fails so long is noticed."""
_HEADING: Final = re.compile(r"\A[^\n]*:\n\n")


class RecursiveSummaryMemory(SecomMemory):
    """The running summary of a scope's closed sessions, and the current session word for word.

    ``load_memory_variables`` returns the latest summary as quoted data, followed by the turns of the session. With
    ``retrieve``, it also recalls memories for the input (RSum, Table 8). ``save_context`` remembers the input and the
    output. Turns that no longer fit are added to the summary in the background, several at once; until then, their
    sentences are shown beside it. `close_session` adds the rest of the session to the summary and begins the next
    session. ``clear`` deletes only the current session.

    Setup: ``pip install ".[langchain]"`` in a clone.

    Instantiate::

        bank = MemoryBank.open("memory.db", model=LangChainChatModel(llm), summaries=True)
        memory = RecursiveSummaryMemory(bank=bank, scope=("acme", "alice"))

    Usage::

        ConversationChain(llm=llm, memory=memory).invoke({"input": "I moved to Ghent."})
        memory.close_session()

    Without a language model, the summary is made of sentences of the messages.

    Args:
        scope: whose memory it is; always given.
        session: the name of the session; a new one unless given. An existing one is taken up where it ended.
        bank: where everything is remembered; opened with ``summaries``.
        store_path: the bank's file, opened without a language model if no bank is given.
        key: the passphrase of that file, if it is encrypted; a dump does not have it, so pass it again.
        busy_timeout: how many seconds that bank waits for others who write, as for `MemoryBank.open`.
        memory_key: the name of the variable it fills. `ConversationChain` wants ``"history"``.
        input_key: which of a chain's inputs is the user's message, if there are several.
        output_key: which of a chain's outputs is the answer, if there are several.
        return_messages: fill the variable with messages instead of text.
        retrieve: recall turns as well, beside the summary.
        token_budget: the largest length of the quoted block, in the bank's token counter; with ``retrieve``, the
            summary takes half of it at most.
        k: how many memories ``retrieve`` recalls at most.
        layers: layers of the bank that take part in what ``retrieve`` recalls, beside the summary; as for
            `MemoryBank.recall`.
        only_relevant: have ``retrieve`` recall only memories that answer the input, and leave the rest of the
            budget empty.
        query: makes what ``retrieve`` searches for out of the session's latest messages and the input; the input's
            words unless given.
        response_examples: replies that used a memory, which `response_messages` shows to the model; written by
            `secom_core.summaries.response_example` (RSum Tables 7 and 15).
        max_tokens: how many tokens of the current session are given: whole turns, the latest, the last one always.
        window: how many of its messages are given at most.
        token_counter: counts the tokens of the current session; an estimate unless given.
        human_prefix: the user's name in text.
        ai_prefix: the model's name in text.
        trace_contents: whether traces of a recall hold the query and what was found.
        callbacks: handlers of recalls; classic chains do not hand theirs on.
    """

    _foreign: ClassVar[Hints] = {
        **SecomMemory._foreign,
        "max_token_limit": ("max_tokens", "max_tokens limits the turns of the session that are given word for word"),
    }

    token_budget: StrictInt | None = 2000
    window: int = Field(default=200, ge=0)
    retrieve: bool = False
    response_examples: list[str] = Field(default_factory=list)
    max_tokens: int = Field(default=2000, ge=1)
    token_counter: Callable[[str], int] = Field(default=count_tokens, exclude=True)

    _worker: ForkWorker = PrivateAttr(default_factory=lambda: ForkWorker("secom-summary"))
    _folding: Future[None] | None = PrivateAttr(default=None)
    _next_fold: int = PrivateAttr(default=0)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Another memory of the same session on the same bank, with no summary under way."""
        return super().__deepcopy__({**(memo or {}), id(self._folding): None})

    @classmethod
    def _opened(cls, path: str, *, key: str | None = None, busy_timeout: float | None = None) -> MemoryBank:
        return MemoryBank.open(path, key=key, summaries=True, busy_timeout=busy_timeout)

    @model_validator(mode="after")
    def _check_layers(self) -> Self:
        if not self.retrieve and set(self.layers) - {_SUMMARIES}:
            raise InvalidInput(f"layers take part in a recall: give retrieve=True with layers={self.layers!r}")
        return self

    @property
    def _recall_options(self) -> RecallOptions:
        return RecallOptions(
            self.token_budget,
            self.k,
            (_SUMMARIES, *self.layers),
            self.only_relevant,
            self.where,
            self.also,
            self.history,
        )

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """As `SecomMemory.save_context`; turns that no longer fit are taken into the summary, in the background.

        They are taken in once they are half as long as what is shown.

        Args:
            inputs: as there.
            outputs: as there.

        Warns:
            DegradedWarning: if the language model fails at them; they are taken in later, and shown until then.
        """
        super().save_context(inputs, outputs)
        waiting = self._waiting([turn.id for turn in self._latest()])
        size = sum(self.token_counter(turn.text) for turn in waiting)
        is_busy = self._folding is not None and not self._folding.done()
        if waiting and not is_busy and size >= max(self._next_fold, self.max_tokens // 2):
            # A model that fails is not asked again for every turn.
            self._next_fold = size + self.max_tokens // 2
            self._folding = self._worker.submit(copy_context().run, self._fold, self.session, waiting[-1].id)

    def _fold(self, session: str, through: str) -> None:
        try:
            if self.bank.summaries.fold(self.scope, session, through):
                self._next_fold = 0
        except StoreError as error:
            warn_degraded("the store failed; what no longer fits is taken into the summary later", error)

    def _waiting(self, shown: Collection[str]) -> list[Turn]:
        """The latest turns of the session that are neither shown nor in the summary yet."""
        versions = [each for each in self.bank.summaries.versions(self.scope) if each.session == self.session]
        known = {*shown, *(turn_id for each in versions for turn_id in each.session_turn_ids)}
        latest = self.bank.turns(self.scope, self.session, last=_LOOKED_AT)
        return [turn for turn in latest if turn.id not in known]

    def _settled(self) -> None:
        if self._folding is not None:
            self._folding.result()

    def clear(self) -> None:
        """Forget the current session, for good. A summary that was made from it is made again from the others."""
        self._settled()
        super().clear()
        self.bank.derive(self.scope)

    def close_session(self, next_session: str | None = None) -> Summary | None:
        """End the session: the summary is brought up to date with it (RSum equation 2), and a new session begins.

        Args:
            next_session: its name; a new one unless given.

        Returns:
            The latest summary; nothing if no session has ended with a message in it.

        Raises:
            StoreError: the store failed, or was locked for longer than the bank waits; the session goes on.

        Warns:
            DegradedWarning: if the language model failed and sentences were extracted instead; it is asked again
                when the next session closes.
        """
        self._settled()
        wait_until_written(keeper_of(self.bank, self.scope), self.scope)
        self.bank.close_session(self.scope, self.session)
        self.session = next_session or uuid.uuid4().hex
        return self.bank.summaries.latest(self.scope)

    async def aclose_session(self, next_session: str | None = None) -> Summary | None:
        """As `close_session`, without blocking the event loop."""
        return await run_in_executor(None, self.close_session, next_session)

    def response_messages(self, inputs: dict[str, Any]) -> list[BaseMessage]:
        """The paper's prompt for a reply from the latest summary and the current session (RSum equation 3, Table 2).

        In a chain it takes the place of a prompt of your own::

            RunnableLambda(memory.response_messages, memory.aresponse_messages) | llm

        Args:
            inputs: what `load_memory_variables` takes.

        Raises:
            InvalidInput: as `load_memory_variables`.
        """
        dialogue = self._dialogue(inputs)
        return self._response(dialogue, dialogue.query(self._hook))

    async def aresponse_messages(self, inputs: dict[str, Any]) -> list[BaseMessage]:
        """As `response_messages`, without blocking the event loop."""
        dialogue = await run_in_executor(None, self._dialogue, inputs)
        return await run_in_executor(None, self._response, dialogue, await dialogue.aquery(self._hook))

    def _response(self, dialogue: Dialogue, query: str) -> list[BaseMessage]:
        turns = self._latest()
        # The summary has a place of its own in this prompt.
        layers = tuple(name for name in self.layers if name != _SUMMARIES)
        options = replace(self._recall_options, layers=layers)
        recall = self._retrieved(query, dialogue, [turn.id for turn in turns], options)
        lines = [self._line(message) for turn in turns for message in turn.messages]
        question = [f"{self.human_prefix}: {dialogue.words}"] if dialogue.words else []
        prompt = response_prompt(
            "\n".join([*lines, *question]),
            "\n".join(self._summarised([turn.id for turn in turns])),
            speaker=self.ai_prefix,
            retrieved=recall.text if recall is not None else "",
            examples=self.response_examples,
        )
        return [SystemMessage(prompt.system or ""), HumanMessage(prompt.text)]

    def _latest(self) -> list[Turn]:
        kept: list[Turn] = []
        left = self.max_tokens
        for turn in reversed(super()._latest()):
            left -= self.token_counter(turn.text)
            if kept and left < 0:
                break
            kept.append(turn)
        return kept[::-1]

    @property
    def _hook(self) -> QueryHook | None:
        return self.query if self.retrieve else None

    def _recall(self, query: str, dialogue: Dialogue, exclude: Collection[str]) -> Recall | None:
        return self._retrieved(query, dialogue, exclude, self._recall_options) or self._summary_alone(query, exclude)

    def _retrieved(
        self, query: str, dialogue: Dialogue, exclude: Collection[str], options: RecallOptions
    ) -> Recall | None:
        if not self.retrieve or not query.strip():
            return None
        return self._search(query, dialogue, exclude, options)

    def _summary_alone(self, query: str, shown: Collection[str]) -> Recall | None:
        """The summary within the whole budget, as nothing else wants the other half."""
        found = self._summarised(shown)
        if not found:
            return None
        counter = counter_with(self.bank.layers, self.bank.token_counter)
        text = shown_with(self.bank.layers, summary_block(found, self.token_budget, counter))
        return Recall(query, (), text, counter(text))

    def _summarised(self, shown: Collection[str]) -> list[str]:
        """The summary's sentences, and those of the turns that are neither in it nor shown."""
        # These are read first: a turn that is taken in meanwhile is shown twice rather than not at all.
        waiting = self._waiting(shown)
        latest = self.bank.summaries.latest(self.scope)
        said = (each for turn in waiting for message in turn.messages for each in labelled(message))
        return [*(latest.sentences if latest is not None else ()), *said]


class SecomSummarizer(Runnable[Sequence[BaseMessage], str]):
    """Writes RSum's running summary for LangChain's `SummarizationMiddleware`.

    By default, the middleware asks its chat model for a new summary each time. From LangChain 1.4.5 on, its
    ``summarizer`` can be any runnable from messages to text, such as this class. It updates its last summary with the
    messages after it (RSum equation 2), within the summarizer's limits of sentences and tokens, and in several calls
    if the messages do not fit into one. If the model fails, the summary consists of sentences of the messages, with a
    `DegradedWarning`, and the agent goes on. The model's tokens do not appear in the user's stream.

    Setup: ``pip install ".[langchain]"`` in a clone.

    Usage::

        middleware = SummarizationMiddleware(
            llm, trigger=("messages", 40), summarizer=SecomSummarizer(llm), trim_tokens_to_summarize=None
        )
        create_agent(llm, tools, middleware=[middleware])

    With ``trim_tokens_to_summarize=None``, the middleware passes on all messages that it removes. By default it passes
    on only the last 4,000 tokens and silently drops the rest, beginning with the earlier summary.

    Args:
        summarizer: a `Summarizer`, such as a bank's; or the language model that it asks, of LangChain or of the core.
            Without either, the summary is made of sentences of the messages.

    Raises:
        InvalidInput: for anything else.
    """

    def __init__(self, summarizer: Summarizer | BaseChatModel | ChatModel | AsyncChatModel | None = None) -> None:
        self.summarizer = _as_summarizer(summarizer)

    def invoke(self, input: Sequence[BaseMessage], config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """The summary after the messages, a line a sentence.

        Args:
            input: the messages, an earlier summary of the middleware's among them.
            config: the run's configuration.
            **kwargs: none are used.
        """
        return self._call_with_config(self._updated, input, config)

    async def ainvoke(self, input: Sequence[BaseMessage], config: RunnableConfig | None = None, **kwargs: Any) -> str:
        """As `invoke`, without blocking the event loop."""
        return await self._acall_with_config(self._aupdated, input, config)

    def _updated(self, messages: Sequence[BaseMessage]) -> str:
        return self.summarizer.update(_turns(messages), _previous(messages))

    async def _aupdated(self, messages: Sequence[BaseMessage]) -> str:
        return await self.summarizer.aupdate(_turns(messages), _previous(messages))


def _as_summarizer(summarizer: Summarizer | BaseChatModel | ChatModel | AsyncChatModel | None) -> Summarizer:
    if isinstance(summarizer, Summarizer):
        return summarizer
    model = LangChainChatModel(summarizer) if isinstance(summarizer, BaseChatModel) else summarizer
    if model is not None and not isinstance(model, (ChatModel, AsyncChatModel)):
        raise InvalidInput(f"expected a Summarizer or a chat model of LangChain or of secom_core, got {model!r}")
    return Summarizer(model)


def _turns(messages: Sequence[BaseMessage]) -> tuple[Turn, ...]:
    return group_messages(to_messages(messages))


def _previous(messages: Sequence[BaseMessage]) -> str:
    """The summaries that the middleware put in place of messages before, without its heading."""
    earlier = [each for each in messages if each.additional_kwargs.get("lc_source") == "summarization"]
    return "\n".join(_HEADING.sub("", text_of(each)) for each in earlier)
