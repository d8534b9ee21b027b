"""Memory update (Bae et al. 2022), as Theanine compares with it (section 3.2; its Figure 25).

The memory is a set of sentences. A session that ends is summarised into sentences. A model names the relation of each
sentence that is kept to each that is new:

- PASS: the old one says it already, and the new one is dropped
- REPLACE: the new one says more, and the old one is dropped; Theanine adds CHANGE, where it is no longer so
- APPEND: both are kept
- DELETE: the matter is over, and both are dropped

Without updating it is Theanine's "Memory Retrieval" (Xu et al. 2022). Either finds sentences by likeness.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import product

from secom_core.conversation import Session
from secom_core.errors import ModelError
from secom_core.llm.flow import Procedure
from secom_core.llm.quoting import quoted, without_thoughts

from .memory import TEXTS, Block, Entry, Shelf, Tools, filled, lines_in, said, settled

_RELATION = re.compile(r"\b(PASS|REPLACE|CHANGE|APPEND|DELETE)\b")
_DROPS_OLD = ("REPLACE", "CHANGE", "DELETE")
_DROPS_NEW = ("PASS", "DELETE")


def updated(old: Sequence[str], new: Sequence[str], relations: Mapping[tuple[str, str], str]) -> list[str]:
    """The sentences after a session; a pair without a relation is kept, both of it."""
    gone = {one for (one, _), relation in relations.items() if relation in _DROPS_OLD}
    unneeded = {other for (_, other), relation in relations.items() if relation in _DROPS_NEW}
    left = [one for one in old if one not in gone]
    return list(dict.fromkeys([*left, *(other for other in new if other not in unneeded)]))


class MemoryUpdate:
    """Args:
    tools: what it is built with.
    updating: whether what is kept is updated; else sentences are only added.
    """

    def __init__(self, tools: Tools, *, updating: bool = True) -> None:
        self.sentences: list[str] = []
        self._tools = tools
        self._updating = updating

    def add(self, session: Session) -> Procedure[None]:
        reply = yield TEXTS.prompt(TEXTS.part("sentences", session=said(session)), "sentences")
        new = lines_in(reply, "sentences")
        relations = (yield from self._relations(new)) if self._updating else {}
        self.sentences = updated(self.sentences, new, relations)

    def block(self, query: str, budget: int, now: datetime | None = None) -> Procedure[Block]:
        shelf = Shelf(self._tools.embedder, map(Entry, self.sentences))
        return settled(filled(shelf.ranked(query), budget, self._tools.counter))

    def _relations(self, new: Sequence[str]) -> Procedure[dict[tuple[str, str], str]]:
        pairs = list(product(self.sentences, new))
        replies = yield [
            TEXTS.prompt(TEXTS.part("relation", old=quoted(one), new=quoted(other)), "relation") for one, other in pairs
        ]
        return {pair: _relation(reply) for pair, reply in zip(pairs, replies, strict=True)}


def _relation(reply: str | ModelError) -> str:
    """The relation that a reply names last; what cannot be read changes nothing."""
    found = [] if isinstance(reply, ModelError) else _RELATION.findall(without_thoughts(reply).upper())
    return found[-1] if found else "APPEND"
