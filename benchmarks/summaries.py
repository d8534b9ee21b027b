"""What a running summary still holds after twelve sessions with language models that are odd, or lie, or fail.

    python -m benchmarks.summaries [--before FOLDER] [--json OUT]

A conversation of twelve sessions is written here, with facts of the user's and of the assistant's own, one of which is
overtaken by a later one. Scripted models note each fact rightly as it is said, and misbehave in one way each (`KINDS`).
A fact is *kept* where a line of the last summary has its words and says whose it is; *stale* is the overtaken one.
``FOLDER`` is a checkout of the project as it was: the same models then run there too.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.retrieval import versions
from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.errors import DegradedWarning
from secom_core.summaries import Summarizer
from secom_core.testing import Answer, Fault, ScriptedModel, ScriptedRequest

__all__ = ["FACTS", "KINDS", "SESSIONS", "measured"]

HERE = Path(__file__).resolve().parents[1]
SCOPE: Final = ("benchmark", "summaries")


class Fact(NamedTuple):
    """What somebody says of himself.

    Args:
        who: ``user`` or ``assistant``.
        said: the words in which it is said.
        noted: what a good summary says of it, after the name of the speaker.
        words: what tells it from the others.
    """

    who: str
    said: str
    noted: str
    words: tuple[str, ...]


FACTS: Final = (
    Fact("user", "I live in Ghent, above the bakery of Mrs. Maes.", "lives in Ghent, above a bakery.", ("Ghent",)),
    Fact("assistant", "I live in Bergen myself, by the harbour.", "lives in Bergen.", ("Bergen",)),
    Fact("user", "My tortoise Herodotus is 31 years old.", "has a tortoise, Herodotus, aged 31.", ("Herodotus", "31")),
    Fact("user", "I am allergic to walnuts.", "is allergic to walnuts.", ("walnuts",)),
    Fact("assistant", "I keep a parrot called Figaro.", "has a parrot called Figaro.", ("Figaro",)),
    Fact("user", "My sister Clara restores organs in Leuven.", "has a sister, Clara, in Leuven.", ("Clara", "Leuven")),
    Fact("user", "I play the bassoon with the Meridian Ensemble.", "plays with Meridian.", ("Meridian",)),
    Fact("assistant", "I rowed for Trondheim when I was 19.", "rowed for Trondheim at 19.", ("Trondheim",)),
    Fact("user", "I drive a Saab from 1987.", "drives a Saab from 1987.", ("Saab", "1987")),
    Fact("user", "I start as a nurse at Saint Pieter on Monday.", "is a nurse at Saint Pieter.", ("Pieter",)),
    Fact("assistant", "I never drink coffee after Lent of 2019.", "drinks no coffee since 2019.", ("coffee", "2019")),
    Fact("user", "I owe my brother Joris 400 euros.", "owes the brother Joris 400 euros.", ("Joris", "400")),
    Fact("user", "I am learning Portuguese with Beatriz.", "learns Portuguese with Beatriz.", ("Beatriz",)),
    Fact("assistant", "I write a column for the Aurora paper.", "writes for the Aurora paper.", ("Aurora",)),
    Fact("user", "I want to sail to Madeira in 2027.", "wants to sail to Madeira in 2027.", ("Madeira", "2027")),
    Fact("user", "I prefer trains, I never fly since Oslo.", "prefers trains and never flies.", ("trains",)),
    Fact("user", "I moved to Lisbon, into a flat with a blue door.", "moved to Lisbon from Ghent.", ("Lisbon",)),
    Fact("assistant", "I am reading Pessoa again this week.", "is reading Pessoa.", ("Pessoa",)),
)
"""In the order in which they are said; the first is overtaken by the last but one."""

_IN_SESSIONS: Final = (2, 2, 1, 2, 1, 2, 1, 1, 2, 1, 1, 2)
_TALK: Final = (
    ("Good evening, how have you been?", "Fine, thanks, and you?"),
    ("What a grey day it was.", "It was, and the evenings draw in."),
    ("I could not sleep last night.", "That is a pity, the wind was loud."),
    ("Do you ever get bored?", "Hardly ever, to be honest."),
)


def _sessions() -> list[list[Message]]:
    """What is said in each session: its facts, with small talk before and after them, in all more than one call."""
    made, told = list[list[Message]](), iter(FACTS)
    for number, count in enumerate(_IN_SESSIONS):
        messages = _small_talk(number) + _small_talk(number + 1)
        for fact in (next(told) for _ in range(count)):
            other = "Guess what I was thinking of." if fact.who == "assistant" else "I see, how interesting that is."
            pair = [Message(fact.said, fact.who), Message(other, "user" if fact.who == "assistant" else "assistant")]
            messages += pair if fact.who == "user" else pair[::-1]
        made.append(messages + _small_talk(number + 2) + _small_talk(number + 3))
    return made


def _small_talk(number: int) -> list[Message]:
    asked, answered = _TALK[number % len(_TALK)]
    return [Message(asked, "user"), Message(answered, "assistant")]


SESSIONS: Final = tuple(_sessions())


# -- the models -------------------------------------------------------------------------------------------------------


def _noted(fact: Fact) -> str:
    return f"The {fact.who} {fact.noted}"


def _block(text: str, name: str) -> str:
    """What stands in the last block of that name in a prompt."""
    return text.rpartition(f"<{name}")[2].partition(">\n")[2].partition(f"\n</{name}>")[0]


def _old(request: ScriptedRequest) -> list[str]:
    prompt = request.text.partition("Your reply broke off")[0]
    old = _block(prompt, "memory")
    return [] if old == "none" else old.splitlines()


def _new(request: ScriptedRequest) -> list[str]:
    session = _block(request.text, "session")
    return [_noted(fact) for fact in FACTS if fact.said in session]


def _brought_together(old: Sequence[str], new: Sequence[str]) -> list[str]:
    moved = any("Lisbon" in line for line in new)
    return [*(line for line in old if not (moved and "lives in Ghent" in line)), *new]


def _tagged(lines: Sequence[str]) -> str:
    return "<memory>\n" + "\n".join(lines or ["none"]) + "\n</memory>"


def _still_holds(request: ScriptedRequest) -> str:
    """What an honest model answers to the question which old statements are over."""
    asked = [line.partition(". ") for line in _block(request.text, "old").splitlines()]
    over = [number for number, _, text in asked if "in Ghent" in text and "moved to Lisbon" in request.text]
    return "\n".join(f"{number}: I moved to Lisbon" for number in over) or "none"


def honest(request: ScriptedRequest) -> str:
    """Notes every fact and keeps the old ones."""
    return _tagged(_brought_together(_old(request), _new(request)))


def cut_off(request: ScriptedRequest) -> Answer:
    """Is cut off after 260 characters, and goes on where it is asked to."""
    lines = _brought_together(_old(request), _new(request))
    if "Your reply broke off" in request.text:
        written = _block(request.text.rpartition("Your reply broke off")[2].partition("Reply with")[0], "memory")
        lines = [line for line in lines if line not in written.splitlines()]
    reply = _tagged(lines)
    return Answer(reply[:260], finish_reason="length" if len(reply) > 260 else "stop")


def never_ends(request: ScriptedRequest) -> Answer:
    """Is cut off after 260 characters, and begins again where it is asked to go on."""
    reply = honest(request)
    return Answer(reply[:260], finish_reason="length" if len(reply) > 260 else "stop")


def fenced(request: ScriptedRequest) -> str:
    """Puts the memory into a code fence inside the tags."""
    return honest(request).replace("<memory>\n", "<memory>\n```text\n").replace("\n</memory>", "\n```\n</memory>")


def prose_around(request: ScriptedRequest) -> str:
    """Talks before the memory and about it afterwards."""
    return f"Sure!\n{honest(request)}\nThe <memory> above is up to date. Shall I go on?"


def forgets_half(request: ScriptedRequest) -> str:
    """Leaves out every second line of the old memory, and is honest when it is asked about them."""
    return _tagged(_brought_together(_old(request)[::2], _new(request)))


def says_none(request: ScriptedRequest) -> str:
    """Says ``none`` to small talk, and to two sessions of three that tell something too."""
    lies = len(_old(request)) % 3 != 1 and bool(_old(request))
    return "<memory>\nNone.\n</memory>" if lies or not _new(request) else honest(request)


def headings(request: ScriptedRequest) -> str:
    """Writes the facts of each speaker under a heading."""
    lines = _brought_together(_old(request), _new(request))
    told = {
        who: [line for line in lines if line.lower().startswith((who, f"the {who}"))] for who in ("user", "assistant")
    }
    bare = {who: [f"- {_bare(line, who)}" for line in of] for who, of in told.items()}
    return _tagged([part for who, items in bare.items() for part in (f"{who.capitalize()}:", *items, "")])


def _bare(line: str, who: str) -> str:
    return line.partition(": ")[2] if line.lower().startswith(f"{who}:") else line.removeprefix(f"The {who} ")


def _down_at(call: int) -> Callable[[ScriptedRequest], str | Fault]:
    """Honest, but gives no answer to one call."""
    calls = itertools.count(1)
    return lambda request: Fault(status=503) if next(calls) == call else honest(request)


KINDS: Final[dict[str, Callable[[], Any] | None]] = {
    "honest": lambda: honest,
    "cut off": lambda: cut_off,
    "cut off for good": lambda: never_ends,
    "fenced": lambda: fenced,
    "prose around": lambda: prose_around,
    "forgets half": lambda: forgets_half,
    "forgets half, and lies about it": lambda: forgets_half,
    "none": lambda: says_none,
    "headings": lambda: headings,
    "one fold fails": lambda: _down_at(12),
    "down from the sixth session on": lambda: honest,
    "no model": None,
}
"""What makes the replies of each kind of model."""


def _model(kind: str) -> ScriptedModel | None:
    make = KINDS[kind]
    if make is None:
        return None
    writes, read = make(), list[str]()

    def reply(request: ScriptedRequest) -> str | Answer | Fault:
        if request.purpose == "retention":
            lies = kind.endswith("lies about it")
            count = len(_block(request.text, "old").splitlines())
            return "\n".join(f"{number + 1}: it is over" for number in range(count)) if lies else _still_holds(request)
        if kind.startswith("down") and (read or "Meridian" in _block(request.text, "session")):
            read.append(kind)
            return Fault(status=503)
        found: str | Answer | Fault = writes(request)
        return found

    return ScriptedModel(reply)


# -- what is kept -----------------------------------------------------------------------------------------------------


def _is_kept(fact: Fact, lines: Sequence[str]) -> bool:
    """Whether a line has the fact's words, and the speaker's name before them."""
    return any(fact.who in line.lower().split(fact.words[0].lower())[0] for line in lines if _has(line, fact))


def _has(line: str, fact: Fact) -> bool:
    return all(word.lower() in line.lower() for word in fact.words)


def measured(kind: str) -> dict[str, int]:
    """What a bank's summary holds at the end, and what it took, with one kind of model."""
    model = _model(kind)
    holding = [fact for fact in FACTS if "Ghent" not in fact.words]
    with (
        warnings.catch_warnings(record=True) as told,
        MemoryBank.open(summaries=Summarizer(model, max_tokens=100)) as bank,
    ):
        warnings.simplefilter("always")
        for number, messages in enumerate(SESSIONS, start=1):
            bank.remember(SCOPE, messages, session=f"s{number}", close=True)
        latest = bank.summaries.latest(SCOPE)
    lines = latest.sentences if latest is not None else ()
    kept = [fact for fact in holding if _is_kept(fact, lines)]
    return {
        "facts": len(holding),
        "kept": len(kept),
        "of the assistant": sum(fact.who == "assistant" for fact in kept),
        "without an owner": sum(any(_has(line, fact) for line in lines) for fact in holding) - len(kept),
        "stale": sum("in Ghent" in line for line in lines),
        "lines": len(lines),
        "calls": len(model.requests) if model is not None else 0,
        "warnings": sum(issubclass(each.category, DegradedWarning) for each in told),
    }


def run_in(folder: Path) -> dict[str, dict[str, int]]:
    """The figures of the checkout in ``folder``, by this module."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", _WORKER, str(HERE)],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{folder}: {done.stderr[-2000:]}")
    found: dict[str, dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return found


_WORKER = """
import json, sys
import secom_core
import benchmarks
benchmarks.__path__.insert(0, sys.argv[1] + "/benchmarks")
from benchmarks.summaries import KINDS, measured
print(json.dumps({kind: measured(kind) for kind in KINDS}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folders = {"before": options.before.resolve()} if options.before is not None else {}
    results = {name: run_in(folder) for name, folder in (folders | {"after": HERE}).items()}
    for name, found in results.items():
        columns = list(next(iter(found.values())))
        print(f"{name:<34}" + "".join(f"{column:>18}" for column in columns))
        for kind, row in found.items():
            print(f"{kind:<34}" + "".join(f"{value:>18}" for value in row.values()))
    if options.json:
        options.json.write_text(json.dumps({"results": results, "versions": versions()}, indent=1) + "\n")


if __name__ == "__main__":
    main()
