"""Questions that cannot be read alone, in languages beyond those of the rules for English and its neighbours."""

from __future__ import annotations

import time
from datetime import datetime, timezone

from secom_core.bank import MemoryBank
from secom_core.conversation import Message
from secom_core.text.follow_ups import leans_elsewhere
from secom_core.text.intents import leans

LEANING = """
    А где она живёт?|Расскажи подробнее|А другой?|Сколько он за него заплатил в магазине?
    Что врач сказал об этом лечении?|А второй сын?|Почему они решили продать дачу?|Какой у неё рецепт пирога?
    А как зовут её младшего брата?|А де вона тепер працює?|Розкажи докладніше про це|А інший?
    Чому вони вирішили продати будинок?|Скільки він за нього заплатив?|A gdzie ona teraz mieszka?
    Opowiedz o tym więcej|A ten drugi?|Ile on zapłacił za naprawę samochodu?
    Jaki jest jej przepis na szarlotkę?|Dlaczego oni sprzedali działkę?|A kde teď bydlí ona?|Řekni mi o tom víc
    A ten druhý?|Kolik za něj zaplatil v obchodě?|Jak se jmenuje její mladší bratr?
    Peki o nerede yaşıyor şimdi?|Bana bundan daha fazla bahset|Ya diğeri?|Onun küçük kardeşinin adı ne?
    Neden onlar yazlığı sattılar?|وأين تعيش هي الآن؟|أخبرني المزيد عن ذلك|والآخر؟|كم دفع ثمنها في المتجر؟
    ما اسم أخيها الصغير وماذا قال لها؟|لماذا باعوا هذا البيت؟|और वह अब कहाँ रहती है?|इसके बारे में और बताओ
    और दूसरा वाला?|उसके छोटे भाई का नाम क्या है?|उन्होंने घर क्यों बेचा?|แล้วเธออยู่ที่ไหน|เล่าเพิ่มอีกหน่อย
    แล้วอีกอันล่ะ|น้องชายของเขาชื่ออะไร|ทำไมพวกเขาขายบ้านสวน|En waar woont zij nu?|Vertel me er meer over
    En de andere?|Hoe heet haar jongere broer?|Waarom hebben ze het vakantiehuis verkocht?|Och var bor hon nu?
    Berätta mer om det|Och den andra?|Vad heter hennes lillebror Axel?|Varför sålde de sommarstugan?
    Thế cô ấy sống ở đâu?|Kể thêm về chuyện đó đi|Còn cái kia?|Em trai của anh ấy tên gì?
    Lalu dia tinggal di mana?|Ceritakan lebih banyak tentang itu|Dan yang lain?|Siapa nama adik laki-lakinya?
"""
STANDING = """
    Где я живу с прошлого года?|Сколько стоил мой велосипед в магазине?
    Как зовут мою сестру и где она работает?|Что мне подарить бабушке на юбилей?
    Какая у меня аллергия на лекарства?|Когда у Маши день рождения и сколько ей лет?
    Почему у меня болит колено после бега?|Что я купила два года назад на рынке?
    Какой рецепт пирога с яблоками мы выбрали?|Скільки коштував мій велосипед у магазині?
    Як звати мою сестру і де вона працює?|Що приготувати бабусі на ювілей?|Ile kosztował mój rower w sklepie?
    Jak ma na imię moja siostra i gdzie ona pracuje?|Co kupiłam dwa lata temu na targu?
    Jaki przepis na szarlotkę wybraliśmy?|Co mam kupić babci na urodziny?|Kolik stálo moje kolo v obchodě?
    Jak se jmenuje moje sestra a kde ona pracuje?|Co mám koupit babičce k narozeninám?
    Bisikletim mağazada ne kadardı?|Kız kardeşimin adı ne ve o nerede çalışıyor?
    Büyükanneme doğum gününde ne alayım?|Bu hafta doktor randevum ne zaman?|كم كان سعر دراجتي في المتجر؟
    ما اسم أختي وأين تعمل هي؟|ماذا أشتري لجدتي في عيد ميلادها؟|متى موعد طبيب الأسنان هذا الأسبوع؟
    मेरी साइकिल दुकान में कितने की थी?|मेरी बहन का नाम क्या है और वह कहाँ काम करती है?
    इस हफ़्ते डॉक्टर का अपॉइंटमेंट कब है?|จักรยานของฉันราคาเท่าไหร่ที่ร้าน|เดือนที่แล้วฉันซื้ออะไรที่ตลาด
    นัดหมอฟันสัปดาห์นี้วันไหน|Hoeveel kostte mijn fiets in de winkel?|Hoe heet mijn zus en waar werkt zij?
    Wat kocht ik vorig jaar op de markt?|Vad kostade min cykel i affären?
    Vad heter min syster och var jobbar hon?|Vad köpte jag på marknaden förra året?
    Xe đạp của tôi giá bao nhiêu ở cửa hàng?|Tuần này lịch khám răng của tôi là khi nào?
    Berapa harga sepedaku di toko?|Minggu ini jadwal dokter gigiku kapan?
    Что я сделал после того, как уволился из банка?|Чи є в мене алергія на горіхи?
    Чи купив я квитки на концерт?|Що я робив до того, як переїхав до Львова?
    Co zrobiłem po tym, jak rzuciłem pracę?|Co robiłem drugiego maja w Krakowie?
    Co jsem říkal o tom, že chci změnit práci?|Vad sa jag om det nya jobbet?
    من هو طبيب الأسنان الخاص بي؟|ما هي هواياتي؟|ما هو رقم جواز سفري؟|والدي أين يعمل؟|كم درهم دفعت في السوق؟
    كم عدد الأسهم التي اشتريتها؟|ما اسم المدينة التي زرتها في الصيف؟|ما المرض الذي يعاني منه أبي؟
    มันบดสูตรไหนที่ฉันชอบ|ฉันเรียนภาษาเยอรมันที่ไหน|แมวของฉันทำหมันเมื่อไหร่|Còn bao nhiêu tiền trong tài khoản?
"""
OF_OTHERS = """
    Ten out of ten, said the doctor.|What did I buy on a whim at the market on Monday?
    Who does my dad live with in Bari?
    Wie lang ist mein Haar?|کلید خانه را به چه کسی دادم؟|دوشنبه چه کسی به من زنگ زد؟
    Кога ще ходя на зъболекар?|Hvad sagde jeg om det nye job?|Hva sa jeg om det nye jobbet?
    Wann habe ich die Waschmaschine in Berlin gekauft?|Je suis sur la terrasse à Dan Haag.
"""


def listed(texts: str) -> list[str]:
    return [each.strip() for line in texts.strip().splitlines() for each in line.split("|") if each.strip()]


def test_what_points_back_leans_on_the_dialogue() -> None:
    asked = listed(LEANING)
    assert {each: leans(each) for each in asked} == dict.fromkeys(asked, True)


def test_what_names_its_matter_stands_alone() -> None:
    asked = listed(STANDING)
    assert {each: leans(each) for each in asked} == dict.fromkeys(asked, False)


def test_other_languages_are_left_to_their_own_rules() -> None:
    assert not any(leans_elsewhere(each) for each in listed(OF_OTHERS))


def test_a_hostile_question_is_read_fast() -> None:
    begun = time.process_time()
    for piece in ("ها", "он ", "a ", "nya", "उस", "เขา", "m", "ım", "ten jej "):
        leans_elsewhere(piece * 20_000)
    assert time.process_time() - begun < 20


def test_a_follow_up_in_russian_finds_what_the_dialogue_is_about() -> None:
    scope = ("acme", "alice")
    told = (
        "Моя сестра Катя переехала в Казань и работает в музее.",
        "Мой брат Олег купил дачу под Тверью.",
        "Пекла сегодня пирог с вишней, рецепт у подруги.",
    )
    with MemoryBank.open(":memory:") as bank:
        for day, text in enumerate(told, start=1):
            at = datetime(2026, 3, day, 9, tzinfo=timezone.utc)
            bank.remember(scope, [{"role": "user", "content": text}], session=f"s{day}", at=at, close=True)
        before = [Message("Как зовут мою сестру?", role="user"), Message("Катя.", role="assistant")]
        hits = bank.recall(scope, "Расскажи о ней подробнее", context=before).hits
        assert max(hits, key=lambda hit: hit.score).turns[0].messages[0].text == told[0]
