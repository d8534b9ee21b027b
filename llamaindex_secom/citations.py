"""Learning from citations in LlamaIndex (RMM, section 6): the bank is rewarded for the memories that answers cite.

`CitationReward` reads the answers of all engines in the process while it is installed. The nodes that it recognises
are those that a `CitationNumberer` of the same bank has numbered.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Iterable, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Final, Literal, NoReturn

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.bridge.pydantic import ConfigDict, PrivateAttr
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.llm import LLMChatEndEvent
from llama_index.core.instrumentation.events.synthesis import SynthesizeEndEvent
from llama_index.core.schema import MetadataMode, NodeWithScore
from typing_extensions import Self

from secom_core.bank import MemoryBank, check_bank
from secom_core.bank.answers import ANSWER_WAITS_S
from secom_core.citations import Citations, Lesson, read_citations
from secom_core.errors import InvalidInput, SecomError, warn_degraded
from secom_core.processes import ForkLock, ForkWorker
from secom_core.stores.database import waiting_at_most

from .answers import (
    AnswerStream,
    CitableNodes,
    CitedScope,
    cited_by_message,
    cited_by_text,
    is_assistant,
    is_unnumbered,
    note_native_citations,
    strings_of,
    take_citable,
)

_UNNUMBERED: Final = (
    "the citations of an answer are not taken in, and its markers stay: its memories have no numbers; put a "
    "CitationNumberer with the same bank last among the node_postprocessors of the engine"
)


class CitationReward(BaseEventHandler):
    """Records the citations of answers in the bank, while it is installed.

    It acts when an answer is complete, whole or at the end of its stream, and only on answers over nodes that a
    `CitationNumberer` with the same bank has numbered. Scope, query and impression come with the nodes, so that one
    handler serves all users and engines of a process. The first answer to a query counts, however many handlers are
    installed and however engines are nested. Streams that fail or are abandoned are not recorded.

    ::

        with CitationReward(bank):
            engine.query("Who teaches me the violin?")

    In async code, a thread takes in answers, so that the event loop goes on; `asettle` waits for it. No answer waits
    longer than a second for a locked store: in sync code its citations are then lost, with a `DegradedWarning`.

    Args:
        bank: the bank that takes them in, opened with ``citations``.
        markers: ``"strip"`` takes the markers out of what the user sees and a chat memory keeps, streams included;
            answers that are objects (``output_cls``) keep theirs.

    Raises:
        InvalidInput: the bank was opened without ``citations``.
    """

    model_config = ConfigDict(extra="forbid")

    markers: Literal["keep", "strip"] = "keep"
    _bank: MemoryBank = PrivateAttr()
    _pool: ForkWorker | None = PrivateAttr(default=None)
    _lock: Any = PrivateAttr(default_factory=ForkLock)

    def __init__(self, bank: MemoryBank, *, markers: Literal["keep", "strip"] = "keep") -> None:
        check_bank(bank, "CitationReward").layers.check(["citations"])
        data: dict[str, Any] = {"markers": markers}
        super().__init__(**data)
        self._bank = bank  # set before super().__init__(), it would be lost

    @classmethod
    def class_name(cls) -> str:
        """The name of the class."""
        return "CitationReward"

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> CitationReward:
        """Another one on the same bank, which listens to nothing yet."""
        return type(self)(self._bank, markers=self.markers)

    def __reduce__(self) -> NoReturn:
        raise InvalidInput("a CitationReward cannot be pickled: install one in the other process, with its bank")

    # -- install ----------------------------------------------------------------------------------------------------

    def install(self) -> Self:
        """Listen to all engines of the process; a second call does nothing."""
        root = get_dispatcher()
        if not any(each is self for each in root.event_handlers):
            root.add_event_handler(self)
        return self

    def uninstall(self) -> None:
        """Stop listening, and wait until the bank has taken in every answer so far."""
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
        """Wait until the bank has taken in every answer so far."""
        for each in self._jobs():
            each.exception()

    async def asettle(self) -> None:
        """Wait until the bank has taken in every answer so far, without blocking the event loop."""
        for each in self._jobs():
            await asyncio.wait([asyncio.wrap_future(each)])

    # -- answers ----------------------------------------------------------------------------------------------------

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        """Take in an answer; every other event is ignored."""
        if isinstance(event, LLMChatEndEvent):
            note_native_citations(event)
        if not isinstance(event, SynthesizeEndEvent) or _is_context(event.response):
            return
        try:
            self._answered(event.response)
        except Exception as error:
            # The dispatcher swallows it.
            warn_degraded(f"the citations of an answer were not taken in: {error!r}")
            raise

    def take_in(self, answer: str | ChatMessage, nodes: Sequence[NodeWithScore]) -> list[Lesson]:
        """Take in an answer that no synthesizer made, such as an agent's; the handler need not be installed.

        Args:
            answer: the model's answer. The text and the ``CitationBlock``s of a message count: a block names a node by
                ``source``, which is the node's id or the memory's, or by the number in ``title`` (`to_citable`).
            nodes: the nodes that the model was shown, from a `CitationNumberer`.

        Returns:
            What came of it in each scope.

        Raises:
            StoreError: the store failed.
        """
        message = ChatMessage(role="assistant", content=answer) if isinstance(answer, str) else answer
        citable = self._citable(message.content or "", nodes) if is_assistant(message) else None
        return (
            []
            if citable is None
            else [self._reward(each) for each in citable.by_scope(cited_by_message(message, citable))]
        )

    async def atake_in(self, answer: str | ChatMessage, nodes: Sequence[NodeWithScore]) -> list[Lesson]:
        """Take in an answer that no synthesizer made, without blocking the event loop. As `take_in`."""
        return await asyncio.to_thread(self.take_in, answer, nodes)

    def _answered(self, response: RESPONSE_TYPE) -> None:
        text = response.response or "" if isinstance(response, Response) else ""
        citable = self._citable(text, response.source_nodes)
        if citable is None:
            return
        if isinstance(response, StreamingResponse):
            response.response_gen = self._watched(response.response_gen, citable)
        elif isinstance(response, AsyncStreamingResponse):
            response.response_gen = self._awatched(response.response_gen, citable)
        elif isinstance(response, PydanticResponse):
            self._pass_on(cited_by_text(strings_of(response.response), citable), citable)
        else:
            self._read(response, citable)

    def _citable(self, answer: str, nodes: Sequence[NodeWithScore]) -> CitableNodes | None:
        citable = take_citable(self._bank, nodes)
        if citable is None and is_unnumbered(self._bank, answer, nodes):
            warn_degraded(_UNNUMBERED)
        return citable

    def _read(self, response: Response, citable: CitableNodes) -> None:
        text = response.response or ""
        if self.markers == "strip":
            response.response = read_citations(text, citable.numbers, markers="strip").text
        self._pass_on(cited_by_text(text, citable), citable)

    def _watched(self, tokens: Iterable[str], citable: CitableNodes) -> Generator[str, None, None]:
        stream = AnswerStream(citable, strip=self.markers == "strip")
        for token in tokens:
            if text := stream.feed(token):
                yield text
        self._pass_on(cited_by_text(stream.text, citable), citable)
        if rest := stream.finish():
            yield rest

    async def _awatched(self, tokens: AsyncGenerator[str, None], citable: CitableNodes) -> AsyncGenerator[str, None]:
        stream = AnswerStream(citable, strip=self.markers == "strip")
        async for token in tokens:
            if text := stream.feed(token):
                yield text
        taken_in = asyncio.wrap_future(self._submit(cited_by_text(stream.text, citable), citable))
        await asyncio.wait([taken_in], timeout=ANSWER_WAITS_S)
        if rest := stream.finish():
            yield rest

    # -- passing on --------------------------------------------------------------------------------------------------

    def _pass_on(self, citations: Citations, citable: CitableNodes) -> None:
        if _in_event_loop():
            self._submit(citations, citable)
        else:
            with waiting_at_most(ANSWER_WAITS_S):
                self._reward_all(citations, citable)

    def _submit(self, citations: Citations, citable: CitableNodes) -> Future[None]:
        with self._lock:
            self._pool = self._pool or ForkWorker("secom-reward")
            future = self._pool.submit(self._reward_all, citations, citable)
        future.add_done_callback(_told)
        return future

    def _jobs(self) -> list[Future[None]]:
        return list(self._pool.jobs) if self._pool is not None else []

    def _reward_all(self, citations: Citations, citable: CitableNodes) -> None:
        try:
            for each in citable.by_scope(citations):
                self._reward(each)
        except SecomError as error:
            warn_degraded("the citations of an answer were not taken in", error)

    def _reward(self, cited: CitedScope) -> Lesson:
        return self._bank.citations.reward(cited.scope, cited.query, cited.impression, cited.citations)


def _is_context(response: RESPONSE_TYPE) -> bool:
    """Whether it is no answer, but the numbered nodes as a model is to see them (``response_mode="context_only"``)."""
    if not isinstance(response, Response) or not response.source_nodes:
        return False
    shown = (each.node.get_content(MetadataMode.LLM) for each in response.source_nodes)
    return (response.response or "").strip() == "\n\n".join(shown).strip()


def _told(future: Future[None]) -> None:
    if (error := future.exception()) is not None:
        warn_degraded(f"the citations of an answer were not taken in: {error!r}")


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
