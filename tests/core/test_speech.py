"""What kind of thing is said, by plain sentences in three languages."""

from __future__ import annotations

import pytest

from secom_core.text.non_answers import is_non_answer, is_refusal
from secom_core.text.speech import Standing, asks, only_asks, stands

SAID: dict[str, dict[Standing, str]] = {
    "english": {
        "instruction": """
            Always answer in metric units.
            Please always give me the short version first.
            From now on, keep your replies under a hundred words.
            Never suggest recipes with mushrooms again.
            Call me Bea.
            Please call me by my nickname, Ro.
            Don't use emojis with me any more.
            Do not recommend that restaurant to me again.
            Stop adding disclaimers to your answers, I don't want them anymore.
            Whenever I ask for code, add type hints.
            When I ask about the weather, use Celsius.
            Reply in Spanish, please.
            Going forward, list sources at the end.
            In the future, show prices in euros.
            That's fine, but never send me links.
            Can you always write dates as day, month, year?
            I want you to always check the spelling.
            Keep your answers short from now on.
            """,
        "preference": """
            I'm allergic to penicillin.
            I am severely allergic to bee stings.
            I'm a vegetarian, by the way.
            I've been vegan since May.
            I can't stand loud music.
            I cannot eat gluten.
            I don't eat pork.
            I don't like crowded trains.
            I prefer window seats.
            I usually prefer tea over coffee.
            I really love jazz.
            I hate flying.
            My favourite colour is green.
            My favorite band is from Iceland.
            I'd rather take the train.
            I have a nut allergy.
            I'm lactose intolerant.
            I'm not a big fan of seafood.
            I enjoy long walks in the rain.
            I am diabetic.
            """,
        "fact": """
            My name is Tessa.
            I'm Craig, and I build boats.
            I am a nurse at the city hospital.
            I'm a software engineer.
            I'm 34 and about to move.
            I live in Bergen.
            I just moved to Porto.
            We moved to a bigger flat last month.
            I work for a small brewery.
            I work as a translator.
            I study chemistry at night.
            My sister lives in Ghent.
            My dog is called Biscuit.
            My birthday is on the third of May.
            My husband teaches music.
            I was born in Cork.
            I grew up on a farm.
            I have two children.
            I own a bakery.
            """,
        "": """
            Thanks, that helps.
            What is the capital of Peru?
            How do I sort a list in Python?
            The train was late again.
            Could you explain recursion?
            It never rains in July.
            I think we should go.
            Write a poem about the sea.
            That was the best film of the year.
            Yes, the second option.
            Let's book the hotel for Friday.
            The meeting has been moved to Tuesday.
            Where does my sister live?
            What am I allergic to?
            Do I prefer tea or coffee?
            We waited there and never got a table.
            I am going to the market tomorrow.
            I'm sorry, I meant the other one.
            I am not sure.
            """,
    },
    "german": {
        "instruction": """
            Antworte immer auf Deutsch.
            Bitte gib Preise immer in Euro an.
            Ab jetzt bitte kürzere Antworten.
            Ab sofort duzen wir uns.
            Von nun an keine Listen mehr.
            In Zukunft bitte mit Quellen.
            Künftig nur noch metrische Einheiten.
            Nenn mich Bea.
            Bitte nenne mich einfach Jo.
            Verwende nie Emojis.
            Benutze stets das metrische System.
            Schreibe mir niemals lange Texte.
            Du sollst immer zuerst das Ergebnis nennen.
            Kannst du Daten immer mit Wochentag angeben?
            Rechne immer in Gramm.
            Schlag mir nie wieder Pilze vor.
            Sprich mich bitte mit Du an.
            """,
        "preference": """
            Ich bin allergisch gegen Erdnüsse.
            Ich bin gegen Katzenhaare allergisch.
            Ich habe eine Nussallergie.
            Ich habe eine Laktoseunverträglichkeit.
            Ich bin Vegetarierin.
            Ich bin seit Mai vegan.
            Ich esse kein Schweinefleisch.
            Ich trinke keinen Alkohol.
            Ich mag keine Pilze.
            Pilze mag ich nicht.
            Ich hasse Fliegen.
            Ich liebe alte Filme.
            Mein Lieblingsessen ist Linsensuppe.
            Am liebsten reise ich mit dem Zug.
            Ich fahre lieber Rad als Auto.
            Ich bevorzuge Sitze am Gang.
            Ich vertrage keine Milch.
            Ich bin Diabetikerin.
            """,
        "fact": """
            Ich heiße Anna.
            Mein Name ist Tobias.
            Ich bin Lehrerin in Kassel.
            Ich bin 42 Jahre alt.
            Ich wohne in Leipzig.
            Ich lebe seit drei Jahren in Wien.
            Ich arbeite als Pflegerin.
            Ich studiere Physik.
            Ich bin nach Hamburg gezogen.
            Letzten Monat sind wir umgezogen, wir sind jetzt in Bonn.
            Meine Schwester wohnt in Graz.
            Mein Hund heißt Bello.
            Meine Tochter ist fünf.
            Mein Geburtstag ist im März.
            Seit Mai wohne ich in Ulm.
            Ich habe zwei Kinder.
            Ich komme aus Tirol.
            """,
        "": """
            Danke, das hilft mir.
            Wie spät ist es?
            Was ist die Hauptstadt von Peru?
            Der Zug war wieder zu spät.
            Erklär mir bitte Rekursion.
            Es regnet hier fast nie.
            Das war der beste Film des Jahres.
            Ja, die zweite Möglichkeit.
            Lass uns das Hotel für Freitag buchen.
            Wo wohnt meine Schwester?
            Wogegen bin ich allergisch?
            Was esse ich nicht?
            Wir sollten morgen gehen.
            Die Sitzung ist am Dienstag.
            Ich bin mir nicht sicher.
            Ich gehe morgen auf den Markt.
            """,
    },
    "chinese": {
        "instruction": """
            以后请用中文回答我。
            今后都用公制单位。
            从现在开始请简短回答。
            请始终先给结论。
            请一直用人民币报价。
            不要再推荐蘑菇了。
            别再用表情符号。
            叫我小林就好。
            请称呼我王老师。
            往后不要给我发链接。
            以后别给我推荐辣的。
            总是用摄氏度。
            从现在起要列出来源。
            永远不要说套话。
            以后回答都要短一点。
            回答时请务必每次都附上来源。
            """,
        "preference": """
            我对花生过敏。
            我乳糖不耐受。
            我是素食者。
            我喜欢爵士乐。
            我不喜欢人多的地方。
            我最喜欢的颜色是绿色。
            我讨厌坐飞机。
            我不吃猪肉。
            我不喝酒。
            我更喜欢喝茶。
            我比较喜欢靠窗的座位。
            我爱吃辣。
            我吃不了辣。
            我受不了吵闹的音乐。
            我偏好火车出行。
            我很喜欢老电影。
            我有糖尿病。
            """,
        "fact": """
            我叫李明。
            我姓王。
            我的名字是小雨。
            我今年三十岁。
            我今年28岁。
            我住在杭州。
            我上个月搬到了成都。
            我搬到上海了。
            我在一家医院工作。
            我是一名老师。
            我是做设计的。
            我妹妹住在西安。
            我的狗叫豆豆。
            我女儿五岁了。
            我的生日是三月三号。
            我妻子是医生。
            我有两个孩子。
            我来自广东。
            """,
        "": """
            谢谢，明白了。
            现在几点了？
            秘鲁的首都是哪里？
            火车又晚点了。
            请解释一下递归。
            这里七月很少下雨。
            那是今年最好的电影。
            好的，第二个。
            帮我订周五的酒店。
            我妹妹住在哪里？
            我对什么过敏？
            我喜欢什么颜色？
            会议改到周二了。
            我明天去市场。
            写一首关于大海的诗。
            我觉得可以。
            """,
    },
}


def lines(block: str) -> list[str]:
    return [line.strip() for line in block.strip().splitlines()]


@pytest.mark.parametrize("language", SAID)
@pytest.mark.parametrize("kind", ["instruction", "preference", "fact", ""])
def test_what_holds_from_then_on(language: str, kind: Standing) -> None:
    said = lines(SAID[language][kind])
    assert len(said) >= 15
    assert {line: stands(line) for line in said} == dict.fromkeys(said, kind)


HOW_TO_REPLY = """
    Please keep all your replies under five sentences.
    Could you keep your explanations a bit simpler?
    Shorter replies, please.
    I'd prefer longer answers.
    Respond concisely.
    Leave out greetings in your replies.
    Please don't repeat my question in your answers.
    Fewer emojis please!
    Please use Celsius.
    Can you use British spelling?
    Halte dich bitte etwas kürzer.
    Antworte mir knapp.
    Antworte bitte auf Englisch.
    Bitte einfachere Antworten.
    Verwende keine Emojis.
    Bitte keine Fachwörter in deinen Antworten.
    回答时请尽量简洁
    请简短地回复
    回复短一些吧
    别发那么多表情
    간단하게 답해 주세요
    Contesta de manera más breve.
    Responda de forma resumida.
    Respuestas más cortas, por favor.
    Répondez-moi plus brièvement.
    Des réponses plus courtes, s'il te plaît.
    Rispondi in modo più breve.
    """
WHAT_SOMEBODY_KEEPS_FROM = """
    I gave up dairy two years ago.
    I've cut out caffeine.
    I no longer drink.
    We never fly.
    I haven't eaten fish since I was ten.
    I'm terrified of spiders.
    I am really scared of needles.
    I'm not really into board games.
    I always get carsick.
    I get hives from strawberries.
    I get dizzy when I skip lunch.
    Perfume gives me a headache.
    I can't concentrate with music on.
    We usually book an aisle seat.
    I always order the vegetable soup.
    Ich habe Flugangst.
    Ich hab Angst vor Hunden.
    Ich werde leicht seekrank.
    Von Rotwein bekomme ich Migräne.
    Ich rauche nicht mehr.
    Ich verzichte auf Zucker.
    """
WHERE_AND_WITHOUT_WHAT = """
    We've signed the lease for a tiny apartment by the port.
    I just bought a house in Arles.
    Our new address is 7 Hill Road.
    We don't have a car.
    I have no oven.
    """
SAID_OF_ONCE = """
    There were no emojis in the invitation.
    The figure that you use in your replies is too high.
    Draft a speech. Keep it short.
    Reply concisely: is Pluto a planet?
    Short answers are boring.
    Knappe Antworten sind unhöflich.
    Sie hat kurz geantwortet.
    Fass den Text kurz zusammen.
    你的回答太简短了
    Elle a répondu plus brièvement.
    I've never eaten lobster.
    I haven't eaten anything since noon.
    I'm afraid of missing the deadline.
    I get sick from time to time.
    She gave me a lift.
    I stopped at a kiosk.
    I can't sleep.
    We bought a sofa for the house.
    Ich habe Angst, dass es regnet.
    """


@pytest.mark.parametrize(
    ("block", "kind"),
    [
        (HOW_TO_REPLY, "instruction"),
        (WHAT_SOMEBODY_KEEPS_FROM, "preference"),
        (WHERE_AND_WITHOUT_WHAT, "fact"),
        (SAID_OF_ONCE, ""),
    ],
)
def test_what_holds_is_told_in_everyday_words_too(block: str, kind: Standing) -> None:
    said = lines(block)
    assert {line: stands(line) for line in said} == dict.fromkeys(said, kind)


OTHER_LANGUAGES: dict[str, dict[Standing, str]] = {
    "spanish": {
        "instruction": """
            Responde siempre en español.
            A partir de ahora, usa el sistema métrico.
            Nunca me recomiendes carne.
            Llámame Pepe.
            A partir de ahora respóndeme siempre de forma breve.
            Por favor, contéstame siempre en español.
            No me respondas nunca con emojis.
            Tutéame, por favor.
            Cada vez que te pida código, añade comentarios.
            No vuelvas a recomendarme ese restaurante.
            Deja de usar emojis.
            Puedes llamarme Luci.
            """,
        "preference": """
            Soy alérgica a los frutos secos.
            Tengo alergia al polen.
            Soy vegetariano.
            No puedo comer gluten.
            Me encanta el jazz.
            Mi color favorito es el verde.
            No tomo lácteos.
            Me da miedo volar.
            Evito el azúcar.
            """,
        "fact": """
            Me llamo Lucía.
            Vivo en Sevilla.
            Tengo 34 años.
            Mi hermana es médica.
            Soy enfermera en un hospital.
            Soy de Bilbao.
            Nos hemos mudado a Cádiz.
            Mi pareja se llama Ana.
            A partir de ahora trabajo en Seat.
            """,
        "": """
            Gracias, entendido.
            ¿A qué soy alérgica?
            Explícame la recursión.
            La reunión pasa al martes.
            Nunca llueve en julio.
            Soy mejor que tú.
            ¿Siempre llueve en Bilbao?
            Es mejor no usar tanta sal.
            """,
    },
    "french": {
        "instruction": """
            Réponds toujours en français.
            Désormais, utilise le système métrique.
            Appelle-moi Jo.
            À partir de maintenant, je veux des réponses courtes.
            Tutoie-moi.
            N'utilise plus d'émojis.
            Ne me recommande plus jamais ce restaurant.
            Arrête de mettre des émojis.
            Chaque fois que je te demande du code, ajoute des tests.
            Tu peux m'appeler Cam.
            """,
        "preference": """
            Je suis allergique aux arachides.
            J'ai une allergie aux noix.
            Je suis végétarienne.
            Je ne mange pas de porc.
            J’adore le jazz.
            Mon plat préféré est la ratatouille.
            Je ne peux pas manger de gluten.
            J'évite le sucre.
            J'ai horreur de la coriandre.
            """,
        "fact": """
            Je m'appelle Claire.
            J'habite à Lyon.
            J'ai 34 ans.
            Ma sœur est médecin.
            On habite maintenant à Rennes.
            Je suis infirmière au CHU.
            Je travaille maintenant dans une clinique.
            On a déménagé à Lille.
            Je viens de Bretagne.
            Désormais, j'habite à Rennes.
            """,
        "": """
            Merci, compris.
            Explique-moi la récursivité.
            La réunion est mardi.
            Il ne pleut jamais en juillet.
            Je suis fatiguée.
            Je suis allergique à quoi ?
            Imagine que j'habite à Lyon.
            Je viens de finir.
            Le train ne passe plus.
            Je suis le premier arrivé.
            """,
    },
    "italian": {
        "instruction": """
            D'ora in poi rispondimi sempre in modo breve.
            Rispondi sempre in italiano.
            Non usare mai le emoji.
            Dammi del tu.
            Chiamami Giuly.
            Non consigliarmi più quel ristorante.
            Ogni volta che ti chiedo del codice, aggiungi i commenti.
            """,
        "preference": """
            Sono allergica alle noci.
            Non mangio carne.
            Non posso mangiare glutine.
            Preferisco il treno.
            Mi piace il jazz.
            Il mio colore preferito è il verde.
            """,
        "fact": """
            Mi chiamo Giulia.
            Abito a Roma.
            Adesso viviamo a Genova.
            Ho 34 anni.
            Lavoro in una clinica.
            Faccio l'infermiera.
            Mia sorella è medico.
            Ci siamo trasferiti a Genova.
            Il mio compleanno è il 3 maggio.
            """,
        "": """
            Grazie, ho capito.
            Spiegami la ricorsione.
            A cosa sono allergica?
            Il lavoro in ufficio è noioso.
            Sono stanca.
            Parlami di mia sorella.
            Sono celiaca?
            Ho delle allergie?
            A luglio non piove mai.
            Traduci in inglese: vivo a Roma.
            Se vivo a Roma, quanto pago?
            Immagina che io viva a Roma e abito in centro.
            Come mi chiamo?
            """,
    },
    "portuguese": {
        "instruction": """
            A partir de agora, responda sempre de forma breve.
            Responda sempre em português.
            Me chame de Bia.
            Não me recomende mais esse restaurante.
            Pare de usar emojis.
            Sempre que eu pedir código, adicione comentários.
            """,
        "preference": """
            Sou alérgica a nozes.
            Tenho alergia a amendoim.
            Não como carne.
            Não posso comer glúten.
            Prefiro o trem.
            Eu gosto de jazz.
            Minha cor favorita é verde.
            """,
        "fact": """
            Meu nome é Beatriz.
            Moro em Curitiba.
            Agora moramos em Recife.
            Tenho 34 anos.
            Trabalho em uma clínica.
            Sou enfermeira no hospital.
            Minha irmã é médica.
            A gente se mudou para Recife.
            """,
        "": """
            Obrigada, entendi.
            Explique a recursão.
            A que sou alérgica?
            O trabalho em equipe é importante.
            Sou melhor do que ele.
            Me fale sobre minha irmã.
            Nunca chove em julho.
            Traduza para o inglês: moro em Recife.
            Se eu moro em Recife, quanto pago?
            Imagine que moro em Recife.
            """,
    },
    "japanese": {
        "instruction": """
            いつも短く答えてください。
            これからは敬語を使ってください。
            ジョーと呼んでください。
            絵文字は使わないでください。
            これからは短めにお願いします。
            英語で答えて。
            """,
        "preference": """
            ナッツアレルギーがあります。
            私は魚が苦手です。
            牛乳は飲めません。
            ジャズが大好きです。
            私はヴィーガンです。
            お酒は飲みません。
            """,
        "fact": """
            私の名前は花子です。
            大阪に住んでいます。
            銀行で働いています。
            うちの犬は三歳です。
            34歳です。
            看護師をしています。
            東京に引っ越しました。
            出身は大阪です。
            娘が二人います。
            エンジニアです。
            """,
        "": """
            ありがとう、わかりました。
            今何時ですか？
            会議は火曜日になりました。
            再帰を説明してください。
            一緒に食べませんか？
            東京に引っ越したいです。
            会議は短くなりました。
            """,
    },
    "korean": {
        "instruction": """
            항상 짧게 대답해 주세요.
            앞으로는 존댓말로 말해 주세요.
            이모티콘은 쓰지 마세요.
            앞으로는 짧게 부탁해.
            이제부터 존댓말로 해 주세요.
            """,
        "preference": """
            견과류 알레르기가 있어요.
            저는 재즈를 좋아해요.
            고기는 못 먹어요.
            견과류 알레르기 있어요.
            유당불내증이에요.
            커피를 좋아해요.
            나는 술을 안 마셔.
                    저는 호두 알레르기가 있어요. 간식은 뭐가 좋을까요?
            """,
        "fact": """
            제 이름은 지우예요.
            부산에 살고 있어요.
            은행에서 일해요.
            제 딸은 다섯 살이에요.
            저는 34살이에요.
            간호사로 일해요.
            부산으로 이사했어요.
            남편은 의사예요.
            """,
        "": """
            고마워요, 알겠어요.
            지금 몇 시예요?
            회의는 화요일이에요.
            재귀를 설명해 주세요.
            걱정하지 마세요.
            지금부터 회의예요.
            동생은 커피를 좋아해요.
            """,
    },
}


@pytest.mark.parametrize("language", OTHER_LANGUAGES)
def test_what_holds_from_then_on_in_other_languages(language: str) -> None:
    for kind, block in OTHER_LANGUAGES[language].items():
        said = lines(block)
        assert {line: stands(line) for line in said} == dict.fromkeys(said, kind)


def test_an_instruction_goes_before_a_preference_and_a_preference_before_a_fact() -> None:
    assert stands("I live in Bonn, I hate queues, and please always answer in German.") == "instruction"
    assert stands("I live in Bonn and I hate queues.") == "preference"
    assert stands("") == stands(" \n") == stands("?!") == ""


def test_either_apostrophe_and_any_case_and_white_space() -> None:
    for line in ("I’m allergic to nuts", "i'm  ALLERGIC to nuts", "I'M\nallergic to nuts", "(I’m allergic to nuts)"):
        assert stands(line) == "preference", line
    for line in ("Don’t call me that again", "DON'T  call me\tthat again"):
        assert stands(line) == "instruction", line


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    assert stands("word " * 100 + "I'm allergic to nuts.") == "preference"
    assert stands("word " * 2000 + "I'm allergic to nuts.") == ""


BARE_QUESTIONS = """
    What is my sister's name?
    Day 12: what am I allergic to?
    12 May: where do I live?
    (3) What is my locker number?
    what am I allergic to?
    Where do I live?
    Who is coming on Friday?
    How old is my daughter?
    Do you remember my dentist?
    Can you tell me when the lease ends?
    Did I pay the invoice?
    And where does she live?
    Remind me, which train was it?
    what's the wifi password??
    Wo wohnt meine Schwester?
    Wogegen bin ich allergisch?
    Weißt du noch, wie der Zahnarzt heißt?
    Und wann war das?
    Kannst du mir sagen, wann der Vertrag endet?
    Wie alt ist meine Tochter?
    我妹妹住在哪里？
    我对什么过敏?
    你还记得我的牙医吗？
    上次的火车是哪一班？
    请问，我对什么过敏？
    第12天：我对什么过敏？
    Tag 12: wogegen bin ich allergisch?
    Sag mir bitte, wo wohne ich?
    Hey, and what am I allergic to?
    In which city do I live?
    À quoi suis-je allergique ?
    Qu'est-ce que je ne mange pas ?
    Come mi chiamo?
    Di che cosa abbiamo parlato ieri?
    A que sou alérgica?
    Sobre o que falamos ontem?
    """

NO_BARE_QUESTIONS = """
    I moved to Porto last month.
    I moved to Porto, can you believe it?
    My sister is in Ghent, right?
    I moved: can you believe it?
    My locker is 12: can you note that?
    Tell me a story.
    Wir sind nach Ulm gezogen, oder?
    Danke!
    我搬到成都了。
    我搬到成都了，有什么推荐的吗？
    Hi, I'm Bea, what can you do?
    So I moved to Porto, where should I eat?
    A man asked me where I live, can you believe it?
    저는 호두 알레르기가 있어요. 간식은 뭐가 좋을까요?
    Come to Porto, I moved there, can you?
    Siemens에 다녀요. 뭘 입을까요?
    """


def test_a_bare_question_tells_nothing() -> None:
    assert {line: only_asks(line) for line in lines(BARE_QUESTIONS)} == dict.fromkeys(lines(BARE_QUESTIONS), True)
    assert [line for line in lines(NO_BARE_QUESTIONS) if only_asks(line)] == []
    assert not only_asks("What should I do? " + "There is so much to tell. " * 9 + "What now?")
    assert not only_asks("")


def test_a_question_mark_of_any_script_ends_a_question() -> None:
    for text in ('Really?"', "Really ?!", "真的？", "حقا؟", "Really?*", "“Really?”", "Really? \n"):
        assert asks(text), text
    for text in ("Really.", "? no", "", "   ", "!!"):
        assert not asks(text), text


NON_ANSWERS = """
    I'm sorry, I don't know what you are allergic to.
    I don't know your sister's name.
    I do not have any information about that.
    I'm afraid I can't recall where you live.
    Sorry, but I don't remember that.
    I currently don't have a record of your address.
    You haven't told me your birthday yet.
    You never mentioned a dentist.
    There is no record of that in our conversations.
    I have no information about your sister.
    I apologize, but I cannot find that.
    Unfortunately, I'm not aware of your allergies.
    I'm not sure where you live.
    It seems you didn't tell me that.
    I have no idea, sorry.
    Das weiß ich leider nicht.
    Ich weiß es nicht.
    Ich weiß leider nicht, wo du wohnst.
    Tut mir leid, ich weiß nicht, wogegen du allergisch bist.
    Ich habe leider keine Informationen darüber.
    Du hast mir das noch nicht gesagt.
    Ich habe dazu keine Angaben.
    Daran kann ich mich nicht erinnern.
    Darüber ist mir nichts bekannt.
    抱歉，我不知道你对什么过敏。
    我不清楚你住在哪里。
    我不记得了。
    你还没有告诉我。
    没有相关信息。
    很抱歉，你没有提到过这件事。
    我没有关于你妹妹的信息。
    """

ANSWERS = """
    You are allergic to penicillin.
    Your sister lives in Ghent.
    You told me that you moved to Porto in May.
    Sure! Here is a list of museums.
    The meeting is on Tuesday, don't forget.
    You can't see the stars there in July.
    Don't worry, I remember: it is the third of May.
    Du bist gegen Erdnüsse allergisch.
    Deine Schwester wohnt in Graz.
    Du hast mir erzählt, dass du umgezogen bist.
    Das ist nicht weit von hier.
    你对花生过敏。
    你妹妹住在西安。
    你告诉过我你搬到了成都。
    好的，没问题。
    """


def test_an_answer_that_knows_nothing() -> None:
    assert {line: is_non_answer(line) for line in lines(NON_ANSWERS)} == dict.fromkeys(lines(NON_ANSWERS), True)
    assert [line for line in lines(ANSWERS) if is_non_answer(line)] == []


def test_a_long_reply_says_something_whatever_it_begins_with() -> None:
    assert not is_non_answer("I don't know your exact address, but here is how to find it. " + "Look it up. " * 40)


REFUSALS = """
I'm sorry, but I can't help with that.
I'm sorry, but I can't help with storing personal data about Ulrike.
I cannot assist with extracting personal information about Ulrike.
I cannot provide personal information about the user.
I’m unable to assist with this request.
As an AI language model, I do not keep memories.
I won't summarize this conversation.
Es tut mir leid, aber dabei kann ich Ihnen nicht helfen.
Als KI-Assistent darf ich keine Daten speichern.
Désolé, mais je ne peux pas vous aider avec cette demande.
Lo siento, pero no puedo ayudarte con eso.
抱歉，我无法提供个人信息。
作为一个AI语言模型，我不能回答。
申し訳ありませんが、お手伝いできません。
죄송하지만 도와드릴 수 없습니다.
"""
NO_REFUSALS = """
Ann cannot help with the move on Friday.
I can't help Ann on Friday because of my knee.
I can't come to Porto.
Ulrike kann nicht helfen.
Where can I get help with that?
What did I say that I can't help with?
Ann said the bank cannot provide a loan.
Ich kann am Freitag nicht kommen.
Ann works as an AI engineer in Ghent.
我不能吃花生。
陈磊对花生过敏，我无法陪他。
Anna can't help with taxes.
"""


def test_a_model_that_refuses_a_task_is_recognised_and_people_who_cannot_are_not() -> None:
    assert [line for line in lines(REFUSALS) if not is_refusal(line)] == []
    assert [line for line in lines(NO_REFUSALS) if is_refusal(line)] == []
    assert not is_refusal("Ann asked for a cake. " * 5 + "Bert said: I can't help with that.")
