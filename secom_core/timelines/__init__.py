"""Timelines (Theanine): events of closed sessions, linked by how one led to another, and drawn around what is asked.

`graph` holds one scope's events and links. `events` takes events from a closed session, `linking` finds what each new
one follows from (Phase I), `retrieval` draws the timelines around what a query found (Phase II-1), and `refinement`
rewrites them for the dialogue at hand (Phase II-2). `layer` does all of it in a bank. `response_prompt` asks for a
reply from them (Phase III).
"""

from __future__ import annotations

from .linking import SameTopicRule
from .options import TimelineOptions
from .picture import timeline_picture
from .records import Event, Link, Relation, Timeline
from .responding import response_instructions, response_prompt

__all__ = [
    "Event",
    "Link",
    "Relation",
    "SameTopicRule",
    "Timeline",
    "TimelineOptions",
    "response_instructions",
    "response_prompt",
    "timeline_picture",
]
