"""Facts that change, in Chinese and Japanese."""

from __future__ import annotations

import pytest

from secom_core.bank import MemoryBank
from secom_core.changes.values import values_of

ANN = ("acme", "ann")


def marks(older: str, newer: str) -> str:
    with MemoryBank.open(changes=True) as bank:
        for day, text in (("2026-05-01", older), ("2026-05-05", "今天下雨。"), ("2026-05-10", newer)):
            bank.remember(ANN, [{"role": "user", "content": text, "at": f"{day}T10:00:00"}], session=day, close=True)
        return " ".join(line for line in bank.recall(ANN, older).text.splitlines() if line.startswith("→"))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("我现在的房租是两万元。", "房租涨到三万元了。"),
        ("房租是兩千五。", "房租漲到兩千八了。"),
        ("我在台積電工作。", "我換到聯發科上班了。"),
        ("瑜伽課在週三。", "瑜伽課改到禮拜五了。"),
        ("東京に住んでいます。", "大阪に引っ越しました。"),
        ("横浜に住んでいる。", "先月、神戸に引っ越した。"),
        ("楽天で働いています。", "ソニーに転職しました。"),
        ("家賃は八万円です。", "家賃が九万円になりました。"),
        ("コーヒーは毎日飲みます。", "コーヒーはやめました。"),
        ("ネットフリックスを契約しています。", "ネットフリックスは解約しました。"),
        ("我每天喝咖啡。", "我不喝咖啡了。"),
    ],
)
def test_what_changed_is_marked(older: str, newer: str) -> None:
    assert marks(older, newer)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("東京に住んでいます。", "大阪に引っ越したいです。"),
        ("東京に住んでいます。", "もし大阪に引っ越したら楽しそう。"),
        ("東京に住んでいます。", "友達が大阪に引っ越しました。"),
        ("コーヒーは毎日飲みます。", "紅茶はやめました。"),
        ("我喜欢咖啡。", "今天不忙了，喝了咖啡。"),
        ("訂了三千人的場地。", "有兩千人來。"),
    ],
)
def test_what_still_holds_is_not_marked(older: str, newer: str) -> None:
    assert not marks(older, newer)


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("兩萬五", "money"),
        ("两千八百元", "money"),
        ("八万円", "money"),
        ("三百塊", "money"),
        ("三千人", "#"),
        ("禮拜天", "weekday"),
    ],
)
def test_values_in_chinese_numbers(text: str, sort: str) -> None:
    assert {value.sort for value in values_of(text)} <= {sort}
    assert bool(values_of(text)) == (sort != "#")
