"""Questions that are answered by what a user told over many turns: how many, how much, how often, which ones.

Rules for English, German and Chinese.
"""

from __future__ import annotations

from typing import Final

from .intents import asks_of_replies
from .speech import only_asks
from .wording import folded_case, is_signed, signs, wording

_LONGEST: Final = 300
"""How many characters such a question has at most."""

_SIGNS: Final = signs(
    "how |which|what|where|list|name|all |who|wie|welche|nenn|alle|überall|几|多少|哪些|一共|总共|共计|累计|列出"
)
_TIME: Final = r"(?:\w+ )?(?:days|weeks|months|hours|minutes|time|tage|wochen|monate|stunden|zeit)"
_APART: Final = r"(?:between|passed|until|left|since|zwischen|vergangen|bis|seit)"
_SEVERAL: Final = r"(?:\w+(?<!s)s|people|children)"
_DONE: Final = r"(?:\w+ed|gave|told|sent|said|paid|cost|made|let|left|took|brought|lent|wrote|hurt)"
_IN_ALL: Final = wording(
    rf"""
    how (?:many|often|much)(?! {_TIME}\b.{{0,40}}\b{_APART}\b)\b.{{0,120}}\b(?:I|we|my|our|me|us)
    (?:which|what) (?:\w+ ){{0,2}}{_SEVERAL} (?:\w+ ){{0,4}}(?:have|did|had|am|are|were) (?:I|we)
    (?:list|name|enumerate) (?:\w+ ){{0,3}}(?:all|every|each|my|our)|all (?:of )?(?:my|our|the \w+(?: \w+)? (?:I|we))
    (?:what|which) \w+s (?:are|were) in (?:my|our)|(?:who|whom) (?:has|have|did|had) .{{0,40}}\b(?:I|we|me|us|my|our)
    (?:what (?:did|have|has|does))\b.{{0,80}}\bcost (?:me|us)
    (?:which|what) (?:\w+ ){{0,2}}{_SEVERAL} (?:(?:have|had) )?{_DONE} (?:\w+ ){{0,2}}(?:me|us|my|our)
    (?:which|who) of (?:my|our)|(?:what|where|whom?) have (?:I|we)(?! (?:got|to|been (?:thinking|feeling))\b)
    what (?:has|have) (?:all )?been (?:\w+ ){{1,3}}(?:me|us|my|our)|who owes (?:me|us)
    wie\s?(?:viele?n?|oft)(?! {_TIME}\b.{{0,40}}\b{_APART}\b)\b.{{0,120}}\b(?:ich|wir|mein\w*|unser\w*|mir|mich|uns)
    welche[nrms]? (?:\w+ ){{1,4}}?(?:habe?n?|hatten?|bin|sind|waren?) (?:ich|wir|mich|mir|uns)
    welche[rs]? (?:von )?(?:meine[rn]|unsere[rn])
    (?:was|wen|wem|wer)\b.{{0,40}}\b(?:ich|wir|mich|mir|uns) (?:schon )?alles
    (?:wo|wohin)\b.{{0,40}}\b(?:ich|wir) (?:schon )?überall
    (?:liste|nenne?|zähle?)\b.{{0,30}}\b(?:alle|meine?|unsere?)|alle (?:meine|unsere|\w+,? die (?:ich|wir))
    """,
    anywhere="我.{0,30}(?:几|多少|哪些|一共|总共|共计|累计)|(?:一共|总共|共计|累计).{0,30}我|列出.{0,10}(?:我|所有)",
).search
_OF_QUESTIONS: Final = wording(
    r"(?:ask(?:ed|ing)?|questions?|gefragt|fragen?)(?! (?:him|her|them|for (?:a|the|my))\b)", anywhere="问"
).search
"""What is asked about that a question of the user may be, or end in."""

_PERHAPS: Final = wording(
    r"""
    (?:can|should|do|could|must|may|would|shall|will|am) (?:I|we)|(?:kann|soll|sollte|muss|darf|könnte) (?:ich|wir)
    """
)
"""How one asks of anybody, oneself included: "How do I oil a chain?"."""
_SELF: Final = wording(
    "I|my|mine|myself|me|we|our|ours|us|ich|mein[a-z]*|mir|mich|wir|unser[a-z]*|uns", anywhere="我"
).search


def asks_in_all(query: str) -> bool:
    """Whether a question asks for what the user told in several turns: "How many books have I read?".

    Not where it asks of the assistant's replies, or of what the user asked.
    """
    if len(query) > _LONGEST or not is_signed(folded_case(query), _SIGNS):
        return False
    return _IN_ALL(query) is not None and not asks_of_replies(query) and _OF_QUESTIONS(query) is None


def tells_of_nobody(text: str) -> bool:
    """Whether what a user says only asks, and of nothing that is his: "How much does a bike cost?"."""
    return only_asks(text) and _SELF(_PERHAPS.sub(" ", text)) is None
