"""Which words before a colon are a speaker's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .patterns import regex

ROLES: Final[Mapping[str, str]] = {
    **{name: name for name in ("user", "assistant", "system", "tool")},
    **dict.fromkeys(("human", "用户", "用戶", "使用者", "ユーザー", "사용자"), "user"),
    **dict.fromkeys(("ai", "bot", "model", "助手", "助理", "アシスタント", "어시스턴트"), "assistant"),
    "developer": "system",
    "function": "tool",
}
"""The role that each name stands for in chat APIs, frameworks and transcripts; names in lower case."""

ASIDES: Final = frozenset(
    "note notes nb ps pps re fwd fyi edit update warning tip hint reminder todo example question answer q a http https "
    "monday tuesday wednesday thursday friday saturday sunday 注意 注 备注 例如 另外".split()
)
"""Words that stand before a colon and are no names; case-folded."""

_LABELS: Final = frozenset(
    "action agenda attention attachment attachments caution chapter conclusion context decision definition first "
    "finally important item key last location next one part place point problem remember result results second "
    "section solution step subject summary task then third thought time title topic total achtung antwort aufgabe "
    "beispiel ergebnis fazit frage hinweis punkt schritt thema titel wichtig zusammenfassung ejemplo nota pregunta "
    "respuesta exemple question réponse remarque résumé tema".split()
)
"""More of them, which a transcript may have as names, such as Part: there a name has to come again."""

_WORD: Final = regex(r"[^\W\d_][\w'’.-]*")
_PARTICLES: Final = frozenset("al bin da de del della den der di do dos du el la le ter van von y zu".split())
_MOST_WORDS: Final = 4


def is_name(words: str) -> bool:
    """Whether the words are up to four with capitals, or of a script without them, and none is one for an aside."""
    parts = words.split()
    if not 0 < len(parts) <= _MOST_WORDS or not all(map(_WORD.fullmatch, parts)):
        return False
    folded = [part.casefold().strip(".") for part in parts]
    is_written = all(not part[0].islower() or part in _PARTICLES for part in parts) and not parts[-1][0].islower()
    return is_written and (ASIDES | _LABELS).isdisjoint(folded)
