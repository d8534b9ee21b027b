"""Questions that cannot be read alone, in languages beyond those of `secom_core.text.intents`: "А где она живёт?".

Each rule is compiled when a question in its language is first met.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, NamedTuple

from .patterns import regex


class _Rule(NamedTuple):
    """What such questions are told by in a language.

    Args:
        opens: how one begins that goes on with what was said.
        back: words that point back.
        named: words for one's own things and people before such a word that it may stand for, in the same question.
    """

    opens: re.Pattern[str]
    back: re.Pattern[str]
    named: re.Pattern[str]


_WORDS: Final = r"(?<!\w)(?:{})(?!\w)"
_MARKED: Final = r"(?<![\w\u0900-\u0963])(?:{})(?![\w\u0900-\u0963])"
_WORD: Final = regex(r"(?<=[\w,]\s)[^\W\d_]\w+")


def _rule(opens: str, back: str, own: str, edges: str = _WORDS, *, of: str = r"[^\w\W]") -> _Rule:
    """A rule for one language, of words with ``|`` between; ``own`` are those for "my" and "our", ``of`` for "that"."""
    return _Rule(
        regex(r"^\W*" + edges.format(opens), re.I),
        regex(edges.format(back), re.I),
        regex(rf"{edges.format(own)}\s+\w|{edges.format(of)}", re.I),
    )


_CYRILLIC_OPENS: Final = r"а|и|но|или|й|і|але|та"
_CYRILLIC_BACK: Final = (
    r"он[аио]?|его|её|ее|ему|ей|им|ими|их|него|неё|нее|нему|ней|ним|ними|них|нём|нем|эт(?:от|а|о|у|и|ого|ому|ой|ом|их"
    r"|им|ими)(?!\s(?:недел|год|месяц|раз))|тот|та|того(?!,?\s(?:как|что|чтобы|як|що|щоб)(?!\w))|той|туда|оттуда|там"
    r"|друг(?:ой|ого|ая|ую|ое|ие|ом|их)(?!\s(?:город|стран|работ))|остальн\w+|подробнее|ещё|еще|він|вона|воно|вони|його"
    r"|її|йому|їй|їх|їм|нього|неї|ньому|нею|цьому|цього|цією|цієї|це|цю|той|туди|звідти|інш\w+|докладніше"
)
_CYRILLIC_OWN: Final = r"мо(?:й|я|ё|е|и|его|ему|ей|ю|их|им|є|ї|го|му|їй)|наш\w{0,3}|с(?:о|в)(?:ей|оей|ою|оего|оєї)"
_RULES: Final = {
    "cyrillic": _rule(_CYRILLIC_OPENS, _CYRILLIC_BACK, _CYRILLIC_OWN),
    # Bulgarian "ще" is "will".
    "ukrainian": _rule(_CYRILLIC_OPENS, rf"{_CYRILLIC_BACK}|ще", _CYRILLIC_OWN),
    "arabic": _rule(
        # "والدي" is "my father", "والدة" a mother.
        r"و(?:ماذا|[أا]ين|متى|كم|كيف|لماذا|من|هل|هي|هو|هم)|وال(?!د(?:ة|ه|ي|ا|ك|نا|ين|ان|ت\w{1,3})?(?!\w))\w+"
        r"|ماذا عن|لكن|طيب",
        # "ما هي هواياتي" is "what are my hobbies"; "الأسهم" and "درهم" end in no pronoun.
        r"و?(?:(?<!ما\s)(?<!من\s)(?:هو|هي|هم)|(?:هو|هي|هم)(?=\W*$)|هما|هذا|هذه|ذلك|تلك|هناك|[آأ]خر|[أا]خرى|الآخر|الأخرى"
        r"|المزيد|[أا]كثر(?=\W*$))(?!\s(?:الأسبوع|الشهر|العام|السنة|اليوم|الصباح|المساء))"
        r"|(?:ل|من|عن|مع|في|ب|عند|إلي|علي|اسم)ه"
        r"|(?!(?:ال)?(?:[أا]?سهم|درا?هم|فهم|[أا]هم|مهم|وهم|تفاهم|متهم|مها|سها|نها)(?!\w))\w+(?:ها|هم|هما)",
        # What follows "التي" tells of what stands before it: "المدينة التي زرتها".
        r"\w{2,}(?:ي|تي|نا)(?<!في)(?<!هي)",
        of=r"التي|الذي|الذين|اللي|[أا]كثر",
    ),
    "hindi": _rule(
        r"और|लेकिन|तो|फिर",
        r"वह|वो|वे|उस(?:का|की|के|को|से|में|ने)?|उन(?:का|की|के|को|से|में)?|उन्ह[\u0900-\u0963]+|इस(?:का|की|के|को|से|में|ने)"
        r"|यह|ये|वहाँ|वहां|दूसर[\u0900-\u0963]+|बाकी",
        r"मेर[ाीे]|हमार[ाीे]|अपन[ाीे]",
        _MARKED,
    ),
    "thai": _Rule(
        regex(r"^\W*(?:แล้ว(?!แต่)|และ|แต่)"),
        # "เขา" is a mountain, "มัน" a potato or fat, and both end other words: "เยอรมัน", "ทำหมัน".
        regex(
            r"(?<!ภู)(?<!ขึ้น)(?<!ปีน)(?<!หุบ)(?<!ตีน)(?<!เชิง)เขา(?!ใหญ่|ค้อ|วงกต|ดิน|เขียว|สก|ชนไก่)|เธอ"
            r"|(?<!น้ำ)(?<!น้ํา)(?<!ไข)(?<!ห)(?<!เยอร)(?<!โร)มัน(?!ฝรั่ง|เทศ|ส์|บด|ทอด|ม่วง|แกว|สำปะหลัง|หมู)"
            r"|(?:อัน|คน|ที่|เรื่อง|ตัว|แบบ)(?:นั้น|นั่น)|อีก(?:อัน|คน|หน่อย)|ล่ะ\W*$"
        ),
        regex(r"(?:พี่|น้อง|แม่|พ่อ|ลูก|เพื่อน|แฟน|สามี|ภรรยา)\S*(?:ของ)?(?:ฉัน|ผม|หนู|เรา)"),
    ),
    "polish": _rule(
        r"a|i|ale|albo|no",
        r"on[aoi]?|one|jego|jej|jemu|mu|ich|im|nim|nią|niej|nimi|niego|ten(?!\s(?:tydz|rok|mies))|te"
        r"|tego(?!,\s(?:jak|że|co)(?!\w))|tej|tym(?!,?\s(?:tyg|rok|mies|jak(?!\w)|że(?!\w)))|tą|tam|inn[yaei]\w*"
        r"|drugi\w*(?!\s(?:stycz|lut|marca|kwie|maja|czerw|lipca|sierp|wrze|paźdz|listop|grud))|więcej",
        r"m(?:ój|oja|oje|ojej|oją|ojego|ojemu)|nasz\w*|swo\w+",
    ),
    "czech": _rule(
        r"a|i|ale|nebo",
        r"on[aioy]?|ho|mu|jí|jej|jeho|její\w*|jejich|něj|něm|ním|ní|nich|tom(?!,\s(?:že|jak|kd))|ten|tam|jin[ýáéí]\w*"
        r"|druh[ýáéou]\w*(?!\s(?:led|únor|břez|dub|květ|červ|srp|září|říj|listop|pros))|víc",
        r"m(?:ůj|oje|oji|á|é|ého|ému|ou)|naš\w*|sv\w+",
    ),
    "turkish": _rule(
        r"peki|ya|ve|ama|veya",
        r"o(?!\s(?:kadar|zaman))|onu|ona|ondan|onun|onda|onlar\w*|bunu|bunun|buna|bundan|orada\w*|oraya|diğer\w*|öbür\w*(?!\sgün)",
        r"benim|bizim|\w+(?:[ıiuü]m|[ıiuü]m[ıiuü]n|[ıiuü]m[eaıiuü]|[ıiuü]m[ıiuü]z)",
    ),
    "dutch": _rule(
        r"en|maar|of",
        r"hij|zij|ze|hem|haar|hen|daar\w*|er (?:meer|nog)|anderen?|de (?:tweede|eerste) (?:ook|dan)",
        r"mijn|onze?",
    ),
    "swedish": _rule(
        r"och|men|eller",
        r"han|hon|honom|henne|hans|hennes|deras|dem|de(?!\s(?:\w+a\s|senaste|\d))|dit|om det(?=\W*$)|andra",
        r"min|mina|mitt|vår|våra|vårt",
    ),
    "indonesian": _rule(
        r"lalu|dan|tapi|terus",
        r"dia|mereka|tentang itu|yang (?:lain|itu|satunya)|(?!berapa)(?!kira)\w{3,}(?<!biasa)(?<!akhir)nya\W*$"
        r"|di (?:situ|sana)",
        r"\w{3,}ku|saya",
    ),
    "vietnamese": _rule(
        r"thế|còn(?!\s(?:bao nhiêu|mấy|lại))|và|nhưng|vậy",
        r"(?:anh|cô|bà|ông|chị|em|người) ấy|nó|họ(?!\s(?:tên|hàng|của))|ở đó"
        r"|(?:chuyện|điều|cái|việc|chỗ|người) (?:đó|đấy|kia|này)",
        r"\w+ (?:của )?tôi",
    ),
}
_TOLD_BY: Final = {
    word: language
    for language, words in {
        "polish": "gdzie kiedy ile jak dlaczego czemu kto kogo komu jaki jaka jakie jaką który która które czy ona oni"
        " jej opowiedz powiedz drugi jest są teraz tym ile więcej",
        "czech": "kde kdy kolik proč kdo koho komu jaký jaká jaké který která které jsem jsme jeho její jejich řekni"
        " pověz druhý bydlí jmenuje",
        "turkish": "nerede nereye nereden neden niye nasıl kim kimin kaç hangi adı peki bana onun onlar diğeri daha",
        "dutch": "waar wanneer wie hoe waarom welke heeft hebben vertel haar hij zij mijn woont",
        "swedish": "vad mer om det var när vem varför hur vilken vilket och berätta hennes hon honom sålde bor",
        "indonesian": "di siapa kapan berapa bagaimana mengapa kenapa dia tentang dan yang ceritakan nama mana",
        "vietnamese": "còn gì sao thì kể thêm cái kia",
    }.items()
    for word in words.split()
}
"""Words that tell the language of a question that is too short to show it otherwise."""

_LETTERS: Final = {"polish": frozenset("łżśźąęń"), "czech": frozenset("ěřů"), "turkish": frozenset("ğış")}
"""Letters that tell one as such a word does."""

_WORDS_OF: Final = regex(r"[^\W\d_]+")
_FEWEST: Final = 2
"""How many of these words tell a language, or all but one of the words of a question."""

_SHARE: Final = 0.25
"""What share of the words of a question they are at least."""

_OF_UKRAINIAN: Final = frozenset("іїєґ")
_OF_PERSIAN: Final = frozenset("پچژگکیٹڈڑںہھے")
"""Letters of Persian and Urdu, where "به" is "to", that Arabic has not."""

_CODES: Final = {0x04: "cyrillic", 0x06: "arabic", 0x09: "hindi", 0x0E: "thai", 0x1E: "vietnamese"}


def leans_elsewhere(query: str) -> bool:
    """Whether a question in one of these languages points back to what was said before.

    Args:
        query: the question.
    """
    blocks = set() if query.isascii() else {ord(letter) >> 8 for letter in query}
    name = next((name for code, name in _CODES.items() if code in blocks), "") or _language(query)
    if name == "cyrillic" and not _OF_UKRAINIAN.isdisjoint(query.lower()):
        name = "ukrainian"
    rule = _RULES.get(name)
    if rule is None or (name == "arabic" and not _OF_PERSIAN.isdisjoint(query)):
        return False
    if rule.opens.search(query):
        return True
    back = rule.back.search(query)
    return back is not None and not _names(query, back.start(), rule.named)


def _language(query: str) -> str:
    """The language of these that a question in Latin letters is in; nothing where it is in none of them."""
    # In small letters but for the first: German "Haar" is no Dutch "haar".
    words = [word for word in _WORDS_OF.findall(query[:1].lower() + query[1:]) if len(word) > 1]
    told = Counter(_TOLD_BY[word] for word in {*words} & _TOLD_BY.keys())
    told.update(language for language, letters in _LETTERS.items() if not letters.isdisjoint("".join(words)))
    # The first by name of several, so that the answer does not depend on the order of a set.
    language, count = min(told.items(), key=lambda each: (-each[1], each[0]), default=("", 0))
    return language if count >= max(min(_FEWEST, len(words) - 1), _SHARE * len(words)) and count else ""


def _names(query: str, stop: int, own: re.Pattern[str]) -> bool:
    """Whether somebody or something is named before a place, in capitals or as one's own."""
    return own.search(query, 0, stop) is not None or any(
        word[0][0].isupper() for word in _WORD.finditer(query, 0, stop)
    )
