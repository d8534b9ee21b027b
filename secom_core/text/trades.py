"""How somebody says what he works as in Spanish, French, Italian and Portuguese, by the endings of such words.

And that he has left a job or begins one, in nine languages.
"""

from __future__ import annotations

from typing import Final

TRADES: Final = "\n".join(
    (
        r"soy (?:una? )?(?:(?!primer|ligera|mejor|mayor|menor|peor|por\b|ahora)\w+(?:er[oa]|ista|ora?|óg[oa]",
        r"|ari[oa]|tect[oa])|(?:médic|mecánic|técnic|músic|físic|químic|abogad|maestr|estudiante|jefe)\w?)",
        r"je suis (?:une? )?(?:(?!premi|derni|derri|hier|fi[eè]r|entier|prêt|meill|régul|famil)\w+(?:i?ère|ier|eur)",
        r"|(?!vég)\w+(?:rice|iste|ienne|icien|logue|aire)|médecin|prof\w*|avocate?|architecte|étudiante?|retraitée?",
        r"|(?:coiff|serv|vend)euse)",
        r"(?:sono (?:una? |uno |un')?|faccio (?:il |lo |la |l'))(?:(?!intier|leggera|voglia)\w+(?:ier[ea]|aio|aia",
        r"|ista|tore|trice|ologo|ologa|tett[oa]|oressa)|medico|avvocat[oa]|insegnante|student\w+|cuoc[oa])",
        r"sou (?:uma? )?(?:(?!primeir|terceir|inteir|melhor|pior|maior|menor)\w+(?:eir[oa]|ista|dora?|sora?|óg[oa]",
        r"|ári[oa]|tet[oa])|médic[oa]|advogad[oa]|mecânic[oa]|técnic[oa]|músic[oa]|estudante|gerente)",
    )
).replace("\n|", "|")
"""Alternatives as `secom_core.text.wording.wording` reads them, a line each."""

BEGUN: Final = r"""
    I(?:'ve| have)? (?:just )?(?:resigned|changed jobs|quit (?:my|the|that) (?:\w+ )?(?:job|position|post))
    I(?:'ve| have)? (?:just )?quit(?=\W*$|[.,;!]| and\b| today\b| yesterday\b)
    I(?:'ll|'m| am)? (?:start|starting|started) (?:work(?:ing)? (?:as|at|for)(?! \d)|at (?:the )?(?-i:[A-Z])\w+)
    I(?:'ll|'m| am)? (?:start|starting|started) as an? (?!joke|beginner|novice|hobby|kid|child|teen)\w+
    (?:ich habe?|(?:gestern|heute|dort) habe? ich) (?:(?:gestern|heute|jetzt|schon|endlich|dort) )?gekündigt
    (?:ich habe?|habe? ich) (?:(?:gestern|heute|jetzt) )?(?:in|an) (?:der|einer|meiner) \w+ gekündigt
    (?:ich habe?|habe? ich) (?:(?:gestern|heute|jetzt) )?beim? (?!\w*(?:studio|gym|verein|versicher))\w+ gekündigt
    (?:ich habe?|habe? ich) (?:\w+ )?(?:(?:mein|d)en job|(?:meine|die) (?:stelle|arbeit)) (?:\w+ ){0,3}gekündigt
    (?:ich fange|fange ich)(?:(?! mit )[^,.]){0,40} als (?!erst|nächst|letzt)(?:(?! mit )[^,.]){1,40} an
    (?:ich fange|fange ich)(?: \w+){0,4} (?:in|an) der (?!küche|garage|ecke|mitte|wand|tür|seite)\w+(?: \w+){0,3} an
    (?:ich fange|fange ich)(?: \w+){0,4} bei (?:der )?(?!null|punkt|kapitel|seite|tür)(?-i:[A-ZÄÖÜ])[^,.]{1,40} an
    (?:ich beginne|beginne ich)(?: [^,.]{1,40})? als (?!erst|nächst)\w+
    (?:he renunciado|renuncié)(?! al? (?!trabajo|mi (?:puesto|trabajo)))|(?:he dejado|dejé) (?:el|mi) trabajo
    (?:empiezo|empecé|he empezado) (?:a trabajar|como)|j'ai (?:\w+ )?démissionné
    je (?:commence|débute) (?:à travailler|comme|chez)|j'ai commencé (?:à travailler|comme)
    mi sono (?:licenziat[oa]|dimess[oa])
    (?:comincio|inizio|ho (?:cominciato|iniziato)) (?:a lavorare|come (?!al |sempre))
    pedi demissão|me demiti|(?:começo|comecei) (?:a trabalhar|como)
"""
BEGUN_ANYWHERE: Final = r"""
    我[^，。,.]{0,12}(?:辞职|辭職|离职|離職|入职|入職|跳槽)|开始在.{1,16}(?:当|工作|上班)
    働き始め|転職し|(?:仕事|会社)を辞め|이직(?:했|해)|퇴사(?:했|해)|일을 시작(?:해|했|합)
"""
BEGUN_SIGNS: Final = """resigned|changed jobs|quit|start|gekündigt|fange|beginne|renunci|trabajo|empie|empec|empez
    |démissionné|commenc|débute|licenziat|dimess|cominci|inizi|demiss|demiti|começo|comecei|辞职|辭職|离职|離職|入职|入職|跳槽|开始在|働き始|転職
    |を辞め|이직|퇴사|일을 시작"""
"""That somebody has left a job, or begins one, in all of these languages; one of the signs stands in what tells it."""
