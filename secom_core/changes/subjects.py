"""Of whom or of what a clause speaks: somebody of the family, a pet, a room, or what it begins with."""

from __future__ import annotations

import re
from typing import Final

from ..text.han import one_way
from ..text.patterns import regex
from ..text.wording import wording
from .cues import ACTS, KIN

_AND_I: Final = regex(r" (?:and I|und ich|y yo|et moi)\b", re.I)
_CALLED: Final = regex(
    r"\W*(?:(?:hi|hello|hey|dear|hallo|liebe[rs]?|hola|querid[oa]|salut|bonjour|ch[eè]re?|亲爱的) ?)?", re.I
)
"""What stands before somebody who is spoken to."""
_ASIDE: Final = regex(r"[,，] (?:who|whose|with|das?|der|die \d|dessen|deren|qui|dont|que|quien|cuy[oa])\b", re.I)
"""What stands behind somebody of whom more is said."""
_ONE: Final = {
    word: words[0]
    for words in (
        "mother mum mom mama mutter mutti mamá madre maman mère 妈妈 我妈".split(),
        "father dad papa vater papá padre père 爸爸 我爸".split(),
        "grandmother grandma granny oma omas großmutter abuela mamie grand-mère".split(),
        "grandfather grandpa opa opas großvater abuelo papi grand-père".split(),
    )
    for word in words
}
"""One word for each of those who are called by several."""
_KINDS: Final = wording(
    """
    dog|cat|hamster|rabbit|hund|katze|kater|kaninchen|perr[oa]|gat[oa]|chienn?e?|chatte|(?:le|mon|notre|du) chat
    kitchen|bathroom|bedroom|living room|dining room|hallway|attic|basement|balcony
    küche|badezimmer|(?:das|im|ins|fürs) bad|schlafzimmer|wohnzimmer|esszimmer|kinderzimmer|flur|keller|balkon
    cocina|baño|dormitorio|salón|pasillo|sótano|balcón
    cuisine|salle de bains?|chambre|salon|couloir|grenier|cave|balcon
    """,
    anywhere="""
    [狗猫兔]|犬|仓鼠|浴室|厨房|卧室|客厅|书房|阳台|卫生间|餐厅
    台所|キッチン|風呂|寝室|居間|リビング|トイレ|개[가는]|고양이|강아지|부엌|주방|욕실|침실|거실
    """,
)
"""Pets and rooms: of two that are of one home each has amounts of its own."""
_TOPIC: Final = regex(
    r"\W*(?:(?:and|but|und|aber|y|pero|et|mais) )?(?:(?:the|der|die|das|el|la|los|las|les?) |l['’])", re.I
)
_ACTS: Final = wording(
    rf"""
    {ACTS}
    (?: hat| haben) (?:die|den|das|mein\w*|unser\w*)
    (?: nos| me)?(?: ha| han)? \w+(?:ó|ado|ido|aron|ieron) (?:el|la|los|las|mi|nuestr[oa])
    (?: a| ont| nous a| m'a) \w+é (?:le|la|les|mon|ma|notre)
    """
)
_WORD: Final = regex(r"[^\W\d_]{3,}")


def somebody(text: str, start: int, first: int, last: int) -> re.Match[str] | None:
    """Who else a clause speaks of: not who does it with the speaker, nor who is spoken to.

    Args:
        text: the message.
        start: where the clause's sentence begins.
        first: where the clause begins.
        last: where it ends.
    """
    found = KIN.search(text[first:last])
    if found is None or _AND_I.match(text, first + found.end(), last):
        return None
    return None if _is_called(text, start, first, last, found) else found


def _is_called(text: str, start: int, first: int, last: int, found: re.Match[str]) -> bool:
    """Whether a sentence begins with somebody who is spoken to: "Oma, die Miete beträgt …"."""
    lead = _CALLED.match(text, start, last)
    begins = first == start and lead is not None and lead.end() == first + found.start()
    is_alone = " " not in found[0] and first + found.end() == last
    return begins and is_alone and text[last : last + 1] in (",", "，") and not _ASIDE.match(text, last)


def owner(found: str) -> str:
    """The same word for somebody, however they are called.

    Args:
        found: the words that name them.
    """
    name = found.casefold().split()[-1] if found.isascii() or " " in found else one_way(found)
    return _ONE.get(name, name)


def kinds_in(clause: str) -> frozenset[str]:
    """The pets and rooms that a clause names, which are not those that another one names."""
    return frozenset(one_way(each[0].casefold().split()[-1]) for each in _KINDS.finditer(clause))


def topic_of(clause: str) -> str:
    """The word that a clause begins with behind an article, such as "dog" of "the dog gets food"; empty if none.

    Nor is there one where it begins with who acts: "the landlord raised the rent" speaks of the rent.
    """
    article = _TOPIC.match(clause)
    word = _WORD.match(clause, article.end()) if article else None
    return word[0] if word and not _ACTS.match(clause, word.end()) else ""
