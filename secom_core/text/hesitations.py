"""Sounds by which speakers gain time, as speech recognition writes them: "um", "uh", "äh", "euh", "嗯", "えーと".

They say nothing, stand anywhere, and would keep the words around them from being recognised: "um what is my name".
"""

from __future__ import annotations

import re
from typing import Final

from .patterns import regex
from .terms import latin_language_of
from .wording import folded_case, is_signed, signs

_SIGNS: Final = signs(
    "uh|um|erm|hm|eh|äh|öh|eu|you know|嗯|呃|那个|那個|えっと|えーと|ええと|えーっと|うーん|あのー|음|어"
)
_AFTER: Final = r"(?:\s*(?:[,.]+|…)(?=\s|$))*"
_NOT_IN_WORD: Final = r"(?<![\w'’-])"
_ENDS: Final = r"(?![\w'’(=\[]|-\w)"
_SOUND: Final = r"(?:[Uu]h+m*|[Ee]rm+|[Hh]m+|[Ee]h+m*|[Ää]h+m*|[Öö]h+m*|[Ee]uh+|[Hh]eu)"
_ENGLISH_UM: Final = regex(rf"(?:,\s*)?{_NOT_IN_WORD}[Uu]m+{_ENDS}{_AFTER}")
"""In German and Portuguese it is a word."""
_ANY: Final = regex(
    rf"(?=[,UuEeHhÄäÖöy嗯呃えう那あ음어])(?:(?:,\s*)?{_NOT_IN_WORD}{_SOUND}{_ENDS}{_AFTER}"
    # "Do you know my name" asks something.
    rf"|(?:^|(?<=\b(?:we|is|my|so|an|of|to) )|(?<=\b(?:the|but|are|was) )|(?<=\b(?:like|well|were|with) )|(?<=\b[ia] ))"
    r"you know,?\s+(?=\w)(?!wh|how|if|my|that|the|about)"
    r"|嗯+[，,、…\s]*|呃+(?!逆)[，,、…\s]*|えーっと、?|え[えー]と、?|えっと、?|うーん、?|あのー、?"
    r"|(?:^|(?<=[嗯呃我们你叫次在说，]))那[个個][，,、…\s]*(?=[我你咱聊说讲什怎哪谁])"
    r"|^(?:음+|어+)[\s,.…~]+)"
)
_LONG: Final = 600
_SPACES: Final = regex(r"[ \t]{2,}")


def without_hesitations(text: str) -> str:
    """A text without such sounds, and without "you know" where it stands for one.

    A text of nothing else, or one that is longer than a passage, stays as it is.
    """
    if len(text) > _LONG or not is_signed(folded_case(text), _SIGNS):
        return text
    spoken = _ANY.sub(_between, text)
    # The language is told by the other words.
    if _ENGLISH_UM.search(spoken) and latin_language_of(spoken) == "english":
        spoken = _ENGLISH_UM.sub(" ", spoken)
    if spoken == text:
        return text
    return _SPACES.sub(" ", spoken).strip() or text


def _between(sound: re.Match[str]) -> str:
    """What stands in place of a sound: a space, but where words have none between them."""
    return "" if sound[0].strip()[-1:] > "\u2e80" else " "
