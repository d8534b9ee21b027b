"""OpenAI-compatible models over real HTTP, faults included."""

from __future__ import annotations

import asyncio
import math
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np
import pytest

from secom_core.conversation import as_turns
from secom_core.errors import BadReply, ContextTooLong, DegradedWarning, InvalidInput, MissingExtra, ModelUnavailable
from secom_core.llm.flow import AsyncChatModel, ChatModel, Prompt, arun
from secom_core.memory import Segment
from secom_core.models import OpenAIEmbedder, OpenAIModel
from secom_core.protocols import Embedder
from secom_core.segmenters import FixedSize, ZeroShotSegmenter
from secom_core.segmenters.zero_shot_prompt import as_jsonl
from secom_core.testing import Answer, Fault, ScriptedEmbedder, ScriptedRequest, ScriptedServer

openai = pytest.importorskip("openai", reason="needs the openai extra")

Ask = Callable[[OpenAIModel, Prompt], str]


def ask_sync(model: OpenAIModel, prompt: Prompt) -> str:
    return model.complete(prompt)


def ask_async(model: OpenAIModel, prompt: Prompt) -> str:
    return asyncio.run(model.acomplete(prompt))


both = pytest.mark.parametrize("ask", [ask_sync, ask_async])


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def model_at(server: ScriptedServer, **options: object) -> OpenAIModel:
    return OpenAIModel("tiny", base_url=server.base_url, **({"timeout": 5, "max_retries": 0} | options))


def test_they_fit_the_seams():
    model = OpenAIModel("m", base_url="http://localhost:1/v1")
    assert isinstance(model, ChatModel)
    assert isinstance(model, AsyncChatModel)
    assert isinstance(OpenAIEmbedder("m", base_url="http://localhost:1/v1"), Embedder)
    assert "http://localhost:1" in repr(model)


@pytest.mark.slow
@both
def test_the_prompt_arrives_as_it_is(ask):
    with ScriptedServer("Paris") as server:
        prompt = Prompt("The capital of France?", system="Be brief.", max_tokens=9, temperature=0.5)
        assert ask(model_at(server, options={"seed": 7}), prompt) == "Paris"
        (request,) = server.requests
    assert request.messages == (("system", "Be brief."), ("user", "The capital of France?"))
    assert {name: request.body[name] for name in ("model", "max_tokens", "temperature", "seed")} == {
        "model": "tiny",
        "max_tokens": 9,
        "temperature": 0.5,
        "seed": 7,
    }


SHAPE = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


@both
def test_a_prompt_without_system_and_limit_sends_neither(ask):
    with ScriptedServer("x") as server:
        ask(model_at(server), Prompt("hi"))
        (request,) = server.requests
    assert request.messages == (("user", "hi"),)
    assert not {"max_tokens", "max_completion_tokens"} & set(request.body)


@pytest.mark.slow
@both
def test_any_text_can_be_sent_and_received(ask):
    with ScriptedServer(Answer("fine \ud800 \ud83d\ude00 \0")) as server:
        assert ask(model_at(server), Prompt("a \udc00 \0 你好 \ud83d\ude00")) == "fine \ufffd 😀 \0"
        assert server.requests[0].text == "a \ufffd \0 你好 😀"


# -- faults


@pytest.mark.slow
@both
@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=500, retry_after=0.01),
        Fault(status=429, retry_after=0.01),
        Fault(status=503, retry_after=0.01),
        Fault(),
        Fault(status=408, retry_after=0.01),
    ],
    ids=str,
)
def test_passing_failures_are_retried(ask, fault):
    with ScriptedServer([fault, fault, "at last"]) as server:
        assert ask(model_at(server, max_retries=2), Prompt("x")) == "at last"
        assert len(server.requests) == 3


@pytest.mark.slow
@both
def test_a_time_out_is_retried(ask):
    with ScriptedServer([Fault(delay=math.inf), "at last"]) as server:
        assert ask(model_at(server, timeout=0.3, max_retries=1), Prompt("x")) == "at last"


NO_ANSWER = {
    "status 500": (Fault(status=500, retry_after=0.01), "APIStatusError"),
    "status 401": (Fault(status=401), "APIStatusError"),
    "too many requests": (Fault(status=429, retry_after=0.01), "APIStatusError"),
    "dropped": (Fault(), "APIConnectionError"),
    "no JSON": (Fault(body="{nope"), None),
    "no body": (Fault(body=""), None),
    "too deep": (Fault(body="[" * 50_000), None),
}


@pytest.mark.slow
@both
@pytest.mark.parametrize(("fault", "cause"), NO_ANSWER.values(), ids=NO_ANSWER.keys())
def test_no_answer_is_one_typed_error_with_its_cause(ask, fault, cause):
    with ScriptedServer(fault) as server, pytest.raises(ModelUnavailable, match="tiny at http://127") as caught:
        ask(model_at(server), Prompt("x"))
    assert caught.value.__cause__ is not None
    assert cause is None or isinstance(caught.value.__cause__, getattr(openai, cause))


@pytest.mark.slow
@both
def test_a_hanging_server_costs_no_more_than_the_time_out(ask):
    with ScriptedServer(Fault(delay=math.inf)) as server:
        began = time.monotonic()
        with pytest.raises(ModelUnavailable, match=r"timed out.*OpenAIModel\(timeout=…\).* now 0.3 seconds"):
            ask(model_at(server, timeout=0.3), Prompt("x"))
        assert time.monotonic() - began < 20


@both
def test_nobody_listening(ask):
    with ScriptedServer() as server:
        model = model_at(server)
    with pytest.raises(ModelUnavailable, match="Connection error"):
        ask(model, Prompt("x"))


ODD_BODIES = [
    "[]",
    "null",
    '"text"',
    "{}",
    '{"choices": []}',
    '{"choices": 5}',
    '{"choices": [null]}',
    '{"choices": [{}]}',
    '{"choices": [{"message": {"content": ["a"]}}]}',
    '{"choices": {"a": 1}}',
]


@pytest.mark.slow
@both
@pytest.mark.parametrize("reply", [Answer(None), Answer(""), Answer(" \n"), *(Fault(body=body) for body in ODD_BODIES)])
def test_an_answer_without_text_is_a_bad_reply(ask, reply):
    with ScriptedServer(reply) as server, pytest.raises(BadReply):
        ask(model_at(server), Prompt("x"))


@both
def test_a_refusal_is_a_bad_reply_that_carries_it(ask):
    body = '{"choices": [{"message": {"role": "assistant", "content": null, "refusal": "I must not."}}]}'
    with ScriptedServer(Fault(body=body)) as server, pytest.raises(BadReply, match="refused") as caught:
        ask(model_at(server), Prompt("x"))
    assert caught.value.reply == "I must not."


@pytest.mark.slow
@both
def test_a_huge_reply_arrives(ask):
    with ScriptedServer("word " * 200_000) as server:
        assert len(ask(model_at(server), Prompt("x"))) == 1_000_000


@pytest.mark.slow
@both
@pytest.mark.parametrize("refused", ["temperature", "max_tokens"])
def test_reasoning_models_are_asked_in_their_own_dialect(ask, refused):
    def reasoning(request: ScriptedRequest) -> str | Fault:
        if refused in request.body:
            error = f'{{"error": {{"message": "Unsupported", "param": "{refused}", "code": "unsupported_parameter"}}}}'
            return Fault(status=400, body=error)
        return str(request.body["max_completion_tokens"])

    with ScriptedServer(reasoning) as server:
        model = model_at(server)
        assert [ask(model, Prompt("x", max_tokens=50)) for _ in range(2)] == ["50", "50"]
        assert len(server.requests) == 3


def thinking(tokens: int, words: str, inside: str = "") -> Callable[[ScriptedRequest], Answer]:
    """A model that thinks for so many tokens before it says the words, with its thoughts inside the reply or not."""

    def reply(request: ScriptedRequest) -> Answer:
        is_cut = request.body.get("max_tokens", tokens) < tokens
        return Answer(inside if is_cut else words, finish_reason="length" if is_cut else "")

    return reply


@both
@pytest.mark.parametrize("inside", ["", "\n", "<think>Okay, the user wants"])
def test_a_model_whose_thoughts_take_the_limit_gets_room_for_them(ask, inside):
    with ScriptedServer(thinking(900, "Lima", inside)) as server:
        model = model_at(server)
        assert [ask(model, Prompt("x", max_tokens=300)) for _ in range(2)] == ["Lima", "Lima"]
        assert [request.body["max_tokens"] for request in server.requests] == [300, 4300, 4300]


@both
@pytest.mark.parametrize(
    ("inside", "options", "limit"),
    [
        ("The capital of", {}, 300),
        ("<think>Peru?</think>The capital", {}, 300),
        ("", {"options": {"max_tokens": 99}}, 300),
        ("", {}, None),
    ],
    ids=["words", "words after thoughts", "the caller's own limit", "no limit"],
)
def test_no_other_reply_at_its_limit_is_asked_for_again(ask, inside, options, limit):
    with ScriptedServer(Answer(inside, finish_reason="length")) as server, suppress(BadReply):
        ask(model_at(server, **options), Prompt("x", max_tokens=limit))
    assert len(server.requests) == 1


@both
@pytest.mark.parametrize(
    ("message", "kind"), [("out of credits", ModelUnavailable), ("maximum context is 4096 tokens", ContextTooLong)]
)
@pytest.mark.parametrize(
    "place", ['{"error": %s}', '{"choices": [{"index": 0, "message": {"content": ""}, "error": %s}]}']
)
def test_an_error_with_status_200_is_no_empty_reply(ask, message, kind, place):
    body = place % f'{{"message": "{message}", "code": 402}}'
    with ScriptedServer(Fault(body=body)) as server, pytest.raises(kind, match=message):
        ask(model_at(server), Prompt("x"))


@both
def test_an_empty_reply_says_whether_it_ended_at_its_limit(ask):
    with ScriptedServer(Answer("", finish_reason="length")) as server, pytest.raises(BadReply, match="limit of tokens"):
        ask(model_at(server), Prompt("x", max_tokens=300))
    assert len(server.requests) == 2


@both
def test_any_other_bad_request_is_not_tried_again(ask):
    with ScriptedServer(Fault(status=400)) as server, pytest.raises(ModelUnavailable, match="400"):
        ask(model_at(server, max_retries=3), Prompt("x"))
    assert len(server.requests) == 1


# -- keys


def key_sent(server: ScriptedServer, model: OpenAIModel) -> str:
    model.complete(Prompt("x"))
    return server.requests[-1].headers["authorization"]


@pytest.mark.slow
def test_keys_go_only_where_they_were_meant_to(monkeypatch):
    with ScriptedServer() as server:
        monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
        assert key_sent(server, model_at(server)) == "Bearer none-needed"
        assert key_sent(server, model_at(server, api_key="mine")) == "Bearer mine"
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        assert key_sent(server, OpenAIModel("m")) == "Bearer from-environment"
        monkeypatch.delenv("OPENAI_API_KEY")
        assert key_sent(server, OpenAIModel("m")) == "Bearer none-needed"


@pytest.mark.parametrize("kind", [OpenAIModel, OpenAIEmbedder])
def test_without_a_key_and_an_endpoint_nothing_is_built(kind):
    with pytest.raises(InvalidInput, match=f"{kind.__name__} needs api_key= or the variable OPENAI_API_KEY"):
        kind("gpt")


@pytest.mark.parametrize("kind", [OpenAIModel, OpenAIEmbedder])
def test_without_the_package_the_pip_line_is_named(kind, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(MissingExtra, match=rf"{kind.__name__} needs .* pip install \"secom-memory\[openai\]\""):
        kind("m", base_url="http://localhost:1")


@pytest.mark.parametrize("options", [{"timeout": 0}, {"max_retries": -1}])
def test_impossible_limits_are_refused(options):
    with pytest.raises(InvalidInput, match="timeout is above 0"):
        OpenAIModel("m", base_url="http://localhost:1", **options)


# -- threads and event loops


@pytest.mark.slow
def test_one_model_serves_many_threads():
    with ScriptedServer(lambda request: request.text[::-1]) as server, ThreadPoolExecutor(8) as pool:
        model = model_at(server)
        asked = [f"question {number}" for number in range(40)]
        assert list(pool.map(lambda text: model.complete(Prompt(text)), asked)) == [text[::-1] for text in asked]


@pytest.mark.slow
def test_one_model_serves_one_event_loop_after_another_and_leaves_nothing_open():
    async def ask_together(model: OpenAIModel) -> list[str]:
        return await asyncio.gather(*(model.acomplete(Prompt(str(number))) for number in range(4)))

    with ScriptedServer(lambda request: request.text) as server, warnings.catch_warnings():
        warnings.simplefilter("error", ResourceWarning)
        model = model_at(server)
        for _ in range(3):
            assert asyncio.run(ask_together(model)) == ["0", "1", "2", "3"]


@pytest.mark.slow
async def test_async_calls_leave_the_event_loop_free():
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.01)
            beats += 1

    with ScriptedServer(Answer("late", delay=0.4)) as server:
        heart = asyncio.ensure_future(beat())
        assert await model_at(server).acomplete(Prompt("x")) == "late"
        heart.cancel()
    assert beats > 10


# -- the embedder


def embedder_at(server: ScriptedServer, **options: object) -> OpenAIEmbedder:
    return OpenAIEmbedder("tiny", base_url=server.base_url, **({"timeout": 5, "max_retries": 0} | options))


def test_vectors_come_in_order_over_batches():
    texts = [f"word{number} and word{number % 3}" for number in range(10)]
    with ScriptedServer(dimensions=32) as server:
        rows = embedder_at(server, batch_size=4).embed(texts)
        assert [len(request.body["input"]) for request in server.embedding_requests] == [4, 4, 2]
    assert rows.dtype == np.float32
    assert np.allclose(rows, ScriptedEmbedder(32).embed(texts), atol=1e-6)


@pytest.mark.slow
def test_long_texts_share_no_request_that_is_too_long():
    with ScriptedServer() as server:
        embedder_at(server).embed(["a " * 10_000] * 60)
        sizes = [sum(map(len, request.body["input"])) for request in server.embedding_requests]
    assert len(sizes) > 1
    assert max(sizes) <= 200_000
    assert sum(sizes) == 60 * 8_000


def test_any_text_has_a_vector_and_no_texts_have_none():
    with ScriptedServer() as server:
        rows = embedder_at(server).embed(["", "\0", "\ud800", " ", "你好"])
        assert np.allclose(np.linalg.norm(rows, axis=1), 1)
        assert server.embedding_requests[0].body["input"] == [" ", "\0", "\ufffd", " ", "你好"]
        assert len(embedder_at(server).embed([])) == 0
        assert len(server.embedding_requests) == 1


def test_dimensions_are_asked_for_and_part_of_the_name():
    with ScriptedServer() as server:
        embedder = embedder_at(server, dimensions=16)
        assert embedder.embed(["a"]).shape == (1, 16)
        assert embedder.name == "tiny/16"
        assert embedder_at(server).name == "tiny"


def test_vectors_are_made_to_length_one():
    body = '{"data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]}'
    with ScriptedServer(embedding_faults=[Fault(body=body)]) as server:
        assert np.allclose(embedder_at(server).embed(["a", "b"]), [[0.6, 0.8], [0, 1]])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ("", ModelUnavailable),
        ('{"index": 0, "embedding": [1, 2]}', BadReply),
        ('{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1]}', BadReply),
        ('{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1, NaN]}', BadReply),
        ('{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1e999, 1]}', BadReply),
        ('{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": ["a", "b"]}', BadReply),
        ('{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": null}', BadReply),
        ('{"index": 0, "embedding": "x"}, {"index": 1, "embedding": "x"}', ModelUnavailable),
        ('{"index": 0, "embedding": []}, {"index": 1, "embedding": []}', BadReply),
    ],
)
def test_bad_vectors_are_refused(rows, kind):
    with ScriptedServer(embedding_faults=[Fault(body=f'{{"data": [{rows}]}}')]) as server, pytest.raises(kind):
        embedder_at(server).embed(["a", "b"])


def test_batches_of_different_lengths_are_refused():
    def body(*row: int) -> Fault:
        return Fault(body=f'{{"data": [{{"index": 0, "embedding": {list(row)}}}]}}')

    with ScriptedServer(embedding_faults=[body(1, 2), body(1, 2, 3)]) as server, pytest.raises(BadReply, match="2, 3"):
        embedder_at(server, batch_size=1).embed(["a", "b"])


@pytest.mark.slow
def test_an_embedder_retries_and_then_says_why():
    faults = [Fault(status=500, retry_after=0.01), Fault(), Fault(status=503, retry_after=0.01)]
    with ScriptedServer(embedding_faults=faults) as server:
        assert len(embedder_at(server, max_retries=3).embed(["a"])) == 1
    with (
        ScriptedServer(embedding_faults=faults) as server,
        pytest.raises(ModelUnavailable, match="gave no answer: Connection error"),
    ):
        embedder_at(server, max_retries=1).embed(["a"])


@pytest.mark.parametrize("options", [{"batch_size": 0}, {"max_characters": 0}])
def test_sizes_below_one_are_refused(options):
    with pytest.raises(InvalidInput, match="at least 1"):
        OpenAIEmbedder("m", base_url="http://localhost:1", **options)


# -- from end to end: a session segmented over HTTP


TURNS = as_turns(["The trip to Rome", "The hotel in Rome", "My cat is ill", "The vet saw my cat", "Goodbye"])
SEGMENTS = [Segment(0, 2), Segment(2, 4), Segment(4, 5)]
GOOD = f"<segmentation>\n{as_jsonl(SEGMENTS)}\n</segmentation>"
LOCAL = [Segment(0, 3), Segment(3, 5)]


def cut_sync(segmenter: ZeroShotSegmenter) -> list[Segment]:
    return segmenter.segment(TURNS)


def cut_async(segmenter: ZeroShotSegmenter) -> list[Segment]:
    return asyncio.run(arun(segmenter.procedure(TURNS), segmenter.model))


cut_both_ways = pytest.mark.parametrize("cut", [cut_sync, cut_async])

# What the server does, and how many requests that costs with one retry by the client and one by the segmenter.
RECOVERED = {
    "at once": ([GOOD], 1),
    "after a 500": ([Fault(status=500, retry_after=0.01), GOOD], 2),
    "after a 429": ([Fault(status=429, retry_after=0.01), GOOD], 2),
    "after a dropped connection": ([Fault(), GOOD], 2),
    "after a time-out": ([Fault(delay=math.inf), GOOD], 2),
    "after prose": (["It changes twice.", GOOD], 2),
    "after nothing": ([Answer(None), GOOD], 2),
    "after prose and a 500": (["It changes twice.", Fault(status=500, retry_after=0.01), GOOD], 3),
}
LOST = {
    "500 for good": ([Fault(status=500, retry_after=0.01)] * 2, 2, "500"),
    "429 for good": ([Fault(status=429, retry_after=0.01)] * 2, 2, "429"),
    "dropped for good": ([Fault()] * 2, 2, "Connection error"),
    "hanging for good": ([Fault(delay=math.inf)] * 2, 2, "timed out"),
    "no JSON": ([Fault(body="<html>Bad gateway</html>")], 1, "not in the protocol"),
    "a wrong key": ([Fault(status=401)], 1, "401"),
    "prose twice": (["It changes twice."] * 2, 2, "no segment in the reply"),
    "nothing twice": ([Answer("")] * 2, 2, "the reply is empty"),
    "broken off twice": ([GOOD[:40]] * 2, 2, "no JSON object"),
    "prose, then gone": (["It changes twice.", Fault(status=401)], 2, "401"),
}


def segmenter_at(server: ScriptedServer, script: list[object]) -> ZeroShotSegmenter:
    # On a busy machine, one that answers at once may take half a second.
    hangs = any(isinstance(each, Fault) and each.delay for each in script)
    return ZeroShotSegmenter(model_at(server, timeout=0.4 if hangs else 10, max_retries=1), fallback=FixedSize(3))


@pytest.mark.slow
@cut_both_ways
@pytest.mark.parametrize(("script", "requests"), RECOVERED.values(), ids=RECOVERED.keys())
def test_passing_trouble_costs_a_request_and_no_quality(cut, script, requests):
    with ScriptedServer(script) as server:
        assert cut(segmenter_at(server, script)) == SEGMENTS
        assert len(server.requests) == requests


@pytest.mark.slow
@cut_both_ways
@pytest.mark.parametrize(("script", "requests", "cause"), LOST.values(), ids=LOST.keys())
def test_lasting_trouble_is_named_and_the_fallback_segments(cut, script, requests, cause):
    with ScriptedServer(script) as server:
        with pytest.warns(DegradedWarning, match=cause) as caught:
            assert cut(segmenter_at(server, script)) == LOCAL
        told = [each for each in caught if each.category is DegradedWarning]
        assert (len(server.requests), len(told)) == (requests, 1)
