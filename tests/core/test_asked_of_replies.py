"""Questions about what the assistant has told: the reply is found, and not what the user said around it."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import NamedTuple

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.replies_asked import asks_again, asks_of_replies

SCOPE = ("acme", "alice")
AT = datetime(2024, 5, 6, tzinfo=timezone.utc)

OF_REPLIES = """
    What approach did you recommend to speed up hiring?
    Which laptop did you tell me to get?
    What was the recipe you gave me?
    How did you say I should back up my files?
    Which of the three did you pick?
    You mentioned a book about sleep, which one was it?
    What was your advice about the mortgage?
    Had you not warned me about something with the sealant?
    you worked out how much of the fees was left for me, how much was it?
    Which one did you lean towards, and what did it cost?
    How long is it in your comparison?
    How did you help me plan my budget?
    Zu welchem Anstrich hattest du mir geraten?
    Was hast du mir zum Essen empfohlen?
    Welche Farbe hatten Sie vorgeschlagen?
    Wie hoch sollte der Tisch nach deinem Rat sein?
    Was rietst du mir damals?
    Was hattest du gegen die Stiche aufgezählt?
    Da gab es doch eine Regel von dir, wie ging die?
    Ich finde das Buch nicht, das du mir empfohlen hast.
    你上次推荐的是哪本书？
    之前你建议我怎么复习？
    你让我买几包水泥？
    根据你的建议，我该先做什么？
    ¿Qué restaurante me recomendaste?
    ¿Cuánto dijiste que costaba?
    ¿Qué marca de chocolate me indicaste?
    ¿Cuál fue tu consejo para la rodilla?
    Quel livre m'as-tu conseillé ?
    C'était quoi ton conseil pour le genou ?
    Che scarpe mi hai consigliato?
    Che idee mi avevi dato per il matrimonio?
    O que você sugeriu para o roteador?
    Que tênis você me indicou?
    Qu'est-ce que tu m'avais recommandé pour le dos ?
    Que m'avez-vous dit sur le bail ?
    前におすすめしてくれた本は何でしたか？
    教えてくれた店の名前は？
    どんな案を出してくれた？
    네가 무슨 신발을 추천했지?
    어떤 아이디어를 줬어?
    저번에 추천해 준 책이 뭐였지?
    네가 알려준 방법이 뭐였어?
    """

OF_SOMETHING_ELSE = """
    What would you recommend for dinner?
    What do you recommend?
    How would you suggest I store my documents?
    Where do I live?
    What did I tell you about my sister?
    What do you know about me?
    Please give me your advice on the lease.
    Did my doctor recommend a diet?
    Did you know that I have a sister?
    What did I tell you Tom recommended for dinner?
    Which toothpaste do I use?
    What did Anna tell me about the party?
    Who did I say recommended the hotel?
    Was würdest du empfehlen?
    Kannst du mir ein Buch empfehlen?
    Was hat mir mein Arzt geraten?
    Hast du eine Idee?
    Was steht auf meiner Einkaufsliste?
    Wo ist die Leertaste?
    Was haben sie im Hotel gesagt?
    你能给我推荐一本书吗？
    请给我你的建议。
    医生建议我吃什么？
    ¿Qué me recomiendas?
    ¿Qué dijo mi hermana?
    ¿Existe un tren nocturno?
    Que me conseilles-tu ?
    おすすめの本はありますか？
    책 추천해 줘.
    ¿Cuál es tu consejo para dormir mejor?
    Cosa mi consigli per cena?
    O que você recomenda para o jantar?
    Quel est ton conseil pour mieux dormir ?
    """


ONCE_MORE = """
    How much was it again?
    What was the name again, of the paint?
    Remind me which train I take.
    I forgot the name of the plumber.
    When are our calls? I can't for the life of me recall.
    Ich habe ihn wieder vergessen: Wie lautete der Gruß?
    Wie viel war das noch mal?
    Wie hieß der Ort doch gleich?
    Erinnere mich an den Termin.
    那是多少来着？
    ¿Cuánto era, otra vez?
    Recuérdame la dirección.
    C'était combien, déjà ?
    Ricordami il libro di giardinaggio
    Come si chiamava il libro?
    Me lembra do livro de jardinagem
    いくらだっけ？
    얼마였지?
    """

FOR_THE_FIRST_TIME = """
    How much is the rent?
    I'll paint the fence again in spring, which colour do you like?
    Wie viel kostet das Abo?
    价格是多少？
    ¿Cuánto cuesta el alquiler?
    """


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.mark.parametrize("question", lines(OF_REPLIES))
def test_a_question_about_what_the_assistant_told(question: str) -> None:
    assert asks_of_replies(question)


@pytest.mark.parametrize("question", lines(OF_SOMETHING_ELSE))
def test_a_question_that_looks_like_one(question: str) -> None:
    assert not asks_of_replies(question)


def test_a_page_is_no_question_about_a_reply() -> None:
    assert not asks_of_replies("Which laptop did you tell me to get? " * 20)
    assert not asks_again("How much was it again? " * 20)


@pytest.mark.parametrize("question", lines(ONCE_MORE))
def test_what_somebody_has_forgotten(question: str) -> None:
    assert asks_again(question)


@pytest.mark.parametrize("question", lines(FOR_THE_FIRST_TIME))
def test_what_is_asked_for_the_first_time(question: str) -> None:
    assert not asks_again(question)


class Told(NamedTuple):
    asked: str
    told: str
    filler: str
    beside: tuple[str, ...]
    question: str
    answer: str
    budget: int


TOLD = {
    "english": Told(
        "I need a light notebook for my work on the train, can you help me to find one?",
        "For work on the train I would take the Finch 13: it weighs 990 grams and its battery lasts 15 hours.",
        "A matt screen is easier to read where the sun comes in, and a sturdy hinge lasts for years. ",
        (
            "My old notebook broke on the train, when somebody sat down on it.",
            "I left the notebook of my sister on the train, and it was brought back.",
            "On the train I write in a paper notebook when the battery is empty.",
            "I got a notebook bag that hangs from the hook of a train seat.",
        ),
        "Which notebook did you tell me to get for the train?",
        "Finch 13",
        200,
    ),
    "german": Told(
        "Ich brauche ein leichtes Notebook für die Arbeit im Zug, kannst du mir helfen?",
        "Für die Arbeit im Zug würde ich das Finch 13 nehmen: Es wiegt 990 Gramm, und der Akku hält 15 Stunden.",
        "Ein matter Bildschirm spiegelt weniger, wo die Sonne hereinscheint, und gute Scharniere halten lange. ",
        (
            "Mein altes Notebook ging im Zug kaputt, als sich jemand darauf setzte.",
            "Ich habe das Notebook meiner Schwester im Zug vergessen und zurückbekommen.",
            "Im Zug schreibe ich ohne Notebook auf Papier, wenn der Akku leer ist.",
            "Ich habe eine Tasche für das Notebook, die im Zug am Haken hängt.",
        ),
        "Welches Notebook hattest du mir für den Zug empfohlen?",
        "Finch 13",
        200,
    ),
    "chinese": Told(
        "我在火车上工作，需要一台轻便的笔记本电脑，你能帮我挑吗？",
        "在火车上工作，笔记本电脑我会选雀牌十三寸：重九百九十克，电池能用十五个小时。",
        "阳光照进来的时候，哑光屏幕看得更清楚，结实的转轴能用很多年。",
        (
            "我的旧笔记本电脑在火车上坏了。",
            "我把姐姐的笔记本电脑忘在火车上了，后来找回来了。",
            "火车上很吵，笔记本电脑的声音听不见。",
            "我有一个能挂在火车座位上的笔记本电脑包。",
        ),
        "你上次推荐我在火车上用哪台笔记本电脑？",
        "雀牌十三寸",
        150,
    ),
    "spanish": Told(
        "Necesito un portátil ligero para trabajar en el tren, ¿me ayudas a encontrar uno?",
        "Para trabajar en el tren, el portátil que tomaría es el Pinzón 13: pesa 990 gramos y dura 15 horas.",
        "Una pantalla mate se lee mejor donde entra el sol, y una bisagra firme aguanta muchos años. ",
        (
            "Mi viejo portátil se rompió en el tren cuando alguien se sentó encima.",
            "Olvidé el portátil de mi hermana en el tren y me lo devolvieron.",
            "En el tren escribo en papel cuando el portátil no tiene batería.",
            "Tengo una bolsa para el portátil que cuelga del asiento del tren.",
        ),
        "¿Qué portátil me recomendaste para el tren?",
        "Pinzón 13",
        150,
    ),
}


@pytest.fixture(params=list(TOLD))
def told(request: pytest.FixtureRequest) -> Told:
    return TOLD[request.param]


@pytest.fixture
def bank(told: Told) -> MemoryBank:
    reply = told.filler * 4 + told.told + " " + told.filler * 8
    talk = [("user", told.asked), ("assistant", reply)]
    talk += [each for said in told.beside for each in (("user", said), ("assistant", told.filler * 6))]
    bank = MemoryBank.open()
    messages = [{"role": role, "content": text} for role, text in talk]
    bank.remember(SCOPE, messages, session="one", at=AT, close=True)
    return bank


def test_what_was_recommended_is_in_a_small_block(bank: MemoryBank, told: Told) -> None:
    with bank:
        recall = bank.recall(SCOPE, told.question, token_budget=told.budget)
        assert told.answer in recall.text, recall.text


def test_what_was_forgotten_may_have_been_told_by_either_side() -> None:
    filler = "Let the first coat dry for a day, and stir the tin well before the second one goes on. " * 4
    about = "The paint for the kitchen wall should stand steam: take the one called Alba 7. "
    talk = [("user", "Which paint for the kitchen wall?"), ("assistant", filler + about + filler * 2)]
    mine = [
        "The kitchen wall has a crack that the paint must cover, as the wall is old.",
        "I bought brushes for the kitchen wall and a tray for the paint.",
        "The paint on the kitchen wall of my parents is yellow, the wall was never done again.",
        "The plumber said that the kitchen wall is dry, so the paint will hold on that wall.",
        "My brother will help me with the kitchen wall and its paint on Sunday.",
    ]
    talk += [each for said in mine for each in (("user", said), ("assistant", filler * 2))]
    with MemoryBank.open() as bank:
        messages = [{"role": role, "content": text} for role, text in talk]
        bank.remember(SCOPE, messages, session="one", at=AT, close=True)
        told = bank.recall(SCOPE, "What was the paint for the kitchen wall called again?", token_budget=150)
        said = bank.recall(SCOPE, "When does my brother help me with the kitchen wall again?", token_budget=250)
    assert "Alba 7" in told.text, told.text
    assert "on Sunday" in said.text, said.text


def test_what_the_user_said_still_comes_first_where_it_is_asked_for(bank: MemoryBank, told: Told) -> None:
    with bank:
        recall = bank.recall(SCOPE, told.beside[0], token_budget=150)
        assert told.beside[0].rstrip(".。") in recall.text, recall.text
