"""The arguments of everything public: typed, visible, and refused with a hint where they belong to something else."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")

import llama_index.core
from llama_index.core import memory, node_parser, postprocessor, retrievers, vector_stores
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import ChatMemoryBuffer, Memory
from llama_index.core.memory.memory import InsertMethod

import llamaindex_secom
from llamaindex_secom import (
    CitationNumberer,
    CitationReranker,
    LLMLinguaDenoiser,
    RecursiveSummaryMemoryBlock,
    SecomMemory,
    SecomMemoryBlock,
    SecomRetriever,
    SegmentNodeParser,
    SegmentTextSplitter,
    TimelinePostprocessor,
    TimelineRetriever,
    memory_tools,
)
from llamaindex_secom.memory_options import MemoryOptions
from secom_core import InvalidInput, MemoryBank
from secom_core.denoisers.informativeness import Informativeness

ANN = ("acme", "ann")

MAKERS: dict[str, Callable[..., Any]] = {
    "SecomMemory": lambda bank, **given: SecomMemory(scope=ANN, bank=bank, **given),
    "SecomMemoryBlock": lambda bank, **given: SecomMemoryBlock(scope=ANN, bank=bank, **given),
    "RecursiveSummaryMemoryBlock": lambda bank, **given: RecursiveSummaryMemoryBlock(scope=ANN, bank=bank, **given),
    "SecomRetriever": lambda bank, **given: SecomRetriever(bank, ANN, **given),
    "TimelineRetriever": lambda bank, **given: TimelineRetriever(bank, ANN, **given),
    "TimelinePostprocessor": lambda bank, **given: TimelinePostprocessor(bank, ANN, **given),
    "CitationNumberer": lambda bank, **given: CitationNumberer(bank, **given),
    "CitationReranker": lambda bank, **given: CitationReranker(bank, **given),
    "LLMLinguaDenoiser": lambda bank, **given: LLMLinguaDenoiser(Informativeness(), **given),
    "SegmentNodeParser": lambda bank, **given: SegmentNodeParser(**given),
    "SegmentTextSplitter": lambda bank, **given: SegmentTextSplitter.from_defaults(**given),
    "memory_tools": lambda bank, **given: memory_tools(bank, scope=ANN, **given),
}


@pytest.fixture(scope="module")
def bank() -> Iterator[MemoryBank]:
    with MemoryBank.open(summaries=True, timelines=True, citations=True) as bank:
        yield bank


def test_every_argument_of_everything_public_is_typed() -> None:
    # A chat model passes on what its language model takes.
    for name in set(llamaindex_secom.__all__) - {"LlamaIndexChatModel"}:
        made = getattr(llamaindex_secom, name)
        calls = [made] if inspect.isfunction(made) else [made.__init__] if inspect.isclass(made) else []
        calls += [made.from_defaults] if hasattr(made, "from_defaults") else []
        for call in calls:
            for each in inspect.signature(call).parameters.values():
                typed = each.kind is not each.VAR_KEYWORD or "Unpack[" in str(each.annotation)
                assert typed, f"{name} takes **{each.name}: {each.annotation}"


def test_from_defaults_takes_every_argument_of_the_memory() -> None:
    own = inspect.signature(SecomMemory.__init__).parameters.keys() - {"self", "saved"}
    assert own == MemoryOptions.__annotations__.keys() | (
        inspect.signature(SecomMemory.from_defaults).parameters.keys() & own
    )


@pytest.mark.parametrize("name", MAKERS)
def test_a_misspelt_argument_is_refused_with_the_one_that_is_meant(bank: MemoryBank, name: str) -> None:
    made = MAKERS[name]
    known = [each for each in inspect.signature(getattr(llamaindex_secom, name)).parameters if len(each) > 4]
    for argument in known[-3:]:
        with pytest.raises(InvalidInput, match=f"^{name} takes no {argument}x: "):
            made(bank, **{f"{argument}x": 1})


@pytest.mark.parametrize(
    ("name", "argument", "message"),
    [
        ("SecomMemory", "session_id", "SecomMemory takes no session_id: session is its name"),
        ("SecomMemory", "chat_store_key", "SecomMemory takes no chat_store_key: session is its name"),
        ("SecomMemory", "chat_store", "takes no chat_store: messages are kept in a bank, or in the file of store_path"),
        ("SecomMemory", "similarity_top_k", "takes no similarity_top_k: k says how many memories come back at most"),
        ("SecomMemory", "user_id", "takes no user_id: scope says whose memory it is"),
        ("SecomMemory", "cite", "takes no cite: citations says whether it takes in what answers cite"),
        ("SecomMemory", "inject", "takes no inject: insert_method says where recalled text goes"),
        ("SecomRetriever", "scope_keys", "takes no scope_keys: it is of one scope; make one for each user"),
        ("SecomMemory", "token_limt", "takes no token_limt: is token_limit meant?"),
        ("SecomMemoryBlock", "similarity_top_k", "takes no similarity_top_k: k says how many memories come back"),
        ("SecomRetriever", "similarity_top_k", "takes no similarity_top_k: k says how many memories come back"),
        ("memory_tools", "similarity_top_k", "takes no similarity_top_k: k says how many memories come back at most"),
        ("CitationReranker", "top_k", "takes no top_k: is top_n meant?"),
        ("SegmentTextSplitter", "overlap", "takes no overlap: it takes segmenter, chunk_size, model_version"),
        ("SegmentTextSplitter", "chunk_overlap", "takes no chunk_overlap: segments do not overlap"),
        ("SegmentTextSplitter", "separator", "takes no separator: text is cut where the subject changes"),
    ],
)
def test_a_foreign_name_gets_a_hint(bank: MemoryBank, name: str, argument: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        MAKERS[name](bank, **{argument: "x"})


def test_what_the_frameworks_own_classes_take_is_taken(bank: MemoryBank) -> None:
    manager = CallbackManager()
    assert SecomRetriever(bank, ANN, callback_manager=manager).callback_manager is manager
    assert CitationNumberer(bank, callback_manager=manager).callback_manager is manager
    assert SegmentNodeParser(include_metadata=False).include_metadata is False
    assert SecomMemoryBlock(scope=ANN, bank=bank, priority=2, name="long").priority == 2


# -- the memories of the framework ------------------------------------------------------------------------------------


def test_from_defaults_takes_what_the_frameworks_own_memories_take(bank: MemoryBank) -> None:
    history = [ChatMessage(role="user", content="one two three"), ChatMessage(role="assistant", content="four")]
    shared: dict[str, Any] = {"chat_history": history, "token_limit": 600, "tokenizer_fn": str.split}
    ours = SecomMemory.from_defaults(scope=ANN, bank=bank, insert_method=InsertMethod.SYSTEM, **shared)
    theirs = Memory.from_defaults(insert_method=InsertMethod.SYSTEM, **shared)
    assert ours.get_all() == theirs.get_all() == ChatMemoryBuffer.from_defaults(**shared).get_all()
    assert (ours.token_limit, ours.insert_method, len(ours.tokenizer_fn("a b c"))) == (600, "system", 3)
    by_model = ChatMemoryBuffer.from_defaults(history, MockLLM())
    assert SecomMemory.from_defaults(history, MockLLM(), scope=ANN, bank=bank).token_limit == by_model.token_limit


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"session_id": "monday"}, "takes no session_id: session is its name"),
        ({"chat_store_key": "monday"}, "takes no chat_store_key: session is its name"),
        ({"chat_history": "monday"}, "chat_history is a list of messages; session='monday' names a session"),
        ({"tokenizer_fn": str.split, "token_counter": len}, "give a token_counter or a tokenizer_fn, not both"),
        ({"window": 6}, "takes no window: the window is what token_limit leaves beside token_budget"),
        ({"token_limit": 0}, "token_limit is a whole number from 1 on, got 0"),
    ],
)
def test_from_defaults_says_what_it_takes(bank: MemoryBank, given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(message)):
        SecomMemory.from_defaults(scope=ANN, bank=bank, **given)


def test_no_public_name_hides_one_of_the_frameworks_own() -> None:
    places = (llama_index.core, memory, node_parser, postprocessor, retrievers, vector_stores)
    theirs = {name for each in places for name in dir(each)}
    assert not theirs & set(llamaindex_secom.__all__)


NO_MESSAGE = r"a message is a ChatMessage\(content, role=.*, got "


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda memory: memory.put("hi"), NO_MESSAGE + "'hi'"),
        (lambda memory: memory.put({"role": "user", "content": "hi"}), NO_MESSAGE + "{'role'"),
        (lambda memory: memory.set(["hi"]), NO_MESSAGE + "'hi'"),
        (lambda memory: memory.set("hi"), "messages is a list of ChatMessage, got 'hi'; put it in a list"),
        (lambda memory: memory.put_messages(ChatMessage("hi")), r"is a list of ChatMessage, got .*\[message\]"),
        (lambda memory: memory.set(5), "messages is a list of ChatMessage, got 5"),
        (
            lambda memory: SecomMemory(session="", scope=("c",), bank=memory.bank),
            "session is the name .* got ''; leave",
        ),
        (lambda memory: SecomMemory(session=3, scope=("c",), bank=memory.bank), "session is the name .* got 3"),
        (
            lambda memory: SecomMemory(insert_method="assistant", scope=("c",), bank=memory.bank),
            "insert_method is one of 'user', 'system', 'off', got 'assistant'",
        ),
        (
            lambda memory: SecomMemory(write="bg", scope=("c",), bank=memory.bank),
            "write is one of 'inline', 'background', got 'bg'",
        ),
        (
            lambda memory: SecomMemory(on_error="ignore", scope=("c",), bank=memory.bank),
            "on_error is one of 'warn', 'raise', got 'ignore'",
        ),
        (lambda memory: SecomMemory.from_defaults([{}], scope=("c",), bank=memory.bank), NO_MESSAGE + "{}"),
        (lambda memory: memory.get(5), "input is what the user says, a text or a ChatMessage, got 5"),
        (lambda _: SecomMemory(store_path=5, scope=("c",)), "store_path is a file, or the URL .* got 5"),
        (
            lambda _: SecomMemory(store_path="x.db", busy_timeout="x", scope=("c",)),
            "busy_timeout is .* got 'x'",
        ),
        (
            lambda memory: SecomMemoryBlock(scope=("c",), bank=memory.bank, citations=True),
            "or a CitationReward takes in",
        ),
    ],
)
def test_what_is_no_message_path_or_number_is_refused_by_name(call: Any, error: str) -> None:
    with MemoryBank.open() as bank, pytest.raises(InvalidInput, match=error):
        call(SecomMemory(bank=bank, scope=("c",)))


@pytest.mark.parametrize(
    ("name", "wrong", "says"),
    [
        ("memory_tools", {"actions": 5}, "actions are some of 'search', .*, got 5"),
        ("memory_tools", {"session": 5}, "session is a string .*, such as 'notes', got 5"),
        ("TimelineRetriever", {"n": "x"}, "n is a whole number from 1 on, got 'x'"),
        ("TimelineRetriever", {"visible_metadata": 5}, r"keys of the metadata, such as \['sessions'\], got 5"),
        ("SecomRetriever", {"empty": 5}, "empty is a string, got 5"),
    ],
)
def test_what_was_given_is_named(bank: MemoryBank, name: str, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        MAKERS[name](bank, **wrong)
