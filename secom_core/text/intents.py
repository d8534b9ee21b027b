"""Questions about the conversation itself, and questions that cannot be read alone.

Rules for English, German, Chinese and Japanese; for questions about the conversation in Spanish, French, Italian,
Portuguese and Korean too.
Such a question shares no word with what answers it: "What did we talk about last time?" is answered by the last
session, whatever that was about.
"""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import Final, Literal

from .attributes import Attribute, attribute_asked
from .conversation_words import CONVERSATION_WORDS
from .follow_ups import leans_elsewhere
from .han import one_way
from .korean import without_talk
from .patterns import regex
from .people import FRENCH_HE
from .periods import without_periods
from .six_languages import asked_of_talk
from .terms import terms
from .wording import folded_case, is_signed, signs, wording

Subject = (
    Literal["", "first session", "last session", "session before last", "all sessions", "user", "days"] | Attribute
)
"""What of the conversation is asked about, such as what was said on the days that are named, or what of the user that
he has told in other words; empty where it is about something else."""

_LAST: Final = wording(
    r"""
    (?:what|where|how)\b.{0,40}\b(?:we|you and I)\b.{0,40}\b(?:last|previous(?:ly)?|stop(?:ped)?|left off|leave off)
    last thing (?:I|we|you)|(?:what|which) did (?:I|you) (?:say|tell (?:you|me)) last|what have I (?:told|said)
    remind me what we
    (?:last|previous|prior) (?:time|session|conversation|chat|discussion|talk|topic|thing we)
    (?:where|what) (?:were|was) we|where did (?:we|I) (?:stop|leave|get to|end)
    what (?:did|have|had) we (?:(?:just|been) )?(?:talk|discuss|cover|chat|speak)\w*
    (?:worüber|wovon|was)\b.{0,30}\bwir\b.{0,40}\b(?:gesprochen|geredet|besprochen|unterhalten|gemacht|dran)
    (?:wo|womit) (?:waren|sind) wir|stehen\s*geblieben
    (?:letzte|vorige)[mns]? (?:mal|sitzung|gespräch|unterhaltung|thema|chat)
    la última vez|de qué (?:hablamos|estábamos hablando)|dónde (?:nos quedamos|lo dejamos)|(?:en )?qué habíamos quedado
    última (?:conversación|charla|sesión)|dernière (?:conversation|discussion|session)|où (?:on )?en (?:étions|était)
    la dernière fois|de quoi (?:avons-nous|on a|avions-nous|on avait|a-t-on) parlé|on en était où
    (?:l'ultima|la scorsa) (?:volta|conversazione|chat)|ultima (?:conversazione|chat)|dove (?:eravamo|siamo) rimasti
    di (?:che )?cosa (?:abbiamo parlato|stavamo parlando)
    última (?:vez|conversa) que (?:falamos|conversamos)|[dn]a última vez|última conversa|onde (?:paramos|ficamos)
    (?:do|sobre o) que (?:falamos|conversamos|estávamos falando|a gente (?:falou|conversou))
    """,
    anywhere=r"""
    (?:前回|この前|この間).{0,12}(?:話|何|どこ|続き)|前の(?:会話|話)|どこまで(?:話|やり)
    지난 ?(?:대화|번 ?대화)|(?:지난번|저번)(?!\s?[주달]).{0,15}(?:이야기|얘기|무슨|뭐)|어디까지
    上(?:一)?次|上回|(?:聊|说|說|讲|講|谈|談|停在|进行|進行)到?哪
    之前.{0,6}(?:聊|谈|談|说|說)(?:了|过|過)?(?:些)?(?:什么|什麼)
    """,
    signed=(
        " last| prev| prior| stop| left| leave| have i t| have i s| remind me| were we| was we| where did| did we"
        "| had we| have we| hablando| gesprochen| geredet| besprochen| unterhalten| gemacht| dran| waren wir"
        "| sind wir| letzte| vorige|última| hablamos| quedamos| dejamos| quedado| dernière|étions|était| parlé"
        "| ultima| scorsa| rimasti| parla| paramos| ficamos| falamos| conversamos| falando| falou| conversou|前"
        "|間|まで|지난|저번|까지|上|哪|geblieben"
    ),
)
_BEFORE_LAST: Final = wording(
    r"""
    (?:time|session|conversation|chat) before (?:the )?last|last but one (?:time|session|conversation|chat)
    vorletzte[mnrs]? (?:mal|sitzung|gespräch|unterhaltung|chat)
    pen[uú]ltima (?:vez|conversación|sesión|charla|conversa|volta|conversazione|chat)
    avant-dernière (?:fois|conversation|discussion|session)
    """,
    anywhere="上上次|上上回|前々回|지지난번|저저번",
    signed=" before| last but| vorletzt| penúlt| penult| avant-derni|上上|前々|지지난|저저",
)
_FIRST: Final = wording(
    r"""
    first (?:time|session|conversation|chat|discussion|talk|topic|message|question|thing) (?:\w+ )?(?:we|I|you|of)
    (?:in|during|at|was|were) (?:our|my|your|the) (?:very )?first (?:session|conversation|chat|discussion|talk|topic)
    (?:was|were) (?:our|my|your) (?:very )?first (?:message|question|words)|(?:we|I|you) \w+ (?:about )?the first time
    (?:how|where|what) did (?:we|our \w+|this \w+) (?:start|begin)|what did (?:I|we|you) \w+ (?:\w+ )?first
    (?:aller)?erste[mnrs]? (?:mal|sitzung|gespräch|unterhaltung|thema|chat|nachricht|frage)
    (?:zuerst|zu(?:m)? beginn|(?:ganz )?am anfang)\b.{0,20}\b(?:gesprochen|geredet|besprochen|gesagt|erzählt|gefragt)
    primera (?:vez|conversación|sesión|charla|pregunta)
    première (?:fois|conversation|discussion|session|question)
    prima (?:volta|conversazione|chat|domanda)|primeira (?:vez|conversa|pergunta)
    """,
    anywhere=r"""
    (?:第一次|最开始|最開始|最初|一开始|一開始).{0,6}(?:聊|说|說|讲|講|谈|談|讨论|討論|对话|對話|问|問)
    (?:最初|はじめて|初めて|一番初め).{0,6}(?:話|言|相談|聞)
    처음(?:에|으로)?\s?.{0,8}(?:얘기|이야기|대화|말했|물어|물었)
    """,
    signed=" first| start| begin| anfang| zuerst| prim| premi|第一|最|一开始|一開始|初|はじめ|처음|erste",
)
_CONTINUE: Final = wording(
    anywhere=r"""
    ^\W*(?:(?:please|let's|can we|ok|okay),? )*(?:continue|go on|carry on|pick up|resume)\b.{0,40}$
    ^\W*(?:(?:bitte|lass uns|okay),? )*(?:mach\w* (?:wir )?weiter|weiter(?:machen)?|fahr\w* fort)\b.{0,40}$
    继续|接着(?:上|之前|说|聊)
    """,
    signed="continue|go on|carry on|pick up|resume|weiter|fort|继续|接着",
)
"""What goes on with the conversation that it is in, or with the last one where it begins one."""

_SAID: Final = (
    wording(
        r"""
    what (?:did|had|have) (?:I|we|you)\b.{0,40}\b(?:say|said|tell|told|talk\w*|speak|spoke|mention\w*|ask(?:ed)?)
    what (?:did|had|have) (?:I|we|you)\b.{0,40}\b(?:discuss\w*|chat\w*|cover\w*|wr[io]te)
    did (?:I|we|you) (?:\w+ ){0,2}(?:talk|discuss|speak|chat|say|mention)
    what (?:was|were) (?:I|we|you) (?:talking|saying|discussing|chatting|doing|up to)
    what (?:was|happened|came up|went on)|what (?:did|had|have) (?:I|we) (?:do|done|get up to|been doing|been up to)
    how (?:was|were|did) (?:my|our|the|last|this|yesterday|today|things?|it|I|we)
    (?:summari[sz]e|recap) (?:what|our|the|my)|what (?:was|were) (?:our|the|my) \w+ about
    """,
        signed=(
            "say|said| tell| told|talk|speak| spoke|mention| ask|discuss|chat| cover| write| wrote| what was"
            "| what were| happened| i do | we do | done| get up to| been| came up| went on| how was| how were"
            "| how did| summari| recap| doing| up to"
        ),
    ),
    wording(
        r"""
    (?:worüber|wovon|was)\b.{0,60}\b(?:gesprochen|geredet|besprochen|unterhalten|gesagt|erzählt|geschrieben|gefragt)
    was hab\w* (?:ich|wir)\b.{0,60}\b(?:gemacht|getan|erlebt)|wie (?:war|waren|lief|liefen)
    was (?:war|ist)\b|fass\w* .{0,60}\bzusammen
    """,
        signed=(
            "gesprochen| geredet| besprochen| unterhalten| gesagt| erzählt| geschrieben| gefragt| was hab| wie war"
            "| wie lief| was war| was ist| fass"
        ),
    ),
    wording(
        r"""
    (?:de|sobre) qué (?:hablamos|charlamos|hablábamos|hablé|estuvimos)|qué (?:te )?(?:dije|dijiste|conté|comenté|pasó)
    qué (?:te )?(?:comentamos|hablamos|discutimos|pregunté|pedí)|resum[ei]\w*|résume[sz]?|riassumi|resum[ae]
    qué (?:hice|hicimos)|cómo (?:fue|estuvo|estuvieron|me fue|nos fue|la pasé|lo pasé)|comment (?:était|s'est passé)\w*
    de quoi (?:avons-nous|avions-nous|on|a-t-on|avait-on|nous avons|ai-je|est-ce qu'on|parlions|discutions|parlait-on)
    qu'(?:ai-je|avons-nous|est-ce que|est-ce qu'on|est-il)|(?:on a|on avait|nous avons|j'ai) \w+ (?:de )?quoi
    on (?:parlait|discutait) de quoi|que s'est-il passé|que (?:t'ai-je|m'as-tu) \w+
    di (?:che )?cosa (?:abbiamo|avevamo|parlavamo|discutevamo|stavamo|si parlava)|com'è andat[oa]|com'era
    (?:che )?cosa (?:ti |mi |ci )?(?:ho|hai|abbiamo|avevo|avevamo|è) (?:detto|raccontato|chiesto|scritto|fatto|successo)
    (?:do|sobre o|o) que (?:eu |você |nós |a gente )?(?:te |me )?(?:fal(?:amos|ei|ou|ávamos)|convers(?:amos|ou|ávamos))
    o que (?:eu |você |nós |a gente )?(?:te |me )?(?:disse|contei|perguntei|pedi|comentei|discutimos|fizemos|fiz)
    o que aconteceu|como foi
    """,
        signed=(
            "hablamos| charlamos| hablábamos| hablé| estuvimos| dije| conté| comenté| pasó| comentamos| discutimos"
            "| pregunté| pedí| pedi | dijiste| resum| résum| riassumi| hice| hicimos| cómo fue| cómo est| cómo me"
            "| cómo nos| cómo la| cómo lo| comment | de quoi| qu'| quoi| que s'est| que t'| que m'| di cosa| di che"
            "| com'è| com'era| cosa | falamos| falei| falou| falávamos| conversamos| conversou| conversávamos| disse"
            "| contei| perguntei| comentei| fizemos| fiz| aconteceu| como foi| parlait| discutait"
        ),
    ),
    wording(
        anywhere=r"""
    (?:聊|说|說|讲|講|谈|談|讨论|討論)(?:了|过|過|到)?(?:些|的(?:都?是)?)?(?:什么|什麼|哪些|啥)|(?:发|發)生了?(?:什么|什麼)
    做(?:了|过|過)(?:些|的)?(?:什么|什麼|哪些|啥)|(?:过|過)得(?:怎么样|怎麼樣|如何|好吗)|何を(?:し|やっ|やり)|どう(?:でし|だっ)た
    (?:何|なに|なん)(?:を|について|のこと|の|て|と)?.{0,4}(?:話|言|相談|聞)|(?:どんな|どういう)話|何があ
    話(?:題|の?内容)?は?、?(?:何|なん)|(?:話した|話してい?た|相談した|聞いた)(?:こと|内容)(?:は|を|$)
    (?:무슨|어떤|무엇|무얼|뭐|뭘|뭔).{0,12}(?:얘기|이야기|말|대화|질문|논의|했|하셨|나눴|나누|물었|물어|있었)
    (?:얘기|이야기|말|대화|질문|논의)(?:를|을)?\s?(?:나눈|한|하신|했던)\s?(?:거|것|게|건|내용).{0,6}(?:뭐|뭔|무엇|알려|요약)
    무슨 일|(?:대화|얘기|이야기)\s?내용|(?:얘기|이야기|대화)(?:한|나눈)?\s?(?:것|거|내용)?(?:를|을)?\s?(?:요약|정리)
    """,
        signed=(
            "聊|说|讲|谈|讨论|发生|做|过得|何|どう|なに|なん|話|聞|どんな|どういう|무슨|어떤|무엇|무얼|뭐|뭘|뭔|얘기"
            "|이야기|말|대화|질문|논의"
        ),
    ),
)
"""What was said, or happened; with a day it asks for what was said on that day, where it tells nothing else."""

_WHERE: Final = wording(
    r"""
    where (?:was|were|did|have|had) (?:I|we)\b(?: (?:been|go|spend|travel|stay)\b)?|wo (?:war|waren) (?:ich|wir)
    dónde (?:estuve|estuvimos|estaba|fui|fuimos)|où (?:étais-je|étions-nous|suis-je allée?|sommes-nous allée?s)
    """,
    anywhere="我们?(?:去了|在)(?:哪里|哪儿|什么地方)|どこ(?:に|へ)(?:行|い)\\w+",
    signed=" where| wo | dónde| où |去了|在|どこ",
)
_DAY_SIGNS: Final = signs(
    "ieri|ontem|oggi|hoje|settiman|giorn|scors|passad|mês|há |em |ad |da |lunedì|"
    "0|1|2|3|4|5|6|7|8|9|day|week|month|year|ago|night|morning|in |since|during|last|gestern|heute|tag|mittwoch|woche"
    "|monat|jahr|im |seit|ayer|hoy|semana|mes|año|el |en |desde|hier|jourd|semaine|mois|anné|an |dernier|depuis"
    "|my |our |mi |mon |mein|unser|early|mid|end|anfang|mitte|mediados|principios|finales|fin |début|christmas|noël"
    "|between|from |over |at |zwischen|von |vom |letzte|vor |am |entre|de |del |du |d'|d’|hace|il y a|l'|l’|ce |le "
    "|今|昨|前|上|本|周|月|日|年|先|曜|おと|きのう|ゆうべ|过去|最近|近|ここ|春|夏|秋|冬|末|週|星期|礼|禮|この"
    "|easter|oster|pâques|pascua|santa|silvester|neujahr|nochevieja|nouvel|sylvestre|kw |quart"
    "|复活|イースター|正月|元旦|before last|vorletzt|antepasado|penúltim|schalttag|bisiesto|bissextile"
    "|월|일|주|달|년|해|전|어제|어젯밤|간밤|오늘|그제|저께|엊그제|최근|봄|여름|가을|겨울"
)
_NAMES: Final = regex("[ァ-ヺー]{2}|[가-힣]")
"""What the words below do not tell from those of a conversation."""

_USER: Final = wording(
    r"""
    what (?:do|can|did) you (?:(?:already|actually|still) )?(?:know|remember|recall|tell|learn)\b.{0,20} (?:me|myself)
    what(?: have|'ve| did) (?:you|I) (?:learn\w*|told?|remember\w*|tell) (?:you )?about (?:me|myself)
    (?:what|everything|all) you (?:know|remember) (?:about|of) me|do you (?:know|remember) me
    who (?:am I|I am)|describe me|tell me (?:something )?about (?:me|myself)|(?:summari[sz]e )?my profile
    was (?:weißt|weisst|kannst|hast) du\b.{0,30}\b(?:über|von) mi(?:ch|r)|was habe ich dir über mich
    wer bin ich|wer ich bin|(?:kennst|erinnerst) du (?:dich an )?mich|beschreibe? mich
    (?:alles|(?:et)?was)\b.{0,20}\büber mich
    (?:qué|lo que) (?:sabes|recuerdas|has aprendido) (?:de|sobre|acerca de) mí|quién soy|háblame de mí|descr[ií]beme
    me conoces|qui suis-je|je suis qui|décris-moi|parle-moi de moi|que retiens-tu (?:de|sur) moi
    (?:que (?:sais|te rappelles)-tu|de quoi te souviens-tu|ce que tu sais) (?:(?:de|sur|à propos de) moi|à mon sujet)
    qu'est-ce que tu sais (?:de|sur) moi
    (?:che )?cosa (?:sai|ricordi|ti ricordi) (?:di|su(?: di)?) me|chi sono io|quem (?:sou eu|eu sou)
    o que (?:você )?(?:sabe|lembra) (?:de|sobre) mim|tu (?:sais|te souviens de) quoi (?:de|sur) moi
    """,
    anywhere=r"""
    (?:私|僕|俺)(?:のこと|について).{0,10}(?:何|知って|覚えて)|(?:私|僕|俺)は誰|(?:나|저)에 대해|(?:내가|제가) 누구
    (?:私|僕|俺)(?:のこと|の情報|について)を?教えて|(?:私|僕|俺)(?:って|は)どんな人
    (?:내가|제가) 어떤 사람|(?:날|나를|저를) 기억|我是(?:个|一个)?(?:什么|怎么?)样的人
    我是谁|关于我.{0,6}(?:知道|了解|记得)|(?:介绍|描述)(?:一下)?我(?:自己)?|对我.{0,4}(?:了解|知道|记得)
    (?:你|您).{0,4}(?:了解|知道|记得|认识).{0,8}(?:关于)?我(?:什么|多少|哪些|的(?:什么|哪些|情况|信息|事)|吗|[?？]|$)
    """,
    signed=(
        " know| remember| recall| tell| learn| about m| who am| who i am| describe me| my profile| kannst du"
        "| hast du| weißt du| suis qui|über mi| wer bin| wer ich| kennst| erinnerst| beschreib| sabes| recuerdas"
        "| aprendido| quién soy| háblame| me conoces| qui suis| décris-moi| parle-moi| retiens| sais| rappelles"
        "| souviens| cosa sai| ricordi| chi sono| quem| sabe| lembra|私|僕|俺|나|내|제|저|날|我|beme"
    ),
)
_LONGEST: Final = 160
"""How many characters a question about the conversation has at most."""

_CONVERSATION_HAN: Final = frozenset(
    one_way(
        "上一次回我们咱你您聊说讲谈讨论话题对天会内容到哪里儿了些什么啥的是关于继续接着之前停在进行吧呢吗总结下请还记得那"
        "知道解谁认识做过得怎样多少情况信息资讯事介绍描述自己有过发生第最初始开问"
        "人報前私僕俺何話誰覚教今間度言相聞跟和与给都时候当早晚午朝夜君来着"
    )
)
"""Chinese characters of questions about a conversation."""

_OPENS: Final = wording(
    anywhere=r"""
    ^\W*(?:and|but|so|or|what about|how about)\b
    ^\W*(?:why|how come|which|when|where|who)\b\W*(?:\w+\W*){0,3}$
    ^\W*(?:und|aber|oder)\b|^\W*(?:y|et|e(?! coli\b)|pero|mais|mas|ma)(?= )
    \b(?:him|her|it|them|one|more|that|those|ihn|ihm|ihr)\W*$
    他|她|它|那|这|此|其(?!实|中)|另|前者|后者|再|更多|还有|呢[?？]?\s*$|来着
    ^[^。、はが\s]{1,6}は[?？]?$|^[가-힣]{1,4}[은는][?？]?$
    ^\W*(?:それ|あれ|これ|その|あの|そこ|あそこ|じゃあ|では|で、|ほか|もう(?:一つ|ひとつ|一方|一人|片方))
    (?<!の)彼女|彼(?![女岸方氏])|(?:それ|あれ|その|もう(?:一つ|ひとつ|一人))(?:は|が|を|の|って|も)|前者|後者|の方は[?？]?\s*$
    ^\W*(?:どうして|なぜ|なんで|いつ|どこ|誰|だれ|いくら|どれ|どっち|どちら)(?:で|に|へ|が|の)?(?:すか|です|でした|だった)?(?:か|の|っけ)?\W*$
    그녀|그 ?(?:사람|분)|(?:^|\s)[걔얘][는가한]
    ^\W*(?:그럼|그건|그거|그게|거기|그다음|그 다음|다른|또|왜|언제|어디|누구|얼마)
    ^\W*(?:为什么|为何|什么时候|哪里|哪儿|哪个|谁|多少钱?|几点|怎么(?:样|办|做)?|什么)\W*$
    """
)
_POINTS_BACK: Final = wording(
    rf"""
    {FRENCH_HE}
    he|she|it|they|him|her|his|hers|its|them|their|theirs|that|those|this|these|then|ones?(?! of\b)|others?|same
    latter|former|both|more|again|else|instead|there
    er|sie|es|ihn|ihm|ihr|ihre[nmrs]?|sein|seine[nmrs]?|ihnen|dies(?:e[nmrs]?)?|jene[nmrs]?|dort|da|dann
    das(?! (?:\w+ )?(?-i:[A-ZÄÖÜ]))|davon|dazu|darüber|damit|dafür|mehr
    noch\s*mal|andere[nmrs]?|beide[nmrs]?|dessen|deren
    (?-i:ellas?|ellos|él|ça|ese|es[ao]s?|otr[oa]s?|elles?|lui|eux|celles?|ceux|celui|[Ll]equel|[Ll]aquelle|ces|autres?)
    (?-i:lei|loro|quell[oaie]|quest[oaie](?! (?:settimana|mese|mattina|sera)\b))
    (?-i:altr[oaie]|elas?|eles?|isso|essas?|dess[ea]s?|del[ea]s?|nel[ea]s?|outr[oa]s?)
    """
)
_EXPLETIVE: Final = wording("(?:is|are|was|were) there|gibt es|(?:ist|war) es|y a-t-il|faut-il")
"""Words that look as if they pointed back."""

_NAMED: Final = regex(r"(?<=[\w,] )(?:[A-Z][a-z]+|(?:my|our)\s+\w+|(?:mein|unser)e?[nmrs]?\s+\w+)")
"""Somebody or something that a later "she" may be."""

_PAST: Final = wording(
    r"""
    used to|before|previous(?:ly)?|former(?:ly)?|original(?:ly)?|initial(?:ly)?|(?:at|the|my|our) first|earlier
    in the past|back then|prior
    früher\w*|vorher\w*|zuvor|ursprünglich\w*|zuerst|anfangs|damals|erste[nrsm]?|ehemalig\w*
    antes|anterior\w*|al principio|original\w*|solía\w*|primer[oa]?
    prima (?:vivevo|abitavo|lavoravo|facevo|ero|avevo)|\w+(?:avo|evo|ivo|ava|eva) (?:\w+ )?prima|antigamente
    avant|autrefois|auparavant|au début|initial\w*|précédent\w*|ancien\w*|premi(?:er|ère)
    """,
    anywhere="以前|之前|原来|原先|最初|当初|曾经|一开始|前は|(?<!年)前の(?:仕事|職|会社|家|住所|部屋|車|電話|番号|学校)|もともと|元々|かつて|昔|예전|이전|원래|처음|전에|당초",
)

_EVER: Final = wording(
    anywhere=r"""
    \b(?:have|has) \w+ .{0,250}\bbefore\W*$
    \b(?:habe?|hast|hat) \w+ .{0,250}\b(?:vorher|zuvor)\b.{0,30}$
    \b(?:he|has|ha|hemos) .{0,250}\bantes\W*$
    """
)
"""Whether something was ever done, which asks for no earlier state: "Have I used it before?"."""

_TELLING: Final = 2
"""How many content words make a question that stands alone."""

_LONG: Final = 300
"""From how many characters on a text stands alone whatever it points back to."""


def subject(query: str, *, follows: bool = False) -> Subject:
    """What of the conversation itself a question asks about.

    Args:
        query: the question.
        follows: whether anything was said before it: "continue" is about that then.
    """
    if len(query) > _LONGEST:
        return ""
    last = _LAST.search(query) or (not follows and _CONTINUE.search(query))
    is_first = _FIRST.search(query)
    found: Subject = "user" if _USER.search(query) else "first session" if is_first else "last session" if last else ""
    if _BEFORE_LAST.search(query) and (last or _asks_what_was_said(query)):
        found = "session before last"
    if found and not tells_of_others(query):
        return found
    is_dated = is_signed(folded_case(query), _DAY_SIGNS)
    asks = is_dated and (last or _asks_what_was_said(query) or _WHERE.search(query))
    return "days" if asks and _names_days_alone(query) else asked_of_talk(query) or attribute_asked(query) or ""


def _asks_what_was_said(query: str) -> bool:
    return any(rule.search(query) for rule in _SAID)


def _names_days_alone(query: str) -> bool:
    """Whether a question about what was said tells when, and nothing of what it was about."""
    query = _WHERE.sub(" ", query)
    rest = without_periods(query)
    return rest != query and not _NAMES.search(without_talk(rest)) and not tells_of_others(rest)


def tells_of_others(query: str) -> bool:
    """Whether there are content words that are not about a conversation, in each language that it may be in."""
    if any("\u4e00" <= letter <= "\u9fff" and letter not in _CONVERSATION_HAN for letter in one_way(query)):
        return True
    said = ({term for term in terms(query, language=each) if term.isascii()} for each in CONVERSATION_WORDS)
    return all(words - _conversation_terms() for words in said)


@cache
def _conversation_terms() -> frozenset[str]:
    listed = (terms(words, language=language) for language, words in CONVERSATION_WORDS.items())
    return frozenset(chain.from_iterable(listed))


def leans(query: str) -> bool:
    """Whether a question cannot be read without what was said before: it points back, or hardly tells anything."""
    if len(query) > _LONG:
        return False
    if _OPENS.search(query) is not None:
        return True
    query = _EXPLETIVE.sub("", query)
    back = _POINTS_BACK.search(query)
    if back is not None and not _NAMED.search(query, 0, back.start()):
        return True
    return len(dict.fromkeys(terms(query))) < _TELLING or leans_elsewhere(query)


def asks_of_the_past(query: str) -> bool:
    """Whether a question is about what was so before what is so now.

    In English, German, Spanish, French, Italian, Portuguese, Chinese, Japanese and Korean.
    """
    return len(query) <= _LONG and _PAST.search(_EVER.sub("", query)) is not None
