"""What every adapter of other people's models promises, over real HTTP: the core's client and both frameworks'."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
import pytest

from secom_core.conversation import as_turns
from secom_core.errors import BadReply, ContextTooLong, ModelError, ModelUnavailable
from secom_core.llm.flow import AsyncChatModel, ChatModel, Prompt, arun
from secom_core.llm.reply import cut_off
from secom_core.memory import Segment
from secom_core.models import OpenAIModel
from secom_core.protocols import Embedder
from secom_core.segmenters.fixed import FixedSize
from secom_core.segmenters.zero_shot import ZeroShotSegmenter
from secom_core.segmenters.zero_shot_prompt import as_jsonl
from secom_core.testing import Answer, Fault, ScriptedEmbedder, ScriptedRequest, ScriptedServer

pytest.importorskip("openai", reason="needs the extra 'openai'")

Make = Callable[..., Any]
Ask = Callable[[Any, Prompt], str]
SHAPE = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
WHO = "scripted at http://127|HttpChatModel|ChatOpenAI|LlamaIndexChatModel"
SEGMENTS = [Segment(0, 2), Segment(2, 4)]


def ask_sync(model: ChatModel, prompt: Prompt) -> str:
    return model.complete(prompt)


def ask_async(model: AsyncChatModel, prompt: Prompt) -> str:
    return asyncio.run(model.acomplete(prompt))


@pytest.fixture(params=[ask_sync, ask_async])
def ask(request: pytest.FixtureRequest) -> Ask:
    return request.param  # type: ignore[no-any-return]


def openai_model(base_url: str, **options: Any) -> Any:
    return OpenAIModel("scripted", base_url=base_url, max_retries=0, **options)


def langchain_model(base_url: str, **options: Any) -> Any:
    pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")
    from http_chat import HttpChatModel

    from langchain_secom import LangChainChatModel

    return LangChainChatModel(HttpChatModel(base_url=base_url), **options)


def langchain_openai_model(base_url: str, **options: Any) -> Any:
    langchain_openai = pytest.importorskip("langchain_openai", reason="it is the model that is tried")

    from langchain_secom import LangChainChatModel

    chat_model = langchain_openai.ChatOpenAI(model="scripted", base_url=base_url, api_key="none", max_retries=0)
    return LangChainChatModel(chat_model, **options)


def llamaindex_model(base_url: str, **options: Any) -> Any:
    pytest.importorskip("llama_index.core", reason="needs the extra 'llamaindex'")
    from http_models import HttpLLM

    from llamaindex_secom import LlamaIndexChatModel

    return LlamaIndexChatModel(HttpLLM(base_url=base_url), **options)


FRAMEWORKS = {"langchain": langchain_model, "llamaindex": llamaindex_model}


MODELS: dict[str, Make] = {"openai": openai_model, "langchain_openai": langchain_openai_model, **FRAMEWORKS}


@pytest.fixture(params=MODELS)
def make(request: pytest.FixtureRequest) -> Make:
    return MODELS[request.param]


@pytest.fixture(params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> str:
    pytest.importorskip({"langchain": "langchain_core", "llamaindex": "llama_index.core"}[request.param])
    return str(request.param)


# -- chat models


@pytest.mark.slow
def test_the_prompt_arrives_as_it_is(make: Make, ask: Ask) -> None:
    with ScriptedServer("Paris") as server:
        model = make(server.base_url)
        assert isinstance(model, ChatModel)
        assert isinstance(model, AsyncChatModel)
        assert ask(model, Prompt("The capital of France?", system="Be brief.")) == "Paris"
        assert server.requests[0].messages == (("system", "Be brief."), ("user", "The capital of France?"))


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.parametrize("fault", [Fault(status=500), Fault(status=401), Fault(), Fault(body="not json")], ids=str)
def test_what_goes_wrong_is_one_model_error_with_its_cause(make: Make, ask: Ask, fault: Fault) -> None:
    with ScriptedServer(fault) as server, pytest.raises(ModelUnavailable, match=WHO) as caught:
        ask(make(server.base_url), Prompt("?"))
    assert caught.value.__cause__ is not None


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.parametrize("text", [None, "", " \n"])
def test_an_answer_without_text_is_a_bad_reply(make: Make, ask: Ask, text: str | None) -> None:
    with ScriptedServer(Answer(text)) as server, pytest.raises(BadReply):
        ask(make(server.base_url), Prompt("?"))


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.parametrize("schema", [None, SHAPE], ids=["in words", "in a schema"])
def test_a_reply_says_whether_it_was_cut_off(make: Make, ask: Ask, schema: Any) -> None:
    texts = ['{"answer": "Mi', '{"answer": "Mia"}']
    with ScriptedServer([Answer(texts[0], finish_reason="length"), texts[1]]) as server:
        model = make(server.base_url)
        replies = [ask(model, Prompt("?", schema=schema)) for _ in texts]
    assert (replies, [cut_off(each) for each in replies]) == (texts, [True, False])


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "the request exceeds the available context size, try increasing it",
        "prompt is too long: 215000 tokens > 200000 maximum",
    ],
)
def test_a_prompt_that_is_too_long_is_an_error_of_its_own(make: Make, ask: Ask, message: str) -> None:
    body = json.dumps({"error": {"message": message}})
    with ScriptedServer(Fault(status=400, body=body)) as server, pytest.raises(ContextTooLong, match=r"context|long"):
        ask(make(server.base_url), Prompt("?", schema=SHAPE))
    assert len(server.requests) == 1


# -- chat models that can be held to a form, and those that cannot


def are_held(server: ScriptedServer) -> list[bool]:
    return ["response_format" in request.body for request in server.requests]


@pytest.mark.slow
def test_a_prompt_with_a_schema_holds_the_model_to_it(make: Make, ask: Ask) -> None:
    with ScriptedServer('{"answer": "Paris"}') as server:
        model = make(server.base_url)
        assert ask(model, Prompt("?", purpose="capital", schema=SHAPE)) == '{"answer": "Paris"}'
        ask(model, Prompt("?"))
        ask(make(server.base_url, hold_to_schema=False), Prompt("?", schema=SHAPE))
        assert are_held(server) == [True, False, False]
    assert server.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "capital", "strict": True, "schema": SHAPE},
    }


NAMED = '{"error": {"message": "response_format json_schema is not supported"}}'
REFUSALS = {
    **{f"named, {status}": Fault(status=status, body=NAMED) for status in (400, 422, 500)},
    "unnamed": Fault(status=400, body='{"error": {"message": "Unrecognized request argument supplied"}}'),
}


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS.keys())
def test_a_model_that_takes_no_schema_is_found_out_once(
    make: Make, ask: Ask, refusal: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "secom_core")
    with ScriptedServer(lambda request: refusal if "response_format" in request.body else "Paris") as server:
        model = make(server.base_url)
        assert [ask(model, Prompt("?", schema=SHAPE)) for _ in range(3)] == ["Paris"] * 3
        assert are_held(server) == [True, False, False, False]
    assert sum("takes no JSON schema" in record.message for record in caplog.records) == 1


@pytest.mark.slow
@pytest.mark.pairwise
@pytest.mark.parametrize("fault", [Fault(status=503), Fault(status=429), Fault()], ids=str)
def test_a_fault_that_passes_says_nothing_of_the_schema(make: Make, ask: Ask, fault: Fault) -> None:
    with ScriptedServer([fault, "Paris"]) as server:
        model = make(server.base_url)
        with pytest.raises(ModelUnavailable):
            ask(model, Prompt("?", schema=SHAPE))
        assert ask(model, Prompt("?", schema=SHAPE)) == "Paris"
        assert are_held(server) == [True, True]


@pytest.mark.slow
def test_a_request_that_is_bad_without_the_schema_too_says_nothing_of_it(make: Make, ask: Ask) -> None:
    with ScriptedServer([Fault(status=400), Fault(status=400), "Paris"]) as server:
        model = make(server.base_url)
        with pytest.raises(ModelUnavailable, match="400"):
            ask(model, Prompt("?", schema=SHAPE))
        assert ask(model, Prompt("?", schema=SHAPE)) == "Paris"
        assert are_held(server) == [True, False, True]


@pytest.mark.slow
def test_threads_find_it_out_side_by_side(make: Make) -> None:
    refusal = Fault(status=400, body=NAMED)
    with ScriptedServer(lambda request: refusal if "response_format" in request.body else "Paris") as server:
        model, prompts = make(server.base_url), [Prompt("?", schema=SHAPE)] * 6
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(model.complete, prompts)) == ["Paris"] * 6
        assert sum(are_held(server)) <= 4
        model.complete(Prompt("?", schema=SHAPE))
        assert not are_held(server)[-1]


def in_words(request: ScriptedRequest) -> str:
    return f"<segmentation>\n{as_jsonl(SEGMENTS)}\n</segmentation>"


def by_schema(request: ScriptedRequest) -> str:
    shown = request.body["response_format"]["json_schema"]["schema"]["properties"]["segments"]["items"]["required"]
    return json.dumps({"segments": [dict(zip(shown, (each.start, each.stop - 1), strict=True)) for each in SEGMENTS]})


def refused(request: ScriptedRequest) -> str | Fault:
    return Fault(status=400, body=NAMED) if "response_format" in request.body else in_words(request)


@pytest.mark.slow
@pytest.mark.parametrize(("script", "calls"), [(by_schema, 2), (in_words, 2), (refused, 3)])
def test_whether_it_takes_the_schema_or_not_the_same_segments_are_read(make: Make, script: Any, calls: int) -> None:
    turns = as_turns(["My dog barks.", "Dogs do.", "I bake bread.", "With rye?"])
    with ScriptedServer(script) as server:
        segmenter = ZeroShotSegmenter(make(server.base_url), fallback=FixedSize(1))
        assert segmenter.segment(turns) == SEGMENTS
        assert asyncio.run(arun(segmenter.procedure(turns), segmenter.model)) == SEGMENTS
        assert len(server.requests) == calls


class Fakes:
    """Of each framework a model that knows no argument but the messages, and one that cares for none."""

    @staticmethod
    def langchain() -> list[Any]:
        from langchain_core.language_models import BaseChatModel, FakeListChatModel
        from langchain_core.messages import AIMessage, BaseMessage
        from langchain_core.outputs import ChatGeneration, ChatResult

        from langchain_secom import LangChainChatModel

        class Strict(BaseChatModel):
            _llm_type = "strict"

            def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None) -> ChatResult:
                return ChatResult(generations=[ChatGeneration(message=AIMessage("Paris"))])

        return [LangChainChatModel(each) for each in (Strict(), FakeListChatModel(responses=["Paris"]))]

    @staticmethod
    def llamaindex() -> list[Any]:
        from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
        from llama_index.core.llms import CustomLLM

        from llamaindex_secom import LlamaIndexChatModel

        class Strict(CustomLLM):
            metadata: ClassVar[LLMMetadata] = LLMMetadata()

            def complete(self, prompt: str, formatted: bool = False) -> CompletionResponse:
                return CompletionResponse(text="Paris")

            def stream_complete(self, prompt: str, formatted: bool = False) -> Any:
                yield self.complete(prompt)

        class Careless(Strict):
            def complete(self, prompt: str, formatted: bool = False, **_options: Any) -> CompletionResponse:
                return CompletionResponse(text="Paris")

        return [LlamaIndexChatModel(each) for each in (Strict(), Careless())]


def test_a_plain_fake_of_the_framework_answers_as_ever(framework: str, ask: Ask) -> None:
    for model in getattr(Fakes, framework)():
        assert [ask(model, Prompt("?", schema=SHAPE)) for _ in range(2)] == ["Paris"] * 2


# -- embedders


def langchain_embedder(base_url: str, rows: Any) -> Any:
    from http_chat import HttpEmbeddings

    from langchain_secom import LangChainEmbedder

    class Rows(HttpEmbeddings):
        def embed_documents(self, texts: list[str]) -> Any:
            return super().embed_documents(texts) if rows is ... else rows

    return LangChainEmbedder(Rows(base_url), name="tiny")


def llamaindex_embedder(base_url: str, rows: Any) -> Any:
    from http_models import HttpEmbedding

    from llamaindex_secom import LlamaIndexEmbedder

    class Rows(HttpEmbedding):
        def _get_text_embeddings(self, texts: list[str]) -> Any:
            return super()._get_text_embeddings(texts) if rows is ... else rows

    return LlamaIndexEmbedder(Rows(base_url=base_url), name="tiny")


EMBEDDERS = {"langchain": langchain_embedder, "llamaindex": llamaindex_embedder}


@pytest.fixture
def make_embedder(framework: str) -> Callable[..., Any]:
    """An embedder of the framework that asks a server, or gives rows of its own."""
    return lambda base_url, rows=...: EMBEDDERS[framework](base_url, rows)


def test_embeddings_are_an_embedder_of_the_core(make_embedder: Make) -> None:
    texts = ["red apples", "red apples", "blue sea"]
    with ScriptedServer() as server:
        embedder = make_embedder(server.base_url)
        assert isinstance(embedder, Embedder)
        vectors = embedder.embed(texts)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
        np.testing.assert_allclose(vectors, ScriptedEmbedder(64).embed(texts), atol=1e-6)
        np.testing.assert_allclose(embedder.embed_queries(texts), vectors)
        assert embedder.embed([]).shape[0] == 0


def test_embeddings_that_fail_are_a_model_error_with_its_cause(make_embedder: Make) -> None:
    with ScriptedServer(embedding_faults=[Fault(status=500)]) as server:
        with pytest.raises(ModelUnavailable, match="500") as caught:
            make_embedder(server.base_url).embed(["a"])
        assert caught.value.__cause__ is not None


UNUSABLE = [[], [[1.0, 2.0]] * 3, [[1.0], [1.0, 2.0]], [[float("nan")], [1.0]], None, [["x"]] * 2, [1, 2]]


@pytest.mark.parametrize("rows", UNUSABLE, ids=repr)
def test_embeddings_that_give_no_vector_a_text_are_a_model_error(make_embedder: Make, rows: Any) -> None:
    with pytest.raises(ModelError, match=r"tiny gave no vector for each of 2 texts|LlamaIndexEmbedder: "):
        make_embedder("", rows).embed(["a", "b"])


def test_a_vector_of_zeros_stays_one_of_zeros(make_embedder: Make) -> None:
    assert make_embedder("", [[0.0, 0.0]]).embed(["a"]).tolist() == [[0.0, 0.0]]
