"""A shipped conversation as sessions, and a language model that answers Theanine's questions by simple rules."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from secom_core.conversation import Message, Session, group_messages
from secom_core.testing import ScriptedRequest

DATA = Path(__file__).resolve().parents[2] / "examples" / "data"
_EXCHANGE = re.compile(r"^\[Exchange (\d+)\]: (.*)$", re.M)
_EVENTS = {side: re.compile(rf"<{side}>(.*?)</{side}>", re.S) for side in "AB"}
_WORD = re.compile(r"[a-z]{4,}")


def sessions(name: str = "mara") -> list[Session]:
    with (DATA / f"{name}.jsonl").open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        Session(key, group_messages([_message(row) for row in group], key))
        for key, group in groupby(rows, key=lambda row: row["session"])
    ]


def _message(row: Mapping[str, Any]) -> Message:
    at = datetime.fromisoformat(row["at"].replace("Z", "+00:00"))
    return Message(row["content"], row["role"], id=row["id"], at=at)


def stage(request: ScriptedRequest) -> str:
    """What is asked for: "events", "relation" or "refine"."""
    text = request.prompt
    return "refine" if "<notes>" in text else "relation" if "Relation: one name" in text else "events"


def answer(request: ScriptedRequest) -> str:
    """Every third exchange is an event; two events that share words are related; a timeline becomes its last line."""
    text = request.text
    if stage(request) == "events":
        shown = text.rsplit("<conversation>", 1)[1]
        rows = [(int(number), said) for number, said in _EXCHANGE.findall(shown) if int(number) % 3 == 0]
        lines = (json.dumps({"event": " ".join(said.split()[:30]), "exchanges": [number]}) for number, said in rows)
        return "<events>\n" + "\n".join(lines) + "\n</events>"
    if stage(request) == "relation":
        first, second = (set(_WORD.findall(_EVENTS[side].search(text)[1].lower())) for side in "AB")
        return f"Explanation: by words.\nRelation: {('None', 'SameTopic', 'Changed')[min(len(first & second), 2)]}"
    timeline = text.rsplit("<timeline>", 1)[1].split("</timeline>")[0].strip().splitlines()
    return f"<notes>In the end: {timeline[-1].rsplit(': ', 1)[-1]}</notes>"
