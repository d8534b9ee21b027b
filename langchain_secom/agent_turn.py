"""The current turn of an agent: which message it answers, in which conversation, and what was recalled for it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import ensure_config
from typing_extensions import NotRequired, TypedDict

from secom_core.citations import Citations
from secom_core.conversation import Scope
from secom_core.errors import MissingExtra
from secom_core.memory import Recall
from secom_core.stores.digests import digest

from .identity import Identity, is_checkpointed
from .known_messages import SeenMessages, ThreadOptions
from .messages import conversation_name, place_of
from .readings import Readings

try:
    from langchain.agents.middleware.types import PrivateStateAttr
    from langgraph.channels.untracked_value import UntrackedValue
    from langgraph.runtime import Runtime
except ImportError as error:
    raise MissingExtra("SecomMiddleware", "langchain") from error


MEMORY_USE: Final = "secom_memory"
"""The key of a message's ``response_metadata`` under which the tokens and memories in its prompt are counted."""

OWNERS: Final = "secom_owners"
"""The same of those whose memories take in an answer (`owner_of`), if its agent runs within another graph."""

REMEMBERED: Final = "secom_remembered"
"""The same of the conversations that take in what was said, each with its scope's epoch when the run began.

What they do not hold any more was forgotten, unless the epoch is still the same: then it could not be stored.
"""


_OF_SERVER: Final = "langgraph_request_id"
_NAMESPACE: Final = "checkpoint_ns"


@dataclass(frozen=True)
class AgentTurn:
    """What is known of the current turn.

    Args:
        question_id: the id of the message that it answers.
        session: the conversation.
        scope: whose memory it is.
        also: other scopes that the run names, which are searched too.
        held: the ids of the thread's messages when its last run ended, by whose memory took each in (`owner_of`);
            nothing without a checkpointer.
        query: what was searched for.
        recall: what was found; nothing before the search.
        seen: its messages so far.
        cites: whether its answers are to cite.
        citations: the citations in its latest answer.
        inner: whether the agent runs within another graph, such as in a node of it, which may hand it only some of the
            thread's messages, and does not keep what its state holds.
        writes: whether what is said in it is remembered.
        epoch: the scope's epoch when the run began; nothing where nothing was remembered of it yet.
        began_id: the id of the message that it began with; a tool may have added another one of a user since.
        readings: what was made of the thread's messages in this turn, which are asked for several times.
    """

    question_id: str | None
    session: str
    scope: Scope
    also: Sequence[Scope] = ()
    held: Mapping[str, Sequence[str]] | None = None
    query: str = ""
    recall: Recall | None = None
    seen: SeenMessages = field(default_factory=SeenMessages)
    cites: bool = False
    citations: Citations | None = None
    inner: bool = False
    writes: bool = False
    epoch: tuple[int, int] | None = None
    began_id: str | None = None
    readings: Readings = field(default_factory=Readings, compare=False, repr=False)

    def going_on(self, thread: Sequence[BaseMessage], question_id: str | None) -> AgentTurn:
        """The turn with its messages so far, as the model is called.

        Args:
            thread: the thread's messages.
            question_id: the id of the user's latest message.
        """
        began_id = self.began_id or question_id
        seen = self.seen.updated(thread, began_id)
        if all(each.id != began_id for each in (*seen.messages, *seen.replaced)):  # another stands in its place
            began_id, seen = question_id, self.seen.updated(thread, question_id)
        return replace(self, began_id=began_id, seen=seen)

    def reading(self, options: ThreadOptions) -> ThreadOptions:
        """The options with which the turn reads its thread."""
        return replace(options, readings=self.readings)

    @property
    def ended(self) -> Collection[str] | None:
        """The ids of the thread's messages when its last run ended, whoever's that was."""
        return None if self.held is None else {each for ids in self.held.values() for each in ids}

    @property
    def mine(self) -> Collection[str]:
        """The ids of those messages that this scope's memory took in."""
        return (self.held or {}).get(owner_of(self.scope), ())

    @property
    def remembered_as(self) -> str:
        """What an answer says of the conversation that takes it in."""
        return owner_of((*self.scope, self.session))

    @property
    def others(self) -> Collection[str]:
        """The places (`place_of`) of those messages that another scope's memory took in."""
        mine = owner_of(self.scope)
        return {place_of(each) for owner, ids in (self.held or {}).items() if owner != mine for each in ids}

    def block(self, instruction: str) -> str:
        """The text that goes into the prompt: the memories, and how to cite them; empty where there are none."""
        text = self.recall.text if self.recall is not None else ""
        return f"{text}\n\n{instruction}" if text and self.cites and instruction else text


def owner_of(scope: Scope) -> str:
    """What stands for a scope in a thread's checkpoints, which say nobody's name."""
    return digest(json.dumps(scope))[:16]


def held_in(saved: Mapping[str, Sequence[str]] | Sequence[str], scope: Scope) -> Mapping[str, Sequence[str]]:
    """The ids that a thread's checkpoint holds, by whose memory took each in.

    Checkpoints that were written when a thread had one owner are lists of ids: they are the current scope's.
    """
    return saved if isinstance(saved, Mapping) else {owner_of(scope): saved}


class MemoryUse(dict[str, int]):
    """How much memory a turn's prompts hold: ``tokens``, in the bank's token counter, and ``memories``.

    Streams of updates and values show these two numbers only. The turn is an attribute, so that no checkpoint, JSON or
    ``repr`` holds what was recalled. A copy that is made of the numbers, as for a ``repr``, has no turn.
    """

    turn: AgentTurn | None = None

    @classmethod
    def of(cls, turn: AgentTurn, tokens: int = 0) -> MemoryUse:
        """The numbers of a turn whose block has so many tokens."""
        use = cls(tokens=tokens, memories=len(turn.recall.numbers) if turn.recall is not None else 0)
        use.turn = turn
        return use


def state_keys(name: str) -> tuple[str, str]:
    """Where the graph's state has the current turn, and the ids of the thread's messages when its last run ended.

    Args:
        name: of the middleware, as two may stand together.
    """
    return f"secom_{name}", f"secom_{name}_thread"


def state_schema(name: str) -> Any:
    """The middleware's part of the graph's state.

    The turn is untracked, so that no checkpoint holds it and no turn sees another's. The ids, which are no words, are
    in each checkpoint, so that a later run can tell what was taken out of the thread since, and what another user said
    in a thread that several share.
    """
    of_turn = NotRequired[Annotated[MemoryUse | None, UntrackedValue, PrivateStateAttr]]
    of_thread = NotRequired[Annotated[dict[str, list[str]], PrivateStateAttr]]
    fields = dict(zip(state_keys(name), (of_turn, of_thread), strict=True))
    return cast("Any", TypedDict)(f"{name}State", fields)


def session_of(identity: Identity, key: str, messages: Sequence[BaseMessage], runtime: Runtime[Any]) -> str:
    """The name of the run's conversation.

    Args:
        identity: reads the run's context and configuration.
        key: the name's key there; the thread's id counts for ``"thread_id"``.
        messages: the thread; without a name, the user's first message gives one.
        runtime: of the run.
    """
    info = runtime.execution_info
    named = identity.value(key, runtime.context)
    if key == "thread_id" and _is_for_one_run():
        named = None
    elif named is None and key == "thread_id" and info is not None:
        named = info.thread_id
    session = conversation_name(messages) if named in (None, "") else str(named)
    # A sub-agent shares its caller's thread, but its messages are another conversation.
    is_shared = is_subagent(runtime) and not (key == "thread_id" and _has_own_thread(runtime))
    return f"{session}/{conversation_name(messages)}" if is_shared else session


def _is_for_one_run() -> bool:
    """Whether LangGraph's server made up a thread for a run without one, which names no conversation."""
    return _OF_SERVER in ensure_config().get("configurable", {}) and not is_checkpointed()


def is_subagent(runtime: Runtime[Any]) -> bool:
    """Whether the agent runs inside another one's tool; an agent that is a node of a graph does not.

    A tool may give it a configuration of its own. Then only the metadata, which it inherits, tells where it was called.
    """
    return _is_in_tool(_outer(runtime)) or _is_in_tool(ensure_config()["metadata"].get(_NAMESPACE))


def _outer(runtime: Runtime[Any]) -> str:
    """The namespace of the node within which the agent runs."""
    return runtime.execution_info.checkpoint_ns.rpartition("|")[0] if runtime.execution_info is not None else ""


def _is_in_tool(namespace: object) -> bool:
    return any(node.startswith("tools:") for node in str(namespace).split("|"))


def _has_own_thread(runtime: Runtime[Any]) -> bool:
    """Whether a tool that gave the agent a configuration of its own named another thread there."""
    info, of_caller = runtime.execution_info, ensure_config()["metadata"].get("thread_id")
    return not _is_in_tool(_outer(runtime)) and info is not None and str(info.thread_id) != str(of_caller)


def is_inner(runtime: Runtime[Any]) -> bool:
    """Whether the agent runs within another graph, such as in a node of it, or in a tool of another agent."""
    return runtime.execution_info is not None and "|" in runtime.execution_info.checkpoint_ns
