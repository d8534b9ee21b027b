"""Captions of recordings, WebVTT and SubRip (SRT), into a session."""

from __future__ import annotations

from datetime import datetime

from ..conversation import Message, Session, group_messages
from ..errors import InvalidTranscript, shorten
from ..text.captions import Caption, captions, is_captions, unread_times


def read_captions(text: str, *, at: datetime | None = None, session: str = "1") -> Session:
    """The session of a recording, from its captions in WebVTT or SubRip (SRT).

    Each utterance is a message: cues of one speaker are put together up to a pause of two seconds. Voices
    (``<v Ann>``), and names before a colon that begin two cues or more, become speakers; where each speaker is written,
    so do names that begin one. Marks are left out, and lines that automatic captions repeat count once.

    Args:
        text: the file's text.
        at: when the recording began; without it messages have no time, only ``time`` in their metadata.
        session: the session's name.

    Raises:
        InvalidTranscript: the text is neither WebVTT nor SubRip, with its beginning; or no time can be read in a line
            that should say when a cue is shown, with the line.
    """
    if not is_captions(text):
        raise InvalidTranscript(
            f"captions begin with WEBVTT, or with a number and a line such as 00:00:01,000 --> 00:00:04,000, got "
            f"{shorten(text[:100])}"
        )
    if (unread := unread_times(text)) is not None:
        raise InvalidTranscript(f"line {unread[0]}: expected 00:00:01.000 --> 00:00:04.000, got {shorten(unread[1])}")
    return Session(session, group_messages([message_of(each, at) for each in captions(text)], session))


def message_of(caption: Caption, at: datetime | None) -> Message:
    """The message of an utterance, with its time where the recording's is known.

    Raises:
        InvalidTranscript: no such time is in the calendar.
    """
    try:
        moment = at + caption.begin if at is not None else None
    except OverflowError as error:
        raise InvalidTranscript(f"no time comes {caption.begin} after {at}") from error
    kept = {"time": str(caption.begin).partition(".")[0]}
    return Message(caption.words, role="", speaker=caption.speaker or None, at=moment, metadata=kept)
