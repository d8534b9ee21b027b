"""Memories that evolve: events linked into a graph, and timelines drawn from it (Theanine).

`graph` holds one scope's events and links. `events` takes events from a closed session, `linking` finds what each new
one follows from (Phase I), `retrieval` draws the timelines around what a query found (Phase II-1), and `refinement`
rewrites them for the dialogue at hand (Phase II-2). Whatever asks a language model is a procedure for
`secom_core.flow`.
"""

from __future__ import annotations
