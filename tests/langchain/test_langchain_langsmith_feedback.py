"""What answers cite reaches LangSmith as feedback: a server on the loopback interface plays its part."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from email import message_from_bytes
from email.message import Message as Mail
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="needs the extra 'langchain'")
pytest.importorskip("openai", reason="needs the extra 'openai'")

import langsmith
from http_chat import HttpChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tracers import LangChainTracer

from langchain_secom import LangSmithFeedback, with_citation_feedback
from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.testing import ScriptedServer

ANN = ("ann",)
PROMPT = ChatPromptTemplate.from_messages([("system", "{context}"), ("human", "{question}")])
PROJECT = "5d0f9a6e-3b1c-4a52-8a9e-0c1a2b3c4d5e"


class LangSmith:
    """Takes runs and feedback, each alone or in a multipart body, as LangSmith does."""

    def __init__(self, *, version: str = "0.13.0", refuse: bool = False) -> None:
        self.version, self.refuse = version, refuse
        self.feedback: list[dict[str, Any]] = []
        self.runs: dict[str, dict[str, Any]] = {}
        self.posted: list[str] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def take(self, name: str, about: dict[str, Any]) -> None:
        kind, _, rest = name.partition(".")
        if kind == "feedback":
            self.feedback.append(about)
        elif kind in ("post", "patch"):
            identity, _, part = rest.partition(".")
            self.runs.setdefault(identity, {}).update({part: about} if part else about)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                batch = {
                    "use_multipart_endpoint": True,
                    "scale_up_qsize_trigger": 1000,
                    "scale_up_nthreads_limit": 1,
                    "scale_down_nempty_trigger": 4,
                    "size_limit": 100,
                    "size_limit_bytes": None,
                }
                self._answer(200, {"version": server.version, "batch_ingest_config": batch})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.posted.append(self.path)
                for name, about in parts(self.headers["Content-Type"], body):
                    server.take(name or "feedback", about)
                self._answer(422 if server.refuse else 202, {})

            def _answer(self, status: int, about: Any) -> None:
                data = json.dumps(about).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        return Handler


def parts(kind: str, body: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    if not kind.startswith("multipart"):
        yield "", json.loads(body)
        return
    mail = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
    for part in mail.get_payload():
        assert isinstance(part, Mail)
        payload = part.get_payload(decode=True)
        assert isinstance(payload, bytes)
        yield str(part.get_param("name", header="content-disposition")), json.loads(payload)


@pytest.fixture
def bank() -> Iterator[MemoryBank]:
    with MemoryBank.open(citations=True) as bank:
        for day, text in ((1, "I live in Ghent."), (2, "My dog Bello barks at the trams in Ghent.")):
            at = datetime(2024, 5, day, tzinfo=timezone.utc)
            bank.remember(ANN, [Message(text, at=at)], session=str(day), close=True)
        yield bank


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANGSMITH_TRACING", raising=False)


def client_of(server: LangSmith) -> Any:
    return langsmith.Client(api_url=server.url, api_key="none", retry_config={"total": 0})


async def ask(how: str, chain: Any, callbacks: Any) -> None:
    config: Any = {"callbacks": callbacks, "configurable": {"user_id": "ann"}}
    if how == "invoke":
        chain.invoke("Where do I live in Ghent?", config)
    elif how == "ainvoke":
        await chain.ainvoke("Where do I live in Ghent?", config)
    elif how == "stream":
        list(chain.stream("Where do I live in Ghent?", config))
    else:
        [piece async for piece in chain.astream("Where do I live in Ghent?", config)]


each_way = pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])


@pytest.mark.slow
@each_way
async def test_the_reward_is_feedback_on_the_run_of_the_answer(bank: MemoryBank, how: str) -> None:
    langsmith_server = LangSmith()
    client = client_of(langsmith_server)
    with ScriptedServer(["You live in Ghent [1].", "I cannot say. [NO_CITE]", "Hm."]) as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank)
        callbacks = [LangChainTracer(client=client), LangSmithFeedback(client, session_id=PROJECT)]
        for _ in range(3):
            await ask(how, chain, callbacks)
    client.flush(timeout=20)
    client.cleanup()
    langsmith_server.close()

    assert set(langsmith_server.posted) == {"/runs/multipart"}  # in the background, with the runs
    tops = [run for run in langsmith_server.runs.values() if run["name"] == "citation_feedback"]
    assert len(tops) == 3
    assert [run["name"] for run in langsmith_server.runs.values()].count("secom_reward") == 2
    first, second = langsmith_server.feedback  # none on the answer that says nothing
    assert [each["score"] for each in (first, second)] == [0.5, 0.0]
    assert [each["comment"] for each in (first, second)] == ["cited [1] of 2; recorded", "cited none of 2; recorded"]
    for each in (first, second):
        assert each["key"] == "citations"
        assert each["run_id"] in {run["id"] for run in tops}
        assert each["trace_id"] == each["run_id"]
        assert each["session_id"] == PROJECT
    assert first["run_id"] != second["run_id"]


@pytest.mark.slow
async def test_the_runs_that_langsmith_gets_can_be_read(bank: MemoryBank) -> None:
    langsmith_server = LangSmith()
    client = client_of(langsmith_server)
    with ScriptedServer("You live in Ghent [1].") as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank)
        await ask("invoke", chain, [LangChainTracer(client=client)])
    client.flush(timeout=20)
    client.cleanup()
    langsmith_server.close()
    runs = {run["name"]: run for run in langsmith_server.runs.values()}
    top = runs["citation_feedback"]
    below = [name for name, run in runs.items() if run.get("parent_run_id") == top["id"]]
    assert sorted(below) == ["RunnableSequence", "secom_recall", "secom_reward"]
    assert "secom" in runs["secom_reward"]["tags"]
    metadata = runs["secom_reward"]["extra"]["metadata"]
    assert (metadata["secom_numbers"], metadata["secom_cited"]) == ([1, 2], [1])
    assert runs["secom_reward"]["outputs"] == {"lesson": "recorded"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::langsmith.utils.LangSmithWarning")
async def test_without_a_trace_it_is_sent_by_itself(bank: MemoryBank) -> None:
    langsmith_server = LangSmith()
    client = client_of(langsmith_server)
    with ScriptedServer("You live in Ghent [1].") as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank)
        await ask("ainvoke", chain, [LangSmithFeedback(client, key="memory")])
    client.cleanup()
    langsmith_server.close()
    assert langsmith_server.posted == ["/feedback"]
    [feedback] = langsmith_server.feedback
    assert (feedback["key"], feedback["score"]) == ("memory", 0.5)


@pytest.mark.slow
@each_way
async def test_what_langsmith_refuses_does_not_touch_the_answer(bank: MemoryBank, how: str) -> None:
    langsmith_server = LangSmith(refuse=True)
    client = client_of(langsmith_server)
    with ScriptedServer("You live in Ghent [1].") as server:
        chain = with_citation_feedback(PROMPT | HttpChatModel(base_url=server.base_url), bank)
        await ask(how, chain, [LangSmithFeedback(client, session_id=PROJECT)])
    client.cleanup()
    langsmith_server.close()
    assert [entry.cited for entry in bank.citations.log(ANN)] == [(1,)]
