"""What somebody is or is no longer, told in a few words: in work, or together with somebody; in seven languages."""

from __future__ import annotations

import re
from typing import Final

from ..text.patterns import regex
from ..text.wording import wording

_MONTH: Final = (
    "january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|winter"
)
_ENDS: Final = (
    r"(?=\W*$|[,.;!?)]| (?:and|so|but|because|last|yesterday|today|this|two|three|after|over|as)\b"
    rf"| (?:at|from) (?-i:[A-Z])| from my job\b| on \w+day\b| in (?:{_MONTH})\b"
    r"| to (?:become|start|study|travel|work)\b)"
)
"""What stands behind what is told of nothing else: not "I lost my job offer", "I left my job at 5"."""
_WHEN: Final = (
    r"(?=\W*$|[,.;!?)]"
    rf"| (?:last|two|three|a (?:few|couple|week|month)|recently|this (?:week|month|year)|in (?:{_MONTH}))\b"
    r"| (?:la semana|el (?:mes|año)|hace|y|pero|la semaine|le mois|l'année|il y a|et|mais|en \p|und|aber)\b)"
).replace(r"\p", r"(?:ene|feb|mar|abr|may|jun|jul|ago|sep|oct|nov|dic|jan|fév|avr|mai|jui|aoû|déc)\w+")
"""What stands behind what is told of two people, and not of how they went or what they took apart."""
_LATELY: Final = (
    r"(?: (?:leider|jetzt|nun|gerade|endlich|gestern|letzte\w?|vorige\w?|diese\w?|vor|im|zwei|drei|eine[mr]|paar"
    r"|wochen?|monat\w*|jahr\w*|frühjahr|frühling|sommer|herbst|winter|januar|februar|märz|april|mai|ju[nl]i|august"
    r"|september|oktober|november|dezember)){0,4}"
)
_EMPLOYED: Final = wording(
    r"""
    (?:I|I'm|I am) work(?:ing)? (?:(?:full|part)[- ]time )?as an? (?!(?:volunteer|team)\b)\w+
    (?:I|I'm|I am) work(?:ing)? (?:(?:full|part)[- ]time )?(?:at|for) (?-i:[A-Z])\w+
    (?:I|I'm|I am) work(?:ing)? (?:(?:full|part)[- ]time )?(?:at|for) an? (?!few|hour|while|couple|exam|test)\w+
    ich arbeite (?:\w+ )?(?:als|bei|beim|in einem|in einer) \w+
    (?:(?<!\w\s)|(?<=\byo\s)|(?<=\by\s))trabajo (?:de(?! (?:noche|día)\b)|como|en un|en una|para una?) \w+
    je travaille (?:\w+ )?(?:comme(?! une? fou)|chez|dans une?(?! heure)|pour une?(?! exam)) \w+
    """,
    anywhere="""
    ^我?在(?!家)[^，。,]{1,10}(?:上班|工作)
    で働いています|に勤めて|에서 (?:일해|일하고|근무)
    """,
)
_QUIT: Final = wording(
    rf"""
    (?<!if\s)(?<!when\s)(?<!before\s)(?<!after\s)(?<!until\s)I(?:'ve| have)? (?:just )?(?:quit|left|lost) my job{_ENDS}
    (?:I|I've|I have) (?:just |finally )?(?:resigned|retired)(?= from my job\b|\W*$| (?:yesterday|today|this \w+)\W*$)
    (?:I was|I got|I've been) (?:just )?(?:laid off|fired|made redundant){_ENDS}
    (?:ich habe?|habe? ich) (?:\w+ ){{0,2}}(?:meinen job|meine stelle) (?:\w+ ){{0,2}}(?:gekündigt|verloren)
    (?:ich habe?|habe? ich) (?:\w+ ){{0,2}}meine arbeit (?:\w+ ){{0,2}}gekündigt
    (?:dejé|he dejado|renuncié a) mi (?:trabajo|empleo)(?! (?:sin|a las?|para|encima|sobre|en (?:casa|la))\b)
    (?:perdí|he perdido) mi empleo|me (?:despidieron|han despedido)(?! (?:en|con)\b)
    (?:j'ai|je viens de) (?:\w+ )?quitté?e?r? mon (?:travail|boulot|emploi|poste|job)(?! (?:à|vers|pour|plus)\b)
    (?:j'ai|je viens de) (?:\w+ )?(?:perdue?|perdre) mon (?:boulot|emploi|job)
    j'ai (?:\w+ )?démissionné(?! d[eu]s? (?!mon))
    """,
    anywhere="""
    我(?:已经|刚|刚刚|昨天|今天|上周)?(?:从[^，。,]{1,8})?(?:辞职|离职)了|我(?:被裁|被辞退|失业)了?
    会社を辞め(?:まし)?た|退職しました|회사를 그만뒀|퇴사했
    """,
)
_TOGETHER: Final = wording(
    r"""
    (?:I'm|I am) (?:married(?! to my (?:work|job))|engaged(?! (?:in|with|as|by|on|at)\b))
    (?:I'm|I am) dating (?=(?-i:[A-Z])|an?\b|some)|I'm seeing (?:someone|a (?:guy|girl|man|woman))
    (?:I|we)(?: just|'ve| have)? (?:got|gotten) (?:married|engaged)|my (?:husband|wife) and I got married
    ich bin (?:seit \w+ (?:\w+ )?|mit (?-i:[A-Z])\w+ )?(?:verheiratet|verlobt)
    (?:wir haben|ich habe) (?:\w+ ){0,2}geheiratet
    estoy (?:casad[oa]|comprometid[oa]|saliendo con)|nos (?:casamos|hemos casado)|me (?:casé|he casado)
    je suis (?:mariée?|fiancée?|en couple)|(?:on s'est|nous nous sommes) mariée?s?
    """,
    anywhere="我(?:已经|[和跟][^，。,]{1,6})?[结订]婚了|私は結婚して|結婚しました|저는 결혼했",
)
_APART: Final = wording(
    rf"""
    (?:I'm|I am) single(?!-)(?! (?:for|parent|mum|mom|dad)\b)
    (?:(?-i:[A-Z])\w+ and I|we)(?:'ve| have)? (?:just )?(?:broken? up|got divorced)(?:{_ENDS}|{_WHEN})
    (?-i:[A-Z])\w+ and I(?:'ve| have)? (?:just )?(?:split up|separated){_WHEN}
    we(?:'ve| have)? (?:just )?(?:split up|separated)(?! \W*$){_WHEN}(?= \w)
    ich bin (?:wieder )?single
    (?:wir haben uns|(?-i:[A-Z])\w+ und ich haben uns){_LATELY} (?:getrennt|scheiden lassen){_WHEN}
    estoy solter[oa]
    (?-i:[A-Z])\w+ y yo (?:lo dejamos|lo hemos dejado|rompimos|hemos roto|nos (?:separamos|hemos separado)){_WHEN}
    je suis célibataire|(?-i:[A-Z])\w+ et moi,? (?:on s'est|nous nous sommes|avons) (?:séparée?s?|rompu){_WHEN}
    """,
    anywhere="""
    我(?:现在)?(?:是)?单身|我们分手了(?!一)|(?:我和|我跟)[^，。,]{1,6}(?:分手|离婚)了|独身です
    (?:彼|彼女|夫|妻|旦那|恋人)と[^。、]{0,8}別れ(?:まし)?た
    (?:남자친구|여자친구|남친|여친|남편|아내|애인)(?:랑|와|과|하고) [^.,]{0,8}헤어졌
    """,
)
_AND: Final = "(?:and|but|und|aber|y|pero|et|mais)"
_OF_THE_END: Final = (
    r"(?:s?he|it|s?he's|it's|we're|our|I'm|I (?:am|have|need|live|want|moved|don't)|so|because|as|since|after|for good"
    r"|last|two|three|a (?:few|couple|week|month)|recently|this|in|sadly|unfortunately|amicably|finally|now|got"
    r"|divorce\w*|er|sie|es|ich (?:bin|habe?|suche|wohne|brauche|will)|leider|endlich|nach|weil|da|im|vor|letzte\w*"
    r"|jetzt|él|ella|ahora|así|hace|la semana|el mes|porque|estoy|vivo|busco|necesito|por desgracia"
    r"|il|elle|c'est|donc|le mois|parce|depuis|je (?:suis|cherche|vis|dois)|j'habite|malheureusement)\b"
)
"""How what is told next of two who are no couple any more begins: not that the party went on."""
_WENT_APART: Final = wording(
    r"(?:split up|separated|getrennt|separamos|separado|séparée?s?)"
    rf"(?:[,;] | (?={_AND}\b))(?!(?:{_AND} )?{_OF_THE_END})(?=\w)"
)
"""Two who went each another way for a while, in what else a sentence tells."""
_ANOTHER_TIME: Final = wording(
    r"""
    (?:in|im jahr|en|en el año) (?:19|20)\d\d|last year|back in|letztes jahr|el año pasado|l'an(?:née)? derni\w+
    on (?:the )?(?:weekends?|side)|am wochenende|nebenbei|los fines de semana|le week-end
    (?:at|from) home|twice|in the (?:\w+ties)
    """,
    anywhere="[去前]年|周末|週末",
)
"""When something was so, or is so besides: what holds is not told."""
_ELSEWHERE: Final = wording(
    r"""
    in (?:the|my|a|this) (?:\w+ )?(?:games?|novel|story|stories|film|movie|play|role ?play|book|simulation|show|dream)
    my (?:story|novel)|dream(?:t|ed)
    (?:im|in (?:meinem|dem|einem)) (?:\w+ )?(?:spiel|rollenspiel|roman|film|traum|buch)|(?:beim|im) schach|geträumt
    en (?:el|mi|un|la|una) (?:juego|novela|película|sueño|cuento|libro)|soñé|he soñado
    dans (?:le|mon|un|ma|la) (?:jeu|roman|film|rêve|livre|histoire)|j'ai rêvé
    """,
    anywhere="小说|游戏|主角|主人公|剧本|梦见|差点|比如|小説|ゲーム|夢|소설|게임|꿈",
)
"""Where what is told is made up."""
_OF_OTHERS: Final = regex(
    r"^(?!\W*(?:as |like |wie |como |comme )?(?:I|we|ich|wir|yo|je|j['’]|nous)\b|我说|我?[跟和对]你说)"
    r"(?:[^:：]{0,120}?\b(?:says?|said|wrote|writes|texted|(?:text|message) from|sentences?|translat\w+"
    r"|rewrite|rephrase|proofread|joke|example|sag(?:t|te)|schreibt|schrieb|nachricht von|satz|übersetze?|witz"
    r"|dice|dijo|escrib(?:e|ió)|mensaje de|frase|traduce|chiste|dit|écrit|phrase|traduis|blague)\b[^:：]{0,60}"
    r"|[^:：]{0,60}(?:说|写道|发[^:：]{0,8}消息|句话|句子|翻译|笑话|メッセージ|메시지|문장)[^:：]{0,20})[:：]",
    re.I,
)
"""What tells that words of somebody else come, or words that only stand there: "Tom wrote: I lost my job"."""
_STATES: Final = (
    ("work", _EMPLOYED, True),
    ("work", _QUIT, False),
    ("couple", _TOGETHER, True),
    ("couple", _APART, False),
)


def states_in(clause: str, sentence: str = "") -> dict[str, bool]:
    """Which states a clause tells, each with whether it holds.

    Args:
        clause: its words.
        sentence: the sentence that it stands in, which may say that all of it is made up.
    """
    found = {state: holds for state, rule, holds in _STATES if rule.search(clause)}
    if found.get("couple") is False and _WENT_APART.search(sentence):
        del found["couple"]
    return {} if found and (_ANOTHER_TIME.search(clause) or is_elsewhere(sentence)) else found


def is_elsewhere(sentence: str) -> bool:
    """Whether what a sentence tells is made up, or somebody else's words."""
    return _ELSEWHERE.search(sentence) is not None or _OF_OTHERS.match(sentence) is not None
