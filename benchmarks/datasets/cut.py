"""Dialogues with the places where their subject changes: DialSeg711, TIAGE, SuperDialSeg.

Every form becomes rows ``{"id", "turns": [text, …], "boundaries": [0|1, …]}``, with a 1 where a segment ends after that
turn; the last is always 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from secom_core.errors import InvalidTranscript

from .files import contents, has, rows_of

Row = Mapping[str, Any]
_RULE = re.compile(r"={5,}\s*$")
_CALL = re.compile(r"call_id\S*\s*$")


def read_rows(path: Path) -> list[Row]:
    """The dialogues of a file, in whichever of the forms it is; of a folder, all of its files.

    Read are: rows as above; SuperDialSeg's ``{"dial_data": {name: [{"dial_id", "turns": [{"utterance",
    "segmentation_label"}]}]}}``, in which its authors give DialSeg711 and TIAGE too; ``{"utterances", "segments":
    [length, …]}``; TIAGE's ``{id: [[text, "1" where the subject changes], …]}``; DialSeg711's text, a dialogue a file
    with a line of ``=`` between segments; and text with ``call_id`` lines and the segment's number before each line.

    Raises:
        InvalidTranscript: if it is none of them, or a dialogue is empty or has not a label a turn.
    """
    if path.is_dir():
        return [row for file in sorted(path.iterdir()) if file.is_file() for row in read_rows(file)]
    found = contents(path)
    rows = list(_rows(found, path))
    for row in rows:
        if not row["turns"] or len(row["turns"]) != len(row["boundaries"]):
            raise InvalidTranscript(
                f"{path}: dialogue {row['id']!r} has {len(row['turns'])} turns and {len(row['boundaries'])} labels; "
                f"each turn needs one"
            )
    return rows


def _rows(found: Any, path: Path) -> Iterator[Row]:
    if isinstance(found, str):
        yield from _text_rows(found, path)
    elif has(found, "turns", "boundaries"):
        yield from rows_of(found)
    elif isinstance(found, Mapping) and isinstance(found.get("dial_data"), Mapping):
        for dialogues in found["dial_data"].values():
            for each in dialogues:
                labels = [int(turn["segmentation_label"]) for turn in each["turns"]]
                yield _row(each["dial_id"], [turn["utterance"] for turn in each["turns"]], labels)
    elif has(found, "utterances", "segments"):
        for place, each in enumerate(rows_of(found)):
            ends = set(accumulate(each["segments"]))
            said = each["utterances"]
            yield _row(each.get("dial_id", place), said, [int(turn in ends) for turn in range(1, len(said) + 1)])
    elif isinstance(found, Mapping) and found and all(map(_is_annotated, found.values())):
        for name, turns in found.items():
            starts = [int(label) == 1 for _, label in turns]
            yield _row(name, [text for text, _ in turns], [int(each) for each in [*starts[1:], False]])
    else:
        raise InvalidTranscript(
            f"{path} holds no dialogues with segments; give a file of DialSeg711, TIAGE or SuperDialSeg, or rows of "
            f"'turns' and 'boundaries'"
        )


def _is_annotated(turns: Any) -> bool:
    return isinstance(turns, list) and all(isinstance(each, list) and len(each) == 2 for each in turns)


def _text_rows(text: str, path: Path) -> Iterator[Row]:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(map(_CALL.match, lines)):
        yield from _numbered(lines)
    elif any(map(_RULE.match, lines)):
        yield _ruled(lines, path.stem)
    else:
        raise InvalidTranscript(f"{path} is text without 'call_id' lines or lines of '=', so it has no segments")


def _numbered(lines: Sequence[str]) -> Iterator[Row]:
    """``0 words``: the number of the segment before each line."""
    starts = [place for place, line in enumerate(lines) if _CALL.match(line)]
    for start, end in pairwise([*starts, len(lines)]):
        parts = [line.partition(" ") for line in lines[start + 1 : end]]
        numbers = [number for number, _, _ in parts]
        changes = [int(one != other) for one, other in pairwise(numbers)]
        yield _row(lines[start], [words for _, _, words in parts], [*changes, 0])


def _ruled(lines: Sequence[str], name: str) -> Row:
    turns: list[str] = []
    boundaries: list[int] = []
    for line in lines:
        if not _RULE.match(line):
            turns.append(line)
            boundaries.append(0)
        elif boundaries:
            boundaries[-1] = 1
    return _row(name, turns, boundaries)


def _row(name: Any, turns: Sequence[str], boundaries: Sequence[int]) -> Row:
    """A row; the end of a dialogue is no boundary."""
    return {"id": str(name), "turns": list(turns), "boundaries": [*boundaries[:-1], 0] if boundaries else []}
