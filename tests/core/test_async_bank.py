"""A bank in an event loop: nothing starves, threads are few, and what is cancelled is done whole or not at all."""

from __future__ import annotations

import asyncio
import inspect
import random
import sqlite3
import threading
from pathlib import Path

import pytest

from secom_core import AsyncMemoryBank, MemoryBank
from secom_core.bank.capabilities import Capabilities
from secom_core.errors import InvalidInput, StoreError
from secom_core.llm.flow import Prompt

SCOPE = ("acme", "alice")


def _threads() -> list[str]:
    names = ("secom-read", "secom-write", "secom-make")
    return [each.name for each in threading.enumerate() if each.name.startswith(names)]


def _public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind) if not name.startswith("_")}


def test_it_has_whatever_a_bank_does() -> None:
    others = _public(Capabilities) | {"token_counter"}

    assert _public(MemoryBank) - others <= _public(AsyncMemoryBank)
    assert inspect.signature(AsyncMemoryBank.open) == inspect.signature(MemoryBank.open)
    assert all(inspect.iscoroutinefunction(getattr(AsyncMemoryBank, name)) for name in _public(MemoryBank) - others)


@pytest.mark.slow
async def test_many_calls_at_once_need_few_threads(tmp_path: Path) -> None:
    scopes = [("acme", f"user-{number}") for number in range(60)]
    async with await AsyncMemoryBank.open(tmp_path / "memory.db") as bank:

        async def talk(scope: tuple[str, str]) -> str:
            await bank.remember(scope, [("user", f"My name is {scope[1]}.")], session="s1")
            return (await bank.recall(scope, "What is my name?")).text

        shown = await asyncio.gather(*map(talk, scopes))

        assert all(scope[1] in text for scope, text in zip(scopes, shown, strict=True))
        assert len(_threads()) <= 5
        assert sorted(await bank.scopes()) == sorted(scopes)
        assert await bank.run(lambda inside: inside.storage.path) == str(tmp_path / "memory.db")
    assert _threads() == []


async def test_recalls_do_not_wait_behind_writes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with await AsyncMemoryBank.open(path) as bank:
        await bank.remember(SCOPE, [("user", "I live in Ghent.")], session="s1")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        writes = [asyncio.create_task(bank.remember(SCOPE, [("user", "Again.")], session=f"w{n}")) for n in range(20)]
        await asyncio.sleep(0)

        recall = await asyncio.wait_for(bank.recall(SCOPE, "Where do I live?"), 10)

        assert "Ghent" in recall.text
        assert not any(each.done() for each in writes)
        other.execute("ROLLBACK")
        other.close()
        assert len(await asyncio.gather(*writes)) == 20


class _SlowModel:
    """A model that answers when it is told to."""

    def __init__(self) -> None:
        self.asked, self.answers = threading.Event(), threading.Event()
        self.prompts: list[str] = []

    def complete(self, prompt: Prompt) -> str:
        self.prompts.append(prompt.text)
        self.asked.set()
        assert self.answers.wait(30)
        dog = "\nAlice has a dog." if "I have a dog." in prompt.text else ""
        return f"<memory>\nAlice lives in Ghent.{dog}\n</memory>"


@pytest.mark.parametrize("end", ["close", "close_session", "next", "derive"])
async def test_nobody_waits_for_the_model_but_who_ended_a_session(tmp_path: Path, end: str) -> None:
    model = _SlowModel()
    bob, said = ("acme", "bob"), [("user", "I live in Ghent.")]
    async with await AsyncMemoryBank.open(tmp_path / "memory.db", model=model, summaries=True) as bank:
        await bank.remember(bob, said, session="b")
        if end == "close":
            call = asyncio.create_task(bank.remember(SCOPE, said, session="s1", close=True))
        elif end == "derive":
            bank.bank.remember(SCOPE, said, session="s1", close=True, later=True)
            call = asyncio.create_task(bank.derive(SCOPE))
        else:
            await bank.remember(SCOPE, said, session="s1")
            next_one = bank.remember(SCOPE, [("user", "Hello again.")], session="s2")
            call = asyncio.create_task(bank.close_session(SCOPE, "s1") if end == "close_session" else next_one)
            if end == "close_session":
                next_one.close()
        try:
            await asyncio.to_thread(model.asked.wait, 30)

            await asyncio.wait_for(bank.remember(bob, [("user", "I have a dog.")], session="b"), 10)
            await asyncio.wait_for(bank.remember(SCOPE, [("user", "And a cat.")], session="s2"), 10)
            found = await asyncio.wait_for(bank.recall(SCOPE, "Do I have a cat?"), 10)

            assert "cat" in found.text
            assert not call.done()
        finally:
            model.answers.set()
        await call
        assert [each.session for each in bank.bank.summaries.versions(SCOPE)] == ["s1"]
        assert len(model.prompts) == 1


async def test_who_is_cancelled_or_closes_leaves_no_ended_session_out(tmp_path: Path) -> None:
    model = _SlowModel()
    bank = await AsyncMemoryBank.open(tmp_path / "memory.db", model=model, summaries=True)
    said = {"s0": "I live in Ghent.", "s1": "I have a dog."}
    calls = [
        asyncio.create_task(bank.remember(SCOPE, [("user", text)], session=name, close=True))
        for name, text in said.items()
    ]
    await asyncio.to_thread(model.asked.wait, 30)
    while len(await bank.sessions(SCOPE)) < len(said):
        await asyncio.sleep(0.01)
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)
    model.answers.set()

    await bank.close()

    with MemoryBank.open(tmp_path / "memory.db", model=model, summaries=True) as again:
        assert [each.session for each in again.summaries.versions(SCOPE)] == ["s0", "s1"]


async def test_what_is_cancelled_before_it_began_is_not_done(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with await AsyncMemoryBank.open(path) as bank:
        await bank.remember(SCOPE, [("user", "I live in Ghent.")], session="s1")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        begun = asyncio.create_task(bank.remember(SCOPE, [("user", "This one has begun.")], session="begun"))
        while not bank._writer.jobs or not next(iter(bank._writer.jobs)).running():
            await asyncio.sleep(0.01)
        waiting = asyncio.create_task(bank.remember(SCOPE, [("user", "This one waits.")], session="waiting"))
        await asyncio.sleep(0)

        begun.cancel()
        waiting.cancel()
        other.execute("ROLLBACK")
        other.close()
        await asyncio.gather(begun, waiting, return_exceptions=True)

        assert begun.cancelled()
        assert waiting.cancelled()
        await bank.remember(SCOPE, [("user", "Behind them.")], session="last")
        assert await bank.sessions(SCOPE) == ["s1", "begun", "last"]


@pytest.mark.slow
async def test_cancelled_anywhere_a_bank_stays_whole(tmp_path: Path) -> None:
    draw = random.Random(7)
    pair = [("user", "A question of the user."), ("assistant", "And the answer to it.")]
    async with await AsyncMemoryBank.open(tmp_path / "memory.db") as bank:

        async def turn(number: int) -> None:
            await bank.remember(SCOPE, pair, session=f"s{number % 7}")
            await bank.recall(SCOPE, "What was the question?")

        for number in range(60):
            task = asyncio.create_task(turn(number))
            await asyncio.sleep(draw.random() * 0.01)
            task.cancel()
            await asyncio.wait([task])

        assert await bank.check() == ()
        await bank.derive(SCOPE)
        assert all(len(turn.messages) == 2 for turn in await bank.turns(SCOPE))
        assert (await bank.recall(SCOPE, "What was the question?")).hits


async def test_a_closed_bank_says_so_and_close_waits(tmp_path: Path) -> None:
    bank = await AsyncMemoryBank.open(tmp_path / "memory.db")
    writing = [asyncio.create_task(bank.remember(SCOPE, [("user", f"Number {n}.")], session="s1")) for n in range(10)]
    await asyncio.sleep(0)

    await bank.close()

    assert [(await each).new for each in writing] == [1] * 10
    with pytest.raises(StoreError, match="closed"):
        await bank.recall(SCOPE, "Anything?")
    with MemoryBank.open(tmp_path / "memory.db") as again:
        assert len(again.turns(SCOPE)) == 10


def test_a_number_of_threads_that_is_none_is_refused() -> None:
    with MemoryBank.open() as bank, pytest.raises(InvalidInput, match="threads"):
        AsyncMemoryBank(bank, threads=0)
