"""What of an agent's prompt a provider can keep from one turn to the next, with memory in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("langchain.agents.middleware", reason="needs the extra 'langchain'")
pytest.importorskip("langchain_anthropic", reason="needs langchain-anthropic")

from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langchain_secom import SecomMiddleware
from secom_core.bank import MemoryBank

ANN = ("ann",)
TURNS, MOST_MARKS, LOOKS_BACK = 30, 4, 20
SYSTEM = "You are the assistant of a swimming club. " * 12
IN_A_THREAD: Any = {"configurable": {"thread_id": "friday"}}


def question(number: int) -> str:
    return f"Question {number}: where does my dog Bello swim, and who goes with him on day {number}?"


class Claude(ChatAnthropic):
    """Keeps what it would send, and answers as a server that keeps prompts reports it."""

    sent: list[dict[str, Any]] = []  # noqa: RUF012 - pydantic copies it
    ttl: str = "5m"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
        payload = self._get_request_payload(messages, stop=stop, **more)
        self.sent.append(payload)
        written = {f"ephemeral_{self.ttl}_input_tokens": 9, "cache_creation": 0} if "cache_control" in payload else {}
        usage: Any = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18, "input_token_details": written}
        answer = AIMessage("He swims there with the neighbour, as ever. " * 6, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=answer)])


def claude(ttl: str = "5m") -> Claude:
    return Claude(model_name="claude-sonnet-4-5", api_key="none", ttl=ttl, timeout=1, stop=None)


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"rain in {city}"


@pytest.fixture(scope="module")
def bank() -> Iterator[MemoryBank]:
    with MemoryBank.open() as bank:
        for day in range(TURNS):
            fact = f"My dog Bello swims in the river Leie on day {day}, and friend number {day} goes with him."
            bank.remember(ANN, [("user", fact), ("assistant", "How nice.")], session=f"day {day}", close=True)
        yield bank


def memory(bank: MemoryBank, **options: Any) -> SecomMiddleware:
    return SecomMiddleware(bank, scope=ANN, write="off", token_budget=200, **options)


def blocks(payload: dict[str, Any]) -> list[dict[str, Any]]:
    """The prompt in the order in which the provider reads it: tools, system message, messages; text as a block."""
    said = [("system", payload.get("system") or []), *((each["role"], each["content"]) for each in payload["messages"])]
    lists = [(role, [{"type": "text", "text": each}] if isinstance(each, str) else each) for role, each in said]
    return [*payload.get("tools", []), *({**block, "role": role} for role, each in lists for block in each)]


def length(of: list[dict[str, Any]]) -> int:
    return sum(len(bare(block)) for block in of)


def bare(block: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in block.items() if key != "cache_control"}, sort_keys=True)


def marked(payload: dict[str, Any]) -> list[int]:
    own = [place for place, block in enumerate(blocks(payload)) if "cache_control" in block]
    return [*own, *([len(blocks(payload)) - 1] if "cache_control" in payload else [])]


def kept_shares(sent: list[dict[str, Any]]) -> list[float]:
    """The share of each prompt that Anthropic reads from its cache, by its documented rules.

    What stands before a mark is kept; a later request finds it where one of its own marks stands at most twenty blocks
    behind the end of it. More than four marks are refused.
    """
    kept: set[str] = set()
    shares: list[float] = []
    for payload in sent:
        prompt, marks, digest = blocks(payload), marked(payload), sha256()
        assert len(marks) <= MOST_MARKS
        ends = [(digest.update(bare(block).encode()), digest.hexdigest())[1] for block in prompt]  # type: ignore[func-returns-value]
        looked_at = {place for mark in marks for place in range(max(0, mark - LOOKS_BACK + 1), mark + 1)}
        hit = max((place for place in looked_at if ends[place] in kept), default=-1)
        shares.append(length(prompt[: hit + 1]) / length(prompt))
        kept |= {ends[mark] for mark in marks}
    return shares


def stable_shares(sent: list[dict[str, Any]]) -> list[float]:
    """The share of each prompt, in characters, that stands at the beginning of the one before, word for word."""
    texts = ["".join(bare(block) for block in blocks(payload)) for payload in sent]
    return [alike(before, text) / len(text) for before, text in pairwise(texts)]


def alike(one: str, other: str) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def after_thirty_turns(*middleware: Any, model: Claude | None = None, turns: int = TURNS) -> list[dict[str, Any]]:
    model = model or claude()
    agent = create_agent(model, [weather], middleware=middleware, system_prompt=SYSTEM, checkpointer=InMemorySaver())
    for turn in range(turns):
        agent.invoke({"messages": [("user", question(turn))]}, IN_A_THREAD)
    return model.sent


@pytest.mark.slow
def test_the_prefix_of_a_long_thread_survives(bank: MemoryBank) -> None:
    shares = {
        name: stable_shares(after_thirty_turns(*middleware))[-1]
        for name, middleware in {
            "none": [],
            "default": [memory(bank)],
            "system": [memory(bank, inject="system")],
        }.items()
    }
    assert shares["none"] > 0.9
    assert shares["default"] > 0.8
    assert shares["system"] < 0.3


@pytest.mark.slow
@pytest.mark.parametrize("first", ["memory", "caching"])
def test_a_caching_middleware_keeps_the_thread_in_either_order(bank: MemoryBank, first: str) -> None:
    both = [memory(bank), AnthropicPromptCachingMiddleware()]
    sent = after_thirty_turns(*(both if first == "memory" else both[::-1]))
    shares = kept_shares(sent)
    assert shares[-1] > 0.8
    # The first answer tells that prompts are kept, where that cannot be seen before.
    assert all(share > 0.5 for share in shares[10:])
    for payload in sent:
        assert "<memories>" not in json.dumps(payload["system"])
        assert payload["messages"][-1]["content"][-1]["text"].startswith("\n\n<memories>")
        assert "cache_control" not in payload["messages"][-1]["content"][-1]


@pytest.mark.parametrize("first", ["memory", "caching"])
def test_the_mark_has_the_time_that_the_other_marks_have(bank: MemoryBank, first: str) -> None:
    both = [memory(bank), AnthropicPromptCachingMiddleware(ttl="1h")]
    sent = after_thirty_turns(*(both if first == "memory" else both[::-1]), model=claude("1h"), turns=2)
    assert sent[-1]["messages"][-1]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


@pytest.mark.parametrize("first", ["memory", "caching"])
def test_a_request_never_has_more_marks_than_are_taken(bank: MemoryBank, first: str) -> None:
    model, both = claude(), [memory(bank), AnthropicPromptCachingMiddleware()]
    own = {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}
    agent = create_agent(
        model,
        [weather],
        middleware=both if first == "memory" else both[::-1],
        system_prompt=SystemMessage([own, {"type": "text", "text": SYSTEM}]),
        checkpointer=InMemorySaver(),
    )
    for turn in range(3):
        agent.invoke({"messages": [("user", question(turn))]}, IN_A_THREAD)
    assert [len(marked(payload)) for payload in model.sent] == [MOST_MARKS] * 3


def test_nothing_is_marked_where_nobody_asks_for_it(bank: MemoryBank) -> None:
    assert not any(marked(payload) for payload in after_thirty_turns(memory(bank), turns=3))


@pytest.mark.slow
@pytest.mark.parametrize("files", [False, True], ids=["plain", "with memory files"])
def test_deepagents_keep_the_thread(bank: MemoryBank, files: bool) -> None:
    deepagents = pytest.importorskip("deepagents", reason="needs deepagents")
    model = claude()
    more: dict[str, Any] = {"memory": ["/AGENTS.md"]} if files else {}
    agent = deepagents.create_deep_agent(
        model, [weather], system_prompt=SYSTEM, middleware=[memory(bank)], checkpointer=InMemorySaver(), **more
    )
    for turn in range(8):
        agent.invoke({"messages": [("user", question(turn))]}, IN_A_THREAD)
    assert all("<memories>" in payload["messages"][-1]["content"][-1]["text"] for payload in model.sent)
    assert all("<memories>" not in json.dumps(payload["system"]) for payload in model.sent)
    # With its memory files, deepagents sets all four marks itself.
    assert ["cache_control" in payload["messages"][-1]["content"][-2] for payload in model.sent[1:]] == [not files] * 7
    assert kept_shares(model.sent)[-1] > (0.5 if files else 0.8)
