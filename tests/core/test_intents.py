"""Questions about the conversation itself, and questions that lean on what was said before."""

from __future__ import annotations

import pytest

from secom_core.text.attributes import ATTRIBUTES
from secom_core.text.intents import leans, subject

LAST_SESSION = {
    "english": """
        What did we talk about last time?
        What did we discuss in our last session?
        Where did we leave off?
        Where were we?
        What were we talking about?
        Let's pick up where we left off.
        Continue.
        Please continue our last conversation.
        Can we go on from last time?
        What have we covered so far?
        Remind me what we discussed previously.
        What did we do last session?
        Where did we stop?
        What was our last conversation about?
        Summarise our previous chat.
        What was the last thing we talked about?
        """,
    "german": """
        Worüber haben wir letztes Mal gesprochen?
        Wo waren wir stehen geblieben?
        Wo sind wir stehengeblieben?
        Was haben wir zuletzt besprochen?
        Was haben wir letzte Sitzung gemacht?
        Lass uns weitermachen.
        Machen wir weiter.
        Weiter!
        Wovon haben wir im letzten Gespräch geredet?
        Womit waren wir dran?
        Worüber haben wir uns unterhalten?
        Um was ging es letztes Mal?
        Fass unser letztes Gespräch zusammen.
        Was war unser letztes Thema?
        Worum ging es in unserem letzten Gespräch?
        """,
    "chinese": """
        我们上次聊了什么？
        上次说到哪了？
        我们聊到哪里了？
        上一次我们谈了什么？
        上回讲到哪儿了？
        我们停在哪里？
        继续吧。
        继续。
        接着上次的聊。
        之前我们聊了些什么？
        我们继续上次的话题。
        上次的对话是关于什么的？
        总结一下我们上次的谈话。
        咱们上次说到哪儿？
        上次我们讨论了什么？
        """,
    "spanish": """
        ¿De qué hablamos la última vez?
        ¿Dónde nos quedamos?
        ¿De qué estábamos hablando?
        ¿En qué habíamos quedado?
        Resume nuestra última conversación
        """,
    "french": """
        De quoi avons-nous parlé la dernière fois ?
        Où en étions-nous ?
        De quoi on a parlé la dernière fois ?
        On en était où ?
        Résume notre dernière conversation
        """,
    "italian": """
        Di cosa abbiamo parlato l'ultima volta?
        Dove eravamo rimasti?
        Riassumi la nostra ultima conversazione
        """,
    "portuguese": """
        Sobre o que falamos da última vez?
        Onde paramos?
        Resuma a nossa última conversa
        """,
    "japanese": """
        前回は何を話しましたか？
        この前は何の話をしましたか？
        前回はどこまで話しましたか？
        前回の続きは？
        前の会話では何を話しましたか？
        """,
    "korean": """
        지난번에 무슨 이야기를 했지요?
        저번에 뭐에 대해 얘기했어?
        우리 어디까지 했지?
        지난 대화에서 무슨 얘기를 했어?
        """,
}
USER = {
    "english": """
        What do you know about me?
        What do you remember about me?
        Who am I?
        Tell me about myself.
        Do you remember me?
        Do you know who I am?
        What have you learned about me so far?
        What have I told you about myself?
        Describe me.
        Tell me everything you know about me.
        What can you tell me about myself?
        Summarize what you know about me.
        What's in my profile?
        What do you already know of me?
        """,
    "german": """
        Was weißt du über mich?
        Wer bin ich?
        Kennst du mich?
        Erinnerst du dich an mich?
        Beschreibe mich.
        Was hast du dir über mich gemerkt?
        Was kannst du mir über mich sagen?
        Erzähl mir etwas über mich.
        Sag mir alles, was du über mich weißt.
        Was weißt du von mir?
        Weißt du, wer ich bin?
        Was habe ich dir über mich erzählt?
        """,
    "chinese": """
        我是谁？
        你知道我是谁吗？
        你了解我吗？
        你记得我吗？
        你对我了解多少？
        你知道我的什么？
        你知道关于我的什么？
        关于我你知道什么？
        介绍一下我。
        描述一下我自己。
        你还记得我什么？
        你了解我哪些情况？
        说说我是什么样的人
        """,
    "spanish": """
        ¿Qué sabes de mí?
        ¿Qué recuerdas sobre mí?
        ¿Quién soy?
        Háblame de mí
        ¿Me conoces?
        Dime lo que sabes de mí
        """,
    "french": """
        Que sais-tu de moi ?
        Qu'est-ce que tu sais sur moi ?
        Qui suis-je ?
        Je suis qui ?
        Décris-moi
        Que sais-tu à mon sujet ?
        """,
    "italian": """
        Cosa sai di me?
        Chi sono io?
        """,
    "portuguese": """
        O que você sabe sobre mim?
        Quem sou eu?
        """,
    "japanese": """
        私について何を知っていますか？
        私のことを覚えていますか？
        私は誰ですか？
        私のことを教えて
        私ってどんな人？
        """,
    "korean": """
        나에 대해 뭘 알고 있어?
        저에 대해 아는 것을 말해 주세요.
        내가 누구야?
        내가 어떤 사람이야?
        날 기억해?
        """,
}
ABOUT_SOMETHING_ELSE = {
    "english": """
        What did we discuss about the kitchen worktop last time?
        Where did my sister go last time?
        Continue the story about dragons.
        What did we decide about the wedding budget?
        What did we say about Portugal last time?
        Continue with the garden plan.
        What is my sister's name?
        What do you know about Portugal?
        What do you know about my sister?
        Where do I live?
        Who is my dentist?
        When was my last dentist appointment?
        What was the last film I saw?
        What did I say about Peru?
        How did we fix the leaking tap last month?
        What was the previous owner of my car called?
        Where were we when the storm hit Lisbon?
        What did we cook for Tom's birthday last year?
        Tell me about my dog Biscuit.
        Resume the download of the backup file.
        Go on a diet or keep running?
        I prefer the last one.
        """,
    "german": """
        Was haben wir letztes Mal über die Arbeitsplatte in der Küche besprochen?
        Wohin ist meine Schwester letztes Mal gefahren?
        Erzähl die Geschichte vom Drachen weiter.
        Was weißt du über Portugal?
        Was weißt du über meine Schwester?
        Wo wohne ich?
        Wer ist mein Zahnarzt?
        Wann war mein letzter Zahnarzttermin?
        Was haben wir im Sommer am Bodensee gemacht?
        Welchen Film habe ich zuletzt gesehen?
        Wie weit ist es nach Ulm?
        Wo waren wir im Urlaub mit Tante Frieda?
        Was haben wir über das Budget der Hochzeit gesagt?
        Mach mir bitte eine Liste mit Museen in Wien.
        Wie heißt mein Hund?
        """,
    "chinese": """
        上次我们说厨房台面用什么材料？
        我妹妹上次去了哪里？
        你知道我妹妹叫什么吗？
        你知道我住在哪里吗？
        我的牙医是谁？
        我上次看的电影叫什么？
        你了解葡萄牙吗？
        继续讲龙的故事。
        我对什么过敏？
        上次体检的结果是什么？
        我喜欢什么颜色？
        你记得我的生日吗？
        我的狗叫什么名字？
        上次修水管花了多少钱？
        你知道我的猫叫什么吗？
        """,
    "spanish": """
        ¿Dónde vimos a mi hermana la última vez?
        ¿Qué sabes de mi perro Bruno?
    """,
    "french": """
        La dernière fois que j'ai vu Paul, où était-ce ?
        De quoi avons-nous parlé avec le médecin la dernière fois ?
        Résume ma dernière conversation avec Paul
    """,
    "italian": """
        Quando sono andata dal dentista l'ultima volta?
        Di cosa abbiamo parlato con il medico l'ultima volta?
        Cosa sai di mia sorella?
    """,
    "portuguese": """
        Quando foi a última vez que fui ao dentista?
        O que você sabe sobre minha irmã?
    """,
    "japanese": """
        前回の健康診断の結果はどうでしたか？
        妹は前回どこへ旅行しましたか？
    """,
}


def lines(block: str) -> list[str]:
    return [line.strip() for line in block.strip().splitlines()]


@pytest.mark.parametrize("language", LAST_SESSION)
def test_questions_about_the_last_session(language: str) -> None:
    asked = lines(LAST_SESSION[language])
    assert {line: subject(line) for line in asked} == dict.fromkeys(asked, "last session")


@pytest.mark.parametrize("language", USER)
def test_questions_about_the_user(language: str) -> None:
    asked = lines(USER[language])
    assert {line: subject(line) for line in asked} == dict.fromkeys(asked, "user")


@pytest.mark.parametrize("language", ABOUT_SOMETHING_ELSE)
def test_questions_that_look_like_them(language: str) -> None:
    asked = lines(ABOUT_SOMETHING_ELSE[language])
    assert [line for line in asked if subject(line) not in ("", *ATTRIBUTES)] == []


OF_THE_FIRST = """
    What was the very first thing we talked about?
    What did we talk about in our first conversation?
    What was my first question to you?
    What did I tell you first?
    How did we start?
    Worüber haben wir im ersten Gespräch geredet?
    Was habe ich dir ganz am Anfang erzählt?
    ¿De qué hablamos la primera vez?
    De quoi avons-nous parlé la première fois ?
    我们第一次聊了什么？
    我們一開始討論了什麼？
    最初に何を話しましたか？
    처음에 무슨 얘기 했지?
    Di cosa abbiamo parlato la prima volta?
    Do que falamos na primeira vez?
"""
NOT_OF_THE_FIRST = """
    What was the first thing I bought for the kitchen?
    When was the first time I went to Lisbon?
    Which book did I read first?
    How did the project start?
    Wann war ich das erste Mal in Wien?
    我第一次去上海是什么时候？
    처음에 산 신발이 뭐였지?
    Quando ho visto Roma la prima volta?
"""


def test_questions_about_the_first_session() -> None:
    assert {line: subject(line) for line in lines(OF_THE_FIRST)} == dict.fromkeys(lines(OF_THE_FIRST), "first session")
    others = lines(NOT_OF_THE_FIRST)
    assert {line: subject(line) for line in others} == dict.fromkeys(others, "")


OF_THE_ONE_BEFORE_THE_LAST = """
    What did we talk about the time before last?
    What did I tell you the session before last?
    Worüber haben wir vorletztes Mal gesprochen?
    ¿De qué hablamos la penúltima vez?
    De quoi avons-nous parlé l'avant-dernière fois ?
    上上次我们聊了什么？
    前々回何を話しましたか？
"""


def test_questions_about_the_session_before_the_last() -> None:
    asked = lines(OF_THE_ONE_BEFORE_THE_LAST)
    assert {line: subject(line) for line in asked} == dict.fromkeys(asked, "session before last")
    assert subject("Did we paint the kitchen the time before last?") == ""
    assert subject("What did we talk about the week before last?") == "days"


OF_DAYS = """
    Where was I on May 3?
    What did we talk about on May 3?
    What did I say yesterday?
    What did you tell me on 3 June 2023?
    what did we discuss on the 26th of april
    Did we talk about anything last month?
    What did we discuss last week?
    What happened last Friday?
    Can you summarize our conversation of 2023-05-03?
    Worüber haben wir am 3. Mai gesprochen?
    Was habe ich dir gestern erzählt?
    Was war letzte Woche?
    ¿De qué hablamos ayer?
    ¿Qué te dije el 3 de mayo?
    De quoi avons-nous parlé le 3 mai ?
    Qu'est-ce que j'ai dit hier ?
    2026年5月3日我们谈了什么？
    昨天我说了什么？
    5月4日我們聊了什麼？
    上周我们讨论了哪些话题？
    5月3日に何を話しましたか？
    What did I do in June?
    What have I done in October?
    How did last week go?
    How was last month?
    De quoi on a parlé hier ?
    On a parlé de quoi hier ?
    Qu'est-ce que je t'ai demandé hier ?
    De quoi a-t-on discuté en avril ?
    De quoi on discutait mardi dernier ?
    ¿Qué te pregunté el martes pasado?
    ¿Qué hablamos el día 12 de marzo?
    Di che cosa abbiamo parlato ieri?
    Cosa ti ho raccontato a marzo?
    Di cosa abbiamo parlato due settimane fa?
    Do que falamos ontem?
    Sobre o que conversamos na semana passada?
    Do que falamos há duas semanas?
    先月話したことは？
"""
OF_MORE_THAN_DAYS = """
    What did we say about the kitchen on May 3?
    What did my sister do yesterday?
    What did I do wrong yesterday?
    How was the weather yesterday?
    How was the concert last Friday?
    What is due on Friday?
    Was hat Anna gestern gekauft?
    ¿Qué compré ayer?
    昨天我妹妹买了什么？
    カメラについて5月3日に何を話しましたか？
    Cosa ti ho detto ieri del ginocchio?
    O que eu te disse ontem sobre o joelho?
    Qu'est-ce que je t'ai dit hier de mon genou ?
"""


def test_questions_about_what_was_said_on_days() -> None:
    assert {line: subject(line) for line in lines(OF_DAYS)} == dict.fromkeys(lines(OF_DAYS), "days")
    others = lines(OF_MORE_THAN_DAYS)
    assert {line: subject(line) for line in others} == dict.fromkeys(others, "")


def test_a_page_is_no_question_about_the_conversation() -> None:
    assert subject("What did we talk about last time? " + "Here is the whole draft again. " * 10) == ""
    assert subject("") == subject(" ") == subject("???") == ""


LEANING = """
    And where does she live?
    What about the other one?
    Why?
    How old is he?
    Tell me more.
    And then?
    Is that far from there?
    When was it?
    How much did they cost?
    What else?
    Und wo wohnt sie?
    Warum?
    Wie alt ist er?
    Und dann?
    Wann war das?
    Erzähl mir mehr davon.
    Was kostet es?
    她住在哪里？
    那个呢？
    为什么？
    还有呢？
    他多大了？
    那里远吗？
    ¿Y cuántos gatos tiene?
    ¿Cuál de esos restaurantes recomiendas?
    Et où habite-t-elle exactement maintenant ?
    Pour lui, tu recommandes quoi comme cadeau ?
    E quanti gatti ha in casa?
    Quale di quei ristoranti, quello in centro?
    E onde ela mora atualmente?
    Qual dessas opções você recomenda?
    """

STANDING_ALONE = """
    Where does my sister live?
    What is the capital of Peru?
    When does the lease of the office end?
    Which restaurant did Tom recommend in Lisbon?
    How old is my daughter Mara?
    Wo wohnt meine Schwester Anna?
    Was ist die Hauptstadt von Peru?
    Wann endet der Mietvertrag für das Büro?
    Welches Restaurant hat Tom in Lissabon empfohlen?
    我妹妹住在哪里？
    秘鲁的首都是哪里？
    办公室的租约什么时候到期？
    汤姆推荐了里斯本哪家餐厅？
    ¿Cuándo se casa mi hermana Carmen?
    Quand se marie ma sœur Léa ?
    Quando si sposa mia sorella Chiara?
    Quando a minha irmã Carla se casa?
    E coli infection symptoms?
    Wann esse ich mit Ella zu Mittag?
    """


def test_a_question_that_points_back_leans_on_what_was_said() -> None:
    assert {line: leans(line) for line in lines(LEANING)} == dict.fromkeys(lines(LEANING), True)
    assert leans("")


def test_a_question_that_tells_enough_stands_alone() -> None:
    assert {line: leans(line) for line in lines(STANDING_ALONE)} == dict.fromkeys(lines(STANDING_ALONE), False)


def test_somebody_named_before_is_whom_a_pronoun_means() -> None:
    assert not leans("When did Mara take her children to the lake?")
    assert not leans("What does my sister keep in her garage?")
    assert not leans("Is there a good bakery in Lisbon?")
    assert leans("What did Tom think of her?")
    assert not leans("Here is all that I know about it. " * 12)
