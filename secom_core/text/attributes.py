"""What a user asks of himself that he has told in other words: "What is my name?" after "I'm Katrin".

Questions and statements of a name, an age, a birthday, a home, a job and what somebody does not eat, in English,
German, Spanish, French, Italian, Portuguese, Chinese, Japanese and Korean; all but ages and birthdays in Russian,
Polish, Turkish, Arabic, Hindi and Thai too.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

from . import births, spoken_selves, trades
from .germanic import OWN_HOME
from .hesitations import without_hesitations
from .material import meant
from .six_languages import ASKED, TOLD
from .wording import Signed, wording

Attribute = Literal["name", "age", "birthday", "home", "job", "diet"]
ATTRIBUTES: Final[tuple[Attribute, ...]] = get_args(Attribute)

_LONGEST: Final = 120
"""How many characters a question about oneself has at most."""

_LEAD: Final = (
    r"^\W*(?:(?:and|so|ok|okay|hi|hello|hey|please|by the way|btw|wait|und|bitte|hallo|y|et|e|sag mal|dis-moi|dime"
    r"|dimmi|ciao|olá|oi|oh|like|well|yeah|also|ja|na|naja|du|pues|bueno|oye|a ver|alors|bon|dis|allora|então|bom"
    r"|[^\W\d_]+ \d+)\b\W*)*(?:(?:can|could) you (?:please )?)?"
    r"(?:(?:tell|remind) me(?: again)?,? |do (?:you|u) (?:still |even )?(?:know|remember|recall),? "
    r"|(?:weißt|weisst) du (?:noch)?,? ?|(?:sabes|recuerdas|te acuerdas de) "
    r"|(?:tu )?(?:sais|te souviens)(?:-tu)? (?:de |comment )?"
    r"|(?:ti )?(?:ricordi|sai)(?: ancora)? |(?:você )?(?:lembra|sabe|se lembra)(?: d[eo])? )?"
)
_TAIL: Final = (
    r"(?:\W+(?:again|please|now|then|still|currently|right now|at the moment|today|by the way|though|anyway|actually"
    r"|btw|tho|lol|haha|plz|pls"
    r"|noch|noch mal|nochmal|eigentlich|denn|jetzt|gerade|bitte|doch gleich|ahora|actualmente|por favor|déjà|maintenant"
    r"|adesso|ora|attualmente|agora|hoje|atualmente"
    r"|actuellement|s'il te plaît|is|are))*\W*$"
)


def _question(attribute: str, latin: str, eastern: str) -> str:
    alternatives = "|".join(line.strip() for line in latin.strip().splitlines())
    others = "|".join(line.strip() for line in eastern.strip().splitlines())
    found = rf"{_LEAD}(?:{alternatives}){_TAIL}|^[^。]{{0,12}}(?:{others})[^。]{{0,12}}$"
    if asked := "|".join(line.strip() for line in ASKED.get(attribute, "").strip().splitlines()):
        found += rf"|^[^.!?؟।,]{{0,20}}(?<!\w)(?:{asked})[^.!?؟।,]{{0,16}}[?؟]?$"
    return found.replace(" ", r"\s+").replace("'", "['’]")


_ASKED_WITH: Final = {
    "name": (
        "name|nombre|appelle|llamo| nom|prénom|chiamo|chamo|heiß|heiss| call|nome|叫|名|姓|이름|зовут|имя|imię"
        "|nazywam|adım|ismim|اسمي|नाम|ชื่อ"
    ),
    "age": " old |age| alt |alter|años|edad|anni|età|anos|idade|âge|多大|几岁|多少岁|何歳|いくつ|몇|나이",
    "birthday": (
        "birth|bday| born|geburt|geboren|cumpl| nac|anniv| né|naissance|compleanno|nato|nata|nascita|anni|aniver"
        "|anos|nasc|生|생일|태어"
    ),
    "home": (
        " liv| home| move|wohn|leb|aqu|vivo|habit| vis|abit| moro|住|家|살|사|집|жив|mieszkam|yaşıyor|oturuyor"
        "|أسكن|أعيش|اسكن|اعيش|रहत|อยู่|อาศัย"
    ),
    "job": (
        " work|living| job|profes|occupation|employer|arbeit|beruf|trabajo|dedico|travail|dans la vie|métier"
        "|boulot|lavor|mestiere|nella vita|occupo|trabalh|emprego|profiss|vida|工作|上班|做什么|职业|仕事|職業|働"
        "|직업|일|работаю|pracuję|zawodu|çalışıyorum|iş yap|mesleğim|أعمل|اعمل|وظيفتي|عملي|مهنتي|काम|ทำงาน"
    ),
    "diet": (
        "allerg|alerg|alérg|eat|vegan|vegetari|veganer|lactose|celiac|celíac|coeliac|diabet| diet|food|avoid|evitar"
        "|éviter|esse|nicht|comer|mang|过敏|吃|忌口|アレルギー|食べ|알레르기|먹|аллерги|нельзя|uczulon|jeść"
        "|alerji|yeme|yiye|durmal|حساسية|آكل|एलर्जी|खा|แพ้|กิน"
    ),
}
"""The signs of each rule (`secom_core.text.wording.Signed`): it is compiled where one stands."""
_ASKED: Final = {
    attribute: Signed(_question(attribute, latin, eastern), _ASKED_WITH[attribute])
    for attribute, (latin, eastern) in {
        "name": (
            r"""
            what(?:'s|s| is| was)? my (?:(?:first|last|full|own|real) |sur|nick)?name|my (?:first |last |full )?name
            what am i called|(?:what|how) do (?:you|people) call me|what should you call me
            wie (?:heiß|heiss)e? ich|wie ich (?:heiß|heiss)e?|(?:wie|was) ist mein (?:vor|nach)?name
            kennst du meinen namen|meinen namen
            (?:¿ ?)?c[óo]mo me llamo|(?:¿ ?)?cu[áa]l es mi nombre|mi nombre
            comment (?:est-ce que )?je m'appelle|(?:comment )?je m'appelle comment|je m'appelle
            quel est mon (?:pré)?nom|(?:c'est quoi )?mon (?:pré)?nom
            come mi chiamo|(?:qual è )?il mio (?:nome|cognome)|(?:qual é )?o? ?meu (?:sobre)?nome|como (?:eu )?me chamo
            """,
            r"""
            我叫(?:什么|啥)|我的名字(?:是|叫)?(?:什么|啥|吗)|(?:记得|知道)我的名字|我姓什么
            (?:私|僕|俺)の名前(?:は|を|が)?(?:何|なん|覚え|知って|わか|分か)|(?:私|僕|俺)の名前は?[?？]?$
            (?:내|제) 이름(?:이|은|을)? ?(?:뭐|무엇|기억|알|뭔)
            """,
        ),
        "age": (
            r"""
            how old am i|how old i am|what(?:'s|s| is) my age|my age
            wie alt bin ich|wie alt ich bin|mein alter|(?:¿ ?)?cu[áa]ntos años tengo|(?:¿ ?)?qu[ée] edad tengo|mi edad
            quanti anni ho|che età ho|(?:qual è )?la mia età|quantos anos (?:eu )?tenho|(?:qual é )?a? ?minha idade
            quel âge (?:est-ce que )?(?:ai-je|j'ai)|j'ai quel âge|quel est mon âge|mon âge
            """,
            r"""
            我(?:今年|现在)?(?:多大|几岁|多少岁)|(?:私|僕|俺)は?(?:今)?(?:何歳|いくつ)
            (?:나|내가|저|제가) ?(?:지금 )?몇 ?살|(?:내|제) 나이
            """,
        ),
        "birthday": (
            r"""
            (?:(?:when|what)(?:'s|s| is| was)? )?my (?:b(?:irth)?day|birth ?date|date of birth)|when i was born
            (?:when|what (?:day|date|year)|in (?:what|which) year|on (?:what|which) (?:day|date)) was i born(?: in| on)?
            wann (?:habe?|feiere?) ich geburtstag|wann ich geburtstag habe
            (?:(?:wann|was|wie) ist )?mein geburts(?:tag|datum)|wann (?:bin ich|wurde ich|ich) geboren(?: bin| wurde)?
            (?:¿ ?)?cu[áa]ndo (?:cumplo años|nac[íi])|(?:(?:¿ ?)?cu[áa]ndo es )?mi cumple(?:años)?
            (?:¿ ?)?cu[áa]l es mi fecha de nacimiento|(?:¿ ?)?en qu[ée] (?:año|fecha|día) nac[íi]
            (?:(?:c'est )?quand (?:est |c'est |tombe )?)?mon anniv(?:ersaire)?(?: c'est quand)?
            (?:quand|en quelle année) (?:est-ce que )?(?:je suis|suis-je) née?|je suis née? quand
            quelle est ma date de naissance
            quando (?:è il mio compleanno|compio gli anni|sono nat[oa])|(?:qual è )?la mia data di nascita
            in che anno sono nat[oa]|quando (?:é|faço) (?:o )?(?:meu aniversário|anos)|quando (?:eu )?nasci
            (?:qual é )?a? ?minha data de nascimento|em que ano (?:eu )?nasci
            """,
            r"""
            我(?:的)?生日(?:是|在)?(?:什么|哪|几|何)|我(?:是)?(?:什么时候|哪年|哪天|几月几号)(?:过生日|出生|生)|记得我的生日
            (?:私|僕|俺)の誕生日(?:は|を|が|って)?(?:いつ|何|覚え|知って)|(?:私|僕|俺)は?(?:いつ|何年に)生まれ
            (?:내|제) 생일(?:이|은|을)? ?(?:언제|며칠|기억|알)|(?:내가|제가|나는|저는) ?언제 태어
            """,
        ),
        "home": (
            r"""
            where (?:do|am) i (?:now |currently )?liv(?:e|ing)|where i (?:now |currently )?live
            where(?:'s| is) (?:my )?home
            (?:what|which) (?:city|town|village|country|place) (?:do|am) i (?:now |currently )?liv(?:e|ing)(?: in)?
            where (?:did|have) i (?:just )?moved?(?: to)?
            (?:how long|since when) (?:have|do) (?:i|we) (?:been )?(?:lived?|living) (?:here|in this (?:city|town|flat))
            (?:wie lange|seit wann) (?:wohne|lebe) ich (?:schon )?hier
            depuis (?:quand|combien de temps) (?:j'habite|je vis) ici
            cuánto (?:tiempo )?(?:llevo|hace que) (?:viviendo|vivo) aqu[íi]
            wo (?:wohne|lebe) ich|wo ich (?:jetzt )?(?:wohne|lebe)|in welche[mr] (?:stadt|ort|land) (?:wohne|lebe) ich
            (?:¿ ?)?d[óo]nde vivo|(?:¿ ?)?en qu[ée] (?:ciudad|país|pueblo) vivo
            où (?:est-ce que )?(?:j'habite|je vis|habité-je)|j'habite où
            dans quelle ville (?:est-ce que )?(?:j'habite|je vis)|je vis où
            dove (?:vivo|abito)|in (?:che|quale) (?:città|paese) (?:vivo|abito)
            onde (?:é que )?(?:eu )?(?:moro|vivo)|em que (?:cidade|país) (?:eu )?(?:moro|vivo)
            """,
            r"""
            我(?:现在)?住在?(?:哪|什么)|我家在哪|我?(?:在?这[里儿]|搬来)住了多(?:久|长时间)|(?:私|僕|俺)は?(?:今)?どこに住|^(?:今は?)?どこに住んで(?:い?る|い?た)?っけ
            (?:私|僕|俺)の家は?どこ|(?:(?:나|저)는?|내가|제가) ?(?:지금 )?어디에?서? ?(?:살|사)
            (?:내|우리|제) 집(?:이|은)? ?어디
            """,
        ),
        "job": (
            r"""
            what (?:do i|i) (?:currently )?do for (?:a living|work)
            where (?:do|am) i (?:now |currently )?work(?:ing)?
            where i (?:now |currently )?work|who(?:m)? do i work for
            (?:what|who)(?:'s|s| is) my (?:current )?(?:job|profession|occupation|employer)
            wo arbeite ich|wo ich arbeite|(?:als )?was arbeite ich
            (?:was|wie) ist mein (?:beruf|job)|was mache ich beruflich|bei wem arbeite ich
            (?:¿ ?)?d[óo]nde trabajo|(?:¿ ?)?(?:de|en) qu[ée] trabajo|(?:¿ ?)?a qu[ée] me dedico
            (?:¿ ?)?cu[áa]l es mi (?:trabajo|profesión)
            où (?:est-ce que )?je travaille|je travaille où|quel est mon (?:métier|travail|boulot)
            que fais-je dans la vie|qu'est-ce que je fais dans la vie|was bin ich von beruf
            je fais quoi (?:dans la vie|comme (?:métier|travail|boulot))
            c'est quoi mon (?:métier|travail|boulot)
            (?:dove|per chi|in che cosa) lavoro|che lavoro faccio|(?:qual è )?il mio (?:lavoro|mestiere)
            (?:che )?cosa faccio (?:nella vita|di lavoro|per lavoro)|di (?:che )?cosa mi occupo
            (?:onde|com o que|em que) (?:é que )?(?:eu )?trabalho|(?:qual é )?(?:o )?meu (?:trabalho|emprego)
            (?:qual é )?(?:a )?minha profissão|o que (?:eu )?faço (?:da|na) vida
            """,
            r"""
            我(?:现在)?在(?:哪|什么).{0,4}(?:工作|上班)|我是?做什么(?:工作)?的?|我的(?:工作|职业)是什么
            (?:私|僕|俺)の(?:仕事|職業)は(?:何|なん)|(?:私|僕|俺)は?どこで働
            (?:私|僕|俺)は?何の仕事を|(?:나|내|저|제) 직업|(?:(?:나|저)는?|내가|제가) (?:어디에?서|무슨) 일
            """,
        ),
        "diet": (
            r"""
            what(?:'m| am) i allergic to|what i(?:'m| am) allergic to|am i allergic to (?:anything|something)
            (?:do|did) i have (?:any )?(?:food |known )?allerg(?:y|ies)
            what(?:'re| are) my (?:food )?allergies|my (?:food )?allergies
            what (?:can't|cannot|can|don't|do|mustn't|shouldn't) i (?:not )?eat|what i (?:can't|cannot|don't) eat
            am i (?:an? )?(?:vegan|vegetarian|lactose intolerant|co?eliac|diabetic)
            what(?:'s| is| are) my (?:diet|dietary \w+)
            (?:what|which) foods? (?:should|must|do) i (?:have to |need to )?avoid
            what (?:should|must|do) i (?:have to |need to )?avoid eating
            (?:wogegen|gegen was) bin ich allergisch|wogegen ich allergisch bin
            was (?:darf|kann|esse) ich nicht(?: essen)?
            (?:habe ich|was sind meine|welche) allergien(?: habe ich)?
            bin ich (?:vegan|vegetarier(?:in)?|veganer(?:in)?)
            (?:¿ ?)?qu[ée] (?:alimentos )?(?:debo|tengo que|debería) evitar(?: comer)?|(?:¿ ?)?qu[ée] no debo comer
            (?:¿ ?)?(?:tengo|hay) (?:alguna alergia|algo que no (?:puedo|pueda) comer)
            (?:¿ ?)?soy (?:celíac|vegan|vegetarian)[oa]
            (?:¿ ?)?a qu[ée] soy alérgic[oa]|(?:¿ ?)?qu[ée] no puedo comer|(?:¿ ?)?qu[ée] alergias tengo
            à quoi (?:est-ce que )?(?:suis-je|je suis) allergique|je suis allergique à quoi
            qu'est-ce que je (?:ne )?(?:peux pas|dois (?:pas|éviter de)) manger
            quels aliments (?:dois-je|je dois) éviter
            (?:est-ce que )?(?:ai-je|j'ai) (?:des|quelles) allergies|(?:quelles sont )?mes allergies
            a (?:che )?cosa sono allergic[oa]|(?:che )?cosa (?:non posso|devo evitare(?: di)?) ?mangiare
            (?:che )?cosa devo evitare|(?:che )?allergie ho|ho (?:delle |qualche )?allergi[ae]|sono (?:celiac|vegan)[oa]
            a qu[eê] (?:eu )?sou alérgic[oa]|(?:eu )?sou alérgic[oa] a qu[eê]|(?:o )?que (?:eu )?não posso comer
            (?:o )?que (?:eu )?(?:preciso|devo|tenho que) evitar(?: comer)?|(?:eu )?tenho (?:alguma )?alergias?
            """,
            r"""
            我对(?:什么|哪些).{0,4}过敏|我不能吃(?:什么|哪些)|我有(?:什么|哪些)不能吃|我(?:有)?什么(?:忌口|过敏)|我吃素吗
            (?:私|僕|俺)(?:は|の)(?:何の)?アレルギー(?:は|が)?(?:何|なん|あ)|(?:私|僕|俺)が?食べ(?:られない|て(?:は|も)いけない|ちゃ(?:だめ|いけない))
            ^何の?アレルギー|(?:私|僕|俺)は何の?アレルギー|(?:내|제)?가? ?(?:무슨|어떤|뭐에|무엇에) 알레르기
            ^(?:(?:나|저)는?|내가|제가) (?:알레르기|못 먹는)
            """,
        ),
    }.items()
}

_NAME: Final = r"(?-i:[A-ZÄÖÜÉÁÑ]\w+)"
_SAID: Final = {
    "name": wording(
        rf"""
        I(?:'m| am) {_NAME}(?! (?-i:[a-z]+ing)\b)(?=[,.!(]| and\b| from\b|$|\s*$| (?-i:[A-Z]))
        my (?:full |first |last )?(?:name|surname)(?:'s| is)|(?:call|address) me {_NAME}|this is {_NAME}
        it's me,? {_NAME}
        ich hei(?:ß|ss)e|mein name ist|nenne? mich|ich bin {_NAME}(?=[,.!(]| und\b|$)
        me llamo|mi nombre es|llám[ae]me|je m'appelle|mon nom est|appelle[sz]?-moi
        soy {_NAME}(?=[,.!]| y\b|$)|moi,? c'est {_NAME}
        mi chiamo|il mio nome è|chiamami|meu nome é|me chamo|me chame|mi nombre
        {spoken_selves.NAME}
        {TOLD["name"][0]}
        """,
        anywhere=rf"""
        {TOLD["name"][1]}
        {spoken_selves.NAME_IN_SIGNS}
        我叫|我姓|我的名字|叫我|称呼我|(?:私|僕|俺)の名前|と(?:申し|言い|いい)ます|(?:と|って)呼んで
        (?:^|[。、！\n])(?:私は|僕は)?[ァ-ヺー]{{2,8}}です(?=[。、！\n]|$)
        (?:제|내) 이름은|라고 (?:합니다|해요|불러)
        (?:저는|나는|전|난) (?!처음|혼자|찬성|반대|진심|최고|채식)[가-힣]{{1,3}}[^사원자관생\s](?:예요|이에요|입니다)
        """,
    ),
    "age": wording(
        rf"""
        {spoken_selves.AGE}
        I(?:'m| am)(?: now| already)? \d{{1,2}}(?=[,.!]| years?| and\b| now\b|$)|I(?:'ve| have)? (?:just )?turned \d\d
        ich bin (?:jetzt |schon )?\d{{1,2}}|tengo \d+ años|j'ai \d+ ans
        ho \d+ anni|tenho \d+ anos
        """,
        anywhere=rf"""
        我(?:今年|现在)[\d一二三四五六七八九十]|\d岁|\d(?:歳|才)|(?:\d|[열물무른흔쉰순][가-힣]{{0,2}})\s?살|{spoken_selves.AGE_IN_SIGNS}
        """,
    ),
    "birthday": wording(births.TOLD, anywhere=births.TOLD_ANYWHERE),
    "home": wording(
        rf"""
        {OWN_HOME}
        {TOLD["home"][0]}
        (?:I|we)(?:'m| am|'re| are|'ve| have)? (?:\w+ )?(?:live|living|moved) (?:in|to|into|near|at)|we moved
        j'(?:habite {_NAME}|ai emménagé)|install(?:er|ée?s?) (?:à|en|au|dans)
        (?:wohnen?|leben?) (?:ich|wir)|(?:ich|wir) (?:wohnen?|leben?)|\w*gezogen|(?:vivo|vivimos) en
        (?:j'habite|je vis|nous habitons|on habite|on vit|nous vivons) (?:\w+ )?(?:à|en|au|dans)|déménagé
        (?:me|nos) (?:he |hemos )?(?:mudado|mudé|mudamos)|(?:mi sono|ci siamo) trasferit\w+
        (?:viviamo|abito|abitiamo) \w+
        vivo (?:\w+ )?(?:a|ad|em|no|na)|(?:moro|moramos|vivemos) (?:\w+ )?(?:em|no|na)|(?:me mudei|nos mudamos|se mudou)
        """,
        anywhere=rf"""
        {TOLD["home"][1]}
        我(?:现在)?(?:住|在.{{1,6}}住(?![了过院]))|家住|搬(?:到|去|家)|に住んで|で.{{0,4}}暮らし|に引っ?越し
        에서? 살(?:아|고|죠|던)|로 이사\s?(?:했|왔|갔)
        """,
    ),
    "job": wording(
        rf"""
        I(?:'m| am)? (?:(?:now|just|recently|currently|still) )?(?:work|working|teach) (?:at|as|for|in|with)|my job
        {trades.TRADES}
        {TOLD["job"][0]}
        {trades.BEGUN}
        I(?:'m| am) an? (?!(?:bit|little|lot|couple|few|big|huge|vegan|vegetarian|fan)\b)(?:\w+[\s-]){{0,3}}\w+
        (?:ich arbeite|arbeite ich)|mein (?:job|beruf)|ich bin (?-i:[A-ZÄÖÜ]\w+)(?: in| bei| an| auf| im| am)
        trabajo (?:en|de|como|para)|je travaille|lavoro (?:\w+ )?(?:in|come|da|per|presso)
        trabalho (?:\w+ )?(?:em|no|na|como|com|para|numa?)
        """,
        anywhere=TOLD["job"][1]
        + trades.BEGUN_ANYWHERE
        + r"""
        我在.{1,12}(?:工作|上班)|我是(?:一名|一个|个|做)|として働|で働いて|に勤めて
        (?:我|我叫[^，。]{1,6}[，,])是[^，。]{0,12}(?:师|员|士|医生|会计|经理|司机|老板|教授|学生|工人)(?=[，。,.!！]|$)
        (?:私|僕|俺)は.{0,12}(?:師|員|者|家|士|医|職)(?:です|だ)|(?:^|[。、！\n])[^。、！はが]{1,12}(?:師|員|士)(?:です|で、)
        (?:에서 .{0,8}|로 )일(?:해|하고|합)
        (?:저는|나는|전|난) (?:[가-힣]+ ){0,3}[가-힣]{1,5}[사원자관생](?:예요|이에요|입니다|이고)
        """,
    ),
    "diet": wording(
        TOLD["diet"][0]
        + r"""
        allerg\w*|intoleran\w*|vegan\w*|vegetari\w+|co?eliac|diabet\w+|I (?:can't|cannot|don't|do not) (?:eat|drink)
        I (?:no longer|never) (?:eat|drink)|I(?:'ve| have)? (?:gave up|given up|cut out|stopped eating|stopped drinking)
        I (?:haven't|have not) eaten|(?:hives|rash(?:es)?|itchy|swollen)(?: \w+)? from
        \w*allergi\w*|\w*unverträglich\w*|ich (?:esse|vertrage|trinke) kein\w*|alérgic\w*|alergia\w*
        intolérant\w*|végé?t\w+|végan\w*
        no (?:como|bebo|tomo|puedo (?:comer|tomar))|je ne (?:mange|bois) pas|je ne peux pas manger
        intollerant\w*|celiac[oa]|non (?:mangio|bevo|posso mangiare)|não (?:como|bebo|posso comer)
        """,
        anywhere=TOLD["diet"][1]
        + r"""
        过敏|不耐|素食|吃素|我不(?:吃|喝)|アレルギー|ベジタリアン|(?:食べられ|飲め)(?:ない|ません)|알레르기
        채식|(?:못|안) (?:먹|마[셔시])
        """,
    ),
}


def attribute_asked(query: str) -> Attribute | None:
    """What somebody asks of himself, and of nothing and nobody else."""
    if len(query) > _LONGEST:
        return None
    return next((each for each in ATTRIBUTES if _ASKED[each].search(query)), None)


def tells_attribute(text: str, attribute: Attribute) -> bool:
    """Whether a statement of the user may tell it of himself."""
    rule, text = _SAID[attribute], without_hesitations(text)
    return rule.search(text) is not None and rule.search(meant(text)) is not None
