"""How topics are made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..errors import InvalidInput
from .placing import SimilarityRule


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """How topics are made.

    Args:
        similar: with how many similar topics of the speaker a new summary is compared (section 5, ``K``). The paper
            gives no number for this step: appendix A.1 names 20 for what the reranker gets and 5 for the training of
            its retriever. 5 is ours: a question that a model can read at a glance.
        extract_tokens: how much of a session is shown in one question.
        assistants: make topics of speakers who only ever reply to a user, too.
        rule: what merges without a language model.
        key: what a query is compared with: the ``"summary"`` of a topic (RMM section 4), or the ``"words"`` of all its
            turns under it, by words and vector both. Unless given, the summary where the bank has a language model;
            one that is a sentence of the conversation says too little of the rest.
        recall_without_model: take part in recalls without a language model too, although they then cost more than
            they bring.
        concurrency: how many questions to the language model are in flight at once.

    Raises:
        InvalidInput: for a number out of range.
    """

    similar: int = 5
    extract_tokens: int = 8_000
    assistants: bool = False
    rule: SimilarityRule = field(default_factory=SimilarityRule)
    key: Literal["summary", "words"] | None = None
    recall_without_model: bool = False
    concurrency: int = 8

    def __post_init__(self) -> None:
        if min(self.similar, self.extract_tokens, self.concurrency) < 1:
            raise InvalidInput(f"topics need counts of 1 or more, got {self}")
        if self.key not in (None, "summary", "words"):
            raise InvalidInput(f"the key of a topic is 'summary' or 'words', not {self.key!r}")
