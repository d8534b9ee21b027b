"""Whether a question asks for the first or the last time of something that was told several times.

In English, German, Spanish, French, Italian, Portuguese, Chinese, Japanese and Korean.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from .wording import folded_case, is_signed, signs, wording

End: TypeAlias = Literal["first", "last", ""]
"""Which of several times is asked for."""

_LONGEST: Final = 300
"""How many characters such a question has at most."""

_PERIOD: Final = r"(?:few|two|three|four|\d+|day|night|week|weekend|month|year|summer|winter|spring|autumn|name|chance)"
_LAST_SIGNS: Final = signs(
    "last|recent|latest|how long ago|how long since|how long has it been|zuletzt|letzte|últim|dernièr|ultima"
    "|上次|上一次|最后一次|最近一次|最後|前回|마지막|지난번"
)
_LAST: Final = wording(
    rf"""
    when (?:did|was|were|had|have|has)\b.{{0,80}}\blast(?! {_PERIOD})|when was (?:the|my|our) last(?! {_PERIOD})
    (?:the|my|our) (?:very )?(?:last time|most recent|latest)|the last .{{1,30}} (?:that )?(?:I|we)
    how long (?:ago|since|has it been since)|most recently
    zuletzt|(?:das|zum) letzten? mal|(?:mein|unser|der|die|das) letzte[rns]? (?:\w+ )?(?:besuch|termin|mal)
    por última vez|la última vez|pour la dernière fois|la dernière fois|(?:per l'|l')ultima volta|[pd]?ela última vez
    """,
    anywhere="上次|上一次|最后一次|最近一次|最後に|最後の|前回|마지막으로|마지막|지난번",
)
_FIRST_SIGNS: Final = signs("first|erste|primer|premièr|prima volta|primeira|第一次|首次|初めて|はじめて|最初|처음|첫")
_FIRST: Final = wording(
    r"""
    when (?:did|was|were|had|have|has)\b.{0,80}\bfirst(?! (?:name|aid|class|floor|half)\b)|(?:for )?the first time
    (?:das|zum) ersten? mal|por primera vez|la primera vez|pour la première fois|la première fois
    (?:per )?la prima volta|pela primeira vez|a primeira vez
    """,
    anywhere="第一次|首次|初めて|はじめて|最初に|처음으로|처음|첫",
)


def end_asked(query: str) -> End:
    """Which of several times a question asks for: "When did I last see a dentist?"."""
    if len(query) > _LONGEST:
        return ""
    folded = folded_case(query)
    if is_signed(folded, _LAST_SIGNS) and _LAST.search(query):
        return "last"
    return "first" if is_signed(folded, _FIRST_SIGNS) and _FIRST.search(query) else ""
