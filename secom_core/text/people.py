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
_WOMEN: Final = r"""
    hermanas?|madre|mamá|hijas?|esposa|mujer|novia|primas?|tía|abuela|sobrina|amiga|jefa|vecina|suegra|cuñada
    sœurs?|soeurs?|mère|maman|filles?|femme|copine|cousine|tante|grand-mère|nièce|amie|patronne|voisine|belle-\w+
    sorell[ae]|mamma|figli[ae]|moglie|fidanzata|cugina|zia|nonna|amica|vicina|irmãs?|mãe|filhas?|namorada|tia|avó
    sobrinha|vizinha
    """
_WOMEN_IN_SIGNS: Final = (
    "姉|妹|母(?!語|语)|(?<!姑)娘|妻|언니|누나|여동생|엄마|어머니|딸(?![기깍])|아내|이모(?!티)|고모|할머니"
)
_MEN: Final = r"""
    hermanos?|padre|papá|hijos?|marido|esposo|novio|primos?|tío|abuelo|sobrino|amigo|jefe|vecino|suegro|cuñado
    frères?|père|fils|mari|copain|oncle|grand-père|neveu|ami|patron|voisin|beau-\w+
    fratell[oi]|papà|figlio|marito|fidanzato|cugino|zio|nonno|amico|vicino|irmãos?|pai|filhos?|namorado|tio|avô
    sobrinho|vizinho
    """
_MEN_IN_SIGNS: Final = (
    "(?<![丈工])夫(?!人)|兄|(?<!徒)弟(?!子)|父|息子|彼氏"
    "|오빠|남동생|아빠|아버지|아들|남편|삼촌|할아버지|(?<![가-힣])형(?![가-힣]{2})"
)
_KIN: Final = wording(
    rf"""
    {_WOMEN}
    {_MEN}
    padres|amig[oa]s|vecin[oa]s|compañer[oa]s?|amie?s|collègues?|voisine?s|genitori|amic[hi]e?|collegh[ei]|colegas?
    sisters?|brothers?|mother|father|mum|mom|dad|parents|sons?|daughters?|wife|husband|partner|friends?|boss|manager
    neighbou?rs?|colleagues?|cousins?|aunt|uncle|grandma|grandpa|grandmother|grandfather|boyfriend|girlfriend|fianc\w+
    niece|nephew|room ?mates?|flat ?mates?|landlord|landlady|mentor|supervisor|kids|children
    schwestern?|brüder|bruder|mutter|vater|mama|papa|eltern|söhne|sohn|töchter|tochter|ehefrau|ehemann|freund\w*
    chefin|chef|nachbar\w*|kolleg\w+|cousine?|tante|onkel|oma|opa|nichte|neffe|mitbewohner\w*|vermieter\w*|kinder
    """,
    anywhere=rf"""
    妈妈|爸爸|母亲|父亲|父母|姐姐|妹妹|哥哥|弟弟|女儿|儿子|老公|老婆|(?<!大)丈夫|妻子|同事|室友|朋友|邻居|老板|房东
    {_WOMEN_IN_SIGNS}|{_MEN_IN_SIGNS}|両親|友達|友だち|友人|上司|同僚|いとこ|동생|부모|친구|상사|동료|이웃|사촌|조카|집주인
    """,
)
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
    rf"""
    {_WOMEN}
    ella|elle|lei|ela
    she|her|hers|herself|sisters?|mother|mum|mom|wife|daughters?|girlfriend|aunt|grandma|grandmother|niece|landlady
    schwestern?|mutter|mama|ehefrau|töchter|tochter|freundin|chefin|nachbarin|kollegin|oma|tante|nichte
    """,
    anywhere=f"她|妈妈|母亲|姐姐|妹妹|女儿|老婆|妻子|彼女|그녀|{_WOMEN_IN_SIGNS}",
)
_HE: Final = wording(
    rf"""
    {_MEN}
    él|lui|ele
    he|him|his|himself|brothers?|father|dad|husband|sons?|boyfriend|uncle|grandpa|grandfather|nephew|landlord
    bruder|vater|papa|ehemann|sohn|opa|onkel|neffe
    """,
    anywhere=f"(?<!其)他(?!们|的确)|爸爸|父亲|哥哥|弟弟|儿子|老公|丈夫|{_MEN_IN_SIGNS}",
)
_HER = wording("she|her|hers|ella|elle|lei|ela", anywhere="她(?!们)|彼女|그녀")
_HIM = wording(f"he|him|his|él|{FRENCH_HE}|lui|ele", anywhere="(?<!其)他(?!们)|彼(?![女岸方氏])")


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
