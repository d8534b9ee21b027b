"""What a rule of wording lists is found: the signs that are looked for before it must not hide any of it."""

from __future__ import annotations

from datetime import date

import pytest

from secom_core.text.dates import spans
from secom_core.text.material import meant
from secom_core.text.speech import stands


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I get ill from shellfish.", "preference"),
        ("Ich werde leicht reisekrank.", "preference"),
        ("Ich fliege nicht.", "preference"),
        ("Je n'aime pas les champignons.", "preference"),
        ("Ho paura dei cani.", "preference"),
        ("I now teach at a school in Leeds.", "fact"),
        ("Sou vendedora.", "fact"),
        ("Faço anos em maio.", "fact"),
        ("看護師で、夜勤があります。", "fact"),
        ("小児病棟の看護師です。", "fact"),
        ("こんにちは！エレナです。", "fact"),
        ("大阪で一人暮らしをしています。", "fact"),
        ("我是儿科病房的护士。", "fact"),
        ("J'ai emménagé à Lille.", "fact"),
        ("저는 소아과 간호사예요.", "fact"),
        ("안녕하세요! 저는 엘레나예요.", "fact"),
        ("부산으로 이사 왔어요.", "fact"),
        ("Puedes tutearme.", "instruction"),
        ("No me preguntes de nuevo.", "instruction"),
    ],
)
def test_no_list_of_signs_hides_what_its_rule_finds(text: str, kind: str) -> None:
    assert stands(text) == kind


def test_this_month_in_italian_is_a_time() -> None:
    assert spans("Cosa abbiamo deciso questo mese?", date(2025, 11, 28)) == [
        (date(2025, 11, 1).toordinal(), date(2025, 11, 30).toordinal())
    ]


def test_a_condition_with_falls_is_no_fact() -> None:
    assert meant("Falls ich in Berlin wohne, was brauche ich?").strip() == ", was brauche ich?"
