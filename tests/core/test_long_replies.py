"""Chats with an assistant whose replies are long: where the local segmenters cut them.

The fixture holds subjects that people bring to an assistant, in five languages, each some exchanges long.
"""

from __future__ import annotations

import random
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from benchmarks.evaluation.segmentation import SegmentationScore, evaluate
from secom_core.conversation import Message, Turn, group_messages
from secom_core.memory import boundaries_of
from secom_core.segmenters import LexicalSegmenter
from secom_core.segmenters.cues import FORM, form, share_read, word_kinds

FIXTURE = Path(__file__).parents[1] / "fixtures" / "long_replies.txt"

Exchange = tuple[str, str]


def read_subjects() -> dict[str, list[Exchange]]:
    """The exchanges about each subject, by a name that begins with the language."""
    found: dict[str, list[Exchange]] = {}
    for block in FIXTURE.read_text("utf-8").split("===")[1:]:
        name, _, rest = block.partition("\n")
        asked, _, reply = rest.partition("\n---\n")
        if name.strip():
            exchanges = found[name.strip()] = []
        exchanges.append((asked.strip(), reply.strip()))
    return found


SUBJECTS = read_subjects()


def session(*parts: list[Exchange]) -> tuple[list[Turn], list[int]]:
    """A chat about one subject after another, and 1 for each exchange after which the subject changes."""
    turns = group_messages(
        Message(text, role)
        for exchange in chain.from_iterable(parts)
        for text, role in zip(exchange, ("user", "assistant"), strict=True)
    )
    ends = np.cumsum([len(part) for part in parts])[:-1] - 1
    return turns, [int(place in ends) for place in range(len(turns))]


def sessions(language: str, count: int) -> list[tuple[list[Turn], list[int]]]:
    """Chats about two to four subjects, with two exchanges or more about each."""
    draws, subjects = random.Random(7), [each for name, each in SUBJECTS.items() if name.startswith(language)]
    return [
        session(*(each[: draws.choice([2, 3, 4])] for each in draws.sample(subjects, draws.choice([2, 3, 4]))))
        for _ in range(count)
    ]


def scored(talks: list[tuple[list[Turn], list[int]]]) -> SegmentationScore:
    return evaluate(
        [ends for _, ends in talks], [boundaries_of(LexicalSegmenter().segment(turns)) for turns, _ in talks]
    )


@pytest.mark.parametrize("language", ["german", "spanish", "chinese", "japanese"])
def test_a_reply_that_is_longer_than_its_question_says_nothing_of_a_boundary(language: str) -> None:
    score = scored(sessions(language, 20))
    assert score.measures["Score"] >= 0.8
    assert score.density <= 1.5 * score.true_density


def test_lengths_of_questions_and_of_replies_are_relative_to_their_own_kind() -> None:
    texts = ["Why?", "Because it is so, and has been for years.", "How?", "By hand, as all else that we do in here."]
    lengths = [place for place, name in enumerate(FORM) if name.endswith("length")]
    assert np.abs(form(texts)[:, lengths]).max() > 1
    assert np.abs(form(texts, np.array([0, 2]))[:, lengths]).max() < 0.1


def returning(language: str, count: int) -> list[tuple[list[Turn], list[int]]]:
    """Chats in which people come back to three subjects after an exchange or two about another."""
    draws, subjects = random.Random(7), [each for name, each in SUBJECTS.items() if name.startswith(language)]
    talks = []
    for _ in range(count):
        chosen = draws.sample(subjects, 3)
        firsts = [draws.choice([1, 2]) for _ in chosen]
        begun = [each[:first] for each, first in zip(chosen, firsts, strict=True)]
        gone_on = [each[first : first + 2] for each, first in zip(chosen, firsts, strict=True)]
        talks.append(session(*begun, *gone_on))
    return talks


def test_words_somewhere_in_long_replies_do_not_hide_where_the_subject_changes() -> None:
    assert scored(returning("english", 20)).measures["Score"] >= 0.75


def test_words_of_long_messages_are_read_where_they_open_and_end() -> None:
    reply = f"Thanks, I need that. {'Sand and gravel lie on rock. ' * 40}Would you like another?"
    halves = reply[:600], reply[600:]
    other = "Perhaps no one hates their own interesting 7 today. ".join(halves)
    plain, worded = (word_kinds(["How deep?", text, "Why?"]) for text in (reply, other))
    assert (plain == worded).all()
    assert share_read(["How deep?", "Why?"]) == 1.0
    assert share_read([reply]) < 0.15
