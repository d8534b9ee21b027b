"""Each paper's own configuration, by name, with its hyper-parameters and their source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from .context.packing import Packer, PackMemories
from .protocols import ChatModel, Denoiser, Embedder, Segmenter

if TYPE_CHECKING:
    from .citations.options import RerankerOptions
    from .segmenters.rubric.file import Rubric
    from .summaries.summarizer import Summarizer
    from .timelines.options import TimelineOptions
    from .topics.options import TopicOptions


@dataclass(frozen=True)
class Preset:
    """The configuration of one paper; pass it to `MemoryBank.open`.

    Args:
        source: the sections that the numbers come from.
        weights: by signal: what the paper ranks by.
        dense_weights: the same where the bank has vectors, the preset's or others; ``weights`` unless given.
        rules: whether the bank's own rules take part in a recall beside this ranking. They show the user's instructions
            in every block, what follows a find and what answers a question about the conversation itself, look for
            other words than a question has, and put turns that only ask behind others. The papers have no such rules.

    The other arguments are the parts of a bank.
    """

    source: str
    weights: Mapping[str, float]
    dense_weights: Mapping[str, float] | None = None
    rules: bool = False
    packer: Packer = field(default_factory=PackMemories)
    segmenter: Segmenter | None = None
    denoiser: Denoiser | None = None
    embedder: Embedder | None = None
    granularity: str | None = None
    model: ChatModel | None = None
    summaries: Summarizer | None = None
    timelines: TimelineOptions | None = None
    topics: TopicOptions | None = None
    citations: bool | RerankerOptions | None = None

    def parts(self, *, dense: bool = False) -> dict[str, Any]:
        """The keyword arguments for `MemoryBank`.

        Args:
            dense: the bank has vectors that are not the preset's.
        """
        names = [each.name for each in fields(self) if each.name not in ("source", "dense_weights")]
        found = {name: getattr(self, name) for name in names}
        if self.dense_weights is not None and (dense or self.embedder is not None):
            found["weights"] = self.dense_weights
        return {name: part for name, part in found.items() if part is not None}


def secom(
    model: ChatModel,
    *,
    embedder: Embedder | None = None,
    denoiser: Denoiser | None = None,
    rubric: Rubric | None = None,
) -> Preset:
    """SeCom as published: zero-shot segmentation by a language model, keys compressed to 75 per cent, whole segments.

    The model is asked once a session, when that has ended; while it is open, `LexicalSegmenter` cuts it.

    Args:
        model: the language model that segments (GPT-4-0125 in the paper).
        embedder: dense retrieval where given (``multi-qa-mpnet-base-dot-v1`` in the paper), else BM25. Vectors have
            length 1 here, so that its dot product becomes a cosine.
        denoiser: LLMLingua-2 on xlm-roberta-large at a rate of 0.75 unless given.
        rubric: guidance for the segmentation, as `secom_core.segmenters.RubricLearner` learns it and the paper uses
            it on segmentation benchmarks; its question answering (section 3) uses none.

    Source: SeCom, section 2 and "Implementation Details" of section 3. The paper takes about 4,000 tokens or ten
    segments on LOCOMO (``token_budget=4000``), and 1,000 tokens or one segment on Long-MT-Bench+ (Table 1).
    """
    from .denoisers.llmlingua import LLMLingua2
    from .segmenters.lexical import LexicalSegmenter
    from .segmenters.zero_shot import ZeroShotSegmenter

    return Preset(
        source="SeCom, sections 2.2, 2.3 and 3",
        segmenter=ZeroShotSegmenter(
            model,
            fallback=LexicalSegmenter(),
            guidance=rubric.guidance if rubric is not None else None,
            examples=rubric.examples if rubric is not None else (),
        ),
        denoiser=denoiser or LLMLingua2(rate=0.75),
        weights={"segment_lexical": 1.0},
        dense_weights={"segment_dense": 1.0},
        embedder=embedder,
    )


def rsum(model: ChatModel, *, embedder: Embedder | None = None, examples: Sequence[str] = ()) -> Preset:
    """RSum as published: one summary of at most 20 sentences, brought up to date as each session ends.

    Recall with ``layers=["summaries"]``, and the block begins with it. The utterances that are retrieved beside it are
    those of the paper's Tables 8 and 14, found by BM25 or a dense model; it takes three or five of them (``k=3``).
    What an update drops is asked about and kept, which is ours: the paper's is ``Summarizer(model, retain=False)``.

    Args:
        model: the language model that writes the summary, at temperature 0 (gpt-3.5-turbo-0301 in the paper).
        embedder: dense retrieval where given (DPR in the paper), else BM25.
        examples: updates to learn from; the paper is zero-shot here, and shows two or three examples to the model that
            replies (Table 7: `Summarizer.response_examples`).

    Source: RSum, sections 4.1, 5.4 and 6.6.
    """
    from .summaries.summarizer import Summarizer

    return Preset(
        source="RSum, sections 4.1, 5.4 and 6.6",
        weights={"passage_lexical": 1.0},
        dense_weights={"passage_dense": 1.0},
        embedder=embedder,
        granularity="turn",
        summaries=Summarizer(model, limit=20, examples=examples),
    )


def theanine(model: ChatModel, *, embedder: Embedder | None = None) -> Preset:
    """Theanine as published: events linked by relation as each session ends, and timelines around three of them.

    ``bank.timelines.find`` gives what its Phase II retrieves, one timeline for each of the three events found; recall
    with ``layers=["timelines"]`` and ``k=1`` gives the block. The paper shows timelines only: the turns beside them are
    ours.

    Args:
        model: the language model that writes events, finds relations and rewrites timelines, at the paper's
            temperature of 0.75 (gpt-3.5-turbo-0125 there).
        embedder: dense similarity where given (text-embedding-3-small in the paper), else that of words.

    Source: Theanine, sections 2 and 3.3 (``j`` and ``k`` are 3), footnote 6 (``n`` is 1), appendix B.
    """
    from .timelines.options import TimelineOptions

    return Preset(
        source="Theanine, sections 2 and 3.3, footnote 6, appendix B",
        weights={"segment_lexical": 1.0},
        dense_weights={"segment_dense": 1.0},
        embedder=embedder,
        model=model,
        timelines=TimelineOptions(associates=3, hits=3, per_hit=1, refined=True, temperature=0.75),
    )


def rmm(model: ChatModel, *, embedder: Embedder | None = None, explore: bool = False) -> Preset:
    """RMM as published: topics of each speaker as a session ends, and a reranker that learns from citations.

    Recall with ``layers=["topics"]`` and ``k=5``: topics are found by their summaries, the best 20 are reranked, and 5
    of them are shown with their turns. Give what the answer cites to ``bank.citations.reward``, or let
    `secom_core.companion.Companion` do both. Where the paper shows topics only, segments of turns that no topic refers
    to are found too.

    Args:
        model: the language model that writes and merges topic summaries (Gemini-1.5-Flash in the paper).
        embedder: dense retrieval (Contriever, Stella or GTE in the paper), of vectors of length 1. Without one there is
            nothing for the paper's reranker to bend: topics are found by words, and citations are only recorded.
        explore: draw the 5 with noise, as in the paper's training, instead of taking the best. It also learns from what
            answers cite of the best; drawing is for streams of questions that nobody waits for.

    Source: RMM, sections 4 to 6, appendix A.1 (K is 20, M is 5; temperature 0.5, baseline 0.5, learning rate 0.001,
    batches of 4).
    """
    from .citations.options import RerankerOptions
    from .topics.options import TopicOptions

    return Preset(
        source="RMM, sections 4 to 6, appendix A.1",
        weights={"segment_lexical": 1.0},
        dense_weights={"segment_dense": 1.0},
        embedder=embedder,
        model=model,
        topics=TopicOptions(),
        citations=RerankerOptions(explore=explore) if embedder is not None else True,
    )
