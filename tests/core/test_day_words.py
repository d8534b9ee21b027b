"""Times of questions in languages beyond those whose rules read them themselves: the days are those of English."""

from __future__ import annotations

import time
from datetime import date, datetime, timezone

import pytest

from secom_core.bank import MemoryBank
from secom_core.text.day_words import days_in_english
from secom_core.text.periods import days_named

WEDNESDAY = date(2026, 6, 17)
ASKED = {
    "what did I do in March?": """
        Что я делал в марте?|Що я робила у березні?|Co robiłam w marcu?|Co jsem dělala v březnu?
        Mart'ta ne yaptım?|ماذا فعلت في مارس؟|मैंने मार्च में क्या किया?|ฉันทำอะไรเดือนมีนาคม
        Wat heb ik in maart gedaan?|Vad gjorde jag i mars?|Cosa ho fatto a marzo?|O que eu fiz em março?
        Tháng ba tôi đã làm gì?|Apa yang aku lakukan di bulan Maret?|ماذا حدث في شهر آذار؟
        Mart ayında nereye gittik?
    """,
    "what did I do last Tuesday?": """
        Что было в прошлый вторник?|Що я робила минулого вівторка?|Co robiłem w zeszły wtorek?
        Co jsem dělal minulé úterý?|Geçen salı ne yaptım?|ماذا فعلت يوم الثلاثاء الماضي؟
        पिछले मंगलवार को मैंने क्या किया?|วันอังคารที่แล้วฉันทำอะไร|Wat deed ik afgelopen dinsdag?
        Vad gjorde jag i tisdags?|Cosa ho fatto martedì scorso?|O que eu fiz na terça passada?
        Thứ ba tuần trước tôi làm gì?|Apa yang aku lakukan hari Selasa lalu?
    """,
    "what did I buy two weeks ago?": """
        Что я купила две недели назад?|Що я купив два тижні тому?|Co kupiłam dwa tygodnie temu?
        Co jsem koupila před dvěma týdny?|İki hafta önce ne aldım?|ماذا اشتريت قبل أسبوعين؟
        दो हफ़्ते पहले मैंने क्या खरीदा?|สองสัปดาห์ก่อนฉันซื้ออะไร|Wat heb ik twee weken geleden gekocht?
        Vad köpte jag för två veckor sedan?|Cosa ho comprato due settimane fa?|O que comprei há duas semanas?
        Hai tuần trước tôi mua gì?|Apa yang aku beli dua minggu lalu?|O que comprei duas semanas atrás?
    """,
    "what did I do last week?": """
        Куда я ездил на прошлой неделе?|Куди я їздила минулого тижня?|Gdzie byłam w zeszłym tygodniu?
        Kde jsem byl minulý týden?|Geçen hafta nereye gittim?|أين ذهبت الأسبوع الماضي؟
        पिछले हफ़्ते मैं कहाँ गया था?|อาทิตย์ที่แล้วฉันไปไหน|Waar was ik vorige week?|Var var jag förra veckan?
        Dove sono andato la settimana scorsa?|Onde eu fui na semana passada?|Tuần trước tôi đi đâu?
        Minggu lalu aku pergi ke mana?
    """,
    "what did I do last summer?": """
        Где мы были прошлым летом?|Де ми були минулого літа?|Gdzie byliśmy zeszłego lata?
        Kde jsme byli minulé léto?|Geçen yaz nereye gittik?|أين كنا الصيف الماضي؟
        पिछली गर्मियों में हम कहाँ गए थे?|หน้าร้อนที่แล้วเราไปไหน|Waar waren we vorige zomer?
        Var var vi i somras?|Dove siamo stati l'estate scorsa?|Onde fomos no verão passado?
        Mùa hè năm ngoái chúng tôi đi đâu?
    """,
    "what did I spend in the last two months?": """
        Сколько я потратила за последние два месяца?|Скільки я витратила за останні два місяці?
        Ile wydałam przez ostatnie dwa miesiące?|Kolik jsem utratila za poslední dva měsíce?
        Son iki ayda ne kadar harcadım?|كم أنفقت خلال الشهرين الماضيين؟
        पिछले दो महीनों में मैंने कितना खर्च किया?|สองเดือนที่ผ่านมาฉันใช้เงินเท่าไหร่
        Hoeveel heb ik de afgelopen twee maanden uitgegeven?
        Hur mycket spenderade jag de senaste två månaderna?|Quanto ho speso negli ultimi due mesi?
        Quanto gastei nos últimos dois meses?|Hai tháng qua tôi đã tiêu bao nhiêu?
        Berapa yang aku habiskan dua bulan terakhir?
    """,
    "what did I buy last May?": "Apa yang aku beli bulan Mei lalu?",
    "what did I do in the winter?": "Cosa ho fatto in inverno?",
    "what have I done since March?": """
        Что изменилось с марта?|Що змінилося з березня?|Co się zmieniło od marca?|Co se změnilo od března?
        Mart'tan beri ne değişti?|ماذا حدث منذ مارس؟|मार्च से क्या हुआ?|ตั้งแต่เดือนมีนาคมมีอะไรเปลี่ยนไปบ้าง
        Wat is er veranderd sinds maart?|Vad har hänt sedan mars?|Cosa è cambiato da marzo?
        O que mudou desde março?|Từ tháng ba có gì thay đổi?|Apa yang berubah sejak Maret?
    """,
    "what happened between March and May?": """
        Что было между мартом и маем?|Що було між березнем і травнем?|Co było między marcem a majem?
        Co bylo mezi březnem a květnem?|Mart ile mayıs arasında ne oldu?|ماذا حدث بين مارس ومايو؟
        मार्च और मई के बीच क्या हुआ?|ระหว่างเดือนมีนาคมถึงพฤษภาคมเกิดอะไรขึ้น
        Wat gebeurde er tussen maart en mei?|Vad hände mellan mars och maj?|Cosa è successo tra marzo e maggio?
        O que aconteceu entre março e maio?|Từ tháng ba đến tháng năm có gì xảy ra?
        Apa yang terjadi antara Maret dan Mei?
    """,
    "what happened on March 15?": """
        Что было 15 марта?|Що було 15 березня?|Co było 15 marca?|Co bylo 15. března?|15 Mart'ta ne oldu?
        ماذا حدث في 15 مارس؟|15 मार्च को क्या हुआ?|วันที่ 15 มีนาคมเกิดอะไรขึ้น|Wat gebeurde er op 15 maart?
        Vad hände den 15 mars?|Cosa è successo il 15 marzo?|O que aconteceu em 15 de março?
        Ngày 15 tháng 3 có chuyện gì?|Apa yang terjadi tanggal 15 Maret?
    """,
    "what happened in May 2025?": """
        Что было в мае 2025 года?|Що було у травні 2025 року?|Co było w maju 2025 roku?|Co bylo v květnu 2025?
        Mayıs 2025'te ne oldu?|ماذا حدث في مايو 2025؟|मई 2025 में क्या हुआ?|เดือนพฤษภาคม 2568 เกิดอะไรขึ้น
        Wat gebeurde er in mei 2025?|Vad hände i maj 2025?|Cosa è successo a maggio 2025?
        O que aconteceu em maio de 2025?|Tháng 5 năm 2025 có chuyện gì?|Apa yang terjadi bulan Mei 2025?
    """,
    "what did I say yesterday?": """
        Что я вчера сказал?|Що я вчора казала?|Co wczoraj mówiłam?|Co jsem včera říkal?|Dün ne dedim?
        ماذا قلت أمس؟|मैंने कल क्या कहा?|เมื่อวานฉันพูดอะไร|Wat zei ik gisteren?|Vad sa jag igår?
        Cosa ho detto ieri?|O que eu disse ontem?|Hôm qua tôi nói gì?|Apa yang aku katakan kemarin?
    """,
    "what did I recommend recently?": """
        Что я недавно купила?|Що я нещодавно купила?|Co ostatnio kupiłam?|Co jsem nedávno koupila?
        Geçenlerde ne aldım?|ماذا اشتريت مؤخرا؟|मैंने हाल ही में क्या खरीदा?|ช่วงนี้ฉันซื้ออะไรบ้าง
        Wat heb ik onlangs gekocht?|Vad har jag köpt nyligen?|Cosa ho comprato di recente?
        O que comprei recentemente?|Gần đây tôi mua gì?|Apa yang aku beli baru-baru ini?
    """,
    "what did I do on the weekend?": """
        Что я делала в выходные?|Що я робила на вихідних?|Co robiłam w weekend?|Co jsem dělala o víkendu?
        Hafta sonu ne yaptım?|ماذا فعلت في نهاية الأسبوع؟|सप्ताहांत में मैंने क्या किया?
        Wat deed ik in het weekend?|Vad gjorde jag i helgen?|Cosa ho fatto nel weekend?
        O que eu fiz no fim de semana?
    """,
    "what have I planned for tomorrow?": """
        Что у меня завтра?|Що в мене завтра?|Co mam jutro?|Co mám zítra?|Yarın ne var?|ماذا عندي غدا؟
        พรุ่งนี้ฉันมีอะไร|Có gì ngày mai?|Vad har jag i morgon?|Cosa ho domani?|O que tenho amanhã?|Apa besok?
    """,
}
OF_NO_TIME = """
    Где моя подруга Марта?|Сколько мне лет?|Что мне приготовить на среду?|Где моя зимняя куртка?
    Что делать с летней резиной?
    Скільки років моєму синові?|Де наша школа?|Kim jest Maja?|Ile lat ma moja córka?|Jaki jest mój środek czyszczący?
    Jak se jmenuje moje teta Květa?|Kolik let je mé dceři?|Pazardan ne almalıyım?|Bahar kim?|Kaç yaşındayım?
    كم عمر ابنتي؟|मेरी बेटी कितने साल की है?|กี่ปีแล้ว|ลูกสาวฉันอายุกี่ปี|Wie is Mei?|Waar is mijn winterjas?
    Was ist am 3. Mai?|Wann ist der Zahnarzt im Juni?|Vad heter min syster Maj?|Vilken vår är bäst?|Quanti anni ho?
    Dove abita mia sorella Marzia?|Quantos anos eu tenho?|Tôi có bao nhiêu con?|Năm người trong nhà tôi là ai?
    Berapa umur anakku?|What did I sell at the mart in the major city?|¿En qué mes nació mi hija?
    Qu'est-ce que j'ai fait en mars ?|Что мы с Мартой ели в кафе?|Что я настроил в среде разработки?
    O que o médico disse na segunda consulta?|Quem estava na quinta do avô?|Vad åt vi under vår resa i Maj-Britts bil?
    Wanneer was ik voor het laatst bij de tandarts?|Kiedy ostatnio byłem u dentysty?|Kiedy byłam ostatnio u lekarza?
    Düğünden iki gün önce ne aldım?|शादी से दो दिन पहले मैंने क्या खरीदा?|ماذا اشتريت قبل يومين من العرس؟
    สองวันก่อนแต่งงานฉันซื้ออะไร|Hai ngày trước đám cưới tôi mua gì?|Hai ngày trước Tết tôi mua gì?
    ما اليوم الذي قابلت فيه سارة؟|ماذا فعلت في ذلك اليوم؟|هل لعبت بكرة القدم؟|Tôi mua đồ mốt nào?
    Lần gần đây nhất tôi đi nha sĩ là khi nào?|Have I been in Juli's house?
"""


def listed(texts: str) -> list[str]:
    return [each.strip() for line in texts.strip().splitlines() for each in line.split("|") if each.strip()]


@pytest.mark.parametrize("in_english", ASKED)
def test_a_time_of_a_question_is_read_as_the_english_one_is(in_english: str) -> None:
    days = days_named(in_english, WEDNESDAY, (2025, 2026))
    questions = listed(ASKED[in_english])
    assert days
    assert {each: days_named(each, WEDNESDAY, (2025, 2026)) for each in questions} == dict.fromkeys(questions, days)


def test_what_names_no_time_stays_as_it_is() -> None:
    questions = listed(OF_NO_TIME)
    assert [days_in_english(each) for each in questions] == questions


def test_a_conditional_asks_for_nothing_that_was() -> None:
    assert days_named("Что бы ты посоветовал летом?", WEDNESDAY, (2026,)) == []


def test_a_long_text_is_read_fast() -> None:
    begun = time.process_time()
    for piece in ("в ", "что ", "co ", "15 ", "in last ", "ทำ", "hafta ", "za poslední ", "ngày "):
        days_in_english((piece * 300)[:300])
        days_in_english(piece * 20_000)
    assert time.process_time() - begun < 20


@pytest.mark.parametrize(
    ("question", "march", "may"),
    [
        ("Что мы с врачом обсуждали в марте?", "Был у врача, обсуждали колено.", "Был у врача, обсуждали спину."),
        ("Co mówił lekarz w marcu?", "Lekarz mówił o kolanie.", "Lekarz mówił o plecach."),
        ("Mart ayında doktor ne dedi?", "Doktor dizimden söz etti.", "Doktor sırtımdan söz etti."),
    ],
)
def test_a_recall_uses_the_day_on_which_it_was_said(question: str, march: str, may: str) -> None:
    scope = ("acme", "alice")
    with MemoryBank.open(":memory:") as bank:
        for month, text in ((3, march), (5, may)):
            at = datetime(2026, month, 10, 9, tzinfo=timezone.utc)
            bank.remember(scope, [{"role": "user", "content": text}], session=f"s{month}", at=at, close=True)
        now = datetime(2026, 6, 17, tzinfo=timezone.utc)
        hits = bank.recall(scope, question, now=now).hits
        assert max(hits, key=lambda hit: hit.score).turns[0].messages[0].text == march
        assert max(hits, key=lambda hit: hit.score).turns[0].messages[0].text != may
