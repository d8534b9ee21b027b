"""Numbered nodes, and rewards for those that an answer cites (RMM section 6, appendix D.2).

`CitationNumberer` goes last among an engine's postprocessors and shows each node under a number; `CitationReward`
reads the answers of all engines in the process while it is installed, and has the bank learn from what they cite.
"""

from __future__ import annotations

import asyncio
import re
import threading
import uuid
import warnings
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Literal

from llama_index.core.base.llms.types import ChatMessage, CitableBlock, CitationBlock, TextBlock
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.llm import LLMChatEndEvent
from llama_index.core.instrumentation.events.synthesis import SynthesizeEndEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, ImageNode, MetadataMode, Node, NodeWithScore, QueryBundle, TextNode
from typing_extensions import Self

from secom_core.bank import MemoryBank
from secom_core.conversation import Scope
from secom_core.errors import DegradedWarning, InvalidInput, SecomError
from secom_core.memory import Decision
from secom_core.prompts.quoting import without_thoughts
from secom_core.reflection.citations import MARKER, Citations, CitationStream, read_citations
from secom_core.reflection.policy import Lesson

from .convert import answer_of, escape_braces
from .shown import Asked, Located, as_shown, awaited, decisions_of, learning_bank, located, wait_for

__all__ = ["CitationNumberer", "CitationReward", "NumberedNode", "escape_markers", "to_citable"]

_ANSWER: Final = "secom_answer"
_NUMBER: Final = "secom_number"
_BOOKKEEPING: Final = (_ANSWER, _NUMBER)
_NOTHING: Final = "Nothing in memory answers this."
_NOTHING_ID: Final = "secom-nothing-found"
_TEMPLATE: Final = "{metadata_str}\n{content}"

_SOURCE: Final = re.compile(r"^([ \t]*Source[ \t]+)(\d+)(?=[ \t]*:)", re.I | re.M)
_DELIMITER: Final = re.compile(r"<(?=\s*/?\s*memories)", re.I)
_SOURCE_LINE: Final = re.compile(r"Source (\d+):\n")


def escape_markers(text: str) -> str:
    """Recalled text that cannot cite, cannot pass for a numbered source, and cannot close what quotes it.

    ``[3]``, ``[m3]``, ``[1, 2]`` and ``[NO_CITE]`` get round brackets, and so does the number of a line that begins
    ``Source 3:``; a ``<memories>`` delimiter loses its bracket. ``{names}`` become ``{ names }``.
    """
    bare = MARKER.sub(lambda found: f"({found[0][1:-1]})", _DELIMITER.sub("‹", text))
    return escape_braces(_SOURCE.sub(r"\1(\2)", bare))


# -- numbers --------------------------------------------------------------------------------------------------------


class NumberedNode(TextNode):
    """A node that tells the language model its number and day: ``[2] 2025-03-10 Mon``.

    The text itself holds no number: a ``CitationQueryEngine``, which makes plain nodes of pieces of the text, gives
    them numbers of its own.
    """

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "NumberedNode"

    @property
    def label(self) -> str:
        """Number and day, as they are shown."""
        return f"[{self.metadata[_NUMBER]}] {_day(self.metadata.get('begin'))}".rstrip()

    def get_metadata_str(self, mode: MetadataMode = MetadataMode.ALL) -> str:
        """The metadata as text; for the language model the label comes first, in place of ``begin``."""
        if mode != MetadataMode.LLM or _NUMBER not in self.metadata:
            return super().get_metadata_str(mode)
        # What begins on no day, as others use the word, is told as it is.
        day = ["begin"] if _day(self.metadata.get("begin")) else []
        hidden = [*self.excluded_llm_metadata_keys, *day]
        told = TextNode.get_metadata_str(self.model_copy(update={"excluded_llm_metadata_keys": hidden}), mode)
        return f"{self.label}\n{escape_markers(told)}".rstrip()


def _day(begin: object) -> str:
    try:
        return f"{datetime.fromisoformat(str(begin)):%Y-%m-%d %a}" if begin else ""
    except ValueError:
        return ""


def to_citable(node: NodeWithScore | BaseNode) -> CitableBlock:
    """A numbered node for a provider with citations of its own, whose answer then holds a ``CitationBlock``."""
    held = node.node if isinstance(node, NodeWithScore) else node
    label = held.label if isinstance(held, NumberedNode) else held.node_id
    return CitableBlock(title=label, source=held.node_id, content=[TextBlock(text=held.get_content())])


class CitationNumberer(BaseNodePostprocessor):
    """Shows each node under a number, and notes what was shown, so that the answer can cite it.

    It goes last among the postprocessors of an engine. What comes back are copies with the ids of the nodes given;
    number and day stand before the text that the model sees, and the text is quoted (`escape_markers`). Several nodes
    of one memory share its number. Nodes of another origin are numbered too and teach nothing; those without text, such
    as images, stay as they are. What was forgotten since it was retrieved is left out.

    Args:
        bank: where the memories are; one that does not learn has its nodes numbered, and no more.
        empty: the text of the one node that comes back where there is none, without which an engine would not ask its
            language model; ``None`` for no such node.
        first: the first number, for prompts that hold other numbers.
        store_path: the bank's file, opened where no bank is given.

    Raises:
        InvalidInput: neither a bank nor a store path is given, or ``first`` is below 1.
    """

    model_config = ConfigDict(extra="forbid")

    empty: str | None = Field(default=_NOTHING, description="The text of the node that stands for none.")
    first: int = Field(default=1, description="The first number.")
    store_path: str | None = Field(default=None, description="The bank's file.")
    _bank: MemoryBank = PrivateAttr()

    def __init__(self, bank: MemoryBank | None = None, *, store_path: str | None = None, **data: Any) -> None:
        if data.get("first", 1) < 1:
            raise InvalidInput(f"first is a whole number from 1 on, got {data['first']!r}")
        found = learning_bank("CitationNumberer", bank, store_path)
        data.pop("class_name", None)  # dumps have it
        super().__init__(**{**data, "store_path": found.path})
        self._bank = found  # set before super().__init__(), it would be lost

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "CitationNumberer"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        answer = uuid.uuid4().hex
        given = self._located(nodes)
        numbers = self._numbers(given)
        if query_bundle is not None and query_bundle.query_str.strip() and self._bank.learns:
            decisions = self._decisions(query_bundle.query_str, given, numbers)
            wait_for(self._bank, Asked(answer, query_bundle.query_str, decisions))
        shown = [_shown(each.node, number, answer) for each, number in zip(given, numbers, strict=True)]
        return shown or self._neutral(answer)

    def _located(self, nodes: Sequence[NodeWithScore]) -> list[Located]:
        try:
            return located(self._bank, nodes)
        except SecomError as error:
            _degrade(error)
            return [Located(each) for each in nodes]

    def _numbers(self, given: Sequence[Located]) -> list[int | None]:
        taken: dict[object, int] = {}
        numbers: list[int | None] = []
        for place, each in enumerate(given):
            key = (each.scope, each.hit.memory.id) if each.hit is not None else place
            can_be = _can_be_numbered(each.node.node)
            numbers.append(taken.setdefault(key, len(taken) + self.first) if can_be else None)
        return numbers

    def _decisions(
        self, query: str, given: Sequence[Located], numbers: Sequence[int | None]
    ) -> Mapping[Scope, Decision]:
        shown = [(number, each) for number, each in zip(numbers, given, strict=True) if number is not None]
        try:
            return decisions_of(self._bank, query, shown)
        except SecomError as error:
            _degrade(error)
            return {}

    def _neutral(self, answer: str) -> list[NodeWithScore]:
        if self.empty is None:
            return []
        hidden = list(_BOOKKEEPING)
        node = TextNode(
            id_=_NOTHING_ID,
            text=self.empty,
            metadata={_ANSWER: answer},
            excluded_embed_metadata_keys=hidden,
            excluded_llm_metadata_keys=list(hidden),
        )
        return [NodeWithScore(node=node, score=0.0)]


def _degrade(error: SecomError) -> None:
    # The answer is worth more than what it could teach.
    warnings.warn(f"the answer will teach nothing: {error}", DegradedWarning, stacklevel=2)


def _can_be_numbered(node: BaseNode) -> bool:
    return isinstance(node, (TextNode, Node)) and not isinstance(node, ImageNode) and node.node_id != _NOTHING_ID


def _shown(scored: NodeWithScore, number: int | None, answer: str) -> NodeWithScore:
    node = scored.node
    marks = {_ANSWER: answer, **({_NUMBER: number} if number is not None else {})}
    about: dict[str, Any] = {
        "metadata": {**{key: each for key, each in node.metadata.items() if key not in _BOOKKEEPING}, **marks},
        "excluded_embed_metadata_keys": _and_ours(node.excluded_embed_metadata_keys),
        "excluded_llm_metadata_keys": _and_ours(node.excluded_llm_metadata_keys),
    }
    if number is None:
        return NodeWithScore(node=node.model_copy(update=about, deep=True), score=scored.score)
    numbered = NumberedNode(
        id_=node.node_id,
        text=escape_markers(node.get_content(metadata_mode=MetadataMode.NONE)),
        text_template=_TEMPLATE,
        relationships=dict(node.relationships),
        embedding=node.embedding,
        **about,
    )
    return NodeWithScore(node=numbered, score=scored.score)


def _and_ours(keys: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*keys, *_BOOKKEEPING]))


# -- what was shown -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Shown:
    """What an answer may cite, by the numbers that the model saw.

    Args:
        asked: the questions that it was shown for, by id.
        places: by number, the question and the number under which it was noted.
        ids: by the ids that a provider's own citations go by, the number.
    """

    asked: Mapping[str, Asked]
    places: Mapping[int, tuple[str, int]]
    ids: Mapping[str, int]

    def cited(self, citations: Citations) -> list[tuple[Asked, Scope, Decision, Citations]]:
        """What the answer says about each scope."""
        found = []
        for id_, asked in self.asked.items():
            numbers = dict.fromkeys(number for key, number in self.places.values() if key == id_)
            named = dict.fromkeys(self.places[each][1] for each in citations.numbers if self.places[each][0] == id_)
            for scope, decision in asked.decisions.items():
                shown = as_shown(decision, numbers)
                mine = tuple(each for each in named if each in shown.numbers)
                found.append((asked, scope, shown, replace(citations, numbers=mine)))
        return [each for each in found if each[2].numbers and each[3].tell]


def _taken(bank: MemoryBank, nodes: Sequence[NodeWithScore]) -> _Shown | None:
    """What the bank waits for an answer to, among the nodes that one was made from."""
    named = dict.fromkeys(id_ for each in nodes if isinstance(id_ := each.node.metadata.get(_ANSWER), str))
    asked = {id_: found for id_ in named if (found := awaited(bank, id_)) is not None}
    if not asked:
        return None
    places: dict[int, tuple[str, int]] = {}
    ids: dict[str, int] = {}
    unclear = set()
    for each in nodes:
        about = each.node.metadata
        if about.get(_ANSWER) in asked and _NUMBER in about:
            number, noted = _seen_as(each.node), (about[_ANSWER], int(about[_NUMBER]))
            if places.setdefault(number, noted) != noted:
                unclear.add(number)
            ids.update({str(id_): number for id_ in (each.node.node_id, about.get("secom_memory_id")) if id_})
    return _Shown(asked, {number: noted for number, noted in places.items() if number not in unclear}, ids)


def _seen_as(node: BaseNode) -> int:
    """The number that the model saw: a citation engine writes its own before the text, which no quoted text can."""
    given = None if isinstance(node, NumberedNode) else _SOURCE_LINE.match(node.get_content(MetadataMode.NONE))
    return int(given[1] if given else node.metadata[_NUMBER])


# -- rewards --------------------------------------------------------------------------------------------------------

_said: ContextVar[ChatMessage | None] = ContextVar("secom_said", default=None)
"""The last message of a model that holds citations of the provider's own; the event of an answer has its text only."""


class CitationReward(BaseEventHandler):
    """Has the bank learn from what answers cite, while it is installed.

    It acts once an answer is made, whole or at the end of its stream, and only on answers over nodes that a
    `CitationNumberer` with the same bank has numbered: whose memory it is, what was asked and what was shown come with
    them, so that one handler serves all users and engines of a process. Of one question the first answer counts,
    however many handlers are installed and however engines are nested. Streams that fail or are abandoned teach
    nothing.

    ::

        with CitationReward(bank):
            engine.query("Who teaches me the violin?")

    In async code, answers that were not streamed are taken in by a thread, so that the loop goes on: `asettle` waits
    for them.

    Args:
        bank: the bank that learns.
        markers: ``"strip"`` takes the markers out of what the user sees and a chat memory keeps, streams included;
            answers that are objects (``output_cls``) keep theirs.

    Raises:
        InvalidInput: the bank does not learn.
    """

    model_config = ConfigDict(extra="forbid")

    markers: Literal["keep", "strip"] = "keep"
    _bank: MemoryBank = PrivateAttr()
    _pool: ThreadPoolExecutor | None = PrivateAttr(default=None)
    _running: set[Future[None]] = PrivateAttr(default_factory=set)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, bank: MemoryBank, *, markers: Literal["keep", "strip"] = "keep") -> None:
        if not bank.learns:
            raise InvalidInput("this bank does not learn; open it with learning=True")
        data: dict[str, Any] = {"markers": markers}
        super().__init__(**data)
        self._bank = bank  # set before super().__init__(), it would be lost

    @classmethod
    def class_name(cls) -> str:
        """The name of the class."""
        return "CitationReward"

    # -- install ----------------------------------------------------------------------------------------------------

    def install(self) -> Self:
        """Listen to all engines of the process; once more does nothing."""
        root = get_dispatcher()
        if not any(each is self for each in root.event_handlers):
            root.add_event_handler(self)
        return self

    def uninstall(self) -> None:
        """Listen no more, and wait until what was heard is learned."""
        root = get_dispatcher()
        root.event_handlers = [each for each in root.event_handlers if each is not self]
        self.settle()
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()

    def __enter__(self) -> Self:
        return self.install()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.uninstall()

    async def __aenter__(self) -> Self:
        return self.install()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.uninstall)

    def settle(self) -> None:
        """Wait until all answers so far are taken in."""
        for each in tuple(self._running):
            each.exception()

    async def asettle(self) -> None:
        """Wait until all answers so far are taken in, without holding up the loop."""
        for each in tuple(self._running):
            await asyncio.wait([asyncio.wrap_future(each)])

    # -- answers ----------------------------------------------------------------------------------------------------

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        """Take in an answer; every other event is passed over."""
        if isinstance(event, LLMChatEndEvent):
            _note(event)
        if not isinstance(event, SynthesizeEndEvent):
            return
        try:
            self._answered(event.response)
        except Exception as error:
            # The dispatcher swallows it.
            warnings.warn(f"an answer taught nothing: {error!r}", DegradedWarning, stacklevel=2)
            raise

    def take_in(self, answer: str | ChatMessage, nodes: Sequence[NodeWithScore]) -> list[Lesson]:
        """Take in an answer that no synthesizer made, such as an agent's; no installation is needed.

        Args:
            answer: what the model said. Of a message, its text and its ``CitationBlock``s count: one names a node by
                ``source``, which is the node's id or the memory's, or by the number in ``title`` (`to_citable`).
            nodes: what it was shown, from a `CitationNumberer`.

        Returns:
            What each scope has learned.

        Raises:
            StoreError: the store failed.
        """
        message = ChatMessage(role="assistant", content=answer) if isinstance(answer, str) else answer
        shown = _taken(self._bank, nodes)
        if shown is None or message.role not in _ASSISTANTS:
            return []
        citations = _with_native(_cited(answer_of(_spoken(message)), shown), message, shown)
        return [self._reward(*each) for each in shown.cited(citations)]

    async def atake_in(self, answer: str | ChatMessage, nodes: Sequence[NodeWithScore]) -> list[Lesson]:
        """Take in an answer that no synthesizer made, off the event loop. As `take_in`."""
        return await asyncio.to_thread(self.take_in, answer, nodes)

    def _answered(self, response: RESPONSE_TYPE) -> None:
        shown = _taken(self._bank, response.source_nodes)
        if shown is None:
            return
        if isinstance(response, StreamingResponse):
            response.response_gen = self._watched(response.response_gen, shown)
        elif isinstance(response, AsyncStreamingResponse):
            response.response_gen = self._awatched(response.response_gen, shown)
        elif isinstance(response, PydanticResponse):
            self._learn(_cited(_words(response.response), shown), shown)
        else:
            self._read(response, shown)

    def _read(self, response: Response, shown: _Shown) -> None:
        said = response.response or ""
        if self.markers == "strip":
            response.response = read_citations(said, shown.places.keys(), markers="strip").text
        self._learn(_cited(said, shown), shown)

    def _watched(self, tokens: Iterable[str], shown: _Shown) -> Generator[str, None, None]:
        seen = _Seen(shown, strip=self.markers == "strip")
        for token in tokens:
            if text := seen.fed(token):
                yield text
        self._learn(_cited(seen.said, shown), shown)
        if rest := seen.rest():
            yield rest

    async def _awatched(self, tokens: AsyncGenerator[str, None], shown: _Shown) -> AsyncGenerator[str, None]:
        seen = _Seen(shown, strip=self.markers == "strip")
        async for token in tokens:
            if text := seen.fed(token):
                yield text
        await asyncio.wait([asyncio.wrap_future(self._submit(_cited(seen.said, shown), shown))])
        if rest := seen.rest():
            yield rest

    def _learn(self, citations: Citations, shown: _Shown) -> None:
        if _in_a_loop():
            self._submit(citations, shown)
        else:
            self._reward_all(citations, shown)

    def _submit(self, citations: Citations, shown: _Shown) -> Future[None]:
        with self._lock:
            self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="secom-reward")
            future = self._pool.submit(self._reward_all, citations, shown)
        self._running.add(future)
        future.add_done_callback(self._done)
        return future

    def _done(self, future: Future[None]) -> None:
        self._running.discard(future)
        if (error := future.exception()) is not None:
            warnings.warn(f"an answer taught nothing: {error!r}", DegradedWarning, stacklevel=2)

    def _reward_all(self, citations: Citations, shown: _Shown) -> None:
        try:
            for each in shown.cited(citations):
                self._reward(*each)
        except SecomError as error:
            warnings.warn(f"an answer taught nothing: {error}", DegradedWarning, stacklevel=2)

    def _reward(self, asked: Asked, scope: Scope, decision: Decision, citations: Citations) -> Lesson:
        return self._bank.reward(scope, asked.query, decision, citations)


_ASSISTANTS: Final = frozenset({"assistant", "chatbot", "model"})


class _Seen:
    """What the user sees of a stream, and all that was said in it."""

    def __init__(self, shown: _Shown, *, strip: bool) -> None:
        self._stream = CitationStream(shown.places.keys(), markers="strip") if strip else None
        self._said: list[str] = []

    @property
    def said(self) -> str:
        return "".join(self._said)

    def fed(self, token: str) -> str:
        self._said.append(token)
        return self._stream.feed(token) if self._stream is not None else token

    def rest(self) -> str:
        return self._stream.finish().text if self._stream is not None else ""


def _cited(said: str, shown: _Shown) -> Citations:
    """What a whole answer cites; what a model thought aloud before it is no part of it."""
    citations = read_citations(without_thoughts(said), shown.places.keys())
    return _with_native(citations, _said_as(said), shown)


def _spoken(message: ChatMessage) -> str:
    """The model's own words; what a citation of the provider's own quotes is none of them."""
    return "\n".join(block.text for block in message.blocks if isinstance(block, TextBlock))


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _words(answer: Any) -> str:
    """The strings in an answer that is an object; a list of numbers is no marker."""
    return "\n\n".join(_strings(answer.model_dump(mode="json"))) if answer is not None else ""


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for each in held for text in _strings(each)]


# -- citations of a provider's own ----------------------------------------------------------------------------------


def _note(event: LLMChatEndEvent) -> None:
    message = event.response.message if event.response is not None else None
    cites = message is not None and any(isinstance(block, CitationBlock) for block in message.blocks)
    if cites or _said.get() is not None:
        _said.set(message if cites else None)


def _said_as(text: str) -> ChatMessage | None:
    """The message of the model that the answer was, where it holds citations; once."""
    message = _said.get()
    _said.set(None)
    return message if message is not None and _spoken(message).strip() == text.strip() else None


def _with_native(citations: Citations, message: ChatMessage | None, shown: _Shown) -> Citations:
    blocks = [block for block in message.blocks if isinstance(block, CitationBlock)] if message is not None else []
    native = [number for block in blocks if (number := _native(block, shown)) is not None]
    return replace(citations, numbers=tuple(dict.fromkeys([*citations.numbers, *native])))


def _native(block: CitationBlock, shown: _Shown) -> int | None:
    if block.source in shown.ids:
        return shown.ids[block.source]
    digits = re.match(r"\[(\d+)\]", block.title)
    return int(digits[1]) if digits and int(digits[1]) in shown.places else None
