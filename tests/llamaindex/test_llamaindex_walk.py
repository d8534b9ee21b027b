"""Any order of what happens to a session: its memory holds what was said, once and in order, and nothing forgotten.

`walks` makes it longer.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata, TextBlock, ToolCallBlock
from llama_index.core.chat_engine import CondensePlusContextChatEngine, ContextChatEngine, SimpleChatEngine
from llama_index.core.llms.llm import ToolSelection
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.workflow import Context
from walks import walks

from llamaindex_secom import SecomMemory
from secom_core.bank import MemoryBank

ANN, BOB = ("ann",), ("bob",)
PLANS = st.lists(st.sampled_from(["look", "handoff"]), max_size=2)


def look(number: int) -> str:
    """Look something up."""
    return f"Found {number}."


class Away(ConnectionError):
    pass


class Planned(MockFunctionCallingLLM):
    """Calls the tools of a plan, and then answers; ``"fail"`` fails."""

    walk: Any
    thinks: bool = False

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, is_function_calling_model=not self.thinks)

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        self.walk.shown.extend(block.text for each in messages for block in each.blocks if isinstance(block, TextBlock))
        step, number = self.walk.plan.pop(0) if self.walk.plan else "answer", next(self.walk.numbers)
        if step == "fail":
            raise Away("the model is away")
        if step == "answer":
            return self.said(f"Thought: I know.\nAnswer: Answer {number}." if self.thinks else f"Answer {number}.")
        if self.thinks:
            return self.said(f'Thought: I look.\nAction: look\nAction Input: {{"number": {number}}}')
        self.walk.agent ^= step == "handoff"
        given = {"number": number} if step == "look" else {"to_agent": "ab"[self.walk.agent], "reason": "It knows."}
        call = ToolCallBlock(tool_call_id=str(number), tool_name=step, tool_kwargs=given)
        return ChatResponse(message=ChatMessage(role="assistant", blocks=[call]))

    def said(self, text: str) -> ChatResponse:
        return ChatResponse(message=ChatMessage(role="assistant", content=text), delta=text)

    async def achat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        return self.chat(messages)

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> Any:
        return iter([self.chat(messages)])

    def get_tool_calls_from_response(self, response: ChatResponse, *_: Any, **__: Any) -> list[ToolSelection]:
        calls = [block for block in response.message.blocks if isinstance(block, ToolCallBlock)]
        return [
            ToolSelection(tool_id=str(each.tool_call_id), tool_name=each.tool_name, tool_kwargs=dict(each.tool_kwargs))
            for each in calls
            if isinstance(each.tool_kwargs, dict)
        ]


class Documents(BaseRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text="A document."), score=1.0)]


class Walk(RuleBasedStateMachine):
    """A session of Ann's, through agents and chat engines, and Bob, who says something in between."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.numbers, self.plan, self.agent = count(1), list[str](), 0
        self.sessions: dict[str, list[str]] = {"friday": []}
        self.shown, self.gone, self.bobs = list[str](), set[str](), list[str]()
        self.session, self.waiting = "friday", ""
        self.saved: dict[str, Any] = {}

    @initialize(write=st.sampled_from(["inline", "background"]), limit=st.sampled_from([300, 8000]))
    def begin(self, write: Any, limit: int) -> None:
        self.options: dict[str, Any] = {"write": write, "token_limit": limit}
        self.open()

    def open(self) -> None:
        self.bank = MemoryBank.open(Path(self.folder.name) / "memory.db")
        self.memory = self.made()

    def made(self) -> SecomMemory:
        return SecomMemory(bank=self.bank, scope=ANN, session=self.session, on_error="raise", **self.options)

    def close(self) -> None:
        self.memory.flush()
        self.bank.close()

    def teardown(self) -> None:
        self.close()
        self.folder.cleanup()

    @property
    def said(self) -> list[str]:
        return self.sessions.setdefault(self.session, [])

    def message(self) -> str:
        return f"Message {next(self.numbers)}."

    # -- agents and engines ---------------------------------------------------------------------------------------

    async def by_agent(self, kind: str, text: str, in_context: bool) -> str:
        model = Planned(walk=self, thinks=kind == "react")
        agents = [FunctionAgent(name=name, description=name, llm=model, tools=[look], streaming=False) for name in "ab"]
        agent: Any = AgentWorkflow(agents=agents, root_agent="a") if kind == "workflow" else agents[0]
        if kind == "react":
            agent = ReActAgent(llm=model, tools=[look], streaming=False)
        if not in_context:
            return str(await agent.run(text, memory=self.memory))
        context = Context.from_dict(agent, self.saved[kind]) if kind in self.saved else Context(agent)
        answer = str(await agent.run(text, ctx=context, memory=self.memory))
        self.saved = {kind: context.to_dict()}
        return answer

    def by_engine(self, kind: str, text: str, streaming: bool) -> str:
        model = Planned(walk=self)
        given: dict[str, Any] = {"llm": model, "memory": self.memory}
        engines: dict[str, Any] = {
            "simple": lambda: SimpleChatEngine.from_defaults(**given),
            "context": lambda: ContextChatEngine.from_defaults(Documents(), **given),
            "condense": lambda: CondensePlusContextChatEngine.from_defaults(Documents(), **given, skip_condense=True),
        }
        engine = engines[kind]()
        return "".join(engine.stream_chat(text).response_gen) if streaming else str(engine.chat(text))

    def run(self, kind: str, text: str, plan: list[str], flag: bool) -> str:
        by_agent = kind in ("function", "react", "workflow")
        self.plan[:] = plan if kind == "workflow" else ["look" if each == "handoff" else each for each in plan]
        self.plan[:], self.agent = self.plan if by_agent else [each for each in plan if each == "fail"], 0
        self.shown.clear()
        if by_agent:
            return asyncio.run(self.by_agent(kind, text, flag))
        return self.by_engine(kind, text, flag and "fail" not in plan)

    # -- what happens to a session --------------------------------------------------------------------------------

    KINDS = st.sampled_from(["function", "react", "workflow", "simple", "context", "condense"])

    @rule(kind=KINDS, plan=PLANS, flag=st.booleans(), again=st.booleans())
    def say(self, kind: str, plan: list[str], flag: bool, again: bool) -> None:
        text = self.waiting if again and self.waiting else self.message()
        answer = self.run(kind, text, plan, flag)
        self.said.extend([answer] if text == self.waiting else [text, answer])
        self.waiting = ""
        shown = "\n".join(self.shown)
        assert text in shown
        assert not [each for each in (*self.gone, *self.bobs) if each in shown]

    @rule(kind=st.sampled_from(["function", "react", "workflow", "simple"]), plan=PLANS, again=st.booleans())
    def fail(self, kind: str, plan: list[str], again: bool) -> None:
        text = self.waiting if again and self.waiting else self.message()
        with pytest.raises(Exception, match="the model is away"):
            self.run(kind, text, [*plan, "fail"], flag=False)
        self.said.extend([] if text == self.waiting else [text])
        self.waiting = text

    @rule()
    def somebody_else(self) -> None:
        self.bobs.append(self.message())
        SecomMemory(bank=self.bank, scope=BOB, session=self.session).put(ChatMessage(self.bobs[-1]))

    @rule()
    def reset(self) -> None:
        self.memory.reset()
        self.session, self.waiting, self.saved = self.memory.session, "", {}

    @precondition(lambda self: not self.waiting)
    @rule(cut=st.integers(0, 3), more=st.booleans())
    def hand_over(self, cut: int, more: bool) -> None:
        history = self.memory.get_all()
        more_said = [self.message(), f"Answer {next(self.numbers)}."] if more else []
        new = [
            ChatMessage(role=role, content=text) for role, text in zip(("user", "assistant"), more_said, strict=False)
        ]
        self.memory.set([*(history[cut:] or history), *new])
        self.said.extend(more_said)

    @precondition(lambda self: not self.waiting)
    @rule(data=st.data())
    def edit(self, data: Any) -> None:
        history = self.memory.get_all()
        assert self.gone.isdisjoint(str(each.content) for each in history)
        asked = [place for place, each in enumerate(history) if each.role == "user"]
        if len(asked) > 1:
            place = data.draw(st.sampled_from(asked[1:]), label="message")
            new = [self.message(), f"Answer {next(self.numbers)}."]
            turn = [ChatMessage(role="user", content=new[0]), ChatMessage(role="assistant", content=new[1])]
            self.memory.set([*history[:place], *turn])
            self.said[self.said.index(str(history[place].content)) :] = new

    @precondition(lambda self: not self.waiting)
    @rule(data=st.data(), last=st.booleans())
    def forget(self, data: Any, last: bool) -> None:
        if turns := self.bank.turns(ANN, self.session):
            turn = turns[-1] if last else data.draw(st.sampled_from(turns), label="turn")
            self.bank.forget(ANN, turn_ids=[turn.id])
            self.gone |= {message.text for message in turn.messages}
            self.said[:] = [text for text in self.said if text not in self.gone]

    @rule()
    def another_object(self) -> None:
        self.memory.flush()
        self.memory = self.made()

    @rule()
    def another_process(self) -> None:
        self.close()
        self.open()

    # -- what must hold -------------------------------------------------------------------------------------------

    @invariant()
    def it_holds_what_was_said(self) -> None:
        for session, said in self.sessions.items() if hasattr(self, "bank") else ():
            held = [message.text for turn in self.bank.turns(ANN, session) for message in turn.messages]
            assert held == said


@pytest.mark.slow
def test_any_order_of_what_happens_to_a_session() -> None:
    run_state_machine_as_test(Walk, settings=walks(10, 15))
