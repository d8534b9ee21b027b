"""Hits of the documents that `convert.to_document` made, such as after a reranker."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.documents import Document

from secom_core.bank import MemoryBank
from secom_core.context.lines import owner
from secom_core.context.replacing import replacements_of_json, with_numbers
from secom_core.conversation import Replacement, Scope, Turn, check_scope
from secom_core.errors import InvalidInput
from secom_core.memory import Hit, Memory, Passage


def to_hits(documents: Iterable[Document], bank: MemoryBank) -> list[Hit]:
    """Convert documents of `to_document` back to hits, their turns read from the bank, such as after a reranker.

    Turns that were forgotten since are left out, and so are a document with none left and the summary of a topic that
    lost one. The memory of a hit holds the shown turns only, and its key is the document's text; what was shown in part
    is shown in the same part, and what holds no more is marked so. A memory that comes in several documents, such as
    the pieces of a splitter, is one hit, with what all of them show, in the place of the first. The numbers are the
    documents', or from 1 on in their order where two of them have the same, as those of two retrievers do, or one none.

    Raises:
        InvalidInput: a document that `to_document` did not make.
    """
    located = [(document, _places(document)) for document in documents]
    places = {place for _, each in located for place in each}
    turns = {place: {turn.id: turn for turn in bank.turns(*place)} for place in places}
    merged: dict[tuple[Scope, str], Hit] = {}
    for document, own in located:
        hit = _hit(document, ChainMap(*(turns[place] for place in own)))
        if hit is not None:
            merged[hit.unit] = _merged(merged[hit.unit], hit) if hit.unit in merged else hit
    is_named = any(hit.is_named for hit in merged.values()) or len({hit.scope for hit in merged.values()}) > 1
    hits = [replace(hit, is_named=is_named) for hit in merged.values()]
    return with_numbers(hits) if len({hit.number for hit in hits} - {0}) == len(hits) else numbered(hits)


def numbered(hits: Iterable[Hit]) -> list[Hit]:
    """The hits with numbers from 1 on in their order."""
    return with_numbers([replace(hit, number=number) for number, hit in enumerate(hits, start=1)])


def _merged(first: Hit, second: Hit) -> Hit:
    by_id = {turn.id: turn for turn in (*first.turns, *second.turns)}
    # The turns of a topic are of several sessions.
    sessions = list(dict.fromkeys(turn.session for turn in by_id.values()))
    turns = tuple(sorted(by_id.values(), key=lambda turn: (sessions.index(turn.session), turn.index)))
    # A turn that either shows whole is whole.
    cut = [{each.turn.id for each in hit.excerpts} for hit in (first, second)]
    whole = {turn.id for hit, ids in zip((first, second), cut, strict=True) for turn in hit.turns if turn.id not in ids}
    shown = [each for each in (*first.excerpts, *second.excerpts) if each.turn.id not in whole]
    order = {turn.id: number for number, turn in enumerate(turns)}
    excerpts = tuple(_joined(sorted(shown, key=lambda each: (order[each.turn.id], each.place, each.start))))
    memory, replaced = replace(first.memory, turns=turns), {**second.replaced, **first.replaced}
    return replace(first, turns=turns, memory=memory, excerpts=excerpts, replaced=replaced)


def _joined(excerpts: Sequence[Passage]) -> list[Passage]:
    """Excerpts in order, those of the same words as one."""
    joined: list[Passage] = []
    for each in excerpts:
        last = joined[-1] if joined else None
        if last is None or (last.turn.id, last.place) != (each.turn.id, each.place) or last.stop < each.start:
            joined.append(each)
        else:
            joined[-1] = replace(last, stop=max(last.stop, each.stop))
    return joined


def is_of_bank(document: Document) -> bool:
    """Whether `to_document` made it, as its metadata says; documents of timelines and of sections are not."""
    return {"secom_memory_id", "scope", "session", "turn_ids"} <= document.metadata.keys()


def _places(document: Document) -> list[tuple[Scope, str]]:
    """The scope and session of each of its turns, as often as there are sessions."""
    metadata = document.metadata
    if "layer" in metadata:
        raise InvalidInput(
            f"what the layer {metadata['layer']!r} adds is no memory and cannot become a hit: leave out the documents "
            "with 'layer' in their metadata, or take the whole block, bank.recall(…, layers=…).text"
        )
    if not is_of_bank(document):
        raise InvalidInput(f"only a document of SecomRetriever can become a hit, got one with metadata {metadata!r}")
    scope = check_scope(metadata["scope"])
    return [(scope, session) for session in metadata.get("sessions") or [metadata["session"]]]


def _hit(document: Document, stored: Mapping[str, Turn]) -> Hit | None:
    metadata = document.metadata
    turns = tuple(stored[id_] for id_ in metadata["turn_ids"] if id_ in stored)
    if not turns:
        return None
    whole = len(turns) == len(metadata["turn_ids"])
    summary = metadata.get("summary", "") if whole else ""
    memory = Memory(metadata["secom_memory_id"], document.page_content, turns, summary)
    score, scope = float(metadata.get("score", 0.0)), check_scope(metadata["scope"])
    return Hit(
        memory,
        turns,
        score,
        int(metadata.get("number", 0)),
        excerpts=tuple(_passages(metadata.get("excerpts", ()), turns)),
        kind=metadata.get("kind", "relevant"),
        relevance=min(max(score, 0.0), 1.0),
        replaced={turn.id: tuple(found) for turn, found in _replaced(document, turns) if found},
        scope=scope,
        is_named=document.page_content.startswith(owner(scope)),
    )


def _replaced(document: Document, turns: Sequence[Turn]) -> Iterator[tuple[Turn, list[Replacement]]]:
    return ((turn, list(replacements_of_json(turn, document.metadata.get("replaced", ())))) for turn in turns)


def _passages(excerpts: Iterable[Mapping[str, Any]], turns: Sequence[Turn]) -> Iterator[Passage]:
    places = {
        (turn.id, message.id): (turn, place, len(message.text))
        for turn in turns
        for place, message in enumerate(turn.messages)
    }
    for each in excerpts:
        if (found := places.get((each.get("turn_id", ""), each.get("message_id")))) is not None:
            turn, place, length = found
            start, stop = max(int(each.get("start", 0)), 0), min(int(each.get("stop", length)), length)
            if start < stop:
                yield Passage(turn, place, start, stop)
