"""Sentences that tell what is to come: "On Tuesday I meet Ana", but not "On Tuesday I met Ana".

In English. A sentence that may tell either is none.
"""

from __future__ import annotations

import re
from typing import Final

from .patterns import regex
from .wording import wording

_BREAKS: Final = regex(r"[.!?;\n](?=\s|\Z)")
_SUBJECT: Final = r"(?:I|we|you|he|she|they|it|there|(?:my|our|your|his|her|their|the) (?:\w+ )?\w+|(?-i:[A-Z])\w+)"
_DO: Final = (
    "meet|see|fly|go|leave|travel|drive|arrive|return|start|begin|move|visit|have|get|pick|take|play|come|give|host"
    "|present|finish|end|open|close"
)
_DOES: Final = (
    "meets|sees|flies|goes|leaves|travels|drives|arrives|returns|starts|begins|moves|visits|has|gets|picks|takes|plays"
    "|comes|gives|hosts|presents|finishes|ends|opens|closes"
)
_PLANNED: Final = wording(
    rf"""
    will|won't|shall|gonna|going to|let's|(?:I|we|you|he|she|it|they)'ll
    (?:plan(?:ning)?|hop(?:e|ing)|have|has|needs?|supposed|scheduled|due) to
    (?:I|we|you|they) (?:{_DO})|{_SUBJECT} (?:{_DOES})|(?:do|does) {_SUBJECT} (?:{_DO})
    (?:I'm|(?:we|you|they)'re|(?:he|she|it)'s|I am|{_SUBJECT} (?:is|are)|(?:am|is|are) {_SUBJECT}) (?:not )?\w+ing
    (?:is|are) (?:due )?on
    """
)
_NOT_SURELY: Final = wording(
    r"""
    about|after|since|from|because|if|every|each|always|usually|normally|mostly|daily|weekly|often|sometimes|still|being
    (?:think|wonder|feel|try|read|tell|talk|look|recover|struggl|say|writ|ask|remember)ing
    (?<!\bam\s)(?<!\bare\s)(?<!\bis\s)(?<!'m\s)(?<!'re\s)(?<!\bgetting\s)(?<!\bso\s)\w\w+(?<!e)ed
    was|were|did|didn't|had|been|gone|done|said|told|went|made|got|came|left|felt|fell|found|saw|seen|met|took|gave|ate
    ran|won|lost|broke|bought|brought|wrote|sent|spent|paid|kept|heard|held|began|drove|flew|spoke|slept|thought|knew
    built|grew|drank|sang|swam|wore|taught|put|cut|hurt
    """
)
"""What tells what was, or what is so on each such day, or may: "I'm still sore", "I'll tell you about Tuesday"."""


def is_planned(match: re.Match[str]) -> bool:
    """Whether the sentence of a text in which a time was found tells what is to come."""
    text = match.string
    begin = max((each.end() for each in _BREAKS.finditer(text, 0, match.start())), default=0)
    end = _BREAKS.search(text, match.end())
    sentence = text[begin : end.start() if end else len(text)]
    return _PLANNED.search(sentence) is not None and _NOT_SURELY.search(sentence) is None
