"""Questions for an overview: a summary of what was said, how something went on, in which order things came up.

Rules for English, German, Spanish, French, Italian, Portuguese, Chinese, Japanese and Korean.
"""

from __future__ import annotations

from typing import Final

from .intents import tells_of_others
from .replies_asked import asks_of_replies
from .wording import folded_case, is_signed, signs, wording

_LONGEST: Final = 400
"""How many characters such a question has at most: what is longer brings along what it wants summed up."""

_SIGNS: Final = signs(
    "summ|recap|overview|walk |order|progress|evolve|develop|history|timeline|from start|from the start|from beginning|"
    "so far|everything|zusammen|überblick|übersicht|reihenfolge|verlauf|entwickelt|bisher|alles|resum|résum|riass|"
    "orden|ordre|ordine|ordem|evolu|avan|todo|tout|tutto|tudo|总结|概述|概括|回顾|梳理|顺序|"
    "まとめ|要約|概要|振り返|順番|経緯|요약|정리|개요|순서|되돌아|돌아보"
)
_OF_US: Final = r"(?:I|we|I've|we've|me|us|my|our)"
_OVERVIEW: Final = wording(
    rf"""
    (?:summari[sz]e|recap|sum up|outline)\b.{{0,160}}\b{_OF_US}
    (?:summary|recap|overview|outline) of\b.{{0,160}}\b{_OF_US}
    (?:summary|overview|outline) (?:that|covering) .{{0,160}}\b(?:discuss|project|process|progress)\w*
    walk me through\b.{{0,160}}\b{_OF_US}|(?:order|sequence) in which {_OF_US}
    in (?:what|which) order (?:did|have) {_OF_US}
    {_OF_US}\b.{{0,200}}\bin (?:the )?(?:chronological |right )?order|(?:timeline|history) of (?:my|our)
    how (?:did|have|has) (?:my|our|I|we)\b.{{0,160}}\b(?:progress|evolve|unfold|come along|develop\w* (?:over|since))\w*
    {_OF_US}\b.{{0,160}}\bfrom (?:the )?(?:start|beginning) to (?:the )?(?:finish|end|now)
    everything {_OF_US} (?:\w+ ){{0,2}}(?:did|done|discussed|covered|talked|said|told|built|tried|worked)
    what (?:have|did) (?:I|we)\b.{{0,80}}\bso far
    fass\w*\b.{{0,160}}\b(?:ich|wir|mein\w*|unser\w*|mir|uns)\b.{{0,120}}\bzusammen
    fass\w*\b.{{0,40}}\bzusammen\b.{{0,120}}\b(?:ich|wir|mein\w*|unser\w*)
    (?:zusammenfassung|überblick|übersicht)\b.{{0,100}}\b(?:ich|wir|mein\w*|unser\w*)
    (?:in )?welche[rn]? reihenfolge (?:habe?n?|bin|sind) (?:ich|wir)|reihenfolge, in der (?:ich|wir)
    (?:verlauf|geschichte|entwicklung) (?:meine[rs]?|unsere[rs]?)|wie hat sich (?:mein|unser)\w*\b.{{0,120}}\bentwickelt
    alles,? was (?:ich|wir)|was (?:habe ich|haben wir)\b.{{0,80}}\bbisher
    resúm[ei]\w*\b.{{0,160}}\b(?:mis?|nuestr[oa]s?|he|hemos|\w+mos)
    resum(?:e|en) .{{0,120}}\b(?:mis?|nuestr[oa]s?|\w+mos)
    resumen de\b.{{0,120}}\b(?:mis?|nuestr[oa]s?|he|hemos|\w+mos)|en qué orden|todo lo que (?:he|hemos|\w+mos|\w+é)
    cómo (?:ha|han) (?:evolucionado|avanzado|progresado) (?:mis?|nuestr[oa]s?)
    résume\w*\b.{{0,160}}\b(?:mon|ma|mes|notre|nos|j'ai|nous|on)
    résumé de\b.{{0,120}}\b(?:mon|ma|mes|notre|nos|j'ai|nous)
    dans quel ordre|tout ce que (?:j'ai|nous|on)
    comment (?:mon|ma|mes|notre|nos)\b.{{0,120}}\b(?:évolué|avancé|progressé)
    riassum\w+\b.{{0,160}}\b(?:mi[oa]|miei|mie|nostr[oaie]|ho|abbiamo)|in (?:che|quale) ordine
    tutto quello che (?:ho|abbiamo)
    resum[ao]\b.{{0,160}}\b(?:meus?|minhas?|nossos?|nossas?|fiz|fizemos|\w+mos)|em que ordem|tudo o que (?:eu|nós|fi\w+)
    """,
    anywhere=r"""
    (?:总结|概述|概括|回顾|梳理).{0,60}(?:我|咱)|(?:我|咱).{0,60}(?:总结|概述|概括|回顾|梳理)(?:一下)?[。？?!！]?$
    (?:我|咱).{0,60}(?:按|什么|先后).{0,6}(?:顺序)|(?:按|什么|先后).{0,6}顺序.{0,60}(?:我|咱)
    (?:これまで|今まで|私|僕|俺|話した|相談した).{0,60}(?:まとめ|要約|概要|振り返|順番|経緯)
    (?:지금까지|그동안|내가|제가|우리|내|제).{0,60}(?:요약|정리해|개요|순서|되돌아|돌아보)
    """,
)
_ORDER: Final = wording(
    r"""
    order|sequence|reihenfolge|orden|ordre|ordine|ordem
    """,
    anywhere="顺序|先后|順番|순서",
)
_MATERIAL: Final = wording(
    r"""
    (?:this|these|that|the following|the attached|below) (?:\w+ ){0,2}(?:text|article|mails?|e?-?mail|document|page)
    (?:this|these|that|the following|the attached|below) (?:\w+ ){0,2}(?:paragraph|passage|paper|report|notes)
    (?:diese[nmrs]?|folgende[nmrs]?) (?:\w+ ){0,2}(?:text|artikel|e?-?mail|dokument|absatz|bericht|brief|notizen)
    (?:est[ea]|ce|cet|cette|quest[oa]) (?:\w+ ){0,2}(?:text[oe]|artículo|article|articolo|artigo|documento?|correo)
    """,
    anywhere="下面的|以下|这篇|这段|次の|この(?:文|記事|メール)|다음(?:의|\\s)?(?:글|내용|문장)",
)
"""What the question brings along, or has just been shown."""

_ALL_SIGNS: Final = signs(
    "everything|all|every|each|topics|subjects|so far|until now|up to now|to date|over the|over time|conversations|"
    "chats|discussions|sessions|alles|bisher|gespräche|themen|sitzungen|todo|todas|hasta ahora|temas|charlas|tudo|"
    "conversaciones|tout|jusqu|sujets|thèmes|finora|tutt|argomenti|conversazioni|até agora|conversas|assuntos|所有|"
    "全部|过|都|哪些|目前为止|至今|今まで|これまで|すべて|모든|전체|지금까지|그동안|이제까지|우리|"
    "cosas|qué hemos|总结|概括|回顾|話題"
)
_SPOKEN: Final = r"(?:talked|talk|spoken|discussed|discuss|covered|cover|said|told|mentioned|chatted|asked|written)"
_TO_DATE: Final = r"(?:so far|until now|up to now|to date)"
_ALL: Final = wording(
    rf"""
    everything (?:that )?{_OF_US} (?:\w+ ){{0,2}}{_SPOKEN}|{_OF_US}(?=\b.{{0,40}}\b{_TO_DATE}\b)
    (?:all|each|every)(?: of)? (?:the |our |my )?(?:\w+ )?(?:conversation|chat|session|discussion|topic|subject|talk)s?
    (?:what|which) (?:\w+ )?(?:topic|subject|thing)s? (?:did|have|had) (?:we|I)|over (?:time|the (?:weeks|months|years))
    (?:summari[sz]e|recap|summary of|overview of) (?:our|my|the) (?:conversations|chats|sessions|discussions|talks)
    alles,? (?:was|worüber|wovon) (?:ich|wir)
    alle[nr]? (?:unsere[nr]? |meine[nr]? )?(?:gespräche\w*|sitzungen|chats|themen)
    (?:unsere[nr]?|meine[nr]?) (?:gespräche\w*|sitzungen|chats)|welche[nr]? themen|bisher
    todo lo que (?:hemos|te he|\w+mos|te \w+é)|(?:hemos )?(?:\w+ )?hasta ahora|todas (?:nuestras|las) \w+
    (?:de |sobre )?qué (?:temas|cosas)|sobre qué hemos hablado|nuestras (?:conversaciones|charlas)
    tout ce (?:que|dont)|jusqu'(?:ici|à présent|à maintenant)
    toutes nos \w+
    nos (?:conversations|discussions)|(?:de )?quels (?:sujets|thèmes)|finora|tutto (?:quello|ciò) (?:che|di cui)
    tutte le nostre \w+|le nostre conversazioni|(?:di )?quali argomenti|até agora|tudo o que|todas as nossas \w+
    nossas conversas|(?:de|sobre) que assuntos
    """,
    anywhere=r"""
    (?:所有|全部|我们的?每一?).{0,6}(?:对话|聊|谈|话题|说)|(?:到目前为止|目前为止|迄今|至今|一直以来).{0,14}(?:聊|谈|说|讨论)
    (?:聊|谈|讨论|说)过(?:的)?(?:什么|哪些|所有|话题|内容)|都(?:聊|谈|讨论|说)(?:了|过)(?:些)?(?:什么|哪些)
    (?:今まで|これまで).{0,14}(?:話|相談|会話)|(?:全部|すべて|全て)の?(?:話|会話|内容)
    (?:总结|概括|回顾)(?:一下)?(?:我们|咱们)的?(?:对话|聊天|谈话)|どんな話題
    우리(?:의|가 나눈)? (?:대화|얘기|이야기)[를을]? (?:요약|정리)
    (?:지금까지|그동안|이제까지).{0,14}(?:얘기|이야기|대화|말)|(?:모든|전체)\s?(?:대화|얘기|이야기)
    """,
)

_LEAD: Final = wording(
    rf"""
    {_TO_DATE}
    (?:give|show|write|make|tell) me (?:an?|the) (?:\w+ )?(?:overview|summary|recap|list) of|list
    walk me through|in (?:the right |chronological )?order|one by one|in short
    gib mir (?:bitte )?eine[n]? (?:\w+ )?(?:überblick|übersicht|zusammenfassung) (?:über|von)
    haz(?:me)? un resumen de|fais-moi un résumé de|fammi un riassunto di|faça um resumo de
    """
)
"""How one asks for an overview of whatever comes next, and until when."""


def asks_of_all_sessions(query: str) -> bool:
    """Whether a question is about all that was ever said, and names no subject: "What have we talked about so far?"."""
    if len(query) > _LONGEST or not is_signed(folded_case(query), _ALL_SIGNS):
        return False
    return _ALL.search(query) is not None and not tells_of_others(_ALL.sub(" ", _LEAD.sub(" ", query)))


def asks_for_overview(query: str) -> bool:
    """Whether a question wants much in short rather than little in full: "Walk me through my project so far".

    Not where it brings along what is to be summed up, or asks of the assistant's replies.
    """
    if len(query) > _LONGEST or not is_signed(folded_case(query), _SIGNS):
        return False
    return _OVERVIEW.search(query) is not None and _MATERIAL.search(query) is None and not asks_of_replies(query)


def asks_for_order(query: str) -> bool:
    """Whether a question for an overview wants what came up in its order: "In which order did I mention …?"."""
    return len(query) <= _LONGEST and _ORDER.search(query) is not None
