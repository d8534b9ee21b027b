"""A conversation's messages under RunnableWithMessageHistory: every way to call it, each pitfall by its number."""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_chat import HttpChatModel
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory

from langchain_secom import SecomChatMessageHistory, SessionHistories, recalled_memories
from secom_core.bank import BackgroundWriter, MemoryBank
from secom_core.conversation import Message
from secom_core.errors import InvalidInput, InvalidScope
from secom_core.testing import Fault, ScriptedServer

ANN, BOB = ("ann",), ("bob",)
FACT = "My dog Bello swims in the river Leie."
QUESTION = "Where does my dog Bello swim?"
WAYS = ["invoke", "ainvoke", "batch", "abatch", "stream", "astream"]
each_way = pytest.mark.parametrize("how", WAYS)
as_ann: Any = {"configurable": {"user_id": "ann", "session_id": "friday"}}
PROMPT = ChatPromptTemplate.from_messages(
    [("system", "{memories}"), MessagesPlaceholder("history"), ("human", "{question}")]
)


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        bank.remember(ANN, [Message(FACT, id="ann-1")], session="monday", close=True)
        bank.remember(BOB, [Message("My dog Rex swims in the sea.", id="bob-1")], session="monday", close=True)
        yield bank


async def run(how: str, chain: Any, given: Any, config: Any = as_ann) -> str:
    if how == "invoke":
        return str(chain.invoke(given, config).text)
    if how == "ainvoke":
        return str((await chain.ainvoke(given, config)).text)
    if how == "batch":
        return str(chain.batch([given], config)[0].text)
    if how == "abatch":
        return str((await chain.abatch([given], config))[0].text)
    pieces = list(chain.stream(given, config)) if how == "stream" else [p async for p in chain.astream(given, config)]
    assert len(pieces) > 1
    return "".join(piece.text for piece in pieces)


def history_of(bank: MemoryBank, **kwargs: Any) -> SecomChatMessageHistory:
    return SecomChatMessageHistory(bank, scope=ANN, session="friday", **kwargs)


def words(messages: list[BaseMessage]) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in messages]


def chat_over(server: ScriptedServer, histories: SessionHistories) -> RunnableWithMessageHistory:
    chain = RunnablePassthrough.assign(memories=recalled_memories("question")) | PROMPT
    return RunnableWithMessageHistory(
        chain | HttpChatModel(base_url=server.base_url),
        histories,
        input_messages_key="question",
        history_messages_key="history",
        history_factory_config=histories.specs,
    )


# -- the matrix -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@each_way
@pytest.mark.parametrize("background", [False, True])
async def test_a_chat_remembers_its_session_and_recalls_others(bank: MemoryBank, how: str, background: bool) -> None:
    writer = BackgroundWriter(bank) if background else None
    with ScriptedServer(["In the Leie.", "On Sundays."]) as server:
        chat = chat_over(server, SessionHistories(bank, writer=writer))
        assert await run(how, chat, {"question": QUESTION}) == "In the Leie."
        assert await run(how, chat, {"question": "When does Bello swim?"}) == "On Sundays."
        first, second = server.requests
    assert FACT in first.messages[0][1]
    assert "Rex" not in str(first.body)
    assert second.messages[1:] == (
        ("user", QUESTION),
        ("assistant", "In the Leie."),
        ("user", "When does Bello swim?"),
    )
    # What the session shows is not recalled beside it.
    assert "In the Leie." not in second.messages[0][1]
    if writer:
        assert writer.flush(10)
        writer.close()
    stored = history_of(bank).messages
    assert words(stored) == [
        ("human", QUESTION),
        ("ai", "In the Leie."),
        ("human", "When does Bello swim?"),
        ("ai", "On Sundays."),
    ]
    assert [type(message) for message in stored[:2]] == [HumanMessage, AIMessage]


@pytest.mark.slow
@each_way
async def test_pitfall_a_history_that_is_read_again_stores_nothing_twice(bank: MemoryBank, how: str) -> None:
    # Without history_messages_key, the history is read again after the answer, and what it gives is cut off by number.
    with ScriptedServer([f"Answer {number}." for number in range(4)]) as server:
        for window in (None, 2):
            histories = SessionHistories(bank, session_key="thread", window=window)
            chat = RunnableWithMessageHistory(
                HttpChatModel(base_url=server.base_url), histories, history_factory_config=histories.specs
            )
            config = {"configurable": {"user_id": "ann", "thread": f"w{window}"}}
            for text in ("First.", "Second."):
                await run(how, chat, [HumanMessage(text)], config)
            stored = SecomChatMessageHistory(bank, scope=ANN, session=f"w{window}").messages
            assert [message.text for message in stored][::2] == ["First.", "Second."]
            assert len(stored) == 4


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "astream"])
@pytest.mark.parametrize("by_key", [True, False])
async def test_a_turn_waits_in_memory_for_a_locked_file_and_the_next_one_sees_it(
    bank: MemoryBank, how: str, by_key: bool
) -> None:
    first, second = "I moved to Ghent.", "Where did I move to?"
    with ScriptedServer(["How nice!", "To Ghent."]) as server:
        histories, model = SessionHistories(bank, window=4), HttpChatModel(base_url=server.base_url)
        chat: Any = RunnableWithMessageHistory(model, histories, history_factory_config=histories.specs)
        if by_key:
            chat = chat_over(server, histories)
        given: list[Any] = [{"question": text} if by_key else [HumanMessage(text)] for text in (first, second)]
        with closing(sqlite3.connect(str(bank.storage.path), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            await run(how, chat, given[0])
            assert words(history_of(bank).messages) == [("human", first), ("ai", "How nice!")]
            await run(how, chat, given[1])
            assert time.monotonic() - began < 20
            other.execute("COMMIT")
        assert server.requests[1].messages[-3:] == (("user", first), ("assistant", "How nice!"), ("user", second))
    said = [("human", first), ("ai", "How nice!"), ("human", second), ("ai", "To Ghent.")]
    assert words(history_of(bank).messages) == said
    bank.close()
    with MemoryBank.open(str(bank.storage.path)) as opened:
        assert words(history_of(opened).messages) == said


@pytest.mark.parametrize("window", [None, 1, 2, 3])
def test_what_waits_in_memory_is_shown_as_it_is_shown_once_it_is_written(tmp_path: Path, window: int | None) -> None:
    path = tmp_path / "m.db"
    with MemoryBank.open(path, redact=lambda text: text.replace("4111", "[card]")) as bank:
        history = SecomChatMessageHistory(bank, scope=ANN, session="now", window=window)
        history.add_messages([HumanMessage("Where do I live?"), AIMessage("Let me look.")])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            for _ in range(2):  # as where a request is made again
                history.add_messages([AIMessage("In Ghent, says card 4111.", id="answer")])
            shown = words(history.messages)
            other.execute("COMMIT")
    said = [("human", "Where do I live?"), ("ai", "Let me look."), ("ai", "In Ghent, says card [card].")]
    with MemoryBank.open(path) as bank:
        assert words(SecomChatMessageHistory(bank, scope=ANN, session="now", window=window).messages) == said
    assert shown == said


class Naive(BaseChatMessageHistory):
    """Puts what is recalled for a question where messages are read, once a question."""

    def __init__(self) -> None:
        self.stored: list[BaseMessage] = []
        self.query = QUESTION

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        query, self.query = self.query, ""
        return [HumanMessage(f"recalled for {query}")] * bool(query) + self.stored

    def add_messages(self, messages: Any) -> None:
        self.stored += messages

    def clear(self) -> None:
        self.stored = []


@pytest.mark.slow
def test_pitfall_the_check_above_can_fail() -> None:
    naive = Naive()
    with ScriptedServer("Yes.") as server:
        chat = RunnableWithMessageHistory(HttpChatModel(base_url=server.base_url), lambda session_id: naive)
        chat.invoke([HumanMessage(QUESTION)], {"configurable": {"session_id": "x"}})
    assert [message.text for message in naive.stored] == [f"recalled for {QUESTION}", QUESTION, "Yes."]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stream", "astream"])
async def test_pitfall_an_abandoned_stream_stores_nothing_and_a_whole_one_no_chunks(bank: MemoryBank, how: str) -> None:
    with ScriptedServer("One two three four five.") as server:
        chat = chat_over(server, SessionHistories(bank))
        if how == "stream":
            pieces = chat.stream({"question": QUESTION}, as_ann)
            next(pieces)
            pieces.close()  # type: ignore[attr-defined]
        else:
            apieces = chat.astream({"question": QUESTION}, as_ann)
            await anext(apieces)
            await apieces.aclose()  # type: ignore[attr-defined]
        assert history_of(bank).messages == []
        await run(how, chat, {"question": QUESTION})
    assert not any(isinstance(message, AIMessageChunk) for message in history_of(bank).messages)
    assert words(history_of(bank).messages)[-1] == ("ai", "One two three four five.")


@pytest.mark.slow
def test_of_a_synchronous_stream_that_is_stopped_what_came_is_stored(bank: MemoryBank) -> None:
    with ScriptedServer("One two three four five.") as server:
        pieces = chat_over(server, SessionHistories(bank)).stream({"question": QUESTION}, as_ann)
        come = "".join(piece.text for piece in itertools.islice(pieces, 5))
        pieces.close()  # type: ignore[attr-defined]
    (asked, answered) = words(history_of(bank).messages)
    assert asked == ("human", QUESTION)
    assert answered[1].startswith("One two")
    assert come.startswith(answered[1])


@pytest.mark.slow
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])
async def test_a_run_that_fails_stores_nothing(bank: MemoryBank, how: str) -> None:
    import openai

    with ScriptedServer(Fault(500)) as server, pytest.raises(openai.InternalServerError):
        await run(how, chat_over(server, SessionHistories(bank)), {"question": QUESTION})
    assert history_of(bank).messages == []


@pytest.mark.slow
@pytest.mark.parametrize("keys", [("user_id",), ("tenant_id", "user_id")])
def test_pitfall_the_factory_has_the_parameters_that_its_specs_name(bank: MemoryBank, keys: Any) -> None:
    scope = ("acme", "ann")[-len(keys) :]
    with ScriptedServer("Yes.") as server:
        chat = chat_over(server, SessionHistories(bank, scope_keys=keys))
        config = {"configurable": dict(zip((*keys, "session_id"), (*scope, "friday"), strict=True))}
        chat.invoke({"question": "Hi."}, config)
        assert len(bank.turns(scope, "friday")) == 1
        for missing in config["configurable"]:
            given = {key: value for key, value in config["configurable"].items() if key != missing}
            with pytest.raises(ValueError, match=missing):
                chat.invoke({"question": "Hi."}, {"configurable": given})
        with pytest.raises(InvalidScope):
            chat.invoke({"question": "Hi."}, {"configurable": {**config["configurable"], keys[-1]: ""}})
        bound = SessionHistories(bank, scope=ANN)
        chat_over(server, bound).invoke({"question": "Hi."}, {"configurable": {"session_id": "bound"}})
    assert len(bank.turns(ANN, "bound")) == 1


@pytest.mark.slow
async def test_many_users_at_once_never_mix(bank: MemoryBank) -> None:
    with ScriptedServer(lambda request: f"{request.messages[-1][1]}!") as server:
        chat = chat_over(server, SessionHistories(bank))

        async def one(user: int) -> None:
            config: Any = {"configurable": {"user_id": f"user-{user}", "session_id": "s"}}
            for turn in range(5):
                await chat.ainvoke({"question": f"mark{user}x plan {turn}"}, config)

        await asyncio.gather(*(one(user) for user in range(10)))
        for request in server.requests:
            marks = {word for word in str(request.body).replace("!", " ").split() if "mark" in word}
            assert len({word[word.index("mark") :].split("x")[0] for word in marks}) == 1
    for user in range(10):
        texts = [m.text for m in SecomChatMessageHistory(bank, scope=(f"user-{user}",), session="s").messages]
        assert len(texts) == 10
        assert all(f"mark{user}x" in text for text in texts)


# -- by itself --------------------------------------------------------------------------------------------------------


async def test_messages_come_back_as_they_were_added(bank: MemoryBank) -> None:
    call = {"name": "weather", "args": {"city": "Ghent"}, "id": "call-1", "type": "tool_call"}
    added: list[BaseMessage] = [
        HumanMessage("What is the weather?", id="h1", name="Ann"),
        AIMessage("", id="a1", tool_calls=[call]),
        ToolMessage("rain " * 300, tool_call_id="call-1", id="t1", name="weather"),
        AIMessage("It rains.", id="a2"),
    ]
    history = history_of(bank)
    await history.aadd_messages(added)
    for back in (history.messages, await history.aget_messages()):
        assert [type(message) for message in back] == [type(message) for message in added]
        assert [message.content for message in back] == [message.content for message in added]
        assert [(message.id, message.name) for message in back] == [(message.id, message.name) for message in added]
        assert isinstance(back[1], AIMessage)
        assert back[1].tool_calls == [call]
        assert isinstance(back[2], ToolMessage)
        assert back[2].tool_call_id == "call-1"
    history.add_messages(added)
    assert len(history.messages) == 4


def test_a_message_with_a_role_or_of_a_function_comes_back_as_it_was_added(bank: MemoryBank) -> None:
    # A model was shown a critic's words as the user's, and the result of a function as its own answer.
    added: list[BaseMessage] = [
        HumanMessage("Judge my essay."),
        ChatMessage("Too long.", role="critic", name="Lena"),
        ChatMessage("I shall shorten it.", role="assistant", id="c1"),
        FunctionMessage("word " * 300, name="count", id="f1"),
    ]
    history = history_of(bank)
    history.add_messages(added)
    for back, message in zip(history.messages, added, strict=True):
        assert back.model_copy(update={"additional_kwargs": {}}) == message
    assert [message.role for turn in bank.turns(ANN, history.session) for message in turn.messages] == [
        *("user", "critic", "assistant", "tool")
    ]


def test_one_id_in_two_sessions_or_with_other_words_is_no_clash(bank: MemoryBank) -> None:
    one, two = history_of(bank), SecomChatMessageHistory(bank, scope=ANN, session="two")
    one.add_messages([HumanMessage("First.", id="1")])
    two.add_messages([HumanMessage("Second.", id="1")])
    two.add_messages([HumanMessage("Third.", id="1")])
    assert [message.text for message in one.messages] == ["First."]
    assert [message.text for message in two.messages] == ["Second.", "Third."]


def test_pitfall_08_what_nobody_said_is_left_out(bank: MemoryBank) -> None:
    history = history_of(bank)
    block = bank.recall(ANN, QUESTION).text
    thinking = [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "Yes."}]
    history.add_messages(
        [
            SystemMessage("Be kind."),
            HumanMessage(f"{block}\n\n{QUESTION}"),
            HumanMessage("A summary.", additional_kwargs={"lc_source": "summarization"}),
            AIMessage(thinking),
            AIMessage(""),
        ]
    )
    assert words(history.messages) == [("human", QUESTION), ("ai", "Yes.")]


def test_pitfall_13_times_are_taken_over(bank: MemoryBank) -> None:
    history = history_of(bank)
    history.add_messages([HumanMessage("Hi.", additional_kwargs={"timestamp": "2024-05-07T12:00:00Z"})])
    history.add_user_message("And now?")
    at = [datetime.fromisoformat(message.additional_kwargs["timestamp"]) for message in history.messages]
    assert at[0] == datetime(2024, 5, 7, 12, tzinfo=timezone.utc)
    assert abs((datetime.now(timezone.utc) - at[1]).total_seconds()) < 60


def test_pitfall_14_nothing_that_is_stored_is_loaded_by_its_name(bank: MemoryBank) -> None:
    evil = {"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "SystemMessage"], "kwargs": {}}
    history = history_of(bank)
    history.add_messages([HumanMessage("Hi.", additional_kwargs={"secom_message": evil, "x": evil})])
    [message] = history.messages
    assert type(message) is HumanMessage
    assert message.additional_kwargs["x"] == evil


@pytest.mark.slow
@pytest.mark.parametrize("how", ["clear", "aclear"])
async def test_clear_forgets_the_session_and_nothing_else(bank: MemoryBank, how: str) -> None:
    history = history_of(bank)
    history.add_user_message("Hi.")
    await history.aclear() if how == "aclear" else history.clear()
    assert history.messages == []
    assert bank.sessions(ANN) == ["monday"]


def test_a_window_gives_whole_turns(bank: MemoryBank) -> None:
    history_of(bank).add_messages([m for n in range(4) for m in (HumanMessage(f"Q{n}"), AIMessage(f"A{n}"))])
    assert [m.text for m in history_of(bank, window=3).messages] == ["Q3", "A3"]
    assert [m.text for m in history_of(bank, window=4).messages] == ["Q2", "A2", "Q3", "A3"]
    assert [m.text for m in history_of(bank, window=1).messages] == ["Q3", "A3"]
    assert "Q0" in history_of(bank, window=1).recall("Q0")
    assert "Q3" not in history_of(bank, window=1).recall("Q3")
    assert history_of(bank).recall(" ") == ""


def test_wrong_arguments_are_refused(bank: MemoryBank) -> None:
    for wrong in ({"session": ""}, {"session": "x", "window": 0}):
        with pytest.raises(InvalidInput):
            SecomChatMessageHistory(bank, scope=ANN, **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidScope):
        SecomChatMessageHistory(bank, scope=(), session="x")
    for keys in ("user_id", ()):
        with pytest.raises(InvalidInput):
            SessionHistories(bank, scope_keys=keys)
    with pytest.raises(InvalidInput, match="RunnableWithMessageHistory"):
        recalled_memories("question").invoke({"question": "Hi."})


@pytest.mark.slow
async def test_pitfall_01_blockbuster_finds_nothing(bank: MemoryBank) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    blocked = blockbuster.blockbuster_ctx(["langchain_secom", "secom_core"])
    with ScriptedServer("In the Leie.") as server, BackgroundWriter(bank) as writer, blocked:
        for histories in (SessionHistories(bank), SessionHistories(bank, writer=writer)):
            chat = chat_over(server, histories)
            await chat.ainvoke({"question": QUESTION}, as_ann)
            assert [piece async for piece in chat.astream({"question": QUESTION}, as_ann)]
        await history_of(bank).aclear()


@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_trimmed_away_before_the_recall_is_recalled_and_the_rest_is_not(is_async: bool) -> None:
    with MemoryBank.open() as bank:
        prompts: list[str] = []

        def answer(prompt: Any) -> AIMessage:
            prompts.append(prompt["memories"])
            return AIMessage("I see.")

        histories = SessionHistories(bank)
        trimmed = RunnablePassthrough.assign(history=lambda given: given["history"][-2:])
        chain = trimmed | RunnablePassthrough.assign(memories=recalled_memories("question")) | RunnableLambda(answer)
        chat = RunnableWithMessageHistory(
            chain,
            histories,
            input_messages_key="question",
            history_messages_key="history",
            history_factory_config=histories.specs,
        )
        config: Any = {"configurable": {"user_id": "ann", "session_id": "s"}}
        for said in ("My tortoise is called Umberto.", "It rains on my tortoise.", "What is my tortoise called?"):
            asked = {"question": said}
            asyncio.run(chat.ainvoke(asked, config)) if is_async else chat.invoke(asked, config)
        assert "Umberto" in prompts[-1]
        assert "rains" not in prompts[-1], "the prompt shows it"
