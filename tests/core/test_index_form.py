"""An index that was kept is used only by a version that analyses texts in the same way."""

from __future__ import annotations

import hashlib

import pytest
import Stemmer

from secom_core.bank.kept_index import FORM
from secom_core.text.speech import stands
from secom_core.text.terms import count_tokens, terms

TEXTS = """I'm Ann, and my sister's bikes cost 1,200 euros. Always answer briefly!
Meine Schwester wohnt in Köln. Größere Fahrräder sind teuer. Ich mag keinen Fisch.
Ma sœur vit à Brest, elle adore le bœuf. Je ne mange pas de poisson.
Mi hermana vive en Vigo. Vivo en Lugo. Mia sorella vive a Roma. Minha irmã mora em Faro.
Moja łódka stoi w Łebie. Nie jem mięsa. Мать моей кошки живёт в Самаре. Я не ем мясо.
Yeni odamız güzel, kızım kitabı okuyor. Benim adım Elif. Smørrebrød på Ærø.
اسمي ليلى وأختي تعيش في القاهرة منذ ٢٠٢٥. گربه‌ام کتاب‌ها را خواند.
मेरी ज़मीन गाँव में है, नंबर ४५१२। हिन्दी, हिंदी, किराये।
พี่สาวของฉันเป็นครู ปี ๒๕๖๘. 我叫李雷，住在北京。我對花生過敏。私は京都に住んでいます。제 이름은 민수예요."""
ANALYSED = (24, "3.1.0", "0976fccf102e6b68")
"""The form, the version of the stemmer, and the digest of what it makes of the texts."""


def test_the_form_of_the_index_tells_how_texts_are_analysed() -> None:
    """Where this fails, texts are analysed in another way than before: raise `FORM`, and write the new digest here."""
    form, version, expected = ANALYSED
    if Stemmer.version() != version:
        pytest.skip("another version of the stemmer makes other stems, and tells so itself")
    made = [(terms(text, in_parts=True), stands(text), count_tokens(text)) for text in TEXTS.splitlines()]
    assert (FORM, hashlib.sha256(repr(made).encode()).hexdigest()[:16]) == (form, expected)
