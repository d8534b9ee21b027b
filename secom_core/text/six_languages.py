"""What is asked and told of oneself and of the conversation, in Russian, Polish, Turkish, Arabic, Hindi and Thai.

The rules of `secom_core.text.intents`, `secom_core.text.attributes` and `secom_core.text.speech` for these languages.
Words of Hindi and Thai have no edges that a regular expression knows, so their rules stand anywhere.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from .patterns import regex
from .wording import folded_case, is_signed, signs, wording

_I: Final = "(?:ฉัน|ผม|หนู|ดิฉัน)"
_RUSSIAN_TALKED: Final = r"(?:по)?(?:говор|разговарива|обсужда|обсуд|бесед|болта)\w+"
_POLISH_TALKED: Final = r"(?:po)?(?:rozmawia|gada)\w+"
_TURKISH_TALKED: Final = r"(?:konuş|bahset|sohbet et|tartış)\w*"
_ARABIC_TALKED: Final = "(?:تحدثنا|تكلمنا|ناقشنا|نتحدث|نتكلم)"
_HINDI_TALKED: Final = "(?:बात|बातें|चर्चा) (?:की|हुई|हो|कर)"

_LAST: Final = wording(
    rf"""
    (?:о|об|про) (?:чём|чем|что) (?:мы|я) .{{0,30}}{_RUSSIAN_TALKED}|что мы .{{0,30}}обсуждали|на чём мы остановились
    (?:о|об|про) (?:чём|чем|что) (?:был|шёл|шла) .{{0,10}}(?:разговор|бесед|речь)\w*|на чем мы остановились
    (?:w )?(?:poprzedni|ostatni)\w* (?:raze?m?|rozmow\w+|czacie)|na czym (?:skończy|stanę)\w+
    o czym .{{0,20}}{_POLISH_TALKED}
    (?:geçen (?:sefer|konuşma)|son (?:konuşma|sohbet)|en son)\w* .{{0,20}}{_TURKISH_TALKED}|nerede kalmıştık
    ne(?:ler)? (?:hakkında |üzerine )?konuş(?:tuk|muştuk)
    (?:عن|في) ?(?:ماذا|ما|أي شيء) .{{0,12}}{_ARABIC_TALKED}|عم {_ARABIC_TALKED}|أين (?:توقفنا|وصلنا)
    """,
    anywhere=rf"""
    (?:पिछली|पिछले) (?:बार|बातचीत).{{0,25}}(?:बात|चर्चा)|हम.{{0,12}}क्या {_HINDI_TALKED}
    किस (?:बारे में|विषय पर).{{0,12}}(?:बात|चर्चा)
    (?:ครั้งที่แล้ว|ครั้งก่อน|คราวที่แล้ว|คราวก่อน|ครั้งล่าสุด).{{0,12}}คุย
    คุย(?:กัน)?(?:เรื่อง|ถึง|เกี่ยวกับ)?(?:เรื่อง)?อะไร(?!ดี)|คุยกันถึงไหน
    """,
)
_USER: Final = wording(
    r"""
    что ты .{0,12}(?:обо мне|про меня) .{0,12}(?:знаешь|помнишь|запомнил\w?)
    (?:знаешь|помнишь|запомнил\w?) (?:обо мне|про меня)
    что (?:вы|ты) .{0,12}(?:знаете|помните|знаешь|помнишь) (?:обо мне|про меня)
    (?:вы обо мне|обо мне вы) (?:знаете|помните)
    (?:расскажи|опиши) (?:мне )?(?:обо мне|меня)|кто я(?: такая?| такой)?
    co (?:ty )?.{0,12}o mnie .{0,12}(?:wiesz|pamiętasz)|co .{0,12}(?:wiesz|pamiętasz) (?:\w+ )?o mnie|kim jestem
    opisz mnie
    opowiedz (?:mi )?o mnie
    (?:benim )?hakkımda .{0,12}(?:ne(?:ler)? )?(?:biliyorsun|hatırlıyorsun|öğrendin)\w*
    beni (?:tanıyor|hatırlıyor) musun
    (?:benimle ilgili|bana dair) ne(?:ler)? (?:biliyor|hatırlıyor)\w*|ben kimim|bana benden bahset
    beni (?:anlat|tarif et)
    (?:ماذا|ما الذي|ما|شو) (?:الذي )?(?:تعرف|تعرفين|تتذكر|تعلم|تذكر)ه? عني|من أنا|هل تتذكرني|صفني|حدثني عن نفسي
    """,
    anywhere=rf"""
    मेरे (?:बारे में|विषय में).{{0,12}}(?:जानते|जानती|याद|पता|मालूम|बताओ|बताइए)|मैं कौन हूँ|मैं कौन हूं
    (?:รู้|จำ)(?:จัก)?(?:ได้)?(?:อะไร|เรื่องอะไร)?.{{0,6}}เกี่ยวกับ(?:ตัว)?{_I}|{_I}(?:เป็น|คือ)ใคร
    รู้จัก{_I}(?:ดี)?แค่ไหน
    (?:เล่า|บอก)(?:เรื่อง)?(?:เกี่ยวกับ)?(?:ตัว)?{_I}ให้(?:ฟัง|หน่อย)
    """,
)
_SIGNS: Final = signs(
    folded_case("""
    обо мне|про меня|кто я|меня|мы|говор|беседа|разговор|речь|o mnie|kim jestem|mnie|rozmaw|rozmow|gada|raz|skończ
    |stanę
    |hakkımda|hakkimda|benimle|bana|beni|ben kim|konuş|konus|sohbet|bahset|tartış|tartis|kalmıştık|kalmistik|عني
    |من أنا|تتذكرني
    |صفني|نفسي|تحدث|تكلم|ناقش|توقفنا|وصلنا|मेरे|कौन|बात|चर्चा|เกี่ยวกับ|ใคร|รู้จัก|เล่า|บอก|คุย""")
)
_TALK: Final = regex(
    rf"""
    \b(?:{_RUSSIAN_TALKED}|{_POLISH_TALKED}|{_TURKISH_TALKED}
    |о|об|про|чём|чем|что|мы|я|ты|вы|с|со|в|на|был[аи]?|шёл|шла|прошл\w+|последн\w+|раз|чат\w*|сесси\w+|нашего|наш
    |нашей
    |остановились|обо|мне|меня|знае\w+|помни\w+|запомни\w+|уже|вообще|ещё|еще|всё|все|расскажи|опиши|кто|так(?:ая|ой)
    |тобой|вами|и|а|ну|пожалуйста|напомни|скажи|том|сам\w*|мой|бесед\w+|разговор\w*|речь
    |o|czym|w|na|z|tobą|ty|co|mnie|wiesz|pamiętasz|poprzedni\w*|ostatni\w*|raze?m?|rozmow\w+|czacie|skończy\w+
    |stanę\w+|my
    |kim|jestem|opisz|opowiedz|mi|już|jeszcze|wszystko|proszę|przypomnij|a|i|no
    |geçen|sefer|son|en|ne|neler|hakkında|hakkımda|üzerine|benim|beni|bana|benden|benimle|ilgili|dair|biliyor\w*
    |nerede|kalmıştık
    |hatırl\w+|öğrendin\w*|tanıyor|musun|mısın|ben|kimim|anlat|tarif|et|biz|seninle|peki|lütfen|şimdiye|kadar|söyle|ve
    |و?(?:عن|في|من|ماذا|ما|عم|أي|شيء)|المرة|الماضية|السابقة|الأخيرة|آخر|مرة|محادثتنا|محادثة|أين|الذي|شو|هل|أنا|نفسي
    |معك|كنا|قد|لي
    |{_ARABIC_TALKED}|توقفنا|وصلنا|(?:تعرف|تعرفين|تتذكر|تعلم|تذكر)ه?|عني|تتذكرني|صفني|حدثني|من|فضلك|ذكرني|بما)\b
    |पिछली|पिछले|बार|बातचीत|बातें|बात|चर्चा|हमने|हमारी|हम|क्या|की|हुई|हो|कर|किस|बारे|विषय|में|पर|थी|थे|था|रहे|रही
    |मेरे|तुम|आप|तुम्हें|आपको
    |जानते|जानती|याद|पता|मालूम|बताओ|बताइए|हैं|हैँ|है|मैं|कौन|हूँ|हूं|को|और|से|ने|कुछ|अब|तक
    |ครั้งที่แล้ว|ครั้งก่อน|คราวที่แล้ว|คราวก่อน|ครั้งล่าสุด|คุยกัน|คุย|เรื่อง|ถึง|เกี่ยวกับ|อะไร|ไหน|กัน|เรา|คุณ
    |เธอ|รู้จัก|รู้|จำ|ได้|บ้าง|ตัว|ดี|แค่
    |ดิฉัน|ฉัน|ผม|หนู|เป็น|คือ|ใคร|เล่า|บอก|ให้|ฟัง|หน่อย|คะ|ครับ|ค่ะ|นะ|ไป|ไว้|แล้ว|ที่
    """,
    re.I | re.X,
)
"""What such questions are made of; what they leave is what else is asked about."""
_LETTER: Final = regex(r"\w")


def asked_of_talk(query: str) -> Literal["", "user", "last session"]:
    """What of the conversation itself a question asks about, and about nothing else."""
    if not is_signed(folded_case(query), _SIGNS):
        return ""
    of_talk = _LAST.search(query)
    found: Literal["", "user", "last session"] = "user" if _USER.search(query) else "last session" if of_talk else ""
    return found if found and _LETTER.search(_TALK.sub(" ", query)) is None else ""


_THAI_ASKS: Final = regex(
    r"(?<!ไม่)(?<!ไม่มี)(?<!ไม่ได้)(?:อะไร|(?<!ผ้า)ไหม(?!พรม)|มั้ย|ไหน|เมื่อไ|เท่าไ|ยังไง|อย่างไร|หรือเปล่า|ใคร|ทำไม)(?!เลย|ก็|ๆ)"
    r"[^\s?？]*(?:\s(?:คะ|ครับ|ค่ะ|บ้าง))?[?？]?\s*$"
)
"""A clause that asks at the end of a text, as Thai has no question mark, and spaces stand between clauses."""
_ASKED_WITH: Final = regex(
    r"\b(?:где|когда|кто|кого|кому|кем|чем|чём|что|чего|как|каки?\w*|сколько|почему|зачем|куда|откуда|чей|чья|ли"
    r"|gdzie|kiedy|kto|kogo|komu|kim|czym|co|czego|jak|jaki\w*|jaka|które\w*|który|ile|dlaczego|dokąd|skąd|czy\w*"
    r"|nerede\w*|nereye|ne|neye|neler\w*|neyi|kim\w*|kaç|hangi\w*|nasıl|neden|niye|mı|mi|mu|mü|m[iıuü]y[iıuü]m"
    r"|أين|متى|من|ماذا|ما|كم|كيف|لماذا|هل|أي)\b"
    r"|कहाँ|कहां|कब|कौन|किस|क्या|कितन|कैसे|क्यों",
    re.I,
)


_CLAUSE: Final = 120
"""How many characters of the end of a text are looked at: a clause of Thai is seldom longer."""


def asks_in_thai(text: str) -> bool:
    """Whether a text ends with a question of Thai, which has no question mark."""
    return _thai_asks(text) is not None


def _thai_asks(text: str) -> re.Match[str] | None:
    return _THAI_ASKS.search(text, max(0, len(text.rstrip()) - _CLAUSE))


def has_asking_word(text: str) -> bool:
    """Whether a text that ends as a question is nothing but one, by a word that asks, wherever it stands."""
    asking = _thai_asks(text)
    if asking is not None:
        return " " not in text[: asking.start()].strip()
    return _ASKED_WITH.search(text) is not None


_TURKISH_DO: Final = (
    r"(?:(?:yaz|kullan|konuş)(?:ın|ma|mayın)?|(?:cevap ver|öner)(?:in|me|meyin)?|(?:cevapla|yanıtla)(?:yın|ma|mayın)?)"
    r"(?=\W*$|[^\w\s]| (?:lütfen|ve)\b)"
)
"""What is to be done, at the end of its clause: before a verb, the first of them is the summer."""
INSTRUCTION: Final = (
    signs(
        """всегда|впредь|отныне|каждый раз|с этого момента|больше не|никогда не|отвечай|пиши|смайл|эмодзи|называй|зови
        |обращайся|zawsze|od teraz|nigdy|na przyszłość|odpowiadaj|emot|emoji|mów |nazywaj|her zaman|bundan|artık|asla
        |daima|kısa|bana|دائم|الآن|الان|أبد|باختصار|بإيجاز|الرموز|إيموجي|الإيموجي|ناد|हमेशा|अब से|आगे से|कभी|इमोजी
        |जवाब
        |उत्तर|बुला|ต่อไป|จากนี้|ทุกครั้ง|เสมอ|ตอบ|โมจิ|เรียก"""
    ),
    wording(
        rf"""
        (?:всегда|впредь|отныне|каждый раз|с этого момента) .{{0,30}}(?:отвечай|пиши|используй)(?:те)?
        никогда не (?:отвечай|пиши|используй|говори|предлагай|спрашивай)(?:те)?
        больше не (?:\w+ ){{0,2}}(?:отвечай|пиши|используй|говори|предлагай|спрашивай)(?:те)?
        (?:всегда|впредь|отныне|с этого момента) .{{0,30}}(?:говори|предлагай|спрашивай)(?:те)?
        (?:отвечай|пиши)(?:те)? .{{0,20}}(?:всегда|коротко|кратко|короче)
        не (?:используй|ставь)(?:те)? .{{0,15}}(?:смайл|эмодзи)\w*
        (?:называй|зови)(?:те)? меня|обращайся (?:ко мне|на)
        (?:zawsze|od teraz|nigdy|na przyszłość) .{{0,30}}(?:odpowiadaj|pisz|używaj|mów|zwracaj|polecaj)
        (?:odpowiadaj|pisz) .{{0,20}}(?:zawsze|krótko|zwięźle)|nie używaj .{{0,15}}emo\w+
        (?:mów (?:mi|do mnie)|nazywaj mnie)
        (?:her zaman|bundan sonra|bundan böyle|artık|asla|daima) .{{0,40}}{_TURKISH_DO}
        (?:kısa|özlü) (?:ve öz )?(?:cevap|yanıt) ver(?:in|ir misin)?|emoji kullanma(?:yın)?
        bana \w+ (?:de|diye hitap et)
        (?:أجب|اجب|أجيبي|رد|اكتب|جاوب) .{{0,20}}(?:دائما|دائماً|باختصار|بإيجاز)
        (?:دائما|دائماً|من (?:الآن|الان)(?: فصاعدا)?) .{{0,20}}(?:أجب|اجب|اكتب|استخدم|رد|جاوب)
        لا تستخدم(?:ي)? .{{0,15}}(?:الرموز|إيموجي|الإيموجي|ايموجي)|ناد(?:ني|يني)
        """,
        anywhere=rf"""
        (?:हमेशा|अब से|आगे से|कभी).{{0,40}}(?:देना|दो|दें|दीजिए|लिखना|लिखो|लिखें|लगाना|बोलना|बुलाना)(?= |[।.,!]|$)
        इमोजी (?:का .{{0,10}})?(?:मत|न|नहीं)
        (?:छोटे|छोटा|संक्षिप्त|संक्षेप में) (?:जवाब|उत्तर) (?:देना|दो|दें|दीजिए)|मुझे .{{1,15}} (?:कहकर|नाम से) बुला
        (?:ต่อไปนี้|ต่อไป|จากนี้).{{0,20}}(?:ตอบ|เขียน|ใช้|เรียก)|(?:ตอบ|เขียน|เรียก).{{0,20}}(?:เสมอ|ทุกครั้ง)
        (?:ช่วย|กรุณา|ให้)ตอบ(?:ให้|แบบ)?(?:สั้น|กระชับ)
        (?:ไม่ต้อง|อย่า|ห้าม)(?:ใส่|ใช้)(?:อี|อิ)โมจิ|เรียก{_I}ว่า(?!อะไร)
        """,
    ),
)
_RUSSIAN_ME: Final = (
    r"(?:(?:я|мы) (?:(?!что|он|как)\w+ ){0,3}|(?:(?<![^\n])|(?<=[.!?;:]\s))(?:(?:и|а|вчера|недавно|уже|наконец|снова"
    r"|теперь) ){0,2})"
)
_HINDI_ME: Final = (
    r"(?:(?:मैं|मुझे|हम(?!ार))(?:(?! कि )[^।]){0,40}|(?:^|[।.!?\n])\s?(?:(?:अब|कल|आज|अभी|हाल ही में|आखिरकार) ){0,2})"
)
_THAI_ME: Final = (
    r"(?:(?:^|\s)(?:ตอนนี้|ปัจจุบัน|เมื่อวาน|วันนี้|พรุ่งนี้|(?:เดือน|ปี|อาทิตย์|สัปดาห์)(?:ที่แล้ว|ก่อน|นี้|หน้า)|แล้ว|และ|แต่)*"
    r"|(?<!เพื่อน)(?<!สาว)(?<!ชาย)(?<!แม่)(?<!พ่อ)(?<!ของ)(?<!แฟน)(?<!ลูก)(?<!สามี)(?<!ภรรยา)(?<!หมา)(?<!แมว)"
    r"(?<!นาย)(?<!หน้า)(?<!ให้)(?<!ดิ)(?:ฉัน|ผม|หนู|ดิฉัน|เรา)(?:(?:กับ|และ).{2,12})?)"
    r"(?:ก็|จะ|ได้|เพิ่ง|เคย|กำลัง|ต้อง|คง|อยาก|เลย|ตัดสินใจ)*"
)
"""Before verbs that have one form for all: that it is the speaker who does it, as in a sentence that names nobody."""
_VEGAN: Final = {"ru": r"(?:веган|вегетариан)\w*", "ar": "نباتية?"}
_NO_FOOD: Final = r"""
    я (?:больше )?не (?:ем|пью|переношу)
    uczulon\w+|jestem we(?:gan|getarian)\w+|nie (?:jem|piję|znoszę)
    veganım|vejetaryenim
    \w+ (?:yemem|yemiyorum|içmem|içmiyorum|yiyemem|yiyemiyorum)(?! (?:lazım|gerek|için|şart|mümkün))
    لا (?:آكل|أكل|اكل|أشرب|اشرب)
"""
_NO_FOOD_ANYWHERE: Final = r"""
    शाकाहारी|नहीं (?:खाती|खाता|पीती|पीता)|มังสวิรัติ|ไม่(?:กิน|ดื่ม)(?!อะไร)|กิน(?!อะไร).{1,12}ไม่ได้
"""
_ILL: Final = {
    "ru": r"(?:аллерги|непереносимост|диабет)\w*",
    "pl": r"(?:alergi|uczuleni|nietolerancj|cukrzyc)\w+",
    "ar": "(?:حساسية|حساسيه|السكري|بالسكري)",
    "hi": "(?:एलर्जी|मधुमेह|डायबिटीज)",
}
_DIET: Final = rf"""
    {_NO_FOOD}
    {_VEGAN["ru"]}|و?{_VEGAN["ar"]}|{_ILL["ru"]}|{_ILL["pl"]}|alerji\w+|intolerans\w+|şeker hastası\w*|و?{_ILL["ar"]}
"""
_DIET_ANYWHERE: Final = rf"""
    {_NO_FOOD_ANYWHERE}
    {_ILL["hi"]}|แพ้(?!อะไร|ไหม|ภัย)|เบาหวาน
"""
_OWN_DIET: Final = rf"""
    {_NO_FOOD}
    я (?:\w+ ){{0,2}}{_VEGAN["ru"]}|أنا (?:\w+ ){{0,2}}{_VEGAN["ar"]}
    (?:у (?:меня|нас)|я|мне) (?:(?!вопрос|про |об? )\w+ ){{0,3}}{_ILL["ru"]}
    {_ILL["ru"]} .{{0,25}}у меня|мо[яюей]+ {_ILL["ru"]}
    (?:mam|jestem|choruję na|moj[aąe]j?) (?:(?!pytani)\w+ ){{0,3}}{_ILL["pl"]}|{_ILL["pl"]} mam
    alerjim\w*|alerji[ğk]im|intoleransım\w*|şeker hastasıyım
    و?(?:عندي|لدي|أعاني من|اعاني من|مصابة? ب|أنا) ?(?:(?!سؤال)\w+ ){{0,2}}{_ILL["ar"]}
"""
_OWN_DIET_ANYWHERE: Final = rf"""
    (?:मैं(?!ने)|हम(?!ार))(?:(?! कि )[^।]){{0,40}}(?:शाकाहारी|नहीं (?:खात|पीत)[ीाे])|शाकाहारी हू|नहीं (?:खात|पीत)[ीा] हू
    {_THAI_ME}(?:ไม่(?:กิน|ดื่ม)(?!อะไร)|กิน(?!อะไร).{{1,12}}ไม่ได้|(?:กิน|เป็น)มังสวิรัติ)
    (?:मुझे|मुझको|मेरी|मेरा) (?:(?!बता|कि )[^।]){{0,30}}{_ILL["hi"]}(?! के बारे)
    {_I}(?:เป็นคน|เคย|ก็|มีอาการ)?แพ้(?!อะไร|ไหม|ภัย)|{_I}เป็นเบาหวาน
"""
"""What is said of oneself: an allergy alone may be asked about, or somebody else's."""
PREFERENCE: Final = (
    signs(
        """аллерги|непереносимост|веган|вегетариан|диабет|не ем|не пью|переношу|люблю|обожаю|ненавижу|предпочитаю
        |нравит
        |alergi|uczul|nietoleran|wegan|wegetar|cukrzyc|jem|piję|znoszę|lubię|uwielbiam|wolę|nienawidzę|alerji
        |intolerans
        |vegan|vejetar|şeker|yem|yiy|içm|sevmem|sevmiyorum|seviyorum|severim|tercih|nefret|حساسي|نباتي|السكري|آكل
        |أكل|اكل
        |أشرب|اشرب|أحب|احب|أفضل|افضل|أكره|اكره|एलर्जी|शाकाहारी|मधुमेह|डायबिटीज|नहीं|पसंद|แพ้|มังสวิรัติ|เบาหวาน|ไม่
        |ชอบ|เกลียด"""
    ),
    wording(
        rf"""
        {_OWN_DIET}
        я (?:очень |больше )?(?:люблю|не люблю|обожаю|ненавижу|предпочитаю)|мне (?:очень |не )?нравится
        (?:nie )?lubię|uwielbiam|wolę|nienawidzę
        \w+ (?:sevmem|sevmiyorum|seviyorum|severim|nefret ederim|tercih ederim)
        (?:أنا )?(?:لا )?(?:أحب|احب|أكره|اكره)|أنا أفضل
        """,
        anywhere=rf"""
        {_OWN_DIET_ANYWHERE}
        मुझे .{{1,25}}(?:पसंद|नापसंद)|{_I}(?:ไม่)?(?:ชอบ|เกลียด)(?!อะไร)
        """,
    ),
)
_NAME: Final = r"""
    меня зовут|моё имя|мое имя|(?:nazywam|zwę) się|mam na imię|(?:benim )?(?:adım|ismim) (?!ne)\w+|و?اسمي
"""
_NAME_ANYWHERE: Final = rf"मेरा नाम(?! क्या)|{_I}ชื่อ(?!อะไร)"
_HOME: Final = rf"""
    (?:я|мы) .{{0,12}}(?:живу|живём|живем)|живу в|mieszka(?:m|my)
    {_RUSSIAN_ME}пере(?:ехал\w*|бралась|брался|брались)
    przeprowadzi(?:łam|łem|liśmy|łyśmy)|\w+ (?:yaşıyor(?:um|uz)|oturuyor(?:um|uz))|taşın(?:dım|dık)
    و?(?:أعيش|أسكن|اعيش|اسكن|نسكن|نعيش) في|و?انتقلنا|و?انتقلت(?: للعيش| إلى| الى| من)
"""
_HOME_ANYWHERE: Final = rf"""
    में रहत[ीाे] हू|हम(?!ार)[^।]{{0,40}}में रहते हैं|{_HINDI_ME}(?:(?:शिफ़्ट|शिफ्ट) (?:हो|हुए)|घर बदल)
    (?:{_I}|เรา|ปี ?)(?:อยู่|อาศัยอยู่)ที่(?!ไหน)|{_THAI_ME}ย้าย(?:ไป|มา)
"""
_JOB: Final = rf"""
    работаю|начинаю работать|{_RUSSIAN_ME}(?:начала? работать|устроил(?:ся|ась)|уволил(?:ся|ась))|pracuję|zaczynam pracę
    zwolni(?:łam|łem) się
    \w+ (?:çalışıyorum|işe başl\w+)|istifa ettim|و?(?:أعمل|اعمل)|(?:سأبدأ|بدأت) العمل|استقلت
"""
_JOB_ANYWHERE: Final = rf"""
    काम करत[ीा] हू|{_HINDI_ME}(?:काम शुरू|नौकरी (?:छोड़|शुरू|मिल))
    (?:नर्स|डॉक्टर|शिक्षक|शिक्षिका|इंजीनियर) हू|{_THAI_ME}(?:ทำงาน(?:เป็น|ที่(?!ไหน))|เริ่มงาน|ลาออก)
"""
_THAI_KIN: Final = "(?:พี่สาว|พี่ชาย|น้องสาว|น้องชาย|แม่|พ่อ|สามี|ภรรยา|แฟน|ลูกสาว|ลูกชาย)"
FACT: Final = (
    signs(
        """зовут|имя|мне |живу|живём|живем|переех|перебра|работ|устроил|уволил|мой|моя|моей|мою|моего|моему|у меня
        |nazywam|imię|lat|mieszka|przeprowadz|prac|zwolni|mój|moja|mojej|moją|mojego|mam |adım|ismim|yaş|otur|taşın
        |çalış
        |işe başl|istifa|ablam|abim|ağabeyim|kardeşim|annem|babam|eşim|kocam|karım|oğlum|kızım|köpeğim|kedim|doğum
        |اسمي|عمري|أعيش
        |أسكن|اعيش|اسكن|نسكن|نعيش|انتقل|أعمل|اعمل|العمل|استقلت|زوج|أخ|اخ|ابن|أمي|أبي|امي|ابي|كلبي|قطتي|मेरा|मेरी
        |मेरे|साल|रहत|शिफ़्ट
        |शिफ्ट|घर|काम|नौकरी|नर्स|डॉक्टर|शिक्ष|इंजीनियर|ชื่อ|อายุ|อยู่|ย้าย|ทำงาน|เริ่มงาน|ลาออก|ของ|พี่|น้อง|แม่
        |พ่อ|สามี|ภรรยา|แฟน|ลูก|หมา|แมว"""
    ),
    wording(
        rf"""
        {_NAME}
        {_HOME}
        {_JOB}
        мне \d+ (?:лет|года?)(?! назад)|(?:мой|моего|моему) (?:муж|сын|пап|от|брат|п[её]с|кот)\w*
        (?:моя|моей|мою) (?:жен|доч|мам|мат|сестр|соба|кош)\w*
        мо(?:й|его) (?:день|дня) рождения|у меня (?:есть )?(?:\w+ )?(?:дети|детей|сын|дочь|сестра|брат|собака|кошка)
        mam \d+ lat\w*|(?:mój|mojego) (?:mąż|męż|syn|tat|brat|pies|ps[ae]|kot|oj)\w*
        (?:moja|mojej|moją) (?:żon|córk|mam|siostr|matk|kot)\w*
        \d+ yaşındayım|(?:ablam|abim|ağabeyim|kardeşim|annem|babam|eşim|kocam|karım|oğlum|kızım)
        köpeğim|kedim|doğum günüm
        و?عمري|و?(?:زوجي|زوجتي|أختي|اختي|أخي|اخي|ابني|ابنتي|أمي|أبي|امي|ابي|كلبي|قطتي)
        """,
        anywhere=rf"""
        {_NAME_ANYWHERE}
        {_HOME_ANYWHERE}
        {_JOB_ANYWHERE}
        मैं [^।]{{0,12}}साल (?:की|का)|मेर[ीाे] (?:बहन|भाई|पति|पत्नी|बेटा|बेटी|माँ|मां|पिता|पापा|कुत्ता|बिल्ली|जन्मदिन)
        อายุ ?\d+|(?:{_THAI_KIN}|หมา|แมว)(?:ของ)?{_I}|{_THAI_KIN}(?:ย้าย(?:ไป|มา)|ทำงาน(?:เป็น|ที่(?!ไหน))|เริ่มงาน|ลาออก)
        """,
    ),
)
TOLD: Final = {
    "name": (_NAME, _NAME_ANYWHERE),
    "home": (_HOME, _HOME_ANYWHERE),
    "job": (_JOB, _JOB_ANYWHERE),
    "diet": (_DIET, _DIET_ANYWHERE),
}
"""What a user says of himself by what it tells: what begins and ends where words do, and what stands anywhere."""

ASKED: Final = {
    "name": r"""
        как меня зовут|как(?:ое)? мо[её] имя|jak (?:mam na imię|się nazywam)|(?:adım|ismim) ne
        (?:ما|شو) (?:هو )?اسمي|मेरा नाम क्या
        (?:ฉัน|ผม|หนู|ดิฉัน)ชื่ออะไร
    """,
    "home": r"""
        где я (?:\w+ )?живу|в каком городе я (?:\w+ )?живу|gdzie (?:\w+ )?mieszkam|w jakim mieście (?:\w+ )?mieszkam
        nerede (?:yaşıyorum|oturuyorum)|hangi şehirde (?:yaşıyorum|oturuyorum)|أين (?:أسكن|أعيش|اسكن|اعيش)
        मैं (?:अब |अभी )?(?:कहाँ|कहां) रहत[ीा]|(?:ฉัน|ผม|หนู|ดิฉัน)(?:อยู่|อาศัยอยู่)ที่ไหน
    """,
    "job": r"""
        (?:где|кем) я (?:\w+ )?работаю|gdzie (?:\w+ )?pracuję|kim jestem z zawodu|nerede çalışıyorum
        ne iş yapıyorum|mesleğim ne
        أين (?:أعمل|اعمل)|ما (?:هي |هو )?(?:وظيفتي|عملي|مهنتي)|मैं (?:अब |अभी )?(?:कहाँ|कहां|क्या) काम करत[ीा]
        (?:ฉัน|ผม|หนู|ดิฉัน)ทำงาน(?:ที่ไหน|อะไร)
    """,
    "diet": r"""
        на что у меня аллергия|(?:что|чего) мне нельзя есть|какая у меня аллергия
        (?:есть ли )?у меня (?:есть )?аллергия
        na co (?:mam alergię|jestem uczulon[ay])|czego nie (?:mogę|wolno mi|powinnam|powinienem) jeść
        neye (?:karşı )?alerji(?:m|k)|neye alerjim var
        ne(?:ler)?(?:i|den)? (?:yememem|yiyemem|yememeliyim|uzak durmalıyım)
        (?:من|مم|مما|ضد) ?(?:ماذا|ما) .{0,12}حساسية|هل (?:عندي|لدي) حساسية
        (?:ما الذي|ماذا) لا (?:يجب أن|أستطيع أن|يمكنني أن) آكله?
        (?:किस|किन).{0,10}एलर्जी|क्या नहीं खाना|क्या नहीं खा सकत|(?:ฉัน|ผม|หนู|ดิฉัน)แพ้อะไร
        (?:ฉัน|ผม|หนู|ดิฉัน)กินอะไรไม่ได้
    """,
}
"""What somebody asks of himself."""
