"""Citations as feedback in LangSmith, on the runs whose answers cite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langsmith import Client, get_current_run_tree
from langsmith.run_trees import get_cached_client

from .citations import CITATIONS_EVENT


class LangSmithFeedback(BaseCallbackHandler):
    """Sends each answer's reward to LangSmith: the share of the memories in its prompt that it cites, from 0 to 1.

    The feedback is on the run of `with_citation_feedback`, under ``key``, with the numbers as its comment. An answer
    without citations gets none. If the run is traced, LangSmith's client sends the feedback in the background. If
    LangSmith refuses it, this is logged, and the answer stays as it is.

    Usage::

        chain.invoke(question, {"callbacks": [LangSmithFeedback()], "configurable": {"user_id": "alice"}})

    Args:
        client: LangSmith's client; the one that traces unless given.
        key: the name of the feedback.
        session_id: the id of the LangSmith project that holds the runs. Newer deployments want it.
    """

    def __init__(
        self, client: Client | None = None, *, key: str = "citations", session_id: UUID | str | None = None
    ) -> None:
        self._client = client or get_cached_client()
        self._key = key
        self._session_id = session_id

    def on_custom_event(self, name: str, data: Mapping[str, Any], *, run_id: UUID, **kwargs: Any) -> None:
        """Send the reward of an answer; other events are ignored."""
        if name != CITATIONS_EVENT or data["reward"] is None:
            return
        run = get_current_run_tree()
        cited = "".join(f"[{number}]" for number in data["cited"]) or "none"
        self._client.create_feedback(
            run_id,
            self._key,
            score=data["reward"],
            # With the trace's id, the client sends it in the background.
            trace_id=run.trace_id if run is not None and run.id == run_id else None,
            session_id=self._session_id,
            comment=f"cited {cited} of {len(data['numbers'])}; {data['lesson']}",
        )
