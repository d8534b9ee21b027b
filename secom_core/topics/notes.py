"""What a closed session says about each speaker: notes (RMM section 5, memory extraction)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from ..conversation import NO_PEOPLE, Turn
from ..drafts.extraction import Extracted, Question, extract
from ..drafts.language import language_of_turns
from ..llm.flow import Procedure
from ..llm.windows import windows
from ..memory import Memory
from .prompts import read_topics, topics_prompt


def extract_notes(
    turns: Sequence[Turn], memories: Sequence[Memory], *, max_tokens: int = 8_000, assistants: bool = False
) -> Procedure[Extracted]:
    """Ask for the notes on every speaker of a session, one question for each of them and each window, all together.

    See `secom_core.drafts.extraction.extract`; where the model fails, the notes are the segments of which the speaker
    says most.

    Args:
        turns: the session's turns, in order.
        memories: its segments.
        max_tokens: the most tokens of conversation in one question, estimated.
        assistants: ask about speakers who only ever reply to a user, too.
    """
    questions = [
        question for window in windows(turns, max_tokens) for question in _questions(window, max_tokens, assistants)
    ]
    return (yield from extract(questions, read_topics, memories, by_speaker=True))


def _questions(window: Sequence[Turn], max_tokens: int, assistants: bool) -> Iterator[Question]:
    messages = [message for turn in window for message in turn.messages if message.text.strip()]
    about = [message.label for message in messages if assistants or message.role not in NO_PEOPLE]
    language = language_of_turns(window)
    for speaker in dict.fromkeys(about):
        ask = partial(topics_prompt, speaker=speaker, language=language)
        yield Question(window, max_tokens, ask, f"topics of {speaker or 'anybody'}", speaker)
