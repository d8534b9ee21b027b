"""What a message states: clauses with their head words, values, and what they say of something said before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..text.han import one_way
from ..text.kept import KEPT, Kept
from ..text.material import without_given
from ..text.passages import blocks
from ..text.patterns import regex
from ..text.repairs import CORRECTED, REPAIRED, begins_repair
from ..text.speech import asks
from ..text.terms import latin_language_of, sentence_spans, terms
from ..text.wording import wording
from .cues import (
    ADDED,
    CHANGED,
    CONFIRMED,
    DENIED,
    ENDED,
    MEASURED,
    NEWS,
    NOW,
    ONCE,
    OTHER,
    PAST,
    PLANNED,
    PLANS,
    RESUMED,
    SUPPOSED,
    SWAPPED,
    THEIRS,
    Cue,
    news_in,
    says_more_than_now,
    without_quotes,
)
from .dull import is_dull
from .slots import SLOT, slot_values
from .states import states_in
from .subjects import kinds_in, somebody, topic_of
from .subjects import owner as owner_of
from .values import MONTHS, Value, has_number, values_of

_READ: Final = 3000
"""How many characters of a message are read: what is pasted behind them states little of anybody."""
_MOST, _NEAR = 60, 100
"""How many statements of a message are looked at; how many characters before a value, for what is said of it: a list
may hold a thousand values."""
_GIVEN: Final = (
    r"(?:since|because(?! of\b)|considering(?: that)?|given that|now that|seeing that|about (?:how|why)(?! to\b)"
    r"|the fact that|weil|da(?= (?:ich|wir|es|der|die|das|mein))"
    r"|nachdem|ya que|porque|dado que|puesto que|puisque?|parce que?|vu que?|étant donné que?|sachant que?"
    r"|(?:(?:can|could|would) you )?(?:please )?(?:remind me|remember|note|keep in mind) that) "
)
"""Before what a question takes for granted."""
_CLAUSE: Final = regex(
    r"(?:(?<!\b[Jj]etzt)(?<!\b[Nn]un), (?!\d{4}\b)|; |: | – | - |，|；|：|、(?=今は)|(?<=[가-힣])고, "
    r"|(?<=[\u4e00-\u9fff]),(?=[\u4e00-\u9fff]))"
    r"(?:(?:and|but|so|und|aber|y|pero|et|mais|donc) )?"
    rf"(?P<lead>{_GIVEN})?| and (?=(?:I['’]m|I am|we['’]re|we are) (?:now )?(?:looking for|thinking|considering))"
    rf"|(?<!\b[Jj]etzt,)(?<!\b[Nn]un,)(?: (?P<since>{_GIVEN}))"
)
_MINE: Final = wording(
    r"""
    I|we|my|our|I'm|we're|ich|wir|mein\w*|unser\w*|yo|mi|mis|nuestr\w*|me|nos
    \w{2,}(?:amos|emos|imos)|tengo|soy|estoy|vivo|pago|trabajo|cobro|gano|voy|hago|he(?= \w+(?:[aií]do|cho|to)\b)
    je|[jm]'\w+|mon|ma|notre|nous
    """,
    anywhere="我|私|僕|俺|저는|나는|나 |제 |내 ",
)
_WITH: Final = regex(
    r"^\W*(?:I|we|ich|wir|je|nous|vivo|vivimos|trabajo|voy|vamos)\b.*\b(?:with|near|closer? to|mit|con|avec) $", re.I
)
"""What stands before somebody with whom the user does something."""
_LEFT: Final = regex(r"\b(?:from|von|de|du|desde) (?:an? |the )?$|从$", re.I)
_BOUND: Final = regex(
    r"\b(?:at least|at most|no more than|less than|fewer than|more than|under|below|within|mindestens|höchstens|unter"
    r"|al menos|como máximo|menos de|más de|au moins|au plus|moins de|plus de) (?:an? |the )?$",
    re.I,
)
_DENIED: Final = regex(
    r"\b(?:not|nicht|kein\w*|no|instead of|rather than|statt|anstatt|en vez de|en lugar de|pas|non|au lieu|plutôt que)"
    r" (?:in |on |at |to |with |for |nach |zu |zum |zur |bei |mit |a |en |con |para |à |au |chez |du |pour )?"
    r"(?:an? |the |am |um |im |el |la |las |los |a las |de |le |les |une? |l['’])?$"
    r"|\bplutôt qu['’](?:à |en |au |une? )?$"
    r"|n['’]t (?:\w+ ){0,2}(?:on|at|in|by|to|for) (?:the )?$",
    re.I,
)
_LEFT_FOR: Final = regex(r" ?(?:[\w-]+ )?(?:to|up to|down to|auf|a|hasta|à|au)\b|.{0,4}(?:到|至|改|成|为)", re.I)
_KANA: Final = regex("[\u3041-\u309f]")
_HANGUL: Final = regex("[\uac00-\ud7a3]")
_ELIDED: Final = regex(r"\b[cdjlmnst]['’](?=[^\W\d_])|\bmerci\b", re.I)
"""French articles and pronouns before a vowel, where the text is too short to show its language; and a thanks, which
as a head word is that of "mercado"."""
_AND: Final = regex(r"\b(?:and|but|und|aber|y|pero|et|mais)\b", re.I)
_NO_WORD: Final = regex("[\u3041-\u309f]{1,2}|[^\u4e00-\u9fff]")
"""A letter, or what is mostly the end of a Japanese word."""
_EASTERN: Final = regex("[\u4e00-\u9fff]+|[\u30a1-\u30fa\u30fc]+|[\uac00-\ud7a3]+")
_COMMUTING: Final = regex(r"\bcommut(?:e|es|ed|ing)(?: to work)? (?=(?:by|on|with) )", re.I)
"""What says of a way that it is the one to work: "I commute by train"."""
_WORD, _STEM, _VOWELS = 3, 6, "aeiou"
_LABEL: Final = regex(
    r"\b([^\W\d_]{3,}) (?:no\. ?|nr\. ?|#)?(\d{1,4})(?! ?(?:%|[-.,:/]\d|(?:ms|[kmgt]b|px|k?m|[km]?g)\b))\b", re.I
)
_NO_LABEL: Final = wording(
    rf"{MONTHS}|about|around|over|under|only|have|has|had|are|was|were|pay|paid|costs?|from|till|until|than|with"
    r"|takes?|needs?|uses?"
    r"|nearly|almost|read|run|the|for|and|now|just|last|next|past|first|some"
    r"|les|des|est|sont|ont|avons|paie|payons|coûte|prends?|environ|depuis|pendant|dans|pour|sur|tous|toutes|fait"
    r"|jetzt|nun|noch|reach\w*|hit|got|get|is|lasts?|least|most|every"
)
"""What stands before a number that names nothing: "pay 900"."""
_RELATIVE: Final = wording(anywhere=r"^(?:which|who|that|it|die|der|das|welche[rs]?|que|qui)\b")
"""How a clause begins that speaks of what stands in the one before it."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A clause that states something.

    Args:
        start: where it begins in the message's text, in characters.
        stop: where it ends.
        heads: its content words, and those of the clauses beside it in its sentence with less weight.
        values: what can be compared, each with the words that it is made of.
        cues: what it says of something said before.
        owner: of whom else it speaks, such as "sister"; empty where it does not.
        is_mine: whether it speaks of the speaker.
        is_other: whether it speaks of another one of its kind.
        names: words of its sentence that are names or numbers, for what it names of the old.
        is_planned: whether it tells what is meant to be.
        is_of_plan: whether it speaks of what was meant to be, such as a deadline.
        is_weak: whether all that says of a change is a word such as "now".
        is_added: whether it tells what came to what was there.
        labels: things that a number tells apart, such as "room" and "12".
        is_repair: whether its sentence begins as one that takes back what was said just before.
        denied: the values that its sentence says are not, such as "Tuesday" in "on Thursday, not on Tuesday".
        is_denied: whether it tells what is not, or never was.
        is_theirs: whether it speaks of others, as "their team" does, and not of the speaker.
        is_joint: whether its owner is somebody with whom the speaker does it.
        topic: the head word that it begins with, behind an article.
        kinds: pets and rooms that it names.
        states: what somebody is or is no longer, such as in work.
        is_resumed: whether it tells what is done again.
    """

    start: int
    stop: int
    heads: dict[str, float]
    values: dict[Value, frozenset[str]]
    cues: frozenset[Cue]
    owner: str
    is_mine: bool
    is_other: bool
    names: frozenset[str]
    is_planned: bool = False
    is_of_plan: bool = False
    is_weak: bool = False
    is_added: bool = False
    labels: frozenset[tuple[str, str]] = frozenset()
    is_repair: bool = False
    denied: frozenset[str] = frozenset()
    is_denied: bool = False
    is_theirs: bool = False
    is_joint: bool = False
    topic: str = ""
    kinds: frozenset[str] = frozenset()
    states: frozenset[tuple[str, bool]] = frozenset()
    is_resumed: bool = False

    @property
    def subject(self) -> set[str]:
        """The words that it is itself about, without those of its values."""
        of_values = frozenset[str]().union(*self.values.values())
        return {head for head, weight in self.heads.items() if weight == 1 and head not in of_values}


def statements_of(text: str) -> tuple[Statement, ...]:
    """What a message states, in order; what it asks, supposes, or tells of long ago is left out.

    Args:
        text: the words of a user, or of people who talk; what assistants answer states nothing of anybody.
    """
    return _stated(text)


def _statements_in(text: str) -> tuple[Statement, ...]:
    found: list[Statement] = []
    text = without_quotes(without_given(text[:_READ]))
    language = latin_language_of(text)
    carried, names, is_repair = frozenset[Cue](), frozenset[str](), False
    for start, stop in _sentences(text):
        cues = _cues(text[start:stop])
        is_repair = is_repair or "corrected" in cues or begins_repair(text, start)
        stated = list(_of_sentence(text, start, stop, language, carried, names, is_repair))
        found += stated
        is_repair = is_repair and not any(each.values for each in stated)
        carried = cues & {"corrected"}
        names = (
            frozenset(each.value for each in values_of(text[start:stop].rstrip())) if "ended" in cues else names & set()
        )
    return tuple(found[:_MOST])


_stated: Final[Kept[str, tuple[Statement, ...]]] = Kept(_statements_in, characters=KEPT)


def heads_of(text: str) -> list[str]:
    """The content words of a text, as those of statements are, such that they can be compared."""
    return _heads(text, values_of(text) if has_number(text) else [], latin_language_of(text))


def speaks_of_speaker(text: str) -> bool:
    """Whether a text speaks of whoever says it."""
    return _MINE.search(text) is not None


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    for start, stop, kind in blocks(text):
        if kind in ("prose", "list"):
            yield from sentence_spans(text, start, stop)


def _of_sentence(
    text: str, start: int, stop: int, language: str, carried: frozenset[Cue], before: frozenset[str], is_repair: bool
) -> Iterator[Statement]:
    sentence = text[start:stop]
    parted = list(_clauses(text, start, stop))
    spans = [(first, last) for first, last, _ in parted]
    told = [_is_told(text[first:last], last == stop and not given and asks(sentence)) for first, last, given in parted]
    values = [[*slot_values(text[a:b], sentence), *values_of(text[a:b].rstrip())] for a, b in spans]
    words = [
        _heads(text[first:last], each, language, is_repair) for (first, last), each in zip(spans, values, strict=True)
    ]
    is_news = NEWS.match(sentence) is not None
    of_sentence = _cues(sentence) | carried
    names = before.union(value.value for each in values for value in each)
    denied = frozenset(
        value.value
        for (first, last), each in zip(spans, values, strict=True)
        for value in each
        if _DENIED.search(text, max(first, first + value.start - _NEAR), first + value.start)
    )
    owner = ""
    for place, (first, last) in enumerate(spans):
        clause = text[first:last]
        found = somebody(text, start, first, last)
        owner = owner_of(found[0]) if found else "" if _MINE.search(clause) else owner
        before_it = text[slice(*spans[place - 1])] if place and not _cues(clause) else ""
        if not told[place] or SUPPOSED.search(before_it):
            continue
        # "They moved my flight, it now leaves at 10."
        is_told_before = place > 0 and not values[place - 1] and says_more_than_now(text[slice(*spans[place - 1])])
        before_words: list[str] = next((each for each in reversed(words[:place]) if each), [])
        held = [each for each in values[place] if not _is_left(clause, each)]
        own = {each: frozenset(terms(clause[each.start : each.stop], language=language)) for each in held}
        has_own = not set(words[place]).issubset(frozenset().union(*own.values()))
        beside = [near for near in (place - 1, place + 1) if 0 <= near < len(spans)]
        heads = {word: 1.0 if told[near] and not has_own else 0.5 for near in beside for word in words[near]}
        heads |= dict.fromkeys(words[place], 1.0)
        if is_told_before or (place and _RELATIVE.match(clause)):
            heads |= dict.fromkeys(before_words, 1.0)
        cues = _cues(clause) | (of_sentence & {"corrected"}) | (news_in(clause) if is_news else frozenset())
        if (heads or ((is_repair or "changed" in cues) and values[place])) and (values[place] or cues or words[place]):
            yield Statement(
                first,
                last,
                heads,
                own,
                cues,
                owner,
                _MINE.search(clause) is not None,
                OTHER.search(clause) is not None,
                names,
                _is_planned(clause, held, language) or PLANNED.search(before_it) is not None,
                PLANS.search(clause) is not None,
                "changed" in cues and not is_news and not says_more_than_now(clause) and not is_told_before,
                ADDED.search(clause) is not None,
                _labels(clause, held),
                is_repair,
                denied if own else frozenset(),
                DENIED.search(clause) is not None,
                THEIRS.search(clause) is not None and not _MINE.search(clause),
                found is not None and _WITH.search(clause, 0, found.start()) is not None,
                next(iter(_heads(topic_of(clause), [], language)), ""),
                kinds_in(clause),
                frozenset(states_in(clause, sentence).items()),
                RESUMED.search(clause) is not None and ONCE.search(clause) is None,
            )


_NUMBERED: Final = regex(
    r"\b(chapter|part|volume|phase|level|unit|room|kapitel|teil|band|capítulo|parte|chapitre|partie|tome)"
    r" (one|two|three|four|five|six|seven|eight|nine|ten|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn"
    r"|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|une?|deux|trois|quatre|cinq|sept|huit|neuf|dix)\b",
    re.I,
)
"""What is numbered in words, as parts of a whole are."""


def _labels(clause: str, values: list[Value]) -> frozenset[tuple[str, str]]:
    """Things that a number tells apart; one that counts something, or is a sum, tells nothing apart."""
    counting = {value.start for value in values if value.sort not in ("#", "name")}
    found = ((each[1].casefold(), each[2]) for each in _LABEL.finditer(clause) if each.start(2) not in counting)
    numbered = ((each[1].casefold(), each[2].casefold()) for each in _NUMBERED.finditer(clause))
    return frozenset([*numbered, *(each for each in found if not (_NO_LABEL.search(each[0]) or NOW.search(each[0])))])


def _clauses(text: str, start: int, stop: int) -> Iterator[tuple[int, int, bool]]:
    """The clauses of a sentence, each with whether it is what the sentence takes for granted."""
    given = False
    for end in _CLAUSE.finditer(text, start, stop):
        if end.start() > start:
            yield start, end.start(), given
            start, given = end.end(), bool(end["lead"] or end["since"])
    if start < stop:
        yield start, stop, given


def _is_told(clause: str, is_asked: bool) -> bool:
    """Whether a clause states something that is so."""
    return not is_asked and not SUPPOSED.search(clause) and not PAST.search(clause)


def _is_left(clause: str, value: Value) -> bool:
    """Whether a clause names a value as what was before, as a bound, or as what is not: "from 60%", "at least 80%"."""
    start = max(0, value.start - _NEAR)
    is_bound = any(rule.search(clause, start, value.start) for rule in (_BOUND, _DENIED))
    was_before = _LEFT.search(clause, start, value.start) and _LEFT_FOR.match(clause, value.stop)
    return is_bound or bool(was_before)


def _is_planned(clause: str, values: list[Value], language: str) -> bool:
    """Whether a clause tells what is meant to be.

    What is named before "and I want to" is there already, and in English all that is named before the verb.
    """
    found = PLANNED.search(clause)
    if found is None:
        return False
    if language == "english" and found[0].isascii() and values and values[0].start < found.start():
        return False
    told = (value for value in values if value.sort != "name")
    return not any(_AND.search(clause, value.stop, found.start()) for value in told)


_RULES: Final[tuple[tuple[Cue, re.Pattern[str]], ...]] = (
    ("corrected", CORRECTED),
    ("ended", ENDED),
    ("changed", CHANGED),
    ("swapped", SWAPPED),
    ("measured", MEASURED),
    ("confirmed", CONFIRMED),
)


def _cues(clause: str) -> frozenset[Cue]:
    found = frozenset(cue for cue, rule in _RULES if rule.search(clause))
    return found if "changed" in found else found - {"measured"}


def _heads(clause: str, values: list[Value], language: str, is_repair: bool = False) -> list[str]:
    """The words that name what a clause is about: not its values, and not that something became of it."""
    for value in values:
        if value.sort != "name" and not value.sort.startswith(SLOT):
            clause = clause[: value.start] + " " * (value.stop - value.start) + clause[value.stop :]
    clause = _COMMUTING.sub("work ", clause)
    for rule in (*(rule for _, rule in _RULES), *([REPAIRED] if is_repair else [])):
        clause = rule.sub(_without_cue, clause)
    found = [*terms(_ELIDED.sub(" ", _EASTERN.sub(" ", clause)), language=language), *_eastern_heads(one_way(clause))]
    # Cut, as a short text may be taken for one of another language, whose endings are others.
    return list(dict.fromkeys(_cut(each) for each in found if not is_dull(each) and not _NO_WORD.fullmatch(each)))


def _cut(term: str) -> str:
    cut = term[:_STEM].rstrip(_VOWELS)
    return cut if len(cut) >= _WORD else term[:_STEM]


def _without_cue(found: re.Match[str]) -> str:
    """A blank in the place of a cue; one with other words within stays, as these name what it is about."""
    words = found[0]
    return words if len(words.split()) > _WORD + 1 or (_EASTERN.search(words) and len(words) > _WORD + 3) else " "


def _eastern_heads(clause: str) -> Iterator[str]:
    """Pairs of characters of Chinese and Japanese words, and how Korean words begin, before what is added to them."""
    for word in _EASTERN.findall(clause):
        if _HANGUL.match(word):
            yield word[:2]
        elif _KANA.search(clause) or len(word) == 1:
            # Japanese: its endings are kana, which are no word of what is meant.
            yield from ([word] if len(word) < _WORD else [word[at : at + 2] for at in range(len(word) - 1)])
        else:
            yield from (word[at : at + 2] for at in range(len(word) - 1))
