"""Memory for agents of ``langchain.agents.create_agent``."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal, cast

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import ensure_config, run_in_executor
from typing_extensions import NotRequired, TypedDict

from secom_core.bank import MemoryBank
from secom_core.conversation import Scope
from secom_core.errors import DegradedWarning, InvalidInput, InvalidScope, MissingExtra, SecomError
from secom_core.memory import Recall
from secom_core.prompts.citing import CITE_INSTRUCTION
from secom_core.reflection.citations import Citations
from secom_core.writer import BackgroundWriter

from .answers import AnswerReader, joined
from .citations import CITATIONS_EVENT
from .convert import Tools
from .identity import Identity
from .said import Heard, in_prompt, new_messages, opening, query_of, question
from .shown import learning
from .streaming import MarkerTransformer
from .tools import create_manage_memory_tool, create_search_memory_tool
from .tracing import RecallRun

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import ExtendedModelResponse, PrivateStateAttr, TracePolicy, omit_payload
    from langgraph.channels.untracked_value import UntrackedValue
    from langgraph.runtime import Runtime
    from langgraph.types import Command
except ImportError as error:
    raise MissingExtra("SecomMiddleware", "langchain") from error

__all__ = ["MEMORY_USE", "MemoryUse", "SecomMiddleware"]

MEMORY_USE: Final = "secom_memory"
"""Where a message says what memory cost it, in its ``response_metadata``."""

_CHECKPOINTER: Final = "__pregel_checkpointer"


@dataclass(frozen=True)
class _Turn:
    """What is known of the turn at hand.

    Args:
        asked: the id of the message that it answers.
        session: the conversation.
        scope: whose memory it is.
        query: what was searched for.
        recall: what was found.
        heard: its messages so far.
        cites: whether its answers are to cite.
        citations: what its latest answer cites.
    """

    asked: str | None
    session: str
    scope: Scope
    query: str = ""
    recall: Recall | None = None
    heard: Heard = field(default_factory=Heard)
    cites: bool = False
    citations: Citations | None = None


class MemoryUse(dict[str, int]):
    """How much memory a turn's prompts hold: ``tokens``, in the bank's token counter, and ``memories``.

    This is all that streams of updates and values show of it. What was recalled is an attribute, so that it is in no
    checkpoint, no JSON and no ``repr``.
    """

    def __init__(self, turn: _Turn, tokens: int = 0) -> None:
        super().__init__(tokens=tokens, memories=len(turn.recall.numbers) if turn.recall is not None else 0)
        self.turn = turn


class SecomMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives an agent the memory of a scope: recalls before the model is called, and remembers what was said.

    Each turn, what the scope's past has on the user's message goes into the model's prompt as quoted data, and into
    nothing else: neither the thread nor a checkpoint holds it. After the turn, what the user said, what tools gave and
    what the agent answered are remembered as they stand in the thread by then, so that redactions hold.

    Setup: ``pip install "secom-memory[langchain]"``.

    Instantiate::

        memory = SecomMiddleware(MemoryBank.open("memory.db"), scope=("acme", "alice"))
        agent = create_agent(model, tools, middleware=[memory])

    Usage::

        agent.invoke({"messages": [("user", "Where do I live?")]}, {"configurable": {"thread_id": "monday"}})

    One agent for many users takes the scope from each run's context, or configuration, and fails where they say none::

        memory = SecomMiddleware(bank, scope_keys=("tenant_id", "user_id"))
        agent = create_agent(model, tools, middleware=[memory], context_schema=Who)
        agent.invoke(messages, context=Who(tenant_id="acme", user_id="alice"))

    A message that memories were shown for says how many tokens they took in ``response_metadata["secom_memory"]``.

    In asynchronous runs on Python 3.10, which does not pass the configuration on, use the context.

    Args:
        bank: where everything is remembered; the middleware does not close it.
        scope: whose memory it is; from the run unless given.
        scope_keys: the parts of the scope by their names in the run's context or ``config["configurable"]``; all of
            them are needed. A whole scope in there as ``"scope"`` goes first.
        session_key: what names the conversation there. Without it, a conversation is known by the user's first
            message, and the thread has to be sent from its beginning.
        k: how many memories are recalled at most.
        token_budget: how long the recalled block may be, in the bank's token counter.
        summary: recall with the running summary.
        timelines: recall with timelines.
        topics: recall by topics.
        inject: where memories go: ``"system"`` makes them the last block of the system message, ``"human"`` the first
            of the user's latest message.
        write: ``"background"`` has what was said on disk when the turn ends and does the rest in a thread,
            ``"inline"`` does all of it then, ``"off"`` remembers nothing.
        writer: the background writer, such as one that several agents share; an own one unless given.
        cite: have the model cite what it uses, and learn from it; the bank has to learn. An agent with a
            ``response_format`` cites nothing.
        markers: whether the user sees the citations. With ``stream_mode="messages"`` tokens come straight from the
            model: lead them through `langchain_secom.streaming.without_markers`.
        instruction: how to cite.
        tools: give the agent tools to search its memory, and to remember, correct and forget.
        subagents: what an agent does that runs inside another one's tool, where the words are not the user's:
            ``"recall"``, ``"remember"`` too, in a session of its own, or ``"off"``.
        tool_lines: whether tool calls and their results are remembered, ``"brief"``, or not, ``"omit"``.
        on_error: where memory fails, ``"warn"`` goes on without it with a `DegradedWarning`, ``"raise"`` raises. A
            missing scope always raises.
        trace_contents: whether traces hold what goes through the hooks, and what is recalled.
        name: tells several of them in one agent apart.

    Raises:
        InvalidInput: the bank does not learn, or does not keep what is to be recalled; or for an unknown option.
        InvalidScope: for a bad scope.
    """

    def __init__(
        self,
        bank: MemoryBank,
        *,
        scope: Sequence[str] | None = None,
        scope_keys: Sequence[str] = ("user_id",),
        session_key: str = "thread_id",
        k: int | None = None,
        token_budget: int = 1000,
        summary: bool = False,
        timelines: bool = False,
        topics: bool = False,
        inject: Literal["system", "human"] = "system",
        write: Literal["background", "inline", "off"] = "background",
        writer: BackgroundWriter | None = None,
        cite: bool = False,
        markers: Literal["keep", "strip"] = "strip",
        instruction: str = CITE_INSTRUCTION,
        tools: bool = False,
        subagents: Literal["recall", "remember", "off"] = "recall",
        tool_lines: Tools = "brief",
        on_error: Literal["warn", "raise"] = "warn",
        trace_contents: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._name = name or type(self).__name__
        _check("inject", inject, "system", "human")
        _check("write", write, "background", "inline", "off")
        _check("markers", markers, "keep", "strip")
        _check("subagents", subagents, "recall", "remember", "off")
        _check("tool_lines", tool_lines, "brief", "omit")
        _check("on_error", on_error, "warn", "raise")
        self._bank = learning(bank, self._name) if cite else bank
        bank.check_keeps(summary=summary, timelines=timelines, topics=topics)
        self._identity = Identity.of(self._name, scope, scope_keys)
        self._session_key = session_key
        self._recall_options = {
            "k": k,
            "token_budget": token_budget,
            "summary": summary,
            "timelines": timelines,
            "topics": topics,
        }
        self._inject, self._write, self._subagents, self._on_error = inject, write, subagents, on_error
        self._writer = writer or BackgroundWriter(bank) if write == "background" else None
        self._markers: Literal["keep", "strip"] = markers
        self._instruction = instruction
        self._cite, self._tool_lines = cite, tool_lines
        self.tools = _tools(bank, scope, scope_keys) if tools else []
        self._contents = trace_contents
        silent = TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)
        self.trace_policy = None if trace_contents else silent
        self.transformers = (MarkerTransformer,) if cite and markers == "strip" else ()
        # Untracked, so that no checkpoint holds it and no turn sees another's; by the name, as two may stand together.
        self._key = f"secom_{self._name}"
        private = NotRequired[Annotated[MemoryUse | None, UntrackedValue, PrivateStateAttr]]
        self.state_schema = cast("Any", TypedDict)(f"{self._name}State", {self._key: private})

    @property
    def name(self) -> str:
        """What tells it apart from others in one agent."""
        return self._name

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything that was said is segmented and indexed; it can be recalled before that, too.

        Args:
            timeout: how many seconds at most; as long as it takes unless given.

        Returns:
            Whether it was done in time.
        """
        return self._writer.flush(timeout) if self._writer is not None else True

    def close(self) -> None:
        """Finish what waits, and end the writer's thread. The bank stays open."""
        if self._writer is not None:
            self._writer.close()

    # -- hooks --------------------------------------------------------------------------------------------------------

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Find out whose conversation it is, before anything is summed up or asked.

        Raises:
            InvalidScope: nothing says whose memories are meant.
        """
        if self._is_off(runtime):
            return None
        asked = question(state["messages"])
        turn = _Turn(asked.id if asked else None, self._session(state["messages"], runtime), self._scope(runtime))
        # No turn is to see another's, where a caller runs the graph on.
        return {self._key: MemoryUse(turn)}

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """As `before_agent`."""
        return self.before_agent(state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Show the model what is remembered, and read what it cites."""
        if self._is_off(request.runtime):
            return handler(request)
        turn = self._asked(request)
        if turn.recall is None:
            turn = self._recalled(turn, request.messages)
        turn, response = self._answered(turn, request, handler(self._shown(request, turn)))
        if self._may_stop(response):
            self._remember(turn, request.state["messages"], request.runtime)
        return self._extended(turn, response)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """As `wrap_model_call`; the bank is asked off the event loop."""
        if self._is_off(request.runtime):
            return await handler(request)
        turn = self._asked(request)
        if turn.recall is None:
            turn = await self._arecalled(turn, request.messages)
        turn, response = self._answered(turn, request, await handler(self._shown(request, turn)))
        if self._may_stop(response):
            await run_in_executor(None, self._remember, turn, request.state["messages"], request.runtime)
        return self._extended(turn, response)

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """Learn from what the answer cites, and remember what was said."""
        if not self._is_off(runtime) and (told := self._ended(state, runtime)):
            dispatch_custom_event(CITATIONS_EVENT, told)

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> None:
        """As `after_agent`, off the event loop."""
        if not self._is_off(runtime) and (told := await run_in_executor(None, self._ended, state, runtime)):
            await adispatch_custom_event(CITATIONS_EVENT, told)

    # -- before the model ---------------------------------------------------------------------------------------------

    def _is_off(self, runtime: Runtime[Any]) -> bool:
        return self._subagents == "off" and _is_subagent(runtime)

    def _scope(self, runtime: Runtime[Any]) -> Scope:
        return self._identity.scope(runtime.context)

    def _session(self, messages: Sequence[BaseMessage], runtime: Runtime[Any]) -> str:
        info = runtime.execution_info
        named = self._identity.value(self._session_key, runtime.context)
        if named is None and self._session_key == "thread_id" and info is not None:
            named = info.thread_id
        session = str(named or opening(messages) or "chat")
        # A sub-agent shares its caller's thread, and what is said in it is another conversation.
        return f"{session}/{opening(messages)}" if _is_subagent(runtime) else session

    def _turn(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> _Turn:
        """The turn at hand, as far as it is known. After an interrupt nothing of it is."""
        use = state.get(self._key)
        if isinstance(use, MemoryUse):
            return use.turn
        messages = state["messages"]
        return _Turn(None, self._session(messages, runtime), self._scope(runtime))

    def _asked(self, request: ModelRequest[Any]) -> _Turn:
        """The turn at hand; without a recall where one is wanted."""
        turn = self._turn(cast("Any", request.state), request.runtime)
        asked = question(request.state["messages"])
        heard = turn.heard.now(request.state["messages"], asked.id if asked else turn.asked)
        # What has to fit a schema cannot hold citations.
        turn = replace(turn, heard=heard, cites=self._cite and request.response_format is None)
        if turn.recall is not None and (asked is None or asked.id == turn.asked):
            return turn
        query = query_of(asked)
        nothing = None if query else Recall(query, (), "", 0)
        return replace(turn, asked=asked.id if asked else None, query=query, recall=nothing, citations=None)

    def _recalled(self, turn: _Turn, messages: Sequence[BaseMessage]) -> _Turn:
        found = Recall(turn.query, (), "", 0)
        with self._guarded("memories"):
            found = self._run(turn, messages).recall()
        return replace(turn, recall=found)

    async def _arecalled(self, turn: _Turn, messages: Sequence[BaseMessage]) -> _Turn:
        found = Recall(turn.query, (), "", 0)
        with self._guarded("memories"):
            found = await self._run(turn, messages).arecall()
        return replace(turn, recall=found)

    def _run(self, turn: _Turn, messages: Sequence[BaseMessage]) -> RecallRun:
        bank, about = self._bank, {"tools": self._tool_lines, "markers": self._cite}

        def search() -> Recall:
            seen = in_prompt(bank, turn.scope, turn.session, messages, **cast("Any", about))
            return bank.recall(turn.scope, turn.query, exclude=seen, **cast("Any", self._recall_options))

        return RecallRun(search=search, query=turn.query, scope=turn.scope, contents=self._contents)

    def _block(self, turn: _Turn) -> str:
        text = turn.recall.text if turn.recall is not None else ""
        return f"{text}\n\n{self._instruction}" if text and turn.cites and self._instruction else text

    def _shown(self, request: ModelRequest[Any], turn: _Turn) -> ModelRequest[Any]:
        block = self._block(turn)
        if not block:
            return request
        asked = question(request.messages)
        # Where another middleware has cut what the user said away, there is only the system message.
        if self._inject == "system" or asked is None:
            return request.override(system_message=_with_block(request.system_message, block))
        shown = [_before(message, block) if message is asked else message for message in request.messages]
        return request.override(messages=cast("Any", shown))

    # -- behind it ----------------------------------------------------------------------------------------------------

    def _answered(
        self, turn: _Turn, request: ModelRequest[Any], response: ModelResponse[Any]
    ) -> tuple[_Turn, ModelResponse[Any]]:
        block = self._block(turn)
        if not block:
            return turn, response
        use = dict(MemoryUse(turn, self._bank.token_counter(block)))
        result: list[BaseMessage] = []
        for message in response.result:
            if isinstance(message, AIMessage) and turn.cites:
                turn, message = self._read(turn, message)
            result.append(_noted(message, use) if isinstance(message, AIMessage) else message)
        return turn, replace(response, result=result)

    def _read(self, turn: _Turn, message: AIMessage) -> tuple[_Turn, AIMessage]:
        """The message as the user sees it, with what it cites."""
        names = _names(turn.recall) if turn.recall is not None else {}
        reader = AnswerReader(tuple(names), markers=self._markers)
        pieces = list(reader.read(message))
        citations = reader.finish()
        cited = [{"number": number, **names[number]} for number in citations.numbers]
        whole = cast("AIMessage", joined([*pieces, *reader.rest(cited)]))
        return replace(turn, citations=citations), whole

    def _may_stop(self, response: ModelResponse[Any]) -> bool:
        """Whether the turn may be interrupted here, and summed up before it goes on, or never go on.

        What is kept of a turn is lost then; what was said so far must not be.
        """
        calls = any(isinstance(message, AIMessage) and message.tool_calls for message in response.result)
        return calls and ensure_config().get("configurable", {}).get(_CHECKPOINTER) is not None

    def _extended(self, turn: _Turn, response: ModelResponse[Any]) -> ExtendedModelResponse[Any]:
        block = self._block(turn)
        use = MemoryUse(turn, self._bank.token_counter(block) if block else 0)
        return ExtendedModelResponse(response, Command(update={self._key: use}))

    def _ended(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        turn = self._turn(cast("Any", state), runtime)
        told = self._learn(turn)
        self._remember(turn, state["messages"], runtime)
        return told

    def _learn(self, turn: _Turn) -> dict[str, Any] | None:
        """Reward the bank, once a turn; what handlers are told of it: numbers, no words."""
        citations, recall = turn.citations, turn.recall
        if citations is None or recall is None or recall.shown is None:
            return None
        lesson = "nothing"
        if citations.tell:
            lesson = "failed"
            with self._guarded("what an answer cited"):
                lesson = self._bank.reward(turn.scope, turn.query, recall.shown, citations).kind
        return {
            "shown": list(recall.numbers),
            "cited": list(citations.numbers),
            "unknown": list(citations.unknown),
            "none_used": citations.none_used,
            "reward": len(citations.numbers) / len(recall.numbers) if citations.tell else None,
            "lesson": lesson,
        }

    def _remember(self, turn: _Turn, messages: Sequence[BaseMessage], runtime: Runtime[Any]) -> None:
        if self._write != "off" and (self._subagents == "remember" or not _is_subagent(runtime)):
            with self._guarded("what was said"):
                self._ingest(turn, turn.heard.whole(messages))

    def _ingest(self, turn: _Turn, messages: Sequence[BaseMessage]) -> None:
        new = new_messages(
            self._bank,
            turn.scope,
            turn.session,
            messages,
            asked=turn.asked,
            tools=self._tool_lines,
            markers=turn.cites,
        )
        if new:
            (self._writer or self._bank).remember(turn.scope, new, session=turn.session)

    @contextmanager
    def _guarded(self, what: str) -> Iterator[None]:
        try:
            yield
        except InvalidScope:
            raise
        except SecomError as error:
            if self._on_error == "raise":
                raise
            warnings.warn(f"the agent goes on without {what}: {error}", DegradedWarning, stacklevel=4)


def _check(name: str, value: str, *known: str) -> None:
    if value not in known:
        raise InvalidInput(f"{name} is {' or '.join(map(repr, known))}, not {value!r}")


def _tools(bank: MemoryBank, scope: Sequence[str] | None, keys: Sequence[str]) -> list[Any]:
    return [make(bank, scope=scope, scope_keys=keys) for make in (create_search_memory_tool, create_manage_memory_tool)]


def _is_subagent(runtime: Runtime[Any]) -> bool:
    """Whether the agent runs inside another one's tool; as a node of a graph it is none."""
    inside = runtime.execution_info.checkpoint_ns.split("|")[:-1] if runtime.execution_info is not None else []
    return any(node.startswith("tools:") for node in inside)


def _names(recall: Recall) -> dict[int, dict[str, Any]]:
    """For every number shown, what it stands for: ids, no words."""
    named = {hit.number: {"memory_id": hit.memory.id, "turn_ids": list(hit.turn_ids)} for hit in recall.hits}
    return {**named, **{each.number: {"turn_ids": list(each.turn_ids)} for each in recall.timelines}}


def _blocks(content: str | list[Any]) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _with_block(system: SystemMessage | None, block: str) -> SystemMessage:
    """The system message as it was, to the byte, and the block behind it: the prefix stays in prompt caches."""
    added = {"type": "text", "text": block}
    if system is None or not system.content:
        return SystemMessage(content=[added])
    return system.model_copy(update={"content": [*_blocks(system.content), added]})


def _before(message: HumanMessage, block: str) -> HumanMessage:
    return message.model_copy(update={"content": [{"type": "text", "text": block}, *_blocks(message.content)]})


def _noted(message: AIMessage, use: Mapping[str, int]) -> AIMessage:
    about = {**message.response_metadata, MEMORY_USE: dict(use)}
    return message.model_copy(update={"response_metadata": about})
