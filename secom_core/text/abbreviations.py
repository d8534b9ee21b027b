"""Full stops that end no sentence: "Mrs. Falk", "z. B.", "т. е.", "on 2. May"."""

from __future__ import annotations

import re
from typing import Final

from .patterns import regex

_ABBREVIATED: Final = regex(
    r"(?:^|[\s(\"'„])(?:[A-HJ-Z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Mt|vs|ca|approx|e\.g|i\.e|z\.B|d\.h|u\.a"
    r"|Hr|bzw|vgl|Vgl|ggf|evtl|inkl|Sra|Dra|[А-ЮІЄ]|т\.\s?[екчн]|[Нн]апр|ул|им|np|tzn|tj|ul|dr|prof|św|[Nn]apř|tzv"
    r"|bijv|t\.ex|bl\.a|p\.\sej|ad\ses|et\sal)\.$"
)
_ONE_LETTER: Final = regex(r"(?:^|[\s(\"'„«])([a-zäöü]\.\s?)?[a-zäöüčа-яіє]\.$")
_AT_THE_END: Final = (
    *(".m.", ".M.", " etc.", " usw.", " itd.", " itp.", " atd.", " apod.", " osv.", " enz.", " ecc.", " тыс.", " тис."),
    *(" млн.", " руб.", " грн.", " коп.", " т.д.", " т.п.", " т. д.", " т. п.", " др.", " пр."),
)
"""What may end a sentence, which a small letter behind it shows that it does not."""
_NUMBERED: Final = (" No.", " Nr.", "(No.", "(Nr.", " Abs.", " Art.", " Abb.", " Kap.", " Fig.", " Tab.", " pp.")
"""What a number stands behind."""
_GERMAN_MONTH: Final = regex(
    r"(?:Jan(?:uar)?|Jänner|Feb(?:ruar)?|März|Apr(?:il)?|Mai|Juni?|Juli?|Aug(?:ust)?|Sept?(?:ember)?|Okt(?:ober)?"
    r"|Nov(?:ember)?|Dez(?:ember)?)\b"
)
"""What stands behind the full stop of a day: "am 2. Mai"."""
_ORDINAL: Final = regex(r"\b(?:am|de[mnr]|vom|zum|bis|ab|im) \d\d?\.$")
"""A day of which a sentence goes on with a small letter: "auf den 2. verschoben"."""


def is_abbreviated(text: str, end: re.Match[str]) -> bool:
    """Whether the full stop of what looks like the end of a sentence is that of an abbreviation.

    Args:
        text: the text.
        end: what was found in it, with the white space behind.
    """
    before = text[max(0, end.start() - 8) : end.end()].rstrip()
    after = text[end.end() : end.end() + 1]
    if before.endswith(_NUMBERED):
        return after.isdigit()
    if before.endswith(_AT_THE_END):
        return after.islower()
    if before[-2:-1].isdigit() and (
        _GERMAN_MONTH.match(text, end.end()) or (after.islower() and _ORDINAL.search(before))
    ):
        return True
    if (letters := _ONE_LETTER.search(before)) is not None:
        # "z. B. Fett", "d. h. Fett", "p. 12", but "plan b. Then".
        return letters[1] is not None or not after.isupper() or text[end.end() + 1 : end.end() + 2] == "."
    return _ABBREVIATED.search(before) is not None
