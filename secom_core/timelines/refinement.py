"""Timelines rewritten for the dialogue at hand (Theanine section 2.2, Phase II-2; Algorithm 2, line 10)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from ..drafts.grounding import tells_of
from ..drafts.language import language_told
from ..errors import BadReply, ContextTooLong, CutOff, ModelError, warn_degraded
from ..llm.flow import Procedure, Prompt
from ..llm.prompt_texts import PromptTexts
from ..llm.quoting import quoted, unquoted, without_thoughts
from ..llm.records import records_in
from ..llm.replies import CUT_OFF
from ..llm.reply import cut_off
from ..llm.retry import all_asked_twice
from ..text.non_answers import is_refusal
from ..text.patterns import regex
from ..text.terms import count_tokens, sentences
from .linking_prompt import MEANINGS
from .records import Timeline
from .section import around_hit

_TEXTS: Final = PromptTexts(__package__, "refinement_prompt.txt")
_BLOCK: Final = regex(r"<\s*notes\s*>(.*?)(?:<\s*/\s*notes\s*>|\Z)", re.S | re.I)
_TAG: Final = regex(r"<\s*/?\s*(?:notes|timeline|dialogue)\s*>", re.I)
_CLOSED: Final = regex(r"<\s*/\s*notes\s*>", re.I)
_FENCE: Final = regex(r"```[a-z]*")
_ANNOUNCED: Final = regex(r"\A\s*[^\n]{1,120}:[ \t]*\n(?=\s*\S)")
_SPARE_TOKENS: Final = 80


def refine(timelines: Sequence[Timeline], dialogue: str, *, tokens: int = 8_000) -> Procedure[list[Timeline]]:
    """Give each timeline a text for the dialogue (eq. 11); its events, relations and turns stay as they are.

    All are asked for together. A reply without words is asked for once more, and what is too long for the model with
    half of the events; a timeline without an answer keeps its events as they are, and a `DegradedWarning` names the
    cause.

    Args:
        timelines: what was drawn.
        dialogue: what was just said, or a question.
        tokens: how much of a timeline is shown to the model: the events around the one that was found.
    """
    found: list[str | ModelError] = [""] * len(timelines)
    places = list(range(len(timelines)))
    while places:
        shown = [_within(timelines[place], tokens) for place in places]
        asks = [partial(refinement_prompt, each, dialogue) for each in shown]
        reads = [partial(read_refinement, timeline=each, dialogue=dialogue) for each in shown]
        replies = yield from all_asked_twice(asks, reads)
        for place, reply in zip(places, replies, strict=True):
            found[place] = reply
        longer = [len(each.events) > 1 for each in shown]
        places = [
            place
            for place, more in zip(places, longer, strict=True)
            if more and isinstance(found[place], ContextTooLong)
        ]
        tokens = min(tokens, max(map(_size, shown), default=0)) // 2
    errors = [text for text in found if isinstance(text, ModelError)]
    if errors:
        failed = f"{len(errors)} of {len(timelines)} timelines"
        warn_degraded(f"the language model did not rewrite {failed}, they stay as they are", errors[0])
    return [
        timeline if isinstance(text, ModelError) else replace(timeline, text=text)
        for timeline, text in zip(timelines, found, strict=True)
    ]


def _within(timeline: Timeline, tokens: int) -> Timeline:
    """The timeline, or of a long one the events around the one that was found; that one always."""
    sizes = list(map(count_tokens, timeline_lines(timeline)))
    return timeline if sum(sizes) <= tokens else around_hit(timeline, sizes, tokens)


def _size(timeline: Timeline) -> int:
    return sum(map(count_tokens, timeline_lines(timeline)))


def timeline_lines(timeline: Timeline) -> list[str]:
    """The timeline as text: a line an event, each after the first with the relation that led to it."""
    arrows = ["", *(f"→ ({relation.value}) " for relation in timeline.relations)]
    return [f"{arrow}{event.at:%Y-%m-%d}: {event.text}" for arrow, event in zip(arrows, timeline.events, strict=True)]


def refinement_prompt(timeline: Timeline, dialogue: str, *, complaint: str | None = None) -> Prompt:
    """Ask for a timeline in the words that a dialogue needs.

    Args:
        timeline: events and relations.
        dialogue: what was just said, or a question.
        complaint: what was wrong with an earlier reply.
    """
    used = [f"- {relation.value}: {MEANINGS[relation]}" for relation in MEANINGS if relation in timeline.relations]
    lines = quoted("\n".join(timeline_lines(timeline)))
    meanings = "\n".join(used) or "- (only one event)"
    text = _TEXTS.part("task", meanings=meanings, dialogue=quoted(dialogue), timeline=lines)
    language = language_told(event.text for event in timeline.events)
    text += _TEXTS.part("language", language=language) if language else ""
    return _TEXTS.prompt(text, "refine", complaint=complaint, max_tokens=600)


def read_refinement(reply: str, timeline: Timeline, dialogue: str = "") -> str:
    """The paragraph in a reply, on one line.

    It is the last block between the tags, the one text of a JSON object, or the reply without a line that announces it.

    Args:
        reply: the model's reply.
        timeline: what was to be rewritten.
        dialogue: what it was to be rewritten for.

    Raises:
        BadReply: where there are no words, none of any event's but those of the dialogue, or more than the timeline
            itself and a little would take.
        CutOff: the reply was cut off; its whole sentences are its ``kept``, if they would be read by themselves.
    """
    answer = without_thoughts(reply)
    blocks = [each for each in _BLOCK.findall(answer) if each.strip()]
    said = [each for record in records_in(answer, bool).records for each in record.values() if isinstance(each, str)]
    body = blocks[-1] if blocks else said[0] if len(said) == 1 else _ANNOUNCED.sub("", answer)
    text = " ".join(unquoted(_TAG.sub(" ", _FENCE.sub(" ", body))).split())
    if cut_off(reply) and not (blocks and _CLOSED.search(answer)):
        whole = " ".join(sentences(text)[:-1])
        raise CutOff(CUT_OFF, reply, whole if not _what_is_wrong(whole, timeline, dialogue) else None)
    if wrong := _what_is_wrong(text, timeline, dialogue):
        raise BadReply(wrong, reply)
    return text


def _what_is_wrong(text: str, timeline: Timeline, dialogue: str) -> str:
    """Why a text cannot stand for the timeline; empty where it can."""
    if not any(character.isalnum() for character in text):
        return "there are no words in the reply"
    most = count_tokens("\n".join(timeline_lines(timeline))) + _SPARE_TOKENS
    if (size := count_tokens(text)) > most:
        return f"the paragraph has {size} tokens, it should be shorter than the timeline's {most}"
    if is_refusal(text) or not tells_of(text, [event.text for event in timeline.events], dialogue):
        return f"that tells nothing of the timeline: {text[:200]}"
    return ""
