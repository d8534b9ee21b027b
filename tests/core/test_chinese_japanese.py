"""Questions and statements in Chinese and Japanese, as people write them."""

from __future__ import annotations

from datetime import date

import pytest

from secom_core.bank import MemoryBank
from secom_core.llm.records import records_in
from secom_core.readers import read_captions
from secom_core.summaries.statements import about, says_nothing, statements
from secom_core.text.dates import spans
from secom_core.text.han import han_number
from secom_core.text.intents import asks_of_the_past, leans, subject
from secom_core.text.list_items import item_asked, item_span
from secom_core.text.non_answers import is_non_answer
from secom_core.text.passages import blocks
from secom_core.text.periods import days_asked
from secom_core.text.replies_asked import asks_again, asks_of_replies
from secom_core.text.speech import stands

ANN = ("acme", "ann")
TODAY = date(2026, 5, 20)  # a Wednesday


def days(text: str) -> list[tuple[str, str]]:
    found = days_asked(text, TODAY, [2026])
    return [(date.fromordinal(first).isoformat()[5:], date.fromordinal(last).isoformat()[5:]) for first, last in found]


@pytest.mark.parametrize(
    ("text", "number"), [("三", 3), ("十", 10), ("十五", 15), ("二十", 20), ("三十一", 31), ("12", 12), ("百", 0)]
)
def test_numbers(text: str, number: int) -> None:
    assert han_number(text) == number


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("上个星期五你跟我说了什么？", "05-15", "05-15"),
        ("上周三我们聊的都是什么？", "05-13", "05-13"),
        ("五月三号我们聊了什么？", "05-03", "05-03"),
        ("五月三日に何を話した？", "05-03", "05-03"),
        ("十五天前我们聊了什么？", "05-05", "05-05"),
        ("十二日前に何を話した？", "05-08", "05-08"),
        ("三月我们聊了什么？", "03-01", "03-31"),
        ("今年三月我们聊了什么？", "03-01", "03-31"),
        ("上個月五號我們聊了什麼？", "04-05", "04-05"),
        ("先月の五日に何を話した？", "04-05", "04-05"),
        ("过去两周我们聊了什么？", "05-06", "05-20"),
        ("この一週間、何を話した？", "05-13", "05-20"),
        ("前幾天我們聊了什麼？", "05-13", "05-20"),
        ("金曜日に何の話をした？", "05-15", "05-15"),
        ("5月3日に何の話をしましたか？", "05-03", "05-03"),
        ("昨日何話したっけ", "05-19", "05-19"),
        ("きのう何を言った？", "05-19", "05-19"),
        ("昨夜何を話した？", "05-19", "05-19"),
        ("今朝何を話した？", "05-20", "05-20"),
        ("おとといの話、何だっけ", "05-18", "05-18"),
        ("先月の話題は何でしたか？", "04-01", "04-30"),
        ("昨天晚上我們說了什麼？", "05-19", "05-19"),
    ],
)
def test_questions_about_days(question: str, first: str, last: str) -> None:
    assert subject(question) == "days"
    assert days(question) == [(first, last)]


def test_days_that_are_told() -> None:
    [span] = spans("考试在五月二十三日。", TODAY)
    assert date.fromordinal(span[0]) == date(2026, 5, 23)
    assert spans("十三个月", TODAY) == []


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("第十一个建议", 11),
        ("第二家餐廳", 2),
        ("第三本書", 3),
        ("二つめの案は？", 2),
        ("2個目のレシピ", 2),
        ("倒数第二个是什么", 0),
        ("第三個星期做什麼", 0),
    ],
)
def test_items_by_their_place(question: str, place: int) -> None:
    assert item_asked(question) == place


@pytest.mark.parametrize(
    "text",
    [
        "建议：\n一、存钱\n二、投资\n三、保险",
        "（一）存钱\n（二）投资\n（三）保险",
        "①存钱\n②投资\n③保险",
        "・貯金\n・投資\n・保险",
        "１．存钱\n２．投资\n３．保险",
        "**第一步：**存钱\n**第二步：**投资\n**第三步：**保险",
        "### 方案一：存钱\n内容\n### 方案二：投资\n内容\n### 方案三：保险\n内容",
        "**步驟1：**存钱\n**步驟2：**投资\n**步驟3：**保险",
        "プラン一：貯金\nプラン二：投資\nプラン三：保险",
        "一つ目：貯金\n二つ目：投資\n三つ目：保险",
        "一个人\n两个人\n三、保险",
    ],
)
def test_items_of_lists(text: str) -> None:
    span = item_span(text, 3, 0, len(text))
    assert span is not None
    assert "保险" in text[slice(*span)]
    assert "投" not in text[slice(*span)]


@pytest.mark.parametrize(
    "text", ["・貯金\n・投資\n", "①存钱\n②投资\n", "１．存钱\n２．投资\n", "（一）存钱\n（二）投资\n"]
)
def test_lists_are_blocks(text: str) -> None:
    assert {kind for _, _, kind in blocks(text)} == {"list"}


@pytest.mark.parametrize(
    "question",
    [
        "もう一つは？",
        "それはいくら？",
        "彼女はどこに住んでる？",
        "じゃあ大阪は？",
        "どうして？",
        "それで？",
        "いつですか？",
        "그럼 다른 건?",
    ],
)
def test_follow_ups(question: str) -> None:
    assert leans(question)


@pytest.mark.parametrize(
    "question", ["私の彼女の名前は何ですか？", "歯医者の予約はいつですか？", "東京で一番好きなラーメン屋は？"]
)
def test_questions_that_stand_alone(question: str) -> None:
    assert not leans(question)


def test_what_was_told_and_forgotten() -> None:
    assert asks_of_replies("君が言ってた本は？")
    assert asks_again("忘れちゃった、いくらだった？")
    assert asks_of_the_past("前の仕事は何？")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("猫を二匹飼っています。", "fact"),
        ("娘の名前はさくらです。", "fact"),
        ("私は看護師です。", "fact"),
        ("結婚しています。", "fact"),
        ("銀行に勤めています。", "fact"),
        ("パクチーが苦手なんです。", "preference"),
        ("我吃素。", "preference"),
        ("我乳糖不耐。", "preference"),
        ("私は大丈夫です。", ""),
        ("今日は雨です。", ""),
    ],
)
def test_what_stands(text: str, kind: str) -> None:
    assert stands(text) == kind


@pytest.mark.parametrize(
    "text", ["申し訳ありませんが、わかりません。", "お住まいは伺っていません。", "您還沒有告訴我。", "沒有相關資訊。"]
)
def test_replies_that_know_nothing(text: str) -> None:
    assert is_non_answer(text)


def test_a_follow_up_in_japanese_is_about_what_was_said_before() -> None:
    with MemoryBank.open() as bank:
        for number, text in enumerate(
            (
                "京都の旅館は二つ候補がある。鴨川沿いの宿と、嵐山の宿。",
                "もう一つの仕事は順調。",
                "今日は雨。",
                "大阪で会議があった。",
            )
        ):
            bank.remember(ANN, [("user", text)], session=str(number), close=True)
        context = [("user", "京都の旅館、鴨川沿いの宿はどう？"), ("assistant", "静かで良いと思います。")]
        [hit, *_] = bank.recall(ANN, "もう一つは？", context=context).hits
        assert "嵐山" in hit.text


@pytest.mark.parametrize(
    "reply",
    [
        "{“summary”：“小雨對「花生」過敏，很嚴重：會休克。”，“reference”：[0]}",
        '{"summary"："小雨對「花生」過敏，很嚴重：會休克。"，"reference"：[０]}',
        "```json\n{'summary'： '小雨對「花生」過敏，很嚴重：會休克。' ， 'reference'： [0]}\n```",
    ],
)
def test_records_of_full_width_are_read(reply: str) -> None:
    [record] = records_in(reply, lambda each: "summary" in each).records
    assert record == {"summary": "小雨對「花生」過敏，很嚴重：會休克。", "reference": [0]}


def test_speakers_of_captions_before_a_colon_of_full_width() -> None:
    said = ("田中：今日は会議です。", "佐藤：はい、三時から。", "田中：会議室は：二〇一。", "佐藤：了解。")
    cues = (f"{at}\n00:00:{at:02},000 --> 00:00:{at:02},900\n{words}\n" for at, words in enumerate(said, 1))
    messages = read_captions("\n".join(cues)).messages
    assert [(each.speaker, each.text) for each in messages] == [tuple(words.split("：", 1)) for words in said]


@pytest.mark.parametrize(
    "text",
    "没有新的信息。 （無更新） 無變化。 特になし。 変更なし 記憶は空です。 新しい情報はありません。 暂无".split(),
)
def test_summaries_that_say_nothing(text: str) -> None:
    assert says_nothing(text)


@pytest.mark.parametrize("text", ["没有新的工作。", "記憶は大切です。", "无花果是她的最爱。", "暂无工作，在找。"])
def test_summaries_that_say_something(text: str) -> None:
    assert not says_nothing(text)


@pytest.mark.parametrize(
    "text",
    [
        "用户：\n１．住在上海。\n２．有两个孩子。",
        "## 用户\n1、住在上海。\n2、有两个孩子。",
        "用户：\n・住在上海。\n・有两个孩子。",
        "用户：\n①住在上海。\n②有两个孩子。",
        "用户：住在上海。有两个孩子。",
    ],
)
def test_statements_of_summaries(text: str) -> None:
    assert statements(text) == ["用户: 住在上海。", "用户: 有两个孩子。"]
    assert about(statements(text)[0]) == "user"
