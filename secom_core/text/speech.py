"""What kind of thing is said: a question, an instruction, a lasting fact.

Rules for English, German and Chinese; what stands is recognised in Spanish, French, Italian, Portuguese, Japanese,
Korean, Russian, Polish, Turkish, Arabic, Hindi and Thai too. In other languages only the question mark counts. They
read what a user or an assistant says at once, without a model, so they are about wording that is plain.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from . import births, germanic, romance, six_languages, spoken_selves, trades
from .hesitations import without_hesitations
from .material import meant
from .patterns import regex
from .telling import is_told
from .wording import Signs, signs, wording

Standing = Literal["", "instruction", "preference", "fact"]
"""What holds from then on: how to answer, what somebody likes or must avoid, who somebody is. Empty for neither."""

_QUESTION_MARKS: Final = ("?", "？", "؟", "\u037e", "՞")
_CLOSERS: Final = " \t\r\n\"'”’»）)*_!"


class _Rule(NamedTuple):
    kind: Standing
    signs: tuple[str, ...]
    """One of these stands in whatever the rule finds, so that most texts need no rule."""
    wording: re.Pattern[str]


_INSTRUCTIONS: Final = (
    _Rule("instruction", *germanic.ENGLISH_REPLIES),
    _Rule("instruction", *germanic.GERMAN_REPLIES),
    _Rule("instruction", *germanic.ENGLISH_INSTRUCTION),
    _Rule("instruction", *germanic.GERMAN_INSTRUCTION),
    _Rule(
        "instruction",
        signs("以后|今后|从现在|往后|始终|永远|一直|总是|每次|不要再|别再|叫我|称呼我|回答|回复|解释|表情|emoji"),
        wording(
            anywhere="""
            (?:回答|回复|解释)(?:我)?(?:的?时候?)?[,，]?(?:请|要|尽量|麻烦|可以|能不能)(?:尽量|再|更)?(?:简短|简洁|简单|短|精简)
            请(?:尽量|再|更)?(?:简短|简洁|简单)地?(?:回答|回复|解释)|(?:回答|回复)(?:得)?(?:简短|简洁|短)(?:一?点|一些)
            (?:不要|别|少)(?:使?用|加|发)(?:太多|那么多)?(?:表情|emoji)|请(?:只|都)?用.{1,4}(?:回答|回复)
            (?:以后|今后|从现在(?:开始|起)|往后).{0,20}(?:都|请|要|用|不要|别)
            请?(?:始终|永远|一直|总是)(?:用|以|给|把|要|先|不要)
            请(?:始终|永远|一直|总是).{1,8}(?:回答|回复|解释|称呼|说|写)
            (?:请|务必).{0,4}每次都|(?:不要|别)再|(?:叫|称呼)我
            """
        ),
    ),
    _Rule("instruction", *romance.INSTRUCTION),
    _Rule(
        "instruction",
        signs(
            """いつも|必ず|常に|毎回|これから|今後|二度と|呼んで|文字|敬語|もう|短|簡潔|語で|口で|항상|언제나|매번|앞으로|절대|다시는
            |불러|부터|이모|짧게|간단|간결"""
        ),
        wording(
            anywhere=r"""
            (?:これから|今後).{0,20}(?:ください|下さい|答えて|書いて|使って|ないで|お願い)
            (?:絵文字|顔文字|敬語).{0,4}(?:使わないで|やめて)|もう.{0,12}(?:使わ|勧め|言わ|送ら)ないで
            (?:短く|短めに|簡潔に|(?:英|本|国)語で|敬語で|タメ口で)(?:答えて|返事して|話して|返して|回答して|お願い)
            (?:いつも|必ず|常に|毎回).{0,30}(?:ください|下さい|答えて|書いて|使って)
            二度と.{0,20}ないで|(?:と|って)呼んで
            (?:답변은|대답은|답은)?\s?(?:짧게|간단히|간단하게|간결하게)\s?(?:대답|답변|답)\s?(?:해|부탁)\s?(?:줘|주세요|주시|드)
            (?:앞으로|(?:이제|지금)부터).{0,25}(?:줘|주세요|하세요|말아|마세요|부탁|해[.!]|해$)|이모(?:티콘|지).{0,6}(?:지|하지)\s?(?:마|말)
            (?:항상|언제나|매번).{0,30}(?:줘|주세요|하세요|대답해|답해)
            (?:절대|다시는).{0,25}(?:마세요|말아|하지 마)|라고 불러
            """
        ),
    ),
    _Rule("instruction", *six_languages.INSTRUCTION),
)
_PREFERENCES: Final = (
    _Rule("preference", *germanic.ENGLISH_PREFERENCE),
    _Rule("preference", *germanic.GERMAN_PREFERENCE),
    _Rule(
        "preference",
        signs("过敏|不耐|素食|忌口|吃素|糖尿病|喜欢|偏好|偏爱|讨厌|爱吃|吃不了|不吃|不喝|受不了"),
        wording(
            anywhere="""
            过敏|不耐|素食|忌口|吃素|我(?:有|患)糖尿病
            我(?:比较|最|更|很|特别|不|也)?(?:喜欢|偏好|偏爱|讨厌|爱吃|吃不了|不吃|不喝|受不了)
            """
        ),
    ),
    _Rule("preference", *romance.PREFERENCE),
    _Rule("preference", *six_languages.PREFERENCE),
    _Rule(
        "preference",
        signs(
            """アレルギー|ベジタリアン|糖尿病|好き|嫌い|苦手|食べられ|飲めな|飲めま
            |食べま|飲みま|ーガン|알레르기|알러지|채식|당뇨|불내증|좋아|싫어|못 먹|안 먹|못 마|안 마"""
        ),
        wording(
            anywhere=r"""
            アレルギー(?:が|な|で|持)|ベジタリアン(?:です|だ|なので)|糖尿病(?:です|な)
            (?:私|僕|俺)(?:は|も).{0,15}(?:好き|嫌い|苦手)|[がは](?:大)?(?:好き|嫌い|苦手)(?:です|だ|なの|なん|で、|。|$)
            (?:食べられ|飲め)(?:ない|ません)|(?:食べ|飲み)ません(?!か|で)|(?:ヴィ|ビ)ーガン(?:です|だ|な)
            (?:알레르기|알러지)\s?(?:가|예|에|이|있)|채식(?:주의|을|해)|당뇨(?:가|병)|불내증
            (?:저는|나는|전|난) .{0,20}(?:좋아|싫어)|(?:못|안) (?:먹(?:어|습|고)|마셔|마십)
            (?:^|[.!] |\n)(?:[가-힣]*[^은는이가도\s] )?[가-힣]+[을를] (?:정말 |아주 )?(?:좋아해|싫어해)
            """
        ),
    ),
)
_FEELING: Final = (
    r"(?i:ok|okay|sure|fine|good|great|happy|sad|sorry|done|ready|back|here|there|not|so|glad|tired|sick|ill|busy|bored"
    r"|lost|confused|afraid|curious|interested|looking|going|trying|working|very|really|just|also|still|already|now|in"
    r"|on|at|out|off|up|home|well|all|better|feeling|thinking|wondering|grateful|thankful|excited|stuck|late|early|free"
    r"|available|hungry|cold|hot|alone|serious|kidding|joking|right|wrong|alright|awake|online|only|impressed|amazed)\b"
)
"""What somebody is who says how he does, and not who he is."""
_FACTS: Final = (
    _Rule(
        "fact",
        signs("i'm|i am|i’m"),
        # "\bI", which is found more quickly when it begins with the letter.
        regex(rf"I(?<!\wI)(?:['’]m| am) (?!{_FEELING})[A-Z][a-z]+(?: [A-Z][a-z]+)?(?:[,.!(]| and\b| from\b|$)"),
    ),
    _Rule(
        "fact",
        signs("this is|it's me|it’s me"),
        regex(r"\b(?:[Hh]i|[Hh]ello|[Hh]ey|HI)\b(?: there)?\W+(?:[Tt]his is|[Ii]t['’]s me,?) [A-Z][a-z]+"),
    ),
    _Rule(
        "fact",
        signs(
            """my name|my full name|i'm a|i'm 1|i'm 2|i'm 3|i'm 4|i'm 5|i'm 6|i'm 7|i'm 8|i'm 9|i am|i’m|live|moved
            |i have|i work|i now|now work|just work|ly work|still work|i study|ly study|i teach|i own|was born|grew up
            |have no |t have a|own a|address is|address's|address’s|bought|signed|turned"""
        ),
        wording(
            rf"""
            {germanic.OWN_HOME}
            my (?:full )?name(?:'s| is)
            I(?:'m| am) an? (?!(?:bit|little|lot|couple|few)\b)(?:\w+[\s-]){{0,3}}\w+
            I(?:'m| am) \d{{1,2}}\b(?![.,]\d|\s*(?:%|percent|min|hour|day|week|month))
            I (?:(?:now|just|recently|currently|still) )?(?:live|moved|work|teach) (?:in|to|at|as|for|from|with|on|an?)
            I (?:(?:now|just|recently|currently|still) )?(?:own|study|was born|grew up) \w+
            I have (?:\w+ ){{0,2}}(?:children|kids|siblings|brothers|sisters|sons|daughters)
            (?:I|we) (?:have no|(?:don't|do not) (?:have|own) an?) (?:car|(?:driving )?licen[cs]e|oven|freezer|balcony)
            I(?:'ve| have)? (?:(?:now|just) )?moved|we (?:live|moved)|I(?:'ve| have)? (?:just )?turned \d\d
            """
        ),
    ),
    _Rule(
        "fact",
        signs(
            """my wife|my husband|my partner|my girl|my boy|my son|my daughter|my kid|my child|my mo|my mum|my fa
            |my dad|my parent|my sister|my brother|my dog|my cat|my job|my home|my phone|my email|my boss"""
        ),
        wording(
            """
            my (?:wife|husband|partner|girlfriend|boyfriend|son|daughter|kids?|children|mother|father|mum|mom|dad)
            my (?:parents|sister|brother|dog|cat|job|home|hometown|phone|email|boss)
            """
        ),
    ),
    _Rule(
        "fact",
        signs("heisse|mein|ich bin|bin ich|wir sind|sind wir|ich habe|wohne|lebe|arbeite|studiere|ich komme"),
        wording(
            r"""
            ich hei(?:ß|ss)e|mein name
            ich bin (?:\d{1,2}\b|(?-i:[A-ZÄÖÜ]\w+))
            ich (?:wohne|lebe|arbeite|studiere)|(?:wohne|lebe|arbeite|studiere) ich
            ich komme aus (?-i:[A-ZÄÖÜ]\w+)
            (?:ich bin|bin ich|wir sind|sind wir)\b.{0,60}\b(?:gezogen|umgezogen)
            ich habe (?:\w+ ){0,2}(?:kind|kinder|geschwister|brüder|schwestern|söhne|töchter)
            mein(?:e|em|en|er)? (?:frau|mann|partner\w*|freundin|freund|sohn|tochter|kinder|mutter|vater|eltern)
            mein(?:e|em|en|er)? (?:schwester|bruder|hund|katze|job|chefin?|e-?mail)
            """
        ),
    ),
    _Rule(
        "fact",
        signs("我"),
        wording(
            anywhere=r"""
            我(?:叫|姓|的名字|今年[\d一二三四五六七八九十]|住在?|家住|来自)|我.{0,8}搬(?:到|去|家)
            我(?:在.{1,12}(?:工作|上班|上学|读书)|在.{1,6}住(?![了过院])|是(?:一名|一个|个|做|在))
            我是[^，。]{0,12}(?:师|员|士|医生|会计|经理|司机|老板|教授|学生|工人)(?=[，。,.!！]|$)
            我有.{1,3}个?(?:孩子|儿子|女儿|兄弟|姐妹)
            我(?:的)?(?:老婆|妻子|老公|丈夫|爱人|女朋友|男朋友|儿子|女儿|孩子|妈妈?|爸爸?|母亲|父亲)
            我(?:的)?(?:姐姐?|妹妹?|哥哥?|弟弟?|狗|猫)
            """
        ),
    ),
    _Rule("fact", *romance.FACT),
    _Rule("fact", *six_languages.FACT),
    _Rule("fact", signs(trades.BEGUN_SIGNS), wording(trades.BEGUN, anywhere=trades.BEGUN_ANYWHERE)),
    _Rule("fact", signs(births.SIGNS), wording(births.TOLD, anywhere=births.TOLD_ANYWHERE)),
    _Rule("fact", signs(spoken_selves.NAME_SIGNS), wording(spoken_selves.NAME, anywhere=spoken_selves.NAME_IN_SIGNS)),
    _Rule("fact", signs(spoken_selves.AGE_SIGNS), wording(spoken_selves.AGE, anywhere=spoken_selves.AGE_IN_SIGNS)),
    _Rule(
        "fact",
        signs(
            """名前|申し|言います|住んで|働いて|勤め|飼って|結婚して|妻|夫|母|父|息子|娘|姉|妹|兄|弟|犬|猫|私|僕|俺|うちの
            |歳|才|出身|越し|をして|で、|誕生日|です|暮らし|이름|라고|살|일해|일하|제 |내 |우리 |저는|나는|전|난
            |이사|있어|키우|키워|아내|남편|엄마|아빠"""
        ),
        wording(
            anywhere=r"""
            (?:私|僕|俺)の名前|と(?:申し|言い)ます|に住んで|で働いて|に勤めて|を.{0,6}飼って|結婚して(?:い|る|ます)
            (?:^|[。、！\n])(?:妻|夫|母|父|息子|娘|姉|妹|兄|弟|犬|猫)(?:の(?:名前|誕生日|年齢|仕事))?は
            (?:私|僕|俺)は.{0,12}(?:師|員|者|家|士|医|職|学生|エンジニア|デザイナー|歳|才|出身)(?:です|だ[。\n]|で、)
            (?:私|僕|俺|うち)の(?:妻|夫|母|父|息子|娘|姉|妹|兄|弟|犬|猫)|に引っ?越し(?:ました|た(?![いら]))
            (?:^|[。、！\n])(?:今年)?\d{1,2}(?:歳|才)(?:です|で、|になりました)|出身(?:は|です)|(?:師|士|員)をして(?:い|お)
            (?:^|[。、！\n])[^。、！\nはがも]{0,10}(?:エンジニア|デザイナー|学生|主婦|会社員|公務員|看護師|教師|医師)(?:です|で、)
            (?:こんにちは|はじめまして|初めまして)[！。、\s]+[ァ-ヺー]{2,8}です|(?:私|僕|俺)は[ァ-ヺー]{2,8}と|として働いて|で.{0,4}暮らし
            (?:娘|息子|子供|子ども|姉|妹|兄|弟|犬|猫)が.{0,3}(?:い|おり)ます(?!か)
            (?:저는|나는|전|난) (?:올해 )?(?:\d{1,2}|[가-힣]{1,5})\s?살(?:이|입|인)|로 일(?:해|하고|합)
            (?:저는|나는|전|난) (?:[가-힣]+ ){0,3}[가-힣]{1,6}[사원자관생](?:예요|이에요|입니다|이고)
            로 이사\s?(?:했|왔|갔)
            (?:아들|딸|아이)[이가]? .{1,5} 있어요
            (?:강아지|고양이)를 .{0,6}키(?:우|워)|(?:^|[.!] |\n)(?:아내|남편|엄마|아빠|아들|딸|여동생|남동생)[은는]\s
            안녕하세요[!,. ]+(?:저는|전|나는) [가-힣]{2,5}(?:예요|이에요|입니다)
            (?:제|내) 이름은|(?:이)?라고 (?:합니다|해요)|에서? 살(?:아|고)|에서 .{0,8}일(?:해|하)
            (?:제|우리|내) (?:아내|남편|엄마|아빠|어머니|아버지|아들|딸|언니|누나|형|오빠|동생|강아지|고양이)
            """
        ),
    ),
)

_BARE: Final = 160
"""How many characters a question that tells nothing has at most."""

_HAN: Final = regex("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
_LEADS_IN: Final = regex(
    r"""
    (?: [\W\d_]+ | [^\W\d_]+[\d\s]*[:：]
        | (?: and|but|so|also|well|ok|okay|cool|great|thanks|hey|hi|hello|please|sorry|wait|again )\b
        | (?: tell\s+me|remind\s+me|und|bitte|hallo|sag\s+mir )\b
        | 请问|请|告诉我|提醒我|你好|您好|那么?|好的?|对了|嗯|还有|麻烦|第\d+天
    )*
    """,
    re.I | re.X,
)
"""What may stand before a question: "Day 12: and\u2026", "Please tell me\u2026"."""

_FIRST_WORDS: Final = regex(r"[^\W\d_]+(?: [^\W\d_]+){0,2}")
_BEFORE_IT: Final = frozenset(
    "in at for to with o a à al de di da do en em con com por per pour para sobre sur su avec dans chez".split()
)
"""What may stand before the question word: "In which…", "Sobre o que…"."""

_QUESTION_WORDS: Final = frozenset(
    """what whats when where which who whom whose why how can could do does did is are am was were will would should
    shall may have has had
    was wann wo wohin woher wofür wogegen womit woran worauf worüber wovon wozu wer wen wem wessen warum wieso weshalb
    wie wieviel welche welcher welches welchen kann kannst könntest können darf soll sollte ist sind bin war hast habe
    hat haben weißt weisst erinnerst
    qué quién quiénes dónde cuándo cómo cuál cuáles cuánto cuánta cuántos cuántas
    que qui quoi quel quelle quels quelles quand où comment pourquoi combien est qu
    che chi cosa dove quale quali qual quanto quanta quanti quante perché
    quem onde quando como quanto quantos quantas""".split()
) | {f"come {word}" for word in "mi ti si ci è sta va faccio posso devo".split()}
_RULES: Final = (*_INSTRUCTIONS, *_PREFERENCES, *_FACTS)
_SIGNS: Final = Signs(each.signs for each in _RULES)
_CLAUSE_END: Final = regex(r"[，,。；;！!]|\.\s")
_READ: Final = 1200
"""How many characters are read: what holds from then on is said early, or in few words."""


def asks(text: str) -> bool:
    """Whether the text ends as a question."""
    return text.rstrip(_CLOSERS).endswith(_QUESTION_MARKS) or six_languages.asks_in_thai(text)


def only_asks(text: str) -> bool:
    """Whether the text is a question and tells nothing: short, it begins as one, and ends as one."""
    stripped = text.strip()
    if not asks(stripped) or len(stripped) > _BARE:
        return False
    if stripped.startswith("¿"):
        return True
    question = stripped[_lead(stripped) :]
    if _HAN.search(question):
        return _CLAUSE_END.search(question) is None
    found = _FIRST_WORDS.match(question)
    words = found[0].casefold().split() if found else []
    later = next((word for word in words if word not in _BEFORE_IT), "")
    if not _QUESTION_WORDS.isdisjoint((*words[:1], later, " ".join(words[:2]))):
        return True
    return _CLAUSE_END.search(question) is None and six_languages.has_asking_word(question)


def _lead(text: str) -> int:
    """Where what leads in to a question ends."""
    found = _LEADS_IN.match(text)
    return found.end() if found else 0


def stands(text: str) -> Standing:
    """What the words of a user say that holds from then on."""
    read = without_hesitations(text[:_READ])
    folded = read.casefold()
    signed = sorted(_SIGNS.found_in(folded))
    if signed and only_asks(text):
        # A question about oneself tells nothing, but one may well ask for something to be done always.
        signed = [place for place in signed if place < len(_INSTRUCTIONS)]
    found = [_RULES[place] for place in signed if _RULES[place].wording.search(read)]
    said = meant(read) if found else ""
    return next((each.kind for each in found if _is_said(each, said)), "")


def _is_said(rule: _Rule, text: str) -> bool:
    """Whether the rule finds anything that the text tells, and does not ask for; an order is an instruction."""
    found = rule.wording.finditer(text)
    return any(rule.kind == "instruction" or is_told(text, *each.span()) for each in found)
