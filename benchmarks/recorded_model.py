"""A language model whose replies are recorded: what was asked once is answered from a file, without its server.

`Recorder` is an OpenAI-compatible server on loopback that stands before the model's own. So whatever client asks, this
package's or a framework's, runs as it does elsewhere, also when all replies come from the file. `AskedModel` is this
package's client with a limit for each kind of reply, which counts what it is asked.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import httpx

from secom_core.errors import BadReply
from secom_core.llm.flow import Prompt
from secom_core.models import OpenAIModel
from secom_core.testing import Answer, Fault, ScriptedRequest, ScriptedServer

Line = Mapping[str, Any]
SEED: Final = 0
_BEGINNING: Final = 80  # characters of a request that are kept; its words are those of data that are not ours to ship
_COMPLAINT: Final = re.compile(r"[Aa]n earlier reply(?: to this request)? could not be used: (.*)")
_MOST: Final = {
    "answer": 32,
    "events": 600,
    "join": 16,
    "reflect": 500,
    "relation": 120,
    "reply": 160,
    "retention": 200,
    "segment": 600,
    "summary": 700,
    "topic-update": 200,
    "topics": 500,
}
_OTHERWISE: Final = 600
"""The most tokens of each kind of reply: a small model that goes astray would not stop by itself."""


class Recorder:
    """Answers requests from a file of JSON lines, and asks a server what is not in it; lines are added as they come.

    Args:
        path: the file. Each line has the request's digest and its beginning, the reply, why it ended, tokens in and out
            as the server counts them, the seconds it took and when it was asked. Where a reply only copies data that
            is not ours to ship, ``left_out`` says how many characters of it are not there, and it is asked again.
        upstream: the server's base URL, or none: then what is not in the file is counted in ``missing``.
        key: the server's, where it has one; it is in no line.
    """

    def __init__(self, path: Path, upstream: str | None = None, key: str | None = None) -> None:
        self.part = ""
        """What the requests are for; it is written into each line."""
        self.used: list[Line] = []
        self.missing: list[str] = []
        self._path, self._upstream, self._key = path, upstream, key
        self._away = ""  # why the server gave no answer the last time
        self._lock = threading.Lock()
        self._asking: dict[str, threading.Lock] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if whole != text:  # a run that was killed within a line
            path.write_text(whole, encoding="utf-8")
        lines = map(json.loads, whole.splitlines())
        self._known: dict[str, Line] = {line["key"]: line for line in lines if "left_out" not in line}

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The base URL for clients, as long as the context lasts."""
        with ScriptedServer(self._replied) as server:
            yield server.base_url

    def _replied(self, request: ScriptedRequest) -> Answer | Fault:
        key = blake2b(json.dumps(request.body, sort_keys=True).encode(), digest_size=12).hexdigest()
        with self._lock:
            asking = self._asking.setdefault(key, threading.Lock())
        with asking:  # two who ask the same at once are answered by one call
            line = self._known.get(key) or self._asked(key, request)
        if line is None:
            why = self._away or f"the request is not in {self._path.name}, and there is no model to ask"
            return Fault(status=503, body=json.dumps({"error": {"message": why}}))
        with self._lock:
            self.used.append(line)
        if "status" in line:
            return Fault(status=line["status"], body=line["reply"])
        return Answer(line["reply"], finish_reason=line["finish"])

    def _asked(self, key: str, request: ScriptedRequest) -> Line | None:
        """The line of a request that is not in the file; none where nobody answers it."""
        line = self._sent(key, request) if self._upstream else None
        with self._lock:
            if line is None:
                self.missing.append(request.text[:_BEGINNING])
                return None
            self._known[key] = line
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        return line

    def _sent(self, key: str, request: ScriptedRequest) -> Line | None:
        began = time.time()
        try:
            sent = {"authorization": f"Bearer {self._key}"} if self._key else {}
            address = f"{(self._upstream or '').rstrip('/')}/chat/completions"
            response = httpx.post(address, json=dict(request.body), headers=sent, timeout=3600)
        except httpx.HTTPError as error:
            self._away = f"{self._upstream}: {error}"
            return None
        about = {"key": key, "part": self.part, "request": request.messages[0][1][:_BEGINNING]}
        timed = {"at": round(began, 2), "seconds": round(time.time() - began, 2)}
        if response.status_code >= 500 or response.status_code == 429:
            self._away = f"{self._upstream}: HTTP status {response.status_code}, {response.text[:200]}"
            return None
        if response.status_code >= 400:
            return about | {"status": response.status_code, "reply": response.text} | timed
        return about | _told(response.json()) | timed


def _told(reply: Mapping[str, Any]) -> dict[str, Any]:
    choice, usage = reply["choices"][0], reply.get("usage", {})
    return {
        "reply": choice["message"].get("content") or "",
        "finish": choice.get("finish_reason") or "",
        "tokens_in": usage.get("prompt_tokens", 0),
        "tokens_read": reply.get("timings", {}).get("prompt_n", usage.get("prompt_tokens", 0)),
        "tokens_out": usage.get("completion_tokens", 0),
    }


def cost(lines: Sequence[Line]) -> dict[str, float]:
    """Calls, tokens and seconds of what was asked, each request once.

    ``tokens_read`` leaves out what the server had read before, as the beginning of an earlier request. ``seconds`` are
    those in which at least one of the requests was under way.
    """
    once = {line["key"]: line for line in lines}.values()
    counted = {name: sum(line.get(name, 0) for line in once) for name in ("tokens_in", "tokens_read", "tokens_out")}
    cut_off = sum(line.get("finish") == "length" for line in once)
    return {"calls": len(once), **counted, "cut_off": cut_off, "seconds": round(_busy(list(once)), 1)}


def _busy(lines: Sequence[Line]) -> float:
    """The length of the union of the times in which the requests were under way."""
    spent, end = 0.0, 0.0
    for begin, stop in sorted((line["at"], line["at"] + line["seconds"]) for line in lines):
        spent += max(0.0, stop - max(begin, end))
        end = max(end, stop)
    return spent


class AskedModel:
    """The model behind an endpoint at temperature 0, with a limit for each kind of reply; counts what it is asked.

    Args:
        name: the model's name.
        base_url: the endpoint.
        hold_to_schema: as for `OpenAIModel`.
    """

    def __init__(self, name: str, base_url: str, *, hold_to_schema: bool = True) -> None:
        self.name = name
        self.purposes: Counter[str] = Counter()
        self.complaints: list[tuple[str, str]] = []
        options = {"temperature": 0.0, "seed": SEED}
        self._model = OpenAIModel(
            name, base_url=base_url, options=options, hold_to_schema=hold_to_schema, timeout=3600.0, max_retries=0
        )
        self._lock = threading.Lock()

    def complete(self, prompt: Prompt) -> str:
        """The reply; raises what `OpenAIModel.complete` raises."""
        complaint = _COMPLAINT.search(prompt.text)
        with self._lock:
            self.purposes[prompt.purpose] += 1
            self.complaints += [(prompt.purpose, complaint[1])] if complaint else []
        return self._model.complete(replace(prompt, max_tokens=_MOST.get(prompt.purpose, _OTHERWISE)))

    def said(self, prompt: Prompt) -> str:
        """The reply; nothing where it is empty."""
        try:
            return self.complete(prompt)
        except BadReply:
            return ""
