"""German verbs in forms that the stemmer leaves apart: "wohne", "wohnt" and "gewohnt".

A question asks in another tense than the answer was told in: "Wo habe ich früher gewohnt?", "Ich wohne in Bremen."
"""

from __future__ import annotations

from typing import Final

from .patterns import regex

_PARTICIPLE: Final = regex(
    "(?:ab|an|auf|aus|bei|ein|fest|her|hin|los|mit|nach|um|vor|weg|weiter|zu|zurück|zurueck|zuruck)?ge(?P<verb>.{3,})"
)
_LEAST: Final = 4
"""Letters; of shorter words with and without a "t" at the end most are different ones: "Gas" and "Gast"."""


def verb_forms(stem: str) -> tuple[str, ...]:
    """The stem of a German word, and those that it has in other forms if it is a weak verb, or one like "lesen"."""
    participle = _PARTICIPLE.fullmatch(stem)
    verb = participle["verb"] if participle else stem
    if verb.endswith("t") and len(verb) > (3 if participle else _LEAST):
        verb = verb[:-1]
    present = (verb, f"{verb}t") if len(verb) >= _LEAST else (verb,)
    return tuple(dict.fromkeys((stem, *present, f"ge{verb}", f"ge{verb}t")))
