"""Recall: what answers a question."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ..memory import Hit, Recall, Timeline
from .inspecting import behind, turn_json
from .opening import LAYERS, opened, scope_of
from .terminal import data, json_data, note

__all__ = ["recall_"]


def recall_(asked: Namespace) -> int:
    """Print what answers a question."""
    scope = scope_of(asked)
    wanted = [layer for layer in LAYERS if getattr(asked, layer)]
    with opened(asked, learns=True, **dict.fromkeys(wanted, True)) as there:
        there.row(scope)
        recall = there.bank.recall(
            scope,
            asked.query,
            token_budget=asked.budget,
            k=asked.k,
            now=asked.now,
            summary=asked.summary,
            timelines=asked.timelines,
            topics=asked.topics,
        )
        missing = [layer for layer in wanted if behind(there, scope, layer)]
    if asked.json:
        json_data(_recall_json(recall))
    elif recall.text:
        data(recall.text)
    else:
        note("nothing is found for that")
    for layer in missing:
        note(f"not every closed session is in the {layer} yet; `secom inspect {layer} --make` takes them in")
    return 0


def _recall_json(recall: Recall) -> dict[str, Any]:
    return {
        "query": recall.query,
        "text": recall.text,
        "tokens": recall.tokens,
        "hits": [_hit_json(hit) for hit in recall.hits],
        "timelines": [_timeline_json(timeline) for timeline in recall.timelines],
        "summary": recall.summary.text if recall.summary is not None else None,
    }


def _hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "number": hit.number,
        "score": hit.score,
        "memory": hit.memory.id,
        "topic": hit.memory.summary or None,
        "turns": [turn_json(turn) for turn in hit.turns],
    }


def _timeline_json(timeline: Timeline) -> dict[str, Any]:
    events = [{"id": event.id, "at": event.at.isoformat(), "text": event.text} for event in timeline.events]
    return {
        "number": timeline.number,
        "events": events,
        "relations": [relation.value for relation in timeline.relations],
        "text": timeline.text,
        "turn_ids": list(timeline.turn_ids),
    }
