"""README is short, its dialogue is what the project gives, and its figures are those of benchmarks/results."""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from secom_core import MemoryBank

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_is_two_screens() -> None:
    assert len([line for line in README.splitlines() if line.strip()]) <= 130


def test_the_dialogue_is_what_a_recall_gives() -> None:
    rows = [json.loads(line) for line in (ROOT / "examples/data/mara.jsonl").read_text("utf-8").splitlines()]
    question, block = re.findall(r"^```text\n(.*?)\n```$", README, re.M | re.S)[:2]
    assert f"{len(rows) // 2} exchanges" in README
    with MemoryBank.open() as bank:
        for name, session in groupby(rows, key=lambda row: row["session"]):
            bank.remember(("mara",), list(session), session=name, close=True)
        recall = bank.recall(
            ("mara",), question.removeprefix("user: "), token_budget=160, now=datetime.now(timezone.utc)
        )
    assert recall.text == block


def result(name: str) -> Any:
    return json.loads((ROOT / f"benchmarks/results/{name}.json").read_text(encoding="utf-8"))


def column(found: Any) -> list[float]:
    return [found["1000"], found["4000"]]


def finds(name: str, who: str) -> list[float]:
    return column(result(f"chats_{name}")["results"][who]["coverage"])


def measured() -> dict[str, list[float]]:
    """The rows of the first table: LoCoMo, BEAM and the chats of our own, in 1,000 and 4,000 tokens each."""
    held_out = {each: column(result(f"retrieval_{each}_heldout")["recall"]) for each in ("none", "static", "minilm")}
    ours = {
        name: [*recall, *finds(f"beam_{name}_heldout", "ours"), *finds(f"own_{name}", "ours")]
        for name, recall in held_out.items()
    }
    peers = result("peers")["results"]
    others = {
        row: [*column(peers[talk]["recall"]), *finds("beam_static", chats), *finds("own_static", chats)]
        for row, talk, chats in (
            ("mem0", "mem0, no LLM, Qdrant hybrid", "mem0, no LLM, Qdrant hybrid"),
            ("LlamaIndex", "LlamaIndex QueryFusionRetriever", "LlamaIndex QueryFusion, chunks"),
            ("LangChain", "LangChain EnsembleRetriever", "LangChain Ensemble, chunks"),
        )
    }
    return {"words alone": ours["none"], "StaticEmbedder": ours["static"], "all-MiniLM-L6-v2": ours["minilm"], **others}


def rows_of(section: str) -> list[list[str]]:
    table = README.split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:1] == "|"]
    return rows[2:]


def test_the_figures_are_those_that_were_measured() -> None:
    rows = rows_of("How much it finds")
    assert len(rows) == len(measured())
    for row, (name, figures) in zip(rows, measured().items(), strict=True):
        assert name in row[0]
        assert [float(cell) for cell in row[1:]] == pytest.approx(figures, abs=0.00051)


def test_the_weak_kinds_are_those_that_were_measured() -> None:
    talk = result("retrieval_static_heldout")
    beam, own = (result(name)["results"]["ours"] for name in ("chats_beam_static_heldout", "chats_own_static"))
    kinds = [
        (beam["by_ability"]["summarization"], beam["coverage"]),
        (beam["by_ability"]["event_ordering"], beam["coverage"]),
        (talk["by_category"]["open-domain"], talk["recall"]),
        (own["by_ability"]["paraphrase"], own["coverage"]),
        (own["by_ability"]["now"], own["coverage"]),
        (talk["by_category"]["multi-hop"], talk["recall"]),
    ]
    told = [[float(row[1]), float(row[2])] for row in rows_of("What it answers badly")]
    assert told == [pytest.approx([kind["1000"], every["1000"]], abs=0.00051) for kind, every in kinds]
    tricks = result("calibration_static")["confidence_area"]["confidence"]["talk, adversarial (237)"]
    assert f"{tricks:.3f}" in README
