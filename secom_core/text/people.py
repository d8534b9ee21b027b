"""People by name, or by what they are to the speaker; in English, German and Chinese, elsewhere by name alone."""

from __future__ import annotations

import re
from typing import Final

from .patterns import regex
from .wording import wording

_KIN: Final = wording(
    r"""
    sisters?|brothers?|mother|father|mum|mom|dad|parents|sons?|daughters?|wife|husband|partner|friends?|boss|manager
    neighbou?rs?|colleagues?|cousins?|aunt|uncle|grandma|grandpa|grandmother|grandfather|boyfriend|girlfriend|fianc\w+
    niece|nephew|room ?mates?|flat ?mates?|landlord|landlady|mentor|supervisor|kids|children
    schwestern?|brüder|bruder|mutter|vater|mama|papa|eltern|söhne|sohn|töchter|tochter|ehefrau|ehemann|freund\w*
    chefin|chef|nachbar\w*|kolleg\w+|cousine?|tante|onkel|oma|opa|nichte|neffe|mitbewohner\w*|vermieter\w*|kinder
    """,
    anywhere="妈妈|爸爸|母亲|父亲|父母|姐姐|妹妹|哥哥|弟弟|女儿|儿子|老公|老婆|丈夫|妻子|同事|室友|朋友|邻居|老板|房东",
)
_NAME: Final = regex(
    r"(?<![^\W\d_])(?P<before>[^\W\d_]+),? "
    r"(?P<name>[A-ZÄÖÜÁÉÍÓÚ][a-zäöüßáéíóúñ]+(?: [A-ZÄÖÜÁÉÍÓÚ][a-zäöüßáéíóúñ]+)?)\b"
)
_NO_NAME_AFTER: Final = wording(
    r"""
    the|an?|my|your|our|his|her|their|this|that|in|on|at|to|from|of|for|with|by|near|last|next|every|each
    der|die|das|den|dem|des|eine?[nmrs]?|mein\w*|dein\w*|unser\w*|sein\w*|ihre?[nmrs]?|im|am|zum|zur|vom|beim|ins
    nach|aus|von|mit|für|bei|auf|über|unter|vor|seit|bis|kein\w*|diese\w*|jede\w*|(?!does\b|goes\b)\w{3,}(?:en|es|em)
    el|la|los|las|un|una|mi|tu|su|en|de|con|por|para
    """
)
"""What stands before places, days and German nouns, and hardly before somebody's name."""


_SHE: Final = wording(
    r"""
    she|her|hers|herself|sisters?|mother|mum|mom|wife|daughters?|girlfriend|aunt|grandma|grandmother|niece|landlady
    schwestern?|mutter|mama|ehefrau|töchter|tochter|freundin|chefin|nachbarin|kollegin|oma|tante|nichte
    """,
    anywhere="她|妈妈|母亲|姐姐|妹妹|女儿|老婆|妻子",
)
_HE: Final = wording(
    r"""
    he|him|his|himself|brothers?|father|dad|husband|sons?|boyfriend|uncle|grandpa|grandfather|nephew|landlord
    bruder|vater|papa|ehemann|sohn|opa|onkel|neffe
    """,
    anywhere="(?<!其)他(?!们|的确)|爸爸|父亲|哥哥|弟弟|儿子|老公|丈夫",
)
_HER, _HIM = (wording("she|her|hers", anywhere="她(?!们)"), wording("he|him|his", anywhere="(?<!其)他(?!们)"))


def is_of_another(query: str, text: str) -> bool:
    """Whether a question asks of a woman, by a pronoun, and a text speaks of men alone; or the other way round."""
    her, him = _HER.search(query) is not None, _HIM.search(query) is not None
    if her == him:
        return False
    meant, others = (_SHE, _HE) if her else (_HE, _SHE)
    return others.search(text) is not None and meant.search(text) is None


def names_people(text: str) -> bool:
    """Whether a text names somebody, or says who somebody is to the speaker."""
    return _KIN.search(text) is not None or any(map(_is_name, _NAME.finditer(text)))


def without_people(text: str) -> str:
    """The text without those whom it names."""
    bare = _NAME.sub(lambda found: found["before"] + " " if _is_name(found) else found[0], text)
    return _KIN.sub(" ", bare)


def _is_name(found: re.Match[str]) -> bool:
    return _NO_NAME_AFTER.fullmatch(found["before"]) is None
