"""Timelines as a LangChain retriever: the events that led to what a query asks about (Theanine, section 2.2)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Final

from langchain_core.documents import Document
from langchain_core.retrievers import LangSmithRetrieverParams
from pydantic import Field, StrictInt, model_validator
from typing_extensions import Self

from secom_core.conversation import Scope, check_scope
from secom_core.timelines import Event, Timeline
from secom_core.timelines.refinement import timeline_lines

from .dialogue import said_before
from .scoped_retriever import ScopedRetriever

_NAMESPACE: Final = uuid.UUID("0b9a4f0e-6a0b-5f4a-8a5e-74696d656c6e")


class TimelineRetriever(ScopedRetriever):
    """Finds timelines for a query. A document is a timeline: events of closed sessions, each linked to the next.

    A document holds the timeline rewritten for the query if the bank has a language model, else its events, a line
    each; its metadata says which events, relations and turns it rests on (see `timeline_document`).

    Setup: ``pip install ".[langchain]"`` in a clone.

    Instantiate::

        bank = MemoryBank.open("memory.db", model=LangChainChatModel(llm), timelines=True)
        retriever = TimelineRetriever(bank=bank, scope=("acme", "alice"))

    Usage::

        retriever.invoke("How did I come to move to Ghent?")
        retriever.invoke("How did I come to move to Ghent?", k=1, n=3, refined=False)

    With the messages before the query, it understands a follow-up, and timelines are rewritten for the dialogue::

        retriever.invoke("And why?", context=messages)

    One retriever for many users takes the scope from each call's configuration, as `SecomRetriever` does.

    Args:
        bank: where it searches; opened with ``timelines``.
        scope: whose events it finds; from the configuration unless given.
        scope_keys: the parts of the scope by their names in ``config["configurable"]``.
        k: how many events the query finds; as the bank's options say unless given.
        n: how many timelines are drawn for each, at most; the same.
        seed: what the draw depends on; the same seed gives the same timelines.
        refined: have the bank's language model, if there is one, rewrite them for the query (Theanine equation 11).
        token_budget: the largest length of all together, in the bank's token counter; one that is too long is cut
            around the event that was found. All are given whole unless it is given.
        order: ``"score"`` gives those of the best event first, ``"time"`` those that begin earliest.
    """

    k: StrictInt | None = Field(default=None, ge=1)
    n: StrictInt | None = Field(default=None, ge=1)
    seed: int = 0
    refined: bool = True
    token_budget: StrictInt | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _has_timelines(self) -> Self:
        # Raises where the bank was opened without them.
        self.bank.layers["timelines"]
        return self

    def _search(
        self,
        query: str,
        scope: Scope,
        *,
        k: int | None = None,
        n: int | None = None,
        token_budget: int | None = None,
        refined: bool | None = None,
        context: Iterable[Any] = (),
    ) -> list[Document]:
        found = self.bank.timelines.find(
            scope,
            query,
            k=self.k if k is None else k,
            n=self.n if n is None else n,
            seed=self.seed,
            refined=self.refined if refined is None else refined,
            token_budget=self.token_budget if token_budget is None else token_budget,
            context=said_before(context),
        )
        documents = [(each, timeline_document(each, scope, rank=rank)) for rank, each in enumerate(found, start=1)]
        if self.order == "time":
            documents.sort(key=lambda pair: pair[0].events[0].order)
        return [document for _, document in documents]

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        return LangSmithRetrieverParams(ls_retriever_name="secom_timelines")


def timeline_document(timeline: Timeline, scope: Sequence[str], *, rank: int = 1) -> Document:
    """Convert a timeline to a document: its text, and in metadata that JSON can hold what it is made of.

    The metadata holds ``events``, oldest first, each with its ``id``, ``text``, ``at``, ``session``, ``turn_ids`` and
    whether the query ``found`` it; ``relations``, the name of each between one event and the next; ``refined``,
    whether a language model wrote the text; ``turn_ids`` and ``sessions`` of all events; ``scope``, ``rank``, ``begin``
    and ``end``. The id is the same for the same events, whoever wrote the text.

    Args:
        timeline: events and relations.
        scope: whose events they are.
        rank: its place among those found, from 1.
    """
    scope = check_scope(scope)
    events = timeline.events
    return Document(
        page_content=timeline.text if timeline.text is not None else "\n".join(timeline_lines(timeline)),
        id=str(uuid.uuid5(_NAMESPACE, json.dumps([scope, [event.id for event in events]]))),
        metadata={
            "events": [_event_fields(event, found=event.id in timeline.hits) for event in events],
            "relations": [relation.value for relation in timeline.relations],
            "refined": timeline.text is not None,
            "turn_ids": list(timeline.turn_ids),
            "sessions": list(dict.fromkeys(event.session for event in events)),
            "scope": list(scope),
            "rank": rank,
            "begin": events[0].at.isoformat(),
            "end": events[-1].at.isoformat(),
        },
    )


def _event_fields(event: Event, *, found: bool) -> dict[str, Any]:
    return {
        "id": event.id,
        "text": event.text,
        "at": event.at.isoformat(),
        "session": event.session,
        "turn_ids": list(event.turn_ids),
        "found": found,
    }
