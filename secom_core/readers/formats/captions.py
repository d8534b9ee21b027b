"""Captions of a recording, WebVTT or SubRip, as one session."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...conversation import Session
from ...text.captions import is_captions
from ..captions import read_captions
from ..files import Export, File
from ..reading import Reading, grouped


def looks_like(file: File) -> bool:
    """Text that begins with WEBVTT, or with the times of a cue."""
    return is_captions(file.start)


def read(export: Export, files: list[File], reading: Reading) -> Iterator[Session]:
    """One session, called by the file."""
    for file in files:
        session = read_captions(reading.whole(file), session=reading.session or file.stem)
        said = (replace(each, role=reading.person(each.speaker or "", "").role) for each in session.messages)
        yield grouped(session.name, said)
