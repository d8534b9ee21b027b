"""Which words of a text a query has too."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from .han import one_way
from .humps import parts_of_names
from .terms import is_pair, latin_language_of, term_variants, terms, word_spans


def query_terms(query: str, texts: Iterable[str]) -> frozenset[str]:
    """What the words of a query may be indexed under, stemmed as those of the texts are, and as its own."""
    languages = list(dict.fromkeys([latin_language_of(query), *map(latin_language_of, texts)]))
    return frozenset(term for variants in term_variants(query, languages) for term in variants)


def matching_spans(text: str, wanted: Collection[str]) -> list[tuple[int, int]]:
    """Where words of a text stand that have one of these terms, in order; they do not overlap.

    In scripts that are written without spaces, pairs of characters count as words. A name of code that has the term as
    one of its parts stands there as a whole.

    Args:
        text: any text.
        wanted: terms, as `query_terms` gives them.
    """
    language, found, known = latin_language_of(text), list[tuple[int, int]](), dict[str, list[str]]()
    parts = parts_of_names(text)
    for start, stop in word_spans(text):
        word = text[start:stop]
        if word not in known:
            known[word] = terms(f"{word} {parts.get(word, '')}", language=language)
        if word in parts or len(known[word]) == 1:
            found += [(start, stop)] if any(term in wanted for term in known[word]) else []
        else:
            found += _pairs(text, start, stop, wanted)
    return _joined(found)


def _pairs(text: str, start: int, stop: int, wanted: Collection[str]) -> list[tuple[int, int]]:
    run = one_way(text[start:stop])
    pairs = ((start + at, run[at : at + 2]) for at in range(len(run) - 1))
    return [(place, place + 2) for place, pair in pairs if pair in wanted and is_pair(pair)]


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, stop in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], stop
        else:
            joined.append((start, stop))
    return joined
