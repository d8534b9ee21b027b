"""Whether words that would say what holds are told: "Tell me about my sister" and "And my sister?" tell nothing.

Rules for orders and for questions without a mark, in English, German, Spanish, French, Italian, Portuguese, Chinese,
Japanese and Korean.
"""

from __future__ import annotations

import re
from typing import Final

from .patterns import regex

_BREAK: Final = regex(r"[.!?;:,\n。！？；：，、—–]|\s-\s")
_NEAR: Final = 200
"""How many characters a clause has at most on either side of what was found."""

_LEAD: Final = regex(
    r"""(?:[\W\d_]+|(?:and|but|so|or|also|well|ok|okay|cool|great|thanks|hey|hi|hello|please|sorry|wait|again|now|then|just
    |(?:can|could|would|will)\s+you(?:\s+please)?|und|aber|bitte|hallo|kannst\s+du(?:\s+bitte)?|y|por\s+favor|hola|et|mais
    |请|请问|那么?|帮我|麻烦)\b|(?:请问?|那么?|帮我|麻烦))*""",
    re.I | re.X,
)
_NAMES: Final = regex(
    r"""(?:my|our|mein\w*|unser\w*|mis?|nuestr\w+|m(?:on|a|es)|notre|nos|mi(?:[oae]|ei)|meus?|minhas?)\s
        (?!(?:full\s)?name\b|nom(?:br)?e?\b)
    |lieblings|我|私|僕|俺|うち|妻|夫|母|父|息子|娘|姉|妹|兄|弟|犬|猫|제|내|우리""",
    re.I | re.X,
)
"""How what was found begins where it only names somebody or something."""
_NAMED: Final = regex(r",?\s[A-ZÄÖÜÉÁÓÑ][a-zà-ÿ]+\b(?!['’])")
"""Who that is: "with my partner, James"."""

_ORDERS: Final = regex(
    r"""(?:write|tell|give|show|summari[sz]e|translate|explain|describe|draft|compose|create|make|find|search|look|list
    |remind|help|suggest|recommend|plan|generate|send|e?-?mail|call|text|read|check|compare|rewrite|pretend|imagine|draw
    |paint|sing|play|book|order|prepare|design|calculate|convert|fix|correct|improve|pick|choose|delete|remove|print
    |what\s+about|how\s+about
    |schreibe?|erzähle?|sage?|gib|zeige?|fasse?|beschreibe?|erkläre?|hilf|mache?|suche?|finde|erstelle?|empfiehl|übersetze?
    |escribe|cuéntame|dime|háblame|resume|describe|explica|dame|muéstrame|recuérdame|traduce|busca
    |écri[st]|raconte|dis|parle|résume|décris|explique|donne|montre|rappelle|traduis|cherche
    |scrivi|dimmi|raccontami|parlami|riassumi|descrivi|spiega(?:mi)?|dammi|mostrami|ricordami|traduci|cerca
    |escreva|conte|resuma|descreva|mostre|traduza|lembre|me\s(?:conte|diga|fale|lembre|explique))(?:-moi)?\b(?!['’]s)
    |(?:写|告诉|说说|介绍|总结|翻译|画|讲|给我|推荐|描述)
    |[^。！？\n]*(?:教えて|書いて|要約して|説明して|訳して)(?:ください|下さい|くれ|ほしい|欲しい)?(?:$|[。！？\n])
    |[^.!?\n]*(?:써|알려|요약해|설명해|말해)\s?(?:줘|주세요)""",
    re.I | re.X,
)
_ASKS: Final = regex(
    r"""(?:what|where|who|whose|how|why|which|when)(?:['’]?s|['’]re)\b
    |(?:what|where|who|whom|whose|how|why|which|when)\s(?!(?:i|we|my|our|he|she|they|it|you|the|an?)\b)
        (?:[\w'’-]+\s){0,3}?(?:is|are|was|were|do|does|did|am|can|could|should|would|will|has|have|had)\b
    |(?:do|does|did|is|are|am|was|were|can|could|will|would|should|shall|has|may)\s
        (?:i|you|we|my|our|he|she|they|it|the|there|this|that)\b
    |(?:wie|wo|was|wann|wer|wem|wen|warum|wieso|welche\w*)\s(?!gesagt\b|mich\b|ich\b|wir\b|man\b|du\b)
    |(?:qué|cuál|cómo|dónde|quién|cuándo|quels?|quelles?|où|comment|qui|pourquoi|est-ce\sque
        |dove|chi|quale?|quanti|(?:che\s)?cosa|come\s(?:si|sta|mai|mi)|onde|quem|como|o\sque)\b""",
    re.I | re.X,
)
_ASKED_JUST_BEFORE: Final = regex(r"\b(?:do|did|should|shall|can|could|would|will|may|whether)\s$", re.I)
_OF_ONESELF: Final = regex(
    r"(?:ho|sono|tenho|sou|tengo|soy|j['’]ai|ai-je|habe\sich|bin\sich|am\sI|do\sI\shave)\b", re.I
)
"""How a question of oneself begins, with or without the words in another order."""
_EASTERN: Final = regex("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
_ENDS: Final = frozenset("?？!.。！\n")
_MARKS: Final = ("?", "？")
_FEW: Final = 4
"""How many more words a question without a verb has: "And my brother in Ghent?"."""


def is_told(text: str, start: int, stop: int) -> bool:
    """Whether what stands between two places is told, and is no part of a question or of an order.

    Args:
        text: what somebody says.
        start: where what was found begins.
        stop: where it ends.
    """
    begin, end = _clause(text, start, stop)
    if _ASKED_JUST_BEFORE.search(text, begin, start) or _is_asked(text, (begin, end), start, stop):
        return False
    if not _NAMES.match(text, start) or _NAMED.match(text, stop):
        return True
    opening = _begins_at(text, begin)
    if opening <= start and (_ORDERS.match(text, opening) or _ASKS.match(text, opening)):
        return False
    return opening != start or _EASTERN.match(text, start) is not None or not _is_fragment(text, (begin, end), stop)


def _clause(text: str, start: int, stop: int) -> tuple[int, int]:
    begin = max((each.end() for each in _BREAK.finditer(text, max(0, start - _NEAR), start)), default=0)
    end = _BREAK.search(text, stop, stop + _NEAR)
    return begin, end.start() if end else min(len(text), stop + _NEAR)


def _begins_at(text: str, begin: int) -> int:
    """Where a clause begins after what leads in to it."""
    found = _LEAD.match(text, begin)
    return found.end() if found else begin


def _is_asked(text: str, clause: tuple[int, int], start: int, stop: int) -> bool:
    """Whether what was found is a short question of its own, by the mark behind it: "Sono celiaca?"."""
    begin, end = clause
    if text[end : end + 1] not in _MARKS or len(text[stop:end].split()) > _FEW:
        return False
    opening = _begins_at(text, begin)
    if _BREAK.search(text, start, stop):
        return False
    return opening == start or _OF_ONESELF.match(text, opening) is not None


def _is_fragment(text: str, clause: tuple[int, int], stop: int) -> bool:
    """Whether a clause that begins with a name of somebody says no more of him, or asks in a few words."""
    begin, end = clause
    more = len(text[stop:end].split())
    if text[end : end + 1] in _MARKS:
        return more <= _FEW
    alone = not text[:begin].strip() or text[:begin].rstrip()[-1] in _ENDS
    return more == 0 and alone and (end >= len(text.rstrip()) or text[end] in _ENDS)
