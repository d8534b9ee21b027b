"""Words of Ukrainian and Czech, and the abbreviations and instructions of their neighbours."""

from __future__ import annotations

import pytest
import Stemmer

from secom_core.text.speech import stands
from secom_core.text.terms import latin_language_of, sentences, terms

ONE_SENTENCE_AND_ANOTHER = """
    Возьми масло, т. е. оливковое, и соль. Потом мешай.|Возьми масло, т.е. оливковое. Потом мешай.
    Купи хлеб и т.п. и приходи. Жду.|Живу на ул. Ленина, д. 5. Там хорошо.|Родился в 1990 г. в Самаре. Потом уехал.
    Стоило 5 тыс. руб. за ночь. Дорого.|М. Петрова звонила. Хорошо.|Kup owoce, np. Jabłka Ligol, i chleb. Potem wróć.
    Byłam u dr. Nowaka. Było dobrze.|Byłam na ul. Długiej 5. Było dobrze.|Mám rád ovoce, např. Jablka. Pak jdu.
    Jag äter frukt, t.ex. Gravensteiner. Sedan går jag.|Ik eet fruit, bijv. Elstar. Dan ga ik.
    Como fruta, p. ej. Manzanas. Luego voy.|We need bolts etc. and a drill. Then go.
    Nimm Öl, z. B. Rapsöl, und Salz. Dann rühren.|Купи хлеб, молоко и т. д. Потом приходи.
    Bring apples, pears, etc. Then wash them.|Это сделал я. Потом ушёл.|Он живёт в Самаре. Там хорошо.
    To są dr i mgr. Potem wróć.|Стоило 5 тыс. Дорого.
"""


def listed(texts: str) -> list[str]:
    return [each.strip() for line in texts.strip().splitlines() for each in line.split("|") if each.strip()]


def test_an_abbreviation_ends_no_sentence() -> None:
    texts = listed(ONE_SENTENCE_AND_ANOTHER)
    assert {text: len(sentences(text)) for text in texts} == dict.fromkeys(texts, 2)


@pytest.mark.parametrize(
    "forms",
    "бабусею бабусі|керамікою кераміки кераміка|школі школа школу|років рік року|братів брати|відпустці відпустка"
    "|Львові Львова".split("|"),
)
def test_the_forms_of_a_ukrainian_word_are_one_term(forms: str) -> None:
    found = terms(forms)
    assert len(set(found)) < len(found)


def test_what_ukrainian_questions_are_made_of_is_not_searched_for() -> None:
    assert terms("Що мені його як який була де моя чи від") == []


def test_a_russian_word_stays_as_it_was() -> None:
    assert terms("кровати печати Львов бабушке") == ["кроват", "печат", "львов", "бабушк"]


@pytest.mark.skipif("czech" not in Stemmer.algorithms(), reason="an older Snowball has no Czech")
def test_czech_is_told_by_its_function_words() -> None:
    texts = "Jak se jmenuje moje dcera, která je v Brně?", "Proč jsme byli v nemocnici?", "Kde bydlí sestra?"
    assert {text: latin_language_of(text) for text in texts} == dict.fromkeys(texts, "czech")
    assert set(terms("Proč jsme byli u babičky?")) & set(terms("Babička, která upadla, je v nemocnici, řekli."))


def test_neighbours_of_czech_are_not_taken_for_it() -> None:
    texts = (
        "Pale ale festival",
        "Nie wiem, co robić",
        "Se mudó a Madrid",
        "Jeg har en hund",
        "Kam er gestern?",
        "Je suis",
        "KDE Plasma settings",
        "Proto-Indo-European roots",
        "Má sorte",
        "Recebi má nota hoje",
    )
    assert not [text for text in texts if latin_language_of(text) == "czech"]


def test_what_the_user_cannot_do_any_longer_is_no_instruction() -> None:
    assert not stands("Я так больше не могу, пишите мне завтра")
    assert stands("Больше не пиши мне длинные ответы")
    assert stands("Пожалуйста, больше никогда не используй списки")
