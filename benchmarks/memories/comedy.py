"""COMEDY (Chen et al. 2024), as SeCom (appendix A.9) and Theanine (section 3.2) compare with it.

No retrieval and no store of turns. A model notes what each session tells (task 1), and compresses all notes into one
memory (task 2): events, a portrait of the user, and how the speakers stand to each other. That memory is the block.
"""

from __future__ import annotations

from datetime import datetime

from secom_core.conversation import Session
from secom_core.llm.flow import Procedure
from secom_core.llm.quoting import quoted

from .memory import TEXTS, Block, Entry, Tools, answer_in, filled, said, settled

PARTS = ("events", "portrait", "relation")


class Comedy:
    def __init__(self, tools: Tools) -> None:
        self.notes: list[str] = []
        self.memory: dict[str, str] = {}
        self._counter = tools.counter

    def add(self, session: Session) -> Procedure[None]:
        reply = yield TEXTS.prompt(TEXTS.part("session_notes", session=said(session)), "notes")
        if note := answer_in(reply, "notes"):
            self.notes.append(note)
        if self.notes:
            listed = "\n\n".join(f"Session {place}:\n{quoted(each)}" for place, each in enumerate(self.notes, 1))
            compressed = yield TEXTS.prompt(TEXTS.part("compression", notes=listed), "compression")
            self.memory = {part: answer_in(compressed, part) for part in PARTS if f"<{part}>" in compressed}

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        # Where there is no room for the whole, its parts are shown in the paper's order while they fit.
        parts = [Entry(f"{part.capitalize()}:\n{text}") for part, text in self.memory.items() if text]
        return settled(filled(parts, budget, self._counter))
