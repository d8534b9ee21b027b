"""How people tell when they were born: "My birthday is on 3 July", "nací el 3 de abril", "我的生日是五月三号"."""

from __future__ import annotations

from typing import Final

SIGNS: Final = """born|bday|birth|geburtstag|geburtsdatum|geboren|cumple|cumplo|nací|anniv|suis né|nascita|compleanno
    |sono nat|compio|aniversário|faço anos|nasci|生日|出生|生的|誕生日|生まれ|생일|태어났"""
"""What one of them has in it, in folded case."""

TOLD: Final = r"""
    my (?:\d+\w+ |next |last )?(?:b(?:irth)?day|date of birth)|I(?:'m| am| was)? born (?:on|in)
    mein\w* (?:\d+\. )?geburts(?:tag|datum)|(?:ich habe?|habe? ich|ich hatte) (?:\S+ ){0,4}geburtstag
    (?:ich (?:bin|wurde)|bin ich|wurde ich) (?:\S+ ){0,4}geboren|geboren (?:am|im)
    mi cumple(?:años)?|(?:yo )?nací (?:el|en)|cumplo (?:\d+ )?(?:años )?(?:el|en)
    mon anniv(?:ersaire)?|(?:je )?suis née? (?:le|en)|mia data di nascita|mio compleanno|sono nat[oa] (?:il|nel|a)
    compio \S+ anni il|meu aniversário|(?:eu )?nasci (?:em|no|a)|faço anos
    """
"""Lines for `wording`."""

TOLD_ANYWHERE: Final = r"""
    [,.;(]\s?born\s(?:on|in)\b|我(?:的)?生日|我(?:是)?.{0,14}(?:出生|生的)|誕生日は|に?生まれ(?:です|ました|た)
    (?:내|제)\s생일|에\s태어났
    """
"""The same for its ``anywhere``."""
