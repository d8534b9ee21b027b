"""OpenAI-compatible models where a process forks, over connections that stay open as real endpoints keep them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from secom_core.testing import ScriptedServer

pytest.importorskip("openai", reason="needs the openai extra")

ROOT = str(Path(__file__).parents[2])
CHILDREN, ASKED = 4, 50
FORKED = f"""
import os, sys
sys.path.insert(0, {ROOT!r})
from secom_core.models import OpenAIEmbedder, OpenAIModel
from secom_core.protocols import Prompt
place = {{"base_url": sys.argv[1], "timeout": 10, "max_retries": 0}}
model, embedder = OpenAIModel("echo", **place), OpenAIEmbedder("echo", **place)
def check(number):
    assert model.complete(Prompt(f"secret {{number}}")) == f"secret {{number}}"
    row = embedder.embed([str(number)])[0]
    assert round(row[1] / row[0]) == number, row
check(5)
children = []
for child in range({CHILDREN}):
    process = os.fork()
    if not process:
        for number in range({ASKED}):
            check(1000 * child + number)
        os._exit(0)
    children.append(process)
check(6)
print([os.waitpid(process, 0)[1] for process in children])
"""
ALONE = f"""
import sys
class WithoutHttpx:
    def find_spec(self, name, path=None, target=None):
        if name == "httpx":
            raise ModuleNotFoundError("No module named 'httpx'", name=name)
sys.meta_path.insert(0, WithoutHttpx())
sys.path.insert(0, {ROOT!r})
import openai
from secom_core.models import OpenAIModel
from secom_core.protocols import Prompt
print(OpenAIModel("m", base_url=sys.argv[1]).complete(Prompt("Hello?")))
"""


class _Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "messages" in body:
            message = {"role": "assistant", "content": body["messages"][-1]["content"]}
            answer: dict[str, object] = {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
        else:
            rows = enumerate(body["input"])
            answer = {"data": [{"index": index, "embedding": [1.0, float(text)]} for index, text in rows]}
        written = json.dumps({"id": "x", "object": "any", "created": 1, "model": "echo"} | answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)


@pytest.fixture
def echo() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.005,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_children_of_a_process_that_has_asked_are_answered_what_they_asked(echo: str) -> None:
    run = subprocess.run([sys.executable, "-c", FORKED, echo], capture_output=True, text=True, timeout=120, check=False)
    assert run.stdout.strip() == str([0] * CHILDREN), run.stderr[-2000:]


@pytest.mark.slow
def test_a_model_needs_the_openai_package_and_what_that_needs() -> None:
    if "httpx2" not in {name.partition(".")[0] for name in _modules_of_openai()}:
        pytest.skip("this openai, before 3, needs httpx")
    with ScriptedServer("Hello.") as server:
        run = subprocess.run(
            [sys.executable, "-c", ALONE, server.base_url], capture_output=True, text=True, timeout=60, check=False
        )
    assert run.stdout == "Hello.\n", run.stderr[-2000:]


def _modules_of_openai() -> list[str]:
    listed = subprocess.run(
        [sys.executable, "-c", "import openai, sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return listed.stdout.split()
