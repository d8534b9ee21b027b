"""What people say without saying anything, and the small words that turn a meaning round, in many languages."""

from __future__ import annotations

import re
from typing import Final

from ..text.word_lists import word_lists

_LISTS: Final = word_lists(__package__, "phrases.txt")

FILLERS: Final = frozenset(
    tuple(phrase.split())
    for phrase in (*_LISTS["fillers"].split(), *re.split(r"[;\n]\s*", _LISTS["filler phrases"].strip()))
)
"""Greetings, thanks and sounds, lower-cased, each as the tuple of its words."""

FILLER_RUN: Final = re.compile(f"(?:{'|'.join(_LISTS['filler runs'].splitlines())})+")
"""A run of Chinese or Japanese that is a greeting or a sound as a whole."""

NEGATIONS: Final = frozenset(_LISTS["negations"].split())
"""Words that turn a meaning round, lower-cased."""

NEGATION_CHARACTERS: Final = re.compile("[不没沒無无未非别莫勿]|ない|なかっ|ません|[ずぬ]$|^안$|^못|않|없|아니|ไม่")
"""The same inside a run of Chinese, Japanese, Korean or Thai."""

TIMES: Final = frozenset(_LISTS["times"].split())
"""Days, months, small numbers and the words that place an event in time, lower-cased."""
