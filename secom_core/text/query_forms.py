"""What else a word of a question is looked for as, where a stemmer leaves forms of one word apart.

Only questions are read so: what is indexed has one term a word.
"""

from __future__ import annotations

from typing import Final

from .patterns import regex
from .verb_forms import verb_forms

_RUSSIAN: Final = {"мат": "матер", "доч": "дочер", "ден": "дня", "дня": "ден", "матер": "мат", "дочер": "доч"}
_FLEETING: Final = regex("(?<=[бвгджзклмнпрстфхцчшщ])([кц])$|(?<=[бвгджзклмнпрстфхцчшщ])[ое](к)$|е(ц)$")
"""What a vowel stands before in some forms of a Russian noun only: a cat, of cats, a father, of a father."""
_VOWELS: Final = "aeiouöü"
_TURKISH_LETTERS: Final = 5
_LEAST_TURKISH: Final = 4


def query_forms(stem: str, language: str) -> tuple[str, ...]:
    """The stem of a word of a question, and those that its other forms may have.

    Args:
        stem: the stem as `secom_core.text.terms.terms` gives it.
        language: the Snowball language of the word; its stem alone is looked for in those without such forms.
    """
    forms = _FORMS.get(language)
    return forms(stem) if forms else (stem,)


def _russian(stem: str) -> tuple[str, ...]:
    if other := _RUSSIAN.get(stem):
        return stem, other
    if (found := _FLEETING.search(stem)) is None:
        return (stem,)
    head = stem[: found.start()]
    if found[1] is None:
        return stem, head + (found[2] or found[3])
    return (stem, *(head + vowel + found[1] for vowel in ("о", "е") if vowel == "е" or found[1] == "к"))


def _turkish(stem: str) -> tuple[str, ...]:
    if len(stem) >= _LEAST_TURKISH and stem[-1] == "s" and stem[-2] in _VOWELS:
        return stem, stem[:-1]
    return (stem, f"{stem}s"[:_TURKISH_LETTERS]) if stem[-1:] in _VOWELS else (stem,)


_FORMS: Final = {"german": verb_forms, "russian": _russian, "turkish": _turkish}
