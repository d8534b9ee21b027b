"""LangChain messages to the core's and back, hits to documents and back."""

from __future__ import annotations

import json
import time
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")

from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from langchain_secom import SecomRetriever, SegmentTextSplitter
from langchain_secom.convert import (
    from_message,
    text_of,
    to_document,
    to_hits,
    to_message,
    to_messages,
    without_recalled,
)
from langchain_secom.messages import query_of
from secom_core.bank import MemoryBank
from secom_core.context import render
from secom_core.context.reading import with_ids
from secom_core.conversation import Message, group_messages
from secom_core.errors import InvalidInput, InvalidScope

NOON = datetime(2024, 5, 7, 12, tzinfo=timezone.utc)
BASE64 = "iVBORw0KGgoAAAANSUhEUgAA"


def call(name: str, id_: str, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "id": id_, "type": "tool_call"}


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (HumanMessage("a"), "user"),
        (AIMessage("a"), "assistant"),
        (SystemMessage("a"), "system"),
        (ToolMessage("a", tool_call_id="1"), "tool"),
        (FunctionMessage("a", name="f"), "tool"),
        (ChatMessage("a", role="human"), "user"),
        (ChatMessage("a", role="critic"), "critic"),
        (AIMessageChunk("a"), "assistant"),
    ],
)
def test_every_kind_of_message_has_its_role(message: BaseMessage, role: str) -> None:
    assert (to_message(message).role, to_message(message).text) == (role, "a")


def test_name_id_and_what_json_can_hold_are_kept() -> None:
    message = HumanMessage("Hi", name="Ann", id="m1", additional_kwargs={"mood": {"good": True}, "object": object()})
    assert to_message(message) == Message("Hi", "user", "Ann", "m1", metadata={"mood": {"good": True}})


@pytest.mark.parametrize(
    "stamp", [NOON, NOON.isoformat(), "2024-05-07T12:00:00Z", NOON.timestamp(), 1000 * NOON.timestamp()]
)
def test_timestamp_is_accepted(stamp: object) -> None:
    assert to_message(HumanMessage("Hi", additional_kwargs={"timestamp": stamp})).at == NOON


@pytest.mark.parametrize("stamp", ["yesterday", [2024], float("inf"), True])
def test_a_timestamp_that_is_no_time_is_named(stamp: object) -> None:
    with pytest.raises(InvalidInput, match="a timestamp is") as caught:
        to_message(HumanMessage("Hi", additional_kwargs={"timestamp": stamp}))
    assert repr(stamp) in str(caught.value)


def test_text_and_content_blocks_are_read_never_str_of_content() -> None:
    message = HumanMessage(
        content=[
            {"type": "text", "text": "Look:"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}},
            {"type": "audio", "base64": BASE64, "mime_type": "audio/wav"},
            {"type": "file", "base64": BASE64, "mime_type": "application/pdf"},
        ]
    )
    assert to_message(message).text == "Look:\n[image]\n[audio]\n[file]"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "text-plain", "text": "Rent: 900.", "title": "lease.txt"}, "[file: lease.txt]\nRent: 900."),
        ({"type": "text-plain", "text": " Rent:\n 900.", "mime_type": "text/plain"}, " Rent:\n 900."),
        (
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Rent: 900."}},
            "Rent: 900.",
        ),
        ({"type": "file", "base64": BASE64, "mime_type": "application/pdf", "filename": "a b.pdf"}, "[file: a b.pdf]"),
        (
            {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{BASE64}"}},
            "[file: a.pdf]",
        ),
        ({"type": "image", "url": "https://x.example/cat.png"}, "[image: https://x.example/cat.png]"),
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}}, "[image]"),
    ],
)
def test_plain_text_names_of_files_and_addresses_are_kept(block: dict[str, Any], text: str) -> None:
    assert to_message(HumanMessage([{"type": "text", "text": "Here:"}, block])).text == f"Here:\n{text}"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "input_image", "image_url": f"data:image/png;base64,{BASE64}"},
        {"type": "image_url", "image_url": f"data:image/png;base64,{BASE64}"},
        {"type": "media", "mime_type": "image/png", "data": BASE64},
    ],
)
def test_blocks_in_the_form_of_a_provider_are_read(block: dict[str, Any]) -> None:
    message = HumanMessage([block, {"type": "input_text", "text": "Whose cat is it?"}])
    assert to_message(message).text == "Whose cat is it?\n[image]"
    assert query_of(message) == "Whose cat is it?"
    assert to_message(HumanMessage([block])).text == "[image]"


def test_what_is_said_in_several_blocks_does_not_run_together() -> None:
    said = [{"type": "text", "text": "Two notes about Lena"}, {"type": "text", "text": "Her birthday is 4 May."}]
    lines = "Two notes about Lena\nHer birthday is 4 May."
    assert to_message(ToolMessage(said, tool_call_id="1")).text == lines  # as tools of an MCP server answer
    assert to_message(HumanMessage(said)).text == lines
    assert query_of(HumanMessage(said)) == lines


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([("text", "As "), ("text", "the lease"), ("text", " says.")], "As the lease says."),
        (
            [("text", "I'll look."), ("server_tool_use", ""), ("text", "May"), ("text", " it is.")],
            "I'll look.\nMay it is.",
        ),
        ([("text", "I'll look.", "msg_1"), ("text", "It is May.", "msg_2")], "I'll look.\nIt is May."),
    ],
)
def test_an_answer_is_divided_where_the_model_said_it_in_two(content: list[tuple[str, ...]], text: str) -> None:
    names = ("type", "text", "id")
    assert to_message(AIMessage([dict(zip(names, each, strict=False)) for each in content])).text == text


def test_of_a_spoken_answer_the_transcript_is_kept() -> None:
    spoken = {"id": "audio_1", "data": BASE64, "transcript": "Your cat is fine.", "expires_at": 1}
    assert to_message(AIMessage("", additional_kwargs={"audio": spoken})) == to_message(AIMessage("Your cat is fine."))


@pytest.mark.parametrize(
    "refused",
    [
        AIMessage([{"type": "refusal", "refusal": "I can't open locks."}]),
        AIMessage("", additional_kwargs={"refusal": "I can't open locks."}),
    ],
    ids=["block", "OpenAI's chat completions"],
)
def test_what_a_model_refuses_with_is_its_answer(refused: AIMessage) -> None:
    assert to_message(refused) == to_message(AIMessage("I can't open locks."))
    assert text_of(AIMessage("I can.", additional_kwargs={"refusal": None})) == "I can."


def test_reasoning_and_base64_are_dropped() -> None:
    message = AIMessage(
        content=[
            {"type": "reasoning", "reasoning": "secret thought"},
            {"type": "thinking", "thinking": "secret thought", "signature": BASE64},
            {"type": "image", "base64": BASE64, "mime_type": "image/png"},
            {"type": "text", "text": "It is red."},
        ],
        additional_kwargs={"reasoning_content": "secret thought"},
    )
    kept = to_message(message)
    assert kept.text == "It is red.\n[image]"
    assert "secret" not in json.dumps(dict(kept.metadata))


def test_the_thinking_of_a_local_model_is_dropped_and_what_a_user_writes_is_not() -> None:
    for text in ("<think>secret</think>\nIt is red.", "secret\n</think>\n\nIt is red."):
        assert text_of(AIMessage(text)) == "It is red."
        assert text_of(HumanMessage(text)) == text


def test_messages_that_a_framework_made_up_are_skipped_by_lc_source() -> None:
    summary = HumanMessage("Here is a summary", additional_kwargs={"lc_source": "summarization"})
    assert [m.text for m in to_messages([summary, HumanMessage("Hi")])] == ["Hi"]


def test_system_messages_removals_and_empty_messages_are_skipped() -> None:
    given = [SystemMessage("Be kind."), RemoveMessage(id="m1"), AIMessage(""), HumanMessage("  "), HumanMessage("Hi")]
    assert [m.text for m in to_messages(given)] == ["Hi"]


def test_a_tool_call_and_its_result_stay_together() -> None:
    given = [
        HumanMessage("The weather in Rome and Oslo?"),
        AIMessage("", tool_calls=[call("weather", "1", city="Rome"), call("weather", "2", city="Oslo")]),
        HumanMessage("Hurry."),
        ToolMessage("snow", tool_call_id="2"),
        ToolMessage("sun", tool_call_id="1"),
        AIMessage("Sun and snow."),
    ]
    messages = to_messages(given)
    assert [message.text for message in messages] == [
        "The weather in Rome and Oslo?",
        '[calls weather({"city": "Rome"})]\n[calls weather({"city": "Oslo"})]',
        "sun",
        "snow",
        "Hurry.",
        "Sun and snow.",
    ]
    assert [len(turn.messages) for turn in group_messages(messages)] == [4, 2]
    assert messages[2].metadata == {"tool_call_id": "1"}


def test_calls_whose_ids_begin_again_in_every_message_keep_all_their_results() -> None:
    given = [
        AIMessage("", tool_calls=[call("a", "call_0")]),
        ToolMessage("one", tool_call_id="call_0"),
        AIMessage("", tool_calls=[call("b", "call_0")]),
        ToolMessage("two", tool_call_id="call_0"),
    ]
    assert [m.text for m in to_messages(given)] == ["[calls a({})]", "one", "[calls b({})]", "two"]


def test_results_without_their_call_stay_where_they_are() -> None:
    given = [ToolMessage("lost", tool_call_id="9"), HumanMessage("Hi")]
    assert [m.text for m in to_messages(given)] == ["lost", "Hi"]


def test_tools_can_be_omitted() -> None:
    given = [
        HumanMessage("The weather?"),
        AIMessage("", tool_calls=[call("weather", "1")]),
        ToolMessage("sun", tool_call_id="1"),
        AIMessage("Let me see.", tool_calls=[call("weather", "2")]),
        ToolMessage("sun", tool_call_id="2"),
        AIMessage("Sun."),
    ]
    assert [m.text for m in to_messages(given, tools="omit")] == ["The weather?", "Let me see.", "Sun."]
    assert len(given[3].tool_calls) == 1
    with pytest.raises(InvalidInput, match="'none'"):
        to_messages(given, tools="none")  # type: ignore[arg-type]


def test_what_another_memory_tool_found_is_not_remembered_with_its_ids() -> None:
    with MemoryBank.open() as bank:
        bank.remember(("ann",), [("user", "Marta teaches me the violin.")], session="s1")
        found = with_ids(bank.recall(("ann",), "violin"), ("ann",))  # as `secom serve --mcp` answers
    assert "memory_id: [1] " in found
    call = AIMessage("", tool_calls=[{"name": "recall", "args": {}, "id": "1"}])
    [kept] = to_messages([call, ToolMessage([{"type": "text", "text": found}], tool_call_id="1")])
    assert kept.text == "[calls recall({})]"


def test_long_tool_results_and_arguments_are_shown_briefly() -> None:
    given = [
        AIMessage("", tool_calls=[call("write", "1", text="x" * 5000)]),
        ToolMessage("y" * 5000, tool_call_id="1"),
    ]
    assert all(len(message.text) < 600 for message in to_messages(given))


@pytest.mark.parametrize("gap", ["\n", " ", "\\n"], ids=["lines", "blanks", "lines in JSON"])
def test_a_result_that_is_full_of_white_space_is_read_at_once(gap: str) -> None:
    page = ToolMessage(f"Title{gap * 100_000}Footer", tool_call_id="1")
    began = time.thread_time()
    [kept] = to_messages([page])
    assert time.thread_time() - began < 5
    assert kept.text == f"{page.text[:250]}…{page.text[-250:]}"


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage("Hi", name="Ann", id="m1", additional_kwargs={"timestamp": NOON.isoformat(), "mood": "good"}),
        AIMessage("Hello", id="m2"),
        SystemMessage("Be kind."),
    ],
)
def test_a_message_comes_back_as_it_went_in(message: BaseMessage) -> None:
    assert from_message(to_message(message)) == message


def test_of_a_long_tool_result_the_end_is_kept_too_where_a_shell_tells_what_failed() -> None:
    begins, ends = "$ pytest -x\n", "FAILED test_rounding\n1 failed in 3.1s"
    output = f"{begins}{'tests/test_money.py::test_cents PASSED' * 200}{ends}"
    text = to_message(ToolMessage(output, tool_call_id="1")).text
    assert text.startswith(begins)
    assert text.endswith(ends)
    assert len(text) == 501


def test_a_tool_result_comes_back_as_something_every_model_accepts() -> None:
    assert isinstance(from_message(Message("sun", role="tool")), AIMessage)


@pytest.fixture
def bank() -> MemoryBank:
    bank = MemoryBank.open()
    messages = [
        Message("My dog Bello barks at the postman.", speaker="Ann", id="t1", at=NOON),
        Message("Dogs do.", role="assistant", at=NOON),
        Message("Bello is a terrier.", speaker="Ann", id="t2", at=NOON + timedelta(minutes=5)),
    ]
    bank.remember(("acme", "ann"), messages, session="monday", close=True)
    return bank


def test_a_hit_becomes_a_document_with_flat_json_metadata(bank: MemoryBank) -> None:
    hit = bank.recall(("acme", "ann"), "terrier dog Bello", token_budget=500).hits[0]
    document = to_document(hit, ("acme", "ann"))
    assert document.page_content == hit.text
    assert json.loads(json.dumps(document.metadata)) == document.metadata
    assert document.metadata == {
        "secom_memory_id": hit.memory.id,
        "session": "monday",
        "turn_ids": ["t1", "t2"],
        "speakers": ["Ann", "assistant"],
        "scope": ["acme", "ann"],
        "score": hit.relevance,
        "kind": "relevant",
        "number": 1,
        "excerpts": [],
        "begin": "2024-05-07T12:00:00+00:00",
        "end": "2024-05-07T12:05:00+00:00",
    }


def test_a_turn_of_another_day_comes_after_its_day() -> None:
    said = {3: "The zebra tour costs 12 euros.", 9: "Today the zebra tour was cancelled."}
    with MemoryBank.open(granularity="session") as bank:
        for day, text in said.items():
            at = datetime(2026, 3, day, 12, tzinfo=timezone.utc)
            bank.remember(("acme", "ann"), [("user", text)], session="s", at=at, close=day == 9)
        [found] = bank.recall(("acme", "ann"), "What about the zebra tour?", token_budget=200).hits
    assert to_document(found, ("acme", "ann")).page_content == (
        "user: The zebra tour costs 12 euros.\n2026-03-09 Mon\nuser: Today the zebra tour was cancelled."
    )


def test_document_ids_are_stable_and_hashed_so_that_no_two_scopes_meet(bank: MemoryBank) -> None:
    hit = bank.recall(("acme", "ann"), "terrier dog Bello").hits[0]
    scopes = [("acme", "ann"), ("acme.ann",), ("acme", "ann", "x"), ('acme", "ann',)]
    ids = [to_document(hit, scope).id for scope in scopes]
    assert len(set(ids)) == len(scopes)
    assert ids == [to_document(hit, scope).id for scope in scopes]
    with pytest.raises(InvalidScope):
        to_document(hit, ())


def test_documents_become_the_same_hits_again(bank: MemoryBank) -> None:
    hits = bank.recall(("acme", "ann"), "terrier dog Bello", token_budget=500).hits
    again = to_hits([to_document(hit, ("acme", "ann")) for hit in hits], bank)
    assert [(h.memory.id, h.turns, h.relevance, h.kind, h.number) for h in again] == [
        (h.memory.id, h.turns, h.relevance, h.kind, h.number) for h in hits
    ]


def test_documents_of_what_changed_become_hits_that_say_so_again() -> None:
    with MemoryBank.open(changes=True) as bank:
        for day, text in {3: "I live in Ghent.", 9: "I live in Antwerp now, no longer in Ghent."}.items():
            at = datetime(2026, 3, day, 12, tzinfo=timezone.utc)
            bank.remember(("acme", "ann"), [("user", text)], session=str(day), at=at, close=True)
        recall = bank.recall(("acme", "ann"), "Where do I live?")
        again = to_hits([to_document(hit, ("acme", "ann")) for hit in recall.hits], bank)
    assert '→ ("I live in Ghent." replaced on 2026-03-09 by [2])' in recall.text
    assert render(again) == recall.text


def test_documents_of_several_scopes_become_hits_that_say_whose_they_are(bank: MemoryBank) -> None:
    bank.remember(("acme", "team"), [("user", "Our terrier guards the office.")], session="t", close=True)
    recall = bank.recall(("acme", "ann"), "terrier dog Bello", also=[("acme", "team")])
    documents = [to_document(hit, hit.scope) for hit in recall.hits]
    assert render(to_hits(documents, bank)) == recall.text
    [team] = to_hits([each for each in documents if each.metadata["scope"] == ["acme", "team"]], bank)
    assert render([team]).count("(memory of acme / team) user: Our terrier") == 1


def test_a_memory_that_comes_in_pieces_or_twice_becomes_one_hit(bank: MemoryBank) -> None:
    [document] = SecomRetriever(bank=bank, scope=("acme", "ann"), k=1).invoke("terrier dog Bello")
    pieces = SegmentTextSplitter(chunk_size=20).split_documents([document])
    assert len(pieces) > 1
    assert render(to_hits([*pieces, document], bank)) == render(to_hits([document], bank))


def test_documents_of_two_retrievers_become_hits_with_numbers_of_their_own(bank: MemoryBank) -> None:
    bank.remember(("acme", "team"), [("user", "Our terrier guards the office.")], session="t", close=True)
    scopes = ("acme", "ann"), ("acme", "team")
    found = [SecomRetriever(bank=bank, scope=scope, k=1).invoke("terrier") for scope in scopes]
    hits = to_hits([document for documents in found for document in documents], bank)
    assert [(hit.number, hit.scope) for hit in hits] == [(1, scopes[0]), (2, scopes[1])]
    [document, *_] = found[0]
    del document.metadata["number"]
    assert [hit.number for hit in to_hits([document], bank)] == [1]


def test_a_document_whose_turns_were_forgotten_becomes_no_hit(bank: MemoryBank) -> None:
    documents = [to_document(hit, ("acme", "ann")) for hit in bank.recall(("acme", "ann"), "terrier dog").hits]
    bank.forget(("acme", "ann"))
    assert to_hits(documents, bank) == []


def test_a_foreign_document_is_no_hit(bank: MemoryBank) -> None:
    with pytest.raises(InvalidInput, match="web"):
        to_hits([Document("x", metadata={"source": "web"})], bank)


def test_recalled_text_is_stripped_and_nothing_else(bank: MemoryBank) -> None:
    block = bank.recall(("acme", "ann"), "terrier dog Bello").text
    assert block
    assert without_recalled(f"Before. {block}\nAfter.") == "Before. After."
    assert without_recalled("<memories>of Rome</memories>") == "<memories>of Rome</memories>"
    assert [m.text for m in to_messages([HumanMessage(f"{block}\nAnd now?")])] == ["And now?"]
    assert to_messages([HumanMessage(block)]) == []


def test_a_result_belongs_to_the_nearest_call_of_its_id_before_it() -> None:
    def calls(city: str) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": "weather", "args": {"city": city}, "id": "call_0"}])

    chat = [calls("Ghent"), HumanMessage("And Rome?"), calls("Rome"), HumanMessage("Well?")]
    chat.append(ToolMessage("sun", tool_call_id="call_0"))
    texts = [message.text for message in to_messages(chat)]
    assert texts[2:] == ['[calls weather({"city": "Rome"})]', "sun", "Well?"]
