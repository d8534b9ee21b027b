"""Memory for classic chains: what it shows, what it keeps, what it refuses."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_classic", reason="needs the extra 'langchain'")

from langchain_classic.base_memory import BaseMemory
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from pydantic import ValidationError

from langchain_secom import RecursiveSummaryMemory, SecomMemory
from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.errors import InvalidInput

SCOPE = ("acme", "ann")


@pytest.fixture
def bank() -> MemoryBank:
    bank = MemoryBank.open()
    messages = [Message("My dog Bello barks at the postman.", id="t1"), Message("Dogs do.", role="assistant")]
    bank.remember(SCOPE, messages, session="monday", close=True)
    return bank


def memory_of(bank: MemoryBank, **fields: Any) -> SecomMemory:
    return SecomMemory(bank=bank, scope=SCOPE, **{"session": "today", **fields})


async def load(how: str, memory: SecomMemory, inputs: dict[str, Any]) -> Any:
    loaded = memory.load_memory_variables(inputs) if how == "sync" else await memory.aload_memory_variables(inputs)
    return loaded[memory.memory_key]


async def save(how: str, memory: SecomMemory, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
    if how == "sync":
        memory.save_context(inputs, outputs)
    else:
        await memory.asave_context(inputs, outputs)


def words(bank: MemoryBank, session: str = "today") -> list[tuple[str, str]]:
    return [(m.role, m.text) for turn in bank.turns(SCOPE, session) for m in turn.messages]


both_ways = pytest.mark.parametrize("how", ["sync", "async"])


@both_ways
async def test_a_turn_is_saved_and_shown_after_what_is_recalled(bank: MemoryBank, how: str) -> None:
    memory = memory_of(bank)
    assert isinstance(memory, BaseMemory)
    assert memory.memory_variables == ["history"]
    await save(how, memory, {"input": "Good morning."}, {"response": "Hello!"})
    text = await load(how, memory, {"input": "What does my dog do?"})
    assert text.endswith("\nHuman: Good morning.\nAI: Hello!")
    assert "data, not instructions" in text.splitlines()[1]
    assert "My dog Bello barks at the postman." in text
    assert words(bank) == [("user", "Good morning."), ("assistant", "Hello!")]


@both_ways
async def test_messages_are_given_where_asked(bank: MemoryBank, how: str) -> None:
    memory = memory_of(bank, return_messages=True)
    await save(how, memory, {"input": "Good morning."}, {"response": "Hello!"})
    recalled, *window = await load(how, memory, {"input": "What does my dog do?"})
    assert [(type(m), m.text) for m in window] == [(HumanMessage, "Good morning."), (AIMessage, "Hello!")]
    assert "My dog Bello barks at the postman." in recalled.text
    assert not isinstance(recalled, SystemMessage)


@both_ways
async def test_what_the_window_shows_is_not_recalled_again(bank: MemoryBank, how: str) -> None:
    memory = memory_of(bank)
    await save(how, memory, {"input": "My dog Bello ate a shoe."}, {"response": "Bad dog."})
    text = await load(how, memory, {"input": "What did my dog Bello eat, which shoe?"})
    assert text.count("ate a shoe") == 1
    assert text.count("barks at the postman") == 1


@pytest.mark.slow
@both_ways
async def test_what_has_left_the_window_is_recalled(bank: MemoryBank, how: str) -> None:
    memory = memory_of(bank, window=2)
    for text in ("My cat is called Minka.", "It rains.", "It still rains."):
        await save(how, memory, {"input": text}, {"response": "I see."})
    text = await load(how, memory, {"input": "What is my cat called?"})
    block, window = text.split("</memories>")
    assert "Minka" in block
    assert window == "\nHuman: It still rains.\nAI: I see."


@both_ways
async def test_clear_forgets_this_session_and_no_other(bank: MemoryBank, how: str) -> None:
    memory = memory_of(bank)
    await save(how, memory, {"input": "My cat is called Minka."}, {"response": "Fine."})
    if how == "sync":
        memory.clear()
    else:
        await memory.aclear()
    assert words(bank) == []
    assert "Minka" not in await load(how, memory, {"input": "What is my cat called?"})
    assert "Bello" in await load(how, memory, {"input": "What is my dog called?"})
    await save(how, memory, {"input": "Again."}, {"response": "Yes."})
    assert words(bank) == [("user", "Again."), ("assistant", "Yes.")]


@both_ways
async def test_save_context_ignores_the_memory_key_in_the_inputs(bank: MemoryBank, how: str) -> None:
    memory = memory_of(bank)
    history = await load(how, memory, {"input": "What does my dog do?"})
    await save(how, memory, {"input": "Hi", "history": history, "stop": ["\n"]}, {"response": "Hello"})
    assert words(bank) == [("user", "Hi"), ("assistant", "Hello")]


@both_ways
async def test_save_context_ignores_intermediate_steps(bank: MemoryBank, how: str) -> None:
    outputs = {"output": "Barks.", "intermediate_steps": [(object(), "observation")]}
    await save(how, memory_of(bank), {"input": "What does my dog do?"}, outputs)
    assert words(bank)[1] == ("assistant", "Barks.")


@both_ways
async def test_recalled_text_is_never_remembered_again(bank: MemoryBank, how: str) -> None:
    for return_messages in (False, True):
        memory = memory_of(bank, return_messages=return_messages)
        recalled = await load(how, memory, {"input": "What does my dog do?"})
        user_input: Any = [*recalled, HumanMessage("Hi")] if return_messages else f"{recalled}\nHi"
        await save(how, memory, {"input": user_input}, {"response": "Hello"})
        assert words(bank) == [("user", "Hi"), ("assistant", "Hello")]
        memory.clear()


@both_ways
async def test_of_a_resent_history_only_the_new_part_is_saved(bank: MemoryBank, how: str) -> None:
    memory = memory_of(bank)
    history: list[BaseMessage] = [HumanMessage("One"), AIMessage("First"), HumanMessage("Two")]
    await save(how, memory, {"input": history[:1]}, {"response": "First"})
    await save(how, memory, {"input": history}, {"response": AIMessage("Second")})
    assert [text for _, text in words(bank)] == ["One", "First", "Two", "Second"]


@both_ways
async def test_messages_in_short_forms_are_messages(bank: MemoryBank, how: str) -> None:
    memory = memory_of(bank)
    await save(how, memory, {"input": [("human", "My dog is Bello.")]}, {"response": "A fine name."})
    asked = [("human", "My dog is Bello."), ("ai", "A fine name."), {"role": "user", "content": "How old is he?"}]
    await save(how, memory, {"input": asked}, {"response": "Two."})
    said = ["My dog is Bello.", "A fine name.", "How old is he?", "Two."]
    assert words(bank) == list(zip(["user", "assistant"] * 2, said, strict=True))


@both_ways
async def test_an_answer_in_content_blocks_is_read(bank: MemoryBank, how: str) -> None:
    blocks = [{"type": "reasoning", "reasoning": "secret"}, {"type": "text", "text": "Barks.", "index": 0}]
    await save(how, memory_of(bank), {"input": "What does my dog do?"}, {"output": blocks})
    assert words(bank)[1] == ("assistant", "Barks.")


@both_ways
async def test_several_inputs_or_outputs_need_a_key(bank: MemoryBank, how: str) -> None:
    inputs, outputs = {"input": "Hi", "style": "brief"}, {"text": "Hello", "score": 1}
    with pytest.raises(InvalidInput, match="input_key"):
        await load(how, memory_of(bank), inputs)
    with pytest.raises(InvalidInput, match="output_key"):
        await save(how, memory_of(bank, input_key="input"), inputs, outputs)
    with pytest.raises(InvalidInput, match="'question'"):
        await save(how, memory_of(bank, input_key="question"), inputs, outputs)
    with pytest.raises(InvalidInput, match="got 1; say with output_key"):
        await save(how, memory_of(bank, input_key="input", output_key="score"), inputs, outputs)
    assert words(bank) == []
    await save(how, memory_of(bank, input_key="input", output_key="text"), inputs, outputs)
    assert words(bank) == [("user", "Hi"), ("assistant", "Hello")]


@both_ways
async def test_without_inputs_the_window_alone_is_shown(bank: MemoryBank, how: str) -> None:
    memory = memory_of(bank)
    assert await load(how, memory, {}) == ""
    await save(how, memory, {"input": "Hi"}, {"response": "Hello"})
    assert await load(how, memory, {}) == "Human: Hi\nAI: Hello"
    assert await load(how, memory, {"input": " "}) == "Human: Hi\nAI: Hello"


def test_the_window_holds_whole_turns_and_the_last_one_always(bank: MemoryBank) -> None:
    for number in range(4):
        memory_of(bank).save_context({"input": f"In {number}"}, {"response": f"Out {number}"})

    def in_window(window: int) -> list[str]:
        messages = memory_of(bank, window=window, return_messages=True).load_memory_variables({})["history"]
        return [message.text for message in messages]

    assert in_window(0) == []
    assert in_window(1) == in_window(2) == in_window(3) == ["In 3", "Out 3"]
    assert in_window(4) == ["In 2", "Out 2", "In 3", "Out 3"]
    assert len(in_window(100)) == 8


@pytest.mark.slow
def test_the_budget_and_k_bound_what_is_recalled(bank: MemoryBank) -> None:
    for number in range(20):
        messages = [Message(f"My dog number {number} likes bones and walks in the park.")]
        bank.remember(SCOPE, messages, session=f"s{number}", close=True)
    assert memory_of(bank, k=2).load_memory_variables({"input": "dog"})["history"].count("\n[") == 2
    short = memory_of(bank, token_budget=80).load_memory_variables({"input": "dog"})["history"]
    assert 1 <= short.count("\n[") < 6


def test_names_and_keys_can_be_chosen(bank: MemoryBank) -> None:
    memory = memory_of(bank, memory_key="past", human_prefix="Ann", ai_prefix="Bot")
    memory.save_context({"input": "Hi", "past": "x"}, {"response": "Hello"})
    assert memory.load_memory_variables({}) == {"past": "Ann: Hi\nBot: Hello"}


def test_construction_parameters_are_json_and_open_the_same_memory(tmp_path: Path) -> None:
    memory = SecomMemory(store_path=str(tmp_path / "memory.db"), scope=SCOPE, window=4, input_key="input")
    memory.save_context({"input": "Hi"}, {"response": "Hello"})
    saved = json.dumps(memory.model_dump(mode="json"))
    memory.bank.close()
    again = SecomMemory(**json.loads(saved))
    assert again.model_dump() == memory.model_dump()
    assert again.load_memory_variables({})["history"] == "Human: Hi\nAI: Hello"
    again.bank.close()


def test_a_bank_that_is_opened_by_path_waits_as_long_as_is_said(tmp_path: Path) -> None:
    for make in (SecomMemory, RecursiveSummaryMemory):
        memory = make(store_path=str(tmp_path / "memory.db"), scope=SCOPE, busy_timeout=0.5)
        assert memory.bank.storage.busy_timeout == 0.5
        again = make(**json.loads(json.dumps(memory.model_dump(mode="json"))))
        assert again.bank.storage.busy_timeout == 0.5
        memory.bank.close()
        again.bank.close()


def test_each_memory_without_a_session_begins_a_new_one(bank: MemoryBank) -> None:
    sessions = {SecomMemory(bank=bank, scope=SCOPE).session for _ in range(3)}
    assert len(sessions) == 3


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"scope": "ann"}, "ann"),
        ({"scope": ()}, "scope"),
        ({"scope": SCOPE, "sesion": "s"}, "sesion"),
        ({"scope": SCOPE, "window": -1}, "window"),
        ({"scope": SCOPE, "session": ""}, "session"),
        ({"scope": SCOPE, "bank": "memory.db"}, "memory.db"),
        ({}, "scope"),
    ],
)
def test_a_wrong_or_misspelt_argument_does_not_pass_silently(
    bank: MemoryBank, fields: dict[str, Any], named: str
) -> None:
    with pytest.raises(ValidationError, match=named):
        SecomMemory(**{"bank": bank, **fields})


def test_a_memory_needs_a_bank() -> None:
    with pytest.raises(ValidationError, match="a bank or a store_path"):
        SecomMemory(scope=SCOPE)


def test_pitfall_14_is_lc_serializable_stays_false() -> None:
    assert SecomMemory.is_lc_serializable() is False


def test_a_recall_for_an_answer_waits_a_second_for_a_locked_store_and_finds_everything(tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "m.db") as bank:
        bank.remember(SCOPE, [("user", "I moved to Ghent.")], session="monday")
        bank.remember(SCOPE, [("user", "My aunt moved to Lyon.")], session="tuesday", later=True)
        memory = SecomMemory(bank=bank, scope=SCOPE)
        with closing(sqlite3.connect(tmp_path / "m.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            began = time.monotonic()
            found = memory.load_memory_variables({"input": "Who moved?"})["history"]
            assert time.monotonic() - began < 10
        assert "Ghent" in found
        assert "Lyon" in found


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sync", "async"])
@pytest.mark.parametrize("kind", [SecomMemory, RecursiveSummaryMemory])
async def test_an_answer_waits_in_memory_for_a_locked_file_and_the_next_turn_shows_it(
    tmp_path: Path, how: str, kind: type[SecomMemory]
) -> None:
    path = tmp_path / "m.db"
    memory = kind(store_path=str(path), scope=SCOPE, session="today")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        await save(how, memory, {"input": "I moved to Ghent."}, {"response": "How nice!"})
        await save(how, memory, {"input": "And my aunt to Lyon."}, {"response": "I see."})
        shown = "Human: I moved to Ghent.\nAI: How nice!\nHuman: And my aunt to Lyon.\nAI: I see."
        assert await load(how, memory, {"input": "Who moved?"}) == shown
        assert time.monotonic() - began < 20
        other.execute("COMMIT")
    if isinstance(memory, RecursiveSummaryMemory):
        closed = memory.close_session()
        assert closed is not None
        assert "Lyon" in closed.text
    memory.bank.close()
    with MemoryBank.open(path) as opened:
        stored = [message.text for turn in opened.turns(SCOPE, "today") for message in turn.messages]
    assert stored == ["I moved to Ghent.", "How nice!", "And my aunt to Lyon.", "I see."]
