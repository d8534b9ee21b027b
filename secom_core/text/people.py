"""People by name, or by what they are to the speaker.

In English, German, Chinese, Spanish, French, Italian, Portuguese, Japanese and Korean, elsewhere by name alone.
"""

from __future__ import annotations

import re
from typing import Final

from .patterns import regex
from .wording import wording

FRENCH_HE: Final = (
    r"(?:(?<=t-)ils?|ils?(?= (?:[nsl]'|a|ont|vit|vivent|va|vont|habit\w+|travaill\w+|aim\w+|était|avait|veut|peut)))"
)
"""He and they in French, where the word is neither Italian nor without meaning."""
_WOMEN: Final = frozenset(
    """
    hermana hermanas madre mamá hija hijas esposa mujer novia prima primas tía abuela sobrina amiga jefa vecina suegra
    cuñada sœur sœurs soeur soeurs mère maman fille filles femme copine cousine tante nièce amie patronne voisine
    sorella sorelle mamma figlia figlie moglie fidanzata cugina zia nonna amica vicina irmã irmãs mãe filha filhas
    namorada tia avó sobrinha vizinha
    """.split()
)
_WOMEN_IN_SIGNS: Final = (
    "姉|妹|母(?!語|语)|(?<!姑)娘|妻|언니|누나|여동생|엄마|어머니|딸(?![기깍])|아내|이모(?!티)|고모|할머니"
)
_MEN: Final = frozenset(
    """
    hermano hermanos padre papá hijo hijos marido esposo novio primo primos tío abuelo sobrino amigo jefe vecino suegro
    cuñado frère frères père fils mari copain oncle neveu ami patron voisin fratello fratelli papà figlio marito
    fidanzato cugino zio nonno amico vicino irmão irmãos pai filho filhos namorado tio avô sobrinho vizinho
    """.split()
)
_MEN_IN_SIGNS: Final = (
    "(?<![丈工])夫(?!人)|兄|(?<!徒)弟(?!子)|父|息子|彼氏"
    "|오빠|남동생|아빠|아버지|아들|남편|삼촌|할아버지|(?<![가-힣])형(?![가-힣]{2})"
)
_WORD: Final = regex(r"[^\W\d_]+")
_IN_SIGNS: Final = regex("[\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
_KIN: Final = wording(
    r"""
    sisters?|brothers?|mother|father|mum|mom|dad|parents|sons?|daughters?|wife|husband|partner|friends?|boss|manager
    neighbou?rs?|colleagues?|cousins?|aunt|uncle|grandma|grandpa|grandmother|grandfather|boyfriend|girlfriend|fianc\w+
    niece|nephew|room ?mates?|flat ?mates?|landlord|landlady|mentor|supervisor|kids|children
    schwestern?|brüder|bruder|mutter|vater|mama|papa|eltern|söhne|sohn|töchter|tochter|ehefrau|ehemann|freund\w*
    chefin|chef|nachbar\w*|kolleg\w+|cousine?|tante|onkel|oma|opa|nichte|neffe|mitbewohner\w*|vermieter\w*|kinder
    """,
    anywhere="妈妈|爸爸|母亲|父亲|父母|姐姐|妹妹|哥哥|弟弟|女儿|儿子|老公|老婆|(?<!大)丈夫|妻子|同事|室友|朋友|邻居|老板|房东",
)
_KIN_ELSEWHERE: Final = (
    _WOMEN
    | _MEN
    | frozenset(
        """
        padres amigos amigas vecinos vecinas compañero compañera compañeros compañeras amis amies collègue collègues
        voisins voisines genitori amici amiche colleghi colleghe colega colegas
        """.split()
    ),
    regex(
        rf"{_WOMEN_IN_SIGNS}|{_MEN_IN_SIGNS}|両親|友達|友だち|友人|上司|同僚|いとこ|동생|부모|친구|상사|동료|이웃|사촌|조카|집주인"
    ),
)
"""Of languages other than English and German, by words and in signs."""
_NAME: Final = regex(
    r"(?<![^\W\d_])(?P<before>[^\W\d_]+),? "
    r"(?P<name>[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]+(?: [A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]+)?)\b"
)
_NO_NAME_AFTER: Final = wording(
    r"""
    the|an?|my|your|our|his|her|their|this|that|in|on|at|to|from|of|for|with|by|near|last|next|every|each
    der|die|das|den|dem|des|eine?[nmrs]?|mein\w*|dein\w*|unser\w*|sein\w*|ihre?[nmrs]?|im|am|zum|zur|vom|beim|ins
    nach|aus|von|mit|für|bei|auf|über|unter|vor|seit|bis|kein\w*|diese\w*|jede\w*|(?!does\b|goes\b)\w{3,}(?:en|es|em)
    el|la|los|las|un|una|mi|tu|su|en|de|con|por|para|le|les|une|mon|ma|mes|à|au|aux|dans|du|des|chez|sur
    il|lo|gli|di|dal|nel|nella|alla|em|na|nas|ao
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
_SHE_ELSEWHERE: Final = _WOMEN | {"ella", "elle", "lei", "ela"}, regex(rf"彼女|그녀|{_WOMEN_IN_SIGNS}")
_HE_ELSEWHERE: Final = _MEN | {"él", "lui", "ele"}, regex(_MEN_IN_SIGNS)
_HER, _HIM = (wording("she|her|hers", anywhere="她(?!们)"), wording("he|him|his", anywhere="(?<!其)他(?!们)"))
_HER_ELSEWHERE: Final = wording("ella|elle|lei|ela", anywhere="彼女|그녀")
_HIM_ELSEWHERE: Final = wording(f"él|{FRENCH_HE}|lui|ele", anywhere="彼(?![女岸方氏])")


def is_of_another(query: str, text: str) -> bool:
    """Whether a question asks of a woman, by a pronoun, and a text speaks of men alone; or the other way round."""
    her, him = _HER.search(query) is not None, _HIM.search(query) is not None
    if her != him:
        meant, others = (_SHE, _HE) if her else (_HE, _SHE)
        return others.search(text) is not None and meant.search(text) is None
    her, him = _HER_ELSEWHERE.search(query) is not None, _HIM_ELSEWHERE.search(query) is not None
    if her == him:
        return False
    women, men = _speaks_of(text, _SHE, *_SHE_ELSEWHERE), _speaks_of(text, _HE, *_HE_ELSEWHERE)
    return men and not women if her else women and not men


def _speaks_of(text: str, rule: re.Pattern[str], listed: frozenset[str], in_signs: re.Pattern[str]) -> bool:
    if rule.search(text) is not None or not listed.isdisjoint(map(str.casefold, _WORD.findall(text))):
        return True
    return _IN_SIGNS.search(text) is not None and in_signs.search(text) is not None


def names_people(text: str) -> bool:
    """Whether a text names somebody, or says who somebody is to the speaker."""
    return _speaks_of(text, _KIN, *_KIN_ELSEWHERE) or any(map(_is_name, _NAME.finditer(text)))


def without_people(text: str) -> str:
    """The text without those whom it names."""
    bare = _NAME.sub(lambda found: found["before"] + " " if _is_name(found) else found[0], text)
    listed, in_signs = _KIN_ELSEWHERE
    bare = _WORD.sub(lambda found: " " if found[0].casefold() in listed else found[0], _KIN.sub(" ", bare))
    return in_signs.sub(" ", bare) if _IN_SIGNS.search(bare) else bare


def _is_name(found: re.Match[str]) -> bool:
    return _NO_NAME_AFTER.fullmatch(found["before"]) is None
