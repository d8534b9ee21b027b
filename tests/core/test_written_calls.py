"""Calls of tools that a model wrote down as its answer."""

from __future__ import annotations

import json

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.written_calls import is_written_call

CALL = '{"name": "search_memory", "arguments": {"query": "allergy"}}'
WRITTEN = {
    "bare": CALL,
    "in a fence, as Qwen2.5-Coder writes it": f"```json\n{json.dumps(json.loads(CALL), indent=2)}\n```",
    "two fences": f"```json\n  {CALL}\n  ```\n```json\n  {CALL}\n  ```",
    "two lines": f"{CALL}\n{CALL}",
    "a list": f"[{CALL}, {CALL}]",
    "doubled braces, as Qwen2.5-Coder writes them": f"{{{CALL}}}\n{{{CALL}}}\n```\n\n\n",
    "doubled and broken off": f'{{{CALL}}}\n{{{{"name": "read_memory", "arguments": {{"memory_id": "2026-11',
    "tags": f"<tool_call>\n{CALL}\n</tool_call>",
    "other tags": f"<tools>\n{CALL}\n</tools>",
    "a mark": f"[TOOL_CALLS][{CALL}]",
    "parameters, as Llama 3": '<|python_tag|>{"type": "function", "name": "weather", "parameters": {"city": "Rome"}}',
    "no arguments": '{"name": "list_memories", "arguments": {}}',
    "arguments as text": '{"name": "weather", "arguments": "{\\"city\\": \\"Rome\\"}"}',
    "an action": '{"action": "search", "action_input": {"query": "Rome"}}',
    "within": '{"tool_calls": [{"id": "1", "type": "function", "function": {"name": "weather", "arguments": {}}}]}',
    "named by its tag": '<function=weather>{"city": "Rome"}</function>',
    "in code": '```tool_code\nprint(search_memory(query="allergy"))\n```',
    "in code, as Llama 3.2": '[search_memory(query="allergy", k=3), weather(city="Rome")]',
    "a fence within": json.dumps({"name": "run", "arguments": {"code": "```py\nprint({})\n```"}}),
    "broken off": '```json\n{"name": "manage_memory", "arguments": {"text": "I moved to Ant',
    "the second broken off": f'{CALL}\n{{"name": "weather", "arguments": {{"city": ',
}
OTHERS = {
    "words": "You are allergic to peanuts.",
    "words before": f"I'll look that up.\n```json\n{CALL}\n```",
    "words after": f"{CALL}\nThat is how it is called.",
    "other keys": '{"name": "Ann", "parameters": {}, "email": "ann@example.org"}',
    "a name of two words": '{"name": "Ann Lee", "arguments": {"for": "x", "against": "y"}}',
    "a definition": '{"name": "weather", "description": "Tells it.", "parameters": {"type": "object"}}',
    "no name": '{"name": "", "arguments": {}}',
    "an object": '{"city": "Ghent"}',
    "a list of objects": '[{"name": "Ann"}, {"name": "Ben"}]',
    "a list of words": '["name", "arguments"]',
    "a list": "[1, 2, 3]",
    "an empty list": "[]",
    "a fence": "```python\nprint('Hello')\n```",
    "a link": "[the page](https://example.org)",
    "a tag": "<b>Hello</b>",
    "nothing": "",
    "broken off": '{"name": "Ann',
    "deep": "[" * 7_000,
    "very long": json.dumps({"name": "write", "arguments": {"text": "word " * 2_000}}),
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_calls_that_are_written_down_are_recognised(text: str) -> None:
    assert is_written_call(text)
    assert is_written_call(f"\n  {text}\n")


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_other_answers_are_none(text: str) -> None:
    assert not is_written_call(text)


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_what_is_recalled_shows_no_model_how_to_write_a_call_down(text: str) -> None:
    me = ("me",)
    with MemoryBank.open() as bank:
        for number, answer in enumerate((text, "Peanuts, you said.")):
            said = [("user", "Search your memory: which allergy do I have?"), ("assistant", answer)]
            bank.remember(me, said, session=str(number), close=True)
        recall = bank.recall(me, "Which allergy do I have, says your memory?")
        assert "Peanuts, you said." in recall.text
        assert not any(sign in recall.text for sign in ("arguments", "query", "```", "city", "Ant"))
        [first] = [turn for turn in bank.turns(me) if turn.session == "0"]
        assert first.messages[1].text == text, "it is kept word for word"


def test_a_call_that_somebody_else_writes_is_shown() -> None:
    with MemoryBank.open() as bank:
        bank.remember(("me",), [("user", CALL), ("assistant", "That call is right.")], session="one", close=True)
        assert "search_memory" in bank.recall(("me",), "Which call was right?").text


def test_a_call_alone_takes_no_room() -> None:
    with MemoryBank.open() as bank:
        bank.remember(("me",), [("assistant", CALL)], session="one", close=True)
        assert bank.recall(("me",), "search memory allergy").text == ""
        assert len(bank.turns(("me",))) == 1
