"""SumMem, a baseline of SeCom (section 3, baseline 5; LangChain's summary memory).

Keeps the sessions. For each question it has every session summarised with the question in view, and shows the
summaries that have something to say. So nothing is made before a question is there, and each costs a call a session.
"""

from __future__ import annotations

from datetime import datetime

from secom_core.conversation import Session
from secom_core.errors import ModelError
from secom_core.llm.flow import Procedure
from secom_core.llm.quoting import quoted

from .memory import TEXTS, Block, Entry, Tools, answer_in, filled, said, settled


class SumMem:
    def __init__(self, tools: Tools) -> None:
        self.sessions: list[Session] = []
        self._counter = tools.counter

    def add(self, session: Session) -> Procedure[None]:
        self.sessions.append(session)
        return settled(None)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        asked = [
            TEXTS.prompt(TEXTS.part("relevant_summary", query=quoted(query), session=said(session)), "summary")
            for session in self.sessions
        ]
        replies = yield asked
        summaries = [answer_in(reply, "summary") for reply in replies if not isinstance(reply, ModelError)]
        # The latest first, should there not be room for all.
        return filled([Entry(each) for each in reversed(summaries) if each], budget, self._counter)
