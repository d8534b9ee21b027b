"""What a bank is made of: its parts, checked before anything is opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta, tzinfo
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, Literal

from ..context.packing import Packer, PackTurns
from ..errors import InvalidInput
from ..layers import Layer, LayerContext, LayerFactory, announce
from ..presets import Preset
from ..protocols import ChatModel, Denoiser, Embedder, Reranker, Segmenter, TokenCounter, VectorStore
from ..ranking.reranking import Reranking
from ..ranking.weights import STATIC
from ..text.terms import count_tokens
from ..times import zone_of
from .checks import check_choice, check_count, check_idle, check_options, check_part, check_weights
from .redaction import Redact

if TYPE_CHECKING:
    from ..citations.options import RerankerOptions
    from ..summaries.summarizer import Summarizer
    from ..timelines.options import TimelineOptions
    from ..topics.options import TopicOptions

Granularity = Literal["segment", "turn", "session"]


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The parts of a bank; `MemoryBank.open` says what each is for, and `Preset` of ``rules``.

    Raises:
        InvalidInput: a part is none of its kind, or two do not go together.
    """

    segmenter: Segmenter | None = None
    denoiser: Denoiser | None = None
    embedder: Embedder | None = None
    vector_store: VectorStore | None = None
    granularity: Granularity = "segment"
    weights: Mapping[str, float] | None = None
    rules: bool = True
    reranker: Reranker | Reranking | None = None
    packer: Packer = field(default_factory=PackTurns)
    token_counter: TokenCounter = count_tokens
    model: ChatModel | None = None
    summaries: bool | Summarizer = False
    timelines: bool | TimelineOptions = False
    topics: bool | TopicOptions = False
    citations: bool | RerankerOptions = False
    layers: Sequence[LayerFactory] = ()
    changes: bool | Literal["model"] = False
    idle_after: timedelta | Literal[False] = timedelta(minutes=30)
    redact: Redact | None = None
    max_memory: int = 2**30
    max_scopes: int | None = None
    timezone: str | tzinfo | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        for name in ("segmenter", "denoiser", "embedder", "vector_store", "packer", "token_counter", "model", "redact"):
            check_part(name, getattr(self, name))
        if not isinstance(self.reranker, Reranking):
            check_part("reranker", self.reranker)
        for name, built_in in BUILT_IN.items():
            if not isinstance(value := getattr(self, name), bool):
                check_options(name, value, built_in()[1])
        check_choice("granularity", self.granularity, ("segment", "turn", "session"))
        check_choice("progress", self.progress, (True, False))
        check_choice("rules", self.rules, (True, False))
        check_choice("changes", self.changes, (True, False, "model"))
        if self.changes == "model" and self.model is None:
            raise InvalidInput(
                'changes="model" needs the language model that is to be asked; open the bank with model=…'
            )
        check_idle(self.idle_after)
        check_count("max_memory", self.max_memory)
        if self.max_scopes is not None:
            check_count("max_scopes", self.max_scopes)
        zone_of(self.timezone)
        if self.weights is not None:
            check_weights(self.weights)
        layers: object = self.layers
        if not isinstance(layers, (list, tuple)) or not all(map(callable, layers)):
            raise InvalidInput(
                f"layers are classes that secom_core.layers.register knows, got {self.layers!r}; a layer of the "
                "package is an argument of its own, such as summaries=True"
            )
        if self.granularity != "segment" and self.segmenter is not None:
            raise InvalidInput(f"granularity {self.granularity!r} takes no segmenter, got {self.segmenter!r}")
        self._check_reranker()

    def _check_reranker(self) -> None:
        if not isinstance(self.citations, bool) and self.vector_store is not None:
            raise InvalidInput(
                "the paper's reranker learns from vectors in the bank; open it with embedder=, not vector_store="
            )

    @classmethod
    def of(cls, preset: Preset | None, **given: Any) -> Parts:
        """The parts that are given, and where one is not, the preset's, or else its default.

        Args:
            preset: a paper's configuration.
            **given: parts by name; ``None`` where one is not given.
        """
        if preset is not None and not isinstance(preset, Preset):
            raise InvalidInput(f"preset is one of secom_core.presets, such as presets.secom(model), got {preset!r}")
        own = {name: part for name, part in given.items() if part is not None}
        dense = not own.keys().isdisjoint(("embedder", "vector_store"))
        return cls(**({} if preset is None else preset.parts(dense=dense)) | own)

    @property
    def segmenter_used(self) -> Segmenter:
        """The segmenter given, or the one that goes with the other parts."""
        from ..segmenters.fixed import EachTurn, WholeSession
        from ..segmenters.lexical import LexicalSegmenter

        if self.granularity != "segment":
            return EachTurn() if self.granularity == "turn" else WholeSession()
        if self.segmenter is not None:
            return self.segmenter
        # Means of word vectors tell one subject from the next no better than the words themselves.
        if self.embedder is None or self._is_static:
            return LexicalSegmenter()
        from ..models.cached import CachedEmbedder
        from ..segmenters.adaptive import AdaptiveSegmenter

        # The end of an open session is cut again with every turn, and most of its turns are known by then.
        return AdaptiveSegmenter(CachedEmbedder(self.embedder))

    @property
    def of_its_own(self) -> tuple[str, ...]:
        """The names of the parts that a bank opened by its place alone, with the same layers, would not have."""
        usual = Parts()
        names = [each.name for each in fields(self) if each.name not in _NOT_KEPT]
        other = [name for name in names if not _is_like(getattr(self, name), getattr(usual, name))]
        return tuple(name for name in other if getattr(self, name) is not True)

    @cached_property
    def zone(self) -> tzinfo | None:
        """The time zone given."""
        return zone_of(self.timezone)

    @property
    def silence(self) -> timedelta | None:
        """How long a silence ends a session; nothing where none ends by itself."""
        return self.idle_after or None

    @property
    def weights_used(self) -> Mapping[str, float] | None:
        """The weights given, or those that were fitted for the embedder's kind; nothing where the usual ones do."""
        if self.weights is None and self._is_static and self.vector_store is None:
            return STATIC
        return self.weights

    @property
    def reranking(self) -> Reranking | None:
        """The reranker, and how far it is followed; nothing where there is none."""
        if self.reranker is None or isinstance(self.reranker, Reranking):
            return self.reranker
        return Reranking(self.reranker)

    @property
    def _is_static(self) -> bool:
        if self.embedder is None:
            return False
        from ..models.cached import CachedEmbedder
        from ..models.static import StaticEmbedder

        asked = self.embedder.embedder if isinstance(self.embedder, CachedEmbedder) else self.embedder
        return isinstance(asked, StaticEmbedder)

    @property
    def layer_factories(self) -> list[LayerFactory]:
        """What makes the layers, in the order in which they take part in a recall."""
        chosen = [(built_in()[0], getattr(self, name)) for name, built_in in BUILT_IN.items() if getattr(self, name)]
        if self.changes == "model":
            from ..changes.record_layer import ChangeRecordLayer

            chosen.append((ChangeRecordLayer, True))
        return [*(partial(_opened, layer, option) for layer, option in chosen), *self.layers]


def _is_like(value: object, usual: object) -> bool:
    return value is usual or (isinstance(value, _PLAIN) and value == usual) or type(value) is type(usual) is PackTurns


def _opened(layer: Callable[..., Layer], option: object, context: LayerContext) -> Layer:
    return layer(context) if option is True else layer(context, option)


_NOT_KEPT: Final = frozenset({"layers", "max_memory", "max_scopes", "progress"})
"""Parts that change nothing of what is kept and found, and layers, which are opened by their names."""
_PLAIN: Final = (bool, int, str, timedelta)

_BuiltIn = tuple[Callable[..., Layer], type]
"""The class of a layer, and that of its options."""


def _summaries() -> _BuiltIn:
    from ..summaries.layer import SummaryLayer
    from ..summaries.summarizer import Summarizer

    return SummaryLayer, Summarizer


def _timelines() -> _BuiltIn:
    from ..timelines.layer import TimelineLayer
    from ..timelines.options import TimelineOptions

    return TimelineLayer, TimelineOptions


def _topics() -> _BuiltIn:
    from ..topics.layer import TopicLayer
    from ..topics.options import TopicOptions

    return TopicLayer, TopicOptions


def _citations() -> _BuiltIn:
    from ..citations.layer import CitationLayer
    from ..citations.options import RerankerOptions

    return CitationLayer, RerankerOptions


BUILT_IN: Final[Mapping[str, Callable[[], _BuiltIn]]] = {
    "summaries": _summaries,
    "timelines": _timelines,
    "topics": _topics,
    "citations": _citations,
}
"""What gives each layer of this package; it is imported where a bank has it."""

for _name in (
    "summaries",
    "timelines",
    "topics",
    "validity",
    "changes",
    "chats",
    "citations",
    "corrections",
    "lifetimes",
):
    _module = "changes.record_layer" if _name == "validity" else f"{_name}.layer"
    _said, _part = _name == "corrections", _name in BUILT_IN
    announce(_name, f"secom_core.{_module}", says_what_holds=_said, takes_part=_part)
