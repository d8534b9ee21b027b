"""Citations in an answer: markers such as ``[1]`` in its text, or the ``CitationBlock``s of a provider."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Final

from llama_index.core.base.llms.types import ChatMessage, CitationBlock, TextBlock, ToolCallBlock
from llama_index.core.instrumentation.events.llm import LLMChatEndEvent
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore

from secom_core.bank import MemoryBank
from secom_core.citations import Citations, CitationStream, Impression, read_citations
from secom_core.conversation import Scope
from secom_core.llm.quoting import without_thoughts

from .impressions import PendingQuery, restricted, take_pending
from .node_origins import locate, origin_of
from .numbered_nodes import ANSWER_KEY, NUMBER_KEY, NumberedNode
from .react_answers import answer_of

_ASSISTANTS: Final = frozenset({"assistant", "chatbot", "model"})
_SOURCE_LINE: Final = re.compile(r"Source (\d+):\n")


@dataclass(frozen=True, slots=True)
class CitedScope:
    """The citations of an answer in one scope, with the query and the impression that they belong to."""

    scope: Scope
    query: str
    impression: Impression
    citations: Citations


@dataclass(frozen=True, slots=True)
class CitableNodes:
    """The numbered nodes that an answer may cite, by the numbers that the model saw.

    Args:
        queries: the pending queries that the nodes were numbered for, by id.
        places: for each number, the id of the query and the number in its impressions.
        ids: for each id by which a provider's own citations name a node, its number.
    """

    queries: Mapping[str, PendingQuery]
    places: Mapping[int, tuple[str, int]]
    ids: Mapping[str, int]

    @property
    def numbers(self) -> Collection[int]:
        """The numbers that the model saw; one that no answer can cite where it saw none, so ``[NO_CITE]`` is read."""
        return self.places.keys() or (-1,)

    def by_scope(self, citations: Citations) -> list[CitedScope]:
        """The citations of an answer, for each query and scope that they say something about."""
        found = []
        for id_, pending in self.queries.items():
            numbers = dict.fromkeys(number for key, number in self.places.values() if key == id_)
            cited = dict.fromkeys(self.places[each][1] for each in citations.numbers if self.places[each][0] == id_)
            for scope, whole in pending.impressions.items():
                impression = restricted(whole, numbers)
                of_scope = tuple(each for each in cited if each in impression.numbers)
                found.append(CitedScope(scope, pending.query, impression, replace(citations, numbers=of_scope)))
        return [each for each in found if each.impression.numbers and each.citations.is_feedback]


def take_citable(bank: MemoryBank, nodes: Sequence[NodeWithScore]) -> CitableNodes | None:
    """Take the pending queries that these nodes were numbered for; nothing if there is none.

    Args:
        bank: the bank that takes the citations in.
        nodes: the nodes that an answer was made from.
    """
    ids = dict.fromkeys(id_ for each in nodes if isinstance(id_ := each.node.metadata.get(ANSWER_KEY), str))
    queries = {id_: pending for id_ in ids if (pending := take_pending(bank, id_)) is not None}
    if not queries:
        return None
    places: dict[int, tuple[str, int]] = {}
    native: dict[str, int] = {}
    ambiguous = set()
    for each in nodes:
        metadata = each.node.metadata
        if metadata.get(ANSWER_KEY) in queries and NUMBER_KEY in metadata:
            number, place = _visible_number(each.node), (metadata[ANSWER_KEY], int(metadata[NUMBER_KEY]))
            if places.setdefault(number, place) != place:
                ambiguous.add(number)
            native.update({str(id_): number for id_ in (each.node.node_id, metadata.get("secom_memory_id")) if id_})
    return CitableNodes(queries, {key: place for key, place in places.items() if key not in ambiguous}, native)


def is_unnumbered(bank: MemoryBank, answer: str, nodes: Sequence[NodeWithScore]) -> bool:
    """Whether an answer cites, or was asked to cite, memories of the bank that no `CitationNumberer` has numbered.

    Args:
        bank: the bank.
        answer: as far as it is known; a stream only tells of an engine that numbers its sources.
        nodes: the nodes that it was made from.
    """
    ours = [each for each in nodes if ANSWER_KEY not in each.node.metadata and origin_of(each) is not None]
    sources = any(_SOURCE_LINE.match(each.node.get_content(MetadataMode.NONE)) for each in ours)
    cites = sources or bool(read_citations(answer, range(1, len(nodes) + 1)).numbers)
    return bool(ours) and cites and any(each.hit is not None for each in locate(bank, ours[:1]))


def _visible_number(node: BaseNode) -> int:
    """The number that the model saw: a citation engine writes its own before the text, which no quoted text can."""
    source = None if isinstance(node, NumberedNode) else _SOURCE_LINE.match(node.get_content(MetadataMode.NONE))
    return int(source[1] if source else node.metadata[NUMBER_KEY])


# -- text -------------------------------------------------------------------------------------------------------------


def cited_by_text(text: str, nodes: CitableNodes) -> Citations:
    """The citations in the text of a whole answer, without the thoughts of a reasoning model."""
    citations = read_citations(without_thoughts(text), nodes.numbers)
    return _with_native(citations, _message_of(text), nodes)


def cited_by_message(message: ChatMessage, nodes: CitableNodes) -> Citations:
    """The citations in a message: markers in its text, without an agent's thoughts, and ``CitationBlock``s."""
    return _with_native(cited_by_text(answer_of(_own_text(message)), nodes), message, nodes)


def is_assistant(message: ChatMessage) -> bool:
    """Whether the message is a model's."""
    return message.role in _ASSISTANTS


def is_answer(message: ChatMessage) -> bool:
    """Whether the message is a model's and calls no tool."""
    blocks = any(isinstance(block, ToolCallBlock) for block in message.blocks)
    return is_assistant(message) and not blocks and "tool_calls" not in message.additional_kwargs


def without_markers(answer: ChatMessage, numbers: Sequence[int]) -> ChatMessage:
    """A copy of the answer without the markers that cite these numbers."""
    blocks = [
        block.model_copy(update={"text": read_citations(block.text, numbers, markers="strip").text})
        if isinstance(block, TextBlock)
        else block
        for block in answer.blocks
    ]
    return answer.model_copy(update={"blocks": blocks})


def without_any_marker(message: ChatMessage, step: str | None = None) -> ChatMessage:
    """A copy of a model's words without their markers, whatever was shown under their numbers; others as they are.

    Args:
        message: of anyone.
        step: which step of an agent it is where it holds code, in which ``[1]`` is no marker.
    """
    numbers = [int(digits) for digits in re.findall(r"\[(\d{1,9})", _own_text(message))]
    return without_markers(message, numbers) if numbers and is_assistant(message) and step is None else message


def strings_of(answer: Any) -> str:
    """The strings in an answer that is an object; its numbers are no markers."""
    return "\n\n".join(_strings(answer.model_dump(mode="json"))) if answer is not None else ""


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in parts for text in _strings(each)]


class AnswerStream:
    """An answer that is streamed: the whole text, and what the user sees of it.

    Args:
        nodes: what the answer may cite.
        strip: take the markers out of what the user sees.
    """

    def __init__(self, nodes: CitableNodes, *, strip: bool) -> None:
        self._stream = CitationStream(nodes.numbers, markers="strip") if strip else None
        self._tokens: list[str] = []

    @property
    def text(self) -> str:
        """Everything that came so far, with its markers."""
        return "".join(self._tokens)

    def feed(self, token: str) -> str:
        """Take in a token; returns what the user sees next, which may be nothing yet."""
        self._tokens.append(token)
        return self._stream.feed(token) if self._stream is not None else token

    def finish(self) -> str:
        """The stream has ended: what the user sees last."""
        return self._stream.finish().text if self._stream is not None else ""


# -- citations of a provider's own ------------------------------------------------------------------------------------

_native_message: ContextVar[ChatMessage | None] = ContextVar("secom_native_message", default=None)
"""The model's last message with citations of the provider's own; the event of an answer has only its text."""


def note_native_citations(event: LLMChatEndEvent) -> None:
    """Keep the message of a model that holds ``CitationBlock``s until the event of its answer comes."""
    message = event.response.message if event.response is not None else None
    cites = message is not None and any(isinstance(block, CitationBlock) for block in message.blocks)
    if cites or _native_message.get() is not None:
        _native_message.set(message if cites else None)


def _message_of(text: str) -> ChatMessage | None:
    """The message with native citations whose text is the answer's; it is given once."""
    message = _native_message.get()
    _native_message.set(None)
    return message if message is not None and _own_text(message).strip() == text.strip() else None


def _own_text(message: ChatMessage) -> str:
    """The model's own words, without those that a provider's citations quote."""
    return "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock))


def _with_native(citations: Citations, message: ChatMessage | None, nodes: CitableNodes) -> Citations:
    blocks = [block for block in message.blocks if isinstance(block, CitationBlock)] if message is not None else []
    native = [number for block in blocks if (number := _number_of(block, nodes)) is not None]
    return replace(citations, numbers=tuple(dict.fromkeys([*citations.numbers, *native])))


def _number_of(block: CitationBlock, nodes: CitableNodes) -> int | None:
    if block.source in nodes.ids:
        return nodes.ids[block.source]
    digits = re.match(r"\[(\d+)\]", block.title)
    return int(digits[1]) if digits and int(digits[1]) in nodes.places else None
