"""What timelines cost, and whether they help to find evidence.

    python -m benchmarks.timelines paths --json OUT
    python -m benchmarks.timelines linking --json OUT
    python -m benchmarks.timelines recall --data DIR --budgets 500 1000 2000 4000 --json OUT

``paths`` draws a timeline through the middle of growing tangled components, beside networkx's ``all_simple_paths``,
which lists them all, in one run and up to a time limit. ``linking`` adds one new event to graphs of 1,000 and 100,000
events. ``recall`` asks the questions of LoCoMo conversations (one a file in DIR) of one bank without a language model
or embedder, with timelines and without, under the same budgets of the whole block.

Evidence counts as found where the block holds the turn word for word: among the hits, or as the words of an event in a
timeline. ``reached`` also counts turns that an event shown rests on, whose words a reader would have to look up.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from importlib import metadata
from itertools import islice
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Any

from benchmarks.evaluation.retrieval import evidence_recall
from benchmarks.retrieval import BUDGETS, CATEGORIES, SCOPE, Conversation, locomo_files, read_conversation
from secom_core.bank import MemoryBank
from secom_core.memory import Recall
from secom_core.text.terms import count_tokens
from secom_core.timelines import Event, Link, Relation, TimelineOptions
from secom_core.timelines.graph import MemoryGraph
from secom_core.timelines.linking import Associate, SameTopicRule, link_by_rule
from secom_core.timelines.retrieval import paths_through, timelines

BEGIN = datetime(2020, 1, 1, tzinfo=timezone.utc)
WIDTH = 4
SIZES = (8, 16, 24, 32, 40, 1_000, 10_000, 100_000)
GRAPHS = (1_000, 100_000)
ROUNDS = 200


def event(number: int) -> Event:
    return Event(number, f"event {number}", BEGIN + timedelta(minutes=number), "s", (f"t{number}",))


# -- paths ------------------------------------------------------------------------------------------------------------


def tangled(size: int, rng: Random, width: int = WIDTH) -> MemoryGraph:
    """Layers of ``width`` events, each linked to three of the layer before: paths triple with every layer."""
    graph = MemoryGraph()
    graph.add(event(0))
    before = [0]
    while len(graph) < size:
        here = list(range(len(graph), min(len(graph) + width, size)))
        for number in here:
            chosen = rng.sample(before, min(3, len(before)))
            graph.add(event(number), [Link(each, number, Relation.CAUSE) for each in chosen])
        before = here
    return graph


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.perf_counter()
    result = action()
    return result, (time.perf_counter() - begin) * 1000


def listed(graph: MemoryGraph, hit: int, limit_s: float) -> tuple[int | None, float]:
    """How many timelines networkx lists in how many milliseconds; nothing where the limit passes first."""
    import networkx as nx

    whole = nx.DiGraph([(link.earlier, link.later) for link in graph.links()])
    ends = [node for node in whole if whole.out_degree(node) == 0]
    oldest = next(events[0].id for events in graph.components() if hit in {each.id for each in events})
    begin = time.perf_counter()
    found = 0
    for path in nx.all_simple_paths(whole, oldest, ends):
        found += hit in path
        if time.perf_counter() - begin > limit_s:
            return None, (time.perf_counter() - begin) * 1000
    return found, (time.perf_counter() - begin) * 1000


def measure_paths(sizes: Sequence[int], seed: int, limit_s: float) -> Iterator[dict[str, Any]]:
    beaten = False
    for size in sizes:
        graph = tangled(size, Random(seed), WIDTH if size < 1_000 else max(WIDTH, size // 1_000))
        hit = size // 2
        count, loading = timed(lambda graph=graph, hit=hit: paths_through(graph, hit))
        drawn = [timed(lambda graph=graph, hit=hit, n=n: timelines(graph, [hit], seed=n)) for n in range(20)]
        graph.add(event(size), [Link(size - 1, size, Relation.CAUSE)])
        _, after = timed(lambda graph=graph, hit=hit: timelines(graph, [hit]))
        row: dict[str, Any] = {
            "events": size,
            "links": len(graph.links()),
            "paths": count if math.isfinite(count) else "more than 1e308",
            "events_in_timeline": round(fmean(len(found[0].events) for found, _ in drawn)),
            "first_count_ms": round(loading, 3),
            "draw_ms": round(median(spent for _, spent in drawn), 3),
            "draw_after_one_more_event_ms": round(after, 3),
        }
        if not beaten:
            found, spent = listed(graph, hit, limit_s)
            beaten = found is None
            row |= {"networkx_paths": found, "networkx_ms": round(spent, 3)}
        yield row


# -- linking ----------------------------------------------------------------------------------------------------------


def measure_linking(sizes: Sequence[int], seed: int) -> Iterator[dict[str, Any]]:
    for size in sizes:
        rng = Random(seed)
        graph = MemoryGraph()
        for number in range(size):
            link_one(graph, number, rng)
        spent = sorted(timed(lambda graph=graph, rng=rng: link_one(graph, len(graph), rng))[1] for _ in range(ROUNDS))
        yield {
            "events": size,
            "links": len(graph.links()),
            "median_us": round(median(spent) * 1000, 1),
            "p95_us": round(spent[int(0.95 * ROUNDS)] * 1000, 1),
        }


def link_one(graph: MemoryGraph, number: int, rng: Random) -> None:
    """Algorithm 1 for one event whose associates are known: components, the most recent of each, the links."""
    near = rng.sample(range(number), 3) if number > 3 else range(number)
    associates = [Associate(graph.event(each), 0.9, graph.component_of(each)) for each in near]
    new = event(number)
    graph.add(new, link_by_rule([(new, associates)], SameTopicRule(within=timedelta(days=10_000))))


# -- evidence recall --------------------------------------------------------------------------------------------------


def shown_verbatim(recall: Recall, texts: dict[str, str]) -> list[str]:
    """The turns whose words are in the block."""
    found = [turn.id for turn in recall.turns]
    for line in recall.items("timelines"):
        found += [each for event in line.events for each in event.turn_ids if texts[each] in event.text]
    return list(dict.fromkeys(found))


def measure_recall(
    conversations: Sequence[Conversation], budgets: Sequence[int], share: float
) -> dict[str, dict[str, Any]]:
    rows: list[tuple[str, int, int, float]] = []
    linked: list[tuple[int, int]] = []
    for conversation in conversations:
        with MemoryBank.open(timelines=TimelineOptions(share=share, recall_without_model=True)) as bank:
            for session in conversation.sessions:
                bank.remember(SCOPE, session, close=True)
            linked.append((len(bank.timelines.events(SCOPE)), len(bank.timelines.links(SCOPE))))
            texts = {turn.id: " ".join(turn.content.split()) for each in conversation.sessions for turn in each.turns}
            for question in conversation.questions:
                for budget in budgets:
                    for name, found in asked(bank, question.question, budget, texts):
                        rows.append((name, budget, question.category, evidence_recall(found, question.evidence)))
    return {
        "events": sum(events for events, _ in linked),
        "links": sum(links for _, links in linked),
        "questions": len(rows) // 3 // len(budgets),
        **{name: table([row for row in rows if row[0] == name], budgets) for name in ("off", "on", "reached")},
    }


def asked(bank: MemoryBank, question: str, budget: int, texts: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
    off = bank.recall(SCOPE, question, token_budget=budget)
    on = bank.recall(SCOPE, question, token_budget=budget, layers=["timelines"])
    yield "off", [turn.id for turn in off.turns]
    yield "on", shown_verbatim(on, texts)
    resting = [turn_id for line in on.items("timelines") for turn_id in line.turn_ids]
    yield "reached", [*(turn.id for turn in on.turns), *resting]


def table(rows: Sequence[tuple[str, int, int, float]], budgets: Sequence[int]) -> dict[str, dict[str, float]]:
    groups = {"all": set(CATEGORIES)} | {name: {category} for category, name in CATEGORIES.items()}
    return {
        name: {
            str(budget): round(fmean(row[3] for row in rows if row[1] == budget and row[2] in categories), 4)
            for budget in budgets
        }
        for name, categories in groups.items()
        if any(row[2] in categories for row in rows)
    }


# -- the command ------------------------------------------------------------------------------------------------------


def versions() -> dict[str, str]:
    installed = {each.metadata["Name"]: each.version for each in metadata.distributions()}
    return {"python": platform.python_version()} | {
        name: installed[name] for name in ("numpy", "networkx") if name in installed
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("paths", "linking", "recall"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--budgets", type=int, nargs="+", default=list(BUDGETS))
    parser.add_argument("--share", type=float, default=TimelineOptions().share)
    parser.add_argument("--sizes", type=int, nargs="+")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for networkx on one graph")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result: dict[str, Any] = {"seed": options.seed, "versions": versions()}
    if options.what == "recall":
        if options.data is None:
            parser.error("recall needs --data")
        conversations = [read_conversation(file) for file in islice(locomo_files(options.data), 100)]
        result |= {"conversations": [each.name for each in conversations], "token_counter": count_tokens.__name__}
        result |= {"share": options.share, **measure_recall(conversations, options.budgets, options.share)}
        for name in ("off", "on", "reached"):
            for group, values in result[name].items():
                print(f"{name:<8}{group:<14}" + "".join(f"{value:8.3f}" for value in values.values()))
    else:
        rows = (
            measure_paths(options.sizes or SIZES, options.seed, options.limit)
            if options.what == "paths"
            else measure_linking(options.sizes or GRAPHS, options.seed)
        )
        result["rows"] = []
        for row in rows:
            print(row, flush=True)
            result["rows"].append(row)
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
