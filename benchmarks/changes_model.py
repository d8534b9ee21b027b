"""What a language model adds to the rules of `benchmarks.changes`, recorded so that it can be run again.

    python -m benchmarks.changes_model PART [...] --model NAME --recorded FILE [--base-url URL]
        [--set benchmarks/changes] [--beam FILE …] [--locomo FILE] [--most N] [--sessions N] [--server WORDS]
        [--json OUT]

Each request to the model at URL, any OpenAI-compatible endpoint, and what came back is a line of FILE
(`benchmarks.recorded_model`); what is there already is not asked again. ``--json`` adds to what OUT holds. Everything
is asked at temperature 0, with a seed. The rules are measured beside, on the same chats. Parts:

- ``own``: chats of the set's test half, ``--most`` of each language, drawn with a seed
- ``beam``: knowledge updates and contradictions of whole chats, under 500 and 1,000 tokens
- ``locomo``: the first ``--sessions`` sessions of a conversation; links after which something holds no more are written
  into OUT as places and kinds, to be read

A reply about BEAM or LoCoMo copies data that is not ours to ship: of such lines ``--leave-out`` keeps the counts alone.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.changes import SEED, asked_of, judged, own_sessions, shares_of
from benchmarks.chats import SCOPE, read_chat
from benchmarks.locomo import read_locomo
from benchmarks.recorded_model import AskedModel, Recorder, cost
from benchmarks.retrieval import token_counter, versions
from secom_core.bank import MemoryBank
from secom_core.changes import Change
from secom_core.conversation import Session
from secom_core.errors import DegradedWarning
from secom_core.protocols import ChatModel

ABILITIES: Final = ("knowledge_update", "contradiction_resolution")
BUDGETS: Final = (500, 1000)


def links_of(sessions: Sequence[Session], model: ChatModel | None) -> list[Change]:
    """What a bank links of a conversation: by rules, and by the model where there is one."""
    with MemoryBank.open(changes="model" if model else True, model=model) as bank:
        for session in sessions:
            bank.remember(SCOPE, session, close=True)
        return bank.changes(SCOPE)


def chosen(folder: Path, most: int) -> list[dict[str, Any]]:
    """So many chats of each language of the set's test half; more of them begin with the same ones."""
    chats = [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))]
    random.Random(SEED).shuffle(chats)
    by_language: dict[str, list[dict[str, Any]]] = {}
    for chat in chats:
        if chat["part"] == "test":
            by_language.setdefault(chat["language"], []).append(chat)
    return [chat for language in sorted(by_language) for chat in by_language[language][:most]]


def own(options: argparse.Namespace, model: ChatModel) -> dict[str, Any]:
    """Precision and recall of links on chats of our own, by the rules and with the model."""
    chats = chosen(options.set, options.most)
    found: dict[str, Any] = {"chats": [chat["name"] for chat in chats]}
    for name, asked in (("rules", None), ("with the model", model)):
        counts = Counter[str]()
        for chat in chats:
            links = links_of(own_sessions(chat), asked)
            counts += judged(chat, links)
            counts["by the model"] += sum(each.by == "model" for each in links)
        made = counts["right"] + counts["wrong"]
        rates = {
            "precision": round(counts["right"] / made, 3) if made else None,
            "recall": round(counts["right"] / counts["wanted"], 3),
        }
        found[name] = dict(counts) | rates
    return found


def beam(options: argparse.Namespace, model: ChatModel) -> dict[str, Any]:
    """How many questions' last evidence is shown, all of it is, and whose older evidence is marked."""
    found: dict[str, Any] = {"chats": [file.stem for file in options.beam]}
    for name, asked in (("rules", None), ("with the model", model)):
        rows: list[Any] = []
        made = Counter[str]()
        for file in options.beam:
            chat = read_chat(file)
            with MemoryBank.open(
                changes="model" if asked else True, model=asked, token_counter=token_counter()[0]
            ) as bank:
                for session in chat.sessions:
                    bank.remember(SCOPE, session, close=True)
                rows += asked_of(bank, chat, BUDGETS)
                made.update(f"{each.kind}, by {each.by}" for each in bank.changes(SCOPE))
        shares = {
            f"{ability} at {budget}": shares_of([row for row in rows if row[:2] == (ability, budget)])
            for ability in ABILITIES
            for budget in BUDGETS
            if any(row[:2] == (ability, budget) for row in rows)
        }
        found[name] = {"links": dict(sorted(made.items())), **shares}
    return found


def locomo(options: argparse.Namespace, model: ChatModel) -> dict[str, Any]:
    """The links after which something holds no more, of the first sessions of a conversation."""
    sessions = read_locomo(options.locomo)[: options.sessions]
    texts = {turn.id: turn.text for session in sessions for turn in session.turns}
    found: dict[str, Any] = {"conversation": options.locomo.stem, "sessions": len(sessions), "turns": len(texts)}
    for name, asked in (("rules", None), ("with the model", model)):
        links = links_of(sessions, asked)
        ended = [each for each in links if each.kind != "confirmed"]
        found[name] = {"links": len(links), "supersessions": [[each.older, each.newer, each.kind] for each in ended]}
        for each in ended:
            print(f"- {each.kind} ({each.old_value} -> {each.new_value})")
            print(f"  {each.older} {texts[each.older]}\n  {each.newer} {texts[each.newer]}")
    return found


PARTS: Final[dict[str, Callable[[argparse.Namespace, ChatModel], dict[str, Any]]]] = {
    "own": own,
    "beam": beam,
    "locomo": locomo,
}


def leave_out(path: Path) -> None:
    """Take out of a file of recorded replies those about data that is not ours to ship."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    kept = [
        each if each["part"] == "own" or "left_out" in each else each | {"reply": "", "left_out": len(each["reply"])}
        for each in lines
    ]
    path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in kept), encoding="utf-8")


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=[*PARTS], metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--model", required=True, help="the model's name")
    parser.add_argument("--recorded", type=Path, required=True)
    parser.add_argument("--base-url", help="its endpoint; everything comes from the file unless given")
    parser.add_argument("--set", type=Path, default=Path(__file__).parent / "changes")
    parser.add_argument("--beam", type=Path, nargs="+", default=[])
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--most", type=int, default=1)
    parser.add_argument("--sessions", type=int, default=5)
    parser.add_argument("--server", default="", help="what serves the model, in words, for the results")
    parser.add_argument("--leave-out", action="store_true")
    parser.add_argument("--json", type=Path)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    known = json.loads(options.json.read_text(encoding="utf-8")) if options.json and options.json.exists() else {}
    about = {"model": options.model, "server": options.server, "seed": SEED, "versions": versions("openai")}
    recorder = Recorder(options.recorded, options.base_url)
    with recorder.serving() as url, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DegradedWarning)
        for part in options.parts:
            recorder.part, before, said = part, len(recorder.used), len(caught)
            figures = PARTS[part](options, AskedModel(options.model, url))
            if recorder.missing:
                raise SystemExit(f"{part}: {len(recorder.missing)} requests are not in the file; give --base-url")
            degraded = sum(issubclass(each.category, DegradedWarning) for each in caught[said:])
            known[part] = figures | {"warnings": degraded, "cost": cost(recorder.used[before:])}
            print(json.dumps({part: known[part]}, indent=1, ensure_ascii=False), flush=True)
            if options.json:
                options.json.write_text(json.dumps(known | about, indent=1, ensure_ascii=False) + "\n", "utf-8")
    if options.leave_out:
        leave_out(options.recorded)


if __name__ == "__main__":
    sys.exit(main())
