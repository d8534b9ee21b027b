"""Messages that ask nothing of a memory: thanks, greetings, consent, a sum.

In English, German, Spanish, French, Italian, Portuguese, Chinese, Japanese and Korean; thanks in a few more languages.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from .patterns import regex

_LONGEST: Final = 80
"""How many characters such a message has at most."""

_SAID: Final = r"""
    ok|okay|okey|k|kk|alright|all right|thanks|thank you|thx|ty|cheers|great|perfect|cool|nice|awesome|amazing
    |excellent
    |wonderful|lovely|fantastic|brilliant|good|fine|sure|yes|yeah|yep|yup|no|nope|nah|got it|gotcha|noted|i see
    |understood
    |makes sense|sounds (?:good|great|perfect)|(?:let's|let us) (?:do|try) (?:that|it|this)|let's go|go ahead|do (?:it
    |that)
    |please do|will do|works for me|that (?:helps|helped|works)(?: a lot)?|that's (?:great|perfect|fine|it|all|good
    |helpful)
    |(?:much |i )?appreciate(?:d)?(?: it| that)?|never ?mind|no (?:problem|worries)|you're welcome|deal|agreed|exactly
    |hi|hello|hey|hiya|howdy|good (?:morning|afternoon|evening|night|day)|morning|bye|goodbye|cya
    |see (?:you|ya)(?: later| soon| tomorrow)?|have a (?:nice|good|great|lovely) (?:day|evening|night|weekend|one)
    |lol|haha+|hehe|wow|oh|ah|hm+|yay
    |danke(?: schön| sehr| dir| ihnen)?|vielen dank|super|toll|gut|prima|klasse|alles klar|ja|nein|genau|passt|gerne?
    |bitte
    |klingt gut|sehr gut|machen wir(?: so| das)?|lass uns das (?:so )?machen|einverstanden|verstanden|stimmt|perfekt
    |guten (?:morgen|tag|abend)|gute nacht|hallo|servus|moin|grüß gott|tschüss?|bis (?:später|bald|morgen|dann)
    |(?:muchas |mil )?gracias|vale|perfecto|genial|sí|si|claro|de acuerdo|entendido|está bien|muy bien|hagámoslo
    |hola|buenos días|buenas(?: tardes| noches)?|adiós|hasta (?:luego|mañana|pronto)
    |merci(?: beaucoup| bien)?|d'accord|parfait|génial|oui|non|ça marche|c'est (?:bon|parfait)|très bien|entendu
    |compris
    |ça roule|nickel|top|listo|dale
    |grazie(?: mille)?|perfetto|va bene|capito|d'accordo|benissimo|certo|ciao|buongiorno|buonasera|buonanotte|sì
    |(?:muito )?obrigad[oa]|valeu|tudo bem|tá bom|beleza|perfeito|entendi|sim|não|oi|olá|tchau|bom dia
    |boa (?:tarde|noite)
    |bedankt|dank je(?: wel)?|спасибо|dzięki|dziękuję|teşekkürler|teşekkür ederim|شكرا|धन्यवाद|शुक्रिया
    |faisons ça|allons-y|bonjour|bonsoir|bonne (?:nuit|journée|soirée)|salut|au revoir|à (?:bientôt|demain|plus)
    |(?:谢谢|多谢|感谢)(?:你|您|啦|了)?|好(?:的|啊|吧|呀)?|行|可以|嗯|没问题|明白了?|知道了|了解|太好了|是的?|对
    |就这样吧?
    |你好|您好|早上好|早安|早|晚上好|下午好|晚安|再见|拜拜
    |(?:どうも)?ありがとう(?:ございます|ございました)?|どうも|はい|うん|いいえ|了解(?:です|しました)?|(?:分
    |わ)かりました
    |おはよう(?:ございます)?|こんにちは|こんばんは|おやすみ(?:なさい)?|さようなら|そうしましょう|お願いします
    |いいですね
    |承知しました|大丈夫です|なるほど|そうなんだ|そうなんですね
    |고마워요?|고맙습니다|감사합니다|감사해요|네|예|응|아니요|좋아요?|알겠어요|알겠습니다|그래요?|그렇게 하자
    |그렇게 해요|ㅋ+|ㅎ+|ㅇㅇ
    |안녕(?:하세요|히 계세요)?|잘 자요?
"""
_BESIDE: Final = r"""
    and|so|then|please|there|again|very much|so much|a lot|a bunch|for (?:your|the|all your|all the) help
    |for (?:that|this|it)
    |very|really|you too|too|everyone|all|now|indeed|just|that|und|dann|auch|sehr|dir auch|y|mucho|et|beaucoup|alors|e
    |tanto|muito|mesmo
"""
_GREETINGS: Final = (
    r"how are you(?: doing)?(?: today)?|how's it going|what's up|wie geht's(?: dir)?|(?:comment )?ça va|qué tal"
    r"|come (?:stai|va)|(?:oi,? )?tudo bem"
)


def _listed(words: str) -> str:
    return "|".join(line.strip(" |") for line in words.strip().splitlines()).replace("'", "['’]").replace(" ", r"\s+")


_UNITS: Final = rf"(?:{_listed(_SAID)}|{_listed(_GREETINGS)})"
_NOTHING: Final = regex(
    rf"[\W_]*(?:(?:{_listed(_BESIDE)})\b[\W_]*)*{_UNITS}(?![^\W\d_](?<![\u3040-\uffff]))[\W_]*"
    rf"(?:(?:{_UNITS}|{_listed(_BESIDE)})(?![^\W\d_](?<![\u3040-\uffff]))[\W_]*)*",
    re.I,
)
_WORD: Final = r"[^\W\d_]+(?:['’][^\W\d_]+)*"
_FIRST_WORD: Final = regex(rf"[\W_]*({_WORD})")
_HEAD: Final = 3
_GREETED: Final = regex(rf"(?:.*\W)?(?:{_listed(_GREETINGS)})\W*", re.I | re.S)
_SUM: Final = regex(r"[\d\s.,()]*\d\s*(?:[+*×÷^=]|\s[-/]\s)[\d\s.,()+*×÷^=/-]*[=?？\s]*")


@cache
def _heads() -> frozenset[str]:
    """How the words of such messages begin."""
    words = re.findall(_WORD, f"{_SAID} {_BESIDE} {_GREETINGS}".casefold())
    return frozenset(word[:_HEAD] for word in words)


def _begins(query: str) -> bool:
    """Whether a message begins as such ones do: what else they hold takes long to compile, and few are of this kind."""
    found = _FIRST_WORD.match(query)
    word = found[1].casefold().replace("’", "'") if found is not None else ""
    return any(word[:length] in _heads() for length in range(1, _HEAD + 1))


def asks_nothing(query: str) -> bool:
    """Whether a message is but thanks, a greeting, consent or a sum; "ok, and the hotel?" asks."""
    if len(query) > _LONGEST:
        return False
    if any(map(str.isdecimal, query)) and _SUM.fullmatch(query) is not None:
        return True
    if query.rstrip().endswith(("?", "？")) and _GREETED.fullmatch(query) is None:
        return False
    return _begins(query) and _NOTHING.fullmatch(query) is not None
