"""Retrieved nodes with numbers that an answer can cite (RMM, appendix D.2).

`CitationNumberer` goes last among the postprocessors of an engine and gives each node a number.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from llama_index.core.base.llms.types import CitableBlock, TextBlock
from llama_index.core.bridge.pydantic import ConfigDict, Field, PrivateAttr
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, ImageNode, MetadataMode, Node, NodeWithScore, QueryBundle, TextNode
from typing_extensions import Unpack

from secom_core.bank import MemoryBank
from secom_core.bank.checks import check_count
from secom_core.citations import Impression
from secom_core.context.lines import escaped
from secom_core.conversation import Scope
from secom_core.errors import SecomError, warn_degraded

from .arguments import PostprocessorFields, refuse_unknown
from .banks import bank_of
from .convert import escape_braces
from .impressions import PendingQuery, impressions_of, keep_pending
from .node_origins import LocatedNode, locate
from .pickling import by_saved_form

ANSWER_KEY: Final = "secom_answer"
"""The metadata key that says for which query a node was numbered."""

NUMBER_KEY: Final = "secom_number"
"""The metadata key of a node's number."""

_BOOKKEEPING: Final = (ANSWER_KEY, NUMBER_KEY)
_NOTHING: Final = "Nothing in memory answers this."
_NOTHING_ID: Final = "secom-nothing-found"
_TEMPLATE: Final = "{metadata_str}\n{content}"

_SOURCE: Final = re.compile(r"^([ \t]*Source[ \t]+)(\d+)(?=[ \t]*:)", re.I | re.M)


def escape_markers(text: str) -> str:
    """Recalled text in which nothing reads as a citation, a numbered source, a delimiter or a template variable.

    ``[3]``, ``[m3]``, ``[1, 2]`` and ``[NO_CITE]`` get round brackets, and so does the number of a line that begins
    ``Source 3:``; a ``<memories>`` delimiter and a chat template's markers lose their bracket. ``{names}`` become
    ``{ names }``.
    """
    return escape_braces(_SOURCE.sub(r"\1(\2)", escaped(text)))


class NumberedNode(TextNode):
    """A node whose number and day the language model sees before the text: ``[2] 2025-03-10 Mon``.

    The number stands in the metadata and not in the text, because a ``CitationQueryEngine`` cuts the text into nodes
    and gives them numbers of its own.
    """

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "NumberedNode"

    @property
    def label(self) -> str:
        """The number and the day, such as ``[2] 2025-03-10 Mon``."""
        return f"[{self.metadata[NUMBER_KEY]}] {_day(self.metadata.get('begin'))}".rstrip()

    def get_metadata_str(self, mode: MetadataMode = MetadataMode.ALL) -> str:
        """The metadata as text. The language model sees the label first, which replaces a ``begin`` that is a date."""
        if mode != MetadataMode.LLM or NUMBER_KEY not in self.metadata:
            return super().get_metadata_str(mode)
        # Other software may mean something else by "begin": then it is shown like any other metadata.
        day = ["begin"] if _day(self.metadata.get("begin")) else []
        hidden = [*self.excluded_llm_metadata_keys, *day]
        text = TextNode.get_metadata_str(self.model_copy(update={"excluded_llm_metadata_keys": hidden}), mode)
        return f"{self.label}\n{escape_markers(text)}".rstrip()


def _day(begin: object) -> str:
    try:
        return f"{datetime.fromisoformat(str(begin)):%Y-%m-%d %a}" if begin else ""
    except ValueError:
        return ""


def to_citable(node: NodeWithScore | BaseNode) -> CitableBlock:
    """A numbered node as a block for providers with citations of their own, whose answers hold a ``CitationBlock``."""
    inner = node.node if isinstance(node, NodeWithScore) else node
    label = inner.label if isinstance(inner, NumberedNode) else inner.node_id
    return CitableBlock(title=label, source=inner.node_id, content=[TextBlock(text=inner.get_content())])


class CitationNumberer(BaseNodePostprocessor):
    """Gives each node a number for the answer to cite, and notes which memories were shown.

    Put it last among the postprocessors of an engine. It returns copies with the ids of the nodes given; number and
    day stand before the text that the model sees, and the text is quoted (`escape_markers`). Several nodes of one
    memory share its number. Nodes of another origin are numbered too, and citing them says nothing; nodes without
    text, such as images, are not numbered. Nodes whose turns were forgotten since they were retrieved are left out.

    Args:
        bank: where the memories are. A bank without ``citations`` only has its nodes numbered.
        empty: the text of the single node that comes back if there is none, without which an engine would not ask
            its language model; ``None`` for no such node.
        first: the first number, for prompts that hold other numbers.
        store_path: the bank's file, opened with ``citations`` if no bank is given.
        key: the passphrase of that file, if it is encrypted and not open in this process; it is not serialised.

    Raises:
        InvalidInput: neither a bank nor a store path is given, or ``first`` is below 1.
    """

    model_config = ConfigDict(extra="forbid")

    empty: str | None = Field(default=_NOTHING, description="The text of the node that stands for none.")
    first: int = Field(default=1, description="The first number.")
    store_path: str | None = Field(default=None, description="The bank's file.")
    _bank: MemoryBank = PrivateAttr()

    def __init__(
        self,
        bank: MemoryBank | None = None,
        *,
        empty: str | None = _NOTHING,
        first: int = 1,
        store_path: str | None = None,
        key: str | None = None,
        **fields: Unpack[PostprocessorFields],
    ) -> None:
        refuse_unknown("CitationNumberer", CitationNumberer.__init__, fields.keys(), besides=type(self).model_fields)
        check_count("first", first)
        bank = bank_of(bank, store_path, needed_by="CitationNumberer", layers=["citations"], key=key)
        fields.pop("class_name", None)  # dumps have it
        values: dict[str, Any] = {"empty": empty, "first": first, "store_path": bank.storage.path, **fields}
        super().__init__(**values)
        self._bank = bank  # set before super().__init__(), it would be lost

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "CitationNumberer"

    def __reduce__(self) -> tuple[Any, ...]:
        return by_saved_form(self)

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        answer = uuid.uuid4().hex
        located = self._located(nodes)
        numbers = self._numbers(located)
        if query_bundle is not None and query_bundle.query_str.strip() and "citations" in self._bank.layers:
            impressions = self._impressions(query_bundle.query_str, located, numbers)
            keep_pending(self._bank, PendingQuery(answer, query_bundle.query_str, impressions))
        numbered = [_numbered(each.node, number, answer) for each, number in zip(located, numbers, strict=True)]
        return numbered or self._neutral(answer)

    def _located(self, nodes: Sequence[NodeWithScore]) -> list[LocatedNode]:
        try:
            return locate(self._bank, nodes)
        except SecomError as error:
            _degrade(error)
            return [LocatedNode(each) for each in nodes]

    def _numbers(self, located: Sequence[LocatedNode]) -> list[int | None]:
        assigned: dict[object, int] = {}
        numbers: list[int | None] = []
        for place, each in enumerate(located):
            key = (each.scope, each.hit.memory.id) if each.hit is not None else place
            numberable = _is_numberable(each.node.node)
            numbers.append(assigned.setdefault(key, len(assigned) + self.first) if numberable else None)
        return numbers

    def _impressions(
        self, query: str, located: Sequence[LocatedNode], numbers: Sequence[int | None]
    ) -> Mapping[Scope, Impression]:
        numbered = [(number, each) for number, each in zip(numbers, located, strict=True) if number is not None]
        try:
            return impressions_of(self._bank, query, numbered)
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
            metadata={ANSWER_KEY: answer},
            excluded_embed_metadata_keys=hidden,
            excluded_llm_metadata_keys=list(hidden),
        )
        return [NodeWithScore(node=node, score=0.0)]


def _degrade(error: SecomError) -> None:
    # The answer is worth more than what it cites.
    warn_degraded("the citations of the answer will not be taken in", error)


def _is_numberable(node: BaseNode) -> bool:
    return isinstance(node, (TextNode, Node)) and not isinstance(node, ImageNode) and node.node_id != _NOTHING_ID


def _numbered(scored: NodeWithScore, number: int | None, answer: str) -> NodeWithScore:
    node = scored.node
    marks = {ANSWER_KEY: answer, **({NUMBER_KEY: number} if number is not None else {})}
    changes: dict[str, Any] = {
        "metadata": {**{key: each for key, each in node.metadata.items() if key not in _BOOKKEEPING}, **marks},
        "excluded_embed_metadata_keys": _with_bookkeeping(node.excluded_embed_metadata_keys),
        "excluded_llm_metadata_keys": _with_bookkeeping(node.excluded_llm_metadata_keys),
    }
    if number is None:
        return NodeWithScore(node=node.model_copy(update=changes, deep=True), score=scored.score)
    numbered = NumberedNode(
        id_=node.node_id,
        text=escape_markers(node.get_content(metadata_mode=MetadataMode.NONE)),
        text_template=_TEMPLATE,
        relationships=dict(node.relationships),
        embedding=node.embedding,
        **changes,
    )
    return NodeWithScore(node=numbered, score=scored.score)


def _with_bookkeeping(keys: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*keys, *_BOOKKEEPING]))
