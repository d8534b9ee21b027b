"""Spanish, Italian and Portuguese words of kin and friends, of which the stemmer makes one of women and men.

"¿Dónde vive mi hermana?" asks for no brother.
"""

from __future__ import annotations

from typing import Final

from .patterns import regex

_BOTH: Final = {
    "spanish": "herman|hij|tí|abuel|niet|prim|sobrin|novi|suegr|cuñad|amig|vecin",
    "italian": "zi|nonn|cugin|suocer|cognat|fidanzat|ragazz|bambin|vicin",
    "portuguese": "filh|ti|net|prim|sobrinh|namorad|sogr|cunhad|amig|vizinh",
}
_OF = {language: regex(rf"({begins})(?:(o)s?|(a)s?)") for language, begins in _BOTH.items()}
_OF["italian"] = regex(rf"({_BOTH['italian']})(?:(o|i)|(a|e))")


def of_whom(word: str, language: str) -> tuple[str, ...]:
    """The word of men, or of women, in the singular; of a plural that may mean both, both; of any other, nothing."""
    found = _OF[language].fullmatch(word) if language in _OF else None
    if found is None:
        return ()
    begin, man, _ = found.groups()
    return (f"{begin}o", f"{begin}a")[: 2 if word[-1] in "si" else 1] if man else (f"{begin}a",)
