"""Questions and statements of oneself, and questions about the conversation, in Russian, Polish, Turkish, Arabic, Hindi
and Thai."""

from __future__ import annotations

import time
from datetime import datetime

import pytest

from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.ranking.cores import leads
from secom_core.text.attributes import attribute_asked, tells_attribute
from secom_core.text.intents import subject
from secom_core.text.six_languages import asked_of_talk
from secom_core.text.speech import asks, only_asks, stands
from secom_core.text.terms import term_variants

USER = """Что ты обо мне знаешь?|Что ты про меня помнишь?|Кто я?|Опиши меня|Co o mnie wiesz?
        Co o mnie pamiętasz?|Kim jestem?
    Benim hakkımda ne biliyorsun?|Hakkımda neler biliyorsun?|Beni tanıyor musun?|ماذا تعرف عني؟
        ما الذي تعرفه عني؟|من أنا؟
    तुम मेरे बारे में क्या जानते हो?|आप मेरे बारे में क्या जानते हैं?|मैं कौन हूँ?
        คุณรู้อะไรเกี่ยวกับฉันบ้าง|ผมเป็นใคร"""
LAST = """О чём мы говорили в прошлый раз?|О чем мы разговаривали?|На чём мы остановились?
        O czym ostatnio rozmawialiśmy?
    O czym rozmawialiśmy poprzednim razem?|Geçen sefer ne konuşmuştuk?|En son ne konuştuk?
        عن ماذا تحدثنا في المرة الماضية؟
    أين توقفنا؟|पिछली बार हमने क्या बात की थी?|ครั้งที่แล้วเราคุยเรื่องอะไรกัน|เราคุยกันถึงไหนแล้ว"""
OF_SOMETHING_ELSE = """О чём мы говорили в прошлый раз про ипотеку?|Что ты знаешь о моей сестре?|Кто такая Наташа?
    O czym rozmawialiśmy z lekarzem?|Co wiesz o mojej siostrze?|Ablam hakkında ne biliyorsun?
        Geçen sefer kira için ne konuştuk?
    عن ماذا تحدثنا مع الطبيب؟|ماذا تعرف عن أختي؟|तुम मेरी बहन के बारे में क्या जानते हो?
        ครั้งที่แล้วเราคุยเรื่องค่าเช่าว่าอะไร
    Kim is my sister, co-owner of a farm|Was weißt du über Kim?|Ne oublie pas le pain"""


def listed(questions: str) -> list[str]:
    return [each.strip() for line in questions.splitlines() for each in line.split("|") if each.strip()]


@pytest.mark.parametrize(("questions", "expected"), [(USER, "user"), (LAST, "last session"), (OF_SOMETHING_ELSE, "")])
def test_what_of_the_conversation_is_asked_about(questions: str, expected: str) -> None:
    asked = listed(questions)
    assert {each: asked_of_talk(each) for each in asked} == dict.fromkeys(asked, expected)
    if expected:
        assert {each: subject(each) for each in asked} == dict.fromkeys(asked, expected)


ASKED = {
    "name": "Как меня зовут?|Jak mam na imię?|Benim adım ne?|ما اسمي؟|मेरा नाम क्या है?|ฉันชื่ออะไร",
    "home": """Где я сейчас живу?|В каком городе я живу?|Gdzie teraz mieszkam?
        Şimdi nerede yaşıyorum?|أين أسكن الآن؟
        अब मैं कहाँ रहती हूँ?|ตอนนี้ฉันอยู่ที่ไหน""",
    "job": """Где я теперь работаю?|Кем я работаю?|Gdzie teraz pracuję?|Nerede çalışıyorum?|أين أعمل حاليا؟
        अब मैं कहाँ काम करता हूँ?|ผมทำงานที่ไหน""",
    "diet": """На что у меня аллергия?|Что мне нельзя есть?|Na co mam alergię?|Czego nie mogę jeść?
        Neye alerjim var?
        Ne yememem gerekiyor?|هل عندي حساسية؟|मुझे किस चीज़ से एलर्जी है?|ฉันแพ้อะไร
        ฉันกินอะไรไม่ได้บ้าง|私が食べてはいけないものは？""",
}
TOLD = {
    "name": "Меня зовут Ольга.|Mam na imię Ewa.|Adım Elif.|اسمي ليلى.|मेरा नाम प्रिया है।|ฉันชื่อมะลิ",
    "home": """Я живу в Казани.|Мы переехали в Пермь.|Mieszkam w Lublinie.
        Przeprowadziłam się do Torunia.|Bursa'da yaşıyorum.
        Eskişehir'e taşındık.|انتقلنا إلى المنصورة.|मैं इंदौर में रहती हूँ।|เราย้ายไปอยู่ลำปาง""",
    "job": """Я работаю в банке.|Zaczynam pracę w klinice.|Hemşire olarak çalışıyorum.|أعمل ممرضة.
        मैं नर्स हूँ।|ฉันลาออกแล้ว
        On Monday I start as a cook at Lotus.|Ich habe in der Klinik gekündigt.|Pedi demissão do hospital.
        Empiezo a trabajar en Loto.|我从医院辞职了。|病院の仕事を辞めました。|로터스에서 일을 시작해요.""",
    "diet": """У меня аллергия на арахис.|Nie jem mięsa.|Yer fıstığına alerjim var.
        عندي حساسية من السمك.|मुझे मूँगफली से एलर्जी है।
        ฉันแพ้ถั่วลิสง""",
}


@pytest.mark.parametrize("attribute", ASKED)
def test_what_is_asked_and_told_of_oneself(attribute: str) -> None:
    asked, told = listed(ASKED[attribute]), listed(TOLD[attribute])
    assert {each: attribute_asked(each) for each in asked} == dict.fromkeys(asked, attribute)
    assert [each for each in told if not tells_attribute(each, attribute)] == []  # type: ignore[arg-type]


STANDING = {
    "instruction": """Пожалуйста, всегда отвечай коротко.|Не используй смайлики.|Называй меня Олей.
        Zawsze odpowiadaj krótko.
        Mów mi Ewa.|Bundan sonra her zaman kısa cevap ver.|Emoji kullanma.|Artık kısa yaz ve soru sorma.
        أجب دائما باختصار.|نادني ليلى.
        अब से हमेशा छोटे जवाब देना।|ต่อไปนี้ช่วยตอบสั้นๆ เสมอ|เรียกฉันว่ามะลิ""",
    "preference": """У меня аллергия на арахис.|Я не ем мясо.|Nie lubię grzybów.|Sütü sevmiyorum.
        أنا نباتية.|मुझे चाय पसंद है।
        ผมไม่กินเนื้อ""",
    "fact": """Моя сестра живёт в Самаре.|Mój pies Bruno zachorował.|Köpeğim hastalandı.
        أختي تعيش في القاهرة.|मेरी बहन शिक्षिका है।
        พี่สาวของฉันเป็นครู|หมาของฉันป่วย ทำยังไงดีคะ""",
    "": """Artık yaz geldi.|Çok su içmem gerekiyor.|Мне 3 года назад сказали.
        У меня вопрос про аллергию.|Mam pytanie o alergię.|عندي سؤال عن حساسية السمك.|मुझे एलर्जी के बारे में बताओ।
        La alergia al polen es común.|O médico perguntou sobre alergias.|Расскажи про аллергию у кошек.
        Alergia to choroba cywilizacyjna.|एलर्जी एक आम बीमारी है।|ทีมไทยแพ้เวียดนาม
        Где живёт моя сестра?|Gdzie mieszka moja siostra?|Ablam nerede oturuyor?|أين تعيش أختي؟
        मेरी बहन कहाँ रहती है?
        พี่สาวของฉันอยู่ที่ไหน|Как приготовить борщ?|خطوة صغيرة أفضل من لا شيء.|मौसम अच्छा है।|ขอบคุณค่ะ""",
}


@pytest.mark.parametrize("kind", STANDING)
def test_what_stands(kind: str) -> None:
    said = listed(STANDING[kind])
    assert {each: stands(each) for each in said} == dict.fromkeys(said, kind)


BEGUN = """On Monday I start as a cook at Lotus.|I've just quit my job.|Ich habe in der Klinik gekündigt.
    Ich fange am Montag bei Siemens an.|Empiezo a trabajar en Loto.|J'ai démissionné hier.|Ieri mi sono licenziata.
    Pedi demissão do hospital.|我从医院辞职了。|病院の仕事を辞めました。|로터스에서 일을 시작해요."""
NO_JOB = """I quit the yoga class.|I start at nine on Mondays.|I'm starting for the airport at six.
    Die Garage habe ich gekündigt.|Ich habe Netflix gekündigt.|Ich fange morgen mit dem Joggen an.
    Ha renunciado la ministra.
    Ich fange bei Null an.|Ich fange als Erstes bei den Fenstern an.|I started as a beginner in chess.
    Empiezo en enero con el gimnasio.|Je commence à courir.|Comincio in ritardo.|Começo em maio a dieta.
    他的同事辞职了。"""


def test_a_job_that_is_left_or_begun_stands_and_other_ends_and_beginnings_do_not() -> None:
    begun, others = listed(BEGUN), listed(NO_JOB)
    assert [each for each in begun if stands(each) != "fact" or not tells_attribute(each, "job")] == []
    assert [each for each in others if stands(each) or tells_attribute(each, "job")] == []


OTHERS = """Он переехал в Казань.|Сосед уволился.|Вегетарианский ресторан закрыт.|مطعم نباتي قريب من هنا.
    रवि को नौकरी मिल गई।|हाथी जंगल में रहते हैं।|वह मांस नहीं खाता।|यह शाकाहारी होटल है।
    เขาย้ายไปกรุงเทพ|นายกลาออกแล้ว|หมาของเพื่อนไม่กินข้าว|ร้านมังสวิรัติ|ช่วยย้ายมาไว้ตรงนี้หน่อย"""
ONES_OWN = """Переехала в Казань.|Вчера я всё же уволился.|Я вегетарианка.|أنا نباتي.|हमें नौकरी मिल गई।|नौकरी छोड़ दी।
    हम मुंबई में रहते हैं।|मैं शाकाहारी हूँ।|ย้ายไปอยู่ภูเก็ตแล้ว|เดือนที่แล้วฉันลาออก|ตอนนี้ทำงานที่ธนาคาร|ไม่กินเผ็ดค่ะ
    ฉันกับสามีย้ายมาตรัง|ดิฉันไม่ดื่มกาแฟ|พี่สาวลาออกแล้ว"""


def test_what_strangers_do_is_not_said_of_oneself() -> None:
    assert {each: stands(each) for each in listed(OTHERS)} == dict.fromkeys(listed(OTHERS), "")
    assert [each for each in listed(ONES_OWN) if stands(each) not in ("fact", "preference")] == []


def test_a_question_of_thai_is_one_without_a_mark() -> None:
    assert asks("พี่สาวฉันอยู่ที่ไหน")
    assert only_asks("ตอนนี้ฉันจ่ายค่าเช่าเท่าไหร่")
    assert not asks("ฉันชื่อมะลิ")
    assert not only_asks("ฉันไม่กินอะไรเลย")
    assert not any(map(asks, ["ฉันชอบผ้าไหม", "ไม่มีใครช่วยฉัน", "ไปที่ไหนก็ได้", "ใครๆ ก็รู้"]))
    assert asks("ทำไมไม่มีใครมา")


def test_long_words_take_no_time() -> None:
    started = time.monotonic()
    assert not asks("อะไร" * 50_000 + " x")
    assert not any(leads("ക" * length + " പോയി, 1.") for length in range(20, 28))
    assert term_variants("a" * 250_000, ("english", "turkish"))
    assert time.monotonic() - started < 20


def test_a_greeting_in_any_script_is_no_sentence_to_show_alone() -> None:
    assert all(map(leads, ["Привет!", "Cześć!", "¡Hola!", "नमस्ते!", "مرحبا!", "Добрый день!", "Hi there."]))
    assert not any(map(leads, ["我住在北京。", "ฉันแพ้ถั่ว.", "Меня зовут Ольга.", "मेरा नाम प्रिया है।"]))


def test_what_stands_is_in_the_block_of_any_question() -> None:
    with MemoryBank.open(":memory:") as bank:
        said = ["Пожалуйста, всегда отвечай коротко.", "У меня аллергия на арахис."]
        said += [f"Расскажи про {each} подробно, какие там есть породы и виды?" for each in ("коров", "овец", "птиц")]
        for day, text in enumerate(said, start=1):
            told = [Message(text, "user", at=datetime(2026, 3, day, 9)), Message("Хорошо. " * 60, "assistant")]
            bank.remember(("a",), told, session=str(day), close=True)
        assert "коротко" in bank.recall(("a",), "Посоветуй фильм про птиц", token_budget=120).text
        assert "арахис" in bank.recall(("a",), "Что мне нельзя есть?", token_budget=60).text
        assert "арахис" in bank.recall(("a",), "Что ты обо мне знаешь?", token_budget=120).text
