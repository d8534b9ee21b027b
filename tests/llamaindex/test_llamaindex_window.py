"""The window of a session with long replies: shortened, in order, within the limit, and what is cut can be recalled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.base.llms.types import ChatMessage, MessageRole, ToolCallBlock

from llamaindex_secom import SecomMemory, SecomRetriever
from llamaindex_secom.cutting import without_middle
from llamaindex_secom.window import WindowEntry, fitting
from secom_core import MemoryBank
from secom_core.text.terms import count_tokens, sentences

ANN = ("acme", "ann")
QUESTION = "How do I build a garden wall?"


def user(text: str) -> ChatMessage:
    return ChatMessage(role="user", content=text)


def bot(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


def call(id_: str) -> ChatMessage:
    return ChatMessage(role="assistant", blocks=[ToolCallBlock(tool_call_id=id_, tool_name="weather")])


def result(id_: str, text: str) -> ChatMessage:
    return ChatMessage(role="tool", content=text, additional_kwargs={"tool_call_id": id_})


def reply(characters: int) -> str:
    """A reply whose middle names what is asked for later."""
    steps = [f"Step {n}: lay the stones of row {n} and check them with the level." for n in range(1000)]
    text = " ".join(steps)[:characters]
    middle = text.find("Step", len(text) // 2)
    return f"{text[:middle]}The mortar of the arch is Heron lime. {text[middle:]}".rstrip() + "."


def texts(messages: list[ChatMessage]) -> list[str]:
    return [str(message.content) for message in messages]


def entries(*messages: ChatMessage) -> list[WindowEntry]:
    return [WindowEntry(message=message, turn=f"t{n}") for n, message in enumerate(messages)]


def shown(window: list[WindowEntry], room: int) -> list[str]:
    return texts([entry.message for entry in fitting(window, room, count_tokens)])


@pytest.mark.slow
@pytest.mark.parametrize("characters", [500, 7_000, 11_000, 20_000])
@pytest.mark.parametrize("token_limit", [1500, 3000])
async def test_an_earlier_exchange_that_is_too_long_is_shown_shortened(
    tmp_path: Path, characters: int, token_limit: int
) -> None:
    said = reply(characters)
    with MemoryBank.open(tmp_path / "m.db") as bank:
        memory = SecomMemory(scope=ANN, session="now", bank=bank, token_limit=token_limit)
        memory.put_messages([user("Good morning"), bot("Good morning!"), user(QUESTION), bot(said)])
        memory.put(user("Which mortar goes into the arch?"))
        messages = memory.get()
        assert await memory.aget() == messages
        room = token_limit - memory.token_budget
        everything = memory.get_all()
    *earlier, question, answer, last = texts(messages)
    assert sum(map(count_tokens, texts(messages))) <= token_limit
    assert question == QUESTION
    assert last.endswith("Which mortar goes into the arch?")
    assert everything[3].content == said, "nothing is lost"
    if count_tokens(said) < room - 30:
        assert (earlier, answer) == (["Good morning", "Good morning!"], said)
        return
    begin, _, end = answer.partition(" […] ")
    assert said.startswith(begin)
    assert said.endswith(end)
    assert {*sentences(begin), *sentences(end)} <= {*sentences(said)}, "cut at sentences"
    assert count_tokens(answer) > room - 120, "as far as the budget allows"
    assert "Heron lime" in last, "what was cut can be recalled"


def test_the_newest_exchange_that_is_too_long_is_shortened_and_none_before_it_is_left_out_of_order() -> None:
    window = entries(user("one"), bot("two"), user("three"), bot(reply(3000)), user("four"), bot("five"), user("six"))
    for room in range(5, 800, 7):
        fitted = fitting(window, room, count_tokens)
        said = texts([entry.message for entry in fitted])
        assert sum(map(count_tokens, said)) <= room
        assert said[-1] == "six"
        if "three" in said:
            assert said[-3:-1] == ["four", "five"]
            assert "[…]" in said[said.index("three") + 1] or "two" in said
    assert shown(window, 800)[0] == "one"
    assert shown(window, 100)[-5] == "three"
    assert shown(window, 15) == ["four", "five", "six"]


def test_what_is_shown_in_part_names_no_turn_so_that_its_rest_is_recalled() -> None:
    window = entries(user("one"), bot(reply(3000)), user("two"))
    assert [entry.turn for entry in fitting(window, 200, count_tokens)] == [None, None, "t2"]
    assert [entry.turn for entry in fitting(window, 2000, count_tokens)] == ["t0", "t1", "t2"]
    assert [entry.turn for entry in window] == ["t0", "t1", "t2"]


def test_the_users_own_words_are_cut_only_where_they_leave_no_room_for_the_answer() -> None:
    page = reply(6000)
    asked, answer, _ = shown(entries(user(page), bot("It is a wall. Build it."), user("Why?")), 300)
    assert "[…]" in asked
    assert answer == "It is a wall. Build it."
    asked, answer, _ = shown(entries(user(page), bot(page), user("Why?")), 300)
    assert count_tokens(asked) > 3 * count_tokens(answer) > 60


def test_tools_of_a_long_exchange_are_left_out_whole() -> None:
    steps = [message for n in range(4) for message in (call(f"{n}"), result(f"{n}", "word " * 40))]
    window = entries(user("Rain?"), *steps, bot(reply(3000)), user("Why?"))
    roles = [entry.message.role for entry in fitting(window, 200, count_tokens)]
    assert roles == [MessageRole.USER, MessageRole.ASSISTANT, MessageRole.USER]
    window = entries(user("Rain?"), *steps, bot("No rain."), user("Why?"))
    fitted = [entry.message for entry in fitting(window, 200, count_tokens)]
    calls = [block.tool_call_id for each in fitted for block in each.blocks if isinstance(block, ToolCallBlock)]
    answered = [each.additional_kwargs["tool_call_id"] for each in fitted if each.role == MessageRole.TOOL]
    assert calls == answered == ["2", "3"], "the latest that fit"
    assert fitted[-2].content == "No rain."


def test_an_answer_that_nothing_follows_yet_is_shortened_too() -> None:
    """As context chat engines read: before they put the query."""
    asked, answer = shown(entries(user("one"), bot(reply(20_000))), 500)
    assert asked == "one"
    assert "[…]" in answer
    assert count_tokens(answer) < 500


@pytest.mark.slow
@given(
    kinds=st.lists(st.sampled_from(["system", "user", "bot", "tools"]), max_size=12),
    sizes=st.lists(st.integers(1, 90), min_size=12, max_size=12),
    room=st.integers(1, 300),
)
@settings(max_examples=150, deadline=None)
def test_any_window_keeps_order_limit_and_tools(kinds: list[str], sizes: list[int], room: int) -> None:
    made: list[ChatMessage] = []
    for place, (kind, size) in enumerate(zip(kinds, sizes, strict=False)):
        words = ". ".join([f"{place} word"] * size)
        made += {
            "system": [ChatMessage(role="system", content=words)],
            "user": [user(words)],
            "bot": [bot(words)],
            "tools": [call(f"{place}"), result(f"{place}", words), result(f"{place}", words)],
        }[kind]
    window = entries(*made)
    fitted = [entry.message for entry in fitting(window, room, count_tokens)]
    places = [place_of(message, made) for message in fitted]
    assert places == sorted(set(places)), "each once, and in order"
    answered = [each.additional_kwargs["tool_call_id"] for each in fitted if each.role == MessageRole.TOOL]
    called = [block.tool_call_id for each in fitted for block in each.blocks if isinstance(block, ToolCallBlock)]
    assert answered == [id_ for id_ in called for _ in range(2)]
    assert [each for each in fitted if each.role == MessageRole.SYSTEM] == [each for each in made if is_system(each)]
    users = [each for each in fitted if each.role == MessageRole.USER]
    used = sum(count_tokens(each.content or "") for each in fitted)
    # Only what is pinned, and the exchange that is being answered, may be over the limit.
    assert used <= room or len(users) <= 1


def is_system(message: ChatMessage) -> bool:
    return message.role == MessageRole.SYSTEM


def place_of(message: ChatMessage, made: list[ChatMessage]) -> int:
    """The place of a message, which may be shortened: its words begin with its number."""
    same = [place for place, each in enumerate(made) if each is message]
    begin = str(message.content).split()[0] if message.content else ""
    alike = [n for n, each in enumerate(made) if each.role == message.role and str(each.content).split()[:1] == [begin]]
    return (same or alike)[0]


@pytest.mark.slow
@given(text=st.text(max_size=400), room=st.integers(0, 60))
@settings(max_examples=150, deadline=None)
def test_any_text_is_cut_to_what_fits(text: str, room: int) -> None:
    short = without_middle(text, room, count_tokens)
    if short is not None:
        assert count_tokens(short) <= room
        begin, mark, end = short.partition(" […] ")
        assert text == short or (mark and text.startswith(begin) and text.endswith(end))


@pytest.mark.slow
@pytest.mark.parametrize("characters", [7_000, 11_000, 20_000])
def test_memory_of_long_replies_is_never_empty(tmp_path: Path, characters: int) -> None:
    with MemoryBank.open(tmp_path / "m.db") as bank:
        talk = [("user", QUESTION), ("assistant", reply(characters))]
        bank.remember(ANN, talk, session="monday", close=True)
        for query in ("Which mortar goes into the arch?", "Tell me more.", "zeppelin", "What did we talk about?"):
            nodes = SecomRetriever(bank, ANN, token_budget=2000).retrieve(query)
            assert [node.metadata["session"] for node in nodes] == ["monday"]
            assert sum(count_tokens(node.node.get_content()) for node in nodes) <= 2000
            memory = SecomMemory(scope=ANN, bank=bank, token_limit=1500)
            memory.put(user(query))
            messages = memory.get()
            assert memory.last_recall is not None
            assert [hit.memory.session for hit in memory.last_recall.hits] == ["monday"]
            assert sum(map(count_tokens, texts(messages))) <= 1500
            bank.forget(ANN, session=memory.session)
        (best, *_) = SecomRetriever(bank, ANN, token_budget=2000).retrieve("Which mortar goes into the arch?")
        assert "Heron lime" in best.node.get_content()
        memory = SecomMemory(scope=ANN, bank=bank, token_limit=1500)
        memory.put(user("Which mortar goes into the arch?"))
        assert "Heron lime" in texts(memory.get())[-1]


@pytest.mark.slow
@pytest.mark.parametrize("answer", [None, "I don't know what you are allergic to."])
@pytest.mark.parametrize("repeats", [31, 300])
def test_a_question_that_was_asked_often_does_not_hide_its_answer(
    tmp_path: Path, repeats: int, answer: str | None
) -> None:
    query = "What am I allergic to?"
    asked: list[Any] = [("user", query), *([("assistant", answer)] if answer else [])]
    with MemoryBank.open(tmp_path / "m.db") as bank:
        bank.remember(ANN, [("user", "I'm allergic to peanuts."), ("assistant", "I see.")], session="first", close=True)
        for number in range(repeats):
            bank.remember(ANN, asked, session=f"s{number // 10}", later=True)
        for budget in (200, 1000):
            memory = SecomMemory(scope=ANN, bank=bank, token_limit=4000, token_budget=budget)
            memory.put(user(query))
            assert "I'm allergic to peanuts." in texts(memory.get())[-1]
            nodes = SecomRetriever(bank, ANN, token_budget=budget).retrieve(query)
            assert any("I'm allergic to peanuts." in node.node.get_content() for node in nodes)
            bank.forget(ANN, session=memory.session)


@pytest.mark.parametrize("budget", range(150, 600, 50))
def test_what_the_user_said_is_shown_before_long_replies(tmp_path: Path, budget: int) -> None:
    said = ["My sourdough starter lives in the pantry.", "Help me tidy a shelf."]
    with MemoryBank.open(tmp_path / "m.db") as bank:
        for place, text in enumerate(said):
            talk = [("user", text), ("assistant", f"{place}. {reply(5_500)}")]
            bank.remember(ANN, talk, session=f"s{place}", close=True)
        memory = SecomMemory(scope=ANN, bank=bank, token_limit=1500, token_budget=budget)
        memory.put(user("Does anybody fly zeppelins?"))
        block = texts(memory.get())[-1]
        assert [text for text in said if text not in block] == []
        nodes = SecomRetriever(bank, ANN, token_budget=budget).retrieve("Does anybody fly zeppelins?")
        assert [text for text in said if not any(text in node.node.get_content() for node in nodes)] == []
