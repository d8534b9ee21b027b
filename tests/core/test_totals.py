"""Questions that are answered by many turns: what the user told comes before what was asked, and before replies."""

from __future__ import annotations

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.totals import asks_in_all, tells_of_nobody

SCOPE = ("acme", "alice")

IN_ALL = """
    How many books have I finished this year?
    How often did I go swimming in May?
    How much have I spent on the bike in all?
    How much did the yoga cost me?
    What has the cat cost us at the vet?
    Which restaurants have I told you about?
    What accessories did I buy for my bike?
    List all my race times.
    Who has helped me with the move?
    Which companies rejected me?
    Which of my friends have kids?
    What have I cancelled?
    What has been stolen from me?
    Where have we been on holiday?
    Who owes me money?
    Wie viele Filme habe ich gesehen?
    Wie oft waren wir im Kino?
    Welche Städte habe ich besucht?
    Welche Firmen haben mich abgelehnt?
    Welche meiner Freunde haben Kinder?
    Was habe ich alles gekündigt?
    Wo waren wir schon überall?
    我今年读完了几本书？
    我在健身上一共花了多少钱？
    我去过哪些地方旅游？
    ¿Cuántos libros he leído este año?
    ¿Cuánto gasté en total en la bici?
    ¿Qué ciudades he visitado?
    ¿Qué he cancelado?
    ¿Cuáles de mis amigos tienen hijos?
    Dime todos los libros que he leído.
    Combien de fois suis-je allée chez le dentiste ?
    Combien m'a coûté le yoga ?
    Quels livres ai-je lus ?
    Quelles villes est-ce que j'ai visitées ?
    Qu'est-ce que j'ai résilié ?
    Cite toutes mes courses.
    Quanti libri ho letto?
    Quali città abbiamo visitato?
    Cosa ho disdetto?
    Quantos livros eu li este ano?
    Quais cidades visitamos?
    O que eu já cancelei?
    歯医者には何回行きましたか？
    私はどんな本を読みましたか？
    自転車に全部でいくら使った？
    私は何を解約しましたか？
    今まで何冊読んだっけ？
    치과에 몇 번 갔지?
    내가 어떤 책을 읽었지?
    자전거에 전부 얼마 썼어?
    지금까지 내가 뭘 해지했지?
    """
OTHERS = """
    What is my dentist called?
    What have I got to bring?
    What has my doctor said?
    What have you recommended?
    Which glasses help me see?
    Was ist alles möglich?
    Which address do I have?
    How many cups are in a litre?
    How much time do I have between the sprint and the release?
    How many days passed until I got the parcel?
    How long had I been learning Spanish?
    Which books have you recommended to me?
    How many books did you tell me to read?
    How many times have I asked you about taxes?
    Which questions have I put to you?
    How do I oil a chain?
    Wie heißt meine Zahnärztin?
    Wie viele Tage habe ich zwischen den Prüfungen?
    我的牙医叫什么？
    我问过你多少次？
    ¿Cuánto tiempo tengo entre los dos trenes?
    ¿Qué libros me recomendaste?
    ¿Cuánto cuesta una bici?
    ¿Cuántas veces te he preguntado por los impuestos?
    ¿Cómo se llama mi dentista?
    Combien je paie de loyer ?
    Combien de temps ai-je jusqu'au prochain train ?
    Quels livres m'as-tu recommandés ?
    Combien coûte un vélo ?
    Quanto costa una bici?
    Quanto custa uma bicicleta?
    自転車はいくらですか？
    どの本をすすめてくれましたか？
    前の家賃はいくらでしたか？
    ¿Qué alimentos me pueden sentar mal?
    ¿Qué planes tengo para mi cumpleaños?
    자전거는 얼마예요?
    어떤 책을 추천해 줬지?
    """
OF_NOBODY = (
    "How much does a bike weigh?",
    "How do I oil a chain?",
    "Should I oil it?",
    "Was kostet ein Rad?",
    "书贵吗？",
    "¿Cuánto pesa una bici?",
    "Combien pèse un vélo ?",
    "自転車はいくらですか？",
    "자전거는 얼마예요?",
)
OF_ONESELF = (
    "How do I get my kid to read more?",
    "I paid 79 for a lock. Where do I put it?",
    "Is 79 too much for the lock that I bought?",
    "Wie putze ich mein Rad?",
    "我的书怎么收纳？",
    "¿Dónde pongo mi bici?",
    "Où est-ce que je range mon vélo ?",
    "私の自転車はどこに置く？",
    "내 자전거는 어디에 둘까?",
)

SPENT = (
    "A D-lock for 79 pounds came today. Where on the frame does it go?",
    "The shop charged me 110 for a full service. Was that a rip-off?",
    "I cracked my helmet, a new one set me back 62. Can one sue over potholes?",
    "Got mudguards, 27 quid. They rattle. Any fix?",
)
ASKED = (
    "How much does a bike weigh on average?",
    "How much does it cost to rent a bike?",
    "What's the difference between disc and rim brakes on a bike?",
    "How often should I oil the chain of a bike?",
    "How much should one spend on a bike for a child?",
    "Is a bike lane compulsory?",
    "How much air does a bike's tyre need?",
    "Which bike is good for the mountains?",
)

IN_OTHERS = {
    "¿Cuánto he gastado en total en la bici?": (
        "Hoy llegó un candado de 79 euros. ¿En qué parte del cuadro va?|El taller me cobró 110. ¿Es caro?"
        "|Se me rompió el casco, el nuevo me salió por 62. ¿Y la garantía?|Puse guardabarros, 27 euros. ¿Y si suenan?",
        "¿Cuánto pesa una bici normal?|¿Cuánto cuesta alquilar una bici?|¿En qué se diferencian los frenos de una bici?"
        "|¿Qué bici es buena para el monte?|¿Cuánto aire lleva una bici?|¿Es obligatorio el timbre en la bici?",
        "Un ciclista puede gastar mucho en la bici. La bici pide cuidado. ",
    ),
    "Combien ai-je dépensé en tout pour le vélo ?": (
        "Un antivol à 79 euros est arrivé. Où le fixer ?|L'atelier m'a pris 110 pour la révision. C'est cher ?"
        "|Mon casque s'est fendu, le neuf m'a coûté 62. Et la garantie ?|Des garde-boue, 27 euros. Et s'ils vibrent ?",
        "Combien pèse un vélo ?|Combien coûte la location d'un vélo ?|Quels freins pour un vélo ?"
        "|Quel vélo pour la montagne ?|Combien d'air pour un vélo ?|La sonnette du vélo est-elle obligatoire ?",
        "On peut beaucoup dépenser pour un vélo. Le vélo demande des soins. ",
    ),
    "自転車に全部でいくら使いましたか？": (
        "79ユーロの鍵が届いた。どこに付ける？|工房で整備に110取られた。高い？"
        "|ヘルメットが割れて、新しいのは62した。保証は効く？|泥よけを付けた、27ユーロ。音がするのはなぜ？",
        "自転車の重さは？|自転車を借りるといくら？|自転車のブレーキの違いは？"
        "|山に向く自転車は？|自転車の空気圧は？|自転車のベルは義務？",
        "自転車にはいくらでも使えます。自転車は手入れが必要です。",
    ),
    "자전거에 전부 얼마 썼지?": (
        "79유로짜리 자물쇠가 왔어요. 어디에 달아요?|공방에서 정비에 110을 받았어요. 비싼가요?"
        "|헬멧이 깨져서 새것에 62 들었어요. 보증이 되나요?|흙받이를 달았어요, 27유로. 소리가 나면요?",
        "자전거 무게는 얼마예요?|자전거 빌리는 데 얼마예요?|자전거 브레이크는 어떻게 달라요?"
        "|산에 좋은 자전거는요?|자전거 공기압은요?|자전거 벨은 의무예요?",
        "자전거에는 얼마든지 쓸 수 있어요. 자전거는 손질이 필요해요. ",
    ),
}
"""By a question, what tells it, what asks about the same things, and how the replies go."""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("text", lines(IN_ALL))
def test_what_was_told_in_many_turns_is_asked_for(text: str) -> None:
    assert asks_in_all(text)


@pytest.mark.parametrize("text", lines(OTHERS))
def test_another_thing_is_asked_for(text: str) -> None:
    assert not asks_in_all(text)


def test_a_long_text_is_no_such_question() -> None:
    assert not asks_in_all(f"How many books have I read? {'a word ' * 50}")


@pytest.mark.parametrize(("texts", "expected"), [(OF_NOBODY, True), (OF_ONESELF, False)])
def test_a_question_tells_of_the_user_or_not(texts: tuple[str, ...], expected: bool) -> None:
    assert [tells_of_nobody(each) for each in texts] == [expected] * len(texts)


def test_a_sum_is_found_before_questions_about_the_same_things() -> None:
    with MemoryBank.open() as bank:
        for place, said in enumerate([*ASKED[:4], *SPENT, *ASKED[4:]]):
            reply = "A bike rider can spend much. " + "A bike wants some care. " * 60
            bank.remember(SCOPE, [("user", said), ("assistant", reply)], session=f"s{place}")
        block = bank.recall(SCOPE, "How much have I spent on the bike in all?", token_budget=210).text
    assert [said for said in SPENT if said not in block] == []


@pytest.mark.parametrize("question", IN_OTHERS)
def test_a_sum_is_found_in_other_languages_too(question: str) -> None:
    told, asked, reply = IN_OTHERS[question]
    spent, others = told.split("|"), asked.split("|")
    with MemoryBank.open() as bank:
        for place, said in enumerate([*others[:3], *spent, *others[3:]]):
            bank.remember(SCOPE, [("user", said), ("assistant", reply * 30)], session=f"s{place}")
        block = bank.recall(SCOPE, question, token_budget=240).text
    assert [said for said in spent if said not in block] == []
