"""Denoising of nodes, as a node postprocessor and as a step of an ingestion pipeline."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from llama_index.core.bridge.pydantic import ConfigDict, Field, field_validator
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle, TransformComponent
from typing_extensions import Self, Unpack

from secom_core.context.denoising import denoised
from secom_core.errors import InvalidInput
from secom_core.protocols import Denoiser

from .arguments import PostprocessorFields, refuse_unknown
from .models import check_version, version_of
from .pickling import check_pickled_whole

ORIGINAL_TEXT: Final = "secom_original_text"
"""The metadata key of a denoised node's original text, hidden from the language model and the embedder."""


class LLMLinguaDenoiser(BaseNodePostprocessor, TransformComponent):
    """Denoises nodes (SeCom, section 2.3), after retrieval or during ingestion.

    Every node comes back denoised, with its id, score and place; the nodes given are not changed. The original text
    stays in the metadata under ``secom_original_text``: to search denoised keys and show the original text, put
    ``MetadataReplacementPostProcessor("secom_original_text")`` after the retriever. A node that was denoised before is
    denoised again from the original text.

    Args:
        denoiser: any denoiser of the core; `LLMLingua2` unless given, which needs the extra ``llmlingua``.
        model_version: identifies the denoiser for caches; its class and settings unless given.
    """

    model_config = ConfigDict(extra="forbid")

    denoiser: Any = Field(default=None, exclude=True, description="Drops uninformative words.")
    model_version: str = Field(default="", description="Identifies the denoiser for the ingestion cache.")

    def __init__(
        self, denoiser: Denoiser | None = None, *, model_version: str = "", **fields: Unpack[PostprocessorFields]
    ) -> None:
        refuse_unknown("LLMLinguaDenoiser", LLMLinguaDenoiser.__init__, fields.keys(), besides=type(self).model_fields)
        fields.pop("class_name", None)  # dumps have it
        chosen = denoiser if denoiser is not None else _default()
        values: dict[str, Any] = {"denoiser": chosen, "model_version": model_version, **fields}
        super().__init__(**values)
        if not self.model_version:
            self.model_version = version_of(self.denoiser)

    def __getstate__(self) -> dict[str, Any]:
        check_pickled_whole(self, "denoiser")
        return super().__getstate__()

    @field_validator("denoiser")
    @classmethod
    def _check_denoiser(cls, value: Any) -> Any:
        if not isinstance(value, Denoiser):
            raise InvalidInput(f"a denoiser has a denoise method (secom_core.protocols.Denoiser), got {value!r}")
        return value

    @classmethod
    def class_name(cls) -> str:
        """The name it is serialised under."""
        return "LLMLinguaDenoiser"

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> Self:
        """Make it again from `to_dict`; a denoiser other than the default has to be passed again.

        Raises:
            InvalidInput: the dict was made with another denoiser, and none is given.
        """
        if kwargs.get("denoiser") is None:
            check_version(data.get("model_version"), _default(), "denoiser")
        return super().from_dict(data, **kwargs)

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Denoise nodes during ingestion."""
        originals = list(map(_original, nodes))
        keys = denoised(self.denoiser, originals, ["replaced" in node.metadata for node in nodes])
        return [
            _denoised(node, original, key) if original.strip() else node
            for node, original, key in zip(nodes, originals, keys, strict=True)
        ]

    async def acall(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[BaseNode]:
        """Denoise nodes during ingestion, without blocking the event loop."""
        return await asyncio.to_thread(self.__call__, nodes, **kwargs)

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        shorter = self([each.node for each in nodes])
        return [NodeWithScore(node=node, score=each.score) for node, each in zip(shorter, nodes, strict=True)]


def _default() -> Denoiser:
    from secom_core.denoisers.llmlingua import LLMLingua2

    return LLMLingua2()


def _original(node: BaseNode) -> str:
    kept = node.metadata.get(ORIGINAL_TEXT)
    # Some stores give None for what a node lacks and another has.
    return kept if isinstance(kept, str) else node.get_content()


def _denoised(node: BaseNode, original: str, key: str) -> BaseNode:
    copy = node.model_copy()
    copy.metadata = {**node.metadata, ORIGINAL_TEXT: original}
    copy.excluded_embed_metadata_keys = [*dict.fromkeys([*node.excluded_embed_metadata_keys, ORIGINAL_TEXT])]
    copy.excluded_llm_metadata_keys = [*dict.fromkeys([*node.excluded_llm_metadata_keys, ORIGINAL_TEXT])]
    copy.relationships = dict(node.relationships)
    copy.set_content(key)
    copy.embedding = None  # it was made from other words
    return copy
