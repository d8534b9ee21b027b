"""What each preset asks of a language model while an agent talks: calls and tokens a turn, and what comes of them.

``python -m benchmarks.live_cost [--before FOLDER] [--threads 4] [--turns 6] [--json OUT]``

An agent of each framework and the companion hold so many conversations of so many turns, one after the other, with each
preset. The agent's own answers are not counted; what memory asks is, of a scripted model: an event every third
exchange, a segment every fourth, a note and a sentence a session. Tokens are estimated. *waited* is how many of the
calls were made on the way of the agent's answer, and not by the background writer. *made* is what there is before the
last conversation is closed; its calls and tokens are *close*.

With ``FOLDER``, a checkout of the project as it was, such as one that ``git worktree add`` makes, both are measured.
Needs the extras ``langchain``, ``llamaindex`` and ``openai``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from benchmarks.adding import utterances
from benchmarks.agent_crowd import scripted_models
from benchmarks.agents import PACKAGES, Setting, create_langchain, create_llamaindex
from benchmarks.before_after import _WORKER, HERE
from benchmarks.retrieval import versions
from secom_core import presets
from secom_core.bank import MemoryBank
from secom_core.companion import Companion
from secom_core.denoisers.informativeness import Informativeness
from secom_core.llm.flow import Prompt
from secom_core.memory import segments_from, segments_of
from secom_core.segmenters.zero_shot_prompt import as_jsonl
from secom_core.testing import ScriptedModel, ScriptedRequest, ScriptedServer
from secom_core.text.terms import count_tokens

SCOPE = ("benchmark", "live")
_EXCHANGE = re.compile(r"^\[Exchange (\d+)\]: (.*)$", re.MULTILINE)
_waits: ContextVar[bool] = ContextVar("_waits", default=False)
"""Whether somebody waits for what is done: it goes into whatever the agent calls, and not into the writer's thread."""
_LAYERS = ("summaries", "timelines", "topics")


def _conversation(request: ScriptedRequest) -> str:
    """The request without the example that stands before its conversation."""
    return request.text.rpartition("<conversation>")[2]


def reply(request: ScriptedRequest) -> str:
    """What the model that memory asks says, in the form that it is asked for."""
    shown = [(int(number), said) for number, said in _EXCHANGE.findall(_conversation(request))]
    if request.purpose == "segment":
        return f"<segmentation>\n{as_jsonl(segments_from(range(3, len(shown) - 1, 4), len(shown)))}\n</segmentation>"
    if request.purpose == "join":
        return "yes"
    if request.purpose == "events":
        rows = (json.dumps({"event": said[:100], "exchanges": [number]}) for number, said in shown if number % 3 == 0)
        return "<events>\n" + "\n".join(rows) + "\n</events>"
    if request.purpose == "relation":
        return "Explanation: they share words.\nRelation: SameTopic"
    if request.purpose == "summary":
        old = request.text.rpartition("<memory>\n")[2].partition("\n</memory>")[0]
        said = request.text.rpartition("<session")[2].splitlines()[2][:80]
        return (
            "<memory>\n" + "\n".join([*([] if old == "none" else old.splitlines()), f"{said}."][-20:]) + "\n</memory>"
        )
    if request.purpose == "topics":
        said = request.text.rpartition("user: ")[2].splitlines()[0][:80]
        return json.dumps({"extracted_memories": [{"summary": f"The user says {said}.", "reference": [0]}]})
    return "Add()"


class Counted:
    """A scripted model that counts what it is asked, and what of it while a user waits."""

    def __init__(self) -> None:
        self._model = ScriptedModel(reply)
        self.counts: Counter[str] = Counter()
        self.purposes: Counter[str] = Counter()

    def complete(self, prompt: Prompt) -> str:
        answer = self._model.complete(prompt)
        tokens = {"in": count_tokens(prompt.text) + count_tokens(prompt.system or ""), "out": count_tokens(answer)}
        self.counts.update({"calls": 1, "waited": int(_waits.get()), **tokens})
        self.purposes[prompt.purpose] += 1
        return answer


PRESETS: dict[str, Callable[[Counted], Any]] = {
    "secom": lambda model: presets.secom(model, denoiser=Informativeness()),
    "rsum": presets.rsum,
    "theanine": presets.theanine,
    "rmm": presets.rmm,
}

Ask = Callable[[str, str], object]


def langchain_agent(setting: Setting, bank: MemoryBank, stack: ExitStack) -> tuple[Ask, Callable[[], object]]:
    from langchain_secom import SecomMiddleware

    memory = SecomMiddleware(bank, scope=SCOPE)
    stack.callback(memory.close)
    return create_langchain(setting, [memory]), memory.flush


def llamaindex_agent(setting: Setting, bank: MemoryBank, stack: ExitStack) -> tuple[Ask, Callable[[], object]]:
    from llamaindex_secom import SecomMemory

    kept: list[SecomMemory] = []

    def memory_of(conversation: str) -> SecomMemory:
        kept.append(SecomMemory(bank=bank, scope=SCOPE, session=conversation, write="background"))
        return kept[-1]

    return create_llamaindex(setting, memory_of), lambda: kept[-1].flush()


def companion(setting: Setting, bank: MemoryBank, stack: ExitStack) -> tuple[Ask, Callable[[], object]]:
    model = ScriptedModel("I see, and I shall remember that.")
    return lambda text, conversation: Companion(bank, SCOPE, model, session=conversation).reply(text), bank.health


LOOPS = {
    "LangChain create_agent": langchain_agent,
    "LlamaIndex FunctionAgent": llamaindex_agent,
    "Companion": companion,
}


def measured(threads: int, turns: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What one checkout asks for, by loop and preset."""
    scripted_models()
    loop = asyncio.new_event_loop()
    with tempfile.TemporaryDirectory() as folder, ScriptedServer("I see, and I shall remember that.") as server:
        setting = Setting(server.base_url, [], Path(folder), 900, loop)
        for name, make in LOOPS.items():
            for preset, parts in PRESETS.items():
                with ExitStack() as stack:
                    model = Counted()
                    bank = stack.enter_context(MemoryBank.open(preset=parts(model)))
                    ask, flush = make(setting, bank, stack)
                    yield f"{name}, {preset}", talked(bank, model, ask, flush, threads, turns)
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def talked(
    bank: MemoryBank, model: Counted, ask: Ask, flush: Callable[[], object], threads: int, turns: int
) -> dict[str, Any]:
    texts = iter(utterances(threads * turns, 0))
    for thread in range(threads):
        for _ in range(turns):
            token = _waits.set(True)
            ask(next(texts), f"thread {thread}")
            _waits.reset(token)
            flush()
    counts, purposes, made = dict(model.counts), dict(model.purposes), _made(bank)
    bank.close_session(SCOPE, f"thread {threads - 1}")
    closing = {name: number - counts.get(name, 0) for name, number in model.counts.items()}
    count = threads * turns
    each = {name: round(counts.get(name, 0) / count, 2) for name in ("calls", "in", "out", "waited")}
    return {"a turn": each, "purposes": purposes, "made": made, "close": closing, "in all": dict(model.counts)}


def _made(bank: MemoryBank) -> dict[str, int]:
    counts = {name: bank.layers[name].count(SCOPE) for name in _LAYERS if name in bank.layers}
    return {"segments": sum(len(segments_of(bank.memories(SCOPE, each))) for each in bank.sessions(SCOPE)), **counts}


def run_in(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The figures of the checkout in ``folder``, by this module."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    worker = _WORKER.replace("before_after", "live_cost")
    sizes = ["--threads", str(options.threads), "--turns", str(options.turns)]
    command = [sys.executable, "-W", "ignore", "-c", worker, str(HERE), *sizes]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{folder}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def line(name: str, row: dict[str, Any]) -> str:
    each = row["a turn"]
    made = ", ".join(f"{number} {kind}" for kind, number in row["made"].items())
    return f"{name:<46}{each['calls']:>8.2f}{each['waited']:>8.2f}{each['in']:>10.1f}{each['out']:>8.1f}   {made}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--turns", type=int, default=6, help="of each thread")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(dict(measured(options.threads, options.turns))))
        return
    folders = {"after": HERE} if options.before is None else {"before": options.before.resolve(), "after": HERE}
    results = {name: run_in(folder, options) for name, folder in folders.items()}
    print(f"{'a turn, with the last thread open':<46}{'calls':>8}{'waited':>8}{'in':>10}{'out':>8}   made")
    for name in results["after"]:
        for which, rows in results.items():
            print(line(f"{name}, {which}", rows[name]))
    if options.json:
        about = {"threads": options.threads, "turns": options.turns}
        options.json.write_text(json.dumps({**about, **results, "versions": versions(*PACKAGES)}, indent=2) + "\n")


if __name__ == "__main__":
    main()
