"""Where do segments end? One question a session, or whether a new turn goes on with one (SeCom section 2.2)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ..conversation import Turn
from ..errors import BadReply
from ..llm.flow import Prompt
from ..llm.prompt_texts import PromptTexts
from ..llm.quoting import fitted, quoted, without_thoughts
from ..llm.replies import objects
from ..llm.windows import numbered
from ..memory import Segment

_TEXTS: Final = PromptTexts(__package__, "zero_shot_prompt.txt")
_JOINING_TEXTS: Final = PromptTexts(__package__, "zero_shot_prompt.txt", "joining_prompt.txt")
_MOST_CHARACTERS: Final = 1_000_000  # of a reply that is read at all
_OPENING: Final = re.compile(r"<\s*segmentation\s*>", re.IGNORECASE)
_CLOSING: Final = re.compile(r"<\s*/\s*segmentation\s*>", re.IGNORECASE)
_WHOLE: Final = re.compile(r"\s*(-?\d{1,10})(?:\.0)?\s*")
_KEYS: Final = ("segment_id", "start_exchange_number", "end_exchange_number", "num_exchanges")
_WORD: Final = re.compile(r"[^\W_]+")
_ANSWERS: Final = {"yes": True, "true": True, "no": False, "false": False}
_START: Final = ("start_exchange_number", "start_exchange", "start")
_END: Final = ("end_exchange_number", "end_exchange", "end")
_COUNT: Final = ("num_exchanges", "num_exchange", "count")

Range = tuple[int, int]


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
    return _TEXTS.prompt(task + rubric + divided + data, "segment", complaint=complaint)


def read_segmentation(reply: str, count: int) -> list[Segment]:
    """The segments in a reply, checked for cover, overlap and count.

    What has only one reading is repaired: thoughts, code fences, missing tags, lists instead of lines, trailing
    commas, single quotes, numbers as strings, disorder, repetitions, counting from 1, an end that is the next start,
    and counts that are wrong by one.

    Args:
        reply: the model's reply.
        count: how many exchanges there are.

    Raises:
        BadReply: with what is wrong, in words for the model.
    """
    if len(reply) > _MOST_CHARACTERS:
        raise BadReply(f"the reply has {len(reply)} characters", reply)
    # The last block that has any, as models repeat the example first.
    for block in reversed(_OPENING.split(without_thoughts(reply))):
        rows = _CLOSING.split(block)[0]
        # A reply that was cut off ends in the middle of an object; what is missing is said by exchange.
        whole = rows[: rows.rfind("}") + 1]
        records = objects(whole if '"' in whole else whole.replace("'", '"'), reply)
        if counts := dict(_row(record, reply) for record in records if any(key in record for key in _START)):
            return _checked(counts, count, reply)
    raise BadReply("there is no segment in the reply", reply)


def _row(record: Mapping[str, Any], reply: str) -> tuple[Range, int | None]:
    """The first and last exchange of a segment, and how many it is said to have."""
    start, end, count = (_number(record, keys, reply) for keys in (_START, _END, _COUNT))
    if start is None or end is None:
        given = json.dumps(record)[:200]
        raise BadReply(f"a segment needs start_exchange_number and end_exchange_number, got {given}", reply)
    return (start, end), count


def _number(record: Mapping[str, Any], keys: Sequence[str], reply: str) -> int | None:
    key = next((key for key in keys if key in record), keys[0])
    value = record.get(key)
    if value is None:
        return None
    found = _WHOLE.fullmatch(str(value))
    if found is None:
        raise BadReply(f"{key} should be a whole number, got {json.dumps(value)[:50]}", reply)
    return int(found[1])


def _checked(counts: Mapping[Range, int | None], count: int, reply: str) -> list[Segment]:
    """The segments in the one reading in which they cover all exchanges: as asked, from 1, or half-open.

    Args:
        counts: how many exchanges each range is said to have.
        count: how many exchanges there are.
        reply: the whole reply, for the error.
    """
    ranges = sorted(counts)
    readings = [[(start - first, end + beyond) for start, end in ranges] for first, beyond in ((0, 1), (1, 0), (0, 0))]
    complaints = [_complaint(reading, count) for reading in readings]
    if "" not in complaints:
        raise BadReply(complaints[0], reply)
    segments = [Segment(*each) for each in readings[complaints.index("")]]
    for segment, given in zip(segments, map(counts.get, ranges), strict=True):
        if given is not None and abs(given - len(segment)) > 1:
            about = f"the segment of {len(segment)} exchanges from {segment.start}"
            raise BadReply(f"{about} says num_exchanges is {given}", reply)
    return segments


def _complaint(reading: Sequence[Range], count: int) -> str:
    """What is wrong with ranges ``[start, stop)``, in words; empty where they cover ``count`` exchanges."""
    expected = 0
    for start, stop in reading:
        if not start < stop:
            return f"a segment from exchange {start} to {stop - 1} is empty"
        if start > expected:
            return f"the exchanges from {expected} to {start - 1} are in no segment"
        if start < expected:
            return f"a segment begins with exchange {start}, where {expected} would be next"
        expected = stop
    if expected == count:
        return ""
    return f"the last segment ends with exchange {expected - 1}, the conversation with {count - 1}"


def joining_prompt(
    texts: Sequence[str], new: str, *, guidance: str | None = None, complaint: str | None = None
) -> Prompt:
    """Ask whether an exchange continues a segment: the incremental decision of SeCom section 2.2.

    Args:
        texts: the segment's exchanges, quoted, in order.
        new: the exchange that comes after them, quoted.
        guidance: a learned rubric.
        complaint: what was wrong with an earlier reply.
    """
    rubric = _JOINING_TEXTS.part("rubric", guidance=guidance) if guidance else ""
    text = _JOINING_TEXTS.part("task", exchanges=numbered(texts), new=new or "(nothing)", rubric=rubric)
    return _JOINING_TEXTS.prompt(text, "join", complaint=complaint)


def read_joining(reply: str) -> bool:
    """Whether the reply says yes, with its first word or its last.

    Raises:
        BadReply: where neither is yes or no, or they differ.
    """
    words = _WORD.findall(without_thoughts(reply).casefold())
    answers = {_ANSWERS[word] for word in (*words[:1], *words[-1:]) if word in _ANSWERS}
    if len(answers) != 1:
        raise BadReply("the reply is neither yes nor no", reply)
    return answers.pop()
