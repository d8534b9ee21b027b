"""Events from a closed session, with the exchanges that they rest on, by a language model (Theanine section 2.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from ..conversation import Turn
from ..drafts.extraction import Extracted, Question, extract
from ..drafts.language import language_of_turns
from ..errors import BadReply
from ..llm.flow import Procedure, Prompt
from ..llm.prompt_texts import PromptTexts
from ..llm.quoting import quoted
from ..llm.records import holds_nothing
from ..llm.replies import RecordForm, Texts
from ..llm.reply import cut_off
from ..llm.schemas import NUMBERS, TEXT, records_of
from ..llm.windows import dated, windows
from ..memory import Memory
from ..text.patterns import regex

_TEXTS: Final = PromptTexts(__package__, "events_prompt.txt")
_NOTHING: Final = regex(
    r"(?:\{[^{}\[\]]{0,60}:\s*)?\[\s*\](?:\s*\})?|\W*(?:(?:there are )?no events?(?: worth remembering)?|none)\W*|\s*",
    re.I,
)
_SCHEMA: Final = records_of("events", event=TEXT, exchanges=NUMBERS)
_EVENT: Final = RecordForm(
    name="an event",
    tag="events",
    text_keys=("event", "text", "summary", "memory", "description", "sentence", "fact"),
    number_keys=("exchanges", "exchange_numbers", "exchange", "references", "reference", "turns", "turn", "sources"),
    size="one short sentence",
    max_tokens=120,
)


def extract_events(
    turns: Sequence[Turn], memories: Sequence[Memory], *, max_tokens: int = 8_000
) -> Procedure[Extracted]:
    """Ask for the events of a session, all its windows together; see `secom_core.drafts.extraction.extract`.

    Args:
        turns: the session's turns, in order.
        memories: its segments, which take over where the model fails.
        max_tokens: the most tokens of conversation in one question, estimated.

    Returns:
        The events by their first turns. What two windows say in the same words is kept apart by its turns.
    """
    questions = [_question(window, max_tokens) for window in windows(turns, max_tokens)]
    found = yield from extract(questions, read_events, memories)
    place = {turn.id: number for number, turn in enumerate(turns)}
    return replace(found, drafts=tuple(sorted(found.drafts, key=lambda draft: place[draft.turns[0].id])))


def _question(window: Sequence[Turn], max_tokens: int) -> Question:
    speaker = next((name for turn in window for name in turn.speakers), "Ann")
    ask = partial(events_prompt, speaker=speaker, language=language_of_turns(window))
    return Question(window, max_tokens, ask, "events")


def events_prompt(
    texts: Sequence[str],
    *,
    speaker: str = "Ann",
    days: Sequence[str] = (),
    language: str = "",
    complaint: str | None = None,
) -> Prompt:
    """Ask for the events of a conversation.

    Args:
        texts: its exchanges, quoted, in order.
        speaker: the name of somebody who speaks in it, for the example.
        days: the days that begin with them, for "yesterday" and "next week" (`secom_core.llm.windows.days_of`).
        language: what it is in, where that is not English (`secom_core.drafts.language`).
        complaint: what was wrong with an earlier reply.
    """
    when, exchanges = dated(texts, days)
    text = _TEXTS.part(
        "task",
        exchanges=exchanges,
        count=len(texts),
        last=len(texts) - 1,
        speaker=json.dumps(quoted(speaker), ensure_ascii=False)[1:-1],
        date=when,
    )
    text += _TEXTS.part("language", language=language) if language else ""
    return _TEXTS.prompt(text, "events", complaint=complaint, schema=_SCHEMA)


def read_events(reply: str, count: int) -> Texts:
    """The events in a reply, each with the numbers of its exchanges, in rising order.

    What is repaired is said in `secom_core.llm.records` and `secom_core.llm.replies`.

    Args:
        reply: the model's reply.
        count: how many exchanges there are.

    Raises:
        BadReply: with what is wrong, in words for the model: no event and no empty block, an event without words or
            of more than a sentence, or one without exchanges or with exchanges that do not exist; the good events are
            its ``kept``.
        CutOff: the reply was cut off; likewise.
    """
    found = _EVENT.found_in(reply)
    if not (found.records or found.broken or cut_off(reply)) and not holds_nothing(reply, _EVENT.tag, _NOTHING):
        raise BadReply("there is no event in the reply", reply)
    return _EVENT.read(found, count, reply)
