"""Topic segmentation of text and of conversations, as a text splitter and as a node parser."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, Final

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import MessageRole
from llama_index.core.bridge.pydantic import ConfigDict, Field, field_validator
from llama_index.core.llms.llm import LLM
from llama_index.core.node_parser.interface import NodeParser, TextSplitter
from llama_index.core.node_parser.node_utils import build_nodes_from_splits
from llama_index.core.schema import BaseNode, Document, ImageDocument, NodeRelationship, TextNode
from llama_index.core.utils import get_tqdm_iterable
from typing_extensions import Self, Unpack

from secom_core.conversation import Message, Turn, group_messages
from secom_core.errors import InvalidInput
from secom_core.llm.flow import ChatModel
from secom_core.memory import check_partition
from secom_core.protocols import Embedder, Segmenter
from secom_core.segmenters.lexical import LexicalSegmenter
from secom_core.segmenters.passages import segment_spans
from secom_core.text.terms import count_tokens

from .arguments import ParserFields, refuse_unknown
from .convert import to_time
from .models import as_chat_model, as_embedder, check_version, version_of
from .pickling import check_pickled_whole

_NAMESPACE: Final = uuid.UUID("9c1d5b0e-6a0f-5b7c-8f43-746f70696373")
_SESSIONS: Final = ("session", "session_id", "conversation_id", "thread_id", "chat_id")
_TALKING: Final = frozenset(
    {*(role.value for role in MessageRole), "human", "ai", "bot", "agent", "customer", "client", "support", ""}
)
"""The roles of those who talk with each other."""
_CHUNK_SIZE: Final = 1024
"""What the framework's own splitters take too: models that embed do not read much longer texts."""
_OURS: Final = ("session", "turn_ids", "speakers", "begin", "end")
_TEMPLATES: Final = ("metadata_separator", "metadata_template", "text_template")
"""How a document shows its metadata and its text."""


def segment_id(i: int, doc: BaseNode, cut: str = "") -> str:
    """The id of the ``i``-th segment of a document: the same whenever the same document is cut in the same way.

    Args:
        i: counts the document's segments, from 0.
        doc: what is cut.
        cut: how it is cut, so that an index can hold short and long nodes of one document.
    """
    return str(uuid.uuid5(_NAMESPACE, f"{doc.node_id}#{i}{cut}"))


class _SegmentParser(NodeParser):
    """The fields and the cutting that the splitter and the parser share."""

    model_config = ConfigDict(extra="forbid")

    segmenter: Any = Field(default=None, exclude=True, description="Cuts the turns or sentences into segments.")
    chunk_size: int | None = Field(
        default=_CHUNK_SIZE, description="The longest node in tokens; documents that are no transcripts fill it.", ge=1
    )
    model_version: str = Field(default="", description="Identifies the segmenter for the ingestion cache.")

    def __init__(
        self,
        segmenter: Segmenter | None = None,
        *,
        chunk_size: int | None = _CHUNK_SIZE,
        model_version: str = "",
        **fields: Unpack[ParserFields],
    ) -> None:
        refuse_unknown(type(self).__name__, _SegmentParser.__init__, fields.keys(), besides=type(self).model_fields)
        fields.pop("class_name", None)  # dumps have it
        # The framework's default ids are random, so that every run would store every node again.
        fields.setdefault("id_func", segment_id)
        chosen = segmenter if segmenter is not None else LexicalSegmenter()
        values: dict[str, Any] = {
            "segmenter": chosen,
            "chunk_size": chunk_size,
            "model_version": model_version,
            **fields,
        }
        super().__init__(**values)
        if not self.model_version:
            self.model_version = version_of(self.segmenter)

    def __getstate__(self) -> dict[str, Any]:
        check_pickled_whole(self, "segmenter", "id_func")
        return super().__getstate__()

    @field_validator("segmenter")
    @classmethod
    def _check_segmenter(cls, value: Any) -> Any:
        if not isinstance(value, Segmenter):
            raise InvalidInput(f"a segmenter has a segment method (secom_core.protocols.Segmenter), got {value!r}")
        return value

    @classmethod
    def from_defaults(
        cls,
        segmenter: Segmenter | None = None,
        *,
        embed_model: BaseEmbedding | Embedder | None = None,
        llm: LLM | ChatModel | None = None,
        chunk_size: int | None = _CHUNK_SIZE,
        model_version: str = "",
        **fields: Unpack[ParserFields],
    ) -> Self:
        """Make one from a segmenter, or from a model of LlamaIndex or of the core.

        Args:
            segmenter: cuts into segments; `LexicalSegmenter`, which needs no model, where nothing is given.
            embed_model: cut where the meaning changes, by `EmbeddingSegmenter`.
            llm: have a language model cut, by `ZeroShotSegmenter`.
            chunk_size: the longest node in tokens; ``None`` makes each segment a node, however long.
            model_version: identifies the segmenter for caches; its class and settings unless given.
            **fields: those of ``NodeParser``.

        Raises:
            InvalidInput: more than one of the three is given.
        """
        if sum(part is not None for part in (segmenter, embed_model, llm)) > 1:
            raise InvalidInput("give one of segmenter, embed_model and llm, not several")
        chosen = segmenter or _segmenter_from(embed_model, llm)
        return cls(chosen, chunk_size=chunk_size, model_version=model_version, **fields)

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Make it again from `to_dict`; a segmenter other than the default has to be passed again.

        Raises:
            InvalidInput: the dict was made with another segmenter or id function, and none is given.
        """
        if kwargs.get("segmenter") is None:
            check_version(data.get("model_version"), LexicalSegmenter(), "segmenter")
        kept = {key: value for key, value in data.items() if key not in {"class_name", "id_func"}}
        name = (data.get("id_func") or {}).get("id_func_name", segment_id.__name__)
        if "id_func" not in kwargs and name != segment_id.__name__:
            raise InvalidInput(
                f"this was made with the id function {name}, which JSON cannot hold: pass id_func= again"
            )
        return cls(**{**kept, **kwargs})

    async def _aparse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        return await asyncio.to_thread(self._parse_nodes, nodes, show_progress, **kwargs)

    def _postprocess_parsed_nodes(self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]) -> list[BaseNode]:
        # The framework's own pass looks for each text in its document, which misplaces texts that occur twice; places,
        # metadata and relationships are exact already.
        return nodes

    def _id(self, i: int, document: BaseNode) -> str:
        if self.id_func is segment_id:
            return segment_id(i, document, f"/{self.chunk_size}/{self.model_version}")
        return str(self.id_func(i, document))

    def _spans(self, text: str) -> list[tuple[int, int]]:
        return segment_spans(text, self.segmenter, limit=self.chunk_size)

    def _cut(self, document: BaseNode) -> list[TextNode]:
        """The document's segments as nodes that cover its text."""
        text = document.get_content()
        spans = self._spans(text)
        if not spans and isinstance(document, ImageDocument):
            spans = [(0, len(text))]  # a picture without words is a node too
        nodes = build_nodes_from_splits([text[start:stop] for start, stop in spans], document)
        source = document.source_node or document.as_related_node_info()
        for i, (node, (start, stop)) in enumerate(zip(nodes, spans, strict=True)):
            node.id_ = self._id(i, document)
            node.start_char_idx, node.end_char_idx = start, stop
            node.embedding = None  # the framework copies the parent's, which is of another text
            node.metadata = dict(document.metadata) if self.include_metadata else {}
            node.relationships = {NodeRelationship.SOURCE: source}
        return nodes

    def _linked(self, nodes: Sequence[TextNode]) -> list[BaseNode]:
        """The same nodes, each related to its neighbours of the same document or session."""
        pairs = pairwise(nodes) if self.include_prev_next_rel else ()
        for left, right in pairs:
            if left.ref_doc_id == right.ref_doc_id or _same_session(left, right):
                left.relationships[NodeRelationship.NEXT] = right.as_related_node_info()
                right.relationships[NodeRelationship.PREVIOUS] = left.as_related_node_info()
        return list(nodes)


class SegmentTextSplitter(_SegmentParser, TextSplitter):
    """Splits text where the topic changes, into segments.

    A transcript (``Name: words`` lines) is cut between turns, prose between sentences. The segments together are the
    text, character by character. Node ids are the same in every run.

    Args:
        segmenter: cuts into segments; `LexicalSegmenter`, which needs no model, unless given.
        chunk_size: the longest node in tokens. A longer segment is cut again, and the segments of a document that is no
            transcript, such as Markdown, are put together as far as they fit: it is cut before headings, where the
            subject changes and between paragraphs, and code between fences stays whole. ``None`` makes each segment a
            node, however long or short.
        model_version: identifies the segmenter for caches; its class and settings unless given.
    """

    # Pydantic tells type checkers of a signature of its own for each class that has none.
    def __init__(
        self,
        segmenter: Segmenter | None = None,
        *,
        chunk_size: int | None = _CHUNK_SIZE,
        model_version: str = "",
        **fields: Unpack[ParserFields],
    ) -> None:
        super().__init__(segmenter, chunk_size=chunk_size, model_version=model_version, **fields)

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "SegmentTextSplitter"

    def split_text(self, text: str) -> list[str]:
        """The segments of a text, in order; none if it is blank."""
        return [text[start:stop] for start, stop in self._spans(text)]

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:
        documents = get_tqdm_iterable(nodes, show_progress, "Parsing nodes")
        return self._linked([segment for document in documents for segment in self._cut(document)])


class SegmentNodeParser(_SegmentParser):
    """Parses conversations into one node for each segment.

    Documents that are one message each (``speaker`` in their metadata, or a ``role`` such as ``"user"`` or together
    with a ``session``, and ``timestamp`` if known) are joined: neighbours of one session (``session``, ``session_id``,
    ``conversation_id``, ``thread_id`` or ``chat_id``; without any, all neighbours) are cut into segments, and each node
    holds the turns of a segment with their speakers. Its metadata are ``turn_ids`` (the ids of the documents)
    and ``speakers`` as JSON, ``begin`` and ``end``, and what the documents have in common; its source is the first of
    them. Any other document is cut as `SegmentTextSplitter` does. An ``IngestionPipeline`` with a docstore deletes all
    of a segment if its first message was edited, and passes only that message on again: there, make one document of
    each conversation.

    Args:
        segmenter: cuts into segments; `LexicalSegmenter`, which needs no model, unless given.
        chunk_size: the longest node in tokens; ``None`` makes each segment a node, however long. A document that is a
            turn is never cut.
        model_version: identifies the segmenter for caches; its class and settings unless given.
    """

    # Pydantic tells type checkers of a signature of its own for each class that has none.
    def __init__(
        self,
        segmenter: Segmenter | None = None,
        *,
        chunk_size: int | None = _CHUNK_SIZE,
        model_version: str = "",
        **fields: Unpack[ParserFields],
    ) -> None:
        super().__init__(segmenter, chunk_size=chunk_size, model_version=model_version, **fields)

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "SegmentNodeParser"

    def _parse_nodes(self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any) -> list[BaseNode]:
        runs = [list(run) for _, run in groupby(nodes, key=_run_key)]
        conversations: Iterable[list[BaseNode]] = get_tqdm_iterable(runs, show_progress, "Parsing nodes")
        return self._linked([node for run in conversations for node in self._parse_run(run)])

    def _parse_run(self, run: list[BaseNode]) -> list[TextNode]:
        if _run_key(run[0]) is None:
            return [segment for document in run for segment in self._cut(document)]
        turns = group_messages((_message(document) for document in run), _session(run[0]))
        by_id = {document.node_id: document for document in run}
        segments = check_partition(self.segmenter.segment(turns), len(turns))
        runs = [turns[segment.start : segment.stop] for segment in segments]
        return [self._segment_node(part, by_id) for whole in runs for part in _packed(whole, self.chunk_size)]

    def _segment_node(self, turns: Sequence[Turn], by_id: dict[str, BaseNode]) -> TextNode:
        documents = [by_id[str(message.id)] for turn in turns for message in turn.messages]
        first = documents[0]
        shared = _shared_metadata(documents) if self.include_metadata else {}
        hidden = {key for document in documents for key in document.excluded_embed_metadata_keys}
        unseen = {key for document in documents for key in document.excluded_llm_metadata_keys}
        return TextNode(
            id_=self._id(0, first),
            text="\n".join(turn.text for turn in turns),
            metadata={**shared, **_turn_metadata(turns, documents)},
            excluded_embed_metadata_keys=sorted(hidden.union(_OURS)),
            excluded_llm_metadata_keys=sorted(unseen.union(_OURS) - _shown_times(turns)),
            relationships={NodeRelationship.SOURCE: first.source_node or first.as_related_node_info()},
            **{name: getattr(first, name) for name in _TEMPLATES if hasattr(first, name)},
        )


def _shown_times(turns: Sequence[Turn]) -> set[str]:
    """The keys of the times that the model sees; the end too where it is on another day."""
    first, last = (None if turn.at is None else turn.at.date() for turn in (turns[0], turns[-1]))
    return {"begin", "end"} if first != last else {"begin"}


def _packed(turns: Sequence[Turn], limit: int | None) -> list[list[Turn]]:
    """The turns in runs of at most ``limit`` tokens, as long as possible; a turn that is longer is a run of its own."""
    parts: list[list[Turn]] = []
    used = 0
    for turn in turns:
        size = count_tokens(turn.text)
        if not parts or (limit is not None and used + size > limit):
            parts.append([])
            used = 0
        parts[-1].append(turn)
        used += size
    return parts


def _segmenter_from(embed_model: BaseEmbedding | Embedder | None, llm: LLM | ChatModel | None) -> Segmenter | None:
    if embed_model is not None:
        from secom_core.segmenters.embedding import EmbeddingSegmenter

        return EmbeddingSegmenter(as_embedder(embed_model))
    if llm is not None:
        from secom_core.segmenters.zero_shot import ZeroShotSegmenter

        return ZeroShotSegmenter(as_chat_model(llm), fallback=LexicalSegmenter())
    return None


def _run_key(document: BaseNode) -> tuple[str] | None:
    """The session of a document that is a message; nothing for other documents."""
    return (_session(document),) if _is_turn(document.metadata) else None


def _is_turn(metadata: Mapping[str, Any]) -> bool:
    """Whether a document is a message: a role may also be whose rights it takes to read a document."""
    if "turn_ids" in metadata:
        return False  # it was made of messages, and its text names who spoke
    if "speaker" in metadata or "role" not in metadata:
        return "speaker" in metadata
    role = metadata["role"]
    name = str(role.value if isinstance(role, MessageRole) else role).strip().casefold()
    return name in _TALKING or any(metadata.get(key) is not None for key in _SESSIONS)


def _session(document: BaseNode) -> str:
    named = (document.metadata.get(key) for key in _SESSIONS)
    return next((str(name) for name in named if name not in (None, "")), "")


def _message(document: BaseNode) -> Message:
    metadata, role, speaker = document.metadata, document.metadata.get("role"), document.metadata.get("speaker")
    return Message(
        document.get_content(),
        role=str(role.value if isinstance(role, MessageRole) else role or ""),
        speaker=None if speaker in (None, "") else str(speaker),  # those who tell voices apart count from 0
        id=document.node_id,
        at=to_time(metadata),
    )


def _shared_metadata(documents: Sequence[BaseNode]) -> dict[str, Any]:
    first, *others = (document.metadata for document in documents)
    return {key: value for key, value in first.items() if all(key in o and o[key] == value for o in others)}


def _turn_metadata(turns: Sequence[Turn], documents: Sequence[BaseNode]) -> dict[str, Any]:
    speakers = dict.fromkeys(name for turn in turns for name in turn.speakers)
    ends = {"begin": turns[0].at, "end": turns[-1].messages[-1].at}
    return {
        "session": turns[0].session,
        "turn_ids": json.dumps([document.node_id for document in documents], ensure_ascii=False),
        "speakers": json.dumps(list(speakers), ensure_ascii=False),
        **{name: at.isoformat() for name, at in ends.items() if at is not None},
    }


def _same_session(left: BaseNode, right: BaseNode) -> bool:
    return "turn_ids" in left.metadata and "turn_ids" in right.metadata and _session(left) == _session(right)
