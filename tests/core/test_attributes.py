"""What a user asks of himself that he has told in other words."""

from __future__ import annotations

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.attributes import Attribute, attribute_asked, tells_attribute

ANN = ("acme", "ann")

ASKED: dict[Attribute, str] = {
    "name": """
        What is my name?|What's my name again?|Do you still know my name?|Can you tell me my name?|What am I called?
        Wie heiße ich?|Weißt du noch, wie ich heiße?|¿Cómo me llamo?|Come mi chiamo?
        Qual è il mio nome?|Qual é o meu nome?|Você lembra o meu nome?|Como eu me chamo?|C'est quoi mon prénom ?
        Comment je m'appelle ?|我叫什么名字？
        私の名前は何ですか？|내 이름이 뭐야?""",
    "age": """
        Quanti anni ho?|Quantos anos eu tenho?
        How old am I?|What's my age?|Do you remember how old I am?|Wie alt bin ich?|¿Cuántos años tengo?
        Quel âge ai-je ?|我今年多大了？|私は何歳ですか？|나 몇 살이야?""",
    "birthday": """
        When is my birthday?|hey when's my bday|What's my date of birth?|When was I born?|In which year was I born?
        Do you remember when I was born?|Do you know my birthday?|Wann habe ich Geburtstag?|Wann bin ich geboren?
        Weißt du noch, wann ich Geburtstag habe?|¿Cuándo es mi cumpleaños?|¿En qué año nací?
        C'est quand mon anniversaire ?|Quand est-ce que je suis née ?|Mon anniversaire c'est quand ?
        Quando è il mio compleanno?|Quando sono nato?|Quando é o meu aniversário?|Em que ano eu nasci?
        我的生日是哪天？|我是什么时候出生的？|私の誕生日はいつですか？|내 생일이 언제야?""",
    "home": """
        Dove vivo?|Dove abito adesso?|In che città vivo?|Onde eu moro?|Em que cidade eu moro?
        How long have I lived here?|How long have we been living in this town?|Seit wann wohne ich hier?
        Depuis combien de temps j'habite ici ?|¿Cuánto tiempo llevo viviendo aquí?|我在这里住了多久？
        Where do I live?|Where do I live now?|Do you know where I live?|Which city do I live in?|Wo wohne ich?
        ¿Dónde vivo?|Où est-ce que j'habite ?|我住在哪里？|私はどこに住んでいますか？|제가 어디에 살죠?
        我家在哪儿？|今どこに住んでるっけ？|私の家はどこ？|저는 지금 어디에 살고 있나요?|내 집이 어디야?""",
    "job": """
        Dove lavoro?|Che lavoro faccio?|Qual é o meu trabalho?|O que eu faço da vida?|Je fais quoi dans la vie ?
        What do I do for a living?|Where do I work?|What's my job?|Wo arbeite ich?|Was ist mein Beruf?|¿Dónde trabajo?
        Où est-ce que je travaille ?|我在哪里工作？|私の仕事は何ですか？|제 직업이 뭐예요?
        Qu'est-ce que je fais dans la vie ?|Was bin ich von Beruf?|私は何の仕事をしていますか？|나 직업이 뭐야?
        내가 무슨 일을 하지?""",
    "diet": """
        A cosa sono allergica?|Ho delle allergie?|Cosa non posso mangiare?|A que sou alérgica?|Tenho alguma alergia?
        ¿Qué alimentos debo evitar?|¿Soy celíaca?|Quels aliments dois-je éviter ?|What foods should I avoid?
        What am I allergic to?|Do I have any allergies?|What can't I eat?|Am I vegetarian?|Wogegen bin ich allergisch?
        ¿A qué soy alérgica?|À quoi suis-je allergique ?|我对什么过敏？|私は何のアレルギーがありますか？
        J'ai quelles allergies ?|我有什么不能吃的？|何のアレルギーがあるっけ？|내가 뭐에 알레르기 있지?
        나 알레르기 있어?""",
}

OF_SOMETHING_ELSE = """
    What is my daughter's name?|What's my name on the server?|What is the name of my dog?|How old is my cat?
    Where does my sister live?|Where do I work out?|What do I do?|What do I do if the server is down?
    What can I eat in Rome?|My name is Katrin.|Where did I live before?|Where did I move the files?
    What is my dog allergic to?|我妹妹叫什么名字？|私の妻の名前は何ですか？|Où habite ma sœur ?|Dove abita mia sorella?
    Qual è il nome del mio cane?|Onde minha irmã mora?|What should I avoid on the road?
    Come mi chiamo se cambio cognome?|When is my sister's birthday?|When was my son born?
    Wann hat mein Bruder Geburtstag?|My birthday is on 12 May.|Quand est née ma fille ?
    妹はどこに住んでる？|내 동생 집이 어디야?|우리 언니는 무슨 일을 하지?|我妈妈有什么不能吃的？
    Was schenke ich meiner Mutter zum Geburtstag?
    """

TOLD: dict[Attribute, str] = {
    "name": """
        Hi! I'm Katrin, I bought a house.|call me Kat|My name is Kim|我叫李明。|私の名前は花子です。|Mi chiamo Giulia.
        Meu nome é Beatriz.|Soy Elena, de Vigo.|Moi c'est Inès.|エレナです。よろしく。|私はエレナといいます。
        저는 엘레나예요.""",
    "age": """
        I'm 34|I turned 35|I am 34 years old.|Ich bin 42 Jahre alt.|Tengo 34 años|J'ai 34 ans.|我今年三十岁。
        Ho 34 anni.|Tenho 34 anos.|저는 서른네 살이에요.""",
    "birthday": """
        i'm nina, born on 12 may 1994|I was born in 1988.|My birthday is the 3rd of July|my bday is in march
        Ich habe am 5. Mai Geburtstag|Ich bin am 5. Mai 1990 geboren.|Mi cumpleaños es el 4 de junio|Nací el 3 de abril
        Je suis née le 4 mars|Mon anniversaire, c'est le 4 mars.|Sono nata il 4 marzo|Nasci em 1990|我的生日是五月三号。
        我是1994年5月出生的。|私の誕生日は5月3日です。|1990年に生まれました。|제 생일은 5월 3일이에요.""",
    "home": """
        I moved to Ghent|we live in Rome|Ich wohne in Graz|Vivo en Sevilla|J'habite à Lyon|我住在杭州。
        J'habite Rennes.|J'ai emménagé à Lille.|我搬家了，现在在上海。|大阪で一人暮らしをしています。
        부산으로 이사 왔어요.
        부산에서 살고 있어요.|On habite à Rennes|Ci siamo trasferiti a Genova|Moro em Curitiba""",
    "job": """
        I work at Meridian|I'm a nurse|Ich arbeite bei BMW|Trabajo en Seat|我在一家医院工作。|銀行で働いています。
        Ich bin Krankenschwester auf der Kinderstation|我是儿科病房的护士。|我叫李明，是一家公司的会计。
        小児病棟の看護師です。|エンジニアとして働いています。|저는 소아과 간호사예요.|저는 회계사로 일해요.
        은행에서 개발자로 일하고 있어요.|Soy enfermera|Je suis infirmière
        Faccio l'infermiera|Lavoro in banca|Trabalho em uma clínica""",
    "diet": """
        I'm vegetarian|I'm allergic to nuts|Ich bin Vegetarierin|我对花生过敏。|I don't eat pork|Non mangio carne
        Não como carne|우유를 못 마셔요.""",
}

LONG = "Write the name of each milestone down, and name who lives with the work, the age and the job of each. " * 15


def several(block: str) -> list[str]:
    return [each for line in block.strip().splitlines() for each in line.strip().split("|")]


@pytest.mark.parametrize("attribute", ASKED)
def test_what_is_asked_of_oneself(attribute: Attribute) -> None:
    asked = several(ASKED[attribute])
    assert {each: attribute_asked(each) for each in asked} == dict.fromkeys(asked, attribute)


def test_what_is_asked_of_something_else() -> None:
    assert [each for each in several(OF_SOMETHING_ELSE) if attribute_asked(each)] == []


@pytest.mark.parametrize("attribute", TOLD)
def test_what_is_told_of_oneself(attribute: Attribute) -> None:
    assert [each for each in several(TOLD[attribute]) if not tells_attribute(each, attribute)] == []


def test_what_looks_like_it_tells_nothing() -> None:
    assert not tells_attribute("큰 서점에서 일본 소설을 샀어요.", "job")
    assert not tells_attribute("내일 마트에서 살 거예요.", "home")
    assert not tells_attribute("我在酒店住了两晚。", "home")
    assert not tells_attribute("저는 간호사예요.", "name")
    assert not tells_attribute("저는 처음이에요.", "name")
    assert not tells_attribute("姉の夫は看護師です。", "job")


def test_what_somebody_else_says_tells_nothing() -> None:
    assert not tells_attribute("My boss said 'I live in Rome'.", "home")
    assert not tells_attribute("My daughter was born on 5 May.", "birthday")
    assert not tells_attribute("In our story my birthday is in midwinter.", "birthday")


@pytest.mark.parametrize(
    ("told", "asked", "answer"),
    [
        ("Hi! I'm Katrin, nice to meet you.", "What's my name again?", "Katrin"),
        ("We moved to Ghent.", "Where do I live?", "Ghent"),
        ("We moved to Ghent.", "How long have I lived here?", "Ghent"),
        ("강릉으로 이사했어요!", "내가 어디 살지?", "강릉"),
        ("저는 소아과 간호사예요.", "제 직업이 뭐예요?", "간호사"),
        ("エレナです。小児病棟の看護師です。", "私の仕事は何？", "看護師"),
        ("We signed the lease for a small flat in Lerwick.", "Where do I live?", "Lerwick"),
        ("I just turned 35!", "How old am I?", "35"),
        ("i'm nina, born on 12 may 1994", "when's my birthday?", "12 may"),
        ("I'm a nurse on the night shift.", "What's my job?", "nurse"),
        ("I'm vegetarian, by the way.", "What can't I eat?", "vegetarian"),
        ("I gave up dairy in spring.", "What foods should I avoid?", "dairy"),
        ("Funny, I get hives from strawberries.", "What am I allergic to?", "strawberries"),
    ],
)
@pytest.mark.parametrize("budget", [120, 300, 1000])
def test_it_is_found_before_what_only_shares_words(told: str, asked: str, answer: str, budget: int) -> None:
    with MemoryBank.open() as bank:
        bank.remember(ANN, [("user", told), ("assistant", "I see.")], session="first", close=True)
        for session in range(12):
            question = f"How do I plan the project, part {session}?"
            bank.remember(ANN, [("user", question), ("assistant", LONG)], session=str(session), close=True)
        found = bank.recall(ANN, asked, token_budget=budget)
        assert answer in found.text
        assert found.confidence == 0.9
        assert answer in bank.recall(ANN, asked, token_budget=budget, only_relevant=True).text


def test_without_such_a_statement_it_is_asked_as_any_question() -> None:
    with MemoryBank.open() as bank:
        bank.remember(
            ANN, [("user", "The name of the ship is Vesta."), ("assistant", "Noted.")], session="ship", close=True
        )
        [found] = bank.recall(ANN, "What is my name?").hits
        assert found.relevance != 0.9
