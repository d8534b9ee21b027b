"""Conversations of several data sets in one form, with the questions that have evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from benchmarks.chats import Chat, chat_files
from benchmarks.datasets.registry import read


def read_all(data: Sequence[Path], most: int | None = None) -> dict[str, list[Chat]]:
    """The conversations of each folder or file, by its name; of each, at most so many.

    Raises:
        InvalidTranscript: for a file that is of no data set that is read.
    """
    return {path.stem: list(islice(_with_evidence(path), most)) for path in data}


def _with_evidence(path: Path) -> Iterator[Chat]:
    for file in chat_files([path]):
        for chat in read(file):
            asked = tuple(each for each in chat.questions if each.evidence)
            if asked:
                yield replace(chat, questions=asked)
