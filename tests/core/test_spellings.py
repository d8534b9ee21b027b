"""A word is found however it is written, and in the forms that a stemmer leaves apart."""

from __future__ import annotations

from datetime import datetime

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.terms import term_variants, terms

WRITTEN = [
    ("french", "sœur soeur"),
    ("french", "œufs oeufs"),
    ("polish", "łódka lodka"),
    ("turkish", "kızım kizim"),
    ("turkish", "çalışıyorum calisiyorum"),
    ("turkish", "kitab kitap"),
    ("turkish", "cevab cevap"),
    ("danish", "smørrebrød smorrebrod"),
    ("", "हिन्दी हिंदी"),
    ("", "सम्बन्ध संबंध"),
    ("", "पञ्जाब पंजाब"),
    ("", "ज़मीन जमीन"),
    ("", "मूँगफली मूंगफली"),
    ("", "किराये किराए"),
    ("", "२०२५ 2025"),
    ("", "٢٠٢٥ ۲۰۲۵"),
    ("", "๒๕๖๘ 2568"),
]


@pytest.mark.parametrize(("language", "ways"), WRITTEN)
def test_a_word_has_the_same_terms_however_it_is_written(language: str, ways: str) -> None:
    first, second = (terms(way, language=language or None) for way in ways.split())
    assert first == second


def test_letters_that_only_look_alike_are_kept_apart() -> None:
    assert len(set(terms("अन्न अंत तुम्हारा जन्म ये यह"))) == 6


FORMS = [
    ("english", "أختي لأختي"),
    ("english", "أخت بأختي"),
    ("english", "زوجتي وزوجتي"),
    ("english", "кошка кошек"),
    ("english", "ребёнок ребенка"),
    ("english", "отец отца"),
    ("english", "мать матери"),
    ("english", "день дня"),
    ("turkish", "kira kirası"),
    ("turkish", "kedi kedisi"),
    ("turkish", "odası odamız"),
    ("turkish", "adres adresi"),
    ("german", "wohne gewohnt"),
]


@pytest.mark.parametrize(("language", "forms"), FORMS)
def test_either_form_of_a_word_finds_the_other(language: str, forms: str) -> None:
    first, second = forms.split()
    for asked, told in ((first, second), (second, first)):
        (variants,) = term_variants(asked, [language])
        assert not set(terms(told, language=language)).isdisjoint(variants), (asked, told)


@pytest.mark.parametrize("words", ["قط فقط", "رد ورد", "نت بنت", "فكرة كرة", "بلدي لدي", "ولدي لدينا"])
def test_an_arabic_word_that_only_seems_to_hold_another_does_not_find_it(words: str) -> None:
    asked, other = words.split()
    [found] = term_variants(asked, ("english", "arabic"))
    assert not set(terms(other)) & set(found)


def test_a_word_without_such_forms_is_looked_for_as_it_is() -> None:
    assert term_variants("стол", ["english"]) == [("стол",)]
    assert term_variants("kira", ["english"]) == [("kira",)]
    assert term_variants("ولد", ["english"])[0][0] == terms("ولد")[0]
    assert terms("لد")[0] not in term_variants("ولد", ["english"])[0]


@pytest.mark.parametrize(
    ("told", "other", "question"),
    [
        (
            "Ma soeur Julie vit à Brest avec ses enfants.",
            "Mon frère Paul vit à Lyon avec ses enfants.",
            "Où vit ma sœur ?",
        ),
        ("اشتريت هدية لأختي من السوق.", "اشتريت هدية لصديقي من السوق.", "أين هدية أختي؟"),
        ("गाँव की जमीन बेच दी।", "गाँव की गाय बेच दी।", "ज़मीन का क्या हुआ?"),
        ("ज़मीन का नंबर ४५१२ है।", "दुकान का नंबर ७७३० है।", "4512 किसका नंबर है?"),
    ],
)
def test_a_question_finds_what_was_written_otherwise(told: str, other: str, question: str) -> None:
    with MemoryBank.open(":memory:") as bank:
        for day, text in enumerate((told, other, other.replace(" ", "  ") + " !"), start=1):
            message = {"role": "user", "content": text, "timestamp": datetime(2026, 3, day, 9)}
            bank.remember(("a",), [message], session=str(day), close=True)
        best = max(bank.recall(("a",), question).hits, key=lambda hit: hit.score)
        assert best.turns[0].messages[0].text == told
