"""Denoising without a model."""

from __future__ import annotations

import re
import time

import pytest

from secom_core.denoisers.informativeness import Informativeness
from secom_core.errors import InvalidInput
from secom_core.indexes.bm25 import BM25
from secom_core.text.terms import word_spans


def words(text: str) -> list[str]:
    return [text[start:stop] for start, stop in word_spans(text)]


def scope_of(*texts: str, times: int = 10) -> BM25:
    index = BM25()
    repeated = [text for text in texts for _ in range(times)]
    index.add(range(len(repeated)), repeated)
    return index


@pytest.fixture(scope="module")
def english() -> BM25:
    index = scope_of("We had dinner at home", "Dinner was nice", "What is for dinner", times=20)
    index.add([100, 101], ["A marmot whistled", "Her paella recipe"])
    return index


def denoised(text: str, rate: float = 0.75, scope: BM25 | None = None) -> str:
    return Informativeness(rate).denoise([text], scope)[0]


def test_what_every_turn_says_goes_first(english: BM25) -> None:
    assert denoised("paella dinner marmot whistled", scope=english) == "paella marmot whistled"


def test_function_words_go_before_words_of_the_scope(english: BM25) -> None:
    text = "we saw marmots eat the paella of our neighbours"
    assert denoised(text, 0.5, english) == "saw marmots eat paella neighbours"


def test_the_rate_is_the_share_that_stays(english: BM25) -> None:
    text = "we saw some marmots eat all the paella that our kind neighbours had left for the birds"
    for rate in (0.9, 0.75, 0.5, 0.25):
        kept = len(words(denoised(text, rate, english)))
        assert kept == -(-len(words(text)) * rate // 1)
    assert denoised(text, 1.0, english) == text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Hi! The castle is old.", "castle"),
        ("Hey, thank you so much! Nice castle.", "castle"),
        ("Good morning! How are you? Castle closed.", "Castle"),
        ("Hallo! Vielen Dank. Schloss geschlossen.", "Schloss"),
        ("Bonjour, château fermé, merci.", "château"),
        ("¡Hola! Castillo cerrado, por favor.", "Castillo"),
        ("Привет! Замок закрыт. Спасибо!", "Замок"),
        ("您好，城堡关了，谢谢！", "城堡关了"),
        ("こんにちは、城は閉まっています。", "城は閉まっています"),
        ("안녕하세요, 성은 닫혔어요. 감사합니다!", "닫혔어요"),
    ],
)
def test_greetings_and_thanks_go(text: str, kept: str) -> None:
    key = denoised(text)
    assert kept in key
    greeting = (
        "hi|hey|thank|good|how are you|hallo|dank|bonjour|merci|hola|favor|привет|спасибо|您好|谢谢|こんに|안녕|감사"
    )
    assert not re.search(rf"\b(?:{greeting})", key.casefold())


def test_a_text_of_nothing_else_stays_whole() -> None:
    for text in ("Hello!", "Thanks, you too!", "Hi. Hi!", "谢谢！", "…"):
        assert words(denoised(text)) in (words(text), ["you", "too"], ["too"])
        assert denoised(text).strip()


@pytest.mark.parametrize(
    ("text", "protected"),
    [
        ("we did not go to dinner with them", ["not"]),
        ("we didn’t go and we can't go to it", ["didn’t", "can't"]),
        ("he was there on 3 May at 7:30 with us for dinner", ["3", "May", "7:30"]),
        ("it is dinner for Ann and Bob at home in Ulm", ["Ann", "Bob", "Ulm"]),
        ("the dinner was two days ago, on the last monday", ["two", "ago", "last", "monday"]),
        ("das ist nicht das Essen und ich bin nie da", ["nicht", "nie"]),
        ("это не то, и он никогда не был там", ["не", "никогда"]),
        ("它不是晚餐的", ["不"]),
        ("3月5日的晚餐", ["3", "月", "5", "日"]),
    ],
)
def test_names_numbers_dates_and_negations_stay(text: str, protected: list[str], english: BM25) -> None:
    for scope in (english, None, scope_of(text, "dinner", times=30)):
        key = denoised(text, 0.1, scope)
        for part in protected:
            assert part in key


@pytest.mark.parametrize(
    "whole",
    [
        "```python\nif x is None and all(y for y in z):\n    return it  # is it for the best?\n```",
        "~~~\nis it the one that was in it?",
        "| it | is the |\n|----|--------|\n| of | that is it |",
        "`for x in the_list`",
        "https://a.example/the/of/is/it.html",
        "看https://a.example/is?the=it",
    ],
)
@pytest.mark.parametrize("scope", [None, scope_of("it is the best for this"), scope_of("x in the list of it")])
def test_code_tables_and_links_stay_whole(whole: str, scope: BM25 | None) -> None:
    text = f"This is what it is for the crew:\n\n{whole}\n\nAnd the rest of it is as it was."
    key = denoised(text, scope=scope)
    assert whole in key
    assert len(key) < len(text)


@pytest.mark.parametrize("opening", ["```sh\nis it so\n```", "| it | is the |\n|----|--------|\n| of | that is it |"])
def test_code_and_tables_with_which_a_message_begins_stay_whole(opening: str) -> None:
    text = f"assistant: {opening}\nThat is all of it.\nuser: So what is it for?\nassistant: {opening}\nIt is for you."
    key = denoised(text)
    assert key.count(opening) == 2
    assert "So what is it for" not in key


@pytest.mark.parametrize(
    "whole",
    [
        "who.am.i@the-shop.be",
        "www.the-end.example/so/it/is",
        "/home/me/the/it.txt",
        "C:\\Users\\me\\the\\it.txt",
        "IS_A_FLAG",
        "do_it",
        "the.other.one",
    ],
)
def test_addresses_paths_and_names_with_signs_inside_stay_whole(whole: str) -> None:
    key = denoised(f"user: This is what it is in ({whole}), and it was {whole}.")
    assert key.count(whole) == 2
    assert "is what it" not in key


def test_signs_without_end_take_no_time() -> None:
    begin = time.thread_time()
    for signs in ("a@!", "@", "((", "a_!", "x", "a."):
        denoised(f"This is it: {signs * 5_000}")
    assert time.thread_time() - begin < 3


@pytest.mark.parametrize(
    "text", ["it is a ` in the text of it", "the https of it is in the link", "this | crew | is | in it"]
)
def test_what_only_looks_like_code_is_denoised(text: str) -> None:
    assert len(words(denoised(text))) < len(words(text))


@pytest.mark.parametrize("text", ["itéhttps://a.example/x is it", "a`b c`d is the `", "``` it is\n```", "|"])
def test_nothing_is_said_twice(text: str) -> None:
    key = denoised(text, 0.5)
    assert all(key.count(word) <= text.count(word) for word in words(text))


def test_without_a_scope_only_fillers_and_function_words_go() -> None:
    text = "well we saw marmots eat the paella of our neighbours, thanks"
    assert denoised(text, 0.1) == denoised(text, 0.1, scope_of("marmots eat paella", times=10))
    assert {"saw", "marmots", "eat", "paella", "neighbours"} <= set(words(denoised(text, 0.1)))
    assert not {"the", "of", "thanks"} & set(words(denoised(text, 0.1)))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("We went (by tram) to Lisbon.", "We went (by tram) Lisbon."),
        ("Old castle, please? Tram stop.", "Old castle? Tram stop."),
        ("Castle closed. Thanks! Tram stop.", "Castle closed. Tram stop."),
        ("Castle.\n\nHi!\nTram.", "Castle.\nTram."),
        ("  two  spaces,\tkept  ", "  two  spaces,\tkept  "),
    ],
)
def test_punctuation_is_mended(text: str, key: str) -> None:
    assert denoised(text) == key


CHINESE = (
    "我们去公园散步", "他们在家看电视", "你在家吃饭吗", "我昨天去了学校", "她喜欢看书和画画", "我们的老师很好",
    "他去学校上课", "家里来了客人", "在公园看到一只狗", "妈妈做饭很好吃", "我喜欢喝咖啡", "我们吃了火锅",
    "你们什么时候去", "在学校门口等你", "天气很好", "我们要搬家", "电视坏了", "书放在桌上", "他们都来了", "我去买菜",
    "我们在商店", "去年我们结婚", "杭州西湖很美", "龙井茶很香",
)  # fmt: skip


def test_chinese_words_are_not_cut_in_two() -> None:
    scope = scope_of(*CHINESE, times=3)
    text = "我们在杭州喝龙井茶看西湖"
    keys = [denoised(text, rate, scope) for rate in (0.75, 0.5, 0.25)]
    assert [len(key) for key in keys] == sorted({len(key) for key in keys}, reverse=True)
    for key in keys:
        assert "龙井茶" in key
        assert ("我" in key) == ("我们" in key) == ("们" in key)
        assert ("杭" in key) == ("杭州" in key) == ("州" in key)
    assert "我们" not in keys[1]


def test_japanese_and_korean_shrink_too() -> None:
    scope = scope_of(
        "今日は家で晩ご飯です", "明日は家で晩ご飯です", "오늘 집에서 저녁 먹어요", "내일 집에서 저녁 먹어요", times=10
    )
    scope.add([900], ["金閣寺を見た"])
    assert "金閣寺" in denoised("家で金閣寺を見た晩ご飯です", 0.6, scope)
    korean = denoised("내일 집에서 저녁 해운대 먹어요", 0.6, scope)
    assert "해운대" in korean
    assert "먹어요" not in korean


def test_a_mixed_text() -> None:
    scope = scope_of("我们在家 at home for dinner", "他们在家 with the laptop", times=15)
    key = denoised("我们在家 with the ThinkPad 和龙井茶 for dinner", 0.4, scope)
    assert "ThinkPad" in key
    assert "龙井茶" in key
    assert "我们" not in key
    assert not {"with", "the", "for"} & set(words(key))


@pytest.mark.parametrize("rate", [0, -1, 1.01])
def test_a_rate_out_of_range(rate: float) -> None:
    with pytest.raises(InvalidInput, match=f"got {rate}"):
        Informativeness(rate)
