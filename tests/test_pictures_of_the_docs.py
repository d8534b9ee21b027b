"""The pictures of the docs are those that the package draws."""

from __future__ import annotations

import html
import json
import re
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from secom_core.bank import MemoryBank
from secom_core.memory import Segment, segments_of
from secom_core.pictures import segmentation_strip

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"


def drawn() -> dict[str, str]:
    """The strips of the example conversation's first session, and the timeline of the page on concepts."""
    with (ROOT / "examples" / "data" / "mara.jsonl").open(encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["session"] == "s1"]
    topics = [row["topic"] for row in rows if row["role"] == "user"]
    edges = [0, *(place for place in range(1, len(topics)) if topics[place] != topics[place - 1]), len(topics)]
    truth = [Segment(start, stop) for start, stop in pairwise(edges)]
    with MemoryBank.open() as bank:
        bank.remember(("mara",), rows, session="s", close=True)
        turns, segments = bank.turns(("mara",), "s"), segments_of(bank.memories(("mara",), "s"))
    return {
        "segments": segmentation_strip(turns, segments, format="svg"),
        "session_segments": segmentation_strip(turns, segments, truth=truth, format="svg"),
        "timeline": timeline(),
    }


def timeline() -> str:
    page = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    names: dict[str, Any] = {}
    exec(next(block for block in blocks if "timeline_picture(" in block), names)
    return str(names["picture"])


def test_pictures_are_those_that_the_package_draws() -> None:
    for name, picture in drawn().items():
        held = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
        assert held.rstrip("\n") == picture.rstrip("\n"), f"docs/pictures/{name}.svg: python {Path(__file__).name}"


def test_the_picture_of_the_five_steps_is_true() -> None:
    drawn_texts = re.findall(r"<text [^>]*>(.*?)</text>", (PICTURES / "how_it_works.svg").read_text("utf-8"))
    said = [html.unescape(re.sub(r"<[^>]+>", "", text)) for text in drawn_texts]
    messages = [tuple(line.split(": ")) for line in said if re.match(r"(user|assistant): ", line)][:4]
    question = next(line.removeprefix("question: ") for line in said if line.startswith("question: "))
    with MemoryBank.open() as bank:
        at = datetime(2025, 5, 3, tzinfo=timezone.utc)
        bank.remember(("bello",), messages, session="s", at=at, close=True)
        assert len(bank.memories(("bello",), "s")) == 2
        head, _, *rest = bank.recall(("bello",), question, token_budget=60).text.splitlines()
    assert head in said
    assert said[-1 - len(rest) : -1] == rest


if __name__ == "__main__":
    for name, picture in drawn().items():
        (PICTURES / f"{name}.svg").write_text(picture, encoding="utf-8", newline="\n")
