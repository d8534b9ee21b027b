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
from ..errors import BadReply
from ..llm.flow import Procedure, Prompt
from ..llm.prompt_texts import PromptTexts
from ..llm.quoting import quoted, without_thoughts
from ..llm.replies import RecordForm, objects
from ..llm.windows import day_of, numbered, window_texts, windows
from ..memory import Memory

_TEXTS: Final = PromptTexts(__package__, "events_prompt.txt")
_BLOCK: Final = re.compile(r"<\s*events\s*>(.*?)(?:<\s*/\s*events\s*>|\Z)", re.S | re.I)
_EMPTY_LIST: Final = re.compile(r"\A[\s`]*(?:json\s*)?\[\s*\][\s`]*\Z", re.I)
_EVENT: Final = RecordForm(
    name="an event",
    text_keys=("event", "text", "summary", "memory"),
    number_keys=("exchanges", "exchange_numbers", "exchange", "references", "turns"),
    size="one short sentence",
    max_tokens=120,
)
_MOST_CHARACTERS: Final = 200_000


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
    questions = [_question(window, window_texts(window, max_tokens)) for window in windows(turns, max_tokens)]
    found = yield from extract(questions, read_events, memories)
    place = {turn.id: number for number, turn in enumerate(turns)}
    return replace(found, drafts=tuple(sorted(found.drafts, key=lambda draft: place[draft.turns[0].id])))


def _question(window: Sequence[Turn], texts: Sequence[str]) -> Question:
    speaker = next((name for turn in window for name in turn.speakers), "Ann")
    return Question(window, partial(events_prompt, texts, speaker=speaker, date=day_of(window)), "events")


def events_prompt(
    texts: Sequence[str], *, speaker: str = "Ann", date: str = "", complaint: str | None = None
) -> Prompt:
    """Ask for the events of a conversation.

    Args:
        texts: its exchanges, quoted, in order.
        speaker: the name of somebody who speaks in it, for the example.
        date: when it took place, for "yesterday" and "next week".
        complaint: what was wrong with an earlier reply.
    """
    when = f" It took place on {date}; write dates out instead of saying “yesterday”." if date else ""
    text = _TEXTS.part(
        "task",
        exchanges=numbered(texts),
        count=len(texts),
        last=len(texts) - 1,
        speaker=json.dumps(quoted(speaker), ensure_ascii=False)[1:-1],
        date=when,
    )
    return _TEXTS.prompt(text, "events", complaint=complaint)


def read_events(reply: str, count: int) -> list[tuple[str, tuple[int, ...]]]:
    """The events in a reply, each with the numbers of its exchanges, in rising order.

    Repaired are thoughts, code fences, missing tags, a list instead of lines, trailing commas, single numbers, numbers
    as strings, and an event said twice, whose exchanges are joined.

    Args:
        reply: the model's reply.
        count: how many exchanges there are.

    Raises:
        BadReply: with what is wrong, in words for the model: no event and no empty block, an event without words or
            of more than a sentence, or one without exchanges or with exchanges that do not exist.
    """
    if len(reply) > _MOST_CHARACTERS:
        raise BadReply(f"the reply has {len(reply)} characters", reply)
    answer = without_thoughts(reply)
    blocks = _BLOCK.findall(answer)
    block = next((each for each in reversed(blocks) if "{" in each), blocks[-1] if blocks else answer)
    found = _EVENT.read(objects(block, reply), count, reply)
    if not found and not (blocks and not block.strip()) and not _EMPTY_LIST.match(block):
        raise BadReply("there is no event in the reply", reply)
    return found
