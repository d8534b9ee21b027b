"""Whether a conversation says what a language model wrote of it: small models write down a prompt's own examples."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from ..conversation import Turn
from ..llm.replies import Texts
from ..text.terms import latin_language_of, terms

_MOST: Final = 0.5
"""The share of a text's words from which on a turn may be what it rests on, where those that were named have none."""
_NEARLY_ALL, _MORE = 0.75, 1.5
"""The share of a text's words that the turns before those that it names have where a model counts from 1, and how many
times as many as these have."""
_OFTEN: Final = 2
"""Of how many texts that is so at least, and of how many times as many as it is not."""
_JOINED: Final = 0.25
"""The least share of a part's words in a text that joins it to others."""
SAID: Final = 0.25
"""The least share of a text's words that a conversation in its language has; one of many stands there by chance."""
_BEGINS: Final = "<conversation>"
"""What stands in a prompt between its instructions and the conversation, in which no such mark is left."""
_LETTERS: Final = 2_000
"""By how many characters the language of a text is told."""


def resting_on(text: str, named: Sequence[int], window: Sequence[Turn], prompt: str) -> tuple[int, ...]:
    """The turns that a text rests on: those that it names, or those that have its words where these have none.

    Args:
        text: what a model wrote of the conversation.
        named: the places in ``window`` that it named.
        window: the turns that it was shown.
        prompt: what it was asked.

    Returns:
        Places in ``window``; none where nothing in it has a word of the text, but for names, or all of it has fewer
        than a quarter of them. Of a text that is an example in the prompt, the turns that have all its words. Where the
        text is in another language than the conversation, the named ones, unless all its words are the prompt's own.
    """
    phrase = _phrase(text, window)
    words = set(phrase)
    if len(phrase) > 1 and stands_in(phrase, terms(prompt.rpartition(_BEGINS)[0])):
        return tuple(place for place, turn in enumerate(window) if words <= {*terms(turn.text)})
    if not words:
        return tuple(named)
    said = [words.intersection(terms(turn.text)) for turn in window]
    other = language_of(text) != language_of(" ".join(turn.text for turn in window))
    if not other and len(set().union(*said)) < SAID * len(words):
        return ()
    if any(said[place] for place in named):
        return tuple(named)
    if (most := max(map(len, said))) >= _MOST * len(words):
        return tuple(place for place, each in enumerate(said) if len(each) == most)
    return tuple(named) if other and not words.issubset(terms(prompt)) else ()


def counted_from_0(texts: Texts, window: Sequence[Turn]) -> Texts:
    """Texts with the turns that each names counted from 0, where the model counted from 1, as small ones often do.

    So it has where several of the texts are said by the turns before those that they name, in nearly all of their
    words, and few are by these turns themselves. One text tells nothing: what has come true may be said in other words
    than the plan, in the turn before, was.

    Args:
        texts: what a model wrote of the conversation, each with the places in ``window`` that it named.
        window: the turns that it was shown.
    """
    said = [set(terms(turn.text)) for turn in window]
    earlier = [tuple(place - 1 for place in named if place > 0) for _, named in texts]
    late = kept = 0
    for (text, named), before in zip(texts, earlier, strict=True):
        words = set(_phrase(text, window))
        held, more = (
            len(words.intersection(chain.from_iterable(said[place] for place in places))) for places in (named, before)
        )
        late += more >= max(_MORE * held, _NEARLY_ALL * len(words), 1)
        kept += held > more
    if late < _OFTEN or late <= _OFTEN * kept:
        return texts
    return [(text, before or tuple(named)) for (text, named), before in zip(texts, earlier, strict=True)]


def _phrase(text: str, window: Sequence[Turn]) -> list[str]:
    """The terms of a text, without the names of who speaks."""
    names = {term for turn in window for name in turn.speakers for term in terms(name)}
    return [term for term in terms(text) if term not in names]


def stands_in(phrase: Sequence[str], text: Sequence[str]) -> bool:
    """Whether some terms stand in a text's, one after the other."""
    return any(list(text[place : place + len(phrase)]) == list(phrase) for place in range(len(text)))


def joins(text: str, parts: Sequence[str], *, names: Iterable[str] = ()) -> bool:
    """Whether a text may be two or more others in one: it has words of each that is in its language, and of one at all.

    A quarter of a part's words is asked for, beside whose they are: a text that has fewer tells something else, and
    what it replaced would be gone without anybody's notice.

    Args:
        text: what a model made of them.
        parts: what it was given.
        names: who they are about; a name is no word of theirs.
    """
    about = set().union(*(terms(name) for name in names))
    words, language = set(terms(text)) - about, language_of(text)
    held = [set(terms(part)) - about for part in parts]
    told = [len(words & part) >= _JOINED * len(part) for part in held]
    if not any(words & part for part in held):
        return not any(held)
    return all(said or language_of(part) != language for said, part in zip(told, parts, strict=True))


def tells_of(text: str, events: Sequence[str], besides: str = "") -> bool:
    """Whether a text has a word of one of the events, or is in another language than all of them.

    A single word of what it was given that stands there as a name does, with a capital letter, is too little where it
    is less than a quarter of the text's.

    Args:
        text: what a model made of them.
        events: what it was given.
        besides: what it was given beside them. A text that only says this again tells nothing of the events: where it
            has less than half of their words, one of the others is looked for.
    """
    words = {term for event in events for term in terms(event)}
    others = words.difference(terms(besides))
    telling = others if 2 * len(others) > len(words) else words
    told = set(terms(text))
    shared = told & words.union(terms(besides))
    is_enough = len(shared) > 1 or len(shared) >= SAID * len(told) or not shared.isdisjoint(_no_names(events))
    return (is_enough and not telling.isdisjoint(told)) or language_of(text) not in map(language_of, events)


def _no_names(texts: Iterable[str]) -> set[str]:
    """The terms of the words without a capital letter."""
    return {term for text in texts for term in terms(" ".join(each for each in text.split() if not each[:1].isupper()))}


def language_of(text: str) -> tuple[str, str]:
    """The script of most letters, as Unicode names it, and the language where that is Latin."""
    letters = (letter for letter in text[:_LETTERS] if letter.isalpha())
    scripts = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in letters)
    script = scripts.most_common(1)[0][0] if scripts else ""
    return script, latin_language_of(text[:_LETTERS]) if script == "LATIN" else ""
