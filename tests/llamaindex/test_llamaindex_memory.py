"""Chat memory: the window of a session and what the past says."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_models import HttpEmbedding, HttpLLM
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.memory.types import BaseMemory
from sql_log import statements

from llamaindex_secom import SecomMemory, memory_tools
from secom_core import DegradedWarning, InvalidInput, InvalidScope, MemoryBank, StoreError
from secom_core.bank.unwritten import written
from secom_core.errors import StoreUnwritable
from secom_core.segmenters.fixed import EachTurn
from secom_core.testing import Fault, ScriptedServer
from secom_core.text.terms import count_tokens

ANN = ("acme", "ann")


def user(text: str, **extra: Any) -> ChatMessage:
    return ChatMessage(role="user", content=text, additional_kwargs=extra)


def bot(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def call(id_: str, name: str = "weather") -> ChatMessage:
    return ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id=id_, tool_name=name)])


def result(id_: str, text: str = "12 degrees") -> ChatMessage:
    return ChatMessage(role="tool", content=text, additional_kwargs={"tool_call_id": id_})


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "m.db") as bank:
        for name, words in (("monday", "I moved to Ghent last spring."), ("friday", "My violin teacher is Marta.")):
            talk = [{"role": "user", "content": words}, {"role": "assistant", "content": "How nice!"}]
            bank.remember(ANN, talk, session=name, close=True)
        yield bank


@pytest.fixture
def memory(bank: MemoryBank) -> SecomMemory:
    return SecomMemory(scope=ANN, session="now", bank=bank)


def stored(bank: MemoryBank, session: str = "now") -> list[tuple[str, str]]:
    return [(m.role, m.text) for turn in bank.turns(ANN, session) for m in turn.messages]


def texts(messages: list[ChatMessage]) -> list[str]:
    return [message.content or "" for message in messages]


# -- the class


def test_smoke(memory: SecomMemory, bank: MemoryBank) -> None:
    assert {"BaseMemory", "BaseComponent"} <= {each.__name__ for each in SecomMemory.__mro__}
    assert isinstance(memory, BaseMemory)
    assert SecomMemory.class_name() == "SecomMemory"
    memory.put(user("Hello"))
    data = json.loads(memory.to_json())
    assert data["class_name"] == "SecomMemory"
    assert (data["scope"], data["session"], data["store_path"]) == (["acme", "ann"], "now", bank.storage.path)
    again = SecomMemory.from_dict(data)
    assert again.to_dict() == memory.to_dict()
    assert again.get_all() == memory.get_all()


@pytest.mark.slow
@pytest.mark.parametrize("scope", [None, (), "acme", ("acme", "")])
def test_without_a_scope_it_fails_closed(bank: MemoryBank, scope: Any) -> None:
    with pytest.raises(InvalidScope):
        SecomMemory.from_defaults(scope=scope, bank=bank)


def test_its_description_says_whose_it_is_and_nothing_that_was_said(memory: SecomMemory) -> None:
    memory.put(user("My PIN is 4711K."))
    memory.get("Where did I move to?")
    for text in (repr(memory), str(memory)):
        assert "acme" in text
        assert "messages=1" in text
        assert "4711K" not in text
        assert "Ghent" not in text


def test_pitfall_03_an_empty_memory_is_not_falsy(memory: SecomMemory) -> None:
    assert memory.get_all() == []
    assert bool(memory)
    assert not hasattr(memory, "__len__")


def test_pitfall_04_it_is_serialised_with_its_store_and_reopened(tmp_path: Path) -> None:
    memory = SecomMemory.from_defaults(scope=ANN, session="now", store_path=str(tmp_path / "x.db"), token_limit=500)
    memory.put_messages([user("My cat is called Tuna."), call("1"), result("1"), bot("Tuna!")])
    data, shown = memory.to_json(), memory.get_all()
    memory.bank.close()
    # A bank that is closed is nobody's any more.
    again = SecomMemory.from_json(data)
    assert again.bank is not memory.bank
    assert again.get_all() == shown, "tool calls come back too"
    assert again.token_limit == 500
    again.put(user("And my dog is Rex."))
    assert [text for _, text in stored(again.bank)] == ["My cat is called Tuna.", "Tuna!", "And my dog is Rex."]
    again.bank.close()


def test_a_memory_restored_in_the_same_process_shares_its_bank(memory: SecomMemory) -> None:
    for again in (SecomMemory.from_dict(memory.to_dict()), pickle.loads(pickle.dumps(memory)), copy.deepcopy(memory)):
        assert again is memory


def test_a_bank_in_memory_cannot_be_reopened_and_says_so() -> None:
    with MemoryBank.open() as bank:
        memory = SecomMemory(scope=ANN, session="now", bank=bank)
        memory.put(user("Hello"))
        data = memory.to_dict()
        assert data["store_path"] is None
        assert texts(SecomMemory.from_dict(data, bank=bank).get_all()) == ["Hello"]
        assert SecomMemory.from_dict(data) is memory
    with pytest.raises(InvalidInput, match="a bank in memory, which is gone"):
        SecomMemory.from_dict(data)
    with pytest.raises(StoreError, match="cannot be saved once the bank is closed"):
        memory.to_dict()


def test_the_limits_have_to_go_together(bank: MemoryBank) -> None:
    with pytest.raises(InvalidInput, match="token_budget 100 leaves no room in token_limit 100"):
        SecomMemory(scope=ANN, bank=bank, token_limit=100, token_budget=100)
    assert SecomMemory(scope=ANN, bank=bank, token_limit=100, token_budget=99).token_budget == 99
    assert SecomMemory(scope=ANN, bank=bank, token_limit=2).token_budget == 1
    assert SecomMemory(scope=ANN, bank=bank, token_limit=4000).token_budget == 1000
    assert SecomMemory(scope=ANN, bank=bank, token_limit=50_000).token_budget == 1500
    with pytest.raises(InvalidInput, match="token_budget is a whole number from 1 on, got 0"):
        SecomMemory(scope=ANN, bank=bank, token_budget=0)
    with pytest.raises(InvalidInput, match="initial_token_count 101"):
        SecomMemory(scope=ANN, bank=bank, token_limit=100).get(initial_token_count=101)


def test_a_misspelt_argument_is_an_error(bank: MemoryBank) -> None:
    with pytest.raises(ValueError, match="token_limt"):
        SecomMemory(scope=ANN, bank=bank, token_limt=100)
    memory = SecomMemory(scope=ANN, bank=bank)
    assert SecomMemory.model_validate(memory.model_dump()).model_dump() == memory.model_dump()


def test_defaults_come_from_the_models_given(tmp_path: Path) -> None:
    with ScriptedServer() as server:
        memory = SecomMemory.from_defaults(
            [user("Hello"), bot("Hi")],
            HttpLLM(base_url=server.base_url, context_window=4000),
            scope=ANN,
            store_path=str(tmp_path / "x.db"),
            embed_model=HttpEmbedding(base_url=server.base_url),
            segmenter=EachTurn(),
        )
        assert memory.token_limit == 3000
        assert texts(memory.get_all()) == ["Hello", "Hi"]
        assert stored(memory.bank, memory.session) == [("user", "Hello"), ("assistant", "Hi")]
        assert server.embedding_requests
        with pytest.raises(InvalidInput, match="takes no embedder or segmenter"):
            SecomMemory.from_defaults(
                scope=ANN, bank=memory.bank, embed_model=HttpEmbedding(base_url="x"), segmenter=EachTurn()
            )
        memory.bank.close()


def test_sessions_are_new_unless_named_and_are_taken_up_when_named(bank: MemoryBank) -> None:
    first, second = SecomMemory(scope=ANN, bank=bank), SecomMemory(scope=ANN, bank=bank)
    assert first.session != second.session
    resumed = SecomMemory(scope=ANN, bank=bank, session="monday")
    messages = [(message.role.value, message.content) for message in resumed.get_all()]
    assert messages == [("user", "I moved to Ghent last spring."), ("assistant", "How nice!")]
    resumed.put(user("I still live there."))
    assert len(bank.turns(ANN, "monday")) == 2


def test_pitfall_17_each_session_has_its_own_id(bank: MemoryBank) -> None:
    for name in ("a", "b"):
        SecomMemory(scope=ANN, bank=bank, session=name).put(user(f"said in {name}"))
    assert stored(bank, "a") == [("user", "said in a")]
    assert stored(bank, "b") == [("user", "said in b")]


# -- reading


def test_pitfall_01_memory_goes_into_the_users_turn(memory: SecomMemory) -> None:
    memory.put(ChatMessage(role="system", content="Be kind."))
    memory.put(user("Who is my violin teacher?"))
    system, question = memory.get()
    assert texts([system]) == ["Be kind."]
    recalled, words = question.blocks
    assert isinstance(recalled, TextBlock)
    assert isinstance(words, TextBlock)
    assert "My violin teacher is Marta." in recalled.text
    assert words.text == "Who is my violin teacher?"
    assert texts(memory.get_all()) == ["Be kind.", "Who is my violin teacher?"]


def test_memory_can_go_into_the_system_message(bank: MemoryBank) -> None:
    memory = SecomMemory(scope=ANN, bank=bank, insert_method="system")
    memory.put(user("Who is my violin teacher?"))
    system, question = memory.get()
    assert system.role == MessageRole.SYSTEM
    assert "Marta" in (system.content or "")
    assert question.content == "Who is my violin teacher?"
    memory.set([ChatMessage(role="system", content="Be kind."), user("Who is my violin teacher?")])
    system, question = memory.get()
    assert (system.content or "").startswith("Be kind.\n")
    assert "Marta" in (system.content or "")


@pytest.mark.parametrize("method", ["user", "system"])
def test_the_block_stands_on_lines_of_its_own_where_blocks_are_joined_without_a_break(
    bank: MemoryBank, method: Any
) -> None:
    memory = SecomMemory(scope=ANN, session="now", bank=bank, insert_method=method)
    memory.put_messages([ChatMessage(role="system", content="Be kind."), user("Where did I move to?")])
    shown = memory.get()
    lines = "\n".join("".join(block.text for block in each.blocks) for each in shown).splitlines()  # type: ignore[union-attr]
    assert {"Be kind.", "<memories>", "</memories>", "Where did I move to?"} <= set(lines)


def test_a_question_that_is_not_put_yet_comes_with_memory_of_its_own(memory: SecomMemory) -> None:
    """As context chat engines ask: they put question and answer when both are there."""
    memory.put_messages([user("Hello"), bot("Hi")])
    messages = memory.get(input="Who is my violin teacher?")
    assert texts(messages[:2]) == ["Hello", "Hi"]
    assert messages[2].role == MessageRole.USER
    assert "Marta" in (messages[2].content or "")
    assert len(messages) == 3


def test_pitfall_02_what_is_returned_can_be_rewritten_in_place(memory: SecomMemory) -> None:
    given = user("Who is my violin teacher?")
    memory.put(given)
    given.blocks[0].text = "changed by the caller"  # type: ignore[union-attr]
    for messages in (memory.get(), memory.get_all()):
        messages[-1].blocks[-1].text = "rewritten"  # type: ignore[union-attr]
        messages[-1].additional_kwargs["state"] = 1
    assert texts(memory.get_all()) == ["Who is my violin teacher?"]
    assert memory.get_all()[0].additional_kwargs == {}


def test_pitfall_05_memory_is_recalled_once_a_turn(memory: SecomMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[str] = []
    recall = memory.bank.recall
    monkeypatch.setattr(memory.bank, "recall", lambda *a, **k: queries.append(a[1]) or recall(*a, **k))
    memory.put(user("Who is my violin teacher?"))
    first = memory.get()
    memory.put_messages([call("1"), result("1")])
    again = memory.get(input="Who is my violin teacher?")
    assert again[0] == first[0]
    assert memory.get(input=user("Who is my violin teacher?"))[0] == first[0], "a ChatMessage will do"
    assert queries == ["Who is my violin teacher?"]
    assert memory.last_recall is not None
    assert "Marta" in memory.last_recall.text
    memory.put(bot("Marta."))
    memory.put(user("Who is my violin teacher?"))
    assert memory.last_recall is None
    memory.get()
    memory.get(input="Where did I move?")
    assert queries == ["Who is my violin teacher?"] * 2 + ["Where did I move?"]


def test_memory_recalled_before_the_question_is_put_stays_for_its_turn(memory: SecomMemory) -> None:
    memory.get(input="Who is my violin teacher?")
    before = memory.last_recall
    memory.put(user("Who is my violin teacher?"))
    assert memory.last_recall is before
    memory.put(user("Who is my violin teacher?"))
    assert memory.last_recall is None


def test_what_the_window_shows_is_not_recalled(memory: SecomMemory) -> None:
    memory.put_messages([user("My violin is red."), bot("Red!"), user("Tell me about the violin.")])
    recalled = memory.get()[-1].blocks[0]
    assert isinstance(recalled, TextBlock)
    assert "Marta" in recalled.text
    assert "red" not in recalled.text.casefold()


@pytest.mark.slow
def test_what_has_left_the_window_is_recalled(bank: MemoryBank) -> None:
    memory = SecomMemory(scope=ANN, bank=bank, token_limit=160, token_budget=100)
    memory.put_messages([user("The key of the shed is under the blue pot."), bot("Noted.")])
    for n in range(6):
        memory.put_messages([user(f"Something else entirely, number {n}."), bot("I see, go on please.")])
    memory.put(user("Where is the key of the shed?"))
    messages = memory.get()
    assert not any("blue pot" in text for text in texts(messages[:-1]))
    assert "blue pot" in texts(messages)[-1]


def test_nothing_is_recalled_for_an_empty_query_or_where_recalling_is_off(bank: MemoryBank) -> None:
    assert SecomMemory(scope=ANN, bank=bank).get() == []
    assert SecomMemory(scope=ANN, bank=bank).get(input="  ") == []
    silent = SecomMemory(scope=ANN, bank=bank, insert_method="off")
    silent.put(user("Who is my violin teacher?"))
    assert texts(silent.get()) == ["Who is my violin teacher?"]
    assert (silent.last_recall, silent.injected_tokens) == (None, 0)


def test_scopes_never_meet(bank: MemoryBank) -> None:
    other = SecomMemory(scope=("acme", "bob"), bank=bank)
    other.put(user("Who is my violin teacher?"))
    assert texts(other.get()) == ["Who is my violin teacher?"]


def test_pitfall_12_names_in_braces_are_not_filled_in(bank: MemoryBank) -> None:
    bank.remember(ANN, [{"role": "user", "content": "My secret template is {context_str} for soup."}], session="t")
    memory = SecomMemory(scope=ANN, bank=bank)
    memory.put(user("What is my secret template for soup?"))
    prompt = texts(memory.get())[-1]
    assert "{ context_str }" in prompt
    assert "{context_str}" not in prompt
    assert bank.turns(ANN, "t")[0].content == "My secret template is {context_str} for soup."


# -- the window


def window(bank: MemoryBank, room: int) -> SecomMemory:
    """A memory whose window has all the room, because nothing is recalled."""
    return SecomMemory(scope=("w",), bank=bank, token_limit=room, insert_method="off")


@pytest.mark.slow
def test_pitfall_11_it_keeps_to_its_limit(bank: MemoryBank) -> None:
    memory = SecomMemory(scope=ANN, bank=bank, token_limit=200, token_budget=80)
    for n in range(12):
        memory.put_messages([user(f"Question {n} about the violin and Ghent?"), bot(f"Answer {n}, at some length.")])
        memory.put(user("What about the violin teacher Marta in Ghent?"))
        messages = memory.get()
        assert sum(count_tokens(text) for text in texts(messages)) <= 200
        memory.put(bot("Yes."))
    assert len(messages) > 3
    longer = memory.get(initial_token_count=60)
    assert sum(count_tokens(text) for text in texts(longer)) <= 140


def half(text: str) -> int:
    return len(text) // 2


COUNTERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the memory's": ({}, {"token_counter": half}),
    "a tokenizer": ({}, {"tokenizer_fn": list}),
    "the bank's": ({"token_counter": lambda text: len(text) // 20}, {}),
    "one for which no block is short": ({}, {"token_counter": lambda text: 501 if text else 0, "token_budget": 500}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COUNTERS)
def test_pitfall_11_it_keeps_to_its_limit_in_its_own_tokens_whatever_those_of_the_bank_are(name: str) -> None:
    of_bank, of_memory = COUNTERS[name]
    with MemoryBank.open(**of_bank) as bank:
        for n in range(60):
            text = f"My violin teacher Marta in Ghent says that lesson {n} went well."
            bank.remember(ANN, [("user", text)], session=f"lesson {n}", close=True)
        memory = SecomMemory.from_defaults(scope=ANN, bank=bank, token_limit=2000, **of_memory)
        memory.put(user("What about the violin teacher Marta in Ghent?"))
        shown = texts(memory.get())
    assert sum(len(memory.tokenizer_fn(text)) for text in shown) <= 2000
    assert memory.injected_tokens <= memory.token_budget == 500
    fits = name != "one for which no block is short"
    assert ("lesson" in "".join(shown)) is fits
    assert (memory.injected_tokens > 350) is fits


def test_pitfall_07_a_window_starts_on_a_user_message_and_pins_the_system(bank: MemoryBank) -> None:
    memory = window(bank, 12)
    memory.put_messages([ChatMessage(role="system", content="Be kind."), user("one two three"), bot("four five six")])
    memory.put_messages([user("seven eight"), bot("nine ten"), user("eleven"), bot("twelve")])
    roles = [message.role.value for message in memory.get()]
    assert roles == ["system", "user", "assistant", "user", "assistant"]
    assert texts(memory.get())[1] == "seven eight"


def test_pitfall_07_tool_calls_stay_with_their_results(bank: MemoryBank) -> None:
    memory = window(bank, 60)
    steps = [message for n in range(5) for message in (call(f"{n}"), result(f"{n}", "word " * 8))]
    memory.put_messages([user("Rain?"), *steps, bot("No rain.")])
    messages = memory.get()
    assert messages[0].content == "Rain?"
    assert messages[-1].content == "No rain."
    assert 3 < len(messages) < len(steps) + 2, "some steps are dropped, some kept"
    calls = [b.tool_call_id for m in messages for b in m.blocks if isinstance(b, ToolCallBlock)]
    results = [m.additional_kwargs["tool_call_id"] for m in messages if m.role == MessageRole.TOOL]
    assert calls == results == [str(n) for n in range(5 - len(calls), 5)]


def test_pitfall_07_every_kind_of_block_is_counted(bank: MemoryBank) -> None:
    memory = window(bank, 2000)
    picture = ChatMessage(role="user", blocks=[TextBlock(text="Look"), ImageBlock(url="http://localhost:9/x.png")])
    memory.put_messages([picture, bot("Nice."), user("And now?")])
    assert texts(memory.get()) == ["Look\n[image: http://localhost:9/x.png]", "Nice.", "And now?"]
    busy = window(bank, 30)
    asks = ToolCallBlock(tool_call_id="1", tool_name="search", tool_kwargs={"query": "word " * 50})
    legacy = ChatMessage(role="assistant", additional_kwargs={"tool_calls": [{"arguments": "word " * 50}]})
    for message in (ChatMessage(role="assistant", blocks=[asks]), legacy):
        busy.set([user("Old"), message, result("1"), user("New")])
        assert texts(busy.get()) == ["New"]


def test_one_message_over_the_limit_still_comes(bank: MemoryBank) -> None:
    memory = window(bank, 5)
    memory.put(user("word " * 50))
    assert len(memory.get()) == 1


def test_a_greeting_stays_while_everything_fits(bank: MemoryBank) -> None:
    memory = window(bank, 12)
    memory.put_messages([bot("Welcome!"), user("Hello there")])
    assert texts(memory.get()) == ["Welcome!", "Hello there"]
    memory.put(bot("word " * 8))
    assert memory.get()[0].role == MessageRole.USER


@pytest.mark.slow
def test_an_embedding_model_that_fails_degrades_to_words(tmp_path: Path) -> None:
    with ScriptedServer(embedding_faults=[Fault(status=500)] * 99) as server:
        model = HttpEmbedding(base_url=server.base_url)
        memory = SecomMemory.from_defaults(scope=ANN, store_path=str(tmp_path / "x.db"), embed_model=model)
        with pytest.warns(DegradedWarning, match="500"):  # noqa: PT031 - each of the three warns
            memory.put_messages([user("The key is under the blue pot."), bot("Noted.")])
            memory.reset()
            memory.put(user("Where is the key?"))
        with pytest.warns(DegradedWarning, match="500"):
            assert "under the blue pot" in texts(memory.get())[-1]
        memory.bank.close()


# -- writing


def test_pitfall_08_only_what_people_and_the_assistant_said_is_remembered(
    memory: SecomMemory, bank: MemoryBank
) -> None:
    react = "Thought: look\nAction: weather\nAction Input: {}\nObservation: 12\nThought: done\nAnswer: 12 degrees."
    memory.put_messages(
        [ChatMessage(role="system", content="Be kind."), user("Rain?"), call("1"), result("1"), bot(react)]
    )
    assert stored(bank) == [("user", "Rain?"), ("assistant", "12 degrees.")]
    assert len(bank.turns(ANN, "now")) == 1
    assert len(memory.get_all()) == 5


def test_tools_can_be_remembered(bank: MemoryBank) -> None:
    memory = SecomMemory(scope=ANN, bank=bank, session="now", remember_tools=True)
    memory.put_messages([user("Rain?"), call("1"), result("1"), bot("No.")])
    assert [role for role, _ in stored(bank)] == ["user", "assistant", "tool", "assistant"]
    assert len(bank.turns(ANN, "now")) == 1
    resumed = SecomMemory(scope=ANN, bank=bank, session="now")
    assert resumed.get_all() == memory.get_all()


def test_of_a_tool_that_says_much_the_beginning_and_the_end_are_remembered(bank: MemoryBank) -> None:
    memory = SecomMemory(scope=ANN, bank=bank, session="now", remember_tools=True)
    # As a tool of an MCP server answers that gives a picture.
    picture = f"content=[ImageContent(data='{'iVBORw0KGgo' * 20_000}'), TextContent(text='Lena on 4 May')]"
    drawing = ToolCallBlock(tool_call_id="1", tool_name="draw", tool_kwargs={"code": "line();" * 500})
    asked = ChatMessage(role="assistant", blocks=[drawing])
    memory.put_messages([user("Who is this?"), asked, result("1", picture), bot("Lena.")])
    _, drawn, seen, _ = bank.turns(ANN, "now")[0].messages
    assert seen.text == f"{picture[:250]}…{picture[-250:]}"
    assert len(drawn.text) == len("[draw: ]") + 501
    assert memory.get_all()[2].content == picture
    found = bank.recall(ANN, "Who was on the picture on 4 May?", token_budget=600).text
    assert "Lena on 4 May" in found
    assert len(found) < 1500


def test_what_a_search_of_the_memory_found_is_not_remembered_with_its_ids(bank: MemoryBank) -> None:
    [search] = memory_tools(bank, scope=ANN, actions=["search"])
    found = str(search.call(query="violin teacher"))
    assert "memory_id: [101] " in found
    memory = SecomMemory(scope=ANN, bank=bank, session="now", remember_tools=True)
    memory.put_messages([user("Who teaches me?"), call("1", "search_memory"), result("1", found), bot("Marta.")])
    assert [role for role, _ in stored(bank)] == ["user", "assistant", "assistant"]


def test_a_reply_put_later_joins_its_turn(memory: SecomMemory, bank: MemoryBank) -> None:
    memory.put(user("Hello"))
    memory.put(bot("Hi"))
    assert len(bank.turns(ANN, "now")) == 1
    assert len({entry.turn for entry in memory.window}) == 1


@pytest.mark.parametrize("anew", [False, True], ids=["the same object", "another object"])
def test_what_is_put_again_after_a_failure_is_there_once(memory: SecomMemory, bank: MemoryBank, anew: bool) -> None:
    picture = ImageBlock(url="https://example.com/bello.png")
    for said in (user("My dog is Bello."), ChatMessage(role="user", blocks=[picture])):
        for _ in range(3):
            memory.put(said.model_copy(deep=True))
            assert memory.get()[-1].blocks[-1] == said.blocks[-1]
            memory = SecomMemory(scope=ANN, session="now", bank=bank) if anew else memory
        memory.put(bot("I see."))
    shown = "[image: https://example.com/bello.png]"
    asked = [("user", "My dog is Bello."), ("assistant", "I see."), ("user", shown), ("assistant", "I see.")]
    assert stored(bank) == asked
    assert len(memory.get_all()) == 4


def test_what_is_put_again_behind_the_steps_of_agents_that_failed_is_there_once(
    memory: SecomMemory, bank: MemoryBank
) -> None:
    """Agents of a workflow put their steps when they hand over."""
    steps = [call("1", "handoff"), result("1", "Agent two is now handling the request.")]
    for said in (user("My dog is Bello."), *steps, user("My dog is Bello."), bot("I see."), user("My dog is Bello.")):
        memory.put(said)
    assert [text for _, text in stored(bank)] == ["My dog is Bello.", "I see.", "My dog is Bello."]
    assert [message.role.value for message in memory.get_all()] == ["user", "assistant", "tool", "assistant", "user"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (user("Yes."), user("Yes!")),
        (user("Yes.", id="m1"), user("Yes.", id="m2")),
        (user("Yes.", timestamp="2026-03-01T12:00:00Z"), user("Yes.", timestamp="2026-03-01T12:05:00Z")),
        tuple(ChatMessage(role="user", blocks=[ImageBlock(url=f"https://a.b/{each}.png")]) for each in "12"),
        (bot("Done."), bot("Done.")),
    ],
    ids=["words", "id", "time", "picture", "answers"],
)
def test_what_differs_from_the_message_before_is_said_twice(
    memory: SecomMemory, bank: MemoryBank, first: ChatMessage, second: ChatMessage
) -> None:
    memory.put_messages([first])
    memory.put_messages([second])
    assert len(stored(bank)) == 2


def test_who_says_the_same_after_an_answer_or_after_it_was_forgotten_says_it_anew(
    memory: SecomMemory, bank: MemoryBank
) -> None:
    for said in (user("Yes."), bot("And now?"), user("Yes.")):
        memory.put(said)
    assert stored(bank) == [("user", "Yes."), ("assistant", "And now?"), ("user", "Yes.")]
    bank.forget(ANN)
    memory.put(user("Yes."))
    assert stored(bank) == [("user", "Yes.")]


def test_ids_and_times_of_the_caller_are_kept(memory: SecomMemory, bank: MemoryBank) -> None:
    memory.put(user("Hello", id="m1", timestamp="2026-03-01T12:00:00Z", name="Ann"))
    message = bank.turns(ANN, "now")[0].messages[0]
    assert (message.id, message.speaker, message.at and message.at.isoformat()) == (
        "m1",
        "Ann",
        "2026-03-01T12:00:00+00:00",
    )


def test_pitfall_09_set_takes_in_only_what_is_unseen(memory: SecomMemory, bank: MemoryBank) -> None:
    memory.put_messages([user("one"), bot("two"), user("yes"), bot("four")])
    memory.set([*memory.get_all(), user("yes"), bot("six")])
    assert [text for _, text in stored(bank)] == ["one", "two", "yes", "four", "yes", "six"]
    memory.set([user("yes"), bot("six"), user("seven")])
    assert [text for _, text in stored(bank)] == ["one", "two", "yes", "four", "yes", "six", "seven"]
    assert texts(memory.get_all()) == ["yes", "six", "seven"]
    memory.set([])
    assert memory.get_all() == []
    assert len(stored(bank)) == 7


def test_pitfall_09_an_agents_whole_history_given_again_each_run_is_remembered_once(
    memory: SecomMemory, bank: MemoryBank
) -> None:
    history = [ChatMessage(role="system", content="Be kind.")]
    for n in range(4):
        memory.set(history)
        memory.put_messages([user(f"q{n}"), call(f"{n}"), result(f"{n}"), bot(f"a{n}")])
        history = [*history, user(f"q{n}"), bot(f"a{n}")]
    assert [text for _, text in stored(bank)] == [f"{kind}{n}" for n in range(4) for kind in "qa"]


def test_messages_with_a_known_id_are_known_whatever_their_place(memory: SecomMemory, bank: MemoryBank) -> None:
    memory.put_messages([user("one", id="1"), user("two", id="2")])
    memory.set([user("two", id="2"), user("one", id="1")])
    assert [text for _, text in stored(bank)] == ["one", "two"]
    assert [entry.turn for entry in memory.window] == ["2", "1"]


def test_recalled_text_is_never_remembered_again(memory: SecomMemory, bank: MemoryBank) -> None:
    memory.put(user("Who is my violin teacher?"))
    messages = memory.get()
    assert "Marta" in texts(messages)[0]
    memory.set([*messages, *memory.get(input="Where did I move?")[1:], bot("Marta.")])
    memory.put(messages[0])
    assert [text for _, text in stored(bank)] == ["Who is my violin teacher?", "Marta.", "Who is my violin teacher?"]
    assert texts(memory.get_all()) == ["Who is my violin teacher?", "Marta.", "Who is my violin teacher?"]


def test_pitfall_09_reset_begins_a_new_session_and_wipes_nothing(memory: SecomMemory, bank: MemoryBank) -> None:
    memory.reset()
    assert memory.session == "now", "nothing was said in it"
    for expected in ("now~2", "now~3"):
        memory.put(user("The key is under the pot."))
        memory.reset()
        assert memory.session == expected
        assert memory.get_all() == []
    assert "now" in bank.sessions(ANN)
    assert len(stored(bank)) == 1
    memory.put(user("Where is the key?"))
    assert "under the pot" in texts(memory.get())[0]


def test_reset_does_not_run_into_a_session_that_is_there(memory: SecomMemory, bank: MemoryBank) -> None:
    bank.remember(ANN, [{"role": "user", "content": "x"}], session="now~2")
    memory.put(user("Hello"))
    memory.reset()
    assert memory.session == "now~3"


# -- the chat, read when it is first needed


def test_what_is_made_asks_the_store_nothing(bank: MemoryBank, memory: SecomMemory) -> None:
    memory.put(user("I moved to Ghent."))
    with statements(bank) as asked:
        again = SecomMemory(scope=ANN, session="now", bank=bank)
        assert SecomMemory.from_dict(again.to_dict()) is again
    assert asked == []
    assert texts(again.get_all()) == ["I moved to Ghent."]
    bank.close()
    with pytest.raises(StoreError, match=r"is closed; open it again with MemoryBank\.open"):
        SecomMemory(scope=ANN, session="now", bank=bank)


KNOWN = [user("My name is Ann."), bot("Hello."), user("I play the cello."), bot("Nice.")]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::secom_core.DegradedWarning")
@pytest.mark.parametrize("given", [None, KNOWN, [*KNOWN[:2], user("I play the viola."), bot("Oh.")]])
async def test_a_memory_for_each_request_does_not_wait_for_tables_that_another_program_has(
    postgres: Any, postgres_url: str, given: list[ChatMessage] | None
) -> None:
    with MemoryBank.open(postgres_url) as bank:
        await SecomMemory(scope=ANN, session="now", bank=bank).aset(KNOWN)
        with postgres.tables_taken(postgres_url):
            began = time.monotonic()
            memory = SecomMemory(scope=ANN, session="now", bank=bank)
            assert time.monotonic() - began < 10, "it is made on the event loop"
            if given is not None:
                await memory.aset(given)
            await memory.aput(user("What is my name?"))
            assert texts(await memory.aget()) == [*texts(given or []), "What is my name?"]
            await memory.aput(bot("Ann."))
            assert time.monotonic() - began < 20
        said = [*texts(given or KNOWN), "What is my name?", "Ann."]
        deadline = time.monotonic() + 60
        while len(stored(bank)) < 6 and time.monotonic() < deadline:  # written though nothing more is said
            await asyncio.sleep(0.02)
        while texts(await memory.aget_all()) != said and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        assert texts(SecomMemory(scope=ANN, session="now", bank=bank).get_all()) == said
        assert sorted(text for _, text in stored(bank)) == sorted(said)
        await memory.aput(user("And my age?"))
        assert texts(memory.get_all()) == [*said, "And my age?"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::secom_core.DegradedWarning")
async def test_a_history_that_is_set_while_another_program_has_the_tables_is_stored_once(
    postgres: Any, postgres_url: str
) -> None:
    with MemoryBank.open(postgres_url) as bank:
        memory = SecomMemory(scope=ANN, session="now", bank=bank)
        await memory.aset(KNOWN)
        with postgres.tables_taken(postgres_url):
            began = time.monotonic()
            await memory.aset([*KNOWN[:3], bot("Lovely.")])
            assert time.monotonic() - began < 20
            await memory.aset([*KNOWN[:3], bot("Great."), user("Really?")])
            assert time.monotonic() - began < 20
        await memory.aflush()
        assert [text for _, text in stored(bank)] == texts([*KNOWN[:3], bot("Great."), user("Really?")])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::secom_core.DegradedWarning")
@pytest.mark.parametrize("given", [[*KNOWN[:3], bot("Lovely.")], [*KNOWN, user("What is my name?")]])
@pytest.mark.parametrize("act", ["flush", "goes on"])
def test_what_is_put_after_a_history_that_waits_for_tables_stands_behind_it(
    postgres: Any, postgres_url: str, given: list[ChatMessage], act: str
) -> None:
    put = [bot("Ann."), user("And my age?"), bot("You never said.")]
    put = put if given[-1].role == "user" else [user("What is my name?"), *put]
    with MemoryBank.open(postgres_url) as bank:
        SecomMemory(scope=ANN, session="now", bank=bank).set(KNOWN)
        memory = SecomMemory(scope=ANN, session="now", bank=bank)
        with postgres.tables_taken(postgres_url):
            memory.set(given)
            for message in put:
                memory.put(message)
        deadline = time.monotonic() + 60
        while bank.health().unwritten and time.monotonic() < deadline:
            time.sleep(0.02)
        if act == "flush":
            assert memory.flush(60)
        else:
            memory.put(user("Bye."))
        said = [*texts([*given, *put]), *["Bye."] * (act != "flush")]
        turns = [[message.text for message in turn.messages] for turn in bank.turns(ANN, "now")]
        assert turns == [said[place : place + 2] for place in range(0, len(said), 2)]
        assert texts(memory.get_all()) == said
        assert texts(SecomMemory(scope=ANN, session="now", bank=bank).get_all()) == said


def test_an_answer_that_is_made_again_stands_before_what_another_tab_has_asked(bank: MemoryBank) -> None:
    one = SecomMemory(scope=ANN, session="now", bank=bank)
    one.set(KNOWN)
    other = SecomMemory(scope=ANN, session="now", bank=bank)
    other.put_messages([user("What is my name?"), bot("Ann.")])
    one.set([*KNOWN[:3], bot("Lovely.")])
    assert [text for _, text in stored(bank)] == [*texts(KNOWN[:3]), "Lovely.", "What is my name?", "Ann."]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::secom_core.DegradedWarning")
@pytest.mark.parametrize("write", ["inline", "background"])
def test_what_is_said_while_the_server_is_away_is_written_though_its_memory_is_gone(
    postgres: Any, postgres_url: str, write: Any
) -> None:
    with MemoryBank.open(postgres_url) as bank:
        SecomMemory(scope=ANN, session="now", bank=bank).set(KNOWN)
        postgres.stop_now()
        try:
            memory = SecomMemory(scope=ANN, session="now", bank=bank, write=write)
            memory.put(user("What is my name?"))
            assert texts(memory.get()) == ["What is my name?"]
            memory.put(bot("Ann."))
            del memory
        finally:
            postgres.start_again()
        deadline = time.monotonic() + 60
        while len(stored(bank)) < 6 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert [text for _, text in stored(bank)] == [*texts(KNOWN), "What is my name?", "Ann."]
        assert texts(SecomMemory(scope=ANN, session="now", bank=bank).get_all()) == [text for _, text in stored(bank)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::secom_core.DegradedWarning")
@pytest.mark.parametrize("act", [SecomMemory.flush, SecomMemory.reset])
@pytest.mark.parametrize("puts", [0, 1])
def test_flush_and_reset_wait_for_tables_that_another_program_has_and_store_the_history_that_was_set(
    postgres: Any, postgres_url: str, act: Any, puts: int
) -> None:
    said = [*KNOWN[:2], user("I play the viola."), bot("Oh."), *[user("Really?")] * puts]
    with MemoryBank.open(postgres_url) as bank:
        memory = SecomMemory(scope=ANN, session="now", bank=bank)
        memory.set(KNOWN)
        with postgres.tables_taken(postgres_url, seconds=4):
            memory.set(said[:4])
            for message in said[4:]:
                memory.put(message)
            SecomMemory(scope=ANN, session="other", bank=bank).put(user("It rains."))
            assert act(memory) is not False
        assert texts(SecomMemory(scope=ANN, session="now", bank=bank).get_all()) == texts(said)
        assert sorted(text for _, text in stored(bank)) == sorted(texts(said))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::secom_core.DegradedWarning")
def test_a_memory_that_is_saved_while_another_program_has_the_tables_has_the_history_that_was_set(
    postgres: Any, postgres_url: str
) -> None:
    said = [*KNOWN[:2], user("I play the viola."), bot("Oh."), user("Really?")]
    with MemoryBank.open(postgres_url) as bank:
        memory = SecomMemory(scope=ANN, session="now", bank=bank)
        memory.set(KNOWN)
        with postgres.tables_taken(postgres_url):
            memory.set(said[:4])
            memory.put(said[4])
            saved = json.loads(json.dumps(memory.to_dict()))
            again = SecomMemory.from_dict(saved, bank=bank)
            assert texts(again.get_all()) == texts(said)
        assert again.flush(20)
        assert texts(SecomMemory(scope=ANN, session="now", bank=bank).get_all()) == texts(said)
        assert sorted(text for _, text in stored(bank)) == sorted(texts(said))
        assert "late" not in again.to_dict()


# -- threads and loops


@pytest.mark.slow
def test_threads_can_share_it(memory: SecomMemory, bank: MemoryBank) -> None:
    def talk(name: str) -> None:
        for n in range(10):
            memory.put_messages([user(f"{name} {n}"), bot(f"to {name} {n}")])
            memory.get()

    threads = [threading.Thread(target=talk, args=(f"t{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    messages = [(m.role.value, m.content) for m in memory.get_all()]
    assert messages == stored(bank)
    assert len(messages) == 80


async def test_async_calls_do_what_the_others_do_and_never_block(memory: SecomMemory, bank: MemoryBank) -> None:
    blockbuster = pytest.importorskip("blockbuster", reason="needs blockbuster")
    with blockbuster.blockbuster_ctx():
        await memory.aset([user("Hello"), bot("Hi")])
        await memory.aput(user("Who is my violin teacher?"))
        prompt = await memory.aget()
        await memory.aput_messages([bot("Marta.")])
        everything = await memory.aget_all()
        await asyncio.gather(*(memory.aget(input="Where did I move?") for _ in range(4)))
        await memory.areset()
        assert await memory.aflush(10)
        with pytest.raises(blockbuster.BlockingError):
            time.sleep(0.001)  # the probe works
    assert "Marta" in texts(prompt)[-1]
    assert texts(everything) == ["Hello", "Hi", "Who is my violin teacher?", "Marta."]
    assert memory.session == "now~2"


@pytest.mark.slow
@pytest.mark.parametrize("write", ["inline", "background"])
@pytest.mark.parametrize("on_error", ["warn", "raise"])
def test_an_answer_does_not_wait_for_a_locked_file(tmp_path: Path, write: Any, on_error: Any) -> None:
    path = tmp_path / "m.db"
    with MemoryBank.open(path) as bank:
        memory = SecomMemory(scope=ANN, session="now", bank=bank, write=write, on_error=on_error)
        memory.put(user("Where do I live?"))
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            memory.put(bot("In Ghent."))
            waited = time.monotonic() - began
            memory.put(user("And who teaches me?"))
            assert time.monotonic() - began < waited + 0.9, "what waits already is waited for again"
            other.execute("COMMIT")
        assert waited < 20
        deadline = time.monotonic() + 60
        # Words are seen once they are written, and wait in memory until they are on disk.
        while bank.health().unwritten and time.monotonic() < deadline:
            time.sleep(0.02)
        words = ["Where do I live?", "In Ghent.", "And who teaches me?"]
        assert [text for _, text in stored(bank)] == words
        assert [message.content for message in memory.get_all()] == words
        memory.put(bot("Marta does."))
        assert [text for _, text in stored(bank)] == [*words, "Marta does."]
        assert [message.content for message in memory.get_all()] == [*words, "Marta does."]


@pytest.mark.parametrize("requests", [1, 3])
def test_a_memory_for_each_request_shows_what_was_written_once_a_lock_was_gone(tmp_path: Path, requests: int) -> None:
    path = tmp_path / "m.db"
    with MemoryBank.open(path) as bank:
        memory = SecomMemory(scope=ANN, session="now", bank=bank)
        memory.put(user("Where do I live?"))
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            memory.put(bot("In Ghent."))
            other.execute("COMMIT")
        deadline = time.monotonic() + 60
        while bank.health().unwritten and time.monotonic() < deadline:
            time.sleep(0.02)
        said = ["Where do I live?", "In Ghent."]
        for number in range(requests):
            request = SecomMemory(scope=ANN, session="now", bank=bank)
            request.put(user(f"Why {number}?"))
            request.put(bot(f"Because {number}."))
            said += [f"Why {number}?", f"Because {number}."]
        assert texts(SecomMemory(scope=ANN, session="now", bank=bank).get_all()) == said
        memory.put(user("Really?"))
        assert texts(SecomMemory(scope=ANN, session="now", bank=bank).get_all()) == [*said, "Really?"]


def test_calls_of_tools_stand_before_their_answer_though_another_memory_has_found_it_first(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    calls = [{"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}]
    asked = ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": calls})
    result = ChatMessage(role="tool", content="Ghent", additional_kwargs={"tool_call_id": "c1"})
    with MemoryBank.open(path) as bank:
        memory = SecomMemory(scope=ANN, session="now", bank=bank)
        memory.put(user("Where do I live?"))
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            memory.put_messages([asked, result, bot("In Ghent.")])
            other.execute("COMMIT")
        deadline = time.monotonic() + 60
        while bank.health().unwritten and time.monotonic() < deadline:
            time.sleep(0.02)
        request = SecomMemory(scope=ANN, session="now", bank=bank)
        request.put_messages([user("Why?"), bot("Because.")])
        memory.put(user("Really?"))
        said = ["Where do I live?", "", "Ghent", "In Ghent.", "Why?", "Because.", "Really?"]
        assert texts(SecomMemory(scope=ANN, session="now", bank=bank).get_all()) == said


def test_what_a_history_leaves_out_is_not_kept_again_by_a_memory_that_read_the_session_before(bank: MemoryBank) -> None:
    said = [("user", "It rains."), ("assistant", "Indeed."), ("user", "And now?"), ("assistant", "Still.")]
    bank.remember(ANN, said, session="rain")
    memory = SecomMemory(scope=ANN, session="rain", bank=bank)
    assert len(memory.get_all()) == 4
    shorter = SecomMemory(scope=ANN, session="rain", bank=bank)
    shorter.set(shorter.get_all()[2:])
    memory.put_messages([user("Thanks."), bot("Sure.")])
    shown = SecomMemory(scope=ANN, session="rain", bank=bank).get_all()
    assert texts(shown) == ["And now?", "Still.", "Thanks.", "Sure."]


def test_a_session_that_others_have_remembered_is_shown_from_its_beginning_in_each_request(bank: MemoryBank) -> None:
    for number in range(3):
        request = SecomMemory(scope=ANN, session="monday", bank=bank)
        if number == 1:
            bank.remember(ANN, [("user", "It rains."), ("assistant", "Indeed.")], session="monday")
        request.put(user(f"Why {number}?"))
        request.put(bot(f"Because {number}."))
    said = [text for _, text in stored(bank, "monday")]
    assert (len(said), said[0]) == (10, "I moved to Ghent last spring.")
    assert texts(SecomMemory(scope=ANN, session="monday", bank=bank).get_all()) == said


@pytest.mark.filterwarnings("ignore::secom_core.DegradedWarning")
def test_a_history_with_an_answer_that_waits_for_a_lock_is_stored_once(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryBank.open(path) as bank:
        request = SecomMemory(scope=ANN, session="now", bank=bank)
        request.set([*KNOWN, user("Where do I live?")])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            request.put(bot("In Ghent."))
            said = [*KNOWN, user("Where do I live?"), bot("In Ghent."), user("Why?"), bot("Because.")]
            request = SecomMemory(scope=ANN, session="now", bank=bank)
            request.set(said[:-2])
            request.put(said[-2])
            assert texts(request.get()) == texts(said[:-1])
            request.put(said[-1])
            other.execute("COMMIT")
        deadline = time.monotonic() + 60
        while bank.health().unwritten and time.monotonic() < deadline:
            time.sleep(0.02)
        for _ in range(2):
            assert [text for _, text in stored(bank)] == texts(said)
            assert texts(SecomMemory(scope=ANN, session="now", bank=bank).get_all()) == texts(said)
            SecomMemory(scope=ANN, session="now", bank=bank).set(said)


@pytest.mark.parametrize("goes_on", [False, True])
def test_answers_that_wait_for_a_lock_stand_with_their_own_questions(tmp_path: Path, goes_on: bool) -> None:
    path = tmp_path / "m.db"
    with MemoryBank.open(path) as bank:
        tea, dogs = (SecomMemory(scope=ANN, session="now", bank=bank) for _ in range(2))
        tea.put(user("Which tea keeps me awake?"))
        dogs.put(user("How old do dogs get?"))
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            tea.put(bot("Let me think."))
            tea.put(bot("Strong Assam."))
            dogs.put(bot("Thirteen years."))
            other.execute("COMMIT")
        deadline = time.monotonic() + 60
        while bank.health().unwritten and time.monotonic() < deadline:
            time.sleep(0.02)
        if goes_on:
            SecomMemory(scope=ANN, session="now", bank=bank).put(user("Thanks!"))
        said = [[message.text for message in turn.messages] for turn in bank.turns(ANN, "now")]
        first = ["Which tea keeps me awake?", "Let me think.", "Strong Assam."]
        assert said == [first, ["How old do dogs get?", "Thirteen years."], *[["Thanks!"]] * goes_on]
        again = SecomMemory(scope=ANN, session="now", bank=bank)
        assert texts(again.get_all()) == [text for turn in said for text in turn]


@pytest.mark.slow
@pytest.mark.parametrize("on_error", ["warn", "raise"])
def test_an_answer_with_citations_waits_no_longer_for_a_locked_file(
    tmp_path: Path, on_error: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*given: Any) -> int:
        turns = written(*given)
        time.sleep(0.5)
        return turns

    monkeypatch.setattr("secom_core.bank.background.written", slowly)
    with MemoryBank.open(tmp_path / "m.db", citations=True) as bank:
        bank.remember(ANN, [("user", "I moved to Ghent.")], session="monday", close=True)
        memory = SecomMemory(scope=ANN, session="now", bank=bank, citations=True, on_error=on_error)
        memory.put(user("Where do I live?"))
        memory.get()
        with closing(sqlite3.connect(tmp_path / "m.db", isolation_level=None, check_same_thread=False)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            with pytest.warns(DegradedWarning, match="the citations of the answer were not taken in"):
                memory.put(bot("In Ghent [1]."))
            assert time.monotonic() - began < 20
            threading.Timer(0.5, other.execute, ["COMMIT"]).start()
            assert memory.flush(60), "it waits for what waits in memory"
        assert stored(bank) == [("user", "Where do I live?"), ("assistant", "In Ghent.")]


@pytest.mark.slow
@pytest.mark.parametrize("write", ["inline", "background"])
def test_four_sessions_have_a_summary_events_and_topics(tmp_path: Path, write: str) -> None:
    with MemoryBank.open(tmp_path / "m.db", summaries=True, timelines=True, topics=True) as bank:
        for number, about in enumerate(["dog", "canoe", "kiln", "accordion"]):
            memory = SecomMemory(bank=bank, scope=ANN, session=f"talk {number}", write=write)
            memory.put(ChatMessage(role="user", content=f"My {about} needs care, I think."))
            memory.put(ChatMessage(role="assistant", content="I see."))
        assert memory.flush(20)
        assert [each.session for each in bank.summaries.versions(ANN)] == ["talk 0", "talk 1", "talk 2"]
        assert {event.session for event in bank.timelines.events(ANN)} == {"talk 0", "talk 1", "talk 2"}
        assert bank.topics.all(ANN)
        assert bank.layers.behind(ANN, "topics") == 0


def test_what_a_full_disk_refuses_is_stored_once_there_is_room_though_nothing_more_is_said(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = SecomMemory(bank=bank, scope=ANN, session="now")
    strict = SecomMemory(bank=bank, scope=ANN, session="strict", on_error="raise")

    def refusing(*args: Any, **kwargs: Any) -> Any:
        raise StoreUnwritable("the disk is full")

    with monkeypatch.context() as full:
        full.setattr(bank._store, "append", refusing)
        with pytest.raises(StoreUnwritable):
            strict.put(user("My cat is called Tom."))
        with pytest.warns(DegradedWarning, match=r"kept and stored with the next ones.*the disk is full"):
            memory.put(user("My dog is called Rex."))
    deadline = time.monotonic() + 60
    while bank.health().unwritten and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [turn.content for turn in bank.turns(ANN, "now")] == ["My dog is called Rex."]
    assert bank.turns(ANN, "strict") == []
    memory.put(bot("Hello, Rex."))
    said = [message.text for turn in bank.turns(ANN, "now") for message in turn.messages]
    assert said == ["My dog is called Rex.", "Hello, Rex."]


@pytest.mark.parametrize("is_kept", [True, False])
def test_an_answer_that_waits_in_memory_joins_its_question_though_another_process_has_stored_the_next_one(
    bank: MemoryBank, memory: SecomMemory, monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    def refusing(*_: Any, **__: Any) -> None:
        raise StoreUnwritable("the disk is full") if is_kept else StoreError("the store is away")

    memory.put(user("Which tea keeps me awake?"))
    with MemoryBank.open(str(bank.storage.path)) as elsewhere:
        with monkeypatch.context() as full:
            full.setattr(bank._store, "append", refusing)
            with pytest.warns(DegradedWarning, match="kept and stored with the next ones"):
                memory.put(bot("Assam."))
            SecomMemory(scope=ANN, session="now", bank=elsewhere).put(user("How old do dogs get?"))
        if not is_kept:
            memory.flush()
        deadline = time.monotonic() + 60
        while len(stored(bank)) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
    turns = [[message.text for message in turn.messages] for turn in bank.turns(ANN, "now")]
    assert turns == [["Which tea keeps me awake?", "Assam."], ["How old do dogs get?"]]


def test_a_recall_for_an_answer_waits_a_second_for_a_locked_store_and_finds_everything(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "m.db") as bank:
        bank.remember(ANN, [("user", "I moved to Ghent.")], session="monday")
        bank.remember(ANN, [("user", "My aunt moved to Lyon.")], session="tuesday", later=True)
        memory = SecomMemory(bank=bank, scope=ANN)
        with closing(sqlite3.connect(tmp_path / "m.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            found = memory.get("Who moved?")
            assert time.monotonic() - began < 10
        assert "Ghent" in str(found)
        assert "Lyon" in str(found)
