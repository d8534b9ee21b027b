"""What somebody is or is no longer, told in a few words: in work, or together with somebody; in seven languages."""

from __future__ import annotations

from typing import Final

from ..text.wording import wording

_EMPLOYED: Final = wording(
    r"""
    (?:I|I'm|I am) work(?:ing)? (?:(?:full|part)[- ]time )?(?:as an?|at|for an?(?! (?:few|hour|while|couple|day))) \w+
    ich arbeite (?:\w+ )?(?:als|bei|beim|in einem|in einer) \w+
    trabajo (?:de|como|en un|en una|para una?) \w+
    je travaille (?:\w+ )?(?:comme|chez|dans une?|pour une?) \w+
    """,
    anywhere="""
    ^我?在[^，。,]{1,10}(?:上班|工作)
    で働いています|に勤めて|에서 (?:일해|일하고|근무)
    """,
)
_ENDS: Final = r"(?=\W*$|[,.;!?)]| (?:at|in|on|and|so|but|because|last|yesterday|today|this|two|as|to|after|over)\b)"
"""What stands behind what is told of nothing else: not "I lost my job offer"."""
_QUIT: Final = wording(
    rf"""
    (?<!if\s)(?<!when\s)(?<!before\s)(?<!after\s)(?<!until\s)I(?:'ve| have)? (?:just )?(?:quit|left|lost) my job{_ENDS}
    (?:I|I've|I have) (?:just |finally )?(?:resigned|retired)(?= from my\b|\W*$| (?:yesterday|today|this)\b)
    (?:I was|I got|I've been) (?:just )?(?:laid off|fired(?! up)|made redundant)
    (?:ich habe?|habe? ich) (?:\w+ ){{0,2}}(?:meinen job|meine (?:stelle|arbeit)) (?:\w+ ){{0,2}}(?:gekündigt|verloren)
    (?:dejé|he dejado|perdí|he perdido|renuncié a) mi (?:trabajo|empleo)|me (?:despidieron|han despedido)
    (?:j'ai|je viens de) (?:\w+ )?(?:quitté?e?r?|perdue?|perdre) mon (?:travail|boulot|emploi|poste|job)
    j'ai (?:\w+ )?démissionné(?! d[eu]s? (?!mon))
    """,
    anywhere="""
    我(?:已经|刚|刚刚|昨天|今天|上周)?(?:从[^，。,]{1,8})?(?:辞职|离职)了|我(?:被裁|被辞退|失业)了?
    会社を辞め(?:まし)?た|退職しました|회사를 그만뒀|퇴사했
    """,
)
_TOGETHER: Final = wording(
    r"""
    (?:I'm|I am) (?:dating|married|engaged(?! (?:in|with)\b))|I'm seeing (?:someone|a (?:guy|girl|man|woman))
    (?:I|we)(?: just|'ve| have)? (?:got|gotten) (?:married|engaged)|my (?:husband|wife) and I got married
    ich bin (?:seit \w+ (?:\w+ )?)?(?:verheiratet|verlobt)|(?:wir haben|ich habe) (?:\w+ ){0,2}geheiratet
    estoy (?:casad[oa]|comprometid[oa]|saliendo con)|nos (?:casamos|hemos casado)|me (?:casé|he casado)
    je suis (?:mariée?|fiancée?|en couple)|(?:on s'est|nous nous sommes) mariée?s?
    """,
    anywhere="我(?:已经)?结婚了|我(?:已经)?订婚了|私は結婚して|結婚しました|저는 결혼했",
)
_APART: Final = wording(
    rf"""
    (?:I'm|I am) single(?!-)
    (?:(?-i:[A-Z])\w+ and I|we)(?:'ve| have)? (?:just )?(?:broken? up|split up|separated|got divorced){_ENDS}
    ich bin (?:wieder )?single
    (?:wir haben uns|(?-i:[A-Z])\w+ und ich haben uns) (?:\w+ ){{0,3}}(?:getrennt|scheiden lassen)
    estoy solter[oa]
    (?-i:[A-Z])\w+ y yo (?:lo dejamos|lo hemos dejado|rompimos|hemos roto|nos (?:separamos|hemos separado))
    je suis célibataire|(?-i:[A-Z])\w+ et moi,? (?:on s'est|nous nous sommes|avons) (?:séparée?s?|rompu)
    """,
    anywhere="我(?:现在)?(?:是)?单身|我们分手了|(?:我和|我跟)[^，。,]{1,6}(?:分手|离婚)了|独身です|別れました|헤어졌",
)
_ANOTHER_TIME: Final = wording(
    r"""
    (?:in|im jahr|en|en el año) (?:19|20)\d\d|last year|back in|letztes jahr|el año pasado|l'an(?:née)? derni\w+
    on (?:the )?(?:weekends?|side)|am wochenende|nebenbei|los fines de semana|le week-end
    """,
    anywhere="[去前]年|周末|週末",
)
"""When something was so, or is so besides: what holds is not told."""
_STATES: Final = (
    ("work", _EMPLOYED, True),
    ("work", _QUIT, False),
    ("couple", _TOGETHER, True),
    ("couple", _APART, False),
)


def states_in(clause: str) -> dict[str, bool]:
    """Which states a clause tells, each with whether it holds.

    Args:
        clause: its words.
    """
    found = {state: holds for state, rule, holds in _STATES if rule.search(clause)}
    return {} if found and _ANOTHER_TIME.search(clause) else found
