"""The most telling sentence of a passage: what is shown of it where there is no room for more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..memory import Passage
from ..text.terms import sentence_spans, terms


def narrower(passage: Passage, worth: Mapping[str, float]) -> Passage | None:
    """The sentence, or line, of the passage that holds the most of the query; nothing where it is of one sentence.

    Args:
        passage: a passage, or a whole message.
        worth: what each term of the query weighs.
    """
    text = passage.message.text
    spans = [span for span in sentence_spans(text, passage.start, passage.stop) if text[slice(*span)].strip()]
    if len(spans) < 2:
        return None
    start, stop = max(spans, key=lambda span: sum(worth.get(term, 0.0) for term in set(terms(text[slice(*span)]))))
    return replace(passage, start=start, stop=stop)
