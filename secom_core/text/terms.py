"""Text into terms: what the lexical parts count, in any script.

Words of languages with spaces are lower-cased, stripped of function words and stemmed (Snowball). Text of scripts
written without spaces (Chinese, Japanese, Thai, …) and Korean becomes character unigrams and bigrams, which need no
dictionary; characters that are written in several ways count as one. One text may mix them.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

import Stemmer

from .abbreviations import is_abbreviated
from .arabic import arabic_stem, with_joined
from .eastern import content_of, is_letter
from .gender import of_whom
from .han import one_way
from .humps import with_parts
from .kept import KEPT, Kept
from .patterns import regex
from .query_forms import query_forms
from .spellings import spelt_one_way, unaccented
from .stopwords import ASKING, LETTERS, STOPWORDS
from .turkish import turkish_stem
from .ukrainian import as_in_russian

# Scripts without spaces between words, and Hangul, whose particles stick to the nouns.
_NGRAM: Final = (
    "\u0e01-\u0e3e\u0e40-\u0e4e\u0e50-\u0e59\u0e81-\u0eff\u1000-\u109f\u1780-\u17d3\u17dc-\u17e9"
    "\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
    "\u1100-\u11ff\u3005\u3007\uf900-\ufaff\U00020000-\U000323af"
)
# Vowel signs and the like are not \w for `re`, and without them a Hindi or Tamil word falls to pieces.
_MARKS: Final = "\u0300-\u036f\u0483-\u0487\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u0900-\u0963\u0971-\u0dff"
_LETTER: Final = rf"(?:[^\W_{_NGRAM}]|[{_MARKS}])"
_MARK: Final = regex(rf"[{_MARKS}]")
_WESTERN: Final = "0-9A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u00ff"
_NGRAM_RUN: Final = regex(rf"[{_NGRAM}]")


def _piece(letter: str) -> re.Pattern[str]:
    return regex(rf"[{_NGRAM}]+|{letter}+(?:['’ʼ](?!\d){letter}+)*")


def _token(letter: str) -> str:
    return rf"[{_NGRAM}]|[{_WESTERN}]{{1,6}}(?!(?![{_WESTERN}]){letter})|{letter}{{1,3}}|[^\w\s]|_"


# The same for texts of ever fewer kinds of characters, each several times as fast as the one before.
# Those that every process uses are compiled at once.
_PIECE, _TOKEN = _piece(_LETTER), regex(_token(_LETTER))
_UNMARKED_PIECE, _UNMARKED_TOKEN = _piece(rf"[^\W_{_NGRAM}]"), regex(_token(rf"[^\W_{_NGRAM}]"))
_ASCII_PIECE: Final = re.compile(r"[0-9A-Za-z]+(?:'(?!\d)[0-9A-Za-z]+)*")
# Letters and digits, white space, and all else of ASCII, each as one character.
_ASCII_KINDS: Final = bytes(97 if chr(code).isalnum() else 32 if chr(code).isspace() else 112 for code in range(256))
_SIGNS: Final = "…’‘“”–—•"
"""The commonest signs beyond ASCII, each a token as those of ASCII are."""
# Soft hyphens, joiners and Hebrew points are optional in writing; a lower-cased Turkish İ leaves a loose dot.
_OPTIONAL: Final = regex("[\u00ad\u0307\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u200c\u200d]")
# Persian joins endings and prefixes to a word so: "cat" in "my cat", "books", "she does".
_JOINER: Final = "\u200c"
_ENDING: Final = regex(rf"(?<=[\u0621-\u06ff]){_JOINER}(?=[\u0621-\u06ff])")
_ACCENTED: Final = regex("[\u00e0-\u017f]")
_ELIDING: Final = frozenset({"french", "italian", "portuguese"})
_ELISION: Final = regex(
    r"(?:[cdjlmnstv]|qu|jusqu|lorsqu|puisqu|quoiqu|all|coll|dall|dell|nell|sull|un|quell|quest|bell|sant)'(?=\w)"
)
# The script that the name of a character begins with, and the Snowball language of its words.
_SCRIPTS: Final = {
    "CYRILLIC": "russian",
    "GREEK": "greek",
    "ARABIC": "arabic",
    "ARMENIAN": "armenian",
    "DEVANAGARI": "hindi",
    "TAMIL": "tamil",
}
SENTENCE_END: Final = regex(
    # A first character out of a set is found quickly; what it may be the beginning of is looked at there only.
    r"[.!?…؟।॥։。！？\n](?:"
    r"(?<=[.!?…])(?<![.!?…]{2})[.!?…]*[\"'”’)\]]*\s+|(?<=[؟।॥։])[؟।॥։]*[\"'”’)\]]*\s+"
    r"|(?<=[。！？])[。！？]*[」』”’）]*\s*|(?<=\n)\n*\s*)"
)
"""Where a sentence ends, with the white space after it; in any script that marks it."""
_SHORT: Final = 32  # letters; a longer piece is no word that comes again, and is not kept
_MOST_WORDS: Final = 1 << 15
_local = threading.local()


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    if _JOINER in folded:
        folded = _ENDING.sub(" ", folded)
    return spelt_one_way(_OPTIONAL.sub("", folded.replace("’", "'").replace("ʼ", "'").replace("ё", "е")))


def _pieces_in(text: str) -> re.Pattern[str]:
    """What finds the pieces of a text, the fastest that knows its characters."""
    return _ASCII_PIECE if text.isascii() else _PIECE if _MARK.search(text) else _UNMARKED_PIECE


@lru_cache(maxsize=4)
def _pieces(text: str) -> tuple[str, ...]:
    # Cached, as callers ask for the language of a text first, and then for its terms.
    folded = _fold(text)
    return tuple(_pieces_in(folded).findall(folded))


_STOPWORDS: Final = {
    language: frozenset(map(_fold, listed))
    for language, listed in STOPWORDS.items()
    if language in Stemmer.algorithms()  # an older Snowball has no Polish
}
_ASKING: Final = {language: frozenset(map(_fold, listed)) for language, listed in ASKING.items()}
_LANGUAGES_OF: Final[dict[str, tuple[str, ...]]] = {
    word: tuple(name for name, listed in _STOPWORDS.items() if word in listed and name not in _SCRIPTS.values())
    for word in frozenset().union(*_STOPWORDS.values())
}
"""The languages in Latin script of which a word is a function word."""
_LETTERS_OF: Final = {name: frozenset(letters) for name, letters in LETTERS.items() if name in _STOPWORDS}
_TELLING: Final = regex(f"[{''.join(LETTERS.values())}]")
_OF_OTHERS: Final = frozenset(
    word for word, languages in _LANGUAGES_OF.items() if languages and "english" not in languages
)
"""The function words that English has not."""


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where each word of ``text`` begins and ends, in order; a run of Chinese, Japanese, Thai or Korean is one."""
    return [found.span() for found in _pieces_in(text).finditer(text)]


def _stem(word: str, language: str) -> str:
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__.setdefault("stemmers", {})
    if language not in stemmers:
        stemmers[language] = Stemmer.Stemmer(language)
    if language == "arabic":
        return arabic_stem(word, stemmers[language].stemWord)
    if language == "russian":
        word = as_in_russian(word)
    if language == "turkish":
        return _plain(turkish_stem(word, stemmers[language].stemWord))
    people = of_whom(word, language)
    stem: str = people[0] if people else stemmers[language].stemWord(word)
    # Accents are often left out where people chat; the stemmer needs them, the index does not.
    return _plain(stem)


def _plain(stem: str) -> str:
    return _ACCENTED.sub(lambda letter: unaccented(letter[0]), stem)


@lru_cache(maxsize=4096)
def _script_language(letter: str) -> str | None:
    name = unicodedata.name(letter, "") if letter else ""
    return next((language for script, language in _SCRIPTS.items() if name.startswith(script)), None)


def _latin_language(text: str, pieces: Sequence[str]) -> str:
    if "KDE" in text:
        # The desktop's name is no Czech "where".
        pieces = [piece for piece in pieces if piece != "kde"]
    by_letters = _by_letters(pieces)
    if not by_letters and _OF_OTHERS.isdisjoint(pieces):
        # Whatever votes for another language votes for English too.
        return "english"
    votes = Counter(chain.from_iterable(filter(None, map(_LANGUAGES_OF.get, pieces))))
    # One word alone may be a name in a text of another language, and so may several that begin with capitals.
    sure = len(pieces) == 1 or (len(by_letters) > 1 and _has_small(text))
    votes.update(by_letters if sure else votes.keys() & set(by_letters))
    best = max(votes.values(), default=0)
    # English or the first by name, so that the answer does not depend on which word came first.
    return "english" if votes["english"] == best else min(name for name, count in votes.items() if count == best)


def _by_letters(pieces: Sequence[str]) -> list[str]:
    """The languages that letters tell, once a word."""
    joined = "".join(pieces)
    if joined.isascii() or not _TELLING.search(joined):
        return []
    return [language for piece in pieces for language, letters in _LETTERS_OF.items() if not letters.isdisjoint(piece)]


def _has_small(text: str) -> bool:
    """Whether a word with such letters begins with a small letter, as no name does."""
    return any(text[start].islower() and _TELLING.search(_fold(text[start:stop])) for start, stop in word_spans(text))


def latin_language_of(text: str) -> str:
    """The language in which `terms` stems the Latin words of ``text``; words of other scripts name their own."""
    return _latin_language(text, _pieces(text))


def is_stopword(word: str, language: str = "english") -> bool:
    """Whether ``word`` is a function word of ``language``, or of the language of its script."""
    folded = _fold(word)
    return folded in _STOPWORDS.get(_language_of(folded, language), frozenset())


def _language_of(piece: str, latin: str) -> str:
    """The language of the piece's script; ``latin`` where it is Latin, or one without a stemmer."""
    return _script_language(piece[:1]) or latin


def _is_run(piece: str) -> bool:
    return not piece.isascii() and _NGRAM_RUN.match(piece) is not None


def _ngrams(run: str) -> list[str]:
    run = one_way(run)
    return [*run, *(run[place : place + 2] for place in range(len(run) - 1))]


def _terms_of(piece: str, latin: str, keep_stopwords: bool) -> tuple[str, ...]:
    if _is_run(piece):
        return tuple(_ngrams(piece))
    language = _language_of(piece, latin)
    listed = frozenset() if keep_stopwords else _STOPWORDS.get(language, frozenset())
    bare = _bare(piece, language) if "'" in piece else piece
    return () if piece in listed or bare in listed else (_stem(bare, language),)


class _Words(dict[str, tuple[str, ...]]):
    """The terms of each word, worked out when it is first asked for; begun anew where they have become many.

    Args:
        latin: the language of Latin words.
        keep_stopwords: keep function words too.
    """

    def __init__(self, latin: str, keep_stopwords: bool) -> None:
        super().__init__()
        self._arguments = latin, keep_stopwords

    def __missing__(self, piece: str) -> tuple[str, ...]:
        found = _terms_of(piece, *self._arguments)
        if len(piece) <= _SHORT:
            if len(self) >= _MOST_WORDS:
                self.clear()
            self[piece] = found
        return found


_words = lru_cache(maxsize=64)(_Words)


def _bare(piece: str, language: str) -> str:
    if language in _ELIDING:
        return _ELISION.sub("", piece, count=1)
    # Turkish sets the endings of a name off with an apostrophe.
    return piece.partition("'")[0] if language == "turkish" else piece


def sentence_spans(text: str, start: int = 0, stop: int | None = None) -> list[tuple[int, int]]:
    """Where the sentences between two places of ``text`` begin and end, with the white space after them.

    They cover what stands there with no gap and no overlap. A line break ends a sentence too.
    """
    stop = len(text) if stop is None else stop
    found: list[tuple[int, int]] = []
    for end in SENTENCE_END.finditer(text, start, stop):
        # An abbreviation's full stop ends nothing: "Mrs. Falk", "5 p.m. on Friday".
        if "\n" in end[0] or not is_abbreviated(text, end):
            found.append((start, end.end()))
            start = end.end()
    return [*found, (start, stop)] if start < stop else found


def sentences(text: str) -> list[str]:
    """The sentences of ``text``, in order, without the white space around them; a line break ends one too."""
    found = (text[start:stop].strip() for start, stop in sentence_spans(text))
    return [sentence for sentence in found if any(map(str.isalnum, sentence))]


def term_variants(
    text: str, languages: Sequence[str], *, rare: Sequence[str] = (), keep_stopwords: bool = False
) -> list[tuple[str, ...]]:
    """The terms that each word of ``text`` may be indexed under, where its language is not known.

    Args:
        text: any text, such as a question too short to show its language.
        languages: the Snowball languages that the indexed texts are in.
        rare: those that a few of them are in, or seem to be in: they tell of no word that it is a content word.
        keep_stopwords: keep function words too.

    Returns:
        One tuple of different terms a word (a character or bigram where `terms` gives these), in order. A word that
        is a function word in all ``languages`` is left out, and so are those that questions in other languages than
        English are made of.
    """
    variants: list[tuple[str, ...]] = []
    pieces = _pieces(text)
    latin = languages[0] if len(languages) == 1 else _latin_language(text, pieces)
    for piece in pieces:
        if _is_run(piece):
            variants += [(gram,) for gram in (_ngrams(piece) if keep_stopwords else _telling_ngrams(piece))]
        elif found := [term for language in languages for term in _asked_terms(piece, language, keep_stopwords)]:
            found += [term for language in rare for term in _asked_terms(piece, language, keep_stopwords)]
            told = _language_of(piece, latin if latin in languages else "")
            found += [form for term in found for form in query_forms(term, told)]
            variants.append(tuple(dict.fromkeys(found)))
    # What has no content words but function words of a script without spaces is looked for by these.
    return variants or (term_variants(text, languages, keep_stopwords=True) if _NGRAM_RUN.search(text) else [])


def _asked_terms(piece: str, language: str, keep_stopwords: bool) -> tuple[str, ...]:
    """The terms of a word of a question; none of one that asks, or helps a verb."""
    if not keep_stopwords and piece in _ASKING.get(_language_of(piece, language), ()):
        return ()
    words = _words(language, keep_stopwords)
    found = words[piece]
    if found and _script_language(piece[:1]) == "arabic":
        return tuple(chain.from_iterable(words[joined] for joined in with_joined(piece)))
    # "Mis hermanos" may be a brother and a sister.
    return (*found, *map(_plain, of_whom(piece, language)[1:]))


def _telling_ngrams(run: str) -> list[str]:
    return [gram for piece in content_of(run) for gram in _ngrams(piece) if not is_letter(gram)]


# A message is asked for in two indexes, and goes into the queries of the turns after it.
kept_variants: Final[Kept[tuple[str, tuple[str, ...], tuple[str, ...]], list[tuple[str, ...]]]] = Kept(
    lambda asked: term_variants(asked[0], asked[1], rare=asked[2]), characters=KEPT, length=lambda asked: len(asked[0])
)
"""`term_variants` of a text, the languages, and the rare ones."""


def is_pair(term: str) -> bool:
    """Whether a term is two neighbouring characters of a script written without spaces."""
    return len(term) == 2 and _is_run(term)


def terms(text: str, *, language: str | None = None, keep_stopwords: bool = False, in_parts: bool = False) -> list[str]:
    """The terms of ``text`` in order, with repetitions.

    Args:
        text: any text.
        language: the Snowball language of its Latin words; found from its function words where ``None``.
        keep_stopwords: keep function words too.
        in_parts: of names such as ``useDebouncedSearch``, give the words that they are of too, as what is searched has.
    """
    pieces = _pieces(with_parts(text) if in_parts else text)
    words = _words(language or _latin_language(text, pieces), keep_stopwords)
    return list(chain.from_iterable(map(words.__getitem__, pieces)))


def count_tokens(text: str) -> int:
    """An estimate of a model's token count that needs no vocabulary.

    One a Chinese, Japanese, Korean or Thai character or a punctuation mark, one for each begun six letters of a word,
    or three of one with letters beyond those of Western Europe. On English dialogue it counts about a tenth more than
    WordPiece, so a budget is kept rather than broken; pass the model's own where it must be exact.
    """
    if not text.isascii():
        for sign in _SIGNS:
            text = text.replace(sign, ".")
        lines = text.split("\n")
        others = "\n".join(line for line in lines if not line.isascii())
        text = "\n".join(filter(str.isascii, lines))
        token = _TOKEN if _MARK.search(others) else _UNMARKED_TOKEN
        return (len(token.findall(others)) if others else 0) + count_tokens(text)
    # "Hello, Maria!" is "aaaaap aaaaap": whole sixes, ends of words and signs are counted.
    kinds = text.encode().translate(_ASCII_KINDS).replace(b"aaaaaa", b"6") + b" "
    return kinds.count(b"6") + kinds.count(b"a ") + kinds.count(b"ap") + kinds.count(b"p")
