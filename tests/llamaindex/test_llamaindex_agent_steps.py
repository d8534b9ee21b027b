"""A CodeActAgent's code and its results: the agent's own steps, and neither the user's words nor an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_models import HttpLLM
from llama_index.core.agent.workflow import AgentWorkflow, CodeActAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer, Memory

from llamaindex_secom import (
    RecursiveSummaryMemoryBlock,
    SecomMemory,
    SecomMemoryBlock,
    SecomRetriever,
    memory_tools,
    said_by_user,
)
from secom_core import InvalidInput, MemoryBank
from secom_core.testing import Answer, ScriptedServer, ToolCall

ANN = ("acme", "ann")
QUERY = "Who is my violin teacher?"
CODE = "Let me look.\n<execute>\nseen = [7, 9]\nprint(seen[1])\n</execute>"
OUTCOME = "Result of executing the code given:\n\n9"
RUN = [CODE, "Marta, as you said [1]."]


def user(text: str, **extra: Any) -> ChatMessage:
    return ChatMessage(role="user", content=text, additional_kwargs=extra)


def bot(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "m.db", citations=True, summaries=True) as bank:
        talk = [("user", "My violin teacher is Marta."), ("assistant", "How nice!")]
        bank.remember(ANN, talk, session="day-0", close=True)
        yield bank


def memory_of(bank: MemoryBank, **options: Any) -> SecomMemory:
    return SecomMemory(scope=ANN, session="now", bank=bank, **options)


def stored(bank: MemoryBank, session: str = "now") -> list[str]:
    return [message.text for turn in bank.turns(ANN, session) for message in turn.messages]


async def run_code(code: str) -> str:
    return "9"


def agent_of(kind: str, server: ScriptedServer, *, streaming: bool = False) -> Any:
    """An agent that writes code; in a workflow another one hands the question over to it."""
    llm = HttpLLM(base_url=server.base_url)
    coder = CodeActAgent(run_code, name="coder", description="codes", llm=llm, streaming=streaming)
    if kind == "alone":
        return coder
    first = CodeActAgent(run_code, name="first", description="first", llm=llm, streaming=streaming)
    return AgentWorkflow(agents=[first, coder], root_agent="first")


def replies_of(kind: str) -> list[str | Answer]:
    handing = Answer("", (ToolCall("handoff", {"to_agent": "coder", "reason": "music"}, "c1"),))
    return list(RUN) if kind == "alone" else [handing, *RUN]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "streaming"), [("alone", False), ("alone", True), ("workflow", False)])
async def test_code_and_its_result_are_no_words_no_query_and_no_answer(
    bank: MemoryBank, kind: str, streaming: bool
) -> None:
    memory = memory_of(bank, citations=True)
    with ScriptedServer(replies_of(kind)) as server:
        answer = await agent_of(kind, server, streaming=streaming).run(QUERY, memory=memory)
    assert str(answer).startswith("Marta")
    assert stored(bank) == [QUERY, "Let me look.", "Marta, as you said."]
    assert len(bank.turns(ANN, "now")) == 1, "the result does not begin a turn"
    assert memory.last_recall is not None
    assert memory.last_recall.query == QUERY
    assert memory.last_citations is not None
    assert memory.last_citations.numbers == (1,), "seen[1] in the code is no citation, and the answer's is kept"
    (entry,) = bank.citations.log(ANN)
    assert (entry.query, entry.cited) == (QUERY, (1,))
    shown = [message.content for message in memory.get_all()]
    assert (CODE in shown, OUTCOME in shown) == (True, True), "the agent sees its steps as it wrote them"


@pytest.mark.slow
async def test_the_second_turn_sees_the_steps_of_the_first_one_and_recalls_for_its_own_query(bank: MemoryBank) -> None:
    memory = memory_of(bank)
    with ScriptedServer([*RUN, "By the canal."]) as server:
        agent = agent_of("alone", server)
        await agent.run(QUERY, memory=memory)
        await agent.run("And where does she live?", memory=memory)
        prompt = server.requests[-1].prompt
    assert memory.last_recall is not None
    assert memory.last_recall.query == "And where does she live?"
    assert prompt.index(CODE) < prompt.index(OUTCOME) < prompt.index("<memories>")
    assert stored(bank)[-2:] == ["And where does she live?", "By the canal."]
    again = SecomMemory.from_dict(memory.to_dict())
    again.put(user("Thank you"))
    assert [len(turn.messages) for turn in bank.turns(ANN, "now")] == [3, 2, 1], "also after a restart"
    again.get()
    assert again.last_recall is not None
    assert again.last_recall.query == "Thank you"


def test_the_window_keeps_a_call_with_its_result(bank: MemoryBank) -> None:
    memory = memory_of(bank, token_limit=140, insert_method="off")
    memory.put(user("one " * 30))
    memory.put_messages([bot(CODE), user(OUTCOME), bot("Done.")])
    memory.put_messages([user("two " * 90), bot("Yes.")])
    shown = [(message.content or "")[:5] for message in memory.get()]
    assert shown == ["one o", "Done.", "two t", "Yes."], "the call goes with its result"
    memory.put_messages([user("Again?"), bot(CODE), user(OUTCOME)])
    assert [message.content for message in memory.get()][-3:] == ["Again?", CODE, OUTCOME]


def test_memory_goes_before_the_query_and_not_before_a_result(bank: MemoryBank) -> None:
    memory = memory_of(bank)
    memory.put(user(QUERY))
    memory.put_messages([bot(CODE), user(OUTCOME), bot("Marta.")])
    shown = memory.get()
    assert [("<memories>" in (message.content or "")) for message in shown] == [True, False, False, False]


def test_a_hook_says_what_the_user_said(bank: MemoryBank) -> None:
    def by_user(message: ChatMessage) -> bool:
        return said_by_user(message) and "automatic" not in message.additional_kwargs

    memory = memory_of(bank, by_user=by_user, citations=True, remember_tools=True)
    memory.put(user(QUERY))
    memory.get()
    memory.put_messages([bot("Looking into [1]."), user("2 files found", automatic=True), bot("Marta [1].")])
    assert stored(bank) == [QUERY, '[execute: {"code": "Looking into [1]."}]', "2 files found", "Marta."]
    assert [message.role for turn in bank.turns(ANN, "now") for message in turn.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    memory.get()
    assert memory.last_recall is not None
    assert memory.last_recall.query == QUERY
    assert [entry.cited for entry in bank.citations.log(ANN)] == [(1,)]
    everything = memory_of(bank, by_user=lambda message: True)
    everything.session = "later"
    everything.put_messages([user(QUERY), bot(CODE), user(OUTCOME)])
    assert stored(bank, "later") == [QUERY, "Let me look.", OUTCOME]


@pytest.mark.parametrize("kind", [SecomMemory, SecomMemoryBlock, RecursiveSummaryMemoryBlock])
def test_a_hook_that_cannot_be_called_is_refused(bank: MemoryBank, kind: Any) -> None:
    with pytest.raises(InvalidInput, match="by_user is a function from a chat message to True or False, got 'user'"):
        kind(scope=ANN, bank=bank, by_user="user")


@pytest.mark.slow
async def test_the_blocks_of_the_stock_memory_take_the_steps_for_what_they_are(bank: MemoryBank) -> None:
    recalling = SecomMemoryBlock(scope=ANN, bank=bank)
    summing = RecursiveSummaryMemoryBlock(scope=("acme", "bob"), bank=bank)
    memory = Memory.from_defaults(session_id="now", memory_blocks=[recalling, summing])
    with ScriptedServer(replies_of("alone")) as server:
        await agent_of("alone", server).run(QUERY, memory=memory)
    await memory.aget()
    recall = recalling.recall_of("now")
    assert recall is not None
    assert recall.query == QUERY
    await recalling.aend_session(memory)
    await summing.asettle()
    assert stored(bank) == [QUERY, "Let me look.", RUN[-1]]
    bob = [message.text for turn in bank.turns(("acme", "bob"), "now/part-1") for message in turn.messages]
    assert bob == [QUERY, "Let me look.", RUN[-1]]


def test_a_retriever_takes_no_result_for_what_was_said(bank: MemoryBank) -> None:
    asked: list[list[str]] = []

    def query(dialogue: Any) -> str:
        asked.append([message.role.value for message in dialogue])
        return "violin"

    chat = ChatMemoryBuffer.from_defaults([user("Hello"), bot(CODE), user(OUTCOME)])
    SecomRetriever(bank, ANN, context=chat.get_all, query=query).retrieve("Which one?")
    assert asked == [["user", "assistant", "tool", "user"]]


@pytest.mark.slow
async def test_generated_code_calls_the_memory_tools_by_their_names(bank: MemoryBank) -> None:
    tools = memory_tools(bank, scope=ANN)
    functions: dict[str, Any] = {tool.metadata.get_name(): tool.real_fn for tool in tools}

    async def execute(code: str) -> str:
        found: list[str] = []
        exec(code, {**functions, "print": found.append})
        return "\n".join(found)

    code = "<execute>\nprint(search_memory('violin teacher'))\nprint(remember(text='She is kind.'))\n</execute>"
    with ScriptedServer([code, "Marta."]) as server:
        agent = CodeActAgent(execute, llm=HttpLLM(base_url=server.base_url), tools=list(tools), streaming=False)
        await agent.run(QUERY, memory=memory_of(bank))
        first, second = (request.prompt for request in server.requests)
    assert "def search_memory(query: str) -> str:" in first
    assert "def read_memory(memory_id: str, start: int = 0) -> str:" in first
    assert re.search(r"Result of executing.*My violin teacher is Marta\..*Remembered, as", second, re.S)
    assert stored(bank, "notes") == ["She is kind."]


def test_a_result_that_a_front_end_hands_over_as_the_users_message_is_not_remembered() -> None:
    """LlamaIndex's router for AG-UI gives the results of tools the role of the user, and writes calls as text."""
    bank = MemoryBank.open()
    memory = SecomMemory(bank=bank, scope=ANN, session="now")
    call = "<tool_call><name>weather</name><arguments>{}</arguments></tool_call>"
    asked = ChatMessage(role="user", content="What is the weather?", additional_kwargs={"id": "u1"})
    called = ChatMessage(role="assistant", content=call, additional_kwargs={"id": "a1"})
    result = ChatMessage(role="user", content="21 degrees", additional_kwargs={"id": "t1", "tool_call_id": "c1"})
    memory.set([asked, called, result])
    memory.put(ChatMessage(role="assistant", content="It is warm."))
    assert [message.text for turn in bank.turns(ANN) for message in turn.messages] == [
        "What is the weather?",
        "It is warm.",
    ]
    assert [message.content for message in memory.get()] == ["What is the weather?", call, "21 degrees", "It is warm."]
