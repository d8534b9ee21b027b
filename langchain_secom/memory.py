"""Memory for LangChain's classic chains: the session's latest messages, and what the past says."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, cast

from langchain_core.callbacks import Callbacks
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from pydantic import ConfigDict, Field, field_validator, model_validator

from secom_core.bank import MemoryBank
from secom_core.conversation import Message, Scope, Turn, check_scope
from secom_core.errors import InvalidInput, MissingExtra
from secom_core.memory import Recall

from .convert import from_message, to_messages
from .tracing import RecallRun

try:
    from langchain_classic.base_memory import BaseMemory
except ImportError as error:
    raise MissingExtra("SecomMemory", "langchain") from error

__all__ = ["SecomMemory"]

_NO_INPUT: Final = frozenset({"stop"})
_NO_OUTPUT: Final = frozenset({"intermediate_steps", "source_documents"})


class SecomMemory(BaseMemory):
    """Long-term memory of a scope, and the window of the session at hand.

    ``load_memory_variables`` gives the session's latest messages, preceded by what the scope's past has on the input,
    as quoted data. ``save_context`` remembers the input and the output, word for word; recalled text is never
    remembered again. ``clear`` forgets the session at hand, and nothing else of the scope.

    Setup: ``pip install "secom-memory[langchain]"``.

    Instantiate::

        memory = SecomMemory(store_path="memory.db", scope=("acme", "alice"))

    Usage::

        ConversationChain(llm=llm, memory=memory).invoke({"input": "Where do I live?"})

    ``SecomMemory(**memory.model_dump(mode="json"))`` is the same memory again, with a bank in a file; models are given
    again with ``bank``.

    Args:
        scope: whose memory it is; always given.
        session: the name of the session; a new one unless given. An existing one is taken up where it ended.
        bank: where everything is remembered.
        store_path: the bank's file, opened where no bank is given.
        memory_key: the name of the variable it fills. `ConversationChain` wants ``"history"``.
        input_key: which of a chain's inputs is what the user said, where there are several.
        output_key: which of a chain's outputs is the answer, where there are several.
        return_messages: fill the variable with messages instead of text.
        token_budget: how long the recalled part may be, in the bank's token counter.
        k: how many memories are recalled at most.
        window: how many of the session's latest messages are shown; whole turns, the last one always.
        human_prefix: who the user is in text.
        ai_prefix: who the model is in text.
        trace_contents: whether traces of a recall hold the query and what was found.
        callbacks: handlers of recalls; classic chains do not hand theirs on.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    scope: tuple[str, ...]
    session: str = Field(default_factory=lambda: uuid.uuid4().hex, min_length=1)
    bank: MemoryBank = Field(default=cast("MemoryBank", None), exclude=True)  # set below, from store_path if need be
    store_path: str | None = None
    memory_key: str = "history"
    input_key: str | None = None
    output_key: str | None = None
    return_messages: bool = False
    token_budget: int = Field(default=1000, ge=1)
    k: int | None = Field(default=None, ge=1)
    window: int = Field(default=6, ge=0)
    human_prefix: str = "Human"
    ai_prefix: str = "AI"
    trace_contents: bool = True
    callbacks: Callbacks = Field(default=None, exclude=True)

    @model_validator(mode="before")
    @classmethod
    def _open_bank(cls, data: dict[str, Any]) -> dict[str, Any]:
        bank, path = data.get("bank"), data.get("store_path")
        if bank is None and path is not None:
            bank = MemoryBank.open(path)
        if not isinstance(bank, MemoryBank):
            raise InvalidInput(f"{cls.__name__} needs a bank or a store_path, got {bank!r}")
        return {**data, "bank": bank, "store_path": bank.path}

    @field_validator("scope", mode="before")
    @classmethod
    def _check_scope(cls, value: Any) -> Scope:
        return check_scope(value)

    @property
    def memory_variables(self) -> list[str]:
        """The name of the variable it fills."""
        return [self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """The session's latest messages, preceded by what the past has on the input.

        Args:
            inputs: the chain's inputs; without any, nothing is recalled.

        Raises:
            InvalidInput: there are several inputs and ``input_key`` does not say which is meant.
        """
        shown = self._latest()
        recall = self._recall(inputs, exclude=[turn.id for turn in shown])
        render = self._as_messages if self.return_messages else self._as_text
        return {self.memory_key: render(recall, [message for turn in shown for message in turn.messages])}

    def save_context(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        """Remember what the user said and what the chain answered.

        Of a list of messages, the user's last one and what follows it are new; what stands before it was remembered
        when it was new.

        Args:
            inputs: the chain's inputs; the memory's own variable is passed over.
            outputs: the chain's outputs; an agent's intermediate steps are passed over.

        Raises:
            InvalidInput: there are several inputs or outputs and the keys do not say which are meant, or they are
                neither text nor messages.
        """
        said = [*_spoken(self._input(inputs), "user"), *_spoken(self._output(outputs), "assistant")]
        if said:
            self.bank.remember(self.scope, said, session=self.session)

    def clear(self) -> None:
        """Forget the session at hand, for good. Other sessions of the scope stay; see `MemoryBank.forget`."""
        self.bank.forget(self.scope, session=self.session)

    def _latest(self) -> list[Turn]:
        """The last turns that have at most ``window`` messages together; the last one always."""
        turns = self.bank.turns(self.scope, self.session, last=self.window) if self.window else []
        kept: list[Turn] = []
        for turn in reversed(turns):
            if kept and sum(len(each.messages) for each in (*kept, turn)) > self.window:
                break
            kept.append(turn)
        return kept[::-1]

    def _query(self, inputs: Mapping[str, Any]) -> str:
        # A chain may be looked at without inputs: `memory.load_memory_variables({})`.
        asked = _spoken(self._input(inputs), "user") if self._inputs(inputs) else []
        return "\n".join(message.text for message in asked if message.role == "user")

    def _recall(self, inputs: Mapping[str, Any], exclude: Collection[str]) -> Recall | None:
        query = self._query(inputs)
        if not query.strip():
            return None
        return self._searched(query, exclude)

    def _searched(self, query: str, exclude: Collection[str], *, summary: bool = False) -> Recall:
        def search() -> Recall:
            limits: dict[str, Any] = {"token_budget": self.token_budget, "k": self.k}
            return self.bank.recall(self.scope, query, exclude=exclude, summary=summary, **limits)

        handlers: RunnableConfig = {"callbacks": self.callbacks} if self.callbacks else {}
        return RecallRun(search=search, query=query, scope=self.scope, contents=self.trace_contents).recall(handlers)

    def _as_messages(self, recall: Recall | None, latest: Sequence[Message]) -> list[BaseMessage]:
        shown = [from_message(message) for message in latest]
        if recall is None or not recall.text:
            return shown
        # Not a system message: what users once said must not speak with the developer's authority.
        return [HumanMessage(recall.text, additional_kwargs={"lc_source": "secom"}), *shown]

    def _as_text(self, recall: Recall | None, latest: Sequence[Message]) -> str:
        recalled = recall.text if recall is not None else ""
        return "\n".join(filter(None, [recalled, *map(self._line, latest)]))

    def _line(self, message: Message) -> str:
        names = {"user": self.human_prefix, "assistant": self.ai_prefix}
        label = message.speaker or names.get(message.role, message.role)
        return f"{label}: {message.text}" if label else message.text

    def _inputs(self, inputs: Mapping[str, Any]) -> list[str]:
        return [key for key in inputs if key not in _NO_INPUT | {self.memory_key}]

    def _input(self, inputs: Mapping[str, Any]) -> Any:
        key = self.input_key or _only(self._inputs(inputs), "input")
        if key not in inputs:
            raise InvalidInput(f"there is no input {key!r} among {sorted(inputs)}")
        return inputs[key]

    def _output(self, outputs: Mapping[str, Any]) -> Any:
        names = [key for key in outputs if key not in _NO_OUTPUT]
        key = self.output_key or ("output" if "output" in names else _only(names, "output"))
        if key not in outputs:
            raise InvalidInput(f"there is no output {key!r} among {sorted(outputs)}")
        return outputs[key]


def _only(keys: Sequence[str], kind: str) -> str:
    if len(keys) != 1:
        raise InvalidInput(f"expected one {kind}, got {sorted(keys)}: say which with {kind}_key")
    return keys[0]


def _spoken(value: Any, role: str) -> list[Message]:
    """What was said, as messages: text, a message, content blocks, or the new part of a list of messages."""
    if isinstance(value, list) and all(isinstance(each, BaseMessage) for each in value):
        return to_messages(_since_last_human(value))
    if isinstance(value, BaseMessage):
        return to_messages([value])
    if not isinstance(value, (str, list)):
        raise InvalidInput(f"expected text or messages to remember, got {value!r}")
    # Agents give the answer of some models as a list of content blocks.
    kind = AIMessage if role == "assistant" else HumanMessage
    return to_messages([kind(value)])


def _since_last_human(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    places = [place for place, message in enumerate(messages) if isinstance(message, HumanMessage)]
    return messages[places[-1] :] if places else messages
