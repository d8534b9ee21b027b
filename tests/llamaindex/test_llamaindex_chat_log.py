"""The chat of a session beside its turns: whole as it was left, and without what was edited away."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

from llama_index.core.base.llms.types import (
    ChatMessage,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)

from llamaindex_secom import SecomMemory
from llamaindex_secom.convert import text_of
from secom_core import InvalidInput, MemoryBank, StoreError
from secom_core.bank.records import Remembered
from secom_core.chats import ChatRecord

ANN = ("acme", "ann")


def user(text: str, **extra: Any) -> ChatMessage:
    return ChatMessage(role="user", content=text, additional_kwargs=extra)


def bot(text: str) -> ChatMessage:
    return ChatMessage(role="assistant", content=text)


SYSTEM = ChatMessage(role="system", content="You are kind.")
CALL = ChatMessage(
    role="assistant", blocks=[ToolCallBlock(tool_call_id="1", tool_name="rain", tool_kwargs={"at": "Ghent"})]
)
RESULT = ChatMessage(role="tool", content="Drizzle since seven.", additional_kwargs={"tool_call_id": "1"})
LEFT = [
    SYSTEM,
    user("Does it rain in Ghent?"),
    CALL,
    RESULT,
    ChatMessage(role="assistant", blocks=[ThinkingBlock(content="Short."), TextBlock(text="It does.")]),
    ChatMessage(role="user", blocks=[TextBlock(text="And here?"), ImageBlock(url="https://a.example/window.png")]),
    bot("Thought: I can see it.\nAnswer: It does not."),
    user("Thanks.", name="Ann", client="phone"),
    ChatMessage(role="system", content="Be brief from now on."),
    bot("You are welcome."),
]


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[MemoryBank]:
    with MemoryBank.open(tmp_path / "m.db") as bank:
        yield bank


def memory_of(bank: MemoryBank, **given: Any) -> SecomMemory:
    return SecomMemory(bank=bank, scope=ANN, **{"session": "now", **given})


def left_in(bank: MemoryBank) -> SecomMemory:
    """A memory whose session was left."""
    memory = memory_of(bank)
    for message in LEFT[:2]:
        memory.put(message)
    memory.put_messages(LEFT[2:5])
    for message in LEFT[5:]:
        memory.put(message)
    return memory


def said(bank: MemoryBank) -> list[list[str]]:
    return [[message.text for message in turn.messages] for turn in bank.turns(ANN, "now")]


def texts(messages: Sequence[ChatMessage]) -> list[str | None]:
    return [message.content for message in messages]


def test_a_session_resumed_by_name_equals_the_one_that_was_left(tmp_path: Path, bank: MemoryBank) -> None:
    assert left_in(bank).get_all() == LEFT
    assert memory_of(bank).get_all() == LEFT
    bank.close()
    with MemoryBank.open(tmp_path / "m.db") as again:
        resumed = memory_of(again)
        assert resumed.get_all() == LEFT
        resumed.put(bot("Bye."))
        assert memory_of(again).get_all() == [*LEFT, bot("Bye.")]


def test_what_others_remembered_after_it_follows(bank: MemoryBank) -> None:
    left_in(bank)
    bank.remember(ANN, [("user", "By telephone: it rains again.")], session="now")
    assert texts(memory_of(bank).get_all())[-2:] == ["You are welcome.", "By telephone: it rains again."]


TUESDAY = ChatMessage(role="system", content="Today is Tuesday.")
TALK = [user("My cat is Tuna."), bot("Nice."), user("My dog is Rex."), bot("Two animals!"), user("Bye."), bot("Bye!")]
EDITS: dict[str, tuple[list[ChatMessage], list[list[str]]]] = {
    "the last answer is to be made again": (
        TALK[:5],
        [["My cat is Tuna.", "Nice."], ["My dog is Rex.", "Two animals!"], ["Bye."]],
    ),
    "a question is asked otherwise": (
        [*TALK[:2], user("My dog is Max.")],
        [["My cat is Tuna.", "Nice."], ["My dog is Max."]],
    ),
    "an answer in the middle is another one": (
        [*TALK[:3], bot("A dog too!"), *TALK[4:]],
        [["My cat is Tuna.", "Nice."], ["My dog is Rex.", "A dog too!"], ["Bye.", "Bye!"]],
    ),
    "the first question, by its id": ([user("My cat is Salmon.", id="u1")], [["My cat is Salmon."]]),
    "the history goes on": ([*TALK, user("One more.")], [*(texts(TALK[i : i + 2]) for i in (0, 2, 4)), ["One more."]]),  # type: ignore[list-item]
    "the history is cut short": (TALK[4:], [texts(TALK[i : i + 2]) for i in (0, 2, 4)]),  # type: ignore[misc]
    "a greeting stays, and the rest is taken back": ([bot("Hi!")], [["Hi!"]]),
    "a greeting stays, and the first question is asked otherwise": (
        [bot("Hi!"), user("My cat is Max.")],
        [["Hi!"], ["My cat is Max."]],
    ),
    "a greeting stays before the end": (
        [bot("Hi!"), *TALK[4:]],
        [["Hi!"], *(texts(TALK[i : i + 2]) for i in (0, 2, 4))],  # type: ignore[list-item]
    ),
    "the history begins anew": ([user("Hello?")], [*(texts(TALK[i : i + 2]) for i in (0, 2, 4)), ["Hello?"]]),  # type: ignore[list-item]
}


@pytest.mark.slow
@pytest.mark.parametrize("write", ["inline", "background"])
@pytest.mark.parametrize("case", EDITS)
def test_what_was_edited_away_leaves_the_memory(bank: MemoryBank, case: str, write: Any) -> None:
    history, kept = EDITS[case]
    memory = memory_of(bank, write=write)
    greeting = [bot("Hi!")] if case.startswith("a greeting") else []
    memory.put_messages(
        [*greeting, user("My cat is Tuna.", id="u1"), *TALK[1:]] if case.endswith("id") else [*greeting, *TALK]
    )
    memory.set(history)
    assert said(bank) == kept
    assert texts(memory.get_all()) == texts(memory_of(bank).get_all()) == texts(history)
    memory.put(bot("Ciao!"))
    assert said(bank) == [*kept[:-1], [*kept[-1], "Ciao!"]]
    assert texts(memory_of(bank).get_all()) == [*texts(history), "Ciao!"]
    shown = {turn.id for turn in bank.turns(ANN, "now")}
    assert {entry.turn for entry in memory.window if entry.turn} <= shown


@pytest.mark.parametrize(
    ("old", "new", "gone"),
    [
        ("uaua", "uau", [3]),
        ("suaua", "s", []),
        ("uaua", "ua", [2, 3]),
        ("uaua", "sua", []),
        ("ua", "uas", []),
        ("uaua", "", []),
    ],
)
def test_a_history_that_only_became_shorter_retracts_nothing(
    bank: MemoryBank, old: str, new: str, gone: list[int]
) -> None:
    roles = {"u": "user", "a": "assistant", "s": "system"}

    def chat(letters: str) -> list[ChatMessage]:
        return [
            ChatMessage(role=roles[each], content=f"{each}{letters[:place].count(each)}")  # type: ignore[arg-type]
            for place, each in enumerate(letters)
        ]

    memory = memory_of(bank)
    memory.set(chat(old))
    before = [message.text for turn in bank.turns(ANN, "now") for message in turn.messages]
    memory.set(chat(new))
    said = [message.text for turn in bank.turns(ANN, "now") for message in turn.messages]
    assert [place for place, text in enumerate(before) if text not in said] == gone


def test_an_answer_that_is_said_twice_is_no_greeting(bank: MemoryBank) -> None:
    memory = memory_of(bank)
    for number, question in enumerate(["My cat is Tuna.", "My dog is Rex.", "Bye."]):
        # A front end that hands over the latest message and the question.
        memory.set([*([bot("Fine.")] if number else []), user(question)])
        memory.put(bot("Fine."))
    assert said(bank) == [["My cat is Tuna.", "Fine."], ["My dog is Rex.", "Fine."], ["Bye.", "Fine."]]


NEXT = [user("Next"), bot("Cats."), user("Next"), bot("Dogs."), user("Next"), bot("Eels.")]
REPEATS: dict[str, tuple[list[ChatMessage], list[str]]] = {
    "its end": (NEXT[2:], ["Next", "Cats.", "Next", "Dogs.", "Next", "Eels."]),
    "its end and a question": (
        [*NEXT[4:], user("Stop")],
        ["Next", "Cats.", "Next", "Dogs.", "Next", "Eels.", "Stop"],
    ),
    "its middle": (NEXT[2:5], ["Next", "Cats.", "Next", "Dogs.", "Next", "Eels."]),
    "its first question, which is answered again": (NEXT[:1], ["Next"]),
    "its beginning and another question": ([*NEXT[:2], user("Stop")], ["Next", "Cats.", "Stop"]),
    "all but an exchange": ([*NEXT[:2], *NEXT[4:]], ["Next", "Cats.", "Next", "Eels."]),
}


@pytest.mark.parametrize("case", REPEATS)
def test_a_history_begins_where_most_of_it_was_said_and_is_an_edit_only_from_the_beginning_on(
    bank: MemoryBank, case: str
) -> None:
    history, kept = REPEATS[case]
    memory = memory_of(bank)
    memory.set(NEXT)
    memory.set(history)
    assert [text for turn in said(bank) for text in turn] == kept
    assert texts(memory.get_all()) == texts(memory_of(bank).get_all()) == texts(history)


MIDDLES: dict[str, list[ChatMessage]] = {
    "its end, which begins with an answer": TALK[3:],
    "its middle": TALK[2:4],
    "its middle, between halves of exchanges": TALK[1:3],
    "its last question": TALK[4:5],
    "another system message and its beginning": [TUESDAY, *TALK[:2]],
    "its messages in another order": [*TALK[2:4], *TALK[:2]],
}


@pytest.mark.parametrize("case", MIDDLES)
@pytest.mark.parametrize("restarted", [False, True])
def test_a_history_that_was_cut_short_and_is_given_whole_again_is_known(
    bank: MemoryBank, case: str, restarted: bool
) -> None:
    memory = memory_of(bank)
    memory.set([SYSTEM, *TALK])
    before = bank.turns(ANN, "now")
    for history in (MIDDLES[case], [SYSTEM, *TALK], [SYSTEM, *TALK, user("And now?")]):
        memory = memory_of(bank) if restarted else memory
        memory.set(history)
        assert memory_of(bank).get_all() == memory.get_all() == history
    assert bank.turns(ANN, "now")[:-1] == before
    memory.set([SYSTEM, *TALK[:2], user("My dog is Max.")])
    assert said(bank) == [["My cat is Tuna.", "Nice."], ["My dog is Max."]], "an edit finds what was given again"
    assert memory_of(bank).get_all() == memory.get_all()


def test_what_a_shorter_history_leaves_out_at_its_end_stays_out(bank: MemoryBank) -> None:
    memory = memory_of(bank)
    memory.set(TALK)
    memory.set(TALK[2:4])
    assert memory_of(bank).get_all() == TALK[2:4]
    bank.remember(ANN, [("user", "By telephone: good night.")], session="now")
    assert texts(memory_of(bank).get_all()) == [*texts(TALK[2:4]), "By telephone: good night."]


def test_what_was_said_before_the_chat_and_is_said_again_is_new(bank: MemoryBank) -> None:
    memory = memory_of(bank)
    memory.set([user("Yes."), *TALK[1:4]])
    memory.set([*TALK[1:4], user("Yes.")])
    assert said(bank) == [["Yes.", "Nice."], ["My dog is Rex.", "Two animals!"], ["Yes."]]


@pytest.mark.parametrize(
    ("extra", "error"), [({"timestamp": "yesterday"}, "a timestamp is"), ({"id": "7"}, "id '7' already belongs")]
)
def test_a_history_that_is_refused_costs_nothing(bank: MemoryBank, extra: dict[str, Any], error: str) -> None:
    bank.remember(ANN, [{"role": "user", "content": "Hello.", "id": "7"}], session="other")
    memory = memory_of(bank)
    memory.set(TALK)
    before, epoch = bank.turns(ANN, "now"), bank.storage.epoch(ANN)
    edited = ChatMessage(role="assistant", content="How nice!", additional_kwargs=extra)
    with pytest.raises(InvalidInput, match=error):
        memory.set([TALK[0], edited, *TALK[2:]])
    assert (bank.turns(ANN, "now"), bank.storage.epoch(ANN)) == (before, epoch)
    assert memory.get_all() == memory_of(bank).get_all() == TALK


def numbered(*texts: str, first: int = 1) -> list[ChatMessage]:
    """Messages of the user and the assistant in turn, with ids."""
    messages = [(user, bot)[place % 2](text) for place, text in enumerate(texts)]
    for number, each in enumerate(messages, start=first):
        each.additional_kwargs["id"] = str(number)
    return messages


SPOKEN = [each for each in LEFT if each.role in ("user", "assistant") and each != CALL]
PLAIN = [bot((each.content or "").split("Answer: ")[-1]) if each.role == "assistant" else each for each in SPOKEN]
IDS = numbered("q1", "a1", "I live in Ghent.", "a2")
HISTORIES: dict[str, tuple[list[ChatMessage], list[ChatMessage], list[str]]] = {
    "plain": (
        LEFT,
        [*PLAIN, user("More?")],
        ["Does it rain in Ghent?", "It does.", "And here?\n[image: https://a.example/window.png]"],
    ),
    "cut short, edited by id": (IDS, numbered("I live in Lyon.", first=3), ["q1", "a1", "I live in Lyon."]),
    "another system message, edited by id": (
        IDS,
        [TUESDAY, *IDS[:2], *numbered("I live in Lyon.", first=3)],
        ["q1", "a1", "I live in Lyon."],
    ),
    "another system message, regenerated": (
        [SYSTEM, *TALK],
        [TUESDAY, *TALK[:5], bot("Ciao!")],
        ["My cat is Tuna.", "Nice.", "My dog is Rex.", "Two animals!", "Bye.", "Ciao!"],
    ),
    "an exchange left out": (TALK, [*TALK[:2], *TALK[4:]], ["My cat is Tuna.", "Nice.", "Bye.", "Bye!"]),
}


@pytest.mark.parametrize("case", HISTORIES)
def test_a_history_of_a_front_end_edits_what_it_says_and_no_more(bank: MemoryBank, case: str) -> None:
    left, handed_over, kept = HISTORIES[case]
    memory = memory_of(bank)
    memory.put_messages(left)
    before, epoch = bank.turns(ANN, "now"), bank.storage.epoch(ANN)
    memory.set(handed_over)
    said_then = [message.text for turn in bank.turns(ANN, "now") for message in turn.messages]
    assert said_then[: len(kept)] == kept
    if case == "plain":
        assert bank.turns(ANN, "now")[:-1] == before, "with its ids and times"
        assert bank.storage.epoch(ANN) == epoch
    else:
        assert len(said_then) == len(kept)
    assert texts(memory.get_all()) == texts(memory_of(bank).get_all()) == texts(handed_over)


BIRD, OTHER = ImageBlock(image=b"aaaa", image_mimetype="image/png"), ImageBlock(url="https://a.example/wren.png")
BILL = DocumentBlock(data=b"Invoice 77: 40 euros.", title="bill.txt", document_mimetype="text/plain")


def attaching(text: str, *attached: Any) -> ChatMessage:
    return ChatMessage(role="user", blocks=[*([TextBlock(text=text)] if text else []), *attached])


ATTACHED = [
    *(attaching("Which bird is it?", BIRD), bot("A robin.")),
    *(attaching("What do I owe?", BILL), bot("40 euros.")),
    *(attaching("", OTHER), bot("A wren.")),
]


@pytest.mark.parametrize("first", [0, 2])
@pytest.mark.parametrize("is_new", [False, True])
def test_a_history_without_attachments_leaves_them_remembered(bank: MemoryBank, first: int, *, is_new: bool) -> None:
    memory = memory_of(bank)
    memory.put_messages(ATTACHED)
    before, epoch = bank.turns(ANN, "now"), bank.storage.epoch(ANN)
    if is_new:
        memory = memory_of(bank)
    words = [ChatMessage(role=each.role, content=each.content or "") for each in ATTACHED]
    memory.set([*words[first:], attaching("And this one?", BIRD)])
    assert bank.turns(ANN, "now")[:-1] == before
    assert bank.storage.epoch(ANN) == epoch
    assert said(bank)[1:] == [
        ["What do I owe?\n[document: bill.txt]\nInvoice 77: 40 euros.", "40 euros."],
        ["[image: https://a.example/wren.png]", "A wren."],
        ["And this one?\n[image]"],
    ]
    assert memory.get_all()[:-1] == ATTACHED[first:], "the model sees it as it did"
    memory.set([*words[first:3], bot("Nothing.")])
    assert said(bank)[-1] == ["What do I owe?\n[document: bill.txt]\nInvoice 77: 40 euros.", "Nothing."]


def test_a_history_that_gives_back_what_was_attached_may_leave_some_of_it_out(bank: MemoryBank) -> None:
    memory = memory_of(bank)
    memory.put_messages(ATTACHED)
    memory.set([*ATTACHED[:2], attaching("What do I owe?"), bot("I do not know.")])
    assert said(bank) == [["Which bird is it?\n[image]", "A robin."], ["What do I owe?", "I do not know."]]
    assert memory_of(bank).get_all()[2] == attaching("What do I owe?")


def looked(number: int) -> list[ChatMessage]:
    """An exchange of which a front end shows the question and the answer."""
    call = ToolCallBlock(tool_call_id=str(number), tool_name="look", tool_kwargs={})
    step = ChatMessage(role="assistant", blocks=[TextBlock(text=f"Let me look up {number}."), call])
    result = ChatMessage(role="tool", content="found", additional_kwargs={"tool_call_id": str(number)})
    return [user(f"Question {number}?"), step, result, bot(f"Answer {number}.")]


def shown(*numbers: int) -> list[ChatMessage]:
    return [message for number in numbers for message in (looked(number)[0], looked(number)[3])]


def kept_of(*numbers: int) -> list[list[str]]:
    return [[f"Question {number}?", f"Let me look up {number}.", f"Answer {number}."] for number in numbers]


PAGES: dict[str, tuple[list[ChatMessage], list[list[str]]]] = {
    "goes on": ([*shown(1, 2, 3), user("Bye.")], [*kept_of(1, 2, 3), ["Bye."]]),
    "the last answer is to be made again": (shown(1, 2, 3)[:-1], [*kept_of(1, 2), ["Question 3?"]]),
    "the last question is asked otherwise": ([*shown(1, 2), user("Why?")], [*kept_of(1, 2), ["Why?"]]),
    "an earlier question is asked otherwise": ([*shown(1), user("Why?")], [*kept_of(1), ["Why?"]]),
    "an earlier answer is another one": (
        [*shown(1), user("Question 2?"), bot("Two."), *shown(3)],
        [*kept_of(1), ["Question 2?", "Two."], *kept_of(3)],
    ),
    "an exchange is left out": (shown(1, 3), kept_of(1, 3)),
    "the last exchange is taken back": (shown(1, 2), kept_of(1, 2)),
    "the beginning is cut off": (shown(3), kept_of(1, 2, 3)),
}


@pytest.mark.parametrize("case", PAGES)
@pytest.mark.parametrize("each_time", [False, True])
def test_what_an_agent_says_beside_its_calls_stays_and_goes_with_the_answer_whatever_a_page_hands_over(
    bank: MemoryBank, case: str, each_time: bool
) -> None:
    history, kept = PAGES[case]
    for number in (1, 2, 3):
        memory = memory_of(bank)
        if each_time:
            memory.set(shown(*range(1, number)))
        memory.put_messages(looked(number))
    turns, epoch = bank.turns(ANN, "now"), bank.storage.epoch(ANN)
    memory.set(history)
    assert said(bank) == kept
    assert texts(memory.get_all()) == texts(memory_of(bank).get_all()) == texts(history)
    if kept[:3] == kept_of(1, 2, 3):
        assert (bank.turns(ANN, "now")[:3], bank.storage.epoch(ANN)) == (turns, epoch), "nothing is stored again"


def test_a_history_given_again_to_a_bank_that_redacts_is_known() -> None:
    with MemoryBank.open(redact=lambda text: text.replace("4711K", "[PIN]")) as bank:
        memory_of(bank).set([user("My PIN is 4711K."), bot("Noted.")])
        turns, epoch = bank.turns(ANN, "now"), bank.storage.epoch(ANN)
        memory_of(bank).set([user("My PIN is 4711K."), bot("Noted."), user("Bye.")])
        memory_of(bank).set([user("My PIN is 4711K."), bot("Noted."), user("Bye.")])
        assert said(bank) == [["My PIN is [PIN].", "Noted."], ["Bye."]]
        assert (bank.turns(ANN, "now")[:1], bank.storage.epoch(ANN)) == (turns, epoch)


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("Marta [1].", "Marta."),
        ("Marta [1]. Her number is `book[9]` [9].", "Marta. Her number is `book[9]` [9]."),
    ],
)
def test_an_answer_with_its_markers_is_the_answer_that_is_known(answer: str, kept: str) -> None:
    with MemoryBank.open(citations=True) as bank:
        bank.remember(ANN, [("user", "My violin teacher is Marta.")], session="old", close=True)
        memory = memory_of(bank, citations=True)
        memory.put(user("Who teaches me?"))
        memory.get()
        memory.put(bot(answer))
        for each in (memory, memory_of(bank, citations=True)):
            each.set([user("Who teaches me?"), bot(answer)])
            assert said(bank) == [["Who teaches me?", kept]]
            assert texts(each.get_all()) == ["Who teaches me?", kept]


def test_answers_with_their_markers_are_known_after_a_history_without_them() -> None:
    with MemoryBank.open(citations=True) as bank:
        bank.remember(ANN, [("user", "My violin teacher is Marta.")], session="old", close=True)
        memory = memory_of(bank, citations=True)
        page = [user("Who teaches me?"), bot("Marta [1], on page [9]."), user("Since when?"), bot("May [1].")]
        for asked, answer in (page[:2], page[2:]):
            memory.put(asked)
            memory.get()
            memory.put(answer)
        held = bank.turns(ANN, "now")
        memory.set(page[2:])
        memory.set(page)
        assert bank.turns(ANN, "now") == held
        assert texts(memory.get_all()) == [message.text for turn in held for message in turn.messages]


@pytest.mark.parametrize("new", [[], [TUESDAY]])
def test_a_chat_that_is_set_to_nothing_stays_so(bank: MemoryBank, new: list[ChatMessage]) -> None:
    memory = left_in(bank)
    memory.set(new)
    assert memory_of(bank).get_all() == new
    assert len(bank.turns(ANN, "now")) == 3, "what was said stays remembered"
    memory.put(user("And now?"))
    assert memory_of(bank).get_all() == [*new, user("And now?")]


def test_what_was_forgotten_for_an_edit_is_put_back_where_the_new_words_cannot_be_stored(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = left_in(bank)
    before = bank.turns(ANN, "now")
    remember, calls = MemoryBank.remember, count()

    def failing(self: MemoryBank, *given: Any, **more: Any) -> Remembered:
        if next(calls) == 0:
            raise StoreError("the disk is full")
        return remember(self, *given, **more)

    monkeypatch.setattr(MemoryBank, "remember", failing)
    memory.on_error = "raise"
    with pytest.raises(StoreError, match="the disk is full"):
        memory.set([*LEFT[:4], bot("It pours."), *LEFT[5:]])
    assert bank.turns(ANN, "now") == before
    assert memory.get_all() == memory_of(bank).get_all() == LEFT


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize(("forgotten", "given"), [(0, ["b", "B", "c2"]), (1, ["a", "A", "c2", "C2", "d", "D"])])
def test_an_edit_in_a_history_without_what_was_forgotten_is_seen(
    bank: MemoryBank, forgotten: int, given: list[str], read: bool
) -> None:
    memory = memory_of(bank)
    memory.put_messages([user(text) if text.islower() else bot(text) for text in "aAbBcCdD"])
    bank.forget(ANN, turn_ids=[bank.turns(ANN, "now")[forgotten].id])
    if read:
        memory.get()
    memory.set([user(text) if text.islower() else bot(text) for text in given])
    assert [text for turn in said(bank) for text in turn] == given
    assert [message.content for message in memory.get_all()] == given


def test_what_was_forgotten_and_is_handed_over_again_is_not_remembered_again(bank: MemoryBank) -> None:
    memory = memory_of(bank)
    history = [user(text) if text.islower() else bot(text) for text in "aAbBcC"]
    memory.put_messages(history)
    bank.forget(ANN, turn_ids=[bank.turns(ANN, "now")[1].id])
    memory.set(history[:-1])
    memory.put(bot("D"))
    assert said(bank) == [["a", "A"], ["c", "D"]]


def test_a_turn_that_is_forgotten_takes_the_results_of_its_tools_with_it(tmp_path: Path, bank: MemoryBank) -> None:
    memory = left_in(bank)
    bank.forget(ANN, turn_ids=[bank.turns(ANN, "now")[0].id])
    assert memory.get_all() == [SYSTEM, *LEFT[5:]] == memory_of(bank).get_all()
    bank.close()
    assert b"Drizzle" not in (tmp_path / "m.db").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("act", [SecomMemory.flush, SecomMemory.reset])
def test_what_a_restored_memory_keeps_first_goes_with_its_turn(tmp_path: Path, bank: MemoryBank, act: Any) -> None:
    memory = memory_of(bank)
    memory.put(user("Does it rain in Ghent?"))
    with closing(sqlite3.connect(tmp_path / "m.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        memory.put_messages([CALL, RESULT])
        other.execute("COMMIT")
    act(SecomMemory.from_dict(memory.to_dict(), bank=bank))
    (turn,) = bank.turns(ANN, "now")
    assert [each.turn_id for each in bank.chats.read(ANN, "now")] == [turn.id] * 3
    bank.forget(ANN, turn_ids=[turn.id])
    assert memory_of(bank).get_all() == []


@pytest.mark.parametrize("write", ["inline", "background"])
@pytest.mark.parametrize("remember_tools", [False, True])
def test_what_json_cannot_hold_in_a_block_costs_no_message(bank: MemoryBank, remember_tools: bool, write: Any) -> None:
    memory = memory_of(bank, remember_tools=remember_tools, write=write)
    signed = ThinkingBlock(content="Let me see.", additional_information={"signature": b"\xff\x00", "model": "x"})
    call = ToolCallBlock(tool_call_id="1", tool_name="rain", tool_kwargs={"at": "Ghent", "map": len, "on": {1: 2}})
    put = [
        user("Does it rain?", map=len),
        ChatMessage(role="assistant", blocks=[signed, TextBlock(text="I look."), call], additional_kwargs={"o": len}),
        RESULT,
        ChatMessage(role="assistant", blocks=[signed, TextBlock(text="It drizzles.")]),
    ]
    for message in put:
        memory.put(message)
    assert memory.get()[1:] == put[1:]
    assert memory.flush()
    assert json.dumps(memory.to_dict())
    left = memory_of(bank).get_all()
    assert [message.content for message in left] == [message.content for message in put]
    assert left[1].blocks[0] == ThinkingBlock(content="Let me see.", additional_information={"model": "x"})
    assert left[1].blocks[2] == call.model_copy(update={"tool_kwargs": {"at": "Ghent", "on": {}}})
    assert said(bank)[0][-1] == "It drizzles."


def test_redaction_holds_in_the_chat_and_in_what_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryBank.open(path, redact=lambda text: text.replace("4711K", "[PIN]")) as bank:
        memory = memory_of(bank)
        memory.put(ChatMessage(role="system", content="The PIN is 4711K."))
        assert "4711K" not in memory.to_json(), "it waits for the session to begin"
        result = ChatMessage(
            role="tool", content="4711K", additional_kwargs={"tool_call_id": "id-4711K", "raw": {"pin": "4711K"}}
        )
        memory.put_messages([user("My PIN is 4711K."), result, bot("I know 4711K.")])
        resumed = memory_of(bank).get_all()
    assert texts(resumed) == ["The PIN is [PIN].", "My PIN is [PIN].", "[PIN]", "I know [PIN]."]
    assert resumed[2].additional_kwargs == {"tool_call_id": "id-4711K", "raw": {"pin": "[PIN]"}}
    assert b"4711K" not in path.read_bytes().replace(b"id-4711K", b"")


def test_what_a_tool_is_called_with_is_redacted_whatever_its_arguments_are_named(tmp_path: Path) -> None:
    path, given = tmp_path / "m.db", {"data": "4711K", "paid": "with 4711K", "card_id": "4711K", "session": ["4711K"]}
    call = {"id": "id-4711K", "function": {"name": "pay", "arguments": given}}
    picture = ImageBlock(image=b"aaaa", image_mimetype="image/png")
    asked = ToolCallBlock(tool_call_id="id-4711K", tool_name="pay", tool_kwargs=given)
    told = {"tool_call_id": "id-4711K", "data": "4711K", "said": "4711K"}
    said = [
        user("Pay."),
        ChatMessage(role="assistant", blocks=[asked]),
        ChatMessage(role="assistant", content="", additional_kwargs={"tool_calls": [call]}),
        ChatMessage(role="tool", content="OK", additional_kwargs=told),
        ChatMessage(role="user", blocks=[TextBlock(text="Look."), picture]),
    ]
    with MemoryBank.open(path, redact=lambda text: text.replace("4711K", "[PIN]").replace("YWFhYQ", "[a]")) as bank:
        memory_of(bank).put_messages(said)
        resumed = memory_of(bank).get_all()
    assert resumed[1].blocks[0].tool_kwargs == {
        "data": "[PIN]",
        "paid": "with [PIN]",
        "card_id": "[PIN]",
        "session": ["[PIN]"],
    }
    assert resumed[2].additional_kwargs["tool_calls"][0]["id"] == "id-4711K"
    assert resumed[4].blocks[1] == picture
    assert b"4711K" not in path.read_bytes().replace(b"id-4711K", b"")


@pytest.mark.slow
def test_a_long_session_is_neither_in_the_window_nor_in_what_is_saved(bank: MemoryBank) -> None:
    memory = memory_of(bank, token_limit=300, token_budget=100)
    everything = []
    for number in range(50):
        exchange = [user(f"The number of house {number} is {number * 7}."), bot(f"House {number}, noted.")]
        memory.put_messages(exchange)
        everything += exchange
    whole = memory_of(bank, token_limit=300, token_budget=100)
    assert max(len(memory.window), len(whole.window)) < 100
    assert memory.get_all() == whole.get_all() == everything
    assert memory.get("Hello?")[:-1] == whole.get("Hello?")[:-1]
    assert len(memory.to_json()) < 2000
    memory.set(everything[:-1])
    assert len(bank.turns(ANN, "now")) == 50, "the last answer alone is retracted"
    assert len(bank.turns(ANN, "now")[-1].messages) == 1


def test_a_chat_moves_leaves_and_comes_back_with_its_scope(tmp_path: Path, bank: MemoryBank) -> None:
    left_in(bank)
    with MemoryBank.open(tmp_path / "moved.db") as moved, MemoryBank.open(tmp_path / "back.db") as back:
        bank.storage.move_to(moved.storage)
        assert memory_of(moved).get_all() == LEFT
        lines = list(bank.storage.export(ANN))
        for _ in range(2):
            back.storage.import_(lines)
            assert memory_of(back).get_all() == LEFT
        assert back.forget(ANN) == 3
        assert back.chats.read(ANN, "now") == []
        assert not back.chats.write(ANN, "now", [ChatRecord(None, None, {})]), "there is no such session"


def test_a_damaged_message_of_a_chat_is_set_aside(tmp_path: Path, bank: MemoryBank) -> None:
    left_in(bank)
    with closing(sqlite3.connect(tmp_path / "m.db")) as file:
        file.execute("UPDATE chat_messages SET body = '[' WHERE place = 3")
        file.execute("UPDATE chat_messages SET body = '{\"message\": 7}' WHERE place = 2")
        file.commit()
    with pytest.warns(Warning, match="chat_messages"):
        resumed = memory_of(bank).get_all()
    assert resumed == [*LEFT[:2], *LEFT[4:]]


def test_a_message_whose_picture_is_gone_keeps_its_words(tmp_path: Path, bank: MemoryBank) -> None:
    picture = tmp_path / "upload.png"
    picture.write_bytes(b"\x89PNG")
    memory = memory_of(bank)
    memory.put(ChatMessage(role="user", blocks=[TextBlock(text="Which bird is it?"), ImageBlock(path=picture)]))
    memory.put(bot("A wren."))
    assert memory_of(bank).get_all() == memory.get_all()
    picture.unlink()  # as an upload, which is deleted when it was answered
    [asked, answer] = memory_of(bank).get_all()
    assert (text_of(asked), text_of(answer)) == (f"Which bird is it?\n[image: {picture}]", "A wren.")


@pytest.mark.parametrize("remember_tools", [False, True])
def test_a_result_of_a_tool_whose_picture_is_gone_still_answers_its_call(
    tmp_path: Path, bank: MemoryBank, remember_tools: bool
) -> None:
    picture = tmp_path / "screen.png"
    picture.write_bytes(b"\x89PNG")
    memory = memory_of(bank, remember_tools=remember_tools)
    memory.put(user("What is on the screen?"))
    call = ToolCallBlock(tool_call_id="c1", tool_name="screen", tool_kwargs={})
    memory.put(ChatMessage(role="assistant", blocks=[call]))
    blocks = [TextBlock(text="Taken."), ImageBlock(path=picture)]
    memory.put(ChatMessage(role="tool", blocks=blocks, additional_kwargs={"tool_call_id": "c1"}))
    memory.put(bot("A wren."))
    picture.unlink()
    [_, asked, result, _] = memory_of(bank, remember_tools=remember_tools).get_all()
    assert asked.blocks == [call]
    assert (result.role, result.additional_kwargs["tool_call_id"]) == ("tool", "c1")
    assert text_of(result) == f"Taken.\n[image: {picture}]"


def test_a_message_and_its_form_in_the_framework_are_written_in_one_transaction(
    bank: MemoryBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = memory_of(bank)
    monkeypatch.setattr(bank.chats, "write", lambda *_, **__: pytest.fail("the chat had a transaction of its own"))
    memory.put_messages([SYSTEM, user("Does it rain in Ghent?", client="phone"), CALL, RESULT, bot("It does.")])
    memory.put(user("Thanks."))
    turns = [turn.id for turn in bank.turns(ANN, "now")]
    assert [each.turn_id for each in bank.chats.read(ANN, "now")] == [None, *[turns[0]] * 4, turns[1]]
    assert memory_of(bank).get_all() == memory.get_all()


def test_words_are_stored_where_the_chat_alone_cannot_be_written(tmp_path: Path, bank: MemoryBank) -> None:
    memory = memory_of(bank)
    memory.put(user("Does it rain in Ghent?"))
    with closing(sqlite3.connect(tmp_path / "m.db")) as file:
        file.execute("ALTER TABLE chat_messages RENAME TO elsewhere")
        with pytest.warns(Warning, match="kept with the next ones"):
            memory.put(bot("It does."))
        assert [message.text for turn in bank.turns(ANN) for message in turn.messages][-1] == "It does."
        file.execute("ALTER TABLE elsewhere RENAME TO chat_messages")
    memory.put(user("Thanks.", client="phone"))
    assert [each.name for each in bank.chats.read(ANN, "now")] == [entry.name for entry in memory.window]
    assert memory_of(bank).get_all() == memory.get_all()


@pytest.mark.parametrize("write", ["inline", "background"])
@pytest.mark.parametrize("slow", ["tea", "dog"])
@pytest.mark.parametrize("goes_elsewhere", [False, True])
def test_two_questions_at_once_keep_their_own_answers(
    bank: MemoryBank, goes_elsewhere: bool, slow: str, write: Any
) -> None:
    tea, dog = memory_of(bank, write=write), memory_of(bank, write=write)
    tea.put_messages([SYSTEM, user("Which tea keeps me awake?")])
    dog.put(user("How old do dogs get?"))
    if goes_elsewhere:
        memory_of(bank, session="another", write=write).put(user("Who is Rex?"))
    answers = {"tea": (tea, [CALL, RESULT, bot("Assam.")]), "dog": (dog, [bot("Ten to thirteen years.")])}
    for name in sorted(answers, key=slow.__eq__):
        memory, answer = answers[name]
        memory.put_messages(answer)
    turns = [[message.text for message in turn.messages] for turn in bank.turns(ANN, "now")]
    assert turns == [["Which tea keeps me awake?", "Assam."], ["How old do dogs get?", "Ten to thirteen years."]]
    whole = [SYSTEM, user("Which tea keeps me awake?"), CALL, RESULT, bot("Assam.")]
    whole += [user("How old do dogs get?"), bot("Ten to thirteen years.")]
    assert memory_of(bank).get_all() == whole
    tea.put(user("Thanks!"))
    assert memory_of(bank).get_all() == [*whole, user("Thanks!")]


@pytest.mark.parametrize("first", ["Assam.", "Ten to thirteen years."])
def test_a_history_in_the_order_in_which_answers_came_is_stored_once(bank: MemoryBank, first: str) -> None:
    tea, dog = memory_of(bank), memory_of(bank)
    tea.put(user("Which tea keeps me awake?"))
    dog.put(user("How old do dogs get?"))
    answers = {"Assam.": tea, "Ten to thirteen years.": dog}
    came = sorted(answers, key=first.__ne__)
    for text in came:
        answers[text].put(bot(text))
    held = bank.turns(ANN, "now")
    shown = [user("Which tea keeps me awake?"), user("How old do dogs get?"), *map(bot, came)]
    memory_of(bank).set(shown)
    assert bank.turns(ANN, "now") == held
    memory_of(bank).set([*shown, user("Thanks!")])
    assert bank.turns(ANN, "now")[:-1] == held
