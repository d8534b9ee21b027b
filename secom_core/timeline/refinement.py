"""Timelines rewritten for the dialogue at hand (Theanine section 2.2, Phase II-2; Algorithm 2, line 10)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ..asking import all_asked_twice
from ..errors import DegradedWarning, ModelError
from ..flow import Procedure
from ..memory import Timeline
from ..prompts.refinement import read_refinement, refinement_prompt

__all__ = ["refine"]


def refine(timelines: Sequence[Timeline], dialogue: str) -> Procedure[list[Timeline]]:
    """Give each timeline a text for the dialogue (eq. 11); its events, relations and turns stay as they are.

    All are asked for together. A reply without words is asked for once more; a timeline without an answer keeps its
    events as they are, and a `DegradedWarning` names the cause.

    Args:
        timelines: what was drawn.
        dialogue: what was just said, or a question.
    """
    asks = [partial(refinement_prompt, timeline, dialogue) for timeline in timelines]
    found = yield from all_asked_twice(asks, [partial(read_refinement, timeline=timeline) for timeline in timelines])
    errors = [text for text in found if isinstance(text, ModelError)]
    if errors:
        warnings.warn(
            f"the language model did not rewrite {len(errors)} of {len(timelines)} timelines, they stay as they are: "
            f"{errors[0]}",
            DegradedWarning,
            stacklevel=2,
        )
    return [
        timeline if isinstance(text, ModelError) else replace(timeline, text=text)
        for timeline, text in zip(timelines, found, strict=True)
    ]
