"""What holds of a user whatever is asked: instructions, preferences, and who somebody is; the newest of each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from ..text.hesitations import without_hesitations
from ..text.kept import KEPT, Kept
from ..text.patterns import regex
from ..text.terms import terms
from .passage_table import PassageTable
from .speaking import STANDING

_FACT: Final = STANDING.index("fact")

_ALIKE: Final = 0.5
"""The share of content words that two have in common where the newer stands for both."""

_CONDITION: Final = regex(
    r"\b(?:when(?:ever)?|if|wenn|falls|sobald|cuando|si|quand|lorsque|quando|se)\s(?:\w+\s)?"
    r"(?:I|you|we|ich|du|wir|yo|te|je|tu|io|eu|pregunt\w+|pid\w+|pergunt\w+)\b|(?:我|你|您).{0,12}(?:时|時|的话|的話)"
    r"|(?:聞|尋|質問).{0,6}(?:とき|時|場合|たら)|물(?:어|으).{0,6}(?:때|면)",
    re.I,
)
"""How an instruction says that it is for some questions only."""

_OF_ONESELF: Final = {
    "{japanese}": r"(?:^|[。、！\n])(?:(?:私|僕|俺|今|現在)[はも]?、?){0,3}[^はが。、！\n]{1,15}",
    "{korean}": r"(?:^|[.!,\n])\s?(?:(?:저는|나는|전|난|지금은?|이제|우리는?|요즘은?)\s){0,3}"
    r"(?:[가-힣]*[^은는이가\s]\s)?[가-힣]+",
}
"""How a clause begins that says nothing of anybody else, where the verb does not tell of whom it is."""


def _rule(lines: str) -> str:
    rule = "|".join(line.strip() for line in lines.strip().splitlines()).replace(" ", r"\s+").replace("'", "['’]")
    for name, opening in _OF_ONESELF.items():
        rule = rule.replace(name, opening)
    return rule


_SLOTS: Final = tuple(
    regex(_rule(pattern), re.I)
    for pattern in (
        r"""
        \bmy (?:full )?name is (?-i:[A-Z])|\bheiße\b|\bmein name ist\b|我叫|我的名字(?:是|叫)
        \bme llamo\b|\bmi nombre es\b|\bje m'appelle\b|\bmi chiamo\b|\bil mio nome è|\bmeu nome é|\bme chamo\b
        (?:私|僕|俺)の名前は|と(?:申し|言い)ます|(?:제|내) 이름은
        """,
        r"""
        \bcall me (?-i:[A-Z])|\bnenn\w* mich\b|(?:叫|称呼)我
        \bllám[ae]me\b|\bappelle[sz]?-moi\b|\bchiamami\b|\bme chame de\b|(?:と|って)呼んで|라고 불러
        """,
        r"""
        \b(?:I|we) (?:\w+ )?(?:live|moved) (?:to|in|into|near)\b|\b(?:wohne|umgezogen|gezogen)\b|我(?:现在)?住|搬到|搬去
        \b(?:vivo|vivimos) en\b|\b(?:me|nos) (?:he |hemos )?(?:mudado|mudé|mudamos)\b
        \bj'habite\b|\bje vis (?:\w+ )?(?:à|en|au)\b|\b(?:on|nous) (?:habite|habitons|vit|vivons)\b|\bdéménagé\b
        \b(?:vivo|viviamo|abito|abitiamo) (?:\w+ )?(?:a|ad|in)\b|\b(?:mi sono|ci siamo) trasferit
        \b(?:moro|moramos|vivo|vivemos) (?:\w+ )?(?:em|no|na)\b|\b(?:me mudei|nos mudamos|a gente se mudou)\b
        {japanese}(?:に住んで|に引っ?越し(?:ました|た(?![いら])))|{korean}(?:에 살(?:아|고)|로 이사(?:했|왔|갔))
        """,
        r"""
        \bI (?:\w+ )?work (?:as|at|for)\b|\bmy job is\b|\barbeite (?:\w+ )?(?:als|bei|für)\b
        我的工作是|我(?:现在)?在.{1,20}(?:工作|上班)
        \btrabajo (?:\w+ )?(?:en|de|como|para)\b|\bje travaille (?:\w+ )?(?:à|en|au|chez|pour|comme|dans)\b
        \blavoro (?:\w+ )?(?:in|come|per|presso)\b|\btrabalho (?:\w+ )?(?:em|no|na|como|para|numa?)\b
        {japanese}(?:で働いて|に勤めて)|{korean}에서 일(?:해|하고)
        """,
    )
)
"""What a user has one of: a name, another to be called by, a home, a job."""


def standing_rows(table: PassageTable, rows: Sequence[int]) -> list[int]:
    """Those of the rows that hold now, the newest first.

    What was said anew takes the place of an older one of its kind: where newer ones name the user, a home or a job, and
    the older tells no other of these, and where they share half of their content words. A fact gives way to such a
    name, home or job in newer ones of any kind, as in "We moved to Ghent, and I don't eat meat any more".

    Args:
        table: the passages.
        rows: those that say what holds from then on, in the order in which they came.
    """
    kept = [_Kept() for _ in STANDING]
    newest = list(reversed(rows))
    table.read(newest)
    found: list[int] = []
    for row in newest:
        kind, (slots, words) = int(table.stands[row]), _read(table.passage(row).text)
        told = set().union(*(each.told for each in (kept if kind == _FACT else kept[kind : kind + 1])))
        if kept[kind].takes(slots, words, told):
            found.append(row)
    return found


def who_first(table: PassageTable, rows: Sequence[int]) -> list[int]:
    """The rows with those before the others that tell who the user is, such as a name, a home or a job."""
    table.read(rows)
    return sorted(rows, key=lambda row: not any(_read(table.passage(row).text)[0]))


def unconditional_first(table: PassageTable, rows: Sequence[int]) -> list[int]:
    """The rows with those after the others that hold for some questions only: "always … when I ask about prices"."""
    table.read(rows)
    return sorted(rows, key=lambda row: _CONDITION.search(table.passage(row).text) is not None)


class _Kept:
    """The statements of one kind that hold, by their content words; each may be taken once, the newest first."""

    def __init__(self) -> None:
        self.told: set[int] = set()
        self._sizes: list[int] = []
        self._with: dict[str, list[int]] = {}

    def takes(self, slots: tuple[bool, ...], words: frozenset[str], told: Collection[int]) -> bool:
        """Whether a statement holds, as no newer one says anew what it says; then it is kept too.

        Args:
            slots: which of the `_SLOTS` it tells.
            words: its content words.
            told: which of them newer ones tell.
        """
        own = {slot for slot, is_told in enumerate(slots) if is_told}
        shared = Counter(each for word in words for each in self._with.get(word, ()))
        if (own and own.issubset(told)) or any(
            count > _ALIKE * (self._sizes[each] + len(words) - count) for each, count in shared.items()
        ):
            return False
        for word in words:
            self._with.setdefault(word, []).append(len(self._sizes))
        self._sizes.append(len(words))
        self.told |= own
        return True


def _slots_and_words(text: str) -> tuple[tuple[bool, ...], frozenset[str]]:
    text = without_hesitations(text)
    return tuple(slot.search(text) is not None for slot in _SLOTS), frozenset(terms(text))


_read: Final[Kept[str, tuple[tuple[bool, ...], frozenset[str]]]] = Kept(_slots_and_words, characters=KEPT)
