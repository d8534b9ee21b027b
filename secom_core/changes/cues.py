"""Words that say that something is so now, was corrected, has ended, or is still so; in seven languages."""

from __future__ import annotations

import re
from typing import Final, Literal

from ..text.patterns import regex
from ..text.wording import wording

Cue = Literal["changed", "swapped", "corrected", "ended", "confirmed", "measured"]
"""What a statement says of an earlier one."""

ENDED: Final = wording(
    r"""
    (?:I|we)(?:'ve| have)? (?:\w+ )?(?:cancel+ed|quit|gave up|given up)|I(?:'ve| have)? stopped \w+ing
    ^(?:just |finally )?(?:cancel+ed|quit) (?:the|my|our)
    (?:no|not|\w+n't)(?=\b.{1,40}\b(?:any ?more|any longer)\b)|no longer
    (?:handed|put|turned) in my (?:notice|resignation)|resigned|packed (?:it )?in|dropped out|called (?:it )?off
    got rid of|(?:I|we)(?:'ve| have)? (?:just )?sold|off the table|shut down|scrapped
    (?:has|have|was|were|got|been) (?:discontinued|cancel+ed|scrapped|laid off|let go|closed)|passed away|died
    expired(?! \w)|expired (?:on|in|at|last|yesterday|today|this|a|and|so|but|already|now|before|after|while)
    expired (?:recently|early|(?:when|since|because) (?:I|we))
    (?:gekündigt|aufgegeben|abgemeldet|aufgehört|verkauft|gestorben|abgesagt|abgeschafft|abgelaufen)
    (?:ausgelaufen|aufgelöst|weggefallen|eingestellt|hingeschmissen|losgeworden)
    ist (?:damit |nun |jetzt )?geschichte|fällt\b.{0,40}\bweg
    nicht mehr|kein\w*(?= \w+ mehr\b)
    he dejado|hemos dejado|ya no|he cancelado|he abandonado|(?:he|hemos|ha) vendido|vendí|vendimos
    cancelé|renuncié|me di de baja|me he dado de baja|se acabó|caducó|ha caducado|(?:ha )?cerrado|dejé (?:de|el|la)
    murió|ha muerto|lo dejé
    (?:j'ai|nous avons|on a|je l'ai|a été|ont été) (?:\w+ ){0,2}(?:résilié|annulé|arrêté|abandonné|vendu|quitté)e?s?
    (?:j'ai|nous avons|on a|il a|elle a|a été) (?:\w+ ){0,2}(?:démissionné|supprimé|fermé|cessé|expiré)e?s?
    (?:ne |n')(?=\w+ (?:\w+ )?plus\b(?! (?:\w+ )?que\b))|désabonnée?s?|(?:donné|posé) ma démission|laissé tomber
    c'est fini|(?:est|sont) (?:morte?s?|décédée?s?|périmée?s?|tombée? à l'eau)
    """,
    anywhere="""
    不(?:再)?(?!忙|累|说|聊|早|晚|多|少|好|行|错|知|见|同|得|客|急|怕)(?=.{1,6}了(?:[，。,.]|$))|取消了|退了|戒了|辞职|退订
    (?:やめ|辞め)(?:ました|た)|なくなった|なくなりました|解約し|退会し|キャンセルし
    그만뒀|그만두|이제.{0,12}안 |끊었
    """,
)
CHANGED: Final = wording(
    r"""
    now(?!,? (?:I'm|I am|we're|we are|it's|it is) (?:getting|seeing|having|facing|experiencing|trying))
    from now on|instead|no longer|these days|nowadays|any ?more
    (?:changed|switched|moved|raised|increased|reduced|decreased|lowered|extended|improved|adjusted|bumped)
    (?:rescheduled?|rescheduling|postponed|delayed|slipped|upgraded|replaced|pushed|grown|grew|risen|rose)
    (?:shifted|expanded|shortened|doubled|tripled|halved|dropped|climbed|jumped|fell|fallen|trimmed|revised)
    (?:boosted|upped)
    (?:supports?|handles?|fits?|allows?|holds?) up to|just (?:hit|reached|passed|crossed)(?= (?:the )?[~$€£]?\d)
    (?<!add\s)(?<!adds\s)(?:goes|went|gone|going) (?:up|down|back) to
    (?:goes|went|gone|going) to(?= (?:about |over )?[~$€£]?\d)
    (?<!add\s)(?<!adds\s)(?:moved|up|down) (?:up |down |back )?to|take[sn]? over|took over
    (?:updated?|adjusting|adjust|extend|change|increas\w+|reached)\b.{0,60}\bto
    (?:cut|brought|brings|scaled|lifted|knocked)\b.{0,60}\bto(?= [$€£]?\d)|(?:brought|moved) forward
    (?:told|asked|agreed|had|decided|chose|managed) to (?:raise|lower|cut|increase|reduce)\b.{0,60}\bto(?= [$€£]?\d)
    (?:I|we|have|had|ve|just|been|was|is|are) set\b.{0,60}\bto(?= [$€£]?\d)
    (?:my|our|the) new(?= (?:\w+ ){0,3}(?:is|are)\b)|down to|as of (?:now|today|this \w+)|(?:up|down) from
    currently(?= (?:\w+ ){0,4}[~$€£]?\d)
    jetzt|nun|inzwischen|mittlerweile|nicht mehr|ab sofort|statt|stattdessen|nur noch
    neue[rnsm]?(?= \w+ (?:ist|heißt|sind)\b)|(?:aktuell|derzeit)(?= (?:\w+ ){0,4}[€$]?\d)
    (?:steigt|gestiegen|erhöht|gesenkt|geändert|gewechselt|verschoben|umgezogen|verlegt)
    (?:gesunken|aufgestockt|heraufgesetzt|herabgesetzt|vorgezogen|vertagt|verdoppelt|halbiert)
    (?:verlängert|verkürzt|gekürzt|reduziert)|doch nicht
    ahora|ya no|en vez de|en lugar de|sino|al final
    nuev[oa](?= (?:\w+ )?(?:se llama|es)\b)|actualmente(?= (?:\w+ ){0,4}[€$]?\d)
    (?:ha|han|he|hemos|nos ha|me ha)(?: \w+)? (?:subido|bajado|cambiado|aplazado|retrasado|trasladado|mudado)
    (?:cambiamos|subió|bajó)|(?:sub|baj|aument|cambi|adelant|aplaz|retras)(?:aron|ieron)|(?:aumentó|redujo|redujeron)
    (?:ha|han|hemos) pasado (?:al?|para)
    maintenant|désormais|dorénavant|à présent|au lieu d[eu]|à la place|finalement
    (?:ai|a|avons) mise?s? (?:au|à)|(?:ne |n')(?:\w+ (?:\w+ )?plus(?= que\b)|(?=\w+ (?:\w+ )?plus\b))
    (?:est|sont|ai|a|ont|avons|été|suis|sommes) (?:\w+ )?(?:passée?|déplacée?|décalée?|reportée?|repoussée?|avancée?)s?
    (?:est|sont|ai|a|ont|avons|été|suis|sommes) (?:\w+ )?(?:changée?|déménagé|prolongée?|augmentée?|baissée?|mutée?)s?
    (?:est|sont|ai|a|ont|avons|été|suis|sommes) (?:\w+ )?(?:remplacée?|modifiée?|montée?|descendue?|réduite?)s?
    (?:passe|passera|passent|monte|descend) (?:de .{1,30} )?à
    nouve(?:au|l|lle)(?= (?:\w+ ){1,5}(?:est|s'appelle|sont)\b)
    actuellement(?= (?:\w+ ){0,4}[€$]?\d)
    """,
    anywhere=r"""
    现在|改成|改到|改为|换成|换了|换到|涨到|涨价|推迟|搬到|搬家|调到|加到|以后在|不是了|改期
    (?:改|换|搬|调|减|降)回|(?:减|降|升|减少|降低|提高|增加|恢复)到|(?:减|降|升|调)[为成]
    (?:今は|今(?=\d)|これから|に変わ|も変わ|に代わ|になりました|になった|に上が|に増え|に延|延期|引っ越|転職|異動|値上がり)
    (?:지금은|지금 |이제|바뀌|올랐|올렸|올라|미뤄|연기|이사|이직|발령|요즘)
    """,
)
NEWS: Final = regex(
    r"^\W*(?:(?:small|quick|big|kleine|kurze|petite?|pequeñ[oa]) )?(?:update|change of plans?|plans (?:have )?changed"
    r"|planänderung|neuer stand|cambio de planes?|actualización|changement de (?:plan|programme)|mise à jour"
    r"|更新一下|更新|计划有变|計画変更|변경 사항)(?: on (?:the|that|this|my|our) [\w -]{1,30}?)? ?[:,，：–—-](?!\w)",
    re.I,
)
"""How a sentence begins that tells what has changed."""
_NO_NEWS: Final = regex(
    r"\b(?:is|are|was|were)(?: finally| now)? (?:out|released|published|available)\b"
    r"|\b(?:ist|sind) (?:da|erschienen|verfügbar|draußen)\b|\bha salido\b|\bsalió\b|\best (?:sortie?|disponible)\b"
    r"|出来了|发布了|^\W*(?!(?:it|that|there|let|he|she|what|here)['’])(?-i:[A-Z])\w+['’]s (?=\w)",
    re.I,
)
NOW: Final = wording(
    r"""
    now|instead|stattdessen|nun|jetzt|inzwischen|mittlerweile|currently|ahora|maintenant|désormais
    (?:I|we|have|had|ve|just|been|was|is|are) set\b.{0,60}\bto(?= [$€£]?\d)
    """,
    anywhere=r"现在|今は|今(?=\d)|지금은|지금 |이제",
)
"""What alone says little: something else of the kind may be so now."""
ADDED: Final = wording(
    r"""
    also|as well|too(?=[.!,;]|$)|in addition|additionally|on top of (?:that|it)
    auch|außerdem|zusätzlich
    también|además
    aussi|également|en plus(?! d)|en outre
    """
)
"""What says that something came to what was there, and took no place."""
COMPARING: Final = wording(
    r"""
    both|each|together|in total|altogether|sum|total|difference|compar\w+
    which (?:\w+ ){1,3}(?:more|less|fewer|most|least|\w{3,}er|\w{3,}est)|(?:more|less|fewer|\w{3,}er) than
    beide\w*|jeweils|zusammen|insgesamt|summe|unterschied|welche\w* \w+ (?:mehr|weniger)
    ambos|cada|juntos|en total|suma|diferencia
    les deux|chacune?|ensemble|au total|en tout|différence|lequel|laquelle
    """
)
"""How a question asks of several things."""
_QUOTED_LINE: Final = regex(r"(?m)^[ \t]*>[^\n]*")
_QUOTE: Final = regex(
    r"(?:(?<!\bI )\b(?:wrote|writes|says?|said|told (?:me|us)|asked|reads?|schrieb|sagte?|meinte|steht|stand|dijo"
    r"|escribió|decía|ponía|pone|dit|écrit|disait)\b[^'\"“„«‘.!?]{0,20}|: ?|\band )"
    r"(?<!\w)['\"“„«‘](?P<words>[^\"”“»’]{8,300}?)(?:['\"”“»’](?!\w)|\Z)",
    re.I,
)
"""Words of somebody or something else, behind a quotation mark; it may be cut off."""
MEASURED: Final = wording(
    r"""
    (?:increas|reduc|decreas|lower|rais|extend|improv|bump|boost|expand|shorten|doubl|tripl|halv)\w*
    grown|grew|risen|rose|dropped|climbed|fell
    gestiegen|erhöht|gesenkt|verlängert|verkürzt|gesunken|aufgestockt|verdoppelt|halbiert|gekürzt|reduziert
    subido|bajado|aumentado|reducido|subió|bajó
    (?:augment|diminu|baiss|mont|prolong|grimp|doubl|tripl)ée?s?|réduite?s?
    """
)
"""What changes a number, and no name."""
SWAPPED: Final = wording(
    r"""
    (?:I|we)(?:'ve| have)? (?:just )?(?:sold|quit|left|finally got|traded)|went back|new
    verkauft|abgegeben|neue[rnsm]?
    (?:ha|han|he|hemos) (?:vendido|dejado)|vendí|nuev[oa]s?
    (?:j'ai|je l'ai|nous avons|on a) (?:\w+ ){0,2}(?:vendu|quitté|revendu|échangé)|nouve(?:au|l|lle)s?
    """,
    anywhere="""
    卖掉|卖了|新的
    売りました|売った|新しい
    팔았|새 |새로운
    """,
)
"""What says that something took the place of what it names."""
CONFIRMED: Final = wording(
    r"""
    still|as before|unchanged|same as (?:before|ever)|it is, I|leave it as it is|remains?
    immer noch|noch immer|nach wie vor|weiterhin|steht\b.{0,20}\bfest|bleibt|wie gehabt
    sigue\w*|sigo|seguimos|todavía|aún
    toujours|encore|comme avant|inchangée?s?|n'a pas (?:changé|bougé)|reste(?:nt)?
    """,
    anywhere="""
    还是|没变|仍然|依然|依旧
    変わらず|やはり|まだ|相変わらず|のまま
    여전히|그대로|아직
    """,
)
RESUMED: Final = wording(
    r"""
    (?:can|able to|allowed to|start(?:ed)?|'m|am|are|'re|now|eat\w*|drink\w*|drive|work)\b.{1,40}\bagain|back to \w+ing
    (?<!und\s)wieder
    (?:vuelvo|he vuelto|volví|volvemos|hemos vuelto) a|de nuevo|otra vez
    (?:de|à) nouveau
    """,
    anywhere="能.{1,6}了|可以.{1,6}了|又开始|また.{1,8}(?:ように|始め)|다시",
)
"""What says that something is done again which was not."""
ONCE: Final = wording(
    r"""
    yesterday|last (?:night|week\w*|month)|once|accident\w*|by mistake|gestern|vorgestern|einmal|versehentlich
    ayer|anoche|por error|hier|une fois|par erreur
    """,
    anywhere="昨天|昨晚|一次|昨日|어제",
)
"""What was done some time, and is no habit."""
SUPPOSED: Final = wording(
    r"""
    if|what if|let's say|would|could|might|maybe|perhaps|probably|wish
    thinking of|suppos(?:e|ing)(?! to)|imagine|say (?=(?:the|that|we|it|you|they|I|there)\b.{0,60}\b(?:were|had|was)\b)
    someday|next year|should I|I guess|consider\w*|dream\w*|looking for
    angenommen|gesetzt den fall|stell dir vor|nehmen wir an
    wenn|falls|würde\w*|könnte\w*|vielleicht|nächstes jahr|müssten|wahrscheinlich
    supongamos|pongamos|imagina|imagínate
    si (?:nos|me|te|se|fuera\w*)|quizás?|tal vez|quizá|serían|sería
    supposons|imaginons|mettons que
    si (?:je|tu|on|nous|vous|elles?|ils?|jamais|un jour)|s'ils?|peut-être|probablement|sans doute|envisage\w*
    (?:pourr|devr|ser|aur|ir|préférer)ai[st]|(?:je|on|nous) (?:pens|song)\w+ à|un jour(?! par\b)|rêve\w*
    l'année prochaine
    """,
    anywhere=r"""
    如果|要是|估计|可能|也许|(?<!经过)(?<!慎重)考虑(?=\w)(?![到过了再后良很清周因得]|[以之]后(?!\w)|して|し)
    もし|かもしれ
    만약|것 같|할까
    """,
)
PLANNED: Final = wording(
    r"""
    hop(?:e|ing)|plan(?:s|ning)? to|want(?:s|ed)? to
    going to(?! (?:the|an?|my|our|his|her|their)\b)|gonna|'ll|will|aim\w*
    need to
    hoffe|plane|möchte|will
    espero|quiero|planeo
    j'espère|nous espérons|on espère|(?:je|on|nous) (?:veu[xt]|voudrai[st]|voulons|voudrions|compte|comptons|souhaite)
    (?:j'|on |nous )aimer(?:ais|ait|ions)|(?:je vais|on va|nous allons)(?= \w+(?:er|ir|re)\b)|prévoi[st]|prévoyons
    """,
    anywhere="""
    希望|打算|计划|(?<![没不料思感理梦幻猜回予構妄連発])想(?![到法起必象像念定过過着知了我说问]|告诉|[跟和对向]你)
    たい(?:です|な|。|$)|つもり|予定
    싶|려고
    """,
)
"""What is not so yet: a later statement about a plan may take its place, but it takes the place of nothing."""
PLANS: Final = wording(
    r"""
    goals?|targets?|deadlines?|plans?|schedules?|challenges?|budgets?|appointments?|due|launch
    ziele?|fristen?|frist|pläne?|termine?|budgets?
    objetivos?|metas?|plazos?|planes|plan|presupuestos?|citas?
    objectifs?|échéances?|date limite|délais?|rendez-vous|rdv|prévue?s?
    """,
    anywhere="目标|截止|计划|预算|目標|締め切り|予定|予算|목표|마감|계획|예산",
)
"""What is meant to be, as a thing."""
DENIED: Final = wording(
    r"""
    (?<!is\s)(?<!are\s)(?<!it's\s)not(?! (?:only|just))|never(?! (?:miss|skip))|cannot|no more(?! than)
    (?!(?:is|are|was|were|ca)n't)\w+n't(?! (?:only|just|miss|missed|skip|skipped|forget)\b)
    can't(?! (?:\w+ ){1,2}without)|(?<!ist\s)(?<!sind\s)nicht(?! nur)|kein\w*|nie(?:mals)?
    nunca|jamás
    (?:ne |n').{1,20} (?:pas|plus|jamais)
    """,
    anywhere=r"""
    (?<![差要])不(?![错仅但只过少同久])|没(?!事|错|想到)|别再|戒(?!指)
    (?<!なり)(?<!いけ)(?<!しれ)ません|(?<![はゃ少])(?<!なら)(?<!いけ)(?<!しれ)ない|なかっ|やめ|一度も
    (?<!\w)안 |않|(?<!\w)못|없(?!이)|한 번도
    """,
)
"""What says that something is not done, or never was. Of what is not of some kind, such as cheap, it says nothing."""
PAST: Final = wording(
    r"""
    used to|back then|when I was|years? ago|as a (?:student|child|kid|teenager)|in my (?:youth|twenties)|in those days
    (?:my|our) (?:very )?first\b.{0,40}\b(?:was|were)|mein\w* erste[rsn]?\b.{0,40}\bwar
    früher|damals|als kind|als student\w*|mit (?:zehn|zwanzig|dreißig)|vor \w+ jahren
    autrefois|à l'époque|jadis|quand (?:j'étais|j'avais|on était)|dans ma jeunesse|il y a \w+ ans
    étant (?:petite?|enfant|étudiante?)|avant,? (?:je|j'|on|nous)\b|j'habitais|je (?:travaillais|vivais|payais|faisais)
    de joven|de niñ[oa]|antes (?:era|vivía|tenía)|(?<!desde\s)hace \w+ años|a los (?:diez|veinte|treinta)|cuando era
    """,
    anywhere="""
    以前|大学的时候|小时候|年前|当年
    学生のころ|大学のころ|子供のころ|昔|年前
    대학 때|학생 때|어릴 때|년 전|예전
    """,
)
_KIN_LATIN: Final = r"""
    (?:my|our|his|her|their) (?:\w+ )?(?:sister|brother|mother|father|mum|mom|dad|son|daughter|wife|husband)(?:-in-law)?
    (?:my|our|his|her|their) (?:\w+ )?(?:partner|friend|boss|parents|cousin|aunt|uncle|neighbou?r|room ?mate|colleague)
    (?:my|our|his|her|their) (?:\w+ )?(?:flatmate|kids?|dog|cat|grandmother|grandfather|grandma|grandpa|nephew|niece)
    (?:my|our|his|her|their) (?:\w+ )?(?:grandson|granddaughter|boyfriend|girlfriend|fianc\w+|in-laws|twins?)
    (?:my|our|his|her|their) (?:\w+ )?(?:family|team|mentor|step\w{3,})
    mum|mom|dad|granny|grandma|grandpa|mama|papa|omas?|opas?|mamá|papá|maman|mamie|papi
    (?:mein|unser|sein|ihr)\w* (?:\w+ )?(?:schwester|bruder|mutter|vater|sohn|tochter|frau|mann|eltern|freund\w*)
    (?:mein|unser|sein|ihr)\w* (?:\w+ )?(?:nachbar\w*|kolleg\w+|hund|katze|chefin|chef|tante|onkel|cousine?|neffe)
    (?:mein|unser|sein|ihr)\w* (?:\w+ )?(?:nichte|enkel\w*|mitbewohner\w*|großmutter|großvater|großeltern)
    (?:mein|unser|sein|ihr)\w* (?:\w+ )?(?:schwieger\w+|schwager|schwägerin|verlobte\w*)
    (?:mi|mis|su|sus|nuestr[oa]s?) (?:\w+ )?(?:hermanas?|hermanos?|madre|padre|padres|hij[oa]s?|espos[oa]|vecin[oa])
    (?:mi|mis|su|sus|nuestr[oa]s?) (?:\w+ )?(?:amig[oa]s?|perr[oa]|gat[oa]|jef[ea]|novi[oa]|abuel[oa]|compañer[oa])
    (?:mi|mis|su|sus|nuestr[oa]s?) (?:\w+ )?(?:suegr[oa]s?|cuñad[oa]s?|prim[oa]s?|tí[oa]s?|sobrin[oa]s?|niet[oa]s?)
    (?:mi|su|nuestr[oa]) (?:marido|mujer)
    (?:ma|mon|mes|notre|nos|sa|son|ses|leurs?) (?:\w+ )?(?:soeurs?|sœurs?|frères?|mère|père|fils|filles?|femme|mari)
    (?:ma|mon|mes|notre|nos|sa|son|ses|leurs?) (?:\w+ )?(?:épou[sx]\w*|copains?|copines?|amie?s?|parents|cousine?s?)
    (?:ma|mon|mes|notre|nos|sa|son|ses|leurs?) (?:\w+ )?(?:voisine?s?|colocs?|colocataires?|collègues?|tante|oncle)
    (?:ma|mon|mes|notre|nos|sa|son|ses|leurs?) (?:\w+ )?(?:grand-(?:mère|père)|enfants?|chien|chat|neveu|nièce)
    (?:ma|mon|mes|notre|nos|sa|son|ses|leurs?) (?:\w+ )?(?:patronn?e?|cheff?e?|(?:beau|belle)-\w+|fiancée?)
    """
KIN: Final = wording(
    _KIN_LATIN,
    anywhere="""
    (?:妈妈|爸爸|我爸|我妈|姐姐|妹妹|哥哥|弟弟|女儿|儿子|老公|老婆|同事|室友|[男女]?朋友|[男女]友|邻居|父母|闺蜜|同学)
    (?:[表堂][哥姐弟妹]|我[哥姐弟妹]|爷爷|奶奶|外公(?![布开告])|外婆|姥姥|姥爷|叔叔|阿姨|舅舅|舅妈|姑姑|婆婆|公公|岳父|岳母|嫂子)
    (?:[祖義]?母|[祖義]?父|姉|妹|兄|弟|娘|息子|妻|夫|同僚|友達|両親|親友|友人|彼氏|彼女|いとこ|上司)(?=[はがのもにと])
    (?:お母さん|お父さん|お姉さん|お兄さん|おばあちゃん|おじいちゃん|叔[父母]|伯[父母]|[甥姪孫])(?=[はがのもにと])
    (?:어머니|아버지|엄마|아빠|언니|누나|동생|오빠|형|딸|아들|남편|아내|동료|[남여]자친구|친구|부모님|할머니|할아버지)
    """,
)
"""Who else a statement may be about."""
ACTS: Final = (
    r"(?: has| had|'s|'d)?(?: just| now| already)? (?:raised|increased|lowered|reduced|cut|moved|changed|postponed"
    r"|rescheduled|pushed|put|extended|shifted|switched|delayed) (?:the|my|our|us|me|it)\b"
)
"""What stands behind somebody who changes what is not theirs: "she moved the appointment to 11"."""
THEIRS: Final = wording(
    rf"theirs?|(?:he|she)(?!{ACTS})|deren|leurs?", anywhere="(?<![吉其维排利])[他她](?!.{0,4}把)|彼ら|그들"
)
"""What is said to be of others that were named before, and not of the speaker."""
OTHER: Final = wording(
    "another|the other|other \\w+|ander(?:e|es|er|en)|otr[oa]s?|autres?",
    anywhere="另一个|另外|別の|다른",
)
"""What is said of another thing of the same kind."""


def says_more_than_now(clause: str) -> bool:
    """Whether a clause tells a change by more than a word such as "now"."""
    return CHANGED.search(NOW.sub(" ", clause)) is not None


def news_in(clause: str) -> frozenset[Cue]:
    """What a clause behind "Update:" says of what was told: nothing where something has come out, or is Anna's."""
    return frozenset() if _NO_NEWS.search(clause) else frozenset({"changed"})


def without_quotes(text: str) -> str:
    """The text with blanks in the place of what it quotes, also line by line as mails do."""
    for start, stop in (
        *(found.span("words") for found in _QUOTE.finditer(text)),
        *(found.span() for found in _QUOTED_LINE.finditer(text)),
    ):
        text = text[:start] + " " * (stop - start) + text[stop:]
    return text
