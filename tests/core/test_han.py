"""Chinese characters that are written in several ways: simplified, traditional, and as in Japan."""

from __future__ import annotations

import re
from datetime import date, datetime

import pytest

from secom_core.bank import MemoryBank
from secom_core.changes.statements import statements_of
from secom_core.text.dates import spans
from secom_core.text.han import all_ways, finding_all_ways, one_way
from secom_core.text.intents import asks_of_the_past, leans, subject
from secom_core.text.list_items import item_asked
from secom_core.text.matching import matching_spans, query_terms
from secom_core.text.replies_asked import asks_again, asks_of_replies
from secom_core.text.speech import stands
from secom_core.text.terms import terms

ANN = ("acme", "ann")
TODAY = date(2026, 5, 20)  # a Wednesday


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("臺灣", "台湾"),
        ("這裡", "这里"),
        ("髙橋", "高橋"),
        ("渡邉", "渡辺"),
        ("圖書館", "図書館"),
        ("週末", "周末"),
        ("房租漲", "房租涨"),
    ],
)
def test_ways_of_writing_share_their_terms(one: str, other: str) -> None:
    assert terms(one) == terms(other)
    assert one_way(one) == one_way(other)
    assert len(one_way(one)) == len(one)


def test_words_are_marked_as_they_are_written() -> None:
    text = "我們搬到臺灣了"
    [span] = matching_spans(text, query_terms("台湾", [text]))
    assert text[slice(*span)] == "臺灣"


def test_rules_find_all_ways() -> None:
    assert set(all_ways("什么时候")) >= {"什么时候", "什麼時候", "甚麼時候"}
    assert all_ways("when") == ["when"]
    rule = re.compile(finding_all_ways(r"[说讲][^这]\[(?:个|这)"))
    assert all(rule.search(text) for text in ("說x[這", "讲x[個"))
    assert rule.search("说這[个") is None
    assert finding_all_ways(r"[a-z]\w") == r"[a-z]\w"
    assert finding_all_ways("[一-龥]") == "[一-龥]"


@pytest.mark.parametrize(
    ("rule", "simplified", "traditional"),
    [
        (subject, "我们上次聊了什么？", "我們上次聊了什麼？"),
        (subject, "你知道我什么？", "你知道我什麼？"),
        (subject, "你对我了解多少？", "你對我了解多少？"),
        (subject, "上周三我们聊了什么？", "上週三我們聊了什麼？"),
        (subject, "这个月我们谈了什么？", "這個月我們談了什麼？"),
        (leans, "为什么？", "為什麼？"),
        (leans, "还有呢？", "還有呢？"),
        (asks_again, "我忘记密码了", "我忘記密碼了"),
        (asks_of_replies, "你之前推荐的餐厅是哪家？", "你之前推薦的餐廳是哪家？"),
        (asks_of_the_past, "我当初住哪里？", "我當初住哪裡？"),
        (item_asked, "第三个建议是什么？", "第三個建議是什麼？"),
        (stands, "我对虾过敏。", "我對蝦過敏。"),
        (stands, "以后请用表格回答。", "以後請用表格回答。"),
        (stands, "我女儿今年五岁。", "我女兒今年五歲。"),
    ],
)
def test_rules_read_traditional_characters(rule, simplified: str, traditional: str) -> None:
    assert rule(simplified)
    assert rule(traditional) == rule(simplified)


@pytest.mark.parametrize("text", ["兩個月前", "三個星期前", "五天前", "上個禮拜", "這週", "5月3號"])
def test_days_are_read_in_traditional_characters(text: str) -> None:
    assert spans(text, TODAY) == spans(one_way(text), TODAY) != []


def test_values_are_compared_in_one_way() -> None:
    [first], [second] = (statements_of(text)[0].values for text in ("我住在臺北。", "我住在台北。"))
    assert (first.sort, first.value) == (second.sort, second.value)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("我們週末去了臺灣的圖書館。", "台湾的图书馆"),
        ("我们周末去了台湾的图书馆。", "臺灣的圖書館"),
        ("髙橋さんに会いました。", "高橋さんって誰？"),
    ],
)
def test_what_was_said_in_another_way_is_found(said: str, question: str) -> None:
    with MemoryBank.open() as bank:
        for number, text in enumerate(("今天下雨。", said, "明日は休みです。")):
            bank.remember(ANN, [("user", text)], session=str(number), close=True)
        assert bank.recall(ANN, question, only_relevant=True).hits[0].text.endswith(said)


def test_a_changed_fact_is_marked_in_traditional_characters() -> None:
    with MemoryBank.open(changes=True) as bank:
        for day, text in (("2026-05-01", "我現在的房租是20000塊。"), ("2026-05-10", "房租漲到25000塊了，現在好貴。")):
            message = {"role": "user", "content": text, "at": f"{day}T10:00:00"}
            bank.remember(ANN, [message], session=day, close=True)
        recall = bank.recall(ANN, "我的房租是多少？", now=datetime(2026, 5, 20))
        assert "replaced on 2026-05-10" in recall.text
