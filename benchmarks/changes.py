"""What is found of facts that change: links on a set of our own, knowledge updates on BEAM, false links on LoCoMo.

    python -m benchmarks.changes [--set benchmarks/changes] [--part development|test|indirect] [--beam DIR|FILE …]
        [--locomo DIR] [--embedder none|static|minilm] [--budgets 500 1000] [--draw FILE] [--json OUT]

The set of our own was written before any rule. Each file is a chat ``{"name", "language", "part", "sessions",
"changes": [{"kind", "older", "newer", "about"}], "near_misses": [{"older", "newer", "why"}]}`` in which messages are
named by their ids. Rules were developed on the files whose part is ``development``; the figures that count are those of
``test``. A link is right where the set has it between the same two messages, of whatever kind; how many of the right
ones are of the right kind is printed beside. One that follows from others (the first of three to the last) is neither
right nor wrong. Near-misses are pairs that a link must not join.

The parts ``indirect`` and ``indirect-development`` were written later, without a look at the rules, and use no wording
twice: what changes there is mostly told with other words, in passing or without any word for it. The rules for what is
taken back at once were developed on the latter. The part ``natural-development`` is seven chats with an assistant with
longer replies, also written without a look at the rules, of which one was mended with them since; its files have
questions, and can be given to ``--beam`` as well.

On BEAM each question of an ability is asked under each budget: how many of its last evidence messages a block shows
(`benchmarks.evaluation.coverage`, at least half), and for knowledge updates, how often the block marks an older
evidence message as replaced by the last.

On LoCoMo the links after which something holds no more are drawn with a seed and written with their texts to
``--draw``, to be read.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.chats import SCOPE, Chat, chat_files, read_chat
from benchmarks.evaluation.coverage import coverage
from benchmarks.locomo import read_locomo
from benchmarks.retrieval import embedder_named, locomo_files, token_counter, versions
from secom_core.bank import MemoryBank
from secom_core.changes import Change
from secom_core.conversation import Message, Session, group_messages
from secom_core.readers.moments import read_moment

ABILITIES = ("knowledge_update", "contradiction_resolution", "event_ordering", "temporal_reasoning")
PARTS = ("development", "test", "indirect-development", "indirect", "natural-development")
SEED, DRAWN = 20260518, 200
_SHOWN = 0.5


def own_sessions(chat: Mapping[str, Any]) -> list[Session]:
    """The sessions of a file of the set."""
    return [_session(row) for row in chat["sessions"]]


def _session(row: Mapping[str, Any]) -> Session:
    moment = read_moment(row["date"])
    at = moment.on(None) if moment else None
    messages = [
        Message(each["content"], "" if "speaker" in each else each["role"], each.get("speaker"), id=each["id"], at=at)
        for each in row["messages"]
    ]
    return Session(row["session"], group_messages(messages, row["session"]))


def links_of(sessions: Sequence[Session]) -> list[Change]:
    """What a bank links of a conversation."""
    with MemoryBank.open(changes=True) as bank:
        for session in sessions:
            bank.remember(SCOPE, session, close=True)
        return bank.changes(SCOPE)


def judged(chat: Mapping[str, Any], found: Sequence[Change]) -> Counter[str]:
    """How many links of a chat are wanted, right, of the right kind and wrong; near-misses, and those joined."""
    wanted = {(each["older"], each["newer"]): each["kind"] for each in chat["changes"]}
    apart = {(each["older"], each["newer"]) for each in chat["near_misses"]} - wanted.keys()
    made = _by_message(chat, found)
    right, follows = made.keys() & wanted.keys(), _following(set(wanted))
    return Counter(
        wanted=len(wanted),
        right=len(right),
        kind=sum(wanted[pair] in made[pair] for pair in right),
        wrong=len(made.keys() - follows),
        near_misses=len(apart),
        joined=len(apart & made.keys()),
    )


def _by_message(chat: Mapping[str, Any], found: Sequence[Change]) -> dict[tuple[str, str], set[str]]:
    """The kinds of links by the ids of their messages: a turn is named by its first, which is the user's."""
    made: dict[tuple[str, str], set[str]] = {}
    for each in found:
        made.setdefault((each.older, each.newer), set()).add(each.kind)
    return made


def _following(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The pairs, and those that follow from them."""
    while more := {(one[0], other[1]) for one, other in product(pairs, pairs) if one[1] == other[0]} - pairs:
        pairs = pairs | more
    return pairs


def own_set(folder: Path, part: str) -> dict[str, Counter[str]]:
    """The counts of a part of the set by language, and by kind."""
    counts: dict[str, Counter[str]] = {}
    for file in sorted(folder.glob("*.json")):
        chat = json.loads(file.read_text(encoding="utf-8"))
        if chat["part"] == part:
            found = links_of(own_sessions(chat))
            counts.setdefault(chat["language"], Counter()).update(judged(chat, found))
            made = _by_message(chat, found)
            for each in chat["changes"]:
                is_found = (each["older"], each["newer"]) in made
                counts.setdefault(each["kind"], Counter()).update(wanted=1, right=int(is_found))
    return counts


def beam(files: Sequence[Path], embedder: Any, budgets: Sequence[int]) -> dict[str, Any]:
    """The shares of questions whose last evidence is shown, all of it is, and whose older evidence is marked."""
    rows: list[tuple[str, int, bool, bool, bool | None]] = []
    for file in files:
        chat = read_chat(file)
        with MemoryBank.open(changes=True, embedder=embedder, token_counter=token_counter()[0]) as bank:
            for session in chat.sessions:
                bank.remember(SCOPE, session, close=True)
            rows += asked_of(bank, chat, budgets)
    return {
        f"{ability} at {budget}": shares_of([row for row in rows if row[:2] == (ability, budget)])
        for ability in ABILITIES
        for budget in budgets
        if any(row[:2] == (ability, budget) for row in rows)
    }


def asked_of(
    bank: MemoryBank, chat: Chat, budgets: Sequence[int]
) -> Iterator[tuple[str, int, bool, bool, bool | None]]:
    """For each question and budget: its kind, whether its last and all evidence is shown, and marks of updates."""
    order = {message.text: place for place, message in enumerate(m for s in chat.sessions for m in s.messages)}
    turn_of = {message.text: turn.id for turn in chat.turns for message in turn.messages}
    for question in chat.questions:
        if question.kind not in ABILITIES or not question.evidence:
            continue
        *older, last = sorted(question.evidence, key=lambda text: order[text])
        for budget in budgets:
            recall = bank.recall(SCOPE, question.question, token_budget=budget)
            shown = [_is_shown(recall.text, question.question, question.gold, each) for each in (*older, last)]
            by = {one.newer for hit in recall.hits for found in hit.replaced.values() for one in found}
            marked = turn_of[last] in by if question.kind == "knowledge_update" and older else None
            yield question.kind, budget, shown[-1], all(shown), marked


def _is_shown(block: str, question: str, gold: str, message: str) -> bool:
    return coverage(block, question, gold, [message])[0] >= _SHOWN


def shares_of(rows: Sequence[tuple[str, int, bool, bool, bool | None]]) -> dict[str, Any]:
    """The shares of such questions."""
    marked = [row[4] for row in rows if row[4] is not None]
    return {
        "questions": len(rows),
        "last shown": round(fmean(row[2] for row in rows), 3),
        "all shown": round(fmean(row[3] for row in rows), 3),
        "marked": round(fmean(marked), 3) if marked else None,
    }


def drawn(folder: Path) -> tuple[int, int, list[dict[str, str]]]:
    """How many turns LoCoMo has, and links after which something holds no more; those drawn, to be read."""
    turns, found = 0, []
    for file in locomo_files(folder):
        sessions = read_locomo(file)
        texts = {turn.id: turn.text for session in sessions for turn in session.turns}
        turns += len(texts)
        found += [_row(file.stem, texts, each) for each in links_of(sessions) if each.kind != "confirmed"]
    return turns, len(found), random.Random(SEED).sample(found, min(DRAWN, len(found)))


def _row(name: str, texts: Mapping[str, str], link: Change) -> dict[str, str]:
    return {
        "conversation": name,
        "kind": link.kind,
        "older": f"{link.older} {texts[link.older]}",
        "newer": f"{link.newer} {texts[link.newer]}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", type=Path, default=Path(__file__).parent / "changes")
    parser.add_argument("--part", default="test", choices=PARTS)
    parser.add_argument("--beam", type=Path, nargs="+", default=[])
    parser.add_argument("--locomo", type=Path)
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--budgets", type=int, nargs="+", default=[500, 1000])
    parser.add_argument("--draw", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results: dict[str, Any] = {"part": options.part, "embedder": options.embedder, "seed": SEED}
    results["own"] = {name: dict(each) for name, each in own_set(options.set, options.part).items()}
    languages = Counter[str]()
    for name, each in results["own"].items():
        print(f"{name:<12}", each)
        languages.update(each if "near_misses" in each else {})
    made = languages["right"] + languages["wrong"]
    results["precision"] = round(languages["right"] / made, 3) if made else None
    results["recall"] = round(languages["right"] / languages["wanted"], 3)
    print(f"{options.part}: precision {results['precision']}, recall {results['recall']}, {dict(languages)}")
    if options.beam:
        results["beam"] = beam(chat_files(options.beam), embedder_named(options.embedder), options.budgets)
        for name, shares in results["beam"].items():
            print(f"{name:<36}", shares)
    if options.locomo:
        turns, links, rows = drawn(options.locomo)
        results["locomo"] = {"turns": turns, "links": links, "drawn": len(rows)}
        print(results["locomo"])
        if options.draw:
            options.draw.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.json:
        results["versions"] = versions("secom-memory", "sqlalchemy")
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
