"""Words by which somebody takes back what was said: "Sorry, I mistyped", "No wait"; in seven languages."""

from __future__ import annotations

from typing import Final

from .wording import wording

CORRECTED: Final = wording(
    r"""
    correction|correct(?:ing)? myself|I (?:said|told you|gave you)\b.{0,60}\b(?:wrong|actually|but|it's|turned)
    (?:got|had|gave)\b.{0,20}\bwrong|wrong (?:number|date|day|figure|name)|it's actually|I meant
    (?:I )?(?:mis-?(?:spoke|typed|remembered|read|counted|calculated|quoted)|typo(?:ed)?|was wrong|stand corrected)
    (?:scratch|strike) that|make (?:that|it)(?= (?:the )?[~$€£]?\d| \w+day\b)|turn(?:s|ed) out
    my (?:mistake|bad|error)(?! (?!it\b|it's|that|the\b|there|I\b|we\b|should)\w)
    (?:mixed|mix) (?:it|that|this|them|those|things) up|(?:slip of the|fat) \w+
    (?:not|n't) (?!only\b|just\b).{1,40}[,;–—-] ?(?:but|it's|it is|that's|they're|rather)
    (?:was|were|is|'s) (?:off|wrong|a typo)|forget what I (?:said|told you|wrote)|(?:said|wrote|told you) it wrong
    not (?:an? |the |in |on |at )?[~$€£]?\d[\d.,:]*(?! ?%| per ?cent| sure)|(?:wrong|fat) (?:key|finger\w*)
    not (?:an? |the |in |on |at )?(?:two|three|four|five|six|seven|eight|nine|ten)|swapped the digits
    korrigier\w*|korrektur|falsch (?:gesagt|angegeben|geschrieben|notiert)|ich meinte|gemeint (?:war|ist|waren)
    vertippt|verschrieben|verwechselt|verrechnet|verzählt|verlesen|geirrt|vertan
    tippfehler|mein fehler|richtig(?:er)? (?:ist|wäre)|zahlendreher
    nicht (?!nur\b).{1,40}, sondern|(?:etwas|was) falsches (?:gesagt|erzählt|geschrieben)
    (?:nicht|kein\w*) (?:am |um |im )?\d[\d.,:]*(?! ?%| prozent)
    (?:nicht|kein\w*) (?:am |um |im )?(?:zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn)
    me equivoqué|me confund\w+|corrección|en realidad|quise decir|quería decir|corrijo|rectifico|error mío|mejor dicho
    me he (?:equivocado|confundido|liado)|resulta que|no (?!solo\b|sólo\b).{1,40},? sino
    no (?:el |son |a las )?\d[\d.,:]*
    (?:he dicho|había dicho|dije|puse|escribí)\b.{0,30}\b(?:y|pero) (?:es|son|era|eran)|estaba mal
    lo (?:dije|puse|escribí) mal
    je me (?:suis trompée?|trompe|corrige)|erreur de ma part|mon erreur|je (?:voulais|veux) dire|je rectifie
    faute de frappe
    j'ai (?:mal|tout) (?:écrit|dit|noté|lu|compté|inversé|mélangé)|j'ai (?:confondu|inversé)|en fait,? (?:c'est|ce sont)
    ce n'est pas .{1,40}[,;] ?(?:mais |c'est )|(?:et )?(?:pas|non) (?:le |à |au |en )?\d[\d.,:]*(?! ?%| pour cent)
    """,
    anywhere="""
    [说写打记弄算看搞给填]错了?|更正|应该是|错了.{0,6}是|不是[^，。？]{1,15}，?(?:而是|是)(?!吗)|口误|笔误|手误|准确(?:地)?说
    訂正|間違え|間違い|正しくは|(?:では|じゃ)なく(?:て)?、?|勘違い|書き損じ|打ち損じ
    정정|잘못 (?:알려|말|썼|적|입력|보냈)|사실은|오타|착각|헷갈|(?:이|가) 아니(?:라|고)|말고,
    """,
    signed=(
        " correct| said| told you| gave you| wrong| it's actually| i meant| mis-| misspo| mistyp| misrem| misread"
        "| miscou| miscal| misquo| typo| stand corr| scratch that| strike that| make that| make it| turned out"
        "| turns out| turned| my mist| my bad| my err| mixed| mix it| mix th| slip of| fat | not | n't | is off"
        "| was off| were off|'s off| forget what| fat fing| swapped| korrektur| korrigier| falsch| meinte"
        "| gemeint| vertippt| verschrieben| verwechselt| verrechnet| verzählt| verlesen| geirrt| vertan"
        "| tippfehler| mein fehler| richtig| zahlendreher| sondern| nicht| kein| equivoqué| me confund"
        "| corrección| en realidad| quise decir| quería decir| corrijo| rectifi| error mío| mejor dicho| me he "
        "| resulta que| sino| no | dicho| dije| puse| escribí| estaba mal| trompe| corrige| erreur| voulais"
        "| veux dire| faute de| j'ai | en fait| ce n'est pas| pas | non |错|更正|应该是|不是|口误|笔误|手误|准确"
        "|訂正|間違|正しくは|なく|勘違い|損じ|정정|잘못|사실은|오타|착각|헷갈|아니|말고,| je me "
    ),
)
REPAIRED: Final = wording(
    r"""
    sorry|oops|whoops|ups|wait|hold on|hang on|no|nope|actually|or rather|rather|correction|edit|I mean
    moment|halt|nein|nee|quatsch|stopp|ach|äh|pardon|vielmehr|besser gesagt|doch|genauer
    perdón|perdona|disculpa|espera|uy|no|digo|mejor dicho|o sea
    désolée?|excuse[sz]?-moi|oups|attends|attendez|non|enfin|plutôt|je veux dire|en fait
    """,
    anywhere="""
    不对|不是|不好意思|抱歉|等等|等一下|哦不|我是说|其实
    すみません|ごめん|いや|違う|やっぱり|失礼
    아니|미안|죄송|다시 말|아 참|잠깐
    """,
    signed=(
        " sorry| ups| wait| hold on| hang on| no| actually| rather| correction| edit| i mean| moment| halt| nein"
        "| nee| quatsch| stopp| ach|äh| pardon| vielmehr| besser| doch| genauer| perdón| perdona| disculpa"
        "| espera| uy| digo| mejor| o sea| désolé| excuse| oups| attend| enfin| plutôt| je veux| en fait|不|抱歉"
        "|等|其实|我是说|すみません|ごめん|いや|違う|やっぱり|失礼|아니|미안|죄송|다시|참|잠깐|oops"
    ),
)
"""How somebody begins who takes back what was said just before."""
_OPENING, _FILLED = 24, " .,!?¡¿…-–—\"'*"
"""In how many characters a sentence begins, and what may stand before its first word."""
_FILLERS: Final = wording(
    r"""
    oh|ah|uh|um|er|hm+|ok|okay|lol|ha(?:ha)*|well|and|but|so|yes|thanks
    ja|ach|na|tja|mist|ay|uf|pues|sí|gracias|bon|ben|euh|oui|merci|mais|et|alors|zut
    """
)
_FIRST: Final = 120
"""In how many characters of a message it says that it takes something back."""


def begins_repair(text: str, start: int = 0) -> bool:
    """Whether a sentence begins as one that takes back what was said just before it.

    Args:
        text: any text.
        start: where the sentence begins.
    """
    found = REPAIRED.search(text, start, start + _OPENING)
    return found is not None and not _FILLERS.sub("", text[start : found.start()]).strip(_FILLED)


def takes_back(text: str) -> bool:
    """Whether a message begins by taking back what was said just before it."""
    return begins_repair(text) or CORRECTED.search(text, 0, _FIRST) is not None
