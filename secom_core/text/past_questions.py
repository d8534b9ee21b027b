"""The clauses of a question that ask for what was: "what did I buy in the last two months".

Not what tells it ("I've slept badly for the last two weeks, what can I do?"), nor what asks for advice or for plans.
In English, German, Spanish, French, Chinese, Japanese and Korean.
"""

from __future__ import annotations

from typing import Final

from .patterns import regex
from .wording import wording

_LONGEST: Final = 300
"""How many characters a question has at most that is read for it."""

_CLAUSES: Final = regex(r"[^.!?;:,。！？；，、\n]+")
_OPENING: Final = 8
"""How many words a time has at most that stands before its question: "In the last two months, what did I buy?"."""

_JOINS: Final = (",", "，", "、")
"""What stands between such a time and its question."""

_SUBJECTS: Final = (
    r"(?:I|we|you|he|she|it|they|there|my|our|his|her|their|the|any\w*|some\w*|this|that|these|those|(?-i:[A-Z])\w+)"
)
_WERE: Final = r"(?:habe?|hast|hat|haben|hatten?|bin|ist|sind|war|waren|wurden?|gab|ging|gingen|kam|kamen|sah|sahen)"
_WHOM: Final = r"(?:ich|wir|du|er|sie|es|man|uns|mir|mich|mein\w*|unser\w*|de[rnm]|die|das)"
_W_WORD: Final = r"(?:wer|wen|wem|was|welche[mnrs]?|wo|wohin|woher|wann|wie|warum|wo\w+|(?:an|mit|bei|von) we[nm])"
_BEFORE_WHO: Final = r"^\W*(?:(?:and|so|but|ok|okay|hey|from|in|on|at|to|with|for) )*"
_PAST_VERB: Final = (
    r"(?:\w+ed|was|were|did|had|has|have|came|went|got|broke|said|told|gave|made|took|sent|left|began|paid|fell|lost|won"
    r"|wrote|became|felt|hurt)"
)
_SPANISH: Final = r"(?:qué|cuál(?:es)?|quién(?:es)?|dónde|adónde|cuándo|cuánt[oa]s?|cómo)"
_SPANISH_PAST: Final = (
    r"(?:he|has|ha|hemos|han|fue|fui|fuimos|vi|vio|di|dio|hi[cz][eo]|(?:\w*(?:uv|pus|dij|traj|quis)|pud|sup|vin)[eo]"
    r"|\w+(?:é|ó|imos|amos|aron|ieron|aste|iste|aba[ns]?|ábamos|ía[ns]?|íamos)|era[ns]?|éramos|iba[ns]?"
    r"|(?!(?:aquí|ahí|allí|así)\b)\w\w+í)"
)
_FRENCH: Final = r"(?:qu'|que |quoi|quel|qui|où|quand|combien|comment)"
_FRENCH_PAST: Final = (
    r"(?:ai|as|avons|avez|suis|sommes|ont|est allés?|étai(?:s|t|ent)|étions|s'est|a \w+(?:é|i|u|is|it)e?s?)"
)
# Syllables that end in the ㅆ of the past; 겠 is of the future, and 있 of the present.
_KOREAN_PAST: Final = "".join(map(chr, range(0xAC14, 0xD7A4, 28))).replace("겠", "").replace("있", "")
_ASKS: Final = wording(
    rf"""
    (?:did|have|has|had|was|were|haven't|hasn't|didn't|weren't|wasn't) {_SUBJECTS}
    {_WERE} (?:\w+ )?{_WHOM}
    (?:ai|avons|as|avez|a|suis|sommes|ont|étai(?:s|t|ent)|étions)-(?:je|nous|tu|vous|t-on|t-il|t-elle|on|ils|elles)
    """,
    anywhere=rf"""
    {_BEFORE_WHO}(?:who|whom|whose|what|which)(?: \S+){{0,4}} {_PAST_VERB}\b
    ^\W*(?:und |aber |also )?{_W_WORD}\b.*\b{_WERE}\b
    ^\W*(?:y |pero )?(?:[aà] |con |de |en |por |para )?{_SPANISH}\b.*\b{_SPANISH_PAST}\b
    ^\W*(?:et |mais )?(?:à |avec |de |d'|en |dans |chez |pour |par )?{_FRENCH}.*\b{_FRENCH_PAST}\b
    (?:去年|前年|昨|上个?(?:月|周|星期)).*(?:什么|哪|谁|几|多少|啥|怎么)
    (?:什么|哪|谁|几|多少|啥).*(?:了|过)|(?:了|过).*(?:什么|哪|谁|几|多少|啥|吗)
    (?:何|なに|どこ|誰|だれ|いつ|どの|どんな|いく[つら]|どれ|なぜ|なんで|どう).*(?:た|んだ)(?:の|ん|っけ)?(?:ですか|でしたか|だろう|か)?\W*$|ましたか
    (?:뭐|뭘|무엇|무슨|어디|누구|누가|언제|어떤|어느|몇|얼마|왜|어떻게).*[{_KOREAN_PAST}]
    """,
)
_FOLLOWS: Final = wording(
    anywhere=r"^\s*(?:before|after|until|since|while|when|bevor|ehe|bis|nachdem|seit(?:dem)?|während|als)\b"
)
"""How a clause begins that tells when it was, after the one that asks."""

_ADVICE: Final = wording(
    r"""
    can|could|should|would|will|shall|must|may|might|do I|do we|does it|am I going|going to|how to|planning|want to
    kann|könnte|können|soll|sollte|sollen|muss|müssen|darf|dürfen|würde|werde|werden|will|wollen
    puedo|podría|debo|debería|tengo que|hay que|voy a|vamos a|puis|peux|pourrais|dois|devrais|faut|vais|allons
    """,
    anywhere="可以|应该|應該|怎么办|怎么样|能不能|如何|打算|べき|ばいい|たらいい|つもり|어떻게 해야|해야|할까|하면",
)


def clauses_of_the_past(text: str) -> list[tuple[int, int]]:
    """Where the clauses begin and end that ask for what was, each with a time that stands before it or after it.

    Args:
        text: what the user says.
    """
    if len(text) > _LONGEST:
        return []
    found: list[tuple[int, int]] = []
    begin = -1
    for match in _CLAUSES.finditer(text):
        is_after = found and found[-1][1] + 1 == match.start() and text[match.start() - 1] in _JOINS
        if is_after and _FOLLOWS.search(match[0]):
            found[-1] = found[-1][0], match.end()
        elif _ASKS.search(match[0]) is not None and _ADVICE.search(match[0]) is None:
            found.append((match.start() if begin < 0 else begin, match.end()))
        is_time = len(match[0].split()) <= _OPENING and text.startswith(_JOINS, match.end())
        begin = match.start() if is_time else -1
    return found
