"""Times that a question tells by an event: "after the wedding", "the week before my exam", "since I moved".

In English, German, Spanish, French, Chinese, Japanese and Korean, and only in what asks for what was
(`secom_core.text.past_questions`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from .han import one_way
from .past_questions import clauses_of_the_past
from .patterns import regex
from .seasons import COUNT, NUMBERS
from .wording import folded_case, is_signed, signs, wording

Relation: TypeAlias = Literal["before", "after", "since", "during", "between"]


class EventTime(NamedTuple):
    """A time that is told by an event.

    Args:
        relation: how it lies to the event.
        event: the words for the event.
        other: the words for the event that ends it, where it lies between two.
        days: how long before or after the event it is at most, where that is told.
    """

    relation: Relation
    event: str
    other: str = ""
    days: int | None = None


_RELATIONS: Final[dict[str, Relation]] = {
    **dict.fromkeys("before until till vor bevor bis ehe antes avant".split(), "before"),
    **dict.fromkeys("after following nach nachdem después tras après".split(), "after"),
    **dict.fromkeys("since ever_since seit seitdem desde depuis".split(), "since"),
    **dict.fromkeys("while during when während als durante mientras cuando pendant quand lorsque".split(), "during"),
    **dict.fromkeys("之前 以前 前 전".split(), "before"),
    **dict.fromkeys("之后 以后 后 후".split(), "after"),
    **dict.fromkeys("以来 から 이후".split(), "since"),
    **dict.fromkeys("的时候 期间 时 とき 때 동안 중에".split(), "during"),
}
_LENGTHS: Final = {
    **dict.fromkeys("day night evening morning tag abend nacht morgen día noche jour soir".split(), 1),
    **dict.fromkeys("week weekend woche wochenende semana semaine".split(), 7),
    **dict.fromkeys("month monat mes mois".split(), 31),
    **dict.fromkeys("year jahr año an année".split(), 366),
}
_UNIT: Final = rf"(?P<unit>{'|'.join(sorted(_LENGTHS, key=len, reverse=True))})(?:s|n|en|e|es)?"
_BEGINS: Final = (
    r"(?:(?:I|we|you|he|she|they|it|my|our|his|her|their|the|that|this)\b|(?-i:[A-Z]\w)"
    r"|(?:ich|wir|er|sie|de[rmn]|das|die|meine?[rmns]?|unsere?[rmns]?|ihre?[rmn]?|seine?[rmn]?)\b"
    r"|(?:el|la|los|las|que|mi|mis|nuestr[oa]|su|me|nos|estaba|estuve|estábamos)\b|l['’]|qu['’]"
    r"|(?:le|les|mon|ma|mes|notre|je|nous|on|avoir|être)\b|[jm]['’]|\w+[aei]r(?:me|nos|se)?\b)"
)
_AND: Final = r"\s(?:and|und|y|et)\s"
_BETWEEN: Final = regex(
    rf"\b(?:between|zwischen|entre)\s(?P<event>{_BEGINS}[^,]*?){_AND}(?P<other>(?:when\s)?{_BEGINS}[^,]*)", re.I
)
_EVENT: Final = regex(
    rf"(?:\b(?:(?P<n>{COUNT}|a|an|the|in\sder|im|am|la|el|le)\s)?{_UNIT}\s)?"
    r"\b(?P<relation>before|until|till|after|following|since|while|during|when|vor|bevor|ehe|bis\szu[rm]|nach|nachdem|seit"
    r"|seitdem|während|als(?=\s(?:ich|wir|er|sie|mein|unser))|antes\sde(?:l|\sque)?|después\sde(?:l|\sque)?|tras|desde|durante|mientras|cuando|avant|après"
    rf"|depuis|pendant|quand|lorsque)\s(?P<event>(?:d['’]|de\s)?{_BEGINS}[^,]*)",
    re.I,
)
_SIGN_EVENT: Final = regex(
    r"^\W*(?P<event_ja>[^\s、]{2,14}?)(?:の|をする|した|する|った|んだ)(?P<relation_ja>前に?|後に?|とき|時)"
    r"|^\W*(?P<event_ja_te>[^\s、]{2,14}?)(?:をして|して|って|んで)(?P<relation_ja_te>から)"
    r"|^\W*(?P<event>[^\s，、,]{2,14}?)(?P<relation>之前|以前|(?<![以之年月日个周])前(?![后天年])|之后|以后|(?<![以之今])后(?!来)"
    r"|以来|的时候|期间)"
    r"|^\W*(?P<event_ko>[가-힣]{2,10}(?:\s[가-힣]{1,6})??)\s?(?P<relation_ko>전에|후에|이후로?|동안|때|중에)(?=\s|$)"
)
_PREPOSITIONS: Final = "vor", "nach", "seit", "während", "bis zu", "bis zum", "bis zur"
_NOUN_LAST: Final = regex(r".*\b[A-ZÄÖÜ]\w+")
"""A German phrase to its last noun, without the verb that ends the question."""

_PLACE: Final = regex(r"\b(?:Tür|Haus|Fenster|Garage|Spiegel|Bildschirm|Kamera|Augen|Leuten)\b")
"""What "vor" is a place of, and no time."""

_SAID: Final = wording(
    r"""
    (?:first|originally|initially|last) (?:describ|mention|explain|introduc|ask|rais|shar|discuss|talk)\w*
    (?:first|originally|initially|last) (?:told|spoke|brought)
    (?:described|mentioned|explained|introduced|told|asked|showed) (?:\w+ ){0,3}(?:to )?you
    (?:zuerst|anfangs|zum ersten Mal|das erste Mal|zuletzt) .{0,40}(?:beschr|erwähn|erklär|erzähl|frag|gesprochen)\w*
    dir .{0,40}(?:beschr|erwähn|erklär|erzähl)\w*
    por primera vez|te (?:conté|expliqué|describí|mencioné)
    pour la première fois|t'ai (?:décrit|expliqué|parlé|raconté)
    """,
    anywhere="(?:第一次|最初|最早)(?:提到|提起|说|介绍|描述|问)|跟你(?:说|提|讲)",
)
"""What was said in a conversation of ours: the question is about these words, and their day tells nothing else."""

_SIGNS: Final = signs(
    "before|until|till |after|following|since|while|during|when |between|vor |bevor|ehe |bis zu|nach|seit|während|als "
    "|zwischen|antes de|después|tras |desde|durante|mientras|cuando|entre|avant|après|depuis|pendant|quand|lorsque"
    "|前|后|後|以来|时|時|期间|から|とき|전에|후에|이후|동안|때|중에"
)


def event_times(text: str) -> list[EventTime]:
    """The times that a question tells by an event.

    Args:
        text: what the user says.
    """
    if not is_signed(folded_case(text), _SIGNS):
        return []
    return [each for begin, end in clauses_of_the_past(text) for each in _in_clause(text[begin:end])]


def _in_clause(clause: str) -> list[EventTime]:
    between = _BETWEEN.search(clause)
    if between:
        return [EventTime("between", between["event"], between["other"])]
    told = _EVENT.search(clause) or _SIGN_EVENT.search(clause)
    return list(_told(told)) if told else []


def _told(match: re.Match[str]) -> Iterator[EventTime]:
    parts = {name.split("_")[0]: value for name, value in match.groupdict().items() if value}
    before, event = one_way(parts["relation"].lower()), parts["event"]
    relation = next(kind for name, kind in _RELATIONS.items() if before.startswith(name))
    if before in _PREPOSITIONS:
        noun = _NOUN_LAST.match(event)
        event = noun[0] if noun else event
    length, count = _LENGTHS.get(parts.get("unit", "").lower()), parts.get("n", "").lower()
    number = int(count) if count.isdecimal() else NUMBERS.get(count, 1)
    if not _SAID.search(event) and (before != "vor" or not _PLACE.search(event)):
        yield EventTime(relation, event, days=number * length if length else None)
