"""What somebody has one of, and says in a few words: a home, a workplace, a car, a weight; in seven languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..text.han import one_way
from ..text.patterns import regex
from .states import is_elsewhere
from .values import Value

_PLACE: Final = r"([A-ZÄÖÜÁÉÍÓÚÑÀÂÇÈÊÎÔ][\w'’-]+(?: [A-ZÄÖÜ][\w'’-]+)*)"
_NO_PLACE: Final = (
    r"(?!(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August|September|October"
    r"|November|December|Chapter|Level|Page|Part|Season|Episode|Step|Unit|Lesson|Phase|Round|Stage|Section|Plan)s?\b)"
)
"""What stands where a place would, and is none: "we moved to Friday", "I moved to Chapter 3"."""
_AS: Final = r"(?: as (?:an? |the )?(?:[a-z-]+ ){0,4}[a-z-]+)?"
"""In what post."""
_BESIDE: Final = regex(
    r"\b(?:on (?:the )?(?:weekends?|(?!week)\w+days|side)|at weekends|part[- ]time|(?:am|an) Wochenenden?|nebenbei"
    r"|abends)\b",
    re.I,
)
"""Where and when somebody works besides."""
_NO_MOVE: Final = regex(
    r"\b(?:cada|todos los|weiter nach|(?:en (?:el año )?|im jahr |^)(?:19|20)\d\d|(?:mit|als|con) (?:\d{1,2}|fünf|sechs"
    r"|sieben|acht|neun|zwölf)\b(?! (?:kisten|kartons|cajas))|cuando (?:yo |él |ella )?(?:tenía|era|éramos|teníamos)"
    r"|(?:que|mes) (?:viene|próximo))\b",
    re.I,
)
"""Long ago, every year, or to come: what is told with it in German and Spanish is no move of late."""
_BY_OTHERS: Final = regex("^[^我]*[他她](?!说|告诉)[^我]*$")
_MOVED_EAST: Final = regex("搬[到去]")
_ON_SCALES: Final = (
    r"(?= ?(?:kg|[Kk]ilos?|kilograms?)\b(?:\W*$|,| (?:now|again|today|at the moment|heute|hoy)"
    r"(?! (?:on|for|in|with|per|beim?|im|auf|mit|en|con)\b)))"
)
"""Behind a weight that is told of nothing else, such as what is lifted on a bench."""
_HAN, _KATAKANA, _HANGUL = "[\u4e00-\u9fff]", "[\u30a1-\u30fa\u30fc]", "[\uac00-\ud7a3]"
_DONE = "(?:まし)?(?:た(?![いらり])|て(?:い|る|き))"
SLOT: Final = "slot:"
"""How the sorts of their values begin."""

_SLOTS: Final = tuple(
    (SLOT + slot, regex("|".join(patterns)))
    for slot, patterns in (
        (
            "home",
            (
                rf"\b(?:I|[Ww]e)(?:'m| am|'re| are)?(?: now)? liv(?:e|ing)(?: now)? (?:in|near) {_PLACE}",
                rf"\b(?:I|[Ww]e)(?:'ve| have)?(?: just)? moved to {_NO_PLACE}{_PLACE}",
                rf"\b(?:[Ii]ch wohne|[Ww]ohne ich|wir wohnen|und wohnen?)(?: jetzt| nun)? in {_PLACE}",
                rf"\b(?:[Ii]ch bin|[Bb]in ich|[Ww]ir sind|sind wir)(?: \w+){{0,4}} nach {_PLACE} (?:um)?gezogen",
                rf"\b(?:ich|wir)(?: \w+){{0,4}} nach {_PLACE} (?:um)?gezogen (?:bin|sind)\b",
                rf"\b(?:me he|nos hemos|[Mm]e acabo de|[Nn]os acabamos de) mudad?[or]s? (?:ahora )?a {_PLACE}",
                rf"\b(?:[Mm]e mudé|[Nn]os mudamos) (?:\w+ )?a {_PLACE}(?! (?:en|para|por)\b)",
                rf"\b(?:[Vv]ivo|[Vv]ivimos) (?:ahora )?en {_PLACE}",
                rf"\b(?:[Jj]['’]habite|[Nn]ous habitons|[Oo]n habite)(?: [\w'’-]+){{0,4}}? (?:à|en) {_PLACE}",
                rf"\b(?:[Jj]e vis|[Nn]ous vivons|[Oo]n vit)(?: \w+)? (?:à|en) {_PLACE}",
                rf"\b(?:[Jj]['’]ai|[Nn]ous avons|[Oo]n a)(?: \w+)? (?:dé|em)ménagé à {_PLACE}",
                rf"\b(?:[Jj]e me suis|[Nn]ous nous sommes|[Oo]n s['’]est)(?: \w+)? installée?s? à {_PLACE}",
                rf"(?:住在|搬到|搬去)(?:了)?({_HAN}{{2,4}}?)(?=区|了|[。，,]|跟|和|以后|之后|$)",
                rf"((?:{_HAN}|{_KATAKANA}){{2,6}})(?:に住んで|[にへ](?:引っ?越し|転居し){_DONE})",
                rf"({_HANGUL}{{2,4}})에 (?:살|사세)",
            ),
        ),
        (
            "work",
            (
                rf"\b(?:I|[Ww]e)(?:'m| am|'ve been)?(?: now)? work(?:ing)?(?: now)?{_AS} (?:at|for) {_PLACE}",
                rf"\b(?:I|[Ww]e) now work{_AS} (?:at|for) {_PLACE}",
                rf"\b(?:[Ii]ch arbeite|[Aa]rbeite ich)(?: \w+)? (?:bei der|bei dem|beim|bei|für) {_PLACE}",
                rf"\b[Tt]rabajo en (?:la |el )?(?:sede de )?{_PLACE}",
                rf"\b[Jj]e (?:travaille|bosse)(?: \w+)? (?:chez|pour) {_PLACE}",
                rf"我?(?:现在)?(?:在|换到|跳槽到|调到)({_HAN}{{2,6}}?)(?:上班|工作)",
                rf"((?:{_HAN}|{_KATAKANA}|の){{2,8}})(?:で働いて|に(?:(?:転職し|就職し|入社し){_DONE}|勤めて))",
                rf"({_HANGUL}{{2,4}}(?: 회사)?)에서 일",
            ),
        ),
        (
            "car",
            (
                rf"\b(?:I|[Ww]e)(?:'m)?(?: now)? driv(?:e|ing) an? (?:\w+ )?{_PLACE}",
                rf"\b[Ff]ahre(?: ich)?(?: jetzt| nun)? einen (?:\w+ )?{_PLACE}",
                rf"\b[Cc]onduzco un (?:\w+ )?{_PLACE}",
                rf"\b[Jj]e (?:conduis|roule)(?: \w+)? (?:une?|en) (?:\w+ )?{_PLACE}",
                rf"({_KATAKANA}{{2,}})に乗って",
                rf"({_HANGUL}{{2,4}})를 타",
            ),
        ),
        (
            "weight",
            (
                r"\bI weigh (?:now )?(\d+)(?= ?k)",
                r"\b(?:wiege ich|ich wiege)(?: jetzt| nun)? (\d+)(?= [Kk])",
                r"\b[Pp]eso(?: ahora)? (\d+)(?= k)",
                r"\b[Jj]e pèse(?: \w+)? (\d+)(?= ?k)",
                rf"^\W*(?:(?:and|so|yay|now) )?I'?m (?:now )?(?:at |down to |up to |back to )?(\d+){_ON_SCALES}",
                rf"^\W*(?:[Ii]ch )?[Bb]in(?: ich)?(?: jetzt| nun| gerade)? (?:bei|auf) (\d+){_ON_SCALES}",
                rf"^\W*[Jj]e suis(?: \w+)? à (\d+){_ON_SCALES}",
                rf"^\W*(?:[Aa]hora )?estoy(?: ahora)? en (\d+){_ON_SCALES}",
                r"^我(?:现在|已经|今天|目前)*(?:是|有)?(\d+)(?=公斤)",
                r"体重(?:は|が|是|有|现在)?(\d+)(?=公斤|キロ)",
                r"몸무게(?:는|가) ?(\d+)(?=킬로)",
            ),
        ),
    )
)


def slot_values(clause: str, sentence: str = "") -> Iterator[Value]:
    """What a clause says of what somebody has one of.

    Args:
        clause: its words.
        sentence: the sentence that it stands in, which may say that all of it is made up, or is told of others.
    """
    for slot, pattern in _SLOTS:
        found = pattern.search(clause)
        if found is None or found.lastindex is None or (slot == SLOT + "work" and _BESIDE.search(clause)):
            continue
        if slot == SLOT + "home" and not _has_moved(clause, sentence, found[0]):
            continue
        yield Value(slot, one_way(found[found.lastindex].casefold()), *found.span(found.lastindex))


def _has_moved(clause: str, sentence: str, told: str) -> bool:
    """Whether where somebody lives is told of the speaker, of now, and not of a game."""
    if _MOVED_EAST.search(told) and _BY_OTHERS.match(sentence):
        return False
    is_late = not ("gezogen" in told or "mud" in told.casefold()) or not _NO_MOVE.search(clause)
    return is_late and not is_elsewhere(sentence)
