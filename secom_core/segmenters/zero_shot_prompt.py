"""Where do segments end? One question a session (SeCom section 2.2), or whether a new turn goes on with one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from ..conversation import Turn
from ..llm.flow import Prompt
from ..llm.prompt_texts import PromptTexts
from ..llm.quoting import fitted, quoted
from ..llm.schemas import NUMBER, object_of, one_of, records_of
from ..llm.windows import numbered
from ..memory import Segment

_TEXTS: Final = PromptTexts(__package__, "zero_shot_prompt.txt")
_JOINING_TEXTS: Final = PromptTexts(__package__, "zero_shot_prompt.txt", "joining_prompt.txt")
_SCHEMA: Final = records_of("segments", start_exchange_number=NUMBER, end_exchange_number=NUMBER)
_JOINING_SCHEMA: Final = object_of(answer=one_of("yes", "no"))
_KEYS: Final = ("segment_id", "start_exchange_number", "end_exchange_number", "num_exchanges")


def as_jsonl(segments: Sequence[Segment]) -> str:
    """Segments as the model is to write them, a line each."""
    rows = ((place, segment.start, segment.stop - 1, len(segment)) for place, segment in enumerate(segments))
    return "\n".join(json.dumps(dict(zip(_KEYS, row, strict=True))) for row in rows)


def ranges_of(segments: Sequence[Segment]) -> str:
    """Segments in words, for prompts: ``"0-3, 4, 5-7"``, by first and last exchange."""
    return ", ".join(f"{s.start}-{s.stop - 1}" if len(s) > 1 else f"{s.start}" for s in segments)


def segmentation_example(
    turns: Sequence[Turn],
    segments: Sequence[Segment],
    note: str = "",
    *,
    predicted: Sequence[Segment] = (),
    tokens: int | None = None,
) -> str:
    """A divided conversation to learn from, for the few-shot prompt (SeCom Figure 7).

    Args:
        turns: the conversation.
        segments: where it was divided.
        note: what is to be learned from it.
        predicted: where it was divided wrongly at first (SeCom A.1 shows the prediction too).
        tokens: the most tokens of conversation that are shown, estimated; long exchanges lose their middle.
    """
    texts = [quoted(turn.text) for turn in turns]
    kept = texts if tokens is None else fitted(texts, tokens)
    lessons = [f"Wrong at first: {ranges_of(predicted)}." if predicted else "", quoted(note)]
    lesson = "".join(f"{line}\n" for line in lessons if line)
    divided = f"<segmentation>\n{as_jsonl(segments)}\n</segmentation>"
    return f"<conversation>\n{numbered(kept)}\n</conversation>\n{lesson}{divided}"


def segmentation_prompt(
    texts: Sequence[str], *, guidance: str | None = None, examples: Sequence[str] = (), complaint: str | None = None
) -> Prompt:
    """Ask for the segments of a conversation.

    Args:
        texts: its exchanges, quoted, in order.
        guidance: a learned rubric (SeCom Figure 7).
        examples: divided conversations, as `segmentation_example` writes them.
        complaint: what was wrong with an earlier reply.
    """
    numbers = {"count": len(texts), "last": len(texts) - 1}
    task = _TEXTS.part("task", example=as_jsonl([Segment(0, 3), Segment(3, 7)]), **numbers)
    rubric = _TEXTS.part("rubric", guidance=guidance) if guidance else ""
    divided = _TEXTS.part("examples", examples="\n\n".join(examples)) if examples else ""
    data = _TEXTS.part("data", exchanges=numbered(texts), **numbers)
    return _TEXTS.prompt(task + rubric + divided + data, "segment", complaint=complaint, schema=_SCHEMA)


def joining_prompt(
    texts: Sequence[str], new: str, *, guidance: str | None = None, complaint: str | None = None
) -> Prompt:
    """Ask whether an exchange continues a segment.

    This is not in SeCom, which cuts a session in one go and shuns a question for each step (A.1).

    Args:
        texts: the segment's exchanges, quoted, in order.
        new: the exchange that comes after them, quoted.
        guidance: a learned rubric.
        complaint: what was wrong with an earlier reply.
    """
    rubric = _JOINING_TEXTS.part("rubric", guidance=guidance) if guidance else ""
    text = _JOINING_TEXTS.part("task", exchanges=numbered(texts), new=new or "(nothing)", rubric=rubric)
    return _JOINING_TEXTS.prompt(text, "join", complaint=complaint, schema=_JOINING_SCHEMA)
