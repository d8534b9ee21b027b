"""LangChain's models where the core takes one, over real HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

from http_agent import skip_if_config_is_lost
from http_chat import HttpChatModel, HttpEmbeddings
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda

from langchain_secom import LangChainChatModel, LangChainEmbedder, SegmentTextSplitter, open_bank
from langchain_secom.models import as_chat_model, as_embedder, as_segmenter
from secom_core.errors import DegradedWarning, InvalidInput
from secom_core.llm.flow import AsyncChatModel, ChatModel, Prompt
from secom_core.memory import Segment, segments_of
from secom_core.segmenters.fixed import EachTurn
from secom_core.segmenters.lexical import LexicalSegmenter
from secom_core.segmenters.zero_shot_prompt import as_jsonl
from secom_core.testing import Fault, ScriptedEmbedder, ScriptedModel, ScriptedRequest, ScriptedServer


def test_a_chat_model_is_a_chat_model_of_the_core() -> None:
    with ScriptedServer("Paris") as server:
        model = LangChainChatModel(HttpChatModel(base_url=server.base_url), temperature=0)
        assert isinstance(model, ChatModel)
        assert isinstance(model, AsyncChatModel)
        assert model.complete(Prompt("The capital of France?", system="Be brief.")) == "Paris"
        assert server.requests[0].messages == (("system", "Be brief."), ("user", "The capital of France?"))
        assert server.requests[0].body["temperature"] == 0


def test_a_chat_model_says_which_it_is() -> None:
    class Named(FakeListChatModel):
        model_name: str = "tiny-1"

    assert LangChainChatModel(Named(responses=["x"])).name == "Named:tiny-1"
    assert LangChainChatModel(FakeListChatModel(responses=["x"])).name == "FakeListChatModel"


def test_thinking_is_no_part_of_the_answer() -> None:
    assert LangChainChatModel(FakeListChatModel(responses=["<think>hm</think>Paris"])).complete(Prompt("?")) == "Paris"


class Recorder(BaseCallbackHandler):
    def __init__(self) -> None:
        self.calls: list[tuple[list[str], dict[str, Any]]] = []
        self.tokens: list[str] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.calls.append((kwargs["tags"], kwargs["metadata"]))

    def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        self.tokens.append(token)


def test_internal_calls_carry_nostream_and_metadata_and_are_traced() -> None:
    recorder = Recorder()
    model = LangChainChatModel(FakeListChatModel(responses=["Paris"]))
    chain = RunnableLambda(lambda _: model.complete(Prompt("?", purpose="segment")))
    assert chain.invoke("go", {"callbacks": [recorder], "tags": ["mine"], "metadata": {"user": "ann"}}) == "Paris"
    [(tags, metadata)] = recorder.calls
    assert {"nostream", "mine"} <= set(tags)
    assert metadata["secom_purpose"] == "segment"
    assert metadata["user"] == "ann"


async def test_internal_calls_leak_no_tokens_into_the_users_stream() -> None:
    with ScriptedServer({"secret": "internal words", "": "public words"}) as server:
        chat = HttpChatModel(base_url=server.base_url)
        internal = LangChainChatModel(chat)

        async def answer(question: str) -> str:
            await internal.acomplete(Prompt("secret"))
            await asyncio.to_thread(internal.complete, Prompt("secret"))
            return question

        chain = RunnableLambda(answer) | chat
        streamed = [
            str(event["data"]["chunk"].text)
            async for event in chain.astream_events("go", version="v2")
            if event["event"] == "on_chat_model_stream"
        ]
        assert "".join(streamed) == "public words"
        assert len(server.requests) == 3


async def test_internal_calls_leak_no_tokens_into_a_graphs_stream() -> None:
    skip_if_config_is_lost()
    graph = pytest.importorskip("langgraph.graph", reason="needs langgraph")
    with ScriptedServer({"secret": "internal words", "": "public words"}) as server:
        chat = HttpChatModel(base_url=server.base_url)
        internal = LangChainChatModel(chat)

        def node(state: dict[str, Any]) -> dict[str, Any]:
            internal.complete(Prompt("secret"))
            return {"answer": chat.invoke("go").text}

        built = graph.StateGraph(dict)
        built.add_node("node", node)
        built.set_entry_point("node")
        compiled = built.compile()
        for streamed in (
            [message.text for message, _ in compiled.stream({}, stream_mode="messages")],
            [message.text async for message, _ in compiled.astream({}, stream_mode="messages")],
        ):
            assert "".join(streamed) == "public words"


class Rows(Embeddings):
    model = "rows"

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.rows  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        raise NotImplementedError


class TwoSided(DeterministicFakeEmbedding):
    def embed_query(self, text: str) -> list[float]:
        return super().embed_query(f"query: {text}")


def test_queries_are_embedded_as_queries() -> None:
    embedder = LangChainEmbedder(TwoSided(size=8), name="two")
    texts = LangChainEmbedder(DeterministicFakeEmbedding(size=8), name="one")
    np.testing.assert_allclose(embedder.embed_queries(["a", "b"]), texts.embed(["query: a", "query: b"]))
    np.testing.assert_allclose(embedder.embed(["a"]), texts.embed(["a"]))


def test_embeddings_that_do_not_name_their_model_need_a_name() -> None:
    fake = DeterministicFakeEmbedding(size=8)
    with pytest.raises(InvalidInput, match="DeterministicFakeEmbedding does not say"):
        LangChainEmbedder(fake)
    with pytest.raises(InvalidInput, match=r"LangChainEmbedder\(embeddings, name="):
        open_bank(embedder=fake)
    assert LangChainEmbedder(fake, name="fake-8").name == "fake-8"
    assert LangChainEmbedder(Rows([])).name == "Rows:rows"


def test_models_of_the_core_are_accepted_as_they_are() -> None:
    model, embedder = ScriptedModel("x"), ScriptedEmbedder()
    assert as_chat_model(model) is model
    assert as_embedder(embedder) is embedder
    assert isinstance(as_chat_model(FakeListChatModel(responses=["x"])), LangChainChatModel)
    assert isinstance(as_embedder(Rows([])), LangChainEmbedder)


def test_what_is_no_model_is_refused() -> None:
    for refuse in (as_chat_model, as_embedder, LangChainChatModel, LangChainEmbedder, as_segmenter):
        with pytest.raises(InvalidInput, match="'gpt'"):
            refuse("gpt")  # type: ignore[operator]
    for refuse in (as_chat_model, LangChainChatModel):
        with pytest.raises(InvalidInput, match=r"such as langchain.chat_models.init_chat_model\(.*\).*, got 'gpt'"):
            refuse("gpt")


def test_the_segmenter_that_is_meant() -> None:
    from secom_core.segmenters.embedding import EmbeddingSegmenter

    given = EachTurn()
    assert as_segmenter(given) is given
    assert isinstance(as_segmenter(), LexicalSegmenter)
    assert isinstance(as_segmenter(embeddings=Rows([])), EmbeddingSegmenter)
    with pytest.raises(InvalidInput, match="not several"):
        as_segmenter(given, embeddings=Rows([]))


TRANSCRIPT = "Ann: My dog barks.\nBob: Dogs do.\nAnn: I bake bread.\nBob: With rye?\n"


def test_a_chat_model_of_the_framework_cuts_a_text() -> None:
    reply = f"<segmentation>\n{as_jsonl([Segment(0, 2), Segment(2, 4)])}\n</segmentation>"
    with ScriptedServer(reply) as server:
        splitter = SegmentTextSplitter(model=HttpChatModel(base_url=server.base_url))
        assert splitter.split_text(TRANSCRIPT) == [
            "Ann: My dog barks.\nBob: Dogs do.",
            "Ann: I bake bread.\nBob: With rye?",
        ]
        assert len(server.requests) == 1


def test_a_chat_model_that_fails_degrades_to_the_lexical_segmenter_with_a_warning() -> None:
    with ScriptedServer(Fault(status=500)) as server:
        splitter = SegmentTextSplitter(model=HttpChatModel(base_url=server.base_url))
        with pytest.warns(DegradedWarning, match="500"):
            chunks = splitter.split_text(TRANSCRIPT)
    assert chunks == SegmentTextSplitter().split_text(TRANSCRIPT)


def test_a_bank_opens_with_the_frameworks_chat_model() -> None:
    messages = [("user", text) for text in ("My dog barks.", "He barks a lot.", "I bake bread.", "With rye.")]

    def reply(request: ScriptedRequest) -> str:
        parts = [Segment(0, 2), Segment(2, 4)] if "[Exchange 3]" in request.text else [Segment(0, 1)]
        return f"<segmentation>\n{as_jsonl(parts)}\n</segmentation>"

    with ScriptedServer(reply) as server:
        with open_bank(model=HttpChatModel(base_url=server.base_url)) as bank:
            bank.remember(("ann",), messages, session="s", close=True)
            assert segments_of(bank.memories(("ann",), "s")) == [Segment(0, 2), Segment(2, 4)]
        assert server.requests


@pytest.mark.slow
def test_a_bank_opens_with_the_frameworks_embeddings() -> None:
    with ScriptedServer() as server, open_bank(embedder=HttpEmbeddings(server.base_url)) as bank:
        bank.remember(("ann",), [{"role": "user", "content": "My dog is a terrier."}], session="s")
        assert bank.recall(("ann",), "terrier").hits
        assert len(server.embedding_requests) >= 2
        assert bank.stats(("ann",)).vectors > 0
