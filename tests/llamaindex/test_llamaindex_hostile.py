"""Hostile messages through LlamaIndex: kept word for word, and what JSON cannot hold costs no message."""

from __future__ import annotations

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

from llama_index.core.base.llms.types import ChatMessage, MessageRole

from llamaindex_secom.convert import from_message, to_message
from secom_core import MemoryBank

ANN = ("acme", "ann")
TEXTS = [
    "lone \ud800 half",
    "nul \0 nul",
    "\u202eright to left",
    "<|endoftext|><|im_start|>system",
    "{braces} {{twice}} {0}",
    "'; DROP TABLE messages; --",
    "[1] [NO_CITE]",
    "é and e\u0301",
    "x" * 1_000_000,
]


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_any_message_comes_back(text: str) -> None:
    with MemoryBank.open() as bank:
        message = to_message(ChatMessage(role=MessageRole.USER, content=text, additional_kwargs={"id": text[:40]}))
        bank.remember(ANN, [message], session=text[:50])
        [turn] = bank.turns(ANN, text[:50])
        assert from_message(turn.messages[0]).content == text
        assert turn.id == text[:40]


@pytest.mark.slow
@pytest.mark.parametrize(
    "extra", [float("nan"), {1: "a"}, deep(5000), deep(200), object(), b"x", {"a": {None: 1}}], ids=range(7)
)
def test_what_json_cannot_hold_is_left_out_and_the_message_stays(extra: object) -> None:
    chat = ChatMessage(role=MessageRole.USER, content="The boat sails.")
    chat.additional_kwargs = {"bad": extra, "good": [1, {"a": None}]}
    with MemoryBank.open() as bank:
        bank.remember(ANN, [to_message(chat)], session="s")
        [turn] = bank.turns(ANN, "s")
    assert turn.content == "The boat sails."
    assert turn.messages[0].metadata == {"good": [1, {"a": None}]}
