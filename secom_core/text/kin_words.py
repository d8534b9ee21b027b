"""Other words for what a question asks of a life: a wedding is told as "we got married", a refusal as "turned me down".

For two kinds of questions, which are answered by what users told in passing: when something was, or for how long
("When is our wedding anniversary?"), and which ones of a kind there were ("Which companies rejected me?").
"""

from __future__ import annotations

from typing import Final

from .irregular import irregular_forms
from .life_events import life_event
from .totals import asks_in_all
from .wording import folded_case, is_signed, signs, wording

_LONGEST: Final = 300
"""How many characters such a question has at most."""

_WEIGHT: Final = 0.5
"""What such words weigh beside those of the question."""

_WHEN_SIGNS: Final = signs(
    "when|how long|how old|since|anniversar|wann|wie lange|seit|wie alt|hochzeitstag|jahrestag|cuándo|cuánto tiempo"
    "|desde|aniversario|quand|depuis|combien de temps|anniversaire"
    "|什么时候|多久|几年|周年|いつ|何年|記念日|언제|얼마나|기념일"
)
_WHEN: Final = wording(
    r"""
    when (?:did|was|were|is|are|have|has)|how long (?:have|has|had|was|were|did|ago|is)|since when|how old|anniversar\w+
    wann|wie lange|seit wann|wie alt|hochzeitstag|jahrestag|desde cuándo|cuándo|cuánto tiempo|aniversario
    quand|depuis quand|depuis combien de temps|combien de temps|anniversaire
    """,
    anywhere="什么时候|多久|几年|周年|いつ|何年|記念日|언제|얼마나|기념일",
)
_KINDS: Final = tuple(
    (wording(asked).search, words)
    for asked, words in (
        (
            r"""
            reject\w*|turned? (?:\w+ ){0,2}down|refus\w+|declin\w+|said no
            abgelehnt|ablehn\w*|absagen?|abgesagt
            """,
            "rejected rejection declined refused turned application absage abgesagt abgelehnt ablehnung",
        ),
        (
            r"cancel\w*|unsubscrib\w+|subscriptions?|memberships?|gekündigt|kündig\w*|abbestellt|abos?|abonnements?",
            "cancelled cancel quit notice unsubscribed subscription membership gekündigt kündigung abbestellt abo",
        ),
        (
            r"kids?|child(?:ren)?|kinder?",
            "kid child children son daughter baby twins boy girl kind kinder sohn tochter",
        ),
        (r"stolen|stole|robbed|gestohlen|geklaut", "stolen stole robbed burgled gestohlen geklaut"),
    )
)


def other_words(query: str) -> list[tuple[str, float]]:
    """The irregular forms of a short question's words, and their kin, with what they weigh beside its own."""
    return [*irregular_forms(query), *kin_words(query)]


def kin_words(query: str) -> list[tuple[str, float]]:
    """Other words for what a question asks when it was, or which ones there were, with what they weigh beside its own.

    Args:
        query: the question; any other has none.
    """
    words = _kin_words(query) if len(query) <= _LONGEST else ""
    return [(words, _WEIGHT)] if words else []


def _kin_words(query: str) -> str:
    if is_signed(folded_case(query), _WHEN_SIGNS) and _WHEN.search(query) and (event := life_event(query)):
        return event.words
    if not asks_in_all(query):
        return ""
    return next((words for asked, words in _KINDS if asked(query)), "")
