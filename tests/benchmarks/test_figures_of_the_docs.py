"""Figures that pages of the documentation tell in their own words are those of the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from secom_core.topics.layer import TopicLayer

ROOT = Path(__file__).resolve().parents[2]


def result(name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((ROOT / f"benchmarks/results/{name}.json").read_text(encoding="utf-8"))
    return read


def page(name: str) -> str:
    return " ".join((ROOT / f"docs/{name}.md").read_text(encoding="utf-8").split())


def test_the_cost_of_topics_without_a_model() -> None:
    without, with_them = (result(f"retrieval_none_{name}")["recall"] for name in ("heldout", "topics"))
    for name, found in (("`recall`", without), ('`recall(layers=["topics"])`', with_them)):
        assert f"| {name} | {' | '.join(f'{share:.3f}' for share in found.values())} |" in page("topics")
    shares = f"{with_them['500']:.3f}", f"{without['500']:.3f}"
    assert "{} with topics and {} without them".format(*shares) in page("recall")
    cost = "{} of LoCoMo's evidence inside 500 tokens, {} without them".format(*shares)
    assert TopicLayer.cost_without_model == cost


def test_clients_at_once() -> None:
    rows = [each for each in result("growth_clients")["clients"] if each["store"] == "sqlite"]
    one, two = ([each["turns_per_second"] for each in rows if each["processes"] == number] for number in (1, 2))
    told = f"recalled {min(one):.0f} to {max(one):.0f} a second, however many threads asked, and two processes "
    assert f"{told}{min(two):.0f} to {max(two):.0f}." in page("operations")


def test_one_more_turn() -> None:
    took = result("adding")["milliseconds"]["50000"]
    assert f"takes {took['index']:.3f} ms, with rank_bm25 {took['rank_bm25']:.0f} ms" in page("architecture")
