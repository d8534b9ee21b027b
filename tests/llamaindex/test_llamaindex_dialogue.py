"""Follow-ups: what was said before a query weighs in wherever messages are, and a hook may make the query of them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_models import HttpLLM
from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
from llama_index.core.base.llms.types import (
    ChatMessage,
    CitableBlock,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.chat_engine import ContextChatEngine, SimpleChatEngine
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.schema import MetadataMode

from llamaindex_secom import SecomMemory, SecomMemoryBlock, SecomRetriever, memory_tools, rewritten_query
from llamaindex_secom.dialogue import before, said_before
from secom_core import DegradedWarning, InvalidInput, MemoryBank, ModelError
from secom_core.context.lines import CLOSE, OPEN
from secom_core.conversation import Message
from secom_core.testing import Answer, Fault, ScriptedModel, ScriptedServer, ToolCall

ANN = ("acme", "ann")
SISTER = "My sister Lena lives in Porto with two cats."
SUBJECT = "The sourdough starter needs rye flour and a warm spot by the oven."
PLACES = ("Ghent", "Lyon", "Turin", "Graz", "Riga", "Oslo", "Bergen", "Malmö", "Gdansk", "Brno", "Split", "Nantes")
PEOPLE = ("aunt", "cousin", "uncle", "dentist", "neighbour", "boss")
WHERE, MORE = "And where does she live?", "Tell me more."
STARTER = "What does my sourdough starter need?"
BUDGET = 120
"""Room for three or four of the memories."""


def user(text: str, **extra: Any) -> ChatMessage:
    return ChatMessage(role="user", content=text, additional_kwargs=extra)


def bot(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


OF_LENA = [user("My sister Lena has a new job."), bot("How nice! Is she happy with it?")]
OF_BREAD = [user("Remember my sourdough starter?"), bot("Yes, the sourdough starter.")]
FOLLOW_UPS = [(OF_LENA, WHERE, "Porto"), (OF_BREAD, MORE, "rye flour")]
follow_ups = pytest.mark.parametrize(("earlier", "query", "wanted"), FOLLOW_UPS, ids=["she", "more"])


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    """The sister, the bread, and many who live somewhere, said later."""
    at = datetime(2024, 5, 1, tzinfo=timezone.utc)
    people = [f"My {PEOPLE[n % 6]} lives in {place}, she told me more." for n, place in enumerate(PLACES)]
    with MemoryBank.open(tmp_path / "m.db") as bank:
        for day, text in enumerate([SISTER, SUBJECT, *people]):
            bank.remember(ANN, [Message(text, at=at + timedelta(days=day))], session=f"day {day}", close=True)
        yield bank


def memory_of(bank: MemoryBank, **options: Any) -> SecomMemory:
    return SecomMemory(scope=ANN, session="now", bank=bank, **{"token_budget": BUDGET, **options})


@pytest.fixture
def calls(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str]]]:
    """The query of each recall, and what was said before it."""
    made: list[tuple[str, list[str]]] = []
    recall = bank.recall

    def recalls(scope: Any, query: str, **options: Any) -> Any:
        made.append((query, [message.text for message in options["context"]]))
        return recall(scope, query, **options)

    monkeypatch.setattr(bank, "recall", recalls)
    return made


# -- what goes before a query -----------------------------------------------------------------------------------------


def test_the_latest_messages_of_user_and_assistant_are_the_context() -> None:
    recalled = TextBlock(text=f"{OPEN}[1] old\n{CLOSE}")
    many = [
        ChatMessage(role="user", blocks=[recalled, TextBlock(text=f"word {n}")]) if n % 2 else bot(f"word {n}")
        for n in range(12)
    ]
    noise = [
        ChatMessage(role="system", content="Be kind."),
        ChatMessage(role="user", blocks=[recalled]),
        ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id="1", tool_name="weather")]),
        ChatMessage(role="tool", content="12 degrees", additional_kwargs={"tool_call_id": "1"}),
        bot("Thought: I know.\nAnswer: It is warm."),
        user("Fine.", timestamp="no time"),
    ]
    said = said_before([*many, *noise])
    assert [message.text for message in said] == ["word 8", "word 9", "word 10", "word 11", "It is warm.", "Fine."]
    assert [message.role for message in said] == ["assistant", "user"] * 3
    assert said_before([]) == []


def test_the_query_is_no_part_of_what_was_said_before_it() -> None:
    step = ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id="1", tool_name="weather")])
    for messages in (
        [*OF_LENA],
        [*OF_LENA, user(WHERE)],
        [*OF_LENA, user(WHERE), step],
        [*OF_LENA, *[user(WHERE)] * 2],
    ):
        assert before(messages, WHERE) == OF_LENA
    assert before([], WHERE) == []


# -- each part passes it on -------------------------------------------------------------------------------------------


def by_memory(bank: MemoryBank, earlier: list[ChatMessage], query: str, /, **options: Any) -> str:
    memory = memory_of(bank, write="inline", **options)
    memory.put_messages(earlier)
    memory.put(user(query))
    return str(memory.get()[-1].content)


def by_memory_before_the_query_is_put(
    bank: MemoryBank, earlier: list[ChatMessage], query: str, /, **options: Any
) -> str:
    memory = memory_of(bank, **options)
    memory.put_messages(earlier)
    return str(memory.get(input=query)[-1].content)


def by_block(bank: MemoryBank, earlier: list[ChatMessage], query: str, /, **options: Any) -> str:
    block = SecomMemoryBlock(scope=ANN, bank=bank, **{"token_budget": BUDGET, **options})
    memory = Memory.from_defaults(session_id="now", memory_blocks=[block])
    memory.put_messages([*earlier, user(query)])
    return "\n".join(str(message.content) for message in memory.get())


def by_retriever(bank: MemoryBank, earlier: list[ChatMessage], query: str, /, **options: Any) -> str:
    chat = ChatMemoryBuffer.from_defaults(earlier)
    retriever = SecomRetriever(bank, ANN, context=chat.get_all, **{"token_budget": BUDGET, **options})
    return "\n".join(node.node.get_content(MetadataMode.LLM) for node in retriever.retrieve(query))


RECALLING = [by_memory, by_memory_before_the_query_is_put, by_block, by_retriever]
each_of_them = pytest.mark.parametrize("recalling", RECALLING)


@pytest.mark.slow
@follow_ups
@each_of_them
def test_a_follow_up_brings_what_it_is_about(
    bank: MemoryBank, recalling: Any, earlier: list[ChatMessage], query: str, wanted: str
) -> None:
    assert wanted not in recalling(bank, [], query), "not everything fits"
    bank.forget(ANN, session="now")
    assert wanted in recalling(bank, earlier, query)


@pytest.mark.slow
@each_of_them
def test_what_was_said_goes_into_the_recall(
    bank: MemoryBank, calls: list[tuple[str, list[str]]], recalling: Any
) -> None:
    recalling(bank, OF_LENA, WHERE)
    assert calls == [(WHERE, [str(message.content) for message in OF_LENA])]


@pytest.mark.slow
def test_a_question_that_stands_alone_is_not_led_astray(bank: MemoryBank) -> None:
    text = by_memory(bank, OF_BREAD, "Where does my sister Lena live?", token_budget=60)
    assert "Porto" in text
    assert "rye" not in text


# -- in agents and chat engines ---------------------------------------------------------------------------------------


@pytest.mark.slow
@follow_ups
@pytest.mark.parametrize("kind", ["function", "react"])
async def test_an_agent_is_shown_what_a_follow_up_is_about(
    bank: MemoryBank, kind: str, earlier: list[ChatMessage], query: str, wanted: str
) -> None:
    says = "Thought: I can answer.\nAnswer: {}" if kind == "react" else "{}"
    with ScriptedServer([says.format(earlier[1].content), says.format("Fine.")]) as server:
        made: Any = ReActAgent if kind == "react" else FunctionAgent
        agent = made(llm=HttpLLM(base_url=server.base_url), streaming=False)
        memory = memory_of(bank)
        for text in (str(earlier[0].content), query):
            await agent.run(text, memory=memory)
        assert wanted in server.requests[-1].prompt
    assert memory.last_recall is not None
    assert memory.last_recall.query == query
    assert memory.injected_tokens <= BUDGET


LETTER = b"My sister wrote a letter about the sourdough starter."
ATTACHED: dict[str, list[Any]] = {
    "document": [DocumentBlock(data=LETTER, document_mimetype="text/plain", title="letter.txt")],
    "image": [ImageBlock(url="https://example.com/sourdough_starter.png")],
    "citable": [
        CitableBlock(title="Letter", source="letter", content=[TextBlock(text="My sister wrote a letter.")]),
        TextBlock(text=STARTER),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["function", "react"])
@pytest.mark.parametrize("attached", ATTACHED)
async def test_an_agent_is_shown_the_same_memory_in_all_of_a_turn_whatever_the_message_is_made_of(
    bank: MemoryBank, calls: list[tuple[str, list[str]]], kind: str, attached: str
) -> None:
    def look() -> str:
        """Look it up."""
        return "nothing"

    react = ["Thought: I look.\nAction: look\nAction Input: {}", "Thought: I can answer.\nAnswer: Done."]
    replies = react if kind == "react" else [Answer("", (ToolCall("look", {}, "c1"),)), "Done."]
    memory, prompts = memory_of(bank), list[str]()
    with ScriptedServer(replies) as server:
        made: Any = ReActAgent if kind == "react" else FunctionAgent
        agent = made(tools=[look], llm=HttpLLM(base_url=server.base_url), streaming=False)
        await agent.run(ChatMessage(role="user", blocks=ATTACHED[attached]), memory=memory)
        prompts = [request.prompt for request in server.requests]
    blocks = [prompt[prompt.index(OPEN) : prompt.index(CLOSE)] for prompt in prompts]
    assert len(blocks) == 2
    assert blocks[0] == blocks[1]
    assert len(calls) == 1


@pytest.mark.slow
@follow_ups
@pytest.mark.parametrize("kind", ["simple", "context"])
def test_a_chat_engine_is_shown_what_a_follow_up_is_about(
    bank: MemoryBank, kind: str, earlier: list[ChatMessage], query: str, wanted: str
) -> None:
    memory = memory_of(bank)
    with ScriptedServer([str(earlier[1].content), "Fine."]) as server:
        llm = HttpLLM(base_url=server.base_url)
        engine: Any = SimpleChatEngine.from_defaults(llm=llm, memory=memory)
        if kind == "context":
            nothing = SecomRetriever(bank, ("acme", "handbook"), empty="SHELF")
            engine = ContextChatEngine.from_defaults(retriever=nothing, llm=llm, memory=memory)
        for text in (str(earlier[0].content), query):
            engine.chat(text)
        assert wanted in server.requests[-1].prompt


@pytest.mark.slow
@follow_ups
def test_a_retriever_follows_the_dialogue_of_a_chat_engine(
    bank: MemoryBank, earlier: list[ChatMessage], query: str, wanted: str
) -> None:
    chat = ChatMemoryBuffer.from_defaults()
    retriever = SecomRetriever(bank, ANN, token_budget=BUDGET, context=chat.get_all)
    with ScriptedServer([str(earlier[1].content), "Fine."]) as server:
        engine = ContextChatEngine.from_defaults(
            retriever=retriever, memory=chat, llm=HttpLLM(base_url=server.base_url)
        )
        for text in (str(earlier[0].content), query):
            engine.chat(text)
        assert wanted in server.requests[-1].prompt


@pytest.mark.slow
@pytest.mark.parametrize("put_first", [True, False])
def test_the_same_words_again_are_another_query(
    bank: MemoryBank, calls: list[tuple[str, list[str]]], put_first: bool
) -> None:
    """Context chat engines put query and answer when both are there."""
    memory = memory_of(bank)
    memory.put_messages(OF_BREAD)
    for _ in range(2):
        if put_first:
            memory.put(user(MORE))
            memory.get()
        else:
            memory.get(input=MORE)
            memory.put(user(MORE))
        memory.get(input=MORE)
        memory.put(bot("It is old."))
        assert memory.last_recall is not None
        assert memory.last_recall.query == MORE
    said = [str(message.content) for message in OF_BREAD]
    assert calls == [(MORE, said), (MORE, [*said, MORE, "It is old."])]


@pytest.mark.slow
async def test_a_search_goes_by_what_was_said_before_it(bank: MemoryBank) -> None:
    call = Answer("", (ToolCall("search_memory", {"query": "Where does she live?"}, "c"),))
    with ScriptedServer(["How nice!", call, "In Porto."]) as server:
        tools: Any = memory_tools(actions=["search"], token_budget=BUDGET)
        agent = FunctionAgent(tools=tools, llm=HttpLLM(base_url=server.base_url), streaming=False)
        memory = memory_of(bank, insert_method="off")
        await agent.run("My sister Lena has a new job.", memory=memory)
        await agent.run("What is her city?", memory=memory)
        role, found = server.requests[-1].messages[-1]
    assert role == "tool"
    assert "Porto" in found
    (alone,) = memory_tools(bank, scope=ANN, actions=["search"], token_budget=60)
    assert "Porto" not in str(alone.call(query="Where does she live?"))


# -- the hook ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@each_of_them
def test_a_hook_makes_the_query_of_the_dialogue(bank: MemoryBank, recalling: Any) -> None:
    seen: list[list[str]] = []

    def hook(messages: Sequence[ChatMessage]) -> str:
        seen.append([str(message.content) for message in messages])
        return f" {STARTER}\n"

    text = recalling(bank, OF_LENA, WHERE, token_budget=60, query=hook)
    assert "rye flour" in text
    assert "Porto" not in text
    assert seen == [[*(str(message.content) for message in OF_LENA), WHERE]]


def test_a_hook_is_asked_once_a_turn_and_the_users_words_stay(bank: MemoryBank) -> None:
    asked: list[int] = []
    memory = memory_of(bank, query=lambda messages: asked.append(len(messages)) or STARTER)  # type: ignore[func-returns-value]
    memory.put_messages([*OF_LENA, user(MORE)])
    first = memory.get()
    memory.put_messages([bot("Let me see.")])
    assert memory.get(input=MORE)[-2] == first[-1]
    assert [getattr(block, "text", "")[:13] for block in first[-1].blocks] == ["<memories>\nQu", MORE]
    assert asked == [3]
    assert memory.last_recall is not None
    assert memory.last_recall.query == STARTER
    data = memory.to_dict()
    with pytest.raises(InvalidInput, match="saved with query= of its own"):
        SecomMemory.from_dict(data, bank=bank)
    hooked = SecomMemory.from_dict(memory.to_dict(), query=lambda messages: SISTER)
    hooked.get()
    assert hooked.last_recall is not None
    assert hooked.last_recall.query == SISTER


async def test_a_block_asks_its_hook_once_a_turn(bank: MemoryBank) -> None:
    asked: list[int] = []
    hook: Callable[..., Any] = lambda messages: asked.append(len(messages)) or STARTER  # noqa: E731
    block = SecomMemoryBlock(scope=ANN, bank=bank, token_budget=BUDGET, query=hook)
    messages = [*OF_LENA, user(MORE)]
    first = await block.aget(messages, session_id="now")
    assert await block.aget(messages, session_id="now") == first
    shorter = await block.atruncate(first, 40)
    assert shorter is not None
    assert len(shorter) < len(first)
    assert asked == [3]


@each_of_them
def test_a_hook_that_gives_no_words_recalls_nothing(bank: MemoryBank, recalling: Any) -> None:
    assert "lives in" not in recalling(bank, OF_LENA, WHERE, query=lambda messages: " ")


@each_of_them
def test_what_is_no_hook_is_refused(bank: MemoryBank, recalling: Any) -> None:
    with pytest.raises(InvalidInput, match="query is a function from chat messages to a text, got 'where'"):
        recalling(bank, OF_LENA, WHERE, query="where")
    with pytest.raises(InvalidInput, match="made of a dialogue is a string, got None"):
        recalling(bank, OF_LENA, WHERE, query=lambda messages: None)


def test_what_gives_no_messages_is_refused(bank: MemoryBank) -> None:
    with pytest.raises(InvalidInput, match="context is a function that gives chat messages, got"):
        SecomRetriever(bank, ANN, context=OF_LENA)  # type: ignore[arg-type]


async def _awaited(messages: Sequence[ChatMessage]) -> str:
    return STARTER


class _Awaited:
    async def __call__(self, messages: Sequence[ChatMessage]) -> str:
        return STARTER


@pytest.mark.parametrize("hook", [_awaited, _Awaited()])
def test_a_hook_that_has_to_be_awaited_is_refused(bank: MemoryBank, hook: Any) -> None:
    for made in (SecomMemory, SecomMemoryBlock):
        with pytest.raises(InvalidInput, match="which has to be awaited; give a plain function"):
            made(scope=ANN, bank=bank, query=hook)


def test_a_hook_that_raises_ends_no_turn(bank: MemoryBank) -> None:
    def hook(messages: Sequence[ChatMessage]) -> str:
        raise ZeroDivisionError("no words")

    memory = SecomMemory(scope=ANN, bank=bank, query=hook)
    memory.put(ChatMessage(role="user", content=STARTER))
    with pytest.warns(DegradedWarning, match="searched for as they are.*no words"):
        memory.get()
    assert memory.last_recall is not None
    assert memory.last_recall.query == STARTER
    raising = SecomMemory(scope=ANN, bank=bank, query=hook, on_error="raise")
    with pytest.raises(ZeroDivisionError):
        raising.get(STARTER)


def test_a_hook_whose_model_fails_costs_memory_and_no_answer(bank: MemoryBank) -> None:
    def hook(messages: Sequence[ChatMessage]) -> str:
        raise ModelError("overloaded")

    for recalling in (by_memory, by_block):
        with pytest.warns(DegradedWarning, match="nothing is recalled: overloaded"):
            assert recalling(bank, OF_LENA, WHERE, query=hook).endswith(WHERE)
        bank.forget(ANN, session="now")


# -- rewriting --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_model_rewrites_the_question_and_never_blocks(bank: MemoryBank) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    with ScriptedServer({"<message>": f"<question>{STARTER}</question>", "": "Rye."}) as server:
        llm = HttpLLM(base_url=server.base_url)
        memory = memory_of(bank, token_budget=60, query=rewritten_query(llm))
        agent = FunctionAgent(llm=llm, streaming=False, system_prompt="Be kind.")
        await agent.run("My sister Lena has a new job.", memory=memory)
        assert len(server.requests) == 1, "the first message of a conversation costs no call"
        with blockbuster.blockbuster_ctx(["llamaindex_secom", "secom_core"]):
            assert str(await agent.run("And the other thing?", memory=memory)) == "Rye."
        _, asked, answered = server.requests
    assert "user: My sister Lena has a new job." in asked.text
    assert "memories" not in asked.text
    assert "rye flour" in answered.prompt
    assert answered.messages[-1][1].endswith("And the other thing?")


@pytest.mark.slow
@each_of_them
@pytest.mark.parametrize("reply", [Fault(status=500), "<question>What does"], ids=["fails", "cut"])
def test_a_rewriting_that_fails_costs_a_warning_and_no_memory(bank: MemoryBank, recalling: Any, reply: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert "Porto" in recalling(bank, OF_LENA, WHERE, query=rewritten_query(ScriptedModel(reply)))
    assert [each.category for each in caught if each.category is DegradedWarning] == [DegradedWarning]


def test_a_rewriter_needs_a_model() -> None:
    for wrong in ({"model": "gpt"}, {"model": ScriptedModel("x"), "messages": 0}):
        with pytest.raises(InvalidInput, match=r"ChatModel|from 1 on"):
            rewritten_query(**wrong)  # type: ignore[arg-type]


def test_options_are_json_without_the_hook(bank: MemoryBank) -> None:
    memory = memory_of(bank, query=lambda messages: STARTER, only_relevant=True)
    assert json.loads(memory.to_json())["only_relevant"] is True
    assert "query" not in memory.to_dict()
    block = SecomMemoryBlock(scope=ANN, bank=bank, query=lambda messages: STARTER)
    assert "query" not in block.model_dump()


NOON = datetime(2026, 3, 4, 12, tzinfo=timezone(timedelta(hours=14)))


@pytest.fixture
def moments(bank: MemoryBank, monkeypatch: pytest.MonkeyPatch) -> list[datetime | None]:
    """When each recall takes its query to be asked."""
    made: list[datetime | None] = []
    recall = bank.recall

    def recalls(scope: Any, query: str, **options: Any) -> Any:
        made.append(options["now"])
        return recall(scope, query, **options)

    monkeypatch.setattr(bank, "recall", recalls)
    return made


@pytest.mark.parametrize("key", ["timestamp", "at", "created_at"])
@pytest.mark.parametrize(("given", "at"), [(NOON.isoformat(), NOON), (NOON, NOON), (None, None), ("now", None)])
async def test_a_question_is_asked_when_its_message_was_said(
    bank: MemoryBank, moments: list[datetime | None], key: str, given: Any, at: datetime | None
) -> None:
    asking = user("What did I say yesterday?", **{key: given})
    memory_of(bank).get(asking)
    memory_of(bank).get("Something else")
    await SecomMemoryBlock(bank=bank, scope=ANN).aget([*OF_BREAD, asking])
    SecomRetriever(bank, ANN, context=lambda: [*OF_BREAD, asking]).retrieve("What did I say yesterday?")
    SecomRetriever(bank, ANN, context=lambda: [*OF_BREAD, asking]).retrieve("What else?")
    assert moments == [at, None, at, at, None]


async def test_a_question_that_was_put_is_asked_when_it_was_said_until_it_is_answered(
    bank: MemoryBank, moments: list[datetime | None]
) -> None:
    memory = memory_of(bank)
    memory.put(user("What did I say yesterday?", timestamp=NOON.isoformat()))
    memory.get()
    memory.put(bot("Nothing."))
    await memory.aget("And the day before?")
    assert moments == [NOON, None]


def test_what_is_attached_is_searched_for_where_a_message_says_nothing_else(
    bank: MemoryBank, calls: list[tuple[str, list[str]]]
) -> None:
    image = ImageBlock(url="https://example.com/2026-06-23/garden.jpg")
    paper = DocumentBlock(data=b"The harbour. " * 99, document_mimetype="text/plain", title="n.txt")
    words = TextBlock(text=STARTER)
    for blocks in ([words, image, paper], [image], [paper]):
        message = ChatMessage(role="user", blocks=blocks)
        memory_of(bank).get(message)
        memory_of(bank).get(message.content)
    said = [query for query, _ in calls]
    assert said[:3] == [STARTER, STARTER, "[image: https://example.com/2026-06-23/garden.jpg]"]
    assert said[3].startswith("[document: n.txt]\nThe harbour.")
    memory = memory_of(bank)
    memory.put(ChatMessage(role="user", blocks=[words, image, paper]))
    assert memory.get()[-1].content.count(STARTER) == 1
    assert memory.last_recall is not None
    assert "rye flour" in memory.last_recall.text
    assert "n.txt" in bank.turns(ANN, "now")[-1].text


@pytest.mark.parametrize("text", ["{paper}\n\n{question}", "{question}\n\n{paper}"], ids=["before", "after"])
def test_a_question_is_answered_beside_a_long_text(bank: MemoryBank, text: str) -> None:
    paper = "\n".join(f"My {PEOPLE[n % 6]} lives in {PLACES[n % 12]} by the harbour, she told me." for n in range(60))
    alone, beside = memory_of(bank), memory_of(bank)
    alone.get(STARTER)
    beside.get(user(text.format(paper=paper, question=STARTER)))
    assert alone.last_recall is not None
    assert beside.last_recall is not None
    assert "rye flour" in beside.last_recall.text
    assert beside.last_recall.confidence > 0.8 * alone.last_recall.confidence
