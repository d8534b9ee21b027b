"""The scripted model and server: what tests, demos and users' own tests stand on. Standard library only."""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.client import RemoteDisconnected

import numpy as np
import pytest

from secom_core.errors import BadReply, InvalidInput, ModelUnavailable
from secom_core.llm.flow import AsyncChatModel, ChatModel, Prompt
from secom_core.protocols import Embedder
from secom_core.testing import Answer, Fault, ScriptedEmbedder, ScriptedModel, ScriptedServer, ToolCall
from secom_core.text.terms import count_tokens


def post(server: ScriptedServer, path: str, body: object, timeout: float = 5) -> dict:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(server.base_url + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as response:
        return json.loads(response.read())


def chat(server: ScriptedServer, text: str, **options: object) -> dict:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **options}
    return post(server, "/chat/completions", body)


def said(server: ScriptedServer, text: str) -> str:
    return chat(server, text)["choices"][0]["message"]["content"]


def test_fits_the_seams():
    assert isinstance(ScriptedModel("x"), ChatModel)
    assert isinstance(ScriptedModel("x"), AsyncChatModel)
    assert isinstance(ScriptedEmbedder(), Embedder)


# -- scripts


def test_one_reply_answers_everything():
    model = ScriptedModel("yes")
    assert [model.complete(Prompt(text)) for text in "abc"] == ["yes"] * 3


def test_a_list_answers_in_order_and_its_end_is_loud():
    model = ScriptedModel(["one", "two"])
    assert [model.complete(Prompt("q")), model.complete(Prompt("q"))] == ["one", "two"]
    with pytest.raises(InvalidInput, match="no reply left for 'third'"):
        model.complete(Prompt("third"))


def test_rules_match_substrings_and_patterns_in_any_message_and_may_hold_lists():
    model = ScriptedModel({"France": ["Paris", "Lyon"], re.compile(r"\d+ plus \d+"): "four", "": "else"})
    asked = ["2 plus 2", "France", "what?", "France"]
    assert [model.complete(Prompt(text)) for text in asked] == ["four", "Paris", "else", "Lyon"]
    assert ScriptedModel({"pirate": "Arr"}).complete(Prompt("hello", system="You are a pirate")) == "Arr"


def test_a_missing_rule_is_loud():
    with pytest.raises(InvalidInput, match="no rule for 'Spain'"):
        ScriptedModel({"France": "Paris"}).complete(Prompt("Spain"))


def test_a_callable_sees_the_request():
    model = ScriptedModel(lambda request: f"{request.purpose}/{request.messages[0][0]}/{request.text}")
    assert model.complete(Prompt("hi", system="sys", purpose="segment")) == "segment/system/hi"


@pytest.mark.parametrize("script", [3, None, {"a": 3}])
def test_what_is_no_script_is_refused(script):
    with pytest.raises(InvalidInput, match="a script is"):
        ScriptedModel(script)


def test_what_is_no_reply_is_refused():
    with pytest.raises(InvalidInput, match="not 3"):
        ScriptedModel(lambda request: 3).complete(Prompt("x"))


def test_in_process_faults_are_model_errors():
    with pytest.raises(ModelUnavailable, match="status 500"):
        ScriptedModel(Fault(status=500)).complete(Prompt("x"))
    for empty in (Answer(None), Answer("  ")):
        with pytest.raises(BadReply):
            asyncio.run(ScriptedModel(empty).acomplete(Prompt("x")))


# -- requests


def test_requests_are_kept_as_they_came():
    with ScriptedServer() as server:
        chat(server, "hello", tools=[{"type": "function", "function": {"name": "look", "parameters": {"a": [1]}}}])
        (request,) = server.requests
    assert (request.text, request.tools, request.path) == ("hello", ("look",), "/v1/chat/completions")
    assert request.headers["content-type"] == "application/json"
    assert request.body["tools"][0]["function"]["parameters"]["a"] == [1]
    assert isinstance(server.requests, tuple)


def test_content_in_parts_is_read_as_text():
    parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}]
    with ScriptedServer({"look": "seen"}) as server:
        body = {"messages": [{"role": "user", "content": parts}, {"role": "assistant", "content": None}]}
        assert post(server, "/chat/completions", body)["choices"][0]["message"]["content"] == "seen"


# -- the server


def test_a_completion_in_the_protocols_form():
    with ScriptedServer("Paris, of course") as server:
        reply = chat(server, "The capital of France?")
    assert reply["object"] == "chat.completion"
    assert reply["choices"][0]["finish_reason"] == "stop"
    asked, answered = count_tokens("The capital of France?"), count_tokens("Paris, of course")
    assert reply["usage"] == {
        "prompt_tokens": asked,
        "completion_tokens": answered,
        "total_tokens": asked + answered,
    }


def test_calls_to_tools():
    answer = Answer(None, (ToolCall("look", {"q": "cat"}), ToolCall("raw", "{no json", id="mine")))
    with ScriptedServer(answer) as server:
        choice = chat(server, "x")["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    first, second = choice["message"]["tool_calls"]
    assert json.loads(first["function"]["arguments"]) == {"q": "cat"}
    assert (second["id"], second["function"]["arguments"]) == ("mine", "{no json")
    assert first["id"] != second["id"]


def events(server: ScriptedServer, **options: object) -> list[dict]:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}], **options}
    request = urllib.request.Request(server.base_url + "/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=5) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        lines = [line.decode().removeprefix("data: ").strip() for line in response if line.strip()]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_streaming_gives_the_same_words_in_pieces():
    text = "Paris,  of\ncourse 你好 "
    with ScriptedServer(text) as server:
        chunks = events(server, stream_options={"include_usage": True})
    *spoken, usage = chunks
    pieces = [chunk["choices"][0]["delta"].get("content", "") for chunk in spoken]
    assert "".join(pieces) == text
    assert sum(map(bool, pieces)) > 2
    assert spoken[-1]["choices"][0]["finish_reason"] == "stop"
    assert usage["choices"] == []
    assert usage["usage"]["total_tokens"] > 0


def test_streamed_calls_to_tools_come_in_pieces():
    with ScriptedServer(Answer(None, (ToolCall("look", {"q": "cat"}),))) as server:
        chunks = events(server)
    calls = [call for chunk in chunks for call in chunk["choices"][0]["delta"].get("tool_calls", ())]
    assert len(calls) == 2
    assert json.loads("".join(call["function"]["arguments"] for call in calls)) == {"q": "cat"}
    assert chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_embeddings_of_texts_and_of_token_numbers():
    texts = ["the cat sat", "the cat ran", "quantum field"]
    with ScriptedServer(dimensions=32) as server:
        plain = post(server, "/embeddings", {"model": "m", "input": texts})
        short = post(server, "/embeddings", {"model": "m", "input": "one", "dimensions": 8})
        tokens = post(server, "/embeddings", {"model": "m", "input": [[1, 2], [3]]})
    rows = np.array([item["embedding"] for item in plain["data"]], np.float32)
    assert rows.shape == (3, 32)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert rows[0] @ rows[1] > rows[0] @ rows[2]
    assert len(short["data"][0]["embedding"]) == 8
    assert len(tokens["data"]) == 2
    assert np.array_equal(rows, ScriptedEmbedder(32).embed(texts))


def test_an_embedder_takes_any_text():
    rows = ScriptedEmbedder(16).embed(["", "\0", "\ud800", "…", "a" * 100_000])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert ScriptedEmbedder(16).embed([]).shape == (0, 16)


# -- faults


def status_of(server: ScriptedServer, path: str = "/chat/completions", body: object = None) -> tuple[int, str | None]:
    with pytest.raises(urllib.error.HTTPError) as caught:
        post(server, path, {"messages": []} if body is None else body)
    caught.value.close()
    return caught.value.code, caught.value.headers["Retry-After"]


def test_statuses_with_and_without_retry_after():
    with ScriptedServer([Fault(status=429, retry_after=2), Fault(status=500), "fine"]) as server:
        assert status_of(server) == (429, "2")
        assert status_of(server) == (500, None)
        assert said(server, "x") == "fine"


def test_a_body_that_is_no_json():
    with ScriptedServer(Fault(body="{nope")) as server, pytest.raises(json.JSONDecodeError):
        chat(server, "x")


def test_a_dropped_connection():
    with ScriptedServer(Fault()) as server, pytest.raises((RemoteDisconnected, ConnectionError)):
        chat(server, "x")


@pytest.mark.slow
def test_a_delayed_answer_arrives_later():
    with ScriptedServer([Answer("late", delay=0.2)]) as server:
        began = time.monotonic()
        assert said(server, "x") == "late"
        assert time.monotonic() - began >= 0.2


@pytest.mark.slow
def test_a_hanging_request_ends_with_the_server():
    began, threads = time.monotonic(), threading.active_count()
    with ScriptedServer(Fault(delay=math.inf)) as server, pytest.raises(TimeoutError):
        post(server, "/chat/completions", {"messages": []}, timeout=0.2)
    while threading.active_count() > threads and time.monotonic() - began < 3:
        time.sleep(0.01)
    assert threading.active_count() <= threads


@pytest.mark.slow
def test_a_huge_reply():
    with ScriptedServer("x" * 2_000_000) as server:
        assert len(said(server, "x")) == 2_000_000


def test_embeddings_fail_as_told_and_then_work():
    with ScriptedServer(embedding_faults=[Fault(status=503)]) as server:
        assert status_of(server, "/embeddings", {"input": ["a"]}) == (503, None)
        assert len(post(server, "/embeddings", {"input": ["a"]})["data"]) == 1
        assert [request.text for request in server.embedding_requests] == ["a", "a"]


def test_a_gap_in_the_script_is_an_error_that_clients_do_not_retry():
    with ScriptedServer([]) as server:
        assert status_of(server)[0] == 400


def test_a_script_that_raises_is_told_to_the_client(capfd):
    def wrong(request: object) -> str:
        return {}["what the script lacks"]

    with ScriptedServer(wrong) as server, pytest.raises(urllib.error.HTTPError) as raised:
        chat(server, "x")
    assert raised.value.code == 400
    assert json.loads(raised.value.read())["error"]["message"] == "the script raised KeyError('what the script lacks')"
    told, until = "", time.monotonic() + 60
    while 'return {}["what the script lacks"]' not in told:  # the server's thread writes it beside its answer
        assert time.monotonic() < until, f"the traceback tells where: {told}"
        told += capfd.readouterr().err


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/chat/completions", b"{nope", 400),
        ("/chat/completions", [1], 400),
        ("/chat/completions", {}, 400),
        ("/nothing", {"messages": []}, 404),
    ],
)
def test_bad_requests_are_told_so(path, body, status):
    with ScriptedServer() as server:
        assert status_of(server, path, body)[0] == status


# -- life


def test_many_threads_at_once():
    with ScriptedServer(lambda request: request.text[::-1]) as server, ThreadPoolExecutor(8) as pool:
        asked = [f"question {number}" for number in range(64)]
        assert list(pool.map(lambda text: said(server, text), asked)) == [text[::-1] for text in asked]
        assert sorted(request.text for request in server.requests) == sorted(asked)


def test_a_closed_server_is_gone_and_starts_again_on_the_same_script():
    server = ScriptedServer(["one", "two"])
    with pytest.raises(InvalidInput, match="before start"):
        _ = server.base_url
    with server:
        assert said(server, "x") == "one"
        port = int(server.base_url.split(":")[2].split("/")[0])
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1)
    with server:
        assert said(server, "x") == "two"
    server.close()
