"""Items of the lists in a text, and which item a question asks for by its place: "the third option you listed"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import pairwise
from typing import Final

from .han import HAN_NUMBER, han_number
from .patterns import regex
from .wording import folded_case, is_signed, signs, wording

_LONGEST: Final = 300
"""How many characters a question that names an item has at most."""
_MOST: Final = 20
"""The highest place that is read."""

LAST: Final = -1
"""The place of the last item of a list, however many it has."""

_ORDINALS: Final = {
    word: place
    for place, words in enumerate(
        (
            "first 1st erste ersten erster erstes primer primera primero premier première"
            " primo prima primeiro primeira",
            "second 2nd zweite zweiten zweiter zweites segundo segunda deuxième seconde secondo seconda",
            "third 3rd dritte dritten dritter drittes tercer tercera tercero troisième terzo terza terceiro terceira",
            "fourth 4th vierte vierten vierter viertes cuarto cuarta quatrième quarto quarta",
            "fifth 5th fünfte fünften fünfter fünftes quinto quinta cinquième ",
            "sixth 6th sechste sechsten sechster sechstes sexto sexta sixième sesto sesta",
            "seventh 7th siebte siebten siebter siebtes séptimo séptima septième settimo settima sétimo sétima",
            "eighth 8th achte achten achter achtes octavo octava huitième ottavo ottava oitavo oitava",
            "ninth 9th neunte neunten neunter neuntes noveno novena neuvième nono nona",
            "tenth 10th zehnte zehnten zehnter zehntes décimo décima dixième decimo decima",
        ),
        1,
    )
    for word in words.split()
}
_COUNTS: Final = {
    word: place
    for place, words in enumerate(
        (
            "one eins uno un um 一",
            "two zwei dos deux due dois 二",
            "three drei tres trois tre três 三",
            "four vier cuatro quatre quattro quatro 四",
            "five fünf cinco cinq cinque 五",
            "six sechs seis 六",
            "seven sieben siete sept sette sete 七",
            "eight acht ocho huit otto oito 八",
            "nine neun nueve neuf nove 九",
            "ten zehn diez dix dieci dez 十",
        ),
        1,
    )
    for word in words.split()
}
_THING: Final = (
    r"(?:one|option|step|point|item|tip|trick|thing|idea|suggestion|exercise|way|entry|reason|rung|rule|stage|bullet"
    r"|choice|alternative|recommendation|method|question|part|hint"
    r"|schritt(?:e?s)?|punkt(?:e?s)?|tipp|idee|vorschl[aä]g|übung|möglichkeit|weg|regel|gr[uü]nd|frage|variante"
    r"|paso|punto|opci[oó]n|consejo|sugerencia|ejercicio|manera|regla|pregunta"
    r"|étape|conseil|idée|exercice|façon|règle|astuce|proposition"
    r"|passo|opzione|consiglio|suggerimento|esercizio|regola|domanda"
    r"|ponto|opção|conselho|dica|ideia|sugestão|exercício|pergunta)"
)
"""One item: "the first steps" and "second hand things" are not named by a place in a list."""
_THINGS: Final = rf"(?:{_THING}(?:e?[sn]|e)|entries|list[ae]?)"
_OF_LIST: Final = (
    r"(?:(?:of|from) (?:your|those|these|the \w+ (?:that )?you)"
    r"|(?:on|in) (?:your|(?:the|that) \w*(?:list|table|plan|guide))"
    r"|(?:von|aus) dein\w*|(?:in|auf) (?:dein\w*|der liste)|(?:de|del) tus?|(?:de|dans) (?:tes?|ta|vos|votre)"
    rf"|(?:of|from|von|aus|del?|dans) (?:the|that|my|de[mnr]|l[aeo]s?) (?:[\w-]+ )?{_THINGS})"
)
_AMONG: Final = (
    r"(?:of|from|among|von|aus|del?|dans)(?: (?:the|your|my|those|these|de[mnr]|dein\w*|l[aeo]s?|tus|tes|vos))?"
)
_HAN_THING: Final = (
    "[条步点项种款招家道本部]|[个個](?=的?(?:[选選][项項]|步[骤驟]|建[议議]|[办辦方]法|方案|技巧|要?[点點]|提示|[练練][习習]"
    "|[动動]作|理由|原因|想法|主意|[问問][题題]|例子|是|呢|吧|[说說])|[？?，,。]|$)"
)
_KANA_THING: Final = (
    r"の(?:案|項目|ステップ|手順|方法|ヒント|アドバイス|提案|選択肢|オプション|質問|理由|コツ|ポイント|アイデア|例|店|本|曲"
    r"|レシピ|もの|やつ|[はが])"
    r"|[はがをに]|って|[？?、。]|$"
)
_HANGUL_THING: Final = " ?(?:방법|항목|단계|옵션|팁|제안|조언|질문|이유|아이디어|것)|[는가]|[?]|$"
_BY_ORDINAL: Final = regex(
    rf"(?<!\w)(?:(?P<first>{'|'.join(_ORDINALS)})\b(?: [\w-]+)?? (?:{_THING}|{_OF_LIST})(?!\w)"
    rf"|(?:last|final|letzte[nrs]?|[úu]ltim[oa]|derni(?:er|ère)) {_AMONG} (?P<all>{'|'.join(_COUNTS)}|\d\d?)"
    rf"(?:\W*\Z| (?:[\w-]+ )?{_THINGS}(?!\w))"
    rf"|(?:number|no\.|nummer|nr\.|número|numéro|numero|{_THING}) (?:#|no\.? ?|nr\.? ?)?"
    rf"(?P<number>{'|'.join(_COUNTS)}|\d\d?)(?![\w%]| ?[-/:.,]\d| (?-i:[A-Z])[a-z])"
    rf"|(?P<dotted>\d\d?)\. {_THING}(?!\w))"
    rf"|(?<!倒数)第(?P<han>{HAN_NUMBER}|\d\d?)(?:{_HAN_THING})"
    rf"|(?P<kana>{HAN_NUMBER}|\d\d?)(?:[つ個点件][目め]|番目)(?={_KANA_THING})"
    rf"|(?P<hangul>첫|두|세|네|다섯|여섯|일곱|여덟|아홉|열|\d\d?) ?번째(?={_HANGUL_THING})",
    re.I,
)
_NOUN: Final = r"(?: (?!(?:of|in|from|to|de|del|du|des|von|vom|que)\b)[\w'’-]+){1,3}(?: for(?: [\w'’-]+){1,3})?"
"""A thing of any kind, such as a "vegan restaurant"; none of a larger one, as "season of the show"."""
_DU_GABST: Final = r"(?:\w+ ){0,3}(?:empfohlen|vorgeschlagen|genannt|gegeben|erwähnt|aufgelistet)"
_YOU_GAVE: Final = (
    r"(?: (?:that|which|whom?))? you(?:(?: had| have|['’]d|['’]ve))?(?: (?:also|just|once|then))?"
    r" (?:recommended|suggested|gave|given|listed|mentioned|named|proposed|offered)"
    rf"|,? (?:das|die|den|der) (?:du|(?-i:Sie)) {_DU_GABST}"
    rf"|(?: \w+){{0,2}} ha(?:st du|ben (?-i:Sie)) {_DU_GABST}"
    r"| que (?:me |nos )?(?:(?:recomend|mencion|nombr|list|aconsej)aste|sugeriste|diste|propusiste)"
    r"| que (?:me |nos )?has (?:recomendado|sugerido|dado|mencionado|nombrado|propuesto)"
    r"| che (?:mi |ci )?(?:hai|avevi) (?:consigliat|suggerit|raccomandat|propost|dat|indicat|elencat|menzionat)[oaie]"
    r"| que (?:você )?(?:me |nos )?(?:recomendou|sugeriu|indicou|deu|listou|mencionou|citou|propôs)"
    r"| que (?:tu|vous) (?:m['’]|nous )?(?:as|avez) (?:recommand|suggér|donn|propos|cit|conseill|mentionn)ée?s?"
)
_ON_LIST: Final = (
    r"(?:(?:on|in|of|from) (?:your(?: \w+)?|the|that)|(?:auf|in|von|aus) (?:dein\w*|der)|(?:de|en) (?:tu|la)"
    r"|(?:de|dans|sur) (?:ta|la|votre)) [\w-]*list[ea]?"
)
_ASIAN_LAST: Final = (
    "(?:列表|清单|名单)[^，。]{0,4}最后一[个家本条项道款种]|リストの(?:一番)?最後の|(?:목록|리스트)(?:의|에서)? ?마지막"
)
_GIVEN: Final = regex(
    rf"(?<!\w)(?:(?P<given>{'|'.join(_ORDINALS)}){_NOUN}(?:{_YOU_GAVE})(?!\w)"
    rf"|(?P<last>last|final|letzte[nrs]?|últim[oa]|derni(?:er|ère)) (?:[\w-]+ ){{0,2}}"
    rf"{_ON_LIST}(?!\w))"
    r"|(?<!\w)(?P<last_given>(?:last|final) (?:option|step|point|item|entry|bullet|tip)(?: that)? you(?: had|['’]d)?"
    r" (?:suggested|gave|given|listed|mentioned|named))(?!\w)"
    rf"|[你您].{{0,8}}(?:推荐|建议|提议|列出|列举|提到|介绍|给).{{0,6}}第(?P<han_given>{HAN_NUMBER}|\d\d?)个"
    r"|(?:おすすめ|お勧め|勧めて|薦めて|教えて|挙げて|提案|紹介)[^、。]{0,8}?"
    rf"(?P<kana_given>{HAN_NUMBER}|\d\d?)(?:[つ個点件軒冊][目め]|番目)"
    r"|(?:추천|제안|소개|알려|언급)[가-힣]{0,3} ?[가-힣]{0,3} "
    r"(?P<hangul_given>첫|두|세|네|다섯|여섯|일곱|여덟|아홉|열|\d\d?) ?번째"
    rf"|(?P<han_last>{_ASIAN_LAST})",
    re.I,
)
"""A thing of any kind where the rest says that it was given, or is in a list: "the third book you recommended"."""
_SIGNS: Final = signs(
    f"{'|'.join(_ORDINALS)}|0|1|2|3|4|5|6|7|8|9|last|final|letzt|últim|derni|number|no.|numm|nr.|númer|numér|numer|第|目|つめ|個め|点め|件め|번째"
    "|step|option|point|item|tip|trick|thing|idea|suggestion|exercise|way|entry|reason|rung|rule|stage|bullet|choice"
    "|alternative|recommendation|method|question|part|hint|schritt|punkt|idee|vorschl|übung|möglichkeit|weg|regel|grund"
    "|gründ|frage|variante|paso|punto|opci|consejo|sugerencia|ejercicio|manera|regla|pregunta|étape|conseil|idée"
    "|exercice|façon|règle|astuce|proposition|opzion|consigli|suggeriment|esercizi|regol|domand|ponto|opção|conselho"
    "|dica|sugest|exercíci|pergunt|最后|最後|마지막"
)
"""One of these stands in whatever names an item; the expression is large, and seldom needed."""
_HANGUL: Final = {word: place for place, word in enumerate("첫 두 세 네 다섯 여섯 일곱 여덟 아홉 열".split(), 1)}
_WORDS: Final = {"first": _ORDINALS, "given": _ORDINALS, "hangul": _HANGUL, "hangul_given": _HANGUL}
_LAST_OF: Final = frozenset({"last", "last_given", "han_last"})
"""By which group a place is told, and in which words."""

_NUMBER: Final = f"(?:{'|'.join(word for word in _COUNTS if word.isascii())}|\\d\\d?)"
_ORDINAL: Final = f"(?:{'|'.join(word for word in _ORDINALS if word.isascii())})"
_LIST: Final = r"(?:lists?|tables?|plans?|guides?|answers?|reply|replies)"
_NO_LIST: Final = rf"(?:of|in|from) (?!your\b|(?:the|that|this|those|my) (?:\w+ )?{_LIST})"
_PART: Final = "(?:part|stage|question)"
_PIECE: Final = "(?:chapter|season|episode|volume|edition|act|scene)"
"""Pieces of a work: "part 2 of Dune" is in a list of the assistant's only where that is named."""
_NO_ITEM: Final = wording(
    rf"""
    (?:{_PART} {_NUMBER}|{_ORDINAL} {_PART}) {_NO_LIST}(?!.{{0,80}}\byou\b)
    (?:{_PIECE} {_NUMBER}|{_ORDINAL} {_PIECE}) {_NO_LIST}
    (?:first|second|third|fourth|fifth) (?:time|day|week|month|year|session|date|floor|grade|half|thing in)
    (?:first|second|third|fourth|fifth) name(?! (?:for|on|(?:that )?you)\b)
    (?:first|second|third|fourth|fifth) \w+ of (?:my|our|his|her|their)
    first (?:aid|class)|second[- ]hand|third[- ]party
    number one (?!of\b|on\b|in\b|from\b)\w+
    (?:room|house|flat|phone|bus|train|tram|gate|door|locker|seat|page|player|order|ticket|platform|track) number
    (?:Zimmer|Haus|Linie|Bus|Gleis|Platz|Seite|Spieler) Nummer
    first (?:thing|one|question) (?:that )?(?:I|we|you) (?:ever )?(?:said|asked|told|talked|discussed|did)
    (?:my|meine|mi|ma) (?:very )?(?:first|erste|primera|première) (?:question|frage|pregunta)
    (?:erste[nrsm]?|zweite[nrsm]?|dritte[nrsm]?) (?:mal|tag|woche|monat|jahr|sitzung|termin|stock)
    primera vez|première fois|prima volta|primeira vez
    """,
    anywhere="第[一二三四五六七八九十\\d]+个?(?:次|天|周|星期|礼拜|年|回|月)|我的?第[一1]个问",
)
_HEADED: Final = r"(?:方案|方法|步骤|建议|选项|选择|要点|重点|阶段|提案|その|ステップ|プラン|ポイント|案)\s?"
_ITEM: Final = regex(
    rf"^[ \t\u3000]{{0,8}}(?:#{{1,6}} ?)?(?:[-*•] )?(?:\*\*|__)?(?:[^\W\d]{{2,12}} |第|[（(]|{_HEADED})?"
    r"(?P<number>\d{1,2})"
    r"(?:[.．):：、）,]|步|个|\*\*[.:])|^[ \t\u3000]{0,8}(?:#{1,6} ?)?(?:\*\*)?(?:(?P<ring>[①-⑳])"
    rf"|(?=第|[（(]?{HAN_NUMBER}(?:[.．):：、）]|つ目)|{_HEADED})(?:[第（(]|{_HEADED})?(?P<han>{HAN_NUMBER})"
    r"(?:[.．):：、）,，]|步|个|つ目|$))|^[ \t\u3000]{0,3}(?P<bullet>[-*•+] |[・●○■◆]\s?)(?!\[[ x]\] *$)",
    re.M,
)
_TOLD: Final = {
    word: place
    for place, words in enumerate(
        (
            "first firstly erstens primero premièrement primo primeiro",
            "second secondly zweitens segundo deuxièmement secondo",
            "third thirdly drittens tercero troisièmement terzo terceiro",
            "fourth fourthly viertens cuarto quatrièmement quarto",
            "fifth fifthly fünftens quinto cinquièmement",
        ),
        1,
    )
    for word in words.split()
}
_IN_PROSE: Final = regex(
    rf"(?:^|(?<=[.!?;:]\s))(?:\*\*|__)?(?P<word>{'|'.join(_TOLD)})(?: [\w'’-]+)?(?:\*\*|__)?[,:]", re.I | re.M
)
"""Where an item is told in a sentence: "First choice: the museum. Second, the pier."."""
_NOWHERE: Final = -2
"""In which column bullets stand before the first item; below a number, -1, none is an item of its own."""
_AFTER: Final = regex(r"(?<![:：*_\s])[ \t]*\n[ \t]*\n(?=[^\s\-*+•・●○■◆#\d|>`])")
"""A new paragraph after a list, none of an item: those have a blank before them, or come after a title."""
_BREAK: Final = regex(r"^(?:#{1,6} |[^\s\-*•+・●○■◆#\d|>`])", re.M)


def item_asked(query: str) -> int:
    """The place of the item that a question asks for, from 1 on, or `LAST`; 0 where it names none.

    In English, German, Spanish, French, Italian, Portuguese, Chinese, Japanese and Korean.

    Args:
        query: the question.
    """
    if len(query) > _LONGEST or not is_signed(folded_case(query), _SIGNS):
        return 0
    found = _BY_ORDINAL.search(query) or _GIVEN.search(query)
    if found is None or _NO_ITEM.search(query):
        return 0
    group = found.lastgroup or ""
    return LAST if group in _LAST_OF else _place(found[group], _WORDS.get(group, _COUNTS))


def _place(word: str, words: dict[str, int]) -> int:
    place = words.get(word.casefold(), 0) or han_number(word)
    return place if place <= _MOST else 0


def item_span(text: str, place: int, start: int, stop: int) -> tuple[int, int] | None:
    """Where in a part of a text the first item of this place stands: by its number, or as the bullet that far down.

    Args:
        text: the whole text, as bullets are counted from where their list begins.
        place: from 1 on.
        start: where the part begins, in characters.
        stop: where it ends.

    Returns:
        Where the item begins, and where it ends, or the next one begins, or the part ends; nothing where it does not
        begin in it.
    """
    begins = -1
    for at, number in _asked(text, place):
        if begins >= 0:
            ends = min(at, stop)
            return begins, ends if number > place != LAST else _end(text, begins, ends)
        if at >= stop:
            return None
        if number == place and at >= start:
            begins = at
    return (begins, _end(text, begins, stop)) if begins >= 0 else None


def _end(text: str, begins: int, stop: int) -> int:
    """Where an item ends before ``stop``: at the first paragraph after its words that is not further in than it."""
    after = _AFTER.search(text, begins, stop)
    return after.start() if after else stop


def item_begins(text: str, place: int) -> list[int]:
    """Where the items of this place begin in a text, in order: one for each of its lists at most."""
    return [at for at, number in _asked(text, place) if number == place]


def _asked(text: str, place: int) -> Iterable[tuple[int, int]]:
    """The items, and where the last ones are asked for, `LAST` as the place of each after which no higher one comes."""
    told = _told(text)
    if place != LAST:
        return merge(_items(text), told) if told else _items(text)
    found = list(_items(text)) or told
    ends = [*(after <= number for (_, number), (_, after) in pairwise(found)), True]
    return [(at, LAST if last else number) for (at, number), last in zip(found, ends, strict=False)]


def _told(text: str) -> list[tuple[int, int]]:
    """Where each item begins that is told in sentences, and its place; of a first one only where a second follows."""
    runs = list[list[tuple[int, int]]]()
    for each in _IN_PROSE.finditer(text):
        place = _TOLD[each["word"].casefold()]
        if place == 1:
            runs.append([])
        if runs and place == len(runs[-1]) + 1:
            runs[-1].append((each.start(), place))
    return [item for run in runs if len(run) > 1 for item in run]


def _items(text: str) -> Iterator[tuple[int, int]]:
    """Where each item begins, and its place; bullets below an item, or further in than it, are part of it."""
    bullets, column, last = 0, _NOWHERE, 0
    for found in _ITEM.finditer(text):
        if not found["bullet"]:
            bullets, column, last = 0, -1, found.end()
            ring = ord(found["ring"]) - ord("①") + 1 if found["ring"] else 0
            yield found.start(), ring or han_number(found["number"] or found["han"])
            continue
        here = found.start("bullet") - found.start()
        if column == _NOWHERE or _BREAK.search(text, last, found.start()):
            bullets, column = 0, here
        last = found.end()
        if here <= column:
            bullets += 1
            yield found.start(), bullets
