"""The chat pages of docs/recipes.md that follow edits, with stand-ins for Gradio and Chainlit, which `dev` lacks.

The functions of the pages run as they stand in the recipe, with its `answer`, and get the history in the form in which
Gradio 6 and Chainlit 2 hand it over.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from test_docs import ROOT, Block, blocks, run

from secom_core import MemoryBank

PAGE = ROOT / "docs" / "recipes.md"
SAID = list[tuple[str, str]]


def block_of(section: str, word: str, *, why: str | None = None) -> Block:
    """The block in a section of the recipes that contains a word."""
    first = PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")[0].count("\n") + 1
    return next(each for each in blocks(PAGE) if each.line > first and word in each.code and each.why == why)


@pytest.fixture(params=["langchain", "llama_index"])
def chat(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The recipe's module ``chat``, of one framework."""
    if request.param == "langchain":
        pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")
    else:
        pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "chat", "asyncio": asyncio, "MemoryBank": MemoryBank}
    code = block_of("Serve OpenAI's API", {"langchain": "def changes(", "llama_index": "memory.aset("}[request.param])
    source = code.code[: code.code.index("\nasync def served(")] if "def served(" in code.code else code.code
    if request.param == "llama_index":
        names["bank"] = MemoryBank.open("served.db")
        source = source.partition("\nasyncio.run(")[0]
    run(Block(code.line, code.kind, source, None), PAGE, names)
    module = ModuleType("chat")
    vars(module).update(names)
    monkeypatch.setitem(sys.modules, "chat", module)
    return vars(module)


def page_of(name: str, stand_in: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setitem(sys.modules, name.lower(), stand_in)
    names: dict[str, Any] = {"__name__": "page"}
    run(block_of("Follow edits in a chat page", f"import {name.lower()}", why=f"needs {name}"), PAGE, names)
    return names


def gradio(monkeypatch: pytest.MonkeyPatch) -> Callable[[SAID, str], Awaitable[str]]:
    reply = page_of("Gradio", MagicMock(), monkeypatch)["reply"]

    async def ask(before: SAID, said: str) -> str:
        parts = [(role, [{"type": "text", "text": text}]) for role, text in before]
        history = [{"role": role, "metadata": None, "content": content, "options": None} for role, content in parts]
        *_, answer = [text async for text in reply(said, history, "1", SimpleNamespace(username="alice"))]
        return str(answer)

    return ask


def chainlit(monkeypatch: pytest.MonkeyPatch) -> Callable[[SAID, str], Awaitable[str]]:
    stand_in, shown = MagicMock(), MagicMock()
    stand_in.on_message = lambda function: function
    stand_in.user_session.get.return_value = SimpleNamespace(identifier="alice")
    stand_in.context.session.thread_id = "1"
    stand_in.Message.return_value = shown
    reply = page_of("Chainlit", stand_in, monkeypatch)["reply"]

    async def ask(before: SAID, said: str) -> str:
        pieces: list[str] = []

        async def add(piece: str) -> None:
            pieces.append(piece)

        async def send() -> None: ...

        shown.stream_token, shown.send = add, send
        history = [{"role": role, "content": text} for role, text in (*before, ("user", said))]
        stand_in.chat_context.to_openai.return_value = history
        await reply(SimpleNamespace(content=said))
        return "".join(pieces)

    return ask


@pytest.mark.docs
@pytest.mark.parametrize("front", [gradio, chainlit])
async def test_what_is_edited_taken_back_or_answered_again_is_remembered_once(
    front: Callable[..., Callable[[SAID, str], Awaitable[str]]], chat: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = front(monkeypatch)
    said: SAID = []

    async def say(text: str) -> None:
        said.extend([("user", text), ("assistant", await ask(said, text))])

    def held() -> SAID:
        [session] = chat["bank"].sessions(("alice",))
        return [(each.role, each.text) for turn in chat["bank"].turns(("alice",), session) for each in turn.messages]

    await say("I moved to Ghent.")
    await say("My cat is Mimi.")
    assert held() == said
    del said[-2:]
    await say("My cat is Lila.")
    assert held() == said, "an edited message is remembered with its new words alone"
    del said[-2:]
    await say("My cat is Lila.")
    assert held() == said, "an answer that is made again takes the place of the first"
    del said[-2:]
    await say("My dog is Rex.")
    assert held() == said, "a message that was taken back is forgotten"
    chat["bank"].close()


@pytest.mark.docs
async def test_what_chainlit_says_of_a_stopped_answer_is_not_the_assistants(
    chat: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = chainlit(monkeypatch)
    await ask([], "Tell me of foxes.")
    await ask([("user", "Tell me of foxes."), ("assistant", "Task manually stopped.")], "My cat is Lila.")
    assert "Task manually stopped." not in str(chat["bank"].turns(("alice",)))
    chat["bank"].close()
