"""A server that is stopped or killed in the middle of many calls loses nothing that it acknowledged."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from callers import called

from benchmarks import serving as crowds
from benchmarks.served import serving
from secom_core import MemoryBank
from secom_core.testing import Fault, ScriptedServer

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kill", [False, True])
def test_nothing_that_was_acknowledged_is_lost(tmp_path: Path, kill: bool) -> None:
    outcome = crowds.crowd(tmp_path, clients=8, seconds=4.0, kill=kill)
    assert outcome.errors == []
    assert sum(map(len, outcome.acknowledged.values())) >= 8
    assert outcome.exit_code == (-9 if kill else 0)
    assert crowds.lost(tmp_path / "memory.db", [outcome]) == 0
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        assert not [each for each in bank.check() if each.can_be_mended is False]
        for scope in outcome.acknowledged:
            assert bank.recall(scope, "What did we speak of?").hits


def test_what_is_lost_would_be_seen(tmp_path: Path) -> None:
    outcome = crowds.Outcome(acknowledged={("acme",): {"there", "not there"}})
    with MemoryBank.open(tmp_path / "memory.db") as bank:
        bank.remember(("acme",), [{"role": "user", "content": "x", "id": "there"}], session="s")
    assert crowds.lost(tmp_path / "memory.db", [outcome]) == 1


def test_a_call_that_has_come_is_answered_before_the_server_ends(place: Path) -> None:
    """The body of the call comes slowly, and the signal in between."""
    with serving(place, "--tokens-file", "tokens.jsonl") as served, called(served, ("acme", "alice")) as caller:
        begun, answers = threading.Event(), []

        def body() -> bytes:  # type: ignore[misc]
            yield b'{"session": "s", "messages": [{"role": "user", '
            begun.set()
            time.sleep(1.5)
            yield b'"content": "I keep bees."}]}'

        def remember() -> None:
            headers = {"authorization": f"Bearer {caller.token}", "content-type": "application/json"}
            answers.append(httpx.post(f"{served.url}/v1/remember", content=body(), headers=headers, timeout=30))

        thread = threading.Thread(target=remember)
        thread.start()
        begun.wait(30)
        time.sleep(0.3)
        assert served.stop() == 0
        thread.join()
    assert [each.status_code for each in answers] == [200]
    with MemoryBank.open(place / "memory.db") as bank:
        assert [turn.text for turn in bank.turns(("acme", "alice"))] == ["user: I keep bees."]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_stop_has_not_failed(place: Path, number: signal.Signals) -> None:
    with serving(place, "--tokens-file", "tokens.jsonl") as served, called(served, ("acme", "alice")) as caller:
        caller.remember("I keep bees.")
        served.process.send_signal(number)
        assert served.process.wait(60) == 0
        assert served.log.read_text(encoding="utf-8").endswith("stop with Ctrl-C\n"), "it says nothing more"


_TOLD_AT_ONCE = """
import os, sys
from secom_core import MemoryBank
from secom_core.configuration import ServeSettings, Settings
from secom_core.serve.running import run_http, tokens_of
settings = Settings(scope=("me",), serve=ServeSettings(port=0))
bank = MemoryBank.open("memory.db")
run_http(bank, settings, tokens_of(settings), lambda _: os.kill(os.getpid(), int(sys.argv[1])))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_stop_as_it_starts_ends(place: Path, number: signal.Signals) -> None:
    """Its address is known before it runs, and so may the signal come."""
    command = [sys.executable, "-c", _TOLD_AT_ONCE, str(number.value)]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    assert subprocess.run(command, cwd=place, env=environ, timeout=60).returncode == 0


def test_a_server_ends_although_a_call_hangs(place: Path) -> None:
    with ScriptedServer(embedding_faults=[Fault(delay=math.inf)] * 20) as model:
        environ = {"SECOM_EMBEDDER": "openai:any", "SECOM_BASE_URL": model.base_url, "SECOM_SERVE_DRAIN": "1"}
        with (
            serving(place, "--tokens-file", "tokens.jsonl", environ=environ) as served,
            called(served, ("acme", "alice")) as caller,
        ):
            caller.remember("I keep bees.", "They are on the roof.")
            asking = threading.Thread(target=_given_up, args=(served.url, caller.token))
            asking.start()
            while not model.embedding_requests:
                time.sleep(0.05)
            begun = time.monotonic()
            assert served.stop() == 0
            assert time.monotonic() - begun < 30
            asking.join()
            assert "the server ends without them" in served.log.read_text(encoding="utf-8")
    with MemoryBank.open(place / "memory.db") as bank:
        assert bank.stats(("acme", "alice")).messages == 2


def _given_up(url: str, token: str) -> None:
    with suppress(httpx.HTTPError):
        headers = {"authorization": f"Bearer {token}"}
        httpx.post(f"{url}/v1/recall", json={"query": "Where are the bees?"}, headers=headers, timeout=90)


def test_a_server_that_comes_again_goes_on_where_the_other_ended(place: Path) -> None:
    with serving(place, "--tokens-file", "tokens.jsonl") as served, called(served, ("acme", "alice")) as caller:
        caller.remember("I keep bees.", "They are on the roof.")
        token = caller.token
        served.kill()
    with serving(place, "--tokens-file", "tokens.jsonl") as served:
        found = httpx.post(
            f"{served.url}/v1/recall",
            json={"query": "Where are the bees?"},
            headers={"authorization": f"Bearer {token}"},
            timeout=30,
        )
        assert "on the roof" in found.json()["text"]
