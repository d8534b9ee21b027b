"""What `MemoryBank.open` refuses, and what it says; and that nothing that fails after storing reaches the caller."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from secom_core.bank import AsyncMemoryBank, MemoryBank
from secom_core.citations import RerankerOptions
from secom_core.conversation import Turn
from secom_core.errors import DegradedWarning, InvalidInput, MissingExtra, ModelUnavailable, StoreError
from secom_core.layers import ClosedSession, Layer, register, unregister
from secom_core.memory import Segment
from secom_core.models import SentenceTransformerEmbedder
from secom_core.segmenters import LexicalSegmenter
from secom_core.testing import ScriptedEmbedder

ANN = ("acme", "ann")
TALK = [
    {"role": "user", "content": "I moved to Ghent in May.", "id": "m1"},
    {"role": "assistant", "content": "How do you like it?", "id": "m2"},
    {"role": "user", "content": "My cat Mila hates the stairs.", "id": "m3"},
]


@pytest.mark.parametrize("path", ["memory.db", Path("memory.db"), None])
def test_a_bank_that_is_made_by_its_class_says_how_one_is_opened(path: Any) -> None:
    with pytest.raises(InvalidInput, match=r"open a bank with MemoryBank\.open\('memory\.db'\), not MemoryBank\("):
        MemoryBank(path)


def test_a_scope_that_is_missing_is_shown_by_an_example() -> None:
    with MemoryBank.open() as bank, pytest.raises(InvalidInput, match=r"such as \('acme', 'alice'\), got \(\)"):
        bank.recall((), "Where do I live?")


def langchain_embeddings() -> object:
    fake = pytest.importorskip("langchain_core.embeddings", reason="the extra 'langchain' is not installed")
    return fake.DeterministicFakeEmbedding(size=8)


def langchain_chat_model() -> object:
    fake = pytest.importorskip("langchain_core.language_models", reason="the extra 'langchain' is not installed")
    return fake.FakeListChatModel(responses=["x"])


def langchain_vector_store() -> object:
    stores = pytest.importorskip("langchain_core.vectorstores", reason="the extra 'langchain' is not installed")
    return stores.InMemoryVectorStore(langchain_embeddings())


def llamaindex_llm() -> object:
    return pytest.importorskip("llama_index.core.llms", reason="the extra 'llamaindex' is not installed").MockLLM()


def llamaindex_embedding() -> object:
    core = pytest.importorskip("llama_index.core.embeddings", reason="the extra 'llamaindex' is not installed")
    return core.MockEmbedding(embed_dim=8)


WRONG: dict[str, tuple[Callable[[], dict[str, Any]], str]] = {
    "an embedder's name": (
        lambda: {"embedder": "all-MiniLM-L6-v2"},
        "embedder is an object with a name and embed(texts), got 'all-MiniLM-L6-v2'; make one with "
        "secom_core.models.SentenceTransformerEmbedder('all-MiniLM-L6-v2')",
    ),
    "an embedder's class": (
        lambda: {"embedder": SentenceTransformerEmbedder},
        "embedder is an object with a name and embed(texts), got the class SentenceTransformerEmbedder; make one with "
        "secom_core.models.SentenceTransformerEmbedder('all-MiniLM-L6-v2')",
    ),
    "an embedder of LangChain": (
        lambda: {"embedder": langchain_embeddings()},
        "embedder is an object with a name and embed(texts), got DeterministicFakeEmbedding(size=8); make one with "
        "langchain_secom.LangChainEmbedder(embeddings)",
    ),
    "an embedder of LlamaIndex": (
        lambda: {"embedder": llamaindex_embedding()},
        "make one with llamaindex_secom.LlamaIndexEmbedder(embed_model)",
    ),
    "a model's name": (
        lambda: {"model": "gpt-4o"},
        "model is an object with complete(prompt), got 'gpt-4o'; make one with secom_core.models.OpenAIModel('gpt-4o')",
    ),
    "a model of LangChain": (
        lambda: {"model": langchain_chat_model()},
        "make one with langchain_secom.LangChainChatModel(model)",
    ),
    # It has a method complete, too, which takes something else.
    "a model of LlamaIndex": (
        lambda: {"model": llamaindex_llm()},
        "make one with llamaindex_secom.LlamaIndexChatModel(llm)",
    ),
    "a segmenter's name": (
        lambda: {"segmenter": "lexical"},
        "segmenter is an object with segment(turns), got 'lexical'; make one with "
        "secom_core.segmenters.LexicalSegmenter()",
    ),
    "a denoiser's name": (
        lambda: {"denoiser": "llmlingua"},
        "denoiser is an object with denoise(texts, statistics), got 'llmlingua'; make one with "
        "secom_core.denoisers.Informativeness()",
    ),
    "a vector store of LangChain": (
        lambda: {"vector_store": langchain_vector_store()},
        "make one with langchain_secom.LangChainVectorStore(vector_store)",
    ),
    "a token counter's name": (
        lambda: {"token_counter": "gpt-4"},
        "token_counter is a function that takes a text and gives a number of tokens, got 'gpt-4'; make one with "
        "lambda text: len(encoding.encode(text)), with an encoding of tiktoken",
    ),
    "a token counter that gives tokens": (
        lambda: {"token_counter": str.split},
        "token_counter is a function that takes a text and gives a number of tokens; this one gave "
        "['How', 'many', 'tokens', 'is', 'this?']",
    ),
    "a negative memory": (lambda: {"max_memory": -1}, "max_memory is a whole number from 1 on, got -1"),
    "no scopes": (lambda: {"max_scopes": 0}, "max_scopes is a whole number from 1 on, got 0"),
    "a word for topics": (
        lambda: {"topics": "yes"},
        "topics is True, False or secom_core.topics.TopicOptions(…), got 'yes'",
    ),
    "options of another layer": (
        lambda: {"timelines": RerankerOptions()},
        "timelines is True, False or secom_core.timelines.TimelineOptions(…), got RerankerOptions(",
    ),
    "a unit that is none": (
        lambda: {"granularity": "word"},
        "granularity is one of 'segment', 'turn', 'session', got 'word'",
    ),
    "a segmenter for whole turns": (
        lambda: {"granularity": "turn", "segmenter": LexicalSegmenter()},
        "granularity 'turn' takes no segmenter",
    ),
    "a signal that is none": (lambda: {"weights": {"bm25": 1.0}}, "no signal is called 'bm25'; there are ["),
    "a weight that is none": (
        lambda: {"weights": {"recency": float("nan")}},
        "the weight of 'recency' is a finite number, got nan",
    ),
    "weights as a list": (lambda: {"weights": [1.0]}, "weights are numbers by signal"),
    "a pattern to redact": (
        lambda: {"redact": r"\d{16}"},
        "redact is a function that takes a text and gives it back without what must not be kept, got '\\\\d{16}'",
    ),
    "a preset's name": (lambda: {"preset": "secom"}, "preset is one of secom_core.presets, such as"),
    "a layer's name": (
        lambda: {"layers": ["summaries"]},
        "layers are classes that secom_core.layers.register knows, got ['summaries']; a layer of the package is an "
        "argument of its own, such as summaries=True",
    ),
    "the paper's reranker without vectors": (
        lambda: {"vector_store": Nowhere(), "citations": RerankerOptions()},
        "the paper's reranker learns from vectors in the bank; open it with embedder=, not vector_store=",
    ),
}


class Nowhere:
    """A vector store that holds nothing."""

    name = "nowhere"

    def upsert(self, documents: Any) -> None: ...

    def delete(self, ids: Any) -> None: ...

    def existing(self, ids: Any) -> set[str]:
        return set()

    def search(self, scope: str, query: str, k: int) -> list[str]:
        return []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "message"),
    [
        (None, "a bank is in a file, ':memory:' or postgresql://…, got None"),
        (5, "got 5"),
        ("", "got ''"),
        ("/", "a bank is one file, and '/' is a folder; name a file in it"),
    ],
)
def test_what_is_no_place_of_a_bank_is_refused(place: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        MemoryBank.open(place)


def test_a_folder_that_cannot_be_made_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("no folder")
    with pytest.raises(StoreError, match=r"notes.bank.db' cannot be opened: .*; name a file in a folder that you can"):
        MemoryBank.open(tmp_path / "notes" / "bank.db")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="this folder, in which nobody can make a file, is Linux's")
def test_a_folder_in_which_no_file_can_be_made_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(StoreError, match=r"/proc/memory.db cannot be opened; .* a folder that you can write to"):
        MemoryBank.open("/proc/memory.db")


def test_a_layer_that_nobody_has_is_no_switch_of_open() -> None:
    with (
        MemoryBank.open() as bank,
        pytest.raises(InvalidInput, match=r"no layer is called 'nope'; .*topics") as refused,
    ):
        bank.recall(ANN, "Where?", layers=["nope"])
    assert "changes" not in str(refused.value), "which a recall would refuse"


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_part_is_refused_before_anything_is_opened(wrong: str, tmp_path: Path) -> None:
    make, message = WRONG[wrong]
    with pytest.raises(InvalidInput) as refused:
        MemoryBank.open(tmp_path / "bank.db", **make())
    assert message in str(refused.value)
    assert not (tmp_path / "bank.db").exists()


def test_an_unknown_part_is_an_error_of_the_call() -> None:
    with pytest.raises(TypeError, match="embeder"):
        MemoryBank.open(embeder=ScriptedEmbedder())  # type: ignore[call-arg]


# -- once stored -------------------------------------------------------------------------------------------------------


class Failing:
    """A part of any kind that raises the same whatever it is asked."""

    name = "failing"

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def segment(self, turns: Any) -> list[Segment]:
        raise self._error

    def denoise(self, texts: Any, statistics: Any = None) -> list[str]:
        raise self._error

    def embed(self, texts: Any) -> Any:
        raise self._error

    def complete(self, prompt: Any) -> str:
        raise self._error


ERRORS = [
    RuntimeError("out of memory"),
    ValueError("bad shape"),
    KeyError("weights"),
    ZeroDivisionError("division by zero"),
    TypeError("unexpected keyword"),
    AssertionError("cannot be"),
    RecursionError("too deep"),
    OSError(28, "No space left on device"),
    MissingExtra("an embedder", "dense"),
    ModelUnavailable("503"),
    UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
    StopIteration(),
]


@pytest.mark.slow
@pytest.mark.parametrize("part", ["segmenter", "denoiser", "embedder"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_part_that_fails_costs_no_words_and_no_exception(part: str, error: Exception, tmp_path: Path) -> None:
    with MemoryBank.open(tmp_path / "bank.db", **{part: Failing(error)}) as bank:
        # Of an embedder that fails it is the segmenter over it that says so.
        failed = "segmenter" if part == "embedder" else part
        with pytest.warns(
            DegradedWarning, match=f"(?s)the {failed} failed.*({type(error).__name__}|{error})"
        ) as raised:
            done = bank.remember(ANN, TALK, session="monday", close=True)
        assert (done.new, sum(each.category is DegradedWarning for each in raised)) == (3, 1)
        assert raised[0].filename == __file__, "a warning points at who called the package"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegradedWarning)
            again = bank.remember(ANN, TALK, session="monday", close=True)
            assert (again.turn_ids, again.new) == (done.turn_ids, 0)
            assert bank.stats(ANN).messages == 3
            assert "Ghent" in bank.recall(ANN, "Where did I move?").text
    with MemoryBank.open(tmp_path / "bank.db") as bank:
        assert [turn.messages[0].text for turn in bank.turns(ANN, "monday")] == [TALK[0]["content"], TALK[2]["content"]]


class WrongShapes:
    """An embedder that gives as many vectors as it likes."""

    name = "wrong"

    def embed(self, texts: Any) -> Any:
        return np.ones((len(texts) + 1, 4), dtype=np.float32)


class Overlapping:
    """A segmenter that loses a turn."""

    def segment(self, turns: list[Turn]) -> list[Segment]:
        return [Segment(0, 1)]


def test_parts_that_lie_are_parts_that_fail() -> None:
    with MemoryBank.open(embedder=WrongShapes(), segmenter=Overlapping()) as bank:
        with pytest.warns(DegradedWarning, match="segments end at turn 1, the session has 2"):
            bank.remember(ANN, TALK, session="monday")
        with pytest.warns(DegradedWarning, match="the embedder failed"):
            assert "Ghent" in bank.recall(ANN, "Where did I move?").text


@pytest.mark.slow
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_layer_that_fails_costs_neither_words_nor_other_layers(error: Exception) -> None:
    @register
    class Grumpy(Layer):
        name = "grumpy"

        def make(self, session: ClosedSession) -> bool:
            raise error

    try:
        with MemoryBank.open(layers=[Grumpy], timelines=True) as bank:
            with pytest.warns(DegradedWarning, match=f"the layer 'grumpy' failed.*{type(error).__name__}") as raised:
                done = bank.remember(ANN, TALK, session="monday", close=True)
            assert (done.new, len(raised)) == (3, 1)
            assert bank.timelines.events(ANN)
            assert bank.layers.behind(ANN, "grumpy") == 1
    finally:
        unregister("grumpy")


def test_a_store_that_fails_while_deriving_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryBank.open() as bank:

        def full(*args: object, **kwargs: object) -> bool:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as broken:
            broken.setattr(bank._store, "save_memories", full)
            with pytest.warns(DegradedWarning, match="the messages are stored.*No space left") as raised:
                assert bank.remember(ANN, TALK, session="monday").new == 3
            assert sum(each.category is DegradedWarning for each in raised) == 1
        assert "Ghent" in bank.recall(ANN, "Where did I move?").text


@pytest.mark.parametrize("close", [False, True])
def test_when_remember_raises_nothing_was_stored(close: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryBank.open() as bank:
        wrong = [*TALK, {"role": "user", "content": "Another one.", "id": "m1"}]
        with pytest.raises(InvalidInput, match="id 'm1' already belongs"):
            bank.remember(ANN, wrong, session="monday", close=close)
        assert (bank.scopes(), bank.stats(ANN).messages) == ([], 0)
        bank.remember(ANN, TALK[:1], session="monday")
        with pytest.raises(InvalidInput, match="id 'm1' already belongs"):
            bank.remember(ANN, wrong[1:], session="monday", close=close)
        assert bank.stats(ANN).messages == 1


# -- calls -------------------------------------------------------------------------------------------------------------

NO_MOMENTS: dict[str, Callable[[MemoryBank], Any]] = {
    "recall": lambda bank: bank.recall(ANN, "Where?", now="today"),
    "forget": lambda bank: bank.forget(ANN, before="2024"),
    "remember": lambda bank: bank.remember(ANN, TALK, session="tuesday", at="2024"),
    "correct": lambda bank: bank.correct(ANN, "m1", "I moved to Bruges.", at="x"),
    "retract": lambda bank: bank.corrections.retract(ANN, "m1", at="x"),
    "end_expired": lambda bank: bank.lifetimes.end_expired("x"),
    "end_idle_sessions": lambda bank: bank.end_idle_sessions(""),
}


@pytest.mark.parametrize("call", NO_MOMENTS)
def test_what_is_no_moment_is_refused(call: str) -> None:
    with MemoryBank.open() as bank:
        bank.remember(ANN, TALK, session="monday")
        with pytest.raises(InvalidInput, match=r"(now|before|at) is a datetime, such as .* got '"):
            NO_MOMENTS[call](bank)
        assert bank.stats(ANN).messages == 3


NO_NAMES: dict[str, Callable[[MemoryBank], Any]] = {
    "forget session": lambda bank: bank.forget(ANN, session=5),
    "forget turns": lambda bank: bank.forget(ANN, turn_ids=[5]),
    "turns": lambda bank: bank.turns(ANN, 5),
    "turns by id": lambda bank: bank.turns(ANN, turn_ids=[5]),
    "close_session": lambda bank: bank.close_session(ANN, None),
    "exclude": lambda bank: bank.recall(ANN, "Where?", exclude="m1"),
}


@pytest.mark.parametrize("call", NO_NAMES)
def test_what_names_no_session_or_turn_is_refused(call: str) -> None:
    with MemoryBank.open() as bank:
        bank.remember(ANN, TALK, session="monday")
        with pytest.raises(InvalidInput, match=r"is a sequence of ids|a session is named by a string"):
            NO_NAMES[call](bank)
        assert bank.stats(ANN).messages == 3


def test_no_messages_are_refused_and_no_context_is_none() -> None:
    with MemoryBank.open() as bank:
        with pytest.raises(InvalidInput, match="messages come as a list of messages, dicts or pairs, not None"):
            bank.remember(ANN, None, session="monday")  # type: ignore[arg-type]
        bank.remember(ANN, TALK, session="monday")
        assert "Ghent" in bank.recall(ANN, "Where did I move?", context=None).text


@pytest.mark.parametrize(
    ("module", "name", "package"),
    [
        ("langchain_core.messages", "HumanMessage", "langchain_secom"),
        ("llama_index.core.llms", "ChatMessage", "llamaindex_secom"),
    ],
)
def test_a_message_of_a_framework_is_refused_with_what_reads_it(module: str, name: str, package: str) -> None:
    message = getattr(pytest.importorskip(module), name)(content="I live in Ghent.")
    with MemoryBank.open() as bank, pytest.raises(InvalidInput, match=rf"{package}\.convert\.to_messages"):
        bank.remember(ANN, [message], session="monday")


@pytest.mark.parametrize(
    ("module", "name", "words"),
    [
        ("langchain_core.documents", "Document", "page_content"),
        ("llama_index.core.schema", "TextNode", "text"),
        ("llama_index.core.schema", "Document", "text"),
    ],
)
def test_a_document_of_a_framework_is_said_to_be_no_message(module: str, name: str, words: str) -> None:
    document = getattr(pytest.importorskip(module), name)(**{words: "I live in Ghent."})
    with MemoryBank.open() as bank, pytest.raises(InvalidInput, match=f"a {name} is no message; give what was said"):
        bank.remember(ANN, [document], session="monday")


@pytest.mark.parametrize("bank", ["x.db", None, 5])
def test_a_bank_for_event_loops_takes_a_bank(bank: Any) -> None:
    with pytest.raises(InvalidInput, match=r"AsyncMemoryBank needs a MemoryBank, got .*MemoryBank\.open"):
        AsyncMemoryBank(bank)
