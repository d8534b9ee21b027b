"""Questions for an overview show much in short: how the user's messages begin, before what else they say."""

from __future__ import annotations

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.overviews import asks_for_order, asks_for_overview, asks_of_all_sessions

SCOPE = ("acme", "alice")

OVERVIEWS = """
    Can you summarise what I did on my resume project so far?
    Walk me through my whole project in order.
    Summarize everything we discussed about the wedding.
    Give me an overview of my training this year.
    In what order did I visit the cities?
    Can you list the order in which I brought up the parts of my app?
    How has my German progressed since spring?
    Recap my job search from start to finish.
    Fass bitte zusammen, was wir über den Umbau besprochen haben.
    Gib mir einen Überblick über meine Bewerbungen.
    In welcher Reihenfolge habe ich die Städte besucht?
    Hazme un resumen de mi proyecto.
    Fais-moi un résumé de mes candidatures.
    Riassumi quello che ho fatto per il mio progetto.
    Resuma o meu projeto até agora.
    请回顾我的求职过程
    總結一下我的專案
    これまでの私のプロジェクトをまとめて
    지금까지 내 프로젝트를 요약해 줘
    """
OTHERS = """
    What was the order number of my lamp?
    In order to renew my passport, what do I need?
    Summarize this article for me: the economy of Belgium grew.
    What is the history of Rome?
    What summary did you give me of the book?
    Did I order everything for the party?
    What progress bar library do I use?
    Who walked me home?
    How did my mother develop diabetes?
    When did I hand in my summary of the novel?
    Update my résumé for Google.
    Mi resumen médico, ¿cuándo lo pedí?
    Wann habe ich die Zusammenfassung abgegeben?
    我的总结报告什么时候交？
    まとめサイトの名前は？
    마지막 순서는 누구였지?
    """
ALL_SESSIONS = """
    Give me an overview of everything we talked about.
    What have we talked about so far?
    Summarise all our conversations.
    What topics did we cover?
    List all the topics we have discussed.
    Walk me through what we talked about so far, in order.
    Gib mir einen Überblick über alle unsere Gespräche.
    Worüber haben wir bisher gesprochen?
    ¿De qué hemos hablado hasta ahora?
    De quoi avons-nous parlé jusqu'ici ?
    Di cosa abbiamo parlato finora?
    我们聊过什么？
    总结一下我们所有的对话
    总结一下我们的对话
    ¿Qué temas hemos tratado?
    ¿Sobre qué hemos hablado?
    Quels sujets a-t-on abordés ?
    どんな話題を話しましたか？
    우리 대화를 요약해 줘
    今まで何を話しましたか
    지금까지 무슨 얘기를 했지?
    """
OF_A_SUBJECT = """
    What did we talk about?
    What did we talk about last time?
    What have I told you so far about the wedding?
    How much have I saved so far?
    What have I cooked up to now?
    How far have we swum to date?
    Is everything ready for Friday?
    Which topics are in the exam?
    Summarise all our conversations about the band.
    Habe ich alles eingepackt?
    我们聊过哪些餐厅？
    ¿Qué cosas necesito para la boda?
    우리 회의 얘기를 요약해 줘
    """

REPLY = "Here is what I would do. " + " ".join(
    f"Point {number}: think of the details of number {number} and of how they fit together." for number in range(30)
)
SAID = (
    "Anna's wedding is on 14 June in Bruges, in the little chapel by the canal. She wants white roses everywhere, and "
    "my job is to find a band that can play swing as well as pop. Her uncle pays half of it.",
    "I have to learn asyncio for work. My manager wants a report on Friday about how we can move our scraping jobs to "
    "it, and I have never written a coroutine in my life. Where do I begin?",
    "The band from Ghent said no, so I have asked the Velvet Notes for the wedding. They want 1,700 euros and a warm "
    "meal, and they need two hours for the sound check. Do you think that I can get them down to 1,600?",
    "My bike has a puncture that I need to fix before the weekend. It has a wheel of 28 inches with a Schwalbe tyre, "
    "and there is no repair kit in the house. What do I need to buy to do it by myself?",
    "Anna wants me to give a speech of five minutes at the wedding, which I dread. She likes stories about our time at "
    "the summer camp in the Ardennes, and her parents know none of them. How do such speeches begin?",
)


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("query", lines(OVERVIEWS))
def test_an_overview_is_recognised(query: str) -> None:
    assert asks_for_overview(query)


@pytest.mark.parametrize("query", lines(OTHERS))
def test_what_has_the_same_words_is_none(query: str) -> None:
    assert not asks_for_overview(query)


@pytest.mark.parametrize("query", lines(ALL_SESSIONS))
def test_a_question_about_all_that_was_said_is_recognised(query: str) -> None:
    assert asks_of_all_sessions(query)


@pytest.mark.parametrize("query", lines(OF_A_SUBJECT))
def test_a_question_that_names_a_subject_or_a_session_is_none(query: str) -> None:
    assert not asks_of_all_sessions(query)


@pytest.fixture(scope="module")
def bank() -> MemoryBank:
    bank = MemoryBank.open()
    for number, text in enumerate(SAID):
        messages = [
            {"role": "user", "content": text, "timestamp": f"2025-0{number + 1}-10"},
            {"role": "assistant", "content": REPLY, "timestamp": f"2025-0{number + 1}-10"},
        ]
        bank.remember(SCOPE, messages, session=f"s{number}", close=True)
    return bank


@pytest.mark.parametrize(
    "query", ["Give me an overview of everything we talked about.", "What topics did we cover?", "我们聊过什么？"]
)
def test_a_small_block_shows_how_every_session_began(bank: MemoryBank, query: str) -> None:
    recall = bank.recall(SCOPE, query, token_budget=250)
    assert [hit.turns[0].session for hit in recall.hits] == [f"s{number}" for number in range(5)]
    assert "Here is what I would do" not in recall.text


def test_an_overview_of_a_subject_begins_each_message_before_it_ends_one(bank: MemoryBank) -> None:
    recall = bank.recall(SCOPE, "Summarise what I told you about Anna's wedding.", token_budget=170, only_relevant=True)
    assert all(f"user: {SAID[place][:40]}" in recall.text for place in (0, 2, 4))
    in_full = bank.recall(SCOPE, "Summarise what I told you about Anna's wedding.", token_budget=400)
    assert all(SAID[place] in in_full.text for place in (0, 2, 4)), "what else they say follows where there is room"


OF_THE_HOUSE = (
    (
        "We want to buy a house in Leuven, and I know nobody who has. Where do I begin?",
        "Ask the bank first how much it lends you.",
    ),
    (
        "How do I find a good notary for our house? My sister was not happy with hers.",
        "Let the chamber of notaries give you three names.",
    ),
    (
        "The valuer of the bank comes to see the house on Monday. What does he look at?",
        "He counts damp walls and the state of the roof.",
    ),
    (
        "Our offer for the house was accepted! What comes next, and how fast do we have to be?",
        "Sign the compromis within two weeks.",
    ),
)
DISHES = ("lentils", "chicory", "salmon", "tofu", "beans", "squash", "leeks", "peppers", "mussels", "celery")


def test_an_overview_says_how_the_replies_begin_unless_it_is_asked_what_the_user_brought_up() -> None:
    of_food = [
        (f"What do I cook on Sunday? They like {each}, and the oven is broken.", f"Try {each}.") for each in DISHES
    ]
    with MemoryBank.open() as bank:
        for number, (asked, told) in enumerate([*OF_THE_HOUSE, *of_food]):
            bank.remember(SCOPE, [("user", asked), ("assistant", f"{told} {REPLY}")], session=f"s{number}", close=True)
        shown = bank.recall(SCOPE, "Summarise how we have bought our house.", token_budget=250).text
        assert all(told in shown for _, told in OF_THE_HOUSE)
        in_order = bank.recall(SCOPE, "In what order did I bring up the parts of our house?", token_budget=250).text
        assert sum(told in in_order for _, told in OF_THE_HOUSE) < len(OF_THE_HOUSE)


def test_a_chinese_message_begins_with_its_first_sentence() -> None:
    begins, query = "我们想在鲁汶买一座房子，不知道从哪里开始。", "总结一下我们买房子的过程"
    message = begins + "银行的人说要先看工资单，然后才能谈贷款的事情，这个我们都准备好了。" * 6
    answer = "先去银行问一问。" + "再准备好所有的文件。" * 60
    with MemoryBank.open() as bank:
        bank.remember(SCOPE, [("user", message), ("assistant", answer)], session="s", close=True)
        shown = bank.recall(SCOPE, query, token_budget=100).text
        assert begins in shown
        assert message not in shown
        assert "先去银行问一问。" in bank.recall(SCOPE, query, token_budget=600).text


@pytest.mark.parametrize(
    "query", [each for each in lines(OVERVIEWS) if any(word in each for word in ("order", "Reihenfolge"))]
)
def test_a_question_for_an_order_is_recognised(query: str) -> None:
    assert asks_for_order(query)


def test_a_cut_beginning_goes_on_without_a_gap(bank: MemoryBank) -> None:
    shown = bank.recall(SCOPE, "What topics did we cover?", token_budget=2000).text
    assert all(text in shown for text in SAID)


def test_a_bank_without_rules_makes_no_outline() -> None:
    with MemoryBank.open(rules=False) as bank:
        for number, text in enumerate(SAID):
            bank.remember(SCOPE, [("user", text), ("assistant", REPLY)], session=f"s{number}", close=True)
        recall = bank.recall(SCOPE, "Summarise what I told you about Anna's wedding.", token_budget=170)
        assert sum(f"user: {SAID[place][:40]}" in recall.text for place in (0, 2, 4)) < 3
