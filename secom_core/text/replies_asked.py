"""Questions about what the assistant has told, or for something once more.

In English, German, Spanish, French, Italian, Portuguese, Chinese, Japanese and Korean.
"""

from __future__ import annotations

from typing import Final

from .wording import wording

# Whoever asks for what may be answered anew ("What would you recommend?") asks for no earlier reply.
_OF_REPLIES: Final = wording(
    r"""
    did you(?! (?:know|hear|see|get|like|notice|remember|forget|enjoy|sleep|miss)\b)|you(?:'d| would) have (?!to)\w+
    (?:had|have) you (?:\w+ ){0,2}?(?:recommended|suggested|advised|told|said|given|mentioned|explained|warned|listed)
    you(?:'d| had| have)? (?:\w+ly )?(?:recommended|suggested|advised|proposed|told|said|gave|given|mentioned)
    you(?:'d| had| have)? (?:\w+ly )?(?:explained|described|listed|wrote|written|drafted|picked|chose|chosen)
    you(?:'d| had| have)? (?:\w+ly )?(?:showed|named|estimated|calculated|reckoned|outlined|offered|warned)
    you(?:'d| had| have)? (?:\w+ly )?(?:answered|quoted|compared|favou?red|worked out|brought up|came up)
    you(?:'d| had| have)? (?:\w+ly )?(?:went with|set out|laid out|pointed out|settled on)
    (?:was|were|after|following|followed|per|on|by|to|took|tried|from|about|in) your (?:\w+ )?(?:advice|answer|reply)
    (?:was|were|after|following|followed|per|on|by|to|took|tried|from|about|in) your (?:\w+ )?(?:suggest|recommend)\w+
    (?:was|were|after|following|followed|per|on|by|to|took|tried|from|about|in) your (?:\w+ )?(?:tips?|explanation)
    (?:was|were|after|following|followed|per|on|by|to|from|in) your (?:\w+ )?(?:list|table|comparison|estimate|example)
    hattest du|du hattest|du\b.{0,60}\b(?:genommen|gewählt|gekauft|gemacht) hättest|(?:regel|tipp|rat|vorschlag) von dir
    hast du\b.{0,80}\b(?:geraten|empfohlen|vorgeschlagen|gesagt|genannt|gegeben|erklärt|gerechnet|verraten|gewarnt)
    hast du\b.{0,80}\b(?:berechnet|gemeint|erwähnt|geschrieben|geschätzt|beschrieben|gezeigt|geholfen|aufgezählt)
    (?:haben|hatten) (?-i:Sie)\b.{0,80}\b(?:geraten|empfohlen|vorgeschlagen|gesagt|genannt|erklärt|erwähnt)
    (?:du|(?-i:Sie))\b.{0,80}\b(?:geraten|empfohlen|vorgeschlagen|gesagt|genannt|erklärt|erwähnt) ha(?:st|tten)
    (?:rietst|rietest|empfahlst|nanntest|sagtest|schlugst) du|du\b.{0,40}\b(?:rietst|empfahlst|nanntest|sagtest)
    (?:nach|auf|war|waren|bei|von|laut|gemäß) dein(?:e[mnrs]?)? (?:\w+ )?(?:rat|vorschlag|empfehlung|tipp|antwort)\w*
    (?:deiner?|in deinem|nach deinem) (?:liste|tabelle|rechnung|regel|vergleich|aufstellung|übersicht|beispiel)
    (?:recomend|(?:des)?aconsej|explic|mencion|calcul|nombr|indic|cont|enseñ|list|avis|record|mostr|mand)aste
    (?:suger|propus|d|dij|escrib|advert|eleg|escog|hic|pus)iste
    (?:has|habías) (?:recomendado|sugerido|dicho|aconsejado|propuesto|explicado|dado|mencionado|calculado|escrito)
    según (?:tú|tu \w+)|(?:de|en) tu (?:lista|tabla|consejo|respuesta|comparación|ejemplo)
    (?:tu|vous) (?:m'|me |nous |l')?(?:as|avez|avais|aviez) (?:bien |déjà |aussi )?(?:\w+é|dit|fait|écrit|prévenu)e?s?
    (?:était|étaient|étai[st] quoi|rappelle-moi) (?:ton|tes|votre|vos|ta) \w+|(?:fue|era|eran|fueron) tus? \w+
    (?:hai|avevi|avete) (?:\w+ )?(?:consigliat|suggerit|raccomandat|propost|spiegat|dat|indicat|menzionat|elencat)[oaie]
    (?:hai|avevi|avete) (?:detto|scritto|mostrato|calcolato|citato)|(?:era|erano) (?:il|la|i|le) tu[oae]i? \w+
    você (?:\w+ )?(?:recomendou|sugeriu|indicou|disse|aconselhou|propôs|explicou|deu|mencionou|escreveu|calculou|listou)
    você (?:\w+ )?(?:tinha|havia) (?:recomendado|sugerido|indicado|dito|explicado|dado)
    (?:era|foi|eram) (?:a|o)s? suas? \w+
    (?:as|avais)-tu (?:bien |déjà )?(?:\w+é|dit|fait|écrit|prévenu)e?s?
    (?:avez|aviez)-vous (?:bien |déjà )?(?:\w+é|dit|fait|écrit|prévenu)e?s?
    """,
    anywhere=r"""
    (?:你|您).{0,4}(?:之前|当时|上次|上回|当初|刚才|以前).{0,8}(?:建议|推荐|说|告诉|教|提|列|让我|叫我|给|写|看好|讲|算)
    (?:之前|当时|上次|上回|当初|刚才|以前)(?:你|您).{0,8}(?:建议|推荐|说|告诉|教|提|列|让我|叫我|给|写|看好|讲|算)
    (?:你|您).{0,8}(?:建议|推荐|说|告诉|教|提|讲)(?:过|我?的(?!话))|(?:你|您)(?:给|写|列|算)(?:我)?的|(?:你|您)(?:让|叫)我
    (?:根据|按照?|照着?)(?:你|您)的(?:建议|推荐|回答|说法|意见)
    (?:勧め|すすめ|薦め|教え|(?:提案|説明|計算|推薦|おすすめ)し|言っ|書い)て(?:くれ(?:た|て|まし)|もらっ|いただい)
    (?:出し|挙げ|紹介し|まとめ|選ん|(?:提案|説明|計算|助言|アドバイス)をし)て(?:くれ(?:た|て|まし)|もらっ|いただい)
    言って(?:い)?(?:た|まし)|(?:君|きみ|あなた)が.{0,12}(?:言っ|勧め|すすめ|教え|書い|提案し|選ん)
    あなたの(?:提案|アドバイス|おすすめ|答え|説明)
    (?:추천|제안|조언|설명|말|계산)(?:해)?\s*(?:준|줬|주셨|주신|했던|하셨)|(?:알려|가르쳐)\s*(?:준|줬|주셨|주신)
    (?:뭘|뭐를|(?:무슨|어떤|어느) .{1,8})\s?(?:추천|제안|조언)(?:을|를)?\s?했(?:지|죠|어|더라|나)
    (?:아이디어|조언|팁|의견|제안)(?:을|를)?\s?(?:줬|주셨|준)
    """,
    signed=(
        " you| hattest| hättest| von dir| hast| haben| hatten| rietst| rietest| empfahlst| nanntest| sagtest"
        "| schlugst| dein| has | habías| según t| de tu| en tu| fue tu| era tu| ran tu| ron tu| tu m| tu n| tu l"
        "| tu a| vous|étai| rappelle-moi| hai | avevi| avete| era il| era la| era i| era le| erano| você| sua|-tu"
        "|你|您|くれ|もらっ|いただい|言って|君|きみ|あなた|준|줬|주셨|주신|했던|하셨|추천|제안|조언|aste|iste"
    ),
)

_AGAIN: Final = wording(
    r"""
    remind me (?:what|which|who|when|where|how|of)|(?:I|I've) forg[eo]t\w* (?:what|which|who|when|where|how|the|it)
    I (?:can't|cannot|don't)\b.{0,20} (?:recall|remember)|slipped my mind|out of my (?:head|mind)
    noch\s*mal|(?:doch|noch) gleich|erinnere? mich (?:an|daran)|(?:was|wer|wie|wo|wann|welche[nmrs]?) war das noch
    hab\w* (?:\w+ ){0,3}vergessen
    recuérdame|cómo era (?:eso|lo)|se me (?:ha )?(?:olvid|borr)\w+|no me acuerdo
    ricordami|(?:non )?(?:mi )?ricordo più|non (?:mi )?ricordo|ho dimenticato|come si chiamava
    me (?:lembra|lembre|relembr[ae])|lembra-me|esqueci|não (?:me )?lembro|como se chamava
    rappelle[sz]?-moi|j'ai oublié|je ne (?:me souviens|sais) plus
    """,
    anywhere=r"""
    \bagain\W*(?:$|,)|\b(?:otra vez|de nuevo)\W*$|\bdéjà\W*$
    来着|再(?:说|讲|告诉我)一(?:遍|次)|提醒(?:我|一下)|忘(?:了|记)|想不起来
    だっけ|でしたっけ|もう一度(?:言|教)|忘れ(?:た|て|ちゃ|まし)|더라|였지|다시 (?:말|알려)|까먹|잊어버
    """,
    signed=(
        " remind me| forg| recall| remember| slipped my| out of my| noch| gleich| erinner| war das|vergessen"
        "| recuérdame| cómo era| olvid| borr| acuerdo| ricord| dimenticato| chiamava| me lemb| lembra| relemb"
        "| esqueci| rappelle| oublié| souviens| sais| again| otra vez| de nuevo| déjà|来着|再|提醒|忘|想不起来"
        "|っけ|もう一度|더라|였지|다시|까먹|잊어| não | chamava"
    ),
)
"""Whether somebody has forgotten something, which may have been told by either side: "How much was it again?"."""

_LONGEST: Final = 300
"""How many characters such a question has at most."""


def asks_of_replies(query: str) -> bool:
    """Whether a question is about what the assistant has told, such as what it recommended.

    In English, German, Spanish, French, Italian, Portuguese, Chinese, Japanese and Korean.
    """
    return len(query) <= _LONGEST and _OF_REPLIES.search(query) is not None


def asks_again(query: str) -> bool:
    """Whether a question asks for something once more, which the user or the assistant may have told.

    In English, German, Spanish, French, Italian, Portuguese, Chinese, Japanese and Korean.
    """
    return len(query) <= _LONGEST and _AGAIN.search(query) is not None
