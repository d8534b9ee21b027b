"""Every memory on the same questions and budgets, without a judge.

    python -m benchmarks.memories --data DIR [DIR …] [--memory NAME …] [--embedder none|static|minilm|PATH]
        [--budgets 500 1000 2000 4000] [--conversations N] [--questions N] [--weights FILE]
        [--model NAME --base-url URL] [--json OUT]

A DIR holds conversations of a data set of `benchmarks.datasets` that names evidence, such as LoCoMo, QMSum or BEAM.
Each memory of `benchmarks.memories.registry` takes a conversation in, session by session, and gives a block for each
question under each budget. Without ``--memory``, all are measured that can be with what is there: those that ask a
language model only with ``--model``. A memory whose package is not installed is left out, and the reason is told.

- coverage: how much of the evidence the block shows (`benchmarks.evaluation.coverage`)
- whole: the share of the evidence messages that are covered wholly
- recall and DCG: of the evidence's turns, by the ranked units (SeCom, appendix A.8); of memories that show turns
- precision: the share of the block's words that stand in sentences of the evidence
- drift: the share of its pairs of neighbouring words that nobody said: a model's own words, and dates and marks
- tokens: of the block, mean; some memories show more than the budget

``--weights`` takes weights of the bank as it comes (``ours``) that were fitted without each conversation, as
`benchmarks.fit_weights` writes them. The other memories have none.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

from tqdm import tqdm

from benchmarks import peers
from benchmarks.answering import endpoint
from benchmarks.chats import Chat, Question
from benchmarks.evaluation.coverage import coverage, drift, pairs_of, precision
from benchmarks.evaluation.retrieval import dcg, evidence_recall
from benchmarks.retrieval import BUDGETS, embedder_named, token_counter, versions, weights_for
from secom_core.errors import InvalidInput, ModelError
from secom_core.llm.flow import run

from . import frameworks
from .conversations import read_all
from .memory import Block, Memory, Tools
from .registry import MEMORIES, Means, make, possible

FIELDS = ("coverage", "whole", "recall", "dcg", "precision", "drift", "tokens")


@dataclass(frozen=True)
class Asked:
    """One question under one budget. ``recall`` and ``dcg`` are None of a memory that shows no turns."""

    kind: str
    budget: int
    coverage: float
    whole: float
    recall: float | None
    dcg: float | None
    precision: float
    drift: float
    tokens: int
    seconds: float


def measure(memory: Memory, chat: Chat, means: Means, budgets: Sequence[int]) -> tuple[list[Asked], int]:
    """Every question under every budget, and how many sessions the memory's model failed on."""
    failed = sum(not taken_in(memory, session, means) for session in chat.sessions)
    known = frozenset(pair for turn in chat.turns for message in turn.messages for pair in pairs_of(message.line))
    now = asked_at(chat)
    pairs = [(question, budget) for question in chat.questions for budget in budgets]
    return [ask(memory, question, budget, means, known, now) for question, budget in pairs], failed


def taken_in(memory: Memory, session: Any, means: Means) -> bool:
    try:
        run(memory.add(session), means.asked)
    except ModelError as error:
        tqdm.write(f"session {session.name!r} was not taken in: {error}")
        return False
    return True


def asked_at(chat: Chat) -> datetime | None:
    """The day after the last session."""
    times = [turn.at for turn in chat.turns if turn.at]
    return max(times) + timedelta(days=1) if times else None


def ask(
    memory: Memory, question: Question, budget: int, means: Means, known: frozenset[Any], now: datetime | None
) -> Asked:
    begin = time.perf_counter()
    block: Block = run(memory.block(question.question, budget, question.at or now), means.asked)
    seconds = time.perf_counter() - begin
    covered, whole = coverage(block.text, question.question, question.gold, question.evidence)
    shows_turns = bool(block.turns) or not block.text
    return Asked(
        question.kind,
        budget,
        covered,
        whole,
        evidence_recall(block.turns, question.turns) if shows_turns else None,
        dcg(block.turns, question.turns) if shows_turns else None,
        precision(block.text, question.evidence),
        drift(block.text, known),
        means.tools.counter(block.text),
        seconds,
    )


def summary(asked: Sequence[Asked], budgets: Sequence[int]) -> dict[str, Any]:
    """Means by budget, and coverage by kind of question."""

    def by_budget(field: str, rows: Sequence[Asked] = asked) -> dict[str, float | None]:
        values = {budget: [getattr(row, field) for row in rows if row.budget == budget] for budget in budgets}
        return {str(budget): None if None in each else round(fmean(each), 4) for budget, each in values.items()}

    kinds = {row.kind: [each for each in asked if each.kind == row.kind] for row in asked}
    return {
        **{field: by_budget(field) for field in FIELDS},
        "by_kind": {kind: by_budget("coverage", rows) for kind, rows in sorted(kinds.items())},
        "questions": len(asked) // len(budgets),
        "milliseconds": round(fmean(row.seconds for row in asked) * 1000, 2),
    }


def table(results: Mapping[str, Mapping[str, Any]], budgets: Sequence[int]) -> str:
    head = "".join(f"{budget:>7}" for budget in budgets)
    middle = str(sorted(budgets)[len(budgets) // 2])
    columns = f"{'DCG':>7}{'prec.':>7}{'drift':>7}{'tokens':>8}"
    lines = [f"{'coverage; recall of turns':<24}{head}  |{head}  | at {middle}:{columns}      ms"]
    for name, row in results.items():
        cells = "  |".join("".join(_cell(value) for value in row[field].values()) for field in ("coverage", "recall"))
        rest = "".join(_cell(row[field][middle]) for field in ("dcg", "precision", "drift"))
        lines.append(f"{name:<24}{cells}  |{'':>9}{rest}{row['tokens'][middle]:>8.0f}{row['milliseconds']:>8.1f}")
    return "\n".join(lines)


def _cell(value: float | None) -> str:
    return f"{'-':>7}" if value is None else f"{value:>7.3f}"


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    logging.disable(logging.WARNING)
    frameworks.without_deprecations()
    count, counter_name = token_counter()
    counter = lru_cache(maxsize=4096)(count)  # a memory counts its units again for each question
    embedder = embedder_named(options.embedder)
    model = endpoint(options, options.model) if options.model else None
    means = Means(Tools(counter, embedder), model)
    data = read_all(options.data, options.conversations)
    settings = {
        "embedder": embedder.name if embedder else None,
        "token_counter": counter_name,
        "model": options.model,
        "weights": options.weights.name if options.weights else "as shipped",
        "conversations": {name: [chat.name for chat in chats] for name, chats in data.items()},
        "questions": options.questions,
        "seed": 0,
        "versions": versions(*peers.PACKAGES, "langmem"),
    }
    print(f"tokens: {counter_name}; embedder: {settings['embedder']}; weights: {settings['weights']}")
    found: dict[str, Any] = {"results": {name: {} for name in data}, "left_out": {}, **settings}
    for name in options.memory or possible(means):
        for title, chats in data.items():
            measured(name, [_sample(chat, options.questions) for chat in chats], means, options, found, title)
        if options.json:
            options.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    for title, results in found["results"].items():
        print(f"\n{title}: {', '.join(settings['conversations'][title])}\n{table(results, options.budgets)}")
    for name, reason in found["left_out"].items():
        print(f"left out: {name}: {reason}")


def measured(
    name: str, chats: Sequence[Chat], means: Means, options: argparse.Namespace, found: dict[str, Any], title: str
) -> None:
    """Add a row of the memory, or why there is none."""
    asked: list[Asked] = []
    failed = 0
    for chat in tqdm(chats, desc=f"{title}, {name}", unit="conversation", disable=options.quiet):
        weights = weights_for(options.weights, chat.name)
        try:
            memory = make(name, Means(means.tools, means.model, weights))
            rows, sessions = measure(memory, chat, means, options.budgets)
        except ImportError as error:
            found["left_out"][name] = f"its package is not installed ({error})"
            return
        except InvalidInput as error:
            raise SystemExit(str(error)) from error
        asked += rows
        failed += sessions
    found["results"][title][name] = {**summary(asked, options.budgets), "sessions_failed": failed}


def _sample(chat: Chat, most: int | None) -> Chat:
    """The chat with at most so many of its questions, evenly spread."""
    step = max(1, -(-len(chat.questions) // most)) if most else 1
    return Chat(chat.name, chat.sessions, chat.questions[::step])


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.memories",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, nargs="+", action="extend", required=True)
    parser.add_argument("--memory", nargs="+", action="extend", choices=list(MEMORIES), metavar="NAME")
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--budgets", type=int, nargs="+", default=list(BUDGETS))
    parser.add_argument("--conversations", type=int, help="only the first so many of each DIR")
    parser.add_argument("--questions", type=int, help="only so many of each conversation, evenly spread")
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--model", help="the model's name at the endpoint")
    parser.add_argument("--base-url", help="the endpoint; OpenAI's own unless given")
    parser.add_argument("--reply-tokens", type=int, help="the longest reply: a small model may not end by itself")
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--retries", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
