"""A summary of sentences that were said, where there is no language model, or it failed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from math import ceil
from typing import Final

from ..conversation import USER_ROLES, Message, Turn
from ..derived.coverage import covering
from ..protocols import Statistics, TokenCounter
from ..text.passages import blocks
from ..text.pasted import without_pasted
from ..text.patterns import regex
from ..text.speech import asks, stands
from ..text.terms import sentences
from .statements import about, lines_of, tells

_MARKS: Final = regex(
    r"^[ \t]*(?:[-*•+][ \t]+)?(?:\d{1,2}[.)][ \t]+(?=\*\*|__))?"
    r"(?:\*\*(?:[^\s*]+[ \t]+){0,3}[^\s*]+[.:!?]\*\*[ \t]+(?=\S))?"
    r"|\*\*|(?<!\w)__|__(?!\w)"
    r"|(?<![\w*])\*(?=[^\s*][^*\n]*\*)|(?<=[^\s*])\*(?![\w*])",
    re.MULTILINE,
)
"""Bullets, emphasis, the number of an item that begins with emphasis (others may be dates), and its few words that are
a title: ``1. **Shoes.** The streets are steep.``
"""
_LINK: Final = regex(r"\b\w+://\S+|www\.\S+|`[^`\n]*`")
_WORD: Final = regex("[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]|[^\\W\\d_]+")
"""A character of a script without spaces is one."""
_SIGN: Final = regex("[!-@\\[-`{-~]")
_WORDS: Final = 3
"""How many words a sentence of a reply has at least."""
_MOST_SIGNS: Final = 0.4
"""What share of its characters are signs and digits at most, or it is code, or numbers."""
_ENDS: Final = (".", "!", "?", "…", "。", "！", "？", ":", "：", ";", ")", '"', "”", "*", "|")


def stated(turns: Sequence[Turn], said: Callable[[Message], Iterable[str]] | None = None) -> list[str]:
    """The sentences of the turns, each with its speaker and date, to be understood by itself.

    Questions are left out. Of what an assistant answers to a user, only what `tells` something is taken.

    Args:
        turns: of a session.
        said: the sentences of a message; all of them unless given.
    """
    found = said or (lambda message: sentences(message.text))
    return list(dict.fromkeys(each for turn in turns for each in _stated(turn, found)))


def _stated(turn: Turn, said: Callable[[Message], Iterable[str]]) -> Iterator[str]:
    day = f"{turn.at:%Y-%m-%d}" if turn.at else ""
    asked = any(message.role in USER_ROLES for message in turn.messages)
    for message in turn.messages:
        for sentence in _behind(message, day, said(message)):
            if not asks(sentence) and (not asked or message.role in USER_ROLES or _answers(message, sentence)):
                yield sentence


def labelled(message: Message, day: str = "") -> Iterator[str]:
    """The sentences of a message, each behind the date and who says it."""
    return _behind(message, day, sentences(message.text))


def _behind(message: Message, day: str, said: Iterable[str]) -> Iterator[str]:
    head = " ".join(filter(None, (day, message.label)))
    return (f"{head}: {sentence}" if head else sentence for sentence in said)


def prose(message: Message) -> list[str]:
    """The sentences of a message that are of words: nothing that a program wrote (`secom_core.text.pasted`), no table
    or link, and of a reply no heading, no mark of a list or of emphasis, and no piece of a sentence.
    """
    text = without_pasted(message.text)
    parts = [(text[start:stop], kind) for start, stop, kind in blocks(text) if kind != "table"]
    if message.role != "assistant":
        return _worded(part for part, _ in parts)
    return _whole(_worded(_MARKS.sub("", part) for part, kind in parts if kind != "heading"))


def _worded(parts: Iterable[str]) -> list[str]:
    return [each for part in parts for each in sentences(part) if _is_worded(each)]


def _is_worded(sentence: str) -> bool:
    return _WORD.search(_LINK.sub("", sentence)) is not None


def _whole(said: Sequence[str]) -> list[str]:
    """Those that are sentences: of several words, nearly all letters, and neither begun nor ended by another line."""
    following = zip_longest(said, said[1:], fillvalue="")
    return [each for each, after in following if _is_sentence(each) and not _goes_on(each, after)]


def _is_sentence(said: str) -> bool:
    bare = _LINK.sub("", said)
    is_balanced = said.count("(") == said.count(")") and said.count('"') % 2 == 0
    is_worded = len(_WORD.findall(bare)) >= _WORDS and len(_SIGN.findall(bare)) <= _MOST_SIGNS * len(bare)
    return is_balanced and is_worded and not said[0].islower()


def _goes_on(sentence: str, after: str) -> bool:
    return after[:1].islower() and not sentence.endswith(_ENDS)


def _answers(message: Message, sentence: str) -> bool:
    return message.role == "assistant" and tells(sentence)


def balanced(
    old: Sequence[str],
    new: Sequence[str],
    limit: int,
    *,
    tokens: int,
    statistics: Statistics | None = None,
    counter: TokenCounter,
    first: Sequence[tuple[Callable[[str], bool], float]] = (),
) -> list[str]:
    """At most ``limit`` of the sentences, in order: those that cover most, with a share for everybody.

    The old and the new ones, each of every speaker, get an equal share of half of the limit first, so that neither a
    long session nor a long memory, nor one who says much, leaves nothing of the others.

    Args:
        old: the sentences of the earlier summary.
        new: those of the session.
        limit: how many at most.
        tokens: how many tokens they may have together.
        statistics: how common terms are in the scope.
        counter: counts the tokens.
        first: which go first once everybody has a share, and which after these, each with the share of the places left
            that they may take.
    """
    found = list(dict.fromkeys([*old, *new]))
    groups = defaultdict[tuple[bool, str], list[int]](list)
    for place, sentence in enumerate(found):
        groups[place < len(dict.fromkeys(old)), about(sentence) or _label(sentence)].append(place)
    chosen: list[int] = []

    def choose(places: Sequence[int], most: int) -> None:
        texts = [found[place] for place in places]
        left = tokens - sum(counter(found[place]) for place in chosen)
        taken = covering(texts, most, tokens=left, statistics=statistics, counter=counter)
        chosen.extend(places[each] for each in taken)

    share = max(1, limit // (2 * len(groups))) if 1 < len(groups) <= limit else 0
    for places in groups.values() if share else ():
        choose(places, share)
    for wanted, most in (*first, (lambda sentence: True, 1.0)):
        left = [place for place in range(len(found)) if place not in set(chosen) and wanted(found[place])]
        choose(left, ceil(most * (limit - len(chosen))))
    return [found[place] for place in sorted(chosen)]


def extracted(
    turns: Sequence[Turn],
    previous: str,
    limit: int,
    *,
    tokens: int,
    statistics: Statistics | None = None,
    counter: TokenCounter,
) -> list[str]:
    """The summary after a session, of sentences that were said or stood in the previous summary.

    What the session tells (`tells`) and the previous summary are `balanced`, with what users say of themselves first,
    and then, in half of the places left, what else they tell; what else was said fills the room. Only `prose` is taken.

    Args:
        turns: the session.
        previous: the summary before it.
        limit: as for `balanced`, with what follows.
        tokens: how many tokens they may have together.
        statistics: how common terms are in the scope.
        counter: counts the tokens.
    """
    choose = partial(balanced, statistics=statistics, counter=counter)
    said = stated(turns, prose)
    again = {_undated(each) for each in said}
    old = [each for each in lines_of(previous) if _undated(each) not in again]
    labels = (each.label for turn in turns for each in turn.messages if each.role in USER_ROLES)
    users = frozenset(_label(f"{label}: ") for label in labels)
    first = ((partial(_is_own, users), 1.0), (partial(_is_of, users), 0.5))
    chosen = choose(old, [each for each in said if tells(each)], limit, tokens=tokens, first=first)
    left, room = tokens - sum(map(counter, chosen)), limit - len(chosen)
    rest = [each for each in said if not tells(each)]
    added = choose((), rest, room, tokens=left) if room else []
    return [each for each in dict.fromkeys([*old, *said]) if each in {*chosen, *added}]


def _is_own(users: Collection[str], sentence: str) -> bool:
    """Whether it is what a user says that holds from then on."""
    return _is_of(users, sentence) and stands(sentence.partition(": ")[2]) != ""


def _is_of(users: Collection[str], sentence: str) -> bool:
    return _label(sentence) in users


def _undated(sentence: str) -> tuple[str, str]:
    """Who speaks, and the words."""
    return _label(sentence), sentence.partition(": ")[2]


def _label(sentence: str) -> str:
    """Who speaks, where `_stated` wrote it before the sentence."""
    head, colon, _ = sentence.partition(": ")
    return head.split(" ")[-1].casefold() if colon and len(head) < 60 else ""
