"""Memory for agents of ``langchain.agents.create_agent``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Literal, cast

from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.messages import AIMessage, BaseMessage

from secom_core.bank import BackgroundWriter, MemoryBank, check_bank, check_writer
from secom_core.bank.answers import ANSWER_WAITS_S
from secom_core.bank.checks import check_choice, check_text
from secom_core.citations.prompt import CITE_INSTRUCTION
from secom_core.errors import InvalidInput, MissingExtra, SecomError, warn_degraded
from secom_core.stores.database import waiting_at_most

from .agent_answers import read_response, with_answer_noted, with_owner
from .agent_turn import AgentTurn, MemoryUse, held_in, is_inner, is_subagent, session_of, state_keys, state_schema
from .checkpoints import off_loop
from .citations import CITATIONS_EVENT
from .convert import Tools
from .dialogue import QueryHook, check_hook
from .identity import Identity, check_key, check_switches, is_checkpointed
from .impressions import citation_counts, citing_bank
from .insertion import inserted
from .known_messages import ThreadOptions
from .lineage import Retracted, retract_thread
from .lost_config import keeping_config
from .messages import latest_question, query_of
from .recall_options import recall_options
from .scopes import ScopePart, bound_scope
from .streaming import MarkerTransformer, noting_shown
from .thread_memory import ThreadMemory, unless_cancelled
from .tools import memory_tools
from .turn_recall import TurnRecall, nothing

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
    from langchain.agents.middleware.types import ExtendedModelResponse, TracePolicy, omit_payload
    from langgraph.runtime import Runtime
    from langgraph.types import Command
except ImportError as error:
    raise MissingExtra("SecomMiddleware", "langchain") from error

_Update = dict[str, Any] | None
_SILENT = TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)


@keeping_config
class SecomMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives an agent long-term memory: recalls before the model is called, and remembers the turn after it.

    In each turn, it recalls memories for the user's message, read together with the messages before it, and puts them
    into the model's prompt as quoted data. They are not added to the thread or to a checkpoint. After the turn, its
    messages are remembered as they are in the thread at that time, so text that was redacted there is not stored.

    Instantiate::

        memory = SecomMiddleware(MemoryBank.open("memory.db"), scope=("acme", "alice"))
        agent = create_agent(model, tools, middleware=[memory])

    Usage::

        agent.invoke({"messages": [("user", "Where do I live?")]}, {"configurable": {"thread_id": "monday"}})

    One agent for many users takes the scope from each run's context, or configuration, and fails if there is none::

        memory = SecomMiddleware(bank, scope_keys=("tenant_id", "user_id"))
        agent = create_agent(model, tools, middleware=[memory], context_schema=Who)
        agent.invoke(messages, context=Who(tenant_id="acme", user_id="alice"))

    An answer counts the tokens and memories in its prompt in ``response_metadata["secom_memory"]``.

    Args:
        bank: where everything is remembered; the middleware does not close it.
        scope: whose memory it is; from the run unless given.
        scope_keys: the parts of the scope by their names in the run's context or ``config["configurable"]``; all of
            them are needed, or the whole scope as ``"scope"``. Where both are there, they must agree.
        session_key: the key of the conversation's name there. Without a name, a conversation is known by the user's
            first message, and the thread has to be sent from its beginning.
        token_budget: the largest length of the recalled block, in the bank's token counter.
        k: the largest number of recalled memories.
        layers: layers of the bank that take part in recalls, such as ``"summaries"``; as for `MemoryBank.recall`.
        only_relevant: recall only memories that answer the user's message, and leave the rest of the budget empty.
        where: a filter, such as ``{"role": "user"}``; as for `MemoryBank.recall`.
        also: other scopes that are searched too, such as a team's; not together with ``cite``.
        also_keys: the parts of such scopes by their names in the run's context or ``config["configurable"]``, as
            ``[("team_id",)]``; a scope is left out if the run lacks one of its parts.
        history: also show statements that no longer hold, marked as such, after the ones that replaced them.
        query: makes what is searched for out of the thread up to the user's message, such as
            `langchain_secom.rewritten_query`; the message's words unless given.
        inject: where memories go: ``"human"`` puts them behind the user's latest message, so that the prompt before it
            stays in prompt caches, ``"system"`` at the end of the system message.
        write: ``"background"`` has the messages on disk when the turn ends and does the rest in a thread,
            ``"inline"`` does all of it then, ``"off"`` remembers nothing.
        writer: the background writer, such as one that several agents share; a separate one unless given.
        cite: have the model cite the memories that it uses, and the bank record the citations; it is opened with
            ``citations``. An agent with a ``response_format`` cites nothing.
        markers: whether the user sees the citations. With ``stream_mode="messages"`` tokens come straight from the
            model: pass them through `langchain_secom.streaming.without_markers`.
        instruction: how to cite.
        tools: give the agent tools to search and read its memory, and to remember, correct and forget.
        subagents: what an agent inside a tool of another agent does, as its messages are not the user's: ``"recall"``
            only recalls, ``"remember"`` also remembers, in a separate session, ``"off"`` does neither.
        tool_lines: whether tool calls and results are remembered, ``"brief"``, or only answers among them, ``"omit"``.
        retracted: what happens to messages that are no longer in the thread; needs a checkpointer. ``"forget"`` deletes
            them, ``"mark"`` moves them to a separate session, marked as retracted (`langchain_secom.lineage`).
        on_error: what happens if memory fails: ``"warn"`` goes on without it, with a `DegradedWarning`; ``"raise"``
            raises the error. A missing scope and other input that cannot be used always raise.
        trace_contents: whether traces hold the inputs and outputs of the hooks, and the memories.
        name: distinguishes several of these middlewares in one agent.

    Raises:
        InvalidInput: the bank records no citations, or lacks a layer or model for this recall; or an unknown option.
        InvalidScope: for a bad scope.
    """

    def __init__(
        self,
        bank: MemoryBank,
        *,
        scope: Sequence[ScopePart] | None = None,
        scope_keys: Sequence[str] = ("user_id",),
        session_key: str = "thread_id",
        token_budget: int | None = 1000,
        k: int | None = None,
        layers: Sequence[str] = (),
        only_relevant: bool = False,
        where: Mapping[str, Any] | None = None,
        also: Sequence[Sequence[str]] = (),
        also_keys: Sequence[Sequence[str]] = (),
        history: bool = True,
        query: QueryHook | None = None,
        inject: Literal["human", "system"] = "human",
        write: Literal["background", "inline", "off"] = "background",
        writer: BackgroundWriter | None = None,
        cite: bool = False,
        markers: Literal["keep", "strip"] = "strip",
        instruction: str = CITE_INSTRUCTION,
        tools: bool = False,
        subagents: Literal["recall", "remember", "off"] = "recall",
        tool_lines: Tools = "brief",
        retracted: Retracted = "forget",
        on_error: Literal["warn", "raise"] = "warn",
        trace_contents: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._name = type(self).__name__ if name is None else check_text("name", name)
        check_switches(cite=cite, tools=tools, trace_contents=trace_contents)
        check_choice("inject", inject, ("human", "system"))
        check_choice("write", write, ("background", "inline", "off"))
        check_choice("markers", markers, ("keep", "strip"))
        check_choice("subagents", subagents, ("recall", "remember", "off"))
        check_choice("tool_lines", tool_lines, ("brief", "omit"))
        check_choice("retracted", retracted, ("forget", "mark"))
        check_choice("on_error", on_error, ("warn", "raise"))
        self._bank = citing_bank(bank, self._name) if cite else check_bank(bank, self._name)
        self._identity = Identity.of(self._name, scope, scope_keys, also_keys)
        found: dict[str, Any] = {"where": where, "also": also, "also_keys": also_keys, "history": history}
        options = recall_options(bank, token_budget, k, layers, only_relevant, cite=cite, **found)
        check_hook(query)
        self._session_key, self._subagents, self._on_error = check_key("session_key", session_key), subagents, on_error
        shared = check_writer(writer, bank, self._name)
        self._writer = shared or BackgroundWriter(bank) if write == "background" else None
        self._cite, self._instruction = cite, check_text("instruction", instruction, empty=True)
        self._markers: Literal["keep", "strip"] = markers
        read_as = ThreadOptions(tool_lines, markers=cite)
        self._recall = TurnRecall(bank, options, query, read_as, trace_contents)
        self._threads = ThreadMemory(bank, self._writer, write, subagents, read_as, retracted)
        self.tools = memory_tools(bank, scope, scope_keys, session_key=session_key, **found) if tools else []
        self._insert = partial(inserted, place=inject, own=self.tools)
        self.trace_policy = None if trace_contents else _SILENT
        self.transformers = (MarkerTransformer,) if cite and markers == "strip" else ()
        self._key, self._thread_key = state_keys(self._name)
        self.state_schema = state_schema(self._name)

    @property
    def name(self) -> str:
        """What tells it apart from others in one agent."""
        return self._name

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until every message is segmented and indexed; they can be recalled before that, too.

        Args:
            timeout: how many seconds at most; as long as it takes unless given.

        Returns:
            Whether it was done in time.
        """
        return self._writer.flush(timeout) if self._writer is not None else True

    def close(self) -> None:
        """Finish what waits, and end the writer's thread. The bank stays open."""
        self._threads.close()

    def retract_thread(self, thread_id: ScopePart, *, scope: Sequence[ScopePart] | None = None) -> int:
        """Retract all that is remembered of a thread, as ``retracted`` says, such as when the thread is deleted.

        Args:
            thread_id: the conversation's name.
            scope: whose memory it is, where the middleware is not bound to one.

        Returns:
            How many turns were retracted, those of sub-agents in the thread with them.

        Raises:
            InvalidScope: there is no scope, or another one than the bound one.
            InvalidInput: there is no name.
        """
        named = bound_scope(scope, self._identity.bound, caller=self._name)
        return retract_thread(self._bank, named, thread_id, self._threads.retracted)

    async def aretract_thread(self, thread_id: ScopePart, *, scope: Sequence[ScopePart] | None = None) -> int:
        """As `retract_thread`, without blocking the event loop."""
        return await off_loop(partial(self.retract_thread, thread_id, scope=scope))

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Find out the scope and the conversation, before a summary is made or the model is called.

        Raises:
            InvalidScope: there is no scope.
        """
        if self._is_off(runtime):
            return None
        question = latest_question(state["messages"])
        turn = self._new_turn(cast("Any", state), runtime, question.id if question else None)
        turn = self._follow(turn, cast("Any", state), runtime, begins=True)
        return {self._key: MemoryUse.of(turn)}  # where a caller runs the graph on, no turn is to see another's

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """As `before_agent`, without blocking the event loop."""
        return await off_loop(self.before_agent, state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Put memories into the request, and read the citations from the response."""
        if self._is_off(request.runtime):
            return handler(request)
        turn = self._current_turn(request)
        if turn.recall is None:
            turn = self._recalled(turn, request)
        with self._noting_shown(turn), self._threads.answering(turn, request):
            answer = handler(self._insert(request, turn.block(self._instruction)))
        turn, response = self._read(turn, with_answer_noted(answer, request.tools))
        if self._may_stop(response):
            self._remember(turn, request.state["messages"], request.runtime)
        return self._extended(turn, response)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """As `wrap_model_call`; the bank is asked without blocking the event loop."""
        if self._is_off(request.runtime):
            return await handler(request)
        known = self._known_turn(request.state) is not None
        turn = self._current_turn(request) if known else await off_loop(self._current_turn, request)
        if turn.recall is None:
            turn = await self._arecalled(turn, request)
        remember = partial(self._remember, turn, request.state["messages"], request.runtime)
        with self._noting_shown(turn), self._threads.answering(turn, request):
            answer = await unless_cancelled(handler(self._insert(request, turn.block(self._instruction))), remember)
        turn, response = self._read(turn, with_answer_noted(answer, request.tools))
        if self._may_stop(response):
            await off_loop(remember)
        return self._extended(turn, response)

    def after_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Learn from the answer's citations, and remember the turn."""
        if self._is_off(runtime):
            return None
        event, thread = self._end(state, runtime)
        if event:
            dispatch_custom_event(CITATIONS_EVENT, event)
        return thread

    async def aafter_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """As `after_agent`, without blocking the event loop."""
        if self._is_off(runtime):
            return None
        event, thread = await off_loop(self._end, state, runtime)
        if event:
            await adispatch_custom_event(CITATIONS_EVENT, event)
        return thread

    def _is_off(self, runtime: Runtime[Any]) -> bool:
        return self._subagents == "off" and is_subagent(runtime)

    def _new_turn(self, state: Mapping[str, Any], runtime: Runtime[Any], question_id: str | None = None) -> AgentTurn:
        session = session_of(self._identity, self._session_key, state["messages"], runtime)
        scope, also = self._identity.scopes(runtime.context)
        held = held_in(state.get(self._thread_key, {}), scope) if is_checkpointed() else None
        return AgentTurn(question_id, session, scope, also, held, inner=is_inner(runtime), began_id=question_id)

    def _known_turn(self, state: Any) -> AgentTurn | None:
        use = state.get(self._key)
        return use.turn if isinstance(use, MemoryUse) else None

    def _turn(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> AgentTurn:
        """The current turn in the graph's state; a new one after an interrupt, which loses it."""
        if (known := self._known_turn(state)) is not None:
            return known
        return self._follow(self._new_turn(state, runtime), state, runtime, begins=False)

    def _current_turn(self, request: ModelRequest[Any]) -> AgentTurn:
        """The current turn; without a recall where one is wanted."""
        turn = self._turn(cast("Any", request.state), request.runtime)
        question = latest_question(request.state["messages"])
        turn = turn.going_on(request.state["messages"], question.id if question else turn.question_id)
        # What has to fit a schema cannot hold citations.
        turn = replace(turn, cites=self._cite and request.response_format is None)
        if turn.recall is not None and (question is None or question.id == turn.question_id):
            return turn
        query = query_of(question)
        recall = None if query else nothing(query)
        return replace(turn, question_id=question.id if question else None, query=query, recall=recall, citations=None)

    def _recalled(self, turn: AgentTurn, request: ModelRequest[Any]) -> AgentTurn:
        found = None
        with self._guarded("memories"):
            found = self._recall.recalled(turn, request.state["messages"], request.messages)
        return found or replace(turn, recall=nothing(turn.query))

    async def _arecalled(self, turn: AgentTurn, request: ModelRequest[Any]) -> AgentTurn:
        found = None
        with self._guarded("memories"):
            found = await self._recall.arecalled(turn, request.state["messages"], request.messages)
        return found or replace(turn, recall=nothing(turn.query))

    def _noting_shown(self, turn: AgentTurn) -> AbstractContextManager[None]:
        recall = turn.recall if turn.cites and self._markers == "strip" else None
        return noting_shown(recall.numbers) if recall is not None and recall.numbers else nullcontext()

    def _use(self, turn: AgentTurn) -> MemoryUse:
        block = turn.block(self._instruction)
        return MemoryUse.of(turn, self._bank.token_counter(block) if block else 0)

    def _read(self, turn: AgentTurn, response: ModelResponse[Any]) -> tuple[AgentTurn, ModelResponse[Any]]:
        if not turn.block(self._instruction):
            return turn, response
        return read_response(turn, response, self._use(turn), self._markers)

    def _may_stop(self, response: ModelResponse[Any]) -> bool:
        """Whether the turn may be interrupted here, where the graph loses it: the messages so far must not be lost."""
        return is_checkpointed() and any(isinstance(each, AIMessage) and each.tool_calls for each in response.result)

    def _extended(self, turn: AgentTurn, response: ModelResponse[Any]) -> ExtendedModelResponse[Any]:
        return ExtendedModelResponse(with_owner(turn, response), Command(update={self._key: self._use(turn)}))

    def _end(self, state: AgentState[Any], runtime: Runtime[Any]) -> tuple[_Update, _Update]:
        """Learn and remember; the event for callback handlers if there is one, and what a later run compares."""
        turn = self._turn(cast("Any", state), runtime)
        # The answer is finished, and waits for no lock.
        with waiting_at_most(ANSWER_WAITS_S):
            event = self._taken_in(turn)
            done = self._remember(turn, state["messages"], runtime) and self._threads.follows(runtime)
        return event, {self._thread_key: self._threads.held(turn, state["messages"])} if done else None

    def _taken_in(self, turn: AgentTurn) -> dict[str, Any] | None:
        """Reward the bank, once a turn; the event for callback handlers: numbers, no words."""
        citations, recall = turn.citations, turn.recall
        if citations is None or recall is None or recall.impression is None:
            return None
        lesson = "nothing"
        if citations.is_feedback:
            lesson = "failed"
            with self._guarded("the citations of an answer"):
                lesson = self._bank.citations.reward(turn.scope, turn.query, recall.impression, citations).kind
        return {**citation_counts(citations, recall.numbers), "lesson": lesson}

    def _remember(self, turn: AgentTurn, messages: Sequence[BaseMessage], runtime: Runtime[Any]) -> bool:
        done = None
        with self._guarded("remembering the turn"), waiting_at_most(ANSWER_WAITS_S):
            done = not self._threads.writes(runtime) or self._threads.remember(turn, messages)
        return done or False

    def _follow(self, turn: AgentTurn, state: Mapping[str, Any], runtime: Runtime[Any], *, begins: bool) -> AgentTurn:
        if self._threads.follows(runtime):
            with self._guarded("retracting what the thread has left behind"):
                self._threads.follow(turn, state["messages"], begins=begins)
            with self._guarded("what was said in a turn without an answer"):
                self._threads.remember_open(turn)
        return self._threads.begun(turn) if self._threads.writes(runtime) else turn

    @contextmanager
    def _guarded(self, what: str) -> Iterator[None]:
        try:
            yield
        except InvalidInput:  # which is for the developer, and would be the same at every turn
            raise
        except SecomError as error:
            if self._on_error == "raise":
                raise
            warn_degraded(f"the agent goes on without {what}", error)
